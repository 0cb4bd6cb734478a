/*
 * Local search and exact search over assignments.
 *
 * Neighbours of an assignment move one task to another device, or swap the devices of
 * two tasks; the first better one is taken, until there is none or the budget is spent.
 * Branch and bound assigns tasks in order, and leaves a branch when the time of the
 * tasks so far on one device is no lower than the best bottleneck.
 */

#include <math.h>
#include <string.h>

#include "passes/partition/search.h"

/* Takes `trial` for `best` if it is within the limits and better. */
static bool
try(part_search *s, glow_partition *trial, glow_partition *best)
{
    if (!glow_part_judge(s, trial) || !glow_part_is_better(trial, best))
        return false;
    glow_part_copy(s, best, trial);
    best->proved = false;
    return true;
}

static bool
takes(const part_search *s, uint32_t t, uint32_t d)
{
    return s->p->tasks[t].seconds[d] < INFINITY;
}

static bool
move_one(part_search *s, glow_partition *trial, glow_partition *best)
{
    for (uint32_t t = 0; t < s->p->n_tasks; t++)
        for (uint32_t d = 0; d < s->p->n_devices; d++) {
            uint32_t old = best->device[t];

            if (d == old || !takes(s, t, d))
                continue;
            if (s->steps > PART_MOST_STEPS)
                return false;
            trial->device[t] = d;
            if (try(s, trial, best))
                return true;
            trial->device[t] = old;
        }
    return false;
}

static bool
swap_two(part_search *s, glow_partition *trial, glow_partition *best)
{
    for (uint32_t t = 0; t < s->p->n_tasks; t++)
        for (uint32_t u = t + 1; u < s->p->n_tasks; u++) {
            uint32_t dt = best->device[t], du = best->device[u];

            if (dt == du || !takes(s, t, du) || !takes(s, u, dt))
                continue;
            if (s->steps > PART_MOST_STEPS)
                return false;
            trial->device[t] = du;
            trial->device[u] = dt;
            if (try(s, trial, best))
                return true;
            trial->device[t] = dt;
            trial->device[u] = du;
        }
    return false;
}

void
glow_part_improve(part_search *s, glow_partition *best)
{
    glow_partition trial;

    glow_part_new(s, &trial);
    glow_part_copy(s, &trial, best);
    s->steps = 0;
    while (move_one(s, &trial, best) || swap_two(s, &trial, best))
        ;
}

/* Branch and bound. */

typedef struct prover {
    part_search *s;
    glow_partition trial, *best;
    double *load; /* by device: tasks that are assigned */
    int64_t visits;
    bool has;
} prover;

static void
visit(prover *x, uint32_t t)
{
    const glow_partition_problem *p = x->s->p;

    if (x->visits++ > PART_MOST_VISITS)
        return;
    if (t == p->n_tasks) {
        if (glow_part_judge(x->s, &x->trial) &&
            (!x->has || glow_part_is_better(&x->trial, x->best))) {
            glow_part_copy(x->s, x->best, &x->trial);
            x->has = true;
        }
        return;
    }
    for (uint32_t d = 0; d < p->n_devices; d++) {
        double before = x->load[d];

        x->load[d] += p->tasks[t].seconds[d];
        if (x->load[d] < INFINITY &&
            (!x->has || x->load[d] < x->best->bottleneck)) {
            x->trial.device[t] = d;
            visit(x, t + 1);
        }
        x->load[d] = before;
    }
}

bool
glow_part_prove(part_search *s, glow_partition *best, bool has)
{
    prover x = {.s = s, .best = best, .has = has};

    x.load = GLOW_NEW_ARRAY(s->arena, double, s->p->n_devices + 1);
    glow_part_new(s, &x.trial);
    /* Recursion is as deep as there are tasks. */
    if (s->p->n_tasks > 24)
        return has;
    visit(&x, 0);
    best->proved = x.has && x.visits <= PART_MOST_VISITS;
    return x.has;
}
