/*
 * State of a run of `quantize`: the types of values, from their ranges, and constants
 * as quantized elements.
 */

#ifndef PASSES_GRAPH_COMMON_QUANTIZING_H
#define PASSES_GRAPH_COMMON_QUANTIZING_H

#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/profile.h"

typedef struct quantize_options {
    int schema;    /* glow_quantization_schema */
    int precision; /* index of GLOW_INT8Q, GLOW_INT16Q, GLOW_UINT8Q */
    int bias;      /* index of GLOW_INT32Q, GLOW_INT16Q, GLOW_INT8Q */
    bool channelwise;
    bool rowwise;
    const char *keep;
    bool correct_bias;
    bool skip_fc_bias;
    bool assert;
} quantize_options;

typedef struct quantizing {
    glow_pass_run *run;
    const quantize_options *o;
    glow_func *func;
    glow_builder *b;
    glow_kind kind;      /* of activations */
    glow_kind bias_kind; /* of biases */
    glow_node **order;   /* the nodes, operands first */
    int count;           /* of them */
    glow_type **types;   /* by id of a node, an entry for each result */
    uint32_t n_types;    /* ids from here on have no entry */
    const glow_value_range *
        *inputs;       /* by id: the range of operand 0, or NULL */
    const char *wrong; /* why a value has no type, or NULL */
} quantizing;

/*
 * Splits each FullyConnected whose result and bias have ranges into a product and a
 * BatchedAdd of its name, which `sums` then has; but none that `keep` names.
 */
glow_result glow_quantizing_split_bias(glow_pass_run *run, glow_func *f,
                                       glow_map *sums);

/* The next word of a list between commas and blanks, with its `%`. */
bool glow_quantizing_word(const char **at, const char **word, size_t *length);
/*
 * True if the word names `n`: `%conv` in any function, `@body%conv` in one, `@body` all
 * of that function, `Conv` an operator, or a node.
 */
bool glow_quantizing_names(const char *word, size_t length, const glow_node *n);

/*
 * True, and scale and offset in *out, dense and of the shape of `v`, if `v` has a
 * type: from its range, its elements if it is constant, or the type that it was
 * dequantized from.
 */
bool glow_quantizing_type(quantizing *q, const glow_value *v, glow_type *out);

/* `v` with elements of `type`: as a constant, or by a conversion. */
glow_value *glow_quantizing_operand(quantizing *q, glow_value *v,
                                    const glow_type *type);

/*
 * The result of the only user of `v`, whose quantized type `v` takes: of a Relu, Clip or
 * Concat, or of an operator that keeps the type; NULL: `v` has one of its own range.
 */
const glow_value *glow_quantizing_follower(const glow_value *v);

/* True for operators whose results have scale and offset of their operand. */
bool glow_quantizing_keeps_type(const glow_node *n);

/* Weights as quantized elements: see quantized_weights.c. */
typedef struct quantized_weights {
    glow_value *weights;
    glow_value *scales, *offsets; /* of each channel */
    glow_value *bias;
    glow_value *bias_scales, *bias_offsets; /* of each channel */
} quantized_weights;

typedef enum weight_form {
    WEIGHTS_PLAIN,      /* weights and bias have the scale of their types */
    WEIGHTS_BY_CHANNEL, /* both have a scale for each channel */
    WEIGHTS_BY_ROW,     /* the bias has that of its type; channels are rows */
} weight_form;

/* Weight i < depth of channel c is element c * step + i * stride. */
typedef struct weight_layout {
    int64_t channels, step, depth, stride;
} weight_layout;

/* The layout of the constant weights of a product, of the table `products`. */
weight_layout glow_quantizing_layout(const glow_node *n);
/* True for a product with a layout: constant weights, and no or a constant bias. */
bool glow_quantizing_is_product(const glow_node *n);

/*
 * The constant weights and bias of product `n` with Input of type `x`.  The new weights
 * have the shape `shape`.  With `correct_bias` and known means of Input, the bias takes
 * the mean of the error of the weights.  False if a sum may leave 31 bits or a number
 * is not finite, with q->wrong set.
 */
bool glow_quantizing_weights(quantizing *q, const glow_node *n,
                             const glow_type *x, weight_form form,
                             glow_dims shape, quantized_weights *out);

/*
 * The bias of `n` that takes the mean of the error of its weights: *out has an entry
 * for each channel.  False if there is none, with q->wrong set.
 */
bool glow_quantizing_corrected(quantizing *q, const glow_node *n,
                               const glow_type *x, weight_form form,
                               double **out);

/* True if `keep` names `n`, or its operator. */
bool glow_quantizing_is_kept(const quantize_options *o, const glow_node *n);

/* The words of `precision`. */
extern const char *const glow_quantizing_precisions[];
/* Sets kinds, order and ranges by the options of `run`. */
void glow_quantizing_begin(quantizing *q, glow_pass_run *run, glow_func *f);

#endif
