/* What a function computes on sets of inputs. */

#include "passes/trial.h"

#include <string.h>

#include "ir/base/context.h"

const trial_set trial_sets[N_TRIALS] = {
    {"a ramp", GLOW_FILL_RAMP, false},
    {"random numbers", GLOW_FILL_RANDOM, true},
    {"small integers", GLOW_FILL_SMALL, true},
    {"special values", GLOW_FILL_SPECIAL, false},
};

static const double brief_flops = 2e9;

void
trial_end(trial_held *list)
{
    for (trial_held *h = list; h; h = h->next)
        glow_tensor_end(&h->tensor);
}

const trial_held *
trial_find(const trial_held *list, const char *name)
{
    while (list && strcmp(list->name, name) != 0)
        list = list->next;
    return list;
}

/* Errors while a function runs say that it does not take the inputs. */

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

/* What is drawn depends on the name of the placeholder and on no other. */
static glow_tensor
make_input(const trial *t, const glow_storage *s)
{
    glow_type type = *s->value.type;
    uint64_t seed = glow_hash(s->name, strlen(s->name), t->seed);
    bool is_zero = t->zero_ints && glow_is_int(type.elem);

    type.strides.rank = 0;

    glow_tensor drawn = glow_tensor_new(glow_type_get(t->ctx, type));

    glow_tensor_fill(&drawn, is_zero ? GLOW_FILL_ZERO : trial_sets[t->set].fill,
                     seed + (uint64_t)t->set);
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

/* Returns what `f` holds of the placeholders that it writes. */
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
        bindings = glow_arena_grow(a, bindings, count, &cap, sizeof *bindings);
        bindings[count++] = (glow_binding){s, tensor};
    }

    const glow_eval_options options = {
        .shadow = t->shadow, .noise = t->noise, .memo = t->memo};
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
trial_run(const trial *t, glow_arena *a, trial_held **written, const char **why)
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

trial_state *
trial_state_new(trial t, const trial_state *like)
{
    glow_arena *a = glow_arena_new();
    trial_state *st = GLOW_NEW(a, trial_state);
    bool is_brief = flops_of(t.f) > brief_flops;

    st->arena = a;
    st->func = glow_arena_strdup(a, t.f->name);
    st->is_body = glow_is_body(t.f);
    for (t.set = 0; t.set < N_TRIALS; t.set++) {
        trial_outcome *o = &st->sets[t.set];
        const trial_set *set = &trial_sets[t.set];

        if (like ? !like->sets[t.set].ran : is_brief && !set->is_brief)
            continue;
        t.zero_ints = like && like->sets[t.set].zero_ints;
        o->ran = trial_run(&t, a, &o->written, &st->refusal);
        if (!o->ran && !like) {
            t.zero_ints = true;
            o->ran = trial_run(&t, a, &o->written, NULL);
        }
        o->zero_ints = t.zero_ints;
        if (!o->ran && !like)
            glow_warning(t.ctx, t.f->span, "W0411", "@%s is not run on %s: %s",
                         t.f->name, set->name, st->refusal);
    }
    return st;
}

void
trial_state_end(trial_state *st)
{
    for (int i = 0; i < N_TRIALS; i++)
        trial_end(st->sets[i].written);
    glow_arena_free(st->arena);
}
