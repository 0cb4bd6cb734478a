/*
 * Simulator of the accelerator: runs instruction words.
 *
 * Fetch passes instructions in order to three queues; load, compute and store take
 * them in order, each when the tokens that the instruction pops are there.  All
 * transfers share one DRAM port.  Scratchpads begin poisoned, and a read of an element
 * that nothing wrote since, or that is in flight, is a fault.  Nothing here needs glow.
 */

#ifndef VTA_MACHINE_H
#define VTA_MACHINE_H

#include "isa.h"

enum { VTA_POISON = 0x5a };

typedef struct vta_config {
    int64_t elements[VTA_MEMORIES]; /* of VTA_UOP to VTA_ACC */
    int64_t depth;                  /* instructions that a queue holds */
    int64_t outstanding;    /* transfers of load, or of store, at once */
    int64_t setup;          /* cycles from a request to its first byte */
    double bytes_per_cycle; /* of the DRAM port */
} vta_config;

typedef struct vta_report {
    int64_t instructions;
    int64_t cycles;          /* of a timed run */
    int64_t busy[VTA_UNITS]; /* cycles in which the unit runs an instruction */
    int64_t bytes[VTA_UNITS];
    int64_t gemm_steps; /* of 256 multiply-adds each */
    int64_t alu_steps;
    char fault[160]; /* empty: none */
} vta_report;

typedef struct vta_machine vta_machine;

/*
 * True if each memory has an element, and no more than fields address, and transfers and
 * queues make progress.
 */
bool vta_config_is_possible(const vta_config *c);
/* NULL if that is false. */
vta_machine *vta_machine_new(const vta_config *c);
void vta_machine_free(vta_machine *m);
/* Fills the scratchpads of a new run with poison; new ones have it. */
void vta_machine_poison(vta_machine *m);

/*
 * Runs `count` instructions on `dram`; counts are added to `r`.  Seed 0:
 * instructions start at the earliest cycle.  Other seeds: in a random order that
 * tokens allow, starts and ends apart, without cycles.  `dram` NULL with seed
 * 0: cycles alone, without effects.  False with r->fault set.
 */
bool vta_machine_run(vta_machine *m, uint8_t *dram, int64_t bytes,
                     const vta_word *program, int64_t count, uint64_t seed,
                     vta_report *r);

#endif
