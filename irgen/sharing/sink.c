/*
 * Nodes that only name bytes run right before who needs them first.
 *
 * They take nothing wherever they stand, so orders leave them anywhere.  Before
 * the passes over programs have made them views they are copies, though, and
 * those passes compare what the program takes with and without a copy.  Linear
 * time.
 */

#include <string.h>

#include "irgen/sharing/model.h"

/* By place: that of the first node that waits for the one there, or itself. */
static uint32_t *
find_keys(const glow_memory_model *m, const uint32_t *order)
{
    glow_arena *a = m->table->x->arena;
    uint32_t n = m->problem.n_tasks;
    uint32_t *first = GLOW_NEW_ARRAY(a, uint32_t, n); /* by node */
    uint32_t *keys = GLOW_NEW_ARRAY(a, uint32_t, n);

    memset(first, 0xff, n * sizeof *first);
    for (uint32_t k = n; k-- > 0;) {
        uint32_t i = order[k];
        const glow_order_task *t = &m->problem.tasks[i];

        keys[k] =
            glow_table_is_gone(m->table, i) && first[i] < n ? first[i] : k;
        for (uint32_t b = 0; b < t->n_before; b++)
            if (keys[k] < first[t->before[b]])
                first[t->before[b]] = keys[k];
    }
    return keys;
}

uint32_t *
glow_memory_sink(const glow_memory_model *m, const uint32_t *order)
{
    glow_arena *a = m->table->x->arena;
    uint32_t n = m->problem.n_tasks;
    uint32_t *keys = find_keys(m, order);
    uint32_t *next = GLOW_NEW_ARRAY(a, uint32_t, (size_t)n + 1);
    uint32_t *sunk = GLOW_NEW_ARRAY(a, uint32_t, n);

    for (uint32_t k = 0; k < n; k++)
        next[keys[k] + 1]++;
    for (uint32_t k = 0; k < n; k++)
        next[k + 1] += next[k];
    for (uint32_t k = 0; k < n; k++)
        sunk[next[keys[k]]++] = order[k];
    return sunk;
}
