/*
 * Models: those of the command line, and of a folder in the form that Triton has:
 * DIR/NAME/VERSION/model.gir, a version being a number.
 */

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/glow-serve/serve.h"

/* Names are parts of paths and of metrics. */
static bool
is_name(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789._-");

    return n > 0 && n < 200 && !text[n] && text[0] != '.';
}

static int64_t
number_of(const char *version)
{
    int64_t v = 0;

    for (; *version; version++)
        v = v * 10 + (*version - '0');
    return v;
}

static bool
is_version(const char *text)
{
    size_t n = strspn(text, "0123456789");

    return n > 0 && n < 16 && !text[n] && text[0] != '0';
}

static model *
find(const server *s, const char *name, const char *version)
{
    model *m = s->models;

    while (m && (strcmp(m->name, name) != 0 ||
                 (version && strcmp(m->version, version) != 0)))
        m = m->next;
    return m;
}

/* The model, put where it belongs in the list; with `loading`. */
static model *
add(server *s, const char *name, const char *version, const char *path)
{
    glow_arena *a = s->tool.arena;
    model *m = GLOW_NEW(a, model), **at = &s->models;

    *m = (model){
        .name = glow_arena_strdup(a, name),
        .version = glow_arena_strdup(a, version),
        .path = glow_arena_strdup(a, path),
        .service = glow_arena_printf(a, "%s/%s", name, version),
    };
    while (*at && (strcmp((*at)->name, name) < 0 ||
                   (strcmp((*at)->name, name) == 0 &&
                    number_of((*at)->version) > number_of(version))))
        at = &(*at)->next;
    m->next = *at;
    pthread_mutex_lock(&s->lock);
    *at = m;
    pthread_mutex_unlock(&s->lock);
    return m;
}

static bool
is_served(const server *s, const glow_port *p)
{
    if (serve_datatype(p->type->elem))
        return true;
    return glow_error(s->tool.ctx, "E1007",
                      "@%s has elements of kind %s, for which the protocol has "
                      "no word",
                      p->name, glow_kind_get(p->type->elem)->name);
}

/* Compiles the model and makes it a service; with `loading`. */
static bool
start(server *s, model *m)
{
    const serve_values *v = &s->values;
    const glow_service_options o = {
        .name = m->service,
        .path = m->path,
        .active = (int)v->active,
        .batch = (int)v->batch,
        .batch_ns = v->batch_us * 1000,
    };
    glow_service *service;
    const glow_port *ports;
    int n;
    bool ok = glow_host_add(s->host, s->tool.ctx, &o);

    if (!ok)
        return false;
    service = glow_host_find(s->host, m->service);
    n = glow_service_ports(service, &ports);
    for (int i = 0; i < n && ok; i++)
        ok = is_served(s, &ports[i]);
    glow_service_release(service);
    if (!ok)
        glow_host_remove(s->host, m->service);
    serve_sequences_end(s, m); /* of the service that it replaces */
    m->ready = ok;
    return ok;
}

int
serve_add_argument(server *s, const char *text)
{
    const char *equals = strchr(text, '=');
    const char *name;

    if (!equals || !equals[1])
        return tool_usage(&s->tool, "write NAME=FILE.gir",
                          "'%s' names no model", text);
    name = glow_arena_strndup(s->tool.arena, text, (size_t)(equals - text));
    if (!is_name(name))
        return tool_usage(&s->tool,
                          "names are of letters, digits, '.', '_' and '-'",
                          "'%s' cannot be the name of a model", name);
    if (serve_find(s, name, NULL))
        return tool_usage(&s->tool, NULL, "there are two models %s", name);
    return start(s, add(s, name, "1", equals + 1)) ? TOOL_GO_ON : TOOL_FAILED;
}

/* Adds versions of a model of the folder that are not known yet. */
static bool
scan_model(server *s, const char *name)
{
    glow_arena *a = s->tool.arena;
    const char *folder = glow_arena_printf(a, "%s/%s", s->values.models, name);
    DIR *d = opendir(folder);
    struct dirent *e;
    bool any = false;

    while (d && (e = readdir(d)) != NULL) {
        struct stat info;
        const char *path;

        if (!is_version(e->d_name))
            continue;
        path = glow_arena_printf(a, "%s/%s/model.gir", folder, e->d_name);
        if (stat(path, &info) != 0)
            continue;
        any = true;
        if (!find(s, name, e->d_name))
            add(s, name, e->d_name, path);
    }
    if (d)
        closedir(d);
    return any;
}

int
serve_add_folder(server *s)
{
    DIR *d = opendir(s->values.models);
    struct dirent *e;

    if (!d) {
        glow_error(s->tool.ctx, "E0601", "cannot read the folder %s: %s",
                   s->values.models, strerror(errno));
        return TOOL_FAILED;
    }
    while ((e = readdir(d)) != NULL)
        if (is_name(e->d_name))
            scan_model(s, e->d_name);
    closedir(d);
    for (model *m = s->models; m; m = m->next)
        if (!m->ready && !start(s, m))
            return TOOL_FAILED;
    return TOOL_GO_ON;
}

model *
serve_find(server *s, const char *name, const char *version)
{
    model *found;

    pthread_mutex_lock(&s->lock);
    found = find(s, name, version);
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* Keeps the first error, for the one who asked. */
typedef struct first_error {
    server *server;
    const char *text;
} first_error;

static void
keep_first(const glow_diag *d, void *user)
{
    first_error *f = user;

    if (d->severity == GLOW_ERROR && !f->text)
        f->text = glow_arena_printf(f->server->tool.arena, "%s: %s", d->id,
                                    d->message);
    tool_show(d, &f->server->tool);
}

bool
serve_load(server *s, const char *name, const char **why)
{
    first_error first = {.server = s};
    bool ok = true, any = false;

    pthread_mutex_lock(&s->loading);
    glow_context_set_sink(s->tool.ctx, keep_first, &first);
    if (s->values.models && is_name(name))
        scan_model(s, name);
    for (model *m = s->models; m && ok; m = m->next)
        if (strcmp(m->name, name) == 0) {
            any = true;
            ok = start(s, m);
        }
    glow_context_set_sink(s->tool.ctx, tool_show, &s->tool);
    pthread_mutex_unlock(&s->loading);
    *why = !any ? "there is no model of that name"
                : first.text ? first.text : "it cannot be loaded";
    return any && ok;
}

bool
serve_unload(server *s, const char *name)
{
    bool any = false;

    pthread_mutex_lock(&s->loading);
    for (model *m = s->models; m; m = m->next)
        if (strcmp(m->name, name) == 0) {
            any = true;
            m->ready = false;
            glow_host_remove(s->host, m->service);
            serve_sequences_end(s, m);
        }
    pthread_mutex_unlock(&s->loading);
    return any;
}
