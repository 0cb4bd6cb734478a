/*
 * Rewrite by a plan of axis orders: builds each node in its chosen order, and
 * transposes on the edges between different orders.
 */

#include "passes/graph/common/placer.h"

#include "glow/match.h"

#define MOST_TRANSPOSES 8 /* in a chain that is looked through */

int
glow_placer_site(const placer *p, const glow_value *v)
{
    uint32_t i = v->def ? glow_number_of(&p->numbers, v->def) : PLACER_FIXED;

    return i & PLACER_FIXED ? -1 : (int)i; /* unnumbered nodes have the flag */
}

glow_value *
glow_placer_root_of(glow_value *v, axis_order *step)
{
    *step = AXES_AS_THEY_ARE;
    for (int i = 0; i < MOST_TRANSPOSES && glow_def(v, &glow_op_transpose);
         i++) {
        const glow_transpose *t = v->def->attrs;

        *step =
            glow_regions_order_then(glow_regions_order_of(t->shuffle), *step);
        v = v->def->in[0];
    }
    return v;
}

static int
add_roots(placer *p, glow_value *const *values, int count)
{
    int first = (int)p->n_roots;

    for (int i = 0; i < count; i++) {
        p->roots = glow_arena_grow(p->arena, p->roots, p->n_roots,
                                   &p->cap_roots, sizeof *p->roots);
        p->roots[p->n_roots++] = (fixed_root){.value = values[i]};
    }
    return first;
}

int
glow_placer_fixed_root(placer *p, glow_value *v)
{
    if (v->def) {
        uint32_t i = glow_number_of(&p->numbers, v->def);

        if (i == GLOW_UNNUMBERED) {
            i = PLACER_FIXED |
                (uint32_t)add_roots(p, v->def->out, v->def->n_out);
            glow_number_set(&p->numbers, v->def, i);
        }
        return (int)(i & ~PLACER_FIXED) + v->index;
    }

    int *number = glow_map_get(p->storage, v->storage->name);

    if (!number) {
        number = GLOW_NEW(p->arena, int);
        *number = add_roots(p, &v, 1);
        glow_map_set(p->storage, v->storage->name, number);
    }
    return *number;
}

/* `v`, in order `has`, transposed to order `want`. */
static glow_value *
transposed(placer *p, glow_value *v, axis_order has, axis_order want,
           placed_transpose **list)
{
    axis_order rest =
        glow_regions_order_then(glow_regions_order_inverse(has), want);
    int rank = v->type->shape.rank;
    placed_transpose *m;

    if (rest == AXES_AS_THEY_ARE)
        return v;
    for (m = *list; m; m = m->next)
        if (m->order == rest)
            return m->value;
    if (v->def)
        glow_builder_at(p->builder, v->def);
    else
        glow_builder_named(p->builder, v->storage->name, v->storage->loc);
    m = GLOW_NEW(p->arena, placed_transpose);
    *m = (placed_transpose){
        .order = rest,
        .value = GLOW_BUILD(p->builder, transpose, GLOW_IN(v),
                            .shuffle = glow_regions_order_dims(rest, rank)),
        .next = *list};
    *list = m;
    if (!m->value)
        return NULL;
    if (v->def)
        glow_node_move_after(m->value->def, v->def);
    else
        glow_node_move_before(m->value->def, p->func->first);
    return m->value;
}

/* The value of the new graph for `v` in `order`. */
static glow_value *
in_order(placer *p, glow_value *v, axis_order order)
{
    axis_order step;
    glow_value *root = glow_placer_root_of(v, &step);
    int i = glow_placer_site(p, root);
    axis_order want = glow_regions_order_then(step, order);

    if (i >= 0 && p->sites[i].value)
        return transposed(p, p->sites[i].value, p->plan.order[i], want,
                          &p->sites[i].transposes);
    if (order == AXES_AS_THEY_ARE)
        return v;
    if (i >= 0)
        return transposed(p, root, AXES_AS_THEY_ARE, want,
                          &p->sites[i].transposes);

    int fixed = glow_placer_fixed_root(p, root);

    return transposed(p, root, AXES_AS_THEY_ARE, want,
                      &p->roots[fixed].transposes);
}

static glow_value *
make_broadcast(placer *p, glow_node *n, axis_order order)
{
    const glow_broadcast *c = n->attrs;
    glow_dims perm = glow_regions_order_dims(order, c->target_dim.rank);
    glow_dims target = glow_axes_permute(c->target_dim, perm);
    glow_dims aligned = glow_axes_aligned(n),
              moved = glow_axes_permute(aligned, perm);
    glow_value *x = n->in[0];
    int rank = x->type->shape.rank, axis = 0;
    bool is_free = glow_axis_rule_is_free(x);

    if (rank == perm.rank && !is_free)
        x = in_order(p, x, order);
    else
        x = in_order(p, x, AXES_AS_THEY_ARE);
    glow_builder_at(p->builder, n);
    if (rank == 1)
        axis = (int)glow_axes_inverse(perm).at[c->axis];
    else if (is_free || rank < perm.rank)
        x = glow_axes_keep_order(aligned, perm)
                ? GLOW_BUILD(p->builder, reshape, GLOW_IN(x), .dims = moved)
                : glow_build(
                      p->builder, &glow_op_transpose, NULL,
                      GLOW_IN(rank == perm.rank
                                  ? x
                                  : GLOW_BUILD(p->builder, reshape, GLOW_IN(x),
                                               .dims = aligned)),
                      &(const glow_transpose){.shuffle = perm});
    return GLOW_BUILD(p->builder, broadcast, GLOW_IN(x), .axis = axis,
                      .target_dim = target);
}

static glow_value *
make_node(placer *p, const site *s, axis_order order)
{
    glow_node *n = s->node;
    int count = glow_axis_rule_operands(s->rule, n);
    glow_dims perm = glow_regions_order_dims(glow_regions_order_inverse(order),
                                             n->out[0]->type->shape.rank);
    glow_value **in = GLOW_NEW_ARRAY(p->arena, glow_value *, n->n_in);

    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i])
            continue;
        if (i < count && glow_axis_rule_is_free(n->in[i])) {
            glow_builder_at(p->builder, n);
            in[i] = glow_axis_rule_free(p->builder, n->in[i], perm);
        } else {
            in[i] = in_order(p, n->in[i], i < count ? order : AXES_AS_THEY_ARE);
        }
    }
    glow_builder_at(p->builder, n);
    return glow_axis_rule_build(p->builder, s->rule, n, in, perm);
}

/* The site of the first operand of `n` that is not built yet, or -1. */
static int
missing_operand(const placer *p, const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        axis_order step;
        int k = n->in[i]
                    ? glow_placer_site(p, glow_placer_root_of(n->in[i], &step))
                    : -1;

        if (k >= 0 && p->plan.order[k] != AXES_AS_THEY_ARE &&
            !p->sites[k].value)
            return k;
    }
    return -1;
}

/* Builds site `i`, after the sites that it depends on; `stack` is scratch. */
static bool
make(placer *p, int i, int *stack)
{
    int depth = 0;

    stack[depth++] = i;
    while (depth > 0) {
        site *s = &p->sites[stack[depth - 1]];
        int before = missing_operand(p, s->node);
        axis_order order = p->plan.order[stack[depth - 1]];

        if (before >= 0) {
            stack[depth++] = before;
            continue;
        }
        s->value = s->rule ? make_node(p, s, order)
                           : make_broadcast(p, s->node, order);
        if (!s->value)
            return false;
        depth--;
    }
    return true;
}

/* Redirects operand `index` of a node that stays to the new graph. */
static bool
reread(placer *p, glow_node *n, int index)
{
    glow_value *v = index >= 0 ? n->in[index] : n->pred;

    v = in_order(p, v, AXES_AS_THEY_ARE);
    if (v && index >= 0)
        glow_set_operand(n, index, v);
    else if (v)
        glow_set_pred(n, v);
    return v;
}

/* Redirects all operands of sites that keep their order. */
static bool
reread_sites(placer *p)
{
    for (int i = 0; i < p->n_sites; i++) {
        glow_node *n = p->sites[i].node;

        for (int k = 0; k < n->n_in && !p->sites[i].value; k++) {
            axis_order step;
            int from =
                n->in[k]
                    ? glow_placer_site(p, glow_placer_root_of(n->in[k], &step))
                    : -1;

            if (from >= 0 && p->sites[from].value && !reread(p, n, k))
                return false;
        }
    }
    return true;
}

bool
glow_placer_apply(placer *p)
{
    int *stack = GLOW_NEW_ARRAY(p->arena, int, p->n_sites);
    const char **names = GLOW_NEW_ARRAY(p->arena, const char *, p->n_sites);

    for (int i = 0; i < p->n_sites; i++) {
        names[i] = p->sites[i].node->name;
        if (p->plan.order[i] != AXES_AS_THEY_ARE && !p->sites[i].value &&
            !make(p, i, stack))
            return false;
    }
    for (size_t i = 0; i < p->n_uses; i++)
        if (p->sites[p->uses[i].site].value &&
            !reread(p, p->uses[i].user, p->uses[i].index))
            return false;
    if (!reread_sites(p))
        return false;
    glow_erase_unused(p->func);
    for (int i = 0; i < p->n_sites; i++)
        if (p->sites[i].value && p->sites[i].value->def &&
            !glow_find_node(p->func, names[i]))
            glow_node_rename(p->sites[i].value->def, names[i]);
    return true;
}
