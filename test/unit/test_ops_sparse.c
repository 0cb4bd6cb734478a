/* Operators over lists of sparse features, worked out by hand. */

#include "ops.h"

#include "glow/ops.h"

#define TABLE "float 3 2: 1 2 3 4 5 6"

static void
test_sparselengthsweightedsum(void **state)
{
    const op_case cases[] = {
        /* 2 * row 2 + row 0; nothing; -1 * row 1; the last entry is unused. */
        GIVES(sparselengthsweightedsum,
              ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
              IN(TABLE, "float 4: 2 1 -1 9", "index64 4: 2 0 1 7",
                 "index32 3: 2 0 1"),
              OUT("float 3 2: 11 14 0 0 -3 -4")),
        GIVES(sparselengthsweightedsum,
              ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
              IN("float16 2: 1.5 2", "float16 3: 1 2 3", "uindex8 3: 0 1 1",
                 "index64 2: 2 1"),
              OUT("float16 2: 5.5 6")),
        /* Integers wrap around. */
        GIVES(sparselengthsweightedsum,
              ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
              IN("int8 2 1: 100 7", "int8 2: 2 1", "index32 2: 0 1",
                 "index32 1: 2"),
              OUT("int8 1 1: -49")),
        GIVES(sparselengthsweightedsum,
              ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
              IN("float 0 2:", "float 0:", "index64 0:", "index32 2: 0 0"),
              OUT("float 2 2: 0")),
        REFUSES(sparselengthsweightedsum,
                ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
                IN(TABLE, "float 2: 1 1", "index64 2: 0 3", "index32 1: 2"),
                OUT("float 1 2: 0"),
                "element 1 of Indices is 3, but Data has 3 rows"),
        REFUSES(sparselengthsweightedsum,
                ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
                IN(TABLE, "float 2: 1 1", "index64 2: -1 0", "index32 1: 2"),
                OUT("float 1 2: 0"),
                "element 0 of Indices is -1, but Data has 3 rows"),
        REFUSES(sparselengthsweightedsum,
                ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
                IN(TABLE, "float 2: 1 1", "index64 2: 0 0", "index32 2: 1 2"),
                OUT("float 2 2: 0"),
                "element 1 of Lengths is 2, but 1 entries are left"),
        REFUSES(sparselengthsweightedsum,
                ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
                IN(TABLE, "float 2: 1 1", "index64 2: 0 0", "index32 1: -1"),
                OUT("float 1 2: 0"),
                "element 0 of Lengths is -1, but 2 entries are left"),
        REFUSES(sparselengthsweightedsum,
                ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
                IN(TABLE, "float64 2: 1", "index64 2: 0", "index32 1: 2"),
                OUT("float 1 2"),
                "the elements of Weights are float64, but those of Data are "
                "float"),
        REFUSES(sparselengthsweightedsum,
                ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
                IN(TABLE, "float 3: 1", "index64 2: 0", "index32 1: 2"),
                OUT("float 1 2"),
                "the shape of Weights is <3>, but that of Indices is <2>"),
        REFUSES(sparselengthsweightedsum,
                ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
                IN(TABLE, "float 2: 1", "float 2: 0", "index32 1: 2"),
                OUT("float 1 2"), "the elements of Indices are float"),
        REFUSES(sparselengthsweightedsum,
                ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
                IN("bool 3 2: 1", "bool 2: 1", "index64 2: 0", "index32 1: 2"),
                OUT("bool 1 2"), "the elements of Data are bool"),
        REFUSES(sparselengthsweightedsum,
                ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
                IN(TABLE, "float 2: 1", "index64 2: 0", "index32 1 1: 2"),
                OUT("float 1 2"), "the rank of Lengths is 2"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_sparselengthssum(void **state)
{
    const op_case cases[] = {
        GIVES(sparselengthssum, ATTRS(sparselengthssum, .lengths_mode = 0),
              IN(TABLE, "index32 5: 2 0 1 2 2", "index64 4: 1 0 2 2"),
              OUT("float 4 2: 5 6 0 0 4 6 10 12")),
        REFUSES(sparselengthssum, ATTRS(sparselengthssum, .lengths_mode = 0),
                IN(TABLE, "index32 1: 5", "index64 1: 1"), OUT("float 1 2: 0"),
                "element 0 of Indices is 5, but Data has 3 rows"),
        REFUSES(sparselengthssum, ATTRS(sparselengthssum, .lengths_mode = 0),
                IN("float: 1", "index32 1: 5", "index64 1: 1"), OUT("float 1"),
                "the rank of Data is 0"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_lengthssum(void **state)
{
    const op_case cases[] = {
        GIVES(lengthssum, NULL, IN(TABLE, "index32 4: 0 2 0 1"),
              OUT("float 4 2: 0 0 4 6 0 0 5 6")),
        GIVES(lengthssum, NULL, IN("index64 4: 1 2 3 4", "index32 2: 1 2"),
              OUT("index64 2: 1 5")),
        REFUSES(lengthssum, NULL, IN(TABLE, "index32 2: 2 2"),
                OUT("float 2 2: 0"),
                "element 1 of Lengths is 2, but 1 entries are left"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_embeddingbag(void **state)
{
    const op_case cases[] = {
        GIVES(
            embeddingbag, ATTRS(embeddingbag, .has_end_offset = false),
            IN(TABLE, "float 3: 1 2 3", "index64 3: 0 1 2", "index64 3: 0 0 2"),
            OUT("float 3 2: 0 0 7 10 15 18")),
        GIVES(
            embeddingbag, ATTRS(embeddingbag, .has_end_offset = true),
            IN(TABLE, "float 3: 1 2 3", "index64 3: 0 1 9", "index32 3: 0 0 2"),
            OUT("float 2 2: 0 0 7 10")),
        GIVES(embeddingbag, ATTRS(embeddingbag, .has_end_offset = false),
              IN(TABLE, "float 0:", "index64 0:", "index64 0:"),
              OUT("float 0 2:")),
        REFUSES(embeddingbag, ATTRS(embeddingbag, .has_end_offset = false),
                IN(TABLE, "float 1: 1", "index64 1: 0", "index64 1: 1"),
                OUT("float 1 2: 0"),
                "element 0 of Offsets is 1, which is not within 0 and 0"),
        REFUSES(embeddingbag, ATTRS(embeddingbag, .has_end_offset = false),
                IN(TABLE, "float 2: 1", "index64 2: 0", "index64 3: 0 2 1"),
                OUT("float 3 2: 0"),
                "element 2 of Offsets is 1, which is not within 2 and 2"),
        REFUSES(embeddingbag, ATTRS(embeddingbag, .has_end_offset = true),
                IN(TABLE, "float 0:", "index64 0:", "index64 0:"),
                OUT("float 0 2"),
                "Offsets has 0 elements, but the last end must be there"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_ranges(void **state)
{
    const op_case cases[] = {
        GIVES(lengthstoranges, NULL, IN("index32 4: 1 3 0 2"),
              OUT("index32 4 2: 0 1 1 3 4 0 4 2")),
        GIVES(lengthstoranges, NULL, IN("index64 0:"), OUT("index64 0 2:")),
        REFUSES(lengthstoranges, NULL, IN("float 2: 1"), OUT("float 2 2"),
                "the elements of Lengths are float"),
        GIVES(lengthsrangefill, ATTRS(lengthsrangefill, 8),
              IN("index32 4: 4 0 1 2"), OUT("index32 8: 0 1 2 3 0 0 1 0")),
        GIVES(lengthsrangefill, ATTRS(lengthsrangefill, 2), IN("index64 0:"),
              OUT("index64 2: 0 0")),
        REFUSES(lengthsrangefill, ATTRS(lengthsrangefill, 3),
                IN("index32 2: 2 2"), OUT("index32 3: 0"),
                "element 1 of Lengths is 2, but Result has 1 elements left"),
        REFUSES(lengthsrangefill, ATTRS(lengthsrangefill, 3),
                IN("index32 1: -2"), OUT("index32 3: 0"),
                "element 0 of Lengths is -2"),
        REFUSES(lengthsrangefill, ATTRS(lengthsrangefill, -1),
                IN("index32 1: 2"), OUT("index32 3"), "MaxOutputSize is -1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_batchsparsetodense(void **state)
{
    const op_case cases[] = {
        /* Row 2 writes column 0 twice; what is left over is unused. */
        GIVES(batchsparsetodense, ATTRS(batchsparsetodense, 9, 3),
              IN("index64 3: 2 0 2", "index32 5: 2 0 0 0 7",
                 "float 5: 1 2 3 4 5"),
              OUT("float 3 3: 2 9 1 9 9 9 4 9 9")),
        GIVES(batchsparsetodense, ATTRS(batchsparsetodense, 1, 2),
              IN("index64 1: 0", "index32 0:", "index64 0:"),
              OUT("index64 1 2: 1 1")),
        REFUSES(batchsparsetodense, ATTRS(batchsparsetodense, 0, 2),
                IN("index64 1: 1", "index32 1: 2", "float 1: 1"),
                OUT("float 1 2: 0"),
                "element 0 of Indices is 2, but DenseLastDim is 2"),
        REFUSES(batchsparsetodense, ATTRS(batchsparsetodense, 0, 2),
                IN("index64 1: 2", "index32 1: 0", "float 1: 1"),
                OUT("float 1 2: 0"),
                "element 0 of Lengths is 2, but 1 entries are left"),
        REFUSES(batchsparsetodense, ATTRS(batchsparsetodense, 0, -2),
                IN("index64 1: 1", "index32 1: 0", "float 1: 1"),
                OUT("float 1 2"), "DenseLastDim is -2"),
        REFUSES(batchsparsetodense, ATTRS(batchsparsetodense, 0, 2),
                IN("index64 1: 1", "index32 1: 0", "float 2: 1"),
                OUT("float 1 2"),
                "the shape of Values is <2>, but that of Indices is <1>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_fillexampleswithindicator(void **state)
{
    const op_case cases[] = {
        GIVES(fillexampleswithindicator, NULL,
              IN(TABLE, "index32 5: 0 1 7 0 1"),
              OUT("float 5 2: 0 0 1 2 3 4 0 0 5 6")),
        GIVES(fillexampleswithindicator, NULL, IN("bool 1: 1", "bool 2: 0 1"),
              OUT("bool 2: 0 1")),
        GIVES(fillexampleswithindicator, NULL, IN("float 0 2:", "bool 2: 0 0"),
              OUT("float 2 2: 0")),
        REFUSES(fillexampleswithindicator, NULL,
                IN("float 1: 1", "bool 2: 1 1"), OUT("float 2: 0"),
                "element 1 of Indicator wants a row, but Data has only 1"),
        REFUSES(fillexampleswithindicator, NULL, IN(TABLE, "float 2: 1"),
                OUT("float 2 2"), "the elements of Indicator are float"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_sparsetodensemask(void **state)
{
    static const int64_t mask[] = {42, -1, 7}, twice[] = {1, 2, 1};
    const glow_sparsetodensemask m = {{3, mask}}, t = {{3, twice}};
    const op_case cases[] = {
        GIVES(sparsetodensemask, &m,
              IN("index64 4: 7 42 5 7", "float 4 2: 1 2 3 4 5 6 7 8",
                 "float 2: 9 10", "_"),
              OUT("float 3 2: 3 4 9 10 7 8")),
        GIVES(sparsetodensemask, &m,
              IN("index32 4: 7 42 -1 7", "float 4: 1 2 3 4", "float: 0",
                 "index32 3: 1 2 0"),
              OUT("float 3 3: 0 0 1 2 3 0 0 0 0")),
        REFUSES(sparsetodensemask, &t,
                IN("index64 1: 7", "float 1: 1", "float: 0", "_"),
                OUT("float 3"), "elements 0 and 2 of Mask are both 1"),
        REFUSES(sparsetodensemask, &m,
                IN("index64 2: 7", "float 1: 1", "float: 0", "_"),
                OUT("float 3"),
                "Values has 1 rows, but Indices has 2 elements"),
        REFUSES(sparsetodensemask, &m,
                IN("index64 1: 7", "float 1 2: 1", "float 3: 0", "_"),
                OUT("float 3 2"), "the shape of DefaultValue is <3>"),
        REFUSES(sparsetodensemask, &m,
                IN("index64 1: 7", "float 1: 1", "float: 0", "index32 1: 2"),
                OUT("float 1 3: 0"),
                "element 0 of Lengths is 2, but 1 entries are left"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_batchedunaryembeddingsbags(void **state)
{
    const op_case cases[] = {
        /* Tables of 2 and 3 rows, two bags of each, for two tasks. */
        GIVES(batchedunaryembeddingsbags, NULL,
              IN("float 2 5 1: 1 2 3 4 5 10 20 30 40 50", "index64 3: 0 2 5",
                 "index32 5: 0 2 2 3 5", "index64 5: 0 1 2 0 1"),
              OUT("float 2 2 2: 3 5 0 7 30 50 0 70")),
        REFUSES(batchedunaryembeddingsbags, NULL,
                IN("float 1 3: 1", "index64 2: 0 3", "index64 2: 0 1",
                   "index64 1: 3"),
                OUT("float 1 1 1: 0"),
                "element 0 of Indices is 3, which is not within 0 and 2"),
        REFUSES(batchedunaryembeddingsbags, NULL,
                IN("float 1 3: 1", "index64 3: 0 1 3", "index64 2: 0 1",
                   "index64 1: 0"),
                OUT("float 1 1 1"),
                "Offsets has the ends of 1 bags, but there are 2 tables"),
        REFUSES(batchedunaryembeddingsbags, NULL,
                IN("float 1 3 2: 1", "index64 2: 0 3", "index64 2: 0 1",
                   "index64 1: 0"),
                OUT("float 1 1 1"), "Weights must be [tasks, rows]"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_permutepooledembeddings(void **state)
{
    const op_case cases[] = {
        /* Features of 1, 2 and 1 columns, in the order 2, 0, 1. */
        GIVES(permutepooledembeddings, NULL,
              IN("float 2 4: 1 2 3 4 5 6 7 8", "index64 4: 0 1 3 4",
                 "index64 3: 2 0 1", "index64 4: 0 1 2 4", "index64 3: 1 2 0"),
              OUT("float 2 4: 4 1 2 3 8 5 6 7")),
        REFUSES(permutepooledembeddings, NULL,
                IN("float 1 2: 1", "index64 3: 0 1 2", "index64 2: 0 2",
                   "index64 3: 0 1 2", "index64 2: 0 1"),
                OUT("float 1 2: 0"),
                "element 1 of PermuteList is 2, which is not within 0 and 1"),
        REFUSES(permutepooledembeddings, NULL,
                IN("float 1 2: 1", "index64 3: 0 1 2", "index64 2: 0 1",
                   "index64 3: 0 1 1", "index64 2: 0 1"),
                OUT("float 1 2: 0"),
                "element 2 of InvOffsetDimList is 1, which is not within 2 "
                "and 2"),
        REFUSES(permutepooledembeddings, NULL,
                IN("float 1 2: 1", "index64 3: 0 1 2", "index64 3: 0 1",
                   "index64 3: 0 1 2", "index64 2: 0 1"),
                OUT("float 1 2"), "the shape of PermuteList is <3>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_sparselabelsplit(void **state)
{
    const op_case cases[] = {
        GIVES(sparselabelsplit, ATTRS(sparselabelsplit, 2),
              IN("index32 3: 1 0 3", "index64 4: 1 0 1 0", "float 4: 1 2 3 4"),
              OUT("float 2 2: 2 4 1 3", "index32 2 2: 2 2 0 2",
                  "index32 4: 0 0 1 1")),
        REFUSES(sparselabelsplit, ATTRS(sparselabelsplit, 2),
                IN("index32 1: 4", "index64 4: 1 1 1 0", "float 4: 1"),
                OUT("float 2 2: 0", "index32 2 2: 0", "index32 4: 0"),
                "element 2 of Indices is 1, but each label from 0 to 1 must "
                "occur 2 times"),
        REFUSES(sparselabelsplit, ATTRS(sparselabelsplit, 2),
                IN("index32 1: 2", "index64 4: 1 0 1 0", "float 4: 1"),
                OUT("float 2 2: 0", "index32 2 2: 0", "index32 4: 0"),
                "the elements of Lengths are 2 together, but Indices has 4"),
        REFUSES(sparselabelsplit, ATTRS(sparselabelsplit, 3),
                IN("index32 1: 2", "index64 4: 1 0 1 0", "float 4: 1"),
                OUT("float 2 2"), "NumLabels is 3, but Indices has 4 elements"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_fused_rows(void **state)
{
    const op_case cases[] = {
        /* Columns 1 and 2 by 1.0 + 0.5, and by 2.0 - 1.0. */
        GIVES(sparselengthsweightedsum,
              ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
              IN("ui8fused 2 10: 1 2 0 0 128 63 0 0 0 63"
                 " 3 0 0 0 0 64 0 0 128 191",
                 "float 3: 1 2 -1", "index64 3: 0 1 1", "index64 2: 2 1"),
              OUT("float 2 2: 11.5 0.5 -5 1")),
        GIVES(embeddingbag, ATTRS(embeddingbag, .lengths_mode = 0),
              IN("ui4fusedfp16 1 5: 33 0 60 0 56", "float16 1: 2",
                 "index64 1: 0", "index64 1: 0"),
              OUT("float16 1 2: 3 5")),
        REFUSES(sparselengthssum, ATTRS(sparselengthssum, .lengths_mode = 0),
                IN("ui8fused 1 7: 0", "index64 1: 0", "index64 1: 1"),
                OUT("float 1 1"),
                "rows of Data have 7 bytes, but scale and offset take 8"),
        REFUSES(sparselengthsweightedsum,
                ATTRS(sparselengthsweightedsum, .lengths_mode = 0),
                IN("ui8fused 1 9: 0", "index64 1: 0", "index64 1: 0",
                   "index64 1: 1"),
                OUT("float 1 1"), "the elements of Weights are index64"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_convertrows(void **state)
{
    const op_case cases[] = {
        /* 0 to 255 in steps of 1; ties to even. */
        GIVES(convertrows, NULL, IN("float 1 4: 0 255 2.5 3.5"),
              OUT("ui8fused 1 12: 0 255 2 4 0 0 128 63 0 0 0 0")),
        GIVES(convertrows, NULL, IN("float 1 4: -1 0 14 nan"),
              OUT("ui4fusedfp16 1 6: 16 15 0 60 0 188")),
        /* A row of equal numbers has the scale 1. */
        GIVES(convertrows, NULL, IN("float 1 2: 3 3"),
              OUT("ui8fused 1 10: 0 0 0 0 128 63 0 0 64 64")),
        /* A scale that float16 cannot hold is 1, too. */
        GIVES(convertrows, NULL, IN("float 1 2: 0 1e-6"),
              OUT("ui8fusedfp16 1 6: 0 0 0 60 0 0")),
        GIVES(convertrows, NULL, IN("ui4fusedfp16 1 5: 33 0 60 0 56"),
              OUT("float16 1 2: 1.5 2.5")),
        GIVES(convertrows, NULL, IN("ui4fusedfp16 1 5: 240 0 60 0 56"),
              OUT("ui8fused 1 10: 0 255 241 240 112 61 0 0 0 63")),
        REFUSES(convertrows, NULL, IN("float 1 3: 0"), OUT("ui4fused 1 9"),
                "rows have 3 columns, but ui4fused has two in a byte"),
        REFUSES(convertrows, NULL, IN("float 1 3: 0"), OUT("float16 1 3"),
                "neither Input nor Result is of a fused kind"),
        REFUSES(convertrows, NULL, IN("ui8fused 1 7: 0"), OUT("float 1 1"),
                "rows of Input have 7 bytes, but scale and offset take 8"),
        REFUSES(convertrows, NULL, IN("float 1 3: 0"), OUT("int8 1 3"),
                "the elements of Result are int8, but must be floats or of"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convertrows),
        cmocka_unit_test(test_fused_rows),
        cmocka_unit_test(test_batchedunaryembeddingsbags),
        cmocka_unit_test(test_batchsparsetodense),
        cmocka_unit_test(test_embeddingbag),
        cmocka_unit_test(test_fillexampleswithindicator),
        cmocka_unit_test(test_lengthssum),
        cmocka_unit_test(test_permutepooledembeddings),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_sparselabelsplit),
        cmocka_unit_test(test_sparselengthssum),
        cmocka_unit_test(test_sparselengthsweightedsum),
        cmocka_unit_test(test_sparsetodensemask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
