/*
 * Dropout: the identity in inference; in training, since opset 12, elements are
 * zero where a random number in [0, 1) is below the ratio, and the others are
 * scaled by 1 / (1 - ratio).
 */

#include "tools/glow-translate/import/import.h"

static bool
is_known_as(import_node *n, int i, double v)
{
    return import_is_known(n, i) && import_known_number(n, i) == v;
}

/* Operand i, one number, broadcast to `shape`. */
static glow_value *
everywhere(import_node *n, int i, glow_dims shape)
{
    glow_value *v = import_in(n, i);

    if (glow_dims_count(v->type->shape) != 1) {
        import_refuse(n, "E0711", "operand %d is not one number", i);
        return NULL;
    }
    return import_broadcast(n, import_reshape(n, v, (glow_dims){0}), shape);
}

/* The ratio in float64, in which the numbers are drawn and compared. */
static glow_value *
ratio_of(import_node *n, glow_dims shape)
{
    if (!import_in(n, 1))
        return import_splat(n, GLOW_FLOAT64, shape, 0.5);
    return import_convert(n, everywhere(n, 1, shape), GLOW_FLOAT64);
}

static int64_t
seed_of(import_node *n)
{
    if (!import_has(n, "seed"))
        return (int64_t)n->index;
    return import_int(n, "seed", 0, INT64_MIN, INT64_MAX) & UINT32_MAX;
}

/* The result in training; *mask is true where an element is kept. */
static glow_value *
trained(import_node *n, glow_value *x, glow_value **mask)
{
    glow_dims shape = x->type->shape;
    const glow_type *type = import_type(n, GLOW_FLOAT64, shape);
    glow_randomuniform a = {.high = 1, .seed = seed_of(n)};
    glow_value *ratio = ratio_of(n, shape);
    glow_value *u = import_build(n, &glow_op_randomuniform, type, NULL, 0, &a);
    glow_value *one = import_splat(n, GLOW_FLOAT64, shape, 1);
    glow_value *rest = import_binary(n, &glow_op_sub, one, ratio);
    glow_value *zero = import_splat(n, x->type->elem, shape, 0);

    rest = import_binary(n, &glow_op_div, one, rest);
    *mask = import_binary(n, &glow_op_cmplte, ratio, u);
    if (n->failed)
        return NULL;
    x = import_binary(n, &glow_op_mul, x,
                      import_convert(n, rest, x->type->elem));
    if (n->failed)
        return NULL;
    return BUILD_PLAIN(n, select, GLOW_IN(*mask, x, zero));
}

/* -train: other elements in each step, by the counter of the module. */
static glow_value *
drawn_anew(import_node *n, glow_value *x, glow_value **mask)
{
    double ratio = import_in(n, 1) ? import_known_number(n, 1) : 0.5;
    glow_value *step = import_counter(n), *u;

    if (n->failed || !(ratio >= 0 && ratio < 1)) {
        import_refuse(n, "E0711", "the ratio is %g, but must be 0 to 1", ratio);
        return NULL;
    }
    if (import_wants(n, 1)) {
        u = BUILD_STATED(n, philoxuniform,
                         import_type(n, GLOW_FLOAT, x->type->shape),
                         GLOW_IN(step), .seed = seed_of(n));
        *mask = import_binary(
            n, &glow_op_cmplte,
            import_splat(n, GLOW_FLOAT, x->type->shape, (double)(float)ratio),
            u);
    }
    return BUILD(n, dropout, GLOW_IN(x, step), .ratio = (float)ratio,
                 .seed = seed_of(n));
}

/* Selects between `x` and `y` by a training_mode that is not constant. */
static glow_value *
chosen(import_node *n, glow_value *x, glow_value *y, glow_value **mask)
{
    glow_value *mode = everywhere(n, 2, x->type->shape);

    mode = import_convert(n, mode, GLOW_BOOL);
    if (n->failed)
        return NULL;
    *mask = import_binary(n, &glow_op_or, BUILD_PLAIN(n, not, GLOW_IN(mode)),
                          *mask);
    return BUILD_PLAIN(n, select, GLOW_IN(mode, y, x));
}

static bool
dropout(import_node *n)
{
    glow_value *x = import_in(n, 0), *y = x, *mask = NULL;

    import_ignore(n, "ratio"); /* an attribute up to opset 11 */
    import_ignore(n, "seed");
    import_ignore(n, "is_test");
    import_ignore(n, "consumed_inputs");
    if (!import_operands(n, 1, n->opset < 12 ? 1 : 3))
        return false;
    if (import_in(n, 2) && !is_known_as(n, 2, 0) && !is_known_as(n, 1, 0)) {
        if (import_trains(n) && import_is_known(n, 2) &&
            (!import_in(n, 1) || import_is_known(n, 1)))
            y = drawn_anew(n, x, &mask);
        else
            y = trained(n, x, &mask);
        if (!import_is_known(n, 2) && !n->failed)
            y = chosen(n, x, y, &mask);
    }
    if (import_wants(n, 1) && !n->failed)
        n->out[1] = mask ? mask
                         : import_constant_splat(
                               n, n->opset >= 10 ? GLOW_BOOL : x->type->elem,
                               x->type->shape, 1, 1);
    return import_done(n, y);
}

const import_row import_dropout_rows[] = {
    {"Dropout", 1, 0, dropout, NULL,
     "any; nothing is left of it in inference; training_mode is of floats, and "
     "it and the ratio may be computed"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
