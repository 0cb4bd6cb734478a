/* The pool of threads: every part once, whoever else wants it. */

#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "codegen/cpu/pool.h"

#define MOST_PARTS 500

typedef struct job {
    atomic_int made[MOST_PARTS];
    cpu_pool *pool;
    int inner; /* parts of a job that each part brings itself */
    atomic_int inner_made;
} job;

static void
make_inner(void *work, uintptr_t part)
{
    job *j = work;

    (void)part;
    atomic_fetch_add(&j->inner_made, 1);
}

static void
make(void *work, uintptr_t part)
{
    job *j = work;

    atomic_fetch_add(&j->made[part], 1);
    if (j->inner)
        glow_cpu_pool_run(j->pool, make_inner, j, (uintptr_t)j->inner);
}

static void
run_job(cpu_pool *pool, int parts, int inner)
{
    job j = {.pool = pool, .inner = inner};

    glow_cpu_pool_run(pool, make, &j, (uintptr_t)parts);
    for (int i = 0; i < MOST_PARTS; i++)
        if (j.made[i] != (i < parts))
            fail_msg("part %d of %d was made %d times", i, parts, j.made[i]);
    assert_int_equal(j.inner_made, parts * inner);
}

static void
every_part_is_made_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 9; threads += 2) {
        cpu_pool pool;

        glow_cpu_pool_open(&pool, threads);
        assert_int_equal(pool.threads, threads);
        for (int i = 0; i < 300; i++)
            run_job(&pool, i % 7 ? i % 23 : MOST_PARTS, 0);
        glow_cpu_pool_close(&pool);
    }
}

static void
jobs_within_parts_are_made(void **state)
{
    cpu_pool pool;

    (void)state;
    glow_cpu_pool_open(&pool, 3);
    run_job(&pool, 40, 5);
    glow_cpu_pool_close(&pool);
}

static void
sleepers_wake(void **state)
{
    const struct timespec nap = {.tv_nsec = 5000000};
    cpu_pool pool;

    (void)state;
    glow_cpu_pool_open(&pool, 3);
    for (int i = 0; i < 5; i++) {
        nanosleep(&nap, NULL); /* longer than they stay awake */
        run_job(&pool, 20, 0);
    }
    glow_cpu_pool_close(&pool);
}

static void *
bring_jobs(void *user)
{
    cpu_pool pool;

    for (int i = 0; i < 50; i++) {
        glow_cpu_pool_open(&pool, *(int *)user);
        for (int k = 0; k < 10; k++)
            run_job(&pool, 1 + (i * k) % 31, 0);
        glow_cpu_pool_close(&pool);
    }
    return NULL;
}

static void
several_callers_share(void **state)
{
    int threads[] = {2, 4, 3};
    pthread_t caller[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            pthread_create(&caller[i], NULL, bring_jobs, &threads[i]), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(caller[i], NULL);
}

/* Two parts that wait for each other need two threads. */
static void
meet(void *work, uintptr_t part)
{
    atomic_int *there = work;

    (void)part;
    atomic_fetch_add(there, 1);
    while (atomic_load(there) < 2)
        ;
}

static void
others_take_part(void **state)
{
    atomic_int there = 0;
    cpu_pool pool;

    (void)state;
    glow_cpu_pool_open(&pool, 2);
    glow_cpu_pool_run(&pool, meet, &there, 2);
    assert_int_equal(there, 2);
    glow_cpu_pool_close(&pool);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_made_once),
        cmocka_unit_test(jobs_within_parts_are_made),
        cmocka_unit_test(others_take_part),
        cmocka_unit_test(several_callers_share),
        cmocka_unit_test(sleepers_wake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
