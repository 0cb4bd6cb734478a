/*
 * Building LLVM IR: a function at hand, and short names for what kernels say
 * all the time.
 *
 * Values are scalars or vectors; every helper takes either, and numbers become
 * splats where a vector is meant.  Indices and byte offsets are i64.
 */

#ifndef CODEGEN_CPU_EMIT_GEN_H
#define CODEGEN_CPU_EMIT_GEN_H

#include "codegen/cpu/target.h"
#include "codegen/llvm/llvm.h"
#include "glow/graph.h"

typedef LLVMValueRef cg_value;

typedef struct cg {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    const cpu_target *target;
    glow_arena *arena;
    cg_value fn;            /* the function being built */
    LLVMDIBuilderRef debug; /* or NULL: see debug.h */
    LLVMMetadataRef debug_file;
    bool has_c; /* the kernels in C are linked in: see call.h */
    int live;   /* 0, or how many lanes of vectors are loaded and stored */
    LLVMTypeRef f32, f64, f16, i1, i8, i16, i32, i64, ptr;
} cg;

void glow_cpu_gen_begin(cg *g, glow_arena *a, const char *name,
                        const cpu_target *t);
void glow_cpu_gen_end(cg *g);

/*
 * Begins an internal function of `n` pointers that returns an i32: 0, or the
 * code of a run-time error.
 */
cg_value glow_cpu_function(cg *g, const char *name, int n, bool is_entry);
/* An internal function that may be inlined. */
cg_value glow_cpu_function_of(cg *g, const char *name, LLVMTypeRef result,
                              LLVMTypeRef *params, int n);
/* Parameter `i` shares memory with no other that is written. */
void glow_cpu_noalias(cg *g, cg_value fn, int i);
void glow_cpu_attribute(cg *g, cg_value fn, const char *key, const char *value);
LLVMAttributeRef glow_cpu_enum(cg *g, const char *name);
/* Has `fn` made for the target, and says that it does not unwind. */
void glow_cpu_for_target(cg *g, cg_value fn);

/* Types. */

LLVMTypeRef glow_cpu_scalar(LLVMTypeRef t);
int glow_cpu_lanes(LLVMTypeRef t); /* 1 for scalars */
/* `scalar` itself for one lane. */
LLVMTypeRef glow_cpu_vector(LLVMTypeRef scalar, int lanes);
/* The type of `v` with another scalar. */
LLVMTypeRef glow_cpu_like(cg_value v, LLVMTypeRef scalar);
bool glow_cpu_is_float(cg_value v);

/* Constants: of a type, splat where it is a vector. */

cg_value glow_cpu_real(LLVMTypeRef t, double v);
cg_value glow_cpu_int(LLVMTypeRef t, int64_t v);
static inline cg_value
cg_i64(cg *g, int64_t v)
{
    return LLVMConstInt(g->i64, (uint64_t)v, true);
}

/* All lanes are `v`. */
cg_value glow_cpu_splat(cg *g, cg_value v, int lanes);
/* The first `lanes` lanes of `v`. */
cg_value glow_cpu_first(cg *g, cg_value v, int lanes);

/* A call of an LLVM intrinsic that is overloaded on the type of args[0]. */
cg_value glow_cpu_intrinsic(cg *g, const char *name, cg_value *args, int n);
/* Asks for the line at `at`, to be written or read; 3: into the first cache. */
void glow_cpu_prefetch(cg *g, cg_value at, bool writes, unsigned level);

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
/* Of indices, which never overflow. */
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

/* Of an index that is not negative, by a positive constant. */
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

/* a * b + c, in one step where the target has such an instruction. */
cg_value glow_cpu_fma(cg *g, cg_value a, cg_value b, cg_value c);
/* The lesser and greater of two indices. */
cg_value glow_cpu_imin(cg *g, cg_value a, cg_value b);
cg_value glow_cpu_imax(cg *g, cg_value a, cg_value b);

/* Memory. */

/* `p` and a number of bytes. */
cg_value glow_cpu_at(cg *g, cg_value p, cg_value bytes);
cg_value glow_cpu_atc(cg *g, cg_value p, int64_t bytes);
/*
 * Of any type, aligned to its scalar only.  Of vectors of more than g->live
 * lanes, where that is not 0, the first g->live: the others are loaded as 0.
 */
cg_value glow_cpu_load_raw(cg *g, LLVMTypeRef t, cg_value p);
void glow_cpu_store_raw(cg *g, cg_value v, cg_value p);
/* How many lanes a vector for `count` elements has: a power of two. */
int glow_cpu_lanes_over(int64_t count);
/* `v` with `rest` in the lanes that are not live. */
cg_value glow_cpu_live(cg *g, cg_value v, cg_value rest);
/* A local variable that holds `init`. */
cg_value glow_cpu_local(cg *g, cg_value init);
/*
 * `p`, as the optimizer cannot see: it costs no instruction, and keeps loads
 * from being merged, their results from being kept in registers, and addresses
 * that are a constant apart from becoming pointers of their own.
 */
cg_value glow_cpu_opaque(cg *g, cg_value p);

/* Loops: from `lo` while less than `hi`, by a constant step. */

#define CG_MAX_CARRIED 80

typedef struct cg_loop {
    LLVMBasicBlockRef head, exit;
    cg_value i, hi;
    int64_t step;
    int carried;
    cg_value value[CG_MAX_CARRIED]; /* in the body: values of this round;
                                       after the end: of the last */
    bool guarded;
} cg_loop;

/*
 * Begins a loop that is known to run at least once (guarded: may not run) and
 * hands `n` values from round to round.
 */
void glow_cpu_loop(cg *g, cg_loop *l, cg_value lo, cg_value hi, int64_t step,
                   cg_value const *init, int n);
void glow_cpu_loop_guarded(cg *g, cg_loop *l, cg_value lo, cg_value hi,
                           int64_t step, cg_value const *init, int n);
void glow_cpu_loop_end(cg *g, cg_loop *l, cg_value const *next);
/* From 0 to a constant count of at least 1; nothing is handed on. */
cg_value glow_cpu_for(cg *g, cg_loop *l, int64_t count);

/* `if (c) { ... }` */
typedef struct cg_if {
    LLVMBasicBlockRef then, done;
} cg_if;
void glow_cpu_if(cg *g, cg_if *s, cg_value c);
void glow_cpu_end_if(cg *g, cg_if *s);

/* Loops over all indices of a shape without zeros. */
typedef struct cg_nest {
    int rank;
    cg_loop loop[GLOW_MAX_RANK];
    cg_value at[GLOW_MAX_RANK];
} cg_nest;
void glow_cpu_nest(cg *g, cg_nest *n, glow_dims shape);
void glow_cpu_nest_end(cg *g, cg_nest *n);
/* The sum of at[d] * strides.at[d]. */
cg_value glow_cpu_offset(cg *g, cg_value const *at, glow_dims strides);

#endif
