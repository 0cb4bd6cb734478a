/*
 * Fused element-wise chains (`stacks`): each element is loaded once, goes
 * through all operations in a register, and is stored once.
 */

#include <assert.h>
#include <string.h>

#include "codegen/cpu/emit/debug.h"
#include "codegen/cpu/emit/lane.h"
#include "codegen/cpu/emit/low.h"
#include "codegen/cpu/emit/narrow.h"
#include "codegen/cpu/emit/table.h"
#include "codegen/cpu/kernels/common.h"
#include "codegen/cpu/move.h"
#include "glow/ops.h"

/*
 * Value of a slot at the current elements, in registers: `value` is decoded
 * from `bits` on its first use.  NULL bits: not loaded.
 */
typedef struct held {
    cg_value bits;
    cg_value value; /* NULL: not decoded yet */
    cg_value wide;  /* the float that was rounded to it, if known, or NULL */
} held;

/* Index into the shape of the chain: at[d] + plus[d] for each axis d. */
typedef struct index {
    const cg_value *at;
    const int64_t *plus;
} index;

static cg_value
offset_of(cg *g, const cpu_access *a, const index *x)
{
    int64_t plus = a->at;
    cg_value sum = cg_i64(g, 0);

    for (int d = 0; d < a->step.rank; d++) {
        if (!a->step.at[d])
            continue;
        sum = cg_add(g, sum, cg_mulc(g, x->at[d], a->step.at[d]));
        plus += x->plus[d] * a->step.at[d];
    }
    return cg_addc(g, sum, plus);
}

static cg_tensor
tensor_of(const cpu_job *j, int slot, const glow_type *t)
{
    return (cg_tensor){j->slot[slot], t};
}

/* Loads lane by lane, `step` elements apart. */
static cg_value
load_apart(cg *g, cg_tensor t, cg_value at, int64_t step, int lanes)
{
    cg_value all = NULL;

    for (int i = 0; i < (g->live ? g->live : lanes); i++) {
        cg_value v = glow_cg_load_bits(g, t, cg_addc(g, at, i * step), 1);

        if (!all)
            all = LLVMConstNull(glow_cg_vector(LLVMTypeOf(v), lanes));
        all = LLVMBuildInsertElement(
            g->builder, all, v, LLVMConstInt(g->i32, (unsigned)i, false), "");
    }
    return all;
}

/*
 * Stores lane by lane.  Each vector has an opaque base: LLVM 19 takes minutes to
 * look for neighbours among the hundreds of stores of a register tile.
 */
static void
store_apart(cg *g, cg_tensor t, cg_value at, int64_t step, cg_value bits)
{
    int lanes = g->live ? g->live : glow_cg_lanes(LLVMTypeOf(bits));

    t.at = glow_cg_opaque(g, t.at);
    for (int i = 0; i < lanes; i++) {
        cg_value one = LLVMBuildExtractElement(
            g->builder, bits, LLVMConstInt(g->i32, (unsigned)i, false), "");

        glow_cg_store_bits(g, t, cg_addc(g, at, i * step), one);
    }
}

/*
 * Stride between lanes, along the last axis; 0 for accesses of no axis and axes
 * of one element.
 */
static int64_t
lane_step(const cpu_access *a)
{
    return a->step.rank ? a->step.at[a->step.rank - 1] : 0;
}

static cg_value
load(cpu_job *j, const cpu_access *a, const glow_type *type, const index *x,
     int lanes)
{
    cg *g = j->g;
    cg_tensor t = tensor_of(j, a->slot, type);
    cg_value at = offset_of(g, a, x);
    int64_t step = lane_step(a);

    if (lanes == 1 || step == 1)
        return glow_cg_load_bits(g, t, at, lanes);
    if (step == 0)
        return glow_cg_splat(g, glow_cg_load_bits(g, t, at, 1), lanes);
    return load_apart(g, t, at, step, lanes);
}

/* The bits of a Splat's elements. */
static cg_value
splat_bits(cg *g, const glow_node *n, int lanes)
{
    const glow_splat *s = n->attrs;
    glow_type one = *n->out[0]->type;
    uint64_t word[1] = {0};
    glow_tensor t = {.type = &one, .data = word};

    one.shape = one.strides = (glow_dims){0};
    glow_set_real(&t, 0, (double)s->value);
    if (one.elem == GLOW_FLOAT)
        return glow_cg_real(glow_cg_vector(g->f32, lanes),
                            glow_get_double(&t, 0));
    if (one.elem == GLOW_FLOAT64)
        return glow_cg_real(glow_cg_vector(g->f64, lanes),
                            glow_get_double(&t, 0));

    LLVMTypeRef word_type = LLVMIntTypeInContext(
        g->context, (unsigned)glow_kind_get(one.elem)->bytes * 8);

    return glow_cg_int(glow_cg_vector(word_type, lanes), (int64_t)word[0]);
}

static held *
operand(cpu_job *j, held *slots, const cpu_item *item, int i, const index *x,
        int lanes, held *fresh)
{
    const cpu_access *a = &item->in[i];
    held *h = &slots[a->slot];

    if (j->step->slots[a->slot].linear && h->bits)
        return h;
    if (!j->step->slots[a->slot].linear)
        h = fresh;
    *h = (held){.bits = load(j, a, item->n->in[i]->type, x, lanes)};
    return h;
}

static cg_value
value_of(cg *g, held *h, const glow_type *t)
{
    if (!h->value)
        h->value = glow_cg_decode(g, t, h->bits);
    return h->value;
}

/* The results of IntLookupTable: its table stays in memory. */
static void
look_up(cpu_job *j, held *slots, const cpu_item *item, const index *x,
        int lanes)
{
    const glow_node *n = item->n;
    cg_tensor table = tensor_of(j, item->in[1].slot, n->in[1]->type);
    held fresh;
    held *h = operand(j, slots, item, 0, x, lanes, &fresh);

    slots[item->out.slot] =
        (held){.bits = glow_cg_look_up(j->g, n->in[0]->type, h->bits, table,
                                       glow_cpu_strides(table.type).at[0])};
}

/* True if numbers of kind `k` contain `x`. */
static bool
contains(glow_kind k, double x)
{
    glow_type one = {.elem = k};
    uint64_t word[1] = {0};
    glow_tensor t = {.type = &one, .data = word};

    glow_set_real(&t, 0, x);
    return glow_get_double(&t, 0) == x;
}

/*
 * True if `n` rounds to the same number whether its operand is rounded before or not:
 * bounds that the kind contains, since rounding is monotonic.
 */
static bool
commutes_with_rounding(const glow_node *n)
{
    const glow_clip *c = n->attrs;
    glow_kind k = n->out[0]->type->elem;

    if (!glow_cg_is_narrow(k) || n->in[0]->type->elem != k)
        return false;
    return n->op == &glow_op_relu ||
           (n->op == &glow_op_clip && contains(k, (double)c->min) &&
            contains(k, (double)c->max));
}

/* Pure conversions keep subnormal numbers. */
static bool
encodes_exactly(const glow_op *op)
{
    return op == &glow_op_convertto || op == &glow_op_dequantize;
}

static void
run_item(cpu_job *j, held *slots, const cpu_item *item, const index *x,
         int lanes)
{
    cg *g = j->g;
    const glow_node *n = item->n;
    cg_value in[3];
    held fresh[3], *h = NULL;

    glow_cg_debug_line(g, g->fn, n);
    if (n->op == &glow_op_splat) {
        slots[item->out.slot] = (held){.bits = splat_bits(g, n, lanes)};
        return;
    }
    if (n->op == &glow_op_intlookuptable) {
        look_up(j, slots, item, x, lanes);
        return;
    }
    for (int i = 0; i < item->n_in; i++) {
        h = operand(j, slots, item, i, x, lanes, &fresh[i]);
        if (!glow_cpu_moves_bits(n->op))
            in[i] = value_of(g, h, n->in[i]->type);
    }
    if (n->op == &glow_op_bitcast) {
        slots[item->out.slot] =
            (held){.bits = glow_cg_recast(g, n->out[0]->type, h->bits)};
        return;
    }
    if (glow_cpu_moves_bits(n->op)) {
        slots[item->out.slot] = *h;
        return;
    }

    if (h && h->wide && commutes_with_rounding(n))
        in[0] = h->wide;

    cg_value y = glow_cg_lane(n)(g, n, in);
    cg_value bits = encodes_exactly(n->op)
                        ? glow_cg_encode_exactly(g, n->out[0]->type, y)
                        : glow_cg_encode(g, n->out[0]->type, y);

    slots[item->out.slot] = (held){bits, bits == y ? y : NULL, y};
}

/* Stores the value that slot a->slot holds, once, unless the slot is dead. */
static void
store(cpu_job *j, held *slots, const cpu_access *a, const glow_type *t,
      const index *x)
{
    held *h = &slots[a->slot];
    cg_tensor to = tensor_of(j, a->slot, t);

    if (h->bits && !j->step->slots[a->slot].dead) {
        cg_value at = offset_of(j->g, a, x);

        if (lane_step(a) > 1 && glow_cg_lanes(LLVMTypeOf(h->bits)) > 1)
            store_apart(j->g, to, at, lane_step(a), h->bits);
        else
            glow_cg_store_bits(j->g, to, at, h->bits);
    }
    *h = (held){0};
}

/* Runs all items at `x`, and stores. */
static void
run(cpu_job *j, held *slots, const index *x, int lanes)
{
    const cpu_step *s = j->step;

    for (int k = 0; k < s->n_items; k++)
        run_item(j, slots, &s->items[k], x, lanes);
    for (int k = 0; k < s->n_items; k++)
        store(j, slots, &s->items[k].out, s->items[k].n->out[0]->type, x);
    memset(slots, 0, (size_t)s->n_slots * sizeof(*slots));
}

/* Columns of the matrix that glow_cpu_finish sees `t` as. */
static int64_t
columns_of(const glow_type *t)
{
    return t->shape.rank ? t->shape.at[t->shape.rank - 1] : 1;
}

void
glow_cpu_finish(cpu_job *j, cpu_place at, cg_value v)
{
    cg *g = j->g;
    const cpu_step *s = j->step;
    const glow_type *type = j->out[0].type;
    held *slots = GLOW_NEW_ARRAY(g->arena, held, s->n_slots);
    cg_value over[2] = {at.row, at.col};
    int64_t plus[2] = {at.row_plus, at.col_plus};
    index x = {over, plus};
    cpu_access result = {.slot = s->out[0]};
    cg_value bits = glow_cg_encode(g, type, v);

    assert((g->live ? g->live : glow_cg_lanes(LLVMTypeOf(v))) <=
           columns_of(type));
    glow_cpu_rows(type, &result.step);
    slots[s->out[0]] = (held){bits, bits == v ? v : NULL, v};
    for (int k = 0; k < s->n_items; k++)
        run_item(j, slots, &s->items[k], &x, glow_cg_lanes(LLVMTypeOf(v)));
    store(j, slots, &result, type, &x);
    for (int k = 0; k < s->n_items; k++)
        store(j, slots, &s->items[k].out, s->items[k].n->out[0]->type, &x);
}

/* The last axis from `from` to `to`, in vectors of `lanes` elements. */
static void
run_row(cpu_job *j, held *slots, cg_value *at, cg_value from, cg_value to,
        int lanes)
{
    static const int64_t none[GLOW_MAX_RANK];
    cg *g = j->g;
    int last = j->step->shape.rank - 1;
    cg_loop l;

    glow_cg_loop(g, &l, from, to, lanes, NULL, 0);
    at[last] = l.i;
    run(j, slots, &(index){at, none}, lanes);
    glow_cg_loop_end(g, &l, NULL);
}

/* `lanes` elements of the last axis from `first` on, of which `live` count. */
static void
run_vector(cpu_job *j, held *slots, cg_value *at, int64_t first, int lanes,
           int64_t live)
{
    static const int64_t none[GLOW_MAX_RANK];

    at[j->step->shape.rank - 1] = cg_i64(j->g, first);
    j->g->live = (int)live;
    run(j, slots, &(index){at, none}, lanes);
    j->g->live = 0;
}

/*
 * The last `rest` elements of the last axis, fewer than a vector has: one vector of
 * which some lanes are dead, or, where targets mask no lanes of that few bytes, a
 * vector for each power of two.
 */
static void
run_rest(cpu_job *j, held *slots, cg_value *at, int64_t rest, bool masks)
{
    int64_t end = j->step->shape.at[j->step->shape.rank - 1];

    if (masks && rest)
        run_vector(j, slots, at, end - rest, glow_cg_lanes_over(rest), rest);
    while (!masks && rest) {
        int lanes = glow_cg_lanes_over(rest + 1) / 2;

        run_vector(j, slots, at, end - rest, lanes, 0);
        rest -= lanes;
    }
}

/*
 * Iteration space of a fused element-wise chain: a row of columns for each
 * index of the other axes.  Units are rows, or blocks of rows if the first axes
 * alone give ENOUGH_ROWS units.  With fewer than FEW_ROWS rows, units are
 * chunks of STRETCH vectors of columns in all rows, and the last chunk includes
 * the tail of less than a vector.
 */

#define FEW_ROWS 16
#define ENOUGH_ROWS 64
#define STRETCH 32 /* vectors */
#define FLOAT_BYTES 4

typedef struct rows {
    glow_dims outer;
    int axes;            /* of `outer`: their indices are the units */
    int64_t size, whole; /* columns: all, and in whole vectors */
    int lanes;
    bool masks; /* the target loads and stores some lanes of a vector */
    bool by_columns;
} rows;

static int
wider(int bytes, const glow_type *t)
{
    return bytes > glow_cg_bytes(t) ? bytes : glow_cg_bytes(t);
}

/*
 * Bytes of an element of which a vector is full: those of float, for which kernels
 * are made; of chains that only move elements or compute on quantized ones, those of
 * the widest.
 */
static int
bytes_of(const cpu_step *s)
{
    int bytes = 1;

    for (int k = 0; k < s->n_items; k++) {
        const glow_node *n = s->items[k].n;

        if (!glow_cpu_moves_bits(n->op) && !glow_computes_quantized(n))
            return FLOAT_BYTES;
        for (int i = 0; i < n->n_in; i++)
            if (n->op != &glow_op_intlookuptable || i == 0)
                bytes = wider(bytes, n->in[i]->type);
        bytes = wider(bytes, n->out[0]->type);
    }
    return bytes < FLOAT_BYTES ? bytes : FLOAT_BYTES;
}

static rows
rows_of(const cpu_target *t, const cpu_step *s)
{
    int bytes = bytes_of(s);
    rows r = {.outer = s->shape,
              .lanes =
                  t->vector_bytes > FLOAT_BYTES ? t->vector_bytes / bytes : 1,
              .masks = glow_cpu_masks(t, bytes)};

    r.outer.rank--;
    r.size = s->shape.at[r.outer.rank];
    r.whole = r.size - r.size % r.lanes;
    r.by_columns = glow_dims_count(r.outer) < FEW_ROWS;
    if (r.by_columns)
        return r;
    for (int64_t n = 1; r.axes < r.outer.rank && n < ENOUGH_ROWS; r.axes++)
        n *= r.outer.at[r.axes];
    return r;
}

int64_t
glow_cpu_stack_units(const cpu_target *t, const cpu_step *s)
{
    rows r;

    if (s->shape.rank == 0)
        return 1;
    r = rows_of(t, s);
    r.outer.rank = r.axes;
    if (!r.by_columns)
        return glow_dims_count(r.outer);
    return (r.whole / r.lanes + STRETCH - 1) / STRETCH;
}

/* The columns of the chunks j->begin to j->end. */
static void
run_stretches(cpu_job *j, held *slots, const rows *r, cg_value *at)
{
    cg *g = j->g;
    int64_t stretch = (int64_t)STRETCH * r->lanes;
    cg_value end = cg_mulc(g, j->end, stretch);
    cg_value whole = cg_i64(g, r->whole);
    cg_if last;

    cg_value begin = cg_mulc(g, j->begin, stretch);

    run_row(j, slots, at, begin, glow_cg_imin(g, end, whole), r->lanes);
    if (r->whole == r->size)
        return;
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntSGE, end, whole));
    run_rest(j, slots, at, r->size - r->whole, r->masks);
    glow_cg_end_if(g, &last);
}

void
glow_cpu_emit_stack(cpu_job *j)
{
    cg *g = j->g;
    const cpu_step *s = j->step;
    held *slots = GLOW_NEW_ARRAY(g->arena, held, s->n_slots);
    cg_nest n;
    rows r;

    if (s->shape.rank == 0) {
        run(j, slots, &(index){NULL, NULL}, 1);
        return;
    }
    r = rows_of(g->target, s);
    glow_cpu_unit_nest(j, &n, r.outer, r.axes);
    if (j->split && r.by_columns) {
        run_stretches(j, slots, &r, n.at);
    } else {
        if (r.whole)
            run_row(j, slots, n.at, cg_i64(g, 0), cg_i64(g, r.whole), r.lanes);
        run_rest(j, slots, n.at, r.size - r.whole, r.masks);
    }
    glow_cg_nest_end(g, &n);
}

/* Copies and fills: the same loops without a step. */

typedef struct block {
    glow_dims shape, to, from;
} block;

/*
 * Removes axes of one element and merges axes that are contiguous in both
 * tensors.
 */
static block
simplify(glow_dims shape, glow_dims to, glow_dims from)
{
    block b = {0};
    int r = 0;

    for (int d = 0; d < shape.rank; d++) {
        if (shape.at[d] == 1)
            continue;
        if (r > 0 && b.to.at[r - 1] == shape.at[d] * to.at[d] &&
            b.from.at[r - 1] == shape.at[d] * from.at[d])
            b.shape.at[--r] *= shape.at[d];
        else
            b.shape.at[r] = shape.at[d];
        b.to.at[r] = to.at[d];
        b.from.at[r] = from.at[d];
        r++;
    }
    b.shape.rank = b.to.rank = b.from.rank = r;
    return b;
}

/* Rows to copy: the first element and the stride of each. */
typedef struct copied {
    cg_tensor to, from;
    cg_value to_at, from_at;
    int64_t to_step, from_step;
} copied;

/* `lanes` elements from element `i` of the row on. */
static void
copy_vector(cg *g, const copied *c, cg_value i, int lanes)
{
    cg_value x = cg_add(g, c->from_at, cg_mulc(g, i, c->from_step));
    cg_value y = cg_add(g, c->to_at, cg_mulc(g, i, c->to_step));

    glow_cg_store_bits(g, c->to, y, glow_cg_load_bits(g, c->from, x, lanes));
}

/*
 * The last elements of a row, fewer than a vector has.  Targets mask lanes of 4
 * and 8 bytes well, if any.
 */
static void
copy_rest(cg *g, const copied *c, int64_t from, int64_t rest)
{
    if (glow_cg_bytes(c->to.type) >= 4) {
        g->live = (int)rest;
        copy_vector(g, c, cg_i64(g, from), glow_cg_lanes_over(rest));
        g->live = 0;
        return;
    }
    while (rest) {
        int lanes = glow_cg_lanes_over(rest + 1) / 2;

        copy_vector(g, c, cg_i64(g, from), lanes);
        from += lanes;
        rest -= lanes;
    }
}

static void
copy_row(cg *g, const copied *c, int64_t size)
{
    int bytes = glow_cg_bytes(c->to.type), lanes = 1;
    int64_t rest;
    cg_loop l;

    if (c->to_step == 1 && c->from_step == 1 && g->target->vector_bytes > bytes)
        lanes = g->target->vector_bytes / bytes;
    rest = size % lanes;
    if (size > rest) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, size - rest), lanes, NULL,
                     0);
        copy_vector(g, c, l.i, lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        copy_rest(g, c, size - rest, rest);
}

void
glow_cpu_copy(cg *g, cg_tensor to, int64_t to_at, glow_dims to_step,
              cg_tensor from, int64_t from_at, glow_dims from_step,
              glow_dims shape)
{
    block b = simplify(shape, to_step, from_step);
    cg_nest n;
    int last = b.shape.rank - 1;

    if (glow_dims_count(shape) == 0)
        return;
    if (last < 0) {
        last = 0;
        b.shape = b.to = b.from = GLOW_DIMS_OF(1);
    }
    glow_dims outer = b.shape;

    outer.rank = last;
    glow_cg_nest(g, &n, outer);
    b.to.rank = b.from.rank = last;

    copied c = {.to = to,
                .from = from,
                .to_step = b.to.at[last],
                .from_step = b.from.at[last]};

    c.to_at = cg_addc(g, glow_cg_offset(g, n.at, b.to), to_at);
    c.from_at = cg_addc(g, glow_cg_offset(g, n.at, b.from), from_at);
    copy_row(g, &c, b.shape.at[last]);
    glow_cg_nest_end(g, &n);
}

void
glow_cpu_fill(cg *g, cg_tensor to, int64_t count, cg_value bits)
{
    int lanes = g->target->vector_bytes / glow_cg_bytes(to.type);
    int64_t whole = count - count % lanes;
    cg_loop l;

    for (int part = 0; part < 2; part++) {
        int64_t from = part ? whole : 0, end = part ? count : whole;
        int by = part ? 1 : lanes;

        if (from == end)
            continue;
        glow_cg_loop(g, &l, cg_i64(g, from), cg_i64(g, end), by, NULL, 0);
        glow_cg_store_bits(g, to, l.i, glow_cg_splat(g, bits, by));
        glow_cg_loop_end(g, &l, NULL);
    }
}
