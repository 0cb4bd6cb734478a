/*
 * Attributes, and operands whose values must be known at import.
 *
 * Every integer is checked against its range as int64 before it is narrowed.
 * Attributes that a function reads are marked; a remaining one is an attribute
 * that the operator does not have, and is reported.
 */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/import/state.h"

typedef Onnx__AttributeProto attribute;

#define KIND(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

static const attribute *
find(const import_node *n, const char *name, size_t *index)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        const attribute *a = n->proto->attribute[i];

        if (a->name && strcmp(a->name, name) == 0) {
            *index = i;
            return import_attribute(n, i);
        }
    }
    return NULL;
}

bool
import_has(const import_node *n, const char *name)
{
    size_t ignored;

    return find(n, name, &ignored) != NULL;
}

void
import_ignore(import_node *n, const char *name)
{
    size_t i;

    if (find(n, name, &i) && i < 64)
        n->read |= (uint64_t)1 << i;
}

/*
 * The kind of an attribute by its filled member, for models that do not declare
 * it.
 */
static int
kind_of(const attribute *a)
{
    return a->has_type        ? (int)a->type
           : a->has_f         ? KIND(FLOAT)
           : a->has_i         ? KIND(INT)
           : a->has_s         ? KIND(STRING)
           : a->t             ? KIND(TENSOR)
           : a->g             ? KIND(GRAPH)
           : a->n_floats      ? KIND(FLOATS)
           : a->n_ints        ? KIND(INTS)
           : a->n_strings     ? KIND(STRINGS)
           : a->sparse_tensor ? KIND(SPARSE_TENSOR)
                              : KIND(UNDEFINED);
}

/*
 * The attribute `name` of `kind`; NULL if it is absent, or, with n failed, of
 * another kind.
 */
static const attribute *
get(import_node *n, const char *name, int kind, const char *kind_name)
{
    size_t i;
    const attribute *a = find(n, name, &i);

    if (!a)
        return NULL;
    import_ignore(n, name);
    if (kind_of(a) != kind) {
        import_refuse(n, "E0710", "%s must be of type %s", name, kind_name);
        return NULL;
    }
    return a;
}

const Onnx__GraphProto *
import_graph_attr(import_node *n, const char *name)
{
    const attribute *a = get(n, name, KIND(GRAPH), "GRAPH");

    if (a && a->g)
        return a->g;
    import_refuse(n, "E0710", "%s is missing", name);
    return NULL;
}

int64_t
import_int(import_node *n, const char *name, int64_t otherwise, int64_t least,
           int64_t most)
{
    const attribute *a = get(n, name, KIND(INT), "INT");

    if (!a)
        return otherwise;
    if (a->i < least || a->i > most) {
        import_refuse(n, "E0710",
                      "%s is %" PRId64 ", which is not within %" PRId64
                      " to %" PRId64,
                      name, a->i, least, most);
        return otherwise;
    }
    return a->i;
}

bool
import_flag(import_node *n, const char *name, bool otherwise)
{
    return import_int(n, name, otherwise, 0, 1) != 0;
}

float
import_float(import_node *n, const char *name, float otherwise)
{
    const attribute *a = get(n, name, KIND(FLOAT), "FLOAT");

    return a ? a->f : otherwise;
}

const char *
import_string(import_node *n, const char *name, const char *otherwise)
{
    const attribute *a = get(n, name, KIND(STRING), "STRING");

    if (!a)
        return otherwise;
    return glow_arena_strndup(import_arena(n), (const char *)a->s.data,
                              a->s.len);
}

int
import_word(import_node *n, const char *name, const char *otherwise,
            const char *const *words)
{
    const char *word = import_string(n, name, otherwise);
    glow_buf all = {.arena = import_arena(n)};

    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], word) == 0)
            return i;
        glow_buf_printf(&all, "%s%s", i ? ", " : "", words[i]);
    }
    import_refuse(n, "E0705", "%s '%s' is not supported, but %s", name, word,
                  all.text);
    return 0;
}

glow_ints
import_ints(import_node *n, const char *name)
{
    const attribute *a = get(n, name, KIND(INTS), "INTS");

    return a ? (glow_ints){(int64_t)a->n_ints, a->ints} : (glow_ints){0};
}

glow_floats
import_floats(import_node *n, const char *name)
{
    const attribute *a = get(n, name, KIND(FLOATS), "FLOATS");

    return a ? (glow_floats){(int64_t)a->n_floats, a->floats}
             : (glow_floats){0};
}

const char *const *
import_strings(import_node *n, const char *name, int *count)
{
    const attribute *a = get(n, name, KIND(STRINGS), "STRINGS");
    const char **list;

    *count = a ? (int)a->n_strings : 0;
    list = GLOW_NEW_ARRAY(import_arena(n), const char *, *count);
    for (int i = 0; i < *count; i++)
        list[i] = glow_arena_strndup(import_arena(n),
                                     (const char *)a->strings[i].data,
                                     a->strings[i].len);
    return list;
}

glow_dims
import_dims(import_node *n, const char *name, int rank, int64_t otherwise,
            int64_t least)
{
    glow_ints l = import_ints(n, name);
    glow_dims d = {.rank = rank};
    bool given = l.count > 0;

    if (given && l.count != rank) {
        import_refuse(n, "E0710", "%s has %" PRId64 " entries, but %d are due",
                      name, l.count, rank);
        given = false;
    }
    for (int i = 0; i < rank; i++) {
        d.at[i] = given ? l.at[i] : otherwise;
        if (d.at[i] < least || d.at[i] > INT32_MAX) {
            import_refuse(n, "E0710",
                          "%s[%d] is %" PRId64 ", which is not within %" PRId64
                          " to %d",
                          name, i, d.at[i], least, INT32_MAX);
            d.at[i] = otherwise;
        }
    }
    return d;
}

const Onnx__TensorProto *
import_tensor(import_node *n, const char *name)
{
    const attribute *a = get(n, name, KIND(TENSOR), "TENSOR");

    if (a && !a->t)
        import_refuse(n, "E0710", "%s holds no tensor", name);
    return a ? a->t : NULL;
}

const Onnx__SparseTensorProto *
import_sparse(import_node *n, const char *name)
{
    const attribute *a = get(n, name, KIND(SPARSE_TENSOR), "SPARSE_TENSOR");

    if (a && !a->sparse_tensor)
        import_refuse(n, "E0710", "%s holds no tensor", name);
    return a ? a->sparse_tensor : NULL;
}

int
import_axis(import_node *n, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank) {
        import_refuse(n, "E0710",
                      "axis %" PRId64 " is not one of a tensor of rank %d",
                      axis, rank);
        return 0;
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

int
import_axis_attr(import_node *n, int64_t otherwise, int rank)
{
    return import_axis(
        n, import_int(n, "axis", otherwise, INT64_MIN, INT64_MAX), rank);
}

/* Operands that must be known. */

bool
import_is_known(const import_node *n, int i)
{
    const glow_value *v = import_in(n, i);

    return v && glow_is_constant(v);
}

const glow_tensor *
import_known(import_node *n, int i)
{
    glow_value *v = import_in(n, i);
    const glow_tensor *t = NULL;

    if (n->failed)
        return NULL;
    if (!v)
        import_refuse(n, "E0711", "operand %d is missing", i);
    else if (!glow_is_constant(v))
        import_refuse_unknown(n, i, v);
    else {
        t = glow_constant_tensor(v->storage);
        n->failed |= !t;
    }
    return t;
}

/* The elements of constant operand `i`, up to a limit of their number. */
static const glow_tensor *
known_list(import_node *n, int i, int64_t *count)
{
    const glow_tensor *t = import_known(n, i);

    *count = t ? glow_type_count(t->type) : 0;
    if (*count > 4096) {
        import_refuse(n, "E0711", "operand %d has %" PRId64 " elements", i,
                      *count);
        *count = 0;
    }
    return t;
}

glow_ints
import_known_ints(import_node *n, int i)
{
    int64_t count;
    const glow_tensor *t = known_list(n, i, &count);
    int64_t *at = GLOW_NEW_ARRAY(import_arena(n), int64_t, count);

    if (t && !glow_is_int(t->type->elem)) {
        import_refuse(n, "E0711", "operand %d must hold integers", i);
        count = 0;
    }
    for (int64_t k = 0; k < count; k++)
        at[k] = glow_get_int(t, k);
    return (glow_ints){count, at};
}

glow_floats
import_known_floats(import_node *n, int i)
{
    int64_t count;
    const glow_tensor *t = known_list(n, i, &count);
    float *at = GLOW_NEW_ARRAY(import_arena(n), float, count);

    for (int64_t k = 0; k < count; k++)
        at[k] = (float)glow_get_double(t, k);
    return (glow_floats){count, at};
}

double
import_known_number(import_node *n, int i)
{
    const glow_tensor *t = import_known(n, i);

    if (!t)
        return 0;
    if (glow_type_count(t->type) != 1) {
        import_refuse(n, "E0711", "operand %d must be one number", i);
        return 0;
    }
    return glow_get_double(t, 0);
}

bool
import_check_lengths(import_node *n, int i, int64_t steps, bool *whole)
{
    const glow_tensor *t;

    *whole = false;
    if (!import_is_known(n, i))
        return true;
    t = import_known(n, i);
    if (!t || !glow_is_int(t->type->elem))
        return !n->failed;
    *whole = true;
    for (int64_t k = 0; k < glow_type_count(t->type); k++) {
        int64_t length = glow_get_int(t, k);

        if (length < 0 || length > steps)
            return import_refuse_hint(
                n, "E0711",
                glow_arena_printf(import_arena(n), "a length is 0 to %" PRId64,
                                  steps),
                "sequence_lens[%" PRId64 "] is %" PRId64
                ", but the sequences have %" PRId64 " steps",
                k, length, steps);
        *whole &= length == steps;
    }
    return true;
}

glow_dims
import_axes(import_node *n, int i, int until, int rank, bool *given)
{
    bool is_attr = n->opset <= until;
    glow_ints l = {0};
    glow_dims axes = {0};
    bool used[GLOW_MAX_RANK] = {false};

    *given = is_attr ? import_has(n, "axes") : import_in(n, i) != NULL;
    if (is_attr)
        l = import_ints(n, "axes");
    else if (*given)
        l = import_known_ints(n, i);
    for (int64_t k = 0; k < l.count; k++) {
        int axis = import_axis(n, l.at[k], rank);

        if (n->failed)
            return axes;
        if (used[axis])
            import_refuse(n, "E0710", "axis %d is named twice", axis);
        used[axis] = true;
    }
    for (int axis = 0; axis < rank && !n->failed; axis++)
        if (used[axis])
            axes.at[axes.rank++] = axis;
    return axes;
}
