/*
 * split-nodes: do a node in parts.
 *
 *     %y = MatMul(%x, %w) : float<140 x 8>
 *  =>
 *     %x0 = Slice(%x) {Start: [0, 0]}  : float<47 x 8>
 *     %y0 = MatMul(%x0, %w)            : float<47 x 8>
 *     ..
 *     %y  = Concat([%y0, %y1, %y2]) {Dim: 0}
 *
 * with the options chunks=3, axis=0.  Parts are for devices with little memory
 * of their own (most_bytes), and for several workers (chunks).  They belong
 * to a target, so no pipeline has this pass.
 *
 * A rule says for an operator which ranges of its operands a range of the result
 * along one axis needs.  The same rows, or columns, of one or of each operand, most
 * often.  A window needs what it reaches over, its halo, and of the padding only
 * what is at that end: parts in the middle have none.  A convolution in groups is
 * split between groups.  What no rule says stays whole, as do nodes with several
 * results or a predicate.
 *
 * Glow's splitNode and parallelizeOps in one: its data parallelism is axis=0, its
 * model parallelism the axis of the features, executeVerticalFCWeightsSplit
 * op=FullyConnected, axis=1.  As there, parts are of the same size, rounded up, and
 * the last one has the rest: 866 by 8 are seven of 109 and one of 103.  Glow
 * writes parts into a tensor that it inserts into again and again; a Concat
 * needs no order.
 */

#include "glow/ops.h"
#include "glow/pass.h"

typedef struct options {
    int64_t chunks;
    int64_t most_bytes;
    int axis;
    int64_t align;
    const char *op;
} options;

/* Elements `start` to `start + size` of an axis; axis ALL: everything. */
typedef struct range {
    int axis;
    int64_t start, size;
} range;

enum { ALL = -1 };

/*
 * Sets what range of each operand `r` of the result needs, where that is not
 * all, and changes `attrs` to what the part has.  False: not along this axis.
 */
typedef bool (*need_fn)(const glow_node *n, range r, range in[], void *attrs);

static range
along(range r, int axis)
{
    return (range){axis, r.start, r.size};
}

/* The same of all operands. */
static bool
need_each(const glow_node *n, range r, range in[], void *attrs)
{
    (void)attrs;
    for (int i = 0; i < n->n_in; i++)
        in[i] = r;
    return true;
}

static bool
need_concat(const glow_node *n, range r, range in[], void *attrs)
{
    return r.axis != ((const glow_concat *)n->attrs)->dim &&
           need_each(n, r, in, attrs);
}

/* The same of the first operand, but not along the axis that is worked on. */
static bool
need_softmax(const glow_node *n, range r, range in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    return r.axis != ((const glow_softmax *)n->attrs)->axis;
}

/* .. nor those from Axis on, of which Scale and Bias are. */
static bool
need_layernorm(const glow_node *n, range r, range in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    return r.axis < ((const glow_layernormalization *)n->attrs)->axis;
}

static bool
need_batchnorm(const glow_node *n, range r, range in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    if (r.axis == ((const glow_batchnormalization *)n->attrs)->channel_idx)
        for (int i = 1; i < n->n_in; i++)
            in[i] = along(r, 0);
    return true;
}

static bool
need_lrn(const glow_node *n, range r, range in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    return r.axis < n->out[0]->type->shape.rank - 1;
}

static bool
need_transpose(const glow_node *n, range r, range in[], void *attrs)
{
    (void)attrs;
    in[0] =
        along(r, (int)((const glow_transpose *)n->attrs)->shuffle.at[r.axis]);
    return true;
}

/* An axis that both shapes have, with as many elements before it. */
static bool
need_reshape(const glow_node *n, range r, range in[], void *attrs)
{
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    glow_dims before = y;
    int axis = 0;
    int64_t count = 1;

    before.rank = r.axis;
    while (axis < x.rank && count < glow_dims_count(before))
        count *= x.at[axis++];
    while (axis < x.rank && x.at[axis] == 1 && y.at[r.axis] != 1)
        axis++;
    if (axis == x.rank || count != glow_dims_count(before) ||
        x.at[axis] != y.at[r.axis])
        return false;
    in[0] = along(r, axis);
    ((glow_reshape *)attrs)->dims.at[r.axis] = r.size;
    return true;
}

static bool
need_broadcast(const glow_node *n, range r, range in[], void *attrs)
{
    glow_broadcast *b = attrs;
    glow_dims x = n->in[0]->type->shape;
    int axis = r.axis - b->axis;

    if (axis >= 0 && axis < x.rank && x.at[axis] != 1)
        in[0] = along(r, axis);
    b->target_dim.at[r.axis] = r.size;
    return true;
}

static bool
need_tile(const glow_node *n, range r, range in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    return r.axis != ((const glow_tile *)n->attrs)->axis;
}

static bool
need_slice(const glow_node *n, range r, range in[], void *attrs)
{
    glow_slice *s = attrs;
    int64_t step = s->steps.rank ? s->steps.at[r.axis] : 1;

    (void)n, (void)in;
    s->start.at[r.axis] += r.start * step;
    return true;
}

static bool
need_gather(const glow_node *n, range r, range in[], void *attrs)
{
    const glow_gather *g = n->attrs;
    int picks = n->in[1]->type->shape.rank - g->batch_dims;

    (void)attrs;
    if (r.axis < g->batch_dims)
        in[0] = in[1] = r;
    else if (r.axis < g->axis)
        in[0] = r;
    else if (r.axis < g->axis + picks)
        in[1] = along(r, r.axis - g->axis + g->batch_dims);
    else
        in[0] = along(r, r.axis - picks + 1);
    return true;
}

/* Batch [B, ..], Slice [..] */
static bool
need_batched(const glow_node *n, range r, range in[], void *attrs)
{
    (void)n, (void)attrs;
    in[0] = r;
    if (r.axis > 0)
        in[1] = along(r, r.axis - 1);
    return true;
}

/* The axes that are left keep their order. */
static bool
need_reduce(const glow_node *n, range r, range in[], void *attrs)
{
    const glow_reduce *a = n->attrs;
    int axis = r.axis;

    (void)attrs;
    for (int i = 0; i < a->axes.rank && a->axes.at[i] <= axis; i++)
        axis++;
    in[0] = along(r, axis);
    return true;
}

static bool
need_matmul(const glow_node *n, range r, range in[], void *attrs)
{
    (void)n, (void)attrs;
    in[r.axis] = r;
    return true;
}

static bool
need_batchmatmul(const glow_node *n, range r, range in[], void *attrs)
{
    (void)n, (void)attrs;
    if (r.axis != 2)
        in[0] = r;
    if (r.axis != 1)
        in[1] = r;
    return true;
}

/* Input, Weights [K, N], Bias [N]; Addend of the shape of Result. */
static bool
need_fullyconnected(const glow_node *n, range r, range in[], void *attrs)
{
    int axis = ((const glow_fullyconnected *)n->attrs)->axis;

    (void)attrs;
    if (n->n_in > 3)
        in[3] = r;
    if (r.axis == 1) {
        in[1] = r;
        in[2] = along(r, 0);
        return true;
    }
    in[0] = r;
    return axis == 1;
}

static bool
need_gemm(const glow_node *n, range r, range in[], void *attrs)
{
    const glow_gemm *g = n->attrs;

    (void)attrs;
    in[2] = r;
    if (r.axis == 0)
        in[0] = along(r, g->transpose_a ? 1 : 0);
    else
        in[1] = along(r, g->transpose_b ? 0 : 1);
    return true;
}

/* Windows: of convolution and pooling alike, by the names of attributes. */

static void *
attr(const glow_op *op, void *attrs, const char *name)
{
    const glow_field *f = glow_schema_find(glow_op_schema(op), name);

    return f ? (char *)attrs + f->at : NULL;
}

/* What of spatial axis r.axis - 1 a range needs, and how it is padded. */
static bool
need_window(const glow_node *n, range r, range *in, void *attrs)
{
    const glow_dims *kernels = attr(n->op, attrs, "kernels");
    const glow_dims *strides = attr(n->op, attrs, "strides");
    const glow_dims *dilation = attr(n->op, attrs, "dilation");
    glow_dims *pads = attr(n->op, attrs, "pads");
    bool *ceil = attr(n->op, attrs, "ceil_mode");
    int s = r.axis - 1, end = s + pads->rank / 2;
    int64_t dim = n->in[0]->type->shape.at[r.axis];
    int64_t tap = dilation->rank ? dilation->at[s] : 1;
    int64_t low = r.start * strides->at[s] - pads->at[s];
    int64_t high = (r.start + r.size - 1) * strides->at[s] - pads->at[s] +
                   (kernels->at[s] - 1) * tap;

    /* Beyond the padding nothing counts, which only a whole window knows. */
    if (high >= dim + pads->at[end] || low >= dim || high < 0)
        return false;
    pads->at[s] = low < 0 ? -low : 0;
    pads->at[end] = high >= dim ? high - dim + 1 : 0;
    low = low < 0 ? 0 : low;
    high = high >= dim ? dim - 1 : high;
    if (ceil)
        *ceil = false;
    *in = (range){r.axis, low, high - low + 1};
    return true;
}

static bool
need_pool(const glow_node *n, range r, range in[], void *attrs)
{
    in[0] = r;
    return r.axis == 0 || r.axis == n->out[0]->type->shape.rank - 1 ||
           need_window(n, r, &in[0], attrs);
}

/* Filter [O, .., C / Group], Bias [O]: whole groups, or filters of one. */
static bool
need_channels(const glow_node *n, range r, range in[], void *attrs)
{
    int64_t *group = attr(n->op, attrs, "group");
    int64_t each = n->out[0]->type->shape.at[r.axis] / *group;
    int64_t inputs = n->in[0]->type->shape.at[r.axis] / *group;

    in[1] = in[2] = along(r, 0);
    if (*group == 1)
        return true;
    if (r.start % each != 0 || r.size % each != 0)
        return false;
    *group = r.size / each;
    in[0] = (range){r.axis, r.start / each * inputs, *group * inputs};
    return true;
}

static bool
need_convolution(const glow_node *n, range r, range in[], void *attrs)
{
    if (n->n_in > 3)
        in[3] = r;
    if (r.axis == n->out[0]->type->shape.rank - 1)
        return need_channels(n, r, in, attrs);
    in[0] = r;
    return r.axis == 0 || need_window(n, r, &in[0], attrs);
}

/* Batch and channels of [N, spatial.., C], whatever is done in between. */
static bool
need_image(const glow_node *n, range r, range in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    return r.axis == 0 || r.axis == n->out[0]->type->shape.rank - 1;
}

/* FeatureMap, Boxes [K, ..], BatchIndices [K] */
static bool
need_roialign(const glow_node *n, range r, range in[], void *attrs)
{
    (void)attrs;
    if (r.axis == 0)
        in[1] = in[2] = r;
    else
        in[0] = r;
    return r.axis == 0 || r.axis == n->out[0]->type->shape.rank - 1;
}

static const struct {
    const glow_op *op;
    need_fn need;
} rules[] = {
    {&glow_op_adaptiveavgpool, need_image},
    {&glow_op_avgpool, need_pool},
    {&glow_op_batchedadd, need_batched},
    {&glow_op_batchedmul, need_batched},
    {&glow_op_batchedreduceadd, need_reduce},
    {&glow_op_batchedreducemax, need_reduce},
    {&glow_op_batchedreducemean, need_reduce},
    {&glow_op_batchedreducemin, need_reduce},
    {&glow_op_batchedreduceprod, need_reduce},
    {&glow_op_batchedreducesumsquare, need_reduce},
    {&glow_op_batchmatmul, need_batchmatmul},
    {&glow_op_batchnormalization, need_batchnorm},
    {&glow_op_broadcast, need_broadcast},
    {&glow_op_concat, need_concat},
    {&glow_op_convolution, need_convolution},
    {&glow_op_fullyconnected, need_fullyconnected},
    {&glow_op_fusedconvolution, need_convolution},
    {&glow_op_fusedfullyconnected, need_fullyconnected},
    {&glow_op_gather, need_gather},
    {&glow_op_gemm, need_gemm},
    {&glow_op_layernormalization, need_layernorm},
    {&glow_op_localresponsenormalization, need_lrn},
    {&glow_op_logsoftmax, need_softmax},
    {&glow_op_matmul, need_matmul},
    {&glow_op_maxpool, need_pool},
    {&glow_op_reshape, need_reshape},
    {&glow_op_rmsnormalization, need_layernorm},
    {&glow_op_roialign, need_roialign},
    {&glow_op_slice, need_slice},
    {&glow_op_softmax, need_softmax},
    {&glow_op_tile, need_tile},
    {&glow_op_transpose, need_transpose},
};

static need_fn
rule_of(const glow_node *n)
{
    int traits = n->op->traits;

    if (!(traits & GLOW_PURE) || n->pred || n->n_out != 1 || n->n_in == 0 ||
        glow_type_count(n->out[0]->type) == 0)
        return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].op == n->op)
            return rules[i].need;
    return traits & GLOW_ELEMENTWISE ? need_each : NULL;
}

/* A node that is to be split, and how. */
typedef struct splitter {
    glow_pass_run *run;
    glow_builder *builder;
    const options *options;
    glow_node *node;
    need_fn need;
    int axis;
    int64_t dim, size; /* of the axis, and of a part but the last */
    range *in;         /* scratch: one for each operand */
} splitter;

static range
part_at(const splitter *s, int64_t start)
{
    int64_t rest = s->dim - start;

    return (range){s->axis, start, rest < s->size ? rest : s->size};
}

/* Finds what part `r` needs; NULL if it cannot be had by itself. */
static void *
find_needs(const splitter *s, range r)
{
    const glow_node *n = s->node;
    void *attrs = glow_attrs_copy(glow_run_scratch(s->run),
                                  glow_op_schema(n->op), n->attrs);

    for (int i = 0; i < n->n_in; i++)
        s->in[i] = (range){.axis = ALL};
    if (!s->need(n, r, s->in, attrs))
        return NULL;
    /* Operators without attributes have none to give back. */
    return attrs ? attrs : s->in;
}

/* Can all parts be had? */
static bool
is_possible(const splitter *s)
{
    for (int64_t at = 0; at < s->dim; at += s->size)
        if (!find_needs(s, part_at(s, at)))
            return false;
    return s->size < s->dim;
}

static int64_t
bytes_of(const glow_type *t, range r)
{
    int64_t bytes = glow_type_bytes(t);

    return r.axis == ALL ? bytes : bytes / t->shape.at[r.axis] * r.size;
}

/* Bytes of operands and result of the largest part; -1 if there is none. */
static int64_t
bytes_of_part(const splitter *s)
{
    int64_t most = -1;

    for (int64_t at = 0; at < s->dim; at += s->size) {
        range r = part_at(s, at);
        int64_t sum = bytes_of(s->node->out[0]->type, r);

        if (!find_needs(s, r))
            return -1;
        for (int i = 0; i < s->node->n_in; i++)
            if (s->node->in[i])
                sum += bytes_of(s->node->in[i]->type, s->in[i]);
        most = sum > most ? sum : most;
    }
    return most;
}

static int64_t
round_up(int64_t size, int64_t align)
{
    return (size + align - 1) / align * align;
}

/* Chooses the size of parts along s->axis; false if there is none. */
static bool
choose_size(splitter *s)
{
    const options *o = s->options;
    int64_t align = o->align > 1 ? o->align : 1;
    int64_t chunks = o->chunks > 1 ? o->chunks : 1;

    s->dim = s->node->out[0]->type->shape.at[s->axis];
    s->size = round_up((s->dim + chunks - 1) / chunks, align);
    if (o->most_bytes > 0) {
        /* By halves, so that few sizes are looked at. */
        s->size = s->size > s->dim ? s->dim : s->size;
        for (int64_t b; (b = bytes_of_part(s)) > o->most_bytes;) {
            int64_t less = round_up((s->size + 1) / 2, align);

            if (less >= s->size)
                return false;
            s->size = less;
        }
    }
    return is_possible(s);
}

static bool
choose(splitter *s)
{
    int rank = s->node->out[0]->type->shape.rank;

    if (s->options->axis >= 0) {
        s->axis = s->options->axis;
        return s->axis < rank && choose_size(s);
    }
    for (s->axis = 0; s->axis < rank; s->axis++)
        if (choose_size(s))
            return true;
    return false;
}

static const glow_type *
shaped(const splitter *s, const glow_type *type, range r)
{
    glow_type t = *type;

    t.strides = (glow_dims){0};
    t.shape.at[r.axis] = r.size;
    return glow_type_get(glow_run_context(s->run), t);
}

static glow_value *
take(const splitter *s, glow_value *v, range r)
{
    glow_slice a = {.start.rank =
                        r.axis == ALL || !v ? 0 : v->type->shape.rank};

    if (!v || r.axis == ALL ||
        (r.start == 0 && r.size == v->type->shape.at[r.axis]))
        return v;
    a.start.at[r.axis] = r.start;
    return glow_build(s->builder, &glow_op_slice, shaped(s, v->type, r),
                      GLOW_IN(v), &a);
}

static glow_value *
build_part(const splitter *s, range r)
{
    const glow_node *n = s->node;
    glow_value **in =
        GLOW_NEW_ARRAY(glow_run_scratch(s->run), glow_value *, n->n_in);
    void *attrs = find_needs(s, r);
    bool stated = n->op->traits & GLOW_STATED;

    for (int i = 0; i < n->n_in; i++)
        in[i] = take(s, n->in[i], s->in[i]);
    return glow_build(s->builder, n->op,
                      stated ? shaped(s, n->out[0]->type, r) : NULL, in,
                      n->n_in, n->attrs ? attrs : NULL);
}

static bool
split(const splitter *s)
{
    glow_node *n = s->node;
    const char *name = n->name;
    int count = (int)((s->dim + s->size - 1) / s->size);
    glow_value **parts =
        GLOW_NEW_ARRAY(glow_run_scratch(s->run), glow_value *, count);

    glow_builder_at(s->builder, n);
    for (int i = 0; i < count; i++)
        parts[i] = build_part(s, part_at(s, i * s->size));

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

    if (s.options->chunks <= 1 && s.options->most_bytes <= 0)
        return GLOW_UNCHANGED;
    s.builder = glow_builder_new(scratch, f, glow_run_pass(pass)->name);
    GLOW_FOR_EACH_NODE(n, f) {
        s.node = n;
        s.need = rule_of(n);
        if (!s.need || !is_wanted(&s, n))
            continue;
        /* Room for the rules, which may set operands that are not there. */
        s.in = GLOW_NEW_ARRAY(scratch, range, n->n_in + 4);
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
    .summary = "do nodes in parts, for little memory or several workers",
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
                                   "nodes of this operator alone")},
    .defaults = &(const options){.axis = -1, .align = 1, .op = ""},
    .run = run,
    .source = "Glow splitNode, parallelizeOps, executeVerticalFCWeightsSplit",
};
