/*
 * -report=FILE.html: the instrument that collects its data; page.c writes the
 * page.
 */

#include <string.h>

#include "tools/glow-opt/report.h"

#define MOST_LINES 400               /* of a diff */
#define MOST_BYTES ((size_t)3 << 20) /* of all diffs */

static int64_t
count_nodes(const glow_module *m)
{
    int64_t n = 0;

    GLOW_FOR_EACH_FUNC(f, m)
        n += f->count;
    return n;
}

static bool
is_graph(const glow_module *m)
{
    GLOW_FOR_EACH_FUNC(f, m)
        if (f->is_program)
            return false;
    return true;
}

static glow_cost
cost_of(const glow_module *m)
{
    glow_cost c = {0};

    GLOW_FOR_EACH_FUNC(f, m)
        c = glow_cost_add(c, glow_func_cost(f));
    return c;
}

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    opt *o = user;
    report_state *r = o->report;

    (void)p, (void)number;
    if (r->count == 0) {
        r->nodes = count_nodes(m);
        r->cost = cost_of(m);
    }
    r->before = shot_take(r->scratch, m, f);
    r->rewrites = count_rewrites(o->tool.ctx);
    r->note = NULL;
    return true;
}

/* Computes the diff of a step, and keeps the part that fits the page. */
static void
compare(opt *o, step *s, glow_module *m, const glow_func *f)
{
    report_state *r = o->report;
    glow_buf lines = {.arena = o->tool.arena};
    changes shown;

    s->diff = shot_diff(r->scratch, r->before, shot_take(r->scratch, m, f));
    shown = s->diff;
    if (shown.count > MOST_LINES)
        shown.count = MOST_LINES;
    if (r->size < MOST_BYTES)
        put_changes_html(&lines, &shown);
    else
        shown.count = 0;
    r->size += lines.len;
    s->lines = lines.text;
    s->diff.items = NULL;
    s->diff.cap = s->diff.count - shown.count; /* changes that are not shown */
}

static bool
after(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number,
      glow_result result, double seconds)
{
    opt *o = user;
    report_state *r = o->report;
    const step *last = r->count > 0 ? &r->steps[r->count - 1] : NULL;
    glow_buf text = {.arena = o->tool.arena};
    step s = {
        .number = number,
        .pass = p->name,
        .func = f ? glow_arena_strdup(o->tool.arena, f->name) : NULL,
        .result = result,
        .seconds = seconds,
        .nodes_before = last ? last->nodes : r->nodes,
        .nodes = last ? last->nodes : r->nodes,
        .rewrites = count_rewrites(o->tool.ctx) - r->rewrites,
        .cost = last ? last->cost : r->cost,
        .note = r->note,
        .is_graph = is_graph(m),
    };

    glow_pipeline_print_step(&text, r->pipeline, NULL);
    s.text = text.text ? text.text : p->name;
    r->seconds += seconds;
    if (result == GLOW_CHANGED) {
        s.nodes = count_nodes(m);
        s.cost = cost_of(m);
        compare(o, &s, m, f);
    }
    r->steps = glow_arena_grow(o->tool.arena, r->steps, r->count, &r->cap,
                               sizeof *r->steps);
    r->steps[r->count++] = s;
    glow_arena_reset(r->scratch);
    return true;
}

static void
note(void *user, const glow_pass *p, const char *text)
{
    opt *o = user;

    (void)p;
    o->report->note = glow_arena_strdup(o->tool.arena, text);
}

void
add_report(opt *o, glow_pipeline *p, instruments *list)
{
    if (!o->values.report)
        return;
    o->report = GLOW_NEW(o->tool.arena, report_state);
    o->report->pipeline = p;
    o->report->scratch = glow_arena_new();
    list->at[list->count++] = (glow_instrument){
        .user = o, .before = before, .after = after, .note = note};
}

bool
write_report(opt *o, const glow_source *source, glow_module *m)
{
    glow_buf b = {0};
    bool ok;

    if (!o->report)
        return true;
    put_report(&b, o, source, m);
    ok = glow_file_write(o->tool.ctx, o->values.report, b.text, b.len);
    glow_buf_free(&b);
    glow_arena_free(o->report->scratch);
    o->report = NULL;
    return ok;
}
