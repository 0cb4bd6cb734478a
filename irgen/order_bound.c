/* What no order can go below. */

#include "irgen/order.h"

/*
 * The most bytes that aliases can save `task`: each thing made counts once, and
 * each thing that is written over serves the largest that may.
 */
static int64_t
most_aliased(const glow_order_net *net, uint32_t task, int64_t *largest)
{
    const glow_order_task *t = &net->p->tasks[task];
    const glow_order_buffer *buffers = net->p->buffers;
    int64_t sum = 0;

    for (uint32_t k = 0; k < t->n_aliases; k++) {
        uint32_t made = t->aliases[k].made, over = t->aliases[k].over;

        if (made == over || buffers[over].stays ||
            buffers[made].bytes > buffers[over].bytes ||
            buffers[made].bytes <= largest[over])
            continue;
        sum += buffers[made].bytes - largest[over];
        largest[over] = buffers[made].bytes;
    }
    for (uint32_t k = 0; k < t->n_aliases; k++)
        largest[t->aliases[k].over] = 0;
    return sum;
}

int64_t
glow_order_bound_by_task(glow_arena *a, const glow_order_net *net)
{
    int64_t *largest = GLOW_NEW_ARRAY(a, int64_t, (size_t)net->n_buffers + 1);
    int64_t most = 0;

    for (uint32_t i = 0; i < net->n_tasks; i++) {
        int64_t bytes = net->p->tasks[i].extra - most_aliased(net, i, largest);

        GLOW_ORDER_EACH(b, net->touches, i)
            bytes += net->p->buffers[*b].bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}
