/*
 * Devices in other processes that send what is no answer, and messages of the host that
 * are none.
 */

#define _GNU_SOURCE /* memfd_create */

#include "remote.h"

/*
 * A process gives a wrong answer to its second or third run: it is taken for none, the
 * process is started again, and all requests have the right results.
 */
static void
test_wrong_answers(void **state)
{
    (void)state;
    for (fault f = 0; f < PORTS; f++)
        for (int at = 4; at < 6; at++) {
            enum { N = 8 };
            glow_request *r[N];
            bench b;

            assert_true(begin(&b, f, at, (uint64_t)f));
            add_service(&b, (glow_service_options){0});
            for (int i = 0; i < N; i++)
                r[i] = ask(&b, (float)i);
            for (int i = 0; i < N; i++)
                expect(r[i], (float)i);
            if (losses(&b) != 1)
                fail_msg("fault %d: %d losses", (int)f, losses(&b));
            end(&b);
        }
}

/* A process that begins with a wrong answer, or gives one to the first network. */
static void
test_wrong_beginnings(void **state)
{
    (void)state;
    for (fault f = 0; f < PORTS; f++)
        for (int at = 1; at <= 2; at++) {
            bool ok = f == TWICE;
            bench b;

            if (begin(&b, f, at, 7))
                ok = try_service(&b) == ok && at == 1 + !ok;
            else
                ok = at == 1;
            if (!ok && f != TWICE)
                fail_msg("fault %d of answer %d was not seen", (int)f, at);
            if (f != TWICE)
                assert_string_equal(b.ids, "E1009");
            end(&b);
        }
}

/* Ports of any bytes are refused, or are ones that the host can serve. */
static void
test_wrong_ports(void **state)
{
    int n = number_of("GLOW_TEST_FAULTS", 40), refused = 0;

    (void)state;
    for (int i = 0; i < n; i++) {
        glow_request *r;
        bench b;

        assert_true(begin(&b, PORTS, 2, (uint64_t)i));
        if (try_service(&b)) {
            r = ask(&b, 1);
            glow_fence_wait(glow_request_fence(r), NEVER, NULL);
            glow_request_release(r);
        } else {
            refused++;
        }
        end(&b);
    }
    print_message("# %d of %d lists of ports were refused\n", refused, n);
    assert_true(refused > n / 8);
}

/* A network that is another one after its process was started again is not run. */
static void
test_other_network(void **state)
{
    glow_report_text why;
    glow_request *r;
    bench b;

    (void)state;
    assert_true(begin(&b, CUT, 4, 0));
    add_service(&b, (glow_service_options){0});
    expect(ask(&b, 1), 1);
    write_network(&b, 5);
    r = ask(&b, 2);
    assert_int_equal(glow_fence_wait(glow_request_fence(r), NEVER, &why),
                     GLOW_RUN_LOST);
    glow_request_release(r);
    end(&b);
}

/* Messages of the host, some with wrong bytes. */

static void
send_spoiled(int socket, wire_head h, const void *payload, int fd,
             uint64_t *seed)
{
    char copy[512], bytes[sizeof copy + sizeof h];
    size_t size;

    switch (draw(seed) % 4) {
    case 0: /* as it is */
        glow_wire_send(socket, &h, payload, fd);
        return;
    case 1: /* with right checksums */
        memcpy(copy, payload ? payload : "", h.size);
        spoil(copy, h.size, seed);
        if (draw(seed) % 2)
            spoil(&h.network, sizeof h.network, seed);
        if (draw(seed) % 2)
            spoil(&h.bytes, sizeof h.bytes, seed);
        if (draw(seed) % 8 == 0)
            h.kind = (uint32_t)(draw(seed) % 8);
        if (h.size && draw(seed) % 4 == 0)
            h.size = (uint32_t)(draw(seed) % h.size);
        glow_wire_send(socket, &h, copy, fd);
        return;
    default:
        size = bytes_of(&h, payload, bytes, sizeof bytes);
        spoil(bytes, size, seed);
        if (draw(seed) % 4 == 0)
            size = draw(seed) % size;
        send(socket, bytes, size, MSG_NOSIGNAL);
    }
}

/* Reads all answers; the number of them. */
static int
drain(int socket)
{
    wire_head h;
    void *payload;
    int n = 0;

    for (; glow_wire_receive(socket, &h, &payload, NULL) == WIRE_OK; n++)
        free(payload);
    return n;
}

/* Sends a device the messages of a run or two, and whatever else. */
static int
talk(const char *path, uint64_t seed)
{
    enum { SHARED = 1 << 16 };
    const uint64_t offsets[2] = {64, 128};
    int pair[2], memory = memfd_create("test", MFD_CLOEXEC), n;
    char load[128];
    size_t size =
        (size_t)snprintf(load, sizeof load, "%s%c%c%c", path, 0, 0, 0);
    pthread_t thread;
    served s = {.backend = "interp"};

    assert_true(memory >= 0 && ftruncate(memory, SHARED) == 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    s.socket = pair[1];
    assert_int_equal(pthread_create(&thread, NULL, serve, &s), 0);
    /* The first two are right more often, since nothing is done without them. */
    for (int i = 0; i < 8; i++) {
        const wire_head heads[] = {
            {.kind = WIRE_MAP, .bytes = SHARED},
            {.kind = WIRE_LOAD, .size = (uint32_t)size, .network = i > 3},
            {.kind = WIRE_RUN, .size = sizeof offsets},
            {.kind = WIRE_UNLOAD},
        };
        int kind = i < 2 ? i : (int)(draw(&seed) % 8);
        const wire_head h = heads[kind < 4 ? kind : 2];
        const void *payload = h.kind == WIRE_LOAD  ? (const void *)load
                              : h.kind == WIRE_RUN ? offsets
                                                   : NULL;
        int fd = h.kind == WIRE_MAP ? memory : -1;

        if (i < 2 && draw(&seed) % 4)
            glow_wire_send(pair[0], &h, payload, fd);
        else
            send_spoiled(pair[0], h, payload, fd, &seed);
    }
    shutdown(pair[0], SHUT_WR);
    n = drain(pair[0]);
    pthread_join(thread, NULL);
    close(pair[0]);
    close(memory);
    return n;
}

static void
test_wrong_messages(void **state)
{
    int n = number_of("GLOW_TEST_FAULTS", 100), answers = 0;
    bench b;

    (void)state;
    snprintf(b.path, sizeof b.path, "/tmp/glow-remote-%d.gir", (int)getpid());
    write_network(&b, 4);
    for (int i = 0; i < n; i++)
        answers += talk(b.path, (uint64_t)i);
    unlink(b.path);
    print_message("# %d answers in %d talks\n", answers, n);
    assert_true(answers > n);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_answers),
        cmocka_unit_test(test_wrong_beginnings),
        cmocka_unit_test(test_wrong_ports),
        cmocka_unit_test(test_other_network),
        cmocka_unit_test(test_wrong_messages),
    };

    if (is_device(argc, argv))
        return be_device_of(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
