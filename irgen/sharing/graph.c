/*
 * The access table of a graph; see graph.h.
 */

#include "irgen/sharing/graph.h"

#include <string.h>

/* Filling. */

static uint32_t
value_of(const glow_graph_table *t, const glow_value *v)
{
    if (!v)
        return GLOW_NONE;
    return v->def
               ? t->value[glow_value_number(t->v, v)]
               : *(const uint32_t *)glow_map_get(t->stored, v->storage->name);
}

static void
add_storage(glow_graph_table *t, const glow_value *v)
{
    uint32_t *value;

    if (!v || v->def || glow_map_get(t->stored, v->storage->name))
        return;
    value = GLOW_NEW(t->x->arena, uint32_t);
    *value = glow_add_value(t->x, glow_add_buffer(t->x, v->type, v->storage), 0,
                            v->type);
    glow_map_set(t->stored, v->storage->name, value);
    t->n_stored++;
}

static void
add_results(const glow_graph_table *t, const glow_node *n)
{
    glow_accesses *x = t->x;

    for (int k = 0; k < n->n_out; k++) {
        const glow_type *type = n->out[k]->type;
        uint32_t b = glow_is_view(n) ? x->values[value_of(t, n->in[0])].buffer
                                     : glow_add_buffer(x, type, NULL);

        t->value[glow_value_number(t->v, n->out[k])] =
            glow_add_value(x, b, 0, type);
    }
}

static uint32_t
add_step(const glow_graph_table *t, glow_node *n)
{
    bool is_save = n->op == &glow_op_save;
    int n_in = is_save ? 1 : n->n_in, n_out = is_save ? 1 : n->n_out;
    uint32_t i =
        glow_add_step(t->x, n, is_save ? &glow_op_copy : n->op, n_in, n_out);
    glow_step *s = &t->x->steps[i];

    for (int k = 0; k < n_in; k++)
        s->in[k] = value_of(t, n->in[k]);
    for (int k = 0; k < n_out; k++)
        s->out[k] = value_of(t, is_save ? n->in[1] : n->out[k]);
    s->pred = value_of(t, n->pred);
    s->gone = glow_is_view(n);
    if (!s->gone)
        glow_add_accesses(t->x, i);
    return i;
}

static glow_table_sizes
sizes_of(const glow_values *v)
{
    glow_table_sizes room = {v->n_values, v->n_values, v->n_nodes, v->n_values};

    for (uint32_t i = 0; i < v->n_nodes; i++)
        for (int k = 0; k < v->nodes[i]->n_in; k++) {
            bool is_stored = v->nodes[i]->in[k] && !v->nodes[i]->in[k]->def;

            room.accesses++;
            room.buffers += is_stored;
            room.values += is_stored;
        }
    return room;
}

glow_graph_table *
glow_table_of_graph(glow_pass_run *run, glow_func *f, const glow_values *v,
                    const uint32_t *order)
{
    glow_table_sizes room = sizes_of(v);
    glow_accesses *x = glow_accesses_new(run, &room);
    glow_graph_table *t = GLOW_NEW(x->arena, glow_graph_table);

    t->x = x;
    t->f = f;
    t->v = v;
    t->value = GLOW_NEW_ARRAY(x->arena, uint32_t, v->n_values);
    t->stored = glow_map_new(x->arena);
    t->step = GLOW_NEW_ARRAY(x->arena, uint32_t, v->n_nodes);
    for (uint32_t i = 0; i < v->n_nodes; i++)
        for (int k = -1; k < v->nodes[i]->n_in; k++)
            add_storage(t, k < 0 ? v->nodes[i]->pred : v->nodes[i]->in[k]);
    for (uint32_t k = 0; k < v->n_nodes; k++)
        add_results(t, v->nodes[order ? order[k] : k]);
    for (uint32_t k = 0; k < v->n_nodes; k++) {
        uint32_t i = order ? order[k] : k;

        t->step[i] = add_step(t, v->nodes[i]);
    }
    t->latest = GLOW_NEW_ARRAY(x->arena, uint32_t, x->n_buffers);
    memset(t->latest, 0xff, x->n_buffers * sizeof *t->latest);
    t->is_mixed = GLOW_NEW_ARRAY(x->arena, bool, x->n_buffers);
    return t;
}

/* Parts of buffers. */

bool
glow_table_find(const glow_graph_table *t, const glow_value *v, glow_part *out)
{
    return glow_part_of(t->x, value_of(t, v), out) &&
           glow_type_count(&out->type) > 0;
}

const glow_storage *
glow_table_storage(const glow_graph_table *t, const glow_part *p)
{
    return t->x->buffers[p->buffer].storage;
}

bool
glow_table_is_all(const glow_graph_table *t, const glow_part *p)
{
    return !glow_table_storage(t, p) && p->first == 0 &&
           p->type.strides.rank == 0 &&
           glow_type_bytes(&p->type) ==
               glow_type_bytes(t->x->buffers[p->buffer].type);
}

uint32_t
glow_table_base(const glow_graph_table *t, const glow_value *v)
{
    uint32_t base = v ? glow_value_base(t->v, v) : GLOW_NO_VALUE;

    return base == GLOW_NO_VALUE ? GLOW_NONE : t->value[base];
}

/* Steps. */

bool
glow_table_is_gone(const glow_graph_table *t, uint32_t i)
{
    return t->x->steps[t->step[i]].gone;
}

void
glow_table_drop(const glow_graph_table *t, uint32_t i)
{
    t->x->steps[t->step[i]].gone = true;
}

typedef struct walk {
    const glow_values *values;
    glow_toucher_fn fn;
    void *user;
} walk;

static bool
visit(void *user, const glow_step *s, const glow_shared_value *v, bool writes)
{
    const walk *w = user;

    (void)v;
    (void)writes;
    return w->fn(w->user, glow_node_number(w->values, s->node));
}

bool
glow_table_each(const glow_graph_table *t, uint32_t buffer, glow_toucher_fn fn,
                void *user)
{
    return glow_each_access(t->x, buffer, visit, &(walk){t->v, fn, user});
}

/* The list of values begins with the buffer that was moved in last. */
static bool
each_latest(const glow_graph_table *t, uint32_t buffer, walk *w)
{
    const glow_accesses *x = t->x;

    if (x->buffers[buffer].n_accesses > GLOW_MOST_ACCESSES)
        return false;
    for (uint32_t v = x->buffers[buffer].values;; v = x->values[v].next) {
        if (!glow_each_access_of(x, v, visit, w))
            return false;
        if (v == t->latest[buffer])
            return true;
    }
}

bool
glow_table_each_late(const glow_graph_table *t, uint32_t buffer,
                     glow_toucher_fn fn, void *user)
{
    return t->latest[buffer] == GLOW_NONE
               ? glow_table_each(t, buffer, fn, user)
               : each_latest(t, buffer, &(walk){t->v, fn, user});
}

/* Moving. */

static bool
can_move(const glow_graph_table *t, uint32_t buffer, const glow_part *to,
         const glow_step *but, bool but_movers)
{
    const glow_type *type = t->x->buffers[buffer].type;
    const char *why;

    if (to->type.strides.rank == 0)
        return glow_type_count(type) == glow_type_count(&to->type);
    return but_movers ? glow_could_use(t->x, buffer, to)
                      : glow_can_use(t->x, buffer, to, but, &why);
}

bool
glow_table_can_move(const glow_graph_table *t, uint32_t buffer,
                    const glow_part *to, uint32_t but)
{
    return can_move(t, buffer, to, &t->x->steps[t->step[but]], false);
}

bool
glow_table_could_move(const glow_graph_table *t, uint32_t buffer,
                      const glow_part *to)
{
    return can_move(t, buffer, to, NULL, true);
}

void
glow_table_move(const glow_graph_table *t, uint32_t buffer, const glow_part *to)
{
    glow_move_values(t->x, buffer, to);
    t->latest[to->buffer] = GLOW_NONE;
    t->is_mixed[to->buffer] = true;
}
