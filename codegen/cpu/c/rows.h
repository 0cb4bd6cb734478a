/* Rows of fused kinds: elements of 8 or 4 bits, then their scale and offset. */

#ifndef CODEGEN_CPU_C_ROWS_H
#define CODEGEN_CPU_C_ROWS_H

#include "codegen/cpu/c/element.h"

typedef struct fused_row {
    const uint8_t *q;
    double scale, offset;
} fused_row;

INLINE bool
is_fused(int64_t kind)
{
    return kind == GLOW_UINT8FUSED || kind == GLOW_UINT8FUSEDFP16 ||
           kind == GLOW_UINT4FUSED || kind == GLOW_UINT4FUSEDFP16;
}

/* Two columns in a byte. */
INLINE bool
has_nibbles(int64_t kind)
{
    return kind == GLOW_UINT4FUSED || kind == GLOW_UINT4FUSEDFP16;
}

/* Scale and offset are float16, not float. */
INLINE bool
has_short_tail(int64_t kind)
{
    return kind == GLOW_UINT8FUSEDFP16 || kind == GLOW_UINT4FUSEDFP16;
}

/* Bytes of the elements of `columns`, without scale and offset. */
INLINE int64_t
fused_bytes(int64_t kind, int64_t columns)
{
    return has_nibbles(kind) ? columns / 2 : columns;
}

INLINE int64_t
fused_stride(int64_t kind, int64_t columns)
{
    return fused_bytes(kind, columns) + (has_short_tail(kind) ? 4 : 8);
}

INLINE fused_row
fused_row_at(const void *data, int64_t kind, int64_t row, int64_t columns)
{
    const uint8_t *q =
        (const uint8_t *)data + row * fused_stride(kind, columns);
    const uint8_t *tail = q + fused_bytes(kind, columns);

    if (has_short_tail(kind)) {
        uint16_t h[2];

        __builtin_memcpy(h, tail, sizeof h);
        return (fused_row){q, widen(h[0], 10), widen(h[1], 10)};
    }

    float f[2];

    __builtin_memcpy(f, tail, sizeof f);
    return (fused_row){q, (double)f[0], (double)f[1]};
}

/* Column `k`: one product that is exact, and one rounding. */
INLINE double
fused_real(const fused_row *r, int64_t kind, int64_t k)
{
    int q = has_nibbles(kind) ? r->q[k / 2] >> (k % 2 * 4) & 15 : r->q[k];

    return r->scale * q + r->offset;
}

#endif
