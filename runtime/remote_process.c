/*
 * The process of a device: its start and end, and messages with their answers.
 */

#define _GNU_SOURCE /* environ */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/remote.h"

enum {
    CHILD_SOCKET = 3,
    IDLE_SECONDS =
        5, /* in which a process that loads or ends computes nothing */
};

/* Waits for answers so long from now on; 0: for ever. */
static void
set_patience(glow_run_device *d, int seconds)
{
    struct timeval t = {.tv_sec = seconds};

    if (d->socket >= 0 && d->patience != seconds &&
        setsockopt(d->socket, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0)
        d->patience = seconds;
}

/* Closes the socket, which ends a process that waits for messages. */
static void
hang_up(glow_run_device *d)
{
    if (d->socket >= 0)
        close(d->socket);
    d->socket = -1;
}

/* Nanoseconds that the process has computed; -1: it is gone. */
static int64_t
processor_of(const glow_run_device *d)
{
    clockid_t clock;
    struct timespec t;

    if (clock_getcpuclockid(d->process, &clock) != 0 ||
        clock_gettime(clock, &t) != 0)
        return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Waits for an answer as long as the process computes; false: it does no more. */
static bool
computes_until_answer(const glow_run_device *d)
{
    struct pollfd p = {.fd = d->socket, .events = POLLIN};
    int64_t before = -1, now = processor_of(d);
    int n = 0;

    while (n == 0 && now > before) {
        do
            n = poll(&p, 1, IDLE_SECONDS * 1000);
        while (n < 0 && errno == EINTR);
        before = now;
        now = processor_of(d);
    }
    return n > 0;
}

wire_end
glow_remote_transact(glow_run_device *d, const wire_head *h,
                     const void *payload, int fd, int seconds, wire_head *reply,
                     void **answer)
{
    wire_head own = *h;
    wire_end end = WIRE_GONE;

    *answer = NULL;
    own.number = ++d->messages;
    set_patience(d, seconds > 0 ? seconds : 0);
    if (d->socket >= 0 && glow_wire_send(d->socket, &own, payload, fd) &&
        (seconds != REMOTE_WHILE_IT_COMPUTES || computes_until_answer(d)))
        end = glow_wire_receive(d->socket, reply, answer, NULL);
    if (end == WIRE_OK &&
        (reply->number != own.number ||
         (reply->kind != WIRE_DONE && reply->kind != WIRE_FAILED))) {
        free(*answer);
        *answer = NULL;
        end = WIRE_GARBLED;
    }
    if (end != WIRE_OK) {
        glow_run_base_set_state(&d->base, GLOW_RUN_DEVICE_LOST);
        hang_up(d);
    }
    return end;
}

const char *
glow_remote_complaint(wire_end end)
{
    return end == WIRE_GONE ? "is gone, or hangs" : "answers by no message";
}

const char *
glow_remote_failure(const wire_head *h, const char *payload)
{
    return payload && h->size > 0 && !payload[h->size - 1] ? payload
                                                           : "no reason given";
}

static void
set_process(glow_run_device *d, pid_t process)
{
    pthread_mutex_lock(&d->base.lock);
    d->process = process;
    pthread_mutex_unlock(&d->base.lock);
}

void
glow_remote_kill(glow_run_device *d)
{
    pthread_mutex_lock(&d->base.lock);
    if (d->process)
        kill(d->process, SIGKILL);
    pthread_mutex_unlock(&d->base.lock);
}

bool
glow_remote_start(glow_run_device *d)
{
    posix_spawn_file_actions_t actions;
    int pair[2], rc;
    pid_t process;
    wire_head reply;
    void *answer;
    bool ok;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], CHILD_SOCKET);
    rc = posix_spawnp(&process, d->base.options.command[0], &actions, NULL,
                      (char *const *)(uintptr_t)d->base.options.command,
                      environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    d->socket = pair[0];
    d->patience = 0;
    if (rc != 0)
        return false;
    set_process(d, process);
    ok = glow_remote_transact(
             d, &(wire_head){.kind = WIRE_MAP, .bytes = (int64_t)d->size}, NULL,
             d->memory, REMOTE_ANSWER_SECONDS, &reply, &answer) == WIRE_OK &&
         reply.kind == WIRE_DONE;
    free(answer);
    if (!ok || !d->base.options.checksums)
        return ok;
    ok = glow_remote_transact(d, &(wire_head){.kind = WIRE_CHECK}, NULL, -1,
                              REMOTE_ANSWER_SECONDS, &reply,
                              &answer) == WIRE_OK &&
         reply.kind == WIRE_DONE;
    free(answer);
    return ok;
}

/* True if the process has ended, within IDLE_SECONDS. */
static bool
ends_soon(const glow_run_device *d)
{
    const int64_t begin = glow_now(), most = IDLE_SECONDS * INT64_C(1000000000);
    struct timespec nap = {.tv_nsec = 100000};
    pid_t ended;

    while ((ended = waitpid(d->process, NULL, WNOHANG)) == 0 &&
           glow_now() - begin < most) {
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec < 10000000 ? 2 * nap.tv_nsec : nap.tv_nsec;
    }
    return ended != 0;
}

void
glow_remote_stop(glow_run_device *d, bool now)
{
    hang_up(d);
    if (d->process && (now || !ends_soon(d))) {
        glow_remote_kill(d);
        while (waitpid(d->process, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    set_process(d, 0);
}
