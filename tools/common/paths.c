/* Names of files and folders. */

#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"

bool
tool_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

const char *
tool_file_name(const tool *t, glow_map *used, const char *name)
{
    char *base = glow_arena_strdup(t->arena, name);
    const char *file;

    for (char *c = base; *c; c++)
        if (*c == '/')
            *c = '_';
    file = base;
    for (int n = 2; glow_map_get(used, file); n++)
        file = glow_arena_printf(t->arena, "%s-%d", base, n);
    glow_map_set(used, file, used);
    return file;
}

const char *
tool_folder_of(const tool *t, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return NULL;
    return slash == path
               ? "/"
               : glow_arena_strndup(t->arena, path, (size_t)(slash - path));
}

const char *
tool_cache_folder(const tool *t, const tool_caching *v)
{
    const char *here = getenv("GLOW_CACHE"), *folder;

    if (!v->on)
        return NULL;
    if (v->dir)
        return v->dir;
    if (here)
        return *here ? here : NULL;
    folder = getenv("XDG_CACHE_HOME");
    if (folder && *folder == '/')
        return glow_arena_printf(t->arena, "%s/glow", folder);
    folder = getenv("HOME");
    return folder && *folder == '/'
               ? glow_arena_printf(t->arena, "%s/.cache/glow", folder)
               : NULL;
}
