/* Links an object for WebAssembly by wasm-ld, to a module that imports nothing. */

#include "codegen/cpu/run/web.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/cpu/run/child.h"
#include "codegen/cpu/run/spaces.h"

/* The path of program `name` in a folder of PATH, or NULL. */
static const char *
find_program(glow_arena *a, const char *name)
{
    const char *at = getenv("PATH");

    while (at && *at) {
        size_t n = strcspn(at, ":");
        const char *path = glow_arena_printf(a, "%.*s/%s", (int)n, at, name);

        if (n > 0 && access(path, X_OK) == 0)
            return path;
        at += n + (at[n] == ':');
    }
    return NULL;
}

const char *
glow_cpu_find_wasm_ld(glow_context *ctx, glow_arena *a)
{
    static const char *const names[] = {"wasm-ld-19", "wasm-ld"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = find_program(a, names[i]);

        if (path)
            return path;
    }
    glow_error_hint(ctx, (glow_span){0}, "E0852",
                    "Debian's package lld-19 has it; -emit-object does without",
                    "a bundle for WebAssembly needs the linker wasm-ld, and "
                    "PATH has neither wasm-ld-19 nor wasm-ld");
    return NULL;
}

typedef struct linking {
    const char *linker, *name;
    const cpu_plan *plan;
    int64_t stack;
    FILE *object;
    glow_arena *arena;
} linking;

/* Becomes the linker, whose output goes to `out`. */
static bool
become_linker(void *user, FILE *out)
{
    const linking *l = user;
    glow_arena *a = l->arena;
    const char *const fixed[] = {
        l->linker,
        "--no-entry",
        "--strip-all",
        "--gc-sections",
        "-z",
        glow_arena_printf(a, "stack-size=%" PRId64, l->stack),
        glow_arena_printf(a, "--export-if-defined=%s_weights", l->name),
        glow_arena_printf(a, "--export-if-defined=%s_state", l->name),
        "--export=__heap_base",
        glow_arena_printf(a, "/dev/fd/%d", dup(fileno(l->object))),
        "-o",
        "-",
    };
    size_t n = sizeof fixed / sizeof *fixed;
    const char **args = glow_arena_alloc_array(
        a, n + (size_t)l->plan->n_entries + 2, sizeof *args);

    memcpy(args, fixed, sizeof fixed);
    for (int i = 0; i <= l->plan->n_entries; i++)
        args[n++] = glow_arena_printf(a, "--export=%s",
                                      glow_cpu_entry_at(l->plan, i)->symbol);
    args[n] = NULL;
    if (dup2(fileno(out), STDOUT_FILENO) < 0)
        return false;
    execv(l->linker, (char *const *)(uintptr_t)args);
    return false;
}

bool
glow_cpu_link_wasm(glow_context *ctx, glow_arena *a, const char *linker,
                   const cpu_plan *p, const char *name, int64_t stack,
                   const void *object, size_t size, glow_buf *module)
{
    linking l = {.linker = linker, .name = name, .plan = p, .arena = a};
    const char *why = "no temporary file could be made";

    /* Compiled functions use it too, which do not count themselves. */
    l.stack = (stack + 4096) / 1024 * 1024;
    l.object = tmpfile();
    if (l.object && fwrite(object, 1, size, l.object) == size &&
        fflush(l.object) == 0)
        why = glow_cpu_in_child(a, become_linker, &l, module);
    if (l.object)
        fclose(l.object);
    return !why || glow_error(ctx, "E0853", "'%s' does not link the code: %s",
                              linker, why);
}
