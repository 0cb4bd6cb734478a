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
