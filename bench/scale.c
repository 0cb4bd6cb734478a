/*
 * Times every registered pass on graphs that grow.
 *
 *     scale SECONDS PASSES FILE.gir...
 *
 * PASSES are names with commas between them, of pipelines too, or "all", which is
 * every pass.  The files are of one kind, the smallest first.  Each pass runs by
 * itself on a copy of them, without verification; those that take programs run
 * behind schedule and irgen.  A pass that took so long that the next file, ten
 * times as large, would take more than ten times SECONDS is not run any further.
 * Reading, verifying, printing and copying are timed as well.  Prints `NAME NODES
 * MILLISECONDS` for each run: those of the processor, from cold caches, the least
 * of some.  Under callgrind each runs once, and writes a dump `NAME NODES` of the
 * instructions that it takes.
 */

#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <valgrind/callgrind.h>

#include "glow/glow.h"

enum { MOST_FILES = 8, MOST_RUNS = 5 };

static const double short_ms = 200; /* what is less is run again */

typedef struct bench {
    glow_context *ctx;
    glow_level level; /* of the modules */
    glow_module *modules[MOST_FILES];
    glow_module *copies[MOST_FILES]; /* to run passes on; NULL: none yet */
    int nodes[MOST_FILES];           /* as read */
    int count;
    const char *only; /* NULL: all */
    double most_ms;
} bench;

/*
 * Puts other bytes into the caches, more than any processor's hold, so that a small
 * graph is no better off than a large one, which does not fit into them.
 */
static void
forget(void)
{
    static volatile char other[256 << 20];

    for (size_t i = 0; i < sizeof other; i += 64)
        other[i]++;
}

static double
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void
put(const char *name, int nodes, double ms)
{
    printf("%s %d %.3f\n", name, nodes, ms);
    fflush(stdout);
}

typedef struct stopwatch {
    const char *name;
    int nodes;
    double start, ms;
    bool changed; /* a pass changed the module */
} stopwatch;

static void
start(stopwatch *w)
{
    CALLGRIND_ZERO_STATS;
    w->start = now_ms();
}

static void
stop(stopwatch *w)
{
    char label[128];

    w->ms += now_ms() - w->start;
    snprintf(label, sizeof label, "%s %d", w->name, w->nodes);
    CALLGRIND_DUMP_STATS_AT(label);
}

static bool
start_watch(void *user, const glow_pass *p, glow_module *m, glow_func *f,
            int number)
{
    (void)p, (void)m, (void)f, (void)number;
    start(user);
    return true;
}

static bool
stop_watch(void *user, const glow_pass *p, glow_module *m, glow_func *f,
           int number, glow_result result, double seconds)
{
    stopwatch *w = user;

    (void)p, (void)m, (void)f, (void)number, (void)seconds;
    stop(w);
    w->changed = w->changed || result == GLOW_CHANGED;
    return true;
}

/* False after a report. */
static bool
run(glow_context *ctx, const char *pass, glow_module *m, stopwatch *watch)
{
    glow_arena *a = glow_arena_new();
    glow_instrument clock = {
        .user = watch, .before = start_watch, .after = stop_watch};
    glow_pipeline_options options = {.instruments = &clock, .n_instruments = 1};
    glow_pipeline *p = glow_pipeline_parse(
        ctx, a, glow_source_from(ctx, "pass", pass, strlen(pass)));
    bool ok = p && glow_pipeline_run(p, m, &options);

    glow_arena_free(a);
    return ok;
}

/* The least of some runs on a copy, which is made anew once one changes it. */
static double
time_pass(bench *b, const char *pass, int file)
{
    double least = -1, spent = 0;
    glow_module **copy = &b->copies[file];

    int runs = RUNNING_ON_VALGRIND ? 1 : MOST_RUNS;

    for (int i = 0; i < runs && spent < short_ms; i++) {
        stopwatch w = {.name = pass, .nodes = b->nodes[file]};

        if (!*copy)
            *copy = glow_module_clone(b->modules[file]);
        if (!RUNNING_ON_VALGRIND)
            forget();

        bool ok = run(b->ctx, pass, *copy, &w);

        if (!ok || w.changed) {
            glow_module_free(*copy);
            *copy = NULL;
        }
        if (!ok)
            return -1;
        spent += w.ms;
        if (least < 0 || w.ms < least)
            least = w.ms;
    }
    return least;
}

static bool
is_wanted(const bench *b, const char *name)
{
    size_t size = strlen(name);

    for (const char *at = b->only; at && *at; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strncmp(at, name, size) == 0 && (!at[size] || at[size] == ','))
            return true;
    }
    return !b->only;
}

static void
time_passes(bench *b)
{
    size_t count;
    const glow_pass *const *passes = glow_all_passes(b->ctx, &count);

    for (size_t i = 0; i < count; i++) {
        const glow_pass *p = passes[i];

        if (p->level != b->level || !is_wanted(b, p->name))
            continue;
        for (int file = 0; file < b->count; file++) {
            double ms = time_pass(b, p->name, file);

            if (ms < 0)
                break;
            put(p->name, b->nodes[file], ms);
            if (ms > b->most_ms)
                break;
        }
    }
}

/* Pipelines run only where they are asked for, from graphs on. */
static void
time_pipelines(bench *b)
{
    for (const glow_named_pipeline *p = glow_all_pipelines(); p->name; p++)
        for (int i = 0; i < b->count && b->only && is_wanted(b, p->name); i++) {
            double ms = time_pass(b, p->name, i);

            if (ms < 0)
                break;
            put(p->name, b->nodes[i], ms);
            if (ms > b->most_ms)
                break;
        }
}

/* Takes all modules to the next level. */
static void
raise(bench *b, const char *pass, glow_level level)
{
    b->level = level;
    for (int i = 0; i < b->count; i++) {
        if (b->copies[i])
            glow_module_free(b->copies[i]);
        b->copies[i] = NULL;
        if (run(b->ctx, pass, b->modules[i], &(stopwatch){.name = "(raise)"}))
            continue;
        b->count = i;
        return;
    }
}

static void
verify(glow_module *m)
{
    glow_verify(m);
}

static void
print(glow_module *m)
{
    glow_buf text = {0};

    glow_print(&text, m, NULL);
    glow_buf_free(&text);
}

static void
copy(glow_module *m)
{
    glow_module_free(glow_module_clone(m));
}

/* What is no pass. */
static void
time_rest(glow_module *m, int nodes)
{
    const struct {
        const char *name;
        void (*run)(glow_module *);
    } rest[] = {{"(verify)", verify}, {"(print)", print}, {"(copy)", copy}};

    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        stopwatch w = {.name = rest[i].name, .nodes = nodes};

        if (!RUNNING_ON_VALGRIND)
            forget();
        start(&w);
        rest[i].run(m);
        stop(&w);
        put(w.name, nodes, w.ms);
    }
}

static void
read_file(bench *b, const char *path)
{
    const glow_source *source = glow_source_read(b->ctx, path);
    stopwatch w = {.name = "(parse)"};

    start(&w);

    glow_module *m =
        source ? glow_parse(b->ctx, source, &(glow_parse_options){0}) : NULL;

    if (!m)
        exit(1);
    w.nodes = m->funcs->count;
    stop(&w);
    b->modules[b->count] = m;
    b->nodes[b->count] = w.nodes;
    put(w.name, w.nodes, w.ms);
    time_rest(m, b->nodes[b->count++]);
}

static void
print_error(const glow_diag *d, void *user)
{
    (void)user;
    fprintf(stderr, "scale: %s\n", d->message);
}

int
main(int argc, char **argv)
{
    bench b = {.ctx = glow_context_new(), .level = GLOW_GRAPH};

    if (argc < 4 || argc - 3 > MOST_FILES)
        return 2;
    glow_context_set_sink(b.ctx, print_error, NULL);
    b.most_ms = 1e3 * atof(argv[1]);
    b.only = strcmp(argv[2], "all") == 0 ? NULL : argv[2];
    for (int i = 3; i < argc; i++)
        read_file(&b, argv[i]);
    time_passes(&b);
    time_pipelines(&b);
    raise(&b, "schedule", GLOW_SCHEDULED);
    time_passes(&b);
    raise(&b, "irgen", GLOW_PROGRAM);
    time_passes(&b);
    return 0;
}
