/*
 * The state of a run: its first contents, and the file that it goes on from.
 *
 * The file has weights and moments as tensors, and as notes the number of steps, the
 * sum of the losses of the epoch, and the identity of the run.  The order of samples
 * follows from seed and epoch, so nothing else is needed to go on with the same bits.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/glow-train/train.h"

static const char at_note[] = "glow-train.step", sum_note[] = "glow-train.sum",
                  run_note[] = "glow-train.run";

/* Notes hold numbers as `%a`, which is exact. */
static bool
read_number(const train *t, const char *key, double *out)
{
    const char *text = glow_state_note(t->state, key);
    char *end = NULL;

    *out = text ? strtod(text, &end) : 0;
    return text && end > text && *end == 0;
}

enum { MOST_WORD = 256 };

/* Appends `prefix` and the words of the identity `of` that `other` lacks. */
static bool
put_difference(glow_buf *b, const char *prefix, const char *of,
               const char *other)
{
    bool found = false;

    for (size_t len; *of; of += len + (of[len] != 0)) {
        const char *at = other;
        size_t n = 0;

        len = strcspn(of, " ,");
        for (; *at; at += n + (at[n] != 0)) {
            n = strcspn(at, " ,");
            if (n == len && strncmp(at, of, n) == 0)
                break;
        }
        if (*at || len == 0)
            continue;
        glow_buf_printf(b, "%s%.*s", found ? " " : prefix,
                        len < MOST_WORD ? (int)len : MOST_WORD, of);
        found = true;
    }
    return found;
}

static bool
report_other(train *t, const char *path, const char *of)
{
    glow_buf b = {.arena = t->tool.arena};
    bool any = put_difference(&b, ": it has ", of, t->identity);

    put_difference(&b, any ? ", and this one has " : ": this one has ",
                   t->identity, of);
    return glow_error_hint(t->tool.ctx, (glow_span){0}, "E0643",
                           "take the options and samples that it was begun "
                           "with, or another file",
                           "%s is of another run%s", path,
                           b.text ? b.text : "");
}

/* Goes on with the run in the file. */
static bool
resume(train *t)
{
    const char *path = t->values.state, *of;
    double at, sum;

    if (!glow_state_load(t->state, path))
        return false;
    of = glow_state_note(t->state, run_note);
    if (!of || !read_number(t, at_note, &at) ||
        !read_number(t, sum_note, &sum) || at < 0 || at > 0x1p53)
        return glow_error(t->tool.ctx, "E0643",
                          "%s is no state of a run: it has no notes of "
                          "glow-train; give first weights by -init",
                          path);
    if (strcmp(of, t->identity) != 0)
        return report_other(t, path, of);
    t->at = (int64_t)at;
    t->sum = sum;
    return glow_state_check(t->state, path);
}

/* True if all that is trained begins as a constant of the network. */
static bool
has_weights(const train *t)
{
    size_t count;
    const glow_state_entry *e = glow_state_entries(t->state, &count);

    for (size_t i = 0; i < count; i++)
        if (e[i].is_trained && !e[i].is_set)
            return false;
    return true;
}

int
begin_state(train *t)
{
    const train_values *v = &t->values;

    if (v->state && access(v->state, F_OK) == 0) {
        if (!resume(t))
            return TOOL_FAILED;
        return read_log(t) ? TOOL_GO_ON : TOOL_FAILED;
    }
    if (v->init && !glow_state_load(t->state, v->init))
        return TOOL_FAILED;
    if (v->fresh)
        draw_weights(t);
    if (!v->init && !v->fresh && !has_weights(t))
        return tool_usage(&t->tool, "add -init FILE or -fresh",
                          "no first weights are given");
    return glow_state_check(t->state, v->init) ? TOOL_GO_ON : TOOL_FAILED;
}

static void
set_number(train *t, const char *key, double v)
{
    char text[64];

    snprintf(text, sizeof text, "%a", v);
    glow_state_set_note(t->state, key, text);
}

bool
save_checkpoint(train *t)
{
    if (!t->values.state)
        return true;
    set_number(t, at_note, (double)t->at);
    set_number(t, sum_note, t->sum);
    glow_state_set_note(t->state, run_note, t->identity);
    /* The log first: rows behind the checkpoint are dropped when it goes on. */
    return write_log(t) && glow_state_save(t->state, t->values.state);
}

bool
write_trained(train *t)
{
    const char **names =
        GLOW_NEW_ARRAY(t->tool.arena, const char *, t->n_kept + 1);

    for (size_t i = 0; i < t->n_kept; i++)
        names[i] = t->kept[i].name;
    return !t->values.output ||
           glow_state_save_some(t->state, t->values.output, names, t->n_kept);
}
