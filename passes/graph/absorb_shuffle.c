/*
 * absorb-shuffle: permute the filters of a convolution instead of its input
 * channels.
 *
 *     %s = ChannelShuffle(%x : [N, H, W, C]) {Group: G, Kernel: 3}
 *     %y = Convolution(%s, %f, %b) {Kernels: [1, 1]}
 *         =>
 *     %y = Convolution(%x, %f', %b) {Kernels: [1, 1]}
 *
 * A slice of the shuffled channels has equally many channels of each group.
 * With q of each and pixels taken as rows of q channels, the rows of one pixel
 * are G taps at equal steps:
 *
 *     %p = Slice(%s) {Start: [0, 0, 0, G q]}        : [N, H, W, G q]
 *     %y = Convolution(%p, %f, %b) {Kernels: [1, 1]}
 *         =>
 *     %r = Reshape(%x)                              : [1, 1, N H W C / q, q]
 *     %p = Slice(%r) {Start: [0, 0, 1, 0]}
 *     %c = Convolution(%p, %f', %b) {Kernels: [1, G], Strides: [1, C / q],
 *                                    Dilation: [1, C / G / q]}
 *     %y = Reshape(%c)
 *
 * where q divides C / G and the first channel of the slice within each group.
 * The remaining slice is contiguous, so no copy is needed.
 *
 * A depthwise convolution commutes with the shuffle of its channels, so the
 * shuffle sinks below it if the next convolution absorbs it:
 *
 *     %d = Convolution(%s, %f, %b) {Group: C}
 *         =>
 *     %e = Convolution(%x, %f', %b') {Group: C}
 *     %d = ChannelShuffle(%e) {Group: G, Kernel: 3}
 *
 * A remaining shuffle sinks below a slice that is its only user:
 *
 *     %p = Slice(%s) {Start: [0, 0, 0, 0]}          : [N, H, W, G q]
 *         =>
 *     %r = Reshape(%x)                              : [N, H, W, G, C / G]
 *     %q = Slice(%r) {Start: [0, 0, 0, 0, 0]}       : [N, H, W, G, q]
 *     %a = Reshape(%q)                              : [N, H, W, G q]
 *     %p = ChannelShuffle(%a) {Group: G, Kernel: 3}
 *
 * The same products are summed, in another order.  Filters must be constants
 * without other users; fold-constants evaluates the nodes that permute them.
 * Slices and depthwise convolutions must be used once.
 *
 * ShuffleNet V2 shuffles channels between blocks: half of them bypass the next
 * block, its convolutions read the other half, or at the end of a stage all.
 * Afterwards no such convolution reads a shuffle.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "passes/graph/common/box.h"

/* `count` shuffled channels of `x` from `start` on, of the last axis. */
typedef struct shuffled {
    glow_value *x;
    int64_t groups, channels; /* of x */
    int64_t start, count;
} shuffled;

static bool
is_own_constant(const glow_value *w)
{
    return glow_is_constant(w) && glow_has_one_use(w) &&
           w->storage->payload != GLOW_ELIDED;
}

/*
 * The attributes of `n` if it is a convolution without predicate whose filter
 * may be permuted, else NULL.
 */
static const glow_convolution *
free_convolution(const glow_node *n)
{
    return n->op == &glow_op_convolution && !n->pred &&
                   glow_is_float(n->in[0]->type->elem) &&
                   glow_dims_count(n->in[0]->type->shape) > 0 &&
                   is_own_constant(n->in[1])
               ? n->attrs
               : NULL;
}

static bool
is_pointwise(const glow_node *n)
{
    const glow_convolution *c = free_convolution(n);

    return c && c->group == 1 && glow_dims_are(c->kernels, 1) &&
           glow_dims_are(c->strides, 1) && glow_dims_are(c->pads, 0);
}

static bool
is_depthwise(const glow_node *n)
{
    const glow_convolution *c = free_convolution(n);
    glow_dims x = n->in[0]->type->shape;

    return c && c->group == x.at[x.rank - 1] &&
           n->in[1]->type->shape.at[0] == c->group &&
           (!n->in[2] || is_own_constant(n->in[2]));
}

/*
 * Sets `s` to the channels of a slice that keeps all other axes whole; false if
 * it does not.
 */
static bool
find_cut(const glow_node *slice, shuffled *s)
{
    glow_dims all = slice->in[0]->type->shape;
    box p = glow_box_of(slice);
    int last = all.rank - 1;

    s->start = p.start.at[last];
    s->count = p.size.at[last];
    for (int i = 0; i < last; i++)
        if (!glow_box_is_whole(&p, i, all.at[i]))
            return false;
    return p.step.at[last] == 1;
}

/*
 * Sets `s` to the shuffled channels that `v`, a shuffle or a slice of one,
 * consists of; false if it is neither.
 */
static bool
find_shuffle(glow_builder *b, const glow_value *v, shuffled *s)
{
    const glow_node *slice = glow_only_def(v, &glow_op_slice);
    const glow_node *n =
        glow_def(slice ? slice->in[0] : v, &glow_op_channelshuffle);
    const glow_channelshuffle *a = n ? n->attrs : NULL;
    glow_dims shape;

    if (!n)
        return false;
    shape = n->in[0]->type->shape;
    *s = (shuffled){n->in[0], a->group, shape.at[shape.rank - 1], 0, 0};
    s->count = s->channels;
    if (a->kernel != shape.rank - 1 || (slice && !find_cut(slice, s)))
        return false;
    glow_builder_fuses(b, n);
    if (slice)
        glow_builder_fuses(b, slice);
    return true;
}

/* `w` with the inverse shuffle of its channels along `axis`. */
static glow_value *
unshuffled(glow_builder *b, glow_value *w, int axis, int64_t groups)
{
    return w ? GLOW_BUILD(b, channelshuffle, GLOW_IN(w),
                          .group = w->type->shape.at[axis] / groups,
                          .kernel = axis)
             : NULL;
}

/*
 * Builds the convolution `n` of the slice `s` as taps at equal steps, with
 * `filter`.
 */
static glow_value *
read_taps(glow_builder *b, const glow_node *n, const shuffled *s,
          glow_value *filter)
{
    int64_t each = s->count / s->groups;
    int64_t pixel = s->channels / each;
    int64_t rows = glow_dims_count(s->x->type->shape) / each;
    int64_t first = s->start / s->groups / each;
    glow_dims begin = GLOW_DIMS_OF(0, 0, first, 0);
    glow_dims size = GLOW_DIMS_OF(1, 1, rows - first, each);
    box part = {begin, GLOW_DIMS_OF(1, 1, 1, 1), size};
    glow_value *v = GLOW_BUILD(b, reshape, GLOW_IN(s->x),
                               .dims = GLOW_DIMS_OF(1, 1, rows, each));

    v = glow_box_take(b, v, &part);
    filter = GLOW_BUILD(
        b, reshape, GLOW_IN(filter),
        .dims = GLOW_DIMS_OF(filter->type->shape.at[0], 1, s->groups, each));
    v = GLOW_BUILD(b, convolution, GLOW_IN(v, filter, n->in[2]),
                   .kernels = GLOW_DIMS_OF(1, s->groups),
                   .strides = GLOW_DIMS_OF(1, pixel),
                   .pads = GLOW_DIMS_OF(0, 0, 0, 0), .group = 1,
                   .dilation = GLOW_DIMS_OF(1, pixel / s->groups));
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = n->out[0]->type->shape);
}

/*
 * True if the slice has equally many channels of each group, at offsets that
 * divide a pixel.
 */
static bool
is_regular(const shuffled *s)
{
    int64_t each = s->count / s->groups;

    return s->count % s->groups == 0 && s->start % s->groups == 0 && each > 0 &&
           s->start / s->groups % each == 0 &&
           s->channels / s->groups % each == 0;
}

static glow_value *
absorb_pointwise(glow_builder *b, const glow_node *n, const shuffled *s)
{
    int last = n->in[1]->type->shape.rank - 1;
    glow_value *filter;

    if (!is_regular(s))
        return NULL;
    filter = unshuffled(b, n->in[1], last, s->groups);
    if (s->count < s->channels)
        return read_taps(b, n, s, filter);
    return glow_build(b, n->op, NULL, GLOW_IN(s->x, filter, n->in[2]),
                      n->attrs);
}

/* True if the only user of `v` is a convolution that absorbs a shuffle. */
static bool
is_absorbed(const glow_value *v)
{
    const glow_use *u = v->uses;

    return glow_has_one_use(v) && u->index == 0 && is_pointwise(u->user);
}

static glow_value *
sink_below_depthwise(glow_builder *b, const glow_node *n, const shuffled *s)
{
    glow_value *filter, *bias, *v;

    if (s->count < s->channels || !is_absorbed(n->out[0]))
        return NULL;
    filter = unshuffled(b, n->in[1], 0, s->groups);
    bias = unshuffled(b, n->in[2], 0, s->groups);
    v = glow_build(b, n->op, NULL, GLOW_IN(s->x, filter, bias), n->attrs);
    return GLOW_BUILD(b, channelshuffle, GLOW_IN(v), .group = s->groups,
                      .kernel = v->type->shape.rank - 1);
}

static glow_dims
inserted(glow_dims d, int axis, int64_t number)
{
    for (int i = d.rank++; i > axis; i--)
        d.at[i] = d.at[i - 1];
    d.at[axis] = number;
    return d;
}

/* Sinks a shuffle below a slice that takes the same channels of each group. */
static glow_value *
sink_below_slice(glow_builder *b, glow_node *n)
{
    const glow_node *x = glow_only_def(n->in[0], &glow_op_channelshuffle);
    const glow_channelshuffle *a = x ? x->attrs : NULL;
    glow_dims shape = n->in[0]->type->shape, size = n->out[0]->type->shape;
    int axis = x ? a->kernel : 0;
    glow_value *v;
    box p;

    if (!x || n->pred || shape.rank == GLOW_MAX_RANK ||
        glow_dims_count(size) == 0 || is_absorbed(n->out[0]))
        return NULL;
    p = glow_box_of(n);
    if (p.step.at[axis] != 1 || p.start.at[axis] % a->group != 0 ||
        size.at[axis] % a->group != 0)
        return NULL;
    glow_builder_fuses(b, x);
    shape.at[axis] /= a->group;
    p.start.at[axis] /= a->group;
    p.size.at[axis] /= a->group;
    p = (box){inserted(p.start, axis, 0), inserted(p.step, axis, 1),
              inserted(p.size, axis, a->group)};
    v = GLOW_BUILD(b, reshape, GLOW_IN(x->in[0]),
                   .dims = inserted(shape, axis, a->group));
    v = glow_box_take(b, v, &p);
    v = GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = size);
    return glow_build(b, x->op, NULL, GLOW_IN(v), a);
}

static glow_value *
absorb(glow_builder *b, glow_node *n)
{
    shuffled s;

    if (is_pointwise(n) && find_shuffle(b, n->in[0], &s))
        return absorb_pointwise(b, n, &s);
    if (is_depthwise(n) && find_shuffle(b, n->in[0], &s))
        return sink_below_depthwise(b, n, &s);
    return NULL;
}

static const glow_rewrite_row rows[] = {
    {&glow_op_convolution, absorb},
    {&glow_op_slice, sink_below_slice},
    {0},
};

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_absorb_shuffle = {
    .name = "absorb-shuffle",
    .summary = "permute filters instead of input channels",
    .level = GLOW_GRAPH,
    .preserves = GLOW_ORDER,
    .run = run,
    .source = "Ma et al., ShuffleNet V2, arXiv:1807.11164",
};
