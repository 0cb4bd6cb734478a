/*
 * Who touches what: a buffer for each class that an alloc will hold, and for
 * each node the buffers of its operands and results, and what its kernel works
 * in.
 */

#include <string.h>

#include "irgen/sharing/model.h"

typedef struct toucher {
    glow_memory_model *m;
    glow_arena *arena;
    const glow_memory_options *options;
    glow_order_task *tasks;
    uint32_t *stamp; /* by buffer */
    uint32_t *all;   /* what tasks touch, one after the other */
    size_t count, cap;
    glow_order_alias *aliases;
    size_t n_aliases, cap_aliases;
} toucher;

bool
glow_memory_round(int64_t bytes, int64_t align, int64_t *out)
{
    if (glow_add_overflow(bytes, align - 1, out))
        return false;
    *out = *out / align * align;
    return true;
}

/* A buffer for each class that takes bytes. */
static bool
make_buffers(glow_memory_model *m, int64_t align)
{
    glow_classes *c = m->classes;
    uint32_t n = m->values->n_values, count = 0;
    glow_order_buffer *buffers = GLOW_NEW_ARRAY(c->arena, glow_order_buffer, n);

    m->buffer = GLOW_NEW_ARRAY(c->arena, uint32_t, n);
    m->called = GLOW_NEW_ARRAY(c->arena, const glow_value *, n);
    memset(m->buffer, 0xff, n * sizeof *m->buffer);
    for (uint32_t v = 0; v < n; v++) {
        int64_t bytes;

        if (m->values->base[v] != v || c->parent[v] != v || c->storage[v])
            continue;
        if (!glow_memory_round(glow_type_bytes(c->whole[v]), align, &bytes))
            return false;
        if (bytes == 0)
            continue;
        m->called[count] = glow_value_numbered(m->values, v);
        buffers[count] = (glow_order_buffer){bytes, false};
        m->buffer[v] = count++;
    }
    for (uint32_t v = 0; v < n; v++) {
        uint32_t base = m->values->base[v];

        if (base != GLOW_NO_VALUE)
            m->buffer[v] = m->buffer[glow_class_of(c, base)];
    }
    m->problem.buffers = buffers;
    m->problem.n_buffers = count;
    return true;
}

static void
touch(toucher *t, uint32_t node, const glow_value *v)
{
    uint32_t b = v && v->def ? t->m->buffer[glow_value_number(t->m->values, v)]
                             : GLOW_NO_VALUE;

    if (b == GLOW_NO_VALUE || t->stamp[b] == node + 1)
        return;
    t->stamp[b] = node + 1;
    t->all =
        glow_arena_grow(t->arena, t->all, t->count, &t->cap, sizeof *t->all);
    t->all[t->count++] = b;
}

static void
add_alias(toucher *t, const glow_node *n, int out, int k)
{
    glow_lying made, over;

    if (!glow_memory_in_place(t->m, n, out, k, &made, &over) ||
        made.class == over.class)
        return;
    uint32_t to = t->m->buffer[made.class], from = t->m->buffer[over.class];

    if (to == GLOW_NO_VALUE || from == GLOW_NO_VALUE ||
        t->m->problem.buffers[to].bytes > t->m->problem.buffers[from].bytes)
        return;
    t->aliases = glow_arena_grow(t->arena, t->aliases, t->n_aliases,
                                 &t->cap_aliases, sizeof *t->aliases);
    t->aliases[t->n_aliases++] = (glow_order_alias){to, from};
}

static void
add_aliases(toucher *t, const glow_node *n)
{
    glow_inplace_at at = {0};

    while (glow_next_inplace(n, &at))
        add_alias(t, n, at.out, at.in);
}

/* False if what the node works in cannot be counted. */
static bool
add_task(toucher *t, uint32_t i)
{
    const glow_node *n = t->m->values->nodes[i];
    glow_order_task *task = &t->tasks[i];

    task->n_touches = (uint32_t)t->count;
    task->n_aliases = (uint32_t)t->n_aliases;
    if (!t->m->classes->gone[i]) {
        for (int k = 0; k < n->n_in; k++)
            touch(t, i, n->in[k]);
        for (int k = 0; k < n->n_out; k++)
            touch(t, i, n->out[k]);
        touch(t, i, n->pred);
        if (t->options->sharing == GLOW_SHARING_ALL)
            add_aliases(t, n);
    }
    task->n_touches = (uint32_t)t->count - task->n_touches;
    task->n_aliases = (uint32_t)t->n_aliases - task->n_aliases;
    return glow_memory_round(glow_node_scratch(t->m->classes->run, n),
                             t->options->align, &task->extra);
}

bool
glow_memory_touches(glow_memory_model *m, const glow_memory_options *o)
{
    toucher t = {.m = m, .arena = m->classes->arena, .options = o};
    size_t at = 0, alias = 0;

    if (!make_buffers(m, o->align))
        return false;
    t.tasks = (glow_order_task *)m->problem.tasks;
    t.stamp = GLOW_NEW_ARRAY(t.arena, uint32_t, m->problem.n_buffers);
    for (uint32_t i = 0; i < m->problem.n_tasks; i++)
        if (!add_task(&t, i))
            return false;
    for (uint32_t i = 0; i < m->problem.n_tasks; i++) {
        t.tasks[i].touches = t.tasks[i].n_touches ? t.all + at : NULL;
        t.tasks[i].aliases = t.tasks[i].n_aliases ? t.aliases + alias : NULL;
        at += t.tasks[i].n_touches;
        alias += t.tasks[i].n_aliases;
    }
    return true;
}
