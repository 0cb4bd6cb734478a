/* -bench, -profile and -trace. */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tools/glow-run/run.h"

double
now_ms(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool
run_once(run *r)
{
    return r->backend->run(r->executable, r->bindings, (int)r->n_ports);
}

/* -bench */

static int
by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

typedef struct figures {
    double min_ms, median_ms;
    glow_code_sizes sizes;
    int64_t peak_rss;
} figures;

static int
print_figures(const run *r, const figures *f)
{
    if (!r->values.json) {
        printf("minimum %.3f ms, median %.3f ms of %" PRId64
               " runs; compiled in %.1f ms\n"
               "%" PRId64 " bytes of weights, %" PRId64
               " of activations, %" PRId64 " of code; peak of the process "
               "%" PRId64 "\n",
               f->min_ms, f->median_ms, r->values.iterations, r->compile_ms,
               f->sizes.constants, f->sizes.activations, f->sizes.code,
               f->peak_rss);
        return TOOL_GO_ON;
    }

    json_t *o = json_pack(
        "{s:f, s:f, s:f, s:I, s:I, s:I, s:I}", "min_ms", f->min_ms, "median_ms",
        f->median_ms, "compile_ms", r->compile_ms, "weight_bytes",
        (json_int_t)f->sizes.constants, "activation_bytes",
        (json_int_t)f->sizes.activations, "code_bytes",
        (json_int_t)f->sizes.code, "peak_rss_bytes", (json_int_t)f->peak_rss);

    json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(o);
    return TOOL_GO_ON;
}

static int
bench(run *r)
{
    int64_t n = r->values.iterations;
    double *ms = GLOW_NEW_ARRAY(r->tool.arena, double, n);
    struct rusage usage = {0};
    figures f;

    for (int64_t i = 0; i < r->values.warmup; i++)
        if (!run_once(r))
            return TOOL_FAILED;
    for (int64_t i = 0; i < n; i++) {
        double begin = now_ms();

        if (!run_once(r))
            return TOOL_FAILED;
        ms[i] = now_ms() - begin;
    }
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    getrusage(RUSAGE_SELF, &usage);
    f = (figures){.min_ms = ms[0],
                  .median_ms = (ms[n / 2] + ms[(n - 1) / 2]) / 2,
                  .sizes = r->backend->sizes(r->executable),
                  .peak_rss = (int64_t)usage.ru_maxrss * 1024};
    return print_figures(r, &f);
}

/* -profile, -trace */

typedef struct event {
    const char *node, *op;
    const char *result; /* its first result's type */
    double begin_ms, ms;
    double flops;
} event;

typedef struct events {
    glow_arena *arena;
    event *items;
    size_t count, cap;
    double begin;
} events;

static double
flops_of(const glow_node *n)
{
    double sum = 0;

    if (n->op->flops)
        return (double)n->op->flops(n);
    for (int i = 0; i < n->n_out; i++)
        sum += (double)glow_type_count(n->out[i]->type);
    return sum;
}

static void
add_event(void *user, const glow_node *n, glow_tensor *const out[],
          double seconds)
{
    events *e = user;

    (void)out;
    e->items = glow_arena_grow(e->arena, e->items, e->count, &e->cap,
                               sizeof *e->items);
    e->items[e->count++] = (event){
        .node = n->name,
        .op = n->op->name,
        .result = n->n_out ? glow_type_text(e->arena, n->out[0]->type) : "",
        .begin_ms = now_ms() - seconds * 1e3 - e->begin,
        .ms = seconds * 1e3,
        .flops = flops_of(n),
    };
}

static int
slowest_first(const void *a, const void *b)
{
    const event *x = a, *y = b;

    if (x->ms != y->ms)
        return x->ms < y->ms ? 1 : -1;
    return strcmp(x->node, y->node);
}

static bool
write_trace(run *r, const events *e)
{
    json_t *list = json_array();
    char *text;
    bool ok;

    for (size_t i = 0; i < e->count; i++) {
        const event *v = &e->items[i];

        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:{s:s, s:f}}",
                      "name", v->node, "cat", v->op, "ph", "X", "ts",
                      v->begin_ms * 1e3, "dur", v->ms * 1e3, "pid", 1, "tid", 1,
                      "args", "type", v->result, "flops", v->flops));
    }

    json_t *o =
        json_pack("{s:o, s:s}", "traceEvents", list, "displayTimeUnit", "ms");

    text = json_dumps(o, JSON_INDENT(1));
    ok = text &&
         glow_file_write(r->tool.ctx, r->values.trace, text, strlen(text));
    free(text);
    json_decref(o);
    return ok;
}

static void
print_profile(const events *e)
{
    double all = 0;

    for (size_t i = 0; i < e->count; i++)
        all += e->items[i].ms;
    printf("%10s %6s %8s  %-24s %s\n", "ms", "%", "GFLOP/s", "operator",
           "node");
    for (size_t i = 0; i < e->count; i++) {
        const event *v = &e->items[i];

        printf("%10.3f %6.2f %8.2f  %-24s %%%s : %s\n", v->ms,
               all > 0 ? 100 * v->ms / all : 0,
               v->ms > 0 ? v->flops / v->ms * 1e-6 : 0, v->op, v->node,
               v->result);
    }
    printf("%10.3f %6.2f\n", all, 100.0);
}

static int
measure(run *r)
{
    events e = {.arena = r->tool.arena, .begin = now_ms()};
    const glow_eval_options how = {.trace = add_event, .user = &e};

    if (!r->backend->profile)
        return tool_usage(&r->tool, "-backend=interp can",
                          "backend %s cannot tell the time of each node",
                          r->backend->name);
    if (!r->backend->profile(r->executable, r->bindings, (int)r->n_ports, &how))
        return TOOL_FAILED;
    if (r->values.trace && !write_trace(r, &e))
        return TOOL_FAILED;
    if (r->values.profile && e.count > 0) {
        qsort(e.items, e.count, sizeof *e.items, slowest_first);
        print_profile(&e);
    }
    return TOOL_GO_ON;
}

int
run_or_bench(run *r)
{
    int code = TOOL_GO_ON;

    if (r->values.profile || r->values.trace)
        code = measure(r);
    else if (!r->values.bench)
        code = run_once(r) ? TOOL_GO_ON : TOOL_FAILED;
    if (code == TOOL_GO_ON && r->values.bench)
        code = bench(r);
    return code;
}
