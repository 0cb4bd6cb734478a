/*
 * The transforms of Winograd's convolution, by Toom and Cook's interpolation.
 *
 * The transforms of the input and of the result compute opposite points +p and
 * -p together: the even part of the polynomial is the same for both, and the
 * odd part differs in its sign.  So F(4, 3) takes 12 multiplications and fused
 * multiply-adds for n = 6 vectors, where the matrix has 20 nonzeros.
 *
 * An axis of one tap has n = m = 1, and its transforms are the identity.
 */

#include "codegen/cpu/kernels/winograd/winograd.h"

#include <math.h>

/* The squares of the points, by the number of pairs. */
static const double squares[CPU_MOST_PAIRS][CPU_MOST_PAIRS] =
    {{1}, {0.5, 2}, {0.25, 1, 4}, {0.2, 0.6, 5.0 / 3, 5}};

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
        double p = point(f, i), distance = 1, power = 1;

        for (int k = 0; k < last; k++)
            if (k != i)
                distance *= p - point(f, k);
        for (int k = 0; k < f->taps; k++, power *= p)
            f->g[i][k] = power / distance;
    }
    f->g[last][f->taps - 1] = 1;
}

cpu_form
glow_cpu_form(int m, int taps)
{
    cpu_form f = {.m = m, .taps = taps, .n = m + taps - 1};
    const double *square;

    if (taps == 1)
        return (cpu_form){.m = 1, .taps = 1, .n = 1, .g = {{1}}};
    f.pairs = f.n / 2 - 1;
    square = squares[f.pairs - 1];
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
    if (f->n == 1) {
        y[0] = x[0];
        return;
    }
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
    cg_value even[CPU_MOST_PAIRS], odd[CPU_MOST_PAIRS];

    if (f->n == 1) {
        y[0] = x[0];
        return;
    }
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
glow_cpu_form_weights(const cpu_form *h, const cpu_form *v, const double *w,
                      double *to)
{
    for (int i = 0; i < v->n; i++) {
        double half[CPU_MOST_TAPS] = {0};

        for (int j = 0; j < h->taps; j++)
            for (int k = 0; k < v->taps; k++)
                half[j] += v->g[i][k] * w[k * h->taps + j];
        for (int j = 0; j < h->n; j++) {
            double sum = 0;

            for (int k = 0; k < h->taps; k++)
                sum += half[k] * h->g[j][k];
            to[i * h->n + j] = sum;
        }
    }
}
