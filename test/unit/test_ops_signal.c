/* Random numbers (those of numpy.random.RandomState), transforms, sums. */

#include "ops.h"

#include "glow/ops.h"

static void
test_random(void **state)
{
    const op_case cases[] = {
        GIVES(randomuniform, ATTRS(randomuniform, 0, 1, 0), IN(NULL),
              OUT("float64 3: 0.5488135039273248 0.7151893663724195 "
                  "0.6027633760716439")),
        GIVES(randomuniform, ATTRS(randomuniform, -2, 2, 0), IN(NULL),
              OUT("float 2: 0.195254016 0.860757465")),
        REFUSES(randomuniform, ATTRS(randomuniform, 0, 1, -1), IN(NULL),
                OUT("float 2"), "Seed is -1, but must be 0 to 4294967295"),
        GIVES(philoxuniform, ATTRS(philoxuniform, 0), IN("index64: 0"),
              OUT("float64 2: 0.39904642105102539 0.88052016496658325")),
        REFUSES(philoxuniform, ATTRS(philoxuniform, -1), IN("index64: 0"),
                OUT("float 2"), "Seed is -1, but must be 0 to 4294967295"),
        REFUSES(philoxuniform, ATTRS(philoxuniform, 0), IN("index64: 0"),
                OUT("float16 2"),
                "the elements of Result are float16, but "
                "must be float or float64"),
        REFUSES(philoxuniform, ATTRS(philoxuniform, 0), IN("index64 1: 0"),
                OUT("float 2"), "Step"),
        GIVES(dropout, ATTRS(dropout, 0.75f, 0),
              IN("float 2: 1 2", "index64: 0"), OUT("float 2: 0 8")),
        REFUSES(dropout, ATTRS(dropout, 1, 0), IN("float 2: 1 2", "index64: 0"),
                OUT("float 2"), "Ratio is 1, but must be 0 to 1, without 1"),
        GIVES(randomnormal, ATTRS(randomnormal, 0, 1, 0), IN(NULL),
              OUT("float64 3: 1.764052345967664 0.4001572083672233 "
                  "0.9787379841057392")),
        REFUSES(randomnormal, ATTRS(randomnormal, NAN, 1, 0), IN(NULL),
                OUT("float 2"), "Mean is nan, but must be finite"),
        GIVES(gaussianfill, ATTRS(gaussianfill, 10, 2, 0), IN("float 2: 7 8"),
              OUT("float 2: 13.5281047 10.8003144")),
        REFUSES(gaussianfill, ATTRS(gaussianfill, 10, 2, 0), IN("int8 2: 7 8"),
                OUT("int8 2"), "the elements of Input are int8"),
        /* u is 0.549 0.715 0.603 0.545 */
        GIVES(bernoulli, ATTRS(bernoulli, 0), IN("float 4: 0 1 0.6 0.55"),
              OUT("bool 4: 0 1 0 1")),
        REFUSES(bernoulli, ATTRS(bernoulli, 0), IN("int8 2: 0"), OUT("bool 2"),
                "the elements of Input are int8"),
        /* One class is far more likely than the others. */
        GIVES(multinomial, ATTRS(multinomial, 3, 0),
              IN("float 2 3: 0 99 0 99 0 0"), OUT("index64 2 3: 1 1 1 0 0 0")),
        REFUSES(multinomial, ATTRS(multinomial, -1, 0), IN("float 2 3: 0"),
                OUT("index64 2 1"), "SampleSize is -1, but must be 0 or more"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_signal(void **state)
{
    const op_case cases[] = {
        GIVES(dft, ATTRS(dft, 0, 4, false, false), IN("float64 4 1: 1 2 3 5"),
              OUT("float64 4 2: 11 0 -2 3 -3 0 -2 -3")),
        GIVES(dft, ATTRS(dft, 0, 4, false, true), IN("float 4 1: 1 2 3 5"),
              OUT("float 3 2: 11 0 -2 3 -3 0")),
        GIVES(dft, ATTRS(dft, 0, 4, true, true),
              IN("float64 3 2: 11 0 -2 3 -3 0"), OUT("float64 4 1: 1 2 3 5")),
        GIVES(dft, ATTRS(dft, 0, 3, false, false), IN("float 1 1: 4"),
              OUT("float 3 2: 4 0 4 0 4 0")),
        REFUSES(dft, ATTRS(dft, 0, 4, false, false), IN("float 4 3: 1"),
                OUT("float 4 2"), "the last axis of Input has 3 elements"),
        GIVES(stft, ATTRS(stft, 2, 2, true),
              IN("float 1 5 1: 1 2 3 4 9", "float 2: 1 0.5"),
              OUT("float 1 2 2 2: 2 0 0 0 5 0 1 0")),
        REFUSES(stft, ATTRS(stft, 0, 2, false), IN("float 1 4 1: 1", "_"),
                OUT("float 1 1 2 2"), "FrameStep is 0 and FrameLength 2"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_einsum(void **state)
{
    const op_case cases[] = {
        GIVES(einsum, ATTRS(einsum, "ij,jk->ki"),
              IN("float 2 2: 1 2 3 4", "float 2 1: 1 2"),
              OUT("float 1 2: 5 11")),
        GIVES(einsum, ATTRS(einsum, "ii"), IN("int8 2 2: 100 2 3 100"),
              OUT("int8: -56")),
        GIVES(einsum, ATTRS(einsum, "...i,i"),
              IN("float16 1 2 2: 1 2 3 4", "float16 2: 1 10"),
              OUT("float16 1 2: 21 43")),
        REFUSES(einsum, ATTRS(einsum, "ij->k"), IN("float 2 2: 1"),
                OUT("float 2"), "names an axis that no operand has"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_products(void **state)
{
    static const int64_t begins[] = {0, 2}, columns[] = {2, 0, 1};
    static const int64_t pool[] = {4, 5, 4, 5};
    static const float weights[] = {10, 20, 30};
    const glow_tfidfvectorizer counts = {
        .min_gram_length = 1,
        .max_gram_length = 2,
        .max_skip_count = 1,
        .ngram_counts = {2, begins},
        .ngram_indexes = {3, columns},
        .pool = {4, pool},
    };
    glow_tfidfvectorizer idf = counts, both = counts, none = counts;

    idf.mode = GLOW_TFIDF_IDF;
    both.mode = GLOW_TFIDF_TFIDF;
    idf.weights = both.weights = (glow_floats){3, weights};
    none.max_gram_length = 0;

    const op_case cases[] = {
        GIVES(det, NULL, IN("float64 2 2 2: 1 2 3 4 0 1 1 0"),
              OUT("float64 2: -2 -1")),
        GIVES(det, NULL, IN("float 3 3: 2 0 0 0 3 0 0 0 4"), OUT("float: 24")),
        GIVES(det, NULL, IN("float 0 0: 0"), OUT("float: 1")),
        REFUSES(det, NULL, IN("float 2 3: 1"), OUT("float"),
                "the matrices of Input are 2 x 3, but must be square"),
        GIVES(batchedmul, NULL, IN("int8 2 2: 1 2 3 64", "int8 2: 3 2"),
              OUT("int8 2 2: 3 4 9 -128")),
        REFUSES(batchedmul, NULL, IN("float 2 2: 1", "float 3: 3"),
                OUT("float 2 2"), "the shape of Slice is <3>"),
        GIVES(batchedpairwisedotproduct, NULL,
              IN("float 2 2: 1 2 3 4", "float 2 2: 1 0 0 1",
                 "float 2 2: 1 1 2 2"),
              OUT("float 2 3: 1 3 1 4 14 2")),
        REFUSES(batchedpairwisedotproduct, NULL, IN("float 2 2: 1"),
                OUT("float 2 0"), "there are 1 Inputs, but must be at least 2"),
        /* 4: twice; 5: twice; 4 and 5: next to each other, and one apart. */
        GIVES(tfidfvectorizer, &counts, IN("index64 4: 4 4 5 5"),
              OUT("float 3: 2 3 2")),
        GIVES(tfidfvectorizer, &idf, IN("index32 2 2: 4 5 7 7"),
              OUT("float 2 3: 20 30 10 0 0 0")),
        GIVES(tfidfvectorizer, &both, IN("index64 4: 4 4 5 5"),
              OUT("float 3: 40 90 20")),
        REFUSES(tfidfvectorizer, &none, IN("index64 4: 4"), OUT("float 3"),
                "n-grams of 1 to 0 are asked for"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_attention(void **state)
{
    const op_case cases[] = {
        /* Scores 0 and ln 3: weights of 1/4 and 3/4. */
        GIVES(attention,
              (&(const glow_attention){.scale = 1.0986122887f,
                                       .scores = GLOW_SCORES_WEIGHTS}),
              IN("float 1 1 1 1: 1", "float 1 1 2 1: 0 1",
                 "float 1 1 2 2: 4 8 8 0", "_"),
              OUT("float 1 1 1 2: 7 2", "float 1 1 1 2: 0.25 0.75")),
        /* The first row sees the first of K alone; two heads share K. */
        GIVES(attention, (&(const glow_attention){.scale = 2, .causal = true}),
              IN("float 1 2 2 1: 1 0 1 0", "float 1 1 2 1: 3 3",
                 "float 1 1 2 1: 4 8", "_"),
              OUT("float 1 2 2 1: 4 6 4 6", "float 1 2 2 2: 6 6 0 0 6 6 0 0")),
        /* Row 1 sees nothing. */
        GIVES(
            attention,
            (&(const glow_attention){.scale = 1, .scores = GLOW_SCORES_MASKED}),
            IN("float 1 1 2 1: 1 1", "float 1 1 2 1: 2 2", "float 1 1 2 1: 4 8",
               "bool 1 1 2 2: 1 1 0 0"),
            OUT("float 1 1 2 1: 6 0", "float 1 1 2 2: 2 2 -inf -inf")),
        REFUSES(
            attention, (&(const glow_attention){.scale = 1}),
            IN("float 1 3 1 1: 1", "float 1 2 1 1: 0", "float 1 2 1 2: 4", "_"),
            OUT("float 1 3 1 2", "float 1 3 1 1"),
            "Q has 3 heads, which is no multiple of the 2 of K"),
        /* The second of these again, with the heads of a row side by side. */
        GIVES(fusedattention,
              (&(const glow_fusedattention){
                  .scale = 2, .causal = true, .q_rows = true, .y_rows = true}),
              IN("float 1 2 2 1: 1 1 0 0", "float 1 1 2 1: 3 3",
                 "float 1 1 2 1: 4 8", "_"),
              OUT("float 1 2 2 1: 4 4 6 6")),
        REFUSES(fusedattention, (&(const glow_fusedattention){.scale = 1}),
                IN("float16 1 1 1 1: 1", "float 1 1 1 1: 0", "float 1 1 1 1: 4",
                   "_"),
                OUT("float16 1 1 1 1"),
                "the elements of K are float, but those of Q are float16"),
        REFUSES(attention, (&(const glow_attention){.scale = 1}),
                IN("float 1 1 1 1: 1", "float16 1 1 1 1: 0", "float 1 1 1 1: 4",
                   "_"),
                OUT("float 1 1 1 1", "float 1 1 1 1"),
                "the elements of K are float16, but those of Q are float"),
        REFUSES(
            fusedattention,
            (&(const glow_fusedattention){.scale = 1, .q_rows = true}),
            IN("float 1 1 3 1: 1", "float 1 2 1 1: 0", "float 1 2 1 2: 4", "_"),
            OUT("float 1 3 1 2"),
            "Q has 3 heads, which is no multiple of the 2 of K"),
        GIVES(rotaryembedding, ATTRS(rotaryembedding, false),
              IN("float 1 1 2 5: 1 2 3 4 5 6 7 8 9 10",
                 "float 1 2 2: 0 1 0.5 1", "float 1 2 2: 1 0 1 2"),
              OUT("float 1 1 2 5: -3 2 1 4 5 -5 -11 10 23 10")),
        GIVES(rotaryembedding, ATTRS(rotaryembedding, true),
              IN("float 1 1 1 4: 1 2 3 4", "float 1 1 1: 0", "float 1 1 1: 1"),
              OUT("float 1 1 1 4: -2 1 3 4")),
        REFUSES(rotaryembedding, ATTRS(rotaryembedding, true),
                IN("float 1 1 1 4: 1", "float 1 1 3: 0", "float 1 1 3: 1"),
                OUT("float 1 1 1 4"), "Cos turns 3 pairs"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),    cmocka_unit_test(test_signal),
        cmocka_unit_test(test_einsum),    cmocka_unit_test(test_products),
        cmocka_unit_test(test_attention),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
