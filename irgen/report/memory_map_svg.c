/*
 * Memory maps as SVG for pages and slides: no script, and colors of the reader's
 * light or dark scheme.
 *
 * A region that buffers share is a panel, with steps to the right and offsets
 * upwards, and the live bytes below it on the same steps.  A region of permanent
 * buffers is a bar.  Colors stand for the operator that writes a buffer.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/svg.h"
#include "irgen/report/memory_map_svg.h"
#include "irgen/report/svg.h"

/* Of light paper; `style` says more to those who read it. */
static const glow_svg_colors colors[] = {
    {"else", "#9fdcdd", "#dff4f4", "#15888d"},
    {"sum", "#a9ccf4", "#e4effc", "#3b7cc4"},
    {"map", "#a9dcbb", "#e3f4e9", "#2f9e5f"},
    {"move", "#f2cf8c", "#fcf1da", "#b97f17"},
    {"call", "#cfbaf1", "#f0e9fb", "#9061d6"},
    {"io", "#cbd2d9", "#eceff2", "#7d8894"},
    {"odd", "#f2b0ae", "#fce6e5", "#d4504e"},
    {"const", "#ded5c2", "#f3efe7", "#9a8a6a"},
    {0},
};

static const glow_svg_rule rules[] = {
    {"text", "title", "font-size=\"20\" font-weight=\"600\""},
    {"text", "head", "font-size=\"14\" font-weight=\"600\""},
    {"text", "soft", "fill=\"#56616d\""},
    {"text", "peak", "fill=\"#c02a4b\""},
    {"text", "bound", "fill=\"#14713f\""},
    {"text", "room", "fill=\"#2458b8\""},
    {"text", "end", "text-anchor=\"end\""},
    {"text", "mid", "text-anchor=\"middle\""},
    {"rect", "panel", "fill=\"#f7f8fa\" stroke=\"#e1e6eb\""},
    {"rect", "now", "fill=\"#c02a4b\" opacity=\".13\""},
    {"rect", "life", "fill=\"$w\""},
    {"rect", "busy", "fill=\"$f\""},
    {"rect", "key", "fill=\"$f\" stroke=\"$c\" stroke-width=\".6\""},
    {"rect", "edge", "fill=\"none\" stroke=\"$c\" stroke-width=\".6\""},
    {"line", "peak", "stroke=\"#c02a4b\" stroke-dasharray=\"6 3\""},
    {"line", "bound", "stroke=\"#14713f\" stroke-dasharray=\"6 3\""},
    {"line", "room", "stroke=\"#2458b8\" stroke-dasharray=\"6 3\""},
    {"line", "", "stroke=\"#e1e6eb\""},
    {"path", "", "fill=\"#e1e6eb\" stroke=\"#56616d\""},
    {0},
};

/* Dark schemes and the pointer; a renderer without variables skips all of it. */
static const char style[] =
    "@supports(fill:var(--f)){.memory-map{--bg:#fff;--ink:#1c2127;--soft:#56616d;--rule:#e1e6eb;"
    "--panel:#f7f8fa;--peak:#c02a4b;--bound:#14713f;--room:#2458b8}"
    ".memory-map .sum{--f:#a9ccf4;--w:#e4effc;--c:#3b7cc4}"
    ".memory-map .map{--f:#a9dcbb;--w:#e3f4e9;--c:#2f9e5f}"
    ".memory-map .move{--f:#f2cf8c;--w:#fcf1da;--c:#b97f17}"
    ".memory-map .call{--f:#cfbaf1;--w:#f0e9fb;--c:#9061d6}"
    ".memory-map .io{--f:#cbd2d9;--w:#eceff2;--c:#7d8894}"
    ".memory-map .odd{--f:#f2b0ae;--w:#fce6e5;--c:#d4504e}"
    ".memory-map .else{--f:#9fdcdd;--w:#dff4f4;--c:#15888d}"
    ".memory-map .const{--f:#ded5c2;--w:#f3efe7;--c:#9a8a6a}"
    "@media(prefers-color-scheme:dark){.memory-map{--bg:#15191e;--ink:#eceff3;"
    "--soft:#b4bec8;--rule:#2c333b;--panel:#1c2128;--peak:#ff7d97;"
    "--bound:#5fd394;--room:#86b2ff}"
    ".memory-map .sum{--f:#265692;--w:#182c46}"
    ".memory-map .map{--f:#22653f;--w:#16352a}"
    ".memory-map .move{--f:#755416;--w:#382c16}"
    ".memory-map .call{--f:#573c8a;--w:#2b2342}"
    ".memory-map .io{--f:#47515c;--w:#272e36}"
    ".memory-map .odd{--f:#863231;--w:#412020}"
    ".memory-map .else{--f:#11666a;--w:#123638}"
    ".memory-map .const{--f:#564d3b;--w:#2e2b25}}"
    ".memory-map,.memory-map .ground{background:var(--bg);fill:var(--bg)}"
    ".memory-map text{font:11px system-ui,'DejaVu Sans',sans-serif;"
    "fill:var(--ink)}.memory-map .soft{fill:var(--soft)}"
    ".memory-map .title{font-size:20px;font-weight:600}"
    ".memory-map .head{font-size:14px;font-weight:600}"
    ".memory-map .end{text-anchor:end}.memory-map .mid{text-anchor:middle}"
    ".memory-map .peak{fill:var(--peak)}.memory-map .bound{fill:var(--bound)}"
    ".memory-map .room{fill:var(--room)}"
    ".memory-map rect.panel{fill:var(--panel);stroke:var(--rule)}"
    ".memory-map line{stroke:var(--rule)}"
    ".memory-map line.peak{stroke:var(--peak);stroke-dasharray:6 3}"
    ".memory-map line.bound{stroke:var(--bound);stroke-dasharray:6 3}"
    ".memory-map line.room{stroke:var(--room);stroke-dasharray:6 3}"
    ".memory-map rect.now{fill:var(--peak);opacity:.13}"
    ".memory-map rect.life{fill:var(--w)}.memory-map rect.busy,"
    ".memory-map rect.key{fill:var(--f)}.memory-map rect.edge{fill:none}"
    ".memory-map rect.edge,.memory-map rect.key{stroke:var(--c);"
    "stroke-width:.6}.memory-map .alive rect.edge{stroke-width:1.8}"
    ".memory-map .b:hover rect.edge{stroke:var(--ink);stroke-width:1.8}"
    ".memory-map .b text{pointer-events:none}"
    ".memory-map path{fill:var(--rule);stroke:var(--soft)}}";

/* The legend of the families of operators. */
static const struct {
    const char *family, *words;
} legend[] = {
    {"sum", "convolutions, products, sums"},
    {"map", "element by element"},
    {"move", "moves data"},
    {"else", "other operators"},
    {"call", "calls"},
    {"odd", "unknown"},
    {"const", "weights"},
    {"io", "inputs and outputs"},
};

/* The picture. */

static bool
has_family(const glow_timeline *t, const char *family)
{
    for (uint32_t i = 0; i < t->n_spaces; i++)
        for (uint32_t k = 0; k < t->spaces[i].n_buffers; k++)
            if (strcmp(glow_buffer_family(t, &t->spaces[i].buffers[k]),
                       family) == 0)
                return true;
    return false;
}

static void
put_legend(glow_map_picture *p)
{
    double x = GLOW_MAP_LEFT;

    p->y += 34;
    for (size_t i = 0; i < sizeof legend / sizeof *legend; i++) {
        if (!has_family(p->t, legend[i].family))
            continue;
        glow_buf_printf(p->out, "<g class=\"%s\">", legend[i].family);
        glow_svg_rect(p->out, "key", (glow_svg_box){x, p->y - 10, 12, 12});
        glow_buf_puts(p->out, "/></g>");
        glow_svg_text(p->out, "name", x + 18, p->y, legend[i].words);
        x += 18 + 5.8 * (double)strlen(legend[i].words) + 22;
    }
    if (p->t->n_steps <= GLOW_MAP_MOST_APART)
        glow_svg_text(p->out, "soft", x, p->y, "pale: nobody uses it now");
}

/* The title: the function, and the sum over all regions. */
static void
put_heading(glow_map_picture *p)
{
    int64_t all = 0;

    for (uint32_t i = 0; i < p->t->n_spaces; i++)
        if (glow_add_overflow(all, p->t->spaces[i].peak, &all))
            all = INT64_MAX;
    glow_svg_text(p->out, "title", GLOW_MAP_LEFT, 36,
                  glow_arena_printf(p->arena, "Memory of @%s", p->t->f->name));
    glow_svg_text(p->out, "soft", GLOW_MAP_LEFT, 56,
                  glow_arena_printf(
                      p->arena, "%" PRIu32 " steps; %s in %" PRIu32 " regions",
                      p->t->n_steps, glow_bytes_text(p->arena, all),
                      p->t->n_spaces));
    p->y = 58;
}

/* Shared regions first. */
static void
put_spaces(glow_map_picture *p)
{
    for (int shared = 1; shared >= 0; shared--)
        for (uint32_t i = 0; i < p->t->n_spaces; i++)
            if (p->t->spaces[i].shared == (shared == 1))
                glow_map_space(p, &p->t->spaces[i]);
}

void
glow_map_svg(glow_buf *b, const glow_timeline *t)
{
    glow_buf body = {.arena = t->arena};
    glow_map_picture p = {.out = &body, .t = t, .arena = t->arena};

    put_heading(&p);
    put_spaces(&p);
    put_legend(&p);
    glow_buf_printf(b,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                    "class=\"memory-map\" viewBox=\"0 0 %d %d\" "
                    "font-family=\"system-ui,'DejaVu Sans',sans-serif\" "
                    "font-size=\"11\" fill=\"#1c2127\">\n"
                    "<title>memory of @",
                    (int)GLOW_MAP_PAGE, (int)p.y + 24);
    glow_svg_escaped(b, t->f->name);
    glow_buf_printf(b,
                    "</title>\n<style>%s</style>\n"
                    "<rect class=\"ground\" width=\"100%%\" height=\"100%%\" "
                    "fill=\"#fff\"/>\n",
                    style);
    glow_svg_paint(b, body.text, colors, rules);
    glow_buf_puts(b, "</svg>\n");
}
