/*
 * Devices in a process of their own, so that a crash ends that alone.  Buffers lie in
 * memory that both processes map; a thread of the host sends a message for each run
 * and waits for the answer.  A process that was lost is started again, with the
 * networks that it had.
 */

#define _GNU_SOURCE /* memfd_create */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "glow/diag.h"
#include "runtime/device.h"
#include "runtime/heap.h"
#include "runtime/wire.h"

enum {
    CHILD_SOCKET = 3,
    MOST_STARTS = 3,
    ANSWER_SECONDS = 10,
    IDLE_SECONDS =
        5, /* in which a process that loads or ends computes nothing */
    WHILE_IT_COMPUTES = -1, /* seconds: as long as it computes */
};
#define BACKED ((size_t)1 << 21) /* bytes of pages that are asked for at once */
#define MOST_SHARED ((size_t)1 << 36)
#define LEAST_SHARED ((size_t)1 << 26)
#define MOST_BYTES ((int64_t)1 << 47) /* of a network: no process has more */

typedef struct span {
    size_t at, bytes;
    struct span *next;
} span;

struct glow_loaded {
    glow_run_device *device;
    uint32_t number;
    char *text; /* of WIRE_LOAD */
    uint32_t text_size;
    glow_port *ports;
    int n_ports;
    void *payload;       /* which names and types of ports are in */
    int64_t bytes, took; /* nanoseconds of its first load */
    struct glow_loaded *next;
};

struct glow_run_device {
    run_base base;        /* its lock is that of `process` and `free` */
    pthread_mutex_t wire; /* one message and its answer */
    int socket, patience; /* seconds that reading takes at most; 0: no limit */
    uint32_t messages;    /* with `wire` */
    struct glow_loaded *networks; /* of the process; with `wire` */
    pid_t process;                /* written with `wire` as well; 0: none */
    span *free;                   /* by address */
    char *shared;
    size_t size,
        backed; /* the system has given pages for the first `backed` bytes */
    int memory; /* descriptor of the shared memory */
    run_queue *runs, *copies;
};

/* Shared memory. */

/* Neither process may make it shorter, which would end the other by SIGBUS. */
static bool
seal(int memory)
{
    return fcntl(memory, F_ADD_SEALS,
                 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

/*
 * Has pages for the first `end` bytes: without them a write ends the process by SIGBUS if
 * there is no memory.  False: there is none.
 */
static bool
back(glow_run_device *d, size_t end)
{
    size_t more;
    int rc;

    if (end <= d->backed)
        return true;
    more = (end - d->backed + BACKED - 1) / BACKED * BACKED;
    if (more > d->size - d->backed)
        more = d->size - d->backed;
    do
        rc = posix_fallocate(d->memory, (off_t)d->backed, (off_t)more);
    while (rc == EINTR);
    if (rc == 0)
        d->backed += more;
    return rc == 0;
}

static bool
make_shared(glow_run_device *d)
{
    d->memory = memfd_create("glow-device", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    for (d->size = MOST_SHARED; d->memory >= 0 && d->size >= LEAST_SHARED;
         d->size /= 2) {
        void *p;

        if (ftruncate(d->memory, (off_t)d->size) != 0)
            continue;
        p = mmap(NULL, d->size, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_NORESERVE, d->memory, 0);
        if (p == MAP_FAILED)
            continue;
        if (!seal(d->memory)) {
            munmap(p, d->size);
            return false;
        }
        d->shared = p;
        d->free = glow_heap_new(sizeof *d->free);
        *d->free = (span){0, d->size, NULL};
        return true;
    }
    return false;
}

/* The bytes of a span for a buffer: its lines, and one before it, which has its checksum. */
static size_t
span_bytes(int64_t bytes)
{
    return ((size_t)bytes + 2 * WIRE_LINE) / WIRE_LINE * WIRE_LINE;
}

static bool
allocate(glow_run_device *d, int64_t bytes, glow_buffer *out)
{
    size_t size;
    bool ok = false;

    if (bytes < 0 || (uint64_t)bytes > d->size)
        return false;
    if (!glow_run_base_reserve(&d->base, bytes))
        return false;
    size = span_bytes(bytes);
    pthread_mutex_lock(&d->base.lock);
    for (span **at = &d->free; *at && !ok; at = &(*at)->next) {
        span *s = *at;

        if (s->bytes < size)
            continue;
        if (!back(d, s->at + size))
            break; /* nor are there pages farther on */
        *out = (glow_buffer){.at = s->at + WIRE_LINE, .bytes = bytes};
        s->at += size;
        s->bytes -= size;
        ok = true;
        if (s->bytes == 0) {
            *at = s->next;
            free(s);
            break;
        }
    }
    pthread_mutex_unlock(&d->base.lock);
    if (!ok)
        glow_run_base_give_back(&d->base, bytes);
    return ok;
}

/* Joins `s` with the span behind it if they touch. */
static void
join(span *s)
{
    span *next = s ? s->next : NULL;

    if (!next || s->at + s->bytes != next->at)
        return;
    s->bytes += next->bytes;
    s->next = next->next;
    free(next);
}

static void
free_buffer(glow_run_device *d, glow_buffer *b)
{
    span *s = glow_heap_new(sizeof *s), *before = NULL, **at;

    *s = (span){.at = (size_t)b->at - WIRE_LINE, .bytes = span_bytes(b->bytes)};
    pthread_mutex_lock(&d->base.lock);
    for (at = &d->free; *at && (*at)->at < s->at; at = &(*at)->next)
        before = *at;
    s->next = *at;
    *at = s;
    join(s);
    join(before);
    pthread_mutex_unlock(&d->base.lock);
    glow_run_base_give_back(&d->base, b->bytes);
    *b = (glow_buffer){0};
}

/* The process. */

/* Waits for answers so long from now on; 0: for ever. */
static void
set_patience(glow_run_device *d, int seconds)
{
    struct timeval t = {.tv_sec = seconds};

    if (d->socket >= 0 && d->patience != seconds &&
        setsockopt(d->socket, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0)
        d->patience = seconds;
}

/* Closes the socket, which ends a process that waits for messages. */
static void
hang_up(glow_run_device *d)
{
    if (d->socket >= 0)
        close(d->socket);
    d->socket = -1;
}

/* Nanoseconds that the process has computed; -1: it is gone. */
static int64_t
processor_of(const glow_run_device *d)
{
    clockid_t clock;
    struct timespec t;

    if (clock_getcpuclockid(d->process, &clock) != 0 ||
        clock_gettime(clock, &t) != 0)
        return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Waits for an answer as long as the process computes; false: it does no more. */
static bool
computes_until_answer(const glow_run_device *d)
{
    struct pollfd p = {.fd = d->socket, .events = POLLIN};
    int64_t before = -1, now = processor_of(d);
    int n = 0;

    while (n == 0 && now > before) {
        do
            n = poll(&p, 1, IDLE_SECONDS * 1000);
        while (n < 0 && errno == EINTR);
        before = now;
        now = processor_of(d);
    }
    return n > 0;
}

/*
 * Sends a message and waits for the answer, for `seconds` at most unless 0.  WIRE_GONE:
 * the process is gone, or hangs; WIRE_GARBLED: the answer is not that of this message.
 * After either it gets no more messages.
 */
static wire_end
transact(glow_run_device *d, const wire_head *h, const void *payload, int fd,
         int seconds, wire_head *reply, void **answer)
{
    wire_head own = *h;
    wire_end end = WIRE_GONE;

    *answer = NULL;
    own.number = ++d->messages;
    set_patience(d, seconds > 0 ? seconds : 0);
    if (d->socket >= 0 && glow_wire_send(d->socket, &own, payload, fd) &&
        (seconds != WHILE_IT_COMPUTES || computes_until_answer(d)))
        end = glow_wire_receive(d->socket, reply, answer, NULL);
    if (end == WIRE_OK &&
        (reply->number != own.number ||
         (reply->kind != WIRE_DONE && reply->kind != WIRE_FAILED))) {
        free(*answer);
        *answer = NULL;
        end = WIRE_GARBLED;
    }
    if (end != WIRE_OK) {
        glow_run_base_set_state(&d->base, GLOW_RUN_DEVICE_LOST);
        hang_up(d);
    }
    return end;
}

/* The complaint of a report about a process whose message had that end. */
static const char *
complaint(wire_end end)
{
    return end == WIRE_GONE ? "is gone, or hangs" : "answers by no message";
}

/* The text of an answer that says what failed. */
static const char *
failure(const wire_head *h, const char *payload)
{
    return payload && h->size > 0 && !payload[h->size - 1] ? payload
                                                           : "no reason given";
}

static void
set_process(glow_run_device *d, pid_t process)
{
    pthread_mutex_lock(&d->base.lock);
    d->process = process;
    pthread_mutex_unlock(&d->base.lock);
}

static void
kill_process(glow_run_device *d)
{
    pthread_mutex_lock(&d->base.lock);
    if (d->process)
        kill(d->process, SIGKILL);
    pthread_mutex_unlock(&d->base.lock);
}

/* Starts the process; with `wire`. */
static bool
start(glow_run_device *d)
{
    posix_spawn_file_actions_t actions;
    int pair[2], rc;
    pid_t process;
    wire_head reply;
    void *answer;
    bool ok;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], CHILD_SOCKET);
    rc = posix_spawnp(&process, d->base.options.command[0], &actions, NULL,
                      (char *const *)(uintptr_t)d->base.options.command,
                      environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    d->socket = pair[0];
    d->patience = 0;
    if (rc != 0)
        return false;
    set_process(d, process);
    ok =
        transact(d, &(wire_head){.kind = WIRE_MAP, .bytes = (int64_t)d->size},
                 NULL, d->memory, ANSWER_SECONDS, &reply, &answer) == WIRE_OK &&
        reply.kind == WIRE_DONE;
    free(answer);
    if (!ok || !d->base.options.checksums)
        return ok;
    ok = transact(d, &(wire_head){.kind = WIRE_CHECK}, NULL, -1, ANSWER_SECONDS,
                  &reply, &answer) == WIRE_OK &&
         reply.kind == WIRE_DONE;
    free(answer);
    return ok;
}

/* True if the process has ended, within IDLE_SECONDS. */
static bool
ends_soon(const glow_run_device *d)
{
    const int64_t begin = glow_now(), most = IDLE_SECONDS * INT64_C(1000000000);
    struct timespec nap = {.tv_nsec = 100000};
    pid_t ended;

    while ((ended = waitpid(d->process, NULL, WNOHANG)) == 0 &&
           glow_now() - begin < most) {
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec < 10000000 ? 2 * nap.tv_nsec : nap.tv_nsec;
    }
    return ended != 0;
}

/* Ends the process, at once if `now`, and soon if not; with `wire`. */
static void
stop(glow_run_device *d, bool now)
{
    hang_up(d);
    if (d->process && (now || !ends_soon(d))) {
        kill_process(d);
        while (waitpid(d->process, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    set_process(d, 0);
}

static void
close_device(glow_run_device *d)
{
    if (glow_run_base_is_lost(&d->base, NULL))
        kill_process(d); /* which ends a run that would be waited for */
    glow_run_queue_end(d->runs);
    glow_run_queue_end(d->copies);
    stop(d, false);
    if (d->shared)
        munmap(d->shared, d->size);
    if (d->memory >= 0)
        close(d->memory);
    while (d->free) {
        span *s = d->free;

        d->free = s->next;
        free(s);
    }
    glow_run_base_end(&d->base);
    pthread_mutex_destroy(&d->wire);
    free(d);
}

static glow_run_device *
open_device(glow_context *ctx, const glow_run_device_options *o)
{
    glow_run_device *d = glow_heap_new(sizeof *d);

    glow_run_base_begin(&d->base, o);
    d->socket = d->memory = -1;
    pthread_mutex_init(&d->wire, NULL);
    d->runs = glow_run_queue_new(o->executor, 1);
    d->copies = glow_run_queue_new(o->executor, 1);
    if (d->runs && d->copies && o->command && make_shared(d) && start(d))
        return d;
    if (d->runs && d->copies && o->command && !d->shared)
        glow_error(ctx, "E1009", "device %s: there is no memory to share",
                   o->name);
    else if (d->runs && d->copies)
        glow_error(ctx, "E1009", "device %s: the process %s cannot be started",
                   o->name, o->command ? o->command[0] : "without a command");
    else
        glow_error(ctx, "E1009", "device %s: a thread cannot be started",
                   o->name);
    glow_run_base_set_state(&d->base, GLOW_RUN_DEVICE_LOST);
    close_device(d);
    return NULL;
}

static void
info(glow_run_device *d, glow_run_device_info *out)
{
    glow_run_base_info(&d->base, out);
}

/* Networks. */

/* True if `p` can be a port of a network. */
static bool
is_port(const wire_port *p)
{
    glow_arena *a = glow_arena_new();
    bool ok = (unsigned)p->type.elem < (unsigned)glow_kind_end() &&
              p->type.strides.rank >= 0 &&
              p->type.strides.rank <= GLOW_MAX_RANK &&
              !glow_type_check(&p->type, a) &&
              p->bytes == glow_type_bytes(&p->type) && p->read <= 1 &&
              p->written <= 1 && p->read + p->written > 0;

    glow_arena_free(a);
    return ok;
}

/* The ports of an answer to WIRE_LOAD; false: it is not one. */
static bool
take_ports(glow_loaded *l, char *payload, size_t size)
{
    size_t at = 0, most = size / sizeof(wire_port);

    l->ports = glow_heap_new((most + 1) * sizeof *l->ports);
    l->payload = payload;
    while (at < size) {
        wire_port p;
        glow_type *type;

        if (size - at < sizeof p)
            return false;
        memcpy(&p, payload + at, sizeof p);
        at += sizeof p;
        if (!is_port(&p) || p.name == 0 || size - at < p.name ||
            strnlen(payload + at, p.name) != p.name - 1)
            return false;
        type = glow_heap_new(sizeof *type);
        *type = p.type;
        l->ports[l->n_ports++] = (glow_port){
            .name = payload + at,
            .type = type,
            .bytes = p.bytes,
            .read = p.read,
            .written = p.written,
        };
        at += p.name;
    }
    return true;
}

static bool
is_same_port(const glow_port *a, const glow_port *b)
{
    return strcmp(a->name, b->name) == 0 && glow_type_equal(a->type, b->type) &&
           a->read == b->read && a->written == b->written;
}

static void
free_loaded(glow_loaded *l)
{
    for (int i = 0; i < l->n_ports; i++)
        free((void *)(uintptr_t)l->ports[i].type);
    free(l->ports);
    free(l->payload);
    free(l->text);
    free(l);
}

/* True if a process that was started again has the network as the one before had it. */
static bool
is_as_before(const glow_loaded *l, const wire_head *reply, void *answer)
{
    glow_loaded *now = glow_heap_new(sizeof *now);
    bool ok =
        take_ports(now, answer, reply->size) && now->n_ports == l->n_ports;

    for (int i = 0; i < l->n_ports && ok; i++)
        ok = is_same_port(&l->ports[i], &now->ports[i]);
    free_loaded(now); /* the answer too */
    return ok;
}

/* Sends the network to the process, which has `seconds` to load it, as transact; with `wire`. */
static wire_end
send_network(glow_loaded *l, int seconds, wire_head *reply, void **answer)
{
    return transact(l->device,
                    &(wire_head){
                        .kind = WIRE_LOAD,
                        .size = l->text_size,
                        .network = l->number,
                    },
                    l->text, -1, seconds, reply, answer);
}

static void
add_text(glow_buf *b, const char *text)
{
    text = text ? text : "";
    glow_buf_add(b, text, strlen(text) + 1);
}

/* The number of a network, none of which the process has. */
static uint32_t
free_number(const glow_run_device *d)
{
    uint32_t number = 0;
    bool taken;

    do {
        taken = false;
        for (const glow_loaded *l = d->networks; l; l = l->next)
            taken = taken || l->number == number;
        number += taken;
    } while (taken);
    return number;
}

/* Asks the process to load `l`; false after a report.  With `wire`. */
static bool
load_there(glow_loaded *l, glow_context *ctx)
{
    const char *name = l->device->base.options.name;
    int64_t begin = glow_now();
    wire_head reply;
    void *answer;
    wire_end end = send_network(l, WHILE_IT_COMPUTES, &reply, &answer);

    if (end != WIRE_OK)
        return glow_error_hint(ctx, (glow_span){0}, "E1009",
                               "it is started again: load the network again",
                               "device %s: the process %s", name,
                               complaint(end));
    if (reply.kind != WIRE_DONE) {
        glow_error(ctx, "E1010", "device %s: %s", name,
                   failure(&reply, answer));
        free(answer);
        return false;
    }
    l->bytes = reply.bytes;
    l->took = glow_now() - begin;
    if (take_ports(l, answer, reply.size) && l->bytes >= 0 &&
        l->bytes <= MOST_BYTES)
        return true;
    glow_run_base_set_state(&l->device->base, GLOW_RUN_DEVICE_LOST);
    return glow_error(ctx, "E1010", "device %s: the answer is malformed", name);
}

/* Takes `l` out of the list and of the process; with `wire`. */
static void
unload_there(glow_loaded *l)
{
    glow_run_device *d = l->device;
    glow_loaded **at = &d->networks;
    wire_head reply;
    void *answer;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    transact(d, &(wire_head){.kind = WIRE_UNLOAD, .network = l->number}, NULL,
             -1, ANSWER_SECONDS, &reply, &answer);
    free(answer);
}

static glow_loaded *
load(glow_run_device *d, glow_context *ctx, const glow_load_options *o)
{
    glow_loaded *l = glow_heap_new(sizeof *l);
    glow_buf text = {0};
    bool ok;

    add_text(&text, o->path);
    add_text(&text, o->function);
    add_text(&text, o->passes);
    l->device = d;
    l->text = text.text;
    l->text_size = (uint32_t)text.len;
    pthread_mutex_lock(&d->wire);
    l->number = free_number(d);
    ok = load_there(l, ctx);
    if (ok) {
        l->next = d->networks;
        d->networks = l;
        ok = glow_run_base_reserve_network(&d->base, ctx, o->path, l->bytes);
        if (!ok)
            unload_there(l);
    }
    pthread_mutex_unlock(&d->wire);
    if (ok)
        return l;
    free_loaded(l);
    return NULL;
}

static void
unload(glow_run_device *d, glow_loaded *l)
{
    pthread_mutex_lock(&d->wire);
    unload_there(l);
    pthread_mutex_unlock(&d->wire);
    glow_run_base_give_back(&d->base, l->bytes);
    free_loaded(l);
}

static int
ports(const glow_loaded *l, const glow_port **out)
{
    *out = l->ports;
    return l->n_ports;
}

static int64_t
bytes(const glow_loaded *l)
{
    return l->bytes;
}

/* Commands. */

static void
copy(glow_run_device *d, const glow_buffer *to, const glow_buffer *from,
     const glow_command *command)
{
    bool in = to->at != 0;
    const run_copy c = {
        .base = &d->base,
        .host = in ? from->host : to->host,
        .at = (uint64_t)(uintptr_t)(d->shared + (in ? to->at : from->at)),
        .bytes = to->bytes < from->bytes ? to->bytes : from->bytes,
        .in = in,
        .checksum = d->base.options.checksums,
    };

    glow_run_base_copy(d->copies, &c, command);
}

typedef struct running {
    glow_loaded *loaded;
    int64_t *since; /* of the command, or NULL */
    uint64_t at[];
} running;

/* Notes when the run begins; 0: it waits for the network that the process loads. */
static void
note_since(const running *x, int64_t at)
{
    if (x->since)
        __atomic_store_n(x->since, at, __ATOMIC_RELAXED);
}

static glow_outcome
do_run(void *work, int worker, glow_report_text *r)
{
    running *x = work;
    glow_run_device *d = x->loaded->device;
    const wire_head h = {
        .kind = WIRE_RUN,
        .size = (uint32_t)((size_t)x->loaded->n_ports * sizeof *x->at),
        .network = x->loaded->number,
    };
    int64_t begin = glow_now();
    glow_outcome o = GLOW_RUN_DONE;
    wire_head reply;
    void *answer;
    wire_end end;

    (void)worker;
    if (glow_run_base_is_lost(&d->base, r))
        return GLOW_RUN_CANCELLED;
    note_since(x, 0);
    pthread_mutex_lock(&d->wire);
    note_since(x, glow_now());
    end = transact(d, &h, x->at, -1, 0, &reply, &answer);
    if (end != WIRE_OK) {
        snprintf(r->text, sizeof r->text, "the process of device %s %s",
                 d->base.options.name, complaint(end));
        o = GLOW_RUN_LOST;
    } else if (reply.kind != WIRE_DONE) {
        snprintf(r->text, sizeof r->text, "%s", failure(&reply, answer));
        o = reply.outcome == GLOW_RUN_FAILED ? GLOW_RUN_FAILED : GLOW_RUN_LOST;
    }
    pthread_mutex_unlock(&d->wire);
    free(answer);
    glow_run_base_count(&d->base, o, begin);
    return o;
}

static void
submit(glow_run_device *d, glow_loaded *l, const glow_buffer *buffers,
       const glow_command *c)
{
    running *x = glow_heap_new(sizeof *x + (size_t)l->n_ports * sizeof *x->at);

    x->loaded = l;
    x->since = c->since;
    for (int i = 0; i < l->n_ports; i++)
        x->at[i] = buffers[i].at;
    glow_run_queue_put(d->runs, c, do_run, x);
}

static void
cancel(glow_run_device *d, glow_timeline *t)
{
    glow_run_queue_cancel(d->runs, t, GLOW_RUN_CANCELLED, "it was cancelled");
    glow_run_queue_cancel(d->copies, t, GLOW_RUN_CANCELLED, "it was cancelled");
}

/* A process with the networks of the one before; with `wire`. */
static bool
start_again(glow_run_device *d)
{
    bool ok = start(d);

    for (glow_loaded *l = d->networks; l && ok; l = l->next) {
        int64_t most = 10 * (l->took / 1000000000 + 1);
        wire_head reply;
        void *answer;

        ok = send_network(l, most < INT_MAX ? (int)most : INT_MAX, &reply,
                          &answer) == WIRE_OK &&
             reply.kind == WIRE_DONE;
        if (ok)
            ok = is_as_before(l, &reply, answer);
        else
            free(answer);
    }
    return ok;
}

static bool
reset(glow_run_device *d)
{
    char text[200];
    bool ok = false;

    snprintf(text, sizeof text, "device %s was reset", d->base.options.name);
    glow_run_base_set_state(&d->base, GLOW_RUN_DEVICE_LOST);
    kill_process(d); /* which ends a run in it */
    glow_run_queue_cancel(d->runs, NULL, GLOW_RUN_CANCELLED, text);
    glow_run_queue_cancel(d->copies, NULL, GLOW_RUN_CANCELLED, text);
    pthread_mutex_lock(&d->wire);
    for (int tries = 0; tries < MOST_STARTS && !ok; tries++) {
        stop(d, true);
        ok = start_again(d);
    }
    glow_run_base_set_state(&d->base,
                            ok ? GLOW_RUN_DEVICE_READY : GLOW_RUN_DEVICE_LOST);
    pthread_mutex_unlock(&d->wire);
    return ok;
}

const glow_run_device_api glow_run_device_remote = {
    .kind = "remote",
    .open = open_device,
    .close = close_device,
    .info = info,
    .statistics = glow_run_base_statistics,
    .allocate = allocate,
    .free = free_buffer,
    .copy = copy,
    .load = load,
    .unload = unload,
    .ports = ports,
    .bytes = bytes,
    .submit = submit,
    .cancel = cancel,
    .reset = reset,
};
