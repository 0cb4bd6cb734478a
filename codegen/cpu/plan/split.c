/*
 * Splits the iteration spaces of steps into chunks for threads.
 *
 * The cost model decides: a step that takes hardly longer than the waking of a
 * thread is not split.  There are PARTS_OF_THREAD parts for each thread, so
 * that a delayed thread has less work left than the others (load balancing).
 */

#include "codegen/cpu/plan/split.h"

#include "glow/cost.h"

#define PARTS_OF_THREAD 4

static double
seconds_of(const cpu_step *s)
{
    glow_cost c = {0};

    if (s->root)
        c = glow_node_cost(s->root);
    for (int k = 0; k < s->n_items; k++)
        c = glow_cost_add(c, glow_node_cost(s->items[k].n));
    return glow_cost_time(&glow_target_default, c, 0);
}

static int64_t
units_of(const cpu_target *t, const cpu_step *s)
{
    if (!s->root)
        return glow_cpu_stack_units(t, s);
    return s->kernel->units ? s->kernel->units(t, s->root) : 1;
}

/*
 * Chunks of each fork inside the kernel of `s`, none under a grain; 0: no fork.
 */
static int
team_of(const cpu_target *t, const cpu_step *s)
{
    int64_t forks =
        s->root && s->kernel->forks ? s->kernel->forks(t, s->root) : 0;
    double worth = forks ? seconds_of(s) / (double)forks / t->grain : 0;

    return worth < 2 ? 0 : worth < t->threads ? (int)worth : t->threads;
}

/*
 * Number of parts for `units` that take `seconds` in all.  Each part has its
 * own scratch, so with scratch there are no more parts than threads.
 */
static int64_t
count_parts(const cpu_target *t, int64_t units, double seconds,
            bool has_scratch)
{
    int64_t parts = has_scratch ? t->threads : PARTS_OF_THREAD * t->threads;
    double worth;

    if (t->threads < 2 || units < 2)
        return 1;
    worth = seconds / t->grain;
    if (worth < (double)parts)
        parts = (int64_t)worth;
    if (parts > units)
        parts = units;
    return parts < 2 ? 1 : parts;
}

int64_t
glow_cpu_split_scratch(const cpu_target *t, const cpu_kernel *k,
                       const glow_node *n, int64_t scratch)
{
    int64_t parts;

    if (t->threads < 2 || scratch <= 0 || scratch == INT64_MAX || !k->units)
        return scratch;
    parts = count_parts(
        t, k->units(t, n),
        glow_cost_time(&glow_target_default, glow_node_cost(n), 0), true);
    return parts < 2 ? scratch
                     : glow_cpu_room(parts, glow_cpu_aligned(scratch));
}

void
glow_cpu_split(cpu_step *s)
{
    const cpu_target *t = s->target;

    s->units = units_of(t, s);
    s->parts = 1;
    if (t->threads > 1 && s->units < 2)
        s->team = team_of(t, s);
    if (t->threads < 2 || s->units < 2)
        return;
    s->parts = (int)count_parts(t, s->units, seconds_of(s), s->scratch > 0);
    if (s->parts > 1 && s->scratch) {
        s->part_scratch = glow_cpu_aligned(s->scratch);
        s->scratch = glow_cpu_room(s->parts, s->part_scratch);
        if (s->own_scratch >= 0 &&
            glow_type_bytes(s->root->scratch->type) < s->scratch)
            s->own_scratch = -1;
    }
}
