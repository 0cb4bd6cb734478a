/*
 * strassen: Strassen's algorithm for products of large matrices.
 *
 *     %y = FullyConnected(%x, @w, @b) : float<128 x 3072>
 *
 * Halves of the rows, the depth and the columns make four blocks of each
 * matrix.  Seven products of blocks do for eight, by Winograd's form of
 * Strassen's algorithm:
 *
 *     S1 = X21 + X22     T1 = W12 - W11     P = X11 W11
 *     S2 = S1 - X11      T2 = W22 - T1      U = P + S2 T2
 *     S3 = X11 - X21     T3 = W22 - W12     V = U + S1 T1
 *     S4 = X12 - S2      T4 = W21 - T2      Q = S3 T3
 *
 *     Y11 = P + X12 W21          Y12 = V + S4 W22
 *     Y21 = U + Q + X22 T4       Y22 = V + Q
 *
 * All but one of the sums of results are epilogues of products, and
 * fold-constants evaluates the sums of weights.  The seven products are split
 * recursively where this is profitable too.  With an odd number of rows the
 * middle one is in both halves, and the upper half's result of it is dropped.
 * With an odd number of columns the last one is a separate product.
 *
 * A chain of element-wise nodes behind the product, without other users, is
 * computed block by block.
 *
 * Costs: weights grow by 7/4 with each level, and reading them bounds products
 * of few rows; sums read and write blocks at the rate of memory, or NEAR times that
 * rate where the cache holds the BLOCKS of a matrix that are live at once.  So the
 * gain falls where multiplication is faster, as with wider vectors and registers of
 * matrices (the backend says how fast a product is), and where the results of a row of
 * blocks exceed the cache.  The rewrite must save at least LEAST of the time.  All products together may add `growth` percent to the
 * constants of the module: a knapsack, filled greedily by flops saved for each
 * byte added (Dantzig 1957).  Only products by constant weights are rewritten,
 * whose sums cost nothing at run time.  Pipelines for little memory (-Os) leave
 * products alone, and so does this pass under a limit of memory (-limit), since the
 * results of blocks are live at the same time.
 *
 * The rounding error is bounded by norm instead of by element: the bound is
 * about 4.5 times that of the plain product for each level, and relative to the
 * largest numbers of X and W instead of those of an element's row and column
 * (Higham, Accuracy and Stability of Numerical Algorithms, chapter 23).
 */

#include <inttypes.h>
#include <stdlib.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/target.h"

#define NEAR 4.0   /* times the rate of memory: sums of blocks in the cache */
#define BLOCKS 4   /* of each matrix, that the cache has to hold for that */
#define LEAST 0.05 /* least part of the time that a level must save */
#define SUMS 12    /* blocks moved for sums of X, and as many of results */
#define NODES 15   /* additional nodes of a level */
#define MOST_CHAIN 8
#define MOST_WEIGHTS (INT64_C(256) << 20) /* bytes: limit of fold-constants */

typedef struct options {
    int64_t levels;
    int64_t cache;
    int64_t growth; /* percent */
    bool all;
} options;

/* [rows, depth] by [depth, columns]. */
typedef struct sizes {
    int64_t rows, depth, columns;
} sizes;

/* A product with its operands and bias. */
typedef struct product {
    glow_value *x, *w, *bias;
    sizes s;
} product;

typedef struct maker {
    glow_pass_run *run;
    glow_builder *b;
    int64_t cache;
    bool all;
    double speed; /* of the product, times the rate of the target */
    /* The current product: its result, columns, and the chain behind it. */
    glow_value *whole;
    int64_t columns;
    glow_node *chain[MOST_CHAIN];
    int n_chain;
} maker;

/* The epilogue of a block, and its position in an enclosing result. */
typedef struct tail {
    const struct tail *outer;
    int64_t row, column; /* in `outer` */
    glow_value *add[2];  /* of the same sizes, or NULL */
    bool follows;        /* the chain of element-wise nodes follows */
} tail;

/* Number of levels. */

static sizes
halves(sizes s)
{
    return (sizes){(s.rows + 1) / 2, s.depth / 2, s.columns / 2};
}

/* The time of reading or writing a block of `bytes`, in flops of the target. */
static double
block_time(const maker *m, double bytes)
{
    const glow_target *t = glow_run_target(m->run);
    bool is_near = BLOCKS * bytes <= (double)m->cache;

    return bytes * t->flops_per_second / t->bytes_per_second /
           (is_near ? NEAR : 1);
}

/* The time of the sums of blocks, in flops of the target. */
static double
sums(const maker *m, sizes s, int64_t bytes)
{
    sizes h = halves(s);
    double x = (double)h.rows * (double)h.depth * (double)bytes;
    double y = (double)h.rows * (double)h.columns * (double)bytes;

    return SUMS * (block_time(m, x) + block_time(m, y));
}

/*
 * The time of a product, in flops of the target: at least that of reading its
 * weights.
 */
static double
product_time(const maker *m, sizes s, int64_t bytes)
{
    const glow_target *t = glow_run_target(m->run);
    double weights = (double)s.depth * (double)s.columns;
    double compute = 2 * (double)s.rows * weights / m->speed;
    double read =
        weights * (double)bytes * t->flops_per_second / t->bytes_per_second;

    return compute > read ? compute : read;
}

/*
 * The most profitable number of levels; sets `*time`, in flops of the target.
 */
static int64_t
levels_of(const maker *m, sizes s, int64_t bytes, int64_t most, double *time)
{
    const glow_target *t = glow_run_target(m->run);
    double node = t->seconds_per_node * t->flops_per_second;
    int64_t levels;
    double seven;

    *time = product_time(m, s, bytes);
    if (most <= 0 || s.rows < 2 || s.depth < 2 || s.columns < 2 ||
        s.depth % 2 || s.columns % 2)
        return 0;
    levels = 1 + levels_of(m, halves(s), bytes, most - 1, &seven);
    seven = 7 * seven + sums(m, s, bytes) + NODES * node;
    if (seven > (1 - LEAST) * *time && !m->all)
        return 0;
    *time = seven;
    return levels;
}

/* Blocks. */

static glow_value *
slice(maker *m, glow_value *v, glow_dims start, glow_dims shape)
{
    glow_type t;

    if (!v || glow_dims_equal(v->type->shape, shape))
        return v;
    t = glow_type_of(v->type->elem, shape);
    return GLOW_BUILD_STATED(m->b, slice,
                             glow_type_get(glow_builder_context(m->b), t),
                             GLOW_IN(v), .start = start);
}

static glow_value *
block(maker *m, glow_value *v, int64_t row, int64_t column, int64_t rows,
      int64_t columns)
{
    return slice(m, v, GLOW_DIMS_OF(row, column), GLOW_DIMS_OF(rows, columns));
}

static glow_value *
plus(maker *m, glow_value *a, glow_value *b)
{
    return GLOW_BUILD_PLAIN(m->b, add, GLOW_IN(a, b));
}

static glow_value *
minus(maker *m, glow_value *a, glow_value *b)
{
    return GLOW_BUILD_PLAIN(m->b, sub, GLOW_IN(a, b));
}

static glow_value *
beside(maker *m, int axis, glow_value *a, glow_value *b)
{
    return GLOW_BUILD(m->b, concat, GLOW_IN(a, b), .dim = axis);
}

static glow_value *
as_matrix(maker *m, glow_value *v, int64_t columns)
{
    if (v->type->shape.rank == 2 && v->type->shape.at[1] == columns)
        return v;
    return GLOW_BUILD(
        m->b, reshape, GLOW_IN(v),
        .dims = GLOW_DIMS_OF(glow_type_count(v->type) / columns, columns));
}

/* Builds the chain for the block of the product at `row` and `column`. */
static glow_value *
follow(maker *m, glow_value *v, int64_t row, int64_t column)
{
    const glow_value *whole = m->whole;

    for (int i = 0; i < m->n_chain && v; i++) {
        const glow_node *n = m->chain[i];
        glow_dims shape = v->type->shape;
        glow_value *in[GLOW_MAX_OPERANDS];

        for (int k = 0; k < n->n_in; k++)
            in[k] = n->in[k] == whole
                        ? v
                        : block(m, as_matrix(m, n->in[k], m->columns), row,
                                column, shape.at[0], shape.at[1]);
        whole = n->out[0];
        if (n->op != &glow_op_reshape)
            v = glow_build(m->b, n->op, NULL, in, n->n_in, n->attrs);
    }
    return v;
}

/* Applies the epilogues `t` to the block at `row` and `column` of a result. */
static glow_value *
finish(maker *m, glow_value *v, const tail *t, int64_t row, int64_t column)
{
    for (; t && v; t = t->outer) {
        glow_dims shape = v->type->shape;

        for (int i = 0; i < 2 && t->add[i]; i++)
            v = plus(
                m, v,
                block(m, t->add[i], row, column, shape.at[0], shape.at[1]));
        if (t->follows)
            v = follow(m, v, row, column);
        row += t->row;
        column += t->column;
    }
    return v;
}

/* Rewriting. */

static glow_value *
multiply(maker *m, product p, int64_t levels, const tail *t)
{
    sizes h = halves(p.s), up = {p.s.rows - h.rows, h.depth, h.columns};
    int64_t low = up.rows, d = h.depth, c = h.columns;
    glow_value *x11, *x12, *x21, *x22, *w11, *w12, *w21, *w22, *b1, *b2;
    glow_value *s1, *s2, *s3, *s4, *t1, *t2, *t3, *t4, *p1, *u, *v, *q;
    glow_value *y11, *y12, *y21, *y22, *top, *sum;

    if (levels == 0) {
        glow_value *y = p.bias
                            ? GLOW_BUILD(m->b, fullyconnected,
                                         GLOW_IN(p.x, p.w, p.bias), .axis = 1)
                            : GLOW_BUILD_PLAIN(m->b, matmul, GLOW_IN(p.x, p.w));

        return finish(m, y, t, 0, 0);
    }
    levels--;
    x11 = block(m, p.x, 0, 0, h.rows, d);
    x12 = block(m, p.x, 0, d, h.rows, d);
    x21 = block(m, p.x, low, 0, h.rows, d);
    x22 = block(m, p.x, low, d, h.rows, d);
    w11 = block(m, p.w, 0, 0, d, c);
    w12 = block(m, p.w, 0, c, d, c);
    w21 = block(m, p.w, d, 0, d, c);
    w22 = block(m, p.w, d, c, d, c);
    b1 = slice(m, p.bias, GLOW_DIMS_OF(0), GLOW_DIMS_OF(c));
    b2 = slice(m, p.bias, GLOW_DIMS_OF(c), GLOW_DIMS_OF(c));
    s1 = plus(m, x21, x22);
    s2 = minus(m, s1, x11);
    s3 = minus(m, x11, x21);
    s4 = minus(m, x12, s2);
    t1 = minus(m, w12, w11);
    t2 = minus(m, w22, t1);
    t3 = minus(m, w22, w12);
    t4 = minus(m, w21, t2);

    p1 = multiply(m, (product){x11, w11, NULL, h}, levels, NULL);
    top = block(m, x12, 0, 0, low, d);
    sum = block(m, p1, 0, 0, low, c);
    y11 = multiply(m, (product){top, w21, b1, up}, levels,
                   &(tail){.outer = t, .add = {sum}});
    u = multiply(m, (product){s2, t2, NULL, h}, levels, &(tail){.add = {p1}});
    q = multiply(m, (product){s3, t3, NULL, h}, levels, NULL);
    y21 = multiply(m, (product){x22, t4, b1, h}, levels,
                   &(tail){.outer = t, .row = low, .add = {u, q}});
    v = multiply(m, (product){s1, t1, b2, h}, levels, &(tail){.add = {u}});
    y22 = finish(m, plus(m, v, q), t, low, c);
    top = block(m, s4, 0, 0, low, d);
    sum = block(m, v, 0, 0, low, c);
    y12 = multiply(m, (product){top, w22, NULL, up}, levels,
                   &(tail){.outer = t, .column = c, .add = {sum}});
    y11 = beside(m, 1, y11, y12);
    y21 = beside(m, 1, y21, y22);
    return beside(m, 0, y11, y21);
}

/* Choice of products. */

/* A product by a matrix of equal numbers stays: its columns are equal to the bit. */
static bool
is_product(const glow_node *n)
{
    double number;

    return (glow_is(n, &glow_op_fullyconnected) ||
            glow_is(n, &glow_op_matmul)) &&
           !n->pred && glow_is_float(n->out[0]->type->elem) &&
           glow_kind_get(n->out[0]->type->elem)->bytes >= 4 &&
           glow_is_constant_like(n->in[1]) &&
           !glow_splat_value(n->in[1], &number) &&
           glow_type_bytes(n->in[1]->type) <= MOST_WEIGHTS;
}

static sizes
sizes_of(const glow_node *n)
{
    glow_dims w = n->in[1]->type->shape;
    int64_t count = glow_type_count(n->out[0]->type);

    return (sizes){w.at[1] ? count / w.at[1] : 0, w.at[0], w.at[1] / 2 * 2};
}

/* True if `n` can be computed on blocks of its operand `of`. */
static bool
can_follow(const glow_node *n, const glow_value *of)
{
    if (n->pred || n->n_out != 1 || n->out[0]->type->elem != of->type->elem)
        return false;
    if (n->op == &glow_op_reshape)
        return true;
    if (!(n->op->traits & GLOW_PURE) || !(n->op->traits & GLOW_ELEMENTWISE) ||
        glow_states_type(n) || n->n_in > GLOW_MAX_OPERANDS)
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (!n->in[i] ||
            glow_type_count(n->in[i]->type) != glow_type_count(n->out[0]->type))
            return false;
    return true;
}

/* Finds the chain of element-wise nodes without other users behind `n`. */
static void
find_chain(maker *m, const glow_node *n)
{
    const glow_value *end = n->out[0];
    int useful = 0;

    m->n_chain = 0;
    while (m->n_chain < MOST_CHAIN && glow_has_one_use(end) &&
           can_follow(end->uses->user, end)) {
        glow_node *next = end->uses->user;

        m->chain[m->n_chain++] = next;
        if (next->op != &glow_op_reshape)
            useful = m->n_chain;
        end = next->out[0];
    }
    m->n_chain = useful;
}

/* The product `n` for the columns of `s` from `first` on. */
static product
columns_of(maker *m, const glow_node *n, glow_value *x, int64_t first, sizes s)
{
    product p = {.x = x, .s = s};

    p.w = block(m, n->in[1], 0, first, s.depth, s.columns);
    if (n->n_in > 2)
        p.bias =
            slice(m, n->in[2], GLOW_DIMS_OF(first), GLOW_DIMS_OF(s.columns));
    return p;
}

static bool
replace(maker *m, glow_node *n, int64_t levels)
{
    glow_node *last = m->n_chain ? m->chain[m->n_chain - 1] : n;
    const char *name = last->name;
    const tail chain = {.follows = true};
    sizes s = sizes_of(n);
    glow_value *x, *y;

    glow_builder_at(m->b, last);
    m->whole = n->out[0];
    m->columns = n->in[1]->type->shape.at[1];
    x = as_matrix(m, n->in[0], s.depth);
    y = multiply(m, columns_of(m, n, x, 0, s), levels, &chain);
    if (s.columns < m->columns) {
        const tail beyond = {.outer = &chain, .column = s.columns};
        product p = columns_of(m, n, x, s.columns, (sizes){s.rows, s.depth, 1});

        y = beside(m, 1, y, multiply(m, p, 0, &beyond));
    }
    if (y && !glow_dims_equal(y->type->shape, last->out[0]->type->shape))
        y = GLOW_BUILD(m->b, reshape, GLOW_IN(y),
                       .dims = last->out[0]->type->shape);
    if (!y)
        return false;
    glow_replace_uses(last->out[0], y);
    for (int i = m->n_chain; i > 0; i--)
        glow_node_erase(m->chain[i - 1]);
    glow_node_erase(n);
    glow_node_rename(y->def, name);
    return true;
}

/* A profitable product. */
typedef struct candidate {
    glow_node *n;
    int64_t levels;
    int64_t added;      /* bytes of weights */
    double time, plain; /* in flops of the target, with and without levels */
    int order;
} candidate;

/* The bytes by which `levels` increase the weights of `n`. */
static int64_t
added_bytes(const glow_node *n, int64_t levels)
{
    double bytes = (double)glow_type_bytes(n->in[1]->type), all = bytes;

    while (levels-- > 0)
        all *= 7.0 / 4;
    all -= glow_has_one_use(n->in[1]) ? bytes : 0;
    return all < 0x1p62 ? (int64_t)all : INT64_C(1) << 62;
}

static bool
is_worth_it(maker *m, glow_node *n, int64_t most, candidate *c)
{
    int64_t bytes = glow_kind_get(n->out[0]->type->elem)->bytes;
    sizes s = sizes_of(n);

    m->speed = glow_node_speed(m->run, n);
    *c = (candidate){.n = n, .plain = product_time(m, s, bytes)};
    c->levels = levels_of(m, s, bytes, most, &c->time);
    c->added = added_bytes(n, c->levels);
    return c->levels > 0;
}

static void
remark_done(const maker *m, const candidate *c)
{
    sizes s = sizes_of(c->n);

    glow_run_remark(m->run, c->n, true,
                    "multiplies %" PRId64 " x %" PRId64 " by %" PRId64
                    " x %" PRId64 " at %" PRId64
                    " levels, in the time of %.0f operations instead of %.0f, "
                    "with %" PRId64 " bytes more of weights",
                    s.rows, s.depth, s.depth, s.columns, c->levels, c->time,
                    c->plain, c->added);
}

/* Orders by decreasing flops saved for each byte; equal ones by position. */
static int
by_gain(const void *x, const void *y)
{
    const candidate *a = x, *b = y;
    double i = (a->plain - a->time) * (double)b->added;
    double j = (b->plain - b->time) * (double)a->added;

    return i != j ? (i < j) - (i > j)
                  : (a->order > b->order) - (a->order < b->order);
}

static int
by_order(const void *x, const void *y)
{
    const candidate *a = x, *b = y;

    return (a->order > b->order) - (a->order < b->order);
}

/* `percent` of the bytes of all constants. */
static int64_t
budget_of(const glow_module *m, int64_t percent)
{
    int64_t bytes = 0;

    GLOW_FOR_EACH_STORAGE(s, m)
        if (s->is_constant)
            bytes = glow_add_most(bytes, glow_type_bytes(s->value.type));
    return (int64_t)((double)bytes / 100 * (double)percent);
}

/*
 * Keeps the candidates that fit the budget, greedily, in the order of the
 * nodes.
 */
static size_t
choose(const maker *m, candidate *at, size_t count, int64_t budget)
{
    size_t kept = 0;

    glow_sort(at, count, sizeof *at, by_gain);
    for (size_t i = 0; i < count; i++)
        if (m->all || at[i].added <= budget) {
            budget -= m->all ? 0 : at[i].added;
            at[kept++] = at[i];
        } else {
            glow_run_remark(m->run, at[i].n, false,
                            "Strassen's algorithm would add %" PRId64
                            " bytes to the weights, of which %" PRId64
                            " are left (-strassen=growth=PERCENT)",
                            at[i].added, budget);
        }
    glow_sort(at, kept, sizeof *at, by_order);
    return kept;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const options *o = glow_run_options(pass);
    glow_arena *a = glow_run_scratch(pass);
    maker m = {.run = pass, .all = o->all};
    glow_result result = GLOW_UNCHANGED;
    candidate *products = NULL;
    size_t count = 0, cap = 0;

    m.cache = o->cache ? o->cache : glow_run_cache(pass);
    if (!m.all && (m.cache == 0 || glow_run_limit(pass) > 0))
        return GLOW_UNCHANGED;
    GLOW_FOR_EACH_NODE(n, f) {
        candidate c;

        if (!is_product(n) || !is_worth_it(&m, n, o->levels, &c))
            continue;
        c.order = (int)count;
        products = glow_arena_grow(a, products, count, &cap, sizeof c);
        products[count++] = c;
    }
    if (count == 0)
        return GLOW_UNCHANGED;
    count = choose(&m, products, count, budget_of(f->module, o->growth));
    m.b = glow_builder_new(a, f, glow_run_pass(pass)->name);
    for (size_t i = 0; i < count; i++) {
        if (!glow_run_may_rewrite(pass))
            break;
        remark_done(&m, &products[i]);
        find_chain(&m, products[i].n);
        if (!replace(&m, products[i].n, products[i].levels))
            return GLOW_FAILED;
        glow_run_count(pass, "products", 1);
        result = GLOW_CHANGED;
    }
    return result;
}

const glow_pass glow_pass_strassen = {
    .name = "strassen",
    .summary = "Strassen's algorithm for products of large matrices",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .options = {GLOW_FIELD_DEFAULT(options, levels, GLOW_INT64,
                                   "at most; each makes weights 7/4 as large"),
                GLOW_FIELD_DEFAULT(options, cache, GLOW_BYTES,
                                   "that holds what sums work on; 0: that of "
                                   "the backend's machine, if it has one"),
                GLOW_FIELD_DEFAULT(options, growth, GLOW_INT64,
                                   "percent that constants may grow by"),
                GLOW_FIELD_DEFAULT(options, all, GLOW_FLAG,
                                   "products of any size, whether it pays, "
                                   "and whatever it adds")},
    .defaults = &(const options){.levels = 1, .growth = 25},
    .run = run,
    .source = "Strassen, Gaussian elimination is not optimal, Numerische "
              "Mathematik 13, 1969; Winograd's form as in Douglas, Heroux, "
              "Slishman, Smith, GEMMW, J. Comp. Physics 110, 1994",
};
