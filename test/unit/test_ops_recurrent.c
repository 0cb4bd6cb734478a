/* Recurrent networks: with Affine they are polynomials of the weights. */

#include "ops.h"

#include "glow/ops.h"

#define RNN(...) (&(const glow_rnn){.activations = "Affine", __VA_ARGS__})
#define GRU(...) \
    (&(const glow_gru){.activations = "Affine Affine", __VA_ARGS__})
#define LSTM(...) \
    (&(const glow_lstm){.activations = "Affine Affine Affine", __VA_ARGS__})

static void
test_rnn(void **state)
{
    const op_case cases[] = {
        /* 2, 4 + 1, 6 + 2.5 */
        GIVES(rnn, RNN(.direction = GLOW_FORWARD),
              IN("float 3 1 1: 1 2 3", "float 1 1 1: 2", "float 1 1 1: 0.5",
                 "_", "_", "_"),
              OUT("float 3 1 1 1: 2 5 8.5", "float 1 1 1: 8.5")),
        GIVES(rnn, RNN(.direction = GLOW_REVERSE),
              IN("float 3 1 1: 1 2 3", "float 1 1 1: 2", "float 1 1 1: 0.5",
                 "_", "_", "_"),
              OUT("float 3 1 1 1: 5.5 7 6", "float 1 1 1: 5.5")),
        GIVES(rnn, RNN(.direction = GLOW_BIDIRECTIONAL),
              IN("float64 2 1 1: 1 2", "float64 2 1 1: 2 1",
                 "float64 2 1 1: 0.5 1", "float64 2 2: 0 0 1 2", "_",
                 "float64 2 1 1: 4 0"),
              OUT("float64 2 2 1 1: 4 9 6 5", "float64 2 1 1: 6 9")),
        /* The second of the batch is over after one step. */
        GIVES(rnn, RNN(.direction = GLOW_FORWARD),
              IN("float 2 2 1: 1 1 2 2", "float 1 1 1: 2", "float 1 1 1: 0.5",
                 "_", "index64 2: 2 1", "_"),
              OUT("float 2 1 2 1: 2 2 5 0", "float 1 2 1: 5 2")),
        GIVES(rnn, RNN(.direction = GLOW_REVERSE),
              IN("float 2 2 1: 1 1 2 2", "float 1 1 1: 2", "float 1 1 1: 0.5",
                 "_", "index32 2: 2 1", "_"),
              OUT("float 2 1 2 1: 4 2 4 0", "float 1 2 1: 4 2")),
        REFUSES(rnn, RNN(.clip = -1),
                IN("float 3 1 1: 1", "float 1 1 1: 2", "float 1 1 1: 0.5", "_",
                   "_", "_"),
                OUT("float 3 1 1 1", "float 1 1 1"),
                "Clip is -1, but must be 0 or more"),
        /* Without W each direction has columns of X, and still both biases. */
        GIVES(rnn, RNN(.direction = GLOW_BIDIRECTIONAL),
              IN("float64 2 1 2: 2 1 4 2", "_", "float64 2 1 1: 0.5 1",
                 "float64 2 2: 0 0 1 2", "_", "float64 2 1 1: 4 0"),
              OUT("float64 2 2 1 1: 4 9 6 5", "float64 2 1 1: 6 9")),
        REFUSES(rnn, RNN(.direction = GLOW_BIDIRECTIONAL),
                IN("float 2 1 3: 1", "_", "float 2 1 1: 1", "_", "_", "_"),
                OUT("float 2 2 1 1", "float 2 1 1"),
                "the shape of X is <2 x 1 x 3>, but without W that of "
                "the gates is <2 x 1 x 2>"),
        REFUSES(rnn, RNN(.clip = 0),
                IN("float 3 1 1: 1", "float 1 1 2: 2", "float 1 1 1: 0.5", "_",
                   "_", "_"),
                OUT("float 3 1 1 1", "float 1 1 1"),
                "the shape of W is <1 x 1 x 2>, but what X, R and Direction "
                "ask for is <1 x 1 x 1>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_activations(void **state)
{
#define ONE_STEP(name, ...)                                   \
    GIVES(rnn, (&(const glow_rnn){.activations = name}),      \
          IN("float 1 4 1: -2 -0.25 0.5 2", "float 1 1 1: 1", \
             "float 1 1 1: 0", "_", "_", "_"),                \
          OUT("float 1 1 4 1: " __VA_ARGS__, "float 1 4 1: " __VA_ARGS__))
    const op_case cases[] = {
        ONE_STEP("Affine", "-2 -0.25 0.5 2"),
        ONE_STEP("Elu", "-0.864664717 -0.221199217 0.5 2"),
        ONE_STEP("HardSigmoid", "0.1 0.45 0.6 0.9"),
        ONE_STEP("LeakyRelu", "-0.02 -0.0025 0.5 2"),
        ONE_STEP("Relu", "0 0 0.5 2"),
        ONE_STEP("ScaledTanh",
                 "-0.964027580 -0.244918662 0.462117157 0.96402758"),
        ONE_STEP("Sigmoid", "0.119202922 0.437823499 0.622459331 0.880797078"),
        ONE_STEP("Softplus", "0.126928011 0.575939332 0.974076984 2.126928011"),
        ONE_STEP("Softsign", "-0.666666667 -0.2 0.333333333 0.666666667"),
        ONE_STEP("Tanh", "-0.964027580 -0.244918662 0.462117157 0.96402758"),
        ONE_STEP("ThresholdedRelu", "0 0 0 2"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_gru(void **state)
{
    const op_case cases[] = {
        /* z 1/4, r 1/2, v 2; z 1/2, r 1, v 4 + 1.5 */
        GIVES(gru, GRU(.direction = GLOW_FORWARD),
              IN("float 2 1 1: 1 2", "float 1 3 1: 0.25 0.5 2",
                 "float 1 3 1: 0 0 1", "_", "_", "_"),
              OUT("float 2 1 1 1: 1.5 3.5", "float 1 1 1: 3.5")),
        GIVES(gru, GRU(.linear_before_reset = true),
              IN("float 2 1 1: 1 2", "float 1 3 1: 0.25 0.5 2",
                 "float 1 3 1: 0 0 1", "float 1 6: 0 0 0 0 0 1", "_", "_"),
              OUT("float 2 1 1 1: 1.875 4.375", "float 1 1 1: 4.375")),
        /* The same without W, after X was multiplied by it. */
        GIVES(gru, GRU(.linear_before_reset = true),
              IN("float 2 1 3: 0.25 0.5 2 0.5 1 4", "_", "float 1 3 1: 0 0 1",
                 "float 1 6: 0 0 0 0 0 1", "_", "_"),
              OUT("float 2 1 1 1: 1.875 4.375", "float 1 1 1: 4.375")),
        REFUSES(gru, GRU(.direction = GLOW_FORWARD),
                IN("float 2 1 1: 1 2", "float 1 3 1: 1", "float 1 4 1: 1", "_",
                   "_", "_"),
                OUT("float 2 1 1 1", "float 1 1 1"),
                "the shape of R is <1 x 4 x 1>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_lstm(void **state)
{
    const op_case cases[] = {
        /* i 1/2, o 2, f 1/4, v 4; i 1, o 4, f 1/2, v 8 */
        GIVES(lstm, LSTM(.direction = GLOW_FORWARD),
              IN("float 2 1 1: 1 2", "float 1 4 1: 0.5 2 0.25 4",
                 "float 1 4 1: 0", "_", "_", "_", "_", "_"),
              OUT("float 2 1 1 1: 4 36", "float 1 1 1: 36", "float 1 1 1: 9")),
        GIVES(
            lstm, LSTM(.direction = GLOW_FORWARD),
            IN("float 2 1 1: 1 2", "float 1 4 1: 0.5 2 0.25 4",
               "float 1 4 1: 0", "_", "_", "_", "_", "float 1 3: 1 0.5 0.25"),
            OUT("float 2 1 1 1: 6 442", "float 1 1 1: 442", "float 1 1 1: 26")),
        GIVES(lstm, LSTM(.input_forget = true),
              IN("float 2 1 1: 1 2", "float 1 4 1: 0.5 2 0.25 4",
                 "float 1 4 1: 0", "_", "_", "_", "_", "_"),
              OUT("float 2 1 1 1: 4 32", "float 1 1 1: 32", "float 1 1 1: 8")),
        GIVES(lstm, LSTM(.clip = 1),
              IN("float 2 1 1: 1 2", "float 1 4 1: 0.5 2 0.25 4",
                 "float 1 4 1: 0", "_", "_", "_", "_", "_"),
              OUT("float 2 1 1 1: 0.5 1.25", "float 1 1 1: 1.25",
                  "float 1 1 1: 1.25")),
        REFUSES(lstm, LSTM(.direction = GLOW_FORWARD),
                IN("float 2 1 1: 1 2", "float 1 4 1: 1", "float 1 4 1: 0", "_",
                   "_", "_", "_", "float 1 4: 1"),
                OUT("float 2 1 1 1", "float 1 1 1", "float 1 1 1"),
                "the shape of P is <1 x 4>"),
        GIVES(lstmunit, NULL,
              IN("float 1 8: 0 0 0 0 1 -1 0 0", "float 1 2: 2 -4"),
              OUT("float 1 2: 0.440564809 -0.491520552",
                  "float 1 2: 1.38079708 -2.38079708")),
        REFUSES(lstmunit, NULL, IN("float 1 8: 0", "float 1 3: 2"),
                OUT("float 1 3", "float 1 3"),
                "the shape of Input is <1 x 8>, but four for each of C is <1 x "
                "12>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rnn),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_gru),
        cmocka_unit_test(test_lstm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
