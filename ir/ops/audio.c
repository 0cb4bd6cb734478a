/*
 * Audio features: the spectrogram of a signal, and its cepstrum on the mel
 * scale.
 */

#include <math.h>
#include <string.h>

#include "ir/ops/common.h"

#define PI 3.14159265358979323846

/* Tables of cosines stay below 2^27 elements, those of filters below 2^26. */
#define MOST_WINDOW (1 << 14)
#define MOST_FILTER_WEIGHTS (1 << 26)

/* audiospectrogram */

int64_t
glow_spectrogram_length(int64_t window)
{
    int64_t n = 1;

    while (n < window)
        n *= 2;
    return n;
}

double
glow_spectrogram_window(int64_t i, int64_t window)
{
    return 0.5 - 0.5 * cos(2 * PI * (double)i / (double)window);
}

static bool
spectrogram_infer(const glow_node *n, glow_type out[])
{
    const glow_audiospectrogram *s = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    int64_t samples;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank_from(n, 0, 1))
        return false;
    for (int i = 0; i < x.rank - 1; i++)
        if (x.at[i] != 1)
            return glow_reject(n,
                               "axis %d of Input has %" PRId64 " elements, but "
                               "only the last may have more than 1",
                               i, x.at[i]);
    samples = x.at[x.rank - 1];
    if (s->window_size < 1 || s->window_size > samples ||
        s->window_size > MOST_WINDOW)
        return glow_reject(n,
                           "WindowSize is %" PRId64 ", but Input has %" PRId64
                           " samples, and %d is the most",
                           s->window_size, samples, MOST_WINDOW);
    if (s->window_stride < 1)
        return glow_reject(n,
                           "WindowStride is %" PRId64 ", but must be at "
                           "least 1",
                           s->window_stride);
    return glow_give(
        n,
        glow_reshaped(
            n->in[0]->type,
            GLOW_DIMS_OF((samples - s->window_size) / s->window_stride + 1,
                         glow_spectrogram_length(s->window_size) / 2 + 1)),
        &out[0]);
}

/*
 * The energy of frequency `k` of a windowed frame; `turn` is one period of a
 * cosine.
 */
static double
energy(const double *frame, int64_t size, int64_t k, int64_t length,
       const double *turn)
{
    double re = 0, im = 0;

    for (int64_t i = 0; i < size; i++) {
        int64_t at = k * i % length;

        re += frame[i] * turn[at];
        im += frame[i] * turn[(at + length - length / 4) % length];
    }
    return re * re + im * im;
}

static bool
spectrogram_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    const glow_audiospectrogram *s = n->attrs;
    glow_dims y = out[0]->type->shape;
    int64_t size = s->window_size, length = glow_spectrogram_length(size);
    double *frame = GLOW_NEW_ARRAY(scratch, double, size);
    /*
     * At least four samples of a period, so that the sine is a shifted cosine.
     */
    int64_t step = length < 4 ? 4 / length : 1;
    double *turn = GLOW_NEW_ARRAY(scratch, double, length *step);

    for (int64_t i = 0; i < length * step; i++)
        turn[i] = cos(2 * PI * (double)i / (double)(length * step));
    for (int64_t f = 0; f < y.at[0]; f++) {
        glow_load(in[0], f * s->window_stride, size, frame);
        for (int64_t i = 0; i < size; i++)
            frame[i] *= glow_spectrogram_window(i, size);
        for (int64_t k = 0; k < y.at[1]; k++) {
            double e = energy(frame, size, k * step, length * step, turn);

            glow_set_double(out[0], f * y.at[1] + k,
                            s->magnitude_squared ? e : sqrt(e));
        }
    }
    return true;
}

const glow_op glow_op_audiospectrogram = {
    .name = "AudioSpectrogram",
    .summary = "how much of each frequency a signal has, window by window",
    .in = {{"Input", GLOW_TENSOR, "x, the samples along the last axis"}},
    .out = {{"Spectrogram", GLOW_TENSOR,
             "of shape [windows, L / 2 + 1], where L is the least power of 2 "
             "that is not less than WindowSize"}},
    .attrs = {GLOW_FIELD(glow_audiospectrogram, window_size, GLOW_INT64,
                         "samples of a window"),
              GLOW_FIELD(glow_audiospectrogram, window_stride, GLOW_INT64,
                         "samples from one window to the next"),
              GLOW_FIELD_DEFAULT(glow_audiospectrogram, magnitude_squared,
                                 GLOW_FLAG, "the squares of the magnitudes")},
    .defaults = &(const glow_audiospectrogram){.magnitude_squared = true},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = spectrogram_infer,
    .eval = spectrogram_eval,
    .doc = "`y[f, k]` is the magnitude of the sum over `i` of `x[f s + i] h[i] "
           "exp(-2 pi j k i / L)`, with Hann's window `h[i] = 0.5 - 0.5 cos(2 "
           "pi i / WindowSize)`.  Glow's tables for the transform are part of "
           "the operator.",
    .source = "Glow AudioSpectrogram; TensorFlow AudioSpectrogram",
};

/* mfcc */

static double
mel(double frequency)
{
    return 1127 * log1p(frequency / 700);
}

static bool
mfcc_infer(const glow_node *n, glow_type out[])
{
    const glow_mfcc *m = n->attrs;
    glow_dims x = n->in[0]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank(n, 0, 2))
        return false;
    if (x.at[1] < 2)
        return glow_reject(n,
                           "Spectrogram has %" PRId64 " frequencies, but at "
                           "least 2 are needed",
                           x.at[1]);
    if (!(m->sample_rate > 0) || isinf(m->sample_rate))
        return glow_reject(n,
                           "SampleRate is %g, but must be a number greater "
                           "than 0",
                           (double)m->sample_rate);
    if (!(m->lower_frequency >= 0) ||
        !(m->upper_frequency > m->lower_frequency) || isinf(m->upper_frequency))
        return glow_reject(n,
                           "LowerFrequency is %g and UpperFrequency %g, but "
                           "they must ascend from 0",
                           (double)m->lower_frequency,
                           (double)m->upper_frequency);
    if (m->filter_bank_count < 1 ||
        m->filter_bank_count > MOST_FILTER_WEIGHTS / x.at[1])
        return glow_reject(n,
                           "FilterBankCount is %" PRId64 ", but must be 1 to "
                           "%" PRId64 " for %" PRId64 " frequencies",
                           m->filter_bank_count, MOST_FILTER_WEIGHTS / x.at[1],
                           x.at[1]);
    if (m->num_coefficients < 1 || m->num_coefficients > m->filter_bank_count)
        return glow_reject(n,
                           "NumCoefficients is %" PRId64 ", but "
                           "FilterBankCount %" PRId64,
                           m->num_coefficients, m->filter_bank_count);
    return glow_give(n,
                     glow_reshaped(n->in[0]->type,
                                   GLOW_DIMS_OF(x.at[0], m->num_coefficients)),
                     &out[0]);
}

/*
 * Triangular mel filters.  Frequency `f`, between the centers of two
 * neighbouring triangles, has weight in both; the two weights add up to 1.
 */
const double *
glow_mfcc_filters(const glow_mfcc *m, int64_t frequencies, glow_arena *a)
{
    int64_t count = m->filter_bank_count, above = 0;
    double low = mel((double)m->lower_frequency);
    double step = (mel((double)m->upper_frequency) - low) / (double)(count + 1);
    double hertz = 0.5 * (double)m->sample_rate / (double)(frequencies - 1);
    double first = floor(1.5 + (double)m->lower_frequency / hertz);
    double last = floor((double)m->upper_frequency / hertz);
    double *w = GLOW_NEW_ARRAY(a, double, frequencies *count);

    memset(w, 0, (size_t)(frequencies * count) * sizeof(*w));
    for (int64_t f = 0; f < frequencies; f++) {
        double at = mel((double)f * hertz), part;

        if ((double)f < first || (double)f > last)
            continue;
        while (above < count && low + step * (double)(above + 1) < at)
            above++;
        part = (low + step * (double)(above + 1) - at) / step;
        if (above > 0)
            w[f * count + above - 1] = part;
        if (above < count)
            w[f * count + above] = 1 - part;
    }
    return w;
}

double
glow_mfcc_cosine(const glow_mfcc *m, int64_t filter, int64_t coefficient)
{
    double count = (double)m->filter_bank_count;

    return sqrt(2 / count) *
           cos(PI / count * (double)coefficient * ((double)filter + 0.5));
}

static bool
mfcc_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_mfcc *m = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t count = m->filter_bank_count;
    const double *w = glow_mfcc_filters(m, x.at[1], scratch);
    double *bank = GLOW_NEW_ARRAY(scratch, double, count);

    for (int64_t row = 0; row < x.at[0]; row++) {
        memset(bank, 0, (size_t)count * sizeof(*bank));
        for (int64_t f = 0; f < x.at[1]; f++)
            for (int64_t k = 0; k < count; k++)
                if (w[f * count + k] != 0)
                    bank[k] +=
                        w[f * count + k] *
                        sqrt(
                            fmax(glow_get_double(in[0], row * x.at[1] + f), 0));
        for (int64_t c = 0; c < m->num_coefficients; c++) {
            double sum = 0;

            for (int64_t k = 0; k < count; k++)
                sum +=
                    log(bank[k] < GLOW_MFCC_LEAST ? GLOW_MFCC_LEAST : bank[k]) *
                    glow_mfcc_cosine(m, k, c);
            glow_set_double(out[0], row * m->num_coefficients + c, sum);
        }
    }
    return true;
}

const glow_op glow_op_mfcc = {
    .name = "MFCC",
    .summary = "the mel-frequency cepstrum of a spectrogram",
    .in = {{"Spectrogram", GLOW_TENSOR,
            "x, squared magnitudes, of shape [windows, F]"}},
    .out = {{"Coefficients", GLOW_TENSOR,
             "of shape [windows, NumCoefficients]"}},
    .attrs = {GLOW_FIELD(glow_mfcc, sample_rate, GLOW_FLOAT32,
                         "samples of the signal in a second"),
              GLOW_FIELD(glow_mfcc, lower_frequency, GLOW_FLOAT32,
                         "the least frequency that counts, in hertz"),
              GLOW_FIELD(glow_mfcc, upper_frequency, GLOW_FLOAT32,
                         "the greatest"),
              GLOW_FIELD(glow_mfcc, filter_bank_count, GLOW_INT64,
                         "how many triangles the mel scale is seen through"),
              GLOW_FIELD(glow_mfcc, num_coefficients, GLOW_INT64,
                         "of the cosine transform")},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = mfcc_infer,
    .eval = mfcc_eval,
    .doc =
        "The magnitudes, of negative squares 0, are summed with triangles "
        "whose middles are evenly "
        "spaced on the mel scale, `1127 log(1 + f / 700)`; of each sum, at "
        "least 1e-12, the logarithm is taken, and of those `c[j] = sqrt(2 / N) "
        "* sum over i of v[i] cos(pi / N * j * (i + 0.5))`.  Glow's tables are "
        "part of the operator.",
    .source = "Glow MFCC; TensorFlow Mfcc; Davis and Mermelstein, 1980",
};
