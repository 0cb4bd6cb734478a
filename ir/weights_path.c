/*
 * Paths of weights files, as written in a text.
 *
 * A text refers to them relative to its own folder and without `..` (a model
 * must not access files outside of its folder), so weights are in the folder of
 * the text or below it.
 */

#define _XOPEN_SOURCE 700 /* realpath */

#include <stdlib.h>
#include <string.h>

#include "glow/text.h"

/*
 * The canonical path of a folder, without links and dots; NULL if it does not
 * exist.
 */
static const char *
real_folder(glow_arena *a, const char *folder)
{
    char *real = realpath(folder ? folder : ".", NULL);
    const char *kept = !real                    ? NULL
                       : strcmp(real, "/") == 0 ? ""
                                                : glow_arena_strdup(a, real);

    free(real);
    return kept;
}

/*
 * The path of the weights relative to `folder`; NULL if they are not below it.
 */
static const char *
way_down(glow_arena *a, const char *folder, const glow_weights *w)
{
    const char *base = real_folder(a, w->base);
    const char *whole =
        base ? glow_arena_printf(a, "%s/%s", base, w->path) : NULL;
    size_t n = strlen(folder);

    return whole && strncmp(whole, folder, n) == 0 && whole[n] == '/'
               ? whole + n + 1
               : NULL;
}

void
glow_rebase_weights(glow_module *m, const char *folder)
{
    glow_arena *a = glow_arena_new();
    const char *real = real_folder(a, folder);

    for (glow_weights *w = m->weights; w && real; w = w->next) {
        const char *path = way_down(a, real, w);

        if (path) {
            w->path = glow_arena_strdup(m->arena, path);
            w->base = folder ? glow_arena_strdup(m->arena, folder) : ".";
        } else {
            glow_warning_hint(
                m->ctx, w->span, "W0601",
                "write it beside them, or write them beside it by -externalize=FILE",
                "the output stands in another folder than its weights "
                "'%s': it will need -weights %s=PATH",
                w->path, w->alias);
        }
    }
    glow_arena_free(a);
}
