/*
 * Layout of a memory map in SVG: the context that its files draw into.
 */

#ifndef IRGEN_REPORT_MEMORY_MAP_SVG_H
#define IRGEN_REPORT_MEMORY_MAP_SVG_H

#include "irgen/report/memory_map.h"

typedef struct glow_map_picture {
    glow_buf *out;
    const glow_timeline *t;
    glow_arena *arena;
    double y; /* distance from the top */
} glow_map_picture;

/* The frame, in units of the picture: scales at the left, labels at the right. */
#define GLOW_MAP_LEFT 86.0
#define GLOW_MAP_WIDTH 930.0
#define GLOW_MAP_RIGHT (GLOW_MAP_LEFT + GLOW_MAP_WIDTH)
#define GLOW_MAP_PAGE 1180.0

/* Number of steps up to which the uses of buffers are drawn. */
#define GLOW_MAP_MOST_APART 1500

/* Draws a region below those drawn before. */
void glow_map_space(glow_map_picture *p, const glow_timeline_space *s);

#endif
