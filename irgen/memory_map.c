/*
 * Memory maps as text, JSON and SVG.
 *
 * All three print the same table, which is made first: regions in their order,
 * in each the buffers by offset, then by time.
 */

#include "glow/memory_map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "glow/place.h"

typedef struct entry { /* a buffer */
    const glow_node *node;
    int64_t offset, size;
    int64_t begin, end; /* instructions: alive in [begin, end) */
} entry;

typedef struct table { /* a region */
    const glow_region *region;
    entry *entries;
    size_t count;
    int64_t peak, bound;
} table;

typedef struct map {
    glow_buf *out;
    const glow_func *f;
    glow_arena *scratch;
    table *tables;
    size_t count;
    int64_t time; /* instructions in all */
} map;

/* Making the tables. */

static int
by_offset(const void *x, const void *y)
{
    const entry *a = x, *b = y;

    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->node->id < b->node->id ? -1 : 1;
}

static table *
table_of(map *m, const glow_region *region)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->tables[i].region == region)
            return &m->tables[i];
    return NULL;
}

/* Fills in the buffers; when each is freed comes by its dealloc. */
static void
collect(map *m, glow_func *f)
{
    int64_t *end = GLOW_NEW_ARRAY(m->scratch, int64_t, f->count);
    uint32_t time = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        n->mark = time;
        end[time++] = f->count;
        if (n->op == &glow_op_dealloc)
            end[n->out[0]->def->mark] = n->mark;
    }
    m->time = time;
    for (size_t i = 0; i < m->count; i++)
        m->tables[i].entries = GLOW_NEW_ARRAY(m->scratch, entry, f->count);
    GLOW_FOR_EACH_NODE(n, f) {
        table *t = n->place ? table_of(m, n->place->region) : NULL;

        if (t)
            t->entries[t->count++] = (entry){
                .node = n,
                .offset = n->place->offset,
                .size = n->place->size,
                .begin = n->op == &glow_op_weight ? 0 : n->mark,
                .end = end[n->mark],
            };
    }
}

static void
measure(map *m, table *t)
{
    glow_lifetime *lives = GLOW_NEW_ARRAY(m->scratch, glow_lifetime, t->count);

    for (size_t i = 0; i < t->count; i++) {
        const entry *e = &t->entries[i];

        lives[i] =
            (glow_lifetime){.begin = e->begin, .end = e->end, .size = e->size};
        if (e->offset + e->size > t->peak)
            t->peak = e->offset + e->size;
    }
    t->bound = glow_place_bound(m->scratch, lives, t->count);
    qsort(t->entries, t->count, sizeof(entry), by_offset);
}

static void
make_tables(map *m, glow_func *f)
{
    size_t count = 0;

    for (const glow_region *r = f->regions; r; r = r->next)
        count++;
    m->tables = GLOW_NEW_ARRAY(m->scratch, table, count);
    for (const glow_region *r = f->regions; r; r = r->next)
        m->tables[m->count++].region = r;
    collect(m, f);
    for (size_t i = 0; i < m->count; i++)
        measure(m, &m->tables[i]);
}

/* Text. */

static void
text_region(const map *m, const table *t)
{
    glow_buf *b = m->out;

    glow_buf_printf(b,
                    "$%s: %zu buffers, peak %" PRId64 " bytes, bound %" PRId64,
                    t->region->name, t->count, t->peak, t->bound);
    if (t->region->capacity)
        glow_buf_printf(b, ", capacity %" PRId64, t->region->capacity);
    glow_buf_putc(b, '\n');
    if (t->count)
        glow_buf_printf(b, "  %12s %12s %8s %8s  %s\n", "offset", "size",
                        "from", "to", "buffer");
    for (size_t i = 0; i < t->count; i++) {
        const entry *e = &t->entries[i];

        glow_buf_printf(b,
                        "  %12" PRId64 " %12" PRId64 " %8" PRId64 " %8" PRId64
                        "  %%%s : ",
                        e->offset, e->size, e->begin, e->end, e->node->name);
        glow_buf_type(b, e->node->out[0]->type);
        glow_buf_putc(b, '\n');
    }
}

static void
print_text(const map *m)
{
    glow_buf_printf(m->out, "program @%s\n", m->f->name);
    for (size_t i = 0; i < m->count; i++)
        text_region(m, &m->tables[i]);
}

/* JSON. */

static void
json_string(glow_buf *b, const char *text)
{
    glow_buf_putc(b, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            glow_buf_printf(b, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            glow_buf_printf(b, "\\u%04x", c);
        else
            glow_buf_putc(b, (char)c);
    }
    glow_buf_putc(b, '"');
}

static void
json_entry(const map *m, const entry *e)
{
    glow_buf_puts(m->out, "{\"name\": ");
    json_string(m->out, e->node->name);
    glow_buf_puts(m->out, ", \"type\": ");
    json_string(m->out, glow_type_text(m->scratch, e->node->out[0]->type));
    glow_buf_printf(m->out,
                    ", \"offset\": %" PRId64 ", \"size\": %" PRId64
                    ", \"from\": %" PRId64 ", \"to\": %" PRId64 "}",
                    e->offset, e->size, e->begin, e->end);
}

static void
json_region(const map *m, const table *t)
{
    glow_buf *b = m->out;

    glow_buf_puts(b, "{\"name\": ");
    json_string(b, t->region->name);
    glow_buf_puts(b, ", \"space\": ");
    json_string(b, t->region->space);
    glow_buf_printf(b,
                    ", \"align\": %" PRId64 ", \"size\": %" PRId64
                    ", \"capacity\": %" PRId64 ", \"peak\": %" PRId64
                    ", \"bound\": %" PRId64 ", \"buffers\": [",
                    t->region->align, t->region->size, t->region->capacity,
                    t->peak, t->bound);
    for (size_t i = 0; i < t->count; i++) {
        if (i > 0)
            glow_buf_puts(b, ", ");
        json_entry(m, &t->entries[i]);
    }
    glow_buf_puts(b, "]}");
}

static void
print_json(const map *m)
{
    glow_buf_puts(m->out, "{\"program\": ");
    json_string(m->out, m->f->name);
    glow_buf_printf(m->out, ", \"instructions\": %" PRId64 ", \"regions\": [",
                    m->time);
    for (size_t i = 0; i < m->count; i++) {
        if (i > 0)
            glow_buf_puts(m->out, ", ");
        json_region(m, &m->tables[i]);
    }
    glow_buf_puts(m->out, "]}\n");
}

/* SVG.  A panel for each region, as high as it is of interest. */

#define WIDTH 1000.0
#define LEFT 20.0
#define HEAD 44.0
#define HIGH 420.0
#define LOW 90.0
#define FOOT 30.0
#define MARGIN 160.0 /* for words at the right */

/* ` name="12.5"`: in any locale with a point. */
static void
svg_number(glow_buf *b, const char *name, double v)
{
    int64_t tenths = (int64_t)(v * 10 + 0.5);

    glow_buf_printf(b, " %s=\"%" PRId64 ".%d\"", name, tenths / 10,
                    (int)(tenths % 10));
}

static void
svg_escaped(glow_buf *b, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '<' || c == '>' || c == '&' || c == '"')
            glow_buf_printf(b, "&#%d;", c);
        else
            glow_buf_putc(b, c < 0x20 ? '?' : (char)c);
    }
}

/* Begins `<text ...>`; the caller adds the words and ends it. */
static void
svg_text(glow_buf *b, double x, double y, const char *more)
{
    glow_buf_puts(b, "<text");
    svg_number(b, "x", x);
    svg_number(b, "y", y);
    glow_buf_puts(b, more);
    glow_buf_putc(b, '>');
}

static void
svg_rect(glow_buf *b, double x, double y, double w, double h)
{
    glow_buf_puts(b, "<rect");
    svg_number(b, "x", x);
    svg_number(b, "y", y);
    svg_number(b, "width", w);
    svg_number(b, "height", h);
}

typedef struct panel { /* where a region is drawn, in units of the picture */
    double top, height;
    double per_byte, per_step;
} panel;

/* A level line with its words at the right end. */
static void
svg_level(const map *m, panel p, int64_t bytes, const char *color,
          const char *what)
{
    double y = p.top + p.height - (double)bytes * p.per_byte;

    glow_buf_puts(m->out, "<line");
    svg_number(m->out, "x1", LEFT);
    svg_number(m->out, "x2", LEFT + WIDTH);
    svg_number(m->out, "y1", y);
    svg_number(m->out, "y2", y);
    glow_buf_printf(m->out, " stroke=\"%s\" stroke-dasharray=\"6 3\"/>\n",
                    color);
    svg_text(m->out, LEFT + WIDTH + 6, y + 4, "");
    glow_buf_printf(m->out, "%s %" PRId64 "</text>\n", what, bytes);
}

static void
svg_entry(const map *m, panel p, const entry *e)
{
    glow_buf *b = m->out;
    const char *name = e->node->name;
    double x = LEFT + (double)e->begin * p.per_step;
    double w = (double)(e->end - e->begin) * p.per_step;
    double h = (double)e->size * p.per_byte;
    double y = p.top + p.height - (double)e->offset * p.per_byte - h;

    glow_buf_puts(b, "<g>");
    svg_rect(b, x, y, w, h);
    glow_buf_printf(b, " fill=\"hsl(%d 60%% 75%%)\" stroke=\"#444\"><title>%%",
                    (int)(glow_hash(name, strlen(name), 0) % 360));
    svg_escaped(b, name);
    glow_buf_puts(b, " : ");
    svg_escaped(b, glow_type_text(m->scratch, e->node->out[0]->type));
    glow_buf_printf(b,
                    "&#10;%" PRId64 " bytes at %" PRId64
                    ", instructions %" PRId64 " to %" PRId64 "</title></rect>",
                    e->size, e->offset, e->begin, e->end);
    if (h >= 11 && w >= 7.0 * (double)strlen(name) + 8) {
        svg_text(b, x + 3, y + h / 2 + 4, "");
        glow_buf_putc(b, '%');
        svg_escaped(b, name);
        glow_buf_puts(b, "</text>");
    }
    glow_buf_puts(b, "</g>\n");
}

static void
svg_title(const map *m, const table *t, double y)
{
    svg_text(m->out, LEFT, y, " font-weight=\"bold\"");
    glow_buf_putc(m->out, '$');
    svg_escaped(m->out, t->region->name);
    glow_buf_printf(m->out,
                    ": %zu buffers, peak %" PRId64 ", bound %" PRId64 " bytes",
                    t->count, t->peak, t->bound);
    if (t->region->capacity)
        glow_buf_printf(m->out, ", capacity %" PRId64, t->region->capacity);
    glow_buf_puts(m->out, "</text>\n");
}

/* Do its buffers come and go? */
static bool
is_shared(const map *m, const table *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->entries[i].begin > 0 || t->entries[i].end < m->time)
            return true;
    return false;
}

static void
svg_region(const map *m, const table *t, panel p)
{
    int64_t top = t->peak, capacity = t->region->capacity;

    if (capacity > t->peak && capacity / 2 < t->peak)
        top = capacity; /* a line within sight */
    p.per_byte = top > 0 ? p.height / (double)top : 0;
    svg_title(m, t, p.top - 8);
    svg_rect(m->out, LEFT, p.top, WIDTH, p.height);
    glow_buf_puts(m->out, " fill=\"#f6f6f6\" stroke=\"#999\"/>\n");
    for (size_t i = 0; i < t->count; i++)
        if (t->entries[i].size > 0)
            svg_entry(m, p, &t->entries[i]);
    if (!is_shared(m, t))
        return;
    svg_level(m, p, t->bound, "#060", "bound");
    if (t->peak > t->bound)
        svg_level(m, p, t->peak, "#a00", "peak");
    if (top > t->peak)
        svg_level(m, p, top, "#00a", "capacity");
}

static void
print_svg(const map *m)
{
    panel p = {.per_step = m->time ? WIDTH / (double)m->time : 0};
    double height = FOOT;

    for (size_t i = 0; i < m->count; i++)
        height += HEAD + (is_shared(m, &m->tables[i]) ? HIGH : LOW);
    glow_buf_printf(m->out,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                    "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
                    "font-size=\"11\" stroke-width=\"0.5\">\n"
                    "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                    "<title>memory of @",
                    (int)(LEFT + WIDTH + MARGIN), (int)height);
    svg_escaped(m->out, m->f->name);
    glow_buf_puts(m->out, "</title>\n");
    for (size_t i = 0; i < m->count; i++) {
        p.top += HEAD;
        p.height = is_shared(m, &m->tables[i]) ? HIGH : LOW;
        svg_region(m, &m->tables[i], p);
        p.top += p.height;
    }
    svg_text(m->out, LEFT, p.top + 20, "");
    glow_buf_printf(m->out,
                    "instructions 0 to %" PRId64
                    " from left to right, offsets upwards</text>\n</svg>\n",
                    m->time);
}

bool
glow_memory_map(glow_buf *b, glow_func *f, glow_map_format format)
{
    static void (*const print[])(const map *) = {print_text, print_json,
                                                 print_svg};
    map m = {.out = b, .f = f};

    if (!f->is_program || !f->placed)
        return glow_error_hint(f->module->ctx, f->span, "E0326",
                               "run -alloc first",
                               "@%s has no memory map: it is not a placed "
                               "program",
                               f->name);
    m.scratch = glow_arena_new();
    make_tables(&m, f);
    print[format](&m);
    glow_arena_free(m.scratch);
    return true;
}
