/*
 * A style sheet turned into attributes: one walk over the tags, with a stack of the
 * colors of the groups around.
 */

#include "glow/svg.h"

#include <string.h>

enum { MOST_NESTED = 16 };

typedef struct painter {
    glow_buf *out;
    const glow_svg_colors *colors;
    const glow_svg_rule *rules;
    const glow_svg_colors *around[MOST_NESTED];
    int depth;
} painter;

/* A span of text. */
typedef struct span {
    const char *at;
    size_t size;
} span;

static bool
span_is(span s, const char *text)
{
    return strlen(text) == s.size && strncmp(s.at, text, s.size) == 0;
}

/* Takes the next word off `s`. */
static span
next_word(span *s)
{
    size_t n = 0;
    span word;

    while (s->size > 0 && *s->at == ' ')
        s->at++, s->size--;
    while (n < s->size && s->at[n] != ' ')
        n++;
    word = (span){s->at, n};
    s->at += n;
    s->size -= n;
    return word;
}

/* The classes in the tag that ends at `end`. */
static span
classes_of(const char *tag, const char *end)
{
    static const char key[] = " class=\"";
    const char *at = strstr(tag, key);
    const char *from = at ? at + sizeof key - 1 : NULL;

    return from && from < end ? (span){from, strcspn(from, "\"")}
                              : (span){tag, 0};
}

/* A group: its colors, or those around it. */
static void
enter(painter *p, span classes)
{
    const glow_svg_colors *found = p->around[p->depth];

    while (classes.size > 0) {
        span word = next_word(&classes);

        for (const glow_svg_colors *c = p->colors; c->name; c++)
            if (word.size > 0 && span_is(word, c->name))
                found = c;
    }
    if (p->depth + 1 < MOST_NESTED)
        p->around[++p->depth] = found;
}

static void
put_attributes(const painter *p, const char *attributes)
{
    const glow_svg_colors *c = p->around[p->depth];

    glow_buf_putc(p->out, ' ');
    for (; *attributes; attributes++)
        if (*attributes == '$' && attributes[1])
            glow_buf_puts(p->out, *++attributes == 'f' ? c->f
                                  : *attributes == 'w' ? c->w
                                                       : c->c);
        else
            glow_buf_putc(p->out, *attributes);
}

static bool
paint_as(const painter *p, span tag, span class)
{
    for (const glow_svg_rule *r = p->rules; r->tag; r++)
        if (span_is(tag, r->tag) && span_is(class, r->name)) {
            put_attributes(p, r->attributes);
            return true;
        }
    return false;
}

static void
paint(const painter *p, span tag, span classes)
{
    bool painted = false;

    while (classes.size > 0)
        painted |= paint_as(p, tag, next_word(&classes));
    if (!painted)
        paint_as(p, tag, (span){"", 0});
}

void
glow_svg_paint(glow_buf *out, const char *svg, const glow_svg_colors *colors,
               const glow_svg_rule *rules)
{
    painter p = {.out = out, .colors = colors, .rules = rules};
    const char *end;

    p.around[0] = colors;
    for (const char *at = svg; *at; at = end) {
        end = at + strcspn(at + (*at == '<'), "<") + (*at == '<');
        if (*at != '<') {
            glow_buf_add(out, at, (size_t)(end - at));
            continue;
        }

        span tag = {at + 1, strcspn(at + 1, " />")};
        const char *close = at + strcspn(at, ">");
        const char *body = close > at && close[-1] == '/' ? close - 1 : close;
        span classes = classes_of(at, close);

        if (strncmp(at, "</g>", 4) == 0 && p.depth > 0)
            p.depth--;
        glow_buf_add(out, at, (size_t)(body - at));
        if (span_is(tag, "g"))
            enter(&p, classes);
        else if (at[1] != '/')
            paint(&p, tag, classes);
        glow_buf_add(out, body, (size_t)(end - body));
    }
}
