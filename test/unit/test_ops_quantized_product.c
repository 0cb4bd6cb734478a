/* Products of quantized elements. */

#include "ops.h"

#include "glow/ops.h"

#define LINE                                        \
    (&(const glow_convolution){.kernels = {1, {3}}, \
                               .strides = {1, {1}}, \
                               .pads = {2, {1, 1}}, \
                               .group = 1})
#define POINT                                       \
    (&(const glow_convolution){.kernels = {1, {1}}, \
                               .strides = {1, {1}}, \
                               .pads = {2, {0, 0}}, \
                               .group = 1})
#define DYNAMIC(symmetric, each) \
    ATTRS(dynamicquantizedfullyconnected, symmetric, each)

static void
test_values(void **state)
{
    const op_case cases[] = {
        /* Outside of Input is its offset: 3 less 3. */
        GIVES(convolution, LINE,
              IN("i8[S:0.5 O:3] 1 3 1: 5 3 4", "i8[S:2 O:1] 1 3 1: 2 3 4",
                 "i32[S:1 O:0] 1: 10"),
              OUT("i8[S:1 O:-1] 1 3 1: 13 14 11")),
        /* Ties: sums of 1, 3, -1, -3 at half a step. */
        GIVES(matmul, NULL,
              IN("i8[S:1 O:0] 4 1: 1 3 -1 -3", "i8[S:1 O:0] 1 1: 1"),
              OUT("i8[S:2 O:1] 4 1: 1 3 1 -1")),
        GIVES(matmul, NULL,
              IN("ui8[S:1 O:0] 1 1: 255", "i8[S:1 O:0] 1 2: 127 -128"),
              OUT("i32[S:1 O:5] 1 2: 32390 -32635")),
        GIVES(batchmatmul, NULL,
              IN("i16[S:1 O:0] 1 1 1: -32768", "i16[S:1 O:0] 1 1 1: -32768"),
              OUT("i32[S:0.5 O:0] 1 1 1: 2147483647")),
        GIVES(fullyconnected, ATTRS(fullyconnected, 1),
              IN("i8[S:1 O:0] 1 2: 1 2", "i8[S:1 O:0] 2 2: 3 4 5 6",
                 "i8[S:0.5 O:1] 2: 3 4"),
              OUT("i8[S:1 O:0] 1 2: 14 18")),
        GIVES(rowwisequantizedfullyconnected, NULL,
              IN("i8[S:1 O:0] 1 2: 1 2", "i8[S:9 O:9] 2 2: 3 5 4 6",
                 "float 2: 1 0.5", "index32 2: 0 -1", "i32[S:0.5 O:0] 2: 2 4"),
              OUT("i8[S:1 O:0] 1 2: 14 12")),
        GIVES(channelwisequantizedconvolution, POINT,
              IN("i8[S:1 O:0] 1 1 2: 1 2", "i8[S:9 O:9] 2 1 2: 3 5 4 6",
                 "i32[S:9 O:9] 2: 3 4", "float 2: 1 0.5", "index32 2: 0 -1",
                 "float 2: 1 0.25", "index32 2: 1 0"),
              OUT("i8[S:1 O:0] 1 1 2: 15 10")),
        GIVES(dynamicquantizedfullyconnected, DYNAMIC(true, true),
              IN("float 2 2: 1 -127 -254 2", "i8[S:0.5 O:1] 2 1: 3 5",
                 "float 1: 0.25"),
              OUT("float 2 1: -252.75 -249.75")),
        /* 0..255: offset -128, scale 1; and -255..0: offset 127. */
        GIVES(dynamicrowwisequantizedfullyconnected, DYNAMIC(false, true),
              IN("float 2 2: 255 128 -255 -64", "i8[S:9 O:9] 2 1: 3 5",
                 "i8[S:0.5 O:1] 1: 3", "float 1: 0.5", "index32 1: 1"),
              OUT("float 2 1: 512 -382")),
        /* One scale for all: 2. */
        GIVES(dynamicquantizedfullyconnected, DYNAMIC(true, false),
              IN("float 2 1: 254 3", "ui8[S:1 O:1] 1 1: 2", "float 1: 0"),
              OUT("float 2 1: 254 4")),
        GIVES(dynamicquantizedfullyconnected, DYNAMIC(false, false),
              IN("float 2 1: 0 0", "ui8[S:1 O:1] 1 1: 2", "float 1: 3"),
              OUT("float 2 1: 3 3")),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_refusals(void **state)
{
    const op_case cases[] = {
        REFUSES(convolution, LINE,
                IN("i8[S:0.5 O:3] 1 3 1: 5", "float 1 3 1: 2", "_"),
                OUT("i8[S:1 O:0] 1 3 1"),
                "the elements of Filter are float, but only quantized kinds"),
        REFUSES(convolution, LINE,
                IN("i32[S:0.5 O:3] 1 3 1: 5", "i8[S:2 O:1] 1 3 1: 2", "_"),
                OUT("i8[S:1 O:0] 1 3 1"),
                "the elements of Input are i32, but at most 16 bits are taken"),
        REFUSES(convolution, LINE,
                IN("i8[S:0.5 O:3] 1 3 1: 5", "i8[S:2 O:1] 1 3 1: 2",
                   "i64[S:1 O:0] 1: 10"),
                OUT("i8[S:1 O:0] 1 3 1"),
                "the elements of Bias are i64, but at most 32 bits are taken"),
        REFUSES(matmul, NULL, IN("i8[S:1 O:0] 1 1: 1", "i8[S:1 O:0] 1 1: 1"),
                OUT("i64[S:1 O:0] 1 1"),
                "the elements of Result are i64, but at most 32 bits"),
        REFUSES(matmul, NULL,
                IN("i8[S:1e-30 O:0] 1 1: 1", "i8[S:1e-30 O:0] 1 1: 1"),
                OUT("i8[S:1 O:0] 1 1"),
                "the scales of LHS and RHS are 1e-30 and 1e-30, but their "
                "product is 0 as a float"),
        REFUSES(matmul, NULL,
                IN("i8[S:1 O:0] 1 131072: 1", "i8[S:1 O:0] 131072 1: 1"),
                OUT("i8[S:1 O:0] 1 1"),
                "a sum of 131072 products of i8 and i8 may leave 31 bits, but "
                "one of 131071 does not"),
        REFUSES(batchmatmul, NULL,
                IN("ui8[S:1 O:0] 1 1 65794: 1", "i8[S:1 O:0] 1 65794 1: 1"),
                OUT("i8[S:1 O:0] 1 1 1"), "but one of 65793 does not"),
        REFUSES(fullyconnected, ATTRS(fullyconnected, 1),
                IN("i16[S:1 O:32767] 1 2097300: 1",
                   "i16[S:1 O:32767] 2097300 1: 1", "i8[S:1 O:0] 1: 1"),
                OUT("i8[S:1 O:0] 1 1"), "may leave 53 bits, but one of "),
        REFUSES(rowwisequantizedfullyconnected, NULL,
                IN("i8[S:1 O:0] 1 2: 1", "i8[S:1 O:0] 2 3: 3", "float 2: 1",
                   "index32 2: 0", "i32[S:0.5 O:0] 2: 2"),
                OUT("i8[S:1 O:0] 1 2"),
                "the shape of Weights is <2 x 3>, but what Input asks for is "
                "<2 x 2>"),
        REFUSES(rowwisequantizedfullyconnected, NULL,
                IN("i8[S:1 O:0] 1 2: 1", "i8[S:1 O:0] 2 2: 3", "float 1: 1",
                   "index32 2: 0", "i32[S:0.5 O:0] 2: 2"),
                OUT("i8[S:1 O:0] 1 2"),
                "the shape of Scales is <1>, but one for each channel"),
        REFUSES(rowwisequantizedfullyconnected, NULL,
                IN("i8[S:1 O:0] 1 2: 1", "i8[S:1 O:0] 2 2: 3", "float 2: 1",
                   "index64 2: 0", "i32[S:0.5 O:0] 2: 2"),
                OUT("i8[S:1 O:0] 1 2"),
                "the elements of Offsets are index64, but must be index32"),
        REFUSES(rowwisequantizedfullyconnected, NULL,
                IN("i8[S:1 O:0] 1 2: 1", "i8[S:1 O:0] 2 2: 3", "float 2: 1",
                   "index32 2: 0", "i32[S:0.5 O:0] 1: 2"),
                OUT("i8[S:1 O:0] 1 2"), "the shape of Bias is <1>, but one"),
        REFUSES(channelwisequantizedconvolution, POINT,
                IN("i8[S:1 O:0] 1 1 2: 1", "i8[S:1 O:0] 2 1 2: 3",
                   "i32[S:1 O:0] 2: 3", "float 2: 1", "index32 2: 0",
                   "index32 2: 1", "index32 2: 1"),
                OUT("i8[S:1 O:0] 1 1 2"),
                "the elements of BiasScales are index32, but only float"),
        REFUSES(channelwisequantizedconvolution, POINT,
                IN("float 1 1 2: 1", "i8[S:1 O:0] 2 1 2: 3",
                   "i32[S:1 O:0] 2: 3", "float 2: 1", "index32 2: 0",
                   "float 2: 1", "index32 2: 1"),
                OUT("i8[S:1 O:0] 1 1 2"),
                "the elements of Input are float, but only quantized"),
        REFUSES(dynamicquantizedfullyconnected, DYNAMIC(true, true),
                IN("i8[S:1 O:0] 1 1: 1", "i8[S:1 O:0] 1 1: 1", "float 1: 0"),
                OUT("float 1 1"),
                "the elements of Input are i8, but only float kinds"),
        REFUSES(dynamicquantizedfullyconnected, DYNAMIC(true, true),
                IN("float 1 1: 1", "i16[S:1 O:0] 1 1: 1", "float 1: 0"),
                OUT("float 1 1"),
                "the elements of Weights are i16, but at most 8 bits"),
        REFUSES(dynamicquantizedfullyconnected, DYNAMIC(true, true),
                IN("float 1 1: 1", "i8[S:1 O:0] 1 1: 1", "index32 1: 0"),
                OUT("float 1 1"),
                "the elements of Bias are index32, but only float and "
                "quantized"),
        REFUSES(dynamicquantizedfullyconnected, DYNAMIC(false, true),
                IN("float 1 65794: 1", "i8[S:1 O:0] 65794 1: 1", "float 1: 0"),
                OUT("float 1 1"), "but one of 65793 does not"),
        REFUSES(dynamicrowwisequantizedfullyconnected, DYNAMIC(true, true),
                IN("float 1 1: 1", "i8[S:1 O:0] 1 2: 1", "float 2: 0",
                   "float 2: 1", "float 2: 1"),
                OUT("float 1 2"),
                "the elements of Offsets are float, but must be index32"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_blocks(void **state)
{
    const op_case cases[] = {
        /* Row 0: 10 - 8, 1 - 8, 2 (9 - 8); row 1: 0, 0.5 (7 - 8), 0. */
        GIVES(blockwisequantizedfullyconnected,
              ATTRS(blockwisequantizedfullyconnected, .k = 3, .bits = 4,
                    .block_size = 2),
              IN("float 1 3: 1 10 100", "uindex8 2 2 1: 26 249 120 248",
                 "float 2 2: 1 2 0.5 1", "_", "float 2: 0.5 0"),
              OUT("float 1 2: 132.5 -5")),
        REFUSES(blockwisequantizedfullyconnected,
                ATTRS(blockwisequantizedfullyconnected, .k = 3, .bits = 3,
                      .block_size = 8),
                IN("float 1 3: 1", "uindex8 2 1 3: 1", "float 2 1: 1"),
                OUT("float 1 2"), "Bits is 3, but must be 8 or 4"),
        GIVES(blockwisedequantize,
              ATTRS(blockwisedequantize, .dims = GLOW_DIMS_OF(2, 3, 1),
                    .bits = 4, .block_size = 2),
              IN("uindex8 2 2 1: 26 249 120 248", "float 2 2: 1 2 0.5 1",
                 "uindex8 2 2: 0 1 2 3"),
              OUT("float 2 3 1: 10 1 16 3 2.5 5")),
        REFUSES(blockwisedequantize,
                ATTRS(blockwisedequantize, .dims = GLOW_DIMS_OF(2, 3),
                      .bits = 4, .block_size = 2),
                IN("uindex8 2 2 1: 26", "float 2 2: 1"), OUT("index32 2 3"),
                "but must be floats"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
