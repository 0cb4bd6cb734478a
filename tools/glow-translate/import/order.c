/*
 * Topological order of the nodes of a graph.  Models must be in such an order,
 * but some are not.
 */

#include "tools/glow-translate/import/state.h"

/* The index of the node that defines each value, by its name. */
static glow_map *
find_producers(importer *im)
{
    glow_map *producers = glow_map_new(im->arena);
    size_t *numbers = GLOW_NEW_ARRAY(im->arena, size_t, im->graph->n_node);

    for (size_t i = 0; i < im->graph->n_node; i++) {
        const Onnx__NodeProto *p = im->graph->node[i];

        numbers[i] = i;
        for (size_t k = 0; k < p->n_output; k++) {
            const char *name = p->output[k];

            if (!*name)
                continue;
            if (glow_map_get(producers, name) ||
                glow_map_get(im->values, name)) {
                glow_error(im->ctx, "E0706", "%s: %s: '%s' is defined twice",
                           im->path, import_node_text(im, i), name);
                return NULL;
            }
            glow_map_set(producers, name, &numbers[i]);
        }
    }
    return producers;
}

enum { UNSEEN, OPEN, DONE };

typedef struct sorter {
    importer *im;
    glow_map *producers;
    char *state;   /* by node */
    size_t *stack; /* nodes that are open */
    size_t *next;  /* by depth: the next operand to visit */
    size_t depth;
    size_t *order, n_order;
} sorter;

/* Visits one operand of the node on top of the stack; pushes its definition. */
static bool
visit_operand(sorter *s, size_t i, const char *name)
{
    const size_t *from = *name ? glow_map_get(s->producers, name) : NULL;

    bool outside;

    import_find(s->im, name, &outside);
    if (!*name || glow_map_get(s->im->values, name) || (!from && outside))
        return true;
    if (!from)
        return glow_error(s->im->ctx, "E0706", "%s: %s: '%s' is not defined",
                          s->im->path, import_node_text(s->im, i), name);
    if (s->state[*from] == OPEN)
        return glow_error(s->im->ctx, "E0706",
                          "%s: %s: '%s' depends on itself: the graph has a "
                          "cycle",
                          s->im->path, import_node_text(s->im, i), name);
    if (s->state[*from] == UNSEEN) {
        s->state[*from] = OPEN;
        s->stack[s->depth] = *from;
        s->next[s->depth++] = 0;
    }
    return true;
}

/*
 * A topological order, the model's own if it is one, by depth-first search;
 * iterative, because chains can be long.
 */
static bool
sort_nodes(sorter *s)
{
    const Onnx__GraphProto *g = s->im->graph;

    for (size_t root = 0; root < g->n_node; root++) {
        if (s->state[root] != UNSEEN)
            continue;
        s->state[root] = OPEN;
        s->stack[0] = root;
        s->next[0] = 0;
        s->depth = 1;
        while (s->depth) {
            size_t i = s->stack[s->depth - 1];
            size_t operand = s->next[s->depth - 1]++;

            if (operand == g->node[i]->n_input) {
                s->state[i] = DONE;
                s->order[s->n_order++] = i;
                s->depth--;
            } else if (!visit_operand(s, i, g->node[i]->input[operand])) {
                return false;
            }
        }
    }
    return true;
}

const size_t *
import_order(importer *im)
{
    size_t n = im->graph->n_node;
    sorter s = {.im = im, .producers = find_producers(im)};

    if (!s.producers)
        return NULL;
    s.state = GLOW_NEW_ARRAY(im->arena, char, n + 1);
    s.stack = GLOW_NEW_ARRAY(im->arena, size_t, n + 1);
    s.next = GLOW_NEW_ARRAY(im->arena, size_t, n + 1);
    s.order = GLOW_NEW_ARRAY(im->arena, size_t, n + 1);
    return sort_nodes(&s) ? s.order : NULL;
}
