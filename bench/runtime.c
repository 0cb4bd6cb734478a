/*
 * Overhead of the runtime for each part of a network: on each executor, with a trace, and with
 * devices in processes, which copy values of 16 bytes to 1 MiB in and out of shared memory, and
 * add up their checksums.  The first row is the machine's own: the time of a hand-over between
 * two threads that sleep.
 *
 *     runtime [ROUNDS]
 *
 * The network is a chain of PARTS parts that alternate between two devices, whose backend
 * does nothing, or is busy for a millisecond.  Each figure is the least of ROUNDS rounds
 * (200): microseconds for each part with one request at a time, also by glow_service_call,
 * and with four at once; time of the processors for each part with one at a time, those of
 * the processes included; percent that a request of one part of a millisecond takes longer
 * than that, also by glow_service_call.  Of hand-overs: microseconds for each, wall time and
 * processors; percent of a millisecond that two of them take with a millisecond of work in
 * between, so that both threads sleep deeply: the wakes of a request that comes alone.
 */

#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "glow/backend.h"
#include "glow/diag.h"
#include "glow/host.h"
#include "glow/plugin.h"

enum { PARTS = 8, DEVICES = 2, REQUESTS = 20, SOCKET = 3, TURNS = 200 };
#define PART_NS 1000000

static glow_backend backend;
static bool busy;

static bool
run_nothing(glow_executable *x, const glow_binding *bindings, int count)
{
    int64_t end = busy ? glow_now() + PART_NS : 0;

    (void)x, (void)bindings, (void)count;
    while (glow_now() < end)
        ;
    return true;
}

static void
print_report(const glow_diag *d, void *user)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", d->id, d->message);
}

static glow_context *
begin(void)
{
    glow_context *ctx = glow_context_new();

    glow_context_set_sink(ctx, print_report, NULL);
    backend = *glow_find_backend(ctx, "interp");
    backend.run = run_nothing;
    return ctx;
}

static void
write_chain(const char *path, int parts, int floats)
{
    FILE *f = fopen(path, "w");

    if (!f)
        exit(1);
    fprintf(f,
            "gir 1\nplaceholder @x : float<%d>\nplaceholder @y : float<%d>\n",
            floats, floats);
    for (int i = 0; i < parts; i++)
        fprintf(
            f,
            "placeholder @i%d : float<%d>\nplaceholder @o%d : float<%d>\n"
            "function @part%d attributes {Inputs: [@i%d], Outputs: [@o%d]} {\n"
            "  %%a = Relu(@i%d) : float<%d>\n  %%s = Save(%%a, @o%d)\n}\n",
            i, floats, i, floats, i, i, i, i, floats, i);
    fprintf(f, "function @main {\n");
    for (int i = 0; i < parts; i++) {
        char from[16] = "@x";

        if (i > 0)
            snprintf(from, sizeof from, "%%p%d", i - 1);
        fprintf(
            f,
            "  %%p%d = Run([%s]) {Body: @part%d, Device: \"d%d\"} : float<%d>\n",
            i, from, i, i % DEVICES, floats);
    }
    fprintf(f, "  %%s = Save(%%p%d, @y)\n}\n", parts - 1);
    fclose(f);
}

/* Nanoseconds that this process and its children have computed. */
static int64_t
processor(void)
{
    struct timespec t;
    int64_t sum;
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *e;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    sum = t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
    while (tasks && (e = readdir(tasks)) != NULL) {
        char path[300];
        int child;
        FILE *f;

        snprintf(path, sizeof path, "/proc/self/task/%s/children", e->d_name);
        f = fopen(path, "r");
        while (f && fscanf(f, "%d", &child) == 1) {
            clockid_t clock;

            if (clock_getcpuclockid(child, &clock) == 0 &&
                clock_gettime(clock, &t) == 0)
                sum += t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
        }
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

typedef struct row {
    const char *name, *executor;
    bool isolate, trace, checksums;
    int floats; /* of each value; 0: 4 */
} row;

static const row rows[] = {
    {"serial", "serial", false, false, false, 0},
    {"threads", "threads", false, false, false, 0},
    {"threads, trace", "threads", false, true, false, 0},
    {"starpu", "starpu", false, false, false, 0},
    {"processes", "threads", true, false, false, 0},
    {"  checksums", "threads", true, false, true, 0},
    {"  of 64 KiB", "threads", true, false, false, 1 << 14},
    {"    checksums", "threads", true, false, true, 1 << 14},
    {"  of 1 MiB", "threads", true, false, false, 1 << 18},
    {"    checksums", "threads", true, false, true, 1 << 18},
};

typedef struct setup {
    glow_context *ctx;
    glow_host *host;
    glow_service *service;
    float *x;
    size_t bytes;
} setup;

static int
floats_of(const row *r)
{
    return r->floats ? r->floats : 4;
}

/* False: this system lacks the executor. */
static bool
open_host(setup *s, const row *r, const char *program, const char *path)
{
    const char *const command[] = {program, busy ? "busy" : "idle", NULL};
    glow_host_options o = {.trace = r->trace};
    glow_run_device_options d = {
        .backend = &backend, .command = command, .checksums = r->checksums};

    s->ctx = begin();
    o.executor = glow_executor_open(s->ctx, r->executor);
    if (!o.executor) {
        glow_context_free(s->ctx);
        return false;
    }
    s->host = glow_host_new(&o);
    for (int i = 0; i < DEVICES; i++) {
        char name[8];

        snprintf(name, sizeof name, "d%d", i);
        d.name = name;
        if (!glow_host_add_device(s->host, s->ctx,
                                  r->isolate ? &glow_run_device_remote
                                             : &glow_run_device_local,
                                  &d))
            exit(1);
    }
    if (!glow_host_add(s->host, s->ctx,
                       &(glow_service_options){.name = "net", .path = path}))
        exit(1);
    s->service = glow_host_find(s->host, "net");
    s->bytes = (size_t)floats_of(r) * sizeof *s->x;
    s->x = calloc(1, s->bytes);
    return s->x;
}

static void
close_host(setup *s)
{
    glow_service_release(s->service);
    glow_host_free(s->host);
    glow_context_free(s->ctx);
    free(s->x);
}

static void
finish(glow_request *r)
{
    if (glow_fence_wait(glow_request_fence(r), INT64_MAX, NULL) !=
        GLOW_RUN_DONE)
        exit(1);
    glow_request_release(r);
}

/* Runs `count` requests, `most` at once; 0: one after the other by glow_service_call. */
static void
send(const setup *s, int count, int most)
{
    const glow_input in = {.name = "x", .data = s->x, .bytes = s->bytes};
    glow_request *window[8] = {0};

    for (int i = 0; most == 0 && i < count; i++)
        finish(glow_service_call(s->service, &in, 1, NULL));
    for (int i = 0; most > 0 && i < count + most; i++) {
        if (window[i % most])
            finish(window[i % most]);
        window[i % most] =
            i < count ? glow_service_run(s->service, &in, 1, NULL) : NULL;
    }
}

/* The least nanoseconds of `rounds` rounds; *cpu: those of the processors. */
static double
time_rounds(const setup *s, int rounds, int count, int most, double *cpu)
{
    double best = 1e18;

    *cpu = 1e18;
    for (int i = 0; i < rounds; i++) {
        int64_t from = processor(), begun = glow_now(), ended;
        double took, computed;

        send(s, count, most);
        ended = glow_now();
        computed = (double)(processor() - from);
        took = (double)(ended - begun);
        best = took < best ? took : best;
        *cpu = computed < *cpu ? computed : *cpu;
    }
    return best;
}

/* Figures of empty parts, or of parts of a millisecond. */
static bool
measure(const row *r, const char *program, const char *path, int parts,
        int count, int rounds, const int *most, int n, double *ns, double *cpu)
{
    setup s;

    write_chain(path, parts, floats_of(r));
    if (!open_host(&s, r, program, path))
        return false;
    for (int i = 0; i < n; i++)
        ns[i] =
            time_rounds(&s, rounds, count, most[i], &cpu[i]) / count / parts;
    close_host(&s);
    return true;
}

static void
print_row(const row *r, const char *program, int rounds)
{
    const int most[] = {1, 0, 4};
    char path[64];
    double ns[3], cpu[3], ms[2], ignored[2];
    bool ok;

    snprintf(path, sizeof path, "/tmp/glow-bench-%d.gir", (int)getpid());
    busy = false;
    ok = measure(r, program, path, PARTS, REQUESTS, rounds, most, 3, ns, cpu);
    busy = true;
    ok = ok && measure(r, program, path, 1, 1, rounds, most, 2, ms, ignored);
    unlink(path);
    if (!ok)
        return;
    printf("%-16s %10.2f %8.2f %11.2f %13.2f %10.2f %8.2f\n", r->name,
           ns[0] / 1e3, ns[1] / 1e3, cpu[0] / (double)(PARTS * REQUESTS) / 1e3,
           ns[2] / 1e3, 100 * (ms[0] - PART_NS) / PART_NS,
           100 * (ms[1] - PART_NS) / PART_NS);
    fflush(stdout);
}

/* Hand-overs: two threads in turn, of which the second works for `busy_ns` each time. */

typedef struct turns {
    pthread_mutex_t lock;
    pthread_cond_t changed[2];
    int next; /* the thread whose turn it is; -1: the second is to end */
    int64_t busy_ns;
} turns;

static void
give_turn(turns *t, int to)
{
    pthread_mutex_lock(&t->lock);
    t->next = to;
    pthread_cond_signal(&t->changed[to != 0]);
    pthread_mutex_unlock(&t->lock);
}

/* False: the thread is to end. */
static bool
await_turn(turns *t, int mine)
{
    bool is_mine;

    pthread_mutex_lock(&t->lock);
    while (t->next != mine && t->next >= 0)
        pthread_cond_wait(&t->changed[mine], &t->lock);
    is_mine = t->next == mine;
    pthread_mutex_unlock(&t->lock);
    return is_mine;
}

static void *
take_turns(void *user)
{
    turns *t = user;

    while (await_turn(t, 1)) {
        int64_t end = t->busy_ns ? glow_now() + t->busy_ns : 0;

        while (glow_now() < end)
            ;
        give_turn(t, 0);
    }
    return NULL;
}

/* The least nanoseconds of `count` turns of the second thread; *cpu: those of the processors. */
static double
time_turns(int rounds, int count, int64_t busy_ns, double *cpu)
{
    turns t = {.lock = PTHREAD_MUTEX_INITIALIZER,
               .changed = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER},
               .busy_ns = busy_ns};
    double best = 1e18;
    pthread_t other;

    if (pthread_create(&other, NULL, take_turns, &t) != 0)
        exit(1);
    *cpu = 1e18;
    for (int i = 0; i < rounds; i++) {
        int64_t from = processor(), begun = glow_now(), ended;
        double computed;

        for (int k = 0; k < count; k++) {
            give_turn(&t, 1);
            await_turn(&t, 0);
        }
        ended = glow_now();
        computed = (double)(processor() - from);
        best = (double)(ended - begun) < best ? (double)(ended - begun) : best;
        *cpu = computed < *cpu ? computed : *cpu;
    }
    give_turn(&t, -1);
    pthread_join(other, NULL);
    return best;
}

static void
print_hand_over(int rounds)
{
    double cpu, ignored;
    double ns = time_turns(rounds, TURNS, 0, &cpu);
    double ms = time_turns(rounds, 1, PART_NS, &ignored);

    printf("%-16s %10.2f %8s %11.2f %13s %10.2f\n", "hand-over",
           ns / (double)TURNS / 2e3, "", cpu / (double)TURNS / 2e3, "",
           100 * (ms - PART_NS) / PART_NS);
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 200;

    if (argc > 1 && rounds == 0) {
        glow_context *ctx = begin();

        busy = strcmp(argv[1], "busy") == 0;
        glow_run_device_serve(ctx, SOCKET,
                              &(glow_run_device_options){.name = "device",
                                                         .backend = &backend,
                                                         .queues = 1});
        glow_context_free(ctx);
        return 0;
    }
    printf("%-16s %10s %8s %11s %13s %10s %8s\n", "", "us a part", "called",
           "processors", "four at once", "% of 1 ms", "called");
    if (rounds <= 0)
        rounds = 200;
    print_hand_over(rounds);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        print_row(&rows[i], argv[0], rounds);
    return 0;
}
