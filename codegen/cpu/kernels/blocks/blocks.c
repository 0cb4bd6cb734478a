/*
 * Products by weights of 8 or 4 bits in blocks: blocking, packing, and the kernel.
 *
 * At most CPU_BLOCKS_FEW rows read each packed weight once, and multiply it by integer
 * dot products, digits.c, or convert it in registers, few.c.  More rows share panels of
 * floats, many.c, or of bfloat16 parts, matrix.c.
 */

#include <string.h>

#include "codegen/cpu/kernels/blocks/digits.h"

enum {
    NEAR_WEIGHTS = 256, /* of a result, unpacked for many rows at once */
    PAGE = 4096,        /* bytes between rows that conflict in the cache */
    ROW_BLOCK = 256,    /* rows for which they are */
    MOST_MANY_VECTORS = 2,
    AHEAD = 4096, /* bytes, of prefetches of packed weights */
    NEAR = 1024,  /* the same where vectors of 64 bytes are halved */
};

/* Blocking. */

static int
least(int64_t a, int64_t b)
{
    return (int)(a < b ? a : b);
}

static void
set_tile(cpu_blocks *s, const cpu_target *t)
{
    int64_t vectors = cg_ceil_div(s->outputs, s->lanes);
    int64_t most = CPU_BLOCKS_VECTORS, fit, near;

    if (s->rows > CPU_BLOCKS_FEW) {
        s->vectors = least(vectors, MOST_MANY_VECTORS);
        s->tile = least(s->rows, (t->registers - 4) / 2);
        s->copies = s->depth * 4 % PAGE == 0;
        near = NEAR_WEIGHTS / (s->copies ? 2 : 1);
        s->at_once = s->block < near ? near / s->block : 1;
        s->row_block = ROW_BLOCK / s->tile * s->tile;
    } else if (s->digits) {
        s->vectors = least(vectors, glow_cpu_blocks_digits_vectors(t, s));
        s->tile = (int)s->rows;
    } else {
        fit = t->registers / 2 / s->rows;
        s->vectors = least(vectors, fit < 1 ? 1 : fit < most ? fit : most);
        s->tile = (int)s->rows;
    }
    s->panels = vectors / s->vectors;
    s->last_vectors = (int)(vectors % s->vectors);
}

cpu_blocks
glow_cpu_blocks(const cpu_target *t, const glow_node *n)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;
    glow_dims y = n->out[0]->type->shape;
    cpu_blocks s = {
        .rows = y.at[0],
        .depth = q->k,
        .outputs = y.at[1],
        .block = q->block_size < q->k ? q->block_size : q->k,
        .bits = q->bits,
        .offsets = n->in[3] != NULL,
        .scale_bytes = glow_cg_bytes(n->in[2]->type),
        .lanes = t->vector_bytes / 4,
    };

    s.whole = s.depth / s.block;
    s.rest = s.depth % s.block;
    if (s.outputs < s.lanes)
        s.lanes = glow_cg_lanes_over(s.outputs);
    s.digits = glow_cpu_blocks_has_digits(t, &s);
    set_tile(&s, t);
    return s;
}

int64_t
glow_cpu_blocks_padded(const cpu_blocks *s, int64_t count)
{
    return s->bits == 8 && !s->digits
               ? count
               : cg_ceil_div(count, CPU_BLOCKS_CHUNK) * CPU_BLOCKS_CHUNK;
}

int64_t
glow_cpu_blocks_block_bytes(const cpu_blocks *s, int vectors, int64_t count)
{
    int64_t bits = glow_cpu_blocks_padded(s, count) * s->bits;

    return (int64_t)vectors * s->lanes *
           (bits / 8 + s->scale_bytes + s->offsets);
}

int64_t
glow_cpu_blocks_panel_bytes(const cpu_blocks *s, int vectors)
{
    int64_t bytes =
        s->whole * glow_cpu_blocks_block_bytes(s, vectors, s->block);

    return s->rest ? bytes + glow_cpu_blocks_block_bytes(s, vectors, s->rest)
                   : bytes;
}

/* Packing. */

typedef struct packing {
    const cpu_blocks *s;
    const uint8_t *weights, *scales, *offsets; /* offsets: or NULL */
    int64_t blocks, bytes; /* of a row, of a block as the operand has it */
} packing;

static int
weight_of(const packing *p, int64_t row, int64_t block, int64_t i)
{
    const uint8_t *from = p->weights + (row * p->blocks + block) * p->bytes;

    return p->s->bits == 8 ? from[i] : from[i / 2] >> i % 2 * 4 & 15;
}

static uint8_t *
pack_bytes(const packing *p, int64_t first, int64_t nr, int64_t block,
           int64_t count, uint8_t *to)
{
    int flip = p->offsets ? 0 : 128;

    for (int64_t k = 0; k < count; k++)
        for (int64_t i = first; i < first + nr; i++)
            *to++ = i < p->s->outputs
                        ? (uint8_t)(weight_of(p, i, block, k) ^ flip)
                        : 0;
    return to;
}

/* The lowest bit of weight `h` of a chunk of 4 bits. */
static int
nibble_bit(const cpu_blocks *s, int h)
{
    return s->digits ? h % 4 * 8 + h / 4 * 4 : 4 * h;
}

static uint8_t *
pack_nibbles(const packing *p, int64_t first, int64_t nr, int64_t block,
             int64_t count, uint8_t *to)
{
    for (int64_t k = 0; k < count; k += CPU_BLOCKS_CHUNK)
        for (int64_t i = first; i < first + nr; i++) {
            uint32_t word = 0;

            for (int h = 0; h < CPU_BLOCKS_CHUNK; h++)
                if (i < p->s->outputs && k + h < count)
                    word |= (uint32_t)weight_of(p, i, block, k + h)
                            << nibble_bit(p->s, h);
            memcpy(to, &word, sizeof word);
            to += sizeof word;
        }
    return to;
}

/* Groups of four weights of 8 bits, of the depth with its pads. */
static uint8_t *
pack_groups(const packing *p, int64_t first, int64_t nr, int64_t block,
            int64_t count, uint8_t *to)
{
    int64_t padded = glow_cpu_blocks_padded(p->s, count);

    for (int64_t k = 0; k < padded; k += 4)
        for (int64_t i = first; i < first + nr; i++)
            for (int64_t b = k; b < k + 4; b++)
                *to++ = i < p->s->outputs && b < count
                            ? (uint8_t)weight_of(p, i, block, b)
                            : 0;
    return to;
}

/* The scales or offsets of a block, `each` bytes. */
static uint8_t *
pack_each(const packing *p, const uint8_t *from, int each, int64_t first,
          int64_t nr, int64_t block, uint8_t *to)
{
    for (int64_t i = first; i < first + nr; i++, to += each)
        if (i < p->s->outputs)
            memcpy(to, from + (i * p->blocks + block) * each, (size_t)each);
        else
            memset(to, 0, (size_t)each);
    return to;
}

static uint8_t *
pack_panel(const packing *p, int64_t first, int64_t nr, uint8_t *to)
{
    const cpu_blocks *s = p->s;

    for (int64_t b = 0; b < p->blocks; b++) {
        int64_t count = b < s->whole ? s->block : s->rest;

        to = pack_each(p, p->scales, s->scale_bytes, first, nr, b, to);
        if (p->offsets)
            to = pack_each(p, p->offsets, 1, first, nr, b, to);
        to = (s->bits == 4 ? pack_nibbles
              : s->digits  ? pack_groups
                           : pack_bytes)(p, first, nr, b, count, to);
    }
    return to;
}

/* The elements of operand `i`, a constant. */
static const uint8_t *
elements(const glow_node *n, int i)
{
    return glow_constant_tensor(glow_cpu_whole_constant(n->in[i]))->data;
}

static void
pack(const cpu_target *t, const glow_node *n, const glow_tensor *from, void *to)
{
    cpu_blocks s = glow_cpu_blocks(t, n);
    glow_dims w = n->in[1]->type->shape;
    packing p = {.s = &s,
                 .weights = from->data,
                 .scales = elements(n, 2),
                 .blocks = w.at[1],
                 .bytes = w.at[2]};
    int64_t nr = (int64_t)s.vectors * s.lanes;

    if (s.offsets)
        p.offsets = elements(n, 3);
    for (int64_t i = 0; i < s.panels; i++)
        to = pack_panel(&p, i * nr, nr, to);
    if (s.last_vectors)
        pack_panel(&p, s.panels * nr, (int64_t)s.last_vectors * s.lanes, to);
}

static int64_t
packed_size(const cpu_target *t, const glow_node *n)
{
    cpu_blocks s = glow_cpu_blocks(t, n);
    int64_t bytes = s.panels * glow_cpu_blocks_panel_bytes(&s, s.vectors);

    if (s.last_vectors)
        bytes += glow_cpu_blocks_panel_bytes(&s, s.last_vectors);
    return bytes;
}

/* Code. */

cg_value
glow_cpu_blocks_at(const cpu_blocks_maker *m, cg_value at)
{
    cg *g = m->j->g;
    int64_t each = glow_cpu_blocks_block_bytes(&m->s, m->vectors, m->s.block);

    return glow_cg_at(g, m->panel, cg_mulc(g, at, each));
}

cg_value
glow_cpu_blocks_scale(const cpu_blocks_maker *m, cg_value block, int vector)
{
    cg_tensor scales = {block, m->j->n->in[2]->type};
    int64_t first = (int64_t)vector * m->s.lanes;

    return glow_cg_load(m->j->g, scales, cg_i64(m->j->g, first), m->s.lanes);
}

cg_value
glow_cpu_blocks_zeros(const cpu_blocks_maker *m, cg_value block, int vector)
{
    cg *g = m->j->g;
    int lanes = m->s.lanes;
    int64_t at = (int64_t)m->vectors * lanes * m->s.scale_bytes;

    at += (int64_t)vector * lanes;
    return glow_cg_load_raw(g, glow_cg_vector(g->i8, lanes),
                            glow_cg_atc(g, block, at));
}

cg_value
glow_cpu_blocks_offset(const cpu_blocks_maker *m, cg_value block, int vector)
{
    cg *g = m->j->g;
    int lanes = m->s.lanes;
    cg_value v = glow_cpu_blocks_zeros(m, block, vector);

    v = LLVMBuildZExt(g->builder, v, glow_cg_vector(g->i32, lanes), "");
    return LLVMBuildSIToFP(g->builder, v, glow_cg_vector(g->f32, lanes), "");
}

int64_t
glow_cpu_blocks_header(const cpu_blocks_maker *m)
{
    return (int64_t)m->vectors * m->s.lanes * (m->s.scale_bytes + m->s.offsets);
}

void
glow_cpu_blocks_prefetch(const cpu_blocks_maker *m, cg_value at, int64_t before,
                         int64_t bytes)
{
    int64_t lines = (before + bytes) / CPU_LINE - before / CPU_LINE;
    bool near = m->j->g->target->halves;
    int64_t ahead = near ? NEAR : AHEAD;

    for (int64_t i = 0; i < lines; i++)
        glow_cg_prefetch(m->j->g,
                         glow_cg_atc(m->j->g, at, ahead + i * CPU_LINE), false,
                         near ? 2 : 3);
}

cg_value
glow_cpu_blocks_chunk(const cpu_blocks_maker *m, cg_value block, cg_value chunk,
                      int vector)
{
    cg *g = m->j->g;
    int lanes = m->s.lanes;
    cg_value at = glow_cg_at(
        g, block, cg_mulc(g, chunk, (int64_t)m->vectors * lanes * 4));

    return glow_cg_load_raw(
        g, glow_cg_vector(g->i32, lanes),
        glow_cg_atc(g, at,
                    glow_cpu_blocks_header(m) + (int64_t)vector * lanes * 4));
}

cg_value
glow_cpu_blocks_nibble(const cpu_blocks_maker *m, cg_value chunk, int i)
{
    cg *g = m->j->g;
    LLVMTypeRef t = LLVMTypeOf(chunk);

    chunk = i == CPU_BLOCKS_CHUNK - 1
                ? cg_lshr(g, chunk, glow_cg_int(t, 28))
                : cg_and(g, chunk, glow_cg_int(t, (int64_t)15 << 4 * i));
    return LLVMBuildSIToFP(g->builder, chunk,
                           glow_cg_vector(g->f32, m->s.lanes), "");
}

double
glow_cpu_blocks_power(int i)
{
    return i == CPU_BLOCKS_CHUNK - 1 ? 1 : (double)((int64_t)1 << 4 * i);
}

cg_value
glow_cpu_blocks_bytes(const cpu_blocks_maker *m, cg_value block, cg_value k,
                      int vector, cg_value zero)
{
    cg *g = m->j->g;
    int lanes = m->s.lanes;
    LLVMTypeRef wide = glow_cg_vector(g->i32, lanes);
    LLVMTypeRef real = glow_cg_vector(g->f32, lanes);
    cg_value v =
        glow_cg_at(g, block, cg_mulc(g, k, (int64_t)m->vectors * lanes));

    v = glow_cg_load_raw(
        g, glow_cg_vector(g->i8, lanes),
        glow_cg_atc(g, v, glow_cpu_blocks_header(m) + (int64_t)vector * lanes));
    v = zero ? LLVMBuildZExt(g->builder, v, wide, "")
             : LLVMBuildSExt(g->builder, v, wide, "");
    v = LLVMBuildSIToFP(g->builder, v, real, "");
    return zero ? cg_fsub(g, v, zero) : v;
}

void
glow_cpu_blocks_finish(const cpu_blocks_maker *m, cg_value row,
                       int64_t row_plus, int vector, cg_value sum)
{
    cpu_job *j = m->j;
    cg *g = j->g;
    int64_t plus = (int64_t)vector * m->s.lanes;

    g->live =
        vector == m->vectors - 1 && m->live < m->s.lanes ? (int)m->live : 0;
    if (j->in[4].at)
        sum = cg_fadd(
            g, sum,
            glow_cg_load(g, j->in[4], cg_addc(g, m->column, plus), m->s.lanes));
    glow_cpu_finish(j, (cpu_place){row, m->column, row_plus, plus}, sum);
    g->live = 0;
}

/* Sets the panel: `at`, which is as panel `number` is. */
static void
set_panel(cpu_blocks_maker *m, cg_value at, int64_t number)
{
    cg *g = m->j->g;
    const cpu_blocks *s = &m->s;
    int64_t nr = (int64_t)s->vectors * s->lanes;
    int64_t left = s->outputs - number * nr;

    m->vectors = number < s->panels ? s->vectors : s->last_vectors;
    m->live = left - (int64_t)(m->vectors - 1) * s->lanes;
    m->column = cg_mulc(g, at, nr);
    m->panel =
        glow_cg_at(g, m->j->packed,
                   cg_mulc(g, at, glow_cpu_blocks_panel_bytes(s, s->vectors)));
}

void
glow_cpu_blocks_each(cpu_blocks_maker *m,
                     void (*make)(cpu_blocks_maker *m, void *user), void *user)
{
    cg *g = m->j->g;
    const cpu_blocks *s = &m->s;
    int64_t all = s->panels + (s->last_vectors > 0);
    bool cut = s->last_vectors || s->outputs % s->lanes;
    int64_t plain = all - cut;
    cg_loop l;
    cg_if ends;

    if (plain) {
        glow_cg_loop_guarded(g, &l, m->j->begin,
                             glow_cg_imin(g, m->j->end, cg_i64(g, plain)), 1,
                             NULL, 0);
        set_panel(m, l.i, 0);
        make(m, user);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (!cut)
        return;
    glow_cg_if(g, &ends, cg_icmp(g, LLVMIntSGT, m->j->end, cg_i64(g, plain)));
    set_panel(m, cg_i64(g, plain), plain);
    make(m, user);
    glow_cg_end_if(g, &ends);
}

static int64_t
scratch_size(const cpu_target *t, const glow_node *n)
{
    cpu_blocks s = glow_cpu_blocks(t, n);

    return s.rows > CPU_BLOCKS_FEW ? glow_cpu_blocks_many_scratch(&s)
           : s.digits              ? glow_cpu_blocks_digits_scratch(&s)
                                   : glow_cpu_blocks_few_scratch(&s);
}

static int64_t
units(const cpu_target *t, const glow_node *n)
{
    cpu_blocks s = glow_cpu_blocks(t, n);

    return s.panels + (s.last_vectors > 0);
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;
    glow_kind scales = n->in[2]->type->elem;

    (void)t;
    for (int i = 1; i <= 3; i++)
        if (n->in[i] && !glow_cpu_is_whole_constant(n->in[i]))
            return false;
    return q->k > 0 && glow_type_count(n->out[0]->type) > 0 &&
           n->in[0]->type->elem == GLOW_FLOAT &&
           (scales == GLOW_FLOAT || scales == GLOW_FLOAT16);
}

static void
emit(cpu_job *j)
{
    cpu_blocks_maker m = {.j = j, .s = glow_cpu_blocks(j->g->target, j->n)};

    if (m.s.rows > CPU_BLOCKS_FEW)
        glow_cpu_blocks_many(&m);
    else if (m.s.digits)
        glow_cpu_blocks_by_digits(&m);
    else
        glow_cpu_blocks_few(&m);
}

const cpu_kernel glow_cpu_blockwise_packed = {
    .name = "blockwise_packed",
    .op = &glow_op_blockwisequantizedfullyconnected,
    .takes = takes,
    .emit = emit,
    .stacks = true,
    .packs = 1,
    .packs_too = 1 << 2 | 1 << 3,
    .packed_size = packed_size,
    .pack = pack,
    .scratch_size = scratch_size,
    .units = units,
};

/* By tile registers. */

static cpu_blocks
matrix_blocks(const cpu_target *t, const glow_node *n)
{
    cpu_blocks s = glow_cpu_blocks(t, n);

    s.row_block = CPU_BLOCKS_MATRIX_ROWS;
    return s;
}

static bool
takes_matrix(const cpu_target *t, const glow_node *n)
{
    cpu_blocks s;

    if (!t || !takes(t, n))
        return false;
    s = matrix_blocks(t, n);
    return glow_cpu_blocks_has_matrix(t, &s);
}

static int64_t
matrix_scratch(const cpu_target *t, const glow_node *n)
{
    cpu_blocks s = matrix_blocks(t, n);

    return glow_cpu_blocks_matrix_scratch(&s);
}

static void
emit_matrix(cpu_job *j)
{
    cpu_blocks_maker m = {.j = j, .s = matrix_blocks(j->g->target, j->n)};

    glow_cpu_blocks_by_matrix(&m);
}

static void
remark(const cpu_target *t, const glow_node *n, bool taken, glow_buf *b)
{
    cpu_target u = *t;

    u.matrix = t->has_amx;
    u.parts = GLOW_PARTS_AUTO;
    if (taken)
        glow_buf_puts(b, "three products of bfloat16 parts, with errors of at "
                         "most 1e-5 of the largest result");
    else if (t->exact && takes_matrix(&u, n))
        glow_buf_puts(b, "-exact does without parts");
    else if (t->parts == GLOW_PARTS_OFF && takes_matrix(&u, n))
        glow_buf_puts(b, "parts=off does without parts");
}

const cpu_kernel glow_cpu_blockwise_parts = {
    .name = "blockwise_parts",
    .op = &glow_op_blockwisequantizedfullyconnected,
    .takes = takes_matrix,
    .emit = emit_matrix,
    .stacks = true,
    .matrix = true,
    .packs = 1,
    .packs_too = 1 << 2 | 1 << 3,
    .packed_size = packed_size,
    .pack = pack,
    .scratch_size = matrix_scratch,
    .units = units,
    .remark = remark,
};
