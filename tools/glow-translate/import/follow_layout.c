/*
 * Rules for users of bounded values that move elements, or make a shape.
 *
 * Where an operand of sizes gives an axis a dynamic size, the result is bounded by it.
 */

#include "tools/glow-translate/import/follow.h"

/* Operands. */
#define FIRST 1u
#define SECOND 2u
#define ALL (~0u)

static int
follow_transpose(import_node *n, import_following *f)
{
    int rank = f->bound->value->type->shape.rank, axis = f->bound->axis;
    glow_dims perm = import_dims(n, "perm", rank, 0, 0);

    if (!import_has(n, "perm"))
        return rank - 1 - axis;
    for (int k = 0; k < rank; k++)
        if (perm.at[k] == axis)
            return k;
    return IMPORT_REFUSED;
}

/* Dropped or added axes of one element before the bounded axis shift it. */
static int
follow_squeeze(import_node *n, import_following *f)
{
    int axis = f->bound->axis, at = axis;
    bool given;
    glow_dims axes =
        import_axes(n, 1, 12, f->bound->value->type->shape.rank, &given);

    for (int k = 0; k < axes.rank; k++) {
        if (axes.at[k] == axis)
            return IMPORT_REFUSED;
        at -= axes.at[k] < axis;
    }
    return given ? at : IMPORT_REFUSED;
}

static int
follow_unsqueeze(import_node *n, import_following *f)
{
    int at = f->bound->axis;
    bool given;
    glow_dims axes = import_axes(n, 1, 12, n->out[0]->type->shape.rank, &given);

    for (int k = 0; k < axes.rank; k++)
        at += axes.at[k] <= at;
    return at;
}

/*
 * The axis of `y` that has the elements of axis `from` of `x`, by itself, merged
 * with axes after it, or split: f->count is then a multiple or a quotient.
 */
static int
reshaped_axis(import_node *n, import_following *f, glow_dims x, int from,
              glow_dims y)
{
    for (int k = 0; k < y.rank; k++) {
        int64_t a = x.at[from], b = y.at[k], times = b / a,
                parts = b ? a / b : 0;
        bool merged = b == a * times && times > 0;

        if (glow_dims_product(y, 0, k) != glow_dims_product(x, 0, from) ||
            b == 0 || (!merged && a != b * parts))
            continue;
        if (b == 1 && a != 1)
            continue;
        if (merged && times > 1)
            f->count =
                import_binary(n, &glow_op_mul, f->count,
                              import_constant_ints(n, (glow_dims){0}, &times));
        else if (!merged)
            f->count =
                import_binary(n, &glow_op_div, f->count,
                              import_constant_ints(n, (glow_dims){0}, &parts));
        return k;
    }
    return IMPORT_REFUSED;
}

/* The bounded axis must be -1, kept by 0, or given by a size. */
static int
follow_reshape(import_node *n, import_following *f)
{
    glow_ints want =
        n->opset < 5 ? import_ints(n, "shape") : import_known_ints(n, 1);
    int k;

    if (!f->bound)
        return IMPORT_REFUSED;
    k = reshaped_axis(n, f, f->bound->value->type->shape, f->bound->axis,
                      n->out[0]->type->shape);
    if (k < 0 || k >= want.count || want.at[k] == -1 ||
        (want.at[k] == 0 && k == f->bound->axis) ||
        (f->sizes && f->sizes->at[k].count))
        return k;
    return IMPORT_REFUSED;
}

static int
follow_flatten(import_node *n, import_following *f)
{
    return reshaped_axis(n, f, f->bound->value->type->shape, f->bound->axis,
                         n->out[0]->type->shape);
}

/* The entry of Slice for `axis`: its start and end; false if there is none. */
static bool
slice_entry(import_node *n, int axis, int rank, int64_t *k, int64_t *start,
            int64_t *end)
{
    bool attr = n->opset < 10;
    glow_ints starts =
        attr ? import_ints(n, "starts") : import_known_ints(n, 1);
    glow_ints ends = attr ? import_ints(n, "ends") : import_known_ints(n, 2);
    glow_ints axes = {0};

    if (attr)
        axes = import_ints(n, "axes");
    else if (import_in(n, 3))
        axes = import_known_ints(n, 3);
    for (*k = 0; *k < starts.count && *k < ends.count; ++*k) {
        int64_t a = axes.count ? axes.at[*k] : *k;

        *start = starts.at[*k];
        *end = ends.at[*k];
        if (a == axis || a == axis - rank)
            return true;
    }
    return false;
}

/* Elements [start, end) of the bounded axis; others may be cut in any way. */
static int
follow_slice(import_node *n, import_following *f)
{
    glow_dims x = f->in[0]->type->shape;
    const glow_node *d = n->out[0]->def;
    const glow_slice *s = d ? glow_attrs_if(d, &glow_op_slice) : NULL;
    int axis = f->bound ? f->bound->axis : -1;
    int64_t k, start = 0, end = 0, zero = 0, size;
    glow_value *count = f->bound ? f->count : NULL;

    for (int i = 0; f->sizes && i < x.rank; i++)
        if (slice_entry(n, i, x.rank, &k, &start, &end) &&
            k < f->sizes->count && f->sizes->at[k].count) {
            if (axis >= 0 && axis != i)
                return IMPORT_REFUSED;
            axis = i;
        }
    if (axis < 0)
        return IMPORT_REFUSED;
    if (!slice_entry(n, axis, x.rank, &k, &start, &end))
        return axis;
    if (start < 0 || end < 0 || (s && s->steps.rank && s->steps.at[axis] != 1))
        return IMPORT_REFUSED;
    size = n->out[0]->type->shape.at[axis];
    if (f->sizes && k < f->sizes->count && f->sizes->at[k].count) {
        glow_value *to = f->sizes->at[k].count;

        if (!count && f->sizes->at[k].most > x.at[axis])
            count = import_constant_ints(n, (glow_dims){0}, &x.at[axis]);
        if (count && !import_same_count(count, to))
            to = import_binary(n, &glow_op_min, count, to);
        count = to;
    }
    if (start > 0)
        count = import_binary(
            n, &glow_op_max,
            import_binary(n, &glow_op_sub, count,
                          import_constant_ints(n, (glow_dims){0}, &start)),
            import_constant_ints(n, (glow_dims){0}, &zero));
    if (start + size < x.at[axis])
        count = import_binary(n, &glow_op_min, count,
                              import_constant_ints(n, (glow_dims){0}, &size));
    f->count = count;
    return axis;
}

/*
 * Bounded indices give as many slices: those behind the count are 0, which is in
 * range.  Indices that are computed are taken to be below the count.
 */
static int
follow_gather(import_node *n, import_following *f)
{
    const import_bound *data = f->first == 0 ? f->bound : NULL;
    const import_bound *at = import_bound_of(n->im, f->in[1]);
    int axis = import_axis_attr(n, 0, f->in[0]->type->shape.rank);

    if (at && data && data->axis != axis)
        return IMPORT_REFUSED;
    if (at) {
        f->count = at->count;
        return axis + at->axis;
    }
    if (data->axis == axis)
        return glow_is_constant(f->in[1]) ? IMPORT_REFUSED : IMPORT_WHOLE;
    return data->axis < axis ? data->axis
                             : data->axis + f->in[1]->type->shape.rank - 1;
}

static int
follow_gather_nd(import_node *n, import_following *f)
{
    const import_bound *at = import_bound_of(n->im, f->in[1]);

    if (!at)
        return glow_is_constant(f->in[1]) ? IMPORT_REFUSED : IMPORT_WHOLE;
    f->count = at->count;
    return at->axis == at->value->type->shape.rank - 1 ? IMPORT_REFUSED
                                                       : at->axis;
}

/* The axis of the result that size number f->size gives: the last ones of it. */
static int
follow_sizes(import_node *n, import_following *f)
{
    f->count = f->sizes->at[f->size].count;
    return n->out[0]->type->shape.rank - f->sizes->count + f->size;
}

/* True if size `k` gives the axis of a bound. */
static bool
agrees(import_node *n, const import_following *f, int k, int axis)
{
    return !f->sizes->at[k].count ||
           n->out[0]->type->shape.rank - f->sizes->count + k == axis;
}

static int
follow_expand(import_node *n, import_following *f)
{
    int axis;

    if (!f->bound)
        return follow_sizes(n, f);
    axis = n->out[0]->type->shape.rank - f->bound->value->type->shape.rank +
           f->bound->axis;
    for (int k = 0; f->sizes && k < f->sizes->count; k++)
        if (!agrees(n, f, k, axis))
            return IMPORT_REFUSED;
        else if (f->sizes->at[k].count)
            f->count = f->sizes->at[k].count;
    return axis;
}

/* Range from 0 by 1. */
static int
follow_range(import_node *n, import_following *f)
{
    if (import_known_number(n, 0) != 0 || import_known_number(n, 2) != 1)
        return IMPORT_REFUSED;
    f->count = f->sizes->at[0].count;
    return 0;
}

const import_rule import_layout_rules[] = {
    {"Pad", FIRST, IMPORT_CLEARS, NULL, NULL, import_follow_kept},
    {"Split", FIRST, 0, NULL, NULL, import_follow_kept},
    {"Tile", FIRST, 0, NULL, NULL, import_follow_kept},
    {"Cast", FIRST, IMPORT_SEVERAL, NULL, NULL, import_follow_same},
    {"Identity", FIRST, IMPORT_SEVERAL, NULL, NULL, import_follow_same},
    {"Transpose", FIRST, IMPORT_SEVERAL, NULL, NULL, follow_transpose},
    {"Squeeze", FIRST, IMPORT_SEVERAL, NULL, NULL, follow_squeeze},
    {"Unsqueeze", FIRST, IMPORT_SEVERAL, NULL, NULL, follow_unsqueeze},
    {"Reshape", FIRST, IMPORT_SEVERAL, NULL, import_bounded_reshape,
     follow_reshape},
    {"Flatten", FIRST, 0, NULL, NULL, follow_flatten},
    {"Slice", FIRST, IMPORT_CLEARS | IMPORT_SEVERAL, NULL, import_bounded_slice,
     follow_slice},
    {"Gather", FIRST | SECOND, IMPORT_MIXED | IMPORT_CLEARS | IMPORT_SEVERAL,
     NULL, NULL, follow_gather},
    {"GatherND", FIRST | SECOND, IMPORT_MIXED | IMPORT_CLEARS, NULL, NULL,
     follow_gather_nd},
    {"Concat", ALL, IMPORT_MIXED | IMPORT_SEVERAL, NULL, import_bounded_concat,
     NULL},
    {"Shape", FIRST, IMPORT_SEVERAL, NULL, import_bounded_shape, NULL},
    {"Size", FIRST, 0, NULL, import_bounded_size, NULL},
    {"Expand", FIRST, IMPORT_CLEARS, NULL, NULL, follow_expand},
    {"ConstantOfShape", 0, IMPORT_CLEARS, NULL, NULL, follow_sizes},
    {"Range", 0, IMPORT_CLEARS, NULL, NULL, follow_range},
    {NULL, 0, 0, NULL, NULL, NULL},
};
