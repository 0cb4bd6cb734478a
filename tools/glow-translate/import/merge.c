/*
 * If whose branches give results of different sizes: both are computed.
 *
 *     If(c) {then: a of 0 x 4, else: b, n of 9 x 4}
 *         =>  Select(c, a as 9 x 4, b), bounded by Select(c, 0, n)
 *
 * Only with -allow-bounded, after bounded values: detectors choose so between an empty
 * result and that of NonMaxSuppression.  Operators have no effects, so the branch that
 * is not taken costs time alone.
 */

#include "tools/glow-translate/import/control.h"
#include "tools/glow-translate/import/follow.h"

/* The axis along which results of both branches differ in size; -1: none, -2: several. */
static int
differing_axis(import_node *n, const glow_value *a, const glow_value *b)
{
    const import_bound *x = import_bound_of(n->im, a);
    const import_bound *y = import_bound_of(n->im, b);
    glow_dims s = a->type->shape, t = b->type->shape;
    int axis = x ? x->axis : y ? y->axis : -1;

    if (s.rank != t.rank || a->type->elem != b->type->elem ||
        (x && y && x->axis != y->axis))
        return -2;
    for (int i = 0; i < s.rank; i++) {
        if (s.at[i] != t.at[i] && axis >= 0 && axis != i)
            return -2;
        if (s.at[i] != t.at[i])
            axis = i;
    }
    return axis;
}

/* `v` with zeros up to `most` along `axis`. */
static glow_value *
padded(import_node *n, glow_value *v, int axis, int64_t most)
{
    glow_dims shape = v->type->shape, rest = shape;

    rest.at[axis] = most - shape.at[axis];
    shape.at[axis] = most;
    if (rest.at[axis] == 0)
        return v;
    if (rest.at[axis] == most)
        return import_splat(n, v->type->elem, shape, 0);
    return import_build(n, &glow_op_concat, NULL,
                        GLOW_IN(v, import_splat(n, v->type->elem, rest, 0)),
                        &(const glow_concat){.dim = axis});
}

static glow_value *
count_along(import_node *n, const glow_value *v, int axis)
{
    const import_bound *b = import_bound_of(n->im, v);

    return b ? b->count
             : import_constant_ints(n, (glow_dims){0},
                                    &v->type->shape.at[axis]);
}

static glow_value *
choose(import_node *n, glow_value *a, glow_value *b)
{
    glow_value *c = import_reshape(n, n->in[0], (glow_dims){0});

    return BUILD_PLAIN(n, select,
                       GLOW_IN(import_broadcast(n, c, a->type->shape), a, b));
}

static bool
merge(import_node *n, int i, glow_value *a, glow_value *b)
{
    int axis = a && b ? differing_axis(n, a, b) : -2;
    glow_value *v, *count = NULL;

    if (axis == -2) {
        import_refuse_unknown(n, 0, n->in[0]);
        return false;
    }
    if (axis >= 0) {
        int64_t x = a->type->shape.at[axis], y = b->type->shape.at[axis];

        count = choose(n, count_along(n, a, axis), count_along(n, b, axis));
        a = padded(n, a, axis, x > y ? x : y);
        b = padded(n, b, axis, x > y ? x : y);
    }
    if (n->failed)
        return false;
    v = choose(n, a, b);
    if (count)
        import_mark_bound(n, v, axis, count);
    import_item_done(n, i, (import_item){.value = v});
    return !n->failed;
}

bool
import_merge_branches(import_node *n, const Onnx__GraphProto *then_branch,
                      const Onnx__GraphProto *else_branch)
{
    import_item *yes = GLOW_NEW_ARRAY(import_arena(n), import_item, n->n_out);
    import_item *no = GLOW_NEW_ARRAY(import_arena(n), import_item, n->n_out);

    if (!import_inline(n, then_branch, NULL, 0, yes, n->n_out) ||
        !import_inline(n, else_branch, NULL, 0, no, n->n_out))
        return false;
    for (int i = 0; i < n->n_out; i++)
        if (!merge(n, i, yes[i].value, no[i].value))
            return false;
    return true;
}
