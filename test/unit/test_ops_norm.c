/* Normalization by groups of channels, and what goes with it. */

#include "ops.h"

#include "glow/ops.h"

static void
test_groups(void **state)
{
    const op_case cases[] = {
        /* Each row of two: (1, 3) and (2, 6) become (-1, 1). */
        GIVES(instancenormalization, ATTRS(instancenormalization, 1, 0),
              IN("float 1 2 2: 1 3 2 6", "float 2: 2 3", "float 2: 10 20"),
              OUT("float 1 2 2: 8 12 17 23")),
        /* The same with the channels last. */
        GIVES(instancenormalization, ATTRS(instancenormalization, 2, 0),
              IN("float 1 2 2: 1 2 3 6", "float 2: 2 3", "float 2: 10 20"),
              OUT("float 1 2 2: 8 17 12 23")),
        /* Images are apart; the variance 1 and 3 added to it make 4. */
        GIVES(instancenormalization, ATTRS(instancenormalization, 1, 3),
              IN("float 2 1 2: 1 3 12 14", "float 1: 1", "float 1: 0"),
              OUT("float 2 1 2: -0.5 0.5 -0.5 0.5")),
        REFUSES(instancenormalization, ATTRS(instancenormalization, 0, 0),
                IN("float 2 2: 1", "float 2: 1", "float 2: 1"),
                OUT("float 2 2"),
                "ChannelIdx is 0, which is the axis of the batch"),
        REFUSES(instancenormalization, ATTRS(instancenormalization, 1, -1),
                IN("float 2 2: 1", "float 2: 1", "float 2: 1"),
                OUT("float 2 2"), "Epsilon is -1"),
        REFUSES(instancenormalization, ATTRS(instancenormalization, 1, 0),
                IN("float 2 2: 1", "float 2: 1", "float 3: 1"),
                OUT("float 2 2"),
                "the shape of Bias is <3>, but that of the channels of Input "
                "is <2>"),
        REFUSES(instancenormalization, ATTRS(instancenormalization, 1, 0),
                IN("float 2: 1", "float 2: 1", "float 2: 1"), OUT("float 2"),
                "the rank of Input is 1, but must be at least 2"),
        /* Two groups: (0, 2, 0, 2) and (5, 5, 9, 9). */
        GIVES(groupnormalization, ATTRS(groupnormalization, 1, 2, 0),
              IN("float 1 4 2: 0 2 0 2 5 5 9 9", "float 4: 1 2 1 1",
                 "float 4: 0 0 0 1"),
              OUT("float 1 4 2: -1 1 -2 2 -1 -1 2 2")),
        GIVES(groupnormalization, ATTRS(groupnormalization, 2, 2, 0),
              IN("float 1 2 4: 0 0 5 9 2 2 5 9", "float 4: 1 2 1 1",
                 "float 4: 0 0 0 1"),
              OUT("float 1 2 4: -1 -2 -1 2 1 2 -1 2")),
        REFUSES(groupnormalization, ATTRS(groupnormalization, 1, 3, 0),
                IN("float 1 4 2: 0", "float 4: 1", "float 4: 0"),
                OUT("float 1 4 2"),
                "Group is 3, which does not divide the 4 channels of Input"),
        REFUSES(groupnormalization, ATTRS(groupnormalization, 1, 0, 0),
                IN("float 1 4 2: 0", "float 4: 1", "float 4: 0"),
                OUT("float 1 4 2"), "Group is 0"),
        /* The mean square of 1 and 7 is 25. */
        GIVES(rmsnormalization, ATTRS(rmsnormalization, 1, 0),
              IN("float 1 2: 1 7", "float 2: 10 20"), OUT("float 1 2: 2 28")),
        GIVES(rmsnormalization, ATTRS(rmsnormalization, 0, 3),
              IN("float 1 2: 1 1", "_"), OUT("float 1 2: 0.5 0.5")),
        REFUSES(rmsnormalization, ATTRS(rmsnormalization, 1, 0),
                IN("float 1 2: 1", "float 3: 1"), OUT("float 1 2"),
                "the shape of Scale is <3>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_statistics(void **state)
{
    const op_case cases[] = {
        GIVES(meanvarnormalization, ATTRS(meanvarnormalization, 1, 1),
              IN("float 2 2: 1 2 3 6", "float 2: nan", "float 2: inf"),
              OUT("float 2: 2 4", "float 2: 1 4")),
        GIVES(meanvarnormalization, ATTRS(meanvarnormalization, 1, 0.25f),
              IN("float 1 2 2: 1 3 2 6", "float 2: 10 0", "float 2: 1 8"),
              OUT("float 2: 8 1", "float 2: 1 7")),
        GIVES(meanvarnormalization, ATTRS(meanvarnormalization, 1, 0.5f),
              IN("float 0 2: 0", "float 2: 1", "float 2: 1"),
              OUT("float 2: nan", "float 2: nan")),
        REFUSES(meanvarnormalization, ATTRS(meanvarnormalization, 1, 1.5f),
                IN("float 2 2: 1", "float 2: 1", "float 2: 1"),
                OUT("float 2", "float 2"),
                "Momentum is 1.5, but must be 0 to 1"),
        REFUSES(meanvarnormalization, ATTRS(meanvarnormalization, 2, 1),
                IN("float 2 2: 1", "float 2: 1", "float 2: 1"),
                OUT("float 2", "float 2"),
                "ChannelIdx is 2, but the rank of Input is 2"),
        REFUSES(meanvarnormalization, ATTRS(meanvarnormalization, 1, 1),
                IN("float 2 2: 1", "float 3: 1", "float 2: 1"),
                OUT("float 2", "float 2"), "the shape of Mean is <3>"),
        /* ln(1), (3^2 - 1) / 2, (max(-5, 1/4)^0.5 - 1) / 0.5 */
        GIVES(batchboxcox, ATTRS(batchboxcox, 0.25f),
              IN("float 1 3: 0 2 -6", "float 3: 0 2 0.5", "float 3: 1"),
              OUT("float 1 3: 0 4 -1")),
        REFUSES(batchboxcox, ATTRS(batchboxcox, 0),
                IN("float 1 3: 0", "float 3: 0", "float 3: 1"),
                OUT("float 1 3"), "Epsilon is 0, but must be greater than 0"),
        REFUSES(batchboxcox, ATTRS(batchboxcox, 1),
                IN("float 1 3: 0", "float 3: 0", "float 1: 1"),
                OUT("float 1 3"), "the shape of Lambda2 is <1>"),
        REFUSES(batchboxcox, ATTRS(batchboxcox, 1),
                IN("float 3: 0", "float 3: 0", "float 3: 1"), OUT("float 3"),
                "the rank of Input is 1, but must be 2"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_gradients(void **state)
{
    const op_case cases[] = {
        /* Elements -1 -1 1 1 from the mean; the mean of d is 3, of d z 3/2. */
        GIVES(batchnormalizationgrad, ATTRS(batchnormalizationgrad, 1, 0),
              IN("float 4 1: 1 1 3 3", "float 1: 2", "float 1: 2", "float 1: 1",
                 "float 4 1: 1 2 3 6"),
              OUT("float 4 1: -1 1 -3 3", "float 1: 6", "float 1: 12")),
        /* Two channels in front, the second with twice the gradient; v + 3 is 4. */
        GIVES(
            batchnormalizationgrad, ATTRS(batchnormalizationgrad, 0, 3),
            IN("float 2 4: 1 1 3 3 1 1 3 3", "float 2: 2", "float 2: 2",
               "float 2: 1", "float 2 4: 1 2 3 6 2 4 6 12"),
            OUT("float 2 4: -1.625 -0.625 -0.375 2.625 -3.25 -1.25 -0.75 5.25",
                "float 2: 3 6", "float 2: 12 24")),
        REFUSES(batchnormalizationgrad, ATTRS(batchnormalizationgrad, 2, 0),
                IN("float 2 2: 1", "float 2: 1", "float 2: 1", "float 2: 1",
                   "float 2 2: 1"),
                OUT("float 2 2", "float 2", "float 2"),
                "ChannelIdx is 2, but the rank of Input is 2"),
        REFUSES(batchnormalizationgrad, ATTRS(batchnormalizationgrad, 1, -1),
                IN("float 2 2: 1", "float 2: 1", "float 2: 1", "float 2: 1",
                   "float 2 2: 1"),
                OUT("float 2 2", "float 2", "float 2"), "Epsilon is -1"),
        REFUSES(batchnormalizationgrad, ATTRS(batchnormalizationgrad, 1, 0),
                IN("float 2 2: 1", "float 2: 1", "float 2: 1", "float 3: 1",
                   "float 2 2: 1"),
                OUT("float 2 2", "float 2", "float 2"),
                "the shape of Var is <3>, but that of the channels of Input "
                "is <2>"),
        REFUSES(batchnormalizationgrad, ATTRS(batchnormalizationgrad, 1, 0),
                IN("float 2 2: 1", "float 2: 1", "float 2: 1", "float 2: 1",
                   "float 2 3: 1"),
                OUT("float 2 2", "float 2", "float 2"), "ResultGrad"),
        /* z is -1/2 and 1/2; e is 2 and 12, its mean 7, that of e z 5/2. */
        GIVES(layernormalizationgrad, ATTRS(layernormalizationgrad, 1, 3),
              IN("float 2 2: 1 3 1 3", "float 2: 1 3", "float 2 2: 2 4 2 4"),
              OUT("float 2 2: -1.875 1.875 -1.875 1.875", "float 2: -2 4",
                  "float 2: 4 8")),
        GIVES(layernormalizationgrad, ATTRS(layernormalizationgrad, 1, 3),
              IN("float 1 2: 1 3", "_", "float 1 2: 2 4"),
              OUT("float 1 2: -0.375 0.375", "float 2: -1 2", "float 2: 2 4")),
        GIVES(layernormalizationgrad, ATTRS(layernormalizationgrad, 1, 3),
              IN("float 0 2: 1", "_", "float 0 2: 2"),
              OUT("float 0 2: 1", "float 2: 0 0", "float 2: 0 0")),
        REFUSES(layernormalizationgrad, ATTRS(layernormalizationgrad, 2, 0),
                IN("float 2 2: 1", "_", "float 2 2: 1"),
                OUT("float 2 2", "float 2", "float 2"),
                "Axis is 2, but the rank of Input is 2"),
        REFUSES(layernormalizationgrad, ATTRS(layernormalizationgrad, 1, -1),
                IN("float 2 2: 1", "_", "float 2 2: 1"),
                OUT("float 2 2", "float 2", "float 2"), "Epsilon is -1"),
        REFUSES(layernormalizationgrad, ATTRS(layernormalizationgrad, 1, 0),
                IN("float 2 2: 1", "float 3: 1", "float 2 2: 1"),
                OUT("float 2 2", "float 2", "float 2"),
                "the shape of Scale is <3>"),
        REFUSES(layernormalizationgrad, ATTRS(layernormalizationgrad, 1, 0),
                IN("float 2 2: 1", "_", "float 2 3: 1"),
                OUT("float 2 2", "float 2", "float 2"), "ResultGrad"),
        /* z is 3/4 and 1, and the mean of e z 3/2. */
        GIVES(rmsnormalizationgrad, ATTRS(rmsnormalizationgrad, 1, 3.5f),
              IN("float 1 2: 3 4", "float 2: 2 1", "float 1 2: 2 0"),
              OUT("float 1 2: 0.71875 -0.375", "float 2: 1.5 0")),
        REFUSES(rmsnormalizationgrad, ATTRS(rmsnormalizationgrad, 1, 0),
                IN("float 2 2: 1", "float 3: 1", "float 2 2: 1"),
                OUT("float 2 2", "float 2"), "the shape of Scale is <3>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_gradients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
