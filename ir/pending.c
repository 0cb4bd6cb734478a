/* Weak definitions of what another branch brings; this file goes when it does. */

#include "glow/file.h"
#include "ir/base/context.h"
#include "ir/registry.h"
#include "ir/weights.h"

#define WEAK __attribute__((weak))

WEAK bool
glow_weights_load(glow_storage *s)
{
    (void)s;
    return false;
}

WEAK void
glow_weights_close(glow_weights *w)
{
    (void)w;
}
