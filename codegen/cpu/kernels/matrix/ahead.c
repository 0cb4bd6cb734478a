/*
 * Software prefetch of the weights of the next group of channels.  Packed weights are in the order of the calls, so the last group of a kernel
 * prefetches the first of the next.
 */

#include "codegen/cpu/kernels/matrix/make.h"

#define MOST_AHEAD 16  /* lines for each product of a unit */
#define PLACES 8       /* of the weights to prefetch, at most */
#define FEW_WEIGHTS 16 /* of the cache: smaller weights may stay in it */

typedef cpu_matrix matrix;
typedef cpu_matrix_maker maker;
typedef cpu_matrix_reading reading;

/*
 * Nothing to prefetch of weights that are few enough to stay in the cache from one run of
 * the network to the next.  Memory gives more to several places at once, because the
 * hardware prefetches each by itself: products of 128 x 768 by 768 x 3072 take 695 us with
 * one place, 510 with eight.
 */
reading
glow_cpu_matrix_ahead_of(const maker *k)
{
    const matrix *m = &k->m;
    int64_t group = glow_cpu_matrix_bytes(m, 0);
    int64_t times =
        cg_ceil_div(m->block * m->step, 2) * glow_cpu_matrix_chunks(m);
    int64_t lines = cg_ceil_div(group, CPU_LINE * times);
    int64_t most = MOST_AHEAD * (m->parts > 1 ? 3 : 1);
    reading r = {0};

    if (!m->d.packed || m->by_groups ||
        group * m->groups <=
            glow_cpu_matrix_cache(k->j->g->target) / FEW_WEIGHTS)
        return r;
    lines = lines < most ? lines : most;
    r.lines = cg_ceil_div(lines, PLACES);
    r.places = cg_ceil_div(lines, r.lines);
    r.apart = r.lines * times;
    return r;
}

cg_value
glow_cpu_matrix_prefetch(const maker *k, cg_value at)
{
    cg *g = k->j->g;
    const reading *r = &k->ahead;

    for (int64_t p = 0; p < r->places; p++)
        for (int64_t i = 0; i < r->lines; i++) {
            int64_t line = p * r->apart + i;

            glow_cg_prefetch(g, glow_cg_atc(g, at, line * CPU_LINE), false, 2);
        }
    return glow_cg_atc(g, at, r->lines * CPU_LINE);
}
