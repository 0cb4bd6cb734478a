/*
 * A region as a picture: a panel of buffers over steps and offsets with the live
 * bytes below it, or a bar.
 *
 * Labels avoid each other: those of a buffer stay within its box, those of a level
 * are at the right, below the one before, that of the peak step is above the
 * panel.
 */

#include <inttypes.h>
#include <string.h>

#include "irgen/report/memory_map_svg.h"
#include "irgen/report/svg.h"

#define HIGH 400.0
#define CURVE 84.0
#define BAR 34.0

typedef struct panel { /* the place of a region in the picture */
    const glow_timeline_space *s;
    double top, height;
    int64_t most; /* bytes at the top */
} panel;

/* Coordinates. */

static double
x_of(const glow_map_picture *p, double step)
{
    return p->t->n_steps ? GLOW_MAP_LEFT + GLOW_MAP_WIDTH * step / p->t->n_steps
                         : GLOW_MAP_LEFT;
}

static double
y_of(const panel *at, int64_t bytes)
{
    return at->top + at->height -
           at->height * ((double)bytes / (double)at->most);
}

/* Labels. */

static const char *
bytes_text(const glow_map_picture *p, int64_t bytes)
{
    return glow_bytes_text(p->arena, bytes);
}

/* "56 buffers, peak 6.89 MiB, ..." */
static const char *
figures(const glow_map_picture *p, const glow_timeline_space *s)
{
    glow_buf b = {.arena = p->arena};

    glow_buf_printf(&b, "$%s in %s: %" PRIu32 " buffer%s, ", s->name,
                    s->region->space, s->n_buffers,
                    s->n_buffers == 1 ? "" : "s");
    if (s->shared)
        glow_buf_puts(&b, "peak ");
    glow_buf_bytes(&b, s->peak);
    if (s->shared && s->peak == s->bound)
        glow_buf_puts(&b, ", equal to the lower bound");
    else if (s->shared)
        glow_buf_printf(&b, ", lower bound %s", bytes_text(p, s->bound));
    if (s->region->capacity)
        glow_buf_printf(&b, ", capacity %s",
                        bytes_text(p, s->region->capacity));
    return b.text;
}

/* "convolution, add, relu": the operators that write the buffer, in order. */
static const char *
writers(const glow_map_picture *p, const glow_timeline_buffer *e)
{
    glow_buf b = {.arena = p->arena};
    const char *before = "";

    for (uint32_t i = 0; i < e->n_uses; i++) {
        const char *op = p->t->steps[e->uses[i].step]->op->name;

        if (!e->uses[i].writes || strcmp(op, before) == 0)
            continue;
        if (b.len > 60) {
            glow_buf_puts(&b, ", \xe2\x80\xa6");
            break;
        }
        glow_buf_printf(&b, "%s%s", b.len ? ", " : "", op);
        before = op;
    }
    return b.text ? b.text : "";
}

/* Scales. */

/* Distance of the marks of a scale with at most `marks` of them up to `most`. */
static int64_t
binary_step(int64_t most, int marks)
{
    int64_t step = 1;

    while (most / step > marks)
        step *= 2;
    return step;
}

static int64_t
decimal_step(int64_t most, int marks)
{
    int64_t step = 1;

    for (int i = 0; most / step > marks; i++)
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    return step;
}

/* "1536 KiB": all marks of a scale have the unit of their distance. */
static const char *
mark_text(const glow_map_picture *p, int64_t bytes, int64_t step)
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
    int unit = 0;

    for (; step >= 1024; unit++) {
        step /= 1024;
        bytes /= 1024;
    }
    return bytes == 0 ? "0"
                      : glow_arena_printf(p->arena, "%" PRId64 " %s", bytes,
                                          units[unit]);
}

static void
put_byte_scale(const glow_map_picture *p, const panel *at, int marks)
{
    int64_t step = binary_step(at->most, marks);

    for (int64_t v = 0; v <= at->most; v += step) {
        double y = y_of(at, v);

        glow_svg_line(p->out, "grid", GLOW_MAP_LEFT, y, GLOW_MAP_RIGHT, y);
        glow_svg_text(p->out, "soft end", GLOW_MAP_LEFT - 6, y + 4,
                      mark_text(p, v, step));
        if (v > INT64_MAX - step)
            return;
    }
}

static void
put_step_scale(glow_map_picture *p)
{
    int64_t n = p->t->n_steps, step = decimal_step(n, 16);

    for (int64_t s = 0; s < n; s += step)
        glow_svg_text(p->out, "soft mid", x_of(p, (double)s + 0.5), p->y + 14,
                      glow_arena_printf(p->arena, "%" PRId64, s));
    glow_svg_text(p->out, "soft", GLOW_MAP_RIGHT + 8, p->y + 14, "step");
    p->y += 20;
}

/* Buffers. */

/* The tooltip of a buffer. */
static void
put_title(const glow_map_picture *p, const glow_timeline_buffer *e)
{
    glow_buf *b = p->out;

    glow_buf_puts(b, "<title>");
    glow_svg_escaped(b, glow_buffer_label(p->t, e));
    glow_buf_puts(b, "&#10;%");
    glow_svg_escaped(b, e->name);
    glow_buf_puts(b, " : ");
    glow_svg_escaped(b, glow_type_text(p->arena, e->type));
    glow_buf_puts(b, *writers(p, e) ? "&#10;" : "");
    glow_svg_escaped(b, writers(p, e));
    glow_buf_printf(b,
                    "&#10;%" PRId64 " bytes at %" PRId64 ", steps %" PRIu32
                    " to %" PRIu32 "</title>",
                    e->size, e->offset, e->from,
                    e->to > e->from ? e->to - 1 : e->to);
}

static const char *
maker_name(const glow_map_picture *p, const glow_timeline_buffer *e)
{
    uint32_t maker = glow_timeline_maker(e);

    return e->node->op == &glow_op_weight || maker == GLOW_NO_STEP
               ? NULL
               : p->t->steps[maker]->op->name;
}

/* Steps that use the buffer, darker; the whole box where steps are too narrow. */
static void
put_busy(const glow_map_picture *p, const glow_timeline_buffer *e,
         glow_svg_box at)
{
    uint32_t i = 0;

    while (i < e->n_uses) {
        uint32_t first = e->uses[i].step, end = first;

        while (i < e->n_uses && e->uses[i].step == end)
            i++, end++;
        at.x = x_of(p, first);
        at.w = x_of(p, end) - at.x;
        glow_svg_rect(p->out, "busy", at);
        glow_buf_puts(p->out, "/>");
    }
}

static void
put_rect(const glow_map_picture *p, const char *class, glow_svg_box at)
{
    glow_svg_rect(p->out, class, at);
    glow_buf_puts(p->out, "/>");
}

static void
put_buffer(const glow_map_picture *p, const glow_timeline_buffer *e,
           glow_svg_box at, bool alive, bool apart)
{
    const char *lines[] = {glow_buffer_label(p->t, e), maker_name(p, e),
                           bytes_text(p, e->size)};

    if (at.w <= 0 || at.h <= 0)
        return;
    glow_buf_printf(p->out, "<g class=\"b %s%s\">", glow_buffer_family(p->t, e),
                    alive ? " alive" : "");
    put_title(p, e);
    put_rect(p, apart ? "life" : "busy", at);
    if (apart)
        put_busy(p, e, at);
    put_rect(p, "edge", at);
    glow_svg_label(p->out, p->arena, at, lines, 3);
    glow_buf_puts(p->out, "</g>\n");
}

static void
put_buffers(const glow_map_picture *p, const panel *at)
{
    const glow_timeline_space *s = at->s;

    for (uint32_t i = 0; i < s->n_buffers; i++) {
        const glow_timeline_buffer *e = &s->buffers[i];
        double x = x_of(p, e->from), y = y_of(at, e->offset + e->size);
        glow_svg_box box = {x, y, x_of(p, e->to) - x, y_of(at, e->offset) - y};

        put_buffer(p, e, box, glow_timeline_alive(e, s->busiest),
                   p->t->n_steps <= GLOW_MAP_MOST_APART);
    }
}

/* Levels: the bound, the peak, the capacity. */

typedef struct level {
    const char *class, *words;
    int64_t bytes;
} level;

/* Lines across the panel with labels at the right that do not overlap. */
static void
put_levels(const glow_map_picture *p, const panel *at)
{
    const glow_timeline_space *s = at->s;
    level all[] = {
        {"room", "capacity", s->region->capacity},
        {"peak", "peak", s->peak > s->bound ? s->peak : 0},
        {"bound", s->peak > s->bound ? "lower bound" : "peak = bound",
         s->bound},
    };
    double free = at->top - 12;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double y = y_of(at, all[i].bytes);

        if (all[i].bytes == 0 || all[i].bytes > at->most)
            continue;
        glow_svg_line(p->out, all[i].class, GLOW_MAP_LEFT, y, GLOW_MAP_RIGHT,
                      y);
        free = y > free ? y : free;
        glow_svg_text(p->out, all[i].class, GLOW_MAP_RIGHT + 8, free + 4,
                      glow_arena_printf(p->arena, "%s %s", all[i].words,
                                        bytes_text(p, all[i].bytes)));
        free += 14;
    }
}

/* The peak step: a stripe, and its label above the panel. */
static void
put_moment(const glow_map_picture *p, const glow_timeline_space *s, double top,
           double bottom)
{
    const glow_node *n = p->t->steps[s->busiest];
    double x = x_of(p, s->busiest), w = x_of(p, 1) - GLOW_MAP_LEFT;
    double at = x + w / 2;
    const char *side = at < GLOW_MAP_LEFT + 200    ? "peak"
                       : at > GLOW_MAP_RIGHT - 200 ? "peak end"
                                                   : "peak mid";

    glow_svg_rect(p->out, "now",
                  (glow_svg_box){x, top, w < 1.5 ? 1.5 : w, bottom - top});
    glow_buf_puts(p->out, "/>\n");
    glow_svg_text(p->out, side, at < GLOW_MAP_LEFT + 200 ? x : at, top - 5,
                  glow_arena_printf(
                      p->arena, "most alive, %s, at step %" PRIu32 ": %s, %s",
                      bytes_text(p, s->live[s->busiest]), s->busiest,
                      n->op->name, glow_source_name(n)));
}

/* Live bytes. */

/* The most live bytes in column `c` of `columns`. */
static int64_t
column_live(const glow_map_picture *p, const glow_timeline_space *s, uint64_t c,
            uint64_t columns)
{
    uint64_t n = p->t->n_steps;
    int64_t most = 0;

    for (uint64_t i = c * n / columns; i < (c + 1) * n / columns; i++)
        most = s->live[i] > most ? s->live[i] : most;
    return most;
}

static void
put_point(glow_buf *b, char how, double v)
{
    int64_t tenths = (int64_t)(v * 10 + 0.5);

    glow_buf_printf(b, "%c%" PRId64 ".%d", how, tenths / 10,
                    (int)(tenths % 10));
}

static void
put_curve(glow_map_picture *p, const glow_timeline_space *s)
{
    panel at = {s, p->y, CURVE, s->live[s->busiest]};
    uint32_t n = p->t->n_steps < 2000 ? p->t->n_steps : 2000;

    glow_svg_rect(p->out, "panel",
                  (glow_svg_box){GLOW_MAP_LEFT, p->y, GLOW_MAP_WIDTH, CURVE});
    glow_buf_puts(p->out, "/>\n");
    put_byte_scale(p, &at, 3);
    glow_buf_puts(p->out, "<path d=\"");
    put_point(p->out, 'M', GLOW_MAP_LEFT);
    put_point(p->out, ' ', at.top + at.height);
    for (uint32_t c = 0; c < n; c++) {
        put_point(p->out, 'V', y_of(&at, column_live(p, s, c, n)));
        put_point(p->out, 'H', GLOW_MAP_LEFT + GLOW_MAP_WIDTH * (c + 1) / n);
    }
    put_point(p->out, 'V', at.top + at.height);
    glow_buf_puts(p->out, "Z\"/>\n");
    glow_svg_text(p->out, "soft", GLOW_MAP_RIGHT + 8, p->y + 10, "bytes alive");
    p->y += CURVE;
}

/* Regions. */

static void
put_panel(glow_map_picture *p, const glow_timeline_space *s)
{
    int64_t capacity = s->region->capacity;
    panel at = {s, p->y + 24, HIGH, s->peak > s->bound ? s->peak : s->bound};
    double bottom;

    if (capacity > at.most && capacity / 2 < at.most)
        at.most = capacity; /* keeps the line of the capacity visible */
    glow_svg_rect(p->out, "panel",
                  (glow_svg_box){GLOW_MAP_LEFT, at.top, GLOW_MAP_WIDTH, HIGH});
    glow_buf_puts(p->out, "/>\n");
    put_byte_scale(p, &at, 8);
    put_buffers(p, &at);
    put_levels(p, &at);
    p->y = bottom = at.top + HIGH + 18;
    put_curve(p, s);
    put_moment(p, s, at.top, p->y);
    put_step_scale(p);
}

static void
put_bar(glow_map_picture *p, const glow_timeline_space *s)
{
    glow_svg_rect(p->out, "panel",
                  (glow_svg_box){GLOW_MAP_LEFT, p->y, GLOW_MAP_WIDTH, BAR});
    glow_buf_puts(p->out, "/>\n");
    for (uint32_t i = 0; i < s->n_buffers; i++) {
        const glow_timeline_buffer *e = &s->buffers[i];
        double unit = GLOW_MAP_WIDTH / (double)s->peak;

        put_buffer(p, e,
                   (glow_svg_box){GLOW_MAP_LEFT + (double)e->offset * unit,
                                  p->y, (double)e->size * unit, BAR},
                   false, false);
    }
    p->y += BAR;
}

void
glow_map_space(glow_map_picture *p, const glow_timeline_space *s)
{
    p->y += 34;
    glow_svg_text(p->out, "head", GLOW_MAP_LEFT, p->y, figures(p, s));
    p->y += 8;
    if (s->peak <= 0)
        return;
    if (s->shared && p->t->n_steps > 0 && s->live[s->busiest] > 0)
        put_panel(p, s);
    else
        put_bar(p, s);
}
