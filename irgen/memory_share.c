/*
 * What of a graph will be in one buffer, in whatever order it runs; or in the
 * one order that is given.
 *
 * The rules are those of the passes over programs, in the same order:
 *
 *   propagate-copy   what is saved is computed in the placeholder, a copy is what
 *                    is copied
 *   view-slice       what is cut out is read where it lies
 *   share-buffers    a chain of instructions works in one buffer
 *   join-parts       what is put together is computed there, and with it the
 *                    whole chain; so nothing may work in place on what a concat
 *                    will read, while that can still become a part
 */

#include "irgen/memory_model.h"

/* Of a placeholder that is saved to. */
typedef struct target {
    uint32_t *readers;
    uint32_t n_readers;
    bool taken; /* something is computed there */
} target;

typedef struct sharer {
    glow_memory_model *m;
    glow_classes *c;
    const glow_memory_options *options;
    glow_map *targets; /* by name */
    bool *is_part;     /* by value: a concat will read it */
    bool *is_changed;  /* by value: somebody works in place on it, or on what
                          it has become a part of */
    bool *is_over;     /* by value: it is what works in place */
} sharer;

static glow_node *
node_of(const sharer *s, uint32_t i)
{
    return s->c->v->nodes[i];
}

static bool
is_apart(const sharer *s, uint32_t i)
{
    return s->options->apart && s->options->apart[i];
}

/* Outputs. */

static bool
is_save(const glow_node *n)
{
    return n->op == &glow_op_save && !n->pred;
}

/* Notes who reads what is saved to: all that its Save waits for but for what it
   needs itself. */
static void
find_targets(sharer *s)
{
    s->targets = glow_map_new(s->c->arena);
    for (uint32_t i = 0; i < s->c->v->n_nodes; i++) {
        const glow_node *n = node_of(s, i);
        const glow_order_task *t = &s->m->problem.tasks[i];
        target *to;

        if (n->op != &glow_op_save)
            continue;
        uint32_t own =
            (n->in[0]->def ? 1u : 0u) + (n->pred && n->pred->def ? 1u : 0u);

        to = GLOW_NEW(s->c->arena, target);
        to->readers = GLOW_NEW_ARRAY(s->c->arena, uint32_t, t->n_before);
        for (uint32_t k = own; k < t->n_before; k++)
            to->readers[to->n_readers++] = t->before[k];
        glow_map_set(s->targets, n->in[1]->storage->name, to);
    }
}

static target *
target_of(const sharer *s, const glow_storage *storage)
{
    return glow_map_get(s->targets, storage->name);
}

/* Computes what is saved in the placeholder. */
static void
claim_output(sharer *s, const glow_node *n)
{
    glow_storage *storage = n->in[1]->storage;
    target *to = target_of(s, storage);
    glow_lying at;

    if (!n->in[0]->def || !glow_classes_find(s->c, n->in[0], &at) ||
        !glow_lying_is_all(s->c, &at) || to->taken ||
        !glow_ranks_precede(s->m->ranks, to->readers, to->n_readers,
                            s->c->v->def[at.class]))
        return;
    to->taken = true;
    s->c->storage[at.class] = storage;
}

/* Copies and slices. */

/* May it be read for as long as anybody likes? */
static bool
stays(const sharer *s, const glow_lying *at)
{
    return at->class != GLOW_NO_VALUE || !target_of(s, at->storage);
}

/* Lets the only result of node `i` be where `to` says. */
static void
lie(sharer *s, uint32_t i, const glow_lying *to)
{
    glow_class_lie(s->c, s->c->v->first[i], to);
    s->c->gone[i] = true;
}

static void
drop_copy(sharer *s, uint32_t i)
{
    const glow_node *n = node_of(s, i);
    glow_lying from, to;

    if (!glow_classes_find(s->c, n->in[0], &from) ||
        !glow_classes_find(s->c, n->out[0], &to) || !stays(s, &from) ||
        from.type.strides.rank)
        return;
    if (to.storage && glow_lying_is_all(s->c, &from)) {
        glow_class_lie(s->c, from.class, &to);
        s->c->gone[i] = true;
    } else if (!to.storage) {
        lie(s, i, &from);
    }
}

static bool
goes_forward(const glow_slice *slice)
{
    for (int i = 0; i < slice->steps.rank; i++)
        if (slice->steps.at[i] < 0)
            return false;
    return true;
}

static void
view_slice(sharer *s, uint32_t i)
{
    const glow_node *n = node_of(s, i);
    const glow_slice *slice = n->attrs;
    glow_lying at, to;

    if (n->in[0]->storage && n->in[0]->storage->is_constant)
        return;
    if (!glow_classes_find(s->c, n->out[0], &at) ||
        !glow_lying_is_all(s->c, &at) ||
        !glow_classes_find(s->c, n->in[0], &to) || !stays(s, &to) ||
        !goes_forward(slice) || glow_type_count(n->out[0]->type) == 0)
        return;
    to.type = glow_type_box(&to.type, slice->start, slice->steps,
                            n->out[0]->type->shape, &to.first);
    if (!glow_class_can_lie(s->c, at.class, &to, n))
        return;
    s->m->could[i] = true;
    if (!is_apart(s, i))
        lie(s, i, &to);
}

/* In place. */

bool
glow_memory_in_place(const glow_memory_model *m, const glow_node *n, int out,
                     int k, glow_lying *made, glow_lying *over)
{
    const glow_value *a = n->in[k], *r = n->out[out];
    glow_lying other;

    if (n->pred || (n->op->traits & GLOW_UNKNOWN) || !a || !a->def ||
        a->type != r->type || !glow_classes_find(m->classes, a, over) ||
        !glow_lying_is_all(m->classes, over) ||
        !glow_classes_find(m->classes, r, made))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->def &&
            (n->in[i] != a || !glow_may_be_inplace(n, out, i)) &&
            (!glow_classes_find(m->classes, n->in[i], &other) ||
             other.class == over->class))
            return false;
    for (int i = 0; i < n->n_out; i++)
        if (!glow_classes_find(m->classes, n->out[i], &other) ||
            other.class == over->class)
            return false;
    return true;
}

/* Is it a whole buffer, and if that is a placeholder, does nobody read it? */
static bool
is_free(const sharer *s, const glow_lying *made)
{
    const target *t = made->storage ? target_of(s, made->storage) : NULL;

    return made->storage ? t && t->n_readers == 0
                         : glow_lying_is_all(s->c, made);
}

static bool
share(sharer *s, uint32_t i, int out, int k)
{
    const glow_node *n = node_of(s, i);
    glow_lying made, over;
    uint32_t a = n->in[k] ? glow_value_base(s->c->v, n->in[k]) : GLOW_NO_VALUE;
    uint32_t r = s->c->v->first[i] + (uint32_t)out;

    if (a == GLOW_NO_VALUE || s->is_part[a] || s->is_over[r] ||
        !glow_memory_in_place(s->m, n, out, k, &made, &over) ||
        !is_free(s, &made) ||
        !glow_ranks_is_last(s->m->ranks, s->c, over.class, i))
        return false;
    bool alone = s->c->next[made.class] == made.class;

    s->c->storage[over.class] = made.storage;
    glow_class_lie(s->c, made.class, &over);
    if (alone)
        s->c->latest[over.class] = r;
    s->is_changed[a] = s->is_over[r] = true;
    return true;
}

static bool
share_one(sharer *s, uint32_t i)
{
    const glow_node *n = node_of(s, i);
    glow_inplace_at at = {0};

    while (glow_next_inplace(n, &at))
        if (share(s, i, at.out, at.in))
            return true;
    return false;
}

/* Parts. */

static bool
is_concat(const glow_node *n)
{
    return n->op == &glow_op_concat && !n->pred;
}

static void
find_parts(sharer *s)
{
    for (uint32_t i = 0; i < s->c->v->n_nodes; i++) {
        const glow_node *n = node_of(s, i);

        for (int k = 0; is_concat(n) && !is_apart(s, i) && k < n->n_in; k++) {
            uint32_t v = glow_value_base(s->c->v, n->in[k]);

            if (v != GLOW_NO_VALUE)
                s->is_part[v] = true;
        }
    }
}

/* What is written to `whole` later is written to all of the class. */
static void
pass_change(sharer *s, uint32_t class, uint32_t whole)
{
    uint32_t v = class;

    do {
        s->is_changed[v] |= s->is_changed[whole];
        v = s->c->next[v];
    } while (v != class);
}

/* Joins operand `k` to what lies at `to`. */
static void
join(sharer *s, uint32_t i, int k, const glow_lying *to)
{
    const glow_node *n = node_of(s, i);
    uint32_t whole = s->c->v->first[i];
    glow_lying a;

    if (glow_type_count(n->in[k]->type) == 0 || !n->in[k]->def ||
        !glow_classes_find(s->c, n->in[k], &a) ||
        !glow_lying_is_all(s->c, &a) || a.class == to->class ||
        (s->is_changed[whole] &&
         !glow_ranks_is_last(s->m->ranks, s->c, a.class, i)) ||
        !glow_class_can_lie(s->c, a.class, to, n))
        return;
    s->m->could[i] = true;
    if (is_apart(s, i))
        return;
    pass_change(s, a.class, whole);
    glow_class_lie(s->c, a.class, to);
}

static void
join_parts(sharer *s, uint32_t i)
{
    const glow_node *n = node_of(s, i);
    const glow_concat *concat = n->attrs;
    glow_dims at = {.rank = n->out[0]->type->shape.rank};
    glow_lying whole;

    if (!glow_classes_find(s->c, n->out[0], &whole))
        return;
    for (int k = 0; k < n->n_in; k++) {
        glow_dims shape = n->in[k]->type->shape;
        glow_lying to = whole;

        to.type =
            glow_type_box(&whole.type, at, (glow_dims){0}, shape, &to.first);
        at.at[concat->dim] += shape.at[concat->dim];
        join(s, i, k, &to);
    }
}

static void
each_by_rank(sharer *s)
{
    const uint32_t *node = s->m->ranks->node;
    uint32_t count = s->c->v->n_nodes;

    for (uint32_t i = 0; i < count; i++)
        if (is_save(node_of(s, node[i])))
            claim_output(s, node_of(s, node[i]));
    for (uint32_t i = 0; i < count; i++)
        if (node_of(s, node[i])->op == &glow_op_copy &&
            !node_of(s, node[i])->pred)
            drop_copy(s, node[i]);
    for (uint32_t i = 0; i < count; i++)
        if (node_of(s, node[i])->op == &glow_op_slice &&
            !node_of(s, node[i])->pred)
            view_slice(s, node[i]);
    find_parts(s);
    for (uint32_t i = 0; i < count; i++)
        share_one(s, node[i]);
    for (uint32_t i = count; i-- > 0;)
        if (is_concat(node_of(s, node[i])))
            join_parts(s, node[i]);
    for (uint32_t i = 0; i < s->c->v->n_values; i++)
        s->is_part[i] = false;
    for (uint32_t i = 0; i < count; i++)
        share_one(s, node[i]);
}

void
glow_memory_share(glow_memory_model *m, const glow_memory_options *o)
{
    glow_classes *c = m->classes;
    sharer s = {.m = m, .c = c, .options = o};

    s.is_part = GLOW_NEW_ARRAY(c->arena, bool, c->v->n_values);
    s.is_over = GLOW_NEW_ARRAY(c->arena, bool, c->v->n_values);
    s.is_changed = GLOW_NEW_ARRAY(c->arena, bool, c->v->n_values);
    find_targets(&s);
    each_by_rank(&s);
    for (uint32_t i = 0; i < c->v->n_nodes; i++)
        m->n_could += m->could[i];
}
