/* Matrix products, convolution, pooling. */

#include "ops.h"

#include "glow/ops.h"

#define DIMS(...) GLOW_DIMS_OF(__VA_ARGS__)
#define HUGE_INT INT64_C(4611686018427387904)

static void
test_matmul(void **state)
{
    const op_case cases[] = {
        GIVES(matmul, NULL, IN("float 2 3: 1 2 3 4 5 6", "float 3 1: 1 0 -1"),
              OUT("float 2 1: -2 -2")),
        GIVES(matmul, NULL, IN("float 5 1: 1 2 3 4 5", "float 1 5: 1 2 3 4 5"),
              OUT("float 5 5: 1 2 3 4 5 2 4 6 8 10 3 6 9 12 15 4 8 12 16 20 "
                  "5 10 15 20 25")),
        GIVES(matmul, NULL, IN("float 2 0:", "float 0 2:"),
              OUT("float 2 2: 0")),
        GIVES(matmul, NULL, IN("float 0 2:", "float 2 3: 1"),
              OUT("float 0 3:")),
        GIVES(matmul, NULL, IN("float 70 3: 1", "float 3 9: 2"),
              OUT("float 70 9: 6")),
        REFUSES(matmul, NULL, IN("float 2 3: 1", "float 2 3: 1"),
                OUT("float 2 3"), "LHS has 3 columns, but RHS has 2 rows"),
        REFUSES(matmul, NULL, IN("float 2 3 1: 1", "float 2 3: 1"),
                OUT("float 2 3"), "the rank of LHS is 3, but must be 2"),
        REFUSES(matmul, NULL, IN("bool 1 1: 1", "bool 1 1: 1"), OUT("bool 1 1"),
                "the elements of LHS are bool"),
        GIVES(matmul, NULL, IN("int8 1 2: 100 1", "int8 2 1: 2 3"),
              OUT("int8 1 1: -53")),
        GIVES(matmul, NULL,
              IN("index64 1 2: 9007199254740993 1", "index64 2 1: 1 1"),
              OUT("index64 1 1: 9007199254740994")),
        GIVES(batchmatmul, NULL,
              IN("uint32 2 1 2: 4294967295 1 2 3", "uint32 2 2 1: 2 1 4 5"),
              OUT("uint32 2 1 1: 4294967295 23")),
        GIVES(gemm, ATTRS(gemm, 2, -1, true, true),
              IN("index32 2 1: 1 2", "index32 1 2: 3 4", "index32 1 1: 5"),
              OUT("index32 1 1: 17")),
        REFUSES(gemm, ATTRS(gemm, 0.5f, 1, false, false),
                IN("index32 1 1: 1", "index32 1 1: 1", "_"), OUT("index32 1 1"),
                "Alpha is 0.5 and Beta is 1, but integers are scaled by"),
    };

    (void)state;
    CHECK_CASES(cases);
}

/*
 * Whatever the blocks and registers, each sum is that of the plain loop.  What is
 * multiplied by lies row by row, or column by column.
 */
static void
check_product(int64_t rows, int64_t depth, int64_t columns, bool by_columns)
{
    glow_context *ctx = glow_context_new();
    glow_module *m = glow_module_new(ctx);
    glow_arena *arena = glow_arena_new();
    glow_builder *b = glow_builder_new(arena, glow_func_new(m, "main"), NULL);
    const glow_type *types[] = {
        glow_type_get(ctx, glow_type_of(GLOW_FLOAT64, DIMS(rows, depth))),
        glow_type_get(
            ctx, glow_type_of(GLOW_FLOAT64, by_columns ? DIMS(columns, depth)
                                                       : DIMS(depth, columns))),
        glow_type_get(ctx, glow_type_of(GLOW_FLOAT64, DIMS(rows, columns)))};
    glow_tensor t[3], *in[] = {&t[0], &t[1], NULL}, *out[] = {&t[2]};
    glow_value *y = GLOW_BUILD(
        b, gemm,
        GLOW_IN(&glow_placeholder_new(m, "x", types[0])->value,
                &glow_placeholder_new(m, "w", types[1])->value, NULL),
        1, 1, false, by_columns);
    int64_t step = by_columns ? 1 : columns, next = by_columns ? depth : 1;
    const double *x, *w;

    for (int i = 0; i < 3; i++)
        t[i] = glow_tensor_new(types[i]);
    glow_tensor_fill(&t[0], GLOW_FILL_RANDOM, 1);
    glow_tensor_fill(&t[1], GLOW_FILL_RANDOM, 2);
    assert_true(glow_eval_node(y->def, in, out, arena));
    x = t[0].data, w = t[1].data;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double sum = 0;

            for (int64_t k = 0; k < depth; k++)
                sum += x[i * depth + k] * w[k * step + j * next];
            assert_true(sum == ((double *)t[2].data)[i * columns + j]);
        }
    for (int i = 0; i < 3; i++)
        glow_tensor_end(&t[i]);
    glow_arena_free(arena);
    glow_module_free(m);
    glow_context_free(ctx);
}

static void
test_blocks(void **state)
{
    (void)state;
    for (int by_columns = 0; by_columns < 2; by_columns++) {
        check_product(70, 37, 21,
                      by_columns); /* more than a block, odd edges */
        check_product(3, 50, 700, by_columns);  /* few rows, many columns */
        check_product(2, 1100, 13, by_columns); /* few rows, deep */
        check_product(4, 8, 8, by_columns);     /* one tile */
        for (int64_t rows = 1; rows < 20; rows++)
            check_product(rows, 5, 9, by_columns);
    }
    check_product(7, 300000, 33, false); /* more than a group of columns */
}

static void
test_batchmatmul(void **state)
{
    const op_case cases[] = {
        GIVES(batchmatmul, NULL,
              IN("float 2 1 2: 1 2 3 4", "float 2 2 1: 5 6 7 8"),
              OUT("float 2 1 1: 17 53")),
        REFUSES(batchmatmul, NULL, IN("float 2 1 2: 1", "float 3 2 1: 1"),
                OUT("float 2 1 1"), "LHS is a batch of 2, but RHS one of 3"),
        REFUSES(batchmatmul, NULL, IN("float 2 1 2: 1", "float 2 3 1: 1"),
                OUT("float 2 1 1"), "LHS has 2 columns, but RHS has 3 rows"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_fullyconnected(void **state)
{
    const op_case cases[] = {
        GIVES(
            fullyconnected, ATTRS(fullyconnected, 1),
            IN("float 2 1 2: 1 2 3 4", "float 2 2: 1 2 3 4", "float 2: 10 20"),
            OUT("float 2 2: 17 30 25 42")),
        GIVES(fullyconnected, ATTRS(fullyconnected, 2),
              IN("float 2 1 1: 1 2", "float 1 1: 3", "float 1: 1"),
              OUT("float 2 1: 4 7")),
        REFUSES(fullyconnected, ATTRS(fullyconnected, 1),
                IN("float 2 3: 1", "float 2 2: 1", "float 2: 1"),
                OUT("float 2 2"),
                "Input has 3 columns, but Weights has 2 rows"),
        REFUSES(
            fullyconnected, ATTRS(fullyconnected, 1),
            IN("float 2 2: 1", "float 2 2: 1", "float 3: 1"), OUT("float 2 2"),
            "the shape of Bias is <3>, but that of a row of Weights is <2>"),
        REFUSES(fullyconnected, ATTRS(fullyconnected, 3),
                IN("float 2 2: 1", "float 2 2: 1", "float 2: 1"),
                OUT("float 2 2"), "Axis is 3, but the rank of Input is 2"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_gemm(void **state)
{
    const op_case cases[] = {
        GIVES(gemm, ATTRS(gemm, 2, 3, false, false),
              IN("float 1 2: 1 2", "float 2 1: 3 4", "float 1 1: 5"),
              OUT("float 1 1: 37")),
        GIVES(gemm, ATTRS(gemm, 1, 1, true, true),
              IN("float 2 1: 1 2", "float 2 2: 3 4 5 6", "_"),
              OUT("float 1 2: 11 17")),
        REFUSES(gemm, ATTRS(gemm, 1, 1, true, false),
                IN("float 1 2: 1", "float 2 1: 3", "_"), OUT("float 1 1"),
                "A has 1 columns, but B has 2 rows"),
        REFUSES(gemm, ATTRS(gemm, 1, 1, false, false),
                IN("float 1 2: 1", "float 2 1: 3", "float 1: 1"),
                OUT("float 1 1"),
                "the shape of C is <1>, but that of the product is <1 x 1>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_batchedadd(void **state)
{
    const op_case cases[] = {
        GIVES(batchedadd, NULL, IN("float 2 2: 1 2 3 4", "float 2: 10 20"),
              OUT("float 2 2: 11 22 13 24")),
        GIVES(batchedadd, NULL, IN("int8 2: 127 1", "int8: 1"),
              OUT("int8 2: -128 2")),
        REFUSES(batchedadd, NULL, IN("float 2 3: 1", "float 2: 1"),
                OUT("float 2 3"),
                "the shape of Slice is <2>, but that of one of Batch is <3>"),
        REFUSES(batchedadd, NULL, IN("float: 1", "float: 1"), OUT("float"),
                "the rank of Batch is 0, but must be at least 1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define CONV(...) ATTRS(convolution, __VA_ARGS__)

static void
test_convolution(void **state)
{
    const op_case cases[] = {
        /* 2 x 2 sums of 1 .. 9 */
        GIVES(convolution,
              CONV(DIMS(2, 2), DIMS(1, 1), DIMS(0, 0, 0, 0), 1, {0}),
              IN("float 1 3 3 1: 1 2 3 4 5 6 7 8 9", "float 1 2 2 1: 1",
                 "float 1: 100"),
              OUT("float 1 2 2 1: 112 116 124 128")),
        /* The same with pads on one side, a stride, no bias. */
        GIVES(convolution,
              CONV(DIMS(2, 2), DIMS(2, 2), DIMS(1, 1, 0, 0), 1, {0}),
              IN("float 1 3 3 1: 1 2 3 4 5 6 7 8 9", "float 1 2 2 1: 1", "_"),
              OUT("float 1 2 2 1: 1 5 11 28")),
        /* Filters are not turned around; channels are the innermost axis. */
        GIVES(convolution, CONV(DIMS(2), DIMS(1), DIMS(0, 0), 1, {0}),
              IN("float 1 3 2: 1 2 3 4 5 6", "float 1 2 2: 1 10 100 1000", "_"),
              OUT("float 1 2 1: 4321 6543")),
        /* Dilation. */
        GIVES(convolution, CONV(DIMS(2), DIMS(1), DIMS(0, 0), 1, DIMS(2)),
              IN("float 1 4 1: 1 2 3 4", "float 1 2 1: 1 10", "_"),
              OUT("float 1 2 1: 31 42")),
        /* Each group sees its own channels: depthwise. */
        GIVES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, 0), 2, {0}),
              IN("float 1 2 2: 1 2 3 4", "float 2 1 1: 10 100", "float 2: 1 2"),
              OUT("float 1 2 2: 11 202 31 402")),
        /* Two groups of two channels, one result each. */
        GIVES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, 0), 2, {0}),
              IN("float 2 1 4: 1 2 3 4 5 6 7 8", "float 2 1 2: 1 1 1 -1", "_"),
              OUT("float 2 1 2: 3 -1 11 -1")),
        /* Three spatial axes. */
        GIVES(
            convolution,
            CONV(DIMS(2, 1, 2), DIMS(1, 1, 1), DIMS(0, 0, 0, 0, 0, 0), 1, {0}),
            IN("float 1 2 1 2 1: 1 2 3 4", "float 1 2 1 2 1: 1 10 100 1000",
               "_"),
            OUT("float 1 1 1 1 1: 4321")),
        GIVES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}),
              IN("float 0 2 1:", "float 3 1 1: 1", "_"), OUT("float 0 2 3:")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_convolution_refusals(void **state)
{
    const op_case cases[] = {
        REFUSES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}),
                IN("float 1 2: 1", "float 1 1: 1", "_"), OUT("float 1 2"),
                "the rank of Input is 2, but must be 3 to 5"),
        REFUSES(convolution, CONV(DIMS(1, 1), DIMS(1), DIMS(0, 0), 1, {0}),
                IN("float 1 2 1: 1", "float 1 1 1: 1", "_"), OUT("float 1"),
                "Kernels has 2 elements, but Input of rank 3 needs 1"),
        REFUSES(convolution, CONV(DIMS(1), DIMS(0), DIMS(0, 0), 1, {0}),
                IN("float 1 2 1: 1", "float 1 1 1: 1", "_"), OUT("float 1"),
                "Strides[0] is 0, but must be at least 1"),
        REFUSES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, -1), 1, {0}),
                IN("float 1 2 1: 1", "float 1 1 1: 1", "_"), OUT("float 1"),
                "Pads[1] is -1, but must be at least 0"),
        REFUSES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, 0), 1, DIMS(0)),
                IN("float 1 2 1: 1", "float 1 1 1: 1", "_"), OUT("float 1"),
                "Dilation[0] is 0"),
        REFUSES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, 0), 3, {0}),
                IN("float 1 2 4: 1", "float 3 1 1: 1", "_"), OUT("float 1"),
                "Group is 3, but Input has 4 channels"),
        REFUSES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, 0), 2, {0}),
                IN("float 1 2 4: 1", "float 3 1 2: 1", "_"), OUT("float 1"),
                "Group is 2, but Filter makes 3 channels"),
        REFUSES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, 0), 0, {0}),
                IN("float 1 2 4: 1", "float 3 1 2: 1", "_"), OUT("float 1"),
                "Group is 0"),
        REFUSES(convolution, CONV(DIMS(2), DIMS(1), DIMS(0, 0), 1, {0}),
                IN("float 1 2 4: 1", "float 3 1 4: 1", "_"), OUT("float 1"),
                "the shape of Filter is <3 x 1 x 4>, but what Input, Kernels "
                "and Group ask for is <3 x 2 x 4>"),
        REFUSES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}),
                IN("float 1 2 4: 1", "float 3 1 4: 1", "float 4: 1"),
                OUT("float 1"), "the shape of Bias is <4>"),
        REFUSES(convolution, CONV(DIMS(3), DIMS(1), DIMS(0, 0), 1, DIMS(2)),
                IN("float 1 4 1: 1", "float 1 3 1: 1", "_"), OUT("float 1"),
                "the kernel spans 5 elements of axis 1, but the padded Input "
                "has 4"),
        REFUSES(
            convolution, CONV(DIMS(3), DIMS(1), DIMS(0, 0), 1, DIMS(HUGE_INT)),
            IN("float 1 4 1: 1", "float 1 3 1: 1", "_"), OUT("float 1"),
            "a kernel of 3 with a dilation of 4611686018427387904 on axis 1"),
        REFUSES(convolution,
                CONV(DIMS(1), DIMS(1), DIMS(HUGE_INT, HUGE_INT), 1, {0}),
                IN("float 1 4 1: 1", "float 1 1 1: 1", "_"), OUT("float 1"),
                "axis 1 of 4 with pads of 4611686018427387904"),
        REFUSES(convolution, CONV(DIMS(1), DIMS(1), DIMS(HUGE_INT, 0), 1, {0}),
                IN("float 1 4 1: 1", "float 1 1 1: 1", "_"), OUT("float 1"),
                "larger than the 2^47 bytes"),
        REFUSES(convolution, CONV(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}),
                IN("index32 1 2 1: 1", "index32 1 1 1: 1", "_"), OUT("float 1"),
                "the elements of Input are index32, but only float"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define FILTERGRAD(...) ATTRS(convolutionfiltergrad, __VA_ARGS__)

static void
test_convolutionfiltergrad(void **state)
{
    const op_case cases[] = {
        /* Each tap sees what the windows move over; zeros outside. */
        GIVES(convolutionfiltergrad,
              FILTERGRAD(DIMS(2), DIMS(1), DIMS(0, 0), 1, {0}),
              IN("float 1 3 1: 1 2 3", "float 1 2 1: 1 10"),
              OUT("float 1 2 1: 21 32")),
        GIVES(convolutionfiltergrad,
              FILTERGRAD(DIMS(2), DIMS(2), DIMS(1, 0), 1, {0}),
              IN("float 1 3 1: 1 2 3", "float 1 2 1: 1 10"),
              OUT("float 1 2 1: 20 31")),
        /* Taps two apart; the last window is missing. */
        GIVES(convolutionfiltergrad,
              FILTERGRAD(DIMS(2), DIMS(1), DIMS(0, 0), 1, DIMS(2)),
              IN("float 1 4 1: 1 2 3 4", "float 1 1 1: 10"),
              OUT("float 1 2 1: 10 30")),
        /* Two outputs by two channels; then two groups; a batch adds up. */
        GIVES(convolutionfiltergrad,
              FILTERGRAD(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}),
              IN("float 1 1 2: 1 2", "float 1 1 2: 10 100"),
              OUT("float 2 1 2: 10 20 100 200")),
        GIVES(convolutionfiltergrad,
              FILTERGRAD(DIMS(1), DIMS(1), DIMS(0, 0), 2, {0}),
              IN("float 2 1 2: 1 2 3 4", "float 2 1 2: 10 100 1000 10000"),
              OUT("float 2 1 1: 3010 40200")),
        GIVES(convolutionfiltergrad,
              FILTERGRAD(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}),
              IN("float 0 1 2:", "float 0 1 1:"), OUT("float 1 1 2: 0 0")),
        REFUSES(convolutionfiltergrad,
                FILTERGRAD(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}),
                IN("float 1 2 1: 1", "float 2 2 1: 1"), OUT("float 1"),
                "Input has a batch of 1, and ResultGrad one of 2"),
        REFUSES(convolutionfiltergrad,
                FILTERGRAD(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}),
                IN("float 1 2 1: 1", "float 1 1 1: 1"), OUT("float 1"),
                "axis 1 of ResultGrad has 1 elements, but Input has 2 windows"),
        REFUSES(convolutionfiltergrad,
                FILTERGRAD(DIMS(1), DIMS(1), DIMS(0, 0), 2, {0}),
                IN("float 1 1 2: 1", "float 1 1 3: 1"), OUT("float 1"),
                "Group is 2, but Filter makes 3 channels"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define CONVT(...) ATTRS(convtranspose, __VA_ARGS__)

static void
test_convtranspose(void **state)
{
    const op_case cases[] = {
        /* Each element is spread over two, two apart. */
        GIVES(convtranspose, CONVT(DIMS(2), DIMS(2), DIMS(0, 0), 1, {0}, {0}),
              IN("float 1 2 1: 1 2", "float 1 2 1: 1 10", "float 1: 100"),
              OUT("float 1 4 1: 101 110 102 120")),
        /* They overlap; pads cut, output padding adds. */
        GIVES(convtranspose, CONVT(DIMS(3), DIMS(1), DIMS(1, 0), 1, {0}, {0}),
              IN("float 1 2 1: 1 2", "float 1 3 1: 1 10 100", "_"),
              OUT("float 1 3 1: 12 120 200")),
        GIVES(convtranspose,
              CONVT(DIMS(1), DIMS(2), DIMS(0, 0), 1, {0}, DIMS(1)),
              IN("float 1 2 1: 1 2", "float 1 1 1: 1", "_"),
              OUT("float 1 4 1: 1 0 2 0")),
        GIVES(convtranspose,
              CONVT(DIMS(2), DIMS(1), DIMS(0, 0), 1, DIMS(2), {0}),
              IN("float 1 2 1: 1 2", "float 1 2 1: 1 10", "_"),
              OUT("float 1 4 1: 1 2 10 20")),
        /* Two channels in, two out; then two groups. */
        GIVES(convtranspose, CONVT(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}, {0}),
              IN("float 1 1 2: 1 2", "float 2 1 2: 1 10 100 1000", "_"),
              OUT("float 1 1 2: 201 2010")),
        GIVES(convtranspose, CONVT(DIMS(1), DIMS(1), DIMS(0, 0), 2, {0}, {0}),
              IN("float 1 1 2: 1 2", "float 2 1 2: 1 10 100 1000", "_"),
              OUT("float 1 1 4: 1 10 200 2000")),
        GIVES(convtranspose,
              CONVT(DIMS(2, 2), DIMS(2, 2), DIMS(0, 0, 1, 1), 1, {0}, {0}),
              IN("float 1 2 1 1: 1 2", "float 1 2 2 1: 1 2 3 4", "_"),
              OUT("float 1 3 1 1: 1 3 2")),
        REFUSES(convtranspose, CONVT(DIMS(1), DIMS(1), DIMS(0, 0), 3, {0}, {0}),
                IN("float 1 1 2: 1", "float 2 1 1: 1", "_"), OUT("float 1"),
                "Group is 3, but Input has 2 channels"),
        REFUSES(convtranspose, CONVT(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}, {0}),
                IN("float 1 1 2: 1", "float 3 1 1: 1", "_"), OUT("float 1"),
                "the shape of Filter is <3 x 1 x 1>"),
        REFUSES(convtranspose,
                CONVT(DIMS(1), DIMS(2), DIMS(0, 0), 1, {0}, DIMS(2)),
                IN("float 1 1 1: 1", "float 1 1 1: 1", "_"), OUT("float 1"),
                "OutputPadding on axis 1 is 2, but the stride is 2"),
        REFUSES(convtranspose,
                CONVT(DIMS(1), DIMS(2), DIMS(0, 0), 1, {0}, DIMS(0, 0)),
                IN("float 1 1 1: 1", "float 1 1 1: 1", "_"), OUT("float 1"),
                "OutputPadding has 2 elements, but Input of rank 3 needs 1"),
        REFUSES(convtranspose, CONVT(DIMS(1), DIMS(1), DIMS(3, 0), 1, {0}, {0}),
                IN("float 1 1 1: 1", "float 1 1 1: 1", "_"), OUT("float 1"),
                "pads of 3 and 0 on axis 1 leave -2 elements"),
        REFUSES(convtranspose,
                CONVT(DIMS(1), DIMS(HUGE_INT), DIMS(0, 0), 1, {0}, {0}),
                IN("float 1 4 1: 1", "float 1 1 1: 1", "_"), OUT("float 1"),
                "axis 1 of 4 with a stride of 4611686018427387904"),
        REFUSES(convtranspose, CONVT(DIMS(1), DIMS(1), DIMS(0, 0), 1, {0}, {0}),
                IN("float 1 0 1:", "float 1 1 1: 1", "_"), OUT("float 1"),
                "axis 1 of Input has 0 elements"),
        REFUSES(convtranspose,
                CONVT(DIMS(1), DIMS(1), DIMS(0, 0), HUGE_INT, {0}, {0}),
                IN("float 1 1 0:", "float 0 1 4:", "_"), OUT("float 1"),
                "4611686018427387904 groups of 4 channels are too many"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define MAXP(...) ATTRS(maxpool, __VA_ARGS__)
#define ARGP(...) ATTRS(maxpoolwithargmax, __VA_ARGS__)

static void
test_maxpool(void **state)
{
    const op_case cases[] = {
        GIVES(maxpool,
              MAXP(DIMS(2, 2), DIMS(1, 1), DIMS(0, 0, 0, 0), {0}, false),
              IN("float 1 3 3 1: 1 9 3 4 5 6 7 8 2"),
              OUT("float 1 2 2 1: 9 9 8 8")),
        /* Pads never win. */
        GIVES(maxpool, MAXP(DIMS(2), DIMS(2), DIMS(1, 1), {0}, false),
              IN("float 1 2 2: -1 -2 -3 -4"), OUT("float 1 2 2: -1 -2 -3 -4")),
        GIVES(maxpool, MAXP(DIMS(2), DIMS(2), DIMS(0, 0), {0}, false),
              IN("float 1 3 1: 1 2 3"), OUT("float 1 1 1: 2")),
        GIVES(maxpool, MAXP(DIMS(2), DIMS(2), DIMS(0, 0), {0}, true),
              IN("float 1 3 1: 1 2 3"), OUT("float 1 2 1: 2 3")),
        /* A window that would begin in the last pad is none. */
        GIVES(maxpool, MAXP(DIMS(1), DIMS(2), DIMS(0, 1), {0}, true),
              IN("float 1 2 1: 1 2"), OUT("float 1 1 1: 1")),
        GIVES(maxpool, MAXP(DIMS(2), DIMS(1), DIMS(0, 0), DIMS(2), false),
              IN("int8 1 4 1: -1 -2 -3 -4"), OUT("int8 1 2 1: -1 -2")),
        GIVES(maxpool, MAXP(DIMS(2), DIMS(1), DIMS(0, 0), {0}, false),
              IN("float 1 3 1: 1 nan 2"), OUT("float 1 2 1: nan nan")),
        /* Nothing but pads. */
        GIVES(maxpool, MAXP(DIMS(2), DIMS(1), DIMS(1, 1), DIMS(2), false),
              IN("float 1 1 1: 1"), OUT("float 1 1 1: -inf")),
        GIVES(maxpool, MAXP(DIMS(2), DIMS(1), DIMS(1, 1), DIMS(2), false),
              IN("int8 1 1 1: 1"), OUT("int8 1 1 1: -128")),
        REFUSES(maxpool, MAXP(DIMS(3), DIMS(1), DIMS(0, 0), {0}, false),
                IN("float 1 2 1: 1"), OUT("float 1"),
                "the kernel spans 3 elements of axis 1, but the padded Input "
                "has 2"),
        REFUSES(maxpool, MAXP(DIMS(3), DIMS(1), DIMS(0), {0}, false),
                IN("float 1 2 1: 1"), OUT("float 1"),
                "Pads has 1 elements, but Input of rank 3 needs 2"),
        REFUSES(maxpool, MAXP(DIMS(1), DIMS(1), DIMS(0, 0), {0}, false),
                IN("bool 1 2 1: 1"), OUT("float 1"),
                "the elements of Input are bool"),
    };

    (void)state;
    CHECK_CASES(cases);
}

/* A kernel as large as its pads takes no longer than what it covers. */
static void
test_huge_kernels(void **state)
{
    const op_case cases[] = {
        GIVES(maxpool,
              MAXP(DIMS(HUGE_INT), DIMS(1), DIMS(HUGE_INT - 1, 0), {0}, false),
              IN("float 1 1 1: 5"), OUT("float 1 1 1: 5")),
        GIVES(avgpool,
              ATTRS(avgpool, DIMS(HUGE_INT), DIMS(1), DIMS(HUGE_INT - 2, 0),
                    {0}, false, false),
              IN("float 1 2 1: 5 6"), OUT("float 1 1 1: 5.5")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_maxpoolwithargmax(void **state)
{
    const op_case cases[] = {
        GIVES(maxpoolwithargmax,
              ARGP(DIMS(2, 2), DIMS(1, 1), DIMS(0, 0, 0, 0), {0}, false),
              IN("float 1 3 3 1: 1 9 3 4 5 6 7 8 8"),
              OUT("float 1 2 2 1: 9 9 8 8", "index64 1 2 2 1: 1 1 7 7")),
        GIVES(maxpoolwithargmax, ARGP(DIMS(1), DIMS(1), DIMS(0, 0), {0}, false),
              IN("float 2 1 2: 1 2 3 4"),
              OUT("float 2 1 2: 1 2 3 4", "index64 2 1 2: 0 1 2 3")),
        GIVES(maxpoolwithargmax,
              ARGP(DIMS(2), DIMS(1), DIMS(1, 1), DIMS(2), false),
              IN("float 1 1 1: 1"),
              OUT("float 1 1 1: -inf", "index64 1 1 1: -1")),
        REFUSES(maxpoolwithargmax,
                ARGP(DIMS(0), DIMS(1), DIMS(0, 0), {0}, false),
                IN("float 1 1 1: 1"), OUT("float 1"), "Kernels[0] is 0"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define MAXG(...) ATTRS(maxpoolgrad, __VA_ARGS__)

static void
test_maxpoolgrad(void **state)
{
    const op_case cases[] = {
        /* Windows that overlap add up; the first of equals gets all. */
        GIVES(maxpoolgrad,
              MAXG(DIMS(2, 2), DIMS(1, 1), DIMS(0, 0, 0, 0), {0}, false),
              IN("float 1 3 3 1: 1 9 3 4 5 6 7 8 8",
                 "float 1 2 2 1: 1 10 100 1000"),
              OUT("float 1 3 3 1: 0 11 0 0 0 0 0 1100 0")),
        GIVES(maxpoolgrad, MAXG(DIMS(2), DIMS(2), DIMS(0, 0), {0}, true),
              IN("float 1 3 1: 1 2 3", "float 1 2 1: 10 100"),
              OUT("float 1 3 1: 0 10 100")),
        GIVES(maxpoolgrad, MAXG(DIMS(2), DIMS(1), DIMS(1, 1), DIMS(2), false),
              IN("float 1 1 1: 1", "float 1 1 1: 5"), OUT("float 1 1 1: 0")),
        REFUSES(maxpoolgrad, MAXG(DIMS(2), DIMS(1), DIMS(0, 0), {0}, false),
                IN("float 1 2 1: 1", "float 1 2 1: 1"), OUT("float 1"),
                "the shape of ResultGrad is <1 x 2 x 1>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define AVGP(...) ATTRS(avgpool, __VA_ARGS__)

static void
test_avgpool(void **state)
{
    const op_case cases[] = {
        GIVES(avgpool,
              AVGP(DIMS(2, 2), DIMS(1, 1), DIMS(0, 0, 0, 0), {0}, false, false),
              IN("float 1 3 3 1: 1 2 3 4 5 6 7 8 9"),
              OUT("float 1 2 2 1: 3 4 6 7")),
        GIVES(avgpool, AVGP(DIMS(2), DIMS(1), DIMS(1, 0), {0}, false, false),
              IN("float 1 2 1: 2 4"), OUT("float 1 2 1: 2 3")),
        GIVES(avgpool, AVGP(DIMS(2), DIMS(1), DIMS(1, 0), {0}, false, true),
              IN("float 1 2 1: 2 4"), OUT("float 1 2 1: 1 3")),
        /* Beyond the pads nothing counts, whatever CountIncludePads. */
        GIVES(avgpool, AVGP(DIMS(2), DIMS(2), DIMS(0, 0), {0}, true, true),
              IN("float 1 3 1: 2 4 6"), OUT("float 1 2 1: 3 6")),
        GIVES(avgpool, AVGP(DIMS(3), DIMS(2), DIMS(0, 1), {0}, true, true),
              IN("float 1 4 1: 1 2 3 6"), OUT("float 1 2 1: 2 3")),
        GIVES(avgpool,
              AVGP(DIMS(2), DIMS(1), DIMS(0, 0), DIMS(2), false, false),
              IN("float 1 3 2: 1 2 3 4 5 6"), OUT("float 1 1 2: 3 4")),
        REFUSES(avgpool, AVGP(DIMS(1), DIMS(1), DIMS(0, 0), {0}, false, false),
                IN("int8 1 2 1: 1"), OUT("float 1"),
                "the elements of Input are int8, but only float"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_batchmatmul),
        cmocka_unit_test(test_fullyconnected),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_batchedadd),
        cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_convolution_refusals),
        cmocka_unit_test(test_convolutionfiltergrad),
        cmocka_unit_test(test_convtranspose),
        cmocka_unit_test(test_maxpool),
        cmocka_unit_test(test_huge_kernels),
        cmocka_unit_test(test_maxpoolgrad),
        cmocka_unit_test(test_maxpoolwithargmax),
        cmocka_unit_test(test_avgpool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
