/*
 * Tiled transpose through registers, for permutations that move the last axis.
 *
 * Let `l` run along the last axis of the result and `u` along the last axis of
 * the operand.  A tile is a range of each.  It is read as vectors along u and
 * written as vectors along l; between the two are log2 of the shorter side
 * rounds of shuffles: interleaving (zip) where there are fewer vectors than
 * lanes, else unzipping even and odd lanes.  Tiles whose rows are contiguous
 * are read or written as whole vectors.
 *
 *     for each outer index and vector of u         units
 *       for each vector of l                       the last shorter: a tail
 *         lanes x lanes elements through registers
 */

#include "codegen/cpu/kernels/common.h"
#include "codegen/cpu/kernels/move/shuffle.h"
#include "codegen/cpu/move.h"

#define SHORT_BYTES 16 /* of a vector of elements of 8 and 16 bits */

/* An axis of the result: steps in elements of the operand, in rows of it. */
typedef struct axis {
    int64_t size, from, row;
} axis;

typedef struct turn {
    axis u, l;
    axis outer[GLOW_MAX_RANK];
    int n_outer;
} turn;

/*
 * Appends an axis; merges it with the axis before if the operand's strides
 * allow it.
 */
static void
add_axis(turn *t, axis a)
{
    axis *last = t->n_outer ? &t->outer[t->n_outer - 1] : NULL;

    if (a.size == 1)
        return;
    if (last && last->from == a.size * a.from) {
        *last = (axis){last->size * a.size, a.from, a.row};
        return;
    }
    t->outer[t->n_outer++] = a;
}

static bool
turn_of(const glow_node *n, turn *t)
{
    glow_dims y = n->out[0]->type->shape;
    int64_t row = 1;
    axis axes[GLOW_MAX_RANK];
    cpu_move m;

    *t = (turn){0};
    if (y.rank < 2 || !glow_cpu_move(n, 0, &m))
        return false;
    for (int d = y.rank - 2; d >= 0; d--) {
        axes[d] = (axis){y.at[d], m.step.at[d], row};
        row *= y.at[d];
    }
    for (int d = 0; d < y.rank - 1; d++)
        add_axis(t, axes[d]);
    t->l = (axis){y.at[y.rank - 1], m.step.at[y.rank - 1], 0};
    for (int i = 0; i < t->n_outer; i++)
        if (t->outer[i].from == 1) {
            t->u = t->outer[i];
            for (t->n_outer--; i < t->n_outer; i++)
                t->outer[i] = t->outer[i + 1];
        }
    return t->u.size > 1 && t->l.size > 1 && t->l.from > 1;
}

/* Kinds of 8, 16 and 32 bits whose elements are computed as they are stored. */
static bool
is_tiled(const glow_type *x)
{
    int klass = (int)glow_kind_get(x->elem)->klass;

    return glow_cg_bytes(x) <= 4 &&
           (x->elem == GLOW_FLOAT || klass == GLOW_CLASS_INT ||
            klass == GLOW_CLASS_QUANTIZED);
}

static bool
takes_transpose(const cpu_target *target, const glow_node *n)
{
    turn t;

    return target && target->vector_bytes > 4 && is_tiled(n->in[0]->type) &&
           turn_of(n, &t);
}

/*
 * Lanes of a side of a tile: a vector, but of short elements one of 128 bits, whose
 * shuffles take one instruction on all targets and whose tile fits the registers.
 */
static int
side(const cpu_target *target, const glow_type *x)
{
    int bytes = glow_cg_bytes(x), vector = target->vector_bytes;

    return bytes < 4 && vector > SHORT_BYTES ? SHORT_BYTES / bytes
                                             : vector / bytes;
}

/* Shuffles. */

static cg_value
pick(cg *g, cg_value a, cg_value b, const int *order, int lanes)
{
    cg_value at[2 * CPU_MOST_LANES];

    for (int i = 0; i < lanes; i++)
        at[i] = LLVMConstInt(g->i32, (unsigned)order[i], false);
    return LLVMBuildShuffleVector(g->builder, a, b,
                                  LLVMConstVector(at, (unsigned)lanes), "");
}

/* Lanes [first, first + lanes) of `v`. */
static cg_value
cut_lanes(cg *g, cg_value v, int first, int lanes)
{
    int order[CPU_MOST_LANES];

    if (lanes == 1)
        return LLVMBuildExtractElement(
            g->builder, v, LLVMConstInt(g->i32, (unsigned)first, false), "");
    for (int i = 0; i < lanes; i++)
        order[i] = first + i;
    return pick(g, v, LLVMGetPoison(LLVMTypeOf(v)), order, lanes);
}

/* a[0] b[0] a[1] b[1] ... of the lower or upper halves. */
static cg_value
zip(cg *g, cg_value a, cg_value b, bool upper)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(a)), order[CPU_MOST_LANES];

    for (int i = 0; i < lanes; i++)
        order[i] = i / 2 + (upper ? lanes / 2 : 0) + (i % 2 ? lanes : 0);
    return pick(g, a, b, order, lanes);
}

/* The even or the odd lanes of `a` and then `b`. */
static cg_value
unzip(cg *g, cg_value a, cg_value b, bool odd)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(a)), order[CPU_MOST_LANES];

    for (int i = 0; i < lanes; i++)
        order[i] = 2 * i + odd;
    return pick(g, a, b, order, lanes);
}

/* Interleaves vectors: lane 0 of all, lane 1 of all, ... */
void
glow_cpu_interleave(cg *g, cg_value *v, int n)
{
    cg_value even[CPU_MOST_LANES], odd[CPU_MOST_LANES];

    if (n == 1)
        return;
    for (int i = 0; i < n / 2; i++) {
        even[i] = v[2 * i];
        odd[i] = v[2 * i + 1];
    }
    glow_cpu_interleave(g, even, n / 2); /* as deep as n has bits */
    glow_cpu_interleave(g, odd, n / 2);
    for (int i = 0; i < n / 2; i++) {
        v[2 * i] = zip(g, even[i], odd[i], false);
        v[2 * i + 1] = zip(g, even[i], odd[i], true);
    }
}

/* Deinterleaves `n` vectors: the inverse of glow_cpu_interleave. */
static void
take_apart(cg *g, cg_value *v, int n)
{
    cg_value even[CPU_MOST_LANES], odd[CPU_MOST_LANES];

    if (n == 1)
        return;
    for (int i = 0; i < n / 2; i++) {
        even[i] = unzip(g, v[2 * i], v[2 * i + 1], false);
        odd[i] = unzip(g, v[2 * i], v[2 * i + 1], true);
    }
    take_apart(g, even, n / 2);
    take_apart(g, odd, n / 2);
    for (int i = 0; i < n / 2; i++) {
        v[2 * i] = even[i];
        v[2 * i + 1] = odd[i];
    }
}

/* Concatenates the `n` vectors of `v` into one. */
static cg_value
append(cg *g, cg_value *v, int n)
{
    cg_value at[CPU_MOST_LANES];
    int order[2 * CPU_MOST_LANES];

    for (int i = 0; i < n; i++)
        at[i] = v[i];
    for (; n > 1; n /= 2) {
        int lanes = 2 * glow_cg_lanes(LLVMTypeOf(at[0]));

        for (int i = 0; i < lanes; i++)
            order[i] = i;
        for (int i = 0; i < n / 2; i++)
            at[i] = pick(g, at[2 * i], at[2 * i + 1], order, lanes);
    }
    return at[0];
}

/* Tiles. */

/*
 * A range of an axis: `some` elements from `at` on, in vectors of `lanes`
 * lanes.
 */
typedef struct stretch {
    cg_value at;
    int some, lanes;
} stretch;

typedef struct tile {
    const turn *t;
    cg_value from, row; /* element of the operand, row of the result */
    stretch u, l;
} tile;

/*
 * Loads vector `i` along u, at index `i` of the tile along l; zeros beyond the
 * tile.
 */
static cg_value
load_u(cpu_job *j, const tile *x, int i)
{
    cg *g = j->g;
    cg_value at = cg_add(g, x->from, x->u.at), v;

    if (i >= x->l.some)
        return LLVMConstNull(
            glow_cg_vector(glow_cg_computed(g, j->in[0].type), x->u.lanes));
    at = cg_add(g, at, cg_mulc(g, x->l.at, x->t->l.from));
    g->live = x->u.some;
    v = glow_cg_load(g, j->in[0], cg_addc(g, at, i * x->t->l.from), x->u.lanes);
    g->live = 0;
    return v;
}

/* Stores vector `v`, row `r` along l. */
static void
put_l(cpu_job *j, const tile *x, int r, cg_value v)
{
    cg *g = j->g;
    int64_t step = x->t->u.row;
    cg_value row = cg_add(g, x->row, cg_mulc(g, x->u.at, step));

    g->live = x->l.some;
    glow_cpu_finish(j, (cpu_place){cg_addc(g, row, r * step), x->l.at, 0, 0},
                    v);
    g->live = 0;
}

/*
 * True if the rows of the tile are contiguous in the result, and no
 * element-wise operation is fused.
 */
static bool
is_joined(const cpu_job *j, const tile *x)
{
    return j->step->n_items == 0 && !j->out[0].type->strides.rank &&
           x->t->u.row == 1 && x->l.some == x->t->l.size;
}

/*
 * Vector `i` of the interleaved `n` vectors: lane 0 of all, lane 1 of all, ...
 */
static cg_value
weave(cg *g, cg_value const *v, int n, int i)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(v[0])), order[CPU_MOST_LANES];
    cg_value row = v[0];

    for (int k = 1; k < n; k++) {
        for (int lane = 0; lane < lanes; lane++) {
            int at = i * lanes + lane;

            if (at % n == k)
                order[lane] = lanes + at / n;
            else
                order[lane] = k == 1 ? at / n : lane;
        }
        row = pick(g, row, v[k], order, lanes);
    }
    return row;
}

/*
 * A row joined from rows shorter than a vector, such as the pixels of images of
 * three channels: stores of a few lanes each cost more than the shuffles.
 */
static void
turn_joined(cpu_job *j, const tile *x)
{
    cg *g = j->g;
    cg_value v[CPU_MOST_LANES];
    cg_value at = cg_mulc(g, cg_add(g, x->row, x->u.at), x->l.some);

    for (int i = 0; i < x->l.some; i++)
        v[i] = load_u(j, x, i);
    for (int i = 0; i * x->u.lanes < x->u.some * x->l.some; i++) {
        g->live = x->u.some * x->l.some - i * x->u.lanes;

        cg_value woven = weave(g, v, x->l.some, i);

        glow_cg_store(g, j->out[0], cg_addc(g, at, i * x->u.lanes), woven);
        g->live = 0;
    }
}

/* Tiles with at least as many lanes along u as along l. */
static void
turn_wide(cpu_job *j, const tile *x)
{
    cg *g = j->g;
    cg_value v[CPU_MOST_LANES];
    int each = x->u.lanes / x->l.lanes; /* rows in a vector */

    if (is_joined(j, x) && x->l.some < x->l.lanes) {
        turn_joined(j, x);
        return;
    }
    for (int i = 0; i < x->l.lanes; i++)
        v[i] = load_u(j, x, i);
    glow_cpu_interleave(g, v, x->l.lanes);
    if (!is_joined(j, x)) {
        for (int r = 0; r < x->u.some; r++)
            put_l(j, x, r,
                  cut_lanes(g, v[r / each], r % each * x->l.lanes, x->l.lanes));
        return;
    }
    for (int i = 0; i * each < x->u.some; i++) {
        cg_value at = cg_mulc(g, cg_add(g, x->row, x->u.at), x->l.lanes);

        g->live = (x->u.some - i * each) * x->l.lanes;
        glow_cg_store(g, j->out[0], cg_addc(g, at, i * x->u.lanes), v[i]);
        g->live = 0;
    }
}

static void
turn_narrow(cpu_job *j, const tile *x)
{
    cg *g = j->g;
    cg_value v[CPU_MOST_LANES], one[CPU_MOST_LANES];
    int each = x->l.lanes / x->u.lanes;

    for (int i = 0; i < x->u.lanes; i++) {
        for (int k = 0; k < each; k++)
            one[k] = load_u(j, x, i * each + k);
        v[i] = append(g, one, each);
    }
    take_apart(g, v, x->u.lanes);
    for (int r = 0; r < x->u.some; r++)
        put_l(j, x, r, v[r]);
}

static void
turn_tile(cpu_job *j, const tile *x)
{
    if (x->u.lanes >= x->l.lanes)
        turn_wide(j, x);
    else
        turn_narrow(j, x);
}

/* All tiles along l for one vector of u. */
static void
turn_line(cpu_job *j, tile *x)
{
    cg *g = j->g;
    int lanes = side(g->target, j->in[0].type);
    int64_t rest = x->t->l.size % lanes, whole = x->t->l.size - rest;
    cg_loop l;

    if (whole) {
        x->l = (stretch){NULL, lanes, lanes};
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), lanes, NULL, 0);
        x->l.at = l.i;
        turn_tile(j, x);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (!rest)
        return;
    x->l = (stretch){cg_i64(g, whole), (int)rest, glow_cg_lanes_over(rest)};
    turn_tile(j, x);
}

/* Units: the outer axes, and vectors along u. */
static glow_dims
units_of(const turn *t, int lanes)
{
    glow_dims d = {.rank = t->n_outer + 1};

    for (int i = 0; i < t->n_outer; i++)
        d.at[i] = t->outer[i].size;
    d.at[t->n_outer] = (t->u.size + lanes - 1) / lanes;
    return d;
}

static void
emit_transpose(cpu_job *j)
{
    cg *g = j->g;
    int lanes = side(g->target, j->in[0].type);
    turn t;
    tile x = {.t = &t, .from = cg_i64(g, 0), .row = cg_i64(g, 0)};
    cg_nest n;
    cg_if part;

    turn_of(j->n, &t);

    int64_t whole = t.u.size / lanes, rest = t.u.size % lanes;
    glow_dims units = units_of(&t, lanes);

    glow_cpu_unit_nest(j, &n, units, units.rank);
    for (int i = 0; i < t.n_outer; i++) {
        x.from = cg_add(g, x.from, cg_mulc(g, n.at[i], t.outer[i].from));
        x.row = cg_add(g, x.row, cg_mulc(g, n.at[i], t.outer[i].row));
    }

    cg_value block = n.at[t.n_outer];

    x.u.at = cg_mulc(g, block, lanes);
    if (whole) {
        x.u.some = x.u.lanes = lanes;
        glow_cg_if(g, &part, cg_icmp(g, LLVMIntSLT, block, cg_i64(g, whole)));
        turn_line(j, &x);
        glow_cg_end_if(g, &part);
    }
    if (rest) {
        x.u.some = (int)rest;
        x.u.lanes = rest > 1 ? glow_cg_lanes_over(rest) : 2;
        glow_cg_if(g, &part, cg_icmp(g, LLVMIntEQ, block, cg_i64(g, whole)));
        turn_line(j, &x);
        glow_cg_end_if(g, &part);
    }
    glow_cg_nest_end(g, &n);
}

static int64_t
transpose_units(const cpu_target *target, const glow_node *n)
{
    turn t;

    turn_of(n, &t);
    return glow_dims_count(units_of(&t, side(target, n->in[0]->type)));
}

const cpu_kernel glow_cpu_transpose_tiled = {
    .name = "transpose_tiled",
    .op = &glow_op_transpose,
    .takes = takes_transpose,
    .emit = emit_transpose,
    .stacks = true,
    .strides = CPU_STRIDES_IN,
    .units = transpose_units,
};
