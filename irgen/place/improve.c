/*
 * Improvement of the incumbent placement by search at chosen heights, or a proof.
 *
 * The search (search.c) decides one height.  It is asked for the height `enough`,
 * with all steps, since heights between that and the incumbent are of no use to a
 * caller who names a height.  Where the bound is above `enough`, or the least
 * height is wanted, it is asked for the bound first, then for heights between
 * the bound and the incumbent: with few steps each, and more in each round while
 * the budget lasts.  Each infeasible height raises the bound.
 *
 * If each buffer rests as low as the buffers below it allow, all ends are
 * multiples of the greatest common divisor of all sizes, alignments and given
 * offsets; only such heights are tried.
 */

#include "irgen/place/search.h"
#include "irgen/place/strategies.h"

#define FIRST_SLICE 4000 /* steps at the bound, at first */
#define CLIMBS 6         /* tries above the bound in each round */

typedef struct improver {
    glow_place_problem *p;
    glow_place_best *b;
    int64_t grain, enough, budget;
} improver;

/* Steps charged for the start of a search, each worth a visit of all items: all
   live pairs are listed, and each item is compared with all fixed ones. */
static int64_t
steps_to_begin(const glow_place_problem *p)
{
    return 1 + p->pairs / p->count + p->n_fixed;
}

/* Searches for a placement of this height; success updates the incumbent, a proof
   of infeasibility the bound. */
static glow_place_answer
search_at(improver *h, int64_t height, int64_t steps)
{
    glow_place_problem *p = h->p;
    glow_place_answer found;

    steps = steps < h->budget ? steps : h->budget;
    found = glow_place_search(p, p->items, p->count, height, &steps);
    h->budget -= steps + steps_to_begin(p);
    if (found == GLOW_PLACE_NONE)
        p->bound = height + h->grain;
    if (found == GLOW_PLACE_FOUND)
        glow_place_keep(p, h->b, "search");
    return found;
}

/* Bisects between `low` and the incumbent, a few times. */
static void
climb(improver *h, int64_t low, int64_t steps)
{
    for (int i = 0; i < CLIMBS && low < h->b->height && h->budget > 0; i++) {
        int64_t part = (h->b->height - low) / h->grain / 2 * h->grain;

        if (search_at(h, low + part, steps) != GLOW_PLACE_FOUND)
            low += part + h->grain;
    }
}

static int64_t
common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static int64_t
find_grain(const glow_place_problem *p)
{
    int64_t grain = p->bank;

    for (size_t i = 0; i < p->n_forbidden; i++)
        grain = common_divisor(p->forbidden[i].end, grain);
    for (uint32_t i = 0; i < p->count; i++) {
        const glow_place_item *x = &p->items[i];

        grain = common_divisor(x->size, grain);
        if (x->align > 1)
            grain = common_divisor(x->align, grain);
        if (x->is_fixed)
            grain = common_divisor(x->offset, grain);
    }
    return grain;
}

int64_t
glow_place_improve(glow_place_problem *p, glow_place_best *b, int64_t enough,
                   int64_t budget)
{
    improver h = {.p = p, .b = b, .enough = enough, .budget = budget};

    h.grain = find_grain(p);
    p->bound = (p->bound + h.grain - 1) / h.grain * h.grain;
    for (int64_t slice = FIRST_SLICE; h.budget > 0;
         slice = slice < h.budget / 4 ? slice * 4 : h.budget) {
        int64_t low = p->bound > enough ? p->bound : enough;
        glow_place_answer found;

        if (b->height <= low)
            break;
        found = search_at(&h, low, low > enough ? slice : h.budget);
        if (found == GLOW_PLACE_FOUND)
            break;
        if (found == GLOW_PLACE_STOPPED)
            climb(&h, low + h.grain, slice / 4);
    }
    return budget - (h.budget > 0 ? h.budget : 0);
}
