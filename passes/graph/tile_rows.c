/*
 * tile-rows: tile chains of nodes by bands of rows that stay in the cache.
 *
 *     %c = Convolution(@x, @f) {1 x 1}    : float<1 x 112 x 112 x 96>
 *     %d = Convolution(%c, @g) {3 x 3}    : float<1 x 112 x 112 x 96>
 *  =>
 *     %x0 = Slice(@x) {Start: [0, 0, 0, 0]}  : float<1 x 17 x 112 x 16>
 *     %c0 = Convolution(%x0, @f)             : float<1 x 17 x 112 x 96>
 *     %d0 = Convolution(%c0, @g)             : float<1 x 16 x 112 x 96>
 *     ..
 *     %d = Concat([%d0, %d1, ..]) {Dim: 1}
 *
 * %c of 4.8 MB was written to memory and read again.  Its bands are read where
 * they were written, in the cache of a core.  The slices and the Concat are of
 * contiguous rows, so they cost nothing once programs work in place. bands.h
 * defines chains and bands; split-rows does the same to meet a limit.
 *
 * Gain, in seconds: results of the chain that are larger than the cache are
 * neither written beyond it nor read from there, by each user.  There is the
 * cache that cores share, or memory if that cannot hold the result.  Cost: rows
 * in the halo of windows are computed twice; each band has the overhead of all
 * nodes; and if constants and bands do not fit the cache together, each band
 * reads the constants again.  Short loops are slower than the rates of the
 * target, so the gain must be MARGIN times the cost.  Results that only
 * element-wise nodes read are not counted, because backends fuse these.  Bands
 * of the channels of a Convolution or a product are not used: each would read
 * the whole input, and have fewer channels than a vector has lanes.
 *
 * The bands are the largest that fit.  Dynamic programming over the positions
 * of the schedule finds the partition into single nodes and chains with the
 * greatest gain.  Chains begin and end at results that are larger than the
 * cache; without such results there is nothing to do.  A Concat of rows is in
 * bands already and begins no chain.
 *
 * Time: for each large result, all chains that begin at a large result before
 * it are measured a few times, in time proportional to their nodes; `budget`
 * bounds the sum.
 */

#include <inttypes.h>

#include "glow/cost.h"
#include "glow/ops.h"
#include "glow/schedule.h"
#include "passes/graph/common/bands.h"
#include "passes/graph/common/tiles.h"

#define MARGIN 2.0 /* least ratio of gain to cost */

/*
 * Results that the shared cache holds, and its rate by that of memory.  A core reads a few
 * MB from there at 50 to 70 GB/s on AMD's Zen 3, and memory at 13 to 18.
 */
#define SHARED_BYTES (INT64_C(8) << 20)
#define SHARED_RATE 4.0

typedef struct options {
    int64_t cache;
    int64_t budget;
} options;

enum {
    LOOKS = 4,     /* sampled bands of a chain */
    BACK = 64,     /* nodes of a chain, at most */
    SEARCH = 20000 /* steps of the budget for the schedule */
};

/*
 * Entry of the dynamic program: the best partition of the nodes before a
 * position.
 */
typedef struct best {
    double gain;   /* seconds */
    uint32_t from; /* begin of the last part */
    int64_t size;  /* rows of a band of the last part; 0: a single node */
} best;

typedef struct tiler {
    glow_pass_run *run;
    glow_func *f;
    int64_t cache;
    int64_t steps; /* remaining budget */
    glow_schedule schedule;
    bands *bands;
    bool *is_far;     /* by position: its result exceeds the cache */
    int64_t *weights; /* by position: bytes of constants that it reads */
    best *best;       /* by place */
} tiler;

/*
 * True if a node, other than a Save, reads a result that is larger than the
 * cache.
 */
static bool
has_far(const tiler *t)
{
    GLOW_FOR_EACH_NODE(n, t->f) {
        if (!glow_tile_is_far(n, t->cache))
            continue;
        GLOW_FOR_EACH_USE(u, n->out[0])
            if (!(u->user->op->traits & GLOW_STRUCTURAL))
                return true;
    }
    return false;
}

static bool
begin(tiler *t)
{
    glow_arena *a = glow_run_scratch(t->run);
    glow_schedule_options how = glow_schedule_defaults;
    const glow_schedule *m = &t->schedule;

    how.budget = SEARCH;
    if (!glow_schedule_find(t->run, t->f, &how, &t->schedule))
        return false;
    t->bands = glow_bands_new(a, t->f, m->nodes, m->count);
    t->is_far = GLOW_NEW_ARRAY(a, bool, m->count);
    t->weights = GLOW_NEW_ARRAY(a, int64_t, m->count);
    t->best = GLOW_NEW_ARRAY(a, best, m->count + 1);
    for (uint32_t k = 0; k < m->count; k++) {
        t->is_far[k] = glow_tile_is_far(m->nodes[k], t->cache);
        t->weights[k] = glow_tile_constants(m->nodes[k]);
    }
    return true;
}

/* Gain and cost of a chain. */

/* Bytes that bands save, to and from the shared cache, and memory. */
typedef struct traffic {
    double shared, memory;
} traffic;

static traffic
saved(const tiler *t, chain c)
{
    traffic bytes = {0, 0};

    for (uint32_t k = c.first; k + 1 < c.end; k++) {
        const glow_value *v = t->schedule.nodes[k]->out[0];
        int64_t size = glow_type_bytes(v->type);
        int moves = 1;

        if (!t->is_far[k] || !glow_bands_has_parts(t->bands, k))
            continue;
        GLOW_FOR_EACH_USE(u, v)
            moves += !glow_is(u->user, &glow_op_concat);
        *(size <= SHARED_BYTES ? &bytes.shared : &bytes.memory) +=
            (double)size * moves;
    }
    return bytes;
}

static int64_t
weights_of(const tiler *t, chain c)
{
    int64_t bytes = 0;

    for (uint32_t k = c.first; k < c.end; k++)
        bytes += t->weights[k];
    return bytes;
}

/* The number of nodes of a chain with overhead. */
static int64_t
count_steps(const tiler *t, chain c)
{
    int64_t count = 0;

    for (uint32_t k = c.first; k < c.end; k++)
        count += !glow_tile_is_free(t->schedule.nodes[k]);
    return count;
}

/* The gain of bands minus their cost in seconds, or 0 if it is below MARGIN. */
static double
gain_of(const tiler *t, chain c, const band_cost *cost)
{
    const glow_target *m = glow_run_target(t->run);
    double again = (double)(cost->count - 1);
    int64_t weights = weights_of(t, c);
    traffic bytes = saved(t, c);
    double less =
        (bytes.memory + bytes.shared / SHARED_RATE) / m->bytes_per_second;
    double more = cost->flops / m->flops_per_second +
                  again * (double)count_steps(t, c) * m->seconds_per_node;

    if (glow_bands_cut_channels(t->bands, c))
        return 0;
    if (cost->parts > t->cache - weights)
        more += again * (double)weights / m->bytes_per_second;
    return less > MARGIN * more ? less - more : 0;
}

static bool
measure(tiler *t, chain c, int64_t size, band_cost *cost)
{
    const band_limits l = {INT64_MAX, LOOKS};
    bool ok = glow_bands_measure(t->bands, c, size, l, cost);

    t->steps -= cost->steps;
    return ok;
}

/* True if bands of `size` rows fit the cache. */
static bool
fits(tiler *t, chain c, int64_t size)
{
    int64_t weights = weights_of(t, c);
    int64_t room = weights < t->cache / 2 ? t->cache - weights : t->cache / 2;
    band_cost cost;

    return measure(t, c, size, &cost) && cost.parts <= room;
}

/*
 * The rows of a band: as few bands as fit, of about equal size, in multiples of
 * four if possible, since strided windows and kernels that compute several rows
 * at once then have no remainder. 0 if there are not two bands, or one row does
 * not fit.
 */
static int64_t
best_size(tiler *t, chain c)
{
    int axis;
    int64_t rows = glow_bands_rows(t->bands, c, &axis), low = 0, high = rows;

    while (low + 1 < high) {
        int64_t middle = low + (high - low) / 2;

        if (fits(t, c, middle))
            low = middle;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    int64_t count = (rows - 1) / low + 1, even = (rows - 1) / count + 1;

    even = (even + 3) / 4 * 4;
    return even <= low ? even : low < 4 ? low : low / 4 * 4;
}

/* Planning. */

/*
 * True if the node at `k` reads a result of the chain that is larger than the
 * cache.
 */
static bool
reads_far(const tiler *t, chain c, uint32_t k)
{
    const glow_node *n = t->schedule.nodes[k];

    for (int i = 0; i < n->n_in; i++) {
        const glow_node *def = n->in[i] ? n->in[i]->def : NULL;

        uint32_t at = def ? glow_number_of(&t->schedule.places, def) : k;

        if (at >= c.first && at < k && t->is_far[at])
            return true;
    }
    return false;
}

/*
 * The last position at which a chain with the node at `k` may begin: before the
 * node that it is fused with, before splats that it reads, which backends fill
 * in, and before the operands of a Concat, which are computed in its buffer.
 */
static uint32_t
begins_with(const tiler *t, uint32_t k)
{
    const glow_node *n = t->schedule.nodes[k];
    uint32_t first = k;

    for (int i = 0; i < n->n_in; i++) {
        const glow_node *def = n->in[i] ? n->in[i]->def : NULL;
        uint32_t at =
            def ? glow_number_of(&t->schedule.places, def) : GLOW_UNNUMBERED;
        bool is_known = at != GLOW_UNNUMBERED;

        if (!is_known && glow_is(n, &glow_op_concat))
            return 0;
        if (is_known && at < first &&
            (glow_tile_is_free(def) || glow_is(n, &glow_op_concat) ||
             (def->n_out == 1 && glow_tile_is_stacked_on(def))))
            first = at;
    }
    return first;
}

/* True if a chain may end with the node at `k`. */
static bool
may_end(const tiler *t, uint32_t k)
{
    const glow_node *n = t->schedule.nodes[k];

    return n->n_out == 1 && !glow_tile_is_stacked_on(n) &&
           !glow_tile_is_free(n);
}

/* Transitions of the dynamic program: chains that end before position `end`. */
static void
look_back(tiler *t, uint32_t end)
{
    uint32_t first = glow_bands_begin(t->bands, end);
    best *had = &t->best[end];
    bool reads = false;
    uint32_t begin = end;

    if (first == end || !may_end(t, end - 1))
        return;
    for (uint32_t i = end; i-- > first && end - i <= BACK && t->steps > 0;) {
        chain c = {i, end};
        band_cost cost;

        if (glow_tile_joins_rows(t->schedule.nodes[i]))
            return;
        reads |= i + 1 < end && t->is_far[i];
        if (begins_with(t, i) < begin)
            begin = begins_with(t, i);
        if (!reads || i > begin)
            continue;

        int64_t size = best_size(t, c);

        if (size == 0 || !measure(t, c, size, &cost))
            return; /* longer chains need more */

        double gain = gain_of(t, c, &cost);

        if (gain > 0 && t->best[i].gain + gain > had->gain)
            *had = (best){t->best[i].gain + gain, i, size};
    }
}

static void
plan(tiler *t)
{
    for (uint32_t end = 1; end <= t->schedule.count; end++) {
        chain all = {0, end};

        t->best[end] = (best){t->best[end - 1].gain, end - 1, 0};
        if (reads_far(t, all, end - 1) ||
            t->schedule.nodes[end - 1]->op->traits & GLOW_ELEMENTWISE)
            look_back(t, end);
    }
}

/* Rewriting. */

/* Moves the nodes to the order of the schedule. */
static void
put_in_order(tiler *t)
{
    for (uint32_t k = 0; k < t->schedule.count; k++)
        if (t->schedule.nodes[k] != t->f->last)
            glow_node_move_after(t->schedule.nodes[k], t->f->last);
}

static void
explain(tiler *t, chain c, int64_t size, const band_cost *cost)
{
    traffic bytes = saved(t, c);

    glow_run_remark(
        t->run, t->schedule.nodes[c.end - 1], true,
        "does %" PRIu32 " nodes from %%%s on in %" PRId64 " bands of %" PRId64
        " rows: %" PRId64 " bytes at once in a cache of %" PRId64
        ", %.0f bytes less beyond it and back, %.0f operations "
        "more, %.1f us saved",
        c.end - c.first, t->schedule.nodes[c.first]->name, cost->count, size,
        cost->parts, t->cache, bytes.shared + bytes.memory, cost->flops,
        gain_of(t, c, cost) * 1e6);
}

/* Rewrites the chains of t->best in bands. */
static glow_result
apply(tiler *t)
{
    glow_result result = GLOW_UNCHANGED;
    glow_builder *b = glow_builder_new(glow_run_scratch(t->run), t->f,
                                       glow_run_pass(t->run)->name);

    if (t->best[t->schedule.count].gain <= 0)
        return GLOW_UNCHANGED;
    put_in_order(t);
    for (uint32_t end = t->schedule.count; end > 0; end = t->best[end].from) {
        chain c = {t->best[end].from, end};
        const band_limits all = {INT64_MAX, INT64_MAX};
        int64_t size = t->best[end].size;
        band_cost cost;

        if (size == 0)
            continue;
        if (!glow_run_may_rewrite(t->run))
            break;
        glow_bands_measure(t->bands, c, size, all, &cost);
        explain(t, c, size, &cost);
        glow_run_count(t->run, "chains", 1);
        glow_run_count(t->run, "bands", cost.count);
        if (!glow_bands_build(t->bands, c, size, b))
            return GLOW_FAILED;
        result = GLOW_CHANGED;
    }
    return result;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const options *o = glow_run_options(pass);
    tiler t = {.run = pass, .f = f, .steps = o->budget};

    t.cache = o->cache ? o->cache : glow_run_cache(pass);
    if (t.cache == 0 || !has_far(&t))
        return GLOW_UNCHANGED;
    if (!begin(&t))
        return GLOW_FAILED;
    plan(&t);
    return apply(&t);
}

const glow_pass glow_pass_tile_rows = {
    .name = "tile-rows",
    .summary = "tile chains of nodes by bands of rows that stay in the cache",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(options, cache, GLOW_BYTES,
                                   "bytes that bands may take; 0: the cache of "
                                   "the backend's machine, if it has one"),
                GLOW_FIELD_DEFAULT(options, budget, GLOW_INT64,
                                   "steps of planning, nodes by bands")},
    .defaults = &(const options){.budget = 2000000},
    .run = run,
    .source = "Alwani, Chen, Ferdman, Milder, Fused-layer CNN accelerators, "
              "MICRO 2016",
};
