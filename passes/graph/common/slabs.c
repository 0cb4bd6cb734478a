/*
 * Rules for slabs, one for each operator or family of operators; see slabs.h.
 */

#include "passes/graph/common/slabs.h"

#include <string.h>

#include "glow/ops.h"

/*
 * Sets the slab of each operand, unless whole, that slab `r` of the result
 * needs, and changes `attrs` for it.  False if it cannot be cut along this
 * axis.
 */
typedef bool (*need_fn)(const glow_node *n, slab r, slab in[], void *attrs);

static slab
along(slab r, int axis)
{
    return (slab){axis, r.start, r.size};
}

static bool
need_nothing(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)n, (void)r, (void)in, (void)attrs;
    return true;
}

/* The same slab of all operands. */
static bool
need_each(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)attrs;
    for (int i = 0; i < n->n_in; i++)
        in[i] = r;
    return true;
}

static bool
need_concat(const glow_node *n, slab r, slab in[], void *attrs)
{
    return r.axis != ((const glow_concat *)n->attrs)->dim &&
           need_each(n, r, in, attrs);
}

/* The same slab of the first operand, except along the axis of the softmax. */
static bool
need_softmax(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    return r.axis != ((const glow_softmax *)n->attrs)->axis;
}

/* The same slab of the first operand, except along the normalized axes. */
static bool
need_layernorm(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    return r.axis < ((const glow_layernormalization *)n->attrs)->axis;
}

static bool
need_batchnorm(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    if (r.axis == ((const glow_batchnormalization *)n->attrs)->channel_idx)
        for (int i = 1; i < n->n_in; i++)
            in[i] = along(r, 0);
    return true;
}

static bool
need_lrn(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    return r.axis < n->out[0]->type->shape.rank - 1;
}

static bool
need_transpose(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)attrs;
    in[0] =
        along(r, (int)((const glow_transpose *)n->attrs)->shuffle.at[r.axis]);
    return true;
}

/* The number of elements before axis `axis`, and after it. */
static int64_t
count_before(glow_dims d, int axis)
{
    d.rank = axis;
    return glow_dims_count(d);
}

static int64_t
count_after(glow_dims d, int axis)
{
    int64_t count = 1;

    while (++axis < d.rank)
        count *= d.at[axis];
    return count;
}

/*
 * The axis of the operand with as many elements before it.  If the sizes
 * differ, one of the two axes is a merger of several, and a slab must consist
 * of whole rows.
 */
static bool
need_reshape(const glow_node *n, slab r, slab in[], void *attrs)
{
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    int64_t before = count_before(y, r.axis), unit = count_after(y, r.axis);
    int axis = 0;

    while (axis < x.rank && count_before(x, axis) < before)
        axis++;
    while (axis < x.rank && x.at[axis] == 1 && y.at[r.axis] != 1)
        axis++;
    if (axis == x.rank || count_before(x, axis) != before)
        return false;
    int64_t row = count_after(x, axis);

    if (r.start * unit % row != 0 || r.size * unit % row != 0)
        return false;
    in[0] = (slab){axis, r.start * unit / row, r.size * unit / row};
    ((glow_reshape *)attrs)->dims.at[r.axis] = r.size;
    return true;
}

static bool
need_broadcast(const glow_node *n, slab r, slab in[], void *attrs)
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
need_tile(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    return r.axis != ((const glow_tile *)n->attrs)->axis;
}

static bool
need_slice(const glow_node *n, slab r, slab in[], void *attrs)
{
    glow_slice *s = attrs;
    int64_t step = s->steps.rank ? s->steps.at[r.axis] : 1;

    (void)n;
    if (step < 0) {
        s->start.at[r.axis] += r.start * step;
        return true;
    }
    in[0] = (slab){r.axis, s->start.at[r.axis] + r.start * step,
                   (r.size - 1) * step + 1};
    s->start.at[r.axis] = 0;
    return true;
}

static bool
need_gather(const glow_node *n, slab r, slab in[], void *attrs)
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
need_batched(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)n, (void)attrs;
    in[0] = r;
    if (r.axis > 0)
        in[1] = along(r, r.axis - 1);
    return true;
}

/* The remaining axes keep their order. */
static bool
need_reduce(const glow_node *n, slab r, slab in[], void *attrs)
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
need_matmul(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)n, (void)attrs;
    in[r.axis] = r;
    return true;
}

static bool
need_batchmatmul(const glow_node *n, slab r, slab in[], void *attrs)
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
need_fullyconnected(const glow_node *n, slab r, slab in[], void *attrs)
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
need_gemm(const glow_node *n, slab r, slab in[], void *attrs)
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

/*
 * Sets the slab of the input with its halo along spatial axis r.axis - 1, and
 * the pads.
 */
static bool
need_window(const glow_node *n, slab r, slab *in, void *attrs)
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

    /* A window beyond the padding or without input needs the whole axis. */
    if (high >= dim + pads->at[end] || low >= dim || high < 0)
        return false;
    pads->at[s] = low < 0 ? -low : 0;
    pads->at[end] = high >= dim ? high - dim + 1 : 0;
    low = low < 0 ? 0 : low;
    high = high >= dim ? dim - 1 : high;
    if (ceil)
        *ceil = false;
    *in = (slab){r.axis, low, high - low + 1};
    return true;
}

static bool
need_pool(const glow_node *n, slab r, slab in[], void *attrs)
{
    in[0] = r;
    return r.axis == 0 || r.axis == n->out[0]->type->shape.rank - 1 ||
           need_window(n, r, &in[0], attrs);
}

/* Filter [O, .., C / Group], Bias [O]: whole groups, or filters of one. */
static bool
need_channels(const glow_node *n, slab r, slab in[], void *attrs)
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
    in[0] = (slab){r.axis, r.start / each * inputs, *group * inputs};
    return true;
}

static bool
need_convolution(const glow_node *n, slab r, slab in[], void *attrs)
{
    if (n->n_in > 3)
        in[3] = r;
    if (r.axis == n->out[0]->type->shape.rank - 1)
        return need_channels(n, r, in, attrs);
    in[0] = r;
    return r.axis == 0 || need_window(n, r, &in[0], attrs);
}

/* The same, with scales and offsets of the channels. */
static bool
need_channelwise(const glow_node *n, slab r, slab in[], void *attrs)
{
    if (r.axis == n->out[0]->type->shape.rank - 1) {
        for (int i = 3; i < n->n_in; i++)
            in[i] = along(r, 0);
        return need_channels(n, r, in, attrs);
    }
    in[0] = r;
    return r.axis == 0 || need_window(n, r, &in[0], attrs);
}

/* Input [M, K]; Weights [N, K], Scales [N], Offsets [N], Bias [N]. */
static bool
need_rowwise(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)attrs;
    if (r.axis == 0)
        in[0] = r;
    for (int i = 1; i < n->n_in && r.axis == 1; i++)
        in[i] = along(r, 0);
    return true;
}

/*
 * Slabs along batch and channels of [N, spatial.., C], for any operator on
 * spatial axes.
 */
static bool
need_image(const glow_node *n, slab r, slab in[], void *attrs)
{
    (void)attrs;
    in[0] = r;
    return r.axis == 0 || r.axis == n->out[0]->type->shape.rank - 1;
}

/* FeatureMap, Boxes [K, ..], BatchIndices [K] */
static bool
need_roialign(const glow_node *n, slab r, slab in[], void *attrs)
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
    {&glow_op_channelwisequantizedconvolution, need_channelwise},
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
    {&glow_op_rowwisequantizedfullyconnected, need_rowwise},
    {&glow_op_slice, need_slice},
    {&glow_op_softmax, need_softmax},
    {&glow_op_splat, need_nothing},
    {&glow_op_tile, need_tile},
    {&glow_op_transpose, need_transpose},
};

static need_fn
rule_of(const glow_node *n)
{
    int traits = n->op->traits;

    if (!(traits & GLOW_PURE) || n->pred || n->n_out != 1 ||
        glow_type_count(n->out[0]->type) == 0)
        return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].op == n->op)
            return rules[i].need;
    return traits & GLOW_ELEMENTWISE ? need_each : NULL;
}

bool
glow_slab_can_cut(const glow_node *n)
{
    return rule_of(n) != NULL;
}

void *
glow_slab_attrs(glow_arena *a, const glow_node *n)
{
    return n->attrs
               ? glow_arena_alloc(a, glow_schema_size(glow_op_schema(n->op)))
               : NULL;
}

bool
glow_slab_needs(const glow_node *n, slab r, slab in[], void *attrs)
{
    need_fn need = rule_of(n);

    if (attrs)
        memcpy(attrs, n->attrs, glow_schema_size(glow_op_schema(n->op)));
    for (int i = 0; i < n->n_in; i++)
        in[i] = (slab){.axis = WHOLE};
    return need && need(n, r, in, attrs);
}

const glow_type *
glow_slab_type(glow_context *ctx, const glow_type *t, slab r)
{
    glow_type part = *t;

    part.strides = (glow_dims){0};
    part.shape.at[r.axis] = r.size;
    return glow_type_get(ctx, part);
}

int64_t
glow_slab_bytes(const glow_type *t, slab r)
{
    int64_t bytes = glow_type_bytes(t);

    return r.axis == WHOLE ? bytes : bytes / t->shape.at[r.axis] * r.size;
}

glow_value *
glow_slab_take(glow_builder *b, glow_value *v, slab r)
{
    glow_slice a = {.start.rank =
                        r.axis == WHOLE || !v ? 0 : v->type->shape.rank};

    if (!v || r.axis == WHOLE ||
        (r.start == 0 && r.size == v->type->shape.at[r.axis]))
        return v;
    a.start.at[r.axis] = r.start;
    return glow_build(b, &glow_op_slice,
                      glow_slab_type(glow_builder_context(b), v->type, r),
                      GLOW_IN(v), &a);
}

glow_value *
glow_slab_build(glow_builder *b, const glow_node *n, slab r,
                glow_value *const *in, const void *attrs)
{
    const glow_type *stated =
        glow_states_type(n)
            ? glow_slab_type(glow_builder_context(b), n->out[0]->type, r)
            : NULL;

    return glow_build(b, n->op, stated, in, n->n_in, attrs);
}
