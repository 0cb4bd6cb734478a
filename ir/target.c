/* Targets as data: reads a target file. */

#include "glow/target.h"

#include <jansson.h>
#include <stddef.h>
#include <string.h>

/*
 * 32 multiply-adds of float in each cycle of 2 GHz; a core's share of memory;
 * a call, its loop's ends and the loads that nothing hides.
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

static bool
read_member(glow_context *ctx, glow_arena *a, const glow_source *source,
            const char *name, const json_t *value, glow_target *t)
{
    double *rate = find_rate(t, name);
    glow_span all = {.source = source};

    if (strcmp(name, "name") == 0 && json_is_string(value)) {
        t->name = glow_arena_strdup(a, json_string_value(value));
        return true;
    }
    if (rate && json_is_number(value) && json_number_value(value) > 0) {
        *rate = json_number_value(value);
        return true;
    }
    if (rate || strcmp(name, "name") == 0)
        return glow_error_at(ctx, all, "E0417", "'%s' of a target must be %s",
                             name, rate ? "a number above 0" : "a string");
    return glow_error_hint(ctx, all, "E0417",
                           "there are: name, bytes_per_second, "
                           "flops_per_second, seconds_per_node",
                           "a target has no '%s'", name);
}

const glow_target *
glow_target_read(glow_context *ctx, glow_arena *a, const glow_source *source)
{
    json_error_t wrong;
    json_t *j =
        json_loadb(source->text, source->size, JSON_REJECT_DUPLICATES, &wrong);
    glow_target *t = GLOW_NEW(a, glow_target);
    const char *name;
    json_t *value;
    bool ok = json_is_object(j);

    *t = glow_target_default;
    if (!ok) {
        uint32_t at = !j && wrong.position > 0 ? (uint32_t)wrong.position : 0;

        if (at > source->size)
            at = (uint32_t)source->size;
        glow_error_at(ctx, (glow_span){source, at, at}, "E0417",
                      "a target file is an object in JSON%s%s",
                      j ? "" : ", and this is none: ", j ? "" : wrong.text);
    }
    json_object_foreach(j, name, value) ok =
        read_member(ctx, a, source, name, value, t) && ok;
    json_decref(j);
    return ok ? t : NULL;
}
