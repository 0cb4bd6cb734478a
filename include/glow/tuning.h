/*
 * Tuning: choices among the kernels of an instruction and their parameters, found
 * by measurement, stored in a file and read by code generation.
 *
 *     glow-tuning 1
 *     # machine, instruction => kernel and its numbers
 *     x86_64/haswell/256 MatMul float<8x64> float<64x32>! > ... => matmul_direct rows=6
 *
 * A file may have rows for many machines; the backend chooses for instructions
 * without a row.  The same program, options and file give the same object.
 */

#ifndef GLOW_TUNING_H
#define GLOW_TUNING_H

#include "glow/diag.h"
#include "glow/graph.h"

GLOW_BEGIN

typedef struct glow_tuning glow_tuning;

/* An empty tuning; lives in `a`. */
GLOW_API glow_tuning *glow_tuning_new(glow_arena *a);
/*
 * Reads a tuning file.  NULL after a report (E0827); lives in `a`, and needs the
 * source.
 */
GLOW_API glow_tuning *glow_tuning_read(glow_context *ctx, glow_arena *a,
                                       const glow_source *source);
/* As a file that reads back as the same. */
GLOW_API void glow_tuning_print(glow_buf *b, const glow_tuning *t);

/* One that was tuned: all instructions of a program that are alike. */
typedef struct glow_tuned {
    const char *what;     /* the instruction: operator, attributes, types */
    const char *choice;   /* "conv_direct rows=14 vectors=2" */
    int count;            /* how often the program has it */
    int measured;         /* ways, beside the default */
    double before, after; /* seconds of all, by default and as chosen */
} glow_tuned;

typedef struct glow_tune_options {
    glow_tuning
        *to;    /* receives the results; instructions that it has are skipped */
    int budget; /* ways of each instruction that are measured, at most */
    void (*found)(const glow_tuned *what, void *user); /* or NULL */
    void *user;
} glow_tune_options;

GLOW_END

#endif
