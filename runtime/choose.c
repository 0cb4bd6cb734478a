/*
 * List scheduling of parts on unlike devices: a part goes where it is expected to end first,
 * by the times that it took on each device so far (earliest finish time: Topcuoglu et al.,
 * "Performance-effective and low-complexity task scheduling", 2002), and a device that runs
 * out of work takes over the last part that waits for another, if it would end sooner.
 *
 * The time of a part on a device is a mean that follows the last runs.  The first runs do not
 * count, since they fault pages in; until then the time is unknown, and the device is tried.
 * A time that is not measured any more sinks by a thousandth with each run elsewhere, so that
 * a device that was slow for a while is tried again.
 */

#include "runtime/state.h"

enum {
    TRIALS = 3, /* runs on each device before its time is known */
    RISE = 8,   /* share of a longer time that the mean takes: one eighth */
    FALL = 2,   /* of a shorter one, as noise makes runs longer */
    FORGETTING = 1024 /* share of a time that each run elsewhere takes off */
};

static int
load_of(const device *d)
{
    return d->outstanding + d->n_pending;
}

/* The time in which a device with so much to do would be done. */
static int64_t
done_in(const device *d, int64_t ns)
{
    return ns / (d->most / DEPTH);
}

static int64_t
known_ns(const replica *c)
{
    return c->runs < TRIALS ? 0 : c->run_ns;
}

static int64_t
end_on(const replica *c)
{
    return done_in(c->device, c->device->backlog_ns + known_ns(c));
}

/* True if `a` is expected to end the next try before `b`. */
static bool
is_sooner(const replica *a, const replica *b)
{
    int64_t at_a = end_on(a), at_b = end_on(b);

    return at_a != at_b ? at_a < at_b : load_of(a->device) < load_of(b->device);
}

replica *
glow_run_choose_device(const part *p, const replica *failed)
{
    replica *best = NULL;
    int best_rank = 0;

    for (int i = 0; i < p->n_replicas; i++) {
        replica *c = &p->replicas[i];
        int rank = c->device->state == GLOW_RUN_DEVICE_READY
                       ? (c == failed ? 2 : 3)
                       : (c->device->state == GLOW_RUN_DEVICE_SUSPECT ? 1 : 0);

        if (rank > best_rank ||
            (rank == best_rank && best && is_sooner(c, best))) {
            best = c;
            best_rank = rank;
        }
    }
    return best_rank > 0 ? best : NULL;
}

/* Expects of `x` the time that is known now. */
static void
expect_now(execution *x)
{
    device *d = x->on->device;

    d->backlog_ns -= x->expected_ns;
    x->expected_ns = known_ns(x->on) ? known_ns(x->on) : x->part->run_ns;
    d->backlog_ns += x->expected_ns;
}

void
glow_run_queue_on(execution *x, replica *on)
{
    device *d = on->device;
    execution **at;

    x->on = on;
    x->expected_ns = 0;
    expect_now(x);
    for (at = &d->pending; *at && (*at)->request->key <= x->request->key;)
        at = &(*at)->next;
    x->next = *at;
    *at = x;
    d->n_pending++;
}

void
glow_run_unqueue_try(execution *x)
{
    device *d = x->on->device;
    execution **at;

    for (at = &d->pending; *at != x;)
        at = &(*at)->next;
    *at = x->next;
    x->next = NULL;
    d->n_pending--;
    d->backlog_ns -= x->expected_ns;
}

/* The replica on `d` that may run `x`, which waits elsewhere, or NULL. */
static replica *
replica_on(const execution *x, const device *d)
{
    for (int i = 0; i < x->part->n_replicas; i++) {
        replica *c = &x->part->replicas[i];

        if (c->device == d)
            return c == x->failed ? NULL : c;
    }
    return NULL;
}

/* True if `x`, the last one of its device, would end sooner by `c`. */
static bool
is_sooner_by(const execution *x, const replica *c)
{
    const device *d = x->on->device;

    return d->state != GLOW_RUN_DEVICE_READY || known_ns(x->on) == 0 ||
           end_on(c) < done_in(d, d->backlog_ns);
}

bool
glow_run_take_over(device *d)
{
    for (device *e = d->host->devices; e; e = e->next) {
        replica *here = NULL;
        execution *last = NULL;

        if (e == d)
            continue;
        for (execution *x = e->pending; x; x = x->next) {
            replica *c = replica_on(x, d);

            expect_now(x);
            if (c) {
                here = c;
                last = x;
            }
        }
        if (!last || !is_sooner_by(last, here))
            continue;
        glow_run_unqueue_try(last);
        glow_run_queue_on(last, here);
        return true;
    }
    return false;
}

void
glow_run_note_time(part *p, replica *on, int64_t took)
{
    if (took < 1)
        took = 1;
    if (p->run_ns == 0 || took < p->run_ns)
        p->run_ns = took;
    if (on->runs < TRIALS)
        on->run_ns = ++on->runs == 1 || took < on->run_ns ? took : on->run_ns;
    else
        on->run_ns += (took - on->run_ns) / (took > on->run_ns ? RISE : FALL);
    for (int i = 0; i < p->n_replicas; i++)
        if (&p->replicas[i] != on)
            p->replicas[i].run_ns -= p->replicas[i].run_ns / FORGETTING;
}
