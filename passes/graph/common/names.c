#include "passes/graph/common/names.h"

#include <fnmatch.h>
#include <string.h>

bool
glow_names_list(const char *words, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = words; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");

        if (n == length && strncmp(at, name, n) == 0)
            return true;
        at += n;
    }
    return false;
}

bool
glow_names_have(const char *words, const glow_node *n)
{
    return glow_names_list(words, n->op->name) ||
           glow_names_list(words, n->name);
}

bool
glow_names_choose(const char *only, const char *except, const glow_node *n)
{
    return !glow_names_have(except, n) && (!*only || glow_names_have(only, n));
}

static bool
is_node(const glow_module *m, const char *name)
{
    GLOW_FOR_EACH_FUNC(f, m)
        GLOW_FOR_EACH_NODE(n, f)
            if (strcmp(n->name, name) == 0)
                return true;
    return false;
}

bool
glow_names_check(glow_pass_run *run, const glow_func *f, const char *option,
                 const char *words)
{
    glow_context *ctx = glow_run_context(run);

    for (const char *at = words; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        const char *word = glow_arena_strndup(glow_run_scratch(run), at, n);

        at += n;
        if (glow_find_op(ctx, word) || is_node(f->module, word))
            continue;
        return glow_error_hint(
            ctx, f->span, "E0431",
            "names of nodes are written without % (conv1), operators SoftMax",
            "`%s` of %s names '%s', but @%s has no such node or operator",
            option, glow_run_pass(run)->name, word, f->name);
    }
    return true;
}

bool
glow_names_match(glow_arena *a, const char *patterns, const char *name)
{
    while (*patterns) {
        size_t n = strcspn(patterns, ",");

        if (fnmatch(glow_arena_strndup(a, patterns, n), name, 0) == 0)
            return true;
        patterns += n + (patterns[n] == ',');
    }
    return false;
}
