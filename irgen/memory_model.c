/*
 * What memory a graph will take; see memory_model.h.  Each part of the answer
 * has a file: memory_waits.c, memory_outputs.c, memory_share.c or memory_program.c,
 * memory_touches.c.
 */

#include "irgen/memory_share.h"

static void
number_operands(glow_memory_model *m, glow_arena *a)
{
    m->operand = GLOW_NEW_ARRAY(a, uint32_t, m->values->n_nodes);
    for (uint32_t i = 0; i < m->values->n_nodes; i++) {
        m->operand[i] = m->n_operands;
        m->n_operands += (uint32_t)m->values->nodes[i]->n_in;
    }
    m->shares = GLOW_NEW_ARRAY(a, bool, m->n_operands);
}

static void
share(glow_memory_model *m, const glow_memory_options *options)
{
    glow_sharer s = {.m = m, .c = m->classes, .options = options};

    glow_share_outputs(&s);
    if (options->order)
        glow_share_in_order(&s);
    else
        glow_share_always(&s);
}

glow_memory_model *
glow_memory_model_new(glow_pass_run *run, glow_func *f, const glow_values *v,
                      const glow_memory_options *options)
{
    glow_arena *a = glow_run_scratch(run);
    glow_memory_model *m = GLOW_NEW(a, glow_memory_model);

    m->values = v;
    m->classes = glow_classes_new(run, f, v);
    number_operands(m, a);
    glow_memory_waits(m);
    m->ranks = glow_ranks_new(a, &m->problem, options->order);
    if (!m->ranks)
        return NULL;
    if (options->sharing == GLOW_SHARING_ALL)
        share(m, options);
    return glow_memory_touches(m, options) ? m : NULL;
}
