/* Validation: the loss and the metrics of the network on samples of -valid. */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-train/train.h"

/* The tensor that `name` is bound to in the validation, or NULL after a report. */
static const glow_tensor *
find_tensor(train *t, const char *name)
{
    tool_list names = {0};

    for (int i = 0; i < t->judge.n_bindings; i++) {
        const glow_binding *b = &t->judge.bindings[i];

        if (strcmp(b->storage->name, name) == 0)
            return b->tensor;
        tool_list_add(&t->tool, &names, b->storage->name);
    }
    tool_unknown(&t->tool, "placeholder", name, &names);
    return NULL;
}

static int
find_metric(train *t, const char *text, train_metric *m)
{
    char *name = glow_arena_strdup(t->tool.arena, text);
    char *output = strchr(name, '='), *label = strrchr(name, ',');
    int64_t rows, count;

    if (!output || !label || label < output)
        return tool_usage(&t->tool, NULL,
                          "-metric wants NAME=OUTPUT,LABEL, not '%s'", text);
    *output++ = 0;
    *label++ = 0;
    m->name = name;
    m->output = find_tensor(t, output);
    m->label = m->output ? find_tensor(t, label) : NULL;
    if (!m->label)
        return TOOL_USAGE;
    if (!glow_is_int(m->label->type->elem))
        return tool_usage(
            &t->tool, NULL,
            "-metric %s: '%s' has floats, but labels are integers", name,
            label);
    rows = glow_type_count(m->label->type);
    count = glow_type_count(m->output->type);
    if (rows == 0 || count % rows != 0 || m->output->type->shape.rank < 2 ||
        rows % t->valid.batch != 0)
        return tool_usage(&t->tool, NULL,
                          "-metric %s: the %" PRId64
                          " elements of '%s' are no rows for the %" PRId64
                          " integers of '%s'",
                          name, count, output, rows, label);
    return TOOL_GO_ON;
}

int
find_metrics(train *t)
{
    const tool_list *l = &t->values.metrics;
    int code = TOOL_GO_ON;

    t->metrics = GLOW_NEW_ARRAY(t->tool.arena, train_metric, l->count);
    for (size_t i = 0; i < l->count && code == TOOL_GO_ON; i++) {
        code = find_metric(t, l->items[i], &t->metrics[i]);
        t->n_metrics++;
    }
    return code;
}

static bool
is_right(const train_metric *m, int64_t row, int64_t columns)
{
    int64_t best = 0;

    for (int64_t i = 1; i < columns; i++)
        if (glow_get_double(m->output, row * columns + i) >
            glow_get_double(m->output, row * columns + best))
            best = i;
    return best == glow_get_int(m->label, row);
}

/* Counts the rows of the first `samples` of the batch. */
static void
count_right(train_metric *m, int64_t samples, int64_t batch)
{
    int64_t rows = glow_type_count(m->label->type);
    int64_t columns = glow_type_count(m->output->type) / rows;

    rows = rows / batch * samples;
    for (int64_t i = 0; i < rows; i++)
        m->right += is_right(m, i, columns);
    m->of += rows;
}

/*
 * The last batch is filled up with the first samples, which do not count again.  The
 * loss is the mean over whole batches, if there is one.
 */
bool
judge(train *t)
{
    int64_t n = t->valid.samples, batch = t->valid.batch, whole = 0;
    double sum = 0;

    for (size_t i = 0; i < t->n_metrics; i++)
        t->metrics[i].right = t->metrics[i].of = 0;
    for (int64_t first = 0; first < n; first += batch) {
        int64_t valid = n - first < batch ? n - first : batch;

        for (int64_t i = 0; i < batch; i++)
            fill_row(t, &t->valid, i, (first + i) % n, -1);
        if (!run_program(t, &t->judge))
            return false;
        for (size_t i = 0; i < t->n_metrics; i++)
            count_right(&t->metrics[i], valid, batch);
        if ((valid == batch || whole == 0) && t->judge.loss) {
            sum += glow_get_double(t->judge.loss, 0);
            whole++;
        }
    }
    t->valid_loss = whole ? sum / (double)whole : 0;
    log_judged(t);
    return true;
}
