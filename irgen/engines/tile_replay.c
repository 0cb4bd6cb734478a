/*
 * Replay of the pieces of a choice on the queues of the target: list scheduling of loads,
 * work and stores, in the order of the loops.
 *
 * Pieces of an operand stay in their scratchpad while its room holds them; the least
 * recently used one goes.  A load waits for the last use of the load `slots` before it in
 * its scratchpad, and the first sum of a piece for the store `slots` before it.  Loads are
 * issued before the work of the step before theirs, and stores behind that of the step
 * after, as double-buffer has them; the bytes of a port move in that order.  Operands in
 * the queue of a unit are loaded whole before all else, if they fit.
 */

#include "irgen/engines/cycles.h"
#include "irgen/engines/tile.h"

/* A piece of an operand in its scratchpad. */
typedef struct held {
    int64_t piece,
        load;     /* numbers: among its pieces, and the loads of the space */
    double ready; /* the end of its load */
} held;

typedef struct kept {
    held *held; /* the most recently used first */
    int64_t count, room;
    bool is_whole; /* all pieces are there from the start on */
} kept;

typedef struct engine {
    transfer_queue transfers;
    double free; /* the cycle in which all before is done */
} engine;

typedef struct replay {
    const tile_problem *p;
    const tile_choice *c;
    kept *kept;      /* by operand */
    engine *engines; /* by queue */
    double *ports;   /* by link, the first of a port: when it is free */
    int64_t *load;   /* by step of two, and operand: the load that it uses */
    int64_t count,
        sums;     /* pieces of the result, and parts of the sum of each */
    double *used; /* by space and slot: end of the last use of the load there */
    int64_t *loads; /* by space */
    double *stored; /* by slot */
    int64_t begin[GLOW_MAX_RANK], end[GLOW_MAX_RANK];
} replay;

static double
larger(double a, double b)
{
    return a > b ? a : b;
}

static double
move(replay *r, const tile_operand *o, double commands, double at)
{
    engine *e = &r->engines[o->link->queue];
    double bytes = glow_kind_get(o->type->elem)->bytes, end;

    for (int d = 0; d < o->type->shape.rank; d++)
        bytes *= (double)glow_tile_span(&o->dims[d], o->type->shape.at[d],
                                        r->begin, r->end)
                     .count;
    at = larger(at, e->transfers.next);
    end = glow_transfer(&e->transfers,
                        &r->ports[glow_port_of(r->p->target, o->link)], o->link,
                        bytes, commands, &at);
    e->free = larger(e->free, end);
    return end;
}

/* The number of the operand's piece at hand. */
static int64_t
piece_of(const replay *r, const tile_operand *o)
{
    int64_t piece = 0;

    for (int a = 0; a < r->p->n_axes; a++)
        if (glow_tile_follows(o, a))
            piece = piece * glow_tile_trips(r->p, r->c, a) +
                    r->begin[a] / r->c->size[a];
    return piece;
}

static double *
slot_of(const replay *r, const tile_operand *o, int64_t load)
{
    size_t space = (size_t)(o->space - r->p->target->spaces);

    return &r->used[space * (size_t)r->p->slots + (size_t)(load % r->p->slots)];
}

/* The cycle in which the piece of operand `i` of a step is in its scratchpad. */
static double
fetch(replay *r, int i, int64_t step)
{
    const tile_operand *o = &r->p->operands[i];
    int64_t *loads = &r->loads[o->space - r->p->target->spaces];
    kept *k = &r->kept[i];
    held h = {.piece = piece_of(r, o), .load = -1};
    int64_t at = 0;

    while (at < k->count && k->held[at].piece != h.piece)
        at++;
    if (at < k->count) {
        h = k->held[at];
    } else {
        h.load = (*loads)++;
        h.ready =
            move(r, o, glow_tile_commands(r->c, o), *slot_of(r, o, h.load));
        at = k->count < k->room ? k->count++ : k->count - 1;
    }
    for (; at > 0; at--)
        k->held[at] = k->held[at - 1];
    k->held[0] = h;
    r->load[step % 2 * r->p->n_operands + i] = h.load;
    return h.ready;
}

/* The cycle in which all operands of a stage are loaded. */
static double
fetch_all(replay *r, int stage, int64_t step)
{
    const tile_stage *g = &r->p->stages[stage];
    double ready = 0;

    for (int i = 0; i < r->p->n_operands; i++) {
        const tile_operand *o = &r->p->operands[i];

        r->load[step % 2 * r->p->n_operands + i] = -1;
        if (o->stage == stage && o->index >= 0 && o->link &&
            !r->kept[i].is_whole &&
            (step % r->sums == 0 || o->index != g->tiling.initial))
            ready = larger(ready, fetch(r, i, step));
    }
    return ready;
}

/* The end of stage `i`, which may begin at cycle `at`. */
static double
work(replay *r, int i, double at, int64_t step)
{
    const tile_stage *g = &r->p->stages[i];
    engine *e = &r->engines[g->unit->queue];
    double cycles = g->tiling.work / g->unit->per_cycle;

    for (int a = 0; a < g->tiling.n_axes; a++) {
        int64_t n = r->end[a] - r->begin[a], unit = i ? 1 : r->p->granule[a];

        cycles *= (double)((n + unit - 1) / unit * unit);
    }
    e->free = larger(e->free, at) + cycles + (double)g->unit->setup;
    e->transfers.next = e->free;
    for (int k = 0; k < r->p->n_operands; k++) {
        const tile_operand *o = &r->p->operands[k];
        int64_t load = r->load[step % 2 * r->p->n_operands + k];

        if (o->stage == i && load >= 0 &&
            load + r->p->slots >= r->loads[o->space - r->p->target->spaces])
            *slot_of(r, o, load) = larger(*slot_of(r, o, load), e->free);
    }
    return e->free;
}

/* Sets the bounds of axes [first, last) to piece `k` of the loops over them. */
static void
set_bounds(replay *r, int first, int last, int64_t k)
{
    for (int i = last - 1; i >= first; i--) {
        int a = r->c->order[i];
        int64_t n = glow_tile_trips(r->p, r->c, a), size = r->c->size[a];

        r->begin[a] = k % n * size;
        r->end[a] = r->begin[a] + size < r->p->extent[a] ? r->begin[a] + size
                                                         : r->p->extent[a];
        k /= n;
    }
}

static void
set_step(replay *r, int64_t step)
{
    set_bounds(r, 0, r->p->n_result, step / r->sums);
    set_bounds(r, r->p->n_result, r->p->n_axes, step % r->sums);
}

static void
set_up(replay *r, glow_arena *a)
{
    const tile_problem *p = r->p;
    const glow_target *t = p->target;

    r->kept = GLOW_NEW_ARRAY(a, kept, p->n_operands);
    r->engines = GLOW_NEW_ARRAY(a, engine, t->n_queues);
    r->ports = GLOW_NEW_ARRAY(a, double, t->n_links + 1);
    r->load = GLOW_NEW_ARRAY(a, int64_t, 2 * p->n_operands);
    r->used = GLOW_NEW_ARRAY(a, double, t->n_spaces *(size_t)p->slots);
    r->loads = GLOW_NEW_ARRAY(a, int64_t, t->n_spaces);
    r->stored = GLOW_NEW_ARRAY(a, double, p->slots);
    for (int i = 0; i < p->n_operands; i++) {
        r->kept[i].room = glow_tile_room(p, r->c, &p->operands[i]);
        r->kept[i].held = GLOW_NEW_ARRAY(a, held, r->kept[i].room);
    }
    r->count = r->sums = 1;
    for (int i = 0; i < p->n_axes; i++)
        *(i < p->n_result ? &r->count : &r->sums) *=
            glow_tile_trips(p, r->c, i);
}

/* True if a unit of the chain waits while the operand is loaded. */
static bool
holds_up_unit(const tile_problem *p, const tile_operand *o)
{
    for (int i = 0; i < p->n_stages; i++)
        if (o->index >= 0 && o->link &&
            p->stages[i].unit->queue == o->link->queue)
            return true;
    return false;
}

static void
load_whole(replay *r)
{
    for (int a = 0; a < r->p->n_axes; a++) {
        r->begin[a] = 0;
        r->end[a] = r->p->extent[a];
    }
    for (int i = 0; i < r->p->n_operands; i++) {
        const tile_operand *o = &r->p->operands[i];
        double pieces = glow_tile_count(r->p, r->c, o);

        if (!holds_up_unit(r->p, o) || (double)r->kept[i].room < pieces)
            continue;
        move(r, o, pieces * glow_tile_commands(r->c, o), 0);
        r->kept[i].is_whole = true;
    }
}

/* True if the stage is the transfer of the result. */
static bool
stores_by_itself(const tile_problem *p, int stage)
{
    const tile_operand *result = &p->operands[p->n_operands - 1];

    return stage == result->stage && !result->space && result->link;
}

/* Stores piece `k` of the result, which is done in cycle `at`. */
static double
store(replay *r, int64_t k, double at)
{
    const tile_operand *result = &r->p->operands[r->p->n_operands - 1];

    set_bounds(r, 0, r->p->n_result, k);
    at = result->link ? move(r, result, glow_tile_commands(r->c, result), at)
                      : at;
    r->stored[k % r->p->slots] = at;
    return at;
}

double
glow_tile_replay(const tile_problem *p, const tile_choice *c, glow_arena *arena)
{
    replay r = {.p = p, .c = c};
    double next, at = 0, done = 0; /* the last piece */
    int64_t steps;

    set_up(&r, arena);
    load_whole(&r);
    steps = r.count * r.sums;
    set_step(&r, 0);
    next = fetch_all(&r, 0, 0);
    for (int64_t n = 0; n < steps; n++) {
        double ready = next;

        if (n + 1 < steps) {
            set_step(&r, n + 1);
            next = fetch_all(&r, 0, n + 1);
        }
        set_step(&r, n);
        if (n % r.sums == 0)
            at = r.stored[n / r.sums % p->slots];
        at = work(&r, 0, larger(at, ready), n);
        if (n % r.sums == 0 && n > 0) {
            store(&r, n / r.sums - 1, done);
            set_step(&r, n);
        }
        if ((n + 1) % r.sums != 0)
            continue;
        for (int i = 1; i < p->n_stages; i++)
            if (!stores_by_itself(p, i))
                at = work(&r, i, larger(at, fetch_all(&r, i, n)), n);
        done = at;
    }
    return store(&r, r.count - 1, done);
}
