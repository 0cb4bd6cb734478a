/* Choice of axis orders by union-find and local search; see regions.h. */

#include <stdlib.h>

#include "passes/graph/common/regions.h"

#define ROUNDS 4
#define CANDIDATES 4 /* orders considered for a group */

axis_order
glow_regions_order_of(glow_dims perm)
{
    axis_order o = AXES_AS_THEY_ARE;

    for (int i = 0; i < perm.rank; i++) {
        o &= ~((axis_order)15 << (4 * i));
        o |= (axis_order)perm.at[i] << (4 * i);
    }
    return o;
}

static unsigned
axis_at(axis_order o, unsigned i)
{
    return (o >> (4 * i)) & 15;
}

glow_dims
glow_regions_order_dims(axis_order o, int rank)
{
    glow_dims d = {.rank = rank};

    for (int i = 0; i < rank; i++)
        d.at[i] = axis_at(o, (unsigned)i);
    return d;
}

axis_order
glow_regions_order_then(axis_order first, axis_order second)
{
    axis_order both = 0;

    for (unsigned i = 0; i < GLOW_MAX_RANK; i++)
        both |= axis_at(first, axis_at(second, i)) << (4 * i);
    return both;
}

axis_order
glow_regions_order_inverse(axis_order o)
{
    axis_order back = 0;

    for (unsigned i = 0; i < GLOW_MAX_RANK; i++)
        back |= i << (4 * axis_at(o, i));
    return back;
}

/*
 * Union-find of sites whose orders depend on each other: order(site) = shift,
 * then order(root).
 */
typedef struct groups {
    int *parent;
    axis_order *shift;
    bool *is_fixed; /* of roots: `order` is the order of a fixed end */
    axis_order *order;
    int count;
} groups;

static groups
make_groups(int count, glow_arena *a)
{
    groups g = {.count = count};

    g.parent = GLOW_NEW_ARRAY(a, int, count);
    g.shift = GLOW_NEW_ARRAY(a, axis_order, count);
    g.is_fixed = GLOW_NEW_ARRAY(a, bool, count);
    g.order = GLOW_NEW_ARRAY(a, axis_order, count);
    for (int i = 0; i < count; i++) {
        g.parent[i] = i;
        g.shift[i] = g.order[i] = AXES_AS_THEY_ARE;
    }
    return g;
}

/*
 * Find with path compression: the root of the group of `i`, which becomes its
 * parent.
 */
static int
first_of(groups *g, int i)
{
    int root = i;
    axis_order shift = AXES_AS_THEY_ARE;

    while (g->parent[root] != root) {
        shift = glow_regions_order_then(shift, g->shift[root]);
        root = g->parent[root];
    }
    while (g->parent[i] != root && i != root) {
        int next = g->parent[i];
        axis_order rest = glow_regions_order_then(
            glow_regions_order_inverse(g->shift[i]), shift);

        g->parent[i] = root;
        g->shift[i] = shift;
        shift = rest;
        i = next;
    }
    return root;
}

/* The shift of `i`, whose parent must be the root. */
static axis_order
shift_of(const groups *g, int i)
{
    return g->parent[i] == i ? AXES_AS_THEY_ARE : g->shift[i];
}

static axis_order
site_order(groups *g, int i)
{
    int root = first_of(g, i);

    return glow_regions_order_then(shift_of(g, i), g->order[root]);
}

/* The order of the root for which site `i` has order `o`. */
static axis_order
order_for(groups *g, int i, axis_order o)
{
    first_of(g, i);
    return glow_regions_order_then(glow_regions_order_inverse(shift_of(g, i)),
                                   o);
}

/*
 * The order of the root of one end for which edge `e` costs nothing, given the
 * order of the other end.
 */
static axis_order
asked_of(groups *g, const region_edge *e, bool of_from)
{
    int other = of_from ? e->to : e->from;
    axis_order o = other >= 0 ? site_order(g, other) : AXES_AS_THEY_ARE;

    return of_from ? glow_regions_order_then(e->step, o)
                   : glow_regions_order_then(
                         glow_regions_order_inverse(e->step), o);
}

static void
join(groups *g, const region_edge *e, bool keep_fixed)
{
    int a = first_of(g, e->from), b = first_of(g, e->to);

    if (a == b)
        return;
    /* order(a) = shift(from)^-1 step shift(to) order(b) */
    axis_order shift = glow_regions_order_then(
        glow_regions_order_inverse(shift_of(g, e->from)),
        glow_regions_order_then(e->step, shift_of(g, e->to)));
    axis_order of_a = glow_regions_order_then(shift, g->order[b]);

    if (keep_fixed && g->is_fixed[a] && g->is_fixed[b] && of_a != g->order[a])
        return;
    if (keep_fixed && g->is_fixed[a] && !g->is_fixed[b]) {
        g->order[b] = glow_regions_order_then(glow_regions_order_inverse(shift),
                                              g->order[a]);
        g->is_fixed[b] = true;
    }
    g->parent[a] = b;
    g->shift[a] = shift;
}

static void
anchor(groups *g, const region_edge *e)
{
    int site = e->from >= 0 ? e->from : e->to;
    int root = first_of(g, site);

    if (g->is_fixed[root])
        return;
    g->is_fixed[root] = true;
    g->order[root] = order_for(g, site, asked_of(g, e, e->from >= 0));
}

/* Candidate orders of a group, and the cost that each saves. */
typedef struct ballot {
    int count;
    axis_order order[CANDIDATES];
    int64_t saves[CANDIDATES];
} ballot;

static void
vote(ballot *b, axis_order o, int64_t weight)
{
    int i = 0;

    while (i < b->count && b->order[i] != o)
        i++;
    if (i == CANDIDATES)
        return;
    if (i == b->count) {
        b->order[b->count++] = o;
        b->saves[i] = 0;
    }
    b->saves[i] += weight;
}

/*
 * Local search: each group takes the order that saves most, given the orders of
 * the others.
 */
static void
settle(groups *g, const region_problem *p, ballot ballots[])
{
    for (int i = 0; i < p->sites; i++)
        ballots[i].count = 0;
    for (int i = 0; i < p->count; i++) {
        const region_edge *e = &p->edges[i];
        int from = e->from >= 0 ? first_of(g, e->from) : -1;
        int to = e->to >= 0 ? first_of(g, e->to) : -1;

        if (from == to)
            continue;
        if (from >= 0)
            vote(&ballots[from], order_for(g, e->from, asked_of(g, e, true)),
                 e->weight);
        if (to >= 0)
            vote(&ballots[to], order_for(g, e->to, asked_of(g, e, false)),
                 e->weight);
    }
    for (int i = 0; i < p->sites; i++) {
        int64_t best = -1;
        axis_order choice = g->order[i];

        for (int k = 0; k < ballots[i].count; k++)
            if (ballots[i].order[k] == g->order[i])
                best = ballots[i].saves[k];
        for (int k = 0; k < ballots[i].count; k++)
            if (ballots[i].saves[k] > best) {
                best = ballots[i].saves[k];
                choice = ballots[i].order[k];
            }
        g->order[i] = choice;
    }
}

/* Costs. */

typedef struct sorted {
    const region_edge **by_root, **by_weight;
} sorted;

static int
compare_edges(const region_edge *a, const region_edge *b)
{
    return a < b ? -1 : a > b;
}

static int
compare_weight(const void *a, const void *b)
{
    const region_edge *x = *(const region_edge *const *)a;
    const region_edge *y = *(const region_edge *const *)b;

    return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1)
                                  : compare_edges(x, y);
}

static int
compare_root(const void *a, const void *b)
{
    const region_edge *x = *(const region_edge *const *)a;
    const region_edge *y = *(const region_edge *const *)b;

    return x->root != y->root ? (x->root < y->root ? -1 : 1)
                              : compare_edges(x, y);
}

static sorted
sort_edges(const region_problem *p, glow_arena *a)
{
    size_t count = (size_t)p->count;
    sorted s;

    s.by_root = GLOW_NEW_ARRAY(a, const region_edge *, p->count);
    s.by_weight = GLOW_NEW_ARRAY(a, const region_edge *, p->count);
    for (int i = 0; i < p->count; i++)
        s.by_root[i] = s.by_weight[i] = &p->edges[i];
    glow_sort(s.by_root, count, sizeof s.by_root[0], compare_root);
    glow_sort(s.by_weight, count, sizeof s.by_weight[0], compare_weight);
    return s;
}

static int
region_of(const region_edge *e, const int region[])
{
    return region[e->from >= 0 ? e->from : e->to];
}

static axis_order
end_order(const axis_order order[], int site)
{
    return site >= 0 ? order[site] : AXES_AS_THEY_ARE;
}

/*
 * The cost in region `r` of the edges list[0] to list[n - 1], which have one
 * root.
 */
static int64_t
root_cost(const region_edge *const list[], int n, int r, const int region[],
          const axis_order order[])
{
    ballot b = {0};
    int64_t cost = 0;

    for (int i = 0; i < n; i++) {
        const region_edge *e = list[i];
        axis_order need =
            glow_regions_order_then(e->step, end_order(order, e->to));
        int k = 0;

        if (region_of(e, region) != r || need == end_order(order, e->from))
            continue;
        while (k < b.count && b.order[k] != need)
            k++;
        if (k == CANDIDATES) {
            cost += e->weight;
        } else if (k == b.count) {
            b.order[b.count++] = need;
            b.saves[k] = e->weight;
        } else if (b.saves[k] < e->weight) {
            b.saves[k] = e->weight;
        }
    }
    for (int k = 0; k < b.count; k++)
        cost += b.saves[k];
    return cost;
}

/* The cost of each region. */
static int64_t *
measure(const region_problem *p, const sorted *s, const region_plan *plan,
        const axis_order order[], glow_arena *a)
{
    int64_t *cost = GLOW_NEW_ARRAY(a, int64_t, plan->regions);
    int next;

    for (int i = 0; i < p->count; i = next) {
        for (next = i;
             next < p->count && s->by_root[next]->root == s->by_root[i]->root;)
            next++;
        /* Edges of a region are adjacent, except those of a fixed root. */
        for (int k = i; k < next; k++) {
            int r = region_of(s->by_root[k], plan->region);
            int end = k + 1;

            while (end < next && region_of(s->by_root[end], plan->region) == r)
                end++;
            cost[r] +=
                root_cost(s->by_root + k, end - k, r, plan->region, order);
            k = end - 1;
        }
    }
    return cost;
}

/*
 * The orders found for the groups; identity for regions in which one does not
 * fit.
 */
static axis_order *
try_groups(const region_problem *p, const sorted *s, const region_plan *plan,
           bool keep_fixed, ballot ballots[], glow_arena *a)
{
    groups g = make_groups(p->sites, a);
    axis_order *order = GLOW_NEW_ARRAY(a, axis_order, p->sites);
    bool *bad = GLOW_NEW_ARRAY(a, bool, plan->regions);

    for (int i = 0; i < p->count; i++) {
        const region_edge *e = s->by_weight[i];

        if (e->from >= 0 && e->to >= 0)
            join(&g, e, keep_fixed);
        else if (keep_fixed)
            anchor(&g, e);
    }
    for (int i = 0; i < ROUNDS; i++)
        settle(&g, p, ballots);
    for (int i = 0; i < p->sites; i++) {
        order[i] = site_order(&g, i);
        if (!p->fits(p->user, i, order[i]))
            bad[plan->region[i]] = true;
    }
    for (int i = 0; i < p->sites; i++)
        if (bad[plan->region[i]])
            order[i] = AXES_AS_THEY_ARE;
    return order;
}

static void
find_regions(const region_problem *p, region_plan *plan, glow_arena *a)
{
    groups g = make_groups(p->sites, a);
    int *number = GLOW_NEW_ARRAY(a, int, p->sites);

    for (int i = 0; i < p->count; i++)
        if (p->edges[i].from >= 0 && p->edges[i].to >= 0)
            join(&g, &p->edges[i], false);
    plan->region = GLOW_NEW_ARRAY(a, int, p->sites);
    for (int i = 0; i < p->sites; i++) {
        int first = first_of(&g, i);

        if (number[first] == 0)
            number[first] = ++plan->regions;
        plan->region[i] = number[first] - 1;
    }
}

region_plan
glow_regions_solve(const region_problem *p, glow_arena *a)
{
    region_plan plan = {0};
    sorted s = sort_edges(p, a);

    find_regions(p, &plan, a);
    plan.order = GLOW_NEW_ARRAY(a, axis_order, p->sites);
    plan.saved = GLOW_NEW_ARRAY(a, int64_t, plan.regions);
    for (int i = 0; i < p->sites; i++)
        plan.order[i] = AXES_AS_THEY_ARE;

    int64_t *now = measure(p, &s, &plan, plan.order, a);
    ballot *ballots = GLOW_NEW_ARRAY(a, ballot, p->sites);

    for (int way = 0; way < 2; way++) {
        axis_order *order = try_groups(p, &s, &plan, way == 0, ballots, a);
        int64_t *cost = measure(p, &s, &plan, order, a);

        for (int i = 0; i < p->sites; i++) {
            int r = plan.region[i];

            if (now[r] - cost[r] > plan.saved[r])
                plan.order[i] = order[i];
        }
        for (int r = 0; r < plan.regions; r++)
            if (now[r] - cost[r] > plan.saved[r])
                plan.saved[r] = now[r] - cost[r];
    }
    return plan;
}
