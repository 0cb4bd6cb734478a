/*
 * combine-parallel: one product instead of several that share an operand.
 *
 *     %q = MatMul(%x, @wq)            %c = Concat([@wq, @wk]) {Dim: 1}
 *     %k = MatMul(%x, @wk)       =>   %p = MatMul(%x, %c)
 *                                     %q = Slice(%p), %k = Slice(%p)
 *
 * The columns of a product depend on the columns of its right operand alone, and
 * its rows on the rows of the left one.  So do the channels of a convolution on
 * the filters, if there is one group, and its batches on those of Input.  The
 * table says for each operator which operands are shared and along which axis
 * the others are put together; every element of the result is computed as before.
 *
 * It is done where it pays, by the cost model: a shared operand is read once
 * instead of k times, which is much for the weights of an unrolled recurrent
 * network (Glow's MergeMatMulOnLHS) and for many small heads of a large tensor;
 * slices and concatenations are to be paid for, but for those that are contiguous
 * or meet a Concat that puts the parts together again.  Constants are put
 * together once and for all; that of one which others use too is not.
 *
 * Nodes may only be combined if none depends on another.  Nodes that differ in
 * constants alone never do.  Of others, let the rank of a node be the largest
 * number of nodes of its group on a path to it: those of one rank do not depend on
 * each other, and no cycle comes about when they are combined.  Ranks take a walk
 * over the graph, so only the largest groups that would pay are walked for by
 * themselves, and all the rest at once, where the ranks count nodes of any of
 * these groups.  (Glow searches the graph for each pair, to a depth of 6, and merges
 * all or nothing; a product that depends on another is skipped here, and the
 * rest merged.)
 *
 * Afterwards there are constants to compute and slices to fold.
 *
 * A scheduled graph is left alone: what is combined would have to move.
 */

#include <stdlib.h>

#include "glow/cost.h"
#include "glow/match.h"
#include "glow/ops.h"

enum { OPERANDS = 3, SHARED = -1, LAST = -2 };

/* Groups that are walked for by themselves. */
enum { MOST_WALKS = 32 };

/* A constant that is put together may have at most so many bytes. */
static const int64_t most_bytes = INT64_C(512) << 20;

typedef struct rule {
    const glow_op *op;
    int axis[OPERANDS]; /* that each operand is joined along, or SHARED */
    int out;            /* the axis of Result, or LAST */
    bool (*fits)(const glow_node *n); /* NULL: always */
} rule;

static bool
has_rows(const glow_node *n)
{
    return ((const glow_fullyconnected *)n->attrs)->axis > 0;
}

static bool
is_one_group(const glow_node *n)
{
    return ((const glow_convolution *)n->attrs)->group == 1;
}

static bool
keeps_a(const glow_node *n)
{
    return !((const glow_gemm *)n->attrs)->transpose_a;
}

static bool
turns_a(const glow_node *n)
{
    return ((const glow_gemm *)n->attrs)->transpose_a;
}

static bool
keeps_b(const glow_node *n)
{
    return !((const glow_gemm *)n->attrs)->transpose_b;
}

static bool
turns_b(const glow_node *n)
{
    return ((const glow_gemm *)n->attrs)->transpose_b;
}

static const rule rules[] = {
    {&glow_op_matmul, {0, SHARED}, 0, NULL},
    {&glow_op_matmul, {SHARED, 1}, 1, NULL},
    {&glow_op_batchmatmul, {1, SHARED}, 1, NULL},
    {&glow_op_batchmatmul, {SHARED, 2}, 2, NULL},
    {&glow_op_fullyconnected, {0, SHARED, SHARED}, 0, has_rows},
    {&glow_op_fullyconnected, {SHARED, 1, 0}, 1, NULL},
    {&glow_op_gemm, {0, SHARED, 0}, 0, keeps_a},
    {&glow_op_gemm, {1, SHARED, 0}, 0, turns_a},
    {&glow_op_gemm, {SHARED, 1, 1}, 1, keeps_b},
    {&glow_op_gemm, {SHARED, 0, 1}, 1, turns_b},
    {&glow_op_convolution, {0, SHARED, SHARED}, 0, NULL},
    {&glow_op_convolution, {SHARED, 0, 0}, LAST, is_one_group},
};

#define N_RULES (sizeof rules / sizeof rules[0])

static int
out_axis(const rule *r, const glow_node *n)
{
    return r->out == LAST ? n->out[0]->type->shape.rank - 1 : r->out;
}

/* Groups: nodes that could be one, by what they have in common. */

typedef struct member {
    glow_node *node;
    const rule *rule;
    uint64_t key;  /* of all that must be equal */
    int64_t place; /* in the function */
    int64_t rank;
} member;

typedef struct combiner {
    glow_pass_run *run;
    glow_func *func;
    glow_builder *builder;
    member *members; /* sorted: groups lie together */
    size_t count, cap;
    bool *is_gone; /* by the id of the node: it was combined */
    member *group; /* scratch, for `count` of them */
    /* What ranks are found with: by id, for new nodes too. */
    bool *counts;
    int64_t *ranks;
    glow_node **stack;
    int *next;
} combiner;

/* Members that may be one node. */
typedef struct group {
    member *at;
    size_t count;
} group;

/* A number for a value that does not depend on where it lies in memory. */
static uint64_t
number_of(const glow_value *v)
{
    if (v->def)
        return (uint64_t)v->def->id * GLOW_MAX_RESULTS + (uint64_t)v->index;

    const char *name = v->storage->name;
    size_t size = 0;

    while (name[size])
        size++;
    return glow_hash(name, size, 1);
}

/* `t` without what may differ along `axis`. */
static glow_type
common(const glow_type *t, int axis)
{
    glow_type c = *t;

    c.shape.at[axis] = 0;
    return c;
}

static uint64_t
hash_type(glow_type t, uint64_t seed)
{
    int64_t facts[GLOW_MAX_RANK + 2] = {(int64_t)t.elem, t.shape.rank};

    for (int i = 0; i < t.shape.rank; i++)
        facts[i + 2] = t.shape.at[i];
    return glow_hash(facts, sizeof facts, seed);
}

static uint64_t
key_of(const rule *r, const glow_node *n)
{
    uint64_t h = (uint64_t)(r - rules);

    h = glow_attrs_hash(glow_op_schema(n->op), n->attrs, h);
    for (int i = 0; i < n->n_in; i++) {
        uint64_t given = n->in[i] != NULL;

        h = glow_hash(&given, sizeof given, h);
        if (n->in[i] && r->axis[i] == SHARED) {
            uint64_t number = number_of(n->in[i]);

            h = glow_hash(&number, sizeof number, h);
        } else if (n->in[i]) {
            h = hash_type(common(n->in[i]->type, r->axis[i]), h);
        }
    }
    return h;
}

/* What equal keys promise, for good. */
static bool
are_alike(const rule *r, const glow_node *x, const glow_node *y)
{
    glow_type a = common(x->out[0]->type, out_axis(r, x));
    glow_type c = common(y->out[0]->type, out_axis(r, y));

    if (x->op != y->op ||
        !glow_attrs_equal(glow_op_schema(x->op), x->attrs, y->attrs) ||
        !glow_type_equal(&a, &c))
        return false;
    for (int i = 0; i < x->n_in; i++) {
        if (r->axis[i] == SHARED || !x->in[i] || !y->in[i]) {
            if (x->in[i] != y->in[i])
                return false;
            continue;
        }
        a = common(x->in[i]->type, r->axis[i]);
        c = common(y->in[i]->type, r->axis[i]);
        if (a.strides.rank || c.strides.rank || !glow_type_equal(&a, &c))
            return false;
    }
    return true;
}

static void
add_members(combiner *c, glow_node *n, int64_t place)
{
    for (size_t i = 0; i < N_RULES; i++) {
        const rule *r = &rules[i];

        if (r->op != n->op || n->pred || (r->fits && !r->fits(n)))
            continue;
        c->members = glow_arena_grow(glow_run_scratch(c->run), c->members,
                                     c->count, &c->cap, sizeof *c->members);
        c->members[c->count++] = (member){n, r, key_of(r, n), place, 0};
    }
}

/* By key, then rank, then place: whole numbers, so that the order is total. */
static int
by_group(const void *x, const void *y)
{
    const member *a = x, *b = y;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Drops members whose key no other has, and more need not be sorted. */
static void
drop_lonely(combiner *c)
{
    size_t size = 16, kept = 0;

    while (size < 4 * c->count)
        size *= 2;

    /* By the low bits of their keys: is there one, is there another? */
    bool *once = GLOW_NEW_ARRAY(glow_run_scratch(c->run), bool, size);
    bool *twice = GLOW_NEW_ARRAY(glow_run_scratch(c->run), bool, size);

    for (size_t i = 0; i < c->count; i++) {
        size_t slot = c->members[i].key & (size - 1);

        twice[slot] = once[slot];
        once[slot] = true;
    }
    for (size_t i = 0; i < c->count; i++)
        if (twice[c->members[i].key & (size - 1)])
            c->members[kept++] = c->members[i];
    c->count = kept;
}

/* The members of the key of `m`. */
static group
group_at(const combiner *c, member *m)
{
    group g = {m, 0};

    while (m + g.count < c->members + c->count && m[g.count].key == m->key)
        g.count++;
    return g;
}

/* Keeps of `g` what is still there and like its first. */
static group
still_alike(const combiner *c, group g)
{
    group kept = {c->group, 0};

    for (size_t i = 0; i < g.count; i++)
        if (!c->is_gone[g.at[i].node->id] &&
            (kept.count == 0 ||
             are_alike(g.at->rule, kept.at->node, g.at[i].node)))
            kept.at[kept.count++] = g.at[i];
    return kept;
}

/* Ranks. */

enum { NEW, OPEN, DONE };

static void
rank_one(combiner *c, const glow_node *n)
{
    int64_t rank = 0;

    for (int i = -1; i < n->n_in; i++) {
        const glow_value *v = i < 0 ? n->pred : n->in[i];

        if (!v || !v->def)
            continue;

        int64_t before = c->ranks[v->def->id] + c->counts[v->def->id];

        rank = before > rank ? before : rank;
    }
    c->ranks[n->id] = rank;
}

/* Ranks `n` and all that it depends on, without recursion: networks are deep. */
static void
rank_from(combiner *c, glow_node *n)
{
    int depth = 0;

    n->mark = OPEN;
    c->stack[0] = n;
    c->next[0] = -1;
    while (depth >= 0) {
        glow_node *top = c->stack[depth];
        int i = c->next[depth]++;

        if (i >= top->n_in) {
            rank_one(c, top);
            top->mark = DONE;
            depth--;
            continue;
        }

        const glow_value *v = i < 0 ? top->pred : top->in[i];

        if (v && v->def && v->def->mark == NEW) {
            v->def->mark = OPEN;
            c->stack[++depth] = v->def;
            c->next[depth] = -1;
        }
    }
}

/* The ranks of `count` members, of whatever groups, which count for it. */
static void
rank(combiner *c, member *m, size_t count)
{
    GLOW_FOR_EACH_NODE(n, c->func)
        n->mark = NEW;
    for (size_t i = 0; i < count; i++)
        c->counts[m[i].node->id] = true;
    for (size_t i = 0; i < count; i++)
        if (m[i].node->mark == NEW)
            rank_from(c, m[i].node);
    for (size_t i = 0; i < count; i++) {
        m[i].rank = c->ranks[m[i].node->id];
        c->counts[m[i].node->id] = false;
    }
}

/* Whether it pays. */

static int64_t
bytes_of(const glow_value *v)
{
    return v ? glow_type_bytes(v->type) : 0;
}

/* Are parts along `axis` one after another in memory? */
static bool
is_outermost(glow_dims shape, int axis)
{
    for (int i = 0; i < axis; i++)
        if (shape.at[i] != 1)
            return false;
    return true;
}

/* Does one Concat put all results together again, in this order? */
static bool
meet_again(const member *m, size_t count, int axis)
{
    const glow_use *use = m[0].node->out[0]->uses;
    const glow_node *user = use ? use->user : NULL;
    const glow_concat *c = GLOW_AS(concat, user);

    if (!c || c->dim != axis || user->pred)
        return false;
    for (size_t i = 0; i < count; i++) {
        const glow_value *v = m[i].node->out[0];
        int at = use->index + (int)i;

        if (!glow_has_one_use(v) || v->uses->user != user || at >= user->n_in ||
            user->in[at] != v)
            return false;
    }
    return true;
}

/* Time to put together operand `k`; negative if it may not be. */
static double
time_to_join(const combiner *c, const member *m, size_t count, int k)
{
    const glow_target *target = glow_run_target(c->run);
    glow_dims shape = m->node->in[k]->type->shape;
    bool constant = true, alone = true;
    int64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        const glow_value *v = m[i].node->in[k];

        bytes += bytes_of(v);
        constant = constant && glow_is_constant(v);
        alone = alone && glow_has_one_use(v);
    }
    if (constant)
        return alone && bytes <= most_bytes ? 0 : -1;
    if (is_outermost(shape, m->rule->axis[k]))
        bytes = 0;
    return glow_cost_time(target, (glow_cost){0, bytes, bytes}, 1);
}

static double
time_to_part(const combiner *c, const member *m, size_t count, int axis)
{
    const glow_target *target = glow_run_target(c->run);
    bool free = is_outermost(m->node->out[0]->type->shape, axis);
    double time = 0;

    if (meet_again(m, count, axis))
        return 0;
    for (size_t i = 0; i < count; i++) {
        int64_t bytes = free ? 0 : bytes_of(m[i].node->out[0]);

        time += glow_cost_time(target, (glow_cost){0, bytes, bytes}, 1);
    }
    return time;
}

static bool
does_pay(const combiner *c, const member *m, size_t count)
{
    const glow_target *target = glow_run_target(c->run);
    const rule *r = m->rule;
    glow_cost all = {0};
    double before = 0, after;

    for (size_t i = 0; i < count; i++) {
        glow_cost one = glow_node_cost(m[i].node);

        before += glow_cost_time(target, one, 1);
        for (int k = 0; i > 0 && k < m->node->n_in; k++)
            one.read -= r->axis[k] == SHARED ? bytes_of(m->node->in[k]) : 0;
        all = glow_cost_add(all, one);
    }
    after = glow_cost_time(target, all, 1) +
            time_to_part(c, m, count, out_axis(r, m->node));
    for (int k = 0; k < m->node->n_in; k++) {
        double join = r->axis[k] != SHARED && m->node->in[k]
                          ? time_to_join(c, m, count, k)
                          : 0;

        if (join < 0)
            return false;
        after += join;
    }
    if (after >= before)
        glow_run_remark(c->run, m->node, false,
                        "%zu %ss that share an operand take %.3g s, and one "
                        "in their place %.3g s",
                        count, r->op->name, before, after);
    return after < before;
}

/* Combining. */

static glow_value *
join_operand(combiner *c, const member *m, size_t count, int k)
{
    glow_value **parts =
        GLOW_NEW_ARRAY(glow_run_scratch(c->run), glow_value *, count);

    if (!m->node->in[k] || m->rule->axis[k] == SHARED)
        return m->node->in[k];
    for (size_t i = 0; i < count; i++)
        parts[i] = m[i].node->in[k];
    return glow_build(c->builder, &glow_op_concat, NULL, parts, (int)count,
                      &(const glow_concat){.dim = m->rule->axis[k]});
}

static glow_value *
build_whole(combiner *c, const member *m, size_t count)
{
    glow_value *in[OPERANDS];

    glow_builder_at(c->builder, m->node);
    for (size_t i = 1; i < count; i++)
        glow_builder_fuses(c->builder, m[i].node);
    for (int k = 0; k < m->node->n_in; k++)
        in[k] = join_operand(c, m, count, k);
    return glow_build(c->builder, m->node->op, NULL, in, m->node->n_in,
                      m->node->attrs);
}

static bool
combine(combiner *c, const member *m, size_t count)
{
    int axis = out_axis(m->rule, m->node);

    glow_run_remark(c->run, m->node, true,
                    "%zu %ss that share an operand are one", count,
                    m->node->op->name);

    glow_value *whole = build_whole(c, m, count);
    glow_slice s = {.start.rank = whole ? whole->type->shape.rank : 0};

    for (size_t i = 0; i < count && !glow_builder_failed(c->builder); i++) {
        glow_node *n = m[i].node;
        const char *name = n->name;

        glow_builder_at(c->builder, n);

        glow_value *part = glow_build(c->builder, &glow_op_slice,
                                      n->out[0]->type, GLOW_IN(whole), &s);

        if (!part)
            break;
        s.start.at[axis] += n->out[0]->type->shape.at[axis];
        glow_replace_uses(n->out[0], part);
        c->is_gone[n->id] = true;
        glow_node_erase(n);
        glow_node_rename(part->def, name);
    }
    return !glow_builder_failed(c->builder);
}

/* Combines members of one key and rank, if it pays. */
static glow_result
combine_equal(combiner *c, const member *m, size_t count)
{
    if (count < 2 || !does_pay(c, m, count) || !glow_run_may_rewrite(c->run))
        return GLOW_UNCHANGED;
    return combine(c, m, count) ? GLOW_CHANGED : GLOW_FAILED;
}

/* Combines ranked members, those of each rank by themselves. */
static glow_result
combine_ranked(combiner *c, group g)
{
    glow_result result = GLOW_UNCHANGED;

    qsort(g.at, g.count, sizeof *g.at, by_group);
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

/* Do the operands that are joined have no nodes? */
static bool
is_independent(const group *g)
{
    const member *m = g->at;

    for (size_t i = 0; i < g->count; i++)
        for (int k = 0; k < m->node->n_in; k++)
            if (m->rule->axis[k] != SHARED && m[i].node->in[k] &&
                m[i].node->in[k]->def)
                return false;
    return true;
}

/* The largest first, then in the order of the text. */
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

/* All groups of two and more that would pay if they may be combined. */
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
        if (alike.count < 2 || !does_pay(c, alike.at, alike.count))
            continue;
        groups = glow_arena_grow(scratch, groups, *count, &cap, sizeof *groups);
        groups[(*count)++] = g;
    }
    if (*count > 0)
        qsort(groups, *count, sizeof *groups, by_size);
    return groups;
}

/* For walks, with room for what combining all members makes. */
static void
prepare(combiner *c)
{
    glow_arena *scratch = glow_run_scratch(c->run);
    size_t more = (OPERANDS + 2) * c->count;
    size_t ids = c->func->next_id + more, nodes = (size_t)c->func->count + more;

    c->counts = GLOW_NEW_ARRAY(scratch, bool, ids);
    c->ranks = GLOW_NEW_ARRAY(scratch, int64_t, ids);
    c->stack = GLOW_NEW_ARRAY(scratch, glow_node *, nodes);
    c->next = GLOW_NEW_ARRAY(scratch, int, nodes);
    c->builder =
        glow_builder_new(scratch, c->func, glow_run_pass(c->run)->name);
}

/* One walk for all that is left of the groups. */
static glow_result
combine_rest(combiner *c, const group *groups, size_t count)
{
    glow_result result = GLOW_UNCHANGED;
    member *all = GLOW_NEW_ARRAY(glow_run_scratch(c->run), member, c->count);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        group g = still_alike(c, groups[i]);

        for (size_t k = 0; k < g.count; k++)
            all[n++] = g.at[k];
    }
    rank(c, all, n);
    qsort(all, n, sizeof *all, by_group);
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
    glow_result result = GLOW_UNCHANGED;
    size_t walks = 0, i = 0;

    prepare(c);
    for (; i < count && walks < MOST_WALKS; i++) {
        group g = still_alike(c, groups[i]);

        if (!is_independent(&g)) {
            walks++;
            rank(c, g.at, g.count);
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
    drop_lonely(&c);
    if (c.count < 2)
        return GLOW_UNCHANGED;
    qsort(c.members, c.count, sizeof *c.members, by_group);
    c.is_gone = GLOW_NEW_ARRAY(scratch, bool, f->next_id);
    c.group = GLOW_NEW_ARRAY(scratch, member, c.count);

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
