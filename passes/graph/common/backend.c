#include "passes/graph/common/backend.h"

#include "glow/backend.h"
#include "glow/ops.h"

/* True if `backend` takes `n`, or rules lower it. */
static bool
takes(const glow_backend *backend, const glow_node *n, glow_arena *a)
{
    const char *why;

    return n && backend->takes(n, a, &why) != GLOW_TAKES_NOT;
}

/* Asks about the nodes of a module that is made for that. */
bool
glow_backend_quantizes(const glow_pass_run *run)
{
    const glow_backend *backend = glow_run_backend(run);
    glow_context *ctx = glow_run_context(run);
    glow_type real = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(1));
    glow_type quantized = glow_type_of(GLOW_INT8Q, GLOW_DIMS_OF(1));
    const glow_type *type = glow_type_get(ctx, real);
    glow_arena *a = glow_run_scratch(run);
    glow_module *m;
    glow_builder *b;
    glow_value *q, *d;
    bool ok;

    if (!backend)
        return true;
    m = glow_module_new(ctx);
    b = glow_builder_new(a, glow_func_new(m, "probe"), NULL);
    q = GLOW_BUILD_STATED_PLAIN(
        b, quantize, glow_type_get(ctx, quantized),
        GLOW_IN(&glow_placeholder_new(m, "x", type)->value));
    d = GLOW_BUILD_STATED_PLAIN(b, dequantize, type, GLOW_IN(q));
    ok = q && d && takes(backend, q->def, a) && takes(backend, d->def, a);
    glow_module_free(m);
    return ok;
}
