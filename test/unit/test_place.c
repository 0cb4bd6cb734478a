/*
 * Static placement: nothing overlaps, nothing is below the bound, and known
 * problems come out as they must.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glow/place.h"
#include "unit.h"

#define EXACT_ROUNDS 6000

#define LIFE(from, to, bytes) \
    ((glow_lifetime){.begin = (from), .end = (to), .size = (bytes)})

static bool
takes_memory(const glow_lifetime *b)
{
    return b->size > 0 && b->begin < b->end;
}

static void
must_be_valid(const glow_lifetime *b, size_t count, const glow_placement *p)
{
    int64_t height = 0;

    for (size_t i = 0; i < count; i++) {
        assert_true(b[i].offset >= 0);
        if (takes_memory(&b[i]) && b[i].offset + b[i].size > height)
            height = b[i].offset + b[i].size;
        for (size_t k = 0; k < i; k++)
            if (takes_memory(&b[i]) && takes_memory(&b[k]) &&
                b[i].begin < b[k].end && b[k].begin < b[i].end)
                assert_true(b[i].offset >= b[k].offset + b[k].size ||
                            b[k].offset >= b[i].offset + b[i].size);
    }
    assert_int_equal(height, p->height);
    assert_true(p->height >= p->bound);
    assert_true(p->bound >= p->load);
}

static void
nothing_takes_nothing(void **unused)
{
    glow_arena *a = glow_arena_new();
    glow_lifetime b[] = {LIFE(0, 0, 64), LIFE(3, 9, 0)};
    glow_placement p;

    (void)unused;
    assert_true(glow_place_buffers(a, NULL, 0, NULL, &p));
    assert_int_equal(p.height, 0);
    assert_true(glow_place_buffers(a, b, 2, NULL, &p));
    assert_int_equal(p.height, 0);
    assert_int_equal(b[0].offset, 0);
    assert_int_equal(b[1].offset, 0);
    glow_arena_free(a);
}

static void
bad_numbers_are_refused(void **unused)
{
    glow_arena *a = glow_arena_new();
    glow_lifetime negative = LIFE(0, 1, -1), backward = LIFE(2, 1, 8);
    glow_lifetime huge[] = {LIFE(0, 1, INT64_MAX), LIFE(0, 1, 1)};
    glow_placement p;

    (void)unused;
    huge[0].offset = 7;
    assert_false(glow_place_buffers(a, &negative, 1, NULL, &p));
    assert_false(glow_place_buffers(a, &backward, 1, NULL, &p));
    assert_false(glow_place_buffers(a, huge, 2, NULL, &p));
    assert_int_equal(huge[0].offset, 7);
    glow_arena_free(a);
}

/*
 * The order of time leaves a hole below the long one that the last does not
 * fit; largest first has none.
 */
static void
orders_differ(void **unused)
{
    glow_arena *a = glow_arena_new();
    glow_lifetime b[] = {LIFE(0, 2, 64), LIFE(1, 9, 64), LIFE(3, 9, 128)};
    glow_place_options given = {.strategy = GLOW_PLACE_GIVEN};
    glow_placement p;

    (void)unused;
    assert_true(glow_place_buffers(a, b, 3, &given, &p));
    must_be_valid(b, 3, &p);
    assert_int_equal(p.height, 256);
    assert_true(glow_place_buffers(a, b, 3, NULL, &p));
    must_be_valid(b, 3, &p);
    assert_int_equal(p.height, 192);
    assert_int_equal(p.bound, 192);
    glow_arena_free(a);
}

/*
 * Alignment leaves heights above the bound that no placement has, each refuted within a few
 * steps: more of them than doublings of the steps for each that a number holds.
 */
static void
many_heights_are_refuted(void **unused)
{
    glow_arena *a = glow_arena_new();
    glow_lifetime b[] = {LIFE(0, 2, 1), LIFE(1, 3, 1)};
    glow_placement p;

    (void)unused;
    b[0].align = b[1].align = 128;
    assert_true(glow_place_buffers(a, b, 2, NULL, &p));
    must_be_valid(b, 2, &p);
    assert_int_equal(p.height, 129);
    assert_int_equal(p.bound, 129);
    glow_arena_free(a);
}

static uint64_t
next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* Aligned, fixed, in banks, not where it is forbidden: by hand. */
static void
spaces_are_kept(void **unused)
{
    glow_arena *a = glow_arena_new();
    glow_place_range forbidden[] = {{40, 50}, {45, 64}};
    glow_place_space space = {INT64_MAX, 64, forbidden, 2};
    glow_place_options o = {.strategy = GLOW_PLACE_SIZE, .space = &space};
    glow_lifetime b[] = {{0, 2, 20, 0, 16, false},
                         {1, 9, 30, 0, 16, false},
                         {0, 9, 20, 8, 0, true},
                         {1, 2, 40, 0, 0, false},
                         {1, 2, 65, 0, 128, false}};
    static const int64_t want[] = {256, 208, 8, 64, 128};
    glow_placement p;

    (void)unused;
    assert_true(glow_place_buffers(a, b, 5, &o, &p));
    assert_true(glow_place_check(a, b, 5, &space, &p));
    for (int i = 0; i < 5; i++)
        if (b[i].offset != want[i])
            fail_msg("buffer %d lies at %" PRId64, i, b[i].offset);
    assert_int_equal(p.height, 276);
    assert_int_equal(p.load, 175);
    assert_int_equal(p.busiest, 1);
    glow_arena_free(a);
}

/* Each fault there is, by the least that has it. */
static const struct {
    glow_lifetime b[2];
    int64_t capacity, bank;
    glow_place_range forbidden;
    glow_place_fault fault;
    size_t buffer, other;
} faulty[] = {
    {{{0, 1, 8, 0, 0, true}, {0, 1, 8, 8, 0, true}},
     .capacity = 16,
     .fault = GLOW_PLACE_SOUND},
    {{{0, 1, 8, 0, -1, true}}, .capacity = 16, .fault = GLOW_PLACE_NEGATIVE},
    {{{0, 1, 8, -1, 0, true}}, .capacity = 16, .fault = GLOW_PLACE_NEGATIVE},
    {{{0}, {0, 1, 8, 0, 0, true}},
     .capacity = -1,
     .fault = GLOW_PLACE_NEGATIVE},
    {{{0}, {0, 1, 8, 0, 12, true}},
     .capacity = 16,
     .bank = 8,
     .fault = GLOW_PLACE_ODD_ALIGN,
     .buffer = 1,
     .other = 1},
    {{{0}, {0, 1, 8, 12, 8, true}},
     .capacity = 16,
     .fault = GLOW_PLACE_MISALIGNED,
     .buffer = 1,
     .other = 1},
    {{{0}, {0, 1, 8, 12, 4, true}},
     .capacity = 32,
     .bank = 16,
     .fault = GLOW_PLACE_CROSSES_BANK,
     .buffer = 1,
     .other = 1},
    {{{0}, {0, 1, 8, 4, 4, true}},
     .capacity = 32,
     .forbidden = {11, 12},
     .fault = GLOW_PLACE_FORBIDDEN,
     .buffer = 1,
     .other = 1},
    {{{0}, {0, 1, 8, 9, 0, true}},
     .capacity = 16,
     .fault = GLOW_PLACE_BEYOND,
     .buffer = 1,
     .other = 1},
    {{{0, 2, 8, 0, 0, true}, {1, 9, 8, 7, 0, true}},
     .capacity = 16,
     .fault = GLOW_PLACE_OVERLAPS,
     .buffer = 1,
     .other = 0},
    {{{0, 2, 8, 7, 0, true}, {1, 9, 8, 0, 0, true}},
     .capacity = 16,
     .fault = GLOW_PLACE_OVERLAPS,
     .buffer = 1,
     .other = 0},
    {{{0, 1, 8, INT64_MAX - 8, 0, true}, {0, 1, 8, 0, 0, true}},
     .capacity = INT64_MAX,
     .fault = GLOW_PLACE_OVERFLOWS,
     .buffer = 1,
     .other = 1},
};

/* In what is fixed, and in a placement. */
static void
faults_are_found(void **unused)
{
    glow_arena *a = glow_arena_new();

    (void)unused;
    for (size_t i = 0; i < sizeof faulty / sizeof *faulty; i++) {
        glow_place_space s = {faulty[i].capacity, faulty[i].bank,
                              &faulty[i].forbidden, 1};
        glow_place_options o = {.space = &s};
        glow_lifetime b[2] = {faulty[i].b[0], faulty[i].b[1]};
        bool sound = faulty[i].fault == GLOW_PLACE_SOUND;
        glow_placement p;

        assert_int_equal(glow_place_buffers(a, b, 2, &o, &p), sound);
        assert_int_equal(p.fault, faulty[i].fault);
        assert_int_equal(p.buffer, faulty[i].buffer);
        assert_int_equal(p.other, faulty[i].other);
        b[0].is_fixed = b[1].is_fixed = false;
        assert_int_equal(glow_place_check(a, b, 2, &s, &p), sound);
        assert_int_equal(p.fault, faulty[i].fault);
    }
    glow_arena_free(a);
}

/* Sparse ones take the tree of neighbours, crowded ones the sorted list. */
static void
random_problems(void **unused)
{
    enum { MOST = 300 };
    glow_arena *a = glow_arena_new();
    uint64_t x = 88172645463325252u;

    (void)unused;
    for (int round = 0; round < 100; round++) {
        glow_lifetime b[MOST] = {0}, again[MOST];
        size_t count = 1 + next(&x) % MOST;
        int64_t longest = 1 + (int64_t)(next(&x) % (round % 2 ? 8 : 400));
        glow_place_options few = {.budget = 1000};
        glow_placement p, q;

        for (size_t i = 0; i < count; i++) {
            b[i].begin = (int64_t)(next(&x) % 400);
            b[i].end = b[i].begin + (int64_t)(next(&x) % (uint64_t)longest);
            b[i].size = 64 * (int64_t)(next(&x) % 20);
        }
        memcpy(again, b, sizeof b);
        for (int k = 0; glow_place_strategies[k]; k++) {
            glow_place_options o = {.strategy = (glow_place_strategy)k,
                                    .budget = 1000};

            assert_true(glow_place_buffers(a, b, count, &o, &p));
            must_be_valid(b, count, &p);
            assert_int_equal(p.load, glow_place_bound(a, b, count));
        }
        assert_true(glow_place_buffers(a, again, count, &few, &q));
        assert_true(q.height <= p.height);
        glow_arena_reset(a);
    }
    glow_arena_free(a);
}

enum { MOST_BRUTE = 28 };

/* The least height, by trying all offsets. */

typedef struct brute {
    const glow_lifetime *b;
    int count;
    const glow_place_space *space;
    int64_t offset[MOST_BRUTE];
    int64_t height;
} brute;

static bool
is_allowed(const brute *x, int i)
{
    const glow_lifetime *b = &x->b[i];
    int64_t from = x->offset[i], to = from + b->size, bank = x->space->bank;

    if ((b->align && from % b->align) || (b->is_fixed && from != b->offset) ||
        (b->size <= bank && from / bank != (to - 1) / bank))
        return false;
    for (size_t k = 0; k < x->space->n_forbidden; k++)
        if (x->space->forbidden[k].begin < x->space->forbidden[k].end &&
            from < x->space->forbidden[k].end &&
            x->space->forbidden[k].begin < to)
            return false;
    for (int k = 0; k < i; k++)
        if (b->begin < x->b[k].end && x->b[k].begin < b->end &&
            from < x->offset[k] + x->b[k].size && x->offset[k] < to)
            return false;
    return true;
}

static bool
can_place(brute *x, int i)
{
    if (i == x->count)
        return true;
    for (x->offset[i] = 0; x->offset[i] + x->b[i].size <= x->height;
         x->offset[i]++)
        if (is_allowed(x, i) && can_place(x, i + 1))
            return true;
    return false;
}

/* One buffer more, in one case of three with an alignment or at an offset. */
static glow_lifetime
random_buffer(uint64_t *x, bool is_special)
{
    static const int64_t aligns[] = {0, 1, 2, 3, 4};
    glow_lifetime b = LIFE((int64_t)(next(x) % 7), 0, 0);

    b.end = b.begin + 1 + (int64_t)(next(x) % 4);
    b.size = 1 + (int64_t)(next(x) % 4);
    if (is_special && next(x) % 3 == 0)
        b.align = aligns[next(x) % 5];
    if (is_special && next(x) % 8 == 0) {
        b.is_fixed = true;
        b.offset = (int64_t)(next(x) % 7);
        b.align = 0;
    }
    return b;
}

/* Every section full to the same load: where the load is often not reached. */
static int
random_full(uint64_t *x, glow_lifetime *b, int most)
{
    int live[MOST_BRUTE], n_live = 0, n = 0;
    int64_t room = 6 + (int64_t)(next(x) % 3), time = 0;

    while (n < most) {
        for (; room > 0 && n < most; n++) {
            int64_t size = 1 + (int64_t)(next(x) % 3);

            size = size < room ? size : room;
            b[n] = LIFE(time, 99, size);
            room -= size;
            live[n_live++] = n;
        }
        time++;
        for (int k = 0; k < 2 && n_live > 0; k++) {
            int at = (int)(next(x) % (uint64_t)n_live);

            b[live[at]].end = time;
            room += b[live[at]].size;
            live[at] = live[--n_live];
        }
    }
    for (int i = 0; i < n; i++)
        b[i].end = b[i].end < 99 ? b[i].end : time + 1;
    return n;
}

/* Whatever the strategy, nothing is wrong, and nothing below the least. */
static void
all_are_sound(glow_arena *a, const glow_lifetime *b, size_t count,
              const glow_place_space *space, int64_t least)
{
    for (int s = GLOW_PLACE_GREEDY; glow_place_strategies[s]; s++) {
        glow_place_options o = {(glow_place_strategy)s, space, 0, 0};
        glow_lifetime mine[MOST_BRUTE];
        glow_placement p, q;

        memcpy(mine, b, count * sizeof *b);
        assert_true(glow_place_buffers(a, mine, count, &o, &p));
        assert_true(glow_place_check(a, mine, count, space, &q));
        assert_int_equal(p.height, q.height);
        assert_true(p.height >= least);
    }
}

/* Small problems, plain ones and all that a space can ask for. */
static void
exact_is_exact(void **unused)
{
    glow_arena *a = glow_arena_new();
    uint64_t x = 88172645463325252u;
    int refused = 0, above = 0;

    (void)unused;
    for (int round = 0; round < EXACT_ROUNDS; round++) {
        glow_place_range forbidden = {(int64_t)(next(&x) % 6), 0};
        glow_place_space space = {INT64_MAX, 0, &forbidden, 1};
        glow_place_options o = {.strategy = GLOW_PLACE_EXACT, .space = &space};
        bool is_special = round % 3 == 0;
        glow_lifetime b[MOST_BRUTE];
        int count = 2 + round % 6;
        brute all = {.b = b, .space = &space};
        glow_placement p, q;

        forbidden.end = forbidden.begin;
        if (is_special) {
            forbidden.end += (int64_t)(next(&x) % 3);
            space.bank = (int64_t[]){0, 6, 12}[next(&x) % 3];
        }
        for (int i = 0; i < count; i++)
            b[i] = random_buffer(&x, is_special);
        if (round % 3 == 1)
            count = random_full(&x, b, 12 + round % 16);
        for (int i = 0; i < count; i++)
            if (space.bank && b[i].align == 4)
                b[i].align = 12;
        all.count = count;
        if (!glow_place_buffers(a, b, (size_t)count, &o, &p)) {
            refused++;
            continue;
        }
        all_are_sound(a, b, (size_t)count, &space, p.height);
        assert_true(p.proved);
        assert_true(glow_place_check(a, b, (size_t)count, &space, &q));
        assert_int_equal(p.height, q.height);
        all.height = p.height;
        assert_true(can_place(&all, 0));
        all.height = p.height - 1;
        assert_false(can_place(&all, 0));
        above += round % 3 == 1 && p.height > p.load;
        glow_arena_reset(a);
    }
    print_message("# %d with a fault, %d plain ones above the load\n", refused,
                  above);
    assert_true(refused < EXACT_ROUNDS / 4 && above > 0);
    glow_arena_free(a);
}

/* Far more than any quadratic way could do; most live together. */
static void
large_problems(void **unused)
{
    enum { COUNT = 100000 };
    glow_arena *a = glow_arena_new();
    glow_lifetime *b = GLOW_NEW_ARRAY(a, glow_lifetime, COUNT);
    uint64_t x = 88172645463325252u;
    glow_placement p, q;

    (void)unused;
    for (int i = 0; i < COUNT; i++)
        b[i] = LIFE(i, i + 1 + (int64_t)(next(&x) % (uint64_t)(COUNT - i)),
                    64 * (1 + (int64_t)(next(&x) % 200)));
    assert_true(glow_place_buffers(a, b, COUNT, NULL, &p));
    assert_true(glow_place_check(a, b, COUNT, NULL, &q));
    assert_int_equal(p.height, q.height);
    assert_true(p.height < p.bound + p.bound / 50);
    glow_arena_free(a);
}

/* Lifetimes of the activations of real networks, if they are at hand. */

typedef struct csv {
    char *text, *at;
} csv;

static bool
open_csv(csv *c, const char *name)
{
    const char *folder = getenv("GLOW_SHARED_DATA");
    char path[4096];
    FILE *f;

    if (!folder)
        return false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "rb");
    if (!f)
        return false;
    c->text = calloc(1, 1 << 22);
    assert_non_null(c->text);
    assert_true(fread(c->text, 1, (1 << 22) - 1, f) > 0);
    fclose(f);
    c->at = strchr(c->text, '\n');
    return c->at != NULL;
}

/* The next line as a name and four numbers. */
static bool
next_row(csv *c, char name[64], int64_t v[4])
{
    int read = 0;

    if (sscanf(c->at,
               " %63[^,],%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 "%n",
               name, &v[0], &v[1], &v[2], &v[3], &read) != 5)
        return false;
    c->at += read;
    return true;
}

/*
 * Glow's own allocator needs more than the bound on three of these 79: 0.9 is
 * its efficiency on the second version of ResNet-50, -101 and -152.
 */
static void
real_networks(void **unused)
{
    enum { MOST = 1000 };
    glow_arena *a = glow_arena_new();
    glow_lifetime b[MOST];
    size_t count = 0;
    int networks = 0, above = 0;
    char name[64], model[64] = "";
    int64_t v[4];
    csv c = {0};
    bool more;

    (void)unused;
    assert_true(open_csv(&c, "glow-alloc/lifetimes.csv"));
    do {
        more = next_row(&c, name, v);
        if (count > 0 && (!more || strcmp(name, model) != 0)) {
            glow_placement p;

            assert_true(glow_place_buffers(a, b, count, NULL, &p));
            must_be_valid(b, count, &p);
            networks++;
            if (p.height > p.bound) {
                above++;
                print_message("# %s: %" PRId64 " of %" PRId64 "\n", model,
                              p.height, p.bound);
            }
            count = 0;
            glow_arena_reset(a);
        }
        if (more) {
            assert_true(count < MOST);
            snprintf(model, sizeof model, "%s", name);
            b[count++] = LIFE(v[1], v[2], v[3]);
        }
    } while (more);
    assert_int_equal(networks, 79);
    assert_int_equal(above, 0);
    free(c.text);
    glow_arena_free(a);
}

/*
 * The eleven problems that the MiniMalloc paper calls challenging: no order of
 * placement comes near their capacity of 2^20 bytes.
 */
static void
challenging_problems(void **unused)
{
    enum { MOST = 500 };
    glow_arena *a = glow_arena_new();
    glow_lifetime b[MOST];

    (void)unused;
    for (char which = 'A'; which <= 'K'; which++) {
        char name[64], id[64];
        size_t count = 0;
        glow_placement p;
        int64_t v[4];
        csv c = {0};

        snprintf(name, sizeof name, "minimalloc/%c.1048576.csv", which);
        assert_true(open_csv(&c, name));
        while (sscanf(c.at, " %63[^,],%" SCNd64 ",%" SCNd64 ",%" SCNd64, id,
                      &v[0], &v[1], &v[2]) == 4) {
            assert_true(count < MOST);
            b[count++] = LIFE(v[0], v[1], v[2]);
            c.at += 1 + strcspn(c.at + 1, "\n");
        }
        assert_true(count > 100);
        assert_true(glow_place_buffers(a, b, count, NULL, &p));
        must_be_valid(b, count, &p);
        print_message("# %c: %" PRId64 " of %" PRId64 "\n", which, p.height,
                      p.bound);
        assert_true(p.height <= 1048576);
        free(c.text);
        glow_arena_reset(a);
    }
    glow_arena_free(a);
}

/* The data sets are optional; what TAP calls a skipped test, Meson fails. */
static bool
has_data(const char *name)
{
    csv c = {0};
    bool found = open_csv(&c, name);

    if (!found)
        print_message("# skipped: there is no data set %s\n", name);
    free(c.text);
    return found;
}

#define OWN_TESTS                                                              \
    cmocka_unit_test(nothing_takes_nothing),                                   \
        cmocka_unit_test(bad_numbers_are_refused),                             \
        cmocka_unit_test(orders_differ),                                       \
        cmocka_unit_test(many_heights_are_refuted),                            \
        cmocka_unit_test(spaces_are_kept), cmocka_unit_test(faults_are_found), \
        cmocka_unit_test(random_problems), cmocka_unit_test(exact_is_exact),   \
        cmocka_unit_test(large_problems)

int
main(void)
{
    const struct CMUnitTest own[] = {OWN_TESTS};
    const struct CMUnitTest all[] = {
        OWN_TESTS,
        cmocka_unit_test(real_networks),
        cmocka_unit_test(challenging_problems),
    };
    bool data = has_data("glow-alloc/lifetimes.csv") &&
                has_data("minimalloc/A.1048576.csv");

    return data ? cmocka_run_group_tests(all, NULL, NULL)
                : cmocka_run_group_tests(own, NULL, NULL);
}
