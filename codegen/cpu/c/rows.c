/* ConvertRows: rows of floats or of a fused kind as rows of another. */

#include "codegen/cpu/c/rows.h"

/* `v` as the tail of the row keeps it. */
INLINE float
fused_kept(int64_t kind, float v)
{
    float most = 65504, held = v > most ? most : v < -most ? -most : v;

    return has_short_tail(kind) ? (float)widen(narrow((double)held, 10), 10)
                                : v;
}

/* Rounds to the nearest integer of at most 2^23, ties to even. */
INLINE float
fused_round(float x)
{
    float far = 0x1p23f;

    return x < far ? (x + far) - far : x;
}

INLINE float
row_value(const void *in, int64_t kind, int64_t columns, int64_t row, int64_t k)
{
    if (is_fused(kind)) {
        fused_row r = fused_row_at(in, kind, row, columns);

        return (float)fused_real(&r, kind, k);
    }
    return (float)get_real(in, kind, row * columns + k);
}

/* Finds the scale and the offset of a row. */
INLINE void
fused_choose(int64_t kind, const void *in, int64_t in_kind, int64_t columns,
             int64_t row, float *scale, float *offset)
{
    float least = __builtin_inff(), most = -least;
    float steps = has_nibbles(kind) ? 15 : 255;

    for (int64_t k = 0; k < columns; k++) {
        float v = row_value(in, in_kind, columns, row, k);

        if (v - v != 0) /* no finite number */
            continue;
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    if (!(least <= most))
        least = most = 0;
    *offset = fused_kept(kind, least);
    *scale = fused_kept(kind, (most / 2 - *offset / 2) / steps * 2);
    if (!(*scale > 0))
        *scale = 1;
}

INLINE void
set_tail(uint8_t *tail, int64_t kind, float scale, float offset)
{
    if (has_short_tail(kind)) {
        uint16_t h[2];

        h[0] = narrow((double)scale, 10);
        h[1] = narrow((double)offset, 10);
        __builtin_memcpy(tail, h, sizeof h);
    } else {
        float f[2] = {scale, offset};

        __builtin_memcpy(tail, f, sizeof f);
    }
}

INLINE void
fused_write(void *out, int64_t kind, const void *in, int64_t in_kind,
            int64_t columns, int64_t row)
{
    uint8_t *q = (uint8_t *)out + row * fused_stride(kind, columns);
    float scale, offset, most = has_nibbles(kind) ? 15 : 255;

    fused_choose(kind, in, in_kind, columns, row, &scale, &offset);
    for (int64_t k = 0; k < columns; k++) {
        float v = row_value(in, in_kind, columns, row, k);
        float x = fused_round((v - offset) / scale);
        uint8_t held = (uint8_t)(x >= most ? most : x > 0 ? x : 0);

        if (!has_nibbles(kind))
            q[k] = held;
        else if (k % 2 == 0)
            q[k / 2] = held;
        else
            q[k / 2] = (uint8_t)(q[k / 2] | held << 4);
    }
    set_tail(q + fused_bytes(kind, columns), kind, scale, offset);
}

void
glow_c_convertrows(void *out, int64_t kind, const void *in, int64_t in_kind,
                   int64_t rows, int64_t columns)
{
    for (int64_t row = 0; row < rows; row++) {
        if (is_fused(kind)) {
            fused_write(out, kind, in, in_kind, columns, row);
            continue;
        }

        fused_row r = fused_row_at(in, in_kind, row, columns);

        for (int64_t k = 0; k < columns; k++)
            set_real(out, kind, row * columns + k, fused_real(&r, in_kind, k));
    }
}
