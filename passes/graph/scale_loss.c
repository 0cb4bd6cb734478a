/*
 * scale-loss: differentiate a multiple of the loss, whose factor adapts.
 *
 *     %s = Save(%l, @loss)
 *  =>
 *     placeholder @loss.scale : float<> {State: true, LossScale: true}
 *     placeholder @scaled.loss : float<>
 *     %k = Select(@loss.scale == 0, [initial], @loss.scale)
 *     %m = Mul(%l, %k)
 *     %t = Save(%m, @scaled.loss)
 *
 * Small gradients are zero in float16, whose least number is 6e-8; those of @scaled.loss
 * are %k times as large.  unscale-gradients divides by %k again, and writes its next value.
 *
 * The pass comes before `differentiate`, which is given @scaled.loss; convert-precision
 * comes after both.
 */

#include <string.h>

#include "glow/ops.h"
#include "passes/graph/common/gates.h"
#include "passes/graph/common/gradients.h"

typedef struct scale_options {
    const char *loss;
    float initial;
} scale_options;

static glow_node *
find_loss(const scale_options *o, const glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (n->op == &glow_op_save &&
            strcmp(n->in[1]->storage->name, o->loss) == 0 &&
            glow_is_float(n->in[1]->type->elem) &&
            n->in[1]->type->shape.rank == 0)
            return n;
    glow_error(f->module->ctx, "E0440",
               "scale-loss: function @%s saves no single float to the loss @%s",
               f->name, o->loss);
    return NULL;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const scale_options *o = glow_run_options(pass);
    glow_node *save = find_loss(o, f);
    glow_builder *b;
    glow_value *scale, *v;

    if (!save)
        return GLOW_FAILED;
    b = glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    glow_builder_named(b, "loss.scale", save->loc);
    scale = glow_add_loss_scale(b, o->initial, save->in[0]->type->elem);
    v = scale ? GLOW_BUILD_PLAIN(b, mul, GLOW_IN(save->in[0], scale)) : NULL;
    return glow_save_new(b, "scaled.loss", v) ? GLOW_CHANGED : GLOW_FAILED;
}

const glow_pass glow_pass_scale_loss = {
    .name = "scale-loss",
    .summary = "differentiate a multiple of the loss, whose factor adapts",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "there is a second loss",
    .options = {GLOW_FIELD_DEFAULT(scale_options, loss, GLOW_STRING,
                                   "the placeholder of the loss"),
                GLOW_FIELD_DEFAULT(scale_options, initial, GLOW_FLOAT32,
                                   "the first factor")},
    .defaults = &(const scale_options){.loss = "loss", .initial = 32768},
    .run = run,
    .source = "Micikevicius et al., Mixed Precision Training, arXiv:1710.03740",
};
