/*
 * Profiles, and observed ranges: the least and the greatest element that values had in the runs
 * of a profile.
 *
 * A range belongs to storage, or to a result of a node of a graph, and stands in
 * the section `ranges` of the text.  It is kept by name: by that of the storage, or
 * by the names of function and node and the number of the result.  A node that takes
 * the name of an erased node, as replacements do, takes its range; a renamed node
 * keeps its own.  A value of another shape than the range was set for has none.
 * Buffers of programs have none.
 *
 * glow/range.h is another thing: bounds that follow from operators.
 */

#ifndef GLOW_PROFILE_H
#define GLOW_PROFILE_H

#include "glow/bins.h"
#include "glow/graph.h"

GLOW_BEGIN

/* The range of a value.  The lists have `channels` numbers each, or are NULL. */
typedef struct glow_value_range {
    float min, max;   /* finite, min <= max */
    int axis;         /* the axis of the channels; -1: there are no lists */
    int64_t channels; /* the size of that axis; 0: there are no lists */
    const float *channel_min,
        *channel_max;          /* as min and max, of each channel */
    const float *channel_mean; /* between them: the mean element */
} glow_value_range;

/* The range of `v`, owned by the module until it is set again; NULL: none. */
GLOW_API const glow_value_range *glow_get_value_range(const glow_value *v);
/*
 * Sets the range of `v` to a copy of `r`.  False if no value can have it: min above
 * max, NaN, infinity, lists that do not fit the axis, a buffer of a program.
 */
GLOW_API bool glow_set_value_range(glow_value *v, const glow_value_range *r);
GLOW_API void glow_remove_value_range(glow_value *v);
/* Removes the ranges of all values of the module. */
GLOW_API void glow_remove_value_ranges(glow_module *m);
/* Gives the values of `to` the ranges that values of `from` have by these names. */
GLOW_API void glow_copy_value_ranges(glow_module *to, const glow_module *from);

/* Profiles: ranges and histograms of values over some runs. */

/* The elements of one value; lists live in the arena of the profile. */
typedef struct glow_profile_value {
    const char *name;  /* of glow_profile_name, or Glow's "conv:0" */
    const char *model; /* of the node in the model, or NULL */
    const char *type;  /* "float<1 x 3>", or NULL */
    int64_t elements;  /* finite ones, of all runs; 0: not known */
    int64_t
        runs; /* with a finite element, of a body executions; 0: not known */
    float min, max;    /* finite, min <= max */
    double run_min;    /* the mean of the least elements of the runs */
    double run_max;    /* the mean of the greatest */
    int64_t bins;      /* bins that the range had when it was profiled, or 0 */
    bool is_grid;      /* the bins are those of glow_bins_of */
    double low, width; /* bin i is [low + i width, low + (i + 1) width) */
    int64_t n_counts;  /* at most `bins`: the others are 0 */
    const double *counts; /* not below 0 */
    int axis;             /* as in glow_value_range */
    int64_t channels;
    const float *channel_min, *channel_max, *channel_mean;
    glow_span span; /* of the name, in the file */
} glow_profile_value;

typedef struct glow_profile {
    const char *function; /* NULL: not known */
    const char *hash;     /* of that function: glow_profile_hash; or NULL */
    int64_t runs;
    glow_profile_value *values;
    size_t count;
} glow_profile;

/*
 * Reads a profile in JSON, or Glow's in YAML (three documents: version, hash, and
 * values with NodeOutputName, Min, Max, Histogram), into `a`.  `source` must outlive
 * it.  NULL after E0520.
 */
GLOW_API glow_profile *glow_profile_read(glow_context *ctx, glow_arena *a,
                                         const glow_source *source);
/* The JSON of a profile: a function of its members. */
GLOW_API void glow_profile_write(glow_buf *b, const glow_profile *p);
/*
 * Adds `from` to `to`, in the arena `a`: values by their names.  Histograms of
 * glow_bins_of are added exactly, others in proportion to their bins.
 */
GLOW_API void glow_profile_merge(glow_arena *a, glow_profile *to,
                                 const glow_profile *from);
/*
 * The names, operators and types of a graph and of the bodies that it calls as 16
 * digits, without the first size of each type, which is that of the batch.
 */
GLOW_API const char *glow_profile_hash(glow_arena *a, glow_func *f);
/* "@image", "%conv", "%top#Values"; of a body "@body %conv" */
GLOW_API const char *glow_profile_name(glow_arena *a, const glow_value *v);
/* The name of the node of the model that `v` came from, or NULL. */
GLOW_API const char *glow_profile_model(const glow_value *v);

/* Calibration: the range [*low, *high] to quantize by. */

typedef enum glow_calibration {
    GLOW_CALIBRATE_MINMAX,
    GLOW_CALIBRATE_PERCENTILE,
    GLOW_CALIBRATE_MSE,
    GLOW_CALIBRATE_ENTROPY,
    GLOW_CALIBRATE_MOVING_AVERAGE,
} glow_calibration;

typedef struct glow_calibration_options {
    glow_calibration how;
    double percentile; /* of the elements that the range keeps */
    int bits;          /* of the quantized kind */
    bool keeps_spike;  /* ENTROPY: with the count of the bin of 0 as it is */
} glow_calibration_options;

/*
 * The range of `v` for quantization.  False where the histogram has too few bins: no
 * more than 2^bits - 1 for ENTROPY, none for PERCENTILE and MSE.
 */
GLOW_API bool glow_calibrate(const glow_profile_value *v,
                             const glow_calibration_options *o, glow_arena *a,
                             float *low, float *high);

GLOW_END

#endif
