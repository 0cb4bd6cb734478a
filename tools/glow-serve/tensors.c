/* Elements of tensors in the words of the Open Inference Protocol, version 2. */

#include <math.h>
#include <string.h>

#include "tools/glow-serve/serve.h"

const char *
serve_datatype(glow_kind k)
{
    static const struct {
        glow_kind kind;
        const char *word;
    } words[] = {
        {GLOW_FLOAT, "FP32"},    {GLOW_FLOAT16, "FP16"},
        {GLOW_BFLOAT16, "BF16"}, {GLOW_FLOAT64, "FP64"},
        {GLOW_INT8Q, "INT8"},    {GLOW_UINT8Q, "UINT8"},
        {GLOW_INT16Q, "INT16"},  {GLOW_INT32Q, "INT32"},
        {GLOW_INT64Q, "INT64"},  {GLOW_UINDEX8, "UINT8"},
        {GLOW_INDEX32, "INT32"}, {GLOW_INDEX64, "INT64"},
        {GLOW_INT8, "INT8"},     {GLOW_INT16, "INT16"},
        {GLOW_UINT16, "UINT16"}, {GLOW_UINT32, "UINT32"},
        {GLOW_UINT64, "UINT64"}, {GLOW_BOOL, "BOOL"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].kind == k)
            return words[i].word;
    return NULL;
}

json_t *
serve_shape(glow_dims shape)
{
    json_t *j = json_array();

    for (int i = 0; i < shape.rank; i++)
        json_array_append_new(j, json_integer(shape.at[i]));
    return j;
}

/* Reading. */

typedef struct reading {
    glow_tensor out;
    int64_t count, at;
    double least, most; /* of integers */
    bool is_float, is_bool;
    const char *why;
} reading;

static bool
fail(reading *r, const char *why)
{
    r->why = why;
    return false;
}

static bool
read_number(reading *r, const json_t *j)
{
    if (r->at == r->count)
        return fail(r, "data has more elements than the shape");
    if (r->is_bool) {
        if (!json_is_boolean(j))
            return fail(r, "elements of BOOL are true and false");
        glow_set_int(&r->out, r->at++, json_is_true(j));
        return true;
    }
    if (!json_is_number(j))
        return fail(r, "data holds something that is no number");
    if (r->is_float) {
        glow_set_double(&r->out, r->at, json_number_value(j));
        if (!isfinite(glow_get_double(&r->out, r->at++)))
            return fail(r,
                        "data holds a number out of the range of its datatype");
        return true;
    }
    if (!json_is_integer(j))
        return fail(r, "data holds a fraction, and its elements are integers");
    if ((double)json_integer_value(j) < r->least ||
        (double)json_integer_value(j) > r->most)
        return fail(r,
                    "data holds an integer out of the range of its datatype");
    glow_set_int(&r->out, r->at++, json_integer_value(j));
    return true;
}

/* Lists within lists, as deep as a shape may be. */
static bool
read_list(reading *r, const json_t *j, int depth)
{
    size_t n = json_array_size(j);

    if (depth > GLOW_MAX_RANK)
        return fail(r, "data has too many lists within lists");
    for (size_t i = 0; i < n; i++) {
        const json_t *e = json_array_get(j, i);

        if (json_is_array(e) ? !read_list(r, e, depth + 1) : !read_number(r, e))
            return false;
    }
    return true;
}

bool
serve_read_data(const json_t *data, const glow_type *type, int64_t count,
                void *out, const char **why)
{
    const glow_kind_info *k = glow_kind_get(type->elem);
    double range = ldexp(1, k->is_signed ? k->bits - 1 : k->bits);
    reading r = {
        .out = {.type = type, .data = out},
        .count = count,
        .least = k->is_signed ? -range : 0,
        .most = range - 1,
        .is_float = glow_is_float(type->elem),
        .is_bool = type->elem == GLOW_BOOL,
    };

    if (!json_is_array(data))
        fail(&r, "data is no list");
    else if (read_list(&r, data, 1) && r.at < count)
        fail(&r, "data has fewer elements than the shape");
    *why = r.why;
    return !r.why;
}

/* Writing. */

json_t *
serve_write_data(const void *data, const glow_type *type, int64_t count)
{
    const glow_tensor t = {.type = type, .data = (void *)(uintptr_t)data};
    json_t *j = json_array();

    for (int64_t i = 0; i < count; i++) {
        double v;

        if (type->elem == GLOW_UINT64 && glow_get_int(&t, i) < 0) {
            json_decref(j);
            return NULL;
        }
        if (type->elem == GLOW_BOOL) {
            json_array_append_new(j, json_boolean(glow_get_int(&t, i)));
            continue;
        }
        if (!glow_is_float(type->elem)) {
            json_array_append_new(j, json_integer(glow_get_int(&t, i)));
            continue;
        }
        v = glow_get_double(&t, i);
        /* JSON has neither infinities nor NaN. */
        json_array_append_new(j, isfinite(v) ? json_real(v) : json_null());
    }
    return j;
}
