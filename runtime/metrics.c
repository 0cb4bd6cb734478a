/* Counters in the text form of Prometheus, version 0.0.4. */

#include <inttypes.h>

#include "runtime/executor.h"
#include "runtime/state.h"

/* A label's value: backslash, quote and newline are escaped. */
static void
add_label(glow_buf *b, const char *text)
{
    glow_buf_putc(b, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            glow_buf_putc(b, '\\');
        if (*text == '\n')
            glow_buf_puts(b, "\\n");
        else
            glow_buf_putc(b, *text);
    }
    glow_buf_putc(b, '"');
}

static void
head(glow_buf *b, const char *name, const char *type, const char *help)
{
    glow_buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
line(glow_buf *b, const char *name, const char *label, const char *of,
     int64_t number)
{
    glow_buf_printf(b, "%s{%s=", name, label);
    add_label(b, of);
    glow_buf_printf(b, "} %" PRId64 "\n", number);
}

static void
add_latencies(glow_buf *b, const service *s)
{
    int64_t sum = 0, most = 1024;

    for (int i = 0; i < LATENCIES; i++, most *= 2) {
        sum += s->latency[i];
        glow_buf_puts(b, "glow_request_seconds_bucket{service=");
        add_label(b, s->name);
        glow_buf_puts(b, ",le=\"");
        if (i < LATENCIES - 1)
            glow_buf_double(b, (double)most / 1e9);
        else
            glow_buf_puts(b, "+Inf");
        glow_buf_printf(b, "\"} %" PRId64 "\n", sum);
    }
    glow_buf_puts(b, "glow_request_seconds_sum{service=");
    add_label(b, s->name);
    glow_buf_puts(b, "} ");
    glow_buf_double(b, (double)s->latency_ns / 1e9);
    glow_buf_putc(b, '\n');
    line(b, "glow_request_seconds_count", "service", s->name, sum);
}

/* Services that were not removed. */
#define EACH_SERVICE(s, h)                                 \
    for (const service *s = (h)->services; s; s = s->next) \
        if (!s->leaving)

static void
add_batches(glow_buf *b, const glow_host *h)
{
    head(b, "glow_batches_total", "counter",
         "Batches, by the samples that they hold.");
    EACH_SERVICE(s, h)
    for (int i = 0; i < s->n_variants && s->batch > 1; i++) {
        glow_buf_puts(b, "glow_batches_total{service=");
        add_label(b, s->name);
        glow_buf_printf(b, ",samples=\"%d\"} %" PRId64 "\n",
                        s->variants[i].samples, s->variants[i].batches);
    }
    head(b, "glow_batched_samples_total", "counter",
         "Samples that batches took.");
    EACH_SERVICE(s, h)
    if (s->batch > 1)
        line(b, "glow_batched_samples_total", "service", s->name, s->batched);
}

static void
add_services(glow_buf *b, const glow_host *h)
{
    head(b, "glow_requests_total", "counter", "Requests that ended.");
    EACH_SERVICE(s, h)
    for (int o = 0; o < GLOW_RUN_OUTCOMES; o++) {
        glow_buf_puts(b, "glow_requests_total{service=");
        add_label(b, s->name);
        glow_buf_printf(b, ",outcome=\"%s\"} %" PRId64 "\n",
                        glow_outcome_name((glow_outcome)o), s->ended[o]);
    }
    head(b, "glow_requests_running", "gauge", "Requests on devices.");
    EACH_SERVICE(s, h)
    line(b, "glow_requests_running", "service", s->name, s->running);
    add_batches(b, h);
    head(b, "glow_request_seconds", "histogram",
         "Time from the call to the end of requests that were done.");
    EACH_SERVICE(s, h)
    add_latencies(b, s);
}

/* One counter or gauge of all devices. */
typedef struct column {
    const char *name, *type, *help;
    int64_t (*of)(const device *d, const glow_run_device_info *i,
                  const glow_run_device_statistics *s);
} column;

#define COLUMN(name, expression)                                        \
    static int64_t name(const device *d, const glow_run_device_info *i, \
                        const glow_run_device_statistics *s)            \
    {                                                                   \
        (void)d, (void)i, (void)s;                                      \
        return expression;                                              \
    }
COLUMN(runs_of, s->runs)
COLUMN(failures_of, s->failures)
COLUMN(bytes_in_of, s->bytes_in)
COLUMN(bytes_out_of, s->bytes_out)
COLUMN(busy_of, s->busy_ns / 1000)
COLUMN(memory_of, i->used)
COLUMN(lost_of, d->lost)
COLUMN(ready_of, d->state == GLOW_RUN_DEVICE_READY)
COLUMN(queued_of, d->n_pending + d->outstanding)
#undef COLUMN

static const column columns[] = {
    {"glow_device_runs_total", "counter", "Runs of parts.", runs_of},
    {"glow_device_failures_total", "counter", "Runs that failed.", failures_of},
    {"glow_device_bytes_in_total", "counter", "Bytes copied in.", bytes_in_of},
    {"glow_device_bytes_out_total", "counter", "Bytes copied out.",
     bytes_out_of},
    {"glow_device_busy_microseconds_total", "counter", "Time of runs.",
     busy_of},
    {"glow_device_memory_bytes", "gauge", "Bytes in use.", memory_of},
    {"glow_device_lost_total", "counter", "Times that it was lost.", lost_of},
    {"glow_device_ready", "gauge", "1: it takes work.", ready_of},
    {"glow_device_queued", "gauge", "Parts that wait for it, or run.",
     queued_of},
};

void
glow_host_metrics(glow_host *h, glow_buf *b)
{
    pthread_mutex_lock(&h->lock);
    head(b, "glow_requests_queued", "gauge", "Requests that wait.");
    glow_buf_printf(b, "glow_requests_queued %d\n", h->queued);
    add_services(b, h);
    head(b, "glow_executor_commands_total", "counter",
         "Runs and copies of devices.");
    line(b, "glow_executor_commands_total", "executor",
         h->options.executor->kind->name,
         atomic_load_explicit(&h->options.executor->commands,
                              memory_order_relaxed));
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        head(b, columns[c].name, columns[c].type, columns[c].help);
        for (device *d = h->devices; d; d = d->next) {
            glow_run_device_info i;
            glow_run_device_statistics s;

            d->api->info(d->at, &i);
            d->api->statistics(d->at, &s);
            line(b, columns[c].name, "device", d->name,
                 columns[c].of(d, &i, &s));
        }
    }
    pthread_mutex_unlock(&h->lock);
}
