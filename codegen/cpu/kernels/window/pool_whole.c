/*
 * Global average pooling of kinds that are computed as float, and of quantized ones,
 * whose sums are exact.  The sums of
 * several vectors of channels are kept in registers while the pixels are read
 * in order of memory.  With few channels, several pixels are summed up side by
 * side, to hide the latency of an addition: the same number for all channels,
 * so that equal channels have equal averages.
 */

#include "codegen/cpu/emit/quant.h"
#include "codegen/cpu/kernels/common.h"

#define MOST_BITS 32 /* of exact sums */
#define SUMS 8       /* begun before the first is done */

typedef struct whole {
    int64_t pixels, channels;
    int parts; /* pixels side by side */
    cg_value batch;
} whole;

static bool
is_whole(const cpu_window_axis *x)
{
    return x->kernel == x->in && x->out == 1 && !x->start && !x->end &&
           x->dilation == 1;
}

/* True if the sums of quantized elements have 32 bits or fewer. */
static bool
sums_elements(const glow_node *n)
{
    const glow_type *x = n->in[0]->type;
    int last = x->shape.rank - 1;
    int bits = glow_is_quantized(x->elem)
                   ? glow_cg_sum_bits(x, glow_dims_product(x->shape, 1, last))
                   : 0;

    return bits && bits <= MOST_BITS;
}

static bool
takes_whole(const cpu_target *t, const glow_node *n)
{
    const glow_avgpool *a = n->attrs;
    cpu_window w =
        glow_cpu_window(n->in[0]->type->shape, n->out[0]->type->shape,
                        a->kernels, a->strides, a->pads, a->dilation);

    (void)t;
    return (glow_cpu_all_float(n) || sums_elements(n)) &&
           is_whole(&w.axis[0]) && is_whole(&w.axis[1]) && is_whole(&w.axis[2]);
}

static cg_value
plus(cg *g, const glow_type *t, cg_value sum, cg_value x)
{
    if (!glow_is_quantized(t->elem))
        return cg_fadd(g, sum, x);
    return cg_iadd(g, sum,
                   LLVMBuildIntCast2(g->builder, x, LLVMTypeOf(sum),
                                     glow_cg_is_signed(t), ""));
}

static cg_value
divide(cpu_job *j, const whole *w, cg_value sum)
{
    cg *g = j->g;
    const glow_type *x = j->in[0].type;
    cg_value pixels = cg_i64(g, w->pixels);

    if (!glow_is_quantized(x->elem))
        return cg_fdiv(g, sum,
                       glow_cg_real(LLVMTypeOf(sum), (double)w->pixels));
    return glow_cg_mean(g, x, j->out[0].type, sum, pixels, pixels);
}

/* Adds `count` pixels from `pixel` on to sums of their own: [pixel][vector]. */
static void
add_pixels(cpu_job *j, const whole *w, cg_value pixel, cg_value channel,
           int count, int blocks, int lanes, cg_value *sum)
{
    cg *g = j->g;
    cg_value at = cg_add(g, cg_mulc(g, w->batch, w->pixels), pixel);

    at = cg_add(g, cg_mulc(g, at, w->channels), channel);
    for (int i = 0; i < count; i++)
        for (int b = 0; b < blocks; b++, sum++)
            *sum =
                plus(g, j->in[0].type, *sum,
                     glow_cg_load(g, j->in[0],
                                  cg_addc(g, at, i * w->channels + b * lanes),
                                  lanes));
}

/* `blocks` vectors of channels from `channel` on. */
static void
average(cpu_job *j, const whole *w, cg_value channel, int blocks, int lanes)
{
    cg *g = j->g;
    int parts = w->parts;
    int64_t rest = w->pixels % parts, most = w->pixels - rest;
    cg_value sum[2 * SUMS];
    cg_loop l;

    for (int i = 0; i < parts * blocks; i++)
        sum[i] = LLVMConstNull(glow_cg_vector(
            glow_is_quantized(j->in[0].type->elem) ? g->i32 : g->f32, lanes));
    glow_cg_loop_guarded(g, &l, cg_i64(g, 0), cg_i64(g, most), parts, sum,
                         parts * blocks);
    for (int i = 0; i < parts * blocks; i++)
        sum[i] = l.value[i];
    add_pixels(j, w, l.i, channel, parts, blocks, lanes, sum);
    glow_cg_loop_end(g, &l, sum);
    for (int i = 0; i < parts * blocks; i++)
        sum[i] = l.value[i];
    add_pixels(j, w, cg_i64(g, most), channel, (int)rest, blocks, lanes, sum);
    for (int b = 0; b < blocks; b++) {
        for (int i = 1; i < parts; i++)
            sum[b] =
                glow_cpu_sum(g, j->in[0].type, sum[b], sum[i * blocks + b]);
        glow_cpu_finish(j, (cpu_place){w->batch, channel, 0, b * lanes},
                        divide(j, w, sum[b]));
    }
}

static void
emit_whole(cpu_job *j)
{
    cg *g = j->g;
    glow_dims x = j->in[0].type->shape;
    int lanes = g->target->vector_bytes / 4, last = x.rank - 1;
    whole w = {.channels = x.at[last], .pixels = glow_dims_product(x, 1, last)};
    int64_t vectors = w.channels / lanes, rest = w.channels % lanes;
    int64_t full = vectors - vectors % SUMS;
    int64_t abreast = full ? SUMS : vectors > 1 ? vectors : 1;
    cg_nest n;
    cg_loop l;

    w.parts = (int)((SUMS + abreast - 1) / abreast);
    glow_cpu_unit_nest(j, &n, GLOW_DIMS_OF(x.at[0]), 1);
    w.batch = n.at[0];
    if (full) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, full * lanes), SUMS * lanes,
                     NULL, 0);
        average(j, &w, l.i, SUMS, lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (vectors > full)
        average(j, &w, cg_i64(g, full * lanes), (int)(vectors - full), lanes);
    if (rest) {
        g->live = (int)rest;
        average(j, &w, cg_i64(g, vectors * lanes), 1, glow_cg_lanes_over(rest));
        g->live = 0;
    }
    glow_cg_nest_end(g, &n);
}

static int64_t
whole_units(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return n->in[0]->type->shape.at[0];
}

const cpu_kernel glow_cpu_avgpool_whole = {
    .name = "avgpool_whole",
    .op = &glow_op_avgpool,
    .takes = takes_whole,
    .emit = emit_whole,
    .stacks = true,
    .units = whole_units,
};
