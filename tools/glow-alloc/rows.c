/*
 * Tables of buffers: comma-separated, the first line has the names of the
 * columns.  Cells may have blanks around them; empty lines are passed over.
 * Every mistake is reported at its cell.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/file.h"
#include "tools/glow-alloc/alloc.h"

enum { ID, LOWER, UPPER, SIZE, ALIGNMENT, OFFSET, COLUMNS };

static const char *const names[COLUMNS] = {"id",   "lower",     "upper",
                                           "size", "alignment", "offset"};

enum { MOST_CELLS = 64 };

typedef struct reader {
    tool *t;
    const glow_source *source;
    const char *at;
    glow_span cells[MOST_CELLS]; /* of the current line, without blanks */
    int n_cells;
    glow_span line;
    int column[COLUMNS]; /* which cell it is; -1: none */
    glow_map *seen;      /* ids, to their spans */
    rows *out;
    size_t cap_buffers, cap_ids, cap_spans;
    int64_t align;
    bool ok;
} reader;

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static glow_span
span_of(const reader *r, const char *from, const char *to)
{
    while (from < to && is_blank(*from))
        from++;
    while (to > from && is_blank(to[-1]))
        to--;
    return (glow_span){r->source, (uint32_t)(from - r->source->text),
                       (uint32_t)(to - r->source->text)};
}

static bool
fail(reader *r, glow_span at, const char *hint, const char *message)
{
    r->ok = false;
    return glow_error_hint(r->t->ctx, at, "E0630", hint, "%s", message);
}

/* Splits the next line that is not empty; false at the end. */
static bool
next_line(reader *r)
{
    const char *end = r->source->text + r->source->size;

    for (; r->at < end; r->at++) {
        const char *stop = memchr(r->at, '\n', (size_t)(end - r->at));

        stop = stop ? stop : end;
        r->line = span_of(r, r->at, stop);
        r->n_cells = 0;
        while (r->at <= stop && r->n_cells < MOST_CELLS) {
            const char *comma = memchr(r->at, ',', (size_t)(stop - r->at));

            comma = comma ? comma : stop;
            r->cells[r->n_cells++] = span_of(r, r->at, comma);
            r->at = comma + 1;
        }
        r->at = stop;
        if (r->line.begin < r->line.end)
            return true;
    }
    return false;
}

static const char *
text_of(const reader *r, glow_span cell)
{
    return glow_arena_strndup(r->t->arena, r->source->text + cell.begin,
                              cell.end - cell.begin);
}

/* Finds the columns by their names. */
static bool
read_head(reader *r)
{
    if (!next_line(r))
        return fail(r, (glow_span){r->source, 0, 0}, NULL,
                    "there is no line with the names of the columns");
    for (int i = 0; i < COLUMNS; i++)
        r->column[i] = -1;
    for (int i = 0; i < r->n_cells; i++) {
        const char *name = text_of(r, r->cells[i]);
        const char *near = glow_did_you_mean(name, names, COLUMNS);
        int k = 0;

        while (k < COLUMNS && strcmp(names[k], name) != 0)
            k++;
        if (k == COLUMNS)
            fail(r, r->cells[i],
                 near ? glow_arena_printf(r->t->arena, "did you mean '%s'?",
                                          near)
                      : "columns are id, lower, upper, size, alignment and "
                        "offset",
                 glow_arena_printf(r->t->arena, "there is no column '%s'",
                                   name));
        else if (r->column[k] >= 0)
            fail(r, r->cells[i], NULL,
                 glow_arena_printf(r->t->arena, "a second column '%s'", name));
        else
            r->column[k] = i;
    }
    for (int k = ID; k <= SIZE && r->ok; k++)
        if (r->column[k] < 0)
            fail(r, r->line, "columns are id, lower, upper and size",
                 glow_arena_printf(r->t->arena, "the column '%s' is missing",
                                   names[k]));
    return r->ok;
}

/*
 * The cell of a column; an empty span at the end of the line if it is missing.
 */
static glow_span
cell_of(const reader *r, int column)
{
    int at = r->column[column];

    return at >= 0 && at < r->n_cells
               ? r->cells[at]
               : (glow_span){r->source, r->line.end, r->line.end};
}

static bool
is_empty(glow_span cell)
{
    return cell.begin == cell.end;
}

/* Reads a whole number; false after a report. */
static bool
read_number(reader *r, int column, int64_t least, int64_t *out)
{
    glow_span cell = cell_of(r, column);
    const char *text = text_of(r, cell), *c = text;
    bool negative = *c == '-';
    int64_t v = 0;

    if (is_empty(cell))
        return fail(
            r, cell, NULL,
            glow_arena_printf(r->t->arena, "the row has no %s", names[column]));
    c += negative || *c == '+';
    if (!*c || c[strspn(c, "0123456789")])
        return fail(r, cell, NULL,
                    glow_arena_printf(r->t->arena,
                                      "%s is '%s', which is no whole number",
                                      names[column], text));
    for (; *c; c++)
        if (glow_mul_overflow(v, 10, &v) ||
            glow_add_overflow(v, negative ? '0' - *c : *c - '0', &v))
            return fail(r, cell, NULL,
                        glow_arena_printf(r->t->arena,
                                          "%s is %s, which 64 bits cannot "
                                          "hold",
                                          names[column], text));
    if (v < least)
        return fail(r, cell, NULL,
                    glow_arena_printf(r->t->arena,
                                      "%s is %" PRId64
                                      ", but must be at least %" PRId64,
                                      names[column], v, least));
    *out = v;
    return true;
}

/* Reads the id, which must be unique. */
static bool
read_id(reader *r, const char **out)
{
    glow_span cell = cell_of(r, ID);
    const glow_span *before;
    int line, column;

    if (is_empty(cell))
        return fail(r, cell, NULL, "the row has no id");
    *out = text_of(r, cell);
    before = glow_map_get(r->seen, *out);
    if (before) {
        glow_span_line(*before, &line, &column);
        return fail(r, cell, NULL,
                    glow_arena_printf(r->t->arena,
                                      "the id '%s' is that of line %d too",
                                      *out, line));
    }
    glow_map_set(r->seen, *out,
                 glow_arena_copy(r->t->arena, &cell, sizeof cell));
    return true;
}

static bool
read_times(reader *r, glow_lifetime *b)
{
    if (!read_number(r, LOWER, INT64_MIN, &b->begin) ||
        !read_number(r, UPPER, INT64_MIN, &b->end))
        return false;
    return b->begin <= b->end ||
           fail(r, cell_of(r, UPPER), NULL,
                glow_arena_printf(r->t->arena,
                                  "upper is %" PRId64
                                  ", which is before lower, %" PRId64,
                                  b->end, b->begin));
}

static void
read_row(reader *r)
{
    glow_lifetime b = {.align = r->align};
    const char *id = NULL;
    bool ok = read_id(r, &id);

    ok &= read_times(r, &b);
    ok &= read_number(r, SIZE, 0, &b.size);
    if (!is_empty(cell_of(r, ALIGNMENT)))
        ok &= read_number(r, ALIGNMENT, 1, &b.align);
    b.is_fixed = !is_empty(cell_of(r, OFFSET));
    if (b.is_fixed)
        ok &= read_number(r, OFFSET, 0, &b.offset);
    if (!ok)
        return;

    rows *out = r->out;
    glow_arena *a = r->t->arena;

    out->buffers =
        glow_arena_grow(a, out->buffers, out->count, &r->cap_buffers, sizeof b);
    out->ids =
        glow_arena_grow(a, out->ids, out->count, &r->cap_ids, sizeof(char *));
    out->spans = glow_arena_grow(a, out->spans, out->count, &r->cap_spans,
                                 sizeof(glow_span));
    out->buffers[out->count] = b;
    out->ids[out->count] = id;
    out->spans[out->count++] = r->line;
}

bool
read_rows(tool *t, const glow_source *source, int64_t align, rows *out)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, from some editors */
    reader r = {
        .t = t,
        .source = source,
        .at = source->text,
        .seen = glow_map_new(t->arena),
        .out = out,
        .align = align,
        .ok = true,
    };
    int columns;

    if (source->size >= UINT32_MAX) {
        glow_error(t->ctx, "E0630", "%s has more than 4 GiB", source->name);
        return false;
    }
    if (source->size >= 3 && memcmp(source->text, mark, 3) == 0)
        r.at += 3;
    if (!read_head(&r))
        return false;
    columns = r.n_cells;
    while (next_line(&r))
        if (r.n_cells == columns)
            read_row(&r);
        else
            fail(&r, r.line, NULL,
                 glow_arena_printf(t->arena,
                                   "the row has %d cells, but there are %d "
                                   "columns",
                                   r.n_cells, columns));
    return r.ok;
}

bool
write_rows(tool *t, const rows *r, const char *path)
{
    glow_buf b = {0};
    bool ok;

    glow_buf_puts(&b, "id,lower,upper,size,alignment,offset\n");
    for (size_t i = 0; i < r->count; i++) {
        const glow_lifetime *x = &r->buffers[i];

        glow_buf_printf(&b,
                        "%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                        ",%" PRId64 "\n",
                        r->ids[i], x->begin, x->end, x->size,
                        x->align ? x->align : 1, x->offset);
    }
    ok = glow_file_write(t->ctx, path, b.text, b.len);
    glow_buf_free(&b);
    return ok;
}
