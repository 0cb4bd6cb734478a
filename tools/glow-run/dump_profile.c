/* -dump-profile: the ranges and histograms of all values over the inputs. */

#include <inttypes.h>
#include <string.h>

#include "glow/file.h"
#include "glow/profile.h"
#include "tools/glow-run/run.h"

/* The values to profile. */

static void
watch(run *r, const glow_node *n, size_t *cap)
{
    const glow_quantizationprofile *a = n->attrs;
    glow_arena *arena = r->tool.arena;
    const glow_value *v = n->in[0];

    r->watches = glow_arena_grow(arena, r->watches, r->n_watches, cap,
                                 sizeof *r->watches);
    r->watches[r->n_watches++] = (run_watch){
        .name = glow_profile_name(arena, v),
        .model = glow_profile_model(v),
        .type = glow_type_text(arena, v->type),
        .elements = glow_type_count(v->type),
        .axis = a->axis,
        .channels = a->axis < 0 ? 0 : v->type->shape.at[a->axis],
        .counts = n->in[1]->storage,
        .info = n->in[2]->storage,
    };
}

static bool
has_profile(const glow_func *f)
{
    for (const glow_node *n = f->first; n; n = n->next)
        if (n->op == &glow_op_quantizationprofile)
            return true;
    return false;
}

/* Profiles in the order of the text: storage, then nodes. */
static void
watch_all(run *r)
{
    size_t cap = 0;

    for (int nodes = 0; nodes < 2; nodes++)
        for (const glow_node *n = r->func->first; n; n = n->next)
            if (n->op == &glow_op_quantizationprofile && n->in[1]->storage &&
                n->in[2]->storage && (n->in[0]->def != NULL) == (nodes == 1))
                watch(r, n, &cap);
}

int
insert_profile(run *r)
{
    glow_arena *a = r->tool.arena;
    const char *text = glow_arena_printf(a, "insert-profile<bins=%" PRId64 ">",
                                         r->values.profile_bins);
    glow_pipeline *p;

    if (r->func->is_program)
        return tool_usage(&r->tool, "profile the function that it is made from",
                          "-dump-profile takes a graph, but @%s is a program",
                          r->func->name);
    r->hash = glow_profile_hash(a, r->func);
    if (!has_profile(r->func)) {
        p = glow_pipeline_parse(
            r->tool.ctx, a,
            glow_source_from(r->tool.ctx, "<passes>", text, strlen(text)));
        if (!p || !glow_pipeline_run(p, r->module, NULL))
            return TOOL_FAILED;
    }
    watch_all(r);
    return TOOL_GO_ON;
}

/* The runs. */

static run_port *
port_of(const run *r, const glow_storage *s)
{
    for (size_t i = 0; i < r->n_ports; i++)
        if (r->ports[i].storage == s)
            return &r->ports[i];
    return NULL;
}

/* Warns of elements that are not finite, once for each value. */
static void
check_finite(run *r, int64_t k)
{
    for (size_t i = 0; i < r->n_watches; i++) {
        run_watch *w = &r->watches[i];
        const double *info = port_of(r, w->info)->tensor.data;
        double all = (double)w->elements * (double)(k + 1);

        if (w->warned || info[GLOW_PROFILE_COUNT] >= all)
            continue;
        w->warned = true;
        glow_warning(r->tool.ctx, (glow_span){0}, "W0521",
                     "%s: %.0f of %" PRId64
                     " elements are NaN or infinite in run %" PRId64,
                     w->name, all - info[GLOW_PROFILE_COUNT], w->elements,
                     k + 1);
    }
}

/* The profile. */

static const float *
narrowed(glow_arena *a, const double *x, int64_t n)
{
    float *out = GLOW_NEW_ARRAY(a, float, n + 1);

    for (int64_t i = 0; i < n; i++)
        out[i] = (float)x[i];
    return out;
}

static const float *
means(glow_arena *a, const double *sum, const double *count, int64_t n)
{
    float *out = GLOW_NEW_ARRAY(a, float, n + 1);

    for (int64_t i = 0; i < n; i++)
        out[i] = count[i] > 0 ? (float)(sum[i] / count[i]) : 0;
    return out;
}

static void
take_counts(glow_arena *a, const glow_tensor *t, glow_profile_value *v)
{
    int64_t bins = glow_type_count(t->type);
    glow_bins b = glow_bins_of((double)v->min, (double)v->max, bins);
    const int64_t *from = t->data;
    double *counts = GLOW_NEW_ARRAY(a, double, bins);

    for (int64_t i = 0; i < bins; i++) {
        counts[i] = (double)from[i];
        if (from[i])
            v->n_counts = i + 1;
    }
    v->bins = bins;
    v->counts = counts;
    v->is_grid = true;
    v->width = glow_bins_power(b.exponent);
    v->low = (double)b.first * v->width;
}

static glow_profile_value
value_of(const run *r, const run_watch *w)
{
    glow_arena *a = r->tool.arena;
    const double *info = port_of(r, w->info)->tensor.data;
    const double *list = info + GLOW_PROFILE_HEAD;
    double runs = info[GLOW_PROFILE_RUNS];
    int64_t n = w->channels;
    glow_profile_value v = {
        .name = w->name,
        .model = w->model,
        .type = w->type,
        .elements = (int64_t)info[GLOW_PROFILE_COUNT],
        .runs = (int64_t)runs,
        .min = (float)info[GLOW_PROFILE_MIN],
        .max = (float)info[GLOW_PROFILE_MAX],
        .run_min = info[GLOW_PROFILE_RUN_MINS] / runs,
        .run_max = info[GLOW_PROFILE_RUN_MAXS] / runs,
        .axis = w->axis,
        .channels = n,
        .channel_min = narrowed(a, list, n),
        .channel_max = narrowed(a, list + n, n),
        .channel_mean = means(a, list + 2 * n, list + 3 * n, n),
    };

    /* A mean of equal numbers may round beyond them. */
    v.run_min = v.run_min < (double)v.min ? (double)v.min : v.run_min;
    v.run_max = v.run_max > (double)v.max ? (double)v.max : v.run_max;
    if (v.run_min > v.run_max)
        v.run_min = v.run_max;
    take_counts(a, &port_of(r, w->counts)->tensor, &v);
    return v;
}

static bool
write_profile(run *r)
{
    glow_arena *a = r->tool.arena;
    glow_buf b = {0};
    glow_profile p = {
        .function = r->network.func->name,
        .hash = r->hash,
        .runs = r->runs,
        .values = GLOW_NEW_ARRAY(a, glow_profile_value, r->n_watches + 1),
    };
    bool ok;

    /* A value without a finite element has no range. */
    for (size_t i = 0; i < r->n_watches; i++) {
        const run_port *info = port_of(r, r->watches[i].info);

        if (((const double *)info->tensor.data)[GLOW_PROFILE_COUNT] > 0)
            p.values[p.count++] = value_of(r, &r->watches[i]);
    }
    glow_profile_write(&b, &p);
    ok = glow_file_write(r->tool.ctx, r->values.dump_profile, b.text, b.len);
    glow_buf_free(&b);
    return ok;
}

int
dump_profile(run *r)
{
    int code = TOOL_GO_ON;

    for (int64_t k = 0; k < r->runs && code == TOOL_GO_ON; k++) {
        begin_run(r, k);
        if (!r->backend->run(r->network.executable, r->bindings,
                             (int)r->n_ports))
            return TOOL_FAILED;
        check_finite(r, k);
    }
    if (code == TOOL_GO_ON && !write_profile(r))
        code = TOOL_FAILED;
    return code;
}
