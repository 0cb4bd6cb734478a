/*
 * Tuning files.
 *
 *     file    = { comment } "glow-tuning 1" { comment | record }
 *     record  = MACHINE INSTRUCTION "=>" KERNEL { NAME "=" NUMBER } [ comment ]
 *     comment = "#" ... to the end of the line
 *
 * One record per line.  MACHINE is the name of a cpu_target, INSTRUCTION the
 * key by glow_cpu_key, in which consecutive blanks count as one.  Printing
 * sorts records by both, and keeps comments with the record before or behind
 * which they stand.  Records are not validated against kernels here, but when
 * an instruction matches.
 */

#include "codegen/cpu/run/tuning.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/cpu/kernels/kernel.h"
#include "codegen/cpu/plan/kernels.h"
#include "glow/op.h"

#define VERSION 1
#define ID "E0827"

typedef struct record {
    const char *machine, *what;
    cpu_choice choice;
    const char *before; /* lines of comments, each with its newline */
    const char *behind; /* a comment from '#' on, or "" */
} record;

struct glow_tuning {
    glow_arena *arena;
    glow_map *known; /* records by "MACHINE INSTRUCTION" */
    record **at;
    int count;
    size_t cap;
    const char
        *before; /* comments before the version line, and after all records */
    const char *last;
};

glow_tuning *
glow_tuning_new(glow_arena *a)
{
    glow_tuning *t = GLOW_NEW(a, glow_tuning);

    t->arena = a;
    t->known = glow_map_new(a);
    t->before = t->last = "";
    return t;
}

static const char *
name_of(glow_arena *a, const char *machine, const char *what)
{
    return glow_arena_printf(a, "%s %s", machine, what);
}

static void
add_record(glow_tuning *t, const record *r)
{
    record *own = glow_arena_copy(t->arena, r, sizeof *r);

    t->at = glow_arena_grow(t->arena, t->at, (size_t)t->count, &t->cap,
                            sizeof(record *));
    t->at[t->count++] = own;
    glow_map_set(t->known, name_of(t->arena, r->machine, r->what), own);
}

glow_tuning *
glow_cpu_tuning_copy(glow_arena *a, const glow_tuning *t)
{
    glow_tuning *copy = glow_tuning_new(a);

    for (int i = 0; i < t->count; i++)
        add_record(copy, t->at[i]);
    return copy;
}

void
glow_cpu_tuning_add(glow_tuning *t, const char *machine, const char *what,
                    const cpu_choice *c, const char *note)
{
    record *old = glow_map_get(t->known, name_of(t->arena, machine, what));
    record r = {.machine = glow_arena_strdup(t->arena, machine),
                .what = glow_arena_strdup(t->arena, what),
                .choice = *c,
                .before = "",
                .behind = ""};

    if (note)
        r.behind = glow_arena_printf(t->arena, "# %s", note);
    if (!old) {
        add_record(t, &r);
        return;
    }
    old->choice = r.choice;
    old->behind = r.behind;
}

const cpu_choice *
glow_cpu_tuning_find(const glow_tuning *t, const char *machine,
                     const char *what)
{
    const record *r = glow_map_get(t->known, name_of(t->arena, machine, what));

    return r ? &r->choice : NULL;
}

const glow_map *
glow_cpu_tuned_for(glow_arena *a, const glow_tuning *t, const char *machine)
{
    glow_map *m = NULL;

    for (int i = 0; i < t->count; i++) {
        if (strcmp(t->at[i]->machine, machine) != 0)
            continue;
        if (!m)
            m = glow_map_new(a);
        glow_map_set(m, t->at[i]->what, &t->at[i]->choice);
    }
    return m;
}

/* Printing. */

static int
compare(const void *a, const void *b)
{
    const record *x = *(record *const *)a, *y = *(record *const *)b;
    int order = strcmp(x->machine, y->machine);

    return order ? order : strcmp(x->what, y->what);
}

void
glow_tuning_print(glow_buf *b, const glow_tuning *t)
{
    glow_arena *a = glow_arena_new();
    record **sorted = GLOW_NEW_ARRAY(a, record *, t->count + 1);

    for (int i = 0; i < t->count; i++)
        sorted[i] = t->at[i];
    glow_sort(sorted, (size_t)t->count, sizeof *sorted, compare);
    glow_buf_printf(b, "%sglow-tuning %d\n", t->before, VERSION);
    for (int i = 0; i < t->count; i++) {
        const record *r = sorted[i];

        glow_buf_printf(b, "%s%s %s => %s%s%s\n", r->before, r->machine,
                        r->what, glow_cpu_choice_text(a, &r->choice),
                        *r->behind ? " " : "", r->behind);
    }
    glow_buf_puts(b, t->last);
    glow_arena_free(a);
}

/* Reading. */

/* A token or a range of the text. */
typedef struct piece {
    const char *at, *end;
} piece;

typedef struct reader {
    glow_context *ctx;
    glow_tuning *tuning;
    const glow_source *source;
    glow_buf comments; /* since the last record */
    bool begun;        /* the version line has been read */
} reader;

static glow_span
span_of(const reader *r, piece p)
{
    return (glow_span){r->source, (uint32_t)(p.at - r->source->text),
                       (uint32_t)(p.end - r->source->text)};
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static piece
trim(piece p)
{
    while (p.at < p.end && is_blank(*p.at))
        p.at++;
    while (p.at < p.end && is_blank(p.end[-1]))
        p.end--;
    return p;
}

/* Removes the first word from `*p` and returns it. */
static piece
take_word(piece *p)
{
    piece word = {trim(*p).at, trim(*p).at};

    while (word.end < p->end && !is_blank(*word.end))
        word.end++;
    p->at = word.end;
    return word;
}

static char *
text_of(const reader *r, piece p)
{
    return glow_arena_strndup(r->tuning->arena, p.at, (size_t)(p.end - p.at));
}

/* The text of `p` with consecutive blanks replaced by one. */
static const char *
even_text(const reader *r, piece p)
{
    glow_buf b = {.arena = r->tuning->arena};

    glow_buf_puts(&b, "");
    while (trim(p).at < p.end) {
        piece word = take_word(&p);

        if (b.len)
            glow_buf_putc(&b, ' ');
        glow_buf_add(&b, word.at, (size_t)(word.end - word.at));
    }
    return b.text;
}

/* The first occurrence of `what` in `p`, or the end of `p`. */
static const char *
find(piece p, const char *what)
{
    size_t size = strlen(what);

    for (; (size_t)(p.end - p.at) >= size; p.at++)
        if (memcmp(p.at, what, size) == 0)
            return p.at;
    return p.end;
}

static const char *
hint_of(const reader *r, const char *near)
{
    return near
               ? glow_arena_printf(r->tuning->arena, "did you mean '%s'?", near)
               : NULL;
}

static bool
read_version(reader *r, piece line)
{
    piece word = take_word(&line), number = trim(line);

    if (strcmp(text_of(r, word), "glow-tuning") != 0)
        return glow_error_hint(r->ctx, span_of(r, word), ID,
                               "the first line is `glow-tuning 1`",
                               "'%s' is no tuning file", r->source->name);
    if (strcmp(text_of(r, number), "1") != 0)
        return glow_error_hint(r->ctx, span_of(r, number), ID,
                               "write the file anew with -tune",
                               "version '%s' of tuning files, where %d is read",
                               text_of(r, number), VERSION);
    r->begun = true;
    r->tuning->before = r->comments.text ? r->comments.text : "";
    r->comments = (glow_buf){.arena = r->tuning->arena};
    return true;
}

/*
 * The kernel `name` of operator `op`, else another kernel of that name, or
 * NULL.
 */
static const cpu_kernel *
find_kernel(const char *name, const char *op)
{
    const cpu_kernel *any = NULL;

    for (int i = 0; glow_cpu_kernels[i]; i++) {
        const cpu_kernel *k = glow_cpu_kernels[i];

        if (strcmp(k->name, name) != 0)
            continue;
        any = k;
        if (strcmp(k->op->name, op) == 0)
            break;
    }
    return any;
}

static bool
read_kernel(reader *r, piece word, const char *what, const cpu_kernel **out)
{
    const char *names[256], *name = text_of(r, word);
    size_t count = 0, length = strcspn(what, "< ");
    char *op = glow_arena_strndup(r->tuning->arena, what, length);

    *out = find_kernel(name, op);
    for (int i = 0; glow_cpu_kernels[i] && count < 256; i++)
        names[count++] = glow_cpu_kernels[i]->name;
    if (!*out)
        return glow_error_hint(
            r->ctx, span_of(r, word), ID,
            hint_of(r, glow_did_you_mean(name, names, count)),
            "there is no kernel '%s'", name);
    if (strcmp((*out)->op->name, op) != 0)
        return glow_error_hint(
            r->ctx, span_of(r, word), ID,
            "write the file anew with -tune, or take the line out",
            "kernel '%s' is for %s, but the line is of %s", name,
            (*out)->op->name, op);
    return true;
}

static int
find_knob(const char *name)
{
    for (int i = 0; i < CPU_KNOBS; i++)
        if (strcmp(glow_cpu_knob_defs[i].name, name) == 0)
            return i;
    return -1;
}

static bool
read_number(reader *r, piece p, const cpu_knob_def *def, int64_t *out)
{
    const char *text = text_of(r, p);
    int64_t n = 0;

    for (const char *c = text; *c || c == text; c++) {
        if (*c < '0' || *c > '9' || c - text > 17)
            return glow_error_hint(
                r->ctx, span_of(r, p), ID,
                glow_arena_printf(r->tuning->arena, "%s takes %lld to %lld",
                                  def->name, (long long)def->least,
                                  (long long)def->most),
                "'%s' is no number that %s can be", text, def->name);
        n = 10 * n + (*c - '0');
    }
    if (n < def->least || n > def->most)
        return glow_error_at(r->ctx, span_of(r, p), ID,
                             "%s is %lld, but may be %lld to %lld", def->name,
                             (long long)n, (long long)def->least,
                             (long long)def->most);
    *out = n;
    return true;
}

/* Parses NAME=NUMBER into a parameter of `c`. */
static bool
read_value(reader *r, piece word, cpu_choice *c)
{
    piece name = {word.at, find(word, "=")};
    const char *names[CPU_KNOBS], *text = text_of(r, name);
    int knob = find_knob(text);

    for (int i = 0; i < CPU_KNOBS; i++)
        names[i] = glow_cpu_knob_defs[i].name;
    if (name.end == word.end)
        return glow_error_hint(r->ctx, span_of(r, word), ID,
                               "write NAME=NUMBER, as rows=6",
                               "'%s' has no '='", text);
    if (knob < 0)
        return glow_error_hint(
            r->ctx, span_of(r, name), ID,
            hint_of(r, glow_did_you_mean(text, names, CPU_KNOBS)),
            "kernels have no number '%s'", text);
    if (c->value[knob] != CPU_KNOB_FREE)
        return glow_error_at(r->ctx, span_of(r, name), ID,
                             "%s is given twice: as %lld before", text,
                             (long long)c->value[knob]);
    return read_number(r, (piece){name.end + 1, word.end},
                       &glow_cpu_knob_defs[knob], &c->value[knob]);
}

static bool
read_choice(reader *r, piece p, const char *what, cpu_choice *c)
{
    const cpu_kernel *kernel;
    piece word = take_word(&p);

    if (!read_kernel(r, word, what, &kernel))
        return false;
    *c = glow_cpu_free_choice(kernel);
    while (trim(p).at < p.end)
        if (!read_value(r, take_word(&p), c))
            return false;
    return true;
}

/* Reports a second record for the same machine and instruction. */
static bool
refuse_second(reader *r, piece p, const record *first)
{
    const glow_diag note = {.severity = GLOW_NOTE,
                            .message = "here it is said first",
                            .span = first->choice.span};
    const glow_diag d = {
        .severity = GLOW_ERROR,
        .id = ID,
        .message = "two lines are of the same machine and instruction",
        .span = span_of(r, p),
        .hint = "take one of them out",
        .notes = &note,
    };

    glow_report(r->ctx, &d);
    return false;
}

static bool
read_record(reader *r, piece line)
{
    piece left = {line.at, find(line, "=>")}, right, all = left;
    record x = {.before = r->comments.text ? r->comments.text : ""};
    const record *first;

    if (left.end == line.end)
        return glow_error_hint(
            r->ctx, span_of(r, trim(line)), ID,
            "write MACHINE INSTRUCTION => KERNEL NAME=NUMBER...",
            "a record of a tuning file has '=>'");
    right = (piece){left.end + 2, find((piece){left.end, line.end}, "#")};
    x.behind = text_of(r, trim((piece){right.end, line.end}));
    x.machine = text_of(r, take_word(&left));
    x.what = even_text(r, left);
    if (!*x.what)
        return glow_error_hint(
            r->ctx, span_of(r, trim(all)), ID,
            "write MACHINE INSTRUCTION => KERNEL NAME=NUMBER...",
            "a record of a tuning file has an instruction");
    if (!read_choice(r, right, x.what, &x.choice))
        return false;
    x.choice.span = span_of(r, trim(line));
    first = glow_map_get(r->tuning->known,
                         name_of(r->tuning->arena, x.machine, x.what));
    if (first)
        return refuse_second(r, trim(all), first);
    add_record(r->tuning, &x);
    r->comments = (glow_buf){.arena = r->tuning->arena};
    return true;
}

static bool
read_line(reader *r, piece line)
{
    piece p = trim(line);

    if (p.at == p.end)
        return true;
    if (*p.at == '#') {
        glow_buf_add(&r->comments, p.at, (size_t)(p.end - p.at));
        glow_buf_putc(&r->comments, '\n');
        return true;
    }
    return r->begun ? read_record(r, p) : read_version(r, p);
}

glow_tuning *
glow_tuning_read(glow_context *ctx, glow_arena *a, const glow_source *source)
{
    reader r = {.ctx = ctx,
                .tuning = glow_tuning_new(a),
                .source = source,
                .comments = {.arena = a}};
    const char *end = source->text + source->size;
    bool ok = true;

    for (const char *at = source->text; at < end && (ok || r.begun);) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        stop = stop ? stop : end;
        ok = read_line(&r, (piece){at, stop}) && ok;
        at = stop + 1;
    }
    if (ok && !r.begun)
        ok = glow_error_hint(ctx, (glow_span){.source = source}, ID,
                             "the first line is `glow-tuning 1`",
                             "'%s' is no tuning file: it is empty",
                             source->name);
    r.tuning->last = r.comments.text ? r.comments.text : "";
    return ok ? r.tuning : NULL;
}
