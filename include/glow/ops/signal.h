/* Signals, audio, and counts of n-grams. */

#ifndef GLOW_OPS_SIGNAL_H
#define GLOW_OPS_SIGNAL_H

#include "glow/graph.h"

GLOW_BEGIN

/* Counts of n-grams: ir/ops/tfidf.c. */

typedef struct glow_tfidfvectorizer {
    int64_t min_gram_length;
    int64_t max_gram_length;
    int64_t max_skip_count;
    int mode;                /* GLOW_TFIDF_... */
    glow_ints ngram_counts;  /* where in pool each length begins */
    glow_ints ngram_indexes; /* columns of the result */
    glow_ints pool;
    glow_floats weights; /* default: none, all 1 */
} glow_tfidfvectorizer;
enum { GLOW_TFIDF_TF, GLOW_TFIDF_IDF, GLOW_TFIDF_TFIDF };

extern GLOW_API const glow_op glow_op_tfidfvectorizer;

/* The n-grams of n in a pool: `count`, the first being number `first` of all. */
typedef struct glow_tfidf_grams {
    int64_t n, first, count;
    const int64_t *pool;
} glow_tfidf_grams;
GLOW_API glow_tfidf_grams glow_tfidf_read(const glow_tfidfvectorizer *a,
                                          int64_t n);

/* Signals, whose last axis holds real and imaginary part: ir/ops/signal.c. */

typedef struct glow_dft {
    int axis;
    int64_t length; /* the axis is cut or filled with zeros to this */
    bool inverse;   /* default false */
    bool onesided;  /* default false */
} glow_dft;

typedef struct glow_stft { /* Signal [B, S, 1 or 2], Window? [FrameLength] */
    int64_t frame_step;
    int64_t frame_length;
    bool onesided; /* default false */
} glow_stft;

extern GLOW_API const glow_op glow_op_dft;
extern GLOW_API const glow_op glow_op_stft;

/*
 * Coefficient of part `p` of element `m` in part `q` of result `k`: a DFT is the
 * sum of elements times their coefficients.
 */
GLOW_API double glow_dft_factor(const glow_dft *a, int64_t m, int p, int64_t k,
                                int q);

/* Audio: ir/ops/audio.c. */

typedef struct glow_audiospectrogram {
    int64_t window_size;
    int64_t window_stride;
    bool magnitude_squared; /* default true */
} glow_audiospectrogram;

typedef struct glow_mfcc {
    float sample_rate;
    float lower_frequency;
    float upper_frequency;
    int64_t filter_bank_count;
    int64_t num_coefficients;
} glow_mfcc;

/* The length of the transform, and Hann's window. */
GLOW_API int64_t glow_spectrogram_length(int64_t window);
GLOW_API double glow_spectrogram_window(int64_t i, int64_t window);
/* Weights [frequencies, FilterBankCount], and one of the cosine transform. */
GLOW_API const double *glow_mfcc_filters(const glow_mfcc *m,
                                         int64_t frequencies, glow_arena *a);
GLOW_API double glow_mfcc_cosine(const glow_mfcc *m, int64_t filter,
                                 int64_t coefficient);
/* Lower bound of the output of a filter, before its logarithm. */
#define GLOW_MFCC_LEAST 1e-12

extern GLOW_API const glow_op glow_op_audiospectrogram;
extern GLOW_API const glow_op glow_op_mfcc;

GLOW_END

#endif
