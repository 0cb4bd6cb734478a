/*
 * -accuracy: the errors of -convert.  The unconverted function runs once on the
 * same inputs, and each output is compared: the largest difference, the root
 * mean square of the differences and of the numbers, and for rows of scores the
 * fraction with the same ArgMax (top-1 agreement).
 */

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "tools/glow-run/run.h"

/* The unconverted run. */

static void
keep(run *r, run *as_it_is)
{
    for (size_t i = 0; i < r->n_ports; i++)
        r->ports[i].wide = as_it_is->ports[i].tensor;
}

/* The ports of another reading of the module, with copies of the inputs. */
static bool
copy_ports(const run *r, run *to)
{
    glow_arena *a = r->tool.arena;

    to->ports = GLOW_NEW_ARRAY(a, run_port, r->n_ports);
    to->bindings = GLOW_NEW_ARRAY(a, glow_binding, r->n_ports);
    for (size_t i = 0; i < r->n_ports; i++) {
        run_port *p = &to->ports[i];

        *p = r->ports[i];
        p->storage = glow_find_storage(to->module, p->storage->name);
        if (!p->storage)
            return false;
        p->tensor = glow_tensor_new(p->type);
        glow_tensor_copy(&p->tensor, &r->ports[i].tensor);
        to->bindings[i] = (glow_binding){p->storage, &p->tensor};
    }
    return true;
}

int
run_unconverted(run *r)
{
    run other = *r;
    int code;

    other.values.convert = NULL;
    other.values.red_zones = false;
    other.network = (glow_network){0};
    other.module = NULL;
    code = find_backend(&other);
    if (code == TOOL_GO_ON)
        code = read_module(&other);
    if (code == TOOL_GO_ON) {
        other.func = glow_find_func(other.module, r->func->name);
        if (!copy_ports(r, &other))
            code = TOOL_FAILED;
    }
    if (code == TOOL_GO_ON) {
        keep(r, &other);
        code = compile(&other);
    }
    if (code == TOOL_GO_ON &&
        !other.backend->run(other.network.executable, other.bindings,
                            (int)other.n_ports))
        code = TOOL_FAILED;
    glow_network_unload(&other.network);
    if (other.module)
        glow_module_free(other.module);
    return code;
}

/* Comparing. */

typedef struct loss {
    double most, square, of; /* difference; sums of squares: of it, of all */
    int64_t count, odd;      /* numbers; of those, not finite but should be */
} loss;

static loss
measure(const glow_tensor *got, const glow_tensor *want)
{
    loss l = {.count = glow_type_count(want->type)};

    for (int64_t i = 0; i < l.count; i++) {
        double x = glow_get_real(want, i), y = glow_get_real(got, i);
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

static int64_t
place_of_largest(const glow_tensor *t, int64_t first, int64_t count)
{
    int64_t best = 0;

    for (int64_t i = 1; i < count; i++)
        if (glow_get_real(t, first + i) > glow_get_real(t, first + best))
            best = i;
    return best;
}

/*
 * The number of rows of scores, with an axis of batches and one of two classes
 * or more; sets *same to the number of rows with the same ArgMax.
 */
static int64_t
count_rows(const run_port *p, int64_t *same)
{
    glow_dims shape = p->type->shape;
    int64_t columns = shape.rank == 2 ? shape.at[1] : 0;

    *same = 0;
    if (columns < 2)
        return 0;
    for (int64_t i = 0; i < shape.at[0]; i++)
        *same += place_of_largest(&p->tensor, i * columns, columns) ==
                 place_of_largest(&p->wide, i * columns, columns);
    return shape.at[0];
}

/* The root mean square from a sum of squares. */
static double
mean(const loss *l, double sum)
{
    return sqrt(sum / (double)l->count);
}

static void
print_words(const run_port *p, const loss *l)
{
    int64_t same, rows = count_rows(p, &same);

    tool_print(stdout,
               "@%s: off by %.3g at most and %.3g in the mean, of numbers of "
               "%.3g in the mean",
               p->storage->name, l->most, mean(l, l->square), mean(l, l->of));
    if (rows)
        printf(", the largest at the same place in %" PRId64 " of %" PRId64
               " rows",
               same, rows);
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
object_of(const run_port *p, const loss *l)
{
    int64_t same, rows = count_rows(p, &same);
    json_t *o =
        json_pack("{s:s, s:I, s:o, s:o, s:o, s:I}", "output", p->storage->name,
                  "count", (json_int_t)l->count, "most", real(l->most), "mean",
                  real(mean(l, l->square)), "mean_of_numbers",
                  real(mean(l, l->of)), "no_longer_finite", (json_int_t)l->odd);

    if (rows) {
        json_object_set_new(o, "rows", json_integer(rows));
        json_object_set_new(o, "rows_same", json_integer(same));
    }
    return o;
}

void
print_accuracy(run *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_ports; i++) {
        const run_port *p = &r->ports[i];
        loss l;

        if (!p->is_written || !glow_is_float(p->type->elem) ||
            glow_type_count(p->type) == 0)
            continue;
        l = measure(&p->tensor, &p->wide);
        if (r->values.json)
            json_array_append_new(list, object_of(p, &l));
        else
            print_words(p, &l);
    }
    if (r->values.json) {
        json_dumpf(list, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        putchar('\n');
    }
    json_decref(list);
}
