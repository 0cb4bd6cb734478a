/*
 * How far the elementary functions of the cpu backend are from those of double,
 * over floats of every size and at the ends of every kind, for vectors of several
 * widths.
 */

#include "cpu.h"

#include <float.h>

#define POINTS ((int64_t)1 << 17)

/* 0, what is not normal, the ends, and where some function's range ends. */
static const double ends[] = {0,        0x1p-149,
                              0x1p-130, 0x1.fffffcp-127,
                              0x1p-126, 0x1.000002p-126,
                              0x1p-100, 0x1p-24,
                              1,        9,
                              10.25,    13.2,
                              20,       86.99,
                              87.25,    87.33,
                              87.3365,  87.34,
                              88.37,    88.5,
                              88.72,    88.7229,
                              91.8,     92,
                              104,      750,
                              1000,     0x1p64,
                              0x1p126,  0x1p127,
                              FLT_MAX,  INFINITY,
                              NAN};

static double
sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* x times a gate between 0 and 1. */
static double
gated(double x, double gate)
{
    return gate == 0 ? copysign(0, x) : x * gate;
}

static double
swish(double x)
{
    return gated(x, sigmoid(x));
}

static double
gelu(double x)
{
    return gated(x, 0.5 * erfc(-x * 0.70710678118654752));
}

static double
gelu_tanh(double x)
{
    return gated(x,
                 sigmoid(2 * 0.79788456080286536 * (x + 0.044715 * x * x * x)));
}

static double
softplus(double x)
{
    return (x < 0 ? 0 : x) + log1p(exp(-fabs(x)));
}

static double
mish(double x)
{
    return gated(x, tanh(softplus(x)));
}

static double
hardswish(double x)
{
    return gated(x, isnan(x) ? x : fmax(0, fmin(1, x / 6 + 0.5)));
}

static double
softsign(double x)
{
    return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}

static double
elu(double x)
{
    return x < 0 ? 1.5 * expm1(x) : x;
}

static double
selu(double x)
{
    return 1.25 * elu(x);
}

static double
celu(double x)
{
    return x < 0 ? 2 * expm1(x / 2) : x;
}

static double
reciprocal(double x)
{
    return 1 / x;
}

static double
rsqrt(double x)
{
    return 1 / sqrt(x);
}

static const glow_gelu by_erf = {GLOW_GELU_ERF}, by_tanh = {GLOW_GELU_TANH};
static const glow_elu of_elu = {1.5f};
static const glow_selu of_selu = {.alpha = 1.5f, .gamma = 1.25f};
static const glow_celu of_celu = {2};

/*
 * What math.c and the rules of lowering promise: so many ulp of the result, or
 * that much.
 */
static const struct function {
    const glow_op *op;
    double (*exact)(double x);
    double ulps;
    double least; /* more than the error of results that may be 0 */
    double most;  /* the largest |x| */
    const void *attrs;
} functions[] = {
    {&glow_op_acos, acos, 2, FLT_MIN, INFINITY, NULL},
    {&glow_op_acosh, acosh, 4, FLT_MIN, INFINITY, NULL},
    {&glow_op_asin, asin, 2, FLT_MIN, INFINITY, NULL},
    {&glow_op_asinh, asinh, 4, FLT_MIN, INFINITY, NULL},
    {&glow_op_atan, atan, 2, FLT_MIN, INFINITY, NULL},
    {&glow_op_atanh, atanh, 4, FLT_MIN, INFINITY, NULL},
    {&glow_op_ceil, ceil, 0, 0, INFINITY, NULL},
    {&glow_op_celu, celu, 14, FLT_MIN, INFINITY, &of_celu},
    {&glow_op_cos, cos, 2, FLT_MIN, INFINITY, NULL},
    {&glow_op_cosh, cosh, 4, FLT_MIN, INFINITY, NULL},
    {&glow_op_elu, elu, 14, FLT_MIN, INFINITY, &of_elu},
    {&glow_op_erf, erf, 6, FLT_MIN, INFINITY, NULL},
    {&glow_op_exp, exp, 1.3, FLT_MIN, INFINITY, NULL},
    {&glow_op_floor, floor, 0, 0, INFINITY, NULL},
    {&glow_op_gelu, gelu, 8, FLT_MIN, 2.5, &by_erf},
    {&glow_op_gelu, gelu, 100, FLT_MIN, INFINITY, &by_erf},
    {&glow_op_gelu, gelu_tanh, 300, 16 * FLT_MIN, INFINITY, &by_tanh},
    {&glow_op_hardswish, hardswish, 1e6, 2e-6, INFINITY, NULL},
    {&glow_op_log, log, 1.6, 0, INFINITY, NULL},
    {&glow_op_mish, mish, 10, FLT_MIN, INFINITY, NULL},
    {&glow_op_reciprocal, reciprocal, 1, FLT_MIN, INFINITY, NULL},
    {&glow_op_round, rint, 0, 0, INFINITY, NULL},
    {&glow_op_rsqrt, rsqrt, 2, 0, INFINITY, NULL},
    {&glow_op_selu, selu, 14, FLT_MIN, INFINITY, &of_selu},
    {&glow_op_sigmoid, sigmoid, 2.6, FLT_MIN, INFINITY, NULL},
    {&glow_op_sin, sin, 2, FLT_MIN, INFINITY, NULL},
    {&glow_op_sinh, sinh, 4, FLT_MIN, INFINITY, NULL},
    {&glow_op_softplus, softplus, 4, FLT_MIN, INFINITY, NULL},
    {&glow_op_softsign, softsign, 2, FLT_MIN, INFINITY, NULL},
    {&glow_op_sqrt, sqrt, 1, 0, INFINITY, NULL},
    {&glow_op_swish, swish, 6, 1.5e-36, 5, NULL},
    {&glow_op_swish, swish, 60, 1.5e-36, INFINITY, NULL},
    {&glow_op_tan, tan, 2, FLT_MIN, INFINITY, NULL},
    {&glow_op_tanh, tanh, 5.5, FLT_MIN, INFINITY, NULL},
    {&glow_op_truncate, trunc, 0, 0, INFINITY, NULL},
};

/* The ends with either sign, then all floats, an odd number of steps apart. */
static double
point(int64_t i)
{
    union {
        uint32_t bits;
        float value;
    } u = {.bits = (uint32_t)i * 32749};

    if (i < (int64_t)COUNT(ends))
        return ends[i];
    if (i < (int64_t)(2 * COUNT(ends)))
        return -ends[i - (int64_t)COUNT(ends)];
    return (double)u.value;
}

/* The distance of `y` from `want` in ulp, the last place of a float. */
static double
ulps_between(float y, double want)
{
    int e;

    if (y == (float)want || (isnan(y) && isnan(want)))
        return 0;
    if (isinf((float)want))
        want = copysign(0x1p128, want);
    (void)frexp(want, &e);
    return fabs((double)y - want) / ldexp(1, e < -125 ? -149 : e - 24);
}

static void
check(const struct function *f, const glow_tensor *x, const glow_tensor *y)
{
    const float *from = (const float *)x->data, *to = (const float *)y->data;

    for (int64_t i = 0; i < POINTS; i++) {
        double at = (double)from[i], want = f->exact(at);
        bool is_end = at == 0 || isinf(at) || isnan(at);

        if (fabs(at) > f->most ||
            (!is_end && fabs((double)to[i] - want) <= f->least))
            continue;
        if (!(ulps_between(to[i], want) <= (is_end ? 0.6 : f->ulps)))
            fail_msg("%s(%.9g) is %.9g, but must be %.9g: %g ulp", f->op->name,
                     at, (double)to[i], want, ulps_between(to[i], want));
    }
}

/* Runs all functions over the first `count` points on `target`. */
static void
run_functions(fixture *t, glow_kind kind, int64_t count,
              const glow_target_options *target, glow_tensor *tensors)
{
    const glow_backend *cpu = glow_find_backend(t->ctx, "cpu");
    const glow_pipeline_options options = {.verify_each = true, .backend = cpu};
    const glow_source passes = {"passes", "lower,schedule,irgen,alloc",
                                strlen("lower,schedule,irgen,alloc"), 1};
    glow_value *in = input(t, kind, GLOW_DIMS_OF(count));
    glow_binding bindings[MAX_BOUND];
    glow_executable *x;

    for (size_t i = 0; i < COUNT(functions); i++)
        save(t, glow_build(t->b, functions[i].op, NULL, GLOW_IN(in),
                           functions[i].attrs));
    for (int i = 0; i < t->count; i++)
        tensors[i] = glow_tensor_new(t->bound[i]->value.type);
    for (int64_t i = 0; i < count; i++)
        glow_set_double(&tensors[0], i, point(i));
    bind(t, tensors, bindings);
    if (!target) {
        assert_true(
            glow_eval(t->f, bindings, t->count, &(const glow_eval_options){0}));
        return;
    }

    glow_pipeline *p = glow_pipeline_parse(t->ctx, t->arena, &passes);

    assert_non_null(p);
    assert_true(glow_pipeline_run(p, t->m, &options));
    x = cpu->load(glow_find_func(t->m, "main"), target);
    assert_non_null(x);
    assert_true(cpu->run(x, bindings, t->count));
    cpu->unload(x);
}

static void
end_tensors(glow_tensor *tensors)
{
    for (size_t i = 0; i <= COUNT(functions); i++)
        glow_tensor_end(&tensors[i]);
}

/* Of every width, by fused products and sums and, under -exact, without. */
static void
errors_are_as_stated(void **state)
{
    (void)state;
    for (size_t w = 0; w < 2 * COUNT(targets); w++) {
        glow_target_options target = targets[w / 2];
        fixture t = {0};
        glow_tensor tensors[MAX_BOUND];

        if (!runs(&targets[w / 2])) {
            print_message("# left out: this machine is no %s\n", target.cpu);
            continue;
        }
        target.exact = w % 2;
        begin(&t);
        run_functions(&t, GLOW_FLOAT, POINTS, &target, tensors);
        for (size_t i = 0; i < COUNT(functions); i++)
            check(&functions[i], &tensors[0], &tensors[i + 1]);
        end_tensors(tensors);
        end(&t);
    }
}

/* The evaluator has no error but that of the kind. */
static void
evaluator_is_exact(void **state)
{
    fixture t = {0};
    glow_tensor tensors[MAX_BOUND];

    (void)state;
    begin(&t);
    run_functions(&t, GLOW_FLOAT, 2 * COUNT(ends), NULL, tensors);
    for (size_t i = 0; i < COUNT(functions); i++)
        for (size_t k = 0; k < 2 * COUNT(ends); k++) {
            double x = glow_get_double(&tensors[0], (int64_t)k);
            float y = ((const float *)tensors[i + 1].data)[k];

            if (!(ulps_between(y, functions[i].exact(x)) <= 0.51))
                fail_msg("%s(%.9g) is %.9g, but must be %.9g",
                         functions[i].op->name, x, (double)y,
                         functions[i].exact(x));
        }
    end_tensors(tensors);
    end(&t);
}

/* Of the other kinds the ends alone: infinities and NaN as the evaluator has them. */
static void
other_kinds_end_alike(void **state)
{
    static const glow_kind kinds[] = {GLOW_FLOAT16, GLOW_BFLOAT16,
                                      GLOW_FLOAT64};

    (void)state;
    for (size_t w = 0; w < COUNT(targets); w++)
        for (size_t k = 0; k < COUNT(kinds) && runs(&targets[w]); k++) {
            fixture one = {0}, two = {0};
            glow_tensor want[MAX_BOUND], got[MAX_BOUND];

            begin(&one);
            begin(&two);
            run_functions(&one, kinds[k], 2 * COUNT(ends), NULL, want);
            run_functions(&two, kinds[k], 2 * COUNT(ends), &targets[w], got);
            for (size_t i = 0; i < COUNT(functions); i++)
                compare(functions[i].op->name, &want[i + 1], &got[i + 1],
                        tolerance_of(kinds[k], 0));
            end_tensors(want);
            end_tensors(got);
            end(&one);
            end(&two);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluator_is_exact),
        cmocka_unit_test(errors_are_as_stated),
        cmocka_unit_test(other_kinds_end_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
