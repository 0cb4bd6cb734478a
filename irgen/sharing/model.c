/*
 * Model of the memory of a graph; see model.h.  Its parts are in dependences.c,
 * outputs.c, share.c and touches.c; replay.c takes their place in a given order.
 */

#include "irgen/sharing/lower_bound.h"
#include "irgen/sharing/replay.h"

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
    glow_share_always(&s);
}

/* With each result in a buffer of its own, but for views; NULL: no order. */
static glow_memory_model *
begin(glow_pass_run *run, glow_func *f, const glow_values *v,
      const uint32_t *order)
{
    glow_arena *a = glow_run_scratch(run);
    glow_memory_model *m = GLOW_NEW(a, glow_memory_model);

    m->values = v;
    m->classes = glow_classes_new(run, f, v);
    number_operands(m, a);
    glow_memory_waits(m);
    m->ranks = glow_ranks_new(a, &m->problem, order);
    return m->ranks ? m : NULL;
}

glow_memory_model *
glow_memory_model_new(glow_pass_run *run, glow_func *f, const glow_values *v,
                      const glow_memory_options *options)
{
    glow_memory_model *m = begin(run, f, v, options->order);

    if (!m)
        return NULL;
    if (options->sharing == GLOW_SHARING_ALL && options->order)
        return glow_memory_replay(m, options) ? m : NULL;
    if (options->sharing == GLOW_SHARING_ALL)
        share(m, options);
    return glow_memory_touches(m, options) ? m : NULL;
}

bool
glow_memory_least(glow_pass_run *run, glow_func *f, const glow_values *v,
                  int64_t align, glow_order_problem *out)
{
    glow_memory_model *m = begin(run, f, v, NULL);
    glow_sharer s = {.m = m};

    if (!m)
        return false;
    s.c = m->classes;
    glow_share_outputs(&s);
    return glow_memory_floor(m, &s, align, out);
}
