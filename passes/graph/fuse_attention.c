/*
 * fuse-attention: fuse the transposes of heads, and the conversions of keys and
 * values, into Attention.
 *
 *     %q = Transpose(%x) {Shuffle: [0, 2, 1, 3]}
 *     %a = Attention(%q, %k, %v, %m)                 nobody uses %a#Scores
 *     %y = Transpose(%a#Y) {Shuffle: [0, 2, 1, 3]}
 *         =>
 *     %y = FusedAttention(%x, %k, %v, %m) {QRows: true, YRows: true}
 *
 * The same for each transposed operand, and without any.  A projection writes
 * the rows of all heads interleaved, and the next one reads them so: a kernel
 * that reads and writes this layout saves the passes over memory for the
 * transposes.  The scores, which are larger than all other tensors of long
 * sequences, are not stored.  A backend without such a kernel lowers the node
 * back.
 *
 * Keys and values of 16 bits that are computed with as floats, as a decoder's
 * caches are:
 *
 *     %k = ConvertTo(@keys) : float             @keys : float16 or bfloat16
 *     %y = FusedAttention(%q, %k, %v, %m)
 *         =>
 *     %y = FusedAttention(%q, @keys, %v, %m)
 *
 * the same for %v, with Reshapes and Transposes behind the ConvertTo, which
 * are built again in front of it.  The conversion is exact, and a kernel that
 * converts in registers reads half the bytes and stores none.
 *
 * A Transpose with other users stays for them.  The transpose of Y is fused
 * only if it is the only user of Y; Reshapes are behind it, as other passes
 * leave them.
 *
 * Afterwards every Attention has uses of its scores, and no such Transpose or
 * ConvertTo is next to a FusedAttention.  ONNX Runtime's MultiHeadAttention is the same with
 * one order of axes.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

#define MOST_STEPS 6 /* of layout operators behind a conversion */

/* The operand of `v` if it is the transpose of heads, else NULL. */
static glow_value *
rows_of(const glow_value *v)
{
    const glow_transpose *t;

    if (!v->def || v->def->pred || !(t = GLOW_AS(transpose, v->def)) ||
        !glow_dims_equal(t->shuffle, GLOW_DIMS_OF(0, 2, 1, 3)))
        return NULL;
    return v->def->in[0];
}

/*
 * Replaces an operand by the operand of its Transpose; false if there is none.
 */
static bool
take_rows(glow_value **in)
{
    glow_value *rows = rows_of(*in);

    if (rows)
        *in = rows;
    return rows != NULL;
}

/*
 * `v` of the 16 bits that it is converted from, or NULL: Reshapes and
 * Transposes, at most `left`, are built again.
 */
static glow_value *
narrow_of(glow_builder *b, const glow_value *v, int left)
{
    const glow_node *n = v->def;
    glow_value *x;

    if (!n || n->pred || left == 0)
        return NULL;
    if (n->op == &glow_op_convertto)
        return v->type->elem == GLOW_FLOAT &&
                       (n->in[0]->type->elem == GLOW_FLOAT16 ||
                        n->in[0]->type->elem == GLOW_BFLOAT16)
                   ? n->in[0]
                   : NULL;
    if (n->op != &glow_op_reshape && n->op != &glow_op_transpose)
        return NULL;
    x = narrow_of(b, n->in[0], left - 1);
    return x ? glow_build(b, n->op, NULL, GLOW_IN(x), n->attrs) : NULL;
}

/* FusedAttention of keys and values that are converted. */
static glow_value *
fuse_conversions(glow_builder *b, const glow_node *n)
{
    glow_fusedattention f = *(const glow_fusedattention *)n->attrs;
    glow_value *in[4] = {n->in[0], n->in[1], n->in[2], n->in[3]};
    glow_value *k = narrow_of(b, in[1], MOST_STEPS);
    glow_value *v = narrow_of(b, in[2], MOST_STEPS);

    if (!k && !v)
        return NULL;
    if (k) {
        in[1] = k;
        f.k_rows ^= take_rows(&in[1]);
    }
    if (v) {
        in[2] = v;
        f.v_rows ^= take_rows(&in[2]);
    }
    return glow_build(b, n->op, NULL, in, 4, &f);
}

static glow_value *
fuse_heads(glow_builder *b, const glow_node *n)
{
    const glow_attention *a = n->attrs;
    glow_value *in[4] = {n->in[0], n->in[1], n->in[2], n->in[3]};
    glow_fusedattention f = {.scale = a->scale,
                             .soft_cap = a->soft_cap,
                             .causal = a->causal,
                             .past = a->past,
                             .nan_rows = a->nan_rows};

    f.q_rows = take_rows(&in[0]);
    f.k_rows = take_rows(&in[1]);
    f.v_rows = take_rows(&in[2]);
    return glow_build(b, &glow_op_fusedattention, NULL, in, 4, &f);
}

/* Transpose(FusedAttention(...)) */
static glow_value *
fuse_result(glow_builder *b, const glow_node *n)
{
    glow_value *rows = rows_of(n->out[0]);
    glow_fusedattention f;

    if (!rows || !glow_has_one_use(rows) || !rows->def ||
        !glow_is(rows->def, &glow_op_fusedattention) || rows->def->pred)
        return NULL;
    f = *(const glow_fusedattention *)rows->def->attrs;
    f.y_rows = !f.y_rows;
    glow_builder_fuses(b, rows->def);
    return glow_build(b, &glow_op_fusedattention, NULL, rows->def->in, 4, &f);
}

static glow_value *
fuse(glow_builder *b, glow_node *n)
{
    glow_value *y;

    if (n->pred)
        return NULL;
    if (n->op == &glow_op_transpose)
        return fuse_result(b, n);
    if (n->op == &glow_op_fusedattention)
        return fuse_conversions(b, n);
    if (n->op != &glow_op_attention || !glow_is_unused(n->out[1]))
        return NULL;
    y = fuse_heads(b, n);
    if (!y)
        return NULL;
    glow_builder_replace(b, n, 0, y);
    return glow_keep_rewritten(n);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, fuse);
}

const glow_pass glow_pass_fuse_attention = {
    .name = "fuse-attention",
    .summary = "fuse transposes of heads, and conversions, into Attention",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "ONNX Runtime MultiHeadAttention",
};
