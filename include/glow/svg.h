/*
 * Colors of SVG as attributes, for renderers that know no style sheets.
 */

#ifndef GLOW_SVG_H
#define GLOW_SVG_H

#include "glow/base.h"

GLOW_BEGIN

/* Colors of a class of <g>; `$f`, `$w` and `$c` in rules are of the one around. */
typedef struct glow_svg_colors {
    const char *name; /* of the class */
    const char *f, *w, *c;
} glow_svg_colors;

/* Attributes of elements `tag` of a class; "": elements without another rule. */
typedef struct glow_svg_rule {
    const char *tag, *name; /* of the class */
    const char *attributes; /* "fill=\"$f\" stroke=\"#e1e6eb\"" */
} glow_svg_rule;

/*
 * Appends the elements `svg`, each with the attributes of its classes. A class list
 * is separated by blanks, and attribute values hold no `>`. Both tables end with a
 * NULL; the first of `colors` holds outside of all groups.
 */
GLOW_API void glow_svg_paint(glow_buf *out, const char *svg,
                             const glow_svg_colors *colors,
                             const glow_svg_rule *rules);

GLOW_END

#endif
