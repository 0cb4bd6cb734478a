/*
 * correct-bias: let biases take the mean error of weights that will be quantized.
 *
 *     %y = Convolution(%x, @w, @b)     =>     %y = Convolution(%x, @w, @b')
 *
 *     b'[o] = b[o] - sum over i of (quantized(w)[o, i] - w[o, i]) * mean(%x)[i]
 *
 * Rounding the weights of a channel moves the mean of its result, since all elements of
 * the activation have the same error of the weight in common, and most have the same
 * sign behind a Relu.  The means of the channels of %x are those of its range, section
 * `ranges` of the text.  Convolution, FullyConnected and MatMul with constant weights
 * and ranges for Input are corrected, unless `keep` names them.  A MatMul has no bias,
 * and becomes a FullyConnected.  The options say how weights are quantized, and are to
 * be those of quantize.
 *
 * Afterwards no range has lists of channels, since a second correction would be one too
 * many: quantize does the same for the operators that it converts, as long as there are means
 * (`correct_bias`).  The pass is for other ways to quantize, such as weights alone.
 */

#include "passes/graph/common/quantizing.h"

/* The form in which quantize has the weights of `n`. */
static weight_form
form_of(const quantize_options *o, const glow_node *n)
{
    if (n->op == &glow_op_convolution)
        return o->channelwise ? WEIGHTS_BY_CHANNEL : WEIGHTS_PLAIN;
    return o->rowwise ? WEIGHTS_BY_ROW : WEIGHTS_PLAIN;
}

static glow_value *
bias_constant(quantizing *q, const glow_node *n, const double *x, int64_t count)
{
    glow_type t = glow_type_of(n->out[0]->type->elem, GLOW_DIMS_OF(count));
    glow_value *v = glow_build_constant(
        q->b, "bias", glow_type_get(glow_builder_context(q->b), t));

    for (int64_t i = 0; i < count; i++)
        glow_set_double(&v->storage->tensor, i, x[i]);
    return v;
}

/* True if `n` was corrected. */
static bool
correct(quantizing *q, glow_node *n)
{
    double *bias;
    glow_value *b, *y;
    glow_type x;

    if (!glow_quantizing_is_product(n) || n->pred ||
        !glow_is_float(n->out[0]->type->elem) ||
        glow_quantizing_is_kept(q->o, n) ||
        !glow_quantizing_type(q, n->in[0], &x) ||
        !glow_quantizing_corrected(q, n, &x, form_of(q->o, n), &bias) ||
        !glow_run_may_rewrite(q->run))
        return false;
    q->b = glow_builder_new(glow_run_scratch(q->run), q->func,
                            glow_run_pass(q->run)->name);
    glow_builder_at(q->b, n);
    b = bias_constant(q, n, bias, glow_quantizing_layout(n).channels);
    if (n->op != &glow_op_matmul) {
        glow_set_operand(n, 2, b);
        return true;
    }
    y = GLOW_BUILD(q->b, fullyconnected, GLOW_IN(n->in[0], n->in[1], b),
                   .axis = 1);
    if (!y)
        return false;

    const char *name = n->name;

    glow_replace_uses(n->out[0], y);
    glow_node_erase(n);
    glow_node_rename(y->def, name);
    return true;
}

/* Leaves the range without lists of channels, which are given together. */
static bool
forget_mean(glow_value *v)
{
    const glow_value_range *r = glow_get_value_range(v);
    glow_value_range without;

    if (!r || !r->channel_mean)
        return false;
    without = (glow_value_range){.min = r->min, .max = r->max, .axis = -1};
    return glow_set_value_range(v, &without);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    quantizing q;
    int64_t count = 0, forgotten = 0;

    glow_quantizing_begin(&q, pass, f);
    for (int i = 0; i < q.count; i++)
        count += correct(&q, q.order[i]);
    glow_run_count(pass, "biases corrected", count);
    GLOW_FOR_EACH_NODE(n, f)
        for (int i = 0; i < n->n_out; i++)
            forgotten += forget_mean(n->out[i]);
    GLOW_FOR_EACH_STORAGE(s, f->module)
        forgotten += forget_mean(&s->value);
    return count || forgotten ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_correct_bias = {
    .name = "correct-bias",
    .summary = "let biases take the mean error of weights to be quantized",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "results move by the mean error of weights that are not rounded yet",
    .options =
        {GLOW_FIELD_ENUM(quantize_options, schema, glow_quantization_schemas,
                         "how weights get a scale"),
         GLOW_FIELD_ENUM(quantize_options, precision,
                         glow_quantizing_precisions, "the elements of weights"),
         GLOW_FIELD_DEFAULT(quantize_options, channelwise, GLOW_FLAG,
                            "a scale for each channel of a Convolution's "
                            "weights"),
         GLOW_FIELD_DEFAULT(quantize_options, rowwise, GLOW_FLAG,
                            "a scale for each row of a FullyConnected's or "
                            "MatMul's weights"),
         GLOW_FIELD_DEFAULT(quantize_options, keep, GLOW_STRING,
                            "nodes (%conv1) and operators (MatMul) that are "
                            "left alone, between commas or blanks")},
    .defaults = &(const quantize_options){.channelwise = true,
                                          .rowwise = true,
                                          .keep = ""},
    .run = run,
    .source = "Nagel et al., arXiv:1906.04721, section 4.2",
};
