/* Predicates of passes on values: constants, splats, equal elements. */

#include "glow/match.h"

#include <math.h>
#include <string.h>

#include "glow/ops.h"

#define MOST_EQUAL 64   /* elements of a constant that are compared */
#define MOST_BETWEEN 16 /* nodes between a splat and its user */
#define MOST_WHOLE 9e15 /* all integers up to this are doubles */

/*
 * True for operators whose result has the elements of the operand, and no
 * others.
 */
static bool
spreads(const glow_op *op)
{
    return op == &glow_op_broadcast || op == &glow_op_copy ||
           op == &glow_op_reshape || op == &glow_op_tile ||
           op == &glow_op_transpose;
}

/* False for integers that a double may not hold. */
static bool
is_whole(const glow_type *type, double x)
{
    return !glow_is_int(type->elem) || fabs(x) < MOST_WHOLE;
}

/* Sets `*out` to `x` converted to an element of `type`; false if unknown. */
static bool
as_element(const glow_type *type, double x, double *out)
{
    union {
        char bytes[16];
        int64_t aligned;
    } room = {{0}};
    const glow_type one = glow_type_of(type->elem, (glow_dims){0});
    const glow_tensor t = {.type = &one, .data = room.bytes};

    if (glow_is_quantized(type->elem) || glow_is_low(type->elem) ||
        glow_kind_get(type->elem)->bytes > (int)sizeof room)
        return false;
    glow_set_double(&t, 0, x);
    *out = glow_get_double(&t, 0);
    return is_whole(type, *out);
}

/*
 * Sets `*out` to the element of a constant whose elements are all the same
 * bytes.
 */
static bool
equal_elements(const glow_tensor *t, double *out)
{
    int64_t count = glow_type_count(t->type);
    size_t bytes = (size_t)glow_kind_get(t->type->elem)->bytes;

    if (count == 0 || t->type->strides.rank > 0)
        return false;
    for (int64_t i = 1; i < count; i++)
        if (memcmp(t->data, (const char *)t->data + (size_t)i * bytes, bytes))
            return false;
    *out = glow_get_double(t, 0);
    return *out == *out;
}

static bool
constant_number(glow_storage *s, double *out)
{
    const glow_type *type = s->value.type;

    if (glow_kind_get(type->elem)->klass &
        (GLOW_CLASS_QUANTIZED | GLOW_CLASS_FUSED | GLOW_CLASS_LOW))
        return false;
    if (s->payload == GLOW_SPLAT && glow_is_int(type->elem)) {
        double bits = (double)s->splat_int; /* below 0: of a large uint64 */

        return is_whole(type, bits) && as_element(type, bits, out) &&
               *out == bits;
    }
    if (s->payload == GLOW_SPLAT)
        return s->splat == s->splat && as_element(type, s->splat, out);

    const glow_tensor *t = glow_constant_data(&s->value, MOST_EQUAL);

    return t && equal_elements(t, out) && is_whole(type, *out);
}

bool
glow_splat_value(const glow_value *v, double *out)
{
    const glow_type *converted[MOST_BETWEEN];
    int n = 0;

    for (int i = 0; i < MOST_BETWEEN && v->def && !v->def->pred; i++) {
        if (v->def->op == &glow_op_convertto)
            converted[n++] = v->type;
        else if (!spreads(v->def->op))
            break;
        v = v->def->in[0];
    }

    const glow_splat *s =
        v->def && !v->def->pred ? GLOW_AS(splat, v->def) : NULL;

    if (s ? !as_element(v->type, (double)s->value, out)
          : !glow_is_constant(v) || !constant_number(v->storage, out))
        return false;
    while (n > 0)
        if (!as_element(converted[--n], *out, out))
            return false;
    return *out == *out;
}

bool
glow_is_number(const glow_value *v, double x)
{
    double y;

    return glow_splat_value(v, &y) && x == y && !signbit(x) == !signbit(y);
}

bool
glow_is_constant_like(const glow_value *v)
{
    return glow_is_constant(v) || glow_def(v, &glow_op_splat);
}

glow_node *
glow_def(const glow_value *v, const glow_op *op)
{
    return v && glow_is(v->def, op) && !v->def->pred ? v->def : NULL;
}

glow_node *
glow_only_def(const glow_value *v, const glow_op *op)
{
    return v && glow_has_one_use(v) ? glow_def(v, op) : NULL;
}

glow_value *
glow_through(glow_value *v, const glow_op *op)
{
    glow_node *n = glow_def(v, op);

    return n ? n->in[0] : v;
}

const glow_tensor *
glow_constant_data(const glow_value *v, int64_t most)
{
    if (!v || !glow_is_constant(v) || glow_type_count(v->type) > most ||
        v->storage->payload == GLOW_ELIDED)
        return NULL;
    return glow_constant_tensor(v->storage);
}

bool
glow_get_ints(const glow_value *v, glow_dims *out)
{
    const glow_tensor *t = glow_constant_data(v, GLOW_MAX_RANK);

    if (!t || !glow_is_int(t->type->elem) || t->type->strides.rank > 0)
        return false;
    *out = (glow_dims){.rank = (int)glow_type_count(t->type)};
    for (int i = 0; i < out->rank; i++)
        out->at[i] = glow_get_int(t, i);
    return true;
}

glow_value *
glow_build_like(glow_builder *b, const glow_value *v, double x)
{
    if ((double)(float)x != x) /* not representable in the float of a Splat */
        return glow_build_splat(b, "splat", v->type, x);
    return glow_build(b, &glow_op_splat, v->type, NULL, 0,
                      &(const glow_splat){.value = (float)x});
}
