/*
 * Nodes between quantized elements that were rewritten: within a step of those before,
 * and of the roundings on the way that are no more.
 */

#include <math.h>
#include <string.h>

#include "glow/ops.h"
#include "passes/quantized/judge.h"

enum { MOST_CONE = 8 };

/* Counts a rounding of `cone`, and moves its elements if it is the one to be off. */
static void
round_again(judge *j, const glow_tensor *y)
{
    const glow_type *t = y->type;
    int64_t least, most;

    if (++j->roundings != j->shifted)
        return;
    least = glow_quantized_least(t->elem);
    most = glow_quantized_most(t->elem);
    for (int64_t i = 0; i < glow_type_count(t); i++) {
        int64_t q = glow_get_int(y, i) + j->shift;

        glow_set_int(y, i, q < least ? least : q > most ? most : q);
    }
}

/* The value of `v` of the function before, from values that were seen after. */
static const glow_tensor *
cone(judge *j, const glow_value *v, int depth)
{
    const glow_node *n = v->def;
    glow_tensor *in[GLOW_MAX_OPERANDS];
    glow_arena *scratch;
    glow_tensor *y;
    bool ok;

    if (v->storage && v->storage->is_constant)
        return glow_constant_tensor(v->storage);
    if (depth > 0 || v->storage) {
        const glow_tensor *seen =
            glow_map_get(j->seen, glow_judge_value_name(j, v));

        if (seen && v->index == 0 && seen->type == v->type)
            return seen;
    }
    if (v->storage || depth == MOST_CONE || n->n_out != 1 ||
        n->n_in > GLOW_MAX_OPERANDS || !(n->op->traits & GLOW_PURE))
        return NULL;
    for (int i = 0; i < n->n_in; i++) {
        in[i] = n->in[i] ? (glow_tensor *)cone(j, n->in[i], depth + 1) : NULL;
        if (n->in[i] && !in[i])
            return NULL;
    }
    y = (glow_tensor *)glow_judge_keep(j, glow_tensor_new(v->type));
    scratch = glow_arena_new();
    ok = glow_eval_node(n, in, &y, scratch);
    glow_arena_free(scratch);
    if (ok && depth > 0 && glow_is_quantized(v->type->elem))
        round_again(j, y);
    return ok ? y : NULL;
}

/* The value of `v` with all elements of rounding `which`, from 1, `by` off. */
static const glow_tensor *
shifted_cone(judge *j, const glow_value *v, int which, int by)
{
    j->roundings = 0;
    j->shifted = which;
    j->shift = by;
    return cone(j, v, 0);
}

/*
 * `bound` for each element of `y`, the value of `v`, and what half a step of each rounding
 * of its cone makes of it; with those, half a step more for the rounding of `y`.
 */
static const double *
bounds_of(judge *j, const glow_value *v, const glow_tensor *y, double bound)
{
    int64_t count = glow_type_count(y->type);
    int roundings = j->roundings;
    double *most = GLOW_NEW_ARRAY(j->a, double, count + 1);

    for (int64_t i = 0; i < count; i++)
        most[i] = roundings ? 1.5 * bound : bound;
    for (int which = 1; which <= roundings; which++) {
        const glow_tensor *up = shifted_cone(j, v, which, 1);
        const glow_tensor *down = shifted_cone(j, v, which, -1);

        for (int64_t i = 0; i < count && up && down; i++) {
            double is = glow_get_real(y, i);

            most[i] += fmax(fabs(glow_get_real(up, i) - is),
                            fabs(glow_get_real(down, i) - is)) /
                       2;
        }
    }
    return most;
}

static bool
is_same_node(judge *j, const glow_node *a, const glow_node *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out)
        return false;
    for (int i = 0; i < a->n_in; i++)
        if (!a->in[i] != !b->in[i] ||
            (a->in[i] && (a->in[i]->type != b->in[i]->type ||
                          strcmp(glow_judge_value_name(j, a->in[i]),
                                 glow_judge_value_name(j, b->in[i])) != 0)))
            return false;
    return true;
}

static double
step_of(const glow_value *v)
{
    return v && glow_is_quantized(v->type->elem) ? (double)v->type->scale : 0;
}

/* A step of the coarsest quantized type at `n`, or at what it reads. */
static double
coarsest(const glow_node *n, int depth)
{
    double step = step_of(n->out[0]);

    for (int i = 0; i < n->n_in; i++) {
        step = fmax(step, step_of(n->in[i]));
        if (n->in[i] && n->in[i]->def && depth > 0)
            step = fmax(step, coarsest(n->in[i]->def, depth - 1));
    }
    return step;
}

/*
 * One step of what it was: where the result is quantized one of its own, where it is
 * a float of the elements that it is made of.  Elements that were rounded on the way and
 * are no more may each have been off by half a step.
 */
bool
glow_judge_rewritten(judge *j, const glow_node *n)
{
    const glow_node *was = glow_find_node(j->before, n->name);
    const glow_tensor *y, *now;
    const double *most;
    double bound;

    if (!was || n->n_out != 1 || was->n_out != 1 ||
        was->out[0]->type != n->out[0]->type || is_same_node(j, was, n) ||
        !(glow_computes_quantized(n) && glow_computes_quantized(was)))
        return true;
    y = shifted_cone(j, was->out[0], 0, 0);
    now = glow_judge_tensor(j, n->out[0]);
    if (!y || !now)
        return true;
    bound = step_of(n->out[0]) > 0 ? step_of(n->out[0]) : coarsest(was, 1);
    most = bounds_of(j, was->out[0], y, bound);
    for (int64_t i = 0; i < glow_type_count(y->type); i++) {
        double is = glow_get_real(now, i), due = glow_get_real(y, i);

        if (!(fabs(is - due) <= most[i] * SLACK) && !(isnan(is) && isnan(due)))
            return glow_judge_tell_node(j, n->name, i, is, due, most[i]);
    }
    return true;
}
