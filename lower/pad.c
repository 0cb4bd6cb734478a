/*
 * lower-pad: insert Input into the padding, or concatenate padding around it.
 *
 * Constant padding is a splat, into which the uncropped part of Input is
 * inserted:
 *
 *     %y = Pad(%x) {Pads: [1, 2]}   =>   %s = Splat {Value: v} : the whole
 *                                        %y = InsertTensor(%s, %x) {Start: [1]}
 *
 * Padding that repeats Input is concatenated axis by axis from three pieces:
 *
 *     %y = Pad(%x : [4]) {Mode: reflect, Pads: [2, 1]}
 *         =>
 *     %l = Slice(%x) {Start: [2], Steps: [-1]} : [2]
 *     %h = Slice(%x) {Start: [2], Steps: [-1]} : [1]
 *     %y = Concat([%l, %x, %h]) {Dim: 0}       : [7]
 *
 * and with mode edge, %l and %h are the first and the last element, repeated.
 * With mode wrap an axis is gathered by a constant list of indices:
 *
 *     %y = Pad(%x : [3]) {Mode: wrap, Pads: [2, 1]}
 *         =>
 *     %y = Gather(%x, [1, 2, 0, 1, 2, 0]) {Axis: 0} : [6]
 *
 * The corners come out right, because each axis repeats the padding of the axes
 * before it.
 */

#include "lower/index.h"

/* `size` elements of `axis` of v, from `start` on by `step`. */
static glow_value *
slice(glow_builder *b, glow_value *v, int axis, int64_t start, int64_t step,
      int64_t size)
{
    glow_slice s = {.start.rank = v->type->shape.rank};
    glow_type type = *v->type;

    type.strides = (glow_dims){0};
    if (step != 1) {
        s.steps.rank = s.start.rank;
        for (int i = 0; i < s.steps.rank; i++)
            s.steps.at[i] = 1;
        s.steps.at[axis] = step;
    }
    s.start.at[axis] = start;
    type.shape.at[axis] = size;
    return glow_build(b, &glow_op_slice,
                      glow_type_get(glow_builder_context(b), type), GLOW_IN(v),
                      &s);
}

/* The elements of `axis` that pads of `low` and `high` do not crop. */
static glow_value *
crop(glow_builder *b, glow_value *v, int axis, int64_t low, int64_t high)
{
    int64_t size = v->type->shape.at[axis];
    int64_t first = low < 0 ? -low : 0, last = high < 0 ? size + high : size;

    return last - first == size ? v : slice(b, v, axis, first, 1, last - first);
}

static glow_value *
pad_constant(glow_builder *b, const glow_node *n)
{
    const glow_pad *p = n->attrs;
    glow_value *v = n->in[0];
    int rank = v->type->shape.rank;
    glow_dims start = {.rank = rank};

    for (int i = 0; i < rank && v; i++) {
        int64_t low = p->pads.at[i];

        v = crop(b, v, i, low, p->pads.at[rank + i]);
        start.at[i] = low > 0 ? low : 0;
    }
    if (v && v->type == n->out[0]->type)
        return v;

    glow_value *frame = glow_lower_splat(b, n->out[0]->type, (double)p->value);

    return GLOW_BUILD(b, inserttensor, GLOW_IN(frame, v), .start = start,
                      .count = 1);
}

/* `count` elements beyond the last of `axis`, or before its first. */
static glow_value *
border(glow_builder *b, glow_value *v, int axis, int mode, bool before,
       int64_t count)
{
    glow_dims shape = v->type->shape;
    int64_t last = shape.at[axis] - 1;

    if (mode == GLOW_PAD_REFLECT)
        return slice(b, v, axis, before ? count : last - 1, -1, count);
    v = slice(b, v, axis, before ? 0 : last, 1, 1);
    shape.at[axis] = count;
    return count == 1 ? v : glow_lower_spread(b, v, 0, shape);
}

/*
 * Gathers `axis` with `low` elements before and `high` after it, modulo its
 * size.
 */
static glow_value *
wrap_axis(glow_builder *b, glow_value *v, int axis, int64_t low, int64_t high)
{
    int64_t size = v->type->shape.at[axis], count = size + low + high;
    int64_t *at = GLOW_NEW_ARRAY(glow_builder_scratch(b), int64_t, count);
    glow_value *list;

    if (low == 0 && high == 0)
        return v;
    for (int64_t i = 0; i < count; i++)
        at[i] = ((i - low) % size + size) % size;
    list = glow_lower_list(b, "wrap", at, count);
    return GLOW_BUILD(b, gather, GLOW_IN(v, list), .axis = axis);
}

static glow_value *
pad_axis(glow_builder *b, glow_value *v, int axis, int mode, int64_t low,
         int64_t high)
{
    if (mode == GLOW_PAD_WRAP)
        return wrap_axis(b, v, axis, low, high);

    glow_value *parts[3];
    int count = 0;

    if (low > 0)
        parts[count++] = border(b, v, axis, mode, true, low);
    parts[count++] = crop(b, v, axis, low, high);
    if (high > 0)
        parts[count++] = border(b, v, axis, mode, false, high);
    if (count == 1)
        return parts[0];
    return glow_build(b, &glow_op_concat, NULL, parts, count,
                      &(const glow_concat){.dim = axis});
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_pad *p = n->attrs;
    glow_value *v = n->in[0];
    int rank = v->type->shape.rank;

    if (p->mode == GLOW_PAD_CONSTANT)
        return pad_constant(b, n);
    for (int i = 0; i < rank && v; i++)
        v = pad_axis(b, v, i, p->mode, p->pads.at[i], p->pads.at[rank + i]);
    if (v && v->type != n->out[0]->type)
        v = GLOW_BUILD_PLAIN(b, copy, GLOW_IN(v));
    return v;
}

const glow_pass glow_pass_lower_pad = {
    .name = "lower-pad",
    .summary = "express Pad by Slice, InsertTensor, Concat or Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_pad,
    .rewrite = lower,
    .takes_quantized = true,
};
