/*
 * calibrate: give the values of a function the ranges of a profile.
 *
 *     ranges {
 *       @image: [0.0, 1.0]
 *       @main %conv: [-1.5, 3.25]
 *     }
 *
 * with the option profile=FILE, files of glow-run -dump-profile or of Glow between
 * commas, whose elements are added up.  Ranges that stand in the text are replaced.
 * `how` says which part of the elements a range keeps:
 *
 * - `minmax`: all.
 * - `percentile`: `percentile` percent (99.99); half of the others lies at each end.
 * - `mse`: the range of least squared error in `bits` bits (8), of rounding inside and
 *   of saturation outside, among those that begin and end with a bin.
 * - `entropy`: Glow's KL: the range whose elements, merged into 2^bits - 1 bins, lose
 *   the least information.  Relu leaves so many zeros that they decide alone, so the
 *   bin of 0 has no more elements than one beside it, unless `spike`.
 * - `moving-average`: from the mean of the least elements of the runs to the mean of
 *   the greatest.
 *
 * Under `constants`, constants of floats get a range in the same way, from their
 * elements; without it they have none, since quantize knows their elements.
 *
 * Bodies that the function calls are calibrated with it; their values are those named
 * `@body %conv`.
 *
 * A value of the profile is the value of the same name whose type differs by the first
 * size at most, which is that of the batch; one of Glow's, `conv:0`, is result 0 of the
 * node or the storage of that name, or of the node of that name in the model.  Values
 * without a range, and names of the profile that are none of the function, are reported
 * with what is nearest.  Where no value fits, that is an error.
 *
 * Not in any pipeline: -load-profile=FILE runs it before all other passes.
 */

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glow/file.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/profile.h"
#include "passes/graph/common/profiled.h"

typedef struct calibrate_options {
    const char *profile;
    int how;
    float percentile;
    int bits;
    bool constants, spike;
} calibrate_options;

static const char *const how_words[] = {
    "minmax", "percentile", "mse", "entropy", "moving-average", NULL,
};

typedef struct work {
    glow_pass_run *pass;
    glow_context *ctx;
    glow_arena *arena;
    const calibrate_options *o;
    glow_calibration_options how;
    glow_func *f;
    glow_func **funcs; /* it, and the bodies that it calls */
    int n_funcs;
    glow_profile *profile;
    glow_map *values; /* glow_value by all its names */
    glow_map *has;    /* by its name: it got a range */
    const char **names;
    size_t n_names, cap;
    const glow_profile_value *unknown; /* the first of the profile */
    size_t n_unknown, n_set;
    bool failed;
} work;

/* Options. */

static bool refuse(const work *w, const char *fmt, ...) GLOW_PRINTF(2, 3);

static bool
refuse(const work *w, const char *fmt, ...)
{
    va_list ap;
    const char *text;

    va_start(ap, fmt);
    text = glow_arena_vprintf(w->arena, fmt, ap);
    va_end(ap);
    return glow_error(w->ctx, "E0420", "calibrate: %s", text);
}

static bool
check_options(work *w)
{
    const calibrate_options *o = w->o;
    bool counts_bits =
        o->how == GLOW_CALIBRATE_MSE || o->how == GLOW_CALIBRATE_ENTROPY;

    w->how = (glow_calibration_options){
        .how = (glow_calibration)o->how,
        .percentile = o->percentile == 0 ? 99.99 : (double)o->percentile,
        .bits = o->bits == 0 ? 8 : o->bits,
        .keeps_spike = o->spike,
    };
    if (!*o->profile && !o->constants)
        return refuse(w, "profile names no file");
    if (o->percentile != 0 && o->how != GLOW_CALIBRATE_PERCENTILE)
        return refuse(w, "percentile has no effect without how=percentile");
    if (o->bits != 0 && !counts_bits)
        return refuse(w, "bits has no effect without how=mse or entropy");
    if (o->spike && o->how != GLOW_CALIBRATE_ENTROPY)
        return refuse(w, "spike has no effect without how=entropy");
    if (!(w->how.percentile > 0 && w->how.percentile <= 100))
        return refuse(w, "percentile is %g, but must be above 0, to 100",
                      w->how.percentile);
    if (w->how.bits < 2 || w->how.bits > 16)
        return refuse(w, "bits is %d, but must be 2 to 16", w->how.bits);
    return true;
}

/* Profiles. */

static bool
read_profiles(work *w)
{
    w->profile = NULL;
    for (const char *at = w->o->profile; *at;) {
        size_t n = strcspn(at, ",");
        const glow_source *s =
            glow_source_read(w->ctx, glow_arena_strndup(w->arena, at, n));
        glow_profile *p = s ? glow_profile_read(w->ctx, w->arena, s) : NULL;

        if (!p)
            return false;
        if (w->profile)
            glow_profile_merge(w->arena, w->profile, p);
        else
            w->profile = p;
        at += n + (at[n] == ',');
    }
    if (!w->profile)
        w->profile = GLOW_NEW(w->arena, glow_profile);
    return true;
}

/* Values of the function. */

/* The name in Glow's form: what is no letter or digit becomes `_`. */
static const char *
legal(glow_arena *a, const char *name)
{
    char *text = glow_arena_strdup(a, name);

    for (char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return text;
}

/* Adds `name`:index unless it is there. */
static void
add_alias(work *w, const char *name, glow_value *v)
{
    const char *key = glow_arena_printf(w->arena, "%s:%d", name, v->index);

    if (!glow_map_get(w->values, key))
        glow_map_set(w->values, key, v);
}

static void
add_value(work *w, glow_value *v)
{
    const char *name = glow_profile_name(w->arena, v);

    glow_map_set(w->values, name, v);
    w->names = glow_arena_grow(w->arena, w->names, w->n_names, &w->cap,
                               sizeof *w->names);
    w->names[w->n_names++] = name;
}

static void
add_aliases(work *w, glow_value *v)
{
    const char *name = v->def ? v->def->name : v->storage->name;
    const char *model = glow_profile_model(v);

    add_alias(w, name, v);
    add_alias(w, legal(w->arena, name), v);
    if (model) {
        add_alias(w, model, v);
        add_alias(w, legal(w->arena, model), v);
    }
}

static void
each_value(work *w, void (*fn)(work *w, glow_value *v))
{
    for (int k = 0; k < w->n_funcs; k++) {
        GLOW_FOR_EACH_STORAGE(s, w->f->module)
            if (!s->is_constant && glow_is_float(s->value.type->elem) &&
                glow_profiles_storage(w->funcs[k], s))
                fn(w, &s->value);
        GLOW_FOR_EACH_NODE(n, w->funcs[k])
            for (int i = 0; i < n->n_out; i++)
                if (glow_is_float(n->out[i]->type->elem) &&
                    glow_profiles_result(n->out[i]))
                    fn(w, n->out[i]);
    }
}

/* True if one of the functions reads `s`. */
static bool
is_read(const work *w, const glow_storage *s)
{
    for (int k = 0; k < w->n_funcs; k++)
        if (glow_profiles_storage(w->funcs[k], s))
            return true;
    return false;
}

/* Ranges. */

static bool
same_type(const work *w, const glow_value *v, const char *type)
{
    glow_type t = *v->type;
    const char *own, *rest;

    t.strides.rank = 0;
    own = glow_type_text(w->arena, &t);
    if (!type || strcmp(own, type) == 0)
        return true;
    /* `float<8 x 3>` and `float<1 x 3>` */
    rest = strchr(own, ' ');
    type = strchr(type, ' ');
    return t.shape.rank > 1 && rest && type && strcmp(rest, type) == 0;
}

static void
too_few(work *w, const glow_profile_value *p)
{
    const char *hint =
        "profile with more bins, -profile-bins=1024, or take how=minmax";

    w->failed = true;
    if (w->o->how == GLOW_CALIBRATE_ENTROPY)
        glow_error_hint(w->ctx, p->span, "E0522", hint,
                        "%s: entropy needs more than %d bins, but the "
                        "histogram has %d",
                        p->name, (1 << w->how.bits) - 1, (int)p->n_counts);
    else
        glow_error_hint(w->ctx, p->span, "E0522", hint,
                        "%s: the profile has no histogram of it", p->name);
}

static void
set_range(work *w, glow_value *v, const glow_profile_value *p)
{
    glow_value_range r = {.axis = -1};

    if (!glow_calibrate(p, &w->how, w->arena, &r.min, &r.max)) {
        too_few(w, p);
        return;
    }
    if (p->channels > 0 && p->axis < v->type->shape.rank &&
        v->type->shape.at[p->axis] == p->channels) {
        r.axis = p->axis;
        r.channels = p->channels;
        r.channel_min = p->channel_min;
        r.channel_max = p->channel_max;
        r.channel_mean = p->channel_mean;
    }
    glow_set_value_range(v, &r);
    glow_map_set(w->has, glow_profile_name(w->arena, v), v);
    w->n_set++;
}

static void
set_all(work *w)
{
    for (size_t i = 0; i < w->profile->count && !w->failed; i++) {
        const glow_profile_value *p = &w->profile->values[i];
        glow_value *v = glow_map_get(w->values, p->name);

        if (v && same_type(w, v, p->type)) {
            set_range(w, v, p);
            continue;
        }
        if (!w->n_unknown++)
            w->unknown = p;
    }
}

/* Reports. */

/* "%a, %b and 7 more" of the values without a range; NULL if all have one. */
static const char *
without_range(const work *w, size_t *count)
{
    enum { SHOWN = 3 };
    glow_buf b = {.arena = w->arena};

    *count = 0;
    for (size_t i = 0; i < w->n_names; i++) {
        if (glow_map_get(w->has, w->names[i]))
            continue;
        if (++*count <= SHOWN)
            glow_buf_printf(&b, "%s%s", b.len ? ", " : "", w->names[i]);
    }
    if (*count > SHOWN)
        glow_buf_printf(&b, " and %zu more", *count - SHOWN);
    return b.text;
}

/* The value nearest to the first unknown name of the profile, for a hint. */
static const char *
nearest(const work *w)
{
    const char *near =
        w->unknown ? glow_did_you_mean(w->unknown->name, w->names, w->n_names)
                   : NULL;
    const glow_value *v =
        w->unknown ? glow_map_get(w->values, w->unknown->name) : NULL;

    if (v)
        return glow_arena_printf(w->arena, "there it is %s, here %s",
                                 w->unknown->type,
                                 glow_type_text(w->arena, v->type));
    return near ? glow_arena_printf(w->arena, "nearest is %s", near) : NULL;
}

static const char anew[] =
    "profile the text that is quantized: glow-run -dump-profile=FILE";

static bool
of_another_graph(const work *w)
{
    const char *hint = nearest(w);

    return glow_error_hint(
        w->ctx, w->unknown ? w->unknown->span : w->f->span, "E0521",
        hint ? hint : anew,
        "no value of @%s is in the profile%s%s: there the first is %s, here %s",
        w->f->name, w->profile->function ? " of @" : "",
        w->profile->function ? w->profile->function : "",
        w->unknown ? w->unknown->name : "none",
        w->n_names ? w->names[0] : "none");
}

static void
report(const work *w)
{
    size_t count;
    const char *names = without_range(w, &count);
    const char *hash = glow_profile_hash(w->arena, w->f);
    const char *hint = nearest(w);
    bool same = w->profile->hash && strcmp(w->profile->hash, hash) == 0;

    if (w->n_unknown)
        glow_warning_hint(
            w->ctx, w->unknown->span, "W0520", hint ? hint : anew,
            "%zu of %zu values of the profile are none of @%s, first %s%s",
            w->n_unknown, w->profile->count, w->f->name, w->unknown->name,
            same ? "" : "; it is of another graph");
    if (count)
        glow_warning_hint(w->ctx, w->f->span, "W0520", anew,
                          "%zu of %zu values of @%s have no range: %s", count,
                          w->n_names, w->f->name, names);
}

/* Constants. */

/* The elements of a constant as a profile of one run. */
static bool
profile_of(work *w, const glow_storage *s, const glow_tensor *t,
           glow_profile_value *p)
{
    enum { BINS = 4096 };
    int64_t n = glow_type_count(t->type);
    double *counts = GLOW_NEW_ARRAY(w->arena, double, BINS);
    glow_bins b;

    *p = (glow_profile_value){.name = glow_profile_name(w->arena, &s->value),
                              .axis = -1,
                              .runs = 1,
                              .bins = BINS,
                              .counts = counts,
                              .is_grid = true};
    for (int64_t i = 0; i < n; i++) {
        double x = glow_get_double(t, i);

        if (!glow_profile_counts(x))
            continue;
        p->min = p->elements && p->min < (float)x ? p->min : (float)x;
        p->max = p->elements && p->max > (float)x ? p->max : (float)x;
        p->elements++;
    }
    b = glow_bins_of((double)p->min, (double)p->max, BINS);
    for (int64_t i = 0; i < n && p->elements; i++) {
        double x = glow_get_double(t, i);

        if (glow_profile_counts(x))
            counts[glow_bins_floor((double)(float)x, b.exponent) - b.first]++;
    }
    p->n_counts = glow_bins_floor((double)p->max, b.exponent) - b.first + 1;
    p->width = glow_bins_power(b.exponent);
    p->low = (double)b.first * p->width;
    p->run_min = (double)p->min;
    p->run_max = (double)p->max;
    return p->elements > 0;
}

static bool
set_constants(work *w)
{
    GLOW_FOR_EACH_STORAGE(s, w->f->module) {
        glow_profile_value p;
        const glow_tensor *t;

        if (!s->is_constant || !glow_is_float(s->value.type->elem) ||
            !is_read(w, s))
            continue;
        t = glow_constant_tensor(s);
        if (!t)
            return false;
        if (profile_of(w, s, t, &p))
            set_range(w, &s->value, &p);
        if (w->failed)
            return false;
    }
    return true;
}

/* The pass. */

/* The function of the profile, by its name, or the only one. */
static glow_func *
function_of(const work *w, const glow_module *m)
{
    glow_func *f =
        w->profile->function ? glow_find_func(m, w->profile->function) : NULL;

    return f && !f->is_program ? f : glow_module_entry(m);
}

/* Of a module, in the turn of the function that the profile is of. */
static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    work w = {.pass = pass,
              .ctx = glow_run_context(pass),
              .arena = glow_run_scratch(pass),
              .o = glow_run_options(pass)};

    if (glow_is_body(f))
        return GLOW_UNCHANGED;
    w.values = glow_map_new(w.arena);
    w.has = glow_map_new(w.arena);
    if (!*w.o->profile && !w.o->constants && !glow_run_may_rewrite(pass))
        return GLOW_UNCHANGED;
    if (!check_options(&w) || !read_profiles(&w))
        return GLOW_FAILED;
    w.f = function_of(&w, f->module);
    if (w.f && w.f != f)
        return GLOW_UNCHANGED;
    if (!w.f || w.f->is_program) {
        glow_error_hint(
            w.ctx, f->span, "E0521", anew,
            "the profile is of @%s, and the module has no such function",
            w.profile->function ? w.profile->function : "?");
        return GLOW_FAILED;
    }
    w.funcs = glow_callees(w.arena, w.f, &w.n_funcs);
    each_value(&w, add_value);
    each_value(&w, add_aliases);
    set_all(&w);
    if (!w.failed && *w.o->profile && !w.n_set)
        w.failed = !of_another_graph(&w);
    else if (!w.failed && *w.o->profile)
        report(&w);
    if (w.failed || (w.o->constants && !set_constants(&w)))
        return GLOW_FAILED;
    glow_run_count(pass, "ranges", (int64_t)w.n_set);
    return w.n_set ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_calibrate = {
    .name = "calibrate",
    .summary = "give values the ranges of a profile",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(calibrate_options, profile, GLOW_STRING,
                                   "files of -dump-profile, or Glow's YAML"),
                GLOW_FIELD_ENUM(calibrate_options, how, how_words,
                                "which elements a range keeps"),
                GLOW_FIELD_DEFAULT(calibrate_options, percentile, GLOW_FLOAT32,
                                   "percent of the elements; 0: 99.99"),
                GLOW_FIELD_DEFAULT(calibrate_options, bits, GLOW_INT,
                                   "of quantized elements; 0: 8"),
                GLOW_FIELD_DEFAULT(calibrate_options, constants, GLOW_FLAG,
                                   "give constants ranges too"),
                GLOW_FIELD_DEFAULT(calibrate_options, spike, GLOW_FLAG,
                                   "of entropy: count all zeros")},
    .defaults = &(const calibrate_options){.profile = ""},
    .run = run,
    .takes_quantized = true,
    .source =
        "Glow, -load-profile and -quantization-calibration; Migacz, 8-bit "
        "Inference with TensorRT, GTC 2017",
};
