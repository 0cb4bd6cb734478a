/* Vector clocks of the instructions of a program: see glow/engines.h. */

#include "glow/engines.h"

#include <string.h>

typedef struct walker {
    glow_engines *e;
    int *engine;
    int64_t *turn;
    int64_t *clocks;
    int64_t *now; /* by engine, then by engine: the clock behind its last one */
    const int64_t *
        *signals; /* by number of an alloc: the clock of its signal */
} walker;

static int
find_name(const char *const *names, int count, const char *name)
{
    for (int i = 1; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return count;
}

/* The engines in the order in which instructions name them, the host first. */
static void
name_engines(glow_arena *a, const glow_func *f, glow_engines *e)
{
    const char **names = NULL;
    size_t cap = 0;

    names = glow_arena_grow(a, names, 0, &cap, sizeof *names);
    names[0] = NULL;
    e->count = 1;
    GLOW_FOR_EACH_NODE(n, f) {
        if (!n->queue || find_name(names, e->count, n->queue) < e->count)
            continue;
        names =
            glow_arena_grow(a, names, (size_t)e->count, &cap, sizeof *names);
        names[e->count++] = n->queue;
    }
    e->name = names;
}

static void
join(int64_t *clock, const int64_t *with, int count)
{
    for (int i = 0; i < count; i++)
        if (clock[i] < with[i])
            clock[i] = with[i];
}

static void
step(walker *w, const glow_node *n)
{
    glow_engines *e = w->e;
    uint32_t i = glow_number_of(&e->numbers, n);
    int k = n->queue ? find_name(e->name, e->count, n->queue) : 0;
    int64_t *now = w->now + (size_t)k * (size_t)e->count;
    int64_t *clock = w->clocks + (size_t)i * (size_t)e->count;

    join(now, w->now, e->count); /* issued by the host */
    memcpy(clock, now, (size_t)e->count * sizeof *clock);
    w->engine[i] = k;
    w->turn[i] = ++now[k];
    if (n->op == &glow_op_signal)
        w->signals[glow_number_of(&e->numbers,
                                  glow_base_buffer(n->out[0])->def)] = clock;
    if (n->op == &glow_op_wait) {
        const int64_t *from = w->signals[glow_number_of(
            &e->numbers, glow_base_buffer(n->in[0])->def)];

        if (from)
            join(now, from, e->count);
    }
}

const glow_engines *
glow_engines_of(glow_arena *a, const glow_func *f)
{
    glow_engines *e = GLOW_NEW(a, glow_engines);
    walker w = {.e = e};
    size_t count = (size_t)f->count;

    e->func = f;
    e->numbers = glow_number_nodes(a, f);
    name_engines(a, f, e);
    e->engine = w.engine = GLOW_NEW_ARRAY(a, int, count);
    e->turn = w.turn = GLOW_NEW_ARRAY(a, int64_t, count);
    e->clocks = w.clocks = GLOW_NEW_ARRAY(a, int64_t, count *(size_t)e->count);
    w.now = GLOW_NEW_ARRAY(a, int64_t, (size_t)e->count *(size_t)e->count);
    w.signals = GLOW_NEW_ARRAY(a, const int64_t *, count);
    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op->traits & GLOW_STRUCTURAL)
            w.engine[glow_number_of(&e->numbers, n)] = -1;
        else
            step(&w, n);
    }
    return e;
}

bool
glow_runs_before(const glow_engines *e, const glow_node *x, const glow_node *y)
{
    uint32_t i = glow_number_of(&e->numbers, x);
    uint32_t j = glow_number_of(&e->numbers, y);

    return e->engine[i] >= 0 && e->engine[j] >= 0 &&
           e->clocks[(size_t)j * (size_t)e->count + (size_t)e->engine[i]] >=
               e->turn[i];
}

/* Random orders. */

typedef struct chooser {
    const glow_engines *e;
    const glow_node *
        *queued; /* by number of an instruction: the next of its queue */
    const glow_node **heads;  /* by engine: the next one to run */
    const glow_node **tails;  /* by engine: the last one that was issued */
    const glow_node *issued;  /* the next of the text that is to be issued */
    bool *done;               /* by number */
    const glow_node **signal; /* by number of a token's alloc: its signal */
    int *rank;                /* engines, the most preferred first */
    uint64_t state;
} chooser;

/* xorshift64* (Vigna, ACM TOMS 42, 2016). */
static uint32_t
draw(chooser *c, uint32_t below)
{
    c->state ^= c->state >> 12;
    c->state ^= c->state << 25;
    c->state ^= c->state >> 27;
    return (uint32_t)(((c->state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) %
                      below);
}

static uint32_t
number(const chooser *c, const glow_node *n)
{
    return glow_number_of(&c->e->numbers, n);
}

/* Gives instructions to their queues, up to one that the host has to run. */
static void
issue(chooser *c)
{
    for (; c->issued && !c->heads[0]; c->issued = c->issued->next) {
        int k = c->e->engine[number(c, c->issued)];

        if (k < 0)
            continue;
        if (c->heads[k])
            c->queued[number(c, c->tails[k])] = c->issued;
        else
            c->heads[k] = c->issued;
        c->tails[k] = c->issued;
    }
}

static bool
is_ready(const chooser *c, const glow_node *n)
{
    const glow_node *signal;

    if (!n || n->op != &glow_op_wait)
        return n;
    signal = c->signal[number(c, glow_base_buffer(n->in[0])->def)];
    return !signal || c->done[number(c, signal)];
}

/* The next instruction, of the first engine by rank that can run one. */
static const glow_node *
choose(chooser *c)
{
    int count = c->e->count;

    for (int i = count - 1; i > 0 && draw(c, 4) == 0; i--) {
        int k = (int)draw(c, (uint32_t)i + 1), keep = c->rank[i];

        c->rank[i] = c->rank[k];
        c->rank[k] = keep;
    }
    for (int i = 0; i < count; i++) {
        const glow_node *n = c->heads[c->rank[i]];

        if (!is_ready(c, n))
            continue;
        c->heads[c->rank[i]] = c->queued[number(c, n)];
        c->done[number(c, n)] = true;
        return n;
    }
    return NULL;
}

const glow_node *const *
glow_queue_order(glow_arena *a, const glow_func *f, uint32_t seed)
{
    size_t count = (size_t)f->count;
    chooser c = {.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    const glow_node **order, *n;
    size_t k = 0;

    if (!glow_has_queues(f))
        return NULL;
    c.e = glow_engines_of(a, f);
    c.queued = GLOW_NEW_ARRAY(a, const glow_node *, count);
    c.heads = GLOW_NEW_ARRAY(a, const glow_node *, (size_t)c.e->count);
    c.tails = GLOW_NEW_ARRAY(a, const glow_node *, (size_t)c.e->count);
    c.done = GLOW_NEW_ARRAY(a, bool, count);
    c.signal = GLOW_NEW_ARRAY(a, const glow_node *, count);
    c.rank = GLOW_NEW_ARRAY(a, int, (size_t)c.e->count);
    c.issued = f->first;
    for (int i = 0; i < c.e->count; i++)
        c.rank[i] = i;
    GLOW_FOR_EACH_NODE(s, f)
        if (s->op == &glow_op_signal)
            c.signal[number(&c, glow_base_buffer(s->out[0])->def)] = s;
    order = GLOW_NEW_ARRAY(a, const glow_node *, count + 1);
    for (issue(&c); (n = choose(&c)) != NULL; issue(&c))
        order[k++] = n;
    return order;
}
