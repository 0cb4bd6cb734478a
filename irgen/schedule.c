/*
 * schedule: put the nodes of a graph into an order that needs little memory.
 *
 *     function @f { ... }   =>   function @f scheduled { ... }
 *
 * Afterwards every operand stands before its user, and every reader of a
 * placeholder before the Save that overwrites it (unless Saves wait for each
 * other in a ring: then irgen makes a copy).
 *
 * While a node runs, its operands and results are in memory; a value leaves
 * after its last user.  The largest sum is the peak.  Finding the order of the
 * least peak is NP-hard.
 *
 *   given         the order of the text, mended where a use stands first
 *   child-memory  Glow's heuristic: from each node that nobody uses, depth
 *                 first; of a node's operands that one first whose computation
 *                 needs most memory beyond what it leaves behind (Sethi and
 *                 Ullman, J. ACM 17, 1970, made that rule for trees).  A node
 *                 that leaves nothing, like Save, runs as soon as it can.
 *   auto          the one of both with the lower peak; if equal, with the
 *                 smaller sum of live bytes over time; if equal, the given
 *
 * Time grows linearly with nodes and uses, but for sorting the operands of one
 * node; no recursion.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "glow/pass.h"
#include "irgen/values.h"

enum { GIVEN, CHILD_MEMORY, AUTO };

static const char *const strategies[] = {"given", "child-memory", "auto", NULL};

typedef struct schedule_options {
    int strategy;
} schedule_options;

static const schedule_options defaults = {.strategy = AUTO};

/* What must run before a node: an operand's definition, or a reader. */
typedef struct child {
    int64_t rank; /* the higher, the earlier */
    uint32_t node;
    uint32_t turn; /* as the operands have it */
} child;

typedef struct frame { /* a node whose children are being visited */
    uint32_t node;
    size_t next, end; /* in the stack of children */
} frame;

typedef struct scheduler {
    glow_func *f;
    glow_arena *scratch;
    glow_values *values;
    int64_t *need; /* memory for computing a node from nothing */
    int64_t *left; /* of that, what its results keep */
    uint8_t *state;
    uint32_t *waits; /* for so many uses that have not run */
    bool ranked;     /* children by rank, not as given */
    bool eager;      /* nodes that leave nothing run when they can */
    uint32_t *order;
    uint32_t n_order;
    frame *frames;
    size_t n_frames, cap_frames;
    child *children;
    size_t n_children, cap_children;
    uint32_t *ready;
    size_t n_ready, cap_ready;
} scheduler;

enum { NEW, OPEN, DONE };

/* a + b, or the largest number. */
static int64_t
plus(int64_t a, int64_t b)
{
    int64_t sum;

    return glow_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static glow_node *
node_at(const scheduler *s, uint32_t i)
{
    return s->values->nodes[i];
}

/* The buffer that node `i` reads as operand `k` (-1: as predicate). */
static uint32_t
buffer_at(const scheduler *s, uint32_t i, int k)
{
    const glow_node *n = node_at(s, i);
    glow_value *v = k < 0 ? n->pred : n->in[k];

    return v ? glow_value_base(s->values, v) : GLOW_NO_VALUE;
}

/* Calls `fn` for each node that must run before node `i`. */
typedef void (*before_fn)(scheduler *s, uint32_t node, glow_node *before);

static void
each_before(scheduler *s, uint32_t i, before_fn fn)
{
    glow_node *n = node_at(s, i);

    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] && n->in[k]->def)
            fn(s, i, n->in[k]->def);
    if (n->pred && n->pred->def)
        fn(s, i, n->pred->def);
    for (int k = 0; k < n->n_in; k++)
        if (glow_is_written(n, k))
            GLOW_FOR_EACH_USE(u, n->in[k])
                if (u->user->func == s->f && u->user != n &&
                    !(u->index >= 0 && glow_is_written(u->user, u->index)))
                    fn(s, i, u->user);
}

static void
add_child(scheduler *s, uint32_t i, glow_node *before)
{
    uint32_t b = before->mark;
    size_t first = s->frames[s->n_frames - 1].next;

    (void)i;
    if (s->state[b] != NEW)
        return;
    s->children = glow_arena_grow(s->scratch, s->children, s->n_children,
                                  &s->cap_children, sizeof(child));
    s->children[s->n_children] = (child){
        .rank = s->ranked ? s->need[b] - s->left[b] : 0,
        .node = b,
        .turn = (uint32_t)(s->n_children - first),
    };
    s->n_children++;
}

static void
count_wait(scheduler *s, uint32_t i, glow_node *before)
{
    (void)before;
    s->waits[i]++;
}

static int
by_rank(const void *x, const void *y)
{
    const child *a = x, *b = y;

    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return a->turn < b->turn ? -1 : 1;
}

static void
open_node(scheduler *s, uint32_t i)
{
    size_t first = s->n_children;

    s->state[i] = OPEN;
    s->frames = glow_arena_grow(s->scratch, s->frames, s->n_frames,
                                &s->cap_frames, sizeof(frame));
    s->frames[s->n_frames++] = (frame){i, first, first};
    each_before(s, i, add_child);
    s->frames[s->n_frames - 1].end = s->n_children;
    if (s->ranked && s->n_children - first > 1)
        qsort(&s->children[first], s->n_children - first, sizeof(child),
              by_rank);
}

static void
run_node(scheduler *s, uint32_t i)
{
    s->state[i] = DONE;
    s->order[s->n_order++] = i;
}

/* One use by `n` has run; a node that leaves nothing may be ready. */
static void
ran(scheduler *s, glow_node *n)
{
    uint32_t i = n->mark;

    if (n->func != s->f || --s->waits[i] > 0 || s->state[i] == DONE)
        return;
    for (int k = 0; k < n->n_out; k++)
        if (!glow_is_unused(n->out[k]) &&
            s->values->bytes[s->values->first[i] + (uint32_t)k] > 0)
            return;
    s->ready = glow_arena_grow(s->scratch, s->ready, s->n_ready, &s->cap_ready,
                               sizeof(uint32_t));
    s->ready[s->n_ready++] = i;
}

/* Tells those that wait for `i`: its users, and Saves over what it reads. */
static void
tell(scheduler *s, uint32_t i)
{
    glow_node *n = node_at(s, i);

    for (int k = 0; k < n->n_out; k++)
        GLOW_FOR_EACH_USE(u, n->out[k])
            ran(s, u->user);
    for (int k = -1; k < n->n_in; k++) {
        glow_value *v = k < 0 ? n->pred : n->in[k];

        if (!v || v->def || (k >= 0 && glow_is_written(n, k)))
            continue;
        glow_node *writer = glow_values_writer(s->values, v);

        if (writer && writer != n)
            ran(s, writer);
    }
}

static int
by_position(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

    return (a > b) - (a < b);
}

/* Runs `i`, then, in the order of the text, all that now can and is eager. */
static void
finish(scheduler *s, uint32_t i)
{
    run_node(s, i);
    if (!s->eager)
        return;
    tell(s, i);
    while (s->n_ready > 0) {
        size_t n = s->n_ready;
        uint32_t *now =
            glow_arena_copy(s->scratch, s->ready, n * sizeof(uint32_t));

        s->n_ready = 0;
        qsort(now, n, sizeof(uint32_t), by_position);
        for (size_t k = 0; k < n; k++)
            if (s->state[now[k]] == NEW) {
                run_node(s, now[k]);
                tell(s, now[k]);
            }
    }
}

/* Runs `root` after all that must run before it. */
static void
visit(scheduler *s, uint32_t root)
{
    if (s->state[root] != NEW)
        return;
    open_node(s, root);
    while (s->n_frames > 0) {
        frame *top = &s->frames[s->n_frames - 1];

        if (top->next < top->end) {
            uint32_t next = s->children[top->next++].node;

            if (s->state[next] == NEW)
                open_node(s, next);
            continue;
        }
        s->n_frames--;
        s->n_children = s->n_frames ? s->frames[s->n_frames - 1].end : 0;
        if (s->state[top->node] != DONE)
            finish(s, top->node);
    }
}

/* True if nobody in the graph uses what node `i` computes. */
static bool
is_sink(const scheduler *s, uint32_t i)
{
    const glow_node *n = node_at(s, i);

    for (int k = 0; k < n->n_out; k++)
        if (!glow_is_unused(n->out[k]))
            return false;
    return true;
}

/* Clears what ordering writes, and orders by the strategy. */
static uint32_t *
make_order(scheduler *s, int strategy)
{
    uint32_t count = s->values->n_nodes;

    s->ranked = s->eager = strategy == CHILD_MEMORY;
    memset(s->state, NEW, count);
    memset(s->waits, 0, count * sizeof(*s->waits));
    s->order = GLOW_NEW_ARRAY(s->scratch, uint32_t, count);
    s->n_order = 0;
    if (s->eager)
        for (uint32_t i = 0; i < count; i++)
            each_before(s, i, count_wait);
    for (uint32_t i = 0; i < count; i++)
        if (!s->ranked || is_sink(s, i))
            visit(s, i);
    return s->order;
}

/* Sets what computing node `i` needs and leaves, operands being measured. */
static void
measure(scheduler *s, uint32_t i)
{
    const glow_node *n = node_at(s, i);
    size_t count = 0, cap = s->cap_children;
    int64_t peak = 0, live = 0, own = 0;

    for (int k = 0; k < n->n_in; k++) {
        if (!n->in[k] || !n->in[k]->def)
            continue;
        uint32_t c = n->in[k]->def->mark;

        s->children = glow_arena_grow(s->scratch, s->children, count, &cap,
                                      sizeof(child));
        s->children[count++] = (child){s->need[c] - s->left[c], c, c};
    }
    s->cap_children = cap;
    if (count > 1)
        qsort(s->children, count, sizeof(child), by_rank);
    for (size_t k = 0; k < count; k++) {
        uint32_t c = s->children[k].node;

        if (k > 0 && s->children[k - 1].node == c)
            continue;
        peak = larger(peak, plus(live, s->need[c]));
        live = plus(live, s->left[c]);
    }
    for (int k = 0; k < n->n_out; k++)
        own = plus(own, s->values->bytes[s->values->first[i] + (uint32_t)k]);
    s->need[i] = larger(peak, plus(live, own));
    s->left[i] = glow_is_view(n) ? live : own;
}

/* What an order costs. */
typedef struct cost {
    int64_t peak; /* bytes */
    int64_t area; /* sum over all nodes of the bytes in memory after it */
} cost;

/* How often each buffer is used, by the number of its value. */
static uint32_t *
count_uses(const scheduler *s)
{
    uint32_t *uses = GLOW_NEW_ARRAY(s->scratch, uint32_t, s->values->n_values);

    for (uint32_t i = 0; i < s->values->n_nodes; i++)
        for (int k = -1; k < node_at(s, i)->n_in; k++) {
            uint32_t v = buffer_at(s, i, k);

            if (v != GLOW_NO_VALUE)
                uses[v]++;
        }
    return uses;
}

static cost
cost_of(const scheduler *s, const uint32_t *order)
{
    uint32_t *uses = count_uses(s);
    const int64_t *bytes = s->values->bytes;
    cost c = {0};
    int64_t live = 0;

    for (uint32_t k = 0; k < s->values->n_nodes; k++) {
        const glow_node *n = node_at(s, order[k]);
        uint32_t out = s->values->first[order[k]];

        for (int i = 0; i < n->n_out; i++)
            live = plus(live, bytes[out + (uint32_t)i]);
        c.peak = larger(c.peak, live);
        for (int i = -1; i < n->n_in; i++) {
            uint32_t v = buffer_at(s, order[k], i);

            if (v != GLOW_NO_VALUE && --uses[v] == 0)
                live = plus(live, -bytes[v]);
        }
        for (int i = 0; i < n->n_out; i++)
            if (uses[out + (uint32_t)i] == 0)
                live = plus(live, -bytes[out + (uint32_t)i]);
        c.area = plus(c.area, live);
    }
    return c;
}

/* No order needs less than the node that needs most by itself. */
static int64_t
bound(const scheduler *s)
{
    uint32_t *seen = GLOW_NEW_ARRAY(s->scratch, uint32_t, s->values->n_values);
    int64_t most = 0;

    for (uint32_t i = 0; i < s->values->n_nodes; i++) {
        const glow_node *n = node_at(s, i);
        int64_t sum = 0;

        for (int k = 0; k < n->n_out; k++)
            sum =
                plus(sum, s->values->bytes[s->values->first[i] + (uint32_t)k]);
        for (int k = -1; k < n->n_in; k++) {
            uint32_t v = buffer_at(s, i, k);

            if (v == GLOW_NO_VALUE || seen[v] == i + 1)
                continue;
            seen[v] = i + 1;
            sum = plus(sum, s->values->bytes[v]);
        }
        most = larger(most, sum);
    }
    return most;
}

/* Gives the function the order; false if it has it already. */
static bool
apply(scheduler *s, const uint32_t *order)
{
    bool changed = !s->f->scheduled;

    for (uint32_t k = 0; k < s->values->n_nodes; k++)
        changed |= order[k] != k;
    for (uint32_t k = 0; changed && k < s->values->n_nodes; k++)
        if (node_at(s, order[k]) != s->f->last)
            glow_node_move_after(node_at(s, order[k]), s->f->last);
    s->f->scheduled = true;
    return changed;
}

static bool
is_better(cost a, cost b)
{
    return a.peak < b.peak || (a.peak == b.peak && a.area < b.area);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const schedule_options *options = glow_run_options(pass);
    scheduler s = {.f = f, .scratch = glow_run_scratch(pass)};

    s.values = glow_values_new(s.scratch, f);
    s.need = GLOW_NEW_ARRAY(s.scratch, int64_t, s.values->n_nodes);
    s.left = GLOW_NEW_ARRAY(s.scratch, int64_t, s.values->n_nodes);
    s.state = GLOW_NEW_ARRAY(s.scratch, uint8_t, s.values->n_nodes);
    s.waits = GLOW_NEW_ARRAY(s.scratch, uint32_t, s.values->n_nodes);

    const uint32_t *order = make_order(&s, GIVEN);
    cost given = cost_of(&s, order), least = given;

    if (options->strategy != GIVEN) {
        for (uint32_t k = 0; k < s.values->n_nodes; k++)
            measure(&s, order[k]);
        uint32_t *other = make_order(&s, CHILD_MEMORY);
        cost c = cost_of(&s, other);

        if (options->strategy == CHILD_MEMORY || is_better(c, given)) {
            order = other;
            least = c;
        }
    }
    glow_run_count(pass, "peak", least.peak);
    glow_run_note(pass,
                  "@%s: peak %" PRId64 " bytes, %" PRId64
                  " as given, never below %" PRId64,
                  f->name, least.peak, given.peak, bound(&s));
    return apply(&s, order) ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_schedule = {
    .name = "schedule",
    .summary = "order the nodes so that little memory is needed at once",
    .level = GLOW_GRAPH,
    .makes = GLOW_SCHEDULED,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_ENUM(schedule_options, strategy, strategies,
                                "given, child-memory, or the better of both")},
    .defaults = &defaults,
    .run = run,
    .source = "Glow, lib/IR/GraphScheduler.cpp; Sethi and Ullman, The "
              "generation of optimal code for arithmetic expressions (1970)",
};
