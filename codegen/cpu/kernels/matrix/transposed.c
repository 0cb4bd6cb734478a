/*
 * Transposed convolutions by matrix registers, phase by phase (see
 * direct/transposed.h): of bfloat16, and of float and float16 by parts if filters are
 * constant.
 *
 * A phase that registers cannot compute goes by vectors: one without taps, whose results
 * are the bias, as where the stride is more than the kernel; and with constant filters one
 * whose first tap is inside of the input.
 */

#include "codegen/cpu/kernels/direct/transposed.h"
#include "codegen/cpu/kernels/matrix/matrix.h"

static bool
is_by_matrix(const cpu_target *t, const cpu_direct *d)
{
    cpu_matrix m;

    return glow_cpu_matrix_of(t, d, &m);
}

/* A phase that goes by vectors: without taps it reads no weights. */
static cpu_direct
by_vectors(const cpu_direct *d)
{
    cpu_direct v = *d;

    if (d->turns) {
        v.turns = CPU_CONSTANT;
        v.turned = NULL;
        v.packed = false;
    }
    return v;
}

static int64_t
phase_size(const cpu_target *t, const cpu_direct *d)
{
    cpu_direct v = by_vectors(d);

    return is_by_matrix(t, d) ? glow_cpu_matrix_size(t, d)
                              : glow_cpu_direct_size(t, &v);
}

static int64_t
phase_units(const cpu_target *t, const cpu_direct *d)
{
    cpu_direct v = by_vectors(d);

    return is_by_matrix(t, d) ? glow_cpu_matrix_units(t, d)
                              : glow_cpu_direct_units(t, &v);
}

static void
pack_phase(const cpu_target *t, const cpu_direct *d, const cpu_filter *filter,
           void *to)
{
    if (is_by_matrix(t, d))
        glow_cpu_pack_matrix(t, d, filter, to);
    else
        glow_cpu_pack_direct(t, d, filter, to);
}

static void
emit_phase(cpu_job *j, const cpu_direct *d)
{
    cpu_direct v = by_vectors(d);

    if (is_by_matrix(j->g->target, d))
        glow_cpu_emit_matrix(j, d);
    else
        glow_cpu_emit_direct(j, &v);
}

static const cpu_phases by_matrix = {
    .size = phase_size,
    .units = phase_units,
    .pack = pack_phase,
    .emit = emit_phase,
};

static int64_t
count_taken(const cpu_target *t, const cpu_direct *d)
{
    return is_by_matrix(t, d);
}

/* Unrolled multiplications of a phase by vectors, whose filter has to be constant. */
static int64_t
vector_code_of(const cpu_target *t, const cpu_direct *d)
{
    if (is_by_matrix(t, d) || d->kernel_h * d->kernel_w == 0)
        return 0;
    return d->turns ? INT64_MAX : glow_cpu_direct_code(t, d);
}

static int64_t
vector_cycles_of(const cpu_target *t, const cpu_direct *d)
{
    return (int64_t)glow_cpu_direct_cycles(t, d);
}

static int64_t
cycles_of(const cpu_target *t, const cpu_direct *d)
{
    cpu_matrix m;

    return glow_cpu_matrix_of(t, d, &m) ? (int64_t)glow_cpu_matrix_cycles(t, &m)
                                        : vector_cycles_of(t, d);
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    double cycles, vectors;

    if (!t->matrix || !glow_cpu_may_turn(n) ||
        glow_cpu_phases_most(t, n, count_taken) != 1 ||
        glow_cpu_phases_sum(t, n, vector_code_of) > CPU_MOST_CODE)
        return false;
    cycles = (double)glow_cpu_phases_sum(t, n, cycles_of);
    vectors = (double)glow_cpu_phases_sum(t, n, vector_cycles_of);
    return t->choice ||
           glow_cpu_pays_matrix(t, n->in[0]->type, cycles, vectors);
}

static bool
takes_matrix(const cpu_target *t, const glow_node *n)
{
    return t && glow_cpu_all(n, GLOW_BFLOAT16) && takes(t, n);
}

static bool
takes_parts(const cpu_target *t, const glow_node *n)
{
    return t &&
           (glow_cpu_all(n, GLOW_FLOAT) || glow_cpu_all(n, GLOW_FLOAT16)) &&
           takes(t, n);
}

static int64_t
size_of(const cpu_target *t, const glow_node *n)
{
    return glow_cpu_phases_sum(t, n, phase_size);
}

static int64_t
room_of(const cpu_target *t, const glow_node *n)
{
    return glow_cpu_phases_most(t, n, glow_cpu_matrix_room);
}

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    return glow_cpu_phases_sum(t, n, phase_units);
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

#define KERNEL(id, takes_id)               \
    extern const cpu_kernel glow_cpu_##id; \
    const cpu_kernel glow_cpu_##id = {     \
        .name = #id,                       \
        .op = &glow_op_convtranspose,      \
        .takes = takes_id,                 \
        .emit = emit,                      \
        .stacks = true,                    \
        .matrix = true,                    \
        .packs = 1,                        \
        .packed_size = size_of,            \
        .pack = pack,                      \
        .scratch_size = room_of,           \
        .units = units_of,                 \
    }

KERNEL(convtranspose_matrix, takes_matrix);
KERNEL(convtranspose_parts, takes_parts);
