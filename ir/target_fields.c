/* Members of the objects of a target description, by tables. */

#include <stdint.h>
#include <string.h>

#include "ir/target.h"

static const char *const kind_names[] = {
    [TARGET_SIZE] = "an integer above 0",
    [TARGET_COUNT] = "an integer, 0 or more",
    [TARGET_RATE] = "a number above 0",
    [TARGET_FLAG] = "true or false",
    [TARGET_NAME] = "a string that is not empty",
    [TARGET_SPACE] = "the name of a space",
    [TARGET_QUEUE] = "the name of a queue",
};

static const char *
list_members(const target_reader *r, const target_field *fields)
{
    glow_buf b = {.arena = r->arena};

    glow_buf_puts(&b, "there are: ");
    for (const target_field *f = fields; f->name; f++)
        glow_buf_printf(&b, "%s%s", f == fields ? "" : ", ", f->name);
    return b.text;
}

bool
glow_target_named(const target_reader *r, target_kind kind, const char *name,
                  size_t *out)
{
    const glow_target *t = r->target;
    bool is_space = kind == TARGET_SPACE;
    size_t count = is_space ? t->n_spaces : t->n_queues;
    const char **names = GLOW_NEW_ARRAY(r->arena, const char *, count);
    const char *near;

    for (size_t i = 0; i < count; i++) {
        names[i] = is_space ? t->spaces[i].name : t->queues[i].name;
        if (strcmp(names[i], name) == 0) {
            *out = i;
            return true;
        }
    }
    near = glow_did_you_mean(name, names, count);
    return glow_target_wrong(
        r,
        near ? glow_arena_printf(r->arena, "did you mean '%s'?", near) : NULL,
        "'%s' names the %s '%s', which is not in '%s'",
        r->member ? r->member : r->list, is_space ? "space" : "queue", name,
        is_space ? "spaces" : "queues");
}

/* Writes the value into the member; false if it is of another kind. */
static bool
set_field(const target_reader *r, const target_field *f, const json_t *v,
          void *member)
{
    int64_t least = f->kind == TARGET_SIZE ? 1 : 0;

    switch (f->kind) {
    case TARGET_SIZE:
    case TARGET_COUNT:
        *(int64_t *)member = json_integer_value(v);
        return json_is_integer(v) && json_integer_value(v) >= least;
    case TARGET_RATE:
        *(double *)member = json_number_value(v);
        return json_is_number(v) && json_number_value(v) > 0;
    case TARGET_FLAG:
        *(bool *)member = json_is_true(v);
        return json_is_boolean(v);
    case TARGET_NAME:
        if (!json_is_string(v) || json_string_length(v) == 0)
            return false;
        *(const char **)member =
            glow_arena_strdup(r->arena, json_string_value(v));
        return true;
    case TARGET_SPACE:
    case TARGET_QUEUE:
        return json_is_string(v);
    case TARGET_OTHER:
        break;
    }
    return true;
}

static bool
read_field(const target_reader *r, const char *what, const target_field *f,
           const json_t *v, void *out)
{
    char *member = (char *)out + f->at;

    if (!set_field(r, f, v, member))
        return glow_target_wrong(r, NULL, "%s: '%s' must be %s", what, f->name,
                                 kind_names[f->kind]);
    if (f->kind != TARGET_SPACE && f->kind != TARGET_QUEUE)
        return true;
    return glow_target_named(r, f->kind, json_string_value(v),
                             (size_t *)member);
}

static bool
check_members(target_reader *r, const json_t *object, const char *what,
              const target_field *fields)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const target_field *f = fields;

        while (f->name && strcmp(f->name, name) != 0)
            f++;
        r->member = name;
        if (!f->name)
            return glow_target_wrong(r, list_members(r, fields),
                                     "%s has no '%s'", what, name);
    }
    r->member = NULL;
    return true;
}

bool
glow_target_object(target_reader *r, const json_t *object, const char *what,
                   const target_field *fields, void *out)
{
    bool ok = check_members(r, object, what, fields);

    for (const target_field *f = fields; f->name && ok; f++) {
        const json_t *v = json_object_get(object, f->name);

        r->member = v ? f->name : NULL;
        if (v)
            ok = read_field(r, what, f, v, out);
        else if (f->is_needed)
            ok = glow_target_wrong(r, NULL, "%s has no '%s', which it needs",
                                   what, f->name);
    }
    if (ok)
        r->member = NULL;
    return ok;
}

bool
glow_target_list(target_reader *r, const json_t *list, const char *name,
                 size_t size, target_read_fn read, void **out, size_t *count)
{
    bool ok = true;

    r->list = name;
    r->index = SIZE_MAX;
    r->member = NULL;
    if (!list)
        return true;
    *count = json_array_size(list);
    if (!json_is_array(list) || *count == 0)
        return glow_target_wrong(
            r, NULL, "'%s' of a target is a list of one or more", name);
    *out = glow_arena_alloc(r->arena, *count * size);
    memset(*out, 0, *count * size);
    for (size_t i = 0; i < *count && ok; i++) {
        r->index = i;
        r->member = NULL;
        ok = read(r, json_array_get(list, i), (char *)*out + i * size);
    }
    return ok;
}
