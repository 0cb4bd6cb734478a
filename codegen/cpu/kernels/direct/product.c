/* Matrix products by register tiles: convolutions of one tap. */

#include "codegen/cpu/kernels/direct/dots.h"
#include "codegen/cpu/kernels/direct/shape.h"

/* Packing a column takes as long as some rows of its products. */
#define LEAST_DOT_ROWS 8

/* [rows, depth] [depth, columns], `batch` times with B's apart. */
static cpu_direct
product_of(const glow_node *n, int64_t batch, int64_t rows, int64_t depth,
           int64_t columns)
{
    bool packed = batch == 1 && glow_cpu_is_whole_constant(n->in[1]);

    return (cpu_direct){
        .batch = batch,
        .groups = 1,
        .in_h = 1,
        .in_w = rows,
        .out_h = 1,
        .out_w = rows,
        .kernel_h = 1,
        .kernel_w = 1,
        .stride_h = 1,
        .stride_w = 1,
        .dilation_h = 1,
        .dilation_w = 1,
        .channels = depth,
        .outputs = columns,
        .pixel = glow_cpu_row_bytes(n, 0, depth),
        .type = n->in[0]->type,
        .packed = packed,
        .may_dot = packed,
        .w_batch =
            batch > 1 ? depth * columns * glow_cg_bytes(n->in[1]->type) : 0,
        .bias = n->n_in > 2 && n->in[2] ? 2 : -1,
        .widens = true,
    };
}

cpu_direct
glow_cpu_product_of(const glow_node *n)
{
    glow_dims a = n->in[0]->type->shape, b = n->in[1]->type->shape;

    if (n->op == &glow_op_batchmatmul)
        return product_of(n, a.at[0], a.at[1], a.at[2], b.at[2]);
    return product_of(n, 1, n->out[0]->type->shape.at[0], b.at[0], b.at[1]);
}

/* `d` with a right operand of few columns packed for dot products, if that pays. */
static cpu_direct
with_turned_dots(const cpu_target *t, cpu_direct d)
{
    cpu_direct packed = d;

    packed.packed = packed.may_dot = true;
    return glow_cpu_with_dots(t, packed).form.dots && d.out_w >= LEAST_DOT_ROWS
               ? packed
               : d;
}

/* The sums of `n`, with the packing of a right operand that is not constant. */
static cpu_direct
sums_of(const cpu_target *t, const glow_node *n)
{
    cpu_direct d = glow_cpu_product_of(n);

    if (!t || !glow_cpu_all(n, GLOW_FLOAT) || d.batch > 1 || d.pixel <= 0 ||
        glow_cpu_is_whole_constant(n->in[1]))
        return d;
    d = with_turned_dots(t, d);
    if (!d.packed && glow_cpu_pays_panels(t, &d))
        d.packed = d.by_panels = true;
    return d;
}

/* True if `d`, the sums of `n`, has its right operand packed when it runs. */
static bool
is_turned(const cpu_direct *d, const glow_node *n)
{
    return d->packed && !glow_cpu_is_whole_constant(n->in[1]);
}

static bool
takes_matmul(const cpu_target *t, const glow_node *n)
{
    cpu_direct d = sums_of(t, n);

    return glow_cpu_all_float(n) && d.channels > 0 && d.pixel > 0 &&
           (!t || glow_cpu_direct_code(t, &d) <= CPU_MOST_CODE);
}

static void
emit_matmul(cpu_job *j)
{
    cpu_direct d = sums_of(j->g->target, j->n);
    cpu_filter filter = glow_cpu_product_filter(&d, NULL);

    d.turned = is_turned(&d, j->n) ? &filter : NULL;
    d.packed = d.turned || j->packed;
    glow_cpu_emit_direct(j, &d);
}

static int64_t
matmul_packed_size(const cpu_target *t, const glow_node *n)
{
    cpu_direct d = sums_of(t, n);

    return d.packed && !is_turned(&d, n) ? glow_cpu_direct_size(t, &d) : 0;
}

static int64_t
matmul_room(const cpu_target *t, const glow_node *n)
{
    cpu_direct d = sums_of(t, n);

    return is_turned(&d, n) ? glow_cpu_turned_room(t, &d)
                            : glow_cpu_direct_room(t, &d);
}

static int64_t
matmul_units(const cpu_target *t, const glow_node *n)
{
    cpu_direct d = sums_of(t, n);

    return glow_cpu_direct_units(t, &d);
}

/* B [depth, columns]. */
cpu_filter
glow_cpu_product_filter(const cpu_direct *d, const glow_tensor *from)
{
    return (cpu_filter){from, 0, 0, 1, 0, d->outputs, 0};
}

static void
pack_matmul(const cpu_target *t, const glow_node *n, const glow_tensor *from,
            void *to)
{
    cpu_direct d = sums_of(t, n);

    cpu_filter filter = glow_cpu_product_filter(&d, from);

    glow_cpu_pack_direct(t, &d, &filter, to);
}

static void
add_choices(const cpu_target *t, const glow_node *n, const cpu_kernel *k,
            cpu_choices *to)
{
    cpu_direct d = sums_of(t, n);

    if (takes_matmul(t, n))
        glow_cpu_direct_choices(t, &d, k, to);
}

#define PRODUCT(id)                                                   \
    extern const cpu_kernel glow_cpu_##id##_direct;                   \
    static void id##_choices(const cpu_target *t, const glow_node *n, \
                             cpu_choices *to)                         \
    {                                                                 \
        add_choices(t, n, &glow_cpu_##id##_direct, to);               \
    }                                                                 \
    const cpu_kernel glow_cpu_##id##_direct = {                       \
        .name = #id "_direct",                                        \
        .op = &glow_op_##id,                                          \
        .takes = takes_matmul,                                        \
        .strides = CPU_STRIDES_IN,                                    \
        .emit = emit_matmul,                                          \
        .stacks = true,                                               \
        .packs = 1,                                                   \
        .packed_size = matmul_packed_size,                            \
        .pack = pack_matmul,                                          \
        .scratch_size = matmul_room,                                  \
        .units = matmul_units,                                        \
        .choices = id##_choices,                                      \
    }

PRODUCT(batchmatmul);
PRODUCT(fullyconnected);
PRODUCT(matmul);
