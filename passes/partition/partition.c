/* Partition of a task graph over devices: the modes, and the greedy partition. */

#include <math.h>
#include <string.h>

#include "passes/partition/search.h"

/* First fit. */

static bool
keeps_memory(const part_search *s, const glow_partition *o)
{
    for (uint32_t d = 0; d < s->p->n_devices; d++)
        if (o->memory[d] > s->p->devices[d].memory)
            return false;
    return true;
}

/*
 * Puts task `t` on the first device that takes it where all devices keep their limits
 * of memory.  `sub` is the search of the tasks up to `t`; NULL: there are no limits.
 */
static bool
place_one(const part_search *s, part_search *sub, glow_partition *out,
          uint32_t t)
{
    for (uint32_t d = 0; d < s->p->n_devices; d++) {
        if (!(s->p->tasks[t].seconds[d] < INFINITY))
            continue;
        out->device[t] = d;
        if (!sub)
            return true;
        glow_part_judge(sub, out);
        if (keeps_memory(s, out))
            return true;
    }
    return false;
}

static bool
has_limit(const glow_partition_problem *p)
{
    for (uint32_t d = 0; d < p->n_devices; d++)
        if (p->devices[d].memory != INT64_MAX)
            return true;
    return false;
}

/* The problem of tasks 0 to `n` - 1: what later ones read leaves. */
static bool
open_prefix(part_search *sub, const part_search *s, glow_arena *a,
            glow_partition_problem *p, uint32_t n)
{
    glow_partition_value *values =
        GLOW_NEW_ARRAY(a, glow_partition_value, s->p->n_values + 1);
    uint32_t count = s->p->n_values;

    memcpy(values, s->p->values, count * sizeof *values);
    for (uint32_t v = 0; v < count; v++) {
        if (values[v].definer != GLOW_PARTITION_HOST && values[v].definer >= n)
            values[v] = (glow_partition_value){0, GLOW_PARTITION_HOST, false};
        else
            values[v].leaves |= s->last_read[v] >= n;
    }
    *p = *s->p;
    p->values = values;
    p->n_tasks = n;
    return glow_part_search_open(sub, a, p);
}

static bool
place_all(part_search *s, glow_partition *out)
{
    bool limited = has_limit(s->p), ok = true;

    for (uint32_t t = 0; t < s->p->n_tasks && ok; t++) {
        glow_arena *a = limited ? glow_arena_new() : NULL;
        glow_partition_problem p;
        part_search sub;

        ok = (!limited || open_prefix(&sub, s, a, &p, t + 1)) &&
             place_one(s, limited ? &sub : NULL, out, t);
        if (a)
            glow_arena_free(a);
    }
    return ok;
}

/* Moves of whole parts. */

static bool
part_fits(const part_search *s, const glow_partition *o, uint32_t k, uint32_t d)
{
    for (uint32_t t = 0; t < s->p->n_tasks; t++)
        if (o->part[t] == k &&
            (o->device[t] == d || !(s->p->tasks[t].seconds[d] < INFINITY)))
            return false;
    return true;
}

/*
 * The best of all moves of a part to another device: the one that lessens the total
 * most, or with `merges`, of those that lessen the number of parts, the one that
 * costs least.  False if there is none.
 */
static bool
move_part(part_search *s, glow_partition *best, bool merges)
{
    glow_partition trial, found;
    bool has = false;

    glow_part_new(s, &trial);
    glow_part_new(s, &found);
    for (uint32_t k = 0; k < best->n_parts; k++)
        for (uint32_t d = 0; d < s->p->n_devices; d++) {
            if (!part_fits(s, best, k, d))
                continue;
            glow_part_copy(s, &trial, best);
            for (uint32_t t = 0; t < s->p->n_tasks; t++)
                if (best->part[t] == k)
                    trial.device[t] = d;
            glow_part_judge(s, &trial);
            if (!keeps_memory(s, &trial) ||
                (merges ? trial.n_parts >= best->n_parts
                        : trial.total >= best->total ||
                              trial.n_parts > best->n_parts) ||
                (has && trial.total >= found.total))
                continue;
            glow_part_copy(s, &found, &trial);
            has = true;
        }
    if (has)
        glow_part_copy(s, best, &found);
    return has;
}

bool
glow_part_first_fit(part_search *s, glow_partition *out)
{
    uint32_t most = s->p->most_parts;

    if (!place_all(s, out))
        return false;
    glow_part_judge(s, out);
    s->steps = 0;
    while (s->steps < PART_MOST_STEPS && move_part(s, out, false))
        ;
    while (most && out->n_parts > most && move_part(s, out, true))
        ;
    return glow_part_judge(s, out);
}

/* Modes. */

/* Keeps the better of `best` and `other`; `*has` says if `best` is one yet. */
static void
keep_better(part_search *s, glow_partition *best, bool *has,
            const glow_partition *other)
{
    if (*has && !glow_part_is_better(other, best))
        return;
    glow_part_copy(s, best, other);
    *has = true;
}

static bool
all_on(part_search *s, glow_partition *out, uint32_t d)
{
    for (uint32_t t = 0; t < s->p->n_tasks; t++) {
        if (!(s->p->tasks[t].seconds[d] < INFINITY))
            return false;
        out->device[t] = d;
    }
    return glow_part_judge(s, out);
}

static bool
balance(part_search *s, glow_partition *best)
{
    glow_partition other;
    bool has = false;

    glow_part_new(s, &other);
    for (uint32_t d = 0; d < s->p->n_devices; d++)
        if (all_on(s, &other, d))
            keep_better(s, best, &has, &other);
    if (glow_part_first_fit(s, &other))
        keep_better(s, best, &has, &other);
    if (glow_part_cut(s, &other))
        keep_better(s, best, &has, &other);
    best->proved = false;
    if (has)
        glow_part_improve(s, best);
    return glow_part_prove(s, best, has);
}

static bool
pipeline(part_search *s, glow_partition *best)
{
    s->is_pipeline = true;
    if (!glow_part_cut(s, best))
        return false;
    if (!best->proved)
        glow_part_improve(s, best);
    return true;
}

bool
glow_partition_find(glow_arena *a, const glow_partition_problem *p,
                    glow_partition_mode mode, glow_partition *out)
{
    part_search s;
    bool ok;

    if (!glow_part_search_open(&s, a, p))
        return false;
    glow_part_new(&s, out);
    switch (mode) {
    case GLOW_PARTITION_HETEROGENEOUS:
        ok = glow_part_first_fit(&s, out);
        break;
    case GLOW_PARTITION_BALANCE:
        ok = balance(&s, out);
        break;
    case GLOW_PARTITION_PIPELINE:
    default:
        ok = pipeline(&s, out);
        break;
    }
    return ok && glow_part_judge(&s, out);
}

bool
glow_partition_measure(glow_arena *a, const glow_partition_problem *p,
                       glow_partition *out)
{
    const uint32_t *device = out->device;
    part_search s;

    if (!glow_part_search_open(&s, a, p))
        return false;
    glow_part_new(&s, out);
    memcpy(out->device, device, p->n_tasks * sizeof *device);
    return glow_part_judge(&s, out);
}
