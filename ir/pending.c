/* Weak definitions of what another branch brings; this file goes when it does. */

#include "glow/file.h"
#include "ir/base/context.h"
#include "ir/registry.h"
#include "ir/weights.h"

#include <stdio.h>

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

WEAK void
glow_warning(glow_context *ctx, glow_span at, const char *id, const char *fmt,
             ...)
{
    (void)ctx, (void)at, (void)id, (void)fmt;
}

WEAK void
glow_buf_attrs(glow_buf *b, glow_schema s, const void *attrs, bool all)
{
    (void)s, (void)attrs, (void)all;
    glow_buf_puts(b, " {: }");
}

WEAK const glow_source *
glow_source_from(glow_context *ctx, const char *name, const char *text,
                 size_t size)
{
    glow_source *s = GLOW_NEW(ctx->arena, glow_source);

    *s = (glow_source){name, text, size, 1};
    return s;
}

WEAK int
glow_error_count(const glow_context *ctx)
{
    return ctx->errors;
}

WEAK void
glow_context_set_sink(glow_context *ctx, glow_sink_fn fn, void *user)
{
    ctx->sink = fn;
    ctx->sink_user = user;
}
