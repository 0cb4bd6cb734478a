/*
 * A memory map as a picture, from within: what its files draw into.
 */

#ifndef IRGEN_REPORT_MEMORY_MAP_SVG_H
#define IRGEN_REPORT_MEMORY_MAP_SVG_H

#include "irgen/report/memory_map.h"

typedef struct glow_map_picture {
    glow_buf *out;
    const glow_timeline *t;
    glow_arena *arena;
    double y; /* how far down it is drawn */
} glow_map_picture;

/* The frame, in units of the picture: scales at the left, words at the right. */
#define GLOW_MAP_LEFT 86.0
#define GLOW_MAP_WIDTH 930.0
#define GLOW_MAP_RIGHT (GLOW_MAP_LEFT + GLOW_MAP_WIDTH)
#define GLOW_MAP_PAGE 1180.0

/* Steps that can be told apart: of more it is not shown which use a buffer. */
#define GLOW_MAP_MOST_APART 1500

/* Draws a region below what is there. */
void glow_map_space(glow_map_picture *p, const glow_timeline_space *s);

#endif
