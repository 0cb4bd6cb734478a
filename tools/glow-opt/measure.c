/* -time and -stats: tables on standard error, or JSON, an object on a line. */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-opt/opt.h"

typedef struct sample {
    const char *pass;
    const char *func; /* NULL: the module */
    double seconds;
    int64_t nodes_before, nodes_after;
} sample;

struct time_state {
    sample *samples;
    size_t count, cap;
    int64_t nodes; /* before the pass at work */
};

static int64_t
count_nodes(const glow_module *m, const glow_func *f)
{
    int64_t n = 0;

    if (f)
        return f->count;
    GLOW_FOR_EACH_FUNC(g, m)
        n += g->count;
    return n;
}

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    opt *o = user;

    (void)p, (void)number;
    o->time->nodes = count_nodes(m, f);
    return true;
}

static bool
after(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number,
      glow_result result, double seconds)
{
    opt *o = user;
    struct time_state *t = o->time;

    (void)number, (void)result;
    t->samples = glow_arena_grow(o->tool.arena, t->samples, t->count, &t->cap,
                                 sizeof *t->samples);
    t->samples[t->count++] = (sample){
        .pass = p->name,
        .func = f ? glow_arena_strdup(o->tool.arena, f->name) : NULL,
        .seconds = seconds,
        .nodes_before = t->nodes,
        .nodes_after = count_nodes(m, f),
    };
    return true;
}

void
add_time(opt *o, instruments *list)
{
    if (!o->values.time)
        return;
    if (!o->time)
        o->time = GLOW_NEW(o->tool.arena, struct time_state);
    list->at[list->count++] =
        (glow_instrument){.user = o, .before = before, .after = after};
}

static void
print_json(json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT);

    fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(j);
}

static void
print_time_json(const struct time_state *t)
{
    json_t *list = json_array();
    double total = 0;

    for (size_t i = 0; i < t->count; i++) {
        const sample *s = &t->samples[i];

        total += s->seconds;
        json_array_append_new(
            list, json_pack("{s:s, s:s?, s:f, s:I, s:I}", "pass", s->pass,
                            "function", s->func, "ms", s->seconds * 1e3,
                            "nodes_before", (json_int_t)s->nodes_before,
                            "nodes_after", (json_int_t)s->nodes_after));
    }
    print_json(
        json_pack("{s:f, s:o}", "total_ms", total * 1e3, "passes", list));
}

void
print_time(opt *o)
{
    const struct time_state *t = o->time;
    double total = 0;

    if (!t)
        return;
    if (strcmp(o->values.time, "json") == 0) {
        print_time_json(t);
        return;
    }
    fprintf(stderr, "%12s %8s %8s  %s\n", "ms", "nodes", "after", "pass");
    for (size_t i = 0; i < t->count; i++) {
        const sample *s = &t->samples[i];

        total += s->seconds;
        fprintf(stderr, "%12.3f %8lld %8lld  %s%s%s\n", s->seconds * 1e3,
                (long long)s->nodes_before, (long long)s->nodes_after, s->pass,
                s->func ? " @" : "", s->func ? s->func : "");
    }
    fprintf(stderr, "%12.3f %8s %8s  total\n", total * 1e3, "", "");
}

/* -stats */

static void
put_stat(const char *pass, const char *counter, int64_t value, void *user)
{
    (void)user;
    fprintf(stderr, "%12lld  %s: %s\n", (long long)value, pass, counter);
}

static void
put_stat_json(const char *pass, const char *counter, int64_t value, void *user)
{
    json_t *j = user;
    json_t *of_pass = json_object_get(j, pass);

    if (!of_pass) {
        of_pass = json_object();
        json_object_set_new(j, pass, of_pass);
    }
    json_object_set_new(of_pass, counter, json_integer((json_int_t)value));
}

void
print_stats(opt *o)
{
    if (!o->values.stats)
        return;
    if (strcmp(o->values.stats, "json") != 0) {
        glow_each_stat(o->tool.ctx, put_stat, NULL);
        return;
    }

    json_t *j = json_object();

    glow_each_stat(o->tool.ctx, put_stat_json, j);
    print_json(j);
}

static void
add_rewrites(const char *pass, const char *counter, int64_t value, void *user)
{
    (void)pass;
    if (strcmp(counter, "rewrites") == 0)
        *(int64_t *)user += value;
}

int64_t
count_rewrites(glow_context *ctx)
{
    int64_t sum = 0;

    glow_each_stat(ctx, add_rewrites, &sum);
    return sum;
}
