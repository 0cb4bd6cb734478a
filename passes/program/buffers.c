/*
 * Queries about buffers; see buffers.h.
 */

#include "passes/program/buffers.h"

bool
glow_buffer_is_accessed_by(const glow_node *n)
{
    return n->op != &glow_op_alloc && n->op != &glow_op_weight &&
           n->op != &glow_op_tensorview && n->op != &glow_op_dealloc;
}

bool
glow_buffer_is_alloc(const glow_value *v)
{
    return v->def->op == &glow_op_alloc;
}

bool
glow_buffer_is_loose(const glow_value *v)
{
    return glow_buffer_is_alloc(v) && !glow_is_fixed(v->def) &&
           !glow_space_of(v->def);
}
