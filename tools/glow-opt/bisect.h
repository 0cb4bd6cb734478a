/* -bisect: trials in child processes, and delta debugging of their input. */

#ifndef GLOW_TOOLS_GLOW_OPT_BISECT_H
#define GLOW_TOOLS_GLOW_OPT_BISECT_H

#include "tools/glow-opt/opt.h"

/* The outcome of a run in a child process. */
typedef struct trial {
    bool valid; /* the input passed the verifier */
    bool ended; /* the run ended, with or without a failure */
    bool failed;
    int signal;       /* that killed it; 0: none */
    int number;       /* of the failing pass, from 1 */
    char pass[128];   /* its name */
    char func[256];   /* and its function; "": the module */
    char step[1024];  /* and its text */
    char id[16];      /* the first error */
    char text[2048];  /* its message */
    int64_t rewrites; /* of all passes */
    char diff[16384]; /* see diff_trial */
    char names[65536];
} trial;

/* Parameters of a trial run of a pipeline. */
typedef struct trial_run {
    opt *o;
    glow_module *m;
    const char *passes; /* the text */
    const char *only;   /* passes run on this function alone; NULL: on all */
    bool semantics;
    const char *limit_pass; /* of -rewrite-limit */
    int64_t limit;
    int until; /* passes from this number on are left out; 0: none */
} trial_run;

/* Edits the module to be tried; false: not applicable. */
typedef bool (*trial_edit)(glow_module *m, void *user);

/* Allocates shared memory for the outcome of a child. */
trial *trial_new(opt *o);
void trial_free(trial *t);
/*
 * Runs in a child, after `edit` (or NULL), so that crashes and changes stay in
 * the child.
 */
void trial_do(trial *t, const trial_run *r, trial_edit edit, void *user);
/* Runs in this process, without checks or reports, up to pass `until`. */
void trial_advance(const trial_run *r);
/*
 * In a child: the difference between the results with r->limit rewrites and
 * with one less, as text in t->diff, and the names of the nodes in t->names,
 * each followed by a newline.
 */
void trial_diff(trial *t, const trial_run *r);
/* True if both fail in the same way. */
bool trial_same(const trial *x, const trial *y);
/* "a crash by signal 11", "[E0411] ..." */
void put_failure(glow_buf *b, const trial *t);

/* Reduction: `module` is edited as long as it still fails as `wanted` does. */
typedef struct reducer {
    trial_run run;
    const char *func; /* the function of the pass; NULL: the module */
    const trial *wanted;
    trial *last;
    int trials;
} reducer;

/* Tries an edit; applies it if the module still fails in the same way. */
bool reduce_try(reducer *r, trial_edit edit, void *user);
/* True if the limit of trials is reached. */
bool reduce_is_spent(const reducer *r);
/*
 * Delta debugging of a set (Zeller and Hildebrandt, IEEE TSE 28(2), 2002):
 * drops runs of `kept`, halving their length, as long as the failure persists
 * with `edit`; *user refers to `kept`.
 */
void reduce_set(reducer *r, bool *kept, int count, trial_edit edit, void *user);

/* Reduces the module; `names` are nodes to begin with. */
void reduce(reducer *r, const char *names);
void reduce_graph(reducer *r, glow_func *f, const char *names);
void reduce_program(reducer *r, glow_func *f, const char *names);
void drop_unused_storage(glow_module *m);

#endif
