/*
 * Atoms of buffers, whose sizes make up the lower bound; lower_bound.c defines
 * them.
 */

#include "irgen/sharing/lower_bound.h"

enum {
    MOST_ATOMS = 256, /* of a buffer; further atoms are not counted */
    MOST_CUTS = 256,  /* of a buffer that one slice is compared with */
};

static const glow_node *
node_of(const glow_ground *g, uint32_t i)
{
    return g->t->v->nodes[i];
}

glow_made *
glow_made_of(const glow_ground *g, const glow_value *v)
{
    uint32_t base = glow_table_base(g->t, v);
    const glow_accesses *x = g->t->x;

    return base == GLOW_NONE || x->buffers[x->values[base].buffer].storage
               ? NULL
               : &g->of[x->values[base].buffer];
}

/* `maker`: the node that computes the elements. */
static uint32_t
add_atom(glow_ground *g, int64_t bytes, uint32_t maker)
{
    glow_arena *a = g->t->x->arena;

    g->atoms = glow_arena_grow(a, g->atoms, g->n_atoms, &g->cap_atoms,
                               sizeof *g->atoms);
    g->next =
        glow_arena_grow(a, g->next, g->n_atoms, &g->cap_next, sizeof *g->next);
    g->cutter = glow_arena_grow(a, g->cutter, g->n_atoms, &g->cap_cutter,
                                sizeof(const glow_node *));
    g->maker = glow_arena_grow(a, g->maker, g->n_atoms, &g->cap_maker,
                               sizeof *g->maker);
    g->maker[g->n_atoms] = maker;
    g->next[g->n_atoms] = GLOW_NO_VALUE;
    g->cutter[g->n_atoms] = NULL;
    g->atoms[g->n_atoms] = (glow_order_buffer){bytes > 0 ? bytes : 0, false};
    return (uint32_t)g->n_atoms++;
}

/* The count of the numbers a, a + step, ... (`n` of them) within [lo, hi]. */
static int64_t
count_within(int64_t a, int64_t step, int64_t n, int64_t lo, int64_t hi)
{
    int64_t first = lo <= a ? 0 : (lo - a + step - 1) / step;
    int64_t last = hi < a ? -1 : (hi - a) / step;

    last = last < n - 1 ? last : n - 1;
    return last < first ? 0 : last - first + 1;
}

static int64_t
step_of(const glow_slice *s, int axis)
{
    return s->steps.rank ? s->steps.at[axis] : 1;
}

/* Upper bound of the number of elements that slices `n` and `other` share. */
static int64_t
count_common(const glow_node *n, const glow_node *other)
{
    const glow_slice *a = n->attrs, *b = other->attrs;
    int64_t count = 1;

    if (n->in[0]->type != other->in[0]->type)
        return glow_type_count(n->out[0]->type);
    for (int i = 0; i < a->start.rank; i++)
        count *= count_within(a->start.at[i], step_of(a, i),
                              n->out[0]->type->shape.at[i], b->start.at[i],
                              b->start.at[i] +
                                  step_of(b, i) *
                                      (other->out[0]->type->shape.at[i] - 1));
    return count;
}

/* Makes the elements of slice `i` an atom of their own, taken from the atom of the
   source, unless the source has atoms of other buffers. */
static void
cut(glow_ground *g, uint32_t i, glow_made *out)
{
    const glow_node *n = node_of(g, i);
    glow_made *from = glow_made_of(g, n->in[0]);
    int64_t count = glow_type_count(n->out[0]->type), all = count;
    int left = MOST_CUTS;

    if (from->own == GLOW_NO_VALUE || from->n_more > 0)
        return;
    for (uint32_t x = from->cuts; x != GLOW_NO_VALUE && count > 0;
         x = g->next[x])
        count = left-- > 0 ? count - count_common(n, g->cutter[x]) : 0;
    if (count <= 0)
        return;
    int64_t bytes = glow_type_bytes(n->out[0]->type) / all * count;

    if (bytes > g->atoms[from->own].bytes)
        return;
    out->own = add_atom(g, bytes, g->maker[from->own]);
    g->atoms[from->own].bytes -= bytes;
    g->cutter[out->own] = n;
    g->next[out->own] = from->cuts;
    from->cuts = out->own;
    from->is_part = true;
}

static void
gather(glow_ground *g, const glow_made *x, glow_made *out)
{
    uint32_t most = MOST_ATOMS;

    if (out->n_more < most && x->own != GLOW_NO_VALUE)
        out->more[out->n_more++] = x->own;
    for (uint32_t k = x->cuts; k != GLOW_NO_VALUE && out->n_more < most;
         k = g->next[k])
        out->more[out->n_more++] = k;
    for (uint32_t k = 0; k < x->n_more && out->n_more < most; k++)
        out->more[out->n_more++] = x->more[k];
}

/* Gives the result of concat or insert `i` the atoms of the operands that may be
   computed in it, and an own atom for the other bytes.  The Big operand of an
   insert loses the bytes of Small. */
static void
put_together(glow_ground *g, uint32_t i, glow_made *out)
{
    const glow_node *n = node_of(g, i);
    const bool *may_be = &g->may_be[g->m->operand[i]];
    int64_t bytes = glow_type_bytes(n->out[0]->type);
    uint32_t room = 0;

    for (int k = 0; k < n->n_in; k++)
        if (may_be[k]) {
            const glow_made *x = glow_made_of(g, n->in[k]);

            bytes -= glow_type_bytes(n->in[k]->type);
            room += 1 + x->n_more;
            for (uint32_t c = x->cuts; c != GLOW_NO_VALUE; c = g->next[c])
                room++;
        }
    out->more = GLOW_NEW_ARRAY(g->t->x->arena, uint32_t,
                               room < MOST_ATOMS ? room : MOST_ATOMS);
    for (int k = 0; k < n->n_in; k++)
        if (may_be[k])
            gather(g, glow_made_of(g, n->in[k]), out);
    out->own = add_atom(g, bytes, i);
    out->is_part = true;
    if (!glow_is_insert(n) || !may_be[1] || !glow_made_of(g, n->in[0]))
        return;
    glow_made *big = glow_made_of(g, n->in[0]);

    if (big->own != GLOW_NO_VALUE) {
        int64_t *has = &g->atoms[big->own].bytes;

        bytes = glow_type_bytes(n->in[1]->type);
        *has = *has > bytes ? *has - bytes : 0;
    }
    big->is_part = true;
}

bool
glow_has_parts(const glow_ground *g, uint32_t i)
{
    const glow_node *n = node_of(g, i);

    return glow_is_concat(n) ||
           (glow_is_insert(n) && g->may_be[g->m->operand[i] + 1]);
}

/* Makes the atoms of the results of node `i`, in three rounds: round 0 for plain
   results, 1 for slices, 2 for concats and inserts. */
static void
make_atoms(glow_ground *g, uint32_t i, int round)
{
    const glow_node *n = node_of(g, i);
    int of = glow_has_parts(g, i) ? 2 : g->is_view[i] ? 1 : 0;

    for (int k = 0; k < n->n_out && of == round && !glow_table_is_gone(g->t, i);
         k++) {
        glow_made *out = glow_made_of(g, n->out[k]);

        if (!out || out->is_free)
            continue;
        if (of == 0)
            out->own = add_atom(g, glow_type_bytes(n->out[k]->type), i);
        else if (of == 1)
            cut(g, i, out);
        else
            put_together(g, i, out);
    }
}

/* Rounds sizes up to the alignment of alloc, for buffers that neither have parts
   nor are parts; false if a size overflows. */
static bool
round_atoms(glow_ground *g)
{
    for (uint32_t v = 0; v < g->t->x->n_buffers; v++) {
        const glow_made *x = &g->of[v];
        int64_t *bytes;

        if (x->own == GLOW_NO_VALUE || x->is_part)
            continue;
        bytes = &g->atoms[x->own].bytes;
        if (glow_add_overflow(*bytes, g->align - 1, bytes))
            return false;
        *bytes = *bytes / g->align * g->align;
    }
    return true;
}

bool
glow_make_atoms(glow_ground *g)
{
    const uint32_t *node = g->m->ranks->node;

    for (int round = 0; round < 3; round++)
        for (uint32_t r = 0; r < g->t->v->n_nodes; r++)
            make_atoms(g, node[r], round);
    return round_atoms(g);
}
