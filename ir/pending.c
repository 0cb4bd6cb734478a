/* Weak definitions of what another branch brings; this file goes when it does. */

#include "ir/base/context.h"
#include "ir/registry.h"
#include "ir/verify.h"
#include "ir/weights.h"

#include <stdio.h>

#define WEAK __attribute__((weak))

WEAK bool
glow_verify_program(glow_func *f)
{
    (void)f;
    return true;
}

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

WEAK void
glow_report(glow_context *ctx, const glow_diag *d)
{
    ctx->errors++;
    if (ctx->sink)
        ctx->sink(d, ctx->sink_user);
}

#define SAY                                                                    \
    do {                                                                       \
        va_list ap;                                                            \
        va_start(ap, fmt);                                                     \
        char text[512];                                                        \
        vsnprintf(text, sizeof text, fmt, ap);                                 \
        va_end(ap);                                                            \
        glow_diag d = {.id = id, .message = text};                             \
        glow_report(ctx, &d);                                                  \
        return false;                                                          \
    } while (0)

WEAK bool
glow_error(glow_context *ctx, const char *id, const char *fmt, ...)
{
    SAY;
}

WEAK bool
glow_error_at(glow_context *ctx, glow_span at, const char *id, const char *fmt,
              ...)
{
    (void)at;
    SAY;
}

WEAK bool
glow_error_hint(glow_context *ctx, glow_span at, const char *id,
                const char *hint, const char *fmt, ...)
{
    (void)at;
    (void)hint;
    SAY;
}

extern WEAK const glow_backend *const glow_builtin_backends[];
WEAK const glow_backend *const glow_builtin_backends[] = {NULL};
