/* -bench, and the number of runs. */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "tools/glow-run/run.h"

static double
ms_of(clockid_t clock)
{
    struct timespec t = {0};

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double
now_ms(void)
{
    return ms_of(CLOCK_MONOTONIC);
}

double
processor_ms(void)
{
    return ms_of(CLOCK_PROCESS_CPUTIME_ID);
}

static bool
run_once(run *r)
{
    return r->backend->run(r->network.executable, r->bindings, (int)r->n_ports);
}

/* -bench */

static int
by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

typedef struct figures {
    int64_t runs;
    double min_ms, median_ms;
    /* Processor time, summed over threads. */
    double processor_min_ms, processor_median_ms;
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
               f->min_ms, f->median_ms, f->runs, r->compile_ms,
               f->sizes.constants, f->sizes.activations, f->sizes.code,
               f->peak_rss);
        return TOOL_GO_ON;
    }

    json_t *o = json_pack(
        "{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I}", "runs",
        (json_int_t)f->runs, "min_ms", f->min_ms, "median_ms", f->median_ms,
        "processor_min_ms", f->processor_min_ms, "processor_median_ms",
        f->processor_median_ms, "compile_ms", r->compile_ms,
        "processor_compile_ms", r->processor_compile_ms, "weight_bytes",
        (json_int_t)f->sizes.constants, "activation_bytes",
        (json_int_t)f->sizes.activations, "code_bytes",
        (json_int_t)f->sizes.code, "peak_rss_bytes", (json_int_t)f->peak_rss);

    json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(o);
    return TOOL_GO_ON;
}

static double
median(const double *sorted, size_t n)
{
    return (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
}

/* The times of one run. */
static bool
time_once(run *r, double *ms, double *processor)
{
    double from = processor_ms(), begin = now_ms();
    bool ok = run_once(r);

    *ms = now_ms() - begin;
    *processor = processor_ms() - from;
    return ok;
}

/* Runs at least -iterations times, and for -seconds. */
static int
bench(run *r)
{
    glow_arena *a = r->tool.arena;
    double *ms = NULL, *processor = NULL, begin;
    size_t n = 0, cap = 0, cap_processor = 0;
    struct rusage usage = {0};
    figures f;

    for (int64_t i = 0; i < r->values.warmup; i++)
        if (!run_once(r))
            return TOOL_FAILED;
    begin = now_ms();
    do {
        ms = glow_arena_grow(a, ms, n, &cap, sizeof *ms);
        processor =
            glow_arena_grow(a, processor, n, &cap_processor, sizeof *processor);
        if (!time_once(r, &ms[n], &processor[n]))
            return TOOL_FAILED;
        n++;
    } while ((int64_t)n < r->values.iterations ||
             now_ms() - begin < 1e3 * r->values.seconds);
    glow_sort(ms, n, sizeof *ms, by_size);
    glow_sort(processor, n, sizeof *processor, by_size);
    getrusage(RUSAGE_SELF, &usage);
    f = (figures){.runs = (int64_t)n,
                  .min_ms = ms[0],
                  .median_ms = median(ms, n),
                  .processor_min_ms = processor[0],
                  .processor_median_ms = median(processor, n),
                  .sizes = r->backend->sizes(r->network.executable),
                  .peak_rss = (int64_t)usage.ru_maxrss * 1024};
    return print_figures(r, &f);
}

int
run_or_bench(run *r)
{
    int code = TOOL_GO_ON;

    if (r->values.profile || r->values.trace)
        code = profile(r);
    else if (!r->values.bench)
        code = run_once(r) ? TOOL_GO_ON : TOOL_FAILED;
    if (code == TOOL_GO_ON && r->values.bench)
        code = bench(r);
    return code;
}
