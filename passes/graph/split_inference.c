/*
 * split-inference: make two functions of a differentiated one, a step and inference.
 *
 *     function @main {                        function @step {
 *       %p = SoftMax(..)                        the same
 *       %s = Save(%p, @probability)           }
 *       ..                              =>
 *       %t = Save(%l, @loss)                  function @run {
 *       %g = Save(%w.grad, @grad.w)             %p = SoftMax(..)
 *     }                                         %s = Save(%p, @probability)
 *                                             }
 *
 * @run computes what @main saves but for the loss, gradients and state, in the form of
 * inference: normalizations take running statistics, nothing is dropped, and no state
 * changes.  Both read one state, so that @run computes with the weights that @step left.
 * `step` and `run` are the names.
 *
 * The pass comes after differentiate, whose placeholders tell the loss, and before
 * update-weights.  Nothing else follows from the split: a bundle of both has one memory of
 * state and one of constants, see docs/boards.md.
 */

#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "passes/graph/common/inference.h"

typedef struct split_options {
    const char *step, *run;
} split_options;

/* The placeholder of the loss that `s` is a gradient of, or NULL. */
static const glow_storage *
loss_of(const glow_storage *s)
{
    const glow_attr_value *loss = glow_attr_find(s->attrs, "GradientOf")
                                      ? glow_attr_find(s->attrs, "Loss")
                                      : NULL;

    return loss && loss->kind == GLOW_V_STRING
               ? glow_find_storage(s->module, loss->text)
               : NULL;
}

static bool
is_loss(const glow_storage *s)
{
    GLOW_FOR_EACH_STORAGE(g, s->module)
        if (!g->is_constant && loss_of(g) == s)
            return true;
    return false;
}

static bool
has_gradients(const glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (n->op == &glow_op_save && loss_of(n->in[1]->storage))
            return true;
    return false;
}

static bool
check_name(const glow_func *f, const char *name)
{
    const glow_func *other = glow_find_func(f->module, name);

    return !other || other == f ||
           glow_error_at(f->module->ctx, other->span, "E0487",
                         "split-inference: there is a function @%s already",
                         name);
}

static glow_result
split(const split_options *o, glow_func *f)
{
    glow_func *step, *inference;
    int nodes = 0, saves = 0;

    if (strcmp(o->step, o->run) == 0) {
        glow_error(f->module->ctx, "E0487",
                   "split-inference: both functions are to be @%s", o->run);
        return GLOW_FAILED;
    }
    if (!check_name(f, o->run) || !check_name(f, o->step))
        return GLOW_FAILED;
    step = strcmp(f->name, o->step) == 0 ? f : glow_func_clone(f, o->step);
    inference = glow_func_clone(f, o->run);
    glow_settle_inference(inference, &nodes, &saves);
    GLOW_FOR_EACH_NODE(n, inference)
        if (n->op == &glow_op_save &&
            (loss_of(n->in[1]->storage) || is_loss(n->in[1]->storage)))
            glow_node_erase(n);
    glow_erase_unused(inference);
    if (step != f)
        glow_func_erase(f);
    return GLOW_CHANGED;
}

static glow_result
run_module(glow_pass_run *pass, glow_module *m)
{
    glow_func *only = NULL;

    GLOW_FOR_EACH_FUNC(f, m)
        if (has_gradients(f)) {
            if (only) {
                glow_error_at(m->ctx, f->span, "E0487",
                              "split-inference: @%s and @%s both have "
                              "gradients",
                              only->name, f->name);
                return GLOW_FAILED;
            }
            only = f;
        }
    if (only)
        return split(glow_run_options(pass), only);
    glow_error(m->ctx, "E0487",
               "split-inference: no function saves a gradient; the pass comes "
               "after differentiate");
    return GLOW_FAILED;
}

const glow_pass glow_pass_split_inference = {
    .name = "split-inference",
    .summary = "make a step of training and inference of a function",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "one function becomes two",
    .options = {GLOW_FIELD_DEFAULT(split_options, step, GLOW_STRING,
                                   "the name of the step"),
                GLOW_FIELD_DEFAULT(split_options, run, GLOW_STRING,
                                   "the name of inference")},
    .defaults = &(const split_options){.step = "step", .run = "run"},
    .run_module = run_module,
};
