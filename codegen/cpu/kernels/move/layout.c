/*
 * Concat, InsertTensor, Tile and Gather: copies of slices at computed offsets.
 */

#include "codegen/cpu/kernels/move/outer.h"

static void
emit_concat(cpu_job *j)
{
    const glow_concat *c = j->n->attrs;
    glow_dims to = glow_cpu_strides(j->out[0].type);
    int axes = glow_cpu_outer_axes(j, (int)c->dim);
    int64_t at = 0;
    cg_nest n;

    glow_cpu_outer_begin(j, &n, axes);
    for (int i = 0; i < j->n->n_in; i++) {
        glow_dims shape = j->in[i].type->shape;
        cg_tensor out = glow_cpu_outer_part(j, j->out[0], n.at, axes);
        cg_tensor in = glow_cpu_outer_part(j, j->in[i], n.at, axes);

        glow_cpu_copy(j->g, out, at, glow_cpu_behind(to, axes), in, 0,
                      glow_cpu_behind(glow_cpu_strides(j->in[i].type), axes),
                      glow_cpu_behind(shape, axes));
        at += shape.at[c->dim] * to.at[c->dim];
    }
    glow_cg_nest_end(j->g, &n);
}

static int64_t
concat_units(const cpu_target *t, const glow_node *n)
{
    const glow_concat *c = n->attrs;

    (void)t;
    return glow_dims_product(n->out[0]->type->shape, 0, (int)c->dim);
}

const cpu_kernel glow_cpu_concat = {
    .name = "concat",
    .op = &glow_op_concat,
    .strides = CPU_STRIDES_IN | CPU_STRIDES_OUT,
    .emit = emit_concat,
    .units = concat_units,
};

/* The first axes that Small fills. */
static int
filled_axes(const glow_node *n)
{
    const glow_inserttensor *t = n->attrs;
    glow_dims big = n->out[0]->type->shape, small = n->in[1]->type->shape;
    int axes = 0;

    while (axes < big.rank && axes != t->axis && small.at[axes] == big.at[axes])
        axes++;
    return axes;
}

/* Big, unless it is the result's buffer already, and Small on top. */
static void
emit_inserttensor(cpu_job *j)
{
    const glow_inserttensor *t = j->n->attrs;
    int axes = glow_cpu_outer_axes(j, filled_axes(j->n));
    glow_dims to = glow_cpu_strides(j->out[0].type);
    glow_dims shape = j->in[1].type->shape;
    int64_t at = 0, hop = 0;
    cg_tensor big, small, out;
    cg_nest n;

    glow_cpu_outer_begin(j, &n, axes);
    big = glow_cpu_outer_part(j, j->in[0], n.at, axes);
    small = glow_cpu_outer_part(j, j->in[1], n.at, axes);
    out = glow_cpu_outer_part(j, j->out[0], n.at, axes);
    if (j->step->in[0] != j->step->out[0])
        glow_cpu_copy(j->g, out, 0, glow_cpu_behind(to, axes), big, 0,
                      glow_cpu_behind(glow_cpu_strides(big.type), axes),
                      glow_cpu_behind(big.type->shape, axes));
    for (int d = axes; d < shape.rank; d++) {
        at += t->start.at[d] * to.at[d];
        if (d == t->axis)
            hop = shape.at[d] * to.at[d];
    }

    cg_loop l;
    cg_value i = glow_cg_for(j->g, &l, t->count);

    out.at = glow_cg_at(j->g, out.at,
                        cg_mulc(j->g, i, hop * glow_cg_bytes(out.type)));
    glow_cpu_copy(j->g, out, at, glow_cpu_behind(to, axes), small, 0,
                  glow_cpu_behind(glow_cpu_strides(small.type), axes),
                  glow_cpu_behind(shape, axes));
    glow_cg_loop_end(j->g, &l, NULL);
    glow_cg_nest_end(j->g, &n);
}

static int64_t
insert_units(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return glow_dims_product(n->out[0]->type->shape, 0, filled_axes(n));
}

const cpu_kernel glow_cpu_inserttensor = {
    .name = "inserttensor",
    .op = &glow_op_inserttensor,
    .strides = CPU_STRIDES_IN | CPU_STRIDES_OUT,
    .emit = emit_inserttensor,
    .units = insert_units,
};

/* Elements before the axis, number of copies, elements of one copy. */
static glow_dims
tile_shape(const glow_node *n)
{
    const glow_tile *t = n->attrs;
    glow_dims x = n->in[0]->type->shape;

    return GLOW_DIMS_OF(glow_dims_product(x, 0, t->axis), t->count,
                        glow_dims_product(x, t->axis, x.rank));
}

static void
emit_tile(cpu_job *j)
{
    glow_dims shape = tile_shape(j->n), units = shape;
    int64_t rest = shape.at[2];
    glow_dims to = GLOW_DIMS_OF(rest * shape.at[1], rest, 1);
    glow_dims from = GLOW_DIMS_OF(rest, 0, 1);
    int axes = units.rank = glow_cpu_outer_axes(j, 2);
    cg_tensor x = j->in[0], y = j->out[0];
    int64_t bytes = glow_cg_bytes(x.type);
    cg_nest n;

    glow_cpu_unit_nest(j, &n, units, axes);
    if (axes) {
        x.at = glow_cg_at(j->g, x.at, cg_mulc(j->g, n.at[0], rest * bytes));
        y.at = glow_cg_at(
            j->g, y.at,
            cg_mulc(j->g,
                    cg_add(j->g, cg_mulc(j->g, n.at[0], shape.at[1]), n.at[1]),
                    rest * bytes));
    }
    glow_cpu_copy(j->g, y, 0, glow_cpu_behind(to, axes), x, 0,
                  glow_cpu_behind(from, axes), glow_cpu_behind(shape, axes));
    glow_cg_nest_end(j->g, &n);
}

static int64_t
tile_units(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return glow_dims_product(tile_shape(n), 0, 2);
}

const cpu_kernel glow_cpu_tile = {
    .name = "tile",
    .op = &glow_op_tile,
    .emit = emit_tile,
    .units = tile_units,
};

/*
 * Loads index `i`; negative indices count from the end.  An index out of range
 * is a run-time error.
 */
static cg_value
checked_index(cpu_job *j, cg_value i, int64_t size)
{
    cg *g = j->g;
    const glow_type *t = j->in[1].type;
    cg_value x = glow_cg_load(g, j->in[1], i, 1);
    bool is_signed = glow_cg_is_signed(t);

    x = LLVMBuildIntCast2(g->builder, x, g->i64, is_signed, "");
    if (is_signed) {
        cg_value below = cg_icmp(g, LLVMIntSLT, x, cg_i64(g, 0));

        x = cg_select(g, below, cg_iadd(g, x, cg_i64(g, size)), x);
    }
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
    int64_t bytes = rest * glow_cg_bytes(j->in[0].type);
    cg_tensor from = j->in[0], to = j->out[0];
    cg_nest n;

    glow_cpu_unit_nest(j, &n, GLOW_DIMS_OF(batches, before, picks), 3);

    cg_value pick = cg_add(g, cg_mulc(g, n.at[0], picks), n.at[2]);
    cg_value x = checked_index(j, pick, size);
    cg_value row = cg_add(g, cg_mulc(g, n.at[0], before), n.at[1]);

    from.at = glow_cg_at(
        g, from.at, cg_mulc(g, cg_add(g, cg_mulc(g, row, size), x), bytes));
    to.at = glow_cg_at(
        g, to.at,
        cg_mulc(g, cg_add(g, cg_mulc(g, row, picks), n.at[2]), bytes));
    glow_cpu_copy(g, to, 0, GLOW_DIMS_OF(1), from, 0, GLOW_DIMS_OF(1),
                  GLOW_DIMS_OF(rest));
    glow_cg_nest_end(g, &n);
}

static int64_t
gather_units(const cpu_target *t, const glow_node *n)
{
    const glow_gather *a = n->attrs;
    glow_dims data = n->in[0]->type->shape, at = n->in[1]->type->shape;

    (void)t;
    return glow_dims_product(data, 0, a->axis) *
           glow_dims_product(at, a->batch_dims, at.rank);
}

const cpu_kernel glow_cpu_gather = {
    .name = "gather",
    .op = &glow_op_gather,
    .emit = emit_gather,
    .fails = true,
    .units = gather_units,
};
