/* -stats: counters, as a table on standard error or as JSON. */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-opt/opt.h"

static void
print_json(json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT);

    fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(j);
}

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
