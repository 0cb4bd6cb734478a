/* Import of audio features, by Glow's names. */

#include "tools/glow-translate/import/import.h"

static bool
audio_spectrogram(import_node *n)
{
    int64_t window = import_int(n, "window_size", 0, 1, INT32_MAX);
    int64_t stride = import_int(n, "stride", 0, 1, INT32_MAX);
    bool squared = import_flag(n, "magnitude_squared", true);

    return import_operands(n, 1, 1) &&
           import_done(n, BUILD(n, audiospectrogram, GLOW_IN(import_in(n, 0)),
                                .window_size = window, .window_stride = stride,
                                .magnitude_squared = squared));
}

static bool
mfcc(import_node *n)
{
    glow_mfcc m = {
        .sample_rate = import_float(n, "sample_rate", 0),
        .lower_frequency = import_float(n, "lower_frequency_limit", 0),
        .upper_frequency = import_float(n, "upper_frequency_limit", 0),
        .filter_bank_count =
            import_int(n, "filterbank_channel_count", 0, 1, INT32_MAX),
        .num_coefficients =
            import_int(n, "dct_coefficient_count", 0, 1, INT32_MAX)};

    return import_operands(n, 1, 1) &&
           import_done(n, import_build(n, &glow_op_mfcc, NULL,
                                       GLOW_IN(import_in(n, 0)), &m));
}

const import_row import_audio_rows[] = {
    {"AudioSpectrogram", 1, 0, audio_spectrogram, NULL, NULL},
    {"MFCC", 1, 0, mfcc, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};
