/*
 * Memory spaces of a target, and the classes of buffers that may be placed in
 * them.
 */

#include "ir/target.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ALIGN ((int64_t)1 << 30)

const char *const glow_buffer_classes[] = {"constants", "placeholders",
                                           "activations", "scratch", NULL};

static bool
is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Forbidden ranges. */

static int
by_begin(const void *x, const void *y)
{
    const glow_place_range *a = x, *b = y;

    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Reads [begin, end] within space `s`. */
static bool
read_range(const target_reader *r, const json_t *pair, const glow_space *s,
           glow_place_range *out)
{
    const json_t *begin = json_array_get(pair, 0);
    const json_t *end = json_array_get(pair, 1);

    if (!json_is_array(pair) || json_array_size(pair) != 2 ||
        !json_is_integer(begin) || !json_is_integer(end))
        return glow_target_wrong(
            r, "write [begin, end], the first byte and the one behind the last",
            "space '%s': a forbidden range is two integers", s->name);
    out->begin = json_integer_value(begin);
    out->end = json_integer_value(end);
    if (out->begin < 0 || out->end <= out->begin)
        return glow_target_wrong(
            r, NULL,
            "space '%s': the forbidden range [%" PRId64 ", %" PRId64 "] %s",
            s->name, out->begin, out->end,
            out->begin < 0 ? "begins below 0"
                           : "ends where it begins or below");
    if (out->end > s->place.capacity)
        return glow_target_wrong(r, NULL,
                                 "space '%s': the forbidden range [%" PRId64
                                 ", %" PRId64 "] ends past its size %" PRId64,
                                 s->name, out->begin, out->end,
                                 s->place.capacity);
    return true;
}

static bool
read_forbidden(target_reader *r, const json_t *list, glow_space *s)
{
    size_t count = json_array_size(list);
    glow_place_range *ranges;

    r->member = "forbidden";
    if (!list)
        return true;
    if (!json_is_array(list))
        return glow_target_wrong(
            r, NULL, "space '%s': 'forbidden' is a list of ranges", s->name);
    ranges = GLOW_NEW_ARRAY(r->arena, glow_place_range, count);
    for (size_t i = 0; i < count; i++)
        if (!read_range(r, json_array_get(list, i), s, &ranges[i]))
            return false;
    if (count)
        glow_sort(ranges, count, sizeof *ranges, by_begin);
    for (size_t i = 1; i < count; i++)
        if (ranges[i].begin < ranges[i - 1].end)
            return glow_target_wrong(
                r, NULL,
                "space '%s': the forbidden ranges [%" PRId64 ", %" PRId64
                "] and [%" PRId64 ", %" PRId64 "] overlap",
                s->name, ranges[i - 1].begin, ranges[i - 1].end,
                ranges[i].begin, ranges[i].end);
    s->place.forbidden = ranges;
    s->place.n_forbidden = count;
    return true;
}

/* Spaces. */

/* Checks the align, the element and the banks, which divide one another. */
static bool
check_steps(target_reader *r, glow_space *s)
{
    const struct {
        const char *name;
        int64_t value;
    } steps[] = {{"align", s->align}, {"element", s->element}};

    for (int i = 0; i < 2; i++) {
        r->member = steps[i].name;
        if (steps[i].value &&
            (!is_power_of_two(steps[i].value) || steps[i].value > MOST_ALIGN))
            return glow_target_wrong(
                r, NULL,
                "space '%s': '%s' is %" PRId64
                ", but must be a power of two, at most 2^30",
                s->name, steps[i].name, steps[i].value);
    }
    if (s->align < s->element)
        s->align = s->element;
    r->member = "bank";
    if (s->align && s->place.bank % s->align != 0 &&
        s->align % s->place.bank != 0)
        return glow_target_wrong(r, NULL,
                                 "space '%s': its banks of %" PRId64
                                 " bytes and 'align' %" PRId64
                                 " do not divide one another",
                                 s->name, s->place.bank, s->align);
    return true;
}

static bool
read_space(target_reader *r, const json_t *space, void *out)
{
    static const target_field fields[] = {
        {"name", TARGET_NAME, offsetof(glow_space, name), true},
        {"size", TARGET_SIZE, offsetof(glow_space, place.capacity), false},
        {"align", TARGET_SIZE, offsetof(glow_space, align), false},
        {"bank", TARGET_SIZE, offsetof(glow_space, place.bank), false},
        {"forbidden", TARGET_OTHER, 0, false},
        {"element", TARGET_SIZE, offsetof(glow_space, element), false},
        {"read_bytes_per_cycle", TARGET_RATE,
         offsetof(glow_space, read_bytes_per_cycle), false},
        {"write_bytes_per_cycle", TARGET_RATE,
         offsetof(glow_space, write_bytes_per_cycle), false},
        {"host", TARGET_FLAG, offsetof(glow_space, is_host), false},
        {0}};
    const json_t *name = json_object_get(space, "name");
    glow_space *s = out;

    if (!json_is_string(name) || json_string_length(name) == 0)
        return glow_target_wrong(r, NULL,
                                 "each of 'spaces' is an object with a 'name'");
    s->place.capacity = INT64_MAX;
    if (!glow_target_object(
            r, space,
            glow_arena_printf(r->arena, "space '%s'", json_string_value(name)),
            fields, s) ||
        !check_steps(r, s) ||
        !read_forbidden(r, json_object_get(space, "forbidden"), s))
        return false;
    r->member = "name";
    for (size_t i = 1; i <= r->index; i++)
        if (strcmp((s - i)->name, s->name) == 0)
            return glow_target_wrong(r, NULL, "two spaces are called '%s'",
                                     s->name);
    return true;
}

bool
glow_target_spaces(target_reader *r, const json_t *list)
{
    void *spaces = NULL;
    bool ok = glow_target_list(r, list, "spaces", sizeof(glow_space),
                               read_space, &spaces, &r->target->n_spaces);

    r->target->spaces = spaces;
    return ok;
}

/* Classes. */

static bool
read_home(const target_reader *r, const json_t *name, const char *class,
          size_t *at, size_t before)
{
    const char *text = json_string_value(name);
    size_t i;

    if (!text)
        return glow_target_wrong(r, NULL,
                                 "'%s' of a target is a list of the names of "
                                 "spaces",
                                 class);
    if (!glow_target_named(r, TARGET_SPACE, text, &i))
        return false;
    for (size_t k = 0; k < before; k++)
        if (at[k] == i)
            return glow_target_wrong(r, NULL, "'%s' names the space '%s' twice",
                                     class, text);
    at[before] = i;
    return true;
}

static bool
read_homes(const target_reader *r, const json_t *list, const char *class,
           glow_homes *out)
{
    const glow_target *t = r->target;
    size_t count = list ? json_array_size(list) : t->n_spaces;
    size_t *at = GLOW_NEW_ARRAY(r->arena, size_t, count);

    if (list && (!json_is_array(list) || count == 0))
        return glow_target_wrong(r, NULL,
                                 "'%s' of a target is a list of the names of "
                                 "spaces",
                                 class);
    for (size_t i = 0; i < count; i++) {
        if (!list)
            at[i] = i;
        else if (!read_home(r, json_array_get(list, i), class, at, i))
            return false;
    }
    *out = (glow_homes){at, count};
    return true;
}

bool
glow_target_homes(target_reader *r, const json_t *all)
{
    glow_target *t = r->target;

    for (int k = 0; k < GLOW_BUFFER_CLASSES; k++) {
        const char *class = glow_buffer_classes[k];
        const json_t *list = json_object_get(all, class);

        r->list = class;
        r->index = SIZE_MAX;
        r->member = NULL;
        if (list && t->n_spaces == 0)
            return glow_target_wrong(r, "list them as 'spaces'",
                                     "'%s' names spaces, but the target has "
                                     "none",
                                     class);
        if (k == GLOW_SCRATCH && !list)
            t->homes[k] = t->homes[GLOW_ACTIVATIONS];
        else if (!read_homes(r, list, class, &t->homes[k]))
            return false;
    }
    return true;
}
