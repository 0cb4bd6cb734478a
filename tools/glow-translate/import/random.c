/*
 * Import of random operators.  The seed is part of the node: a node without one
 * gets its number in the graph, so that nodes differ and runs repeat.
 */

#include <math.h>
#include <string.h>

#include "tools/glow-translate/import/import.h"

/* ONNX's seed is a float: an integer is used as the seed, else its bits. */
int64_t
import_seed(import_node *n)
{
    float seed = import_float(n, "seed", 0);
    uint32_t bits;

    if (!import_has(n, "seed"))
        return (int64_t)(n->index & UINT32_MAX);
    if (seed >= 0 && seed < 4294967296.0f && floorf(seed) == seed)
        return (int64_t)seed;
    memcpy(&bits, &seed, sizeof bits);
    return bits;
}

/* The element kind of an attribute. */
static glow_kind
read_kind(import_node *n, glow_kind otherwise)
{
    const tensor_elem *e;

    if (!import_has(n, "dtype"))
        return otherwise;
    e = tensor_elem_of(import_int(n, "dtype", 0, 0, 100));
    if (e && e->kind)
        return e->kind;
    import_refuse(n, "E0705", "dtype %s is not supported",
                  e ? e->name : "of a number that is not known");
    return otherwise;
}

/* The type of a result with the shape and kind of the operand. */
static const glow_type *
read_like(import_node *n)
{
    const glow_type *like;

    if (!import_operands(n, 1, 1))
        return NULL;
    like = import_in(n, 0)->type;
    return import_type(n, read_kind(n, like->elem), like->shape);
}

/* The type of a result given by attributes. */
static const glow_type *
read_result(import_node *n)
{
    glow_ints l = import_ints(n, "shape");
    glow_dims shape = {0};

    if (!import_operands(n, 0, 0))
        return NULL;
    if (l.count > GLOW_MAX_RANK) {
        import_refuse(n, "E0710", "shape has over %d entries", GLOW_MAX_RANK);
        return NULL;
    }
    shape.rank = (int)l.count;
    for (int i = 0; i < shape.rank; i++)
        shape.at[i] = l.at[i];
    return import_type(n, read_kind(n, GLOW_FLOAT), shape);
}

static bool
build_uniform(import_node *n, const glow_type *type)
{
    glow_randomuniform a = {
        .low = import_float(n, "low", 0),
        .high = import_float(n, "high", 1),
        .seed = import_seed(n),
    };

    return !n->failed && import_done(n, import_build(n, &glow_op_randomuniform,
                                                     type, NULL, 0, &a));
}

static bool
random_uniform(import_node *n)
{
    return build_uniform(n, read_result(n));
}

static bool
random_uniform_like(import_node *n)
{
    return build_uniform(n, read_like(n));
}

static bool
build_normal(import_node *n, const glow_type *type)
{
    glow_randomnormal a = {
        .mean = import_float(n, "mean", 0),
        .scale = import_float(n, "scale", 1),
        .seed = import_seed(n),
    };

    return !n->failed && import_done(n, import_build(n, &glow_op_randomnormal,
                                                     type, NULL, 0, &a));
}

static bool
random_normal(import_node *n)
{
    return build_normal(n, read_result(n));
}

static bool
random_normal_like(import_node *n)
{
    return build_normal(n, read_like(n));
}

static bool
bernoulli(import_node *n)
{
    glow_bernoulli a = {.seed = import_seed(n)};
    const glow_type *x;

    if (!import_operands(n, 1, 1))
        return false;
    x = import_in(n, 0)->type;
    return import_done(
        n, import_build(n, &glow_op_bernoulli,
                        import_type(n, read_kind(n, x->elem), x->shape),
                        GLOW_IN(import_in(n, 0)), &a));
}

static bool
multinomial(import_node *n)
{
    glow_multinomial a = {
        .sample_size = import_int(n, "sample_size", 1, 0, INT32_MAX),
        .seed = import_seed(n),
    };
    glow_kind kind = read_kind(n, GLOW_INDEX32);
    glow_dims shape;

    if (!import_operands(n, 1, 1))
        return false;
    shape = import_shape(import_in(n, 0));
    return import_done(
        n, import_build(
               n, &glow_op_multinomial,
               import_type(n, kind, GLOW_DIMS_OF(shape.at[0], a.sample_size)),
               GLOW_IN(import_in(n, 0)), &a));
}

const import_row import_random_rows[] = {
    {"Bernoulli", 15, 0, bernoulli, &glow_op_bernoulli,
     "floats, to any; without a seed, the number of the node is it"},
    {"Multinomial", 7, 0, multinomial, &glow_op_multinomial,
     "floats, to int32 or int64; [batch, classes]; without a seed, the number "
     "of the node is it"},
    {"RandomNormal", 1, 0, random_normal, &glow_op_randomnormal,
     "to floats; without a seed, the number of the node is it"},
    {"RandomNormalLike", 1, 0, random_normal_like, &glow_op_randomnormal,
     "any, to floats; without a seed, the number of the node is it"},
    {"RandomUniform", 1, 0, random_uniform, &glow_op_randomuniform,
     "to floats; without a seed, the number of the node is it"},
    {"RandomUniformLike", 1, 0, random_uniform_like, &glow_op_randomuniform,
     "any, to floats; without a seed, the number of the node is it"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
