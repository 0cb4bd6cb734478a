/*
 * quantize-weights: keep weights of products and convolutions in blocks of 8 or 4 bits.
 *
 *     %y = FullyConnected(%x, @w, @b)
 *         => %y = BlockwiseQuantizedFullyConnected(%x, @q, @s, @z, @b)
 *
 *     %y = Convolution(%x, @w, @b) {..}
 *         => %w = BlockwiseDequantize(@q, @s, @z) {..}
 *            %y = Convolution(%x, %w, @b) {..}
 *
 * Activations stay in float, so that no profile is needed.  Weights that are a constant
 * of floats become bytes at once: `block` weights along the depth share a scale, or all
 * of a result with `block` 0.  The first form is for the right operand of FullyConnected
 * and MatMul.  The second is for the filter of Convolution and ConvTranspose, for the
 * left operand of MatMul, and for both of BatchMatMul; a Transpose restores the order of
 * axes where the depth is not the last one.  The depth of a Convolution are its channels,
 * and for each its kernel, because channels differ more in size than taps do.
 *
 *   - With `symmetric` a block has the offset 2^(bits - 1).  The scale is the weight of
 *     largest absolute value over -2^(bits - 1), or its absolute value over one less
 *     than 2^(bits - 1), whichever makes the smaller error.
 *   - Else the numbers from the least to the greatest, with 0, are divided evenly, and
 *     the offset stands for 0.
 *   - Of 4 bits scales nearby are tried, and those that fit the elements best.
 *   - A few weights are rounded the other way, so that the errors of a block add up to
 *     about 0: most activations are positive, and a sum of errors would be a bias.
 *
 * `scales` is the kind of scales: float16 rounds them first, and the weights are
 * quantized by what it leaves.  A node of fewer than `least` weights stays as it is,
 * and `only` and `except` list operators or nodes, by name.
 *
 * The first form makes a product of few rows faster, which reads each weight once, and a
 * program smaller.  The second makes the file smaller: fold-constants leaves it, and its
 * lowering makes constant floats of it.  Not in any pipeline.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/quantize.h"
#include "passes/graph/common/names.h"

typedef struct weights_options {
    int bits;
    int block;
    int scales;
    bool symmetric;
    int least;
    const char *only;
    const char *except;
} weights_options;

static const char *const widths[] = {"8", "4", NULL};
static const char *const kinds[] = {"float", "float16", NULL};

/* The weights of a block. */
typedef struct block {
    const double *w;
    int64_t count;
    int bits;
} block;

/* A scale and an offset: weight = scale * (q - zero). */
typedef struct grid {
    double scale;
    int zero;
} grid;

/* A grid, and the squared error that it makes. */
typedef struct candidate {
    grid grid;
    double error;
} candidate;

/* Of 4 bits: steps more or fewer than the weights divide into, candidates on each side. */
#define SEARCH 1.0
#define SEARCH_STEPS 5
/*
 * (mean / standard deviation)^2 of activations, for which the noise of a result is
 * sum e^2 + BIAS (sum e)^2: 1 / (pi - 1) behind a Relu of a normal distribution.
 */
#define BIAS 0.467

static int
quantized(const block *k, grid g, double w)
{
    double q = g.scale == 0 ? g.zero : rint(w / g.scale) + g.zero;
    int most = (1 << k->bits) - 1;

    return q < 0 ? 0 : q > most ? most : (int)q;
}

/* Stores a scale; returns it as its kind holds it. */
static double
stored(const glow_tensor *scales, int64_t at, double scale)
{
    glow_set_double(scales, at, scale);
    return glow_get_double(scales, at);
}

static double
error_of(const block *k, grid g)
{
    double sum = 0;

    for (int64_t i = 0; i < k->count; i++) {
        double w = k->w[i];
        double e = g.scale * (quantized(k, g, w) - g.zero) - w;

        sum += e * e;
    }
    return sum;
}

/* Keeps `g`, whose scale is made the nearest of its kind, if its error is smaller. */
static void
try_grid(const block *k, const glow_tensor *scales, int64_t at, grid g,
         candidate *best)
{
    double error;

    g.scale = stored(scales, at, g.scale);
    error = error_of(k, g);
    if (!(error < best->error))
        return;
    *best = (candidate){g, error};
}

/* The scale of least squared error for the elements that `g` makes of the block. */
static double
fitted(const block *k, grid g)
{
    double product = 0, square = 0;

    for (int64_t i = 0; i < k->count; i++) {
        double q = quantized(k, g, k->w[i]) - g.zero;

        product += q * k->w[i];
        square += q * q;
    }
    return square > 0 ? product / square : g.scale;
}

/*
 * The best of scales from `most` / (steps + SEARCH) to `most` / (steps - SEARCH), and of
 * those fitted to the elements that they make.
 */
static void
search(const block *k, const glow_tensor *scales, int64_t at, double most,
       double steps, int zero, candidate *best)
{
    for (int i = -SEARCH_STEPS; i <= SEARCH_STEPS; i++) {
        double share = SEARCH * i / SEARCH_STEPS;
        grid g = {most / (steps + share), zero};

        try_grid(k, scales, at, g, best);
        g.scale = fitted(k, g);
        try_grid(k, scales, at, g, best);
    }
}

static grid
symmetric_grid(const block *k, const glow_tensor *scales, int64_t at)
{
    int half = 1 << (k->bits - 1);
    double most = 0;
    candidate best;

    for (int64_t i = 0; i < k->count; i++) {
        double w = k->w[i];

        if (fabs(w) > fabs(most))
            most = w;
    }
    best.grid = (grid){stored(scales, at, fabs(most) / (half - 1)), half};
    best.error = error_of(k, best.grid);
    if (k->bits == 8)
        try_grid(k, scales, at, (grid){-most / half, half}, &best);
    else
        search(k, scales, at, -most, half, half, &best);
    stored(scales, at, best.grid.scale);
    return best.grid;
}

static grid
asymmetric_grid(const block *k, const glow_tensor *scales, int64_t at)
{
    int steps = (1 << k->bits) - 1, zero;
    double low = 0, high = 0, scale;
    candidate best;

    for (int64_t i = 0; i < k->count; i++) {
        low = fmin(low, k->w[i]);
        high = fmax(high, k->w[i]);
    }
    scale = stored(scales, at, high / steps - low / steps);
    zero = scale == 0 ? 0 : (int)fmin(rint(-low / scale), steps);
    best.grid = (grid){scale, zero};
    best.error = error_of(k, best.grid);
    for (int z = zero - 1; k->bits == 4 && scale != 0 && z <= zero + 1; z++)
        if (z >= 0 && z <= steps)
            search(k, scales, at, high - low, steps, z, &best);
    stored(scales, at, best.grid.scale);
    return best.grid;
}

/*
 * The operands that weights become: `outer` matrices [depth, inner], of which each
 * column is a row of blocks.  Weights [N, K] are N matrices of one column.  If `taps` is
 * not 0, the depth is a matrix [taps, channels], of which blocks go along columns.
 */
typedef struct made {
    glow_value *bytes, *scales, *zeros; /* zeros: or NULL */
    int64_t outer, depth, inner, taps, block, blocks;
} made;

/* The element of the weights that row `j` has at `i` along the depth. */
static int64_t
place(const made *m, int64_t j, int64_t i)
{
    if (m->taps)
        i = i % m->taps * (m->depth / m->taps) + i / m->taps;
    return (j / m->inner * m->depth + i) * m->inner + j % m->inner;
}

/*
 * The element that rounds the other way, against the sign of `sum`, at the least error;
 * -1: none can.
 */
static int64_t
nearest_tie(const block *k, grid g, const int *q, double sum, int way)
{
    int most = (1 << k->bits) - 1;
    double best = -INFINITY;
    int64_t at = -1;

    for (int64_t i = 0; i < k->count; i++) {
        double e = copysign(1, sum) * (g.scale * (q[i] - g.zero) - k->w[i]);

        if (q[i] + way < 0 || q[i] + way > most || e <= best)
            continue;
        best = e;
        at = i;
    }
    return at;
}

/*
 * The elements of a block, which make sum e^2 + BIAS (sum e)^2 small for the errors e of
 * its weights: rounded to nearest, then those nearest to a tie the other way, while the
 * gain by the sum is greater than the loss by the squares.
 */
static void
round_block(const block *k, grid g, int *q)
{
    double sum = 0, step = fabs(g.scale);
    int way;

    for (int64_t i = 0; i < k->count; i++) {
        q[i] = quantized(k, g, k->w[i]);
        sum += g.scale * (q[i] - g.zero) - k->w[i];
    }
    while (step > 0 && 2 * fabs(sum) > step) {
        int64_t i;
        double e;

        way = (sum > 0) == (g.scale > 0) ? -1 : 1;
        i = nearest_tie(k, g, q, sum, way);
        if (i < 0)
            return;
        e = copysign(1, sum) * (g.scale * (q[i] - g.zero) - k->w[i]);
        if (step - 2 * e + BIAS * (step - 2 * fabs(sum)) >= 0)
            return;
        q[i] += way;
        sum += g.scale * way;
    }
}

/* Block `at`; `q` is room for its elements. */
static void
fill_block(const made *m, const block *k, int64_t at, int *q)
{
    const glow_tensor *scales = &m->scales->storage->tensor;
    grid g = (m->zeros ? asymmetric_grid : symmetric_grid)(k, scales, at);
    unsigned char *to = m->bytes->storage->tensor.data;

    to += at * (m->block * k->bits / 8);
    if (m->zeros)
        glow_set_int(&m->zeros->storage->tensor, at, g.zero);
    round_block(k, g, q);
    for (int64_t i = k->count; i < m->block; i++)
        q[i] = g.zero;
    for (int64_t i = 0; i < m->block; i++)
        if (k->bits == 8)
            to[i] = (unsigned char)q[i];
        else
            to[i / 2] |= (unsigned char)(q[i] << i % 2 * 4);
}

static void
fill(const made *m, const glow_tensor *w, int bits, glow_arena *scratch)
{
    double *of_block = GLOW_NEW_ARRAY(scratch, double, m->block);
    int *q = GLOW_NEW_ARRAY(scratch, int, m->block);

    for (int64_t j = 0; j < m->outer * m->inner; j++)
        for (int64_t b = 0; b < m->blocks; b++) {
            int64_t first = b * m->block, left = m->depth - first;
            block k = {of_block, left < m->block ? left : m->block, bits};

            for (int64_t i = 0; i < k.count; i++)
                of_block[i] = glow_get_double(w, place(m, j, first + i));
            fill_block(m, &k, j * m->blocks + b, q);
        }
}

static glow_value *
constant(glow_builder *b, const char *suffix, glow_kind kind, glow_dims shape)
{
    glow_type t = glow_type_of(kind, shape);

    return glow_build_constant(b, suffix,
                               glow_type_get(glow_builder_context(b), t));
}

static void
make_constants(glow_builder *b, const weights_options *o, const glow_tensor *w,
               made *m)
{
    int bits = o->bits ? 4 : 8;
    int64_t rows = m->outer * m->inner;
    int64_t whole = m->depth + (bits == 4 && m->depth % 2);
    glow_dims blocks;

    m->block = o->block && o->block < whole ? o->block : whole;
    m->blocks = (m->depth - 1) / m->block + 1;
    blocks = GLOW_DIMS_OF(rows, m->blocks);
    m->bytes = constant(b, "weights", GLOW_UINDEX8,
                        GLOW_DIMS_OF(rows, m->blocks, m->block * bits / 8));
    m->scales =
        constant(b, "scales", o->scales ? GLOW_FLOAT16 : GLOW_FLOAT, blocks);
    if (!o->symmetric)
        m->zeros = constant(b, "offsets", GLOW_UINDEX8, blocks);
    fill(m, w, bits, glow_builder_scratch(b));
}

/* True if each weight is finite, and the scale of its block will be. */
static bool
is_in_range(const glow_tensor *w, const weights_options *o)
{
    double most = o->scales ? 65504.0 * (o->bits ? 7 : 127) : INFINITY;

    for (int64_t i = 0; i < glow_type_count(w->type); i++)
        if (!(fabs(glow_get_double(w, i)) < most))
            return false;
    return true;
}

/* The elements of operand `i` of `n`, if the options choose it; else NULL. */
static const glow_tensor *
chosen(glow_builder *b, const glow_node *n, int i)
{
    const glow_value *v = n->in[i];
    const weights_options *o = glow_run_options(glow_builder_run(b));
    const glow_tensor *w;

    if (!glow_is_constant(v) || !glow_is_float(v->type->elem) || n->pred ||
        v->type->strides.rank || glow_type_count(v->type) < 1 ||
        !glow_names_choose(o->only, o->except, n) ||
        v->storage->payload == GLOW_ELIDED)
        return NULL;
    w = glow_constant_tensor(v->storage);
    if (!w)
        return NULL;
    if (glow_type_count(v->type) < o->least || !is_in_range(w, o)) {
        glow_run_remark(glow_builder_run(b), n, false,
                        glow_type_count(v->type) < o->least
                            ? "it has few weights"
                            : "its weights have no finite scale");
        return NULL;
    }
    return w;
}

static glow_value *
reshaped(glow_builder *b, glow_value *v, glow_dims shape)
{
    return !v || glow_dims_equal(v->type->shape, shape)
               ? v
               : GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = shape);
}

/* A product whose operand 1 are weights [K, N]. */
static glow_value *
quantize_product(glow_builder *b, glow_node *n)
{
    const weights_options *o = glow_run_options(glow_builder_run(b));
    glow_value *x = n->in[0], *bias = n->n_in > 2 ? n->in[2] : NULL;
    const glow_tensor *w = chosen(b, n, 1);
    glow_dims rows, shape = n->in[1]->type->shape;
    made m = {.outer = 1, .depth = shape.at[0], .inner = shape.at[1]};

    if (!w)
        return NULL;
    make_constants(b, o, w, &m);
    rows = GLOW_DIMS_OF(n->out[0]->type->shape.at[0], m.depth);
    return GLOW_BUILD(
        b, blockwisequantizedfullyconnected,
        GLOW_IN(reshaped(b, x, rows), m.bytes, m.scales, m.zeros, bias),
        .k = m.depth, .bits = o->bits ? 4 : 8, .block_size = m.block);
}

/* Operands in blocks as floats, of `kind` and `dims`. */
static glow_value *
floats(glow_builder *b, const made *m, glow_kind kind, glow_dims dims)
{
    const weights_options *o = glow_run_options(glow_builder_run(b));
    glow_type t = glow_type_of(kind, dims);

    return GLOW_BUILD_STATED(
        b, blockwisedequantize, glow_type_get(glow_builder_context(b), t),
        GLOW_IN(m->bytes, m->scales, m->zeros), .dims = dims,
        .bits = o->bits ? 4 : 8, .block_size = m->block);
}

/* The same in the order of weights of shape `shape`. */
static glow_value *
dequantized(glow_builder *b, const made *m, glow_kind kind, glow_dims shape)
{
    int64_t columns = m->taps ? m->depth / m->taps : m->inner;
    glow_dims flat = GLOW_DIMS_OF(m->outer * m->inner, m->depth);
    glow_dims turned =
        GLOW_DIMS_OF(m->outer, columns, m->taps ? m->taps : m->depth);
    bool is_turned = columns > 1 && m->taps != 1;
    bool is_whole = !is_turned && m->outer == shape.at[0];
    glow_value *w;

    w = floats(b, m, kind,
               is_whole               ? shape
               : is_turned && m->taps ? turned
                                      : flat);
    if (is_turned) {
        w = reshaped(b, w, turned);
        w = w ? GLOW_BUILD(b, transpose, GLOW_IN(w),
                           .shuffle = GLOW_DIMS_OF(0, 2, 1))
              : NULL;
    }
    return reshaped(b, w, shape);
}

/* `n` with weights in blocks, of the layout `m`, as operand `i`; NULL: it stays. */
static glow_value *
quantize_operand(glow_builder *b, glow_node *n, int i, made m)
{
    const glow_tensor *w = chosen(b, n, i);
    glow_value *in[3] = {NULL};

    if (!w)
        return NULL;
    make_constants(b, glow_run_options(glow_builder_run(b)), w, &m);
    for (int k = 0; k < n->n_in; k++)
        in[k] = n->in[k];
    in[i] = dequantized(b, &m, n->in[i]->type->elem, n->in[i]->type->shape);
    return in[i] ? glow_build(b, n->op, NULL, in, n->n_in, n->attrs) : NULL;
}

/* Filter [O, kernels.., C / Group]. */
static glow_value *
quantize_convolution(glow_builder *b, glow_node *n)
{
    glow_dims f = n->in[1]->type->shape;

    return quantize_operand(
        b, n, 1,
        (made){.outer = f.at[0],
               .depth = glow_dims_product(f, 1, f.rank),
               .inner = 1,
               .taps = glow_dims_product(f, 1, f.rank - 1)});
}

/* Filter [C, kernels.., O / Group]. */
static glow_value *
quantize_convtranspose(glow_builder *b, glow_node *n)
{
    glow_dims f = n->in[1]->type->shape;

    return quantize_operand(b, n, 1,
                            (made){.outer = 1,
                                   .depth = glow_dims_product(f, 0, f.rank - 1),
                                   .inner = f.at[f.rank - 1]});
}

/* [.., M, K] by [.., K, N]. */
static glow_value *
quantize_matmul(glow_builder *b, glow_node *n)
{
    bool is_batch = glow_is(n, &glow_op_batchmatmul);
    glow_dims x = n->in[0]->type->shape, w = n->in[1]->type->shape;
    int last = x.rank - 1;

    if (glow_is_constant(n->in[0]))
        return quantize_operand(b, n, 0,
                                (made){.outer = glow_dims_product(x, 0, last),
                                       .depth = x.at[last],
                                       .inner = 1});
    if (!is_batch)
        return quantize_product(b, n);
    return quantize_operand(
        b, n, 1, (made){.outer = w.at[0], .depth = w.at[1], .inner = w.at[2]});
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_batchmatmul, quantize_matmul},
        {&glow_op_convolution, quantize_convolution},
        {&glow_op_convtranspose, quantize_convtranspose},
        {&glow_op_fullyconnected, quantize_product},
        {&glow_op_matmul, quantize_matmul},
        {NULL, NULL},
    };
    const weights_options *o = glow_run_options(pass);

    if (o->block < 0 || (o->bits && o->block % 2)) {
        glow_error_hint(glow_run_context(pass), (glow_span){0}, "E0434",
                        "`block` counts weights: an even number with `bits` 4; "
                        "0 is a scale for each result",
                        "quantize-weights: `block` is %d", o->block);
        return GLOW_FAILED;
    }
    if (!glow_names_check(pass, f, "only", o->only) ||
        !glow_names_check(pass, f, "except", o->except))
        return GLOW_FAILED;
    glow_result result = glow_rewrite_each(pass, f, rows, NULL);

    if (result == GLOW_CHANGED) {
        glow_erase_unused_constants(f->module);
        glow_drop_unused_weights(f->module);
    }
    return result;
}

const glow_pass glow_pass_quantize_weights = {
    .name = "quantize-weights",
    .summary =
        "keep weights of products and convolutions in blocks of 8 or 4 bits",
    .level = GLOW_GRAPH,
    .preserves = GLOW_QUANTIZED,
    .options = {GLOW_FIELD_ENUM(weights_options, bits, widths, "of a weight"),
                GLOW_FIELD_DEFAULT(
                    weights_options, block, GLOW_INT,
                    "weights with one scale; 0: all of a result"),
                GLOW_FIELD_ENUM(weights_options, scales, kinds,
                                "the kind of scales"),
                GLOW_FIELD_DEFAULT(weights_options, symmetric, GLOW_FLAG,
                                   "the offset of each block is 2^(bits - 1)"),
                GLOW_FIELD_DEFAULT(weights_options, least, GLOW_INT,
                                   "weights of a product that is changed"),
                GLOW_FIELD_DEFAULT(weights_options, only, GLOW_STRING,
                                   "operators and nodes to change, alone"),
                GLOW_FIELD_DEFAULT(weights_options, except, GLOW_STRING,
                                   "operators and nodes to leave")},
    .defaults = &(const weights_options){.block = 32,
                                         .symmetric = true,
                                         .least = 1024,
                                         .only = "",
                                         .except = ""},
    .run = run,
    .source = "llama.cpp, Q4_0 and Q8_0; ONNX Runtime, MatMulNBits",
};
