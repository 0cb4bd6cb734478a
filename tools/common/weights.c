/* -weights=ALIAS=PATH: the paths of a module's weights files. */

#include <string.h>

#include "tools/common/tool.h"

bool
tool_rebind(tool *t, const tool_list *l, const char *const (**out)[2])
{
    const char *(*pairs)[2] = (const char *(*)[2])GLOW_NEW_ARRAY(
        t->arena, const char *, 2 * (l->count + 1));

    for (size_t i = 0; i < l->count; i++) {
        const char *path = strchr(l->items[i], '=');

        if (!path) {
            tool_usage(t, NULL, "-weights wants ALIAS=PATH, not '%s'",
                       l->items[i]);
            return false;
        }
        pairs[i][0] = glow_arena_strndup(t->arena, l->items[i],
                                         (size_t)(path - l->items[i]));
        pairs[i][1] = path + 1;
    }
    *out = (const char *const(*)[2])pairs;
    return true;
}

bool
tool_check_rebound(tool *t, const char *const (*pairs)[2], const glow_module *m)
{
    tool_list known = {0};

    for (const glow_weights *w = m->weights; w; w = w->next)
        tool_list_add(t, &known, w->alias);
    for (; (*pairs)[0]; pairs++) {
        bool found = false;

        for (size_t i = 0; i < known.count; i++)
            found |= strcmp(known.items[i], (*pairs)[0]) == 0;
        if (!found) {
            tool_unknown(t, "weights alias", (*pairs)[0], &known);
            return false;
        }
    }
    return true;
}
