/*
 * -explain-support: for each node, support by the backend, or the nodes it is
 * lowered to, with the reasons for unsupported ones.
 *
 * The nodes are those that the pipeline `before-lower` of the backend leaves.  One
 * that the backend leaves to -lower is put alone into a function of a copy of the
 * module, over placeholders of its operands' types and its own constants, and
 * lowered there, with `after-lower` behind it.
 */

#include <string.h>

#include "glow/build.h"
#include "glow/number.h"
#include "glow/ops.h"
#include "tools/glow-opt/opt.h"

typedef struct support {
    const glow_backend *backend;
    const glow_target_options *code;
    const glow_target *target;
    glow_arena *arena;
    glow_arena *texts; /* of pipelines; as long as the context */
    glow_module *copy;
    int taken, lowered, refused;
} support;

/* NULL if the backend takes `n`, else the reason. */
static const char *
why_not(const support *s, const glow_node *n)
{
    const char *why = NULL;

    if (n->op->traits & GLOW_UNKNOWN)
        return "nothing is known of this operator";
    if (s->backend->takes)
        return s->backend->takes(n, s->arena, &why) == GLOW_TAKES ? NULL : why;
    if (n->op->traits & (GLOW_PRIMITIVE | GLOW_STRUCTURAL))
        return NULL;
    return glow_arena_printf(s->arena, "%s is outside of the primitive set",
                             n->op->name);
}

/* Appends " Mul x2, Sub"; returns the first reason of an unsupported one. */
static const char *
list_parts(const support *s, const glow_func *f, glow_buf *b)
{
    const char *why = NULL, *comma = " ";
    glow_numbering listed = glow_numbering_new(b->arena, f);

    GLOW_FOR_EACH_NODE(n, f) {
        int count = 0;

        if (glow_number_of(&listed, n) != GLOW_UNNUMBERED ||
            n->op == &glow_op_save)
            continue;
        for (glow_node *other = n; other; other = other->next)
            if (other->op == n->op) {
                glow_number_set(&listed, other, (uint32_t)count++);
            }
        glow_buf_printf(b, "%s%s", comma, n->op->name);
        if (count > 1)
            glow_buf_printf(b, " x%d", count);
        comma = ", ";
    }
    GLOW_FOR_EACH_NODE(n, f)
        if (!why)
            why = why_not(s, n);
    return why;
}

static bool
run_on(support *s, glow_module *m, const char *text)
{
    const glow_source *source =
        glow_source_from(m->ctx, "-explain-support", text, strlen(text));
    glow_pipeline *p =
        glow_pipeline_parse_for(m->ctx, s->arena, source, s->backend);
    const glow_pipeline_options how = {
        .backend = s->backend, .code = s->code, .target = s->target};

    return p && glow_pipeline_run(p, m, &how);
}

static glow_func *
run_lower(support *s, const glow_node *n)
{
    const glow_pipeline_options how = {
        .backend = s->backend, .code = s->code, .target = s->target};

    return glow_run_alone(s->arena, s->copy, n, "lower<partial>,after-lower",
                          &how);
}

static bool
put_lowered(support *s, glow_buf *b, const glow_node *n, const char *why)
{
    glow_buf parts = {.arena = s->arena};
    glow_func *f = run_lower(s, n);

    if (!f)
        return false;

    const char *left = list_parts(s, f, &parts);

    glow_func_erase(f);
    if (!left) {
        s->lowered++;
        glow_buf_printf(b, "lowered to%s\n",
                        parts.len ? parts.text : " nothing");
    } else {
        s->refused++;
        glow_buf_printf(b, "not taken: %s\n", parts.len ? left : why);
    }
    return true;
}

static bool
put_node(support *s, glow_buf *b, const glow_node *n)
{
    const char *why = why_not(s, n);

    glow_buf_printf(b, "%-24s %-24s ", n->name, n->op->name);
    if (!why) {
        s->taken++;
        glow_buf_puts(b, "taken\n");
        return true;
    }
    /* Primitive operators are lowered, too: Convolution of quantized elements. */
    if (n->op->traits & GLOW_UNKNOWN || n->func->is_program) {
        s->refused++;
        glow_buf_printf(b, "not taken: %s\n", why);
        return true;
    }
    return put_lowered(s, b, n, why);
}

static bool
put_func(support *s, glow_buf *b, const glow_func *f)
{
    bool ok = true;

    s->taken = s->lowered = s->refused = 0;
    glow_buf_printf(b, "@%s on %s\n", f->name, s->backend->name);
    GLOW_FOR_EACH_NODE(n, f)
        if (ok && !(n->op->traits & GLOW_STRUCTURAL))
            ok = put_node(s, b, n);
    glow_buf_printf(b, "%d taken, %d lowered, %d not taken\n", s->taken,
                    s->lowered, s->refused);
    return ok;
}

/* Programs are lowered: there is nothing to run before that. */
static bool
is_graph(const glow_module *m)
{
    GLOW_FOR_EACH_FUNC(f, m)
        if (f->is_program)
            return false;
    return true;
}

bool
put_support(opt *o, glow_module *m, glow_buf *b)
{
    glow_arena *a = glow_arena_new();
    support s = {.backend = o->backend,
                 .code = &o->code,
                 .target = o->machine,
                 .arena = a,
                 .texts = o->tool.arena};
    bool ok = !is_graph(m) || run_on(&s, m, "before-lower");

    s.copy = glow_module_clone(m);
    GLOW_FOR_EACH_FUNC(f, m)
        ok = ok && put_func(&s, b, f);
    glow_module_free(s.copy);
    glow_arena_free(a);
    return ok;
}
