#include "tools/glow-opt/verify_diagnostics.h"

#include <stdlib.h>
#include <string.h>

static const char *const severities[] = {"error", "warning", "remark", "note"};

enum { NOWHERE = 0 };

typedef struct expectation {
    glow_severity severity;
    int line;         /* NOWHERE, or of the file */
    char id[8];       /* "": any */
    const char *text; /* a part of the message */
    int written_at;   /* its own line */
    bool met;
    struct expectation *next;
} expectation;

struct expectations {
    glow_arena *arena;
    const glow_source *source;
    expectation *first, **last;
    glow_buf problems; /* malformed expectations and unexpected reports */
};

/* Reading. */

/* `@+1`, `@12`, `@none` or nothing; moves past it. */
static bool
read_line(const char **at, int here, int *line)
{
    const char *c = *at;
    char *end;
    long n;

    *line = here;
    if (*c != '@')
        return true;
    c++;
    if (strncmp(c, "none", 4) == 0) {
        *line = NOWHERE;
        *at = c + 4;
        return true;
    }
    n = strtol(c, &end, 10);
    if (end == c)
        return false;
    *line = *c == '+' || *c == '-' ? here + (int)n : (int)n;
    *at = end;
    return true;
}

static void
skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\t')
        ++*at;
}

/* ` [E0203] {{text}}`, the id optional. */
static bool
read_rest(glow_arena *a, const char *c, expectation *e)
{
    const char *end;

    skip_blanks(&c);
    if (*c == '[') {
        end = strchr(c, ']');
        if (!end || (size_t)(end - c) > sizeof e->id)
            return false;
        memcpy(e->id, c + 1, (size_t)(end - c) - 1);
        c = end + 1;
        skip_blanks(&c);
    }
    if (strncmp(c, "{{", 2) != 0)
        return false;
    end = strstr(c, "}}");
    if (!end)
        return false;
    e->text = glow_arena_strndup(a, c + 2, (size_t)(end - c) - 2);
    return true;
}

static void
not_understood(expectations *x, int number)
{
    glow_buf_printf(&x->problems,
                    "%s:%d: error: this is no expectation: write "
                    "`expected-error@+1 [E0203] {{text}}`\n",
                    x->source->name, number);
}

/* All expectations of one line, from `expected-` on. */
static void
read_comment(expectations *x, const char *line, int number)
{
    static const char mark[] = "expected-";

    for (const char *c = strstr(line, mark); c; c = strstr(c, mark)) {
        expectation *e = GLOW_NEW(x->arena, expectation);
        size_t s = 0;

        c += sizeof mark - 1;
        while (s < 4 && strncmp(c, severities[s], strlen(severities[s])) != 0)
            s++;
        if (s == 4) {
            not_understood(x, number);
            continue;
        }
        e->severity = (glow_severity)s;
        e->written_at = number;
        c += strlen(severities[s]);
        if (!read_line(&c, number, &e->line) || !read_rest(x->arena, c, e)) {
            not_understood(x, number);
            continue;
        }
        *x->last = e;
        x->last = &e->next;
    }
}

expectations *
expectations_read(glow_arena *a, const glow_source *source)
{
    expectations *x = GLOW_NEW(a, expectations);
    const char *end = source->text + source->size;
    int number = source->first_line;

    x->arena = a;
    x->source = source;
    x->last = &x->first;
    x->problems.arena = a;
    for (const char *line = source->text; line < end; number++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((newline ? newline : end) - line);
        char *copy = glow_arena_strndup(a, line, n);
        const char *comment = strstr(copy, "//");

        if (comment)
            read_comment(x, comment, number);
        line += n + 1;
    }
    return x;
}

/* Matching. */

static int
line_of(const expectations *x, const glow_diag *d)
{
    int line, column;

    if (d->span.source != x->source)
        return NOWHERE;
    glow_span_line(d->span, &line, &column);
    return line;
}

static bool
meets(const expectation *e, const glow_diag *d, int line)
{
    return !e->met && e->severity == d->severity && e->line == line &&
           (!e->id[0] || (d->id && strcmp(e->id, d->id) == 0)) &&
           strstr(d->message, e->text);
}

void
expectations_sink(const glow_diag *d, void *user)
{
    expectations *x = user;
    int line = line_of(x, d);

    for (const glow_diag *n = d->notes; n; n = n->next)
        expectations_sink(n, x);
    for (expectation *e = x->first; e; e = e->next)
        if (meets(e, d, line)) {
            e->met = true;
            return;
        }
    if (d->severity == GLOW_NOTE)
        return;
    glow_buf_puts(&x->problems, "unexpected ");
    glow_diag_text(&x->problems, d, false);
}

bool
expectations_check(const expectations *x, glow_buf *out)
{
    bool ok = x->problems.len == 0;

    if (!ok)
        glow_buf_add(out, x->problems.text, x->problems.len);
    for (const expectation *e = x->first; e; e = e->next) {
        if (e->met)
            continue;
        ok = false;
        glow_buf_printf(out, "%s:%d: error: expected %s", x->source->name,
                        e->written_at, severities[e->severity]);
        if (e->id[0])
            glow_buf_printf(out, " [%s]", e->id);
        if (e->line != NOWHERE)
            glow_buf_printf(out, " at line %d", e->line);
        glow_buf_printf(out, " did not come: %s\n", e->text);
    }
    return ok;
}
