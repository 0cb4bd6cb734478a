/*
 * Kernels that use matrix registers: convolutions and matrix products, of bfloat16
 * and of float and float16 by parts.
 */

#include "codegen/cpu/kernels/matrix/matrix.h"

#include "codegen/cpu/kernels/window/grouped.h"

/* Of any filter, as of products any right operand. */
static bool
conv_of(const glow_node *n, cpu_direct *d)
{
    bool takes = glow_cpu_all(n, GLOW_BFLOAT16) && glow_cpu_conv_of(n, d);

    d->turns = takes && !glow_cpu_is_whole_constant(n->in[1]) ? CPU_TURNS_DEPTHS
                                                              : CPU_CONSTANT;
    return takes && (!d->turns || glow_cpu_may_turn(n));
}

static bool
product_of(const glow_node *n, cpu_direct *d)
{
    *d = glow_cpu_product_of(n);
    return glow_cpu_all(n, GLOW_BFLOAT16);
}

static bool
has_parts(const glow_node *n)
{
    return glow_cpu_all(n, GLOW_FLOAT) || glow_cpu_all(n, GLOW_FLOAT16);
}

static bool
conv_by_parts_of(const glow_node *n, cpu_direct *d)
{
    return has_parts(n) && glow_cpu_is_whole_constant(n->in[1]) &&
           glow_cpu_conv_of(n, d);
}

static bool
product_by_parts_of(const glow_node *n, cpu_direct *d)
{
    *d = glow_cpu_product_of(n);
    return has_parts(n);
}

/* Of groups, which vectors may do as fast. */
static bool
groups_of(const glow_node *n, cpu_direct *d)
{
    return conv_of(n, d) && d->groups > 1;
}

static bool
groups_by_parts_of(const glow_node *n, cpu_direct *d)
{
    return conv_by_parts_of(n, d) && d->groups > 1;
}

static bool
takes(const cpu_target *t, const glow_node *n, const cpu_direct *d)
{
    if (d->groups > 1 && !t->choice &&
        !glow_cpu_prefers_matrix(t, d, glow_cpu_grouped_cycles(t, n)))
        return false;
    return glow_cpu_takes_matrix(t, d);
}

#define KERNEL(id, operator, of, filter_of)                                  \
    extern const cpu_kernel glow_cpu_##id;                                   \
    static bool id##_takes(const cpu_target *t, const glow_node *n)          \
    {                                                                        \
        cpu_direct d;                                                        \
        return t && t->matrix && of(n, &d) && takes(t, n, &d);               \
    }                                                                        \
    static void id##_emit(cpu_job *j)                                        \
    {                                                                        \
        cpu_direct d;                                                        \
        cpu_filter f;                                                        \
        of(j->n, &d);                                                        \
        f = filter_of(&d, NULL);                                             \
        d.turned = &f;                                                       \
        glow_cpu_emit_matrix(j, &d);                                         \
    }                                                                        \
    static int64_t id##_packed_size(const cpu_target *t, const glow_node *n) \
    {                                                                        \
        cpu_direct d;                                                        \
        of(n, &d);                                                           \
        return d.packed ? glow_cpu_matrix_size(t, &d) : 0;                   \
    }                                                                        \
    static void id##_pack(const cpu_target *t, const glow_node *n,           \
                          const glow_tensor *from, void *to)                 \
    {                                                                        \
        cpu_direct d;                                                        \
        cpu_filter f;                                                        \
        of(n, &d);                                                           \
        f = filter_of(&d, from);                                             \
        glow_cpu_pack_matrix(t, &d, &f, to);                                 \
    }                                                                        \
    static int64_t id##_room(const cpu_target *t, const glow_node *n)        \
    {                                                                        \
        cpu_direct d;                                                        \
        of(n, &d);                                                           \
        return glow_cpu_matrix_room(t, &d);                                  \
    }                                                                        \
    static int64_t id##_units(const cpu_target *t, const glow_node *n)       \
    {                                                                        \
        cpu_direct d;                                                        \
        of(n, &d);                                                           \
        return glow_cpu_matrix_units(t, &d);                                 \
    }                                                                        \
    static void id##_choices(const cpu_target *t, const glow_node *n,        \
                             cpu_choices *to)                                \
    {                                                                        \
        cpu_direct d;                                                        \
        if (of(n, &d))                                                       \
            glow_cpu_matrix_choices(t, &d, &glow_cpu_##id, to);              \
    }                                                                        \
    static void id##_remark(const cpu_target *t, const glow_node *n,         \
                            bool taken, glow_buf *b)                         \
    {                                                                        \
        cpu_direct d;                                                        \
        if (of(n, &d))                                                       \
            glow_cpu_matrix_remark(t, &d, taken, b);                         \
    }                                                                        \
    const cpu_kernel glow_cpu_##id = {                                       \
        .name = #id,                                                         \
        .op = &glow_op_##operator,                                           \
        .takes = id##_takes,                                                 \
        .emit = id##_emit,                                                   \
        .stacks = true,                                                      \
        .matrix = true,                                                      \
        .packs = 1,                                                          \
        .packed_size = id##_packed_size,                                     \
        .pack = id##_pack,                                                   \
        .scratch_size = id##_room,                                           \
        .units = id##_units,                                                 \
        .choices = id##_choices,                                             \
        .remark = id##_remark,                                               \
    }

KERNEL(batchmatmul_matrix, batchmatmul, product_of, glow_cpu_product_filter);
KERNEL(conv_matrix, convolution, conv_of, glow_cpu_conv_filter);
KERNEL(fullyconnected_matrix, fullyconnected, product_of,
       glow_cpu_product_filter);
KERNEL(matmul_matrix, matmul, product_of, glow_cpu_product_filter);
KERNEL(batchmatmul_parts, batchmatmul, product_by_parts_of,
       glow_cpu_product_filter);
KERNEL(conv_matrix_grouped, convolution, groups_of, glow_cpu_conv_filter);
KERNEL(conv_parts, convolution, conv_by_parts_of, glow_cpu_conv_filter);
KERNEL(conv_parts_grouped, convolution, groups_by_parts_of,
       glow_cpu_conv_filter);
KERNEL(fullyconnected_parts, fullyconnected, product_by_parts_of,
       glow_cpu_product_filter);
KERNEL(matmul_parts, matmul, product_by_parts_of, glow_cpu_product_filter);
