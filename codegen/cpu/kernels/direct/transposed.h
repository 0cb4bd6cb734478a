/*
 * Transposed convolution as convolutions of phases of its results, for the kernels
 * that compute these: see transposed.c.
 */

#ifndef CODEGEN_CPU_KERNELS_DIRECT_TRANSPOSED_H
#define CODEGEN_CPU_KERNELS_DIRECT_TRANSPOSED_H

#include "codegen/cpu/kernels/direct/direct.h"

/* A number of a phase. */
typedef int64_t cpu_phase_fn(const cpu_target *t, const cpu_direct *d);

/*
 * Its sum over all phases of ConvTranspose `n`, and the greatest; INT64_MAX if `n` has
 * three spatial axes that matter, or beyond.
 */
int64_t glow_cpu_phases_sum(const cpu_target *t, const glow_node *n,
                            cpu_phase_fn *of);
int64_t glow_cpu_phases_most(const cpu_target *t, const glow_node *n,
                             cpu_phase_fn *of);

/* A kernel of phases: bytes of the weights of one, units, packing and code. */
typedef struct cpu_phases {
    cpu_phase_fn *size, *units;
    void (*pack)(const cpu_target *t, const cpu_direct *d,
                 const cpu_filter *filter, void *to);
    void (*emit)(cpu_job *j, const cpu_direct *d);
} cpu_phases;

/* The weights of all phases, one after the other, and the code of all. */
void glow_cpu_pack_phases(const cpu_target *t, const glow_node *n,
                          const cpu_phases *by, const glow_tensor *from,
                          void *to);
void glow_cpu_emit_phases(cpu_job *j, const cpu_phases *by);

#endif
