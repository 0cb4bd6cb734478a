/* Declarations that the parts of glow-work share. */

#ifndef GLOW_TOOLS_WORK_H
#define GLOW_TOOLS_WORK_H

#include "glow/host.h"
#include "tools/common/npy.h"
#include "tools/common/tool.h"

typedef struct work_values {
    const char *database, *model, *output;
    tool_list inputs; /* NAME=FILE */
    int64_t chunk, first, tries, retry_ms, patience, poll_ms, lease;
    bool wait;
    tool_devices devices;
} work_values;

typedef struct work {
    tool tool;
    work_values values;
} work;

/* A data set: a network, files of samples, and where results go. */
typedef struct work_set {
    const char *name;
    const char *model;  /* .gir, an absolute path */
    const char *folder; /* of the results, an absolute path */
    tool_list inputs;   /* NAME=FILE, the files by absolute paths */
    tool_list outputs;  /* names of placeholders */
    tool_list files;    /* the same as parts of names of files */
    int64_t batch;      /* samples of a run: the first extent of all ports */
    int64_t samples;    /* of all files */
    int64_t chunk;      /* samples of a job, but for the last one */
} work_set;

/* Samples [first, first + count) of a set. */
typedef struct work_job {
    int64_t id, set; /* of the database */
    int64_t first, count;
    int try;     /* this one, from 1; more than -tries: not to be run */
    work_set of; /* all but the number of samples and the chunk */
} work_job;

/* set.c: data sets. */

/*
 * The data set of the options -model, -input, -chunk and -o: reads the network and the
 * headers of the files, checks that they fit, and makes the folder.  TOOL_GO_ON or an
 * exit code.
 */
int work_describe(work *w, const char *name, work_set *out);
/*
 * Maps the samples of `path`, an .npy or .safetensors, for input `name`.  False after a
 * report.
 */
bool work_map(tool *t, const char *path, const char *name, npy_array *out);
/* The file of NAME=FILE if NAME is `name`, else NULL. */
const char *work_file_of(const char *input, const char *name);
/* Sets `files` of a set whose `outputs` are known. */
void work_name_files(tool *t, work_set *s);
/* The file of samples from `first` on of output `name`. */
const char *work_result_path(glow_arena *a, const work_set *s, size_t output,
                             int64_t first);

/* chunk.c: runs chunks. */

typedef struct work_runner work_runner;

/* Opens the devices of the options.  TOOL_GO_ON or an exit code. */
int work_runner_open(work *w, work_runner **out);
void work_runner_close(work_runner *r); /* NULL is fine */
/*
 * Runs samples [first, first + count) of `s` and writes a file for each output, whole or
 * not at all.  The network and the files stay open until a set with another `id` comes.
 * False after a report.
 */
bool work_run_chunk(work_runner *r, const work_set *s, int64_t id,
                    int64_t first, int64_t count);

/* pulse.c */

typedef struct work_pulse work_pulse;

/* Calls `beat` in a thread every `ms` until it returns false.  NULL: there is no thread. */
work_pulse *work_pulse_start(int64_t ms, bool (*beat)(void *user), void *user);
/* Waits for a call that runs, and ends the thread.  NULL is fine. */
void work_pulse_end(work_pulse *p);

/* queue.c: jobs in a database.  It alone knows PostgreSQL. */

typedef struct work_queue work_queue;

/* The end of a call of the database. */
typedef enum work_reply {
    WORK_OK,
    WORK_NONE,  /* no such row */
    WORK_LOST,  /* the connection ended: work_queue_connect, and begin again */
    WORK_WRONG, /* after a report */
} work_reply;

/*
 * A queue that is not connected.  A job that it claims is free again `lease` seconds after
 * this process was stopped, or lost its network.
 */
work_queue *work_queue_new(tool *t, const char *database, int64_t lease);
void work_queue_free(work_queue *q); /* NULL is fine */
/*
 * Connects.  Tries again with back-off for `patience` seconds; then false, after a
 * report.
 */
bool work_queue_connect(work_queue *q, int64_t patience);

/* Makes the tables, unless they are there. */
work_reply work_queue_create(work_queue *q);
/* Adds the set and its jobs at once; WORK_NONE: there is one of that name. */
work_reply work_queue_put(work_queue *q, const work_set *s);
/*
 * Claims a job that nobody has, in a transaction that ends with work_queue_done,
 * work_queue_failed or the connection, and counts the try.  Texts of `out` are in `a`.
 * WORK_NONE: there is none now.
 */
work_reply work_queue_claim(work_queue *q, glow_arena *a, int64_t tries,
                            work_job *out);
/* Records the result and removes the job. */
work_reply work_queue_done(work_queue *q, const work_job *j);
/* Gives the job back, not to be claimed for `ms`, or gives it up. */
work_reply work_queue_failed(work_queue *q, const work_job *j,
                             const char *report, bool give_up, int64_t ms);
/* The number of jobs that are neither done nor given up. */
work_reply work_queue_left(work_queue *q, int64_t *out);

/* The set of that name with its results; WORK_NONE: there is none. */
work_reply work_queue_find(work_queue *q, const char *name, work_set *out,
                           int64_t *done);
/* Prints a row for each set, or the one of that name, and the jobs given up. */
work_reply work_queue_status(work_queue *q, const char *name);
/* Lets jobs that were given up be tried again. */
work_reply work_queue_resume(work_queue *q, const char *name, int64_t *out);
/* Forgets the set, its jobs and its results; files stay. */
work_reply work_queue_remove(work_queue *q, const char *name);

/* worker.c: runs jobs until there are none.  An exit code. */
int work_until_done(work *w, work_queue *q);

/* gather.c: joins the results of a set to an .npy for each output. */
int work_gather(work *w, const work_set *s);

#endif
