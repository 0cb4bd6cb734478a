/* The kernels of integer sums: instructions as cpu_integer. */

#include "codegen/cpu/kernels/integer/integer.h"

typedef cpu_integer integer;

static bool
is_byte(const glow_type *t)
{
    return t->elem == GLOW_INT8Q || t->elem == GLOW_UINT8Q;
}

/* Elements from one row of `t` to the next; 0: they have no common distance. */
static int64_t
row_step(const glow_type *t)
{
    int64_t depth = t->shape.at[t->shape.rank - 1];
    glow_dims step;

    if (!t->strides.rank)
        return depth;
    if (!glow_cpu_rows(t, &step) || (depth > 1 && step.at[1] != 1))
        return 0;
    return glow_type_count(t) == depth ? depth : step.at[0];
}

/* True of the sums that plain.c computes. */
static bool
is_plain(const glow_node *n, const integer *s)
{
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->type->strides.rank)
            return false;
    return glow_is_quantized(s->x->elem) && glow_is_quantized(s->y->elem) &&
           (s->in_pixel > 0 || s->channels == 0) && s->out_pixel > 0;
}

/* Checks what all tiles have in common, and chooses form and blocking. */
static bool
finish(const cpu_target *t, const glow_node *n, bool uses_matrix, integer *s)
{
    int64_t taps = 1;

    for (int i = 0; i < 3; i++)
        taps *= s->axis[i].kernel;
    if (!is_plain(n, s) || !is_byte(s->x) || !is_byte(s->w) ||
        s->channels < 1 || taps < 1 || glow_type_count(s->y) < 1)
        return false;
    if (uses_matrix && (!t || !glow_cpu_integer_takes_matrix(t, s)))
        return false;
    if (t)
        glow_cpu_integer_shape(t, uses_matrix, s);
    return !uses_matrix || !s->flat || !s->copies || s->last_rows == s->rows;
}

/* Convolutions */

static void
convolution_sums(const glow_node *n, integer *out)
{
    const glow_channelwisequantizedconvolution *a = n->attrs;
    glow_dims y = n->out[0]->type->shape;
    cpu_window w = glow_cpu_window(n->in[0]->type->shape, y, a->kernels,
                                   a->strides, a->pads, a->dilation);
    int64_t channels = w.channels / a->group;
    int64_t line = w.axis[2].kernel * channels;

    *out = (integer){
        .batch = w.batch,
        .groups = a->group,
        .axis = {w.axis[0], w.axis[1], w.axis[2]},
        .channels = channels,
        .outputs = y.at[y.rank - 1] / a->group,
        .x = n->in[0]->type,
        .w = n->in[1]->type,
        .y = n->out[0]->type,
        .in_pixel = row_step(n->in[0]->type),
        .out_pixel = row_step(n->out[0]->type),
        .by = {n->in[2] ? 2 : -1, 3, 4, n->in[5] ? 5 : -1, n->in[6] ? 6 : -1},
        .packed = glow_cpu_is_whole_constant(n->in[1]),
        .step = {.row = line, .tap = channels, .depth = 1},
    };
    out->step.output = w.axis[0].kernel * w.axis[1].kernel * line;
    out->step.group = out->outputs * out->step.output;
}

/* Products */

static integer
product_of(const glow_node *n, int64_t batch, int64_t rows, int64_t depth,
           int64_t columns)
{
    const cpu_window_axis one = {1, 1, 1, 1, 1, 0, 0};
    cpu_window_axis all = one;

    all.in = all.out = rows;
    return (integer){
        .batch = batch,
        .groups = 1,
        .axis = {one, one, all},
        .channels = depth,
        .outputs = columns,
        .x = n->in[0]->type,
        .w = n->in[1]->type,
        .y = n->out[0]->type,
        .in_pixel = row_step(n->in[0]->type),
        .out_pixel = row_step(n->out[0]->type),
        .by = {-1, -1, -1, -1, -1},
        .packed = batch == 1 && glow_cpu_is_whole_constant(n->in[1]),
        .w_batch = batch > 1 ? depth * columns : 0,
        .step = {.output = 1, .depth = columns},
    };
}

static void
matmul_sums(const glow_node *n, integer *out)
{
    glow_dims a = n->in[0]->type->shape, b = n->in[1]->type->shape;

    *out = product_of(n, 1, a.at[0], a.at[1], b.at[1]);
}

static void
batchmatmul_sums(const glow_node *n, integer *out)
{
    glow_dims a = n->in[0]->type->shape, b = n->in[1]->type->shape;

    *out = product_of(n, a.at[0], a.at[1], a.at[2], b.at[2]);
}

/* Weights [N, K]. */
static void
rowwise_sums(const glow_node *n, integer *out)
{
    glow_dims w = n->in[1]->type->shape;
    int64_t rows = n->out[0]->type->shape.at[0];

    *out = product_of(n, 1, rows, w.at[1], w.at[0]);
    out->by = (cpu_integer_operands){n->in[4] ? 4 : -1, 2, 3, -1, -1};
    out->step = (cpu_integer_weights){.output = w.at[1], .depth = 1};
}

/* Kernels */

#define SUMS(id)                                                             \
    static bool id##_sums_of(const cpu_target *t, const glow_node *n,        \
                             integer *out)                                   \
    {                                                                        \
        id##_sums(n, out);                                                   \
        return finish(t, n, false, out);                                     \
    }                                                                        \
    static bool id##_matrix_sums_of(const cpu_target *t, const glow_node *n, \
                                    integer *out)                            \
    {                                                                        \
        id##_sums(n, out);                                                   \
        return finish(t, n, true, out);                                      \
    }

SUMS(batchmatmul)
SUMS(convolution)
SUMS(matmul)
SUMS(rowwise)

bool
glow_cpu_integer_convolution(const cpu_target *t, const glow_node *n,
                             integer *out)
{
    return convolution_sums_of(t, n, out);
}

static bool
depthwise_sums_of(const cpu_target *t, const glow_node *n, integer *out)
{
    if (!convolution_sums_of(t, n, out) || !glow_cpu_is_depthwise(t, out))
        return false;
    glow_cpu_depthwise_shape(out);
    return true;
}

/* `with` is the bits of the operands that are packed with the weights, as columns; -1:
   columns are made at run time. */
#define KERNEL(id, operator, sums, part, is_matrix, with)                    \
    static bool id##_of(const cpu_target *t, const glow_node *n, integer *s) \
    {                                                                        \
        bool is = sums(t, n, s) && ((with) < 0 || s->packed);                \
        s->columns = (with) >= 0;                                            \
        s->centered |= s->columns;                                           \
        s->shrinks = s->columns;                                             \
        return is;                                                           \
    }                                                                        \
    static bool id##_takes(const cpu_target *t, const glow_node *n)          \
    {                                                                        \
        integer s;                                                           \
        return id##_of(t, n, &s) &&                                          \
               (!s.columns || (glow_cpu_integer_has_columns(n, &s) &&        \
                               glow_cpu_integer_shrinks(n, &s)));            \
    }                                                                        \
    static void id##_emit(cpu_job *j)                                        \
    {                                                                        \
        integer s;                                                           \
        id##_of(j->g->target, j->n, &s);                                     \
        glow_cpu_emit_##part(j, &s);                                         \
    }                                                                        \
    static int64_t id##_packed_size(const cpu_target *t, const glow_node *n) \
    {                                                                        \
        integer s;                                                           \
        return id##_of(t, n, &s) && s.packed                                 \
                   ? glow_cpu_##part##_packed_size(&s)                       \
                   : 0;                                                      \
    }                                                                        \
    static void id##_pack(const cpu_target *t, const glow_node *n,           \
                          const glow_tensor *from, void *to)                 \
    {                                                                        \
        integer s;                                                           \
        if (id##_of(t, n, &s))                                               \
            glow_cpu_##part##_pack(&s, n, from, to);                         \
    }                                                                        \
    static int64_t id##_scratch(const cpu_target *t, const glow_node *n)     \
    {                                                                        \
        integer s;                                                           \
        return id##_of(t, n, &s) ? glow_cpu_##part##_scratch(&s) : 0;        \
    }                                                                        \
    static int64_t id##_units(const cpu_target *t, const glow_node *n)       \
    {                                                                        \
        integer s;                                                           \
        return id##_of(t, n, &s) ? glow_cpu_integer_units(&s) : 1;           \
    }                                                                        \
    const cpu_kernel glow_cpu_##id = {                                       \
        .name = #id,                                                         \
        .op = &glow_op_##operator,                                           \
        .takes = id##_takes,                                                 \
        .emit = id##_emit,                                                   \
        .strides = CPU_STRIDES_IN | CPU_STRIDES_OUT,                         \
        .matrix = is_matrix,                                                 \
        .by_elements = (with) >= 0,                                          \
        .without_scales = (with) >= 0,                                       \
        .packs = 1,                                                          \
        .packs_too = (with) >= 0 ? (with) : 0,                               \
        .packed_size = id##_packed_size,                                     \
        .pack = id##_pack,                                                   \
        .scratch_size = id##_scratch,                                        \
        .units = id##_units,                                                 \
    }

/* The kernel of constant columns, whose ratios are below 1, and that of any. */
#define PAIR(id, operator, sums, part, is_matrix, with) \
    KERNEL(id, operator, sums, part, is_matrix, with);  \
    KERNEL(id##_any, operator, sums, part, is_matrix, -1)

#define CHANNELS(first, last) ((2 << (last)) - (1 << (first)))

KERNEL(batchmatmul_integer, batchmatmul, batchmatmul_sums_of, integer, false,
       -1);
KERNEL(batchmatmul_matrix_integer, batchmatmul, batchmatmul_matrix_sums_of,
       integer, true, -1);
PAIR(conv_depthwise_integer, channelwisequantizedconvolution, depthwise_sums_of,
     depthwise, false, CHANNELS(2, 6));
PAIR(conv_integer, channelwisequantizedconvolution, convolution_sums_of,
     integer, false, CHANNELS(2, 6));
PAIR(conv_matrix_integer, channelwisequantizedconvolution,
     convolution_matrix_sums_of, integer, true, CHANNELS(2, 6));
PAIR(matmul_integer, matmul, matmul_sums_of, integer, false, 0);
PAIR(matmul_matrix_integer, matmul, matmul_matrix_sums_of, integer, true, 0);
PAIR(fullyconnected_integer, rowwisequantizedfullyconnected, rowwise_sums_of,
     integer, false, CHANNELS(2, 4));
PAIR(fullyconnected_matrix_integer, rowwisequantizedfullyconnected,
     rowwise_matrix_sums_of, integer, true, CHANNELS(2, 4));

#define PLAIN(id, operator, sums)                                      \
    static bool id##_takes(const cpu_target *t, const glow_node *n)    \
    {                                                                  \
        integer s;                                                     \
        (void)t;                                                       \
        sums(n, &s);                                                   \
        return is_plain(n, &s);                                        \
    }                                                                  \
    static void id##_emit(cpu_job *j)                                  \
    {                                                                  \
        integer s;                                                     \
        sums(j->n, &s);                                                \
        glow_cpu_emit_plain_integer(j, &s);                            \
    }                                                                  \
    static int64_t id##_units(const cpu_target *t, const glow_node *n) \
    {                                                                  \
        integer s;                                                     \
        (void)t;                                                       \
        sums(n, &s);                                                   \
        return s.groups * s.outputs;                                   \
    }                                                                  \
    const cpu_kernel glow_cpu_##id = {                                 \
        .name = #id,                                                   \
        .op = &glow_op_##operator,                                     \
        .takes = id##_takes,                                           \
        .emit = id##_emit,                                             \
        .strides = CPU_STRIDES_IN | CPU_STRIDES_OUT,                   \
        .units = id##_units,                                           \
    }

PLAIN(batchmatmul_plain_integer, batchmatmul, batchmatmul_sums);
PLAIN(conv_plain_integer, channelwisequantizedconvolution, convolution_sums);
PLAIN(matmul_plain_integer, matmul, matmul_sums);
PLAIN(fullyconnected_plain_integer, rowwisequantizedfullyconnected,
      rowwise_sums);
