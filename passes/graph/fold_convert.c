/*
 * fold-convert: merge chains of conversions.
 *
 *     %y = ConvertTo(%x) : B
 *     %z = ConvertTo(%y) : C            =>  %z = ConvertTo(%x) : C
 *
 * B may be skipped if every number of A, the kind of %x, is representable in B:
 * then %y equals %x. float16 is a subset of float, int32 is not.  If C is A, no
 * conversion remains.  Conversions between integers keep the low bits: B may
 * also be skipped if C has no more bits.  Conversion from integers to narrower
 * integers saturates through floats and wraps directly, and stays.
 *
 * No conversion that rounds is skipped: float to float16 and back stays.
 * Exact, for all kinds.  Such chains come from exporters, which cast around
 * each operator, and from convert-precision, whose pairs cancel here.  Glow
 * skips the middle kind if it has more bytes, which is not safe for int32 to
 * float and back.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

/*
 * Bits of an integer kind, or of the integers that a float kind represents
 * exactly, without sign.
 */
static int
exact_bits(glow_kind k)
{
    const glow_kind_info *info = glow_kind_get(k);

    switch (k) {
    case GLOW_BOOL:
        return 1;
    case GLOW_FLOAT16:
        return 11;
    case GLOW_BFLOAT16:
        return 8;
    case GLOW_FLOAT:
        return 24;
    case GLOW_FLOAT64:
        return 53;
    default:
        return glow_is_int(k) ? info->bits - (info->is_signed ? 1 : 0) : 0;
    }
}

/* True if every number of float kind `a` is representable in float kind `b`. */
static bool
float_holds(glow_kind a, glow_kind b)
{
    return a == b || b == GLOW_FLOAT64 ||
           (b == GLOW_FLOAT && (a == GLOW_FLOAT16 || a == GLOW_BFLOAT16));
}

/*
 * True if every number of `a` is representable in `b`.  False for kinds of
 * plugins.
 */
static bool
holds(glow_kind a, glow_kind b)
{
    int bits = exact_bits(a);

    if (bits == 0 || exact_bits(b) == 0)
        return false;
    if (glow_is_float(a))
        return glow_is_float(b) && float_holds(a, b);
    if (glow_is_float(b))
        return bits <= exact_bits(b);
    return bits <= exact_bits(b) &&
           (!glow_is_int(a) || !glow_kind_get(a)->is_signed ||
            glow_kind_get(b)->is_signed);
}

/* True if `b` may be skipped in a conversion from `a` to `c`. */
static bool
is_needless(glow_kind a, glow_kind b, glow_kind c)
{
    bool is_wide = holds(a, b);

    if (glow_is_int(a) && glow_is_int(b) && glow_is_int(c))
        return is_wide || glow_kind_get(c)->bits <= glow_kind_get(b)->bits;
    if (glow_is_int(a) && glow_is_float(b) &&
        (glow_is_int(c) || (glow_is_low(c) && !glow_is_real(c))))
        return is_wide && holds(a, c);
    return is_wide;
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    const glow_type *to = n->out[0]->type;
    const glow_node *inner = glow_def(n->in[0], &glow_op_convertto);
    glow_value *x = inner ? inner->in[0] : n->in[0];

    if (n->pred)
        return NULL;
    if (!inner || !is_needless(x->type->elem, n->in[0]->type->elem, to->elem))
        return n->in[0]->type == to ? n->in[0] : NULL;
    if (x->type == to)
        return x;
    return GLOW_BUILD_STATED_PLAIN(b, convertto, to, GLOW_IN(x));
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_convertto, fold);
}

const glow_pass glow_pass_fold_convert = {
    .name = "fold-convert",
    .summary = "merge chains of conversions that lose nothing in between",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
