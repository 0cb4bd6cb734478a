/* Targets of the cpu backend: one that was probed before is the same again. */

#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "codegen/cpu/run/probed.h"
#include "codegen/cpu/run/target.h"

static const glow_target_options targets[] = {
    {.cpu = "x86-64", .triple = "x86_64-linux-gnu"},
    {.cpu = "haswell", .triple = "x86_64-linux-gnu"},
    {.cpu = "haswell", .triple = "x86_64-linux-gnu", .exact = true},
    {.cpu = "skylake-avx512", .triple = "x86_64-linux-gnu"},
    {.cpu = "skylake-avx512",
     .triple = "x86_64-linux-gnu",
     .features = "+amx-emulated"},
    {.triple = "aarch64-linux-gnu"},
    {.triple = "aarch64-linux-gnu", .features = "sve-vector-bits=256"},
};

enum { TARGETS = sizeof targets / sizeof *targets };

/* The target without what belongs to one alone, and its texts. */
static const char *
words(glow_arena *a, cpu_target *t)
{
    const char *text = glow_arena_printf(
        a, "%s %s %s %s %s %s", t->triple, t->cpu, t->features, t->name,
        t->width_text, t->pairs ? t->pairs : "");

    glow_cpu_target_end(t);
    t->machine = NULL;
    t->layout = NULL;
    t->triple = t->cpu = t->features = t->name = t->width_text = NULL;
    return text;
}

static void
test_again(void **state)
{
    glow_context *ctx = glow_context_new();
    glow_arena *a = glow_arena_new();
    cpu_target *first[TARGETS];
    const char *text[TARGETS];

    (void)state;
    for (int i = 0; i < TARGETS; i++) {
        first[i] = glow_cpu_target(ctx, a, &targets[i]);
        assert_non_null(first[i]);
        text[i] = words(a, first[i]);
    }
    for (int i = 0; i < TARGETS; i++) {
        cpu_target *again = glow_cpu_target(ctx, a, &targets[i]);

        assert_string_equal(words(a, again), text[i]);
        assert_memory_equal(again, first[i], sizeof *again);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(memcmp(first[k], again, sizeof *again) == 0 &&
                                     strcmp(text[k], text[i]) == 0,
                                 1);
    }
    glow_arena_free(a);
    glow_context_free(ctx);
}

/* The ring forgets the oldest target, and texts that are too long are not kept. */
static void
test_ring(void **state)
{
    static char features[1 << 13];
    cpu_target before = {.triple = "t", .cpu = "c", .features = ""}, after, t;
    char cpu[32] = "c";

    (void)state;
    memset(features, 'f', sizeof features - 1);
    after = before;
    after.registers = 7;
    glow_cpu_keep_probed(&before, &after);
    t = before;
    assert_true(glow_cpu_find_probed(&t));
    assert_int_equal(t.registers, 7);
    assert_string_equal(t.triple, "t");
    t = before;
    t.exact = true;
    assert_false(glow_cpu_find_probed(&t));
    for (int i = 0; i < 100; i++) {
        snprintf(cpu, sizeof cpu, "c%d", i);
        t = before;
        t.cpu = cpu;
        glow_cpu_keep_probed(&t, &after);
        assert_true(glow_cpu_find_probed(&t));
    }
    t = before;
    assert_false(glow_cpu_find_probed(&t));
    t.features = features;
    glow_cpu_keep_probed(&t, &after);
    assert_false(glow_cpu_find_probed(&t));
}

/* Pages of the processes that were waited for. */
static long
pages_of_children(void)
{
    struct rusage u;

    getrusage(RUSAGE_CHILDREN, &u);
    return u.ru_minflt;
}

/* A target is probed in a process of its own once. */
static void
test_found(void **state)
{
    glow_context *ctx = glow_context_new();
    glow_arena *a = glow_arena_new();
    long before = pages_of_children(), after;

    (void)state;
    glow_cpu_target_end(glow_cpu_target(ctx, a, &targets[1]));
    after = pages_of_children();
    assert_true(after > before);
    glow_cpu_target_end(glow_cpu_target(ctx, a, &targets[1]));
    assert_int_equal(pages_of_children(), after);
    glow_arena_free(a);
    glow_context_free(ctx);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
