/*
 * Transforms of signals, and the windows and matrices that go with them.
 *
 * Windows and matrices are given by a few numbers, which determine their shapes
 * and so must be constant: they become constants.
 */

#include <inttypes.h>
#include <math.h>

#include "tools/glow-translate/import/import.h"

#define PI 3.14159265358979323846
#define MOST_ELEMENTS (INT64_C(1) << 26)

/* The element kind of output_datatype. */
static glow_kind
read_kind(import_node *n)
{
    const tensor_elem *e =
        tensor_elem_of(import_int(n, "output_datatype", 1, 0, 100));

    if (e && e->kind)
        return e->kind;
    import_refuse(n, "E0705", "output_datatype %s is not supported",
                  e ? e->name : "of a number that is not known");
    return GLOW_FLOAT;
}

static int64_t
known_int(import_node *n, int i, int64_t least, int64_t most)
{
    double v = import_known_number(n, i);

    if (n->failed)
        return least;
    if (!(v >= (double)least && v <= (double)most)) {
        import_refuse(n, "E0711",
                      "operand %d is %g, which is not within %" PRId64
                      " to %" PRId64,
                      i, v, least, most);
        return least;
    }
    return (int64_t)v;
}

/* Windows: a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n). */

static bool
window(import_node *n, double a0, double a1, double a2)
{
    bool periodic = import_flag(n, "periodic", true);
    glow_kind kind = read_kind(n);
    int64_t size, steps;
    glow_tensor t;

    if (!import_operands(n, 1, 1))
        return false;
    size = known_int(n, 0, 0, MOST_ELEMENTS);
    if (n->failed)
        return false;
    steps = periodic ? size : size - 1;
    t = glow_tensor_new(import_type(n, kind, GLOW_DIMS_OF(size)));
    for (int64_t i = 0; i < size; i++) {
        double turn = 2 * PI * (double)i / (double)steps;

        glow_set_double(
            &t, i, steps == 0 ? 1 : a0 - a1 * cos(turn) + a2 * cos(2 * turn));
    }
    return import_done(n, import_constant_of(n, &t));
}

static bool
hann_window(import_node *n)
{
    return window(n, 0.5, 0.5, 0);
}

static bool
hamming_window(import_node *n)
{
    return window(n, 25.0 / 46, 21.0 / 46, 0);
}

static bool
blackman_window(import_node *n)
{
    return window(n, 0.42, 0.5, 0.08);
}

/* The matrix from frequencies to bands of the mel scale. */

static double
mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

/* One band: rises from `low` to `middle`, and falls to `high`. */
static void
fill_band(const glow_tensor *t, int64_t bands, int64_t band, int64_t low,
          int64_t middle, int64_t high)
{
    if (low == middle)
        glow_set_double(t, middle * bands + band, 1);
    for (int64_t i = low; low < middle && i <= middle; i++)
        glow_set_double(t, i * bands + band,
                        (double)(i - low) / (double)(middle - low));
    for (int64_t i = middle; middle < high && i < high; i++)
        glow_set_double(t, i * bands + band,
                        (double)(high - i) / (double)(high - middle));
}

static bool
mel_weight_matrix(import_node *n)
{
    glow_kind kind = read_kind(n);
    int64_t bands, length, rate, bins;
    double low, high, step;
    glow_tensor t;

    if (!import_operands(n, 5, 5))
        return false;
    bands = known_int(n, 0, 1, MOST_ELEMENTS);
    length = known_int(n, 1, 1, MOST_ELEMENTS);
    rate = known_int(n, 2, 1, INT32_MAX);
    low = import_known_number(n, 3);
    high = import_known_number(n, 4);
    bins = length / 2 + 1;
    if (n->failed)
        return false;
    if (!(low >= 0 && low <= high && high <= (double)rate / 2))
        return import_refuse(n, "E0711",
                             "from %g to %g hertz is not within 0 to %g, half "
                             "the sample rate",
                             low, high, (double)rate / 2);
    if (bins > MOST_ELEMENTS / bands)
        return import_refuse(n, "E0711",
                             "%" PRId64 " frequencies by %" PRId64
                             " bands are too many",
                             bins, bands);
    t = glow_tensor_new(import_type(n, kind, GLOW_DIMS_OF(bins, bands)));
    step = (mel(high) - mel(low)) / (double)(bands + 2);
    for (int64_t i = 0; i < bands; i++) {
        int64_t at[3];

        for (int k = 0; k < 3; k++) {
            double m = mel(low) + (double)(i + k) * step;
            double hertz = 700 * (pow(10, m / 2595) - 1);

            at[k] = (int64_t)floor((double)(length + 1) * hertz / (double)rate);
            at[k] = at[k] < 0 ? 0 : at[k] >= bins ? bins - 1 : at[k];
        }
        fill_band(&t, bands, i, at[0], at[1], at[2]);
    }
    return import_done(n, import_constant_of(n, &t));
}

/* Transforms. */

/* The axis: an attribute before opset 20, operand 2 since. */
static int
dft_axis(import_node *n, int rank)
{
    int64_t axis = 1;

    if (n->opset < 20)
        axis = import_int(n, "axis", 1, INT64_MIN, INT64_MAX);
    else if (import_in(n, 2))
        axis = known_int(n, 2, -rank, rank - 1);
    else
        axis = -2;
    return import_axis(n, axis, rank);
}

static bool
dft(import_node *n)
{
    bool inverse = import_flag(n, "inverse", false);
    bool onesided = import_flag(n, "onesided", false);
    glow_dims x;
    int axis;
    int64_t length;

    if (!import_operands(n, 1, n->opset < 20 ? 2 : 3))
        return false;
    x = import_shape(import_in(n, 0));
    if (x.rank < 2)
        return import_refuse(n, "E0711",
                             "the rank of the operand is %d, but must be at "
                             "least 2",
                             x.rank);
    axis = dft_axis(n, x.rank);
    length = inverse && onesided ? 2 * (x.at[axis] - 1) : x.at[axis];
    if (import_in(n, 1))
        length = known_int(n, 1, 1, MOST_ELEMENTS);
    return !n->failed &&
           import_done(n, BUILD(n, dft, GLOW_IN(import_in(n, 0)), .axis = axis,
                                .length = length, .inverse = inverse,
                                .onesided = onesided));
}

/* STFT; a real signal may omit the axis of the part. */
static bool
stft(import_node *n)
{
    bool onesided = import_flag(n, "onesided", true);
    glow_value *x, *w;
    int64_t step, length = 0;

    if (!import_operands(n, 2, 4))
        return false;
    x = import_in(n, 0);
    w = import_in(n, 2);
    if (x->type->shape.rank == 2)
        x = import_reshape(
            n, x, GLOW_DIMS_OF(x->type->shape.at[0], x->type->shape.at[1], 1));
    step = known_int(n, 1, 1, MOST_ELEMENTS);
    if (import_in(n, 3))
        length = known_int(n, 3, 1, MOST_ELEMENTS);
    else if (w && w->type->shape.rank == 1)
        length = w->type->shape.at[0];
    if (n->failed)
        return false;
    if (length == 0)
        return import_refuse(n, "E0711",
                             "neither window nor frame_length says how long a "
                             "frame is");
    if (w && w->type->shape.rank == 1 && w->type->shape.at[0] != length)
        return import_refuse(n, "E0705",
                             "a window of %" PRId64 " for frames of %" PRId64
                             " is not supported",
                             w->type->shape.at[0], length);
    return import_done(n, BUILD(n, stft, GLOW_IN(x, w), .frame_step = step,
                                .frame_length = length, .onesided = onesided));
}

const import_row import_signal_rows[] = {
    {"BlackmanWindow", 17, 0, blackman_window, NULL,
     "to any; a constant; the size must be known"},
    {"DFT", 17, 0, dft, &glow_op_dft, "floats; length and axis must be known"},
    {"HammingWindow", 17, 0, hamming_window, NULL,
     "to any; a constant; the size must be known"},
    {"HannWindow", 17, 0, hann_window, NULL,
     "to any; a constant; the size must be known"},
    {"MelWeightMatrix", 17, 0, mel_weight_matrix, NULL,
     "to any; a constant; operands must be known"},
    {"STFT", 17, 0, stft, &glow_op_stft,
     "floats; step and length must be known; the window is as long as a frame"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
