/*
 * B is packed into panels of four columns, as many at a time as fit BLOCK_BYTES
 * in double; A comes in blocks of rows that a cache holds.  The kernel keeps a
 * tile of 4 x 4 sums in registers.  No sum is split, so the result is that of
 * the plain triple loop.
 *
 * After Goto and van de Geijn, Anatomy of High-Performance Matrix
 * Multiplication, ACM TOMS 34(3), 2008.
 */

#include "ir/ops/product.h"

#define TILE 4
#define GROUP_BYTES (INT64_C(32) << 20) /* of packed columns of B */
#define BLOCK_BYTES (INT64_C(1) << 18)  /* of rows of A */
#define MOST_ROWS 64

typedef double pair __attribute__((vector_size(16), aligned(8)));

/* c[i][j] = sum of a[i * depth + k] * b[k * TILE + j]: a whole tile. */
static void
multiply_tile(int64_t depth, const double *a, const double *b,
              double c[TILE][TILE])
{
    const double *a0 = a, *a1 = a0 + depth, *a2 = a1 + depth, *a3 = a2 + depth;
    pair s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0};
    pair s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};

    for (int64_t k = 0; k < depth; k++, b += TILE) {
        pair left = *(const pair *)b, right = *(const pair *)(b + 2);
        pair x0 = {a0[k], a0[k]}, x1 = {a1[k], a1[k]};
        pair x2 = {a2[k], a2[k]}, x3 = {a3[k], a3[k]};

        s00 += x0 * left, s01 += x0 * right;
        s10 += x1 * left, s11 += x1 * right;
        s20 += x2 * left, s21 += x2 * right;
        s30 += x3 * left, s31 += x3 * right;
    }
    *(pair *)&c[0][0] = s00, *(pair *)&c[0][2] = s01;
    *(pair *)&c[1][0] = s10, *(pair *)&c[1][2] = s11;
    *(pair *)&c[2][0] = s20, *(pair *)&c[2][2] = s21;
    *(pair *)&c[3][0] = s30, *(pair *)&c[3][2] = s31;
}

/* The same for one row. */
static void
multiply_row(int64_t depth, const double *a, const double *b, double c[TILE])
{
    pair left = {0}, right = {0};

    for (int64_t k = 0; k < depth; k++, b += TILE) {
        pair x = {a[k], a[k]};

        left += x * *(const pair *)b;
        right += x * *(const pair *)(b + 2);
    }
    *(pair *)&c[0] = left, *(pair *)&c[2] = right;
}

/* Packs columns first, ..., first + count - 1 of B, k by k. */
static void
pack(const glow_product *p, int64_t first, int64_t count, double *panels,
     double *line)
{
    int64_t size = p->depth * TILE;

    for (int64_t k = 0; k < p->depth && p->b_column == 1; k++) {
        glow_load(p->b, p->b_at + k * p->b_depth + first, count, line);
        for (int64_t j = 0; j < count; j++)
            panels[j / TILE * size + k * TILE + j % TILE] = line[j];
    }
    for (int64_t j = 0; j < count && p->b_column != 1; j++) {
        int64_t at = p->b_at + (first + j) * p->b_column;
        double *to = panels + j / TILE * size + j % TILE;

        if (p->b_depth == 1)
            glow_load(p->b, at, p->depth, line);
        else
            for (int64_t k = 0; k < p->depth; k++)
                line[k] = glow_get_double(p->b, at + k * p->b_depth);
        for (int64_t k = 0; k < p->depth; k++)
            to[k * TILE] = line[k];
    }
}

/* Multiplies `rows` rows of A by `count` packed columns into c. */
static void
multiply_block(int64_t depth, int64_t rows, const double *a, int64_t count,
               const double *panels, double *c)
{
    double tile[TILE][TILE];

    for (int64_t j = 0; j < count; j += TILE, panels += depth * TILE) {
        int64_t width = count - j < TILE ? count - j : TILE;

        for (int64_t i = 0; i < rows; i += TILE) {
            int64_t height = rows - i < TILE ? rows - i : TILE;

            if (height == TILE)
                multiply_tile(depth, a + i * depth, panels, tile);
            else
                for (int64_t r = 0; r < height; r++)
                    multiply_row(depth, a + (i + r) * depth, panels, tile[r]);
            for (int64_t r = 0; r < height; r++)
                for (int64_t s = 0; s < width; s++)
                    c[(i + r) * count + j + s] = tile[r][s];
        }
    }
}

static int64_t
clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

void
glow_multiply(const glow_product *p)
{
    int64_t bytes = (int64_t)sizeof(double) * (p->depth + 1);
    int64_t group = clamp(GROUP_BYTES / bytes / TILE * TILE, TILE, p->columns);
    int64_t block = clamp(BLOCK_BYTES / bytes, TILE, MOST_ROWS);

    if (p->rows == 0 || p->columns == 0)
        return;
    block = clamp(block, 1, p->rows);

    glow_arena *own = glow_arena_new();
    int64_t panels_width = (group + TILE - 1) / TILE * TILE;
    int64_t line_size = p->depth > group ? p->depth : group;
    double *panels = GLOW_NEW_ARRAY(own, double, p->depth *panels_width);
    double *line = GLOW_NEW_ARRAY(own, double, line_size);
    double *a = GLOW_NEW_ARRAY(own, double, p->depth *block);
    double *c = GLOW_NEW_ARRAY(own, double, group *block);

    for (int64_t j = 0; j < p->columns; j += group) {
        int64_t count = clamp(p->columns - j, 0, group);

        pack(p, j, count, panels, line);
        for (int64_t i = 0; i < p->rows; i += block) {
            int64_t rows = clamp(p->rows - i, 0, block);

            p->give(p->user, i, rows, a);
            multiply_block(p->depth, rows, a, count, panels, c);
            for (int64_t r = 0; r < rows; r++)
                p->take(p->user, i + r, j, count, c + r * count);
        }
    }
    glow_arena_free(own);
}
