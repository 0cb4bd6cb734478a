/*
 * How far the elementary functions of the cpu backend are from those of double,
 * over floats of every size, for vectors of several widths.
 */

#include "cpu.h"

#define POINTS ((int64_t)1 << 18)

static double
sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double
swish(double x)
{
    return x / (1 + exp(-x));
}

static double
gelu(double x)
{
    return x < -40 ? -0.0 : x * 0.5 * erfc(-x * 0.70710678118654752);
}

static const glow_gelu exact_gelu = {GLOW_GELU_ERF};

/* What math.c promises: so many ulp of the result, or that much. */
static const struct function {
    const glow_op *op;
    double (*exact)(double x);
    double ulps;
    double least; /* what is less than this may be 0 */
    double most;  /* the largest |x| */
    const void *attrs;
} functions[] = {
    {&glow_op_erf, erf, 6, 1e-37, INFINITY, NULL},
    {&glow_op_exp, exp, 1.3, 1.7e-38, INFINITY, NULL},
    {&glow_op_gelu, gelu, 8, 1e-37, 2.5, &exact_gelu},
    {&glow_op_gelu, gelu, 100, 1e-37, INFINITY, &exact_gelu},
    {&glow_op_log, log, 1.6, 0, INFINITY, NULL},
    {&glow_op_sigmoid, sigmoid, 2.6, 1.7e-38, INFINITY, NULL},
    {&glow_op_swish, swish, 6, 1.5e-36, 5, NULL},
    {&glow_op_swish, swish, 60, 1.5e-36, INFINITY, NULL},
    {&glow_op_tanh, tanh, 5.5, 1e-37, INFINITY, NULL},
};

/* Point `i` of all floats, an odd number of steps from the last. */
static float
point(int64_t i)
{
    union {
        uint32_t bits;
        float value;
    } u = {.bits = (uint32_t)i * 16381};

    return u.value;
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
        double want = f->exact((double)from[i]);

        if (fabs((double)from[i]) > f->most ||
            fabs((double)to[i] - want) <= f->least)
            continue;
        if (!(ulps_between(to[i], want) <= f->ulps))
            fail_msg("%s(%.9g) is %.9g, but must be %.9g: %g ulp", f->op->name,
                     (double)from[i], (double)to[i], want,
                     ulps_between(to[i], want));
    }
}

static void
errors_are_as_stated(void **state)
{
    for (size_t w = 0; w < COUNT(targets); w++) {
        fixture t = {0};
        glow_tensor tensors[MAX_BOUND];
        glow_binding bindings[MAX_BOUND];
        glow_executable *x;

        (void)state;
        if (!runs(&targets[w]))
            continue;
        begin(&t);

        const glow_backend *cpu = glow_find_backend(t.ctx, "cpu");
        glow_value *in = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(POINTS));

        for (size_t i = 0; i < COUNT(functions); i++)
            save(&t, glow_build(t.b, functions[i].op, NULL, GLOW_IN(in),
                                functions[i].attrs));
        run_pipeline(&t, "schedule,irgen,alloc");
        for (int i = 0; i < t.count; i++)
            tensors[i] = glow_tensor_new(t.bound[i]->value.type);
        for (int64_t i = 0; i < POINTS; i++)
            ((float *)tensors[0].data)[i] = point(i);
        x = cpu->load(glow_find_func(t.m, "main"), &targets[w]);
        assert_non_null(x);
        bind(&t, tensors, bindings);
        assert_true(cpu->run(x, bindings, t.count));
        for (size_t i = 0; i < COUNT(functions); i++)
            check(&functions[i], &tensors[0], &tensors[i + 1]);
        cpu->unload(x);
        for (int i = 0; i < t.count; i++)
            glow_tensor_end(&tensors[i]);
        end(&t);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_as_stated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
