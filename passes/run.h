/* A pass at work, as the manager and the rewrite driver see it. */

#ifndef GLOW_PASSES_RUN_H
#define GLOW_PASSES_RUN_H

#include "glow/pipeline.h"

struct glow_pass_run {
    glow_context *ctx;
    const glow_pass *pass;
    const void *options;
    glow_arena *scratch;
    const glow_pipeline_options *pipeline;
    glow_wanted_fn wanted; /* which nodes are rewritten; NULL: all */
    int64_t *left; /* rewrites that may still be done; NULL: any number */
    struct driver *driver;    /* of the rewrite at work; NULL: none */
    struct glow_reach *reach; /* see reach.c; NULL: nobody asked yet */
};

/* Node `n`, just built, reaches what `from` does: it takes that node's place. */
void glow_run_reach_inherits(glow_pass_run *run, const glow_node *n,
                             const glow_node *from);
/* True if no rewrite may be done any more. */
bool glow_run_is_spent(const glow_pass_run *run);
/* Tells the instruments. */
void glow_run_tell_rewrite(const glow_pass_run *run, const glow_rewritten *r);

#endif
