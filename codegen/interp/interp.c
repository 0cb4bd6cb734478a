/*
 * interp: reference interpreter; runs any function by the `eval` of its
 * operators.  It is slow, and defines the results that other backends are
 * tested against.
 */

#include "glow/backend.h"
#include "glow/pass.h"

struct glow_executable {
    glow_arena *arena;
    glow_func *func;
};

static glow_takes
takes(const glow_node *n, glow_arena *a, const char **why)
{
    if (n->op->eval || (n->op->traits & GLOW_STRUCTURAL))
        return GLOW_TAKES;
    *why = glow_arena_printf(a, "%s has no eval", n->op->name);
    return GLOW_TAKES_NOT;
}

static glow_executable *
load(glow_func *f, const glow_target_options *t)
{
    glow_arena *arena = glow_arena_new();
    glow_executable *x = GLOW_NEW(arena, glow_executable);

    (void)t;
    x->arena = arena;
    x->func = f;
    return x;
}

static void
unload(glow_executable *x)
{
    glow_arena_free(x->arena);
}

static bool
profile(glow_executable *x, const glow_binding *bindings, int count,
        const glow_eval_options *options)
{
    return glow_eval(x->func, bindings, count, options);
}

static bool
run(glow_executable *x, const glow_binding *bindings, int count)
{
    return profile(x, bindings, count, NULL);
}

/* The largest sum of the bytes of simultaneously live buffers; 0 for graphs. */
static int64_t
peak_bytes(const glow_func *f)
{
    int64_t now = 0, peak = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        if (glow_is(n, &glow_op_alloc))
            now += glow_type_bytes(n->out[0]->type);
        else if (glow_is(n, &glow_op_dealloc))
            now -= glow_type_bytes(n->out[0]->type);
        peak = now > peak ? now : peak;
    }
    return peak;
}

static bool
is_used(const glow_storage *s, const glow_func *f)
{
    GLOW_FOR_EACH_USE(u, &s->value)
        if (u->user->func == f)
            return true;
    return false;
}

static glow_code_sizes
sizes(const glow_executable *x)
{
    glow_code_sizes s = {.activations = peak_bytes(x->func)};

    GLOW_FOR_EACH_STORAGE(t, x->func->module)
        if (is_used(t, x->func))
            *(t->is_constant ? &s.constants : &s.placeholders) +=
                glow_type_bytes(t->value.type);
    GLOW_FOR_EACH_NODE(n, x->func)
        if (glow_is(n, &glow_op_weight))
            *(glow_is_constant(n->out[0]) ? &s.constants : &s.placeholders) +=
                glow_type_bytes(n->out[0]->type);
    return s;
}

const glow_backend glow_backend_interp = {
    .name = "interp",
    .summary = "runs graphs and programs by the eval of their operators",
    .takes = takes,
    .level = GLOW_ANY,
    .load = load,
    .run = run,
    .profile = profile,
    .sizes = sizes,
    .unload = unload,
};
