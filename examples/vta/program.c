/* From placed functions to instruction words. */

#include "program.h"

#include <string.h>

#include <glow/pipeline.h>

enum { DRAM_ALIGN = 256 };

vta_config
vta_config_of(const vta_options *o)
{
    return (vta_config){
        .elements = {[VTA_UOP] = o->uop / 4,
                     [VTA_WGT] = o->wgt / 256,
                     [VTA_INP] = o->inp / 16,
                     [VTA_ACC] = o->acc / 64},
        .depth = o->depth,
        .outstanding = o->outstanding,
        .setup = o->setup,
        .bytes_per_cycle = (double)o->bytes_per_cycle,
    };
}

bool
vta_is_unit(const glow_node *n)
{
    return glow_is(n, &vta_op_conv) || glow_is(n, &vta_op_add) ||
           glow_is(n, &vta_op_pool);
}

int64_t
vta_offset(const glow_value *v)
{
    glow_extent e = glow_extent_of(v);

    return e.base->place->offset +
           e.first * glow_kind_get(e.layout->elem)->bytes;
}

static bool
emit_once(vta_stream *s, const glow_node *n, const vta_config *c, bool doubled)
{
    vta_places p = {.out = vta_offset(n->out[0])};

    for (int i = 0; i < n->n_in; i++)
        p.in[i] = n->in[i] ? vta_offset(n->in[i]) : 0;
    if (glow_is(n, &vta_op_conv))
        return vta_emit_conv(s, n, &p, c, doubled);
    return glow_is(n, &vta_op_add) ? vta_emit_add(s, n, &p, c, doubled)
                                   : vta_emit_pool(s, n, &p, c, doubled);
}

/* Twice, since the first time tells all micro-operations. */
static bool
emit(vta_stream *s, const glow_node *n, const vta_config *c, bool doubled)
{
    bool fits;

    vta_stream_record(s);
    fits = emit_once(s, n, c, doubled);
    vta_stream_play(s);
    return fits && emit_once(s, n, c, doubled);
}

/* Says that the host runs `n`, or refuses it. */
static bool
leave_to_host(glow_arena *a, vta_program *p, const glow_node *n,
              const vta_options *o, const glow_target_options *t)
{
    if (!o->host)
        return glow_error_at(p->func->module->ctx, n->span, "E0823",
                             "%s %%%s: no tile fits the scratchpads",
                             n->op->name, n->name);
    if (t && t->remark)
        t->remark(t->remark_user,
                  &(glow_remark){.node = n,
                                 .text = "no tile fits the scratchpads: the "
                                         "host runs it"});
    p->left =
        glow_arena_grow(a, p->left, p->n_left, &p->left_room, sizeof *p->left);
    p->left[p->n_left++] = n;
    return true;
}

static bool
finish(glow_arena *a, vta_program *p, vta_stream *s, vta_segment g)
{
    g.words = vta_stream_end(s, &g.count);
    g.uops = vta_stream_table(s, &g.n_uops);
    g.uops_at = p->dram_bytes;
    if (vta_stream_failed(s))
        return glow_error_at(p->func->module->ctx, g.first->span, "E0823",
                             "%s %%%s: an instruction has no encoding",
                             g.first->op->name, g.first->name);
    p->dram_bytes = (p->dram_bytes + g.n_uops * 4 + DRAM_ALIGN - 1) /
                    DRAM_ALIGN * DRAM_ALIGN;
    p->segments = glow_arena_grow(a, p->segments, p->count, &p->room,
                                  sizeof *p->segments);
    p->segments[p->count++] = g;
    return true;
}

/* Segments of a program with queues: runs of instructions that have one. */
static bool
encode_queued(glow_arena *a, vta_program *p)
{
    for (const glow_node *n = p->func->first, *end; n; n = end) {
        vta_stream *s;

        end = n->next;
        if (!vta_is_queued(n))
            continue;
        while (end &&
               (vta_is_queued(end) || (end->op->traits & GLOW_STRUCTURAL)))
            end = end->next;
        s = vta_stream_new(a, &p->config, p->dram_bytes, VTA_GIVEN);
        if (!vta_encode_queues(s, n, end) ||
            !finish(a, p, s, (vta_segment){.first = n, .end = end}))
            return false;
    }
    return true;
}

/* The capacities of the regions of `f`, if it has scratchpads. */
static void
take_capacities(const glow_func *f, vta_config *c)
{
    static const char *const names[] = {
        [VTA_WGT] = "wgt", [VTA_INP] = "inp", [VTA_ACC] = "acc"};

    for (int k = VTA_WGT; k <= VTA_ACC; k++) {
        const glow_region *r = glow_find_region(f, names[k]);

        if (r && r->capacity)
            c->elements[k] = r->capacity / vta_element_bytes((vta_memory)k);
    }
}

static bool
check_config(const glow_func *f, const vta_config *c)
{
    return vta_config_is_possible(c) ||
           glow_error_at(
               f->module->ctx, (glow_span){0}, "E0823",
               "the accelerator cannot have these sizes: a scratchpad "
               "is too small, or too large for the fields of "
               "instructions, or a queue or rate is 0");
}

vta_program *
vta_program_new(glow_arena *a, glow_func *f, const vta_options *o,
                const glow_target_options *t, bool apart)
{
    vta_program *p = GLOW_NEW(a, vta_program);
    vta_stream *s = NULL;
    vta_segment g = {0};
    bool used = false; /* the segment has words */

    p->func = f;
    p->config = vta_config_of(o);
    take_capacities(f, &p->config);
    if (!check_config(f, &p->config))
        return NULL;
    for (const glow_region *r = f->regions; r; r = r->next)
        if (strcmp(r->space, "dram") == 0)
            p->dram_bytes = r->size > p->dram_bytes ? r->size : p->dram_bytes;
    p->dram_bytes = (p->dram_bytes + DRAM_ALIGN - 1) / DRAM_ALIGN * DRAM_ALIGN;
    if (glow_has_queues(f))
        return encode_queued(a, p) ? p : NULL;
    for (const glow_node *n = f->first; n; n = n->next) {
        bool ends = !vta_is_unit(n) && !(n->op->traits & GLOW_STRUCTURAL);

        if (vta_is_unit(n) && !s) {
            s = vta_stream_new(a, &p->config, p->dram_bytes,
                               o->double_buffer ? VTA_OVERLAP : VTA_SERIAL);
            g = (vta_segment){.first = n};
            used = false;
        }
        if (vta_is_unit(n) && emit(s, n, &p->config, o->double_buffer)) {
            g.end = n->next;
            used = true;
            ends = apart;
        } else if (vta_is_unit(n)) {
            if (!leave_to_host(a, p, n, o, t))
                return NULL;
            ends = true;
        }
        if (!ends || !s)
            continue;
        if (used && !finish(a, p, s, g))
            return NULL;
        s = NULL;
    }
    return !s || !used || finish(a, p, s, g) ? p : NULL;
}

bool
vta_fill_dram(const vta_program *p, uint8_t *dram)
{
    memset(dram, VTA_POISON, (size_t)p->dram_bytes);
    GLOW_FOR_EACH_NODE(n, p->func) {
        const glow_tensor *t;

        if (n->op != &glow_op_weight || !glow_is_constant(n->out[0]))
            continue;
        t = glow_constant_tensor(n->out[0]->storage);
        if (!t)
            return false;
        memcpy(dram + vta_offset(n->out[0]), t->data,
               (size_t)glow_type_bytes(t->type));
    }
    for (size_t i = 0; i < p->count; i++)
        memcpy(dram + p->segments[i].uops_at, p->segments[i].uops,
               (size_t)p->segments[i].n_uops * 4);
    return true;
}

bool
vta_is_left(const vta_program *p, const glow_node *n)
{
    for (size_t i = 0; i < p->n_left; i++)
        if (p->left[i] == n)
            return true;
    return false;
}
