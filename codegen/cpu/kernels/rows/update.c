/*
 * Steps of training: Adagrad, Adam, Momentum.
 *
 *     factors of the step                          scalars, from R and T
 *     for each vector of elements                  units: chunks of CHUNK elements
 *       X, G and the moments                       loaded, then all results stored
 *
 * The weights and moments are read and written once, and nothing else of their size is
 * in memory.  Each element is computed as lower-adagrad, lower-adam and lower-momentum
 * write it out: factors in double, elements in their type of arithmetic.
 */

#include "codegen/cpu/kernels/common.h"

enum { R, T, X, G, KEPT, MOST_KEPT = 2 }; /* operands */
enum { CHUNK = 1 << 12 };                 /* elements of a unit */
enum { MOST_FACTORS = 3 };

/* One element, or a vector: the new X and moments from the old ones. */
typedef struct element {
    cg_value x, g;
    cg_value kept[MOST_KEPT];
} element;

typedef struct update update;

/* An optimizer: the factors that all elements have in common, and its formula. */
typedef struct formula {
    void (*begin)(update *u);
    void (*step)(const update *u, element *e);
} formula;

struct update {
    cpu_job *j;
    const formula *by;
    LLVMTypeRef c;                  /* of arithmetic */
    cg_value factors[MOST_FACTORS]; /* scalars of that type */
};

/* Scalars of double. */

static cg_value
wide(const update *u, double v)
{
    return glow_cg_real(u->j->g->f64, v);
}

static cg_value
rate_of(const update *u)
{
    cg *g = u->j->g;

    return LLVMBuildFPCast(
        g->builder, glow_cg_load(g, u->j->in[R], cg_i64(g, 0), 1), g->f64, "");
}

static cg_value
steps_of(const update *u)
{
    static const glow_type number = {.elem = GLOW_FLOAT64};
    cg *g = u->j->g;
    cg_value t = glow_cg_load(g, u->j->in[T], cg_i64(g, 0), 1);

    return glow_cg_convert(g, u->j->in[T].type, &number, t);
}

/* `later` where T is above 0, else `first`. */
static cg_value
unless_first(const update *u, cg_value t, cg_value later, cg_value first)
{
    cg *g = u->j->g;

    return cg_select(g, cg_fcmp(g, LLVMRealOGT, t, wide(u, 0)), later, first);
}

/* 1 - base^t */
static cg_value
missing(const update *u, float base, cg_value t)
{
    cg *g = u->j->g;
    cg_value power =
        glow_cg_libm(g, "pow", (cg_value[]){wide(u, (double)base), t}, 2);

    return cg_fsub(g, wide(u, 1), power);
}

static cg_value
narrow(const update *u, cg_value v)
{
    return LLVMBuildFPCast(u->j->g->builder, v, u->c, "");
}

/* Elements. */

static cg_value
like(const update *u, cg_value scalar, cg_value v)
{
    return glow_cg_splat(u->j->g, scalar, glow_cg_lanes(LLVMTypeOf(v)));
}

static cg_value
times(const update *u, cg_value v, double by)
{
    return cg_fmul(u->j->g, v, glow_cg_real(LLVMTypeOf(v), by));
}

static cg_value
root_of(const update *u, cg_value v)
{
    return glow_cg_intrinsic(u->j->g, "llvm.sqrt", &v, 1);
}

/* The gradient with weight decay. */
static cg_value
pulled(const update *u, const element *e, float norm)
{
    return norm == 0 ? e->g
                     : cg_fadd(u->j->g, times(u, e->x, (double)norm), e->g);
}

/* old * keep + now * (1 - keep) */
static cg_value
blend(const update *u, cg_value old, cg_value now, float keep)
{
    now = times(u, now, 1 - (double)keep);
    return cg_fadd(u->j->g, times(u, old, (double)keep), now);
}

/* Adagrad. */

static void
adagrad_begin(update *u)
{
    const glow_adagrad *a = u->j->n->attrs;
    cg *g = u->j->g;
    cg_value down = cg_fmul(g, steps_of(u), wide(u, (double)a->decay_factor));

    down = cg_fadd(g, down, wide(u, 1));
    u->factors[0] = narrow(u, cg_fdiv(g, rate_of(u), down));
}

static void
adagrad_step(const update *u, element *e)
{
    const glow_adagrad *a = u->j->n->attrs;
    cg *g = u->j->g;
    cg_value d = pulled(u, e, a->norm_coefficient), root;

    e->kept[0] = cg_fadd(g, e->kept[0], cg_fmul(g, d, d));
    root = root_of(u, e->kept[0]);
    root = cg_fadd(g, root, glow_cg_real(LLVMTypeOf(root), (double)a->epsilon));
    d = cg_fdiv(g, cg_fmul(g, like(u, u->factors[0], d), d), root);
    e->x = cg_fsub(g, e->x, d);
}

/* Adam. */

enum { RATE, EPSILON, DECAY };

static void
adam_begin(update *u)
{
    const glow_adam *a = u->j->n->attrs;
    cg *g = u->j->g;
    cg_value t = steps_of(u), r = rate_of(u), root, rate, epsilon;

    root = missing(u, a->beta, t);
    root = glow_cg_intrinsic(g, "llvm.sqrt", &root, 1);
    rate = cg_fmul(g, r, root);
    rate = cg_fdiv(g, rate, missing(u, a->alpha, t));
    u->factors[RATE] = narrow(u, unless_first(u, t, rate, r));
    epsilon = wide(u, (double)a->epsilon);
    if (a->correct_first)
        epsilon = cg_fmul(g, epsilon, unless_first(u, t, root, wide(u, 1)));
    u->factors[EPSILON] = narrow(u, epsilon);
    r = cg_fmul(g, r, wide(u, (double)a->weight_decay));
    u->factors[DECAY] = narrow(u, cg_fsub(g, wide(u, 1), r));
}

static void
adam_step(const update *u, element *e)
{
    const glow_adam *a = u->j->n->attrs;
    cg *g = u->j->g;
    cg_value d = pulled(u, e, a->norm_coefficient), root;

    e->kept[0] = blend(u, e->kept[0], d, a->alpha);
    e->kept[1] = blend(u, e->kept[1], cg_fmul(g, d, d), a->beta);
    root = root_of(u, e->kept[1]);
    root = cg_fadd(g, root, like(u, u->factors[EPSILON], root));
    d = cg_fmul(g, like(u, u->factors[RATE], d), e->kept[0]);
    d = cg_fdiv(g, d, root);
    if (a->weight_decay != 0)
        e->x = cg_fmul(g, e->x, like(u, u->factors[DECAY], e->x));
    e->x = cg_fsub(g, e->x, d);
    if (a->norm_coefficient_post != 0)
        e->x = times(u, e->x, 1 - (double)a->norm_coefficient_post);
}

/* Momentum. */

enum { SHARE = 1 };

static void
momentum_begin(update *u)
{
    const glow_momentum *m = u->j->n->attrs;
    cg_value share = wide(u, (double)m->beta);

    share = unless_first(u, steps_of(u), share, wide(u, 1));
    u->factors[RATE] = narrow(u, rate_of(u));
    u->factors[SHARE] = narrow(u, share);
}

static void
momentum_step(const update *u, element *e)
{
    const glow_momentum *m = u->j->n->attrs;
    cg *g = u->j->g;
    cg_value d = pulled(u, e, m->norm_coefficient), v;

    v = cg_fmul(g, like(u, u->factors[SHARE], d), d);
    v = cg_fadd(g, times(u, e->kept[0], (double)m->alpha), v);
    e->kept[0] = v;
    if (m->mode == GLOW_MOMENTUM_NESTEROV)
        v = cg_fadd(g, d, times(u, v, (double)m->alpha));
    e->x = cg_fsub(g, e->x, cg_fmul(g, like(u, u->factors[RATE], v), v));
}

/* The kernels. */

static const formula adagrad = {adagrad_begin, adagrad_step};
static const formula adam = {adam_begin, adam_step};
static const formula momentum = {momentum_begin, momentum_step};

static void
run_lanes(cpu_job *j, cg_value i, int lanes, void *user)
{
    const update *u = user;
    cg *g = j->g;
    element e;

    e.x = glow_cg_load(g, j->in[X], i, lanes);
    e.g = glow_cg_load(g, j->in[G], i, lanes);
    for (int k = KEPT; k < j->n->n_in; k++)
        e.kept[k - KEPT] = glow_cg_load(g, j->in[k], i, lanes);
    u->by->step(u, &e);
    glow_cg_store(g, j->out[0], i, e.x);
    for (int k = 1; k < j->n->n_out; k++)
        glow_cg_store(g, j->out[k], i, e.kept[k - 1]);
}

/* Whole vectors of the chunks `begin` to less than `end`, then the last elements. */
static void
run_chunks(update *u)
{
    cpu_job *j = u->j;
    cg *g = j->g;
    int lanes = glow_cpu_lanes(g->target, 4);
    int64_t count = glow_type_count(j->n->in[X]->type), rest = count % lanes;
    cg_value whole = cg_i64(g, count - rest);
    cg_value begin = cg_mulc(g, j->begin, CHUNK);
    cg_value end = cg_mulc(g, j->end, CHUNK);
    cg_loop l;
    cg_if last;

    if (!j->split) {
        glow_cpu_lanes_for(j, 0, count, run_lanes, u);
        return;
    }
    glow_cg_loop_guarded(g, &l, begin, glow_cg_imin(g, end, whole), lanes, NULL,
                         0);
    run_lanes(j, l.i, lanes, u);
    glow_cg_loop_end(g, &l, NULL);
    if (!rest)
        return;
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntSGT, end, whole));
    glow_cpu_lanes_for(j, count - rest, rest, run_lanes, u);
    glow_cg_end_if(g, &last);
}

static void
emit_by(cpu_job *j, const formula *by)
{
    update u = {.j = j, .by = by, .c = glow_cg_computed(j->g, j->in[X].type)};

    by->begin(&u);
    run_chunks(&u);
}

static int64_t
units(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return cg_ceil_div(glow_type_count(n->in[X]->type), CHUNK);
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return glow_type_count(n->in[X]->type) > 0;
}

#define UPDATE(optimizer)                     \
    static void emit_##optimizer(cpu_job *j)  \
    {                                         \
        emit_by(j, &optimizer);               \
    }                                         \
                                              \
    const cpu_kernel glow_cpu_##optimizer = { \
        .name = #optimizer,                   \
        .op = &glow_op_##optimizer,           \
        .takes = takes,                       \
        .emit = emit_##optimizer,             \
        .units = units,                       \
    };

UPDATE(adagrad)
UPDATE(adam)
UPDATE(momentum)
