/*
 * Partitions of drawn graphs: limits are kept, numbers are those of the definition, and
 * the bottleneck is the least of all assignments, which are tried one by one.
 */

#include <math.h>
#include <string.h>

#include "glow/partition.h"
#include "unit.h"

enum { MOST = 12, MOST_VALUES = 3 * MOST, DEVICES = 3, GRAPHS = 500 };

typedef struct net {
    glow_partition_problem p;
    glow_partition_task tasks[MOST];
    glow_partition_value values[MOST_VALUES];
    glow_partition_device devices[DEVICES];
    uint32_t reads[MOST][MOST_VALUES], uses[MOST][MOST];
    double seconds[MOST][DEVICES];
    int64_t constants[MOST];
} net;

static uint64_t
draw(uint64_t *x, uint64_t below)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (*x >> 11) % below;
}

static void
draw_task(net *d, uint32_t t, uint64_t *x)
{
    glow_partition_task *k = &d->tasks[t];
    bool free_of_all = true;

    *k = (glow_partition_task){.reads = d->reads[t],
                               .constants = d->uses[t],
                               .seconds = d->seconds[t]};
    for (uint32_t v = 0; v < d->p.n_values; v++)
        if (draw(x, d->p.n_values + 1) < 2)
            d->reads[t][k->n_reads++] = v;
    for (uint32_t c = 0; c < d->p.n_constants; c++)
        if (draw(x, 3) == 0)
            d->uses[t][k->n_constants++] = c;
    for (uint32_t i = 0; i < d->p.n_devices; i++) {
        d->seconds[t][i] = (double)(1 + draw(x, 20));
        if (draw(x, 8) == 0)
            d->seconds[t][i] = INFINITY;
        free_of_all &= d->seconds[t][i] == INFINITY;
    }
    if (free_of_all)
        d->seconds[t][0] = 3;
    for (uint64_t i = 1 + draw(x, 2); i > 0 && d->p.n_values < MOST_VALUES; i--)
        d->values[d->p.n_values++] =
            (glow_partition_value){(int64_t)draw(x, 9), t, draw(x, 6) == 0};
}

/* A graph of up to `most` tasks for `n_devices` devices, two of them often alike. */
static void
draw_net(net *d, uint32_t most, uint32_t n_devices, uint64_t *x)
{
    memset(d, 0, sizeof *d);
    d->p = (glow_partition_problem){.tasks = d->tasks,
                                    .n_tasks = 1 + (uint32_t)draw(x, most),
                                    .values = d->values,
                                    .constants = d->constants,
                                    .n_constants = (uint32_t)draw(x, 4),
                                    .devices = d->devices,
                                    .n_devices = n_devices};
    d->values[d->p.n_values++] =
        (glow_partition_value){4, GLOW_PARTITION_HOST, false};
    for (uint32_t c = 0; c < d->p.n_constants; c++)
        d->constants[c] = (int64_t)draw(x, 20);
    for (uint32_t i = 0; i < n_devices; i++)
        d->devices[i] = (glow_partition_device){
            .memory = draw(x, 2) ? INT64_MAX : 20 + (int64_t)draw(x, 80),
            .bytes_per_second = draw(x, 3) ? 1 + (double)draw(x, 4) : INFINITY,
            .seconds_per_transfer = (double)draw(x, 3),
            .kind = i,
        };
    for (uint32_t t = 0; t < d->p.n_tasks; t++)
        draw_task(d, t, x);
    if (n_devices > 1 && draw(x, 2)) {
        d->devices[1] = d->devices[0];
        for (uint32_t t = 0; t < d->p.n_tasks; t++)
            d->seconds[t][1] = d->seconds[t][0];
    }
}

/* The definitions of loads and memory, for one part on each device. */

static bool
is_on(const uint32_t *device, uint32_t definer, uint32_t d)
{
    return definer != GLOW_PARTITION_HOST && device[definer] == d;
}

static bool
reads(const glow_partition_task *k, uint32_t v)
{
    for (uint32_t i = 0; i < k->n_reads; i++)
        if (k->reads[i] == v)
            return true;
    return false;
}

/* Sets whether device `d` reads value `v`, and whether others or the host do. */
static void
readers(const net *n, const uint32_t *device, uint32_t d, uint32_t v,
        bool *here, bool *elsewhere)
{
    *here = false;
    *elsewhere = n->values[v].leaves;
    for (uint32_t t = 0; t < n->p.n_tasks; t++)
        if (reads(&n->tasks[t], v))
            *(device[t] == d ? here : elsewhere) = true;
}

static double
load_of(const net *n, const uint32_t *device, uint32_t d)
{
    const glow_partition_device *at = &n->devices[d];
    double sum = 0;

    for (uint32_t t = 0; t < n->p.n_tasks; t++)
        if (device[t] == d)
            sum += n->seconds[t][d];
    for (uint32_t v = 0; v < n->p.n_values; v++) {
        bool here, elsewhere, ours = is_on(device, n->values[v].definer, d);

        readers(n, device, d, v, &here, &elsewhere);
        if (at->bytes_per_second < INFINITY && (ours ? elsewhere : here))
            sum += at->seconds_per_transfer +
                   (double)n->values[v].bytes / at->bytes_per_second;
    }
    return sum;
}

/* True if the value is in the memory of the one part of `d` while task `t` runs. */
static bool
is_live(const net *n, const uint32_t *device, uint32_t d, uint32_t v,
        uint32_t t)
{
    bool here, elsewhere, ours = is_on(device, n->values[v].definer, d);

    readers(n, device, d, v, &here, &elsewhere);
    if (!ours)
        return here;
    if (elsewhere)
        return true;
    for (uint32_t u = t; u < n->p.n_tasks; u++)
        if (n->values[v].definer <= t &&
            (u == n->values[v].definer || reads(&n->tasks[u], v)))
            return true;
    return false;
}

static int64_t
memory_of(const net *n, const uint32_t *device, uint32_t d)
{
    int64_t constants = 0, peak = 0;

    for (uint32_t c = 0; c < n->p.n_constants; c++) {
        bool used = false;

        for (uint32_t t = 0; t < n->p.n_tasks; t++)
            for (uint32_t i = 0; i < n->tasks[t].n_constants; i++)
                used |= device[t] == d && n->uses[t][i] == c;
        constants += used ? n->constants[c] : 0;
    }
    for (uint32_t t = 0; t < n->p.n_tasks; t++) {
        int64_t sum = 0;

        for (uint32_t v = 0; v < n->p.n_values && device[t] == d; v++)
            sum += is_live(n, device, d, v, t) ? n->values[v].bytes : 0;
        peak = sum > peak ? sum : peak;
    }
    return constants + peak;
}

/* True if one part for each device can run: the graph of devices is acyclic. */
static bool
is_pipeline(const net *n, const uint32_t *device)
{
    bool before[DEVICES][DEVICES] = {{false}};

    for (uint32_t t = 0; t < n->p.n_tasks; t++)
        for (uint32_t i = 0; i < n->tasks[t].n_reads; i++) {
            uint32_t from = n->values[n->reads[t][i]].definer;

            if (from != GLOW_PARTITION_HOST && device[from] != device[t])
                before[device[from]][device[t]] = true;
        }
    for (uint32_t k = 0; k < DEVICES; k++)
        for (uint32_t i = 0; i < DEVICES; i++)
            for (uint32_t j = 0; j < DEVICES; j++)
                before[i][j] |= before[i][k] && before[k][j];
    for (uint32_t k = 0; k < DEVICES; k++)
        if (before[k][k])
            return false;
    return true;
}

static double
bottleneck_of(const net *n, const uint32_t *device)
{
    double most = 0;

    for (uint32_t d = 0; d < n->p.n_devices; d++)
        most = fmax(most, load_of(n, device, d));
    return most;
}

static bool
keeps_memory(const net *n, const uint32_t *device)
{
    for (uint32_t d = 0; d < n->p.n_devices; d++)
        if (memory_of(n, device, d) > n->devices[d].memory)
            return false;
    return true;
}

/* The least bottleneck of all assignments; INFINITY if there is none. */
static double
least(net *n, bool pipeline, glow_arena *a)
{
    uint32_t device[MOST] = {0};
    double best = INFINITY;
    uint32_t t;

    do {
        double b = bottleneck_of(n, device);

        if (b < best) {
            bool fits;

            if (pipeline) {
                fits = is_pipeline(n, device) && keeps_memory(n, device);
            } else { /* parts decide the memory */
                glow_partition trial = {.device = device};

                fits = glow_partition_measure(a, &n->p, &trial);
            }
            best = fits ? b : best;
        }
        for (t = 0; t < n->p.n_tasks && ++device[t] == n->p.n_devices; t++)
            device[t] = 0;
    } while (t < n->p.n_tasks);
    return best;
}

static bool
is_near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void
check_numbers(const net *n, const glow_partition *r, bool pipeline)
{
    for (uint32_t d = 0; d < n->p.n_devices; d++) {
        assert_true(is_near(r->load[d], load_of(n, r->device, d)));
        assert_true(r->memory[d] <= n->devices[d].memory);
        if (pipeline)
            assert_int_equal(r->memory[d], memory_of(n, r->device, d));
    }
    for (uint32_t t = 0; t < n->p.n_tasks; t++) {
        assert_true(n->seconds[t][r->device[t]] < INFINITY);
        for (uint32_t i = 0; i < n->tasks[t].n_reads; i++) {
            uint32_t from = n->values[n->reads[t][i]].definer;

            assert_true(from == GLOW_PARTITION_HOST ||
                        r->part[from] <= r->part[t]);
        }
        for (uint32_t u = 0; u < t; u++)
            assert_true(r->part[u] != r->part[t] ||
                        r->device[u] == r->device[t]);
    }
    if (pipeline)
        assert_true(is_pipeline(n, r->device));
}

static void
check_mode(net *n, glow_partition_mode mode)
{
    glow_arena *a = glow_arena_new();
    bool pipeline = mode == GLOW_PARTITION_PIPELINE;
    double want = least(n, pipeline, a);
    glow_partition r;
    bool ok = glow_partition_find(a, &n->p, mode, &r);

    assert_int_equal(ok, want < INFINITY);
    if (ok) {
        assert_true(r.proved);
        assert_true(is_near(r.bottleneck, want));
        check_numbers(n, &r, pipeline);
    }
    glow_arena_free(a);
}

static void
test_least(void **state)
{
    uint64_t x = 88172645463325252u;
    static net n;

    (void)state;
    for (int i = 0; i < GRAPHS; i++) {
        bool two = i % 2 == 0;

        draw_net(&n, two ? 10 : 6, two ? 2 : 3, &x);
        check_mode(&n, GLOW_PARTITION_PIPELINE);
        check_mode(&n, GLOW_PARTITION_BALANCE);
    }
    for (int i = 0; i < 20; i++) {
        draw_net(&n, MOST, 2, &x);
        check_mode(&n, GLOW_PARTITION_PIPELINE);
    }
}

static void
test_first_fit(void **state)
{
    uint64_t x = 11400714819323198485u;
    static net n;
    int found = 0;

    (void)state;
    for (int i = 0; i < GRAPHS; i++) {
        glow_arena *a = glow_arena_new();
        glow_partition r;

        draw_net(&n, MOST, 3, &x);
        n.p.most_parts = (uint32_t)draw(&x, 4);
        if (glow_partition_find(a, &n.p, GLOW_PARTITION_HETEROGENEOUS, &r)) {
            found++;
            check_numbers(&n, &r, false);
            assert_true(n.p.most_parts == 0 || r.n_parts <= n.p.most_parts);
        }
        glow_arena_free(a);
    }
    assert_true(found > GRAPHS / 4);
}

/* A chain of `n` tasks of one second, which pass on one byte, on devices of `kinds`. */
static void
check_chain(uint32_t n, uint32_t devices, uint32_t kinds, double want)
{
    glow_arena *a = glow_arena_new();
    glow_partition_task *tasks = GLOW_NEW_ARRAY(a, glow_partition_task, n);
    glow_partition_value *values =
        GLOW_NEW_ARRAY(a, glow_partition_value, n + 1);
    uint32_t *reads = GLOW_NEW_ARRAY(a, uint32_t, n);
    double *one = GLOW_NEW_ARRAY(a, double, devices);
    glow_partition_device *at =
        GLOW_NEW_ARRAY(a, glow_partition_device, devices);
    glow_partition r;

    values[0] = (glow_partition_value){1, GLOW_PARTITION_HOST, false};
    for (uint32_t d = 0; d < devices; d++) {
        at[d] = (glow_partition_device){INT64_MAX, INFINITY, 0, d % kinds};
        one[d] = 1;
    }
    for (uint32_t t = 0; t < n; t++) {
        reads[t] = t;
        values[t + 1] = (glow_partition_value){1, t, t + 1 == n};
        tasks[t] = (glow_partition_task){&reads[t], 1, NULL, 0, one};
    }
    assert_true(
        glow_partition_find(a,
                            &(glow_partition_problem){tasks, n, values, n + 1,
                                                      NULL, 0, at, devices, 0},
                            GLOW_PARTITION_PIPELINE, &r));
    assert_true(r.bottleneck == want);
    assert_true(r.n_parts <= devices);
    glow_arena_free(a);
}

static void
test_chains(void **state)
{
    (void)state;
    check_chain(12, 3, 1, 4);
    check_chain(500, 4, 1, 125);
    check_chain(2000, 64, 1, 32); /* cuts are chosen */
    check_chain(24, 13, 13, 2);   /* kinds are left out */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_first_fit),
        cmocka_unit_test(test_chains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
