/*
 * Weights of a model that is imported to be trained (-train).
 *
 * Initializers of floats, but for single numbers, stay as the model has them: nodes over
 * them are not evaluated, so that a weight has the name and the axes of the model, and
 * a bias that is repeated in the graph is one bias.  Where an operator needs an operand
 * that is known, its elements are read as ever.
 */

#include "glow/match.h"
#include "glow/text.h"
#include "tools/glow-translate/import/state.h"

void
import_keep(importer *im, glow_storage *s)
{
    if (im->options->train && im->depth == 0 &&
        glow_is_float(s->value.type->elem) && s->value.type->shape.rank > 0)
        glow_map_set(im->weights, s->name, s);
}

bool
import_is_weight(const importer *im, const glow_value *v)
{
    return !v->def && glow_map_get(im->weights, v->storage->name) != NULL;
}

/* A placeholder is of the model's graph; bodies have formals instead. */
static bool
is_free(const importer *im, const glow_storage *s)
{
    GLOW_FOR_EACH_USE(u, &s->value)
        if (u->user->func != im->entry)
            return false;
    return s->value.uses != NULL;
}

/* A running statistic is saved to the placeholder that it is read from. */
bool
import_save_later(import_node *n, glow_value *from, glow_value *to)
{
    if (!import_is_weight(n->im, to) || from->type != to->type)
        return true;
    return glow_build_node(n->im->builder, &glow_op_save, NULL, 0,
                           GLOW_IN(from, to), NULL) != NULL;
}

bool
import_trains(const import_node *n)
{
    return n->im->options->train != NULL;
}

glow_value *
import_counter(import_node *n)
{
    static const glow_attr attrs[] = {
        {.name = "State", .value = {.kind = GLOW_V_BOOL, .i = true}}};
    importer *im = n->im;
    glow_storage *s;

    if (!im->counter) {
        s = glow_placeholder_new(im->module, "random.step",
                                 import_type(n, GLOW_INDEX64, (glow_dims){0}));
        s->attrs = (glow_attr_list){attrs, 1};
        im->counter = &s->value;
    }
    if (im->func != im->entry)
        import_refuse(n, "E0711",
                      "random numbers in a body do not differ in "
                      "each step");
    return im->counter;
}

/* Each run counts. */
static bool
save_counter(importer *im)
{
    glow_value *next;

    if (!im->counter || im->func != im->entry)
        return true;
    glow_builder_named(im->builder, "random.step", NULL);
    next = GLOW_BUILD_PLAIN(
        im->builder, add,
        GLOW_IN(im->counter, glow_build_like(im->builder, im->counter, 1)));
    return next && glow_build_node(im->builder, &glow_op_save, NULL, 0,
                                   GLOW_IN(next, im->counter), NULL);
}

bool
import_free_weights(importer *im)
{
    glow_storage **chosen;
    size_t count = 0;

    if (!save_counter(im))
        return false;

    GLOW_FOR_EACH_STORAGE(s, im->module)
        count +=
            s->is_constant && import_is_weight(im, &s->value) && is_free(im, s);
    chosen = GLOW_NEW_ARRAY(im->arena, glow_storage *, count + 1);
    count = 0;
    GLOW_FOR_EACH_STORAGE(s, im->module)
        if (s->is_constant && import_is_weight(im, &s->value) && is_free(im, s))
            chosen[count++] = s;
    if (count == 0)
        return glow_error(im->ctx, "E0722",
                          "%s: there are no weights to train: no initializer "
                          "of floats reaches a node",
                          im->path);
    return glow_free_constants(im->module, im->options->train, chosen, count) >=
           0;
}
