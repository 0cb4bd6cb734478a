/*
 * All kernels in C as one translation unit, so that one bitcode file holds
 * them.
 */

#include "codegen/cpu/c/cumsum.c"
#include "codegen/cpu/c/nms.c"
#include "codegen/cpu/c/nonzero.c"
#include "codegen/cpu/c/philox.c"
#include "codegen/cpu/c/profile.c"
#include "codegen/cpu/c/roi.c"
#include "codegen/cpu/c/rows.c"
#include "codegen/cpu/c/scatterdata.c"
#include "codegen/cpu/c/sparse.c"
#include "codegen/cpu/c/tiles.c"
#include "codegen/cpu/c/topk.c"
#include "codegen/cpu/c/unique.c"
