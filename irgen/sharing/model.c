/*
 * Model of the memory of a graph; see model.h.
 */

#include "irgen/sharing/lower_bound.h"

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

/* A model in which each result, except views, has its own buffer; NULL: the
   dependences have a cycle. */
static glow_memory_model *
begin(glow_pass_run *run, glow_func *f, const glow_values *v,
      const uint32_t *order)
{
    glow_arena *a = glow_run_scratch(run);
    glow_memory_model *m = GLOW_NEW(a, glow_memory_model);

    m->values = v;
    number_operands(m, a);
    glow_memory_waits(m, a);
    if (!order) {
        m->ranks = glow_ranks_new(a, &m->problem);
        if (!m->ranks)
            return NULL;
        order = m->ranks->node;
    }
    m->table = glow_table_of_graph(run, f, v, order);
    return m;
}

/* Merges the buffers that can be shared in every order. */
static void
share(glow_memory_model *m, const glow_memory_options *options)
{
    glow_sharer s = {.m = m, .t = m->table, .options = options};

    glow_share_outputs(&s);
    glow_share_always(&s);
}

glow_memory_model *
glow_memory_model_new(glow_pass_run *run, glow_func *f, const glow_values *v,
                      const glow_memory_options *options)
{
    glow_memory_model *m = begin(run, f, v, options->order);

    if (!m)
        return NULL;
    if (options->sharing == GLOW_SHARING_ALL && options->order)
        glow_memory_replay(m);
    else if (options->sharing == GLOW_SHARING_ALL)
        share(m, options);
    return glow_memory_problem(m, options) ? m : NULL;
}

bool
glow_memory_least(glow_pass_run *run, glow_func *f, const glow_values *v,
                  int64_t align, glow_order_problem *out,
                  const uint32_t **maker)
{
    glow_memory_model *m = begin(run, f, v, NULL);
    glow_sharer s = {.m = m};

    if (!m)
        return false;
    s.t = m->table;
    glow_share_outputs(&s);
    return glow_memory_floor(m, &s, align, out, maker);
}
