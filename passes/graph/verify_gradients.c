/*
 * verify-gradients: compare gradients with differences of the loss.
 *
 *     placeholder @grad.w : float<4> {GradientOf: "w", Loss: "loss"}
 *
 * says that the function saves the gradient of @loss by @w there.  For each such
 * placeholder and `directions` random directions u of length 1 the pass compares, in
 * float64 and with the evaluator alone,
 *
 *     (loss(w + h u) - loss(w - h u)) / 2 h    and    sum of grad.w * u,
 *
 * relative to the larger of both and |grad.w| / sqrt(n), n the number of elements, and
 * reports E0443 where they differ by more than `tolerance`, and by more than roundings
 * in float64 make of the difference: those of the loss, and of numbers of the size 1,
 * which inputs are drawn of, because a saturated loss is a small difference of such.
 * Tensors of at most 64 elements are compared element by element too.
 *
 * A placeholder {TangentOf: "y"} has the derivative of @y along the direction that the
 * placeholders {TangentBy: ..} are.  For a drawn r of length 1 the sum of its elements
 * times r is compared with differences as above.  Where the function saves the gradients
 * of @y by all of these as well, both modes are compared with each other: the sum of
 * gradients times direction is the tangent, up to 1e-10, at kinks too.
 *
 * Inputs are drawn from `seed`, none of them 0.  The difference is that of h / 2.  Where
 * those of h and h / 2 disagree, or the second differences
 *
 *     loss(w + h u) + loss(w - h u) - 2 loss(w)    and 4 times that of h / 2,
 *
 * a kink (of Relu, of a maximum) may lie between; then others are drawn, up to 8 times,
 * also where roundings hide the derivative, and the draw of the least doubt counts.  Later
 * draws are of smaller numbers, which saturate less.  Functions of graphs and of programs
 * are taken, at any stage; the function itself does not change.
 */

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "glow/eval.h"
#include "glow/ops.h"
#include "glow/pass.h"

typedef struct verify_options {
    int seed, directions;
    float step, tolerance;
} verify_options;

enum {
    DRAWS = 8,         /* of inputs, until no kink is near */
    TRIES = 12,        /* of inputs, until the function takes them */
    MOST_ELEMENTS = 64 /* of a tensor that is looked at element by element */
};

/* A placeholder. */
typedef struct slot {
    glow_storage *storage;
    bool is_read;
    glow_tensor input; /* as drawn */
    glow_tensor now;   /* bound */
} slot;

typedef struct trial {
    glow_pass_run *run;
    glow_context *ctx;
    glow_arena *arena;
    glow_func *whole;
    glow_func *loss; /* a copy that computes the loss alone */
    slot *slots;
    int n_slots;
    glow_binding *bindings[2]; /* of `whole`, of `loss` */
    int n_bindings[2];
    uint64_t seed; /* of the next numbers to draw */
} trial;

/* A gradient: @grad.w, and the slots of @w and @loss. */
typedef struct claim {
    const slot *gradient, *of, *loss;
} claim;

/* The text of attribute `name` of a placeholder, or NULL. */
static const char *
attribute(const glow_storage *s, const char *name)
{
    const glow_attr_value *v = glow_attr_find(s->attrs, name);

    return v && v->kind == GLOW_V_STRING ? v->text : NULL;
}

static const slot *
slot_named(const trial *t, const char *name)
{
    for (int i = 0; name && i < t->n_slots; i++)
        if (strcmp(t->slots[i].storage->name, name) == 0)
            return &t->slots[i];
    return NULL;
}

/* Preparation. */

/* A copy of the function in a module of its own, without the other results. */
static glow_func *
loss_alone(const glow_func *f, const char *loss)
{
    glow_func *copy = glow_find_func(glow_module_clone(f->module), f->name);

    if (copy->is_program)
        return copy;
    GLOW_FOR_EACH_NODE(n, copy)
        if (n->op == &glow_op_save &&
            strcmp(n->in[1]->storage->name, loss) != 0)
            glow_node_erase(n);
    glow_erase_unused(copy);
    return copy;
}

static glow_tensor
new_tensor(const trial *t, const glow_type *type)
{
    glow_type wide = glow_type_of(
        glow_is_float(type->elem) ? GLOW_FLOAT64 : type->elem, type->shape);

    wide.scale = type->scale;
    wide.offset = type->offset;
    return glow_tensor_new(glow_type_get(t->ctx, wide));
}

static void
make_slots(trial *t)
{
    int room = 0;

    GLOW_FOR_EACH_STORAGE(s, t->whole->module)
        room++;
    t->slots = GLOW_NEW_ARRAY(t->arena, slot, room);
    GLOW_FOR_EACH_STORAGE(s, t->whole->module) {
        bool reads = !s->is_constant && glow_func_reads(t->whole, s);

        if (s->is_constant)
            continue;
        t->slots[t->n_slots++] = (slot){
            .storage = s,
            .is_read = reads,
            .input = new_tensor(t, s->value.type),
            .now = new_tensor(t, s->value.type),
        };
    }
}

static void
bind(trial *t, glow_func *f, int which)
{
    t->bindings[which] = GLOW_NEW_ARRAY(t->arena, glow_binding, t->n_slots);
    for (int i = 0; i < t->n_slots; i++) {
        const glow_storage *s =
            glow_find_storage(f->module, t->slots[i].storage->name);

        if (s && (glow_func_reads(f, s) || glow_func_writes(f, s)))
            t->bindings[which][t->n_bindings[which]++] =
                (glow_binding){s, &t->slots[i].now};
    }
}

static void
end(trial *t)
{
    for (int i = 0; i < t->n_slots; i++) {
        glow_tensor_end(&t->slots[i].input);
        glow_tensor_end(&t->slots[i].now);
    }
    if (t->loss)
        glow_module_free(t->loss->module);
}

/* Running. */

static bool
evaluate(trial *t, int which)
{
    glow_quiet quiet;
    bool ran;

    glow_quiet_begin(t->ctx, &quiet);
    ran = glow_eval(which ? t->loss : t->whole, t->bindings[which],
                    t->n_bindings[which],
                    &(const glow_eval_options){.shadow = true});
    glow_quiet_end(t->ctx, &quiet);
    return ran;
}

static void
restore(trial *t)
{
    for (int i = 0; i < t->n_slots; i++)
        glow_tensor_copy(&t->slots[i].now, &t->slots[i].input);
}

/* A number that is not 0, of a drawn one in [-1, 1); of integers, fewer with each try. */
static double
moved(const glow_type *type, double r, int attempt)
{
    if (!glow_is_float(type->elem))
        return fmod(fabs(r), attempt < 4 ? 5 : attempt < 8 ? 2 : 1);
    if (attempt % 3)
        return attempt % 3 - 0.5 + 0.4 * r;
    return (r < 0 ? -0.3 : 0.3) + 1.1 * r;
}

/* Fills the input of `s`; floats are divided by 2^`halvings`. */
static void
draw(trial *t, const slot *s, int attempt, int halvings)
{
    if (!glow_is_float(s->input.type->elem))
        halvings = 0;
    glow_tensor_fill(&s->input, GLOW_FILL_RANDOM, t->seed++);
    for (int64_t i = 0; i < glow_type_count(s->input.type); i++)
        glow_set_double(
            &s->input, i,
            ldexp(moved(s->input.type, glow_get_double(&s->input, i), attempt),
                  -halvings));
}

/*
 * Draws inputs that the function takes, for the draw `number`, and runs it; false if
 * there are none.
 */
static bool
redraw(trial *t, const slot *loss, int number)
{
    for (int attempt = 0; attempt < TRIES; attempt++) {
        for (int i = 0; i < t->n_slots; i++)
            if (t->slots[i].is_read)
                draw(t, &t->slots[i], attempt, attempt / 3 + number / 2);
        restore(t);
        if (evaluate(t, 0) && isfinite(glow_get_double(&loss->now, 0)))
            return true;
    }
    return false;
}

/* The loss where @w is moved by `by` along `u`; NaN if it cannot be run. */
static double
loss_at(trial *t, const claim *c, const double *u, double by)
{
    int64_t count = glow_type_count(c->of->input.type);

    restore(t);
    for (int64_t i = 0; i < count; i++)
        glow_set_double(&c->of->now, i,
                        glow_get_double(&c->of->input, i) + by * u[i]);
    return evaluate(t, 1) ? glow_get_double(&c->loss->now, 0) : NAN;
}

/* A function of one number around 0. */
typedef struct values {
    double middle;  /* at 0 */
    double far[2];  /* at h, -h */
    double near[2]; /* at h / 2, -h / 2 */
} values;

/* The comparison along one direction. */
typedef struct probe {
    double expected; /* the difference of the loss */
    double got;      /* the gradient along the direction */
    double scale;
    double noise;  /* the difference that is made of roundings, at most */
    double unsure; /* the disagreement of the differences of h and h / 2 */
    double doubt;  /* that, or the part of the scale that is noise */
} probe;

enum { ROUNDINGS = 4 }; /* of the loss, in units of its last place */

/* The distance of `x` and `y` above `noise`, as a part of the scale. */
static double
apart(const probe *p, double x, double y, double noise)
{
    double d = fabs(x - y) - noise;

    return isnan(d) ? d : d > 0 ? d / p->scale : 0;
}

/*
 * Sets all of `p` but `got`, by the values of a loss of the size `size`; `least` is the
 * least scale.  The noise is that of a difference at h / 2.
 */
static void
compare(probe *p, const values *v, double size, double h, double least)
{
    double far = (v->far[0] - v->far[1]) / (2 * h);
    double bend = v->far[0] + v->far[1] - 2 * v->middle;
    double near_bend = v->near[0] + v->near[1] - 2 * v->middle;

    p->expected = (v->near[0] - v->near[1]) / h;
    p->scale = fmax(fmax(fabs(p->expected), fabs(p->got)), least);
    p->noise = (double)ROUNDINGS * DBL_EPSILON * fmax(1, fabs(size)) / (h / 2);
    p->unsure = fmax(apart(p, far, p->expected, p->noise),
                     apart(p, bend / h, 4 * near_bend / h, 8 * p->noise));
    p->doubt = p->expected == 0 && p->got == 0
                   ? p->unsure
                   : fmax(p->unsure, p->noise / p->scale);
}

static probe
probe_along(trial *t, const claim *c, const double *u, double h)
{
    int64_t count = glow_type_count(c->of->input.type);
    values v = {.middle = glow_get_double(&c->loss->now, 0)};
    double square = 0;
    probe p = {0};

    for (int64_t i = 0; i < count; i++) {
        double g = glow_get_double(&c->gradient->now, i);

        p.got += g * u[i];
        square += g * g;
    }
    for (int i = 0; i < 2; i++) {
        v.far[i] = loss_at(t, c, u, i ? -h : h);
        v.near[i] = loss_at(t, c, u, i ? -h / 2 : h / 2);
    }
    compare(&p, &v, v.middle, h, sqrt(square / (double)count));
    return p;
}

/* Along `u`, at the first draw of inputs that is smooth, or the smoothest. */
static bool
check_along(trial *t, const claim *c, const double *u)
{
    const verify_options *o = glow_run_options(t->run);
    probe best = {.unsure = INFINITY, .doubt = INFINITY};
    double off;

    for (int i = 0; i < DRAWS && !(best.doubt <= o->tolerance); i++) {
        probe p;

        if (!redraw(t, c->loss, i))
            return glow_error(t->ctx, "E0444",
                              "verify-gradients: @%s refuses all inputs, or "
                              "@%s is no number for them",
                              t->whole->name, c->loss->storage->name);
        p = probe_along(t, c, u, o->step);
        if (p.doubt < best.doubt)
            best = p;
    }
    off = apart(&best, best.expected, best.got, best.noise);
    if (off <= o->tolerance + best.unsure)
        return true;
    return glow_error(t->ctx, "E0443",
                      "@%s: along a direction the loss @%s changes by %.9g, "
                      "but @%s says %.9g, which is %.2g off (at most %.2g)",
                      c->of->storage->name, c->loss->storage->name,
                      best.expected, c->gradient->storage->name, best.got, off,
                      o->tolerance);
}

/* A direction of length 1. */
static void
draw_direction(trial *t, double *u, int64_t count)
{
    glow_tensor all = {
        .type = glow_type_get(t->ctx,
                              glow_type_of(GLOW_FLOAT64, GLOW_DIMS_OF(count))),
        .data = u,
    };
    double square = 0;

    glow_tensor_fill(&all, GLOW_FILL_RANDOM, t->seed++);
    for (int64_t i = 0; i < count; i++)
        square += u[i] * u[i];
    for (int64_t i = 0; i < count; i++)
        u[i] /= sqrt(square);
}

static bool
check(trial *t, const claim *c)
{
    const verify_options *o = glow_run_options(t->run);
    int64_t count = glow_type_count(c->of->input.type);
    double *u = GLOW_NEW_ARRAY(t->arena, double, (size_t)count);

    for (int i = 0; i < o->directions; i++) {
        draw_direction(t, u, count);
        if (!check_along(t, c, u))
            return false;
    }
    for (int64_t i = 0; i < count && count <= MOST_ELEMENTS; i++) {
        memset(u, 0, (size_t)count * sizeof *u);
        u[i] = 1;
        if (!check_along(t, c, u))
            return false;
    }
    return true;
}

/* Checks a gradient, with a copy of the function that computes its loss alone. */
static bool
check_gradient(trial *t, const slot *gradient)
{
    const glow_storage *s = gradient->storage;
    claim c = {gradient, slot_named(t, attribute(s, "GradientOf")),
               slot_named(t, attribute(s, "Loss"))};
    bool right;

    if (!c.of || !c.loss || glow_type_count(c.loss->input.type) != 1 ||
        !glow_dims_equal(c.of->input.type->shape, gradient->input.type->shape))
        return glow_error_at(t->ctx, s->span, "E0444",
                             "@%s: GradientOf or Loss is no placeholder that "
                             "fits",
                             s->name);
    t->loss = loss_alone(t->whole, c.loss->storage->name);
    t->n_bindings[1] = 0;
    bind(t, t->loss, 1);
    right = check(t, &c);
    glow_module_free(t->loss->module);
    t->loss = NULL;
    return right;
}

/* Tangents. */

/* Moves each input that has a tangent by `by` along it; the sum of @y times r there. */
static double
sum_at(trial *t, const slot *y, const double *r, double by)
{
    int64_t count = glow_type_count(y->now.type);
    double sum = 0;

    restore(t);
    for (int k = 0; k < t->n_slots; k++) {
        const slot *u = &t->slots[k];
        const slot *x = slot_named(t, attribute(u->storage, "TangentBy"));

        for (int64_t i = 0; x && i < glow_type_count(x->now.type); i++)
            glow_set_double(&x->now, i,
                            glow_get_double(&x->input, i) +
                                by * glow_get_double(&u->input, i));
    }
    if (!evaluate(t, 1))
        return NAN;
    for (int64_t i = 0; i < count; i++)
        sum += glow_get_double(&y->now, i) * r[i];
    return sum;
}

static probe
probe_tangent(trial *t, const slot *tangent, const slot *y, const double *r,
              double h)
{
    int64_t count = glow_type_count(y->now.type);
    double square = 0;
    values v = {0};
    probe p = {0};

    for (int64_t i = 0; i < count; i++) {
        p.got += glow_get_double(&tangent->now, i) * r[i];
        v.middle += glow_get_double(&y->now, i) * r[i];
        square += pow(glow_get_double(&y->now, i), 2);
    }
    for (int i = 0; i < 2; i++) {
        v.far[i] = sum_at(t, y, r, i ? -h : h);
        v.near[i] = sum_at(t, y, r, i ? -h / 2 : h / 2);
    }
    compare(&p, &v, sqrt(square), h, 0);
    return p;
}

/* The slot of the gradient of @y by @x, or NULL. */
static const slot *
gradient_of(const trial *t, const char *y, const char *x)
{
    for (int i = 0; i < t->n_slots; i++) {
        const glow_storage *s = t->slots[i].storage;
        const char *of = attribute(s, "GradientOf"), *loss;

        loss = attribute(s, "Loss");
        if (of && loss && strcmp(of, x) == 0 && strcmp(loss, y) == 0)
            return &t->slots[i];
    }
    return NULL;
}

/* Compares the tangent of a loss with its gradients, where there are all of them. */
static bool
compare_modes(trial *t, const slot *tangent, const slot *y)
{
    double sum = 0, size = 0, got = glow_get_double(&tangent->now, 0);

    for (int k = 0; k < t->n_slots; k++) {
        const slot *u = &t->slots[k], *g;
        const char *x = attribute(u->storage, "TangentBy");

        if (!x)
            continue;
        g = gradient_of(t, y->storage->name, x);
        if (!g)
            return true;
        for (int64_t i = 0; i < glow_type_count(g->now.type); i++) {
            double term =
                glow_get_double(&g->now, i) * glow_get_double(&u->input, i);

            sum += term;
            size += fabs(term);
        }
    }
    return fabs(sum - got) <= 1e-10 * fmax(size, fabs(got)) ||
           glow_error(t->ctx, "E0443",
                      "@%s is %.12g, but the gradients of @%s along the "
                      "direction are %.12g",
                      tangent->storage->name, got, y->storage->name, sum);
}

static bool
compare_tangent(trial *t, const slot *tangent, const slot *y, const double *r)
{
    const verify_options *o = glow_run_options(t->run);
    probe best = {.unsure = INFINITY, .doubt = INFINITY};
    double off;

    for (int i = 0; i < DRAWS && !(best.doubt <= o->tolerance); i++) {
        probe p;

        if (!redraw(t, y, i))
            return glow_error(t->ctx, "E0444",
                              "verify-gradients: @%s refuses all inputs, or "
                              "@%s is no number for them",
                              t->whole->name, y->storage->name);
        if (glow_type_count(y->now.type) == 1 && !compare_modes(t, tangent, y))
            return false;
        p = probe_tangent(t, tangent, y, r, (double)o->step);
        if (p.doubt < best.doubt)
            best = p;
    }
    off = apart(&best, best.expected, best.got, best.noise);
    if (off <= (double)o->tolerance + best.unsure)
        return true;
    return glow_error(t->ctx, "E0443",
                      "@%s changes by %.9g along the direction, but @%s says "
                      "%.9g, which is %.2g off (at most %.2g)",
                      y->storage->name, best.expected, tangent->storage->name,
                      best.got, off, (double)o->tolerance);
}

static bool
check_tangent(trial *t, const slot *tangent)
{
    const verify_options *o = glow_run_options(t->run);
    const glow_storage *s = tangent->storage;
    const slot *y = slot_named(t, attribute(s, "TangentOf"));
    int64_t count = y ? glow_type_count(y->now.type) : 0;
    double *r = GLOW_NEW_ARRAY(t->arena, double, (size_t)count + 1);
    bool right = true;

    if (!y || !glow_dims_equal(y->now.type->shape, tangent->now.type->shape))
        return glow_error_at(t->ctx, s->span, "E0444",
                             "@%s: TangentOf is no placeholder that fits",
                             s->name);
    t->loss = loss_alone(t->whole, y->storage->name);
    t->n_bindings[1] = 0;
    bind(t, t->loss, 1);
    for (int i = 0; i < o->directions && right && count > 0; i++) {
        draw_direction(t, r, count);
        right = compare_tangent(t, tangent, y, r);
    }
    glow_module_free(t->loss->module);
    t->loss = NULL;
    return right;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const verify_options *o = glow_run_options(pass);
    trial t = {.run = pass,
               .ctx = glow_run_context(pass),
               .arena = glow_run_scratch(pass),
               .whole = f,

               .seed = (uint64_t)o->seed};
    int count = 0;
    bool right = true;

    if (glow_is_body(f))
        return GLOW_UNCHANGED;
    make_slots(&t);
    bind(&t, f, 0);
    for (int i = 0; i < t.n_slots; i++) {
        const glow_storage *s = t.slots[i].storage;

        if (attribute(s, "GradientOf"))
            right &= check_gradient(&t, &t.slots[i]);
        else if (attribute(s, "TangentOf"))
            right &= check_tangent(&t, &t.slots[i]);
        else
            continue;
        count++;
    }
    end(&t);
    glow_run_count(pass, "gradients", count);
    if (count == 0)
        right = glow_error(t.ctx, "E0444",
                           "function @%s writes no placeholder with "
                           "GradientOf or TangentOf",
                           f->name);
    return right ? GLOW_UNCHANGED : GLOW_FAILED;
}

const glow_pass glow_pass_verify_gradients = {
    .name = "verify-gradients",
    .summary = "compare gradients with differences of the loss",
    .level = GLOW_ANY,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(verify_options, seed, GLOW_INT,
                                   "of inputs and directions"),
                GLOW_FIELD_DEFAULT(verify_options, directions, GLOW_INT,
                                   "random ones for each placeholder"),
                GLOW_FIELD_DEFAULT(verify_options, step, GLOW_FLOAT32,
                                   "the length of a step along a direction"),
                GLOW_FIELD_DEFAULT(verify_options, tolerance, GLOW_FLOAT32,
                                   "the largest relative distance")},
    .defaults = &(const verify_options){.seed = 1,
                                        .directions = 3,
                                        .step = 1e-4f,
                                        .tolerance = 1e-6f},
    .run = run,
    .takes_quantized = true,
    .source = "JAX, check_grads; PyTorch, gradcheck",
};
