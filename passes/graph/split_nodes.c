/*
 * split-nodes: split a node into slabs of its result.
 *
 *     %y = MatMul(%x, %w) : float<140 x 8>
 *  =>
 *     %x0 = Slice(%x) {Start: [0, 0]}  : float<47 x 8>
 *     %y0 = MatMul(%x0, %w)            : float<47 x 8>
 *     ..
 *     %y  = Concat([%y0, %y1, %y2]) {Dim: 0}
 *
 * with the options chunks=3, axis=0.  Parts are for devices with little local
 * memory (most_bytes), and for several workers (chunks), with given speeds
 * (weights=[2, 1, 1]) or capacities (sizes=[100, 40]: axes of another size are
 * not split).  The options belong to a target, so the pass is not in any
 * pipeline.
 *
 * slabs.h has the nodes and axes that can be split.
 *
 * Glow's splitNode and parallelizeOps in one: its data parallelism is axis=0,
 * its model parallelism the axis of the features, executeVerticalFCWeightsSplit
 * op=FullyConnected, axis=1.  As there, parts are of the same size, rounded up,
 * and the last one has the rest: 866 by 8 are seven of 109 and one of 103.
 * Glow writes parts by a chain of InsertTensor; a Concat has no order between
 * parts.
 */

#include "glow/ops.h"
#include "glow/pass.h"
#include "passes/graph/common/slabs.h"

typedef struct options {
    int64_t chunks;
    int64_t most_bytes;
    int axis;
    int64_t align;
    const char *op;
    glow_ints sizes;
    glow_ints weights;
} options;

/* A node that is to be split, and the sizes of its parts. */
typedef struct splitter {
    glow_pass_run *run;
    glow_builder *builder;
    const options *options;
    glow_node *node;
    int axis;
    int64_t dim;         /* of the axis */
    int64_t count, size; /* of parts, and of each but the last */
    int64_t *ends;       /* of parts of different sizes; else NULL */
    slab *in;            /* scratch: one for each operand */
    void *attrs;         /* scratch: attributes of a part */
} splitter;

static slab
part_of(const splitter *s, int64_t i)
{
    int64_t start = i * s->size, rest = s->dim - start;

    if (s->ends) {
        start = i > 0 ? s->ends[i - 1] : 0;
        return (slab){s->axis, start, s->ends[i] - start};
    }
    return (slab){s->axis, start, rest < s->size ? rest : s->size};
}

/*
 * Finds the slabs that part `r` needs; false if it cannot be computed
 * separately.
 */
static bool
find_needs(const splitter *s, slab r)
{
    return glow_slab_needs(s->node, r, s->in, s->attrs);
}

/* True if all parts can be computed separately. */
static bool
is_possible(const splitter *s)
{
    for (int64_t i = 0; i < s->count; i++)
        if (!find_needs(s, part_of(s, i)))
            return false;
    return s->count > 1;
}

/* Bytes of operands and result of the largest part; -1 if there is none. */
static int64_t
bytes_of_part(const splitter *s)
{
    int64_t most = -1;

    for (int64_t i = 0; i < s->count; i++) {
        slab r = part_of(s, i);
        int64_t sum = glow_slab_bytes(s->node->out[0]->type, r);

        if (!find_needs(s, r))
            return -1;
        for (int k = 0; k < s->node->n_in; k++)
            if (s->node->in[k])
                sum += glow_slab_bytes(s->node->in[k]->type, s->in[k]);
        most = sum > most ? sum : most;
    }
    return most;
}

static int64_t
round_up(int64_t size, int64_t align)
{
    return (size + align - 1) / align * align;
}

/* Parts of one size. */
static void
cut_evenly(splitter *s, int64_t size)
{
    s->size = size < s->dim ? size : s->dim;
    s->count = (s->dim + s->size - 1) / s->size;
}

static int64_t
sum_of(glow_ints list)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < list.count; i++)
        if (list.at[i] <= 0 || glow_add_overflow(sum, list.at[i], &sum))
            return -1;
    return sum;
}

/*
 * Parts of the given sizes, or in proportion to weights, with ends rounded to
 * multiples of `align`.  False if sizes do not add up to the axis, or a part is
 * empty.
 */
static bool
cut_by_list(splitter *s, glow_ints list, bool is_weights, int64_t align)
{
    int64_t total = sum_of(list), sum = 0, before = 0;

    if (total <= 0 || (!is_weights && total != s->dim))
        return false;
    s->count = list.count;
    s->ends = GLOW_NEW_ARRAY(glow_run_scratch(s->run), int64_t, s->count);
    for (int64_t i = 0; i < s->count; i++) {
        int64_t end;

        sum += list.at[i];
        if (glow_mul_overflow(s->dim, sum, &end))
            return false;
        if (is_weights)
            end = sum == total ? s->dim : round_up(end / total, align);
        else
            end = sum;
        if (end <= before || end > s->dim)
            return false;
        s->ends[i] = before = end;
    }
    return true;
}

/* Chooses the sizes of parts along s->axis; false if there are none. */
static bool
choose_sizes(splitter *s)
{
    const options *o = s->options;
    int64_t align = o->align > 1 ? o->align : 1;
    int64_t chunks = o->chunks > 1 ? o->chunks : 1;

    s->dim = s->node->out[0]->type->shape.at[s->axis];
    if (align > s->dim)
        return false;
    if (o->sizes.count > 0 || o->weights.count > 0) {
        bool is_weights = o->sizes.count == 0;

        return cut_by_list(s, is_weights ? o->weights : o->sizes, is_weights,
                           align) &&
               (o->most_bytes <= 0 || bytes_of_part(s) <= o->most_bytes) &&
               is_possible(s);
    }
    cut_evenly(s, round_up((s->dim - 1) / chunks + 1, align));
    /* Halves the parts until they fit, so that few sizes are tried. */
    while (o->most_bytes > 0 && bytes_of_part(s) > o->most_bytes) {
        int64_t less = round_up((s->size + 1) / 2, align);

        if (less >= s->size)
            return false;
        cut_evenly(s, less);
    }
    return is_possible(s);
}

static bool
choose(splitter *s)
{
    int rank = s->node->out[0]->type->shape.rank;

    if (s->options->axis >= 0) {
        s->axis = s->options->axis;
        return s->axis < rank && choose_sizes(s);
    }
    for (s->axis = 0; s->axis < rank; s->axis++)
        if (choose_sizes(s))
            return true;
    return false;
}

static glow_value *
build_part(const splitter *s, slab r)
{
    const glow_node *n = s->node;
    glow_value **in =
        GLOW_NEW_ARRAY(glow_run_scratch(s->run), glow_value *, n->n_in);

    find_needs(s, r);
    for (int i = 0; i < n->n_in; i++)
        in[i] = glow_slab_take(s->builder, n->in[i], s->in[i]);
    return glow_slab_build(s->builder, n, r, in, s->attrs);
}

static bool
split(const splitter *s)
{
    glow_node *n = s->node;
    const char *name = n->name;
    int count = (int)s->count;
    glow_value **parts =
        GLOW_NEW_ARRAY(glow_run_scratch(s->run), glow_value *, count);

    glow_builder_at(s->builder, n);
    for (int i = 0; i < count; i++)
        parts[i] = build_part(s, part_of(s, i));

    glow_value *y = glow_build(s->builder, &glow_op_concat, NULL, parts, count,
                               &(const glow_concat){.dim = s->axis});

    if (!y)
        return false;
    glow_replace_uses(n->out[0], y);
    glow_node_erase(n);
    glow_node_rename(y->def, name);
    return true;
}

static bool
is_wanted(const splitter *s, const glow_node *n)
{
    const char *op = s->options->op;

    return !*op || glow_find_op(glow_run_context(s->run), op) == n->op;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *scratch = glow_run_scratch(pass);
    glow_result result = GLOW_UNCHANGED;
    splitter s = {.run = pass, .options = glow_run_options(pass)};

    if (s.options->chunks <= 1 && s.options->most_bytes <= 0 &&
        s.options->sizes.count == 0 && s.options->weights.count == 0)
        return GLOW_UNCHANGED;
    s.builder = glow_builder_new(scratch, f, glow_run_pass(pass)->name);
    GLOW_FOR_EACH_NODE(n, f) {
        s.node = n;
        if (n->n_in == 0 || !glow_slab_can_cut(n) || !is_wanted(&s, n))
            continue;
        s.in = GLOW_NEW_ARRAY(scratch, slab, n->n_in + SLAB_ROOM);
        s.attrs = glow_slab_attrs(scratch, n);
        if (!choose(&s))
            continue;
        if (!glow_run_may_rewrite(pass))
            break;
        if (!split(&s))
            return GLOW_FAILED;
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_split_nodes = {
    .name = "split-nodes",
    .summary = "split nodes into slabs of their results",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(options, chunks, GLOW_INT64,
                                   "into so many parts; 0: by bytes alone"),
                GLOW_FIELD_DEFAULT(options, most_bytes, GLOW_INT64,
                                   "of operands and result of a part; 0: any"),
                GLOW_FIELD_DEFAULT(options, axis, GLOW_INT,
                                   "of the result; -1: the first that can be"),
                GLOW_FIELD_DEFAULT(options, align, GLOW_INT64,
                                   "parts are multiples of this, but the last"),
                GLOW_FIELD_DEFAULT(options, op, GLOW_STRING,
                                   "nodes of this operator alone"),
                GLOW_FIELD_DEFAULT(options, sizes, GLOW_INTS,
                                   "parts of these, in order, if that is all"),
                GLOW_FIELD_DEFAULT(options, weights, GLOW_INTS,
                                   "instead: parts in these proportions")},
    .defaults = &(const options){.axis = -1, .align = 1, .op = ""},
    .run = run,
    .source = "Glow splitNode, parallelizeOps, executeVerticalFCWeightsSplit",
};
