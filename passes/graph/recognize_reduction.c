/*
 * recognize-reduction: recognize norms, means and logarithms of sums.
 *
 *     BatchedReduceAdd(x * x), of Pow(x, 2)   =>  BatchedReduceSumSquare(x)
 *     BatchedReduceAdd(Abs(x))                =>  ReduceL1(x)
 *     Sqrt(BatchedReduceSumSquare(x))         =>  ReduceL2(x)
 *     Log(BatchedReduceAdd(Exp(x)))           =>  ReduceLogSumExp(x)
 *     ReduceLogSum(Exp(x))                    =>  ReduceLogSumExp(x)
 *     m + ReduceLogSumExp(x - [m])            =>  ReduceLogSumExp(x)
 *     BatchedReduceAdd(x) / count             =>  BatchedReduceMean(x)
 *
 * [m] is m broadcast along the reduced axes, and m has the shape of the result,
 * up to axes of one element; models subtract the maximum so that nothing
 * overflows, which ReduceLogSumExp does itself.  The last rule also matches a
 * product by the reciprocal.  If inner nodes have other users, nothing is
 * rewritten.
 *
 * Exporters of frameworks with fewer reductions than ONNX write these, in
 * losses and normalizations.  Lowering expands them again.  A composite
 * operator rounds once.
 */

#include "glow/formula.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/trace.h"

static glow_value *
reduce(glow_builder *b, const glow_op *op, const glow_node *from, glow_value *x)
{
    if (from->n_out != 1)
        return NULL;
    glow_builder_fuses(b, from);
    return glow_build(b, op, NULL, GLOW_IN(x), from->attrs);
}

static glow_value *
fold_sum(glow_builder *b, glow_node *n)
{
    const glow_node *mul = glow_only_def(n->in[0], &glow_op_pow);
    const glow_node *abs = glow_only_def(n->in[0], &glow_op_abs);

    if (mul && glow_is_number(mul->in[1], 2))
        return reduce(b, &glow_op_batchedreducesumsquare, n, mul->in[0]);
    if (abs)
        return reduce(b, &glow_op_reducel1, n, abs->in[0]);
    mul = glow_only_def(n->in[0], &glow_op_mul);
    if (mul && mul->in[0] == mul->in[1])
        return reduce(b, &glow_op_batchedreducesumsquare, n, mul->in[0]);
    return NULL;
}

static glow_value *
fold_sqrt(glow_builder *b, glow_node *n)
{
    const glow_node *s =
        glow_only_def(n->in[0], &glow_op_batchedreducesumsquare);

    return s ? reduce(b, &glow_op_reducel2, s, s->in[0]) : NULL;
}

/* Matches Log of a sum, and ReduceLogSum; `sum` is the reduction. */
static glow_value *
fold_log_sum(glow_builder *b, const glow_node *sum)
{
    const glow_node *exp = sum ? glow_only_def(sum->in[0], &glow_op_exp) : NULL;

    return exp ? reduce(b, &glow_op_reducelogsumexp, sum, exp->in[0]) : NULL;
}

static glow_value *
fold_log(glow_builder *b, glow_node *n)
{
    return fold_log_sum(b, glow_only_def(n->in[0], &glow_op_batchedreduceadd));
}

static glow_value *
fold_reduce_log_sum(glow_builder *b, glow_node *n)
{
    return fold_log_sum(b, n);
}

/* True if `wide` is `v` broadcast along the reduced axes. */
static bool
is_repeated(glow_value *wide, glow_value *v, glow_dims axes)
{
    glow_trace w = glow_trace_begin(wide), s = glow_trace_begin(v);
    int at = 0, k = 0;

    if (w.value != s.value)
        return false;
    for (int i = 0; i < w.axis.rank; i++) {
        bool gone = k < axes.rank && axes.at[k] == i;

        k += gone;
        if (gone ? w.axis.at[i] >= 0
                 : at >= s.axis.rank || w.axis.at[i] != s.axis.at[at])
            return false;
        at += !gone;
    }
    return at == s.axis.rank;
}

static glow_value *
fold_shift(glow_builder *b, glow_node *n)
{
    for (int i = 0; i < 2; i++) {
        const glow_node *r = glow_only_def(n->in[i], &glow_op_reducelogsumexp);
        const glow_node *sub = r ? glow_def(r->in[0], &glow_op_sub) : NULL;

        if (sub && is_repeated(sub->in[1], n->in[1 - i],
                               ((const glow_reduce *)r->attrs)->axes))
            return reduce(b, r->op, r, sub->in[0]);
    }
    return NULL;
}

static glow_value *
fold_mean(glow_builder *b, glow_node *n)
{
    glow_affine a = glow_read_affine(n->out[0]);
    const glow_node *sum = glow_only_def(a.x, &glow_op_batchedreduceadd);
    double count = 1;

    if (!sum || a.shift != 0)
        return NULL;
    for (int i = 0; i < ((const glow_reduce *)sum->attrs)->axes.rank; i++)
        count *=
            (double)sum->in[0]
                ->type->shape.at[((const glow_reduce *)sum->attrs)->axes.at[i]];
    if (count < 2 || !glow_is_near(a.scale * count, 1, a.x->type->elem))
        return NULL;
    return reduce(b, &glow_op_batchedreducemean, sum, sum->in[0]);
}

static const glow_rewrite_row rows[] = {
    {&glow_op_add, fold_shift}, {&glow_op_batchedreduceadd, fold_sum},
    {&glow_op_div, fold_mean},  {&glow_op_log, fold_log},
    {&glow_op_mul, fold_mean},  {&glow_op_reducelogsum, fold_reduce_log_sum},
    {&glow_op_sqrt, fold_sqrt}, {0},
};

static bool
gives_floats(const glow_node *n)
{
    return glow_is_float(n->out[0]->type->elem);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, gives_floats);
}

const glow_pass glow_pass_recognize_reduction = {
    .name = "recognize-reduction",
    .summary = "recognize norms, means and logarithms of sums",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
};
