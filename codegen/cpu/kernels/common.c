/*
 * Helpers that several kernels use: reductions, vector loops, tables, windows.
 */

#include "codegen/cpu/kernels/common.h"

#include <math.h>

#define MASKED_BYTES 64 /* vectors whose bytes are masked: AVX-512 */
#define REDUCE_WIDTH 4  /* vectors that are combined side by side */

bool
glow_cpu_all(const glow_node *n, glow_kind kind)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->type->elem != kind)
            return false;
    return n->out[0]->type->elem == kind;
}

bool
glow_cpu_all_float(const glow_node *n)
{
    glow_kind k = n->in[0]->type->elem;

    return (k == GLOW_FLOAT || k == GLOW_FLOAT16 || k == GLOW_BFLOAT16) &&
           glow_cpu_all(n, k);
}

/* Combining. */

cg_value
glow_cpu_sum(cg *g, const glow_type *t, cg_value a, cg_value b)
{
    (void)t;
    return glow_cg_is_float(a) ? cg_fadd(g, a, b) : cg_iadd(g, a, b);
}

cg_value
glow_cpu_times(cg *g, const glow_type *t, cg_value a, cg_value b)
{
    (void)t;
    return glow_cg_is_float(a) ? cg_fmul(g, a, b) : cg_imul(g, a, b);
}

cg_value
glow_cpu_every(cg *g, cg_value v, int first, int step, int lanes)
{
    cg_value order[128];

    for (int i = 0; i < lanes; i++)
        order[i] = LLVMConstInt(g->i32, (unsigned)(first + i * step), false);
    return LLVMBuildShuffleVector(g->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(order, (unsigned)lanes), "");
}

cg_value
glow_cpu_across(cg *g, const glow_type *t, cg_value v, cg_combine_fn combine)
{
    for (int n = glow_cg_lanes(LLVMTypeOf(v)); n > 1; n /= 2) {
        cg_value low = glow_cg_first(g, v, n / 2);
        cg_value high = glow_cpu_every(g, v, n / 2, 1, n / 2);

        if (n == 2)
            high = LLVMBuildExtractElement(g->builder, v,
                                           LLVMConstInt(g->i32, 1, false), "");
        v = combine(g, t, low, high);
    }
    return v;
}

/* A row that is combined. */
typedef struct row {
    cg_tensor x;
    cg_value at; /* its first element */
    cg_combine_fn combine;
    cg_map_fn map;
    const void *user;
} row;

/* `sum` and the vector from element `i` on. */
static cg_value
reduce_vector(cg *g, const row *r, cg_value i, cg_value sum)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(sum));
    cg_value v = glow_cg_load(g, r->x, cg_add(g, r->at, i), lanes);

    if (r->map)
        v = r->map(g, v, r->user);
    return r->combine(g, r->x.type, sum, v);
}

/*
 * Vectors [first, end), `width` at a time in as many partial sums, to hide the
 * latency of `combine`.
 */
static void
reduce_vectors(cg *g, const row *r, int64_t first, int64_t end, int width,
               cg_value *sums)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(sums[0]));
    cg_loop l;

    if (first == end)
        return;
    glow_cg_loop(g, &l, cg_i64(g, first), cg_i64(g, end), width * lanes, sums,
                 width);
    for (int i = 0; i < width; i++)
        sums[i] = reduce_vector(g, r, cg_addc(g, l.i, i * lanes), l.value[i]);
    glow_cg_loop_end(g, &l, sums);
}

/*
 * Combines `sum` with the last `rest` elements from `first` on; lanes beyond
 * `rest` keep their values.
 */
static cg_value
reduce_rest(cg *g, const row *r, int64_t first, int64_t rest, cg_value sum)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(sum));
    cg_value v;

    if (!rest)
        return sum;
    g->live = rest < lanes ? (int)rest : 0;
    v = reduce_vector(g, r, cg_i64(g, first), sum);
    sum = glow_cg_live(g, v, sum);
    g->live = 0;
    return sum;
}

cg_value
glow_cpu_reduce_row(cg *g, cg_tensor x, cg_value at, int64_t count,
                    cg_value init, cg_combine_fn combine, cg_map_fn map,
                    const void *user)
{
    int most = g->target->vector_bytes / 4;
    int lanes = count < most ? glow_cg_lanes_over(count) : most;
    int64_t whole = count - count % lanes;
    int64_t wide = whole - whole % (REDUCE_WIDTH * lanes);
    row r = {x, at, combine, map, user};
    cg_value sums[REDUCE_WIDTH];

    for (int i = 0; i < REDUCE_WIDTH; i++)
        sums[i] = glow_cg_splat(g, init, lanes);
    reduce_vectors(g, &r, 0, wide, REDUCE_WIDTH, sums);
    for (int i = 1; wide && i < REDUCE_WIDTH; i++)
        sums[0] = combine(g, x.type, sums[0], sums[i]);
    reduce_vectors(g, &r, wide, whole, 1, sums);
    sums[0] = reduce_rest(g, &r, whole, count - whole, sums[0]);
    return glow_cpu_across(g, x.type, sums[0], combine);
}

static cg_value
extreme(cg *g, const glow_type *t, bool highest)
{
    LLVMTypeRef c = glow_cg_computed(g, t);
    unsigned bits =
        LLVMGetTypeKind(c) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(c) : 0;
    bool is_signed = glow_cg_is_signed(t);

    if (!bits)
        return glow_cg_real(c, highest ? (double)INFINITY : -(double)INFINITY);
    if (!is_signed)
        return glow_cg_int(c, highest ? -1 : 0);

    uint64_t low = UINT64_C(1) << (bits - 1);

    return glow_cg_int(c, (int64_t)(highest ? low - 1 : low));
}

cg_value
glow_cpu_lowest(cg *g, const glow_type *t)
{
    return extreme(g, t, false);
}

cg_value
glow_cpu_highest(cg *g, const glow_type *t)
{
    return extreme(g, t, true);
}

int
glow_cpu_lanes(const cpu_target *t, int bytes)
{
    return t->vector_bytes > 4 ? t->vector_bytes / bytes : 1;
}

bool
glow_cpu_masks(const cpu_target *t, int bytes)
{
    return bytes >= 4 || t->vector_bytes >= MASKED_BYTES;
}

void
glow_cpu_lanes_of(cpu_job *j, int bytes, int64_t first, int64_t count,
                  cg_lanes_fn body, void *user)
{
    cg *g = j->g;
    int lanes = glow_cpu_lanes(g->target, bytes);
    int64_t rest = count % lanes, end = first + count;
    cg_loop l;

    if (count > rest) {
        glow_cg_loop(g, &l, cg_i64(g, first), cg_i64(g, end - rest), lanes,
                     NULL, 0);
        body(j, l.i, lanes, user);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest && glow_cpu_masks(g->target, bytes)) {
        g->live = (int)rest;
        body(j, cg_i64(g, end - rest), glow_cg_lanes_over(rest), user);
        g->live = 0;
        return;
    }
    while (rest) {
        lanes = glow_cg_lanes_over(rest + 1) / 2;
        body(j, cg_i64(g, end - rest), lanes, user);
        rest -= lanes;
    }
}

void
glow_cpu_lanes_for(cpu_job *j, int64_t first, int64_t count, cg_lanes_fn body,
                   void *user)
{
    glow_cpu_lanes_of(j, 4, first, count, body, user);
}

cg_value
glow_cpu_beats(cg *g, const glow_type *t, cg_value x, cg_value best)
{
    if (glow_cg_is_float(x)) {
        cg_value above = cg_fcmp(g, LLVMRealOGT, x, best);
        cg_value nan = cg_fcmp(g, LLVMRealUNO, x, x);

        nan = cg_and(g, nan, cg_fcmp(g, LLVMRealORD, best, best));
        return cg_or(g, above, nan);
    }
    return cg_icmp(g, glow_cg_is_signed(t) ? LLVMIntSGT : LLVMIntUGT, x, best);
}

/* Tables. */

static cg_value
table(cg *g, LLVMTypeRef t, cg_value *values, int64_t count)
{
    cg_value array = LLVMConstArray2(t, values, (uint64_t)count);
    cg_value global = LLVMAddGlobal(g->module, LLVMTypeOf(array), "table");

    LLVMSetInitializer(global, array);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    return global;
}

cg_value
glow_cpu_table(cg *g, const int64_t *values, int64_t count)
{
    cg_value *v = GLOW_NEW_ARRAY(g->arena, cg_value, count + 1);

    for (int64_t i = 0; i < count; i++)
        v[i] = cg_i64(g, values[i]);
    return table(g, g->i64, v, count);
}

cg_value
glow_cpu_table_real(cg *g, LLVMTypeRef t, const double *values, int64_t count)
{
    cg_value *v = GLOW_NEW_ARRAY(g->arena, cg_value, count + 1);

    for (int64_t i = 0; i < count; i++)
        v[i] = LLVMConstReal(t, values[i]);
    return table(g, t, v, count);
}

cg_value
glow_cpu_table_at(cg *g, LLVMTypeRef t, cg_value from, cg_value i)
{
    cg_value p = LLVMBuildInBoundsGEP2(g->builder, t, from, &i, 1, "");

    return glow_cg_load_raw(g, t, p);
}

/* Windows. */

cpu_window
glow_cpu_window(glow_dims in, glow_dims out, glow_dims kernels,
                glow_dims strides, glow_dims pads, glow_dims dilation)
{
    int axes = in.rank - 2;
    cpu_window w = {.batch = in.at[0], .channels = in.at[in.rank - 1]};

    for (int i = 0; i < 3; i++)
        w.axis[i] = (cpu_window_axis){1, 1, 1, 1, 1, 0, 0};
    for (int i = 0; i < axes; i++)
        w.axis[3 - axes + i] = (cpu_window_axis){
            .in = in.at[1 + i],
            .out = out.at[1 + i],
            .kernel = kernels.at[i],
            .stride = strides.at[i],
            .dilation = dilation.rank ? dilation.at[i] : 1,
            .start = pads.at[i],
            .end = pads.at[axes + i],
        };
    return w;
}

/* The least i >= 0 with i * d >= x. */
static cg_value
reach(cg *g, cg_value x, int64_t d)
{
    cg_value up = cg_addc(g, x, d - 1);

    x = glow_cg_imax(g, up, cg_i64(g, 0));
    return d == 1 ? x : LLVMBuildSDiv(g->builder, x, cg_i64(g, d), "");
}

cpu_taps
glow_cpu_taps(cg *g, const cpu_window_axis *a, cg_value out, int64_t low,
              int64_t high)
{
    cg_value base = cg_addc(g, cg_mulc(g, out, a->stride), -a->start);
    cpu_taps t = {.base = base};

    if (a->start == 0 && low == 0 &&
        (a->out - 1) * a->stride + (a->kernel - 1) * a->dilation < high) {
        t.first = cg_i64(g, 0);
        t.last = cg_i64(g, a->kernel);
        return t;
    }
    t.first = reach(g, cg_sub(g, cg_i64(g, low), base), a->dilation);
    t.last =
        glow_cg_imin(g, reach(g, cg_sub(g, cg_i64(g, high), base), a->dilation),
                     cg_i64(g, a->kernel));
    return t;
}

/* Conversion. */

const glow_type glow_cpu_float = {.elem = GLOW_FLOAT};

/* Elements that are converted. */
typedef struct converted {
    cg_tensor from, to;
} converted;

static void
convert_lanes(cpu_job *j, cg_value at, int lanes, void *user)
{
    const converted *c = user;

    glow_cg_store(j->g, c->to, at, glow_cg_load(j->g, c->from, at, lanes));
}

void
glow_cpu_convert(cpu_job *j, cg_tensor from, cg_tensor to, int64_t count)
{
    converted c = {from, to};

    glow_cpu_lanes_for(j, 0, count, convert_lanes, &c);
}

int64_t
glow_cpu_widened_bytes(const glow_node *n, int i)
{
    int64_t bytes = glow_cpu_room(glow_type_count(n->in[i]->type), 4);

    return bytes > INT64_MAX - CPU_LINE ? INT64_MAX : glow_cpu_aligned(bytes);
}

cg_tensor
glow_cpu_widen_operand(cpu_job *j, int i, cg_value to)
{
    cg_tensor wide = {to, &glow_cpu_float};

    glow_cpu_convert(j, j->in[i], wide, glow_type_count(j->n->in[i]->type));
    return wide;
}
