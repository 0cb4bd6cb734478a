/* Declarations that the parts of glow-serve share. */

#ifndef GLOW_TOOLS_SERVE_H
#define GLOW_TOOLS_SERVE_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include "glow/host.h"
#include "tools/common/tool.h"

typedef struct serve_values {
    const char *address, *models;
    int64_t most_body; /* bytes of a request */
    int64_t port, threads, queue, batch, batch_us, active, drain_ms, timeout_ms;
    int64_t sequences, sequence_idle_ms, connections, transfer_ms, end_ms;
    bool resident;
    tool_devices devices;
} serve_values;

/* A version of a model, which is a service of the host. */
typedef struct model {
    const char *name, *version;
    const char *folder;  /* of its files; NULL: they are of the command line */
    tool_list files;     /* one for each size of batches */
    const char *service; /* "name/version" */
    atomic_bool ready;
    struct model *next;
} model;

typedef struct sequence sequence;

/* Live sequences of all models. */
typedef struct sequences {
    pthread_mutex_t lock;
    void *tree;             /* of <search.h> */
    sequence *first, *last; /* by their last use */
    int64_t live, started, refused, idle;
} sequences;

typedef struct connection connection;

typedef struct server {
    tool tool;
    serve_values values;
    glow_host *host;
    pthread_mutex_t
        loading; /* of `tool` once it serves, and of additions to the list */
    pthread_mutex_t lock; /* of the list; never held for long */
    model *models;        /* by name, versions from the last to the first */
    sequences sequences;
    pthread_mutex_t connecting; /* of the list of connections */
    connection *connections;
    atomic_int calls;      /* requests of HTTP that have not ended */
    atomic_int inferences; /* of these, those whose body has come */
    atomic_bool draining;  /* it is not ready any more */
    atomic_bool ending;    /* it takes no requests any more */
    bool runs_on; /* a device may work on a request that was cancelled */
} server;

/* An answer: a status of HTTP and its body. */
typedef struct answer {
    int status;
    char *text;       /* freed by free() */
    size_t size;      /* of `text`, or 0: it ends with a zero */
    const char *type; /* of its contents; NULL: JSON */
} answer;

/* repository.c: the models. */

/* Adds NAME=FILE[,FILE]... of the command line. */
int serve_add_argument(server *s, const char *text);
/* Adds all models of the folder -models. */
int serve_add_folder(server *s);
/*
 * The version of a model, or its last one if `version` is NULL; NULL: none.  Models
 * are never freed while the server runs.
 */
model *serve_find(server *s, const char *name, const char *version);
/* False, with *why in the tool's arena. */
bool serve_load(server *s, const char *name, const char **why);
bool serve_unload(server *s, const char *name);

/* protocol.c: all requests but inference. */

answer serve_error(int status, const char *fmt, ...) GLOW_PRINTF(2, 3);
answer serve_json(int status, json_t *j); /* takes `j` */

enum { SERVE_SEQUENCE_NAME = 129 }; /* with its end */

/* The resource of a path below /v2/models/NAME[/versions/V]. */
typedef struct target {
    enum {
        SERVE_OTHER, /* none of these; serve_answer answers */
        SERVE_INFER,
        SERVE_SEQUENCE,
        SERVE_STATE, /* of a sequence */
    } what;
    model *model;
    char sequence[SERVE_SEQUENCE_NAME]; /* "": none in the path */
} target;

/* `path` begins with '/'. */
target serve_target(server *s, const char *path);
/* All but SERVE_INFER; `body` is that of a SERVE_STATE. */
answer serve_answer(server *s, const char *method, const char *path,
                    const target *t, const char *body, size_t size);

/* tensors.c: elements as JSON and as bytes. */

/* "FP32", or NULL: there is no such word. */
const char *serve_datatype(glow_kind k);
json_t *serve_shape(glow_dims shape);
/* Elements of nested or flat lists into `out`; false, with *why (static text). */
bool serve_read_data(const json_t *data, const glow_type *type, int64_t count,
                     void *out, const char **why);
json_t *serve_write_data(const void *data, const glow_type *type,
                         int64_t count);

/* sequences.c: models that keep state. */

/* A request on a sequence. */
typedef struct step {
    char name[SERVE_SEQUENCE_NAME]; /* "": none */
    bool starts, ends;
    sequence *sequence; /* NULL: it was not begun, or was ended */
    int64_t number;
    glow_request *request;
    struct step *next;
} step;

/* Runs the request, or says why not; then it was not begun. */
answer serve_step_begin(server *s, const model *m, const glow_service *service,
                        step *x, const glow_input *in, int n,
                        glow_request_options *o, glow_request **out);
/* Once the request has ended: the answer if the sequence has failed, else status 0. */
answer serve_step_end(server *s, step *x);
/* GET and PUT of the state of a sequence, or DELETE of it. */
answer serve_sequence_answer(server *s, const char *method, const model *m,
                             const char *name, bool state, const char *body,
                             size_t size);
void serve_sequences_end_idle(server *s);
/* Ends those of a model, or of all (NULL). */
void serve_sequences_end(server *s, const model *m);
void serve_sequences_metrics(server *s, glow_buf *b);

/* infer.c: inference. */

typedef struct inference inference;

/*
 * Starts the request whose body begins at `skip` of `block`, which it frees in the end, as
 * it does itself by serve_inference_end; `then(user)` is called once it has ended, perhaps
 * at once.
 * NULL: it was wrong, and *wrong says how.
 */
inference *serve_infer(server *s, const target *t, char *block, size_t skip,
                       size_t size, size_t json_size, void (*then)(void *user),
                       void *user, answer *wrong);
/*
 * The answer.  With binary outputs text is JSON of `*json_size` bytes, and *parts has
 * `*n_parts` more pieces, until serve_inference_end.
 */
typedef struct serve_piece {
    const void *data;
    size_t size;
} serve_piece;
answer serve_inference_answer(inference *x, const serve_piece **parts,
                              int *n_parts);
void serve_inference_end(inference *x);

/* connections.c: those that are too slow; NULL is no connection. */

connection *serve_connection_new(server *s, int socket);
/* Before its socket is closed. */
void serve_connection_end(server *s, connection *c);
/* The server waits for the client, from now on, or is at work. */
void serve_connection_waits(server *s, connection *c, bool for_client);
void serve_connections_end_slow(server *s);

/* http.c: the connections.  Serves until SIGTERM or SIGINT. */
int serve_http(server *s);

#endif
