/*
 * Orders of shapes that are larger than an oracle can try: those wired at random
 * within a window, against a search that may take all steps it wants.
 */

#include <string.h>

#include "glow/order.h"
#include "unit.h"

enum { MOST_READS = 6 };

/* Each task makes a buffer of its number, and reads others. */
typedef struct net {
    glow_order_problem p;
    glow_order_task *tasks;
    glow_order_buffer *buffers;
    uint32_t *lists;
    glow_order_alias *aliases;
    uint64_t x;
} net;

static uint64_t
draw(net *d, uint64_t below)
{
    d->x ^= d->x << 13;
    d->x ^= d->x >> 7;
    d->x ^= d->x << 17;
    return (d->x >> 11) % below;
}

static net
new_net(glow_arena *a, uint32_t most, uint64_t seed)
{
    net d = {.tasks = GLOW_NEW_ARRAY(a, glow_order_task, most),
             .buffers = GLOW_NEW_ARRAY(a, glow_order_buffer, most),
             .lists = GLOW_NEW_ARRAY(a, uint32_t, most *(MOST_READS + 1)),
             .aliases = GLOW_NEW_ARRAY(a, glow_order_alias, most * MOST_READS),
             .x = seed * 0x9e3779b97f4a7c15u + 1};

    d.p = (glow_order_problem){d.tasks, 0, d.buffers, 0};
    return d;
}

/* A task that reads what those of `reads` make, and may work in place. */
static uint32_t
add(net *d, int64_t bytes, bool in_place, uint32_t n, const uint32_t *reads)
{
    uint32_t i = d->p.n_tasks, count = 0;
    uint32_t *list = d->lists + (size_t)i * (MOST_READS + 1);
    glow_order_alias *aliases = d->aliases + (size_t)i * MOST_READS;

    for (uint32_t k = 0; k < n; k++) {
        bool again = false;

        for (uint32_t j = 0; j < count; j++)
            again |= list[j] == reads[k];
        if (again)
            continue;
        aliases[count] = (glow_order_alias){i, reads[k]};
        list[count++] = reads[k];
    }
    list[count] = i;
    d->tasks[i] = (glow_order_task){.before = list,
                                    .n_before = count,
                                    .touches = list,
                                    .n_touches = count + 1,
                                    .aliases = aliases,
                                    .n_aliases = in_place ? count : 0};
    d->buffers[i] = (glow_order_buffer){.bytes = bytes};
    d->p.n_tasks = d->p.n_buffers = i + 1;
    return i;
}

static void
must_be_right(glow_arena *a, const net *d, const glow_order *o)
{
    glow_order_use use;

    assert_true(glow_order_measure(a, &d->p, o->tasks, &use));
    assert_int_equal(use.peak, o->peak);
    assert_true(o->bound <= o->peak);
}

/*
 * Wired at random: some buffers take no bytes, some tasks need scratch, some
 * results stay.
 */
static void
wire(net *d, uint32_t n, uint32_t window)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t near = i < window ? i : window, reads[3], count = 0;
        uint32_t wanted = 1 + (uint32_t)draw(d, 3);

        while (near > 0 && count < wanted)
            reads[count++] = i - 1 - (uint32_t)draw(d, near);

        bool in_place = draw(d, 3) == 0;
        int64_t bytes = draw(d, 9) ? (int64_t)draw(d, 100) : 0;

        add(d, bytes, in_place, count, reads);
        if (draw(d, 6) == 0)
            d->tasks[i].extra = (int64_t)draw(d, 100);
        d->buffers[i].stays = draw(d, 20) == 0;
    }
}

/* Few steps find nearly what many prove. */
static void
windows_lessen(void **unused)
{
    enum { ROUNDS = 60 };
    glow_arena *a = glow_arena_new();
    int64_t found = 0, least = 0;
    int by_windows = 0;

    (void)unused;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        net d = new_net(a, 160, round);
        glow_order few, many;

        wire(&d, 60 + 10 * (round % 10), 8);
        assert_true(glow_order_find(a, &d.p, GLOW_ORDER_AUTO, 60000, &few));
        assert_true(
            glow_order_find(a, &d.p, GLOW_ORDER_EXACT, INT64_MAX, &many));
        must_be_right(a, &d, &few);
        must_be_right(a, &d, &many);
        assert_true(many.proved);
        assert_true(few.peak >= many.peak && few.bound <= many.peak);
        found += few.peak;
        least += many.peak;
        by_windows += strcmp(few.by, "windows") == 0;
        glow_arena_reset(a);
    }
    print_message("# %.2f %% above the least, %d by windows\n",
                  100.0 * (double)(found - least) / (double)least, by_windows);
    assert_true(by_windows > ROUNDS / 6);
    assert_true((found - least) * 50 <= least);
    glow_arena_free(a);
}

/* Where nothing stays, cuts prove little; what has to come first proves more. */
static void
peaks_are_refuted(void **unused)
{
    enum { ROUNDS = 6, N = 150, WINDOW = 20 };
    glow_arena *a = glow_arena_new();
    int64_t peaks = 0, bounds = 0;

    (void)unused;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        net d = new_net(a, N, round);
        glow_order o;

        wire(&d, N, WINDOW);
        for (uint32_t i = 0; i < N; i++)
            d.buffers[i].stays = false;
        assert_true(glow_order_find(a, &d.p, GLOW_ORDER_AUTO, 1000000, &o));
        must_be_right(a, &d, &o);
        peaks += o.peak;
        bounds += o.bound;
        glow_arena_reset(a);
    }
    print_message("# the bound is %.1f %% of the peak\n",
                  100.0 * (double)bounds / (double)peaks);
    assert_true(bounds * 100 >= peaks * 90);
    glow_arena_free(a);
}

/*
 * A training step of `layers`: activations shrink from layer to layer as gradients of
 * weights grow.  Each gradient reads two activations and dies in its update.
 */
static void
train(net *d, uint32_t layers)
{
    enum { LAYERS = 40 };
    uint32_t x[LAYERS + 1], by;

    assert_true(layers <= LAYERS);
    x[0] = add(d, 0, false, 0, NULL);
    for (uint32_t i = 0; i < layers; i++)
        x[i + 1] = add(d, 1024 >> 8 * i / layers, false, 1, &x[i]);
    by = x[layers];
    for (uint32_t i = layers; i-- > 0;) {
        uint32_t reads[] = {by, x[i]}, back[] = {by, x[i + 1]};
        uint32_t g = add(d, 8 << 8 * i / layers, false, 2, reads);

        add(d, 0, false, 1, &g);
        by = add(d, 1024 >> 8 * i / layers, false, 2, back);
    }
}

/* Few steps do not put updates off past the peak. */
static void
updates_run_early(void **unused)
{
    glow_arena *a = glow_arena_new();

    (void)unused;
    for (uint32_t layers = 10; layers <= 15; layers += 5) {
        net d = new_net(a, 4 * layers + 1, 1);
        glow_order few, many;

        train(&d, layers);
        assert_true(
            glow_order_find(a, &d.p, GLOW_ORDER_AUTO, 100 * layers, &few));
        assert_true(
            glow_order_find(a, &d.p, GLOW_ORDER_EXACT, INT64_MAX, &many));
        must_be_right(a, &d, &few);
        assert_true(many.proved);
        assert_string_equal(few.by, "release");
        assert_true((few.peak - many.peak) * 50 <= many.peak);
        glow_arena_reset(a);
    }
    glow_arena_free(a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_lessen),
        cmocka_unit_test(peaks_are_refuted),
        cmocka_unit_test(updates_run_early),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
