/*
 * A layer by oneDNN, with the entry of a bundle, so that kernel.c times both alike.
 *
 *     cc -shared -fPIC -DKIND=... -DSIZES=... -DIS_INT8=... dnnl_layer.c -ldnnl
 *
 * KIND is CONV, DECONV, FC or BMM; SIZES are its numbers, as struct layer has them.
 * Layouts and algorithm are oneDNN's choice, as they are between the layers of a
 * network; there is a bias and nothing behind it.  With IS_INT8 the input is u8, weights
 * are s8, the bias is s32, and the sum times a scale for each channel is rounded and
 * saturated to u8, as a Relu would.  Constants are weights and bias,
 * placeholders are the input, the other operand of BMM, and the result.
 */

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if DNNL_VERSION_MAJOR != 2
#error "this is written for version 2 of oneDNN"
#endif

enum kind { CONV, DECONV, FC, BMM };

/* Of BMM, batch, rows, depth and columns are n, h, in and out; of FC as well. */
typedef struct layer {
    int64_t n, h, w, in, oh, ow, out, kh, kw, sh, sw, ph, pw, dilation, group;
} layer;

enum { SOURCE, WEIGHTS, BIAS, RESULT, PARTS };

static const layer l = {SIZES};
static const int names[PARTS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS,
                                 DNNL_ARG_DST};
static const dnnl_data_type_t kinds[PARTS] = {
    IS_INT8 ? dnnl_u8 : dnnl_f32, IS_INT8 ? dnnl_s8 : dnnl_f32,
    IS_INT8 ? dnnl_s32 : dnnl_f32, IS_INT8 ? dnnl_u8 : dnnl_f32};
static dnnl_engine_t engine;
static dnnl_stream_t stream;
static dnnl_primitive_t primitive;
static dnnl_memory_t parts[PARTS];
static size_t bytes[PARTS];

static void
must(dnnl_status_t status, const char *what)
{
    if (status == dnnl_success)
        return;
    fprintf(stderr, "oneDNN: %s: error %d\n", what, (int)status);
    exit(1);
}

static dnnl_memory_desc_t
any(int part, int rank, const dnnl_dims_t sizes)
{
    dnnl_memory_desc_t d;

    must(dnnl_memory_desc_init_by_tag(&d, rank, sizes, kinds[part],
                                      dnnl_format_tag_any),
         "description");
    return d;
}

/* Scales of the results, one for each of `count` channels of axis 1. */
static dnnl_primitive_attr_t
scales(int64_t count)
{
    dnnl_primitive_attr_t made = NULL;
    float *all = malloc((size_t)count * sizeof(*all));

    if (!all)
        abort();
    for (int64_t i = 0; i < count; i++)
        all[i] = 1e-3f;
    must(dnnl_primitive_attr_create(&made), "attributes");
    if (IS_INT8)
        must(dnnl_primitive_attr_set_output_scales(made, count,
                                                   count > 1 ? 1 << 1 : 0, all),
             "scales");
    free(all);
    return made;
}

static dnnl_primitive_desc_t
primitive_of(const void *d, int64_t scaled)
{
    dnnl_primitive_attr_t a = scales(scaled);
    dnnl_primitive_desc_t made = NULL;

    must(dnnl_primitive_desc_create(&made, d, a, engine, NULL), "kernel");
    dnnl_primitive_attr_destroy(a);
    return made;
}

static dnnl_primitive_desc_t
window(void)
{
    dnnl_memory_desc_t x = any(SOURCE, 4, (dnnl_dims_t){l.n, l.in, l.h, l.w});
    dnnl_memory_desc_t y =
        any(RESULT, 4, (dnnl_dims_t){l.n, l.out, l.oh, l.ow});
    dnnl_memory_desc_t b = any(BIAS, 1, (dnnl_dims_t){l.out});
    dnnl_dims_t grouped = {l.group, l.out / l.group, l.in / l.group, l.kh,
                           l.kw};
    dnnl_dims_t plain = {l.out, l.in, l.kh, l.kw};
    dnnl_memory_desc_t w =
        l.group > 1 ? any(WEIGHTS, 5, grouped) : any(WEIGHTS, 4, plain);
    dnnl_dims_t strides = {l.sh, l.sw}, pads = {l.ph, l.pw};
    dnnl_dims_t holes = {l.dilation - 1, l.dilation - 1};
    dnnl_convolution_desc_t conv;
    dnnl_deconvolution_desc_t deconv;

    if (KIND == CONV)
        must(dnnl_dilated_convolution_forward_desc_init(
                 &conv, dnnl_forward_inference, dnnl_convolution_auto, &x, &w,
                 &b, &y, strides, holes, pads, pads),
             "convolution");
    else
        must(dnnl_dilated_deconvolution_forward_desc_init(
                 &deconv, dnnl_forward_inference, dnnl_deconvolution_direct, &x,
                 &w, &b, &y, strides, holes, pads, pads),
             "deconvolution");
    return primitive_of(KIND == CONV ? (void *)&conv : (void *)&deconv, l.out);
}

static dnnl_primitive_desc_t
product(void)
{
    if (KIND == FC) {
        dnnl_memory_desc_t x = any(SOURCE, 2, (dnnl_dims_t){l.h, l.in});
        dnnl_memory_desc_t w = any(WEIGHTS, 2, (dnnl_dims_t){l.out, l.in});
        dnnl_memory_desc_t b = any(BIAS, 1, (dnnl_dims_t){l.out});
        dnnl_memory_desc_t y = any(RESULT, 2, (dnnl_dims_t){l.h, l.out});
        dnnl_inner_product_desc_t d;

        must(dnnl_inner_product_forward_desc_init(&d, dnnl_forward_inference,
                                                  &x, &w, &b, &y),
             "product");
        return primitive_of(&d, l.out);
    }

    /* Both operands come from the network: they lie as they are written. */
    const dnnl_dims_t a = {l.n, l.h, l.in}, b = {l.n, l.in, l.out};
    const dnnl_dims_t y = {l.n, l.h, l.out};
    dnnl_memory_desc_t da, db, dy;
    dnnl_matmul_desc_t d;

    dnnl_memory_desc_init_by_tag(&da, 3, a, kinds[SOURCE], dnnl_abc);
    dnnl_memory_desc_init_by_tag(&db, 3, b, kinds[WEIGHTS], dnnl_abc);
    dnnl_memory_desc_init_by_tag(&dy, 3, y, kinds[RESULT], dnnl_abc);
    must(dnnl_matmul_desc_init(&d, &da, &db, NULL, &dy), "product");
    return primitive_of(&d, 1);
}

static void
make(void)
{
    const dnnl_query_t asked[PARTS] = {dnnl_query_src_md, dnnl_query_weights_md,
                                       dnnl_query_weights_md,
                                       dnnl_query_dst_md};
    dnnl_primitive_desc_t d;

    must(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    must(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags),
         "stream");
    d = KIND == FC || KIND == BMM ? product() : window();
    must(dnnl_primitive_create(&primitive, d), "primitive");
    for (int i = 0; i < PARTS; i++) {
        const dnnl_memory_desc_t *part =
            KIND == BMM && i == BIAS
                ? NULL
                : dnnl_primitive_desc_query_md(d, asked[i], i == BIAS);

        if (!part)
            continue;
        bytes[i] = (dnnl_memory_desc_get_size(part) + 63) / 64 * 64;
        must(dnnl_memory_create(&parts[i], part, engine, DNNL_MEMORY_NONE),
             "memory");
    }
    dnnl_primitive_desc_destroy(d);
}

/* Bytes of constants, placeholders and activations. */
void
net_sizes(size_t sizes[3])
{
    if (!engine)
        make();
    sizes[0] = bytes[BIAS] + (KIND == BMM ? 0 : bytes[WEIGHTS]);
    sizes[1] =
        bytes[SOURCE] + bytes[RESULT] + (KIND == BMM ? bytes[WEIGHTS] : 0);
    sizes[2] = 0;
}

int
net(const uint8_t *constants, uint8_t *placeholders, uint8_t *activations)
{
    dnnl_exec_arg_t args[PARTS];
    int count = 0;
    uint8_t *next[2] = {(uint8_t *)(uintptr_t)constants, placeholders};

    (void)activations;
    if (!engine)
        make();
    for (int i = 0; i < PARTS; i++) {
        bool is_constant = i == BIAS || (i == WEIGHTS && KIND != BMM);
        uint8_t **at = &next[!is_constant];

        if (!parts[i])
            continue;
        dnnl_memory_set_data_handle(parts[i], *at);
        *at += bytes[i];
        args[count++] = (dnnl_exec_arg_t){names[i], parts[i]};
    }
    dnnl_primitive_execute(primitive, stream, count, args);
    return dnnl_stream_wait(stream) != dnnl_success;
}
