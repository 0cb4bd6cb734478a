/*
 * combine-parallel: one product instead of several that share an operand.
 *
 *     %q = MatMul(%x, @wq)            %c = Concat([@wq, @wk]) {Dim: 1}
 *     %k = MatMul(%x, @wk)       =>   %p = MatMul(%x, %c)
 *                                     %q = Slice(%p), %k = Slice(%p)
 *
 * Products and convolutions, by a table (parallel_rules.c).  The cost model
 * (parallel_cost.c) decides; it favours the weights of an unrolled recurrent
 * network (Glow's MergeMatMulOnLHS) and many small heads of a large tensor.
 *
 * Nodes may only be combined if none depends on another.  Nodes that differ
 * only in constants are independent.  Other nodes are independent if they have
 * the same rank (parallel_ranks.c).  Ranks take a walk over the graph, so only
 * the largest profitable groups get a walk each; the others share one walk, in
 * which ranks count nodes of all these groups. (Glow searches the graph for
 * each pair, to a depth of 6, and merges all or nothing; here a product that
 * depends on another is skipped, and the others are merged.)
 *
 * Afterwards there are constants to compute and slices to fold.
 *
 * A scheduled graph is left alone, because combined nodes would have to move.
 */

#include <stdlib.h>

#include "glow/match.h"
#include "passes/graph/common/parallel.h"

/* Groups that get a walk of their own. */
enum { MOST_WALKS = 32 };

typedef struct combiner {
    glow_pass_run *run;
    glow_func *func;
    glow_builder *builder;
    parallel_ranks *ranks;
    parallel_member *members; /* members of a group are contiguous */
    size_t count, cap;
    bool *is_gone;          /* by the id of the node: it was combined */
    parallel_member *group; /* scratch, for `count` of them */
} combiner;

/* Members that may be combined to one node. */
typedef struct group {
    parallel_member *at;
    size_t count;
} group;

/* Finding groups. */

static void
add_members(combiner *c, glow_node *n, int64_t place)
{
    for (const parallel_rule *r = glow_parallel_next_rule(NULL, n); r;
         r = glow_parallel_next_rule(r, n)) {
        c->members = glow_arena_grow(glow_run_scratch(c->run), c->members,
                                     c->count, &c->cap, sizeof *c->members);
        c->members[c->count++] =
            (parallel_member){n, r, glow_parallel_key(r, n), place, 0};
    }
}

/* Orders by key, then rank, then position; integers, so the order is total. */
static int
by_group(const void *x, const void *y)
{
    const parallel_member *a = x, *b = y;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Members of one key. */
typedef struct bucket {
    uint64_t key;
    size_t count; /* 0: free */
    size_t next;  /* index for its next member, once it has one */
    bool is_open; /* it has a member */
} bucket;

static bucket *
find_bucket(bucket *buckets, size_t size, uint64_t key)
{
    size_t i = key & (size - 1);

    while (buckets[i].count > 0 && buckets[i].key != key)
        i = (i + 1) & (size - 1);
    buckets[i].key = key;
    return &buckets[i];
}

/*
 * Bucket sort: makes the members of each key contiguous, keys and members in
 * the order of the function, and drops members whose key is unique.  Linear
 * time.
 */
static void
gather(combiner *c)
{
    glow_arena *scratch = glow_run_scratch(c->run);
    size_t size = 16, kept = 0;

    while (size < 2 * c->count)
        size *= 2;

    bucket *buckets = GLOW_NEW_ARRAY(scratch, bucket, size);
    bucket **of = GLOW_NEW_ARRAY(scratch, bucket *, c->count);
    parallel_member *gathered =
        GLOW_NEW_ARRAY(scratch, parallel_member, c->count);

    for (size_t i = 0; i < c->count; i++) {
        of[i] = find_bucket(buckets, size, c->members[i].key);
        of[i]->count++;
    }
    for (size_t i = 0; i < c->count; i++) {
        if (of[i]->count == 1)
            continue;
        if (!of[i]->is_open) {
            of[i]->is_open = true;
            of[i]->next = kept;
            kept += of[i]->count;
        }
        gathered[of[i]->next++] = c->members[i];
    }
    c->members = gathered;
    c->count = kept;
}

/* The members of the key of `m`. */
static group
group_at(const combiner *c, parallel_member *m)
{
    group g = {m, 0};

    while (m + g.count < c->members + c->count && m[g.count].key == m->key)
        g.count++;
    return g;
}

/*
 * The members of `g` that were not combined yet and are compatible with the
 * first of them.
 */
static group
still_alike(const combiner *c, group g)
{
    group kept = {c->group, 0};

    for (size_t i = 0; i < g.count; i++)
        if (!c->is_gone[g.at[i].node->id] &&
            (kept.count == 0 ||
             glow_parallel_alike(g.at->rule, kept.at->node, g.at[i].node)))
            kept.at[kept.count++] = g.at[i];
    return kept;
}
/* Combining. */

/* Combines members of one key and rank, if it pays. */
static glow_result
combine_equal(combiner *c, const parallel_member *m, size_t count)
{
    if (count < 2 || !glow_parallel_pays(c->run, m, count) ||
        !glow_run_may_rewrite(c->run))
        return GLOW_UNCHANGED;
    glow_run_remark(c->run, m->node, true,
                    "%zu %ss that share an operand are one", count,
                    m->node->op->name);
    for (size_t i = 0; i < count; i++)
        c->is_gone[m[i].node->id] = true;
    return glow_parallel_join(c->builder, m, count) ? GLOW_CHANGED
                                                    : GLOW_FAILED;
}

/* Combines the members of each rank. */
static glow_result
combine_ranked(combiner *c, group g)
{
    glow_result result = GLOW_UNCHANGED;

    glow_sort(g.at, g.count, sizeof *g.at, by_group);
    for (size_t i = 0, end; i < g.count; i = end) {
        for (end = i + 1; end < g.count && g.at[end].rank == g.at[i].rank;)
            end++;

        glow_result one = combine_equal(c, g.at + i, end - i);

        if (one == GLOW_FAILED)
            return one;
        result = one == GLOW_CHANGED ? one : result;
    }
    return result;
}

/* True if the joined operands are constants or placeholders. */
static bool
is_independent(const group *g)
{
    const parallel_member *m = g->at;

    for (size_t i = 0; i < g->count; i++)
        for (int k = 0; k < m->node->n_in; k++)
            if (m->rule->axis[k] != PARALLEL_SHARED && m[i].node->in[k] &&
                m[i].node->in[k]->def)
                return false;
    return true;
}

/* Orders by decreasing size, then by position. */
static int
by_size(const void *x, const void *y)
{
    const group *a = x, *b = y;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->at->place != b->at->place)
        return a->at->place < b->at->place ? -1 : 1;
    return a->at->rule < b->at->rule ? -1 : a->at->rule > b->at->rule;
}

/*
 * All groups of two and more that are profitable if their members are
 * independent.
 */
static group *
find_groups(combiner *c, size_t *count)
{
    glow_arena *scratch = glow_run_scratch(c->run);
    group *groups = NULL;
    size_t cap = 0;

    *count = 0;
    for (size_t i = 0; i < c->count;) {
        group g = group_at(c, c->members + i), alike = still_alike(c, g);

        i += g.count;
        if (alike.count < 2 ||
            !glow_parallel_pays(c->run, alike.at, alike.count))
            continue;
        groups = glow_arena_grow(scratch, groups, *count, &cap, sizeof *groups);
        groups[(*count)++] = g;
    }
    if (*count > 0)
        glow_sort(groups, *count, sizeof *groups, by_size);
    return groups;
}

/* One walk for all remaining groups. */
static glow_result
combine_rest(combiner *c, const group *groups, size_t count)
{
    glow_result result = GLOW_UNCHANGED;
    parallel_member *all =
        GLOW_NEW_ARRAY(glow_run_scratch(c->run), parallel_member, c->count);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        group g = still_alike(c, groups[i]);

        for (size_t k = 0; k < g.count; k++)
            all[n++] = g.at[k];
    }
    glow_parallel_rank(c->ranks, all, n);
    glow_sort(all, n, sizeof *all, by_group);
    for (size_t i = 0, end; i < n && result != GLOW_FAILED; i = end) {
        size_t kept = 0;

        for (end = i; end < n && all[end].key == all[i].key; end++)
            if (!c->is_gone[all[end].node->id])
                c->group[kept++] = all[end];

        glow_result one = combine_ranked(c, (group){c->group, kept});

        result = one == GLOW_UNCHANGED ? result : one;
    }
    return result;
}

static glow_result
combine_all(combiner *c, const group *groups, size_t count)
{
    glow_arena *scratch = glow_run_scratch(c->run);
    glow_result result = GLOW_UNCHANGED;
    size_t walks = 0, i = 0;

    c->ranks = glow_parallel_ranks_new(scratch, c->func,
                                       (PARALLEL_OPERANDS + 2) * c->count);
    c->builder =
        glow_builder_new(scratch, c->func, glow_run_pass(c->run)->name);
    for (; i < count && walks < MOST_WALKS; i++) {
        group g = still_alike(c, groups[i]);

        if (!is_independent(&g)) {
            walks++;
            glow_parallel_rank(c->ranks, g.at, g.count);
        }

        glow_result one = combine_ranked(c, g);

        if (one == GLOW_FAILED)
            return one;
        result = one == GLOW_CHANGED ? one : result;
    }
    if (i == count)
        return result;

    glow_result rest = combine_rest(c, groups + i, count - i);

    return rest == GLOW_UNCHANGED ? result : rest;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *scratch = glow_run_scratch(pass);
    combiner c = {.run = pass, .func = f};
    int64_t place = 0;
    size_t count;

    if (f->scheduled)
        return GLOW_UNCHANGED;
    GLOW_FOR_EACH_NODE(n, f)
        add_members(&c, n, place++);
    gather(&c);
    if (c.count < 2)
        return GLOW_UNCHANGED;
    c.is_gone = GLOW_NEW_ARRAY(scratch, bool, f->next_id);
    c.group = GLOW_NEW_ARRAY(scratch, parallel_member, c.count);

    group *groups = find_groups(&c, &count);

    return count > 0 ? combine_all(&c, groups, count) : GLOW_UNCHANGED;
}

const glow_pass glow_pass_combine_parallel = {
    .name = "combine-parallel",
    .summary = "one product instead of several that share an operand",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "TVM CombineParallelDense, CombineParallelConv2D; Glow "
              "MergeMatMulOnLHS, MergeMatMulOnRHS",
};
