/*
 * flatten-convolution: convolve volumes as images.
 *
 *     %y = Convolution(%x : [N, D, H, W, C], @f : [O, k, 3, 3, C], %b)
 *         =>
 *     %p = Concat([zeros, %x, zeros]) {Dim: 1}       the pads of the first axis
 *     %i = Slice(%p), the planes that tap i reads    : [N, E, H, W, C], i < k
 *     %z = Reshape(Concat([%0, .., %k-1]) {Dim: 4})  : [N E, H, W, k C]
 *     @g = Reshape(Transpose(@f))                    : [O, 3, 3, k C]
 *     %y = Reshape(Convolution(%z, @g, %b))          : [N, E, .., O]
 *
 * Taps of the first axis become channels: a result is the same sum in another order, and
 * every kernel for images, of any element kind and by any algorithm, serves volumes too.
 * With groups the taps of a group stand together.  Two shapes need no copy:
 *
 *     k = 1, by steps of 1 without pads              planes are images of the batch
 *     k x 1 x 1, by steps of 1 without pads in H, W  [N, D, H W, C] is an image
 *
 * Cost: %z has k times the elements of Input.  Results are computed in parts along the
 * first axis, so that the planes of a part take no more bytes than Input and the result
 * do, but at most MOST_PARTS.  A limit of memory (-limit), and more than MOST_TAPS taps or
 * planes of pads, leave all but those two shapes alone.  Weights that are constants are
 * transposed by fold-constants.
 *
 * Source: the unrolling of Chellapilla, Puri, Simard, High Performance Convolutional
 * Neural Networks for Document Processing, 2006, of one axis alone.
 */

#include <math.h>

#include "glow/arith.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "passes/graph/common/box.h"

#define AXES 3
#define MOST_TAPS 64  /* of the first axis, and planes of its pads */
#define MOST_PARTS 16 /* so that graphs stay small */

/* A convolution over three axes. */
typedef struct volume {
    glow_node *n;
    glow_dims x, y, f; /* shapes */
    glow_convolution c;
} volume;

/* `d`, one or two numbers for each spatial axis, without those of `axis`. */
static glow_dims
drop(glow_dims d, int axis)
{
    glow_dims r = {0};

    for (int i = 0; i < d.rank; i++)
        if (i % AXES != axis)
            r.at[r.rank++] = d.at[i];
    return r;
}

static glow_convolution
without(glow_convolution c, int axis)
{
    c.kernels = drop(c.kernels, axis);
    c.strides = drop(c.strides, axis);
    c.pads = drop(c.pads, axis);
    c.dilation = drop(c.dilation, axis);
    return c;
}

/* A tap, a step of 1 and no pads: the axis stays as it is. */
static bool
is_untouched(const glow_convolution *c, int axis)
{
    return c->kernels.at[axis] == 1 && c->strides.at[axis] == 1 &&
           c->pads.at[axis] == 0 && c->pads.at[AXES + axis] == 0;
}

/*
 * The convolution `c` of image `x` by filter `f`, with the other operands of `v`, reshaped
 * from `image` to `y`.
 */
static glow_value *
convolve(glow_builder *b, const volume *v, glow_value *x, glow_value *f,
         glow_dims image, const glow_convolution *c, glow_dims y)
{
    const glow_node *n = v->n;
    glow_type type = *n->out[0]->type;
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);

    for (int i = 0; i < n->n_in; i++)
        in[i] = n->in[i];
    in[0] = x;
    in[1] = f;
    type.shape = image;
    x = glow_build(b, n->op,
                   glow_states_type(n)
                       ? glow_type_get(glow_builder_context(b), type)
                       : NULL,
                   in, n->n_in, c);
    return glow_build_reshape(b, x, y);
}

/* Planes of %x, as images of the batch. */
static glow_value *
convolve_planes(glow_builder *b, const volume *v, glow_value *x, glow_value *f)
{
    glow_dims s = x->type->shape, y = v->y;
    int64_t images = s.at[0] * s.at[1];
    glow_convolution c = without(v->c, 0);

    y.at[1] = s.at[1];
    x = glow_build_reshape(b, x,
                           GLOW_DIMS_OF(images, s.at[2], s.at[3], s.at[4]));
    return convolve(b, v, x, f, GLOW_DIMS_OF(images, y.at[2], y.at[3], y.at[4]),
                    &c, y);
}

/* The taps of the first axis alone: planes are lines of one image. */
static glow_value *
convolve_lines(glow_builder *b, const volume *v)
{
    int64_t line = v->x.at[2] * v->x.at[3];
    glow_convolution c = without(v->c, 2);
    glow_value *x = glow_build_reshape(
        b, v->n->in[0], GLOW_DIMS_OF(v->x.at[0], v->x.at[1], line, v->x.at[4]));
    glow_value *f = glow_build_reshape(
        b, v->n->in[1], GLOW_DIMS_OF(v->f.at[0], v->f.at[1], 1, v->f.at[4]));

    return convolve(b, v, x, f,
                    GLOW_DIMS_OF(v->y.at[0], v->y.at[1], line, v->y.at[4]), &c,
                    v->y);
}

/* `count` planes of zeros beside those of `x`. */
static glow_value *
zeros(glow_builder *b, const volume *v, int64_t count)
{
    glow_type type = *v->n->in[0]->type;

    type.strides = (glow_dims){0};
    type.shape.at[1] = count;
    return glow_build(b, &glow_op_splat,
                      glow_type_get(glow_builder_context(b), type), NULL, 0,
                      &(const glow_splat){.value = 0});
}

/* The input with planes of zeros for its pads. */
static glow_value *
padded(glow_builder *b, const volume *v)
{
    int64_t before = v->c.pads.at[0], after = v->c.pads.at[AXES];
    glow_value *parts[3];
    int count = 0;

    if (before > 0)
        parts[count++] = zeros(b, v, before);
    parts[count++] = v->n->in[0];
    if (after > 0)
        parts[count++] = zeros(b, v, after);
    return count == 1 ? parts[0]
                      : glow_build(b, &glow_op_concat, NULL, parts, count,
                                   &(const glow_concat){.dim = 1});
}

/* Planes of `x` that tap `tap` of the first axis reads for `count` planes of the result. */
static glow_value *
planes_of(glow_builder *b, const volume *v, glow_value *x, int64_t tap,
          int64_t first, int64_t count)
{
    int64_t dilation = v->c.dilation.rank ? v->c.dilation.at[0] : 1;
    int64_t step = v->c.strides.at[0];
    box p = {.start = GLOW_DIMS_OF(0, first * step + tap * dilation, 0, 0, 0),
             .step = GLOW_DIMS_OF(1, step, 1, 1, 1),
             .size = x->type->shape};

    p.size.at[1] = count;
    return glow_box_take(b, x, &p);
}

/*
 * The taps of the first axis side by side, within each group of channels, for `count`
 * planes of the result.
 */
static glow_value *
stack_planes(glow_builder *b, const volume *v, glow_value *x, int64_t first,
             int64_t count)
{
    int64_t k = v->c.kernels.at[0], group = v->c.group;
    int64_t pixels = v->y.at[0] * count * v->x.at[2] * v->x.at[3];
    glow_dims apart = GLOW_DIMS_OF(pixels, group, v->x.at[4] / group);
    glow_value **taps =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, k);

    for (int64_t i = 0; i < k; i++) {
        taps[i] = planes_of(b, v, x, i, first, count);
        taps[i] = glow_build_reshape(b, taps[i], apart);
    }
    x = k == 1 ? taps[0]
               : glow_build(b, &glow_op_concat, NULL, taps, (int)k,
                            &(const glow_concat){.dim = 2});
    return glow_build_reshape(b, x,
                              GLOW_DIMS_OF(v->y.at[0], count, v->x.at[2],
                                           v->x.at[3], k * v->x.at[4]));
}

/* Parts of the result, whose planes of all taps take no more bytes than input and result. */
static int64_t
count_parts(const volume *v)
{
    double x = (double)glow_type_count(v->n->in[0]->type);
    double y = (double)glow_type_count(v->n->out[0]->type);
    double taps = x / (double)v->x.at[1] * (double)v->c.kernels.at[0];
    double parts = ceil(taps * (double)v->y.at[1] / (x + y));
    int64_t most = v->y.at[1] < MOST_PARTS ? v->y.at[1] : MOST_PARTS;

    return parts < (double)most ? (int64_t)parts : most;
}

/* Parts of the result, one after the other. */
static glow_value *
convolve_parts(glow_builder *b, const volume *v, glow_value *f)
{
    int64_t count = count_parts(v);
    glow_value *x = padded(b, v);
    glow_value **parts =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, count);

    for (int64_t i = 0; x && i < count; i++) {
        int64_t first = i * v->y.at[1] / count;
        int64_t last = (i + 1) * v->y.at[1] / count;

        parts[i] = stack_planes(b, v, x, first, last - first);
        parts[i] = parts[i] ? convolve_planes(b, v, parts[i], f) : NULL;
    }
    return count == 1 ? parts[0]
                      : glow_build(b, &glow_op_concat, NULL, parts, (int)count,
                                   &(const glow_concat){.dim = 1});
}

/* [O, k, h, w, C] to [O, h, w, k C]. */
static glow_value *
stack_filter(glow_builder *b, const volume *v)
{
    glow_dims f = v->f;
    glow_value *t = v->n->in[1];

    if (f.at[1] > 1)
        t = GLOW_BUILD(b, transpose, GLOW_IN(t),
                       .shuffle = GLOW_DIMS_OF(0, 2, 3, 1, 4));
    return glow_build_reshape(
        b, t, GLOW_DIMS_OF(f.at[0], f.at[2], f.at[3], f.at[1] * f.at[4]));
}

/* True if the planes of all taps may be stored: there are few, and no limit of memory. */
static bool
may_stack(glow_builder *b, const glow_convolution *c)
{
    int64_t k = c->kernels.at[0];

    return k <= MOST_TAPS && c->pads.at[0] <= MOST_TAPS &&
           c->pads.at[AXES] <= MOST_TAPS &&
           glow_run_limit(glow_builder_run(b)) == 0;
}

static glow_value *
flatten(glow_builder *b, glow_node *n)
{
    volume v = {.n = n, .c = *(const glow_convolution *)n->attrs};
    glow_value *f;

    if (n->pred || v.c.kernels.rank != AXES)
        return NULL;
    v.x = n->in[0]->type->shape;
    v.y = n->out[0]->type->shape;
    v.f = n->in[1]->type->shape;
    if (glow_type_count(n->in[0]->type) == 0 ||
        glow_type_count(n->out[0]->type) == 0)
        return NULL;
    if (is_untouched(&v.c, 1) && is_untouched(&v.c, 2))
        return convolve_lines(b, &v);
    if (!is_untouched(&v.c, 0) && !may_stack(b, &v.c))
        return NULL;
    f = stack_filter(b, &v);
    return is_untouched(&v.c, 0) ? convolve_planes(b, &v, n->in[0], f)
                                 : convolve_parts(b, &v, f);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_channelwisequantizedconvolution, flatten},
        {&glow_op_convolution, flatten},
        {NULL, NULL},
    };

    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_flatten_convolution = {
    .name = "flatten-convolution",
    .summary = "convolve volumes as images, taps of the first axis as channels",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .takes_quantized = true,
    .run = run,
    .source =
        "Chellapilla, Puri, Simard, High Performance Convolutional Neural "
        "Networks for Document Processing, IWFHR 2006",
};
