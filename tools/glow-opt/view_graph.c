/*
 * A graph as SVG.  Constants are within the boxes of their users; so are the
 * names of operands that are too far away for an edge.
 */

#include <string.h>

#include "glow/number.h"
#include "glow/text.h"
#include "tools/glow-opt/layout.h"
#include "tools/glow-opt/view.h"

#define MOST_TEXT 34 /* characters of a line */
#define LINE 14.0
#define PAD 8.0
#define MOST_LINES 10

typedef struct box {
    const glow_node *node; /* NULL: a placeholder that is read */
    const glow_storage *storage;
    const char *lines[MOST_LINES]; /* the first is the operator */
    int n_lines;
} box;

typedef struct picture {
    glow_buf *out;
    glow_arena *arena;
    glow_func *func;
    box *boxes;
    glow_numbering numbers; /* of nodes: those of boxes */
    layout g;
    size_t cap_boxes, cap_nodes, cap_edges;
    glow_map *placeholders; /* box index + 1, by name */
} picture;

static int
add_box(picture *p, box b)
{
    p->boxes = glow_arena_grow(p->arena, p->boxes, (size_t)p->g.n_nodes,
                               &p->cap_boxes, sizeof *p->boxes);
    p->g.nodes = glow_arena_grow(p->arena, p->g.nodes, (size_t)p->g.n_nodes,
                                 &p->cap_nodes, sizeof *p->g.nodes);
    p->boxes[p->g.n_nodes] = b;
    p->g.nodes[p->g.n_nodes] = (layout_node){0};
    return p->g.n_nodes++;
}

static void
add_edge(picture *p, int from, int to)
{
    p->g.edges = glow_arena_grow(p->arena, p->g.edges, (size_t)p->g.n_edges,
                                 &p->cap_edges, sizeof *p->g.edges);
    p->g.edges[p->g.n_edges++] = (layout_edge){.from = from, .to = to};
}

static void
add_line(picture *p, box *b, const char *text)
{
    if (b->n_lines < MOST_LINES - 1)
        b->lines[b->n_lines++] = view_short(p->arena, text, MOST_TEXT);
    else
        b->lines[MOST_LINES - 1] = "\xe2\x80\xa6";
    if (b->n_lines == MOST_LINES - 1 && b->lines[MOST_LINES - 1])
        b->n_lines = MOST_LINES;
}

static int
placeholder_box(picture *p, const glow_storage *s)
{
    uintptr_t known = (uintptr_t)glow_map_get(p->placeholders, s->name);
    box b = {.storage = s};
    int at;

    if (known)
        return (int)known - 1;
    add_line(p, &b, "placeholder");
    add_line(p, &b, glow_arena_printf(p->arena, "@%s", s->name));
    add_line(p, &b, view_type(p->arena, s->value.type));
    at = add_box(p, b);
    glow_map_set(p->placeholders, s->name, (void *)(uintptr_t)(at + 1));
    return at;
}

/* "Filter @conv.w 64x3x3x3 float" */
static void
add_constant(picture *p, box *b, const glow_node *n, int i)
{
    int k = glow_operand_of(n, i);
    const char *what = n->op->traits & GLOW_UNKNOWN ? "" : n->op->in[k].name;

    add_line(p, b,
             glow_arena_printf(p->arena, "%s %s @%s", what,
                               view_type(p->arena, n->in[i]->type),
                               n->in[i]->storage->name));
}

/* The part of the attributes that fits. */
static const char *
begin_of(picture *p, const char *text, size_t size)
{
    size_t end = size;

    if (size > MOST_TEXT)
        for (end = MOST_TEXT - 3; end > 0 && text[end] != ','; end--)
            continue;
    if (end == 0)
        return glow_arena_strndup(p->arena, text, size);
    return glow_arena_printf(p->arena, "%.*s%s", (int)end, text,
                             end < size ? ", \xe2\x80\xa6" : "");
}

static box
box_of(picture *p, const glow_node *n)
{
    box b = {.node = n};
    glow_buf attrs = {.arena = p->arena};

    add_line(p, &b, n->op->name);
    add_line(p, &b, glow_arena_printf(p->arena, "%%%s", n->name));
    for (int i = 0; i < n->n_out; i++)
        add_line(p, &b, view_type(p->arena, n->out[i]->type));
    if (n->n_in == 2 && n->op == &glow_op_save)
        add_line(
            p, &b,
            glow_arena_printf(p->arena, "to @%s", n->in[1]->storage->name));
    if (n->op->traits & GLOW_UNKNOWN)
        glow_buf_attr_list(&attrs, n->unknown_attrs);
    else
        glow_buf_attrs(&attrs, glow_op_schema(n->op), n->attrs, false);
    if (attrs.len > 3)
        add_line(p, &b, begin_of(p, attrs.text + 2, attrs.len - 3));
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && glow_is_constant(n->in[i]))
            add_constant(p, &b, n, i);
    return b;
}

static void
connect_value(picture *p, const glow_value *v, int to)
{
    if (!v || glow_is_constant(v))
        return;
    add_edge(p,
             v->def ? (int)glow_number_of(&p->numbers, v->def)
                    : placeholder_box(p, v->storage),
             to);
}

static void
make_boxes(picture *p)
{
    p->numbers = glow_numbering_new(p->arena, p->func);
    GLOW_FOR_EACH_NODE(n, p->func)
        glow_number_set(&p->numbers, n, (uint32_t)add_box(p, box_of(p, n)));
    GLOW_FOR_EACH_NODE(n, p->func) {
        int to = (int)glow_number_of(&p->numbers, n);

        for (int i = 0; i < n->n_in; i++)
            if (n->op != &glow_op_save || i == 0)
                connect_value(p, n->in[i], to);
        connect_value(p, n->pred, to);
    }
}

static void
measure(picture *p)
{
    for (int i = 0; i < p->g.n_nodes; i++) {
        const box *b = &p->boxes[i];
        size_t most = 0;

        for (int k = 0; k < b->n_lines; k++) {
            size_t n = 0;

            for (const char *c = b->lines[k]; *c; c++)
                n += ((unsigned char)*c & 0xc0) != 0x80;
            most = n > most ? n : most;
        }
        p->g.nodes[i].width = VIEW_CHAR * (double)most + 2 * PAD + 4;
        p->g.nodes[i].height = LINE * b->n_lines + PAD;
    }
}

/* Edges that are too long become text. */
static bool
add_far(picture *p)
{
    bool any = false;

    for (int i = 0; i < p->g.n_edges; i++) {
        const layout_edge *e = &p->g.edges[i];
        const box *from = &p->boxes[e->from];

        if (!e->far)
            continue;
        add_line(
            p, &p->boxes[e->to],
            from->node
                ? glow_arena_printf(p->arena, "from %%%s", from->node->name)
                : glow_arena_printf(p->arena, "from @%s", from->storage->name));
        any = true;
    }
    return any;
}

/* Drawing. */

static void
put_point(glow_buf *b, const char *before, double x, double y)
{
    glow_buf_printf(b, "%s%d %d", before, (int)(x + 0.5), (int)(y + 0.5));
}

/* Down to x, y, as a curve that leaves and arrives upright. */
static void
curve_to(glow_buf *b, double x0, double y0, double x, double y)
{
    double middle = (y0 + y) / 2;

    if ((int)(x0 + 0.5) == (int)(x + 0.5)) {
        put_point(b, "L", x, y);
        return;
    }
    put_point(b, "C", x0, middle);
    put_point(b, " ", x, middle);
    put_point(b, " ", x, y);
}

static void
put_edge(picture *p, const layout_edge *e)
{
    const layout_node *from = &p->g.nodes[e->from], *to = &p->g.nodes[e->to];
    double x = from->x, y = from->y + from->height;

    if (e->far)
        return;
    glow_buf_puts(p->out, "<path d=\"");
    put_point(p->out, "M", x, y);
    for (int i = 0; i < e->n_bends; i++) {
        curve_to(p->out, x, y, e->x[i], e->top[i]);
        x = e->x[i];
        y = e->bottom[i];
        put_point(p->out, "L", x, y);
    }
    curve_to(p->out, x, y, to->x, to->y);
    glow_buf_puts(p->out, "\" marker-end=\"url(#tip)\"/>\n");
}

static void
put_box(picture *p, int i)
{
    const box *b = &p->boxes[i];
    const layout_node *at = &p->g.nodes[i];
    double left = at->x - at->width / 2;
    glow_buf *out = p->out;

    glow_buf_printf(out, "<g class=\"n %s\"><title>",
                    b->node ? glow_op_family(b->node->op) : "io");
    if (b->node)
        put_full_text(out, p->arena, b->node);
    else
        put_escaped(out, glow_arena_printf(
                             p->arena, "placeholder @%s : %s", b->storage->name,
                             glow_type_text(p->arena, b->storage->value.type)));
    glow_buf_puts(out, "</title><rect rx=\"4\"");
    put_number(out, "x", left);
    put_number(out, "y", at->y);
    put_number(out, "width", at->width);
    put_number(out, "height", at->height);
    glow_buf_puts(out, "/><rect class=\"b\" width=\"4\"");
    put_number(out, "x", left);
    put_number(out, "y", at->y);
    put_number(out, "height", at->height);
    glow_buf_puts(out, "/>\n");
    for (int k = 0; k < b->n_lines; k++)
        put_words(out, k == 0 ? "o" : "s", left + PAD + 3,
                  at->y + LINE * (k + 1) - 1, b->lines[k]);
    glow_buf_puts(out, "</g>\n");
}

view_size
put_graph_svg(glow_buf *b, glow_arena *a, glow_func *f)
{
    picture p = {
        .out = b, .arena = a, .func = f, .placeholders = glow_map_new(a)};

    make_boxes(&p);
    measure(&p);
    layout_run(a, &p.g);
    if (add_far(&p)) { /* layers stay the same */
        measure(&p);
        layout_run(a, &p.g);
    }
    glow_buf_puts(b, "<defs><marker id=\"tip\" viewBox=\"0 0 6 6\" refX=\"5\" "
                     "refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" "
                     "orient=\"auto\"><path d=\"M0 0L5 3L0 6\"/></marker>"
                     "</defs>\n");
    for (int i = 0; i < p.g.n_edges; i++)
        put_edge(&p, &p.g.edges[i]);
    for (int i = 0; i < p.g.n_nodes; i++)
        put_box(&p, i);
    return (view_size){p.g.width, p.g.height};
}
