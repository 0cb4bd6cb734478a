#include "ir/ops/apply.h"

#include "glow/quantize.h"

bool
glow_apply_admit(const glow_node *n, int classes)
{
    bool quantized =
        glow_takes_quantized(n) && (classes & GLOW_CLASS_FLOAT) != 0;

    for (int i = 0; i < n->n_in; i++) {
        if (i && quantized ? !glow_admit(n, i, GLOW_CLASS_QUANTIZED)
                           : !glow_admit_real(n, i, classes))
            return false;
        if (i && !(quantized ? glow_check_shapes(n, i, 0)
                             : glow_check_types(n, i, 0)))
            return false;
    }
    return true;
}

bool
glow_apply_infer(const glow_node *n, glow_type out[], int classes)
{
    return glow_apply_admit(n, classes) &&
           glow_give_real(n, n->in[0]->type->shape, &out[0]);
}

/* The size of the next chunk of `left` elements. */
static int64_t
chunk(int64_t left)
{
    return left < GLOW_CHUNK ? left : GLOW_CHUNK;
}

static void
map_real(const glow_tensor *in, const glow_tensor *out, glow_real1 fn)
{
    int64_t count = glow_tensor_count(out);
    double v[GLOW_CHUNK];

    for (int64_t i = 0; i < count; i += GLOW_CHUNK) {
        int64_t m = chunk(count - i);

        glow_load(in, i, m, v);
        for (int64_t j = 0; j < m; j++)
            v[j] = fn(v[j]);
        glow_store(out, i, m, v);
    }
}

bool
glow_apply(const glow_tensor *in, const glow_tensor *out, glow_real1 real,
           glow_int1 integer)
{
    int64_t count = glow_tensor_count(out);
    bool is_signed = glow_tensor_is_signed(in);

    if (glow_tensor_is_real(in))
        map_real(in, out, real);
    else
        for (int64_t i = 0; i < count; i++)
            glow_set_int(out, i, integer(glow_get_int(in, i), is_signed));
    return true;
}

static void
map_real_pairs(glow_tensor *const in[], const glow_tensor *out, glow_real2 fn)
{
    int64_t count = glow_tensor_count(out);
    double x[GLOW_CHUNK], y[GLOW_CHUNK];

    for (int64_t i = 0; i < count; i += GLOW_CHUNK) {
        int64_t m = chunk(count - i);

        glow_load(in[0], i, m, x);
        glow_load(in[1], i, m, y);
        for (int64_t j = 0; j < m; j++)
            x[j] = fn(x[j], y[j]);
        glow_store(out, i, m, x);
    }
}

bool
glow_apply_pairs(glow_tensor *const in[], const glow_tensor *out,
                 glow_real2 real, glow_int2 integer)
{
    int64_t count = glow_tensor_count(out);
    bool is_signed = glow_tensor_is_signed(in[0]);

    if (glow_tensor_is_real(in[0]))
        map_real_pairs(in, out, real);
    else
        for (int64_t i = 0; i < count; i++)
            glow_set_int(out, i,
                         integer(glow_get_int(in[0], i), glow_get_int(in[1], i),
                                 is_signed));
    return true;
}

static void
map_real_with(const glow_tensor *in, const glow_tensor *out, glow_real_with fn,
              const void *user)
{
    int64_t count = glow_tensor_count(out);
    double v[GLOW_CHUNK];

    for (int64_t i = 0; i < count; i += GLOW_CHUNK) {
        int64_t m = chunk(count - i);

        glow_load(in, i, m, v);
        for (int64_t j = 0; j < m; j++)
            v[j] = fn(v[j], user);
        glow_store(out, i, m, v);
    }
}

bool
glow_apply_with(const glow_tensor *in, const glow_tensor *out,
                glow_real_with real, glow_int_with integer, const void *user)
{
    int64_t count = glow_tensor_count(out);
    bool is_signed = glow_tensor_is_signed(in);

    if (glow_tensor_is_real(in))
        map_real_with(in, out, real, user);
    else
        for (int64_t i = 0; i < count; i++)
            glow_set_int(out, i, integer(glow_get_int(in, i), is_signed, user));
    return true;
}

/* Quantized elements. */

static double
grid_add(double a, double b, const glow_grid_ratios *r)
{
    return a * r->ma + b * r->mb;
}

static float
grid_addf(float a, float b, const glow_grid_ratios *r)
{
    return a * (float)r->ma + b * (float)r->mb;
}

static double
grid_sub(double a, double b, const glow_grid_ratios *r)
{
    return a * r->ma - b * r->mb;
}

static float
grid_subf(float a, float b, const glow_grid_ratios *r)
{
    return a * (float)r->ma - b * (float)r->mb;
}

static double
grid_mul(double a, double b, const glow_grid_ratios *r)
{
    return a * b * r->product;
}

static float
grid_mulf(float a, float b, const glow_grid_ratios *r)
{
    return a * b * (float)r->product;
}

const glow_grid_fn glow_grid_add = {grid_add, grid_addf};
const glow_grid_fn glow_grid_sub = {grid_sub, grid_subf};
const glow_grid_fn glow_grid_mul = {grid_mul, grid_mulf};

bool
glow_grid_apply(glow_tensor *const in[], const glow_tensor *out,
                const glow_grid_fn *g)
{
    const glow_type *x = in[0]->type, *y = in[1]->type, *z = out->type;
    const glow_grid_ratios r = {(double)x->scale / (double)z->scale,
                                (double)y->scale / (double)z->scale,
                                (double)x->scale * (double)y->scale /
                                    (double)z->scale};
    bool narrow = glow_quantized_values(x->elem) &&
                  glow_quantized_values(y->elem) &&
                  glow_quantized_values(z->elem);
    int64_t count = glow_tensor_count(out), size = glow_tensor_count(in[1]);

    for (int64_t i = 0; i < count; i++) {
        double a = (double)glow_get_int(in[0], i) - (double)x->offset;
        double b = (double)glow_get_int(in[1], i % size) - (double)y->offset;

        glow_set_int(out, i,
                     glow_quantized_round(
                         z, narrow ? (double)g->narrow((float)a, (float)b, &r)
                                   : g->wide(a, b, &r)));
    }
    return true;
}
