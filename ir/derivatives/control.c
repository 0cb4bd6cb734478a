/*
 * The derivatives of If and Loop: the pass differentiates their bodies, by
 * passes/graph/common/reverse_if.c and reverse_loop.c.
 */

#include "glow/derivative.h"
#include "glow/ops.h"

static const char *
if_refuses(const glow_node *n)
{
    return glow_called(n, 0)->is_program || glow_called(n, 1)->is_program
               ? "of a function that is a program"
               : NULL;
}

/* A row of each carried value is kept of each iteration. */
static bool
may_be_stacked(const glow_node *n)
{
    const glow_loop *a = n->attrs;
    glow_arena *arena = glow_arena_new();
    bool may = true;

    for (int i = 0; i < a->carried && may; i++) {
        glow_type t = *n->out[i]->type;

        may = t.shape.rank < GLOW_MAX_RANK;
        if (may)
            t.shape.at[t.shape.rank++] = a->max_trips;
        t.strides.rank = 0;
        may = may && !glow_type_check(&t, arena);
    }
    glow_arena_free(arena);
    return may;
}

static const char *
loop_refuses(const glow_node *n)
{
    if (glow_called(n, 0)->is_program)
        return "of a function that is a program";
    return may_be_stacked(n) ? NULL
                             : "with carried values that cannot be kept of "
                               "MaxTrips iterations";
}

const glow_derivative glow_derivative_if = {
    .refuses = if_refuses,
    .is_call = true,
};

const glow_derivative glow_derivative_loop = {
    .refuses = loop_refuses,
    .is_call = true,
};
