/*
 * Scatter: writes or accumulates slices at the positions in Indices, in order,
 * into the result, which already holds Data.  A position outside of Data is an
 * error.
 */

#include "codegen/cpu/c/element.h"
#include "glow/ops.h"

typedef uint8_t scatter_bytes __attribute__((vector_size(32), aligned(1)));
typedef float scatter_floats __attribute__((vector_size(32), aligned(4)));

#define SCATTER_BYTES ((int64_t)sizeof(scatter_bytes))
#define SCATTER_FLOATS ((int64_t)(sizeof(scatter_floats) / sizeof(float)))

INLINE double
scatter_real(int64_t reduction, double x, double y)
{
    switch (reduction) {
    case GLOW_SCATTER_ADD:
        return x + y;
    case GLOW_SCATTER_MUL:
        return x * y;
    case GLOW_SCATTER_MAX:
        return x != x || y != y ? x + y
               : x == y         ? (__builtin_signbit(x) ? y : x)
               : x > y          ? x
                                : y;
    default:
        return x != x || y != y ? x + y
               : x == y         ? (__builtin_signbit(x) ? x : y)
               : x < y          ? x
                                : y;
    }
}

INLINE int64_t
scatter_int(int64_t reduction, int64_t kind, int64_t x, int64_t y)
{
    bool less = kind == GLOW_UINT64 ? (uint64_t)x < (uint64_t)y : x < y;

    switch (reduction) {
    case GLOW_SCATTER_ADD:
        return (int64_t)((uint64_t)x + (uint64_t)y);
    case GLOW_SCATTER_MUL:
        return (int64_t)((uint64_t)x * (uint64_t)y);
    case GLOW_SCATTER_MAX:
        return less ? y : x;
    default:
        return less ? x : y;
    }
}

INLINE void
scatter_element(void *out, int64_t to, const void *in, int64_t from,
                int64_t kind, int64_t reduction)
{
    if (reduction == GLOW_SCATTER_NONE)
        move(out, to, in, from, bytes_of(kind));
    else if (is_real(kind))
        set_real(out, kind, to,
                 scatter_real(reduction, get_real(out, kind, to),
                              get_real(in, kind, from)));
    else
        set_int(out, kind, to,
                scatter_int(reduction, kind, get_int(out, kind, to),
                            get_int(in, kind, from)));
}

/*
 * The first elements of a slice in whole vectors: what is stored as it is, and sums of
 * floats.  Returns how many.
 */
INLINE int64_t
scatter_vectors(void *out, const void *in, int64_t size, int64_t kind,
                int64_t reduction)
{
    int64_t bytes = size * bytes_of(kind), k = 0;

    if (reduction == GLOW_SCATTER_NONE) {
        for (; k + SCATTER_BYTES <= bytes; k += SCATTER_BYTES)
            *(scatter_bytes *)((uint8_t *)out + k) =
                *(const scatter_bytes *)((const uint8_t *)in + k);
        return k / bytes_of(kind);
    }
    if (reduction == GLOW_SCATTER_ADD && kind == GLOW_FLOAT)
        for (; k + SCATTER_FLOATS <= size; k += SCATTER_FLOATS)
            *(scatter_floats *)((float *)out + k) +=
                *(const scatter_floats *)((const float *)in + k);
    return k;
}

int64_t
glow_c_scatterdata(void *out, int64_t kind, const void *indices,
                   int64_t index_kind, const void *slices, const int64_t *shape,
                   int64_t depth, int64_t rows, int64_t size, int64_t reduction)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t to = 0;

        for (int64_t d = 0; d < depth; d++) {
            int64_t x = get_int(indices, index_kind, i * depth + d);

            if (x < 0 && !is_unsigned(index_kind))
                x += shape[d];
            if (x < 0 || x >= shape[d])
                return 1;
            to = to * shape[d] + x;
        }

        int64_t bytes = size * bytes_of(kind);

        for (int64_t k = scatter_vectors((uint8_t *)out + to * bytes,
                                         (const uint8_t *)slices + i * bytes,
                                         size, kind, reduction);
             k < size; k++)
            scatter_element(out, to * size + k, slices, i * size + k, kind,
                            reduction);
    }
    return 0;
}
