/*
 * Services of several parts: a graph of Runs, as the pass partition makes it, in which
 * each Run is a part on the devices of its name.
 */

#include <stdlib.h>
#include <string.h>

#include "glow/diag.h"
#include "glow/ops.h"
#include "runtime/heap.h"
#include "runtime/state.h"

typedef struct planning {
    service *service;
    variant *variant;
    glow_func *func;
    glow_context *ctx;
    const glow_service_options *options;
    const glow_value **at; /* of each value of the variant */
    int n_parts;
} planning;

static bool
refuse(const planning *p, const glow_node *n, const char *why)
{
    return glow_error_at(p->ctx, n->span, "E1008", "service %s: %%%s, %s, %s",
                         p->service->name, n->name, n->op->name, why);
}

static int
find_value(const planning *p, const glow_value *v)
{
    for (int i = 0; i < p->variant->n_values; i++)
        if (p->at[i] == v)
            return i;
    return -1;
}

static int
add_value(planning *p, const glow_value *v)
{
    int i = p->variant->n_values++;

    p->at[i] = v;
    p->variant->values[i].type = v->type;
    p->variant->values[i].bytes = glow_type_bytes(v->type);
    return i;
}

/* The value that a Run reads: a placeholder or the result of another. */
static bool
add_operand(planning *p, const glow_node *n, const glow_value *v)
{
    int i = find_value(p, v);

    if (i >= 0)
        return true;
    if (!v->storage || v->storage->is_constant)
        return refuse(p, n,
                      "reads what is neither an input nor a part's result");
    i = add_value(p, v);
    p->variant->values[i].name =
        glow_run_name(p->service->host, v->storage->name);
    p->variant->values[i].in = true;
    return true;
}

/* A Save makes a result an output. */
static bool
add_output(planning *p, const glow_node *n)
{
    int i = find_value(p, n->in[0]);
    value *v = i < 0 ? NULL : &p->variant->values[i];

    if (!v || v->in || v->out)
        return refuse(p, n, "saves what is no part's result, or saved already");
    v->name = glow_run_name(p->service->host, n->in[1]->storage->name);
    v->out = true;
    return true;
}

static bool
list_values(planning *p)
{
    variant *x = p->variant;
    int most = 0;

    GLOW_FOR_EACH_NODE(n, p->func)
        most += n->n_in + n->n_out;
    x->values = glow_heap_new((size_t)most * sizeof *x->values);
    p->at = glow_heap_new((size_t)most * sizeof *p->at);
    GLOW_FOR_EACH_NODE(n, p->func) {
        if (n->op == &glow_op_save) {
            if (!add_output(p, n))
                return false;
            continue;
        }
        if (n->op != &glow_op_run)
            return refuse(p, n, "is on no device");
        for (int i = 0; i < n->n_in; i++)
            if (!add_operand(p, n, n->in[i]))
                return false;
        for (int i = 0; i < n->n_out; i++)
            add_value(p, n->out[i]);
        p->n_parts++;
    }
    return true;
}

/* The value that is bound to a formal of the body of `n`, by name. */
static int
value_of_port(const planning *p, const glow_node *n, const char *name)
{
    const glow_func *body = glow_called(n, 0);

    for (int i = 0; i < n->n_in; i++)
        if (strcmp(glow_formal(body, GLOW_INPUTS, i)->name, name) == 0)
            return find_value(p, n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        if (strcmp(glow_formal(body, GLOW_OUTPUTS, i)->name, name) == 0)
            return find_value(p, n->out[i]);
    return -1;
}

static bool
bind_ports(planning *p, const glow_node *n, part *q)
{
    q->values = glow_heap_new((size_t)q->n_ports * sizeof *q->values);
    for (int i = 0; i < q->n_ports; i++) {
        int v = value_of_port(p, n, q->ports[i].name);

        if (v < 0)
            return refuse(p, n,
                          "has a function that reads or writes more than "
                          "its Inputs and Outputs");
        q->values[i] = v;
    }
    return true;
}

static void
list_dependences(planning *p)
{
    const variant *x = p->variant;

    for (int i = 0; i < x->n_parts; i++) {
        part *q = &x->parts[i];

        q->waits_for = glow_heap_new((size_t)x->n_parts * sizeof(int));
        for (int k = 0; k < i; k++) {
            bool depends = false;

            for (int a = 0; a < q->n_ports; a++)
                for (int b = 0; b < x->parts[k].n_ports; b++)
                    depends =
                        depends ||
                        (q->ports[a].read && x->parts[k].ports[b].written &&
                         q->values[a] == x->parts[k].values[b]);
            if (depends)
                q->waits_for[q->n_waits_for++] = k;
        }
    }
}

static bool
load_parts(planning *p)
{
    service *s = p->service;
    variant *x = p->variant;
    part *q = x->parts = glow_heap_new((size_t)p->n_parts * sizeof *x->parts);

    GLOW_FOR_EACH_NODE(n, p->func) {
        const glow_run *a = n->op == &glow_op_run ? n->attrs : NULL;
        glow_service_options o = *p->options;

        if (!a)
            continue;
        x->n_parts++;
        q->name = glow_run_name(s->host, a->body);
        o.function = a->body;
        if (*a->device) {
            o.devices = &a->device;
            o.n_devices = 1;
        }
        if (!glow_run_load_replicas(s, q, p->ctx, &o) || !bind_ports(p, n, q))
            return false;
        q++;
    }
    return true;
}

/* The device of part `p` if its memory is out of reach of the host and all others, or NULL. */
static device *
sole_device(const part *p)
{
    device *d = p->n_replicas == 1 ? p->replicas[0].device : NULL;

    return d && !d->host_memory ? d : NULL;
}

device *
glow_run_home(const variant *x, int v)
{
    device *d = NULL;

    for (int i = 0; i < x->n_parts; i++)
        for (int k = 0; k < x->parts[i].n_ports; k++) {
            if (x->parts[i].values[k] != v)
                continue;
            d = d ? d : sole_device(&x->parts[i]);
            if (!d || sole_device(&x->parts[i]) != d)
                return NULL;
        }
    return d;
}

/* Finds the values that one device makes and alone reads: they need not be copied. */
static void
find_staying(variant *x)
{
    for (int v = 0; v < x->n_values; v++)
        x->values[v].stays =
            !x->values[v].in && !x->values[v].out && glow_run_home(x, v);
}

bool
glow_run_plan(service *s, variant *x, glow_func *f, glow_context *ctx,
              const glow_service_options *o)
{
    planning p = {
        .service = s, .variant = x, .func = f, .ctx = ctx, .options = o};
    bool ok = list_values(&p) && load_parts(&p);

    if (ok) {
        list_dependences(&p);
        find_staying(x);
    }
    free(p.at);
    return ok;
}
