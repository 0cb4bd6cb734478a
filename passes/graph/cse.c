/*
 * cse: merge equal nodes (global value numbering).
 *
 *     %a = Relu(%x)
 *     %b = Relu(%x)     users of %b   =>   %a = Relu(%x)     users of %a
 *
 * Two nodes are equal if operator, attributes, operands, predicate and result
 * types are equal, and the operator is pure.  The first two operands of a
 * commutative operator may stand in either order.  Nodes are visited after
 * their operands, whatever their position in the text, so that equal
 * expressions of any depth merge in one run.  Afterwards no two pure nodes are
 * equal.
 *
 * The first node stays, and its provenance includes that of the second.
 *
 * A scheduled function is left alone: recomputation is a choice of the
 * schedule, to save memory (rematerialize).
 *
 * The table is open addressing over hashes of the contents, as in J. Cocke,
 * Global Common Subexpression Elimination, SIGPLAN Notices 5 (7), 1970.
 * Operands are hashed by their addresses: these determine the slot of a node,
 * but not which node is kept, since the table has only the first of equal
 * nodes.
 */

#include "glow/number.h"
#include "passes/graph/common/topology.h"

typedef struct entry {
    uint32_t number; /* of a node in the order, from 1 on; 0: free */
    uint32_t hash;   /* upper half of the hash */
} entry;

/* A node into which others were merged. */
typedef struct merged {
    glow_node *node;
    const glow_loc **locs; /* of all of them */
    size_t count, cap;
} merged;

typedef struct table {
    glow_arena *arena;
    glow_numbering
        numbers; /* of visited nodes: VISITED, or MERGED + the number in
                               `merged` */
    glow_node **order;
    entry *entries; /* small, because lookups are random accesses */
    size_t size;    /* a power of two, at least twice the nodes */
    merged *merged;
    size_t n_merged, cap_merged;
} table;

/* Equality. */

/* Hashes the pointer: reads neither the value nor its defining node. */
static uint64_t
value_hash(const glow_value *v, uint64_t seed)
{
    uint64_t h = (seed ^ (uint64_t)(uintptr_t)v) * UINT64_C(0x9e3779b97f4a7c15);

    return h ^ h >> 32;
}

static uint64_t
node_hash(const glow_node *n)
{
    uint64_t h =
        glow_attrs_hash(glow_op_schema(n->op), n->attrs, (uint64_t)n->n_in);
    int i = 0;

    for (const char *c = n->op->name; *c; c++)
        h = h * 31 + (unsigned char)*c;
    if ((n->op->traits & GLOW_COMMUTATIVE) && n->n_in >= 2) {
        h += value_hash(n->in[0], 7) + value_hash(n->in[1], 7);
        i = 2;
    }
    for (; i < n->n_in; i++)
        h = value_hash(n->in[i], h);
    return value_hash(n->pred, h);
}

static bool
same_operands(const glow_node *a, const glow_node *b)
{
    int i = 0;

    if (a->n_in != b->n_in || a->pred != b->pred)
        return false;
    if ((a->op->traits & GLOW_COMMUTATIVE) && a->n_in >= 2 &&
        a->in[0] == b->in[1] && a->in[1] == b->in[0])
        i = 2;
    for (; i < a->n_in; i++)
        if (a->in[i] != b->in[i])
            return false;
    return true;
}

static bool
is_equal(const glow_node *a, const glow_node *b)
{
    if (a->op != b->op || a->n_out != b->n_out || !same_operands(a, b))
        return false;
    for (int i = 0; i < a->n_out; i++)
        if (a->out[i]->type != b->out[i]->type)
            return false;
    return glow_attrs_equal(glow_op_schema(a->op), a->attrs, b->attrs);
}

/* The entry of a node equal to `n`, or the free entry for it. */
static entry *
find(const table *t, const glow_node *n, uint64_t hash)
{
    for (size_t i = hash & (t->size - 1);; i = (i + 1) & (t->size - 1)) {
        entry *e = &t->entries[i];

        if (e->number == 0 ||
            (e->hash == hash >> 32 && is_equal(t->order[e->number - 1], n)))
            return e;
    }
}

/* Merging. */

static void
note_loc(table *t, merged *m, const glow_loc *loc)
{
    m->locs =
        glow_arena_grow(t->arena, m->locs, m->count, &m->cap, sizeof *m->locs);
    m->locs[m->count++] = loc;
}

/* The provenance merged into `stays`, created with its own location. */
static merged *
merged_into(table *t, glow_node *stays)
{
    uint32_t number = glow_number_of(&t->numbers, stays);

    if (number == GLOW_UNNUMBERED) {
        t->merged = glow_arena_grow(t->arena, t->merged, t->n_merged,
                                    &t->cap_merged, sizeof *t->merged);
        t->merged[t->n_merged] = (merged){.node = stays};
        number = (uint32_t)t->n_merged++;
        glow_number_set(&t->numbers, stays, number);
        note_loc(t, &t->merged[number], stays->loc);
    }
    return &t->merged[number];
}

static void
merge(table *t, glow_node *stays, glow_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (!glow_is_unused(n->out[i]))
            glow_replace_uses(n->out[i], stays->out[i]);
    note_loc(t, merged_into(t, stays), n->loc);
    glow_node_erase(n);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *a = glow_run_scratch(pass);
    int count = f->count;
    table t = {.arena = a, .size = 16};

    if (f->scheduled)
        return GLOW_UNCHANGED;
    t.numbers = glow_numbering_new(a, f);
    t.order = glow_nodes_in_order(a, f);
    while (t.size < 2 * (size_t)count)
        t.size *= 2;
    t.entries = GLOW_NEW_ARRAY(a, entry, t.size);
    for (int i = 0; i < count; i++) {
        glow_node *n = t.order[i];

        if (!(n->op->traits & GLOW_PURE) || n->n_out == 0)
            continue;

        uint64_t hash = node_hash(n);
        entry *e = find(&t, n, hash);

        if (e->number == 0)
            *e = (entry){(uint32_t)i + 1, (uint32_t)(hash >> 32)};
        else if (glow_run_may_rewrite(pass))
            merge(&t, t.order[e->number - 1], n);
    }
    for (size_t i = 0; i < t.n_merged; i++)
        t.merged[i].node->loc =
            glow_loc_fused(f->module, glow_run_pass(pass)->name,
                           t.merged[i].locs, (int)t.merged[i].count);
    return t.n_merged > 0 ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_cse = {
    .name = "cse",
    .summary = "merge nodes that compute the same",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
