/*
 * Times an ONNX model in ONNX Runtime, through its C interface.
 *
 *     ort_bench LIBONNXRUNTIME MODEL THREADS RUNS SECONDS [FOLDER]
 *
 * The library is opened by path and needs no header: its interface is one table
 * of functions that only ever grows at its end, so the few slots named below are
 * where they have been since the first version.  Input i is FOLDER/input_i.npy, and
 * output i is written to FOLDER/ort_i.npy; without a folder inputs are drawn from
 * [-1, 1), unknown dimensions being 1.  After three runs for warmth there are at
 * least RUNS, until SECONDS are over.  Prints one JSON object, with times of the
 * clock and of the processor.
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
#include <unistd.h>

enum { API_VERSION = 1, MOST_RANK = 16, MOST_VALUES = 64 };
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
    TENSOR_DATA = 51,
    CAST_TO_TENSOR = 55,
    ELEMENT_TYPE = 60,
    RANK = 61,
    DIMENSIONS = 62,
    TYPE_AND_SHAPE = 65,
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
    const char *folder; /* of inputs and outputs, or NULL */
} model;

static double
seconds_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double
now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
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

/* Tensors, and the files of numpy that hold them. */

typedef struct tensor {
    int kind;
    size_t rank, count;
    int64_t dims[MOST_RANK];
    void *data;
} tensor;

/* numpy's names of element kinds, at ONNX's numbers. */
static const struct {
    const char *name;
    size_t bytes;
} kinds[] = {
    [1] = {"<f4", 4},  [2] = {"|u1", 1},  [3] = {"|i1", 1},  [4] = {"<u2", 2},
    [5] = {"<i2", 2},  [6] = {"<i4", 4},  [7] = {"<i8", 8},  [9] = {"|b1", 1},
    [10] = {"<f2", 2}, [11] = {"<f8", 8}, [12] = {"<u4", 4}, [13] = {"<u8", 8},
};

static size_t
element_bytes(int kind)
{
    bool known = kind > 0 && kind < (int)(sizeof kinds / sizeof *kinds);

    if (!known || !kinds[kind].bytes) {
        fprintf(stderr, "ort_bench: elements of kind %d\n", kind);
        exit(1);
    }
    return kinds[kind].bytes;
}

static void
allocate(tensor *t)
{
    t->count = 1;
    for (size_t d = 0; d < t->rank; d++)
        t->count *= (size_t)t->dims[d];
    t->data = calloc(t->count + 1, element_bytes(t->kind));
    if (!t->data)
        abort();
}

/* Kind and dimensions as the header of an .npy says. */
static bool
read_header(tensor *t, const char *header)
{
    const char *at = strstr(header, "'descr': '");
    const char *dims = strchr(header, '(');

    for (size_t k = 1; at && k < sizeof kinds / sizeof *kinds; k++)
        if (kinds[k].name && strncmp(at + 10, kinds[k].name, 3) == 0)
            t->kind = (int)k;
    while (dims && *dims != ')' && t->rank < MOST_RANK) {
        char *end;
        long long size = strtoll(dims + 1, &end, 10);

        if (end > dims + 1)
            t->dims[t->rank++] = size;
        dims = end > dims + 1 ? end : dims + 1;
    }
    return t->kind && dims && !strstr(header, "'fortran_order': True");
}

static bool
read_npy(const char *path, tensor *t)
{
    char start[10], header[65536] = "";
    FILE *in = fopen(path, "rb");
    bool ok = in && fread(start, 1, 10, in) == 10 && start[6] == 1;
    size_t length =
        ok ? (unsigned char)start[8] | (size_t)(unsigned char)start[9] << 8 : 0;

    ok = ok && fread(header, 1, length, in) == length && read_header(t, header);
    if (ok) {
        allocate(t);
        ok = fread(t->data, element_bytes(t->kind), t->count, in) == t->count;
    }
    if (in)
        fclose(in);
    return ok;
}

static void
write_npy(const char *path, const tensor *t)
{
    char dims[512] = "", header[1024];
    FILE *out = fopen(path, "wb");

    for (size_t d = 0; d < t->rank; d++)
        snprintf(dims + strlen(dims), sizeof dims - strlen(dims), "%lld, ",
                 (long long)t->dims[d]);
    snprintf(header, sizeof header,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
             kinds[t->kind].name, dims);

    /* The whole of it, with the ten bytes before, is a multiple of 64. */
    int length = ((int)strlen(header) + 11 + 63) / 64 * 64 - 10;
    bool ok = out && fprintf(out, "\x93NUMPY\x01%c%c%c%-*s\n", 0, length & 255,
                             length >> 8, length - 1, header) > 0;

    ok = ok &&
         fwrite(t->data, element_bytes(t->kind), t->count, out) == t->count;
    if (!ok || fclose(out)) {
        fprintf(stderr, "ort_bench: cannot write %s\n", path);
        exit(1);
    }
}

/* Of the model. */

static void
read_shape(const void *info, tensor *t)
{
    CALL(ELEMENT_TYPE, info, &t->kind);
    CALL(RANK, info, &t->rank);
    if (t->rank > MOST_RANK) {
        fprintf(stderr, "ort_bench: a tensor of %zu axes\n", t->rank);
        exit(1);
    }
    CALL(DIMENSIONS, info, t->dims, t->rank);
}

/* Numbers from a generator, the same at every call; integers are 0. */
static void
draw_input(const model *m, size_t i, tensor *t)
{
    void *type;
    const void *info;
    uint32_t drawn = 12345;
    float *data;

    CALL(INPUT_TYPE, m->session, i, &type);
    CALL(CAST_TO_TENSOR, type, &info);
    read_shape(info, t);
    for (size_t d = 0; d < t->rank; d++)
        t->dims[d] = t->dims[d] < 1 ? 1 : t->dims[d];
    allocate(t);
    data = t->data;
    for (size_t k = 0; t->kind == 1 && k < t->count; k++) {
        drawn = drawn * 1664525u + 1013904223u;
        data[k] = (float)(drawn >> 8) * (2.0f / (1 << 24)) - 1;
    }
}

static void *
make_input(const model *m, size_t i)
{
    char path[4096];
    tensor t = {0};
    void *value;

    snprintf(path, sizeof path, "%s/input_%zu.npy", m->folder ? m->folder : "",
             i);
    if (!m->folder)
        draw_input(m, i, &t);
    else if (!read_npy(path, &t)) {
        fprintf(stderr, "ort_bench: cannot read %s\n", path);
        exit(1);
    }
    CALL(CREATE_TENSOR, m->memory, t.data, t.count * element_bytes(t.kind),
         t.dims, t.rank, t.kind, &value);
    return value;
}

static void
write_outputs(const model *m)
{
    for (size_t i = 0; m->folder && i < m->outputs; i++) {
        char path[4096];
        tensor t = {.count = 1};
        void *info;

        CALL(TYPE_AND_SHAPE, m->out[i], &info);
        read_shape(info, &t);
        for (size_t d = 0; d < t.rank; d++)
            t.count *= (size_t)t.dims[d];
        CALL(TENSOR_DATA, m->out[i], &t.data);
        element_bytes(t.kind);
        snprintf(path, sizeof path, "%s/ort_%zu.npy", m->folder, i);
        write_npy(path, &t);
    }
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

/* Seconds of the clock, and of the processor. */
static double
run_once(model *m, double *processor)
{
    double begin = now(), from = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

    CALL(RUN, m->session, NULL, m->input_names, m->in, m->inputs,
         m->output_names, m->outputs, m->out);
    *processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - from;
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
    double processor;

    malloc_trim(0);
    if (!reset || fputs("5", reset) < 0 || fclose(reset))
        return -1;
    before = status_bytes("VmRSS:");
    run_once(m, &processor);
    return status_bytes("VmHWM:") - before;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
measure(model *m, const char *version, int runs, double seconds)
{
    static double times[MOST_RUNS], processor[MOST_RUNS];
    double begin;
    int count = 0;

    for (int i = 0; i < WARM_RUNS; i++)
        run_once(m, &processor[0]);
    begin = now();
    while (count < MOST_RUNS && (count < runs || now() - begin < seconds)) {
        times[count] = run_once(m, &processor[count]);
        count++;
    }
    write_outputs(m);
    qsort(times, (size_t)count, sizeof *times, by_value);
    qsort(processor, (size_t)count, sizeof *processor, by_value);
    printf("{\"version\": \"%s\", \"load_ms\": %.1f, \"runs\": %d, "
           "\"min_ms\": %.4f, \"median_ms\": %.4f, "
           "\"processor_min_ms\": %.4f, \"processor_median_ms\": %.4f, "
           "\"peak_rss_bytes\": %lld}\n",
           version, 1e3 * m->load_seconds, count, 1e3 * times[0],
           1e3 * times[count / 2], 1e3 * processor[0],
           1e3 * processor[count / 2], status_bytes("VmHWM:"));
}

int
main(int argc, char **argv)
{
    static model m;

    if (argc != 6 && argc != 7) {
        fprintf(stderr,
                "usage: ort_bench LIB MODEL THREADS RUNS SECONDS [FOLDER]\n");
        return 2;
    }

    const char *version = open_library(argv[1]);
    int threads = atoi(argv[3]), runs = atoi(argv[4]);

    m.folder = argv[6];
    if (runs == 0) {
        mallopt(M_MMAP_THRESHOLD, 1 << 16);
        load(&m, argv[2], threads, false);
        printf("{\"version\": \"%s\", \"grown_bytes\": %lld}\n", version,
               grow(&m));
        return 0;
    }
    load(&m, argv[2], threads, true);
    measure(&m, version, runs, atof(argv[5]));
    fflush(stdout);
    _exit(0); /* taking it all down is not measured */
}
