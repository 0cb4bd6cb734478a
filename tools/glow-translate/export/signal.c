/* Export of signal transforms, Multinomial and Bernoulli. */

#include <string.h>

#include "tools/glow-translate/export/export.h"

static const char *
number(exporter *e, const glow_node *n, int64_t v)
{
    return export_number(e, n, GLOW_INDEX64, (double)v);
}

/* ONNX has no DFT that is inverse and one-sided before opset 20. */
static bool
dft(exporter *e, const glow_node *n)
{
    const glow_dft *a = n->attrs;

    if (a->inverse && a->onesided)
        return export_refuse(e, n,
                             "opset %d has no inverse DFT that is one-sided",
                             EXPORT_OPSET);
    if (export_opset(e) < 20) {
        export_last(e, n, "DFT",
                    NAMES(export_in(e, n, 0), number(e, n, a->length)));
        export_int(e, "axis", a->axis);
    } else {
        export_last(e, n, "DFT",
                    NAMES(export_in(e, n, 0), number(e, n, a->length),
                          number(e, n, a->axis)));
    }
    export_int(e, "inverse", a->inverse);
    export_int(e, "onesided", a->onesided);
    return true;
}

static bool
stft(exporter *e, const glow_node *n)
{
    const glow_stft *a = n->attrs;
    const char *step = number(e, n, a->frame_step);
    const char *length = number(e, n, a->frame_length);

    export_last(e, n, "STFT",
                NAMES(export_in(e, n, 0), step, export_in(e, n, 1), length));
    export_int(e, "onesided", a->onesided);
    return true;
}

const export_row export_signal_rows[] = {
    {&glow_op_dft, dft, NULL},
    {&glow_op_stft, stft, NULL},
    {NULL, NULL, NULL},
};
