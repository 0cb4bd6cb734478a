/*
 * Local response normalization.
 *
 *     y[c] = x[c] (k + alpha / n (x[c - half]^2 + ... + x[c + half]^2))^-beta
 *
 * The squares of a row of channels go to scratch first, between as many zeros as
 * a window may reach beyond the row.  So all channels are done in whole vectors,
 * each sum of neighbours loaded at its own offset.
 */

#include "codegen/cpu/kernels/common.h"

#define MOST_TAPS 16 /* of a window that is written out */

typedef struct response {
    const glow_localresponsenormalization *a;
    int64_t half;
    cg_value at; /* element of channel 0 */
    cg_tensor squares;
} response;

static int64_t
channels_of(const glow_node *n)
{
    glow_dims x = n->in[0]->type->shape;

    return x.at[x.rank - 1];
}

/* Half of the window, in channels, at most the number of channels. */
static int64_t
half_of(const glow_node *n)
{
    const glow_localresponsenormalization *a = n->attrs;
    int64_t size = channels_of(n);

    return a->half_window_size < size ? a->half_window_size : size;
}

/* Channels, up to whole vectors, and half a window on both sides. */
static int64_t
room_of(const cpu_target *t, const glow_node *n)
{
    int64_t lanes = t->vector_bytes / 4, size = channels_of(n);

    return (size + lanes - 1) / lanes * lanes + 2 * half_of(n);
}

static void
square_lanes(cpu_job *j, cg_value c, int lanes, void *user)
{
    const response *r = user;
    cg *g = j->g;
    cg_value x = glow_cg_load(g, j->in[0], cg_add(g, r->at, c), lanes);
    int live = g->live;

    g->live = 0; /* the other lanes are 0, and overwrite zeros */
    x = cg_fmul(g, x, x);
    glow_cg_store(g, r->squares, cg_addc(g, c, r->half), x);
    g->live = live;
}

/* The sum of the window of each of `lanes` channels. */
static cg_value
sum_window(cg *g, const response *r, cg_value c, int lanes)
{
    int64_t taps = 2 * r->half + 1;
    LLVMTypeRef t = glow_cg_vector(glow_cg_computed(g, r->squares.type), lanes);
    cg_value sum = LLVMConstNull(t);
    cg_loop l;

    if (taps <= MOST_TAPS) {
        for (int64_t i = 0; i < taps; i++)
            sum = cg_fadd(g, sum,
                          glow_cg_load(g, r->squares, cg_addc(g, c, i), lanes));
        return sum;
    }
    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, taps), 1, &sum, 1);
    sum = cg_fadd(g, l.value[0],
                  glow_cg_load(g, r->squares, cg_add(g, c, l.i), lanes));
    glow_cg_loop_end(g, &l, &sum);
    return l.value[0];
}

static void
response_lanes(cpu_job *j, cg_value c, int lanes, void *user)
{
    const response *r = user;
    cg *g = j->g;
    int live = g->live;
    double scale =
        (double)r->a->alpha / (2 * (double)r->a->half_window_size + 1);
    cg_value sum, base, power, x, at = cg_add(g, r->at, c);
    LLVMTypeRef t;

    g->live = 0;
    sum = sum_window(g, r, c, lanes);
    g->live = live;
    t = LLVMTypeOf(sum);
    base = glow_cg_fma(g, sum, glow_cg_real(t, scale),
                       glow_cg_real(t, (double)r->a->k));
    power =
        cg_fmul(g, glow_cg_log(g, base), glow_cg_real(t, -(double)r->a->beta));
    x = glow_cg_load(g, j->in[0], at, lanes);
    glow_cg_store(g, j->out[0], at, cg_fmul(g, x, glow_cg_exp(g, power)));
}

static void
emit_response(cpu_job *j)
{
    cg *g = j->g;
    int64_t size = channels_of(j->n);
    glow_type *type = GLOW_NEW(g->arena, glow_type);
    bool wide = glow_cg_computed(g, j->in[0].type) == g->f64;
    response r = {.a = j->n->attrs, .half = half_of(j->n)};
    cg_loop l;

    *type = glow_type_of(wide ? GLOW_FLOAT64 : GLOW_FLOAT, GLOW_DIMS_OF(1));
    r.squares = (cg_tensor){j->scratch, type};
    glow_cpu_fill(g, r.squares, room_of(g->target, j->n),
                  LLVMConstNull(wide ? g->f64 : g->f32));
    r.at = cg_mulc(g, glow_cpu_unit_for(j, &l), size);
    glow_cpu_lanes_for(j, 0, size, square_lanes, &r);
    glow_cpu_lanes_for(j, 0, size, response_lanes, &r);
    glow_cg_loop_end(g, &l, NULL);
}

static int64_t
response_scratch(const cpu_target *t, const glow_node *n)
{
    bool wide = n->in[0]->type->elem == GLOW_FLOAT64;

    return glow_cpu_room(room_of(t, n), wide ? 8 : 4);
}

static int64_t
response_pixels(const cpu_target *t, const glow_node *n)
{
    glow_dims x = n->in[0]->type->shape;

    (void)t;
    return glow_dims_product(x, 0, x.rank - 1);
}

const cpu_kernel glow_cpu_localresponsenormalization = {
    .name = "localresponsenormalization",
    .op = &glow_op_localresponsenormalization,
    .emit = emit_response,
    .scratch_size = response_scratch,
    .units = response_pixels,
};
