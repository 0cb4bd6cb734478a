/* Services: networks loaded on devices, all or nothing. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "glow/devices.h"
#include "glow/diag.h"
#include "runtime/heap.h"
#include "runtime/loaded.h"
#include "runtime/state.h"

static void
free_service(service *s)
{
    for (int p = 0; p < s->n_parts; p++) {
        part *q = &s->parts[p];

        for (int i = 0; i < q->n_replicas; i++)
            q->replicas[i].device->api->unload(q->replicas[i].device->at,
                                               q->replicas[i].loaded);
        free(q->replicas);
        free(q->values);
        free(q->waits_for);
    }
    for (int i = 0; i < s->n_spare; i++) {
        for (int v = 0; v < s->n_values; v++)
            free(s->spare[i][v]);
        free(s->spare[i]);
    }
    free(s->spare);
    free(s->parts);
    free(s->values);
    free(s->ports);
    glow_state_free(s->kept);
    if (s->ctx)
        glow_context_free(s->ctx);
    free(s);
}

void
glow_run_service_drop(service *s)
{
    glow_host *h = s->host;
    bool last;

    pthread_mutex_lock(&h->lock);
    last = --s->refs == 0;
    if (last) {
        service **at = &h->services;

        while (*at != s)
            at = &(*at)->next;
        *at = s->next;
    }
    pthread_mutex_unlock(&h->lock);
    if (!last)
        return;
    free_service(s);
    pthread_mutex_lock(&h->lock);
    h->n_services--;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

/* Devices. */

static bool
has_device(const glow_host *h, const char *name)
{
    const device *d = h->devices;

    while (d && strcmp(d->name, name) != 0 && strcmp(d->group, name) != 0)
        d = d->next;
    return d;
}

/* True if replicas of what is for the devices of `o` go on `d`. */
static bool
is_chosen(const device *d, const glow_service_options *o)
{
    for (int i = 0; i < o->n_devices; i++)
        if (strcmp(d->name, o->devices[i]) == 0 ||
            strcmp(d->group, o->devices[i]) == 0)
            return true;
    return o->n_devices == 0;
}

/* The first device of `o` that the host has not; NULL: none, or any will do. */
static const char *
missing_device(const glow_host *h, const glow_service_options *o)
{
    for (int i = 0; i < o->n_devices; i++)
        if (!has_device(h, o->devices[i]))
            return o->devices[i];
    return NULL;
}

/* Makes the replicas of `p`, which are not loaded yet; their number, 0 after a report. */
static int
choose_devices(glow_host *h, part *p, glow_context *ctx, const glow_service_options *o)
{
    const char *missing;
    int n = 0, of;

    pthread_mutex_lock(&h->lock);
    of = h->n_devices;
    missing = missing_device(h, o);
    p->replicas = glow_heap_new((size_t)of * sizeof *p->replicas);
    for (device *d = h->devices; d; d = d->next)
        if (is_chosen(d, o))
            p->replicas[n++].device = d;
    pthread_mutex_unlock(&h->lock);
    if (of == 0)
        return glow_error(ctx, "E1002", "service %s: the host has no devices",
                          o->name);
    if (missing)
        return glow_error(ctx, "E1002", "service %s: the host has no device %s",
                          o->name, missing);
    return n;
}

/* A device that loads a network is not taken for one that hangs. */
static void
note_loading(device *d, int more)
{
    pthread_mutex_lock(&d->host->lock);
    d->loading += more;
    d->loaded = glow_now();
    pthread_cond_broadcast(&d->host->changed);
    pthread_mutex_unlock(&d->host->lock);
}

bool
glow_run_load_replicas(service *s, part *p, glow_context *ctx,
                       const glow_service_options *o)
{
    const glow_load_options how = {
        .path = o->path,
        .function = o->function,
        .passes = o->passes,
    };

    int n = choose_devices(s->host, p, ctx, o);

    for (int i = 0; i < n; i++) {
        replica *q = &p->replicas[i];

        note_loading(q->device, 1);
        q->loaded = q->device->api->load(q->device->at, ctx, &how);
        note_loading(q->device, -1);
        if (!q->loaded)
            return false;
        p->n_replicas++; /* which free_service unloads */
    }
    if (n == 0)
        return false;
    p->n_ports = p->replicas[0].device->api->ports(p->replicas[0].loaded,
                                                   &p->ports);
    return true;
}

/* Values. */

/* A service of one part, whose ports are its values. */
static bool
load_whole(service *s, glow_context *ctx, const glow_service_options *o)
{
    part *p = s->parts = glow_heap_new(sizeof *p);

    s->n_parts = 1;
    p->name = s->name;
    if (!glow_run_load_replicas(s, p, ctx, o))
        return false;
    s->values = glow_heap_new((size_t)p->n_ports * sizeof *s->values);
    p->values = glow_heap_new((size_t)p->n_ports * sizeof *p->values);
    s->n_values = p->n_ports;
    for (int i = 0; i < p->n_ports; i++) {
        const glow_port *q = &p->ports[i];

        p->values[i] = i;
        s->values[i] = (value){.name = q->name,
                               .type = q->type,
                               .bytes = q->bytes,
                               .in = q->read,
                               .out = q->written};
    }
    return true;
}

/* Finds the values that state objects keep. */
static bool
find_kept(service *s, const glow_module *m)
{
    for (int v = 0; v < s->n_values; v++) {
        value *x = &s->values[v];
        const glow_storage *p =
            x->in || x->out ? glow_find_storage(m, x->name) : NULL;

        x->kept = p && (glow_is_state(p) || glow_is_trained(p));
        s->in_place = s->in_place || (x->kept && x->in && x->out);
        if (!x->kept || s->kept)
            continue;
        s->kept = glow_state_new(s->ctx, m);
        if (!s->kept)
            return false;
    }
    return true;
}

static int
count_uses(const service *s, int v)
{
    int n = 0;

    for (int i = 0; i < s->n_parts; i++)
        for (int k = 0; k < s->parts[i].n_ports; k++)
            n += s->parts[i].values[k] == v;
    return n;
}

/* True if values of the name of kept value `v` are used on `d` alone, and read by one part. */
static bool
is_home(const service *s, int v, const device *d)
{
    for (int i = 0; i < s->n_values; i++)
        if (s->values[i].kept && strcmp(s->values[i].name, s->values[v].name) == 0 &&
            (glow_run_home(s, i) != d || (s->values[i].in && count_uses(s, i) != 1)))
            return false;
    return d;
}

/* Lets kept values stay in memory of the devices that alone use them. */
static void
find_homes(service *s)
{
    for (int v = 0; v < s->n_values; v++) {
        value *x = &s->values[v];
        device *d = x->kept ? glow_run_home(s, v) : NULL;

        if (!is_home(s, v, d))
            continue;
        x->home = d;
        x->stays = true;
    }
}

/* Lists the inputs and outputs of requests. */
static void
list_ports(service *s)
{
    s->ports = glow_heap_new((size_t)s->n_values * sizeof *s->ports);
    for (int i = 0; i < s->n_values; i++) {
        const value *v = &s->values[i];

        if ((v->in || v->out) && !v->kept)
            s->ports[s->n_ports++] =
                (glow_port){v->name, v->type, v->bytes, v->in, v->out};
    }
}

/*
 * Reads the module, which says whether it has parts, and state; in a context of its own,
 * since that of the caller would keep the text.
 */
static bool
load(service *s, glow_context *ctx, const glow_service_options *o)
{
    glow_module *m;
    glow_func *f;
    bool ok;

    s->ctx = glow_run_new_context(ctx);
    m = s->ctx ? glow_run_read(s->ctx, o->path) : NULL;
    f = m ? glow_run_function(s->ctx, m, o->path, o->function) : NULL;
    ok = f && (glow_has_runs(f) ? glow_run_plan(s, f, ctx, o)
                                : load_whole(s, ctx, o));
    ok = ok && find_kept(s, m);
    if (ok) {
        if (o->resident)
            find_homes(s);
        list_ports(s);
    }
    if (m)
        glow_module_free(m);
    if (s->ctx)
        glow_context_set_sink(s->ctx, NULL, NULL);
    return ok;
}

static bool
check_batch(const service *s, glow_context *ctx)
{
    for (int v = 0; v < s->n_values && s->batch > 1; v++) {
        const value *x = &s->values[v];

        if (x->kept)
            return glow_error(ctx, "E1003",
                              "service %s: samples of a batch cannot share state, "
                              "as @%s is", s->name, x->name);
        if (x->type->shape.rank == 0 || x->type->shape.at[0] != s->batch)
            return glow_error(ctx, "E1003",
                              "service %s: batches of %d samples need a first "
                              "axis of %d, and @%s has %" PRId64,
                              s->name, s->batch, s->batch, x->name,
                              x->type->shape.rank ? x->type->shape.at[0] : 1);
    }
    return true;
}

static service *
make(glow_host *h, glow_context *ctx, const glow_service_options *o)
{
    service *s = glow_heap_new(sizeof *s);

    s->host = h;
    s->name = glow_run_name(h, o->name);
    s->refs = 1;
    s->batch = o->batch > 1 ? o->batch : 1;
    s->batch_ns = o->batch_ns;
    s->last_alone = &s->alone;
    pthread_mutex_lock(&h->lock);
    s->most = o->active > 0 ? o->active : 4 * h->n_devices;
    pthread_mutex_unlock(&h->lock);
    s->spare = glow_heap_new((size_t)s->most * sizeof *s->spare);
    if (load(s, ctx, o) && check_batch(s, ctx))
        return s;
    free_service(s);
    return NULL;
}

/* The interface. */

static service *
find_service(const glow_host *h, const char *name)
{
    service *s = h->services;

    while (s && (s->leaving || strcmp(s->name, name) != 0))
        s = s->next;
    return s;
}

/* Lets no request find it; it stays in the list until nobody holds it. */
static service *
take_out(const glow_host *h, const char *name)
{
    service *s = find_service(h, name);

    if (s)
        s->leaving = true;
    return s;
}

bool
glow_host_add(glow_host *h, glow_context *ctx, const glow_service_options *o)
{
    service *s, *old;

    s = make(h, ctx, o);
    if (!s)
        return false;
    pthread_mutex_lock(&h->lock);
    old = take_out(h, o->name);
    s->next = h->services;
    h->services = s;
    h->n_services++;
    pthread_mutex_unlock(&h->lock);
    if (old)
        glow_run_service_drop(old);
    return true;
}

bool
glow_host_remove(glow_host *h, const char *name)
{
    service *s;

    pthread_mutex_lock(&h->lock);
    s = take_out(h, name);
    while (s && s->requests > 0)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
    if (s)
        glow_run_service_drop(s);
    return s != NULL;
}

glow_service *
glow_host_find(glow_host *h, const char *name)
{
    service *s;

    pthread_mutex_lock(&h->lock);
    s = find_service(h, name);
    if (s)
        s->refs++;
    pthread_mutex_unlock(&h->lock);
    return s;
}

void
glow_service_release(glow_service *s)
{
    glow_run_service_drop(s);
}

int
glow_service_ports(const glow_service *s, const glow_port **out)
{
    *out = s->ports;
    return s->n_ports;
}

void
glow_service_count(glow_service *s, glow_service_statistics *out)
{
    pthread_mutex_lock(&s->host->lock);
    *out = (glow_service_statistics){
        .done_ns = s->latency_ns,
        .batches = s->batches,
        .running = s->running,
    };
    memcpy(out->ended, s->ended, sizeof out->ended);
    pthread_mutex_unlock(&s->host->lock);
}
