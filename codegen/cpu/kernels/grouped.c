/*
 * Depthwise convolution of float: each channel has a filter of its own, so a
 * vector of channels is multiplied by a vector of weights.  Tiles are pixels of
 * a line; taps outside of the input are left out, as in direct.c.
 *
 * The filter is packed as [tap, channel].
 */

#include "codegen/cpu/kernels/runs.h"

typedef struct depthwise {
    cpu_window w;
    cg_value const *at; /* batch, three spatial axes; the last is of a run */
    cg_value x;         /* the first pixel of the tile */
    const cpu_run *run;
} depthwise;

static cpu_window
window_of(const glow_node *n)
{
    const glow_convolution *a = n->attrs;

    return glow_cpu_window(n->in[0]->type->shape, n->out[0]->type->shape,
                           a->kernels, a->strides, a->pads, a->dilation);
}

static int
most_rows(const cpu_target *t)
{
    return t->registers / 2 < 8 ? t->registers / 2 : 8;
}

static bool
takes_depthwise(const cpu_target *t, const glow_node *n)
{
    const glow_convolution *a = n->attrs;
    glow_dims y = n->out[0]->type->shape;
    cpu_window w = window_of(n);
    cpu_run runs[CPU_MOST_RUNS];

    if (!t || !glow_cpu_all(n, GLOW_FLOAT) || a->group < 2 ||
        a->group != w.channels || a->group != y.at[y.rank - 1] ||
        w.axis[2].kernel > 64 || !glow_cpu_is_whole_constant(n->in[1]))
        return false;

    glow_arena *scratch = glow_arena_new();
    int rows = glow_cpu_best_rows(w.axis[2].out, 1, most_rows(t));
    int count = glow_cpu_cut(scratch, &w.axis[2], rows, runs);

    glow_arena_free(scratch);
    return count > 0;
}

/* Adds the taps of one line of the filter, whose pixels begin at `in`. */
static void
add_line(cg *g, const depthwise *d, cg_value in, cg_value w, int lanes,
         cg_value *acc)
{
    const cpu_window_axis *x = &d->w.axis[2];
    LLVMTypeRef t = glow_cpu_vector(g->f32, lanes);
    int64_t pixel = d->w.channels * 4;

    for (int64_t j = 0; j < x->kernel; j++) {
        cg_value v = glow_cpu_load_raw(g, t, glow_cpu_atc(g, w, j * pixel));

        for (int r = 0; r < d->run->rows; r++) {
            int64_t at = (r * x->stride + j * x->dilation) * pixel;

            if (d->run->valid[r * x->kernel + j])
                acc[r] = glow_cpu_fma(
                    g, glow_cpu_load_raw(g, t, glow_cpu_atc(g, in, at)), v,
                    acc[r]);
        }
    }
}

/* A tile of a run for the channels from `c` on. */
static void
tile_channels(cpu_job *j, cg_value c, int lanes, void *user)
{
    const depthwise *d = user;
    cg *g = j->g;
    const cpu_window_axis *z = &d->w.axis[0], *y = &d->w.axis[1];
    const cpu_window_axis *x = &d->w.axis[2];
    int64_t pixel = d->w.channels * 4;
    cpu_taps depth = glow_cpu_taps(g, z, d->at[1], 0, z->in);
    cpu_taps lines = glow_cpu_taps(g, y, d->at[2], 0, y->in);
    cg_value ix = cg_addc(g, cg_mulc(g, d->x, x->stride), -x->start);
    cg_value acc[CG_MAX_CARRIED], init;
    cg_loop k, i;

    init = j->in[2].at ? glow_cpu_load_bits(g, j->in[2], c, lanes)
                       : LLVMConstNull(glow_cpu_vector(g->f32, lanes));
    for (int r = 0; r < d->run->rows; r++)
        acc[r] = init;
    glow_cpu_loop_guarded(g, &k, depth.first, depth.last, 1, acc, d->run->rows);
    glow_cpu_loop_guarded(g, &i, lines.first, lines.last, 1, k.value,
                          d->run->rows);

    cg_value iz = cg_add(g, depth.base, cg_mulc(g, k.i, z->dilation));
    cg_value iy = cg_add(g, lines.base, cg_mulc(g, i.i, y->dilation));
    cg_value line = cg_add(g, cg_mulc(g, d->at[0], z->in), iz);
    cg_value tap = cg_add(g, cg_mulc(g, k.i, y->kernel), i.i);
    cg_value channel = cg_mulc(g, c, 4);

    line = cg_add(g, cg_mulc(g, line, y->in), iy);
    line = cg_add(g, cg_mulc(g, line, x->in), ix);

    cg_value in = glow_cpu_at(g, j->in[0].at,
                              cg_add(g, cg_mulc(g, line, pixel), channel));
    cg_value w = glow_cpu_at(
        g, j->packed, cg_add(g, cg_mulc(g, tap, x->kernel * pixel), channel));

    for (int r = 0; r < d->run->rows; r++)
        acc[r] = i.value[r];
    add_line(g, d, in, w, lanes, acc);
    glow_cpu_loop_end(g, &i, acc);
    glow_cpu_loop_end(g, &k, i.value);

    cg_value to = cg_add(g, cg_mulc(g, d->at[0], z->out), d->at[1]);

    to = cg_add(g, cg_mulc(g, to, y->out), d->at[2]);
    to = cg_add(g, cg_mulc(g, to, x->out), d->x);
    for (int r = 0; r < d->run->rows; r++)
        glow_cpu_finish(j, (cpu_place){to, c, r, 0}, k.value[r]);
}

static void
emit_depthwise(cpu_job *j)
{
    cg *g = j->g;
    depthwise d = {.w = window_of(j->n)};
    cpu_run runs[CPU_MOST_RUNS];
    int rows = glow_cpu_best_rows(d.w.axis[2].out, 1, most_rows(g->target));
    int count = glow_cpu_cut(g->arena, &d.w.axis[2], rows, runs);
    cg_nest n;
    cg_loop l;

    glow_cpu_nest(g, &n,
                  GLOW_DIMS_OF(d.w.batch, d.w.axis[0].out, d.w.axis[1].out));
    d.at = n.at;
    for (int i = 0; i < count; i++) {
        d.run = &runs[i];
        glow_cpu_for(g, &l, runs[i].count);
        d.x = cg_addc(g, cg_mulc(g, l.i, runs[i].rows), runs[i].first);
        glow_cpu_lanes_for(j, 0, d.w.channels, tile_channels, &d);
        glow_cpu_loop_end(g, &l, NULL);
    }
    glow_cpu_nest_end(g, &n);
}

static int64_t
depthwise_size(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return glow_type_bytes(n->in[1]->type);
}

static void
pack_depthwise(const cpu_target *t, const glow_node *n, const glow_tensor *from,
               void *to)
{
    const float *f = from->data;
    float *packed = to;
    int64_t channels = window_of(n).channels;
    int64_t taps = glow_type_count(from->type) / channels;

    (void)t;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < taps; i++)
            packed[i * channels + c] = f[c * taps + i];
}

const cpu_kernel glow_cpu_conv_depthwise = {
    .name = "conv_depthwise",
    .op = &glow_op_convolution,
    .takes = takes_depthwise,
    .emit = emit_depthwise,
    .stacks = true,
    .packs = 1,
    .packed_size = depthwise_size,
    .pack = pack_depthwise,
};
