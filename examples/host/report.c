/*
 * Reports as `file:line:column: error[E0101]: sentence`, each with its hint.
 */

#include "report.h"

#include <stdio.h>

static void
print(const glow_diag *d, void *user)
{
    const char *kind = d->severity == GLOW_ERROR ? "error" : "note";

    (void)user;
    if (d->span.source) {
        int line, column;

        glow_span_line(d->span, &line, &column);
        fprintf(stderr, "%s:%d:%d: ", d->span.source->name, line, column);
    }
    fprintf(stderr, "%s[%s]: %s\n", kind, d->id ? d->id : "", d->message);
    if (d->hint)
        fprintf(stderr, "  hint: %s\n", d->hint);
    for (const glow_diag *n = d->notes; n; n = n->next)
        print(n, user);
}

void
print_reports(glow_context *ctx)
{
    glow_context_set_sink(ctx, print, NULL);
}
