/* Services: networks loaded on devices, for one or several sizes of batches, all or nothing. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "glow/devices.h"
#include "glow/diag.h"
#include "runtime/heap.h"
#include "runtime/loaded.h"
#include "runtime/state.h"

/* Has a device reset that was lost while no request ran on it. */
static void
check_device(device *d)
{
    glow_run_device_info i;

    d->api->info(d->at, &i);
    if (i.state != GLOW_RUN_DEVICE_LOST)
        return;
    pthread_mutex_lock(&d->host->lock);
    glow_run_distrust(d);
    pthread_mutex_unlock(&d->host->lock);
}

static void
unload(const replica *r)
{
    r->device->api->unload(r->device->at, r->loaded);
    check_device(r->device);
}

static void
free_variant(variant *x)
{
    for (int p = 0; p < x->n_parts; p++) {
        part *q = &x->parts[p];

        for (int i = 0; i < q->n_replicas; i++)
            unload(&q->replicas[i]);
        free(q->replicas);
        free(q->values);
        free(q->waits_for);
    }
    for (int i = 0; i < x->n_spare; i++) {
        for (int v = 0; v < x->n_values; v++)
            free(x->spare[i][v]);
        free(x->spare[i]);
    }
    free(x->spare);
    free(x->parts);
    free(x->values);
}

static void
free_service(service *s)
{
    for (int i = 0; i < s->n_variants; i++)
        free_variant(&s->variants[i]);
    free(s->variants);
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
choose_devices(glow_host *h, part *p, glow_context *ctx,
               const glow_service_options *o)
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

/* A device in this process that loads a network is not taken for one that hangs. */
static void
note_loading(device *d, int more)
{
    pthread_mutex_lock(&d->host->lock);
    d->loading += more;
    d->loaded = glow_now();
    pthread_cond_broadcast(&d->host->changed);
    pthread_mutex_unlock(&d->host->lock);
}

/* Lists part `p` of the variants before its own, as far as they are on `d`; their number. */
static int
list_like(const service *s, const part *p, const device *d, glow_loaded **like)
{
    const variant *own = &s->variants[s->n_variants - 1];
    int n = 0;

    for (const variant *x = s->variants; x < own; x++) {
        const part *q =
            p - own->parts < x->n_parts ? &x->parts[p - own->parts] : NULL;

        for (int i = 0; q && i < q->n_replicas; i++)
            if (q->replicas[i].device == d)
                like[n++] = q->replicas[i].loaded;
    }
    return n;
}

static glow_loaded *
load_replica(const service *s, const part *p, device *d, glow_context *ctx,
             const glow_service_options *o)
{
    glow_loaded **like = glow_heap_new((size_t)s->n_variants * sizeof *like),
                *l;
    const glow_load_options how = {
        .path = o->path,
        .function = o->function,
        .passes = o->passes,
        .like = like,
        .n_like = list_like(s, p, d, like),
    };

    note_loading(d, 1);
    l = d->api->load(d->at, ctx, &how);
    note_loading(d, -1);
    if (!l)
        check_device(d);
    free(like);
    return l;
}

bool
glow_run_load_replicas(service *s, part *p, glow_context *ctx,
                       const glow_service_options *o)
{
    int n = choose_devices(s->host, p, ctx, o);

    for (int i = 0; i < n; i++) {
        replica *q = &p->replicas[i];

        q->loaded = load_replica(s, p, q->device, ctx, o);
        if (!q->loaded)
            return false;
        p->n_replicas++; /* which free_service unloads */
    }
    if (n == 0)
        return false;
    p->n_ports =
        p->replicas[0].device->api->ports(p->replicas[0].loaded, &p->ports);
    return true;
}

/* Values. */

/* A variant of one part, whose ports are its values. */
static bool
load_whole(service *s, variant *x, glow_context *ctx,
           const glow_service_options *o)
{
    part *p = x->parts = glow_heap_new(sizeof *p);

    x->n_parts = 1;
    p->name = s->name;
    if (!glow_run_load_replicas(s, p, ctx, o))
        return false;
    x->values = glow_heap_new((size_t)p->n_ports * sizeof *x->values);
    p->values = glow_heap_new((size_t)p->n_ports * sizeof *p->values);
    x->n_values = p->n_ports;
    for (int i = 0; i < p->n_ports; i++) {
        const glow_port *q = &p->ports[i];

        p->values[i] = i;
        x->values[i] = (value){.name = q->name,
                               .type = q->type,
                               .bytes = q->bytes,
                               .in = q->read,
                               .out = q->written};
    }
    return true;
}

/* Finds the values that state objects keep. */
static bool
find_kept(service *s, const variant *of, const glow_module *m)
{
    for (int v = 0; v < of->n_values; v++) {
        value *x = &of->values[v];
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
count_uses(const variant *x, int v)
{
    int n = 0;

    for (int i = 0; i < x->n_parts; i++)
        for (int k = 0; k < x->parts[i].n_ports; k++)
            n += x->parts[i].values[k] == v;
    return n;
}

/* True if values of the name of kept value `v` are used on `d` alone, and read by one part. */
static bool
is_home(const variant *x, int v, const device *d)
{
    for (int i = 0; i < x->n_values; i++)
        if (x->values[i].kept &&
            strcmp(x->values[i].name, x->values[v].name) == 0 &&
            (glow_run_home(x, i) != d ||
             (x->values[i].in && count_uses(x, i) != 1)))
            return false;
    return d;
}

/* The first part that uses value `v`. */
static const part *
user_of(const variant *x, int v)
{
    for (const part *p = x->parts;; p++)
        for (int k = 0; k < p->n_ports; k++)
            if (p->values[k] == v)
                return p;
}

/* Reports that kept value `v` has no home; false. */
static bool
fail_home(const service *s, const variant *x, glow_context *ctx, int v)
{
    const part *p = user_of(x, v);
    const char *name = x->values[v].name;

    if (p->n_replicas > 1)
        return glow_error_hint(
            ctx, (glow_span){0}, "E1031", "give the service one device",
            "service %s: state @%s cannot stay on a device: %d devices "
            "run %s",
            s->name, name, p->n_replicas, p->name);
    if (p->replicas[0].device->host_memory)
        return glow_error_hint(
            ctx, (glow_span){0}, "E1031",
            "a device in a process of its own, or with memory of its own",
            "service %s: state @%s cannot stay on a device: device %s "
            "runs in memory of the host, where state is in place",
            s->name, name, p->replicas[0].device->name);
    return glow_error_hint(
        ctx, (glow_span){0}, "E1031",
        "let one part read it, and parts of its device write it",
        "service %s: state @%s cannot stay on a device: several parts "
        "or devices use it",
        s->name, name);
}

/* Lets kept values stay in memory of the devices that alone use them; false after a report. */
static bool
find_homes(const service *s, const variant *of, glow_context *ctx)
{
    for (int v = 0; v < of->n_values; v++) {
        value *x = &of->values[v];

        if (!x->kept)
            continue;
        x->home = glow_run_home(of, v);
        x->stays = true;
        if (!is_home(of, v, x->home))
            return fail_home(s, of, ctx, v);
    }
    return true;
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

/* Reads the module of a variant, which says whether it has parts, and state. */
static bool
load_variant(service *s, variant *x, glow_context *ctx,
             const glow_service_options *o)
{
    glow_module *m = glow_run_read(s->ctx, o->path);
    glow_func *f =
        m ? glow_run_function(s->ctx, m, o->path, o->function) : NULL;
    bool ok;

    x->path = glow_run_name(s->host, o->path);
    x->spare = glow_heap_new((size_t)s->most * sizeof *x->spare);
    ok = f && (glow_has_runs(f) ? glow_run_plan(s, x, f, ctx, o)
                                : load_whole(s, x, ctx, o));
    ok = ok && find_kept(s, x, m) && glow_run_find_samples(s, x, m, ctx, o) &&
         glow_run_agrees(s, x, m, ctx) &&
         (!o->resident || find_homes(s, x, ctx));
    if (m)
        glow_module_free(m);
    return ok;
}

/*
 * Loads all variants, the first of o->path.  Modules are read in a context of the service,
 * since that of the caller would keep the text.
 */
static bool
load(service *s, glow_context *ctx, const glow_service_options *o)
{
    glow_service_options one = *o;
    bool ok;

    s->ctx = glow_run_new_context(ctx);
    s->variants = glow_heap_new((size_t)(1 + o->n_sizes) * sizeof *s->variants);
    ok = s->ctx;
    for (int i = 0; i <= o->n_sizes && ok; i++) {
        one.path = i == 0 ? o->path : o->sizes[i - 1];
        ok = load_variant(s, &s->variants[s->n_variants++], ctx, &one);
    }
    if (ok) {
        glow_run_order_variants(s);
        list_ports(s);
    }
    if (s->ctx)
        glow_context_set_sink(s->ctx, NULL, NULL);
    return ok;
}

static service *
make(glow_host *h, glow_context *ctx, const glow_service_options *o)
{
    service *s = glow_heap_new(sizeof *s);

    s->host = h;
    s->name = glow_run_name(h, o->name);
    s->refs = 1;
    s->batch_ns = o->batch_ns;
    s->last_alone = &s->alone;
    pthread_mutex_lock(&h->lock);
    s->most = o->active > 0 ? o->active : 4 * h->n_devices;
    pthread_mutex_unlock(&h->lock);
    if (load(s, ctx, o))
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

int
glow_service_batch(const glow_service *s)
{
    return s->batch;
}

int
glow_service_sizes(glow_service *s, glow_service_size *out, int room)
{
    int n = s->batch > 1 ? s->n_variants : 0;

    pthread_mutex_lock(&s->host->lock);
    for (int i = 0; i < n && i < room; i++)
        out[i] = (glow_service_size){
            .samples = s->variants[i].samples,
            .batches = s->variants[i].batches,
            .busy_ns = s->variants[i].busy_ns,
        };
    pthread_mutex_unlock(&s->host->lock);
    return n;
}

bool
glow_service_can_run(glow_service *s)
{
    bool can = true;

    pthread_mutex_lock(&s->host->lock);
    for (int i = 0; i < s->n_variants; i++)
        for (int k = 0; k < s->variants[i].n_parts; k++)
            can = can && glow_run_choose_device(&s->variants[i].parts[k], NULL);
    pthread_mutex_unlock(&s->host->lock);
    return can;
}

void
glow_service_count(glow_service *s, glow_service_statistics *out)
{
    pthread_mutex_lock(&s->host->lock);
    *out = (glow_service_statistics){
        .done_ns = s->latency_ns,
        .samples = s->inferences,
        .running = s->running,
    };
    for (int i = 0; i < s->n_variants; i++)
        out->batches += s->variants[i].batches;
    memcpy(out->ended, s->ended, sizeof out->ended);
    pthread_mutex_unlock(&s->host->lock);
}
