/* Pipelines and the rewrite driver, as a program that embeds them sees them. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "glow/cost.h"
#include "glow/cpu.h"
#include "glow/file.h"
#include "glow/ops.h"
#include "glow/pipeline.h"
#include "glow/text.h"

typedef struct fixture {
    glow_context *ctx;
    glow_arena *arena;
    char id[8];
    int calls;
} fixture;

static void
keep_id(const glow_diag *d, void *user)
{
    fixture *t = user;

    snprintf(t->id, sizeof t->id, "%s", d->id);
}

static int
setup(void **state)
{
    fixture *t = calloc(1, sizeof *t);

    t->ctx = glow_context_new();
    t->arena = glow_arena_new();
    glow_context_set_sink(t->ctx, keep_id, t);
    *state = t;
    return 0;
}

static int
teardown(void **state)
{
    fixture *t = *state;

    glow_arena_free(t->arena);
    glow_context_free(t->ctx);
    free(t);
    return 0;
}

static glow_pipeline *
parse(fixture *t, const char *text)
{
    return glow_pipeline_parse(
        t->ctx, t->arena,
        glow_source_from(t->ctx, "<passes>", text, strlen(text)));
}

static glow_module *
module_of(fixture *t, const char *text)
{
    glow_module *m = glow_parse(
        t->ctx, glow_source_from(t->ctx, "<test>", text, strlen(text)), NULL);

    assert_non_null(m);
    return m;
}

static const char net[] = "placeholder @x : float<4>\n"
                          "placeholder @y : float<4>\n"
                          "function @main {\n"
                          "  %a = Relu(@x) : float<4>\n"
                          "  %b = Relu(@x) : float<4>\n"
                          "  %s = Add(%a, %b) : float<4>\n"
                          "  %save = Save(%s, @y)\n"
                          "}\n";

/* Options may be left out: each pass is verified, nothing else is done. */
static void
test_runs_without_options(void **state)
{
    fixture *t = *state;
    glow_module *m = module_of(t, net);
    glow_pipeline *p = parse(t, "cse,dce");

    assert_non_null(p);
    assert_true(glow_pipeline_run(p, m, NULL));
    assert_int_equal(m->funcs->count, 3);
    glow_module_free(m);
}

/* One pipeline runs on any number of modules: typing leaves it as it was. */
static void
test_runs_again(void **state)
{
    fixture *t = *state;
    glow_pipeline *p = parse(t, "alloc");
    glow_buf b = {.arena = t->arena};

    for (int i = 0; i < 2; i++) {
        glow_module *m = module_of(t, net);

        assert_true(glow_pipeline_run(p, m, NULL));
        assert_true(m->funcs->placed);
        glow_module_free(m);
    }
    glow_pipeline_print(&b, p);
    assert_string_equal(b.text, "alloc");
}

/* Steps are taken up to the level that is to be reached, too. */
static void
test_reaches_a_level(void **state)
{
    fixture *t = *state;
    glow_pipeline_options options = {.reach = GLOW_PROGRAM};
    glow_module *m = module_of(t, net);

    assert_true(glow_pipeline_run(parse(t, "cse"), m, &options));
    assert_true(m->funcs->is_program);
    assert_false(m->funcs->placed);
    glow_module_free(m);
}

static void
test_refuses_text(void **state)
{
    fixture *t = *state;

    assert_null(parse(t, "cse,"));
    assert_string_equal(t->id, "E0402");
    assert_null(parse(t, "nobody"));
    assert_string_equal(t->id, "E0403");
    assert_null(parse(t, "((((((((((((((((((((((((((((((((((((((((("));
    assert_null(parse(t, "fixpoint<max=99999999999999999999>(cse)"));
}

/* An instrument that says no ends the run as a failure, and is asked first. */

static bool
leave_out_cse(void *user, const glow_pass *p, glow_module *m, glow_func *f,
              int number)
{
    fixture *t = user;

    (void)m, (void)f;
    t->calls++;
    assert_int_equal(number, t->calls);
    return strcmp(p->name, "cse") != 0;
}

static bool
refuse(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number,
       glow_result result, double seconds)
{
    (void)user, (void)m, (void)f, (void)number, (void)seconds;
    assert_string_equal(p->name, "dce");
    assert_int_equal(result, GLOW_UNCHANGED);
    return false;
}

static void
test_instruments(void **state)
{
    fixture *t = *state;
    glow_instrument in = {.user = t, .before = leave_out_cse, .after = refuse};
    glow_pipeline_options options = {.instruments = &in, .n_instruments = 1};
    glow_module *m = module_of(t, net);

    assert_false(glow_pipeline_run(parse(t, "cse,dce,cse"), m, &options));
    assert_int_equal(t->calls, 2);
    glow_module_free(m);
}

/* Wall and processor time of a pass that sleeps for 20 ms. */
static glow_result
run_sleep(glow_pass_run *run, glow_func *f)
{
    const struct timespec t = {.tv_nsec = 20000000};

    (void)run, (void)f;
    nanosleep(&t, NULL);
    return GLOW_UNCHANGED;
}

static const glow_pass pass_sleep = {
    .name = "test.sleep",
    .summary = "sleep",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run_sleep,
};

typedef struct times {
    const glow_pipeline *of;
    int calls;
} times;

static bool
note_times(void *user, const glow_pass *p, glow_module *m, glow_func *f,
           int number, glow_result result, double seconds)
{
    times *t = user;
    double processor = glow_pipeline_processor_time(t->of);

    (void)p, (void)m, (void)f, (void)number, (void)result;
    assert_true(seconds >= 0.02);
    assert_true(processor >= 0 && processor < 0.01);
    t->calls++;
    return true;
}

static void
test_times(void **state)
{
    fixture *t = *state;
    times seen = {0};
    glow_instrument in = {.user = &seen, .after = note_times};
    glow_pipeline_options options = {.instruments = &in, .n_instruments = 1};
    glow_module *m = module_of(t, net);
    glow_pipeline *p;

    assert_true(glow_register_pass(t->ctx, &pass_sleep));
    seen.of = p = parse(t, "test.sleep");
    assert_true(glow_pipeline_run(p, m, &options));
    assert_int_equal(seen.calls, 1);
    glow_module_free(m);
}

/* The rewrite driver. */

/* Add of a value to itself; only where nobody else uses the operand. */
static glow_value *
double_up(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0];

    if (!x->def || !glow_has_one_use(x))
        return NULL;
    return GLOW_BUILD_PLAIN(b, add, GLOW_IN(x->def->in[0], x->def->in[0]));
}

static glow_result
run_double_up(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_tanh, double_up);
}

static const glow_pass pass_double_up = {
    .name = "test.double-up",
    .summary = "replace Tanh(Relu(x)) by Add(x, x)",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "it is a test",
    .run = run_double_up,
};

/*
 * What replaces a node has its name; what was built for nothing is gone; and a
 * node is offered again when its operand has lost its other user: %t waits for
 * %u to go.
 */
static void
test_rewrite(void **state)
{
    fixture *t = *state;
    glow_module *m = module_of(t, "placeholder @x : float<4>\n"
                                  "placeholder @y : float<4>\n"
                                  "function @main {\n"
                                  "  %r = Relu(@x) : float<4>\n"
                                  "  %t = Tanh(%r) : float<4>\n"
                                  "  %u = Tanh(%r) : float<4>\n"
                                  "  %v = Relu(%t) : float<4>\n"
                                  "  %w = Tanh(%v) : float<4>\n"
                                  "  %save = Save(%w, @y)\n"
                                  "}\n");

    assert_true(glow_register_pass(t->ctx, &pass_double_up));
    assert_true(glow_pipeline_run(parse(t, "test.double-up"), m, NULL));

    /* %w became Add(%t, %t); %r still has two users. */
    glow_node *w = glow_find_node(m->funcs, "w");

    assert_ptr_equal(w->op, &glow_op_add);
    assert_null(glow_find_node(m->funcs, "v"));
    assert_ptr_equal(glow_find_node(m->funcs, "t")->op, &glow_op_tanh);

    assert_true(glow_pipeline_run(parse(t, "dce,test.double-up"), m, NULL));
    assert_ptr_equal(glow_find_node(m->funcs, "t")->op, &glow_op_add);
    assert_null(glow_find_node(m->funcs, "r"));
    assert_int_equal(m->funcs->count, 3);
    glow_module_free(m);
}

/*
 * What a callback builds before it gives up goes without a trace; in particular
 * the only user of an operand of it is not offered again as if it were new.
 */
static int tried;

static glow_value *
give_up(glow_builder *b, glow_node *n)
{
    tried++;
    GLOW_BUILD_PLAIN(b, neg,
                     GLOW_IN(GLOW_BUILD_PLAIN(b, abs, GLOW_IN(n->in[0]))));
    return NULL;
}

static glow_result
run_give_up(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_add, give_up);
}

static const glow_pass pass_give_up = {
    .name = "test.give-up",
    .summary = "build for nothing",
    .level = GLOW_GRAPH,
    .run = run_give_up,
};

static void
test_gives_up(void **state)
{
    fixture *t = *state;
    glow_module *m = module_of(t, net);

    tried = 0;
    assert_true(glow_register_pass(t->ctx, &pass_give_up));
    assert_true(glow_pipeline_run(parse(t, "test.give-up"), m, NULL));
    assert_int_equal(tried, 1);
    assert_int_equal(m->funcs->count, 4);
    glow_module_free(m);
}

/* A callback knows its run, and says why it left something alone. */
static glow_value *
complain(glow_builder *b, glow_node *n)
{
    glow_pass_run *run = glow_builder_run(b);

    assert_non_null(run);
    assert_true(glow_run_target(run)->flops_per_second > 0);
    glow_run_remark(run, n, false, "%d operands", n->n_in);
    return NULL;
}

static glow_result
run_complain(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_add, complain);
}

static const glow_pass pass_complain = {
    .name = "test.complain",
    .summary = "remark on additions",
    .level = GLOW_GRAPH,
    .run = run_complain,
};

static void
hear(void *user, const glow_remark *r)
{
    fixture *t = user;

    t->calls++;
    assert_ptr_equal(r->pass, &pass_complain);
    assert_string_equal(r->node->name, "s");
    assert_string_equal(r->text, "2 operands");
    assert_false(r->done);
}

static void
test_remarks(void **state)
{
    fixture *t = *state;
    glow_instrument in = {.user = t, .remark = hear};
    glow_pipeline_options options = {.instruments = &in, .n_instruments = 1};
    glow_module *m = module_of(t, net);

    assert_true(glow_register_pass(t->ctx, &pass_complain));
    assert_true(glow_pipeline_run(parse(t, "test.complain"), m, &options));
    assert_int_equal(t->calls, 1);
    assert_true(glow_pipeline_run(parse(t, "test.complain"), m, NULL));
    glow_module_free(m);
}

static const glow_backend *
parse_backend(fixture *t, const char *text, const void **options)
{
    return glow_backend_parse(
        t->ctx, t->arena,
        glow_source_from(t->ctx, "<backend>", text, strlen(text)), options);
}

static void
test_backends(void **state)
{
    fixture *t = *state;
    const glow_backend *cpu = glow_find_backend(t->ctx, "cpu");
    const glow_cpu_options *own;
    const void *options = NULL;

    assert_ptr_equal(parse_backend(t, "cpu", &options), cpu);
    assert_ptr_equal(options, cpu->defaults);
    assert_ptr_equal(parse_backend(t, " cpu<winograd=4> ", &options), cpu);
    own = options;
    assert_int_equal(own->winograd, GLOW_WINOGRAD_4);
    assert_false(own->red_zones);
    assert_ptr_equal(
        glow_backend_options(cpu, &(const glow_target_options){.options = own}),
        own);
    assert_ptr_equal(glow_backend_options(cpu, NULL), cpu->defaults);
    assert_null(parse_backend(t, "gpu", &options));
    assert_string_equal(t->id, "E0811");
    assert_null(parse_backend(t, "", &options));
    assert_string_equal(t->id, "E0402");
}

/* Without a backend its pipelines are empty. */
static void
test_hooks(void **state)
{
    fixture *t = *state;
    glow_backend b = *glow_find_backend(t->ctx, "interp");
    const char *text = "before-lower,cse,after-lower";
    const glow_source *source =
        glow_source_from(t->ctx, "<passes>", text, strlen(text));
    glow_buf one = {.arena = t->arena}, two = {.arena = t->arena};

    b.before_lower = "fixpoint(dce)";
    b.after_lower = "after-lower-nothing";
    glow_pipeline_print(&one, parse(t, text));
    assert_string_equal(one.text, "cse");
    assert_null(glow_pipeline_parse_for(t->ctx, t->arena, source, &b));
    assert_string_equal(t->id, "E0403");
    b.after_lower = "after-lower"; /* of itself */
    assert_null(glow_pipeline_parse_for(t->ctx, t->arena, source, &b));
    assert_string_equal(t->id, "E0402");
    b.after_lower = NULL;
    glow_pipeline_print(&two,
                        glow_pipeline_parse_for(t->ctx, t->arena, source, &b));
    assert_string_equal(two.text, "fixpoint(dce),cse");
}

/* A definition that contradicts itself is refused. */
static void
test_refuses_backends(void **state)
{
    fixture *t = *state;
    const glow_backend *interp = glow_find_backend(t->ctx, "interp");
    glow_backend b = *interp;

    b.name = "other";
    b.artifacts = (const glow_artifact[]){{"x", "no emit"}, {0}};
    assert_false(glow_register_backend(t->ctx, &b));
    assert_string_equal(t->id, "E0801");
    b.artifacts = NULL;
    b.options[0] = (glow_field)GLOW_FIELD(glow_cpu_options, winograd, GLOW_INT,
                                          "without a default");
    assert_false(glow_register_backend(t->ctx, &b));
    b.options[0] = (glow_field){0};
    b.sizes = NULL;
    assert_false(glow_register_backend(t->ctx, &b));
    b.sizes = interp->sizes;
    assert_true(glow_register_backend(t->ctx, &b));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs_without_options, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_runs_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reaches_a_level, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refuses_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_instruments, setup, teardown),
        cmocka_unit_test_setup_teardown(test_times, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewrite, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gives_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remarks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_backends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hooks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refuses_backends, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
