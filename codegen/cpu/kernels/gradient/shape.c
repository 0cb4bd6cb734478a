/* Tiling of the sums over windows: see filter.h. */

#include "codegen/cpu/kernels/gradient/filter.h"

#define BLOCK \
    256          /* windows that are summed up in registers, or a little more */
#define LONG 512 /* windows of a line that is cut */
#define COPIED_BYTES (1 << 18) /* of a block of copied windows */
#define LEAST_COPIED 16        /* windows */
#define SPARE 3 /* registers that are no sums: a broadcast, and its vectors */
#define MOST_VECTORS 2
#define MUCH 0.8 /* of the lanes that copied windows use */

static void
set_tile(const cpu_target *t, cpu_filter_grad *f)
{
    int64_t vectors, most;

    f->lanes = t ? t->vector_bytes / 4 : 1;
    if (f->form == CPU_BY_GROUP) {
        f->vectors = f->rows = 1;
        return;
    }
    vectors = cg_ceil_div(f->width, f->lanes);
    f->vectors = vectors < MOST_VECTORS ? (int)vectors : MOST_VECTORS;
    most = ((t ? t->registers : 16) - SPARE) / f->vectors;
    if (most * f->vectors > CG_MAX_CARRIED)
        most = CG_MAX_CARRIED / f->vectors;
    if (most < 1)
        most = 1;
    f->rows = (int)cg_ceil_div(f->outputs, cg_ceil_div(f->outputs, most));
}

static void
set_block(cpu_filter_grad *f)
{
    const cpu_window_axis *v = &f->w.axis[1], *h = &f->w.axis[2];
    int64_t most = BLOCK, some;

    if (f->form == CPU_BY_WINDOW) {
        f->copied = cg_ceil_div(f->width, f->lanes) * f->lanes;
        /* An odd number of cache lines apart, windows are in different sets. */
        if (f->copied * 4 / CPU_LINE % 2 == 0)
            f->copied += CPU_LINE / 4;
        some = COPIED_BYTES / (f->copied * 4);
        some = some > LEAST_COPIED ? some : LEAST_COPIED;
        most = most < some ? most : some;
    }
    f->windows = h->out > LONG ? most : h->out;
    f->lines = h->out > LONG ? 1 : cg_ceil_div(most, h->out);
    f->lines = f->lines < v->out ? f->lines : v->out;
    f->images = f->lines == v->out ? most / (v->out * f->windows) : 1;
    f->images = f->images < 1            ? 1
                : f->images < f->w.batch ? f->images
                                         : f->w.batch;
}

/* Lanes that count, of those that tiles of `width` elements have. */
static double
use_of(const cpu_filter_grad *f, int64_t width)
{
    return (double)width / (double)(cg_ceil_div(width, f->lanes) * f->lanes);
}

bool
glow_cpu_filter_grad_of(const cpu_target *t, const glow_node *n,
                        cpu_filter_grad *out)
{
    const glow_convolution *a = n->attrs;
    glow_dims d = n->in[1]->type->shape;
    cpu_window w = glow_cpu_window(n->in[0]->type->shape, d, a->kernels,
                                   a->strides, a->pads, a->dilation);
    const cpu_window_axis *z = &w.axis[0];
    int64_t window;

    if (!glow_cpu_all_float(n) || z->kernel != 1 || z->stride != 1 ||
        z->start || z->in != z->out || glow_type_count(n->in[0]->type) == 0 ||
        glow_type_count(n->in[1]->type) == 0)
        return false;
    w.batch *= z->in;
    *out = (cpu_filter_grad){
        .form = CPU_BY_TAP,
        .w = w,
        .groups = a->group,
        .channels = w.channels / a->group,
        .outputs = d.at[d.rank - 1] / a->group,
        .taps = w.axis[1].kernel * w.axis[2].kernel,
        .lanes = t ? t->vector_bytes / 4 : 1,
    };
    out->width = out->channels;
    window = out->taps * out->channels;
    if (out->groups > 1 && out->channels == 1 && out->outputs == 1)
        out->form = CPU_BY_GROUP;
    else if (use_of(out, out->channels) < MUCH * use_of(out, window)) {
        out->form = CPU_BY_WINDOW;
        out->width = window;
    }
    set_tile(t, out);
    set_block(out);
    return true;
}
