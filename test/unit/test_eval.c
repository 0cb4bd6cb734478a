/* The evaluator: order, storage, bytes of programs, memo, shadow, fills. */

#include "unit.h"

#include "glow/eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int evals; /* how often an operator below was run */
static glow_kind seen;

static bool
same_type(const glow_node *n, glow_type out[])
{
    out[0] = *n->in[0]->type;
    out[0].strides.rank = 0;
    return true;
}

/* Result[i] = Input[0] + ... + Input[i] + 1 */
static bool
sums_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    double sum = 1;

    (void)n;
    memset(glow_arena_alloc(scratch, 4096), 0xff, 4096);
    glow_arena_reset(scratch); /* as an eval may */
    memset(glow_arena_alloc(scratch, 4096), 0xff, 4096);
    evals++;
    seen = in[0]->type->elem;
    for (int64_t i = 0; i < glow_type_count(in[0]->type); i++) {
        sum += glow_get_double(in[0], i);
        glow_set_double(out[0], i, sum);
    }
    return true;
}

static const glow_op op_sums = {
    .name = "test.Sums",
    .summary = "for this test",
    .in = {{"Input", GLOW_TENSOR, ""}},
    .out = {{"Result", GLOW_TENSOR, ""}},
    .traits = GLOW_PURE,
    .infer = same_type,
    .eval = sums_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .source = "this test",
};

typedef struct fixture {
    glow_context *ctx;
    glow_module *m;
    const glow_type *type; /* float<4> */
    glow_storage *x, *y;
    glow_tensor tx, ty;
    char id[8]; /* of the last error */
    char message[256];
} fixture;

static void
keep_error(const glow_diag *d, void *user)
{
    fixture *t = user;

    strncpy(t->id, d->id, sizeof t->id - 1);
    strncpy(t->message, d->message, sizeof t->message - 1);
}

static int
setup(void **state)
{
    fixture *t = calloc(1, sizeof *t);

    t->ctx = glow_context_new();
    glow_context_set_sink(t->ctx, keep_error, t);
    assert_true(glow_register_op(t->ctx, &op_sums));
    t->m = glow_module_new(t->ctx);
    t->type = glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(4)));
    t->x = glow_placeholder_new(t->m, "x", t->type);
    t->y = glow_placeholder_new(t->m, "y", t->type);
    t->tx = glow_tensor_new(t->type);
    t->ty = glow_tensor_new(t->type);
    glow_tensor_fill(&t->tx, GLOW_FILL_RAMP, 0); /* 0 0.25 0.5 0.75 */
    evals = 0;
    *state = t;
    return 0;
}

static int
teardown(void **state)
{
    fixture *t = *state;

    glow_tensor_end(&t->tx);
    glow_tensor_end(&t->ty);
    glow_module_free(t->m);
    glow_context_free(t->ctx);
    free(t);
    return 0;
}

static bool
run(fixture *t, glow_func *f, const glow_eval_options *options)
{
    const glow_binding bindings[] = {{t->x, &t->tx}, {t->y, &t->ty}};

    return glow_eval(f, bindings, 2, options);
}

static void
assert_holds(const glow_tensor *t, double a, double b, double c, double d)
{
    assert_true(glow_get_double(t, 0) == a);
    assert_true(glow_get_double(t, 1) == b);
    assert_true(glow_get_double(t, 2) == c);
    assert_true(glow_get_double(t, 3) == d);
}

/* Graphs. */

static glow_value *
sums(glow_func *f, const char *name, glow_value *x)
{
    const glow_type *type = x->type;

    return glow_node_new(f, &op_sums, name, &x, 1, &type, 1, NULL)->out[0];
}

static void
save(glow_func *f, const char *name, glow_value *v, glow_storage *to)
{
    glow_value *in[] = {v, &to->value};

    glow_node_new(f, &glow_op_save, name, in, 2, NULL, 0, NULL);
}

/* The node that is needed first may stand last. */
static void
test_forward_reference(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_func_new(t->m, "main");
    glow_value *b = sums(f, "b", &t->x->value);

    save(f, "s", b, t->y);
    glow_set_operand(b->def, 0, sums(f, "a", &t->x->value));
    assert_true(run(t, f, NULL));
    assert_holds(&t->ty, 2, 3.25, 5, 7.5);
}

/* Needs neither stack nor memory for each node, and time but once. */
static void
test_long_chain(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_func_new(t->m, "main");
    glow_value *first = sums(f, NULL, &t->x->value), *v = first;

    save(f, "s", first, t->y);
    for (int i = 0; i < 200000; i++) {
        glow_value *u = sums(f, NULL, &t->x->value);

        glow_set_operand(v->def, 0, u);
        v = u;
    }
    assert_true(run(t, f, NULL));
    assert_int_equal(evals, 200001);
    assert_float_equal(glow_get_double(&t->ty, 0), 200001, 0);
}

/* [E0503] */
static void
test_cycle(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_func_new(t->m, "main");
    glow_value *a = sums(f, "a", &t->x->value);

    glow_set_operand(a->def, 0, sums(f, "b", a));
    save(f, "s", a, t->y);
    assert_false(run(t, f, NULL));
    assert_string_equal(t->id, "E0503");
}

/* What nothing needs is not run. */
static void
test_unused(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_func_new(t->m, "main");

    sums(f, "unused", &t->x->value);
    save(f, "s", &t->x->value, t->y);
    assert_true(run(t, f, NULL));
    assert_int_equal(evals, 0);
}

/* Reads see what placeholders held before, also where they are written. */
static void
test_swap(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_func_new(t->m, "main");

    glow_tensor_fill(&t->ty, GLOW_FILL_ZERO, 0);
    save(f, "s", &t->x->value, t->y);
    save(f, "t", &t->y->value, t->x);
    assert_true(run(t, f, NULL));
    assert_holds(&t->ty, 0, 0.25, 0.5, 0.75);
    assert_holds(&t->tx, 0, 0, 0, 0);
}

/* [E0502] */
static void
test_binding(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_func_new(t->m, "main");
    const glow_binding one = {t->x, &t->tx};
    glow_tensor wrong = glow_tensor_new(
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(2, 2))));
    const glow_binding two = {t->x, &wrong};

    save(f, "s", sums(f, "a", &t->x->value), t->y);
    assert_false(glow_eval(f, &one, 1, NULL));
    assert_string_equal(t->id, "E0502");
    assert_non_null(strstr(t->message, "@y"));
    assert_false(glow_eval(f, &two, 1, NULL));
    assert_non_null(strstr(t->message, "float<4>"));
    assert_non_null(strstr(t->message, "float<2 x 2>"));
    glow_tensor_end(&wrong);
}

/* float64 from end to end, constants included. */
static void
test_shadow(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_func_new(t->m, "main");
    glow_storage *c = glow_constant_splat(t->m, "c", t->type, 0x1p-30);
    glow_tensor wide = glow_tensor_new(
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT64, GLOW_DIMS_OF(4))));
    const glow_binding b = {t->y, &wide};

    save(f, "s", sums(f, "a", &c->value), t->y);
    assert_true(glow_eval(f, &b, 1, &(glow_eval_options){.shadow = true}));
    assert_int_equal(seen, GLOW_FLOAT64);
    assert_holds(&wide, 1 + 0x1p-30, 1 + 0x1p-29, 1 + 3 * 0x1p-30, 1 + 0x1p-28);
    glow_tensor_end(&wide);
}

/* Equal work is done once, within a run and in another function. */
static void
test_memo(void **state)
{
    fixture *t = *state;
    glow_func *f = glow_func_new(t->m, "f"), *g = glow_func_new(t->m, "g");
    glow_func *h = glow_func_new(t->m, "h");
    glow_eval_options with = {.memo = glow_memo_new(1 << 20)};
    glow_eval_options tiny = {.memo = glow_memo_new(16)};

    save(f, "s", sums(f, "a", sums(f, "b", &t->x->value)), t->y);
    save(g, "s", sums(g, "other", sums(g, "name", &t->x->value)), t->y);
    assert_true(run(t, f, &with) && run(t, g, &with));
    assert_int_equal(evals, 2);
    assert_holds(&t->ty, 2, 3.25, 5, 7.5);

    glow_set_double(&t->tx, 0, 1);
    assert_true(run(t, g, &with));
    assert_int_equal(evals, 4);

    /* Room for one result, the second's: nobody asks for the first again. */
    assert_true(run(t, f, &tiny) && run(t, f, &tiny));
    assert_int_equal(evals, 6);

    /* Whom the second is asked for by has to be computed, and what it needs. */
    save(h, "s", sums(h, "c", sums(h, "a", sums(h, "b", &t->x->value))), t->y);
    assert_true(run(t, h, &tiny));
    assert_int_equal(evals, 7);
    assert_true(run(t, f, &tiny));
    assert_int_equal(evals, 9);
    glow_memo_free(with.memo);
    glow_memo_free(tiny.memo);
}

/* Programs. */

static glow_value *
weight(glow_func *p, glow_storage *s)
{
    glow_node *n = glow_node_new(p, &glow_op_weight, s->name, NULL, 0,
                                 &s->value.type, 1, NULL);

    n->out[0]->storage = s;
    return n->out[0];
}

static glow_value *
alloc(glow_func *p, const char *name, const glow_type *type)
{
    return glow_node_new(p, &glow_op_alloc, name, NULL, 0, &type, 1, NULL)
        ->out[0];
}

static glow_node *
instr(glow_func *p, const glow_op *op, const char *name, glow_value *out,
      glow_value *in)
{
    return glow_instr_new(p, op, name, &out, 1, &in, in ? 1 : 0, NULL);
}

static glow_value *
view(glow_func *p, const char *name, glow_value *of, const glow_type *type,
     int64_t offset)
{
    const glow_tensorview attrs = {GLOW_DIMS_OF(offset)};

    return glow_node_new(p, &glow_op_tensorview, name, &of, 1, &type, 1, &attrs)
        ->out[0];
}

static void
test_program(void **state)
{
    fixture *t = *state;
    glow_func *p = glow_program_new(t->m, "main");
    glow_value *x = weight(p, t->x), *y = weight(p, t->y);
    glow_value *a = alloc(p, "a", t->type);

    instr(p, &op_sums, "i", a, x);
    instr(p, &op_sums, "j", a, a); /* in place */
    instr(p, &op_sums, "k", y, a);
    instr(p, &glow_op_dealloc, "free", a, NULL);
    assert_true(run(t, p, NULL));
    assert_holds(&t->ty, 3, 6.25, 11.25, 18.75);
    assert_true(glow_func_reads(p, t->x) && !glow_func_writes(p, t->x));
    assert_true(glow_func_writes(p, t->y) && !glow_func_reads(p, t->y));
}

/* [E0501]: the verifier finds it first, where it is asked. */
static void
test_reads_unwritten(void **state)
{
    fixture *t = *state;
    glow_func *p = glow_program_new(t->m, "main");
    glow_value *y = weight(p, t->y), *a = alloc(p, "a", t->type);

    instr(p, &op_sums, "early", y, a);
    assert_false(run(t, p, NULL));
    assert_string_equal(t->id, "E0501");
    assert_non_null(strstr(t->message, "%early"));
    assert_non_null(strstr(t->message, "%a,"));
}

static void
test_reads_freed(void **state)
{
    fixture *t = *state;
    glow_func *p = glow_program_new(t->m, "main");
    glow_value *x = weight(p, t->x), *y = weight(p, t->y);
    glow_value *a = alloc(p, "a", t->type);

    instr(p, &op_sums, "i", a, x);
    instr(p, &glow_op_dealloc, "free", a, NULL);
    instr(p, &op_sums, "late", y, a);
    assert_false(run(t, p, NULL));
    assert_string_equal(t->id, "E0501");
}

/* Only what lies outside of the view is missing. */
static void
test_view(void **state)
{
    fixture *t = *state;
    glow_func *p = glow_program_new(t->m, "main");
    glow_value *x = weight(p, t->x), *y = weight(p, t->y);
    glow_value *a = alloc(p, "a", t->type);
    const glow_type *half =
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(2)));

    instr(p, &op_sums, "i", view(p, "tail", a, half, 2),
          view(p, "x.tail", x, half, 2));
    instr(p, &op_sums, "j", y, a);
    assert_false(run(t, p, NULL));
    assert_non_null(strstr(t->message, "byte 0 of %a,"));

    glow_node_move_before(instr(p, &op_sums, "h", view(p, "head", a, half, 0),
                                view(p, "x.head", x, half, 0)),
                          glow_find_node(p, "j"));
    glow_node_move_before(glow_find_node(p, "head"), glow_find_node(p, "h"));
    glow_node_move_before(glow_find_node(p, "x.head"), glow_find_node(p, "h"));
    assert_true(run(t, p, NULL));
    assert_holds(&t->ty, 2, 3.25, 4.75, 7);
    assert_true(glow_func_reads(p, t->x));
}

/* Every second row, as a view with strides. */
static void
test_strides(void **state)
{
    fixture *t = *state;
    glow_func *p = glow_program_new(t->m, "main");
    glow_value *x = weight(p, t->x), *y = weight(p, t->y);
    glow_type type = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(2));
    const glow_type *dense = glow_type_get(t->ctx, type);

    type.strides = GLOW_DIMS_OF(2);
    instr(p, &op_sums, "i", view(p, "odd", y, glow_type_get(t->ctx, type), 1),
          view(p, "x.even", x, glow_type_get(t->ctx, type), 0));
    instr(p, &op_sums, "j", view(p, "even", y, glow_type_get(t->ctx, type), 0),
          view(p, "x.tail", x, dense, 2));
    assert_true(run(t, p, NULL));
    assert_holds(&t->ty, 1.5, 1, 2.25, 1.5);
    assert_false(glow_func_reads(p, t->y));
}

/* Two live buffers in one place: the second drives the first out. */
static void
test_overlap(void **state)
{
    fixture *t = *state;
    glow_func *p = glow_program_new(t->m, "main");
    glow_region region = {
        .name = "act", .space = "sram", .align = 1, .size = 32};
    glow_value *x = weight(p, t->x), *y = weight(p, t->y);
    glow_value *a = alloc(p, "a", t->type), *b = alloc(p, "b", t->type);

    p->regions = &region;
    p->placed = true;
    glow_node_set_place(a->def, (glow_place){&region, 0, 16, false});
    glow_node_set_place(b->def, (glow_place){&region, 16, 16, false});
    instr(p, &op_sums, "i", a, x);
    instr(p, &op_sums, "j", b, x);
    instr(p, &op_sums, "k", y, a);
    assert_true(run(t, p, NULL));

    glow_node_set_place(b->def, (glow_place){&region, 12, 16, false});
    assert_true(run(t, p, NULL));
    assert_holds(&t->ty, 2, 3.25, 5, 6); /* its last element is that of b */

    glow_node_move_after(b->def, glow_find_node(p, "i"));
    glow_node_move_after(glow_find_node(p, "j"), glow_find_node(p, "k"));
    assert_false(run(t, p, NULL));
    assert_non_null(strstr(t->message, "byte 12 of %a,"));
    p->regions = NULL;
}

/* Fills. */

static void
test_fills(void **state)
{
    fixture *t = *state;
    const glow_type *index =
        glow_type_get(t->ctx, glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(100)));
    glow_tensor i = glow_tensor_new(index);

    glow_tensor_fill(&t->tx, GLOW_FILL_RANDOM, 1);
    glow_tensor_fill(&t->ty, GLOW_FILL_RANDOM, 1);
    assert_memory_equal(t->tx.data, t->ty.data, 16);
    glow_tensor_fill(&t->ty, GLOW_FILL_RANDOM, 2);
    assert_memory_not_equal(t->tx.data, t->ty.data, 16);
    glow_tensor_fill(&t->ty, GLOW_FILL_SMALL, 2);
    for (int k = 0; k < 4; k++) {
        assert_true(fabs(glow_get_double(&t->tx, k)) <= 1);
        assert_true(fabs(glow_get_double(&t->ty, k)) <= 4);
        assert_float_equal(glow_get_double(&t->ty, k),
                           floor(glow_get_double(&t->ty, k)), 0);
    }
    glow_tensor_fill(&i, GLOW_FILL_SPECIAL, 3);
    for (int k = 0; k < 100; k++)
        assert_in_range(glow_get_int(&i, k), 0, 4);
    glow_tensor_end(&i);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forward_reference, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_long_chain, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cycle, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_swap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_binding, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shadow, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memo, setup, teardown),
        cmocka_unit_test_setup_teardown(test_program, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reads_unwritten, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reads_freed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_view, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strides, setup, teardown),
        cmocka_unit_test_setup_teardown(test_overlap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fills, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
