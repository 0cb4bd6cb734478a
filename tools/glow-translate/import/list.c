/*
 * Sequences and optionals.
 *
 * Both are resolved at import: the number of elements is known, so a sequence
 * is a list of values, and an optional a list of none or one.  The graph
 * contains neither.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/list.h"
#include "tools/glow-translate/import/state.h"

const char *
import_list_noun(const import_list *l)
{
    return l->is_optional ? "an optional" : "a sequence";
}

import_item
import_item_in(const import_node *n, int i)
{
    import_item item = {0};

    if (i < n->n_in)
        item = (import_item){n->in[i], n->in_list[i]};
    return item;
}

bool
import_is_given(import_item item)
{
    return item.value || item.list;
}

bool
import_items(import_node *n, int least, int most)
{
    if (n->n_in < least || n->n_in > most)
        return import_refuse(n, "E0711", "%d operands, but %d to %d are due",
                             n->n_in, least, most);
    for (int i = 0; i < least; i++)
        if (!import_is_given(import_item_in(n, i)))
            return import_refuse(n, "E0711", "operand %d is missing", i);
    return !n->failed;
}

const import_list *
import_sequence_in(import_node *n, int i)
{
    import_item item = import_item_in(n, i);

    if (item.list && !item.list->is_optional)
        return item.list;
    import_refuse(n, "E0711", "operand %d must be a sequence, and is %s", i,
                  item.list    ? "an optional"
                  : item.value ? "a tensor"
                               : "missing");
    return NULL;
}

glow_value *
import_tensor_in(import_node *n, int i)
{
    import_item item = import_item_in(n, i);

    if (item.list)
        import_refuse(n, "E0711", "operand %d must be a tensor, and is %s", i,
                      import_list_noun(item.list));
    return item.value;
}

/* The common element kind of a sequence's tensors; GLOW_NO_KIND: unknown. */
static glow_kind
kind_of(const import_list *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->items[i].value)
            return l->items[i].value->type->elem;
    return l->kind;
}

import_list *
import_new_list(import_node *n, bool is_optional, glow_kind kind, int count)
{
    import_list *l = GLOW_NEW(import_arena(n), import_list);

    l->is_optional = is_optional;
    l->kind = kind;
    l->count = count;
    l->items = GLOW_NEW_ARRAY(import_arena(n), import_item, count);
    return l;
}

/* A sequence like `l` with another number of elements, none of them set. */
static import_list *
new_like(import_node *n, const import_list *l, int count)
{
    return import_new_list(n, false, kind_of(l), count);
}

bool
import_item_done(import_node *n, int i, import_item item)
{
    if (i < n->n_out) {
        n->out[i] = item.value;
        n->out_list[i] = item.list;
    }
    return import_is_given(item) && !n->failed;
}

static bool
list_done(import_node *n, const import_list *l)
{
    return import_item_done(n, 0, (import_item){.list = l});
}

/* Construction of sequences. */

static bool
sequence_empty(import_node *n)
{
    int64_t type = import_int(n, "dtype", 1, 0, INT32_MAX);
    const tensor_elem *e = tensor_elem_of(type);

    if (!import_items(n, 0, 0))
        return false;
    if (!e || !e->kind)
        return import_refuse(n, "E0705",
                             "element type %" PRId64 "%s%s is not supported",
                             type, e ? ", " : "", e ? e->name : "");
    return list_done(n, import_new_list(n, false, e->kind, 0));
}

/* E0711 unless `item` can be in a sequence of `kind`. */
static bool
fits(import_node *n, glow_kind kind, import_item item)
{
    glow_kind own = item.value ? item.value->type->elem : GLOW_NO_KIND;

    if (!kind || !own || own == kind)
        return true;
    return import_refuse(n, "E0711", "a tensor of %s in a sequence of %s",
                         glow_kind_get(own)->name, glow_kind_get(kind)->name);
}

static bool
sequence_construct(import_node *n)
{
    import_list *l;

    if (!import_items(n, 1, INT32_MAX))
        return false;
    l = import_new_list(n, false, GLOW_NO_KIND, n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        l->items[i] = import_item_in(n, i);
        if (!import_is_given(l->items[i]))
            return import_refuse(n, "E0711", "operand %d is missing", i);
        if (!fits(n, kind_of(l), l->items[i]))
            return false;
    }
    return list_done(n, l);
}

/* The position in operand i, below `count`; `otherwise` if omitted. */
static int
position(import_node *n, int i, int count, int otherwise)
{
    int64_t at;

    if (!import_tensor_in(n, i))
        return otherwise;

    glow_ints l = import_known_ints(n, i);

    if (n->failed)
        return 0;
    at = l.count == 1 ? l.at[0] : INT64_MIN;
    if (at < -count || at >= count + (otherwise == count)) {
        import_refuse(n, "E0711",
                      "position %" PRId64 " is not one in %d elements", at,
                      count);
        return 0;
    }
    return (int)(at < 0 ? at + count : at);
}

static bool
sequence_insert(import_node *n)
{
    if (!import_items(n, 2, 3))
        return false;

    const import_list *from = import_sequence_in(n, 0);
    import_item item = import_item_in(n, 1);
    int at = from ? position(n, 2, from->count, from->count) : 0;

    if (n->failed || !fits(n, kind_of(from), item))
        return false;

    import_list *l = new_like(n, from, from->count + 1);

    for (int i = 0; i < l->count; i++)
        l->items[i] = i == at ? item : from->items[i - (i > at)];
    return list_done(n, l);
}

static bool
sequence_erase(import_node *n)
{
    if (!import_items(n, 1, 2))
        return false;

    const import_list *from = import_sequence_in(n, 0);
    int at = from ? position(n, 1, from->count, from->count - 1) : 0;

    if (n->failed)
        return false;
    if (from->count == 0)
        return import_refuse(n, "E0711", "the sequence is empty");

    import_list *l = new_like(n, from, from->count - 1);

    for (int i = 0; i < l->count; i++)
        l->items[i] = from->items[i + (i >= at)];
    return list_done(n, l);
}

/* Queries. */

static bool
sequence_at(import_node *n)
{
    if (!import_items(n, 2, 2))
        return false;

    const import_list *from = import_sequence_in(n, 0);
    int at = from ? position(n, 1, from->count, -1) : 0;

    return !n->failed && import_item_done(n, 0, from->items[at]);
}

static bool
sequence_length(import_node *n)
{
    const import_list *from =
        import_items(n, 1, 1) ? import_sequence_in(n, 0) : NULL;
    int64_t count = from ? from->count : 0;

    return from &&
           import_done(n, import_constant_ints(n, (glow_dims){0}, &count));
}

/* Tensors to sequences and back. */

/* The sizes of the parts of an axis of size `whole`. */
static glow_ints
part_sizes(import_node *n, int64_t whole)
{
    glow_ints given = {0};
    int64_t each = 1, *sizes;

    if (import_tensor_in(n, 1)) {
        given = import_known_ints(n, 1);
        if (n->failed || n->in[1]->type->shape.rank > 0)
            return given;
        each = given.at[0];
    }
    if (each < 1 || whole / each > INT16_MAX) {
        import_refuse(n, "E0711",
                      "%" PRId64 " cannot be split into parts of %" PRId64,
                      whole, each);
        return given;
    }
    given.count = (whole + each - 1) / each;
    sizes = GLOW_NEW_ARRAY(import_arena(n), int64_t, given.count);
    for (int64_t i = 0; i < given.count; i++)
        sizes[i] = i + 1 < given.count ? each : whole - i * each;
    given.at = sizes;
    return given;
}

/* `x` without an axis of size 1. */
static glow_value *
drop_axis(import_node *n, glow_value *x, int axis)
{
    glow_dims to = x ? x->type->shape : (glow_dims){0};

    for (int i = axis; i + 1 < to.rank; i++)
        to.at[i] = to.at[i + 1];
    to.rank--;
    return x ? import_reshape(n, x, to) : NULL;
}

static bool
split_to_sequence(import_node *n)
{
    bool keeps = import_flag(n, "keepdims", true);

    if (!import_items(n, 1, 2) || !import_tensor_in(n, 0))
        return false;

    glow_value *x = import_in(n, 0);
    int axis = import_axis_attr(n, 0, x->type->shape.rank);
    int64_t whole = n->failed ? 0 : x->type->shape.at[axis], at = 0;
    glow_ints sizes = n->failed ? (glow_ints){0} : part_sizes(n, whole);
    import_list *l;

    if (n->failed)
        return false;
    l = import_new_list(n, false, x->type->elem, (int)sizes.count);
    for (int i = 0; i < l->count; i++) {
        if (sizes.at[i] < 0 || sizes.at[i] > whole - at)
            return import_refuse(n, "E0711",
                                 "part %d is %" PRId64 " long, but %" PRId64
                                 " are left",
                                 i, sizes.at[i], whole - at);
        l->items[i].value = import_cut(n, x, axis, at, sizes.at[i]);
        if (!keeps && n->n_in < 2)
            l->items[i].value = drop_axis(n, l->items[i].value, axis);
        at += sizes.at[i];
    }
    if (at != whole)
        return import_refuse(n, "E0711",
                             "the parts are %" PRId64
                             " long together, the axis %" PRId64,
                             at, whole);
    return list_done(n, l);
}

/* `x` with an axis of size 1 more. */
static glow_value *
add_axis(import_node *n, glow_value *x, int axis)
{
    glow_dims to = x->type->shape;

    if (to.rank == GLOW_MAX_RANK) {
        import_refuse(n, "E0711", "the rank would be over %d", GLOW_MAX_RANK);
        return x;
    }
    for (int i = to.rank++; i > axis; i--)
        to.at[i] = to.at[i - 1];
    to.at[axis] = 1;
    return import_reshape(n, x, to);
}

glow_value *
import_join(import_node *n, glow_value *const *parts, int count, int axis,
            bool adds)
{
    glow_value **in = GLOW_NEW_ARRAY(import_arena(n), glow_value *, count);

    for (int i = 0; i < count && !n->failed; i++)
        in[i] = adds ? add_axis(n, parts[i], axis) : parts[i];
    if (n->failed || count == 1)
        return in[0];
    return import_build(n, &glow_op_concat, NULL, in, count,
                        &(const glow_concat){.dim = axis});
}

static bool
concat_from_sequence(import_node *n)
{
    bool adds = import_flag(n, "new_axis", false);
    const import_list *from =
        import_items(n, 1, 1) ? import_sequence_in(n, 0) : NULL;
    glow_value **parts;
    int axis;

    if (!from)
        return false;
    if (from->count == 0 || !from->items[0].value)
        return import_refuse(n, "E0711", "the sequence has no tensor");
    if (!import_has(n, "axis"))
        return import_refuse(n, "E0710", "axis is missing");
    axis =
        import_axis_attr(n, 0, from->items[0].value->type->shape.rank + adds);
    parts = GLOW_NEW_ARRAY(import_arena(n), glow_value *, from->count);
    for (int i = 0; i < from->count; i++) {
        parts[i] = from->items[i].value;
        if (!parts[i])
            return import_refuse(n, "E0711", "element %d is no tensor", i);
    }
    return import_done(n, import_join(n, parts, from->count, axis, adds));
}

/* Optionals. */

static bool
optional(import_node *n)
{
    bool given = n->n_in > 0;

    if (!import_items(n, 0, 1))
        return false;
    if (!given && !import_has(n, "type"))
        return import_refuse(n, "E0710", "an empty optional needs its type");
    import_ignore(n, "type");

    import_list *l = import_new_list(n, true, GLOW_NO_KIND, given);

    if (given)
        l->items[0] = import_item_in(n, 0);
    return list_done(n, l);
}

/* True if an optional has a value; other items count as having one. */
static bool
holds_element(import_item item)
{
    if (item.list && item.list->is_optional)
        return item.list->count > 0;
    return import_is_given(item);
}

static bool
optional_has_element(import_node *n)
{
    glow_tensor t;

    if (!import_items(n, n->opset < 18, 1))
        return false;
    t = glow_tensor_new(import_type(n, GLOW_BOOL, (glow_dims){0}));
    glow_set_int(&t, 0, holds_element(import_item_in(n, 0)));
    return import_done(n, import_constant_of(n, &t));
}

static bool
optional_get_element(import_node *n)
{
    if (!import_items(n, 1, 1))
        return false;

    import_item item = import_item_in(n, 0);

    if (!holds_element(item))
        return import_refuse(n, "E0711", "the optional is empty");
    if (item.list && item.list->is_optional)
        item = item.list->items[0];
    return import_item_done(n, 0, item);
}

/* The result is the operand, a tensor or a list. */
static bool
identity(import_node *n)
{
    return import_items(n, 1, 1) &&
           import_item_done(n, 0, import_item_in(n, 0));
}

const import_row import_list_rows[] = {
    {"ConcatFromSequence", 11, 0, concat_from_sequence, &glow_op_concat,
     "any; resolved at import"},
    {"Identity", 1, 0, identity, NULL, "any; nothing is left of it"},
    {"Optional", 15, 0, optional, NULL, "any; resolved at import"},
    {"OptionalGetElement", 15, 0, optional_get_element, NULL,
     "any; resolved at import"},
    {"OptionalHasElement", 15, 0, optional_has_element, NULL,
     "any; resolved at import"},
    {"SequenceAt", 11, 0, sequence_at, NULL,
     "any; the position must be known; resolved at import"},
    {"SequenceConstruct", 11, 0, sequence_construct, NULL,
     "any; resolved at import"},
    {"SequenceEmpty", 11, 0, sequence_empty, NULL, "any; resolved at import"},
    {"SequenceErase", 11, 0, sequence_erase, NULL,
     "any; the position must be known; resolved at import"},
    {"SequenceInsert", 11, 0, sequence_insert, NULL,
     "any; the position must be known; resolved at import"},
    {"SequenceLength", 11, 0, sequence_length, NULL, "any; a constant"},
    {"SequenceMap", 17, 0, import_sequence_map, NULL,
     "any; the body is built once for each element"},
    {"SplitToSequence", 11, 0, split_to_sequence, &glow_op_slice,
     "any; sizes must be known; at most 32767 parts"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
