/*
 * Control flow: If, Loop and Run, which call functions of the module.
 */

#include <string.h>

#include "glow/eval.h"
#include "ir/ops/common.h"

/* Formals. */

/* The function that attribute `name`, the k-th of kind GLOW_FUNC, refers to. */
static glow_func *
find_body(const glow_node *n, int k, const char *name)
{
    glow_func *f = glow_called(n, k);

    if (!f)
        glow_reject(n, "%s names no function", name);
    else if (!glow_is_body(f)) {
        glow_reject(n,
                    "%s names @%s, which has no attributes Inputs and Outputs",
                    name, f->name);
        f = NULL;
    }
    for (int which = 0; f && which < 2; which++)
        for (int i = 0; i < glow_formal_count(f, (glow_formals)which); i++)
            if (!glow_formal(f, (glow_formals)which, i)) {
                glow_reject(n, "@%s lists a formal that is no placeholder",
                            f->name);
                return NULL;
            }
    return f;
}

static glow_type
formal_type(const glow_func *f, glow_formals which, int i)
{
    return glow_dense(glow_formal(f, which, i)->value.type);
}

static bool
check_count(const glow_node *n, const glow_func *f, glow_formals which,
            int64_t due, const char *why)
{
    int count = glow_formal_count(f, which);

    return count == due ||
           glow_reject(n, "@%s has %d %s, but %s asks for %" PRId64, f->name,
                       count, which == GLOW_INPUTS ? "Inputs" : "Outputs", why,
                       due);
}

/* Checks that formal `i` has type `due`, which `why` explains. */
static bool
check_formal(const glow_node *n, const glow_func *f, glow_formals which, int i,
             const glow_type *due, const char *why)
{
    glow_arena *a = n->func->module->arena;
    glow_type is = formal_type(f, which, i), want = glow_dense(due);

    return glow_type_equal(&is, &want) ||
           glow_reject(n, "@%s of @%s is %s, but %s is %s",
                       glow_formal(f, which, i)->name, f->name,
                       glow_type_text(a, &is), why, glow_type_text(a, &want));
}

/*
 * Checks that operands from in[first] on have the types of the Inputs of `f`
 * from `formal` on.
 */
static bool
check_inputs(const glow_node *n, const glow_func *f, int first, int formal)
{
    if (!check_count(n, f, GLOW_INPUTS, n->n_in - first + formal, "the call"))
        return false;
    for (int i = first; i < n->n_in; i++)
        if (!check_formal(n, f, GLOW_INPUTS, i - first + formal, n->in[i]->type,
                          "the operand"))
            return false;
    return true;
}

/* Checks that operand `i` is one element of `kind`. */
static bool
check_scalar(const glow_node *n, int i, glow_kind kind)
{
    const glow_type *t = n->in[i]->type;

    return (t->elem == kind && glow_type_count(t) == 1) ||
           glow_reject(n, "%s is %s, but must be one element of %s",
                       n->op->in[i].name,
                       glow_type_text(n->func->module->arena, t),
                       glow_kind_get(kind)->name);
}

/* Operations of one call of `f`. */
static int64_t
body_flops(const glow_func *f)
{
    int64_t sum = 0;

    if (!f) /* a mistake that infer reports */
        return 0;
    GLOW_FOR_EACH_NODE(n, f) {
        int64_t one = 0;

        if (n->op->flops)
            one = n->op->flops(n);
        else if (!(n->op->traits & GLOW_STRUCTURAL))
            for (int i = 0; i < n->n_out; i++)
                one += glow_type_count(n->out[i]->type);
        if (glow_add_overflow(sum, one, &sum))
            return INT64_MAX;
    }
    return sum;
}

/* if */

static bool
if_infer(const glow_node *n, glow_type out[])
{
    glow_func *yes = find_body(n, 0, "Then"), *no = find_body(n, 1, "Else");

    if (!yes || !no || !check_scalar(n, 0, GLOW_BOOL) ||
        !check_inputs(n, yes, 1, 0) || !check_inputs(n, no, 1, 0) ||
        !check_count(n, yes, GLOW_OUTPUTS, n->n_out, "the number of results") ||
        !check_count(n, no, GLOW_OUTPUTS, n->n_out, "the number of results"))
        return false;
    if (n->n_out == 0)
        return glow_reject(n, "there are no results, but at least 1 is due");
    for (int i = 0; i < n->n_out; i++) {
        out[i] = formal_type(yes, GLOW_OUTPUTS, i);
        if (!check_formal(n, no, GLOW_OUTPUTS, i, &out[i], "that of Then"))
            return false;
    }
    return true;
}

static bool
if_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
        glow_arena *scratch)
{
    (void)scratch;
    return glow_eval_body(glow_called(n, glow_get_int(in[0], 0) ? 0 : 1),
                          in + 1, out);
}

/* The flops of the more expensive branch. */
static int64_t
if_flops(const glow_node *n)
{
    int64_t yes = body_flops(glow_called(n, 0));
    int64_t no = body_flops(glow_called(n, 1));

    return yes > no ? yes : no;
}

const glow_op glow_op_if = {
    .name = "If",
    .summary = "run one of two functions",
    .in = {{"Condition", GLOW_TENSOR, "which: one element of bool"},
           {"Inputs", GLOW_VARIADIC, "the Inputs of both functions"}},
    .out = {{"Result", GLOW_VARIADIC, "the Outputs of the one that runs"}},
    .attrs = {GLOW_FIELD(glow_if, then_, GLOW_FUNC, "runs if Condition holds"),
              GLOW_FIELD(glow_if, else_, GLOW_FUNC, "runs if it does not")},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = if_infer,
    .eval = if_eval,
    .flops = if_flops,
    .derivative = &glow_derivative_if,
    .doc = "Both functions have the same types of Inputs and of Outputs; only\n"
           "one of them runs.",
    .source = "ONNX",
};

/* loop */

enum { LOOP_FIRST = 2 }; /* operand of the first carried value */

static bool
check_loop_counts(const glow_node *n, const glow_func *f)
{
    const glow_loop *a = n->attrs;
    int64_t inputs = n->n_in - LOOP_FIRST;

    if (a->carried < 0 || a->carried > inputs || a->carried > n->n_out)
        return glow_reject(
            n, "Carried is %d, but there are %" PRId64 " Inputs and %d results",
            a->carried, inputs, n->n_out);
    if (a->max_trips < 0)
        return glow_reject(n,
                           "MaxTrips is %" PRId64 ", but must not be below 0",
                           a->max_trips);
    if (n->n_out == 0)
        return glow_reject(n, "there are no results, but at least 1 is due");
    return check_count(n, f, GLOW_OUTPUTS, (int64_t)n->n_out + 1,
                       "the number of results");
}

/*
 * Checks the first formals: the iteration number and the condition, in and out.
 */
static bool
check_control(const glow_node *n, const glow_func *f)
{
    const glow_type number = glow_type_of(GLOW_INDEX64, (glow_dims){0});
    const glow_type condition = glow_type_of(GLOW_BOOL, (glow_dims){0});

    return (!n->in[0] || check_scalar(n, 0, GLOW_INDEX64)) &&
           (!n->in[1] || check_scalar(n, 1, GLOW_BOOL)) &&
           check_inputs(n, f, LOOP_FIRST, LOOP_FIRST) &&
           check_formal(n, f, GLOW_INPUTS, 0, &number,
                        "the number of an iteration") &&
           check_formal(n, f, GLOW_INPUTS, 1, &condition, "a condition") &&
           check_formal(n, f, GLOW_OUTPUTS, 0, &condition, "a condition");
}

/* Sets `*out` to the type of MaxTrips rows of Output `i` of the body. */
static bool
give_rows(const glow_node *n, const glow_func *f, int i, glow_type *out)
{
    const glow_loop *a = n->attrs;
    glow_type row = formal_type(f, GLOW_OUTPUTS, i);
    glow_dims shape = {.rank = row.shape.rank + 1, .at = {a->max_trips}};

    if (row.shape.rank == GLOW_MAX_RANK)
        return glow_reject(n, "@%s is of rank %d, so it cannot be stacked",
                           glow_formal(f, GLOW_OUTPUTS, i)->name,
                           row.shape.rank);
    memcpy(shape.at + 1, row.shape.at,
           (size_t)row.shape.rank * sizeof shape.at[0]);
    return glow_give(n, glow_reshaped(&row, shape), out);
}

static bool
loop_infer(const glow_node *n, glow_type out[])
{
    const glow_loop *a = n->attrs;
    glow_func *f = find_body(n, 0, "Body");

    if (!f || !check_loop_counts(n, f) || !check_control(n, f))
        return false;
    for (int i = 0; i < n->n_out; i++) {
        if (i >= a->carried) {
            if (!give_rows(n, f, i + 1, &out[i]))
                return false;
            continue;
        }
        out[i] = formal_type(f, GLOW_OUTPUTS, i + 1);
        if (!check_formal(n, f, GLOW_INPUTS, i + LOOP_FIRST, &out[i],
                          "what is carried on to it"))
            return false;
    }
    return true;
}

/* The state of a loop during its evaluation. */
typedef struct looper {
    const glow_node *n;
    glow_func *body;
    int carried;
    int64_t number; /* of the iteration */
    bool goes_on;
    glow_tensor number_in, goes_on_in, goes_on_out;
    glow_tensor **in, **out;  /* of the body */
    glow_tensor *now, *later; /* carried values, read and written */
    glow_tensor *row;         /* by result, from `carried` on */
    glow_type *row_type;
} looper;

static void
open_loop(looper *l, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *a)
{
    const glow_node *n = l->n;
    int n_in = n->n_in, n_out = n->n_out;

    l->number_in =
        (glow_tensor){.type = glow_formal(l->body, GLOW_INPUTS, 0)->value.type,
                      .data = &l->number};
    l->goes_on_in =
        (glow_tensor){.type = glow_formal(l->body, GLOW_INPUTS, 1)->value.type,
                      .data = glow_arena_alloc(a, 1)};
    l->goes_on_out =
        (glow_tensor){.type = glow_formal(l->body, GLOW_OUTPUTS, 0)->value.type,
                      .data = glow_arena_alloc(a, 1)};
    l->in = GLOW_NEW_ARRAY(a, glow_tensor *, n_in);
    l->out = GLOW_NEW_ARRAY(a, glow_tensor *, n_out + 1);
    l->now = GLOW_NEW_ARRAY(a, glow_tensor, n_out);
    l->later = GLOW_NEW_ARRAY(a, glow_tensor, n_out);
    l->row = GLOW_NEW_ARRAY(a, glow_tensor, n_out);
    l->row_type = GLOW_NEW_ARRAY(a, glow_type, n_out);
    l->in[0] = &l->number_in;
    l->in[1] = &l->goes_on_in;
    l->out[0] = &l->goes_on_out;
    for (int i = LOOP_FIRST; i < n_in; i++)
        l->in[i] = in[i];
    for (int i = 0; i < l->carried; i++) {
        l->now[i] = glow_tensor_new(out[i]->type);
        l->later[i] = glow_tensor_new(out[i]->type);
        glow_tensor_copy(&l->now[i], in[i + LOOP_FIRST]);
        l->in[i + LOOP_FIRST] = &l->now[i];
        l->out[i + 1] = &l->later[i];
    }
    for (int i = l->carried; i < n_out; i++) {
        l->row_type[i] = formal_type(l->body, GLOW_OUTPUTS, i + 1);
        l->row_type[i].elem = out[i]->type->elem;
        l->row[i] = (glow_tensor){.type = &l->row_type[i]};
        l->out[i + 1] = &l->row[i];
        memset(out[i]->data, 0, (size_t)glow_type_bytes(out[i]->type));
    }
}

static bool
run_body(looper *l, glow_tensor *const out[])
{
    for (int i = l->carried; i < l->n->n_out; i++)
        l->row[i].data = (uint8_t *)out[i]->data +
                         l->number * glow_type_bytes(l->row[i].type);
    glow_set_int(&l->goes_on_in, 0, l->goes_on);
    if (!glow_eval_body(l->body, l->in, l->out))
        return false;
    l->goes_on = glow_get_int(&l->goes_on_out, 0) != 0;
    for (int i = 0; i < l->carried; i++) {
        glow_tensor t = l->now[i];

        l->now[i] = l->later[i];
        l->later[i] = t;
    }
    return true;
}

static bool
loop_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_loop *a = n->attrs;
    looper l = {.n = n, .body = glow_called(n, 0), .carried = a->carried};
    int64_t trips = in[0] ? glow_get_int(in[0], 0) : INT64_MAX;
    bool ok = true;

    open_loop(&l, in, out, scratch);
    l.goes_on = !in[1] || glow_get_int(in[1], 0);
    for (; ok && l.goes_on && l.number < trips; l.number++) {
        if (l.number == a->max_trips)
            ok =
                glow_reject(n, "it goes on after MaxTrips iterations, %" PRId64,
                            a->max_trips);
        else
            ok = run_body(&l, out);
    }
    for (int i = 0; i < l.carried; i++) {
        if (ok)
            glow_tensor_copy(out[i], &l.now[i]);
        glow_tensor_end(&l.now[i]);
        glow_tensor_end(&l.later[i]);
    }
    return ok;
}

/* The flops of all iterations if their number is known, else of one. */
static int64_t
loop_flops(const glow_node *n)
{
    int64_t trips, all;

    if (!glow_loop_trips(n, &trips))
        trips = 1;
    if (glow_mul_overflow(trips, body_flops(glow_called(n, 0)), &all))
        return INT64_MAX;
    return all;
}

static const glow_loop loop_defaults = {.max_trips = 1 << 20};

const glow_op glow_op_loop = {
    .name = "Loop",
    .summary = "run a function again and again",
    .in = {{"TripCount", GLOW_OPTIONAL, "iterations: one element of index64"},
           {"Condition", GLOW_OPTIONAL, "of the first: one element of bool"},
           {"Inputs", GLOW_VARIADIC, "what is carried, then what stays"}},
    .out = {{"Result", GLOW_VARIADIC, "what was carried, then what is kept"}},
    .attrs = {GLOW_FIELD(glow_loop, body, GLOW_FUNC, "what runs"),
              GLOW_FIELD(glow_loop, carried, GLOW_INT,
                         "how many Inputs go on to the next iteration"),
              GLOW_FIELD_DEFAULT(glow_loop, max_trips, GLOW_INT64,
                                 "iterations at most")},
    .defaults = &loop_defaults,
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = loop_infer,
    .eval = loop_eval,
    .flops = loop_flops,
    .derivative = &glow_derivative_loop,
    .doc =
        "The Inputs of Body are the number of the iteration, from 0, as\n"
        "`index64<>`, the condition as `bool<>`, and Inputs.  Its Outputs are\n"
        "the condition of the next iteration, the next values of the first\n"
        "`Carried` of Inputs, and values that are kept.\n"
        "\n"
        "An iteration runs while the condition holds and there were fewer "
        "than\n"
        "TripCount; without the one or the other, that is no reason to stop.\n"
        "A loop that would go on after `MaxTrips` iterations fails.\n"
        "\n"
        "Results are the carried values after the last iteration, and for "
        "each\n"
        "value that is kept a tensor with one more axis in front: row i is "
        "from\n"
        "iteration i.  It has `MaxTrips` rows; those of iterations that do "
        "not\n"
        "run are zero.",
    .source = "ONNX",
};

/* run */

static bool
run_infer(const glow_node *n, glow_type out[])
{
    glow_func *f = find_body(n, 0, "Body");

    if (!f || !check_inputs(n, f, 0, 0) ||
        !check_count(n, f, GLOW_OUTPUTS, n->n_out, "the number of results"))
        return false;
    if (n->n_out == 0)
        return glow_reject(n, "there are no results, but at least 1 is due");
    for (int i = 0; i < n->n_out; i++)
        out[i] = formal_type(f, GLOW_OUTPUTS, i);
    return true;
}

static bool
run_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    (void)scratch;
    return glow_eval_body(glow_called(n, 0), in, out);
}

static int64_t
run_flops(const glow_node *n)
{
    return body_flops(glow_called(n, 0));
}

static const glow_run run_defaults = {.device = ""};

const glow_op glow_op_run = {
    .name = "Run",
    .summary = "run a function on a device",
    .in = {{"Inputs", GLOW_VARIADIC, "the Inputs of the function"}},
    .out = {{"Result", GLOW_VARIADIC, "its Outputs"}},
    .attrs = {GLOW_FIELD(glow_run, body, GLOW_FUNC, "the function"),
              GLOW_FIELD_DEFAULT(glow_run, device, GLOW_STRING,
                                 "the name of a device; empty: any")},
    .defaults = &run_defaults,
    .traits = GLOW_PURE,
    .infer = run_infer,
    .eval = run_eval,
    .flops = run_flops,
    .doc =
        "The pass partition makes a graph of such nodes; a device that runs\n"
        "the functions of several backends is the backend parts.",
    .source = "Glow's partitioner: a DAG of functions",
};

/*
 * Sets `*out` to the value of a constant of one element; false if `v` is not
 * one.
 */
static bool
is_known(const glow_value *v, int64_t *out)
{
    const glow_tensor *t;

    if (!v || !glow_is_constant(v) || v->storage->payload == GLOW_ELIDED)
        return false;
    t = glow_constant_tensor(v->storage);
    *out = t ? glow_get_int(t, 0) : 0;
    return t;
}

/*
 * True if the condition that `body` returns holds whenever the condition passed
 * to it does.
 */
static bool
always_goes_on(const glow_func *body)
{
    const glow_storage *to = glow_formal(body, GLOW_OUTPUTS, 0);
    const glow_storage *from = glow_formal(body, GLOW_INPUTS, 1);

    GLOW_FOR_EACH_USE(u, &to->value) {
        int64_t value;

        if (u->user->func == body)
            return u->user->in[0] == &from->value ||
                   (is_known(u->user->in[0], &value) && value);
    }
    return false;
}

bool
glow_loop_trips(const glow_node *n, int64_t *trips)
{
    const glow_func *body = glow_called(n, 0);
    int64_t holds = 1;

    if (!body || body->is_program || !is_known(n->in[0], trips) ||
        (n->in[1] && (!is_known(n->in[1], &holds) || !holds)))
        return false;
    if (*trips < 0)
        *trips = 0;
    return always_goes_on(body);
}
