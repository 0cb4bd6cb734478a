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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
