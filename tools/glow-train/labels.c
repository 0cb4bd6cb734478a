/*
 * Labels outside of the classes of a loss, which are refused before the first step.  Where
 * a network selects the labels of a loss, by Slice or Gather, the loss itself refuses them.
 */

#include <inttypes.h>

#include "tools/glow-train/train.h"

/* The placeholder whose elements `v` has in some order, or NULL. */
static const glow_storage *
origin(const glow_value *v)
{
    while (v->def && (v->def->op == &glow_op_reshape ||
                      v->def->op == &glow_op_transpose ||
                      v->def->op == &glow_op_convertto))
        v = v->def->in[0];
    return v->def ? NULL : v->storage;
}

/* The classes of a loss by labels, its second operand; 0 of another operator. */
static int64_t
count_classes(const glow_node *n)
{
    return n->op == &glow_op_negativeloglikelihoodloss ||
                   n->op == &glow_op_crossentropyloss
               ? n->in[0]->type->shape.at[1]
               : 0;
}

static int64_t
ignored_label(const glow_node *n)
{
    return n->op == &glow_op_negativeloglikelihoodloss
               ? GLOW_AS(negativeloglikelihoodloss, n)->ignore_index
               : GLOW_IGNORE_NONE;
}

static bool
report(train *t, const train_source *s, int64_t at, int64_t classes)
{
    glow_buf b = {.arena = t->tool.arena};

    if (s->size > 1)
        glow_buf_printf(&b, "element %" PRId64 " of ", at % s->size);
    return glow_error_hint(
        t->tool.ctx, (glow_span){0}, "E0644",
        "a label that does not count is named by the loss: "
        "-append-loss='ignore_index=N', or ignore_index of the model",
        "%s: %ssample %" PRId64 " has the label %" PRId64
        ", but @%s numbers %" PRId64 " classes from 0",
        s->path, b.text ? b.text : "", at / s->size, sample_int(s, at),
        s->storage->name, classes);
}

/* True if all samples of `s` are labels from 0 to `classes` - 1, or `ignored`. */
static bool
check_source(train *t, const train_source *s, int64_t classes, int64_t ignored)
{
    for (int64_t i = 0; i < s->samples * s->size; i++) {
        int64_t label = sample_int(s, i);

        if ((label < 0 || label >= classes) &&
            (ignored == GLOW_IGNORE_NONE || label != ignored))
            return report(t, s, i, classes);
    }
    return true;
}

bool
check_labels(train *t, const train_set *set, const glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f) {
        int64_t classes = count_classes(n);
        const glow_storage *label = classes > 0 ? origin(n->in[1]) : NULL;
        const train_source *s = label ? find_source(set, label->name) : NULL;

        if (s && glow_is_int(s->type->elem) &&
            !check_source(t, s, classes, ignored_label(n)))
            return false;
    }
    return true;
}
