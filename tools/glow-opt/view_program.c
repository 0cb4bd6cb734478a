/*
 * A program as SVG: time runs downwards, an instruction in each row; a buffer
 * is a bar over its live range, with a dot where it is written and a ring where
 * it is read.  Buffers with disjoint live ranges share a column.
 */

#include <inttypes.h>

#include "glow/number.h"
#include "glow/text.h"
#include "tools/glow-opt/view.h"

#define ROW 18.0
#define COLUMN 22.0
#define TOP 22.0
#define LEFT 20.0
#define MOST_TEXT 46

typedef struct life { /* of a buffer */
    const glow_node *node;
    int from, to; /* rows */
    int column;
} life;

typedef struct picture {
    glow_buf *out;
    glow_arena *arena;
    glow_func *func;
    glow_numbering numbers;
    life *lives;
    int *row;     /* of each node, by its number */
    int *life_of; /* the same, of buffers: index, or -1 */
    int n_lives, n_rows, n_columns;
} picture;

static bool
is_buffer(const glow_node *n)
{
    return n->op == &glow_op_alloc ||
           (n->op == &glow_op_weight && !n->out[0]->storage->is_constant);
}

/* True for instructions that compute; declarations have no row. */
static bool
is_row(const glow_node *n)
{
    return n->op != &glow_op_alloc && n->op != &glow_op_dealloc &&
           n->op != &glow_op_weight && n->op != &glow_op_tensorview;
}

static uint32_t
number_of(const picture *p, const glow_node *n)
{
    return glow_number_of(&p->numbers, n);
}

static life *
life_of(const picture *p, glow_value *v)
{
    int i = v ? p->life_of[number_of(p, glow_base_buffer(v)->def)] : -1;

    return i < 0 ? NULL : &p->lives[i];
}

static void
collect(picture *p)
{
    uint32_t number = 0;

    p->numbers = glow_number_nodes(p->arena, p->func);
    p->lives = GLOW_NEW_ARRAY(p->arena, life, p->func->count + 1);
    p->row = GLOW_NEW_ARRAY(p->arena, int, p->func->count + 1);
    p->life_of = GLOW_NEW_ARRAY(p->arena, int, p->func->count + 1);
    GLOW_FOR_EACH_NODE(n, p->func) {
        p->row[number] = p->n_rows;
        p->life_of[number] = is_buffer(n) ? p->n_lives : -1;
        if (is_buffer(n))
            p->lives[p->n_lives++] =
                (life){n, n->op == &glow_op_weight ? 0 : p->n_rows, -1, 0};
        if (n->op == &glow_op_dealloc)
            life_of(p, n->out[0])->to = p->n_rows;
        p->n_rows += is_row(n);
        number++;
    }
    for (int i = 0; i < p->n_lives; i++) {
        if (p->lives[i].to < 0)
            p->lives[i].to = p->n_rows;
        if (p->lives[i].to == p->lives[i].from)
            p->lives[i].to++;
    }
}

/*
 * Assigns columns by linear scan: the leftmost free one; live ranges are sorted
 * by `from`.
 */
static void
give_columns(picture *p)
{
    int *free_at = GLOW_NEW_ARRAY(p->arena, int, p->n_lives + 1);

    for (int i = 0; i < p->n_lives; i++) {
        life *l = &p->lives[i];

        while (l->column < p->n_columns && free_at[l->column] > l->from)
            l->column++;
        if (l->column == p->n_columns)
            p->n_columns++;
        free_at[l->column] = l->to;
    }
}

static double
column_x(const life *l)
{
    return LEFT + COLUMN * (l->column + 0.5);
}

static const char *
life_class(const picture *p, const life *l)
{
    const glow_region *r = l->node->place ? l->node->place->region : NULL;

    if (l->node->op == &glow_op_weight)
        return "io";
    return r && r != p->func->regions && r->next ? "sum" : "map";
}

static void
put_life(const picture *p, const life *l)
{
    const glow_node *n = l->node;

    glow_buf_printf(p->out, "<g class=\"%s\"><rect class=\"life\" rx=\"4\"",
                    life_class(p, l));
    put_number(p->out, "x", column_x(l) - 6);
    put_number(p->out, "y", TOP + ROW * l->from + 2);
    put_number(p->out, "width", 12);
    put_number(p->out, "height", ROW * (l->to - l->from) - 4);
    glow_buf_puts(p->out, "><title>");
    put_full_text(p->out, p->arena, n);
    glow_buf_printf(p->out, "\n%" PRId64 " bytes</title></rect></g>\n",
                    glow_type_bytes(n->out[0]->type));
}

static void
put_mark(const picture *p, glow_value *v, double y, bool writes)
{
    const life *l = life_of(p, v);

    if (!l)
        return;
    glow_buf_printf(p->out, "<g class=\"%s\"><circle class=\"%s\"",
                    life_class(p, l), writes ? "dot" : "ring");
    put_number(p->out, "cx", column_x(l));
    put_number(p->out, "cy", y);
    glow_buf_puts(p->out, writes ? " r=\"4.5\"/></g>\n" : " r=\"3.5\"/></g>\n");
}

/* A line from the first buffer of the instruction to its words. */
static void
put_rule(const picture *p, const glow_node *n, double y, double right)
{
    double left = right;

    for (int i = 0; i < n->n_in + n->n_out; i++) {
        const life *l =
            life_of(p, i < n->n_in ? n->in[i] : n->out[i - n->n_in]);

        if (l && column_x(l) < left)
            left = column_x(l);
    }
    glow_buf_puts(p->out, "<path class=\"rule\" d=\"M");
    glow_buf_printf(p->out, "%d %dH%d\"/>\n", (int)left, (int)y,
                    (int)right - 4);
}

static void
put_row(const picture *p, const glow_node *n, double right)
{
    double y = TOP + ROW * (p->row[number_of(p, n)] + 0.5);
    const glow_value *r = n->n_out > 0 ? n->out[0] : NULL;
    const char *name = view_short(p->arena, n->name, MOST_TEXT - 20);
    const char *type = r ? view_type(p->arena, r->type) : "";

    glow_buf_printf(p->out, "<g class=\"%s\"><title>", glow_op_family(n->op));
    put_full_text(p->out, p->arena, n);
    glow_buf_puts(p->out, "</title>");
    put_rule(p, n, y, right);
    for (int i = 0; i < n->n_in; i++)
        put_mark(p, n->in[i], y, false);
    for (int i = 0; i < n->n_out; i++)
        put_mark(p, n->out[i], y, true);
    put_words(p->out, "s e", right + 32, y + 4,
              glow_arena_printf(p->arena, "%d", p->row[number_of(p, n)]));
    glow_buf_puts(p->out, "<rect class=\"dot\" width=\"4\" height=\"12\"");
    put_number(p->out, "x", right + 40);
    put_number(p->out, "y", y - 6);
    glow_buf_puts(p->out, "/>");
    put_words(p->out, "o", right + 50, y + 4,
              view_short(p->arena,
                         n->queue ? glow_arena_printf(p->arena, "%s, %s",
                                                      n->op->name, n->queue)
                                  : n->op->name,
                         24));
    put_words(p->out, "s", right + 50 + VIEW_CHAR * 25, y + 4,
              glow_arena_printf(p->arena, "%%%s", name));
    put_words(p->out, "s", right + 50 + VIEW_CHAR * (25 + MOST_TEXT - 18),
              y + 4, type);
    glow_buf_puts(p->out, "</g>\n");
}

view_size
put_program_svg(glow_buf *b, glow_arena *a, glow_func *f)
{
    picture p = {.out = b, .arena = a, .func = f};
    double right;

    collect(&p);
    give_columns(&p);
    right = LEFT + COLUMN * p.n_columns + 8;
    put_words(b, "s", LEFT, 10,
              "bars: buffers while they live; dot: written; ring: read; gray: "
              "placeholders");
    for (int i = 0; i < p.n_lives; i++)
        put_life(&p, &p.lives[i]);
    GLOW_FOR_EACH_NODE(n, f)
        if (is_row(n))
            put_row(&p, n, right);
    return (view_size){right + 50 + VIEW_CHAR * (25 + MOST_TEXT + 20),
                       TOP + ROW * p.n_rows + 20};
}
