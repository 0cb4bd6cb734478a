/* Backward reachability by a worklist; see glow/reach.h. */

#include "glow/reach.h"

#include <math.h>
#include <string.h>

#include "passes/run.h"

/* A flag for each node of a function, by id. */
struct glow_reach {
    const glow_func *func;
    bool *reaches;
    size_t count, cap;
    glow_node **list; /* worklist: nodes that reach, whose operands are not
                       * visited yet */
    size_t n_list, cap_list;
};

bool
glow_is_exact_divisor(double y)
{
    int exponent;

    return fabs(frexp(y, &exponent)) == 0.5 && exponent >= -12 &&
           exponent <= 13;
}

/*
 * True if the function or its caller reads the placeholder that `n` saves to.
 */
static bool
is_read_again(const glow_node *n)
{
    if (n->op != &glow_op_save)
        return false;
    if (glow_is_body(n->func))
        return true;
    GLOW_FOR_EACH_USE(u, n->in[1])
        if (u->user->func == n->func &&
            (u->user->op != &glow_op_save || u->index != 1))
            return true;
    return false;
}

bool
glow_is_discontinuous(const glow_node *n)
{
    bool takes_floats = false, gives_others = false;

    if ((n->op->traits & (GLOW_DISCONTINUOUS | GLOW_UNKNOWN)) ||
        glow_op_calls(n->op))
        return true;
    for (int i = 0; i < n->n_in; i++)
        takes_floats |= n->in[i] && glow_is_float(n->in[i]->type->elem);
    for (int i = 0; i < n->n_out; i++)
        gives_others |= !glow_is_float(n->out[i]->type->elem);
    return takes_floats && gives_others;
}

static void
mark_operands(struct glow_reach *r, glow_arena *a, const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        glow_node *def = n->in[i] ? n->in[i]->def : NULL;

        if (!def || r->reaches[def->id])
            continue;
        r->reaches[def->id] = true;
        r->list = glow_arena_grow(a, r->list, r->n_list, &r->cap_list,
                                  sizeof(glow_node *));
        r->list[r->n_list++] = def;
    }
}

/* Each node enters the worklist once, and each operand is visited once. */
static struct glow_reach *
analyze(glow_arena *a, glow_func *f)
{
    struct glow_reach *r = GLOW_NEW(a, struct glow_reach);

    r->func = f;
    r->count = r->cap = f->next_id;
    r->reaches = GLOW_NEW_ARRAY(a, bool, r->count + 1);
    GLOW_FOR_EACH_NODE(n, f)
        if (glow_is_discontinuous(n) || is_read_again(n))
            mark_operands(r, a, n);
    while (r->n_list > 0)
        mark_operands(r, a, r->list[--r->n_list]);
    return r;
}

bool
glow_run_reaches_jump(glow_pass_run *run, const glow_node *n)
{
    if (!run->reach || run->reach->func != n->func)
        run->reach = analyze(run->scratch, n->func);
    return n->id >= run->reach->count || run->reach->reaches[n->id];
}

void
glow_run_reach_inherits(glow_pass_run *run, const glow_node *n,
                        const glow_node *from)
{
    struct glow_reach *r = run->reach;

    if (!r || r->func != n->func)
        return;
    /* Unknown ids between are of nodes created otherwise: assumed to reach. */
    for (; r->count <= n->id; r->count++) {
        r->reaches = glow_arena_grow(run->scratch, r->reaches, r->count,
                                     &r->cap, sizeof(bool));
        r->reaches[r->count] = true;
    }
    r->reaches[n->id] = r->reaches[from->id];
}
