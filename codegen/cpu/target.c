/* Feature strings of LLVM targets. */

#include "codegen/cpu/target.h"

#include <string.h>

bool
glow_cpu_has_word(const char *features, const char *name, bool has)
{
    size_t size = strlen(name);

    for (const char *at = features; (at = strstr(at, name)); at += size)
        if (at > features && (at[-1] == '+' || at[-1] == '-') &&
            (at[size] == ',' || !at[size]))
            has = at[-1] == '+';
    return has;
}
