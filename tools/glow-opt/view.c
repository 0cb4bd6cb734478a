/*
 * -view=svg: functions as pictures, one below the other.
 *
 * Colors are by the traits of operators, so that operators of plugins are
 * colored, too; they follow the reader's light or dark scheme.
 */

#include "tools/glow-opt/view.h"

#include <inttypes.h>
#include <string.h>

#include "glow/svg.h"
#include "glow/text.h"

/* Colors of the light scheme, for renderers without CSS. */
static const glow_svg_colors colors[] = {
    {"", NULL, NULL, "#98a2ad"},
    {"sum", NULL, NULL, "#3b82d6"},
    {"map", NULL, NULL, "#2f9e5f"},
    {"move", NULL, NULL, "#c98a1b"},
    {"call", NULL, NULL, "#9061d6"},
    {"io", NULL, NULL, "#7d8894"},
    {"odd", NULL, NULL, "#d4504e"},
    {"else", NULL, NULL, "#15a3a8"},
    {0},
};

static const glow_svg_rule rules[] = {
    {"text", "o", "font-weight=\"bold\""},
    {"text", "s", "fill=\"#5d6874\""},
    {"text", "h", "font-size=\"15\" font-weight=\"bold\""},
    {"text", "m", "text-anchor=\"middle\""},
    {"text", "e", "text-anchor=\"end\""},
    {"rect", "b", "fill=\"$c\""},
    {"rect", "dot", "fill=\"$c\""},
    {"rect", "life", "fill=\"$c\" opacity=\".3\""},
    {"rect", "", "fill=\"#f7f8fa\" stroke=\"$c\""},
    {"circle", "dot", "fill=\"$c\""},
    {"circle", "ring", "fill=\"#fff\" stroke=\"$c\" stroke-width=\"2\""},
    {"path", "rule", "fill=\"none\" stroke=\"#e4e8ec\""},
    {"path", "", "fill=\"none\" stroke=\"#98a2ad\""},
    {0},
};

/*
 * CSS for the dark scheme and hovering; a renderer without CSS variables
 * ignores it.
 */
static const char style[] =
    "@supports(fill:var(--c)){:root{--bg:#fff;--ink:#1c2127;--soft:#5d6874;--line:#98a2ad;"
    "--box:#f7f8fa;--rule:#e4e8ec}"
    "@media(prefers-color-scheme:dark){:root{--bg:#15191e;--ink:#e5e9ee;"
    "--soft:#98a4b1;--line:#69747f;--box:#20262d;--rule:#2c333b}}"
    "svg{background:var(--bg)}.ground{fill:var(--bg)}"
    "text{font:11px 'DejaVu Sans Mono',Menlo,Consolas,monospace;"
    "fill:var(--ink)}"
    ".o{font-weight:bold}.s{fill:var(--soft)}"
    ".h{font-size:15px;font-weight:bold}.m{text-anchor:middle}"
    ".e{text-anchor:end}"
    ".n rect{fill:var(--box);stroke:var(--c,var(--line))}"
    ".n rect.b{fill:var(--c,var(--line));stroke:none}"
    ".n:hover rect:not(.b){stroke-width:2}"
    "path{fill:none;stroke:var(--line)}"
    ".sum{--c:#3b82d6}.map{--c:#2f9e5f}.move{--c:#c98a1b}"
    ".call{--c:#9061d6}.io{--c:#7d8894}.odd{--c:#d4504e}.else{--c:#15a3a8}"
    ".life{fill:var(--c);opacity:.3}.life:hover{opacity:.6}"
    ".rule{stroke:var(--rule)}.dot{fill:var(--c)}"
    ".ring{fill:var(--bg);stroke:var(--c);stroke-width:2}}";

/* Text. */

const char *
view_type(glow_arena *a, const glow_type *t)
{
    glow_buf b = {.arena = a};

    for (int i = 0; i < t->shape.rank; i++)
        glow_buf_printf(&b, "%s%" PRId64, i ? "\xc3\x97" : "", t->shape.at[i]);
    glow_buf_printf(&b, "%s%s", t->shape.rank ? " " : "",
                    glow_kind_get(t->elem)->name);
    return b.text;
}

/* The byte after `count` characters from `text` on. */
static size_t
after_characters(const char *text, size_t count)
{
    size_t at = 0;

    while (text[at] && (count > 0 || ((unsigned char)text[at] & 0xc0) == 0x80))
        if (((unsigned char)text[at++] & 0xc0) != 0x80)
            count--;
    return at;
}

static size_t
count_characters(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

const char *
view_short(glow_arena *a, const char *text, size_t most)
{
    size_t n = count_characters(text);

    if (n <= most)
        return text;

    size_t head = (most - 1) / 2;
    size_t tail = most - 1 - head;

    return glow_arena_printf(a, "%.*s\xe2\x80\xa6%s",
                             (int)after_characters(text, head), text,
                             text + after_characters(text, n - tail));
}

static void
put_loc(glow_buf *b, const glow_loc *l)
{
    for (int i = 0; i < l->n_parts; i++)
        put_loc(b, l->parts[i]);
    if (l->n_parts > 0)
        return;
    glow_buf_printf(b, "\n%s%s%s", l->node ? l->node : l->text,
                    l->node ? " in " : "", l->node ? l->text : "");
    if (l->kind == GLOW_LOC_FILE)
        glow_buf_printf(b, ":%d:%d", l->line, l->column);
}

void
put_full_text(glow_buf *b, glow_arena *a, const glow_node *n)
{
    glow_buf text = {.arena = a};

    glow_print_node(&text, n, NULL);
    if (n->loc)
        put_loc(&text, n->loc);
    put_escaped(b, text.text);
}

/* XML. */

void
put_escaped(glow_buf *b, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            glow_buf_printf(b, "&#%d;", c);
        else
            glow_buf_putc(b,
                          (c < 0x20 && c != '\n') || c == 0x7f ? '?' : (char)c);
    }
}

void
put_number(glow_buf *b, const char *name, double v)
{
    int64_t tenths = (int64_t)(v * 10 + (v < 0 ? -0.5 : 0.5));

    glow_buf_printf(b, " %s=\"%s%" PRId64 ".%d\"", name, tenths < 0 ? "-" : "",
                    (tenths < 0 ? -tenths : tenths) / 10,
                    (int)((tenths < 0 ? -tenths : tenths) % 10));
}

void
put_words(glow_buf *b, const char *class, double x, double y, const char *words)
{
    glow_buf_printf(b, "<text class=\"%s\"", class);
    put_number(b, "x", x);
    put_number(b, "y", y);
    glow_buf_putc(b, '>');
    put_escaped(b, words);
    glow_buf_puts(b, "</text>\n");
}

/* The picture. */

void
put_svg(glow_buf *b, glow_arena *a, glow_module *m)
{
    glow_buf all = {.arena = a};
    view_size size = {320, 16};

    GLOW_FOR_EACH_FUNC(f, m) {
        glow_buf one = {.arena = a};
        view_size s = f->is_program ? put_program_svg(&one, a, f)
                                    : put_graph_svg(&one, a, f);

        put_words(&all, "h", 20, size.height + 18,
                  glow_arena_printf(a, "%s @%s",
                                    f->is_program ? "program" : "function",
                                    f->name));
        glow_buf_puts(&all, "<g");
        glow_buf_printf(&all, " transform=\"translate(0 %d)\">\n",
                        (int)size.height + 28);
        if (one.text)
            glow_buf_add(&all, one.text, one.len);
        glow_buf_puts(&all, "</g>\n");
        size.height += 36 + s.height;
        if (s.width > size.width)
            size.width = s.width;
    }
    glow_buf_printf(
        b,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
        "height=\"%d\" viewBox=\"0 0 %d %d\" "
        "font-family=\"'DejaVu Sans Mono',Menlo,Consolas,"
        "monospace\" font-size=\"11\" fill=\"#1c2127\">\n<style>%s</style>\n"
        "<rect class=\"ground\" width=\"100%%\" height=\"100%%\" "
        "fill=\"#fff\"/>\n",
        (int)size.width, (int)size.height, (int)size.width, (int)size.height,
        style);
    if (all.text)
        glow_svg_paint(b, all.text, colors, rules);
    glow_buf_puts(b, "</svg>\n");
}
