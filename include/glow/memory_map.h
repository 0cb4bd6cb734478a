/*
 * Memory maps: where the buffers of a placed program lie, and when.
 */

#ifndef GLOW_MEMORY_MAP_H
#define GLOW_MEMORY_MAP_H

#include "glow/graph.h"

GLOW_BEGIN

typedef enum glow_map_format {
    GLOW_MAP_TEXT, /* a table for each region */
    GLOW_MAP_JSON, /* one object, in one line */
    GLOW_MAP_SVG,  /* a picture: time to the right, offsets upwards */
} glow_map_format;

/*
 * Adds the map of `f` to `b`: for each region its peak (the end of the highest
 * buffer), the bound (the most bytes alive at one moment) and its capacity, and
 * for each buffer its offset, its size and the instructions, counted from 0, of
 * its alloc and its dealloc; weights live throughout.  False after E0326 if `f`
 * is no placed program.
 */
GLOW_API bool glow_memory_map(glow_buf *b, glow_func *f,
                              glow_map_format format);

GLOW_END

#endif
