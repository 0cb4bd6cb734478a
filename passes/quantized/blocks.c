/*
 * Weights in blocks of 8 or 4 bits: each within a step of the weight before.
 */

#include <float.h>
#include <math.h>
#include <string.h>

#include "glow/ops.h"
#include "passes/quantized/judge.h"

enum { MOST_DEPTH = 2048 };

/* A tensor like that of `v`, with the byte `byte` throughout. */
static glow_tensor *
filled(judge *j, const glow_value *v, int byte)
{
    glow_tensor *t =
        (glow_tensor *)glow_judge_keep(j, glow_tensor_new(v->type));

    memset(t->data, byte, (size_t)glow_type_bytes(v->type));
    return t;
}

/*
 * The weights of `d` in float64, or, with `is_step`, the step of each: weights of 1
 * with offsets of 0.  The product by an identity shows those of a
 * BlockwiseQuantizedFullyConnected of up to MOST_DEPTH terms.  NULL: they are not known.
 */
static const glow_tensor *
in_blocks(judge *j, const glow_node *d, bool is_step)
{
    const glow_blockwisequantizedfullyconnected *f =
        GLOW_AS(blockwisequantizedfullyconnected, d);
    const glow_blockwisedequantize *q = f ? NULL : d->attrs;
    int first = f ? 1 : 0;
    glow_tensor *in[5] = {NULL}, *y;
    glow_type shape;
    glow_arena *scratch;
    bool ok;

    for (int i = first; i < first + 3; i++)
        if (d->in[i] &&
            !(in[i] = (glow_tensor *)glow_judge_tensor(j, d->in[i])))
            return NULL;
    if (is_step) {
        in[first] =
            filled(j, d->in[first], (f ? f->bits : q->bits) == 4 ? 0x11 : 1);
        shape = glow_type_of(GLOW_UINDEX8, d->in[first + 1]->type->shape);
        in[first + 2] = (glow_tensor *)glow_judge_keep(
            j, glow_tensor_new(glow_type_get(j->v->trial.ctx, shape)));
    }
    if (f) {
        if (f->k > MOST_DEPTH)
            return NULL;
        shape = glow_type_of(GLOW_FLOAT64, GLOW_DIMS_OF(f->k, f->k));
        in[0] = glow_judge_wide(j, &shape);
        for (int64_t i = 0; i < f->k; i++)
            glow_set_double(in[0], i * f->k + i, 1);
        shape.shape = GLOW_DIMS_OF(f->k, d->out[0]->type->shape.at[1]);
    } else {
        shape = glow_type_of(GLOW_FLOAT64, q->dims);
    }
    y = glow_judge_wide(j, &shape);
    scratch = glow_arena_new();
    ok = glow_eval_node(d, in, &y, scratch);
    glow_arena_free(scratch);
    return ok ? y : NULL;
}

/* The weights, or steps, that `v` is made of by Reshape and Transpose; NULL: none. */
static const glow_tensor *
moved_blocks(judge *j, const glow_value *v, bool is_step, double *slack)
{
    const glow_node *n = v ? v->def : NULL;
    const glow_tensor *t;

    if (glow_is(n, &glow_op_blockwisedequantize)) {
        *slack = n->in[1]->type->elem == GLOW_FLOAT16 ? 0x1p-16 : 0;
        return in_blocks(j, n, is_step);
    }
    if (!glow_is(n, &glow_op_reshape) && !glow_is(n, &glow_op_transpose))
        return NULL;
    t = moved_blocks(j, n->in[0], is_step, slack);
    return t ? glow_judge_run(j, n, (glow_tensor *[]){(glow_tensor *)t}) : NULL;
}

static void
add_blocked(judge *j, const glow_node *n, const glow_node *was, int i)
{
    blocked *r = GLOW_NEW(j->a, blocked);

    *r = (blocked){.before = was, .operand = i, .next = j->blocked};
    if (!glow_is_constant(was->in[i]))
        return;
    r->was = glow_constant_tensor(was->in[i]->storage);
    if (glow_is(n, &glow_op_blockwisequantizedfullyconnected)) {
        r->slack = n->in[2]->type->elem == GLOW_FLOAT16 ? 0x1p-16 : 0;
        r->now = in_blocks(j, n, false);
        r->steps = in_blocks(j, n, true);
    } else {
        r->now = moved_blocks(j, n->in[i], false, &r->slack);
        r->steps = moved_blocks(j, n->in[i], true, &r->slack);
    }
    if (r->was && r->now && r->steps &&
        glow_type_count(r->now->type) == glow_type_count(r->was->type))
        j->blocked = r;
}

void
glow_judge_find_blocked(judge *j)
{
    GLOW_FOR_EACH_NODE(n, j->after) {
        const glow_node *was = glow_find_node(j->before, n->name);

        if (!was || !glow_judge_is_weighted(was))
            continue;
        if (glow_is(n, &glow_op_blockwisequantizedfullyconnected))
            add_blocked(j, n, was, 1);
        else if (n->op == was->op)
            for (int i = 0; i < 2; i++)
                add_blocked(j, n, was, i);
    }
}

/* Each weight is at most a step off: the least or the largest may be out of range. */
bool
glow_judge_blocked(judge *j, const blocked *r)
{
    for (int64_t i = 0; i < glow_type_count(r->was->type); i++) {
        double is = glow_get_double(r->now, i);
        double due = glow_get_double(r->was, i);
        double most = fabs(glow_get_double(r->steps, i)) * SLACK + r->slack +
                      ROUNDINGS * (double)FLT_EPSILON * fabs(due);

        if (!(fabs(is - due) <= most))
            return glow_judge_tell_node(j, r->before->name, i, is, due, most);
    }
    return true;
}

/* The same as perturb_weights, for weights in blocks. */
void
glow_judge_perturb_blocked(judge *j, const blocked *r)
{
    glow_storage *s =
        glow_constant_new(j->before->module, j->before->name, r->was->type);

    for (int64_t i = 0; i < glow_type_count(r->was->type); i++) {
        double u = (double)(glow_mix(++j->drawn) >> 11) * 0x1p-52 - 1;

        glow_set_double(&s->tensor, i,
                        glow_get_double(r->was, i) +
                            u * (glow_get_double(r->steps, i) / 2 + r->slack));
    }
    glow_set_operand((glow_node *)r->before, r->operand, &s->value);
}
