/* Operators that compute on quantized elements. */

#include "ops.h"

#include "glow/ops.h"

static void
test_tables(void **state)
{
    const op_case cases[] = {
        /* The reals are -62.5 to 62; 0 is the element 3. */
        GIVES(relu, NULL, IN("i8[S:0.5 O:3] 4: -128 2 3 9"),
              OUT("ui8[S:0.25 O:7] 4: 7 7 7 19")),
        GIVES(relu, NULL, IN("i8[S:1 O:0] 2: -4 127"),
              OUT("i8[S:0.5 O:-3] 2: -3 127")),
        GIVES(neg, NULL, IN("i8[S:0.5 O:3] 3: -128 3 4"),
              OUT("i8[S:0.5 O:3] 3: 127 3 2")),
        GIVES(sigmoid, NULL, IN("i16[S:0.01 O:0] 3: -32768 0 32767"),
              OUT("ui8[S:0.00390625 O:0] 3: 0 128 255")),
        /* log(0) is -inf, which saturates; log(-1) is NaN, which is the offset. */
        GIVES(log, NULL, IN("i8[S:1 O:2] 3: 2 1 3"),
              OUT("i8[S:0.5 O:5] 3: -128 5 5")),
        GIVES(exp, NULL, IN("i8[S:1 O:0] 3: 0 1 100"),
              OUT("i16[S:0.001 O:1] 3: 1001 2719 32767")),
        /* 2.5, 3.5 are ties in units of the result. */
        GIVES(sqrt, NULL, IN("i8[S:0.25 O:0] 2: 25 49"),
              OUT("i8[S:1 O:1] 2: 3 5")),
        GIVES(floor, NULL, IN("i8[S:0.5 O:0] 3: -1 1 3"),
              OUT("i8[S:0.5 O:0] 3: -2 0 2")),
        GIVES(clip, ATTRS(clip, -0.3f, 6), IN("i8[S:0.5 O:0] 3: -9 5 99"),
              OUT("i8[S:0.1 O:0] 3: -3 25 60")),
        GIVES(leakyrelu, ATTRS(leakyrelu, 0.1f), IN("i8[S:1 O:0] 3: -10 0 9"),
              OUT("i8[S:0.1 O:0] 3: -10 0 90")),
        GIVES(hardswish, NULL, IN("i8[S:1 O:0] 4: -9 1 3 9"),
              OUT("i8[S:0.125 O:0] 4: 0 5 24 72")),
        GIVES(mulconst, ATTRS(mulconst, 0.3f), IN("i32[S:1 O:0] 1: 1000000"),
              OUT("i32[S:0.5 O:7] 1: 600007")),
        GIVES(sign, NULL, IN("ui8[S:1 O:9] 3: 0 9 99"),
              OUT("i8[S:1 O:0] 3: -1 0 1")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_pairs(void **state)
{
    static const op_case cases[] = {
        /* The sums 0.5 a + 0.25 b are 2.5, 3.5, -2.5: ties go to even. */
        GIVES(add, NULL, IN("i8[S:0.5 O:3] 3: 7 9 -1", "ui8[S:0.25 O:1] 3: 3"),
              OUT("i8[S:1 O:1] 3: 3 5 -1")),
        GIVES(add, NULL, IN("i8[S:1 O:0] 2: 127 -128", "i8[S:1 O:0] 2: 127 -9"),
              OUT("i8[S:1 O:0] 2: 127 -128")),
        GIVES(sub, NULL, IN("i8[S:0.5 O:3] 2: 7 3", "i8[S:0.25 O:1] 2: 3 5"),
              OUT("i16[S:0.25 O:-100] 2: -94 -104")),
        GIVES(mul, NULL,
              IN("i8[S:0.5 O:3] 3: 7 8 -128", "i8[S:1 O:0] 3: 5 1 9"),
              OUT("i8[S:1 O:1] 3: 11 3 -128")),
        GIVES(add, NULL,
              IN("i32[S:1 O:0] 1: 2000000001", "i32[S:1 O:1] 1: 100000003"),
              OUT("i32[S:1 O:0] 1: 2100000003")),
        GIVES(mul, NULL, IN("i32[S:1 O:0] 1: 2000000001", "i8[S:1 O:0] 1: 3"),
              OUT("i64[S:1 O:0] 1: 6000000003")),
        /* 1 / 0 saturates, 0 / 0 is the offset. */
        GIVES(div, NULL,
              IN("i8[S:0.5 O:3] 4: 9 9 1 3", "ui8[S:2 O:1] 4: 2 1 1 1"),
              OUT("i8[S:0.5 O:5] 4: 8 127 -128 5")),
        GIVES(max, NULL, IN("i8[S:0.5 O:3] 2: 7 3", "i8[S:1 O:0] 2: 1 3"),
              OUT("i8[S:0.25 O:0] 2: 8 12")),
        GIVES(min, NULL, IN("i8[S:0.5 O:3] 2: 7 3", "i8[S:1 O:0] 2: 1 3"),
              OUT("i8[S:0.25 O:0] 2: 4 0")),
        GIVES(pow, NULL,
              IN("i8[S:0.5 O:0] 3: 3 3 -3", "i8[S:0.5 O:0] 3: 4 -4 1"),
              OUT("i8[S:0.125 O:1] 3: 19 5 1")),
        GIVES(fmod, NULL, IN("i8[S:0.5 O:0] 3: 7 -7 7", "i8[S:1 O:0] 3: 3 3 0"),
              OUT("i8[S:0.5 O:9] 3: 10 8 9")),
        GIVES(floordiv, NULL, IN("i8[S:0.5 O:0] 2: 7 -7", "i8[S:1 O:0] 2: 3"),
              OUT("i8[S:1 O:0] 2: 1 -2")),
        GIVES(prelu, NULL, IN("i8[S:1 O:0] 2: -7 7", "ui8[S:0.5 O:0] 2: 1"),
              OUT("i8[S:0.5 O:0] 2: -7 14")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_choices(void **state)
{
    static const op_case cases[] = {
        GIVES(cmpeq, NULL,
              IN("i8[S:0.5 O:3] 3: 7 8 3", "ui8[S:2 O:1] 3: 2 2 1"),
              OUT("bool 3: 1 0 1")),
        GIVES(cmpneq, NULL,
              IN("i8[S:0.5 O:3] 3: 7 8 3", "ui8[S:2 O:1] 3: 2 2 1"),
              OUT("bool 3: 0 1 0")),
        GIVES(cmplt, NULL, IN("i8[S:0.5 O:3] 3: 6 7 8", "ui8[S:2 O:1] 3: 2"),
              OUT("bool 3: 1 0 0")),
        GIVES(cmplte, NULL, IN("i8[S:0.5 O:3] 3: 6 7 8", "ui8[S:2 O:1] 3: 2"),
              OUT("bool 3: 1 1 0")),
        /* 3 * 0.1f rounded to a float is 0.3f, yet exactly it is more. */
        GIVES(cmpeq, NULL, IN("i8[S:0.1 O:0] 1: 3", "i8[S:0.3 O:0] 1: 1"),
              OUT("bool 1: 0")),
        GIVES(
            select, NULL,
            IN("bool 3: 1 0 0", "i8[S:0.5 O:3] 3: 7", "ui8[S:2 O:1] 3: 9 2 1"),
            OUT("i8[S:0.25 O:1] 3: 9 9 1")),
        GIVES(select, NULL,
              IN("bool 2: 1 0", "i8[S:0.5 O:3] 2: 7 8",
                 "i8[S:0.5 O:3] 2: 9 -128"),
              OUT("i8[S:0.5 O:3] 2: 7 -128")),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define POOL(opname, k, s, p, ...)               \
    ATTRS(opname, .kernels = GLOW_DIMS_OF(k, k), \
          .strides = GLOW_DIMS_OF(s, s), .pads = GLOW_DIMS_OF p, __VA_ARGS__)

static void
test_pools(void **state)
{
    const op_case cases[] = {
        GIVES(maxpool, POOL(maxpool, 2, 2, (0, 0, 0, 0), ),
              IN("i8[S:0.5 O:3] 1 2 4 1: 1 -9 3 4 2 -128 5 127"),
              OUT("i8[S:0.5 O:3] 1 1 2 1: 2 127")),
        GIVES(maxpool, POOL(maxpool, 1, 1, (1, 0, 0, 0), ),
              IN("ui8[S:0.5 O:3] 1 1 2 1: 200 3"),
              OUT("ui8[S:0.5 O:3] 1 2 2 1: 0 0 200 3")),
        /* Sums less offsets: 6, 10; quarters of 0.5 in units of 0.25: 3, 5. */
        GIVES(avgpool, POOL(avgpool, 2, 2, (0, 0, 0, 0), ),
              IN("i8[S:0.5 O:3] 1 2 4 1: 4 5 6 7 4 5 4 5"),
              OUT("ui8[S:0.25 O:10] 1 1 2 1: 13 15")),
        /* Ties: 5 / 2 = 2.5 gives 2, 7 / 2 gives 4. */
        GIVES(avgpool,
              ATTRS(avgpool, .kernels = GLOW_DIMS_OF(1, 2),
                    .strides = GLOW_DIMS_OF(1, 2),
                    .pads = GLOW_DIMS_OF(0, 0, 0, 0)),
              IN("i8[S:1 O:-100] 1 1 4 1: -99 -96 -97 -96"),
              OUT("i8[S:1 O:1] 1 1 2 1: 3 5")),
        /* A pad counts as the real 0; a window of pads alone has the offset. */
        GIVES(avgpool, POOL(avgpool, 1, 1, (1, 0, 0, 0), ),
              IN("i8[S:0.5 O:3] 1 1 1 1: 9"),
              OUT("i8[S:0.5 O:7] 1 2 1 1: 7 13")),
        GIVES(avgpool,
              POOL(avgpool, 2, 1, (1, 1, 0, 0), .count_include_pads = true),
              IN("i8[S:0.5 O:3] 1 1 1 1: 19"), OUT("i8[S:0.5 O:3] 1 1 1 1: 7")),
        GIVES(adaptiveavgpool, NULL,
              IN("i16[S:0.5 O:100] 1 3 1 1: 101 104 -32768"),
              OUT("i8[S:0.5 O:1] 1 2 1 1: 3 -128")),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define ALONG(axis) ATTRS(reduce, .axes = GLOW_DIMS_OF(axis))

static void
test_reductions(void **state)
{
    const op_case cases[] = {
        GIVES(batchedreduceadd, ALONG(1),
              IN("i8[S:0.5 O:3] 2 3: 127 127 127 3 2 3"),
              OUT("i16[S:0.5 O:1] 2: 373 0")),
        GIVES(batchedreduceadd, ALONG(1), IN("ui8[S:0.5 O:3] 1 2: 255 255"),
              OUT("i8[S:0.5 O:1] 1: 127")),
        GIVES(batchedreduceadd, ALONG(0), IN("i8[S:0.5 O:3] 0 2: 0"),
              OUT("i8[S:0.5 O:1] 2: 1")),
        GIVES(batchedreduceadd, ALONG(0),
              IN("i32[S:1 O:0] 2: 2000000001 2000000000"),
              OUT("i64[S:1 O:2]: 4000000003")),
        GIVES(batchedreducemean, ALONG(1), IN("i8[S:1 O:3] 2 2: 4 7 -6 4"),
              OUT("i8[S:1 O:1] 2: 3 -3")),
        GIVES(batchedreducemean, ALONG(0), IN("i8[S:1 O:3] 0 1: 4"),
              OUT("i8[S:1 O:9] 1: 9")),
        GIVES(batchedreducemax, ALONG(1), IN("i8[S:1 O:3] 1 3: 4 7 -6"),
              OUT("i8[S:0.5 O:1] 1: 9")),
        GIVES(batchedreducemin, ALONG(1), IN("i8[S:1 O:3] 1 3: 4 7 -6"),
              OUT("i8[S:0.5 O:1] 1: -17")),
        GIVES(batchedreducemin, ALONG(0), IN("i8[S:1 O:3] 0 1: 4"),
              OUT("ui8[S:0.5 O:1] 1: 255")),
        GIVES(batchedreduceprod, ALONG(0), IN("i8[S:1 O:3] 3: 4 5 0"),
              OUT("i8[S:0.5 O:1]: -11")),
        GIVES(argmax, ATTRS(argmax, .axis = 0), IN("ui8[S:1 O:3] 3: 4 200 200"),
              OUT("index64: 1")),
        GIVES(argmin, ATTRS(argmax, .axis = 0), IN("i8[S:1 O:3] 3: 4 -1 -128"),
              OUT("index64: 2")),
        GIVES(topk, ATTRS(topk, .k = 2), IN("i8[S:1 O:3] 4: 4 -1 -128 99"),
              OUT("i8[S:1 O:3] 2: 99 4", "index64 2: 3 0")),
        GIVES(cumsum, ATTRS(cumsum, .dim = 0), IN("i8[S:1 O:3] 3: 4 5 127"),
              OUT("i8[S:0.5 O:1] 3: 3 7 127")),
        REFUSES(topk, ATTRS(topk, .k = 5), IN("i8[S:1 O:3] 4: 4"),
                OUT("i8[S:1 O:3] 2"), "K is 5, but"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_composites(void **state)
{
    const op_case cases[] = {
        GIVES(batchedadd, NULL,
              IN("i8[S:0.5 O:3] 2 2: 7 9 -1 3", "i8[S:0.25 O:1] 2: 3 1"),
              OUT("i8[S:1 O:1] 2 2: 3 4 -1 1")),
        GIVES(batchedmul, NULL,
              IN("i8[S:0.5 O:3] 2 1: 7 9", "ui8[S:2 O:1] 1: 3"),
              OUT("i8[S:1 O:1] 2 1: 9 13")),
        GIVES(softmax, ATTRS(softmax, .axis = 1),
              IN("i8[S:1 O:0] 1 3: 0 0 -100"),
              OUT("ui8[S:0.00390625 O:0] 1 3: 128 128 0")),
        GIVES(logsoftmax, ATTRS(softmax, .axis = 1), IN("i8[S:1 O:0] 1 2: 3 3"),
              OUT("i8[S:0.01 O:0] 1 2: -69 -69")),
        GIVES(batchnormalization, ATTRS(batchnormalization, .channel_idx = 1),
              IN("i8[S:0.5 O:3] 1 2: 7 9", "float 2: 1 2", "float 2: 0 1",
                 "i8[S:1 O:0] 2: 1", "float 2: 1 4"),
              OUT("i8[S:0.5 O:0] 1 2: 2 6")),
        GIVES(layernormalization, ATTRS(layernormalization, .axis = 0),
              IN("i8[S:0.5 O:3] 2: 7 3", "_", "_"),
              OUT("i8[S:0.5 O:1] 2: 3 -1")),
        GIVES(localresponsenormalization,
              ATTRS(localresponsenormalization, 1, 3, 1, 1),
              IN("i8[S:1 O:0] 1 1 1 2: 1 2"),
              OUT("i8[S:0.125 O:0] 1 1 1 2: 1 3")),
        GIVES(batchonehot, NULL,
              IN("i8[S:0.5 O:3] 2 1: 7 9", "index64 1: 2",
                 "i8[S:0.5 O:3] 2: 9 7"),
              OUT("i8[S:0.5 O:1] 2 2: 1 3 3 1")),
        GIVES(resizebilinear,
              ATTRS(grid, .scale = {3, (const float[]){1, 2, 1}}),
              IN("i8[S:0.5 O:3] 1 2 1: 4 7"),
              OUT("i8[S:0.5 O:3] 1 4 1: 4 5 7 7")),
        REFUSES(softmax, ATTRS(softmax, .axis = 1), IN("i8[S:1 O:0] 1 3: 0"),
                OUT("float 1 3"), "the type of Result must be stated"),
        REFUSES(batchedadd, NULL, IN("i8[S:1 O:0] 1 3: 0", "float 3: 1"),
                OUT("i8[S:1 O:0] 1 3"),
                "the elements of Slice are float, but only quantized"),
        REFUSES(batchnormalization, ATTRS(batchnormalization, .channel_idx = 0),
                IN("i8[S:1 O:0] 1: 7", "float 1: 1", "float 1: 0", "int8 1: 1",
                   "float 1: 1"),
                OUT("i8[S:0.5 O:0] 1"),
                "the elements of Mean are int8, but only float and quantized"),
    };

    (void)state;
    CHECK_CASES(cases);
}

/* The functions of the reals, in long double. */
typedef long double (*exact_fn)(long double x, long double y);

static long double
exact_add(long double x, long double y)
{
    return x + y;
}

static long double
exact_sub(long double x, long double y)
{
    return x - y;
}

static long double
exact_mul(long double x, long double y)
{
    return x * y;
}

static long double
exact_max(long double x, long double y)
{
    return x > y ? x : y;
}

static long double
exact_min(long double x, long double y)
{
    return x < y ? x : y;
}

static glow_type
drawn_type(unsigned *seed, int64_t count)
{
    static const glow_kind kinds[] = {GLOW_INT8Q, GLOW_UINT8Q, GLOW_INT16Q};
    glow_type t;

    *seed = *seed * 1664525u + 1013904223u;
    t = glow_type_of(kinds[(*seed >> 8 & 255) % 3], GLOW_DIMS_OF(count));
    t.scale =
        ldexpf(1 + (float)(*seed >> 16 & 1023) / 1024, (int)(*seed >> 28) - 8);
    t.offset = (int32_t)(*seed >> 12 & 127);
    return t;
}

/* Every pair of elements against the reals in long double, within the float error. */
static void
check_pair(op_test *t, const glow_op *op, exact_fn fn, unsigned *seed)
{
    enum { COUNT = 256 * 256 };
    glow_type types[3] = {drawn_type(seed, COUNT), drawn_type(seed, COUNT),
                          drawn_type(seed, COUNT)};
    glow_tensor v[3], *in[2] = {&v[0], &v[1]}, *out[1] = {&v[2]};
    glow_node n = {.op = op};

    for (int i = 0; i < 3; i++)
        v[i] = glow_tensor_new(glow_type_get(t->ctx, types[i]));
    for (int64_t i = 0; i < COUNT; i++)
        for (int k = 0; k < 2; k++) {
            int64_t q = k ? i % 256 : i / 256;

            if (types[k].elem == GLOW_INT16Q)
                q *= 257;
            glow_set_int(&v[k], i, glow_quantized_least(types[k].elem) + q);
        }
    assert_true(op->eval(&n, in, out, t->arena));
    for (int64_t i = 0; i < COUNT; i++) {
        long double x = types[0].scale *
                        ((long double)glow_get_int(&v[0], i) - types[0].offset);
        long double y = types[1].scale *
                        ((long double)glow_get_int(&v[1], i) - types[1].offset);
        long double z = fn(x, y) / types[2].scale + types[2].offset;
        long double low = glow_quantized_least(types[2].elem);
        long double high = glow_quantized_most(types[2].elem);
        long double size =
            fabsl(x / types[2].scale) + fabsl(y / types[2].scale) + fabsl(z);
        long double got = glow_get_int(&v[2], i);

        z = z < low ? low : z > high ? high : z;
        if (fabsl(got - z) > 0.5L + size * 0x1p-22L)
            fail_msg("%s: %Lg, %Lg give %Lg, but should %Lg", op->name, x, y,
                     got, z);
    }
    for (int i = 0; i < 3; i++)
        glow_tensor_end(&v[i]);
}

static void
test_pairs_exactly(void **state)
{
    static const struct {
        const glow_op *op;
        exact_fn fn;
    } rows[] = {{&glow_op_add, exact_add},
                {&glow_op_sub, exact_sub},
                {&glow_op_mul, exact_mul},
                {&glow_op_max, exact_max},
                {&glow_op_min, exact_min}};
    op_test t = {.ctx = glow_context_new(), .arena = glow_arena_new()};
    unsigned seed = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int k = 0; k < 6; k++)
            check_pair(&t, rows[i].op, rows[i].fn, &seed);
    glow_arena_free(t.arena);
    glow_context_free(t.ctx);
}

/* The element that is nearest to the real `z`, which may be a tie by `slack`. */
static void
check_near(const glow_op *op, const glow_tensor *out, int64_t i, long double z,
           long double slack)
{
    const glow_type *t = out->type;
    long double low = glow_quantized_least(t->elem);
    long double high = glow_quantized_most(t->elem);
    long double got = glow_get_int(out, i);

    z = z / t->scale + t->offset;
    z = z < low ? low : z > high ? high : z;
    if (fabsl(got - z) > 0.5L + slack)
        fail_msg("%s: element %lld is %Lg, but should be %Lg", op->name,
                 (long long)i, got, z);
}

static long double
real_at(const glow_tensor *t, int64_t i)
{
    return t->type->scale * ((long double)glow_get_int(t, i) - t->type->offset);
}

/* All elements of a kind, and the operator of one operand in long double. */
static void
check_unary(op_test *t, const glow_op *op, long double (*fn)(long double x),
            unsigned *seed)
{
    glow_type from = drawn_type(seed, 0), to;
    glow_tensor x, y;
    glow_node n = {.op = op};

    from.shape.at[0] = glow_quantized_values(from.elem);
    to = drawn_type(seed, from.shape.at[0]);
    x = glow_tensor_new(glow_type_get(t->ctx, from));
    y = glow_tensor_new(glow_type_get(t->ctx, to));
    for (int64_t i = 0; i < from.shape.at[0]; i++)
        glow_set_int(&x, i, glow_quantized_least(from.elem) + i);
    assert_true(
        op->eval(&n, &(glow_tensor *){&x}, &(glow_tensor *){&y}, t->arena));
    for (int64_t i = 0; i < from.shape.at[0]; i++) {
        long double z = fn(real_at(&x, i));

        if (isnan(z))
            assert_int_equal(glow_get_int(&y, i), to.offset);
        else if (isinf(z) || fabsl(z / to.scale) < 1 << 20)
            check_near(op, &y, i, z, 0x1p-3L);
    }
    glow_tensor_end(&x);
    glow_tensor_end(&y);
}

static long double
exact_relu(long double x)
{
    return x > 0 ? x : 0;
}

static long double
exact_sigmoid(long double x)
{
    return 1 / (1 + expl(-x));
}

static void
test_unary_exactly(void **state)
{
    static const struct {
        const glow_op *op;
        long double (*fn)(long double x);
    } rows[] = {{&glow_op_relu, exact_relu}, {&glow_op_sigmoid, exact_sigmoid},
                {&glow_op_tanh, tanhl},      {&glow_op_log, logl},
                {&glow_op_sqrt, sqrtl},      {&glow_op_atan, atanl},
                {&glow_op_abs, fabsl},       {&glow_op_erf, erfl}};
    op_test t = {.ctx = glow_context_new(), .arena = glow_arena_new()};
    unsigned seed = 3;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int k = 0; k < 6; k++)
            check_unary(&t, rows[i].op, rows[i].fn, &seed);
    glow_arena_free(t.arena);
    glow_context_free(t.ctx);
}

/* Comparisons against exact products: 24 and 17 bits fit a long double. */
static void
test_comparisons_exactly(void **state)
{
    enum { COUNT = 256 * 256 };
    op_test t = {.ctx = glow_context_new(), .arena = glow_arena_new()};
    unsigned seed = 11;

    (void)state;
    for (int k = 0; k < 12; k++) {
        glow_type types[2] = {drawn_type(&seed, COUNT),
                              drawn_type(&seed, COUNT)};
        glow_type bools = glow_type_of(GLOW_BOOL, GLOW_DIMS_OF(COUNT));
        glow_tensor v[2], y = glow_tensor_new(glow_type_get(t.ctx, bools));
        glow_tensor *in[2] = {&v[0], &v[1]}, *out[1] = {&y};
        const glow_op *op = k % 3 == 0   ? &glow_op_cmplt
                            : k % 3 == 1 ? &glow_op_cmplte
                                         : &glow_op_cmpeq;
        glow_node n = {.op = op};

        if (k >= 6) /* the same reals are met often */
            types[1].scale = types[0].scale * 2;
        for (int i = 0; i < 2; i++)
            v[i] = glow_tensor_new(glow_type_get(t.ctx, types[i]));
        for (int64_t i = 0; i < COUNT; i++)
            for (int j = 0; j < 2; j++)
                glow_set_int(&v[j], i,
                             glow_quantized_least(types[j].elem) +
                                 (j ? i % 256 : i / 256));
        assert_true(op->eval(&n, in, out, t.arena));
        for (int64_t i = 0; i < COUNT; i++) {
            long double a = real_at(&v[0], i), b = real_at(&v[1], i);

            assert_int_equal(glow_get_int(&y, i), k % 3 == 0   ? a < b
                                                  : k % 3 == 1 ? a <= b
                                                               : a == b);
        }
        for (int i = 0; i < 2; i++)
            glow_tensor_end(&v[i]);
        glow_tensor_end(&y);
    }
    glow_arena_free(t.arena);
    glow_context_free(t.ctx);
}

/* Rows of 97 elements: their sum, their mean, and that of a pool over them. */
static void
check_sums(op_test *t, const glow_op *op, const void *attrs, glow_dims shape,
           unsigned *seed)
{
    enum { ROWS = 31, SIZE = 97 };
    glow_type from = drawn_type(seed, 0), to = drawn_type(seed, ROWS);
    glow_tensor x, y;
    glow_node n = {.op = op, .attrs = attrs, .n_in = 1, .n_out = 1};

    from.shape = shape;
    if (shape.rank == 4)
        to.shape = GLOW_DIMS_OF(ROWS, 1, 1, 1);
    to.scale = from.scale * (op == &glow_op_batchedreduceadd ? 11 : 0.75f);
    x = glow_tensor_new(glow_type_get(t->ctx, from));
    y = glow_tensor_new(glow_type_get(t->ctx, to));
    glow_tensor_fill(&x, GLOW_FILL_RANDOM, *seed);
    assert_true(
        op->eval(&n, &(glow_tensor *){&x}, &(glow_tensor *){&y}, t->arena));
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t sum = 0;

        for (int64_t k = 0; k < SIZE; k++)
            sum += glow_get_int(&x, i * SIZE + k) - from.offset;
        check_near(op, &y, i,
                   from.scale * (long double)sum /
                       (op == &glow_op_batchedreduceadd ? 1 : SIZE),
                   0x1p-7L);
    }
    glow_tensor_end(&x);
    glow_tensor_end(&y);
}

static void
test_sums_exactly(void **state)
{
    const glow_avgpool pool = {.kernels = GLOW_DIMS_OF(1, 97),
                               .strides = GLOW_DIMS_OF(1, 1),
                               .pads = GLOW_DIMS_OF(0, 0, 0, 0)};
    op_test t = {.ctx = glow_context_new(), .arena = glow_arena_new()};
    unsigned seed = 5;

    (void)state;
    for (int k = 0; k < 8; k++) {
        check_sums(&t, &glow_op_batchedreduceadd, ALONG(1),
                   GLOW_DIMS_OF(31, 97), &seed);
        check_sums(&t, &glow_op_batchedreducemean, ALONG(1),
                   GLOW_DIMS_OF(31, 97), &seed);
        check_sums(&t, &glow_op_avgpool, &pool, GLOW_DIMS_OF(31, 1, 97, 1),
                   &seed);
        check_sums(&t, &glow_op_adaptiveavgpool, NULL,
                   GLOW_DIMS_OF(31, 1, 97, 1), &seed);
    }
    glow_arena_free(t.arena);
    glow_context_free(t.ctx);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_composites),
        cmocka_unit_test(test_pairs_exactly),
        cmocka_unit_test(test_unary_exactly),
        cmocka_unit_test(test_comparisons_exactly),
        cmocka_unit_test(test_sums_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
