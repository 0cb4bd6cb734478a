/*
 * Signals: the discrete Fourier transform, and the short-time Fourier
 * transform.
 *
 * The last axis has one element for a real number, and two, real and imaginary
 * part, for a complex one.
 */

#include <math.h>

#include "ir/ops/common.h"

/* dft */

/* The number of elements of its axis that a transform uses at most. */
static int64_t
most_used(const glow_dft *a)
{
    return a->inverse && a->onesided ? a->length / 2 + 1 : a->length;
}

/* cos and sin of 2 pi part / whole; exact for multiples of a quarter turn. */
static double
cos_of_turn(int64_t part, int64_t whole)
{
    static const double quarters[] = {1, 0, -1, 0};

    if (4 * part % whole == 0)
        return quarters[4 * part / whole];
    return cos(2 * 3.14159265358979323846 * (double)part / (double)whole);
}

static double
sin_of_turn(int64_t part, int64_t whole)
{
    static const double quarters[] = {0, 1, 0, -1};

    if (4 * part % whole == 0)
        return quarters[4 * part / whole];
    return sin(2 * 3.14159265358979323846 * (double)part / (double)whole);
}

/* m k modulo n, so that angles stay small and keep their precision. */
static int64_t
turn_of(int64_t m, int64_t k, int64_t n)
{
    return (int64_t)((unsigned __int128)(uint64_t)m * (uint64_t)k %
                     (uint64_t)n);
}

double
glow_dft_factor(const glow_dft *a, int64_t m, int p, int64_t k, int q)
{
    int64_t n = a->length, turn = turn_of(m, k, n);
    double scale = a->inverse ? 1 / (double)n : 1;

    /* The other half of the spectrum is the conjugate of this one. */
    if (a->inverse && a->onesided && m > 0 && 2 * m < n)
        scale *= 2;
    if (p == q)
        return scale * cos_of_turn(turn, n);
    if ((p == 0) == a->inverse)
        return scale * sin_of_turn(turn, n);
    return -scale * sin_of_turn(turn, n);
}

static bool
check_parts(const glow_node *n, int64_t parts, bool is_real, bool is_complex)
{
    if ((parts == 1 && is_real) || (parts == 2 && is_complex))
        return true;
    return glow_reject(
        n, "the last axis of %s has %" PRId64 " elements, but must have %s",
        n->op->in[0].name, parts,
        is_real && is_complex ? "1 or 2"
        : is_real             ? "1"
                              : "2");
}

static bool
dft_infer(const glow_node *n, glow_type out[])
{
    const glow_dft *a = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    bool one = a->onesided, back = a->inverse;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank_from(n, 0, 2) ||
        !check_parts(n, x.at[x.rank - 1], !(one && back), !(one && !back)))
        return false;
    if (a->axis < 0 || a->axis >= x.rank - 1)
        return glow_reject(n,
                           "Axis is %d, but the axes of Input that are not "
                           "its parts are 0 to %d",
                           a->axis, x.rank - 2);
    if (a->length < 1)
        return glow_reject(n, "Length is %" PRId64 ", but must be at least 1",
                           a->length);
    x.at[a->axis] = one && !back ? a->length / 2 + 1 : a->length;
    x.at[x.rank - 1] = one && back ? 1 : 2;
    return glow_give(n, glow_reshaped(n->in[0]->type, x), &out[0]);
}

/* The table of twiddle factors, one for each angle. */
static double *
factors(const glow_dft *a, glow_arena *scratch)
{
    double *f = GLOW_NEW_ARRAY(scratch, double, 2 * a->length);

    for (int64_t k = 0; k < a->length; k++) {
        f[2 * k] = glow_dft_factor(a, 1, 0, k, 0);
        f[2 * k + 1] = glow_dft_factor(a, 1, 0, k, 1);
    }
    return f;
}

/* Transforms one line: x[m * step + p] becomes y[k * step + q]. */
static void
transform(const glow_dft *a, const double *f, const double *x, int64_t count,
          int parts, double *y, int64_t results)
{
    for (int64_t k = 0; k < results; k++) {
        double re = 0, im = 0;

        for (int64_t m = 0, at = 0; m < count; m++) {
            double c = f[2 * at], s = f[2 * at + 1];
            double u = x[m * parts], v = parts == 2 ? x[m * parts + 1] : 0;

            if (a->inverse && a->onesided && m > 0 && 2 * m < a->length)
                c *= 2, s *= 2;
            re += u * c - v * s;
            im += u * s + v * c;
            at += k;
            at -= at >= a->length ? a->length : 0;
        }
        y[2 * k] = re;
        y[2 * k + 1] = im;
    }
}

static bool
dft_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    const glow_dft *a = n->attrs;
    glow_dims xs = in[0]->type->shape, ys = out[0]->type->shape;
    int parts = (int)xs.at[xs.rank - 1], kept = (int)ys.at[ys.rank - 1];
    int64_t used = most_used(a), size = xs.at[a->axis];
    int64_t results = ys.at[a->axis], count = size < used ? size : used;
    int64_t inner = glow_dims_product(xs, a->axis + 1, xs.rank - 1);
    int64_t outer = glow_dims_product(xs, 0, a->axis);
    glow_dft unweighted = {.length = a->length, .inverse = a->inverse};
    double *f = factors(&unweighted, scratch);
    double *x = GLOW_NEW_ARRAY(scratch, double, count *parts);
    double *y = GLOW_NEW_ARRAY(scratch, double, results * 2);

    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            for (int64_t m = 0; m < count; m++)
                glow_load(in[0], ((o * size + m) * inner + i) * parts, parts,
                          x + m * parts);
            transform(a, f, x, count, parts, y, results);
            for (int64_t k = 0; k < results; k++)
                glow_store(out[0], ((o * results + k) * inner + i) * kept, kept,
                           y + 2 * k);
        }
    return true;
}

const glow_op glow_op_dft = {
    .name = "DFT",
    .summary = "the discrete Fourier transform along an axis",
    .in = {{"Input", GLOW_TENSOR,
            "x, of shape [.., 1]: reals, or [.., 2]: complex numbers"}},
    .out = {{"Result", GLOW_TENSOR,
             "y, of shape [.., 2]; [.., 1] of an inverse that is one-sided"}},
    .attrs = {GLOW_FIELD(glow_dft, axis, GLOW_INT, "the axis"),
              GLOW_FIELD(glow_dft, length, GLOW_INT64,
                         "n: the axis is cut, or filled with zeros, to have so "
                         "many"),
              GLOW_FIELD_DEFAULT(glow_dft, inverse, GLOW_FLAG,
                                 "back from frequencies"),
              GLOW_FIELD_DEFAULT(glow_dft, onesided, GLOW_FLAG,
                                 "the first n / 2 + 1 frequencies of reals, "
                                 "which tell the others")},
    .defaults = &(const glow_dft){.inverse = false},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = dft_infer,
    .eval = dft_eval,
    .doc = "`y[k] = sum over m of x[m] e^(-2 pi i k m / n)`; inverse: `y[k] = "
           "1 / n sum over m of x[m] e^(2 pi i k m / n)`.  One-sided and "
           "inverse, the frequencies that are not there are the conjugates of "
           "those that are, and the result is real.",
    .source = "ONNX DFT, opset 20",
};

/* stft */

static bool
stft_infer(const glow_node *n, glow_type out[])
{
    const glow_stft *a = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    int64_t size = a->frame_length;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank(n, 0, 3) ||
        !check_parts(n, x.at[2], true, !a->onesided))
        return false;
    if (a->frame_step < 1 || size < 1)
        return glow_reject(n,
                           "FrameStep is %" PRId64 " and FrameLength %" PRId64
                           ", but they must be at least 1",
                           a->frame_step, size);
    if (size > x.at[1])
        return glow_reject(n,
                           "FrameLength is %" PRId64 ", but Signal has "
                           "%" PRId64 " elements",
                           size, x.at[1]);
    if (n->in[1] &&
        (!glow_check_kinds(n, 1, 0) ||
         !glow_check_shape(n, 1, GLOW_DIMS_OF(size), "that of a frame")))
        return false;
    x = GLOW_DIMS_OF(x.at[0], (x.at[1] - size) / a->frame_step + 1,
                     a->onesided ? size / 2 + 1 : size, 2);
    return glow_give(n, glow_reshaped(n->in[0]->type, x), &out[0]);
}

static bool
stft_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_stft *a = n->attrs;
    glow_dims xs = in[0]->type->shape, ys = out[0]->type->shape;
    int parts = (int)xs.at[2];
    int64_t size = a->frame_length, results = ys.at[2];
    const glow_dft dft = {.length = size};
    double *f = factors(&dft, scratch);
    double *w = in[1] ? glow_load_all(in[1], scratch) : NULL;
    double *x = GLOW_NEW_ARRAY(scratch, double, size *parts);
    double *y = GLOW_NEW_ARRAY(scratch, double, results * 2);

    for (int64_t i = 0; i < ys.at[0] * ys.at[1]; i++) {
        int64_t b = i / ys.at[1], frame = i % ys.at[1];

        glow_load(in[0], (b * xs.at[1] + frame * a->frame_step) * parts,
                  size * parts, x);
        for (int64_t m = 0; w && m < size * parts; m++)
            x[m] *= w[m / parts];
        transform(&dft, f, x, size, parts, y, results);
        glow_store(out[0], i * results * 2, results * 2, y);
    }
    return true;
}

const glow_op glow_op_stft = {
    .name = "STFT",
    .summary = "the discrete Fourier transforms of short frames of a signal",
    .in = {{"Signal", GLOW_TENSOR,
            "[B, S, 1]: reals, or [B, S, 2]: complex numbers"},
           {"Window", GLOW_OPTIONAL,
            "[FrameLength]: what a frame is multiplied by"}},
    .out = {{"Result", GLOW_TENSOR, "[B, frames, frequencies, 2]"}},
    .attrs = {GLOW_FIELD(glow_stft, frame_step, GLOW_INT64,
                         "from one frame to the next"),
              GLOW_FIELD(glow_stft, frame_length, GLOW_INT64,
                         "elements of a frame"),
              GLOW_FIELD_DEFAULT(glow_stft, onesided, GLOW_FLAG,
                                 "the first FrameLength / 2 + 1 frequencies "
                                 "of reals")},
    .defaults = &(const glow_stft){.onesided = false},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = stft_infer,
    .eval = stft_eval,
    .doc = "There are `(S - FrameLength) / FrameStep + 1` frames, rounded "
           "down; each is transformed as DFT has it.",
    .source = "ONNX STFT",
};
