/*
 * insert-profile: collect the ranges of values while the network runs.
 *
 *     %r = Relu(%x)
 *  =>
 *     %r = Relu(%x)
 *     %r.quantizationprofile = QuantizationProfile(%r, @r.histogram, @r.info)
 *         {ProfiledNodeName: "r"}
 *     %r.histogram.save = Save(%r.quantizationprofile#NewHistogram, @r.histogram)
 *     %r.info.save = Save(%r.quantizationprofile#NewComputationInfo, @r.info)
 *
 * for each result of floats and each placeholder of floats that is read; under
 * `constants` for constants too, whose elements are known without a run.  The two
 * placeholders are zero at first, and sum up over runs.  Histograms have `bins` bins.
 *
 * A value that is the first operand of a convolution or a product has an Axis, its
 * last, for the ranges and means of the channels that the weights are multiplied by;
 * under `channels=all` each value of rank 2 and more has, under `none` no value.
 *
 * In a body the two are formals, which the calls pass on, a Loop from one iteration to
 * the next; so they add up over all executions.  The placeholders, of the function that
 * nobody calls, are then called `body.r.histogram` and `body.r.info`.
 *
 * `only` names operators, nodes, or `@` and storage, and leaves out all others;
 * `except` leaves out those that it names.  Results of nodes with a predicate may be
 * undefined, and are left out, as bodies are that such a node calls.
 *
 * The outputs are those of the network without a profile, bit for bit.  Not in any
 * pipeline: glow-run -dump-profile runs it, so the profile is of the nodes of the very
 * text, whatever these become on the way to code.
 */

#include <string.h>

#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/profile.h"
#include "passes/graph/common/names.h"
#include "passes/graph/common/profiled.h"
#include "passes/graph/common/variables.h"

enum { ALL, PRODUCTS, NONE };

static const char *const channel_words[] = {"all", "products", "none", NULL};

typedef struct profile_options {
    const char *only, *except;
    int bins;
    int channels;
    bool constants;
} profile_options;

/* A value that is profiled, and the numbers of its variables. */
typedef struct profiled {
    glow_func *func;
    glow_value *value;
    const char *name;
    int axis;
    int counts, info;
} profiled;

typedef struct work {
    glow_pass_run *pass;
    const profile_options *o;
    glow_arena *a;
    variables *state;
    profiled *list;
    size_t count, cap;
} work;

static bool
is_listed(const char *words, const glow_value *v)
{
    if (v->def)
        return glow_names_list(words, v->def->op->name) ||
               glow_names_list(words, v->def->name);
    for (const char *at = words; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");

        if (*at == '@' && n - 1 == strlen(v->storage->name) &&
            strncmp(at + 1, v->storage->name, n - 1) == 0)
            return true;
        at += n;
    }
    return false;
}

static bool
is_profiled(const glow_value *v, const glow_func *f)
{
    GLOW_FOR_EACH_USE(u, v)
        if (u->user->func == f && u->index == 0 &&
            glow_is(u->user, &glow_op_quantizationprofile))
            return true;
    return false;
}

static bool
is_wanted(const profile_options *o, const glow_func *f, const glow_value *v)
{
    return glow_is_float(v->type->elem) && !is_profiled(v, f) &&
           !is_listed(o->except, v) && (!*o->only || is_listed(o->only, v));
}

/* True if `v` is multiplied by weights: a row for each channel of its last axis. */
static bool
is_factor(const glow_value *v)
{
    static const glow_op *const products[] = {
        &glow_op_convolution, &glow_op_convtranspose, &glow_op_fullyconnected,
        &glow_op_matmul,      &glow_op_batchmatmul,
    };

    GLOW_FOR_EACH_USE(u, v)
        for (size_t i = 0; i < sizeof products / sizeof *products; i++)
            if (u->index == 0 && glow_is(u->user, products[i]))
                return true;
    return false;
}

static int
axis_of(const profile_options *o, const glow_value *v)
{
    bool per = o->channels == ALL || (o->channels == PRODUCTS && is_factor(v));

    return per && v->type->shape.rank >= 2 ? v->type->shape.rank - 1 : -1;
}

/* The name of `v`, without a sign: its node's, and its result's if it has several. */
static const char *
name_of(glow_arena *a, const glow_value *v)
{
    const char *name = v->def ? v->def->name : v->storage->name;
    char result[80];

    if (v->def && v->def->n_out > 1) {
        glow_op_result_name(v->def->op, v->index, result, sizeof result);
        name = glow_arena_printf(a, "%s.%s", name, result);
    }
    return v->def && glow_is_body(v->def->func)
               ? glow_arena_printf(a, "%s.%s", v->def->func->name, name)
               : name;
}

/* The values that are profiled. */

static int
declare(work *w, glow_func *f, const char *name, const char *suffix,
        glow_kind kind, int64_t size)
{
    glow_type type = glow_type_of(kind, GLOW_DIMS_OF(size));

    return glow_variables_add(w->state, f,
                              glow_arena_printf(w->a, "%s.%s", name, suffix),
                              glow_type_get(f->module->ctx, type));
}

/* Notes `v` of `f`, and declares its state.  False: the pass may rewrite no more. */
static bool
take(work *w, glow_func *f, glow_value *v)
{
    int axis = axis_of(w->o, v);
    int64_t channels = axis < 0 ? 0 : v->type->shape.at[axis];
    const char *name = name_of(w->a, v);
    profiled *p;

    if (!glow_run_may_rewrite(w->pass))
        return false;
    w->list =
        glow_arena_grow(w->a, w->list, w->count, &w->cap, sizeof *w->list);
    p = &w->list[w->count++];
    *p = (profiled){.func = f, .value = v, .name = name, .axis = axis};
    p->counts = declare(w, f, name, "histogram", GLOW_INDEX64, w->o->bins);
    p->info = declare(w, f, name, "info", GLOW_FLOAT64,
                      GLOW_PROFILE_HEAD + 4 * channels);
    return true;
}

static bool
take_storage(work *w, glow_func *f)
{
    GLOW_FOR_EACH_STORAGE(s, f->module)
        if ((!s->is_constant || w->o->constants) &&
            glow_profiles_storage(f, s) && is_wanted(w->o, f, &s->value) &&
            !take(w, f, &s->value))
            return false;
    return true;
}

static bool
take_results(work *w, glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        for (int i = 0; i < n->n_out; i++)
            if (glow_profiles_result(n->out[i]) &&
                is_wanted(w->o, f, n->out[i]) && !take(w, f, n->out[i]))
                return false;
    return true;
}

/* Their nodes. */

static bool
save(glow_builder *b, glow_value *v, glow_value *to, const glow_loc *loc)
{
    glow_builder_named(b, to->storage->name, loc);
    return glow_build_node(b, &glow_op_save, NULL, 0, GLOW_IN(v, to), NULL);
}

static bool
profile(const work *w, const profiled *p)
{
    const glow_value *v = p->value;
    const glow_loc *loc = v->def ? v->def->loc : v->storage->loc;
    glow_builder *b =
        glow_builder_new(w->a, p->func, glow_run_pass(w->pass)->name);
    glow_value *counts = glow_variables_read(w->state, p->func, p->counts);
    glow_value *info = glow_variables_read(w->state, p->func, p->info), *made;

    glow_builder_named(b, v->def ? v->def->name : v->storage->name, loc);
    made = GLOW_BUILD(
        b, quantizationprofile, GLOW_IN(p->value, counts, info),
        .profiled_node_name =
            v->def ? v->def->name
                   : glow_arena_printf(w->a, "@%s", v->storage->name),
        .profiled_output_number = v->index, .axis = p->axis);
    return made &&
           save(b, made, glow_variables_written(w->state, p->func, p->counts),
                loc) &&
           save(b, made->def->out[1],
                glow_variables_written(w->state, p->func, p->info), loc);
}

static glow_result
run(glow_pass_run *pass, glow_module *m)
{
    work w = {
        .pass = pass, .o = glow_run_options(pass), .a = glow_run_scratch(pass)};

    if (w.o->bins < 2 || w.o->bins > 1 << 20) {
        glow_error(glow_run_context(pass), "E0420",
                   "insert-profile: bins is %d, but must be 2 to %d", w.o->bins,
                   1 << 20);
        return GLOW_FAILED;
    }
    w.state = glow_variables_new(w.a, m, glow_run_pass(pass)->name);
    GLOW_FOR_EACH_FUNC(f, m)
        if (glow_variables_may(w.state, f) &&
            !(take_storage(&w, f) && take_results(&w, f)))
            break;
    if (w.count == 0)
        return GLOW_UNCHANGED;
    glow_variables_open(w.state);
    for (size_t i = 0; i < w.count; i++)
        if (!profile(&w, &w.list[i]))
            return GLOW_FAILED;
    return glow_variables_close(w.state) ? GLOW_CHANGED : GLOW_FAILED;
}

const glow_pass glow_pass_insert_profile = {
    .name = "insert-profile",
    .summary = "collect the ranges of values while the network runs",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(profile_options, only, GLOW_STRING,
                                   "these operators, nodes, @storage alone"),
                GLOW_FIELD_DEFAULT(profile_options, except, GLOW_STRING,
                                   "not these"),
                GLOW_FIELD_DEFAULT(profile_options, bins, GLOW_INT,
                                   "bins of a histogram"),
                GLOW_FIELD_ENUM(profile_options, channels, channel_words,
                                "values whose channels are kept apart"),
                GLOW_FIELD_DEFAULT(profile_options, constants, GLOW_FLAG,
                                   "profile constants too")},
    .defaults = &(const profile_options){.only = "",
                                         .except = "",
                                         .bins = 1024,
                                         .channels = PRODUCTS},
    .run_module = run,
    .takes_quantized = true,
    .source = "Glow, profileQuantization",
};
