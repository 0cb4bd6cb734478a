/* Outputs of results: files, comparisons, or a few numbers as text. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/common/npy.h"
#include "tools/glow-run/run.h"

enum { SHOWN = 16 }; /* elements that are printed */

/* -output and -output-dir */

static bool
write_all(run *r, const char *dir)
{
    glow_map *used = glow_map_new(r->tool.arena);
    bool ok = true;

    mkdir(dir, 0777); /* on failure, writing reports it */
    for (size_t i = 0; i < r->n_ports; i++) {
        const run_port *p = &r->ports[i];

        if (p->is_written && !p->is_profile && !p->is_kept)
            ok = npy_write(r->tool.ctx,
                           glow_arena_printf(r->tool.arena, "%s/%s.npy", dir,
                                             tool_file_name(&r->tool, used,
                                                            p->storage->name)),
                           &p->tensor) &&
                 ok;
    }
    return ok;
}

/* The output port of an option, or NULL after a report. */
static run_port *
find_output(run *r, const char *option, const char *text, const char **path)
{
    run_port *p = find_port(r, option, text, path);

    if (p && !p->is_written) {
        tool_usage(&r->tool, NULL, "-%s: @%s is not written by @%s", option,
                   p->storage->name, r->func->name);
        return NULL;
    }
    return p;
}

static int
write_outputs(run *r)
{
    const tool_list *l = &r->values.outputs;
    bool ok = true;

    for (size_t i = 0; i < l->count; i++) {
        const char *path;
        const run_port *p = find_output(r, "output", l->items[i], &path);

        if (!p)
            return TOOL_USAGE;
        ok = npy_write(r->tool.ctx, path, &p->tensor) && ok;
    }
    if (r->values.output_dir)
        ok = write_all(r, r->values.output_dir) && ok;
    return ok ? TOOL_GO_ON : TOOL_FAILED;
}

/* -expect */

typedef struct worst {
    int64_t index;
    double got, want;
    double excess; /* distance minus the tolerance; of the worst */
    double distance;
    int64_t count; /* of elements beyond the tolerance */
} worst;

static double
allowed(const run *r, const glow_type *t, double want)
{
    if (glow_is_int(t->elem) || t->elem == GLOW_BOOL)
        return 0;
    return r->values.atol + r->values.rtol * fabs(want);
}

static worst
compare(const run *r, const glow_tensor *got, const glow_tensor *want)
{
    worst w = {.excess = -INFINITY};

    for (int64_t i = 0; i < glow_type_count(got->type); i++) {
        double a = glow_get_real(got, i), b = glow_get_real(want, i);
        double distance = fabs(a - b);

        if (a == b || (isnan(a) && isnan(b)))
            distance = 0;
        else if (isnan(distance) || isinf(b))
            distance = INFINITY;

        double limit = isinf(b) ? 0 : allowed(r, got->type, b);
        double excess = distance - (isnan(limit) ? 0 : limit);

        w.count += excess > 0;
        if (excess <= w.excess)
            continue;
        w.index = i;
        w.got = a;
        w.want = b;
        w.excess = excess;
        w.distance = distance;
    }
    return w;
}

/* Appends the index of element `i` of `shape`: `[0, 2, 1]`. */
static void
put_index(glow_buf *b, glow_dims shape, int64_t i)
{
    glow_dims strides = glow_dims_strides(shape);

    glow_buf_putc(b, '[');
    for (int k = 0; k < shape.rank; k++)
        glow_buf_printf(b, "%s%" PRId64, k ? ", " : "",
                        i / strides.at[k] % shape.at[k]);
    glow_buf_putc(b, ']');
}

static void
put_worst(glow_buf *b, const run_port *p, const worst *w)
{
    if (glow_type_count(p->type) == 0) {
        glow_buf_puts(b, "it has no elements");
        return;
    }
    glow_buf_printf(b, "the worst of %" PRId64 " elements is ",
                    glow_type_count(p->type));
    put_index(b, p->type->shape, w->index);
    glow_buf_puts(b, ": ");
    glow_buf_double(b, w->got);
    glow_buf_puts(b, ", expected ");
    glow_buf_double(b, w->want);
    glow_buf_printf(b, ", %.3g apart", w->distance);
}

static int
expect(run *r, const run_port *p, const char *path)
{
    glow_tensor want;
    glow_buf b = {.arena = r->tool.arena};
    worst w;

    if (!npy_read(r->tool.ctx, path, p->type, &want))
        return TOOL_FAILED;
    w = compare(r, &p->tensor, &want);
    glow_tensor_end(&want);
    put_worst(&b, p, &w);
    if (w.count == 0) {
        if (!r->values.json)
            tool_print(stdout, "@%s is as expected: %s\n", p->storage->name,
                       b.text);
        return TOOL_GO_ON;
    }
    glow_error(r->tool.ctx, "E0505",
               "@%s is not as expected: %" PRId64
               " elements are further off than rtol %g and atol %g allow; %s",
               p->storage->name, w.count, r->values.rtol, r->values.atol,
               b.text);
    return TOOL_DIFFERS;
}

static int
compare_outputs(run *r)
{
    const tool_list *l = &r->values.expect;
    int code = TOOL_GO_ON;

    for (size_t i = 0; i < l->count; i++) {
        const char *path;
        const run_port *p = find_output(r, "expect", l->items[i], &path);
        int one = p ? expect(r, p, path) : TOOL_USAGE;

        if (one != TOOL_GO_ON && code != TOOL_FAILED && code != TOOL_USAGE)
            code = one;
    }
    return code;
}

/* Otherwise a few elements as text. */

static void
put_element(glow_buf *b, const glow_tensor *t, int64_t i)
{
    glow_kind k = t->type->elem;

    if (glow_is_float(k) && k != GLOW_FLOAT64)
        glow_buf_float(b, (float)glow_get_double(t, i));
    else if (k == GLOW_FLOAT64)
        glow_buf_double(b, glow_get_double(t, i));
    else
        glow_buf_printf(b, "%" PRId64, glow_get_int(t, i));
}

static void
print_output(const run_port *p)
{
    int64_t n = glow_type_count(p->type);
    glow_buf b = {0};

    glow_buf_printf(&b, "@%s : ", p->storage->name);
    glow_buf_type(&b, p->type);
    glow_buf_puts(&b, " = [");
    for (int64_t i = 0; i < n && i < SHOWN; i++) {
        glow_buf_puts(&b, i ? ", " : "");
        put_element(&b, &p->tensor, i);
    }
    glow_buf_puts(&b, n > SHOWN ? ", ...]\n" : "]\n");
    tool_put(stdout, b.text, b.len);
    glow_buf_free(&b);
}

int
finish_outputs(run *r)
{
    const run_values *v = &r->values;
    int code;

    cut_outputs(r);
    code =
        r->values.state && !r->values.in_flight ? write_state(r) : TOOL_GO_ON;
    if (code == TOOL_GO_ON)
        code = write_outputs(r);
    if (code == TOOL_GO_ON)
        code = compare_outputs(r);
    if (code != TOOL_GO_ON)
        return code;
    if (v->outputs.count || v->output_dir || v->expect.count || v->bench ||
        v->profile || v->trace || v->json || v->dump_profile)
        return TOOL_DONE;
    for (size_t i = 0; i < r->n_ports; i++)
        if (r->ports[i].is_written && !r->ports[i].is_kept)
            print_output(&r->ports[i]);
    return TOOL_DONE;
}
