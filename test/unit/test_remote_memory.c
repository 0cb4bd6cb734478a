/*
 * Memory that a host shares with devices in other processes: there is none, it changes,
 * or it is to be taken away.
 */

#define _GNU_SOURCE /* fallocate */

#include "remote.h"

/* A system that has so many bytes of memory to share. */
static off_t pages = (off_t)1 << 40;

int
posix_fallocate(int fd, off_t at, off_t bytes)
{
    if (at + bytes > pages)
        return ENOSPC;
    return fallocate(fd, 0, at, bytes) == 0 ? 0 : errno;
}

/* Memory that is not there refuses requests, and does not end the host by SIGBUS. */
static void
test_no_memory(void **state)
{
    enum { COUNT = 1 << 20 };
    static float x[COUNT];
    const glow_input in = {.name = "x", .data = x, .bytes = sizeof x};
    bench b;

    (void)state;
    assert_true(begin(&b, FAULTS, 0, 0));
    write_network(&b, COUNT);
    add_service(&b, (glow_service_options){0});
    for (int i = 0; i < 3; i++) {
        glow_report_text why;
        glow_request *r;

        pages = i == 1 ? (off_t)1 << 40 : COUNT;
        r = glow_service_run(b.service, &in, 1, NULL);
        glow_fence_wait(glow_request_fence(r), NEVER, &why);
        /* Pages that the device was given stay with it. */
        assert_int_equal(why.outcome,
                         i == 0 ? GLOW_RUN_REFUSED : GLOW_RUN_DONE);
        if (i == 0)
            assert_non_null(strstr(why.text, "there is no memory left"));
        glow_request_release(r);
    }
    pages = (off_t)1 << 40;
    assert_int_equal(losses(&b), 0);
    end(&b);
}

/*
 * A bit of a tensor, or of its checksum, that changes in shared memory: the process is started
 * again, and all requests have the right results.  Without checksums one has wrong results.
 */
static void
test_changed_tensors(void **state)
{
    const fault faults[] = {INPUT, OUTPUT, SUM};

    (void)state;
    for (int k = 0; k < 6; k++) {
        uint64_t seed = (uint64_t)k * 37;
        glow_request *r[4];
        bench b;

        checksums = k < 3;
        /* Messages before the second run: of memory, checksums, the network, and the first. */
        assert_true(begin(&b, faults[k % 3], checksums ? 5 : 4, seed));
        add_service(&b, (glow_service_options){0});
        for (int i = 0; i < 4; i++) {
            size_t bytes;
            bool same = true;

            r[i] = ask(&b, (float)(i + 1));
            if (checksums) {
                expect(r[i], (float)(i + 1));
                continue;
            }
            assert_int_equal(
                glow_fence_wait(glow_request_fence(r[i]), NEVER, NULL),
                GLOW_RUN_DONE);
            for (int j = 0; j < 4; j++)
                same = same &&
                       ((const float *)glow_request_output(
                           r[i], "y", &bytes))[j] == (float)(2 * (i + 1 + j));
            assert_true(same == (i != 1 || faults[k % 3] == SUM));
            glow_request_release(r[i]);
        }
        assert_int_equal(losses(&b), checksums);
        end(&b);
    }
    checksums = false;
}

/* Every bit, and every length, counts. */
static void
test_sums(void **state)
{
    unsigned char data[200] = {0};

    (void)state;
    for (size_t size = 0; size < sizeof data; size++) {
        uint64_t sum = glow_wire_sum(data, size);

        assert_true(sum != 0); /* a page of zeros is no tensor of zeros */
        assert_true(sum != glow_wire_sum(data, size + 1));
        for (size_t bit = 0; bit < 8 * size; bit++) {
            data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            assert_true(glow_wire_sum(data, size) != sum);
            data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
}

/* No process can take memory away that others have mapped. */
static void
test_memory_is_sealed(void **state)
{
    char link[64], name[64];
    bool found = false;
    bench b;

    (void)state;
    assert_true(begin(&b, FAULTS, 0, 0));
    for (int fd = 3; fd < 64 && !found; fd++) {
        ssize_t n;

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        n = readlink(link, name, sizeof name - 1);
        name[n > 0 ? n : 0] = 0;
        found = strstr(name, "glow-device") != NULL;
        if (found)
            assert_int_not_equal(ftruncate(fd, 0), 0);
    }
    assert_true(found);
    end(&b);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_changed_tensors),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_memory_is_sealed),
    };

    if (is_device(argc, argv))
        return be_device_of(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
