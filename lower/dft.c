/*
 * lower-dft: a short transform is a product with a matrix of sines and cosines.
 *
 *     %y = DFT(%x) {Axis: a, Length: n}
 *         =>
 *     %t = the axis and the parts moved to the end, as one        [rows, m p]
 *     %y = MatMul(%t, constant [m p, k q]), and back
 *
 * Elements that Length cuts off, or adds as zeros, have no rows in the matrix.
 * A long transform of length n = r c is split as by Cooley and Tukey, into
 * transforms of length r over columns, twiddle factors, and transforms of
 * length c over rows, which are lowered in turn:
 *
 *     %u = DFT(%x as [rows, r, c, 2]) {Axis: 1, Length: r}
 *     %v = %u * e^(-2 pi i j k / n), for row k and column j
 *     %y = Transpose(DFT(%v) {Axis: 2, Length: c}) {Shuffle: [0, 2, 1, 3]}
 *
 * Left alone if n has no factor for which the matrix is small enough.
 */

#include "lower/common.h"

#define SHORT (INT64_C(1) << 22) /* elements of a matrix that is always taken */
#define MOST (INT64_C(1) << 26)  /* elements of the largest matrix */

/* A permutation that moves `axis` before the last axis, and its inverse. */
static glow_dims
to_end(int rank, int axis)
{
    glow_dims p = {.rank = rank};
    int k = 0;

    for (int i = 0; i < rank - 1; i++)
        if (i != axis)
            p.at[k++] = i;
    p.at[k++] = axis;
    p.at[k] = rank - 1;
    return p;
}

static glow_dims
back_from_end(int rank, int axis)
{
    glow_dims p = {.rank = rank}, there = to_end(rank, axis);

    for (int i = 0; i < rank; i++)
        p.at[there.at[i]] = i;
    return p;
}

static glow_value *
moved(glow_builder *b, glow_value *v, glow_dims shuffle)
{
    bool moves = false;

    for (int i = 0; i < shuffle.rank; i++)
        moves |= shuffle.at[i] != i;
    return moves && v ? GLOW_BUILD(b, transpose, GLOW_IN(v), .shuffle = shuffle)
                      : v;
}

/* The factor of element (m, p) in result (k, q), for all of them. */
static glow_value *
matrix(glow_builder *b, const glow_dft *a, glow_kind kind, int64_t count,
       int parts, int64_t results, int kept)
{
    glow_dims shape = GLOW_DIMS_OF(count * parts, results * kept);
    glow_value *v = glow_build_constant(
        b, "matrix",
        glow_type_get(glow_builder_context(b), glow_type_of(kind, shape)));
    int64_t at = 0;

    for (int64_t m = 0; v && m < count; m++)
        for (int p = 0; p < parts; p++)
            for (int64_t k = 0; k < results; k++)
                for (int q = 0; q < kept; q++)
                    glow_set_double(&v->storage->tensor, at++,
                                    glow_dft_factor(a, m, p, k, q));
    return v;
}

static glow_value *
short_transform(glow_builder *b, const glow_node *n, int64_t count)
{
    const glow_dft *a = n->attrs;
    glow_value *x = n->in[0];
    glow_dims s = x->type->shape, y = n->out[0]->type->shape;
    int rank = s.rank, parts = (int)s.at[rank - 1], kept = (int)y.at[rank - 1];
    int64_t rows = 1;
    glow_dims last = {.rank = rank};

    for (int i = 0; i < rank - 1; i++)
        rows *= i == a->axis ? 1 : s.at[i];
    x = moved(b, glow_lower_cut(b, x, a->axis, 0, count),
              to_end(rank, a->axis));
    x = glow_build_reshape(b, x, GLOW_DIMS_OF(rows, count * parts));

    glow_value *m =
        matrix(b, a, n->in[0]->type->elem, count, parts, y.at[a->axis], kept);

    x = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(x, m));
    for (int i = 0; i < rank; i++)
        last.at[i] = y.at[to_end(rank, a->axis).at[i]];
    return moved(b, glow_build_reshape(b, x, last),
                 back_from_end(rank, a->axis));
}

/* Long transforms: [rows, n, 2] throughout. */

/* The greatest divisor of n that is no greater than its root. */
static int64_t
divisor(int64_t n)
{
    int64_t best = 1;

    for (int64_t i = 2; i <= n / i; i++)
        if (n % i == 0)
            best = i;
    return best;
}

static glow_value *
constant(glow_builder *b, glow_kind kind, glow_dims shape, const char *suffix)
{
    return glow_build_constant(
        b, suffix,
        glow_type_get(glow_builder_context(b), glow_type_of(kind, shape)));
}

/* Zeros after the elements of axis 1 (or the last), up to `size`. */
static glow_value *
filled(glow_builder *b, glow_value *x, int axis, int64_t size)
{
    int64_t *pads = GLOW_NEW_ARRAY(glow_builder_scratch(b), int64_t, 6);

    if (!x || x->type->shape.at[axis] == size)
        return x;
    pads[3 + axis] = size - x->type->shape.at[axis];
    return GLOW_BUILD(b, pad, GLOW_IN(x), .mode = GLOW_PAD_CONSTANT,
                      .pads = {6, pads});
}

/*
 * The conjugates that a one-sided spectrum leaves out: element k > n / 2 is the
 * conjugate of element n - k.  The imaginary part of the first, and of the
 * middle one, does not count.
 */
static glow_value *
whole_spectrum(glow_builder *b, glow_value *x, int64_t n)
{
    glow_value *at = constant(b, GLOW_INDEX64, GLOW_DIMS_OF(n), "mirror");
    glow_value *sign =
        x ? constant(b, x->type->elem, GLOW_DIMS_OF(n, 2), "signs") : NULL;

    for (int64_t k = 0; at && sign && k < n; k++) {
        bool alone = k == 0 || 2 * k == n;

        glow_set_int(&at->storage->tensor, k, 2 * k > n ? n - k : k);
        glow_set_double(&sign->storage->tensor, 2 * k, 1);
        glow_set_double(&sign->storage->tensor, 2 * k + 1,
                        alone       ? 0
                        : 2 * k > n ? -1
                                    : 1);
    }
    x = GLOW_BUILD(b, gather, GLOW_IN(x, at), .axis = 1);
    return x ? glow_build_mul(b, x,
                              glow_lower_spread(b, sign, 1, x->type->shape))
             : NULL;
}

/*
 * x [rows, r, c, 2] times the twiddle factors e^(-2 pi i j k / n); inverse:
 * without the minus.
 */
static glow_value *
turned(glow_builder *b, glow_value *x, const glow_dft *a, int64_t r, int64_t c)
{
    const glow_dft whole = {.length = a->length};
    glow_dims shape = GLOW_DIMS_OF(r, c, 2);
    glow_value *cosines, *sines, *swap, *y;

    if (!x)
        return NULL;
    cosines = constant(b, x->type->elem, shape, "cos");
    sines = constant(b, x->type->elem, shape, "sin");
    swap = constant(b, GLOW_INDEX64, GLOW_DIMS_OF(2), "swap");
    for (int64_t i = 0; cosines && sines && swap && i < 2 * r * c; i++) {
        int64_t k = i / 2 / c, j = i / 2 % c;
        double sine = glow_dft_factor(&whole, j, 0, k, 1);

        glow_set_double(&cosines->storage->tensor, i,
                        glow_dft_factor(&whole, j, 0, k, 0));
        glow_set_double(&sines->storage->tensor, i,
                        (i % 2 == 0) == a->inverse ? sine : -sine);
    }
    for (int64_t i = 0; swap && i < 2; i++)
        glow_set_int(&swap->storage->tensor, i, 1 - i);
    y = GLOW_BUILD(b, gather, GLOW_IN(x, swap), .axis = 3);
    sines = glow_lower_spread(b, sines, 1, x->type->shape);
    y = glow_build_mul(b, y, sines);
    cosines = glow_lower_spread(b, cosines, 1, x->type->shape);
    return glow_build_add(b, glow_build_mul(b, x, cosines), y);
}

static glow_value *
long_transform(glow_builder *b, const glow_node *n, int64_t count, int64_t r)
{
    const glow_dft *a = n->attrs;
    glow_dims s = n->in[0]->type->shape, y = n->out[0]->type->shape, last;
    int rank = s.rank;
    int64_t c = a->length / r, rows = 1;
    glow_dims shuffle = to_end(rank, a->axis);
    glow_value *x = glow_lower_cut(b, n->in[0], a->axis, 0, count);

    for (int i = 0; i < rank - 1; i++)
        rows *= i == a->axis ? 1 : s.at[i];
    x = moved(b, x, shuffle);
    x = glow_build_reshape(b, x, GLOW_DIMS_OF(rows, count, s.at[rank - 1]));
    x = filled(b, x, 2, 2);
    x = filled(b, x, 1,
               a->inverse && a->onesided ? a->length / 2 + 1 : a->length);
    if (a->inverse && a->onesided)
        x = whole_spectrum(b, x, a->length);
    x = glow_build_reshape(b, x, GLOW_DIMS_OF(rows, r, c, 2));
    x = GLOW_BUILD(b, dft, GLOW_IN(x), .axis = 1, .length = r,
                   .inverse = a->inverse);
    x = turned(b, x, a, r, c);
    x = GLOW_BUILD(b, dft, GLOW_IN(x), .axis = 2, .length = c,
                   .inverse = a->inverse);
    x = GLOW_BUILD(b, transpose, GLOW_IN(x),
                   .shuffle = GLOW_DIMS_OF(0, 2, 1, 3));
    x = glow_build_reshape(b, x, GLOW_DIMS_OF(rows, a->length, 2));
    x = glow_lower_cut(b, x, 1, 0, y.at[a->axis]);
    x = glow_lower_cut(b, x, 2, 0, y.at[rank - 1]);
    last.rank = rank;
    for (int i = 0; i < rank; i++)
        last.at[i] = y.at[shuffle.at[i]];
    return moved(b, glow_build_reshape(b, x, last),
                 back_from_end(rank, a->axis));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_dft *a = n->attrs;
    glow_dims s = n->in[0]->type->shape, y = n->out[0]->type->shape;
    int64_t most = a->inverse && a->onesided ? a->length / 2 + 1 : a->length;
    int64_t count = s.at[a->axis] < most ? s.at[a->axis] : most, elements;
    int64_t r;

    if (glow_mul_overflow(count * s.at[s.rank - 1],
                          y.at[a->axis] * y.at[y.rank - 1], &elements))
        elements = INT64_MAX;
    r = elements > SHORT ? divisor(a->length) : 1;
    if (r > 1)
        return long_transform(b, n, count, r);
    return elements > MOST ? NULL : short_transform(b, n, count);
}

const glow_pass glow_pass_lower_dft = {
    .name = "lower-dft",
    .summary = "express DFT by a product with a constant matrix",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_dft,
    .rewrite = lower,
};
