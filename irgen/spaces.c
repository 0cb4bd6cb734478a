/*
 * Memory spaces of buffers; see spaces.h.
 *
 * The first instruction that needs an alloc in a space decides for it.  A weight
 * gets the space if its class may be there.  An instruction that needs a buffer
 * elsewhere works on a copy, live during that one instruction.
 */

#include "irgen/spaces.h"

#include <string.h>

#include "glow/backend.h"
#include "glow/ops.h"
#include "glow/target.h"

typedef struct spaces {
    const glow_backend *backend; /* NULL: for the units of the target */
    const glow_target *target;
    glow_func *f;
    bool changed;
} spaces;

const char *
glow_unit_needs(const glow_target *t, const glow_node *n, int i, bool writes)
{
    const glow_unit *u = glow_target_unit(t, n->op);
    const glow_operand *operands = writes ? n->op->out : n->op->in;
    const glow_space *s =
        u ? glow_unit_space(t, u,
                            operands[writes ? i : glow_operand_of(n, i)].name)
          : NULL;

    return s ? s->name : NULL;
}

static bool
works(const glow_node *n)
{
    return !(n->op->traits & (GLOW_STRUCTURAL | GLOW_UNKNOWN));
}

/* True if buffers of the class may be in the space. */
static bool
is_home(const glow_target *t, glow_buffer_class class, const char *space)
{
    for (size_t i = 0; i < t->homes[class].count && t->n_spaces; i++)
        if (strcmp(t->spaces[t->homes[class].at[i]].name, space) == 0)
            return true;
    return false;
}

/* The space that the buffer is bound to; NULL: none. */
static const char *
space_of(const glow_node *buffer)
{
    return glow_is_fixed(buffer) ? buffer->place->region->space
                                 : glow_space_of(buffer);
}

static glow_buffer_class
class_of(const glow_node *buffer)
{
    return buffer->op == &glow_op_alloc       ? GLOW_ACTIVATIONS
           : glow_is_constant(buffer->out[0]) ? GLOW_CONSTANTS
                                              : GLOW_PLACEHOLDERS;
}

const char *
glow_space_for(const glow_target *t, const glow_node *buffer)
{
    const char *has =
        buffer->place ? buffer->place->region->space : glow_space_of(buffer);

    return has           ? has
           : t->n_spaces ? t->spaces[t->homes[class_of(buffer)].at[0]].name
                         : NULL;
}

static bool
may_be_in(const spaces *s, const glow_node *buffer, const char *space)
{
    return buffer->op == &glow_op_alloc ||
           is_home(s->target, class_of(buffer), space);
}

/* True if the buffer of `v` is in the space, or was free to be. */
static bool
bind(spaces *s, glow_value *v, const char *space)
{
    glow_node *buffer = glow_base_buffer(v)->def;
    const char *has = space_of(buffer);
    glow_in_space in = {.space = space};

    if (has)
        return strcmp(has, space) == 0;
    if (s->backend ? !may_be_in(s, buffer, space)
                   : strcmp(glow_space_for(s->target, buffer), space) != 0)
        return false;
    if (!s->backend && s->target->homes[class_of(buffer)].count == 1)
        return true; /* alloc has no choice */
    glow_node_set_attrs(buffer, &in);
    s->changed = true;
    return true;
}

/* A dense buffer of the shape of `v` in the space, live during `n`. */
static glow_value *
new_buffer(const spaces *s, glow_node *n, const glow_value *v,
           const char *space)
{
    glow_type type = *v->type;
    glow_in_space in = {.space = space};
    const glow_type *t;
    glow_node *alloc, *end;

    type.strides = (glow_dims){0};
    t = glow_type_get(s->f->module->ctx, type);
    alloc = glow_node_new(s->f, &glow_op_alloc,
                          glow_derived_name(s->f, v->def->name, space), NULL, 0,
                          &t, 1, &in);
    end = glow_instr_new(s->f, &glow_op_dealloc,
                         glow_derived_name(s->f, alloc->name, "free"),
                         &alloc->out[0], 1, NULL, 0, NULL);
    glow_node_move_before(alloc, n);
    glow_node_move_after(end, n);
    return alloc->out[0];
}

static glow_node *
copy(const spaces *s, glow_value *to, glow_value *from)
{
    return glow_instr_new(s->f, &glow_op_copy,
                          glow_derived_name(s->f, to->def->name, "copy"), &to,
                          1, &from, 1, NULL);
}

/* Lets `n` work on a copy of `v` wherever it reads or writes it. */
static void
replace(const spaces *s, glow_node *n, glow_value *v, const char *space)
{
    glow_value *with = new_buffer(s, n, v, space);
    bool reads = false, writes = false;

    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] == v) {
            glow_set_operand(n, i, with);
            reads = true;
        }
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] == v) {
            glow_set_result(n, i, with);
            writes = true;
        }
    if (reads)
        glow_node_move_before(copy(s, with, v), n);
    if (writes)
        glow_node_move_after(copy(s, v, with), n);
}

static bool
refuse_body(const spaces *s, const glow_node *n, const char *space)
{
    return glow_error_at(s->f->module->ctx, n->span, "E0334",
                         "%s %%%s needs a buffer in the space '%s', but @%s is "
                         "a body, whose buffers are scratch of its caller",
                         n->op->name, n->name, space, s->f->name);
}

static bool
give(spaces *s, glow_node *n)
{
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        bool writes = i >= n->n_in;
        int k = writes ? i - n->n_in : i;
        glow_value *v = writes ? n->out[k] : n->in[k];
        const char *space = !v ? NULL
                            : s->backend
                                ? s->backend->space(n, k, writes)
                                : glow_unit_needs(s->target, n, k, writes);

        if (!space)
            continue;
        if (glow_is_body(s->f))
            return refuse_body(s, n, space);
        if (bind(s, v, space))
            continue;
        replace(s, n, v, space);
        s->changed = true;
    }
    return true;
}

bool
glow_give_spaces(glow_pass_run *run, glow_func *f)
{
    spaces s = {.backend = glow_run_backend(run),
                .target = glow_run_target(run),
                .f = f};
    bool ok = true;

    if (!s.backend || !s.backend->space)
        return true;
    for (glow_node *n = f->first; n && ok; n = n->next)
        if (works(n))
            ok = give(&s, n);
    return ok;
}

bool
glow_copy_for_units(glow_pass_run *run, glow_func *f)
{
    spaces s = {.target = glow_run_target(run), .f = f};

    for (glow_node *n = f->first; n; n = n->next)
        if (works(n) && !glow_is_body(f))
            give(&s, n);
    return s.changed;
}
