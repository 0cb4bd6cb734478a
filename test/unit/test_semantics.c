/* Passes held to what they promise: what is let through, and what is not. */

#include "unit.h"

#include "glow/build.h"
#include "glow/ops.h"
#include "glow/semantics.h"

#include "passes/trial_inputs.h"

#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    glow_context *ctx;
    glow_module *m;
    glow_func *f;
    glow_arena *arena;
    glow_builder *b;
    glow_storage *x, *y;
    glow_semantics *s;
    char id[8]; /* of the last error or warning */
    char message[512];
} fixture;

static void
keep_error(const glow_diag *d, void *user)
{
    fixture *t = user;

    strncpy(t->id, d->id, sizeof t->id - 1);
    strncpy(t->message, d->message, sizeof t->message - 1);
}

static const glow_type *
type_of(fixture *t, glow_kind k)
{
    return glow_type_get(t->ctx, glow_type_of(k, GLOW_DIMS_OF(8, 8)));
}

static int
setup(void **state)
{
    fixture *t = calloc(1, sizeof *t);

    t->ctx = glow_context_new();
    glow_context_set_sink(t->ctx, keep_error, t);
    t->m = glow_module_new(t->ctx);
    t->f = glow_func_new(t->m, "main");
    t->arena = glow_arena_new();
    t->b = glow_builder_new(t->arena, t->f, NULL);
    t->x = glow_placeholder_new(t->m, "x", type_of(t, GLOW_FLOAT));
    t->y = glow_placeholder_new(t->m, "y", type_of(t, GLOW_FLOAT));
    t->s = glow_semantics_new(t->ctx, 1, 1 << 20);
    *state = t;
    return 0;
}

static int
teardown(void **state)
{
    fixture *t = *state;

    glow_semantics_free(t->s);
    glow_module_free(t->m);
    glow_arena_free(t->arena);
    glow_context_free(t->ctx);
    free(t);
    return 0;
}

/* A copy that knows no other kind than float. */

static bool
single_infer(const glow_node *n, glow_type out[])
{
    out[0] = *n->in[0]->type;
    return true;
}

static bool
single_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    (void)scratch;
    if (in[0]->type->elem != GLOW_FLOAT)
        return glow_reject(n, "it is no float");
    glow_tensor_copy(out[0], in[0]);
    return true;
}

static const glow_op op_single = {
    .name = "test.Single",
    .summary = "for this test",
    .in = {{"Input", GLOW_TENSOR, ""}},
    .out = {{"Result", GLOW_TENSOR, ""}},
    .traits = GLOW_PURE,
    .infer = single_infer,
    .eval = single_eval,
    .source = "this test",
};

static const glow_pass exact = {.name = "exact", .preserves = GLOW_EXACT};
static const glow_pass near = {.name = "near", .preserves = GLOW_REASSOC};
static const glow_pass narrow = {.name = "narrow", .preserves = GLOW_PRECISION};
static const glow_pass changes = {.name = "changes", .preserves = GLOW_CHANGES};

static glow_value *
constant(fixture *t, double v)
{
    return &glow_constant_splat(t->m, "c", type_of(t, GLOW_FLOAT), v)->value;
}

static glow_value *
add(fixture *t, glow_value *a, glow_value *b)
{
    return GLOW_BUILD_PLAIN(t->b, add, GLOW_IN(a, b));
}

static glow_value *
mul(fixture *t, glow_value *a, glow_value *b)
{
    return GLOW_BUILD_PLAIN(t->b, mul, GLOW_IN(a, b));
}

/* Replaces what @main writes by `v`, as pass `p` would. */
static bool
replace(fixture *t, const glow_pass *p, glow_value *v)
{
    glow_semantics_before(t->s, p, t->m, t->f);
    glow_set_operand(glow_find_node(t->f, "y.save"), 0, v);
    return glow_semantics_after(t->s, p, t->m);
}

static void
save(fixture *t, glow_value *v)
{
    glow_value *in[] = {v, &t->y->value};

    glow_node_new(t->f, &glow_op_save, "y.save", in, 2, NULL, 0, NULL);
}

static void
test_exact(void **state)
{
    fixture *t = *state;
    glow_value *x = &t->x->value, *c = constant(t, 1.0);

    save(t, add(t, x, c));
    assert_true(replace(t, &exact, add(t, c, x)));
    assert_false(glow_semantics_failed(t->s));

    /* 1 + 2^-23 instead of 1 */
    assert_false(replace(t, &exact, add(t, x, constant(t, 0x1.000002p0))));
    assert_true(glow_semantics_failed(t->s));
    assert_string_equal(t->id, "E0411");
    assert_non_null(
        strstr(t->message, "exact changes what @main writes to @y"));
    assert_non_null(strstr(t->message, "element"));
}

/* A zero of another sign and a NaN that is gone are seen by special values. */
static void
test_special_values(void **state)
{
    fixture *t = *state;
    glow_value *x = &t->x->value;

    save(t, x);
    assert_true(replace(t, &exact, add(t, x, constant(t, -0.0))));
    assert_false(replace(t, &exact, add(t, x, constant(t, 0.0))));
    assert_non_null(strstr(t->message, "special values"));
}

static void
test_reassoc(void **state)
{
    fixture *t = *state;
    glow_value *x = &t->x->value, *a = constant(t, 0.1f);
    glow_value *b = constant(t, 0.7f);
    glow_value *left = mul(t, mul(t, x, a), b);

    save(t, left);
    assert_false(replace(t, &exact, mul(t, x, mul(t, a, b))));
    assert_true(replace(t, &changes, left));
    assert_true(replace(t, &near, mul(t, x, mul(t, a, b))));

    /* A relative error of 1e-3 is no rounding. */
    assert_true(replace(t, &changes, left));
    assert_false(replace(t, &near, mul(t, x, constant(t, 0.0701))));
    assert_string_equal(t->id, "E0411");
    assert_non_null(strstr(t->message, "away"));
}

/* Where no order rounds, an error as small as a rounding is one too many. */
static void
test_small_integers(void **state)
{
    fixture *t = *state;
    glow_value *x = &t->x->value, *two = constant(t, 2.0);

    save(t, mul(t, x, two));
    assert_true(replace(t, &near, add(t, x, x)));
    assert_false(replace(t, &near, mul(t, x, constant(t, 0x1.000002p1))));
    assert_non_null(strstr(t->message, "small integers"));
}

static glow_value *
through_half(fixture *t, glow_value *x)
{
    glow_value *half = GLOW_BUILD_STATED_PLAIN(
        t->b, convertto, type_of(t, GLOW_FLOAT16), GLOW_IN(x));

    return GLOW_BUILD_STATED_PLAIN(t->b, convertto, type_of(t, GLOW_FLOAT),
                                   GLOW_IN(half));
}

static void
test_precision(void **state)
{
    fixture *t = *state;
    glow_value *x = mul(t, &t->x->value, constant(t, 0.3f));

    save(t, x);
    assert_true(replace(t, &narrow, through_half(t, x)));
    assert_true(replace(t, &changes, x));
    assert_false(replace(t, &near, through_half(t, x)));
    assert_true(replace(t, &changes, x));
    assert_false(replace(t, &narrow, mul(t, x, constant(t, 1.1f))));
}

/* Gather: indices out of range are drawn again; what no set fits is said. */
static void
test_refusals(void **state)
{
    fixture *t = *state;
    const glow_type *index =
        glow_type_get(t->ctx, glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(8)));
    glow_storage *i = glow_placeholder_new(t->m, "i", index);
    glow_value *g =
        GLOW_BUILD(t->b, gather, GLOW_IN(&t->x->value, &i->value), .axis = 0);
    glow_storage *far = glow_constant_splat(t->m, "far", index, 8);
    glow_value *h =
        GLOW_BUILD(t->b, gather, GLOW_IN(&t->x->value, &far->value), .axis = 0);

    save(t, g);
    assert_true(replace(t, &exact, add(t, g, constant(t, -0.0))));
    assert_string_equal(t->id, "");
    assert_false(replace(t, &exact, h));
    assert_string_equal(t->id, "E0412");
    assert_false(replace(t, &exact, g));
    assert_string_equal(t->id, "E0413");
}

/* Without a bound nothing is let through. */
static void
test_no_float64(void **state)
{
    fixture *t = *state;

    assert_true(glow_register_op(t->ctx, &op_single));

    glow_value *x =
        glow_build(t->b, &op_single, NULL, GLOW_IN(&t->x->value), NULL);

    save(t, mul(t, x, constant(t, 0.1f)));
    assert_true(replace(t, &near, mul(t, constant(t, 0.1f), x)));
    assert_false(replace(t, &near, mul(t, x, constant(t, 0x1.99999cp-4))));
    assert_string_equal(t->id, "E0413");
    assert_non_null(strstr(t->message, "in float64"));
}

static void
test_signature(void **state)
{
    fixture *t = *state;

    save(t, &t->x->value);
    glow_semantics_before(t->s, &exact, t->m, t->f);
    glow_node_erase(glow_find_node(t->f, "y.save"));
    assert_false(glow_semantics_after(t->s, &exact, t->m));
    assert_string_equal(t->id, "E0414");
}

static bool
is_same(glow_tensor a, glow_tensor b)
{
    bool same = memcmp(a.data, b.data, (size_t)glow_type_bytes(a.type)) == 0;

    glow_tensor_end(&a);
    glow_tensor_end(&b);
    return same;
}

/* Inputs of a memo, of a full one and of none are the same, whatever was done to others. */
static void
test_memo_of_inputs(void **state)
{
    fixture *t = *state;
    const double units[] = {3, 0.5};
    trial_draw d = {.type = type_of(t, GLOW_FLOAT),
                    .how = GLOW_FILL_COUNT,
                    .seed = 7,
                    .units = units,
                    .n_units = 2};
    const trial_draw plain = {.type = d.type, .how = d.how, .seed = d.seed};
    trial_inputs *m = glow_trial_inputs_new(1 << 20),
                 *full = glow_trial_inputs_new(100);
    glow_tensor first = glow_trial_inputs_get(m, &d);

    memset(first.data, 0, 16);
    assert_false(is_same(first, glow_trial_inputs_get(m, &d)));
    assert_true(
        is_same(glow_trial_inputs_get(m, &d), glow_trial_inputs_get(NULL, &d)));
    assert_true(is_same(glow_trial_inputs_get(full, &d),
                        glow_trial_inputs_get(full, &d)));
    assert_false(is_same(glow_trial_inputs_get(m, &d),
                         glow_trial_inputs_get(m, &plain)));
    d.seed++;
    assert_false(is_same(glow_trial_inputs_get(m, &plain),
                         glow_trial_inputs_get(m, &d)));
    glow_trial_inputs_free(m);
    glow_trial_inputs_free(full);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_exact, setup, teardown),
        cmocka_unit_test_setup_teardown(test_special_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reassoc, setup, teardown),
        cmocka_unit_test_setup_teardown(test_small_integers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_precision, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_float64, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signature, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memo_of_inputs, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
