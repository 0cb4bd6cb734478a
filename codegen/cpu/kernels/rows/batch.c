/*
 * Statistics of a batch by channel, a normalization by them, and its gradient, where
 * channels are the last axis.
 *
 * Means and variances are those of blocks, combined by the formulas of Chan, Golub and
 * LeVeque (1979), so that Input is read from memory once:
 *
 *     for each tile of channels                    units: a vector of channels each
 *       for each block of BLOCK rows
 *         for each row                             sums in registers
 *         for each row                             squared distances from the block's mean
 *         mean, variance                           combined, in double
 *
 * The normalization has the factors of a tile in registers:
 *
 *     for each tile of channels                    units
 *       for each row                               the fused element-wise chain
 *
 * The gradient reads Input and ResultGrad twice, and has nothing else of their size:
 *
 *     for each tile of channels                    units
 *       for each block of BLOCK rows
 *         for each row                             sums of d and d (x - m) in registers
 *         totals                                   in double
 *       for each row                               InputGrad
 */

#include "codegen/cpu/kernels/common.h"

enum {
    BLOCK = 128,       /* rows that are added in float */
    TILE = 4,          /* vectors of channels side by side */
    SUMS = 2,          /* of a vector */
    MOST = SUMS * TILE /* sums of a tile */
};

/* The matrix [rows, channels], and the tile at hand. */
typedef struct tile {
    cpu_job *j;
    int64_t rows, channels;
    int vectors, lanes;
    cg_value channel; /* the first */
} tile;

typedef void (*tile_fn)(const tile *t);

/* Element (row, channel of vector `v`). */
static cg_value
element(const tile *t, cg_value row, int v)
{
    cg *g = t->j->g;
    cg_value at = cg_add(g, cg_mulc(g, row, t->channels), t->channel);

    return cg_addc(g, at, v * t->lanes);
}

static cg_value
load_at(const tile *t, int operand, cg_value row, int v)
{
    return glow_cg_load(t->j->g, t->j->in[operand], element(t, row, v),
                        t->lanes);
}

/* Channels of vector `v` of an operand, or of a result. */
static cg_value
load_channels(const tile *t, int operand, int v)
{
    cg *g = t->j->g;

    return glow_cg_load(g, t->j->in[operand],
                        cg_addc(g, t->channel, v * t->lanes), t->lanes);
}

static void
store_channels(const tile *t, int result, int v, cg_value x)
{
    cg *g = t->j->g;

    glow_cg_store(g, t->j->out[result], cg_addc(g, t->channel, v * t->lanes),
                  x);
}

static cg_value
as(cg *g, cg_value v, LLVMTypeRef scalar)
{
    return LLVMBuildFPCast(g->builder, v, glow_cg_like(v, scalar), "");
}

/* A vector of zeros, for sums in the type of arithmetic or in double. */
static cg_value
zeros(const tile *t, LLVMTypeRef scalar)
{
    return LLVMConstNull(glow_cg_vector(scalar, t->lanes));
}

/* Rows `begin` to `end` of a block. */
typedef struct block {
    cg_loop loop;
    cg_value begin, end;
} block;

static void
begin_blocks(const tile *t, block *b)
{
    cg *g = t->j->g;
    cg_value rows = cg_i64(g, t->rows);

    glow_cg_loop(g, &b->loop, cg_i64(g, 0), rows, BLOCK, NULL, 0);
    b->begin = b->loop.i;
    b->end = glow_cg_imin(g, cg_addc(g, b->begin, BLOCK), rows);
}

/* Adds to `sums` what row `row` gives to vector `v`. */
typedef void (*term_fn)(const tile *t, cg_value row, int v, const void *user,
                        cg_value *sums);

/* `count` sums of each vector over the rows of a block. */
static void
sum_block(const tile *t, const block *b, int count, term_fn term,
          const void *user, cg_value *sums)
{
    cg *g = t->j->g;
    LLVMTypeRef c = glow_cg_computed(g, t->j->in[0].type);
    cg_loop l;

    for (int i = 0; i < count * t->vectors; i++)
        sums[i] = zeros(t, c);
    glow_cg_loop(g, &l, b->begin, b->end, 1, sums, count * t->vectors);
    for (int i = 0; i < count * t->vectors; i++)
        sums[i] = l.value[i];
    for (int v = 0; v < t->vectors; v++)
        term(t, l.i, v, user, sums + v * count);
    glow_cg_loop_end(g, &l, sums);
    for (int i = 0; i < count * t->vectors; i++)
        sums[i] = l.value[i];
}

/* Statistics. */

static void
add_element(const tile *t, cg_value row, int v, const void *user,
            cg_value *sums)
{
    (void)user;
    sums[0] = cg_fadd(t->j->g, sums[0], load_at(t, 0, row, v));
}

static void
add_square(const tile *t, cg_value row, int v, const void *user, cg_value *sums)
{
    cg *g = t->j->g;
    const cg_value *mean = user;
    cg_value d = cg_fsub(g, load_at(t, 0, row, v), mean[v]);

    sums[0] = glow_cg_fma(g, d, d, sums[0]);
}

/* Mean and sum of squared distances, in double, of the rows so far. */
typedef struct moments {
    cg_value mean, squares; /* locals */
} moments;

/* Adds a block of `count` rows, which come after `before`, to those so far. */
static void
combine(const tile *t, moments *m, cg_value before, cg_value count,
        cg_value sum, cg_value squares)
{
    cg *g = t->j->g;
    cg_value share, d, mean = cg_get(g, m->mean);

    before = LLVMBuildSIToFP(g->builder, before, g->f64, "");
    count = LLVMBuildSIToFP(g->builder, count, g->f64, "");
    share = cg_fdiv(g, count, cg_fadd(g, before, count));
    d = as(g, sum, g->f64);
    d = cg_fdiv(g, d, glow_cg_splat(g, count, t->lanes));
    d = cg_fsub(g, d, mean);
    before = glow_cg_splat(g, cg_fmul(g, before, share), t->lanes);
    share = glow_cg_splat(g, share, t->lanes);
    cg_set(g, m->mean, cg_fadd(g, mean, cg_fmul(g, d, share)));
    d = cg_fmul(g, cg_fmul(g, d, d), before);
    d = cg_fadd(g, d, as(g, squares, g->f64));
    cg_set(g, m->squares, cg_fadd(g, cg_get(g, m->squares), d));
}

static void
find_moments(const tile *t)
{
    cg *g = t->j->g;
    LLVMTypeRef c = glow_cg_computed(g, t->j->in[0].type);
    cg_value sums[MOST], mean[TILE], squares[MOST], count, each;
    moments all[TILE];
    block b;

    for (int v = 0; v < t->vectors; v++) {
        all[v].mean = glow_cg_local(g, zeros(t, g->f64));
        all[v].squares = glow_cg_local(g, zeros(t, g->f64));
    }
    begin_blocks(t, &b);
    sum_block(t, &b, 1, add_element, NULL, sums);
    count = cg_sub(g, b.end, b.begin);
    each =
        glow_cg_splat(g, LLVMBuildSIToFP(g->builder, count, c, ""), t->lanes);
    for (int v = 0; v < t->vectors; v++)
        mean[v] = cg_fdiv(g, sums[v], each);
    sum_block(t, &b, 1, add_square, mean, squares);
    for (int v = 0; v < t->vectors; v++)
        combine(t, &all[v], b.begin, count, sums[v], squares[v]);
    glow_cg_loop_end(g, &b.loop, NULL);
    for (int v = 0; v < t->vectors; v++) {
        cg_value var = cg_get(g, all[v].squares);

        var = cg_fdiv(g, var, glow_cg_real(LLVMTypeOf(var), (double)t->rows));
        store_channels(t, 0, v, as(g, cg_get(g, all[v].mean), c));
        store_channels(t, 1, v, as(g, var, c));
    }
}

/* Normalization: (x - Mean) * Scale / sqrt(Var + Epsilon) + Bias. */

static void
normalize(const tile *t)
{
    enum { SCALE = 1, BIAS, MEAN, VAR };
    const glow_batchnormalization *a = t->j->n->attrs;
    cg *g = t->j->g;
    cg_value mean[TILE], scale[TILE], bias[TILE], row;
    cg_loop l;

    for (int v = 0; v < t->vectors; v++) {
        cg_value r = load_channels(t, VAR, v);

        r = cg_fadd(g, r, glow_cg_real(LLVMTypeOf(r), (double)a->epsilon));
        r = glow_cg_intrinsic(g, "llvm.sqrt", &r, 1);
        scale[v] = cg_fdiv(g, load_channels(t, SCALE, v), r);
        mean[v] = load_channels(t, MEAN, v);
        bias[v] = load_channels(t, BIAS, v);
    }
    row = glow_cg_for(g, &l, t->rows);
    for (int v = 0; v < t->vectors; v++) {
        cg_value x = cg_fsub(g, load_at(t, 0, row, v), mean[v]);

        x = glow_cg_fma(g, x, scale[v], bias[v]);
        glow_cpu_finish(t->j, (cpu_place){row, t->channel, 0, v * t->lanes}, x);
    }
    glow_cg_loop_end(g, &l, NULL);
}

/* The gradient. */

enum { X, SCALE, MEAN, VAR, BY_RESULT };

static void
add_gradient(const tile *t, cg_value row, int v, const void *user,
             cg_value *sums)
{
    cg *g = t->j->g;
    const cg_value *mean = user;
    cg_value d = load_at(t, BY_RESULT, row, v);
    cg_value x = cg_fsub(g, load_at(t, X, row, v), mean[v]);

    sums[0] = cg_fadd(g, sums[0], d);
    sums[1] = glow_cg_fma(g, d, x, sums[1]);
}

/* d * by_result + (x - mean) * by_input + constant, of a vector of channels. */
typedef struct factors {
    cg_value mean, by_result, by_input, constant;
} factors;

/* Stores the gradients by Scale and Bias, whose sums are given; the factors. */
static factors
finish_sums(const tile *t, int v, cg_value mean, cg_value sum, cg_value product)
{
    const glow_batchnormalizationgrad *a = t->j->n->attrs;
    cg *g = t->j->g;
    LLVMTypeRef c = glow_cg_computed(g, t->j->in[X].type);
    cg_value r = load_channels(t, VAR, v), each;
    factors f = {.mean = mean};

    r = cg_fadd(g, r, glow_cg_real(LLVMTypeOf(r), (double)a->epsilon));
    r = glow_cg_intrinsic(g, "llvm.sqrt", &r, 1);
    r = cg_fdiv(g, glow_cg_real(LLVMTypeOf(r), 1), r);
    sum = as(g, sum, c);
    product = cg_fmul(g, as(g, product, c), r);
    store_channels(t, 1, v, product);
    store_channels(t, 2, v, sum);
    each = glow_cg_real(LLVMTypeOf(r), -1 / (double)t->rows);
    f.by_result = cg_fmul(g, load_channels(t, SCALE, v), r);
    f.by_input = cg_fmul(g, cg_fmul(g, product, r), each);
    f.by_input = cg_fmul(g, f.by_input, f.by_result);
    f.constant = cg_fmul(g, cg_fmul(g, sum, each), f.by_result);
    return f;
}

static void
store_gradient(const tile *t, const factors *all)
{
    cg *g = t->j->g;
    cg_loop l;
    cg_value row = glow_cg_for(g, &l, t->rows);

    for (int v = 0; v < t->vectors; v++) {
        const factors *f = &all[v];
        cg_value d = load_at(t, BY_RESULT, row, v);
        cg_value x = cg_fsub(g, load_at(t, X, row, v), f->mean);

        x = glow_cg_fma(g, x, f->by_input, f->constant);
        d = glow_cg_fma(g, d, f->by_result, x);
        glow_cg_store(g, t->j->out[0], element(t, row, v), d);
    }
    glow_cg_loop_end(g, &l, NULL);
}

static void
find_gradient(const tile *t)
{
    cg *g = t->j->g;
    cg_value total[MOST], sums[MOST], mean[TILE];
    factors all[TILE];
    block b;

    for (int v = 0; v < t->vectors; v++)
        mean[v] = load_channels(t, MEAN, v);
    for (int i = 0; i < SUMS * t->vectors; i++)
        total[i] = glow_cg_local(g, zeros(t, g->f64));
    begin_blocks(t, &b);
    sum_block(t, &b, SUMS, add_gradient, mean, sums);
    for (int i = 0; i < SUMS * t->vectors; i++) {
        sums[i] = as(g, sums[i], g->f64);
        cg_set(g, total[i], cg_fadd(g, sums[i], cg_get(g, total[i])));
    }
    glow_cg_loop_end(g, &b.loop, NULL);
    for (int i = 0; i < SUMS * t->vectors; i++)
        sums[i] = cg_get(g, total[i]);
    for (int v = 0; v < t->vectors; v++)
        all[v] = finish_sums(t, v, mean[v], sums[SUMS * v], sums[SUMS * v + 1]);
    store_gradient(t, all);
}

/* Tiles. */

static bool
takes_channels(const glow_node *n, int channel)
{
    const glow_type *x = n->in[0]->type;

    return channel == x->shape.rank - 1 && glow_type_count(x) > 0;
}

static int64_t
channels_of(const glow_node *n)
{
    glow_dims x = n->in[0]->type->shape;

    return x.at[x.rank - 1];
}

static int64_t
units(const cpu_target *t, const glow_node *n)
{
    return cg_ceil_div(channels_of(n), glow_cpu_lanes(t, 4));
}

/* Vectors [begin, end), `width` at a time as long as so many are left; the first of
   the rest. */
static cg_value
emit_vectors(tile *t, cg_value begin, cg_value end, int width, tile_fn fn)
{
    cg *g = t->j->g;
    cg_loop l;

    t->vectors = width;
    glow_cg_loop_guarded(g, &l, begin, cg_addc(g, end, 1 - width), width, NULL,
                         0);
    t->channel = cg_mulc(g, l.i, t->lanes);
    fn(t);
    glow_cg_loop_end(g, &l, NULL);
    return cg_sub(g, end, cg_modulo(g, cg_sub(g, end, begin), width));
}

static void
emit_tiles(cpu_job *j, tile_fn fn)
{
    cg *g = j->g;
    tile t = {.j = j,
              .channels = channels_of(j->n),
              .lanes = glow_cpu_lanes(g->target, 4)};
    int64_t whole = t.channels / t.lanes, rest = t.channels % t.lanes;
    cg_value end = glow_cg_imin(g, j->end, cg_i64(g, whole)), from = j->begin;
    cg_if last;

    t.rows = glow_type_count(j->n->in[0]->type) / t.channels;
    if (whole >= TILE)
        from = emit_vectors(&t, from, end, TILE, fn);
    if (whole % TILE || j->split)
        emit_vectors(&t, from, end, 1, fn);
    if (!rest)
        return;
    t.vectors = 1;
    t.channel = cg_i64(g, whole * t.lanes);
    t.lanes = glow_cg_lanes_over(rest);
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntEQ, j->end, cg_i64(g, whole + 1)));
    g->live = (int)rest;
    fn(&t);
    g->live = 0;
    glow_cg_end_if(g, &last);
}

/* Kernels. */

static bool
takes_statistics(const cpu_target *t, const glow_node *n)
{
    const glow_meanvarnormalization *a = n->attrs;

    (void)t;
    return a->momentum == 1 && takes_channels(n, a->channel_idx);
}

static void
emit_statistics(cpu_job *j)
{
    emit_tiles(j, find_moments);
}

/* Statistics that are not computed may be constants, so that lowering and folding leave a
   product and a sum, which are fused into the operator before. */
static bool
takes_normalization(const cpu_target *t, const glow_node *n)
{
    const glow_batchnormalization *a = n->attrs;

    (void)t;
    return n->in[3]->def && !glow_computes_quantized(n) &&
           takes_channels(n, a->channel_idx);
}

static void
emit_normalization(cpu_job *j)
{
    emit_tiles(j, normalize);
}

static bool
takes_gradient(const cpu_target *t, const glow_node *n)
{
    const glow_batchnormalizationgrad *a = n->attrs;

    (void)t;
    return takes_channels(n, a->channel_idx);
}

static void
emit_gradient(cpu_job *j)
{
    emit_tiles(j, find_gradient);
}

const cpu_kernel glow_cpu_batch_statistics = {
    .name = "batch_statistics",
    .op = &glow_op_meanvarnormalization,
    .takes = takes_statistics,
    .emit = emit_statistics,
    .units = units,
};

const cpu_kernel glow_cpu_batchnormalization = {
    .name = "batchnormalization",
    .op = &glow_op_batchnormalization,
    .takes = takes_normalization,
    .emit = emit_normalization,
    .stacks = true,
    .units = units,
};

const cpu_kernel glow_cpu_batchnormalization_grad = {
    .name = "batchnormalization_grad",
    .op = &glow_op_batchnormalizationgrad,
    .takes = takes_gradient,
    .emit = emit_gradient,
    .units = units,
};
