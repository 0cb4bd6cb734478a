/*
 * Filter of pipelines for -exact: leaves out the passes that round differently.
 *
 * The member `preserves` of a pass is all that is asked.  A pass that runs a table
 * of rules stays, and skips the inexact ones (rules.c).
 */

#include "glow/rules.h"
#include "passes/pipeline.h"

static bool
has_exact_rule(const glow_pass *p)
{
    if (p->run != glow_run_rules)
        return false;
    for (const glow_rule *r = p->rules; r && r->from; r++)
        if (!r->inexact)
            return true;
    return false;
}

static bool
is_inexact(const glow_pass *p)
{
    return (p->preserves == GLOW_REASSOC || p->preserves == GLOW_PRECISION ||
            p->preserves == GLOW_QUANTIZED) &&
           !has_exact_rule(p);
}

/* Takes the inexact items out of the list; false after a report. */
static bool
filter(const glow_pipeline *p, glow_item **at)
{
    while (*at) {
        glow_item *i = *at;

        if (i->body && !filter(p, &i->body))
            return false;
        if (i->kind != GLOW_ITEM_PASS || !is_inexact(i->pass))
            at = &i->next;
        else if (i->origin)
            *at = i->next;
        else
            return glow_error_hint(
                p->ctx, i->span, "E0419",
                "leave out the pass, or -exact: -O0 to -O3 and -Os leave such "
                "passes out by themselves",
                "'%s' keeps results only up to roundings, which -exact does "
                "not take",
                i->pass->name);
    }
    return true;
}

bool
glow_pipeline_make_exact(glow_pipeline *p)
{
    return filter(p, &p->items);
}
