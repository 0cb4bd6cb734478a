/*
 * interp: reference interpreter; runs any function by the `eval` of its
 * operators.  It is slow, and defines the results that other backends are
 * tested against.
 *
 * Of a program with queues each order that tokens allow must have the same results.
 * The option `orders` draws as many, runs them, and compares.
 */

#include <string.h>

#include "glow/backend.h"
#include "glow/pass.h"

typedef struct interp_options {
    int orders;
} interp_options;

struct glow_executable {
    glow_arena *arena;
    glow_func *func;
    int orders;
};

extern const glow_backend glow_backend_interp;

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

    x->arena = arena;
    x->func = f;
    x->orders =
        ((const interp_options *)glow_backend_options(&glow_backend_interp, t))
            ->orders;
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

/* Random orders of queues. */

static void
copy_tensors(const glow_binding *bindings, int count, glow_tensor *copies,
             bool back)
{
    for (int i = 0; i < count; i++)
        memcpy(back ? bindings[i].tensor->data : copies[i].data,
               back ? copies[i].data : bindings[i].tensor->data,
               (size_t)glow_type_bytes(copies[i].type));
}

/* Compares the results of an order with those of the text. */
static bool
compare(const glow_executable *x, const glow_binding *bindings, int count,
        const glow_tensor *first, uint32_t seed)
{
    for (int i = 0; i < count; i++)
        if (memcmp(bindings[i].tensor->data, first[i].data,
                   (size_t)glow_type_bytes(first[i].type)) != 0)
            return glow_error_at(
                x->func->module->ctx, x->func->span, "E0506",
                "@%s: in the order of seed %u, @%s differs from that of the "
                "text: a queue does not wait for another",
                x->func->name, seed, bindings[i].storage->name);
    return true;
}

static bool
run_orders(const glow_executable *x, const glow_binding *bindings, int count)
{
    glow_arena *a = glow_arena_new();
    glow_tensor *before = GLOW_NEW_ARRAY(a, glow_tensor, count);
    glow_tensor *first = GLOW_NEW_ARRAY(a, glow_tensor, count);
    bool ok;

    for (int i = 0; i < count; i++) {
        before[i] = glow_tensor_new(bindings[i].tensor->type);
        first[i] = glow_tensor_new(bindings[i].tensor->type);
    }
    copy_tensors(bindings, count, before, false);
    ok = glow_eval(x->func, bindings, count, NULL);
    copy_tensors(bindings, count, first, false);
    for (uint32_t seed = 1; seed <= (uint32_t)x->orders && ok; seed++) {
        copy_tensors(bindings, count, before, true);
        ok = glow_eval(x->func, bindings, count,
                       &(glow_eval_options){.seed = seed}) &&
             compare(x, bindings, count, first, seed);
    }
    for (int i = 0; i < count; i++) {
        glow_tensor_end(&before[i]);
        glow_tensor_end(&first[i]);
    }
    glow_arena_free(a);
    return ok;
}

static bool
run(glow_executable *x, const glow_binding *bindings, int count)
{
    if (x->orders > 0 && glow_has_queues(x->func))
        return run_orders(x, bindings, count);
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
    .options = {GLOW_FIELD_DEFAULT(
        interp_options, orders, GLOW_INT,
        "random orders of queues to run and compare")},
    .defaults = &(const interp_options){.orders = 0},
};
