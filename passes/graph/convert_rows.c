/*
 * convert-rows: change the kind of rows of fused tables that sums read.
 *
 *     SparseLengthsWeightedSum(@table : ui4fused, ..)
 *         => SparseLengthsWeightedSum(ConvertRows(@table) : ui8fused, ..)
 *
 * `to` is the kind: ui8fused, ui4fused, both with tails of float16 (ui8fusedfp16,
 * ui4fusedfp16), or float.  From 4 to 8 bits a row keeps its ends, and each other
 * element is within half a step of 8 bits; to float every element keeps its number.  A
 * constant table becomes a constant of that kind once fold-constants runs.
 * SparseLengthsSum and EmbeddingBag are changed too; tables of floats are left to
 * quantize-rows.  `only` and `except` list operators or nodes, by name.
 *
 * For backends that take one kind alone.  Not in any pipeline.
 */

#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "passes/graph/common/names.h"

typedef struct convert_options {
    int to;
    const char *only;
    const char *except;
} convert_options;

static const char *const names[] = {"ui8fused",     "ui4fused", "ui8fusedfp16",
                                    "ui4fusedfp16", "float",    NULL};
static const glow_kind kinds[] = {GLOW_UINT8FUSED, GLOW_UINT4FUSED,
                                  GLOW_UINT8FUSEDFP16, GLOW_UINT4FUSEDFP16,
                                  GLOW_FLOAT};

static glow_value *
convert(glow_builder *b, glow_node *n)
{
    const convert_options *o = glow_run_options(glow_builder_run(b));
    const glow_type *t = n->in[0]->type;
    glow_kind to = kinds[o->to];
    bool has_pairs = to == GLOW_UINT4FUSED || to == GLOW_UINT4FUSEDFP16;
    int64_t columns = glow_fused_tail(t->elem) ? glow_fused_columns(t) : -1;
    glow_value *in[GLOW_MAX_OPERANDS];
    glow_type rows;

    if (columns < 0 || t->elem == to || t->shape.rank != 2 || n->pred ||
        !glow_names_choose(o->only, o->except, n))
        return NULL;
    if (has_pairs && columns % 2) {
        glow_run_remark(glow_builder_run(b), n, false,
                        "the table has an odd number of columns");
        return NULL;
    }
    rows = glow_type_of(to, t->shape);
    rows.shape.at[1] = columns / (has_pairs ? 2 : 1) + glow_fused_tail(to);
    memcpy(in, n->in, (size_t)n->n_in * sizeof *in);
    in[0] = GLOW_BUILD_STATED_PLAIN(
        b, convertrows, glow_type_get(glow_builder_context(b), rows),
        GLOW_IN(n->in[0]));
    return glow_build(b, n->op,
                      n->op->traits & GLOW_STATED ? n->out[0]->type : NULL, in,
                      n->n_in, n->attrs);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_embeddingbag, convert},
        {&glow_op_sparselengthssum, convert},
        {&glow_op_sparselengthsweightedsum, convert},
        {NULL, NULL},
    };
    const convert_options *o = glow_run_options(pass);

    if (!glow_names_check(pass, f, "only", o->only) ||
        !glow_names_check(pass, f, "except", o->except))
        return GLOW_FAILED;
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_convert_rows = {
    .name = "convert-rows",
    .summary = "change the kind of rows of fused tables",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "elements of tables are rounded to steps of their rows",
    .options = {GLOW_FIELD_ENUM(convert_options, to, names, "the kind of rows"),
                GLOW_FIELD_DEFAULT(convert_options, only, GLOW_STRING,
                                   "operators and nodes to change, alone"),
                GLOW_FIELD_DEFAULT(convert_options, except, GLOW_STRING,
                                   "operators and nodes to leave")},
    .defaults = &(const convert_options){.only = "", .except = ""},
    .run = run,
    .takes_quantized = true,
    .source = "Glow convert4BitFusedTo8Bit, convert4BitFusedToFP32, "
              "convert8BitFusedToFP32, convertFusedToFP16",
};
