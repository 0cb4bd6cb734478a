/*
 * cpu: native code by LLVM, run in this process or written to files.
 *
 * Loading generates the same object code as emission, links it in this process,
 * and fills the constants once, or maps the constants of an earlier load from
 * the cache.
 *
 * The code works on the bound tensors in place, by a table of their addresses
 * (spaces.h).  The exceptions have memory of the executable, into which a run copies
 * them and from which it copies them back: placeholders that have no pointer of
 * their own, tensors that are not aligned to their elements, tensors with bytes in
 * common of which one is written, and all of them in a run with guard regions.
 */

#include <string.h>
#include <time.h>

#include "codegen/cpu/emit/lane.h"
#include "codegen/cpu/kernels/kernel.h"
#include "codegen/cpu/plan/kernels.h"
#include "codegen/cpu/plan/memory.h"
#include "codegen/cpu/plan/plan.h"
#include "codegen/cpu/plan/split.h"
#include "codegen/cpu/plan/stack.h"
#include "codegen/cpu/run/emit.h"
#include "codegen/cpu/run/executable.h"
#include "codegen/cpu/run/header.h"
#include "codegen/cpu/run/host.h"
#include "codegen/cpu/run/identity.h"
#include "codegen/cpu/run/jit.h"
#include "codegen/cpu/run/object.h"
#include "codegen/cpu/run/pieces.h"
#include "codegen/cpu/run/spaces.h"
#include "codegen/cpu/run/target.h"
#include "codegen/cpu/run/zones.h"
#include "glow/pass.h"

typedef void (*parallel_fn)(void *pool, cpu_part_fn part, void *work,
                            uintptr_t parts);
typedef int (*entry_fn)(const uint8_t *constants, uint8_t *placeholders,
                        uint8_t *activations, uint8_t *const *table);
typedef int (*step_fn)(const uint8_t *constants, uint8_t *placeholders,
                       uint8_t *activations, uint8_t *const *table,
                       uintptr_t number);
/* The same for a target of several threads. */
typedef int (*threaded_entry_fn)(const uint8_t *constants,
                                 uint8_t *placeholders, uint8_t *activations,
                                 parallel_fn parallel, void *pool,
                                 uint8_t *const *table);
typedef int (*threaded_step_fn)(const uint8_t *constants, uint8_t *placeholders,
                                uint8_t *activations, parallel_fn parallel,
                                void *pool, uint8_t *const *table,
                                uintptr_t number);

/* A placeholder of the plan in a run. */
typedef struct bound {
    const cpu_binding *binding;
    const glow_tensor *tensor; /* of the caller */
    int space;                 /* of the plan, or -1 */
    const void *data;          /* of the tensor, in the last run */
    bool in_place;             /* the code works on the tensor */
} bound;

struct glow_executable {
    glow_arena *arena;
    glow_context *ctx;
    cpu_target *target;
    cpu_plan *plan;
    cpu_jit *jit;
    const char *name; /* of the entry function */
    void *entry;
    void *step; /* NULL until it is first called */
    cpu_pool pool;
    glow_data *region[CPU_BASES];
    uint8_t *base[CPU_BASES]; /* aligned start, in `region` */
    uint8_t **table;          /* addresses of the spaces of the plan */
    bound *bound;             /* as plan->bindings */
    cpu_zones *zones;         /* or NULL */
    int64_t code;
};

static glow_takes
takes(const glow_node *n, glow_arena *a, const char **why)
{
    const char *kind = glow_cg_foreign_kind(n);

    if (kind) {
        *why = glow_arena_printf(a, "cpu has no code for elements of kind %s",
                                 kind);
        return GLOW_TAKES_NOT;
    }
    if (n->op->traits & GLOW_STRUCTURAL || glow_cg_lane(n) ||
        glow_cpu_find_kernel(NULL, n) || glow_cpu_can_stack(n))
        return GLOW_TAKES;
    if (glow_computes_quantized(n) && !glow_cpu_has_elements(n))
        return GLOW_TAKES; /* no rule lowers it, and there is nothing to do */
    *why = glow_arena_printf(a, "cpu has no kernel for %s", n->op->name);
    return n->op->traits & (GLOW_PRIMITIVE | GLOW_UNKNOWN) &&
                   !glow_computes_quantized(n)
               ? GLOW_TAKES_NOT
               : GLOW_TAKES_LOWERED;
}

static void
unload(glow_executable *x)
{
    glow_cpu_pool_close(&x->pool);
    if (x->jit)
        glow_cpu_jit_end(x->jit);
    for (int i = 0; i < CPU_BASES; i++)
        glow_data_unref(x->region[i]);
    if (x->target)
        glow_cpu_target_end(x->target);
    glow_arena_free(x->arena);
}

/* Compiles one object with debug information. */
static bool
compile_whole(glow_executable *x, cpu_objects *out)
{
    cg g;
    bool ok = glow_cpu_compile(&g, x->plan, x->name, true, true);

    out->count = 1;
    out->at = GLOW_NEW_ARRAY(x->arena, LLVMMemoryBufferRef, 1);
    if (ok)
        out->at[0] = glow_cpu_emit_machine_code(&g, x->ctx, LLVMObjectFile);
    glow_cg_gen_end(&g);
    return out->at[0] != NULL;
}

static bool
compile(glow_executable *x, const glow_target_options *t, cpu_objects *out)
{
    glow_cache cache;

    glow_cache_open(&cache, x->plan->func->module->ctx, t->cache,
                    t->cache_bytes);
    return t->debug
               ? compile_whole(x, out)
               : glow_cpu_make_objects(x->plan, x->name, &x->pool, &cache, out);
}

/* The function that runs one step, or NULL after a report. */
static void *
find_stepper(glow_executable *x)
{
    return glow_cpu_jit_find(x->jit,
                             glow_arena_printf(x->arena, "%s.step", x->name));
}

/* Compiles the function that runs one step, unless it is there; false after a report. */
static bool
make_stepper(glow_executable *x)
{
    LLVMMemoryBufferRef object;

    if (x->step)
        return true;
    object = glow_cpu_make_stepper(x->plan, x->name);
    if (object && glow_cpu_jit_add(x->jit, object))
        x->step = find_stepper(x);
    return x->step != NULL;
}

static bool
link_objects(glow_executable *x, const cpu_objects *o, bool debug)
{
    for (int i = 0; i < o->count; i++)
        x->code += glow_cpu_code_size(o->at[i]);
    x->jit = glow_cpu_jit(x->ctx, x->arena, o->at, o->count, debug);
    if (!x->jit)
        return false;
    x->entry = glow_cpu_jit_find(x->jit, x->name);
    if (debug)
        x->step = find_stepper(x);
    return x->entry && (x->step || !debug);
}

/*
 * True if `t` brings constants in the layout of the plan, and there are no red
 * zones, which need margins.
 */
static bool
are_ready(const glow_executable *x, const glow_target_options *t)
{
    if (!t->constants || !t->layout || glow_cpu_options_of(t)->red_zones)
        return false;
    return strcmp(glow_cpu_constants_layout(x->plan), t->layout) == 0 &&
           glow_data_size(t->constants) ==
               (size_t)x->plan->size[CPU_CONSTANTS] &&
           (uintptr_t)glow_data_bytes(t->constants) % CPU_ALIGN == 0;
}

/* The address of a byte of a base in the memory of `x`. */
static uint8_t *
own_address(const glow_executable *x, cpu_base base, int64_t offset)
{
    return x->base[base] + offset;
}

/* Fills the table with addresses in the memory of `x`. */
static void
make_table(glow_executable *x)
{
    const cpu_plan *p = x->plan;

    x->table = GLOW_NEW_ARRAY(x->arena, uint8_t *, p->n_spaces + 1);
    for (int i = 0; i < p->n_spaces; i++)
        x->table[i] = own_address(x, p->spaces[i].base, p->spaces[i].begin);
    x->bound = GLOW_NEW_ARRAY(x->arena, bound, p->n_bindings + 1);
    for (int i = 0; i < p->n_bindings; i++) {
        const cpu_binding *b = &p->bindings[i];

        x->bound[i].binding = b;
        x->bound[i].space = glow_cpu_locate(p, b->base, b->offset).space;
    }
}

static bool
make_regions(glow_executable *x, const glow_target_options *t)
{
    bool zones = glow_cpu_options_of(t)->red_zones;
    size_t margin = zones ? CPU_ZONE_MARGIN : 0;
    bool ready = are_ready(x, t);

    if (t->constants && !zones && !ready)
        return false;
    for (int i = 0; i < CPU_BASES; i++) {
        x->region[i] =
            i == CPU_CONSTANTS && ready
                ? glow_data_ref(t->constants)
                : glow_data_new((size_t)x->plan->size[i] + 2 * margin);
        x->base[i] = (uint8_t *)glow_data_bytes(x->region[i]) + margin;
    }
    if (zones)
        x->zones = glow_cpu_zones(x->arena, x->plan, x->base);
    make_table(x);
    return ready || glow_cpu_fill_constants(
                        x->plan, &x->pool, x->base[CPU_CONSTANTS], t->consumes);
}

/* The threads of the target, at most one for each processor. */
static int
threads_of(const cpu_target *t)
{
    int most = glow_cpu_processors();

    return t->threads < most ? t->threads : most;
}

static bool
check_runs_here(glow_executable *x, const glow_target_options *t)
{
    const char *lacks;

    if (!x->target->is_host)
        return glow_error(x->ctx, "E0825",
                          "cpu: code for target '%s' cannot be run here",
                          x->target->triple);
    lacks = t->cpu || t->features ? glow_cpu_lacks(x->arena, x->target) : NULL;
    return !lacks ||
           glow_error_hint(
               x->ctx, (glow_span){0}, "E0825",
               "take it away by -features, or emit an object and run it there",
               "cpu: such code cannot be run here: this machine has no %s",
               lacks);
}

static bool
start(glow_executable *x, glow_func *f, const glow_target_options *t)
{
    static const glow_target_options here;
    cpu_objects objects;

    x->name = glow_cpu_c_name(x->arena, f->name);
    x->target = glow_cpu_target(x->ctx, x->arena, t);
    if (!x->target)
        return false;
    t = t ? t : &here;
    if (!check_runs_here(x, t))
        return false;
    glow_cpu_pool_open(&x->pool, threads_of(x->target));
    x->plan =
        glow_cpu_plan(x->arena, x->target, f, t->constants ? t->layout : NULL);
    if (!x->plan)
        return false;
    glow_cpu_separate_placeholders(x->plan);
    return compile(x, t, &objects) && link_objects(x, &objects, t->debug) &&
           make_regions(x, t);
}

static glow_executable *
load(glow_func *f, const glow_target_options *t)
{
    glow_arena *a = glow_arena_new();
    glow_executable *x = GLOW_NEW(a, glow_executable);

    x->arena = a;
    x->ctx = f->module->ctx;
    if (start(x, f, t))
        return x;
    unload(x);
    return NULL;
}

/* Running. */

static const glow_tensor *
bound_to(const glow_binding *bindings, int count, const glow_storage *s)
{
    for (int i = 0; i < count; i++)
        if (bindings[i].storage == s)
            return bindings[i].tensor;
    return NULL;
}

/*
 * The dense type of the caller's tensor for `s`, whose own type may have
 * strides.
 */
static glow_type
dense_type(const glow_storage *s)
{
    glow_type t = *s->value.type;

    t.strides = (glow_dims){0};
    return t;
}

static bool
check_tensor(glow_executable *x, const glow_storage *s, const glow_tensor *t)
{
    glow_type want = dense_type(s);

    if (!t)
        return glow_error_at(x->ctx, s->span, "E0502",
                             "placeholder @%s has no tensor to work on",
                             s->name);
    if (t->type && glow_type_equal(t->type, &want))
        return true;
    return glow_error_at(x->ctx, s->span, "E0502",
                         "placeholder @%s needs a tensor of %s, but gets %s",
                         s->name, glow_type_text(x->arena, &want),
                         t->type ? glow_type_text(x->arena, t->type) : "none");
}

static void
copy_tensor(const glow_tensor *to, const glow_tensor *from)
{
    if (!to->type->strides.rank && !from->type->strides.rank) {
        memcpy(to->data, from->data, (size_t)glow_type_bytes(to->type));
        return;
    }
    GLOW_FOR_EACH_INDEX(i, to->type->shape)
        glow_tensor_copy_element(to, i, from, i);
}

static bool
is_aligned(const bound *b)
{
    size_t bytes = (size_t)glow_kind_get(b->tensor->type->elem)->bytes;

    return (uintptr_t)b->tensor->data % bytes == 0;
}

/* True if the tensors have bytes in common, and the code writes one of them. */
static bool
conflict(const bound *a, const bound *b)
{
    uintptr_t at = (uintptr_t)a->tensor->data;
    uintptr_t other = (uintptr_t)b->tensor->data;

    return (a->binding->written || b->binding->written) &&
           at < other + (uintptr_t)b->binding->size &&
           other < at + (uintptr_t)a->binding->size;
}

static bool
can_be_in_place(const glow_executable *x, const bound *b)
{
    if (x->zones || b->space < 0 || !is_aligned(b))
        return false;
    for (int i = 0; i < x->plan->n_bindings; i++)
        if (&x->bound[i] != b && conflict(&x->bound[i], b))
            return false;
    return true;
}

/* The memory of `x` for a placeholder that is not in place. */
static glow_tensor
held_tensor(const glow_executable *x, const cpu_binding *b)
{
    return (glow_tensor){.type = b->storage->value.type,
                         .data = own_address(x, b->base, b->offset)};
}

/*
 * Hands the tensors to the code: addresses into the table, elements of those that are
 * not in place into the memory of `x`.  False after a report.
 */
static bool
begin_run(glow_executable *x, const glow_binding *bindings, int count)
{
    int n = x->plan->n_bindings;
    bool moved = false; /* one of the tensors; else what is in place is known */

    for (int i = 0; i < n; i++) {
        bound *b = &x->bound[i];

        b->tensor = bound_to(bindings, count, b->binding->storage);
        if (!check_tensor(x, b->binding->storage, b->tensor))
            return false;
        moved |= b->data != b->tensor->data;
    }
    for (int i = 0; i < n; i++) {
        bound *b = &x->bound[i];
        glow_tensor held = held_tensor(x, b->binding);

        if (moved)
            b->in_place = can_be_in_place(x, b);
        b->data = b->tensor->data;
        if (b->space >= 0)
            x->table[b->space] = b->in_place ? b->tensor->data : held.data;
        if (!b->in_place && b->binding->read)
            copy_tensor(&held, b->tensor);
    }
    return true;
}

/* Copies results that are not in place to the tensors of the caller. */
static void
end_run(const glow_executable *x)
{
    for (int i = 0; i < x->plan->n_bindings; i++) {
        const bound *b = &x->bound[i];
        glow_tensor held = held_tensor(x, b->binding);

        if (!b->in_place && b->binding->written)
            copy_tensor(b->tensor, &held);
    }
}

static bool
report_failure(glow_executable *x, int code)
{
    const cpu_plan *p = glow_cpu_failed(x->plan, code);

    for (int i = 0; i < p->n_steps; i++) {
        const glow_node *n = p->steps[i].root;
        const char *what = n ? p->steps[i].kernel->failure : NULL;

        if (n &&
            p->first_code + (int)glow_number_of(&p->numbers, n) + 1 == code)
            return glow_error_at(
                x->ctx, n->span, "E0510", "%s %%%s: %s", n->op->name, n->name,
                what ? what : "an index is outside of its operand");
    }
    return false;
}

CPU_CALLS_CODE static int
call_entry(glow_executable *x)
{
    const uint8_t *constants = x->base[CPU_CONSTANTS];
    uint8_t *placeholders = x->base[CPU_PLACEHOLDERS];
    uint8_t *activations = x->base[CPU_ACTIVATIONS];
    uintptr_t at = (uintptr_t)x->entry;

    if (x->target->threads == 1)
        return ((entry_fn)at)(constants, placeholders, activations, x->table);
    return ((threaded_entry_fn)at)(constants, placeholders, activations,
                                   glow_cpu_pool_run, &x->pool, x->table);
}

CPU_CALLS_CODE static int
call_step(glow_executable *x, uintptr_t number)
{
    const uint8_t *constants = x->base[CPU_CONSTANTS];
    uint8_t *placeholders = x->base[CPU_PLACEHOLDERS];
    uint8_t *activations = x->base[CPU_ACTIVATIONS];
    uintptr_t at = (uintptr_t)x->step;

    if (x->target->threads == 1)
        return ((step_fn)at)(constants, placeholders, activations, x->table,
                             number);
    return ((threaded_step_fn)at)(constants, placeholders, activations,
                                  glow_cpu_pool_run, &x->pool, x->table,
                                  number);
}

static double
seconds_now(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The address of the bytes of `v` in this run. */
static void *
address_of(const glow_executable *x, const glow_value *v)
{
    cpu_range r = glow_cpu_range(x->plan, v);
    cpu_location l = glow_cpu_locate(x->plan, r.base, r.offset);

    return l.space < 0 ? own_address(x, r.base, l.offset)
                       : x->table[l.space] + l.offset;
}

/* Reports the time of a step as the time of its first instruction. */
static void
trace_step(glow_executable *x, const cpu_step *s,
           const glow_eval_options *options, double seconds)
{
    glow_arena *a = glow_arena_new();

    for (int k = s->root ? -1 : 0; k < s->n_items; k++) {
        const glow_node *n = k < 0 ? s->root : s->items[k].n;
        glow_tensor *t = GLOW_NEW_ARRAY(a, glow_tensor, n->n_out);
        glow_tensor **out = GLOW_NEW_ARRAY(a, glow_tensor *, n->n_out);

        for (int i = 0; i < n->n_out; i++) {
            t[i] = (glow_tensor){.type = n->out[i]->type,
                                 .data = address_of(x, n->out[i])};
            out[i] = &t[i];
        }
        options->trace(options->user, n, out, seconds);
        seconds = -1;
    }
    glow_arena_free(a);
}

static bool
run_step(glow_executable *x, int number, const glow_eval_options *options)
{
    const cpu_step *s = &x->plan->steps[number];
    double begin = seconds_now();
    int code = call_step(x, (uintptr_t)number);

    if (code)
        return report_failure(x, code > 1 ? code : s->first + 1);
    if (options && options->trace)
        trace_step(x, s, options, seconds_now() - begin);
    return !x->zones || glow_cpu_zones_check(x->zones, s);
}

static bool
profile(glow_executable *x, const glow_binding *bindings, int count,
        const glow_eval_options *options)
{
    if (!make_stepper(x))
        return false;
    if (x->zones)
        glow_cpu_zones_clear(x->zones);
    if (!begin_run(x, bindings, count))
        return false;
    if (x->zones)
        glow_cpu_zones_begin(x->zones);
    for (int i = 0; i < x->plan->n_steps; i++)
        if (!run_step(x, i, options))
            return false;
    end_run(x);
    return true;
}

static bool
run(glow_executable *x, const glow_binding *bindings, int count)
{
    int code;

    if (x->zones)
        return profile(x, bindings, count, NULL);
    if (!begin_run(x, bindings, count))
        return false;
    code = call_entry(x);
    if (code)
        return report_failure(x, code);
    end_run(x);
    return true;
}

/* Tuning. */

const cpu_plan *
glow_cpu_plan_of(const glow_executable *x)
{
    return x->plan;
}

uint8_t *
glow_cpu_memory_of(const glow_executable *x, cpu_base base)
{
    return x->base[base];
}

/* CPU time of this thread, or elapsed time with several threads. */
static double
work_seconds(const glow_executable *x)
{
    struct timespec t = {0};

    clock_gettime(
        x->target->threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool
glow_cpu_time_steps(glow_executable *x, double *least)
{
    if (!make_stepper(x))
        return false;
    for (int i = 0; i < x->plan->n_steps; i++) {
        double begin = work_seconds(x), seconds;
        int code = call_step(x, (uintptr_t)i);

        seconds = work_seconds(x) - begin;
        if (code)
            return report_failure(x, code > 1 ? code
                                              : x->plan->steps[i].first + 1);
        if (seconds < least[i])
            least[i] = seconds;
    }
    return true;
}

static glow_code_sizes
sizes(const glow_executable *x)
{
    return (glow_code_sizes){
        .constants = x->plan->size[CPU_CONSTANTS],
        .placeholders = x->plan->size[CPU_PLACEHOLDERS],
        .activations = x->plan->size[CPU_ACTIVATIONS],
        .code = x->code,
    };
}

static const void *
machine(glow_context *ctx, glow_arena *a, const glow_target_options *o)
{
    cpu_target *t = glow_cpu_target(ctx, a, o);

    if (t)
        glow_cpu_target_end(t);
    return t;
}

/* The target for which scratch is counted, without its LLVM target machine. */
static cpu_target
known_target(const glow_target_options *o)
{
    return o && o->machine ? *(const cpu_target *)o->machine
                           : glow_cpu_target_guess(o);
}

static int64_t
scratch(const glow_node *n, const glow_target_options *o)
{
    cpu_target t = known_target(o);
    const cpu_kernel *k = glow_cpu_find_kernel(&t, n);

    if (k && k->calls)
        return glow_cpu_call_scratch(n);
    return k && k->scratch_size
               ? glow_cpu_split_scratch(&t, k, n, k->scratch_size(&t, n))
               : 0;
}

/*
 * The alignment of a buffer: a cache line for scratch, of which kernels choose
 * the elements; else one element.
 */
static int64_t
align(const glow_node *buffer)
{
    int64_t bytes = glow_kind_get(buffer->out[0]->type->elem)->bytes;

    GLOW_FOR_EACH_USE(u, buffer->out[0])
        if (u->user->scratch == buffer->out[0])
            return 64;
    return bytes;
}

static int64_t
cache(const glow_target_options *o)
{
    return known_target(o).cache_bytes;
}

static const char *
identity(glow_context *ctx, glow_arena *a, const glow_target_options *t)
{
    static const glow_target_options here;
    const char *build = glow_cpu_identity(a);

    (void)ctx;
    t = t ? t : &here;
    if (!build || t->debug || glow_cpu_options_of(t)->red_zones ||
        glow_llvm_load())
        return NULL;
    return glow_arena_printf(a, "%s\n%s", build, glow_cpu_options_words(a, t));
}

static const void *
constants(const glow_executable *x, const char **layout)
{
    *layout = glow_cpu_constants_layout(x->plan);
    return x->base[CPU_CONSTANTS];
}

static bool
share(glow_executable *x, const glow_executable *from)
{
    int64_t bytes = x->plan->size[CPU_CONSTANTS];

    if (x->zones || from->zones || bytes != from->plan->size[CPU_CONSTANTS] ||
        memcmp(x->base[CPU_CONSTANTS], from->base[CPU_CONSTANTS],
               (size_t)bytes) != 0)
        return false;
    glow_data_unref(x->region[CPU_CONSTANTS]);
    x->region[CPU_CONSTANTS] = glow_data_ref(from->region[CPU_CONSTANTS]);
    x->base[CPU_CONSTANTS] = from->base[CPU_CONSTANTS];
    return true;
}

static const char *const winograd_words[] = {"auto", "off", "2", "4", NULL};
static const char *const parts_words[] = {"auto", "off", "on", "six", NULL};
static const char *const packing_words[] = {"fast", "small", NULL};
static const char *const strassen_words[] = {"auto", "off", NULL};
static const char *const weights_words[] = {"file", "object", "c", NULL};

const glow_backend glow_backend_cpu = {
    .name = "cpu",
    .summary = "native code for this machine or another, by LLVM",
    .takes = takes,
    .level = GLOW_PLACED,
    .load = load,
    .run = run,
    .profile = profile,
    .sizes = sizes,
    .unload = unload,
    .emit = glow_cpu_emit,
    .scratch = scratch,
    .align = align,
    .cache = cache,
    .machine = machine,
    .identity = identity,
    .constants = constants,
    .share = share,
    .tune = glow_cpu_tune,
    .artifacts = glow_cpu_artifacts,
    .options = {GLOW_FIELD_ENUM(glow_cpu_options, winograd, winograd_words,
                                "convolutions of stride 1 by F(2) or F(4)"),
                GLOW_FIELD_ENUM(glow_cpu_options, parts, parts_words,
                                "floats by three products of bfloat16, or by "
                                "six, where there is AMX"),
                GLOW_FIELD_DEFAULT(glow_cpu_options, red_zones, GLOW_FLAG,
                                   "fail where a step changes memory that is "
                                   "not its own"),
                GLOW_FIELD_DEFAULT(glow_cpu_options, grain, GLOW_FLOAT32,
                                   "seconds of work worth a thread; 0: "
                                   "2.5e-6"),
                GLOW_FIELD_ENUM(glow_cpu_options, weights, weights_words,
                                "weights of a bundle: NAME.weights, a constant "
                                "of the object, or one in NAME_weights.c"),
                GLOW_FIELD_ENUM(glow_cpu_options, packing, packing_words,
                                "weights of 8 bits: widened for products of "
                                "16, or kept"),
                GLOW_FIELD_ENUM(glow_cpu_options, strassen, strassen_words,
                                "large products of floats by Strassen's "
                                "algorithm")},
    .defaults = &(const glow_cpu_options){.winograd = GLOW_WINOGRAD_AUTO},
};
