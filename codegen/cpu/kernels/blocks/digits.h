/*
 * Products of few rows by weights in blocks, by integer dot products of digits of the
 * input.
 */

#ifndef CODEGEN_CPU_KERNELS_BLOCKS_DIGITS_H
#define CODEGEN_CPU_KERNELS_BLOCKS_DIGITS_H

#include "codegen/cpu/kernels/blocks/blocks.h"

enum {
    CPU_BLOCKS_DIGITS = 3,  /* of an element of Input */
    CPU_BLOCKS_RECORD = 16, /* bytes before the digits of a block */
};

/* Bytes of the record of a block, which digits_input.c draws; of all in scratch. */
int64_t glow_cpu_blocks_record(const cpu_blocks *s);
int64_t glow_cpu_blocks_digits_scratch(const cpu_blocks *s);
cg_value glow_cpu_blocks_record_at(const cpu_blocks_maker *m, cg_value row,
                                   cg_value number);
/* Makes the records of all rows; true if all elements are finite. */
cg_value glow_cpu_blocks_digits_input(const cpu_blocks_maker *m);

#endif
