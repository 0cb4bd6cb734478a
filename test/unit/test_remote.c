/*
 * Devices in other processes that send what is no answer, messages that are none, and
 * shared memory.
 */

#define _GNU_SOURCE /* fallocate, memfd_create */

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

static uint64_t
draw(uint64_t *seed)
{
    *seed += 0x9e3779b97f4a7c15u;
    return glow_mix(*seed);
}

/* A message as it goes over a socket; the number of its bytes. */
static size_t
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
static void
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
static bool
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
static int
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

static void *
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
static bool
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
static void
change_tensor(fault f, char *shared, const uint64_t *offsets, uint64_t seed)
{
    char *at = shared + offsets[f == OUTPUT]; /* ports x, y */

    at += f == SUM ? -(ptrdiff_t)(1 + seed % 8) : (ptrdiff_t)(seed % 16);
    *at ^= (char)(1 << seed / 16 % 8);
}

/* True for one caller. */
static bool
is_first(const char *path)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* A device on descriptor 3; in the first process of `path`, answer `at` has a fault. */
static int
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
static void
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
static bool
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
static bool
try_service(bench *b)
{
    bool ok =
        glow_host_add(b->host, b->ctx,
                      &(glow_service_options){.name = "net", .path = b->path});

    b->service = ok ? glow_host_find(b->host, "net") : NULL;
    return ok;
}

static glow_request *
ask(bench *b, float v)
{
    const float x[4] = {v, v + 1, v + 2, v + 3};

    return glow_service_run(
        b->service, &(glow_input){.name = "x", .data = x, .bytes = sizeof x}, 1,
        NULL);
}

static void
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
static int
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

/*
 * A process gives a wrong answer to its second or third run: it is taken for none, the
 * process is started again, and all requests have the right results.
 */
static void
test_wrong_answers(void **state)
{
    (void)state;
    for (fault f = 0; f < PORTS; f++)
        for (int at = 4; at < 6; at++) {
            enum { N = 8 };
            glow_request *r[N];
            bench b;

            assert_true(begin(&b, f, at, (uint64_t)f));
            add_service(&b, (glow_service_options){0});
            for (int i = 0; i < N; i++)
                r[i] = ask(&b, (float)i);
            for (int i = 0; i < N; i++)
                expect(r[i], (float)i);
            if (losses(&b) != 1)
                fail_msg("fault %d: %d losses", (int)f, losses(&b));
            end(&b);
        }
}

/* A process that begins with a wrong answer, or gives one to the first network. */
static void
test_wrong_beginnings(void **state)
{
    (void)state;
    for (fault f = 0; f < PORTS; f++)
        for (int at = 1; at <= 2; at++) {
            bool ok = f == TWICE;
            bench b;

            if (begin(&b, f, at, 7))
                ok = try_service(&b) == ok && at == 1 + !ok;
            else
                ok = at == 1;
            if (!ok && f != TWICE)
                fail_msg("fault %d of answer %d was not seen", (int)f, at);
            if (f != TWICE)
                assert_string_equal(b.ids, "E1009");
            end(&b);
        }
}

/* The number in the environment, for long runs by hand, or `n`. */
static int
number_of(const char *name, int n)
{
    const char *text = getenv(name);

    return text ? atoi(text) : n;
}

/* The process of the last run that was begun; 0: none was. */
static int
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

/* Each of `count` values was run, and at most twice; the number of runs. */
static int
check_log(const char *path, int count)
{
    FILE *f = fopen(path, "r");
    int *runs = calloc((size_t)count, sizeof *runs), n = 0;
    entry e;

    assert_non_null(f);
    for (; fread(&e, sizeof e, 1, f) == 1; n++)
        runs[(int)e.value]++;
    fclose(f);
    for (int i = 0; i < count; i++)
        assert_in_range(runs[i], 1, 2);
    free(runs);
    return n;
}

/*
 * The process of the only device is killed at random moments: no request is lost or wrong,
 * and none is run more than twice.
 */
static void
test_kills(void **state)
{
    enum { N = 6 };
    int kills = number_of("GLOW_TEST_KILLS", 10), asked = 0, victim = 0, runs;
    int64_t slowest = 0, sum = 0;
    uint64_t seed = 3;
    bench b;

    (void)state;
    assert_true(begin(&b, LOGGING, 0, 0));
    add_service(&b, (glow_service_options){0});
    for (int k = 0; k < kills; k++) {
        glow_request *r[N];
        int64_t at;

        for (int i = 0; i < N; i++)
            r[i] = ask(&b, (float)asked++);
        do
            nanosleep(
                &(struct timespec){.tv_nsec = (long)(draw(&seed) % 6000000)},
                NULL);
        while (last_process(b.state) == victim); /* that of the kill before */
        victim = last_process(b.state);
        at = glow_now();
        assert_int_equal(kill(victim, SIGKILL), 0);
        for (int i = 0; i < N; i++)
            expect(r[i], (float)(asked - N + i));
        expect(ask(&b, (float)asked), (float)asked); /* by the next process */
        asked++;
        assert_int_equal(losses(&b), k + 1);
        at = glow_now() - at;
        sum += at;
        slowest = at > slowest ? at : slowest;
    }
    runs = check_log(b.state, asked);
    print_message(
        "# %d kills, %d requests, %d runs; %.1f ms, at most %.1f, to the end of 7\n",
        kills, asked, runs, (double)sum / kills * 1e-6, (double)slowest * 1e-6);
    assert_in_range(runs, asked, asked + kills);
    end(&b);
}

/* A system that has so many bytes of memory to share. */
static off_t pages = (off_t)1 << 40;

int
posix_fallocate(int fd, off_t at, off_t bytes)
{
    if (at + bytes > pages)
        return ENOSPC;
    return fallocate(fd, 0, at, bytes) == 0 ? 0 : errno;
}

/* Stops the process of the last run. */
static int
stop_process(const bench *b)
{
    int process = last_process(b->state);

    assert_int_equal(kill(process, SIGSTOP), 0);
    return process;
}

/* A device whose process cannot be started again is tried again later. */
static void
test_late_start(void **state)
{
    static const char *command[] = {NULL, "device", NULL, "0", "0", NULL, NULL};
    char link[80], number[8];
    glow_request *r;
    glow_outcome o;
    bench b;

    (void)state;
    open_bench(&b, "remote", "", NULL);
    write_network(&b, 4);
    snprintf(link, sizeof link, "%s.program", b.path);
    assert_int_equal(symlink("/proc/self/exe", link), 0);
    snprintf(number, sizeof number, "%d", (int)LOGGING);
    command[2] = number;
    command[0] = link;
    command[5] = b.state;
    assert_true(
        glow_host_add_device(b.host, b.ctx, &glow_run_device_remote,
                             &(glow_run_device_options){
                                 .name = "d",
                                 .backend = glow_find_backend(b.ctx, "interp"),
                                 .command = command,
                             }));
    add_service(&b, (glow_service_options){0});
    expect(ask(&b, 1), 1);
    unlink(link);
    assert_int_equal(kill(last_process(b.state), SIGKILL), 0);
    expect_failure(ask(&b, 2), GLOW_RUN_LOST, "");
    assert_false(glow_service_can_run(b.service));
    assert_int_equal(symlink("/proc/self/exe", link), 0);
    do {
        nanosleep(&(struct timespec){.tv_nsec = 50 * MS}, NULL);
        r = ask(&b, 3);
        o = glow_fence_wait(glow_request_fence(r), NEVER, NULL);
        glow_request_release(r);
    } while (o == GLOW_RUN_LOST);
    assert_int_equal(o, GLOW_RUN_DONE);
    assert_true(glow_service_can_run(b.service));
    unlink(link);
    end(&b);
}

/*
 * A process that is stopped holds up a load that waits for a run in it no longer than the run
 * may take, one that it was to do itself until it is seen to compute nothing, and the end of
 * the host as little.  It is started again each time.
 */
static void
test_stopped_processes(void **state)
{
    glow_request *r;
    int stopped;
    bench b;

    (void)state;
    assert_true(begin(&b, LOGGING, 0, 0));
    add_service(&b, (glow_service_options){0});
    expect(ask(&b, 1), 1);
    stopped = stop_process(&b);
    r = ask(&b, 2);
    glow_host_add(b.host, b.ctx,
                  &(glow_service_options){.name = "more", .path = b.path});
    expect(r, 2);
    assert_int_not_equal(last_process(b.state), stopped);

    stopped = stop_process(&b);
    b.ids[0] = 0;
    assert_false(glow_host_add(
        b.host, b.ctx, &(glow_service_options){.name = "it", .path = b.path}));
    assert_string_equal(b.ids, "E1009");
    while (!glow_host_add(
        b.host, b.ctx, &(glow_service_options){.name = "it", .path = b.path}))
        nanosleep(&(struct timespec){.tv_nsec = 10 * MS}, NULL);
    expect(ask(&b, 3), 3);
    assert_int_not_equal(last_process(b.state), stopped);
    stop_process(&b);
    end(&b);
}

/* Memory that is not there refuses requests, and does not end the host by SIGBUS. */
static void
test_no_memory(void **state)
{
    enum { COUNT = 1 << 20 };
    static float x[COUNT];
    const glow_input in = {.name = "x", .data = x, .bytes = sizeof x};
    bench b;

    (void)state;
    assert_true(begin(&b, FAULTS, 0, 0));
    write_network(&b, COUNT);
    add_service(&b, (glow_service_options){0});
    for (int i = 0; i < 3; i++) {
        glow_report_text why;
        glow_request *r;

        pages = i == 1 ? (off_t)1 << 40 : COUNT;
        r = glow_service_run(b.service, &in, 1, NULL);
        glow_fence_wait(glow_request_fence(r), NEVER, &why);
        /* Pages that the device was given stay with it. */
        assert_int_equal(why.outcome,
                         i == 0 ? GLOW_RUN_REFUSED : GLOW_RUN_DONE);
        if (i == 0)
            assert_non_null(strstr(why.text, "there is no memory left"));
        glow_request_release(r);
    }
    pages = (off_t)1 << 40;
    assert_int_equal(losses(&b), 0);
    end(&b);
}

/*
 * A bit of a tensor, or of its checksum, that changes in shared memory: the process is started
 * again, and all requests have the right results.  Without checksums one has wrong results.
 */
static void
test_changed_tensors(void **state)
{
    const fault faults[] = {INPUT, OUTPUT, SUM};

    (void)state;
    for (int k = 0; k < 6; k++) {
        uint64_t seed = (uint64_t)k * 37;
        glow_request *r[4];
        bench b;

        checksums = k < 3;
        /* Messages before the second run: of memory, checksums, the network, and the first. */
        assert_true(begin(&b, faults[k % 3], checksums ? 5 : 4, seed));
        add_service(&b, (glow_service_options){0});
        for (int i = 0; i < 4; i++) {
            size_t bytes;
            bool same = true;

            r[i] = ask(&b, (float)(i + 1));
            if (checksums) {
                expect(r[i], (float)(i + 1));
                continue;
            }
            assert_int_equal(
                glow_fence_wait(glow_request_fence(r[i]), NEVER, NULL),
                GLOW_RUN_DONE);
            for (int j = 0; j < 4; j++)
                same = same &&
                       ((const float *)glow_request_output(
                           r[i], "y", &bytes))[j] == (float)(2 * (i + 1 + j));
            assert_true(same == (i != 1 || faults[k % 3] == SUM));
            glow_request_release(r[i]);
        }
        assert_int_equal(losses(&b), checksums);
        end(&b);
    }
    checksums = false;
}

/* Every bit, and every length, counts. */
static void
test_sums(void **state)
{
    unsigned char data[200] = {0};

    (void)state;
    for (size_t size = 0; size < sizeof data; size++) {
        uint64_t sum = glow_wire_sum(data, size);

        assert_true(sum != 0); /* a page of zeros is no tensor of zeros */
        assert_true(sum != glow_wire_sum(data, size + 1));
        for (size_t bit = 0; bit < 8 * size; bit++) {
            data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            assert_true(glow_wire_sum(data, size) != sum);
            data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
}

/* No process can take memory away that others have mapped. */
static void
test_memory_is_sealed(void **state)
{
    char link[64], name[64];
    bool found = false;
    bench b;

    (void)state;
    assert_true(begin(&b, FAULTS, 0, 0));
    for (int fd = 3; fd < 64 && !found; fd++) {
        ssize_t n;

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        n = readlink(link, name, sizeof name - 1);
        name[n > 0 ? n : 0] = 0;
        found = strstr(name, "glow-device") != NULL;
        if (found)
            assert_int_not_equal(ftruncate(fd, 0), 0);
    }
    assert_true(found);
    end(&b);
}

/* Ports of any bytes are refused, or are ones that the host can serve. */
static void
test_wrong_ports(void **state)
{
    int n = number_of("GLOW_TEST_FAULTS", 40), refused = 0;

    (void)state;
    for (int i = 0; i < n; i++) {
        glow_request *r;
        bench b;

        assert_true(begin(&b, PORTS, 2, (uint64_t)i));
        if (try_service(&b)) {
            r = ask(&b, 1);
            glow_fence_wait(glow_request_fence(r), NEVER, NULL);
            glow_request_release(r);
        } else {
            refused++;
        }
        end(&b);
    }
    print_message("# %d of %d lists of ports were refused\n", refused, n);
    assert_true(refused > n / 8);
}

/* A network that is another one after its process was started again is not run. */
static void
test_other_network(void **state)
{
    glow_report_text why;
    glow_request *r;
    bench b;

    (void)state;
    assert_true(begin(&b, CUT, 4, 0));
    add_service(&b, (glow_service_options){0});
    expect(ask(&b, 1), 1);
    write_network(&b, 5);
    r = ask(&b, 2);
    assert_int_equal(glow_fence_wait(glow_request_fence(r), NEVER, &why),
                     GLOW_RUN_LOST);
    glow_request_release(r);
    end(&b);
}

/* Messages of the host, some with wrong bytes. */

static void
send_spoiled(int socket, wire_head h, const void *payload, int fd,
             uint64_t *seed)
{
    char copy[512], bytes[sizeof copy + sizeof h];
    size_t size;

    switch (draw(seed) % 4) {
    case 0: /* as it is */
        glow_wire_send(socket, &h, payload, fd);
        return;
    case 1: /* with right checksums */
        memcpy(copy, payload ? payload : "", h.size);
        spoil(copy, h.size, seed);
        if (draw(seed) % 2)
            spoil(&h.network, sizeof h.network, seed);
        if (draw(seed) % 2)
            spoil(&h.bytes, sizeof h.bytes, seed);
        if (draw(seed) % 8 == 0)
            h.kind = (uint32_t)(draw(seed) % 8);
        if (h.size && draw(seed) % 4 == 0)
            h.size = (uint32_t)(draw(seed) % h.size);
        glow_wire_send(socket, &h, copy, fd);
        return;
    default:
        size = bytes_of(&h, payload, bytes, sizeof bytes);
        spoil(bytes, size, seed);
        if (draw(seed) % 4 == 0)
            size = draw(seed) % size;
        send(socket, bytes, size, MSG_NOSIGNAL);
    }
}

/* Reads all answers; the number of them. */
static int
drain(int socket)
{
    wire_head h;
    void *payload;
    int n = 0;

    for (; glow_wire_receive(socket, &h, &payload, NULL) == WIRE_OK; n++)
        free(payload);
    return n;
}

/* Sends a device the messages of a run or two, and whatever else. */
static int
talk(const char *path, uint64_t seed)
{
    enum { SHARED = 1 << 16 };
    const uint64_t offsets[2] = {64, 128};
    int pair[2], memory = memfd_create("test", MFD_CLOEXEC), n;
    char load[128];
    size_t size =
        (size_t)snprintf(load, sizeof load, "%s%c%c%c", path, 0, 0, 0);
    pthread_t thread;
    served s = {.backend = "interp"};

    assert_true(memory >= 0 && ftruncate(memory, SHARED) == 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    s.socket = pair[1];
    assert_int_equal(pthread_create(&thread, NULL, serve, &s), 0);
    /* The first two are right more often, since nothing is done without them. */
    for (int i = 0; i < 8; i++) {
        const wire_head heads[] = {
            {.kind = WIRE_MAP, .bytes = SHARED},
            {.kind = WIRE_LOAD, .size = (uint32_t)size, .network = i > 3},
            {.kind = WIRE_RUN, .size = sizeof offsets},
            {.kind = WIRE_UNLOAD},
        };
        int kind = i < 2 ? i : (int)(draw(&seed) % 8);
        const wire_head h = heads[kind < 4 ? kind : 2];
        const void *payload = h.kind == WIRE_LOAD  ? (const void *)load
                              : h.kind == WIRE_RUN ? offsets
                                                   : NULL;
        int fd = h.kind == WIRE_MAP ? memory : -1;

        if (i < 2 && draw(&seed) % 4)
            glow_wire_send(pair[0], &h, payload, fd);
        else
            send_spoiled(pair[0], h, payload, fd, &seed);
    }
    shutdown(pair[0], SHUT_WR);
    n = drain(pair[0]);
    pthread_join(thread, NULL);
    close(pair[0]);
    close(memory);
    return n;
}

static void
test_wrong_messages(void **state)
{
    int n = number_of("GLOW_TEST_FAULTS", 100), answers = 0;
    bench b;

    (void)state;
    snprintf(b.path, sizeof b.path, "/tmp/glow-remote-%d.gir", (int)getpid());
    write_network(&b, 4);
    for (int i = 0; i < n; i++)
        answers += talk(b.path, (uint64_t)i);
    unlink(b.path);
    print_message("# %d answers in %d talks\n", answers, n);
    assert_true(answers > n);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_answers),
        cmocka_unit_test(test_wrong_beginnings),
        cmocka_unit_test(test_wrong_ports),
        cmocka_unit_test(test_other_network),
        cmocka_unit_test(test_kills),
        cmocka_unit_test(test_late_start),
        cmocka_unit_test(test_stopped_processes),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_changed_tensors),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_memory_is_sealed),
        cmocka_unit_test(test_wrong_messages),
    };

    if (argc == 6 && strcmp(argv[1], "device") == 0 && atoi(argv[2]) == LOGGING)
        return be_logging(argv[5]);
    if (argc == 6 && strcmp(argv[1], "device") == 0)
        return be_device((fault)atoi(argv[2]), atoi(argv[3]),
                         strtoull(argv[4], NULL, 10), argv[5]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
