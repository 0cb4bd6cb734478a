/* Reader of devices files (JSON), and the time of a node on a device. */

#include "glow/devices.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "glow/cost.h"
#include "glow/file.h"

typedef struct reader {
    glow_context *ctx;
    glow_arena *arena;
    const glow_source *source;
    const char *folder; /* of the file, with its slash; "" */
    glow_device *at;
    int count;
} reader;

static bool
wrong(const reader *r, const char *hint, const char *fmt, ...)
{
    va_list ap;
    const char *text;

    va_start(ap, fmt);
    text = glow_arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    return glow_error_hint(r->ctx, (glow_span){.source = r->source}, "E0470",
                           hint, "%s", text);
}

static const glow_source *
read_beside(const reader *r, const char *path)
{
    return glow_source_read(
        r->ctx, *path == '/'
                    ? path
                    : glow_arena_printf(r->arena, "%s%s", r->folder, path));
}

/* The object in `source`, or NULL after a report at the place of the fault. */
static json_t *
load(const reader *r, const glow_source *source, const char *what)
{
    json_error_t e;
    json_t *j =
        json_loadb(source->text, source->size, JSON_REJECT_DUPLICATES, &e);
    uint32_t at = 0;

    if (json_is_object(j))
        return j;
    if (!j && e.position > 0)
        at = (uint32_t)e.position;
    if (at > source->size)
        at = (uint32_t)source->size;
    glow_error_at(r->ctx, (glow_span){source, at, at}, "E0470",
                  "%s is an object in JSON%s%s", what,
                  j ? "" : ", and this is none: ", j ? "" : e.text);
    json_decref(j);
    return NULL;
}

/* Profiles. */

static bool
read_step(const reader *r, const json_t *step, glow_device_step *out)
{
    const json_t *nodes = json_object_get(step, "nodes");
    const json_t *ms = json_object_get(step, "ms");
    size_t count = json_array_size(nodes);
    const char **names = GLOW_NEW_ARRAY(r->arena, const char *, count + 1);

    if (count == 0 || !json_is_number(ms) || !(json_number_value(ms) >= 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(nodes, i));

        if (!name)
            return false;
        names[i] = glow_arena_strdup(r->arena, name);
    }
    *out = (glow_device_step){names, json_number_value(ms) * 1e-3};
    return true;
}

static bool
read_profile(const reader *r, const char *path, glow_device *d)
{
    const glow_source *source = read_beside(r, path);
    json_t *j = source ? load(r, source, "a profile of times") : NULL;
    const json_t *list = json_object_get(j, "steps");
    glow_device_step *steps =
        GLOW_NEW_ARRAY(r->arena, glow_device_step, json_array_size(list) + 1);
    bool ok = json_array_size(list) > 0;

    if (!j)
        return false;
    for (size_t i = 0; ok && i < json_array_size(list); i++)
        ok = read_step(r, json_array_get(list, i), &steps[i]);
    d->steps = steps;
    d->n_steps = json_array_size(list);
    json_decref(j);
    return ok || wrong(r, "glow-run -profile -json writes one",
                       "the profile '%s' of '%s' is not a list 'steps' of "
                       "objects with 'nodes' and 'ms'",
                       path, d->name);
}

/* Members of a device. */

static bool
read_text(const reader *r, const glow_device *d, const char *member,
          const json_t *v, const char **out)
{
    if (!json_is_string(v) || json_string_length(v) == 0)
        return wrong(r, NULL, "'%s' of device '%s' must be a string", member,
                     d->name);
    *out = glow_arena_strdup(r->arena, json_string_value(v));
    return true;
}

static bool
read_memory(const reader *r, const json_t *v, glow_device *d)
{
    if (json_is_integer(v) && json_integer_value(v) > 0) {
        d->memory = json_integer_value(v);
        return true;
    }
    if (json_is_string(v) &&
        glow_read_bytes(json_string_value(v), &d->memory) && d->memory > 0)
        return true;
    return wrong(r, NULL,
                 "'memory' of device '%s' must be bytes above 0, as 65536 or "
                 "\"512KiB\"",
                 d->name);
}

static bool
read_rate(const reader *r, const glow_device *d, const char *member,
          const json_t *v, bool may_be_zero, double *out)
{
    double x = json_number_value(v);

    if (!json_is_number(v) || !(may_be_zero ? x >= 0 : x > 0))
        return wrong(r, NULL, "'%s' of device '%s' must be a number %s", member,
                     d->name, may_be_zero ? "of 0 or more" : "above 0");
    *out = x;
    return true;
}

static bool
read_backend(const reader *r, const json_t *v, glow_device *d)
{
    const char *text, *name;

    if (!read_text(r, d, "backend", v, &d->backend_text))
        return false;
    text = glow_intern(r->ctx, d->backend_text);
    name = glow_arena_printf(r->arena, "%s: backend of '%s'", r->source->name,
                             d->name);
    d->backend = glow_backend_parse(
        r->ctx, r->arena,
        glow_source_from(r->ctx, glow_intern(r->ctx, name), text, strlen(text)),
        &d->options);
    if (!d->backend)
        return false;
    return d->backend->load ||
           wrong(r, NULL, "the backend '%s' of device '%s' runs nothing here",
                 d->backend->name, d->name);
}

static bool
read_target(const reader *r, const json_t *v, glow_device *d)
{
    const glow_source *source;
    const char *path = NULL;

    if (!read_text(r, d, "target", v, &path))
        return false;
    source = read_beside(r, path);
    d->target = source ? glow_target_read(r->ctx, r->arena, source) : NULL;
    return d->target;
}

static bool
read_checksums(const reader *r, const json_t *v, glow_device *d)
{
    d->checksums = json_is_true(v);
    return json_is_boolean(v) ||
           wrong(r, NULL, "'checksums' of device '%s' must be true or false",
                 d->name);
}

static bool
read_member(const reader *r, const char *member, const json_t *v,
            glow_device *d)
{
    const char *path = NULL;

    if (strcmp(member, "name") == 0)
        return true;
    if (strcmp(member, "backend") == 0)
        return read_backend(r, v, d);
    if (strcmp(member, "memory") == 0)
        return read_memory(r, v, d);
    if (strcmp(member, "target") == 0)
        return read_target(r, v, d);
    if (strcmp(member, "profile") == 0)
        return read_text(r, d, member, v, &path) && read_profile(r, path, d);
    if (strcmp(member, "bytes_per_second") == 0)
        return read_rate(r, d, member, v, false, &d->bytes_per_second);
    if (strcmp(member, "seconds_per_transfer") == 0)
        return read_rate(r, d, member, v, true, &d->seconds_per_transfer);
    if (strcmp(member, "checksums") == 0)
        return read_checksums(r, v, d);
    return wrong(r,
                 "there are: name, backend, memory, target, profile, "
                 "bytes_per_second, seconds_per_transfer, checksums",
                 "device '%s' has no '%s'", d->name, member);
}

/* Gives `d` the target of its backend, unless the file names one. */
static bool
complete(const reader *r, glow_device *d)
{
    const glow_target_options t = {.options = d->options};

    if (!d->backend)
        return wrong(r, NULL, "device '%s' has no 'backend'", d->name);
    if (d->seconds_per_transfer > 0 && d->bytes_per_second == INFINITY)
        return wrong(r, "a device without it works in the memory of the host",
                     "device '%s' has 'seconds_per_transfer' and no "
                     "'bytes_per_second'",
                     d->name);
    if (!d->target)
        d->target = glow_backend_target(d->backend, r->ctx, r->arena, &t);
    return d->target;
}

static bool
read_device(reader *r, const json_t *j)
{
    const char *name = json_string_value(json_object_get(j, "name")), *member;
    glow_device *d = &r->at[r->count];
    const glow_devices before = {r->at, r->count};
    json_t *v;

    if (!name || !*name)
        return wrong(r, NULL, "each of 'devices' is an object with a 'name'");
    if (glow_find_device(&before, name))
        return wrong(r, NULL, "two devices are called '%s'", name);
    *d = (glow_device){.name = glow_arena_strdup(r->arena, name),
                       .memory = INT64_MAX,
                       .bytes_per_second = INFINITY};
    json_object_foreach((json_t *)(uintptr_t)j, member,
                        v) if (!read_member(r, member, v, d)) return false;
    r->count++;
    return complete(r, d);
}

static bool
read_list(reader *r, const json_t *j)
{
    const json_t *list = json_object_get(j, "devices");
    size_t count = json_array_size(list);

    if (json_object_size(j) != 1 || count == 0 || count > GLOW_MAX_DEVICES)
        return wrong(r, NULL,
                     "the one member of a devices file is 'devices', a list of "
                     "1 to %d",
                     GLOW_MAX_DEVICES);
    r->at = GLOW_NEW_ARRAY(r->arena, glow_device, count);
    for (size_t i = 0; i < count; i++)
        if (!read_device(r, json_array_get(list, i)))
            return false;
    return true;
}

const glow_devices *
glow_devices_read(glow_context *ctx, glow_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    reader r = {.ctx = ctx,
                .arena = a,
                .folder = slash ? glow_arena_strndup(a, path,
                                                     (size_t)(slash - path) + 1)
                                : ""};
    glow_devices *d = GLOW_NEW(a, glow_devices);
    json_t *j;
    bool ok;

    r.source = glow_source_read(ctx, path);
    j = r.source ? load(&r, r.source, "a devices file") : NULL;
    ok = j && read_list(&r, j);
    json_decref(j);
    *d = (glow_devices){r.at, r.count};
    return ok ? d : NULL;
}

const glow_device *
glow_find_device(const glow_devices *d, const char *name)
{
    for (int i = 0; i < d->count; i++)
        if (strcmp(d->at[i].name, name) == 0)
            return &d->at[i];
    return NULL;
}

/* Time. */

/* The node of `f` that `name` is, or else is derived from: `conv.1` from `conv`; or NULL. */
static const glow_node *
origin_of(const glow_func *f, const char *name)
{
    glow_buf rest = {0};
    const glow_node *n;
    char *dot;

    glow_buf_puts(&rest, name);
    while (!(n = glow_find_node(f, rest.text)) &&
           (dot = strrchr(rest.text, '.')) != NULL)
        *dot = '\0';
    glow_buf_free(&rest);
    return n;
}

static bool
is_of(const char *name, const glow_node *n)
{
    return strncmp(name, n->name, strlen(n->name)) == 0 &&
           origin_of(n->func, name) == n;
}

double
glow_device_time(const glow_device *d, const glow_node *n)
{
    double sum = 0;
    bool measured = false;

    for (size_t i = 0; i < d->n_steps; i++) {
        int all = 0, ours = 0;

        for (; d->steps[i].nodes[all]; all++)
            ours += is_of(d->steps[i].nodes[all], n);
        if (ours == 0)
            continue;
        measured = true;
        sum += d->steps[i].seconds * ours / all;
    }
    return measured ? sum : glow_cost_time(d->target, glow_node_cost(n), 1);
}
