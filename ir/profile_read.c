/*
 * Reader of profiles in JSON.  A profile is input like any other: each number is
 * checked before it is used.
 */

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "ir/profile.h"

enum { MOST_BINS = 1 << 20 };

typedef struct reader {
    glow_context *ctx;
    glow_arena *arena;
    const glow_source *source;
    glow_span at; /* of the value at hand */
} reader;

/* Reports E0520 at the value at hand; false. */
static bool wrong(const reader *r, const char *fmt, ...) GLOW_PRINTF(2, 3);

static bool
wrong(const reader *r, const char *fmt, ...)
{
    va_list ap;
    const char *text;

    va_start(ap, fmt);
    text = glow_arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    return glow_error_hint(r->ctx, r->at, "E0520", GLOW_PROFILE_HINT, "%s",
                           text);
}

/* The first place of `"text"` in the file behind `from`; else the file alone. */
static glow_span
find_name(const reader *r, const char *text, size_t from)
{
    size_t n = strlen(text);

    for (size_t i = from; i + n + 1 < r->source->size; i++)
        if (r->source->text[i] == '"' && r->source->text[i + n + 1] == '"' &&
            memcmp(r->source->text + i + 1, text, n) == 0)
            return (glow_span){r->source, (uint32_t)i, (uint32_t)(i + n + 2)};
    return (glow_span){.source = r->source};
}

/* Members of objects. */

static bool
integer(const reader *r, const json_t *o, const char *key, int64_t least,
        int64_t most, int64_t *out)
{
    const json_t *v = json_object_get(o, key);

    if (!json_is_integer(v) || json_integer_value(v) < least ||
        json_integer_value(v) > most)
        return wrong(r, "'%s' must be an integer from %" PRId64 " to %" PRId64,
                     key, least, most);
    *out = json_integer_value(v);
    return true;
}

static bool
number(const reader *r, const json_t *o, const char *key, double *out)
{
    const json_t *v = json_object_get(o, key);

    if (!json_is_number(v))
        return wrong(r, "'%s' must be a number", key);
    *out = json_number_value(v);
    return true;
}

/* A string that may be missing. */
static bool
string(const reader *r, const json_t *o, const char *key, const char **out)
{
    const json_t *v = json_object_get(o, key);

    *out = NULL;
    if (!v)
        return true;
    if (!json_is_string(v) ||
        strlen(json_string_value(v)) != json_string_length(v))
        return wrong(r, "'%s' must be a string", key);
    *out = glow_arena_strdup(r->arena, json_string_value(v));
    return true;
}

/* A list of `count` finite floats. */
static bool
floats(const reader *r, const json_t *o, const char *key, size_t count,
       const float **out)
{
    const json_t *list = json_object_get(o, key);
    float *at;

    if (!json_is_array(list) || json_array_size(list) != count)
        return wrong(r, "'%s' must be a list of %zu numbers", key, count);
    at = GLOW_NEW_ARRAY(r->arena, float, count + 1);
    for (size_t i = 0; i < count; i++) {
        const json_t *v = json_array_get(list, i);
        double x = json_number_value(v);

        if (!json_is_number(v) || !glow_profile_counts(x))
            return wrong(r, "number %zu of '%s' is no finite float", i, key);
        at[i] = (float)x;
    }
    *out = at;
    return true;
}

static bool
check_ends(const reader *r, float min, float max)
{
    return min <= max || wrong(r, "the minimum %.9g is above the maximum %.9g",
                               (double)min, (double)max);
}

static bool
check_mean(const reader *r, float mean, float min, float max)
{
    return (mean >= min && mean <= max) ||
           wrong(r, "the mean %.9g is not within %.9g to %.9g", (double)mean,
                 (double)min, (double)max);
}

static bool
read_counts(const reader *r, const json_t *list, glow_profile_value *v)
{
    size_t n = json_array_size(list);
    double *counts;

    if (!json_is_array(list) || n < 1 || n > (size_t)v->bins)
        return wrong(r, "'counts' must be a list of 1 to %" PRId64 " numbers",
                     v->bins);
    counts = GLOW_NEW_ARRAY(r->arena, double, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *c = json_array_get(list, i);

        counts[i] = json_number_value(c);
        if (!json_is_number(c) || !(counts[i] >= 0 && counts[i] <= 0x1p63))
            return wrong(r, "number %zu of 'counts' must be from 0 to 2^63", i);
    }
    v->counts = counts;
    v->n_counts = (int64_t)n;
    return true;
}

static bool
read_histogram(const reader *r, const json_t *o, glow_profile_value *v)
{
    glow_bins grid;

    if (!o)
        return true;
    if (!json_is_object(o))
        return wrong(r, "'histogram' must be an object");
    if (!integer(r, o, "bins", 2, MOST_BINS, &v->bins) ||
        !number(r, o, "low", &v->low) || !number(r, o, "width", &v->width) ||
        !read_counts(r, json_object_get(o, "counts"), v))
        return false;
    grid = glow_bins_of((double)v->min, (double)v->max, v->bins);
    v->is_grid = v->width == glow_bins_power(grid.exponent) &&
                 v->low == (double)grid.first * v->width;
    if (!(v->width > 0 && v->width < 0x1p130) || !(v->low > -0x1p130) ||
        v->low > (double)v->min ||
        v->low + v->width * (double)v->n_counts < (double)v->max)
        return wrong(r,
                     "'histogram' has bins from %.9g on, %" PRId64
                     " of width %.9g, which do not hold %.9g to %.9g",
                     v->low, v->n_counts, v->width, (double)v->min,
                     (double)v->max);
    return true;
}

static bool
read_channels(const reader *r, const json_t *o, glow_profile_value *v)
{
    size_t n = json_array_size(json_object_get(o, "min"));
    int64_t axis;

    v->axis = -1;
    if (!o)
        return true;
    if (!json_is_object(o))
        return wrong(r, "'channels' must be an object");
    if (!integer(r, o, "axis", 0, GLOW_MAX_RANK - 1, &axis) ||
        !floats(r, o, "min", n, &v->channel_min) ||
        !floats(r, o, "max", n, &v->channel_max) ||
        !floats(r, o, "mean", n, &v->channel_mean))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!check_ends(r, v->channel_min[i], v->channel_max[i]) ||
            !check_mean(r, v->channel_mean[i], v->channel_min[i],
                        v->channel_max[i]))
            return false;
    v->axis = (int)axis;
    v->channels = (int64_t)n;
    return true;
}

static bool
read_value(reader *r, const json_t *o, size_t i, glow_profile_value *v)
{
    const float *range;

    if (!json_is_object(o))
        return wrong(r, "value %zu must be an object", i);
    if (!string(r, o, "name", &v->name))
        return false;
    if (!v->name)
        return wrong(r, "value %zu has no 'name'", i);
    v->span = r->at = find_name(r, v->name, r->at.end);
    if (!string(r, o, "model", &v->model) || !string(r, o, "type", &v->type) ||
        !integer(r, o, "elements", 0, INT64_MAX, &v->elements) ||
        !integer(r, o, "runs", 0, INT64_MAX, &v->runs) ||
        !floats(r, o, "range", 2, &range) ||
        !check_ends(r, range[0], range[1]) ||
        !number(r, o, "run_min", &v->run_min) ||
        !number(r, o, "run_max", &v->run_max))
        return false;
    v->min = range[0];
    v->max = range[1];
    if (!(v->run_min <= v->run_max) || v->run_min < (double)v->min ||
        v->run_max > (double)v->max)
        return wrong(r,
                     "'run_min' %.9g and 'run_max' %.9g must be a range "
                     "within %.9g to %.9g",
                     v->run_min, v->run_max, (double)v->min, (double)v->max);
    return read_histogram(r, json_object_get(o, "histogram"), v) &&
           read_channels(r, json_object_get(o, "channels"), v);
}

static bool
read_profile(reader *r, const json_t *o, glow_profile *p)
{
    const json_t *values = json_object_get(o, "values");
    glow_map *seen = glow_map_new(r->arena);
    int64_t version;
    bool ok;

    if (!json_is_object(o))
        return wrong(r, "a profile is an object in JSON");
    if (!integer(r, o, "version", 1, 1, &version) ||
        !string(r, o, "function", &p->function) ||
        !string(r, o, "hash", &p->hash) ||
        !integer(r, o, "runs", 0, INT64_MAX, &p->runs))
        return false;
    if (!json_is_array(values))
        return wrong(r, "'values' must be a list");
    p->count = json_array_size(values);
    p->values = GLOW_NEW_ARRAY(r->arena, glow_profile_value, p->count + 1);
    ok = true;
    for (size_t i = 0; i < p->count && ok; i++) {
        ok = read_value(r, json_array_get(values, i), i, &p->values[i]);
        if (ok && glow_map_get(seen, p->values[i].name))
            ok = wrong(r, "%s is there twice", p->values[i].name);
        if (ok)
            glow_map_set(seen, p->values[i].name, p);
    }
    return ok;
}

/* Reports the place at which the text stops being JSON. */
static void
refuse_text(const reader *r, const json_error_t *e)
{
    uint32_t at = e->position > 0 ? (uint32_t)e->position : 0;

    if (at > r->source->size)
        at = (uint32_t)r->source->size;
    glow_error_hint(r->ctx, (glow_span){r->source, at, at}, "E0520",
                    GLOW_PROFILE_HINT,
                    "a profile is JSON, and this is none: %s", e->text);
}

glow_profile *
glow_profile_read(glow_context *ctx, glow_arena *a, const glow_source *source)
{
    reader r = {ctx, a, source, {.source = source}};
    const char *first = source->text;
    glow_profile *p = GLOW_NEW(a, glow_profile);
    json_error_t e;
    json_t *o;
    bool ok;

    first += strspn(first, " \t\r\n");
    if (*first == '-' || *first == '#' || *first == '%')
        return glow_profile_read_yaml(ctx, a, source);
    o = json_loadb(source->text, source->size, JSON_REJECT_DUPLICATES, &e);
    if (!o)
        refuse_text(&r, &e);
    ok = o && read_profile(&r, o, p);
    json_decref(o);
    return ok ? p : NULL;
}
