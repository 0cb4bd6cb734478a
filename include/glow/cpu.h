/*
 * Options of the backend `cpu`: `-backend='cpu<winograd=off>'`, or a
 * glow_cpu_options in glow_target_options.options.
 */

#ifndef GLOW_CPU_H
#define GLOW_CPU_H

#include "glow/backend.h"

GLOW_BEGIN

/*
 * Convolution by Winograd's transforms: fewer multiplications, more weights, and an
 * error that is relative to the largest results around.  Those of quantized elements,
 * of 3 x 3, are exact.
 */
typedef enum glow_winograd {
    GLOW_WINOGRAD_AUTO, /* where it is expected to take less time */
    GLOW_WINOGRAD_OFF,
    GLOW_WINOGRAD_2, /* F(2) wherever it can be done */
    GLOW_WINOGRAD_4, /* F(4) */
} glow_winograd;

/*
 * Convolutions and products of floats by registers of matrices that multiply
 * bfloat16: three products of parts of the numbers, of which each has two, or six of
 * three parts.  The error of three is below that of Winograd's convolution, that of six
 * is that of float: docs/accuracy.md.
 */
typedef enum glow_parts {
    GLOW_PARTS_AUTO, /* where it is expected to take less time */
    GLOW_PARTS_OFF,
    GLOW_PARTS_ON,  /* wherever it can be done */
    GLOW_PARTS_SIX, /* as AUTO, by six products of three parts */
} glow_parts;

/*
 * Strassen's algorithm within products of float by constants, and 1 x 1 convolutions: an
 * eighth fewer multiplications, and an error relative to the largest numbers around.
 */
typedef enum glow_strassen {
    GLOW_STRASSEN_AUTO, /* where it is expected to take less time */
    GLOW_STRASSEN_OFF,
} glow_strassen;

/* Elements of 8 bits of constant weights, for processors that multiply 16. */
typedef enum glow_packing {
    GLOW_PACKING_FAST,  /* widened where that takes less time */
    GLOW_PACKING_SMALL, /* kept in 8 bits, and widened as they are loaded */
} glow_packing;

/* Where a bundle has its constants. */
typedef enum glow_bundle_weights {
    GLOW_BUNDLE_FILE,   /* in NAME.weights */
    GLOW_BUNDLE_OBJECT, /* in NAME.o, as the constant NAME_weights */
    GLOW_BUNDLE_C,      /* in NAME_weights.c, as the constant NAME_weights */
} glow_bundle_weights;

typedef struct glow_cpu_options {
    int winograd; /* glow_winograd */
    int parts;    /* glow_parts */
    /*
     * Run step by step, and fail where one changes bytes that are not its own;
     * in `profile`, writes of the trace count as the step's.  Only of `load`.
     */
    bool red_zones;
    float grain;  /* seconds of work worth a part of its own; 0: 2.5e-6 */
    int weights;  /* glow_bundle_weights */
    int packing;  /* glow_packing */
    int strassen; /* glow_strassen */
} glow_cpu_options;

GLOW_END

#endif
