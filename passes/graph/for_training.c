/*
 * for-training: normalize by the statistics of the batch, and keep running ones.
 *
 *     %y = BatchNormalization(%x, @s, @b, @mean, @var)
 *  =>
 *     %now = MeanVarNormalization(%x, @mean, @var) {Momentum: 1}
 *     %y = BatchNormalization(%x, @s, @b, %now#NewMean, %now#NewVar)
 *     %later = MeanVarNormalization(%x, @mean, @var) {Momentum: m}
 *     %s = Save(%later#NewMean, @mean)
 *     %t = Save(%later#NewVar, @var)
 *
 * where @mean and @var are placeholders that no function writes.  They are state
 * afterwards, and not trained: `momentum`, m, is the weight of the batch at hand.
 *
 * Models come with running statistics, by which inference normalizes.  The inverse is
 * for-inference.  The pass comes before `differentiate`.
 */

#include "glow/ops.h"
#include "glow/state.h"
#include "passes/graph/common/gradients.h"

typedef struct training_options {
    float momentum;
} training_options;

static bool
is_running(const glow_func *f, const glow_value *v)
{
    return !v->def && !v->storage->is_constant &&
           !glow_func_writes(f, v->storage);
}

static void
make_state(glow_storage *s)
{
    static const glow_attr attrs[] = {
        {.name = "State", .value = {.kind = GLOW_V_BOOL, .i = true}}};

    s->attrs = (glow_attr_list){attrs, 1};
}

static bool
convert(glow_builder *b, glow_node *n, float momentum)
{
    const glow_batchnormalization *a = GLOW_AS(batchnormalization, n);
    glow_value *mean = n->in[3], *var = n->in[4];
    glow_value *now =
        GLOW_BUILD(b, meanvarnormalization, GLOW_IN(n->in[0], mean, var),
                   .channel_idx = a->channel_idx, .momentum = 1);
    glow_value *later =
        GLOW_BUILD(b, meanvarnormalization, GLOW_IN(n->in[0], mean, var),
                   .channel_idx = a->channel_idx, .momentum = momentum);

    if (!now || !later)
        return false;
    glow_set_operand(n, 3, now->def->out[0]);
    glow_set_operand(n, 4, now->def->out[1]);
    make_state(mean->storage);
    make_state(var->storage);
    return glow_save(b, later->def->out[0], mean) &&
           glow_save(b, later->def->out[1], var);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const training_options *o = glow_run_options(pass);
    glow_builder *b =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    int count = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op != &glow_op_batchnormalization || !is_running(f, n->in[3]) ||
            !is_running(f, n->in[4]))
            continue;
        glow_builder_at(b, n);
        if (!convert(b, n, o->momentum))
            return GLOW_FAILED;
        count++;
    }
    glow_run_count(pass, "normalizations", count);
    return count ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_for_training = {
    .name = "for-training",
    .summary =
        "normalize by the statistics of the batch, and keep running ones",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "a batch is normalized by itself",
    .options = {GLOW_FIELD_DEFAULT(training_options, momentum, GLOW_FLOAT32,
                                   "the weight of the batch in running "
                                   "statistics")},
    .defaults = &(const training_options){.momentum = 0.1f},
    .run = run,
    .source = "Ioffe, Szegedy, arXiv:1502.03167, algorithm 2",
};
