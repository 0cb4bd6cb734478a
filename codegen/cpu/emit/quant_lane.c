/*
 * Code of element-wise operators whose operands or results are quantized: one line
 * each in the table at the end.  The results are the bits of the operator's `eval`.
 */

#include "codegen/cpu/emit/lane.h"
#include "codegen/cpu/emit/quant.h"
#include "glow/ops.h"
#include "glow/quantize.h"

#define SAFE_RATIO 0x1p60 /* times an element it is no infinity */

static const glow_type *
in_type(const glow_node *n, int i)
{
    return n->in[i]->type;
}

static const glow_type *
out_type(const glow_node *n)
{
    return n->out[0]->type;
}

static bool
same_grid(const glow_type *x, const glow_type *y)
{
    return x->elem == y->elem && x->scale == y->scale && x->offset == y->offset;
}

/* Conversions. */

static cg_value
emit_quantize(cg *g, const glow_node *n, cg_value const *in)
{
    return glow_cg_quantize(g, out_type(n), in[0]);
}

static cg_value
emit_dequantize(cg *g, const glow_node *n, cg_value const *in)
{
    return glow_cg_as_real(g, glow_cg_dequantize(g, in_type(n, 0), in[0]),
                           glow_cg_computed(g, out_type(n)));
}

static cg_value
rescale(cg *g, const glow_type *from, const glow_type *to, cg_value q)
{
    bool single = glow_cg_is_short(from) && glow_cg_is_short(to);
    double ratio = (double)from->scale / (double)to->scale;
    cg_value x;

    if (same_grid(from, to))
        return q;
    if (single)
        ratio =
            (double)glow_scale_ratio((double)from->scale, (double)to->scale);
    x = glow_cg_centered(g, from, q, single ? g->f32 : g->f64);
    x = cg_fmul(g, x, glow_cg_real(LLVMTypeOf(x), ratio));
    return ratio < SAFE_RATIO ? glow_cg_round_number(g, to, x)
                              : glow_cg_round_to(g, to, x);
}

static cg_value
emit_rescalequantized(cg *g, const glow_node *n, cg_value const *in)
{
    return rescale(g, in_type(n, 0), out_type(n), in[0]);
}

/* Add, Sub, Mul: integers, and one factor for each. */

static bool
all_short(const glow_node *n)
{
    return glow_cg_is_short(in_type(n, 0)) && glow_cg_is_short(in_type(n, 1)) &&
           glow_cg_is_short(out_type(n));
}

/* `x` times a ratio of scales, rounded to the type of `x`. */
static cg_value
by_ratio(cg *g, cg_value x, double ratio)
{
    LLVMTypeRef t = LLVMTypeOf(x);

    if (glow_cg_scalar(t) == g->f32)
        ratio = (double)(float)ratio;
    return cg_fmul(g, x, glow_cg_real(t, ratio));
}

static cg_value
round_sum(cg *g, const glow_node *n, cg_value x, double greatest)
{
    return greatest < SAFE_RATIO ? glow_cg_round_number(g, out_type(n), x)
                                 : glow_cg_round_to(g, out_type(n), x);
}

/* An operand in units of the scale of the result; its ratio to *greatest. */
static cg_value
on_grid(cg *g, const glow_node *n, int i, cg_value q, double *greatest)
{
    const glow_type *x = in_type(n, i);
    double ratio = (double)x->scale / (double)out_type(n)->scale;

    *greatest = ratio > *greatest ? ratio : *greatest;
    q = glow_cg_centered(g, x, q, all_short(n) ? g->f32 : g->f64);
    return by_ratio(g, q, ratio);
}

static cg_value
emit_add(cg *g, const glow_node *n, cg_value const *in)
{
    double most = 0;
    cg_value x = on_grid(g, n, 0, in[0], &most);
    cg_value y = on_grid(g, n, 1, in[1], &most);

    return round_sum(g, n, cg_fadd(g, x, y), most);
}

static cg_value
emit_sub(cg *g, const glow_node *n, cg_value const *in)
{
    double most = 0;
    cg_value x = on_grid(g, n, 0, in[0], &most);
    cg_value y = on_grid(g, n, 1, in[1], &most);

    return round_sum(g, n, cg_fsub(g, x, y), most);
}

static cg_value
emit_mul(cg *g, const glow_node *n, cg_value const *in)
{
    LLVMTypeRef real = all_short(n) ? g->f32 : g->f64;
    cg_value x = glow_cg_centered(g, in_type(n, 0), in[0], real);
    cg_value y = glow_cg_centered(g, in_type(n, 1), in[1], real);
    double ratio = (double)in_type(n, 0)->scale * (double)in_type(n, 1)->scale /
                   (double)out_type(n)->scale;

    return round_sum(g, n, by_ratio(g, cg_fmul(g, x, y), ratio), ratio);
}

/* Others: the reals of the operands, as floats, or doubles for a wide result. */

static cg_value
on_reals(cg *g, const glow_node *n, cg_value const *in, LLVMTypeRef real)
{
    cg_value x[3];

    for (int i = 0; i < n->n_in; i++)
        x[i] = glow_cg_as_real(g, glow_cg_dequantize(g, in_type(n, i), in[i]),
                               real);
    return glow_cg_quantize(g, out_type(n), glow_cg_plain_lane(n->op)(g, n, x));
}

/* Operators that round once: a float result is that in double, rounded. */
static cg_value
emit_reals(cg *g, const glow_node *n, cg_value const *in)
{
    return on_reals(g, n, in, glow_cg_is_short(out_type(n)) ? g->f32 : g->f64);
}

static cg_value
emit_doubles(cg *g, const glow_node *n, cg_value const *in)
{
    return on_reals(g, n, in, g->f64);
}

/* True if all operands and the result have one grid, of 8 or 16 bits. */
static bool
is_one_grid(const glow_node *n)
{
    const glow_type *y = out_type(n);

    for (int i = 0; i < n->n_in; i++)
        if (!same_grid(in_type(n, i), y))
            return false;
    return glow_cg_is_plain_grid(y);
}

/* On one grid an order of reals is one of elements. */

static cg_value
emit_max(cg *g, const glow_node *n, cg_value const *in)
{
    return is_one_grid(n) ? glow_cg_max(g, out_type(n), in[0], in[1])
                          : emit_reals(g, n, in);
}

static cg_value
emit_min(cg *g, const glow_node *n, cg_value const *in)
{
    return is_one_grid(n) ? glow_cg_min(g, out_type(n), in[0], in[1])
                          : emit_reals(g, n, in);
}

static cg_value
element(const glow_node *n, cg_value like, double real)
{
    return glow_cg_int(LLVMTypeOf(like), glow_quantize(out_type(n), real));
}

static cg_value
emit_relu(cg *g, const glow_node *n, cg_value const *in)
{
    return is_one_grid(n)
               ? glow_cg_max(g, out_type(n), in[0], element(n, in[0], 0))
               : emit_reals(g, n, in);
}

static cg_value
emit_clip(cg *g, const glow_node *n, cg_value const *in)
{
    const glow_clip *c = n->attrs;
    const glow_type *t = out_type(n);
    cg_value x;

    if (!is_one_grid(n))
        return emit_reals(g, n, in);
    x = glow_cg_max(g, t, in[0], element(n, in[0], (double)c->min));
    return glow_cg_min(g, t, x, element(n, x, (double)c->max));
}

/* Comparisons: of one grid as integers, else of exact reals. */
static cg_value
emit_compare(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value x[2];

    if (same_grid(in_type(n, 0), in_type(n, 1)) &&
        glow_cg_bytes(in_type(n, 0)) < 8)
        return glow_cg_plain_lane(n->op)(g, n, in);
    for (int i = 0; i < 2; i++) {
        x[i] = glow_cg_centered(g, in_type(n, i), in[i], g->f64);
        x[i] = by_ratio(g, x[i], (double)in_type(n, i)->scale);
    }
    return glow_cg_plain_lane(n->op)(g, n, x);
}

static cg_value
emit_select(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value x = rescale(g, in_type(n, 1), out_type(n), in[1]);
    cg_value y = rescale(g, in_type(n, 2), out_type(n), in[2]);

    return cg_select(g, in[0], x, y);
}

/*
 * A function of one operand of 8 bits is faster as the table that it is lowered to,
 * but for the bounds of one grid.
 */
typedef enum form { ALWAYS, UNLESS_TABLE, UNLESS_TABLE_OR_BOUND } form;

static const struct {
    const glow_op *op;
    cg_lane_fn emit;
    form form;
} table[] = {
    {&glow_op_abs, emit_reals, UNLESS_TABLE},
    {&glow_op_add, emit_add, ALWAYS},
    {&glow_op_batchedadd, emit_add, ALWAYS},
    {&glow_op_ceil, emit_reals, UNLESS_TABLE},
    {&glow_op_clip, emit_clip, UNLESS_TABLE_OR_BOUND},
    {&glow_op_cmpeq, emit_compare, ALWAYS},
    {&glow_op_cmplt, emit_compare, ALWAYS},
    {&glow_op_cmplte, emit_compare, ALWAYS},
    {&glow_op_cmpneq, emit_compare, ALWAYS},
    {&glow_op_dequantize, emit_dequantize, ALWAYS},
    {&glow_op_div, emit_reals, ALWAYS},
    {&glow_op_floor, emit_reals, UNLESS_TABLE},
    {&glow_op_fmod, emit_doubles, ALWAYS},
    {&glow_op_leakyrelu, emit_reals, UNLESS_TABLE},
    {&glow_op_max, emit_max, ALWAYS},
    {&glow_op_min, emit_min, ALWAYS},
    {&glow_op_mul, emit_mul, ALWAYS},
    {&glow_op_neg, emit_reals, UNLESS_TABLE},
    {&glow_op_pow, emit_doubles, ALWAYS},
    {&glow_op_prelu, emit_reals, ALWAYS},
    {&glow_op_quantize, emit_quantize, ALWAYS},
    {&glow_op_relu, emit_relu, UNLESS_TABLE_OR_BOUND},
    {&glow_op_rescalequantized, emit_rescalequantized, ALWAYS},
    {&glow_op_round, emit_reals, UNLESS_TABLE},
    {&glow_op_select, emit_select, ALWAYS},
    {&glow_op_sqrt, emit_reals, UNLESS_TABLE},
    {&glow_op_sub, emit_sub, ALWAYS},
    {&glow_op_truncate, emit_reals, UNLESS_TABLE},
};

cg_lane_fn
glow_cg_quantized_lane(const glow_node *n)
{
    bool has_table = glow_quantized_values(in_type(n, 0)->elem) == 256;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].op == n->op)
            return !has_table || table[i].form == ALWAYS ||
                           (table[i].form == UNLESS_TABLE_OR_BOUND &&
                            is_one_grid(n))
                       ? table[i].emit
                       : NULL;
    return NULL;
}
