/*
 * Branching heuristics of the search for a placement.
 *
 * No rule is good for all problems, so a heuristic combines one of five rules for
 * the end of a valley to branch at with one of three orders of blocks.
 *
 * Ends: least waste; little waste and few branches, with two weights of the
 * number of branches; fewest branches; lowest.  Sections that often failed come
 * earlier (the weighted degree of constraint solvers: Boussemart et al., ECAI
 * 2004).
 *
 * Blocks: those that fill the valley and are level with its sides, as in best fit
 * by skyline (Burke, Kendall and Whitwell, Operations Research 52, 2004), then
 * those with the longest live range; by the load during their live range; by
 * size.
 */

#include <stdlib.h>

#include "irgen/place/heuristics.h"

enum { BY_FIT, BY_LOAD, BY_SIZE, ORDERS };
enum { WASTE, WASTE_WAYS, WASTE_MORE_WAYS, WAYS, LOWEST, RULES };

_Static_assert(RULES *ORDERS == GLOW_PLACE_HEURISTICS,
               "each rule with each order");

typedef struct glow_rank_key {
    double key[3];
    int block;
} glow_rank_key;

static int
by_key(const void *x, const void *y)
{
    const glow_rank_key *a = x, *b = y;

    for (int k = 0; k < 3; k++)
        if (a->key[k] != b->key[k])
            return a->key[k] > b->key[k] ? -1 : 1;
    return a->block - b->block;
}

/* Load of a block: the most live bytes at a moment of its live range. */
static double
load_of(const glow_place_state *s, const glow_block *b)
{
    int64_t load = 0;

    for (int t = b->begin; t < b->end; t++)
        load = s->sections[t].left > load ? s->sections[t].left : load;
    return (double)load;
}

static glow_rank_key
key_of(const glow_place_state *s, int i, int order)
{
    const glow_block *b = &s->blocks[i];
    double time = (double)b->item->end - (double)b->item->begin;
    double size = (double)b->size;

    switch (order) {
    case BY_FIT:
        return (glow_rank_key){{time, size}, i};
    case BY_LOAD:
        return (glow_rank_key){{load_of(s, b), time * size, time}, i};
    default:
        return (glow_rank_key){{size, time}, i};
    }
}

void
glow_heuristic_rank(glow_place_state *s, int heuristic)
{
    glow_rank_key *keys = s->keys;

    if (!keys)
        s->keys = keys = GLOW_NEW_ARRAY(s->arena, glow_rank_key, s->n_blocks);
    for (int i = 0; i < s->n_blocks; i++)
        keys[i] = key_of(s, i, heuristic / RULES);
    glow_sort(keys, (size_t)s->n_blocks, sizeof(*keys), by_key);
    for (int i = 0; i < s->n_blocks; i++)
        s->blocks[keys[i].block].rank = i;
}

double
glow_heuristic_end(const glow_place_state *s, int heuristic,
                   const glow_place_end *e)
{
    const glow_section *sec = &s->sections[e->section];
    double little = (double)s->height / 1024; /* independent of the unit */
    double waste = (little + (double)sec->slack) / sec->weight, ways = e->ways;

    switch (heuristic % RULES) {
    case WASTE:
        return waste;
    case WASTE_WAYS: /* the square of the waste times the branches */
        return waste * waste * ways;
    case WASTE_MORE_WAYS:
        return waste * ways;
    case WAYS:
        return ways / sec->weight;
    default:
        return (double)sec->floor;
    }
}

/* Quality of the fit of a block in the valley, at least 0. */
static int
fit_of(const glow_place_state *s, const glow_place_end *e, int b)
{
    const glow_block *x = &s->blocks[b];
    bool first = x->begin == e->begin, last = x->end == e->end;
    int64_t top = s->level[b] + x->size;

    return (first && last ? 4 : 0) + (first && top == e->before) +
           (last && top == e->behind);
}

void
glow_heuristic_sort(const glow_place_state *s, int heuristic,
                    const glow_place_end *e, int *blocks, int count)
{
    bool fits = heuristic / RULES == BY_FIT;

    for (int i = 1; i < count; i++) {
        int b = blocks[i], fit = fits ? fit_of(s, e, b) : 0, k = i;

        for (; k > 0; k--) {
            int other = fits ? fit_of(s, e, blocks[k - 1]) : 0;

            if (fit < other ||
                (fit == other &&
                 s->blocks[b].rank > s->blocks[blocks[k - 1]].rank))
                break;
            blocks[k] = blocks[k - 1];
        }
        blocks[k] = b;
    }
}
