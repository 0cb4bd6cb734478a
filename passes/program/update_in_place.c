/*
 * update-in-place: update a placeholder where it is, if it is saved to itself.
 *
 *     %k = alloc float<1 x 512 x 64>
 *     inserttensor @out %k, @in %cache, @in %row
 *     matmul @out %y, @in %x, @in %k          inserttensor @inout %cache, @in %row
 *     copy @out %cache, @in %k           =>   matmul @out %y, @in %x, @in %cache
 *     %k.free = dealloc @out %k
 *
 * The first instruction that writes %k is one that may work in place on %cache (the
 * `inplace` pairs of its operator).  Right if
 *
 * - that instruction needs no other bytes of %cache, but by such a pair;
 * - nothing else touches these bytes of %cache until the copy: a reader would want
 *   what they were;
 * - after the copy %k is not written, and %cache not before %k was read for the last
 *   time.
 *
 * Between the first write and the copy %k may be read and written: %cache is what %k
 * is.  A copy that may not run stays.
 *
 * Decoders keep keys and values of earlier tokens so: TensorScatter, InsertTensor or
 * ScatterData of a cache that is saved to itself.  Both copies of the cache go, that
 * of the operator's other rows and that of the Save, and one row is written.
 * propagate-copy does not take these, since the instruction reads what it would
 * overwrite, nor does share-buffers, which overwrites no input.  Afterwards no such
 * copy is left.
 */

#include "glow/pass.h"
#include "passes/program/buffers.h"

/* A copy of the alloc `from` to `to`, which is a placeholder or a part of one. */
typedef struct update {
    const glow_node *copy;
    glow_value *from, *to;
    glow_node *first, *last; /* accesses of `from` */
} update;

static bool
see_from(void *user, glow_node *n, const glow_value *v, bool writes)
{
    update *u = user;

    (void)v;
    if (!u->first || n->mark < u->first->mark)
        u->first = n;
    if (!u->last || n->mark > u->last->mark)
        u->last = n;
    return !writes || n->mark < u->copy->mark;
}

/* The result of u->first that is all of `from`, by a pair with `to`; or -1. */
static int
updated_result(const update *u)
{
    glow_inplace_at at = {0};
    const glow_node *n = u->first;

    while (glow_next_inplace(n, &at)) {
        const glow_value *in = n->in[at.in], *out = n->out[at.out];

        if (in && in->type == out->type && same_bytes(in, u->to) &&
            glow_base_buffer(n->out[at.out]) == u->from && covers(out))
            return at.out;
    }
    return -1;
}

/* Is each operand of u->first that has bytes of `to` updated by result `out`? */
static bool
needs_no_other(const update *u, int out)
{
    const glow_node *n = u->first;

    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] && may_overlap(n->in[k], u->to) &&
            !(same_bytes(n->in[k], u->to) && glow_may_be_inplace(n, out, k) &&
              n->in[k]->type == n->out[out]->type))
            return false;
    for (int k = 0; k < n->n_out; k++)
        if (k != out && may_overlap(n->out[k], u->to))
            return false;
    return !n->scratch || !may_overlap(n->scratch, u->to);
}

/* May this access of the placeholder stay where it is? */
static bool
leaves_alone(void *user, glow_node *n, const glow_value *v, bool writes)
{
    const update *u = user;

    if (n->mark < u->first->mark || n == u->first || n == u->copy ||
        !may_overlap(v, u->to))
        return true;
    return n->mark > u->copy->mark && (!writes || n->mark > u->last->mark);
}

/* Fills *u for `copy`; returns the result of u->first, or -1. */
static int
find_update(glow_arena *scratch, const buffer_info *infos, glow_node *copy,
            update *u)
{
    glow_value *base = glow_base_buffer(copy->out[0]);

    *u = (update){.copy = copy,
                  .from = glow_base_buffer(copy->in[0]),
                  .to = copy->out[0]};
    if (copy->pred || !is_weight(base) || glow_is_constant(base) ||
        !is_loose(u->from) || !covers(copy->in[0]) ||
        is_crowded(infos, u->from) || is_crowded(infos, base) ||
        u->to->type->strides.rank || u->from->type->strides.rank ||
        !each_access(scratch, u->from, see_from, u) || u->first->pred ||
        (u->first->op->traits & GLOW_UNKNOWN))
        return -1;
    return updated_result(u);
}

static bool
update_in_place(glow_pass_run *run, const buffer_info *infos, glow_node *copy)
{
    glow_arena *scratch = glow_run_scratch(run);
    update u;
    int out = find_update(scratch, infos, copy, &u);

    if (out < 0)
        return false;
    if (!needs_no_other(&u, out) ||
        !each_access(scratch, glow_base_buffer(u.to), leaves_alone, &u)) {
        glow_run_remark(run, copy, false,
                        "it stays: what %s overwrites is needed until then",
                        u.first->op->name);
        return false;
    }
    if (!glow_run_may_rewrite(run))
        return false;
    for (int k = 0; k < u.first->n_in; k++) /* by one name: it is in place */
        if (u.first->in[k] && same_bytes(u.first->in[k], u.to))
            glow_set_operand(u.first, k, u.first->out[out]);
    live_in(u.from, u.to, u.last);
    glow_node_erase(copy);
    return true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const buffer_info *infos = buffers_measure(glow_run_scratch(pass), f);
    glow_result result = GLOW_UNCHANGED;

    for (glow_node *n = f->first, *next; n; n = next) {
        next = n->next;
        if (n->op != &glow_op_copy)
            continue;
        /* the dealloc of what goes may stand right behind the copy */
        while (next && next->op == &glow_op_dealloc)
            next = next->next;
        if (!update_in_place(pass, infos, n))
            continue;
        glow_run_count(pass, "updates", 1);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_update_in_place = {
    .name = "update-in-place",
    .summary = "update placeholders in place that are saved to themselves",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_EXACT,
    .run = run,
};
