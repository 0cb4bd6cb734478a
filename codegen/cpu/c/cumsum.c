/*
 * Prefix sums or products along an axis, for several columns at a time, because
 * adjacent columns are adjacent in memory.
 */

#include "codegen/cpu/c/element.h"

#define CUMSUM_COLUMNS 16

int64_t
glow_c_cumsum(void *out, const void *in, int64_t kind, int64_t before,
              int64_t size, int64_t rest, int64_t exclusive, int64_t reverse,
              int64_t multiplies)
{
    int64_t blocks = (rest + CUMSUM_COLUMNS - 1) / CUMSUM_COLUMNS;

    for (int64_t b = 0; b < before * blocks; b++) {
        int64_t first = b % blocks * CUMSUM_COLUMNS, left = rest - first;
        int64_t columns = left < CUMSUM_COLUMNS ? left : CUMSUM_COLUMNS;
        double sum[CUMSUM_COLUMNS];
        uint64_t total[CUMSUM_COLUMNS];

        for (int64_t c = 0; c < CUMSUM_COLUMNS; c++) {
            sum[c] = multiplies ? 1 : 0;
            total[c] = multiplies ? 1 : 0;
        }

        for (int64_t k = 0; k < size; k++) {
            int64_t row = b / blocks * size + (reverse ? size - 1 - k : k);

            for (int64_t c = 0; c < columns; c++) {
                int64_t i = row * rest + first + c;

                if (is_real(kind)) {
                    double old = sum[c];

                    sum[c] = multiplies ? old * get_real(in, kind, i)
                                        : old + get_real(in, kind, i);
                    set_real(out, kind, i, exclusive ? old : sum[c]);
                } else {
                    uint64_t old = total[c];

                    total[c] = multiplies
                                   ? old * (uint64_t)get_int(in, kind, i)
                                   : old + (uint64_t)get_int(in, kind, i);
                    set_int(out, kind, i,
                            (int64_t)(exclusive ? old : total[c]));
                }
            }
        }
    }
    return 0;
}
