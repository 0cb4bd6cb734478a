/*
 * Helpers to build LLVM IR: the state of the function under construction, and
 * short names for frequent instructions.
 *
 * Values are scalars or vectors; every helper takes either, and splats numbers
 * for vectors.  Indices and byte offsets are i64.
 */

#ifndef CODEGEN_CPU_EMIT_GEN_H
#define CODEGEN_CPU_EMIT_GEN_H

#include "codegen/cpu/target.h"
#include "codegen/llvm/llvm.h"
#include "glow/graph.h"

typedef LLVMValueRef cg_value;

/* Tiles of matrix.h in memory, where they are no registers. */
typedef struct cg_tiles {
    cg_value state; /* their contents */
    cg_value at,
        step; /* addresses of operands, and bytes between rows: bfmmla.c */
    int rows, depth;
} cg_tiles;

typedef struct cg {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    const cpu_target *target;
    glow_arena *arena;
    cg_value fn;            /* the function being built */
    LLVMDIBuilderRef debug; /* or NULL: see debug.h */
    LLVMMetadataRef debug_file;
    bool has_c; /* the functions in C are linked in: see link.h */
    cg_tiles tiles;
    int live; /* lanes that are loaded and stored, or 0: all */
    LLVMTypeRef f32, f64, f16, i1, i8, i16, i32, i64, ptr;
} cg;

void glow_cg_gen_begin(cg *g, glow_arena *a, const char *name,
                       const cpu_target *t);
void glow_cg_gen_end(cg *g);

/*
 * Begins an internal function of `n` pointers that returns an i32: 0, or the
 * code of a run-time error.
 */
cg_value glow_cg_function(cg *g, const char *name, int n, bool is_entry);
/* An internal function that may be inlined. */
cg_value glow_cg_function_of(cg *g, const char *name, LLVMTypeRef result,
                             LLVMTypeRef *params, int n);
/* Marks parameter `i` noalias: no other written parameter overlaps it. */
void glow_cg_noalias(cg *g, cg_value fn, int i);
void glow_cg_attribute(cg *g, cg_value fn, const char *key, const char *value);
LLVMAttributeRef glow_cg_enum(cg *g, const char *name);
/* Sets the target's CPU and features on `fn`, and nounwind. */
void glow_cg_for_target(cg *g, cg_value fn);

/* Types. */

LLVMTypeRef glow_cg_scalar(LLVMTypeRef t);
int glow_cg_lanes(LLVMTypeRef t); /* 1 for scalars */
/* The vector type of `lanes` lanes; `scalar` itself for one lane. */
LLVMTypeRef glow_cg_vector(LLVMTypeRef scalar, int lanes);
/* The type of `v` with element type `scalar`. */
LLVMTypeRef glow_cg_like(cg_value v, LLVMTypeRef scalar);
bool glow_cg_is_float(cg_value v);

/* Constants of type `t`; a splat if it is a vector. */

cg_value glow_cg_real(LLVMTypeRef t, double v);
cg_value glow_cg_int(LLVMTypeRef t, int64_t v);
static inline cg_value
cg_i64(cg *g, int64_t v)
{
    return LLVMConstInt(g->i64, (uint64_t)v, true);
}

/* A vector with `v` in all lanes. */
cg_value glow_cg_splat(cg *g, cg_value v, int lanes);
/* The first `lanes` lanes of `v`. */
cg_value glow_cg_first(cg *g, cg_value v, int lanes);

/* A call of an LLVM intrinsic that is overloaded on the type of args[0]. */
cg_value glow_cg_intrinsic(cg *g, const char *name, cg_value *args, int n);
/*
 * Prefetches the cache line at `at`, for a read or a write; `level` 3: into L1.
 */
void glow_cg_prefetch(cg *g, cg_value at, bool writes, unsigned level);

/* Arithmetic. */

#define CG_BINARY(name, build)                                 \
    static inline cg_value name(cg *g, cg_value a, cg_value b) \
    {                                                          \
        return build(g->builder, a, b, "");                    \
    }
CG_BINARY(cg_fadd, LLVMBuildFAdd)
CG_BINARY(cg_fsub, LLVMBuildFSub)
CG_BINARY(cg_fmul, LLVMBuildFMul)
CG_BINARY(cg_fdiv, LLVMBuildFDiv)
CG_BINARY(cg_iadd, LLVMBuildAdd)
CG_BINARY(cg_isub, LLVMBuildSub)
CG_BINARY(cg_imul, LLVMBuildMul)
CG_BINARY(cg_and, LLVMBuildAnd)
CG_BINARY(cg_or, LLVMBuildOr)
CG_BINARY(cg_xor, LLVMBuildXor)
CG_BINARY(cg_shl, LLVMBuildShl)
CG_BINARY(cg_lshr, LLVMBuildLShr)
/* Arithmetic of indices, which does not overflow (nsw). */
CG_BINARY(cg_add, LLVMBuildNSWAdd)
CG_BINARY(cg_sub, LLVMBuildNSWSub)
CG_BINARY(cg_mul, LLVMBuildNSWMul)
#undef CG_BINARY

static inline cg_value
cg_addc(cg *g, cg_value a, int64_t k)
{
    return k ? cg_add(g, a, cg_i64(g, k)) : a;
}

static inline cg_value
cg_mulc(cg *g, cg_value a, int64_t k)
{
    return k == 1 ? a : cg_mul(g, a, cg_i64(g, k));
}

/* The index a * ka + b * kb. */
static inline cg_value
cg_affine(cg *g, cg_value a, int64_t ka, cg_value b, int64_t kb)
{
    cg_value x = cg_mulc(g, a, ka);

    return cg_add(g, x, cg_mulc(g, b, kb));
}

/* Quotient and remainder of a nonnegative index by a positive constant. */
static inline cg_value
cg_over(cg *g, cg_value a, int64_t k)
{
    return k == 1 ? a : LLVMBuildUDiv(g->builder, a, cg_i64(g, k), "");
}

static inline cg_value
cg_modulo(cg *g, cg_value a, int64_t k)
{
    return k == 1 ? cg_i64(g, 0)
                  : LLVMBuildURem(g->builder, a, cg_i64(g, k), "");
}

static inline cg_value
cg_select(cg *g, cg_value c, cg_value a, cg_value b)
{
    return LLVMBuildSelect(g->builder, c, a, b, "");
}

static inline cg_value
cg_fcmp(cg *g, LLVMRealPredicate p, cg_value a, cg_value b)
{
    return LLVMBuildFCmp(g->builder, p, a, b, "");
}

static inline cg_value
cg_icmp(cg *g, LLVMIntPredicate p, cg_value a, cg_value b)
{
    return LLVMBuildICmp(g->builder, p, a, b, "");
}

static inline cg_value
cg_bitcast(cg *g, cg_value v, LLVMTypeRef t)
{
    return LLVMBuildBitCast(g->builder, v, t, "");
}

/* a * b + c, fused where the target has FMA and need not be exact. */
cg_value glow_cg_fma(cg *g, cg_value a, cg_value b, cg_value c);
/* Minimum and maximum of two indices. */
cg_value glow_cg_imin(cg *g, cg_value a, cg_value b);
cg_value glow_cg_imax(cg *g, cg_value a, cg_value b);

/* Memory. */

/* `p` plus a number of bytes. */
cg_value glow_cg_at(cg *g, cg_value p, cg_value bytes);
cg_value glow_cg_atc(cg *g, cg_value p, int64_t bytes);
/*
 * Loads and stores of any type, with the alignment of its scalar.  With g->live
 * other than 0, vectors of more lanes load and store only the first g->live,
 * and load 0 in the others.
 */
cg_value glow_cg_load_raw(cg *g, LLVMTypeRef t, cg_value p);
void glow_cg_store_raw(cg *g, cg_value v, cg_value p);
/* Lanes of a vector for `count` elements: the next power of two. */
int glow_cg_lanes_over(int64_t count);
/* `v`, with `rest` in the lanes that are not live. */
cg_value glow_cg_live(cg *g, cg_value v, cg_value rest);
/* A local variable that holds `init`. */
cg_value glow_cg_local(cg *g, cg_value init);
/*
 * `p`, opaque to the optimizer: it costs no instruction, and prevents loads
 * from being merged, their results from being kept in registers, and addresses
 * at constant distances from becoming separate pointers.
 */
cg_value glow_cg_opaque(cg *g, cg_value p);
/*
 * Address `p`, from which constant offsets are part of loads.  WebAssembly adds them to
 * 32 bits without a carry, so LLVM puts those alone into a load that are `inbounds`, which
 * its loop strength reduction drops: each load of a loop then has an addition before it.
 * It does not look behind opaque addresses.
 */
cg_value glow_cg_base(cg *g, cg_value p);

/* Counted loops: from `lo` while less than `hi`, by a constant step. */

#define CG_MAX_CARRIED 80

typedef struct cg_loop {
    LLVMBasicBlockRef head, exit;
    cg_value i, hi;
    int64_t step;
    int carried;
    cg_value value[CG_MAX_CARRIED]; /* in the body: phis; then last values */
    bool guarded;
} cg_loop;

/*
 * Begins a loop with `n` loop-carried values (phis), which runs at least once;
 * guarded: it may run zero times.
 */
void glow_cg_loop(cg *g, cg_loop *l, cg_value lo, cg_value hi, int64_t step,
                  cg_value const *init, int n);
void glow_cg_loop_guarded(cg *g, cg_loop *l, cg_value lo, cg_value hi,
                          int64_t step, cg_value const *init, int n);
void glow_cg_loop_end(cg *g, cg_loop *l, cg_value const *next);
/* A loop from 0 to a constant count, without carried values. */
cg_value glow_cg_for(cg *g, cg_loop *l, int64_t count);

/* `if (c) { ... }` */
typedef struct cg_if {
    LLVMBasicBlockRef then, done;
} cg_if;
void glow_cg_if(cg *g, cg_if *s, cg_value c);
void glow_cg_end_if(cg *g, cg_if *s);

/* A loop nest over all indices of a shape without zeros. */
typedef struct cg_nest {
    int rank;
    cg_loop loop[GLOW_MAX_RANK];
    cg_value at[GLOW_MAX_RANK];
} cg_nest;
void glow_cg_nest(cg *g, cg_nest *n, glow_dims shape);
void glow_cg_nest_end(cg *g, cg_nest *n);
/* The sum of at[d] * strides.at[d]. */
cg_value glow_cg_offset(cg *g, cg_value const *at, glow_dims strides);

#endif
