/* Look-ups in a target, and its description as text. */

#include <inttypes.h>
#include <string.h>

#include "glow/target.h"

const glow_space *
glow_target_space(const glow_target *t, const char *name)
{
    for (size_t i = 0; i < t->n_spaces && name; i++)
        if (strcmp(t->spaces[i].name, name) == 0)
            return &t->spaces[i];
    return NULL;
}

const glow_queue *
glow_target_queue(const glow_target *t, const char *name)
{
    for (size_t i = 0; i < t->n_queues && name; i++)
        if (strcmp(t->queues[i].name, name) == 0)
            return &t->queues[i];
    return NULL;
}

const glow_unit *
glow_target_unit(const glow_target *t, const glow_op *op)
{
    for (size_t i = 0; i < t->n_units; i++)
        if (strcmp(t->units[i].op, op->name) == 0)
            return &t->units[i];
    return NULL;
}

const glow_link *
glow_target_link(const glow_target *t, const glow_space *from,
                 const glow_space *to)
{
    for (size_t i = 0; i < t->n_links; i++)
        if (&t->spaces[t->links[i].from] == from &&
            &t->spaces[t->links[i].to] == to)
            return &t->links[i];
    return NULL;
}

const glow_space *
glow_unit_space(const glow_target *t, const glow_unit *u, const char *name)
{
    for (size_t i = 0; i < u->n_operands; i++)
        if (strcmp(u->operands[i].name, name) == 0)
            return &t->spaces[u->operands[i].space];
    return NULL;
}

/* Text. */

static void
put_space(glow_buf *b, const glow_space *s)
{
    glow_buf_printf(b, "space %s:", s->name);
    if (s->place.capacity < INT64_MAX)
        glow_buf_printf(b, " %" PRId64 " bytes", s->place.capacity);
    else
        glow_buf_puts(b, " no end");
    if (s->align)
        glow_buf_printf(b, ", align %" PRId64, s->align);
    if (s->element)
        glow_buf_printf(b, ", elements of %" PRId64, s->element);
    if (s->place.bank)
        glow_buf_printf(b, ", banks of %" PRId64, s->place.bank);
    for (size_t i = 0; i < s->place.n_forbidden; i++)
        glow_buf_printf(b, ", not [%" PRId64 ", %" PRId64 "]",
                        s->place.forbidden[i].begin, s->place.forbidden[i].end);
    if (s->read_bytes_per_cycle > 0)
        glow_buf_printf(b, ", reads %g bytes/cycle", s->read_bytes_per_cycle);
    if (s->write_bytes_per_cycle > 0)
        glow_buf_printf(b, ", writes %g bytes/cycle", s->write_bytes_per_cycle);
    glow_buf_puts(b, s->is_host ? ", of the host\n" : "\n");
}

static void
put_homes(glow_buf *b, const glow_target *t)
{
    for (int k = 0; k < GLOW_BUFFER_CLASSES && t->n_spaces; k++) {
        glow_buf_printf(b, "%s in", glow_buffer_classes[k]);
        for (size_t i = 0; i < t->homes[k].count; i++)
            glow_buf_printf(b, "%s %s", i ? "," : "",
                            t->spaces[t->homes[k].at[i]].name);
        glow_buf_putc(b, '\n');
    }
}

static void
put_queues(glow_buf *b, const glow_target *t)
{
    for (size_t i = 0; i < t->n_queues; i++) {
        glow_buf_printf(b, "queue %s:", t->queues[i].name);
        if (t->queues[i].depth)
            glow_buf_printf(b, " depth %" PRId64, t->queues[i].depth);
        else
            glow_buf_puts(b, " any depth");
        for (size_t k = 0; k < t->n_tokens; k++)
            if (t->tokens[k].to == i)
                glow_buf_printf(b, ", waits for %s",
                                t->queues[t->tokens[k].from].name);
        if (!t->n_tokens)
            glow_buf_puts(b, ", waits for any");
        glow_buf_putc(b, '\n');
    }
}

static void
put_link(glow_buf *b, const glow_target *t, const glow_link *l)
{
    glow_buf_printf(b,
                    "link %s to %s: queue %s, %g bytes/cycle, setup %" PRId64
                    ", %" PRId64 " axes%s, %" PRId64 " outstanding%s%s\n",
                    t->spaces[l->from].name, t->spaces[l->to].name,
                    t->queues[l->queue].name, l->bytes_per_cycle, l->setup,
                    l->dims, l->pad ? ", pads" : "", l->outstanding,
                    l->port ? ", port " : "", l->port ? l->port : "");
}

static void
put_unit(glow_buf *b, const glow_target *t, const glow_unit *u)
{
    glow_buf_printf(b, "unit %s: queue %s, %g/cycle", u->op,
                    t->queues[u->queue].name, u->per_cycle);
    if (u->setup)
        glow_buf_printf(b, ", setup %" PRId64, u->setup);
    for (size_t i = 0; i < u->n_tile; i++)
        glow_buf_printf(b, "%s%" PRId64, i ? " x " : ", tile ", u->tile[i]);
    for (size_t i = 0; i < u->n_operands; i++)
        glow_buf_printf(b, ", %s in %s", u->operands[i].name,
                        t->spaces[u->operands[i].space].name);
    glow_buf_putc(b, '\n');
}

void
glow_target_text(glow_buf *b, const glow_target *t)
{
    glow_buf_printf(b, "target %s: %g flop/s, %g bytes/s, %g s a node", t->name,
                    t->flops_per_second, t->bytes_per_second,
                    t->seconds_per_node);
    if (t->clock_hz > 0)
        glow_buf_printf(b, ", %g Hz", t->clock_hz);
    glow_buf_putc(b, '\n');
    for (size_t i = 0; i < t->n_spaces; i++)
        put_space(b, &t->spaces[i]);
    put_homes(b, t);
    put_queues(b, t);
    for (size_t i = 0; i < t->n_links; i++)
        put_link(b, t, &t->links[i]);
    for (size_t i = 0; i < t->n_units; i++)
        put_unit(b, t, &t->units[i]);
}
