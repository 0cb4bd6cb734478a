/*
 * MaxPoolGrad: the greatest element of a window is found again, and its gradient added.
 *
 *     for each image                               units
 *       for each window, and vector of channels
 *         for each tap in the input                find the first of the greatest
 *         for each tap in the input                result += its gradient, or 0
 *
 * Where windows do not overlap and leave none out, each element is stored once, behind
 * the last time that it is read, so the result may be the input's buffer.  Else sums, or
 * zeros, are floats of an image in scratch, which are stored when the image is done.
 */

#include "codegen/cpu/emit/narrow.h"
#include "codegen/cpu/kernels/common.h"

typedef struct pool_grad {
    cpu_window w; /* of axes 1 and 2 */
    bool overlaps;
    bool covers;           /* windows have each element once: no scratch */
    cg_tensor out;         /* or the scratch, as if all images were there */
    cg_value image, at[2]; /* of the window */
    cpu_taps taps[2];
} pool_grad;

static bool
pool_of(const glow_node *n, pool_grad *p)
{
    const glow_maxpool *a = n->attrs;
    const cpu_window_axis *z;

    *p = (pool_grad){.w = glow_cpu_window(n->in[0]->type->shape,
                                          n->in[1]->type->shape, a->kernels,
                                          a->strides, a->pads, a->dilation),
                     .covers = true};
    z = &p->w.axis[0];
    if (!glow_cpu_all_float(n) || z->kernel != 1 || z->stride != 1 ||
        z->start || z->in != z->out || glow_type_count(n->in[0]->type) == 0)
        return false;
    p->w.batch *= z->in;
    for (int i = 1; i < 3; i++) {
        const cpu_window_axis *x = &p->w.axis[i];

        p->overlaps |= (x->kernel - 1) * x->dilation >= x->stride;
        p->covers &= x->kernel == x->stride && x->dilation == 1 && !x->start &&
                     x->out * x->stride >= x->in;
    }
    return true;
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    pool_grad p;

    (void)t;
    return pool_of(n, &p);
}

static int64_t
units(const cpu_target *t, const glow_node *n)
{
    pool_grad p;

    (void)t;
    pool_of(n, &p);
    return p.w.batch;
}

/* Elements of an image of the input. */
static int64_t
image_size(const pool_grad *p)
{
    return p->w.axis[1].in * p->w.axis[2].in * p->w.channels;
}

static int64_t
room(const cpu_target *t, const glow_node *n)
{
    pool_grad p;

    (void)t;
    pool_of(n, &p);
    return !p.covers ? glow_cpu_room(image_size(&p), sizeof(float)) : 0;
}

/* Loops over the taps of a window, with `count` carried values. */
typedef struct tap_loops {
    cg_loop line, tap;
    cg_value number; /* of the tap */
    cg_value pixel;  /* of the input */
} tap_loops;

static void
begin_taps(cg *g, const pool_grad *p, tap_loops *l, cg_value const *init,
           int count)
{
    const cpu_window_axis *v = &p->w.axis[1], *h = &p->w.axis[2];
    cg_value y, x;

    glow_cg_loop_guarded(g, &l->line, p->taps[0].first, p->taps[0].last, 1,
                         init, count);
    glow_cg_loop_guarded(g, &l->tap, p->taps[1].first, p->taps[1].last, 1,
                         l->line.value, count);
    l->number = cg_affine(g, l->line.i, h->kernel, l->tap.i, 1);
    y = cg_add(g, p->taps[0].base, cg_mulc(g, l->line.i, v->dilation));
    y = cg_affine(g, p->image, v->in, y, 1);
    x = cg_add(g, p->taps[1].base, cg_mulc(g, l->tap.i, h->dilation));
    l->pixel = cg_affine(g, y, h->in, x, 1);
}

static void
end_taps(cg *g, tap_loops *l, cg_value const *next)
{
    glow_cg_loop_end(g, &l->tap, next);
    glow_cg_loop_end(g, &l->line, l->tap.value);
}

static void
add_channels(cpu_job *j, cg_value channel, int lanes, void *user)
{
    const pool_grad *p = user;
    const glow_type *t = j->in[0].type;
    cg *g = j->g;
    cg_value none =
        glow_cg_splat(g, LLVMConstInt(g->i32, (uint64_t)-1, true), lanes);
    cg_value carried[2] = {glow_cg_splat(g, glow_cpu_lowest(g, t), lanes),
                           none};
    cg_value at, d, x, number, wins, zero, row;
    tap_loops l;

    begin_taps(g, p, &l, carried, 2);
    at = cg_affine(g, l.pixel, p->w.channels, channel, 1);
    x = glow_cg_load(g, j->in[0], at, lanes);
    wins = glow_cpu_beats(g, t, x, l.tap.value[0]);
    wins = cg_or(g, wins, cg_icmp(g, LLVMIntEQ, l.tap.value[1], none));
    number = LLVMBuildTrunc(g->builder, l.number, g->i32, "");
    number = glow_cg_splat(g, number, lanes);
    carried[0] = cg_select(g, wins, x, l.tap.value[0]);
    carried[1] = cg_select(g, wins, number, l.tap.value[1]);
    end_taps(g, &l, carried);
    none = l.line.value[1];
    row = cg_affine(g, p->image, p->w.axis[1].out, p->at[0], 1);
    row = cg_affine(g, row, p->w.axis[2].out, p->at[1], 1);
    row = cg_affine(g, row, p->w.channels, channel, 1);
    d = glow_cg_load(g, j->in[1], row, lanes);
    zero = LLVMConstNull(LLVMTypeOf(d));
    begin_taps(g, p, &l, NULL, 0);
    at = cg_affine(g, l.pixel, p->w.channels, channel, 1);
    number = LLVMBuildTrunc(g->builder, l.number, g->i32, "");
    number = glow_cg_splat(g, number, lanes);
    x = cg_select(g, cg_icmp(g, LLVMIntEQ, none, number), d, zero);
    if (p->overlaps)
        x = cg_fadd(g, glow_cg_load(g, p->out, at, lanes), x);
    glow_cg_store(g, p->out, at, x);
    end_taps(g, &l, NULL);
}

/* The elements of the current image of `t`. */
static cg_tensor
image_of(cg *g, const pool_grad *p, cg_tensor t)
{
    int64_t bytes = image_size(p) * glow_cg_bytes(t.type);

    t.at = glow_cg_at(g, t.at, cg_mulc(g, p->image, bytes));
    return t;
}

static void
emit(cpu_job *j)
{
    cg *g = j->g;
    pool_grad p;
    cg_loop image, line, window;
    int64_t count;

    pool_of(j->n, &p);
    count = image_size(&p);
    p.image = glow_cpu_unit_for(j, &image);
    p.out = j->out[0];
    if (!p.covers) {
        cg_value at = cg_mulc(g, p.image, -count * (int64_t)sizeof(float));

        p.out = (cg_tensor){glow_cg_at(g, j->scratch, at), &glow_cpu_float};
        glow_cpu_fill(g, image_of(g, &p, p.out), count, glow_cg_int(g->i32, 0));
    }
    p.at[0] = glow_cg_for(g, &line, p.w.axis[1].out);
    p.taps[0] = glow_cpu_taps(g, &p.w.axis[1], p.at[0], 0, p.w.axis[1].in);
    p.at[1] = glow_cg_for(g, &window, p.w.axis[2].out);
    p.taps[1] = glow_cpu_taps(g, &p.w.axis[2], p.at[1], 0, p.w.axis[2].in);
    glow_cpu_lanes_for(j, 0, p.w.channels, add_channels, &p);
    glow_cg_loop_end(g, &window, NULL);
    glow_cg_loop_end(g, &line, NULL);
    if (!p.covers) {
        cg_tensor sums = image_of(g, &p, p.out);

        glow_cpu_convert(j, sums, image_of(g, &p, j->out[0]), count);
    }
    glow_cg_loop_end(g, &image, NULL);
}

const cpu_kernel glow_cpu_maxpool_grad = {
    .name = "maxpool_grad",
    .op = &glow_op_maxpoolgrad,
    .takes = takes,
    .emit = emit,
    .scratch_size = room,
    .units = units,
};
