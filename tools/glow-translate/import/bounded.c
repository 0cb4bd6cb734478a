/*
 * Values with a static upper bound of their size and a dynamic count.
 *
 * NonZero and similar operators give a tensor of the largest possible size,
 * with zeros behind the valid elements, and a count.  Users of such a value are
 * built as if all elements were valid, which is correct for a few operators, by
 * the rules below.  All others are refused by name.  If the operands of such an
 * operator are constant, so is the size, and none of this is needed.
 */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/import/state.h"

const import_bound *
import_bound_of(const importer *im, const glow_value *v)
{
    for (const import_bound *b = im->bounds; b; b = b->next)
        if (b->value == v)
            return b;
    return NULL;
}

/* Records that the first `count` elements of `v` along `axis` are valid. */
static glow_value *
mark(import_node *n, glow_value *v, int axis, glow_value *count)
{
    import_bound *b = GLOW_NEW(n->im->arena, import_bound);

    if (n->failed || !v)
        return v;
    *b = (import_bound){v, count, axis, n->im->bounds};
    n->im->bounds = b;
    return v;
}

glow_value *
import_bounded(import_node *n, glow_value *v, int axis, glow_value *count)
{
    int64_t most = v ? v->type->shape.at[axis] : 0;

    if (n->failed || !v || !count || most == 0)
        return v;
    if (glow_is_constant(count)) {
        const glow_tensor *t = glow_constant_tensor(count->storage);

        return t ? import_cut(n, v, axis, 0, glow_get_int(t, 0)) : NULL;
    }
    if (n->im->options->allow_bounded)
        return mark(n, v, axis, count);
    n->failed = true;
    glow_error_hint(n->im->ctx, (glow_span){0}, "E0714",
                    "-allow-bounded makes it as large as it may become, with "
                    "an output that says how much counts",
                    "%s: %s: how large the result is depends on data",
                    n->im->path, n->text);
    return NULL;
}

/* Writes zeros behind the valid elements, where a rule does not keep them. */
static glow_value *
bound(import_node *n, glow_value *v, int axis, glow_value *count)
{
    return BUILD(n, bound, GLOW_IN(v, count), .axis = axis);
}

/*
 * Rules.  Each returns the axis along which the first result is bounded if
 * operand `i` is bounded by `b`; -1: not supported.
 */

static int
follow_same(import_node *n, int i, const import_bound *b)
{
    (void)n, (void)i;
    return b->axis;
}

static int
follow_transpose(import_node *n, int i, const import_bound *b)
{
    int rank = b->value->type->shape.rank;
    glow_dims perm = import_dims(n, "perm", rank, 0, 0);

    (void)i;
    if (!import_has(n, "perm"))
        return rank - 1 - b->axis;
    for (int k = 0; k < rank; k++)
        if (perm.at[k] == b->axis)
            return k;
    return -1;
}

/* Dropped or added axes of one element before the bounded axis shift it. */
static int
follow_squeeze(import_node *n, int i, const import_bound *b)
{
    int rank = b->value->type->shape.rank, at = b->axis;
    bool given;
    glow_dims axes = import_axes(n, 1, 12, rank, &given);

    (void)i;
    for (int k = 0; k < axes.rank; k++) {
        if (axes.at[k] == b->axis)
            return -1;
        at -= axes.at[k] < b->axis;
    }
    return given ? at : -1;
}

static int
follow_unsqueeze(import_node *n, int i, const import_bound *b)
{
    glow_dims shape = n->out[0]->type->shape;
    int at = b->axis;
    bool given;
    glow_dims axes = import_axes(n, 1, 12, shape.rank, &given);

    (void)i;
    for (int k = 0; k < axes.rank; k++)
        at += axes.at[k] <= at;
    return at;
}

/*
 * The dimension -1 may be the bounded axis, if the products of dimensions
 * before and after it stay.
 */
static int
follow_reshape(import_node *n, int i, const import_bound *b)
{
    glow_dims x = b->value->type->shape, y = n->out[0]->type->shape;
    glow_ints want =
        n->opset < 5 ? import_ints(n, "shape") : import_known_ints(n, 1);

    (void)i;
    for (int k = 0; k < y.rank && k < want.count; k++)
        if (want.at[k] == -1 && y.at[k] == x.at[b->axis] &&
            glow_dims_product(y, 0, k) == glow_dims_product(x, 0, b->axis) &&
            glow_dims_product(y, k + 1, y.rank) ==
                glow_dims_product(x, b->axis + 1, x.rank))
            return k;
    return -1;
}

/* Other axes may be cut, in any way. */
static int
follow_slice(import_node *n, int i, const import_bound *b)
{
    const glow_node *d = n->out[0]->def;
    const glow_slice *s = d ? glow_attrs_if(d, &glow_op_slice) : NULL;
    int64_t size = b->value->type->shape.at[b->axis];

    (void)i;
    if (n->out[0] == b->value)
        return b->axis;
    if (!s || d->in[0] != b->value || s->start.at[b->axis] != 0 ||
        (s->steps.rank && s->steps.at[b->axis] != 1) ||
        n->out[0]->type->shape.at[b->axis] != size)
        return -1;
    return b->axis;
}

/* Indices behind the count are 0, which is in range. */
static int
follow_gather(import_node *n, int i, const import_bound *b)
{
    int rank = n->in[0]->type->shape.rank;
    int axis = import_axis_attr(n, 0, rank);

    if (i == 1) {
        n->out[0] = bound(n, n->out[0], axis + b->axis, b->count);
        return axis + b->axis;
    }
    if (axis == b->axis)
        return -1;
    return b->axis < axis ? b->axis : b->axis + n->in[1]->type->shape.rank - 1;
}

static int
follow_gather_nd(import_node *n, int i, const import_bound *b)
{
    if (i != 1 || b->axis == b->value->type->shape.rank - 1)
        return -1;
    n->out[0] = bound(n, n->out[0], b->axis, b->count);
    return b->axis;
}

static const struct {
    const char *name;
    int operands; /* bits of operands that may be bounded, one at a time */
    int (*follow)(import_node *n, int i, const import_bound *b);
} rules[] = {
    {"Cast", 1, follow_same},           {"Gather", 3, follow_gather},
    {"GatherND", 2, follow_gather_nd},  {"Identity", 1, follow_same},
    {"Reshape", 1, follow_reshape},     {"Slice", 1, follow_slice},
    {"Squeeze", 1, follow_squeeze},     {"Transpose", 1, follow_transpose},
    {"Unsqueeze", 1, follow_unsqueeze},
};

static bool
refuse(import_node *n, int i)
{
    n->failed = true;
    glow_error_hint(n->im->ctx, (glow_span){0}, "E0714",
                    "what -bind makes constants gives it a size",
                    "%s: %s: how large operand %d is depends on data, which "
                    "the operator cannot follow",
                    n->im->path, n->text, i);
    return false;
}

/* In a body the count is NULL, because it is not available there. */
void
import_bring_bound(importer *im, const glow_value *formal, const glow_value *v)
{
    const import_bound *of = import_bound_of(im, v);
    import_bound *b = of ? GLOW_NEW(im->arena, import_bound) : NULL;

    if (!b)
        return;
    *b = (import_bound){formal, NULL, of->axis, im->bounds};
    im->bounds = b;
}

bool
import_returns_whole(import_node *n, int i, const glow_value *v)
{
    if (!import_bound_of(n->im, v))
        return true;
    return import_refuse(
        n, "E0714", "how large result %d of its body is depends on data", i);
}

bool
import_check_bounds(import_node *n, int *operand, size_t *rule)
{
    *operand = -1;
    for (int i = 0; n->im->bounds && i < n->n_in; i++) {
        size_t r = 0;

        const import_bound *b = import_bound_of(n->im, n->in[i]);

        if (!b)
            continue;
        if (!b->count)
            return refuse(n, i);
        while (r < sizeof rules / sizeof *rules &&
               strcmp(rules[r].name, n->row->name) != 0)
            r++;
        if (r == sizeof rules / sizeof *rules || *operand >= 0 || i > 1 ||
            !(rules[r].operands >> i & 1))
            return refuse(n, i);
        *operand = i;
        *rule = r;
    }
    return true;
}

bool
import_follow_bounds(import_node *n, int operand, size_t rule)
{
    const import_bound *b;
    int axis;

    if (operand < 0 || !n->out[0])
        return !n->failed;
    b = import_bound_of(n->im, n->in[operand]);
    axis = rules[rule].follow(n, operand, b);
    if (n->failed)
        return false;
    if (axis < 0)
        return refuse(n, operand);
    if (n->out[0] != b->value)
        mark(n, n->out[0], axis, b->count);
    return true;
}
