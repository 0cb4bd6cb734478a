/*
 * update-in-place: in-place update of a placeholder that is saved to itself.
 *
 *     %k = alloc float<1 x 512 x 64>
 *     inserttensor @out %k, @in %cache, @in %row
 *     matmul @out %y, @in %x, @in %k          inserttensor @inout %cache, @in %row
 *     copy @out %cache, @in %k           =>   matmul @out %y, @in %x, @in %cache
 *     %k.free = dealloc @out %k
 *
 * The first instruction that accesses %k may work in place on %cache (the
 * `inplace` pairs of its operator).  Right if
 *
 * - that instruction accesses bytes of %cache only by such a pair;
 * - no other instruction accesses these bytes of %cache until the copy, because a
 *   reader needs the old content;
 * - no instruction writes %k after the copy, nor %cache until the last read of %k.
 *
 * Between the first write and the copy %k may be read and written, because %cache
 * has the content of %k.  A copy with a predicate stays.
 *
 * Decoders keep keys and values of earlier tokens so: TensorScatter, InsertTensor
 * or ScatterData of a cache that is saved to itself.  Both copies of the cache
 * are removed, the operator's copy of the other rows and the copy of the Save,
 * and one row is written.  propagate-copy does not handle them, since the
 * instruction reads %cache; nor does share-buffers, which overwrites no input.
 */

#include "irgen/sharing/program.h"

/* A copy of an alloc to `to`, which is a placeholder or a part of one. */
typedef struct update {
    const glow_accesses *x;
    const glow_step *copy;
    glow_part to;
    const glow_step *first, *last; /* accesses of the alloc */
} update;

static bool
see_source(void *user, const glow_step *s, const glow_shared_value *v,
           bool writes)
{
    update *u = user;

    (void)v;
    if (!u->first || s->rank < u->first->rank)
        u->first = s;
    if (!u->last || s->rank > u->last->rank)
        u->last = s;
    return !writes || s->rank < u->copy->rank;
}

static bool
meets(const update *u, uint32_t value)
{
    return value != GLOW_NONE && glow_may_meet(&u->x->values[value], &u->to);
}

/* True if both values have one type, which is expressible. */
static bool
same_type(const glow_accesses *x, uint32_t a, uint32_t b)
{
    return x->values[a].type && x->values[a].type == x->values[b].type;
}

/* The result of u->first that covers the alloc and has an in-place pair with
   `to`; or -1. */
static int
updated_result(const update *u)
{
    const glow_accesses *x = u->x;
    const glow_step *s = u->first;
    uint32_t from = x->values[u->copy->in[0]].buffer;
    glow_inplace_at at = {0};

    while (s->op == s->node->op && glow_next_inplace(s->node, &at)) {
        uint32_t in = s->in[at.in], out = s->out[at.out];

        if (in != GLOW_NONE && same_type(x, in, out) &&
            glow_same_place(x, in, u->copy->out[0]) &&
            x->values[out].buffer == from && glow_covers(x, out))
            return at.out;
    }
    return -1;
}

/* True if each operand of u->first with bytes of `to` has an in-place pair with
   result `out`, and no other result or scratch has bytes of `to`. */
static bool
needs_no_other(const update *u, int out)
{
    const glow_accesses *x = u->x;
    const glow_step *s = u->first;

    for (int k = 0; k < s->n_in; k++)
        if (meets(u, s->in[k]) &&
            !(glow_same_place(x, s->in[k], u->copy->out[0]) &&
              glow_may_be_inplace(s->node, out, k) &&
              same_type(x, s->in[k], s->out[out])))
            return false;
    for (int k = 0; k < s->n_out; k++)
        if (k != out && meets(u, s->out[k]))
            return false;
    return !meets(u, s->scratch);
}

/* True if this access of the placeholder does not conflict with the update. */
static bool
is_apart(void *user, const glow_step *s, const glow_shared_value *v,
         bool writes)
{
    const update *u = user;

    return s->rank < u->first->rank || s == u->first || s == u->copy ||
           !glow_may_meet(v, &u->to) ||
           (s->rank > u->copy->rank && (!writes || s->rank > u->last->rank));
}

/* Fills *u for the copy `s`; returns the result of u->first, or -1. */
static int
find_update(const glow_accesses *x, const glow_step *s, update *u)
{
    uint32_t from = x->values[s->in[0]].buffer;
    const glow_storage *target =
        x->buffers[x->values[s->out[0]].buffer].storage;

    *u = (update){.x = x, .copy = s};
    if (s->pred != GLOW_NONE || !target || target->is_constant ||
        !glow_is_loose(x, from) || !glow_covers(x, s->in[0]) ||
        !glow_part_of(x, s->out[0], &u->to) || u->to.type.strides.rank ||
        x->buffers[from].type->strides.rank ||
        !glow_each_access(x, from, see_source, u) ||
        u->first->pred != GLOW_NONE || (u->first->op->traits & GLOW_UNKNOWN))
        return -1;
    return updated_result(u);
}

static bool
update_in_place(glow_accesses *x, uint32_t step)
{
    const glow_step *s = &x->steps[step];
    uint32_t from = x->values[s->in[0]].buffer, to = s->out[0];
    glow_value *name = x->edit ? s->node->out[0] : NULL;
    update u;
    int out = find_update(x, s, &u);

    if (out < 0)
        return false;
    if (!needs_no_other(&u, out) ||
        !glow_each_access(x, u.to.buffer, is_apart, &u))
        return GLOW_REFUSE(x, s,
                           "it stays: what %s overwrites is needed until then",
                           u.first->op->name);
    if (!glow_may_change(x))
        return false;
    if (x->edit) /* operand and result get one name */
        glow_name_in_place(x, u.first, to, u.first->node->out[out]);
    glow_cover_life(x, u.to.buffer, from);
    glow_move_to_value(x, from, to, name, u.last, true);
    glow_drop_step(x, step);
    return true;
}

void
glow_update_in_place(glow_accesses *x)
{
    for (size_t i = 0; i < x->n_order; i++) {
        uint32_t step = x->order[i];

        if (x->steps[step].op == &glow_op_copy && !x->steps[step].gone &&
            update_in_place(x, step))
            glow_count_change(x, "updates", 1);
    }
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    if (!glow_func_may_have(f, &glow_op_copy))
        return GLOW_UNCHANGED;
    glow_accesses *x = glow_accesses_of_program(pass, f);

    glow_update_in_place(x);
    return x->changed ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_update_in_place = {
    .name = "update-in-place",
    .summary = "update placeholders in place that are saved to themselves",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_EXACT,
    .run = run,
};
