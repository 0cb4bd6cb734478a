/*
 * Strassen's algorithm within a product of float by constants: the kernels, when they pay,
 * and the layout of weights.  strassen_loops.c has the algorithm.
 *
 *     weights    [group][part of the depth][block][depth][vectors][lane]
 *                [panel of the last columns][whole depth][vectors][lane]
 *
 * Blocks of two levels are [block of level 1][block of level 2].
 */

#include "codegen/cpu/kernels/direct/strassen.h"

#include "codegen/cpu/kernels/direct/shape.h"
#include "codegen/cpu/kernels/runs.h"

/*
 * Cost model: the time of an element of each sum, in that of a multiplication, on a core
 * that multiplies 64 bytes of floats in a cycle.  FAR: beyond the core's cache; FURTHER:
 * beyond SHARE times that.
 */
#define SUM_OF_X 3.5 /* of an operand */
#define FAR_SUM_OF_X 8.0
#define FURTHER_SUM_OF_X 14.0
#define SHARE 8
#define READ_OF_X 0.2      /* of an operand, for each group */
#define SUM_OF_WEIGHTS 2.0 /* of T */
#define SUM_OF_RESULTS 1.0 /* loads and stores of strips */
#define FAR_SUM_OF_RESULTS 2.5
#define SUMS 4     /* of weights, at a level */
#define STRIPS 22  /* loads and stores for a block of a result */
#define LEAST 0.03 /* part of the multiplications that each level is to save */
#define BLOCKS 2   /* vectors of a panel */
#define SPARE 2    /* registers: for the broadcast, and one more */
#define LEAST_LANES 4

static bool
is_flat(const cpu_direct *d)
{
    return d->kernel_h == 1 && d->kernel_w == 1 && d->stride_h == 1 &&
           d->stride_w == 1 && !d->pad_h && !d->pad_w && d->in_h == d->out_h &&
           d->in_w == d->out_w && d->groups == 1;
}

/* The time of the sums of X. */
static double
operands_time(const cpu_target *t, const cpu_strassen *s)
{
    double elements = (double)strassen_all_products(s) *
                      (double)strassen_rows(s) * (double)s->depth;
    double groups = (double)strassen_groups(s);
    int64_t bytes = strassen_parts(s) * strassen_operands_bytes(s);
    double making = bytes <= t->cache_bytes           ? SUM_OF_X
                    : bytes <= SHARE * t->cache_bytes ? FAR_SUM_OF_X
                                                      : FURTHER_SUM_OF_X;
    double reading = bytes <= t->cache_bytes / 2 ? 0 : READ_OF_X;

    return elements * (making + reading * groups);
}

/* The time of the sums of results: of each part of the depth. */
static double
results_time(const cpu_target *t, const cpu_strassen *s)
{
    double products = (double)strassen_all_products(s) / (double)CPU_PRODUCTS;
    int64_t strips = 0;

    for (int l = 1; l <= s->levels; l++)
        strips += CPU_PRODUCTS * strassen_strip_bytes(s, l);
    return (strips <= t->cache_bytes / 4 ? SUM_OF_RESULTS
                                         : FAR_SUM_OF_RESULTS) *
           STRIPS * products * (double)strassen_parts(s) *
           (double)strassen_rows(s) * (double)s->columns;
}

/*
 * 2 for a core that multiplies 128 bytes in a cycle, whose sums are no faster than those of
 * one that multiplies 64, else 1.
 */
static double
speed_of(const cpu_target *t)
{
    return t->multiplies * t->vector_bytes > CPU_LINE ? 2 : 1;
}

/* The part of the multiplications of `s` that is saved. */
static double
saved_by(const cpu_target *t, const cpu_strassen *s)
{
    double products = (double)strassen_all_products(s);
    double panels = (double)s->depth * (double)s->columns;
    double depth = (double)(s->depth << s->levels);
    double rows = (double)s->rows[0];
    double all = rows * depth * (double)(s->columns << s->levels);
    double weights = SUMS * products / (double)CPU_PRODUCTS +
                     (s->levels == 2 ? SUMS * CPU_BLOCKS : 0);
    double sums = SUM_OF_WEIGHTS * weights * panels + operands_time(t, s) +
                  results_time(t, s);

    return (all - products * (double)strassen_rows(s) * panels -
            speed_of(t) * sums) /
           (rows * depth * (double)s->sums.outputs);
}

/* Cuts the depth into equal parts whose panels stay in the L1 cache. */
static int64_t
part_of(const cpu_target *t, const cpu_strassen *s)
{
    int64_t bytes = strassen_panel_bytes(s, s->depth);
    int64_t parts = cg_ceil_div(bytes, CPU_NEAR_BYTES);

    return cg_ceil_div(s->depth, parts * t->unroll) * t->unroll;
}

/* Cuts `s` at `levels` levels; false if it is too small. */
static bool
cut(const cpu_target *t, cpu_strassen *s, int levels)
{
    int most = (t->registers - SPARE - BLOCKS) / BLOCKS;

    s->levels = levels;
    for (int l = 1; l <= levels; l++)
        s->rows[l] = (s->rows[l - 1] + 1) / 2;
    s->depth = s->sums.channels >> levels;
    s->columns =
        s->sums.outputs / (strassen_panel(s) << levels) * strassen_panel(s);
    s->rest = s->sums.outputs - (s->columns << levels);
    if (s->sums.channels % (1 << levels) || s->rows[levels - 1] < 2 ||
        s->depth < t->unroll || s->columns < 1)
        return false;
    s->tile = glow_cpu_best_rows(strassen_rows(s), BLOCKS, most);
    s->part = part_of(t, s);
    return true;
}

/*
 * True if operand 1 is constant, and not one number: equal filters give equal results by
 * the direct kernel, and a SoftMax of large equal numbers shows any difference.
 */
static bool
has_weights(const glow_node *n)
{
    return glow_cpu_is_whole_constant(n->in[1]) &&
           glow_cpu_whole_constant(n->in[1])->payload != GLOW_SPLAT;
}

static bool
strassen_of(const cpu_target *t, const glow_node *n, cpu_strassen *s)
{
    bool is_conv = n->op == &glow_op_convolution, found = false;
    double best = 0;
    cpu_strassen c;
    cpu_direct d;

    if (!t || t->strassen == GLOW_STRASSEN_OFF ||
        !glow_cpu_all(n, GLOW_FLOAT) || !has_weights(n))
        return false;
    if (is_conv && !glow_cpu_conv_of(n, &d))
        return false;
    if (!is_conv)
        d = glow_cpu_product_of(n);
    c = (cpu_strassen){
        .sums = d,
        .lanes = t->vector_bytes / (int)sizeof(float),
        .blocks = BLOCKS,
    };
    if (!is_flat(&d) || !d.pixel || d.w_batch || c.lanes < LEAST_LANES)
        return false;
    c.rows[0] = d.batch * d.out_h * d.out_w;
    for (int levels = 1; levels <= CPU_MOST_LEVELS; levels++) {
        if (!cut(t, &c, levels) || (found && saved_by(t, &c) < best + LEAST))
            continue;
        best = saved_by(t, &c);
        *s = c;
        found = true;
    }
    return found;
}

static bool
takes_strassen(const cpu_target *t, const glow_node *n)
{
    cpu_strassen s;

    return strassen_of(t, n, &s) && saved_by(t, &s) >= LEAST;
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
    vectors = (s.columns << s.levels) / s.lanes + cg_ceil_div(s.rest, s.lanes);
    return (s.depth << s.levels) * vectors * s.lanes * (int64_t)sizeof(float);
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

/* Packs the panels of group `group` of all blocks, of `depth` rows from `row` on. */
static float *
pack_group(const cpu_strassen *s, const matrix *w, int64_t group, int64_t row,
           int64_t depth, float *to)
{
    int64_t column = group * strassen_panel(s);

    for (int64_t i = 0; i < strassen_all_blocks(s); i++) {
        int64_t from = row, at = column, b = i;

        for (int l = s->levels; l > 0; l--, b /= CPU_BLOCKS) {
            from += strassen_block_row(b % CPU_BLOCKS) *
                    (s->depth << (s->levels - l));
            at += strassen_block_column(b % CPU_BLOCKS) *
                  (s->columns << (s->levels - l));
        }
        to = pack_panel(w, from, depth, at, strassen_panel(s), to);
    }
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
    for (int64_t g = 0; g < strassen_groups(&s); g++)
        for (int64_t k = 0; k < s.depth; k += s.part) {
            int64_t left = s.depth - k;

            at = pack_group(&s, &w, g, k, left < s.part ? left : s.part, at);
        }
    for (int64_t i = 0; i * strassen_panel(&s) < s.rest; i++)
        at = pack_panel(&w, 0, s.depth << s.levels,
                        (s.columns << s.levels) + i * strassen_panel(&s),
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
    return strassen_groups(&s) + (s.rest > 0);
}

static void
remark(const cpu_target *t, const glow_node *n, bool taken, glow_buf *b)
{
    cpu_strassen s;

    if (!taken || !strassen_of(t, n, &s))
        return;
    glow_buf_printf(b,
                    "Strassen's algorithm at %d level%s saves %.1f %% of the "
                    "time of the multiplications, with errors relative to the "
                    "largest numbers around",
                    s.levels, s.levels > 1 ? "s" : "", 100 * saved_by(t, &s));
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
