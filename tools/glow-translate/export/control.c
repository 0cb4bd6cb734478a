/*
 * Exporting calls: bodies become subgraphs.
 *
 * Inputs of a body that are not carried become free variables of the subgraph,
 * so that only carried values of a loop are among its inputs.
 */

#include "tools/glow-translate/export/export.h"

/* The names of operands from in[first] on. */
static const char **
names_from(exporter *e, const glow_node *n, int first)
{
    const char **names =
        GLOW_NEW_ARRAY(export_arena(e), const char *, n->n_in - first + 1);

    for (int i = first; i < n->n_in; i++)
        names[i - first] = export_in(e, n, i);
    return names;
}

static bool
export_if(exporter *e, const glow_node *n)
{
    const char **given = names_from(e, n, 1);

    export_last(e, n, "If", NAMES(export_in(e, n, 0)));
    return export_body(e, "then_branch", glow_called(n, 0), given) &&
           export_body(e, "else_branch", glow_called(n, 1), given);
}

/*
 * True if scan outputs have a row for each iteration, as in ONNX: MaxTrips is
 * the trip count.
 */
static bool
keeps_all_rows(const glow_node *n)
{
    const glow_loop *a = n->attrs;
    int64_t trips;

    return n->n_out == a->carried ||
           (glow_loop_trips(n, &trips) && trips == a->max_trips);
}

static bool
export_loop(exporter *e, const glow_node *n)
{
    enum { FIRST = 2 };
    const glow_loop *a = n->attrs;
    const char **names = names_from(e, n, 0);

    if (!keeps_all_rows(n))
        return export_refuse(e, n,
                             "in ONNX it would keep fewer rows where it ends "
                             "before MaxTrips iterations");
    export_last(e, n, "Loop", names, FIRST + a->carried);
    for (int i = 0; i < FIRST + a->carried; i++)
        names[i] = NULL;
    return export_body(e, "body", glow_called(n, 0), names);
}

const export_row export_control_rows[] = {
    {&glow_op_if, export_if, NULL},
    {&glow_op_loop, export_loop, NULL},
    {NULL, NULL, NULL},
};
