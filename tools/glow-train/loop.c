/* Epochs and steps. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/glow-train/train.h"

static double
now_ms(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Orders the samples for `epoch`: Fisher and Yates, drawn by (seed, epoch). */
static void
order_samples(train *t, int64_t epoch)
{
    uint32_t n = (uint32_t)t->data.samples;

    if (t->order_of == epoch)
        return;
    if (!t->order)
        t->order = GLOW_NEW_ARRAY(t->tool.arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        t->order[i] = i;
    for (uint32_t i = n; t->values.shuffle && i > 1; i--) {
        glow_philox x =
            glow_philox_bits((uint64_t)t->values.seed, i, (uint64_t)epoch << 8);
        uint32_t k = (uint32_t)glow_philox_below(x, i);
        uint32_t kept = t->order[i - 1];

        t->order[i - 1] = t->order[k];
        t->order[k] = kept;
    }
    t->order_of = epoch;
}

void
fill_batch(train *t)
{
    int64_t epoch = t->at / t->per_epoch, first = t->at % t->per_epoch;

    order_samples(t, epoch);
    first *= t->data.batch;
    for (int64_t i = 0; i < t->data.batch; i++)
        fill_row(t, &t->data, i, t->order[first + i], epoch);
    if (t->rate.data)
        glow_set_double(&t->rate, 0, (double)rate_at(t, t->at));
}

bool
make_step(train *t, float *loss)
{
    fill_batch(t);
    if (!run_program(t, &t->step))
        return false;
    *loss = (float)glow_get_double(t->step.loss, 0);
    t->at++;
    t->sum += (double)*loss;
    return true;
}

/* The time of a step since this process began, and what is left. */
static double
ms_a_step(const train *t)
{
    return t->at > t->begun_at
               ? (now_ms() - t->begun_ms) / (double)(t->at - t->begun_at)
               : 0;
}

static void
show_progress(const train *t, float loss, float rate)
{
    double ms = ms_a_step(t);
    int64_t left = (int64_t)(ms * 1e-3 * (double)(t->total - t->at));

    tool_progress("epoch %" PRId64 ", step %" PRId64 " of %" PRId64
                  ", loss %.4g, rate %.3g, %.3g ms a step, %" PRId64
                  ":%02" PRId64 " left",
                  (t->at - 1) / t->per_epoch + 1, t->at, t->total, (double)loss,
                  (double)rate, ms, left / 60, left % 60);
}

/* A line of an epoch, on standard output. */
static void
print_epoch(train *t, int64_t steps)
{
    glow_buf b = {0};

    glow_buf_printf(&b, "epoch %" PRId64 ": loss %.6g",
                    (t->at - 1) / t->per_epoch + 1, t->sum / (double)steps);
    if (t->values.valid.count > 0)
        glow_buf_printf(&b, ", valid %.6g", t->valid_loss);
    for (size_t i = 0; i < t->n_metrics; i++)
        glow_buf_printf(&b, ", %s %.4f (%" PRId64 " of %" PRId64 ")",
                        t->metrics[i].name,
                        (double)t->metrics[i].right / (double)t->metrics[i].of,
                        t->metrics[i].right, t->metrics[i].of);
    glow_buf_printf(&b, ", %.3g ms a step\n", ms_a_step(t));
    tool_progress_wipe();
    tool_put(stdout, b.text, b.len);
    fflush(stdout);
    glow_buf_free(&b);
}

static bool
end_epoch(train *t)
{
    int64_t steps = (t->at - 1) % t->per_epoch + 1;

    if (t->values.valid.count > 0 && !judge(t))
        return false;
    print_epoch(t, steps);
    if (t->at % t->per_epoch == 0)
        t->sum = 0;
    return save_checkpoint(t);
}

enum { MOST_TOLD = 16 }; /* samples of a note */

/* The samples of a step that the program refused, such as an index outside of a tensor. */
static void
tell_samples(train *t)
{
    glow_buf b = {.arena = t->tool.arena};
    int64_t first = t->at % t->per_epoch * t->data.batch;

    glow_buf_printf(&b, "step %" PRId64 " takes samples", t->at + 1);
    for (int64_t i = 0; i < t->data.batch && i < MOST_TOLD; i++)
        glow_buf_printf(&b, "%s %" PRIu32, i ? "," : "", t->order[first + i]);
    if (t->data.batch > MOST_TOLD)
        glow_buf_printf(&b, " and %" PRId64 " more", t->data.batch - MOST_TOLD);
    glow_report(t->tool.ctx,
                &(glow_diag){.severity = GLOW_NOTE, .message = b.text});
}

static bool
one_step(train *t)
{
    float rate = rate_at(t, t->at), loss;

    if (!make_step(t, &loss)) {
        tell_samples(t);
        return false;
    }
    if (!isfinite(loss)) {
        report_nan(t, t->at - 1);
        return false;
    }
    log_step(t, loss, rate);
    show_progress(t, loss, rate);
    if (t->at % t->per_epoch == 0 || t->at == t->total)
        return end_epoch(t);
    return t->values.save_every == 0 || t->at % t->values.save_every != 0 ||
           save_checkpoint(t);
}

/* The file of -state is at the end of the run already. */
static void
tell_done(const train *t)
{
    glow_buf b = {0};

    glow_buf_printf(
        &b, "%" PRId64 " steps are made, and %" PRId64 " are asked for\n",
        t->at, t->total);
    tool_put(stdout, b.text, b.len);
    glow_buf_free(&b);
}

int
run_steps(train *t)
{
    bool ok = true;

    if (t->at >= t->total)
        tell_done(t);

    tool_progress_begin(&t->tool);
    t->begun_ms = now_ms();
    t->begun_at = t->at;
    while (ok && t->at < t->total) {
        if (t->before_at < 0 || t->at % t->per_epoch == 0)
            keep_state(t);
        ok = one_step(t);
    }
    tool_progress_end();
    return ok && write_log(t) && write_plot(t) && write_trained(t)
               ? TOOL_DONE
               : TOOL_FAILED;
}
