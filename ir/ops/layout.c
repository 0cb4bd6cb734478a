/*
 * Layout operators.  They move elements and compute nothing, so each keeps the
 * element type of its operand, including scale and offset.
 */

#include "ir/ops/common.h"

/* transpose */

static bool
transpose_infer(const glow_node *n, glow_type out[])
{
    const glow_transpose *t = n->attrs;
    const glow_type *x = n->in[0]->type;
    glow_type y = glow_dense(x);
    bool used[GLOW_MAX_RANK] = {false};

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED))
        return false;
    if (t->shuffle.rank != x->shape.rank)
        return glow_reject(n,
                           "Shuffle names %d axes, but the rank of Input is %d",
                           t->shuffle.rank, x->shape.rank);

    for (int i = 0; i < t->shuffle.rank; i++) {
        int64_t axis = t->shuffle.at[i];

        if (axis < 0 || axis >= x->shape.rank)
            return glow_reject(n,
                               "Shuffle names axis %" PRId64
                               ", but the rank of Input is %d",
                               axis, x->shape.rank);
        if (used[axis])
            return glow_reject(n, "Shuffle names axis %" PRId64 " twice", axis);
        used[axis] = true;
        y.shape.at[i] = x->shape.at[axis];
    }
    return glow_give(n, y, &out[0]);
}

static bool
transpose_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    const glow_transpose *t = n->attrs;
    glow_dims shape = out[0]->type->shape;
    glow_dims strides = glow_dims_strides(in[0]->type->shape);
    glow_dims from = {.rank = shape.rank};

    (void)scratch;
    for (int i = 0; i < shape.rank; i++)
        from.at[i] = strides.at[t->shuffle.at[i]];
    glow_copy_block(out[0], 0, glow_dims_strides(shape), in[0], 0, from, shape);
    return true;
}

const glow_op glow_op_transpose = {
    .name = "Transpose",
    .summary = "permute the axes of a tensor",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR,
             "Input with its axes in the order of Shuffle"}},
    .attrs = {GLOW_FIELD(glow_transpose, shuffle, GLOW_DIMS,
                         "axis i of Result is axis Shuffle[i] of Input")},
    .traits = GLOW_PURE | GLOW_LAYOUT | GLOW_PRIMITIVE,
    .infer = transpose_infer,
    .eval = transpose_eval,
    .source = "Glow Transpose; ONNX Transpose",
    .derivative = &glow_derivative_transpose,
};

/* reshape */

static bool
reshape_infer(const glow_node *n, glow_type out[])
{
    const glow_reshape *r = n->attrs;
    const glow_type *x = n->in[0]->type;
    int64_t has = glow_dims_count(x->shape), want;

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED))
        return false;
    for (int i = 0; i < r->dims.rank; i++)
        if (r->dims.at[i] < 0)
            return glow_reject(n,
                               "Dims[%d] is %" PRId64 ", but must be 0 or "
                               "more",
                               i, r->dims.at[i]);
    if (!glow_dims_checked_count(r->dims, &want))
        return glow_reject(n,
                           "Dims has more elements than 64 bits count, but "
                           "Input has %" PRId64,
                           has);
    if (want != has)
        return glow_reject(n,
                           "Dims has %" PRId64 " elements, but Input has "
                           "%" PRId64,
                           want, has);
    return glow_give(n, glow_reshaped(x, r->dims), &out[0]);
}

static bool
reshape_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    (void)n, (void)scratch;
    if (in[0]->data != out[0]->data)
        glow_tensor_copy(out[0], in[0]);
    return true;
}

const glow_op glow_op_reshape = {
    .name = "Reshape",
    .summary = "give a tensor another shape",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR,
             "the elements of Input, in the same row-major order"}},
    .attrs = {GLOW_FIELD(glow_reshape, dims, GLOW_DIMS,
                         "the new shape, of as many elements")},
    .traits = GLOW_PURE | GLOW_LAYOUT | GLOW_PRIMITIVE,
    .infer = reshape_infer,
    .eval = reshape_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .source = "Glow Reshape; ONNX Reshape",
    .derivative = &glow_derivative_reshape,
};

/* concat */

static bool
concat_infer(const glow_node *n, glow_type out[])
{
    const glow_concat *c = n->attrs;

    if (n->n_in == 0)
        return glow_reject(n, "Inputs is empty, but at least 1 is needed");
    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED) ||
        !glow_check_axis(n, "Dim", c->dim, 0))
        return false;

    glow_dims sum = n->in[0]->type->shape;

    for (int i = 1; i < n->n_in; i++) {
        glow_dims want = sum, x = n->in[i]->type->shape;

        if (!glow_check_rank(n, i, sum.rank))
            return false;
        want.at[c->dim] = x.at[c->dim];
        if (!glow_check_kinds(n, i, 0) ||
            !glow_check_shape(n, i, want, "what fits the first one"))
            return false;
        if (glow_add_overflow(sum.at[c->dim], x.at[c->dim], &sum.at[c->dim]))
            return glow_reject(n,
                               "the sizes along axis %d add up to more than "
                               "%" PRId64,
                               c->dim, INT64_MAX);
    }
    return glow_give(n, glow_reshaped(n->in[0]->type, sum), &out[0]);
}

static bool
concat_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    const glow_concat *c = n->attrs;
    glow_dims to = glow_dims_strides(out[0]->type->shape);
    int64_t at = 0;

    (void)scratch;
    for (int i = 0; i < n->n_in; i++) {
        glow_dims x = in[i]->type->shape;

        glow_copy_block(out[0], at, to, in[i], 0, glow_dims_strides(x), x);
        at += x.at[c->dim] * to.at[c->dim];
    }
    return true;
}

const glow_op glow_op_concat = {
    .name = "Concat",
    .summary = "put tensors one after another along an axis",
    .in = {{"Inputs", GLOW_VARIADIC,
            "at least one, of one element type, whose shapes differ at Dim "
            "only"}},
    .out = {{"Result", GLOW_TENSOR, "the shapes of Inputs, added up at Dim"}},
    .attrs = {GLOW_FIELD(glow_concat, dim, GLOW_INT, "the axis")},
    .traits = GLOW_PURE | GLOW_LAYOUT | GLOW_PRIMITIVE,
    .infer = concat_infer,
    .eval = concat_eval,
    .source = "Glow Concat; ONNX Concat",
    .derivative = &glow_derivative_concat,
};

/* broadcast */

static bool
broadcast_infer(const glow_node *n, glow_type out[])
{
    const glow_broadcast *b = n->attrs;
    glow_dims x = n->in[0]->type->shape, y = b->target_dim;

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED))
        return false;
    if (b->axis < 0 || b->axis > y.rank - x.rank)
        return glow_reject(n,
                           "Axis is %d and the rank of Input %d, but TargetDim "
                           "has %d axes",
                           b->axis, x.rank, y.rank);
    for (int i = 0; i < y.rank; i++)
        if (y.at[i] < 0)
            return glow_reject(n,
                               "TargetDim[%d] is %" PRId64 ", but must be 0 "
                               "or more",
                               i, y.at[i]);
    for (int i = 0; i < x.rank; i++)
        if (x.at[i] != 1 && x.at[i] != y.at[b->axis + i])
            return glow_reject(n,
                               "axis %d of Input has %" PRId64 " elements, but "
                               "TargetDim[%d] is %" PRId64,
                               i, x.at[i], b->axis + i, y.at[b->axis + i]);
    return glow_give(n, glow_reshaped(n->in[0]->type, y), &out[0]);
}

static bool
broadcast_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    const glow_broadcast *b = n->attrs;
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape;
    glow_dims strides = glow_dims_strides(x), from = {.rank = y.rank};

    (void)scratch;
    for (int i = 0; i < x.rank; i++)
        if (x.at[i] != 1)
            from.at[b->axis + i] = strides.at[i];
    glow_copy_block(out[0], 0, glow_dims_strides(y), in[0], 0, from, y);
    return true;
}

const glow_op glow_op_broadcast = {
    .name = "Broadcast",
    .summary = "repeat a tensor along axes that it does not have",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR, "Input repeated, of shape TargetDim"}},
    .attrs = {GLOW_FIELD(glow_broadcast, axis, GLOW_INT,
                         "axis i of Input is axis Axis + i of Result"),
              GLOW_FIELD(glow_broadcast, target_dim, GLOW_DIMS,
                         "the shape of Result")},
    .traits = GLOW_PURE | GLOW_LAYOUT | GLOW_PRIMITIVE,
    .infer = broadcast_infer,
    .eval = broadcast_eval,
    .doc = "`TargetDim[Axis + i]` is `Input.shape[i]`, or that is 1 and the "
           "element is repeated.  Along all other axes the whole of Input is.",
    .source = "Glow Broadcast; ONNX Expand",
    .derivative = &glow_derivative_broadcast,
};

/* tile */

static bool
tile_infer(const glow_node *n, glow_type out[])
{
    const glow_tile *t = n->attrs;
    glow_type y = glow_dense(n->in[0]->type);

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED) ||
        !glow_check_axis(n, "Axis", t->axis, 0))
        return false;
    if (t->count < 1)
        return glow_reject(n, "Count is %" PRId64 ", but must be at least 1",
                           t->count);
    if (glow_mul_overflow(y.shape.at[t->axis], t->count, &y.shape.at[t->axis]))
        return glow_reject(n,
                           "%" PRId64 " times the %" PRId64 " elements of "
                           "axis %d are too many",
                           t->count, y.shape.at[t->axis], t->axis);
    return glow_give(n, y, &out[0]);
}

static bool
tile_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_tile *t = n->attrs;
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape;
    int64_t before = glow_dims_product(x, 0, t->axis);
    int64_t rest = glow_dims_product(x, t->axis, x.rank);

    (void)scratch;
    if (glow_dims_count(y) > 0)
        glow_copy_block(out[0], 0, GLOW_DIMS_OF(rest * t->count, rest, 1),
                        in[0], 0, GLOW_DIMS_OF(rest, 0, 1),
                        GLOW_DIMS_OF(before, t->count, rest));
    return true;
}

const glow_op glow_op_tile = {
    .name = "Tile",
    .summary = "put copies of a tensor one after another along an axis",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Input, at Axis Count times as large"}},
    .attrs = {GLOW_FIELD(glow_tile, count, GLOW_INT64, "how many copies"),
              GLOW_FIELD(glow_tile, axis, GLOW_INT, "the axis")},
    .traits = GLOW_PURE | GLOW_LAYOUT,
    .infer = tile_infer,
    .eval = tile_eval,
    .doc = "`y[.., i, ..] = x[.., i mod d, ..]`, where `d` is the size of "
           "Input at Axis.",
    .source = "Glow Tile; ONNX Tile, one axis at a time",
};

/* splat */

static bool
splat_infer(const glow_node *n, glow_type out[])
{
    if (!glow_check_stated(n, &out[0]))
        return false;

    const glow_kind_info *kind = glow_kind_get(out[0].elem);

    if (!((int)kind->klass & GLOW_ANY_UNFUSED))
        return glow_reject(n,
                           "the elements of Result are %s, but the rows of a "
                           "fused kind cannot be filled with one value",
                           kind->name);
    return glow_give(n, glow_dense(&out[0]), &out[0]);
}

static bool
splat_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    const glow_splat *s = n->attrs;
    glow_dims shape = {.rank = 1, .at = {glow_tensor_count(out[0])}};

    (void)in, (void)scratch;
    if (shape.at[0] == 0)
        return true;
    glow_set_real(out[0], 0, (double)s->value);
    glow_copy_block(out[0], 0, GLOW_DIMS_OF(1), out[0], 0, GLOW_DIMS_OF(0),
                    shape);
    return true;
}

const glow_op glow_op_splat = {
    .name = "Splat",
    .summary = "a tensor of one value",
    .out = {{"Result", GLOW_TENSOR, "the stated type; every element is Value"}},
    .attrs = {GLOW_FIELD(glow_splat, value, GLOW_FLOAT32,
                         "the value; of a quantized Result the real one")},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = splat_infer,
    .eval = splat_eval,
    .doc = "Value is rounded to the element kind as ConvertTo does, and "
           "quantized by the scale and offset of a quantized one.",
    .source = "Glow Splat; ONNX ConstantOfShape",
};
