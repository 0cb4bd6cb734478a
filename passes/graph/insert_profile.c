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
 * `only` names operators, nodes, or `@` and storage, and leaves out all others;
 * `except` leaves out those that it names.  Results of nodes with a predicate may be
 * undefined, and functions that are called write no placeholders: both are left out.
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

enum { ALL, PRODUCTS, NONE };

static const char *const channel_words[] = {"all", "products", "none", NULL};

typedef struct profile_options {
    const char *only, *except;
    int bins;
    int channels;
    bool constants;
} profile_options;

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

static glow_value *
placeholder(glow_builder *b, const char *name, const char *suffix,
            glow_kind kind, int64_t size)
{
    glow_type type = glow_type_of(kind, GLOW_DIMS_OF(size));

    name = glow_arena_printf(glow_builder_scratch(b), "%s.%s", name, suffix);
    return &glow_placeholder_new(glow_builder_module(b), name,
                                 glow_type_get(glow_builder_context(b), type))
                ->value;
}

static bool
save(glow_builder *b, glow_value *v, glow_value *to, const glow_loc *loc)
{
    glow_builder_named(b, to->storage->name, loc);
    return glow_build_node(b, &glow_op_save, NULL, 0, GLOW_IN(v, to), NULL);
}

/* The name of `v`, without a sign: its node's, and its result's if it has several. */
static const char *
name_of(glow_arena *a, const glow_value *v)
{
    char result[80];

    if (!v->def)
        return v->storage->name;
    if (v->def->n_out == 1)
        return v->def->name;
    glow_op_result_name(v->def->op, v->index, result, sizeof result);
    return glow_arena_printf(a, "%s.%s", v->def->name, result);
}

static bool
profile(glow_builder *b, const profile_options *o, glow_value *v)
{
    glow_arena *a = glow_builder_scratch(b);
    const char *name = name_of(a, v);
    const glow_loc *loc = v->def ? v->def->loc : v->storage->loc;
    int axis = axis_of(o, v);
    int64_t channels = axis < 0 ? 0 : v->type->shape.at[axis];
    glow_value *counts =
        placeholder(b, name, "histogram", GLOW_INDEX64, o->bins);
    glow_value *info = placeholder(b, name, "info", GLOW_FLOAT64,
                                   GLOW_PROFILE_HEAD + 4 * channels);
    glow_value *made;

    glow_builder_named(b, name, loc);
    made =
        GLOW_BUILD(b, quantizationprofile, GLOW_IN(v, counts, info),
                   .profiled_node_name =
                       v->def ? v->def->name
                              : glow_arena_printf(a, "@%s", v->storage->name),
                   .profiled_output_number = v->index, .axis = axis);
    return made && save(b, made, counts, loc) &&
           save(b, made->def->out[1], info, loc);
}

static glow_result
profile_storage(glow_pass_run *pass, glow_builder *b, glow_func *f)
{
    const profile_options *o = glow_run_options(pass);
    glow_result result = GLOW_UNCHANGED;
    const glow_storage *last = f->module->last_storage;

    GLOW_FOR_EACH_STORAGE(s, f->module) {
        if ((!s->is_constant || o->constants) && glow_profiles_storage(f, s) &&
            is_wanted(o, f, &s->value)) {
            if (!glow_run_may_rewrite(pass))
                return result;
            if (!profile(b, o, &s->value))
                return GLOW_FAILED;
            result = GLOW_CHANGED;
        }
        if (s == last)
            break;
    }
    return result;
}

static glow_result
profile_nodes(glow_pass_run *pass, glow_builder *b, glow_func *f)
{
    const profile_options *o = glow_run_options(pass);
    glow_result result = GLOW_UNCHANGED;
    const glow_node *last = f->last;

    GLOW_FOR_EACH_NODE(n, f) {
        for (int i = 0; i < n->n_out && glow_profiles_results(n); i++) {
            if (!is_wanted(o, f, n->out[i]))
                continue;
            if (!glow_run_may_rewrite(pass))
                return result;
            if (!profile(b, o, n->out[i]))
                return GLOW_FAILED;
            result = GLOW_CHANGED;
        }
        if (n == last)
            break;
    }
    return result;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const profile_options *o = glow_run_options(pass);
    glow_builder *b =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    glow_result storage, nodes;

    if (o->bins < 2 || o->bins > 1 << 20) {
        glow_error(glow_run_context(pass), "E0420",
                   "insert-profile: bins is %d, but must be 2 to %d", o->bins,
                   1 << 20);
        return GLOW_FAILED;
    }
    if (glow_is_body(f))
        return GLOW_UNCHANGED;
    storage = profile_storage(pass, b, f);
    nodes = storage == GLOW_FAILED ? storage : profile_nodes(pass, b, f);
    return nodes == GLOW_UNCHANGED ? storage : nodes;
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
    .run = run,
    .takes_quantized = true,
    .source = "Glow, profileQuantization",
};
