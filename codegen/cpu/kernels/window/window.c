/*
 * Pooling, and direct convolution one element at a time: the fallback where the
 * tiled kernels do not take the node.
 *
 *     for each result pixel                        units: its outer axes
 *       for each group, output channel (pooling: vector of channels)
 *         for each tap inside of the input, input channel
 *           one sum, or greatest element
 */

#include "codegen/cpu/emit/quant.h"
#include "codegen/cpu/kernels/common.h"

/* Loops over the taps of one window. */
typedef struct taps {
    cpu_taps t[3];
    cg_loop loop[3];
    cg_value at;  /* element of Input, of channel 0 */
    cg_value tap; /* number of the tap in the kernel */
} taps;

static void
begin_taps(cg *g, const cpu_window *w, taps *s, cg_value const *at)
{
    cg_value pixel = at[0], tap = cg_i64(g, 0);

    for (int d = 0; d < 3; d++)
        s->t[d] = glow_cpu_taps(g, &w->axis[d], at[1 + d], 0, w->axis[d].in);
    for (int d = 0; d < 3; d++) {
        const cpu_window_axis *a = &w->axis[d];

        glow_cg_loop_guarded(g, &s->loop[d], s->t[d].first, s->t[d].last, 1,
                             NULL, 0);

        cg_value x =
            cg_add(g, s->t[d].base, cg_mulc(g, s->loop[d].i, a->dilation));

        pixel = cg_add(g, cg_mulc(g, pixel, a->in), x);
        tap = cg_add(g, cg_mulc(g, tap, a->kernel), s->loop[d].i);
    }
    s->at = cg_mulc(g, pixel, w->channels);
    s->tap = tap;
}

static void
end_taps(cg *g, taps *s)
{
    for (int d = 2; d >= 0; d--)
        glow_cg_loop_end(g, &s->loop[d], NULL);
}

/* The pixel of the result at (batch, three spatial axes). */
static cg_value
result_pixel(cg *g, const cpu_window *w, cg_value const *at)
{
    cg_value pixel = at[0];

    for (int d = 0; d < 3; d++)
        pixel = cg_add(g, cg_mulc(g, pixel, w->axis[d].out), at[1 + d]);
    return pixel;
}

static glow_dims
result_pixels(const cpu_window *w)
{
    return GLOW_DIMS_OF(w->batch, w->axis[0].out, w->axis[1].out,
                        w->axis[2].out);
}

#define FEW_LINES 16 /* that threads cannot share */

/* Units: lines of the result, or pixels where lines are few. */

static int
unit_axes(const cpu_window *w)
{
    return w->batch * w->axis[0].out * w->axis[1].out < FEW_LINES ? 4 : 3;
}

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    glow_dims y = n->out[0]->type->shape;
    int64_t lines = glow_dims_product(y, 0, y.rank - 2);

    (void)t;
    return lines < FEW_LINES ? lines * y.at[y.rank - 2] : lines;
}

/* Pooling: a vector of channels at a time. */

typedef struct pool {
    cpu_window w;
    cg_value const *at;
    bool count_pads;
} pool;

static void
max_channels(cpu_job *j, cg_value channel, int lanes, void *user)
{
    const pool *p = user;
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    bool with_arg = j->n->n_out > 1;
    cg_value low = glow_cpu_lowest(g, t);
    cg_value best = glow_cg_local(g, glow_cg_splat(g, low, lanes)), arg;
    taps s;

    arg = with_arg ? glow_cg_local(g, cg_i64(g, -1)) : NULL;
    begin_taps(g, &p->w, &s, p->at);

    cg_value at = cg_add(g, s.at, channel);
    cg_value x = glow_cg_load(g, j->in[0], at, lanes);
    cg_value old = cg_get(g, best), wins = glow_cpu_beats(g, t, x, old);

    if (with_arg) {
        cg_value i = cg_get(g, arg);

        wins = cg_or(g, wins, cg_icmp(g, LLVMIntSLT, i, cg_i64(g, 0)));
        cg_set(g, arg, cg_select(g, wins, at, i));
    }
    cg_set(g, best, cg_select(g, wins, x, old));
    end_taps(g, &s);

    cg_value row = result_pixel(g, &p->w, p->at);

    if (with_arg) {
        at = cg_add(g, cg_mulc(g, row, p->w.channels), channel);
        glow_cg_store(g, j->out[1], at, cg_get(g, arg));
    }
    glow_cpu_finish(j, (cpu_place){row, channel, 0, 0}, cg_get(g, best));
}

/* Taps within Input, or within it and its pads. */
static cg_value
count_taps(cg *g, const pool *p, bool count_pads)
{
    cg_value count = cg_i64(g, 1);

    for (int d = 0; d < 3; d++) {
        const cpu_window_axis *a = &p->w.axis[d];
        cpu_taps t = count_pads ? glow_cpu_taps(g, a, p->at[1 + d], -a->start,
                                                a->in + a->end)
                                : glow_cpu_taps(g, a, p->at[1 + d], 0, a->in);
        cg_value n = cg_sub(g, t.last, t.first);

        count = cg_mul(g, count, glow_cg_imax(g, n, cg_i64(g, 0)));
    }
    return count;
}

static void
average_channels(cpu_job *j, cg_value channel, int lanes, void *user)
{
    const pool *p = user;
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    bool adds = glow_is_quantized(t->elem);
    LLVMTypeRef c = adds ? g->i64 : glow_cg_computed(g, t);
    cg_value sum = glow_cg_local(g, LLVMConstNull(glow_cg_vector(c, lanes)));
    taps s;

    begin_taps(g, &p->w, &s, p->at);

    cg_value x = glow_cg_load(g, j->in[0], cg_add(g, s.at, channel), lanes);

    if (adds)
        x = LLVMBuildIntCast2(g->builder, x, glow_cg_like(x, c),
                              glow_cg_is_signed(t), "");
    cg_set(g, sum, glow_cpu_sum(g, t, cg_get(g, sum), x));
    end_taps(g, &s);

    cg_value count = count_taps(g, p, p->count_pads), mean = cg_get(g, sum);

    if (adds) {
        mean = glow_cg_mean(g, t, j->out[0].type, mean, count_taps(g, p, false),
                            count);
    } else {
        count = LLVMBuildSIToFP(g->builder, count, c, "");
        mean = cg_fdiv(g, mean, glow_cg_splat(g, count, lanes));
    }
    glow_cpu_finish(
        j, (cpu_place){result_pixel(g, &p->w, p->at), channel, 0, 0}, mean);
}

static void
emit_pool(cpu_job *j, pool p, cg_lanes_fn body)
{
    cg_nest n;
    bool one_by_one = j->n->n_out > 1;

    glow_cpu_unit_nest(j, &n, result_pixels(&p.w), unit_axes(&p.w));
    p.at = n.at;
    if (one_by_one) {
        cg_loop l;

        body(j, glow_cg_for(j->g, &l, p.w.channels), 1, &p);
        glow_cg_loop_end(j->g, &l, NULL);
    } else {
        glow_cpu_lanes_for(j, 0, p.w.channels, body, &p);
    }
    glow_cg_nest_end(j->g, &n);
}

static void
emit_maxpool(cpu_job *j)
{
    const glow_maxpool *a = j->n->attrs;
    pool p = {.w = glow_cpu_window(j->in[0].type->shape, j->out[0].type->shape,
                                   a->kernels, a->strides, a->pads,
                                   a->dilation)};

    emit_pool(j, p, max_channels);
}

const cpu_kernel glow_cpu_maxpool = {
    .name = "maxpool",
    .op = &glow_op_maxpool,
    .quantized = true,
    .emit = emit_maxpool,
    .units = units_of,
    .stacks = true,
};

const cpu_kernel glow_cpu_maxpoolwithargmax = {
    .name = "maxpoolwithargmax",
    .op = &glow_op_maxpoolwithargmax,
    .quantized = true,
    .emit = emit_maxpool,
    .units = units_of,
};

static void
emit_avgpool(cpu_job *j)
{
    const glow_avgpool *a = j->n->attrs;
    pool p = {.w =
                  glow_cpu_window(j->in[0].type->shape, j->out[0].type->shape,
                                  a->kernels, a->strides, a->pads, a->dilation),
              .count_pads = a->count_include_pads};

    emit_pool(j, p, average_channels);
}

static bool
takes_average(const cpu_target *t, const glow_node *n)
{
    const glow_avgpool *a = n->attrs;

    (void)t;
    return !glow_computes_quantized(n) ||
           glow_cg_sum_bits(n->in[0]->type, glow_dims_count(a->kernels));
}

const cpu_kernel glow_cpu_avgpool = {
    .name = "avgpool",
    .op = &glow_op_avgpool,
    .takes = takes_average,
    .emit = emit_avgpool,
    .units = units_of,
    .stacks = true,
};

/* Convolution: Filter [O, taps, C / Group]. */
static void
emit_convolution(cpu_job *j)
{
    const glow_convolution *a = j->n->attrs;
    cg *g = j->g;
    cpu_window w =
        glow_cpu_window(j->in[0].type->shape, j->out[0].type->shape, a->kernels,
                        a->strides, a->pads, a->dilation);
    glow_dims y = j->out[0].type->shape;
    int64_t outputs = y.at[y.rank - 1], per_group = outputs / a->group;
    int64_t channels = w.channels / a->group;
    int64_t kernel = glow_dims_count(a->kernels);
    const glow_type *t = j->in[0].type;
    cg_nest n;
    cg_loop group, out, in;
    taps s;

    glow_cpu_unit_nest(j, &n, result_pixels(&w), unit_axes(&w));
    glow_cg_for(g, &group, a->group);
    glow_cg_for(g, &out, per_group);

    cg_value o = cg_add(g, cg_mulc(g, group.i, per_group), out.i);
    cg_value first = cg_mulc(g, group.i, channels);
    cg_value init = j->in[2].at ? glow_cg_load(g, j->in[2], o, 1)
                                : LLVMConstNull(glow_cg_computed(g, t));
    cg_value sum = glow_cg_local(g, init);

    begin_taps(g, &w, &s, n.at);
    glow_cg_for(g, &in, channels);

    cg_value x =
        glow_cg_load(g, j->in[0], cg_add(g, cg_add(g, s.at, first), in.i), 1);
    cg_value f = cg_add(g, cg_mulc(g, o, kernel), s.tap);

    f = glow_cg_load(g, j->in[1], cg_add(g, cg_mulc(g, f, channels), in.i), 1);
    x = cg_fmul(g, x, f);
    cg_set(g, sum, cg_fadd(g, cg_get(g, sum), x));
    glow_cg_loop_end(g, &in, NULL);
    end_taps(g, &s);

    cg_value pixel = result_pixel(g, &w, n.at);

    glow_cpu_finish(j, (cpu_place){pixel, o, 0, 0}, cg_get(g, sum));
    glow_cg_loop_end(g, &out, NULL);
    glow_cg_loop_end(g, &group, NULL);
    glow_cg_nest_end(g, &n);
}

const cpu_kernel glow_cpu_convolution = {
    .name = "convolution",
    .op = &glow_op_convolution,
    .emit = emit_convolution,
    .units = units_of,
    .stacks = true,
};

/*
 * Transposed convolution, gathered: tap k of an axis reaches result h from the
 * input i with i * stride = h + start - k * dilation, if there is one.
 */
typedef struct spread {
    cg_loop tap[3];
    cg_if hit[3];
    cg_value pixel, number;
} spread;

static void
begin_spread(cg *g, const cpu_window *w, spread *s, cg_value const *at)
{
    s->pixel = at[0];
    s->number = cg_i64(g, 0);
    for (int d = 0; d < 3; d++) {
        const cpu_window_axis *a = &w->axis[d];
        cg_value k = glow_cg_for(g, &s->tap[d], a->kernel);
        cg_value from = cg_addc(g, at[1 + d], a->start);
        cg_value x = cg_sub(g, from, cg_mulc(g, k, a->dilation));
        cg_value stride = cg_i64(g, a->stride), zero = cg_i64(g, 0);
        cg_value i = LLVMBuildSDiv(g->builder, x, stride, "");
        cg_value exact = cg_icmp(g, LLVMIntEQ, cg_mul(g, i, stride), x);
        cg_value inside = cg_icmp(g, LLVMIntSGE, x, zero);

        inside = cg_and(g, inside, cg_icmp(g, LLVMIntSLT, i, cg_i64(g, a->in)));
        glow_cg_if(g, &s->hit[d], cg_and(g, exact, inside));
        s->pixel = cg_add(g, cg_mulc(g, s->pixel, a->in), i);
        s->number = cg_add(g, cg_mulc(g, s->number, a->kernel), k);
    }
}

static void
end_spread(cg *g, spread *s)
{
    for (int d = 2; d >= 0; d--) {
        glow_cg_end_if(g, &s->hit[d]);
        glow_cg_loop_end(g, &s->tap[d], NULL);
    }
}

/* Results of one group, Filter [C, taps, O / Group]. */
typedef struct transposed {
    cpu_window w;
    cg_value const *at;
    cg_value group;
    int64_t channels, outputs, taps;
} transposed;

static void
transposed_channels(cpu_job *j, cg_value out, int lanes, void *user)
{
    const transposed *t = user;
    cg *g = j->g;
    cg_value o = cg_add(g, cg_mulc(g, t->group, t->outputs), out);
    LLVMTypeRef c = glow_cg_computed(g, j->in[0].type);
    cg_value init = j->in[2].at ? glow_cg_load(g, j->in[2], o, lanes)
                                : LLVMConstNull(glow_cg_vector(c, lanes));
    cg_value sum = glow_cg_local(g, init);
    spread s;
    cg_loop in;

    begin_spread(g, &t->w, &s, t->at);
    glow_cg_for(g, &in, t->channels);

    cg_value channel = cg_add(g, cg_mulc(g, t->group, t->channels), in.i);
    cg_value x = glow_cg_load(
        g, j->in[0], cg_add(g, cg_mulc(g, s.pixel, t->w.channels), channel), 1);
    cg_value f = cg_add(g, cg_mulc(g, channel, t->taps), s.number);

    f = glow_cg_load(g, j->in[1], cg_add(g, cg_mulc(g, f, t->outputs), out),
                     lanes);
    x = glow_cg_splat(g, x, lanes);
    cg_set(g, sum, glow_cg_fma(g, x, f, cg_get(g, sum)));
    glow_cg_loop_end(g, &in, NULL);
    end_spread(g, &s);

    cg_value pixel = result_pixel(g, &t->w, t->at);

    glow_cpu_finish(j, (cpu_place){pixel, o, 0, 0}, cg_get(g, sum));
}

static void
emit_convtranspose(cpu_job *j)
{
    const glow_convtranspose *a = j->n->attrs;
    glow_dims f = j->in[1].type->shape;
    transposed t = {
        .w = glow_cpu_window(j->in[0].type->shape, j->out[0].type->shape,
                             a->kernels, a->strides, a->pads, a->dilation),
        .outputs = f.at[f.rank - 1],
        .taps = glow_dims_count(a->kernels),
    };
    cg_nest n;
    cg_loop group;

    t.channels = t.w.channels / a->group;
    glow_cpu_unit_nest(j, &n, result_pixels(&t.w), unit_axes(&t.w));
    t.at = n.at;
    t.group = glow_cg_for(j->g, &group, a->group);
    glow_cpu_lanes_for(j, 0, t.outputs, transposed_channels, &t);
    glow_cg_loop_end(j->g, &group, NULL);
    glow_cg_nest_end(j->g, &n);
}

const cpu_kernel glow_cpu_convtranspose = {
    .name = "convtranspose",
    .op = &glow_op_convtranspose,
    .emit = emit_convtranspose,
    .units = units_of,
    .stacks = true,
};
