/*
 * Memory spaces of a target, and the classes of buffers that may be placed in
 * them.
 */

#include "ir/target.h"

#include <inttypes.h>
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
read_forbidden(const target_reader *r, const json_t *list, glow_space *s)
{
    size_t count = json_array_size(list);
    glow_place_range *ranges;

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

/* Reads an integer above 0, if the member is present. */
static bool
read_size(const target_reader *r, const json_t *space, const char *member,
          const char *name, int64_t *out)
{
    const json_t *v = json_object_get(space, member);

    if (!v)
        return true;
    if (json_is_integer(v) && json_integer_value(v) > 0) {
        *out = json_integer_value(v);
        return true;
    }
    return glow_target_wrong(
        r, NULL, "space '%s': '%s' must be an integer above 0", name, member);
}

static bool
check_members(const target_reader *r, const json_t *space, const char *name)
{
    static const char *const members[] = {"name", "size", "align", "bank",
                                          "forbidden"};
    const size_t count = sizeof members / sizeof members[0];
    const char *member;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)space, member, value)
    {
        size_t i = 0;

        while (i < count && strcmp(members[i], member) != 0)
            i++;
        if (i == count)
            return glow_target_wrong(
                r, "there are: name, size, align, bank, forbidden",
                "space '%s' has no '%s'", name, member);
    }
    return true;
}

static bool
check_steps(const target_reader *r, const glow_space *s)
{
    if (s->align && (!is_power_of_two(s->align) || s->align > MOST_ALIGN))
        return glow_target_wrong(r, NULL,
                                 "space '%s': 'align' is %" PRId64
                                 ", but must be a power of two, at most 2^30",
                                 s->name, s->align);
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
read_space(const target_reader *r, const json_t *space, glow_space *s)
{
    const json_t *name = json_object_get(space, "name");

    if (!json_is_string(name) || json_string_length(name) == 0)
        return glow_target_wrong(r, NULL,
                                 "each of 'spaces' is an object with a 'name'");
    *s = (glow_space){
        .name = glow_arena_strdup(r->arena, json_string_value(name)),
        .place.capacity = INT64_MAX,
    };
    return check_members(r, space, s->name) &&
           read_size(r, space, "size", s->name, &s->place.capacity) &&
           read_size(r, space, "align", s->name, &s->align) &&
           read_size(r, space, "bank", s->name, &s->place.bank) &&
           check_steps(r, s) &&
           read_forbidden(r, json_object_get(space, "forbidden"), s);
}

bool
glow_target_spaces(const target_reader *r, const json_t *list, glow_target *t)
{
    size_t count = json_array_size(list);
    glow_space *spaces = GLOW_NEW_ARRAY(r->arena, glow_space, count);

    if (!json_is_array(list) || count == 0)
        return glow_target_wrong(r, NULL,
                                 "'spaces' of a target is a list of one or "
                                 "more");
    for (size_t i = 0; i < count; i++) {
        if (!read_space(r, json_array_get(list, i), &spaces[i]))
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(spaces[k].name, spaces[i].name) == 0)
                return glow_target_wrong(r, NULL, "two spaces are called '%s'",
                                         spaces[i].name);
    }
    t->spaces = spaces;
    t->n_spaces = count;
    return true;
}

/* Classes. */

static bool
unknown_space(const target_reader *r, const glow_target *t, const char *class,
              const char *name)
{
    const char **names = GLOW_NEW_ARRAY(r->arena, const char *, t->n_spaces);
    const char *near;

    for (size_t i = 0; i < t->n_spaces; i++)
        names[i] = t->spaces[i].name;
    near = glow_did_you_mean(name, names, t->n_spaces);
    return glow_target_wrong(
        r,
        near ? glow_arena_printf(r->arena, "did you mean '%s'?", near) : NULL,
        "'%s' names the space '%s', which is not in 'spaces'", class, name);
}

static bool
read_home(const target_reader *r, const json_t *name, const char *class,
          const glow_target *t, size_t *at, size_t before)
{
    const char *text = json_string_value(name);
    size_t i = 0;

    if (!text)
        return glow_target_wrong(r, NULL,
                                 "'%s' of a target is a list of the names of "
                                 "spaces",
                                 class);
    while (i < t->n_spaces && strcmp(t->spaces[i].name, text) != 0)
        i++;
    if (i == t->n_spaces)
        return unknown_space(r, t, class, text);
    for (size_t k = 0; k < before; k++)
        if (at[k] == i)
            return glow_target_wrong(r, NULL, "'%s' names the space '%s' twice",
                                     class, text);
    at[before] = i;
    return true;
}

static bool
read_homes(const target_reader *r, const json_t *list, const char *class,
           const glow_target *t, glow_homes *out)
{
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
        else if (!read_home(r, json_array_get(list, i), class, t, at, i))
            return false;
    }
    *out = (glow_homes){at, count};
    return true;
}

bool
glow_target_homes(const target_reader *r, const json_t *all, glow_target *t)
{
    for (int k = 0; k < GLOW_BUFFER_CLASSES; k++) {
        const char *class = glow_buffer_classes[k];
        const json_t *list = json_object_get(all, class);

        if (list && t->n_spaces == 0)
            return glow_target_wrong(r, "list them as 'spaces'",
                                     "'%s' names spaces, but the target has "
                                     "none",
                                     class);
        if (k == GLOW_SCRATCH && !list)
            t->homes[k] = t->homes[GLOW_ACTIVATIONS];
        else if (!read_homes(r, list, class, t, &t->homes[k]))
            return false;
    }
    return true;
}
