/* -bench, and how often a function runs. */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
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
