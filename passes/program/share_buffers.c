/*
 * share-buffers: let instructions work in place.
 *
 *     %b = alloc float<4>
 *     relu @out %b, @in %a           relu @inout %a
 *     %a.free = dealloc @out %a  =>  tanh @out %c, @in %a
 *     tanh @out %c, @in %b           %a.free = dealloc @out %a
 *     %b.free = dealloc @out %b
 *
 * The operator says for which operands and results that is allowed: their
 * `inplace` pairs.  Both have the same type; the operand's buffer is an alloc,
 * all of which is read here for the last time, and the result's is written here
 * for the first time.  No other operand may lie in it, unless it is the same
 * value and also of such a pair: add @inout %a, @in %a.
 *
 * Where the result is an alloc, its users take the operand's buffer.  Where it
 * is a placeholder or a part of another buffer, the operand is computed there
 * instead, if nobody else touches these bytes meanwhile.  Inputs and constants
 * are never overwritten.
 *
 * A copy in place would be none at all: that is propagate-copy's.
 *
 * Early, nothing works in place on what a concat has read: join-parts
 * may then compute it where the concat puts it, which saves more.
 *
 * One walk forward: a chain of element-wise instructions ends in one buffer.
 */

#include "glow/pass.h"
#include "passes/program/buffers.h"

typedef struct share_options {
    bool early;
} share_options;

static const share_options defaults = {0};

typedef struct sharer {
    glow_pass_run *pass;
    buffer_info *infos; /* by mark of the alloc */
    bool
        *is_part; /* by mark of the alloc: a concat reads it; NULL: no matter */
} sharer;

/* Would result `out` of `n` overwrite what else it needs of a's buffer? */
static bool
disturbs(const glow_node *n, int out, glow_value *a)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] && glow_base_buffer(n->in[k]) == glow_base_buffer(a) &&
            (n->in[k] != a || !glow_may_be_inplace(n, out, k)))
            return true;
    for (int k = 0; k < n->n_out; k++)
        if (glow_base_buffer(n->out[k]) == glow_base_buffer(a))
            return true;
    return false;
}

/* The users of the alloc `r`, first written by `n`, take the buffer of `a`. */
static bool
take_operand(sharer *s, glow_node *n, glow_value *a, glow_value *r)
{
    glow_value *base = glow_base_buffer(a);
    buffer_info *to = &s->infos[base->def->mark];
    const buffer_info *from = &s->infos[r->def->mark];
    glow_node *alloc = r->def;

    if (!is_loose(r) || from->first != n->mark || !views_after(r, n->mark) ||
        !glow_run_may_rewrite(s->pass))
        return false;
    if (s->is_part && s->is_part[alloc->mark])
        s->is_part[base->def->mark] = true;
    if (to->dealloc->mark < from->dealloc->mark) {
        glow_node_move_after(to->dealloc, from->dealloc);
        to->dealloc->mark = from->dealloc->mark;
    }
    glow_node_erase(from->dealloc);
    glow_replace_uses(r, a);
    glow_node_erase(alloc);
    to->last = from->last;
    return true;
}

/* What was computed in a's alloc, all of which `a` is, is computed in `r`. */
static bool
go_to_result(sharer *s, glow_node *n, glow_value *a, glow_value *r)
{
    glow_value *from = glow_base_buffer(a);
    glow_node *last;

    if (!can_live_in(glow_run_scratch(s->pass), s->infos, from, r, n, false,
                     &last) ||
        !glow_run_may_rewrite(s->pass))
        return false;
    const glow_value *base = glow_base_buffer(r);
    buffer_info joined = s->infos[base->def->mark];

    if (s->infos[from->def->mark].first < joined.first)
        joined.first = s->infos[from->def->mark].first;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] == a) /* by one name, which says that it is in place */
            glow_set_operand(n, k, r);
    live_in(from, r, last);
    s->infos[base->def->mark] = joined; /* which may have moved up */
    return true;
}

static bool
share(sharer *s, glow_node *n, int out, int k)
{
    glow_value *a = n->in[k], *r = n->out[out];

    if (!a || a->type != r->type || !is_alloc(glow_base_buffer(a)) ||
        s->infos[glow_base_buffer(a)->def->mark].last != n->mark ||
        (s->is_part && s->is_part[glow_base_buffer(a)->def->mark]) ||
        !covers(a) || disturbs(n, out, a))
        return false;
    return take_operand(s, n, a, r) || go_to_result(s, n, a, r);
}

/* Tries each pair and each value at its operand; true once one is shared. */
static bool
share_one(sharer *s, glow_node *n)
{
    glow_inplace_at at = {0};

    while (glow_next_inplace(n, &at))
        if (share(s, n, at.out, at.in))
            return true;
    return false;
}

/* Finds what concats read, all of it. */
static void
find_parts(sharer *s, glow_func *f)
{
    s->is_part = GLOW_NEW_ARRAY(glow_run_scratch(s->pass), bool, f->count);
    GLOW_FOR_EACH_NODE(n, f)
        for (int i = 0; n->op == &glow_op_concat && i < n->n_in; i++)
            if (!n->pred && covers(n->in[i]))
                s->is_part[glow_base_buffer(n->in[i])->def->mark] = true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const share_options *options = glow_run_options(pass);
    sharer s = {.pass = pass,
                .infos = buffers_measure(glow_run_scratch(pass), f)};
    glow_result result = GLOW_UNCHANGED;

    if (options->early)
        find_parts(&s, f);

    for (glow_node *n = f->first, *next; n; n = next) {
        next = n->next;
        if (!computes(n) || n->pred || n->op == &glow_op_copy ||
            (n->op->traits & GLOW_UNKNOWN))
            continue;
        while (next && next->op == &glow_op_dealloc)
            next = next->next;
        if (!share_one(&s, n))
            continue;
        glow_run_count(pass, "shared", 1);
        result = GLOW_CHANGED;
    }
    return result;
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
