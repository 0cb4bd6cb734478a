/* PNG by libpng's simplified interface, which checks what it reads. */

#include "tools/common/image.h"

#include <inttypes.h>
#include <png.h>

#include "glow/file.h"
#include "glow/quantize.h"

const char *const image_modes[] = {"0to1", "0to255", "neg1to1", "neg128to127",
                                   NULL};
const char *const image_layouts[] = {"NCHW", "NHWC", NULL};

static double
pixel(image_mode mode, uint8_t v)
{
    switch (mode) {
    case IMAGE_0TO1:
        return v / 255.0;
    case IMAGE_0TO255:
        return v;
    case IMAGE_NEG1TO1:
        return v / 127.5 - 1.0;
    case IMAGE_NEG128TO127:
        return v - 128.0;
    }
    return 0;
}

/* A tensor of pictures, and the strides of its axes. */
typedef struct frame {
    int64_t n, c, h, w;
    image_layout layout;
    image_mode mode;
} frame;

static bool
make_frame(glow_context *ctx, const glow_type *want, size_t count, frame *f)
{
    const int64_t *d = want->shape.at;

    bool takes = glow_is_float(want->elem) || glow_is_quantized(want->elem);

    if (want->shape.rank != 4 || !takes)
        return glow_error(ctx, "E0622",
                          "a picture goes into a float or quantized tensor of "
                          "4 axes, but there are %d%s",
                          want->shape.rank, takes ? "" : " of another kind");
    f->n = d[0];
    f->c = f->layout == IMAGE_NCHW ? d[1] : d[3];
    f->h = f->layout == IMAGE_NCHW ? d[2] : d[1];
    f->w = f->layout == IMAGE_NCHW ? d[3] : d[2];
    if (f->c != 1 && f->c != 3)
        return glow_error_hint(
            ctx, (glow_span){0}, "E0622",
            "-image-layout says which axis holds the channels",
            "a picture has 1 or 3 channels, but the input has %" PRId64
            " as %s",
            f->c, image_layouts[f->layout]);
    if ((uint64_t)f->n != count)
        return glow_error(ctx, "E0622",
                          "the input takes %" PRId64 " pictures, but %zu are "
                          "given",
                          f->n, count);
    return true;
}

static void
copy_pixels(const frame *f, int64_t n, const uint8_t *pixels,
            const glow_tensor *out)
{
    for (int64_t y = 0; y < f->h; y++)
        for (int64_t x = 0; x < f->w; x++)
            for (int64_t c = 0; c < f->c; c++) {
                int64_t at = f->layout == IMAGE_NCHW
                                 ? ((n * f->c + c) * f->h + y) * f->w + x
                                 : ((n * f->h + y) * f->w + x) * f->c + c;

                if (glow_is_quantized(out->type->elem))
                    glow_set_int(
                        out, at,
                        glow_quantize(out->type, pixel(f->mode, *pixels++)));
                else
                    glow_set_double(out, at, pixel(f->mode, *pixels++));
            }
}

static bool
decode(glow_context *ctx, const char *path, png_image *image, const frame *f,
       int64_t n, const glow_tensor *out)
{
    if (image->width != f->w || image->height != f->h)
        return glow_error(ctx, "E0622",
                          "%s: it has %u x %u pixels, but the input takes "
                          "%" PRId64 " x %" PRId64,
                          path, image->width, image->height, f->w, f->h);
    image->format = f->c == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;

    glow_data *pixels = glow_data_new((size_t)(f->c * f->h * f->w));
    bool ok = png_image_finish_read(image, &(png_color){0},
                                    glow_data_bytes(pixels), 0, NULL);

    if (ok)
        copy_pixels(f, n, glow_data_bytes(pixels), out);
    else
        glow_error(ctx, "E0622", "%s: %s", path, image->message);
    glow_data_unref(pixels);
    return ok;
}

static bool
read_picture(glow_context *ctx, const char *path, const frame *f, int64_t n,
             const glow_tensor *out)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    glow_data *file = glow_file_map(ctx, path);
    bool ok;

    if (!file)
        return false;
    ok = png_image_begin_read_from_memory(&image, glow_data_bytes(file),
                                          glow_data_size(file));
    if (!ok)
        glow_error(ctx, "E0622", "%s: %s", path, image.message);
    else
        ok = decode(ctx, path, &image, f, n, out);
    png_image_free(&image);
    glow_data_unref(file);
    return ok;
}

bool
image_read(glow_context *ctx, const char *const *paths, size_t count,
           image_mode mode, image_layout layout, const glow_type *want,
           glow_tensor *out)
{
    frame f = {.mode = mode, .layout = layout};

    if (!make_frame(ctx, want, count, &f))
        return false;
    *out = glow_tensor_new(want);
    for (size_t i = 0; i < count; i++)
        if (!read_picture(ctx, paths[i], &f, (int64_t)i, out)) {
            glow_tensor_end(out);
            return false;
        }
    return true;
}
