/*
 * Devices in other processes, which may have a fault or write down what they run, and the
 * host beside them.  The program of a test is its own device: see is_device.
 */

#ifndef GLOW_TEST_REMOTE_H
#define GLOW_TEST_REMOTE_H

#include "hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "glow/backend.h"
#include "runtime/wire.h"

#define SECOND ((int64_t)1000000000)

/* Faults of one answer of a device. */
typedef enum fault {
    LONGER, /* its size is wrong */
    SHORT,  /* the same, with right checksums, and the end */
    NUMBER, /* it answers another message */
    KIND,   /* it is no answer */
    CUT,    /* half of it, and the end */
    RANDOM, /* other bytes */
    TWICE,
    FLIPPED, /* one bit of it */
    PORTS,   /* wrong bytes of a payload, with right checksums */
    INPUT, /* none, and a bit of input x in shared memory changes before the run */
    OUTPUT,  /* none, and one of output y after it */
    SUM,     /* none, and one of the checksum of x */
    FAULTS,  /* none */
    LOGGING, /* none, and it writes down what it runs */
} fault;

static inline uint64_t
draw(uint64_t *seed)
{
    *seed += 0x9e3779b97f4a7c15u;
    return glow_mix(*seed);
}

/* A message as it goes over a socket; the number of its bytes. */
static inline size_t
bytes_of(const wire_head *h, const void *payload, char *out, size_t most)
{
    int pair[2];
    ssize_t n;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
        !glow_wire_send(pair[0], h, payload, -1))
        abort();
    close(pair[0]);
    n = recv(pair[1], out, most, MSG_WAITALL);
    close(pair[1]);
    return n > 0 ? (size_t)n : 0;
}

/* Changes some bytes of `data`, of `size`. */
static inline void
spoil(void *data, size_t size, uint64_t *seed)
{
    unsigned char *p = data;

    for (uint64_t n = size ? 1 + draw(seed) % 4 : 0; n > 0; n--) {
        static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
        size_t at = draw(seed) % size;

        p[at] = draw(seed) % 2 ? values[draw(seed) % sizeof values]
                               : (unsigned char)draw(seed);
    }
}

/* The device. */

/* A run that a device began. */
typedef struct entry {
    int process;
    float value;
} entry;

static int run_log;
static glow_backend logging;
static bool (*run_plainly)(glow_executable *x, const glow_binding *bindings,
                           int count);

/* Takes 2 ms, so that kills come while it runs. */
static inline bool
run_logged(glow_executable *x, const glow_binding *bindings, int count)
{
    entry e = {.process = (int)getpid()};

    for (int i = 0; i < count; i++)
        if (strcmp(bindings[i].storage->name, "x") == 0)
            e.value = *(const float *)bindings[i].tensor->data;
    if (write(run_log, &e, sizeof e) != sizeof e)
        abort();
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return run_plainly(x, bindings, count);
}

/* A device on descriptor 3 that writes down what it runs. */
static inline int
be_logging(const char *path)
{
    glow_context *ctx = glow_context_new();

    run_log = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    logging = *glow_find_backend(ctx, "interp");
    run_plainly = logging.run;
    logging.run = run_logged;
    glow_run_device_serve(
        ctx, 3,
        &(glow_run_device_options){.name = "device", .backend = &logging});
    glow_context_free(ctx);
    return 0;
}

typedef struct served {
    int socket;
    const char *backend;
} served;

static inline void *
serve(void *user)
{
    const served *s = user;
    glow_context *ctx = glow_context_new();

    glow_run_device_serve(ctx, s->socket,
                          &(glow_run_device_options){
                              .name = "device",
                              .backend = glow_find_backend(ctx, s->backend),
                          });
    glow_context_free(ctx);
    close(s->socket);
    return NULL;
}

/* Sends an answer with a fault; false: it is the last. */
static inline bool
send_wrong(int socket, fault f, wire_head h, char *payload, uint64_t seed)
{
    static char bytes[2 * WIRE_MOST];
    size_t size;

    if (f == NUMBER)
        h.number++;
    if (f == KIND)
        h.kind = WIRE_RUN;
    if (f == PORTS)
        spoil(payload, h.size, &seed);
    size = bytes_of(&h, payload, bytes, sizeof bytes);
    if (f == LONGER)
        ((wire_head *)(void *)bytes)->size += 8;
    if (f == SHORT) {
        h.size = 1 << 16; /* which the buffer of a socket has room for */
        size = bytes_of(&h, bytes + WIRE_MOST, bytes, sizeof h);
    }
    if (f == FLIPPED)
        bytes[seed % size] ^= (char)(1 << seed / size % 8);
    if (f == RANDOM)
        for (size_t i = 0; i < size; i++)
            bytes[i] = (char)draw(&seed);
    if (f == CUT)
        size /= 2;
    for (int i = 0; i < 1 + (f == TWICE); i++)
        if (send(socket, bytes, size, MSG_NOSIGNAL) < 0)
            return false;
    return f != CUT && f != SHORT;
}

/* Changes a bit of the shared memory of the tensors of a run. */
static inline void
change_tensor(fault f, char *shared, const uint64_t *offsets, uint64_t seed)
{
    char *at = shared + offsets[f == OUTPUT]; /* ports x, y */

    at += f == SUM ? -(ptrdiff_t)(1 + seed % 8) : (ptrdiff_t)(seed % 16);
    *at ^= (char)(1 << seed / 16 % 8);
}

/* True for one caller. */
static inline bool
is_first(const char *path)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* A device on descriptor 3; in the first process of `path`, answer `at` has a fault. */
static inline int
be_device(fault f, int at, uint64_t seed, const char *path)
{
    int pair[2], fd;
    served s = {.backend = "interp"};
    pthread_t thread;
    wire_head h;
    void *payload;
    char *shared = NULL;
    bool ok = true, first = is_first(path);

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    s.socket = pair[1];
    if (pthread_create(&thread, NULL, serve, &s) != 0)
        return 1;
    for (int i = 1; ok && glow_wire_receive(3, &h, &payload, &fd) == WIRE_OK;
         i++) {
        uint64_t offsets[2] = {0};
        bool changes = first && i == at && h.kind == WIRE_RUN;

        if (fd >= 0)
            shared = mmap(NULL, (size_t)h.bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED, fd, 0);
        if (changes)
            memcpy(offsets, payload, sizeof offsets);
        if (changes && (f == INPUT || f == SUM))
            change_tensor(f, shared, offsets, seed);
        ok = glow_wire_send(pair[0], &h, payload, fd);
        if (fd >= 0)
            close(fd);
        free(payload);
        ok = ok && glow_wire_receive(pair[0], &h, &payload, NULL) == WIRE_OK;
        if (!ok)
            break;
        if (changes && f == OUTPUT)
            change_tensor(f, shared, offsets, seed);
        ok = first && i == at && f < INPUT ? send_wrong(3, f, h, payload, seed)
                                           : glow_wire_send(3, &h, payload, -1);
        free(payload);
    }
    close(pair[0]);
    pthread_join(thread, NULL);
    return 0;
}

/* The host. */

/* y = 2 x of so many floats. */
static inline void
write_network(const bench *b, int count)
{
    FILE *f = fopen(b->path, "w");

    assert_non_null(f);
    fprintf(f,
            "gir 1\n"
            "placeholder @x : float<%d>\n"
            "placeholder @y : float<%d>\n"
            "function @main {\n"
            "  %%a = Add(@x, @x) : float<%d>\n"
            "  %%s = Save(%%a, @y)\n"
            "}\n",
            count, count, count);
    fclose(f);
}

static bool checksums; /* of the next device */

/* False if the device cannot be added; its first process has a fault, and makes b->state. */
static inline bool
begin(bench *b, fault f, int at, uint64_t seed)
{
    static char words[3][24];
    static const char *command[] = {
        "/proc/self/exe", "device", words[0], words[1], words[2], NULL, NULL,
    };

    open_bench(b, "remote", "", &(glow_host_options){.limit_ns = 5 * SECOND});
    write_network(b, 4);
    snprintf(words[0], sizeof *words, "%d", (int)f);
    snprintf(words[1], sizeof *words, "%d", at);
    snprintf(words[2], sizeof *words, "%llu", (unsigned long long)seed);
    command[5] = b->state;
    return glow_host_add_device(
        b->host, b->ctx, &glow_run_device_remote,
        &(glow_run_device_options){
            .name = "d",
            .backend = glow_find_backend(b->ctx, "interp"),
            .command = command,
            .checksums = checksums,
        });
}

/* The same as add_service, which may fail. */
static inline bool
try_service(bench *b)
{
    bool ok =
        glow_host_add(b->host, b->ctx,
                      &(glow_service_options){.name = "net", .path = b->path});

    b->service = ok ? glow_host_find(b->host, "net") : NULL;
    return ok;
}

static inline glow_request *
ask(bench *b, float v)
{
    const float x[4] = {v, v + 1, v + 2, v + 3};

    return glow_service_run(
        b->service, &(glow_input){.name = "x", .data = x, .bytes = sizeof x}, 1,
        NULL);
}

static inline void
expect(glow_request *r, float v)
{
    size_t bytes;
    const float *y = wait_for_y(r, &bytes);

    assert_int_equal(bytes, 16);
    for (int i = 0; i < 4; i++)
        assert_true(y[i] == 2 * (v + (float)i));
    glow_request_release(r);
}

/* The number of times that the device was lost. */
static inline int
losses(bench *b)
{
    static const char name[] = "glow_device_lost_total{device=\"d\"} ";
    glow_buf text = {0};
    const char *at;
    int n;

    glow_host_metrics(b->host, &text);
    at = strstr(text.text, name);
    assert_non_null(at);
    n = atoi(at + sizeof name - 1);
    glow_buf_free(&text);
    return n;
}

/* The process of the last run that was begun; 0: none was. */
static inline int
last_process(const char *path)
{
    FILE *f = fopen(path, "r");
    entry e = {0};

    while (f && fread(&e, sizeof e, 1, f) == 1)
        ;
    if (f)
        fclose(f);
    return e.process;
}

/* The number in the environment, for long runs by hand, or `n`. */
static inline int
number_of(const char *name, int n)
{
    const char *text = getenv(name);

    return text ? atoi(text) : n;
}

/* True if the arguments are those of a device, as begin gives them. */
static inline bool
is_device(int argc, char **argv)
{
    return argc == 6 && strcmp(argv[1], "device") == 0;
}

static inline int
be_device_of(char **argv)
{
    if (atoi(argv[2]) == LOGGING)
        return be_logging(argv[5]);
    return be_device((fault)atoi(argv[2]), atoi(argv[3]),
                     strtoull(argv[4], NULL, 10), argv[5]);
}

#endif
