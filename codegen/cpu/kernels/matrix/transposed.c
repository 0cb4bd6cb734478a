/*
 * Transposed convolutions by matrix registers, phase by phase (see
 * direct/transposed.h): of bfloat16, and of float and float16 by parts if filters are
 * constant.
 */

#include "codegen/cpu/kernels/direct/transposed.h"
#include "codegen/cpu/kernels/matrix/matrix.h"

static const cpu_phases by_matrix = {
    .size = glow_cpu_matrix_size,
    .units = glow_cpu_matrix_units,
    .pack = glow_cpu_pack_matrix,
    .emit = glow_cpu_emit_matrix,
};

static int64_t
is_left_out(const cpu_target *t, const cpu_direct *d)
{
    cpu_matrix m;

    return !glow_cpu_matrix_of(t, d, &m);
}

static int64_t
cycles_of(const cpu_target *t, const cpu_direct *d)
{
    cpu_matrix m;

    glow_cpu_matrix_of(t, d, &m);
    return (int64_t)glow_cpu_matrix_cycles(t, &m);
}

static int64_t
vector_cycles_of(const cpu_target *t, const cpu_direct *d)
{
    return (int64_t)glow_cpu_direct_cycles(t, d);
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    double cycles, vectors;

    if (!t->matrix || !glow_cpu_may_turn(n) ||
        glow_cpu_phases_sum(t, n, is_left_out) > 0)
        return false;
    cycles = (double)glow_cpu_phases_sum(t, n, cycles_of);
    vectors = (double)glow_cpu_phases_sum(t, n, vector_cycles_of);
    return t->choice || glow_cpu_pays_matrix(t, n->in[0]->type, cycles, vectors);
}

static bool
takes_matrix(const cpu_target *t, const glow_node *n)
{
    return t && glow_cpu_all(n, GLOW_BFLOAT16) && takes(t, n);
}

static bool
takes_parts(const cpu_target *t, const glow_node *n)
{
    return t && (glow_cpu_all(n, GLOW_FLOAT) || glow_cpu_all(n, GLOW_FLOAT16)) &&
           takes(t, n);
}

static int64_t
size_of(const cpu_target *t, const glow_node *n)
{
    return glow_cpu_phases_sum(t, n, glow_cpu_matrix_size);
}

static int64_t
room_of(const cpu_target *t, const glow_node *n)
{
    return glow_cpu_phases_most(t, n, glow_cpu_matrix_room);
}

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    return glow_cpu_phases_sum(t, n, glow_cpu_matrix_units);
}

static void
pack(const cpu_target *t, const glow_node *n, const glow_tensor *from, void *to)
{
    glow_cpu_pack_phases(t, n, &by_matrix, from, to);
}

static void
emit(cpu_job *j)
{
    glow_cpu_emit_phases(j, &by_matrix);
}

#define KERNEL(id, takes_id)                                                 \
    extern const cpu_kernel glow_cpu_##id;                                   \
    const cpu_kernel glow_cpu_##id = {                                       \
        .name = #id,                                                         \
        .op = &glow_op_convtranspose,                                        \
        .takes = takes_id,                                                   \
        .emit = emit,                                                        \
        .stacks = true,                                                      \
        .matrix = true,                                                      \
        .packs = 1,                                                          \
        .packed_size = size_of,                                              \
        .pack = pack,                                                        \
        .scratch_size = room_of,                                             \
        .units = units_of,                                                   \
    }

KERNEL(convtranspose_matrix, takes_matrix);
KERNEL(convtranspose_parts, takes_parts);
