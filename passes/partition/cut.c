/*
 * Pipelines of least bottleneck, by dynamic programming over down-sets.
 *
 * The stages of a pipeline are differences of consecutive sets of a chain of down-sets
 * {} = D0 < D1 < ... < Dk = all, where a down-set has the predecessors of its tasks.
 * Let f(D, u) be the least bottleneck of stages that compute D on a multiset u of
 * devices:
 *
 *     f(D, u + d) = min over E < D of max(f(E, u), load of D \ E on d)
 *
 * Devices of one kind are interchangeable, so that u counts them by kind; kinds behind
 * MOST_USES multisets are left out.  All down-sets are looked at where these are few: then
 * the result is proved, of all kinds.  Otherwise they are the prefixes of the given order,
 * at most MOST_PREFIXES of them, where few bytes are live.
 *
 * Source: Tarnawski et al., Efficient Algorithms for Device Placement of DNN Graph
 * Operators, NeurIPS 2020.
 */

#include <math.h>
#include <string.h>

#include "passes/partition/search.h"

enum {
    MOST_SETS = 4096,
    MOST_PREFIXES = 512,
    MOST_USES = 4096,       /* of multisets of devices */
    MOST_STATES = 1 << 21,  /* sets times multisets */
    MOST_VISITS = 400000000 /* pairs of sets times tasks */
};

typedef struct cell {
    double bottleneck, total; /* INFINITY: not reached */
    uint32_t from_set, from_use, kind;
} cell;

typedef struct cutter {
    part_search *s;
    uint32_t words; /* of a set */
    uint64_t *sets; /* by size */
    uint32_t n_sets;
    bool all;                                /* sets are all down-sets */
    uint32_t n_kinds, *device_of, *count_of; /* by kind: the first; how many */
    uint32_t *step_of; /* by kind: the difference that one more makes to u */
    uint32_t n_uses;
    cell *cells; /* by set, then multiset */
    uint32_t *marks, stamp;
} cutter;

/* Sets. */

static uint64_t *
set_at(const cutter *c, uint32_t i)
{
    return c->sets + (size_t)i * c->words;
}

static bool
has(const uint64_t *set, uint32_t t)
{
    return set[t / 64] >> (t % 64) & 1;
}

static void
add(uint64_t *set, uint32_t t)
{
    set[t / 64] |= (uint64_t)1 << (t % 64);
}

static bool
can_follow(const cutter *c, const uint64_t *set, uint32_t t)
{
    const glow_partition_problem *p = c->s->p;
    const glow_partition_task *k = &p->tasks[t];

    if (has(set, t))
        return false;
    for (uint32_t i = 0; i < k->n_reads; i++) {
        uint32_t definer = p->values[k->reads[i]].definer;

        if (definer != GLOW_PARTITION_HOST && !has(set, definer))
            return false;
    }
    return true;
}

static bool
is_listed(const cutter *c, uint32_t first, const uint64_t *set)
{
    for (uint32_t i = first; i < c->n_sets; i++)
        if (memcmp(set_at(c, i), set, c->words * sizeof *set) == 0)
            return true;
    return false;
}

/* Lists all down-sets, level by level; false if there are too many. */
static bool
list_all(cutter *c)
{
    uint32_t n = c->s->p->n_tasks, begin = 0, end = 1;
    uint64_t *next = GLOW_NEW_ARRAY(c->s->arena, uint64_t, c->words);

    c->sets =
        GLOW_NEW_ARRAY(c->s->arena, uint64_t, (size_t)MOST_SETS * c->words);
    c->n_sets = 1;
    for (uint32_t level = 0; level < n; level++) {
        for (uint32_t i = begin; i < end; i++)
            for (uint32_t t = 0; t < n; t++) {
                if (!can_follow(c, set_at(c, i), t))
                    continue;
                memcpy(next, set_at(c, i), c->words * sizeof *next);
                add(next, t);
                if (is_listed(c, end, next))
                    continue;
                if (c->n_sets == MOST_SETS)
                    return false;
                memcpy(set_at(c, c->n_sets++), next, c->words * sizeof *next);
            }
        begin = end;
        end = c->n_sets;
        if ((uint64_t)end * end * n > MOST_VISITS)
            return false;
    }
    return true;
}

/* Bytes of values that are defined before position `t` and read from there on. */
static void
measure_prefixes(const cutter *c, int64_t *live)
{
    const part_search *s = c->s;
    int64_t now = 0;

    for (uint32_t t = 0; t < s->p->n_tasks; t++) {
        live[t] = now;
        for (uint32_t i = s->defines.at[t]; i < s->defines.at[t + 1]; i++)
            now += s->p->values[s->defines.item[i]].bytes;
        for (uint32_t i = 0; i < s->p->tasks[t].n_reads; i++) {
            uint32_t v = s->p->tasks[t].reads[i];

            if (s->last_read[v] == t &&
                s->p->values[v].definer != GLOW_PARTITION_HOST)
                now -= s->p->values[v].bytes;
        }
    }
}

/*
 * Lists prefixes of the order: all, or of each of MOST_PREFIXES stretches the one with
 * the fewest live bytes.
 */
static void
list_prefixes(cutter *c)
{
    glow_arena *a = c->s->arena;
    uint32_t n = c->s->p->n_tasks, length = n / MOST_PREFIXES + 1;
    int64_t *live = GLOW_NEW_ARRAY(a, int64_t, n + 1);
    uint64_t *now = GLOW_NEW_ARRAY(a, uint64_t, c->words);
    uint32_t chosen = 0;

    measure_prefixes(c, live);
    c->sets =
        GLOW_NEW_ARRAY(a, uint64_t, (size_t)(MOST_PREFIXES + 2) * c->words);
    c->n_sets = 0;
    for (uint32_t t = 0; t <= n; t++) {
        if (t % length == 0 && t > 0) {
            chosen = t;
            for (uint32_t k = t; k < t + length && k < n; k++)
                chosen = live[k] < live[chosen] ? k : chosen;
        }
        if (t == 0 || t == chosen || t == n)
            memcpy(set_at(c, c->n_sets++), now, c->words * sizeof *now);
        if (t < n)
            add(now, t);
    }
}

/* Multisets of devices. */

/* Lists the kinds of devices; false if later ones are left out, since there are too many. */
static bool
list_kinds(cutter *c)
{
    const glow_partition_problem *p = c->s->p;
    uint32_t *kind = GLOW_NEW_ARRAY(c->s->arena, uint32_t, p->n_devices + 1);

    c->device_of = GLOW_NEW_ARRAY(c->s->arena, uint32_t, p->n_devices + 1);
    c->count_of = GLOW_NEW_ARRAY(c->s->arena, uint32_t, p->n_devices + 1);
    c->step_of = GLOW_NEW_ARRAY(c->s->arena, uint32_t, p->n_devices + 1);
    for (uint32_t d = 0; d < p->n_devices; d++) {
        uint32_t k = 0;

        while (k < c->n_kinds && kind[k] != p->devices[d].kind)
            k++;
        if (k == c->n_kinds) {
            kind[c->n_kinds] = p->devices[d].kind;
            c->device_of[c->n_kinds++] = d;
        }
        c->count_of[k]++;
    }
    c->n_uses = 1;
    for (uint32_t k = 0; k < c->n_kinds; k++) {
        if (c->n_uses * (c->count_of[k] + 1) > MOST_USES) {
            c->n_kinds = k;
            return false;
        }
        c->step_of[k] = c->n_uses;
        c->n_uses *= c->count_of[k] + 1;
    }
    return true;
}

static uint32_t
used_of(const cutter *c, uint32_t use, uint32_t k)
{
    return use / c->step_of[k] % (c->count_of[k] + 1);
}

static uint32_t
parts_of(const cutter *c, uint32_t use)
{
    uint32_t sum = 0;

    for (uint32_t k = 0; k < c->n_kinds; k++)
        sum += used_of(c, use, k);
    return sum;
}

/* Stages. */

/* The members of `inner` are in `outer`, which has more. */
static bool
is_within(const cutter *c, const uint64_t *inner, const uint64_t *outer)
{
    for (uint32_t w = 0; w < c->words; w++)
        if (inner[w] & ~outer[w])
            return false;
    return memcmp(inner, outer, c->words * sizeof *inner) != 0;
}

/* Cost of a stage besides the time of its tasks. */
typedef struct stage {
    uint64_t transfers;
    int64_t bytes;  /* of them */
    int64_t memory; /* constants, inputs, outputs and the peak of the rest */
} stage;

/* True if value `v` of the stage is read behind it, or leaves. */
static bool
goes_on(const cutter *c, const uint64_t *end, uint32_t v)
{
    const part_lists *r = &c->s->readers;

    for (uint32_t i = r->at[v]; i < r->at[v + 1]; i++)
        if (!has(end, r->item[i]))
            return true;
    return c->s->p->values[v].leaves;
}

static void
add_port(stage *g, int64_t bytes)
{
    g->transfers++;
    g->bytes += bytes;
    g->memory += bytes;
}

static void
add_inputs(cutter *c, stage *g, const uint64_t *begin, uint32_t t)
{
    const glow_partition_problem *p = c->s->p;
    const glow_partition_task *k = &p->tasks[t];

    for (uint32_t i = 0; i < k->n_reads; i++) {
        const glow_partition_value *v = &p->values[k->reads[i]];

        if (c->marks[k->reads[i]] == c->stamp ||
            (v->definer != GLOW_PARTITION_HOST && !has(begin, v->definer)))
            continue;
        c->marks[k->reads[i]] = c->stamp;
        add_port(g, v->bytes);
    }
    for (uint32_t i = 0; i < k->n_constants; i++) {
        uint32_t at = p->n_values + k->constants[i];

        if (c->marks[at] == c->stamp)
            continue;
        c->marks[at] = c->stamp;
        g->memory += p->constants[k->constants[i]];
    }
}

/* Bytes of inner values that end at task `t`. */
static int64_t
ending(const cutter *c, const uint64_t *begin, const uint64_t *end, uint32_t t)
{
    const part_search *s = c->s;
    const glow_partition_task *k = &s->p->tasks[t];
    int64_t sum = 0;

    for (uint32_t i = 0; i < k->n_reads; i++) {
        uint32_t v = k->reads[i], definer = s->p->values[v].definer;

        if (s->last_read[v] == t && definer != GLOW_PARTITION_HOST &&
            !has(begin, definer) && !goes_on(c, end, v))
            sum += s->p->values[v].bytes;
    }
    for (uint32_t i = s->defines.at[t]; i < s->defines.at[t + 1]; i++) {
        uint32_t v = s->defines.item[i];

        if (s->last_read[v] == t && !goes_on(c, end, v))
            sum += s->p->values[v].bytes;
    }
    return sum;
}

/* Adds the seconds of the tasks of end \ begin, by kind of device, to `seconds`. */
static stage
measure(cutter *c, const uint64_t *begin, const uint64_t *end, double *seconds)
{
    const part_search *s = c->s;
    stage g = {0};
    int64_t live = 0, peak = 0;

    c->stamp++;
    for (uint32_t t = 0; t < s->p->n_tasks; t++) {
        if (!has(end, t) || has(begin, t))
            continue;
        for (uint32_t k = 0; k < c->n_kinds; k++)
            seconds[k] += s->p->tasks[t].seconds[c->device_of[k]];
        add_inputs(c, &g, begin, t);
        for (uint32_t i = s->defines.at[t]; i < s->defines.at[t + 1]; i++) {
            uint32_t v = s->defines.item[i];

            if (goes_on(c, end, v))
                add_port(&g, s->p->values[v].bytes);
            else
                live += s->p->values[v].bytes;
        }
        peak = live > peak ? live : peak;
        live -= ending(c, begin, end, t);
    }
    g.memory += peak;
    return g;
}

/* Seconds of a stage on a device of kind `k`; INFINITY: it cannot be there. */
static double
load_of(const cutter *c, const stage *g, double seconds, uint32_t k)
{
    const glow_partition_device *d = &c->s->p->devices[c->device_of[k]];

    if (g->memory > d->memory)
        return INFINITY;
    if (d->bytes_per_second == INFINITY)
        return seconds;
    return seconds + (double)g->transfers * d->seconds_per_transfer +
           (double)g->bytes / d->bytes_per_second;
}

/* The recurrence. */

static cell *
cell_at(const cutter *c, uint32_t set, uint32_t use)
{
    return &c->cells[(size_t)set * c->n_uses + use];
}

static void
relax(cutter *c, uint32_t from, uint32_t to, uint32_t k, double load)
{
    for (uint32_t u = 0; u < c->n_uses; u++) {
        const cell *at = cell_at(c, from, u);
        cell *next;
        double bottleneck, total;

        if (at->bottleneck == INFINITY || used_of(c, u, k) == c->count_of[k])
            continue;
        next = cell_at(c, to, u + c->step_of[k]);
        bottleneck = fmax(at->bottleneck, load);
        total = at->total + load;
        if (bottleneck < next->bottleneck ||
            (bottleneck == next->bottleneck && total < next->total))
            *next = (cell){bottleneck, total, from, u, k};
    }
}

static void
fill(cutter *c)
{
    double *seconds = GLOW_NEW_ARRAY(c->s->arena, double, c->n_kinds);

    for (size_t i = 0; i < (size_t)c->n_sets * c->n_uses; i++)
        c->cells[i] = (cell){INFINITY, INFINITY, 0, 0, 0};
    c->cells[0] = (cell){0, 0, 0, 0, 0};
    for (uint32_t to = 1; to < c->n_sets; to++)
        for (uint32_t from = 0; from < to; from++) {
            const uint64_t *begin = set_at(c, from), *end = set_at(c, to);
            stage g;

            if (!is_within(c, begin, end))
                continue;
            memset(seconds, 0, c->n_kinds * sizeof *seconds);
            g = measure(c, begin, end, seconds);
            for (uint32_t k = 0; k < c->n_kinds; k++) {
                double load = load_of(c, &g, seconds[k], k);

                if (load < INFINITY)
                    relax(c, from, to, k, load);
            }
        }
}

/* The best cell of the whole set; NULL if it is not reached. */
static const cell *
best_cell(const cutter *c, uint32_t *use)
{
    uint32_t most = c->s->p->most_parts;
    const cell *best = NULL;

    for (uint32_t u = 0; u < c->n_uses; u++) {
        const cell *at = cell_at(c, c->n_sets - 1, u);

        if (at->bottleneck == INFINITY || (most && parts_of(c, u) > most) ||
            (best && (at->bottleneck > best->bottleneck ||
                      (at->bottleneck == best->bottleneck &&
                       at->total >= best->total))))
            continue;
        best = at;
        *use = u;
    }
    return best;
}

/* The n-th device of kind `k`. */
static uint32_t
nth_device(const cutter *c, uint32_t k, uint32_t n)
{
    const glow_partition_device *all = c->s->p->devices;
    uint32_t d = c->device_of[k];

    while (n > 0)
        n -= all[++d].kind == all[c->device_of[k]].kind;
    return d;
}

static void
trace_back(const cutter *c, uint32_t use, glow_partition *out)
{
    uint32_t set = c->n_sets - 1;

    while (set > 0) {
        const cell *at = cell_at(c, set, use);
        uint32_t d =
            nth_device(c, at->kind, used_of(c, at->from_use, at->kind));

        for (uint32_t t = 0; t < c->s->p->n_tasks; t++)
            if (has(set_at(c, set), t) && !has(set_at(c, at->from_set), t))
                out->device[t] = d;
        set = at->from_set;
        use = at->from_use;
    }
}

bool
glow_part_cut(part_search *s, glow_partition *out)
{
    cutter c = {.s = s, .words = s->p->n_tasks / 64 + 1};
    bool all_kinds = list_kinds(&c);
    uint32_t use = 0;

    c.all = list_all(&c) && (uint64_t)c.n_sets * c.n_uses <= MOST_STATES;
    if (!c.all)
        list_prefixes(&c);
    c.marks = GLOW_NEW_ARRAY(s->arena, uint32_t,
                             s->p->n_values + s->p->n_constants + 1);
    c.cells = GLOW_NEW_ARRAY(s->arena, cell, (size_t)c.n_sets * c.n_uses);
    fill(&c);
    if (!best_cell(&c, &use))
        return false;
    trace_back(&c, use, out);
    out->proved = c.all && all_kinds;
    return glow_part_judge(s, out);
}
