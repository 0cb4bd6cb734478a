/*
 * propagate-copy: copy propagation on buffers, backwards and forwards.
 *
 * Backwards: the source of the copy is computed directly in its destination, so
 * results are written straight into output placeholders.
 *
 *     %a = alloc float<4>
 *     relu @out %a, @in %x           relu @out %y, @in %x
 *     copy @out %y, @in %a      =>   tanh @out %z, @in %y
 *     tanh @out %z, @in %a
 *     %a.free = dealloc @out %a
 *
 * Right if no other instruction accesses these bytes of %y between the first write
 * of %a and the copy, no instruction writes %a after the copy, and none writes %y
 * until the last read of %a.  %y may be a part of a buffer; its alloc and views
 * move up, and its dealloc down, as far as necessary.
 *
 * Forwards: the readers of the copy read the original.
 *
 *     copy @out %b, @in %x
 *     relu @out %y, @in %b      =>   relu @out %y, @in %x
 *     %b.free = dealloc @out %b
 *
 * Right if only the copy writes %b, and no instruction writes %x until the last
 * read of %b.
 *
 * Both remove the copy and a buffer.  Copies come from Save, and from
 * placeholders that are both read and overwritten.  A copy onto itself, which
 * share-buffers may leave, is removed too, unless it is the only write of an
 * output placeholder.  A copy with a predicate stays.  A remark gives the reason
 * for each copy that stays.
 */

#include "irgen/sharing/program.h"

/* The forward case: `copy`, whose result is an alloc. */
typedef struct forward {
    const glow_step *copy;
    const glow_part *from;
    const glow_step *last; /* last reader of the copy */
} forward;

static bool
reads_copy(void *user, const glow_step *s, const glow_shared_value *v,
           bool writes)
{
    forward *f = user;

    (void)v;
    if (s == f->copy)
        return true;
    if (writes || s->rank < f->copy->rank)
        return false;
    if (!f->last || s->rank > f->last->rank)
        f->last = s;
    return true;
}

static bool
keeps_original(void *user, const glow_step *s, const glow_shared_value *v,
               bool writes)
{
    const forward *f = user;

    return !writes || s->rank < f->copy->rank ||
           (f->last && s->rank > f->last->rank) || !f->last ||
           !glow_may_meet(v, f->from);
}

/* Forwards: lets the readers of the copy read the original; false if they may
   not. */
static bool
go_forward(glow_accesses *x, uint32_t step)
{
    const glow_step *s = &x->steps[step];
    uint32_t in = s->in[0], to = x->values[s->out[0]].buffer;
    glow_part from;
    forward f = {s, &from, NULL};

    if (!glow_is_whole(x, s->out[0]) || !glow_is_loose(x, to) ||
        !x->values[in].type || x->values[in].type != x->buffers[to].type)
        return false;
    from = (glow_part){x->values[in].buffer, x->values[in].first,
                       *x->values[in].type};
    if (!glow_views_follow(x, to, s) ||
        !glow_each_access(x, to, reads_copy, &f) ||
        !glow_each_access(x, from.buffer, keeps_original, &f) ||
        !glow_may_change(x))
        return false;
    glow_cover_life(x, from.buffer, to);
    glow_move_to_value(x, to, in, s->node->in[0], f.last ? f.last : s, false);
    glow_drop_step(x, step);
    return true;
}

/* Backwards: lets the copied buffer be computed in its destination; false if it
   may not.  Sets *is_long if the longer live range of the destination raises the
   peak. */
static bool
go_backward(glow_accesses *x, uint32_t step, bool *is_long)
{
    const glow_step *s = &x->steps[step], *last;
    uint32_t from = x->values[s->in[0]].buffer, out = s->out[0];
    uint32_t base = x->values[out].buffer;
    glow_part to = {base, x->values[out].first, {0}};

    if (!x->values[out].type || !glow_covers(x, s->in[0]))
        return false;
    to.type = *x->values[out].type;
    if (!glow_can_live_in(x, from, &to, s, true, &last))
        return false;
    *is_long = !x->buffers[base].storage && !glow_join_lives(x, from, base);
    if (*is_long || !glow_may_change(x))
        return false;
    if (x->buffers[base].storage)
        glow_cover_life(x, base, from);
    glow_move_to_value(x, from, out, x->edit ? s->node->out[0] : NULL, last,
                       true);
    glow_drop_step(x, step);
    return true;
}

typedef struct others {
    const glow_step *copy;
    bool found;
} others;

static bool
find_other_write(void *user, const glow_step *s, const glow_shared_value *v,
                 bool writes)
{
    others *o = user;

    (void)v;
    o->found = writes && s != o->copy;
    return !o->found;
}

/* True for a copy onto itself that is not the only write of a placeholder. */
static bool
is_idle(const glow_accesses *x, const glow_step *s)
{
    uint32_t base = x->values[s->out[0]].buffer;
    others o = {s, !x->buffers[base].storage};

    if (!glow_same_place(x, s->in[0], s->out[0]))
        return false;
    if (!o.found)
        glow_each_access(x, base, find_other_write, &o);
    return o.found;
}

/* Emits a remark with the reason why the copy stays. */
static void
explain(const glow_accesses *x, const glow_step *s, bool is_long)
{
    const glow_shared_value *from = &x->values[s->in[0]];
    const glow_shared_value *to = &x->values[s->out[0]];
    const glow_storage *source = x->buffers[from->buffer].storage;
    const char *why = "the one is used while the other is needed";

    if (s->pred != GLOW_NONE)
        why = "it may not run";
    else if (source)
        why = source->is_constant ? "the source is constant"
                                  : "the source is a placeholder";
    else if (!glow_covers(x, s->in[0]))
        why = "the source is a part of a buffer";
    else if (from->type != to->type &&
             (from->type->strides.rank || to->type->strides.rank))
        why = "source and result lie differently";
    else if (is_long)
        why = "what the result is a part of would live too long";
    (void)GLOW_REFUSE(x, s, "it stays: %s%s", why,
                      x->buffers[to->buffer].storage
                          ? ", and the result is a placeholder"
                          : "");
}

/* Removes the copy if it is idle, or by either rule; false if it stays. */
static bool
remove_copy(glow_accesses *x, uint32_t step, bool *is_long)
{
    const glow_step *s = &x->steps[step];

    if (s->pred != GLOW_NONE)
        return false;
    if (is_idle(x, s)) {
        if (!glow_may_change(x))
            return false;
        glow_drop_step(x, step);
        return true;
    }
    return !glow_same_place(x, s->in[0], s->out[0]) &&
           (go_backward(x, step, is_long) || go_forward(x, step));
}

void
glow_propagate_copies(glow_accesses *x)
{
    for (size_t i = 0; i < x->n_order; i++) {
        uint32_t step = x->order[i];
        bool is_long = false;

        if (x->steps[step].op != &glow_op_copy)
            continue;
        if (remove_copy(x, step, &is_long))
            glow_count_change(x, "copies", 1);
        else if (x->edit)
            explain(x, &x->steps[step], is_long);
    }
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    if (!glow_func_may_have(f, &glow_op_copy))
        return GLOW_UNCHANGED;
    glow_accesses *x = glow_accesses_of_program(pass, f);

    glow_propagate_copies(x);
    return x->changed ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_propagate_copy = {
    .name = "propagate-copy",
    .summary = "compute results where they are copied to",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow ShareBuffers and PeepholeOptimizations",
};
