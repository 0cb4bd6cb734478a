/* Pad, with constant, edge, reflected or wrapped elements. */

#include <string.h>

#include "codegen/cpu/kernels/move/outer.h"
#include "ir/ops/pad.h"

static cg_value
pad_table(cpu_job *j, int axis)
{
    const glow_pad *p = j->n->attrs;
    int64_t size = j->out[0].type->shape.at[axis];
    int64_t dim = j->in[0].type->shape.at[axis];
    int64_t step = glow_cpu_strides(j->in[0].type).at[axis];
    int64_t *from = GLOW_NEW_ARRAY(j->g->arena, int64_t, size);

    for (int64_t i = 0; i < size; i++) {
        int64_t s = glow_pad_source(p->mode, i, p->pads.at[axis], dim);

        from[i] = s < 0 ? -1 : s * step;
    }
    return glow_cpu_table(j->g, from, size);
}

/* The bits of Value in the kind of the result. */
static cg_value
pad_value(cpu_job *j)
{
    const glow_pad *p = j->n->attrs;
    cg *g = j->g;
    glow_type one = *j->out[0].type;
    uint64_t word[1] = {0};
    glow_tensor t = {.type = &one, .data = word};

    one.shape = one.strides = (glow_dims){0};
    glow_set_real(&t, 0, (double)p->value);
    if (one.elem == GLOW_FLOAT)
        return glow_cg_real(g->f32, glow_get_double(&t, 0));
    if (one.elem == GLOW_FLOAT64)
        return glow_cg_real(g->f64, glow_get_double(&t, 0));
    return glow_cg_int(
        LLVMIntTypeInContext(g->context, (unsigned)glow_cg_bytes(&one) * 8),
        (int64_t)word[0]);
}

/* The axes before the last one that is padded; or all but one. */
static int
pad_axes(const glow_node *n)
{
    const glow_pad *p = n->attrs;
    int rank = n->out[0]->type->shape.rank, axes = rank ? rank - 1 : 0;

    while (axes > 0 && p->pads.at[axes] == 0 && p->pads.at[rank + axes] == 0)
        axes--;
    return axes;
}

/*
 * The operand inside of a constant frame: its first element in the result and
 * in the operand, and its shape.
 */
typedef struct middle {
    glow_dims to, from, shape;
} middle;

static middle
middle_of(const glow_node *n)
{
    const glow_pad *p = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    middle m = {x, x, x};

    for (int d = 0; d < x.rank; d++) {
        int64_t low = p->pads.at[d], high = p->pads.at[x.rank + d];

        m.to.at[d] = low > 0 ? low : 0;
        m.from.at[d] = low < 0 ? -low : 0;
        m.shape.at[d] += (low < 0 ? low : 0) + (high < 0 ? high : 0);
        if (m.shape.at[d] < 0)
            m.shape.at[d] = 0;
    }
    return m;
}

static int64_t
static_offset(glow_dims at, glow_dims step)
{
    int64_t sum = 0;

    for (int d = 0; d < at.rank; d++)
        sum += at.at[d] * step.at[d];
    return sum;
}

/*
 * True if the index of the first axes is inside of the operand; sets `at` to
 * the index in the operand.
 */
static cg_value
is_inside(cpu_job *j, const middle *m, cg_value *at, int axes)
{
    cg *g = j->g;
    cg_value all = NULL;

    for (int d = 0; d < axes; d++) {
        cg_value i = cg_addc(g, at[d], -m->to.at[d]);
        cg_value in = cg_icmp(g, LLVMIntULT, i, cg_i64(g, m->shape.at[d]));

        all = all ? cg_and(g, all, in) : in;
        at[d] = cg_addc(g, i, m->from.at[d]);
    }
    return all;
}

/*
 * Constant mode: fills the result with Value, then copies the operand over it.
 */
static void
pad_constant(cpu_job *j)
{
    middle m = middle_of(j->n);
    glow_dims y = j->out[0].type->shape;
    glow_dims to = glow_cpu_strides(j->out[0].type);
    glow_dims from = glow_cpu_strides(j->in[0].type);
    int axes = glow_cpu_outer_axes(j, pad_axes(j->n));
    cg_value at[GLOW_MAX_RANK], inside;
    cg_tensor out;
    cg_nest n;
    cg_if part;

    glow_cpu_outer_begin(j, &n, axes);
    out = glow_cpu_outer_part(j, j->out[0], n.at, axes);
    glow_cpu_fill(j->g, out, glow_dims_count(glow_cpu_behind(y, axes)),
                  pad_value(j));
    memcpy(at, n.at, sizeof at);
    inside = is_inside(j, &m, at, axes);
    if (inside)
        glow_cg_if(j->g, &part, inside);
    glow_cpu_copy(
        j->g, out,
        static_offset(glow_cpu_behind(m.to, axes), glow_cpu_behind(to, axes)),
        glow_cpu_behind(to, axes), glow_cpu_outer_part(j, j->in[0], at, axes),
        static_offset(glow_cpu_behind(m.from, axes),
                      glow_cpu_behind(from, axes)),
        glow_cpu_behind(from, axes), glow_cpu_behind(m.shape, axes));
    if (inside)
        glow_cg_end_if(j->g, &part);
    glow_cg_nest_end(j->g, &n);
}

/*
 * Copies `count` slices behind axis `last`, from slice `first` of the result on, each
 * from where the table of the axis has it.
 */
static void
pad_edge(cpu_job *j, cg_tensor out, cg_tensor in, int last, int64_t first,
         int64_t count)
{
    cg *g = j->g;
    glow_dims y = j->out[0].type->shape;
    glow_dims to = glow_cpu_strides(j->out[0].type);
    glow_dims from = glow_cpu_strides(j->in[0].type);
    int64_t bytes = glow_cg_bytes(j->out[0].type);
    cg_value table = pad_table(j, last), i, source;
    cg_loop l;

    if (count == 0)
        return;
    i = cg_addc(g, glow_cg_for(g, &l, count), first);
    source = glow_cpu_table_at(g, g->i64, table, i);
    out.at = glow_cg_at(g, out.at, cg_mulc(g, i, to.at[last] * bytes));
    in.at = glow_cg_at(g, in.at, cg_mulc(g, source, bytes));
    glow_cpu_copy(g, out, 0, glow_cpu_behind(to, last + 1), in, 0,
                  glow_cpu_behind(from, last + 1),
                  glow_cpu_behind(y, last + 1));
    glow_cg_loop_end(g, &l, NULL);
}

/*
 * Other modes: along the last padded axis the operand is copied in one piece, and the
 * slices before and after it from where the mode has them.
 */
static void
pad_repeated(cpu_job *j)
{
    cg *g = j->g;
    middle m = middle_of(j->n);
    glow_dims y = j->out[0].type->shape;
    glow_dims to = glow_cpu_strides(j->out[0].type);
    glow_dims from = glow_cpu_strides(j->in[0].type);
    int last = pad_axes(j->n);
    int64_t piece = m.shape.at[last]; /* 0: all is before it */
    int64_t begin = piece ? m.to.at[last] : y.at[last], end = begin + piece;
    glow_dims shape = glow_cpu_behind(y, last);
    cg_value at = cg_i64(g, 0);
    cg_tensor out, in = j->in[0];
    cg_nest n;

    glow_cpu_outer_begin(j, &n, last);
    for (int d = 0; d < last; d++)
        at = cg_add(g, at,
                    glow_cpu_table_at(g, g->i64, pad_table(j, d), n.at[d]));
    out = glow_cpu_outer_part(j, j->out[0], n.at, last);
    in.at = glow_cg_at(g, in.at, cg_mulc(g, at, glow_cg_bytes(in.type)));
    shape.at[0] = piece;
    glow_cpu_copy(g, out, begin * to.at[last], glow_cpu_behind(to, last), in,
                  m.from.at[last] * from.at[last], glow_cpu_behind(from, last),
                  shape);
    pad_edge(j, out, in, last, 0, begin);
    pad_edge(j, out, in, last, end, y.at[last] - end);
    glow_cg_nest_end(g, &n);
}

static void
emit_pad(cpu_job *j)
{
    const glow_pad *p = j->n->attrs;

    if (p->mode == GLOW_PAD_CONSTANT)
        pad_constant(j);
    else
        pad_repeated(j);
}

static int64_t
pad_units(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return glow_dims_product(n->out[0]->type->shape, 0, pad_axes(n));
}

const cpu_kernel glow_cpu_pad = {
    .name = "pad",
    .op = &glow_op_pad,
    .quantized = true,
    .emit = emit_pad,
    .units = pad_units,
};
