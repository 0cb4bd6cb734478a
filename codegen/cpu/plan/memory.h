/* Memory of a plan: offsets of regions, and byte ranges of values. */

#ifndef CODEGEN_CPU_PLAN_MEMORY_H
#define CODEGEN_CPU_PLAN_MEMORY_H

#include "codegen/cpu/plan.h"

/*
 * Lays out the regions of each base one after the other, and sets p->regions;
 * false after a report (E0822).
 */
bool glow_cpu_lay_regions(cpu_plan *p);

/* Bytes of placeholders and activations of `f`, as glow_cpu_lay_regions lays them
   out. */
int64_t glow_cpu_region_bytes(const glow_func *f);

/* The range of bytes of a buffer or view, once the regions are laid out. */
cpu_range glow_cpu_range(const cpu_plan *p, const glow_value *v);

#endif
