/*
 * Reverse mode through an If: an If on the same condition.
 *
 *     %y = If(@c, [%x, %w]) {Then: @f, Else: @g}
 *         =>
 *     %dx, %dw = If(@c, [%x, %w, %dy]) {Then: @f.grad, Else: @g.grad}
 *
 * @f.grad computes @f again from the operands, then goes back through it.  So the
 * results of the branch that does not run need no place.  Where only one branch depends
 * on an operand, the other gives zeros.
 */

#include "glow/ops.h"
#include "passes/graph/common/reverse_body.h"

enum { FIRST = 1 }; /* operand of the first Input */

typedef struct branches {
    reverse *r;
    const glow_gradient *g;
    reverse_body of[2];
    reverse_wanted *wanted[2]; /* by Input of the If */
} branches;

/* Builds branch `k` but for its Outputs; false after a report. */
static bool
go_back(branches *x, int k)
{
    const glow_gradient *g = x->g;
    const glow_node *n = g->node;
    const glow_func *callee = glow_called(n, k);
    int n_in = n->n_in - FIRST, n_seeds = 0, n_wanted = 0;
    glow_arena *a = x->r->arena;
    reverse_body *b = &x->of[k];
    reverse_seed *seeds = GLOW_NEW_ARRAY(a, reverse_seed, n->n_out);
    reverse_wanted *wanted = GLOW_NEW_ARRAY(a, reverse_wanted, n_in);
    glow_value **in = GLOW_NEW_ARRAY(a, glow_value *, n_in);

    *b = glow_body_begin(x->r, glow_arena_printf(a, "%s.grad", callee->name),
                         n_in + n->n_out);
    for (int i = 0; i < n_in; i++)
        in[i] =
            glow_body_input(b, "x", n->in[i + FIRST]->type, n->in[i + FIRST]);
    glow_body_copy(b, callee, in);
    for (int i = 0; i < n->n_out; i++)
        if (g->by_result[i])
            seeds[n_seeds++] = (reverse_seed){
                b->saves[i],
                glow_body_input(b, "d", n->out[i]->type, g->by_result[i])};
    for (int i = 0; i < n_in; i++)
        if (g->wanted[i + FIRST])
            wanted[n_wanted++] = (reverse_wanted){
                .storage = b->in[i],
                .source = glow_reverse_source(x->r, n->in[i + FIRST])};
    if (!glow_body_reverse(x->r, b, seeds, n_seeds, wanted, n_wanted))
        return false;
    x->wanted[k] = GLOW_NEW_ARRAY(a, reverse_wanted, n_in);
    for (int i = 0, at = 0; i < n_in; i++)
        if (g->wanted[i + FIRST])
            x->wanted[k][i] = wanted[at++];
    return true;
}

/* Gives both branches the gradients of operands that one depends on. */
static bool
add_outputs(branches *x, int *n_out)
{
    const glow_node *n = x->g->node;

    for (int i = 0; i < n->n_in - FIRST; i++) {
        if (!x->wanted[0][i].gradient && !x->wanted[1][i].gradient)
            continue;
        for (int k = 0; k < 2; k++) {
            glow_value *d = x->wanted[k][i].gradient;

            if (!d)
                d = glow_build_splat(x->of[k].b, "zero",
                                     x->of[k].in[i]->value.type, 0);
            if (!glow_body_output(&x->of[k], "dx", d))
                return false;
        }
        (*n_out)++;
    }
    return true;
}

/* Drops Inputs that no branch uses. */
static void
drop_inputs(branches *x)
{
    reverse_body *yes = &x->of[0], *no = &x->of[1];
    int kept = 0;

    for (int k = 0; k < 2; k++)
        glow_erase_unused(x->of[k].f);
    for (int i = 0; i < yes->n_in; i++)
        if (glow_is_unused(&yes->in[i]->value) &&
            glow_is_unused(&no->in[i]->value)) {
            glow_storage_erase(yes->in[i]);
            glow_storage_erase(no->in[i]);
        } else {
            yes->in[kept] = yes->in[i];
            yes->operands[kept] = yes->operands[i];
            no->in[kept++] = no->in[i];
        }
    yes->n_in = no->n_in = kept;
}

bool
glow_reverse_if(reverse *r, const glow_gradient *g)
{
    const glow_node *n = g->node;
    branches x = {.r = r, .g = g};
    glow_value **in;
    const glow_type **types;
    glow_node *call;
    bool right = go_back(&x, 0);
    int n_out = 0;

    if (!go_back(&x, 1) || !right || !add_outputs(&x, &n_out))
        return false;
    if (n_out == 0) {
        glow_body_abandon(&x.of[0]);
        glow_body_abandon(&x.of[1]);
        return true;
    }
    drop_inputs(&x);
    in = GLOW_NEW_ARRAY(r->arena, glow_value *, x.of[0].n_in + FIRST);
    types = GLOW_NEW_ARRAY(r->arena, const glow_type *, n_out);
    in[0] = n->in[0];
    for (int i = 0; i < x.of[0].n_in; i++)
        in[i + FIRST] = x.of[0].operands[i];
    for (int k = 0; k < 2; k++)
        glow_body_end(&x.of[k]);
    call = glow_build_node(
        r->b, &glow_op_if, types, n_out, in, x.of[0].n_in + FIRST,
        &(const glow_if){.then_ = x.of[0].f->name, .else_ = x.of[1].f->name});
    if (!call)
        return false;
    for (int i = 0, at = 0; i < n->n_in - FIRST; i++)
        if (x.wanted[0][i].gradient || x.wanted[1][i].gradient)
            g->by_operand[i + FIRST] = call->out[at++];
    return true;
}
