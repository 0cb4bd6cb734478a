/*
 * eliminate-dead-alloc: remove buffers and views that no instruction uses.
 *
 *     %a = alloc float<4>
 *     %v = tensorview @in %a {Offsets: [0]} : float<2>   =>   nothing
 *     %a.free = dealloc @out %a
 *
 * A view without uses is removed, then an alloc whose only use is its dealloc,
 * and a weight without uses: its placeholder or constant stays in the module,
 * but takes no place in the memory of this program.  Reads and writes are never
 * removed here; eliminate-dead-store removes the dead ones.
 *
 * One backward walk, so that a chain of views is removed at once.  The other
 * buffers keep their places, so a placed program stays placed.
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

/* Erases `alloc` and the dealloc that is its only use, if there is one. */
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
