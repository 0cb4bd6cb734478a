/* Times one ONNX model in ONNX Runtime through its C ABI, loaded with dlopen.
 *
 * The runtime publishes its API as one table of function pointers that only
 * ever grows at the end, so the slot numbers of the first version are stable;
 * the few that are needed are named in enum slot below and no header is needed.
 *
 * usage: ort_bench --lib libonnxruntime.so --model m.onnx [options]
 *   --dir D        read D/input_0.npy ... in the order of the model's inputs and
 *                  compare with D/output_0.npy ... where these exist
 *   --threads N    intra-op threads (1)        --opt none|basic|extended|all (all)
 *   --warmup N     untimed runs (3)            --iters N   least timed runs (10)
 *   --min-time S   keep going for S seconds (2)  --max-iters N (2000)
 *   --batch N      value of unknown dimensions when inputs are random (1)
 *   --dump D       write outputs as D/ort_output_i.npy
 *   --save F       write the optimised model to F
 *   --name S       label in the output line
 *   --no-arena     do not use the arena allocator or memory patterns
 * prints one JSON object on one line.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum slot {
    GetErrorMessage = 2,
    CreateEnv = 3,
    CreateSession = 7,
    Run = 9,
    CreateSessionOptions = 10,
    SetOptimizedModelFilePath = 11,
    DisableMemPattern = 17,
    DisableCpuMemArena = 19,
    SetSessionGraphOptimizationLevel = 23,
    SetIntraOpNumThreads = 24,
    SetInterOpNumThreads = 25,
    SessionGetInputCount = 30,
    SessionGetOutputCount = 31,
    SessionGetInputTypeInfo = 33,
    SessionGetInputName = 36,
    SessionGetOutputName = 37,
    CreateTensorWithDataAsOrtValue = 49,
    GetTensorMutableData = 51,
    CastTypeInfoToTensorInfo = 55,
    GetTensorElementType = 60,
    GetDimensionsCount = 61,
    GetDimensions = 62,
    GetTensorTypeAndShape = 65,
    CreateCpuMemoryInfo = 69,
    GetAllocatorWithDefaultOptions = 78
};

struct api_base {
    const void *(*get_api)(uint32_t);
    const char *(*version)(void);
};

static void *const *api;
typedef void *(*fn)();
static void
ck(void *st, const char *what)
{
    if (!st)
        return;
    const char *(*msg)(const void *) =
        (const char *(*)(const void *))api[GetErrorMessage];
    fprintf(stderr, "%s: %s\n", what, msg(st));
    printf("{\"error\": \"%s\"}\n", what);
    exit(1);
}
#define CALL(f, ...) ck(((fn)api[f])(__VA_ARGS__), #f)

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double
status_mib(const char *key)
{
    FILE *f = fopen("/proc/self/status", "r");
    char l[256];
    double r = 0;
    while (f && fgets(l, sizeof l, f))
        if (!strncmp(l, key, strlen(key)))
            r = atof(l + strlen(key) + 1) / 1024;
    if (f)
        fclose(f);
    return r;
}

struct tensor {
    int type, nd;
    int64_t dim[8], count;
    size_t bytes;
    void *data;
};

static const struct {
    const char *descr;
    int type, size;
} kinds[] = {{"<f4", 1, 4},  {"|u1", 2, 1}, {"|i1", 3, 1}, {"<u2", 4, 2},
             {"<i2", 5, 2},  {"<i4", 6, 4}, {"<i8", 7, 8}, {"|b1", 9, 1},
             {"<f2", 10, 2}, {"<f8", 11, 8}};
enum { NKIND = sizeof kinds / sizeof *kinds };

static int
kind_size(int type)
{
    for (int i = 0; i < NKIND; i++)
        if (kinds[i].type == type)
            return kinds[i].size;
    return 0;
}

static int
npy_read(const char *path, struct tensor *t)
{
    FILE *f = fopen(path, "rb");
    unsigned char h[12];
    if (!f)
        return 0;
    if (fread(h, 1, 10, f) != 10 || memcmp(h, "\x93NUMPY", 6)) {
        fclose(f);
        return 0;
    }
    unsigned len = h[8] | h[9] << 8;
    if (h[6] > 1) {
        if (fread(h + 10, 1, 2, f) != 2) {
            fclose(f);
            return 0;
        }
        len |= (unsigned)h[10] << 16 | (unsigned)h[11] << 24;
    }
    char *s = calloc(1, len + 1), *p;
    if (fread(s, 1, len, f) != len) {
        fclose(f);
        free(s);
        return 0;
    }
    memset(t, 0, sizeof *t);
    for (int i = 0; i < NKIND; i++)
        if (strstr(s, kinds[i].descr))
            t->type = kinds[i].type;
    p = strchr(s, '(');
    t->count = 1;
    for (p++; *p && *p != ')';) {
        char *e;
        long long v = strtoll(p, &e, 10);
        if (e == p) {
            p++;
            continue;
        }
        t->dim[t->nd++] = v;
        t->count *= v;
        p = e;
    }
    t->bytes = t->count * kind_size(t->type);
    t->data = aligned_alloc(64, (t->bytes + 127) / 64 * 64);
    size_t got = fread(t->data, 1, t->bytes, f);
    fclose(f);
    free(s);
    return got == t->bytes;
}

static void
npy_write(const char *path, int type, int nd, const int64_t *dim,
          const void *data)
{
    char s[256];
    int64_t count = 1;
    const char *descr = "<f4";
    for (int i = 0; i < NKIND; i++)
        if (kinds[i].type == type)
            descr = kinds[i].descr;
    int n =
        sprintf(s, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < nd; i++) {
        n += sprintf(s + n, "%lld,", (long long)dim[i]);
        count *= dim[i];
    }
    n += sprintf(s + n, "), }");
    while ((10 + n + 1) % 64)
        s[n++] = ' ';
    s[n++] = '\n';
    FILE *f = fopen(path, "wb");
    if (!f)
        return;
    unsigned char h[10] = {0x93, 'N', 'U', 'M',     'P',
                           'Y',  1,   0,   n & 255, n >> 8};
    fwrite(h, 1, 10, f);
    fwrite(s, 1, n, f);
    fwrite(data, kind_size(type), count, f);
    fclose(f);
}

static int
cmp(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
    const char *lib = getenv("ORT_LIB"), *model = 0, *dir = 0, *dump = 0,
               *save = 0, *name = "";
    int threads = 1, warm = 3, iters = 10, max_iters = 2000, batch = 1,
        opt = 99, arena = 1;
    double min_time = 2;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(a, "--no-arena")) {
            arena = 0;
            continue;
        }
        i++;
        if (!strcmp(a, "--lib"))
            lib = v;
        else if (!strcmp(a, "--model"))
            model = v;
        else if (!strcmp(a, "--dir"))
            dir = v;
        else if (!strcmp(a, "--dump"))
            dump = v;
        else if (!strcmp(a, "--save"))
            save = v;
        else if (!strcmp(a, "--name"))
            name = v;
        else if (!strcmp(a, "--threads"))
            threads = atoi(v);
        else if (!strcmp(a, "--warmup"))
            warm = atoi(v);
        else if (!strcmp(a, "--iters"))
            iters = atoi(v);
        else if (!strcmp(a, "--max-iters"))
            max_iters = atoi(v);
        else if (!strcmp(a, "--min-time"))
            min_time = atof(v);
        else if (!strcmp(a, "--batch"))
            batch = atoi(v);
        else if (!strcmp(a, "--opt"))
            opt = !strcmp(v, "none")       ? 0
                  : !strcmp(v, "basic")    ? 1
                  : !strcmp(v, "extended") ? 2
                                           : 99;
        else {
            fprintf(stderr, "unknown option %s\n", a);
            return 2;
        }
    }
    if (!lib || !model) {
        fprintf(stderr, "--lib (or ORT_LIB) and --model are needed\n");
        return 2;
    }
    void *h = dlopen(lib, RTLD_NOW);
    if (!h) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    const struct api_base *(*get)(void) =
        (const struct api_base *(*)(void))dlsym(h, "OrtGetApiBase");
    const struct api_base *base = get();
    api = (void *const *)base->get_api(1);

    void *env, *so, *session, *alloc, *mem;
    CALL(CreateEnv, 3, "b", &env);
    CALL(CreateSessionOptions, &so);
    CALL(SetIntraOpNumThreads, so, threads);
    CALL(SetInterOpNumThreads, so, 1);
    CALL(SetSessionGraphOptimizationLevel, so, opt);
    if (!arena) {
        CALL(DisableCpuMemArena, so);
        CALL(DisableMemPattern, so);
    }
    if (save)
        CALL(SetOptimizedModelFilePath, so, save);
    double rss0 = status_mib("VmRSS:"), t0 = now();
    CALL(CreateSession, env, model, so, &session);
    double create = now() - t0, rss1 = status_mib("VmRSS:"),
           hwm1 = status_mib("VmHWM:");
    CALL(GetAllocatorWithDefaultOptions, &alloc);
    CALL(CreateCpuMemoryInfo, 1, 0, &mem);

    size_t nin = 0, nout = 0;
    CALL(SessionGetInputCount, session, &nin);
    CALL(SessionGetOutputCount, session, &nout);
    static char *iname[4096], *oname[4096];
    static void *ival[4096], *oval[4096];
    for (size_t i = 0; i < nin; i++) {
        struct tensor t = {0};
        char path[4096];
        CALL(SessionGetInputName, session, i, alloc, &iname[i]);
        snprintf(path, sizeof path, "%s/input_%zu.npy", dir ? dir : ".", i);
        if (!dir || !npy_read(path, &t)) {
            void *ti;
            const void *info;
            size_t nd = 0;
            CALL(SessionGetInputTypeInfo, session, i, &ti);
            CALL(CastTypeInfoToTensorInfo, ti, &info);
            CALL(GetTensorElementType, info, &t.type);
            CALL(GetDimensionsCount, info, &nd);
            CALL(GetDimensions, info, t.dim, nd);
            t.nd = (int)nd;
            t.count = 1;
            for (int d = 0; d < t.nd; d++) {
                if (t.dim[d] < 1)
                    t.dim[d] = batch;
                t.count *= t.dim[d];
            }
            t.bytes = t.count * kind_size(t.type);
            t.data = aligned_alloc(64, (t.bytes + 127) / 64 * 64);
            memset(t.data, 0, t.bytes);
            uint32_t r = 12345;
            if (t.type == 1)
                for (int64_t k = 0; k < t.count; k++)
                    ((float *)t.data)[k] =
                        ((r = r * 1664525u + 1013904223u) >> 8) *
                            (2.0f / (1 << 24)) -
                        1;
        }
        CALL(CreateTensorWithDataAsOrtValue, mem, t.data, t.bytes, t.dim,
             (size_t)t.nd, t.type, &ival[i]);
    }
    for (size_t i = 0; i < nout; i++)
        CALL(SessionGetOutputName, session, i, alloc, &oname[i]);

    t0 = now();
    CALL(Run, session, NULL, iname, ival, nin, oname, nout, oval);
    double first = now() - t0;
    for (int i = 1; i < warm; i++)
        CALL(Run, session, NULL, iname, ival, nin, oname, nout, oval);
    double *ts = calloc(max_iters + 1, sizeof *ts), begin = now();
    int n = 0;
    while (n < max_iters && (n < iters || now() - begin < min_time)) {
        t0 = now();
        CALL(Run, session, NULL, iname, ival, nin, oname, nout, oval);
        ts[n++] = now() - t0;
    }
    qsort(ts, n, sizeof *ts, cmp);
    double hwm2 = status_mib("VmHWM:"), rss2 = status_mib("VmRSS:");

    double maxabs = 0, maxref = 0, worst_rel = 0;
    int checked = 0;
    for (size_t i = 0; i < nout; i++) {
        void *info, *data;
        int type;
        size_t nd = 0;
        int64_t dim[8], count = 1;
        char path[4096];
        CALL(GetTensorTypeAndShape, oval[i], &info);
        CALL(GetTensorElementType, info, &type);
        CALL(GetDimensionsCount, info, &nd);
        CALL(GetDimensions, info, dim, nd);
        CALL(GetTensorMutableData, oval[i], &data);
        for (size_t d = 0; d < nd; d++)
            count *= dim[d];
        if (dump) {
            snprintf(path, sizeof path, "%s/ort_output_%zu.npy", dump, i);
            npy_write(path, type, (int)nd, dim, data);
        }
        struct tensor ref;
        snprintf(path, sizeof path, "%s/output_%zu.npy", dir ? dir : ".", i);
        if (dir && type == 1 && npy_read(path, &ref) && ref.type == 1 &&
            ref.count == count) {
            double a = 0, r = 0;
            for (int64_t k = 0; k < count; k++) {
                double x = ((float *)data)[k], y = ((float *)ref.data)[k],
                       e = fabs(x - y);
                if (!(e <= a))
                    a = e;
                if (fabs(y) > r)
                    r = fabs(y);
            }
            checked++;
            if (!(a <= maxabs))
                maxabs = a;
            if (r > maxref)
                maxref = r;
            if (!(a / (r + 1e-30) <= worst_rel))
                worst_rel = a / (r + 1e-30);
        }
    }
    printf(
        "{\"peer\": \"ort\", \"version\": \"%s\", \"name\": \"%s\", "
        "\"threads\": %d, \"create_ms\": %.1f, "
        "\"first_ms\": %.3f, \"min_ms\": %.4f, \"median_ms\": %.4f, "
        "\"p90_ms\": %.4f, \"runs\": %d, "
        "\"rss_before_mib\": %.1f, \"rss_created_mib\": %.1f, "
        "\"peak_create_mib\": %.1f, "
        "\"rss_after_mib\": %.1f, \"peak_mib\": %.1f, \"outputs_checked\": %d, "
        "\"max_abs_err\": %.3g, \"max_ref\": %.3g, \"rel_err\": %.3g}\n",
        base->version(), name, threads, create * 1e3, first * 1e3, ts[0] * 1e3,
        n & 1 ? ts[n / 2] * 1e3 : (ts[n / 2 - 1] + ts[n / 2]) * 500,
        ts[n * 9 / 10] * 1e3, n, rss0, rss1, hwm1, rss2, hwm2, checked, maxabs,
        maxref, worst_rel);
    fflush(stdout);
    _exit(0); /* tearing the session down is not measured */
}
