/*
 * Strassen's algorithm within a product of float by constants: the kernels, when they pay,
 * and the layout of weights.  strassen_loops.c has the algorithm.
 *
 *     weights    [pair of panels][W11, W21, W22, W12][depth][vectors][lane]
 *                [panel of the last columns][both halves of the depth][vectors][lane]
 */

#include "codegen/cpu/kernels/direct/strassen.h"

#include "codegen/cpu/kernels/direct/shape.h"
#include "codegen/cpu/kernels/runs.h"

/*
 * Cost model: the time of an element of each sum, in that of a multiplication.  An eighth
 * of the multiplications is saved.
 */
#define SUM_OF_X 3.0       /* of S1 to S4 */
#define SUM_OF_WEIGHTS 4.0 /* of T1 to T4 */
#define SUM_OF_RESULTS 2.0 /* of P, U, V and the blocks of Y */
#define SUMS 4             /* of X, and as many of weights */
#define TARGETS 12 /* loads and stores of strips, for a result of a block */
#define LEAST 0.03 /* part of the multiplications that is saved after all */
#define BLOCKS 2   /* vectors of a panel */
#define SPARE 2    /* registers: for the broadcast, and one more */
#define LEAST_LANES 4
/*
 * Vectors of 64 bytes multiply twice as fast, and weights arrive no faster: 128 x 768 by
 * 768 x 768 takes as long as without.
 */
#define MOST_BYTES 32
static bool
is_flat(const cpu_direct *d)
{
    return d->kernel_h == 1 && d->kernel_w == 1 && d->stride_h == 1 &&
           d->stride_w == 1 && !d->pad_h && !d->pad_w && d->in_h == d->out_h &&
           d->in_w == d->out_w && d->groups == 1;
}

/* The part of the multiplications of `s` that is saved. */
static double
saved_by(const cpu_strassen *s)
{
    double rows = (double)s->half, depth = (double)s->depth;
    double columns = (double)s->columns, all = rows * depth * columns;
    double whole = 2 * rows * 2 * depth * (2 * columns + (double)s->rest);

    return (all - SUM_OF_X * SUMS * rows * depth -
            SUM_OF_WEIGHTS * SUMS * depth * columns -
            SUM_OF_RESULTS * TARGETS * rows * columns) /
           whole;
}

/* Cuts the depth into equal parts whose panels stay in the L1 cache. */
static int64_t
part_of(const cpu_target *t, const cpu_strassen *s)
{
    int64_t bytes = s->depth * strassen_panel(s) * (int64_t)sizeof(float);
    int64_t parts = cg_ceil_div(bytes, CPU_NEAR_BYTES);

    return cg_ceil_div(s->depth, parts * t->unroll) * t->unroll;
}

static bool
strassen_of(const cpu_target *t, const glow_node *n, cpu_strassen *s)
{
    bool is_conv = n->op == &glow_op_convolution;
    cpu_direct d;
    int most;

    if (!t || t->strassen == GLOW_STRASSEN_OFF ||
        !glow_cpu_all(n, GLOW_FLOAT) || !glow_cpu_is_whole_constant(n->in[1]))
        return false;
    if (is_conv && !glow_cpu_conv_of(n, &d))
        return false;
    if (!is_conv)
        d = glow_cpu_product_of(n);
    *s = (cpu_strassen){
        .sums = d,
        .lanes = t->vector_bytes / (int)sizeof(float),
        .blocks = BLOCKS,
    };
    if (!is_flat(&d) || !d.pixel || d.w_batch || d.channels % 2 ||
        s->lanes < LEAST_LANES || t->vector_bytes > MOST_BYTES)
        return false;
    s->rows = d.batch * d.out_h * d.out_w;
    s->half = (s->rows + 1) / 2;
    s->depth = d.channels / 2;
    s->columns = d.outputs / (2 * strassen_panel(s)) * strassen_panel(s);
    s->rest = d.outputs - 2 * s->columns;
    if (s->rows < 2 || s->depth < t->unroll || s->columns < 1)
        return false;
    most = (t->registers - SPARE - BLOCKS) / BLOCKS;
    s->tile = glow_cpu_best_rows(s->half, BLOCKS, most);
    s->part = part_of(t, s);
    return true;
}

static bool
takes_strassen(const cpu_target *t, const glow_node *n)
{
    cpu_strassen s;

    return strassen_of(t, n, &s) && saved_by(&s) >= LEAST;
}

static void
emit_strassen(cpu_job *j)
{
    cpu_strassen s;

    strassen_of(j->g->target, j->n, &s);
    glow_cpu_emit_strassen(j, &s);
}

static int64_t
packed_size(const cpu_target *t, const glow_node *n)
{
    cpu_strassen s;
    int64_t vectors;

    strassen_of(t, n, &s);
    vectors = 2 * s.columns / s.lanes + cg_ceil_div(s.rest, s.lanes);
    return 2 * s.depth * vectors * s.lanes * (int64_t)sizeof(float);
}

/* A matrix of weights: elements between columns, and between rows. */
typedef struct matrix {
    const float *at;
    int64_t column, depth, columns;
} matrix;

/* Packs `depth` rows from `row` on, of `width` columns from `column` on. */
static float *
pack_panel(const matrix *w, int64_t row, int64_t depth, int64_t column,
           int64_t width, float *to)
{
    for (int64_t k = row; k < row + depth; k++)
        for (int64_t c = column; c < column + width; c++)
            *to++ = c < w->columns ? w->at[k * w->depth + c * w->column] : 0;
    return to;
}

static void
pack(const cpu_target *t, const glow_node *n, const glow_tensor *from, void *to)
{
    cpu_strassen s;
    cpu_filter f;
    matrix w;
    float *at = to;

    strassen_of(t, n, &s);
    f = n->op == &glow_op_convolution ? glow_cpu_conv_filter(&s.sums, from)
                                      : glow_cpu_product_filter(&s.sums, from);
    w = (matrix){(const float *)from->data, f.output, f.depth, s.sums.outputs};
    for (int64_t c = 0; c < s.columns; c += strassen_panel(&s)) {
        at = pack_panel(&w, 0, s.depth, c, strassen_panel(&s), at);
        at = pack_panel(&w, s.depth, s.depth, c, strassen_panel(&s), at);
        at = pack_panel(&w, s.depth, s.depth, s.columns + c, strassen_panel(&s),
                        at);
        at = pack_panel(&w, 0, s.depth, s.columns + c, strassen_panel(&s), at);
    }
    for (int64_t i = 0; i * strassen_panel(&s) < s.rest; i++)
        at = pack_panel(&w, 0, 2 * s.depth,
                        2 * s.columns + i * strassen_panel(&s),
                        (int64_t)strassen_rest_blocks(&s, i) * s.lanes, at);
}

static int64_t
room(const cpu_target *t, const glow_node *n)
{
    cpu_strassen s;

    strassen_of(t, n, &s);
    return glow_cpu_strassen_room(&s);
}

static int64_t
units(const cpu_target *t, const glow_node *n)
{
    cpu_strassen s;

    strassen_of(t, n, &s);
    return strassen_pairs(&s) + (s.rest > 0);
}

static void
remark(const cpu_target *t, const glow_node *n, bool taken, glow_buf *b)
{
    cpu_strassen s;

    if (!taken || !strassen_of(t, n, &s))
        return;
    glow_buf_printf(b,
                    "Strassen's algorithm saves %.1f %% of the time of the "
                    "multiplications, with errors relative to the largest "
                    "numbers around",
                    100 * saved_by(&s));
}

#define STRASSEN(id, operator)                    \
    const cpu_kernel glow_cpu_##id##_strassen = { \
        .name = #id "_strassen",                  \
        .op = &glow_op_##operator,                \
        .takes = takes_strassen,                  \
        .strides = CPU_STRIDES_IN,                \
        .emit = emit_strassen,                    \
        .stacks = true,                           \
        .packs = 1,                               \
        .packed_size = packed_size,               \
        .pack = pack,                             \
        .scratch_size = room,                     \
        .units = units,                           \
        .remark = remark,                         \
    }

STRASSEN(conv, convolution);
STRASSEN(fullyconnected, fullyconnected);
STRASSEN(matmul, matmul);
