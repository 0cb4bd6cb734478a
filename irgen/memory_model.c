/*
 * What memory a graph will take; see memory_model.h.  Each part of the answer
 * has a file: memory_waits.c, memory_share.c, memory_touches.c.
 */

#include "irgen/memory_model.h"

glow_memory_model *
glow_memory_model_new(glow_pass_run *run, glow_func *f, const glow_values *v,
                      const glow_memory_options *options)
{
    glow_arena *a = glow_run_scratch(run);
    glow_memory_model *m = GLOW_NEW(a, glow_memory_model);

    m->values = v;
    m->classes = glow_classes_new(run, f, v);
    m->could = GLOW_NEW_ARRAY(a, bool, v->n_nodes);
    glow_memory_waits(m);
    m->ranks = glow_ranks_new(a, &m->problem, options->order);
    if (!m->ranks)
        return NULL;
    if (options->sharing == GLOW_SHARING_ALL)
        glow_memory_share(m, options);
    return glow_memory_touches(m, options) ? m : NULL;
}
