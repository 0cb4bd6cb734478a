/*
 * Interpolation of an image at the positions of a grid, and grids of affine
 * maps.
 */

#include <math.h>
#include <string.h>

#include "ir/ops/sample.h"
#include "ir/ops/window.h"

/* Beyond an end by as much, all taps of a cubic are held to the last element. */
#define CUBIC_REACH 3

/* x reflected at low and high until it is between them. */
static double
reflected(double x, double low, double high)
{
    double range = high - low, t;

    if (range <= 0)
        return low;
    t = fmod(fabs(x - low), 2 * range);
    return low + (t > range ? 2 * range - t : t);
}

/* Position `x`, moved into an axis of `in` elements as the padding says. */
static double
padded(const glow_sampling *s, double x, int64_t in)
{
    double edge = s->align_corners ? 0 : -0.5, last = (double)(in - 1);

    if (x >= edge && x <= last - edge)
        return x;
    if (s->padding == GLOW_SAMPLE_BORDER) {
        /* A cubic beyond the end still reads elements before it, but not far beyond. */
        double reach = s->mode == GLOW_RESIZE_CUBIC ? CUBIC_REACH : 0;

        return x < -reach ? -reach : x > last + reach ? last + reach : x;
    }
    if (s->padding == GLOW_SAMPLE_REFLECTION)
        return reflected(x, edge, last - edge);
    return x;
}

static int64_t
element(const glow_sampling *s, double x, int64_t in)
{
    double last = (double)(in - 1);

    if (s->padding == GLOW_SAMPLE_ZEROS)
        return x >= 0 && x <= last ? (int64_t)x : -1;
    if (s->padding == GLOW_SAMPLE_REFLECTION)
        x = rint(padded(s, x, in));
    return x > 0 ? (int64_t)(x < last ? x : last) : 0;
}

/* Keys' cubic with A = -0.75 at distance d. */
static double
cubic(double d)
{
    d = fabs(d);
    return d <= 1 ? (1.25 * d - 2.25) * d * d + 1
                  : ((-0.75 * d + 3.75) * d - 6) * d + 3;
}

glow_spot
glow_spot_at(const glow_sampling *s, double x, int64_t in)
{
    glow_spot p = {.taps = s->mode == GLOW_RESIZE_NEAREST  ? 1
                           : s->mode == GLOW_RESIZE_LINEAR ? 2
                                                           : 4};
    double first, part;

    x = padded(s, s->mode == GLOW_RESIZE_NEAREST ? rint(x) : x, in);
    first = s->mode == GLOW_RESIZE_NEAREST ? rint(x) : floor(x);
    part = x - first;
    if (s->mode == GLOW_RESIZE_CUBIC)
        first--;
    for (int k = 0; k < p.taps; k++) {
        p.at[k] = element(s, first + k, in);
        p.weight[k] = s->mode == GLOW_RESIZE_NEAREST  ? 1
                      : s->mode == GLOW_RESIZE_LINEAR ? 1 - fabs(part - k)
                                                      : cubic(part + 1 - k);
    }
    return p;
}

double
glow_spot_sum(const glow_tensor *t, const glow_spot s[], int axes,
              const int64_t strides[], int64_t from)
{
    double sum = 0;

    if (axes == 0)
        return glow_get_double(t, from);
    for (int k = 0; k < s->taps; k++)
        if (s->at[k] >= 0 && s->weight[k] != 0)
            sum += s->weight[k] * glow_spot_sum(t, s + 1, axes - 1, strides + 1,
                                                from + s->at[k] * *strides);
    return sum;
}

/* gridsample */

static bool
check_spatial(const glow_node *n, int axes)
{
    if (axes < 1 || axes > GLOW_MOST_SPATIAL)
        return glow_reject(n,
                           "the rank of Input is %d, but must be 3 to %d: a "
                           "batch, 1 to %d spatial axes, channels",
                           axes + 2, GLOW_MOST_SPATIAL + 2, GLOW_MOST_SPATIAL);
    for (int i = 1; i <= axes; i++)
        if (n->in[0]->type->shape.at[i] == 0)
            return glow_reject(n,
                               "axis %d of Input has 0 elements, but at least "
                               "1 is needed",
                               i);
    return true;
}

static bool
gridsample_infer(const glow_node *n, glow_type out[])
{
    const glow_gridsample *g = n->attrs;
    glow_dims x = n->in[0]->type->shape, grid = n->in[1]->type->shape;
    glow_dims y = grid;
    int axes = x.rank - 2;

    if (!glow_admit(n, 0,
                    g->mode == GLOW_RESIZE_NEAREST ? GLOW_ANY_PLAIN
                                                   : GLOW_ANY_FLOAT) ||
        !glow_admit(n, 1, GLOW_ANY_FLOAT) || !check_spatial(n, axes) ||
        !glow_check_rank(n, 1, x.rank))
        return false;
    if (grid.at[0] != x.at[0])
        return glow_reject(n,
                           "axis 0 of Grid has %" PRId64 " elements, but that "
                           "of Input %" PRId64,
                           grid.at[0], x.at[0]);
    if (grid.at[x.rank - 1] != axes)
        return glow_reject(n,
                           "the last axis of Grid has %" PRId64 " elements, "
                           "but Input has %d spatial axes",
                           grid.at[x.rank - 1], axes);
    y.at[y.rank - 1] = x.at[x.rank - 1];
    return glow_give(n, glow_reshaped(n->in[0]->type, y), &out[0]);
}

/*
 * The position in an axis of `in` elements of a normalized coordinate in [-1,
 * 1].
 */
static double
unnormalized(double v, int64_t in, bool align_corners)
{
    return align_corners ? (v + 1) / 2 * (double)(in - 1)
                         : ((v + 1) * (double)in - 1) / 2;
}

/* The channels at one position. */
static void
sample_channels(const glow_gridsample *g, const glow_tensor *in,
                const glow_tensor *out, const glow_spot s[],
                const int64_t strides[], int64_t from, int64_t to)
{
    glow_dims x = in->type->shape, unit = GLOW_DIMS_OF(1);
    int axes = x.rank - 2;
    bool beyond = false;

    if (g->mode != GLOW_RESIZE_NEAREST) {
        for (int64_t c = 0; c < x.at[x.rank - 1]; c++)
            glow_set_double(out, to + c,
                            glow_spot_sum(in, s, axes, strides, from + c));
        return;
    }
    for (int i = 0; i < axes; i++) {
        beyond |= s[i].at[0] < 0;
        from += s[i].at[0] * strides[i];
    }
    if (!beyond)
        glow_copy_block(out, to, unit, in, from, unit,
                        GLOW_DIMS_OF(x.at[x.rank - 1]));
}

static bool
gridsample_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    const glow_gridsample *g = n->attrs;
    glow_sampling how = {g->mode, g->padding, g->align_corners};
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape;
    glow_dims strides = glow_dims_strides(x);
    int axes = x.rank - 2;
    int64_t points = glow_dims_product(y, 1, y.rank - 1);
    int64_t channels = x.at[x.rank - 1];

    (void)scratch;
    memset(out[0]->data, 0, (size_t)glow_type_bytes(out[0]->type));
    for (int64_t i = 0; i < x.at[0] * points && channels > 0; i++) {
        glow_spot s[GLOW_MOST_SPATIAL];

        for (int a = 0; a < axes; a++) {
            int64_t size = x.at[1 + a];
            double v = glow_get_double(in[1], i * axes + axes - 1 - a);

            s[a] = glow_spot_at(&how, unnormalized(v, size, g->align_corners),
                                size);
        }
        sample_channels(g, in[0], out[0], s, &strides.at[1],
                        i / points * strides.at[0], i * channels);
    }
    return true;
}

static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
static const char *const paddings[] = {"zeros", "border", "reflection", NULL};

const glow_op glow_op_gridsample = {
    .name = "GridSample",
    .summary = "sample an image at the positions of a grid",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, spatial.., C]"},
           {"Grid", GLOW_TENSOR,
            "of shape [N, out.., D]: D positions for each of D spatial axes, "
            "that of the last axis first; -1 and 1 are the ends"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, out.., C]"}},
    .attrs = {GLOW_FIELD_ENUM(glow_gridsample, mode, modes,
                              "what is made of Input"),
              GLOW_FIELD_ENUM(glow_gridsample, padding, paddings,
                              "what is beyond Input"),
              GLOW_FIELD_DEFAULT(glow_gridsample, align_corners, GLOW_FLAG,
                                 "the ends are the middles of the first and "
                                 "last element, not their outer edges")},
    .defaults = &(const glow_gridsample){.mode = GLOW_RESIZE_LINEAR},
    .traits = GLOW_PURE | GLOW_DISCONTINUOUS,
    .infer = gridsample_infer,
    .eval = gridsample_eval,
    .doc =
        "`v` of an axis of `n` lies at `p = (v + 1) / 2 * (n - 1)` with "
        "AlignCorners, else at `((v + 1) * n - 1) / 2`.  A `p` beyond the ends "
        "is held to the first or last element (border, but for cubic) or "
        "reflected at the ends (reflection).  The result is the element "
        "nearest to it (halves to the even one), or the weighted sum of the "
        "two (linear) or four (cubic, Keys with A = -0.75) around it on each "
        "axis; those beyond Input are held or reflected, and with zeros they "
        "are 0.",
    .source = "ONNX GridSample; Jaderberg et al., Spatial Transformer "
              "Networks, arXiv:1506.02025",
};

/* affinegrid */

static bool
affinegrid_infer(const glow_node *n, glow_type out[])
{
    const glow_affinegrid *g = n->attrs;
    glow_dims theta = n->in[0]->type->shape, y = {0};
    int axes = g->size.rank;

    if (axes < 1 || axes > GLOW_MOST_SPATIAL)
        return glow_reject(n, "Size has %d elements, but 1 to %d are possible",
                           axes, GLOW_MOST_SPATIAL);
    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank(n, 0, 3) ||
        !glow_check_shape(n, 0, GLOW_DIMS_OF(theta.at[0], axes, axes + 1),
                          "what Size asks for"))
        return false;
    y.at[y.rank++] = theta.at[0];
    for (int i = 0; i < axes; i++) {
        if (g->size.at[i] < 1)
            return glow_reject(n,
                               "Size[%d] is %" PRId64 ", but must be at "
                               "least 1",
                               i, g->size.at[i]);
        y.at[y.rank++] = g->size.at[i];
    }
    y.at[y.rank++] = axes;
    return glow_give(n, glow_reshaped(n->in[0]->type, y), &out[0]);
}

double
glow_affine_position(int64_t i, int64_t size, bool align_corners)
{
    if (align_corners)
        return size > 1 ? 2 * (double)i / (double)(size - 1) - 1 : 0;
    return (2 * (double)i + 1) / (double)size - 1;
}

static bool
affinegrid_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    const glow_affinegrid *g = n->attrs;
    int axes = g->size.rank;
    int64_t to = 0;

    (void)scratch;
    for (int64_t b = 0; b < in[0]->type->shape.at[0]; b++)
        GLOW_FOR_EACH_INDEX(i, g->size)
            for (int r = 0; r < axes; r++, to++) {
                int64_t row = (b * axes + r) * (axes + 1);
                double sum = glow_get_double(in[0], row + axes);

                for (int c = 0; c < axes; c++)
                    sum += glow_get_double(in[0], row + c) *
                           glow_affine_position(i.at[axes - 1 - c],
                                                g->size.at[axes - 1 - c],
                                                g->align_corners);
                glow_set_double(out[0], to, sum);
            }
    return true;
}

const glow_op glow_op_affinegrid = {
    .name = "AffineGrid",
    .summary = "the grid of an affine map, for GridSample",
    .in = {{"Theta", GLOW_TENSOR, "A, of shape [N, D, D + 1]"}},
    .out = {{"Result", GLOW_TENSOR, "positions, of shape [N, Size.., D]"}},
    .attrs = {GLOW_FIELD(glow_affinegrid, size, GLOW_DIMS,
                         "the D spatial axes of what is to be sampled"),
              GLOW_FIELD_DEFAULT(glow_affinegrid, align_corners, GLOW_FLAG,
                                 "-1 and 1 are the middles of the first and "
                                 "last element, not their outer edges")},
    .defaults = &(const glow_affinegrid){.align_corners = false},
    .traits = GLOW_PURE,
    .infer = affinegrid_infer,
    .eval = affinegrid_eval,
    .doc = "`y[n, i..] = A[n] (x, 1)`, where x holds the positions of `i..`, "
           "that of the last axis first: element `i` of `m` is at `(2 i + 1) "
           "/ m - 1`, with AlignCorners at `2 i / (m - 1) - 1`, and at 0 if "
           "`m = 1`.",
    .source = "ONNX AffineGrid; Jaderberg et al., arXiv:1506.02025",
};
