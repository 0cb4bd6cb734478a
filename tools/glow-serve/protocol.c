/* The Open Inference Protocol, version 2, but for inference. */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-serve/serve.h"

answer
serve_json(int status, json_t *j)
{
    answer a = {.status = status, .text = json_dumps(j, JSON_COMPACT)};

    json_decref(j);
    return a;
}

answer
serve_error(int status, const char *fmt, ...)
{
    char text[600];
    json_t *message;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    message = json_string(text);
    if (!message) /* a name that is no UTF-8, or was cut within a character */
        message = json_string("the request has text that is no UTF-8");
    return serve_json(status, json_pack("{s:o}", "error", message));
}

static answer
nothing_here(const char *path)
{
    return serve_error(404, "there is nothing at %.200s", path);
}

/* Paths. */

/* The next part of a path, without its '/', into `room`; false at the end. */
static bool
take_part(const char **path, char *room, size_t size)
{
    size_t n;

    if (**path != '/')
        return false;
    n = strcspn(*path + 1, "/");
    if (n == 0 || n >= size)
        return false;
    memcpy(room, *path + 1, n);
    room[n] = 0;
    *path += n + 1;
    return true;
}

/* Takes `text` from the path if that comes next. */
static bool
take(const char **path, const char *text)
{
    size_t n = strlen(text);

    if (strncmp(*path, text, n) != 0 || ((*path)[n] && (*path)[n] != '/'))
        return false;
    *path += n;
    return true;
}

/* Takes /NAME[/versions/V], and finds it. */
static model *
take_model(server *s, const char **path, answer *wrong)
{
    char name[256], version[64];
    bool has_version = false;
    model *m;

    if (!take_part(path, name, sizeof name)) {
        *wrong = serve_error(404, "a model's name is missing, or too long");
        return NULL;
    }
    if (take(path, "/versions")) {
        has_version = take_part(path, version, sizeof version);
        if (!has_version) {
            *wrong = serve_error(404, "a version is missing, or too long");
            return NULL;
        }
    }
    m = serve_find(s, name, has_version ? version : NULL);
    if (!m)
        *wrong = has_version ? serve_error(404,
                                           "there is no version %s of model "
                                           "%s",
                                           version, name)
                             : serve_error(404, "there is no model %s", name);
    return m;
}

/* Takes /infer, /sequences/ID, or a path below that. */
static void
take_resource(const char *path, target *t)
{
    if (take(&path, "/sequences") &&
        !take_part(&path, t->sequence, sizeof t->sequence))
        return;
    if (strcmp(path, "/infer") == 0)
        t->what = SERVE_INFER;
    else if (t->sequence[0] && strcmp(path, "/state") == 0)
        t->what = SERVE_STATE;
    else if (t->sequence[0] && !*path)
        t->what = SERVE_SEQUENCE;
}

target
serve_target(server *s, const char *path)
{
    target t = {.what = SERVE_OTHER};
    answer wrong = {0};

    if (!take(&path, "/v2/models"))
        return t;
    t.model = take_model(s, &path, &wrong);
    free(wrong.text);
    if (t.model)
        take_resource(path, &t);
    return t;
}

/* Models. */

static json_t *
list_ports(const glow_port *ports, int n, bool in, bool batch)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++) {
        glow_dims shape = ports[i].type->shape;

        if (!(in ? ports[i].read : ports[i].written))
            continue;
        if (batch)
            shape.at[0] = -1;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o}", "name", ports[i].name,
                            "datatype", serve_datatype(ports[i].type->elem),
                            "shape", serve_shape(shape)));
    }
    return list;
}

enum { MOST_SIZES = 64 }; /* that metadata and statistics show */

static json_t *
list_sizes(glow_service *service)
{
    glow_service_size sizes[MOST_SIZES];
    int n = glow_service_sizes(service, sizes, MOST_SIZES);
    json_t *list = json_array();

    for (int i = 0; i < n && i < MOST_SIZES; i++)
        json_array_append_new(list, json_integer(sizes[i].samples));
    return list;
}

static answer
metadata(server *s, const model *m)
{
    json_t *versions = json_array();
    glow_service *service = glow_host_find(s->host, m->service);
    const glow_port *ports;
    json_t *j, *parameters = NULL;
    bool batch;
    int n;

    if (!service) {
        json_decref(versions);
        return serve_error(404, "model %s is not loaded", m->name);
    }
    n = glow_service_ports(service, &ports);
    batch = glow_service_batch(service) > 1;
    if (glow_service_keeps(service))
        parameters = json_pack("{s:b}", "sequence", 1);
    else if (batch)
        parameters = json_pack("{s:o}", "batch_sizes", list_sizes(service));
    pthread_mutex_lock(&s->lock);
    for (const model *o = s->models; o; o = o->next)
        if (strcmp(o->name, m->name) == 0 && o->ready)
            json_array_append_new(versions, json_string(o->version));
    pthread_mutex_unlock(&s->lock);
    j = json_pack("{s:s, s:o, s:s, s:o, s:o}", "name", m->name, "versions",
                  versions, "platform", "glow", "inputs",
                  list_ports(ports, n, true, batch), "outputs",
                  list_ports(ports, n, false, batch));
    if (parameters)
        json_object_set_new(j, "parameters", parameters);
    glow_service_release(service);
    return serve_json(200, j);
}

/* Batches by their size, in the words of Triton. */
static void
list_batches(glow_service *service, json_t *list)
{
    glow_service_size sizes[MOST_SIZES];
    int n = glow_service_sizes(service, sizes, MOST_SIZES);

    for (int i = 0; i < n && i < MOST_SIZES; i++)
        json_array_append_new(list,
                              json_pack("{s:i, s:{s:I, s:I}}", "batch_size",
                                        sizes[i].samples, "compute_infer",
                                        "count", (json_int_t)sizes[i].batches,
                                        "ns", (json_int_t)sizes[i].busy_ns));
}

static json_t *
statistics(server *s, const model *m)
{
    glow_service *service = glow_host_find(s->host, m->service);
    glow_service_statistics x = {0};
    json_int_t failed = 0;
    json_t *batches = json_array();
    int batch = 1;

    if (service) {
        glow_service_count(service, &x);
        batch = glow_service_batch(service);
        list_batches(service, batches);
        glow_service_release(service);
    }
    for (int o = 0; o < GLOW_RUN_OUTCOMES; o++)
        failed += o != GLOW_RUN_DONE ? x.ended[o] : 0;
    return json_pack(
        "{s:s, s:s, s:I, s:I, s:o, s:{s:{s:I, s:I}, s:{s:I}}}", "name", m->name,
        "version", m->version, "inference_count", (json_int_t)x.samples,
        "execution_count",
        (json_int_t)(batch > 1 ? x.batches : x.ended[GLOW_RUN_DONE]),
        "batch_stats", batches, "inference_stats", "success", "count",
        (json_int_t)x.ended[GLOW_RUN_DONE], "ns", (json_int_t)x.done_ns, "fail",
        "count", failed);
}

static answer
all_statistics(server *s, const model *only)
{
    json_t *list = json_array();

    pthread_mutex_lock(&s->lock);
    for (const model *m = s->models; m; m = m->next)
        if (m->ready && (!only || m == only))
            json_array_append_new(list, statistics(s, m));
    pthread_mutex_unlock(&s->lock);
    return serve_json(200, json_pack("{s:o}", "model_stats", list));
}

/* True if the model is loaded and has devices left. */
static bool
can_serve(server *s, const model *m)
{
    glow_service *service =
        m->ready ? glow_host_find(s->host, m->service) : NULL;
    bool can = service && glow_service_can_run(service);

    if (service)
        glow_service_release(service);
    return can;
}

/* The answer to whether the model is ready. */
static answer
readiness(server *s, const model *m)
{
    if (can_serve(s, m))
        return serve_json(200, json_pack("{s:b}", "ready", 1));
    return serve_error(503,
                       m->ready ? "model %s has lost its devices"
                                : "model %s is not loaded",
                       m->name);
}

/* An answer to `whole`, of which `path` comes behind /v2/models. */
static answer
answer_model(server *s, const char *method, const char *path, const char *whole)
{
    answer wrong = {0};
    model *m = take_model(s, &path, &wrong);

    if (!m)
        return wrong;
    if (strcmp(path, "/infer") == 0)
        return serve_error(405, "inference takes POST");
    if (*path && strcmp(path, "/ready") != 0 && strcmp(path, "/stats") != 0)
        return nothing_here(whole);
    if (strcmp(method, "GET") != 0)
        return serve_error(405, "this takes GET");
    if (!*path)
        return m->ready ? metadata(s, m)
                        : serve_error(404, "model %s is not loaded", m->name);
    if (strcmp(path, "/ready") == 0)
        return readiness(s, m);
    return all_statistics(s, m);
}

/* The repository. */

static answer
repository_index(server *s)
{
    json_t *list = json_array();

    pthread_mutex_lock(&s->lock);
    for (const model *m = s->models; m; m = m->next)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s}", "name", m->name, "version",
                            m->version, "state",
                            m->ready ? "READY" : "UNAVAILABLE", "reason", ""));
    pthread_mutex_unlock(&s->lock);
    return serve_json(200, list);
}

/* An answer to `whole`, of which `path` comes behind /v2/repository. */
static answer
answer_repository(server *s, const char *method, const char *path,
                  const char *whole)
{
    char name[256];
    const char *why = NULL;

    if (strcmp(method, "POST") != 0)
        return serve_error(405, "the repository takes POST");
    if (strcmp(path, "/index") == 0)
        return repository_index(s);
    if (!take(&path, "/models") || !take_part(&path, name, sizeof name))
        return nothing_here(whole);
    if (strcmp(path, "/load") == 0)
        return serve_load(s, name, &why) ? serve_json(200, json_object())
                                         : serve_error(400, "%s", why);
    if (strcmp(path, "/unload") == 0)
        return serve_unload(s, name)
                   ? serve_json(200, json_object())
                   : serve_error(404, "there is no model %s", name);
    return nothing_here(whole);
}

/* The server. */

static answer
server_metadata(void)
{
    return serve_json(200,
                      json_pack("{s:s, s:s, s:[s, s, s, s]}", "name",
                                "glow-serve", "version", glow_version(),
                                "extensions", "binary_tensor_data",
                                "statistics", "model_repository", "sequence"));
}

static bool
is_ready(server *s)
{
    bool ready = !s->draining;

    pthread_mutex_lock(&s->lock);
    for (const model *m = s->models; m; m = m->next)
        ready = ready && can_serve(s, m);
    pthread_mutex_unlock(&s->lock);
    return ready;
}

static answer
metrics(server *s)
{
    glow_buf b = {0};

    glow_host_metrics(s->host, &b);
    serve_sequences_metrics(s, &b);
    return (answer){
        .status = 200, .text = b.text, .type = "text/plain; version=0.0.4"};
}

static answer
answer_get(server *s, const char *path)
{
    if (strcmp(path, "/v2") == 0)
        return server_metadata();
    if (strcmp(path, "/v2/health/live") == 0)
        return serve_json(200, json_pack("{s:b}", "live", 1));
    if (strcmp(path, "/v2/health/ready") == 0)
        return is_ready(s) ? serve_json(200, json_pack("{s:b}", "ready", 1))
                           : serve_error(503, "the server is not ready");
    if (strcmp(path, "/metrics") == 0)
        return metrics(s);
    if (strcmp(path, "/v2/models/stats") == 0)
        return all_statistics(s, NULL);
    return nothing_here(path);
}

answer
serve_answer(server *s, const char *method, const char *path, const target *t,
             const char *body, size_t size)
{
    const char *at = path;

    if (t->what == SERVE_SEQUENCE || t->what == SERVE_STATE)
        return serve_sequence_answer(s, method, t->model, t->sequence,
                                     t->what == SERVE_STATE, body, size);
    if (take(&at, "/v2/repository"))
        return answer_repository(s, method, at, path);
    if (strcmp(path, "/v2/models/stats") != 0 && take(&at, "/v2/models"))
        return answer_model(s, method, at, path);
    if (strcmp(method, "GET") != 0)
        return serve_error(405, "%.20s is not taken here", method);
    return answer_get(s, path);
}
