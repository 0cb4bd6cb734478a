/*
 * update-weights: step along gradients, and save the weights.
 *
 *     placeholder @w : float<4> {Trained: true}
 *     placeholder @grad.w : float<4> {GradientOf: "w", Loss: "loss"}
 *     %s = Save(%g, @grad.w)
 *  =>
 *     placeholder @rate : float<> {Rate: true}
 *     placeholder @step : index64<> {State: true}
 *     placeholder @momentum.w : float<4> {State: true}
 *     %t = Add(@step, 1)
 *     %w.momentum = Momentum(@rate, %t, @w, %g, @momentum.w) {Alpha: 0.9, Beta: 1.0, ..}
 *     %w.save = Save(%w.momentum#NewX, @w)
 *     %w.save.1 = Save(%w.momentum#NewV, @momentum.w)
 *     %step.save = Save(%t, @step)
 *
 * for each gradient that the function saves; the placeholder of the gradient is gone.
 * State is zero before the first step, and so are moments.  Where the function saves
 * to placeholders with {Gate: true} (accumulate-gradients), all that is saved stays as
 * it is unless each of them is true.  @rate is an operand, so that
 * a schedule of rates needs no compilation.
 *
 *     sgd        w - rate (g + decay w)
 *     momentum   Momentum with Beta 1: the first step is the gradient
 *     nesterov   the same, with Mode nesterov
 *     adagrad    Adagrad
 *     adam       Adam with CorrectFirst, T counted from 1
 *     adamw      the same, with WeightDecay `decay`
 *     rmsprop    Adam with Alpha 0 and T 0: neither a mean nor corrections
 *
 * `alpha`, `beta`, `epsilon` and `decay` are Alpha, Beta, Epsilon and NormCoefficient of
 * these operators.
 */

#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "passes/graph/common/gates.h"
#include "passes/graph/common/gradients.h"

enum { SGD, MOMENTUM, NESTEROV, ADAGRAD, ADAM, ADAMW, RMSPROP };

static const char *const optimizers[] = {
    "sgd", "momentum", "nesterov", "adagrad", "adam", "adamw", "rmsprop", NULL};

typedef struct update_options {
    int optimizer;
    float alpha, beta, epsilon, decay;
} update_options;

typedef struct update {
    glow_pass_run *run;
    const update_options *o;
    glow_func *f;
    glow_builder *b;
    glow_arena *arena;
    glow_value *rate, *step; /* the placeholder; the number of this step */
    glow_value *open;        /* if this run is a step; NULL: each is */
} update;

/* Saves `v`, or what `to` has already where the gates are shut. */
static bool
save(update *u, glow_value *v, glow_value *to)
{
    if (u->open && v)
        v = glow_where(u->b, u->open, v, to);
    return glow_save(u->b, v, to);
}

/* The rate, the number of this step, and what counts it. */
static bool
begin(update *u)
{
    glow_context *ctx = u->f->module->ctx;
    static const glow_attr rate_attrs[] = {
        {.name = "Rate", .value = {.kind = GLOW_V_BOOL, .i = true}}};
    glow_dims scalar = {.rank = 0};
    glow_value *step, *one;

    if (!glow_take_gates(u->b, u->f, &u->open))
        return false;
    u->rate = &glow_placeholder_new(
                   u->f->module, "rate",
                   glow_type_get(ctx, glow_type_of(GLOW_FLOAT, scalar)))
                   ->value;
    u->rate->storage->attrs = (glow_attr_list){rate_attrs, 1};
    step =
        glow_new_state(u->f->module, "step",
                       glow_type_get(ctx, glow_type_of(GLOW_INDEX64, scalar)));
    glow_builder_named(u->b, "step", NULL);
    one = glow_build_like(u->b, step, 1);
    u->step = GLOW_BUILD_PLAIN(u->b, add, GLOW_IN(step, one));
    return u->step && save(u, u->step, step);
}

/* The rate in the kind of `w`. */
static glow_value *
rate_for(update *u, const glow_value *w)
{
    return glow_in_kind(u->b, u->rate, w->type->elem);
}

/* w - rate (g + decay w) */
static bool
descend(update *u, glow_value *w, glow_value *g)
{
    glow_value *rate = rate_for(u, w), *decay;

    if (u->o->decay != 0) {
        decay = glow_build_like(u->b, w, (double)u->o->decay);
        decay = GLOW_BUILD_PLAIN(u->b, mul, GLOW_IN(w, decay));
        g = GLOW_BUILD_PLAIN(u->b, add, GLOW_IN(g, decay));
    }
    rate = glow_spread(u->b, rate, w->type->shape);
    g = GLOW_BUILD_PLAIN(u->b, mul, GLOW_IN(rate, g));
    g = GLOW_BUILD_PLAIN(u->b, sub, GLOW_IN(w, g));
    return g && save(u, g, w);
}

/* A step by operator `op` with `n` tensors of state, named by `names`. */
static bool
step_by(update *u, const glow_op *op, const void *attrs, glow_value *w,
        glow_value *g, const char *const *names, int n)
{
    glow_value *in[6] = {rate_for(u, w), u->step, w, g};
    glow_value *new;

    for (int i = 0; i < n; i++)
        in[4 + i] = glow_new_state(
            u->f->module,
            glow_arena_printf(u->arena, "%s.%s", names[i], w->storage->name),
            w->type);
    new = glow_build(u->b, op, NULL, in, 4 + n, attrs);
    if (!new || !save(u, new, w))
        return false;
    for (int i = 0; i < n; i++)
        if (!save(u, new->def->out[1 + i], in[4 + i]))
            return false;
    return true;
}

/* Adam without a mean, and without corrections, which T = 0 leaves out. */
static bool
rmsprop(update *u, glow_value *w, glow_value *g)
{
    const char *name =
        glow_arena_printf(u->arena, "squares.%s", w->storage->name);
    glow_value *squares = glow_new_state(u->f->module, name, w->type), *new;
    glow_value *rate = rate_for(u, w),
               *none = glow_build_like(u->b, u->step, 0);

    new = GLOW_BUILD(
        u->b, adam,
        GLOW_IN(rate, none, w, g, glow_build_like(u->b, w, 0), squares),
        .beta = u->o->beta, .epsilon = u->o->epsilon,
        .norm_coefficient = u->o->decay);
    return new && save(u, new, w) && save(u, new->def->out[2], squares);
}

static bool
update_weight(update *u, glow_value *w, glow_value *g)
{
    const update_options *o = u->o;

    glow_builder_named(u->b, w->storage->name, w->storage->loc);
    switch (o->optimizer) {
    case SGD:
        return descend(u, w, g);
    case MOMENTUM:
    case NESTEROV:
        return step_by(
            u, &glow_op_momentum,
            &(const glow_momentum){.alpha = o->alpha,
                                   .beta = 1,
                                   .norm_coefficient = o->decay,
                                   .mode = o->optimizer == NESTEROV
                                               ? GLOW_MOMENTUM_NESTEROV
                                               : GLOW_MOMENTUM_STANDARD},
            w, g, (const char *const[]){"momentum"}, 1);
    case ADAGRAD:
        return step_by(u, &glow_op_adagrad,
                       &(const glow_adagrad){.epsilon = o->epsilon,
                                             .norm_coefficient = o->decay},
                       w, g, (const char *const[]){"squares"}, 1);
    case RMSPROP:
        return rmsprop(u, w, g);
    default:
        return step_by(
            u, &glow_op_adam,
            &(const glow_adam){
                .alpha = o->alpha,
                .beta = o->beta,
                .epsilon = o->epsilon,
                .norm_coefficient = o->optimizer == ADAM ? o->decay : 0,
                .weight_decay = o->optimizer == ADAMW ? o->decay : 0,
                .correct_first = true},
            w, g, (const char *const[]){"mean", "squares"}, 2);
    }
}

/* The placeholder that a Save of a gradient says that it is of; NULL: none. */
static glow_storage *
updated_by(const glow_node *n)
{
    const glow_attr_value *of =
        n->op == &glow_op_save
            ? glow_attr_find(n->in[1]->storage->attrs, "GradientOf")
            : NULL;

    return of && of->kind == GLOW_V_STRING
               ? glow_find_storage(n->func->module, of->text)
               : NULL;
}

/* False after a report where `w` cannot be updated by the Save `n`. */
static bool
check(const glow_func *f, const glow_node *n, const glow_storage *w)
{
    GLOW_FOR_EACH_USE(u, &w->value)
        if (u->user->func == f && u->user->op == &glow_op_save && u->index == 1)
            return glow_error_at(f->module->ctx, u->user->span, "E0445",
                                 "@%s is saved by %%%s already, and cannot be "
                                 "updated",
                                 w->name, u->user->name);
    if (w->is_constant || w->value.type != n->in[0]->type)
        return glow_error_at(f->module->ctx, n->span, "E0445",
                             "@%s cannot be updated: it is %s of type %s, and "
                             "the gradient has type %s",
                             w->name,
                             w->is_constant ? "a constant" : "a placeholder",
                             glow_type_text(f->module->arena, w->value.type),
                             glow_type_text(f->module->arena, n->in[0]->type));
    return true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    update u = {.run = pass,
                .o = glow_run_options(pass),
                .f = f,
                .arena = glow_run_scratch(pass)};
    const glow_node *last = f->last;
    int count = 0;

    u.b = glow_builder_new(u.arena, f, glow_run_pass(pass)->name);
    GLOW_FOR_EACH_NODE(n, f) {
        glow_storage *w = updated_by(n), *gradient;
        glow_value *g = n->op == &glow_op_save ? n->in[0] : NULL;
        bool is_last = n == last;

        if (w) {
            if (!check(f, n, w) || (count == 0 && !begin(&u)))
                return GLOW_FAILED;
            gradient = n->in[1]->storage;
            glow_node_erase(n);
            if (glow_is_unused(&gradient->value))
                glow_storage_erase(gradient);
            if (!update_weight(&u, &w->value, g))
                return GLOW_FAILED;
            count++;
        }
        if (is_last)
            break;
    }
    glow_run_count(pass, "weights", count);
    return count ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_update_weights = {
    .name = "update-weights",
    .summary = "step along gradients, and save the weights",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "weights are written, and gradients are no results any more",
    .options = {GLOW_FIELD_ENUM(update_options, optimizer, optimizers,
                                "the formula of a step"),
                GLOW_FIELD_DEFAULT(update_options, alpha, GLOW_FLOAT32,
                                   "what stays of the momentum or mean"),
                GLOW_FIELD_DEFAULT(update_options, beta, GLOW_FLOAT32,
                                   "what stays of the mean of squares"),
                GLOW_FIELD_DEFAULT(update_options, epsilon, GLOW_FLOAT32,
                                   "added to roots"),
                GLOW_FIELD_DEFAULT(update_options, decay, GLOW_FLOAT32,
                                   "the pull of weights toward 0")},
    .defaults = &(const update_options){.optimizer = SGD,
                                        .alpha = 0.9f,
                                        .beta = 0.999f,
                                        .epsilon = 1e-8f},
    .run = run,
    .source = "Glow, SGD; Robbins and Monro, 1951; Polyak, 1964; Kingma and "
              "Ba, arXiv:1412.6980",
};
