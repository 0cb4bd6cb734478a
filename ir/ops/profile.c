/*
 * QuantizationProfile: adds the elements of a tensor to a histogram, and to least,
 * greatest and mean elements.  The state of earlier runs is an operand.
 */

#include <string.h>

#include "glow/profile.h"
#include "ir/ops/common.h"

/* Channels of `n`: 0 without an axis. */
static int64_t
channels_of(const glow_node *n)
{
    const glow_quantizationprofile *a = n->attrs;

    return a->axis < 0 ? 0 : n->in[0]->type->shape.at[a->axis];
}

static bool
infer(const glow_node *n, glow_type out[])
{
    const glow_quantizationprofile *a = n->attrs;
    const glow_type *counts = n->in[1]->type, *info = n->in[2]->type;
    int64_t size;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT))
        return false;
    if (a->axis != -1 && !glow_check_axis(n, "Axis", a->axis, 0))
        return false;
    if (counts->elem != GLOW_INDEX64 || counts->shape.rank != 1 ||
        counts->shape.at[0] < 2)
        return glow_reject(n, "Histogram must be index64<N>, N at least 2");
    if (info->elem != GLOW_FLOAT64)
        return glow_reject(
            n, "the elements of ComputationInfo are %s, but must be float64",
            glow_kind_get(info->elem)->name);
    if (glow_mul_overflow(channels_of(n), 4, &size) ||
        glow_add_overflow(size, GLOW_PROFILE_HEAD, &size))
        return glow_reject(n, "there are too many channels");
    return glow_check_shape(n, 2, GLOW_DIMS_OF(size),
                            "6 and four times the channels") &&
           glow_give(n, glow_dense(counts), &out[0]) &&
           glow_give(n, glow_dense(info), &out[1]);
}

/* Adds `x` to channel `c` of the lists that follow the head. */
static void
add_to_channel(double *list, int64_t channels, int64_t c, double x)
{
    double *min = list + c, *max = min + channels, *sum = max + channels;
    double *count = sum + channels;

    if (!(*count > 0))
        *min = *max = x;
    if (x < *min)
        *min = x;
    if (x > *max)
        *max = x;
    *sum += x;
    *count += 1;
}

/* Adds the elements to the head and the lists of channels. */
static void
add_all(const glow_node *n, const double *x, int64_t count, double *info)
{
    const glow_quantizationprofile *a = n->attrs;
    const glow_dims *shape = &n->in[0]->type->shape;
    int64_t channels = channels_of(n), finite = 0;
    int64_t after =
        channels ? glow_dims_product(*shape, a->axis + 1, shape->rank) : 1;
    double min = 0, max = 0;

    for (int64_t i = 0; i < count; i++) {
        if (!glow_profile_counts(x[i]))
            continue;
        min = !finite || x[i] < min ? x[i] : min;
        max = !finite || x[i] > max ? x[i] : max;
        finite++;
        if (channels)
            add_to_channel(info + GLOW_PROFILE_HEAD, channels,
                           i / after % channels, x[i]);
    }
    if (finite)
        glow_profile_add(info, min, max, finite);
}

/* +0 where the sign of a zero would depend on the order of elements. */
static void
clear_signs(double *info, int64_t channels)
{
    info[GLOW_PROFILE_MIN] += 0.0;
    info[GLOW_PROFILE_MAX] += 0.0;
    info[GLOW_PROFILE_RUN_MINS] += 0.0;
    info[GLOW_PROFILE_RUN_MAXS] += 0.0;
    for (int64_t i = 0; i < 2 * channels; i++)
        info[GLOW_PROFILE_HEAD + i] += 0.0;
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    int64_t *counts = out[0]->data, bins = glow_tensor_count(out[0]);
    int64_t count = glow_tensor_count(in[0]);
    double *info = out[1]->data;
    double *x = glow_load_all(in[0], scratch);
    glow_bins before, now;

    glow_tensor_copy(out[0], in[1]);
    glow_tensor_copy(out[1], in[2]);
    if (!glow_profile_is_state(info)) {
        memset(counts, 0, (size_t)bins * sizeof *counts);
        memset(info, 0, (size_t)glow_tensor_count(out[1]) * sizeof *info);
    }
    before = glow_bins_of(info[GLOW_PROFILE_MIN], info[GLOW_PROFILE_MAX], bins);
    add_all(n, x, count, info);
    clear_signs(info, channels_of(n));
    now = glow_bins_of(info[GLOW_PROFILE_MIN], info[GLOW_PROFILE_MAX], bins);
    glow_bins_widen(counts, bins, before, now);
    for (int64_t i = 0; i < count; i++)
        if (glow_profile_counts(x[i])) {
            int64_t *at =
                &counts[glow_bins_floor(x[i], now.exponent) - now.first];

            *at = (int64_t)((uint64_t)*at + 1);
        }
    return true;
}

const glow_op glow_op_quantizationprofile = {
    .name = "QuantizationProfile",
    .summary = "add the elements of a tensor to a profile",
    .in = {{"Input", GLOW_TENSOR, "floats"},
           {"Histogram", GLOW_TENSOR, "[N]: the counts of earlier runs"},
           {"ComputationInfo", GLOW_TENSOR,
            "[6 + 4 C]: see below; 0 at first"}},
    .out = {{"NewHistogram", GLOW_TENSOR, "with the elements of Input"},
            {"NewComputationInfo", GLOW_TENSOR, "the same"}},
    .attrs =
        {GLOW_FIELD_DEFAULT(
             glow_quantizationprofile, profiled_node_name, GLOW_STRING,
             "of the node that the profile is of, or `@` and that of storage"),
         GLOW_FIELD_DEFAULT(glow_quantizationprofile, profiled_output_number,
                            GLOW_INT, "the number of its result"),
         GLOW_FIELD_DEFAULT(glow_quantizationprofile, axis, GLOW_INT,
                            "the axis of the C channels; -1: none, C = 0")},
    .defaults =
        &(const glow_quantizationprofile){.profiled_node_name = "", .axis = -1},
    .inplace = {{0, 1}, {1, 2}},
    .inplace_count = 2,
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = infer,
    .eval = eval,
    .doc =
        "ComputationInfo has the least and the greatest element, the sums of "
        "the least and of the greatest elements of the runs, the number of "
        "elements, the number of runs, and then for the channels their least "
        "elements, greatest elements, sums and numbers of elements.  NaN and "
        "infinity are left out.  Where the number of elements is not above 0, "
        "or the ends are no range, there were no earlier runs.\n\n"
        "Bin i of Histogram counts the elements `x` for which `floor(x / 2^e)` "
        "is i more than for the least element.  The exponent e is the least "
        "for which N bins hold all, at least -149 and at least 30 below that "
        "of "
        "the greatest magnitude.  As the range grows, bins are added to wider "
        "ones, so that the order of elements and runs does not matter.",
    .source = "Glow QuantizationProfile",
};
