/*
 * First weights: uniform numbers whose variance is 2 / n, where n is the number of
 * terms of the sums that the weight is a factor in (He et al., arXiv:1502.01852), and
 * 1 / n before a gate or an embedding.  Factors of normalizations are 1, other vectors 0.
 *
 * The operator that reads a placeholder, through movements of its elements, decides.
 */

#include <math.h>
#include <string.h>

#include "glow/ops.h"
#include "tools/glow-train/train.h"

/* The first user of `v` that does not only move elements, and its operand. */
static const glow_use *
reader_of(const glow_value *v)
{
    for (const glow_use *u = v->uses; u; u = u->next) {
        const glow_op *op = u->user->op;

        if (op == &glow_op_transpose || op == &glow_op_reshape ||
            op == &glow_op_convertto || op == &glow_op_broadcast ||
            op == &glow_op_slice)
            return u->user->out[0]->uses ? reader_of(u->user->out[0]) : u;
        if (op != &glow_op_save)
            return u;
    }
    return NULL;
}

static const char *
operand_name(const glow_use *u)
{
    return u->user->op->in[glow_operand_of(u->user, u->index)].name;
}

/* Operands that are factors of what is normalized, or terms; all vectors are. */
static bool
has_number(const glow_use *u, glow_dims own, double *out)
{
    const char *name = operand_name(u);

    *out = strcmp(name, "Scale") == 0 || strcmp(name, "Var") == 0 ||
           u->user->op == &glow_op_mul;
    return own.rank < 2 || strcmp(name, "Bias") == 0 ||
           u->user->op == &glow_op_add || u->user->op == &glow_op_batchedadd ||
           *out != 0;
}

/* 2 by the terms of a sum; 1 before gates and in embeddings. */
static double
variance(const glow_use *u)
{
    const glow_node *n = u->user;
    glow_dims d = n->in[u->index]->type->shape;
    bool turned = u->index == 0;
    const glow_gemm *gemm = GLOW_AS(gemm, n);

    if (n->op == &glow_op_convolution || n->op == &glow_op_convtranspose)
        return 2 * (double)d.at[0] / (double)glow_dims_count(d);
    if (n->op == &glow_op_fullyconnected)
        return 2 / (double)d.at[0];
    if (gemm)
        turned ^= turned ? gemm->transpose_a : gemm->transpose_b;
    if (gemm || n->op == &glow_op_matmul || n->op == &glow_op_batchmatmul)
        return 2 / (double)d.at[turned ? d.rank - 1 : d.rank - 2];
    return 1 / (double)d.at[d.rank - 1];
}

void
plan_weights(train *t, const glow_module *m)
{
    for (size_t i = 0; i < t->n_kept; i++) {
        train_kept *k = &t->kept[i];
        const glow_storage *s = glow_find_storage(m, k->name);
        const glow_use *u = reader_of(&s->value);
        double number;

        if (!u || !glow_is_float(s->value.type->elem))
            continue;
        if (has_number(u, s->value.type->shape, &number))
            k->number =
                glow_is_trained(s) || strcmp(operand_name(u), "Var") == 0
                    ? number
                    : 0;
        else if (glow_is_trained(s))
            k->spread = sqrt(3 * variance(u));
    }
}

void
draw_weights(train *t)
{
    for (size_t i = 0; i < t->n_kept; i++) {
        const train_kept *k = &t->kept[i];
        glow_state_entry *e = glow_state_find(t->state, k->name);
        uint64_t stream = glow_hash(k->name, strlen(k->name), 0);

        for (int64_t j = 0; j < glow_type_count(e->tensor.type); j++) {
            glow_philox x = glow_philox_bits((uint64_t)t->values.seed,
                                             (uint64_t)(j / 4), stream);
            double u = (double)glow_philox_unit(x.at[j % 4]);

            glow_set_double(&e->tensor, j, k->number + k->spread * (2 * u - 1));
        }
        e->is_set = true;
    }
}
