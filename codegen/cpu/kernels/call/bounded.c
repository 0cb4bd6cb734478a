/*
 * NonZero, Unique and NonMaxSuppression: results whose sizes depend on values,
 * as calls of C kernels.
 */

#include "codegen/cpu/kernels/call/call.h"
#include "codegen/cpu/kernels/common.h"

static void
emit_nonzero(cpu_job *j)
{
    glow_dims x = j->in[0].type->shape;
    cpu_call c = glow_cpu_call(j, "glow_c_nonzero");

    glow_cpu_arg(&c, j->out[0].at);
    glow_cpu_arg(&c, j->out[1].at);
    glow_cpu_arg_tensor(&c, j->in[0]);
    glow_cpu_arg_ints(&c, x.at, x.rank);
    glow_cpu_arg_int(&c, x.rank);
    glow_cpu_arg_int(&c, glow_dims_count(x));
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_nonzero = {
    .name = "nonzero",
    .op = &glow_op_nonzero,
    .emit = emit_nonzero,
};

static int64_t
unique_scratch(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return glow_cpu_room(n->in[0]->type->shape.at[0], 3 * 8);
}

static void
emit_unique(cpu_job *j)
{
    const glow_unique *a = j->n->attrs;
    glow_dims x = j->in[0].type->shape;
    cpu_call c = glow_cpu_call(j, "glow_c_unique");

    for (int i = 0; i < 4; i++)
        glow_cpu_arg(&c, j->out[i].at);
    glow_cpu_arg_tensor(&c, j->in[0]);
    glow_cpu_arg_int(&c, x.at[0]);
    glow_cpu_arg_int(&c, glow_dims_product(x, 1, x.rank));
    glow_cpu_arg_int(&c, a->sorted);
    glow_cpu_arg(&c, j->scratch);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_unique = {
    .name = "unique",
    .op = &glow_op_unique,
    .emit = emit_unique,
    .scratch_size = unique_scratch,
};

static int64_t
nms_scratch(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return glow_cpu_room(n->in[1]->type->shape.at[2], 2 * 8 + 5 * 8);
}

static void
emit_nms(cpu_job *j)
{
    const glow_nonmaxsuppression *a = j->n->attrs;
    glow_dims score = j->in[1].type->shape;
    cpu_call c = glow_cpu_call(j, "glow_c_nms");

    glow_cpu_arg(&c, j->out[0].at);
    glow_cpu_arg(&c, j->out[1].at);
    glow_cpu_arg(&c, j->in[0].at);
    glow_cpu_arg_tensor(&c, j->in[1]);
    glow_cpu_arg_int(&c, score.at[0]);
    glow_cpu_arg_int(&c, score.at[1]);
    glow_cpu_arg_int(&c, score.at[2]);
    glow_cpu_arg_int(&c, j->out[0].type->shape.at[0]);
    glow_cpu_arg_int(&c, a->max_output_boxes_per_class);
    glow_cpu_arg_real(&c, (double)a->iou_threshold);
    glow_cpu_arg_real(&c, (double)a->score_threshold);
    glow_cpu_arg_int(&c, a->center_point_box);
    glow_cpu_arg(&c, j->scratch);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_nonmaxsuppression = {
    .name = "nonmaxsuppression",
    .op = &glow_op_nonmaxsuppression,
    .emit = emit_nms,
    .scratch_size = nms_scratch,
};
