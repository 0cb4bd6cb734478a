/* Reads the artifact `image`. */

#include <stdio.h>
#include <stdlib.h>

#include "image.h"

enum { MOST = 1 << 28 };

/* A number below MOST, or -1. */
static int64_t
number(FILE *f)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++) {
        int c = getc(f);

        if (c == EOF)
            return -1;
        v |= (uint64_t)c << 8 * i;
    }
    return v < MOST ? (int64_t)v : -1;
}

static uint64_t
half(FILE *f)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v |= (uint64_t)(getc(f) & 255) << 8 * i;
    return v;
}

static bool
read_segments(FILE *f, vta_image *x)
{
    x->segments = number(f);
    if (x->segments < 0 || x->segments > 1 << 16)
        return false;
    x->count = calloc((size_t)x->segments + 1, sizeof *x->count);
    x->words = calloc((size_t)x->segments + 1, sizeof *x->words);
    for (int64_t i = 0; i < x->segments; i++) {
        x->count[i] = number(f);
        if (x->count[i] < 0)
            return false;
        x->words[i] = calloc((size_t)x->count[i] + 1, sizeof **x->words);
        for (int64_t k = 0; k < x->count[i]; k++) {
            x->words[i][k].low = half(f);
            x->words[i][k].high = half(f);
        }
    }
    return true;
}

static bool
read_inputs(FILE *f, vta_image *x)
{
    x->inputs = number(f);
    if (x->inputs < 0 || x->inputs > 1 << 16)
        return false;
    x->input_at = calloc((size_t)x->inputs + 1, sizeof *x->input_at);
    x->input_bytes = calloc((size_t)x->inputs + 1, sizeof *x->input_bytes);
    for (int64_t i = 0; i < x->inputs; i++) {
        x->input_at[i] = number(f);
        x->input_bytes[i] = number(f);
        if (x->input_at[i] < 0 || x->input_bytes[i] < 0 ||
            x->input_at[i] + x->input_bytes[i] > x->bytes)
            return false;
    }
    return true;
}

vta_image *
vta_image_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    vta_image *x = calloc(1, sizeof *x);
    bool ok = f != NULL;

    for (int k = VTA_UOP; ok && k <= VTA_ACC; k++)
        x->config.elements[k] = number(f);
    if (ok) {
        x->config.depth = number(f);
        x->config.outstanding = number(f);
        x->config.setup = number(f);
        x->config.bytes_per_cycle = (double)number(f);
        x->bytes = number(f);
        ok = x->bytes >= 0 && read_segments(f, x) && read_inputs(f, x);
    }
    if (ok) {
        x->dram = malloc((size_t)x->bytes + 1);
        ok = fread(x->dram, 1, (size_t)x->bytes, f) == (size_t)x->bytes;
    }
    if (f)
        fclose(f);
    if (ok)
        return x;
    vta_image_free(x);
    return NULL;
}

void
vta_image_free(vta_image *x)
{
    for (int64_t i = 0; x->words && i < x->segments; i++)
        free(x->words[i]);
    free(x->words);
    free(x->count);
    free(x->input_at);
    free(x->input_bytes);
    free(x->dram);
    free(x);
}
