/* ArgMax, ArgMin and TopK. */

#include "codegen/cpu/kernels/call/call.h"
#include "codegen/cpu/kernels/common.h"

/* True if x precedes y in the order of the search; NaN precedes all numbers. */
static cg_value
goes_before(cg *g, const glow_type *t, cg_value x, cg_value y, bool smallest)
{
    if (glow_cg_is_float(x)) {
        cg_value nan = cg_fcmp(g, LLVMRealUNO, x, x);

        nan = cg_and(g, nan, cg_fcmp(g, LLVMRealORD, y, y));
        return cg_or(g, cg_fcmp(g, smallest ? LLVMRealOLT : LLVMRealOGT, x, y),
                     nan);
    }
    if (glow_cg_is_signed(t))
        return cg_icmp(g, smallest ? LLVMIntSLT : LLVMIntSGT, x, y);
    return cg_icmp(g, smallest ? LLVMIntULT : LLVMIntUGT, x, y);
}

typedef struct search {
    cg_value row;
    int64_t size, step;
    bool smallest, last;
} search;

static void
search_lanes(cpu_job *j, cg_value column, int lanes, void *user)
{
    const search *s = user;
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    LLVMTypeRef where = glow_cg_vector(g->i64, lanes);
    cg_value at = cg_add(g, cg_mulc(g, s->row, s->size * s->step), column);
    cg_value best[2] = {glow_cg_load(g, j->in[0], at, lanes),
                        LLVMConstNull(where)};
    cg_loop l;

    glow_cg_loop_guarded(g, &l, cg_i64(g, 1), cg_i64(g, s->size), 1, best, 2);

    cg_value x = glow_cg_load(g, j->in[0],
                              cg_add(g, at, cg_mulc(g, l.i, s->step)), lanes);
    cg_value wins =
        s->last
            ? LLVMBuildNot(g->builder,
                           goes_before(g, t, l.value[0], x, s->smallest), "")
            : goes_before(g, t, x, l.value[0], s->smallest);

    best[0] = cg_select(g, wins, x, l.value[0]);
    best[1] = cg_select(g, wins, glow_cg_splat(g, l.i, lanes), l.value[1]);
    glow_cg_loop_end(g, &l, best);
    glow_cg_store(g, j->out[0], cg_add(g, cg_mulc(g, s->row, s->step), column),
                  l.value[1]);
}

static void
emit_search(cpu_job *j, bool smallest)
{
    const glow_argmax *a = j->n->attrs;
    glow_dims x = j->in[0].type->shape;
    search s = {.size = x.at[a->axis],
                .step = glow_dims_product(x, a->axis + 1, x.rank),
                .smallest = smallest,
                .last = a->select_last};
    cg_loop l;

    s.row = glow_cg_for(j->g, &l, glow_dims_product(x, 0, a->axis));
    glow_cpu_lanes_for(j, 0, s.step, search_lanes, &s);
    glow_cg_loop_end(j->g, &l, NULL);
}

static void
emit_argmax(cpu_job *j)
{
    emit_search(j, false);
}

static void
emit_argmin(cpu_job *j)
{
    emit_search(j, true);
}

const cpu_kernel glow_cpu_argmax = {
    .name = "argmax",
    .op = &glow_op_argmax,
    .quantized = true,
    .emit = emit_argmax,
};

const cpu_kernel glow_cpu_argmin = {
    .name = "argmin",
    .op = &glow_op_argmin,
    .quantized = true,
    .emit = emit_argmin,
};

/* Top k. */

static void
emit_topk(cpu_job *j)
{
    const glow_topk *a = j->n->attrs;
    glow_dims x = j->in[0].type->shape;
    int64_t size = x.at[x.rank - 1];
    cpu_call c = glow_cpu_call(j, "glow_c_topk");

    glow_cpu_arg(&c, j->out[0].at);
    glow_cpu_arg(&c, j->out[1].at);
    glow_cpu_arg_tensor(&c, j->in[0]);
    glow_cpu_arg_int(&c, glow_dims_count(x) / size);
    glow_cpu_arg_int(&c, size);
    glow_cpu_arg_int(&c, a->k);
    glow_cpu_arg_int(&c, a->smallest);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_topk = {
    .name = "topk",
    .op = &glow_op_topk,
    .quantized = true,
    .emit = emit_topk,
};
