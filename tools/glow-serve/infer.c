/*
 * Inference requests of the Open Inference Protocol, version 2, with its extension of
 * binary tensors: elements follow the JSON in the order of the inputs.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-serve/serve.h"

typedef struct output {
    const glow_port *port;
    bool binary;
} output;

struct inference {
    server *server;
    model *model;
    json_t *id;         /* or NULL */
    char *block, *body; /* which is in the block */
    size_t size, at; /* the binary part that was not taken yet begins at `at` */
    int readers;     /* inputs in `body`, and the inference itself */
    pthread_mutex_t lock;
    glow_service *service;
    glow_request *request;
    const glow_port *ports;
    int n_ports;
    void **data; /* elements of inputs that came as JSON, by port */
    output *outputs;
    int n_outputs;
    int64_t samples; /* the first extent of the first input */
    step step;
    serve_piece *pieces;
    void (*then)(void *user);
    void *user;
};

/* The body is given back once nobody reads it. */
static void
drop(inference *x)
{
    bool last;

    pthread_mutex_lock(&x->lock);
    last = --x->readers == 0;
    pthread_mutex_unlock(&x->lock);
    if (!last)
        return;
    for (int i = 0; x->data && i < x->n_ports; i++)
        free(x->data[i]);
    free(x->data);
    pthread_mutex_destroy(&x->lock);
    free(x->block);
    free(x);
}

static void
release_input(void *user)
{
    drop(user);
}

/* Reading. */

static const char *
text_of(const json_t *j, const char *key)
{
    return json_string_value(json_object_get(j, key));
}

static int
find_port(const inference *x, const char *name, bool in)
{
    for (int i = 0; i < x->n_ports; i++)
        if ((in ? x->ports[i].read : x->ports[i].written) &&
            strcmp(x->ports[i].name, name) == 0)
            return i;
    return -1;
}

static bool
is_batched(const inference *x)
{
    return glow_service_batch(x->service) > 1;
}

/* True if `shape` is that of the port, but for the first extent of batches. */
static bool
fits(const inference *x, const json_t *shape, const glow_type *type)
{
    if (!json_is_array(shape) ||
        json_array_size(shape) != (size_t)type->shape.rank)
        return false;
    for (int i = 0; i < type->shape.rank; i++) {
        const json_t *e = json_array_get(shape, (size_t)i);
        json_int_t v = json_integer_value(e);

        if (!json_is_integer(e) ||
            (is_batched(x) && i == 0 ? v < 1 : v != type->shape.at[i]))
            return false;
    }
    return true;
}

static answer
wrong_shape(const inference *x, const char *name, const json_t *shape,
            const glow_type *type)
{
    char *got = json_dumps(shape, JSON_ENCODE_ANY | JSON_COMPACT), *wanted;
    glow_dims takes = type->shape;
    json_t *want;
    answer a;

    if (is_batched(x))
        takes.at[0] = -1;
    want = serve_shape(takes);
    wanted = json_dumps(want, JSON_COMPACT);
    a = serve_error(400, "input %s has shape %.80s, and %s takes %s", name,
                    got ? got : "none", x->model->name, wanted);

    free(got);
    free(wanted);
    json_decref(want);
    return a;
}

/* The elements of an input, in the body or read from JSON. */
static answer
take_data(inference *x, const json_t *j, int port, size_t bytes, glow_input *in)
{
    const glow_type *type = x->ports[port].type;
    const json_t *size =
        json_object_get(json_object_get(j, "parameters"), "binary_data_size");
    const char *why, *name = x->ports[port].name;

    if (size) {
        json_int_t n = json_integer_value(size);

        if (!json_is_integer(size))
            return serve_error(
                400, "binary_data_size of input %s is no integer", name);
        if (n < 0 || (size_t)n != bytes)
            return serve_error(
                400,
                "input %s has binary_data_size %" JSON_INTEGER_FORMAT
                ", and its shape needs %zu",
                name, n, bytes);
        if (x->size - x->at < bytes)
            return serve_error(
                400, "the body ends within the elements of input %s", name);
        *in =
            (glow_input){.name = name, .data = x->body + x->at, .bytes = bytes};
        x->at += bytes;
        /* Elements that are not aligned are copied. */
        if ((uintptr_t)in->data % (uintptr_t)glow_kind_get(type->elem)->bytes)
            return (answer){0};
    } else {
        if (type->elem == GLOW_FLOAT16 || type->elem == GLOW_BFLOAT16)
            return serve_error(400,
                               "input %s is %s, whose elements come as "
                               "binary data alone",
                               name, serve_datatype(type->elem));
        if (x->data[port])
            return serve_error(400, "input %s comes twice", name);
        x->data[port] = malloc(bytes ? bytes : 1);
        if (!x->data[port])
            return serve_error(503, "there is no memory for input %s", name);
        if (!serve_read_data(json_object_get(j, "data"), type,
                             (int64_t)bytes / glow_kind_get(type->elem)->bytes,
                             x->data[port], &why))
            return serve_error(400, "input %s: %s", name, why);
        *in = (glow_input){.name = name, .data = x->data[port], .bytes = bytes};
    }
    in->release = release_input;
    in->user = x;
    return (answer){0};
}

/*
 * Samples of a request: those of a batch, or more if neither their inputs nor their outputs
 * take more bytes than a body may.
 */
static int64_t
most_samples(const inference *x)
{
    int64_t in = 1, out = 1, batch = glow_service_batch(x->service), batches;

    for (int i = 0; i < x->n_ports; i++) {
        in += x->ports[i].read ? x->ports[i].bytes : 0;
        out += x->ports[i].written ? x->ports[i].bytes : 0;
    }
    batches = x->server->values.most_body / (in > out ? in : out);
    return batches > 0 ? batches * batch : batch;
}

static answer
take_input(inference *x, const json_t *j, glow_input *in)
{
    const char *name = text_of(j, "name"), *word = text_of(j, "datatype");
    const json_t *shape = json_object_get(j, "shape");
    int port = name ? find_port(x, name, true) : -1;
    const glow_type *type;
    size_t bytes;

    if (port < 0)
        return serve_error(400, "%s has no input %s", x->model->name,
                           name ? name : "without a name");
    type = x->ports[port].type;
    if (!word || strcmp(word, serve_datatype(type->elem)) != 0)
        return serve_error(400, "input %s has datatype %s, and %s takes %s",
                           name, word ? word : "none", x->model->name,
                           serve_datatype(type->elem));
    if (!fits(x, shape, type))
        return wrong_shape(x, name, shape, type);
    bytes = (size_t)x->ports[port].bytes;
    x->samples =
        type->shape.rank ? json_integer_value(json_array_get(shape, 0)) : 1;
    if (is_batched(x) && x->samples > most_samples(x))
        return serve_error(413,
                           "input %s has %" PRId64
                           " samples, and %s takes %" PRId64 " in a request",
                           name, x->samples, x->model->name, most_samples(x));
    if (is_batched(x))
        bytes = bytes / (size_t)type->shape.at[0] * (size_t)x->samples;
    return take_data(x, j, port, bytes, in);
}

static bool
is_asked_for(const inference *x, int port)
{
    for (int i = 0; i < x->n_outputs; i++)
        if (x->outputs[i].port == &x->ports[port])
            return true;
    return false;
}

static answer
take_outputs(inference *x, const json_t *root)
{
    const json_t *list = json_object_get(root, "outputs"), *p;
    bool binary = json_is_true(json_object_get(
        json_object_get(root, "parameters"), "binary_data_output"));

    x->outputs = calloc((size_t)x->n_ports + 1, sizeof *x->outputs);
    if (!x->outputs)
        return serve_error(503, "there is no memory for the outputs");
    for (int i = 0; !json_array_size(list) && i < x->n_ports; i++)
        if (x->ports[i].written)
            x->outputs[x->n_outputs++] = (output){&x->ports[i], binary};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *j = json_array_get(list, i);
        const char *name = text_of(j, "name");
        int port = name ? find_port(x, name, false) : -1;

        if (port < 0)
            return serve_error(400, "%s has no output %s", x->model->name,
                               name ? name : "without a name");
        if (is_asked_for(x, port))
            return serve_error(400, "output %s is asked for twice", name);
        p = json_object_get(json_object_get(j, "parameters"), "binary_data");
        x->outputs[x->n_outputs++] =
            (output){&x->ports[port], p ? json_is_true(p) : binary};
    }
    for (int i = 0; i < x->n_outputs; i++) {
        glow_kind k = x->outputs[i].port->type->elem;

        if (!x->outputs[i].binary && (k == GLOW_FLOAT16 || k == GLOW_BFLOAT16))
            return serve_error(400,
                               "output %s is %s, whose elements go as "
                               "binary data alone",
                               x->outputs[i].port->name, serve_datatype(k));
    }
    return (answer){0};
}

/* Options of the request among its parameters, in the words of Triton. */
static answer
take_parameters(const inference *x, const json_t *root, glow_request_options *o)
{
    const json_t *p = json_object_get(root, "parameters");
    const json_t *priority = json_object_get(p, "priority");
    const json_t *timeout = json_object_get(p, "timeout");
    int64_t most = x->server->values.timeout_ms * 1000;
    json_int_t us = timeout ? json_integer_value(timeout) : most;

    if (priority &&
        (!json_is_integer(priority) || json_integer_value(priority) < 0 ||
         json_integer_value(priority) > 1000))
        return serve_error(400, "priority takes 0 to 1000");
    if (timeout &&
        (!json_is_integer(timeout) || us < 1 || us > INT64_C(86400000000)))
        return serve_error(400,
                           "timeout takes microseconds, 1 to a day of them");
    /* The least number goes first; 0 is the middle. */
    if (json_integer_value(priority) > 0)
        o->priority = 500 - (int)json_integer_value(priority);
    if (us > 0)
        o->deadline = glow_now() + us * 1000;
    return (answer){0};
}

/* The sequence of the path, or among the parameters, in the words of Triton. */
static answer
take_sequence(inference *x, const json_t *root)
{
    const json_t *p = json_object_get(root, "parameters");
    const json_t *id = json_object_get(p, "sequence_id");
    const json_t *starts = json_object_get(p, "sequence_start");
    const json_t *ends = json_object_get(p, "sequence_end");
    char name[SERVE_SEQUENCE_NAME] = "";

    if (json_is_integer(id) && json_integer_value(id) > 0)
        snprintf(name, sizeof name, "%" JSON_INTEGER_FORMAT,
                 json_integer_value(id));
    else if (json_is_string(id) && json_string_length(id) < sizeof name)
        snprintf(name, sizeof name, "%s", json_string_value(id));
    if (id && (!name[0] || strchr(name, '/')))
        return serve_error(
            400,
            "sequence_id takes a number above 0, or 1 to %d bytes "
            "without '/'",
            SERVE_SEQUENCE_NAME - 1);
    if ((starts && !json_is_boolean(starts)) ||
        (ends && !json_is_boolean(ends)))
        return serve_error(
            400, "sequence_start and sequence_end take true and false");
    if (!x->step.name[0])
        memcpy(x->step.name, name, sizeof name);
    else if (id && strcmp(name, x->step.name) != 0)
        return serve_error(400, "sequence_id is %s, and the path names %s",
                           name, x->step.name);
    x->step.starts = json_is_true(starts);
    x->step.ends = json_is_true(ends);
    return (answer){0};
}

static void
request_ended(void *user, glow_request *r)
{
    inference *x = user;

    (void)r;
    x->then(x->user);
}

/* Gives the request to the host, which gives the inputs back. */
static answer
run(inference *x, const glow_input *in, int n, glow_request_options *o)
{
    int readers = x->readers;
    answer a = {0};

    for (int i = 0; i < n; i++)
        x->readers += in[i].release != NULL;
    if (glow_service_keeps(x->service))
        a = serve_step_begin(x->server, x->model, x->service, &x->step, in, n,
                             o, &x->request);
    else
        x->request = glow_service_run(x->service, in, n, o);
    if (!x->request)
        x->readers = readers;
    return a;
}

/* Refuses members of other types than the protocol's. */
static answer
check_members(const json_t *root)
{
    const json_t *outputs = json_object_get(root, "outputs");
    const json_t *parameters = json_object_get(root, "parameters");

    if (!json_is_array(json_object_get(root, "inputs")))
        return serve_error(400, "the request has no list of inputs");
    if (outputs && !json_is_array(outputs))
        return serve_error(400, "the outputs of the request are no list");
    if (parameters && !json_is_object(parameters))
        return serve_error(400, "the parameters of the request are no object");
    return (answer){0};
}

static answer
start(inference *x, const json_t *root)
{
    const json_t *list = json_object_get(root, "inputs");
    size_t n = json_array_size(list);
    glow_input *in = calloc(n + 1, sizeof *in);
    glow_request_options o = {.then = request_ended, .user = x};
    answer a;

    if (!in)
        return serve_error(503, "there is no memory for the inputs");
    a = check_members(root);
    if (!a.status)
        a = take_parameters(x, root, &o);
    if (!a.status)
        a = take_sequence(x, root);
    if (!a.status && n > (size_t)x->n_ports)
        a = serve_error(400, "%s has fewer inputs than %zu", x->model->name, n);
    for (size_t i = 0; i < n && !a.status; i++)
        a = take_input(x, json_array_get(list, i), &in[i]);
    if (!a.status && x->at < x->size)
        a = serve_error(400, "%zu bytes follow the last binary data",
                        x->size - x->at);
    if (!a.status)
        a = take_outputs(x, root);
    if (!a.status)
        a = run(x, in, (int)n, &o);
    free(in);
    return a;
}

static json_t *
parse(inference *x, size_t json_size, answer *wrong)
{
    json_error_t e;
    json_t *root = NULL;

    if (json_size == 0) {
        *wrong = serve_error(400, "the request has no JSON");
        return NULL;
    }
    root = json_loadb(x->body, json_size, JSON_REJECT_DUPLICATES, &e);
    if (json_is_object(root))
        return root;
    *wrong = root ? serve_error(400, "the request is no object of JSON")
                  : serve_error(400,
                                "the JSON of the request: line %d, column "
                                "%d: %s",
                                e.line, e.column, e.text);
    json_decref(root);
    return NULL;
}

inference *
serve_infer(server *s, const target *t, char *block, size_t skip, size_t size,
            size_t json_size, void (*then)(void *user), void *user,
            answer *wrong)
{
    inference *x = calloc(1, sizeof *x);
    model *m = t->model;
    json_t *root;

    *wrong = (answer){0};
    if (!x) {
        free(block);
        *wrong = serve_error(503, "there is no memory for the request");
        return NULL;
    }
    *x = (inference){
        .server = s,
        .model = m,
        .block = block,
        .body = block ? block + skip : NULL,
        .size = size,
        .at = json_size,
        .readers = 1,
        .then = then,
        .user = user,
    };
    memcpy(x->step.name, t->sequence, sizeof x->step.name);
    pthread_mutex_init(&x->lock, NULL);
    x->service = glow_host_find(s->host, m->service);
    if (x->service)
        x->n_ports = glow_service_ports(x->service, &x->ports);
    x->data = calloc((size_t)x->n_ports + 1, sizeof *x->data);
    if (!x->service || !x->data)
        *wrong = serve_error(503, "%s is not loaded", m->name);
    root = wrong->status ? NULL : parse(x, json_size, wrong);
    if (root) {
        x->id = json_incref(json_object_get(root, "id"));
        *wrong = start(x, root);
    }
    json_decref(root);
    if (!wrong->status)
        return x;
    serve_inference_end(x);
    return NULL;
}

/* Writing. */

static answer
failed(const glow_report_text *why)
{
    static const int status[GLOW_RUN_OUTCOMES] = {
        [GLOW_RUN_FAILED] = 400,    [GLOW_RUN_LATE] = 504,
        [GLOW_RUN_CANCELLED] = 503, [GLOW_RUN_INVALID] = 400,
        [GLOW_RUN_REFUSED] = 503,   [GLOW_RUN_LOST] = 500,
    };

    return serve_error(status[why->outcome], "%s", why->text);
}

/* An output of the answer; NULL: it has elements that cannot go as JSON. */
static json_t *
describe(inference *x, const output *o, int *n)
{
    size_t bytes;
    const void *data = glow_request_output(x->request, o->port->name, &bytes);
    const glow_type *type = o->port->type;
    glow_dims shape = type->shape;
    json_t *j = json_object();

    if (is_batched(x))
        shape.at[0] = x->samples;
    json_object_set_new(j, "name", json_string(o->port->name));
    json_object_set_new(j, "datatype", json_string(serve_datatype(type->elem)));
    json_object_set_new(j, "shape", serve_shape(shape));
    if (o->binary) {
        json_object_set_new(
            j, "parameters",
            json_pack("{s:I}", "binary_data_size", (json_int_t)bytes));
        x->pieces[(*n)++] = (serve_piece){data, bytes};
    } else {
        json_t *list = serve_write_data(data, type, glow_dims_count(shape));

        if (!list) {
            json_decref(j);
            return NULL;
        }
        json_object_set_new(j, "data", list);
    }
    return j;
}

answer
serve_inference_answer(inference *x, const serve_piece **parts, int *n_parts)
{
    glow_report_text why;
    json_t *root, *list;
    answer a = {0};

    *n_parts = 0;
    if (x->step.sequence)
        a = serve_step_end(x->server, &x->step);
    if (a.status)
        return a;
    if (glow_fence_wait(glow_request_fence(x->request), INT64_MAX, &why) !=
        GLOW_RUN_DONE)
        return failed(&why);
    x->pieces = calloc((size_t)x->n_outputs + 1, sizeof *x->pieces);
    if (!x->pieces)
        return serve_error(503, "there is no memory for the answer");
    root = json_object();
    list = json_array();
    json_object_set_new(root, "model_name", json_string(x->model->name));
    json_object_set_new(root, "model_version", json_string(x->model->version));
    if (x->id)
        json_object_set(root, "id", x->id);
    json_object_set_new(root, "outputs", list);
    for (int i = 0; i < x->n_outputs; i++) {
        json_t *j = describe(x, &x->outputs[i], n_parts);

        if (!j) {
            json_decref(root);
            *n_parts = 0;
            return serve_error(400,
                               "output %s has elements above 2^63 - 1, which "
                               "go as binary data alone",
                               x->outputs[i].port->name);
        }
        json_array_append_new(list, j);
    }
    *parts = x->pieces;
    return serve_json(200, root);
}

void
serve_inference_end(inference *x)
{
    if (x->step.sequence) /* its connection has ended */
        free(serve_step_end(x->server, &x->step).text);
    if (x->request)
        glow_request_release(x->request);
    if (x->service)
        glow_service_release(x->service);
    json_decref(x->id);
    free(x->outputs);
    free(x->pieces);
    drop(x);
}
