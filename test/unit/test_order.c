/*
 * Orders of tasks: each is one, costs what it says, and none beats the least,
 * which is found by trying every set of tasks that can have run.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/order.h"
#include "unit.h"

enum { MOST = 14, MOST_LISTED = 8 };

typedef struct net {
    glow_order_problem p;
    glow_order_task tasks[MOST];
    glow_order_buffer buffers[2 * MOST];
    uint32_t before[MOST][MOST_LISTED], touches[MOST][MOST_LISTED];
    glow_order_alias aliases[MOST][MOST_LISTED];
} net;

static uint64_t
draw(uint64_t *x, uint64_t below)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (*x >> 11) % below;
}

static bool
has(const uint32_t *list, uint32_t n, uint32_t item)
{
    for (uint32_t k = 0; k < n; k++)
        if (list[k] == item)
            return true;
    return false;
}

static void
add(uint32_t *list, uint32_t *n, uint32_t item)
{
    if (*n < MOST_LISTED && !has(list, *n, item))
        list[(*n)++] = item;
}

/* Gives task `i` aliases of buffers that it touches. */
static void
draw_aliases(net *d, uint32_t i, uint64_t *x)
{
    glow_order_task *t = &d->tasks[i];

    while (t->n_touches > 1 && t->n_aliases < 3 && draw(x, 2)) {
        uint32_t made = d->touches[i][draw(x, t->n_touches)];
        uint32_t over = d->touches[i][draw(x, t->n_touches)];

        d->aliases[i][t->n_aliases++] = (glow_order_alias){made, over};
    }
}

/*
 * Each task makes a buffer of up to `most` bytes, reads those of earlier ones,
 * near or far, and now and then writes into one that another has begun, waits
 * for more, or needs scratch.
 */
static void
draw_net(net *d, uint32_t n, int64_t most, bool plain, uint64_t *x)
{
    uint32_t near = 2 + (uint32_t)draw(x, 6);

    *d = (net){.p = {d->tasks, n, d->buffers, n}};
    for (uint32_t i = 0; i < n; i++) {
        glow_order_task *t = &d->tasks[i];
        uint32_t reads = (uint32_t)draw(x, 4);

        *t = (glow_order_task){.before = d->before[i],
                               .touches = d->touches[i],
                               .aliases = d->aliases[i]};
        d->buffers[i].bytes = (int64_t)draw(x, (uint64_t)most + 1);
        d->buffers[i].stays = draw(x, 9) == 0;
        add(d->touches[i], &t->n_touches, i);
        for (uint32_t k = 0; k < reads && i > 0; k++) {
            uint32_t from = i - 1 - (uint32_t)draw(x, i < near ? i : near);

            add(d->before[i], &t->n_before, from);
            add(d->touches[i], &t->n_touches, from);
        }
        if (!plain && i > 0 && draw(x, 4) == 0)
            add(d->touches[i], &t->n_touches, (uint32_t)draw(x, i));
        if (!plain && i > 0 && draw(x, 6) == 0)
            add(d->before[i], &t->n_before, (uint32_t)draw(x, i));
        if (!plain && draw(x, 4) == 0)
            t->extra = (int64_t)draw(x, (uint64_t)most + 1);
        if (draw(x, 2))
            draw_aliases(d, i, x);
    }
}

/* The oracle: bytes alive and needed, from the definition. */

static bool
is_alive(const net *d, uint32_t set, uint32_t b)
{
    uint32_t in = 0, all = 0;

    for (uint32_t i = 0; i < d->p.n_tasks; i++)
        if (has(d->touches[i], d->tasks[i].n_touches, b)) {
            all++;
            in += set >> i & 1;
        }
    return in > 0 && (in < all || d->buffers[b].stays);
}

static int64_t
alive(const net *d, uint32_t set)
{
    int64_t sum = 0;

    for (uint32_t b = 0; b < d->p.n_buffers; b++)
        sum += is_alive(d, set, b) ? d->buffers[b].bytes : 0;
    return sum;
}

/* True if tasks of `set` touch `b`, or, with `all`, all tasks that do. */
static bool
touched(const net *d, uint32_t set, uint32_t b, bool all)
{
    for (uint32_t i = 0; i < d->p.n_tasks; i++)
        if (has(d->touches[i], d->tasks[i].n_touches, b) &&
            (set >> i & 1) != all)
            return !all;
    return all;
}

/* Bytes alive while `i` runs after `set`. */
static int64_t
needed(const net *d, uint32_t set, uint32_t i)
{
    const glow_order_task *t = &d->tasks[i];
    int64_t sum = alive(d, set) + t->extra;
    uint64_t used = 0;

    for (uint32_t k = 0; k < t->n_touches; k++)
        if (!touched(d, set, t->touches[k], false))
            sum += d->buffers[t->touches[k]].bytes;
    for (uint32_t k = 0; k < t->n_aliases; k++) {
        glow_order_alias al = t->aliases[k];
        uint64_t both = (uint64_t)1 << al.made | (uint64_t)1 << al.over;
        int64_t bytes = d->buffers[al.made].bytes;

        if (al.made == al.over || (used & both) || bytes == 0 ||
            bytes > d->buffers[al.over].bytes || d->buffers[al.over].stays ||
            touched(d, set, al.made, false) ||
            !touched(d, set, al.over, false) ||
            !touched(d, set | (uint32_t)1 << i, al.over, true))
            continue;
        used |= both;
        sum -= bytes;
    }
    return sum;
}

static bool
can_run(const net *d, uint32_t set, uint32_t i)
{
    if (set >> i & 1)
        return false;
    for (uint32_t k = 0; k < d->tasks[i].n_before; k++)
        if (!(set >> d->before[i][k] & 1))
            return false;
    return true;
}

/* The least peak, by the least one of each set that can have run. */
static int64_t
least_peak(const net *d)
{
    static int64_t peak[1 << MOST];
    uint32_t n = d->p.n_tasks, full = ((uint32_t)1 << n) - 1;

    memset(peak, -1, sizeof peak);
    peak[0] = 0;
    for (uint32_t set = 0; set < full; set++)
        for (uint32_t i = 0; i < n && peak[set] >= 0; i++) {
            int64_t *to = &peak[set | (uint32_t)1 << i];
            int64_t most = peak[set];

            if (!can_run(d, set, i))
                continue;
            if (needed(d, set, i) > most)
                most = needed(d, set, i);
            if (*to < 0 || most < *to)
                *to = most;
        }
    return peak[full];
}

/* The order is one, and costs what it says. */
static void
must_be_right(const net *d, const glow_order *o)
{
    uint32_t set = 0;
    int64_t peak = 0, area = 0;

    for (uint32_t k = 0; k < d->p.n_tasks; k++) {
        uint32_t i = o->tasks[k];

        assert_true(i < d->p.n_tasks && can_run(d, set, i));
        if (needed(d, set, i) > peak)
            peak = needed(d, set, i);
        set |= (uint32_t)1 << i;
        area += alive(d, set);
    }
    assert_int_equal(peak, o->peak);
    assert_int_equal(area, o->area);
}

/* The live set at the peak adds up to it. */
static void
must_measure(glow_arena *a, const net *d, const glow_order *o)
{
    glow_order_use use;
    int64_t sum = 0;

    assert_true(glow_order_measure(a, &d->p, o->tasks, &use));
    assert_int_equal(use.peak, o->peak);
    assert_int_equal(use.area, o->area);
    for (uint32_t k = 0; k < use.n_live; k++) {
        assert_true(k == 0 || use.live[k - 1] < use.live[k]);
        sum += d->buffers[use.live[k]].bytes;
    }
    if (d->p.n_tasks > 0) {
        sum += d->tasks[o->tasks[use.at]].extra;
        assert_int_equal(sum, use.peak);
        assert_int_equal(use.during[use.at], use.peak);
    }
}

static void
random_problems(void **unused)
{
    static net d;
    glow_arena *a = glow_arena_new();
    uint64_t x = 88172645463325252u;

    (void)unused;
    for (int round = 0; round < 3000; round++) {
        uint32_t n = 2 + (uint32_t)draw(&x, round % 10 == 0 ? MOST - 1 : 8);

        draw_net(&d, n, round & 1 ? 3 : 40, round & 2, &x);

        int64_t least = least_peak(&d);
        glow_order best, o;

        assert_true(
            glow_order_find(a, &d.p, GLOW_ORDER_EXACT, INT64_MAX, &best));
        must_be_right(&d, &best);
        must_measure(a, &d, &best);
        assert_int_equal(best.peak, least);
        assert_int_equal(best.bound, least);
        assert_true(best.proved);
        for (int s = 0; glow_order_strategies[s]; s++) {
            assert_true(glow_order_find(a, &d.p, (glow_order_strategy)s,
                                        (int64_t)draw(&x, 600), &o));
            must_be_right(&d, &o);
            assert_true(o.peak >= least && o.bound <= least);
            assert_int_equal(o.proved, o.peak == o.bound);
        }
        glow_arena_reset(a);
    }
    glow_arena_free(a);
}

/* A ring, names of nothing, negative numbers, and sums above 2^63 - 1. */
static void
wrong_problems_are_refused(void **unused)
{
    glow_arena *a = glow_arena_new();
    uint32_t zero = 0, one = 1, two = 2;
    uint32_t both[] = {0, 1};
    glow_order_alias stranger = {0, 1};
    glow_order_task tasks[2] = {{.touches = both, .n_touches = 2},
                                {.before = &zero, .n_before = 1}};
    glow_order_buffer buffers[2] = {{.bytes = INT64_MAX - 8}, {.bytes = 8}};
    glow_order_problem p = {tasks, 2, buffers, 2};
    glow_order o = {.peak = 7};
    glow_order_task right = tasks[0];

    (void)unused;
    assert_true(glow_order_find(a, &p, GLOW_ORDER_AUTO, 100, &o));
    assert_int_equal(o.peak, INT64_MAX);
    o.peak = 7;
    buffers[1].bytes = 9;
    assert_false(glow_order_find(a, &p, GLOW_ORDER_AUTO, 100, &o));
    buffers[1].bytes = -1;
    assert_false(glow_order_find(a, &p, GLOW_ORDER_AUTO, 100, &o));
    buffers[1].bytes = 8;
    tasks[1].extra = 1;
    assert_false(glow_order_find(a, &p, GLOW_ORDER_AUTO, 100, &o));
    tasks[1].extra = -1;
    assert_false(glow_order_find(a, &p, GLOW_ORDER_AUTO, 100, &o));
    tasks[1].extra = 0;
    tasks[0].before = &one;
    tasks[0].n_before = 1;
    assert_false(glow_order_find(a, &p, GLOW_ORDER_AUTO, 100, &o));
    tasks[0].before = &two;
    assert_false(glow_order_find(a, &p, GLOW_ORDER_AUTO, 100, &o));
    tasks[0] = right;
    tasks[0].touches = &two;
    tasks[0].n_touches = 1;
    assert_false(glow_order_find(a, &p, GLOW_ORDER_AUTO, 100, &o));
    tasks[0] = right;
    tasks[1].aliases = &stranger;
    tasks[1].n_aliases = 1;
    assert_false(glow_order_find(a, &p, GLOW_ORDER_AUTO, 100, &o));
    assert_int_equal(o.peak, 7);
    glow_arena_free(a);
}

static void
only_orders_are_measured(void **unused)
{
    glow_arena *a = glow_arena_new();
    uint32_t zero = 0;
    glow_order_task tasks[2] = {{.touches = &zero, .n_touches = 1},
                                {.before = &zero, .n_before = 1}};
    glow_order_buffer buffer = {.bytes = 5};
    glow_order_problem p = {tasks, 2, &buffer, 1}, none = {0};
    uint32_t right[] = {0, 1}, early[] = {1, 0}, twice[] = {0, 0},
             unknown[] = {0, 2};
    glow_order_use use;
    glow_order o;

    (void)unused;
    assert_true(glow_order_measure(a, &p, right, &use));
    assert_int_equal(use.peak, 5);
    assert_int_equal(use.during[1], 0);
    assert_false(glow_order_measure(a, &p, early, &use));
    assert_false(glow_order_measure(a, &p, twice, &use));
    assert_false(glow_order_measure(a, &p, unknown, &use));
    assert_true(glow_order_measure(a, &none, NULL, &use));
    assert_true(glow_order_find(a, &none, GLOW_ORDER_AUTO, 100, &o));
    assert_int_equal(o.peak, 0);
    assert_true(o.proved);
    glow_arena_free(a);
}

/*
 * Stages of a wide fork each: what a stage reads is read by all its branches,
 * which are joined.  All that is needed is known: three buffers of a branch,
 * and the ends of the others.
 */
static void
long_ones_take_little(void **unused)
{
    enum { STAGES = 4000, WIDTH = 4, PER_STAGE = 2 * WIDTH + 1 };
    const uint32_t n = STAGES * PER_STAGE + 1;
    glow_arena *a = glow_arena_new();
    glow_order_task *tasks = GLOW_NEW_ARRAY(a, glow_order_task, n);
    glow_order_buffer *buffers = GLOW_NEW_ARRAY(a, glow_order_buffer, n);
    uint32_t *touches = GLOW_NEW_ARRAY(a, uint32_t, n *(WIDTH + 1));
    glow_order_problem p = {tasks, n, buffers, n};
    glow_order given, best;
    size_t before;

    (void)unused;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *list = touches + i * (WIDTH + 1), count = 0;
        uint32_t place = i ? (i - 1) % PER_STAGE : 0, stage = i - 1 - place;

        if (i > 0 && place < WIDTH) /* wide, from what the stage reads */
            list[count++] = stage;
        else if (i > 0 && place < 2 * WIDTH) /* narrow, from wide */
            list[count++] = i - WIDTH;
        for (uint32_t k = 0; i > 0 && place == 2 * WIDTH && k < WIDTH; k++)
            list[count++] = i - WIDTH + k;
        list[count] = i;
        tasks[i] = (glow_order_task){.before = list,
                                     .n_before = count,
                                     .touches = list,
                                     .n_touches = count + 1};
        buffers[i].bytes = i == 0 || place == 2 * WIDTH ? 10
                           : place < WIDTH              ? 100
                                                        : 1;
    }
    assert_true(glow_order_find(a, &p, GLOW_ORDER_GIVEN, 0, &given));
    assert_int_equal(given.peak, 10 + 100 * WIDTH);
    before = glow_arena_used(a);
    assert_true(
        glow_order_find(a, &p, GLOW_ORDER_AUTO, GLOW_ORDER_BUDGET, &best));
    assert_int_equal(best.peak, 10 + 100 + WIDTH - 1);
    assert_true(best.proved && best.area < given.area);
    assert_true(glow_arena_used(a) - before <= 2 * n * sizeof(uint32_t));
    glow_arena_free(a);
}

/*
 * The steps taken are about the budget, and what is found depends on it alone.
 */
static void
budgets_end_searches(void **unused)
{
    enum { N = 40 };
    glow_arena *a = glow_arena_new();
    glow_order_task tasks[N];
    glow_order_buffer buffers[N];
    uint32_t touches[N][5], after[N];
    glow_order_problem p = {tasks, N, buffers, N};
    uint64_t x = 2463534242u;
    int64_t last = INT64_MAX;

    (void)unused;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t count = 0;

        for (uint32_t k = 0; k < 3 && i > 0; k++)
            add(touches[i], &count, (uint32_t)draw(&x, i));
        after[i] = count;
        touches[i][count] = i;
        tasks[i] = (glow_order_task){.before = touches[i],
                                     .n_before = after[i],
                                     .touches = touches[i],
                                     .n_touches = count + 1};
        buffers[i].bytes = 1 + (int64_t)draw(&x, 100);
    }
    for (int64_t budget = 0; budget <= 1 << 22; budget = 4 * budget + 64) {
        glow_order o, again;

        assert_true(glow_order_find(a, &p, GLOW_ORDER_AUTO, budget, &o));
        assert_true(glow_order_find(a, &p, GLOW_ORDER_AUTO, budget, &again));
        assert_memory_equal(o.tasks, again.tasks, sizeof(uint32_t) * N);
        assert_int_equal(o.steps, again.steps);
        assert_true(o.steps <= 2 * budget + 100 * N);
        assert_true(o.bound <= o.peak);
        last = o.proved ? o.peak : last;
    }
    assert_true(last < INT64_MAX);
    glow_arena_free(a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_problems_are_refused),
        cmocka_unit_test(only_orders_are_measured),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(long_ones_take_little),
        cmocka_unit_test(budgets_end_searches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
