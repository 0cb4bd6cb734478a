/*
 * lower-collectrpnproposals: sort the scores, take the boxes.
 *
 *     %s, %i = TopK(Concat(scores)) {K: RpnPostNmsTopN}
 *     %y = Gather(Concat(boxes), %i)
 *
 * Where there are fewer boxes than RpnPostNmsTopN, zeros follow them.
 */

#include "lower/common.h"

static glow_value *
concat(glow_builder *b, glow_value *const *v, int count)
{
    return count == 1 ? v[0]
                      : glow_build(b, &glow_op_concat, NULL, v, count,
                                   &(const glow_concat){.dim = 0});
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_collectrpnproposals *c = n->attrs;
    int levels = n->n_in / 2;
    glow_value *boxes = concat(b, n->in, levels);
    glow_value *scores = concat(b, n->in + levels, levels), *best, *frame;
    int64_t count, wanted = c->rpn_post_nms_top_n;

    if (!boxes || !scores)
        return NULL;
    count = boxes->type->shape.at[0];
    if (count == 0 || glow_type_count(n->out[0]->type) == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    best = GLOW_BUILD(b, topk, GLOW_IN(scores),
                      .k = count < wanted ? count : wanted);
    if (!best)
        return NULL;
    boxes = GLOW_BUILD(b, gather, GLOW_IN(boxes, best->def->out[1]), .axis = 0);
    if (count >= wanted)
        return boxes;
    frame = glow_lower_splat(b, n->out[0]->type, 0);
    return GLOW_BUILD(b, inserttensor, GLOW_IN(frame, boxes),
                      .start = GLOW_DIMS_OF(0, 0), .count = 1);
}

const glow_pass glow_pass_lower_collectrpnproposals = {
    .name = "lower-collectrpnproposals",
    .summary = "express CollectRpnProposals by TopK and Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_collectrpnproposals,
    .rewrite = lower,
};
