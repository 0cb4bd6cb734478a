/*
 * SVG output: numbers independent of the locale, escaped text, and labels that
 * stay within their boxes.
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
 * Writes up to three lines of text (NULL: none) into the box, a name first:
 * horizontally, or vertically where more fits.  A long name is shortened in its
 * middle; lines that do not fit are left out.
 */
void glow_svg_label(glow_buf *b, glow_arena *a, glow_svg_box at,
                    const char *const *lines, int count);

#endif
