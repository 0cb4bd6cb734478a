/*
 * Drawing SVG: numbers that read alike in any locale, text that is escaped, and
 * labels that stay within their boxes.
 */

#ifndef IRGEN_REPORT_SVG_H
#define IRGEN_REPORT_SVG_H

#include "glow/base.h"

typedef struct glow_svg_box {
    double x, y, w, h;
} glow_svg_box;

/* ` name="12.34"`. */
void glow_svg_number(glow_buf *b, const char *name, double v);
void glow_svg_escaped(glow_buf *b, const char *text);
/* `<rect class="..." x="..." ...`, not closed. */
void glow_svg_rect(glow_buf *b, const char *class, glow_svg_box at);
void glow_svg_line(glow_buf *b, const char *class, double x1, double y1,
                   double x2, double y2);
void glow_svg_text(glow_buf *b, const char *class, double x, double y,
                   const char *text);
/*
 * Up to three lines of text (NULL: none) in the box, the first the name: level,
 * or upright where that shows more.  A name that is too long is shortened in
 * its middle; what does not fit is left out.
 */
void glow_svg_label(glow_buf *b, glow_arena *a, glow_svg_box at,
                    const char *const *lines, int count);

#endif
