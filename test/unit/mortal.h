/* This program as a device in a process of its own, which some input ends. */

#ifndef GLOW_TEST_MORTAL_H
#define GLOW_TEST_MORTAL_H

#include <unistd.h>

#include "glow/backend.h"
#include "glow/runtime.h"

/* The command of such a device; main() calls `serve` where its argument is the second. */
static const char *const as_device[] = {"/proc/self/exe", "serve", NULL};

static glow_backend mortal_backend;
static bool (*run_mortal)(glow_executable *x, const glow_binding *bindings,
                          int count);
static bool (*ends_mortal)(const glow_tensor *input);

static inline bool
run_or_end(glow_executable *x, const glow_binding *bindings, int count)
{
    for (int i = 0; i < count; i++)
        if (ends_mortal(bindings[i].tensor))
            _exit(1);
    return run_mortal(x, bindings, count);
}

/* Serves until the other process closes; a tensor for which `ends` is true ends this one. */
static inline int
serve(bool (*ends)(const glow_tensor *input))
{
    glow_context *ctx = glow_context_new();

    mortal_backend = *glow_find_backend(ctx, "interp");
    run_mortal = mortal_backend.run;
    ends_mortal = ends;
    mortal_backend.run = run_or_end;
    glow_run_device_serve(
        ctx, 3,
        &(glow_run_device_options){.name = "d", .backend = &mortal_backend});
    glow_context_free(ctx);
    return 0;
}

#endif
