/* Instructions of an addition: load both operands, shift, add, round, store. */

#include "vta.h"

static void
load(vta_stream *s, int64_t to, int64_t byte, int64_t n)
{
    vta_stream_add(s, (vta_instruction){.opcode = VTA_LOAD,
                                        .memory = VTA_ACC8,
                                        .scratchpad = to,
                                        .dram = byte / VTA_LANES,
                                        .rows = 1,
                                        .columns = n,
                                        .stride = n});
}

static void
alu(vta_stream *s, int64_t dst, int64_t src, int64_t n, vta_function f,
    bool has_immediate, int immediate)
{
    vta_uop u = {dst, src, 0};
    int64_t first = vta_stream_uops(s, &u, 1);

    vta_stream_add(s, (vta_instruction){.opcode = VTA_ALU,
                                        .first = first,
                                        .end = first + 1,
                                        .outer = 1,
                                        .inner = n,
                                        .dst_inner = 1,
                                        .src_inner = has_immediate ? 0 : 1,
                                        .function = f,
                                        .has_immediate = has_immediate,
                                        .immediate = immediate});
}

static void
tile(vta_stream *s, const glow_node *node, const vta_places *p, int64_t at,
     int64_t a, int64_t b, int64_t n)
{
    const vta_add *v = node->attrs;
    int up[2], shift;

    vta_add_shifts(node->in[0]->type, node->in[1]->type, node->out[0]->type, up,
                   &shift);
    load(s, a, p->in[0] + at * VTA_LANES, n);
    load(s, b, p->in[1] + at * VTA_LANES, n);
    if (up[0])
        alu(s, a, a, n, VTA_SHIFT, true, -up[0]);
    if (up[1])
        alu(s, b, b, n, VTA_SHIFT, true, -up[1]);
    alu(s, a, b, n, VTA_ADD, false, 0);
    alu(s, a, a, n, VTA_ROUND, true, vta_round_immediate(shift, v->least));
    if (v->most < 127)
        alu(s, a, a, n, VTA_MIN, true, v->most);
    vta_stream_add(s, (vta_instruction){.opcode = VTA_STORE,
                                        .memory = VTA_OUT,
                                        .scratchpad = a,
                                        .dram = p->out / VTA_LANES + at,
                                        .rows = 1,
                                        .columns = n,
                                        .stride = n});
}

/* Two slots for the sum, of which one is stored, and one for the other operand. */
bool
vta_emit_add(vta_stream *s, const glow_node *n, const vta_places *p,
             const vta_config *c, bool doubled)
{
    int64_t count = glow_type_count(n->out[0]->type) / VTA_LANES;
    int64_t slots = doubled && c->elements[VTA_ACC] >= 3 ? 2 : 1;
    int64_t size = c->elements[VTA_ACC] / (slots + 1);

    if (size > VTA_MAX_COUNT)
        size = VTA_MAX_COUNT;
    for (int64_t at = 0, k = 0; size && at < count; at += size, k++)
        tile(s, n, p, at, k % slots * size, slots * size,
             size < count - at ? size : count - at);
    return size > 0;
}
