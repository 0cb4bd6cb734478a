/* The parsed form of a pipeline. */

#ifndef GLOW_PASSES_PIPELINE_H
#define GLOW_PASSES_PIPELINE_H

#include "glow/pipeline.h"

#define GLOW_PIPELINE_DEPTH 64 /* of nested items */
#define GLOW_FIXPOINT_MAX 16   /* rounds, by default */

typedef enum glow_item_kind {
    GLOW_ITEM_PASS,
    GLOW_ITEM_FIXPOINT, /* the body, until nothing changes */
    GLOW_ITEM_ONLY,     /* the body, on one function */
} glow_item_kind;

/* The named pipelines from which an item was expanded, the innermost first. */
typedef struct glow_origin {
    const glow_named_pipeline *named;
    const struct glow_origin *outer;
} glow_origin;

typedef struct glow_item glow_item;
struct glow_item {
    glow_item_kind kind;
    const glow_pass *pass;      /* PASS */
    const void *options;        /* PASS: its struct, or NULL */
    const glow_pass *needed_by; /* PASS: for an inserted step, the pass that
                                 * needs it; else NULL */
    bool may_be_past; /* PASS: skipped if all functions are above its level */
    int max;          /* FIXPOINT */
    const char *func; /* ONLY */
    glow_item *body;  /* FIXPOINT, ONLY */
    glow_span span;   /* in the text of the user */
    const glow_origin *origin;
    glow_item *next;
};

struct glow_pipeline {
    glow_context *ctx;
    glow_arena *arena;
    const glow_source *source;
    glow_item *items;
    const glow_item *at_work;                     /* while it runs */
    const glow_item *within[GLOW_PIPELINE_DEPTH]; /* items around at_work */
    int depth;
    double processor_time; /* of the last pass that ran, in seconds */
};

/* The level of `f`. */
glow_level glow_level_of(const glow_func *f);
/* "a graph", "a placed program": for messages. */
const char *glow_level_text(glow_level level);
/* True if `p` takes functions at `level`. */
bool glow_pass_takes(const glow_pass *p, glow_level level);
/*
 * True if `f` is @only, or a body that @only calls; always true if `only` is
 * NULL.
 */
bool glow_in_scope(const glow_module *m, const char *only, const glow_func *f);

/*
 * Sets `*out` to the items of `p` with missing steps inserted for the functions
 * of `m`, up to the level `reach`, allocated in `a`.  Items may be NULL.  False
 * after a report.
 */
bool glow_pipeline_type(const glow_pipeline *p, const glow_module *m,
                        glow_level reach, glow_arena *a, glow_item **out);

#endif
