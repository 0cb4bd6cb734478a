/*
 * place-transpose: place transposes where they move the fewest bytes.
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
 * Element-wise operators, and operators with axes as attributes, work in any
 * order of axes (axis_rules.h).  They form regions, which are bounded by values
 * with a fixed order: operands of convolutions and pooling, reshapes, inputs
 * and outputs.  For each region the pass chooses an order for each node such
 * that fewer bytes go through transposes (regions.h); nothing changes unless
 * the bytes decrease.  At equal bytes a transpose is placed as far down as
 * possible: the nodes after a convolution then follow it directly.  This
 * includes sinking and hoisting over values with several users and nodes with
 * several operands, so a residual network is optimized as a whole.
 *
 * Constants and Splats have any order; fold-constants transposes the former.  A
 * Broadcast takes the order of its users, at the cost of its operand.
 * Reductions count with the smaller of operand and result, since
 * absorb-transpose lets them reduce other axes.
 *
 * A matrix product works in two orders: (A B)^T = B^T A^T.
 *
 * Operators that sum over several axes may do so in another order
 * (GroupNormalization), which rounds differently.  Glow's SinkCode and
 * HoistCode move transposes one node at a time, down or up, whatever it costs.
 */

#include "glow/pass.h"
#include "passes/graph/common/placer.h"

#define MOST_ROUNDS 16
#define MOST_BYTES (INT64_C(1) << 36)

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
    const axis_rule *rule = glow_axis_rule_for(n);
    int rank = n->n_out == 1 ? n->out[0]->type->shape.rank : 0;

    if (is_broadcast(n))
        return true;
    if (!rule || (rule->fits && !rule->fits(n, glow_axes_identity(rank))))
        return false;
    for (int i = 0; i < glow_axis_rule_operands(rule, n); i++)
        if (!n->in[i] || n->in[i]->type->shape.rank != rank)
            return false;
    return rank > 1;
}

/* Numbers the sites; false if there is nothing to place. */
static bool
find_sites(placer *p)
{
    bool has_transposes = false;

    GLOW_FOR_EACH_NODE(n, p->func)
        has_transposes = has_transposes || is_transpose(n);
    if (!has_transposes)
        return false;
    p->numbers = glow_numbering_new(p->arena, p->func);
    p->sites = GLOW_NEW_ARRAY(p->arena, site, p->func->count);
    GLOW_FOR_EACH_NODE(n, p->func) {
        if (!works_in_any_order(n))
            continue;
        p->sites[p->n_sites] = (site){.node = n, .rule = glow_axis_rule_for(n)};
        glow_number_set(&p->numbers, n, (uint32_t)p->n_sites++);
    }
    return p->n_sites > 0;
}

/* Finding edges. */

/* True if fold-constants evaluates a transpose of `v`. */
static bool
is_known(const glow_value *v)
{
    if (glow_is(v->def, &glow_op_reshape))
        v = v->def->in[0];
    return glow_axis_rule_is_free(v);
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

/* A root number for an edge that shares its value with no other edge. */
static int
own_root(const placer *p)
{
    return -1 - (int)p->n_edges;
}

/* Adds an edge for `v`, which site `to` reads in the site's order. */
static void
read_in_order(placer *p, int to, glow_value *v)
{
    region_edge e = {.to = to};
    glow_value *root = glow_placer_root_of(v, &e.step);

    if (is_known(root))
        return;
    e.from = glow_placer_site(p, root);
    e.root =
        e.from >= 0 ? e.from : p->n_sites + glow_placer_fixed_root(p, root);
    e.weight = weight_of(root) + 1; /* + 1: prefers placement further down */
    add_edge(p, e);
}

/* The cost of a transpose of operand `v` of `n`, at most. */
static int64_t
fixed_weight(const glow_node *n, const glow_value *v)
{
    int64_t in = weight_of(v), out = n->n_out == 1 ? weight_of(n->out[0]) : in;

    return n->op->traits & GLOW_REDUCTION && n->n_in == 1 && out < in ? out
                                                                      : in;
}

/*
 * Adds an edge for operand `index` of `n`, which is read in its original order.
 */
static void
read_fixed(placer *p, glow_node *n, int index)
{
    glow_value *v = index >= 0 ? n->in[index] : n->pred;
    fixed_use u = {.user = n, .index = index};
    axis_order step;

    if (!v)
        return;
    u.site = glow_placer_site(p, glow_placer_root_of(v, &step));
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

/*
 * Adds an edge for the operand of a broadcast to another rank, whose axes are
 * aligned first.
 */
static void
read_apart(placer *p, int to, glow_node *n)
{
    glow_dims x = glow_axes_aligned(n);
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
    uint32_t number = glow_number_of(&p->numbers, n);
    int i = 0, here = number & PLACER_FIXED ? -1 : (int)number;
    const axis_rule *rule = here >= 0 ? p->sites[here].rule : NULL;

    if (is_transpose(n))
        return;
    if (rule) {
        for (; i < glow_axis_rule_operands(rule, n); i++)
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
           s->rule->fits(s->node, glow_regions_order_dims(
                                      glow_regions_order_inverse(o), rank));
}

/* Rewriting. */

/* Resets the plan of regions where it saves nothing or is not permitted. */
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
    p.plan = glow_regions_solve(&problem, a);
    if (!choose(&p))
        return GLOW_UNCHANGED;
    p.builder = glow_builder_new(a, f, glow_run_pass(pass)->name);
    return glow_placer_apply(&p) ? GLOW_CHANGED : GLOW_FAILED;
}

/* Placement creates new regions: iterates until no region saves bytes. */
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
    .summary = "place transposes where they move the fewest bytes",
    .level = GLOW_GRAPH,
    .preserves = GLOW_ORDER,
    .run = run,
    .source = "multiway cut, by joining along the heaviest edges: Dahlhaus et "
              "al., SIAM J. Comput. 23(4), 1994",
};
