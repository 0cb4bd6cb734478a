/*
 * share-buffers: in-place updates, by the operators' in-place pairs.
 *
 *     %b = alloc float<4>
 *     relu @out %b, @in %a           relu @inout %a
 *     %a.free = dealloc @out %a  =>  tanh @out %c, @in %a
 *     tanh @out %c, @in %b           %a.free = dealloc @out %a
 *     %b.free = dealloc @out %b
 *
 * The `inplace` pairs of the operator name the operands and results that may
 * share a buffer.  Both have the same type, or differ in the scale and offset of
 * their elements, and then the result is a view; the operand covers an alloc, whose
 * last access is here; an alloc of the result is accessed here first.  No other
 * operand may be in the operand's buffer, unless it is the same value and of an
 * in-place pair too: add @inout %a, @in %a.
 *
 * If the result is an alloc, its users use the operand's buffer instead.  If it
 * is a placeholder or a part of another buffer, the operand is computed there
 * instead, if no other instruction accesses these bytes meanwhile.  Inputs
 * and constants are never overwritten.
 *
 * Copies are left to propagate-copy.
 *
 * With `early`, no instruction works in place on a buffer that a concat reads as
 * a whole: join-parts may then compute it in its part of the result, which saves
 * more.
 *
 * One walk forward: a chain of element-wise instructions ends in one buffer.
 */

#include "irgen/sharing/program.h"

typedef struct share_options {
    bool early;
} share_options;

static const share_options defaults = {0};

static uint32_t
buffer_of(const glow_accesses *x, uint32_t value)
{
    return x->values[value].buffer;
}

/* True if result `out` of `s`, in the buffer of value `a`, would overwrite another
   operand or result of `s`. */
static bool
disturbs(const glow_accesses *x, const glow_step *s, int out, uint32_t a)
{
    for (int k = 0; k < s->n_in; k++)
        if (s->in[k] != GLOW_NONE &&
            buffer_of(x, s->in[k]) == buffer_of(x, a) &&
            (!glow_same_place(x, s->in[k], a) ||
             !glow_may_be_inplace(s->node, out, k)))
            return true;
    for (int k = 0; k < s->n_out; k++)
        if (buffer_of(x, s->out[k]) == buffer_of(x, a))
            return true;
    return false;
}

/* Merges the alloc of result `out`, whose first access is `s`, into the buffer of
   operand `k`. */
static bool
take_operand(glow_accesses *x, const glow_step *s, int k, int out)
{
    uint32_t to = buffer_of(x, s->in[k]), from = buffer_of(x, s->out[out]);
    const glow_live_range *life = &x->buffers[from].life;

    if (!glow_is_whole(x, s->out[out]) || !glow_is_loose(x, from) ||
        life->first != s->rank || !glow_views_follow(x, from, s) ||
        !glow_may_change(x))
        return false;
    x->buffers[to].is_part |= x->buffers[from].is_part;
    x->buffers[to].life.last = life->last;
    glow_begin_at(x, from, s); /* the operand is defined there */
    if (x->edit)
        glow_name_in_place(x, s, s->in[k], s->node->in[k]);
    glow_move_to_value(x, from, s->in[k], s->node->in[k], NULL, false);
    return true;
}

/* Lets the buffer that operand `k` covers be computed in result `out`. */
static bool
go_to_result(glow_accesses *x, const glow_step *s, int k, int out)
{
    uint32_t from = buffer_of(x, s->in[k]), to = buffer_of(x, s->out[out]);
    const glow_live_range *life = &x->buffers[from].life;
    const glow_step *last;
    glow_part at;

    if (!glow_part_of(x, s->out[out], &at) ||
        !glow_can_live_in(x, from, &at, s, false, &last) || !glow_may_change(x))
        return false;
    if (life->first < x->buffers[to].life.first)
        x->buffers[to].life.first = life->first;
    glow_name_in_place(x, s, s->in[k], s->node->out[out]);
    glow_move_to_value(x, from, s->out[out], s->node->out[out], last, true);
    return true;
}

static bool
share(glow_accesses *x, const glow_step *s, int out, int k)
{
    uint32_t a = s->in[k], r = s->out[out];

    if (a == GLOW_NONE || !x->values[a].type || !x->values[r].type ||
        !glow_type_fits_inplace(x->values[a].type, x->values[r].type))
        return false;
    const glow_shared_buffer *b = &x->buffers[buffer_of(x, a)];

    if (b->storage || b->life.last != s->rank || b->is_part ||
        !glow_covers(x, a) || disturbs(x, s, out, a))
        return false;
    return take_operand(x, s, k, out) || go_to_result(x, s, k, out);
}

/* Tries each pair and each value at its operand; true once one is shared. */
static bool
share_one(glow_accesses *x, const glow_step *s)
{
    glow_inplace_at at = {0};

    while (glow_next_inplace(s->node, &at))
        if (share(x, s, at.out, at.in))
            return true;
    return false;
}

/* Finds the buffers that Concats read as a whole. */
static void
find_parts(glow_accesses *x, bool early)
{
    for (size_t i = 0; i < x->n_buffers; i++)
        x->buffers[i].is_part = false;
    for (size_t i = 0; early && i < x->n_order; i++) {
        const glow_step *s = &x->steps[x->order[i]];

        for (int k = 0; s->op == &glow_op_concat && k < s->n_in; k++)
            if (s->pred == GLOW_NONE && glow_covers(x, s->in[k]))
                x->buffers[buffer_of(x, s->in[k])].is_part = true;
    }
}

void
glow_share_buffers(glow_accesses *x, bool early)
{
    find_parts(x, early);
    for (size_t i = 0; i < x->n_order; i++) {
        const glow_step *s = &x->steps[x->order[i]];

        if (s->pred == GLOW_NONE && s->op != &glow_op_copy &&
            !(s->op->traits & GLOW_UNKNOWN) && share_one(x, s))
            glow_count_change(x, "shared", 1);
    }
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const share_options *options = glow_run_options(pass);
    glow_accesses *x = glow_accesses_of_program(pass, f);

    glow_share_buffers(x, options->early);
    return x->changed ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_share_buffers = {
    .name = "share-buffers",
    .summary = "let instructions work in place",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(share_options, early, GLOW_FLAG,
                                   "leave alone what a concat reads, for "
                                   "join-parts")},
    .defaults = &defaults,
    .run = run,
    .source = "Glow (arXiv 1805.00907), section 3.3; ShareBuffers",
};
