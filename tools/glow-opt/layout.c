/*
 * Layered graph drawing after Sugiyama et al., in four steps:
 *
 *     layers     by the longest path from above; sources sink to their users
 *     bends      an edge has a cell in each layer that it goes through
 *     order      in each layer by the mean position of neighbours, in sweeps
 *     positions  as near to its neighbours as order and widths allow
 *
 * No library, because those available are large (Graphviz has its own program,
 * parsers and fonts).
 */

#include "tools/glow-opt/layout_cells.h"

#include <stdlib.h>

#define SWEEPS 16      /* of the order */
#define GAP 18.0       /* between boxes */
#define BEND_GAP 10.0  /* beside lines */
#define LAYER_GAP 30.0 /* between layers */
#define MARGIN 20.0

/* Layers. */

/* The nodes in topological order. */
static int *
sort_nodes(glow_arena *a, const layout *g, int **first, int **out)
{
    int *degree = GLOW_NEW_ARRAY(a, int, g->n_nodes + 1);
    int *order = GLOW_NEW_ARRAY(a, int, g->n_nodes + 1);
    int *fill = GLOW_NEW_ARRAY(a, int, g->n_nodes + 2);
    int count = 0;

    *first = GLOW_NEW_ARRAY(a, int, g->n_nodes + 2);
    *out = GLOW_NEW_ARRAY(a, int, g->n_edges + 1);
    for (int e = 0; e < g->n_edges; e++) {
        degree[g->edges[e].to]++;
        (*first)[g->edges[e].from + 1]++;
    }
    for (int i = 0; i < g->n_nodes; i++) {
        (*first)[i + 1] += (*first)[i];
        fill[i] = (*first)[i];
        if (degree[i] == 0)
            order[count++] = i;
    }
    for (int e = 0; e < g->n_edges; e++)
        (*out)[fill[g->edges[e].from]++] = g->edges[e].to;
    for (int k = 0; k < count; k++)
        for (int i = (*first)[order[k]]; i < (*first)[order[k] + 1]; i++)
            if (--degree[(*out)[i]] == 0)
                order[count++] = (*out)[i];
    return order;
}

static void
assign_layers(drawing *d)
{
    const layout *g = d->g;
    int *first, *out;
    int *order = sort_nodes(d->arena, g, &first, &out);
    bool *has_above = GLOW_NEW_ARRAY(d->arena, bool, g->n_nodes + 1);

    d->layer = GLOW_NEW_ARRAY(d->arena, int, g->n_nodes + 1);
    for (int k = 0; k < g->n_nodes; k++)
        for (int i = first[order[k]]; i < first[order[k] + 1]; i++) {
            if (d->layer[out[i]] <= d->layer[order[k]])
                d->layer[out[i]] = d->layer[order[k]] + 1;
            has_above[out[i]] = true;
        }
    for (int k = g->n_nodes; k-- > 0;) {
        int n = order[k], least = -1;

        for (int i = first[n]; i < first[n + 1]; i++)
            if (least < 0 || d->layer[out[i]] < least)
                least = d->layer[out[i]];
        if (!has_above[n] && least > 0)
            d->layer[n] = least - 1;
        if (d->layer[n] >= d->n_layers)
            d->n_layers = d->layer[n] + 1;
    }
}

/* Bends. */

static int
span(const drawing *d, const layout_edge *e)
{
    return d->layer[e->to] - d->layer[e->from];
}

/* Marks long edges as far, so that the number of bends is limited. */
static int
mark_far(drawing *d)
{
    layout *g = d->g;
    int64_t room = 8 * (int64_t)g->n_nodes + 2000;
    int *lengths = GLOW_NEW_ARRAY(d->arena, int, d->n_layers + 1);
    int longest = 0, bends = 0;

    for (int e = 0; e < g->n_edges; e++)
        lengths[span(d, &g->edges[e])]++;
    for (int s = 1; s < d->n_layers; s++) {
        room -= (int64_t)lengths[s] * (s - 1);
        if (room < 0)
            break;
        longest = s;
    }
    for (int e = 0; e < g->n_edges; e++) {
        g->edges[e].far = span(d, &g->edges[e]) > longest;
        if (!g->edges[e].far)
            bends += span(d, &g->edges[e]) - 1;
    }
    return bends;
}

/* Counts, or records, `upper` and `lower` as neighbours. */
static void
connect(drawing *d, int upper, int lower, bool counting)
{
    cell *u = &d->cells[upper], *l = &d->cells[lower];

    if (!counting) {
        u->near[1][u->count[1]] = lower;
        l->near[0][l->count[0]] = upper;
    }
    u->count[1]++;
    l->count[0]++;
}

/* Walks each edge cell by cell; bends are numbered after the nodes. */
static void
connect_all(drawing *d, bool counting)
{
    int next = d->g->n_nodes;

    for (int e = 0; e < d->g->n_edges; e++) {
        const layout_edge *edge = &d->g->edges[e];
        int at = edge->from;

        for (int s = 1; !edge->far && s < span(d, edge); s++) {
            connect(d, at, next, counting);
            at = next++;
        }
        if (!edge->far)
            connect(d, at, edge->to, counting);
    }
}

static void
make_cells(drawing *d)
{
    layout *g = d->g;
    int next = g->n_nodes;

    d->n_cells = g->n_nodes + mark_far(d);
    d->cells = GLOW_NEW_ARRAY(d->arena, cell, d->n_cells + 1);
    for (int i = 0; i < d->n_cells; i++)
        d->cells[i] = i < g->n_nodes
                          ? (cell){.node = i, .width = g->nodes[i].width + GAP}
                          : (cell){.node = -1, .width = BEND_GAP};
    connect_all(d, true);
    for (int i = 0; i < d->n_cells; i++)
        for (int side = 0; side < 2; side++) {
            cell *c = &d->cells[i];

            c->near[side] = GLOW_NEW_ARRAY(d->arena, int, c->count[side] + 1);
            c->count[side] = 0;
        }
    connect_all(d, false);

    int *of = GLOW_NEW_ARRAY(d->arena, int, d->n_cells + 1);

    d->rows = GLOW_NEW_ARRAY(d->arena, int *, d->n_layers + 1);
    d->row_count = GLOW_NEW_ARRAY(d->arena, int, d->n_layers + 1);
    for (int i = 0; i < g->n_nodes; i++)
        of[i] = d->layer[i];
    for (int e = 0; e < g->n_edges; e++)
        for (int s = 1; !g->edges[e].far && s < span(d, &g->edges[e]); s++)
            of[next++] = d->layer[g->edges[e].from] + s;
    for (int i = 0; i < d->n_cells; i++)
        d->row_count[of[i]]++;
    for (int l = 0; l < d->n_layers; l++) {
        d->rows[l] = GLOW_NEW_ARRAY(d->arena, int, d->row_count[l] + 1);
        d->row_count[l] = 0;
    }
    for (int i = 0; i < d->n_cells; i++) {
        d->cells[i].place = d->row_count[of[i]];
        d->rows[of[i]][d->row_count[of[i]]++] = i;
    }
}

/* Order. */

static const drawing *sorting; /* glow_sort has no argument for it */

static int
by_key(const void *x, const void *y)
{
    const cell *a = &sorting->cells[*(const int *)x];
    const cell *b = &sorting->cells[*(const int *)y];

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static void
order_row(drawing *d, int l, int side)
{
    for (int i = 0; i < d->row_count[l]; i++) {
        cell *c = &d->cells[d->rows[l][i]];
        double sum = 0;

        for (int k = 0; k < c->count[side]; k++)
            sum += d->cells[c->near[side][k]].place;
        c->key = c->count[side] ? sum / c->count[side] : c->place;
    }
    sorting = d;
    glow_sort(d->rows[l], (size_t)d->row_count[l], sizeof(int), by_key);
    for (int i = 0; i < d->row_count[l]; i++)
        d->cells[d->rows[l][i]].place = i;
}

/* Calls `fn` for each layer downwards, or upwards if `side` is 1. */
static void
sweep(drawing *d, int side, void (*fn)(drawing *d, int l, int side))
{
    for (int k = 0; k < d->n_layers; k++)
        fn(d, side == 0 ? k : d->n_layers - 1 - k, side);
}

/* The result. */

static void
finish(drawing *d)
{
    layout *g = d->g;
    double *top = GLOW_NEW_ARRAY(d->arena, double, d->n_layers + 1);
    double *height = GLOW_NEW_ARRAY(d->arena, double, d->n_layers + 1);
    double left = 0, right = 0, y = MARGIN;
    int next = g->n_nodes;

    for (int i = 0; i < d->n_cells; i++) {
        const cell *c = &d->cells[i];

        left =
            i == 0 || c->x - c->width / 2 < left ? c->x - c->width / 2 : left;
        right =
            i == 0 || c->x + c->width / 2 > right ? c->x + c->width / 2 : right;
    }
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].height > height[d->layer[i]])
            height[d->layer[i]] = g->nodes[i].height;
    for (int l = 0; l < d->n_layers; l++) {
        top[l] = y;
        y += height[l] + LAYER_GAP;
    }
    for (int i = 0; i < g->n_nodes; i++) {
        int l = d->layer[i];

        g->nodes[i].x = d->cells[i].x - left + MARGIN;
        g->nodes[i].y = top[l] + (height[l] - g->nodes[i].height) / 2;
    }
    for (int e = 0; e < g->n_edges; e++) {
        layout_edge *edge = &g->edges[e];

        edge->n_bends = edge->far ? 0 : span(d, edge) - 1;
        edge->x = GLOW_NEW_ARRAY(d->arena, double, 3 * edge->n_bends + 1);
        edge->top = edge->x + edge->n_bends;
        edge->bottom = edge->top + edge->n_bends;
        for (int s = 0; s < edge->n_bends; s++) {
            int l = d->layer[edge->from] + s + 1;

            edge->x[s] = d->cells[next++].x - left + MARGIN;
            edge->top[s] = top[l];
            edge->bottom[s] = top[l] + height[l];
        }
    }
    g->width = right - left + 2 * MARGIN;
    g->height = y - LAYER_GAP + MARGIN;
}

void
layout_run(glow_arena *a, layout *g)
{
    drawing d = {.arena = a, .g = g};

    assign_layers(&d);
    make_cells(&d);
    for (int i = 0; i < SWEEPS; i++)
        sweep(&d, i % 2, order_row);
    layout_place(&d);
    finish(&d);
}
