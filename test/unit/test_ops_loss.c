/* Losses, and steps of training. */

#include "ops.h"

#include "glow/ops.h"

#define ALL GLOW_IGNORE_NONE

static void
test_likelihood(void **state)
{
    const op_case cases[] = {
        GIVES(negativeloglikelihoodloss,
              ATTRS(negativeloglikelihoodloss, GLOW_LOSS_NONE, ALL),
              IN("float 2 3: -1 -2 -3 -4 -5 -6", "index64 2: 2 0", "_"),
              OUT("float 2: 3 4")),
        GIVES(negativeloglikelihoodloss,
              ATTRS(negativeloglikelihoodloss, GLOW_LOSS_MEAN, ALL),
              IN("float 2 3: -1 -2 -3 -4 -5 -6", "index32 2: 2 0", "_"),
              OUT("float: 3.5")),
        /* (4 * 3 + 2 * 4) / (4 + 2) */
        GIVES(negativeloglikelihoodloss,
              ATTRS(negativeloglikelihoodloss, GLOW_LOSS_MEAN, ALL),
              IN("float 2 3: -1 -2 -3 -4 -5 -6", "index64 2: 2 0",
                 "float 3: 2 8 4"),
              OUT("float: 3.33333333")),
        GIVES(negativeloglikelihoodloss,
              ATTRS(negativeloglikelihoodloss, GLOW_LOSS_MEAN, -100),
              IN("float 2 3: -1 -2 -3 -4 -5 -6", "index64 2: 2 -100",
                 "float 3: 2 8 4"),
              OUT("float: 3")),
        /* What does not count may be infinitely unlikely. */
        GIVES(negativeloglikelihoodloss,
              ATTRS(negativeloglikelihoodloss, GLOW_LOSS_SUM, 0),
              IN("float 1 2 2: -inf -1 -4 -3", "index64 1 2: 0 1", "_"),
              OUT("float: 3")),
        GIVES(negativeloglikelihoodloss,
              ATTRS(negativeloglikelihoodloss, GLOW_LOSS_NONE, 7),
              IN("float 1 2 1 3: -1 -2 -3 -4 -5 -6", "int8 1 1 3: 1 7 0",
                 "float 2: 2 0.5"),
              OUT("float 1 1 3: 2 0 6")),
        GIVES(negativeloglikelihoodloss,
              ATTRS(negativeloglikelihoodloss, GLOW_LOSS_MEAN, 1),
              IN("float 1 2: -1 -2", "index64 1: 1", "_"), OUT("float: nan")),
        REFUSES(negativeloglikelihoodloss,
                ATTRS(negativeloglikelihoodloss, GLOW_LOSS_NONE, ALL),
                IN("float 2 3: -1", "index64 2: 0 3", "_"), OUT("float 2: 0"),
                "element 1 of Target is 3, but there are 3 classes"),
        REFUSES(negativeloglikelihoodloss,
                ATTRS(negativeloglikelihoodloss, GLOW_LOSS_NONE, -2),
                IN("float 2 3: -1", "int8 2: -2 -1", "_"), OUT("float 2: 0"),
                "element 1 of Target is -1, but there are 3 classes"),
        REFUSES(negativeloglikelihoodloss,
                ATTRS(negativeloglikelihoodloss, GLOW_LOSS_NONE, ALL),
                IN("float 2 3 4: -1", "index64 2: 0", "_"), OUT("float 2"),
                "the shape of Target is <2>, but that of Input without the "
                "classes is <2 x 4>"),
        REFUSES(negativeloglikelihoodloss,
                ATTRS(negativeloglikelihoodloss, GLOW_LOSS_NONE, ALL),
                IN("float 2 3: -1", "index64 2: 0", "float 2: 1"),
                OUT("float 2"),
                "the shape of Weight is <2>, but that of the classes of Input "
                "is <3>"),
        REFUSES(negativeloglikelihoodloss,
                ATTRS(negativeloglikelihoodloss, GLOW_LOSS_NONE, ALL),
                IN("float 2: -1", "index64 2: 0", "_"), OUT("float 2"),
                "the rank of Input is 1, but must be at least 2"),
        REFUSES(negativeloglikelihoodloss,
                ATTRS(negativeloglikelihoodloss, GLOW_LOSS_NONE, ALL),
                IN("float 2 3: -1", "float 2: 0", "_"), OUT("float 2"),
                "the elements of Target are float"),
        GIVES(crossentropyloss, NULL,
              IN("float 2 2: 0.25 0.75 0.5 0.5", "index64 2 1: 0 1"),
              OUT("float 1: 2.07944154")),
        GIVES(crossentropyloss, NULL, IN("float 1 3: 0 1 0", "int8 1: 1"),
              OUT("float 1: 0")),
        REFUSES(crossentropyloss, NULL, IN("float 1 3: 0.5", "index64 1: -1"),
                OUT("float 1: 0"),
                "element 0 of Labels is -1, but there are 3 classes"),
        REFUSES(crossentropyloss, NULL, IN("float 2 3: 0.5", "index64 3: 0"),
                OUT("float 1"),
                "the shape of Labels is <3>, but that of the rows of P is "
                "<2>"),
        GIVES(regression, NULL, IN("float 2: 1 2", "float 2: 3 4"),
              OUT("float 2: 1 2")),
        REFUSES(regression, NULL, IN("float 2: 1", "float 3: 1"),
                OUT("float 2"), "Expected"),
    };

    (void)state;
    CHECK_CASES(cases);
}

/* log 2 = 0.693147181, log(1 + e^-1) = 0.313261688, log(1 + e) = 1.313261688 */
static void
test_logits(void **state)
{
    const op_case cases[] = {
        GIVES(sigmoidcrossentropywithlogits, NULL,
              IN("float 2 2: 0 0 1 -1", "float 2 2: 1 0 1 0"),
              OUT("float 2: 0.693147181 0.313261688")),
        GIVES(sigmoidcrossentropywithlogits, NULL,
              IN("float 3: 1000 -1000 0", "float 3: 0 1 0.5"),
              OUT("float: 666.897716")),
        REFUSES(sigmoidcrossentropywithlogits, NULL, IN("float: 0", "float: 0"),
                OUT("float"), "the rank of Logits is 0"),
        GIVES(binarycrossentropywithlogits,
              ATTRS(binarycrossentropywithlogits, GLOW_LOSS_NONE),
              IN("float 4: 0 1 1 -1000", "float 4: 1 1 0 1", "_", "_"),
              OUT("float 4: 0.693147181 0.313261688 1.313261688 1000")),
        GIVES(
            binarycrossentropywithlogits,
            ATTRS(binarycrossentropywithlogits, GLOW_LOSS_MEAN),
            IN("float 2 2: 0 1 1 0", "float 2 2: 1 1 0 0", "float 2: 1 2", "_"),
            OUT("float: 1.00480654")),
        GIVES(binarycrossentropywithlogits,
              ATTRS(binarycrossentropywithlogits, GLOW_LOSS_SUM),
              IN("float 2 2: 0 1 1 0", "float 2 2: 1 1 0 0", "float 2 1: 1 2",
                 "float 2: 3 5"),
              OUT("float: 7.65856772")),
        REFUSES(binarycrossentropywithlogits,
                ATTRS(binarycrossentropywithlogits, GLOW_LOSS_SUM),
                IN("float 2 2: 0", "float 2 2: 0", "_", "float 3: 1"),
                OUT("float"),
                "axis 0 of PosWeight has 3 elements, but axis 1 of Input 2"),
        REFUSES(binarycrossentropywithlogits,
                ATTRS(binarycrossentropywithlogits, GLOW_LOSS_SUM),
                IN("float 2: 0", "float 2: 0", "float 1 2: 0", "_"),
                OUT("float"), "the rank of Weight is 2, but that of Input 1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_steps(void **state)
{
    const op_case cases[] = {
        /* g = 1 * 1 + 2 = 3, h = 16 + 9 = 25, r = 8 / (1 + 3 * 1) = 2 */
        GIVES(adagrad, ATTRS(adagrad, 1, 1, 1),
              IN("float: 8", "index64: 3", "float 1: 1", "float 1: 2",
                 "float 1: 16"),
              OUT("float 1: 0", "float 1: 25")),
        /* v = 2 / 2 + 6 / 2, h = 12 / 4 + 36 * 3 / 4, r unchanged */
        GIVES(adam, ATTRS(adam, 0.5f, 0.25f, 0.5f, 0, 0.5f, 0, false),
              IN("float: 3", "index64: 0", "float 1: 10", "float 1: 6",
                 "float 1: 2", "float 1: 12"),
              OUT("float 1: 3.9961898", "float 1: 4", "float 1: 30")),
        /* The same with r = 3 sqrt(1 - 1/4) / (1 - 1/2). */
        GIVES(adam, ATTRS(adam, 0.5f, 0.25f, 0.5f, 0, 0, 0, false),
              IN("float: 3", "index32: 1", "float 1: 10", "float 1: 6",
                 "float 1: 2", "float 1: 12"),
              OUT("float 1: 6.5226994638", "float 1: 4", "float 1: 30")),
        /* 10 (1 - 3 * 0.1), and 1/2 sqrt(3/4) for 1/2 */
        GIVES(adam, ATTRS(adam, 0.5f, 0.25f, 0.5f, 0, 0, 0.1f, true),
              IN("float: 3", "index32: 1", "float 1: 10", "float 1: 6",
                 "float 1: 2", "float 1: 12"),
              OUT("float 1: 3.483287309", "float 1: 4", "float 1: 30")),
        GIVES(momentum, ATTRS(momentum, 0.5f, 0.25f, 1, GLOW_MOMENTUM_STANDARD),
              IN("float: 2", "index64: 0", "float 2: 10 1", "float 2: 6 7",
                 "float 2: 2 4"),
              OUT("float 2: -24 -19", "float 2: 17 10")),
        GIVES(momentum, ATTRS(momentum, 0.5f, 0.25f, 0, GLOW_MOMENTUM_STANDARD),
              IN("float: 2", "index64: 1", "float 1: 10", "float 1: 8",
                 "float 1: 2"),
              OUT("float 1: 4", "float 1: 3")),
        GIVES(momentum, ATTRS(momentum, 0.5f, 0.25f, 0, GLOW_MOMENTUM_NESTEROV),
              IN("float: 2", "index64: 1", "float 1: 10", "float 1: 8",
                 "float 1: 2"),
              OUT("float 1: -9", "float 1: 3")),
        REFUSES(momentum, ATTRS(momentum, 0, 0, 0, 0),
                IN("float 1: 2", "index64: 1", "float 1: 10", "float 1: 8",
                   "float 1: 2"),
                OUT("float 1", "float 1"), "the rank of R is 1, but must be 0"),
        REFUSES(adagrad, ATTRS(adagrad, 0, -1, 0),
                IN("float: 2", "index64: 1", "float 1: 10", "float 1: 8",
                   "float 1: 2"),
                OUT("float 1", "float 1"),
                "Epsilon is -1, but must be 0 or more"),
        REFUSES(adagrad, ATTRS(adagrad, 0, 0, 0),
                IN("float: 2", "float: 1", "float 1: 10", "float 1: 8",
                   "float 1: 2"),
                OUT("float 1", "float 1"), "the elements of T are float"),
        REFUSES(adam, ATTRS(adam, 0, 0, 0, 0, 0, 0, false),
                IN("float: 2", "index64: 1", "float 1: 10", "float 1: 8",
                   "float 1: 2", "float 2: 1"),
                OUT("float 1", "float 1", "float 1"), "H"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_likelihood),
        cmocka_unit_test(test_logits),
        cmocka_unit_test(test_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
