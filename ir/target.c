/* Reader of target descriptions (JSON). */

#include "ir/target.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

/*
 * A core: 32 multiply-adds of float in each cycle at 2 GHz; a share of the
 * memory bandwidth; a call, the overhead of its loop and the latency of its
 * first loads.
 */
const glow_target glow_target_default = {
    .name = "a core",
    .flops_per_second = 1.28e11,
    .bytes_per_second = 1.2e10,
    .seconds_per_node = 2e-7,
};

static const struct {
    const char *name;
    size_t offset;
} rates[] = {
    {"bytes_per_second", offsetof(glow_target, bytes_per_second)},
    {"flops_per_second", offsetof(glow_target, flops_per_second)},
    {"seconds_per_node", offsetof(glow_target, seconds_per_node)},
};

static double *
find_rate(glow_target *t, const char *name)
{
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (strcmp(rates[i].name, name) == 0)
            return (double *)((char *)t + rates[i].offset);
    return NULL;
}

bool
glow_target_wrong(const target_reader *r, const char *hint, const char *fmt,
                  ...)
{
    va_list ap;
    const char *text;

    va_start(ap, fmt);
    text = glow_arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    return glow_error_hint(r->ctx, (glow_span){.source = r->source}, "E0417",
                           hint, "%s", text);
}

static bool
is_of_spaces(const char *name)
{
    for (int i = 0; i < GLOW_BUFFER_CLASSES; i++)
        if (strcmp(glow_buffer_classes[i], name) == 0)
            return true;
    return false;
}

static bool
read_member(const target_reader *r, const char *name, const json_t *value,
            glow_target *t)
{
    double *rate = find_rate(t, name);

    if (strcmp(name, "name") == 0 && json_is_string(value)) {
        t->name = glow_arena_strdup(r->arena, json_string_value(value));
        return true;
    }
    if (rate && json_is_number(value) && json_number_value(value) > 0) {
        *rate = json_number_value(value);
        return true;
    }
    if (rate || strcmp(name, "name") == 0)
        return glow_target_wrong(r, NULL, "'%s' of a target must be %s", name,
                                 rate ? "a number above 0" : "a string");
    if (strcmp(name, "spaces") == 0)
        return glow_target_spaces(r, value, t);
    if (is_of_spaces(name))
        return true; /* read after all spaces */
    return glow_target_wrong(r,
                             "there are: name, bytes_per_second, "
                             "flops_per_second, seconds_per_node, spaces, "
                             "constants, placeholders, activations, scratch",
                             "a target has no '%s'", name);
}

/* Reports the position at which the text stops being an object in JSON. */
static void
refuse_text(const target_reader *r, const json_t *j, const json_error_t *wrong)
{
    uint32_t at = !j && wrong->position > 0 ? (uint32_t)wrong->position : 0;

    if (at > r->source->size)
        at = (uint32_t)r->source->size;
    glow_error_at(r->ctx, (glow_span){r->source, at, at}, "E0417",
                  "a target file is an object in JSON%s%s",
                  j ? "" : ", and this is none: ", j ? "" : wrong->text);
}

const glow_target *
glow_target_read(glow_context *ctx, glow_arena *a, const glow_source *source)
{
    json_error_t wrong;
    json_t *j =
        json_loadb(source->text, source->size, JSON_REJECT_DUPLICATES, &wrong);
    glow_target *t = GLOW_NEW(a, glow_target);
    target_reader r = {ctx, a, source};
    const char *name;
    json_t *value;
    bool ok = json_is_object(j);

    *t = glow_target_default;
    if (!ok)
        refuse_text(&r, j, &wrong);
    json_object_foreach(j, name, value) ok =
        read_member(&r, name, value, t) && ok;
    ok = ok && glow_target_homes(&r, j, t);
    json_decref(j);
    return ok ? t : NULL;
}
