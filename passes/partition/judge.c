/*
 * Score of an assignment of tasks to devices: parts, loads and memory.
 *
 * Parts are numbered by draining: of the devices with ready tasks, the one whose tasks
 * can all run now is taken, else the one of which most can; each of its tasks that
 * becomes ready joins the part.  A pipeline, whose quotient graph is acyclic, always
 * has a device of the first kind, and so gets one part for each device.
 */

#include "passes/partition/search.h"

#include <math.h>
#include <string.h>

#define NO_PART UINT32_MAX

/* Lists. */

/* Space for the lists of `n` numbers, from their sizes in at[i + 1]. */
static void
lists_begin(glow_arena *a, part_lists *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        l->at[i + 1] += l->at[i];
    l->item = GLOW_NEW_ARRAY(a, uint32_t, l->at[n] + 1);
}

/* Lists for each of `n` numbers the tasks that read it (as constants or values). */
static void
list_readers(const part_search *s, part_lists *l, uint32_t n, bool constants)
{
    const glow_partition_problem *p = s->p;
    uint32_t *fill;

    l->at = GLOW_NEW_ARRAY(s->arena, uint32_t, n + 1);
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        const glow_partition_task *k = &p->tasks[t];

        for (uint32_t i = 0; i < (constants ? k->n_constants : k->n_reads); i++)
            l->at[(constants ? k->constants : k->reads)[i] + 1]++;
    }
    lists_begin(s->arena, l, n);
    fill = GLOW_NEW_ARRAY(s->arena, uint32_t, n + 1);
    memcpy(fill, l->at, n * sizeof *fill);
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        const glow_partition_task *k = &p->tasks[t];

        for (uint32_t i = 0; i < (constants ? k->n_constants : k->n_reads); i++)
            l->item[fill[(constants ? k->constants : k->reads)[i]]++] = t;
    }
}

static void
list_defines(part_search *s)
{
    const glow_partition_problem *p = s->p;
    part_lists *l = &s->defines;
    uint32_t *fill = GLOW_NEW_ARRAY(s->arena, uint32_t, p->n_tasks + 1);

    l->at = GLOW_NEW_ARRAY(s->arena, uint32_t, p->n_tasks + 1);
    for (uint32_t v = 0; v < p->n_values; v++)
        if (p->values[v].definer != GLOW_PARTITION_HOST)
            l->at[p->values[v].definer + 1]++;
    lists_begin(s->arena, l, p->n_tasks);
    memcpy(fill, l->at, p->n_tasks * sizeof *fill);
    for (uint32_t v = 0; v < p->n_values; v++)
        if (p->values[v].definer != GLOW_PARTITION_HOST)
            l->item[fill[p->values[v].definer]++] = v;
}

static bool
sums_fit(const glow_partition_problem *p)
{
    int64_t sum = 0, twice;

    for (uint32_t v = 0; v < p->n_values; v++)
        if (glow_add_overflow(sum, p->values[v].bytes, &sum))
            return false;
    for (uint32_t c = 0; c < p->n_constants; c++)
        if (glow_add_overflow(sum, p->constants[c], &sum))
            return false;
    /* A value may be an input of each part. */
    return !glow_mul_overflow(sum, (int64_t)p->n_tasks + 1, &twice);
}

bool
glow_part_search_open(part_search *s, glow_arena *a,
                      const glow_partition_problem *p)
{
    uint32_t most = p->n_tasks > p->n_devices ? p->n_tasks : p->n_devices;

    *s = (part_search){.p = p, .arena = a};
    if (!sums_fit(p))
        return false;
    list_readers(s, &s->readers, p->n_values, false);
    list_readers(s, &s->users, p->n_constants, true);
    list_defines(s);
    s->last_read = GLOW_NEW_ARRAY(a, uint32_t, p->n_values + 1);
    for (uint32_t v = 0; v < p->n_values; v++)
        s->last_read[v] = s->readers.at[v + 1] > s->readers.at[v]
                              ? s->readers.item[s->readers.at[v + 1] - 1]
                              : p->values[v].definer;
    s->left = GLOW_NEW_ARRAY(a, uint32_t, p->n_devices + 1);
    s->marks = GLOW_NEW_ARRAY(a, uint32_t, most + 1);
    s->live = GLOW_NEW_ARRAY(a, int64_t, p->n_tasks + 1);
    s->peak = GLOW_NEW_ARRAY(a, int64_t, p->n_tasks + 1);
    return true;
}

void
glow_part_new(const part_search *s, glow_partition *out)
{
    const glow_partition_problem *p = s->p;

    *out = (glow_partition){
        .device = GLOW_NEW_ARRAY(s->arena, uint32_t, p->n_tasks + 1),
        .part = GLOW_NEW_ARRAY(s->arena, uint32_t, p->n_tasks + 1),
        .load = GLOW_NEW_ARRAY(s->arena, double, p->n_devices + 1),
        .memory = GLOW_NEW_ARRAY(s->arena, int64_t, p->n_devices + 1),
    };
}

void
glow_part_copy(const part_search *s, glow_partition *to,
               const glow_partition *from)
{
    const glow_partition_problem *p = s->p;
    glow_partition at = *to;

    memcpy(at.device, from->device, p->n_tasks * sizeof *at.device);
    memcpy(at.part, from->part, p->n_tasks * sizeof *at.part);
    memcpy(at.load, from->load, p->n_devices * sizeof *at.load);
    memcpy(at.memory, from->memory, p->n_devices * sizeof *at.memory);
    *to = *from;
    to->device = at.device;
    to->part = at.part;
    to->load = at.load;
    to->memory = at.memory;
}

bool
glow_part_is_better(const glow_partition *a, const glow_partition *b)
{
    return a->bottleneck < b->bottleneck ||
           (a->bottleneck == b->bottleneck && a->total < b->total);
}

double
glow_part_transfer(const part_search *s, uint32_t d, int64_t bytes)
{
    const glow_partition_device *at = &s->p->devices[d];

    return at->bytes_per_second == INFINITY
               ? 0
               : at->seconds_per_transfer +
                     (double)bytes / at->bytes_per_second;
}

/* Parts. */

static bool
is_ready(const part_search *s, const uint32_t *part, uint32_t t)
{
    const glow_partition_task *k = &s->p->tasks[t];

    for (uint32_t i = 0; i < k->n_reads; i++) {
        uint32_t definer = s->p->values[k->reads[i]].definer;

        if (definer != GLOW_PARTITION_HOST && part[definer] == NO_PART)
            return false;
    }
    return true;
}

/* Gives part `k` to all tasks of device `d` that can run; returns how many. */
static uint32_t
drain(part_search *s, glow_partition *o, uint32_t d, uint32_t k)
{
    uint32_t count = 0;

    for (uint32_t t = 0; t < s->p->n_tasks; t++)
        if (o->device[t] == d && o->part[t] == NO_PART &&
            is_ready(s, o->part, t)) {
            o->part[t] = k;
            count++;
        }
    s->steps += s->p->n_tasks;
    return count;
}

static void
undo(const part_search *s, glow_partition *o, uint32_t k)
{
    for (uint32_t t = 0; t < s->p->n_tasks; t++)
        if (o->part[t] == k)
            o->part[t] = NO_PART;
}

static void
number_parts(part_search *s, glow_partition *o)
{
    uint32_t remain = s->p->n_tasks, most;

    memset(s->left, 0, s->p->n_devices * sizeof *s->left);
    for (uint32_t t = 0; t < s->p->n_tasks; t++) {
        o->part[t] = NO_PART;
        s->left[o->device[t]]++;
    }
    for (o->n_parts = 0; remain > 0; o->n_parts++, remain -= most) {
        uint32_t best = 0;

        most = 0;
        for (uint32_t d = 0; d < s->p->n_devices; d++) {
            uint32_t count = s->left[d] ? drain(s, o, d, o->n_parts) : 0;

            undo(s, o, o->n_parts);
            if (count > most) {
                most = count;
                best = d;
            }
            if (count && count == s->left[d]) {
                most = count;
                best = d;
                break;
            }
        }
        drain(s, o, best, o->n_parts);
        s->left[best] -= most;
    }
}

/* Loads. */

/* True the first time that it is asked for `i` since the last new_marks. */
static bool
is_new(part_search *s, uint32_t i)
{
    bool first = s->marks[i] != s->stamp;

    s->marks[i] = s->stamp;
    return first;
}

static void
new_marks(part_search *s)
{
    if (++s->stamp == 0) {
        uint32_t most =
            s->p->n_tasks > s->p->n_devices ? s->p->n_tasks : s->p->n_devices;

        memset(s->marks, 0, (most + 1) * sizeof *s->marks);
        s->stamp = 1;
    }
}

static void
add_transfers(part_search *s, glow_partition *o, uint32_t v)
{
    const glow_partition_value *value = &s->p->values[v];
    uint32_t home = value->definer == GLOW_PARTITION_HOST
                        ? GLOW_PARTITION_HOST
                        : o->device[value->definer];
    bool goes_out = value->leaves;

    new_marks(s);
    for (uint32_t i = s->readers.at[v]; i < s->readers.at[v + 1]; i++) {
        uint32_t d = o->device[s->readers.item[i]];

        if (d == home || !is_new(s, d))
            continue;
        goes_out = true;
        o->load[d] += glow_part_transfer(s, d, value->bytes);
    }
    if (goes_out && home != GLOW_PARTITION_HOST)
        o->load[home] += glow_part_transfer(s, home, value->bytes);
}

static void
add_constant(part_search *s, glow_partition *o, uint32_t c)
{
    new_marks(s);
    for (uint32_t i = s->users.at[c]; i < s->users.at[c + 1]; i++) {
        uint32_t d = o->device[s->users.item[i]];

        if (is_new(s, d))
            o->memory[d] += s->p->constants[c];
    }
}

/* Memory. */

/* True if value `v` of part `k` is read in another one, or leaves. */
static bool
is_output(const part_search *s, const glow_partition *o, uint32_t v, uint32_t k)
{
    for (uint32_t i = s->readers.at[v]; i < s->readers.at[v + 1]; i++)
        if (o->part[s->readers.item[i]] != k)
            return true;
    return s->p->values[v].leaves;
}

/* Adds the inputs and outputs of parts, which live as long as these. */
static void
add_ports(part_search *s, glow_partition *o, uint32_t v)
{
    const glow_partition_value *value = &s->p->values[v];
    uint32_t home = GLOW_PARTITION_HOST;

    new_marks(s);
    if (value->definer != GLOW_PARTITION_HOST) {
        home = o->part[value->definer];
        if (is_output(s, o, v, home))
            o->memory[o->device[value->definer]] += value->bytes;
    }
    for (uint32_t i = s->readers.at[v]; i < s->readers.at[v + 1]; i++) {
        uint32_t t = s->readers.item[i];

        if (o->part[t] != home && is_new(s, o->part[t]))
            o->memory[o->device[t]] += value->bytes;
    }
}

static void
free_if_last(part_search *s, const glow_partition *o, uint32_t v, uint32_t t)
{
    uint32_t definer = s->p->values[v].definer, k = o->part[t];

    if (s->last_read[v] == t && definer != GLOW_PARTITION_HOST &&
        o->part[definer] == k && !is_output(s, o, v, k))
        s->live[k] -= s->p->values[v].bytes;
}

/* The peak of values within each part, in the order of the tasks. */
static void
add_peaks(part_search *s, glow_partition *o)
{
    const glow_partition_problem *p = s->p;

    memset(s->live, 0, o->n_parts * sizeof *s->live);
    memset(s->peak, 0, o->n_parts * sizeof *s->peak);
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        const glow_partition_task *task = &p->tasks[t];
        uint32_t k = o->part[t];

        for (uint32_t i = s->defines.at[t]; i < s->defines.at[t + 1]; i++)
            if (!is_output(s, o, s->defines.item[i], k))
                s->live[k] += p->values[s->defines.item[i]].bytes;
        if (s->live[k] > s->peak[k])
            s->peak[k] = s->live[k];
        for (uint32_t i = 0; i < task->n_reads; i++)
            free_if_last(s, o, task->reads[i], t);
        for (uint32_t i = s->defines.at[t]; i < s->defines.at[t + 1]; i++)
            free_if_last(s, o, s->defines.item[i], t);
    }
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        o->memory[o->device[t]] += s->peak[o->part[t]];
        s->peak[o->part[t]] = 0;
    }
}

static bool
keeps_limits(const part_search *s, const glow_partition *o)
{
    const glow_partition_problem *p = s->p;
    uint32_t used = 0;

    for (uint32_t d = 0; d < p->n_devices; d++)
        if (o->memory[d] > p->devices[d].memory)
            return false;
    for (uint32_t d = 0; d < p->n_devices; d++) {
        bool has = false;

        for (uint32_t t = 0; t < p->n_tasks && !has; t++)
            has = o->device[t] == d;
        used += has;
    }
    return (!s->is_pipeline || o->n_parts == used) &&
           (p->most_parts == 0 || o->n_parts <= p->most_parts) &&
           o->bottleneck < INFINITY;
}

bool
glow_part_judge(part_search *s, glow_partition *o)
{
    const glow_partition_problem *p = s->p;

    number_parts(s, o);
    memset(o->load, 0, p->n_devices * sizeof *o->load);
    memset(o->memory, 0, p->n_devices * sizeof *o->memory);
    for (uint32_t t = 0; t < p->n_tasks; t++)
        o->load[o->device[t]] += p->tasks[t].seconds[o->device[t]];
    for (uint32_t v = 0; v < p->n_values; v++) {
        add_transfers(s, o, v);
        add_ports(s, o, v);
    }
    for (uint32_t c = 0; c < p->n_constants; c++)
        add_constant(s, o, c);
    add_peaks(s, o);
    o->bottleneck = o->total = 0;
    for (uint32_t d = 0; d < p->n_devices; d++) {
        o->bottleneck = fmax(o->bottleneck, o->load[d]);
        o->total += o->load[d];
    }
    s->steps += 4 * (int64_t)p->n_tasks;
    return keeps_limits(s, o);
}
