/*
 * Register tile of the product of the state and R: all sums stay in registers
 * over the whole depth.  If there are too few sums to hide the latency of a
 * multiplication, the depth is split over several partial sums.
 */

#include "codegen/cpu/kernels/recurrent/product.h"

#define ENOUGH_SUMS 8 /* multiplications begun before the first is done */
#define CHUNK 4       /* elements of the state written out */

typedef struct sums {
    cg_value at[CG_MAX_CARRIED]; /* [part][row][gate], then both pointers */
    int each, parts;             /* sums of a part, and parts of the depth */
} sums;

static int
parts_of(const cpu_recurrent_tile *t)
{
    int parts = 1;

    while (parts * t->rows * t->gates < ENOUGH_SUMS)
        parts *= 2;
    return parts;
}

/* `count` elements of the state; moves the pointers on. */
static void
chunk(cg *g, const cpu_recurrent_tile *t, sums *s, int count)
{
    LLVMTypeRef vector = glow_cg_vector(g->f32, t->lanes);
    cg_value *state = &s->at[s->parts * s->each], *weights = state + 1;
    int64_t step = (int64_t)t->gates * t->lanes * 4;
    cg_value w[CPU_MOST_PRODUCTS];

    for (int k = 0; k < count; k++) {
        cg_value *sum = &s->at[k % s->parts * s->each];

        for (int i = 0; i < t->gates; i++)
            w[i] = glow_cg_load_raw(
                g, vector,
                glow_cg_atc(g, *weights, k * step + i * t->lanes * 4));
        for (int row = 0; row < t->rows; row++) {
            cg_value x = glow_cg_load_raw(
                g, g->f32, glow_cg_atc(g, *state, row * t->row_step + k * 4));

            x = glow_cg_splat(g, x, t->lanes);
            for (int i = 0; i < t->gates; i++, sum++)
                *sum = glow_cg_fma(g, x, w[i], *sum);
        }
    }
    *state = glow_cg_atc(g, *state, count * 4);
    *weights = glow_cg_atc(g, *weights, count * step);
}

void
glow_cpu_recurrent_tile(cg *g, const cpu_recurrent_tile *t, cg_value *sum)
{
    sums s = {.each = t->rows * t->gates, .parts = parts_of(t)};
    int unit = s.parts > CHUNK ? s.parts : CHUNK, n = s.parts * s.each;
    int64_t whole = t->depth - t->depth % unit;
    cg_loop l;

    for (int i = 0; i < n; i++)
        s.at[i] = LLVMConstNull(glow_cg_vector(g->f32, t->lanes));
    s.at[n] = t->state;
    s.at[n + 1] = t->weights;
    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), unit, s.at, n + 2);
        for (int i = 0; i < n + 2; i++)
            s.at[i] = l.value[i];
        chunk(g, t, &s, unit);
        glow_cg_loop_end(g, &l, s.at);
        for (int i = 0; i < n + 2; i++)
            s.at[i] = l.value[i];
    }
    chunk(g, t, &s, (int)(t->depth - whole));
    for (int half = s.parts / 2; half > 0; half /= 2)
        for (int i = 0; i < half * s.each; i++)
            s.at[i] = cg_fadd(g, s.at[i], s.at[half * s.each + i]);
    for (int i = 0; i < s.each; i++)
        sum[i] = s.at[i];
}
