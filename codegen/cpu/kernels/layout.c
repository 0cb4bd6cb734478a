/* Moving elements: what does not read at regular steps. */

#include "codegen/cpu/kernels/common.h"

static void
emit_concat(cpu_job *j)
{
    const glow_concat *c = j->n->attrs;
    glow_dims to = glow_cpu_strides(j->out[0].type);
    int64_t at = 0;

    for (int i = 0; i < j->n->n_in; i++) {
        glow_dims shape = j->in[i].type->shape;

        glow_cpu_copy(j->g, j->out[0], at, to, j->in[i], 0,
                      glow_cpu_strides(j->in[i].type), shape);
        at += shape.at[c->dim] * to.at[c->dim];
    }
}

const cpu_kernel glow_cpu_concat = {
    .name = "concat",
    .op = &glow_op_concat,
    .strides = CPU_STRIDES_IN | CPU_STRIDES_OUT,
    .emit = emit_concat,
};

/* Big, unless it is the result's buffer already, and Small on top. */
static void
emit_inserttensor(cpu_job *j)
{
    const glow_inserttensor *t = j->n->attrs;
    cg_tensor big = j->in[0], small = j->in[1], out = j->out[0];
    glow_dims to = glow_cpu_strides(out.type), shape = small.type->shape;
    int64_t at = 0, hop = 0;

    if (j->step->in[0] != j->step->out[0])
        glow_cpu_copy(j->g, out, 0, to, big, 0, glow_cpu_strides(big.type),
                      big.type->shape);
    for (int d = 0; d < shape.rank; d++) {
        at += t->start.at[d] * to.at[d];
        if (d == t->axis)
            hop = shape.at[d] * to.at[d];
    }

    cg_loop l;
    cg_value i = glow_cpu_for(j->g, &l, t->count);
    cg_tensor part = out;

    part.at = glow_cpu_at(j->g, out.at,
                          cg_mulc(j->g, i, hop * glow_cpu_bytes(out.type)));
    glow_cpu_copy(j->g, part, at, to, small, 0, glow_cpu_strides(small.type),
                  shape);
    glow_cpu_loop_end(j->g, &l, NULL);
}

const cpu_kernel glow_cpu_inserttensor = {
    .name = "inserttensor",
    .op = &glow_op_inserttensor,
    .strides = CPU_STRIDES_IN | CPU_STRIDES_OUT,
    .emit = emit_inserttensor,
};

static void
emit_tile(cpu_job *j)
{
    const glow_tile *t = j->n->attrs;
    glow_dims x = j->in[0].type->shape;
    int64_t before = glow_dims_product(x, 0, t->axis);
    int64_t rest = glow_dims_product(x, t->axis, x.rank);

    glow_cpu_copy(j->g, j->out[0], 0, GLOW_DIMS_OF(rest * t->count, rest, 1),
                  j->in[0], 0, GLOW_DIMS_OF(rest, 0, 1),
                  GLOW_DIMS_OF(before, t->count, rest));
}

const cpu_kernel glow_cpu_tile = {
    .name = "tile",
    .op = &glow_op_tile,
    .emit = emit_tile,
};

/* Where element `i` of a padded axis comes from; -1: it is Value. */
static int64_t
pad_source(int mode, int64_t i, int64_t low, int64_t dim)
{
    int64_t x = i - low;

    if (x >= 0 && x < dim)
        return x;
    if (mode == GLOW_PAD_CONSTANT)
        return -1;
    if (mode == GLOW_PAD_WRAP)
        return (x % dim + dim) % dim;
    if (mode == GLOW_PAD_EDGE)
        return x < 0 ? 0 : dim - 1;
    return x < 0 ? -x : 2 * (dim - 1) - x;
}

static cg_value
pad_table(cpu_job *j, int axis)
{
    const glow_pad *p = j->n->attrs;
    int64_t size = j->out[0].type->shape.at[axis];
    int64_t dim = j->in[0].type->shape.at[axis];
    int64_t step = glow_cpu_strides(j->in[0].type).at[axis];
    int64_t *from = GLOW_NEW_ARRAY(j->g->arena, int64_t, size);

    for (int64_t i = 0; i < size; i++) {
        int64_t s = pad_source(p->mode, i, p->pads.at[axis], dim);

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
        return glow_cpu_real(g->f32, glow_get_double(&t, 0));
    if (one.elem == GLOW_FLOAT64)
        return glow_cpu_real(g->f64, glow_get_double(&t, 0));
    return glow_cpu_int(
        LLVMIntTypeInContext(g->context, (unsigned)glow_cpu_bytes(&one) * 8),
        (int64_t)word[0]);
}

/* Constant frames: Value everywhere, then the middle over it. */
static void
pad_constant(cpu_job *j)
{
    const glow_pad *p = j->n->attrs;
    glow_dims x = j->in[0].type->shape, shape = x;
    glow_dims to = glow_cpu_strides(j->out[0].type);
    glow_dims from = glow_cpu_strides(j->in[0].type);
    int64_t to_at = 0, from_at = 0;

    glow_cpu_fill(j->g, j->out[0], glow_type_count(j->out[0].type),
                  pad_value(j));
    for (int d = 0; d < x.rank; d++) {
        int64_t low = p->pads.at[d], high = p->pads.at[x.rank + d];

        to_at += low > 0 ? low * to.at[d] : 0;
        from_at += low < 0 ? -low * from.at[d] : 0;
        shape.at[d] += (low < 0 ? low : 0) + (high < 0 ? high : 0);
        if (shape.at[d] <= 0)
            return;
    }
    glow_cpu_copy(j->g, j->out[0], to_at, to, j->in[0], from_at, from, shape);
}

static void
emit_pad(cpu_job *j)
{
    const glow_pad *p = j->n->attrs;
    glow_dims y = j->out[0].type->shape;
    cg_value tables[GLOW_MAX_RANK], at = cg_i64(j->g, 0);
    cg_nest n;

    if (p->mode == GLOW_PAD_CONSTANT) {
        pad_constant(j);
        return;
    }
    for (int d = 0; d < y.rank; d++)
        tables[d] = pad_table(j, d);
    glow_cpu_nest(j->g, &n, y);
    for (int d = 0; d < y.rank; d++)
        at = cg_add(j->g, at,
                    glow_cpu_table_at(j->g, j->g->i64, tables[d], n.at[d]));
    glow_cpu_store_bits(j->g, j->out[0],
                        glow_cpu_offset(j->g, n.at, glow_dims_strides(y)),
                        glow_cpu_load_bits(j->g, j->in[0], at, 1));
    glow_cpu_nest_end(j->g, &n);
}

const cpu_kernel glow_cpu_pad = {
    .name = "pad",
    .op = &glow_op_pad,
    .emit = emit_pad,
};

/* Indices below 0 count from the end; those outside are an error. */
static cg_value
checked_index(cpu_job *j, cg_value i, int64_t size)
{
    cg *g = j->g;
    const glow_type *t = j->in[1].type;
    cg_value x = glow_cpu_load(g, j->in[1], i, 1);
    bool is_signed = glow_cpu_is_signed(t);

    x = LLVMBuildIntCast2(g->builder, x, g->i64, is_signed, "");
    if (is_signed)
        x = cg_select(g, cg_icmp(g, LLVMIntSLT, x, cg_i64(g, 0)),
                      cg_iadd(g, x, cg_i64(g, size)), x);
    glow_cpu_fail_if(j, cg_icmp(g, LLVMIntUGE, x, cg_i64(g, size)));
    return x;
}

static void
emit_gather(cpu_job *j)
{
    const glow_gather *a = j->n->attrs;
    cg *g = j->g;
    glow_dims data = j->in[0].type->shape, at = j->in[1].type->shape;
    int64_t batches = glow_dims_product(data, 0, a->batch_dims);
    int64_t before = glow_dims_product(data, a->batch_dims, a->axis);
    int64_t size = data.at[a->axis];
    int64_t rest = glow_dims_product(data, a->axis + 1, data.rank);
    int64_t picks = glow_dims_product(at, a->batch_dims, at.rank);
    int64_t bytes = rest * glow_cpu_bytes(j->in[0].type);
    cg_tensor from = j->in[0], to = j->out[0];
    cg_nest n;

    glow_cpu_nest(g, &n, GLOW_DIMS_OF(batches, before, picks));

    cg_value pick = cg_add(g, cg_mulc(g, n.at[0], picks), n.at[2]);
    cg_value x = checked_index(j, pick, size);
    cg_value row = cg_add(g, cg_mulc(g, n.at[0], before), n.at[1]);

    from.at = glow_cpu_at(
        g, from.at, cg_mulc(g, cg_add(g, cg_mulc(g, row, size), x), bytes));
    to.at = glow_cpu_at(
        g, to.at,
        cg_mulc(g, cg_add(g, cg_mulc(g, row, picks), n.at[2]), bytes));
    glow_cpu_copy(g, to, 0, GLOW_DIMS_OF(1), from, 0, GLOW_DIMS_OF(1),
                  GLOW_DIMS_OF(rest));
    glow_cpu_nest_end(g, &n);
}

const cpu_kernel glow_cpu_gather = {
    .name = "gather",
    .op = &glow_op_gather,
    .emit = emit_gather,
    .fails = true,
};
