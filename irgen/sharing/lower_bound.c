/*
 * Lower bound on the peak memory of all programs of a graph, for every order and
 * every choice of the operands that are joined, viewed or copied.
 *
 * The passes over programs decide for each part whether it is computed in the
 * result of its concat, so an order that is optimal if all parts are joined, or
 * all are copied, need not be optimal.  Here each element counts once: from its
 * definition to its last use, also as a part of another value.  The bytes of a
 * buffer are therefore divided into atoms, and the live range of an atom is
 * contained in that of its bytes in any program:
 *
 *   slice    the elements of the slice are an atom, live until their last use;
 *            the source keeps the other bytes, live until its own last use.
 *            Elements that two slices share belong to the first one.
 *   concat   has the atoms of its parts, and an own atom for the parts that must
 *            be copied
 *   insert   has the atoms of Small, and an own atom for the rest; Big keeps the
 *            rest alone
 *
 * In-place updates are aliases, as in the model of an open order.  If the atom of
 * the result does not fit into that of the operand, the result counts from its
 * first user on.  A buffer that may be in a placeholder in some order counts no
 * bytes.
 *
 * A live buffer of any program has at least the bytes of its live atoms.  So the
 * optimum of this ordering problem is a lower bound for every order and choice.
 */

#include "irgen/sharing/lower_bound.h"

static const glow_node *
node_of(const glow_ground *g, uint32_t i)
{
    return g->t->v->nodes[i];
}

/* True if the value is in a placeholder, or may be in some order. */
static bool
is_free(const glow_ground *g, const glow_value *v)
{
    const glow_made *x = glow_made_of(g, v);

    return !x || x->is_free;
}

/* Values that may be computed in a part of another buffer. */

static bool
may_share(const glow_ground *g, const glow_value *v, const glow_part *to)
{
    glow_part a;

    return glow_made_of(g, v) && glow_type_count(v->type) > 0 &&
           glow_table_find(g->t, v, &a) && glow_table_is_all(g->t, &a) &&
           glow_table_could_move(g->t, a.buffer, to);
}

static void
find_parts(glow_ground *g, uint32_t i)
{
    const glow_node *n = node_of(g, i);
    bool *may_be = &g->may_be[g->m->operand[i]];
    glow_dims at = {.rank = n->n_out ? n->out[0]->type->shape.rank : 0};
    glow_part whole, to;

    if (n->op == &glow_op_slice && !n->pred)
        g->is_view[i] = glow_may_view(g->s, i, &whole, &to);
    if ((!glow_is_concat(n) && !glow_is_insert(n)) ||
        !glow_table_find(g->t, n->out[0], &whole))
        return;
    if (glow_is_insert(n)) {
        const glow_inserttensor *t = n->attrs;

        to = whole;
        to.type = glow_type_box(&to.type, t->start, (glow_dims){0},
                                n->in[1]->type->shape, &to.first);
        may_be[1] = may_share(g, n->in[1], &to);
        return;
    }
    for (int k = 0; k < n->n_in; k++) {
        to = glow_part_at(n, &whole, k, &at);
        may_be[k] = may_share(g, n->in[k], &to);
    }
}

/* Marks the operands of node `i` that may be computed in a placeholder: of a
   Save, or by an in-place pair or as a part if the result may be in one.  Users
   come first. */
static void
free_operands(glow_ground *g, uint32_t i)
{
    const glow_node *n = node_of(g, i);
    glow_inplace_at at = {0};

    if (n->op == &glow_op_save && !n->pred && glow_made_of(g, n->in[0]))
        glow_made_of(g, n->in[0])->is_free = true;
    while (glow_next_inplace(n, &at))
        if (is_free(g, n->out[at.out]) && glow_made_of(g, n->in[at.in]))
            glow_made_of(g, n->in[at.in])->is_free = true;
    for (int k = 0; k < n->n_in; k++)
        if (g->may_be[g->m->operand[i] + (uint32_t)k]) {
            glow_made_of(g, n->in[k])->is_part = true;
            glow_made_of(g, n->in[k])->is_free |= is_free(g, n->out[0]);
        }
}

/* Marks the result of slice `i` if its source may be in a placeholder. */
static void
free_view(glow_ground *g, uint32_t i)
{
    const glow_node *n = node_of(g, i);

    if (g->is_view[i] && is_free(g, n->in[0]) && glow_made_of(g, n->out[0]))
        glow_made_of(g, n->out[0])->is_free = true;
}

/* Tasks. */

static void
touch_atom(glow_ground *g, uint32_t i, uint32_t x)
{
    if (x == GLOW_NO_VALUE || g->stamp[x] == i + 1)
        return;
    g->stamp[x] = i + 1;
    g->list = glow_arena_grow(g->t->x->arena, g->list, g->count, &g->cap,
                              sizeof *g->list);
    g->list[g->count++] = x;
}

static void
touch(glow_ground *g, uint32_t i, const glow_value *v)
{
    const glow_made *x = glow_made_of(g, v);

    if (!x)
        return;
    touch_atom(g, i, x->own);
    for (uint32_t k = x->cuts; k != GLOW_NO_VALUE; k = g->next[k])
        touch_atom(g, i, k);
    for (uint32_t k = 0; k < x->n_more; k++)
        touch_atom(g, i, x->more[k]);
}

/* True if the in-place pair may share a buffer and its values count bytes. */
static bool
is_pair(const glow_ground *g, const glow_node *n, const glow_inplace_at *at)
{
    glow_part to, over;

    return !is_free(g, n->out[at->out]) && !is_free(g, n->in[at->in]) &&
           glow_memory_in_place(g->m, n, at->out, at->in, &to, &over) &&
           to.buffer != over.buffer;
}

/* True if an alias of two atoms expresses the in-place update: result `r` has no
   cuts, and its own atom fits into that of operand `a`. */
static bool
is_alias(const glow_ground *g, const glow_made *r, const glow_made *a)
{
    return r->cuts == GLOW_NO_VALUE && r->own != GLOW_NO_VALUE &&
           a->own != GLOW_NO_VALUE &&
           g->atoms[r->own].bytes <= g->atoms[a->own].bytes;
}

static bool
is_nothing(const glow_made *a)
{
    return a->own == GLOW_NO_VALUE && a->n_more == 0;
}

/*
 * Lets a result count from its first user on, if an alias of two atoms does not
 * express its in-place update, or if the operand itself counts from its first
 * user on: the live range of the operand would otherwise begin at the update that
 * ends it.
 */
static void
find_late(const glow_ground *g, uint32_t i)
{
    const glow_node *n = node_of(g, i);
    glow_inplace_at at = {0};

    if (glow_table_is_gone(g->t, i) || g->is_view[i] || glow_is_concat(n))
        return;
    while (glow_next_inplace(n, &at))
        if (is_pair(g, n, &at)) {
            glow_made *r = glow_made_of(g, n->out[at.out]);
            const glow_made *a = glow_made_of(g, n->in[at.in]);

            r->is_late |= !is_nothing(a) && (!is_alias(g, r, a) || a->is_late);
        }
}

static void
add_aliases(glow_ground *g, const glow_node *n)
{
    glow_inplace_at at = {0};

    while (glow_next_inplace(n, &at)) {
        const glow_made *r = glow_made_of(g, n->out[at.out]);
        const glow_made *a = glow_made_of(g, n->in[at.in]);

        if (!is_pair(g, n, &at) || r->is_late || is_nothing(a))
            continue;
        g->aliases = glow_arena_grow(g->t->x->arena, g->aliases, g->n_aliases,
                                     &g->cap_aliases, sizeof *g->aliases);
        g->aliases[g->n_aliases++] = (glow_order_alias){r->own, a->own};
    }
}

static bool
add_task(glow_ground *g, uint32_t i, glow_order_task *task)
{
    const glow_node *n = node_of(g, i);
    size_t count = g->count, aliases = g->n_aliases;

    if (glow_table_is_gone(g->t, i))
        return true;
    if (!g->is_view[i] && !glow_is_concat(n))
        add_aliases(g, n);
    for (int k = 0; k < n->n_in; k++)
        touch(g, i, n->in[k]);
    for (int k = 0; k < n->n_out && !g->is_view[i]; k++)
        if (glow_made_of(g, n->out[k]) && !glow_made_of(g, n->out[k])->is_late)
            touch(g, i, n->out[k]);
    touch(g, i, n->pred);
    task->n_touches = (uint32_t)(g->count - count);
    task->n_aliases = (uint32_t)(g->n_aliases - aliases);
    if (g->is_view[i] || glow_has_parts(g, i))
        return true;
    task->extra = glow_node_scratch(g->t->x->run, n);
    if (glow_add_overflow(task->extra, g->align - 1, &task->extra))
        return false;
    task->extra = task->extra / g->align * g->align;
    return true;
}

static bool
add_tasks(glow_ground *g, glow_order_problem *out)
{
    uint32_t n = g->t->v->n_nodes;
    glow_order_task *tasks = GLOW_NEW_ARRAY(g->t->x->arena, glow_order_task, n);
    size_t at = 0, alias = 0;

    g->stamp = GLOW_NEW_ARRAY(g->t->x->arena, uint32_t, g->n_atoms);
    for (uint32_t i = 0; i < n; i++) {
        tasks[i].before = g->m->problem.tasks[i].before;
        tasks[i].n_before = g->m->problem.tasks[i].n_before;
        if (!add_task(g, i, &tasks[i]))
            return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        tasks[i].touches = tasks[i].n_touches ? g->list + at : NULL;
        tasks[i].aliases = tasks[i].n_aliases ? g->aliases + alias : NULL;
        at += tasks[i].n_touches;
        alias += tasks[i].n_aliases;
    }
    *out = (glow_order_problem){tasks, n, g->atoms, (uint32_t)g->n_atoms};
    return true;
}

bool
glow_memory_floor(glow_memory_model *m, glow_sharer *s, int64_t align,
                  glow_order_problem *out, const uint32_t **maker)
{
    const glow_values *v = m->values;
    glow_arena *a = m->table->x->arena;
    const uint32_t *node = m->ranks->node;
    glow_ground g = {.m = m, .t = m->table, .s = s, .align = align};

    g.of = GLOW_NEW_ARRAY(a, glow_made, m->table->x->n_buffers);
    g.is_view = GLOW_NEW_ARRAY(a, bool, v->n_nodes);
    g.may_be = GLOW_NEW_ARRAY(a, bool, m->n_operands);
    for (size_t i = 0; i < m->table->x->n_buffers; i++)
        g.of[i].own = g.of[i].cuts = GLOW_NO_VALUE;
    for (uint32_t i = 0; i < v->n_nodes; i++)
        find_parts(&g, i);
    for (uint32_t r = v->n_nodes; r-- > 0;)
        free_operands(&g, node[r]);
    for (uint32_t r = 0; r < v->n_nodes; r++)
        free_view(&g, node[r]);
    if (!glow_make_atoms(&g))
        return false;
    for (uint32_t r = 0; r < v->n_nodes; r++)
        find_late(&g, node[r]);
    *maker = g.maker;
    return add_tasks(&g, out);
}
