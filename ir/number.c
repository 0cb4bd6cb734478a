/* Numberings of nodes: arrays by id, which grow with the ids of the function. */

#include "glow/number.h"

glow_numbering
glow_numbering_new(glow_arena *a, const glow_func *f)
{
    glow_numbering all = {.count = f->next_id, .cap = f->next_id, .arena = a};

    all.by_id = GLOW_NEW_ARRAY(a, uint32_t, all.count);
    return all;
}

glow_numbering
glow_number_nodes(glow_arena *a, const glow_func *f)
{
    glow_numbering all = glow_numbering_new(a, f);
    uint32_t count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        all.by_id[n->id] = ++count;
    return all;
}

void
glow_number_set(glow_numbering *all, const glow_node *n, uint32_t number)
{
    while (all->count <= n->id) {
        all->by_id = glow_arena_grow(all->arena, all->by_id, all->count,
                                     &all->cap, sizeof *all->by_id);
        all->by_id[all->count++] = 0;
    }
    all->by_id[n->id] = number + 1;
}
