/*
 * Concat of bounded values along the bounded axis, and Reshape that merges bounded axes,
 * by compaction.
 *
 *     Concat(a: n of 3, b: m of 2)  =>  valid elements of [a0 a1 a2 b0 b1], n + m of 5
 *
 * The positions of valid elements are those of the non-zeros of a mask, in which
 * each position is compared with the count of its operand.
 */

#include "tools/glow-translate/import/follow.h"

/* The counts of all operands along `axis`, [operands]. */
static glow_value *
counts_of(import_node *n, int axis)
{
    glow_value **in = GLOW_NEW_ARRAY(import_arena(n), glow_value *, n->n_in);

    for (int i = 0; i < n->n_in; i++) {
        const import_bound *b = import_bound_at(n->im, n->in[i], axis);

        in[i] = b ? import_reshape(n, b->count, GLOW_DIMS_OF(1))
                  : import_constant_ints(n, GLOW_DIMS_OF(1),
                                         &n->in[i]->type->shape.at[axis]);
    }
    return import_build(n, &glow_op_concat, NULL, in, n->n_in,
                        &(const glow_concat){.dim = 0});
}

/* True for the positions of [size] that are valid. */
static glow_value *
mask_of(import_node *n, int axis, int64_t size)
{
    int64_t *operand = GLOW_NEW_ARRAY(import_arena(n), int64_t, size);
    int64_t *number = GLOW_NEW_ARRAY(import_arena(n), int64_t, size);
    glow_value *operands, *numbers, *counts = counts_of(n, axis);
    int64_t at = 0;

    for (int i = 0; i < n->n_in; i++)
        for (int64_t k = 0; k < n->in[i]->type->shape.at[axis]; k++) {
            operand[at] = i;
            number[at++] = k;
        }
    operands = import_constant_ints(n, GLOW_DIMS_OF(size), operand);
    numbers = import_constant_ints(n, GLOW_DIMS_OF(size), number);
    counts = BUILD(n, gather, GLOW_IN(counts, operands), .axis = 0);
    return import_binary(n, &glow_op_cmplt, numbers, counts);
}

/* True if `c` is for the sizes and counts of the operands. */
static bool
serves(import_node *n, const import_compaction *c, int axis)
{
    bool same = c->n_in == n->n_in && c->func == n->im->func;

    for (int i = 0; same && i < n->n_in; i++) {
        const import_bound *b = import_bound_at(n->im, n->in[i], axis);

        same = c->sizes[i] == n->in[i]->type->shape.at[axis] &&
               (b ? c->counts[i] && import_same_count(c->counts[i], b->count)
                  : !c->counts[i]);
    }
    return same;
}

/*
 * The positions and the count for the operands; the same values again for other
 * tensors of the same counts, so that these are known to be equal.
 */
static const import_compaction *
compaction(import_node *n, int axis)
{
    glow_arena *a = import_arena(n);
    import_compaction *c = GLOW_NEW(a, import_compaction);
    glow_value *found[2];
    int64_t size = n->out[0]->type->shape.at[axis];

    for (const import_compaction *old = n->im->compactions; old;
         old = old->next)
        if (serves(n, old, axis))
            return old;
    *c = (import_compaction){
        .n_in = n->n_in,
        .sizes = GLOW_NEW_ARRAY(a, int64_t, n->n_in),
        .counts = GLOW_NEW_ARRAY(a, glow_value *, n->n_in),
        .func = n->im->func,
        .next = n->im->compactions,
    };
    for (int i = 0; i < n->n_in; i++) {
        const import_bound *b = import_bound_at(n->im, n->in[i], axis);

        c->sizes[i] = n->in[i]->type->shape.at[axis];
        c->counts[i] = b ? b->count : NULL;
    }
    if (!import_build_all(n, &glow_op_nonzero, GLOW_IN(mask_of(n, axis, size)),
                          NULL, found))
        return NULL;
    c->at = import_reshape(n, found[0], GLOW_DIMS_OF(size));
    c->count = found[1];
    n->im->compactions = c;
    return c;
}

/* Moves the valid elements along `axis` together. */
static glow_value *
compact(import_node *n, int axis, import_axes_bounded *by)
{
    const import_compaction *c = n->failed ? NULL : compaction(n, axis);
    glow_value *v;

    if (!c || n->failed)
        return NULL;
    v = BUILD(n, gather, GLOW_IN(n->out[0], c->at), .axis = axis);
    by->axis[by->n] = axis;
    by->count[by->n++] = c->count;
    return BUILD(n, bound, GLOW_IN(v, c->count), .axis = axis);
}

/*
 * Another axis than that of Concat: sizes must be equal there, so all operands have one
 * count, or the bounded ones are as large as those that are not.
 */
static bool
follow_across(import_node *n, int axis, import_axes_bounded *by)
{
    const import_bound *first = NULL;
    int bounded = 0;

    for (int i = 0; i < n->n_in; i++) {
        const import_bound *b = import_bound_at(n->im, n->in[i], axis);

        if (b && first && !import_same_count(b->count, first->count))
            return false;
        bounded += b != NULL;
        first = first ? first : b;
    }
    if (bounded == n->n_in) {
        by->axis[by->n] = axis;
        by->count[by->n++] = first->count;
    }
    return true;
}

bool
import_bounded_concat(import_node *n, import_following *f)
{
    int rank = f->bound->value->type->shape.rank;
    int axis = import_axis_attr(n, n->opset < 4 ? 1 : -1, rank);
    import_axes_bounded by = {0};
    bool along = false, across = !n->failed;
    glow_value *v;

    for (int i = 0; i < n->n_in; i++)
        along |= import_bound_at(n->im, n->in[i], axis) != NULL;
    for (int i = 0; i < rank; i++)
        across = across && (i == axis || follow_across(n, i, &by));
    if (!across)
        return import_refuse_hint(
            n, "E0714", "operands of one count, or bounded along `axis`",
            "its operands are bounded along different axes, or by different "
            "counts");
    if (!n->row->run(n) || n->failed)
        return false;
    v = n->out[0];
    if (v == f->bound->value)
        return true;
    if (along && n->n_in > 1)
        v = compact(n, axis, &by);
    else if (along)
        return import_refuse(n, "E0714", "its operand is bounded along `axis`");
    return v && import_done(n, import_bounded_along(n, v, &by, false));
}

/* Reshape. */

/*
 * Axes [*from, *to) of `x` that become axis `k` of `y`; false if no axes do. Leading axes
 * of one element belong to those before.
 */
static bool
merged_axes(glow_dims x, glow_dims y, int k, int *from, int *to)
{
    int64_t before = glow_dims_product(y, 0, k), size = 1;
    int i = 0;

    while (i < x.rank && glow_dims_product(x, 0, i) != before)
        i++;
    while (i < x.rank && x.at[i] == 1 && y.at[k] != 1)
        i++;
    *from = i;
    while (i < x.rank && size < y.at[k])
        size *= x.at[i++];
    *to = i;
    return size == y.at[k];
}

/*
 * The positions, among the elements of axes [from, to) of `x`, of those that are valid, in
 * order; the sizes of the axes are `size`.
 */
static glow_value *
positions(import_node *n, glow_dims x, int from, int to,
          glow_value *const *size)
{
    int64_t most = glow_dims_product(x, from, to), stride = 1;
    int64_t *numbers = GLOW_NEW_ARRAY(import_arena(n), int64_t, most);
    int64_t one = 1;
    glow_value *left, *at = NULL;

    for (int64_t i = 0; i < most; i++)
        numbers[i] = i;
    left = import_constant_ints(n, GLOW_DIMS_OF(most), numbers);
    for (int i = to - 1; i >= from; i--) {
        glow_value *by =
            import_binary(n, &glow_op_max, size[i],
                          import_constant_ints(n, (glow_dims){0}, &one));
        glow_value *next = import_binary(n, &glow_op_div, left, by), *here;
        int64_t last = x.at[i] - 1;

        here = import_binary(n, &glow_op_sub, left,
                             import_binary(n, &glow_op_mul, next, by));
        here = import_binary(n, &glow_op_min, here,
                             import_constant_ints(n, (glow_dims){0}, &last));
        here = import_binary(n, &glow_op_mul, here,
                             import_constant_ints(n, (glow_dims){0}, &stride));
        at = at ? import_binary(n, &glow_op_add, at, here) : here;
        stride *= x.at[i];
        left = next;
    }
    return import_binary(
        n, &glow_op_min, at,
        import_constant_ints(n, (glow_dims){0}, &(int64_t){most - 1}));
}

/*
 * Axis `k` of the result `v`, of which merged axes are bounded: their valid elements are
 * moved together.
 */
static glow_value *
merge_axes(import_node *n, const glow_value *of, glow_value *v, int k,
           import_axes_bounded *by)
{
    glow_dims x = of->type->shape, y = v->type->shape;
    glow_value *size[GLOW_MAX_RANK], *count = NULL;
    int from, to, bounded = 0, last = 0;

    if (!merged_axes(x, y, k, &from, &to))
        return v;
    for (int i = from; i < to; i++) {
        const import_bound *b = import_bound_at(n->im, of, i);

        size[i] =
            b ? b->count : import_constant_ints(n, (glow_dims){0}, &x.at[i]);
        bounded += b != NULL;
        last = b ? i : last;
        count =
            count ? import_binary(n, &glow_op_mul, count, size[i]) : size[i];
    }
    if (!bounded)
        return v;
    by->axis[by->n] = k;
    by->count[by->n++] = count;
    if (bounded == 1 && glow_dims_product(x, from, last) == 1)
        return v;
    return BUILD(n, gather, GLOW_IN(v, positions(n, x, from, to, size)),
                 .axis = k);
}

/* True if a bounded axis is merged with others before it. */
static bool
merges(import_node *n, const glow_value *of, glow_dims y)
{
    glow_dims x = of->type->shape;
    int from, to;

    for (int k = 0; k < y.rank; k++) {
        if (!merged_axes(x, y, k, &from, &to))
            continue;
        for (int i = from + 1; i < to; i++)
            if (import_bound_at(n->im, of, i) &&
                glow_dims_product(x, from, i) > 1)
                return true;
    }
    return false;
}

bool
import_bounded_reshape(import_node *n, import_following *f)
{
    import_axes_bounded by = {0};
    glow_value *v;

    if (!n->row->run(n) || n->failed || !f->bound)
        return !n->failed;
    v = n->out[0];
    if (!merges(n, f->bound->value, v->type->shape))
        return true;
    f->rule = NULL;
    for (int k = 0; k < v->type->shape.rank && !n->failed; k++)
        v = merge_axes(n, f->bound->value, v, k, &by);
    return import_done(n, import_bounded_along(n, v, &by, true));
}
