/* Operators that pick and compare elements by number, worked out by hand. */

#include "ops.h"

#include "glow/ops.h"

static void
test_gatherelements(void **state)
{
    const op_case cases[] = {
        GIVES(gatherelements, ATTRS(gatherelements, 1),
              IN("float 2 3: 1 2 3 4 5 6", "index64 2 2: 0 -1 2 1"),
              OUT("float 2 2: 1 3 6 5")),
        GIVES(gatherelements, ATTRS(gatherelements, 0),
              IN("bool 2 3: 1 0 0 0 1 1", "int8 3 2: 0 1 1 0 -2 -1"),
              OUT("bool 3 2: 1 1 0 0 1 1")),
        GIVES(gatherelements, ATTRS(gatherelements, 0),
              IN("float 3: 1 2 3", "index32 0:"), OUT("float 0:")),
        REFUSES(gatherelements, ATTRS(gatherelements, 0),
                IN("float 3: 1 2 3", "index64 2: 0 3"), OUT("float 2: 0"),
                "element 1 of Indices is 3, but axis 0 of Data has 3"),
        REFUSES(gatherelements, ATTRS(gatherelements, 0),
                IN("float 3 2: 0", "index64 3 3: 0"), OUT("float 3 3"),
                "axis 1 of Indices has 3 elements, but that of Data 2"),
        REFUSES(gatherelements, ATTRS(gatherelements, 2),
                IN("float 3 2: 0", "index64 3 2: 0"), OUT("float 3 2"),
                "Dim is 2, but the rank of Data is 2"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_gathernd(void **state)
{
    const op_case cases[] = {
        GIVES(gathernd, ATTRS(gathernd, 0),
              IN("float 2 3: 1 2 3 4 5 6", "index64 3 2: 0 1 1 -1 -2 0"),
              OUT("float 3: 2 6 1")),
        GIVES(gathernd, ATTRS(gathernd, 0),
              IN("float 2 3: 1 2 3 4 5 6", "index32 1 1: 1"),
              OUT("float 1 3: 4 5 6")),
        GIVES(gathernd, ATTRS(gathernd, 1),
              IN("int16 2 2 2: 1 2 3 4 5 6 7 8", "index64 2 1: 1 0"),
              OUT("int16 2 2: 3 4 5 6")),
        GIVES(gathernd, ATTRS(gathernd, 0), IN("float 2: 1 2", "index64 2 0:"),
              OUT("float 2 2: 1 2 1 2")),
        REFUSES(gathernd, ATTRS(gathernd, 0),
                IN("float 2 3: 1", "index64 1 2: 0 -4"), OUT("float 1: 0"),
                "element 1 of Indices is -4, but axis 1 of Data has 3"),
        REFUSES(gathernd, ATTRS(gathernd, 0),
                IN("float 2 3: 1", "index64 1 3: 0"), OUT("float 1"),
                "the last axis of Indices has 3 elements, but only 2 axes"),
        REFUSES(gathernd, ATTRS(gathernd, 1),
                IN("float 2 3: 1", "index64 1: 0"), OUT("float 1"),
                "BatchDims is 1, but the rank of Indices is 1"),
        REFUSES(gathernd, ATTRS(gathernd, 1),
                IN("float 2 3: 1", "index64 3 1: 0"), OUT("float 3"),
                "axis 0 of Data has 2 elements, but that of Indices 3"),
        REFUSES(gathernd, ATTRS(gathernd, 0),
                IN("float 1 1 1 1 1: 1", "index64 1 1 1 1 1 1: 0"),
                OUT("float 1"),
                "the rank of Result is 9, but at most 8 is possible"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_scatterdata(void **state)
{
    const op_case cases[] = {
        GIVES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_NONE),
              IN("float 3 2: 1 2 3 4 5 6", "index64 3 1: 0 -1 0",
                 "float 3 2: 7 8 9 10 11 12"),
              OUT("float 3 2: 11 12 3 4 9 10")),
        GIVES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_ADD),
              IN("float 3 2: 1 2 3 4 5 6", "index64 3 1: 0 2 0",
                 "float 3 2: 7 8 9 10 11 12"),
              OUT("float 3 2: 19 22 3 4 14 16")),
        GIVES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_MUL),
              IN("int8 2 2: 1 2 3 100", "index32 3 2: 1 0 1 1 1 0",
                 "int8 3: 2 3 4"),
              OUT("int8 2 2: 1 2 24 44")), /* 3 * 100 - 256 */
        GIVES(
            scatterdata, ATTRS(scatterdata, GLOW_SCATTER_MAX),
            IN("float 3: 1 nan 3", "index64 4 1: 0 1 2 0", "float 4: 5 1 2 4"),
            OUT("float 3: 5 nan 3")),
        GIVES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_MIN),
              IN("uint64 2: -1 5", "index64 2 1: 0 1", "uint64 2: 7 -1"),
              OUT("uint64 2: 7 5")),
        GIVES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_NONE),
              IN("i8[S:0.5 O:3] 2: 1 2", "index64 1: 1", "i8[S:0.5 O:3]: 9"),
              OUT("i8[S:0.5 O:3] 2: 1 9")),
        GIVES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_ADD),
              IN("float 2: 1 2", "index64 0 1:", "float 0:"),
              OUT("float 2: 1 2")),
        REFUSES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_NONE),
                IN("float 2: 1", "index64 1 1: 2", "float 1: 1"),
                OUT("float 2: 0"),
                "element 0 of Indices is 2, but axis 0 of Data has 2"),
        REFUSES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_ADD),
                IN("bool 2: 1", "index64 1 1: 0", "bool 1: 1"), OUT("bool 2"),
                "the elements of Data are bool"),
        REFUSES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_NONE),
                IN("float 2: 1", "index64 1 2: 0", "float 1: 1"),
                OUT("float 2"),
                "the last axis of Indices has 2 elements, but the rank of "
                "Data is 1"),
        REFUSES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_NONE),
                IN("float 2: 1", "index64 1 1: 0", "float 2: 1"),
                OUT("float 2"), "the shape of Slices is <2>, but what"),
        REFUSES(scatterdata, ATTRS(scatterdata, GLOW_SCATTER_NONE),
                IN("float 1 1 1 1 1: 1", "index64 1 1 1 1 1 1: 0", "float: 1"),
                OUT("float 1"), "the rank of Slices would be 9"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_scatterelements(void **state)
{
    const op_case cases[] = {
        GIVES(
            scatterelements, ATTRS(scatterelements, 0, GLOW_SCATTER_NONE),
            IN("float 3 2: 1 2 3 4 5 6", "index64 2 1: 2 -3", "float 2 1: 7 8"),
            OUT("float 3 2: 8 2 3 4 7 6")),
        GIVES(scatterelements, ATTRS(scatterelements, 1, GLOW_SCATTER_ADD),
              IN("float 1 3: 1 2 3", "index64 1 4: 1 1 0 1",
                 "float 1 4: 10 20 30 40"),
              OUT("float 1 3: 31 72 3")),
        GIVES(scatterelements, ATTRS(scatterelements, 0, GLOW_SCATTER_MIN),
              IN("index32 2: 5 -5", "index32 2: 0 1", "index32 2: 3 -3"),
              OUT("index32 2: 3 -5")),
        REFUSES(scatterelements, ATTRS(scatterelements, 0, GLOW_SCATTER_NONE),
                IN("float 2: 1", "index64 1: -3", "float 1: 1"),
                OUT("float 2: 0"), "element 0 of Indices is -3"),
        REFUSES(scatterelements, ATTRS(scatterelements, 0, GLOW_SCATTER_NONE),
                IN("float 2: 1", "index64 1: 0", "float 2: 1"), OUT("float 2"),
                "the shape of Updates is <2>, but that of Indices is <1>"),
        REFUSES(scatterelements, ATTRS(scatterelements, 0, GLOW_SCATTER_NONE),
                IN("float 2 1: 1", "index64 1 2: 0", "float 1 2: 1"),
                OUT("float 2 1"),
                "axis 1 of Indices has 2 elements, but that of Data 1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_indexadd(void **state)
{
    const op_case cases[] = {
        GIVES(indexadd, ATTRS(indexadd, 1, 2),
              IN("float 2 3: 1 2 3 4 5 6", "index64 2: -1 -1",
                 "float 2 2: 1 2 3 4"),
              OUT("float 2 3: 1 2 9 4 5 20")),
        GIVES(indexadd, ATTRS(indexadd, 0, -1),
              IN("int8 2: 1 2", "index32 1: 0", "int8 1: 5"),
              OUT("int8 2: -4 2")),
        REFUSES(indexadd, ATTRS(indexadd, 0, 1),
                IN("float 2: 1", "index64 1: 2", "float 1: 1"),
                OUT("float 2: 0"), "element 0 of Index is 2"),
        REFUSES(indexadd, ATTRS(indexadd, 0, 1),
                IN("float 2: 1", "index64 1: 0", "float 2: 1"), OUT("float 2"),
                "the shape of Source is <2>"),
        REFUSES(indexadd, ATTRS(indexadd, 0, 0.5f),
                IN("int8 2: 1", "index64 1: 0", "int8 1: 1"), OUT("int8 2"),
                "Alpha is 0.5, but integers need a whole number"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_embedding(void **state)
{
    const op_case cases[] = {
        GIVES(embedding, ATTRS(embedding, 1),
              IN("float 3 2: 1 2 3 4 5 6", "index64 1 4: 2 1 -2 0"),
              OUT("float 1 4 2: 5 6 0 0 0 0 1 2")),
        GIVES(embedding, ATTRS(embedding, -1),
              IN("float 2 1: 1 2", "index32: 1"), OUT("float 1: 2")),
        REFUSES(embedding, ATTRS(embedding, -1),
                IN("float 2 1: 1 2", "index32 1: 2"), OUT("float 1 1: 0"),
                "element 0 of Indices is 2, but axis 0 of Weights has 2"),
        REFUSES(embedding, ATTRS(embedding, 2),
                IN("float 2 1: 1 2", "index32 1: 2"), OUT("float 1 1"),
                "PadIdx is 2, but Weights has 2 rows"),
        REFUSES(embedding, ATTRS(embedding, -1),
                IN("float 2 1: 1 2", "index32 1 1 1 1 1 1 1 1: 0"),
                OUT("float 1"), "the rank of Result is 9"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_gatherranges(void **state)
{
    const op_case cases[] = {
        GIVES(gatherranges, ATTRS(gatherranges, 6),
              IN("float 6: 1 2 3 4 5 6", "index32 2 2 2: 0 1 2 2 4 1 0 0"),
              OUT("float 6: 1 3 4 5 0 0", "index32 2: 3 1")),
        GIVES(gatherranges, ATTRS(gatherranges, 1),
              IN("index64 2: 7 8", "index64 1 1 2: 2 0"),
              OUT("index64 1: 0", "index64 1: 0")),
        GIVES(gatherranges, ATTRS(gatherranges, 3),
              IN("i8[S:0.5 O:-3] 2: 7 8", "index64 1 1 2: 1 1"),
              OUT("i8[S:0.5 O:-3] 3: 8 -3 -3", "index64 1: 1")),
        REFUSES(gatherranges, ATTRS(gatherranges, 2),
                IN("float 3: 1", "index32 1 1 2: 1 3"),
                OUT("float 2: 0", "index32 1: 0"),
                "3 elements from 1 on leave Data, which has 3"),
        REFUSES(gatherranges, ATTRS(gatherranges, 2),
                IN("float 3: 1", "index32 1 1 2: 0 3"),
                OUT("float 2: 0", "index32 1: 0"),
                "there are more than 2 elements, which is MaxOutputSize"),
        REFUSES(gatherranges, ATTRS(gatherranges, 2),
                IN("float 3: 1", "index32 1 1 3: 0"),
                OUT("float 2", "index32 1"),
                "the last axis of Ranges has 3 elements"),
        REFUSES(gatherranges, ATTRS(gatherranges, -1),
                IN("float 3: 1", "index32 1 1 2: 0"),
                OUT("float 2", "index32 1"), "MaxOutputSize is -1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_cumsum(void **state)
{
    const op_case cases[] = {
        GIVES(cumsum, ATTRS(cumsum, 1, false, false),
              IN("float 2 3: 1 2 3 4 5 6"), OUT("float 2 3: 1 3 6 4 9 15")),
        GIVES(cumsum, ATTRS(cumsum, 0, true, false),
              IN("float 2 3: 1 2 3 4 5 6"), OUT("float 2 3: 0 0 0 1 2 3")),
        GIVES(cumsum, ATTRS(cumsum, 1, false, true), IN("int8 1 3: 100 27 1"),
              OUT("int8 1 3: -128 28 1")),
        GIVES(cumsum, ATTRS(cumsum, 0, true, true), IN("uint16 3: 1 2 3"),
              OUT("uint16 3: 5 3 0")),
        GIVES(cumsum, ATTRS(cumsum, 0, false, false), IN("float 0 3:"),
              OUT("float 0 3:")),
        REFUSES(cumsum, ATTRS(cumsum, 1, false, false), IN("float 2: 1"),
                OUT("float 2"), "Dim is 1, but the rank of Input is 1"),
        GIVES(cumprod, ATTRS(cumprod, 1, false, false),
              IN("float 2 3: 1 2 3 4 5 0"), OUT("float 2 3: 1 2 6 4 20 0")),
        GIVES(cumprod, ATTRS(cumprod, 0, true, false),
              IN("float 2 3: 1 2 3 4 5 6"), OUT("float 2 3: 1 1 1 1 2 3")),
        GIVES(cumprod, ATTRS(cumprod, 1, false, true), IN("int8 1 3: 100 2 1"),
              OUT("int8 1 3: -56 2 1")),
        GIVES(cumprod, ATTRS(cumprod, 0, true, true), IN("uint16 3: 1 2 3"),
              OUT("uint16 3: 6 3 1")),
        REFUSES(cumprod, ATTRS(cumprod, 1, false, false), IN("float 2: 1"),
                OUT("float 2"), "Dim is 1, but the rank of Input is 1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_onehot(void **state)
{
    const op_case cases[] = {
        GIVES(onehot, ATTRS(onehot, 3, 1),
              IN("index64 3: 0 -1 3", "float 2: 2 5"),
              OUT("float 3 3: 5 2 2 2 2 5 2 2 2")),
        GIVES(onehot, ATTRS(onehot, 2, 0), IN("uindex8 2: 1 0", "bool 2: 0 1"),
              OUT("bool 2 2: 0 1 1 0")),
        GIVES(onehot, ATTRS(onehot, 2, 0), IN("index32: 1", "int8 2: 3 4"),
              OUT("int8 2: 3 4")),
        REFUSES(onehot, ATTRS(onehot, 0, 0), IN("index32: 1", "int8 2: 3 4"),
                OUT("int8 2"), "Depth is 0, but must be at least 1"),
        REFUSES(onehot, ATTRS(onehot, 2, 2), IN("index32 1: 1", "int8 2: 3 4"),
                OUT("int8 2"), "Axis is 2, but the rank of Indices is 1"),
        REFUSES(onehot, ATTRS(onehot, 2, 0), IN("index32 1: 1", "int8 1: 3"),
                OUT("int8 2"), "the shape of Values is <1>"),
        REFUSES(onehot, ATTRS(onehot, 2, 0),
                IN("index32 1 1 1 1 1 1 1 1: 1", "int8 2: 3"), OUT("int8 2"),
                "the rank of Result is 9"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_batchonehot(void **state)
{
    const op_case cases[] = {
        GIVES(batchonehot, NULL,
              IN("index32 2 2: 5 0 11 3", "index32 2: 2 3",
                 "index32 5: 5 11 0 1 3"),
              OUT("index32 2 5: 1 0 1 0 0 0 1 0 0 1")),
        GIVES(batchonehot, NULL,
              IN("float 1 1: 2", "index64 1: 1", "float 1: 2"),
              OUT("float 1 1: 1")),
        REFUSES(batchonehot, NULL,
                IN("float 1 1: 2", "index64 1: 2", "float 1: 2"),
                OUT("float 1 1: 0"),
                "element 0 of Lengths is 2, but 1 of Values are left"),
        REFUSES(batchonehot, NULL,
                IN("float 1 1: 2", "index64 1: 0", "float 1: 2"),
                OUT("float 1 1: 0"),
                "Lengths add up to 0, but Values has 1 elements"),
        REFUSES(batchonehot, NULL,
                IN("float 1 1: 2", "index64 2: 0", "float 1: 2"),
                OUT("float 1 1"), "the shape of Lengths is <2>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_bucketize(void **state)
{
    const float edges[] = {0, 1, 1, 3}, falling[] = {1, 0}, none[] = {NAN};
    const op_case cases[] = {
        GIVES(bucketize, ATTRS(bucketize, {4, edges}),
              IN("float 2 3: -1 0 1 2 9 nan"), OUT("index32 2 3: 0 0 1 3 4 0")),
        REFUSES(bucketize, ATTRS(bucketize, {2, falling}), IN("float 1: 0"),
                OUT("index32 1"),
                "Boundaries[1] is 0, but the one before it 1"),
        REFUSES(bucketize, ATTRS(bucketize, {1, none}), IN("float 1: 0"),
                OUT("index32 1"), "Boundaries[0] is no number"),
        REFUSES(bucketize, ATTRS(bucketize, {0, none}), IN("float 1: 0"),
                OUT("index32 1"), "Boundaries is empty"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_trilu(void **state)
{
    const op_case cases[] = {
        GIVES(trilu, ATTRS(trilu, true), IN("float 2 3: 1 2 3 4 5 6", "_"),
              OUT("float 2 3: 1 2 3 0 5 6")),
        GIVES(trilu, ATTRS(trilu, false),
              IN("float 2 2 2: 1 2 3 4 5 6 7 8", "index64: -1"),
              OUT("float 2 2 2: 0 0 3 0 0 0 7 0")),
        GIVES(trilu, ATTRS(trilu, true), IN("bool 1 3: 1 1 1", "int8: 2"),
              OUT("bool 1 3: 0 0 1")),
        GIVES(trilu, ATTRS(trilu, false),
              IN("i8[S:0.5 O:3] 1 2: 7 8", "index64: 0"),
              OUT("i8[S:0.5 O:3] 1 2: 7 3")),
        REFUSES(trilu, ATTRS(trilu, true), IN("float 2: 1", "_"),
                OUT("float 2"),
                "the rank of Input is 1, but must be at least 2"),
        REFUSES(trilu, ATTRS(trilu, true), IN("float 1 2: 1", "index64 1: 0"),
                OUT("float 1 2"), "the shape of K is <1>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_flip(void **state)
{
    const op_case cases[] = {
        GIVES(flip, ATTRS(flip, 1), IN("float 2 3: 1 2 3 4 5 6"),
              OUT("float 2 3: 3 2 1 6 5 4")),
        GIVES(flip, ATTRS(flip, 0), IN("bool 0 3:"), OUT("bool 0 3:")),
        REFUSES(flip, ATTRS(flip, -1), IN("float 2: 1"), OUT("float 2"),
                "Axis is -1, but the rank of Input is 1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_reversesequence(void **state)
{
    const op_case cases[] = {
        GIVES(reversesequence, ATTRS(reversesequence, 0, 1),
              IN("float 3 3: 1 2 3 4 5 6 7 8 9", "index64 3: 2 3 0"),
              OUT("float 3 3: 2 1 3 6 5 4 7 8 9")),
        GIVES(reversesequence, ATTRS(reversesequence, 1, 0),
              IN("int8 2 2 2: 1 2 3 4 5 6 7 8", "index32 2: 1 2"),
              OUT("int8 2 2 2: 1 2 7 8 5 6 3 4")),
        REFUSES(reversesequence, ATTRS(reversesequence, 0, 1),
                IN("float 1 2: 1", "index64 1: 3"), OUT("float 1 2: 0"),
                "element 0 of Lengths is 3, but TimeAxis has 2 elements"),
        REFUSES(reversesequence, ATTRS(reversesequence, 1, 1),
                IN("float 1 2: 1", "index64 1: 2"), OUT("float 1 2"),
                "BatchAxis and TimeAxis are both 1"),
        REFUSES(reversesequence, ATTRS(reversesequence, 0, 1),
                IN("float 1 2: 1", "index64 2: 2"), OUT("float 1 2"),
                "the shape of Lengths is <2>"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_channelshuffle(void **state)
{
    const op_case cases[] = {
        GIVES(channelshuffle, ATTRS(channelshuffle, 2, 1),
              IN("float 1 6: 1 2 3 4 5 6"), OUT("float 1 6: 1 4 2 5 3 6")),
        GIVES(channelshuffle, ATTRS(channelshuffle, 2, 0),
              IN("int8 4 2: 1 2 3 4 5 6 7 8"),
              OUT("int8 4 2: 1 2 5 6 3 4 7 8")),
        REFUSES(channelshuffle, ATTRS(channelshuffle, 4, 0), IN("float 6: 1"),
                OUT("float 6"), "Group is 4, but axis 0 of Input has 6"),
        REFUSES(channelshuffle, ATTRS(channelshuffle, 1, 1), IN("float 6: 1"),
                OUT("float 6"), "Kernel is 1, but the rank of Input is 1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_spacetodepth(void **state)
{
    const op_case cases[] = {
        GIVES(spacetodepth, ATTRS(spacetodepth, 2),
              IN("float 1 2 4 2: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"),
              OUT("float 1 1 2 8: 1 2 3 4 9 10 11 12 5 6 7 8 13 14 15 16")),
        REFUSES(spacetodepth, ATTRS(spacetodepth, 2), IN("float 1 2 3 1: 0"),
                OUT("float 1 1 1 4"), "BlockSize is 2, but Input is 2 by 3"),
        REFUSES(spacetodepth, ATTRS(spacetodepth, 2), IN("float 2 2: 0"),
                OUT("float 1 1 1 4"), "the rank of Input is 2"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gatherelements),
        cmocka_unit_test(test_gathernd),
        cmocka_unit_test(test_scatterdata),
        cmocka_unit_test(test_scatterelements),
        cmocka_unit_test(test_indexadd),
        cmocka_unit_test(test_embedding),
        cmocka_unit_test(test_gatherranges),
        cmocka_unit_test(test_cumsum),
        cmocka_unit_test(test_onehot),
        cmocka_unit_test(test_batchonehot),
        cmocka_unit_test(test_bucketize),
        cmocka_unit_test(test_trilu),
        cmocka_unit_test(test_flip),
        cmocka_unit_test(test_reversesequence),
        cmocka_unit_test(test_channelshuffle),
        cmocka_unit_test(test_spacetodepth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
