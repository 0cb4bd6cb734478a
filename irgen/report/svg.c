/*
 * SVG output.  Fonts are not measured: each character has the width of one of a
 * wide font, so that a label that fits here fits in any font.
 */

#include "irgen/report/svg.h"

#include <inttypes.h>
#include <string.h>

#define CHARACTER 6.4 /* width, at 11 pixels */
#define LINE 13.0
#define PAD 4.0
#define LEAST 7 /* the fewest characters to which a text is shortened */
#define MOST_LINES 3

void
glow_svg_number(glow_buf *b, const char *name, double v)
{
    int64_t hundredths = (int64_t)(v * 100 + (v < 0 ? -0.5 : 0.5));
    int64_t all = hundredths < 0 ? -hundredths : hundredths;

    glow_buf_printf(b, " %s=\"%s%" PRId64, name, hundredths < 0 ? "-" : "",
                    all / 100);
    if (all % 100)
        glow_buf_printf(b, ".%02d", (int)(all % 100));
    glow_buf_putc(b, '"');
}

void
glow_svg_escaped(glow_buf *b, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '<' || c == '>' || c == '&' || c == '"')
            glow_buf_printf(b, "&#%d;", c);
        else
            glow_buf_putc(b, c < 0x20 || c == 0x7f ? '?' : (char)c);
    }
}

void
glow_svg_rect(glow_buf *b, const char *class, glow_svg_box at)
{
    glow_buf_printf(b, "<rect class=\"%s\"", class);
    glow_svg_number(b, "x", at.x);
    glow_svg_number(b, "y", at.y);
    glow_svg_number(b, "width", at.w);
    glow_svg_number(b, "height", at.h);
}

void
glow_svg_line(glow_buf *b, const char *class, double x1, double y1, double x2,
              double y2)
{
    glow_buf_printf(b, "<line class=\"%s\"", class);
    glow_svg_number(b, "x1", x1);
    glow_svg_number(b, "y1", y1);
    glow_svg_number(b, "x2", x2);
    glow_svg_number(b, "y2", y2);
    glow_buf_puts(b, "/>\n");
}

void
glow_svg_text(glow_buf *b, const char *class, double x, double y,
              const char *text)
{
    glow_buf_printf(b, "<text class=\"%s\"", class);
    glow_svg_number(b, "x", x);
    glow_svg_number(b, "y", y);
    glow_buf_putc(b, '>');
    glow_svg_escaped(b, text);
    glow_buf_puts(b, "</text>\n");
}

/* Labels. */

static bool
begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

static int
characters(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += begins_character(*text);
    return n;
}

/* The byte after `count` characters. */
static size_t
after(const char *text, int count)
{
    size_t at = 0;

    for (; text[at] && (count > 0 || !begins_character(text[at])); at++)
        count -= begins_character(text[at]);
    return at;
}

/* At most `most` characters, without the middle of a longer text. */
static const char *
shortened(glow_arena *a, const char *text, int most)
{
    int n = characters(text), head = most / 2;

    if (n <= most)
        return text;
    return glow_arena_printf(a, "%.*s\xe2\x80\xa6%s", (int)after(text, head),
                             text, text + after(text, n - (most - 1 - head)));
}

static int
characters_in(double length)
{
    return length > 2 * PAD ? (int)((length - 2 * PAD) / CHARACTER) : 0;
}

static int
lines_in(double length, int count)
{
    int n = length >= LINE ? (int)((length - 2) / LINE) : 0;

    return n < count ? n : count;
}

/* Line `row` of the label, horizontal or vertical, centered. */
static void
put_line(glow_buf *b, glow_svg_box at, bool level, int row, int rows,
         const char *text)
{
    double across = (row - (rows - 1) / 2.0) * LINE + 4;
    double x = level ? at.x + PAD : at.x + at.w / 2 + across;
    double y = level ? at.y + at.h / 2 + across : at.y + at.h - PAD;

    glow_buf_printf(b, "<text class=\"%s\"", row ? "soft" : "name");
    if (level) {
        glow_svg_number(b, "x", x);
        glow_svg_number(b, "y", y);
    } else {
        glow_buf_printf(b, " transform=\"translate(%d %d) rotate(-90)\"",
                        (int)(x + 0.5), (int)(y + 0.5));
    }
    glow_buf_putc(b, '>');
    glow_svg_escaped(b, text);
    glow_buf_puts(b, "</text>");
}

/* As many of the lines as fit. */
static const char *
joined(glow_arena *a, const char *const *lines, int count, int room)
{
    const char *text = shortened(a, lines[0], room);

    for (int i = 1; i < count; i++)
        if (lines[i] && characters(text) + characters(lines[i]) + 3 <= room)
            text = glow_arena_printf(a, "%s \xc2\xb7 %s", text, lines[i]);
    return text;
}

void
glow_svg_label(glow_buf *b, glow_arena *a, glow_svg_box at,
               const char *const *lines, int count)
{
    int need = characters(lines[0]);
    int wide = at.h >= LINE ? characters_in(at.w) : 0;
    int high = at.w >= LINE ? characters_in(at.h) : 0;
    bool level = wide >= need || wide >= high;
    int room = level ? wide : high, rows = 0;
    int most = lines_in(level ? at.h : at.w, count);
    const char *fit[MOST_LINES];

    if (room < need && room < LEAST)
        return;
    if (most == 1) {
        fit[rows++] = joined(a, lines, count, room);
    } else {
        fit[rows++] = shortened(a, lines[0], room);
        for (int i = 1; i < count && rows < most; i++)
            if (lines[i] && characters(lines[i]) <= room)
                fit[rows++] = lines[i];
    }
    for (int i = 0; i < rows; i++)
        put_line(b, at, level, i, rows, fit[i]);
}
