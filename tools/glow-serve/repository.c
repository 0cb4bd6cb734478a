/*
 * Models: those of the command line, and of a folder in the form that Triton has:
 * DIR/NAME/VERSION/model.gir, a version being a number.  Files model-*.gir beside it are the
 * same model for other numbers of samples.
 */

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "tools/glow-serve/serve.h"

/* Names are parts of paths and of metrics. */
static bool
is_name(const char *text)
{
    size_t n =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
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
add(server *s, const char *name, const char *version)
{
    glow_arena *a = s->tool.arena;
    model *m = GLOW_NEW(a, model), **at = &s->models;

    *m = (model){
        .name = glow_arena_strdup(a, name),
        .version = glow_arena_strdup(a, version),
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

/* True if `name` is that of a file of a version. */
static bool
is_model_file(const char *name)
{
    size_t n = strlen(name);

    return strcmp(name, "model.gir") == 0 ||
           (n > 10 && strncmp(name, "model-", 6) == 0 &&
            strcmp(name + n - 4, ".gir") == 0);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The files of a version in `folder`, by name. */
static tool_list
list_files(server *s, const char *folder)
{
    tool_list files = {0};
    DIR *d = opendir(folder);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL)
        if (is_model_file(e->d_name))
            tool_list_add(
                &s->tool, &files,
                glow_arena_printf(s->tool.arena, "%s/%s", folder, e->d_name));
    if (d)
        closedir(d);
    if (files.count > 1)
        glow_sort(files.items, files.count, sizeof *files.items, by_name);
    return files;
}

/* Compiles the model and makes it a service; with `loading`. */
static bool
start(server *s, model *m)
{
    const serve_values *v = &s->values;
    glow_service_options o = {
        .name = m->service,
        .active = (int)v->active,
        .batch = (int)v->batch,
        .batch_ns = v->batch_us * 1000,
        .resident = v->resident,
    };
    glow_service *service;
    const glow_port *ports;
    bool ok;
    int n;

    if (m->folder)
        m->files = list_files(s, m->folder);
    if (m->files.count == 0)
        return glow_error(s->tool.ctx, "E0601",
                          "cannot read a file model.gir or model-*.gir "
                          "of the folder %s",
                          m->folder);
    o.path = m->files.items[0];
    o.sizes = m->files.items + 1;
    o.n_sizes = (int)m->files.count - 1;
    if (!glow_host_add(s->host, s->tool.ctx, &o))
        return false;
    service = glow_host_find(s->host, m->service);
    n = glow_service_ports(service, &ports);
    ok = true;
    for (int i = 0; i < n && ok; i++)
        ok = is_served(s, &ports[i]);
    glow_service_release(service);
    if (!ok)
        glow_host_remove(s->host, m->service);
    serve_sequences_end(s, m); /* of the service that it replaces */
    m->ready = ok;
    return ok;
}

/* Adds the files of a list with commas. */
static void
split(server *s, const char *text, tool_list *files)
{
    for (;;) {
        size_t n = strcspn(text, ",");

        if (n > 0)
            tool_list_add(&s->tool, files,
                          glow_arena_strndup(s->tool.arena, text, n));
        if (!text[n])
            return;
        text += n + 1;
    }
}

int
serve_add_argument(server *s, const char *text)
{
    const char *equals = strchr(text, '=');
    const char *name;
    model *m;

    if (!equals || !equals[1])
        return tool_usage(
            &s->tool, "write NAME=FILE.gir, or several files with ',' between",
            "'%s' names no model", text);
    name = glow_arena_strndup(s->tool.arena, text, (size_t)(equals - text));
    if (!is_name(name))
        return tool_usage(&s->tool,
                          "names are of letters, digits, '.', '_' and '-'",
                          "'%s' cannot be the name of a model", name);
    if (serve_find(s, name, NULL))
        return tool_usage(&s->tool, NULL, "there are two models %s", name);
    m = add(s, name, "1");
    split(s, equals + 1, &m->files);
    if (m->files.count == 0)
        return tool_usage(&s->tool, NULL, "'%s' names no file", text);
    return start(s, m) ? TOOL_GO_ON : TOOL_FAILED;
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
        const char *version = glow_arena_printf(a, "%s/%s", folder, e->d_name);

        if (!is_version(e->d_name) || list_files(s, version).count == 0)
            continue;
        any = true;
        if (!find(s, name, e->d_name))
            add(s, name, e->d_name)->folder = version;
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
    *why = !any         ? "there is no model of that name"
           : first.text ? first.text
                        : "it cannot be loaded";
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
