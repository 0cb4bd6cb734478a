/*
 * Normal forms of formulas: affine chains, factors, polynomials; see
 * glow/formula.h.
 */

#include <math.h>
#include <string.h>

#include "glow/formula.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/reach.h"

#define MAX_STEPS 8 /* nodes of a chain, or of a product */
#define MAX_READ 24 /* nodes of a polynomial */
#define ROUNDINGS 4 /* of a constant that exporters compute */

bool
glow_is_near(double a, double b, glow_kind kind)
{
    return a == b ||
           fabs(a - b) <= ROUNDINGS * glow_kind_get(kind)->epsilon * fabs(b);
}

/*
 * The index of the operand beside a splat, whose value is set in `*number`; -1
 * if none is a splat.
 */
static int
beside_number(const glow_node *n, double *number)
{
    if (glow_splat_value(n->in[1], number))
        return 0;
    return glow_splat_value(n->in[0], number) ? 1 : -1;
}

/*
 * One step of a chain: replaces a->x by the operand of its definition, and
 * composes the maps.
 */
static bool
step_affine(glow_affine *a)
{
    const glow_node *n = a->x->def;
    double number;
    int i = 0;

    if (!n || n->pred)
        return false;
    if (n->op == &glow_op_neg) {
        a->scale = -a->scale;
        a->x = n->in[0];
        return true;
    }
    if (n->op != &glow_op_add && n->op != &glow_op_sub &&
        n->op != &glow_op_mul && n->op != &glow_op_div)
        return false;
    i = beside_number(n, &number);
    if (i < 0 || (n->op == &glow_op_div && i == 1))
        return false;
    if (n->op == &glow_op_add) {
        a->shift += a->scale * number;
    } else if (n->op == &glow_op_sub) {
        a->shift += i == 0 ? -a->scale * number : a->scale * number;
        a->scale = i == 0 ? a->scale : -a->scale;
    } else {
        bool divides = n->op == &glow_op_div;

        a->scale = divides ? a->scale / number : a->scale * number;
        a->divides |= divides && !glow_is_exact_divisor(number);
    }
    a->x = n->in[i];
    return true;
}

glow_affine
glow_read_affine(glow_value *v)
{
    glow_affine a = {.x = v, .scale = 1};

    for (int i = 0; i < MAX_STEPS; i++)
        if ((i > 0 && !glow_has_one_use(a.x)) || !step_affine(&a))
            break;
    return a;
}

/* Reads the factors of a tree of products, iteratively. */
bool
glow_read_factors(glow_node *n, glow_factors *p)
{
    glow_value *left[MAX_STEPS + 1];
    int count = 0;

    *p = (glow_factors){.scale = 1};
    left[count++] = n->out[0];
    for (int steps = 0; count > 0; steps++) {
        glow_value *v = left[--count];
        const glow_node *def = v->def;
        double number;

        if (glow_splat_value(v, &number)) {
            p->scale *= number;
            continue;
        }
        if (steps < MAX_STEPS && def && !def->pred &&
            (def == n || glow_has_one_use(v))) {
            if (def->op == &glow_op_mul) {
                left[count++] = def->in[1];
                left[count++] = def->in[0];
                continue;
            }
            if (def->op == &glow_op_neg ||
                (def->op == &glow_op_div &&
                 glow_splat_value(def->in[1], &number))) {
                p->scale /= def->op == &glow_op_neg ? -1 : number;
                p->divides |=
                    def->op == &glow_op_div && !glow_is_exact_divisor(number);
                left[count++] = def->in[0];
                continue;
            }
        }
        if (p->count == GLOW_MAX_FACTORS)
            return false;
        p->factor[p->count++] = v;
    }
    return true;
}

typedef struct reader {
    const glow_value *x;
    int left; /* nodes that may still be read */
} reader;

static bool read_value(reader *r, const glow_value *v, glow_polynomial *p);

static bool
multiply(const glow_polynomial *a, const glow_polynomial *b,
         glow_polynomial *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i <= GLOW_MAX_DEGREE; i++)
        for (int k = 0; k <= GLOW_MAX_DEGREE; k++) {
            if (a->c[i] == 0 || b->c[k] == 0)
                continue;
            if (i + k > GLOW_MAX_DEGREE)
                return false;
            out->c[i + k] += a->c[i] * b->c[k];
        }
    return true;
}

static bool
read_power(reader *r, const glow_node *n, glow_polynomial *p)
{
    glow_polynomial base, y;
    double e;

    if (!glow_splat_value(n->in[1], &e) || !(e == 1 || e == 2 || e == 3) ||
        !read_value(r, n->in[0], &base))
        return false;
    *p = base;
    for (int i = 1; i < (int)e; i++) {
        if (!multiply(p, &base, &y))
            return false;
        *p = y;
    }
    return true;
}

static bool
read_binary(reader *r, const glow_node *n, glow_polynomial *p)
{
    double sign = n->op == &glow_op_sub ? -1 : 1, number;
    glow_polynomial a, b;

    if (n->op == &glow_op_div) {
        if (!glow_splat_value(n->in[1], &number) || !read_value(r, n->in[0], p))
            return false;
        for (int i = 0; i <= GLOW_MAX_DEGREE; i++)
            p->c[i] /= number;
        return true;
    }
    if (!read_value(r, n->in[0], &a) || !read_value(r, n->in[1], &b))
        return false;
    if (n->op == &glow_op_mul)
        return multiply(&a, &b, p);
    for (int i = 0; i <= GLOW_MAX_DEGREE; i++)
        p->c[i] = a.c[i] + sign * b.c[i];
    return true;
}

static bool
read_value(reader *r, const glow_value *v, glow_polynomial *p)
{
    const glow_node *n = v->def;
    double number;

    memset(p, 0, sizeof *p);
    if (v == r->x) {
        p->c[1] = 1;
        return true;
    }
    if (glow_splat_value(v, &number)) {
        p->c[0] = number;
        return isfinite(number);
    }
    if (!n || n->pred || r->left-- <= 0)
        return false;
    if (n->op == &glow_op_neg) {
        if (!read_value(r, n->in[0], p))
            return false;
        for (int i = 0; i <= GLOW_MAX_DEGREE; i++)
            p->c[i] = -p->c[i];
        return true;
    }
    if (n->op == &glow_op_pow)
        return read_power(r, n, p);
    if (n->op != &glow_op_add && n->op != &glow_op_sub &&
        n->op != &glow_op_mul && n->op != &glow_op_div)
        return false;
    return read_binary(r, n, p);
}

bool
glow_read_polynomial(const glow_value *v, const glow_value *x,
                     glow_polynomial *p)
{
    reader r = {x, MAX_READ};

    return read_value(&r, v, p);
}
