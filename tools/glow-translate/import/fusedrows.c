/*
 * Sums over tables whose rows are quantized, each by a scale and an offset of its
 * own: of Caffe2, and as Glow writes them into ONNX.
 *
 * The table must be a constant: bytes become a constant of a fused kind, in which
 * scale and offset stand behind the elements of a row.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/quantize.h"
#include "tools/glow-translate/caffe2/caffe2.h"
#include "tools/glow-translate/import/state.h"

/* The table, operand `i`: a constant of bytes and of rank 2; NULL after a report. */
static const glow_tensor *
known_bytes(import_node *n, int i)
{
    const glow_tensor *t = import_known(n, i);

    if (t && (t->type->shape.rank != 2 ||
              glow_kind_get(t->type->elem)->bytes != 1)) {
        import_refuse(n, "E0711",
                      "operand %d is %s, but a matrix of bytes is due", i,
                      glow_type_text(n->im->arena, t->type));
        return NULL;
    }
    return t;
}

/* A constant of `kind` and this shape, for rows to be filled in; NULL: refused. */
static bool
new_table(import_node *n, glow_kind kind, int64_t rows, int64_t bytes,
          glow_tensor *out)
{
    const glow_type *type = import_type(n, kind, GLOW_DIMS_OF(rows, bytes));

    if (n->failed || !type)
        return false;
    if (glow_fused_columns(type) < 0)
        return import_refuse(n, "E0711",
                             "a row of the table has %" PRId64
                             " bytes, but its scale and offset take %d",
                             bytes, glow_fused_tail(kind));
    *out = glow_tensor_new(type);
    return true;
}

/* The bytes of operand `i` as rows of `kind`. */
static glow_value *
fused(import_node *n, int i, glow_kind kind)
{
    const glow_tensor *t = known_bytes(n, i);
    glow_tensor table;

    if (!t ||
        !new_table(n, kind, t->type->shape.at[0], t->type->shape.at[1], &table))
        return NULL;
    memcpy(table.data, t->data, (size_t)glow_type_bytes(table.type));
    return import_constant_of(n, &table);
}

/* True if operand `i` holds `count` numbers. */
static bool
check_numbers(import_node *n, int i, int64_t count)
{
    const glow_tensor *t = import_known(n, i);

    if (!t)
        return false;
    if (glow_is_float(t->type->elem) && glow_type_count(t->type) == count)
        return true;
    return import_refuse(n, "E0711",
                         "operand %d is %s, but %" PRId64 " floats are due", i,
                         glow_type_text(n->im->arena, t->type), count);
}

/*
 * The bytes of operand `i` with the scales and offsets that stand in operand
 * `scales` from element 0 and in `offsets` from element `first` on, `step` apart.
 */
static glow_value *
joined(import_node *n, int i, int scales, int offsets, int64_t first,
       int64_t step)
{
    const glow_tensor *t = known_bytes(n, i), *s, *o;
    glow_tensor table;
    int64_t rows, columns;

    if (!t)
        return NULL;
    rows = t->type->shape.at[0];
    columns = t->type->shape.at[1];
    if (!check_numbers(n, scales, rows * step) ||
        !check_numbers(n, offsets, rows * step) ||
        !new_table(n, GLOW_UINT8FUSED, rows,
                   columns + glow_fused_tail(GLOW_UINT8FUSED), &table))
        return NULL;
    s = import_known(n, scales);
    o = import_known(n, offsets);
    for (int64_t row = 0; row < rows; row++) {
        uint8_t *to = (uint8_t *)table.data + row * table.type->shape.at[1];
        float tail[2] = {(float)glow_get_double(s, row * step),
                         (float)glow_get_double(o, row * step + first)};

        memcpy(to, (const uint8_t *)t->data + row * columns, (size_t)columns);
        memcpy(to + columns, tail, sizeof tail);
    }
    return import_constant_of(n, &table);
}

static void
ignore_hints(import_node *n)
{
    import_ignore(n, "AvgLength");
    import_ignore(n, "LengthsMode");
    import_ignore(n, "UseFP16Accumulation");
    import_ignore(n, "average_lookup_length");
    import_ignore(n, "length1");
}

/* The sum over `table` by operands from `first` on: weights, if any, and lists. */
static bool
sum(import_node *n, glow_value *table, bool is_weighted, int first)
{
    glow_value **in = n->in + first;

    ignore_hints(n);
    if (!table || n->failed)
        return false;
    return import_done(n, is_weighted
                              ? BUILD(n, sparselengthsweightedsum,
                                      GLOW_IN(table, in[0], in[1], in[2]),
                                      .lengths_mode = GLOW_LENGTHS_VARIABLE)
                              : BUILD(n, sparselengthssum,
                                      GLOW_IN(table, in[0], in[1]),
                                      .lengths_mode = GLOW_LENGTHS_VARIABLE));
}

static bool
sum_fused_8(import_node *n)
{
    return import_operands(n, 3, 3) &&
           sum(n, fused(n, 0, GLOW_UINT8FUSED), false, 1);
}

static bool
weighted_sum_fused_8(import_node *n)
{
    return import_operands(n, 4, 4) &&
           sum(n, fused(n, 0, GLOW_UINT8FUSED), true, 1);
}

static bool
sum_fused_4(import_node *n)
{
    return import_operands(n, 3, 3) &&
           sum(n, fused(n, 0, GLOW_UINT4FUSEDFP16), false, 1);
}

static bool
weighted_sum_fused_4(import_node *n)
{
    return import_operands(n, 4, 4) &&
           sum(n, fused(n, 0, GLOW_UINT4FUSEDFP16), true, 1);
}

/* Caffe2's: the last operand has the scale and the offset of each row. */
static bool
sum_8_bits(import_node *n)
{
    return import_operands(n, 4, 4) &&
           sum(n, joined(n, 0, 3, 3, 1, 2), false, 1);
}

static bool
weighted_sum_8_bits(import_node *n)
{
    return import_operands(n, 5, 5) &&
           sum(n, joined(n, 0, 4, 4, 1, 2), true, 1);
}

/* Glow's: operands 1 and 2 are the scales and the offsets. */
static bool
weighted_sum_rowwise(import_node *n)
{
    return import_operands(n, 6, 6) &&
           sum(n, joined(n, 0, 1, 2, 0, 1), true, 3);
}

const import_row import_fused_rows[] = {
    {"FusedRowwiseQuantizedSparseLengthsSum", 1, 0, sum_fused_8, NULL, NULL},
    {"FusedRowwiseQuantizedSparseLengthsWeightedSum", 1, 0,
     weighted_sum_fused_8, NULL, NULL},
    {"RowwiseQuantizedSparseLengthsWeightedSum", 1, 0, weighted_sum_rowwise,
     NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

const import_row caffe2_fused_rows[] = {
    {"SparseLengthsSum8BitsRowwise", 1, 0, sum_8_bits, NULL, NULL},
    {"SparseLengthsSumFused4BitRowwise", 1, 0, sum_fused_4, NULL, NULL},
    {"SparseLengthsSumFused8BitRowwise", 1, 0, sum_fused_8, NULL, NULL},
    {"SparseLengthsWeightedSum8BitsRowwise", 1, 0, weighted_sum_8_bits, NULL,
     NULL},
    {"SparseLengthsWeightedSumFused4BitRowwise", 1, 0, weighted_sum_fused_4,
     NULL, NULL},
    {"SparseLengthsWeightedSumFused8BitRowwise", 1, 0, weighted_sum_fused_8,
     NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};
