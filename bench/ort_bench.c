/*
 * Times an ONNX model in ONNX Runtime, through its C interface.
 *
 *     ort_bench LIBONNXRUNTIME MODEL THREADS RUNS SECONDS
 *
 * The library is opened by path and needs no header: its interface is one table
 * of functions that only ever grows at its end, so the few slots named below are
 * where they have been since the first version.  Inputs are drawn from [-1, 1);
 * unknown dimensions are 1.  After three runs for warmth there are at least RUNS,
 * until SECONDS are over.  Prints one JSON object.
 *
 * With 0 RUNS it prints by how much the process grows in its first run: the most
 * that it has during that, less what it had before.  Memory is then given back to
 * the system as soon as it is free, and not pooled, so that this is what is in use.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { API_VERSION = 1, FLOAT = 1, MOST_RANK = 16, MOST_VALUES = 64 };
enum {
    WARM_RUNS = 3,
    MOST_RUNS = 2000,
    ALL_OPTIMIZATIONS = 99,
    LOG_ERRORS = 3
};

enum slot {
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    DISABLE_POOL = 19,
    SET_OPTIMIZATION = 23,
    SET_INTRA_OP_THREADS = 24,
    SET_INTER_OP_THREADS = 25,
    INPUT_COUNT = 30,
    OUTPUT_COUNT = 31,
    INPUT_TYPE = 33,
    INPUT_NAME = 36,
    OUTPUT_NAME = 37,
    CREATE_TENSOR = 49,
    CAST_TO_TENSOR = 55,
    ELEMENT_TYPE = 60,
    RANK = 61,
    DIMENSIONS = 62,
    CREATE_CPU_MEMORY = 69,
    DEFAULT_ALLOCATOR = 78,
};

/* Every function of the table returns a status, NULL if all went well. */
typedef void *(*api_fn)();
static api_fn const *api;

static void
check(void *status, const char *what)
{
    if (!status)
        return;
    fprintf(stderr, "ort_bench: %s: %s\n", what,
            (const char *)api[GET_ERROR_MESSAGE](status));
    exit(1);
}

#define CALL(slot, ...) check(api[slot](__VA_ARGS__), #slot)

typedef struct model {
    void *session, *memory;
    size_t inputs, outputs;
    char *input_names[MOST_VALUES], *output_names[MOST_VALUES];
    void *in[MOST_VALUES], *out[MOST_VALUES];
    double load_seconds;
} model;

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The version of the library, whose table is then at hand. */
static const char *
open_library(const char *path)
{
    struct api_base {
        const void *(*get_api)(uint32_t);
        const char *(*version)(void);
    };
    void *library = dlopen(path, RTLD_NOW);
    void *symbol = library ? dlsym(library, "OrtGetApiBase") : NULL;
    const struct api_base *(*get_base)(void);

    if (!symbol) {
        fprintf(stderr, "ort_bench: %s\n", dlerror());
        exit(1);
    }
    memcpy(&get_base, &symbol, sizeof symbol);
    api = get_base()->get_api(API_VERSION);
    return get_base()->version();
}

/* A tensor of numbers from a generator, the same at every call. */
static void *
make_input(const model *m, size_t i)
{
    void *type, *value;
    const void *info;
    int64_t dims[MOST_RANK];
    size_t rank, count = 1;
    uint32_t drawn = 12345;
    int element;

    CALL(INPUT_TYPE, m->session, i, &type);
    CALL(CAST_TO_TENSOR, type, &info);
    CALL(ELEMENT_TYPE, info, &element);
    CALL(RANK, info, &rank);
    if (element != FLOAT || rank > MOST_RANK) {
        fprintf(stderr, "ort_bench: input %zu is no tensor of floats\n", i);
        exit(1);
    }
    CALL(DIMENSIONS, info, dims, rank);
    for (size_t d = 0; d < rank; d++) {
        dims[d] = dims[d] < 1 ? 1 : dims[d];
        count *= (size_t)dims[d];
    }

    float *data = calloc(count, sizeof *data);

    for (size_t k = 0; data && k < count; k++) {
        drawn = drawn * 1664525u + 1013904223u;
        data[k] = (float)(drawn >> 8) * (2.0f / (1 << 24)) - 1;
    }
    CALL(CREATE_TENSOR, m->memory, data, count * sizeof *data, dims, rank,
         element, &value);
    return value;
}

static void
load(model *m, const char *path, int threads, bool pools)
{
    void *env, *options, *allocator;
    double begin;

    CALL(CREATE_ENV, LOG_ERRORS, "ort_bench", &env);
    CALL(CREATE_SESSION_OPTIONS, &options);
    CALL(SET_INTRA_OP_THREADS, options, threads);
    CALL(SET_INTER_OP_THREADS, options, 1);
    CALL(SET_OPTIMIZATION, options, ALL_OPTIMIZATIONS);
    if (!pools)
        CALL(DISABLE_POOL, options);
    begin = now();
    CALL(CREATE_SESSION, env, path, options, &m->session);
    m->load_seconds = now() - begin;
    CALL(DEFAULT_ALLOCATOR, &allocator);
    CALL(CREATE_CPU_MEMORY, 1, 0, &m->memory);
    CALL(INPUT_COUNT, m->session, &m->inputs);
    CALL(OUTPUT_COUNT, m->session, &m->outputs);
    if (m->inputs > MOST_VALUES || m->outputs > MOST_VALUES) {
        fprintf(stderr, "ort_bench: more than %d inputs or outputs\n",
                MOST_VALUES);
        exit(1);
    }
    for (size_t i = 0; i < m->inputs; i++) {
        CALL(INPUT_NAME, m->session, i, allocator, &m->input_names[i]);
        m->in[i] = make_input(m, i);
    }
    for (size_t i = 0; i < m->outputs; i++)
        CALL(OUTPUT_NAME, m->session, i, allocator, &m->output_names[i]);
}

static double
run_once(model *m)
{
    double begin = now();

    CALL(RUN, m->session, NULL, m->input_names, m->in, m->inputs,
         m->output_names, m->outputs, m->out);
    return now() - begin;
}

/* A line of /proc/self/status in bytes, or 0. */
static long long
status_bytes(const char *key)
{
    FILE *in = fopen("/proc/self/status", "r");
    char line[256];
    long long kib = 0;

    while (in && fgets(line, sizeof line, in))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoll(line + strlen(key), NULL, 10);
    if (in)
        fclose(in);
    return 1024 * kib;
}

/* Runs once; by how many bytes the process grows meanwhile, or -1. */
static long long
grow(model *m)
{
    FILE *reset = fopen("/proc/self/clear_refs", "w");
    long long before;

    malloc_trim(0);
    if (!reset || fputs("5", reset) < 0 || fclose(reset))
        return -1;
    before = status_bytes("VmRSS:");
    run_once(m);
    return status_bytes("VmHWM:") - before;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
    static double times[MOST_RUNS];
    static model m;
    int count = 0;

    if (argc != 6) {
        fprintf(stderr, "usage: ort_bench LIB MODEL THREADS RUNS SECONDS\n");
        return 2;
    }

    const char *version = open_library(argv[1]);
    int threads = atoi(argv[3]), runs = atoi(argv[4]);
    double seconds = atof(argv[5]), begin;

    if (runs == 0) {
        mallopt(M_MMAP_THRESHOLD, 1 << 16);
        load(&m, argv[2], threads, false);
        printf("{\"version\": \"%s\", \"grown_bytes\": %lld}\n", version,
               grow(&m));
        return 0;
    }
    load(&m, argv[2], threads, true);
    for (int i = 0; i < WARM_RUNS; i++)
        run_once(&m);
    begin = now();
    while (count < MOST_RUNS && (count < runs || now() - begin < seconds))
        times[count++] = run_once(&m);
    qsort(times, (size_t)count, sizeof *times, by_value);
    printf("{\"version\": \"%s\", \"load_ms\": %.1f, \"runs\": %d, "
           "\"min_ms\": %.4f, \"median_ms\": %.4f}\n",
           version, 1e3 * m.load_seconds, count, 1e3 * times[0],
           1e3 * times[count / 2]);
    return 0;
}
