/*
 * glow-work: batch jobs over data sets, by workers that share a queue in PostgreSQL.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/glow-work/work.h"

#define AT(member) offsetof(work_values, member)

static const tool_option options[] = {
    {"database", TOOL_TEXT, AT(database), "TEXT", NULL, "queue",
     "as libpq takes it: 'host=db dbname=jobs', postgresql://... ($PGHOST, ...)"},

    {"model", TOOL_TEXT, AT(model), "FILE.gir", NULL, "put, run",
     "the network; the first axes of all inputs and outputs count samples"},
    {"input", TOOL_LIST, AT(inputs), "NAME=FILE", NULL, "put, run",
     "samples along the first axis of an .npy or .safetensors"},
    {"chunk", TOOL_INT, AT(chunk), "N", NULL, "put, run",
     "samples of a job, best of 0.1 s and more (as many as the network takes)"},
    {"o", TOOL_TEXT, AT(output), "DIR", NULL, "put, run",
     "the folder for OUTPUT.FIRST.npy; of gather: for OUTPUT.npy"},
    {"first", TOOL_INT, AT(first), "N", NULL, "put, run",
     "run: the first sample of the chunk (0)"},

    {"tries", TOOL_INT, AT(tries), "N", NULL, "work",
     "give a job up that failed, or ended its worker, so often (5)"},
    {"retry-ms", TOOL_INT, AT(retry_ms), "MS", NULL, "work",
     "how long a job waits after a failure (1000)"},
    {"patience", TOOL_INT, AT(patience), "S", NULL, "work",
     "how long to try to reach the database (300)"},
    {"lease", TOOL_INT, AT(lease), "S", NULL, "work",
     "how long a worker that is stopped keeps its job (60)"},
    {"poll-ms", TOOL_INT, AT(poll_ms), "MS", NULL, "work",
     "how often to look while there is no job (500)"},
    {"wait", TOOL_FLAG, AT(wait), NULL, NULL, "work",
     "go on until SIGTERM, also when all jobs are done"},
    TOOL_DEVICE_OPTIONS(AT(devices), "work"),
    {0},
};

static const tool_spec spec = {
    .name = "glow-work",
    .usage = "COMMAND [NAME] [OPTION]...",
    .about =
        "Runs networks on data sets by jobs in PostgreSQL. Commands: create "
        "(the tables), put NAME (a data set), work, status [NAME], resume NAME "
        "(what was given up), gather NAME, remove NAME; run: one chunk without "
        "a database.",
    .options = options,
};

static int
check_usage(work *w)
{
    const work_values *v = &w->values;

    if (v->chunk < 0 || v->chunk > INT32_MAX || v->first < 0)
        return tool_usage(&w->tool, NULL,
                          "-chunk takes 1 to 2^31 - 1, -first 0 "
                          "and more");
    if (v->tries < 1 || v->tries > 1000 || v->patience < 0 ||
        v->patience > 86400)
        return tool_usage(&w->tool, NULL,
                          "-tries takes 1 to 1000, -patience 0 "
                          "to a day of seconds");
    if (v->retry_ms < 0 || v->retry_ms > 86400000 || v->poll_ms < 1 ||
        v->poll_ms > 86400000)
        return tool_usage(&w->tool, NULL,
                          "-retry-ms takes 0, -poll-ms 1, to a "
                          "day of them");
    if (v->lease < 1 || v->lease > 86400)
        return tool_usage(&w->tool, NULL, "-lease takes 1 to a day of seconds");
    return tool_check_devices(&w->tool, &v->devices);
}

/* The exit code of a call; the connection of a short command is not made again. */
static int
code_of(work *w, work_reply reply, const char *name)
{
    if (reply == WORK_NONE)
        glow_error(w->tool.ctx, "E1103", "there is no data set %s", name);
    if (reply == WORK_LOST)
        glow_error(w->tool.ctx, "E1101",
                   "the database cannot be reached: the connection ended");
    return reply == WORK_OK ? TOOL_DONE : TOOL_FAILED;
}

static int
create(work *w, work_queue *q, const char *name)
{
    (void)name;
    return code_of(w, work_queue_create(q), "");
}

static int
put(work *w, work_queue *q, const char *name)
{
    work_set s;
    work_reply reply;
    int code = work_describe(w, name, &s);

    if (code != TOOL_GO_ON)
        return code;
    reply = work_queue_put(q, &s);
    if (reply == WORK_NONE) {
        glow_error_hint(w->tool.ctx, (glow_span){0}, "E1103",
                        "remove it, or choose another name",
                        "there is a data set %s", name);
        return TOOL_FAILED;
    }
    if (reply == WORK_OK)
        tool_print(stdout, "%s: %" PRId64 " samples, %" PRId64 " jobs\n", name,
                   s.samples, (s.samples + s.chunk - 1) / s.chunk);
    return code_of(w, reply, name);
}

static int
work_on(work *w, work_queue *q, const char *name)
{
    (void)name;
    return work_until_done(w, q);
}

static int
status(work *w, work_queue *q, const char *name)
{
    return code_of(w, work_queue_status(q, name), name);
}

static int
resume(work *w, work_queue *q, const char *name)
{
    int64_t n = 0;
    work_reply reply = work_queue_resume(q, name, &n);

    if (reply == WORK_OK)
        tool_print(stdout, "%s: %" PRId64 " jobs\n", name, n);
    return code_of(w, reply, name);
}

static int
gather(work *w, work_queue *q, const char *name)
{
    work_set s;
    int64_t done = 0, jobs;
    work_reply reply;

    if (!w->values.output)
        return tool_usage(&w->tool, "add -o DIR", "gather needs a folder");
    reply = work_queue_find(q, name, &s, &done);
    if (reply != WORK_OK)
        return code_of(w, reply, name);
    jobs = (s.samples + s.chunk - 1) / s.chunk;
    if (done < jobs) {
        glow_error_hint(
            w->tool.ctx, (glow_span){0}, "E1105",
            glow_arena_printf(w->tool.arena, "glow-work status %s", name),
            "%s has results of %" PRId64 " of its %" PRId64 " jobs", name, done,
            jobs);
        return TOOL_FAILED;
    }
    mkdir(w->values.output, 0777); /* on failure, writing reports it */
    work_name_files(&w->tool, &s);
    return work_gather(w, &s);
}

static int
forget(work *w, work_queue *q, const char *name)
{
    return code_of(w, work_queue_remove(q, name), name);
}

/* One chunk, without a database. */
static int
run(work *w, work_queue *q, const char *name)
{
    int64_t first = w->values.first, count;
    work_runner *r = NULL;
    work_set s;
    int code = work_describe(w, name ? name : "set", &s);

    (void)q;
    if (code != TOOL_GO_ON)
        return code;
    if (first >= s.samples) {
        glow_error(w->tool.ctx, "E1104",
                   "-first=%" PRId64 ": the files have %" PRId64 " samples",
                   first, s.samples);
        return TOOL_FAILED;
    }
    count = s.samples - first < s.chunk ? s.samples - first : s.chunk;
    code = work_runner_open(w, &r);
    if (code == TOOL_GO_ON)
        code = work_run_chunk(r, &s, 1, first, count) ? TOOL_DONE : TOOL_FAILED;
    work_runner_close(r);
    return code;
}

typedef struct work_command {
    const char *name;
    int (*run)(work *w, work_queue *q, const char *name);
    bool takes_name, needs_name, needs_database;
} work_command;

static const work_command commands[] = {
    {"create", create, false, false, true},
    {"put", put, true, true, true},
    {"work", work_on, false, false, true},
    {"status", status, true, false, true},
    {"resume", resume, true, true, true},
    {"gather", gather, true, true, true},
    {"remove", forget, true, true, true},
    {"run", run, true, false, false},
};

/* The command of the first argument, or NULL after a report. */
static const work_command *
find_command(tool *t)
{
    tool_list names = {0};

    if (t->inputs.count == 0) {
        tool_usage(t, "glow-work -help lists them", "a command is needed");
        return NULL;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(t->inputs.items[0], commands[i].name) == 0)
            return &commands[i];
        tool_list_add(t, &names, commands[i].name);
    }
    tool_unknown(t, "command", t->inputs.items[0], &names);
    return NULL;
}

static int
dispatch(work *w)
{
    const work_command *c = find_command(&w->tool);
    size_t n = w->tool.inputs.count;
    const char *name = n > 1 ? w->tool.inputs.items[1] : NULL;
    work_queue *q = NULL;
    int code = c ? check_usage(w) : TOOL_USAGE;

    if (code != TOOL_GO_ON)
        return code;
    if (n > (c->takes_name ? 2u : 1u) || (c->needs_name && !name))
        return tool_usage(&w->tool, NULL, "%s takes %s", c->name,
                          c->takes_name ? "the name of a data set" : "no name");
    if (c->needs_database) {
        q = work_queue_new(&w->tool, w->values.database, w->values.lease);
        if (!work_queue_connect(q, c->run == work_on ? w->values.patience : 0))
            return TOOL_FAILED;
    }
    code = c->run(w, q, name);
    work_queue_free(q);
    return code;
}

int
main(int argc, char **argv)
{
    work w = {
        .values = {.database = "",
                   .tries = 5,
                   .retry_ms = 1000,
                   .patience = 300,
                   .poll_ms = 500,
                   .lease = 60,
                   .devices = {.backend = "cpu", .count = 1}},
    };
    int code = tool_begin(&w.tool, &spec, &w.values, argc, argv);

    if (code == TOOL_GO_ON)
        code = dispatch(&w);
    return tool_end(&w.tool, code);
}
