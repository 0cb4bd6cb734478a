/*
 * Loads and stores of elements of any kind, for kernels in C.
 *
 * `kind` is a glow_kind, and constant after inlining, so that each of these
 * switches folds to one of its cases.
 */

#ifndef CODEGEN_CPU_C_ELEMENT_H
#define CODEGEN_CPU_C_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "glow/type.h"

#define INLINE static inline __attribute__((always_inline))

INLINE bool
is_real(int64_t kind)
{
    return kind == GLOW_FLOAT || kind == GLOW_FLOAT64 || kind == GLOW_FLOAT16 ||
           kind == GLOW_BFLOAT16;
}

INLINE bool
is_unsigned(int64_t kind)
{
    return kind == GLOW_UINDEX8 || kind == GLOW_UINT16 || kind == GLOW_UINT32 ||
           kind == GLOW_UINT64 || kind == GLOW_BOOL || kind == GLOW_UINT8Q;
}

/* Bytes of one element. */
INLINE int64_t
bytes_of(int64_t kind)
{
    switch (kind) {
    case GLOW_FLOAT:
    case GLOW_INT32Q:
    case GLOW_INDEX32:
    case GLOW_UINT32:
        return 4;
    case GLOW_FLOAT64:
    case GLOW_INT64Q:
    case GLOW_INDEX64:
    case GLOW_UINT64:
        return 8;
    case GLOW_FLOAT16:
    case GLOW_BFLOAT16:
    case GLOW_INT16Q:
    case GLOW_INT16:
    case GLOW_UINT16:
        return 2;
    default:
        return 1;
    }
}

/*
 * Copies element `from` of `in` to element `to` of `out`, each of `bytes`
 * bytes.
 */
INLINE void
move(void *out, int64_t to, const void *in, int64_t from, int64_t bytes)
{
    switch (bytes) {
    case 8:
        ((uint64_t *)out)[to] = ((const uint64_t *)in)[from];
        break;
    case 4:
        ((uint32_t *)out)[to] = ((const uint32_t *)in)[from];
        break;
    case 2:
        ((uint16_t *)out)[to] = ((const uint16_t *)in)[from];
        break;
    default:
        ((uint8_t *)out)[to] = ((const uint8_t *)in)[from];
    }
}

/*
 * Converts a 16-bit float with `m` bits of fraction (IEEE 754-2019, 3.4) to
 * double: 10 is binary16, 7 is bfloat16.
 */
INLINE double
widen(uint16_t h, int m)
{
    int most = (1 << (15 - m)) - 1, e = h >> m & most;
    uint64_t fraction = (uint64_t)h & ((1u << m) - 1);
    uint64_t sign = (uint64_t)(h >> 15) << 63;
    union {
        uint64_t bits;
        double v;
    } u;

    if (e == 0) { /* subnormal: a multiple of the least number */
        u.bits = (uint64_t)(1023 + 1 - most / 2 - m) << 52;
        u.v *= (double)fraction;
        u.bits |= sign;
        return u.v;
    }
    u.bits = sign | fraction << (52 - m) |
             (uint64_t)(e == most ? 2047 : e - most / 2 + 1023) << 52;
    return u.v;
}

/* Converts to the nearest 16-bit float, ties to even. */
INLINE uint16_t
narrow(double v, int m)
{
    union {
        double v;
        uint64_t bits;
    } u = {v};
    uint64_t sign = u.bits >> 48 & 0x8000, most = (1u << (15 - m)) - 1;
    uint64_t fraction = u.bits & (((uint64_t)1 << 52) - 1);
    int e = (int)(u.bits >> 52 & 2047), shift = 52 - m;

    if (e == 2047)
        return (uint16_t)(sign | most << m |
                          (fraction ? 1u << (m - 1) | fraction >> shift : 0));
    e += (int)(most / 2) - 1023;
    if (e >= (int)most)
        return (uint16_t)(sign | most << m);
    if (e > 0) {
        fraction |= (uint64_t)e << 52;
    } else { /* subnormal */
        shift += 1 - e;
        if (shift > 60)
            return (uint16_t)sign;
        fraction |= (uint64_t)1 << 52;
    }

    uint64_t q = fraction >> shift, half = (uint64_t)1 << (shift - 1);
    uint64_t rest = fraction & (half * 2 - 1);

    return (uint16_t)(sign | (q + (rest > half || (rest == half && q & 1))));
}

INLINE double
get_real(const void *p, int64_t kind, int64_t i)
{
    switch (kind) {
    case GLOW_FLOAT64:
        return ((const double *)p)[i];
    case GLOW_FLOAT16:
        return widen(((const uint16_t *)p)[i], 10);
    case GLOW_BFLOAT16:
        return widen(((const uint16_t *)p)[i], 7);
    default:
        return (double)((const float *)p)[i];
    }
}

INLINE void
set_real(void *p, int64_t kind, int64_t i, double v)
{
    switch (kind) {
    case GLOW_FLOAT64:
        ((double *)p)[i] = v;
        break;
    case GLOW_FLOAT16:
        ((uint16_t *)p)[i] = narrow(v, 10);
        break;
    case GLOW_BFLOAT16:
        ((uint16_t *)p)[i] = narrow(v, 7);
        break;
    default:
        ((float *)p)[i] = (float)v;
    }
}

/* Loads an integer; a uint64 as the int64 of the same bits. */
INLINE int64_t
get_int(const void *p, int64_t kind, int64_t i)
{
    switch (bytes_of(kind)) {
    case 8:
        return ((const int64_t *)p)[i];
    case 4:
        return is_unsigned(kind) ? (int64_t)((const uint32_t *)p)[i]
                                 : (int64_t)((const int32_t *)p)[i];
    case 2:
        return is_unsigned(kind) ? (int64_t)((const uint16_t *)p)[i]
                                 : (int64_t)((const int16_t *)p)[i];
    default:
        return is_unsigned(kind) ? (int64_t)((const uint8_t *)p)[i]
                                 : (int64_t)((const int8_t *)p)[i];
    }
}

/* Stores the low bits of `v`; a bool becomes 0 or 1. */
INLINE void
set_int(void *p, int64_t kind, int64_t i, int64_t v)
{
    switch (bytes_of(kind)) {
    case 8:
        ((int64_t *)p)[i] = v;
        break;
    case 4:
        ((uint32_t *)p)[i] = (uint32_t)v;
        break;
    case 2:
        ((uint16_t *)p)[i] = (uint16_t)v;
        break;
    default:
        ((uint8_t *)p)[i] = kind == GLOW_BOOL ? v != 0 : (uint8_t)v;
    }
}

/*
 * True if element `i` orders before element `j` of the same tensor, from the
 * greatest down (`smallest`: from the least up).  NaN orders before all
 * numbers.
 */
INLINE bool
is_before(const void *p, int64_t kind, int64_t i, int64_t j, bool smallest)
{
    if (is_real(kind)) {
        double x = get_real(p, kind, i), y = get_real(p, kind, j);

        return (x != x && y == y) || (smallest ? x < y : x > y);
    }

    int64_t x = get_int(p, kind, i), y = get_int(p, kind, j);

    if (kind == GLOW_UINT64)
        return smallest ? (uint64_t)x<(uint64_t)y : (uint64_t)x>(uint64_t) y;
    return smallest ? x < y : x > y;
}

#endif
