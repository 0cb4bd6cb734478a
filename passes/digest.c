/*
 * Digest of a function: a hash over its nodes, one multiplication (Fibonacci
 * hashing, as in Knuth, The Art of Computer Programming 3, section 6.4) for each
 * pointer.  Attributes are hashed by content.
 */

#include "passes/digest.h"

static uint64_t
add(uint64_t h, const void *p)
{
    h = (h ^ (uint64_t)(uintptr_t)p) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static uint64_t
add_place(uint64_t h, const glow_place *p)
{
    if (!p)
        return add(h, NULL);
    h = add(h, p->region);
    h = add(h, (const void *)(uintptr_t)p->offset);
    return add(h, (const void *)(uintptr_t)(p->size * 2 + p->is_fixed));
}

static uint64_t
add_node(uint64_t h, const glow_node *n)
{
    h = add(add(h, n->op), n->name);
    for (int i = 0; i < n->n_in; i++)
        h = add(h, n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        h = add(add(h, n->out[i]), n->out[i]->type);
    h = add(add(add(h, n->pred), n->scratch), n->loc);
    if (n->attrs && !(n->op->traits & GLOW_UNKNOWN))
        h = glow_attrs_hash(glow_op_schema(n->op), n->attrs, h);
    return add_place(h, n->place);
}

uint64_t
glow_func_digest(const glow_func *f)
{
    uint64_t h = (uint64_t)f->scheduled * 2 + (uint64_t)f->placed;

    GLOW_FOR_EACH_NODE(n, f)
        h = add_node(h, n);
    return h;
}
