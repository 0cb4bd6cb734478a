/*
 * Rules for users of bounded values that mix elements along the bounded axis.
 *
 * The zeros behind the valid elements are first replaced by an element that does not
 * matter: the least one for a maximum, the index of a row that is cut off again for
 * Scatter.
 */

#include <math.h>
#include <string.h>

#include "tools/glow-translate/import/follow.h"

/* Operands. */
#define FIRST 1u
#define SECOND 2u
#define THIRD 4u

/*
 * `v` before it was repeated along other axes than `axis`, and before zeros were
 * written behind the count; NULL if it was not repeated.
 */
static glow_value *
before_repeat(glow_value *v, int axis)
{
    const glow_node *d = v->def;
    const glow_bound *b = d ? glow_attrs_if(d, &glow_op_bound) : NULL;
    const glow_type *whole = v->type;

    if (b && b->axis == axis)
        d = d->in[0]->def;
    if (!d || d->op != &glow_op_broadcast ||
        d->in[0]->type->shape.rank != whole->shape.rank ||
        d->in[0]->type->shape.at[axis] != whole->shape.at[axis])
        return NULL;
    return d->in[0];
}

/* `v` with `other`, repeated, behind the valid elements. */
glow_value *
import_with_behind(import_node *n, glow_value *v, int axis, glow_value *count,
                   glow_value *other)
{
    glow_dims shape = v->type->shape, line = {.rank = shape.rank};
    int64_t size = shape.at[axis];
    int64_t *numbers = GLOW_NEW_ARRAY(import_arena(n), int64_t, size);
    glow_value *mask, *once = before_repeat(v, axis);

    if (once && import_shape(other).rank == 0) {
        once = import_with_behind(n, once, axis, count, other);
        return import_broadcast(n, once, shape);
    }

    for (int i = 0; i < shape.rank; i++)
        line.at[i] = i == axis ? size : 1;
    for (int64_t i = 0; i < size; i++)
        numbers[i] = i;
    mask = import_binary(n, &glow_op_cmplt,
                         import_constant_ints(n, line, numbers), count);
    mask = import_broadcast(n, mask, shape);
    other = import_broadcast(n, other, shape);
    return BUILD_PLAIN(n, select, GLOW_IN(mask, v, other));
}

/* `v` with `by` behind the valid elements; NULL if its kind does not hold it. */
static glow_value *
filled(import_node *n, glow_value *v, int axis, glow_value *count, double by)
{
    glow_kind kind = v->type->elem;

    if (!glow_is_float(kind) && isinf(by))
        by = (by < 0 ? -1.0 : 1.0) *
             (kind == GLOW_INDEX64 ? 4611686018427387904.0 : 1073741824.0);
    if (isinf(by)
            ? !glow_is_float(kind)
            : fabs(by) > 1 && kind != GLOW_INDEX64 && kind != GLOW_INDEX32)
        return NULL;
    return import_with_behind(n, v, axis, count,
                              import_splat(n, kind, v->type->shape, by));
}

/* Replaces operand i by one with `by` behind the valid elements. */
bool
import_fill(import_node *n, int i, double by)
{
    const import_bound *b = import_bound_of(n->im, n->in[i]);
    glow_value *v = b ? filled(n, n->in[i], b->axis, b->count, by) : n->in[i];

    if (!v)
        return false;
    n->in = glow_arena_copy(import_arena(n), n->in,
                            (size_t)n->n_in * sizeof *n->in);
    n->in[i] = v;
    return true;
}

static int
follow_whole(import_node *n, import_following *f)
{
    (void)n, (void)f;
    return IMPORT_WHOLE;
}

/* The same, where each element stands for itself unless it is along `axis`. */
static int
follow_across(import_node *n, import_following *f)
{
    int rank = f->bound->value->type->shape.rank;
    int axis = import_axis_attr(n, n->opset < 13 ? 1 : -1, rank);

    if (n->opset < 13 && f->bound->axis >= axis)
        return IMPORT_REFUSED;
    return import_follow_kept(n, f);
}

static bool
prepare_softmax(import_node *n, import_following *f)
{
    int rank = f->bound->value->type->shape.rank;

    return n->opset < 13 || import_axis_attr(n, -1, rank) != f->bound->axis ||
           import_fill(n, 0, -INFINITY);
}

/* Reductions: a bounded axis that is not reduced stays. */
static bool
is_reduced(import_node *n, const import_following *f, int *kept)
{
    int rank = f->bound->value->type->shape.rank, at = f->bound->axis;
    bool given, reduced = false;
    bool arg = strncmp(n->row->name, "Arg", 3) == 0;
    glow_dims axes = {0};

    if (arg)
        axes = GLOW_DIMS_OF(import_axis_attr(n, 0, rank));
    else
        axes =
            import_axes(n, 1, strcmp(n->row->name, "ReduceSum") == 0 ? 12 : 17,
                        rank, &given);
    *kept = at;
    for (int k = 0; k < axes.rank; k++) {
        reduced |= axes.at[k] == at;
        *kept -= axes.at[k] < at && !import_flag(n, "keepdims", true);
    }
    return reduced || axes.rank == 0;
}

static bool
prepare_reduction(import_node *n, import_following *f)
{
    static const struct {
        const char *name;
        double by;
    } neutral[] = {
        {"ReduceMax", -INFINITY}, {"ReduceMin", INFINITY}, {"ReduceProd", 1},
        {"ArgMax", -INFINITY},    {"ArgMin", INFINITY},
    };
    int kept;

    if (!is_reduced(n, f, &kept))
        return true;
    for (size_t k = 0; k < sizeof neutral / sizeof *neutral; k++)
        if (strcmp(neutral[k].name, n->row->name) == 0)
            return import_fill(n, 0, neutral[k].by);
    return true; /* zeros add nothing */
}

static int
follow_reduction(import_node *n, import_following *f)
{
    int kept;

    return is_reduced(n, f, &kept) ? IMPORT_WHOLE : kept;
}

/* ReduceMean: the mean of all, by how many are valid. */
static int
follow_mean(import_node *n, import_following *f)
{
    int axis = follow_reduction(n, f);
    glow_value *v = n->out[0], *count;
    glow_dims x = f->bound->value->type->shape;

    if (axis != IMPORT_WHOLE)
        return axis;
    if (!glow_is_float(v->type->elem))
        return IMPORT_REFUSED;
    count = import_convert(n, f->count, v->type->elem);
    v = import_binary_number(n, &glow_op_mul, v, (double)x.at[f->bound->axis]);
    n->out[0] = import_binary(n, &glow_op_div, v, count);
    return axis;
}

/* TopK: the elements behind the count come last. */
static bool
prepare_topk(import_node *n, import_following *f)
{
    bool largest = n->opset < 11 || import_flag(n, "largest", true);
    int axis = import_axis_attr(n, -1, f->in[0]->type->shape.rank);

    if (!f->bound || f->bound->axis != axis)
        return true;
    return import_fill(n, 0, largest ? -INFINITY : INFINITY);
}

static int
follow_topk(import_node *n, import_following *f)
{
    int axis = import_axis_attr(n, -1, f->in[0]->type->shape.rank);

    if (f->sizes && f->sizes->at[0].count) {
        if (f->bound && f->bound->axis != axis)
            return IMPORT_REFUSED;
        f->count = f->sizes->at[0].count;
        return axis;
    }
    return f->bound->axis == axis ? IMPORT_WHOLE : f->bound->axis;
}

/* Boxes behind the count have a score that no threshold lets pass. */
static bool
prepare_nms(import_node *n, import_following *f)
{
    const import_bound *boxes = import_bound_of(n->im, f->in[0]);
    const import_bound *scores = import_bound_of(n->im, f->in[1]);

    return boxes && scores && boxes->axis == 1 && scores->axis == 2 &&
           import_same_count(boxes->count, scores->count) &&
           import_fill(n, 1, -INFINITY);
}

static int
follow_roi_align(import_node *n, import_following *f)
{
    (void)n;
    return f->bound->axis == 0 ? 0 : IMPORT_REFUSED;
}

/*
 * Scatter: updates behind the count are written to a row behind the data, which is
 * cut off again.
 */
static bool
scatter(import_node *n, import_following *f)
{
    const import_bound *at = import_bound_of(n->im, f->in[1]);
    const import_bound *data = import_bound_of(n->im, f->in[0]);
    const import_bound *from = import_bound_of(n->im, f->in[2]);
    glow_dims x = f->in[0]->type->shape, row = x, index = f->in[1]->type->shape;
    bool nd = strcmp(n->row->name, "ScatterND") == 0;
    int axis = nd ? 0 : import_axis_attr(n, 0, x.rank);
    int64_t *behind = GLOW_NEW_ARRAY(import_arena(n), int64_t, x.rank + 1);
    int64_t width = nd && index.rank ? index.at[index.rank - 1] : 1;
    glow_dims place = {.rank = nd ? 1 : 0, .at = {width}};

    if (!at || width < 1 || width > x.rank || at->axis == index.rank - nd ||
        (from && !import_same_count(from->count, at->count)) ||
        (from && from->axis != at->axis))
        return import_refuse(n, "E0714",
                             "indices and updates are not of one count");
    row.at[axis] = 1;
    behind[0] = x.at[axis];
    n->in = glow_arena_copy(import_arena(n), f->in,
                            (size_t)n->n_in * sizeof *n->in);
    n->in[0] = import_build(
        n, &glow_op_concat, NULL,
        GLOW_IN(f->in[0], import_splat(n, f->in[0]->type->elem, row, 0)),
        &(const glow_concat){.dim = axis});
    n->in[1] = import_with_behind(
        n, f->in[1], at->axis, at->count,
        import_convert(n, import_constant_ints(n, place, behind),
                       f->in[1]->type->elem));
    if (n->failed || !n->row->run(n) || n->failed)
        return false;
    n->out[0] = import_cut(n, n->out[0], axis, 0, x.at[axis]);
    if (data)
        import_mark_bound(n, n->out[0], data->axis, data->count);
    return !n->failed;
}

/* Zeros add nothing, along as many axes as there are. */
#define ADDS(name)                                                             \
    {name, FIRST,           IMPORT_CLEARS | IMPORT_SEVERAL, prepare_reduction, \
     NULL, follow_reduction}
#define REDUCES(name) \
    {name, FIRST, IMPORT_CLEARS, prepare_reduction, NULL, follow_reduction}

const import_rule import_select_rules[] = {
    {"Softmax", FIRST, IMPORT_CLEARS, prepare_softmax, NULL, follow_across},
    {"LogSoftmax", FIRST, IMPORT_CLEARS, prepare_softmax, NULL, follow_across},
    REDUCES("ArgMax"),
    REDUCES("ArgMin"),
    ADDS("ReduceL1"),
    ADDS("ReduceL2"),
    REDUCES("ReduceMax"),
    REDUCES("ReduceMin"),
    REDUCES("ReduceProd"),
    ADDS("ReduceSum"),
    ADDS("ReduceSumSquare"),
    {"ReduceMean", FIRST, IMPORT_CLEARS, NULL, NULL, follow_mean},
    {"ScatterElements", FIRST | SECOND | THIRD, IMPORT_MIXED, NULL, scatter,
     NULL},
    {"ScatterND", FIRST | SECOND | THIRD, IMPORT_MIXED, NULL, scatter, NULL},
    {"TopK", FIRST, IMPORT_CLEARS, prepare_topk, NULL, follow_topk},
    {"NonZero", FIRST, 0, NULL, NULL, follow_whole},
    {"NonMaxSuppression", FIRST | SECOND, IMPORT_SAME, prepare_nms, NULL,
     follow_whole},
    {"RoiAlign", SECOND | THIRD, IMPORT_SAME | IMPORT_CLEARS, NULL, NULL,
     follow_roi_align},
    {NULL, 0, 0, NULL, NULL, NULL},
};
