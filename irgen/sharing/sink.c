/*
 * Code sinking of views: moves each node that is no instruction right before its
 * first user.
 *
 * Such nodes take no memory at any position, so an order leaves them anywhere.
 * But until the passes over programs make views of them they are copies, and
 * these passes compare the memory of the program with and without each copy.
 * Linear time.
 */

#include <string.h>

#include "irgen/sharing/model.h"

/* By position: the position of the first user if the node is no instruction, else
   its own. */
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
