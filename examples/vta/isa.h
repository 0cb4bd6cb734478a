/*
 * Instruction set of the accelerator: 128-bit instructions, 32-bit micro-operations.
 *
 * The field layout is that of VTA (Moreau et al., "A Hardware-Software Blueprint for
 * Flexible Deep Learning Specialization", IEEE Micro 2019), whose accumulator
 * operations 5 to 7 are free and are used here for VTA_MOVE and VTA_ROUND.  Nothing
 * here needs glow.
 *
 *     bits      all
 *     0-2       opcode
 *     3-6       pop previous, pop next, push previous, push next
 *               load and store                 gemm and alu
 *     7-9       memory                         7      reset
 *     10-25     first scratchpad element       8-20   first micro-operation
 *     26-57     first DRAM element             21-34  past the last one
 *     58        padding is the least number    35-48  outer count
 *     64-79     rows                           49-62  inner count
 *     80-95     columns                        64-85  destination: outer, inner stride
 *     96-111    row stride in DRAM             86-107 source: outer, inner stride
 *     112-127   padding: rows above, below,    108-127 gemm: weights: outer, inner
 *               columns left, right                   alu: 108-110 operation,
 *                                              111 immediate, 112-127 its value
 *
 * A micro-operation: destination 0-10, source 11-21, weights 22-31.
 */

#ifndef VTA_ISA_H
#define VTA_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Elements of scratchpads: a vector of 16 numbers, a block of 16 x 16 weights. */
enum { VTA_LANES = 16, VTA_INSTRUCTION_BYTES = 16, VTA_MACS = 16 * 16 };

typedef enum vta_opcode {
    VTA_LOAD,
    VTA_STORE,
    VTA_GEMM,
    VTA_FINISH,
    VTA_ALU,
} vta_opcode;

typedef enum vta_memory {
    VTA_UOP,  /* micro-operations */
    VTA_WGT,  /* int8 */
    VTA_INP,  /* int8 */
    VTA_ACC,  /* int32 */
    VTA_OUT,  /* int8: the low bytes of the accumulators */
    VTA_ACC8, /* accumulators from int8 in DRAM */
    VTA_MEMORIES
} vta_memory;

typedef enum vta_function {
    VTA_MIN,
    VTA_MAX,
    VTA_ADD,
    VTA_SHIFT, /* right; left if the amount is negative */
    VTA_MUL,
    VTA_ROUND, /* see vta_round */
    VTA_MOVE,
    VTA_FUNCTIONS
} vta_function;

/* The units that run instructions, in the order of "previous" and "next". */
typedef enum vta_unit {
    VTA_LOADER,
    VTA_COMPUTER,
    VTA_STORER,
    VTA_UNITS
} vta_unit;

/* Limits of the fields. */
enum {
    VTA_MAX_UOPS = 1 << 13,
    VTA_MAX_COUNT = (1 << 14) - 1,
    VTA_MAX_STRIDE = (1 << 11) - 1,
    VTA_MAX_WGT_STRIDE = (1 << 10) - 1,
    VTA_MAX_ROWS = (1 << 16) - 1,
    VTA_MAX_PAD = 15,
};

typedef struct vta_word {
    uint64_t low, high;
} vta_word;

typedef struct vta_instruction {
    vta_opcode opcode;
    bool pop_previous, pop_next, push_previous, push_next;
    /* Load and store. */
    vta_memory memory;
    int64_t scratchpad, dram; /* first elements */
    int64_t rows, columns, stride;
    int above, below, left, right; /* rows and columns of padding */
    bool pad_least;                /* with -128, not 0 */
    /* Gemm and alu. */
    bool reset;
    int64_t first, end; /* micro-operations */
    int64_t outer, inner;
    int64_t dst_outer, dst_inner, src_outer, src_inner;
    int64_t wgt_outer, wgt_inner;
    vta_function function;
    bool has_immediate;
    int immediate;
} vta_instruction;

typedef struct vta_uop {
    int64_t dst, src, wgt;
} vta_uop;

/* False if a value does not fit its field. */
bool vta_encode(const vta_instruction *i, vta_word *w);
bool vta_encode_uop(vta_uop u, uint32_t *w);
/* False if the word is no instruction. */
bool vta_decode(vta_word w, vta_instruction *i);
vta_uop vta_decode_uop(uint32_t w);
vta_unit vta_unit_of(const vta_instruction *i);
/* Bytes in DRAM of an element of `m`. */
int vta_element_bytes(vta_memory m);
/* Bytes that a load or store moves to or from DRAM. */
int64_t vta_moved_bytes(const vta_instruction *i);
/* Runs of the inner loop of a gemm or alu: one vector a cycle. */
int64_t vta_steps(const vta_instruction *i);
/* A line of text without its end; returns the length. */
int vta_print(const vta_instruction *i, char *out, size_t size);

/*
 * The immediate of VTA_ROUND: the accumulator is shifted right by `shift`, 0 to 31,
 * rounded to nearest, ties to even, and held to `least` .. 127.
 */
int vta_round_immediate(int shift, int least);
int32_t vta_round(int32_t x, int immediate);

#endif
