/* -view: pictures of functions. */

#ifndef GLOW_TOOLS_GLOW_OPT_VIEW_H
#define GLOW_TOOLS_GLOW_OPT_VIEW_H

#include "glow/family.h"
#include "glow/graph.h"

/* The size of the picture of a function. */
typedef struct view_size {
    double width, height;
} view_size;

/* "1x3x224x224 float" */
const char *view_type(glow_arena *a, const glow_type *t);
/* At most `most` characters of `text`, with the middle omitted. */
const char *view_short(glow_arena *a, const char *text, size_t most);
/* The node's line and provenance, for tooltips. */
void put_full_text(glow_buf *b, glow_arena *a, const glow_node *n);

/* Escapes text for XML and HTML; ` name="12.5"`, with a point in any locale. */
void put_escaped(glow_buf *b, const char *text);
void put_number(glow_buf *b, const char *name, double v);
/* `<text class="..." x="..." y="...">words</text>` */
void put_words(glow_buf *b, const char *class, double x, double y,
               const char *words);

/* Draw a function with its upper left corner at 0, 0. */
view_size put_graph_svg(glow_buf *b, glow_arena *a, glow_func *f);
view_size put_program_svg(glow_buf *b, glow_arena *a, glow_func *f);
void put_dot(glow_buf *b, glow_arena *a, glow_module *m);
/* All functions of a module, one below the other. */
void put_svg(glow_buf *b, glow_arena *a, glow_module *m);

/* Characters of the font are as wide as this, at size 11. */
#define VIEW_CHAR 6.65

#endif
