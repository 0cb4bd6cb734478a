/*
 * Copy elimination that holds in every order of a graph: the effect of
 * propagate-copy and update-in-place on outputs and copies, and the conditions of
 * view-slice.
 */

#include "irgen/sharing/share.h"

static glow_node *
node_of(const glow_sharer *s, uint32_t i)
{
    return s->t->v->nodes[i];
}

/* Outputs. */

static bool
is_save(const glow_node *n)
{
    return n->op == &glow_op_save && !n->pred;
}

/* Collects the readers of each placeholder that is saved to: the predecessors of
   its Save without the definitions of the Save's own operands. */
static void
find_targets(glow_sharer *s)
{
    s->targets = glow_map_new(s->t->x->arena);
    for (uint32_t i = 0; i < s->t->v->n_nodes; i++) {
        const glow_node *n = node_of(s, i);
        const glow_order_task *t = &s->m->problem.tasks[i];
        glow_target *to;

        if (n->op != &glow_op_save)
            continue;
        uint32_t own =
            (n->in[0]->def ? 1u : 0u) + (n->pred && n->pred->def ? 1u : 0u);

        to = GLOW_NEW(s->t->x->arena, glow_target);
        to->readers = GLOW_NEW_ARRAY(s->t->x->arena, uint32_t, t->n_before);
        for (uint32_t k = own; k < t->n_before; k++)
            to->readers[to->n_readers++] = t->before[k];
        glow_map_set(s->targets, n->in[1]->storage->name, to);
    }
}

glow_target *
glow_target_of(const glow_sharer *s, const glow_storage *storage)
{
    return glow_map_get(s->targets, storage->name);
}

/* True if update-in-place lets `n` overwrite the placeholder that it reads: each
   read is by an in-place pair with result 0. */
static bool
updates(const glow_node *n, const glow_storage *storage)
{
    glow_inplace_at at = {0};
    int reads = 0, pairs = 0;

    for (int k = 0; k < n->n_in; k++)
        reads += n->in[k] && n->in[k]->storage == storage;
    while (glow_next_inplace(n, &at))
        pairs += at.out == 0 && n->in[at.in] &&
                 n->in[at.in]->storage == storage &&
                 n->in[at.in]->type == n->out[0]->type;
    return reads > 0 && reads == pairs && !n->pred;
}

/* True if all readers of the placeholder precede node `def`, except `def` itself
   if it updates the placeholder in place. */
static bool
is_read_before(const glow_sharer *s, const glow_target *to, uint32_t def,
               const glow_storage *storage)
{
    uint32_t count = to->n_readers;

    for (uint32_t i = 0; i < count; i++)
        if (to->readers[i] == def && updates(node_of(s, def), storage)) {
            to->readers[i] =
                to->readers[--count]; /* the readers are a set, in no order */
            to->readers[count] = def;
            break;
        }
    return glow_ranks_precede(s->m->ranks, to->readers, count, def);
}

/* Lets the operand of Save `n` be computed in the placeholder, if the readers of
   the placeholder precede its definition. */
static void
claim_output(glow_sharer *s, const glow_node *n)
{
    glow_storage *storage = n->in[1]->storage;
    glow_target *to = glow_target_of(s, storage);
    glow_part at;

    if (!n->in[0]->def || !glow_table_find(s->t, n->in[0], &at) ||
        !glow_table_is_all(s->t, &at) || to->taken ||
        !is_read_before(s, to, s->t->v->def[glow_value_base(s->t->v, n->in[0])],
                        storage))
        return;
    to->taken = true;
    s->t->x->buffers[at.buffer].storage = storage;
}

/* Copies and slices. */

/* True if no Save overwrites the bytes of part `at`. */
static bool
stays(const glow_sharer *s, const glow_part *at)
{
    return at->buffer >= s->t->n_stored ||
           !glow_target_of(s, glow_table_storage(s->t, at));
}

void
glow_share_move(glow_sharer *s, uint32_t i, const glow_part *to)
{
    const glow_graph_table *t = s->t;

    glow_table_move(t, t->x->values[t->value[t->v->first[i]]].buffer, to);
    glow_table_drop(t, i);
}

static void
drop_copy(glow_sharer *s, uint32_t i)
{
    const glow_node *n = node_of(s, i);
    glow_part from, to;

    if (!glow_table_find(s->t, n->in[0], &from) ||
        !glow_table_find(s->t, n->out[0], &to) || !stays(s, &from) ||
        from.type.strides.rank)
        return;
    if (glow_table_storage(s->t, &to) && glow_table_is_all(s->t, &from)) {
        glow_table_move(s->t, from.buffer, &to);
        glow_table_drop(s->t, i);
    } else if (!glow_table_storage(s->t, &to)) {
        glow_share_move(s, i, &from);
    }
}

void
glow_share_outputs(glow_sharer *s)
{
    const uint32_t *node = s->m->ranks->node;
    uint32_t count = s->t->v->n_nodes;

    find_targets(s);
    for (uint32_t i = 0; i < count; i++)
        if (is_save(node_of(s, node[i])))
            claim_output(s, node_of(s, node[i]));
    for (uint32_t i = 0; i < count; i++)
        if (node_of(s, node[i])->op == &glow_op_copy &&
            !node_of(s, node[i])->pred)
            drop_copy(s, node[i]);
}

bool
glow_may_view(glow_sharer *s, uint32_t i, glow_part *at, glow_part *to)
{
    const glow_node *n = node_of(s, i);
    const glow_slice *slice = n->attrs;

    if ((n->in[0]->storage && n->in[0]->storage->is_constant) ||
        !glow_table_find(s->t, n->out[0], at) || !glow_table_is_all(s->t, at) ||
        !glow_table_find(s->t, n->in[0], to) || !stays(s, to) ||
        !glow_steps_forward(slice->steps) ||
        glow_type_count(n->out[0]->type) == 0)
        return false;
    to->type = glow_type_box(&to->type, slice->start, slice->steps,
                             n->out[0]->type->shape, &to->first);
    return glow_table_can_move(s->t, at->buffer, to, i);
}

glow_part
glow_part_at(const glow_node *n, const glow_part *whole, int k, glow_dims *at)
{
    const glow_concat *concat = n->attrs;
    glow_dims shape = n->in[k]->type->shape;
    glow_part to = *whole;

    to.type =
        glow_type_box(&whole->type, *at, (glow_dims){0}, shape, &to.first);
    at->at[concat->dim] += shape.at[concat->dim];
    return to;
}

bool
glow_is_concat(const glow_node *n)
{
    return n->op == &glow_op_concat && !n->pred;
}

bool
glow_is_insert(const glow_node *n)
{
    return n->op == &glow_op_inserttensor && !n->pred &&
           ((const glow_inserttensor *)n->attrs)->count == 1;
}
