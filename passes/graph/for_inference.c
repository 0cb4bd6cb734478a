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

#include "passes/graph/common/inference.h"

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    int count = 0, saves = 0;

    glow_settle_inference(f, &count, &saves);
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
