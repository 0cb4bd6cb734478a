/*
 * -accuracy: the errors of -quantize and -convert.  The unconverted function, or the one
 * of -reference, runs on the same inputs, and each output is compared over all runs: the
 * largest difference, the root mean square of the differences and of the numbers, their
 * ratio in dB (SQNR), and for rows of scores the fraction with the same ArgMax (top-1
 * agreement).
 */

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/glow-run/run.h"

/* The runs. */

bool
is_judged(const run_port *p)
{
    return p->is_written && glow_is_float(p->type->elem) &&
           glow_type_count(p->type) > 0;
}

/* Elements of `p` in all runs, in a row; NULL after a report. */
static const glow_type *
type_of_all(run *r, const run_port *p)
{
    int64_t count = glow_type_count(p->type);
    glow_type t = {.elem = p->type->elem, .shape = {.rank = 1}};

    if (count > INT64_MAX / 8 / r->runs) {
        tool_usage(&r->tool, NULL,
                   "%" PRId64 " runs of @%s, of %" PRId64
                   " elements each, are too many",
                   r->runs, p->storage->name, count);
        return NULL;
    }
    t.shape.at[0] = count * r->runs;
    return glow_type_get(r->tool.ctx, t);
}

/* Binds the ports to the placeholders of `m`, which have the same names and types. */
static glow_binding *
bindings_of(run *r, const glow_module *m)
{
    glow_binding *b = GLOW_NEW_ARRAY(r->tool.arena, glow_binding, r->n_ports);

    for (size_t i = 0; i < r->n_ports; i++) {
        run_port *p = &r->ports[i];
        const glow_storage *s = glow_find_storage(m, p->storage->name);
        glow_type t = s ? *s->value.type : *p->type;

        t.strides.rank = 0;
        if (!s || s->is_constant || glow_type_get(r->tool.ctx, t) != p->type) {
            glow_error(
                r->tool.ctx, "E0502", "-reference has no placeholder @%s : %s",
                p->storage->name, glow_type_text(r->tool.arena, p->type));
            return NULL;
        }
        b[i] = (glow_binding){s, &p->tensor};
    }
    return b;
}

int
run_judged(run *r, const glow_network *n, const glow_module *m)
{
    glow_binding *bindings = bindings_of(r, m);

    if (!bindings)
        return TOOL_FAILED;
    for (size_t i = 0; i < r->n_ports; i++) {
        run_port *p = &r->ports[i];
        const glow_type *t = is_judged(p) ? type_of_all(r, p) : NULL;

        if (is_judged(p) && !t)
            return TOOL_USAGE;
        if (t && !p->got.data)
            p->got = glow_tensor_new(t);
    }
    for (int64_t k = 0; k < r->runs; k++) {
        begin_run(r, k);
        if (!n->backend->run(n->executable, bindings, (int)r->n_ports))
            return TOOL_FAILED;
        for (size_t i = 0; i < r->n_ports; i++) {
            const run_port *p = &r->ports[i];
            size_t bytes = (size_t)glow_type_bytes(p->type);

            if (is_judged(p))
                memcpy((char *)p->got.data + (size_t)k * bytes, p->tensor.data,
                       bytes);
        }
    }
    return TOOL_GO_ON;
}

/* The reference. */

/* Reads the file of -reference, or copies the module. */
static int
open_reference(run *other)
{
    run_values *v = &other->values;

    v->convert = v->quantize = NULL;
    v->load_profile.count = 0;
    v->red_zones = false;
    other->network = (glow_network){0};
    if (!v->reference) {
        other->module = glow_module_clone(other->module);
        return TOOL_GO_ON;
    }
    other->module = NULL;
    other->source = glow_source_read(other->tool.ctx, v->reference);
    return other->source ? read_module(other) : TOOL_FAILED;
}

static int
run_other(run *other)
{
    int code = find_backend(other);

    if (code != TOOL_GO_ON)
        return code;
    other->func = glow_find_func(other->module, other->func->name);
    if (!other->func) {
        glow_error(other->tool.ctx, "E0504", "-reference has no such function");
        return TOOL_FAILED;
    }
    code = compile(other);
    if (code == TOOL_GO_ON)
        code = run_judged(other, &other->network, other->module);
    return code;
}

int
run_reference(run *r)
{
    run other = *r;
    int code = open_reference(&other);

    if (code == TOOL_GO_ON)
        code = run_other(&other);
    for (size_t i = 0; i < r->n_ports; i++) {
        r->ports[i].want = r->ports[i].got;
        r->ports[i].got = (glow_tensor){0};
    }
    glow_network_unload(&other.network);
    if (other.module)
        glow_module_free(other.module);
    return code == TOOL_GO_ON && r->values.expect_class ? read_labels(r) : code;
}

/* Comparing. */

run_loss
loss_of(const run_port *p)
{
    run_loss l = {.count = glow_type_count(p->want.type)};

    for (int64_t i = 0; i < l.count; i++) {
        double x = glow_get_real(&p->want, i), y = glow_get_real(&p->got, i);
        double d = fabs(x - y);

        if (x == y || (isnan(x) && isnan(y)))
            d = 0;
        if (isfinite(x))
            l.of += x * x;
        if (!isfinite(d)) {
            l.odd++;
            continue;
        }
        l.most = fmax(l.most, d);
        l.square += d * d;
    }
    return l;
}

double
decibels(const run_loss *l)
{
    if (l->odd)
        return -INFINITY;
    return l->square > 0 ? 10 * log10(l->of / l->square) : INFINITY;
}

static int64_t
place_of_largest(const glow_tensor *t, int64_t first, int64_t count)
{
    int64_t best = 0;

    for (int64_t i = 1; i < count; i++)
        if (glow_get_real(t, first + i) > glow_get_real(t, first + best))
            best = i;
    return best;
}

/* Counts of rows of scores. */
typedef struct row_counts {
    int64_t rows, same;        /* of all runs; with the same ArgMax */
    bool labelled;             /* by -expect-class */
    int64_t right, were_right; /* as expected: now, and of the reference */
} row_counts;

/* Scores of a row: axes of size 1 behind the second do not count. */
static int64_t
columns_of(const run_port *p)
{
    glow_dims shape = p->type->shape;

    for (int i = 2; i < shape.rank; i++)
        if (shape.at[i] != 1)
            return 0;
    return shape.rank >= 2 && shape.at[1] >= 2 ? shape.at[1] : 0;
}

int64_t
rows_of(const run *r, const run_port *p)
{
    int64_t columns = is_judged(p) ? columns_of(p) : 0;

    return columns ? glow_type_count(p->type) / columns * r->runs : 0;
}

static row_counts
count_rows(const run *r, const run_port *p)
{
    int64_t columns = columns_of(p);
    row_counts c = {0};

    if (columns == 0)
        return c;
    c.rows = rows_of(r, p);
    c.labelled = r->labels && (size_t)c.rows == r->n_labels;
    for (int64_t i = 0; i < c.rows; i++) {
        int64_t got = place_of_largest(&p->got, i * columns, columns);
        int64_t want = place_of_largest(&p->want, i * columns, columns);

        c.same += got == want;
        c.right += c.labelled && got == r->labels[i];
        c.were_right += c.labelled && want == r->labels[i];
    }
    return c;
}

/* The root mean square from a sum of squares. */
static double
mean(const run_loss *l, double sum)
{
    return sqrt(sum / (double)l->count);
}

static void
print_words(const run *r, const run_port *p, const run_loss *l)
{
    row_counts c = count_rows(r, p);

    tool_print(stdout,
               "@%s: off by %.3g at most and %.3g in the mean, of numbers of "
               "%.3g in the mean",
               p->storage->name, l->most, mean(l, l->square), mean(l, l->of));
    if (isfinite(decibels(l)))
        printf(", %.1f dB", decibels(l));
    if (c.rows)
        printf(", the largest at the same place in %" PRId64 " of %" PRId64
               " rows",
               c.same, c.rows);
    if (c.labelled)
        printf(", as expected in %" PRId64 ", before in %" PRId64, c.right,
               c.were_right);
    if (l->odd)
        printf("; %" PRId64 " of %" PRId64 " no longer finite", l->odd,
               l->count);
    putchar('\n');
}

/* A number in JSON, which has no infinity: sums of squares may overflow. */
static json_t *
real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *
object_of(const run *r, const run_port *p, const run_loss *l)
{
    row_counts c = count_rows(r, p);
    json_t *o = json_pack(
        "{s:s, s:I, s:o, s:o, s:o, s:o, s:I}", "output", p->storage->name,
        "count", (json_int_t)l->count, "most", real(l->most), "mean",
        real(mean(l, l->square)), "mean_of_numbers", real(mean(l, l->of)),
        "sqnr_db", real(decibels(l)), "no_longer_finite", (json_int_t)l->odd);

    if (c.rows) {
        json_object_set_new(o, "rows", json_integer(c.rows));
        json_object_set_new(o, "rows_same", json_integer(c.same));
    }
    if (c.labelled) {
        json_object_set_new(o, "rows_right", json_integer(c.right));
        json_object_set_new(o, "rows_right_before", json_integer(c.were_right));
    }
    return o;
}

void
print_accuracy(run *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_ports; i++) {
        const run_port *p = &r->ports[i];
        run_loss l;

        if (!is_judged(p))
            continue;
        l = loss_of(p);
        if (r->values.json)
            json_array_append_new(list, object_of(r, p, &l));
        else
            print_words(r, p, &l);
    }
    if (r->values.json) {
        json_dumpf(list, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        putchar('\n');
    }
    json_decref(list);
}
