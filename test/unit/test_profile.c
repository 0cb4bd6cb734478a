/* Observed ranges by name, and the bins of histograms that grow. */

#include "unit.h"

#include "glow/bins.h"
#include "glow/ops.h"
#include "glow/profile.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    glow_context *ctx;
    glow_module *m;
    glow_func *f;
    glow_value *x;
    const glow_type *type, *other;
} fixture;

static int
setup(void **state)
{
    fixture *t = calloc(1, sizeof *t);

    t->ctx = glow_context_new();
    t->m = glow_module_new(t->ctx);
    t->f = glow_func_new(t->m, "main");
    t->type =
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(2, 3)));
    t->other =
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(3, 2)));
    t->x = &glow_placeholder_new(t->m, "x", t->type)->value;
    *state = t;
    return 0;
}

static int
teardown(void **state)
{
    fixture *t = *state;

    glow_module_free(t->m);
    glow_context_free(t->ctx);
    free(t);
    return 0;
}

static glow_node *
relu(fixture *t, const char *name, const glow_type *type)
{
    return glow_node_new(t->f, &glow_op_relu, name, &t->x, 1, &type, 1, NULL);
}

static void
set(glow_value *v, float min, float max)
{
    assert_true(
        glow_set_value_range(v, &(glow_value_range){.min = min, .max = max}));
}

static void
a_range_is_kept_by_name(void **state)
{
    fixture *t = *state;
    glow_node *y = relu(t, "y", t->type), *z;

    assert_null(glow_get_value_range(y->out[0]));
    set(y->out[0], -1, 1);
    glow_node_rename(y, "w");
    assert_true(glow_get_value_range(y->out[0])->max == 1);
    assert_null(glow_get_value_range(relu(t, "y", t->type)->out[0]));

    /* The node that takes the name of an erased one takes its range ... */
    z = relu(t, "w", t->type);
    assert_string_equal(z->name, "w.1");
    glow_node_erase(y);
    glow_node_rename(z, "w");
    assert_true(glow_get_value_range(z->out[0])->min == -1);
    glow_node_erase(z);
    /* ... unless it has another shape. */
    z = relu(t, "w", t->other);
    assert_null(glow_get_value_range(z->out[0]));
    set(z->out[0], 0, 2);
    assert_true(glow_get_value_range(z->out[0])->max == 2);
}

static void
no_value_has_a_wrong_range(void **state)
{
    fixture *t = *state;
    const float low[] = {0, 0, 0}, high[] = {1, 1, 1}, bad[] = {0, NAN, 0};
    const glow_value_range wrong[] = {
        {.min = 1, .max = 0},
        {.min = NAN, .max = 0},
        {.min = 0, .max = INFINITY},
        {0, 1, 0, 3, low, high, low},  /* the axis has 2 */
        {0, 1, 2, 3, low, high, low},  /* rank 2 */
        {0, 1, -1, 3, low, high, low}, /* no axis */
        {0, 1, 1, 3, high, low, low},
        {0, 1, 1, 3, low, high, bad},
    };
    const glow_value_range right = {0, 1, 1, 3, low, high, high};
    glow_func *p = glow_program_new(t->m, "code");
    glow_node *a = glow_node_new(p, &glow_op_alloc, "a", NULL, 0, &t->type, 1,
                                 &(const glow_in_space){""});

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(glow_set_value_range(t->x, &wrong[i]));
    assert_false(glow_set_value_range(a->out[0], &right));
    assert_null(glow_get_value_range(a->out[0]));
    assert_null(glow_get_value_range(t->x));
    assert_true(glow_set_value_range(t->x, &right));
    assert_ptr_not_equal(glow_get_value_range(t->x)->channel_min, low);
    assert_true(glow_get_value_range(t->x)->channel_mean[2] == 1);
}

static void
ranges_are_copied_and_removed(void **state)
{
    fixture *t = *state;
    glow_node *y = relu(t, "y", t->type), *z = relu(t, "z", t->type);
    glow_module *copy;
    glow_func *f;

    set(t->x, 0, 1);
    set(y->out[0], 0, 2);
    set(z->out[0], 0, 3);
    glow_remove_value_range(z->out[0]);
    assert_null(glow_get_value_range(z->out[0]));
    copy = glow_module_clone(t->m);
    glow_remove_value_ranges(t->m);
    assert_null(glow_get_value_range(t->x));
    f = glow_find_func(copy, "main");
    assert_true(
        glow_get_value_range(&glow_find_storage(copy, "x")->value)->max == 1);
    assert_true(glow_get_value_range(glow_find_node(f, "y")->out[0])->max == 2);
    assert_null(glow_get_value_range(glow_find_node(f, "z")->out[0]));
    glow_module_free(copy);
}

/* Bins. */

enum { BINS = 16, MANY = 200 };

static void
count_all(const double *x, int n, glow_bins b, int64_t *counts)
{
    for (int i = 0; i < n; i++) {
        int64_t at = glow_bins_floor(x[i], b.exponent) - b.first;

        assert_in_range(at, 0, BINS - 1);
        counts[at]++;
    }
}

/* A number of any magnitude; of either sign but where `is_positive`. */
static double
draw(uint64_t seed, bool is_positive)
{
    uint64_t r = glow_mix(seed);
    double x = ldexp((double)(float)(r >> 40), (int)(r & 63) - 40);

    return r >> 39 & 1 && !is_positive ? -x : x;
}

/* The counts of numbers that come one by one are those of all at once. */
static void
bins_do_not_depend_on_the_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        double x[MANY], min = INFINITY, max = -INFINITY;
        int64_t grown[BINS] = {0}, whole[BINS] = {0};
        glow_bins now = {0, 0};

        for (int i = 0; i < MANY; i++) {
            glow_bins wider;

            x[i] = draw(seed * MANY + (uint64_t)i, seed % 3 == 0);
            min = fmin(min, x[i]);
            max = fmax(max, x[i]);
            wider = glow_bins_of(min, max, BINS);
            if (i > 0)
                glow_bins_widen(grown, BINS, now, wider);
            now = wider;
            count_all(&x[i], 1, now, grown);
        }
        count_all(x, MANY, now, whole);
        assert_memory_equal(grown, whole, sizeof whole);
    }
}

static void
bins_are_as_narrow_as_they_can_be(void **state)
{
    const double ends[][2] = {{0, 0},
                              {1, 1},
                              {-1, 1},
                              {0, 1},
                              {0, 15.5},
                              {0, 16},
                              {-FLT_MAX, FLT_MAX},
                              {-FLT_MAX, -1e-45},
                              {0, 0x1p-149},
                              {1000, 1000.25},
                              {-0x1p-140, 0x1p-141}};
    const int64_t exponent[] = {-149, -30, -2,   -3, 0,   1,
                                125,  124, -149, -5, -143};

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        glow_bins b = glow_bins_of(ends[i][0], ends[i][1], BINS);
        int64_t last = glow_bins_floor(ends[i][1], b.exponent) - b.first;

        assert_int_equal(b.exponent, exponent[i]);
        assert_int_equal(b.first, glow_bins_floor(ends[i][0], b.exponent));
        assert_in_range(last, 0, BINS - 1);
    }
    assert_int_equal(glow_bins_floor(-0x1p-149, 127), -1);
    assert_int_equal(glow_bins_floor(-1, 0), -1);
    assert_int_equal(glow_bins_floor(-1.5, 0), -2);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_range_is_kept_by_name),
        TEST(no_value_has_a_wrong_range),
        TEST(ranges_are_copied_and_removed),
        cmocka_unit_test(bins_do_not_depend_on_the_order),
        cmocka_unit_test(bins_are_as_narrow_as_they_can_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
