/*
 * lower-audiospectrogram: frames times cosines and sines.
 *
 *     %f = Gather(%x, the samples of each window)     [windows, W]
 *     %r = MatMul(%f, window * cosines)               [windows, F]
 *     %i = MatMul(%f, window * sines)
 *     %y = Sqrt(%r * %r + %i * %i)
 */

#include <math.h>

#include "lower/sample.h"

#define PI 3.14159265358979323846

/* The windows of the signal, one a row. */
static glow_value *
frames(glow_builder *b, const glow_node *n, int64_t windows)
{
    const glow_audiospectrogram *s = n->attrs;
    glow_value *x = n->in[0], *from;
    glow_dims shape = GLOW_DIMS_OF(windows, s->window_size);

    from =
        glow_build_constant(b, "from",
                            glow_type_get(glow_builder_context(b),
                                          glow_type_of(GLOW_INDEX64, shape)));
    for (int64_t i = 0; i < windows * s->window_size && from; i++)
        glow_set_int(&from->storage->tensor, i,
                     i / s->window_size * s->window_stride +
                         i % s->window_size);
    x = glow_build_reshape(b, x, GLOW_DIMS_OF(glow_dims_count(x->type->shape)));
    return GLOW_BUILD(b, gather, GLOW_IN(x, from), .axis = 0);
}

/* Cosines of all frequencies; sines with a `shift` of a quarter of a turn. */
static glow_value *
waves(glow_builder *b, int64_t window, int64_t frequencies, glow_kind kind,
      double shift)
{
    int64_t length = glow_spectrogram_length(window);
    double *at =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), double, window *frequencies);

    for (int64_t i = 0; i < window; i++)
        for (int64_t k = 0; k < frequencies; k++)
            at[i * frequencies + k] =
                glow_spectrogram_window(i, window) *
                cos(2 * PI * (double)(i * k % length) / (double)length - shift);
    return glow_lower_reals(b, "waves", kind, GLOW_DIMS_OF(window, frequencies),
                            at);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_audiospectrogram *s = n->attrs;
    glow_dims y = n->out[0]->type->shape;
    glow_kind kind = n->in[0]->type->elem;
    glow_value *f = frames(b, n, y.at[0]), *part[2];

    for (int i = 0; i < 2; i++) {
        part[i] = GLOW_BUILD_PLAIN(
            b, matmul,
            GLOW_IN(f, waves(b, s->window_size, y.at[1], kind, i * PI / 2)));
        part[i] = glow_build_mul(b, part[i], part[i]);
    }
    f = glow_build_add(b, part[0], part[1]);
    return s->magnitude_squared ? f : glow_build_sqrt(b, f);
}

const glow_pass glow_pass_lower_audiospectrogram = {
    .name = "lower-audiospectrogram",
    .summary = "express AudioSpectrogram by Gather and MatMul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_audiospectrogram,
    .rewrite = lower,
};
