/*
 * eliminate-dead-store: dead store elimination by backward liveness of buffers.
 *
 *     relu @out %a, @in %x
 *     tanh @out %a, @in %x       =>   tanh @out %a, @in %x
 *     copy @out %y, @in %a            copy @out %y, @in %a
 *
 * In a walk from the end, a buffer is live if a later instruction reads it before
 * all of it is overwritten, or if it is a placeholder that no later instruction
 * overwrites as a whole, since placeholders are read after the program.  An
 * instruction is removed if its operator is pure and none of the buffers that it
 * writes is live.
 *
 * Only a write of the whole buffer kills it: a write to a view of a part, and an
 * instruction with a predicate, may keep earlier bytes.  An operand that is
 * updated in place (@inout) is read too, so it stays live before the instruction.
 *
 * Unused buffers are left to eliminate-dead-alloc.
 */

#include "irgen/sharing/program.h"

typedef struct liveness {
    const glow_accesses *x;
    bool *live; /* by buffer */
} liveness;

static bool *
live_at(const liveness *l, uint32_t value)
{
    return &l->live[l->x->values[value].buffer];
}

static bool
is_in_vain(const liveness *l, const glow_step *s)
{
    if (!(s->op->traits & GLOW_PURE) || (s->op->traits & GLOW_UNKNOWN) ||
        s->n_out == 0)
        return false;
    for (int k = 0; k < s->n_out; k++)
        if (*live_at(l, s->out[k]))
            return false;
    return true;
}

/* Transfer function of liveness: from the live buffers after the step to those
   before it. */
static void
step_over(const liveness *l, const glow_step *s)
{
    for (int k = 0; k < s->n_out; k++)
        if (s->pred == GLOW_NONE && glow_covers(l->x, s->out[k]))
            *live_at(l, s->out[k]) = false;
    if (s->scratch != GLOW_NONE) /* no step reads earlier content */
        *live_at(l, s->scratch) = false;
    for (int k = 0; k < s->n_in; k++)
        if (s->in[k] != GLOW_NONE)
            *live_at(l, s->in[k]) = true;
    if (s->pred != GLOW_NONE)
        *live_at(l, s->pred) = true;
}

void
glow_eliminate_dead_stores(glow_accesses *x)
{
    liveness l = {x, GLOW_NEW_ARRAY(x->arena, bool, x->n_buffers)};

    for (size_t i = 0; i < x->n_buffers; i++)
        l.live[i] = x->buffers[i].storage; /* read after the program */
    for (size_t i = x->n_order; i-- > 0;) {
        const glow_step *s = &x->steps[x->order[i]];

        if (!is_in_vain(&l, s) || !glow_may_change(x)) {
            step_over(&l, s);
            continue;
        }
        glow_drop_step(x, x->order[i]);
        glow_count_change(x, "erased", 1);
    }
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_accesses *x = glow_accesses_of_program(pass, f);

    glow_eliminate_dead_stores(x);
    return x->changed ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_eliminate_dead_store = {
    .name = "eliminate-dead-store",
    .summary = "remove instructions whose results nobody reads",
    .level = GLOW_PROGRAM,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow DSE",
};
