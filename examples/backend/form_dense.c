/*
 * npu.form-dense: give products with a bias to the array of multipliers.
 *
 *     %y = FullyConnected(%x, %w, %b) {Axis: 1}   =>   %y = npu.Dense(%x, %w, %b)
 *
 * and FusedFullyConnected with a Relu likewise, if all is float, %x is a matrix and
 * the four buffers fit into the scratchpad together.  Both are composite operators,
 * which lowering takes apart, so this runs before it.
 */

#include "npu.h"

static bool
fits(const glow_node *n)
{
    int64_t bytes = glow_type_bytes(n->out[0]->type);

    for (int i = 0; i < 3; i++)
        bytes += glow_type_bytes(n->in[i]->type) + 64;
    return bytes + 64 <= NPU_SCRATCHPAD;
}

static glow_value *
form(glow_builder *b, glow_node *n, bool relu)
{
    const glow_type *x = n->in[0]->type;
    npu_dense d = {.relu = relu};

    if (x->elem != GLOW_FLOAT || x->shape.rank != 2)
        return NULL;
    if (!fits(n)) {
        glow_run_remark(glow_builder_run(b), n, false,
                        "its buffers do not fit into %d bytes", NPU_SCRATCHPAD);
        return NULL;
    }
    return glow_build(b, &npu_op_dense, NULL,
                      GLOW_IN(n->in[0], n->in[1], n->in[2]), &d);
}

static glow_value *
form_plain(glow_builder *b, glow_node *n)
{
    const glow_fullyconnected *f = n->attrs;

    return f->axis == 1 ? form(b, n, false) : NULL;
}

static glow_value *
form_fused(glow_builder *b, glow_node *n)
{
    const glow_fusedfullyconnected *f = n->attrs;
    const glow_op *activation = glow_fused_activation(f->activation);

    if (f->axis != 1 || !n->in[2] || n->in[3] ||
        (activation && activation != &glow_op_relu))
        return NULL;
    return form(b, n, activation != NULL);
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_fullyconnected, form_plain},
        {&glow_op_fusedfullyconnected, form_fused},
        {NULL, NULL},
    };

    return glow_rewrite_each(run, f, rows, NULL);
}

const glow_pass npu_pass_form_dense = {
    .name = "npu.form-dense",
    .summary = "give products with a bias to the array of multipliers",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
};
