/*
 * Red zones: a run step by step, in which no step may change a byte that is not
 * its own.
 *
 * The memory of the activations begins with no number in it, and each base has a
 * margin before and behind; `alloc<gap=...>` leaves more between the buffers.
 * Behind each step all bytes are compared with what they were before, but for
 * those of the buffers that it writes or works in.
 *
 * Takes as much memory again as the network, and a pass over it for each step.
 */

#ifndef CODEGEN_CPU_RUN_ZONES_H
#define CODEGEN_CPU_RUN_ZONES_H

#include "codegen/cpu/plan.h"

/* Bytes before and behind each base. */
#define CPU_ZONE_MARGIN 4096

typedef struct cpu_zones {
    const cpu_plan *plan;
    uint8_t *base[CPU_BASES]; /* behind their margins */
    uint8_t *kept[CPU_BASES]; /* what they and their margins hold */
    uint8_t *own;             /* flags of the bytes of one base */
} cpu_zones;

/* Memory comes from `a`, for as long as that lives. */
cpu_zones *glow_cpu_zones(glow_arena *a, const cpu_plan *p,
                          uint8_t *const base[CPU_BASES]);

/* Leaves no number in the activations; then inputs are to be written. */
void glow_cpu_zones_clear(cpu_zones *z);

/* Takes what is written up to here as right. */
void glow_cpu_zones_begin(cpu_zones *z);

/* What has changed since then is within step `s`, or false after a report. */
bool glow_cpu_zones_check(cpu_zones *z, const cpu_step *s);

#endif
