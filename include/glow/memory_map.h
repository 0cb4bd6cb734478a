/*
 * Memory maps: offsets and live ranges of the buffers of a placed program.
 */

#ifndef GLOW_MEMORY_MAP_H
#define GLOW_MEMORY_MAP_H

#include "glow/graph.h"

GLOW_BEGIN

typedef enum glow_map_format {
    GLOW_MAP_TEXT, /* for a terminal: figures, a curve, a table */
    GLOW_MAP_JSON, /* one object in one line: see docs/memory.md */
    GLOW_MAP_SVG,  /* a picture: steps to the right, offsets upwards */
} glow_map_format;

/*
 * Adds the map of `f` to `b`.  Time is counted in steps, instructions that
 * compute, from 0.  For each region there is its peak (the end of the highest
 * buffer), the bound (the most bytes alive at one moment), the capacity and the
 * bytes alive during each step; for each buffer its offset, its size, the steps
 * from <= s < to that it lives (glow/lifetime.h; throughout where no memory is
 * shared), and which of them write and read it.  False after E0326 if `f` is no
 * placed program.
 */
GLOW_API bool glow_memory_map(glow_buf *b, glow_func *f,
                              glow_map_format format);

/*
 * Adds to `b`, as text, an explanation of the peak of `f`: for each region that buffers
 * share, the step with most live bytes, the buffers live then with their
 * definitions and next uses, and obstacles to a lower peak.  False after
 * E0326 if `f` is no placed program.
 */
GLOW_API bool glow_why_peak(glow_buf *b, glow_func *f);

GLOW_END

#endif
