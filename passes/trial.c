/* Results of a function on sets of test inputs. */

#include "passes/trial.h"

#include <math.h>
#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/profile.h"
#include "ir/base/context.h"

const trial_set glow_trial_sets[N_TRIALS] = {
    {"a ramp", GLOW_FILL_RAMP, 0, 2e9},
    {"random numbers", GLOW_FILL_RANDOM, 0, INFINITY},
    {"small integers", GLOW_FILL_SMALL, 0, INFINITY},
    {"special values", GLOW_FILL_ENDS, 0, 2e9},
    {"numbers of all sizes", GLOW_FILL_WIDE, 0, 2e9},
    {"multiples of constants", GLOW_FILL_COUNT, 0, 2e9},
    {"special values from the fifth on", GLOW_FILL_ENDS, 1, 1e6},
    {"special values from the ninth on", GLOW_FILL_ENDS, 2, 1e6},
    {"special values from the thirteenth on", GLOW_FILL_ENDS, 3, 1e6},
};

void
glow_trial_end(trial_held *list)
{
    for (trial_held *h = list; h; h = h->next)
        glow_tensor_end(&h->tensor);
}

const trial_held *
glow_trial_find(const trial_held *list, const char *name)
{
    while (list && strcmp(list->name, name) != 0)
        list = list->next;
    return list;
}

/*
 * A sink for errors during a run, which mean that the function does not accept
 * the inputs.
 */

typedef struct quiet {
    glow_sink_fn sink;
    void *user;
    int errors;
    glow_arena *arena;
    const char *message; /* the first */
} quiet;

static void
catch_error(const glow_diag *d, void *user)
{
    quiet *q = user;

    if (d->severity == GLOW_ERROR && !q->message)
        q->message = glow_arena_strdup(q->arena, d->message);
}

static void
quiet_begin(glow_context *ctx, quiet *q)
{
    q->sink = ctx->sink;
    q->user = ctx->sink_user;
    q->errors = ctx->errors;
    ctx->sink = catch_error;
    ctx->sink_user = q;
}

static void
quiet_end(glow_context *ctx, const quiet *q)
{
    ctx->sink = q->sink;
    ctx->sink_user = q->user;
    ctx->errors = q->errors;
}

/* One run of a function on one set of inputs. */

static const glow_type *
trial_type(const trial *t, const glow_storage *s)
{
    glow_type type = *s->value.type;

    type.strides.rank = 0;
    if (t->shadow && glow_is_float(type.elem))
        type.elem = GLOW_FLOAT64;
    return glow_type_get(t->ctx, type);
}

static glow_fill
fill_for(const trial *t, glow_kind kind)
{
    if (t->ints == INTS_OF_SET || !(glow_is_int(kind) || kind == GLOW_BOOL))
        return glow_trial_sets[t->set].fill;
    return t->ints == INTS_SMALL ? GLOW_FILL_RANDOM : GLOW_FILL_ZERO;
}

/* Numbers in [-1, 1) as numbers in the range of the placeholder, if it has one. */
static void
move_into_range(const glow_storage *s, const glow_tensor *x)
{
    const glow_value_range *r = glow_get_value_range(&s->value);

    for (int64_t i = 0; r && i < glow_type_count(x->type); i++) {
        double v = (glow_get_double(x, i) + 1) / 2;

        glow_set_double(x, i, (double)r->min * (1 - v) + (double)r->max * v);
    }
}

/* Draws the elements of a placeholder, by its name and the seed alone. */
static glow_tensor
make_input(const trial *t, const glow_storage *s)
{
    glow_type type = *s->value.type;
    uint64_t seed = glow_hash(s->name, strlen(s->name), t->seed);
    glow_fill how = fill_for(t, type.elem);

    type.strides.rank = 0;
    seed = how == GLOW_FILL_ENDS
               ? seed * 4 + (uint64_t)glow_trial_sets[t->set].quarter
               : seed + (uint64_t)t->set;

    bool is_scaled = how == GLOW_FILL_COUNT && glow_is_float(type.elem);
    const trial_draw draw = {
        .type = glow_type_get(t->ctx, type),
        .how = how,
        .seed = seed,
        .units = is_scaled ? t->units.at : NULL,
        .n_units = is_scaled ? t->units.count : 0,
    };
    glow_tensor drawn = glow_trial_inputs_get(t->inputs, &draw);

    if (t->within_ranges && how == GLOW_FILL_RANDOM && glow_is_float(type.elem))
        move_into_range(s, &drawn);
    if (drawn.type == trial_type(t, s))
        return drawn;

    glow_tensor wide = glow_tensor_new(trial_type(t, s));

    for (int64_t i = 0; i < glow_type_count(wide.type); i++)
        glow_set_double(&wide, i, glow_get_double(&drawn, i));
    glow_tensor_end(&drawn);
    return wide;
}

static bool
is_used(const glow_storage *s, const glow_func *f)
{
    GLOW_FOR_EACH_USE(u, &s->value)
        if (u->user->func == f)
            return true;
    return f->is_program && (glow_func_reads(f, s) || glow_func_writes(f, s));
}

static void
see_node(void *user, const glow_node *n, glow_tensor *const out[],
         double seconds)
{
    const trial *t = user;

    (void)seconds;
    if (n->n_out > 0 && n->func == t->f)
        t->see(t->user, n->name, out[0]);
}

/*
 * Runs `f`; sets `*written` to the placeholders that it writes.  False if the
 * run fails.
 */
static bool
run(const trial *t, glow_arena *a, trial_held **written)
{
    glow_module *m = t->f->module;
    glow_binding *bindings = NULL;
    size_t count = 0, cap = 0;

    *written = NULL;
    GLOW_FOR_EACH_STORAGE(s, m) {
        if (s->is_constant || !is_used(s, t->f))
            continue;

        glow_tensor *tensor = GLOW_NEW(a, glow_tensor);

        *tensor = make_input(t, s);
        if (t->see)
            t->see(t->user, glow_arena_printf(a, "@%s", s->name), tensor);
        bindings = glow_arena_grow(a, bindings, count, &cap, sizeof *bindings);
        bindings[count++] = (glow_binding){s, tensor};
    }

    const glow_eval_options options = {
        .shadow = t->shadow,
        .seed = (uint32_t)(t->seed % UINT16_MAX) + (uint32_t)t->set + 1,
        .noise = t->noise,
        .memo = t->see ? NULL : t->memo,
        .trace = t->see ? see_node : NULL,
        .user = (void *)t,
    };
    bool ok = glow_eval(t->f, bindings, (int)count, &options);

    for (size_t i = 0; i < count; i++) {
        trial_held *h;

        if (!ok || !glow_func_writes(t->f, bindings[i].storage)) {
            glow_tensor_end(bindings[i].tensor);
            continue;
        }
        h = GLOW_NEW(a, trial_held);
        h->name = glow_arena_strdup(a, bindings[i].storage->name);
        h->tensor = *bindings[i].tensor;
        h->next = *written;
        *written = h;
    }
    return ok;
}

bool
glow_trial_run(const trial *t, glow_arena *a, trial_held **written,
               const char **why)
{
    quiet q = {.arena = a};
    bool ok;

    quiet_begin(t->ctx, &q);
    ok = run(t, a, written);
    quiet_end(t->ctx, &q);
    if (!ok && why && !*why)
        *why = q.message ? q.message : "no reason given";
    return ok;
}

/* States. */

static double
flops_of(const glow_func *f)
{
    double sum = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op->flops)
            sum += (double)n->op->flops(n);
        for (int i = 0; !n->op->flops && i < n->n_out; i++)
            sum += (double)glow_type_count(n->out[i]->type);
    }
    return sum;
}

static void
add_unit(trial_units *u, const glow_value *v)
{
    double x;

    if (u->count == MOST_UNITS || !glow_splat_value(v, &x) ||
        !(fabs(x) >= 1e-6 && fabs(x) <= 1e6))
        return;
    for (int i = 0; i < u->count; i++)
        if (u->at[i] == x)
            return;
    u->at[u->count++] = x;
}

/*
 * Collects constants of `f`, divisors first, because quotients of their
 * multiples are exact.
 */
static trial_units
find_units(const glow_func *f)
{
    trial_units u = {.count = 0};

    GLOW_FOR_EACH_NODE(n, f)
        if (n->op == &glow_op_div)
            add_unit(&u, n->in[1]);
    GLOW_FOR_EACH_NODE(n, f)
        for (int i = 0; n->op == &glow_op_mul && i < 2; i++)
            add_unit(&u, n->in[i]);
    return u;
}

/*
 * True if `f` calls functions; trip counts are then small, since large ones run
 * to the limit.
 */
static bool
calls_functions(const glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (glow_call_count(n) > 0)
            return true;
    return false;
}

trial_state *
glow_trial_state_new(trial t, const trial_state *like)
{
    glow_arena *a = glow_arena_new();
    trial_state *st = GLOW_NEW(a, trial_state);
    double flops = flops_of(t.f);

    st->arena = a;
    st->func = glow_arena_strdup(a, t.f->name);
    st->is_body = glow_is_body(t.f);
    st->units = t.units = like ? like->units : find_units(t.f);
    for (t.set = 0; t.set < N_TRIALS; t.set++) {
        trial_outcome *o = &st->sets[t.set];
        const trial_set *set = &glow_trial_sets[t.set];

        if (like ? !like->sets[t.set].ran : flops > set->most)
            continue;
        t.ints = like                   ? like->sets[t.set].ints
                 : calls_functions(t.f) ? INTS_SMALL
                                        : INTS_OF_SET;
        o->ran = glow_trial_run(&t, a, &o->written, &st->refusal);
        while (!o->ran && !like && t.ints < INTS_ZERO) {
            t.ints++;
            o->ran = glow_trial_run(&t, a, &o->written, NULL);
        }
        o->ints = t.ints;
        if (!o->ran && !like)
            glow_warning_hint(
                t.ctx, t.f->span, "W0411",
                "nothing needs to be done: other sets of inputs are compared",
                "@%s is not run on %s: %s", t.f->name, set->name, st->refusal);
    }
    return st;
}

void
glow_trial_state_end(trial_state *st)
{
    for (int i = 0; i < N_TRIALS; i++)
        glow_trial_end(st->sets[i].written);
    glow_arena_free(st->arena);
}
