/*
 * Red zones: a run step by step that checks that no step changes a byte outside
 * of its own buffers.
 *
 * The activations are first filled with NaN, and each base has a margin before
 * and behind; `alloc<gap=...>` leaves gaps between the buffers.  After each
 * step all bytes are compared with their earlier values, except the buffers
 * that the step writes and its scratch.
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
    uint8_t *kept[CPU_BASES]; /* expected contents, with margins */
    uint8_t *own;             /* flags of the bytes of one base */
} cpu_zones;

/* Allocates the state in `a`. */
cpu_zones *glow_cpu_zones(glow_arena *a, const cpu_plan *p,
                          uint8_t *const base[CPU_BASES]);

/* Fills the activations with NaN; the inputs must be written afterwards. */
void glow_cpu_zones_clear(cpu_zones *z);

/* Accepts the present contents of memory as expected. */
void glow_cpu_zones_begin(cpu_zones *z);

/* Checks that all changes since are within step `s`; false after a report. */
bool glow_cpu_zones_check(cpu_zones *z, const cpu_step *s);

#endif
