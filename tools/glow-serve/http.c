/* Connections, by libmicrohttpd. */

#include <arpa/inet.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tools/glow-serve/serve.h"

#define JSON_LENGTH "Inference-Header-Content-Length"

enum {
    CONNECTION_SECONDS = 60,
    UPLOAD_MS = 5000, /* for the rest of bodies, once the server ends */
    LAST_MS = 1000,   /* for the answers of requests that were cancelled */
    LINE = 64,
    SPARE_DESCRIPTORS = 1000,
    ONE_PACKET = 65536 - 1024, /* bytes of an answer without its head */
};

/* A request of HTTP. */
typedef struct call {
    server *server;
    struct MHD_Connection *connection;
    struct connection *times;
    target target;
    bool takes_body, infers;
    char *block; /* of the body, which begins at `skip` */
    size_t skip, size, room;
    bool started; /* the inference */
    inference *inference;
    answer answer; /* an earlier refusal; status 0: none */
} call;

/* Answers. */

/* An answer that is being sent, and its parts, which `sent` ends. */
typedef struct sending {
    inference *inference;
    char *text;
} sending;

static void
sent(void *user)
{
    sending *x = user;

    serve_inference_end(x->inference);
    free(x->text);
    free(x);
}

static enum MHD_Result
send_response(struct MHD_Connection *c, int status, struct MHD_Response *r,
              const char *type)
{
    enum MHD_Result ok;

    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Content-Type", type);
    if (status == 503)
        MHD_add_response_header(r, "Retry-After", "1");
    ok = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return ok;
}

static enum MHD_Result
send_answer(struct MHD_Connection *c, const answer *a)
{
    const char *text = a->text ? a->text : "";
    struct MHD_Response *r = MHD_create_response_from_buffer(
        a->size ? a->size : strlen(text), (void *)(uintptr_t)text,
        a->text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);

    return send_response(c, a->status, r,
                         a->type ? a->type : "application/json");
}

/* The pieces copied one behind the other. */
static struct MHD_Response *
respond_in_one(const struct MHD_IoVec *all, int n, size_t size)
{
    char *body = malloc(size);
    size_t at = 0;
    struct MHD_Response *r;

    if (!body)
        return NULL;
    for (int i = 0; i < n; i++) {
        memcpy(body + at, all[i].iov_base, all[i].iov_len);
        at += all[i].iov_len;
    }
    r = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_MUST_FREE);
    if (!r)
        free(body);
    return r;
}

/* The pieces where they lie, which `s` ends. */
static struct MHD_Response *
respond_in_pieces(const struct MHD_IoVec *all, int n, sending *s)
{
    struct MHD_Response *r =
        MHD_create_response_from_iovec(all, (unsigned)n, sent, s);

    if (!r)
        sent(s);
    return r;
}

/*
 * JSON, and behind it the elements.  A small answer is one packet with its head: a
 * server that is killed has then sent all of it or nothing, and a balancer can ask
 * another.
 */
static enum MHD_Result
send_inference(call *x)
{
    const serve_piece *parts;
    int n;
    answer a = serve_inference_answer(x->inference, &parts, &n);
    struct MHD_IoVec *all = calloc((size_t)n + 1, sizeof *all);
    sending *s = calloc(1, sizeof *s);
    size_t size = a.text ? strlen(a.text) : 0;
    struct MHD_Response *r;
    char text[32];
    enum MHD_Result ok;

    if (!all || !s || !a.text) {
        free(all);
        free(s);
        free(a.text);
        return MHD_NO;
    }
    *s = (sending){x->inference, a.text};
    x->inference = NULL;
    all[0] = (struct MHD_IoVec){a.text, size};
    snprintf(text, sizeof text, "%zu", size);
    for (int i = 0; i < n; i++) {
        all[i + 1] = (struct MHD_IoVec){parts[i].data, parts[i].size};
        size += parts[i].size;
    }
    if (size <= ONE_PACKET) {
        r = respond_in_one(all, n + 1, size);
        sent(s);
    } else {
        r = respond_in_pieces(all, n + 1, s);
    }
    if (r && n > 0)
        MHD_add_response_header(r, JSON_LENGTH, text);
    ok = send_response(x->connection, a.status, r,
                       n > 0 ? "application/octet-stream" : "application/json");
    free(all);
    return ok;
}

/* Requests. */

/* The body's bytes that are JSON, of `size`, after the header that says so; false: wrong. */
static bool
json_size(const call *x, size_t size, size_t *out)
{
    const char *text = MHD_lookup_connection_value(
        x->connection, MHD_HEADER_KIND, JSON_LENGTH);
    char *end;
    unsigned long long n;

    *out = size;
    if (!text)
        return true;
    if (*text < '0' || *text > '9')
        return false;
    n = strtoull(text, &end, 10);
    *out = (size_t)n;
    return !*end && n <= size;
}

static void
resume(void *user)
{
    call *x = user;

    serve_connection_waits(x->server, x->times, true);
    MHD_resume_connection(x->connection);
}

/* Starts the inference, until whose end the connection sleeps. */
static void
infer(call *x)
{
    char *block = x->block;
    size_t n;

    x->started = true;
    x->server->inferences++;
    if (!json_size(x, x->size, &n)) {
        x->answer = serve_error(400, "%s is no number of bytes of the body",
                                JSON_LENGTH);
        return;
    }
    x->block = NULL;
    serve_connection_waits(x->server, x->times, false);
    MHD_suspend_connection(x->connection);
    x->inference = serve_infer(x->server, &x->target, block, x->skip, x->size,
                               n, resume, x, &x->answer);
    if (!x->inference)
        resume(x);
}

static bool
append(call *x, const char *data, size_t size)
{
    if ((int64_t)(x->size + size) > x->server->values.most_body) {
        x->answer =
            serve_error(413, "the request is larger than %" PRId64 " bytes",
                        x->server->values.most_body);
        return false;
    }
    if (x->size + size > x->room) {
        size_t room =
            2 * x->room > x->size + size ? 2 * x->room : x->size + size;
        char *grown = realloc(x->block, x->skip + room);

        if (!grown) {
            x->answer = serve_error(503, "there is no memory for the request");
            return false;
        }
        x->block = grown;
        x->room = room;
    }
    memcpy(x->block + x->skip + x->size, data, size);
    x->size += size;
    return true;
}

/*
 * Makes room for the whole body at once, if its length is told.  Elements behind the JSON
 * are aligned to a line of the cache, so that the network reads them there.
 */
static void
expect_body(call *x)
{
    const char *text = MHD_lookup_connection_value(
        x->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    unsigned long long n = text ? strtoull(text, NULL, 10) : 0;
    size_t json;

    if (n == 0)
        return;
    if (n > (unsigned long long)x->server->values.most_body) {
        x->answer = serve_error(
            413, "the request has %llu bytes, and %" PRId64 " are taken", n,
            x->server->values.most_body);
        return;
    }
    x->block = malloc((size_t)n + LINE);
    x->room = x->block ? (size_t)n : 0;
    if (x->block && json_size(x, (size_t)n, &json))
        x->skip = -((uintptr_t)x->block + json) % LINE;
}

static connection *
times_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return i ? i->socket_context : NULL;
}

/* A connection was made, or is about to be closed. */
static void
connected(void *user, struct MHD_Connection *c, void **times,
          enum MHD_ConnectionNotificationCode what)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

    if (what == MHD_CONNECTION_NOTIFY_CLOSED)
        serve_connection_end(user, *times);
    else
        *times = i ? serve_connection_new(user, i->connect_fd) : NULL;
}

static call *
begin(server *s, struct MHD_Connection *c, const char *method, const char *path)
{
    call *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    s->calls++;
    x->server = s;
    x->connection = c;
    x->times = times_of(c);
    serve_connection_waits(s, x->times, true);
    x->target = serve_target(s, path);
    x->infers = x->target.what == SERVE_INFER && strcmp(method, "POST") == 0;
    x->takes_body = x->infers || (x->target.what == SERVE_STATE &&
                                  strcmp(method, "PUT") == 0);
    if (x->takes_body && s->ending)
        x->answer = serve_error(503, "the server is ending");
    else if (x->takes_body)
        expect_body(x);
    return x;
}

/* The answer but for inference; it is that of GET for HEAD, whose body is left out. */
static enum MHD_Result
send_other(call *x, const char *method, const char *path)
{
    const char *as = strcmp(method, "HEAD") == 0 ? "GET" : method;
    answer a =
        x->answer.status
            ? x->answer
            : serve_answer(x->server, as, path, &x->target,
                           x->block ? x->block + x->skip : NULL, x->size);

    x->answer = (answer){.status = a.status};
    return send_answer(x->connection, &a);
}

/* True if the client waits for leave to send the body. */
static bool
waits_for_leave(struct MHD_Connection *c)
{
    const char *text =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_EXPECT);

    return text && strcasecmp(text, "100-continue") == 0;
}

static enum MHD_Result
handle(void *user, struct MHD_Connection *c, const char *path,
       const char *method, const char *version, const char *data, size_t *size,
       void **state)
{
    server *s = user;
    call *x = *state;

    (void)version;
    if (!x) {
        *state = x = begin(s, c, method, path);
        if (x && x->answer.status && waits_for_leave(c))
            return send_other(x, method, path);
        return x ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        /* The body of a refused request is read and forgotten. */
        if (x->takes_body && !x->answer.status)
            append(x, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (x->infers && !x->answer.status && !x->started) {
        infer(x);
        return MHD_YES;
    }
    if (x->inference)
        return send_inference(x);
    return send_other(x, method, path);
}

static void
completed(void *user, struct MHD_Connection *c, void **state,
          enum MHD_RequestTerminationCode why)
{
    server *s = user;
    call *x = *state;

    (void)c, (void)why;
    if (!x)
        return;
    serve_connection_waits(s, x->times, true);
    s->calls--;
    s->inferences -= x->started;
    if (x->inference)
        serve_inference_end(x->inference);
    free(x->answer.text);
    free(x->block);
    free(x);
    *state = NULL;
}

/* The daemon. */

static void
sleep_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000),
                         .tv_nsec = (long)(ms % 1000 * 1000000)};

    nanosleep(&t, NULL);
}

/* Waits for requests, for at most `ms`; of bodies that are not whole, UPLOAD_MS. */
static void
wait_for_calls(const server *s, int64_t ms)
{
    int64_t begin = glow_now(), took = 0;

    while (s->calls > 0 && took < ms &&
           (s->inferences > 0 || took < UPLOAD_MS)) {
        sleep_ms(10);
        took = (glow_now() - begin) / 1000000;
    }
}

/*
 * Lets balancers see that it ends, then takes no more, then waits for the rest.  False if
 * requests had to be cancelled.
 */
static bool
drain(server *s, struct MHD_Daemon *d)
{
    MHD_socket socket;
    bool whole;

    s->draining = true;
    sleep_ms(s->values.drain_ms);
    s->ending = true;
    socket = MHD_quiesce_daemon(d);
    wait_for_calls(s, s->values.end_ms);
    whole = s->inferences == 0;
    if (!whole) {
        glow_host_cancel(s->host);
        wait_for_calls(s, LAST_MS);
    }
    MHD_stop_daemon(d);
    if (socket != MHD_INVALID_SOCKET)
        close(socket);
    return whole;
}

static bool
address_of(server *s, struct sockaddr_in *out)
{
    *out = (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)s->values.port),
    };
    return inet_pton(AF_INET, s->values.address, &out->sin_addr) == 1;
}

/* As many descriptors as connections and devices may need, if the system gives them. */
static void
allow_descriptors(const server *s)
{
    const rlim_t most = (rlim_t)s->values.connections + SPARE_DESCRIPTORS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= most)
        return;
    limit.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int
serve_http(server *s)
{
    struct sockaddr_in at;
    struct MHD_Daemon *d;
    const union MHD_DaemonInfo *info;
    const struct timespec second = {.tv_sec = 1};
    sigset_t ends;

    if (!address_of(s, &at))
        return tool_usage(&s->tool, "write four numbers with dots",
                          "'%s' is no address", s->values.address);
    allow_descriptors(s);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    /* Not by epoll, which in 0.9.75 misses the end of a client that sent half a body. */
    d = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        handle, s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)s->values.threads,
        MHD_OPTION_NOTIFY_COMPLETED, completed, s, MHD_OPTION_NOTIFY_CONNECTION,
        connected, s, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)CONNECTION_SECONDS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)s->values.connections, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u,
        MHD_OPTION_END);
    if (!d) {
        glow_error(s->tool.ctx, "E1006", "cannot listen on %s, port %" PRId64,
                   s->values.address, s->values.port);
        return TOOL_FAILED;
    }
    info = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
    tool_print(stdout, "listening on %s:%d\n", s->values.address,
               info ? info->port : (int)s->values.port);
    fflush(stdout);
    while (sigtimedwait(&ends, NULL, &second) < 0) {
        serve_sequences_end_idle(s);
        serve_connections_end_slow(s);
    }
    if (drain(s, d))
        return TOOL_DONE;
    s->runs_on = true;
    glow_error(s->tool.ctx, "E1024",
               "requests ran for longer than -end-ms, and were "
               "cancelled");
    return TOOL_FAILED;
}
