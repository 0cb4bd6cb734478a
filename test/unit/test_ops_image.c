/* Images: resizing in general, sampling, regions, detection. */

#include "ops.h"

#include "glow/ops.h"

#define DIMS(...) GLOW_DIMS_OF(__VA_ARGS__)
#define FLOATS(...)                                              \
    {                                                            \
        .count = sizeof((float[]){__VA_ARGS__}) / sizeof(float), \
        .at = (const float[])                                    \
        {                                                        \
            __VA_ARGS__                                          \
        }                                                        \
    }

#define RESIZE(...) ATTRS(resize, __VA_ARGS__)

/* Cubic sums of 1 2 4 8 by hand: (at 0.5) 0.59375 (2 + 4) - 0.09375 (1 + 8). */
static void
test_resize(void **state)
{
    const op_case cases[] = {
        GIVES(resize,
              RESIZE(.scale = FLOATS(2), .mode = GLOW_RESIZE_CUBIC,
                     .cubic_coeff = -0.75f),
              IN("float 4: 1 2 4 8"),
              OUT("float 8: 1 1.3125 2 2.71875 4 6.1875 8 8.375")),
        GIVES(resize,
              RESIZE(.scale = FLOATS(2), .mode = GLOW_RESIZE_CUBIC,
                     .cubic_coeff = -0.75f, .exclude_outside = true),
              IN("float 4: 1 2 4 8"),
              OUT("float 8: 1 1.285714286 2 2.71875 4 6.342857143 8 8.75")),
        GIVES(resize,
              RESIZE(.scale = FLOATS(0.5f), .mode = GLOW_RESIZE_LINEAR,
                     .coordinates = GLOW_COORD_HALF_PIXEL, .antialias = true),
              IN("float 4: 1 2 4 8"), OUT("float 2: 1.75 5.75")),
        GIVES(resize,
              RESIZE(.scale = FLOATS(0.5f), .mode = GLOW_RESIZE_LINEAR,
                     .coordinates = GLOW_COORD_HALF_PIXEL, .antialias = true,
                     .exclude_outside = true),
              IN("float 4: 1 2 4 8"), OUT("float 2: 1.857142857 5.428571429")),
        GIVES(resize,
              RESIZE(.scale = FLOATS(0.5f), .mode = GLOW_RESIZE_CUBIC,
                     .coordinates = GLOW_COORD_HALF_PIXEL, .antialias = true,
                     .cubic_coeff = -0.75f),
              IN("float 4: 1 2 4 8"), OUT("float 2: 1.33984375 5.94921875")),
        GIVES(resize,
              RESIZE(.scale = FLOATS(2, 1, 2, 2), .mode = GLOW_RESIZE_LINEAR,
                     .coordinates = GLOW_COORD_ALIGN_CORNERS),
              IN("float 1 1 2 2: 0 1 2 3"),
              OUT("float 1 1 3 3: 0 0.5 1 1 1.5 2 2 2.5 3")),
        /* From 1.5 (half of 3) to 4.5: the last one is outside. */
        GIVES(resize,
              RESIZE(.scale = FLOATS(1), .mode = GLOW_RESIZE_LINEAR,
                     .coordinates = GLOW_COORD_TF_CROP_AND_RESIZE,
                     .extrapolation = -7, .roi = FLOATS(0.5f, 1.5f)),
              IN("float 4: 1 2 4 8"), OUT("float 4: 3 6 -7 -7")),
        GIVES(resize,
              RESIZE(.scale = FLOATS(0.25f),
                     .coordinates = GLOW_COORD_TF_CROP_AND_RESIZE,
                     .roi = FLOATS(0, 1)),
              IN("index64 4: 1 2 4 8"), OUT("index64 1: 2")),
        GIVES(resize,
              RESIZE(.scale = FLOATS(2),
                     .coordinates = GLOW_COORD_TF_HALF_PIXEL_FOR_NN,
                     .rounding = GLOW_ROUND_CEIL),
              IN("bool 2: 0 1"), OUT("bool 4: 1 1 1 1")),
        /* 0.75 * 4 is 3, of which 2 are asked for: half of one further. */
        GIVES(resize,
              RESIZE(.scale = FLOATS(0.75f), .mode = GLOW_RESIZE_LINEAR,
                     .coordinates = GLOW_COORD_HALF_PIXEL_SYMMETRIC),
              IN("float 4: 0 6 12 18"), OUT("float 2: 5 13")),
        GIVES(resize, RESIZE(.scale = FLOATS(1, 1)), IN("float 0 2:"),
              OUT("float 0 2:")),
        REFUSES(resize, RESIZE(.scale = FLOATS(2), .roi = FLOATS(0, 1)),
                IN("float 2: 1"), OUT("float 4"),
                "Roi has 2 elements, but needs 0"),
        REFUSES(resize,
                RESIZE(.scale = FLOATS(2),
                       .coordinates = GLOW_COORD_TF_CROP_AND_RESIZE),
                IN("float 2: 1"), OUT("float 4"),
                "Roi has 0 elements, but needs 2"),
        REFUSES(resize,
                RESIZE(.scale = FLOATS(2), .roi = FLOATS(0, INFINITY),
                       .coordinates = GLOW_COORD_TF_CROP_AND_RESIZE),
                IN("float 2: 1"), OUT("float 4"),
                "Roi[1] is inf, but must be a finite number"),
        REFUSES(resize, RESIZE(.scale = FLOATS(2), .antialias = true),
                IN("float 2: 1"), OUT("float 4"),
                "Antialias is true, but Mode nearest has none"),
        REFUSES(resize,
                RESIZE(.scale = FLOATS(1e-9f), .mode = GLOW_RESIZE_LINEAR,
                       .antialias = true),
                IN("float 2: 1"), OUT("float 1"),
                "Scale[0] is 1e-09, but with Antialias must be at least"),
        REFUSES(resize,
                RESIZE(.scale = FLOATS(0.5f), .mode = GLOW_RESIZE_LINEAR,
                       .antialias = true),
                IN("float 4: 1"), OUT("float 4"),
                "Scale[0] makes 2 elements of 4, but Result has 4"),
        REFUSES(resize, RESIZE(.scale = FLOATS(2), .mode = GLOW_RESIZE_CUBIC),
                IN("int8 2: 1"), OUT("int8 4"),
                "the elements of Input are int8, but only float"),
        REFUSES(resize,
                RESIZE(.scale = FLOATS(2), .mode = GLOW_RESIZE_CUBIC,
                       .cubic_coeff = NAN),
                IN("float 2: 1"), OUT("float 4"),
                "CubicCoeff is nan, but must be a finite number"),
        REFUSES(resize, RESIZE(.scale = FLOATS(-1)), IN("float 2: 1"),
                OUT("float 4"), "Scale[0] is -1"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define GRID(...) ATTRS(gridsample, __VA_ARGS__)
#define LINE "float 1 4 1: 1 2 4 8"

/* -1 and 1 lie at 0 and 3 with AlignCorners, else at -0.5 and 3.5. */
static void
test_gridsample(void **state)
{
    const op_case cases[] = {
        GIVES(gridsample,
              GRID(.mode = GLOW_RESIZE_LINEAR, .align_corners = true),
              IN(LINE, "float 1 4 1: -1 0 1 2"), OUT("float 1 4 1: 1 3 8 0")),
        GIVES(gridsample,
              GRID(.mode = GLOW_RESIZE_LINEAR, .padding = GLOW_SAMPLE_BORDER,
                   .align_corners = true),
              IN(LINE, "float 1 4 1: -1 0 1 2"), OUT("float 1 4 1: 1 3 8 8")),
        GIVES(gridsample,
              GRID(.mode = GLOW_RESIZE_LINEAR,
                   .padding = GLOW_SAMPLE_REFLECTION, .align_corners = true),
              IN(LINE, "float 1 4 1: -1 0 1 2"), OUT("float 1 4 1: 1 3 8 3")),
        GIVES(gridsample, GRID(.mode = GLOW_RESIZE_LINEAR),
              IN(LINE, "float 1 4 1: -1 0 1 inf"),
              OUT("float 1 4 1: 0.5 3 4 0")),
        GIVES(
            gridsample,
            GRID(.mode = GLOW_RESIZE_LINEAR, .padding = GLOW_SAMPLE_REFLECTION),
            IN(LINE, "float 1 4 1: -1 0 1 -1.25"), OUT("float 1 4 1: 1 3 8 1")),
        GIVES(gridsample, GRID(.mode = GLOW_RESIZE_NEAREST),
              IN("index64 1 4 1: 1 2 4 8", "float 1 4 1: -1 0 1 0.25"),
              OUT("index64 1 4 1: 1 4 0 4")),
        GIVES(gridsample,
              GRID(.mode = GLOW_RESIZE_CUBIC, .align_corners = true),
              IN(LINE, "float 1 2 1: 0 1"), OUT("float 1 2 1: 2.71875 8")),
        /* Half beyond the last element its neighbor still counts, by -0.09375. */
        GIVES(gridsample,
              GRID(.mode = GLOW_RESIZE_CUBIC, .padding = GLOW_SAMPLE_BORDER),
              IN(LINE, "float 1 3 1: 1 1e30 -inf"),
              OUT("float 1 3 1: 8.375 8 1")),
        /* Position (x, y) of a column and a row. */
        GIVES(gridsample,
              GRID(.mode = GLOW_RESIZE_LINEAR, .align_corners = true),
              IN("float 1 2 3 2: 1 2 3 4 5 6 7 8 9 10 11 12",
                 "float 1 1 2 2: 1 -1 0 0"),
              OUT("float 1 1 2 2: 5 6 6 7")),
        GIVES(gridsample, GRID(.mode = GLOW_RESIZE_LINEAR),
              IN("float 0 2 2 1:", "float 0 3 3 2:"), OUT("float 0 3 3 1:")),
        REFUSES(gridsample, GRID(.mode = GLOW_RESIZE_LINEAR),
                IN("float 1 4: 1", "float 1 4: 1"), OUT("float 1 4"),
                "the rank of Input is 2, but must be 3 to 5"),
        REFUSES(gridsample, GRID(.mode = GLOW_RESIZE_LINEAR),
                IN(LINE, "float 1 4 2: 1"), OUT("float 1 4 1"),
                "the last axis of Grid has 2 elements, but Input has 1"),
        REFUSES(gridsample, GRID(.mode = GLOW_RESIZE_LINEAR),
                IN(LINE, "float 2 4 1: 1"), OUT("float 1 4 1"),
                "axis 0 of Grid has 2 elements, but that of Input 1"),
        REFUSES(gridsample, GRID(.mode = GLOW_RESIZE_LINEAR),
                IN(LINE, "float 1 4 1 1: 1"), OUT("float 1 4 1"),
                "the rank of Grid is 4, but must be 3"),
        REFUSES(gridsample, GRID(.mode = GLOW_RESIZE_LINEAR),
                IN("float 1 0 1:", "float 1 4 1: 1"), OUT("float 1 4 1"),
                "axis 1 of Input has 0 elements, but at least 1"),
        REFUSES(gridsample, GRID(.mode = GLOW_RESIZE_LINEAR),
                IN("int8 1 4 1: 1", "float 1 4 1: 1"), OUT("int8 1 4 1"),
                "the elements of Input are int8, but only float"),
    };

    (void)state;
    CHECK_CASES(cases);
}

static void
test_affinegrid(void **state)
{
    const op_case cases[] = {
        GIVES(affinegrid, ATTRS(affinegrid, DIMS(3), true),
              IN("float 1 1 2: 3 1"), OUT("float 1 3 1: -2 1 4")),
        GIVES(affinegrid, ATTRS(affinegrid, DIMS(1), true),
              IN("float 1 1 2: 3 1"), OUT("float 1 1 1: 1")),
        GIVES(affinegrid, ATTRS(affinegrid, DIMS(2, 4), false),
              IN("float 1 2 3: 1 0 0 0 1 0"),
              OUT("float 1 2 4 2: -0.75 -0.5 -0.25 -0.5 0.25 -0.5 0.75 -0.5 "
                  "-0.75 0.5 -0.25 0.5 0.25 0.5 0.75 0.5")),
        REFUSES(affinegrid, ATTRS(affinegrid, DIMS(2, 4), false),
                IN("float 1 2 2: 1"), OUT("float 1 2 4 2"),
                "the shape of Theta is <1 x 2 x 2>, but"),
        REFUSES(affinegrid, ATTRS(affinegrid, DIMS(2, 0), false),
                IN("float 1 2 3: 1"), OUT("float 1 2 0 2"),
                "Size[1] is 0, but must be at least 1"),
        REFUSES(affinegrid, ATTRS(affinegrid, {0}, false), IN("float 1 0 1:"),
                OUT("float 1 0"),
                "Size has 0 elements, but 1 to 3 are possible"),
        REFUSES(affinegrid, ATTRS(affinegrid, DIMS(2), false), IN("float 1: 1"),
                OUT("float 1 2 1"), "the rank of Theta is 1, but must be 3"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define DEFORM(group, offset_group) \
    ATTRS(deformconv, DIMS(2), DIMS(1), DIMS(0, 0), group, offset_group, {0})
#define TEN "float 1 2 1: 1 10"

/* Taps 1 and 10; at 1.5 lies 3, at 4 nothing. */
static void
test_deformconv(void **state)
{
    const op_case cases[] = {
        GIVES(deformconv, DEFORM(1, 1), IN(LINE, TEN, "float 1 3 2: 0"),
              OUT("float 1 3 1: 21 42 84")),
        GIVES(deformconv, DEFORM(1, 1),
              IN(LINE, TEN, "float 1 3 2: 0.5 0 0 -0.5 0 1", "float 1: 100"),
              OUT("float 1 3 1: 121.5 132 104")),
        GIVES(deformconv, DEFORM(1, 1),
              IN(LINE, TEN, "float 1 3 2: 0", "_",
                 "float 1 3 2: 1 0 0 1 0.5 0.5"),
              OUT("float 1 3 1: 1 40 42")),
        /* Two channels, moved by 0 and by 1. */
        GIVES(deformconv, DEFORM(2, 2),
              IN("float 1 3 2: 1 1 2 2 4 4", "float 2 2 1: 1 10 1 10",
                 "float 1 2 4: 0 0 1 1 0 0 1 1"),
              OUT("float 1 2 2: 21 42 42 4")),
        GIVES(deformconv, DEFORM(1, 2),
              IN("float 1 3 2: 1 1 2 2 4 4", "float 1 2 2: 1 1 10 10",
                 "float 1 2 4: 0 0 1 1 0 0 1 1"),
              OUT("float 1 2 1: 63 46")),
        REFUSES(deformconv, DEFORM(1, 1), IN(LINE, TEN, "float 1 3 1: 0"),
                OUT("float 1 3 1"), "the shape of Offset is <1 x 3 x 1>, but"),
        REFUSES(deformconv, DEFORM(1, 2), IN(LINE, TEN, "float 1 3 2: 0"),
                OUT("float 1 3 1"),
                "OffsetGroup is 2, but there are 1 channels in Input"),
        REFUSES(deformconv, DEFORM(0, 1), IN(LINE, TEN, "float 1 3 2: 0"),
                OUT("float 1 3 1"),
                "Group is 0, but there are 1 channels in Input"),
        REFUSES(deformconv, DEFORM(1, 1),
                IN(LINE, "float 1 3 1: 1", "float 1 3 2: 0"),
                OUT("float 1 3 1"), "the shape of Filter is <1 x 3 x 1>, but"),
        REFUSES(deformconv, DEFORM(1, 1),
                IN(LINE, TEN, "float 1 3 2: 0", "float 2: 0"),
                OUT("float 1 3 1"), "the shape of Bias is <2>, but"),
        REFUSES(deformconv, DEFORM(1, 1),
                IN(LINE, TEN, "float 1 3 2: 0", "_", "float 1 3 1: 1"),
                OUT("float 1 3 1"), "the shape of Mask is <1 x 3 x 1>, but"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define MAP "float 1 4 4 1: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"
#define ALIGN(...) ATTRS(roialign, __VA_ARGS__)
#define BIN .output_height = 1, .output_width = 1, .spatial_scale = 1

/* From 1 to 3 two samples lie at 1.5 and 2.5; element (y, x) is 4 y + x. */
static void
test_roialign(void **state)
{
    const op_case cases[] = {
        GIVES(roialign, ALIGN(BIN, .sampling_ratio = 2),
              IN(MAP, "float 1 4: 1 1 3 3", "index64 1: 0"),
              OUT("float 1 1 1 1: 10")),
        GIVES(roialign, ALIGN(BIN, .mode = GLOW_ROI_MAX),
              IN(MAP, "float 1 4: 1 1 3 3", "index32 1: 0"),
              OUT("float 1 1 1 1: 12.5")),
        GIVES(roialign, ALIGN(BIN, .mode = GLOW_ROI_MAX_CORNERS),
              IN(MAP, "float 1 4: 1 1 3 3", "index64 1: 0"),
              OUT("float 1 1 1 1: 3.75")),
        GIVES(roialign, ALIGN(BIN, .aligned = true),
              IN(MAP, "float 1 4: 1 1 3 3", "index64 1: 0"),
              OUT("float 1 1 1 1: 7.5")),
        /* A side of 0 becomes 1, or with Aligned has no samples. */
        GIVES(roialign, ALIGN(BIN),
              IN(MAP, "float 1 4: 1 1 1 1", "index64 1: 0"),
              OUT("float 1 1 1 1: 7.5")),
        GIVES(roialign, ALIGN(BIN, .aligned = true),
              IN(MAP, "float 1 4: 1 1 1 1", "index64 1: 0"),
              OUT("float 1 1 1 1: 0")),
        /* Outside: one sample of four is within. */
        GIVES(roialign, ALIGN(BIN, .sampling_ratio = 2),
              IN(MAP, "float 1 4: 0 0 12 12", "index64 1: 0"),
              OUT("float 1 1 1 1: 3.75")),
        GIVES(roialign,
              ALIGN(.output_height = 1, .output_width = 2, .spatial_scale = 2,
                    .sampling_ratio = 1),
              IN("float 2 1 3 2: 0 0 0 0 0 0 1 10 2 20 3 30",
                 "float 1 4: 0 0 1 1", "index64 1: 1"),
              OUT("float 1 1 2 2: 1.5 15 2.5 25")),
        /* Half a turn changes nothing, a quarter swaps the sides. */
        GIVES(roialign,
              ALIGN(BIN, .rotated = true, .mode = GLOW_ROI_MAX,
                    .sampling_ratio = 2),
              IN(MAP, "float 3 5: 2 2 2 1 0 2 2 2 1 180 2 2 2 1 -270",
                 "index64 3: 0 0 0"),
              OUT("float 3 1 1 1: 11.5 11.5 12.25")),
        GIVES(roialign, ALIGN(BIN), IN(MAP, "float 0 4:", "index64 0:"),
              OUT("float 0 1 1 1:")),
        REFUSES(roialign, ALIGN(BIN), IN(MAP, "float 1 4: 1", "index64 1: 1"),
                OUT("float 1 1 1 1: 0"),
                "box 0 is of image 1, but Input has 1"),
        REFUSES(roialign, ALIGN(BIN),
                IN(MAP, "float 1 4: 0 0 inf 1", "index64 1: 0"),
                OUT("float 1 1 1 1: 0"), "box 0 is too large to sample"),
        REFUSES(roialign, ALIGN(BIN), IN(MAP, "float 1 5: 1", "index64 1: 0"),
                OUT("float 1 1 1 1"), "the shape of Boxes is <1 x 5>, but"),
        REFUSES(roialign, ALIGN(BIN), IN(MAP, "float 1 4: 1", "index64 2: 0"),
                OUT("float 1 1 1 1"), "the shape of BatchIndices is <2>, but"),
        REFUSES(roialign, ALIGN(BIN, .sampling_ratio = -1),
                IN(MAP, "float 1 4: 1", "index64 1: 0"), OUT("float 1 1 1 1"),
                "SamplingRatio is -1, but must be 0 to"),
        REFUSES(roialign, ALIGN(.output_height = 1),
                IN(MAP, "float 1 4: 1", "index64 1: 0"), OUT("float 1 1 1 1"),
                "OutputWidth is 0, but must be 1 to"),
        REFUSES(roialign, ALIGN(BIN),
                IN("float 1 4 4: 1", "float 1 4: 1", "index64 1: 0"),
                OUT("float 1 1 1 1"),
                "the rank of FeatureMap is 3, but must be 4"),
        REFUSES(roialign, ALIGN(BIN), IN(MAP, "float 1 4: 1", "float 1: 0"),
                OUT("float 1 1 1 1"), "the elements of BatchIndices are float"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define ROI_POOL(scale) ATTRS(maxroipool, DIMS(2, 2), scale)

static void
test_maxroipool(void **state)
{
    const op_case cases[] = {
        GIVES(maxroipool, ROI_POOL(1), IN(MAP, "float 1 5: 0 0 0 3 3"),
              OUT("float 1 2 2 1: 5 7 13 15")),
        /* 1 1 1.5 1.5, which is rounded to 2. */
        GIVES(maxroipool, ROI_POOL(0.5f), IN(MAP, "float 1 5: 0 2 2 3 3"),
              OUT("float 1 2 2 1: 5 6 9 10")),
        /* Three elements in two bins: the middle one is in both. */
        GIVES(maxroipool, ROI_POOL(1), IN(MAP, "float 1 5: 0 0 0 2 0"),
              OUT("float 1 2 2 1: 1 2 1 2")),
        GIVES(maxroipool, ROI_POOL(1), IN(MAP, "float 1 5: 0 10 -9 12 -8"),
              OUT("float 1 2 2 1: 0")),
        REFUSES(maxroipool, ROI_POOL(1), IN(MAP, "float 1 5: -1 0 0 1 1"),
                OUT("float 1 2 2 1: 0"),
                "box 0 is of image -1, but Input has 1"),
        REFUSES(maxroipool, ATTRS(maxroipool, DIMS(2), 1),
                IN(MAP, "float 1 5: 0"), OUT("float 1 2 2 1"),
                "PooledShape has 1 elements, but needs 2"),
        REFUSES(maxroipool, ATTRS(maxroipool, DIMS(2, 0), 1),
                IN(MAP, "float 1 5: 0"), OUT("float 1 2 0 1"),
                "PooledShape[1] is 0, but must be 1 to"),
        REFUSES(maxroipool, ROI_POOL(1), IN(MAP, "float 1 4: 0"),
                OUT("float 1 2 2 1"), "the shape of Boxes is <1 x 4>, but"),
    };

    (void)state;
    CHECK_CASES(cases);
}

/* Of 4 elements in 3 windows: 0 and 1, 1 and 2, 2 and 3. */
static void
test_adaptiveavgpool(void **state)
{
    const op_case cases[] = {
        GIVES(adaptiveavgpool, NULL, IN(LINE), OUT("float 1 3 1: 1.5 3 6")),
        GIVES(adaptiveavgpool, NULL, IN(LINE), OUT("float 1 1 1: 3.75")),
        GIVES(adaptiveavgpool, NULL, IN("float 1 2 2: 1 10 3 30"),
              OUT("float 1 4 2: 1 10 1 10 3 30 3 30")),
        GIVES(adaptiveavgpool, NULL, IN(MAP),
              OUT("float 1 3 2 1: 2.5 4.5 6.5 8.5 10.5 12.5")),
        REFUSES(adaptiveavgpool, NULL, IN(LINE), OUT("float 1 3 2"),
                "axis 2 of Result has 2 elements, but that of Input 1"),
        REFUSES(adaptiveavgpool, NULL, IN(LINE), OUT("float 1 0 1"),
                "axis 1 of Input has 4 elements and that of Result 0"),
        REFUSES(adaptiveavgpool, NULL, IN(LINE), OUT("float 1 3"),
                "the ranks of Input and Result are 3 and 2"),
        REFUSES(adaptiveavgpool, NULL, IN(LINE), OUT(NULL),
                "the type of Result must be stated"),
        REFUSES(adaptiveavgpool, NULL, IN("int8 1 2 1: 1"), OUT("int8 1 1 1"),
                "the elements of Input are int8"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define SPECTRUM(...) ATTRS(audiospectrogram, __VA_ARGS__)

/* Windows 1 2 3 4 and 3 4 5 6 times 0 0.5 1 0.5. */
static void
test_audiospectrogram(void **state)
{
    const op_case cases[] = {
        GIVES(audiospectrogram, SPECTRUM(4, 2, true),
              IN("float 1 6: 1 2 3 4 5 6"), OUT("float 2 3: 36 10 0 100 26 0")),
        GIVES(audiospectrogram, SPECTRUM(4, 2, false),
              IN("float 6: 1 2 3 4 5 6"),
              OUT("float 2 3: 6 3.16227766 0 10 5.099019514 0")),
        /* 0 1.5 2.25, and a zero. */
        GIVES(audiospectrogram, SPECTRUM(3, 1, true), IN("float 3: 1 2 3"),
              OUT("float 1 3: 14.0625 7.3125 0.5625")),
        GIVES(audiospectrogram, SPECTRUM(1, 1, true), IN("float 2: 1 2"),
              OUT("float 2 1: 0 0")),
        REFUSES(audiospectrogram, SPECTRUM(7, 1, true), IN("float 6: 1"),
                OUT("float 1 5"), "WindowSize is 7, but Input has 6 samples"),
        REFUSES(audiospectrogram, SPECTRUM(16385, 1, true),
                IN("float 20000: 1"), OUT("float 1 5"),
                "WindowSize is 16385, but Input has 20000 samples, and 16384"),
        REFUSES(audiospectrogram, SPECTRUM(2, 0, true), IN("float 6: 1"),
                OUT("float 1 2"), "WindowStride is 0, but must be at least 1"),
        REFUSES(audiospectrogram, SPECTRUM(2, 1, true), IN("float 2 6: 1"),
                OUT("float 1 2"), "axis 0 of Input has 2 elements, but only"),
        REFUSES(audiospectrogram, SPECTRUM(2, 1, true), IN("float: 1"),
                OUT("float 1 2"), "the rank of Input is 0"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define CEPSTRUM(...) ATTRS(mfcc, __VA_ARGS__)

static void
test_mfcc(void **state)
{
    const op_case cases[] = {
        /* Nothing: log 1e-12 of two filters. */
        GIVES(mfcc, CEPSTRUM(8, 1, 3, 2, 1), IN("float 1 3: 0"),
              OUT("float 1 1: -55.2620422")),
        /* One filter to 1400 Hz, 1238.136 mel.  700 Hz, 781.177 mel, has
           (1238.136 - 781.177) / 619.068: sqrt 2 log (0.73814 * 2). */
        GIVES(mfcc, CEPSTRUM(2800, 0, 1400, 1, 1), IN("float 1 3: 9 4 9"),
              OUT("float 1 1: 0.550873062")),
        REFUSES(mfcc, CEPSTRUM(8, 1, 3, 2, 3), IN("float 1 3: 0"),
                OUT("float 1 3"),
                "NumCoefficients is 3, but FilterBankCount 2"),
        REFUSES(mfcc, CEPSTRUM(8, 3, 1, 2, 2), IN("float 1 3: 0"),
                OUT("float 1 2"), "LowerFrequency is 3 and UpperFrequency 1"),
        REFUSES(mfcc, CEPSTRUM(0, 1, 3, 2, 2), IN("float 1 3: 0"),
                OUT("float 1 2"), "SampleRate is 0"),
        REFUSES(mfcc, CEPSTRUM(8, 1, 3, 0, 2), IN("float 1 3: 0"),
                OUT("float 1 2"), "FilterBankCount is 0"),
        REFUSES(mfcc, CEPSTRUM(8, 1, 3, 2, 2), IN("float 1 1: 0"),
                OUT("float 1 2"), "Spectrogram has 1 frequencies"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define BBOX(...) \
    ATTRS(bboxtransform, .weights = FLOATS(1, 1, 1, 1), __VA_ARGS__)
#define GROWN "0.25 -0.25 0.693147181 0"

/* A box of 4 x 8 around (4, 8) goes to (5, 6) and becomes twice as wide. */
static void
test_bboxtransform(void **state)
{
    const op_case cases[] = {
        GIVES(bboxtransform, BBOX(.apply_scale = true),
              IN("float 1 4: 2 4 6 12", "float 1 4: " GROWN,
                 "float 1 3: 100 100 1"),
              OUT("float 1 4: 1 2 9 10", "float 1: 1")),
        GIVES(bboxtransform, BBOX(.apply_scale = true),
              IN("float 1 4: 4 8 12 24", "float 1 8: " GROWN " 0 0 0 0",
                 "float 1 3: 16 14 2"),
              OUT("float 1 8: 2 4 14 16 4 8 12 16", "float 1: 1")),
        GIVES(bboxtransform, BBOX(.apply_scale = false),
              IN("float 1 4: 4 8 12 24", "float 1 4: " GROWN,
                 "float 1 3: 16 14 2"),
              OUT("float 1 4: 1 2 7 8", "float 1: 1")),
        GIVES(bboxtransform, BBOX(.apply_scale = true, .legacy_plus_one = true),
              IN("float 1 4: 2 4 5 11", "float 1 4: 0", "float 1 3: 9 4 1"),
              OUT("float 1 4: 2 4 3 8", "float 1: 1")),
        /* Three boxes of two images. */
        GIVES(bboxtransform,
              ATTRS(bboxtransform, .weights = FLOATS(10, 10, 5, 5),
                    .apply_scale = true),
              IN("float 3 5: 1 2 4 6 12 0 2 4 6 12 1 0 0 1 1",
                 "float 3 4: 2.5 0 0 0 0 2.5 0 0 0",
                 "float 2 3: 14 14 1 100 100 1"),
              OUT("float 3 4: 3 4 7 12 2 6 6 14 0 0 1 1", "float 2: 1 2")),
        /* No size grows by more than 62.5. */
        GIVES(bboxtransform, BBOX(.apply_scale = true),
              IN("float 1 4: 2 4 6 12", "float 1 4: 0 0 9 0",
                 "float 1 3: 100 1000 1"),
              OUT("float 1 4: 0 4 129 12", "float 1: 1")),
        GIVES(bboxtransform,
              BBOX(.apply_scale = true, .rotated = true, .angle_bound_on = true,
                   .angle_bound_lo = -90, .angle_bound_hi = 90,
                   .clip_angle_thresh = 1),
              IN("float 3 5: 4 8 4 8 0 4 8 4 8 60 4 8 4 8 0",
                 "float 3 5: " GROWN " 1.5 " GROWN " 1.5 " GROWN " 0",
                 "float 1 3: 8 7 1"),
              OUT("float 3 5: 5 6 8 8 85.9436693 5 6 8 8 -34.0563307 4 5 6 6 0",
                  "float 1: 3")),
        REFUSES(bboxtransform, BBOX(.apply_scale = true),
                IN("float 1 5: 2 0 0 1 1", "float 1 4: 0", "float 2 3: 1"),
                OUT("float 1 4: 0", "float 2: 0"),
                "box 0 is of image 2, but ImInfo has 2"),
        REFUSES(bboxtransform, BBOX(.apply_scale = true),
                IN("float 1 4: 2", "float 1 4: 0", "float 2 3: 1"),
                OUT("float 1 4", "float 2"),
                "Rois does not say whose of 2 images its boxes are"),
        REFUSES(bboxtransform, BBOX(.apply_scale = true),
                IN("float 1 3: 2", "float 1 4: 0", "float 1 3: 1"),
                OUT("float 1 4", "float 1"), "Rois has 3 columns, but"),
        REFUSES(bboxtransform, BBOX(.apply_scale = true),
                IN("float 1 4: 2", "float 1 6: 0", "float 1 3: 1"),
                OUT("float 1 6", "float 1"), "Deltas has 6 columns, but 4"),
        REFUSES(bboxtransform, BBOX(.apply_scale = true),
                IN("float 1 4: 2", "float 2 4: 0", "float 1 3: 1"),
                OUT("float 1 4", "float 1"), "the shape of Deltas is <2 x 4>"),
        REFUSES(bboxtransform, BBOX(.apply_scale = true),
                IN("float 1 4: 2", "float 1 4: 0", "float 1 2: 1"),
                OUT("float 1 4", "float 1"), "the shape of ImInfo is <1 x 2>"),
        REFUSES(bboxtransform, ATTRS(bboxtransform, .weights = FLOATS(1, 1, 1)),
                IN("float 1 4: 2", "float 1 4: 0", "float 1 3: 1"),
                OUT("float 1 4", "float 1"), "Weights has 3 elements, but"),
        REFUSES(bboxtransform,
                ATTRS(bboxtransform, .weights = FLOATS(1, 1, 0, 1)),
                IN("float 1 4: 2", "float 1 4: 0", "float 1 3: 1"),
                OUT("float 1 4", "float 1"), "Weights[2] is 0, but must be"),
        REFUSES(bboxtransform,
                BBOX(.rotated = true, .angle_bound_on = true,
                     .angle_bound_lo = -90, .angle_bound_hi = 80),
                IN("float 1 5: 2", "float 1 5: 0", "float 1 3: 1"),
                OUT("float 1 5", "float 1"),
                "AngleBoundLo is -90 and AngleBoundHi 80, but half turns"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define COLLECT(low, high, top) ATTRS(collectrpnproposals, high, low, top)

static void
test_collectrpnproposals(void **state)
{
    const op_case cases[] = {
        GIVES(collectrpnproposals, COLLECT(2, 3, 4),
              IN("float 2 2: 1 2 3 4", "float 1 2: 5 6", "float 2: 0.5 0.75",
                 "float 1: 0.75"),
              OUT("float 4 2: 3 4 5 6 1 2 0 0")),
        GIVES(collectrpnproposals, COLLECT(2, 2, 1),
              IN("float 2 2: 1 2 3 4", "float 2: 0.5 0.75"),
              OUT("float 1 2: 3 4")),
        REFUSES(collectrpnproposals, COLLECT(2, 3, 4),
                IN("float 2 2: 1", "float 2: 1"), OUT("float 4 2"),
                "levels 2 to 3 need boxes and scores each, but there are 2"),
        REFUSES(collectrpnproposals, COLLECT(2, 2, 0),
                IN("float 2 2: 1", "float 2: 1"), OUT("float 0 2"),
                "RpnPostNmsTopN is 0, but must be at least 1"),
        REFUSES(collectrpnproposals, COLLECT(2, 2, 1),
                IN("float 2 2: 1", "float 3: 1"), OUT("float 1 2"),
                "the shape of RoisAndProbs is <3>, but"),
    };

    (void)state;
    CHECK_CASES(cases);
}

#define DETECT(...)                                                         \
    ATTRS(tflitedetectionpostprocess, .iou_threshold = 0.5f, .x_scale = 10, \
          .y_scale = 10, .h_scale = 5, .w_scale = 5, __VA_ARGS__)
#define ANCHORS "float 3 4: 0 0 2 2 0 0 2 2 10 10 2 2"
/* A column of background, and two classes. */
#define SCORES "float 1 3 3: 9 0.5 0.25 9 0.25 0.75 9 0.125 0.5"

/* Two boxes in one place, one elsewhere. */
static void
test_tflitedetectionpostprocess(void **state)
{
    const op_case cases[] = {
        GIVES(tflitedetectionpostprocess,
              DETECT(.num_classes = 2, .max_detections = 3,
                     .max_classes_per_detection = 1,
                     .max_detections_per_class = 1),
              IN("float 1 3 4: 0", SCORES, ANCHORS),
              OUT("float 3 4: -1 -1 1 1 9 9 11 11 0", "index32 3: 1 1 0",
                  "float 3: 0.75 0.5 0", "index32 1: 2")),
        GIVES(tflitedetectionpostprocess,
              DETECT(.num_classes = 2, .max_detections = 2,
                     .max_classes_per_detection = 3, .score_threshold = 0.5f,
                     .max_detections_per_class = 1),
              IN("float 3 4: 0", SCORES, ANCHORS),
              OUT("float 6 4: -1 -1 1 1 -1 -1 1 1 0 0 0 0 9 9 11 11 9 9 11 11 "
                  "0",
                  "index32 6: 1 0 0 1 0 0", "float 6: 0.75 0.25 0 0.5 0.125 0",
                  "index32 1: 2")),
        GIVES(tflitedetectionpostprocess,
              DETECT(.num_classes = 2, .max_detections = 3,
                     .max_classes_per_detection = 1, .regular_nms = true,
                     .max_detections_per_class = 2),
              IN("float 3 4: 0", SCORES, ANCHORS),
              OUT("float 3 4: -1 -1 1 1 -1 -1 1 1 9 9 11 11",
                  "index32 3: 1 0 1", "float 3: 0.75 0.5 0.5", "index32 1: 3")),
        GIVES(tflitedetectionpostprocess,
              DETECT(.num_classes = 2, .max_detections = 2,
                     .max_classes_per_detection = 2, .regular_nms = true,
                     .score_threshold = 0.75f, .max_detections_per_class = 1),
              IN("float 3 4: 0", SCORES, ANCHORS),
              OUT("float 4 4: -1 -1 1 1 0", "index32 4: 1 0", "float 4: 0.75 0",
                  "index32 1: 1")),
        /* One whole height further down, and twice as high. */
        GIVES(tflitedetectionpostprocess,
              DETECT(.num_classes = 1, .max_detections = 1,
                     .max_classes_per_detection = 1,
                     .max_detections_per_class = 1),
              IN("float 1 4: 10 0 3.465735903 0", "float 1 1: 1",
                 "float 1 4: 0 0 2 2"),
              OUT("float 1 4: 0 -1 4 1", "index32 1: 0", "float 1: 1",
                  "index32 1: 1")),
        REFUSES(tflitedetectionpostprocess,
                DETECT(.num_classes = 4, .max_detections = 1,
                       .max_classes_per_detection = 1,
                       .max_detections_per_class = 1),
                IN("float 3 4: 0", SCORES, ANCHORS), OUT("float 1 4"),
                "NumClasses is 4, but must be 1 to 3"),
        REFUSES(tflitedetectionpostprocess,
                DETECT(.num_classes = 2, .max_classes_per_detection = 1,
                       .max_detections_per_class = 1),
                IN("float 3 4: 0", SCORES, ANCHORS), OUT("float 1 4"),
                "MaxDetections is 0, but must be 1 to"),
        REFUSES(tflitedetectionpostprocess,
                ATTRS(tflitedetectionpostprocess, .num_classes = 2,
                      .max_detections = 1, .max_classes_per_detection = 1,
                      .max_detections_per_class = 1),
                IN("float 3 4: 0", SCORES, ANCHORS), OUT("float 1 4"),
                "XScale is 0, but must be a number other than 0"),
        REFUSES(tflitedetectionpostprocess,
                DETECT(.num_classes = 2, .max_detections = 1,
                       .max_classes_per_detection = 1,
                       .max_detections_per_class = 1),
                IN("float 2 4: 0", SCORES, ANCHORS), OUT("float 1 4"),
                "there are 2 x 4 boxes, 3 rows of scores and 3 x 4 anchors"),
    };

    (void)state;
    CHECK_CASES(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_gridsample),
        cmocka_unit_test(test_affinegrid),
        cmocka_unit_test(test_deformconv),
        cmocka_unit_test(test_roialign),
        cmocka_unit_test(test_maxroipool),
        cmocka_unit_test(test_adaptiveavgpool),
        cmocka_unit_test(test_audiospectrogram),
        cmocka_unit_test(test_mfcc),
        cmocka_unit_test(test_bboxtransform),
        cmocka_unit_test(test_collectrpnproposals),
        cmocka_unit_test(test_tflitedetectionpostprocess),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
