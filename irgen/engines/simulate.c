/*
 * Simulation of the queues of a program, an instruction at a time.
 *
 * Each engine has a head; the one that can begin first is taken.  A head can begin when
 * it was issued, all before it in its queue is done, and, of a wait, its token was
 * signalled.  Transfers of a queue that follow one another overlap: a command waits for
 * its setup while earlier ones move bytes, as many as `outstanding` says.  Bytes of the
 * links of one port move one after another.  The host issues in no time, but waits
 * while a queue is full; that never blocks for ever, because each signal stands before
 * its wait in the text.
 *
 * The bound is the larger of the work of a unit at its rate, and of the distinct bytes
 * that a port must move at the rate of its link (roofline: Williams et al., CACM 52,
 * 2009).
 */

#include <string.h>

#include "glow/engines.h"
#include "glow/layout.h"
#include "glow/ops.h"
#include "irgen/engines/loads.h"
#include "irgen/engines/simulation.h"

typedef struct engine {
    const glow_node **items; /* in order */
    double *issued;          /* when the host gave it, and when it began */
    double *begun;
    int64_t count, given, taken;
    double free;              /* when all before is done */
    double waited;            /* the last token that it waited for */
    transfer_queue transfers; /* `next` is of all commands */
} engine;

typedef struct simulator {
    glow_arena *arena;
    const glow_target *target;
    simulation *s;
    const glow_engines *e;
    engine *engines;
    int *engine_of; /* by number: 0 the host, then queues of the target; -1 */
    double *signalled; /* by number of a token; below 0: not yet */
    int *signaller;    /* by number of a token: the engine */
    double *ports; /* by link: when its port is free (of the first of a port) */
    const glow_node *issue;
    double host;
} simulator;

static uint32_t
number(const simulator *m, const glow_node *n)
{
    return glow_number_of(&m->e->numbers, n);
}

static const glow_node *
token_of(const glow_node *n)
{
    return glow_base_buffer(n->op == &glow_op_wait ? n->in[0] : n->out[0])->def;
}

static void
add_step(simulator *m, const glow_node *n, const engine_work *w, int k,
         double begin, double end)
{
    simulation *s = m->s;
    sim_queue *q = &s->queues[k];

    q->instructions++;
    if (end > q->until) {
        q->busy += end - (begin > q->until ? begin : q->until);
        q->until = end;
    }
    s->cycles = end > s->cycles ? end : s->cycles;
    if (w->link) {
        sim_link *l = &s->links[w->link - s->target->links];

        l->transfers++;
        l->commands += w->commands;
        l->bytes += w->bytes;
    } else if (w->unit) {
        sim_unit *u = &s->units[w->unit - s->target->units];

        u->instructions++;
        u->work += w->work;
        u->cycles += w->cycles;
    }
    s->steps[s->n_steps++] = (sim_step){n, *w, k, begin, end};
}

/* The cycle in which the head of engine `k` can begin; below 0: not yet known. */
static double
start_of(const simulator *m, int k)
{
    const engine *g = &m->engines[k];
    const glow_node *n;
    double at;

    if (g->taken == g->given)
        return -1;
    n = g->items[g->taken];
    at = g->issued[g->taken];
    if (n->op == &glow_op_wait) {
        double token = m->signalled[number(m, token_of(n))];

        if (token < 0)
            return -1;
        at = token > at ? token : at;
    }
    return at;
}

static void
take(simulator *m, int k, double at)
{
    engine *g = &m->engines[k];
    const glow_node *n = g->items[g->taken];
    engine_work w = glow_engine_work(m->target, n);
    double begin, end;

    begin = w.link || g->transfers.next > g->free ? g->transfers.next : g->free;
    begin = begin > at ? begin : at;
    end = begin;
    if (k > 0 && w.link)
        end = glow_transfer(&g->transfers,
                            &m->ports[glow_port_of(m->target, w.link)], w.link,
                            w.bytes, w.commands, &begin);
    else if (k > 0 && w.unit)
        end = begin + w.cycles;
    g->begun[g->taken++] = begin;
    g->free = end > g->free ? end : g->free;
    if (w.unit) /* a token holds back no setup of transfers before it */
        g->transfers.next = g->free;
    if (n->op == &glow_op_signal) {
        m->signaller[number(m, token_of(n))] = k;
        m->signalled[number(m, token_of(n))] =
            g->free > g->waited ? g->free : g->waited;
    }
    if (n->op == &glow_op_wait) {
        uint32_t token = number(m, token_of(n));

        m->s->waits[m->s->n_waits++] =
            (sim_wait){m->signaller[token], k, m->signalled[token],
                       begin > at ? begin : at};
        g->waited = at > g->waited ? at : g->waited;
        g->transfers.next = g->transfers.next > at ? g->transfers.next : at;
    }
    if (k == 0)
        m->host = g->transfers.next > g->free ? g->transfers.next : g->free;
    if (n->op != &glow_op_signal && n->op != &glow_op_wait)
        add_step(m, n, &w, k, begin, end);
}

/* Gives instructions to the engines, up to one that has to wait for the host. */
static void
give(simulator *m)
{
    for (; m->issue; m->issue = m->issue->next) {
        int k = m->engine_of[number(m, m->issue)];
        engine *g;
        int64_t depth;

        if (k < 0)
            continue;
        if (m->engines[0].taken < m->engines[0].given)
            return; /* the host is at work */
        g = &m->engines[k];
        depth = k > 0 ? m->target->queues[k - 1].depth : 0;
        if (depth && g->given - g->taken >= depth)
            return;
        if (depth && g->given >= depth && g->begun[g->given - depth] > m->host)
            m->host = g->begun[g->given - depth];
        g->items[g->given] = m->issue;
        g->issued[g->given++] = m->host;
    }
}

static void
run(simulator *m, int count)
{
    for (;;) {
        int best = -1;
        double at = 0;

        give(m);
        for (int k = 0; k < count; k++) {
            double t = start_of(m, k), free = m->engines[k].transfers.next;

            if (t < 0)
                continue;
            t = t > free ? t : free;
            if (best < 0 || t < at) {
                best = k;
                at = t;
            }
        }
        if (best < 0)
            return;
        take(m, best, start_of(m, best));
    }
}

/* Bytes. */

/* Counts bytes of the side in the host's memory that no transfer of the link counted. */
static double
count_new(simulator *m, uint8_t **seen, const glow_value *v)
{
    glow_extent e = glow_extent_of(v);
    int64_t bytes = glow_kind_get(v->type->elem)->bytes;
    glow_dims steps = glow_type_steps(v->type);
    uint8_t **map = &seen[number(m, e.base)];
    double sum = 0;

    if (!*map)
        *map = glow_arena_alloc_array(
            m->arena,
            (size_t)(glow_type_bytes(e.base->out[0]->type) / bytes) + 1, 1);
    GLOW_FOR_EACH_INDEX(i, v->type->shape) {
        int64_t at = e.first;

        for (int k = 0; k < i.rank; k++)
            at += i.at[k] * steps.at[k];
        sum += (*map)[at] ? 0 : (double)bytes;
        (*map)[at] = 1;
    }
    return sum;
}

static void
count_least(simulator *m)
{
    const glow_target *t = m->target;

    for (size_t l = 0; l < t->n_links; l++) {
        uint8_t **seen = GLOW_NEW_ARRAY(m->arena, uint8_t *, m->s->func->count);

        for (size_t i = 0; i < m->s->n_steps; i++) {
            const sim_step *s = &m->s->steps[i];

            if (s->work.link != &t->links[l])
                continue;
            if (!t->spaces[t->links[l].from].is_host)
                m->s->links[l].least += count_new(m, seen, s->node->out[0]);
            for (int k = 0;
                 k < s->node->n_in && t->spaces[t->links[l].from].is_host; k++)
                if (s->node->in[k] && glow_buffer_space(t, s->node->in[k]) ==
                                          &t->spaces[t->links[l].from])
                    m->s->links[l].least += count_new(m, seen, s->node->in[k]);
        }
    }
}

static void
bound(simulation *s, double cycles, const char *by)
{
    if (cycles > s->bound) {
        s->bound = cycles;
        s->bounded_by = by;
    }
}

static void
set_bound(simulation *s)
{
    const glow_target *t = s->target;

    s->bounded_by = "nothing";
    for (size_t i = 0; i < t->n_units; i++)
        bound(s, s->units[i].work / t->units[i].per_cycle, t->units[i].op);
    for (size_t i = 0; i < t->n_links; i++) {
        double cycles = 0;

        for (size_t k = 0; k < t->n_links; k++)
            if (glow_port_of(t, &t->links[k]) == i)
                cycles += s->links[k].least / t->links[k].bytes_per_cycle;
        bound(s, cycles,
              t->links[i].port ? t->links[i].port
                               : t->queues[t->links[i].queue].name);
    }
}

/* Hidden and exposed cycles, by a sweep over begins and ends. */

typedef struct edge {
    double at;
    int transfers, units; /* that begin (1) or end (-1) there */
} edge;

static int
by_time(const void *x, const void *y)
{
    const edge *a = x, *b = y;

    return (a->at > b->at) - (a->at < b->at);
}

static void
sweep(simulator *m)
{
    simulation *s = m->s;
    edge *edges = GLOW_NEW_ARRAY(m->arena, edge, 2 * s->n_steps + 1);
    size_t count = 0;
    int transfers = 0, units = 0;

    for (size_t i = 0; i < s->n_steps; i++) {
        const sim_step *p = &s->steps[i];

        edges[count++] =
            (edge){p->begin, p->work.link != NULL, p->work.unit != NULL};
        edges[count++] =
            (edge){p->end, -(p->work.link != NULL), -(p->work.unit != NULL)};
    }
    if (count)
        glow_sort(edges, count, sizeof *edges, by_time);
    for (size_t i = 0; i < count; i++) {
        double span = i ? edges[i].at - edges[i - 1].at : 0;

        if (transfers > 0)
            *(units > 0 ? &s->hidden : &s->exposed) += span;
        transfers += edges[i].transfers;
        units += edges[i].units;
    }
}

static void
set_engines(simulator *m, int count)
{
    for (int pass = 0; pass < 2; pass++)
        GLOW_FOR_EACH_NODE(n, (glow_func *)(uintptr_t)m->s->func) {
            const glow_queue *q = glow_target_queue(m->target, n->queue);
            int k = !glow_is_work(n) ? -1
                    : q              ? (int)(q - m->target->queues) + 1
                                     : 0;

            m->engine_of[number(m, n)] = k;
            if (pass == 0 && k >= 0)
                m->engines[k].count++;
        }
    for (int k = 0; k < count; k++) {
        engine *g = &m->engines[k];

        g->items = GLOW_NEW_ARRAY(m->arena, const glow_node *, g->count);
        g->issued = GLOW_NEW_ARRAY(m->arena, double, g->count);
        g->begun = GLOW_NEW_ARRAY(m->arena, double, g->count);
    }
}

simulation *
glow_simulation_of(glow_arena *a, const glow_func *f, const glow_target *t)
{
    simulator m = {.arena = a, .target = t, .issue = f->first};
    int count = (int)t->n_queues + 1;

    m.s = GLOW_NEW(a, simulation);
    m.s->func = f;
    m.s->target = t;
    m.s->steps = GLOW_NEW_ARRAY(a, sim_step, f->count);
    m.s->queues = GLOW_NEW_ARRAY(a, sim_queue, count);
    m.s->links = GLOW_NEW_ARRAY(a, sim_link, t->n_links);
    m.s->units = GLOW_NEW_ARRAY(a, sim_unit, t->n_units);
    m.e = glow_engines_of(a, f);
    m.engines = GLOW_NEW_ARRAY(a, engine, count);
    m.engine_of = GLOW_NEW_ARRAY(a, int, f->count);
    m.signalled = GLOW_NEW_ARRAY(a, double, f->count);
    m.signaller = GLOW_NEW_ARRAY(a, int, f->count);
    m.s->waits = GLOW_NEW_ARRAY(a, sim_wait, f->count);
    m.ports = GLOW_NEW_ARRAY(a, double, t->n_links);
    for (int i = 0; i < f->count; i++)
        m.signalled[i] = -1;
    set_engines(&m, count);
    run(&m, count);
    count_least(&m);
    set_bound(m.s);
    sweep(&m);
    return m.s;
}
