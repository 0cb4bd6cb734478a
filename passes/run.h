/* The state of a running pass, shared by the manager and the rewrite driver. */

#ifndef GLOW_PASSES_RUN_H
#define GLOW_PASSES_RUN_H

#include "glow/pipeline.h"

struct glow_pass_run {
    glow_context *ctx;
    const glow_pass *pass;
    const void *options;
    glow_arena *scratch;
    const glow_pipeline_options *pipeline;
    glow_wanted_fn wanted;    /* predicate of nodes to rewrite; NULL: all */
    int64_t *left;            /* remaining rewrites; NULL: unlimited */
    struct driver *driver;    /* of the current rewrite; NULL: none */
    struct glow_reach *reach; /* see reach.c; NULL: not computed yet */
};

/* Gives `n`, just built to replace `from`, the reachability of `from`. */
void glow_run_reach_inherits(glow_pass_run *run, const glow_node *n,
                             const glow_node *from);
/* True if the limit of rewrites is used up. */
bool glow_run_is_spent(const glow_pass_run *run);
/* Reports a rewrite to the instruments. */
void glow_run_tell_rewrite(const glow_pass_run *run, const glow_rewritten *r);

#endif
