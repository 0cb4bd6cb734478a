/*
 * sink-moves: sink alternating transposes and reshapes below element-wise
 * operators.
 *
 *     %a = Transpose(%x)                 %b = Relu(%x)
 *     %b = Relu(%a)                      %y = Tanh(%b)
 *     %c = Reshape(%b)            =>     %a = Transpose(%y)
 *     %y = Tanh(%c)                      %c = Reshape(%a)
 *
 * in a chain of values without other users, of any length: element-wise
 * operators of one operand come first, transposes and reshapes after them, both
 * in their original order.  Elements keep their sizes, so the same number of
 * bytes is moved.
 *
 * The pass applies if transposes and reshapes alternate.  Chains of one kind
 * are left to place-transpose or sink-reshape, which handle more operators; but
 * each of these stops at the nodes that the other sinks, so together they would
 * take as many rounds as the chain is long. fold-reshape, fold-transpose and
 * unwrap-transpose merge the adjacent nodes.
 *
 * Nodes are moved, not rebuilt; the types of the element-wise ones change their
 * shape.  Afterwards no such chain has an element-wise operator below a
 * transpose and a reshape.  Linear time, since each node is in one chain.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

typedef struct chain {
    glow_node **at; /* from the top on; scratch for all nodes */
    int count;
    bool transposes, reshapes; /* above an element-wise node */
} chain;

static bool
is_move(const glow_node *n)
{
    return (glow_is(n, &glow_op_transpose) || glow_is(n, &glow_op_reshape)) &&
           !n->pred;
}

/*
 * True for an element-wise node of one operand that keeps the size of elements.
 */
static bool
is_work(const glow_node *n)
{
    return n->op->traits & GLOW_ELEMENTWISE && n->op->traits & GLOW_PURE &&
           n->n_in == 1 && n->n_out == 1 && !n->pred && n->in[0] &&
           n->in[0]->type->elem == n->out[0]->type->elem;
}

/* True if `v` is in row-major order. */
static bool
is_dense(const glow_value *v)
{
    return v->type->strides.rank == 0;
}

/* True if `n` can be moved within a chain. */
static bool
is_link(const glow_node *n)
{
    return (is_move(n) || is_work(n)) && is_dense(n->in[0]) &&
           is_dense(n->out[0]);
}

/* The only user of `n` if it is a link of a chain, else NULL. */
static glow_node *
link_below(const glow_node *n)
{
    const glow_value *v = n->out[0];
    glow_node *user = glow_has_one_use(v) ? v->uses->user : NULL;

    return user && is_link(user) && user->in[0] == v ? user : NULL;
}

/* True if `n` begins a chain. */
static bool
is_top(const glow_node *n)
{
    const glow_node *above = n->in[0] ? n->in[0]->def : NULL;

    return is_link(n) && (!above || !is_link(above) || link_below(above) != n);
}

/* Sets `c` to the chain from `top` to its last element-wise node. */
static void
follow(chain *c, glow_node *top)
{
    bool transposes = false, reshapes = false;
    int count = 0;

    *c = (chain){.at = c->at};
    for (glow_node *n = top; n; n = link_below(n)) {
        c->at[count++] = n;
        transposes = transposes || glow_is(n, &glow_op_transpose);
        reshapes = reshapes || glow_is(n, &glow_op_reshape);
        if (is_move(n))
            continue;
        c->count = count;
        c->transposes = transposes;
        c->reshapes = reshapes;
    }
}

/* Makes `v` the operand of `n`, and returns the result of `n`. */
static glow_value *
attach(glow_context *ctx, glow_node *n, glow_value *v)
{
    bool moves = is_move(n);
    glow_type type = moves ? *v->type : *n->out[0]->type;

    type.shape = moves ? n->out[0]->type->shape : v->type->shape;
    glow_set_operand(n, 0, v);
    n->out[0]->type = glow_type_get(ctx, type);
    return n->out[0];
}

static void
sort(glow_context *ctx, const chain *c)
{
    glow_node *first = NULL, *last = NULL; /* first and last transpose or
                                            * reshape */
    glow_value *v = c->at[0]->in[0];

    for (int i = 0; i < c->count; i++) {
        if (!is_move(c->at[i]))
            continue;
        first = first ? first : c->at[i];
        last = c->at[i];
    }
    glow_replace_uses(c->at[c->count - 1]->out[0], last->out[0]);
    for (int i = 0; i < c->count; i++) {
        if (is_move(c->at[i]))
            continue;
        v = attach(ctx, c->at[i], v);
        glow_node_move_before(c->at[i], first);
    }
    for (int i = 0; i < c->count; i++)
        if (is_move(c->at[i]))
            v = attach(ctx, c->at[i], v);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *a = glow_run_scratch(pass);
    glow_result result = GLOW_UNCHANGED;
    int count = 0;

    if (f->scheduled || !glow_func_may_have(f, &glow_op_transpose) ||
        !glow_func_may_have(f, &glow_op_reshape))
        return GLOW_UNCHANGED;

    glow_node **tops = GLOW_NEW_ARRAY(a, glow_node *, f->count);
    chain c = {.at = GLOW_NEW_ARRAY(a, glow_node *, f->count)};

    GLOW_FOR_EACH_NODE(n, f)
        if (is_top(n))
            tops[count++] = n;
    for (int i = 0; i < count; i++) {
        follow(&c, tops[i]);
        if (!c.transposes || !c.reshapes || !glow_run_may_rewrite(pass))
            continue;
        sort(glow_run_context(pass), &c);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_sink_moves = {
    .name = "sink-moves",
    .summary =
        "sink alternating transposes and reshapes below element-wise operators",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
