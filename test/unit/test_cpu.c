/*
 * The cpu backend against the evaluator: every operator that it has a kernel
 * for, at awkward sizes, for all kinds that the operator takes.  Those that sum
 * up or compare many elements for one: test_cpu_sums.c.
 */

#include "cpu.h"
#include "cpu_kinds.h"

/* Element-wise. */

/* Runs all of `ops` on the same operands of `size` elements. */
static void
check_elementwise(const glow_op *const *ops, size_t count, glow_kind k,
                  int64_t size, glow_fill how)
{
    fixture t = {0};

    begin(&t);

    glow_value *x = input(&t, k, GLOW_DIMS_OF(size));
    glow_value *y = input(&t, k, GLOW_DIMS_OF(size));
    glow_value *c = input(&t, GLOW_BOOL, GLOW_DIMS_OF(size));

    for (size_t i = 0; i < count; i++) {
        bool select = ops[i] == &glow_op_select;

        save(&t, glow_build(t.b, ops[i], NULL,
                            select ? (glow_value *const[]){c, x, y}
                                   : (glow_value *const[]){x, y},
                            glow_op_operands(ops[i]), NULL));
    }
    agree_on(&t, label(&t, ops[0], k, size), how, 2e-6);
}

static void
elementwise_agrees(void **state)
{
    static const glow_op *const real_ops[] = {
        &glow_op_ceil,        &glow_op_cos,      &glow_op_erf,
        &glow_op_exp,         &glow_op_floor,    &glow_op_log,
        &glow_op_sin,         &glow_op_round,    &glow_op_sigmoid,
        &glow_op_sqrt,        &glow_op_tanh,     &glow_op_hardswish,
        &glow_op_swish,       &glow_op_prelu,    &glow_op_relugrad,
        &glow_op_sigmoidgrad, &glow_op_tanhgrad, &glow_op_swishgrad};
    static const glow_op *const number_ops[] = {
        &glow_op_abs,    &glow_op_add,    &glow_op_cmpeq, &glow_op_cmplt,
        &glow_op_cmplte, &glow_op_cmpneq, &glow_op_div,   &glow_op_max,
        &glow_op_min,    &glow_op_mul,    &glow_op_neg,   &glow_op_pow,
        &glow_op_relu,   &glow_op_select, &glow_op_sub,   &glow_op_copy};
    static const glow_op *const bool_ops[] = {&glow_op_and,   &glow_op_or,
                                              &glow_op_xor,   &glow_op_not,
                                              &glow_op_cmpeq, &glow_op_select};

    (void)state;
    for (size_t k = 0; k < COUNT(floats); k++)
        check_elementwise(real_ops, COUNT(real_ops), floats[k], 37,
                          GLOW_FILL_RANDOM);
    for (size_t k = 0; k < COUNT(numbers); k++)
        check_elementwise(number_ops, COUNT(number_ops), numbers[k], 37,
                          GLOW_FILL_RANDOM);
    check_elementwise(bool_ops, COUNT(bool_ops), GLOW_BOOL, 37,
                      GLOW_FILL_RANDOM);
    for (size_t i = 0; i < COUNT(sizes); i++)
        check_elementwise(number_ops, COUNT(number_ops), GLOW_FLOAT, sizes[i],
                          GLOW_FILL_RANDOM);
}

static void
special_values_agree(void **state)
{
    static const glow_op *const ops[] = {
        &glow_op_abs,   &glow_op_add,  &glow_op_ceil,     &glow_op_cmpeq,
        &glow_op_cmplt, &glow_op_div,  &glow_op_erf,      &glow_op_exp,
        &glow_op_floor, &glow_op_log,  &glow_op_max,      &glow_op_min,
        &glow_op_mul,   &glow_op_relu, &glow_op_round,    &glow_op_sigmoid,
        &glow_op_sqrt,  &glow_op_tanh, &glow_op_gelugrad, &glow_op_swishgrad};

    (void)state;
    for (size_t k = 0; k < COUNT(floats); k++)
        check_elementwise(ops, COUNT(ops), floats[k], 67, GLOW_FILL_SPECIAL);
}

static void
activations_agree(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(numbers); k++) {
        fixture t = {0};

        begin(&t);

        glow_value *x = input(&t, numbers[k], GLOW_DIMS_OF(33));

        save(&t, GLOW_BUILD(t.b, clip, GLOW_IN(x), -1.5f, 2.25f));
        if (k < COUNT(floats)) {
            save(&t, GLOW_BUILD(t.b, gelu, GLOW_IN(x), GLOW_GELU_ERF));
            save(&t, GLOW_BUILD(t.b, gelu, GLOW_IN(x), GLOW_GELU_TANH));
            save(&t, GLOW_BUILD(t.b, gelugrad, GLOW_IN(x, x), GLOW_GELU_ERF));
            save(&t, GLOW_BUILD(t.b, gelugrad, GLOW_IN(x, x), GLOW_GELU_TANH));
            save(&t, GLOW_BUILD(t.b, hardsigmoid, GLOW_IN(x), 0.2f, 0.5f));
            save(&t, GLOW_BUILD(t.b, leakyrelu, GLOW_IN(x), 0.01f));
        }
        agree_on(&t, label(&t, &glow_op_clip, numbers[k], 33), GLOW_FILL_RANDOM,
                 2e-6);
    }
}

static void
conversions_agree(void **state)
{
    static const glow_kind kinds[] = {
        GLOW_FLOAT,   GLOW_FLOAT16, GLOW_BFLOAT16, GLOW_FLOAT64, GLOW_UINDEX8,
        GLOW_INDEX32, GLOW_INDEX64, GLOW_INT8,     GLOW_UINT32,  GLOW_BOOL};
    static const glow_kind low[] = {GLOW_FLOAT8E4M3FN, GLOW_FLOAT8E4M3FNUZ,
                                    GLOW_FLOAT8E5M2,   GLOW_FLOAT8E5M2FNUZ,
                                    GLOW_FLOAT8E8M0,   GLOW_FLOAT4E2M1,
                                    GLOW_INT4,         GLOW_UINT4,
                                    GLOW_INT2,         GLOW_UINT2};

    (void)state;
    for (size_t i = 0; i < COUNT(low); i++) {
        glow_dims shape = GLOW_DIMS_OF(67);
        fixture t = {0};

        begin(&t);
        for (size_t k = 0; k < COUNT(kinds); k++) {
            glow_value *x = input(&t, kinds[k], shape);

            x = GLOW_BUILD_STATED_PLAIN(t.b, convertto,
                                        type_of(&t, low[i], shape), GLOW_IN(x));
            save(&t, x);
            save(&t, GLOW_BUILD_STATED_PLAIN(t.b, convertto,
                                             type_of(&t, kinds[k], shape),
                                             GLOW_IN(x)));
        }
        agree_on(&t, label(&t, &glow_op_convertto, low[i], 67),
                 GLOW_FILL_SPECIAL, 0);
    }
    for (size_t i = 0; i < 6; i++) {
        glow_dims shape = GLOW_DIMS_OF(67);
        fixture t = {0};

        begin(&t);
        for (size_t k = 0; k < 4; k++) {
            glow_value *x = input(&t, kinds[k], shape);

            for (int how = 0; how < 6; how++)
                save(&t,
                     GLOW_BUILD_STATED(t.b, converttofloat8,
                                       type_of(&t, low[i], shape), GLOW_IN(x),
                                       .saturate = how & 1, .round = how / 2));
        }
        agree_on(&t, label(&t, &glow_op_converttofloat8, low[i], 67),
                 GLOW_FILL_SPECIAL, 0);
    }
    for (size_t i = 0; i < COUNT(kinds); i++) {
        fixture t = {0};

        begin(&t);

        glow_value *x = input(&t, kinds[i], GLOW_DIMS_OF(35));

        for (size_t k = 0; k < COUNT(kinds); k++)
            save(&t, GLOW_BUILD_STATED_PLAIN(
                         t.b, convertto,
                         type_of(&t, kinds[k], GLOW_DIMS_OF(35)), GLOW_IN(x)));
        agree_on(&t, label(&t, &glow_op_convertto, kinds[i], 35),
                 GLOW_FILL_SPECIAL, 0);
    }
}

/* A chain, with a broadcast operand and a value that is used twice. */
static void
stacked_chains_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        fixture t = {0};

        begin(&t);

        glow_dims d = GLOW_DIMS_OF(3, sizes[i], 5);
        glow_value *x = input(&t, GLOW_FLOAT, d);
        glow_value *row = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(5));
        glow_value *column = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(sizes[i], 1));
        glow_value *a, *b, *c;

        a = GLOW_BUILD(t.b, broadcast, GLOW_IN(row), .axis = 2,
                       .target_dim = d);
        b = GLOW_BUILD(t.b, broadcast, GLOW_IN(column), .axis = 1,
                       .target_dim = d);
        c = GLOW_BUILD_PLAIN(t.b, add, GLOW_IN(x, a));
        c = GLOW_BUILD_PLAIN(t.b, mul, GLOW_IN(c, b));
        save(&t, c);
        c = GLOW_BUILD_PLAIN(t.b, relu, GLOW_IN(c));
        c = GLOW_BUILD_PLAIN(t.b, sub, GLOW_IN(c, x));
        save(&t, GLOW_BUILD_PLAIN(t.b, tanh, GLOW_IN(c)));
        agree(&t, "a chain");
    }
}

/* The third result lies where the first one did, and is read later. */
static void
chains_may_reuse_memory(void **state)
{
    fixture t = {0};

    (void)state;
    begin(&t);

    glow_value *x = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(4, 32));
    glow_value *v = GLOW_BUILD_PLAIN(t.b, neg, GLOW_IN(x));

    v = GLOW_BUILD_PLAIN(t.b, exp, GLOW_IN(v));
    v = GLOW_BUILD_PLAIN(t.b, sub, GLOW_IN(v, x));
    v = GLOW_BUILD(t.b, softmax, GLOW_IN(v), .axis = 1);
    save(&t, v);
    agree(&t, "a chain that reuses memory");
}

/* Layout. */

static void
layout_agrees(void **state)
{
    static const glow_kind kinds[] = {GLOW_FLOAT, GLOW_FLOAT64, GLOW_BOOL,
                                      GLOW_INT8Q, GLOW_INDEX64, GLOW_FLOAT16};

    (void)state;
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t i = k % 3; i < COUNT(sizes); i += 3) {
            fixture t = {.constants = i % 2};
            int64_t n = sizes[i];

            begin(&t);

            glow_value *x = input(&t, kinds[k], GLOW_DIMS_OF(3, n, 4));
            glow_value *z = weights(&t, kinds[k], GLOW_DIMS_OF(3, 2, 4));
            glow_value *cat =
                GLOW_BUILD(t.b, concat, GLOW_IN(x, z, x), .dim = 1);

            save(&t, cat);
            save(&t, GLOW_BUILD(t.b, transpose, GLOW_IN(x),
                                .shuffle = GLOW_DIMS_OF(2, 0, 1)));
            save(&t, GLOW_BUILD(t.b, tile, GLOW_IN(x), .count = 3, .axis = 1));
            save(&t, GLOW_BUILD(t.b, reshape, GLOW_IN(x),
                                .dims = GLOW_DIMS_OF(n, 12)));
            save(&t,
                 GLOW_BUILD_STATED(t.b, slice,
                                   type_of(&t, kinds[k], GLOW_DIMS_OF(2, n, 2)),
                                   GLOW_IN(x), .start = GLOW_DIMS_OF(2, 0, 1),
                                   .steps = GLOW_DIMS_OF(-1, 1, 2)));
            save(&t, GLOW_BUILD(t.b, inserttensor, GLOW_IN(cat, z),
                                .start = GLOW_DIMS_OF(0, 0, 0), .count = 2,
                                .axis = 1));
            save(&t, glow_build(t.b, &glow_op_splat,
                                type_of(&t, kinds[k], GLOW_DIMS_OF(n, 3)), NULL,
                                0, &(glow_splat){3}));
            agree(&t, "layout");
        }
}

static void
pads_agree(void **state)
{
    static const int64_t frames[][4] = {
        {1, 0, 0, 2}, {-1, 2, 1, -1}, {2, 2, 2, 2}, {0, 0, 0, 0}};

    (void)state;
    for (int mode = GLOW_PAD_CONSTANT; mode <= GLOW_PAD_WRAP; mode++)
        for (size_t i = 0; i < COUNT(frames); i++) {
            fixture t = {0};

            begin(&t);

            glow_value *x = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(5, 7));
            glow_ints pads = {4, frames[i]};

            save(&t, GLOW_BUILD(t.b, pad, GLOW_IN(x), .mode = mode,
                                .pads = pads, .value = -1.5f));
            agree(&t, "pad");
        }
}

static void
set_indices(glow_storage *s, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++)
        glow_set_int(&s->tensor, i, values[i]);
}

static void
gathers_agree(void **state)
{
    static const int64_t at[] = {2, -1, 0, 1, -3, 2};

    (void)state;
    for (int batch = 0; batch < 2; batch++)
        for (int axis = batch; axis < 3; axis++) {
            fixture t = {0};

            begin(&t);

            glow_value *x = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(3, 3, 3));
            glow_storage *s = glow_constant_new(
                t.m, "i", type_of(&t, GLOW_INDEX64, GLOW_DIMS_OF(3, 2)));

            set_indices(s, at, 6);
            save(&t, GLOW_BUILD(t.b, gather, GLOW_IN(x, &s->value),
                                .axis = axis, .batch_dims = batch));
            agree(&t, "gather");
        }
}

/* What moves elements, along leading axes that can be split and others. */
static void
moves_agree(void **state)
{
    static const int64_t frames[][8] = {{0, 1, 2, 0, 0, 2, -1, 0},
                                        {1, 0, 0, 0, 2, 0, 0, 0},
                                        {0, 0, 0, 0, 0, 0, 0, 3}};

    (void)state;
    for (int64_t n = 5; n < 9; n++) {
        fixture t = {0};

        begin(&t);

        glow_value *x = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(2, 5, 6, n));
        glow_value *z = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(2, 5, 6, 2));
        glow_value *deep = GLOW_BUILD(t.b, concat, GLOW_IN(x, z), .dim = 3);
        glow_value *wide = GLOW_BUILD(t.b, concat, GLOW_IN(x, x), .dim = 2);

        save(&t, deep);
        save(&t, wide);
        save(&t, GLOW_BUILD(t.b, concat, GLOW_IN(x, x), .dim = 0));
        save(&t, GLOW_BUILD(t.b, tile, GLOW_IN(x), .count = 3, .axis = 2));
        save(&t, GLOW_BUILD(t.b, inserttensor, GLOW_IN(deep, z),
                            .start = GLOW_DIMS_OF(0, 0, 0, 1), .count = 2,
                            .axis = 3));
        save(&t, GLOW_BUILD(t.b, inserttensor, GLOW_IN(wide, x),
                            .start = GLOW_DIMS_OF(0, 0, 3, 0), .count = 1,
                            .axis = 2));
        for (int mode = GLOW_PAD_CONSTANT; mode <= GLOW_PAD_REFLECT; mode++)
            for (size_t i = 0; i < (mode == GLOW_PAD_CONSTANT ? 3 : 1); i++)
                save(&t, GLOW_BUILD(t.b, pad, GLOW_IN(x), .mode = mode,
                                    .pads = (glow_ints){8, frames[i]},
                                    .value = -1.5f));
        agree(&t, "moves");
    }
}

/* Several updates of one element, for each reduction. */
static void
scatters_agree(void **state)
{
    static const int64_t at[] = {2, -1, 0, 2, -3, 2};

    (void)state;
    for (size_t k = 0; k < COUNT(numbers); k++) {
        fixture t = {0};

        begin(&t);

        glow_value *x = input(&t, numbers[k], GLOW_DIMS_OF(3, 3, 19));
        glow_value *u = input(&t, numbers[k], GLOW_DIMS_OF(3, 19));
        glow_value *v = input(&t, numbers[k], GLOW_DIMS_OF(6, 3, 19));
        glow_storage *s = glow_constant_new(
            t.m, "i", type_of(&t, GLOW_INT8, GLOW_DIMS_OF(3, 2)));
        glow_storage *r = glow_constant_new(
            t.m, "i", type_of(&t, GLOW_INDEX64, GLOW_DIMS_OF(6, 1)));

        set_indices(s, at, 6);
        set_indices(r, at, 6);
        for (int how = GLOW_SCATTER_NONE; how <= GLOW_SCATTER_MIN; how++) {
            save(&t, GLOW_BUILD(t.b, scatterdata, GLOW_IN(x, &s->value, u),
                                .reduction = how));
            save(&t, GLOW_BUILD(t.b, scatterdata, GLOW_IN(x, &r->value, v),
                                .reduction = how));
        }
        agree(&t, label(&t, &glow_op_scatterdata, numbers[k], 6));
    }
}

static void
running_sums_agree(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(numbers); k++) {
        fixture t = {0};

        begin(&t);

        glow_value *x = input(&t, numbers[k], GLOW_DIMS_OF(3, 5, 37));

        for (int axis = 0; axis < 3; axis++)
            for (int how = 0; how < 4; how++) {
                save(&t, GLOW_BUILD(t.b, cumsum, GLOW_IN(x), .dim = axis,
                                    .exclusive = how & 1, .reverse = how & 2));
                save(&t, GLOW_BUILD(t.b, cumprod, GLOW_IN(x), .dim = axis,
                                    .exclusive = how & 1, .reverse = how & 2));
            }
        agree(&t, label(&t, &glow_op_cumsum, numbers[k], 37));
    }
}

/* Small integers, of which some are 0 and some are equal. */
static void
bounds_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t k = i % 5; k < COUNT(numbers); k += 5) {
            fixture t = {0};

            begin(&t);

            int64_t n = sizes[i];
            glow_value *x = input(&t, numbers[k], GLOW_DIMS_OF(n, 2));

            save(&t, GLOW_BUILD_PLAIN(t.b, nonzero, GLOW_IN(x)));
            save(&t, GLOW_BUILD(t.b, unique, GLOW_IN(x), .sorted = true));
            save(&t, GLOW_BUILD(t.b, unique, GLOW_IN(x), .sorted = false));
            agree(&t, label(&t, &glow_op_unique, numbers[k], n));
        }
}

static void
suppressions_agree(void **state)
{
    static const glow_kind kinds[] = {GLOW_FLOAT, GLOW_FLOAT16, GLOW_BFLOAT16,
                                      GLOW_FLOAT64};

    (void)state;
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (int how = 0; how < 4; how++) {
            fixture t = {0};

            begin(&t);

            glow_value *boxes = input(&t, kinds[k], GLOW_DIMS_OF(2, 41, 4));
            glow_value *scores = input(&t, kinds[k], GLOW_DIMS_OF(2, 3, 41));

            save(&t, GLOW_BUILD(t.b, nonmaxsuppression, GLOW_IN(boxes, scores),
                                .center_point_box = how & 1,
                                .max_output_boxes_per_class = how & 2 ? 5 : 99,
                                .iou_threshold = 0.125f * (float)how,
                                .score_threshold = -0.5f));
            agree(&t, label(&t, &glow_op_nonmaxsuppression, kinds[k], how));
        }
}

/* Storage with gaps between its rows; tensors at the door have none. */
static void
strided_storage_agrees(void **state)
{
    fixture t = {0};
    glow_type padded = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(5, 7));
    glow_type dense = padded;
    glow_executable *x;
    glow_tensor in, out;

    (void)state;
    begin(&t);
    padded.strides = GLOW_DIMS_OF(8, 1);

    glow_value *v = input_of(&t, glow_type_get(t.ctx, padded));

    save(&t, GLOW_BUILD_PLAIN(t.b, neg, GLOW_IN(v)));
    run_pipeline(&t, "schedule,irgen,alloc");
    x = glow_find_backend(t.ctx, "cpu")
            ->load(glow_find_func(t.m, "main"), NULL);
    assert_non_null(x);
    in = glow_tensor_new(&dense);
    out = glow_tensor_new(&dense);
    glow_tensor_fill(&in, GLOW_FILL_RANDOM, 1);

    const glow_binding bindings[] = {{t.bound[0], &in}, {t.bound[1], &out}};

    assert_true(glow_find_backend(t.ctx, "cpu")->run(x, bindings, 2));
    for (int64_t i = 0; i < 35; i++)
        assert_true(glow_get_double(&out, i) == -glow_get_double(&in, i));
    glow_find_backend(t.ctx, "cpu")->unload(x);
    glow_tensor_end(&in);
    glow_tensor_end(&out);
    end(&t);
}

/* Code for another machine is refused before it is made. */
static void
keep_id(const glow_diag *d, void *user)
{
    snprintf(user, 8, "%s", d->id);
}

static void
another_machine_is_refused(void **state)
{
    const glow_target_options other = {.triple = "aarch64-unknown-linux-gnu"};
    fixture t = {0};
    char id[8] = "";

    (void)state;
    begin(&t);
    save(&t, GLOW_BUILD_PLAIN(t.b, neg,
                              GLOW_IN(input(&t, GLOW_FLOAT, GLOW_DIMS_OF(4)))));
    run_pipeline(&t, "schedule,irgen,alloc");
    glow_context_set_sink(t.ctx, keep_id, id);
    assert_null(glow_find_backend(t.ctx, "cpu")
                    ->load(glow_find_func(t.m, "main"), &other));
    assert_string_equal(id, "E0825");
    end(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_agrees),
        cmocka_unit_test(special_values_agree),
        cmocka_unit_test(activations_agree),
        cmocka_unit_test(conversions_agree),
        cmocka_unit_test(stacked_chains_agree),
        cmocka_unit_test(chains_may_reuse_memory),
        cmocka_unit_test(layout_agrees),
        cmocka_unit_test(pads_agree),
        cmocka_unit_test(gathers_agree),
        cmocka_unit_test(moves_agree),
        cmocka_unit_test(bounds_agree),
        cmocka_unit_test(scatters_agree),
        cmocka_unit_test(suppressions_agree),
        cmocka_unit_test(running_sums_agree),
        cmocka_unit_test(another_machine_is_refused),
        cmocka_unit_test(strided_storage_agrees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
