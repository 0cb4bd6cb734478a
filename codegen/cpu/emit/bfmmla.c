/*
 * Products of tiles of bfloat16 by BFMMLA of AArch64.
 *
 * The sums of a tile are in memory on the stack, as squares of 2 x 2: a vector for each
 * pair of rows and pair of columns.  An operand tile is an address and a distance of rows,
 * read where it is.  A product of tiles goes by blocks of 8 x 8 sums in 16 registers:
 *
 *     for each block of 8 rows, for each 8 columns
 *       load 16 squares
 *       for each 4 of the depth
 *         4 vectors of 2 rows, 4 vectors of 2 columns, 16 BFMMLA
 *       store 16 squares
 *
 * The right operand has the layout of AMX, pairs of the depth for each column, so two
 * rows of it, interleaved by ZIP1 and ZIP2, are columns of four of the depth.
 *
 * BFMMLA adds the products of a pair of the depth, and that to the sum, each rounded to odd:
 * to the float towards zero, with the last bit set if that was not exact.  Subnormal
 * operands and results are zeros.  A processor with FEAT_EBF16 may be told by FPCR.EBF to
 * round to nearest once for each pair, which Linux does not do by itself.
 *
 * Source: Arm Architecture Reference Manual for A-profile, BFMMLA (vector), and the
 * functions BFMatMulAddH, BFMulH and BFAddH of its pseudocode.
 */

#include "codegen/cpu/emit/bfmmla.h"

#include "codegen/cpu/emit/matrix.h"

#define SQUARE 16                        /* bytes */
#define COLUMNS (CPU_MATRIX_LANES / 2)   /* squares beside each other */
#define ROW (COLUMNS * SQUARE)           /* bytes of a row of squares */
#define TILE (CPU_MATRIX_ROWS / 2 * ROW) /* and of a tile */
#define SIDE 4                           /* squares of a block, in a row */
#define STEP 4                           /* of the depth */
#define OPERANDS (CPU_MATRIX_RIGHT + 2 - CPU_MATRIX_LEFT)

/* Sums. */

static cg_value
sums_of(cg *g, int r)
{
    return glow_cg_atc(g, g->tiles.state, r * TILE);
}

void
glow_cg_bfmmla_begin(cg *g, int rows, int depth)
{
    LLVMTypeRef sums =
        LLVMArrayType2(glow_cg_vector(g->f32, 4), CPU_MATRIX_LEFT * TILE / 16);
    LLVMTypeRef words = LLVMArrayType2(g->i64, OPERANDS);

    g->tiles.state = glow_cg_local(g, LLVMGetUndef(sums));
    g->tiles.at = glow_cg_local(g, LLVMGetUndef(words));
    g->tiles.step = glow_cg_local(g, LLVMGetUndef(words));
    g->tiles.rows = rows;
    g->tiles.depth = depth;
}

void
glow_cg_bfmmla_zero(cg *g, int r)
{
    LLVMBuildMemSet(g->builder, sums_of(g, r), LLVMConstNull(g->i8),
                    cg_i64(g, TILE), SQUARE);
}

/* Two lanes of `a` from lane `from` on, then the same lanes of `b`. */
static cg_value
halves(cg *g, cg_value a, cg_value b, unsigned from)
{
    cg_value order[4];

    for (unsigned i = 0; i < 4; i++)
        order[i] = LLVMConstInt(g->i32, i / 2 * 4 + from + i % 2, false);
    return LLVMBuildShuffleVector(g->builder, a, b, LLVMConstVector(order, 4),
                                  "");
}

/* A vector of sums, from byte `at` on. */
static cg_value
load_sums(cg *g, cg_value at)
{
    return glow_cg_load_raw(g, glow_cg_vector(g->f32, 4), at);
}

/*
 * Moves `rows` rows, at most two, between squares and rows of floats.  Either way the first
 * halves of two vectors go to one, the second ones to the other.
 */
static void
move_rows(cg *g, cg_value squares, cg_value at, int64_t step, int rows,
          bool stores)
{
    for (int i = 0; i < COLUMNS; i += 2) {
        cg_value square = glow_cg_atc(g, squares, i * SQUARE);
        cg_value next = glow_cg_atc(g, square, SQUARE);
        cg_value first = glow_cg_atc(g, at, i * SQUARE / 2), a, b;
        cg_value second = glow_cg_atc(g, first, step);

        a = load_sums(g, stores ? square : first);
        b = stores     ? load_sums(g, next)
            : rows > 1 ? load_sums(g, second)
                       : LLVMConstNull(LLVMTypeOf(a));
        glow_cg_store_raw(g, halves(g, a, b, 0), stores ? first : square);
        if (!stores || rows > 1)
            glow_cg_store_raw(g, halves(g, a, b, 2), stores ? second : next);
    }
}

static void
move_tile(cg *g, int r, cg_value at, int64_t step, bool stores)
{
    int pairs = g->tiles.rows / 2;
    cg_value squares = sums_of(g, r), from, to;
    cg_loop l;

    if (pairs) {
        glow_cg_for(g, &l, pairs);
        from = glow_cg_at(g, squares, cg_mulc(g, l.i, ROW));
        to = glow_cg_at(g, at, cg_mulc(g, l.i, 2 * step));
        move_rows(g, from, to, step, 2, stores);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (g->tiles.rows % 2) {
        from = glow_cg_atc(g, squares, pairs * ROW);
        to = glow_cg_atc(g, at, pairs * 2 * step);
        move_rows(g, from, to, step, 1, stores);
    }
}

void
glow_cg_bfmmla_store(cg *g, int r, cg_value at, int64_t step)
{
    move_tile(g, r, at, step, true);
}

/* Operands. */

static cg_value
word_of(cg *g, cg_value words, int r)
{
    return glow_cg_atc(g, words, (r - CPU_MATRIX_LEFT) * 8);
}

void
glow_cg_bfmmla_load(cg *g, int r, cg_value at, int64_t step)
{
    if (r < CPU_MATRIX_LEFT) {
        move_tile(g, r, at, step, false);
        return;
    }
    LLVMBuildStore(g->builder, at, word_of(g, g->tiles.at, r));
    LLVMBuildStore(g->builder, cg_i64(g, step), word_of(g, g->tiles.step, r));
}

/* A tile that is read: its first byte, and bytes from a row to the next. */
typedef struct operand {
    cg_value at, step;
} operand;

static operand
operand_of(cg *g, int r)
{
    return (operand){
        LLVMBuildLoad2(g->builder, g->ptr, word_of(g, g->tiles.at, r), ""),
        LLVMBuildLoad2(g->builder, g->i64, word_of(g, g->tiles.step, r), "")};
}

static cg_value
row_of(cg *g, const operand *o, cg_value row)
{
    return glow_cg_at(g, o->at, cg_mul(g, row, o->step));
}

static cg_value
as_bfloat(cg *g, cg_value v)
{
    return cg_bitcast(g, v,
                      LLVMVectorType(LLVMBFloatTypeInContext(g->context), 8));
}

/* Four elements at `at`, or the first two of them and zeros. */
static cg_value
load_left(cg *g, cg_value at, int depth)
{
    cg_value v =
        LLVMBuildLoad2(g->builder, depth == STEP ? g->i64 : g->i32, at, "");

    LLVMSetAlignment(v, 2);
    return depth == STEP ? v : LLVMBuildZExt(g->builder, v, g->i64, "");
}

/* Rows `row` and the next, if there is one, at byte `column`. */
static cg_value
left_rows(cg *g, const operand *left, int row, cg_value column, int depth)
{
    cg_value v = LLVMConstNull(glow_cg_vector(g->i64, 2));

    for (int i = 0; i < 2 && row + i < g->tiles.rows; i++) {
        cg_value at = row_of(g, left, cg_i64(g, row + i));

        at = glow_cg_at(g, at, column);
        v = LLVMBuildInsertElement(g->builder, v, load_left(g, at, depth),
                                   LLVMConstInt(g->i32, (unsigned)i, false),
                                   "");
    }
    return as_bfloat(g, v);
}

/* Lanes of `a` and `b` in turn, from lane `from` on. */
static cg_value
in_turn(cg *g, cg_value a, cg_value b, unsigned from)
{
    cg_value order[4];

    for (unsigned i = 0; i < 4; i++)
        order[i] = LLVMConstInt(g->i32, from + i / 2 + i % 2 * 4, false);
    return as_bfloat(g, LLVMBuildShuffleVector(g->builder, a, b,
                                               LLVMConstVector(order, 4), ""));
}

/* Eight columns of rows `row` and the next: four vectors of two columns each. */
static void
right_columns(cg *g, const operand *right, cg_value row, cg_value column,
              int depth, cg_value to[SIDE])
{
    LLVMTypeRef t = glow_cg_vector(g->i32, 4);
    cg_value first = glow_cg_at(g, row_of(g, right, row), column);
    cg_value second = glow_cg_at(g, first, right->step);

    for (int i = 0; i < SIDE; i += 2) {
        cg_value a = glow_cg_load_raw(g, t, glow_cg_atc(g, first, i * 8));
        cg_value b = LLVMConstNull(t);

        if (depth == STEP)
            b = glow_cg_load_raw(g, t, glow_cg_atc(g, second, i * 8));
        to[i] = in_turn(g, a, b, 0);
        to[i + 1] = in_turn(g, a, b, 2);
    }
}

/* Products. */

typedef struct block {
    operand left, right;
    int row, pairs;  /* the first row, and pairs of rows */
    cg_value column; /* bytes of the right operand before the block's */
} block;

static cg_value
add_square(cg *g, cg_value sum, cg_value left, cg_value right)
{
    static const char name[] = "llvm.aarch64.neon.bfmmla";
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMTypeRef types[2] = {LLVMTypeOf(sum), LLVMTypeOf(left)};
    size_t n = LLVMIntrinsicIsOverloaded(id) ? 2 : 0;
    cg_value args[3] = {sum, left, right};

    return LLVMBuildCall2(
        g->builder, LLVMIntrinsicGetType(g->context, id, types, n),
        LLVMGetIntrinsicDeclaration(g->module, id, types, n), args, 3, "");
}

/* `depth` of the depth, at step `step` of it. */
static void
add_step(cg *g, const block *b, cg_value step, int depth, cg_value *sum)
{
    cg_value columns[SIDE], at = cg_mulc(g, step, STEP * 2);

    right_columns(g, &b->right, cg_mulc(g, step, STEP / 2), b->column, depth,
                  columns);
    for (int i = 0; i < b->pairs; i++) {
        cg_value rows = left_rows(g, &b->left, b->row + 2 * i, at, depth);

        for (int j = 0; j < SIDE; j++)
            sum[i * SIDE + j] =
                add_square(g, sum[i * SIDE + j], rows, columns[j]);
    }
}

static void
add_block(cg *g, const block *b, cg_value squares)
{
    int count = b->pairs * SIDE, steps = g->tiles.depth / STEP;
    cg_value sum[SIDE * SIDE], at[SIDE * SIDE];
    cg_loop l;

    for (int i = 0; i < count; i++) {
        at[i] = glow_cg_atc(g, squares, i / SIDE * ROW + i % SIDE * SQUARE);
        sum[i] = load_sums(g, at[i]);
    }
    if (steps) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, steps), 1, sum, count);
        for (int i = 0; i < count; i++)
            sum[i] = l.value[i];
        add_step(g, b, l.i, STEP, sum);
        glow_cg_loop_end(g, &l, sum);
        for (int i = 0; i < count; i++)
            sum[i] = l.value[i];
    }
    if (g->tiles.depth % STEP)
        add_step(g, b, cg_i64(g, steps), STEP / 2, sum);
    for (int i = 0; i < count; i++)
        glow_cg_store_raw(g, sum[i], at[i]);
}

void
glow_cg_bfmmla_multiply(cg *g, int sum, int left, int right)
{
    cg_value squares = sums_of(g, sum);
    int rows = g->tiles.rows;
    block b = {0};
    cg_loop l;

    b.left = operand_of(g, left);
    b.right = operand_of(g, right);
    glow_cg_for(g, &l, COLUMNS / SIDE);
    b.column = cg_mulc(g, l.i, 2 * SIDE * 4);
    for (b.row = 0; b.row < rows; b.row += 2 * SIDE) {
        cg_value at = glow_cg_at(g, squares, cg_mulc(g, l.i, SIDE * SQUARE));
        int rest = (rows - b.row + 1) / 2;

        b.pairs = rest < SIDE ? rest : SIDE;
        add_block(g, &b, glow_cg_atc(g, at, b.row / 2 * ROW));
    }
    glow_cg_loop_end(g, &l, NULL);
}
