/*
 * Winograd's transforms in integers: integer.h has the matrices.
 *
 * Opposite points share their even and odd parts, and rows of B' their differences:
 * 17 additions and shifts for 6 vectors of input, 13 for 6 of products.
 */

#include "codegen/cpu/kernels/winograd/integer.h"

static cg_value
shift(cg *g, cg_value x, int bits)
{
    return cg_shl(g, x, glow_cg_int(LLVMTypeOf(x), bits));
}

static void
input2(cg *g, cg_value const *x, cg_value *y)
{
    y[0] = cg_isub(g, x[0], x[2]);
    y[1] = cg_iadd(g, x[2], x[1]);
    y[2] = cg_isub(g, x[2], x[1]);
    y[3] = cg_isub(g, x[1], x[3]);
}

static void
input4(cg *g, cg_value const *x, cg_value *y)
{
    cg_value even = cg_isub(g, x[4], shift(g, x[2], 2));
    cg_value odd = cg_isub(g, x[3], shift(g, x[1], 2));
    cg_value less = cg_isub(g, x[4], x[2]);
    cg_value twice = shift(g, cg_isub(g, x[3], x[1]), 1);
    cg_value last = cg_isub(g, x[5], x[3]);

    y[0] = cg_iadd(g, shift(g, cg_isub(g, x[0], x[2]), 2), less);
    y[1] = cg_iadd(g, even, odd);
    y[2] = cg_isub(g, even, odd);
    y[3] = cg_iadd(g, less, twice);
    y[4] = cg_isub(g, less, twice);
    y[5] = cg_isub(g, last, shift(g, twice, 1));
}

void
glow_cpu_integer_form_input(cg *g, int m, cg_value const *x, cg_value *y)
{
    if (m == 2)
        input2(g, x, y);
    else
        input4(g, x, y);
}

int
glow_cpu_integer_form_constant(int m)
{
    return m == 2 ? 2 : -6;
}

static void
output2(cg *g, cg_value const *x, cg_value *y)
{
    y[0] = cg_iadd(g, x[0], cg_iadd(g, x[1], x[2]));
    y[1] = cg_isub(g, cg_isub(g, x[1], x[2]), x[3]);
}

static void
output4(cg *g, cg_value const *x, cg_value *y)
{
    cg_value even = cg_iadd(g, x[1], x[2]), odd = cg_isub(g, x[1], x[2]);
    cg_value even2 = cg_iadd(g, x[3], x[4]), odd2 = cg_isub(g, x[3], x[4]);

    y[0] = cg_iadd(g, x[0], even2);
    y[0] = cg_isub(g, y[0], shift(g, even, 2));
    y[1] = cg_isub(g, odd2, shift(g, odd, 1));
    y[2] = cg_isub(g, even2, even);
    y[3] = cg_iadd(g, cg_isub(g, shift(g, odd2, 1), odd), x[5]);
}

void
glow_cpu_integer_form_output(cg *g, int m, cg_value const *x, cg_value *y)
{
    if (m == 2)
        output2(g, x, y);
    else
        output4(g, x, y);
}

/* The power of 2 of the factor of line i of A', of 24, 12, 6 or 6: 3, 2, 1 or 1. */
static int
twos_of(int line)
{
    return line < 2 ? 3 - line : 1;
}

int
glow_cpu_integer_form_bits(int m)
{
    return m == 2 ? 2 : 6;
}

cg_value
glow_cpu_integer_form_divide(cg *g, int m, int line, int j, cg_value t)
{
    uint32_t ninth = 0x38e38e39; /* 1 / 9 modulo 2^32 */

    if (m == 2)
        return t;
    ninth <<= glow_cpu_integer_form_bits(m) - twos_of(line) - twos_of(j);
    return cg_imul(g, t, glow_cg_int(LLVMTypeOf(t), (int32_t)ninth));
}

void
glow_cpu_integer_form_weights(int m, const int *w, int *to)
{
    static const int g2[4][3] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};
    static const int g4[6][3] = {{6, 0, 0}, {1, 1, 1},  {1, -1, 1},
                                 {1, 2, 4}, {1, -2, 4}, {0, 0, 6}};
    const int(*g)[3] = m == 2 ? g2 : g4;
    int n = m + 2, half[CPU_INTEGER_POINTS][3];

    for (int i = 0; i < n; i++)
        for (int j = 0; j < 3; j++)
            half[i][j] =
                g[i][0] * w[j] + g[i][1] * w[3 + j] + g[i][2] * w[6 + j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            to[i * n + j] = half[i][0] * g[j][0] + half[i][1] * g[j][1] +
                            half[i][2] * g[j][2];
}
