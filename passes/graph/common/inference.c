#include "passes/graph/common/inference.h"

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/state.h"

/* The running statistic that result `i` of a MeanVarNormalization of `x` replaces. */
static glow_value *
running(const glow_value *v, const glow_value *x, int i)
{
    glow_node *n = glow_def(v, &glow_op_meanvarnormalization);

    return n && v->index == i && n->in[0] == x &&
                   GLOW_AS(meanvarnormalization, n)->momentum == 1
               ? n->in[1 + i]
               : NULL;
}

static bool
settle_statistics(glow_node *n)
{
    glow_value *mean = running(n->in[3], n->in[0], 0);
    glow_value *var = running(n->in[4], n->in[0], 1);

    if (!mean || !var)
        return false;
    glow_set_operand(n, 3, mean);
    glow_set_operand(n, 4, var);
    return true;
}

void
glow_settle_inference(glow_func *f, int *nodes, int *saves)
{
    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op == &glow_op_batchnormalization) {
            *nodes += settle_statistics(n);
        } else if (n->op == &glow_op_dropout) {
            glow_replace_uses(n->out[0], n->in[0]);
            ++*nodes;
        } else if (n->op == &glow_op_save && glow_is_state(n->in[1]->storage)) {
            glow_node_erase(n);
            ++*saves;
        }
    }
}
