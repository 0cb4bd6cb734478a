/*
 * Improving the best placement by search, or proving that there is no better.
 *
 * The search (search.c) answers for one height.  It is asked for what is
 * enough, with all steps there are: what is between that and the best is of no
 * use to who asks for a height.  Where more is needed than is enough, or where
 * the least is asked for, it is asked for the bound first, and then for heights
 * between that and the best: with few steps each, and as long as there are any
 * left with ever more.  Where it says that there is none, the bound rises.
 *
 * Where each buffer is as low as it may be above what is under it, all ends are
 * multiples of the greatest common divisor of all sizes, alignments and given
 * offsets; only such heights are looked at.
 */

#include "irgen/place/search.h"
#include "irgen/place/strategies.h"

#define FIRST_SLICE 4000 /* steps at the bound, at first */
#define CLIMBS 6         /* tries above the bound each time */

typedef struct hunt {
    glow_place_problem *p;
    glow_place_best *b;
    int64_t grain, enough, budget;
} hunt;

/* What it takes to begin a search, as steps, each of which is worth a look at
   all items: all pairs are listed, and each is held to all that are fixed. */
static int64_t
steps_to_begin(const glow_place_problem *p)
{
    return 1 + p->pairs / p->count + p->n_fixed;
}

/* Looks for a placement of this height; what it finds becomes the best, that
   there is none raises the bound. */
static glow_place_answer
hunt_at(hunt *h, int64_t height, int64_t steps)
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

/* Somewhere between what is enough and the best, a few times. */
static void
climb(hunt *h, int64_t low, int64_t steps)
{
    for (int i = 0; i < CLIMBS && low < h->b->height && h->budget > 0; i++) {
        int64_t part = (h->b->height - low) / h->grain / 2 * h->grain;

        if (hunt_at(h, low + part, steps) != GLOW_PLACE_FOUND)
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
glow_place_hunt(glow_place_problem *p, glow_place_best *b, int64_t enough,
                int64_t budget)
{
    hunt h = {.p = p, .b = b, .enough = enough, .budget = budget};

    h.grain = find_grain(p);
    p->bound = (p->bound + h.grain - 1) / h.grain * h.grain;
    for (int64_t slice = FIRST_SLICE; h.budget > 0; slice *= 4) {
        int64_t low = p->bound > enough ? p->bound : enough;
        glow_place_answer found;

        if (b->height <= low)
            break;
        found = hunt_at(&h, low, low > enough ? slice : h.budget);
        if (found == GLOW_PLACE_FOUND)
            break;
        if (found == GLOW_PLACE_STOPPED)
            climb(&h, low + h.grain, slice / 4);
    }
    return budget - (h.budget > 0 ? h.budget : 0);
}
