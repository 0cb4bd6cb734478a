/*
 * A machine with a scratchpad, `spm`, and an array of multipliers that works in it:
 * its operator npu.Dense, the passes that form and lower it, and its backend.
 */

#ifndef NPU_H
#define NPU_H

#include <glow/backend.h>
#include <glow/ops.h>
#include <glow/pass.h>

enum { NPU_SCRATCHPAD = 64 * 1024 };

/* Relu: the results below 0 become 0. */
typedef struct npu_dense {
    bool relu;
} npu_dense;

extern const glow_op npu_op_dense;
extern const glow_pass npu_pass_form_dense;
extern const glow_pass npu_pass_fuse_relu;
extern const glow_pass npu_pass_lower_dense;
extern const glow_backend npu_backend;

/* The kernel: y[m][n] = x[m][k] w[k][n] + b[n], all in the scratchpad. */
void npu_run_dense(const glow_node *n, const float *x, const float *w,
                   const float *b, float *y);
/* The listing: an instruction a line, with addresses. */
bool npu_emit(glow_func *f, const char *artifact, const glow_target_options *t,
              const char *path);

#endif
