/*
 * The HTML page of -report: one self-contained file, for light and dark color
 * schemes, keyboards and narrow windows.  Only the search needs scripts.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "glow/memory_map.h"
#include "tools/glow-opt/report.h"
#include "tools/glow-opt/view.h"

/* Numbers. */

/* "1.23 M"; whole below a thousand. */
static void
put_amount(glow_buf *b, int64_t v, const char *unit)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P", "E"};
    int64_t whole = v, part = 0;
    size_t i = 0;

    for (; whole >= 1000 || whole <= -1000; i++) {
        part = (whole < 0 ? -whole : whole) % 1000;
        whole /= 1000;
    }
    glow_buf_printf(b, "%" PRId64, whole);
    if (i > 0)
        glow_buf_printf(b, ".%02d", (int)part / 10);
    if (i > 0 || *unit)
        glow_buf_printf(b, "\xc2\xa0%s%s", prefix[i], unit);
}

/* "1.234 ms" */
static void
put_time(glow_buf *b, double seconds)
{
    int64_t us = (int64_t)(seconds * 1e6 + 0.5);

    glow_buf_printf(b, "%" PRId64 ".%03d\xc2\xa0ms", us / 1000,
                    (int)(us % 1000));
}

static void
put_percent(glow_buf *b, const char *name, double part)
{
    glow_buf_printf(b, "%s%d.%d%%", name, (int)(part * 100),
                    (int)(part * 1000) % 10);
}

/* The head. */

static void
put_tile(glow_buf *b, const char *what, int64_t before, int64_t after,
         const char *unit)
{
    glow_buf_printf(b, "<div><span>%s</span><b title=\"%" PRId64 "\">", what,
                    after);
    put_amount(b, after, unit);
    glow_buf_puts(b, "</b><small>");
    if (before == after)
        glow_buf_puts(b, "as before");
    else
        glow_buf_puts(b, "from ");
    if (before != after)
        put_amount(b, before, unit);
    glow_buf_puts(b, "</small></div>\n");
}

static int64_t
moved(glow_cost c)
{
    int64_t sum;

    return glow_add_overflow(c.read, c.written, &sum) ? INT64_MAX
                                                      : c.read + c.written;
}

/* The last number of nodes while all functions are graphs. */
static int64_t
last_nodes(const report_state *r)
{
    int64_t nodes = r->nodes;

    for (size_t i = 0; i < r->count; i++)
        if (r->steps[i].is_graph || i == 0 || !r->steps[0].is_graph)
            nodes = r->steps[i].nodes;
    return nodes;
}

static void
put_head(glow_buf *b, const opt *o, const glow_source *source)
{
    const report_state *r = o->report;
    const step *last = r->count > 0 ? &r->steps[r->count - 1] : NULL;
    glow_cost cost = last ? last->cost : r->cost;
    size_t changed = 0;

    for (size_t i = 0; i < r->count; i++)
        changed += r->steps[i].result == GLOW_CHANGED;
    glow_buf_puts(b, "<header><h1>");
    put_escaped(b, source->name);
    glow_buf_puts(b, "</h1><code>glow-opt -passes=");
    put_escaped(b, o->pipeline->text);
    glow_buf_puts(b, "</code></header>\n<main>\n<div class=\"tiles\">\n");
    put_tile(b, "nodes", r->nodes, last_nodes(r), "");
    put_tile(b, "operations", r->cost.flops, cost.flops, "");
    put_tile(b, "bytes moved", moved(r->cost), moved(cost), "B");
    glow_buf_puts(b, "<div><span>time in passes</span><b>");
    put_time(b, r->seconds);
    glow_buf_printf(b,
                    "</b><small>%zu runs, %zu changed something</small></div>\n"
                    "<div><span>remarks</span><b>%zu</b><small>why, and why "
                    "not</small></div>\n</div>\n",
                    r->count, changed, o->remarks ? o->remarks->count : 0);
}

/* Charts: a value for each step, from the input on. */

typedef double (*value_fn)(const report_state *r, size_t i);

static double
nodes_at(const report_state *r, size_t i)
{
    return (double)(i == 0 ? r->nodes : r->steps[i - 1].nodes);
}

static double
bytes_at(const report_state *r, size_t i)
{
    return (double)moved(i == 0 ? r->cost : r->steps[i - 1].cost);
}

static double
time_at(const report_state *r, size_t i)
{
    return i == 0 ? 0 : r->steps[i - 1].seconds;
}

/* The y coordinate of value `v` in a box of 1000 x 100. */
static int
height_of(double v, double most)
{
    return 96 - (int)(most > 0 ? v / most * 90 : 0);
}

static void
put_chart(glow_buf *b, const report_state *r, const char *what,
          const char *unit, value_fn value)
{
    bool bars = value == time_at;
    double most = 0, width = 1000.0 / (double)(r->count + 1);

    for (size_t i = 0; i <= r->count; i++)
        most = value(r, i) > most ? value(r, i) : most;
    glow_buf_printf(b, "<div class=\"chart\"><p><b>%s</b>, most ", what);
    if (bars)
        put_time(b, most);
    else
        put_amount(b, (int64_t)most, unit);
    glow_buf_puts(b, "</p><svg viewBox=\"0 0 1000 100\" "
                     "preserveAspectRatio=\"none\" role=\"img\">\n");
    if (!bars) {
        glow_buf_puts(b, "<path d=\"M0 100");
        for (size_t i = 0; i <= r->count; i++)
            glow_buf_printf(b, "V%dH%d", height_of(value(r, i), most),
                            (int)(width * (double)(i + 1)));
        glow_buf_puts(b, "V100\"/>\n");
    }
    for (size_t i = 1; i <= r->count; i++) {
        const step *s = &r->steps[i - 1];
        int y = height_of(value(r, i), most);

        glow_buf_printf(b, "<a href=\"#s%d\" tabindex=\"-1\">", s->number);
        if (bars) {
            glow_buf_puts(b, "<rect class=\"v\"");
            put_number(b, "x", width * (double)i + width * 0.1);
            put_number(b, "width", width * 0.8);
            glow_buf_printf(b, " y=\"%d\" height=\"%d\"/>", y, 100 - y);
        }
        glow_buf_puts(b, "<rect height=\"100\"");
        put_number(b, "x", width * (double)i);
        put_number(b, "width", width);
        glow_buf_printf(b, "><title>%d: ", s->number);
        put_escaped(b, s->text);
        glow_buf_printf(b, "\n%" PRId64 " nodes, ", s->nodes);
        put_amount(b, moved(s->cost), "B moved, ");
        put_time(b, s->seconds);
        glow_buf_puts(b, "</title></rect></a>\n");
    }
    glow_buf_puts(b, "</svg></div>\n");
}

/* Passes: all runs of each. */

typedef struct sum {
    const char *pass;
    double seconds;
    int64_t rewrites;
    int runs, changed;
} sum;

static int
by_time(const void *x, const void *y)
{
    const sum *a = x, *b = y;

    if (a->seconds != b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    return strcmp(a->pass, b->pass);
}

static void
put_passes(glow_buf *b, const opt *o)
{
    const report_state *r = o->report;
    glow_map *known = glow_map_new(o->tool.arena);
    sum *sums = GLOW_NEW_ARRAY(o->tool.arena, sum, r->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < r->count; i++) {
        const step *s = &r->steps[i];
        sum *x = glow_map_get(known, s->pass);

        if (!x) {
            x = &sums[count++];
            x->pass = s->pass;
            glow_map_set(known, s->pass, x);
        }
        x->seconds += s->seconds;
        x->rewrites += s->rewrites;
        x->runs++;
        x->changed += s->result == GLOW_CHANGED;
    }
    glow_sort(sums, count, sizeof *sums, by_time);
    glow_buf_puts(b, "<h2>Passes</h2>\n<div class=\"scroll\"><table><thead><tr>"
                     "<th>pass</th><th class=\"r\">runs</th><th class=\"r\">"
                     "changed</th><th class=\"r\">rewrites</th><th class=\"r\">"
                     "time</th><th class=\"bar\"></th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count; i++) {
        const glow_pass *p = glow_find_pass(o->tool.ctx, sums[i].pass);
        const char *card = p ? glow_pass_card(p) : NULL;

        glow_buf_puts(b, "<tr><td class=\"c\" title=\"");
        put_escaped(b, card ? card : p ? p->summary : "");
        glow_buf_puts(b, "\">");
        put_escaped(b, sums[i].pass);
        glow_buf_printf(b,
                        "</td><td class=\"r\">%d</td><td class=\"r\">%d</td>"
                        "<td class=\"r\">%" PRId64 "</td><td class=\"r\">",
                        sums[i].runs, sums[i].changed, sums[i].rewrites);
        put_time(b, sums[i].seconds);
        put_percent(b, "</td><td class=\"bar\"><i style=\"width:",
                    sums[0].seconds > 0 ? sums[i].seconds / sums[0].seconds
                                        : 0);
        glow_buf_puts(b, "\"></i></td></tr>\n");
    }
    glow_buf_puts(b, "</tbody></table></div>\n");
}

/* Steps. */

void
put_changes_html(glow_buf *b, const changes *c)
{
    static const char signs[] = "-+~>", classes[] = "mpcv";

    for (size_t i = 0; i < c->count; i++) {
        const change *x = &c->items[i];

        glow_buf_printf(b, "<p class=\"%c\">%c ",
                        classes[strchr(signs, x->sign) - signs], x->sign);
        put_escaped(b, x->text);
        glow_buf_puts(b, "</p>\n");
        for (const change_detail *t = x->details; t; t = t->next) {
            glow_buf_puts(b, "<p class=\"t\">");
            put_escaped(b, t->what);
            glow_buf_puts(b, ": ");
            put_escaped(b, t->before);
            if (t->after)
                glow_buf_puts(b, " \xe2\x86\x92 ");
            put_escaped(b, t->after ? t->after : "");
            glow_buf_puts(b, "</p>\n");
        }
        if (x->note) {
            glow_buf_puts(b, "<p class=\"t\">");
            put_escaped(b, x->note);
            glow_buf_puts(b, "</p>\n");
        }
    }
}

static void
put_row(glow_buf *b, const step *s)
{
    int64_t delta = s->nodes - s->nodes_before;

    glow_buf_printf(b, "<span class=\"n r\">%d</span><span class=\"mono\">",
                    s->number);
    put_escaped(b, s->text);
    if (s->func) {
        glow_buf_puts(b, " <span class=\"k\">@");
        put_escaped(b, s->func);
        glow_buf_puts(b, "</span>");
    }
    glow_buf_printf(b, "</span><span class=\"r\">%" PRId64 " nodes", s->nodes);
    if (delta != 0)
        glow_buf_printf(b, " <span class=\"%s\">%s%" PRId64 "</span>",
                        delta < 0 ? "down" : "up",
                        delta < 0 ? "\xe2\x88\x92" : "+",
                        delta < 0 ? -delta : delta);
    glow_buf_puts(b, "</span><span class=\"r k\">");
    put_time(b, s->seconds);
    glow_buf_puts(b, "</span><span class=\"k w\">");
    if (s->result == GLOW_FAILED)
        glow_buf_puts(b, "failed");
    put_change_counts(b, &s->diff);
    if (s->rewrites > 0)
        glow_buf_printf(b, "%s%" PRId64 " rewrite%s",
                        s->diff.count > 0 ? "; " : "", s->rewrites,
                        s->rewrites > 1 ? "s" : "");
    if (s->note) {
        glow_buf_puts(b, s->diff.count > 0 || s->rewrites > 0 ? "; " : "");
        put_escaped(b, s->note);
    }
    glow_buf_puts(b, "</span>");
}

static void
put_step(glow_buf *b, const step *s)
{
    if (s->diff.count == 0) {
        glow_buf_printf(b, "<div class=\"step %s row\" id=\"s%d\">",
                        s->result == GLOW_FAILED ? "" : "same", s->number);
        put_row(b, s);
        glow_buf_puts(b, "</div>\n");
        return;
    }
    glow_buf_printf(b,
                    "<details class=\"step\" id=\"s%d\"><summary "
                    "class=\"row\">",
                    s->number);
    put_row(b, s);
    glow_buf_puts(b, "</summary><div class=\"diff\">\n");
    if (s->lines)
        glow_buf_puts(b, s->lines);
    if (s->diff.cap > 0)
        glow_buf_printf(b,
                        "<p class=\"x\">%zu more: -print-changed=diff has "
                        "them</p>\n",
                        s->diff.cap);
    glow_buf_puts(b, "</div></details>\n");
}

static void
put_steps(glow_buf *b, const report_state *r)
{
    glow_buf_puts(
        b, "<h2>Steps</h2>\n<input type=\"checkbox\" id=\"all\">"
           "<div class=\"tools\"><input type=\"search\" aria-label=\"search "
           "steps\" placeholder=\"search steps (/)\" data-of=\".step\">"
           "<label class=\"all\" for=\"all\">also those that changed nothing"
           "</label><button data-open=\"1\">open all</button>"
           "<button data-open=\"0\">close all</button></div>\n"
           "<div class=\"list\">\n");
    for (size_t i = 0; i < r->count; i++)
        put_step(b, &r->steps[i]);
    glow_buf_puts(b, "</div>\n");
}

/* Remarks. */

static void
put_cell(glow_buf *b, const char *class, const char *text)
{
    glow_buf_printf(b, "<td class=\"%s\">", class);
    put_escaped(b, text ? text : "");
    glow_buf_puts(b, "</td>");
}

static void
put_remarks(glow_buf *b, const opt *o)
{
    const remark_list *l = o->remarks;

    if (!l || l->count == 0)
        return;
    glow_buf_puts(b, "<h2>Remarks</h2>\n<div class=\"tools\"><input "
                     "type=\"search\" aria-label=\"search remarks\" "
                     "placeholder=\"search remarks\" data-of=\".remark\"></div>"
                     "\n<div class=\"scroll\"><table><thead><tr><th></th>"
                     "<th class=\"r\">step</th><th>pass</th><th>node</th><th>"
                     "remark</th><th>in the model</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < l->count; i++) {
        const remark *r = &l->items[i];

        glow_buf_puts(b, "<tr class=\"remark\">");
        put_cell(b, r->done ? "done" : "missed", r->done ? "done" : "missed");
        glow_buf_printf(b, "<td class=\"r\"><a href=\"#s%d\">%d</a></td>",
                        r->number, r->number);
        put_cell(b, "c", r->pass);
        put_cell(b, "c",
                 r->node ? glow_arena_printf(o->tool.arena, "%%%s (%s)",
                                             r->node, r->op)
                         : NULL);
        put_cell(b, "", r->text);
        put_cell(b, "c", r->loc);
        glow_buf_puts(b, "</tr>\n");
    }
    glow_buf_puts(b, "</tbody></table></div>\n");
}

/* Memory. */

static void
put_maps(glow_buf *b, glow_module *m)
{
    GLOW_FOR_EACH_FUNC(f, m) {
        if (!f->is_program || !f->placed)
            continue;
        glow_buf_puts(b, "<h2>Memory of @");
        put_escaped(b, f->name);
        glow_buf_puts(b, "</h2>\n<div class=\"map\">");
        glow_memory_map(b, f, GLOW_MAP_SVG);
        glow_buf_puts(b, "</div>\n");
    }
}

void
put_report(glow_buf *b, const opt *o, const glow_source *source, glow_module *m)
{
    const report_state *r = o->report;

    glow_buf_puts(b, "<!doctype html>\n<html lang=\"en\"><head><meta "
                     "charset=\"utf-8\"><meta name=\"viewport\" "
                     "content=\"width=device-width,initial-scale=1\">\n"
                     "<title>glow-opt: ");
    put_escaped(b, source->name);
    glow_buf_printf(b, "</title>\n<style>%s</style></head><body>\n",
                    report_style);
    put_head(b, o, source);
    if (r->count > 0) {
        glow_buf_puts(b, "<h2>Along the pipeline</h2>\n");
        put_chart(b, r, "nodes, then instructions", "", nodes_at);
        put_chart(b, r, "bytes moved", "B", bytes_at);
        put_chart(b, r, "time", "s", time_at);
        put_steps(b, r);
        put_passes(b, o);
    }
    put_remarks(b, o);
    if (m)
        put_maps(b, m);
    glow_buf_printf(b,
                    "<footer>glow %s</footer>\n</main>\n<script>%s"
                    "</script></body></html>\n",
                    glow_version(), report_script);
}
