/* Operators of quantized elements alone. */

#ifndef GLOW_OPS_QUANTIZE_H
#define GLOW_OPS_QUANTIZE_H

#include "glow/graph.h"
#include "glow/ops/window.h"
#include "glow/quantize.h"

GLOW_BEGIN

/* The attributes of QuantizationProfile. */
typedef struct glow_quantizationprofile {
    const char *profiled_node_name; /* or `@` and the name of storage */
    int profiled_output_number;
    int axis; /* of the channels; -1: none */
} glow_quantizationprofile;

/* Conversions and profiles: ir/ops/quantize.c. */

extern GLOW_API const glow_op glow_op_convertrows;    /* Input; stated */
extern GLOW_API const glow_op glow_op_dequantize;     /* Input; stated */
extern GLOW_API const glow_op glow_op_intlookuptable; /* Input, Mapping */
/* Input, Histogram, ComputationInfo; attributes */
extern GLOW_API const glow_op glow_op_quantizationprofile;
extern GLOW_API const glow_op glow_op_quantize;         /* Input; stated */
extern GLOW_API const glow_op glow_op_rescalequantized; /* Input; stated */

/*
 * Products whose weights have a scale and an offset for each channel, or row;
 * products of floats that are quantized at run time: ir/ops/quantized.c.
 */

typedef glow_convolution glow_channelwisequantizedconvolution;

typedef struct glow_dynamicquantizedfullyconnected {
    bool is_symmetric;
    bool is_per_batch_element;
} glow_dynamicquantizedfullyconnected;

typedef glow_dynamicquantizedfullyconnected
    glow_dynamicrowwisequantizedfullyconnected;

/* Input, Filter, Bias, FilterScales, FilterOffsets, BiasScales, BiasOffsets. */
extern GLOW_API const glow_op glow_op_channelwisequantizedconvolution;
/* Input, Weights [K, N], Bias. */
extern GLOW_API const glow_op glow_op_dynamicquantizedfullyconnected;
/* Input, Weights [K, N], Bias, Scales, Offsets. */
extern GLOW_API const glow_op glow_op_dynamicrowwisequantizedfullyconnected;
/* Input, Weights [N, K], Scales, Offsets, Bias. */
extern GLOW_API const glow_op glow_op_rowwisequantizedfullyconnected;

/* Products of floats with weights in blocks of 8 or 4 bits: ir/ops/blockwise.c. */
typedef struct glow_blockwisequantizedfullyconnected {
    int64_t k;          /* columns of Input */
    int bits;           /* of a weight: 8, or 4, low nibble first */
    int64_t block_size; /* weights of a row with one scale */
} glow_blockwisequantizedfullyconnected;

/* Input, Weights [N, blocks, bytes], Scales, Offsets (optional), Bias (optional). */
extern GLOW_API const glow_op glow_op_blockwisequantizedfullyconnected;

/* Weights in such blocks as floats of shape Dims = [N, ..]; K is the product of the others. */
typedef struct glow_blockwisedequantize {
    glow_dims dims;
    int bits;
    int64_t block_size;
} glow_blockwisedequantize;

/* Weights [N, blocks, bytes], Scales, Offsets (optional). */
extern GLOW_API const glow_op glow_op_blockwisedequantize;

/* ONNX's conversions, with scale and offset as operands and plain integers:
   ir/ops/quantizelinear.c. */

/* Scale and Offset: [], [axis], or with BlockSize of the rank of Input. */
typedef struct glow_quantizelinear {
    int axis; /* default 0; of Input, if Scale has more than one element */
    int block_size; /* elements along Axis for one scale; default 0: none */
    bool saturate;  /* default true; of results of low-precision floats */
} glow_quantizelinear;

typedef struct glow_dequantizelinear {
    int axis, block_size; /* as glow_quantizelinear */
} glow_dequantizelinear;

extern GLOW_API const glow_op glow_op_quantizelinear;
extern GLOW_API const glow_op glow_op_dequantizelinear;
/* Both: Input, Scale, Offset (optional); stated. */

GLOW_END

#endif
