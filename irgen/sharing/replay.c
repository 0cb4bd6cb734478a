/*
 * Memory of a given order: runs the buffer-sharing passes of optimize-program on
 * the access table of the graph.
 */

#include "irgen/sharing/model.h"

/* Rounds of a fixpoint in a pipeline. */
enum { MOST_ROUNDS = 8 };

static void
optimize(glow_accesses *x, bool early)
{
    x->changed = true;
    for (int i = 0; i < MOST_ROUNDS && x->changed; i++) {
        x->changed = false;
        glow_accesses_measure(x);
        glow_propagate_copies(x);
        glow_accesses_measure(x);
        glow_update_in_place(x);
        glow_accesses_measure(x);
        glow_view_slices(x, early);
        glow_accesses_measure(x);
        glow_share_buffers(x, early);
        glow_accesses_measure(x);
        glow_join_parts(x);
        glow_accesses_measure(x);
        glow_eliminate_dead_stores(x);
    }
    glow_accesses_measure(x);
}

static void
mark_shared(const glow_memory_model *m, const glow_step *s, int k)
{
    m->shares[m->operand[glow_node_number(m->values, s->node)] + (uint32_t)k] =
        true;
}

/* Marks the operands that are parts of the result of their Concat or insert, and
   the slices that are views of their operand. */
static void
find_shared(const glow_memory_model *m)
{
    const glow_accesses *x = m->table->x;

    for (size_t i = 0; i < x->n_steps; i++) {
        const glow_step *s = &x->steps[i];

        if (!s->gone)
            continue;
        if (s->op == &glow_op_slice)
            mark_shared(m, s, 0);
        else if (s->op == &glow_op_inserttensor)
            mark_shared(m, s, 1);
        else if (s->part >= 0)
            mark_shared(m, s, s->part);
        for (int k = 0; s->op == &glow_op_concat && k < s->n_in; k++)
            if (x->values[s->in[k]].buffer == x->values[s->out[0]].buffer)
                mark_shared(m, s, k);
    }
}

void
glow_memory_replay(glow_memory_model *m)
{
    optimize(m->table->x, true);
    optimize(m->table->x, false);
    find_shared(m);
}
