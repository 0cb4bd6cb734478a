/*
 * assign-memory: keep the buffers of a scratchpad for their next use, while it has room.
 *
 *     %a = alloc ... {Space: "in"}          %a = alloc ... {Space: "in"}
 *     copy @out %a, @in %x.view             copy @out %a, @in %x.view
 *     acme.mac ..., @in %a                  acme.mac ..., @in %a
 *     dealloc @out %a                   =>  ...
 *     ...                                   acme.mac ..., @in %a
 *     %b = alloc ... {Space: "in"}          dealloc @out %a
 *     copy @out %b, @in %x.view
 *     acme.mac ..., @in %b
 *     dealloc @out %b
 *
 * if no instruction between writes %x, and the bytes of %a fit beside all else that is
 * live there.  A load is worth its bytes, and costs them for as long as they are kept:
 * shorter waits are decided first.  Room for one more load, the largest, is left for
 * double-buffer.
 */

#include <string.h>

#include "glow/ops.h"
#include "irgen/engines/loads.h"

typedef struct load {
    glow_node *node;
    int64_t at;          /* number of the node */
    struct load *before; /* the last load of the same bytes */
    bool is_merged;      /* its users read the buffer of `before` */
} load;

typedef struct keeper {
    glow_pass_run *run;
    const glow_target *target;
    glow_arena *arena;
    glow_func *f;
    space_load *space;
    load *loads;
    size_t count;
    int64_t largest;
} keeper;

static bool
is_same_load(const glow_node *a, const glow_node *b)
{
    glow_extent x = glow_extent_of(a->in[0]), y = glow_extent_of(b->in[0]);

    return a->op == b->op && x.base == y.base && x.first == y.first &&
           x.layout == y.layout && a->out[0]->type == b->out[0]->type &&
           (!a->attrs ||
            glow_attrs_equal(glow_op_schema(a->op), a->attrs, b->attrs));
}

/* The key of a load in a map: its base, first element and layout. */
static const char *
key_of(const keeper *k, const glow_node *n)
{
    glow_extent e = glow_extent_of(n->in[0]);

    return glow_arena_printf(k->arena, "%u %lld %p %p", e.base->id,
                             (long long)e.first, (const void *)e.layout,
                             (const void *)n->out[0]->type);
}

/* True if a node from <= x < to writes the bytes that `n` reads. */
static bool
is_overwritten(const keeper *k, const glow_node *n, int64_t from, int64_t to)
{
    glow_extent e = glow_extent_of(n->in[0]);

    if (glow_is_constant(e.base->out[0]))
        return false;
    for (int64_t i = from; i < to; i++) {
        const glow_node *w = k->space->nodes[i];

        for (int r = 0; w && glow_is_work(w) && r < w->n_out; r++) {
            glow_extent x = glow_extent_of(w->out[r]);

            if (x.base == e.base && glow_extents_meet(x, e))
                return true;
        }
    }
    return false;
}

static void
find_loads(keeper *k)
{
    glow_map *last = glow_map_new(k->arena);

    k->loads = GLOW_NEW_ARRAY(k->arena, load, k->f->count);
    for (int64_t i = 0; i < k->space->count; i++) {
        glow_node *n = k->space->nodes[i];
        const char *key;
        load *l;

        if (!glow_is_load(k->target, n) ||
            glow_buffer_space(k->target, n->out[0]) != k->space->space)
            continue;
        key = key_of(k, n);
        l = &k->loads[k->count++];
        *l = (load){n, i, glow_map_get(last, key), false};
        if (l->before && !is_same_load(l->before->node, n))
            l->before = NULL;
        glow_map_set(last, key, l);
        if (glow_space_bytes(k->space->space, n->out[0]->def) > k->largest)
            k->largest = glow_space_bytes(k->space->space, n->out[0]->def);
    }
}

static int
by_wait(const void *x, const void *y)
{
    const load *a = *(load *const *)x, *b = *(load *const *)y;
    int64_t p = a->at - a->before->at, q = b->at - b->before->at;

    return (p > q) - (p < q);
}

/* The alloc that users of `l` read. */
static glow_node *
buffer_of(const load *l)
{
    while (l->is_merged)
        l = l->before;
    return l->node->out[0]->def;
}

/* The end of that buffer. */
static int64_t
end_of(const keeper *k, const load *l)
{
    const glow_node *free = glow_dealloc_of(buffer_of(l));

    return free ? (int64_t)glow_number_of(&k->space->numbers, free)
                : k->space->count - 1;
}

/* Lets users of the later load read the buffer of the earlier one. */
static void
merge(keeper *k, load *l, int64_t end)
{
    glow_node *from = l->node->out[0]->def, *to = buffer_of(l->before);
    glow_node *free = glow_dealloc_of(from), *kept = glow_dealloc_of(to);
    int64_t bytes = glow_space_bytes(k->space->space, to),
            behind = end_of(k, l);
    int64_t begin = (int64_t)glow_number_of(&k->space->numbers, from);

    glow_space_add(k->space, end + 1, begin, bytes);
    glow_space_add(k->space, begin, (end < behind ? end : behind) + 1, -bytes);
    glow_node_erase(l->node);
    k->space->nodes[l->at] = NULL;
    if (free && behind <= end) {
        k->space->nodes[behind] = NULL;
        glow_node_erase(free);
    } else if (free && kept) {
        k->space->nodes[glow_number_of(&k->space->numbers, kept)] = NULL;
        glow_node_move_after(kept, free);
        /* it has the place of the one that goes */
        glow_number_set(&k->space->numbers, kept,
                        glow_number_of(&k->space->numbers, free));
        k->space->nodes[glow_number_of(&k->space->numbers, free)] = kept;
        glow_node_erase(free);
    }
    glow_replace_uses(from->out[0], to->out[0]);
    k->space->nodes[glow_number_of(&k->space->numbers, from)] = NULL;
    glow_node_erase(from);
    l->is_merged = true;
}

static bool
keep(keeper *k)
{
    load **waits = GLOW_NEW_ARRAY(k->arena, load *, k->count);
    int64_t room = k->space->space->place.capacity - k->largest;
    bool changed = false;
    size_t count = 0;

    for (size_t i = 0; i < k->count; i++)
        if (k->loads[i].before)
            waits[count++] = &k->loads[i];
    if (count)
        glow_sort(waits, count, sizeof *waits, by_wait);
    for (size_t i = 0; i < count; i++) {
        load *l = waits[i];
        int64_t end = end_of(k, l->before);
        int64_t bytes = glow_space_bytes(k->space->space, l->node->out[0]->def);

        if (is_overwritten(k, l->node, l->before->at, l->at) ||
            (end < l->at &&
             glow_space_peak(k->space, end + 1, l->at) + bytes > room) ||
            !glow_run_may_rewrite(k->run))
            continue;
        merge(k, l, end);
        glow_run_count(k->run, "kept", 1);
        changed = true;
    }
    return changed;
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    const glow_target *t = glow_run_target(run);
    bool changed = false;

    for (size_t i = 0; i < t->n_spaces && !glow_is_body(f); i++) {
        keeper k = {
            .run = run, .target = t, .arena = glow_run_scratch(run), .f = f};

        if (t->spaces[i].is_host)
            continue;
        k.space = glow_space_load(k.arena, t, f, &t->spaces[i]);
        find_loads(&k);
        changed |= keep(&k);
    }
    return changed ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_assign_memory = {
    .name = "assign-memory",
    .summary = "keep buffers in scratchpads instead of loading them again",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_EXACT,
    .run = run,
    .source =
        "memory space assignment of XLA; Belady (IBM Systems Journal 5, 1966)",
};
