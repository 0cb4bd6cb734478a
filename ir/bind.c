/*
 * Replaces placeholders whose elements are known by constants, which are
 * external in the weights file that has a tensor of their name.
 */

#include <limits.h>
#include <string.h>

#include "glow/eval.h"
#include "glow/ops.h"
#include "glow/text.h"
#include "ir/weights.h"

static bool
is_written(const glow_module *m, const glow_storage *s)
{
    GLOW_FOR_EACH_FUNC(f, m)
        if (glow_func_writes(f, s))
            return true;
    return false;
}

/*
 * `alias`, or `alias`.N with the first N that no weights file of `m` has as its
 * alias.
 */
static const char *
free_alias(const glow_module *m, const char *alias)
{
    const char *name = alias;
    const glow_weights *w = m->weights;

    for (int number = 1; w; number++) {
        for (w = m->weights; w && strcmp(w->alias, name) != 0;)
            w = w->next;
        if (w)
            name = glow_arena_printf(m->arena, "%s.%d", alias, number);
    }
    return name;
}

static bool
bind(glow_storage *s, glow_weights *w)
{
    s->is_constant = true;
    s->payload = GLOW_EXTERNAL;
    s->file = w;
    s->key = s->name;
    s->attrs = (glow_attr_list){0};
    return glow_constant_tensor(s);
}

int
glow_bind_placeholders(glow_module *m, const char *alias, const char *path)
{
    glow_weights *w = glow_weights_declare(m, free_alias(m, alias), path);
    const glow_weights_reader *r;
    int bound = 0, failed = 0;

    w->given = glow_arena_strdup(m->arena, path);
    r = glow_weights_open(m->ctx, w);
    glow_weights_add_file(m, w);
    if (r->bad)
        return -1;
    GLOW_FOR_EACH_STORAGE(s, m) {
        if (s->is_constant || !glow_map_get(r->entries, s->name) ||
            glow_is_formal(s) || is_written(m, s))
            continue;
        if (bind(s, w))
            bound++;
        else
            failed++;
    }
    glow_drop_unused_weights(m);
    return failed > 0 ? -1 : bound;
}

/*
 * True for a mean or a variance that a normalization reads, and for the weights of the
 * classes or elements of a loss: trained ones would be 0.
 */
static bool
is_untrained(const glow_storage *s)
{
    GLOW_FOR_EACH_USE(u, &s->value) {
        const glow_op *op = u->user->op;
        int first = op == &glow_op_batchnormalization             ? 3
                    : op == &glow_op_meanvarnormalization         ? 1
                    : op == &glow_op_negativeloglikelihoodloss    ? 2
                    : op == &glow_op_binarycrossentropywithlogits ? 2
                                                                  : INT_MAX;

        if (u->index >= first)
            return true;
    }
    return false;
}

int
glow_free_constants(glow_module *m, const char *path, glow_storage **chosen,
                    size_t count)
{
    static const glow_attr trained[] = {
        {.name = "State", .value = {.kind = GLOW_V_BOOL, .i = true}},
        {.name = "Trained", .value = {.kind = GLOW_V_BOOL, .i = true}}};

    if (count == 0)
        return 0;
    if (!glow_externalize_chosen(m, free_alias(m, "freed"), path, chosen,
                                 count))
        return -1;
    for (size_t i = 0; i < count; i++) {
        chosen[i]->is_constant = false;
        chosen[i]->payload = GLOW_NO_PAYLOAD;
        chosen[i]->file = NULL;
        chosen[i]->attrs =
            (glow_attr_list){trained, is_untrained(chosen[i]) ? 1 : 2};
    }
    glow_drop_unused_weights(m);
    return (int)count;
}
