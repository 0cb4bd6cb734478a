/*
 * Pipelines: passes in a row, as text, as data, and run.
 *
 *     optimize,lower,fixpoint<max=8>(fold-transpose,dce),@main(cse),alloc
 */

#ifndef GLOW_PIPELINE_H
#define GLOW_PIPELINE_H

#include "glow/pass.h"

GLOW_BEGIN

/* A pipeline with a name, as data: each entry with its reason. */
typedef struct glow_pipeline_entry {
    const char *text; /* a pass or any pipeline text: "tile<rows=32>" */
    const char *reason;
} glow_pipeline_entry;

typedef struct glow_named_pipeline {
    const char *name; /* "optimize", "O2" */
    const char *summary;
    const glow_pipeline_entry *entries; /* ended by a NULL text */
    bool
        resumes; /* begins at the level of each function: skips passes of earlier
                     levels instead of refusing them */
} glow_named_pipeline;

GLOW_API const glow_named_pipeline *glow_find_pipeline(const char *name);
/* All of them, in alphabetical order; the one past the last has no name. */
GLOW_API const glow_named_pipeline *glow_all_pipelines(void);

typedef struct glow_pipeline glow_pipeline;

/*
 * Parses `source`; errors are shown in it with a caret.  NULL after a report.
 * Lives in `a`.
 */
GLOW_API glow_pipeline *glow_pipeline_parse(glow_context *ctx, glow_arena *a,
                                            const glow_source *source);
/*
 * The same for a backend, or NULL: `before-lower` and `after-lower` are its own,
 * and -O0 to -O3 and -Os end at its level.
 */
GLOW_API glow_pipeline *
glow_pipeline_parse_for(glow_context *ctx, glow_arena *a,
                        const glow_source *source,
                        const struct glow_backend *backend);
/*
 * Leaves out the passes of named pipelines that keep values only up to roundings
 * (GLOW_REASSOC, GLOW_PRECISION, GLOW_QUANTIZED); of tables of rules, the exact rules stay, and
 * lowering stays, since nothing runs without it.  False after a report of E0419,
 * if such a pass was named by itself.  glow_pipeline_run does it where
 * `options->code->exact` says so.
 */
GLOW_API bool glow_pipeline_make_exact(glow_pipeline *p);
/* Canonical text, named pipelines expanded; parses to the same pipeline. */
GLOW_API void glow_pipeline_print(glow_buf *b, const glow_pipeline *p);

/* Why a pass did something, or did not; lives until the call returns. */
typedef struct glow_remark {
    const glow_pass *pass; /* NULL: the backend (glow_target_options.remark) */
    const glow_node *node;
    bool done;
    const char *text; /* "combines 3 products: 12.1 us less" */
} glow_remark;
/*
 * For instruments: the pass at work with its options, as text that parses again,
 * `tile<rows=32>`; with the name of a function, for that one: `@main(cse)`.
 */
GLOW_API void glow_pipeline_print_step(glow_buf *b, const glow_pipeline *p,
                                       const char *func);

/*
 * For instruments: where the pass at work stands, the outermost first: the named
 * pipelines, `fixpoint` and `@main`, without the pass itself. At most `most` names;
 * returns how many. They live as long as `p`.
 */
GLOW_API int glow_pipeline_path(const glow_pipeline *p, const char **names,
                                int most);

/*
 * For glow_instrument.after: processor time of the pass that has run, of all threads of
 * the process, in seconds. Wall time is the argument `seconds`.
 */
GLOW_API double glow_pipeline_processor_time(const glow_pipeline *p);

/* A rewrite of the driver: `node` still stands, with its operands. */
typedef struct glow_rewritten {
    const glow_pass *pass;
    const glow_node *node;
    const glow_value *with;  /* what takes the place of its result; NULL: `node`
                               was changed, or each result replaced, in place */
    glow_node *const *built; /* new nodes, the last first */
    size_t n_built;
} glow_rewritten;

/* Called around each pass; any may be NULL. */
typedef struct glow_instrument {
    void *user;
    /* False skips the pass (-disable-pass). */
    bool (*before)(void *user, const glow_pass *p, glow_module *m, glow_func *f,
                   int number);
    /* False stops the pipeline with a failure. */
    bool (*after)(void *user, const glow_pass *p, glow_module *m, glow_func *f,
                  int number, glow_result result, double seconds);
    /* A note of glow_run_note. */
    void (*note)(void *user, const glow_pass *p, const char *text);
    /* The manager takes a step that was not written. */
    void (*step)(void *user, const glow_pass *p, const glow_pass *needed_by);
    /* A remark of glow_run_remark. */
    void (*remark)(void *user, const glow_remark *r);
    /* A rewrite of glow_rewrite; passes that do without it are not heard. */
    void (*rewrite)(void *user, const glow_rewritten *r);
} glow_instrument;

typedef struct glow_pipeline_options {
    bool verify_each; /* verify the function after each pass */
    glow_level reach; /* least level of every function at the end, for which
                         steps are added; GLOW_ANY: any */
    const struct glow_backend *backend;
    /* Target of code generation; NULL: this machine. */
    const struct glow_target_options *code;
    const struct glow_target *target; /* NULL: that of the backend, or
                                         glow_target_default */
    int64_t most_bytes; /* that activations may take at once; 0: any number */
    const glow_instrument *instruments;
    int n_instruments;
    const char *limit_pass; /* -rewrite-limit=PASS:N; NULL: none */
    int64_t limit;
    int stop_after; /* -stop-after=N: run the first N passes; 0: all */
} glow_pipeline_options;

/*
 * Types the pipeline against the levels of the functions of `m`, and adds missing
 * steps where there is exactly one way; refuses before any pass runs, with a caret
 * in the text of the pipeline.  Then runs it.  NULL options: verify each pass.
 */
GLOW_API bool glow_pipeline_run(glow_pipeline *p, glow_module *m,
                                const glow_pipeline_options *options);

/*
 * Puts a copy of graph node `n` alone into a new function of `copy`, a clone of its
 * module, over placeholders for its operands and its own constants, and runs `passes` on
 * it.  NULL after a report.
 */
GLOW_API glow_func *glow_run_alone(glow_arena *a, glow_module *copy,
                                   const glow_node *n, const char *passes,
                                   const glow_pipeline_options *how);
/*
 * True if the backend of `how` takes graph node `n`, or takes what it is lowered to;
 * else *why is the reason, in `a`.  `copy` as above.
 */
GLOW_API bool glow_is_supported(glow_arena *a, glow_module *copy,
                                const glow_node *n,
                                const glow_pipeline_options *how,
                                const char **why);

/* Counters of all runs in this context, by pass and name. */
typedef void (*glow_stat_fn)(const char *pass, const char *counter,
                             int64_t value, void *user);
GLOW_API void glow_each_stat(glow_context *ctx, glow_stat_fn fn, void *user);

GLOW_END

#endif
