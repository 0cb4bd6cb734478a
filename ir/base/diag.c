/*
 * Diagnostics: reporting, and rendering as text or JSON.
 *
 *     net.gir:7:29: error[E0203]: Transpose: Shuffle names axis 7, but ...
 *        7 |   %y = Transpose(@x) {Shuffle: [0, 7]} : float<2 x 3>
 *          |        ^~~~~~~~~ the label
 *     note: declared here
 *     help: the hint
 *
 * Everything that comes from the input is escaped where it is not printable
 * UTF-8, so that no file can drive the terminal it is reported on.
 */

#include <inttypes.h>
#include <string.h>

#include "ir/base/context.h"
#include "ir/base/utf8.h"

/* Reporting. */

void
glow_context_set_sink(glow_context *ctx, glow_sink_fn fn, void *user)
{
    ctx->sink = fn;
    ctx->sink_user = user;
}

void
glow_quiet_begin(glow_context *ctx, glow_quiet *q)
{
    *q = (glow_quiet){ctx->sink, ctx->sink_user, ctx->errors};
    ctx->sink = NULL;
}

void
glow_quiet_end(glow_context *ctx, const glow_quiet *q)
{
    ctx->sink = q->sink;
    ctx->sink_user = q->user;
    ctx->errors = q->errors;
}

int
glow_error_count(const glow_context *ctx)
{
    return ctx->errors;
}

void
glow_report(glow_context *ctx, const glow_diag *d)
{
    if (d->severity == GLOW_ERROR)
        ctx->errors++;
    if (ctx->sink)
        ctx->sink(d, ctx->sink_user);
}

static void GLOW_PRINTF(6, 0)
    vreport(glow_context *ctx, glow_severity severity, glow_span at,
            const char *id, const char *hint, const char *fmt, va_list ap)
{
    glow_arena *a = glow_arena_new();

    glow_report(ctx, &(glow_diag){.severity = severity,
                                  .id = id,
                                  .message = glow_arena_vprintf(a, fmt, ap),
                                  .span = at,
                                  .hint = hint});
    glow_arena_free(a);
}

bool
glow_error(glow_context *ctx, const char *id, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vreport(ctx, GLOW_ERROR, (glow_span){0}, id, NULL, fmt, ap);
    va_end(ap);
    return false;
}

bool
glow_error_at(glow_context *ctx, glow_span at, const char *id, const char *fmt,
              ...)
{
    va_list ap;

    va_start(ap, fmt);
    vreport(ctx, GLOW_ERROR, at, id, NULL, fmt, ap);
    va_end(ap);
    return false;
}

bool
glow_error_hint(glow_context *ctx, glow_span at, const char *id,
                const char *hint, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vreport(ctx, GLOW_ERROR, at, id, hint, fmt, ap);
    va_end(ap);
    return false;
}

void
glow_warning_hint(glow_context *ctx, glow_span at, const char *id,
                  const char *hint, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vreport(ctx, GLOW_WARNING, at, id, hint, fmt, ap);
    va_end(ap);
}

/* Positions. */

static void
line_of(const glow_source *s, uint32_t at, int *line, int *column)
{
    const char *p = s->text;
    const char *end = s->text ? s->text + (at < s->size ? at : s->size) : NULL;
    int n = s->first_line;

    for (const char *q; p && (q = memchr(p, '\n', (size_t)(end - p)));) {
        p = q + 1;
        n++;
    }
    *line = n;
    *column = p ? (int)(end - p) + 1 : 1;
}

void
glow_span_line(glow_span s, int *line, int *column)
{
    *line = *column = 0;
    if (s.source)
        line_of(s.source, s.begin, line, column);
}

/* Escaping of untrusted text. */

/*
 * True for C0 and C1 controls, and marks that reverse the direction of writing.
 */
static bool
is_hidden(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;

    if (length == 1)
        return s[0] < 0x20 || s[0] == 0x7f;
    if (length == 2)
        return s[0] == 0xc2 && s[1] < 0xa0;
    return length == 3 && s[0] == 0xe2 &&
           ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
            (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

/* Appends `n` bytes of text, escaped; returns their width in columns. */
static size_t
show(glow_buf *b, const char *text, size_t n)
{
    size_t width = 0;

    for (size_t i = 0; i < n;) {
        size_t length = glow_utf8_length(text + i, n - i);

        if (text[i] == '\t') {
            glow_buf_putc(b, ' ');
            i++;
            width++;
        } else if (length == 0 || is_hidden(text + i, length)) {
            glow_buf_printf(b, "\\x%02x", (unsigned char)text[i]);
            i++;
            width += 4;
        } else {
            glow_buf_add(b, text + i, length);
            i += length;
            width++;
        }
    }
    return width;
}

void
glow_buf_show(glow_buf *b, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        const char *end = memchr(text + i, '\n', n - i);
        size_t line = end ? (size_t)(end - text) - i : n - i;

        show(b, text + i, line);
        if (end)
            glow_buf_putc(b, '\n');
        i += line + 1;
    }
}

static void
show_text(glow_buf *b, const char *text)
{
    show(b, text, strlen(text));
}

/* Text. */

static const char *const severity_names[] = {"error", "warning", "remark",
                                             "note"};
static const char *const severity_colors[] = {"\x1b[1;31m", "\x1b[1;35m",
                                              "\x1b[1;34m", "\x1b[1;36m"};
#define BOLD "\x1b[1m"
#define GREEN "\x1b[1;32m"
#define BLUE "\x1b[34m"

typedef struct style {
    bool color;
} style;

static void
paint(glow_buf *b, style s, const char *color)
{
    if (s.color)
        glow_buf_puts(b, color);
}

static void
plain(glow_buf *b, style s)
{
    paint(b, s, "\x1b[0m");
}

/* Columns of a line that are shown; longer lines are cut at both sides. */
enum { WINDOW = 160 };

static void
gutter(glow_buf *b, style s, int line)
{
    paint(b, s, BLUE);
    if (line)
        glow_buf_printf(b, "%4d | ", line);
    else
        glow_buf_puts(b, "     | ");
    plain(b, s);
}

/* The line of the span, and under it `^~~~ label`. */
static void
show_line(glow_buf *b, style s, glow_span at, const char *label,
          const char *color)
{
    const glow_source *src = at.source;
    size_t size = src->size;
    size_t begin = at.begin < size ? at.begin : size;
    size_t end = at.end < size ? at.end : size;
    size_t first = begin, last = begin;
    int line, column;

    while (first > 0 && src->text[first - 1] != '\n')
        first--;
    while (last < size && src->text[last] != '\n' && src->text[last] != '\r')
        last++;
    end = end > last ? last : end < begin ? begin : end;

    bool cut_left = begin - first > WINDOW / 2;
    size_t from = cut_left ? begin - WINDOW / 2 : first;
    bool cut_right = last - from > WINDOW;
    size_t to = cut_right ? from + WINDOW : last;

    if (end > to)
        end = to;
    glow_span_line(at, &line, &column);
    gutter(b, s, line);
    size_t indent = cut_left ? show(b, "...", 3) : 0;
    indent += show(b, src->text + from, begin - from);
    size_t width = show(b, src->text + begin, end - begin);
    show(b, src->text + end, to - end);
    glow_buf_puts(b, cut_right ? "...\n" : "\n");

    gutter(b, s, 0);
    for (size_t i = 0; i < indent; i++)
        glow_buf_putc(b, ' ');
    paint(b, s, color);
    glow_buf_putc(b, '^');
    for (size_t i = 1; i < width; i++)
        glow_buf_putc(b, '~');
    if (label) {
        glow_buf_putc(b, ' ');
        show_text(b, label);
    }
    plain(b, s);
    glow_buf_putc(b, '\n');
}

static void
show_diag(glow_buf *b, const glow_diag *d, style s)
{
    const char *color = severity_colors[d->severity];
    int line, column;

    if (d->span.source) {
        paint(b, s, BOLD);
        show_text(b, d->span.source->name);
        if (d->span.source->text) {
            glow_span_line(d->span, &line, &column);
            glow_buf_printf(b, ":%d:%d", line, column);
        }
        glow_buf_puts(b, ": ");
        plain(b, s);
    }
    paint(b, s, color);
    glow_buf_puts(b, severity_names[d->severity]);
    if (d->id)
        glow_buf_printf(b, "[%s]", d->id);
    plain(b, s);
    glow_buf_puts(b, ": ");
    paint(b, s, BOLD);
    show_text(b, d->message);
    plain(b, s);
    glow_buf_putc(b, '\n');
    if (d->span.source && d->span.source->text)
        show_line(b, s, d->span, d->label, color);
    else if (d->label) {
        glow_buf_puts(b, "  ");
        show_text(b, d->label);
        glow_buf_putc(b, '\n');
    }
    if (d->origin) {
        glow_buf_puts(b, "  from ");
        show_text(b, d->origin);
        glow_buf_putc(b, '\n');
    }
    for (const glow_diag *n = d->notes; n; n = n->next)
        show_diag(b, n, s);
    if (d->hint) {
        paint(b, s, GREEN);
        glow_buf_puts(b, "help");
        plain(b, s);
        glow_buf_puts(b, ": ");
        show_text(b, d->hint);
        glow_buf_putc(b, '\n');
    }
}

void
glow_diag_text(glow_buf *b, const glow_diag *d, bool color)
{
    show_diag(b, d, (style){color});
}

/* JSON. */

static void
json_string(glow_buf *b, const char *text)
{
    size_t n = strlen(text);

    glow_buf_putc(b, '"');
    for (size_t i = 0; i < n;) {
        size_t length = glow_utf8_length(text + i, n - i);

        if (text[i] == '"' || text[i] == '\\') {
            glow_buf_printf(b, "\\%c", text[i++]);
        } else if (length == 0 || (length == 1 && is_hidden(text + i, 1))) {
            glow_buf_printf(b, "\\u%04x", (unsigned char)text[i++]);
        } else {
            glow_buf_add(b, text + i, length);
            i += length;
        }
    }
    glow_buf_putc(b, '"');
}

static void
json_member(glow_buf *b, const char *name, const char *text)
{
    if (!text)
        return;
    glow_buf_printf(b, ", \"%s\": ", name);
    json_string(b, text);
}

static void
json_diag(glow_buf *b, const glow_diag *d)
{
    int line, column;

    glow_buf_printf(b, "{\"severity\": \"%s\"", severity_names[d->severity]);
    json_member(b, "id", d->id);
    json_member(b, "message", d->message);
    if (d->span.source) {
        json_member(b, "file", d->span.source->name);
        if (d->span.source->text) {
            glow_span_line(d->span, &line, &column);
            glow_buf_printf(b, ", \"line\": %d, \"column\": %d", line, column);
            line_of(d->span.source, d->span.end, &line, &column);
            glow_buf_printf(b, ", \"end_line\": %d, \"end_column\": %d", line,
                            column);
        }
    }
    json_member(b, "label", d->label);
    json_member(b, "hint", d->hint);
    json_member(b, "origin", d->origin);
    if (d->notes) {
        glow_buf_puts(b, ", \"notes\": [");
        for (const glow_diag *n = d->notes; n; n = n->next) {
            json_diag(b, n);
            if (n->next)
                glow_buf_puts(b, ", ");
        }
        glow_buf_putc(b, ']');
    }
    glow_buf_putc(b, '}');
}

void
glow_diag_json(glow_buf *b, const glow_diag *d)
{
    json_diag(b, d);
    glow_buf_putc(b, '\n');
}
