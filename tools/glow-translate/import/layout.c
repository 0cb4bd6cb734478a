/* Import of layout operators: reshapes, slices, concatenation. */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/glow-translate/import/import.h"

/* Reshape: 0 keeps a dimension (unless allowzero), one -1 takes the rest. */

static bool
resolve(import_node *n, glow_ints want, bool zero_is_zero, glow_dims from,
        glow_dims *to)
{
    int64_t count = glow_dims_count(from), known = 1;
    int rest = -1;

    if (want.count > GLOW_MAX_RANK)
        return import_refuse(n, "E0711",
                             "the new rank is %" PRId64 ", and %d is the limit",
                             want.count, GLOW_MAX_RANK);
    *to = (glow_dims){.rank = (int)want.count};
    for (int i = 0; i < to->rank; i++) {
        int64_t d = want.at[i];

        if (d == 0 && !zero_is_zero) {
            if (i >= from.rank)
                return import_refuse(n, "E0711",
                                     "dimension %d is to be kept, but the rank "
                                     "is %d",
                                     i, from.rank);
            d = from.at[i];
        }
        if (d < -1 || (d == -1 && rest >= 0))
            return import_refuse(n, "E0711", "dimension %d is %" PRId64, i, d);
        if (d == -1)
            rest = i;
        else if (glow_mul_overflow(known, d, &known))
            return import_refuse(n, "E0711", "the new shape is too large");
        to->at[i] = d;
    }
    if (rest >= 0 && known)
        to->at[rest] = count / known;
    else if (rest >= 0)
        to->at[rest] = 0;
    if (!glow_dims_checked_count(*to, &known) || known != count)
        return import_refuse(n, "E0711",
                             "%" PRId64 " elements do not fit the "
                             "new shape",
                             count);
    return true;
}

static bool
reshape(import_node *n)
{
    bool attr = n->opset < 5;
    bool zero = n->opset >= 14 && import_flag(n, "allowzero", false);
    glow_dims to;

    import_ignore(n, "consumed_inputs");
    if (!import_operands(n, attr ? 1 : 2, attr ? 1 : 2))
        return false;

    glow_ints want = attr ? import_ints(n, "shape") : import_known_ints(n, 1);
    glow_value *x = import_in(n, 0);

    return !n->failed && resolve(n, want, zero, x->type->shape, &to) &&
           import_done(n, import_reshape(n, x, to));
}

static bool
flatten(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = import_in(n, 0);
    glow_dims shape = x->type->shape;
    int64_t axis = import_int(n, "axis", 1, -shape.rank, shape.rank);
    glow_dims to = GLOW_DIMS_OF(1, 1);

    if (axis < 0)
        axis += shape.rank;
    for (int i = 0; i < shape.rank; i++)
        to.at[i >= axis] *= shape.at[i];
    return import_done(n, import_reshape(n, x, to));
}

/*
 * An empty list of axes removes no axes by the standard, numpy and shape
 * inference, and all of size 1 in ONNX Runtime: an error if there is a
 * difference.
 */
static void
check_no_axes(import_node *n, glow_dims shape)
{
    int ones = 0;

    for (int i = 0; i < shape.rank; i++)
        ones += shape.at[i] == 1;
    if (ones)
        import_refuse_hint(
            n, "E0711",
            "leave axes out to remove all of them, or use Identity to keep them",
            "axes has 0 entries, but the operand has %d axes of size 1, which "
            "runtimes keep or remove",
            ones);
}

static bool
squeeze(import_node *n)
{
    if (!import_operands(n, 1, n->opset < 13 ? 1 : 2))
        return false;

    glow_value *x = import_in(n, 0);
    glow_dims shape = x->type->shape, to = {0};
    bool given;
    glow_dims axes = import_axes(n, 1, 12, shape.rank, &given);

    if (given && axes.rank == 0)
        check_no_axes(n, shape);
    for (int i = 0, k = 0; i < shape.rank; i++) {
        bool named = k < axes.rank && axes.at[k] == i;

        k += named;
        if (named && shape.at[i] != 1)
            return import_refuse(n, "E0711", "axis %d is %" PRId64 " long", i,
                                 shape.at[i]);
        if (named || (!given && shape.at[i] == 1))
            continue;
        to.at[to.rank++] = shape.at[i];
    }
    return !n->failed && import_done(n, import_reshape(n, x, to));
}

static bool
unsqueeze(import_node *n)
{
    bool attr = n->opset < 13;
    glow_ints list;
    bool given;

    if (!import_operands(n, attr ? 1 : 2, attr ? 1 : 2))
        return false;
    list = attr ? import_ints(n, "axes") : import_known_ints(n, 1);

    glow_value *x = import_in(n, 0);
    glow_dims shape = x->type->shape, to = {0};

    if (n->failed || list.count + shape.rank > GLOW_MAX_RANK)
        return import_refuse(n, "E0711", "the new rank is over %d",
                             GLOW_MAX_RANK);
    to.rank = shape.rank + (int)list.count;

    glow_dims axes = import_axes(n, 1, 12, to.rank, &given);

    for (int i = 0, k = 0, from = 0; i < to.rank; i++) {
        bool is_new = k < axes.rank && axes.at[k] == i;

        k += is_new;
        to.at[i] = is_new ? 1 : shape.at[from++];
    }
    return !n->failed && import_done(n, import_reshape(n, x, to));
}

static bool
transpose(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = import_in(n, 0);
    int rank = x->type->shape.rank;
    bool given = import_has(n, "perm");
    glow_dims perm = import_dims(n, "perm", rank, 0, 0);

    for (int i = 0; i < rank && !given; i++)
        perm.at[i] = rank - 1 - i;
    if (rank > 0 && given)
        return import_done(n, BUILD(n, transpose, GLOW_IN(x), .shuffle = perm));
    return import_done(n, import_transpose(n, x, perm));
}

static bool
concat(import_node *n)
{
    if (!import_operands(n, 1, INT32_MAX))
        return false;
    if (n->opset >= 4 && !import_has(n, "axis"))
        return import_refuse(n, "E0710", "axis is missing");
    for (int i = 0; i < n->n_in; i++)
        if (!n->in[i])
            return import_refuse(n, "E0711", "operand %d is missing", i);

    int axis = import_axis_attr(n, 1, n->in[0]->type->shape.rank);

    if (n->n_in == 1 || n->failed)
        return import_done(n, n->in[0]);
    return import_done(n, import_build(n, &glow_op_concat, NULL, n->in, n->n_in,
                                       &(const glow_concat){.dim = axis}));
}

/* Split: sizes from attribute, operand, or into equal parts. */

bool
import_parts(import_node *n, glow_value *v, int axis, const int64_t *sizes)
{
    int64_t at = 0, whole = v->type->shape.at[axis];

    for (int i = 0; i < n->n_out; i++) {
        int64_t size = sizes[i];

        if (size < 0 || size > whole - at)
            return import_refuse(n, "E0711",
                                 "part %d is %" PRId64 " long, but %" PRId64
                                 " are left",
                                 i, size, whole - at);
        n->out[i] = import_cut(n, v, axis, at, size);
        at += size;
    }
    if (at != whole)
        return import_refuse(n, "E0711",
                             "the parts are %" PRId64
                             " long together, the axis %" PRId64,
                             at, whole);
    return !n->failed;
}

static bool
split_sizes(import_node *n, int64_t whole, glow_ints *sizes)
{
    int64_t *equal = GLOW_NEW_ARRAY(import_arena(n), int64_t, n->n_out);
    int64_t parts = import_int(n, "num_outputs", n->n_out, 1, INT32_MAX);
    int64_t each = (whole + parts - 1) / parts;

    *sizes = n->opset < 13 ? import_ints(n, "split") : (glow_ints){0};
    if (import_in(n, 1))
        *sizes = import_known_ints(n, 1);
    if (parts != n->n_out)
        return import_refuse(
            n, "E0710", "num_outputs is %" PRId64 ", but there are %d results",
            parts, n->n_out);
    if (sizes->count || n->failed)
        return !n->failed;
    if (n->opset < 18 && whole % parts != 0)
        return import_refuse(n, "E0711", "%" PRId64 " is not divisible by %d",
                             whole, n->n_out);
    for (int i = 0; i < n->n_out; i++) {
        equal[i] = whole < each ? whole : each;
        whole -= equal[i];
    }
    *sizes = (glow_ints){n->n_out, equal};
    return true;
}

static bool
split(import_node *n)
{
    glow_ints sizes;

    if (!import_operands(n, 1, 2))
        return false;

    glow_value *x = import_in(n, 0);
    int axis = import_axis_attr(n, 0, x->type->shape.rank);

    if (n->failed || x->type->shape.rank == 0)
        return import_refuse(n, "E0711", "a scalar cannot be split");
    if (!split_sizes(n, x->type->shape.at[axis], &sizes))
        return false;
    if (sizes.count != n->n_out)
        return import_refuse(n, "E0711", "%" PRId64 " sizes for %d results",
                             sizes.count, n->n_out);
    return import_parts(n, x, axis, sizes.at);
}

/* Slice. */

static int64_t
clamp(int64_t v, int64_t least, int64_t most)
{
    return v < least ? least : v > most ? most : v;
}

/*
 * Normalizes the start of a slice of one axis; returns the number of elements.
 */
static int64_t
slice_axis(int64_t size, int64_t *start, int64_t end, int64_t step)
{
    int64_t span;

    *start += *start < 0 ? size : 0;
    end += end < 0 ? size : 0;
    if (step > 0) {
        *start = clamp(*start, 0, size);
        span = clamp(end, 0, size) - *start;
    } else {
        *start = clamp(*start, 0, size - 1);
        span = *start - clamp(end, -1, size - 1);
        step = step == INT64_MIN ? INT64_MAX : -step;
    }
    if (span <= 0 || size == 0) {
        *start = 0;
        return 0;
    }
    return (span - 1) / step + 1;
}

typedef struct slice_lists {
    glow_ints starts, ends, axes, steps;
} slice_lists;

/* Slice had attributes before opset 10; DynamicSlice never had any. */
static bool
has_slice_attrs(const import_node *n)
{
    return n->opset < 10 && strcmp(n->row->name, "Slice") == 0;
}

static void
read_slice(import_node *n, slice_lists *l)
{
    *l = (slice_lists){{0}, {0}, {0}, {0}};
    if (has_slice_attrs(n)) {
        l->starts = import_ints(n, "starts");
        l->ends = import_ints(n, "ends");
        l->axes = import_ints(n, "axes");
        return;
    }
    l->starts = import_known_ints(n, 1);
    l->ends = import_known_ints(n, 2);
    if (import_in(n, 3))
        l->axes = import_known_ints(n, 3);
    if (import_in(n, 4))
        l->steps = import_known_ints(n, 4);
}

static bool
slice(import_node *n)
{
    slice_lists l;
    bool attr = has_slice_attrs(n);
    bool stepped = false;
    int64_t named[GLOW_MAX_RANK] = {0}; /* number of the entry that names the
                                         * axis, from 1 on */

    if (!import_operands(n, attr ? 1 : 3, attr ? 1 : 5))
        return false;
    read_slice(n, &l);

    glow_value *x = import_in(n, 0);
    glow_dims shape = x->type->shape;
    glow_slice s = {.start = {.rank = shape.rank},
                    .steps = {.rank = shape.rank}};

    for (int i = 0; i < shape.rank; i++)
        s.steps.at[i] = 1;
    if (!n->failed && (l.starts.count != l.ends.count ||
                       (l.axes.count && l.axes.count != l.starts.count) ||
                       (l.steps.count && l.steps.count != l.starts.count) ||
                       (!l.axes.count && l.starts.count > shape.rank)))
        return import_refuse(n, "E0711",
                             "starts, ends, axes and steps are not of one "
                             "length");
    for (int64_t k = 0; k < l.starts.count && !n->failed; k++) {
        int axis = import_axis(n, l.axes.count ? l.axes.at[k] : k, shape.rank);
        int64_t step = l.steps.count ? l.steps.at[k] : 1;

        if (!n->failed && named[axis])
            return import_refuse_hint(
                n, "E0711", "a Slice each for the two parts of an axis",
                "axis %d is named twice, by entries %" PRId64 " and %" PRId64,
                axis, named[axis] - 1, k);
        named[axis] = k + 1;
        if (step == 0)
            return import_refuse(n, "E0711", "a step is 0");
        s.start.at[axis] = l.starts.at[k];
        s.steps.at[axis] = clamp(step, -INT32_MAX, INT32_MAX);
        shape.at[axis] = slice_axis(x->type->shape.at[axis], &s.start.at[axis],
                                    l.ends.at[k], step);
        stepped |= step != 1;
    }
    if (n->failed)
        return false;
    if (!stepped)
        s.steps.rank = 0;
    if (glow_dims_equal(shape, x->type->shape) && !stepped)
        return import_done(n, x);
    return import_done(n, import_build(n, &glow_op_slice,
                                       import_type(n, x->type->elem, shape),
                                       GLOW_IN(x), &s));
}

/* Pad: sizes and value are attributes up to opset 10, then operands. */

static glow_ints
pad_sizes(import_node *n, int rank)
{
    bool attr = n->opset < 11, given = false;
    const char *name = n->opset < 2 ? "paddings" : "pads";
    glow_ints l = attr ? import_ints(n, name) : import_known_ints(n, 1);
    int64_t *all = GLOW_NEW_ARRAY(import_arena(n), int64_t, 2 * rank);
    glow_ints axes = {0};

    if (n->opset >= 18 && import_in(n, 3)) {
        axes = import_known_ints(n, 3);
        given = true;
    }
    if (!given)
        axes.count = rank;
    if (l.count != 2 * axes.count || axes.count > rank) {
        import_refuse(n, "E0711", "%" PRId64 " pads for %" PRId64 " axes",
                      l.count, axes.count);
        return (glow_ints){0};
    }
    for (int64_t k = 0; k < axes.count && !n->failed; k++) {
        int axis = given ? import_axis(n, axes.at[k], rank) : (int)k;

        all[axis] = clamp(l.at[k], -INT32_MAX, INT32_MAX);
        all[rank + axis] = clamp(l.at[axes.count + k], -INT32_MAX, INT32_MAX);
    }
    return (glow_ints){2 * rank, all};
}

/*
 * Pads with a value that is not constant, or not float32: x is inserted into a
 * splat.
 */
static glow_value *
pad_with(import_node *n, glow_value *x, glow_ints pads, glow_value *value)
{
    glow_dims whole = x->type->shape, start = {.rank = whole.rank};

    for (int i = 0; i < whole.rank && !n->failed; i++) {
        int64_t size = whole.at[i];
        int64_t low = pads.at[i], high = pads.at[whole.rank + i];
        int64_t first = low < 0 ? -low : 0,
                last = high < 0 ? size + high : size;

        if (glow_add_overflow(size, low, &whole.at[i]) ||
            glow_add_overflow(whole.at[i], high, &whole.at[i]) ||
            first > size || last < first) {
            import_refuse(n, "E0711",
                          "pads of %" PRId64 " and %" PRId64
                          " do not fit axis %d, %" PRId64 " long",
                          low, high, i, size);
            return NULL;
        }
        x = import_cut(n, x, i, first, last - first);
        start.at[i] = low > 0 ? low : 0;
    }
    value = import_reshape(n, value, (glow_dims){0});
    value = import_broadcast(n, value, whole);
    return BUILD(n, inserttensor, GLOW_IN(value, x), .start = start,
                 .count = 1);
}

/* Sets `*out` to the padding value if it is a constant float32; else false. */
static bool
float_value(import_node *n, glow_value *value, float *out)
{
    double v = value && import_is_known(n, 2) ? import_known_number(n, 2) : 0;

    *out = (float)v;
    return !value || (import_is_known(n, 2) &&
                      (isnan(v) || ((double)*out == v && fabs(v) < 0x1p53)));
}

static bool
pad(import_node *n)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap",
                                        NULL};
    static const int ours[] = {GLOW_PAD_CONSTANT, GLOW_PAD_REFLECT,
                               GLOW_PAD_EDGE, GLOW_PAD_WRAP};
    bool attr = n->opset < 11;
    int mode = import_word(n, "mode", "constant", modes);
    float number = attr ? import_float(n, "value", 0) : 0;

    if (!import_operands(n, attr ? 1 : 2, attr ? 1 : 4))
        return false;

    glow_value *x = import_in(n, 0), *value = attr ? NULL : import_in(n, 2);
    glow_ints pads = pad_sizes(n, x->type->shape.rank);

    if (!n->failed && ours[mode] == GLOW_PAD_WRAP && n->opset < 19)
        return import_refuse(n, "E0710", "mode wrap came with opset 19");
    if (!n->failed && ours[mode] == GLOW_PAD_CONSTANT && !attr &&
        !float_value(n, value, &number))
        return import_done(n, pad_with(n, x, pads, value));
    return !n->failed &&
           import_done(n, BUILD(n, pad, GLOW_IN(x), .mode = ours[mode],
                                .pads = pads, .value = number));
}

/* Tile: one Tile for each axis that is repeated. */
static bool
tile(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = import_in(n, 0);
    glow_ints repeats = import_known_ints(n, 1);
    glow_dims shape = x->type->shape;

    if (!n->failed && repeats.count != shape.rank)
        return import_refuse(n, "E0711", "%" PRId64 " repeats for rank %d",
                             repeats.count, shape.rank);
    for (int i = 0; i < shape.rank && !n->failed; i++) {
        if (repeats.at[i] == 1)
            continue;
        if (repeats.at[i] < 0 ||
            glow_mul_overflow(shape.at[i], repeats.at[i], &shape.at[i]))
            return import_refuse(n, "E0711",
                                 "axis %d is repeated %" PRId64 " times", i,
                                 repeats.at[i]);
        import_type(n, x->type->elem, shape);
        if (n->failed)
            return false;
        x = repeats.at[i]
                ? BUILD(n, tile, GLOW_IN(x), .count = repeats.at[i], .axis = i)
                : import_cut(n, x, i, 0, 0);
    }
    return import_done(n, x);
}

/* Up to opset 5: one axis, how often and which. */
static bool
tile_axis(import_node *n)
{
    if (!import_operands(n, 3, 3))
        return false;

    glow_value *x = import_in(n, 0);
    glow_dims shape = x->type->shape;
    double times = import_known_number(n, 1);
    double axis_read = import_known_number(n, 2);
    int axis;

    if (!n->failed &&
        !(times >= 0 && times <= INT32_MAX && axis_read >= -GLOW_MAX_RANK &&
          axis_read <= GLOW_MAX_RANK))
        return import_refuse(n, "E0711", "axis %g is repeated %g times",
                             axis_read, times);
    axis = n->failed ? 0 : import_axis(n, (int64_t)axis_read, shape.rank);
    if (n->failed ||
        glow_mul_overflow(shape.at[axis], (int64_t)times, &shape.at[axis]))
        return import_refuse(n, "E0711", "the result is too large");
    import_type(n, x->type->elem, shape);
    if (n->failed)
        return false;
    return import_done(n, times > 0
                              ? BUILD(n, tile, GLOW_IN(x),
                                      .count = (int64_t)times, .axis = axis)
                              : import_cut(n, x, axis, 0, 0));
}

static bool
expand(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = import_in(n, 0);
    glow_ints want = import_known_ints(n, 1);
    glow_dims to = {.rank = (int)want.count};

    if (want.count > GLOW_MAX_RANK)
        return import_refuse(n, "E0711",
                             "the new rank is %" PRId64 ", and %d is the limit",
                             want.count, GLOW_MAX_RANK);
    for (int i = 0; i < to.rank; i++)
        to.at[i] = want.at[i];
    to = import_broadcast_shape(n, x->type->shape, to);
    import_type(n, x->type->elem, to);
    return !n->failed && import_done(n, import_broadcast(n, x, to));
}

/* SpaceToDepth and DepthToSpace: a transpose between reshapes. */

static bool
depth_to_space(import_node *n)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    int64_t b = import_int(n, "blocksize", 0, 1, INT32_MAX);
    int mode = import_word(n, "mode", "DCR", modes);

    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = import_in(n, 0);
    glow_dims s = x->type->shape;

    if (s.rank != 4 || b < 1 || s.at[1] % (b * b) != 0)
        return import_refuse(n, "E0711",
                             "blocks of %" PRId64 " do not fit the operand", b);

    int64_t c = s.at[1] / (b * b);
    bool dcr = mode == 0;

    x = import_reshape(n, x,
                       dcr ? GLOW_DIMS_OF(s.at[0], b, b, c, s.at[2], s.at[3])
                           : GLOW_DIMS_OF(s.at[0], c, b, b, s.at[2], s.at[3]));
    x = import_transpose(n, x,
                         dcr ? GLOW_DIMS_OF(0, 3, 4, 1, 5, 2)
                             : GLOW_DIMS_OF(0, 1, 4, 2, 5, 3));
    return import_done(
        n, import_reshape(n, x,
                          GLOW_DIMS_OF(s.at[0], c, s.at[2] * b, s.at[3] * b)));
}

static bool
space_to_depth(import_node *n)
{
    int64_t b = import_int(n, "blocksize", 0, 1, INT32_MAX);

    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = import_in(n, 0);
    glow_dims s = x->type->shape;

    if (s.rank != 4 || b < 1 || s.at[2] % b != 0 || s.at[3] % b != 0)
        return import_refuse(n, "E0711",
                             "blocks of %" PRId64 " do not fit the operand", b);

    int64_t h = s.at[2] / b, w = s.at[3] / b;

    x = import_reshape(n, x, GLOW_DIMS_OF(s.at[0], s.at[1], h, b, w, b));
    x = import_transpose(n, x, GLOW_DIMS_OF(0, 3, 5, 1, 2, 4));
    return import_done(
        n, import_reshape(n, x, GLOW_DIMS_OF(s.at[0], s.at[1] * b * b, h, w)));
}

const import_row import_layout_rows[] = {
    {"Concat", 1, 0, concat, &glow_op_concat, "any"},
    {"DynamicSlice", 1, 0, slice, &glow_op_slice,
     "any; starts, ends and axes must be known; experimental up to opset 9"},
    {"DepthToSpace", 1, 0, depth_to_space, NULL,
     "any; rank 4; Reshape and Transpose"},
    {"Expand", 8, 0, expand, &glow_op_broadcast,
     "any; the shape must be known"},
    {"Flatten", 1, 0, flatten, &glow_op_reshape, "any"},
    {"Pad", 1, 0, pad, &glow_op_pad,
     "any; pads and axes must be known; the value may be computed; wrap since "
     "opset 19"},
    {"Reshape", 1, 0, reshape, &glow_op_reshape,
     "any; the shape must be known"},
    {"Slice", 1, 0, slice, &glow_op_slice,
     "any; starts, ends, axes and steps must be known"},
    {"SpaceToDepth", 1, 0, space_to_depth, NULL,
     "any; rank 4; Reshape and Transpose"},
    {"Split", 1, 0, split, &glow_op_slice,
     "any; sizes must be known; a Slice for each part"},
    {"Squeeze", 1, 0, squeeze, &glow_op_reshape, "any; axes must be known"},
    {"Tile", 1, 5, tile_axis, &glow_op_tile,
     "any; number and axis must be known"},
    {"Tile", 6, 0, tile, &glow_op_tile,
     "any; repeats must be known; a Tile for each axis"},
    {"Transpose", 1, 0, transpose, &glow_op_transpose, "any"},
    {"Unsqueeze", 1, 0, unsqueeze, &glow_op_reshape, "any; axes must be known"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
