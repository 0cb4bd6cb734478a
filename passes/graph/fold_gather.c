/*
 * fold-gather: replace gathers and scatters by constant indices of a box.
 *
 *     Gather(x, [3, 4, 5])              =>  Slice(x) {Start: [3, 0]}
 *     Gather(x, 3)                      =>  Reshape(Slice(x) {Start: [3, 0]})
 *     Gather(x, [6, 4, 2])              =>  Slice(x) {Start: [6], Steps: [-2]}
 *     GatherND(x, indices of a box)     =>  Reshape(Slice(x))
 *     GatherElements(x, rows of one
 *                       index each)     =>  Slice(x)
 *     ScatterData(x, indices of a box, y)
 *                                       =>  InsertTensor(x, Reshape(y))
 *     ScatterElements(x, .., y)         =>  InsertTensor(x, y)
 *
 * Constant indices that enumerate a box in row-major order, with any steps,
 * become a slice or an insertion. (The step of InsertTensor is 1.) A box that
 * is all of x is x, and an insertion over all of x is the inserted value.
 * Negative indices count from the end; a node with an index out of range is
 * left alone, and so is its error.
 *
 * Exporters write x[:, 3], x[..., ::2], and x[:, 1:3] = y so, for which PyTorch
 * writes a ScatterND with the whole grid of indices.  Glow's GatherToSlice
 * takes a single index.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

/* Most indices that are compared with a box; more are likely a table. */
enum { MOST_NUMBERS = 1 << 20 };

typedef struct box {
    glow_dims start, step, size;
} box;

/* Constant indices: `count` tuples of `depth` indices into axes of x. */
typedef struct numbers {
    const glow_tensor *data;
    int64_t count;
    int depth, axis; /* index d is of axis `axis` + d */
    glow_dims shape; /* of x */
} numbers;

/* Index `d` of tuple `i`, counted from the front; -1 if it is out of range. */
static int64_t
number_at(const numbers *t, int64_t i, int d)
{
    int64_t x = glow_get_int(t->data, i * t->depth + d);
    int64_t dim = t->shape.at[t->axis + d];

    if (x < 0)
        x += dim;
    return x < dim ? x : -1;
}

/*
 * The number of leading tuples among 0, hop, 2 hop, ... whose index `d` is an
 * arithmetic progression; sets *step.
 */
static int64_t
count_steps(const numbers *t, int64_t hop, int d, int64_t *step)
{
    int64_t first = number_at(t, 0, d), n = 1;

    *step = 1;
    if (hop >= t->count)
        return 1;
    *step = number_at(t, hop, d) - first;
    while (*step != 0 && n < t->count / hop &&
           number_at(t, n * hop, d) == first + n * *step)
        n++;
    if (n == 1)
        *step = 1;
    return n;
}

/* True if the tuples enumerate the box `p`. */
static bool
name_all(const numbers *t, const box *p)
{
    glow_dims counts = {.rank = t->depth};
    int64_t i = 0;

    for (int d = 0; d < t->depth; d++)
        counts.at[d] = p->size.at[t->axis + d];
    if (glow_dims_count(counts) != t->count)
        return false;
    GLOW_FOR_EACH_INDEX(at, counts) {
        for (int d = 0; d < t->depth; d++) {
            int axis = t->axis + d;
            int64_t x = number_at(t, i, d);

            if (x < 0 || x != p->start.at[axis] + at.at[d] * p->step.at[axis])
                return false;
        }
        i++;
    }
    return true;
}

/*
 * Sets `p` to the box that the tuples enumerate; other axes are whole.  False
 * if there is none.
 */
static bool
find_box(const numbers *t, box *p)
{
    int64_t hop = 1;

    *p = (box){t->shape, t->shape, t->shape};
    for (int i = 0; i < t->shape.rank; i++) {
        p->start.at[i] = 0;
        p->step.at[i] = 1;
    }
    for (int d = t->depth; d-- > 0;) {
        int axis = t->axis + d;

        p->start.at[axis] = number_at(t, 0, d);
        p->size.at[axis] = count_steps(t, hop, d, &p->step.at[axis]);
        hop *= p->size.at[axis];
    }
    return name_all(t, p);
}

/* The constant indices of a node whose result is not empty, or NULL. */
static const glow_tensor *
read_indices(const glow_node *n)
{
    if (n->pred || glow_type_count(n->out[0]->type) == 0 ||
        glow_type_count(n->in[1]->type) == 0)
        return NULL;
    return glow_constant_data(n->in[1], MOST_NUMBERS);
}

static bool
is_whole(const box *p, glow_dims shape)
{
    for (int i = 0; i < shape.rank; i++)
        if (p->start.at[i] != 0 || p->step.at[i] != 1 ||
            p->size.at[i] != shape.at[i])
            return false;
    return true;
}

static bool
is_by_one(const box *p)
{
    for (int i = 0; i < p->step.rank; i++)
        if (p->step.at[i] != 1)
            return false;
    return true;
}

static glow_value *
reshaped(glow_builder *b, glow_value *v, glow_dims shape)
{
    if (!v ||
        (glow_dims_equal(v->type->shape, shape) && v->type->strides.rank == 0))
        return v;
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = shape);
}

/* The box of `x`, in the shape of the result of `n`. */
static glow_value *
read_box(glow_builder *b, const glow_node *n, glow_value *x, const box *p)
{
    glow_type t = *n->out[0]->type;
    glow_slice s = {.start = p->start};

    t.shape = p->size;
    if (!is_by_one(p))
        s.steps = p->step;
    if (!is_whole(p, x->type->shape))
        x = glow_build(b, &glow_op_slice,
                       glow_type_get(glow_builder_context(b), t), GLOW_IN(x),
                       &s);
    return reshaped(b, x, n->out[0]->type->shape);
}

/* `x` with `y` in the box, or NULL. */
static glow_value *
write_box(glow_builder *b, glow_value *x, glow_value *y, const box *p)
{
    if (!is_by_one(p))
        return NULL;
    y = reshaped(b, y, p->size);
    if (!y || is_whole(p, x->type->shape))
        return y;
    return GLOW_BUILD(b, inserttensor, GLOW_IN(x, y), .start = p->start,
                      .count = 1);
}

/* True if all batches have the indices of the first. */
static bool
batches_agree(const glow_tensor *t, int64_t batches)
{
    int64_t each = glow_type_count(t->type) / batches;

    for (int64_t i = each; i < batches * each; i++)
        if (glow_get_int(t, i) != glow_get_int(t, i - each))
            return false;
    return true;
}

static int64_t
leading(glow_dims shape, int axes)
{
    shape.rank = axes;
    return glow_dims_count(shape);
}

/* For each operator: the replacement of `n`, or NULL. */

static glow_value *
fold_gather(glow_builder *b, glow_node *n, const glow_tensor *data)
{
    const glow_gather *g = n->attrs;
    int64_t batches = leading(data->type->shape, g->batch_dims);
    numbers t = {.data = data,
                 .count = glow_type_count(data->type) / batches,
                 .depth = 1,
                 .axis = g->axis,
                 .shape = n->in[0]->type->shape};
    box p;

    return batches_agree(data, batches) && find_box(&t, &p)
               ? read_box(b, n, n->in[0], &p)
               : NULL;
}

static numbers
tuples_of(const glow_node *n, const glow_tensor *data, int batch_dims)
{
    glow_dims at = data->type->shape;
    int depth = (int)at.at[at.rank - 1];
    int64_t each = leading(at, batch_dims) * (depth ? depth : 1);

    return (numbers){.data = data,
                     .count = glow_type_count(data->type) / each,
                     .depth = depth,
                     .axis = batch_dims,
                     .shape = n->in[0]->type->shape};
}

static glow_value *
fold_gathernd(glow_builder *b, glow_node *n, const glow_tensor *data)
{
    const glow_gathernd *g = n->attrs;
    numbers t = tuples_of(n, data, g->batch_dims);
    box p;

    return batches_agree(data, leading(data->type->shape, g->batch_dims)) &&
                   find_box(&t, &p)
               ? read_box(b, n, n->in[0], &p)
               : NULL;
}

static glow_value *
fold_scatterdata(glow_builder *b, glow_node *n, const glow_tensor *data)
{
    const glow_scatterdata *s = n->attrs;
    numbers t = tuples_of(n, data, 0);
    box p;

    return s->reduction == GLOW_SCATTER_NONE && find_box(&t, &p)
               ? write_box(b, n->in[0], n->in[2], &p)
               : NULL;
}

/*
 * Sets `p` to the box of indices of the rank of x that vary along `dim` alone;
 * false if there is none.
 */
static bool
find_rows(const glow_node *n, const glow_tensor *data, int dim, box *p)
{
    glow_dims shape = data->type->shape;
    int64_t rest = glow_dims_strides(shape).at[dim];
    int64_t rows = shape.at[dim], i = 0;
    numbers t = {.data = data,
                 .count = glow_type_count(data->type),
                 .depth = 1,
                 .axis = dim,
                 .shape = n->in[0]->type->shape};
    int64_t first = number_at(&t, 0, 0);
    int64_t step = rows > 1 ? number_at(&t, rest, 0) - first : 1;

    *p = (box){shape, shape, shape};
    for (int a = 0; a < shape.rank; a++) {
        p->start.at[a] = a == dim ? first : 0;
        p->step.at[a] = a == dim ? step : 1;
    }
    if (first < 0 || step == 0)
        return false;
    GLOW_FOR_EACH_INDEX(at, shape) {
        int64_t x = number_at(&t, i++, 0);

        if (x < 0 || x != first + at.at[dim] * step)
            return false;
    }
    return true;
}

static glow_value *
fold_gatherelements(glow_builder *b, glow_node *n, const glow_tensor *data)
{
    const glow_gatherelements *g = n->attrs;
    box p;

    return find_rows(n, data, g->dim, &p) ? read_box(b, n, n->in[0], &p) : NULL;
}

static glow_value *
fold_scatterelements(glow_builder *b, glow_node *n, const glow_tensor *data)
{
    const glow_scatterelements *s = n->attrs;
    box p;

    return s->reduction == GLOW_SCATTER_NONE && find_rows(n, data, s->dim, &p)
               ? write_box(b, n->in[0], n->in[2], &p)
               : NULL;
}

static const struct {
    const glow_op *op;
    glow_value *(*fold)(glow_builder *b, glow_node *n, const glow_tensor *data);
} rules[] = {
    {&glow_op_gather, fold_gather},
    {&glow_op_gatherelements, fold_gatherelements},
    {&glow_op_gathernd, fold_gathernd},
    {&glow_op_scatterdata, fold_scatterdata},
    {&glow_op_scatterelements, fold_scatterelements},
};

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].op != n->op)
            continue;

        const glow_tensor *data = read_indices(n);

        return data ? rules[i].fold(b, n, data) : NULL;
    }
    return NULL;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, fold);
}

const glow_pass glow_pass_fold_gather = {
    .name = "fold-gather",
    .summary = "replace gathers and scatters of a box by slices and insertions",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow GatherToSlice",
};
