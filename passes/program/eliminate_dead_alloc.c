/*
 * eliminate-dead-alloc: remove buffers and views that no instruction uses.
 *
 *     %a = alloc float<4>
 *     %v = tensorview @in %a {Offsets: [0]} : float<2>   =>   nothing
 *     %a.free = dealloc @out %a
 *
 * A view that nobody names goes, then an alloc that only its dealloc names, and
 * a weight that nobody names: its placeholder or constant stays in the module,
 * but takes no place in the memory of this program.  Reads and writes are never
 * removed here; where all of them are in vain, eliminate-dead-store does it.
 *
 * One walk from the end, so that a chain of views goes at once.  Places stay
 * right: the rest of the buffers lie where they lay.
 */

#include "glow/ops.h"
#include "glow/pass.h"

static bool
is_dead(const glow_node *n)
{
    if (n->op == &glow_op_tensorview || n->op == &glow_op_weight)
        return glow_is_unused(n->out[0]);
    if (n->op != &glow_op_alloc)
        return false;
    GLOW_FOR_EACH_USE(u, n->out[0])
        if (u->user->op != &glow_op_dealloc)
            return false;
    return true;
}

/* Erases an alloc that only its dealloc uses, and that. */
static void
erase_alloc(glow_node *alloc)
{
    if (alloc->out[0]->uses)
        glow_node_erase(alloc->out[0]->uses->user);
    glow_node_erase(alloc);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_result result = GLOW_UNCHANGED;

    for (glow_node *n = f->last, *prev; n; n = prev) {
        prev = n->prev;
        if (!is_dead(n) || !glow_run_may_rewrite(pass))
            continue;
        glow_run_count(pass, "erased", 1);
        result = GLOW_CHANGED;
        if (n->op == &glow_op_alloc)
            erase_alloc(n);
        else
            glow_node_erase(n);
    }
    return result;
}

const glow_pass glow_pass_eliminate_dead_alloc = {
    .name = "eliminate-dead-alloc",
    .summary = "remove buffers and views that no instruction uses",
    .level = GLOW_PROGRAM,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow DeleteDeadAllocs",
};
