/*
 * Operators on the bits of integers.
 */

#include "ir/ops/apply.h"

static bool
bits_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_INT);
}

static int64_t
int_and(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return x & y;
}

static int64_t
int_or(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return x | y;
}

static int64_t
int_xor(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return x ^ y;
}

/* Defines the operator glow_op_ID, computed by `fn`. */
#define BITWISE(id, text, line, fn, formula, from)                            \
    static bool id##_eval(const glow_node *n, glow_tensor *const in[],        \
                          glow_tensor *const out[], glow_arena *scratch)      \
    {                                                                         \
        (void)n, (void)scratch;                                               \
        return glow_apply_pairs(in, out[0], NULL, fn);                        \
    }                                                                         \
    const glow_op glow_op_##id = {                                            \
        .name = text,                                                         \
        .summary = line,                                                      \
        .in = {{"LHS", GLOW_TENSOR, "x: integers"},                           \
               {"RHS", GLOW_TENSOR, "y, of the same type"}},                  \
        .out = {{"Result", GLOW_TENSOR, "z, of the same type"}},              \
        .traits =                                                             \
            GLOW_PURE | GLOW_ELEMENTWISE | GLOW_PRIMITIVE | GLOW_COMMUTATIVE, \
        .infer = bits_infer,                                                  \
        .eval = id##_eval,                                                    \
        .inplace = {{0, 0}, {0, 1}},                                          \
        .inplace_count = 2,                                                   \
        .doc = formula,                                                       \
        .source = from,                                                       \
    }

BITWISE(bitwiseand, "BitwiseAnd", "and of each bit", int_and, "`z = x & y`.",
        "Glow BitwiseAnd; ONNX BitwiseAnd");
BITWISE(bitwiseor, "BitwiseOr", "or of each bit", int_or, "`z = x | y`.",
        "Glow BitwiseOr; ONNX BitwiseOr");
BITWISE(bitwisexor, "BitwiseXor", "exclusive or of each bit", int_xor,
        "`z = x ^ y`.", "Glow BitwiseXor; ONNX BitwiseXor");

/* bitshift */

static const char *const directions[] = {"left", "right", NULL};

/*
 * Shifts by a negative count, or by `bits` and more, which are undefined in C,
 * give 0, or -1 for a negative number shifted right.
 */
static int64_t
shifted(int64_t x, int64_t by, int bits, bool is_signed, int direction)
{
    bool all = by < 0 || by >= bits;

    if (direction == GLOW_SHIFT_LEFT)
        return all ? 0 : (int64_t)((uint64_t)x << by);
    if (is_signed && x < 0)
        return all ? -1 : ~(~x >> by);
    return all ? 0 : (int64_t)((uint64_t)x >> by);
}

static bool
bitshift_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    const glow_bitshift *s = n->attrs;
    const glow_kind_info *kind = glow_kind_get(in[0]->type->elem);

    (void)scratch;
    for (int64_t i = 0; i < glow_tensor_count(out[0]); i++)
        glow_set_int(out[0], i,
                     shifted(glow_get_int(in[0], i), glow_get_int(in[1], i),
                             kind->bits, kind->is_signed, s->direction));
    return true;
}

const glow_op glow_op_bitshift = {
    .name = "BitShift",
    .summary = "shift the bits of each element",
    .in = {{"LHS", GLOW_TENSOR, "x: integers"},
           {"RHS", GLOW_TENSOR, "y, of the same type: how far"}},
    .out = {{"Result", GLOW_TENSOR, "z, of the same type"}},
    .attrs = {GLOW_FIELD_ENUM(glow_bitshift, direction, directions,
                              "to the greater bits or to the less")},
    .defaults = &(const glow_bitshift){.direction = GLOW_SHIFT_LEFT},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_PRIMITIVE,
    .infer = bits_infer,
    .eval = bitshift_eval,
    .inplace = {{0, 0}, {0, 1}},
    .inplace_count = 2,
    .doc = "left: `z = x * 2^y`, the low bits of it.  right: `z = x / 2^y`, "
           "rounded down.  A negative `y` shifts all bits out: what is left is "
           "0, or -1 of a negative `x` shifted right.",
    .source = "ONNX BitShift",
};
