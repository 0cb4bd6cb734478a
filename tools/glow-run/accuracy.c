/*
 * -accuracy: what -convert loses.  The function runs once as it is, on the same
 * inputs, and each output is held against that: the largest difference, the root
 * of the mean square of all, that of the numbers themselves, and for rows of scores
 * how often the largest is at the same place.
 */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "tools/glow-run/run.h"

/* Running as it is. */

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

/* Rows of scores: an axis of batches, and one of two classes or more. */
static void
print_agreement(const run_port *p)
{
    glow_dims shape = p->type->shape;
    int64_t columns = shape.rank == 2 ? shape.at[1] : 0, same = 0;

    if (columns < 2 || shape.at[0] < 1)
        return;
    for (int64_t i = 0; i < shape.at[0]; i++)
        same += place_of_largest(&p->tensor, i * columns, columns) ==
                place_of_largest(&p->wide, i * columns, columns);
    printf(", the largest at the same place in %" PRId64 " of %" PRId64 " rows",
           same, shape.at[0]);
}

void
print_accuracy(run *r)
{
    for (size_t i = 0; i < r->n_ports; i++) {
        const run_port *p = &r->ports[i];
        double size;
        loss l;

        if (!p->is_written || !glow_is_float(p->type->elem) ||
            glow_type_count(p->type) == 0)
            continue;
        l = measure(&p->tensor, &p->wide);
        size = sqrt(l.of / (double)l.count);
        printf("@%s: off by %.3g at most and %.3g in the mean, of numbers of "
               "%.3g in the mean",
               p->storage->name, l.most, sqrt(l.square / (double)l.count),
               size);
        print_agreement(p);
        if (l.odd)
            printf("; %" PRId64 " of %" PRId64 " no longer finite", l.odd,
                   l.count);
        putchar('\n');
    }
}
