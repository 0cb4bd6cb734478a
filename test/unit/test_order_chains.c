/*
 * Stretches made chains: the least peak stays, found by trying every set of
 * tasks that can have run before and after, and orders of what is left are
 * orders of all, with the same peak.
 */

#include <string.h>

#include "irgen/schedule/searches.h"
#include "unit.h"

enum { MOST = 13, MOST_LISTED = MOST };

typedef struct drawing {
    glow_order_problem p;
    glow_order_task tasks[MOST];
    glow_order_buffer buffers[2 * MOST];
    uint32_t before[MOST][MOST_LISTED], touches[MOST][MOST_LISTED + 1];
    glow_order_alias aliases[MOST][MOST_LISTED];
    uint64_t x;
} drawing;

static uint32_t
draw(drawing *d, uint32_t below)
{
    d->x ^= d->x << 13;
    d->x ^= d->x >> 7;
    d->x ^= d->x << 17;
    return (uint32_t)((d->x >> 11) % below);
}

/* A task that reads what `n` others make, perhaps with scratch, in place, or
 * without a result. */
static uint32_t
add(drawing *d, uint32_t n, const uint32_t *reads)
{
    uint32_t i = d->p.n_tasks++;
    glow_order_task *t = &d->tasks[i];

    *t = (glow_order_task){.before = d->before[i],
                           .touches = d->touches[i],
                           .aliases = d->aliases[i],
                           .extra = draw(d, 5) ? 0 : draw(d, 9)};
    for (uint32_t k = 0; k < n; k++) {
        d->before[i][t->n_before++] = reads[k];
        if (draw(d, 12) == 0)
            continue;
        d->aliases[i][t->n_aliases++] = (glow_order_alias){i, reads[k]};
        d->touches[i][t->n_touches++] = reads[k];
    }
    if (draw(d, 3))
        t->n_aliases = 0;
    d->touches[i][t->n_touches++] = i;
    d->buffers[i] = (glow_order_buffer){.bytes = draw(d, 8) ? draw(d, 10) : 0,
                                        .stays = draw(d, 16) == 0};
    d->p.n_buffers = d->p.n_tasks;
    return i;
}

/* `n` tasks between `from` and who reads the ends: in series, or beside each
 * other. */
static uint32_t
add_between(drawing *d, uint32_t n, uint32_t from, uint32_t *ends)
{
    uint32_t some = n > 1 ? 1 + draw(d, n - 1) : 0, count;

    if (n == 1) {
        ends[0] = add(d, 1, &from);
        return 1;
    }
    count = add_between(d, some, from, ends);
    if (draw(d, 2))
        return count + add_between(d, n - some, from, ends + count);
    ends[0] = from = add(d, count, ends);
    return n - some == 1 ? 1 : add_between(d, n - some - 1, from, ends);
}

/* Series-parallel, a tree to the end or from the beginning, or wired at random;
 * some then write into what another has begun. */
static void
draw_net(drawing *d, uint32_t n, int kind)
{
    uint32_t ends[MOST], open[MOST], n_open = 0, count;

    d->p = (glow_order_problem){d->tasks, 0, d->buffers, 0};
    if (kind == 0) {
        count = add_between(d, n - 2, add(d, 0, NULL), ends);
        add(d, count, ends);
    }
    while (kind == 1 && d->p.n_tasks < n) {
        count = draw(d, 4);
        count = count < n_open ? count : n_open;
        n_open -= count;
        open[n_open] = add(d, count, open + n_open);
        n_open++;
    }
    while (kind == 2 && d->p.n_tasks < n) {
        uint32_t from = d->p.n_tasks ? draw(d, d->p.n_tasks) : 0;

        add(d, d->p.n_tasks > 0, &from);
    }
    while (kind == 3 && d->p.n_tasks < n) {
        uint32_t i = d->p.n_tasks, near = i < 3 ? i : 3;

        count = 0;
        for (uint32_t k = 1; k <= near; k++)
            if (draw(d, 2))
                ends[count++] = i - k;
        add(d, count, ends);
    }
    if (draw(d, 4) == 0) {
        uint32_t i = draw(d, n), b = draw(d, i + 1), seen = 0;
        glow_order_task *t = &d->tasks[i];

        for (uint32_t k = 0; k < t->n_touches; k++)
            seen |= t->touches[k] == b;
        if (!seen)
            d->touches[i][t->n_touches++] = b;
    }
}

/* The least peak from where the walk is, its tasks being `set`, to the end. */
static int64_t
least_from(glow_order_walk *w, uint32_t set, int64_t *known)
{
    int64_t least = INT64_MAX;
    uint32_t ready[MOST], n = w->n_ready;

    if (n == 0)
        return 0;
    if (known[set] >= 0)
        return known[set];
    memcpy(ready, w->ready, n * sizeof *ready);
    for (uint32_t k = 0; k < n; k++) {
        int64_t need = w->live + glow_order_try(w, ready[k]).during, rest;

        glow_order_do(w, ready[k]);
        rest = least_from(w, set | (uint32_t)1 << ready[k], known);
        glow_order_undo(w, ready[k]);
        need = rest > need ? rest : need;
        least = need < least ? need : least;
    }
    return known[set] = least;
}

static int64_t
least_peak(glow_arena *a, const glow_order_net *net)
{
    static int64_t known[1 << MOST];

    memset(known, 0xff, sizeof *known << net->n_tasks);
    return least_from(glow_order_walk_new(a, net), 0, known);
}

static void
least_peaks_stay(void **unused)
{
    enum { ROUNDS = 6000 };
    static drawing d;
    glow_arena *a = glow_arena_new();
    int shorter[4] = {0}, single = 0;

    (void)unused;
    d.x = 88172645463325252u;
    for (int round = 0; round < ROUNDS; round++) {
        draw_net(&d, round % 20 == 0 ? MOST : 4 + draw(&d, MOST - 6),
                 round % 4);

        glow_order_net *net = glow_order_net_given(a, &d.p);
        int64_t steps = 1000000;
        glow_order_contraction *c = net->has_uneven_aliases
                                        ? NULL
                                        : glow_order_contract(a, net, &steps);
        uint32_t tasks[MOST], n = 0;
        glow_order_use use;

        if (!c) {
            glow_arena_reset(a);
            continue;
        }
        shorter[round % 4]++;
        single += c->net->n_tasks <= 3;
        assert_true(c->net->n_tasks < net->n_tasks);
        assert_int_equal(least_peak(a, net), least_peak(a, c->net));
        for (uint32_t k = 0; k < c->net->n_tasks; k++)
            GLOW_ORDER_EACH(task, c->tasks, c->net->given[k])
                tasks[n++] = *task;
        assert_int_equal(n, d.p.n_tasks);
        assert_true(glow_order_measure(a, &d.p, tasks, &use));
        assert_int_equal(use.peak,
                         glow_order_run(glow_order_walk_new(a, c->net),
                                        c->net->given, c->net->n_tasks)
                             .peak);
        glow_arena_reset(a);
    }
    print_message("# shorter: %d %d %d %d; to three tasks or fewer: %d\n",
                  shorter[0], shorter[1], shorter[2], shorter[3], single);
    for (int kind = 0; kind < 4; kind++)
        assert_true(shorter[kind] > ROUNDS / 40);
    glow_arena_free(a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_peaks_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
