/*
 * Memory maps for a terminal: for each region its figures, where buffers come
 * and go a curve of the bytes alive, and a table by offset.
 *
 *     $act: 3 buffers, peak 2.00 MiB, 2,097,152 bytes: the least for this order
 *       most is alive at step 2 of 5: conv2, Convolution (%conv2)
 *
 *       2.00 MiB |  ##
 *                | ####
 *              0 +-----
 */

#include <inttypes.h>
#include <string.h>

#include "irgen/report/memory_map.h"

#define COLUMNS 64
#define ROWS 6

/* Eighths of a character, from below. */
static const char *const bars[] = {" ",
                                   "\xe2\x96\x81",
                                   "\xe2\x96\x82",
                                   "\xe2\x96\x83",
                                   "\xe2\x96\x84",
                                   "\xe2\x96\x85",
                                   "\xe2\x96\x86",
                                   "\xe2\x96\x87",
                                   "\xe2\x96\x88"};

/* The most live bytes during the steps of column `c` of `columns`. */
static int64_t
column_live(const glow_timeline *t, const glow_timeline_space *s, uint32_t c,
            uint32_t columns)
{
    uint64_t n = t->n_steps;
    int64_t most = 0;

    for (uint64_t i = c * n / columns; i < (c + 1) * n / columns; i++)
        most = s->live[i] > most ? s->live[i] : most;
    return most;
}

static void
put_curve(glow_buf *b, const glow_timeline *t, const glow_timeline_space *s)
{
    uint32_t columns = t->n_steps < COLUMNS ? t->n_steps : COLUMNS;
    double unit = (double)s->live[s->busiest] / (ROWS * 8);

    glow_buf_putc(b, '\n');
    for (int row = ROWS; row-- > 0;) {
        glow_buf_printf(b, "  %10s |",
                        row == ROWS - 1
                            ? glow_bytes_text(t->arena, s->live[s->busiest])
                            : "");
        for (uint32_t c = 0; c < columns; c++) {
            double fill = (double)column_live(t, s, c, columns) / unit + 0.5;
            int eighths = (int)fill - row * 8;

            glow_buf_puts(b, bars[eighths < 0 ? 0 : eighths > 8 ? 8 : eighths]);
        }
        while (b->text[b->len - 1] == ' ')
            b->text[--b->len] = '\0';
        glow_buf_putc(b, '\n');
    }
    glow_buf_printf(b, "  %10s +", "0");
    for (uint32_t c = 0; c < columns; c++)
        glow_buf_putc(b, '-');
    glow_buf_printf(b, "\n  %10s  step 0 to %" PRIu32 "\n", "", t->n_steps - 1);
}

static void
put_head(glow_buf *b, const glow_timeline *t, const glow_timeline_space *s)
{
    const glow_region *r = s->region;

    glow_buf_printf(b, "\n$%s in %s: %" PRIu32 " buffer%s, ", s->name, r->space,
                    s->n_buffers, s->n_buffers == 1 ? "" : "s");
    glow_buf_bytes(b, s->peak);
    glow_buf_puts(b, " (");
    glow_buf_grouped(b, s->peak);
    glow_buf_puts(b, " bytes)");
    if (s->peak > s->bound) {
        glow_buf_puts(b, ", bound ");
        glow_buf_grouped(b, s->bound);
    } else if (s->shared) {
        glow_buf_puts(b, ", the bound");
    }
    if (r->capacity) {
        glow_buf_puts(b, ", capacity ");
        glow_buf_grouped(b, r->capacity);
    }
    glow_buf_putc(b, '\n');
    if (s->shared && t->n_steps > 0) {
        const glow_node *n = t->steps[s->busiest];

        glow_buf_printf(b,
                        "  most is alive at step %" PRIu32 ": %s, %s (%%%s)\n",
                        s->busiest, glow_source_name(n), n->op->name, n->name);
    }
}

/* The part of a row's end that its beginning does not imply. */
static void
put_who(glow_buf *b, const glow_timeline *t, const glow_timeline_buffer *e)
{
    const char *label = glow_buffer_label(t, e);

    glow_buf_printf(b, "%%%s : ", e->name);
    glow_buf_type(b, e->type);
    if (strcmp(label, e->name) != 0)
        glow_buf_printf(b, "  %s", label);
}

static void
put_table(glow_buf *b, const glow_timeline *t, const glow_timeline_space *s)
{
    glow_buf_printf(b, "\n  %14s %14s %7s %7s  %s\n", "offset", "size", "from",
                    "to", "buffer");
    for (uint32_t i = 0; i < s->n_buffers; i++) {
        const glow_timeline_buffer *e = &s->buffers[i];
        glow_buf offset = {.arena = t->arena}, size = {.arena = t->arena};

        glow_buf_grouped(&offset, e->offset);
        glow_buf_grouped(&size, e->size);
        glow_buf_printf(b, "  %14s %14s %7" PRIu32 " %7" PRIu32 "  ",
                        offset.text, size.text, e->from, e->to);
        put_who(b, t, e);
        glow_buf_putc(b, '\n');
    }
}

void
glow_map_text(glow_buf *b, const glow_timeline *t)
{
    glow_buf_printf(b, "program @%s: %" PRIu32 " steps\n", t->f->name,
                    t->n_steps);
    for (uint32_t i = 0; i < t->n_spaces; i++) {
        const glow_timeline_space *s = &t->spaces[i];

        put_head(b, t, s);
        if (s->shared && t->n_steps > 0 && s->live[s->busiest] > 0)
            put_curve(b, t, s);
        if (s->n_buffers > 0)
            put_table(b, t, s);
    }
}
