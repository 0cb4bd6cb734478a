/*
 * accumulate-gradients: add gradients up over several runs.
 *
 *     %s = Save(%g, @grad.w)
 *  =>
 *     placeholder @sum.w : float<4> {State: true}
 *     placeholder @micro : index64<> {State: true}
 *     placeholder @due : bool<> {Gate: true}
 *     %n = Add(@micro, 1)
 *     %due = CmpEQ(%n, [every])
 *     %sum = Add(@sum.w, %g)
 *     %mean = Mul(%sum, [1 / every])
 *     %s = Save(%mean, @grad.w)
 *     %t = Save(Select(%due, 0, %sum), @sum.w)
 *     %u = Save(Select(%due, 0, %n), @micro)
 *     %v = Save(%due, @due)
 *
 * update-weights steps in those runs alone in which what is saved to placeholders with
 * {Gate: true} is true: in each `every`-th.  A batch that is too large for the memory is
 * so trained on in parts; the sums are added in the order of the runs.
 *
 * The pass comes after `differentiate`, before `clip-gradients` and `update-weights`.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "passes/graph/common/gates.h"
#include "passes/graph/common/gradients.h"

typedef struct accumulate_options {
    int every;
} accumulate_options;

typedef struct accumulation {
    glow_func *f;
    glow_builder *b;
    glow_arena *arena;
    glow_value *due;
} accumulation;

/* The counter of runs, and the gate. */
static bool
begin(accumulation *a, int every)
{
    glow_context *ctx = a->f->module->ctx;
    glow_dims scalar = {.rank = 0};
    glow_value *micro =
        glow_new_state(a->f->module, "micro",
                       glow_type_get(ctx, glow_type_of(GLOW_INDEX64, scalar)));
    glow_value *count, *next;

    glow_builder_named(a->b, "micro", NULL);
    count = GLOW_BUILD_PLAIN(a->b, add,
                             GLOW_IN(micro, glow_build_like(a->b, micro, 1)));
    a->due = GLOW_BUILD_PLAIN(
        a->b, cmpeq,
        GLOW_IN(count, glow_build_like(a->b, micro, (double)every)));
    next = glow_where(a->b, a->due, glow_build_like(a->b, micro, 0), count);
    return glow_save(a->b, next, micro) && glow_add_gate(a->b, "due", a->due);
}

static bool
add_up(accumulation *a, glow_node *n, int every)
{
    glow_value *g = n->in[0], *sum, *mean;
    const glow_attr_value *of =
        glow_attr_find(n->in[1]->storage->attrs, "GradientOf");
    glow_value *kept = glow_new_state(
        a->f->module, glow_arena_printf(a->arena, "sum.%s", of->text), g->type);

    glow_builder_at(a->b, n);
    sum = GLOW_BUILD_PLAIN(a->b, add, GLOW_IN(kept, g));
    if (!sum)
        return false;
    mean = GLOW_BUILD_PLAIN(
        a->b, mul, GLOW_IN(sum, glow_build_like(a->b, sum, 1 / (double)every)));
    sum = glow_where(a->b, a->due, glow_build_like(a->b, sum, 0), sum);
    if (!mean || !glow_save(a->b, sum, kept))
        return false;
    glow_set_operand(n, 0, mean);
    return true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const accumulate_options *o = glow_run_options(pass);
    accumulation a = {.f = f, .arena = glow_run_scratch(pass)};
    const glow_node *last = f->last;
    int count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        count += glow_is_gradient(n);
    if (count == 0 || o->every < 2)
        return GLOW_UNCHANGED;
    a.b = glow_builder_new(a.arena, f, glow_run_pass(pass)->name);
    if (!begin(&a, o->every))
        return GLOW_FAILED;
    GLOW_FOR_EACH_NODE(n, f) {
        if (glow_is_gradient(n) && !add_up(&a, n, o->every))
            return GLOW_FAILED;
        if (n == last)
            break;
    }
    glow_run_count(pass, "gradients", count);
    return GLOW_CHANGED;
}

const glow_pass glow_pass_accumulate_gradients = {
    .name = "accumulate-gradients",
    .summary = "add gradients up over several runs",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "gradients are means over several runs",
    .options = {GLOW_FIELD_DEFAULT(accumulate_options, every, GLOW_INT,
                                   "runs for each step")},
    .defaults = &(const accumulate_options){.every = 1},
    .run = run,
};
