/*
 * Weighted sums of gathered rows, segment by segment
 * (SparseLengthsWeightedSum).  Columns are processed in blocks, so that their
 * sums stay in registers; blocks of floats use explicit vector types, because
 * compilers do not vectorize the loop.
 */

#include "codegen/cpu/c/rows.h"

#define SPARSE_COLUMNS 32
#define SPARSE_LANES 8

typedef float sparse_floats
    __attribute__((vector_size(SPARSE_LANES * sizeof(float)),
                   aligned(sizeof(float)), may_alias));
typedef double sparse_doubles
    __attribute__((vector_size(SPARSE_LANES * sizeof(double))));

typedef struct sparse_list {
    const void *data, *weights, *indices;
    int64_t kind, weight_kind, index_kind, rows, size;
} sparse_list;

/* Columns [at, at + width) of the sum of entries [from, end). */
INLINE bool
sparse_columns(void *out, int64_t out_kind, int64_t to, const sparse_list *l,
               int64_t from, int64_t end, int64_t at, int64_t width)
{
    double sum[SPARSE_COLUMNS];
    uint64_t whole[SPARSE_COLUMNS];
    bool fused = is_fused(l->kind), real = fused || is_real(l->kind);
    fused_row r;

    for (int64_t k = 0; k < width; k++) {
        sum[k] = 0;
        whole[k] = 0;
    }
    for (int64_t j = from; j < end; j++) {
        int64_t row = get_int(l->indices, l->index_kind, j);
        int64_t first = row * l->size + at;
        double w = real ? get_real(l->weights, l->weight_kind, j) : 0;
        uint64_t m = real ? 0 : (uint64_t)get_int(l->weights, l->kind, j);

        if (row < 0 || row >= l->rows)
            return false;
        if (fused)
            r = fused_row_at(l->data, l->kind, row, l->size);
        for (int64_t k = 0; k < width; k++)
            if (fused)
                sum[k] += w * fused_real(&r, l->kind, at + k);
            else if (real)
                sum[k] += w * get_real(l->data, l->kind, first + k);
            else
                whole[k] += m * (uint64_t)get_int(l->data, l->kind, first + k);
    }
    for (int64_t k = 0; k < width; k++)
        if (real)
            set_real(out, out_kind, to + k, sum[k]);
        else
            set_int(out, out_kind, to + k, (int64_t)whole[k]);
    return true;
}

/* The same for `vectors` vectors of floats. */
INLINE bool
sparse_vectors(float *out, const sparse_list *l, int64_t from, int64_t end,
               int64_t at, int vectors)
{
    sparse_doubles sum[SPARSE_COLUMNS / SPARSE_LANES];
    const float *weights = l->weights;

    for (int k = 0; k < vectors; k++)
        sum[k] = (sparse_doubles){0};
    for (int64_t j = from; j < end; j++) {
        int64_t row = get_int(l->indices, l->index_kind, j);
        const sparse_floats *x =
            (const sparse_floats *)((const float *)l->data + row * l->size +
                                    at);

        if (row < 0 || row >= l->rows)
            return false;
        for (int k = 0; k < vectors; k++)
            sum[k] += (double)weights[j] *
                      __builtin_convertvector(x[k], sparse_doubles);
    }
    for (int k = 0; k < vectors; k++)
        ((sparse_floats *)out)[k] =
            __builtin_convertvector(sum[k], sparse_floats);
    return true;
}

/*
 * Computes the columns of a row in whole vectors; returns their number, or -1
 * for a bad index.
 */
INLINE int64_t
sparse_row_of_floats(float *out, const sparse_list *l, int64_t from,
                     int64_t end)
{
    int64_t at = 0;

    for (; at + SPARSE_COLUMNS <= l->size; at += SPARSE_COLUMNS)
        if (!sparse_vectors(out + at, l, from, end, at,
                            SPARSE_COLUMNS / SPARSE_LANES))
            return -1;
    for (; at + SPARSE_LANES <= l->size; at += SPARSE_LANES)
        if (!sparse_vectors(out + at, l, from, end, at, 1))
            return -1;
    return at;
}

int64_t
glow_c_sparselengths(void *out, int64_t out_kind, const void *data,
                     int64_t kind, int64_t rows, int64_t size,
                     const void *weights, int64_t weight_kind,
                     const void *indices, int64_t index_kind, int64_t count,
                     const void *lengths, int64_t length_kind, int64_t segments)
{
    sparse_list l = {data,        weights,    indices, kind,
                     weight_kind, index_kind, rows,    size};
    int64_t from = 0;

    for (int64_t s = 0; s < segments; s++) {
        int64_t length = get_int(lengths, length_kind, s), at = 0;

        if (length < 0 || length > count - from)
            return 1;
        if (kind == GLOW_FLOAT)
            at = sparse_row_of_floats((float *)out + s * size, &l, from,
                                      from + length);
        if (at < 0)
            return 1;
        for (; at + SPARSE_COLUMNS <= size; at += SPARSE_COLUMNS)
            if (!sparse_columns(out, out_kind, s * size + at, &l, from,
                                from + length, at, SPARSE_COLUMNS))
                return 1;
        if (at < size && !sparse_columns(out, out_kind, s * size + at, &l, from,
                                         from + length, at, size - at))
            return 1;
        from += length;
    }
    return 0;
}
