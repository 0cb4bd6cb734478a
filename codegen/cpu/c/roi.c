/*
 * Pooling of regions of interest: RoiAlign and MaxRoiPool.  RoiAlign computes
 * the position and weights of a sample once for a block of channels.
 */

#include "ir/ops/roi.h"
#include "codegen/cpu/c/element.h"

#define CHANNELS 32

typedef struct maps {
    void *out;
    const void *in;
    int64_t kind, height, width, channels;
    int64_t rows, columns; /* of the result */
    bool mean;             /* of the samples, not the greatest */
    bool corners;          /* a sample is its greatest weighted element */
} maps;

/* Accumulates a sample of `count` channels from `from` on into `best`. */
INLINE void
take_sample(const maps *m, const glow_roi_taps *t, int64_t from, int64_t count,
            bool first, double best[])
{
    for (int64_t c = 0; c < count; c++) {
        double v = 0;

        for (int k = 0; k < t->count; k++) {
            double part =
                t->weight[k] *
                get_real(m->in, m->kind, from + t->at[k] * m->channels + c);

            if (!m->corners)
                v += part;
            else if (k == 0 || part > v)
                v = part;
        }
        if (m->mean)
            best[c] += v;
        else if (first || v > best[c])
            best[c] = v;
    }
}

INLINE void
pool_bin(const maps *m, const glow_roi *r, int64_t image, int64_t p, int64_t q,
         int64_t to)
{
    int64_t samples = r->rows * r->columns;

    for (int64_t c = 0; c < m->channels; c += CHANNELS) {
        int64_t count = m->channels - c < CHANNELS ? m->channels - c : CHANNELS;
        double best[CHANNELS] = {0};

        for (int64_t i = 0; i < r->rows; i++)
            for (int64_t j = 0; j < r->columns; j++) {
                glow_roi_taps t = glow_roi_sample(
                    r, p, i, m->rows, q, j, m->columns, m->height, m->width);

                take_sample(m, &t,
                            image * m->height * m->width * m->channels + c,
                            count, i == 0 && j == 0, best);
            }
        for (int64_t k = 0; k < count; k++)
            set_real(m->out, m->kind, to + c + k,
                     m->mean && samples > 0 ? best[k] / (double)samples
                                            : best[k]);
    }
}

int64_t
glow_c_roialign(void *out, const void *in, int64_t kind, const void *boxes,
                int64_t box_kind, const void *images, int64_t image_kind,
                int64_t batch, int64_t height, int64_t width, int64_t channels,
                int64_t count, int64_t rows, int64_t columns, int64_t mean,
                int64_t corners, int64_t ratio, double scale, int64_t aligned,
                int64_t rotated)
{
    maps m = {out,      in,   kind,    height,    width,
              channels, rows, columns, mean != 0, corners != 0};
    int64_t size = rotated ? 5 : 4;

    for (int64_t k = 0; k < count; k++) {
        int64_t image = get_int(images, image_kind, k);
        double box[5];
        glow_roi r;

        for (int64_t i = 0; i < size; i++)
            box[i] = get_real(boxes, box_kind, k * size + i);
        if (image < 0 || image >= batch ||
            !glow_roi_of(&r, box, scale, ratio, aligned != 0, rotated != 0,
                         rows, columns))
            return 1;
        for (int64_t p = 0; p < rows; p++)
            for (int64_t q = 0; q < columns; q++)
                pool_bin(&m, &r, image, p, q,
                         ((k * rows + p) * columns + q) * channels);
    }
    return 0;
}

/* The greatest element of a bin for each channel; 0 if it has none. */
INLINE void
pool_greatest(const maps *m, int64_t image, const int64_t y[2],
              const int64_t x[2], int64_t to)
{
    for (int64_t c = 0; c < m->channels; c++) {
        double best = 0;

        for (int64_t i = y[0]; i < y[1]; i++)
            for (int64_t j = x[0]; j < x[1]; j++) {
                double v = get_real(
                    m->in, m->kind,
                    ((image * m->height + i) * m->width + j) * m->channels + c);

                if ((i == y[0] && j == x[0]) || (v != v && best == best) ||
                    v > best)
                    best = v;
            }
        set_real(m->out, m->kind, to + c, best);
    }
}

int64_t
glow_c_maxroipool(void *out, const void *in, int64_t kind, const void *boxes,
                  int64_t box_kind, int64_t batch, int64_t height,
                  int64_t width, int64_t channels, int64_t count, int64_t rows,
                  int64_t columns, double scale)
{
    maps m = {out,      in,   kind,    height, width,
              channels, rows, columns, false,  false};

    for (int64_t k = 0; k < count; k++) {
        double image = get_real(boxes, box_kind, k * 5);
        int64_t at[4];

        if (!(image >= 0 && image < (double)batch))
            return 1;
        for (int i = 0; i < 4; i++)
            at[i] = glow_roi_round(get_real(boxes, box_kind, k * 5 + 1 + i) *
                                   scale);
        for (int64_t p = 0; p < rows; p++)
            for (int64_t q = 0; q < columns; q++) {
                int64_t y[2], x[2];

                glow_roi_bin(at[1], at[3], p, rows, height, &y[0], &y[1]);
                glow_roi_bin(at[0], at[2], q, columns, width, &x[0], &x[1]);
                pool_greatest(&m, (int64_t)image, y, x,
                              ((k * rows + p) * columns + q) * channels);
            }
    }
    return 0;
}
