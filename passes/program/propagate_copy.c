/*
 * propagate-copy: let what is copied be where the copy is wanted.
 *
 * Backwards: what is computed for a buffer is computed where it is copied to,
 * so that results are written straight into output placeholders.
 *
 *     %a = alloc float<4>
 *     relu @out %a, @in %x           relu @out %y, @in %x
 *     copy @out %y, @in %a      =>   tanh @out %z, @in %y
 *     tanh @out %z, @in %a
 *     %a.free = dealloc @out %a
 *
 * Right if nothing else touches these bytes of %y from the first time that %a
 * is written until the copy, and after it %a is not written, and %y not before
 * %a was read for the last time.  %y may be a part of a buffer; its alloc and
 * views move up, its dealloc down, as far as need be.
 *
 * Forwards: what reads the copy reads the original.
 *
 *     copy @out %b, @in %x
 *     relu @out %y, @in %b      =>   relu @out %y, @in %x
 *     %b.free = dealloc @out %b
 *
 * Right if %b is written by nothing but the copy, and %x by nothing while %b is
 * read.
 *
 * Either way the copy and a buffer are gone.  Copies come from Save, and from
 * placeholders that are both read and overwritten.  A copy onto itself, which
 * share-buffers may leave, goes too, unless it alone says that a placeholder is
 * an output.  A copy with a predicate stays.  Of those that stay, a remark says
 * why.
 */

#include "glow/pass.h"
#include "passes/program/buffers.h"

/* The forward case: `copy`, whose result is an alloc. */
typedef struct forward {
    const glow_node *copy;
    const glow_value *from;
    glow_node *last; /* that reads the copy */
} forward;

static bool
reads_copy(void *user, glow_node *n, const glow_value *v, bool writes)
{
    forward *f = user;

    (void)v;
    if (n == f->copy)
        return true;
    if (writes || n->mark < f->copy->mark)
        return false;
    if (!f->last || n->mark > f->last->mark)
        f->last = n;
    return true;
}

static bool
keeps_original(void *user, glow_node *n, const glow_value *v, bool writes)
{
    const forward *f = user;

    return !writes || n->mark < f->copy->mark ||
           (f->last && n->mark > f->last->mark) || !f->last ||
           !may_overlap(v, f->from);
}

/* Lets the readers of the copy read the original; false if they may not. */
static bool
go_forward(glow_pass_run *pass, const buffer_info *infos, glow_node *copy)
{
    glow_arena *scratch = glow_run_scratch(pass);
    glow_value *to = copy->out[0], *from = copy->in[0];
    glow_value *base = glow_base_buffer(from);
    forward f = {copy, from, NULL};

    if (!is_loose(to) || from->type != to->type ||
        !views_after(to, copy->mark) || is_crowded(infos, to) ||
        is_crowded(infos, base) || !each_access(scratch, to, reads_copy, &f) ||
        !each_access(scratch, base, keeps_original, &f) ||
        !glow_run_may_rewrite(pass))
        return false;
    if (f.last)
        keep_alive(base, f.last);
    glow_node *alloc = to->def;

    glow_node_erase(dealloc_of(to));
    glow_node_erase(copy);
    if (!glow_is_unused(to))
        glow_replace_uses(to, from);
    glow_node_erase(alloc);
    return true;
}

/* Lets what is copied be computed in its target; false if it may not. */
static bool
go_backward(glow_pass_run *pass, const buffer_info *infos, glow_node *copy)
{
    glow_value *to = copy->out[0], *from = glow_base_buffer(copy->in[0]);
    glow_node *last;

    if (!covers(copy->in[0]) ||
        !can_live_in(glow_run_scratch(pass), infos, from, to, copy, true,
                     &last) ||
        !glow_run_may_rewrite(pass))
        return false;
    live_in(from, to, last);
    glow_node_erase(copy);
    return true;
}

typedef struct others {
    const glow_node *copy;
    bool found;
} others;

static bool
find_other_write(void *user, glow_node *n, const glow_value *v, bool writes)
{
    others *o = user;

    (void)v;
    o->found = writes && n != o->copy;
    return !o->found;
}

/* A copy onto itself, without which the same placeholders are written. */
static bool
is_idle(glow_arena *scratch, glow_node *copy)
{
    glow_value *base = glow_base_buffer(copy->out[0]);
    others o = {copy, is_alloc(base)};

    if (!same_bytes(copy->in[0], copy->out[0]))
        return false;
    if (!o.found)
        each_access(scratch, base, find_other_write, &o);
    return o.found;
}

/* Why what is copied is not computed or read in the other place. */
static void
explain(glow_pass_run *pass, const glow_node *copy)
{
    const glow_value *to = copy->out[0], *from = copy->in[0];
    const glow_value *base = glow_base_buffer(copy->in[0]);
    const char *why = "the one is used while the other is needed";

    if (copy->pred)
        why = "it may not run";
    else if (is_weight(base))
        why = glow_is_constant(base) ? "the source is constant"
                                     : "the source is a placeholder";
    else if (!covers(from))
        why = "the source is a part of a buffer";
    else if (from->type != to->type &&
             (from->type->strides.rank || to->type->strides.rank))
        why = "source and result lie differently";
    glow_run_remark(pass, copy, false, "it stays: %s%s", why,
                    is_weight(glow_base_buffer(copy->out[0]))
                        ? ", and the result is a placeholder"
                        : "");
}

/* Removes the copy, if that is right. */
static bool
remove_copy(glow_pass_run *pass, const buffer_info *infos, glow_node *copy)
{
    if (copy->pred)
        return false;
    if (is_idle(glow_run_scratch(pass), copy)) {
        if (!glow_run_may_rewrite(pass))
            return false;
        glow_node_erase(copy);
        return true;
    }
    return !same_bytes(copy->in[0], copy->out[0]) &&
           (go_backward(pass, infos, copy) || go_forward(pass, infos, copy));
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
        if (!remove_copy(pass, infos, n)) {
            explain(pass, n);
            continue;
        }
        glow_run_count(pass, "copies", 1);
        result = GLOW_CHANGED;
    }
    return result;
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
