/*
 * The target of code generation: an LLVM target machine, and the parameters
 * that kernels ask for.
 */

#ifndef CODEGEN_CPU_TARGET_H
#define CODEGEN_CPU_TARGET_H

#include "codegen/llvm/llvm.h"
#include "glow/cpu.h"

struct cpu_choice;
struct glow_remark;

/* Shuffles of bytes for lookup in tables of 256: emit/table.h. */
typedef enum cpu_shuffle {
    CPU_SHUFFLE_NONE,     /* a load for each lane */
    CPU_SHUFFLE_ROWS,     /* 16 bytes: PSHUFB */
    CPU_SHUFFLE_QUARTERS, /* 64 bytes: TBL */
    CPU_SHUFFLE_HALVES,   /* 128 bytes: VPERMI2B */
} cpu_shuffle;

/* Instructions that multiply integers of 8 or 16 bits and add up in 32: emit/dot.h. */
typedef enum cpu_dot {
    CPU_DOT_WIDE,     /* none: products of 16 bits, one in a lane */
    CPU_DOT_PAIRS,    /* two products of 16 bits: PMADDWD, dot_i16x8 */
    CPU_DOT_UNSIGNED, /* four of u8 by s8: VPDPBUSD, USDOT */
    CPU_DOT_SIGNED,   /* four of s8 by s8: VPDPBSSD, SDOT */
    /* Eight, of two rows by two columns. */
    CPU_DOT_UNSIGNED_ROWS, /* of u8 by s8: USMMLA */
    CPU_DOT_SIGNED_ROWS,   /* of s8 by s8: SMMLA */
    CPU_DOT_TILES,         /* four of s8 or u8 by s8: AMX, see emit/matrix.h */
} cpu_dot;

/* Pointers, but those to static data, are one target's own: run/probed.c lists them. */
typedef struct cpu_target {
    LLVMTargetMachineRef machine;
    LLVMTargetDataRef layout;
    const char *triple, *cpu, *features;
    int sve_bytes; /* of the SVE registers that code is generated for, or 0 */
    int rvv_bytes; /* least length of RVV registers for the code, or 0 */
    const char *name; /* in tuning files: "x86_64/haswell/256" */
    bool is_host;
    bool is_stated;      /* by options, not found on this machine */
    int threads;         /* most threads to split work for */
    double grain;        /* seconds of work of the smallest worthwhile part */
    int vector_bytes;    /* of the widest worthwhile vector; 4: scalars */
    int registers;       /* vector registers */
    int unroll;          /* steps of a sum that a loop repeats, at most */
    int64_t cache_bytes; /* of the private cache of a core */
    double multiplies;   /* vector multiplications issued per cycle */
    double memory_bytes; /* memory bandwidth of a core, bytes per cycle */
    int streams;         /* places in which one tile reads weights at once */
    const char *width_text; /* vector_bytes in bits, as text */
    bool halves;            /* executes vectors of 64 bytes in halves: Zen 4 */
    bool has_half;          /* converts binary16 without a library */
    bool has_bfloat;        /* rounds to bfloat16 in one instruction */
    bool has_scale;         /* AVX-512's VREDUCEPS and VSCALEFPS, of 64 bytes */
    const char *pairs;      /* intrinsic of a dot product of pairs, or NULL */
    cpu_shuffle shuffle;    /* of bytes */
    int shuffle_bytes;      /* of its vectors */
    cpu_dot dot;            /* form of dot products of integers, of i8 */
    cpu_dot dot_unsigned;   /* and of ui8 */
    bool dot_rows;          /* has those of two rows */
    int dot_bytes;          /* of their vectors */
    bool has_amx;           /* the processor has AMX */
    bool matrix;            /* and code may use it: see matrix.h */
    bool matrix_bytes;      /* and it multiplies integers of 8 bits */
    bool emulates_amx;      /* by functions in C */
    bool bfmmla;  /* the processor has BFMMLA, which `matrix` is then */
    int winograd; /* glow_winograd */
    int parts;    /* glow_parts */
    int packing;  /* glow_packing */
    int strassen; /* glow_strassen */
    bool exact;   /* rounds as the interpreter: no FMA, no reciprocals */
    bool flush;   /* subnormal numbers are zeros: see flush.h */
    /* Choices that replace the default kernels, by glow_cpu_key, or NULL; see
       choice.h. */
    const glow_map *tuned;
    const struct cpu_choice *choice; /* for this instruction, or NULL */
    /* Of glow_target_options; or NULL. */
    void (*remark)(void *user, const struct glow_remark *r);
    void *remark_user;
} cpu_target;

/*
 * True if the last feature `name` in `features` ("+a,-b") is enabled; `has` if
 * there is none.
 */
bool glow_cpu_has_word(const char *features, const char *name, bool has);

#endif
