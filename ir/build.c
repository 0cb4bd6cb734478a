/* The builder: checked nodes with names and provenance. */

#include "glow/build.h"

#include <string.h>

enum { MOST_FUSED = 8 };

struct glow_builder {
    glow_arena *scratch;
    glow_func *func;
    const char *pass;
    glow_node *at; /* insert before; NULL: append */
    const char *name;
    const glow_loc *loc; /* provenance of new nodes */
    const glow_loc *fused[MOST_FUSED];
    int n_fused;
    struct glow_pass_run *run;
    bool failed;
    void *user;
};

glow_builder *
glow_builder_new(glow_arena *a, glow_func *f, const char *pass)
{
    glow_builder *b = GLOW_NEW(a, glow_builder);

    b->scratch = a;
    b->func = f;
    b->pass = pass;
    return b;
}

void
glow_builder_at(glow_builder *b, glow_node *n)
{
    b->at = n;
    b->name = n->name;
    b->loc = n->loc;
    b->n_fused = 0;
}

void
glow_builder_named(glow_builder *b, const char *name, const glow_loc *loc)
{
    b->at = NULL;
    b->name = name;
    b->loc = loc;
    b->n_fused = 0;
}

void
glow_builder_fuses(glow_builder *b, const glow_node *n)
{
    if (n->loc && b->n_fused < MOST_FUSED)
        b->fused[b->n_fused++] = n->loc;
}

/* The provenance of a new node, with the pass that builds it. */
static const glow_loc *
provenance(const glow_builder *b)
{
    const glow_loc *parts[MOST_FUSED + 1] = {b->loc};

    if (!b->pass)
        return b->loc;
    if (b->n_fused == 0)
        return glow_loc_derived(b->func->module, b->pass, b->loc);
    for (int i = 0; i < b->n_fused; i++)
        parts[i + 1] = b->fused[i];
    return glow_loc_fused(b->func->module, b->pass, parts, b->n_fused + 1);
}

/* `Conv_0.transpose` while building for Conv_0; else the operator's name. */
static const char *
name_for(const glow_builder *b, const glow_op *op)
{
    char own[64];

    if (!b->name)
        return NULL;
    glow_op_instr_name(op, own, sizeof own);

    const char *dot = strrchr(own, '.');

    return glow_derived_name(b->func, b->name, dot ? dot + 1 : own);
}

/* True if no required operand is NULL. */
static bool
operands_given(const glow_op *op, glow_value *const *in, int n_in)
{
    glow_node shape = {.op = op, .n_in = n_in};

    for (int i = 0; i < n_in; i++)
        if (!in[i] && op->in[glow_operand_of(&shape, i)].kind != GLOW_OPTIONAL)
            return false;
    return true;
}

/* Infers result types of a node that is not built yet. */
static bool
infer(glow_builder *b, const glow_op *op, const glow_type *const *types,
      int n_types, glow_value *const *in, int n_in, const void *attrs,
      int n_out, glow_type out[])
{
    glow_value *results = GLOW_NEW_ARRAY(b->scratch, glow_value, n_out);
    glow_value **results_at = GLOW_NEW_ARRAY(b->scratch, glow_value *, n_out);
    glow_node n = {.op = op, .func = b->func, .attrs = attrs, .n_in = n_in};

    n.name = b->name ? b->name : op->name;
    n.in = GLOW_NEW_ARRAY(b->scratch, glow_value *, n_in);
    if (n_in)
        memcpy(n.in, in, (size_t)n_in * sizeof *in);
    n.n_out = n_out;
    n.out = results_at;
    n.loc = b->loc;
    if (b->at)
        n.span = b->at->span;
    for (int i = 0; i < n.n_out; i++) {
        results[i].type = i < n_types ? types[i] : NULL;
        results_at[i] = &results[i];
    }
    return glow_infer(&n, out);
}

glow_node *
glow_build_node(glow_builder *b, const glow_op *op,
                const glow_type *const *types, int n_types,
                glow_value *const *in, int n_in, const void *attrs)
{
    int n_out = glow_op_any_results(op) ? n_types : glow_op_results(op);
    glow_type *out = GLOW_NEW_ARRAY(b->scratch, glow_type, n_out);
    const glow_type **interned =
        GLOW_NEW_ARRAY(b->scratch, const glow_type *, n_out);

    if (b->failed || !operands_given(op, in, n_in) ||
        !infer(b, op, types, n_types, in, n_in, attrs, n_out, out)) {
        b->failed = true;
        return NULL;
    }
    for (int i = 0; i < n_out; i++)
        interned[i] = glow_type_get(b->func->module->ctx, out[i]);

    glow_node *n = glow_node_new(b->func, op, name_for(b, op), in, n_in,
                                 interned, n_out, attrs);

    n->loc = provenance(b);
    if (b->at) {
        n->span = b->at->span;
        glow_node_move_before(n, b->at);
    }
    return n;
}

glow_value *
glow_build(glow_builder *b, const glow_op *op, const glow_type *type,
           glow_value *const *in, int n_in, const void *attrs)
{
    glow_node *n = glow_build_node(b, op, type ? &type : NULL, type ? 1 : 0, in,
                                   n_in, attrs);

    return n && n->n_out ? n->out[0] : NULL;
}

bool
glow_builder_failed(const glow_builder *b)
{
    return b->failed;
}

glow_func *
glow_builder_func(const glow_builder *b)
{
    return b->func;
}

glow_module *
glow_builder_module(const glow_builder *b)
{
    return b->func->module;
}

glow_context *
glow_builder_context(const glow_builder *b)
{
    return b->func->module->ctx;
}

struct glow_pass_run *
glow_builder_run(const glow_builder *b)
{
    return b->run;
}

void
glow_builder_set_run(glow_builder *b, struct glow_pass_run *run)
{
    b->run = run;
}

glow_arena *
glow_builder_scratch(const glow_builder *b)
{
    return b->scratch;
}

void *
glow_builder_user(const glow_builder *b)
{
    return b->user;
}

void
glow_builder_set_user(glow_builder *b, void *user)
{
    b->user = user;
}

static const char *
constant_name(const glow_builder *b, const char *suffix)
{
    return b->name ? glow_arena_printf(b->scratch, "%s.%s", b->name, suffix)
                   : suffix;
}

glow_value *
glow_build_splat(glow_builder *b, const char *suffix, const glow_type *type,
                 double v)
{
    glow_storage *s =
        glow_constant_splat(b->func->module, constant_name(b, suffix), type, v);

    s->loc = provenance(b);
    return &s->value;
}

glow_value *
glow_build_constant(glow_builder *b, const char *suffix, const glow_type *type)
{
    glow_storage *s =
        glow_constant_new(b->func->module, constant_name(b, suffix), type);

    s->loc = provenance(b);
    return &s->value;
}
