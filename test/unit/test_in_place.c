/*
 * Code in this process works on the tensors that it is given, without copies of them,
 * where that can make no difference.
 */

#include "cpu.h"
#include "guarded.h"

#include "glow/state.h"
#include "glow/text.h"

/* A program in this process, and a tensor for each placeholder. */
typedef struct program {
    glow_context *ctx;
    glow_module *m;
    glow_arena *arena;
    glow_executable *x;
    const glow_backend *cpu;
    glow_binding bindings[MAX_BOUND];
    glow_tensor tensors[MAX_BOUND];
    int count;
    void *results[MAX_BOUND]; /* of the instructions of a profile */
    int n_results;
    char said[8]; /* the id of the last report */
} program;

static void
note_report(const glow_diag *d, void *user)
{
    program *p = user;

    snprintf(p->said, sizeof p->said, "%s", d->id);
}

static void
load(program *p, const char *text, const char *passes, int threads)
{
    const glow_source source = {"text", text, strlen(text), 1};
    const glow_target_options how = {.threads = threads};
    glow_pipeline *pipeline;

    *p = (program){.ctx = glow_context_new(), .arena = glow_arena_new()};
    glow_context_set_sink(p->ctx, note_report, p);
    p->m = glow_parse(p->ctx, &source, NULL);
    assert_non_null(p->m);
    pipeline = glow_pipeline_parse(
        p->ctx, p->arena, &(glow_source){"passes", passes, strlen(passes), 1});
    assert_non_null(pipeline);
    assert_true(glow_pipeline_run(pipeline, p->m, &(glow_pipeline_options){0}));
    p->cpu = glow_find_backend(p->ctx, "cpu");
    p->x = p->cpu->load(glow_find_func(p->m, "main"), &how);
    assert_non_null(p->x);
    GLOW_FOR_EACH_STORAGE(s, p->m)
        if (!s->is_constant) {
            glow_tensor *t = &p->tensors[p->count];

            *t = guarded_tensor(s->value.type);
            glow_tensor_fill(t, GLOW_FILL_RAMP, 0);
            p->bindings[p->count++] = (glow_binding){s, t};
        }
}

static glow_tensor *
tensor_of(program *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->bindings[i].storage->name, name) == 0)
            return &p->tensors[i];
    fail_msg("there is no placeholder @%s", name);
    return NULL;
}

static bool
run(program *p)
{
    return p->cpu->run(p->x, p->bindings, p->count);
}

static void
finish(program *p)
{
    p->cpu->unload(p->x);
    for (int i = 0; i < p->count; i++)
        glow_tensor_end(&p->tensors[i]);
    glow_module_free(p->m);
    glow_arena_free(p->arena);
    glow_context_free(p->ctx);
}

static void
note_results(void *user, const glow_node *n, glow_tensor *const out[],
             double seconds)
{
    program *p = user;

    (void)seconds;
    for (int i = 0; i < n->n_out; i++)
        p->results[p->n_results++] = out[i]->data;
}

/* True if an instruction of a profile writes to the tensor. */
static bool
is_written_in_place(program *p, const char *name)
{
    const glow_eval_options options = {.trace = note_results, .user = p};

    p->n_results = 0;
    assert_true(p->cpu->profile(p->x, p->bindings, p->count, &options));
    for (int i = 0; i < p->n_results; i++)
        if (p->results[i] == tensor_of(p, name)->data)
            return true;
    return false;
}

/* True if @y has the sums over k of x[k] * @w[k, j], and `plus`. */
static bool
is_product(program *p, const float *x, double plus)
{
    const glow_tensor *y = tensor_of(p, "y");
    const glow_tensor *w = tensor_of(p, "w");

    for (int j = 0; j < 4; j++) {
        double sum = plus;

        for (int k = 0; k < 4; k++)
            sum += x[k] * glow_get_double(w, 4 * k + j);
        if (fabs(sum - glow_get_double(y, j)) > 1e-5 * (1 + fabs(sum)))
            return false;
    }
    return true;
}

static const char product[] = "gir 1\n"
                              "placeholder @x : float<1 x 4>\n"
                              "placeholder @w : float<4 x 4>\n"
                              "placeholder @y : float<1 x 4>\n"
                              "function @main {\n"
                              "  %m = MatMul(@x, @w) : float<1 x 4>\n"
                              "  %s = Save(%m, @y)\n"
                              "}\n";
static const char placed[] = "schedule,irgen,alloc";

static void
tensors_are_worked_on_in_place(void **state)
{
    static const float ramp[] = {0, 1, 2, 3};
    program p;

    (void)state;
    for (int threads = 1; threads < 3; threads++) {
        load(&p, product, placed, threads);
        memcpy(tensor_of(&p, "x")->data, ramp, sizeof ramp);
        assert_true(run(&p));
        assert_true(is_product(&p, ramp, 0));
        memset(tensor_of(&p, "y")->data, 0xff, sizeof ramp);
        assert_true(is_written_in_place(&p, "y"));
        assert_true(is_product(&p, ramp, 0));
        finish(&p);
    }
}

/* The result begins at byte `at` of the input: at 0 it takes its place. */
static void
overlap(int at)
{
    static const float ramp[] = {0, 1, 2, 3, 4, 5, 6, 7};
    float both[COUNT(ramp)];
    program p;
    glow_tensor *x, *y;

    load(&p, product, placed, 1);
    x = tensor_of(&p, "x");
    y = tensor_of(&p, "y");
    glow_tensor_end(x);
    glow_tensor_end(y);
    memcpy(both, ramp, sizeof both);
    x->data = both;
    y->data = (char *)both + at;
    assert_true(run(&p));
    assert_true(is_product(&p, ramp, 0));
    for (int i = 0; 4 * i < at; i++)
        assert_true(both[i] == ramp[i]);
    memcpy(both, ramp, sizeof both);
    assert_int_equal(is_written_in_place(&p, "y"), at >= 16);
    assert_true(is_product(&p, ramp, 0));
    finish(&p);
}

static void
tensors_may_overlap(void **state)
{
    (void)state;
    for (int at = 0; at <= 16; at += 4)
        overlap(at);
}

/* Two inputs may be one tensor, which is still read in place. */
static void
inputs_may_be_one_tensor(void **state)
{
    static const char square[] = "gir 1\n"
                                 "placeholder @x : float<4 x 4>\n"
                                 "placeholder @w : float<4 x 4>\n"
                                 "placeholder @y : float<4 x 4>\n"
                                 "function @main {\n"
                                 "  %m = MatMul(@x, @w) : float<4 x 4>\n"
                                 "  %s = Save(%m, @y)\n"
                                 "}\n";
    program p;
    glow_tensor *x;

    (void)state;
    load(&p, square, placed, 1);
    x = tensor_of(&p, "x");
    glow_tensor_end(x);
    *x =
        (glow_tensor){tensor_of(&p, "w")->type, tensor_of(&p, "w")->data, NULL};
    assert_true(is_written_in_place(&p, "y"));
    assert_true(is_product(&p, tensor_of(&p, "w")->data, 0));
    finish(&p);
}

/* Tensors need no alignment, though the code wants that of elements. */
static void
tensors_may_be_misaligned(void **state)
{
    static const float ramp[] = {0, 1, 2, 3};
    union {
        float aligned[8];
        char bytes[32];
    } in, out;
    program p;
    glow_tensor *x, *y;

    (void)state;
    load(&p, product, placed, 1);
    x = tensor_of(&p, "x");
    y = tensor_of(&p, "y");
    glow_tensor_end(x);
    glow_tensor_end(y);
    memcpy(in.bytes + 1, ramp, sizeof ramp);
    memset(out.bytes, 7, sizeof out.bytes);
    x->data = in.bytes + 1;
    y->data = out.bytes + 3;
    assert_true(run(&p));
    assert_int_equal(out.bytes[2], 7);
    assert_int_equal(out.bytes[3 + sizeof ramp], 7);
    memmove(out.bytes, out.bytes + 3, sizeof ramp);
    y->data = out.bytes;
    assert_true(is_product(&p, ramp, 0));
    finish(&p);
}

/* An input whose memory others get after its last use is left as it was. */
static void
inputs_are_not_changed(void **state)
{
    static const float ramp[] = {0, 1, 2, 3};
    program p;

    (void)state;
    load(&p, product, "schedule,irgen,alloc<placeholders=among>", 1);
    memcpy(tensor_of(&p, "x")->data, ramp, sizeof ramp);
    assert_true(run(&p));
    assert_true(is_product(&p, ramp, 0));
    assert_memory_equal(tensor_of(&p, "x")->data, ramp, sizeof ramp);
    finish(&p);
}

/*
 * Before the step that fails are a result that nothing but state keeps, and one of a
 * plain placeholder.
 */
static const char fails[] = "gir 1\n"
                            "placeholder @x : float<1 x 4>\n"
                            "placeholder @w : float<4 x 4>\n"
                            "placeholder @i : index64<1>\n"
                            "placeholder @y : float<1 x 4>\n"
                            "placeholder @z : float<1 x 4>\n"
                            "placeholder @k : float<1 x 4> {State: true}\n"
                            "function @main {\n"
                            "  %m = MatMul(@x, @w) : float<1 x 4>\n"
                            "  %s = Save(%m, @y)\n"
                            "  %a = Add(@k, %m) : float<1 x 4>\n"
                            "  %t = Save(%a, @k)\n"
                            "  %g = Gather(@w, @i) {Axis: 0} : float<1 x 4>\n"
                            "  %e = Mul(%g, %a) : float<1 x 4>\n"
                            "  %u = Save(%e, @z)\n"
                            "}\n";

static void
failing_runs_leave_results_alone(void **state)
{
    static const float ramp[] = {0, 1, 2, 3}, old[] = {9, 8, 7, 6};
    program p;
    glow_tensor *i;

    (void)state;
    load(&p, fails, placed, 1);
    i = tensor_of(&p, "i");
    memcpy(tensor_of(&p, "x")->data, ramp, sizeof ramp);
    for (int at = 4; at >= 3; at--) {
        memcpy(tensor_of(&p, "y")->data, old, sizeof old);
        memcpy(tensor_of(&p, "z")->data, old, sizeof old);
        glow_set_int(i, 0, at);
        assert_int_equal(run(&p), at < 4);
        assert_int_equal(memcmp(tensor_of(&p, "y")->data, old, sizeof old) == 0,
                         at >= 4);
        assert_int_equal(memcmp(tensor_of(&p, "z")->data, old, sizeof old) == 0,
                         at >= 4);
    }
    assert_string_equal(p.said, "E0510");
    assert_true(is_product(&p, ramp, 0));
    assert_false(is_written_in_place(&p, "y"));
    assert_true(is_written_in_place(&p, "z"));
    assert_true(is_written_in_place(&p, "k"));
    finish(&p);
}

/* Tensors of state follow each other in one block, each from a cache line on. */
static void
state_is_one_block(void **state)
{
    static const char text[] =
        "gir 1\n"
        "placeholder @x : float<3> {State: true}\n"
        "placeholder @n : index64<> {State: true}\n"
        "placeholder @i : float<2 x 9>\n"
        "placeholder @w : float<2 x 9> {Trained: true}\n";
    static const int64_t at[] = {0, 64, 128};
    const glow_source source = {"text", text, sizeof text - 1, 1};
    glow_context *ctx = glow_context_new();
    glow_module *m = glow_parse(ctx, &source, NULL);
    glow_state *of[2];

    (void)state;
    assert_non_null(m);
    of[0] = glow_state_new(ctx, m);
    of[1] = glow_state_clone(ctx, of[0]);
    for (int k = 0; k < 2; k++) {
        size_t count;
        const glow_state_entry *e = glow_state_entries(of[k], &count);

        assert_int_equal(count, COUNT(at));
        for (size_t i = 0; i < count; i++)
            assert_int_equal(
                (char *)e[i].tensor.data - (char *)e[0].tensor.data, at[i]);
        glow_state_free(of[k]);
    }
    glow_module_free(m);
    glow_context_free(ctx);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_worked_on_in_place),
        cmocka_unit_test(tensors_may_overlap),
        cmocka_unit_test(inputs_may_be_one_tensor),
        cmocka_unit_test(tensors_may_be_misaligned),
        cmocka_unit_test(inputs_are_not_changed),
        cmocka_unit_test(failing_runs_leave_results_alone),
        cmocka_unit_test(state_is_one_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
