/*
 * The transforms of Winograd's convolution, by Toom and Cook's interpolation.
 *
 * The transforms of the input and of the result compute opposite points +p and
 * -p together: the even part of the polynomial is the same for both, and the
 * odd part differs in its sign.  So F(4) takes 12 multiplications and fused
 * multiply-adds for n = 6 vectors, where the matrix has 20 nonzeros.
 */

#include "codegen/cpu/kernels/winograd/winograd.h"

#include <math.h>

/* The squares of the points. */
static const double squares[2][2] = {{1}, {0.5, 2}};

/* Coefficients of the product of t - squares[i], i != but. */
static void
expand(const double *square, int pairs, int but, double *to)
{
    int degree = 0;

    to[0] = 1;
    for (int i = 0; i < pairs; i++) {
        if (i == but)
            continue;
        to[degree + 1] = to[degree];
        for (int k = degree; k > 0; k--)
            to[k] = to[k - 1] - square[i] * to[k];
        to[0] *= -square[i];
        degree++;
    }
}

/* The finite point number `i`. */
static double
point(const cpu_form *f, int i)
{
    if (i == 0)
        return 0;
    return i % 2 ? f->point[i / 2] : -f->point[i / 2 - 1];
}

/* The rows of G: powers of a point, over its distances to the others. */
static void
set_weights(cpu_form *f)
{
    int last = f->n - 1;

    for (int i = 0; i < last; i++) {
        double p = point(f, i), distance = 1;

        for (int k = 0; k < last; k++)
            if (k != i)
                distance *= p - point(f, k);
        f->g[i][0] = 1 / distance;
        f->g[i][1] = p / distance;
        f->g[i][2] = p * p / distance;
    }
    f->g[last][2] = 1;
}

cpu_form
glow_cpu_form(int m)
{
    cpu_form f = {.m = m, .n = m + 2, .pairs = m / 2};
    const double *square = squares[f.pairs - 1];

    for (int i = 0; i < f.pairs; i++)
        f.point[i] = sqrt(square[i]);
    expand(square, f.pairs, -1, f.all);
    for (int i = 0; i < f.pairs; i++)
        expand(square, f.pairs, i, f.but[i]);
    set_weights(&f);
    return f;
}

/* sum + k * x, where NULL is zero. */
static cg_value
add(cg *g, cg_value sum, double k, cg_value x)
{
    cg_value by = x ? glow_cg_real(LLVMTypeOf(x), k) : NULL;

    if (!x)
        return sum;
    if (!sum)
        return k == 1 ? x : cg_fmul(g, x, by);
    if (k == 1 || k == -1)
        return k > 0 ? cg_fadd(g, sum, x) : cg_fsub(g, sum, x);
    return glow_cg_fma(g, by, x, sum);
}

/* The sum of k[i] * x[2 * i]; the last of the `count` coefficients is 1. */
static cg_value
every_other(cg *g, const double *k, int count, cg_value const *x)
{
    cg_value sum = x[2 * (count - 1)];

    for (int i = 0; i < count - 1; i++)
        sum = add(g, sum, k[i], x[2 * i]);
    return sum;
}

void
glow_cpu_form_input(cg *g, const cpu_form *f, cg_value const *x, cg_value *y)
{
    y[0] = every_other(g, f->all, f->pairs + 1, x);
    y[f->n - 1] = every_other(g, f->all, f->pairs + 1, x + 1);
    for (int i = 0; i < f->pairs; i++) {
        cg_value even = every_other(g, f->but[i], f->pairs, x + 2);
        cg_value odd = every_other(g, f->but[i], f->pairs, x + 1);

        y[1 + 2 * i] = add(g, even, f->point[i], odd);
        y[2 + 2 * i] = add(g, even, -f->point[i], odd);
    }
}

void
glow_cpu_form_output(cg *g, const cpu_form *f, cg_value const *x, cg_value *y)
{
    cg_value even[2], odd[2];

    for (int i = 0; i < f->pairs; i++) {
        even[i] = cg_fadd(g, x[1 + 2 * i], x[2 + 2 * i]);
        odd[i] = cg_fsub(g, x[1 + 2 * i], x[2 + 2 * i]);
    }
    for (int r = 0; r < f->m; r++) {
        cg_value sum = r == 0 ? x[0] : r == f->m - 1 ? x[f->n - 1] : NULL;

        for (int i = 0; i < f->pairs; i++)
            sum = add(g, sum, pow(f->point[i], r), r % 2 ? odd[i] : even[i]);
        y[r] = sum;
    }
}

void
glow_cpu_form_weights(const cpu_form *f, const double *w, double *to)
{
    double half[CPU_MOST_POINTS][3];

    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < 3; j++)
            half[i][j] = f->g[i][0] * w[j] + f->g[i][1] * w[3 + j] +
                         f->g[i][2] * w[6 + j];
    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < f->n; j++)
            to[i * f->n + j] = half[i][0] * f->g[j][0] +
                               half[i][1] * f->g[j][1] +
                               half[i][2] * f->g[j][2];
}
