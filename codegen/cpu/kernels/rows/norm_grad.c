/*
 * The gradient of a normalization of rows, by the statistics that it computes again.
 *
 * Each block of rows has sums for the gradients by Scale and Bias of its own, in
 * scratch, so that threads share the blocks, and results do not depend on them:
 *
 *     for each block of BLOCK rows                 chunks of a fork
 *       for each row                               it stays in the cache
 *         mean, variance, sums of e and e (x - m)  a sweep each, in vectors
 *         InputGrad; sums of the block             a sweep
 *     for each column
 *       for each block                             ScaleGrad, BiasGrad: sums in double
 */

#include "codegen/cpu/emit/flush.h"
#include "codegen/cpu/kernels/common.h"
#include "codegen/cpu/kernels/fork.h"

enum { BLOCK = 128 }; /* rows that are added in float */

enum { X, SCALE, BY_RESULT };
enum { BY_X, BY_SCALE, BY_BIAS };

typedef struct layer {
    cpu_job *j;
    bool is_centred; /* less the mean: else RMSNormalization */
    int64_t rows, size, blocks;
    LLVMTypeRef c;  /* of arithmetic */
    cg_tensor sums; /* [blocks, 2, size] of the type of arithmetic */
    /* Of the row: its first element, the place of the block's sums. */
    cg_value at, block;
    /* scalars: 1 / sqrt(v + Epsilon), and the means of e and of e z, times it. */
    cg_value mean, rate, shift, slope;
} layer;

static void
set_layer(layer *l, const glow_node *n)
{
    const glow_layernormalizationgrad *a = n->attrs;
    glow_dims x = n->in[X]->type->shape;

    l->is_centred = n->op == &glow_op_layernormalizationgrad;
    l->rows = glow_dims_product(x, 0, a->axis);
    l->size = glow_dims_product(x, a->axis, x.rank);
    l->blocks = cg_ceil_div(l->rows, BLOCK);
}

static cg_value
splat(const layer *l, cg_value scalar, int lanes)
{
    return glow_cg_splat(l->j->g, scalar, lanes);
}

/* Elements of the row from `i` on: of Input less the mean, and of d. */
static cg_value
centred(const layer *l, cg_value i, int lanes)
{
    cg *g = l->j->g;
    cg_value x = glow_cg_load(g, l->j->in[X], cg_add(g, l->at, i), lanes);

    return l->is_centred ? cg_fsub(g, x, splat(l, l->mean, lanes)) : x;
}

static cg_value
gradient(const layer *l, cg_value i, int lanes)
{
    cg *g = l->j->g;

    return glow_cg_load(g, l->j->in[BY_RESULT], cg_add(g, l->at, i), lanes);
}

/* d times Scale. */
static cg_value
scaled(const layer *l, cg_value i, int lanes, cg_value d)
{
    if (!l->j->in[SCALE].at)
        return d;
    return cg_fmul(l->j->g, d,
                   glow_cg_load(l->j->g, l->j->in[SCALE], i, lanes));
}

/* Sums along a row. */

enum { MOST_SUMS = 2 };

/* Adds `lanes` elements from `i` on to the sums. */
typedef void (*term_fn)(const layer *l, cg_value i, int lanes, cg_value *sums);

static void
add_element(const layer *l, cg_value i, int lanes, cg_value *sums)
{
    cg *g = l->j->g;

    sums[0] = cg_fadd(g, sums[0],
                      glow_cg_load(g, l->j->in[X], cg_add(g, l->at, i), lanes));
}

static void
add_square(const layer *l, cg_value i, int lanes, cg_value *sums)
{
    cg_value x = centred(l, i, lanes);

    sums[0] = glow_cg_fma(l->j->g, x, x, sums[0]);
}

static void
add_gradient(const layer *l, cg_value i, int lanes, cg_value *sums)
{
    cg *g = l->j->g;
    cg_value e = scaled(l, i, lanes, gradient(l, i, lanes));

    sums[0] = cg_fadd(g, sums[0], e);
    sums[1] = glow_cg_fma(g, e, centred(l, i, lanes), sums[1]);
}

/* Begins `count` sums of vectors. */
static void
clear(const layer *l, int lanes, int count, cg_value *sums)
{
    for (int i = 0; i < count; i++)
        sums[i] = LLVMConstNull(glow_cg_vector(l->c, lanes));
}

/* `count` sums of the row, as scalars. */
static void
sum_row(const layer *l, int count, term_fn term, cg_value *sums)
{
    cg *g = l->j->g;
    int lanes = glow_cpu_lanes(g->target, 4), part;
    int64_t rest = l->size % lanes, whole = l->size - rest;
    cg_value v[MOST_SUMS], old[MOST_SUMS];
    cg_loop loop;

    clear(l, 1, count, sums);
    if (whole) {
        clear(l, lanes, count, v);
        glow_cg_loop(g, &loop, cg_i64(g, 0), cg_i64(g, whole), lanes, v, count);
        for (int i = 0; i < count; i++)
            v[i] = loop.value[i];
        term(l, loop.i, lanes, v);
        glow_cg_loop_end(g, &loop, v);
        for (int i = 0; i < count; i++)
            sums[i] = glow_cpu_across(g, l->j->in[X].type, loop.value[i],
                                      glow_cpu_sum);
    }
    if (!rest)
        return;
    part = glow_cg_lanes_over(rest);
    clear(l, part, count, v);
    clear(l, part, count, old);
    g->live = (int)rest;
    term(l, cg_i64(g, whole), part, v);
    for (int i = 0; i < count; i++)
        v[i] = glow_cg_live(g, v[i], old[i]);
    g->live = 0;
    for (int i = 0; i < count; i++)
        sums[i] =
            cg_fadd(g, sums[i],
                    glow_cpu_across(g, l->j->in[X].type, v[i], glow_cpu_sum));
}

/* A row. */

static void
find_statistics(layer *l)
{
    const glow_layernormalizationgrad *a = l->j->n->attrs;
    cg *g = l->j->g;
    cg_value count = glow_cg_real(l->c, (double)l->size), sums[MOST_SUMS];

    if (l->is_centred) {
        sum_row(l, 1, add_element, sums);
        l->mean = cg_fdiv(g, sums[0], count);
    }
    sum_row(l, 1, add_square, sums);
    sums[0] = cg_fdiv(g, sums[0], count);
    sums[0] = cg_fadd(g, sums[0], glow_cg_real(l->c, (double)a->epsilon));
    sums[0] = glow_cg_intrinsic(g, "llvm.sqrt", sums, 1);
    l->rate = cg_fdiv(g, glow_cg_real(l->c, 1), sums[0]);
    sum_row(l, 2, add_gradient, sums);
    count = cg_fdiv(g, l->rate, count);
    l->shift = cg_fmul(g, sums[0], count);
    sums[1] = cg_fmul(g, sums[1], count);
    l->slope = cg_fmul(g, sums[1], cg_fmul(g, l->rate, l->rate));
}

/* Adds to column `i` of sum `which` of the block. */
static void
add_to_block(const layer *l, int which, cg_value i, int lanes, cg_value v)
{
    cg *g = l->j->g;
    cg_value at = cg_addc(g, cg_add(g, l->block, i), which * l->size);

    v = cg_fadd(g, glow_cg_load(g, l->sums, at, lanes), v);
    glow_cg_store(g, l->sums, at, v);
}

/* InputGrad is e r - the mean of e r - (x - m) r^3 times the mean of e (x - m). */
static void
store_lanes(cpu_job *j, cg_value i, int lanes, void *user)
{
    const layer *l = user;
    cg *g = j->g;
    cg_value x = centred(l, i, lanes), d = gradient(l, i, lanes), e;

    add_to_block(l, 0, i, lanes,
                 cg_fmul(g, d, cg_fmul(g, x, splat(l, l->rate, lanes))));
    if (l->is_centred)
        add_to_block(l, 1, i, lanes, d);
    e = scaled(l, i, lanes, d);
    e = cg_fmul(g, e, splat(l, l->rate, lanes));
    if (l->is_centred)
        e = cg_fsub(g, e, splat(l, l->shift, lanes));
    x = cg_fmul(g, x, splat(l, l->slope, lanes));
    e = cg_fsub(g, e, x);
    glow_cg_store(g, j->out[BY_X], cg_add(g, l->at, i), e);
}

/* Blocks `begin` to less than `end`. */
static void
emit_blocks(layer *l, cg_value begin, cg_value end)
{
    cg *g = l->j->g;
    cg_loop block, row;
    cg_value first;
    cg_tensor sums = l->sums;

    glow_cg_loop_guarded(g, &block, begin, end, 1, NULL, 0);
    l->block = cg_mulc(g, block.i, 2 * l->size);
    sums.at = glow_cg_at(g, sums.at,
                         cg_mulc(g, l->block, glow_cg_bytes(l->sums.type)));
    glow_cpu_fill(g, sums, 2 * l->size,
                  glow_cg_int(l->c == g->f64 ? g->i64 : g->i32, 0));
    first = cg_mulc(g, block.i, BLOCK);
    glow_cg_loop(g, &row, first,
                 glow_cg_imin(g, cg_addc(g, first, BLOCK), cg_i64(g, l->rows)),
                 1, NULL, 0);
    l->at = cg_mulc(g, row.i, l->size);
    find_statistics(l);
    glow_cpu_lanes_for(l->j, 0, l->size, store_lanes, l);
    glow_cg_loop_end(g, &row, NULL);
    glow_cg_loop_end(g, &block, NULL);
}

/* Columns. */

typedef struct column {
    const layer *l;
    int which, result;
} column;

static void
sum_blocks(cpu_job *j, cg_value i, int lanes, void *user)
{
    const column *c = user;
    const layer *l = c->l;
    cg *g = j->g;
    LLVMTypeRef wide = glow_cg_vector(g->f64, lanes);
    cg_value sum = LLVMConstNull(wide), v;
    cg_loop block;

    glow_cg_loop(g, &block, cg_i64(g, 0), cg_i64(g, l->blocks), 1, &sum, 1);
    v = cg_affine(g, block.i, 2 * l->size, i, 1);
    v = glow_cg_load(g, l->sums, cg_addc(g, v, c->which * l->size), lanes);
    sum = cg_fadd(g, block.value[0], LLVMBuildFPCast(g->builder, v, wide, ""));
    glow_cg_loop_end(g, &block, &sum);
    v = LLVMBuildFPCast(g->builder, block.value[0], glow_cg_vector(l->c, lanes),
                        "");
    glow_cg_store(g, j->out[c->result], i, v);
}

/* Threads. */

enum { OPERANDS = BY_RESULT + 1, RESULT = OPERANDS, SUMS, ENTRIES };

static cg_value
entry(cg *g, cg_value work, int i)
{
    return LLVMBuildLoad2(g->builder, g->ptr, glow_cpu_work_at(g, work, i), "");
}

/* void part(work, number): a chunk of the blocks. */
static void
emit_part(const layer *l, cg_value fn)
{
    cg *g = l->j->g;
    cg_value work = LLVMGetParam(fn, 0), begin, end;
    cg_value i = LLVMBuildPtrToInt(g->builder, LLVMGetParam(fn, 1), g->i64, "");
    cg_value before = glow_cg_flush_begin(g);
    cg_tensor in[OPERANDS], out = l->j->out[BY_X];
    cpu_job j = *l->j;
    layer own = *l;

    for (int k = 0; k < OPERANDS; k++) {
        in[k] = l->j->in[k];
        if (in[k].at)
            in[k].at = entry(g, work, k);
    }
    out.at = entry(g, work, RESULT);
    own.sums.at = entry(g, work, SUMS);
    j.in = in;
    j.out = &out;
    own.j = &j;
    begin = cg_over(g, cg_mulc(g, i, l->blocks), j.step->team);
    end = cg_over(g, cg_mulc(g, cg_addc(g, i, 1), l->blocks), j.step->team);
    emit_blocks(&own, begin, end);
    glow_cg_flush_end(g, before);
    LLVMBuildRetVoid(g->builder);
}

static cg_value
make_part(const layer *l)
{
    cg *g = l->j->g;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->builder);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(g->builder);
    LLVMTypeRef params[2] = {g->ptr, g->ptr};
    cg_value outer = g->fn, fn;
    size_t length;
    const char *name = LLVMGetValueName2(outer, &length);

    fn = glow_cg_function_of(
        g, glow_arena_printf(g->arena, "%.*s.blocks", (int)length, name),
        LLVMVoidTypeInContext(g->context), params, 2);
    LLVMSetCurrentDebugLocation2(g->builder, NULL);
    emit_part(l, fn);
    g->fn = outer;
    LLVMPositionBuilderAtEnd(g->builder, here);
    LLVMSetCurrentDebugLocation2(g->builder, line);
    return fn;
}

static void
fork_blocks(const layer *l)
{
    cg *g = l->j->g;
    LLVMTypeRef type = LLVMArrayType2(g->ptr, ENTRIES);
    cg_value work = glow_cg_local(g, LLVMGetPoison(type));

    for (int k = 0; k < OPERANDS; k++)
        if (l->j->in[k].at)
            LLVMBuildStore(g->builder, l->j->in[k].at,
                           glow_cpu_work_at(g, work, k));
    LLVMBuildStore(g->builder, l->j->out[BY_X].at,
                   glow_cpu_work_at(g, work, RESULT));
    LLVMBuildStore(g->builder, l->sums.at, glow_cpu_work_at(g, work, SUMS));
    glow_cpu_fork(g, l->j->parallel, l->j->pool, make_part(l), work,
                  l->j->step->team);
}

/* The kernels. */

static bool
takes(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return glow_type_count(n->in[X]->type) > 0;
}

/* The type of the sums: that of arithmetic. */
static const glow_type *
sum_type(const glow_node *n)
{
    static const glow_type wide = {.elem = GLOW_FLOAT64};

    return n->in[X]->type->elem == GLOW_FLOAT64 ? &wide : &glow_cpu_float;
}

static void
emit(cpu_job *j)
{
    cg *g = j->g;
    layer l = {.j = j, .c = glow_cg_computed(g, j->in[X].type)};

    set_layer(&l, j->n);
    l.sums = (cg_tensor){j->scratch, sum_type(j->n)};
    if (j->step->team)
        fork_blocks(&l);
    else
        emit_blocks(&l, cg_i64(g, 0), cg_i64(g, l.blocks));
    for (int k = 0; k < j->n->n_out - 1; k++)
        glow_cpu_lanes_for(j, 0, l.size, sum_blocks,
                           &(column){&l, k, BY_SCALE + k});
}

static int64_t
scratch_size(const cpu_target *t, const glow_node *n)
{
    layer l;

    (void)t;
    set_layer(&l, n);
    return glow_cpu_room(l.blocks, 2 * l.size * glow_cg_bytes(sum_type(n)));
}

static int64_t
forks(const cpu_target *t, const glow_node *n)
{
    layer l;

    (void)t;
    set_layer(&l, n);
    return l.blocks > 1;
}

#define NORMALIZATION_GRAD(id)         \
    const cpu_kernel glow_cpu_##id = { \
        .name = #id,                   \
        .op = &glow_op_##id,           \
        .takes = takes,                \
        .emit = emit,                  \
        .scratch_size = scratch_size,  \
        .forks = forks,                \
    }

NORMALIZATION_GRAD(layernormalizationgrad);
NORMALIZATION_GRAD(rmsnormalizationgrad);
