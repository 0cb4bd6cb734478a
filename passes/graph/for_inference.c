/*
 * for-inference: take the form of inference of what training computes otherwise.
 *
 *     %now = MeanVarNormalization(%x, @mean, @var) {Momentum: 1}
 *     %y = BatchNormalization(%x, @s, @b, %now#NewMean, %now#NewVar)
 *  =>
 *     %y = BatchNormalization(%x, @s, @b, @mean, @var)
 *
 *     %y = Dropout(%x, ..)    =>  %x
 *
 *     %s = Save(%v, @state)   =>  nothing, if @state has {State: true}
 *
 * A batch is normalized by running statistics, no element is dropped, and no state
 * changes.  The inverse is for-training, for normalizations.  bind-placeholders and the
 * usual pipelines may follow; dce removes what only led to state.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/state.h"

/* The running statistic that result `i` of a MeanVarNormalization of `x` replaces. */
static glow_value *
running(const glow_value *v, const glow_value *x, int i)
{
    glow_node *n = glow_def(v, &glow_op_meanvarnormalization);

    return n && v->index == i && n->in[0] == x &&
                   GLOW_AS(meanvarnormalization, n)->momentum == 1
               ? n->in[1 + i]
               : NULL;
}

static bool
settle_statistics(glow_node *n)
{
    glow_value *mean = running(n->in[3], n->in[0], 0);
    glow_value *var = running(n->in[4], n->in[0], 1);

    if (!mean || !var)
        return false;
    glow_set_operand(n, 3, mean);
    glow_set_operand(n, 4, var);
    return true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    int count = 0, saves = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op == &glow_op_batchnormalization) {
            count += settle_statistics(n);
        } else if (n->op == &glow_op_dropout) {
            glow_replace_uses(n->out[0], n->in[0]);
            count++;
        } else if (n->op == &glow_op_save && glow_is_state(n->in[1]->storage)) {
            glow_node_erase(n);
            saves++;
        }
    }
    glow_erase_unused(f);
    glow_run_count(pass, "nodes", count);
    glow_run_count(pass, "saves", saves);
    return count + saves ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_for_inference = {
    .name = "for-inference",
    .summary = "take the form of inference of what training computes otherwise",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "a batch is normalized by running statistics, and state stays",
    .run = run,
    .source = "Ioffe, Szegedy, arXiv:1502.03167, algorithm 2",
};
