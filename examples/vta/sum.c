/*
 * vta.Sum, vta.Requantize and vta.Store: a convolution in the steps of the units, which
 * glow's passes over queues and scratchpads cut into pieces.
 *
 *     %s = vta.Sum(%x, @w, @b, _) {Kernels: [3, 3], ...} : i32[S:0.25 O:0]<1 x 8 x 8 x 16>
 *     %r = vta.Requantize(%s) {Shift: 4, Least: 0, Most: 127} : ...
 *     %y = vta.Store(%r) : i8[S:4.0 O:0]<1 x 8 x 8 x 16>
 *
 * Inputs and results are [N, H, W, C], in blocks of 16 channels.  A piece of a sum over
 * channels adds to the accumulators of the piece before, and the first one to the bias.
 */

#include "vta.h"

/* Axes of the iteration space. */
enum { BATCH, ROWS, COLUMNS, RESULTS, CHANNELS, AXES };

static glow_tile_dim
blocks(int axis)
{
    return (glow_tile_dim){axis, VTA_LANES, VTA_LANES, 0};
}

void
vta_tile_result(const glow_node *n, glow_tiling *t, glow_tile_dim dims[])
{
    glow_dims y = n->out[0]->type->shape;

    t->n_axes = t->n_result = CHANNELS;
    for (int d = 0; d < 3; d++) {
        t->extent[d] = y.at[d];
        dims[d] = GLOW_TILE_AXIS(d);
    }
    t->extent[RESULTS] = y.at[3] / VTA_LANES;
    dims[3] = blocks(RESULTS);
}

/* vta.Sum */

enum { INPUT, WEIGHTS, BIAS, SUM };

static bool
in_range(glow_dims d, int rank, int64_t least)
{
    for (int i = 0; i < d.rank; i++)
        if (d.at[i] < least || d.at[i] > 1 << 12)
            return false;
    return d.rank == rank;
}

static bool
sum_infer(const glow_node *n, glow_type out[])
{
    const vta_sum *s = n->attrs;
    const glow_type *x = n->in[0]->type, *w = n->in[1]->type;

    if (x->elem != GLOW_INT8Q || x->offset || x->shape.rank != 4 ||
        w->elem != GLOW_INT8Q || w->offset || w->shape.rank != 5 ||
        out[0].elem != GLOW_INT32Q || out[0].offset)
        return glow_reject(n, "Input, Weights and Result are i8, i8 and i32 of "
                              "rank 4, 5 and 4, without offsets");
    if (!in_range(s->kernels, 2, 1) || !in_range(s->strides, 2, 1) ||
        !in_range(s->pads, 4, 0) || !in_range(s->dilation, 2, 1))
        return glow_reject(n,
                           "Kernels, Strides, Pads and Dilation have 2, 2, 4 "
                           "and 2 numbers up to 4096");
    if (x->shape.at[3] % VTA_LANES ||
        w->shape.at[1] != x->shape.at[3] / VTA_LANES ||
        w->shape.at[2] != s->kernels.at[0] * s->kernels.at[1] ||
        w->shape.at[3] != VTA_LANES || w->shape.at[4] != VTA_LANES)
        return glow_reject(n, "the shapes of Input, Weights and Kernels do not "
                              "go together");
    out[0].shape = GLOW_DIMS_OF(
        x->shape.at[0],
        vta_results(x->shape.at[1], s->kernels.at[0], s->strides.at[0],
                    s->dilation.at[0], s->pads.at[0] + s->pads.at[2]),
        vta_results(x->shape.at[2], s->kernels.at[1], s->strides.at[1],
                    s->dilation.at[1], s->pads.at[1] + s->pads.at[3]),
        w->shape.at[0] * VTA_LANES);
    out[0].strides.rank = 0;
    if (n->in[BIAS] && (n->in[BIAS]->type->elem != GLOW_INT32Q ||
                        n->in[BIAS]->type->shape.rank != 1 ||
                        n->in[BIAS]->type->shape.at[0] != out[0].shape.at[3]))
        return glow_reject(n, "Bias is not of i32, a number for each channel");
    if (n->in[SUM] && (n->in[SUM]->type->elem != GLOW_INT32Q ||
                       !glow_dims_equal(n->in[SUM]->type->shape, out[0].shape)))
        return glow_reject(n, "Sum has another type than Result");
    return true;
}

static bool
sum_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    const vta_sum *s = n->attrs;
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape;
    vta_window w = vta_window_of_dims(s->kernels, s->strides, s->pads,
                                      s->dilation, 1, x, y);
    int32_t *to = out[0]->data;

    (void)scratch;
    for (int64_t at = 0; at < w.batch * w.out_height * w.out_width; at++)
        for (int64_t k = 0; k < w.out_blocks; k++, to += VTA_LANES) {
            const int32_t *from =
                in[SUM] ? (const int32_t *)in[SUM]->data +
                              (to - (int32_t *)out[0]->data)
                : in[BIAS] ? (const int32_t *)in[BIAS]->data + k * VTA_LANES
                           : NULL;

            for (int l = 0; l < VTA_LANES; l++)
                to[l] = from ? from[l] : 0;
            vta_sum_block(
                &w, in[0]->data, in[1]->data, at / w.out_width / w.out_height,
                at / w.out_width % w.out_height, at % w.out_width, k, to);
        }
    return true;
}

static int64_t
sum_flops(const glow_node *n)
{
    glow_dims w = n->in[1]->type->shape;

    return 2 * glow_dims_count(n->out[0]->type->shape) * w.at[1] * w.at[2] *
           VTA_LANES;
}

static glow_tile_dim
window(const vta_sum *s, int i)
{
    return (glow_tile_dim){ROWS + i, s->strides.at[i],
                           (s->kernels.at[i] - 1) * s->dilation.at[i] + 1,
                           s->pads.at[i]};
}

static bool
sum_tile(const glow_node *n, glow_tiling *t)
{
    const vta_sum *s = n->attrs;
    vta_sum piece = *s;

    piece.pads = GLOW_DIMS_OF(0, 0, 0, 0);
    vta_tile_result(n, t, t->out);
    t->n_axes = AXES;
    t->extent[CHANNELS] = n->in[0]->type->shape.at[3] / VTA_LANES;
    t->work = (double)(s->kernels.at[0] * s->kernels.at[1] * VTA_MACS);
    t->in[INPUT][0] = GLOW_TILE_AXIS(BATCH);
    t->in[INPUT][1] = window(s, 0);
    t->in[INPUT][2] = window(s, 1);
    t->in[INPUT][3] = blocks(CHANNELS);
    t->in[WEIGHTS][0] = GLOW_TILE_AXIS(RESULTS);
    t->in[WEIGHTS][1] = GLOW_TILE_AXIS(CHANNELS);
    for (int d = 2; d < 5; d++)
        t->in[WEIGHTS][d] = GLOW_TILE_ALL;
    t->in[BIAS][0] = blocks(RESULTS);
    for (int d = 0; d < 4; d++)
        t->in[SUM][d] = t->out[d];
    t->initial = BIAS;
    t->accumulator = SUM;
    t->attrs = glow_arena_copy(n->func->module->arena, &piece, sizeof piece);
    return true;
}

const glow_op vta_op_sum = {
    .name = "vta.Sum",
    .summary = "the sums of a convolution of blocks of 16 channels",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, H, W, C], i8"},
           {"Weights", GLOW_TENSOR,
            "w, of shape [O / 16, C / 16, taps, 16, 16], i8"},
           {"Bias", GLOW_OPTIONAL, "b, of shape [O], i32"},
           {"Sum", GLOW_OPTIONAL, "s, of the type of Result"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, H', W', O], i32"}},
    .attrs = {GLOW_FIELD(vta_sum, kernels, GLOW_DIMS, "height and width"),
              GLOW_FIELD(vta_sum, strides, GLOW_DIMS, "of rows and columns"),
              GLOW_FIELD(vta_sum, pads, GLOW_DIMS,
                         "zeros above, left, below and right"),
              GLOW_FIELD(vta_sum, dilation, GLOW_DIMS,
                         "from one tap to the next")},
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_STATED,
    .infer = sum_infer,
    .eval = sum_eval,
    .inplace = {{0, SUM}},
    .inplace_count = 1,
    .flops = sum_flops,
    .tile = sum_tile,
    .doc = "`y = s + sum of x w`, in 32 bits; without Sum, s is Bias, without "
           "both 0.",
    .source = "this file",
};

/* vta.Requantize */

/* The instruction that writes `x` last before `n`, or the node that defines it. */
static const glow_node *
writer_of(const glow_node *n, const glow_value *x)
{
    for (const glow_node *k = n->prev; k; k = k->prev)
        for (int i = 0; i < k->n_out; i++)
            if (k->out[i] == x)
                return k;
    return NULL;
}

/*
 * Passes of the ALU over results: rounding, the upper bound, and the bias that vta.Sum
 * moves into accumulators, which its own work, of products, leaves out.
 */
static int
passes_of(const glow_node *n)
{
    const vta_requantize *r = n->attrs;
    const glow_node *writer = writer_of(n, n->in[0]);

    return 1 + (r->most < 127) + (writer && glow_is(writer, &vta_op_sum));
}

static bool
requantize_infer(const glow_node *n, glow_type out[])
{
    const vta_requantize *r = n->attrs;
    const glow_type *x = n->in[0]->type, *e = n->in[1] ? n->in[1]->type : NULL;

    if (x->elem != GLOW_INT32Q || x->shape.rank != 4 ||
        x->shape.at[3] % VTA_LANES ||
        (e && (e->elem != GLOW_INT32Q || e->shape.rank != 1 ||
               e->shape.at[0] != x->shape.at[3])))
        return glow_reject(n, "Input and Rounds are i32, of shapes "
                              "[N, H, W, C] and [C], in blocks of 16 channels");
    if (r->shift < 0 || r->shift > 31 || r->least < -128 || r->most > 127 ||
        r->least > r->most)
        return glow_reject(n,
                           "Shift is %d, Least %d and Most %d, but Shift is "
                           "from 0 to 31 and the others are elements of i8 "
                           "in order",
                           r->shift, r->least, r->most);
    out[0] = *x;
    return true;
}

static bool
requantize_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    const vta_requantize *r = n->attrs;
    const int32_t *x = in[0]->data, *rounds = in[1] ? in[1]->data : NULL;
    int64_t channels = in[0]->type->shape.at[3];
    int32_t *y = out[0]->data, one = vta_round_immediate(r->shift, r->least);

    (void)scratch;
    for (int64_t i = 0; i < glow_type_count(out[0]->type); i++) {
        int32_t q = vta_round(x[i], rounds ? rounds[i % channels] : one);

        y[i] = q > r->most ? r->most : q;
    }
    return true;
}

static bool
requantize_tile(const glow_node *n, glow_tiling *t)
{
    vta_tile_result(n, t, t->out);
    for (int d = 0; d < 4; d++)
        t->in[0][d] = t->out[d];
    t->in[1][0] = blocks(RESULTS);
    t->work = passes_of(n) * VTA_LANES;
    return true;
}

const glow_op vta_op_requantize = {
    .name = "vta.Requantize",
    .summary = "shift right, round and clip",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, H, W, C], i32"},
           {"Rounds", GLOW_OPTIONAL,
            "of shape [C], i32: immediates of `round`, in place of Shift and "
            "Least"}},
    .out = {{"Result", GLOW_TENSOR, "y, of the type of Input"}},
    .attrs = {GLOW_FIELD(vta_requantize, shift, GLOW_INT, "bits"),
              GLOW_FIELD(vta_requantize, least, GLOW_INT, "the least result"),
              GLOW_FIELD(vta_requantize, most, GLOW_INT, "the largest result")},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = requantize_infer,
    .eval = requantize_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .tile = requantize_tile,
    .doc = "`y = clip(round(2^-Shift x))`, ties to even, in integers; the "
           "scale of the type does not count.",
    .source = "this file",
};

/* vta.Store */

static bool
store_infer(const glow_node *n, glow_type out[])
{
    const glow_type *x = n->in[0]->type;

    if (x->elem != GLOW_INT32Q || x->shape.rank != 4 ||
        x->shape.at[3] % VTA_LANES || out[0].elem != GLOW_INT8Q)
        return glow_reject(n, "Input and Result are i32 and i8 of rank 4, in "
                              "blocks of 16 channels");
    out[0].shape = x->shape;
    out[0].strides.rank = 0;
    return true;
}

static bool
store_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    const int32_t *x = in[0]->data;
    uint8_t *y = out[0]->data;

    (void)n, (void)scratch;
    for (int64_t i = 0; i < glow_type_count(out[0]->type); i++)
        y[i] = (uint8_t)x[i];
    return true;
}

static bool
store_tile(const glow_node *n, glow_tiling *t)
{
    vta_tile_result(n, t, t->out);
    for (int d = 0; d < 4; d++)
        t->in[0][d] = t->out[d];
    t->work = VTA_LANES;
    return true;
}

const glow_op vta_op_store = {
    .name = "vta.Store",
    .summary = "the low bytes of accumulators",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, H, W, C], i32"}},
    .out = {{"Result", GLOW_TENSOR, "y, of that shape, i8"}},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = store_infer,
    .eval = store_eval,
    .tile = store_tile,
    .doc = "The low 8 bits of each element; the scale of the type of Result is "
           "stated.",
    .source = "this file",
};
