/* Element kinds: loads, stores and conversions. */

#include <string.h>

#include "codegen/cpu/emit/kind.h"
#include "codegen/cpu/emit/narrow.h"

int
glow_cg_bytes(const glow_type *t)
{
    return glow_kind_get(t->elem)->bytes;
}

static const char *
foreign(const glow_value *v)
{
    return v && v->type->elem >= GLOW_KIND_COUNT
               ? glow_kind_get(v->type->elem)->name
               : NULL;
}

const char *
glow_cg_foreign_kind(const glow_node *n)
{
    const char *name = NULL;

    for (int i = 0; i < n->n_in && !name; i++)
        name = foreign(n->in[i]);
    for (int i = 0; i < n->n_out && !name; i++)
        name = foreign(n->out[i]);
    return name;
}

bool
glow_cg_is_signed(const glow_type *t)
{
    return glow_kind_get(t->elem)->is_signed;
}

static LLVMTypeRef
int_of(cg *g, int bytes)
{
    return LLVMIntTypeInContext(g->context, (unsigned)bytes * 8);
}

/* The type of an element in memory. */
static LLVMTypeRef
stored(cg *g, const glow_type *t)
{
    if (t->elem == GLOW_FLOAT)
        return g->f32;
    if (t->elem == GLOW_FLOAT64)
        return g->f64;
    return int_of(g, glow_cg_bytes(t));
}

LLVMTypeRef
glow_cg_computed(cg *g, const glow_type *t)
{
    if (t->elem == GLOW_FLOAT64)
        return g->f64;
    if (glow_is_float(t->elem))
        return g->f32;
    if (t->elem == GLOW_BOOL)
        return g->i1;
    return stored(g, t);
}

cg_value
glow_cg_to_int(cg *g, cg_value v, LLVMTypeRef scalar, bool is_signed)
{
    const char *name = is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef types[2] = {glow_cg_like(v, scalar), LLVMTypeOf(v)};
    cg_value fn = LLVMGetIntrinsicDeclaration(g->module, id, types, 2);

    return LLVMBuildCall2(g->builder,
                          LLVMIntrinsicGetType(g->context, id, types, 2), fn,
                          &v, 1, "");
}

cg_value
glow_cg_decode(cg *g, const glow_type *t, cg_value bits)
{
    if (t->elem == GLOW_BOOL)
        return cg_icmp(g, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)));
    if (glow_cg_is_narrow(t->elem))
        return glow_cg_widen(g, t->elem, bits);
    return bits;
}

static cg_value
encode(cg *g, const glow_type *t, cg_value v, bool exactly)
{
    if (t->elem == GLOW_BOOL)
        return LLVMBuildZExt(g->builder, v, glow_cg_like(v, g->i8), "");
    if (glow_cg_is_narrow(t->elem))
        return glow_cg_narrow(g, t->elem, v, exactly);
    return v;
}

cg_value
glow_cg_encode(cg *g, const glow_type *t, cg_value v)
{
    return encode(g, t, v, false);
}

cg_value
glow_cg_encode_exactly(cg *g, const glow_type *t, cg_value v)
{
    return encode(g, t, v, true);
}

cg_value
glow_cg_load_bits(cg *g, cg_tensor t, cg_value index, int lanes)
{
    LLVMTypeRef type = glow_cg_vector(stored(g, t.type), lanes);
    cg_value p = glow_cg_at(g, t.at, cg_mulc(g, index, glow_cg_bytes(t.type)));

    return glow_cg_load_raw(g, type, p);
}

void
glow_cg_store_bits(cg *g, cg_tensor t, cg_value index, cg_value v)
{
    cg_value p = glow_cg_at(g, t.at, cg_mulc(g, index, glow_cg_bytes(t.type)));

    glow_cg_store_raw(g, v, p);
}

cg_value
glow_cg_load(cg *g, cg_tensor t, cg_value index, int lanes)
{
    return glow_cg_decode(g, t.type, glow_cg_load_bits(g, t, index, lanes));
}

void
glow_cg_store(cg *g, cg_tensor t, cg_value index, cg_value v)
{
    glow_cg_store_bits(g, t, index, glow_cg_encode(g, t.type, v));
}

static cg_value
int_to_real(cg *g, const glow_type *from, cg_value v, LLVMTypeRef to)
{
    to = glow_cg_like(v, to);
    if (from->elem != GLOW_BOOL && glow_cg_is_signed(from))
        return LLVMBuildSIToFP(g->builder, v, to, "");
    return LLVMBuildUIToFP(g->builder, v, to, "");
}

/*
 * Rounds a double to float by round-to-odd: the last bit is set if the result
 * is inexact.  Rounding that to 16 bits equals rounding the double directly;
 * rounding the nearest float could meet a tie that the double is not (double
 * rounding).
 */
static cg_value
to_odd(cg *g, cg_value v)
{
    LLVMTypeRef f = glow_cg_like(v, g->f32), t = glow_cg_like(v, g->i32);
    cg_value near = LLVMBuildFPTrunc(g->builder, v, f, "");
    cg_value back = LLVMBuildFPExt(g->builder, near, LLVMTypeOf(v), "");
    cg_value bits = cg_bitcast(g, near, t), one = glow_cg_int(t, 1);
    cg_value size = glow_cg_intrinsic(g, "llvm.fabs", &back, 1);
    cg_value over =
        cg_fcmp(g, LLVMRealOGT, size, glow_cg_intrinsic(g, "llvm.fabs", &v, 1));
    cg_value cut = cg_select(g, over, cg_isub(g, bits, one), bits);

    cg_value differs = cg_fcmp(g, LLVMRealONE, back, v);

    bits = cg_select(g, differs, cg_or(g, cut, one), bits);
    return cg_bitcast(g, bits, f);
}

/* The same for an integer, because double holds only 53 bits of it. */
static cg_value
int_to_odd(cg *g, const glow_type *from, cg_value v)
{
    LLVMTypeRef t = LLVMTypeOf(v);

    if (glow_cg_bytes(from) == 8) {
        cg_value small = cg_icmp(
            g, LLVMIntULE, cg_iadd(g, v, glow_cg_int(t, INT64_C(1) << 53)),
            glow_cg_int(t, INT64_C(1) << 54));
        cg_value low = cg_and(g, v, glow_cg_int(t, 0xfff));
        cg_value more = cg_icmp(g, LLVMIntNE, low, LLVMConstNull(t));
        cg_value cut = cg_isub(g, v, low);

        cut = cg_select(g, more, cg_or(g, cut, glow_cg_int(t, 0x800)), cut);
        v = cg_select(g, small, v, cut);
    }
    return to_odd(g, int_to_real(g, from, v, g->f64));
}

cg_value
glow_cg_convert(cg *g, const glow_type *from, const glow_type *to, cg_value v)
{
    LLVMTypeRef s = glow_cg_computed(g, from), d = glow_cg_computed(g, to);
    bool from_real = LLVMGetTypeKind(s) != LLVMIntegerTypeKind;
    bool to_real = LLVMGetTypeKind(d) != LLVMIntegerTypeKind;

    if (s == d)
        return v;
    if (d == g->i1)
        return from_real
                   ? cg_fcmp(g, LLVMRealUNE, v, LLVMConstNull(LLVMTypeOf(v)))
                   : cg_icmp(g, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)));
    if (glow_cg_is_narrow(to->elem)) {
        if (from_real && s == g->f64)
            return to_odd(g, v);
        if (!from_real && s != g->i1 && glow_cg_bytes(from) >= 4)
            return int_to_odd(g, from, v);
    }
    if (from_real && to_real)
        return LLVMBuildFPCast(g->builder, v, glow_cg_like(v, d), "");
    if (from_real)
        return glow_cg_to_int(g, v, d, glow_cg_is_signed(to));
    if (to_real)
        return int_to_real(g, from, v, d);
    return LLVMBuildIntCast2(g->builder, v, glow_cg_like(v, d),
                             from->elem != GLOW_BOOL && glow_cg_is_signed(from),
                             "");
}
