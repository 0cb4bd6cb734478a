/* The end of the wire that is the device: a process that runs what it is told. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "glow/diag.h"
#include "runtime/heap.h"
#include "runtime/loaded.h"
#include "runtime/wire.h"

enum { MOST_NETWORKS = 1024 };

typedef struct child {
    glow_context *ctx;
    int socket;
    const glow_run_device_options *options;
    glow_loaded *networks[MOST_NETWORKS];
    char *shared; /* memory, and its bytes */
    size_t size;
    bool checks;     /* buffers have checksums */
    uint32_t number; /* of the message that is answered */
    char error[240]; /* the first report */
} child;

static void
keep_first(const glow_diag *d, void *user)
{
    child *c = user;

    if (d->severity == GLOW_ERROR && !c->error[0])
        snprintf(c->error, sizeof c->error, "%s: %s", d->id, d->message);
}

static bool
answer(const child *c, const wire_head *h, const void *payload)
{
    wire_head own = *h;

    own.number = c->number;
    return glow_wire_send(c->socket, &own, payload, -1);
}

static bool
fail(const child *c, glow_outcome outcome, const char *text)
{
    const wire_head h = {
        .kind = WIRE_FAILED,
        .size = (uint32_t)strlen(text) + 1,
        .outcome = (uint32_t)outcome,
    };

    return answer(c, &h, text);
}

/* True if `bytes` of the memory of `fd` are there. */
static bool
has_bytes(int fd, int64_t bytes)
{
    struct stat s;

    return fd >= 0 && bytes > 0 && fstat(fd, &s) == 0 && bytes <= s.st_size;
}

static bool
map(child *c, const wire_head *h, int fd)
{
    void *p;

    if (!has_bytes(fd, h->bytes)) {
        if (fd >= 0)
            close(fd);
        return fail(c, GLOW_RUN_LOST, "there is no shared memory");
    }
    p = mmap(NULL, (size_t)h->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return fail(c, GLOW_RUN_LOST, "shared memory cannot be mapped");
    if (c->shared)
        munmap(c->shared, c->size);
    c->shared = p;
    c->size = (size_t)h->bytes;
    return answer(c, &(wire_head){.kind = WIRE_DONE}, NULL);
}

static bool
send_ports(const child *c, const glow_loaded *l)
{
    glow_buf b = {0};
    bool ok;

    for (int i = 0; i < l->n_ports; i++) {
        const glow_port *from = &l->ports[i];
        const wire_port p = {
            .type = *from->type,
            .bytes = from->bytes,
            .name = (uint32_t)strlen(from->name) + 1,
            .read = from->read,
            .written = from->written,
        };

        glow_buf_add(&b, (const char *)&p, sizeof p);
        glow_buf_add(&b, from->name, p.name);
    }
    ok = b.len > WIRE_MOST
             ? fail(c, GLOW_RUN_REFUSED, "the network has too many ports")
             : answer(c,
                      &(wire_head){
                          .kind = WIRE_DONE,
                          .size = (uint32_t)b.len,
                          .bytes = l->bytes,
                      },
                      b.text);
    glow_buf_free(&b);
    return ok;
}

/* The texts of WIRE_LOAD; false: there are not three. */
static bool
split(const char *text, size_t size, const char *out[3])
{
    for (int i = 0; i < 3; i++) {
        const char *end = size ? memchr(text, 0, size) : NULL;

        if (!end)
            return false;
        out[i] = text;
        size -= (size_t)(end + 1 - text);
        text = end + 1;
    }
    return true;
}

static bool
load(child *c, const wire_head *h, const char *payload)
{
    const char *text[3];
    glow_loaded *l;

    if (h->network >= MOST_NETWORKS || c->networks[h->network] ||
        !split(payload, h->size, text))
        return fail(c, GLOW_RUN_LOST, "the message is not one");
    c->error[0] = 0;
    l = glow_run_load(c->ctx, c->options,
                      &(glow_load_options){
                          .path = text[0],
                          .function = *text[1] ? text[1] : NULL,
                          .passes = *text[2] ? text[2] : NULL,
                      });
    if (!l)
        return fail(c, GLOW_RUN_FAILED, c->error);
    c->networks[h->network] = l;
    return send_ports(c, l);
}

/* The first port of a run whose tensor is not as it was written; NULL: none. */
static const glow_port *
changed_port(const glow_loaded *l, const uint64_t *at)
{
    for (int i = 0; i < l->n_ports; i++) {
        void *data = (void *)(uintptr_t)at[i];
        const uint64_t sum =
            l->ports[i].read ? glow_wire_sum(data, (size_t)l->ports[i].bytes)
                             : 0;

        if (l->ports[i].read &&
            memcmp(glow_wire_sum_of(data), &sum, sizeof sum) != 0)
            return &l->ports[i];
    }
    return NULL;
}

/* Writes the checksums of what a run has written. */
static void
write_sums(const glow_loaded *l, const uint64_t *at)
{
    for (int i = 0; i < l->n_ports; i++) {
        void *data = (void *)(uintptr_t)at[i];
        uint64_t sum;

        if (!l->ports[i].written)
            continue;
        sum = glow_wire_sum(data, (size_t)l->ports[i].bytes);
        memcpy(glow_wire_sum_of(data), &sum, sizeof sum);
    }
}

static bool
run(child *c, const wire_head *h, uint64_t *at)
{
    glow_loaded *l =
        h->network < MOST_NETWORKS ? c->networks[h->network] : NULL;
    const glow_port *changed;
    glow_report_text why = {0};

    if (!l || h->size != (size_t)l->n_ports * sizeof *at)
        return fail(c, GLOW_RUN_LOST, "the message is not one");
    for (int i = 0; i < l->n_ports; i++) {
        if (at[i] % WIRE_LINE || !at[i] || at[i] > c->size ||
            (size_t)l->ports[i].bytes > c->size - at[i])
            return fail(c, GLOW_RUN_LOST, "a buffer is not in shared memory");
        at[i] += (uint64_t)(uintptr_t)c->shared;
    }
    changed = c->checks ? changed_port(l, at) : NULL;
    if (changed) {
        snprintf(why.text, sizeof why.text,
                 "the tensor of %.100s changed in shared memory",
                 changed->name);
        return fail(c, GLOW_RUN_LOST, why.text);
    }
    why.outcome = glow_run_loaded(l, 0, NULL, at, &why);
    if (c->checks && why.outcome == GLOW_RUN_DONE)
        write_sums(l, at);
    return why.outcome == GLOW_RUN_DONE
               ? answer(c, &(wire_head){.kind = WIRE_DONE}, NULL)
               : fail(c, why.outcome, why.text);
}

static bool
unload(child *c, const wire_head *h)
{
    if (h->network < MOST_NETWORKS && c->networks[h->network]) {
        glow_run_unload(c->networks[h->network]);
        c->networks[h->network] = NULL;
    }
    return answer(c, &(wire_head){.kind = WIRE_DONE}, NULL);
}

/* Does what one message says; false: the other end is gone, or sends what is none. */
static bool
serve_one(child *c)
{
    wire_head h;
    void *payload;
    int fd;
    bool ok;

    if (glow_wire_receive(c->socket, &h, &payload, &fd) != WIRE_OK)
        return false;
    c->number = h.number;
    if (fd >= 0 && h.kind != WIRE_MAP)
        close(fd);
    switch (h.kind) {
    case WIRE_MAP:
        ok = map(c, &h, fd);
        break;
    case WIRE_LOAD:
        ok = load(c, &h, payload);
        break;
    case WIRE_UNLOAD:
        ok = unload(c, &h);
        break;
    case WIRE_CHECK:
        c->checks = true;
        ok = answer(c, &(wire_head){.kind = WIRE_DONE}, NULL);
        break;
    case WIRE_RUN:
        ok = run(c, &h, payload);
        break;
    default:
        ok = fail(c, GLOW_RUN_LOST, "the message is not one");
    }
    free(payload);
    return ok;
}

void
glow_run_device_serve(glow_context *ctx, int socket,
                      const glow_run_device_options *o)
{
    glow_run_device_options own = *o;
    child *c = glow_heap_new(sizeof *c);

    own.queues = 1;
    c->ctx = ctx;
    c->socket = socket;
    c->options = &own;
    glow_context_set_sink(ctx, keep_first, c);
    while (serve_one(c))
        ;
    glow_context_set_sink(ctx, NULL, NULL);
    for (int i = 0; i < MOST_NETWORKS; i++)
        if (c->networks[i])
            glow_run_unload(c->networks[i]);
    if (c->shared)
        munmap(c->shared, c->size);
    free(c);
}
