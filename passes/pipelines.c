/*
 * The named pipelines: data, with a reason at each entry.
 *
 * -O0 to -O3 lead from a graph to a program with a place for every buffer,
 * which every backend takes.
 */

#include <string.h>

#include "glow/pipeline.h"

static const glow_pipeline_entry optimize[] = {
    {"fixpoint(cse,dce)", "equal nodes once, and none that nobody uses"},
    {0},
};

static const glow_named_pipeline named_optimize = {
    "optimize", "graphs: fewer and cheaper nodes of the same meaning",
    optimize};

static const glow_named_pipeline *const pipelines[] = {
    &named_optimize,
    NULL,
};

const glow_named_pipeline *const *
glow_all_pipelines(void)
{
    return pipelines;
}

const glow_named_pipeline *
glow_find_pipeline(const char *name)
{
    for (size_t i = 0; pipelines[i]; i++)
        if (strcmp(pipelines[i]->name, name) == 0)
            return pipelines[i];
    return NULL;
}
