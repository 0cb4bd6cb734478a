/*
 * Red zones: what a step changes outside of its buffers is found, and named.
 *
 * What the trace of `profile` does counts as the step's, so a trace that writes is
 * a faulty kernel.
 */

#include "cpu.h"

enum { CPU_MARGIN = 4096 }; /* before the first buffer, and behind the last */

typedef struct fault {
    int step;       /* whose result is written past, from 0; -1: none */
    int64_t at;     /* bytes from the first of that */
    int seen;       /* steps up to here */
    char said[256]; /* id and message */
} fault;

static void
note(const glow_diag *d, void *user)
{
    fault *f = user;

    if (f->said[0] == '\0')
        snprintf(f->said, sizeof f->said, "[%s] %s", d->id, d->message);
}

static void
write_past(void *user, const glow_node *n, glow_tensor *const out[],
           double seconds)
{
    fault *f = user;

    (void)n;
    (void)seconds;
    if (f->seen++ == f->step)
        ((uint8_t *)out[0]->data)[f->at] ^= 1;
}

/*
 * Three products of 4 x 4 and a softmax: each reads what the one before it wrote,
 * 64 bytes, and with the room behind that its buffer is 128 bytes from the other.
 */
static bool
run_with(fault *f)
{
    const glow_target_options how = {
        .options = &(const glow_cpu_options){.red_zones = true}};
    const glow_eval_options trace = {.trace = write_past, .user = f};
    glow_tensor tensors[MAX_BOUND];
    glow_binding bindings[MAX_BOUND];
    const glow_backend *cpu;
    glow_executable *x;
    glow_value *v, *w;
    fixture t = {.constants = true};
    bool ok;

    begin(&t);
    glow_context_set_sink(t.ctx, note, f);
    v = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(4, 4));
    w = weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(4, 4));
    for (int i = 0; i < 3; i++)
        v = glow_build(t.b, &glow_op_matmul, NULL, (glow_value *const[]){v, w},
                       2, NULL);
    v = glow_build(t.b, &glow_op_softmax, NULL, (glow_value *const[]){v}, 1,
                   &(glow_softmax){.axis = 1});
    save(&t, v);
    run_pipeline(&t, "schedule,irgen,alloc<gap=64>");
    cpu = glow_find_backend(t.ctx, "cpu");
    x = cpu->load(glow_find_func(t.m, "main"), &how);
    assert_non_null(x);
    fill(&t, tensors, GLOW_FILL_RANDOM);
    bind(&t, tensors, bindings);
    ok = cpu->profile(x, bindings, t.count, &trace);
    cpu->unload(x);
    for (int i = 0; i < t.count; i++)
        glow_tensor_end(&tensors[i]);
    end(&t);
    return ok;
}

/* Whether the fault is found, and that it is said to be `what`. */
static void
expect(int step, int64_t at, const char *what)
{
    fault f = {.step = step, .at = at};

    if (run_with(&f) != !what)
        fail_msg("step %d, byte %lld: %s", step, (long long)at,
                 what ? "is not found" : f.said);
    if (what && (strncmp(f.said, "[E0511]", 7) != 0 || !strstr(f.said, what)))
        fail_msg("step %d, byte %lld: '%s' does not say '%s'", step,
                 (long long)at, f.said, what);
}

static void
faults_are_found(void **state)
{
    (void)state;
    expect(-1, 0, NULL);
    for (int64_t at = 0; at < 64; at++)
        expect(1, at, NULL);
    expect(0, 64, "byte 0 behind %matmul.res");
    expect(0, 127, "byte 63 behind %matmul.res");
    expect(0, -1, "byte -1 of the activations");
    expect(0, -CPU_MARGIN, "byte -4096 of the activations");
    expect(1, -128, "byte 0 of %matmul.res");
    expect(1, -65, "byte 63 of %matmul.res");
    expect(1, -64, "byte 0 behind %matmul.res");
    expect(2, 64, "behind %matmul");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
