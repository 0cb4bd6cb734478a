/*
 * append-loss: append a loss to a network that has none.
 *
 *     %p = SoftMax(%x)                  the same, and
 *     %s = Save(%p, @probability)       placeholder @label : index64<N>
 *                                       placeholder @loss : float<>
 *                                  =>   %l = LogSoftMax(%x)
 *                                       %n = NegativeLogLikelihoodLoss(%l, @label)
 *                                       %t = Save(%n, @loss)
 *
 * `of` names the placeholder that the function saves its result to; it may be left out
 * where there is only one of floats.  `label` and `loss` name the new placeholders.
 *
 *     cross-entropy    classes along axis 1, or along the axis of a SoftMax; the label of
 *                      each row is the number of its class
 *     binary           a logit or a Sigmoid for each element, whose label is 0 or 1
 *     squared-error    the mean of the squares of what the result is off by
 *
 * The loss is the mean over rows or elements.  The logarithm of a SoftMax or Sigmoid is
 * taken as one operator, because that of the rounded probability loses all digits where
 * the probability is near 0.  Rows whose label is `ignore_index` do not count in
 * cross-entropy; by default all do.
 *
 * Models come without the loss that they were trained by.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "passes/graph/common/gradients.h"

enum { CROSS_ENTROPY, BINARY, SQUARED_ERROR };

static const char *const kinds[] = {"cross-entropy", "binary", "squared-error",
                                    NULL};

typedef struct loss_options {
    const char *of, *label, *loss;
    int kind;
    int64_t ignore_index;
} loss_options;

/* The Save of the result, or NULL after a report. */
static glow_node *
find_result(const loss_options *o, const glow_func *f)
{
    glow_context *ctx = f->module->ctx;
    glow_node *found = NULL;
    int count = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op != &glow_op_save || !glow_is_float(n->in[0]->type->elem) ||
            (*o->of && strcmp(o->of, n->in[1]->storage->name) != 0))
            continue;
        found = n;
        count++;
    }
    if (count == 1)
        return found;
    if (*o->of)
        glow_error(ctx, "E0446",
                   "append-loss: function @%s saves no floats to @%s", f->name,
                   o->of);
    else
        glow_error(ctx, "E0446",
                   "append-loss: function @%s saves %d placeholders of floats; "
                   "name the result: -append-loss='of=NAME'",
                   f->name, count);
    return NULL;
}

static glow_value *
new_label(glow_func *f, const loss_options *o, glow_kind kind, glow_dims shape)
{
    return &glow_placeholder_new(
                f->module, o->label,
                glow_type_get(f->module->ctx, glow_type_of(kind, shape)))
                ->value;
}

/* Classes along axis 1: [N, C, ...], or all axes but the last as N. */
static glow_value *
cross_entropy(glow_builder *b, const loss_options *o, glow_value *v)
{
    glow_node *soft = glow_def(v, &glow_op_softmax);
    glow_node *log = glow_def(v, &glow_op_logsoftmax);
    int axis = soft  ? GLOW_AS(softmax, soft)->axis
               : log ? GLOW_AS(logsoftmax, log)->axis
                     : 1;
    glow_dims shape = v->type->shape, rest = {.rank = 0};
    glow_value *x = soft ? soft->in[0] : v, *label;

    if (shape.rank < 2 || (axis != 1 && axis != shape.rank - 1)) {
        glow_error(glow_builder_context(b), "E0446",
                   "append-loss: cross-entropy takes classes along axis 1 or "
                   "the last one, not axis %d of %d",
                   axis, shape.rank);
        return NULL;
    }
    for (int i = 0; i < shape.rank; i++)
        if (i != axis)
            rest.at[rest.rank++] = shape.at[i];
    label = new_label(glow_builder_func(b), o, GLOW_INDEX64, rest);
    if (!log)
        x = GLOW_BUILD(b, logsoftmax, GLOW_IN(x), .axis = axis);
    if (axis != 1) {
        glow_dims rows = GLOW_DIMS_OF(glow_dims_count(rest));

        label = GLOW_BUILD(b, reshape, GLOW_IN(label), .dims = rows);
        x = GLOW_BUILD(b, reshape, GLOW_IN(x),
                       .dims = GLOW_DIMS_OF(rows.at[0], shape.at[axis]));
    }
    return GLOW_BUILD(b, negativeloglikelihoodloss, GLOW_IN(x, label, NULL),
                      .reduction = GLOW_LOSS_MEAN,
                      .ignore_index = o->ignore_index);
}

static glow_value *
binary(glow_builder *b, const loss_options *o, glow_value *v)
{
    glow_value *x = glow_through(v, &glow_op_sigmoid);
    glow_value *label =
        new_label(glow_builder_func(b), o, x->type->elem, x->type->shape);

    return GLOW_BUILD(b, binarycrossentropywithlogits,
                      GLOW_IN(x, label, NULL, NULL),
                      .reduction = GLOW_LOSS_MEAN);
}

static glow_value *
squared_error(glow_builder *b, const loss_options *o, glow_value *v)
{
    glow_value *label =
        new_label(glow_builder_func(b), o, v->type->elem, v->type->shape);
    glow_value *away = GLOW_BUILD_PLAIN(b, sub, GLOW_IN(v, label));
    glow_dims axes = {.rank = v->type->shape.rank};

    for (int i = 0; i < axes.rank; i++)
        axes.at[i] = i;
    away = GLOW_BUILD_PLAIN(b, mul, GLOW_IN(away, away));
    return axes.rank == 0
               ? away
               : GLOW_BUILD(b, batchedreducemean, GLOW_IN(away), .axes = axes);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const loss_options *o = glow_run_options(pass);
    glow_node *save;
    glow_builder *b;
    glow_value *loss;

    if (glow_is_body(f))
        return GLOW_UNCHANGED;
    if (o->ignore_index != GLOW_IGNORE_NONE && o->kind != CROSS_ENTROPY) {
        glow_error(f->module->ctx, "E0420",
                   "append-loss: ignore_index=%" PRId64
                   " names a label of kind=cross-entropy, but this is %s",
                   o->ignore_index, kinds[o->kind]);
        return GLOW_FAILED;
    }
    save = find_result(o, f);
    if (!save)
        return GLOW_FAILED;
    b = glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    glow_builder_named(b, o->loss, save->loc);
    loss = o->kind == CROSS_ENTROPY ? cross_entropy(b, o, save->in[0])
           : o->kind == BINARY      ? binary(b, o, save->in[0])
                                    : squared_error(b, o, save->in[0]);
    return glow_save_new(b, o->loss, loss) ? GLOW_CHANGED : GLOW_FAILED;
}

const glow_pass glow_pass_append_loss = {
    .name = "append-loss",
    .summary = "append a loss to a network that has none",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "there is one more input and one more output",
    .options = {GLOW_FIELD_DEFAULT(loss_options, of, GLOW_STRING,
                                   "the placeholder of the result; empty: the "
                                   "only one"),
                GLOW_FIELD_DEFAULT(loss_options, label, GLOW_STRING,
                                   "the placeholder of what is right"),
                GLOW_FIELD_DEFAULT(loss_options, loss, GLOW_STRING,
                                   "the placeholder of the loss"),
                GLOW_FIELD_ENUM(loss_options, kind, kinds, "the formula"),
                GLOW_FIELD_DEFAULT(loss_options, ignore_index, GLOW_INT64,
                                   "the label of rows that do not count; the "
                                   "least integer: all count")},
    .defaults = &(const loss_options){.of = "",
                                      .label = "label",
                                      .loss = "loss",
                                      .kind = CROSS_ENTROPY,
                                      .ignore_index = GLOW_IGNORE_NONE},
    .run = run,
    .source = "Apache TVM, relax.training.AppendLoss",
};
