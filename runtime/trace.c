/* Times of parts, in the JSON of Chrome's trace viewer. */

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/heap.h"
#include "runtime/state.h"

typedef struct event {
    const char *what, *row;
    uint64_t request;
    int64_t begin, end;
} event;

struct run_trace {
    pthread_mutex_t lock;
    event *at;
    size_t count, room;
    int64_t begin;
};

run_trace *
glow_run_trace_new(void)
{
    run_trace *t = glow_heap_new(sizeof *t);

    pthread_mutex_init(&t->lock, NULL);
    t->begin = glow_now();
    return t;
}

void
glow_run_trace_free(run_trace *t)
{
    pthread_mutex_destroy(&t->lock);
    free(t->at);
    free(t);
}

void
glow_run_trace_add(run_trace *t, const char *what, const char *row,
                   uint64_t request, int64_t begin, int64_t end)
{
    pthread_mutex_lock(&t->lock);
    if (t->count == t->room) {
        size_t room = t->room ? 2 * t->room : 1024;
        event *grown = glow_heap_new(room * sizeof *grown);

        for (size_t i = 0; i < t->count; i++)
            grown[i] = t->at[i];
        free(t->at);
        t->at = grown;
        t->room = room;
    }
    t->at[t->count++] = (event){what, row, request, begin, end};
    pthread_mutex_unlock(&t->lock);
}

static int
by_request(const void *a, const void *b)
{
    const event *x = a, *y = b;

    if (x->request != y->request)
        return x->request < y->request ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void
add_text(glow_buf *b, const char *text)
{
    json_t *j = json_string(text);
    char *quoted = json_dumps(j, JSON_ENCODE_ANY);

    glow_buf_puts(b, quoted ? quoted : "\"?\"");
    free(quoted);
    json_decref(j);
}

static void
add_event(glow_buf *b, const event *e, int64_t zero, const char *flow)
{
    double begin = (double)(e->begin - zero) / 1e3;

    glow_buf_printf(b, "  {\"ph\": \"X\", \"pid\": 1, \"tid\": ");
    add_text(b, e->row);
    glow_buf_puts(b, ", \"name\": ");
    add_text(b, e->what);
    glow_buf_printf(b,
                    ", \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"request\": "
                    "%" PRIu64 "}},\n",
                    begin, (double)(e->end - e->begin) / 1e3, e->request);
    glow_buf_printf(b, "  {\"ph\": \"%s\", \"pid\": 1, \"tid\": ", flow);
    add_text(b, e->row);
    glow_buf_printf(b,
                    ", \"name\": \"request\", \"cat\": \"request\", \"id\": "
                    "%" PRIu64 ", \"ts\": %.3f%s}",
                    e->request, begin, flow[0] == 'f' ? ", \"bp\": \"e\"" : "");
}

void
glow_run_trace_print(run_trace *t, glow_buf *b)
{
    event *at;
    size_t n;

    pthread_mutex_lock(&t->lock);
    n = t->count;
    at = glow_heap_new(n * sizeof *at);
    for (size_t i = 0; i < n; i++)
        at[i] = t->at[i];
    pthread_mutex_unlock(&t->lock);
    glow_sort(at, n, sizeof *at, by_request);
    glow_buf_puts(b, "{\"traceEvents\": [\n");
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 || at[i - 1].request != at[i].request;
        bool last = i + 1 == n || at[i + 1].request != at[i].request;

        add_event(b, &at[i], t->begin, first ? "s" : last ? "f" : "t");
        glow_buf_puts(b, i + 1 < n ? ",\n" : "\n");
    }
    glow_buf_puts(b, "], \"displayTimeUnit\": \"ns\"}\n");
    free(at);
}
