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
#include "passes/program/lives.h"

typedef struct propagator {
    glow_pass_run *run;
    glow_func *func;
    buffer_info *infos;
    lives *lives; /* NULL until it is asked */
    bool is_long; /* the copy at hand stays, or a buffer would live too long */
} propagator;

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
go_forward(propagator *p, glow_node *copy)
{
    glow_arena *scratch = glow_run_scratch(p->run);
    glow_value *to = copy->out[0], *from = copy->in[0];
    glow_value *base = glow_base_buffer(from);
    forward f = {copy, from, NULL};

    if (!is_loose(to) || from->type != to->type ||
        !views_after(to, copy->mark) || is_crowded(p->infos, to) ||
        is_crowded(p->infos, base) ||
        !each_access(scratch, to, reads_copy, &f) ||
        !each_access(scratch, base, keeps_original, &f) ||
        !glow_run_may_rewrite(p->run))
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

/* Is what was measured of the alloc where it stands now? */
static bool
is_measured(const propagator *p, const glow_value *alloc)
{
    const glow_node *dealloc = p->infos[alloc->def->mark].dealloc;

    return dealloc && dealloc->out[0] == alloc;
}

/* May `from` be a part of `base`, or all of it, which lives longer then? */
static bool
is_affordable(propagator *p, const glow_value *from, const glow_value *base)
{
    if (!is_alloc(base))
        return true;
    if (!is_measured(p, from) || !is_measured(p, base)) /* not in this round */
        return glow_type_bytes(base->type) <= glow_type_bytes(from->type);
    if (!p->lives)
        p->lives = lives_measure(glow_run_scratch(p->run), p->func, p->infos);
    return lives_join(p->lives, p->infos, from, base);
}

/* Lets what is copied be computed in its target; false if it may not. */
static bool
go_backward(propagator *p, glow_node *copy)
{
    glow_value *to = copy->out[0], *from = glow_base_buffer(copy->in[0]);
    glow_value *base = glow_base_buffer(to);
    glow_node *last;
    buffer_info info;

    if (!covers(copy->in[0]) || !can_live_in(glow_run_scratch(p->run), p->infos,
                                             from, to, copy, true, &last))
        return false;
    if (!is_affordable(p, from, base)) {
        p->is_long = true;
        return false;
    }
    if (!glow_run_may_rewrite(p->run))
        return false;
    info = p->infos[base->def->mark];
    live_in(from, to, last);
    p->infos[base->def->mark] = info; /* it may have moved */
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
explain(const propagator *p, const glow_node *copy)
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
    else if (p->is_long)
        why = "what the result is a part of would live too long";
    glow_run_remark(p->run, copy, false, "it stays: %s%s", why,
                    is_weight(glow_base_buffer(copy->out[0]))
                        ? ", and the result is a placeholder"
                        : "");
}

/* Removes the copy, if that is right. */
static bool
remove_copy(propagator *p, glow_node *copy)
{
    p->is_long = false;
    if (copy->pred)
        return false;
    if (is_idle(glow_run_scratch(p->run), copy)) {
        if (!glow_run_may_rewrite(p->run))
            return false;
        glow_node_erase(copy);
        return true;
    }
    return !same_bytes(copy->in[0], copy->out[0]) &&
           (go_backward(p, copy) || go_forward(p, copy));
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    propagator p = {.run = pass,
                    .func = f,
                    .infos = buffers_measure(glow_run_scratch(pass), f)};
    glow_result result = GLOW_UNCHANGED;

    for (glow_node *n = f->first, *next; n; n = next) {
        next = n->next;
        if (n->op != &glow_op_copy)
            continue;
        /* the dealloc of what goes may stand right behind the copy */
        while (next && next->op == &glow_op_dealloc)
            next = next->next;
        if (!remove_copy(&p, n)) {
            explain(&p, n);
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
