/* Looking for the greatest and the least. */

#include "codegen/cpu/kernels/common.h"

/* Does x go before y?  NaN goes before all. */
static cg_value
goes_before(cg *g, const glow_type *t, cg_value x, cg_value y, bool smallest)
{
    if (glow_cpu_is_float(x)) {
        cg_value nan = cg_and(g, cg_fcmp(g, LLVMRealUNO, x, x),
                              cg_fcmp(g, LLVMRealORD, y, y));

        return cg_or(g, cg_fcmp(g, smallest ? LLVMRealOLT : LLVMRealOGT, x, y),
                     nan);
    }
    if (glow_cpu_is_signed(t))
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
    LLVMTypeRef where = glow_cpu_vector(g->i64, lanes);
    cg_value at = cg_add(g, cg_mulc(g, s->row, s->size * s->step), column);
    cg_value best[2] = {glow_cpu_load(g, j->in[0], at, lanes),
                        LLVMConstNull(where)};
    cg_loop l;

    glow_cpu_loop_guarded(g, &l, cg_i64(g, 1), cg_i64(g, s->size), 1, best, 2);

    cg_value x = glow_cpu_load(g, j->in[0],
                               cg_add(g, at, cg_mulc(g, l.i, s->step)), lanes);
    cg_value wins =
        s->last
            ? LLVMBuildNot(g->builder,
                           goes_before(g, t, l.value[0], x, s->smallest), "")
            : goes_before(g, t, x, l.value[0], s->smallest);

    best[0] = cg_select(g, wins, x, l.value[0]);
    best[1] = cg_select(g, wins, glow_cpu_splat(g, l.i, lanes), l.value[1]);
    glow_cpu_loop_end(g, &l, best);
    glow_cpu_store(g, j->out[0], cg_add(g, cg_mulc(g, s->row, s->step), column),
                   l.value[1]);
}

static void
emit_search(cpu_job *j, bool smallest)
{
    const glow_argmax *a = j->n->attrs;
    glow_dims x = j->in[0].type->shape;
    search s = {.size = x.at[a->axis],
                .step = glow_cpu_product(x, a->axis + 1, x.rank),
                .smallest = smallest,
                .last = a->select_last};
    cg_loop l;

    s.row = glow_cpu_for(j->g, &l, glow_cpu_product(x, 0, a->axis));
    glow_cpu_lanes_for(j, 0, s.step, search_lanes, &s);
    glow_cpu_loop_end(j->g, &l, NULL);
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

static bool
takes_dense(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return glow_cpu_dense(n);
}

const cpu_kernel glow_cpu_argmax = {
    .name = "argmax",
    .op = &glow_op_argmax,
    .takes = takes_dense,
    .emit = emit_argmax,
};

const cpu_kernel glow_cpu_argmin = {
    .name = "argmin",
    .op = &glow_op_argmin,
    .takes = takes_dense,
    .emit = emit_argmin,
};

/*
 * Top k: a sorted list of the best so far stands in the results; each element
 * that beats the last of a full list is moved up from the end.  An element
 * stays behind its equals, so of these the least index goes first.
 */
typedef struct list {
    cg_value to; /* element of the results where the list begins */
    bool smallest;
} list;

static void
move_entry(cpu_job *j, cg_value from, cg_value to)
{
    cg *g = j->g;

    for (int i = 0; i < 2; i++)
        glow_cpu_store_bits(g, j->out[i], to,
                            glow_cpu_load_bits(g, j->out[i], from, 1));
}

/* Moves the hole at `hole` up to where `x` belongs, and puts it there. */
static void
insert(cpu_job *j, const list *s, cg_value hole, cg_value x, cg_value number)
{
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->builder);
    LLVMBasicBlockRef head =
        LLVMAppendBasicBlockInContext(g->context, g->fn, "head");
    LLVMBasicBlockRef look =
        LLVMAppendBasicBlockInContext(g->context, g->fn, "look");
    LLVMBasicBlockRef move =
        LLVMAppendBasicBlockInContext(g->context, g->fn, "move");
    LLVMBasicBlockRef done =
        LLVMAppendBasicBlockInContext(g->context, g->fn, "done");

    LLVMBuildBr(g->builder, head);
    LLVMPositionBuilderAtEnd(g->builder, head);

    cg_value at = LLVMBuildPhi(g->builder, g->i64, "");

    LLVMAddIncoming(at, &hole, &from, 1);
    LLVMBuildCondBr(g->builder, cg_icmp(g, LLVMIntSGT, at, cg_i64(g, 0)), look,
                    done);
    LLVMPositionBuilderAtEnd(g->builder, look);

    cg_value up = cg_addc(g, at, -1);
    cg_value above = glow_cpu_load(g, j->out[0], cg_add(g, s->to, up), 1);

    LLVMBuildCondBr(g->builder, goes_before(g, t, x, above, s->smallest), move,
                    done);
    LLVMPositionBuilderAtEnd(g->builder, move);
    move_entry(j, cg_add(g, s->to, up), cg_add(g, s->to, at));
    LLVMAddIncoming(at, &up, &move, 1);
    LLVMBuildBr(g->builder, head);
    LLVMPositionBuilderAtEnd(g->builder, done);
    glow_cpu_store(g, j->out[0], cg_add(g, s->to, at), x);
    glow_cpu_store(g, j->out[1], cg_add(g, s->to, at), number);
}

static void
emit_topk(cpu_job *j)
{
    const glow_topk *a = j->n->attrs;
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    glow_dims x = t->shape;
    int64_t size = x.at[x.rank - 1];
    list s = {.smallest = a->smallest};
    cg_loop row, fill, rest;
    cg_if better;

    glow_cpu_for(g, &row, glow_dims_count(x) / size);

    cg_value from = cg_mulc(g, row.i, size);

    s.to = cg_mulc(g, row.i, a->k);
    glow_cpu_for(g, &fill, a->k);
    insert(j, &s, fill.i,
           glow_cpu_load(g, j->in[0], cg_add(g, from, fill.i), 1), fill.i);
    glow_cpu_loop_end(g, &fill, NULL);
    glow_cpu_loop_guarded(g, &rest, cg_i64(g, a->k), cg_i64(g, size), 1, NULL,
                          0);

    cg_value v = glow_cpu_load(g, j->in[0], cg_add(g, from, rest.i), 1);
    cg_value last = glow_cpu_load(g, j->out[0], cg_addc(g, s.to, a->k - 1), 1);

    glow_cpu_if(g, &better, goes_before(g, t, v, last, s.smallest));
    insert(j, &s, cg_i64(g, a->k - 1), v, rest.i);
    glow_cpu_end_if(g, &better);
    glow_cpu_loop_end(g, &rest, NULL);
    glow_cpu_loop_end(g, &row, NULL);
}

const cpu_kernel glow_cpu_topk = {
    .name = "topk",
    .op = &glow_op_topk,
    .takes = takes_dense,
    .emit = emit_topk,
};
