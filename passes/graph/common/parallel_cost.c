/*
 * parallel: profit of one node in place of several.
 *
 * By the cost model: a shared operand is read once instead of once for each
 * member.  Slices and concatenations cost time, except slices that are
 * contiguous or read by a Concat of all results.  Constants are concatenated at
 * compile time; a constant with other users is not free, because it is kept as
 * well.
 */

#include "glow/cost.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "passes/graph/common/parallel.h"

/* Limit of the size of a concatenated constant. */
static const int64_t most_bytes = INT64_C(512) << 20;

static int64_t
bytes_of(const glow_value *v)
{
    return v ? glow_type_bytes(v->type) : 0;
}

/* True if slices along `axis` are contiguous. */
static bool
is_outermost(glow_dims shape, int axis)
{
    for (int i = 0; i < axis; i++)
        if (shape.at[i] != 1)
            return false;
    return true;
}

/* True if one Concat reads all results in this order. */
static bool
meet_again(const parallel_member *m, size_t count, int axis)
{
    const glow_use *use = m[0].node->out[0]->uses;
    const glow_node *user = use ? use->user : NULL;
    const glow_concat *c = GLOW_AS(concat, user);

    if (!c || c->dim != axis || user->pred)
        return false;
    for (size_t i = 0; i < count; i++) {
        const glow_value *v = m[i].node->out[0];
        int at = use->index + (int)i;

        if (!glow_has_one_use(v) || v->uses->user != user || at >= user->n_in ||
            user->in[at] != v)
            return false;
    }
    return true;
}

/* Time of concatenating operand `k`; negative if this is not permitted. */
static double
time_to_join(glow_pass_run *run, const parallel_member *m, size_t count, int k)
{
    const glow_target *target = glow_run_target(run);
    glow_dims shape = m->node->in[k]->type->shape;
    bool constant = true, alone = true;
    int64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        const glow_value *v = m[i].node->in[k];

        bytes += bytes_of(v);
        constant = constant && glow_is_constant(v);
        alone = alone && glow_has_one_use(v);
    }
    if (constant)
        return alone && bytes <= most_bytes ? 0 : -1;
    if (is_outermost(shape, m->rule->axis[k]))
        bytes = 0;
    return glow_cost_time(target, (glow_cost){.read = bytes, .written = bytes},
                          1);
}

static double
time_to_part(glow_pass_run *run, const parallel_member *m, size_t count,
             int axis)
{
    const glow_target *target = glow_run_target(run);
    bool free = is_outermost(m->node->out[0]->type->shape, axis);
    double time = 0;

    if (meet_again(m, count, axis))
        return 0;
    for (size_t i = 0; i < count; i++) {
        int64_t bytes = free ? 0 : bytes_of(m[i].node->out[0]);

        time += glow_cost_time(target,
                               (glow_cost){.read = bytes, .written = bytes}, 1);
    }
    return time;
}

bool
glow_parallel_pays(glow_pass_run *run, const parallel_member *m, size_t count)
{
    const glow_target *target = glow_run_target(run);
    const parallel_rule *r = m->rule;
    glow_cost all = {0};
    double before = 0, after;

    for (size_t i = 0; i < count; i++) {
        glow_cost one = glow_node_cost(m[i].node);

        before += glow_cost_time(target, one, 1);
        for (int k = 0; i > 0 && k < m->node->n_in; k++)
            one.read -=
                r->axis[k] == PARALLEL_SHARED ? bytes_of(m->node->in[k]) : 0;
        all = glow_cost_add(all, one);
    }
    after = glow_cost_time(target, all, 1) +
            time_to_part(run, m, count, glow_parallel_axis(r, m->node));
    for (int k = 0; k < m->node->n_in; k++) {
        double join = r->axis[k] != PARALLEL_SHARED && m->node->in[k]
                          ? time_to_join(run, m, count, k)
                          : 0;

        if (join < 0)
            return false;
        after += join;
    }
    if (after >= before)
        glow_run_remark(run, m->node, false,
                        "%zu %ss that share an operand take %.3g s, and one "
                        "in their place %.3g s",
                        count, r->op->name, before, after);
    return after < before;
}
