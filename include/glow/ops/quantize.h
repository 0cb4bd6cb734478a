/* Conversions between floats and quantized elements: ir/ops/quantize.c. */

#ifndef GLOW_OPS_QUANTIZE_H
#define GLOW_OPS_QUANTIZE_H

#include "glow/graph.h"
#include "glow/quantize.h"

GLOW_BEGIN

extern GLOW_API const glow_op glow_op_dequantize;       /* Input; stated */
extern GLOW_API const glow_op glow_op_intlookuptable;   /* Input, Mapping */
extern GLOW_API const glow_op glow_op_quantize;         /* Input; stated */
extern GLOW_API const glow_op glow_op_rescalequantized; /* Input; stated */

GLOW_END

#endif
