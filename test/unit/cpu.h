/*
 * Tests of the cpu backend against the evaluator: what is built is evaluated,
 * then compiled and run, and the results are compared.  A kernel may change no byte
 * that is not its own.
 */

#ifndef GLOW_TEST_CPU_H
#define GLOW_TEST_CPU_H

#include "guarded.h"
#include "sample.h"
#include "unit.h"

#include "glow/build.h"
#include "glow/cpu.h"
#include "glow/ops.h"
#include "glow/pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BOUND 64
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct fixture {
    glow_context *ctx;
    glow_module *m;
    glow_func *f;
    glow_arena *arena;
    glow_builder *b;
    glow_storage *bound[MAX_BOUND];
    bool written[MAX_BOUND];
    int count;
    uint64_t seed;
    bool constants; /* weights are constants, else placeholders */
    const glow_target_options *target; /* NULL: one of `targets` */
    bool is_drawn; /* in the sample, without a further look */
} fixture;

static inline void
say_error(const glow_diag *d, void *user)
{
    (void)user;
    print_message("# %s: %s\n", d->id, d->message);
}

static inline void
begin(fixture *t)
{
    glow_context *ctx = glow_context_new();

    t->ctx = ctx;
    glow_context_set_sink(ctx, say_error, NULL);
    t->m = glow_module_new(ctx);
    t->f = glow_func_new(t->m, "main");
    t->arena = glow_arena_new();
    t->b = glow_builder_new(t->arena, t->f, NULL);
    t->count = 0;
    t->seed = 1;
}

static inline void
end(fixture *t)
{
    glow_module_free(t->m);
    glow_arena_free(t->arena);
    glow_context_free(t->ctx);
}

static inline const glow_type *
type_of(fixture *t, glow_kind k, glow_dims d)
{
    return glow_type_get(t->ctx, glow_type_of(k, d));
}

static inline glow_value *
input_of(fixture *t, const glow_type *type)
{
    glow_storage *s = glow_placeholder_new(t->m, "x", type);

    assert_true(t->count < MAX_BOUND);
    t->written[t->count] = false;
    t->bound[t->count++] = s;
    return &s->value;
}

static inline glow_value *
input(fixture *t, glow_kind k, glow_dims d)
{
    return input_of(t, type_of(t, k, d));
}

/* Random, as a constant or as an input. */
static inline glow_value *
weights(fixture *t, glow_kind k, glow_dims d)
{
    const glow_type *type = type_of(t, k, d);

    if (!t->constants)
        return input_of(t, type);

    glow_storage *s = glow_constant_new(t->m, "w", type);

    glow_tensor_fill(&s->tensor, GLOW_FILL_RANDOM, t->seed++);
    return &s->value;
}

static inline void
save(fixture *t, glow_value *v)
{
    assert_non_null(v);
    for (int i = 0; i < v->def->n_out; i++) {
        glow_storage *s = glow_placeholder_new(t->m, "y", v->def->out[i]->type);

        glow_build_node(t->b, &glow_op_save, NULL, 0,
                        (glow_value *const[]){v->def->out[i], &s->value}, 2,
                        NULL);
        t->written[t->count] = true;
        t->bound[t->count++] = s;
    }
}

static inline void
fill(fixture *t, glow_tensor *tensors, glow_fill how)
{
    for (int i = 0; i < t->count; i++) {
        tensors[i] = glow_tensor_new(t->bound[i]->value.type);
        if (!t->written[i])
            glow_tensor_fill(&tensors[i], how, 100 + (uint64_t)i);
    }
}

static inline void
run_pipeline(fixture *t, const char *text)
{
    const glow_source source = {"passes", text, strlen(text), 1};
    const glow_pipeline_options options = {.verify_each = true};
    glow_pipeline *p = glow_pipeline_parse(t->ctx, t->arena, &source);

    assert_non_null(p);
    assert_true(glow_pipeline_run(p, t->m, &options));
}

static inline void
bind(fixture *t, glow_tensor *tensors, glow_binding *out)
{
    for (int i = 0; i < t->count; i++)
        out[i] = (glow_binding){t->bound[i], &tensors[i]};
}

/* Elements may differ by `tolerance` of their size or of 1. */
static inline void
compare(const char *what, const glow_tensor *want, const glow_tensor *got,
        double tolerance)
{
    for (int64_t i = 0; i < glow_type_count(want->type); i++) {
        double x = glow_get_double(want, i), y = glow_get_double(got, i);

        if (x == y || (isnan(x) && isnan(y)) ||
            fabs(x - y) <= tolerance * (1 + fabs(x)))
            continue;
        fail_msg("%s: element %lld is %.9g, but must be %.9g", what,
                 (long long)i, y, x);
    }
}

static inline double
tolerance_of(glow_kind k, double of_float)
{
    return k == GLOW_FLOAT16    ? 2e-3
           : k == GLOW_BFLOAT16 ? 2e-2
           : k == GLOW_FLOAT    ? of_float
           : k == GLOW_FLOAT64  ? 1e-6
                                : 0;
}

/* Vectors of several widths. */

/* What this machine may not have is left out, see `runs`. */
static const glow_target_options targets[] = {
    {0},
    {.cpu = "skylake-avx512"},
    {.cpu = "haswell"},
    {.cpu = "x86-64"},
    {.cpu = "skylake-avx512", .features = "+amx-emulated"},
};

static inline bool
runs(const glow_target_options *t)
{
#if defined(__x86_64__)
    if (!t->cpu || strcmp(t->cpu, "x86-64") == 0)
        return true;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return false;
    return strcmp(t->cpu, "haswell") == 0 ||
           (__builtin_cpu_supports("avx512f") &&
            __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") &&
            __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl"));
#else
    return !t->cpu;
#endif
}

/* The next of them that runs here: so tests without one of their own have all. */
static inline const glow_target_options *
next_target(void)
{
    static unsigned calls;
    const glow_target_options *t;

    do
        t = &targets[calls++ % COUNT(targets)];
    while (!runs(t));
    return t;
}

/* Moves the tensors to the ends of pages. */
static inline void
guard_all(const fixture *t, glow_tensor *tensors)
{
    for (int i = 0; i < t->count; i++) {
        glow_tensor to = guarded_tensor(tensors[i].type);

        memcpy(to.data, tensors[i].data,
               (size_t)glow_type_bytes(tensors[i].type));
        glow_tensor_end(&tensors[i]);
        tensors[i] = to;
    }
}

/*
 * Several threads give the same bits, however small the parts are, and access no byte
 * behind the tensors.  Compiling takes its time: only cases whose `number` is a multiple of
 * 4 are tried.
 */
static inline void
agree_split(fixture *t, const char *what, glow_fill how,
            const glow_tensor *want, unsigned number)
{
    glow_target_options split = {0};
    const glow_backend *cpu = glow_find_backend(t->ctx, "cpu");
    glow_executable *x;
    glow_tensor got[MAX_BOUND];
    glow_binding bindings[MAX_BOUND];

    if (number % 4)
        return;
    if (t->target)
        split = *t->target;
    split.options = &(const glow_cpu_options){.winograd = GLOW_WINOGRAD_OFF,
                                              .parts = GLOW_PARTS_OFF,
                                              .grain = 1e-15F};
    split.threads = 3;
    x = cpu->load(glow_find_func(t->m, "main"), &split);
    if (!x)
        fail_msg("%s: does not load for threads", what);
    fill(t, got, how);
    guard_all(t, got);
    bind(t, got, bindings);
    assert_true(cpu->run(x, bindings, t->count));
    for (int i = 0; i < t->count; i++) {
        if (memcmp(want[i].data, got[i].data,
                   (size_t)glow_type_bytes(want[i].type)))
            fail_msg("%s: other bits with threads", what);
        glow_tensor_end(&got[i]);
    }
    cpu->unload(x);
}

/* Runs what was built on both and compares, if in the sample; ends the module. */
static inline void
agree_on(fixture *t, const char *what, glow_fill how, double tolerance)
{
    static unsigned calls;
    const unsigned number = calls++;
    const glow_backend *cpu = glow_find_backend(t->ctx, "cpu");
    glow_tensor want[MAX_BOUND], got[MAX_BOUND];
    glow_binding bindings[MAX_BOUND];
    glow_target_options target;
    glow_eval_options none = {0};
    glow_executable *x;

    if (!t->target)
        t->target = next_target();
    if (!t->is_drawn && !is_in_sample()) {
        end(t);
        return;
    }
    target = *t->target;
    fill(t, want, how);
    fill(t, got, how);
    bind(t, want, bindings);
    assert_true(glow_eval(t->f, bindings, t->count, &none));

    run_pipeline(t, "schedule,irgen,alloc<gap=256>");
    /* These have other bounds: test_winograd.c, test_cpu_parts.c */
    target.options = &(const glow_cpu_options){.winograd = GLOW_WINOGRAD_OFF,
                                               .parts = GLOW_PARTS_OFF,
                                               .red_zones = true};
    x = cpu->load(glow_find_func(t->m, "main"), &target);
    if (!x)
        fail_msg("%s: does not load", what);
    bind(t, got, bindings);
    assert_true(cpu->run(x, bindings, t->count));
    for (int i = 0; i < t->count; i++)
        if (t->written[i])
            compare(what, &want[i], &got[i],
                    tolerance_of(t->bound[i]->value.type->elem, tolerance));
    cpu->unload(x);
    agree_split(t, what, how, got, number);
    for (int i = 0; i < t->count; i++) {
        glow_tensor_end(&want[i]);
        glow_tensor_end(&got[i]);
    }
    end(t);
}

static inline void
agree(fixture *t, const char *what)
{
    agree_on(t, what, GLOW_FILL_RANDOM, 2e-5);
}

/* "MACHINE INSTRUCTION =>" of the only instruction that can be tuned, on `target`. */
static inline char *
key_of(fixture *t, const glow_target_options *target)
{
    const glow_backend *cpu = glow_find_backend(t->ctx, "cpu");
    glow_tuning *tuning = glow_tuning_new(t->arena);
    const glow_tune_options how = {.to = tuning};
    glow_buf b = {.arena = t->arena};
    char *line, *end;

    assert_true(cpu->tune(glow_find_func(t->m, "main"), target, &how));
    glow_tuning_print(&b, tuning);
    line = strchr(b.text, '\n') + 1;
    end = strstr(line, " => ");
    assert_non_null(end);
    return glow_arena_strndup(t->arena, line, (size_t)(end + 4 - line));
}

/* A number from `least` to `most`, drawn. */
static inline int64_t
draw(uint64_t *state, int64_t least, int64_t most)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return least + (int64_t)((*state >> 33) % (uint64_t)(most - least + 1));
}

#endif
