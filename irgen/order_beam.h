/* A good order of a part, by keeping only the best states of each size. */

#ifndef IRGEN_ORDER_BEAM_H
#define IRGEN_ORDER_BEAM_H

#include "irgen/order.h"

typedef struct glow_order_beam {
    glow_order_walk *walk; /* where the part begins; left as it was */
    uint32_t n_tasks;      /* of the part: all that can run until they have */
    uint32_t width;        /* states kept of each size */
    int64_t floor;         /* peaks below this are as good as this */
    int64_t beat;          /* a peak that is known */
    int64_t steps;         /* that may be taken; lowered */
    uint32_t *tasks;       /* gets the order, if one is found */
} glow_order_beam;

/* False if none was found that needs less than what is to be beaten. */
bool glow_order_beam_run(glow_arena *a, glow_order_beam *beam);

#endif
