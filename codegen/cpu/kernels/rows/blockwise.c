/*
 * Products of floats by weights of 8 or 4 bits in blocks that are not constant: constant
 * ones are packed, see ../blocks.
 *
 *     for each row of the weights                          units
 *       for each row of Input
 *         for each block
 *           for the weights of the block                   in vectors
 *             part += x (q - z)
 *           sum += s part
 *         add the lanes of sum, and the bias
 *
 * Weights are converted in registers.  Each byte of two weights is loaded into two
 * lanes, of which every second one is shifted.
 */

#include "codegen/cpu/kernels/common.h"

#define MOST_UNROLLED 8 /* vectors of a block */

typedef struct maker {
    cpu_job *j;
    const glow_blockwisequantizedfullyconnected *q;
    int64_t blocks;
    int lanes;
    cg_value x, row; /* element of Input; row of the weights */
} maker;

static bool
takes(const cpu_target *t, const glow_node *n)
{
    glow_kind scales = n->in[2]->type->elem;

    (void)t;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->type->strides.rank)
            return false;
    return n->in[0]->type->elem == GLOW_FLOAT &&
           (scales == GLOW_FLOAT || scales == GLOW_FLOAT16);
}

static int64_t
units(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return n->out[0]->type->shape.at[1];
}

/* Lanes 0, 0, 1, 1, ... of a vector of half as many bytes. */
static cg_value
twice(cg *g, cg_value v, int lanes)
{
    LLVMValueRef at[64];

    for (int i = 0; i < lanes; i++)
        at[i] = LLVMConstInt(g->i32, (unsigned)i / 2, false);
    return LLVMBuildShuffleVector(g->builder, v, v,
                                  LLVMConstVector(at, (unsigned)lanes), "");
}

/* Shifts every second lane right by 4. */
static cg_value
halves(cg *g, cg_value v, int lanes)
{
    LLVMValueRef by[64];

    for (int i = 0; i < lanes; i++)
        by[i] = LLVMConstInt(g->i32, i % 2 ? 4 : 0, false);
    v = cg_lshr(g, v, LLVMConstVector(by, (unsigned)lanes));
    return cg_and(g, v, glow_cg_int(glow_cg_vector(g->i32, lanes), 15));
}

/* Weights `i` on of the block whose bytes begin at `from`, as i32. */
static cg_value
load(const maker *m, cg_value from, cg_value i, int lanes)
{
    cg *g = m->j->g;
    LLVMTypeRef byte = g->i8;
    LLVMTypeRef wide = glow_cg_vector(g->i32, lanes);
    cg_value v;

    if (m->q->bits == 8) {
        v = glow_cg_load_raw(g, glow_cg_vector(byte, lanes),
                             glow_cg_at(g, from, i));
        return LLVMBuildZExt(g->builder, v, wide, "");
    }
    v = glow_cg_load_raw(g, glow_cg_vector(byte, lanes > 1 ? lanes / 2 : 1),
                         glow_cg_at(g, from, cg_over(g, i, 2)));
    if (lanes > 1) {
        if (lanes == 2)
            v = glow_cg_splat(g, v, 2);
        else
            v = twice(g, v, lanes);
        return halves(g, LLVMBuildZExt(g->builder, v, wide, ""), lanes);
    }
    v = LLVMBuildZExt(g->builder, v, g->i32, "");
    i = LLVMBuildTrunc(g->builder, cg_modulo(g, i, 2), g->i32, "");
    v = cg_lshr(g, v, cg_imul(g, i, glow_cg_int(g->i32, 4)));
    return cg_and(g, v, glow_cg_int(g->i32, 15));
}

/* A block: its first weight, bytes and offset. */
typedef struct block {
    cg_value first, bytes, zero;
} block;

static cg_value
add_weights(const maker *m, const block *k, cg_value i, int lanes, cg_value sum)
{
    cg *g = m->j->g;
    cg_value q = load(m, k->bytes, i, lanes), x;

    q = cg_isub(g, q, glow_cg_splat(g, k->zero, lanes));
    q = LLVMBuildSIToFP(g->builder, q, glow_cg_vector(g->f32, lanes), "");
    x = glow_cg_load(g, m->j->in[0], cg_add(g, m->x, cg_add(g, k->first, i)),
                     lanes);
    return glow_cg_fma(g, x, q, sum);
}

/* Weights from `from` to `to`, a multiple of `lanes` apart. */
static cg_value
add_range(const maker *m, const block *k, int64_t from, int64_t to, int lanes)
{
    cg *g = m->j->g;
    cg_value sum = LLVMConstNull(glow_cg_vector(g->f32, lanes));
    cg_loop l;

    if ((to - from) / lanes <= MOST_UNROLLED) {
        for (int64_t i = from; i < to; i += lanes)
            sum = add_weights(m, k, cg_i64(g, i), lanes, sum);
        return sum;
    }
    glow_cg_loop(g, &l, cg_i64(g, from), cg_i64(g, to), lanes, &sum, 1);
    sum = add_weights(m, k, l.i, lanes, l.value[0]);
    glow_cg_loop_end(g, &l, &sum);
    return l.value[0];
}

/* sums[0], in lanes, and sums[1], a number, plus `count` weights of block `at`. */
static void
add_block(const maker *m, cg_value at, int64_t count, cg_value sums[2])
{
    cg *g = m->j->g;
    const glow_blockwisequantizedfullyconnected *q = m->q;
    int64_t whole = count / m->lanes * m->lanes;
    cg_value all = cg_add(g, cg_mulc(g, m->row, m->blocks), at);
    cg_value scale = glow_cg_load(g, m->j->in[2], all, 1);
    cg_value first = cg_mulc(g, at, q->block_size);
    cg_value bytes = cg_mulc(g, all, q->block_size * q->bits / 8);
    block k = {.first = first, .zero = glow_cg_int(g->i32, 1 << (q->bits - 1))};

    k.bytes = glow_cg_at(g, m->j->in[1].at, bytes);
    if (m->j->in[3].at)
        k.zero = LLVMBuildZExt(
            g->builder, glow_cg_load_bits(g, m->j->in[3], all, 1), g->i32, "");
    if (whole) {
        cg_value part = add_range(m, &k, 0, whole, m->lanes);
        cg_value each = glow_cg_splat(g, scale, m->lanes);

        sums[0] = glow_cg_fma(g, part, each, sums[0]);
    }
    if (whole < count) {
        cg_value part = add_range(m, &k, whole, count, 1);

        sums[1] = glow_cg_fma(g, part, scale, sums[1]);
    }
}

static void
make_result(const maker *m, cg_value x_row)
{
    cg *g = m->j->g;
    int64_t whole = m->q->k / m->q->block_size;
    int64_t rest = m->q->k % m->q->block_size;
    cg_value sums[2] = {LLVMConstNull(glow_cg_vector(g->f32, m->lanes)),
                        LLVMConstNull(g->f32)};
    cg_value y, at;
    cg_loop l;

    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), 1, sums, 2);
        sums[0] = l.value[0];
        sums[1] = l.value[1];
        add_block(m, l.i, m->q->block_size, sums);
        glow_cg_loop_end(g, &l, sums);
        sums[0] = l.value[0];
        sums[1] = l.value[1];
    }
    if (rest)
        add_block(m, cg_i64(g, whole), rest, sums);
    y = cg_fadd(g,
                m->lanes > 1 ? glow_cpu_across(g, m->j->in[0].type, sums[0],
                                               glow_cpu_sum)
                             : sums[0],
                sums[1]);
    if (m->j->in[4].at)
        y = cg_fadd(g, y, glow_cg_load(g, m->j->in[4], m->row, 1));
    at = cg_mulc(g, x_row, m->j->out[0].type->shape.at[1]);
    glow_cg_store(g, m->j->out[0], cg_add(g, at, m->row), y);
}

static void
emit(cpu_job *j)
{
    cg *g = j->g;
    maker m = {.j = j,
               .q = j->n->attrs,
               .blocks = j->in[2].type->shape.at[1],
               .lanes = g->target->vector_bytes / 4};
    cg_loop l, rows;
    cg_value row;

    m.row = glow_cpu_unit_for(j, &l);
    row = glow_cg_for(g, &rows, j->in[0].type->shape.at[0]);
    m.x = cg_mulc(g, row, m.q->k);
    make_result(&m, row);
    glow_cg_loop_end(g, &rows, NULL);
    glow_cg_loop_end(g, &l, NULL);
}

const cpu_kernel glow_cpu_blockwise = {
    .name = "blockwise",
    .op = &glow_op_blockwisequantizedfullyconnected,
    .takes = takes,
    .emit = emit,
    .units = units,
};
