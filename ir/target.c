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

bool
glow_target_wrong(const target_reader *r, const char *hint, const char *fmt,
                  ...)
{
    va_list ap;
    const char *text;

    va_start(ap, fmt);
    text = glow_arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    return glow_error_hint(r->ctx, glow_target_locate(r), "E0417", hint, "%s",
                           text);
}

static const target_field fields[] = {
    {"name", TARGET_NAME, offsetof(glow_target, name), false},
    {"bytes_per_second", TARGET_RATE, offsetof(glow_target, bytes_per_second),
     false},
    {"flops_per_second", TARGET_RATE, offsetof(glow_target, flops_per_second),
     false},
    {"seconds_per_node", TARGET_RATE, offsetof(glow_target, seconds_per_node),
     false},
    {"clock_hz", TARGET_RATE, offsetof(glow_target, clock_hz), false},
    {"spaces", TARGET_OTHER, 0, false},
    {"constants", TARGET_OTHER, 0, false},
    {"placeholders", TARGET_OTHER, 0, false},
    {"activations", TARGET_OTHER, 0, false},
    {"scratch", TARGET_OTHER, 0, false},
    {"queues", TARGET_OTHER, 0, false},
    {"links", TARGET_OTHER, 0, false},
    {"tokens", TARGET_OTHER, 0, false},
    {"units", TARGET_OTHER, 0, false},
    {0}};

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
    target_reader r = {ctx, a, source, t, NULL, SIZE_MAX, NULL};
    bool ok = json_is_object(j);

    *t = glow_target_default;
    if (!ok)
        refuse_text(&r, j, &wrong);
    ok = ok && glow_target_object(&r, j, "a target", fields, t) &&
         glow_target_spaces(&r, json_object_get(j, "spaces")) &&
         glow_target_homes(&r, j) && glow_target_engines(&r, j);
    json_decref(j);
    return ok ? t : NULL;
}
