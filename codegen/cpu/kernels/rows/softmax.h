/* Softmax and LogSoftmax: functions that rows of all lengths share. */

#ifndef CODEGEN_CPU_KERNELS_ROWS_SOFTMAX_H
#define CODEGEN_CPU_KERNELS_ROWS_SOFTMAX_H

#include "codegen/cpu/kernels/common.h"

typedef struct cpu_soft {
    int64_t size;
    bool logarithm;
    bool keeps;        /* the result holds exponentials as they are computed */
    cg_value at;       /* the first element of the row */
    cg_value max, sum; /* sum: from glow_cpu_soft_sum */
} cpu_soft;

/* x, or b where x is not greater: one instruction nearly everywhere. */
cg_value glow_cpu_soft_greater(cg *g, const glow_type *t, cg_value b,
                               cg_value x);
/*
 * Prepares the sum of a row for glow_cpu_soft_weigh: its logarithm, or 1 / sum,
 * or the sum itself if quotients must be rounded once.
 */
cg_value glow_cpu_soft_sum(cg *g, const cpu_soft *s, cg_value sum);
/*
 * The exponential `e` divided by the sum of its row; `sum` is from
 * glow_cpu_soft_sum.
 */
cg_value glow_cpu_soft_weigh(cg *g, cg_value e, cg_value sum);
/* Combines `n` vectors of one width lane by lane, as a tree; overwrites `v`. */
cg_value glow_cpu_soft_lanes(cg *g, const glow_type *t, cg_value *v, int n,
                             cg_combine_fn fn);
/* One row from element s.at on, of any length. */
void glow_cpu_soft_row(cpu_job *j, cpu_soft s);

/*
 * Short rows along the last axis (softmax_short.c): the number of them that are done
 * at once, which is a unit; 1: rows of `size` elements of `type` are done one by one.
 */
int glow_cpu_soft_rows(const cpu_target *t, const glow_type *type,
                       int64_t size);
void glow_cpu_soft_short(cpu_job *j, cpu_soft s);

#endif
