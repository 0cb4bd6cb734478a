/*
 * Slice whose starts and ends are data, and Resize to sizes that are.
 *
 *     Slice(x, s, e)  =>  Gather(x, s + [0, 1, ...]), max(e - s, 0) of it valid
 *
 * An axis is resized by a product with the matrix of the weights, which are computed of
 * the size: the column of an element has the kernel at its distance from all positions.
 */

#include <string.h>

#include "tools/glow-translate/import/follow.h"

/* Elements of a resized axis, and of the matrices of its weights. */
#define MAX_SIZE 65536
#define MAX_WEIGHTS (INT64_C(1) << 26)

static glow_value *
number(import_node *n, int64_t v)
{
    return import_constant_ints(n, (glow_dims){0}, &v);
}

/* [0, 1, ...] in a shape of one axis that is not 1. */
static glow_value *
numbers(import_node *n, glow_dims shape, int64_t first)
{
    int64_t count = glow_dims_count(shape);
    int64_t *at = GLOW_NEW_ARRAY(import_arena(n), int64_t, count);

    for (int64_t i = 0; i < count; i++)
        at[i] = first + i;
    return import_constant_ints(n, shape, at);
}

/* Slice. */

static bool
by_data(const import_node *n, const import_following *f)
{
    int dynamic = 0;

    for (int k = 0; f->sizes && k < f->sizes->count; k++)
        dynamic += f->sizes->at[k].count != NULL;
    if (strcmp(n->row->name, "Slice") != 0 || n->opset < 10 || n->n_in < 3 ||
        !f->in[1] || !f->in[2] || f->in[1]->type->shape.rank != 1)
        return false;
    return !glow_is_constant(f->in[1]) ||
           (!glow_is_constant(f->in[2]) && !f->sizes) || dynamic > 1 ||
           (dynamic && f->bound && import_next_bound(n->im, f->bound));
}

bool
import_slices_by_data(import_node *n, const import_following *f)
{
    return by_data(n, f);
}

/* Entry `k` of starts or ends, at most `size`, counted from its end if negative. */
static glow_value *
position(import_node *n, glow_value *v, int64_t k, glow_value *size)
{
    glow_value *zero = number(n, 0), *negative;

    v = import_convert(n, import_cut(n, v, 0, k, 1), GLOW_INDEX64);
    v = import_reshape(n, v, (glow_dims){0});
    negative = import_binary(n, &glow_op_cmplt, v, zero);
    v = BUILD_PLAIN(
        n, select,
        GLOW_IN(negative, import_binary(n, &glow_op_add, v, size), v));
    v = import_binary(n, &glow_op_max, v, zero);
    return import_binary(n, &glow_op_min, v, size);
}

/* Adds an axis, or replaces the count of one. */
static void
set_count(import_axes_bounded *by, int axis, glow_value *count)
{
    int i = 0;

    while (i < by->n && by->axis[i] != axis)
        i++;
    by->n += i == by->n;
    by->axis[i] = axis;
    by->count[i] = count;
}

static void
drop_count(import_axes_bounded *by, int axis)
{
    int to = 0;

    for (int i = 0; i < by->n; i++)
        if (by->axis[i] != axis) {
            by->axis[to] = by->axis[i];
            by->count[to++] = by->count[i];
        }
    by->n = to;
}

static import_axes_bounded
bounds_of(import_node *n, const glow_value *v)
{
    import_axes_bounded by = {0};

    for (const import_bound *b = import_bound_of(n->im, v); b;
         b = import_next_bound(n->im, b))
        set_count(&by, b->axis, b->count);
    return by;
}

/* Entry `k`: elements [start, end) along `axis` of `v`. */
static glow_value *
slice_axis(import_node *n, const import_following *f, glow_value *v, int axis,
           int64_t k, import_axes_bounded *by)
{
    const import_bound *b = import_bound_at(n->im, f->in[0], axis);
    int64_t all = v->type->shape.at[axis], most = all;
    glow_value *size = b ? b->count : number(n, all);
    glow_value *start = position(n, f->in[1], k, size);
    glow_value *end = position(n, f->in[2], k, size), *count, *at;
    import_interval of;

    count =
        import_binary(n, &glow_op_max,
                      import_binary(n, &glow_op_sub, end, start), number(n, 0));
    if (n->failed)
        return v;
    of = import_interval_of(n->im, count);
    most = of.hi < (double)all ? (int64_t)of.hi : all;
    if (glow_is_constant(start) && glow_is_constant(count)) {
        const glow_tensor *s = glow_constant_tensor(start->storage);

        drop_count(by, axis);
        return s ? import_cut(n, v, axis, glow_get_int(s, 0), most) : v;
    }
    if (all == 0)
        return v;
    most = most < 1 ? 1 : most;
    at = import_binary(n, &glow_op_add, numbers(n, GLOW_DIMS_OF(most), 0),
                       start);
    at = import_binary(n, &glow_op_min, at, number(n, all - 1));
    set_count(by, axis, count);
    return BUILD(n, gather, GLOW_IN(v, at), .axis = axis);
}

/* True if all steps are 1. */
static bool
steps_are_one(import_node *n)
{
    glow_ints steps = {0};

    if (import_in(n, 4))
        steps = import_known_ints(n, 4);
    for (int64_t k = 0; k < steps.count; k++)
        if (steps.at[k] != 1)
            return false;
    return !n->failed;
}

bool
import_bounded_slice(import_node *n, import_following *f)
{
    glow_value *v = f->in[0];
    import_axes_bounded by;
    glow_ints axes = {0};
    int64_t count;
    int rank;

    if (!by_data(n, f))
        return n->row->run(n);
    by = bounds_of(n, v);
    rank = v->type->shape.rank;
    count = f->in[1]->type->shape.at[0];
    if (import_in(n, 3))
        axes = import_known_ints(n, 3);
    if (!steps_are_one(n) || count > rank || f->in[2]->type->shape.rank != 1 ||
        f->in[2]->type->shape.at[0] != count ||
        (import_in(n, 3) && axes.count != count)) {
        if (!n->failed)
            import_refuse_unknown(n, 1, f->in[1]);
        return false;
    }
    for (int64_t k = 0; k < count && !n->failed; k++) {
        int axis = import_in(n, 3) ? import_axis(n, axes.at[k], rank) : (int)k;

        v = n->failed ? v : slice_axis(n, f, v, axis, k, &by);
    }
    f->rule = NULL;
    return import_done(n, import_bounded_along(n, v, &by, true));
}

/* Resize. */

enum { NEAREST, LINEAR, CUBIC };
enum { HALF_PIXEL, PYTORCH_HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS };

typedef struct resizing {
    int mode, coordinates, nearest;
    float coefficient;
} resizing;

static glow_value *
plus(import_node *n, glow_value *v, double by)
{
    return import_binary_number(n, &glow_op_add, v, by);
}

static glow_value *
times(import_node *n, glow_value *v, double by)
{
    return import_binary_number(n, &glow_op_mul, v, by);
}

/* Positions of [most] elements in an axis of `in`, of which `count` are valid. */
static glow_value *
positions(import_node *n, const resizing *r, glow_dims line, int64_t in,
          glow_value *count)
{
    glow_value *o = import_convert(n, numbers(n, line, 0), GLOW_FLOAT);
    glow_value *size = import_convert(n, count, GLOW_FLOAT), *one, *first,
               *zero;

    if (r->coordinates == ALIGN_CORNERS) {
        size = plus(n, size, -1);
        one = import_splat(n, GLOW_FLOAT, (glow_dims){0}, 1);
        size = import_binary(n, &glow_op_max, size, one);
        return import_binary(n, &glow_op_div, times(n, o, (double)(in - 1)),
                             size);
    }
    if (r->coordinates == ASYMMETRIC)
        return import_binary(n, &glow_op_div, times(n, o, (double)in), size);
    o = times(n, plus(n, o, 0.5), (double)in);
    o = plus(n, import_binary(n, &glow_op_div, o, size), -0.5);
    if (r->coordinates == HALF_PIXEL)
        return o;
    first = import_binary(n, &glow_op_cmpeq, count, number(n, 1));
    first = import_broadcast(n, first, line);
    zero = import_splat(n, GLOW_FLOAT, line, 0);
    return BUILD_PLAIN(n, select, GLOW_IN(first, zero, o));
}

static glow_value *
clipped(import_node *n, glow_value *v, double lo, double hi)
{
    glow_dims none = {0};

    v = import_binary(n, &glow_op_max, v,
                      import_splat(n, GLOW_FLOAT, none, lo));
    return import_binary(n, &glow_op_min, v,
                         import_splat(n, GLOW_FLOAT, none, hi));
}

/* Keys' cubic at distances `d`, by its polynomials up to 1 and up to 2. */
static glow_value *
cubic(import_node *n, double a, glow_value *d)
{
    glow_dims shape = d->type->shape;
    glow_value *near = plus(n, times(n, d, a + 2), -(a + 3)), *far, *in;
    glow_value *zero = import_splat(n, GLOW_FLOAT, shape, 0);

    near = import_binary(n, &glow_op_mul,
                         import_binary(n, &glow_op_mul, near, d), d);
    near = plus(n, near, 1);
    far = import_binary(n, &glow_op_mul, plus(n, times(n, d, a), -5 * a), d);
    far = import_binary(n, &glow_op_mul, plus(n, far, 8 * a), d);
    far = plus(n, far, -4 * a);
    in = import_binary(n, &glow_op_cmplt, d,
                       import_splat(n, GLOW_FLOAT, shape, 2));
    far = BUILD_PLAIN(n, select, GLOW_IN(in, far, zero));
    in = import_binary(n, &glow_op_cmplt, d,
                       import_splat(n, GLOW_FLOAT, shape, 1));
    return BUILD_PLAIN(n, select, GLOW_IN(in, near, far));
}

/* [in, in + 4]: the elements that two beyond each end are held to. */
static glow_value *
held_to_ends(import_node *n, int64_t in)
{
    glow_tensor t =
        glow_tensor_new(import_type(n, GLOW_FLOAT, GLOW_DIMS_OF(in, in + 4)));

    for (int64_t j = 0; j < in + 4; j++)
        for (int64_t i = 0; i < in; i++) {
            int64_t to = j < 2 ? 0 : j - 2 < in ? j - 2 : in - 1;

            glow_set_double(&t, i * (in + 4) + j, i == to);
        }
    return import_constant_of(n, &t);
}

/* The weights of `in` elements for `most`: [in, most]. */
static glow_value *
weights(import_node *n, const resizing *r, int64_t in, int64_t most,
        glow_value *count)
{
    bool cubes = r->mode == CUBIC;
    glow_dims shape = GLOW_DIMS_OF(cubes ? in + 4 : in, most);
    glow_value *p = positions(n, r, GLOW_DIMS_OF(1, most), in, count), *d;

    if (!cubes)
        p = clipped(n, p, 0, (double)(in - 1));
    d = import_convert(n,
                       numbers(n, GLOW_DIMS_OF(shape.at[0], 1), cubes ? -2 : 0),
                       GLOW_FLOAT);
    p = import_broadcast(n, p, shape);
    d = import_binary(n, &glow_op_sub, p, import_broadcast(n, d, shape));
    d = BUILD_PLAIN(n, abs, GLOW_IN(d));
    if (cubes)
        return BUILD_PLAIN(
            n, matmul,
            GLOW_IN(held_to_ends(n, in), cubic(n, (double)r->coefficient, d)));
    d = plus(n, times(n, d, -1), 1);
    return import_binary(n, &glow_op_max, d,
                         import_splat(n, GLOW_FLOAT, (glow_dims){0}, 0));
}

/* The nearest elements of [most] positions. */
static glow_value *
nearest(import_node *n, const resizing *r, int64_t in, int64_t most,
        glow_value *count)
{
    static const double before[] = {-0.5, 0.5, 0, 0};
    bool up = r->nearest == 0 || r->nearest == 3;
    glow_value *p = positions(n, r, GLOW_DIMS_OF(most), in, count);

    p = plus(n, p, before[r->nearest]);
    p = up ? BUILD_PLAIN(n, ceil, GLOW_IN(p))
           : BUILD_PLAIN(n, floor, GLOW_IN(p));
    return import_convert(n, clipped(n, p, 0, (double)(in - 1)), GLOW_INDEX64);
}

/* True if weights of `in` elements for `most`, and of `in` for their ends, are too many. */
static bool
are_too_many(const resizing *r, int64_t in, int64_t most)
{
    return most > MAX_SIZE || in > MAX_SIZE ||
           (r->mode != NEAREST &&
            (in + 4) * (most > in ? most : in) > MAX_WEIGHTS);
}

static glow_value *
resize_axis(import_node *n, const resizing *r, glow_value *v, int axis,
            int64_t most, glow_value *count)
{
    glow_dims shape = v->type->shape, shuffle = {.rank = shape.rank};
    int64_t in = shape.at[axis];
    int last = shape.rank - 1;

    if (r->mode == NEAREST)
        return BUILD(n, gather, GLOW_IN(v, nearest(n, r, in, most, count)),
                     .axis = axis);
    for (int i = 0; i < shape.rank; i++)
        shuffle.at[i] = i == axis ? last : i == last ? axis : i;
    v = import_transpose(n, v, shuffle);
    shape = import_shape(v);
    v = import_reshape(n, v,
                       GLOW_DIMS_OF(glow_dims_product(shape, 0, last), in));
    v = BUILD_PLAIN(n, matmul, GLOW_IN(v, weights(n, r, in, most, count)));
    shape.at[last] = most;
    return import_transpose(n, import_reshape(n, v, shape), shuffle);
}

/* Reads the attributes; false if only known sizes can be resized so. */
static bool
read_resizing(import_node *n, resizing *r)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const coordinates[] = {
        "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners",
        NULL};
    static const char *const rounding[] = {
        "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};

    if (import_flag(n, "exclude_outside", false) ||
        import_flag(n, "antialias", false) ||
        import_has(n, "keep_aspect_ratio_policy"))
        return false;
    import_ignore(n, "extrapolation_value");
    r->mode = import_word(n, "mode", "nearest", modes);
    r->coordinates = import_word(n, "coordinate_transformation_mode",
                                 "half_pixel", coordinates);
    r->nearest = import_word(n, "nearest_mode", "round_prefer_floor", rounding);
    r->coefficient = import_float(n, "cubic_coeff_a", -0.75f);
    return !n->failed;
}

bool
import_bounded_resize(import_node *n, import_following *f)
{
    glow_value *v = f->in[0];
    glow_kind kind = v->type->elem;
    import_axes_bounded by;
    glow_ints axes = {0};
    resizing r = {0};

    if (!f->sizes)
        return n->row->run(n);
    by = bounds_of(n, v);
    axes = import_ints(n, "axes");
    if (!read_resizing(n, &r) || !glow_is_float(kind) ||
        f->sizes->count != (axes.count ? axes.count : v->type->shape.rank)) {
        if (!n->failed)
            import_refuse_unknown(n, 3, f->in[3]);
        return false;
    }
    v = import_convert(n, v, GLOW_FLOAT);
    for (int k = f->sizes->count - 1; k >= 0 && !n->failed; k--) {
        import_extent to = f->sizes->at[k];
        int axis =
            axes.count ? import_axis(n, axes.at[k], v->type->shape.rank) : k;
        const import_bound *b =
            n->failed ? NULL : import_bound_at(n->im, f->in[0], axis);
        int64_t in = n->failed ? 0 : v->type->shape.at[axis];

        if (n->failed || (!to.count && to.most == in) ||
            (b && to.count && import_same_count(b->count, to.count)))
            continue;
        if (b || in == 0 || to.most < 1 || are_too_many(&r, in, to.most)) {
            import_refuse_unknown(n, 3, f->in[3]);
            return false;
        }
        v = resize_axis(n, &r, v, axis, to.most,
                        to.count ? to.count : number(n, to.most));
        if (to.count)
            set_count(&by, axis, to.count);
    }
    f->rule = NULL;
    v = import_convert(n, v, kind);
    return import_done(n, import_bounded_along(n, v, &by, true));
}
