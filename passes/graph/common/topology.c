/* Topological order: depth-first search from each node to its operands. */

#include "passes/graph/common/topology.h"

#include "glow/number.h"

typedef struct frame {
    glow_node *node;
    int next; /* next operand to visit */
} frame;

static glow_node *
unseen_operand(const glow_numbering *seen, frame *top)
{
    glow_node *n = top->node;

    while (top->next <= n->n_in) {
        int i = top->next++;
        glow_value *v = i < n->n_in ? n->in[i] : n->pred;

        if (v && v->def && glow_number_of(seen, v->def) == GLOW_UNNUMBERED)
            return v->def;
    }
    return NULL;
}

glow_node **
glow_nodes_in_order(glow_arena *a, glow_func *f)
{
    glow_node **order = GLOW_NEW_ARRAY(a, glow_node *, f->count + 1);
    frame *stack = GLOW_NEW_ARRAY(a, frame, f->count + 1);
    glow_numbering seen = glow_numbering_new(a, f);
    size_t done = 0;

    GLOW_FOR_EACH_NODE(root, f) {
        size_t depth = 0;

        if (glow_number_of(&seen, root) != GLOW_UNNUMBERED)
            continue;
        glow_number_set(&seen, root, 0);
        stack[depth++] = (frame){root, 0};
        while (depth > 0) {
            glow_node *operand = unseen_operand(&seen, &stack[depth - 1]);

            if (operand) {
                glow_number_set(&seen, operand, 0);
                stack[depth++] = (frame){operand, 0};
                continue;
            }
            order[done++] = stack[--depth].node;
        }
    }
    return order;
}
