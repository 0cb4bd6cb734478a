/*
 * A loss that is no number: the step and the node that it comes from.
 *
 * The state is copied at the beginning of each epoch.  The steps since then are made
 * again, up to the one that went wrong, which the evaluator then runs node by node.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/glow-train/train.h"

void
keep_state(train *t)
{
    size_t count;
    glow_state_entry *e = glow_state_entries(t->state, &count);

    if (!t->before)
        t->before = GLOW_NEW_ARRAY(t->tool.arena, glow_tensor, count);
    for (size_t i = 0; i < count; i++) {
        if (!t->before[i].data)
            t->before[i].data = glow_arena_alloc(
                t->tool.arena, (size_t)glow_type_bytes(e[i].tensor.type));
        memcpy(t->before[i].data, e[i].tensor.data,
               (size_t)glow_type_bytes(e[i].tensor.type));
    }
    t->before_at = t->at;
}

static bool
go_back(train *t, int64_t step)
{
    size_t count;
    glow_state_entry *e = glow_state_entries(t->state, &count);
    float loss;

    for (size_t i = 0; i < count; i++)
        memcpy(e[i].tensor.data, t->before[i].data,
               (size_t)glow_type_bytes(e[i].tensor.type));
    t->at = t->before_at;
    while (t->at < step)
        if (!make_step(t, &loss))
            return false;
    return true;
}

/* The first node with a result that is infinite, and the first with a NaN. */
typedef struct hunt {
    const glow_node *infinite, *nan;
} hunt;

static void
look(void *user, const glow_node *n, glow_tensor *const out[], double seconds)
{
    hunt *h = user;

    (void)seconds;
    for (int i = 0; i < n->n_out && !h->nan; i++) {
        if (!out[i] || !glow_is_float(out[i]->type->elem))
            continue;
        for (int64_t k = 0; k < glow_type_count(out[i]->type); k++) {
            double v = glow_get_double(out[i], k);

            if (isnan(v)) {
                h->nan = n;
                return;
            }
            if (isinf(v) && !h->infinite)
                h->infinite = n;
        }
    }
}

/* Appends the first element of the samples of this step that is no number. */
static void
put_sample(const train *t, glow_buf *b)
{
    int64_t first = t->at % t->per_epoch * t->data.batch;

    for (size_t k = 0; k < t->data.count; k++) {
        const train_source *s = &t->data.at[k];
        int64_t count = glow_type_count(s->type);

        for (int64_t i = 0; glow_is_float(s->type->elem) && i < count; i++) {
            double v = glow_get_double(&s->batch, i);

            if (isfinite(v))
                continue;
            glow_buf_printf(b, "sample %" PRIu32 " of %s has %s",
                            t->order[first + i / s->size], s->path,
                            isnan(v) ? "NaN" : "infinity");
            return;
        }
    }
}

static void
report_node(train *t, int64_t step, const hunt *h)
{
    glow_buf b = {.arena = t->tool.arena}, hint = {.arena = t->tool.arena};

    put_sample(t, &hint);

    if (!h->nan && !h->infinite) {
        glow_error(t->tool.ctx, "E0642",
                   "the loss of step %" PRId64 " is no number, but it is one "
                   "to the interpreter",
                   step + 1);
        return;
    }
    if (hint.len == 0 && h->nan && h->infinite) {
        glow_buf_puts(&hint, "infinity first comes from ");
        glow_print_node(&hint, h->infinite, NULL);
    }
    glow_print_node(&b, h->nan ? h->nan : h->infinite, NULL);
    glow_error_hint(t->tool.ctx, (glow_span){0}, "E0642", hint.text,
                    "the loss of step %" PRId64
                    " is no number: the first node that gives %s is %s",
                    step + 1, h->nan ? "NaN" : "infinity", b.text);
}

void
report_nan(train *t, int64_t step)
{
    glow_func *f = glow_find_func(t->plain, t->step.func->name);
    glow_binding *bindings =
        GLOW_NEW_ARRAY(t->tool.arena, glow_binding, t->step.n_bindings);
    hunt h = {NULL, NULL};

    if (!go_back(t, step))
        return;
    fill_batch(t);
    for (int i = 0; i < t->step.n_bindings; i++)
        bindings[i] = (glow_binding){
            glow_find_storage(t->plain, t->step.bindings[i].storage->name),
            t->step.bindings[i].tensor};
    glow_eval(f, bindings, t->step.n_bindings,
              &(glow_eval_options){.trace = look, .user = &h});
    report_node(t, step, &h);
}
