/* Slices and padding: Slice, InsertTensor, Pad. */

#include "ir/ops/common.h"
#include "ir/ops/pad.h"

/* slice */

static int64_t
slice_step(const glow_slice *s, int axis)
{
    return s->steps.rank ? s->steps.at[axis] : 1;
}

/*
 * Checks a slice of an axis of `dim` elements: `size` elements from `start` on,
 * by `step`.
 */
static bool
check_range(const glow_node *n, int axis, int64_t start, int64_t step,
            int64_t size, int64_t dim)
{
    int64_t last;

    if (step == 0)
        return glow_reject(n, "Steps[%d] is 0", axis);
    if (start < 0 || start > dim || (start == dim && size > 0))
        return glow_reject(n,
                           "Start[%d] is %" PRId64 ", but axis %d of Input has "
                           "%" PRId64 " elements",
                           axis, start, axis, dim);
    if (size == 0)
        return true;
    if (glow_mul_overflow(size - 1, step, &last) ||
        glow_add_overflow(start, last, &last) || last < 0 || last >= dim)
        return glow_reject(n,
                           "%" PRId64 " elements from %" PRId64
                           " on by %" PRId64
                           " leave axis %d of Input, which has %" PRId64,
                           size, start, step, axis, dim);
    return true;
}

static bool
slice_infer(const glow_node *n, glow_type out[])
{
    const glow_slice *s = n->attrs;
    const glow_type *x = n->in[0]->type;
    int rank = x->shape.rank;
    glow_dims size = out[0].shape;

    if (!glow_check_stated(n, &out[0]) || !glow_admit(n, 0, GLOW_ANY_UNFUSED))
        return false;
    if (s->start.rank != rank)
        return glow_reject(n,
                           "Start names %d axes, but the rank of Input is %d",
                           s->start.rank, rank);
    if (s->steps.rank && s->steps.rank != rank)
        return glow_reject(n,
                           "Steps names %d axes, but the rank of Input is %d",
                           s->steps.rank, rank);
    if (size.rank != rank)
        return glow_reject(n, "the rank of Result is %d, but that of Input %d",
                           size.rank, rank);
    for (int i = 0; i < rank; i++)
        if (!check_range(n, i, s->start.at[i], slice_step(s, i), size.at[i],
                         x->shape.at[i]))
            return false;
    return glow_give(n, glow_reshaped(x, size), &out[0]);
}

static bool
slice_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    const glow_slice *s = n->attrs;
    glow_dims shape = out[0]->type->shape;
    glow_dims from = glow_dims_strides(in[0]->type->shape);
    int64_t at = 0;

    (void)scratch;
    if (glow_dims_count(shape) == 0)
        return true;
    for (int i = 0; i < shape.rank; i++) {
        at += s->start.at[i] * from.at[i];
        /* An axis of one element has no step. */
        from.at[i] = shape.at[i] > 1 ? from.at[i] * slice_step(s, i) : 0;
    }
    glow_copy_block(out[0], 0, glow_dims_strides(shape), in[0], at, from,
                    shape);
    return true;
}

const glow_op glow_op_slice = {
    .name = "Slice",
    .summary = "take a box out of a tensor",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR,
             "the stated type: the element type of Input, the shape of the "
             "box"}},
    .attrs = {GLOW_FIELD(glow_slice, start, GLOW_DIMS,
                         "the first element, per axis"),
              GLOW_FIELD_DEFAULT(glow_slice, steps, GLOW_DIMS,
                                 "from one element to the next, per axis; may "
                                 "be negative; `[]`: all 1")},
    .defaults = &(const glow_slice){.steps = {.rank = 0}},
    .traits = GLOW_PURE | GLOW_LAYOUT | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = slice_infer,
    .eval = slice_eval,
    .doc = "`y[i, j, ..] = x[Start[0] + i * Steps[0], Start[1] + j * Steps[1], "
           "..]`, all within Input.",
    .source = "Glow Slice; ONNX Slice",
    .derivative = &glow_derivative_slice,
};

/* inserttensor */

static bool
inserttensor_infer(const glow_node *n, glow_type out[])
{
    const glow_inserttensor *t = n->attrs;
    glow_dims big = n->in[0]->type->shape, small = n->in[1]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED) || !glow_check_kinds(n, 1, 0) ||
        !glow_check_rank(n, 1, big.rank))
        return false;
    if (t->start.rank != big.rank)
        return glow_reject(n, "Start names %d axes, but the rank of Big is %d",
                           t->start.rank, big.rank);
    if (t->count < 1)
        return glow_reject(n, "Count is %" PRId64 ", but must be at least 1",
                           t->count);
    if (t->count > 1 && !glow_check_axis(n, "Axis", t->axis, 0))
        return false;
    for (int i = 0; i < big.rank; i++) {
        int64_t copies = i == t->axis ? t->count : 1, end;

        if (t->start.at[i] < 0)
            return glow_reject(n,
                               "Start[%d] is %" PRId64 ", but must be 0 or "
                               "more",
                               i, t->start.at[i]);
        if (glow_mul_overflow(small.at[i], copies, &end) ||
            glow_add_overflow(end, t->start.at[i], &end) || end > big.at[i])
            return glow_reject(n,
                               "%" PRId64 " times %" PRId64 " elements from "
                               "%" PRId64 " on leave axis %d of Big, which has "
                               "%" PRId64,
                               copies, small.at[i], t->start.at[i], i,
                               big.at[i]);
    }
    return glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
inserttensor_eval(const glow_node *n, glow_tensor *const in[],
                  glow_tensor *const out[], glow_arena *scratch)
{
    const glow_inserttensor *t = n->attrs;
    glow_dims small = in[1]->type->shape;
    glow_dims to = glow_dims_strides(out[0]->type->shape);
    glow_dims from = glow_dims_strides(small);
    int64_t at = 0, hop = 0;

    (void)scratch;
    if (in[0]->data != out[0]->data)
        glow_tensor_copy(out[0], in[0]);
    for (int i = 0; i < small.rank; i++) {
        at += t->start.at[i] * to.at[i];
        if (i == t->axis)
            hop = small.at[i] * to.at[i];
    }
    if (glow_dims_count(small) == 0)
        return true;
    for (int64_t i = 0; i < t->count; i++)
        glow_copy_block(out[0], at + i * hop, to, in[1], 0, from, small);
    return true;
}

const glow_op glow_op_inserttensor = {
    .name = "InsertTensor",
    .summary = "write a tensor into a larger one",
    .in = {{"Big", GLOW_TENSOR, "the larger one"},
           {"Small", GLOW_TENSOR, "the other, of its element type and rank"}},
    .out = {{"Result", GLOW_TENSOR, "Big, with Small in it"}},
    .attrs = {GLOW_FIELD(glow_inserttensor, start, GLOW_DIMS,
                         "where the first element of Small goes, per axis"),
              GLOW_FIELD_DEFAULT(glow_inserttensor, count, GLOW_INT64,
                                 "how many copies of Small"),
              GLOW_FIELD_DEFAULT(glow_inserttensor, axis, GLOW_INT,
                                 "the axis along which the copies follow each "
                                 "other")},
    .defaults = &(const glow_inserttensor){.count = 1, .axis = 0},
    .traits = GLOW_PURE | GLOW_LAYOUT | GLOW_PRIMITIVE,
    .infer = inserttensor_infer,
    .eval = inserttensor_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .source = "Glow InsertTensor",
    .derivative = &glow_derivative_inserttensor,
};

/* pad */

static const char *const pad_modes[] = {"constant", "reflect", "edge", "wrap",
                                        NULL};

/*
 * Sets the size of an axis of `dim` elements padded by `low` and `high`; false
 * after a report.
 */
static bool
padded_size(const glow_node *n, int axis, int64_t dim, int64_t low,
            int64_t high, int64_t *out)
{
    const glow_pad *p = n->attrs;
    int64_t wide = low > high ? low : high;

    if (glow_add_overflow(dim, low, out) || glow_add_overflow(*out, high, out))
        return glow_reject(n,
                           "axis %d with pads of %" PRId64 " and %" PRId64
                           " is larger than %" PRId64,
                           axis, low, high, INT64_MAX);
    if (*out < 0 || low < -dim || high < -dim)
        return glow_reject(n,
                           "pads of %" PRId64 " and %" PRId64 " crop more "
                           "than the %" PRId64 " elements of axis %d",
                           low, high, dim, axis);
    if (p->mode == GLOW_PAD_REFLECT && wide > 0 && wide >= dim)
        return glow_reject(n,
                           "a pad of %" PRId64 " cannot reflect the %" PRId64
                           " elements of axis %d",
                           wide, dim, axis);
    if (p->mode == GLOW_PAD_WRAP && wide > 0 && dim == 0)
        return glow_reject(
            n, "axis %d has 0 elements, but a pad of %" PRId64 " repeats them",
            axis, wide);
    if (p->mode == GLOW_PAD_EDGE && wide > 0 && dim == 0)
        return glow_reject(n,
                           "axis %d has 0 elements, but a pad of %" PRId64
                           " repeats the one at its edge",
                           axis, wide);
    return true;
}

static bool
pad_infer(const glow_node *n, glow_type out[])
{
    const glow_pad *p = n->attrs;
    glow_type y = glow_dense(n->in[0]->type);
    int rank = y.shape.rank;

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED))
        return false;
    if (p->pads.count != 2 * rank)
        return glow_reject(n,
                           "Pads has %" PRId64 " elements, but Input of rank "
                           "%d needs %d",
                           p->pads.count, rank, 2 * rank);
    for (int i = 0; i < rank; i++)
        if (!padded_size(n, i, y.shape.at[i], p->pads.at[i],
                         p->pads.at[rank + i], &y.shape.at[i]))
            return false;
    return glow_give(n, y, &out[0]);
}

int64_t
glow_pad_source(int mode, int64_t i, int64_t low, int64_t dim)
{
    int64_t x = i - low;

    if (x >= 0 && x < dim)
        return x;
    if (mode == GLOW_PAD_CONSTANT)
        return -1;
    if (mode == GLOW_PAD_WRAP)
        return (x % dim + dim) % dim;
    if (mode == GLOW_PAD_EDGE)
        return x < 0 ? 0 : dim - 1;
    return x < 0 ? -x : 2 * (dim - 1) - x;
}

/* For each axis and element of Result, its source: elements of Input, or -1. */
static void
pad_sources(const glow_pad *p, glow_dims x, glow_dims y, int64_t *from[],
            glow_arena *scratch)
{
    glow_dims strides = glow_dims_strides(x);

    for (int a = 0; a < y.rank; a++) {
        from[a] = GLOW_NEW_ARRAY(scratch, int64_t, y.at[a]);
        for (int64_t i = 0; i < y.at[a]; i++) {
            int64_t s = glow_pad_source(p->mode, i, p->pads.at[a], x.at[a]);

            from[a][i] = s < 0 ? -1 : s * strides.at[a];
        }
    }
}

static bool
pad_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    const glow_pad *p = n->attrs;
    glow_dims y = out[0]->type->shape, none = {0};
    int64_t *from[GLOW_MAX_RANK], to = 0;

    if (glow_dims_count(y) == 0)
        return true;
    pad_sources(p, in[0]->type->shape, y, from, scratch);
    GLOW_FOR_EACH_INDEX(i, y) {
        int64_t at = 0;

        for (int a = 0; a < i.rank && at >= 0; a++)
            at = from[a][i.at[a]] < 0 ? -1 : at + from[a][i.at[a]];
        if (at < 0)
            glow_set_real(out[0], to, (double)p->value);
        else
            glow_copy_block(out[0], to, none, in[0], at, none, none);
        to++;
    }
    return true;
}

const glow_op glow_op_pad = {
    .name = "Pad",
    .summary = "put a frame around a tensor, or crop it",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR, "Input with its frame"}},
    .attrs = {GLOW_FIELD_ENUM(
                  glow_pad, mode, pad_modes,
                  "what the frame holds: Value; Input mirrored at "
                  "its first and last element; these elements; Input "
                  "again and again"),
              GLOW_FIELD(glow_pad, pads, GLOW_INTS,
                         "elements before each axis, then after each; negative "
                         "ones crop"),
              GLOW_FIELD_DEFAULT(glow_pad, value, GLOW_FLOAT32,
                                 "of a constant frame; of a quantized Input "
                                 "the real value")},
    .defaults = &(const glow_pad){.mode = GLOW_PAD_CONSTANT, .value = 0},
    .traits = GLOW_PURE,
    .infer = pad_infer,
    .eval = pad_eval,
    .doc =
        "An axis of `d` elements with pads `p` and `q` has `p + d + q`.  "
        "Element `i` comes from `x = i - p` of Input; where that is outside, "
        "it is Value (constant), element `-x` or `2 (d - 1) - x` (reflect), "
        "the nearest element (edge), or element `x mod d` (wrap).",
    .source = "Glow Pad; ONNX Pad",
};
