/* Topological order: depth-first search from each node to its operands. */

#include "passes/graph/common/topology.h"

typedef struct frame {
    glow_node *node;
    int next; /* next operand to visit */
} frame;

enum { NEW, OPEN, DONE };

static glow_node *
unseen_operand(frame *top)
{
    glow_node *n = top->node;

    while (top->next <= n->n_in) {
        int i = top->next++;
        glow_value *v = i < n->n_in ? n->in[i] : n->pred;

        if (v && v->def && v->def->mark == NEW)
            return v->def;
    }
    return NULL;
}

glow_node **
glow_nodes_in_order(glow_arena *a, glow_func *f)
{
    glow_node **order = GLOW_NEW_ARRAY(a, glow_node *, f->count + 1);
    frame *stack = GLOW_NEW_ARRAY(a, frame, f->count + 1);
    size_t done = 0;

    GLOW_FOR_EACH_NODE(n, f)
        n->mark = NEW;
    GLOW_FOR_EACH_NODE(root, f) {
        size_t depth = 0;

        if (root->mark != NEW)
            continue;
        root->mark = OPEN;
        stack[depth++] = (frame){root, 0};
        while (depth > 0) {
            glow_node *operand = unseen_operand(&stack[depth - 1]);

            if (operand) {
                operand->mark = OPEN;
                stack[depth++] = (frame){operand, 0};
                continue;
            }
            order[done++] = stack[--depth].node;
            order[done - 1]->mark = DONE;
        }
    }
    return order;
}
