/*
 * Hazards, by a shadow of each region: for each grain of its bytes the last writer, and
 * for each engine its last reader since.  The last of an engine is enough, because an
 * engine runs in order.  A grain is the greatest common divisor of all addresses and
 * lengths, so that the shadow is exact.
 */

#include "irgen/engines/hazards.h"

#include "glow/layout.h"
#include "irgen/engines/loads.h"

typedef struct shadow {
    const void *memory; /* a region, or an alloc without a place */
    int64_t grain, size;
    uint32_t *writer;  /* by grain: 1 + number */
    uint32_t *readers; /* by grain, then by engine: 1 + number */
    struct shadow *next;
} shadow;

typedef struct walker {
    glow_arena *arena;
    const glow_numbering *numbers;
    const int *engine;
    int count;
    shadow *shadows;
    glow_node **nodes;
    uint32_t *
        last; /* by engine: 1 + number of the node that the one at hand depends on */
} walker;

/* Runs of contiguous bytes of a value in its memory. */

typedef void (*run_fn)(walker *w, shadow *s, int64_t at, int64_t bytes,
                       uint32_t now);

static const void *
memory_of(const glow_node *base)
{
    return base->place ? (const void *)base->place->region : (const void *)base;
}

static bool
is_tracked(const glow_value *v)
{
    return v && v->type->elem != GLOW_TOKEN &&
           !glow_is_constant(glow_base_buffer((glow_value *)v)) &&
           glow_type_count(v->type) > 0;
}

static shadow *
shadow_of(walker *w, const glow_node *base)
{
    shadow *s = w->shadows;

    while (s && s->memory != memory_of(base))
        s = s->next;
    if (s)
        return s;
    s = GLOW_NEW(w->arena, shadow);
    s->memory = memory_of(base);
    s->next = w->shadows;
    w->shadows = s;
    return s;
}

static void
each_run(walker *w, const glow_value *v, run_fn fn, uint32_t now)
{
    glow_extent e = glow_extent_of(v);
    shadow *s = shadow_of(w, e.base);
    int64_t bytes = glow_kind_get(v->type->elem)->bytes, inner = 1;
    int64_t at = (e.base->place ? e.base->place->offset : 0) + e.first * bytes;
    glow_dims steps = glow_type_steps(v->type), outer = v->type->shape;

    while (outer.rank > 0 &&
           (outer.at[outer.rank - 1] == 1 || steps.at[outer.rank - 1] == inner))
        inner *= outer.at[--outer.rank];
    GLOW_FOR_EACH_INDEX(i, outer) {
        int64_t first = 0;

        for (int k = 0; k < i.rank; k++)
            first += i.at[k] * steps.at[k];
        fn(w, s, at + first * bytes, inner * bytes, now);
    }
}

static int64_t
gcd(int64_t a, int64_t b)
{
    while (b > 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static void
measure(walker *w, shadow *s, int64_t at, int64_t bytes, uint32_t now)
{
    (void)w, (void)now;
    s->grain = gcd(gcd(s->grain, at), bytes);
    s->size = at + bytes > s->size ? at + bytes : s->size;
}

static void
depend(walker *w, uint32_t on)
{
    if (on > 0) {
        uint32_t *last = &w->last[w->engine[on - 1]];

        *last = on > *last ? on : *last;
    }
}

static void
read_run(walker *w, shadow *s, int64_t at, int64_t bytes, uint32_t now)
{
    for (int64_t g = at / s->grain; g < (at + bytes) / s->grain; g++) {
        depend(w, s->writer[g]);
        s->readers[g * w->count + w->engine[now]] = now + 1;
    }
}

static void
write_run(walker *w, shadow *s, int64_t at, int64_t bytes, uint32_t now)
{
    for (int64_t g = at / s->grain; g < (at + bytes) / s->grain; g++) {
        depend(w, s->writer[g]);
        for (int k = 0; k < w->count; k++) {
            depend(w, s->readers[g * w->count + k]);
            s->readers[g * w->count + k] = 0;
        }
        s->writer[g] = now + 1;
    }
}

/* Calls `reads` and `writes` for all operands and results of `n`. */
static void
each_access(walker *w, glow_node *n, run_fn reads, run_fn writes, uint32_t now)
{
    for (int i = 0; i < n->n_in; i++)
        if (is_tracked(n->in[i]))
            each_run(w, n->in[i], reads, now);
    if (is_tracked(n->pred))
        each_run(w, n->pred, reads, now);
    for (int i = 0; i < n->n_out; i++)
        if (is_tracked(n->out[i]))
            each_run(w, n->out[i], writes, now);
    if (is_tracked(n->scratch))
        each_run(w, n->scratch, writes, now);
}

void
glow_each_hazard(glow_arena *a, glow_func *f, const glow_numbering *numbers,
                 const int *engine, int count, hazard_fn fn, void *user)
{
    walker w = {.arena = a,
                .numbers = numbers,
                .engine = engine,
                .count = count,
                .nodes = GLOW_NEW_ARRAY(a, glow_node *, f->count),
                .last = GLOW_NEW_ARRAY(a, uint32_t, count)};

    GLOW_FOR_EACH_NODE(n, f) {
        w.nodes[glow_number_of(numbers, n)] = n;
        if (glow_is_work(n))
            each_access(&w, n, measure, measure, 0);
    }
    for (shadow *s = w.shadows; s; s = s->next) {
        s->writer = GLOW_NEW_ARRAY(a, uint32_t, s->size / s->grain);
        s->readers = GLOW_NEW_ARRAY(a, uint32_t, s->size / s->grain * count);
    }
    GLOW_FOR_EACH_NODE(n, f) {
        uint32_t now = glow_number_of(numbers, n);

        if (!glow_is_work(n))
            continue;
        for (int k = 0; k < count; k++)
            w.last[k] = 0;
        each_access(&w, n, read_run, write_run, now);
        for (int k = 0; k < count; k++)
            if (w.last[k] > 0 && w.last[k] - 1 != now)
                fn(user, w.nodes[w.last[k] - 1], n);
    }
}
