/*
 * eliminate-dead-store: remove instructions whose results nobody reads.
 *
 *     relu @out %a, @in %x
 *     tanh @out %a, @in %x       =>   tanh @out %a, @in %x
 *     copy @out %y, @in %a            copy @out %y, @in %a
 *
 * Walking from the end, a buffer is live if a later instruction reads it before
 * all of it is written anew, or if it is a placeholder, whose content is what
 * the program leaves.  An instruction goes if its operator is pure and none of
 * the buffers that it writes is live.
 *
 * Only a write of the whole ends a life: a view of a part, and an instruction
 * with a predicate, may leave bytes of before.  What an instruction reads it
 * may also write (in place): then it needs what was there.
 *
 * Buffers that nobody uses any more are left to eliminate-dead-alloc.
 */

#include "glow/pass.h"
#include "passes/program/buffers.h"

typedef struct liveness {
    bool *live; /* by the mark of the alloc or weight */
} liveness;

static bool *
live_at(liveness *l, glow_value *v)
{
    return &l->live[glow_base_buffer(v)->def->mark];
}

/* All buffers that placeholders are read from afterwards. */
static void
begin_at_end(liveness *l, glow_arena *scratch, glow_func *f)
{
    uint32_t count = 0;

    l->live = GLOW_NEW_ARRAY(scratch, bool, f->count);
    GLOW_FOR_EACH_NODE(n, f) {
        n->mark = count++;
        l->live[n->mark] = n->op == &glow_op_weight;
    }
}

static bool
is_in_vain(liveness *l, const glow_node *n)
{
    if (!(n->op->traits & GLOW_PURE) || (n->op->traits & GLOW_UNKNOWN) ||
        n->n_out == 0)
        return false;
    for (int i = 0; i < n->n_out; i++)
        if (*live_at(l, n->out[i]))
            return false;
    return true;
}

/* Goes from behind `n` to before it. */
static void
step_over(liveness *l, const glow_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (!n->pred && covers(n->out[i]))
            *live_at(l, n->out[i]) = false;
    if (n->scratch) /* which nobody finds as it was */
        *live_at(l, n->scratch) = false;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            *live_at(l, n->in[i]) = true;
    if (n->pred)
        *live_at(l, n->pred) = true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_result result = GLOW_UNCHANGED;
    liveness l;

    begin_at_end(&l, glow_run_scratch(pass), f);
    for (glow_node *n = f->last, *prev; n; n = prev) {
        prev = n->prev;
        if (!computes(n))
            continue;
        if (!is_in_vain(&l, n) || !glow_run_may_rewrite(pass)) {
            step_over(&l, n);
            continue;
        }
        glow_node_erase(n);
        glow_run_count(pass, "erased", 1);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_eliminate_dead_store = {
    .name = "eliminate-dead-store",
    .summary = "remove instructions whose results nobody reads",
    .level = GLOW_PROGRAM,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow DSE",
};
