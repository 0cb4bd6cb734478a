/*
 * Networks in the process of a device: loaded, unloaded, and loaded again by a process
 * that was started in place of a lost one.
 */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "glow/diag.h"
#include "runtime/heap.h"
#include "runtime/remote.h"

#define MOST_BYTES ((int64_t)1 << 47) /* of a network: no process has more */

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
    return glow_remote_transact(l->device,
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
    wire_end end = send_network(l, REMOTE_WHILE_IT_COMPUTES, &reply, &answer);

    if (end != WIRE_OK)
        return glow_error_hint(ctx, (glow_span){0}, "E1009",
                               "it is started again: load the network again",
                               "device %s: the process %s", name,
                               glow_remote_complaint(end));
    if (reply.kind != WIRE_DONE) {
        glow_error(ctx, "E1010", "device %s: %s", name,
                   glow_remote_failure(&reply, answer));
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
    glow_remote_transact(
        d, &(wire_head){.kind = WIRE_UNLOAD, .network = l->number}, NULL, -1,
        REMOTE_ANSWER_SECONDS, &reply, &answer);
    free(answer);
}

glow_loaded *
glow_remote_load(glow_run_device *d, glow_context *ctx,
                 const glow_load_options *o)
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

void
glow_remote_unload(glow_run_device *d, glow_loaded *l)
{
    pthread_mutex_lock(&d->wire);
    unload_there(l);
    pthread_mutex_unlock(&d->wire);
    glow_run_base_give_back(&d->base, l->bytes);
    free_loaded(l);
}

bool
glow_remote_start_again(glow_run_device *d)
{
    bool ok = glow_remote_start(d);

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
