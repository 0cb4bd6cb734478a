/* Checks of options that alloc and schedule share. */

#include "irgen/options.h"

#include <inttypes.h>

bool
glow_check_memory_options(glow_context *ctx, const char *pass, int64_t align,
                          int64_t budget)
{
    if (align <= 0 || align > 1 << 30 || (align & (align - 1)) != 0)
        return glow_error(ctx, "E0332",
                          "%s: align is %" PRId64
                          ", but must be a power of two, at most 2^30",
                          pass, align);
    return budget >= 0 ||
           glow_error(ctx, "E0332",
                      "%s: budget is %" PRId64 ", but must not be negative",
                      pass, budget);
}
