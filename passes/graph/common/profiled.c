/*
 * Values that a profile can have, and the state of profiles: values that only
 * QuantizationProfile nodes, calls and the Saves of bodies pass on.
 */

#include "passes/graph/common/profiled.h"

#include "glow/ops.h"

/* Depth of calls that are looked into: operands of deeper ones count as read. */
enum { MOST_DEEP = 16 };

static bool reads(const glow_func *f, const glow_storage *s, int depth);

/* The formal of `g` that operand `i` of the call `n` is, or NULL. */
static const glow_storage *
formal_of(const glow_node *n, const glow_func *g, int i)
{
    int first = glow_operand_of_input(n, g, 0);

    return i < first ? NULL : glow_formal(g, GLOW_INPUTS, i - first);
}

/* True if a function that `n` calls reads operand `i`, or the call itself does. */
static bool
call_reads(const glow_node *n, int i, int depth)
{
    for (int k = 0; k < glow_call_count(n); k++) {
        const glow_func *g = glow_called(n, k);
        const glow_storage *s = g ? formal_of(n, g, i) : NULL;

        if (!s || depth == MOST_DEEP || g->is_program || reads(g, s, depth + 1))
            return true;
    }
    return false;
}

static bool
use_reads(const glow_use *u, int depth)
{
    const glow_node *n = u->user;

    if (u->index < 0 || u->writes ||
        n->op->in[glow_operand_of(n, u->index)].kind == GLOW_WRITTEN)
        return false;
    if (n->op == &glow_op_quantizationprofile)
        return u->index == 0;
    if (n->op == &glow_op_save)
        return !glow_is_body(n->func);
    return !glow_op_calls(n->op) || call_reads(n, u->index, depth);
}

static bool
reads(const glow_func *f, const glow_storage *s, int depth)
{
    GLOW_FOR_EACH_USE(u, &s->value)
        if (u->user->func == f && use_reads(u, depth))
            return true;
    return false;
}

bool
glow_profiles_storage(const glow_func *f, const glow_storage *s)
{
    return reads(f, s, 0);
}

glow_value *
glow_saved_to(const glow_func *f, const glow_storage *s)
{
    GLOW_FOR_EACH_USE(u, &s->value)
        if (u->user->func == f && u->user->op == &glow_op_save && u->index == 1)
            return u->user->in[0];
    return NULL;
}

/* True if `v` is, or a call returns, what a QuantizationProfile has made. */
static bool
is_state(const glow_value *v, int depth)
{
    const glow_node *n = v ? v->def : NULL;

    if (!n || depth == MOST_DEEP)
        return false;
    if (n->op == &glow_op_quantizationprofile)
        return true;
    for (int k = 0; glow_op_calls(n->op) && k < glow_call_count(n); k++) {
        const glow_func *g = glow_called(n, k);
        const glow_storage *to =
            g && !g->is_program
                ? glow_formal(g, GLOW_OUTPUTS,
                              glow_output_of_result(n, g, v->index))
                : NULL;

        if (to && is_state(glow_saved_to(g, to), depth + 1))
            return true;
    }
    return false;
}

bool
glow_profiles_result(const glow_value *v)
{
    const glow_node *n = v->def;

    return !(n->op->traits & (GLOW_STRUCTURAL | GLOW_UNKNOWN)) && !n->pred &&
           !is_state(v, 0);
}
