/*
 * place-transpose: transpose where it moves the fewest bytes.
 *
 *     %t = Transpose(%x) {NCHW}     %r = Relu(%x)
 *     %r = Relu(%t)              => %y = Convolution(%r, ..)
 *     %u = Transpose(%r) {NHWC}
 *     %y = Convolution(%u, ..)
 *
 *     %t = Transpose(%x)            %s = Slice(%x)
 *     %s = Slice(%t)             => %y = Transpose(%s)
 *
 *     %p = Pad(%x)                  %t = Transpose(%x)
 *     %y = Transpose(%p)         => %y = Pad(%t)
 *
 * Element-wise operators, and those that name axes in attributes, work in any
 * order of axes (axis_rules.h).  They form regions, which transposes bound and
 * cut: the operands of convolutions and pooling, reshapes, inputs and outputs
 * have the order they have.  For each region the pass chooses an order for each
 * node such that fewer bytes go through transposes (regions.h); nothing changes
 * unless it is less.  At equal bytes a transpose stands as far down as it can:
 * what follows a convolution is then right behind it.  Sinking and hoisting, over
 * values of any number of users and nodes of any number of operands, are both
 * this, and so a residual network is seen as a whole.
 *
 * Constants and Splats have any order; fold-constants transposes the former.  A
 * Broadcast has the order that its users like, and costs what its operand does.
 * Reductions count by the smaller of operand and result: absorb-transpose lets
 * them reduce other axes.
 *
 * A product of matrices works in two orders: the transpose of a product is that of
 * the transposes, the other way round.
 *
 * Operators that sum over several axes may do so in another order (GroupNorm-
 * alization), which rounds differently.  Afterwards no choice that this pass
 * knows of moves fewer bytes.  Glow's SinkCode and HoistCode move transposes one
 * node at a time, down or up, whatever it costs.
 */

#include "glow/match.h"
#include "glow/pass.h"
#include "passes/graph/axis_rules.h"
#include "passes/graph/regions.h"

#define MOST_TRANSPOSES 8 /* one behind the other that are looked through */
#define MOST_ROUNDS 16
#define MOST_BYTES (INT64_C(1) << 36)

/* A transpose that was made of a value. */
typedef struct made {
    axis_order order;
    glow_value *value;
    struct made *next;
} made;

typedef struct site {
    glow_node *node;       /* as it was */
    const axis_rule *rule; /* NULL: a Broadcast */
    glow_value *value;     /* its result in its order; NULL: not made yet */
    made *transposes;      /* of `value` */
} site;

/* A use by a node that is no site. */
typedef struct fixed_use {
    glow_node *user;
    int index; /* of the operand; -1: predicate */
    int site;  /* that makes it */
} fixed_use;

/* A value that no site makes. */
typedef struct fixed_root {
    glow_value *value;
    made *transposes;
} fixed_root;

typedef struct placer {
    glow_pass_run *run;
    glow_func *func;
    glow_builder *builder;
    glow_arena *arena;
    site *sites;
    int n_sites;
    region_edge *edges;
    size_t n_edges, cap_edges;
    fixed_use *uses;
    size_t n_uses, cap_uses;
    fixed_root *roots;
    size_t n_roots, cap_roots;
    glow_map *storage; /* roots of storage, by its name */
    region_plan plan;
} placer;

/* The mark of a node: 0, 1 + its site, or this and its first fixed root. */
#define FIXED ((uint32_t)1 << 31)

/* The site that makes `v`, or -1. */
static int
site_of(const glow_value *v)
{
    return v->def && !(v->def->mark & FIXED) ? (int)v->def->mark - 1 : -1;
}

/* Finding sites. */

static bool
is_transpose(const glow_node *n)
{
    return glow_is(n, &glow_op_transpose) && !n->pred;
}

static bool
is_broadcast(const glow_node *n)
{
    return glow_is(n, &glow_op_broadcast) && !n->pred;
}

static bool
works_in_any_order(const glow_node *n)
{
    const axis_rule *rule = axis_rule_for(n);
    int rank = n->n_out == 1 ? n->out[0]->type->shape.rank : 0;

    if (is_broadcast(n))
        return true;
    if (!rule || (rule->fits && !rule->fits(n, axes_identity(rank))))
        return false;
    for (int i = 0; i < axis_rule_operands(rule, n); i++)
        if (!n->in[i] || n->in[i]->type->shape.rank != rank)
            return false;
    return rank > 1;
}

/* Numbers the sites by their marks; false if there is nothing to place. */
static bool
find_sites(placer *p)
{
    bool has_transposes = false;

    GLOW_FOR_EACH_NODE(n, p->func) {
        has_transposes = has_transposes || is_transpose(n);
        n->mark = 0;
    }
    if (!has_transposes)
        return false;
    p->sites = GLOW_NEW_ARRAY(p->arena, site, p->func->count);
    GLOW_FOR_EACH_NODE(n, p->func) {
        if (!works_in_any_order(n))
            continue;
        p->sites[p->n_sites] = (site){.node = n, .rule = axis_rule_for(n)};
        n->mark = (uint32_t)++p->n_sites;
    }
    return p->n_sites > 0;
}

/* Finding edges. */

/* The value behind transposes, and what they do together. */
static glow_value *
root_of(glow_value *v, axis_order *step)
{
    *step = AXES_AS_THEY_ARE;
    for (int i = 0; i < MOST_TRANSPOSES && v->def && is_transpose(v->def);
         i++) {
        const glow_transpose *t = v->def->attrs;

        *step = order_then(order_of(t->shuffle), *step);
        v = v->def->in[0];
    }
    return v;
}

/* True if fold-constants will compute what is made of `v`. */
static bool
is_known(const glow_value *v)
{
    if (glow_is(v->def, &glow_op_reshape))
        v = v->def->in[0];
    return axis_rule_is_free(v);
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

/* The number of a value that no site makes, from 0 on. */
static int
fixed_root_of(placer *p, glow_value *v)
{
    if (v->def) {
        if (v->def->mark == 0)
            v->def->mark =
                FIXED | (uint32_t)add_roots(p, v->def->out, v->def->n_out);
        return (int)(v->def->mark & ~FIXED) + v->index;
    }

    int *number = glow_map_get(p->storage, v->storage->name);

    if (!number) {
        number = GLOW_NEW(p->arena, int);
        *number = add_roots(p, &v, 1);
        glow_map_set(p->storage, v->storage->name, number);
    }
    return *number;
}

static int64_t
weight_of(const glow_value *v)
{
    int64_t bytes = glow_type_bytes(v->type);

    return 2 * (bytes < MOST_BYTES ? bytes : MOST_BYTES);
}

static void
add_edge(placer *p, region_edge e)
{
    p->edges = glow_arena_grow(p->arena, p->edges, p->n_edges, &p->cap_edges,
                               sizeof *p->edges);
    p->edges[p->n_edges++] = e;
}

/* A number for what no other edge reads. */
static int
own_root(const placer *p)
{
    return -1 - (int)p->n_edges;
}

/* Site `to` reads `v` in its own order. */
static void
read_in_order(placer *p, int to, glow_value *v)
{
    region_edge e = {.to = to};
    glow_value *root = root_of(v, &e.step);

    if (is_known(root))
        return;
    e.from = site_of(root);
    e.root = e.from >= 0 ? e.from : p->n_sites + fixed_root_of(p, root);
    e.weight = weight_of(root) + 1; /* rather further down: see above */
    add_edge(p, e);
}

/* What a transpose of operand `v` of `n` costs at most. */
static int64_t
fixed_weight(const glow_node *n, const glow_value *v)
{
    int64_t in = weight_of(v), out = n->n_out == 1 ? weight_of(n->out[0]) : in;

    return n->op->traits & GLOW_REDUCTION && n->n_in == 1 && out < in ? out
                                                                      : in;
}

/* Operand `index` of `n` is read in the order that it has. */
static void
read_fixed(placer *p, glow_node *n, int index)
{
    glow_value *v = index >= 0 ? n->in[index] : n->pred;
    fixed_use u = {.user = n, .index = index};
    axis_order step;

    if (!v)
        return;
    u.site = site_of(root_of(v, &step));
    if (u.site < 0)
        return;
    p->uses = glow_arena_grow(p->arena, p->uses, p->n_uses, &p->cap_uses,
                              sizeof *p->uses);
    p->uses[p->n_uses++] = u;

    int64_t weight = fixed_weight(n, v);

    add_edge(p,
             (region_edge){.from = u.site,
                           .to = -1,
                           .root = weight < weight_of(v) ? own_root(p) : u.site,
                           .step = step,
                           .weight = weight});
}

/* The operand of a broadcast to another rank: its axes are put apart first. */
static void
read_apart(placer *p, int to, glow_node *n)
{
    glow_dims x = axes_aligned(n);
    int count = 0;

    for (int i = 0; i < x.rank; i++)
        count += x.at[i] != 1;
    read_fixed(p, n, 0);
    if (count > 1 && !is_known(n->in[0]))
        add_edge(p, (region_edge){.from = -1,
                                  .to = to,
                                  .root = own_root(p),
                                  .step = AXES_AS_THEY_ARE,
                                  .weight = weight_of(n->in[0]) + 1});
}

static void
read_operands(placer *p, glow_node *n)
{
    int i = 0, here = n->mark & FIXED ? -1 : (int)n->mark - 1;
    const axis_rule *rule = here >= 0 ? p->sites[here].rule : NULL;

    if (is_transpose(n))
        return;
    if (rule) {
        for (; i < axis_rule_operands(rule, n); i++)
            read_in_order(p, here, n->in[i]);
    } else if (here >= 0) {
        if (n->in[0]->type->shape.rank == n->out[0]->type->shape.rank)
            read_in_order(p, here, n->in[0]);
        else
            read_apart(p, here, n);
        return;
    }
    for (; i < n->n_in; i++)
        read_fixed(p, n, i);
    read_fixed(p, n, -1);
}

static bool
fits(const void *user, int i, axis_order o)
{
    const site *s = &((const placer *)user)->sites[i];
    int rank = s->node->out[0]->type->shape.rank;

    return !s->rule || !s->rule->fits ||
           s->rule->fits(s->node, order_dims(order_inverse(o), rank));
}

/* Making it so. */

/* Takes the plan back where it saves nothing or may not be. */
static bool
choose(placer *p)
{
    bool *taken = GLOW_NEW_ARRAY(p->arena, bool, p->plan.regions);
    bool *asked = GLOW_NEW_ARRAY(p->arena, bool, p->plan.regions);
    bool any = false;

    for (int i = 0; i < p->n_sites; i++) {
        int r = p->plan.region[i];

        if (p->plan.saved[r] > 0 && !asked[r]) {
            asked[r] = true;
            taken[r] = glow_run_may_rewrite(p->run);
            any = any || taken[r];
            glow_run_remark(p->run, p->sites[i].node, taken[r],
                            "%lld bytes less go through transposes in another "
                            "order of axes",
                            (long long)p->plan.saved[r] / 2);
            glow_run_count(p->run, "regions", taken[r]);
        }
        if (!taken[r])
            p->plan.order[i] = AXES_AS_THEY_ARE;
    }
    return any;
}

/* `v`, which went through `has`, as it would be after `want`. */
static glow_value *
transposed(placer *p, glow_value *v, axis_order has, axis_order want,
           made **list)
{
    axis_order rest = order_then(order_inverse(has), want);
    int rank = v->type->shape.rank;
    made *m;

    if (rest == AXES_AS_THEY_ARE)
        return v;
    for (m = *list; m; m = m->next)
        if (m->order == rest)
            return m->value;
    if (v->def)
        glow_builder_at(p->builder, v->def);
    else
        glow_builder_named(p->builder, v->storage->name, v->storage->loc);
    m = GLOW_NEW(p->arena, made);
    *m = (made){.order = rest,
                .value = GLOW_BUILD(p->builder, transpose, GLOW_IN(v),
                                    .shuffle = order_dims(rest, rank)),
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

/* `v` after a transpose by `order`, in the graph that is being made. */
static glow_value *
in_order(placer *p, glow_value *v, axis_order order)
{
    axis_order step;
    glow_value *root = root_of(v, &step);
    int i = site_of(root);
    axis_order want = order_then(step, order);

    if (i >= 0 && p->sites[i].value)
        return transposed(p, p->sites[i].value, p->plan.order[i], want,
                          &p->sites[i].transposes);
    if (order == AXES_AS_THEY_ARE)
        return v;
    return transposed(p, root, AXES_AS_THEY_ARE, want,
                      i >= 0 ? &p->sites[i].transposes
                             : &p->roots[fixed_root_of(p, root)].transposes);
}

static glow_value *
make_broadcast(placer *p, glow_node *n, axis_order order)
{
    const glow_broadcast *c = n->attrs;
    glow_dims perm = order_dims(order, c->target_dim.rank);
    glow_dims target = axes_permute(c->target_dim, perm);
    glow_dims aligned = axes_aligned(n), moved = axes_permute(aligned, perm);
    glow_value *x = n->in[0];
    int rank = x->type->shape.rank, axis = 0;
    bool is_free = axis_rule_is_free(x);

    if (rank == perm.rank && !is_free)
        x = in_order(p, x, order);
    else
        x = in_order(p, x, AXES_AS_THEY_ARE);
    glow_builder_at(p->builder, n);
    if (rank == 1)
        axis = (int)axes_inverse(perm).at[c->axis];
    else if (is_free || rank < perm.rank)
        x = axes_keep_order(aligned, perm)
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
    int count = axis_rule_operands(s->rule, n);
    glow_dims perm =
        order_dims(order_inverse(order), n->out[0]->type->shape.rank);
    glow_value **in = GLOW_NEW_ARRAY(p->arena, glow_value *, n->n_in);

    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i])
            continue;
        if (i < count && axis_rule_is_free(n->in[i])) {
            glow_builder_at(p->builder, n);
            in[i] = axis_rule_free(p->builder, n->in[i], perm);
        } else {
            in[i] = in_order(p, n->in[i], i < count ? order : AXES_AS_THEY_ARE);
        }
    }
    glow_builder_at(p->builder, n);
    return axis_rule_build(p->builder, s->rule, n, in, perm);
}

/* The first operand of `n` that has to be made before it, or -1. */
static int
missing_operand(const placer *p, const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        axis_order step;
        int k = n->in[i] ? site_of(root_of(n->in[i], &step)) : -1;

        if (k >= 0 && p->plan.order[k] != AXES_AS_THEY_ARE &&
            !p->sites[k].value)
            return k;
    }
    return -1;
}

/* Makes site `i`, and before it what it reads. */
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

/* Lets operand `index` of a node that stays read what was made. */
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

/* The same for all operands of sites that keep their order. */
static bool
reread_sites(placer *p)
{
    for (int i = 0; i < p->n_sites; i++) {
        glow_node *n = p->sites[i].node;

        for (int k = 0; k < n->n_in && !p->sites[i].value; k++) {
            axis_order step;
            int from = n->in[k] ? site_of(root_of(n->in[k], &step)) : -1;

            if (from >= 0 && p->sites[from].value && !reread(p, n, k))
                return false;
        }
    }
    return true;
}

static bool
apply(placer *p)
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

static glow_result
place(glow_pass_run *pass, glow_func *f)
{
    glow_arena *a = glow_run_scratch(pass);
    placer p = {.run = pass, .func = f, .arena = a};
    region_problem problem = {.fits = fits, .user = &p};

    if (!find_sites(&p))
        return GLOW_UNCHANGED;
    p.storage = glow_map_new(a);
    GLOW_FOR_EACH_NODE(n, f)
        read_operands(&p, n);
    problem.sites = p.n_sites;
    problem.edges = p.edges;
    problem.count = (int)p.n_edges;
    p.plan = regions_solve(&problem, a);
    if (!choose(&p))
        return GLOW_UNCHANGED;
    p.builder = glow_builder_new(a, f, glow_run_pass(pass)->name);
    return apply(&p) ? GLOW_CHANGED : GLOW_FAILED;
}

/* What was placed makes other regions: until none of them saves anything. */
static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_result result = place(pass, f), next = result;

    for (int i = 1; i < MOST_ROUNDS && next == GLOW_CHANGED; i++)
        next = place(pass, f);
    return next == GLOW_FAILED ? next : result;
}

const glow_pass glow_pass_place_transpose = {
    .name = "place-transpose",
    .summary = "transpose where it moves the fewest bytes",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "multiway cut, by joining along the heaviest edges: Dahlhaus et "
              "al., SIAM J. Comput. 23(4), 1994",
};
