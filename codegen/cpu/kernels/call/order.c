/* ArgMax, ArgMin and TopK. */

#include "codegen/cpu/kernels/call/call.h"
#include "codegen/cpu/kernels/common.h"

#define FLOAT_BYTES 4
#define ABREAST \
    2 /* vectors of a row whose comparisons do not wait for each other */

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

/* Extremes of lanes and their positions. */
typedef struct found {
    cg_value best, at; /* at: i32 */
} found;

/* True in lanes where `x`, from a later vector, replaces `best`. */
static cg_value
replaces(cg *g, const glow_type *t, const search *s, cg_value x, cg_value best)
{
    return s->last ? LLVMBuildNot(g->builder,
                                  goes_before(g, t, best, x, s->smallest), "")
                   : goes_before(g, t, x, best, s->smallest);
}

static found
choose(cg *g, cg_value wins, found x, found otherwise)
{
    x.best = cg_select(g, wins, x.best, otherwise.best);
    x.at = cg_select(g, wins, x.at, otherwise.at);
    return x;
}

static found
half_of(cg *g, found x, int first, int half)
{
    x.best = glow_cpu_every(g, x.best, first, 1, half);
    x.at = glow_cpu_every(g, x.at, first, 1, half);
    return x;
}

/* The lanes of one half against those of the other: of equal ones, the position decides. */
static cg_value
search_halves(cg *g, const glow_type *t, const search *s, found x)
{
    for (int half = glow_cg_lanes(LLVMTypeOf(x.at)) / 2; half; half /= 2) {
        found a = half_of(g, x, 0, half), b = half_of(g, x, half, half);
        cg_value above = goes_before(g, t, b.best, a.best, s->smallest);
        cg_value below = goes_before(g, t, a.best, b.best, s->smallest);
        cg_value comes =
            cg_icmp(g, s->last ? LLVMIntUGT : LLVMIntULT, b.at, a.at);

        comes = cg_and(g, comes, LLVMBuildNot(g->builder, below, ""));
        x = choose(g, cg_or(g, above, comes), b, a);
    }
    return LLVMBuildExtractElement(g->builder, x.at,
                                   LLVMConstInt(g->i32, 0, false), "");
}

/* The vector of a row from element `i` on. */
static found
candidates(cpu_job *j, const search *s, cg_value i, int lanes)
{
    cg *g = j->g;
    cg_value number[CG_MAX_CARRIED], at;
    found x;

    for (int k = 0; k < lanes; k++)
        number[k] = LLVMConstInt(g->i32, (unsigned)k, false);
    at = cg_add(g, cg_mulc(g, s->row, s->size), i);
    x.best = glow_cg_load(g, j->in[0], at, lanes);
    at = LLVMBuildTrunc(g->builder, i, g->i32, "");
    x.at = cg_iadd(g, glow_cg_splat(g, at, lanes),
                   LLVMConstVector(number, (unsigned)lanes));
    return x;
}

/*
 * A row of adjacent elements, ABREAST vectors at a time; the last ones overlap those
 * before, whose elements are then found twice at one position.
 */
static void
search_row(cpu_job *j, const search *s, int lanes)
{
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    found x = candidates(j, s, cg_i64(g, 0), lanes), y;
    cg_value both[2] = {x.best, x.at};
    int64_t end = s->size - s->size % lanes;
    cg_loop l;

    glow_cg_loop_guarded(g, &l, cg_i64(g, lanes), cg_i64(g, end), lanes, both,
                         2);
    y = (found){l.value[0], l.value[1]};
    x = candidates(j, s, l.i, lanes);
    x = choose(g, replaces(g, t, s, x.best, y.best), x, y);
    both[0] = x.best;
    both[1] = x.at;
    glow_cg_loop_end(g, &l, both);
    y = (found){l.value[0], l.value[1]};
    if (end < s->size) {
        x = candidates(j, s, cg_i64(g, s->size - lanes), lanes);
        y = choose(g, replaces(g, t, s, x.best, y.best), x, y);
    }
    glow_cg_store(
        g, j->out[0], s->row,
        LLVMBuildZExt(g->builder, search_halves(g, t, s, y), g->i64, ""));
}

/* Lanes of search_row; 0: one element of the row at a time. */
static int
row_lanes(cpu_job *j, const search *s)
{
    cg *g = j->g;
    LLVMTypeRef t = glow_cg_computed(g, j->in[0].type);
    int lanes = ABREAST * glow_cpu_lanes(g->target, FLOAT_BYTES);

    return s->step == 1 && (t == g->f32 || t == g->i32) && lanes > ABREAST &&
                   lanes <= s->size && s->size <= INT32_MAX
               ? lanes
               : 0;
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
    if (row_lanes(j, &s))
        search_row(j, &s, row_lanes(j, &s));
    else
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

#define KEY_BYTES 4    /* of elements that have keys */
#define SORT_LEAST 256 /* elements of a row that is sorted as a whole */
#define SORT_PART 16   /* if this part of them is wanted, or more */
#define ENTRY_BYTES 16 /* of two rows of entries, for each element */

static bool
has_keys(const glow_node *n)
{
    glow_dims x = n->in[0]->type->shape;

    return glow_cg_bytes(n->in[0]->type) <= KEY_BYTES &&
           x.at[x.rank - 1] <= UINT32_MAX;
}

static int64_t
topk_scratch(const cpu_target *t, const glow_node *n)
{
    const glow_topk *a = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    int64_t size = x.at[x.rank - 1];

    (void)t;
    return has_keys(n) && size >= SORT_LEAST && a->k >= size / SORT_PART
               ? glow_cpu_room(size, ENTRY_BYTES)
               : 0;
}

static void
emit_topk(cpu_job *j)
{
    const glow_topk *a = j->n->attrs;
    glow_dims x = j->in[0].type->shape;
    int64_t size = x.at[x.rank - 1];
    bool keys = has_keys(j->n);
    cpu_call c = glow_cpu_call(j, keys ? "glow_c_topk_keys" : "glow_c_topk");

    glow_cpu_arg(&c, j->out[0].at);
    glow_cpu_arg(&c, j->out[1].at);
    glow_cpu_arg_tensor(&c, j->in[0]);
    glow_cpu_arg_int(&c, glow_dims_count(x) / size);
    glow_cpu_arg_int(&c, size);
    glow_cpu_arg_int(&c, a->k);
    glow_cpu_arg_int(&c, a->smallest);
    if (keys)
        glow_cpu_arg(&c, topk_scratch(j->g->target, j->n) ? j->scratch : NULL);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_topk = {
    .name = "topk",
    .op = &glow_op_topk,
    .quantized = true,
    .emit = emit_topk,
    .scratch_size = topk_scratch,
};
