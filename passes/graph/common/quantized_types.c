/*
 * Types of values from their ranges.
 *
 * Each float value with an observed range takes scale and offset by the schema.  Then,
 * from the end of the graph to its start, a value with one user takes the type of the
 * user's result instead where the user
 *
 *   - is a Relu or Clip, since saturation at the ends of that type does its work;
 *   - is a Concat, which then copies its operands (as in TFLite);
 *   - keeps the type of its operand, such as MaxPool or Slice: the elements that it
 *     drops need no room.
 *
 * In all three cases the range of the result is within that of the operand, or holds
 * it; the operand needs none of its own.
 */

#include <math.h>
#include <string.h>

#include "glow/match.h"
#include "passes/graph/common/quantizing.h"
#include "passes/graph/common/topology.h"

const char *const glow_quantizing_precisions[] = {"int8", "int16", "uint8",
                                                  NULL};
static const glow_kind precisions[] = {GLOW_INT8Q, GLOW_INT16Q, GLOW_UINT8Q};
static const glow_kind bias_kinds[] = {GLOW_INT32Q, GLOW_INT16Q, GLOW_INT8Q};

/* Choice of nodes. */

bool
glow_quantizing_word(const char **at, const char **word, size_t *length)
{
    *at += strspn(*at, ", ");
    *word = *at;
    *length = strcspn(*at, ", ");
    *at += *length;
    return *length > 0;
}

static bool
is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

bool
glow_quantizing_names(const char *word, size_t length, const glow_node *n)
{
    const char *mark = *word == '@' ? memchr(word, '%', length) : NULL;
    size_t func = mark ? (size_t)(mark - word) : length;

    if (*word == '@' && !is_word(word + 1, func - 1, n->func->name))
        return false;
    if (*word == '@')
        return !mark || is_word(mark + 1, length - func - 1, n->name);
    return *word == '%' ? is_word(word + 1, length - 1, n->name)
                        : is_word(word, length, n->name) ||
                              is_word(word, length, n->op->name);
}

bool
glow_quantizing_is_kept(const quantize_options *o, const glow_node *n)
{
    const char *at = o->keep, *word;
    size_t length;

    while (glow_quantizing_word(&at, &word, &length))
        if (glow_quantizing_names(word, length, n))
            return true;
    return false;
}

static const glow_op *const keeping[] = {&glow_op_maxpool,
                                         &glow_op_maxpoolwithargmax,
                                         &glow_op_resizenearest, &glow_op_topk};

bool
glow_quantizing_keeps_type(const glow_node *n)
{
    for (size_t i = 0; i < sizeof keeping / sizeof keeping[0]; i++)
        if (n->op == keeping[i])
            return true;
    return (n->op->traits & GLOW_LAYOUT) && n->n_in > 0 &&
           n->op != &glow_op_concat && n->op != &glow_op_inserttensor;
}

static bool
choose(quantizing *q, const glow_value *v, double min, double max,
       glow_type *out)
{
    glow_type t = glow_type_of(q->kind, v->type->shape);
    const char *wrong =
        glow_quantization_of(&t, (glow_quantization_schema)q->o->schema, min,
                             max, glow_run_scratch(q->run));

    if (wrong) {
        q->wrong = wrong;
        return false;
    }
    *out = t;
    return true;
}

/* By the elements of a constant; false if one is not finite. */
static bool
type_of_constant(quantizing *q, const glow_value *v, glow_type *out)
{
    const glow_tensor *t = glow_constant_tensor(v->storage);
    int64_t count = glow_type_count(v->type);
    double min = 0, max = 0;

    for (int64_t i = 0; t && i < count; i++) {
        double x = glow_get_double(t, i);

        if (!isfinite(x))
            return false;
        min = fmin(min, x);
        max = fmax(max, x);
    }
    return t && choose(q, v, min, max, out);
}

/* From the range of `v`, or its number. */
static bool
type_of_range(quantizing *q, const glow_value *v, glow_type *out)
{
    const glow_value_range *r = glow_get_value_range(v);
    double x;

    if (r)
        return choose(q, v, (double)r->min, (double)r->max, out);
    if (glow_is_constant(v))
        return type_of_constant(q, v, out);
    return glow_splat_value(v, &x) && choose(q, v, fmin(x, 0), fmax(x, 0), out);
}

static glow_type *
entry_of(const quantizing *q, const glow_value *v)
{
    const glow_node *n = v->def;

    return n && n->func == q->func && n->id < q->n_types && q->types[n->id]
               ? &q->types[n->id][v->index]
               : NULL;
}

bool
glow_quantizing_type(quantizing *q, const glow_value *v, glow_type *out)
{
    const glow_node *d = glow_def(v, &glow_op_dequantize);
    const glow_type *entry = entry_of(q, v);

    if (d) {
        *out = *d->in[0]->type;
        return true;
    }
    if (v->def && v->def->func == q->func && v->def->id < q->n_types) {
        if (!entry || !entry->elem)
            return false;
        *out = *entry;
        return true;
    }
    return type_of_range(q, v, out);
}

const glow_value *
glow_quantizing_follower(const glow_value *v)
{
    const glow_node *u = glow_has_one_use(v) ? v->uses->user : NULL;

    if (!u || u->pred || u->n_out < 1)
        return NULL;
    return u->op == &glow_op_relu || u->op == &glow_op_clip ||
                   u->op == &glow_op_concat || glow_quantizing_keeps_type(u)
               ? u->out[0]
               : NULL;
}

/* Types of the results of `n`; those of its users are known. */
static void
choose_results(quantizing *q, const glow_node *n)
{
    glow_type *t =
        GLOW_NEW_ARRAY(glow_run_scratch(q->run), glow_type, n->n_out + 1);

    q->types[n->id] = t;
    for (int k = 0; k < n->n_out; k++) {
        const glow_value *v = n->out[k], *u = glow_quantizing_follower(v);
        const glow_type *after = u ? entry_of(q, u) : NULL;

        if (!glow_is_float(v->type->elem))
            continue;
        if (after && after->elem) {
            t[k] = *after;
            t[k].shape = v->type->shape;
        } else {
            type_of_range(q, v, &t[k]);
        }
    }
}

void
glow_quantizing_begin(quantizing *q, glow_pass_run *run, glow_func *f)
{
    glow_arena *a = glow_run_scratch(run);
    const quantize_options *o = glow_run_options(run);

    *q = (quantizing){.run = run,
                      .o = o,
                      .func = f,
                      .kind = precisions[o->precision],
                      .bias_kind = bias_kinds[o->bias],
                      .order = glow_nodes_in_order(a, f),
                      .count = f->count,
                      .n_types = f->next_id};
    q->types = GLOW_NEW_ARRAY(a, glow_type *, (size_t)q->n_types + 1);
    q->inputs =
        GLOW_NEW_ARRAY(a, const glow_value_range *, (size_t)q->n_types + 1);
    for (int i = q->count; i-- > 0;) {
        const glow_node *n = q->order[i];

        choose_results(q, n);
        q->inputs[n->id] =
            n->n_in > 0 && n->in[0] ? glow_get_value_range(n->in[0]) : NULL;
    }
}

/* Conversions. */

static glow_value *
constant_of(quantizing *q, const glow_value *v, const glow_type *type)
{
    const glow_tensor *from = glow_constant_tensor(v->storage);
    int64_t count = glow_type_count(type);
    glow_value *to;

    if (!from)
        return NULL;
    to = glow_build_constant(q->b, v->storage->name, type);
    for (int64_t i = 0; i < count; i++)
        glow_set_int(&to->storage->tensor, i,
                     glow_quantize(type, glow_get_double(from, i)));
    return to;
}

glow_value *
glow_quantizing_operand(quantizing *q, glow_value *v, const glow_type *type)
{
    const glow_type *t = glow_type_get(glow_builder_context(q->b), *type);
    const glow_node *d = glow_def(v, &glow_op_dequantize);

    if (glow_is_constant(v))
        return constant_of(q, v, t);
    if (d && d->in[0]->type == t)
        return d->in[0];
    if (d)
        return GLOW_BUILD_STATED_PLAIN(q->b, rescalequantized, t,
                                       GLOW_IN(d->in[0]));
    return GLOW_BUILD_STATED_PLAIN(q->b, quantize, t, GLOW_IN(v));
}
