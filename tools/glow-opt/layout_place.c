/*
 * Positions within layers of given order: in sweeps, each layer is moved as
 * near to its neighbours as order and widths allow.  This is isotonic
 * regression, solved in one pass by pool adjacent violators (PAVA).  Finally
 * chains are straightened where there is space.
 */

#include "tools/glow-opt/layout_cells.h"

#define SWEEPS 16

typedef struct block { /* cells that touch, and move as one */
    double sum, weight;
    int count;
} block;

/* Weight of an edge: straight lines before boxes, chains before branches. */
static double
pull(const cell *x, const cell *y, int side)
{
    double p = x->node < 0 && y->node < 0   ? 8
               : x->node < 0 || y->node < 0 ? 2
                                            : 1;

    return x->count[side] == 1 && y->count[1 - side] == 1 ? 6 * p : p;
}

/* Moves the row to its neighbours at `side` (2: at both). */
static void
place_row(drawing *d, int l, int side)
{
    int count = d->row_count[l], n = 0;
    block *blocks = GLOW_NEW_ARRAY(d->arena, block, count + 1);
    double offset = 0;

    for (int i = 0; i < count; i++) {
        cell *c = &d->cells[d->rows[l][i]];
        double sum = 0, weight = 0;

        offset += c->width / 2;
        for (int s = 0; s < 2; s++)
            for (int k = 0; k < c->count[s] && (side == 2 || side == s); k++) {
                const cell *near = &d->cells[c->near[s][k]];

                sum += near->x * pull(c, near, s);
                weight += pull(c, near, s);
            }
        if (weight == 0) {
            weight = 0.01;
            sum = c->x * weight;
        }
        blocks[n++] = (block){sum - offset * weight, weight, 1};
        while (n > 1 && blocks[n - 2].sum * blocks[n - 1].weight >
                            blocks[n - 1].sum * blocks[n - 2].weight) {
            blocks[n - 2].sum += blocks[n - 1].sum;
            blocks[n - 2].weight += blocks[n - 1].weight;
            blocks[n - 2].count += blocks[n - 1].count;
            n--;
        }
        c->key = offset;
        offset += c->width / 2;
    }
    for (int b = 0, i = 0; b < n; b++)
        for (int k = 0; k < blocks[b].count; k++, i++) {
            cell *c = &d->cells[d->rows[l][i]];

            c->x = blocks[b].sum / blocks[b].weight + c->key;
        }
}

/*
 * True if the cell and its neighbour at `side` have no other neighbours there.
 */
static bool
is_linked(const drawing *d, const cell *c, int side)
{
    return c->count[side] == 1 &&
           d->cells[c->near[side][0]].count[1 - side] == 1;
}

/* Narrows [*low, *high] to the positions of `c` between the cells beside it. */
static void
narrow(const drawing *d, int l, const cell *c, double *low, double *high)
{
    const int *row = d->rows[l];

    if (c->place > 0) {
        const cell *left = &d->cells[row[c->place - 1]];
        double least = left->x + (left->width + c->width) / 2;

        *low = least > *low ? least : *low;
    }
    if (c->place + 1 < d->row_count[l]) {
        const cell *right = &d->cells[row[c->place + 1]];
        double most = right->x - (right->width + c->width) / 2;

        *high = most < *high ? most : *high;
    }
}

/*
 * Straightens the chain that begins at `first` in layer `l`, if there is space.
 */
static void
straighten(drawing *d, int l, cell *first)
{
    double low = -1e12, high = 1e12, sum = 0, x;
    cell *c = first;
    int count = 0;

    for (;; c = &d->cells[c->near[1][0]]) {
        narrow(d, l + count++, c, &low, &high);
        sum += c->x;
        if (!is_linked(d, c, 1))
            break;
    }
    if (low > high)
        return;
    x = sum / count;
    x = x < low ? low : x > high ? high : x;
    for (c = first; count-- > 0; c = count ? &d->cells[c->near[1][0]] : c)
        c->x = x;
}

static void
straighten_all(drawing *d)
{
    for (int l = 0; l < d->n_layers; l++)
        for (int i = 0; i < d->row_count[l]; i++) {
            cell *c = &d->cells[d->rows[l][i]];

            if (!is_linked(d, c, 0) && is_linked(d, c, 1))
                straighten(d, l, c);
        }
}

void
layout_place(drawing *d)
{
    for (int l = 0; l < d->n_layers; l++)
        place_row(d, l, 0);
    for (int i = 0; i < SWEEPS; i++)
        for (int k = 0; k < d->n_layers; k++)
            place_row(d, i % 2 ? d->n_layers - 1 - k : k, i % 2);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < d->n_layers; k++)
            place_row(d, i % 2 ? k : d->n_layers - 1 - k, 2);
    straighten_all(d);
    straighten_all(d); /* there may be space now */
}
