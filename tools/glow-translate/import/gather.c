/* Import of gather and top-k. */

#include <inttypes.h>

#include "tools/glow-translate/import/import.h"

static bool
gather(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = import_in(n, 0);
    int rank = x->type->shape.rank;
    int axis = import_axis_attr(n, 0, rank);

    if (n->failed || rank == 0)
        return import_refuse(n, "E0711", "a scalar has nothing to gather");
    return import_done(
        n, BUILD(n, gather, GLOW_IN(x, import_in(n, 1)), .axis = axis));
}

/* TopK works along the last axis: others are moved there and back. */
static bool
top_k(import_node *n)
{
    bool attr = n->opset < 10;
    bool largest = n->opset < 11 || import_flag(n, "largest", true);
    int64_t k;

    import_ignore(n, "sorted"); /* sorted is one of the orders allowed */
    if (!import_operands(n, attr ? 1 : 2, attr ? 1 : 2))
        return false;

    glow_value *x = import_in(n, 0), *out[2];
    glow_ints count = {0};
    int rank = x->type->shape.rank;
    int axis = import_axis_attr(n, -1, rank);
    glow_dims swap = {.rank = rank};

    if (attr) {
        k = import_int(n, "k", 0, 1, INT64_MAX);
    } else {
        count = import_known_ints(n, 1);
        k = count.count == 1 ? count.at[0] : -1;
    }
    if (n->failed || rank == 0)
        return import_refuse(n, "E0711", "a scalar has no order");
    if (k < 0 || k > x->type->shape.at[axis])
        return import_refuse(
            n, "E0711", "K is %" PRId64 ", but the axis is %" PRId64 " long", k,
            x->type->shape.at[axis]);
    for (int i = 0; i < rank; i++)
        swap.at[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
    if (!import_build_all(
            n, &glow_op_topk, GLOW_IN(import_transpose(n, x, swap)),
            &(const glow_topk){.k = k, .smallest = !largest}, out))
        return false;
    if (n->n_out > 1)
        n->out[1] =
            import_transpose(n, import_convert(n, out[1], GLOW_INDEX64), swap);
    return import_done(n, import_transpose(n, out[0], swap));
}

const import_row import_gather_rows[] = {
    {"Gather", 1, 0, gather, &glow_op_gather,
     "any; indices of any integer kind"},
    {"TopK", 1, 0, top_k, &glow_op_topk,
     "numbers; K must be known; always sorted, whatever sorted says"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
