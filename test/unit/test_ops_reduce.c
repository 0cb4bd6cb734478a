/* Activations, reductions, order, norms, resizing. */

#include "ops.h"

#include "glow/ops.h"

#define DIMS(...) GLOW_DIMS_OF(__VA_ARGS__)
#define SCALES(...)                                              \
    {                                                            \
        .count = sizeof((float[]){__VA_ARGS__}) / sizeof(float), \
        .at = (const float[])                                    \
        {                                                        \
            __VA_ARGS__                                          \
        }                                                        \
    }

static void
test_activations(void **state)
{
    const op_case cases[] = {
        GIVES(clip, ATTRS(clip, -1, 2.5f), IN("float 4: -3 0 3 nan"),
              OUT("float 4: -1 0 2.5 nan")),
        GIVES(clip, ATTRS(clip, -1.5f, 2.5f), IN("int8 3: -3 0 3"),
              OUT("int8 3: -1 0 2")),
        GIVES(clip, ATTRS(clip, -1, 1000), IN("uindex8 2: 0 255"),
              OUT("uindex8 2: 0 255")),
        GIVES(clip, ATTRS(clip, 3, 1), IN("float 1: 2"), OUT("float 1: 1")),
        REFUSES(clip, ATTRS(clip, NAN, 1), IN("float 1: 2"), OUT("float 1"),
                "Min is nan and Max is 1"),
        GIVES(gelu, ATTRS(gelu, GLOW_GELU_ERF), IN("float 3: 0 1 -1"),
              OUT("float 3: 0 0.841344746 -0.158655254")),
        GIVES(gelu, ATTRS(gelu, GLOW_GELU_TANH), IN("float 3: 0 1 -1"),
              OUT("float 3: 0 0.841191991 -0.158808009")),
        GIVES(hardsigmoid, ATTRS(hardsigmoid, 0.25f, 0.5f),
              IN("float 5: -4 -1 0 1 inf"), OUT("float 5: 0 0.25 0.5 0.75 1")),
        GIVES(hardswish, NULL, IN("float 5: -4 -3 0 1.5 4"),
              OUT("float 5: -0.0 -0.0 0 1.125 4")),
        GIVES(leakyrelu, ATTRS(leakyrelu, 0.25f), IN("float 3: -4 0 4"),
              OUT("float 3: -1 0 4")),
        GIVES(prelu, NULL, IN("float 3: -4 -4 4", "float 3: 0.25 2 9"),
              OUT("float 3: -1 -8 4")),
        GIVES(relugrad, NULL, IN("float 4: -4 0 4 nan", "float 4: 1 2 3 4"),
              OUT("float 4: 0 0 3 0")),
        GIVES(gelugrad, ATTRS(gelugrad, GLOW_GELU_ERF),
              IN("float 5: 0 1 -1 inf -inf", "float 5: 2 1 1 3 1"),
              OUT("float 5: 1 1.08331547 -0.0833154705 3 0")),
        GIVES(gelugrad, ATTRS(gelugrad, GLOW_GELU_TANH),
              IN("float 5: 0 1 -1 inf -inf", "float 5: 2 1 1 3 1"),
              OUT("float 5: 1 1.08296408 -0.0829640838 3 0")),
        GIVES(sigmoidgrad, NULL, IN("float 3: 0.25 0 1", "float 3: 4 2 3"),
              OUT("float 3: 0.75 0 0")),
        GIVES(tanhgrad, NULL, IN("float 3: 0.5 0 1", "float 3: 4 2 3"),
              OUT("float 3: 3 2 0")),
        GIVES(swishgrad, NULL,
              IN("float 5: 0 1 -1 inf -inf", "float 5: 2 1 1 3 1"),
              OUT("float 5: 1 0.927670512 0.0723294881 3 -0.0")),
        REFUSES(gelugrad, ATTRS(gelugrad, GLOW_GELU_ERF),
                IN("int8 1: 0", "int8 1: 0"), OUT("int8 1"),
                "the elements of Input are int8"),
        REFUSES(sigmoidgrad, NULL, IN("int8 1: 0", "int8 1: 0"), OUT("int8 1"),
                "the elements of Output are int8"),
        REFUSES(swishgrad, NULL, IN("int8 1: 0", "int8 1: 0"), OUT("int8 1"),
                "the elements of Input are int8"),
        REFUSES(tanhgrad, NULL, IN("float 3: -4", "float 1: 0.25"),
                OUT("float 3"),
                "the shape of ResultGrad is <1>, but that of Output is <3>"),
        REFUSES(relugrad, NULL, IN("index32 3: -4", "index32 3: 1"),
                OUT("float 3"), "the elements of Output are index32"),
        REFUSES(prelu, NULL, IN("float 3: -4", "float 1: 0.25"), OUT("float 3"),
                "the shape of Slope is <1>, but that of Input is <3>"),
        REFUSES(gelu, ATTRS(gelu, GLOW_GELU_ERF), IN("int8 1: 0"),
                OUT("int8 1"),
                "the elements of Input are int8, but only float"),
        REFUSES(hardsigmoid, ATTRS(hardsigmoid, 1, 1), IN("int8 1: 0"),
                OUT("int8 1"), "the elements of Input are int8"),
        REFUSES(hardswish, NULL, IN("int8 1: 0"), OUT("int8 1"),
                "the elements of Input are int8"),
        REFUSES(leakyrelu, ATTRS(leakyrelu, 1), IN("int8 1: 0"), OUT("int8 1"),
                "the elements of Input are int8"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_reductions(void **state)
{
    const op_case cases[] = {
        GIVES(batchedreduceadd, ATTRS(batchedreduceadd, DIMS(0)),
              IN("float 2 3: 1 2 3 4 5 6"), OUT("float 3: 5 7 9")),
        GIVES(batchedreduceadd, ATTRS(batchedreduceadd, DIMS(1)),
              IN("float 2 3: 1 2 3 4 5 6"), OUT("float 2: 6 15")),
        GIVES(batchedreduceadd, ATTRS(batchedreduceadd, DIMS(0, 2)),
              IN("float 2 2 2: 1 2 3 4 5 6 7 8"), OUT("float 2: 14 22")),
        GIVES(batchedreduceadd, ATTRS(batchedreduceadd, DIMS(0, 1)),
              IN("float 2 2: 1 2 3 4"), OUT("float: 10")),
        GIVES(batchedreduceadd, ATTRS(batchedreduceadd, {0}),
              IN("float 2: 1 2"), OUT("float 2: 1 2")),
        GIVES(batchedreduceadd, ATTRS(batchedreduceadd, DIMS(0)),
              IN("float 0 2:"), OUT("float 2: 0")),
        GIVES(batchedreduceadd, ATTRS(batchedreduceadd, DIMS(0)),
              IN("int8 3: 100 100 100"), OUT("int8: 44")),
        GIVES(batchedreducemean, ATTRS(batchedreducemean, DIMS(1)),
              IN("float 2 4: 1 2 3 4 5 6 7 8"), OUT("float 2: 2.5 6.5")),
        GIVES(batchedreducemean, ATTRS(batchedreducemean, DIMS(0)),
              IN("float 0 1:"), OUT("float 1: nan")),
        GIVES(batchedreducemax, ATTRS(batchedreducemax, DIMS(1)),
              IN("float 3 2: 1 2 -1 -2 nan 1"), OUT("float 3: 2 -1 nan")),
        GIVES(batchedreducemax, ATTRS(batchedreducemax, DIMS(0)),
              IN("float 0:"), OUT("float: -inf")),
        GIVES(batchedreducemax, ATTRS(batchedreducemax, DIMS(0)),
              IN("index64 2: -5 -7"), OUT("index64: -5")),
        GIVES(batchedreducemax, ATTRS(batchedreducemax, DIMS(0)),
              IN("int16 0:"), OUT("int16: -32768")),
        GIVES(batchedreducemin, ATTRS(batchedreducemin, DIMS(1)),
              IN("float 2 2: 1 2 -1 -2"), OUT("float 2: 1 -2")),
        GIVES(batchedreducemin, ATTRS(batchedreducemin, DIMS(0)),
              IN("uint64 2: -1 7"), OUT("uint64: 7")),
        GIVES(batchedreduceprod, ATTRS(batchedreduceprod, DIMS(0)),
              IN("float 3: 2 3 4"), OUT("float: 24")),
        GIVES(batchedreduceprod, ATTRS(batchedreduceprod, DIMS(0)),
              IN("index32 0:"), OUT("index32: 1")),
        REFUSES(batchedreduceadd, ATTRS(batchedreduceadd, DIMS(2)),
                IN("float 2 3: 1"), OUT("float 2"),
                "an element of Axes is 2, but the rank of Batch is 2"),
        REFUSES(batchedreducemax, ATTRS(batchedreducemax, DIMS(1, 1)),
                IN("float 2 3: 1"), OUT("float 2"),
                "Axes names 1 after 1, but must ascend"),
        REFUSES(batchedreducemean, ATTRS(batchedreducemean, DIMS(0)),
                IN("int8 2: 1"), OUT("int8"),
                "the elements of Batch are int8, but only float"),
        REFUSES(batchedreducemin, ATTRS(batchedreducemin, DIMS(0)),
                IN("bool 2: 1"), OUT("bool"), "the elements of Batch are bool"),
        REFUSES(batchedreduceprod, ATTRS(batchedreduceprod, DIMS(-1)),
                IN("float 2: 1"), OUT("float"), "an element of Axes is -1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_vector_norms(void **state)
{
    const op_case cases[] = {
        GIVES(batchedreducesumsquare, ATTRS(batchedreducesumsquare, DIMS(1)),
              IN("float 2 2: 3 4 -1 2"), OUT("float 2: 25 5")),
        GIVES(batchedreducesumsquare, ATTRS(batchedreducesumsquare, DIMS(0)),
              IN("uindex8 2: 16 3"), OUT("uindex8: 9")),
        GIVES(reducel1, ATTRS(reducel1, DIMS(0, 1)), IN("float 2 2: 3 -4 -1 2"),
              OUT("float: 10")),
        GIVES(reducel1, ATTRS(reducel1, DIMS(0)), IN("int8 2: -3 -5"),
              OUT("int8: 8")),
        GIVES(reducel1, ATTRS(reducel1, DIMS(0)), IN("uint64 2: -3 1"),
              OUT("uint64: -2")),
        GIVES(reducel2, ATTRS(reducel2, DIMS(1)), IN("float 2 2: 3 4 -5 12"),
              OUT("float 2: 5 13")),
        GIVES(reducel2, ATTRS(reducel2, {0}), IN("float 2: 3 -4"),
              OUT("float 2: 3 4")),
        GIVES(reducelogsum, ATTRS(reducelogsum, DIMS(1)),
              IN("float 2 2: 0.5 0.5 1 3"), OUT("float 2: 0 1.386294361")),
        GIVES(reducelogsum, ATTRS(reducelogsum, DIMS(0)), IN("float 0:"),
              OUT("float: -inf")),
        GIVES(reducelogsumexp, ATTRS(reducelogsumexp, DIMS(1)),
              IN("float 4 2: 0 0 1000 1000 -inf -inf inf 1"),
              OUT("float 4: 0.693147181 1000.693147181 -inf inf")),
        GIVES(reducelogsumexp, ATTRS(reducelogsumexp, DIMS(0)),
              IN("float 3: 1 nan 2"), OUT("float: nan")),
        GIVES(reducelogsumexp, ATTRS(reducelogsumexp, DIMS(0)), IN("float 0:"),
              OUT("float: -inf")),
        GIVES(vectornorm, ATTRS(vectornorm, 1, 1), IN("float 1 2: 3 -4"),
              OUT("float 1: 7")),
        GIVES(vectornorm, ATTRS(vectornorm, 0, 2), IN("float 2 2: 3 5 -4 12"),
              OUT("float 2: 5 13")),
        GIVES(vectornorm, ATTRS(vectornorm, 0, 3), IN("float 3: 1 2 -3"),
              OUT("float: 3.301927249")),
        REFUSES(batchedreducesumsquare, ATTRS(batchedreducesumsquare, DIMS(0)),
                IN("bool 1: 1"), OUT("bool"), "the elements of Batch are bool"),
        REFUSES(reducel1, ATTRS(reducel1, DIMS(1)), IN("float 1: 1"),
                OUT("float"), "an element of Axes is 1"),
        REFUSES(reducel2, ATTRS(reducel2, DIMS(0)), IN("int8 1: 1"),
                OUT("int8"), "the elements of Batch are int8"),
        REFUSES(reducelogsum, ATTRS(reducelogsum, DIMS(0)), IN("int8 1: 1"),
                OUT("int8"), "the elements of Batch are int8"),
        REFUSES(reducelogsumexp, ATTRS(reducelogsumexp, DIMS(0, 0)),
                IN("float 1: 1"), OUT("float"),
                "Axes names 0 after 0, but must ascend"),
        REFUSES(vectornorm, ATTRS(vectornorm, 0, 0), IN("float 1: 1"),
                OUT("float"), "P is 0, but must be at least 1"),
        REFUSES(vectornorm, ATTRS(vectornorm, 1, 2), IN("float 1: 1"),
                OUT("float"), "Axis is 1, but the rank of Input is 1"),
        REFUSES(vectornorm, ATTRS(vectornorm, 0, 2), IN("int8 1: 1"),
                OUT("int8"), "the elements of Input are int8"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_order(void **state)
{
    const op_case cases[] = {
        GIVES(argmax, ATTRS(argmax, 1, false, false),
              IN("float 2 3: 1 3 3 6 5 4"), OUT("index64 2: 1 0")),
        GIVES(argmax, ATTRS(argmax, 0, true, false),
              IN("float 2 3: 1 5 3 4 2 6"), OUT("index64 1 3: 1 0 1")),
        GIVES(argmax, ATTRS(argmax, 1, false, true), IN("float 1 3: 3 3 1"),
              OUT("index64 1: 1")),
        GIVES(argmax, ATTRS(argmax, 0, false, false), IN("float 3: 1 nan 3"),
              OUT("index64: 1")),
        GIVES(argmin, ATTRS(argmin, 0, false, false), IN("int8 3: 1 -2 -2"),
              OUT("index64: 1")),
        GIVES(argmin, ATTRS(argmin, 0, false, true), IN("uint64 3: -1 2 2"),
              OUT("index64: 2")),
        REFUSES(argmax, ATTRS(argmax, 1, false, false), IN("float 3: 1"),
                OUT("index64"), "Axis is 1, but the rank of Input is 1"),
        REFUSES(argmin, ATTRS(argmin, 0, false, false), IN("float 0 2:"),
                OUT("index64 2"), "axis 0 of Input has 0 elements"),
        GIVES(topk, ATTRS(topk, 3, false), IN("float 2 4: 1 3 2 3 5 4 7 6"),
              OUT("float 2 3: 3 3 2 7 6 5", "index64 2 3: 1 3 2 2 3 0")),
        GIVES(topk, ATTRS(topk, 2, true), IN("float 5: 4 1 3 1 2"),
              OUT("float 2: 1 1", "index64 2: 1 3")),
        GIVES(topk, ATTRS(topk, 7, false), IN("int8 7: 1 2 3 4 5 6 7"),
              OUT("int8 7: 7 6 5 4 3 2 1", "index64 7: 6 5 4 3 2 1 0")),
        GIVES(topk, ATTRS(topk, 0, false), IN("float 3: 1"),
              OUT("float 0:", "index64 0:")),
        REFUSES(topk, ATTRS(topk, 4, false), IN("float 2 3: 1"), OUT("float 1"),
                "K is 4, but the last axis of Input has 3 elements"),
        REFUSES(topk, ATTRS(topk, 1, false), IN("float: 1"), OUT("float 1"),
                "the rank of Input is 0, but must be at least 1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_norms(void **state)
{
    const op_case cases[] = {
        GIVES(batchnormalization, ATTRS(batchnormalization, 1, 0),
              IN("float 2 2: 1 2 3 4", "float 2: 1 10", "float 2: 0 100",
                 "float 2: 1 2", "float 2: 4 0.25"),
              OUT("float 2 2: 0 100 1 140")),
        GIVES(batchnormalization, ATTRS(batchnormalization, 0, 3),
              IN("float 1 2: 2 4", "float 1: 1", "float 1: 0", "float 1: 0",
                 "float 1: 1"),
              OUT("float 1 2: 1 2")),
        REFUSES(batchnormalization, ATTRS(batchnormalization, 1, 0),
                IN("float 2 2: 1", "float 2: 1", "float 3: 1", "float 2: 1",
                   "float 2: 1"),
                OUT("float 2 2"),
                "the shape of Bias is <3>, but that of the "
                "channels of Input is <2>"),
        REFUSES(batchnormalization, ATTRS(batchnormalization, 2, 0),
                IN("float 2 2: 1", "float 2: 1", "float 2: 1", "float 2: 1",
                   "float 2: 1"),
                OUT("float 2 2"),
                "ChannelIdx is 2, but the rank of Input is 2"),
        REFUSES(batchnormalization, ATTRS(batchnormalization, 1, -1),
                IN("float 2 2: 1", "float 2: 1", "float 2: 1", "float 2: 1",
                   "float 2: 1"),
                OUT("float 2 2"), "Epsilon is -1"),
        GIVES(layernormalization, ATTRS(layernormalization, 1, 0),
              IN("float 2 2: 1 3 2 6", "float 2: 2 3", "float 2: 10 20"),
              OUT("float 2 2: 8 23 8 23")),
        GIVES(layernormalization, ATTRS(layernormalization, 0, 3),
              IN("float 1 2: 1 3", "_", "_"), OUT("float 1 2: -0.5 0.5")),
        REFUSES(layernormalization, ATTRS(layernormalization, 1, 0),
                IN("float 2 3: 1", "float 2: 1", "_"), OUT("float 2 3"),
                "the shape of Scale is <2>, but that of Input from Axis on is "
                "<3>"),
        GIVES(localresponsenormalization,
              ATTRS(localresponsenormalization, 1, 3, 1, 1),
              IN("float 1 3: 1 2 3"),
              OUT("float 1 3: 0.166666667 0.133333333 0.214285714")),
        GIVES(localresponsenormalization,
              ATTRS(localresponsenormalization, INT64_MAX, 0, 0.5f, 4),
              IN("float 2: 1 2"), OUT("float 2: 0.5 1")),
        REFUSES(localresponsenormalization,
                ATTRS(localresponsenormalization, -1, 1, 1, 1),
                IN("float 2: 1"), OUT("float 2"), "HalfWindowSize is -1"),
        GIVES(softmax, ATTRS(softmax, 1), IN("float 2 2: 0 0 1000 -inf"),
              OUT("float 2 2: 0.5 0.5 1 0")),
        GIVES(softmax, ATTRS(softmax, 0), IN("float 2 1: 0 1"),
              OUT("float 2 1: 0.268941421 0.731058579")),
        REFUSES(softmax, ATTRS(softmax, 2), IN("float 2 1: 0"),
                OUT("float 2 1"), "Axis is 2, but the rank of Input is 2"),
        GIVES(logsoftmax, ATTRS(logsoftmax, 1), IN("float 1 2: 0 1000"),
              OUT("float 1 2: -1000 0")),
        REFUSES(logsoftmax, ATTRS(logsoftmax, -1), IN("float 2 1: 0"),
                OUT("float 2 1"), "Axis is -1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define NEAREST(...) ATTRS(resizenearest, __VA_ARGS__)
#define BILINEAR(...) ATTRS(resizebilinear, __VA_ARGS__)

static void
test_resizenearest(void **state)
{
    const op_case cases[] = {
        GIVES(resizenearest, NEAREST(SCALES(1, 2), 0, 0),
              IN("float 2 2: 1 2 3 4"), OUT("float 2 4: 1 1 2 2 3 3 4 4")),
        GIVES(resizenearest, NEAREST(SCALES(0.5f), 0, 0),
              IN("int8 5: 1 2 3 4 5"), OUT("int8 2: 1 3")),
        GIVES(resizenearest, NEAREST(SCALES(0.5f), 0, GLOW_ROUND_CEIL),
              IN("float 5: 1 2 3 4 5"), OUT("float 3: 1 3 5")),
        /* 0.5 -> 0.166, 1.5 -> 1.5 - ... of 3 to 4: -0.125 0.625 1.375 2.125 */
        GIVES(resizenearest,
              NEAREST(SCALES(4.0f / 3), GLOW_COORD_HALF_PIXEL,
                      GLOW_ROUND_PREFER_FLOOR),
              IN("float 3: 1 2 3"), OUT("float 4: 1 2 2 3")),
        /* 0 0.5 1 : halves down, halves up */
        GIVES(resizenearest,
              NEAREST(SCALES(1.5f), GLOW_COORD_ALIGN_CORNERS,
                      GLOW_ROUND_PREFER_FLOOR),
              IN("float 2: 1 2"), OUT("float 3: 1 1 2")),
        GIVES(resizenearest,
              NEAREST(SCALES(1.5f), GLOW_COORD_ALIGN_CORNERS,
                      GLOW_ROUND_PREFER_CEIL),
              IN("float 2: 1 2"), OUT("float 3: 1 2 2")),
        GIVES(resizenearest,
              NEAREST(SCALES(0.25f), GLOW_COORD_PYTORCH_HALF_PIXEL, 0),
              IN("i8[S:0.5 O:3] 4: 1 2 3 4"), OUT("i8[S:0.5 O:3] 1: 1")),
        REFUSES(resizenearest, NEAREST(SCALES(1), 0, 0), IN("float 2 2: 1"),
                OUT("float 2 4"),
                "Scale has 1 elements, but the rank of Input is 2"),
        REFUSES(resizenearest, NEAREST(SCALES(0), 0, 0), IN("float 2: 1"),
                OUT("float 4"), "Scale[0] is 0"),
        REFUSES(resizenearest, NEAREST(SCALES(1), 0, 0), IN("float 0:"),
                OUT("float 4"),
                "axis 0 of Input has 0 elements, but that of Result 4"),
        REFUSES(resizenearest, NEAREST(SCALES(1), 0, 0), IN("float 2: 1"),
                OUT("float 2 1"),
                "the rank of Result is 2, but that of Input 1"),
        REFUSES(resizenearest, NEAREST(SCALES(1), 0, 0), IN("float 2: 1"),
                OUT(NULL), "the type of Result must be stated"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_resizebilinear(void **state)
{
    const op_case cases[] = {
        GIVES(resizebilinear, BILINEAR(SCALES(2), 0, 0), IN("float 2: 1 3"),
              OUT("float 4: 1 2 3 3")),
        GIVES(resizebilinear, BILINEAR(SCALES(2), GLOW_COORD_HALF_PIXEL, 0),
              IN("float 2: 1 3"), OUT("float 4: 1 1.5 2.5 3")),
        GIVES(resizebilinear,
              BILINEAR(SCALES(1, 1.5f, 1.5f, 1), GLOW_COORD_ALIGN_CORNERS, 0),
              IN("float 1 2 2 1: 1 2 3 4"),
              OUT("float 1 3 3 1: 1 1.5 2 2 2.5 3 3 3.5 4")),
        GIVES(resizebilinear,
              BILINEAR(SCALES(0.5f), GLOW_COORD_PYTORCH_HALF_PIXEL, 0),
              IN("float 4: 1 2 3 4"), OUT("float 2: 1.5 3.5")),
        REFUSES(resizebilinear, BILINEAR(SCALES(2, 2, 2), 0, 0),
                IN("float 1 1 1: 1"), OUT("float 2 2 2"),
                "3 axes change, but at most 2 may"),
        REFUSES(resizebilinear, BILINEAR(SCALES(2), 0, 0), IN("int8 1: 1"),
                OUT("int8 2"), "the elements of Input are int8"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_vector_norms),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_resizenearest),
        cmocka_unit_test(test_resizebilinear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
