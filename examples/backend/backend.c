/*
 * npu.core: runs placed programs in memories of the sizes that the target states.
 *
 * npu.Dense has a kernel, whose operands and results are in the scratchpad.  The
 * primitive set is left to the `eval` of its operators, which stand for a processor
 * beside the array: replace them by kernels one by one.
 */

#include <string.h>

#include <glow/target.h>

#include "npu.h"

/* The machine. */

static const glow_space spaces[] = {
    {.name = "spm", .align = 64, .place = {.capacity = NPU_SCRATCHPAD}},
    {.name = "dram", .align = 64, .place = {.capacity = INT64_MAX}},
};

static const glow_target machine = {
    .name = "npu",
    .flops_per_second = 1e12,
    .bytes_per_second = 1e10,
    .seconds_per_node = 1e-6,
    .spaces = spaces,
    .n_spaces = 2,
    .homes = {[GLOW_CONSTANTS] = {(const size_t[]){1}, 1},
              [GLOW_PLACEHOLDERS] = {(const size_t[]){1}, 1},
              [GLOW_ACTIVATIONS] = {(const size_t[]){0, 1}, 2},
              [GLOW_SCRATCH] = {(const size_t[]){1}, 1}},
};

static const glow_target *
target(glow_context *ctx, glow_arena *a, const glow_target_options *t)
{
    (void)ctx, (void)a, (void)t;
    return &machine;
}

static const char *
space(const glow_node *n, int i, bool writes)
{
    (void)i, (void)writes;
    return glow_is(n, &npu_op_dense) ? "spm" : NULL;
}

/* The set of operators. */

static bool
is_dense(const glow_node *n)
{
    bool dense = true;

    for (int i = 0; i < n->n_in; i++)
        dense &= !n->in[i] || n->in[i]->type->strides.rank == 0;
    for (int i = 0; i < n->n_out; i++)
        dense &= n->out[i]->type->strides.rank == 0;
    return dense;
}

static glow_takes
takes(const glow_node *n, glow_arena *a, const char **why)
{
    if (n->op->traits & GLOW_STRUCTURAL)
        return GLOW_TAKES;
    if (n->op == &npu_op_dense || (n->op->traits & GLOW_PRIMITIVE)) {
        *why = glow_op_calls(n->op) ? "npu.core runs no bodies"
               : !is_dense(n)       ? "npu.core works on dense tensors"
                                    : NULL;
        return *why ? GLOW_TAKES_NOT : GLOW_TAKES;
    }
    *why =
        glow_arena_printf(a, "npu.core has no instruction for %s", n->op->name);
    return n->op->traits & GLOW_UNKNOWN ? GLOW_TAKES_NOT : GLOW_TAKES_LOWERED;
}

/* Loading. */

typedef struct npu_options {
    int fill;
} npu_options;

struct glow_executable {
    glow_arena *arena;
    glow_func *func;
    glow_map *memory; /* by the name of the region: glow_data */
};

static void *
address(const glow_executable *x, const glow_value *v)
{
    glow_extent e = glow_extent_of(v);
    const glow_place *p = e.base->place;
    char *memory = glow_data_bytes(glow_map_get(x->memory, p->region->name));

    return memory + p->offset + e.first * glow_kind_get(e.layout->elem)->bytes;
}

static void
unload(glow_executable *x)
{
    for (const glow_region *r = x->func->regions; r; r = r->next)
        glow_data_unref(glow_map_get(x->memory, r->name));
    glow_arena_free(x->arena);
}

static bool
check(glow_executable *x)
{
    const char *why = NULL;

    GLOW_FOR_EACH_NODE(n, x->func)
        if (takes(n, x->arena, &why) != GLOW_TAKES)
            return glow_error_at(x->func->module->ctx, n->span, "E0823",
                                 "%s %%%s: %s", n->op->name, n->name, why);
    return true;
}

static bool
fill_constants(glow_executable *x)
{
    GLOW_FOR_EACH_NODE(n, x->func) {
        const glow_tensor *t;

        if (n->op != &glow_op_weight || !glow_is_constant(n->out[0]))
            continue;
        t = glow_constant_tensor(n->out[0]->storage);
        if (!t)
            return false;
        memcpy(address(x, n->out[0]), t->data,
               (size_t)glow_type_bytes(t->type));
    }
    return true;
}

static glow_executable *
load(glow_func *f, const glow_target_options *t)
{
    const npu_options *o = glow_backend_options(&npu_backend, t);
    glow_arena *a = glow_arena_new();
    glow_executable *x = GLOW_NEW(a, glow_executable);

    *x = (glow_executable){a, f, glow_map_new(a)};
    for (const glow_region *r = f->regions; r; r = r->next) {
        glow_data *d = glow_data_new((size_t)r->size);

        memset(glow_data_bytes(d), o->fill, (size_t)r->size);
        glow_map_set(x->memory, r->name, d);
    }
    if (check(x) && fill_constants(x))
        return x;
    unload(x);
    return NULL;
}

/* Running. */

static bool
copy_bindings(glow_executable *x, const glow_binding *bindings, int count,
              bool in)
{
    GLOW_FOR_EACH_NODE(n, x->func) {
        glow_storage *s = n->op == &glow_op_weight ? n->out[0]->storage : NULL;
        glow_tensor held = {.type = n->n_out ? n->out[0]->type : NULL};
        int i = 0;

        if (!s || s->is_constant)
            continue;
        while (i < count && bindings[i].storage != s)
            i++;
        if (i == count)
            return glow_error_at(x->func->module->ctx, s->span, "E0502",
                                 "placeholder @%s has no tensor to work on",
                                 s->name);
        held.data = address(x, n->out[0]);
        if (in)
            glow_tensor_copy(&held, bindings[i].tensor);
        else if (glow_func_writes(x->func, s))
            glow_tensor_copy(bindings[i].tensor, &held);
    }
    return true;
}

/* By `eval`, into tensors apart, since operands may be where the results go. */
static bool
evaluate(glow_executable *x, const glow_node *n, glow_arena *a)
{
    glow_tensor *t = GLOW_NEW_ARRAY(a, glow_tensor, n->n_in + n->n_out);
    glow_tensor **in = GLOW_NEW_ARRAY(a, glow_tensor *, n->n_in + n->n_out);
    bool ok;

    for (int i = 0; i < n->n_in + n->n_out; i++) {
        const glow_value *v = i < n->n_in ? n->in[i] : n->out[i - n->n_in];

        if (!v)
            continue;
        t[i] = i < n->n_in
                   ? (glow_tensor){.type = v->type, .data = address(x, v)}
                   : glow_tensor_new(v->type);
        in[i] = &t[i];
    }
    ok = glow_eval_node(n, in, in + n->n_in, a);
    for (int i = 0; i < n->n_out; i++) {
        memcpy(address(x, n->out[i]), in[n->n_in + i]->data,
               (size_t)glow_type_bytes(n->out[i]->type));
        glow_tensor_end(in[n->n_in + i]);
    }
    return ok;
}

static bool
run(glow_executable *x, const glow_binding *bindings, int count)
{
    glow_arena *a = glow_arena_new();
    bool ok = copy_bindings(x, bindings, count, true);

    for (const glow_node *n = x->func->first; n && ok; n = n->next) {
        if (glow_is(n, &npu_op_dense))
            npu_run_dense(n, address(x, n->in[0]), address(x, n->in[1]),
                          address(x, n->in[2]), address(x, n->out[0]));
        else if (!(n->op->traits & GLOW_STRUCTURAL))
            ok = evaluate(x, n, a);
        glow_arena_reset(a);
    }
    glow_arena_free(a);
    return ok && copy_bindings(x, bindings, count, false);
}

static glow_code_sizes
sizes(const glow_executable *x)
{
    glow_code_sizes s = {0};

    for (const glow_region *r = x->func->regions; r; r = r->next)
        s.activations += r->size;
    return s;
}

const glow_backend npu_backend = {
    .name = "npu.core",
    .summary = "a scratchpad, and an array of multipliers that works in it",
    .takes = takes,
    .level = GLOW_PLACED,
    .load = load,
    .run = run,
    .sizes = sizes,
    .unload = unload,
    .emit = npu_emit,
    .artifacts =
        (const glow_artifact[]){{"listing", "an instruction a line"}, {0}},
    .options = {GLOW_FIELD_DEFAULT(npu_options, fill, GLOW_INT,
                                   "the bytes of memory before the first run")},
    .defaults = &(const npu_options){.fill = 0},
    .before_lower = "npu.form-dense",
    .after_lower = "npu.fuse-relu,dce",
    .target = target,
    .space = space,
};
