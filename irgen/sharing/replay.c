/*
 * Memory of a graph in a given order; see replay.h.
 *
 * Each result is an alloc, each storage a placeholder or constant, a Reshape a view,
 * and a Save a copy, as irgen does it.
 */

#include "irgen/sharing/replay.h"

#include <string.h>

#include "irgen/sharing/accesses.h"

/* Rounds of a fixpoint in a pipeline. */
enum { MOST_ROUNDS = 8 };

typedef struct replay {
    glow_memory_model *m;
    glow_accesses *x;
    uint32_t *value;  /* by value of the graph: that of the table */
    glow_map *stored; /* by name of storage: its value, as an array of one */
    uint32_t *number; /* by buffer of the table: that of the model */
} replay;

/* Filling. */

static uint32_t
value_of(replay *r, const glow_value *v)
{
    uint32_t *known;

    if (!v)
        return GLOW_NONE;
    if (v->def)
        return r->value[glow_value_number(r->m->values, v)];
    known = glow_map_get(r->stored, v->storage->name);
    if (!known) {
        known = GLOW_NEW(r->x->arena, uint32_t);
        *known = glow_add_value(
            r->x, glow_add_buffer(r->x, v->type, v->storage), 0, v->type);
        glow_map_set(r->stored, v->storage->name, known);
    }
    return *known;
}

static void
add_results(replay *r, const glow_node *n)
{
    uint32_t viewed = glow_is_view(n) ? value_of(r, n->in[0]) : GLOW_NONE;

    for (int k = 0; k < n->n_out; k++) {
        const glow_type *type = n->out[k]->type;
        uint32_t b = viewed == GLOW_NONE ? glow_add_buffer(r->x, type, NULL)
                                         : r->x->values[viewed].buffer;

        r->value[glow_value_number(r->m->values, n->out[k])] =
            glow_add_value(r->x, b, 0, type);
    }
}

static void
add_save(replay *r, glow_node *n)
{
    uint32_t from = value_of(r, n->in[0]), to = value_of(r, n->in[1]);
    uint32_t i = glow_add_step(r->x, n, &glow_op_copy, 1, 1);

    r->x->steps[i].in[0] = from;
    r->x->steps[i].out[0] = to;
    r->x->steps[i].pred = value_of(r, n->pred);
    glow_add_accesses(r->x, i);
}

static void
add_node(replay *r, glow_node *n)
{
    add_results(r, n);
    if (glow_is_view(n))
        return;
    if (n->op == &glow_op_save) {
        add_save(r, n);
        return;
    }
    uint32_t i = glow_add_step(r->x, n, n->op, n->n_in, n->n_out);

    for (int k = 0; k < n->n_in; k++)
        r->x->steps[i].in[k] = value_of(r, n->in[k]);
    for (int k = 0; k < n->n_out; k++)
        r->x->steps[i].out[k] = value_of(r, n->out[k]);
    r->x->steps[i].pred = value_of(r, n->pred);
    glow_add_accesses(r->x, i);
}

/* The pipeline optimize-program, as far as it shares memory. */

static void
optimize(glow_accesses *x, bool early)
{
    x->changed = true;
    for (int i = 0; i < MOST_ROUNDS && x->changed; i++) {
        x->changed = false;
        glow_accesses_measure(x);
        glow_propagate_copies(x);
        glow_accesses_measure(x);
        glow_update_in_place(x);
        glow_accesses_measure(x);
        glow_view_slices(x, early);
        glow_accesses_measure(x);
        glow_share_buffers(x, early);
        glow_accesses_measure(x);
        glow_join_parts(x);
    }
    glow_accesses_measure(x);
}

/* The result. */

/* False if a size overflows. */
static bool
make_buffers(replay *r, int64_t align)
{
    glow_accesses *x = r->x;
    glow_memory_model *m = r->m;
    uint32_t n = m->values->n_values, count = 0;
    glow_order_buffer *buffers =
        GLOW_NEW_ARRAY(x->arena, glow_order_buffer, x->n_buffers);

    r->number = GLOW_NEW_ARRAY(x->arena, uint32_t, x->n_buffers);
    m->called = GLOW_NEW_ARRAY(x->arena, const glow_value *, x->n_buffers);
    m->buffer = GLOW_NEW_ARRAY(x->arena, uint32_t, n);
    for (size_t i = 0; i < x->n_buffers; i++) {
        const glow_shared_buffer *b = &x->buffers[i];
        int64_t bytes;

        r->number[i] = GLOW_NONE;
        if (b->storage || b->is_moved)
            continue;
        if (!glow_memory_round(glow_type_bytes(b->type), align, &bytes))
            return false;
        if (bytes == 0)
            continue;
        buffers[count] = (glow_order_buffer){bytes, false};
        r->number[i] = count++;
    }
    for (uint32_t v = 0; v < n; v++) {
        uint32_t b = x->values[r->value[v]].buffer;

        m->buffer[v] = r->number[b];
        if (r->number[b] != GLOW_NONE && x->buffers[b].own == r->value[v])
            m->called[r->number[b]] = glow_value_numbered(m->values, v);
    }
    m->problem.buffers = buffers;
    m->problem.n_buffers = count;
    return true;
}

typedef struct list {
    uint32_t *at;
    size_t count, cap;
    uint32_t *stamp; /* by buffer: 1 + the last node that touches it */
} list;

static void
touch(const replay *r, list *l, uint32_t node, uint32_t value)
{
    uint32_t b =
        value == GLOW_NONE ? GLOW_NONE : r->number[r->x->values[value].buffer];

    if (b == GLOW_NONE || l->stamp[b] == node + 1)
        return;
    l->stamp[b] = node + 1;
    l->at =
        glow_arena_grow(r->x->arena, l->at, l->count, &l->cap, sizeof *l->at);
    l->at[l->count++] = b;
}

static bool
is_strided(const glow_accesses *x, const uint32_t *v, int count)
{
    for (int k = 0; k < count; k++)
        if (v[k] != GLOW_NONE && x->values[v[k]].type &&
            x->values[v[k]].type->strides.rank)
            return true;
    return false;
}

static int64_t
scratch_of(const glow_accesses *x, const glow_step *s)
{
    glow_node as;

    if (s->op == s->node->op && !is_strided(x, s->in, s->n_in) &&
        !is_strided(x, s->out, s->n_out))
        return glow_node_scratch(x->run, s->node);
    glow_step_as_node(x, s, &as);
    return glow_node_scratch(x->run, &as);
}

/* Adds a step to its task, the touches of which begin at `begin`. */
static bool
add_task(const replay *r, list *l, glow_order_task *task, const glow_step *s,
         int64_t align)
{
    uint32_t node = s->node->mark;
    int64_t bytes;

    for (int k = 0; k < s->n_in; k++)
        touch(r, l, node, s->in[k]);
    for (int k = 0; k < s->n_out; k++)
        touch(r, l, node, s->out[k]);
    touch(r, l, node, s->pred);
    if (!glow_memory_round(scratch_of(r->x, s), align, &bytes))
        return false;
    if (bytes > task->extra)
        task->extra = bytes;
    return true;
}

static bool
make_tasks(replay *r, int64_t align)
{
    const glow_accesses *x = r->x;
    glow_order_task *tasks = (glow_order_task *)r->m->problem.tasks;
    list l = {.stamp =
                  GLOW_NEW_ARRAY(x->arena, uint32_t, r->m->problem.n_buffers)};
    size_t at = 0;

    for (size_t i = 0; i < x->n_order; i++) {
        const glow_step *s = &x->steps[x->order[i]];
        glow_order_task *task = &tasks[s->node->mark];
        size_t begin = l.count;

        if (!add_task(r, &l, task, s, align))
            return false;
        task->n_touches += (uint32_t)(l.count - begin);
    }
    for (size_t i = 0; i < x->n_order; i++) {
        glow_order_task *task = &tasks[x->steps[x->order[i]].node->mark];

        if (task->touches || task->n_touches == 0)
            continue; /* another part of the same Concat */
        task->touches = l.at + at;
        at += task->n_touches;
    }
    return true;
}

static void
mark_shared(replay *r, uint32_t i, int k)
{
    r->m->shares[r->m->operand[i] + (uint32_t)k] = true;
}

/* Notes the operands that lie in their Concat or insert, and the slices that lie in
   their operand. */
static void
find_shared(replay *r)
{
    const glow_accesses *x = r->x;

    for (size_t i = 0; i < x->n_steps; i++) {
        const glow_step *s = &x->steps[i];
        uint32_t node = s->node->mark;

        if (!s->gone)
            continue;
        if (s->op == &glow_op_slice)
            mark_shared(r, node, 0);
        else if (s->op == &glow_op_inserttensor)
            mark_shared(r, node, 1);
        else if (s->part >= 0)
            mark_shared(r, node, s->part);
        for (int k = 0; s->op == &glow_op_concat && k < s->n_in; k++)
            if (x->values[s->in[k]].buffer == x->values[s->out[0]].buffer)
                mark_shared(r, node, k);
    }
}

bool
glow_memory_replay(glow_memory_model *m, const glow_memory_options *o)
{
    glow_accesses *x = glow_accesses_new(m->classes->run);
    replay r = {.m = m, .x = x};

    r.value = GLOW_NEW_ARRAY(x->arena, uint32_t, m->values->n_values);
    r.stored = glow_map_new(x->arena);
    for (uint32_t k = 0; k < m->values->n_nodes; k++)
        add_node(&r, m->values->nodes[o->order[k]]);
    optimize(x, true);
    optimize(x, false);
    find_shared(&r);
    return make_buffers(&r, o->align) && make_tasks(&r, o->align);
}
