/* Loads, stores and live bytes of scratchpads: see loads.h. */

#include "irgen/engines/loads.h"

#include "glow/number.h"
#include "glow/ops.h"
#include "irgen/spaces.h"

const glow_space *
glow_buffer_space(const glow_target *t, const glow_value *v)
{
    return glow_target_space(
        t, glow_space_for(t, glow_base_buffer((glow_value *)v)->def));
}

static bool
is_scratchpad(const glow_space *s)
{
    return s && !s->is_host;
}

static bool
is_host(const glow_space *s)
{
    return s && s->is_host;
}

bool
glow_is_work(const glow_node *n)
{
    return !(n->op->traits & GLOW_STRUCTURAL);
}

bool
glow_is_load(const glow_target *t, const glow_node *n)
{
    if ((n->op != &glow_op_copy && n->op != &glow_op_pad) || n->pred ||
        n->out[0]->def->op != &glow_op_alloc ||
        !is_scratchpad(glow_buffer_space(t, n->out[0])) ||
        !is_host(glow_buffer_space(t, n->in[0])))
        return false;
    GLOW_FOR_EACH_USE(u, n->out[0])
        if ((u->writes && u->user != n && u->user->op != &glow_op_dealloc) ||
            u->user->op == &glow_op_tensorview)
            return false;
    return true;
}

bool
glow_is_store(const glow_target *t, const glow_node *n)
{
    int scratch = 0;

    if (!glow_is_work(n) || n->n_out != 1 || n->pred ||
        !is_host(glow_buffer_space(t, n->out[0])))
        return false;
    for (int i = 0; i < n->n_in; i++)
        scratch += n->in[i] && is_scratchpad(glow_buffer_space(t, n->in[i]));
    return scratch > 0;
}

glow_node *
glow_dealloc_of(const glow_node *alloc)
{
    GLOW_FOR_EACH_USE(u, alloc->out[0])
        if (u->user->op == &glow_op_dealloc)
            return u->user;
    return NULL;
}

int64_t
glow_space_round(const glow_space *s, int64_t bytes)
{
    int64_t align = s->align ? s->align : 64; /* as alloc */

    return (bytes + align - 1) / align * align;
}

int64_t
glow_space_bytes(const glow_space *s, const glow_node *alloc)
{
    return glow_space_round(s, glow_type_bytes(alloc->out[0]->type));
}

space_load *
glow_space_load(glow_arena *a, const glow_target *t, glow_func *f,
                const glow_space *s)
{
    space_load *l = GLOW_NEW(a, space_load);
    int64_t now = 0, i = 0;

    l->target = t;
    l->space = s;
    l->numbers = glow_number_nodes(a, f);
    l->nodes = GLOW_NEW_ARRAY(a, glow_node *, f->count);
    l->live = GLOW_NEW_ARRAY(a, int64_t, f->count);
    l->count = f->count;
    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op == &glow_op_alloc && !glow_is_token(n) &&
            glow_buffer_space(t, n->out[0]) == s)
            now += glow_space_bytes(s, n);
        l->nodes[i] = n;
        l->live[i++] = now;
        if (n->op == &glow_op_dealloc && !glow_is_token(n->out[0]->def) &&
            glow_buffer_space(t, n->out[0]) == s)
            now -= glow_space_bytes(s, n->out[0]->def);
    }
    return l;
}

int64_t
glow_space_peak(const space_load *l, int64_t from, int64_t to)
{
    int64_t peak = 0;

    for (int64_t i = from; i < to; i++)
        peak = l->live[i] > peak ? l->live[i] : peak;
    return peak;
}

void
glow_space_add(space_load *l, int64_t from, int64_t to, int64_t bytes)
{
    for (int64_t i = from; i < to; i++)
        l->live[i] += bytes;
}
