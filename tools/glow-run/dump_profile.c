/* -dump-profile: the ranges and histograms of all values over the inputs. */

#include <inttypes.h>
#include <string.h>

#include "glow/file.h"
#include "glow/profile.h"
#include "tools/glow-run/run.h"

/* The values to profile. */

/* A call on the way from the function that runs to a body. */
typedef struct frame {
    glow_func *func;
    const glow_node *call; /* of it; NULL: nothing calls it */
    const struct frame *up;
} frame;

static const glow_storage *root_of(const glow_value *v, const frame *at);

/* The storage that result `v` of a call is the state of, in the first function that knows. */
static const glow_storage *
root_of_result(const glow_value *v, const frame *at)
{
    const glow_node *n = v->def;
    const glow_storage *found = NULL;

    for (int k = 0; k < glow_call_count(n) && !found; k++) {
        glow_func *g = glow_called(n, k);
        const frame below = {.func = g, .call = n, .up = at};
        const glow_storage *to =
            glow_formal(g, GLOW_OUTPUTS, glow_output_of_result(n, g, v->index));

        GLOW_FOR_EACH_USE(u, &to->value)
            if (u->user->func == g && u->user->op == &glow_op_save)
                found = root_of(u->user->in[0], &below);
    }
    return found;
}

/* The placeholder of the function that runs whose state `v` is, or NULL. */
static const glow_storage *
root_of(const glow_value *v, const frame *at)
{
    if (!v->def && !at->call)
        return v->storage;
    for (int i = 0; !v->def && i < glow_formal_count(at->func, GLOW_INPUTS);
         i++)
        if (glow_formal(at->func, GLOW_INPUTS, i) == v->storage)
            return root_of(
                at->call->in[glow_operand_of_input(at->call, at->func, i)],
                at->up);
    if (!v->def)
        return NULL;
    if (v->def->op == &glow_op_quantizationprofile)
        return root_of(v->def->in[1 + v->index], at);
    return glow_op_calls(v->def->op) ? root_of_result(v, at) : NULL;
}

/*
 * The name of the value that `n` profiles, as it was before calls returned the state of
 * profiles: without a result that others are counted by, if it was the only one.
 */
static const char *
name_of(glow_arena *a, const glow_node *n, const frame *at)
{
    const glow_quantizationprofile *p = n->attrs;
    const glow_value *v = n->in[0];
    const char *name = glow_profile_name(a, v), *mark = strrchr(name, '#');
    char result[80];
    int others = 0;

    if (!v->def || !glow_op_calls(v->def->op) || !mark)
        return name;
    for (int i = 0; i < v->def->n_out; i++)
        others += i != v->index && !root_of(v->def->out[i], at);
    glow_op_result_name(v->def->op, p->profiled_output_number, result,
                        sizeof result);
    return glow_arena_printf(a, "%.*s%s%s", (int)(mark - name), name,
                             others ? "#" : "", others ? result : "");
}

static void
watch(run *r, const glow_node *n, const frame *at, size_t *cap)
{
    const glow_quantizationprofile *a = n->attrs;
    glow_arena *arena = r->tool.arena;
    const glow_value *v = n->in[0];
    const run_watch w = {
        .name = name_of(arena, n, at),
        .model = glow_profile_model(v),
        .type = glow_type_text(arena, v->type),
        .elements = glow_type_count(v->type),
        .axis = a->axis,
        .channels = a->axis < 0 ? 0 : v->type->shape.at[a->axis],
        .is_of_body = at->call != NULL,
        .counts = root_of(n->in[1], at),
        .info = root_of(n->in[2], at),
    };

    if (!w.counts || !w.info)
        return;
    r->watches = glow_arena_grow(arena, r->watches, r->n_watches, cap,
                                 sizeof *r->watches);
    r->watches[r->n_watches++] = w;
}

static bool
has_profile(run *r)
{
    int count;
    glow_func **funcs = glow_callees(r->tool.arena, r->func, &count);

    for (int i = 0; i < count; i++)
        GLOW_FOR_EACH_NODE(n, funcs[i])
            if (n->op == &glow_op_quantizationprofile)
                return true;
    return false;
}

/*
 * Profiles in the order of the text: of each function storage, then nodes, then the
 * functions that it calls, each once.
 */
static void
watch_all(run *r, const frame *at, glow_map *seen, size_t *cap)
{
    if (glow_map_get(seen, at->func->name))
        return;
    glow_map_set(seen, at->func->name, at->func);
    for (int nodes = 0; nodes < 2; nodes++)
        GLOW_FOR_EACH_NODE(n, at->func)
            if (n->op == &glow_op_quantizationprofile &&
                (n->in[0]->def != NULL) == (nodes == 1))
                watch(r, n, at, cap);
    GLOW_FOR_EACH_NODE(n, at->func)
        for (int k = 0; glow_op_calls(n->op) && k < glow_call_count(n); k++)
            watch_all(r,
                      &(frame){.func = glow_called(n, k), .call = n, .up = at},
                      seen, cap);
}

int
insert_profile(run *r)
{
    glow_arena *a = r->tool.arena;
    const char *text = glow_arena_printf(a, "insert-profile<bins=%" PRId64 ">",
                                         r->values.profile_bins);
    glow_pipeline *p;
    size_t cap = 0;

    if (r->func->is_program)
        return tool_usage(&r->tool, "profile the function that it is made from",
                          "-dump-profile takes a graph, but @%s is a program",
                          r->func->name);
    r->hash = glow_profile_hash(a, r->func);
    if (!has_profile(r)) {
        p = glow_pipeline_parse(
            r->tool.ctx, a,
            glow_source_from(r->tool.ctx, "<passes>", text, strlen(text)));
        if (!p || !glow_pipeline_run(p, r->module, NULL))
            return TOOL_FAILED;
    }
    watch_all(r, &(frame){.func = r->func}, glow_map_new(a), &cap);
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

/*
 * Warns of elements that are not finite, once for each value.  The executions of a body are
 * known as those with a finite element.
 */
static void
check_finite(run *r, int64_t k)
{
    for (size_t i = 0; i < r->n_watches; i++) {
        run_watch *w = &r->watches[i];
        const double *info = port_of(r, w->info)->tensor.data;
        double runs = w->is_of_body ? info[GLOW_PROFILE_RUNS] : (double)(k + 1);
        double all = (double)w->elements * runs;

        if (w->warned || info[GLOW_PROFILE_COUNT] >= all)
            continue;
        w->warned = true;
        glow_warning_hint(
            r->tool.ctx, (glow_span){0}, "W0521",
            "correct the inputs, or keep what reads the value in float by `keep` of quantize",
            "%s: %.0f of %" PRId64
            " elements are NaN or infinite in run %" PRId64,
            w->name, all - info[GLOW_PROFILE_COUNT], w->elements, k + 1);
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
