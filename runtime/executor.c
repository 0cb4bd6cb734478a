#include "runtime/executor.h"

#include <string.h>

#include "glow/diag.h"

static const run_executor_kind *const kinds[] = {
    &glow_run_executor_serial,
    &glow_run_executor_threads,
    &glow_run_executor_starpu,
};
enum { KINDS = sizeof kinds / sizeof *kinds };

glow_executor *
glow_executor_open(glow_context *ctx, const char *name)
{
    for (int i = 0; i < KINDS; i++) {
        glow_executor *x;

        if (strcmp(kinds[i]->name, name) != 0)
            continue;
        x = kinds[i]->open(ctx);
        if (x)
            x->kind = kinds[i];
        return x;
    }
    glow_error_hint(ctx, (glow_span){0}, "E1013",
                    "serial, threads, starpu are there",
                    "there is no executor %s", name);
    return NULL;
}

void
glow_executor_close(glow_executor *x)
{
    if (x)
        x->kind->close(x);
}
