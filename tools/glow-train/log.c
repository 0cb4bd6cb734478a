/*
 * The log: a table of steps in CSV, written whole each time.
 *
 *     step,epoch,rate,loss,valid,accuracy
 *     1,1,0.001,2.303,,
 *     45,1,0.001,0.41,0.39,0.91
 *
 * Columns after the loss are filled in at the end of an epoch.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "glow/file.h"
#include "tools/glow-train/train.h"

static bool
keeps_log(const train *t)
{
    return t->values.log || t->values.plot;
}

static train_row *
add_row(train *t)
{
    t->rows = glow_arena_grow(t->tool.arena, t->rows, t->n_rows, &t->cap_rows,
                              sizeof *t->rows);
    t->rows[t->n_rows] = (train_row){0};
    return &t->rows[t->n_rows++];
}

void
log_step(train *t, float loss, float rate)
{
    train_row *r;

    if (!keeps_log(t))
        return;
    r = add_row(t);
    r->step = t->at;
    r->epoch = (t->at - 1) / t->per_epoch + 1;
    r->loss = loss;
    r->rate = rate;
}

void
log_judged(train *t)
{
    train_row *r = t->n_rows > 0 ? &t->rows[t->n_rows - 1] : NULL;
    double *metrics;

    if (!keeps_log(t) || !r || r->step != t->at)
        return;
    metrics = GLOW_NEW_ARRAY(t->tool.arena, double, t->n_metrics);
    for (size_t i = 0; i < t->n_metrics; i++)
        metrics[i] = (double)t->metrics[i].right / (double)t->metrics[i].of;
    r->is_valid = true;
    r->valid_loss = t->valid_loss;
    r->metrics = metrics;
}

static void
put_row(const train *t, glow_buf *b, const train_row *r)
{
    glow_buf_printf(b, "%" PRId64 ",%" PRId64 ",", r->step, r->epoch);
    glow_buf_float(b, r->rate);
    glow_buf_putc(b, ',');
    glow_buf_float(b, r->loss);
    if (t->values.valid.count > 0)
        glow_buf_putc(b, ',');
    if (r->is_valid)
        glow_buf_double(b, r->valid_loss);
    for (size_t i = 0; i < t->n_metrics; i++) {
        glow_buf_putc(b, ',');
        if (r->is_valid)
            glow_buf_double(b, r->metrics[i]);
    }
    glow_buf_putc(b, '\n');
}

bool
write_log(train *t)
{
    glow_buf b = {0};
    bool ok;

    if (!t->values.log)
        return true;
    glow_buf_puts(&b, "step,epoch,rate,loss");
    if (t->values.valid.count > 0)
        glow_buf_puts(&b, ",valid");
    for (size_t i = 0; i < t->n_metrics; i++)
        glow_buf_printf(&b, ",%s", t->metrics[i].name);
    glow_buf_putc(&b, '\n');
    for (size_t i = 0; i < t->n_rows; i++)
        put_row(t, &b, &t->rows[i]);
    ok = glow_file_write(t->tool.ctx, t->values.log, b.text, b.len);
    glow_buf_free(&b);
    return ok;
}

/* A number and the comma or line end behind it; false if there is none. */
static bool
next_number(const char **at, double *out)
{
    char *end;

    *out = strtod(*at, &end);
    if (end == *at && (*end == ',' || *end == '\n'))
        *out = 0;
    else if (end == *at)
        return false;
    *at = end + (*end == ',');
    return true;
}

/* A row of the text; false if the line is none. */
static bool
read_row(train *t, const char **at)
{
    double v[4], valid = 0;
    double *metrics = GLOW_NEW_ARRAY(t->tool.arena, double, t->n_metrics);
    bool judged;
    train_row *r;

    for (int i = 0; i < 4; i++)
        if (!next_number(at, &v[i]))
            return false;
    judged = t->values.valid.count > 0 && **at != ',' && **at != '\n';
    if (judged && !next_number(at, &valid))
        return false;
    for (size_t i = 0; i < t->n_metrics && judged; i++)
        if (!next_number(at, &metrics[i]))
            return false;
    *at += strcspn(*at, "\n");
    *at += **at == '\n';
    if ((int64_t)v[0] > t->at)
        return true;
    r = add_row(t);
    *r = (train_row){.step = (int64_t)v[0],
                     .epoch = (int64_t)v[1],
                     .rate = (float)v[2],
                     .loss = (float)v[3],
                     .is_valid = judged,
                     .valid_loss = valid,
                     .metrics = metrics};
    return true;
}

/* Rows up to the step that the run goes on from. */
bool
read_log(train *t)
{
    const glow_source *s;
    const char *at, *end;

    if (!t->values.log || access(t->values.log, F_OK) != 0)
        return true;
    s = glow_source_read(t->tool.ctx, t->values.log);
    if (!s)
        return false;
    at = s->text + strcspn(s->text, "\n");
    at += *at == '\n';
    for (end = s->text + s->size; at < end;)
        if (!read_row(t, &at))
            return glow_error(t->tool.ctx, "E0643",
                              "%s is no log of glow-train: line %zu",
                              t->values.log, t->n_rows + 2);
    return true;
}
