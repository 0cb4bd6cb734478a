/* Helpers to build LLVM IR; see gen.h. */

#include <assert.h>
#include <string.h>

#include "codegen/cpu/emit/gen.h"

void
glow_cg_gen_begin(cg *g, glow_arena *a, const char *name, const cpu_target *t)
{
    LLVMContextRef c = LLVMContextCreate();

    *g = (cg){
        .context = c,
        .module = LLVMModuleCreateWithNameInContext(name, c),
        .builder = LLVMCreateBuilderInContext(c),
        .target = t,
        .arena = a,
        .f32 = LLVMFloatTypeInContext(c),
        .f64 = LLVMDoubleTypeInContext(c),
        .f16 = LLVMHalfTypeInContext(c),
        .i1 = LLVMInt1TypeInContext(c),
        .i8 = LLVMInt8TypeInContext(c),
        .i16 = LLVMInt16TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
        .ptr = LLVMPointerTypeInContext(c, 0),
    };
    LLVMSetTarget(g->module, t->triple);
    LLVMSetModuleDataLayout(g->module, t->layout);
}

void
glow_cg_gen_end(cg *g)
{
    LLVMDisposeBuilder(g->builder);
    LLVMDisposeModule(g->module);
    LLVMContextDispose(g->context);
}

LLVMAttributeRef
glow_cg_enum(cg *g, const char *name)
{
    unsigned id = LLVMGetEnumAttributeKindForName(name, strlen(name));

    return LLVMCreateEnumAttribute(g->context, id, 0);
}

void
glow_cg_attribute(cg *g, cg_value fn, const char *key, const char *value)
{
    LLVMAttributeRef a = LLVMCreateStringAttribute(
        g->context, key, (unsigned)strlen(key), value, (unsigned)strlen(value));

    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            a);
}

/* Fixes vscale, so that LLVM keeps fixed-length vectors in SVE registers. */
static void
set_sve_length(cg *g, cg_value fn, int bytes)
{
    static const char name[] = "vscale_range";
    unsigned id = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    uint64_t parts = (uint64_t)bytes / 16; /* vscale: least and most */

    LLVMAddAttributeAtIndex(
        fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(g->context, id, parts << 32 | parts));
}

void
glow_cg_for_target(cg *g, cg_value fn)
{
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            glow_cg_enum(g, "nounwind"));
    glow_cg_attribute(g, fn, "target-cpu", g->target->cpu);
    glow_cg_attribute(g, fn, "target-features", g->target->features);
    glow_cg_attribute(g, fn, "prefer-vector-width", g->target->width_text);
    glow_cg_attribute(g, fn, "reciprocal-estimates", "vec-divf");
    if (g->target->sve_bytes)
        set_sve_length(g, fn, g->target->sve_bytes);
}

void
glow_cg_noalias(cg *g, cg_value fn, int i)
{
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)(i + 1),
                            glow_cg_enum(g, "noalias"));
}

static cg_value
add_function(cg *g, const char *name, LLVMTypeRef result, LLVMTypeRef *params,
             int n, LLVMLinkage linkage)
{
    LLVMTypeRef type = LLVMFunctionType(result, params, (unsigned)n, false);
    cg_value fn = LLVMAddFunction(g->module, name, type);

    LLVMSetLinkage(fn, linkage);
    glow_cg_for_target(g, fn);
    g->fn = fn;
    LLVMPositionBuilderAtEnd(
        g->builder, LLVMAppendBasicBlockInContext(g->context, fn, "entry"));
    return fn;
}

cg_value
glow_cg_function_of(cg *g, const char *name, LLVMTypeRef result,
                    LLVMTypeRef *params, int n)
{
    return add_function(g, name, result, params, n, LLVMInternalLinkage);
}

cg_value
glow_cg_function(cg *g, const char *name, int n, bool is_entry)
{
    LLVMTypeRef *params = GLOW_NEW_ARRAY(g->arena, LLVMTypeRef, n);
    cg_value fn;

    for (int i = 0; i < n; i++)
        params[i] = g->ptr;
    fn = add_function(g, name, g->i32, params, n,
                      is_entry ? LLVMExternalLinkage : LLVMInternalLinkage);
    if (!is_entry)
        LLVMAddAttributeAtIndex(fn,
                                (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                glow_cg_enum(g, "noinline"));
    return fn;
}

/* Types. */

LLVMTypeRef
glow_cg_scalar(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

int
glow_cg_lanes(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(t)
                                                    : 1;
}

LLVMTypeRef
glow_cg_vector(LLVMTypeRef scalar, int lanes)
{
    return lanes == 1 ? scalar : LLVMVectorType(scalar, (unsigned)lanes);
}

LLVMTypeRef
glow_cg_like(cg_value v, LLVMTypeRef scalar)
{
    return glow_cg_vector(scalar, glow_cg_lanes(LLVMTypeOf(v)));
}

bool
glow_cg_is_float(cg_value v)
{
    return LLVMGetTypeKind(glow_cg_scalar(LLVMTypeOf(v))) !=
           LLVMIntegerTypeKind;
}

/* Constants. */

static cg_value
splat_constant(LLVMTypeRef t, cg_value v)
{
    cg_value lanes[256];
    int n = glow_cg_lanes(t);

    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return v;
    assert(n <= 256);
    for (int i = 0; i < n; i++)
        lanes[i] = v;
    return LLVMConstVector(lanes, (unsigned)n);
}

cg_value
glow_cg_real(LLVMTypeRef t, double v)
{
    return splat_constant(t, LLVMConstReal(glow_cg_scalar(t), v));
}

cg_value
glow_cg_int(LLVMTypeRef t, int64_t v)
{
    return splat_constant(t,
                          LLVMConstInt(glow_cg_scalar(t), (uint64_t)v, true));
}

cg_value
glow_cg_splat(cg *g, cg_value v, int lanes)
{
    if (lanes == 1)
        return v;

    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(v), (unsigned)lanes);
    LLVMTypeRef order = LLVMVectorType(g->i32, (unsigned)lanes);
    cg_value one = LLVMBuildInsertElement(g->builder, LLVMGetPoison(t), v,
                                          LLVMConstNull(g->i32), "");

    return LLVMBuildShuffleVector(g->builder, one, LLVMGetPoison(t),
                                  LLVMConstNull(order), "");
}

cg_value
glow_cg_first(cg *g, cg_value v, int lanes)
{
    cg_value order[256];
    LLVMTypeRef t = LLVMTypeOf(v);

    if (lanes == glow_cg_lanes(t))
        return v;
    if (lanes == 1)
        return LLVMBuildExtractElement(g->builder, v, LLVMConstNull(g->i32),
                                       "");
    for (int i = 0; i < lanes; i++)
        order[i] = LLVMConstInt(g->i32, (unsigned)i, false);
    return LLVMBuildShuffleVector(g->builder, v, LLVMGetPoison(t),
                                  LLVMConstVector(order, (unsigned)lanes), "");
}

cg_value
glow_cg_intrinsic(cg *g, const char *name, cg_value *args, int n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef t = LLVMTypeOf(args[0]);
    cg_value fn = LLVMGetIntrinsicDeclaration(g->module, id, &t, 1);

    return LLVMBuildCall2(g->builder,
                          LLVMIntrinsicGetType(g->context, id, &t, 1), fn, args,
                          (unsigned)n, "");
}

void
glow_cg_prefetch(cg *g, cg_value at, bool writes, unsigned level)
{
    cg_value how = LLVMConstInt(g->i32, writes, false);
    cg_value near = LLVMConstInt(g->i32, level, false);
    cg_value data = LLVMConstInt(g->i32, 1, false);

    glow_cg_intrinsic(g, "llvm.prefetch", (cg_value[]){at, how, near, data}, 4);
}

/* Arithmetic. */

/*
 * llvm.fmuladd, because without FMA instructions llvm.fma is a libm call per
 * lane.
 */
cg_value
glow_cg_fma(cg *g, cg_value a, cg_value b, cg_value c)
{
    if (g->target->exact)
        return cg_fadd(g, cg_fmul(g, a, b), c);
    return glow_cg_intrinsic(g, "llvm.fmuladd", (cg_value[]){a, b, c}, 3);
}

cg_value
glow_cg_imin(cg *g, cg_value a, cg_value b)
{
    return cg_select(g, cg_icmp(g, LLVMIntSLT, a, b), a, b);
}

cg_value
glow_cg_imax(cg *g, cg_value a, cg_value b)
{
    return cg_select(g, cg_icmp(g, LLVMIntSGT, a, b), a, b);
}

/* Memory. */

cg_value
glow_cg_at(cg *g, cg_value p, cg_value bytes)
{
    return LLVMBuildInBoundsGEP2(g->builder, g->i8, p, &bytes, 1, "");
}

cg_value
glow_cg_atc(cg *g, cg_value p, int64_t bytes)
{
    return bytes ? glow_cg_at(g, p, cg_i64(g, bytes)) : p;
}

static unsigned
alignment(cg *g, LLVMTypeRef t)
{
    return LLVMABIAlignmentOfType(g->target->layout, glow_cg_scalar(t));
}

/* Vectors with live and dead lanes. */

int
glow_cg_lanes_over(int64_t count)
{
    int lanes = 1;

    while (lanes < count)
        lanes *= 2;
    return lanes;
}

static bool
is_partial(const cg *g, LLVMTypeRef t)
{
    return g->live && glow_cg_lanes(t) > g->live;
}

/* A constant mask: the first g->live of `lanes` lanes. */
static cg_value
live_lanes(cg *g, int lanes)
{
    cg_value is[256];

    assert(lanes <= 256);
    for (int i = 0; i < lanes; i++)
        is[i] = LLVMConstInt(g->i1, i < g->live, false);
    return LLVMConstVector(is, (unsigned)lanes);
}

cg_value
glow_cg_live(cg *g, cg_value v, cg_value rest)
{
    LLVMTypeRef t = LLVMTypeOf(v);

    return is_partial(g, t)
               ? cg_select(g, live_lanes(g, glow_cg_lanes(t)), v, rest)
               : v;
}

/*
 * A masked load, or a masked store of `v` if it is not NULL, for vectors of
 * type `t`.  Its alignment is an operand up to LLVM 21, then an attribute of
 * the pointer.
 */
static cg_value
masked(cg *g, LLVMTypeRef t, cg_value v, cg_value p)
{
    const char *name = v ? "llvm.masked.store" : "llvm.masked.load";
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef types[2] = {t, g->ptr};
    cg_value fn = LLVMGetIntrinsicDeclaration(g->module, id, types, 2);
    LLVMTypeRef type = LLVMIntrinsicGetType(g->context, id, types, 2);
    unsigned align = alignment(g, t), n = 0, pointer = v ? 1 : 0;
    bool is_operand = LLVMCountParamTypes(type) == 4;
    cg_value args[4], call;

    if (v)
        args[n++] = v;
    args[n++] = p;
    if (is_operand)
        args[n++] = LLVMConstInt(g->i32, align, false);
    args[n++] = live_lanes(g, glow_cg_lanes(t));
    if (!v)
        args[n++] = LLVMConstNull(t);
    call = LLVMBuildCall2(g->builder, type, fn, args, n, "");
    if (!is_operand)
        LLVMAddCallSiteAttribute(
            call, pointer + 1,
            LLVMCreateEnumAttribute(g->context,
                                    LLVMGetEnumAttributeKindForName("align", 5),
                                    align));
    return call;
}

cg_value
glow_cg_load_raw(cg *g, LLVMTypeRef t, cg_value p)
{
    cg_value v;

    if (is_partial(g, t))
        return masked(g, t, NULL, p);
    v = LLVMBuildLoad2(g->builder, t, p, "");
    LLVMSetAlignment(v, alignment(g, t));
    return v;
}

void
glow_cg_store_raw(cg *g, cg_value v, cg_value p)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    cg_value s;

    if (is_partial(g, t)) {
        masked(g, t, v, p);
        return;
    }
    s = LLVMBuildStore(g->builder, v, p);
    LLVMSetAlignment(s, alignment(g, t));
}

/* The alloca is in the entry block, where SROA finds it. */
cg_value
glow_cg_local(cg *g, cg_value init)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->builder);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(g->fn);
    cg_value first = LLVMGetFirstInstruction(entry);

    if (first)
        LLVMPositionBuilderBefore(g->builder, first);
    else
        LLVMPositionBuilderAtEnd(g->builder, entry);

    cg_value p = LLVMBuildAlloca(g->builder, LLVMTypeOf(init), "");

    LLVMPositionBuilderAtEnd(g->builder, here);
    /* SelectionDAG stores an aggregate element by element, though it be undefined. */
    if (!LLVMIsUndef(init))
        LLVMBuildStore(g->builder, init, p);
    return p;
}

cg_value
glow_cg_opaque(cg *g, cg_value p)
{
    LLVMTypeRef t = LLVMFunctionType(g->ptr, &g->ptr, 1, false);
    cg_value same = LLVMGetInlineAsm(t, "", 0, "=r,0", 4, false, false,
                                     LLVMInlineAsmDialectATT, false);

    return LLVMBuildCall2(g->builder, t, same, &p, 1, "");
}

cg_value
glow_cg_base(cg *g, cg_value p)
{
    return strncmp(g->target->triple, "wasm", 4) == 0 ? glow_cg_opaque(g, p)
                                                      : p;
}

/* Loops. */

static LLVMBasicBlockRef
block(cg *g, const char *name)
{
    return LLVMAppendBasicBlockInContext(g->context, g->fn, name);
}

static cg_value
phi(cg *g, cg_value init, LLVMBasicBlockRef from)
{
    cg_value v = LLVMBuildPhi(g->builder, LLVMTypeOf(init), "");

    LLVMAddIncoming(v, &init, &from, 1);
    return v;
}

static void
begin(cg *g, cg_loop *l, cg_value lo, cg_value hi, int64_t step,
      cg_value const *init, int n)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->builder);

    assert(n <= CG_MAX_CARRIED);
    l->head = block(g, "loop");
    l->exit = NULL;
    l->hi = hi;
    l->step = step;
    l->carried = n;
    LLVMBuildBr(g->builder, l->head);
    LLVMPositionBuilderAtEnd(g->builder, l->head);
    l->i = phi(g, lo, before);
    for (int i = 0; i < n; i++)
        l->value[i] = phi(g, init[i], before);
}

void
glow_cg_loop(cg *g, cg_loop *l, cg_value lo, cg_value hi, int64_t step,
             cg_value const *init, int n)
{
    begin(g, l, lo, hi, step, init, n);
    l->guarded = false;
}

/*
 * The test is at the loop head, so at the exit the phis have the last values.
 */
void
glow_cg_loop_guarded(cg *g, cg_loop *l, cg_value lo, cg_value hi, int64_t step,
                     cg_value const *init, int n)
{
    begin(g, l, lo, hi, step, init, n);
    l->guarded = true;
    l->exit = block(g, "exit");

    LLVMBasicBlockRef body = block(g, "body");

    LLVMBuildCondBr(g->builder, cg_icmp(g, LLVMIntSLT, l->i, hi), body,
                    l->exit);
    LLVMPositionBuilderAtEnd(g->builder, body);
}

static LLVMMetadataRef
text_node(cg *g, const char *text, LLVMMetadataRef with)
{
    LLVMMetadataRef parts[2] = {
        LLVMMDStringInContext2(g->context, text, strlen(text)), with};

    return LLVMMDNodeInContext2(g->context, parts, with ? 2 : 1);
}

/* Disables LLVM's unrolling and vectorization of the loop. */
static void
keep_shape(cg *g, cg_value branch)
{
    LLVMMetadataRef no = LLVMValueAsMetadata(LLVMConstNull(g->i1));
    LLVMMetadataRef self = LLVMTemporaryMDNode(g->context, NULL, 0);
    LLVMMetadataRef parts[3] = {self,
                                text_node(g, "llvm.loop.unroll.disable", NULL),
                                text_node(g, "llvm.loop.vectorize.enable", no)};
    LLVMMetadataRef id = LLVMMDNodeInContext2(g->context, parts, 3);

    LLVMMetadataReplaceAllUsesWith(self, id);
    LLVMSetMetadata(branch,
                    LLVMGetMDKindIDInContext(g->context, "llvm.loop", 9),
                    LLVMMetadataAsValue(g->context, id));
}

void
glow_cg_loop_end(cg *g, cg_loop *l, cg_value const *next)
{
    LLVMBasicBlockRef last = LLVMGetInsertBlock(g->builder);
    cg_value i = cg_addc(g, l->i, l->step);
    cg_value branch;

    if (l->guarded) {
        branch = LLVMBuildBr(g->builder, l->head);
    } else {
        cg_value more = cg_icmp(g, LLVMIntSLT, i, l->hi);

        l->exit = block(g, "exit");
        branch = LLVMBuildCondBr(g->builder, more, l->head, l->exit);
    }
    keep_shape(g, branch);
    LLVMAddIncoming(l->i, &i, &last, 1);
    for (int k = 0; k < l->carried; k++) {
        LLVMAddIncoming(l->value[k], (cg_value *)&next[k], &last, 1);
        if (!l->guarded)
            l->value[k] = next[k];
    }
    LLVMPositionBuilderAtEnd(g->builder, l->exit);
}

cg_value
glow_cg_for(cg *g, cg_loop *l, int64_t count)
{
    if (count > 0)
        glow_cg_loop(g, l, cg_i64(g, 0), cg_i64(g, count), 1, NULL, 0);
    else
        glow_cg_loop_guarded(g, l, cg_i64(g, 0), cg_i64(g, 0), 1, NULL, 0);
    return l->i;
}

void
glow_cg_if(cg *g, cg_if *s, cg_value c)
{
    s->then = block(g, "then");
    s->done = block(g, "done");
    LLVMBuildCondBr(g->builder, c, s->then, s->done);
    LLVMPositionBuilderAtEnd(g->builder, s->then);
}

void
glow_cg_end_if(cg *g, cg_if *s)
{
    LLVMBuildBr(g->builder, s->done);
    LLVMPositionBuilderAtEnd(g->builder, s->done);
}

void
glow_cg_nest(cg *g, cg_nest *n, glow_dims shape)
{
    n->rank = shape.rank;
    for (int d = 0; d < shape.rank; d++)
        n->at[d] = glow_cg_for(g, &n->loop[d], shape.at[d]);
}

void
glow_cg_nest_end(cg *g, cg_nest *n)
{
    for (int d = n->rank - 1; d >= 0; d--)
        glow_cg_loop_end(g, &n->loop[d], NULL);
}

cg_value
glow_cg_offset(cg *g, cg_value const *at, glow_dims strides)
{
    cg_value sum = cg_i64(g, 0);

    for (int d = 0; d < strides.rank; d++)
        if (strides.at[d])
            sum = cg_add(g, sum, cg_mulc(g, at[d], strides.at[d]));
    return sum;
}
