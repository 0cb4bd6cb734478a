/*
 * Tensors: a type and the bytes of its elements.
 *
 * The bytes are reference-counted, so that a tensor may share them with another
 * or with a mapped file.  Tensors of one element kind can be read as another:
 * glow_get_double and glow_set_double convert as the kind says, which is how one
 * `eval` serves all kinds and also the float64 shadow of a network.
 */

#ifndef GLOW_TENSOR_H
#define GLOW_TENSOR_H

#include "glow/type.h"

GLOW_BEGIN

typedef struct glow_data glow_data;

typedef struct glow_tensor {
    const glow_type *type;
    void *data;       /* glow_type_bytes(type) bytes */
    glow_data *owner; /* owner of `data`; NULL: the caller */
} glow_tensor;

/* `size` zeroed bytes, aligned to 64, with one reference. */
GLOW_API glow_data *glow_data_new(size_t size);
/* Bytes that `release(user)` ends when the last reference goes. */
GLOW_API glow_data *glow_data_wrap(void *bytes, size_t size,
                                   void (*release)(void *user), void *user);
GLOW_API void *glow_data_bytes(const glow_data *d);
GLOW_API size_t glow_data_size(const glow_data *d);
GLOW_API glow_data *glow_data_ref(glow_data *d);
GLOW_API void glow_data_unref(glow_data *d); /* NULL is fine */

/* A zeroed tensor with its own bytes; glow_tensor_end gives them back. */
GLOW_API glow_tensor glow_tensor_new(const glow_type *type);
GLOW_API void glow_tensor_end(glow_tensor *t);

/*
 * The element at position `i`, counted in memory from the first (for a dense
 * tensor: in row-major order), as a number.  Quantized kinds give the raw
 * integer, not the real value: see glow_get_real.  bool gives 0 or 1.
 * Integers beyond 2^53 lose bits: glow_get_int does not.
 */
GLOW_API double glow_get_double(const glow_tensor *t, int64_t i);
GLOW_API int64_t glow_get_int(const glow_tensor *t, int64_t i);

/*
 * Sets an element.  Floats round to nearest even; those of low precision
 * saturate, float8e8m0 rounds up.  To integers, doubles are rounded toward zero
 * (int4, uint4, int2 and uint2: to nearest even) and saturate, NaN gives 0;
 * glow_set_int keeps the low bits.  bool: not 0.
 */
GLOW_API void glow_set_double(const glow_tensor *t, int64_t i, double v);
GLOW_API void glow_set_int(const glow_tensor *t, int64_t i, int64_t v);

/* As glow_get_double, but quantized kinds through scale and offset. */
GLOW_API double glow_get_real(const glow_tensor *t, int64_t i);
/* Rounds to nearest even and saturates for quantized kinds. */
GLOW_API void glow_set_real(const glow_tensor *t, int64_t i, double v);

/* Copies one element; both tensors have the same element kind. */
GLOW_API void glow_tensor_copy_element(const glow_tensor *to, glow_dims to_at,
                                       const glow_tensor *from,
                                       glow_dims from_at);

/* Copies all elements of a tensor of the same kind and element count. */
GLOW_API void glow_tensor_copy(const glow_tensor *to, const glow_tensor *from);

/*
 * One float of low precision (OCP 8-bit Floating Point Specification 1.0 and
 * Microscaling Formats 1.0; the tables of ONNX's Cast).  What is out of range
 * becomes the largest number if it `saturates`, else infinity or NaN; a NaN has
 * no sign.  `round` is of float8e8m0 alone, for which what is below its least
 * number is out of range too, and below 0 is NaN.  All others round to nearest
 * even.
 */
enum {
    GLOW_ROUND_UP, /* away from 0 */
    GLOW_ROUND_DOWN,
    GLOW_ROUND_NEAREST, /* the upper one of two */
};
GLOW_API double glow_low_to_double(glow_kind kind, uint8_t bits);
GLOW_API uint8_t glow_double_to_low(glow_kind kind, double v, bool saturates,
                                    int round);

/* Conversions of one value, bit patterns of binary16 and bfloat16. */
GLOW_API float glow_half_to_float(uint16_t h);
GLOW_API uint16_t glow_float_to_half(float f);
GLOW_API float glow_bfloat_to_float(uint16_t h);
GLOW_API uint16_t glow_float_to_bfloat(float f);

GLOW_END

#endif
