/*
 * Numbering of the nodes and values of a graph.
 */

#include "irgen/values.h"

#include <string.h>

bool
glow_is_written(const glow_node *n, int i)
{
    if (glow_op_operands(n->op) == 0)
        return false;
    return n->op->in[glow_operand_of(n, i)].kind == GLOW_WRITTEN;
}

bool
glow_is_view(const glow_node *n)
{
    return n->op == &glow_op_reshape && !n->pred &&
           n->in[0]->type->strides.rank == 0 &&
           n->out[0]->type->strides.rank == 0;
}

glow_storage *
glow_storage_under(const glow_value *v)
{
    while (v->def && glow_is_view(v->def))
        v = v->def->in[0];
    return v->storage;
}

uint32_t
glow_node_number(const glow_values *v, const glow_node *n)
{
    return glow_number_of(&v->numbers, n);
}

uint32_t
glow_value_number(const glow_values *v, const glow_value *value)
{
    return v->first[glow_node_number(v, value->def)] + (uint32_t)value->index;
}

const glow_value *
glow_value_numbered(const glow_values *v, uint32_t number)
{
    uint32_t node = v->def[number];

    return v->nodes[node]->out[number - v->first[node]];
}

uint32_t
glow_value_base(const glow_values *v, const glow_value *value)
{
    return value->def ? v->base[glow_value_number(v, value)] : GLOW_NO_VALUE;
}

/* The base of `value`: its own, where known, or the end of the chain of views. */
static uint32_t
find_base(const glow_values *v, const glow_value *value)
{
    while (value->def && glow_is_view(value->def)) {
        uint32_t known = v->base[glow_value_number(v, value)];

        if (known != GLOW_NO_VALUE)
            return known;
        value = value->def->in[0];
    }
    return value->def ? glow_value_number(v, value) : GLOW_NO_VALUE;
}

/* Sets the base of a value and of all views between. */
static void
set_base(glow_values *v, const glow_value *value)
{
    uint32_t base = find_base(v, value);

    while (value->def) {
        uint32_t *at = &v->base[glow_value_number(v, value)];

        if (*at != GLOW_NO_VALUE)
            return;
        *at = base;
        if (!glow_is_view(value->def))
            return;
        value = value->def->in[0];
    }
}

glow_node *
glow_values_writer(const glow_values *v, const glow_value *storage)
{
    return glow_map_get(v->writers, storage->storage->name);
}

glow_values *
glow_values_new(glow_arena *a, glow_func *f)
{
    glow_values *v = GLOW_NEW(a, glow_values);
    size_t nodes = (size_t)f->count;

    v->numbers = glow_number_nodes(a, f);
    v->nodes = GLOW_NEW_ARRAY(a, glow_node *, nodes);
    v->first = GLOW_NEW_ARRAY(a, uint32_t, nodes);
    v->writers = glow_map_new(a);
    GLOW_FOR_EACH_NODE(n, f) {
        v->first[v->n_nodes] = v->n_values;
        v->nodes[v->n_nodes++] = n;
        v->n_values += (uint32_t)n->n_out;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && n->in[i]->storage && glow_is_written(n, i) &&
                !glow_values_writer(v, n->in[i]))
                glow_map_set(v->writers, n->in[i]->storage->name, n);
    }
    v->bytes = GLOW_NEW_ARRAY(a, int64_t, v->n_values);
    v->base = GLOW_NEW_ARRAY(a, uint32_t, v->n_values);
    v->def = GLOW_NEW_ARRAY(a, uint32_t, v->n_values);
    memset(v->base, 0xff, v->n_values * sizeof(*v->base));
    for (uint32_t i = 0; i < v->n_nodes; i++)
        for (int k = 0; k < v->nodes[i]->n_out; k++) {
            set_base(v, v->nodes[i]->out[k]);
            v->def[v->first[i] + (uint32_t)k] = i;
            if (!glow_is_view(v->nodes[i]))
                v->bytes[v->first[i] + (uint32_t)k] =
                    glow_type_bytes(v->nodes[i]->out[k]->type);
        }
    return v;
}
