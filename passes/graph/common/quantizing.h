/*
 * State of a run of `quantize`: the types of values, from their ranges, and constants
 * as quantized elements.
 */

#ifndef PASSES_GRAPH_COMMON_QUANTIZING_H
#define PASSES_GRAPH_COMMON_QUANTIZING_H

#include "glow/ops.h"
#include "glow/pass.h"

typedef struct quantize_options {
    int schema;    /* glow_quantization_schema */
    int precision; /* index of GLOW_INT8Q, GLOW_INT16Q, GLOW_UINT8Q */
    int bias;      /* index of GLOW_INT32Q, GLOW_INT16Q, GLOW_INT8Q */
    bool channelwise;
    bool rowwise;
    const char *keep;
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
    const char *wrong;   /* why a value has no type, or NULL */
} quantizing;

/* Gives each float value with a range a type; see quantized_types.c. */
void glow_quantizing_types(quantizing *q);

/*
 * True, and scale and offset in *out, dense and of the shape of `v`, if `v` has a
 * type: from its range, its elements if it is constant, or the type that it was
 * dequantized from.
 */
bool glow_quantizing_type(quantizing *q, const glow_value *v, glow_type *out);

/* `v` with elements of `type`: as a constant, or by a conversion. */
glow_value *glow_quantizing_operand(quantizing *q, glow_value *v,
                                    const glow_type *type);

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

/*
 * The constant weights `w` and bias (NULL: zeros) of a product with Input of type `x`.
 * The new weights have the shape `shape`.  False if a sum may leave 31 bits or a number
 * is not finite, with q->wrong set.
 */
bool glow_quantizing_weights(quantizing *q, const glow_type *x,
                             const glow_value *w, const glow_value *bias,
                             weight_layout l, weight_form form, glow_dims shape,
                             quantized_weights *out);

#endif
