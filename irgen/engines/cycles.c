/* Costs of instructions on the engines of a target: see cycles.h. */

#include "irgen/engines/cycles.h"

#include <string.h>

#include "glow/ops.h"
#include "glow/tiling.h"
#include "irgen/engines/loads.h"
#include "irgen/spaces.h"

/* Boxes of at most `dims` axes that cover the layout. */
static double
count_boxes(const glow_type *t, int64_t dims)
{
    int64_t run = 1, levels = 1;
    double count = 1;

    if (t->strides.rank == 0)
        return 1;
    for (int d = t->shape.rank - 1; d >= 0; d--) {
        int64_t n = t->shape.at[d];

        if (n == 1)
            continue;
        if (levels == 1 && t->strides.at[d] == run) {
            run *= n;
            continue;
        }
        if (++levels > dims)
            count *= (double)n;
    }
    return count;
}

/* The operand that the instruction moves to another space, and its link. */
static const glow_link *
find_link(const glow_target *t, const glow_node *n, int *operand)
{
    const glow_space *to;

    if (n->n_out != 1 || !glow_is_work(n) ||
        (n->op != &glow_op_copy && n->op != &glow_op_pad &&
         !glow_target_unit(t, n->op)))
        return NULL;
    to = glow_buffer_space(t, n->out[0]);
    if (glow_target_unit(t, n->op)) { /* one that stores by itself */
        const char *space = glow_unit_needs(t, n, 0, true);

        if (!to || !space || strcmp(space, to->name) != 0)
            return NULL;
    }
    for (int i = 0; i < n->n_in; i++) {
        const glow_space *from =
            n->in[i] ? glow_buffer_space(t, n->in[i]) : NULL;
        const glow_link *l = from && to ? glow_target_link(t, from, to) : NULL;

        /* a unit that computes into another scratchpad transfers nothing */
        if (!l ||
            (!from->is_host && !to->is_host && glow_target_unit(t, n->op)))
            continue;
        *operand = i;
        return l;
    }
    return NULL;
}

static double
bytes_of(const glow_value *v)
{
    return (double)(glow_type_count(v->type) *
                    glow_kind_get(v->type->elem)->bytes);
}

/* Cycles for the operands of a unit at the rates of their spaces. */
static double
operand_cycles(const glow_target *t, const glow_node *n)
{
    double most = 0;

    for (size_t i = 0; i < t->n_spaces; i++) {
        const glow_space *s = &t->spaces[i];
        double in = 0, out = 0;

        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] && glow_buffer_space(t, n->in[k]) == s)
                in += bytes_of(n->in[k]);
        for (int k = 0; k < n->n_out; k++)
            if (glow_buffer_space(t, n->out[k]) == s)
                out += bytes_of(n->out[k]);
        in = s->read_bytes_per_cycle > 0 ? in / s->read_bytes_per_cycle : 0;
        out = s->write_bytes_per_cycle > 0 ? out / s->write_bytes_per_cycle : 0;
        most = in > most ? in : most;
        most = out > most ? out : most;
    }
    return most;
}

static void
set_unit(const glow_target *t, const glow_node *n, engine_work *w)
{
    glow_tiling tiling;
    double tiles = 1, slow;

    w->queue = &t->queues[w->unit->queue];
    w->work = (double)glow_type_count(n->out[0]->type);
    if (glow_tiling_of(n, &tiling)) {
        w->work = tiles = tiling.work;
        for (int a = 0; a < tiling.n_axes; a++) {
            int64_t e = tiling.extent[a];
            int64_t g = (size_t)a < w->unit->n_tile ? w->unit->tile[a] : 1;

            w->work *= (double)e;
            tiles *= (double)((e + g - 1) / g * g);
        }
    } else {
        tiles = w->work;
    }
    w->cycles = tiles / w->unit->per_cycle;
    slow = operand_cycles(t, n);
    w->cycles = (slow > w->cycles ? slow : w->cycles) + (double)w->unit->setup;
}

engine_work
glow_engine_work(const glow_target *t, const glow_node *n)
{
    engine_work w = {0};
    int operand = 0;

    w.link = find_link(t, n, &operand);
    if (w.link) {
        bool loads = t->spaces[w.link->from].is_host;
        const glow_value *v = loads ? n->in[operand] : n->out[0];
        const glow_value *other = loads ? n->out[0] : n->in[operand];
        double a, b;

        w.queue = &t->queues[w.link->queue];
        w.bytes = bytes_of(v);
        a = count_boxes(v->type, w.link->dims);
        b = count_boxes(other->type, w.link->dims);
        w.commands = a > b ? a : b;
        if (n->op == &glow_op_pad) { /* boxes apart where padding is between */
            double outer = 1;

            for (int d = 0; d + 1 + (int)w.link->dims < v->type->shape.rank;
                 d++)
                outer *= (double)v->type->shape.at[d];
            w.commands = outer > w.commands ? outer : w.commands;
        }
        return w;
    }
    w.unit = glow_target_unit(t, n->op);
    if (w.unit)
        set_unit(t, n, &w);
    return w;
}

double
glow_transfer_cycles(const engine_work *w)
{
    double move = w->bytes / w->link->bytes_per_cycle;
    double wait = (move + (double)w->link->setup * w->commands) /
                  (double)w->link->outstanding;

    return move > wait ? move : wait;
}

double
glow_transfer(transfer_queue *q, double *port, const glow_link *l, double bytes,
              double commands, double *begin)
{
    int64_t most = l->outstanding < GLOW_MOST_OUTSTANDING
                       ? l->outstanding
                       : GLOW_MOST_OUTSTANDING;
    double move = bytes / commands / l->bytes_per_cycle;
    double at = *begin, end = at;

    for (int64_t k = 0; k < (int64_t)commands; k++) {
        double oldest =
            q->commands >= most
                ? q->done[(q->commands - most) % GLOW_MOST_OUTSTANDING]
                : 0;
        double first = at > oldest ? at : oldest;

        *begin = k ? *begin : first;
        at = first;
        first += (double)l->setup;
        first = first > *port ? first : *port;
        end = *port = first + move;
        q->done[q->commands++ % GLOW_MOST_OUTSTANDING] = end;
    }
    q->next = at;
    return end;
}

size_t
glow_port_of(const glow_target *t, const glow_link *l)
{
    size_t k = 0;

    if (!l->port)
        return (size_t)(l - t->links);
    while (!t->links[k].port || strcmp(t->links[k].port, l->port) != 0)
        k++;
    return k;
}

/* The rules of this file and of simulate.c; a change of cycles takes another number. */
enum { RULES = 1 };

/* The bytes of the number from the least significant on, on any host. */
static uint64_t
mix_number(uint64_t h, double v)
{
    unsigned char bytes[sizeof v];
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    return glow_hash(bytes, sizeof bytes, h);
}

static uint64_t
mix_text(uint64_t h, const char *text)
{
    return text ? glow_hash(text, strlen(text), h) : mix_number(h, 0);
}

static uint64_t
mix_link(uint64_t h, const glow_target *t, const glow_link *l)
{
    h = mix_text(h, t->queues[l->queue].name);
    h = mix_text(h, t->spaces[l->from].name);
    h = mix_text(h, t->spaces[l->to].name);
    h = mix_number(h, l->bytes_per_cycle);
    h = mix_number(h, (double)l->setup);
    h = mix_number(h, (double)l->dims);
    h = mix_number(h, l->pad);
    h = mix_number(h, (double)l->outstanding);
    return mix_text(h, l->port);
}

static uint64_t
mix_unit(uint64_t h, const glow_target *t, const glow_unit *u)
{
    h = mix_text(h, u->op);
    h = mix_text(h, t->queues[u->queue].name);
    h = mix_number(h, u->per_cycle);
    h = mix_number(h, (double)u->setup);
    for (size_t i = 0; i < u->n_tile; i++)
        h = mix_number(h, (double)u->tile[i]);
    return h;
}

uint64_t
glow_cycle_model(const glow_target *t)
{
    uint64_t h = mix_number(0, RULES);

    for (size_t i = 0; i < t->n_queues; i++) {
        h = mix_text(h, t->queues[i].name);
        h = mix_number(h, (double)t->queues[i].depth);
    }
    for (size_t i = 0; i < t->n_spaces; i++) {
        h = mix_text(h, t->spaces[i].name);
        h = mix_number(h, t->spaces[i].read_bytes_per_cycle);
        h = mix_number(h, t->spaces[i].write_bytes_per_cycle);
    }
    for (size_t i = 0; i < t->n_links; i++)
        h = mix_link(h, t, &t->links[i]);
    for (size_t i = 0; i < t->n_units; i++)
        h = mix_unit(h, t, &t->units[i]);
    return h;
}
