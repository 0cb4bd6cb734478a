/* Indices of the nonzero elements: a column for each, in row-major order. */

#include "codegen/cpu/c/element.h"

int64_t
glow_c_nonzero(int64_t *out, int64_t *count, const void *in, int64_t kind,
               const int64_t *shape, int64_t rank, int64_t size)
{
    int64_t found = 0;

    for (int64_t i = 0; i < size; i++) {
        int64_t left = i;

        if (is_real(kind) ? get_real(in, kind, i) == 0
                          : get_int(in, kind, i) == 0)
            continue;
        for (int64_t d = rank; d-- > 0; left /= shape[d])
            out[d * size + found] = left % shape[d];
        found++;
    }
    for (int64_t d = 0; d < rank; d++)
        for (int64_t i = found; i < size; i++)
            out[d * size + i] = 0;
    *count = found;
    return 0;
}
