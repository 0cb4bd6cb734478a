/*
 * Resize with all attributes of ONNX, axis by axis: each element of the result
 * is a weighted sum of elements of Input.
 */

#include <math.h>
#include <string.h>

#include "ir/ops/common.h"
#include "ir/ops/resize.h"

/* The least scale: with Antialias a kernel covers 1 / Scale elements. */
#define LEAST_SCALE 0x1p-20

static bool
crops(const glow_resize *r)
{
    return r->coordinates == GLOW_COORD_TF_CROP_AND_RESIZE;
}

static bool
check_roi(const glow_node *n, int rank)
{
    const glow_resize *r = n->attrs;

    if (r->roi.count != (crops(r) ? 2 * rank : 0))
        return glow_reject(n,
                           "Roi has %" PRId64 " elements, but needs %d: two "
                           "for each axis with tf_crop_and_resize, else none",
                           r->roi.count, crops(r) ? 2 * rank : 0);
    for (int i = 0; i < r->roi.count; i++)
        if (!isfinite(r->roi.at[i]))
            return glow_reject(n, "Roi[%d] is %g, but must be a finite number",
                               i, (double)r->roi.at[i]);
    return true;
}

/* Checks that scales agree with the sizes, which bounds the number of taps. */
static bool
check_antialias(const glow_node *n, glow_dims x, glow_dims y)
{
    const glow_resize *r = n->attrs;

    if (r->mode == GLOW_RESIZE_NEAREST)
        return glow_reject(n, "Antialias is true, but Mode nearest has none");
    for (int i = 0; i < x.rank; i++) {
        double scale = (double)r->scale.at[i];
        double size = scale * (double)x.at[i];

        if (scale < LEAST_SCALE)
            return glow_reject(n,
                               "Scale[%d] is %g, but with Antialias must be at "
                               "least %g",
                               i, scale, LEAST_SCALE);
        if (fabs(size - (double)y.at[i]) > 1)
            return glow_reject(n,
                               "Scale[%d] makes %g elements of %" PRId64 ", "
                               "but Result has %" PRId64,
                               i, size, x.at[i], y.at[i]);
    }
    return true;
}

static bool
infer(const glow_node *n, glow_type out[])
{
    const glow_resize *r = n->attrs;
    glow_dims x = n->in[0]->type->shape;

    return glow_resize_check(n, r->scale,
                             r->mode == GLOW_RESIZE_NEAREST ? GLOW_ANY_UNFUSED
                                                            : GLOW_ANY_FLOAT,
                             &out[0]) &&
           check_roi(n, x.rank) &&
           (!r->antialias || check_antialias(n, x, out[0].shape)) &&
           (isfinite(r->cubic_coeff) ||
            glow_reject(n, "CubicCoeff is %g, but must be a finite number",
                        (double)r->cubic_coeff));
}

/* Parameters of one axis. */
typedef struct axis {
    const glow_resize *r;
    int64_t in, out;
    double scale, start, end; /* the region, in parts of in - 1 */
    double squeeze;           /* scale of the kernel's argument: below 1 for
                               * downsampling with Antialias */
    double reach;             /* of the kernel, to either side */
} axis;

static axis
axis_of(const glow_resize *r, glow_dims x, glow_dims y, int i)
{
    axis a = {r, x.at[i], y.at[i], (double)r->scale.at[i], 0, 1, 1, 0};

    if (crops(r)) {
        a.start = (double)r->roi.at[i];
        a.end = (double)r->roi.at[x.rank + i];
    }
    if (r->antialias && a.scale < 1)
        a.squeeze = a.scale;
    if (r->mode != GLOW_RESIZE_NEAREST)
        a.reach = (r->mode == GLOW_RESIZE_CUBIC ? 2 : 1) / a.squeeze;
    return a;
}

static bool
stays(const axis *a)
{
    return a->in == a->out && a->scale == 1 && a->start == 0 && a->end == 1;
}

/* The position of element `i` of the result, in elements of Input. */
static double
place(const axis *a, int64_t i)
{
    double last = (double)(a->in - 1);

    if (!crops(a->r))
        return glow_grid_at(a->r->coordinates, a->scale, i, a->in, a->out);
    if (a->out == 1)
        return 0.5 * (a->start + a->end) * last;
    return a->start * last +
           (double)i * (a->end - a->start) * last / (double)(a->out - 1);
}

/* The kernel at distance `d`: Keys' cubic with A = `c`, or the triangle. */
static double
kernel(const axis *a, double d)
{
    double c = (double)a->r->cubic_coeff;

    d = fabs(d) * a->squeeze;
    if (a->r->mode == GLOW_RESIZE_LINEAR)
        return d < 1 ? 1 - d : 0;
    if (d <= 1)
        return ((c + 2) * d - (c + 3)) * d * d + 1;
    return d < 2 ? ((c * d - 5 * c) * d + 8 * c) * d - 4 * c : 0;
}

static int64_t
held(double x, int64_t in)
{
    return x<0 ? 0 : x>(double)(in - 1) ? in - 1 : (int64_t)x;
}

/* The taps of one result: elements first, ..., first + count - 1. */
typedef struct run {
    int64_t first, count;
} run;

static run
run_of(const axis *a, int64_t i)
{
    double at = place(a, i);

    if (a->r->mode == GLOW_RESIZE_NEAREST && !crops(a->r))
        at = glow_grid_nearest(a->r->coordinates, a->r->rounding, a->scale, i,
                               a->in, a->out);
    else if (a->r->mode == GLOW_RESIZE_NEAREST)
        at = glow_grid_round(at, a->r->rounding);
    if (a->r->mode == GLOW_RESIZE_NEAREST)
        return (run){held(at, a->in), 1};

    int64_t first = held(floor(at - a->reach) + 1, a->in);
    int64_t last = held(ceil(at + a->reach) - 1, a->in);

    return (run){first, last - first + 1};
}

/*
 * Weights of the taps, `step` apart.  A tap outside of Input reads the element
 * at the edge, or with ExcludeOutside has weight 0.
 */
static void
weigh(const axis *a, int64_t i, run s, double *w, int64_t step)
{
    double at = place(a, i), sum = 0;

    if (s.count == 1) {
        *w = 1;
        return;
    }
    for (double p = floor(at - a->reach) + 1; p < at + a->reach; p++) {
        bool beyond = p < 0 || p > (double)(a->in - 1);
        double v = beyond && a->r->exclude_outside ? 0 : kernel(a, p - at);

        w[(held(p, a->in) - s.first) * step] += v;
        sum += v;
    }
    for (int64_t k = 0;
         k < s.count && (a->r->antialias || a->r->exclude_outside); k++)
        w[k * step] /= sum;
}

static const bool *
find_outside(const axis *a, glow_arena *arena)
{
    bool *outside = GLOW_NEW_ARRAY(arena, bool, a->out), any = false;

    for (int64_t i = 0; i < a->out; i++) {
        double at = place(a, i);

        outside[i] = at < 0 || at > (double)(a->in - 1);
        any |= outside[i];
    }
    return any ? outside : NULL;
}

glow_samples
glow_resize_samples(const glow_resize *r, glow_dims x, glow_dims y, int i,
                    glow_arena *arena)
{
    axis a = axis_of(r, x, y, i);
    glow_samples s = {.count = a.out};
    int64_t *from;
    double *weight;

    if (stays(&a) || a.out == 0)
        return s;
    for (int64_t k = 0; k < a.out; k++) {
        run t = run_of(&a, k);

        s.taps = t.count > s.taps ? t.count : s.taps;
    }
    from = GLOW_NEW_ARRAY(arena, int64_t, s.taps *a.out);
    weight = GLOW_NEW_ARRAY(arena, double, s.taps *a.out);
    memset(weight, 0, (size_t)(s.taps * a.out) * sizeof(*weight));
    for (int64_t k = 0; k < a.out; k++) {
        run t = run_of(&a, k);

        for (int64_t j = 0; j < s.taps; j++)
            from[j * a.out + k] = t.first + (j < t.count ? j : t.count - 1);
        weigh(&a, k, t, weight + k, a.out);
    }
    s.from = from;
    s.weight = weight;
    if (crops(r))
        s.outside = find_outside(&a, arena);
    return s;
}

/* Sums of `x`, of shape [before, in, rest], as [before, count, rest]. */
static double *
sample_axis(const glow_samples *s, const double *x, int64_t before, int64_t in,
            int64_t rest, glow_arena *scratch)
{
    double *y = GLOW_NEW_ARRAY(scratch, double, before * s->count * rest);

    for (int64_t b = 0; b < before; b++)
        for (int64_t i = 0; i < s->count; i++)
            for (int64_t j = 0; j < rest; j++) {
                double sum = 0;

                for (int64_t k = 0; k < s->taps; k++) {
                    double w = s->weight[k * s->count + i];
                    int64_t at = b * in + s->from[k * s->count + i];

                    if (w != 0)
                        sum += w * x[at * rest + j];
                }
                y[(b * s->count + i) * rest + j] = sum;
            }
    return y;
}

static bool
sum_eval(const glow_samples s[], glow_tensor *const in[],
         glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape;
    const double *v = glow_load_all(in[0], scratch);

    for (int a = 0; a < x.rank; a++) {
        if (s[a].taps > 0)
            v = sample_axis(&s[a], v, glow_dims_product(x, 0, a), x.at[a],
                            glow_dims_product(x, a + 1, x.rank), scratch);
        x.at[a] = y.at[a];
    }
    glow_store(out[0], 0, glow_tensor_count(out[0]), v);
    return true;
}

static bool
pick_eval(const glow_samples s[], glow_tensor *const in[],
          glow_tensor *const out[])
{
    glow_dims y = out[0]->type->shape, none = {0};
    glow_dims strides = glow_dims_strides(in[0]->type->shape);
    int64_t to = 0;

    GLOW_FOR_EACH_INDEX(i, y) {
        int64_t at = 0;

        for (int a = 0; a < i.rank; a++)
            at += (s[a].taps ? s[a].from[i.at[a]] : i.at[a]) * strides.at[a];
        glow_copy_block(out[0], to++, none, in[0], at, none, none);
    }
    return true;
}

/*
 * Writes `value` to the elements of the result whose position is outside of
 * Input on any axis.
 */
static void
extrapolate(const glow_samples s[], double value, const glow_tensor *out)
{
    int64_t to = 0;

    GLOW_FOR_EACH_INDEX(i, out->type->shape) {
        bool outside = false;

        for (int a = 0; a < i.rank; a++)
            outside |= s[a].outside && s[a].outside[i.at[a]];
        if (outside)
            glow_store(out, to, 1, &value);
        to++;
    }
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    const glow_resize *r = n->attrs;
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape;
    glow_samples s[GLOW_MAX_RANK];
    bool done;

    if (glow_dims_count(y) == 0)
        return true;
    for (int a = 0; a < y.rank; a++)
        s[a] = glow_resize_samples(r, x, y, a, scratch);
    done = r->mode == GLOW_RESIZE_NEAREST ? pick_eval(s, in, out)
                                          : sum_eval(s, in, out, scratch);
    extrapolate(s, (double)r->extrapolation, out[0]);
    return done;
}

static const char *const modes[] = {"nearest", "linear", "cubic", NULL};

const glow_op glow_op_resize = {
    .name = "Resize",
    .summary = "sample a tensor on another grid, in any of ONNX's ways",
    .in = {{"Input", GLOW_TENSOR, "x"}},
    .out = {{"Result", GLOW_TENSOR,
             "the stated type: the element type of Input, any sizes"}},
    .attrs =
        {GLOW_FIELD(glow_resize, scale, GLOW_FLOATS,
                    "of each axis: how many elements of Result there are "
                    "for one of Input"),
         GLOW_FIELD_ENUM(glow_resize, mode, modes, "what is made of Input"),
         GLOW_FIELD_ENUM(glow_resize, coordinates, glow_coordinate_words,
                         "where an element of Result lies in Input"),
         GLOW_FIELD_ENUM(glow_resize, rounding, glow_rounding_words,
                         "with nearest: which element is the nearest"),
         GLOW_FIELD_DEFAULT(glow_resize, cubic_coeff, GLOW_FLOAT32,
                            "with cubic: A of the kernel"),
         GLOW_FIELD_DEFAULT(glow_resize, exclude_outside, GLOW_FLAG,
                            "what lies beyond Input has no weight, instead of "
                            "being as its edge"),
         GLOW_FIELD_DEFAULT(glow_resize, antialias, GLOW_FLAG,
                            "where Scale is less than 1, the kernel is wider "
                            "by as much"),
         GLOW_FIELD_DEFAULT(glow_resize, extrapolation, GLOW_FLOAT32,
                            "with tf_crop_and_resize: the value beyond Input"),
         GLOW_FIELD_DEFAULT(glow_resize, roi, GLOW_FLOATS,
                            "with tf_crop_and_resize: where the region begins "
                            "on each axis, then where it ends, in parts of "
                            "`n - 1`")},
    .defaults = &(const glow_resize){.cubic_coeff = -0.75f},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = infer,
    .eval = eval,
    .doc =
        "Element `i` of an axis lies at `p` in Input; see ResizeNearest, and "
        "with tf_crop_and_resize at `(start + i * (end - start) / (m - 1)) * "
        "(n - 1)`, or in the middle of the region if `m = 1`.  It is the "
        "nearest element, or the sum over all `q` of `k(q - p) x[q]`, axis by "
        "axis, with the triangle `k(d) = 1 - |d|` (linear) or Keys' cubic "
        "`(A + 2) |d|^3 - (A + 3) |d|^2 + 1` up to 1 and `A |d|^3 - 5 A |d|^2 "
        "+ 8 A |d| - 4 A` up to 2.  With Antialias it is `k(d * Scale)`, and "
        "the weights are divided by their sum, as with ExcludeOutside.  An "
        "axis of Scale 1 whose size stays is left as it is.",
    .source = "ONNX Resize; Keys, Cubic Convolution Interpolation for Digital "
              "Image Processing, 1981",
};
