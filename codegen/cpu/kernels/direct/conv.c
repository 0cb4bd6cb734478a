/*
 * Direct convolution by register tiles.  Filters that are not constant are
 * packed anew each time.
 *
 * If all taps of a row are within the input and contiguous in memory, they are
 * treated as depth: the kernel has one tap in each row, whatever its width.
 */

#include "codegen/cpu/kernels/direct/narrow.h"

static bool
has_stretches(const cpu_direct *d)
{
    return d->type->elem == GLOW_FLOAT && d->groups == 1 && d->pad_w == 0 &&
           d->pixel == d->channels * (int64_t)sizeof(float) &&
           (d->kernel_w == 1 || d->dilation_w == 1) &&
           (d->out_w - 1) * d->stride_w + d->kernel_w <= d->in_w;
}

static void
join_stretches(cpu_direct *d)
{
    if (has_stretches(d)) {
        d->channels *= d->kernel_w;
        d->kernel_w = 1;
    }
}

bool
glow_cpu_conv_of(const glow_node *n, cpu_direct *out)
{
    const glow_convolution *a = n->attrs;
    glow_dims y = n->out[0]->type->shape;
    cpu_window w = glow_cpu_window(n->in[0]->type->shape, y, a->kernels,
                                   a->strides, a->pads, a->dilation);
    const cpu_window_axis *z = &w.axis[0], *v = &w.axis[1], *h = &w.axis[2];

    *out = (cpu_direct){
        .batch = w.batch * z->in,
        .groups = a->group,
        .in_h = v->in,
        .in_w = h->in,
        .out_h = v->out,
        .out_w = h->out,
        .kernel_h = v->kernel,
        .kernel_w = h->kernel,
        .stride_h = v->stride,
        .stride_w = h->stride,
        .dilation_h = v->dilation,
        .dilation_w = h->dilation,
        .pad_h = v->start,
        .pad_w = h->start,
        .channels = w.channels / a->group,
        .outputs = y.at[y.rank - 1] / a->group,
        .pixel = glow_cpu_row_bytes(n, 0, w.channels),
        .type = n->in[0]->type,
        .packed = true,
        .may_dot = glow_cpu_is_whole_constant(n->in[1]),
        .bias = n->in[2] ? 2 : -1,
        .widens = true,
    };
    join_stretches(out);
    return z->kernel == 1 && z->stride == 1 && z->start == 0 && z->end == 0;
}

static bool
is_constant(const glow_node *n)
{
    return glow_cpu_is_whole_constant(n->in[1]);
}

/* The sums of `n`: of floats, where the input is converted to float in scratch. */
static bool
direct_of(const glow_node *n, cpu_direct *out)
{
    bool takes = glow_cpu_conv_of(n, out);

    if (!takes || !glow_cpu_turns_narrow(n))
        return takes;
    out->type = &glow_cpu_float;
    out->pixel *= (int64_t)sizeof(float) / glow_cg_bytes(n->in[0]->type);
    out->widens = false;
    join_stretches(out);
    return true;
}

static bool
takes_conv(const cpu_target *t, const glow_node *n)
{
    cpu_direct d;

    if (!glow_cpu_all_float(n) || !(is_constant(n) || glow_cpu_may_turn(n)) ||
        !direct_of(n, &d) || !d.pixel)
        return false;
    if (!t) /* others might be better, were it dense */
        return d.groups == 1 && d.kernel_h == 1 && d.kernel_w == 1;
    return glow_cpu_direct_code(t, &d) <= CPU_MOST_CODE;
}

static void
emit_conv(cpu_job *j)
{
    cpu_direct d;
    cpu_filter filter;
    cpu_job wide = glow_cpu_with_wide_input(j);

    direct_of(j->n, &d);
    filter = glow_cpu_conv_filter(&d, NULL);
    d.turned = is_constant(j->n) ? NULL : &filter;
    glow_cpu_emit_direct(&wide, &d);
}

static int64_t
conv_packed_size(const cpu_target *t, const glow_node *n)
{
    cpu_direct d;

    direct_of(n, &d);
    return glow_cpu_direct_size(t, &d);
}

static int64_t
conv_room(const cpu_target *t, const glow_node *n)
{
    cpu_direct d;

    direct_of(n, &d);
    return is_constant(n) ? glow_cpu_direct_room(t, &d)
                          : glow_cpu_wide_room(n, glow_cpu_turned_room(t, &d));
}

static int64_t
conv_units(const cpu_target *t, const glow_node *n)
{
    cpu_direct d;

    direct_of(n, &d);
    return glow_cpu_direct_units(t, &d);
}

/* Filter [O, kernel_h, kernel_w, C]. */
cpu_filter
glow_cpu_conv_filter(const cpu_direct *d, const glow_tensor *from)
{
    int64_t row = d->kernel_w * d->channels, output = d->kernel_h * row;

    return (cpu_filter){from, 0, d->outputs * output, output,
                        row,  1, d->channels};
}

static void
pack_conv(const cpu_target *t, const glow_node *n, const glow_tensor *from,
          void *to)
{
    cpu_direct d;
    cpu_filter filter;

    direct_of(n, &d);
    filter = glow_cpu_conv_filter(&d, from);
    glow_cpu_pack_direct(t, &d, &filter, to);
}

extern const cpu_kernel glow_cpu_conv_direct;

static void
conv_choices(const cpu_target *t, const glow_node *n, cpu_choices *to)
{
    cpu_direct d;

    if (takes_conv(t, n) && direct_of(n, &d))
        glow_cpu_direct_choices(t, &d, &glow_cpu_conv_direct, to);
}

const cpu_kernel glow_cpu_conv_direct = {
    .name = "conv_direct",
    .op = &glow_op_convolution,
    .takes = takes_conv,
    .strides = CPU_STRIDES_IN,
    .emit = emit_conv,
    .stacks = true,
    .packs = 1,
    .packed_size = conv_packed_size,
    .pack = pack_conv,
    .scratch_size = conv_room,
    .units = conv_units,
    .choices = conv_choices,
};
