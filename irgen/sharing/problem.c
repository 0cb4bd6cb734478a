/*
 * Ordering problem of an access table: a buffer for each alloc that is left, and
 * for each node the buffers that its steps access, and the scratch of its kernel.
 */

#include <string.h>

#include "irgen/sharing/model.h"

typedef struct builder {
    glow_memory_model *m;
    const glow_accesses *x;
    const glow_memory_options *options;
    glow_order_task *tasks;
    uint32_t *number; /* by buffer of the table: buffer of the problem */
    uint32_t *stamp;  /* by buffer of the problem: 1 + the last node */
    uint32_t *all;    /* the touches of tasks, one after the other */
    size_t count, cap;
    glow_order_alias *aliases;
    size_t n_aliases, cap_aliases;
} builder;

bool
glow_memory_round(int64_t bytes, int64_t align, int64_t *out)
{
    if (glow_add_overflow(bytes, align - 1, out))
        return false;
    *out = *out / align * align;
    return true;
}

/* False if a size overflows. */
static bool
make_buffers(builder *b)
{
    const glow_accesses *x = b->x;
    glow_order_buffer *buffers =
        GLOW_NEW_ARRAY(x->arena, glow_order_buffer, x->n_buffers);
    uint32_t count = 0;

    b->number = GLOW_NEW_ARRAY(x->arena, uint32_t, x->n_buffers);
    for (size_t i = 0; i < x->n_buffers; i++) {
        const glow_shared_buffer *s = &x->buffers[i];
        int64_t bytes;

        b->number[i] = GLOW_NONE;
        if (s->storage || s->is_moved)
            continue;
        if (!glow_memory_round(glow_type_bytes(s->type), b->options->align,
                               &bytes))
            return false;
        if (bytes == 0)
            continue;
        buffers[count] = (glow_order_buffer){bytes, false};
        b->number[i] = count++;
    }
    b->stamp = GLOW_NEW_ARRAY(x->arena, uint32_t, count);
    b->m->problem.buffers = buffers;
    b->m->problem.n_buffers = count;
    return true;
}

/* Maps the values of the graph to the buffers, and back to a name of each. */
static void
name_buffers(const builder *b)
{
    glow_memory_model *m = b->m;
    const glow_graph_table *t = m->table;

    m->buffer = GLOW_NEW_ARRAY(b->x->arena, uint32_t, t->v->n_values);
    m->called =
        GLOW_NEW_ARRAY(b->x->arena, const glow_value *, m->problem.n_buffers);
    for (uint32_t v = 0; v < t->v->n_values; v++) {
        uint32_t buffer = b->x->values[t->value[v]].buffer;

        m->buffer[v] = b->number[buffer];
        if (m->buffer[v] != GLOW_NONE &&
            b->x->buffers[buffer].own == t->value[v])
            m->called[m->buffer[v]] = glow_value_numbered(t->v, v);
    }
}

static void
touch(builder *b, uint32_t node, uint32_t value)
{
    uint32_t i =
        value == GLOW_NONE ? GLOW_NONE : b->number[b->x->values[value].buffer];

    if (i == GLOW_NONE || b->stamp[i] == node + 1)
        return;
    b->stamp[i] = node + 1;
    b->all =
        glow_arena_grow(b->x->arena, b->all, b->count, &b->cap, sizeof *b->all);
    b->all[b->count++] = i;
}

static void
add_alias(builder *b, const glow_node *n, int out, int k)
{
    glow_part made, over;

    if (!glow_memory_in_place(b->m, n, out, k, &made, &over) ||
        made.buffer == over.buffer)
        return;
    uint32_t to = b->number[made.buffer], from = b->number[over.buffer];
    const glow_order_buffer *buffers = b->m->problem.buffers;

    if (to == GLOW_NONE || from == GLOW_NONE ||
        buffers[to].bytes > buffers[from].bytes)
        return;
    b->aliases = glow_arena_grow(b->x->arena, b->aliases, b->n_aliases,
                                 &b->cap_aliases, sizeof *b->aliases);
    b->aliases[b->n_aliases++] = (glow_order_alias){to, from};
}

/* The in-place updates that the order decides about. */
static void
add_aliases(builder *b, const glow_node *n)
{
    glow_inplace_at at = {0};

    while (glow_next_inplace(n, &at))
        add_alias(b, n, at.out, at.in);
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

/* Scratch bytes of the kernel of a step, in the layouts of the table. */
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

/* Adds a step to the task of its node; false if its scratch cannot be counted. */
static bool
add_step(builder *b, const glow_step *s)
{
    uint32_t node = glow_node_number(b->m->values, s->node);
    glow_order_task *task = &b->tasks[node];
    size_t count = b->count, aliases = b->n_aliases;
    int64_t bytes;

    for (int k = 0; k < s->n_in; k++)
        touch(b, node, s->in[k]);
    for (int k = 0; k < s->n_out; k++)
        touch(b, node, s->out[k]);
    touch(b, node, s->pred);
    if (b->options->sharing == GLOW_SHARING_ALL && !b->options->order)
        add_aliases(b, s->node);
    task->n_touches += (uint32_t)(b->count - count);
    task->n_aliases += (uint32_t)(b->n_aliases - aliases);
    if (!glow_memory_round(scratch_of(b->x, s), b->options->align, &bytes))
        return false;
    if (bytes > task->extra)
        task->extra = bytes;
    return true;
}

/* The steps of a Concat that is copied in parts are neighbours. */
static bool
add_tasks(builder *b)
{
    const glow_accesses *x = b->x;
    size_t at = 0, alias = 0;

    for (size_t i = 0; i < x->n_order; i++)
        if (!x->steps[x->order[i]].gone && !add_step(b, &x->steps[x->order[i]]))
            return false;
    for (size_t i = 0; i < x->n_order; i++) {
        const glow_node *n = x->steps[x->order[i]].node;
        glow_order_task *task = &b->tasks[glow_node_number(b->m->values, n)];

        if (task->touches)
            continue;
        task->touches = task->n_touches ? b->all + at : NULL;
        task->aliases = task->n_aliases ? b->aliases + alias : NULL;
        at += task->n_touches;
        alias += task->n_aliases;
    }
    return true;
}

bool
glow_memory_problem(glow_memory_model *m, const glow_memory_options *o)
{
    builder b = {.m = m,
                 .x = m->table->x,
                 .options = o,
                 .tasks = (glow_order_task *)m->problem.tasks};

    if (!make_buffers(&b))
        return false;
    name_buffers(&b);
    return add_tasks(&b);
}
