/*
 * Judgement of a pass that quantizes: node by node, and end to end.
 *
 * A pass that is GLOW_QUANTIZED keeps names: the value that takes the place of a
 * node has its name.  So a quantized operator of the new function, or the Dequantize
 * behind it, with the name of a node of the old one stands for that node.  This node is run
 * in float64 on the operands that the quantized operator got, which are exact, so no
 * error of the nodes before it excuses a miss.
 *
 * The bound end to end is by Monte Carlo: runs in which each value that is quantized
 * is off by a random part of half a step.
 */

#include "passes/quantized/judge.h"

static void
record(void *user, const char *name, const glow_tensor *t)
{
    judge *j = user;
    glow_tensor copy = glow_tensor_new(t->type);

    glow_tensor_copy(&copy, t);
    glow_map_set(j->seen, glow_arena_strdup(j->a, name),
                 (void *)glow_judge_keep(j, copy));
}

trial
glow_judge_trial(judge *j, glow_func *f, bool shadow)
{
    trial t = j->v->trial;

    t.f = f;
    t.shadow = shadow;
    t.user = j;
    for (t.set = 0; glow_trial_sets[t.set].fill != GLOW_FILL_RANDOM;)
        t.set++;
    t.ints = j->v->before->sets[t.set].ints;
    t.units = j->v->before->units;
    t.within_ranges = true;
    return t;
}

static bool
check_all(judge *j, const trial_held *after)
{
    size_t before = j->n_made;
    bool ok = true;

    for (const pair *p = j->pairs; p && ok; p = p->next) {
        ok = glow_judge_pair(j, p);
        glow_judge_release(j, before);
    }
    for (const blocked *r = j->blocked; r && ok; r = r->next)
        ok = glow_judge_blocked(j, r);
    GLOW_FOR_EACH_NODE(n, j->after) {
        ok = ok && glow_judge_rewritten(j, n);
        glow_judge_release(j, before);
    }
    if (!ok)
        return false;
    return (!j->pairs && !j->blocked) || glow_judge_ends(j, after);
}

bool
glow_quantized_is_close(const verdict *v)
{
    glow_arena *a = glow_arena_new();
    judge j = {.v = v,
               .a = a,
               .before = glow_find_func(v->module_before, v->trial.f->name),
               .after = v->trial.f,
               .seen = glow_map_new(a),
               .steps = glow_map_new(a)};
    trial t = glow_judge_trial(&j, j.after, false);
    trial_held *after = NULL;
    bool ok = true;

    t.see = record;
    if (j.before && !j.before->is_program && !j.after->is_program &&
        glow_trial_run(&t, a, &after, NULL)) {
        glow_judge_find_pairs(&j);
        glow_judge_find_blocked(&j);
        ok = check_all(&j, after);
    }
    glow_trial_end(after);
    glow_judge_release(&j, 0);
    glow_arena_free(a);
    return ok;
}
