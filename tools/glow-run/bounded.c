/*
 * Bounded outputs, of which only a part is valid.  Their placeholders refer to
 * the count:
 *
 *     placeholder @y : index64<2 x 9> {Count: @y.count, Axis: 1}
 *
 * After the run, the outputs are cut to the valid part.
 */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-run/run.h"

/* The port of the Count of `p`, or NULL. */
static const run_port *
count_port(const run *r, const run_port *p)
{
    const glow_attr_value *v = glow_attr_find(p->storage->attrs, "Count");

    if (!v || v->kind != GLOW_V_SYMBOL)
        return NULL;
    for (size_t i = 0; i < r->n_ports; i++)
        if (strcmp(r->ports[i].storage->name, v->text) == 0)
            return &r->ports[i];
    return NULL;
}

/* The axis that is cut; -1: none. */
static int
count_axis(const run_port *p)
{
    const glow_attr_value *v = glow_attr_find(p->storage->attrs, "Axis");

    return v && v->kind == GLOW_V_INT && v->i >= 0 && v->i < p->type->shape.rank
               ? (int)v->i
               : -1;
}

static void
cut(run *r, run_port *p, int axis, int64_t count)
{
    glow_type type = *p->type;
    glow_tensor t;

    type.shape.at[axis] = count;
    t = glow_tensor_new(glow_type_get(r->tool.ctx, type));
    GLOW_FOR_EACH_INDEX(i, type.shape)
        glow_tensor_copy_element(&t, i, &p->tensor, i);
    glow_tensor_end(&p->tensor);
    p->tensor = t;
    p->type = t.type;
}

void
cut_outputs(run *r)
{
    for (size_t i = 0; i < r->n_ports; i++) {
        run_port *p = &r->ports[i];
        const run_port *c = p->is_written ? count_port(r, p) : NULL;
        int axis = count_axis(p);
        int64_t count;

        if (!c || axis < 0 || glow_type_count(c->type) != 1)
            continue;
        count = glow_get_int(&c->tensor, 0);
        if (count >= 0 && count < p->type->shape.at[axis])
            cut(r, p, axis, count);
    }
}
