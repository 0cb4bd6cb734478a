/* Import of element-wise operators, and compositions of them. */

#include "tools/glow-translate/import/import.h"

/* One operand. */

bool
import_unary(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;
    import_ignore(n, "consumed_inputs");
    return import_done(
        n, import_build(n, n->row->op, NULL, GLOW_IN(import_in(n, 0)), NULL));
}

/* Erf, of any kind; integers are converted to float. */
static bool
error_function(import_node *n)
{
    glow_value *x = import_in(n, 0);

    if (!import_operands(n, 1, 1))
        return false;

    glow_kind kind = x->type->elem;

    if (glow_is_float(kind))
        return import_unary(n);
    x = BUILD_PLAIN(n, erf, GLOW_IN(import_convert(n, x, GLOW_FLOAT64)));
    return import_done(n, import_convert(n, x, kind));
}

static bool
is_inf(import_node *n)
{
    bool negative = import_flag(n, "detect_negative", true);
    bool positive = import_flag(n, "detect_positive", true);

    return import_operands(n, 1, 1) &&
           import_done(n, BUILD(n, isinf, GLOW_IN(import_in(n, 0)),
                                .detect_negative = negative,
                                .detect_positive = positive));
}

/* Two operands, broadcast to each other. */

/*
 * Before opset 7 the second operand was broadcast to the first, if `broadcast`
 * said so, with its axes beginning at `axis`.
 */
static glow_value *
old_broadcast(import_node *n, glow_value *a, glow_value *b)
{
    int rank = a->type->shape.rank;
    glow_dims to = b->type->shape;
    int64_t axis = import_int(n, "axis", -1, -1, GLOW_MAX_RANK);

    import_ignore(n, "consumed_inputs");
    axis = axis < 0 ? rank - to.rank : axis;
    if (!import_flag(n, "broadcast", false) || axis + to.rank > rank)
        return b;
    while (axis + to.rank < rank)
        to.at[to.rank++] = 1;
    return import_reshape(n, b, to);
}

static bool
binary(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *a = import_in(n, 0), *b = import_in(n, 1);

    if (n->opset < 7)
        b = old_broadcast(n, a, b);
    return import_done(n, import_binary(n, n->row->op, a, b));
}

/* Greater is Less with the operands exchanged. */
static bool
binary_swapped(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *a = import_in(n, 0), *b = import_in(n, 1);

    if (n->opset < 7)
        b = old_broadcast(n, a, b);
    return import_done(n, import_binary(n, n->row->op, b, a));
}

static bool
bit_shift(import_node *n)
{
    static const char *const words[] = {"LEFT", "RIGHT", NULL};
    glow_value *x = import_in(n, 0), *by = import_in(n, 1);

    if (!import_operands(n, 2, 2))
        return false;
    if (!import_has(n, "direction"))
        return import_refuse(n, "E0710", "attribute direction is missing");

    int direction = import_word(n, "direction", "", words);
    glow_dims y = import_broadcast_shape(n, x->type->shape, by->type->shape);

    x = import_broadcast(n, x, y);
    by = import_broadcast(n, by, y);
    return import_done(
        n, BUILD(n, bitshift, GLOW_IN(x, by), .direction = direction));
}

/* With fmod the remainder has the sign of the dividend, else of the divisor. */
static bool
modulo(import_node *n)
{
    const glow_op *op =
        import_flag(n, "fmod", false) ? &glow_op_fmod : &glow_op_mod;

    return import_operands(n, 2, 2) &&
           import_done(n,
                       import_binary(n, op, import_in(n, 0), import_in(n, 1)));
}

/*
 * The kind in which to compute x^e, for different kinds of x and e: one that
 * can represent both, if there is one.
 */
static glow_kind
power_kind(glow_kind x, glow_kind e)
{
    bool is_long = glow_is_int(e) && glow_kind_get(e)->bytes >= 4;

    if (!glow_is_float(x))
        return glow_is_float(e) ? GLOW_FLOAT64 : x;
    if (is_long || e == GLOW_FLOAT64 || x == GLOW_FLOAT64)
        return GLOW_FLOAT64;
    return GLOW_FLOAT;
}

/* True if all elements of the constant `e` are representable in `kind`. */
static bool
holds(glow_kind kind, const glow_value *e)
{
    const glow_tensor *t =
        glow_is_constant(e) ? glow_constant_tensor(e->storage) : NULL;
    const glow_type type = glow_type_of(kind, (glow_dims){0});
    uint64_t bits = 0;
    const glow_tensor one = {.type = &type, .data = &bits};
    bool all = t;

    for (int64_t i = 0; all && i < glow_type_count(t->type); i++) {
        double v = glow_get_double(t, i);

        glow_set_double(&one, 0, v);
        all = glow_get_double(&one, 0) == v;
    }
    return all;
}

/* The exponent may be of another kind; the result is of the base's. */
static bool
power(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = import_in(n, 0), *e = import_in(n, 1);
    glow_kind kind = x->type->elem, wide = kind;

    if (n->opset < 7)
        e = old_broadcast(n, x, e);
    if (e && e->type->elem != kind && !holds(kind, e))
        wide = power_kind(kind, e->type->elem);
    x = import_convert(n, x, wide);
    e = import_convert(n, e, wide);
    return import_done(
        n, import_convert(n, import_binary(n, &glow_op_pow, x, e), kind));
}

static bool
where(import_node *n)
{
    if (!import_operands(n, 3, 3))
        return false;

    glow_value *c = import_in(n, 0), *a = import_in(n, 1);
    glow_value *b = import_in(n, 2);
    glow_dims y = import_broadcast_shape(n, a->type->shape, b->type->shape);

    y = import_broadcast_shape(n, y, c->type->shape);
    c = import_broadcast(n, c, y);
    a = import_broadcast(n, a, y);
    b = import_broadcast(n, b, y);
    return import_done(n, BUILD_PLAIN(n, select, GLOW_IN(c, a, b)));
}

/* Any number of operands. */

static glow_value *
chain(import_node *n)
{
    glow_value *y = import_in(n, 0);

    if (!import_operands(n, 1, INT32_MAX))
        return NULL;
    for (int i = 1; i < n->n_in && !n->failed; i++) {
        if (!n->in[i])
            import_refuse(n, "E0711", "operand %d is missing", i);
        y = import_binary(n, n->row->op, y, n->in[i]);
    }
    return y;
}

static bool
variadic(import_node *n)
{
    import_ignore(n, "consumed_inputs");
    return import_done(n, chain(n));
}

static bool
mean(import_node *n)
{
    glow_value *sum = chain(n);

    import_ignore(n, "consumed_inputs");
    if (n->n_in > 1)
        sum = import_binary_number(n, &glow_op_div, sum, n->n_in);
    return import_done(n, sum);
}

/* Element kinds. */

glow_value *
import_cast(import_node *n, glow_value *v, glow_kind kind)
{
    static const char *const rounds[] = {"up", "down", "nearest", NULL};
    bool saturate = import_flag(n, "saturate", true);
    int round = import_word(n, "round_mode", "up", rounds);
    glow_kind from = v && !n->failed ? v->type->elem : kind;

    if (from == kind || !glow_kind_get(kind)->format ||
        (saturate && round == GLOW_ROUND_UP))
        return import_convert(n, v, kind);
    return BUILD_STATED(n, converttofloat8,
                        import_type(n, kind, v->type->shape), GLOW_IN(v),
                        .saturate = saturate, .round = round);
}

static bool
cast(import_node *n)
{
    const tensor_elem *e = n->opset < 6
                               ? tensor_elem_named(import_string(n, "to", ""))
                               : tensor_elem_of(import_int(n, "to", 0, 0, 100));

    if (!import_operands(n, 1, 1))
        return false;
    if (!e || !e->kind)
        return import_refuse(n, "E0705", "to %s is not supported",
                             e ? e->name : "a type that is not known");
    return import_done(n, import_cast(n, import_in(n, 0), e->kind));
}

static bool
bit_cast(import_node *n)
{
    const tensor_elem *e = tensor_elem_of(import_int(n, "to", 0, 0, 100));
    glow_value *x;

    if (!import_operands(n, 1, 1))
        return false;
    if (!e || !e->kind)
        return import_refuse(n, "E0705", "to %s is not supported",
                             e ? e->name : "a type that is not known");
    x = import_in(n, 0);
    if (x->type->elem == e->kind)
        return import_done(n, x);
    return import_done(n, import_build(n, &glow_op_bitcast,
                                       import_type(n, e->kind, x->type->shape),
                                       GLOW_IN(x), NULL));
}

static bool
cast_like(import_node *n)
{
    return import_operands(n, 2, 2) &&
           import_done(
               n, import_cast(n, import_in(n, 0), import_in(n, 1)->type->elem));
}

const import_row import_elementwise_rows[] = {
    {"Abs", 1, 0, import_unary, &glow_op_abs, "numbers"},
    {"Acos", 7, 0, import_unary, &glow_op_acos, "floats"},
    {"Acosh", 9, 0, import_unary, &glow_op_acosh, "floats"},
    {"Add", 1, 0, binary, &glow_op_add,
     "numbers; numpy broadcast, before opset 7 by broadcast and axis"},
    {"And", 1, 0, binary, &glow_op_and,
     "bool; numpy broadcast, before opset 7 by broadcast and axis"},
    {"Asin", 7, 0, import_unary, &glow_op_asin, "floats"},
    {"Asinh", 9, 0, import_unary, &glow_op_asinh, "floats"},
    {"Atan", 7, 0, import_unary, &glow_op_atan, "floats"},
    {"Atanh", 9, 0, import_unary, &glow_op_atanh, "floats"},
    {"BitCast", 26, 0, bit_cast, &glow_op_bitcast,
     "any and low; to strings and complex is refused"},
    {"BitShift", 11, 0, bit_shift, &glow_op_bitshift, "integers"},
    {"BitwiseAnd", 18, 0, binary, &glow_op_bitwiseand, "integers"},
    {"BitwiseNot", 18, 0, import_unary, &glow_op_bitwisenot, "integers"},
    {"BitwiseOr", 18, 0, binary, &glow_op_bitwiseor, "integers"},
    {"BitwiseXor", 18, 0, binary, &glow_op_bitwisexor, "integers"},
    {"Cast", 1, 0, cast, &glow_op_convertto,
     "any and low; to strings and complex is refused; where saturate or "
     "round_mode are no defaults, ConvertToFloat8"},
    {"CastLike", 15, 0, cast_like, &glow_op_convertto, "any and low; as Cast"},
    {"Ceil", 1, 0, import_unary, &glow_op_ceil, "floats"},
    {"Cos", 7, 0, import_unary, &glow_op_cos, "floats"},
    {"Cosh", 9, 0, import_unary, &glow_op_cosh, "floats"},
    {"Div", 1, 0, binary, &glow_op_div,
     "numbers; integers round toward zero; numpy broadcast, before opset 7 by "
     "broadcast and axis"},
    {"Equal", 1, 0, binary, &glow_op_cmpeq,
     "any; numpy broadcast, before opset 7 by broadcast and axis"},
    {"Erf", 9, 0, error_function, &glow_op_erf,
     "any; all but floats are computed as float64"},
    {"Exp", 1, 0, import_unary, &glow_op_exp, "floats"},
    {"Floor", 1, 0, import_unary, &glow_op_floor, "floats"},
    {"Greater", 1, 0, binary_swapped, &glow_op_cmplt,
     "numbers; numpy broadcast, before opset 7 by broadcast and axis"},
    {"GreaterOrEqual", 12, 0, binary_swapped, &glow_op_cmplte, "numbers"},
    {"IsInf", 10, 0, is_inf, &glow_op_isinf, "floats"},
    {"IsNaN", 9, 0, import_unary, &glow_op_isnan, "floats"},
    {"Less", 1, 0, binary, &glow_op_cmplt,
     "numbers; numpy broadcast, before opset 7 by broadcast and axis"},
    {"LessOrEqual", 12, 0, binary, &glow_op_cmplte, "numbers"},
    {"Log", 1, 0, import_unary, &glow_op_log, "floats"},
    {"Max", 1, 0, variadic, &glow_op_max,
     "numbers; any number of operands, numpy broadcast"},
    {"Mean", 1, 0, mean, &glow_op_add,
     "numbers; any number of operands, numpy broadcast; the sum is divided"},
    {"Min", 1, 0, variadic, &glow_op_min,
     "numbers; any number of operands, numpy broadcast"},
    {"Mod", 10, 0, modulo, &glow_op_mod,
     "numbers; Fmod where the attribute fmod is set"},
    {"Mul", 1, 0, binary, &glow_op_mul,
     "numbers; numpy broadcast, before opset 7 by broadcast and axis"},
    {"Neg", 1, 0, import_unary, &glow_op_neg, "numbers"},
    {"Not", 1, 0, import_unary, &glow_op_not, "bool"},
    {"Or", 1, 0, binary, &glow_op_or,
     "bool; numpy broadcast, before opset 7 by broadcast and axis"},
    {"Pow", 1, 0, power, &glow_op_pow,
     "numbers; the exponent may be of another kind; numpy broadcast, before "
     "opset 7 by broadcast and axis"},
    {"Reciprocal", 1, 0, import_unary, &glow_op_reciprocal, "floats"},
    {"Round", 11, 0, import_unary, &glow_op_round, "floats"},
    {"Sign", 9, 0, import_unary, &glow_op_sign, "numbers"},
    {"Sin", 7, 0, import_unary, &glow_op_sin, "floats"},
    {"Sinh", 9, 0, import_unary, &glow_op_sinh, "floats"},
    {"Sqrt", 1, 0, import_unary, &glow_op_sqrt, "floats"},
    {"Sub", 1, 0, binary, &glow_op_sub,
     "numbers; numpy broadcast, before opset 7 by broadcast and axis"},
    {"Sum", 1, 0, variadic, &glow_op_add,
     "numbers; any number of operands, numpy broadcast"},
    {"Tan", 7, 0, import_unary, &glow_op_tan, "floats"},
    {"Where", 9, 0, where, &glow_op_select, "any; numpy broadcast"},
    {"Xor", 1, 0, binary, &glow_op_xor,
     "bool; numpy broadcast, before opset 7 by broadcast and axis"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
