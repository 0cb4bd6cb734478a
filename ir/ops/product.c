/*
 * Matrix product after Goto and van de Geijn, Anatomy of High-Performance
 * Matrix Multiplication, ACM TOMS 34(3), 2008.
 *
 * B is packed into panels of eight columns, as many at a time as fit
 * GROUP_BYTES in double; A comes in blocks of rows that a cache holds.  The
 * kernel keeps a tile of 4 x 8 sums in registers, or of 8 x 8 where registers
 * are wide enough.  No sum is split and none is contracted, so the result is
 * that of the plain triple loop, whatever the machine.
 */

#include "ir/ops/product.h"

#include "ir/ops/sums.h"

#define HEIGHT 4                        /* rows of a tile */
#define TALL 8                          /* rows of the tallest tile */
#define WIDTH 8                         /* columns of a tile, and of a panel */
#define GROUP_BYTES (INT64_C(32) << 20) /* of packed columns of B */
#define BLOCK_BYTES (INT64_C(1) << 18)  /* of rows of A */
#define MOST_ROWS 64

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));
typedef double octet __attribute__((vector_size(64), aligned(8), may_alias));

/*
 * c[i * WIDTH + j] = sum over k of a[i * depth + k] * b[k * WIDTH + j], for a
 * whole tile.
 */
typedef void (*tile_fn)(int64_t depth, const double *a, const double *b,
                        double *c);

typedef struct kernel {
    int64_t height;
    tile_fn multiply;
} kernel;

/* Half a tile: four columns. */
static void
multiply_half(int64_t depth, const double *a, const double *b, double *c)
{
    const double *a0 = a, *a1 = a0 + depth, *a2 = a1 + depth, *a3 = a2 + depth;
    pair s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0};
    pair s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};

    for (int64_t k = 0; k < depth; k++, b += WIDTH) {
        pair left = *(const pair *)b, right = *(const pair *)(b + 2);
        pair x0 = {a0[k], a0[k]}, x1 = {a1[k], a1[k]};
        pair x2 = {a2[k], a2[k]}, x3 = {a3[k], a3[k]};

        s00 += x0 * left, s01 += x0 * right;
        s10 += x1 * left, s11 += x1 * right;
        s20 += x2 * left, s21 += x2 * right;
        s30 += x3 * left, s31 += x3 * right;
    }
    *(pair *)c = s00, *(pair *)(c + 2) = s01;
    *(pair *)(c + WIDTH) = s10, *(pair *)(c + WIDTH + 2) = s11;
    *(pair *)(c + 2 * WIDTH) = s20, *(pair *)(c + 2 * WIDTH + 2) = s21;
    *(pair *)(c + 3 * WIDTH) = s30, *(pair *)(c + 3 * WIDTH + 2) = s31;
}

static void
multiply_tile(int64_t depth, const double *a, const double *b, double *c)
{
    multiply_half(depth, a, b, c);
    multiply_half(depth, a, b + 4, c + 4);
}

#if defined(__x86_64__)

/*
 * A tile by registers of four doubles; AVX2 has no multiply-add that rounds
 * once.
 */
__attribute__((target("avx2"))) static void
multiply_tile_avx2(int64_t depth, const double *a, const double *b, double *c)
{
    const double *a0 = a, *a1 = a0 + depth, *a2 = a1 + depth, *a3 = a2 + depth;
    quad s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0};
    quad s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};

    for (int64_t k = 0; k < depth; k++, b += WIDTH) {
        quad left = *(const quad *)b, right = *(const quad *)(b + 4);
        quad x0 = {a0[k], a0[k], a0[k], a0[k]};
        quad x1 = {a1[k], a1[k], a1[k], a1[k]};
        quad x2 = {a2[k], a2[k], a2[k], a2[k]};
        quad x3 = {a3[k], a3[k], a3[k], a3[k]};

        s00 += x0 * left, s01 += x0 * right;
        s10 += x1 * left, s11 += x1 * right;
        s20 += x2 * left, s21 += x2 * right;
        s30 += x3 * left, s31 += x3 * right;
    }
    *(quad *)c = s00, *(quad *)(c + 4) = s01;
    *(quad *)(c + WIDTH) = s10, *(quad *)(c + WIDTH + 4) = s11;
    *(quad *)(c + 2 * WIDTH) = s20, *(quad *)(c + 2 * WIDTH + 4) = s21;
    *(quad *)(c + 3 * WIDTH) = s30, *(quad *)(c + 3 * WIDTH + 4) = s31;
}

/* A tile of twice the rows by registers of eight doubles. */
__attribute__((target("avx512f"))) static void
multiply_tile_avx512(int64_t depth, const double *a, const double *b, double *c)
{
    const double *a0 = a, *a1 = a0 + depth, *a2 = a1 + depth, *a3 = a2 + depth;
    const double *a4 = a3 + depth, *a5 = a4 + depth, *a6 = a5 + depth;
    const double *a7 = a6 + depth;
    octet s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    octet s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};

    for (int64_t k = 0; k < depth; k++, b += WIDTH) {
        octet x = *(const octet *)b;

        s0 += a0[k] * x, s1 += a1[k] * x, s2 += a2[k] * x, s3 += a3[k] * x;
        s4 += a4[k] * x, s5 += a5[k] * x, s6 += a6[k] * x, s7 += a7[k] * x;
    }
    *(octet *)c = s0, *(octet *)(c + WIDTH) = s1;
    *(octet *)(c + 2 * WIDTH) = s2, *(octet *)(c + 3 * WIDTH) = s3;
    *(octet *)(c + 4 * WIDTH) = s4, *(octet *)(c + 5 * WIDTH) = s5;
    *(octet *)(c + 6 * WIDTH) = s6, *(octet *)(c + 7 * WIDTH) = s7;
}

#endif

/* The kernels of this machine, the tallest first. */
static int
find_kernels(kernel out[2])
{
    int count = 0;
    tile_fn four = multiply_tile;

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        out[count++] = (kernel){TALL, multiply_tile_avx512};
    if (__builtin_cpu_supports("avx2"))
        four = multiply_tile_avx2;
#endif
    out[count++] = (kernel){HEIGHT, four};
    return count;
}

/* Adds one row of a tile to c. */
static void
multiply_row(int64_t depth, const double *a, const double *b, double *c)
{
    pair sum[WIDTH / 2];

    for (int i = 0; i < WIDTH / 2; i++)
        sum[i] = (pair){c[2 * i], c[2 * i + 1]};
    for (int64_t k = 0; k < depth; k++, b += WIDTH) {
        pair x = {a[k], a[k]};

        sum[0] += x * *(const pair *)b;
        sum[1] += x * *(const pair *)(b + 2);
        sum[2] += x * *(const pair *)(b + 4);
        sum[3] += x * *(const pair *)(b + 6);
    }
    for (int i = 0; i < WIDTH; i++)
        c[i] = sum[i / 2][i % 2];
}

/* Reads elements of B. */
static void
load(const glow_product *p, int64_t first, int64_t count, double *line)
{
    (p->b_offsets ? glow_load_quantized : glow_load)(p->b, first, count, line);
}

/* Subtracts their offsets from B[k][first], ..., B[k][first + count - 1]. */
static void
shift_row(const glow_product *p, int64_t first, int64_t count, double *line)
{
    for (int64_t j = 0; j < count && p->b_offsets; j++)
        line[j] -= p->b_offsets[first + j];
}

/* The same for `count` numbers of one column. */
static void
shift_column(const glow_product *p, int64_t column, int64_t count, double *line)
{
    double offset = p->b_offsets ? p->b_offsets[column] : 0;

    for (int64_t k = 0; k < count && offset != 0; k++)
        line[k] -= offset;
}

/* Packs columns first, ..., first + count - 1 of B, k by k. */
static void
pack(const glow_product *p, int64_t first, int64_t count, double *panels,
     double *line)
{
    int64_t size = p->depth * WIDTH;

    for (int64_t k = 0; k < p->depth && p->b_column == 1; k++) {
        load(p, p->b_at + k * p->b_depth + first, count, line);
        shift_row(p, first, count, line);
        for (int64_t j = 0; j < count; j++)
            panels[j / WIDTH * size + k * WIDTH + j % WIDTH] = line[j];
    }
    for (int64_t j = 0; j < count && p->b_column != 1; j++) {
        int64_t at = p->b_at + (first + j) * p->b_column;
        double *to = panels + j / WIDTH * size + j % WIDTH;

        if (p->b_depth == 1)
            load(p, at, p->depth, line);
        else
            for (int64_t k = 0; k < p->depth; k++)
                line[k] = glow_get_double(p->b, at + k * p->b_depth);
        shift_column(p, first + j, p->depth, line);
        for (int64_t k = 0; k < p->depth; k++)
            to[k * WIDTH] = line[k];
    }
}

/* Multiplies `rows` rows of A by `count` packed columns into c. */
static void
multiply_block(int64_t depth, int64_t rows, const double *a, int64_t count,
               const double *panels, double *c)
{
    kernel kernels[2];
    int known = find_kernels(kernels);
    double tile[TALL][WIDTH];

    for (int64_t j = 0; j < count; j += WIDTH, panels += depth * WIDTH) {
        int64_t width = count - j < WIDTH ? count - j : WIDTH;

        for (int64_t i = 0, height = 1; i < rows; i += height) {
            int k = 0;

            while (k < known && kernels[k].height > rows - i)
                k++;
            height = k < known ? kernels[k].height : 1;
            for (int s = 0; s < WIDTH; s++)
                tile[0][s] = 0;
            (k < known ? kernels[k].multiply
                       : multiply_row)(depth, a + i * depth, panels, tile[0]);
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

/*
 * Products of few rows, for which packing B costs more than it saves; here rows
 * of B are contiguous: row by row.
 */
static void
multiply_few_by_rows(const glow_product *p, const double *a)
{
    double c[HEIGHT][GLOW_CHUNK], line[GLOW_CHUNK];

    for (int64_t first = 0; first < p->columns; first += GLOW_CHUNK) {
        int64_t count = clamp(p->columns - first, 0, GLOW_CHUNK);

        for (int64_t i = 0; i < p->rows; i++)
            for (int64_t j = 0; j < count; j++)
                c[i][j] = 0;
        for (int64_t k = 0; k < p->depth; k++) {
            load(p, p->b_at + k * p->b_depth + first, count, line);
            shift_row(p, first, count, line);
            for (int64_t i = 0; i < p->rows; i++)
                for (int64_t j = 0; j < count; j++)
                    c[i][j] += a[i * p->depth + k] * line[j];
        }
        for (int64_t i = 0; i < p->rows; i++)
            p->take(p->user, i, first, count, c[i]);
    }
}

/*
 * Products of few rows, where columns of B are contiguous: a part of a panel at
 * a time.
 */
static void
multiply_few_by_columns(const glow_product *p, const double *a)
{
    double piece[GLOW_CHUNK][WIDTH] = {{0}}, line[GLOW_CHUNK];

    for (int64_t first = 0; first < p->columns; first += WIDTH) {
        int64_t width = clamp(p->columns - first, 0, WIDTH);
        double c[HEIGHT][WIDTH] = {{0}};

        for (int64_t k = 0; k < p->depth; k += GLOW_CHUNK) {
            int64_t count = clamp(p->depth - k, 0, GLOW_CHUNK);

            for (int64_t j = 0; j < width; j++) {
                load(p, p->b_at + (first + j) * p->b_column + k, count, line);
                shift_column(p, first + j, count, line);
                for (int64_t i = 0; i < count; i++)
                    piece[i][j] = line[i];
            }
            for (int64_t i = 0; i < p->rows; i++)
                multiply_row(count, a + i * p->depth + k, piece[0], c[i]);
        }
        for (int64_t i = 0; i < p->rows; i++)
            p->take(p->user, i, first, width, c[i]);
    }
}

static void
multiply_few(const glow_product *p, glow_arena *scratch)
{
    double *a = GLOW_NEW_ARRAY(scratch, double, p->rows * p->depth);

    p->give(p->user, 0, p->rows, a);
    if (p->b_column == 1)
        multiply_few_by_rows(p, a);
    else
        multiply_few_by_columns(p, a);
}

static void
multiply_many(const glow_product *p, glow_arena *scratch)
{
    int64_t bytes = (int64_t)sizeof(double) * (p->depth + 1);
    int64_t group =
        clamp(GROUP_BYTES / bytes / WIDTH * WIDTH, WIDTH, p->columns);
    int64_t block =
        clamp(clamp(BLOCK_BYTES / bytes, HEIGHT, MOST_ROWS), 1, p->rows);
    int64_t padded = (group + WIDTH - 1) / WIDTH * WIDTH;
    int64_t longest = p->depth > group ? p->depth : group;
    double *panels = GLOW_NEW_ARRAY(scratch, double, p->depth *padded);
    double *line = GLOW_NEW_ARRAY(scratch, double, longest);
    double *a = GLOW_NEW_ARRAY(scratch, double, p->depth *block);
    double *c = GLOW_NEW_ARRAY(scratch, double, group *block);

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
}

void
glow_multiply(const glow_product *p)
{
    if (p->rows == 0 || p->columns == 0)
        return;

    glow_arena *scratch = glow_arena_new();

    if (p->rows < HEIGHT && (p->b_column == 1 || p->b_depth == 1))
        multiply_few(p, scratch);
    else
        multiply_many(p, scratch);
    glow_arena_free(scratch);
}
