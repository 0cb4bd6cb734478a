/*
 * split-rows: tile chains of nodes by bands of rows, to meet a limit of memory.
 *
 *     %c = Convolution(@x, @f) {3 x 3}  : float<1 x 64 x 64 x 32>
 *     %p = MaxPool(%c) {2 x 2}          : float<1 x 32 x 32 x 32>
 *  =>
 *     %x0 = Slice(@x) {Start: [0, 0, 0, 0]}   : float<1 x 33 x 64 x 3>
 *     %c0 = Convolution(%x0, @f)              : float<1 x 32 x 64 x 32>
 *     %p0 = MaxPool(%c0)                      : float<1 x 16 x 32 x 32>
 *     %x1 = Slice(@x) {Start: [0, 31, 0, 0]}  : float<1 x 33 x 64 x 3>
 *     ..
 *     %p  = Concat([%p0, %p1]) {Dim: 1}
 *
 * Of the large intermediate results one band is live at a time; the halo, which
 * windows of two bands share, is computed twice.  Nothing is done unless the
 * schedule needs more bytes than the limit.
 *
 * Chains and bands: the schedule is partitioned into single nodes, which must
 * fit the limit, and chains in bands, which must fit together with the values
 * live across them.  Dynamic programming over the positions of the schedule
 * finds the partition with the fewest added flops, then the fewest added nodes;
 * a chain has as few bands as fit.  The partition is tried on a copy of the
 * module, whose schedule gives the actual peak.  If the limit cannot be met,
 * bisection finds the least limit that can be.  This is repeated while the peak
 * decreases: bands of images contain chains of rows.
 *
 * Rows are the first axis of more than one element, so that slabs are
 * contiguous and programs read and write them in place: images of a batch, rows
 * of an image, or of a matrix, as in the two products of a transformer's feed
 * forward part, which have no halo. bands.h defines chains.
 *
 * Time: for each of n positions, all chains that end there are measured a few
 * times, each in time proportional to nodes times bands; `budget` bounds the
 * sum of this and of the time of schedules, which grows with the number of
 * nodes: a plan whose schedule would exceed it is not tried.
 */

#include <inttypes.h>

#include "glow/cost.h"
#include "glow/schedule.h"
#include "passes/graph/common/bands.h"

typedef struct options {
    int64_t limit;
    int most_flops;
    int64_t budget;
} options;

/*
 * Entry of the dynamic program: the best partition of the nodes before a
 * position.
 */
typedef struct best {
    bool is_possible;
    double flops;  /* added */
    int64_t added; /* added nodes, estimated */
    uint32_t from; /* begin of the last part */
    int64_t size;  /* rows of a band of the last part; 0: a single node */
} best;

enum {
    LOOKS = 8,      /* sampled bands of a chain, while planning */
    SEARCH = 20000, /* steps of the budget for each schedule */
    PER_NODE = 32   /* additional steps of a schedule for each node */
};

typedef struct splitter {
    glow_pass_run *run;
    glow_func *f; /* the function, or a copy of it */
    glow_schedule schedule;
    bands *bands;
    int64_t steps; /* remaining budget */
    best *best;    /* by position */
} splitter;

static bool
begin(splitter *s, glow_func *f)
{
    glow_schedule_options how = glow_schedule_defaults;

    how.budget = SEARCH;
    s->f = f;
    if (!glow_schedule_find(s->run, f, &how, &s->schedule))
        return false;
    s->steps -= s->schedule.steps + (int64_t)PER_NODE * s->schedule.count;
    s->bands = glow_bands_new(glow_run_scratch(s->run), f, s->schedule.nodes,
                              s->schedule.count);
    return true;
}

/* Planning. */

/* The bytes available for the results of a chain. */
static int64_t
room(const splitter *s, chain c, int64_t limit)
{
    const glow_node *last = s->schedule.nodes[c.end - 1];

    limit -= s->schedule.before[c.first];
    if (s->schedule.is_kept[c.end - 1])
        limit += glow_type_bytes(last->out[0]->type);
    return limit;
}

/*
 * True if `c` in bands of `size` rows fits `limit`, with the values live across
 * it.
 */
static bool
fits(splitter *s, chain c, int64_t size, int64_t limit, band_cost *cost)
{
    band_limits l = {room(s, c, limit), LOOKS};
    bool ok = glow_bands_measure(s->bands, c, size, l, cost);

    s->steps -= cost->steps;
    return ok;
}

/*
 * The most rows of a band that fit, by halving and then bisection; 0 if none
 * fit.
 */
static int64_t
most_rows(splitter *s, chain c, int64_t limit, band_cost *cost)
{
    int axis;
    int64_t high = glow_bands_rows(s->bands, c, &axis), low = (high + 1) / 2;

    while (high > 1 && !fits(s, c, low, limit, cost)) {
        if (low == 1)
            return 0;
        high = low;
        low = (low + 1) / 2;
    }
    if (high <= 1)
        return 0;
    while (low + 1 < high) {
        int64_t middle = low + (high - low) / 2;

        if (fits(s, c, middle, limit, cost))
            low = middle;
        else
            high = middle;
    }
    fits(s, c, low, limit, cost);
    return low;
}

static bool
is_better(const best *a, const best *b)
{
    if (!b->is_possible || a->flops != b->flops)
        return !b->is_possible || a->flops < b->flops;
    return a->added < b->added;
}

/* Transitions of the dynamic program: chains that end before position `end`. */
static void
look_back(splitter *s, uint32_t end, int64_t limit)
{
    const glow_schedule *m = &s->schedule;
    uint32_t first = glow_bands_begin(s->bands, end);
    best *had = &s->best[end];
    bool needed = false;

    if (first == end)
        return;
    int64_t y = glow_type_bytes(m->nodes[end - 1]->out[0]->type);

    for (uint32_t i = end; i-- > first && s->steps > 0;) {
        chain c = {i, end};
        const best *until = &s->best[i];
        band_cost cost;

        needed |= m->during[i] > limit;
        if (!needed || !until->is_possible || room(s, c, limit) < y ||
            (had->is_possible && until->flops > had->flops))
            continue;
        int64_t size = most_rows(s, c, limit, &cost);
        best b = {true, until->flops + cost.flops,
                  until->added + cost.count * (int64_t)(end - i), i, size};

        if (size > 0 && is_better(&b, had))
            *had = b;
    }
}

/* Solves the dynamic program for a limit; true if it can be met. */
static bool
plan(splitter *s, int64_t limit)
{
    const glow_schedule *m = &s->schedule;

    s->best = GLOW_NEW_ARRAY(glow_run_scratch(s->run), best, m->count + 1);
    s->best[0].is_possible = true;
    for (uint32_t end = 1; end <= m->count; end++) {
        best *b = &s->best[end];

        if (m->during[end - 1] <= limit) {
            *b = s->best[end - 1];
            b->from = end - 1;
            b->size = 0;
        }
        look_back(s, end, limit);
    }
    return s->best[m->count].is_possible;
}

/* Solves it for the least limit that can be met, if this is below the peak. */
static bool
plan_least(splitter *s, int64_t limit)
{
    int64_t peak = s->schedule.peak, low = limit, high = peak;

    while (high - low > peak / 32) {
        int64_t middle = low + (high - low) / 2;

        if (plan(s, middle))
            high = middle;
        else
            low = middle;
    }
    return high < peak && plan(s, high);
}

/* Rewriting. */

/* Moves the nodes to the order of the schedule. */
static void
put_in_order(splitter *s)
{
    for (uint32_t k = 0; k < s->schedule.count; k++)
        if (s->schedule.nodes[k] != s->f->last)
            glow_node_move_after(s->schedule.nodes[k], s->f->last);
}

static void
explain(splitter *s, chain c, int64_t size, const band_cost *cost)
{
    glow_run_remark(
        s->run, s->schedule.nodes[c.end - 1], true,
        "does %" PRIu32 " nodes from %%%s on in %" PRId64 " bands of %" PRId64
        " rows: %" PRId64 " bytes at once instead of %" PRId64
        ", %.0f operations more",
        c.end - c.first, s->schedule.nodes[c.first]->name, cost->count, size,
        cost->bytes + s->schedule.before[c.first], s->schedule.peak,
        cost->flops);
}

/* Rewrites the chains of s->best in bands. */
static glow_result
apply(splitter *s, bool is_trial)
{
    glow_result result = GLOW_UNCHANGED;
    glow_builder *b = glow_builder_new(glow_run_scratch(s->run), s->f,
                                       glow_run_pass(s->run)->name);
    const band_limits all = {INT64_MAX, INT64_MAX};

    put_in_order(s);
    for (uint32_t end = s->schedule.count; end > 0; end = s->best[end].from) {
        chain c = {s->best[end].from, end};
        int64_t size = s->best[end].size;
        band_cost cost;

        if (size == 0)
            continue;
        if (!is_trial && !glow_run_may_rewrite(s->run))
            break;
        glow_bands_measure(s->bands, c, size, all, &cost);
        if (!is_trial) {
            explain(s, c, size, &cost);
            glow_run_count(s->run, "chains", 1);
            glow_run_count(s->run, "bands", cost.count);
        }
        if (!glow_bands_build(s->bands, c, size, b))
            return GLOW_FAILED;
        result = GLOW_CHANGED;
    }
    return result;
}

/*
 * The peak of a copy of the module after the plan was applied to it; -1 on
 * failure.
 */
static int64_t
try(splitter *s)
{
    glow_module *copy = glow_module_clone(s->f->module);
    splitter t = {.run = s->run, .best = s->best, .steps = s->steps};
    int64_t peak = -1;

    t.f = glow_find_func(copy, s->f->name);
    t.schedule = s->schedule;
    t.schedule.nodes = GLOW_NEW_ARRAY(glow_run_scratch(s->run), glow_node *,
                                      s->schedule.count);
    for (glow_node *n = s->f->first, *c = t.f->first; n;
         n = n->next, c = c->next)
        t.schedule.nodes[glow_number_of(&s->schedule.places, n)] = c;
    t.bands = glow_bands_new(glow_run_scratch(s->run), t.f, t.schedule.nodes,
                             t.schedule.count);
    if (apply(&t, true) != GLOW_FAILED && begin(&t, t.f))
        peak = t.schedule.peak;
    s->steps = t.steps;
    glow_module_free(copy);
    return peak;
}

/* True if the budget suffices for the schedule after the plan. */
static bool
can_try(const splitter *s)
{
    int64_t nodes = s->schedule.count + s->best[s->schedule.count].added;

    return SEARCH + PER_NODE * nodes <= s->steps;
}

/*
 * Plans for `limit`, or the closest limit that can be met; if the schedule
 * exceeds the estimate of a plan, plans for less.  False if nothing helps.
 */
static bool
find_plan(splitter *s, int64_t limit)
{
    int64_t least = s->schedule.peak, wanted = limit;
    best *kept = NULL;

    for (int i = 0; i < 4 && wanted > 0; i++) {
        if ((!plan(s, wanted) && (i > 0 || !plan_least(s, limit))) ||
            !can_try(s))
            break;
        int64_t peak = try(s);

        if (peak >= 0 && peak < least) {
            least = peak;
            kept = s->best;
        }
        if (peak < 0 || peak <= limit)
            break;
        wanted -= peak - limit;
    }
    s->best = kept;
    return kept != NULL;
}

/* True if the plan adds no more flops than permitted. */
static bool
is_affordable(const splitter *s, int64_t flops_at_first)
{
    const options *o = glow_run_options(s->run);
    double flops = (double)glow_func_cost(s->f).flops - (double)flops_at_first +
                   s->best[s->schedule.count].flops;

    if (flops <= (double)flops_at_first / 100 * o->most_flops)
        return true;
    glow_run_remark(s->run, s->schedule.nodes[s->schedule.at], false,
                    "bands would add %.0f operations to %" PRId64, flops,
                    flops_at_first);
    return false;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const options *o = glow_run_options(pass);
    glow_result result = GLOW_UNCHANGED, now;
    splitter s = {.run = pass, .steps = o->budget};
    int64_t limit = o->limit ? o->limit : glow_run_limit(pass);
    int64_t flops = glow_func_cost(f).flops, peak = INT64_MAX;

    if (limit == 0)
        return GLOW_UNCHANGED;
    while (begin(&s, f)) {
        if (s.schedule.peak <= limit || s.schedule.peak >= peak || s.steps <= 0)
            return result;
        peak = s.schedule.peak;
        if (!find_plan(&s, limit) || !is_affordable(&s, flops))
            return result;
        now = apply(&s, false);
        if (now == GLOW_FAILED)
            return now;
        result = now == GLOW_CHANGED ? now : result;
    }
    return GLOW_FAILED;
}

const glow_pass glow_pass_split_rows = {
    .name = "split-rows",
    .summary =
        "tile chains of nodes by bands of rows, to meet a limit of memory",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(options, limit, GLOW_BYTES,
                                   "bytes that results may take; 0: -limit"),
                GLOW_FIELD_DEFAULT(options, most_flops, GLOW_INT,
                                   "operations that may be added, in percent"),
                GLOW_FIELD_DEFAULT(options, budget, GLOW_INT64,
                                   "steps of planning, nodes by bands, and of "
                                   "the schedules that are tried")},
    .defaults = &(const options){.most_flops = 100, .budget = 2000000},
    .run = run,
    .source =
        "Lin, Chen, Cai, Gan, Han, MCUNetV2: memory-efficient patch-based "
        "inference for tiny deep learning (2021)",
};
