/*
 * lower: express what the backend does not take in what it does.
 *
 *     rules = all passes that name an operator which they lower
 *     do for each rule whose operator occurs: rewrite the nodes that the backend
 *                                             leaves to us
 *     while something changed
 *
 * Without a backend that is every operator outside of the primitive set, which
 * all backends have.  A rule may build operators that others lower in turn, so
 * the rounds go on; each takes one step along every such chain, and there are no
 * longer chains than there are rules.  Rules of plugins are found like ours.
 *
 * Afterwards every node is one that the backend takes, or has no rule.
 */

#include "glow/backend.h"
#include "lower/common.h"

static bool
is_wanted(const glow_pass_run *run, const glow_node *n)
{
    const glow_backend *backend = glow_run_backend(run);
    const char *why;

    if (!backend || !backend->takes)
        return !(n->op->traits & GLOW_PRIMITIVE);
    return backend->takes(n, glow_run_scratch(run), &why) != GLOW_TAKES;
}

/* The operators, by name, of the nodes that have to be lowered. */
static glow_map *
ops_to_lower(const glow_pass_run *run, const glow_func *f)
{
    glow_map *ops = glow_map_new(glow_run_scratch(run));
    const glow_op *last = NULL; /* neighbours are often alike */

    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op == last || glow_map_get(ops, n->op->name) ||
            !is_wanted(run, n))
            continue;
        glow_map_set(ops, n->op->name, (void *)n->op);
        last = n->op;
    }
    return ops;
}

/* All rules that have something to do, once. */
static glow_result
lower_once(glow_pass_run *run, glow_func *f, const glow_pass *const *passes,
           size_t count)
{
    glow_result result = GLOW_UNCHANGED;
    const glow_map *ops = ops_to_lower(run, f);

    for (size_t i = 0; i < count; i++) {
        glow_result r = GLOW_UNCHANGED;
        const glow_op *lowers = passes[i]->lowers;

        if (lowers && passes[i]->run && glow_map_get(ops, lowers->name))
            r = glow_run_part(run, passes[i], f, is_wanted);
        if (r == GLOW_FAILED)
            return r;
        if (r == GLOW_CHANGED)
            result = r;
    }
    return result;
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    size_t count;
    const glow_pass *const *passes =
        glow_all_passes(glow_run_context(run), &count);
    glow_result result = GLOW_UNCHANGED;

    for (size_t round = 0; round <= count; round++) {
        glow_result r = lower_once(run, f, passes, count);

        if (r != GLOW_CHANGED)
            return r == GLOW_FAILED ? r : result;
        result = r;
    }
    glow_error_at(glow_run_context(run), f->span, "E0409",
                  "pass 'lower' does not come to rest: after %zu rounds the "
                  "rules still lower what they made",
                  count + 1);
    return GLOW_FAILED;
}

const glow_pass glow_pass_lower = {
    .name = "lower",
    .summary = "express operators that the backend does not take in simpler "
               "ones",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .doc = "All passes `lower-...`, those of plugins included, until there is "
           "nothing left to do.  Without a backend every operator outside of "
           "the primitive set is lowered.",
    .source = "Rotem et al., Glow, arXiv:1805.00907, section 3.2",
};
