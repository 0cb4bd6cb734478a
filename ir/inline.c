/* Inlining of a body at its call. */

#include <string.h>

#include "glow/graph.h"

typedef struct inliner {
    glow_node *at;
    const glow_func *body;
    glow_value *const *in;
    glow_node **copies; /* by id */
    glow_arena *scratch;
} inliner;

/* The value at the call that corresponds to `v` of the body. */
static glow_value *
value_of(const inliner *x, glow_value *v)
{
    if (!v || glow_is_constant(v))
        return v;
    if (v->def)
        return x->copies[v->def->id]->out[v->index];
    for (int i = 0; i < glow_formal_count(x->body, GLOW_INPUTS); i++)
        if (glow_formal(x->body, GLOW_INPUTS, i) == v->storage)
            return x->in[i];
    return NULL;
}

/*
 * Copies a node without its operands, whose definitions may come later in the
 * body.
 */
static void
copy_node(const inliner *x, const glow_node *n)
{
    glow_func *f = x->at->func;
    glow_value **none = GLOW_NEW_ARRAY(x->scratch, glow_value *, n->n_in + 1);
    const glow_type **types =
        GLOW_NEW_ARRAY(x->scratch, const glow_type *, n->n_out + 1);
    glow_node *copy;

    for (int i = 0; i < n->n_out; i++)
        types[i] = n->out[i]->type;
    copy = glow_node_new(f, n->op, glow_derived_name(f, x->at->name, n->name),
                         none, n->n_in, types, n->n_out, n->attrs);
    copy->unknown_attrs = n->unknown_attrs;
    copy->loc = n->loc;
    copy->span = n->span;
    glow_node_move_before(copy, x->at);
    x->copies[n->id] = copy;
}

static void
set_operands(const inliner *x, const glow_node *n)
{
    glow_node *copy = x->copies[n->id];

    for (int i = 0; i < n->n_in; i++)
        glow_set_operand(copy, i, value_of(x, n->in[i]));
    if (n->pred)
        glow_set_pred(copy, value_of(x, n->pred));
}

static void
find_outputs(const inliner *x, glow_value **out)
{
    GLOW_FOR_EACH_NODE(n, x->body)
        for (int i = 0; glow_is(n, &glow_op_save) &&
                        i < glow_formal_count(x->body, GLOW_OUTPUTS);
             i++)
            if (glow_formal(x->body, GLOW_OUTPUTS, i) == n->in[1]->storage)
                out[i] = value_of(x, n->in[0]);
}

void
glow_inline(glow_node *at, const glow_func *body, glow_value *const *in,
            glow_value **out)
{
    inliner x = {.at = at, .body = body, .in = in};

    x.scratch = glow_arena_new();
    x.copies = GLOW_NEW_ARRAY(x.scratch, glow_node *, body->next_id);
    GLOW_FOR_EACH_NODE(n, body)
        if (!glow_is(n, &glow_op_save))
            copy_node(&x, n);
    GLOW_FOR_EACH_NODE(n, body)
        if (!glow_is(n, &glow_op_save))
            set_operands(&x, n);
    find_outputs(&x, out);
    glow_arena_free(x.scratch);
}
