/*
 * lower-quantized: operators on quantized elements by tables, sums of integers, or
 * floats, with the same bits.
 *
 * An element-wise operator of one operand of 8 or 16 bits becomes a table of its
 * results; so does one of two operands, where one of 8 bits meets a splat:
 *
 *     %y = Sigmoid(%x)   =>   %y = IntLookupTable(%x, @y.table)
 *
 * A sum, or a mean, adds the elements without their scale:
 *
 *     %y = BatchedReduceAdd(%x : i8[S:s O:z]) {Axes: [0]} : i8[S:t O:w]
 *         =>
 *     %b = BitCast(%x) : int8
 *     %s = BatchedReduceAdd(ConvertTo(%b) : index64) {Axes: [0]}
 *     %f = ConvertTo(Sub(%s, count * z)) : float
 *     %q = Quantize(Mul(%f, s / t)) : i8[S:1 O:w]
 *     %y = BitCast(%q) : i8[S:t O:w]
 *
 * BatchedAdd and BatchedMul repeat the slice; AdaptiveAvgPool is AvgPool of each of
 * its windows; BatchOneHot selects between 1 and 0; sums of picked rows gather them
 * first.  The operators whose definition
 * is that they compute in float64 do so:
 *
 *     %y = SoftMax(%x)   =>   %d = Dequantize(%x) : float64
 *                             %s = SoftMax(%d) : float64
 *                             %y = Quantize(%s)
 *
 * Afterwards there are only the quantized operators that backends take.
 */

#include "glow/match.h"
#include "glow/quantize.h"
#include "glow/table.h"

#include "lower/sparse.h"

static const glow_type *
type_of(glow_builder *b, glow_kind kind, glow_dims shape)
{
    return glow_type_get(glow_builder_context(b), glow_type_of(kind, shape));
}

static bool
is_quantized(const glow_value *v)
{
    return v && glow_is_quantized(v->type->elem);
}

static bool
is_one_of(const glow_op *op, const glow_op *const *ops)
{
    while (*ops && *ops != op)
        ops++;
    return *ops;
}

/* Tables. */

static bool
is_conversion(const glow_node *n)
{
    static const glow_op *const ops[] = {&glow_op_quantize, &glow_op_dequantize,
                                         &glow_op_rescalequantized, NULL};

    return is_one_of(n->op, ops);
}

/* The position of the operand that a table of `n` is indexed by, or -1. */
static int
table_operand(const glow_node *n)
{
    int at = -1;

    if (!glow_maps_quantized(n) || n->op == &glow_op_intlookuptable ||
        is_conversion(n) || n->n_in > 2)
        return -1;
    for (int i = 0; i < n->n_in; i++) {
        if (n->n_in > 1 && glow_is_uniform(n->in[i]))
            continue;
        if (at >= 0)
            return -1;
        at = i;
    }
    if (at < 0)
        return -1;

    int64_t values = glow_quantized_values(n->in[at]->type->elem);

    return values && (n->n_in == 1 || values == 256) ? at : -1;
}

/* Sums. */

static glow_value *
bits_as(glow_builder *b, glow_value *v, const glow_type *type)
{
    return v ? GLOW_BUILD_STATED_PLAIN(b, bitcast, type, GLOW_IN(v)) : NULL;
}

static glow_kind
plain_kind(glow_kind k)
{
    switch (k) {
    case GLOW_INT8Q:
        return GLOW_INT8;
    case GLOW_UINT8Q:
        return GLOW_UINDEX8;
    case GLOW_INT16Q:
        return GLOW_INT16;
    case GLOW_INT32Q:
        return GLOW_INDEX32;
    default:
        return GLOW_INDEX64;
    }
}

/* The type of `y` with scale 1: elements of `y` are its reals and the offset. */
static const glow_type *
unscaled(glow_builder *b, const glow_type *y)
{
    glow_type t = *y;

    t.scale = 1;
    return glow_type_get(glow_builder_context(b), t);
}

static glow_value *
by_sum(glow_builder *b, const glow_node *n)
{
    const glow_reduce *r = n->attrs;
    const glow_type *x = n->in[0]->type, *y = n->out[0]->type;
    bool narrow =
        glow_quantized_values(x->elem) && glow_quantized_values(y->elem);
    glow_kind real = narrow ? GLOW_FLOAT : GLOW_FLOAT64;
    int64_t count = 1;
    glow_value *v =
        bits_as(b, n->in[0], type_of(b, plain_kind(x->elem), x->shape));

    for (int i = 0; i < r->axes.rank; i++)
        count *= x->shape.at[r->axes.at[i]];
    v = glow_lower_convert(b, v, GLOW_INDEX64);
    v = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v), .axes = r->axes);
    if (!v)
        return NULL;
    v = glow_build_sub(
        b, v,
        glow_lower_splat_int(b, v->type,
                             (int64_t)((uint64_t)count * (uint64_t)x->offset)));
    v = glow_lower_convert(b, v, real);
    if (!v)
        return NULL;

    double each = glow_is(n, &glow_op_batchedreducemean) ? (double)count : 1;
    double ratio = (double)x->scale / ((double)y->scale * each);

    v = glow_build_mul(
        b, v,
        glow_lower_splat(b, v->type, narrow ? (double)(float)ratio : ratio));
    v = v ? GLOW_BUILD_STATED_PLAIN(b, quantize, unscaled(b, y), GLOW_IN(v))
          : NULL;
    return bits_as(b, v, y);
}

/* Windows of AdaptiveAvgPool. */

static glow_value *
pool_windows(glow_builder *b, glow_value *v, const glow_type *y, int axis)
{
    glow_dims x = v->type->shape;
    glow_avgpool p = {.pads.rank = 2 * (x.rank - 2)};
    glow_value **parts;
    int64_t in, out;

    if (axis == x.rank - 1) {
        glow_type t = *y;

        p.kernels.rank = p.strides.rank = x.rank - 2;
        for (int a = 1; a < x.rank - 1; a++) {
            p.kernels.at[a - 1] = x.at[a];
            p.strides.at[a - 1] = t.shape.at[a] = 1;
        }
        return v ? glow_build(b, &glow_op_avgpool,
                              glow_type_get(glow_builder_context(b), t),
                              GLOW_IN(v), &p)
                 : NULL;
    }
    in = x.at[axis];
    out = y->shape.at[axis];
    parts = GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, out);
    for (int64_t i = 0; i < out; i++) {
        int64_t first = i * in / out, last = ((i + 1) * in + out - 1) / out;
        glow_value *cut = glow_lower_cut(b, v, axis, first, last - first);

        parts[i] = cut ? pool_windows(b, cut, y, axis + 1) : NULL;
        if (!parts[i])
            return NULL;
    }
    if (out == 1)
        return parts[0];
    return glow_build(b, &glow_op_concat, NULL, parts, (int)out,
                      &(const glow_concat){.dim = axis});
}

static glow_value *
by_windows(glow_builder *b, const glow_node *n)
{
    const glow_type *y = n->out[0]->type;
    glow_dims x = n->in[0]->type->shape;
    glow_avgpool p = {.pads.rank = 2 * (x.rank - 2)};
    bool alike = true;

    p.kernels.rank = p.strides.rank = x.rank - 2;
    for (int a = 1; a < x.rank - 1; a++) {
        alike &= x.at[a] % y->shape.at[a] == 0;
        p.kernels.at[a - 1] = p.strides.at[a - 1] = x.at[a] / y->shape.at[a];
    }
    return alike ? glow_build(b, &glow_op_avgpool, y, GLOW_IN(n->in[0]), &p)
                 : pool_windows(b, n->in[0], y, 1);
}

/* Batches. */

static glow_value *
by_repetition(glow_builder *b, const glow_node *n)
{
    glow_value *s = glow_lower_spread(b, n->in[1], 1, n->in[0]->type->shape);

    return s ? glow_build(b,
                          glow_is(n, &glow_op_batchedadd) ? &glow_op_add
                                                          : &glow_op_mul,
                          n->out[0]->type, GLOW_IN(n->in[0], s), NULL)
             : NULL;
}

/* Elements of one type are equal if their bits are. */
static glow_value *
by_selection(glow_builder *b, const glow_node *n)
{
    const glow_type *y = n->out[0]->type;
    glow_kind plain = plain_kind(n->in[0]->type->elem);
    glow_value *x =
        bits_as(b, n->in[0], type_of(b, plain, n->in[0]->type->shape));
    glow_value *v =
        bits_as(b, n->in[2], type_of(b, plain, n->in[2]->type->shape));
    glow_value *hot = GLOW_BUILD_PLAIN(b, batchonehot, GLOW_IN(x, n->in[1], v));
    glow_value *on = glow_lower_splat(b, y, 1),
               *off = glow_lower_splat(b, y, 0);

    hot = glow_lower_convert(b, hot, GLOW_BOOL);
    return hot && on && off
               ? GLOW_BUILD_STATED_PLAIN(b, select, y, GLOW_IN(hot, on, off))
               : NULL;
}

/* Floats. */

/* Operators that are not defined by their reals, or not lowered here. */
static bool
is_exact(const glow_node *n)
{
    static const glow_op *const ops[] = {
        &glow_op_add,
        &glow_op_sub,
        &glow_op_mul,
        &glow_op_cmpeq,
        &glow_op_cmpneq,
        &glow_op_cmplt,
        &glow_op_cmplte,
        &glow_op_select,
        &glow_op_maxpool,
        &glow_op_maxpoolwithargmax,
        &glow_op_avgpool,
        &glow_op_argmax,
        &glow_op_argmin,
        &glow_op_topk,
        &glow_op_bitcast,
        &glow_op_intlookuptable,
        NULL,
    };

    return is_conversion(n) || is_one_of(n->op, ops);
}

/* Operators that compute in float64 by definition. */
static bool
computes_reals(const glow_node *n)
{
    static const glow_op *const ops[] = {
        &glow_op_batchnormalization,
        &glow_op_batchedreducemax,
        &glow_op_batchedreducemin,
        &glow_op_batchedreduceprod,
        &glow_op_batchedreducesumsquare,
        &glow_op_cumprod,
        &glow_op_cumsum,
        &glow_op_hardmax,
        &glow_op_layernormalization,
        &glow_op_localresponsenormalization,
        &glow_op_logsoftmax,
        &glow_op_reducel1,
        &glow_op_reducel2,
        &glow_op_reducelogsum,
        &glow_op_reducelogsumexp,
        &glow_op_resizebilinear,
        &glow_op_rmsnormalization,
        &glow_op_softmax,
        NULL,
    };

    return n->n_out == 1 && is_quantized(n->out[0]) &&
           ((n->op->traits & GLOW_ELEMENTWISE && !is_exact(n)) ||
            is_one_of(n->op, ops));
}

static glow_value *
real_of(glow_builder *b, glow_value *v)
{
    if (is_quantized(v))
        return GLOW_BUILD_STATED_PLAIN(b, dequantize,
                                       type_of(b, GLOW_FLOAT64, v->type->shape),
                                       GLOW_IN(v));
    return v && glow_is_float(v->type->elem)
               ? glow_lower_convert(b, v, GLOW_FLOAT64)
               : v;
}

static glow_value *
by_reals(glow_builder *b, const glow_node *n)
{
    const glow_type *y = n->out[0]->type;
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);
    glow_value *v;

    for (int i = 0; i < n->n_in; i++) {
        in[i] = real_of(b, n->in[i]);
        if (n->in[i] && !in[i])
            return NULL;
    }
    v = glow_build(b, n->op, type_of(b, GLOW_FLOAT64, y->shape), in, n->n_in,
                   n->attrs);
    return v ? GLOW_BUILD_STATED_PLAIN(b, quantize, y, GLOW_IN(v)) : NULL;
}

/* 0, 1, .. below `n`: the numbers of rows, in order. */
static glow_value *
row_numbers(glow_builder *b, glow_kind kind, int64_t n)
{
    glow_value *c =
        glow_build_constant(b, "rows", type_of(b, kind, GLOW_DIMS_OF(n)));

    for (int64_t i = 0; c && i < n; i++)
        glow_set_int(&c->storage->tensor, i, i);
    return c;
}

/* Sums of rows: those that Indices names are picked before they become floats. */
static glow_value *
by_picked_rows(glow_builder *b, const glow_node *n)
{
    bool has_weights = glow_is(n, &glow_op_sparselengthsweightedsum);
    int at = has_weights ? 2 : 1;
    const glow_type *y = n->out[0]->type, *indices = n->in[at]->type;
    int64_t count = indices->shape.at[0];
    glow_value *in[4] = {NULL}, *of, *rows, *v;

    if (n->in[0]->type->shape.at[0] == 0 || count == 0)
        return glow_lower_splat(b, y, 0);
    of = glow_lower_runs(b, glow_lower_convert(b, n->in[at + 1], GLOW_INDEX64),
                         count);
    rows = glow_lower_used(b, n->in[at], of, n->in[at + 1]);
    rows =
        rows ? GLOW_BUILD(b, gather, GLOW_IN(n->in[0], rows), .axis = 0) : NULL;
    if (!rows)
        return NULL;
    in[0] = real_of(b, rows);
    if (has_weights)
        in[1] = real_of(b, n->in[1]);
    in[at] = row_numbers(b, indices->elem, count);
    in[at + 1] = n->in[at + 1];
    v = glow_build(b, n->op, type_of(b, GLOW_FLOAT64, y->shape), in, n->n_in,
                   n->attrs);
    return v ? GLOW_BUILD_STATED_PLAIN(b, quantize, y, GLOW_IN(v)) : NULL;
}

typedef struct row {
    const glow_op *op;
    glow_value *(*lower)(glow_builder *b, const glow_node *n);
} row;

/* The rule of an operator whose quantized form has one of its own. */
static const row *
row_of_op(const glow_op *op)
{
    static const row rows[] = {
        {&glow_op_adaptiveavgpool, by_windows},
        {&glow_op_batchedadd, by_repetition},
        {&glow_op_batchedmul, by_repetition},
        {&glow_op_batchedreduceadd, by_sum},
        {&glow_op_batchedreducemean, by_sum},
        {&glow_op_batchonehot, by_selection},
        {&glow_op_sparselengthssum, by_picked_rows},
        {&glow_op_sparselengthsweightedsum, by_picked_rows},
        {NULL, NULL},
    };
    const row *r = rows;

    while (r->op && r->op != op)
        r++;
    return r->op ? r : NULL;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    int at = table_operand(n);
    const row *r = row_of_op(n->op);

    if (!glow_computes_quantized(n))
        return NULL;
    if (at >= 0)
        return glow_build_table(b, n->in[at], &(const glow_node *){n}, 1);
    if (!r && !computes_reals(n))
        return NULL;
    if (glow_type_count(n->out[0]->type) == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    return r ? r->lower(b, n) : by_reals(b, n);
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, NULL, lower);
}

const glow_pass glow_pass_lower_quantized = {
    .name = "lower-quantized",
    .summary = "express operators on quantized elements by tables, integers or "
               "floats",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .takes_quantized = true,
    .run = run,
    .source =
        "Glow's lowering of quantized Tanh, Sigmoid, Log to IntLookupTable",
};
