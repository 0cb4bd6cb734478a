/* Queues, links, tokens and units of a target: see glow/target.h. */

#include <stddef.h>
#include <string.h>

#include "ir/target.h"

static bool
read_queue(target_reader *r, const json_t *object, void *out)
{
    static const target_field fields[] = {
        {"name", TARGET_NAME, offsetof(glow_queue, name), true},
        {"depth", TARGET_SIZE, offsetof(glow_queue, depth), false},
        {0}};
    const glow_queue *q = out;

    if (!glow_target_object(r, object, "a queue", fields, out))
        return false;
    for (size_t i = 0; i < r->index; i++)
        if (strcmp((q - 1 - i)->name, q->name) == 0)
            return glow_target_wrong(r, NULL, "two queues are called '%s'",
                                     q->name);
    return true;
}

static bool
read_link(target_reader *r, const json_t *object, void *out)
{
    static const target_field fields[] = {
        {"queue", TARGET_QUEUE, offsetof(glow_link, queue), true},
        {"from", TARGET_SPACE, offsetof(glow_link, from), true},
        {"to", TARGET_SPACE, offsetof(glow_link, to), true},
        {"bytes_per_cycle", TARGET_RATE, offsetof(glow_link, bytes_per_cycle),
         true},
        {"setup", TARGET_COUNT, offsetof(glow_link, setup), false},
        {"dims", TARGET_SIZE, offsetof(glow_link, dims), false},
        {"pad", TARGET_FLAG, offsetof(glow_link, pad), false},
        {"port", TARGET_NAME, offsetof(glow_link, port), false},
        {"outstanding", TARGET_SIZE, offsetof(glow_link, outstanding), false},
        {0}};
    glow_link *l = out;

    *l = (glow_link){.dims = 1, .outstanding = 1};
    if (!glow_target_object(r, object, "a link", fields, l))
        return false;
    if (l->from == l->to)
        return glow_target_wrong(r, NULL, "a link leads from '%s' to itself",
                                 r->target->spaces[l->from].name);
    for (size_t i = 1; i <= r->index; i++)
        if (l[-(ptrdiff_t)i].from == l->from && l[-(ptrdiff_t)i].to == l->to)
            return glow_target_wrong(
                r, NULL, "two links lead from '%s' to '%s'",
                r->target->spaces[l->from].name, r->target->spaces[l->to].name);
    return true;
}

static bool
read_token(target_reader *r, const json_t *pair, void *out)
{
    glow_token *t = out;
    const char *from = json_string_value(json_array_get(pair, 0));
    const char *to = json_string_value(json_array_get(pair, 1));

    if (!json_is_array(pair) || json_array_size(pair) != 2 || !from || !to)
        return glow_target_wrong(
            r,
            "write [\"load\", \"compute\"]: the second may wait for the first",
            "each of 'tokens' is the names of two queues");
    return glow_target_named(r, TARGET_QUEUE, from, &t->from) &&
           glow_target_named(r, TARGET_QUEUE, to, &t->to);
}

/* Units. */

/* True if the operator has an operand or result of that name, or is unknown. */
static bool
check_operand(const target_reader *r, const glow_unit *u, const char *name)
{
    const glow_op *op = glow_find_op(r->ctx, u->op);
    const char *names[GLOW_MAX_OPERANDS + GLOW_MAX_RESULTS], *near;
    size_t count = 0;

    for (int i = 0; op && i < glow_op_operands(op); i++)
        names[count++] = op->in[i].name;
    for (int i = 0; op && i < glow_op_results(op); i++)
        names[count++] = op->out[i].name;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    if (!op)
        return true;
    near = glow_did_you_mean(name, names, count);
    return glow_target_wrong(
        r,
        near ? glow_arena_printf(r->arena, "did you mean '%s'?", near) : NULL,
        "the unit of %s: the operator has no operand or result '%s'", u->op,
        name);
}

static bool
read_operands(target_reader *r, const json_t *object, glow_unit *u)
{
    size_t count = json_object_size(object), k = 0;
    glow_unit_operand *operands =
        GLOW_NEW_ARRAY(r->arena, glow_unit_operand, count);
    const char *name;
    json_t *space;

    r->member = "operands";
    if (object && !json_is_object(object))
        return glow_target_wrong(r, "write {\"Input\": \"a space\"}",
                                 "the unit of %s: 'operands' is an object",
                                 u->op);
    json_object_foreach((json_t *)(uintptr_t)object, name, space)
    {
        if (!json_is_string(space))
            return glow_target_wrong(
                r, NULL, "the unit of %s: '%s' must be the name of a space",
                u->op, name);
        if (!check_operand(r, u, name) ||
            !glow_target_named(r, TARGET_SPACE, json_string_value(space),
                               &operands[k].space))
            return false;
        operands[k++].name = glow_arena_strdup(r->arena, name);
    }
    u->operands = operands;
    u->n_operands = count;
    return true;
}

static bool
read_tile(target_reader *r, const json_t *list, glow_unit *u)
{
    size_t count = json_array_size(list);
    int64_t *tile = GLOW_NEW_ARRAY(r->arena, int64_t, count);
    bool ok = !list || (json_is_array(list) && count <= GLOW_MAX_RANK);

    r->member = "tile";
    for (size_t i = 0; i < count && ok; i++) {
        tile[i] = json_integer_value(json_array_get(list, i));
        ok = tile[i] > 0;
    }
    u->tile = tile;
    u->n_tile = count;
    return ok || glow_target_wrong(r, NULL,
                                   "the unit of %s: 'tile' is a list of at "
                                   "most %d integers above 0",
                                   u->op, GLOW_MAX_RANK);
}

static bool
read_unit(target_reader *r, const json_t *object, void *out)
{
    static const target_field fields[] = {
        {"op", TARGET_NAME, offsetof(glow_unit, op), true},
        {"queue", TARGET_QUEUE, offsetof(glow_unit, queue), true},
        {"operands", TARGET_OTHER, 0, false},
        {"tile", TARGET_OTHER, 0, false},
        {"per_cycle", TARGET_RATE, offsetof(glow_unit, per_cycle), true},
        {"setup", TARGET_COUNT, offsetof(glow_unit, setup), false},
        {0}};
    glow_unit *u = out;

    if (!glow_target_object(r, object, "a unit", fields, u) ||
        !read_operands(r, json_object_get(object, "operands"), u) ||
        !read_tile(r, json_object_get(object, "tile"), u))
        return false;
    r->member = NULL;
    for (size_t i = 1; i <= r->index; i++)
        if (strcmp(u[-(ptrdiff_t)i].op, u->op) == 0)
            return glow_target_wrong(r, NULL, "two units do %s", u->op);
    return true;
}

bool
glow_target_engines(target_reader *r, const json_t *all)
{
    glow_target *t = r->target;
    void *queues = NULL, *links = NULL, *tokens = NULL, *units = NULL;
    bool ok;

    ok =
        glow_target_list(r, json_object_get(all, "queues"), "queues",
                         sizeof(glow_queue), read_queue, &queues, &t->n_queues);
    t->queues = queues;
    ok = ok &&
         glow_target_list(r, json_object_get(all, "links"), "links",
                          sizeof(glow_link), read_link, &links, &t->n_links) &&
         glow_target_list(r, json_object_get(all, "tokens"), "tokens",
                          sizeof(glow_token), read_token, &tokens,
                          &t->n_tokens) &&
         glow_target_list(r, json_object_get(all, "units"), "units",
                          sizeof(glow_unit), read_unit, &units, &t->n_units);
    t->links = links;
    t->tokens = tokens;
    t->units = units;
    return ok;
}
