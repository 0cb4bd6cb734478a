/* Shuffles of vectors. */

#include "codegen/cpu/kernels/move/shuffle.h"

cg_value
glow_cpu_shuffle(cg *g, cg_value a, cg_value b, const int *from, int lanes)
{
    cg_value order[CPU_MOST_LANES];

    for (int i = 0; i < lanes; i++)
        order[i] = LLVMConstInt(g->i32, (unsigned)from[i], false);
    return LLVMBuildShuffleVector(g->builder, a,
                                  b ? b : LLVMGetPoison(LLVMTypeOf(a)),
                                  LLVMConstVector(order, (unsigned)lanes), "");
}

cg_value
glow_cpu_zip_chunks(cg *g, cg_value a, cg_value b, bool upper)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(a)), from[CPU_MOST_LANES];

    for (int i = 0; i < lanes; i++) {
        int in_chunk = i % CPU_CHUNK / 2 + (upper ? CPU_CHUNK / 2 : 0);

        from[i] = i - i % CPU_CHUNK + in_chunk + (i % 2 ? lanes : 0);
    }
    return glow_cpu_shuffle(g, a, b, from, lanes);
}

cg_value
glow_cpu_some_lanes(cg *g, cg_value v, int first, int lanes)
{
    int from[CPU_MOST_LANES];

    if (lanes == 1)
        return LLVMBuildExtractElement(
            g->builder, v, LLVMConstInt(g->i32, (unsigned)first, false), "");
    for (int i = 0; i < lanes; i++)
        from[i] = first + i;
    return glow_cpu_shuffle(g, v, NULL, from, lanes);
}

/*
 * In each chunk of 128 bits: the lower plus the upper halves of `a` and of `b`,
 * interleaved.
 */
static cg_value
add_halves(cg *g, cg_value a, cg_value b)
{
    cg_value low = glow_cpu_zip_chunks(g, a, b, false);
    cg_value high = glow_cpu_zip_chunks(g, a, b, true);

    return cg_fadd(g, low, high);
}

cg_value
glow_cpu_add_lanes(cg *g, cg_value const *v)
{
    cg_value even = add_halves(g, v[0], v[2]), odd = add_halves(g, v[1], v[3]);
    cg_value all = add_halves(g, even, odd);

    for (int n = glow_cg_lanes(LLVMTypeOf(all)); n > CPU_CHUNK; n /= 2) {
        cg_value low = glow_cpu_some_lanes(g, all, 0, n / 2);
        cg_value high = glow_cpu_some_lanes(g, all, n / 2, n / 2);

        all = cg_fadd(g, low, high);
    }
    return all;
}
