/* Resizing to another grid: ResizeNearest and ResizeBilinear. */

#include <math.h>

#include "ir/ops/common.h"
#include "ir/ops/resize.h"

#define GRID_COORDINATES                                               \
    "asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners", \
        "tf_half_pixel_for_nn", "half_pixel_symmetric"

const char *const glow_grid_coordinate_words[] = {GRID_COORDINATES, NULL};
const char *const glow_coordinate_words[] = {GRID_COORDINATES,
                                             "tf_crop_and_resize", NULL};
const char *const glow_rounding_words[] = {
    "floor", "ceil", "round_prefer_floor", "round_prefer_ceil", NULL};

bool
glow_is_resized(const glow_grid *r, glow_dims x, glow_dims y, int axis)
{
    return x.at[axis] != y.at[axis] || r->scale.at[axis] != 1;
}

bool
glow_resize_check(const glow_node *n, glow_floats scale, int classes,
                  glow_type *out)
{
    glow_dims x = n->in[0]->type->shape, y = out->shape;

    if (!glow_check_stated(n, out) || !glow_admit(n, 0, classes))
        return false;
    if (y.rank != x.rank)
        return glow_reject(n, "the rank of Result is %d, but that of Input %d",
                           y.rank, x.rank);
    if (scale.count != x.rank)
        return glow_reject(n,
                           "Scale has %" PRId64 " elements, but the rank of "
                           "Input is %d",
                           scale.count, x.rank);
    for (int i = 0; i < x.rank; i++) {
        if (!(scale.at[i] > 0) || isinf(scale.at[i]))
            return glow_reject(n,
                               "Scale[%d] is %g, but must be a number "
                               "greater than 0",
                               i, (double)scale.at[i]);
        if (x.at[i] == 0 && y.at[i] > 0)
            return glow_reject(n,
                               "axis %d of Input has 0 elements, but that of "
                               "Result %" PRId64,
                               i, y.at[i]);
    }
    return glow_give(n, glow_reshaped(n->in[0]->type, y), out);
}

static bool
resize_infer(const glow_node *n, glow_type out[], int classes)
{
    const glow_grid *r = n->attrs;

    return glow_resize_check(n, r->scale, classes, &out[0]);
}

/* `place` is the position of element `i` in units of Result, divided by the scale. */
static double
grid_at(int coordinates, double place, double scale, int64_t i, int64_t in,
        int64_t out)
{
    double size = (double)in;

    switch (coordinates) {
    case GLOW_COORD_HALF_PIXEL:
        return place - 0.5;
    case GLOW_COORD_PYTORCH_HALF_PIXEL:
        return out > 1 ? place - 0.5 : 0;
    case GLOW_COORD_ALIGN_CORNERS:
        return out > 1 ? (double)i * (size - 1) / (double)(out - 1) : 0;
    case GLOW_COORD_HALF_PIXEL_SYMMETRIC:
        return size / 2 * (1 - (double)out / (scale * size)) + place - 0.5;
    default:
        return place;
    }
}

/* Element `i` of Result: its middle, or its start. */
static double
element_at(int coordinates, int64_t i)
{
    return (double)i + (coordinates == GLOW_COORD_ASYMMETRIC ? 0 : 0.5);
}

double
glow_grid_at(int coordinates, double scale, int64_t i, int64_t in, int64_t out)
{
    return grid_at(coordinates, element_at(coordinates, i) / scale, scale, i,
                   in, out);
}

double
glow_grid_nearest(int coordinates, int rounding, double scale, int64_t i,
                  int64_t in, int64_t out)
{
    /* 17 / 1.7f is 10 as a float, but 9.99999986 as a double. */
    float place = (float)(element_at(coordinates, i) / scale);

    return glow_grid_round(
        grid_at(coordinates, (double)place, scale, i, in, out), rounding);
}

static double
clamp(double x, int64_t in)
{
    return x<0 ? 0 : x>(double)(in - 1) ? (double)(in - 1) : x;
}

double
glow_grid_round(double x, int rounding)
{
    switch (rounding) {
    case GLOW_ROUND_CEIL:
        return ceil(x);
    case GLOW_ROUND_PREFER_FLOOR:
        return ceil(x - 0.5);
    case GLOW_ROUND_PREFER_CEIL:
        return floor(x + 0.5);
    default:
        return floor(x);
    }
}

double
glow_resize_at(const glow_grid *r, glow_dims x, glow_dims y, int axis,
               int64_t i)
{
    int64_t in = x.at[axis];

    return clamp(glow_grid_at(r->coordinates, (double)r->scale.at[axis], i, in,
                              y.at[axis]),
                 in);
}

int64_t
glow_resize_nearest(const glow_grid *r, glow_dims x, glow_dims y, int axis,
                    int64_t i)
{
    int64_t in = x.at[axis];

    return (int64_t)clamp(glow_grid_nearest(r->coordinates, r->rounding,
                                            (double)r->scale.at[axis], i, in,
                                            y.at[axis]),
                          in);
}

/* resizenearest */

static bool
resizenearest_infer(const glow_node *n, glow_type out[])
{
    return resize_infer(n, out, GLOW_ANY_UNFUSED);
}

/* The nearest element of Input for each element of an axis of Result. */
static int64_t *
nearest(const glow_grid *r, int axis, glow_dims x, glow_dims y,
        glow_arena *scratch)
{
    int64_t *from = GLOW_NEW_ARRAY(scratch, int64_t, y.at[axis]);

    for (int64_t i = 0; i < y.at[axis]; i++)
        from[i] = glow_resize_nearest(r, x, y, axis, i);
    return from;
}

static bool
resizenearest_eval(const glow_node *n, glow_tensor *const in[],
                   glow_tensor *const out[], glow_arena *scratch)
{
    const glow_grid *r = n->attrs;
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape, none = {0};
    glow_dims strides = glow_dims_strides(x);
    int64_t *from[GLOW_MAX_RANK], to = 0;

    if (glow_dims_count(y) == 0)
        return true;
    for (int a = 0; a < y.rank; a++)
        from[a] = nearest(r, a, x, y, scratch);
    GLOW_FOR_EACH_INDEX(i, y) {
        int64_t at = 0;

        for (int a = 0; a < i.rank; a++)
            at += from[a][i.at[a]] * strides.at[a];
        glow_copy_block(out[0], to++, none, in[0], at, none, none);
    }
    return true;
}

const glow_op glow_op_resizenearest = {
    .name = "ResizeNearest",
    .summary = "sample a tensor on another grid, by the nearest element",
    .in = {{"Input", GLOW_TENSOR, "x"}},
    .out = {{"Result", GLOW_TENSOR,
             "the stated type: the element type of Input, any sizes"}},
    .attrs = {GLOW_FIELD(glow_grid, scale, GLOW_FLOATS,
                         "of each axis: how many elements of Result there are "
                         "for one of Input"),
              GLOW_FIELD_ENUM(glow_grid, coordinates,
                              glow_grid_coordinate_words,
                              "where an element of Result lies in Input"),
              GLOW_FIELD_ENUM(glow_grid, rounding, glow_rounding_words,
                              "which element is the nearest")},
    .defaults = &(const glow_grid){.coordinates = GLOW_COORD_ASYMMETRIC,
                                   .rounding = GLOW_ROUND_FLOOR},
    .traits = GLOW_PURE | GLOW_LAYOUT | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = resizenearest_infer,
    .eval = resizenearest_eval,
    .doc =
        "Element `i` of an axis of `m` lies at `i / Scale` (asymmetric), `(i "
        "+ 0.5) / Scale - 0.5` (half_pixel; pytorch_half_pixel if `m > 1`, "
        "else 0), `(i + 0.5) / Scale` (tf_half_pixel_for_nn), `i * (n - 1) / "
        "(m - 1)` (align_corners) or at half_pixel with the middles of the "
        "two grids put together, `n / 2 * (1 - m / (n * Scale))` further "
        "(half_pixel_symmetric), of the `n` of Input.  That is rounded down "
        "(floor), up (ceil), or to the nearest "
        "with halves down (round_prefer_floor) or up (round_prefer_ceil), "
        "and held within Input.",
    .source = "Glow ResizeNearest; ONNX Resize, nearest",
    .derivative = &glow_derivative_resizenearest,
};

/* resizebilinear */

static bool
resizebilinear_infer(const glow_node *n, glow_type out[])
{
    const glow_grid *r = n->attrs;
    int resized = 0;

    if (!resize_infer(n, out, GLOW_ANY_FLOAT | GLOW_CLASS_QUANTIZED))
        return false;
    for (int i = 0; i < out[0].shape.rank; i++)
        resized += glow_is_resized(r, n->in[0]->type->shape, out[0].shape, i);
    return resized <= 2 ||
           glow_reject(n, "%d axes change, but at most 2 may", resized);
}

/*
 * Linear interpolation on one axis: the two neighbours in Input, and a weight.
 */
typedef struct between {
    int64_t low, high; /* offsets in Input, in elements */
    double part;       /* weight of `high` */
} between;

static between *
neighbours(const glow_grid *r, int axis, glow_dims x, glow_dims y,
           glow_arena *scratch)
{
    between *b = GLOW_NEW_ARRAY(scratch, between, y.at[axis]);
    int64_t in = x.at[axis], stride = glow_dims_strides(x).at[axis];
    bool moves = glow_is_resized(r, x, y, axis);

    for (int64_t i = 0; i < y.at[axis]; i++) {
        double at = moves ? glow_resize_at(r, x, y, axis, i) : (double)i;
        int64_t low = (int64_t)at;

        b[i].low = low * stride;
        b[i].high = (low + 1 < in ? low + 1 : low) * stride;
        b[i].part = at - (double)low;
    }
    return b;
}

/* The interpolated value over axes a, ..., rank - 1, from offset `at` on. */
static double
sample(const glow_tensor *in, between *const b[], glow_dims i, int a,
       int64_t at)
{
    if (a == i.rank)
        return glow_get_double(in, at);

    const between *x = &b[a][i.at[a]];
    double low = sample(in, b, i, a + 1, at + x->low);

    if (x->part == 0)
        return low;
    return low * (1 - x->part) +
           sample(in, b, i, a + 1, at + x->high) * x->part;
}

static bool
bilinear_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape;
    between *b[GLOW_MAX_RANK];
    int64_t to = 0;

    if (glow_dims_count(y) == 0)
        return true;
    for (int a = 0; a < y.rank; a++)
        b[a] = neighbours(n->attrs, a, x, y, scratch);
    GLOW_FOR_EACH_INDEX(i, y)
        glow_set_double(out[0], to++, sample(in[0], b, i, 0, 0));
    return true;
}

static bool
resizebilinear_eval(const glow_node *n, glow_tensor *const in[],
                    glow_tensor *const out[], glow_arena *scratch)
{
    return glow_eval_reals(n, in, out, scratch, bilinear_eval);
}

const glow_op glow_op_resizebilinear = {
    .name = "ResizeBilinear",
    .summary = "sample a tensor on another grid, between the nearest elements",
    .in = {{"Input", GLOW_TENSOR, "x"}},
    .out = {{"Result", GLOW_TENSOR,
             "the stated type: the element type of Input; at most two sizes "
             "differ"}},
    .attrs = {GLOW_FIELD(glow_grid, scale, GLOW_FLOATS,
                         "of each axis: how many elements of Result there are "
                         "for one of Input"),
              GLOW_FIELD_ENUM(glow_grid, coordinates,
                              glow_grid_coordinate_words,
                              "where an element of Result lies in Input"),
              GLOW_FIELD_ENUM(glow_grid, rounding, glow_rounding_words,
                              "means nothing here")},
    .defaults = &(const glow_grid){.coordinates = GLOW_COORD_ASYMMETRIC,
                                   .rounding = GLOW_ROUND_FLOOR},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = resizebilinear_infer,
    .eval = resizebilinear_eval,
    .doc = "Positions are those of ResizeNearest, held within Input.  One "
           "between elements `x0` and `x1` of an axis, `t` of the way, gives "
           "`(1 - t) x0 + t x1`; two such axes one after the other.  Quantized "
           "elements keep their scale and offset; they" GLOW_REALS_TAIL,
    .source = "Glow ResizeBilinear; ONNX Resize, linear",
    .derivative = &glow_derivative_resizebilinear,
};
