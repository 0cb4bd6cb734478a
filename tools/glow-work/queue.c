/*
 * A queue of jobs in PostgreSQL: rows claimed by FOR UPDATE SKIP LOCKED.
 *
 * A worker holds a row lock while it runs a job; a result and the removal of its job are
 * one transaction.  When a worker dies, its connection ends, its transaction rolls back
 * and the job is free at once.  A worker that does not die may still be stopped: while it
 * runs a job it sends a statement now and then, without which the server ends its
 * transaction after the lease.  Tries are counted over a second connection, since they
 * must stay where the transaction of the claim does not.
 */

#include <inttypes.h>
#include <jansson.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/glow-work/work.h"

enum { FIRST_PAUSE = 100, LAST_PAUSE = 5000 }; /* ms between connections */

struct work_queue {
    tool *tool;
    const char *database;
    PGconn *claims;    /* a transaction with the claim */
    PGconn *tries;     /* each statement by itself */
    char worker[128];  /* host and process */
    int64_t lease;     /* seconds */
    work_pulse *pulse; /* of the transaction of a claim, or NULL */
};

static const char schema[] =
    "BEGIN;"
    "SELECT pg_advisory_xact_lock(7306091);" /* CREATE IF NOT EXISTS races */
    "CREATE SCHEMA IF NOT EXISTS glow_work;"
    "CREATE TABLE IF NOT EXISTS glow_work.sets ("
    "  set int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    "  name text NOT NULL UNIQUE, model text NOT NULL, folder text NOT NULL,"
    "  inputs jsonb NOT NULL, outputs jsonb NOT NULL, batch bigint NOT NULL,"
    "  samples bigint NOT NULL, chunk bigint NOT NULL);"
    "CREATE TABLE IF NOT EXISTS glow_work.jobs ("
    "  job bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    "  set int NOT NULL REFERENCES glow_work.sets ON DELETE CASCADE,"
    "  first bigint NOT NULL, count bigint NOT NULL,"
    "  due timestamptz NOT NULL DEFAULT now(), failed bool NOT NULL DEFAULT false,"
    "  report text, UNIQUE (set, first));"
    "CREATE INDEX IF NOT EXISTS jobs_open ON glow_work.jobs (job) WHERE NOT failed;"
    "CREATE TABLE IF NOT EXISTS glow_work.tries ("
    "  set int NOT NULL REFERENCES glow_work.sets ON DELETE CASCADE,"
    "  first bigint NOT NULL, worker text NOT NULL,"
    "  began timestamptz NOT NULL DEFAULT now());"
    "CREATE INDEX IF NOT EXISTS tries_of ON glow_work.tries (set, first);"
    "CREATE TABLE IF NOT EXISTS glow_work.results ("
    "  set int NOT NULL REFERENCES glow_work.sets ON DELETE CASCADE,"
    "  first bigint NOT NULL, count bigint NOT NULL, worker text NOT NULL,"
    "  ended timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (set, first));"
    "COMMIT";

work_queue *
work_queue_new(tool *t, const char *database, int64_t lease)
{
    work_queue *q = GLOW_NEW(t->arena, work_queue);
    char host[64] = "?";

    *q = (work_queue){.tool = t, .database = database, .lease = lease};
    gethostname(host, sizeof host - 1);
    snprintf(q->worker, sizeof q->worker, "%s:%ld", host, (long)getpid());
    return q;
}

/* Leases. */

static bool
renew(void *claims)
{
    PGresult *r = PQexec(claims, "SELECT 1");
    bool ok = PQresultStatus(r) == PGRES_TUPLES_OK;

    PQclear(r);
    return ok;
}

/* Renews the lease in the transaction of a claim, in a thread that alone uses `claims`. */
static void
hold(work_queue *q)
{
    q->pulse = work_pulse_start(q->lease * 1000 / 3, renew, q->claims);
}

static void
let_go(work_queue *q)
{
    work_pulse_end(q->pulse);
    q->pulse = NULL;
}

static void
disconnect(work_queue *q)
{
    let_go(q);
    PQfinish(q->claims); /* NULL is fine */
    PQfinish(q->tries);
    q->claims = q->tries = NULL;
}

void
work_queue_free(work_queue *q)
{
    if (q)
        disconnect(q);
}

/* Statements. */

/* The text of libpq in one line. */
static const char *
line_of(work_queue *q, const char *text)
{
    char *line = glow_arena_strdup(q->tool->arena, text);
    size_t n = strlen(line);

    while (n > 0 && strchr("\r\n ", line[n - 1]))
        line[--n] = 0;
    for (size_t i = 0; i < n; i++)
        if (strchr("\r\n\t", line[i]))
            line[i] = ' ';
    return line;
}

/*
 * True if the server, and not the statement, is why it failed: reports of libpq itself
 * have no code, and may come before the connection shows as bad.
 */
static bool
is_lost(PGconn *c, const PGresult *r)
{
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;

    return PQstatus(c) == CONNECTION_BAD || !state ||
           strncmp(state, "57P", 3) == 0 || strncmp(state, "08", 2) == 0;
}

static work_reply
wrong(work_queue *q, PGconn *c, const PGresult *r)
{
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    const char *text =
        r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    bool missing =
        state && (strcmp(state, "42P01") == 0 || strcmp(state, "3F000") == 0);

    if (is_lost(c, r))
        return WORK_LOST;
    glow_error_hint(q->tool->ctx, (glow_span){0}, "E1102",
                    missing ? "make the tables: glow-work create" : NULL,
                    "the database refuses a statement: %s",
                    line_of(q, text ? text : PQerrorMessage(c)));
    return WORK_WRONG;
}

/* Runs a statement; `*out`, if it is wanted, is to be cleared after WORK_OK. */
static work_reply
query(work_queue *q, PGconn *c, const char *sql, int n,
      const char *const *values, PGresult **out)
{
    PGresult *r = PQexecParams(c, sql, n, NULL, values, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(r);
    work_reply reply = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
                           ? WORK_OK
                           : wrong(q, c, r);

    if (reply == WORK_OK && out)
        *out = r;
    else
        PQclear(r);
    return reply;
}

static work_reply
command(work_queue *q, const char *sql)
{
    return query(q, q->claims, sql, 0, NULL, NULL);
}

static work_reply
rolled_back(work_queue *q, work_reply reply)
{
    work_reply r = reply == WORK_LOST ? WORK_OK : command(q, "ROLLBACK");

    return r == WORK_OK ? reply : r;
}

static int64_t
int_of(const PGresult *r, int row, int column)
{
    return strtoll(PQgetvalue(r, row, column), NULL, 10);
}

/* Decimal digits of a parameter. */
typedef struct digits {
    char text[24];
} digits;

static digits
digits_of(int64_t v)
{
    digits d;

    snprintf(d.text, sizeof d.text, "%" PRId64, v);
    return d;
}

/* Lists of texts as JSON. */

static char *
write_list(const tool_list *l)
{
    json_t *j = json_array();
    char *text;

    for (size_t i = 0; i < l->count; i++)
        json_array_append_new(j, json_string(l->items[i]));
    text = json_dumps(j, JSON_COMPACT);
    json_decref(j);
    return text;
}

static tool_list
read_list(glow_arena *a, const char *text)
{
    json_t *j = json_loads(text, 0, NULL), *item;
    tool_list l = {.cap = json_array_size(j)};
    size_t i;

    l.items = GLOW_NEW_ARRAY(a, const char *, l.cap + 1);
    json_array_foreach(j, i, item) if (json_is_string(item))
        l.items[l.count++] = glow_arena_strdup(a, json_string_value(item));
    json_decref(j);
    return l;
}

/* Connecting. */

static void
no_notice(void *user, const char *text)
{
    (void)user;
    (void)text;
}

/* NULL after *why is set. */
static PGconn *
connect_one(work_queue *q, const char **why)
{
    /* Either end learns within a minute, not two hours, that the other is gone. */
    static const char *const names[] = {"fallback_application_name",
                                        "connect_timeout",
                                        "keepalives_idle",
                                        "keepalives_interval",
                                        "keepalives_count",
                                        "dbname",
                                        NULL};
    const char *values[] = {"glow-work", "10",        "30", "10",
                            "3",         q->database, NULL};
    PGconn *c = PQconnectdbParams(names, values, 1);
    PGresult *r;
    bool ok = PQstatus(c) == CONNECTION_OK;
    char set[200];

    if (ok) {
        PQsetNoticeProcessor(c, no_notice, NULL);
        snprintf(
            set, sizeof set,
            "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10;"
            "SET tcp_keepalives_count = 3;"
            "SET idle_in_transaction_session_timeout = '%" PRId64 "s'",
            q->lease);
        r = PQexec(c, set);
        ok = PQresultStatus(r) == PGRES_COMMAND_OK;
        PQclear(r);
    }
    if (ok)
        return c;
    *why = line_of(q, PQerrorMessage(c));
    PQfinish(c);
    return NULL;
}

bool
work_queue_connect(work_queue *q, int64_t patience)
{
    int64_t end = glow_now() + patience * 1000000000, pause = FIRST_PAUSE;
    const char *why = "";

    for (bool first = true;; first = false) {
        int64_t left;

        disconnect(q);
        q->claims = connect_one(q, &why);
        if (q->claims)
            q->tries = connect_one(q, &why);
        if (q->tries)
            return true;
        left = (end - glow_now()) / 1000000;
        if (left <= 0)
            return glow_error(q->tool->ctx, "E1101",
                              "the database cannot be reached: %s", why);
        if (first)
            glow_warning_hint(
                q->tool->ctx, (glow_span){0}, "W1101",
                "-database, or the environment of libpq, names the server; -patience=S waits for it longer",
                "the database cannot be reached, and is tried again "
                "for %" PRId64 " s: %s",
                patience, why);
        if (pause > left)
            pause = left;
        nanosleep(&(struct timespec){pause / 1000, pause % 1000 * 1000000},
                  NULL);
        pause = pause * 2 < LAST_PAUSE ? pause * 2 : LAST_PAUSE;
    }
}

/* Tables and sets. */

work_reply
work_queue_create(work_queue *q)
{
    PGresult *r = PQexec(q->claims, schema);
    work_reply reply = PQresultStatus(r) == PGRES_COMMAND_OK
                           ? WORK_OK
                           : wrong(q, q->claims, r);

    PQclear(r);
    return reply;
}

work_reply
work_queue_put(work_queue *q, const work_set *s)
{
    const digits batch = digits_of(s->batch), samples = digits_of(s->samples),
                 chunk = digits_of(s->chunk);
    char *inputs = write_list(&s->inputs), *outputs = write_list(&s->outputs);
    const char *const values[] = {s->name,      s->model,  s->folder,
                                  inputs,       outputs,   batch.text,
                                  samples.text, chunk.text};
    PGresult *r;
    work_reply reply = query(
        q, q->claims,
        "WITH s AS (INSERT INTO glow_work.sets"
        "  (name, model, folder, inputs, outputs, batch, samples, chunk)"
        "  VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (name) DO NOTHING"
        "  RETURNING set, samples, chunk)"
        "INSERT INTO glow_work.jobs (set, first, count)"
        "  SELECT set, first, least(chunk, samples - first)"
        "  FROM s, generate_series(0, samples - 1, chunk) AS first",
        8, values, &r);

    free(inputs);
    free(outputs);
    if (reply != WORK_OK)
        return reply;
    if (strcmp(PQcmdTuples(r), "0") == 0)
        reply = WORK_NONE;
    PQclear(r);
    return reply;
}

/* Jobs. */

/* Counts a try that begins, unless there were as many; out->try is its number. */
static work_reply
count_try(work_queue *q, int64_t most, work_job *out)
{
    const digits set = digits_of(out->set), first = digits_of(out->first),
                 limit = digits_of(most);
    const char *const values[] = {set.text, first.text, q->worker, limit.text};
    PGresult *r;
    work_reply reply =
        query(q, q->tries,
              "WITH n AS (SELECT count(*) AS n FROM glow_work.tries"
              "  WHERE set = $1 AND first = $2),"
              " t AS (INSERT INTO glow_work.tries (set, first, worker)"
              "  SELECT $1, $2, $3 FROM n WHERE n < $4)"
              "SELECT n + 1 FROM n",
              4, values, &r);

    if (reply != WORK_OK)
        return reply;
    out->try = (int)int_of(r, 0, 0);
    PQclear(r);
    return WORK_OK;
}

work_reply
work_queue_claim(work_queue *q, glow_arena *a, int64_t tries, work_job *out)
{
    work_reply reply = command(q, "BEGIN");
    PGresult *r;

    if (reply != WORK_OK)
        return reply;
    reply = query(q, q->claims,
                  "SELECT j.job, j.set, j.first, j.count, s.name, s.model,"
                  " s.folder, s.inputs, s.outputs, s.batch"
                  " FROM glow_work.jobs j JOIN glow_work.sets s USING (set)"
                  " WHERE NOT j.failed AND j.due <= now() ORDER BY j.job"
                  " LIMIT 1 FOR UPDATE OF j SKIP LOCKED",
                  0, NULL, &r);
    if (reply != WORK_OK)
        return rolled_back(q, reply);
    if (PQntuples(r) == 0) {
        PQclear(r);
        return rolled_back(q, WORK_NONE);
    }
    *out = (work_job){
        .id = int_of(r, 0, 0),
        .set = int_of(r, 0, 1),
        .first = int_of(r, 0, 2),
        .count = int_of(r, 0, 3),
        .of = {.name = glow_arena_strdup(a, PQgetvalue(r, 0, 4)),
               .model = glow_arena_strdup(a, PQgetvalue(r, 0, 5)),
               .folder = glow_arena_strdup(a, PQgetvalue(r, 0, 6)),
               .inputs = read_list(a, PQgetvalue(r, 0, 7)),
               .outputs = read_list(a, PQgetvalue(r, 0, 8)),
               .batch = int_of(r, 0, 9)},
    };
    PQclear(r);
    reply = count_try(q, tries, out);
    if (reply != WORK_OK)
        return rolled_back(q, reply);
    hold(q);
    return WORK_OK;
}

/* Ends the transaction of a claim with a statement that changes one row. */
static work_reply
commit(work_queue *q, const char *sql, int n, const char *const *values)
{
    work_reply reply;

    let_go(q);
    reply = query(q, q->claims, sql, n, values, NULL);
    return reply == WORK_OK ? command(q, "COMMIT") : rolled_back(q, reply);
}

work_reply
work_queue_done(work_queue *q, const work_job *j)
{
    const digits id = digits_of(j->id);
    const char *const values[] = {id.text, q->worker};

    return commit(q,
                  "WITH gone AS (DELETE FROM glow_work.jobs WHERE job = $1"
                  "  RETURNING set, first, count)"
                  "INSERT INTO glow_work.results (set, first, count, worker)"
                  "  SELECT set, first, count, $2 FROM gone",
                  2, values);
}

work_reply
work_queue_failed(work_queue *q, const work_job *j, const char *report,
                  bool give_up, int64_t ms)
{
    const digits id = digits_of(j->id), pause = digits_of(ms);
    const char *const values[] = {id.text, report, give_up ? "t" : "f",
                                  pause.text};

    return commit(q,
                  "UPDATE glow_work.jobs SET report = coalesce($2, report,"
                  "  'its workers ended while they ran it'), failed = $3,"
                  "  due = clock_timestamp() + $4 * interval '1 ms'"
                  "  WHERE job = $1",
                  4, values);
}

work_reply
work_queue_left(work_queue *q, int64_t *out)
{
    PGresult *r;
    work_reply reply = query(
        q, q->claims, "SELECT count(*) FROM glow_work.jobs WHERE NOT failed", 0,
        NULL, &r);

    if (reply == WORK_OK) {
        *out = int_of(r, 0, 0);
        PQclear(r);
    }
    return reply;
}

/* Looking at sets, and changing them. */

work_reply
work_queue_find(work_queue *q, const char *name, work_set *out, int64_t *done)
{
    glow_arena *a = q->tool->arena;
    PGresult *r;
    work_reply reply =
        query(q, q->claims,
              "SELECT folder, outputs, samples, chunk, (SELECT count(*) FROM"
              "  glow_work.results r WHERE r.set = s.set), model, batch"
              " FROM glow_work.sets s WHERE name = $1",
              1, &name, &r);

    if (reply != WORK_OK)
        return reply;
    if (PQntuples(r) == 0) {
        reply = WORK_NONE;
    } else {
        *out = (work_set){
            .name = name,
            .folder = glow_arena_strdup(a, PQgetvalue(r, 0, 0)),
            .outputs = read_list(a, PQgetvalue(r, 0, 1)),
            .samples = int_of(r, 0, 2),
            .chunk = int_of(r, 0, 3),
            .model = glow_arena_strdup(a, PQgetvalue(r, 0, 5)),
            .batch = int_of(r, 0, 6),
        };
        *done = int_of(r, 0, 4);
    }
    PQclear(r);
    return reply;
}

static void
print_sets(const PGresult *r)
{
    tool_print(stdout, "%-24s %10s %8s %8s %8s %8s\n", "set", "samples", "jobs",
               "done", "left", "given up");
    for (int i = 0; i < PQntuples(r); i++)
        tool_print(stdout, "%-24s %10s %8" PRId64 " %8s %8s %8s\n",
                   PQgetvalue(r, i, 0), PQgetvalue(r, i, 1),
                   int_of(r, i, 2) + int_of(r, i, 3) + int_of(r, i, 4),
                   PQgetvalue(r, i, 2), PQgetvalue(r, i, 3),
                   PQgetvalue(r, i, 4));
}

work_reply
work_queue_status(work_queue *q, const char *name)
{
    PGresult *r;
    work_reply reply = query(
        q, q->claims,
        "SELECT name, samples, (SELECT count(*) FROM glow_work.results r"
        "  WHERE r.set = s.set), count(j.job) FILTER (WHERE NOT j.failed),"
        " count(j.job) FILTER (WHERE j.failed)"
        " FROM glow_work.sets s LEFT JOIN glow_work.jobs j USING (set)"
        " WHERE $1::text IS NULL OR name = $1 GROUP BY s.set ORDER BY s.set",
        1, &name, &r);

    if (reply != WORK_OK)
        return reply;
    if (name && PQntuples(r) == 0) {
        PQclear(r);
        return WORK_NONE;
    }
    print_sets(r);
    PQclear(r);
    reply = query(q, q->claims,
                  "SELECT name, first, first + count - 1, report"
                  " FROM glow_work.jobs JOIN glow_work.sets USING (set)"
                  " WHERE failed AND ($1::text IS NULL OR name = $1)"
                  " ORDER BY job",
                  1, &name, &r);
    if (reply != WORK_OK)
        return reply;
    for (int i = 0; i < PQntuples(r); i++)
        tool_print(stdout, "%s, samples %s to %s: %s\n", PQgetvalue(r, i, 0),
                   PQgetvalue(r, i, 1), PQgetvalue(r, i, 2),
                   PQgetvalue(r, i, 3));
    PQclear(r);
    return WORK_OK;
}

work_reply
work_queue_resume(work_queue *q, const char *name, int64_t *out)
{
    PGresult *r;
    work_reply reply =
        query(q, q->claims,
              "WITH s AS (SELECT set FROM glow_work.sets WHERE name = $1),"
              " j AS (UPDATE glow_work.jobs SET failed = false, due = now(),"
              "  report = NULL WHERE failed AND set IN (SELECT set FROM s)"
              "  RETURNING set, first),"
              " t AS (DELETE FROM glow_work.tries USING j"
              "  WHERE tries.set = j.set AND tries.first = j.first)"
              "SELECT (SELECT count(*) FROM j), (SELECT count(*) FROM s)",
              1, &name, &r);

    if (reply != WORK_OK)
        return reply;
    *out = int_of(r, 0, 0);
    reply = int_of(r, 0, 1) ? WORK_OK : WORK_NONE;
    PQclear(r);
    return reply;
}

work_reply
work_queue_remove(work_queue *q, const char *name)
{
    PGresult *r;
    work_reply reply =
        query(q, q->claims, "DELETE FROM glow_work.sets WHERE name = $1", 1,
              &name, &r);

    if (reply != WORK_OK)
        return reply;
    if (strcmp(PQcmdTuples(r), "0") == 0)
        reply = WORK_NONE;
    PQclear(r);
    return reply;
}
