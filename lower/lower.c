/*
 * lower: express operators that the backend does not take in operators that it
 * takes.
 *
 *     rules = all passes that name an operator which they lower
 *     do for each rule whose operator occurs: rewrite the nodes that the backend
 *                                             does not take
 *     while something changed
 *
 * Without a backend, every operator outside of the primitive set is lowered, and
 * each node that computes on quantized elements, if a rule lowers its operator;
 * all backends take the primitive set.  A rule may build operators that other
 * rules lower in turn, so the rounds go on; each takes one step along every
 * chain of rules, and no chain is longer than the number of rules.  Rules of
 * plugins are found like ours.
 *
 * Nodes that compute on quantized elements are offered to lower-quantized, and to
 * rules that take them.
 *
 * Afterwards the backend takes every node: those that it does not, and that no rule
 * lowers, are an error (E0418) for each function, which lists all of them.  With `partial` they stay.
 * Without a backend, operators outside of the primitive set without a rule stay.
 */

#include "glow/backend.h"
#include "lower/common.h"

typedef struct lower_options {
    bool partial;
} lower_options;

static bool
is_wanted(const glow_pass_run *run, const glow_node *n)
{
    const glow_backend *backend = glow_run_backend(run);
    const char *why;

    if (!backend || !backend->takes)
        return !(n->op->traits & GLOW_PRIMITIVE) || glow_computes_quantized(n);
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

/* Runs once each rule whose operator occurs. */
static glow_result
lower_once(glow_pass_run *run, glow_func *f, const glow_pass *const *passes,
           size_t count)
{
    glow_result result =
        glow_run_part(run, &glow_pass_lower_quantized, f, is_wanted);
    const glow_map *ops;

    if (result == GLOW_FAILED)
        return result;
    ops = ops_to_lower(run, f);
    for (size_t i = 0; i < count; i++) {
        glow_result r = GLOW_UNCHANGED;
        const glow_op *lowers = passes[i]->lowers;

        if (lowers && glow_map_get(ops, lowers->name))
            r = glow_run_part(run, passes[i], f, is_wanted);
        if (r == GLOW_FAILED)
            return r;
        if (r == GLOW_CHANGED)
            result = r;
    }
    return result;
}

/* The nodes that the backend refuses. */

/* A note for `n`, in front of `next`, if the backend does not take it. */
static const glow_diag *
note_refused(const glow_pass_run *run, const glow_node *n,
             const glow_diag *next)
{
    const glow_backend *backend = glow_run_backend(run);
    glow_arena *a = glow_run_scratch(run);
    const char *why = NULL;
    glow_diag *d;

    if (backend->takes(n, a, &why) == GLOW_TAKES)
        return next;
    d = GLOW_NEW(a, glow_diag);
    *d = (glow_diag){
        .severity = GLOW_NOTE,
        .message = glow_arena_printf(a, "%s %%%s: %s", n->op->name, n->name,
                                     why ? why : "it does not say why"),
        .span = n->span,
        .next = next,
    };
    return d;
}

/* False after a report of all nodes of `f` that the backend does not take. */
static bool
check_taken(const glow_pass_run *run, const glow_func *f)
{
    const glow_backend *backend = glow_run_backend(run);
    const lower_options *options = glow_run_options(run);
    const glow_diag *notes = NULL;
    int count = 0;

    if (!backend || !backend->takes || options->partial)
        return true;
    for (const glow_node *n = f->last; n; n = n->prev) {
        const glow_diag *more = note_refused(run, n, notes);

        count += more != notes;
        notes = more;
    }
    if (count == 0)
        return true;
    glow_report(
        glow_run_context(run),
        &(glow_diag){
            .severity = GLOW_ERROR,
            .id = "E0418",
            .message = glow_arena_printf(
                glow_run_scratch(run),
                "@%s: %s does not take %d node%s, and no rule lowers %s",
                f->name, backend->name, count, count == 1 ? "" : "s",
                count == 1 ? "it" : "them"),
            .span = notes->span,
            .hint = "lower<partial> leaves such nodes; -explain-support tells "
                    "of each node",
            .notes = notes,
        });
    return false;
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

        if (r == GLOW_UNCHANGED)
            return check_taken(run, f) ? result : GLOW_FAILED;
        if (r == GLOW_FAILED)
            return r;
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
    .preserves = GLOW_LOWERS,
    .options = {GLOW_FIELD_DEFAULT(lower_options, partial, GLOW_FLAG,
                                   "leave nodes that the backend does not take "
                                   "and no rule lowers")},
    .defaults = &(const lower_options){.partial = false},
    .run = run,
    .doc = "All passes `lower-...`, those of plugins included, until there is "
           "nothing left to do.  Without a backend every operator outside of "
           "the primitive set is lowered, and so is a Convolution of quantized "
           "elements.",
    .source = "Rotem et al., Glow, arXiv:1805.00907, section 3.2",
};
