/*
 * Bounded values: tensors of which only a part is valid, which in ONNX have
 * exactly this dynamic size.  NonZero and similar operators become those of
 * ONNX; their counts, which are sizes there, are omitted; users of such a
 * tensor must be operators that can be written without the size.
 */

#include <math.h>
#include <string.h>

#include "tools/glow-translate/export/export.h"

int
export_placeholder_axis(const glow_storage *s, const char **count)
{
    const glow_attr_value *name = glow_attr_find(s->attrs, "Count");
    const glow_attr_value *axis = glow_attr_find(s->attrs, "Axis");

    if (!name || !axis || name->kind != GLOW_V_SYMBOL ||
        axis->kind != GLOW_V_INT || axis->i < 0 ||
        axis->i >= s->value.type->shape.rank)
        return -1;
    *count = name->text;
    return (int)axis->i;
}

bool
export_is_count(const glow_module *m, const glow_storage *s)
{
    const char *name;

    GLOW_FOR_EACH_STORAGE(other, (glow_module *)(uintptr_t)m)
        if (export_placeholder_axis(other, &name) >= 0 &&
            strcmp(name, s->name) == 0)
            return true;
    return false;
}

/*
 * Rules: the axis along which the result is bounded if operand i is along
 * `axis`; -1: not supported.
 */

static int
follow_same(const glow_node *n, int i, int axis)
{
    (void)n, (void)i;
    return axis;
}

static int
follow_transpose(const glow_node *n, int i, int axis)
{
    const glow_transpose *t = n->attrs;

    (void)i;
    for (int k = 0; k < t->shuffle.rank; k++)
        if (t->shuffle.at[k] == axis)
            return k;
    return -1;
}

/* An axis of the same size with as many elements before and after it. */
static int
follow_reshape(const glow_node *n, int i, int axis)
{
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;

    (void)i;
    for (int k = 0; k < y.rank; k++)
        if (y.at[k] == x.at[axis] &&
            glow_dims_product(y, 0, k) == glow_dims_product(x, 0, axis) &&
            glow_dims_product(y, k + 1, y.rank) ==
                glow_dims_product(x, axis + 1, x.rank) &&
            glow_dims_product(y, 0, k) * glow_dims_product(y, k + 1, y.rank) >
                0)
            return k;
    return -1;
}

static int
follow_slice(const glow_node *n, int i, int axis)
{
    const glow_slice *s = n->attrs;
    int64_t size = n->in[0]->type->shape.at[axis];

    (void)i;
    return s->start.at[axis] == 0 &&
                   (!s->steps.rank || s->steps.at[axis] == 1) &&
                   n->out[0]->type->shape.at[axis] == size
               ? axis
               : -1;
}

static int
follow_gather(const glow_node *n, int i, int axis)
{
    const glow_gather *g = n->attrs;

    if (g->batch_dims > 0)
        return -1;
    if (i == 1)
        return g->axis + axis;
    if (g->axis == axis)
        return -1;
    return axis < g->axis ? axis : axis + n->in[1]->type->shape.rank - 1;
}

static int
follow_gathernd(const glow_node *n, int i, int axis)
{
    (void)i;
    return axis < n->in[1]->type->shape.rank - 1 ? axis : -1;
}

static const struct {
    const glow_op *op;
    int operands; /* bits of operands that may be bounded, one at a time */
    int (*follow)(const glow_node *n, int i, int axis);
} rules[] = {
    {&glow_op_bound, 1, follow_same},
    {&glow_op_convertto, 1, follow_same},
    {&glow_op_gather, 3, follow_gather},
    {&glow_op_gathernd, 2, follow_gathernd},
    {&glow_op_reshape, 1, follow_reshape},
    {&glow_op_slice, 1, follow_slice},
    {&glow_op_transpose, 1, follow_transpose},
};

/* Operators with bounded results, and the result that is their count. */
static const struct {
    const glow_op *op;
    int axis[GLOW_MAX_RESULTS]; /* -1: not bounded */
    int count;
} sources[] = {
    {&glow_op_nonmaxsuppression, {0, -1}, 1},
    {&glow_op_nonzero, {1, -1}, 1},
    {&glow_op_unique, {0, -1, 0, -1}, 3},
};

/*
 * Checks that a count is only used by Bound and by the Save of a count, since
 * ONNX has no such result.
 */
static bool
check_count(exporter *e, const glow_node *n, const glow_value *count)
{
    GLOW_FOR_EACH_USE(u, count) {
        bool bounds = glow_is(u->user, &glow_op_bound) && u->index == 1;
        bool saves = glow_is(u->user, &glow_op_save) &&
                     export_is_count(export_module(e), u->user->in[1]->storage);

        if (!bounds && !saves)
            return export_refuse(e, n, "%%%s reads how much counts",
                                 u->user->name);
    }
    return true;
}

static bool
start(exporter *e, const glow_node *n)
{
    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
        if (sources[s].op != n->op)
            continue;
        for (int i = 0; i < n->n_out; i++)
            if (sources[s].axis[i] >= 0)
                export_set_bound(e, n->out[i],
                                 (export_bound){sources[s].axis[i],
                                                n->out[sources[s].count]});
        return check_count(e, n, n->out[sources[s].count]);
    }
    return true;
}

/* Checks that a bounded value is saved to a placeholder with a count. */
static bool
check_save(exporter *e, const glow_node *n, const export_bound *b)
{
    const char *name;
    bool same = false;

    if (export_placeholder_axis(n->in[1]->storage, &name) == b->axis)
        GLOW_FOR_EACH_USE(u, b->count)
            same |= glow_is(u->user, &glow_op_save) &&
                    strcmp(u->user->in[1]->storage->name, name) == 0;
    return same || export_refuse(e, n,
                                 "only a part of @%s would count, which its "
                                 "attributes do not say",
                                 n->in[1]->storage->name);
}

static bool
follow(exporter *e, const glow_node *n, int i, const export_bound *b)
{
    int to = -1;

    if (glow_is(n, &glow_op_save))
        return check_save(e, n, b);
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        if (rules[r].op == n->op && i < 2 && rules[r].operands >> i & 1)
            to = rules[r].follow(n, i, b->axis);
    if (to < 0)
        return export_refuse(e, n,
                             "only a part of operand %d counts, which ONNX "
                             "cannot say here",
                             i);
    export_set_bound(e, n->out[0], (export_bound){to, b->count});
    return true;
}

bool
export_follow_bounds(exporter *e, const glow_node *n)
{
    bool found = false;

    for (int i = 0; i < n->n_in; i++) {
        const export_bound *b = n->in[i] ? export_bound_of(e, n->in[i]) : NULL;

        if (!b)
            continue;
        if (found)
            return export_refuse(e, n, "only parts of two operands count");
        if (!follow(e, n, i, b))
            return false;
        found = true;
    }
    return start(e, n);
}

/* Rows. */

static bool
nonzero(exporter *e, const glow_node *n)
{
    return export_identity(
        e, n, 0, export_step(e, n, "NonZero", NAMES(export_in(e, n, 0))));
}

static bool
unique(exporter *e, const glow_node *n)
{
    const glow_unique *u = n->attrs;
    const char *out[4];

    export_steps(e, n, "Unique", NAMES(export_in(e, n, 0)), out, 4);
    export_int(e, "axis", 0);
    export_int(e, "sorted", u->sorted);
    for (int i = 0; i < 3; i++)
        export_identity(e, n, i, out[i + 1]);
    return true;
}

/* Operand i as float, the only kind of boxes in ONNX. */
static const char *
as_float(exporter *e, const glow_node *n, int i)
{
    const char *x = export_in(e, n, i);

    if (n->in[i]->type->elem == GLOW_FLOAT)
        return x;
    x = export_step(e, n, "Cast", NAMES(x));
    export_int(e, "to", 1);
    return x;
}

static bool
nonmaxsuppression(exporter *e, const glow_node *n)
{
    const glow_nonmaxsuppression *s = n->attrs;
    bool scored = s->score_threshold != -INFINITY;
    const char *in[5] = {0};

    if (n->in[0]->type->elem == GLOW_FLOAT64)
        return export_refuse(e, n, "ONNX has no boxes of float64");
    in[0] = as_float(e, n, 0);
    in[1] = as_float(e, n, 1);
    in[2] = export_list(e, n, &s->max_output_boxes_per_class, 1);
    in[3] = export_floats(e, n, &s->iou_threshold, 1);
    in[4] = scored ? export_floats(e, n, &s->score_threshold, 1) : "";

    const char *x = export_step(e, n, "NonMaxSuppression", in, 5);

    export_int(e, "center_point_box", s->center_point_box);
    return export_identity(e, n, 0, x);
}

static bool
bound(exporter *e, const glow_node *n)
{
    const export_bound *b = export_bound_of(e, n->in[0]);

    if (!b || b->count != n->in[1] ||
        b->axis != ((const glow_bound *)n->attrs)->axis)
        return export_refuse(e, n, "ONNX has nothing for a count of its own");
    return export_identity(e, n, 0, export_in(e, n, 0));
}

const export_row export_bounded_rows[] = {
    {&glow_op_bound, bound, NULL},
    {&glow_op_nonmaxsuppression, nonmaxsuppression, NULL},
    {&glow_op_nonzero, nonzero, NULL},
    {&glow_op_unique, unique, NULL},
    {NULL, NULL, NULL},
};
