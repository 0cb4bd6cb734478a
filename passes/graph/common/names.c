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
