/*
 * Every single-byte mutant and every truncation of small models, imported in
 * process: each must give a module that verifies, or a report.
 *
 *     bytes [-sample N] [-draw SEED] MODEL...
 *
 * With -sample N the mutants of bytes are one of N, drawn by the seed; truncations are
 * all of them.
 *
 * A model is one of ONNX, or, if its name ends in .pbtxt, a net of Caffe2, whose
 * binary form is mutated.
 *
 * A child does the work and keeps its place in shared memory, so that a crash,
 * a hang or too much memory costs one mutant: it is named, and the next child
 * goes on behind it.  Ends in `N passed, N failed`, of models.
 */

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caffe2.pb-c.h"
#include "glow/glow.h"
#include "tools/glow-translate/caffe2/caffe2.h"
#include "tools/glow-translate/proto.h"

#define SECONDS 10  /* that a mutant may take */
#define RENEWED 500 /* mutants to a context: its memory only grows */
#define BYTES ((rlim_t)4 << 30)

/* What the child is at. */
typedef struct place {
    int64_t next; /* mutant: bytes * 256 + value, then the truncations */
    int64_t modules, refused, failed;
} place;

static uint64_t sample = 1, seed = 1;

typedef struct model {
    const char *path;
    uint8_t *bytes;
    int64_t size;
    char mutant[64]; /* the file that the importer reads */
    bool is_net;
} model;

static void
count_report(const glow_diag *d, void *user)
{
    int *errors = user;

    *errors += d->severity == GLOW_ERROR;
}

static int64_t
mutants(const model *m)
{
    return m->size * 256 + m->size;
}

/* True if mutant `k` is run: a truncation, or in the sample. */
static bool
is_drawn(const model *m, int64_t k)
{
    uint64_t h = (seed * 1000003 + (uint64_t)k) * 6364136223846793005u;

    h = (h ^ h >> 32) * 6364136223846793005u;
    return k >= m->size * 256 || (h >> 33) % sample == 0;
}

static const char *
describe(const model *m, int64_t k)
{
    static char text[128];

    if (k < m->size * 256)
        snprintf(text, sizeof text, "byte %" PRId64 " is 0x%02x", k / 256,
                 (unsigned)(k % 256));
    else
        snprintf(text, sizeof text, "cut off after %" PRId64 " bytes",
                 k - m->size * 256);
    return text;
}

static bool
write_mutant(const model *m, int64_t k)
{
    FILE *f = fopen(m->mutant, "wb");
    int64_t cut = k - m->size * 256, size = cut < 0 ? m->size : cut;

    if (!f)
        return false;
    if (cut < 0) {
        uint8_t byte = m->bytes[k / 256];

        m->bytes[k / 256] = (uint8_t)(k % 256);
        fwrite(m->bytes, 1, (size_t)size, f);
        m->bytes[k / 256] = byte;
    } else {
        fwrite(m->bytes, 1, (size_t)size, f);
    }
    return fclose(f) == 0;
}

/* Imports one; counts what came of it. */
static void
try(glow_context *ctx, const model *m, int64_t k, int *errors, place *p)
{
    caffe2_options options = {
        .import = {.path = m->mutant, .function = "main"}};
    glow_module *module;

    *errors = 0;
    if (!write_mutant(m, k))
        exit(3);
    module = m->is_net ? caffe2_import(ctx, &options)
                       : import_model(ctx, &options.import);
    if (module) {
        p->modules += glow_verify(module);
        glow_module_free(module);
    }
    p->refused += !module && *errors > 0;
    if (*errors == 0 ? !module : module != NULL) {
        p->failed++;
        printf("FAIL: %s: %s: %s\n", m->path, describe(m, k),
               module ? "a module that was reported" : "no report");
    }
}

static void
limit(void)
{
    struct rlimit memory = {BYTES, BYTES}, none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__
    setrlimit(RLIMIT_AS, &memory);
#else
    (void)memory;
#endif
}

static void
work(const model *m, place *p)
{
    glow_context *ctx = NULL;
    int errors = 0;

    limit();
    for (; p->next < mutants(m); p->next++) {
        if (ctx && p->next % RENEWED == 0) {
            glow_context_free(ctx);
            ctx = NULL;
        }
        if (!ctx) {
            ctx = glow_context_new();
            glow_context_set_sink(ctx, count_report, &errors);
        }
        if (p->next < m->size * 256 && m->bytes[p->next / 256] == p->next % 256)
            continue; /* the model itself */
        if (!is_drawn(m, p->next))
            continue;
        alarm(SECONDS);
        try(ctx, m, p->next, &errors, p);
    }
    glow_context_free(ctx);
}

static void
run(const model *m, place *p)
{
    while (p->next < mutants(m)) {
        int status = 0;

        fflush(stdout);

        pid_t child = fork();

        if (child == 0) {
            work(m, p);
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        printf("FAIL: %s: %s: %s %d\n", m->path, describe(m, p->next),
               WIFSIGNALED(status) ? "signal" : "exit code",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        p->failed++;
        p->next++;
    }
}

/* The binary form of a net in text form. */
static bool
read_net(model *m)
{
    glow_context *ctx = glow_context_new();
    glow_data *owner = NULL;
    const ProtobufCMessage *net =
        proto_read(ctx, m->path, &caffe2__net_def__descriptor, &owner);

    if (net)
        m->size = (int64_t)protobuf_c_message_pack(net, m->bytes);
    glow_data_unref(owner);
    glow_context_free(ctx);
    snprintf(m->mutant, sizeof m->mutant, "/dev/shm/glow-mutant-%ld.pb",
             (long)getpid());
    return m->size > 0;
}

static bool
read_model(model *m, const char *path)
{
    size_t n = strlen(path);
    FILE *f = fopen(path, "rb");

    *m = (model){.path = path, .bytes = malloc(1 << 20)};
    if (!f || !m->bytes)
        return false;
    m->is_net = n > 6 && strcmp(path + n - 6, ".pbtxt") == 0;
    if (m->is_net) {
        fclose(f);
        return read_net(m);
    }
    m->size = (int64_t)fread(m->bytes, 1, 1 << 20, f);
    fclose(f);
    snprintf(m->mutant, sizeof m->mutant, "/dev/shm/glow-mutant-%ld.onnx",
             (long)getpid());
    return m->size > 0;
}

int
main(int argc, char **argv)
{
    place *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int passed = 0, failed = 0;

    for (int i = 1; i < argc; i++) {
        model m;

        if (i + 1 < argc && strcmp(argv[i], "-sample") == 0) {
            sample = strtoull(argv[++i], NULL, 10);
            sample += sample == 0;
            continue;
        }
        if (i + 1 < argc && strcmp(argv[i], "-draw") == 0) {
            seed = strtoull(argv[++i], NULL, 10);
            continue;
        }
        *p = (place){0};
        if (!read_model(&m, argv[i])) {
            fprintf(stderr, "bytes: %s cannot be read\n", argv[i]);
            return 2;
        }
        run(&m, p);
        unlink(m.mutant);
        free(m.bytes);
        printf("%s: %" PRId64 " bytes, %" PRId64 " modules, %" PRId64
               " refused, %" PRId64 " failed\n",
               argv[i], m.size, p->modules, p->refused, p->failed);
        passed += p->failed == 0;
        failed += p->failed != 0;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
