/* Cuts a line of results into runs of register tiles with equal taps. */

#include "codegen/cpu/kernels/runs.h"

#include <string.h>

int64_t
glow_cpu_line_cost(int64_t width, int rows, int blocks)
{
    int64_t rest = width % rows;
    int64_t one = rows * blocks < 9 ? 9 : rows * blocks;
    int64_t last = rest * blocks < 9 ? 9 : rest * blocks;

    return width / rows * (one + 3) + (rest ? last + 3 : 0);
}

int
glow_cpu_best_rows(int64_t width, int blocks, int most)
{
    int best = 1;
    int64_t best_cost = INT64_MAX;

    for (int r = 1; r <= most; r++) {
        int64_t cost = glow_cpu_line_cost(width, r, blocks);

        if (cost < best_cost) {
            best_cost = cost;
            best = r;
        }
    }
    return best;
}

static void
set_valid(const cpu_window_axis *x, int64_t first, int rows, bool *valid)
{
    for (int r = 0; r < rows; r++)
        for (int64_t j = 0; j < x->kernel; j++) {
            int64_t at = (first + r) * x->stride + j * x->dilation - x->start;

            valid[r * x->kernel + j] = at >= 0 && at < x->in;
        }
}

int
glow_cpu_cut(glow_arena *a, const cpu_window_axis *x, int rows, cpu_run *runs)
{
    size_t size = (size_t)(rows * x->kernel);
    bool *valid = GLOW_NEW_ARRAY(a, bool, size);
    int n = 0;

    for (int64_t at = 0; at < x->out; at += rows) {
        int64_t left = x->out - at;
        int now = left < rows ? (int)left : rows;

        set_valid(x, at, now, valid);
        if (n && runs[n - 1].rows == now &&
            memcmp(runs[n - 1].valid, valid, (size_t)now * (size_t)x->kernel) ==
                0) {
            runs[n - 1].count++;
            continue;
        }
        if (n == CPU_MOST_RUNS)
            return 0;
        runs[n].first = at;
        runs[n].count = 1;
        runs[n].rows = now;
        runs[n++].valid = glow_arena_copy(a, valid, size);
    }
    return n;
}
