/* The forms of a memory map: each prints one timeline. */

#ifndef IRGEN_REPORT_MEMORY_MAP_H
#define IRGEN_REPORT_MEMORY_MAP_H

#include "irgen/report/timeline.h"

void glow_map_text(glow_buf *b, const glow_timeline *t);
void glow_map_json(glow_buf *b, const glow_timeline *t);
void glow_map_svg(glow_buf *b, const glow_timeline *t);

#endif
