/*
 * What code is made for: a machine of LLVM, and what kernels ask of it.
 */

#ifndef CODEGEN_CPU_TARGET_H
#define CODEGEN_CPU_TARGET_H

#include "codegen/llvm/llvm.h"
#include "glow/cpu.h"

struct cpu_choice;

typedef struct cpu_target {
    LLVMTargetMachineRef machine;
    LLVMTargetDataRef layout;
    const char *triple, *cpu, *features;
    int sve_bytes;    /* of the registers of SVE that code is made for, or 0 */
    const char *name; /* in tuning files: "x86_64/haswell/256" */
    bool is_host;
    int threads;            /* to split work for, at most */
    double grain;           /* seconds of work worth a part of its own */
    int vector_bytes;       /* of the widest vector worth using; 4: none */
    int registers;          /* vector registers */
    int64_t cache_bytes;    /* of the cache that a core has to itself */
    double multiplies;      /* of vectors that begin in a cycle */
    double memory_bytes;    /* that memory gives a core in a cycle */
    const char *width_text; /* vector_bytes in bits, as text */
    bool has_half;          /* converts binary16 without a library */
    bool has_bfloat;        /* rounds to bfloat16 in one instruction */
    const char *pairs;      /* intrinsic of sums of two products; or NULL */
    bool has_amx;           /* the processor has */
    bool matrix;            /* and code may use it: see matrix.h */
    int winograd;           /* glow_winograd */
    bool exact; /* rounds as the interpreter: no FMA, no reciprocals */
    bool flush; /* subnormal numbers are zeros: see flush.h */
    /* By glow_cpu_key, of instructions that are not done as kernels choose, or
       NULL; see choice.h. */
    const glow_map *tuned;
    const struct cpu_choice *choice; /* for the instruction at hand, or NULL */
} cpu_target;

/* What the last of the features "+a,-b" of this name says, else `has`. */
bool glow_cpu_has_word(const char *features, const char *name, bool has);

#endif
