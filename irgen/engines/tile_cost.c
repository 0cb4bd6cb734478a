/*
 * Tile sizes and loop order, by enumeration.
 *
 * All sizes that give different numbers of pieces, and all orders of the loops over
 * axes of the result, are tried; loops over sums are innermost, so that a sum stays in
 * its scratchpad.  A choice costs the time of its busiest queue, or of the slots of an
 * operand, each of which waits for a whole load before it is worked on; and the time to
 * load the first piece and to store the last one.  An operand is loaded again in each iteration
 * of a loop that it does not depend on, unless all that the loops inside need of it
 * fits in its scratchpad beside the slots of the others (compare Timeloop, ISPASS 2019).
 * The best choices by that sum are replayed piece by piece (tile_replay.c), because loads
 * of operands that stay come in a burst, and steps of unequal work hide unequal loads.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/engines/loads.h"
#include "irgen/engines/tile.h"

tile_span
glow_tile_span(const glow_tile_dim *d, int64_t size, const int64_t begin[],
               const int64_t end[])
{
    tile_span s = {.count = size};
    int64_t first, last;

    if (d->axis < 0)
        return s;
    first = begin[d->axis] * d->step - d->before;
    last = (end[d->axis] - 1) * d->step + d->window - d->before;
    s.at = first < 0 ? 0 : first > size ? size : first;
    s.count = (last > size ? size : last) - s.at;
    s.count = s.count > 0 ? s.count : 0; /* of padding alone */
    s.before = first < 0 ? (last < 0 ? last : 0) - first : 0;
    s.after = last - first - s.before - s.count;
    return s;
}

int64_t
glow_tile_trips(const tile_problem *p, const tile_choice *c, int axis)
{
    return (p->extent[axis] + c->size[axis] - 1) / c->size[axis];
}

bool
glow_tile_follows(const tile_operand *o, int axis)
{
    for (int d = 0; d < o->type->shape.rank; d++)
        if (o->dims[d].axis == axis)
            return true;
    return false;
}

/* Bytes of the operand of a piece in its scratchpad, padding included. */
static int64_t
tile_bytes(const tile_choice *c, const tile_operand *o)
{
    int64_t bytes = glow_kind_get(o->type->elem)->bytes;

    for (int d = 0; d < o->type->shape.rank; d++) {
        const glow_tile_dim *m = &o->dims[d];

        bytes *= m->axis < 0 ? o->type->shape.at[d]
                             : (c->size[m->axis] - 1) * m->step + m->window;
    }
    return o->space ? glow_space_round(o->space, bytes) : bytes;
}

/* Elements along dimension `d`, of all pieces of its axis together. */
static double
all_elements(const tile_problem *p, const tile_choice *c, const tile_operand *o,
             int d)
{
    const glow_tile_dim *m = &o->dims[d];
    int64_t size = o->type->shape.at[d], sum = 0;
    int64_t begin[GLOW_MAX_RANK] = {0}, end[GLOW_MAX_RANK] = {0};

    if (m->axis < 0)
        return (double)size;
    for (int64_t at = 0; at < p->extent[m->axis]; at += c->size[m->axis]) {
        begin[m->axis] = at;
        end[m->axis] = at + c->size[m->axis] < p->extent[m->axis]
                           ? at + c->size[m->axis]
                           : p->extent[m->axis];
        sum += glow_tile_span(m, size, begin, end).count;
    }
    return (double)sum;
}

double
glow_tile_count(const tile_problem *p, const tile_choice *c,
                const tile_operand *o)
{
    double count = 1;

    for (int a = 0; a < p->n_axes; a++)
        if (glow_tile_follows(o, a))
            count *= (double)glow_tile_trips(p, c, a);
    return count;
}

double
glow_tile_commands(const tile_choice *c, const tile_operand *o)
{
    double count = 1;
    int64_t levels = 1;
    bool whole = true; /* all axes within this one */

    for (int d = o->type->shape.rank - 1; d >= 0; d--) {
        const glow_tile_dim *m = &o->dims[d];
        int64_t full = o->type->shape.at[d];
        int64_t n =
            m->axis < 0 ? full : (c->size[m->axis] - 1) * m->step + m->window;

        n = n < full ? n : full;
        if (!whole && n > 1 && ++levels > o->link->dims)
            count *= (double)n;
        whole = whole && n == full;
    }
    return count;
}

/* Loads of each piece of an operand, with `room` bytes for more slots. */
static double
repeats(const tile_problem *p, const tile_choice *c, const tile_operand *o,
        double room)
{
    double best = 1, outside = 1, inside;
    double bytes = (double)tile_bytes(c, o);
    int last = -1;

    for (int k = 0; k < p->n_axes; k++)
        if (glow_tile_follows(o, c->order[k]) &&
            glow_tile_trips(p, c, c->order[k]) > 1)
            last = k;
    for (int k = 0; k < last; k++)
        if (!glow_tile_follows(o, c->order[k]))
            best *= (double)glow_tile_trips(p, c, c->order[k]);
    /* resident within loop `level` and all loops inside */
    for (int level = 0; level <= last; level++) {
        inside = 1;
        for (int k = level; k <= last; k++)
            if (glow_tile_follows(o, c->order[k]))
                inside *= (double)glow_tile_trips(p, c, c->order[k]);
        if ((inside + 1 - p->slots) * bytes <= room && outside < best)
            best = outside;
        if (!glow_tile_follows(o, c->order[level]))
            outside *= (double)glow_tile_trips(p, c, c->order[level]);
    }
    return best;
}

/* Slots. */

static bool
is_cut(const tile_problem *p, const tile_choice *c, const tile_operand *o)
{
    return glow_tile_count(p, c, o) > 1;
}

/* Bytes in space `s` of the pieces at hand, with slots for those that change. */
static double
bytes_in(const tile_problem *p, const tile_choice *c, const glow_space *s)
{
    double sum = 0;

    for (int i = 0; i < p->n_operands; i++) {
        const tile_operand *o = &p->operands[i];

        if (o->space == s &&
            !(o->index < 0 && p->stages[p->n_stages - 1].in_place))
            sum += (double)tile_bytes(c, o) * (is_cut(p, c, o) ? p->slots : 1);
    }
    for (int i = 0; i < p->n_stages; i++) {
        const tile_stage *g = &p->stages[i];
        tile_operand result = {.type = g->node->out[0]->type,
                               .dims = g->tiling.out,
                               .space = g->space};

        if (g->space == s && !g->in_place && i + 1 < p->n_stages)
            sum += (double)tile_bytes(c, &result) *
                   (is_cut(p, c, &result) ? p->slots : 1);
    }
    return sum;
}

static bool
fits(const tile_problem *p, const tile_choice *c, tile_choice *out)
{
    for (size_t i = 0; i < p->target->n_spaces; i++) {
        const glow_space *s = &p->target->spaces[i];
        double bytes;

        if (s->place.capacity == INT64_MAX || s->is_host)
            continue;
        bytes = bytes_in(p, c, s);
        if (bytes > (double)s->place.capacity) {
            out->full = s;
            out->needs = (int64_t)bytes;
            return false;
        }
    }
    return true;
}

int64_t
glow_tile_room(const tile_problem *p, const tile_choice *c,
               const tile_operand *o)
{
    double room = glow_tile_count(p, c, o), most;

    if (!o->space)
        return 1;
    most = ((double)o->space->place.capacity - bytes_in(p, c, o->space)) /
               (double)tile_bytes(c, o) +
           p->slots - 1;
    return (int64_t)(most < 1 ? 1 : most < room ? most : room);
}

/* Costs. */

static double
work_cycles(const tile_problem *p, const tile_choice *c, const tile_stage *g)
{
    double work = g->tiling.work, pieces = 1;

    for (int a = 0; a < g->tiling.n_axes; a++) {
        int64_t t = glow_tile_trips(p, c, a), unit = p->granule[a];
        int64_t last = p->extent[a] - (t - 1) * c->size[a];

        if (g == &p->stages[0])
            work *= (double)((t - 1) * ((c->size[a] + unit - 1) / unit * unit) +
                             (last + unit - 1) / unit * unit);
        else
            work *= (double)p->extent[a];
        pieces *= (double)t;
    }
    return work / g->unit->per_cycle + pieces * (double)g->unit->setup;
}

typedef struct cost {
    double *busy; /* by queue */
    double work, fill, bytes, slots;
} cost;

static void
add_transfer(const tile_problem *p, const tile_choice *c, const tile_operand *o,
             cost *k)
{
    double room =
        o->space ? (double)o->space->place.capacity - bytes_in(p, c, o->space)
                 : 0;
    double times = o->index < 0 ? 1 : repeats(p, c, o, room);
    double bytes = glow_kind_get(o->type->elem)->bytes;
    double tiles = glow_tile_count(p, c, o), orders, one;

    for (int d = 0; d < o->type->shape.rank; d++)
        bytes *= all_elements(p, c, o, d);
    one = bytes / tiles / o->link->bytes_per_cycle;
    orders = glow_tile_commands(c, o);
    k->bytes += bytes * times;
    k->fill += one + (double)o->link->setup;
    if (tiles * times > p->slots) {
        double turns =
            (tiles * times * (one + (double)o->link->setup) + k->work) /
            p->slots;

        k->slots = turns > k->slots ? turns : k->slots;
    }
    one = one * (double)o->link->outstanding >
                  one + (double)o->link->setup * orders
              ? one
              : (one + (double)o->link->setup * orders) /
                    (double)o->link->outstanding;
    k->busy[o->link->queue] += one * tiles * times;
}

static double
count_pieces(const tile_problem *p, const tile_choice *c)
{
    double pieces = 1;

    for (int a = 0; a < p->n_axes; a++)
        pieces *= (double)glow_tile_trips(p, c, a);
    return pieces;
}

static void
price(const tile_problem *p, tile_choice *c, double *busy)
{
    cost k = {.busy = busy};

    memset(busy, 0, p->target->n_queues * sizeof *busy);
    for (int i = 0; i < p->n_stages; i++) {
        double cycles = work_cycles(p, c, &p->stages[i]);

        busy[p->stages[i].unit->queue] += cycles;
        k.work += cycles;
    }
    for (int i = 0; i < p->n_operands; i++)
        if (p->operands[i].link)
            add_transfer(p, c, &p->operands[i], &k);
    c->cycles = k.slots;
    for (size_t q = 0; q < p->target->n_queues; q++)
        c->cycles = busy[q] > c->cycles ? busy[q] : c->cycles;
    c->cycles += k.fill + count_pieces(p, c); /* to begin each takes a cycle */
    c->bytes = k.bytes;
}

/* Enumeration. */

/* The next smaller size with another number of pieces, a multiple of the granule; 0:
   there is none. */
static int64_t
next_size(const tile_problem *p, int axis, int64_t size)
{
    int64_t e = p->extent[axis], g = p->granule[axis], count, next;

    if ((axis >= p->n_result && !p->sums_are_cut) || size <= g)
        return 0;
    count = (e + size - 1) / size + 1;
    next = (e + count - 1) / count;
    next = (next + g - 1) / g * g;
    return next < size ? next : size - g;
}

/* Cycles are an estimate: of nearly equal ones, fewer bytes. */
static bool
is_better(const tile_choice *a, const tile_choice *b)
{
    return a->cycles + a->bytes / 64 < b->cycles + b->bytes / 64;
}

enum { MOST_REPLAYS = 512, MOST_PIECES = 1 << 12 };

/* The best choices, in order. */
typedef struct ranking {
    tile_choice best[MOST_REPLAYS];
    int count;
    tile_choice none; /* says what is too small */
} ranking;

static void
rank(ranking *r, const tile_choice *c)
{
    int at = r->count;

    while (at > 0 && is_better(c, &r->best[at - 1]))
        at--;
    if (at == MOST_REPLAYS)
        return;
    r->count += r->count < MOST_REPLAYS;
    memmove(&r->best[at + 1], &r->best[at],
            (size_t)(r->count - 1 - at) * sizeof *c);
    r->best[at] = *c;
}

/* Tries all orders of the loops over the result, from position `k` on. */
static void
try_orders(const tile_problem *p, tile_choice *c, int k, double *busy,
           ranking *best)
{
    if (k == p->n_result) {
        price(p, c, busy);
        rank(best, c);
        return;
    }
    for (int i = k; i < p->n_result; i++) {
        int keep = c->order[k];

        if (i > k && glow_tile_trips(p, c, c->order[i]) == 1)
            continue; /* a loop of one iteration may be anywhere */
        c->order[k] = c->order[i];
        c->order[i] = keep;
        try_orders(p, c, k + 1, busy, best);
        c->order[i] = c->order[k];
        c->order[k] = keep;
    }
}

static void
try_sizes(const tile_problem *p, tile_choice *c, int axis, double *busy,
          ranking *best)
{
    if (axis == p->n_axes) {
        if (fits(p, c, &best->none))
            try_orders(p, c, 0, busy, best);
        return;
    }
    for (int64_t s = (p->extent[axis] + p->granule[axis] - 1) /
                     p->granule[axis] * p->granule[axis];
         s > 0; s = next_size(p, axis, s)) {
        c->size[axis] = s < p->extent[axis] ? s : p->extent[axis];
        try_sizes(p, c, axis + 1, busy, best);
    }
}

bool
glow_tile_choose(const tile_problem *p, tile_choice *out)
{
    double *busy = GLOW_NEW_ARRAY(p->arena, double, p->target->n_queues + 1);
    ranking *r = GLOW_NEW(p->arena, ranking);
    glow_arena *arena = glow_arena_new();
    tile_choice c = {.cycles = -1};

    for (int a = 0; a < p->n_axes; a++)
        c.order[a] = a;
    try_sizes(p, &c, 0, busy, r);
    *out = r->none;
    for (int i = 0; i < r->count; i++) {
        if (count_pieces(p, &r->best[i]) <= (double)MOST_PIECES)
            r->best[i].cycles = glow_tile_replay(p, &r->best[i], arena);
        if (i == 0 || is_better(&r->best[i], out))
            *out = r->best[i];
        glow_arena_reset(arena);
    }
    glow_arena_free(arena);
    return r->count > 0;
}
