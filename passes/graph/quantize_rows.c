/*
 * quantize-rows: keep tables of sums in rows of 8 or 4 bits.
 *
 *     SparseLengthsWeightedSum(@table, ..)
 *         => SparseLengthsWeightedSum(ConvertRows(@table) : ui8fused, ..)
 *
 * A table of floats, a constant of rank 2 that sums of picked rows read, becomes a
 * constant of a fused kind once fold-constants runs: each row has a scale and an
 * offset of its own, so that what is lost is half a step of the row.  SparseLengthsSum
 * and EmbeddingBag are changed too.  With `bits` 4 rows of an odd number of columns
 * stay as they are; `tail` is the kind of scale and offset; `only` and `except` list
 * operators or nodes, by name.
 *
 * It is Glow's conversion to FusedRowwiseQuantizedSparseLengthsWeightedSum, which
 * -enable-rowwise asks for.  Not in any pipeline.
 */

#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "passes/graph/common/names.h"

typedef struct rows_options {
    int bits;
    int tail;
    const char *only;
    const char *except;
} rows_options;

static const char *const tails[] = {"float", "float16", NULL};
static const char *const widths[] = {"8", "4", NULL};
static const glow_kind kinds[2][2] = {
    {GLOW_UINT8FUSED, GLOW_UINT8FUSEDFP16},
    {GLOW_UINT4FUSED, GLOW_UINT4FUSEDFP16},
};

static glow_value *
quantize(glow_builder *b, glow_node *n)
{
    const rows_options *o = glow_run_options(glow_builder_run(b));
    const glow_type *t = n->in[0]->type;
    glow_value *in[GLOW_MAX_OPERANDS];
    glow_type rows;

    if (!glow_is_constant(n->in[0]) || t->elem != GLOW_FLOAT ||
        t->shape.rank != 2 || n->pred ||
        !glow_names_choose(o->only, o->except, n))
        return NULL;
    rows = glow_type_of(kinds[o->bits][o->tail], t->shape);
    if (o->bits && t->shape.at[1] % 2) {
        glow_run_remark(glow_builder_run(b), n, false,
                        "the table has an odd number of columns");
        return NULL;
    }
    rows.shape.at[1] =
        t->shape.at[1] / (o->bits ? 2 : 1) + glow_fused_tail(rows.elem);
    memcpy(in, n->in, (size_t)n->n_in * sizeof *in);
    in[0] = GLOW_BUILD_STATED_PLAIN(
        b, convertrows, glow_type_get(glow_builder_context(b), rows),
        GLOW_IN(n->in[0]));
    return glow_build(b, n->op, NULL, in, n->n_in, n->attrs);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_embeddingbag, quantize},
        {&glow_op_sparselengthssum, quantize},
        {&glow_op_sparselengthsweightedsum, quantize},
        {NULL, NULL},
    };
    const rows_options *o = glow_run_options(pass);

    if (!glow_names_check(pass, f, "only", o->only) ||
        !glow_names_check(pass, f, "except", o->except))
        return GLOW_FAILED;
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_quantize_rows = {
    .name = "quantize-rows",
    .summary = "keep tables of sums in rows of 8 or 4 bits",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "elements of tables are rounded to steps of their rows",
    .options = {GLOW_FIELD_ENUM(rows_options, bits, widths, "of an element"),
                GLOW_FIELD_ENUM(rows_options, tail, tails,
                                "the kind of scale and offset"),
                GLOW_FIELD_DEFAULT(rows_options, only, GLOW_STRING,
                                   "operators and nodes to change, alone"),
                GLOW_FIELD_DEFAULT(rows_options, except, GLOW_STRING,
                                   "operators and nodes to leave")},
    .defaults = &(const rows_options){.only = "", .except = ""},
    .run = run,
    .source = "Glow, lib/Optimizer: rowwise quantization of "
              "SparseLengthsWeightedSum",
};
