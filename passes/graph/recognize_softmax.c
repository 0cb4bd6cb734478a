/*
 * recognize-softmax: recognize SoftMax and LogSoftMax in exponentials and sums.
 *
 *     %e = Exp(%x)
 *     %y = %e / [BatchedReduceAdd(%e) {Axes: [a]}]    [..]: repeated along a
 *                                             =>  %y = SoftMax(%x) {Axis: a}
 *     Log(SoftMax(%x))                        =>  LogSoftMax(%x)
 *     %x - [ReduceLogSumExp(%x) {Axes: [a]}]  =>  LogSoftMax(%x)
 *     SoftMax(%x - [%m]), LogSoftMax(%x - [%m])
 *                                             =>  SoftMax(%x), LogSoftMax(%x)
 *
 * where the quotient may be a product by the reciprocal.  An %m that is
 * constant along the axis divides numerator and denominator by e^m and cancels;
 * models subtract the maximum so that nothing overflows, which SoftMax does
 * itself.
 *
 * Glow folds the first one as well (FoldExpSumDivIntoSoftmax).  For large %x
 * the exponentials overflow and the quotient is NaN; SoftMax gives the intended
 * result.  The last two rules keep %x - [%m] if it has other users, and match
 * any %m; Glow matches no subtraction. recognize-reduction recognizes
 * ReduceLogSumExp.
 */

#include <math.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/trace.h"

/* The axis if `t` is the reduction `op` of `x` along one axis, else -1. */
static int
reduced_axis(const glow_trace *t, const glow_op *op, const glow_value *x)
{
    const glow_node *n = glow_trace_def(t, op);
    const glow_reduce *r = n ? n->attrs : NULL;

    return n && n->in[0] == x && r->axes.rank == 1 &&
                   glow_trace_is_reduced(t, r->axes)
               ? (int)r->axes.at[0]
               : -1;
}

/*
 * The axis if `v` is the sum of `e` along one axis, or with `over` its
 * reciprocal; else -1.
 */
static int
sum_axis(glow_value *v, const glow_value *e, bool over)
{
    glow_trace t = glow_trace_begin(v);
    const glow_node *div = glow_trace_def(&t, &glow_op_div);

    if (over && glow_trace_def(&t, &glow_op_reciprocal))
        t = glow_trace_into(&t, 0);
    else if (over && div && glow_is_number(div->in[0], 1))
        t = glow_trace_into(&t, 1);
    else if (over)
        return -1;
    return reduced_axis(&t, &glow_op_batchedreduceadd, e);
}

static glow_value *
build_softmax(glow_builder *b, const glow_value *e, int axis)
{
    const glow_node *exp = glow_def(e, &glow_op_exp);

    if (!exp || axis < 0)
        return NULL;
    glow_builder_fuses(b, exp);
    return GLOW_BUILD(b, softmax, GLOW_IN(exp->in[0]), .axis = axis);
}

static glow_value *
fold_quotient(glow_builder *b, glow_node *n)
{
    if (!glow_def(n->in[0], &glow_op_exp))
        return NULL;
    return build_softmax(b, n->in[0], sum_axis(n->in[1], n->in[0], false));
}

static glow_value *
fold_product(glow_builder *b, glow_node *n)
{
    for (int i = 0; i < 2; i++)
        if (glow_def(n->in[i], &glow_op_exp)) {
            int axis = sum_axis(n->in[1 - i], n->in[i], true);

            if (axis >= 0)
                return build_softmax(b, n->in[i], axis);
        }
    return NULL;
}

static glow_value *
fold_log(glow_builder *b, glow_node *n)
{
    const glow_node *s = glow_only_def(n->in[0], &glow_op_softmax);

    if (!s)
        return NULL;
    glow_builder_fuses(b, s);
    return GLOW_BUILD(b, logsoftmax, GLOW_IN(s->in[0]),
                      .axis = ((const glow_softmax *)s->attrs)->axis);
}

static glow_value *
fold_difference(glow_builder *b, glow_node *n)
{
    glow_trace t = glow_trace_begin(n->in[1]);
    int axis = reduced_axis(&t, &glow_op_reducelogsumexp, n->in[0]);

    return axis < 0
               ? NULL
               : GLOW_BUILD(b, logsoftmax, GLOW_IN(n->in[0]), .axis = axis);
}

/* Drops an addend that is constant along the axis. */
static glow_value *
drop_shift(glow_builder *b, glow_node *n)
{
    const glow_softmax *s = n->attrs;
    const glow_node *def = n->in[0]->def;
    bool is_sum = glow_is(def, &glow_op_add);

    if ((!is_sum && !glow_is(def, &glow_op_sub)) || def->pred ||
        n->in[0]->type->shape.at[s->axis] == 1)
        return NULL;
    for (int i = is_sum ? 0 : 1; i < 2; i++) {
        glow_trace t = glow_trace_begin(def->in[i]);
        double number;

        if (t.axis.at[s->axis] >= 0 &&
            !(glow_splat_value(def->in[i], &number) && isfinite(number)))
            continue;
        glow_builder_fuses(b, def);
        return glow_build(b, n->op, NULL, GLOW_IN(def->in[1 - i]), n->attrs);
    }
    return NULL;
}

static const glow_rewrite_row rows[] = {
    {&glow_op_div, fold_quotient},
    {&glow_op_mul, fold_product},
    {&glow_op_log, fold_log},
    {&glow_op_sub, fold_difference},
    {&glow_op_softmax, drop_shift},
    {&glow_op_logsoftmax, drop_shift},
    {0},
};

static bool
is_of_floats(const glow_node *n)
{
    return glow_is_float(n->out[0]->type->elem) &&
           n->in[0]->type == n->out[0]->type;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, is_of_floats);
}

const glow_pass glow_pass_recognize_softmax = {
    .name = "recognize-softmax",
    .summary = "recognize SoftMax and LogSoftMax",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Glow, FoldExpSumDivIntoSoftmax",
};
