/* The `ranges` section: observed ranges of values. */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "glow/profile.h"
#include "ir/text/resolve.h"

static const char *
suggest_func(text_resolver *r, const char *wrong)
{
    const char *names[64];
    size_t n = 0;

    for (const text_item *i = r->p->file.items.first; i && n < 64; i = i->next)
        if (i->kind == TEXT_FUNCTION)
            names[n++] = i->name.text;
    return glow_text_suggest(r->p, wrong, names, n);
}

/* The value of function `t->symbol` that `t` names; NULL after a report. */
static glow_value *
result_of(text_resolver *r, const text_range *t)
{
    text_item *i = glow_map_get(r->funcs, t->symbol.text);
    text_scope s = {.r = r, .f = i ? i->func : NULL, .item = i};
    glow_value *v = NULL;

    if (!i)
        glow_text_error_hint(r->p, t->symbol.span, "E0110",
                             suggest_func(r, t->symbol.text),
                             "no function is called @%s", t->symbol.text);
    if (!s.f)
        return NULL;
    if (s.f->is_program)
        glow_text_error(r->p, t->symbol.span, "E0141",
                        "@%s is a program, but only storage and values of "
                        "functions have ranges",
                        t->symbol.text);
    else if (glow_text_resolve_ref(&s, t->value, &v))
        return v;
    return NULL;
}

static glow_value *
value_of(text_resolver *r, const text_range *t)
{
    text_item *i = glow_map_get(r->storage, t->symbol.text);

    if (t->value)
        return result_of(r, t);
    if (!i && !glow_map_get(r->p->symbols, t->symbol.text))
        glow_text_error_hint(r->p, t->symbol.span, "E0110",
                             glow_text_suggest_storage(r, t->symbol.text),
                             "no placeholder or constant is called @%s",
                             t->symbol.text);
    return i && i->made ? &i->made->value : NULL;
}

/* The finite number that `v` states; false after a report. */
static bool
number(text_resolver *r, const text_value *v, float *out)
{
    if (v->kind != GLOW_V_INT && v->kind != GLOW_V_FLOAT) {
        glow_text_error(r->p, v->span, "E0141", "a range has numbers");
        return false;
    }
    if (!glow_text_float(r->p, v->number, out))
        return false;
    if (isfinite(*out))
        return true;
    glow_text_error(r->p, v->span, "E0141",
                    "the numbers of a range are finite, but this is %s",
                    v->number.text);
    return false;
}

/* `count` numbers; NULL after a report. */
static float *
numbers(text_resolver *r, const text_values *list, text_span at, int64_t count,
        const char *what)
{
    float *out = GLOW_NEW_ARRAY(r->p->arena, float, list->count + 1);
    size_t n = 0;

    if ((int64_t)list->count != count) {
        glow_text_error(r->p, at, "E0141",
                        "%s are %" PRId64 " numbers, but %zu stand here", what,
                        count, list->count);
        return NULL;
    }
    for (const text_value *v = list->first; v; v = v->next)
        if (!number(r, v, &out[n++]))
            return NULL;
    return out;
}

static bool
are_ordered(text_resolver *r, text_span at, float min, float max)
{
    glow_buf b = {.arena = r->p->arena};

    if (min <= max)
        return true;
    glow_buf_puts(&b, "the minimum ");
    glow_buf_float(&b, min);
    glow_buf_puts(&b, " is above the maximum ");
    glow_buf_float(&b, max);
    glow_text_error(r->p, at, "E0141", "%s", b.text);
    return false;
}

static bool
is_within(text_resolver *r, text_span at, float mean, float min, float max)
{
    glow_buf b = {.arena = r->p->arena};

    if (mean >= min && mean <= max)
        return true;
    glow_buf_puts(&b, "the mean ");
    glow_buf_float(&b, mean);
    glow_buf_puts(&b, " is not within ");
    glow_buf_float(&b, min);
    glow_buf_puts(&b, " to ");
    glow_buf_float(&b, max);
    glow_text_error(r->p, at, "E0141", "%s", b.text);
    return false;
}

/* The axis that `per(AXIS)` states; -1 after a report. */
static int
axis_of(text_resolver *r, const text_call *c, const glow_type *type)
{
    const text_arg *a = c->args.first;
    int64_t axis;

    if (strcmp(c->word.text, "per") != 0 || c->args.count != 1 ||
        a->kind != TEXT_ARG_VALUE || a->value->kind != GLOW_V_INT) {
        glow_text_error(r->p, c->span, "E0141",
                        "write per(AXIS) {min: [...], max: [...], mean: [...]} "
                        "behind a range, or nothing");
        return -1;
    }
    if (!glow_text_size(r->p, a->value->number, &axis))
        return -1;
    if (axis >= type->shape.rank) {
        glow_text_error(r->p, a->value->span, "E0141",
                        "axis %" PRId64 " of a value of rank %d", axis,
                        type->shape.rank);
        return -1;
    }
    return (int)axis;
}

/* The list `name` of the lists of `t`; NULL after a report. */
static const float *
list_of(text_resolver *r, const text_range *t, const char *name, int64_t count)
{
    const text_attr *found = NULL;

    for (const text_attr *a = t->lists; a; a = a->next)
        if (strcmp(a->name.text, name) == 0) {
            if (found) {
                glow_text_error(r->p, a->name.span, "E0109",
                                "the list `%s` is given twice", name);
                return NULL;
            }
            found = a;
        }
    if (!found || found->value->kind != GLOW_V_LIST) {
        glow_text_error(r->p, found ? found->value->span : t->per->span,
                        "E0141", "the list `%s` of the channels is missing",
                        name);
        return NULL;
    }
    return numbers(r, &found->value->items, found->value->span, count,
                   glow_arena_printf(r->p->arena,
                                     "the `%s` of an axis of %" PRId64
                                     " channels",
                                     name, count));
}

static bool
check_names(text_resolver *r, const text_range *t)
{
    static const char *const names[] = {"min", "max", "mean"};

    for (const text_attr *a = t->lists; a; a = a->next) {
        bool known = false;

        for (int i = 0; i < 3; i++)
            known |= strcmp(a->name.text, names[i]) == 0;
        if (!known) {
            glow_text_error_hint(
                r->p, a->name.span, "E0141",
                glow_text_suggest(r->p, a->name.text, names, 3),
                "the lists of channels are min, max and mean, not `%s`",
                a->name.text);
            return false;
        }
    }
    return true;
}

static bool
channels_of(text_resolver *r, const text_range *t, const glow_type *type,
            glow_value_range *out)
{
    out->axis = axis_of(r, t->per, type);
    if (out->axis < 0 || !check_names(r, t))
        return false;
    out->channels = type->shape.at[out->axis];
    out->channel_min = list_of(r, t, "min", out->channels);
    out->channel_max = list_of(r, t, "max", out->channels);
    out->channel_mean = list_of(r, t, "mean", out->channels);
    if (!out->channel_min || !out->channel_max || !out->channel_mean)
        return false;
    for (int64_t i = 0; i < out->channels; i++)
        if (!are_ordered(r, t->per->span, out->channel_min[i],
                         out->channel_max[i]) ||
            !is_within(r, t->per->span, out->channel_mean[i],
                       out->channel_min[i], out->channel_max[i]))
            return false;
    return true;
}

static void
resolve_range(text_resolver *r, const text_range *t)
{
    glow_value *v = value_of(r, t);
    glow_value_range range = {.axis = -1};
    const float *ends = numbers(r, &t->ends, t->span, 2, "the ends of a range");

    if (!v || !ends || !are_ordered(r, t->span, ends[0], ends[1]))
        return;
    range.min = ends[0];
    range.max = ends[1];
    if (t->per && !channels_of(r, t, v->type, &range))
        return;
    if (glow_get_value_range(v))
        glow_text_error(r->p, t->symbol.span, "E0109",
                        "the range of this is given twice");
    else
        glow_set_value_range(v, &range);
}

void
glow_text_resolve_ranges(text_resolver *r, text_item *i)
{
    for (const text_range *t = i->ranges.first; t; t = t->next)
        resolve_range(r, t);
}
