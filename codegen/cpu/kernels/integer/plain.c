/*
 * Integer sums of any quantized elements, one result at a time: those of 16 bits have
 * sums of 64.
 *
 *     for each channel of the result
 *       for each image, plane, line, pixel
 *         for taps within the input
 *           for the depth                        in vectors, where it is contiguous
 *             sum += (x - zx) (w - zw)
 *
 * Where x - zx and w - zw have 16 bits, and the depth is contiguous, PMADDWD multiplies
 * and adds up pairs of them.  With weights of 8 bits the sums of CHUNK such vectors
 * have 32 bits:
 *
 *     2 * 2^15 * (255 + 255) * CHUNK < 2^31
 *
 * With those of 16 bits a pair is from -2^31 + 2^16 to 2^31, so that one less has 32
 * bits; it is widened, and 1 is added again for each pair.
 */

#include "codegen/cpu/kernels/integer/integer.h"

typedef cpu_integer integer;

typedef struct maker {
    cpu_job *j;
    integer s; /* one lane, and no x_zero */
    cg_value channel;
    cg_value in, w;  /* channels of the group; weights of the channel */
    cg_value w_zero; /* i64 */
    cg_value paired; /* i1: PMADDWD takes the weights of the channel */
    cg_value start;  /* i64: the bias */
    cg_value ratio;
} maker;

#define CHUNK 64
#define MOST_ZERO 255 /* of weights of 8 bits in pairs */

/* True if sums have 64 bits; else they are modulo 2^32. */
static bool
is_long(const integer *s)
{
    return glow_cg_bytes(s->x) > 1 || glow_cg_bytes(s->w) > 1;
}

/* `lanes` elements from element `at` on, less `zero`, as i64. */
static cg_value
load(cg *g, const glow_type *type, cg_value from, cg_value at, cg_value zero,
     int lanes)
{
    LLVMTypeRef t = glow_cg_vector(g->i64, lanes);
    cg_value x = glow_cg_load_bits(g, (cg_tensor){from, type}, at, lanes);

    x = type->elem == GLOW_UINT8Q ? LLVMBuildZExt(g->builder, x, t, "")
                                  : LLVMBuildSExt(g->builder, x, t, "");
    return cg_isub(g, x, glow_cg_splat(g, zero, lanes));
}

/* `sum` and the products of `lanes` elements of the depth from `k` on. */
static cg_value
add_products(const maker *m, cg_value in, cg_value w, cg_value k, int lanes,
             cg_value sum)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    cg_value zero = cg_i64(g, s->x->offset), a, b;

    a = load(g, s->x, m->in, cg_add(g, in, k), zero, lanes);
    b = load(g, s->w, m->w, cg_add(g, w, cg_mulc(g, k, s->step.depth)),
             m->w_zero, lanes);
    return cg_iadd(g, sum, cg_imul(g, a, b));
}

/* Products of the depth from `first` to `end`, a multiple of `lanes`. */
static cg_value
add_depth(const maker *m, cg_value in, cg_value w, int64_t first, int64_t end,
          int lanes, cg_value sum)
{
    cg *g = m->j->g;
    cg_value init = LLVMConstNull(glow_cg_vector(g->i64, lanes));
    cg_loop l;

    if (first == end)
        return sum;
    glow_cg_loop(g, &l, cg_i64(g, first), cg_i64(g, end), lanes, &init, 1);
    init = add_products(m, in, w, l.i, lanes, l.value[0]);
    glow_cg_loop_end(g, &l, &init);
    init = l.value[0];
    if (lanes > 1)
        init = glow_cg_intrinsic(g, "llvm.vector.reduce.add", &init, 1);
    return cg_iadd(g, sum, init);
}

/* Lanes of 16 bits of the vectors of pairs, or 0: there are none. */
static int
pair_lanes(const maker *m)
{
    const integer *s = &m->s;
    int32_t zero = s->x->offset;
    bool fits = glow_cg_bytes(s->x) == 1
                    ? zero >= INT16_MIN + 256 && zero <= INT16_MAX - 256
                    : glow_cg_bytes(s->x) == 2 && zero == 0;

    return fits && s->step.depth == 1 && glow_cg_bytes(s->w) <= 2
               ? glow_cg_pair_lanes(m->j->g->target)
               : 0;
}

/* `lanes` elements from element `at` on, less `zero`, as pairs of i16. */
static cg_value
load_pairs(cg *g, const glow_type *type, cg_value from, cg_value at,
           cg_value zero, int lanes)
{
    LLVMTypeRef t = glow_cg_vector(g->i16, lanes);
    cg_value x = glow_cg_load_bits(g, (cg_tensor){from, type}, at, lanes);

    if (glow_cg_bytes(type) == 1) {
        x = type->elem == GLOW_UINT8Q ? LLVMBuildZExt(g->builder, x, t, "")
                                      : LLVMBuildSExt(g->builder, x, t, "");
        zero = LLVMBuildTrunc(g->builder, zero, g->i16, "");
        x = cg_isub(g, x, glow_cg_splat(g, zero, lanes));
    }
    return cg_bitcast(g, x, glow_cg_vector(g->i32, lanes / 2));
}

/* `sum` and the sums of pairs of `lanes` elements of the depth from `k` on. */
static cg_value
add_pairs(const maker *m, cg_value in, cg_value w, cg_value k, int lanes,
          cg_value sum)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    cg_value a = load_pairs(g, s->x, m->in, cg_add(g, in, k),
                            cg_i64(g, s->x->offset), lanes);
    cg_value b = load_pairs(g, s->w, m->w, cg_add(g, w, k), m->w_zero, lanes);

    return glow_cg_dot(g, CPU_DOT_PAIRS, a, b, sum);
}

/* `sum` and the lanes of `x`, as i64. */
static cg_value
add_lanes(cg *g, cg_value x, cg_value sum)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(x));

    x = LLVMBuildSExt(g->builder, x, glow_cg_vector(g->i64, lanes), "");
    x = glow_cg_intrinsic(g, "llvm.vector.reduce.add", &x, 1);
    return cg_iadd(g, sum, x);
}

/* Pairs of the depth from `first` to `end`, where weights have 8 bits. */
static cg_value
add_short_pairs(const maker *m, cg_value in, cg_value w, int64_t first,
                int64_t end, int lanes, cg_value sum)
{
    cg *g = m->j->g;

    for (int64_t most = (int64_t)CHUNK * lanes; first < end; first += most) {
        cg_value acc = LLVMConstNull(glow_cg_vector(g->i32, lanes / 2));
        int64_t last = end - first < most ? end : first + most;
        cg_loop l;

        glow_cg_loop(g, &l, cg_i64(g, first), cg_i64(g, last), lanes, &acc, 1);
        acc = add_pairs(m, in, w, l.i, lanes, l.value[0]);
        glow_cg_loop_end(g, &l, &acc);
        sum = add_lanes(g, l.value[0], sum);
    }
    return sum;
}

/* The same where they have 16 bits. */
static cg_value
add_long_pairs(const maker *m, cg_value in, cg_value w, int64_t first,
               int64_t end, int lanes, cg_value sum)
{
    cg *g = m->j->g;
    LLVMTypeRef t = glow_cg_vector(g->i32, lanes / 2);
    LLVMTypeRef wide = glow_cg_vector(g->i64, lanes / 2);
    cg_value acc = LLVMConstNull(wide), pairs;
    cg_loop l;

    glow_cg_loop(g, &l, cg_i64(g, first), cg_i64(g, end), lanes, &acc, 1);
    pairs = add_pairs(m, in, w, l.i, lanes, glow_cg_int(t, -1));
    acc = cg_iadd(g, l.value[0], LLVMBuildSExt(g->builder, pairs, wide, ""));
    glow_cg_loop_end(g, &l, &acc);
    return cg_iadd(g, add_lanes(g, l.value[0], sum),
                   cg_i64(g, (end - first) / 2));
}

/* Pairs of the depth of one tap, by vectors and by halves of them; sets `done`. */
static cg_value
add_paired(const maker *m, cg_value in, cg_value w, int64_t *done, cg_value sum)
{
    const integer *s = &m->s;
    bool is_short = glow_cg_bytes(s->w) == 1;

    *done = 0;
    for (int lanes = pair_lanes(m); lanes >= 8; lanes /= 2) {
        int64_t end = s->channels / lanes * lanes;

        if (end > *done)
            sum = (is_short ? add_short_pairs
                            : add_long_pairs)(m, in, w, *done, end, lanes, sum);
        *done = end;
    }
    return sum;
}

/* The depth of one tap: elements `in` and `w` are the first. */
static cg_value
add_tap(const maker *m, cg_value in, cg_value w, cg_value sum)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    int lanes = g->target->vector_bytes / 8;
    int64_t whole, done;
    cg_value all;
    cg_if paired, other;

    lanes = s->step.depth == 1 && lanes > 1 ? lanes : 1;
    whole = s->channels / lanes * lanes;
    if (!m->paired) {
        sum = add_depth(m, in, w, 0, whole, lanes, sum);
        return add_depth(m, in, w, whole, s->channels, 1, sum);
    }
    all = glow_cg_local(g, sum);
    glow_cg_if(g, &paired, m->paired);
    sum = add_paired(m, in, w, &done, cg_get(g, all));
    cg_set(g, all, add_depth(m, in, w, done, s->channels, 1, sum));
    glow_cg_end_if(g, &paired);
    glow_cg_if(g, &other, LLVMBuildNot(g->builder, m->paired, ""));
    sum = add_depth(m, in, w, 0, whole, lanes, cg_get(g, all));
    cg_set(g, all, add_depth(m, in, w, whole, s->channels, 1, sum));
    glow_cg_end_if(g, &other);
    return cg_get(g, all);
}

/* The taps of axis `axis`, and of those within it; `in` and `w` are elements. */
static cg_value
add_taps(const maker *m, int axis, cg_value const *at, cg_value in, cg_value w,
         cg_value sum)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    const cpu_window_axis *a = &s->axis[axis];
    cpu_taps taps;
    cg_value local, position;
    cg_loop l;

    if (axis > 2)
        return add_tap(m, cg_mulc(g, in, s->in_pixel), w, sum);
    taps = glow_cpu_taps(g, a, at[axis], 0, a->in);
    local = glow_cg_local(g, sum);
    glow_cg_loop_guarded(g, &l, taps.first, taps.last, 1, NULL, 0);
    position = cg_add(g, taps.base, cg_mulc(g, l.i, a->dilation));
    in = cg_add(g, cg_mulc(g, in, a->in), position);
    w = cg_add(g, w,
               cg_mulc(g, l.i,
                       axis == 2   ? s->step.tap
                       : axis == 1 ? s->step.row
                                   : s->step.row * s->axis[1].kernel));
    cg_set(g, local, add_taps(m, axis + 1, at, in, w, cg_get(g, local)));
    glow_cg_loop_end(g, &l, NULL);
    return cg_get(g, local);
}

/* i1: the weights of the channel less their offset have 16 bits, or few more than 8. */
static cg_value
takes_weights(const maker *m)
{
    cg *g = m->j->g;
    int64_t most = glow_cg_bytes(m->s.w) == 1 ? MOST_ZERO : 0;

    return cg_icmp(g, LLVMIntULE, cg_addc(g, m->w_zero, most),
                   cg_i64(g, 2 * most));
}

static void
set_channel(maker *m, cg_value channel)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    bool is_unsigned = s->w->elem != GLOW_INT8Q;
    cpu_integer_column c =
        glow_cpu_integer_column(m->j, s, channel, 1, LLVMConstNull(g->i32));
    cg_value group = cg_over(g, channel, s->outputs);
    cg_value output = cg_modulo(g, channel, s->outputs);
    cg_value at = cg_affine(g, group, s->step.group, output, s->step.output);

    m->channel = channel;
    m->start = LLVMBuildSExt(g->builder, c.start, g->i64, "");
    m->ratio = c.ratio;
    m->w_zero = c.offset ? LLVMBuildSExt(g->builder, c.offset, g->i64, "")
                         : cg_i64(g, 0);
    if (is_unsigned)
        m->w_zero = cg_iadd(g, m->w_zero, cg_i64(g, 128));
    m->paired = pair_lanes(m) ? takes_weights(m) : NULL;
    m->w = glow_cg_at(g, m->j->in[1].at, cg_mulc(g, at, glow_cg_bytes(s->w)));
    m->in = glow_cg_at(g, m->j->in[0].at,
                       cg_mulc(g, group, s->channels * glow_cg_bytes(s->x)));
}

/* The result at `at`: image, plane, line, pixel. */
static void
make_result(const maker *m, cg_value const *at)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    int bytes = glow_cg_bytes(s->y);
    cg_value pixel = at[0], sum, y;

    sum =
        add_taps(m, 0, at + 1, at[0], cg_mulc(g, at[0], s->w_batch), m->start);
    if (!is_long(s))
        sum = LLVMBuildTrunc(g->builder, sum, g->i32, "");
    y = glow_cpu_integer_round(g, s, sum, m->ratio);
    y = glow_cpu_integer_narrow(g, s, y);
    for (int i = 0; i < 3; i++)
        pixel = cg_add(g, cg_mulc(g, pixel, s->axis[i].out), at[1 + i]);
    pixel = cg_add(g, cg_mulc(g, pixel, s->out_pixel), m->channel);
    glow_cg_store_raw(g, y,
                      glow_cg_at(g, m->j->out[0].at, cg_mulc(g, pixel, bytes)));
}

void
glow_cpu_emit_plain_integer(cpu_job *j, const integer *s)
{
    cg *g = j->g;
    maker m = {.j = j, .s = *s};
    cg_loop l;
    cg_nest n;

    m.s.lanes = 1;
    m.s.x_zero = 0;
    set_channel(&m, glow_cpu_unit_for(j, &l));
    glow_cg_nest(
        g, &n,
        GLOW_DIMS_OF(s->batch, s->axis[0].out, s->axis[1].out, s->axis[2].out));
    make_result(&m, n.at);
    glow_cg_nest_end(g, &n);
    glow_cg_loop_end(g, &l, NULL);
}
