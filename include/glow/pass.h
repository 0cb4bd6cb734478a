/*
 * Passes: one constant each, and the services that a running pass may call.
 */

#ifndef GLOW_PASS_H
#define GLOW_PASS_H

#include "glow/build.h"

GLOW_BEGIN

typedef struct glow_pass glow_pass;
typedef struct glow_pass_run glow_pass_run;

/* Levels of a function: the types of the pipeline. */
typedef enum glow_level {
    GLOW_ANY,       /* graphs and programs alike */
    GLOW_GRAPH,     /* a graph, scheduled or not */
    GLOW_SCHEDULED, /* a graph in the order of its schedule */
    GLOW_PROGRAM,   /* a program, placed or not */
    GLOW_PLACED,    /* a program with a place for every buffer */
} glow_level;

/* Promises about the meaning of the function; -verify-semantics checks them. */
typedef enum glow_preserves {
    GLOW_EXACT = 0, /* every output, bit for bit */
    /*
     * Up to the order in which an operator adds the terms of a sum, and terms of
     * 0: bit for bit where all partial sums are exact.
     */
    GLOW_ORDER = 4,
    /* Up to the roundings of the steps that replace one composite operator. */
    GLOW_LOWERS = 5,
    /*
     * Up to the order of roundings: judged by a float64 run.  -exact leaves such
     * passes out, and those of the next row.
     */
    GLOW_REASSOC = 1,
    GLOW_PRECISION = 2, /* up to the precision of a narrower element kind */
    /*
     * Floats are computed in quantized elements: each node up to half a step of its
     * result and of its weights, the outputs up to the noise of such roundings.
     */
    GLOW_QUANTIZED = 6,
    GLOW_CHANGES = 3, /* not kept: `why` says so */
} glow_preserves;

typedef enum glow_result {
    GLOW_UNCHANGED,
    GLOW_CHANGED,
    GLOW_FAILED, /* after a report */
} glow_result;

/*
 * Returns the value to use instead of node `n`'s only result; or, after
 * building its replacement, glow_keep_rewritten(n) where `n` itself was
 * changed in place or its results were replaced by the callback; or NULL to
 * leave `n` alone.
 */
typedef glow_value *(*glow_rewrite_fn)(glow_builder *b, glow_node *n);

struct glow_pass {
    const char *name;    /* "fold-transpose", "acme.fuse" */
    const char *summary; /* a line */
    glow_level level;    /* level of its input */
    glow_level makes;    /* level of its output; GLOW_ANY: that of its input */
    bool unplaces;       /* programs: if it changes one, places are dropped */
    glow_preserves preserves;
    const char *why;       /* for GLOW_CHANGES */
    const glow_op *lowers; /* the composite operator that it expands */
    glow_field options[GLOW_MAX_FIELDS]; /* all with defaults */
    const void *defaults;                /* a whole options struct */
    glow_result (*run)(glow_pass_run *run, glow_func *f);
    /* Instead of run: passes over whole modules. */
    glow_result (*run_module)(glow_pass_run *run, glow_module *m);
    const struct glow_rule
        *rules;         /* identities as data, or NULL: see rules.h */
    const char *doc;    /* Markdown: before, after, why (of plugins), or what is
                           to be added to the card; may be NULL */
    const char *source; /* of the algorithm, or NULL */
    /* Instead of run: glow_rewrite offers it each node of operator `lowers`. */
    glow_rewrite_fn rewrite;
    /* The pass is right for operators that compute on quantized elements, too.
       glow_rewrite offers such nodes, and those that read from them and move
       elements, to no other pass. */
    bool takes_quantized;
};

GLOW_API glow_schema glow_pass_schema(const glow_pass *p);
/*
 * Before, after, condition and reason of a pass of the library, as Markdown: the
 * comment at the head of its file. NULL for those of plugins, which have `doc`.
 */
GLOW_API const char *glow_pass_card(const glow_pass *p);

/* Properties of the run. */

GLOW_API glow_context *glow_run_context(const glow_pass_run *run);
GLOW_API const glow_pass *glow_run_pass(const glow_pass_run *run);
/* The options struct, as written or by default. */
GLOW_API const void *glow_run_options(const glow_pass_run *run);
/* Scratch, emptied after the pass. */
GLOW_API glow_arena *glow_run_scratch(const glow_pass_run *run);
/* Adds to a counter that -stats prints; names live for ever. */
GLOW_API void glow_run_count(glow_pass_run *run, const char *counter,
                             int64_t by);
/* A fact for the user, printed under -v: "peak 12345 bytes, bound 12345". */
GLOW_API void glow_run_note(glow_pass_run *run, const char *fmt, ...)
    GLOW_PRINTF(2, 3);
/*
 * Reports for -remarks why `n` was changed, or (`done` is false) why it was not
 * although it nearly qualified.  No cost where remarks are off.
 */
GLOW_API void glow_run_remark(glow_pass_run *run, const glow_node *n, bool done,
                              const char *fmt, ...) GLOW_PRINTF(4, 5);
/*
 * True if one more rewrite may be done: counts it, for -rewrite-limit.
 * glow_rewrite asks by itself; other passes ask before each change that stands
 * alone.
 */
GLOW_API bool glow_run_may_rewrite(glow_pass_run *run);
/* The backend that the pipeline is for (-backend=), or NULL. */
struct glow_backend;
GLOW_API const struct glow_backend *glow_run_backend(const glow_pass_run *run);
/*
 * Bytes that `n` works in besides operands and results on that backend; 0 without
 * one.  INT64_MAX: more than can be counted.
 */
GLOW_API int64_t glow_node_scratch(const glow_pass_run *run,
                                   const glow_node *n);
/* The cache of a core of that backend's machine, in bytes; 0: none is known. */
GLOW_API int64_t glow_run_cache(const glow_pass_run *run);
/* The machine to count for: of -target-file=, else of the backend, else
   glow_target_default. */
struct glow_target;
GLOW_API const struct glow_target *glow_run_target(const glow_pass_run *run);

/*
 * Runs another pass as a part of `run`: with its default options, its name in
 * locations and counters, and the limits of `run`.  Its glow_rewrite visits only
 * nodes for which `wanted` holds (NULL: all).
 */
typedef bool (*glow_wanted_fn)(const glow_pass_run *run, const glow_node *n);
GLOW_API glow_result glow_run_part(glow_pass_run *run, const glow_pass *p,
                                   glow_func *f, glow_wanted_fn wanted);

/* Bytes that activations may take at once (-limit=); 0: any number. */
GLOW_API int64_t glow_run_limit(const glow_pass_run *run);
/* True under -exact: no value may be rounded in another way; see backend.h. */
GLOW_API bool glow_run_is_exact(const glow_pass_run *run);

/* The rewrite driver. */

/*
 * Offers each node whose operator is `op` (NULL: any) to `fn`, in order, the
 * builder standing at it.  A value that comes back takes the node's place: its
 * users, its name if the value is new, its location joined in.  Nodes that
 * nobody uses afterwards are erased, and users of what changed are offered
 * again until nothing changes.  A replacement of another type is a bug of the
 * pass and reported as E0401.
 */
GLOW_API glow_result glow_rewrite(glow_pass_run *run, glow_func *f,
                                  const glow_op *op, glow_rewrite_fn fn);
/* The same for a callback with a state of its own: glow_builder_user. */
GLOW_API glow_result glow_rewrite_with(glow_pass_run *run, glow_func *f,
                                       const glow_op *op, glow_rewrite_fn fn,
                                       void *user);
/* A row: an operator and its callback. */
typedef struct glow_rewrite_row {
    const glow_op *op;
    glow_rewrite_fn fn;
} glow_rewrite_row;

/*
 * glow_rewrite with a callback for each operator of `rows`, which end with a NULL
 * one, in one walk.  Nodes with a predicate are not offered, nor those that `takes`
 * (NULL: takes all) does not take.
 */
GLOW_API glow_result glow_rewrite_each(glow_pass_run *run, glow_func *f,
                                       const glow_rewrite_row *rows,
                                       bool (*takes)(const glow_node *n));
/* The value that says `n` was dealt with; see glow_rewrite_fn. */
GLOW_API glow_value *glow_keep_rewritten(glow_node *n);

/*
 * Replaces result `i` of node `n` from within a rewrite_fn, for nodes with
 * several results.
 */
GLOW_API void glow_builder_replace(glow_builder *b, glow_node *n, int i,
                                   glow_value *with);

/* Erases, backwards, pure nodes without users; returns how many. */
GLOW_API int glow_erase_unused(glow_func *f);
/* Erases constants that no node reads and no state begins as; returns how many. */
GLOW_API int glow_erase_unused_constants(glow_module *m);

/* The registry, as that of operators. */

GLOW_API bool glow_register_pass(glow_context *ctx, const glow_pass *p);
GLOW_API const glow_pass *glow_find_pass(const glow_context *ctx,
                                         const char *name);
GLOW_API const glow_pass *const *glow_all_passes(const glow_context *ctx,
                                                 size_t *count);

GLOW_END

#endif
