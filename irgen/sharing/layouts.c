/*
 * Layouts of values after their buffer is moved, and the query whether the backend
 * takes them; see accesses.h.
 */

#include "glow/backend.h"
#include "irgen/sharing/accesses.h"

enum { MOST_OPERANDS = 256 }; /* of a step; one with more is refused */

bool
glow_value_moved(const glow_shared_value *v, const glow_part *to,
                 glow_part *out)
{
    if (!v->type)
        return false;
    *out = (glow_part){to->buffer, v->first, *v->type};
    if ((to->type.strides.rank || v->type->strides.rank) &&
        !glow_type_move(&to->type, &out->type, &out->first))
        return false;
    out->first += to->first;
    return true;
}

/* Steps as instructions. */

static glow_value *
operand_of(const glow_step *s, int k)
{
    return s->node->in[s->part < 0 ? k : s->part];
}

/* Result `k` of a step; a Save writes its operand 1. */
static glow_value *
result_of(const glow_step *s, int k)
{
    return s->node->op == &glow_op_save ? s->node->in[1] : s->node->out[k];
}

static glow_value *
with_type(const glow_accesses *x, glow_value *v, const glow_type *type)
{
    if (!v || v->type == type)
        return v;
    v = glow_arena_copy(x->arena, v, sizeof *v);
    v->type = type;
    return v;
}

void
glow_step_as_node(const glow_accesses *x, const glow_step *s, glow_node *as)
{
    *as = *s->node;
    as->op = s->op;
    as->n_in = s->n_in;
    as->n_out = s->n_out;
    if (s->op != s->node->op)
        as->attrs = NULL;
    as->in = GLOW_NEW_ARRAY(x->arena, glow_value *, s->n_in);
    as->out = GLOW_NEW_ARRAY(x->arena, glow_value *, s->n_out);
    for (int k = 0; k < s->n_in; k++)
        as->in[k] = s->in[k] == GLOW_NONE ? NULL
                                          : with_type(x, operand_of(s, k),
                                                      x->values[s->in[k]].type);
    for (int k = 0; k < s->n_out; k++)
        as->out[k] = with_type(x, result_of(s, k), x->values[s->out[k]].type);
}

/* Queries to the backend. */

typedef struct question {
    glow_accesses *x;
    uint32_t buffer;
    const glow_part *to;
    const glow_step *but;
    bool but_movers; /* skip steps that only move elements too */
    const char *why;
} question;

static bool
only_moves(const glow_step *s)
{
    return s->op == &glow_op_slice || s->op == &glow_op_concat ||
           s->op == &glow_op_inserttensor || s->op == &glow_op_copy;
}

/* Sets `out` to the values `v` in their new layouts; *strided if one has strides.
   False if a layout is not expressible. */
static bool
values_moved(const question *q, const uint32_t *v, int count, glow_value **out,
             bool *strided)
{
    const glow_accesses *x = q->x;
    glow_part p;

    for (int k = 0; k < count; k++) {
        if (v[k] == GLOW_NONE || x->values[v[k]].buffer != q->buffer)
            continue;
        if (!glow_value_moved(&x->values[v[k]], q->to, &p))
            return false;
        out[k] = with_type(x, out[k],
                           glow_type_get(glow_run_context(x->run), p.type));
        *strided |= p.type.strides.rank > 0;
    }
    return true;
}

static bool
is_taken(question *q, const glow_node *as)
{
    const glow_backend *b = glow_run_backend(q->x->run);
    const char *why = "no backend was asked";

    if (b && !(as->op->traits & GLOW_UNKNOWN) &&
        b->takes(as, q->x->arena, &why) == GLOW_TAKES)
        return true;
    q->why = q->x->edit ? glow_arena_printf(
                              q->x->arena,
                              "%%%s cannot work on every so many elements: %s",
                              as->name, why)
                        : why;
    return false;
}

static bool
can_use(void *user, const glow_step *s, const glow_shared_value *v, bool writes)
{
    question *q = user;
    bool strided = false;
    glow_node as;
    glow_part p;

    (void)writes;
    if (s == q->but || (q->but_movers && only_moves(s)) ||
        (glow_value_moved(v, q->to, &p) && p.type.strides.rank == 0))
        return true;
    if (s->n_in <= MOST_OPERANDS) {
        glow_step_as_node(q->x, s, &as);
        if (values_moved(q, s->in, s->n_in, as.in, &strided) &&
            values_moved(q, s->out, s->n_out, as.out, &strided))
            return !strided || is_taken(q, &as);
    }
    if (q->x->edit)
        q->why = glow_arena_printf(
            q->x->arena,
            "%%%s names elements that do not lie at regular steps there",
            s->node->name);
    return false;
}

bool
glow_can_use(glow_accesses *x, uint32_t buffer, const glow_part *to,
             const glow_step *but, const char **why)
{
    const glow_type *type = x->buffers[buffer].type;
    question q = {.x = x,
                  .buffer = buffer,
                  .to = to,
                  .but = but,
                  .why = "it is used in too many places"};

    if (type->strides.rank ||
        glow_type_count(type) != glow_type_count(&to->type)) {
        *why = "its layout is another";
        return false;
    }
    if (glow_each_access(x, buffer, can_use, &q))
        return true;
    *why = q.why;
    return false;
}

bool
glow_could_use(glow_accesses *x, uint32_t buffer, const glow_part *to)
{
    question q = {.x = x, .buffer = buffer, .to = to, .but_movers = true};

    return glow_type_count(x->buffers[buffer].type) ==
               glow_type_count(&to->type) &&
           glow_each_access(x, buffer, can_use, &q);
}
