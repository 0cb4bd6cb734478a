/*
 * -time: samples of pass runs, and four reports of them on standard error.
 *
 * A table of passes, the slowest first; a tree by named pipelines and fixpoints; the
 * samples as JSON; the same as a trace that chrome://tracing and Perfetto draw.  Each has
 * wall time, and processor time of all threads, which other processes do not lengthen.
 */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/glow-opt/opt.h"

enum { MOST_LEVELS = 32 };

typedef struct sample {
    const char *pass;
    const char *func;  /* NULL: the module */
    const char **path; /* the pipelines around the pass, the outermost first */
    int depth;
    int number;
    double start; /* seconds from the first sample's */
    double seconds;
    double processor; /* seconds of all threads */
    int64_t nodes_before, nodes_after;
} sample;

struct time_state {
    const glow_pipeline *pipeline;
    sample *samples;
    size_t count, cap;
    double first;  /* when the first pass began */
    double start;  /* start of the current pass */
    int64_t nodes; /* before it */
};

static int64_t
count_nodes(const glow_module *m, const glow_func *f)
{
    int64_t n = 0;

    if (f)
        return f->count;
    GLOW_FOR_EACH_FUNC(g, m)
        n += g->count;
    return n;
}

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    opt *o = user;
    struct time_state *t = o->time;

    (void)p, (void)number;
    t->nodes = count_nodes(m, f);
    t->start = now();
    if (t->count == 0)
        t->first = t->start;
    return true;
}

static bool
after(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number,
      glow_result result, double seconds)
{
    opt *o = user;
    glow_arena *a = o->tool.arena;
    struct time_state *t = o->time;
    const char *path[MOST_LEVELS];
    int depth = glow_pipeline_path(t->pipeline, path, MOST_LEVELS);

    (void)result;
    t->samples =
        glow_arena_grow(a, t->samples, t->count, &t->cap, sizeof *t->samples);
    t->samples[t->count++] = (sample){
        .pass = p->name,
        .func = f ? glow_arena_strdup(a, f->name) : NULL,
        .path = depth ? glow_arena_copy(a, path, (size_t)depth * sizeof *path)
                      : NULL,
        .depth = depth,
        .number = number,
        .start = t->start - t->first,
        .seconds = seconds,
        .processor = glow_pipeline_processor_time(t->pipeline),
        .nodes_before = t->nodes,
        .nodes_after = count_nodes(m, f),
    };
    return true;
}

void
add_time(opt *o, const glow_pipeline *p, instruments *list)
{
    if (!o->values.time)
        return;
    if (!o->time)
        o->time = GLOW_NEW(o->tool.arena, struct time_state);
    o->time->pipeline = p;
    list->at[list->count++] =
        (glow_instrument){.user = o, .before = before, .after = after};
}

/* JSON. */

static void
print_json(json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT);

    fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(j);
}

static void
print_time_json(const struct time_state *t)
{
    json_t *list = json_array();
    double total = 0, processor = 0;

    for (size_t i = 0; i < t->count; i++) {
        const sample *s = &t->samples[i];

        total += s->seconds;
        processor += s->processor;
        json_array_append_new(
            list, json_pack("{s:s, s:s?, s:f, s:f, s:I, s:I}", "pass", s->pass,
                            "function", s->func, "ms", s->seconds * 1e3,
                            "cpu_ms", s->processor * 1e3, "nodes_before",
                            (json_int_t)s->nodes_before, "nodes_after",
                            (json_int_t)s->nodes_after));
    }
    print_json(json_pack("{s:f, s:f, s:o}", "total_ms", total * 1e3,
                         "total_cpu_ms", processor * 1e3, "passes", list));
}

/* Trace events: B begins and E ends a named pipeline, X is a pass run. */

static void
put_event(json_t *events, const char *phase, const char *name, double at)
{
    json_array_append_new(events, json_pack("{s:s, s:s, s:f, s:i, s:i}", "ph",
                                            phase, "name", name, "ts", at * 1e6,
                                            "pid", 1, "tid", 1));
}

static void
put_run(json_t *events, const sample *s)
{
    json_array_append_new(
        events,
        json_pack(
            "{s:s, s:s, s:f, s:f, s:i, s:i, s:{s:i, s:s?, s:f, s:I, s:I}}",
            "ph", "X", "name", s->pass, "ts", s->start * 1e6, "dur",
            s->seconds * 1e6, "pid", 1, "tid", 1, "args", "run", s->number,
            "function", s->func, "cpu_ms", s->processor * 1e3, "nodes_before",
            (json_int_t)s->nodes_before, "nodes_after",
            (json_int_t)s->nodes_after));
}

/* Levels that two samples share. */
static int
shared_levels(const sample *x, const sample *y)
{
    int n = 0;

    while (n < x->depth && n < y->depth && strcmp(x->path[n], y->path[n]) == 0)
        n++;
    return n;
}

static void
print_trace(const struct time_state *t)
{
    static const sample none = {0};
    const sample *last = &none;
    json_t *events = json_array();

    for (size_t i = 0; i <= t->count; i++) {
        const sample *s = i < t->count ? &t->samples[i] : &none;
        int kept = shared_levels(last, s);

        for (int d = last->depth; d-- > kept;)
            put_event(events, "E", last->path[d], last->start + last->seconds);
        for (int d = kept; d < s->depth; d++)
            put_event(events, "B", s->path[d], s->start);
        if (s->pass)
            put_run(events, s);
        last = s;
    }
    print_json(json_pack("{s:o, s:s}", "traceEvents", events, "displayTimeUnit",
                         "ms"));
}

/* Sums, by pass or by place in the pipeline. */

typedef struct sum {
    const char *name;
    double seconds, processor;
    int64_t runs, nodes;      /* added; below 0: removed */
    struct sum *first, *next; /* those within, in order of appearance */
    size_t at;                /* of appearance */
} sum;

static sum *
sum_of(glow_arena *a, sum *within, const char *name)
{
    sum **link = &within->first;
    size_t at = 0;

    for (; *link && strcmp((*link)->name, name) != 0; at++)
        link = &(*link)->next;
    if (!*link) {
        *link = GLOW_NEW(a, sum);
        (*link)->name = name;
        (*link)->at = at;
    }
    return *link;
}

static void
add_sample(sum *to, const sample *s)
{
    to->seconds += s->seconds;
    to->processor += s->processor;
    to->runs++;
    to->nodes += s->nodes_after - s->nodes_before;
}

static void
put_sum(const sum *s, double total, int indent)
{
    fprintf(stderr, "%12.3f %12.3f %6.1f %7lld %+8lld  %*s%s\n",
            s->processor * 1e3, s->seconds * 1e3,
            total > 0 ? 100 * s->seconds / total : 0, (long long)s->runs,
            (long long)s->nodes, 2 * indent, "", s->name);
}

static void
put_sums(const sum *of, double total, int indent)
{
    for (const sum *s = of->first; s; s = s->next) {
        put_sum(s, total, indent);
        put_sums(s, total, indent + 1);
    }
}

static int
slower(const void *a, const void *b)
{
    const sum *const *x = a, *const *y = b;

    if ((*x)->seconds != (*y)->seconds)
        return (*x)->seconds < (*y)->seconds ? 1 : -1;
    return (*x)->at < (*y)->at ? -1 : 1;
}

static void
sort(glow_arena *a, sum *of)
{
    sum **all, **link = &of->first;
    size_t count = 0;

    for (const sum *s = of->first; s; s = s->next)
        count++;
    all = GLOW_NEW_ARRAY(a, sum *, count + 1);
    count = 0;
    for (sum *s = of->first; s; s = s->next)
        all[count++] = s;
    if (count > 0)
        glow_sort(all, count, sizeof *all, slower);
    for (size_t i = 0; i < count; i++) {
        *link = all[i];
        link = &all[i]->next;
    }
    *link = NULL;
}

static void
print_table(opt *o, bool tree)
{
    glow_arena *a = o->tool.arena;
    const struct time_state *t = o->time;
    sum all = {.name = "total"};

    for (size_t i = 0; i < t->count; i++) {
        const sample *s = &t->samples[i];
        sum *at = &all;

        add_sample(at, s);
        for (int d = 0; tree && d < s->depth; d++)
            add_sample(at = sum_of(a, at, s->path[d]), s);
        add_sample(sum_of(a, at, s->pass), s);
    }
    if (!tree)
        sort(a, &all);
    fprintf(stderr, "%12s %12s %6s %7s %8s  %s\n", "cpu-ms", "ms", "%", "runs",
            "nodes", "pass");
    put_sums(&all, all.seconds, 0);
    put_sum(&all, all.seconds, 0);
}

void
print_time(opt *o)
{
    const char *how = o->values.time;

    if (!o->time)
        return;
    if (strcmp(how, "json") == 0)
        print_time_json(o->time);
    else if (strcmp(how, "trace") == 0)
        print_trace(o->time);
    else
        print_table(o, strcmp(how, "tree") == 0);
}
