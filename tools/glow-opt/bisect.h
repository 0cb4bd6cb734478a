/* -bisect from within: trials, and the reduction of what they fail on. */

#ifndef GLOW_TOOLS_GLOW_OPT_BISECT_H
#define GLOW_TOOLS_GLOW_OPT_BISECT_H

#include "tools/glow-opt/opt.h"

/* What a run in a process of its own has come to. */
typedef struct trial {
    bool valid; /* what was to be run passed the verifier */
    bool ended; /* the run came to its end, for good or ill */
    bool failed;
    int signal;       /* that it died of; 0 */
    int number;       /* of the pass at work when it failed, from 1 */
    char pass[128];   /* its name */
    char func[256];   /* and its function; "": the module */
    char step[1024];  /* and its text */
    char id[16];      /* the first error */
    char text[2048];  /* its message */
    int64_t rewrites; /* of all passes */
    char diff[16384]; /* see diff_trial */
    char names[65536];
} trial;

/* How a pipeline is run in a trial. */
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

/* Changes the module to be tried; false: it does not apply. */
typedef bool (*trial_edit)(glow_module *m, void *user);

/* Room for results that another process can write. */
trial *trial_new(opt *o);
void trial_free(trial *t);
/*
 * Runs in a child, after `edit` (or NULL), so that crashes end it alone and
 * nothing here changes.
 */
void trial_do(trial *t, const trial_run *r, trial_edit edit, void *user);
/* Runs here, without checks or reports: the module is then as `until` has it. */
void trial_advance(const trial_run *r);
/*
 * In a child: what the pass does with r->limit rewrites that it does not with
 * one less, as text in t->diff, and the names of the nodes in t->names, each
 * with a line end.
 */
void trial_diff(trial *t, const trial_run *r);
/* Do they fail alike? */
bool trial_same(const trial *x, const trial *y);
/* "a crash by signal 11", "[E0411] ..." */
void put_failure(glow_buf *b, const trial *t);

/* Reduction: `module` is edited as long as it still fails as `wanted` does. */
typedef struct reducer {
    trial_run run;
    const char *func; /* what the pass works on; NULL: the module */
    const trial *wanted;
    trial *last;
    int trials;
} reducer;

/* Tries an edit; if the module then still fails so, does it for good. */
bool reduce_try(reducer *r, trial_edit edit, void *user);
/* True once enough was tried. */
bool reduce_is_spent(const reducer *r);
/*
 * Delta debugging of a set: drops runs of `kept`, halving their length, as long
 * as `edit`, given `user`, holds; `kept` is what *user refers to.
 */
void reduce_set(reducer *r, bool *kept, int count, trial_edit edit, void *user);

/* Reduces all; `names` are those of nodes where to look first. */
void reduce(reducer *r, const char *names);
void reduce_graph(reducer *r, glow_func *f, const char *names);
void reduce_program(reducer *r, glow_func *f, const char *names);
void drop_unused_storage(glow_module *m);

#endif
