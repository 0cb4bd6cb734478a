/* Integral quotients and remainders: Fmod, Mod, FloorDiv, Modulo. */

#include <math.h>

#include "ir/ops/apply.h"

static bool
number_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_NUMBER);
}

/*
 * x / y, rounded toward zero; 0 for y = 0. y = -1 is separate, because
 * INT64_MIN / -1 overflows in C.
 */
static int64_t
quotient(int64_t x, int64_t y, bool is_signed)
{
    if (y == 0)
        return 0;
    if (!is_signed)
        return (int64_t)((uint64_t)x / (uint64_t)y);
    return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static int64_t
int_fmod(int64_t x, int64_t y, bool is_signed)
{
    if (y == 0)
        return 0;
    if (!is_signed)
        return (int64_t)((uint64_t)x % (uint64_t)y);
    return y == -1 ? 0 : x % y;
}

/*
 * True if the remainder `r` of a division by `y` has the opposite sign of `y`.
 */
static bool
int_strays(int64_t r, int64_t y, bool is_signed)
{
    return is_signed && r != 0 && (r < 0) != (y < 0);
}

static double
real_mod(double x, double y)
{
    double r = fmod(x, y);

    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static int64_t
int_mod(int64_t x, int64_t y, bool is_signed)
{
    int64_t r = int_fmod(x, y, is_signed);

    return int_strays(r, y, is_signed) ? r + y : r;
}

/*
 * Defines the operator glow_op_ID, computed by `real` for floats and `integer`
 * for integers.
 */
#define REST(id, text, line, more, real, integer, formula, from, rule)    \
    static bool id##_eval(const glow_node *n, glow_tensor *const in[],    \
                          glow_tensor *const out[], glow_arena *scratch)  \
    {                                                                     \
        (void)n, (void)scratch;                                           \
        return glow_apply_pairs(in, out[0], real, integer);               \
    }                                                                     \
    const glow_op glow_op_##id = {                                        \
        .name = text,                                                     \
        .summary = line,                                                  \
        .in = {{"LHS", GLOW_TENSOR, "x: floats, integers or quantized"},  \
               {"RHS", GLOW_TENSOR, "y, of the same type"}},              \
        .out = {{"Result", GLOW_TENSOR,                                   \
                 "z, of the type of LHS, or the stated quantized type"}}, \
        .traits = GLOW_PURE | GLOW_ELEMENTWISE | (more),                  \
        .infer = number_infer,                                            \
        .eval = id##_eval,                                                \
        .inplace = {{0, 0}, {0, 1}},                                      \
        .inplace_count = 2,                                               \
        .doc = formula,                                                   \
        .source = from,                                                   \
        .derivative = rule,                                               \
    }

REST(
    fmod, "Fmod", "the rest of a division, with the sign of the dividend",
    GLOW_PRIMITIVE | GLOW_DISCONTINUOUS, fmod, int_fmod,
    "`z = x - y * trunc(x / y)`, exactly: it has the sign of `x`.  Of integers "
    "it is 0 where `y` is 0.",
    "Glow Fmod; ONNX Mod with fmod = 1; C11 fmod", &glow_derivative_fmod);
REST(mod, "Mod", "the rest of a division, with the sign of the divisor",
     GLOW_DISCONTINUOUS, real_mod, int_mod,
     "`z = x - y * floor(x / y)`: it has the sign of `y`.  Of integers it is 0 "
     "where `y` is 0.",
     "ONNX Mod with fmod = 0; Python's %", &glow_derivative_fmod);

/* floordiv */

typedef struct division {
    const glow_type *type;
    bool truncate;
} division;

/* The quotient is rounded to the kind first, as Div rounds it. */
static double
real_floordiv(double x, double y, const division *d)
{
    double q = glow_real_as(d->type, x / y);

    return d->truncate ? trunc(q) : floor(q);
}

static int64_t
int_floordiv(int64_t x, int64_t y, bool is_signed, const division *d)
{
    int64_t q = quotient(x, y, is_signed), r = int_fmod(x, y, is_signed);

    return !d->truncate && int_strays(r, y, is_signed) ? q - 1 : q;
}

static void
floordiv_one(glow_tensor *const in[], const glow_tensor *out, int64_t i,
             const division *d)
{
    double x, y, z;

    glow_load(in[0], i, 1, &x);
    glow_load(in[1], i, 1, &y);
    z = real_floordiv(x, y, d);
    glow_store(out, i, 1, &z);
}

static bool
floordiv_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    const glow_floordiv *f = n->attrs;
    const division d = {out[0]->type, f->truncate};
    bool is_real = glow_tensor_is_real(in[0]);
    bool is_signed = glow_tensor_is_signed(in[0]);

    (void)scratch;
    for (int64_t i = 0; i < glow_tensor_count(out[0]); i++)
        if (is_real)
            floordiv_one(in, out[0], i, &d);
        else
            glow_set_int(out[0], i,
                         int_floordiv(glow_get_int(in[0], i),
                                      glow_get_int(in[1], i), is_signed, &d));
    return true;
}

const glow_op glow_op_floordiv = {
    .name = "FloorDiv",
    .summary = "the whole part of a quotient",
    .in = {{"LHS", GLOW_TENSOR, "x: floats, integers or quantized"},
           {"RHS", GLOW_TENSOR, "y, of the same type"}},
    .out = {{"Result", GLOW_TENSOR,
             "z, of the type of LHS, or the stated quantized type"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_floordiv, truncate, GLOW_FLAG,
                                 "round toward zero instead of down")},
    .defaults = &(const glow_floordiv){.truncate = false},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_DISCONTINUOUS,
    .infer = number_infer,
    .eval = floordiv_eval,
    .inplace = {{0, 0}, {0, 1}},
    .inplace_count = 2,
    .doc = "`z = floor(x / y)`, or with Truncate `z = trunc(x / y)`.  The "
           "quotient of floats is rounded as that of Div; that of integers is "
           "exact, `x / 0` is 0, and the least one divided by -1 is itself.",
    .source = "Glow FloorDiv",
    .derivative = &glow_derivative_zero,
};

/* modulo */

static bool
modulo_infer(const glow_node *n, glow_type out[])
{
    const glow_modulo *m = n->attrs;
    const glow_kind_info *kind = glow_kind_get(n->in[0]->type->elem);
    int bits = kind->bits - kind->is_signed;

    if (!glow_admit(n, 0, GLOW_ANY_INT))
        return false;
    if (m->divisor < 1)
        return glow_reject(n, "Divisor is %" PRId64 ", but must be at least 1",
                           m->divisor);
    if (bits < 63 && m->divisor >> bits)
        return glow_reject(n,
                           "Divisor is %" PRId64 ", but the greatest %s is "
                           "%" PRId64,
                           m->divisor, kind->name, (INT64_C(1) << bits) - 1);
    return glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static int64_t
int_modulo(int64_t x, bool is_signed, const void *user)
{
    const glow_modulo *m = user;

    return m->sign_follow_divisor ? int_mod(x, m->divisor, is_signed)
                                  : int_fmod(x, m->divisor, is_signed);
}

static bool
modulo_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    (void)scratch;
    return glow_apply_with(in[0], out[0], NULL, int_modulo, n->attrs);
}

const glow_op glow_op_modulo = {
    .name = "Modulo",
    .summary = "the rest of a division by a number",
    .in = {{"Input", GLOW_TENSOR, "x: integers"}},
    .out = {{"Result", GLOW_TENSOR, "the type of Input"}},
    .attrs = {GLOW_FIELD(glow_modulo, divisor, GLOW_INT64, "at least 1"),
              GLOW_FIELD_DEFAULT(glow_modulo, sign_follow_divisor, GLOW_FLAG,
                                 "never negative, as Mod; else as Fmod")},
    .defaults = &(const glow_modulo){.sign_follow_divisor = false},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = modulo_infer,
    .eval = modulo_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`Fmod(x, Divisor)`, or with SignFollowDivisor `Mod(x, Divisor)`.",
    .source = "Glow Modulo",
};
