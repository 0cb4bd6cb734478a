#include "runtime/wire.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "glow/base.h"
#include "runtime/heap.h"

#define MAGIC 0x676c7732u /* changes with the form of messages */

/* Room for one descriptor beside a message, aligned as it must be. */
typedef union control {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
} control;

static bool
send_all(int socket, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(socket, data, size, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static bool
receive_all(int socket, char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = recv(socket, data, size, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static uint32_t
sum_of(const void *data, size_t size)
{
    uint64_t h = glow_hash(data, size, size);

    return (uint32_t)(h ^ h >> 32);
}

/*
 * Sends head and payload by one call, as long as the socket has room, so that the other end
 * wakes once.
 */
bool
glow_wire_send(int socket, const wire_head *h, const void *payload, int fd)
{
    wire_head own = *h;
    struct iovec part[2] = {
        {&own, sizeof own},
        {(void *)(uintptr_t)payload, h->size},
    };
    control c = {0};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = h->size ? 2 : 1};
    ssize_t n;
    size_t sent, head;

    own.magic = MAGIC;
    own.payload = sum_of(payload, h->size);
    own.sum = sum_of(&own, offsetof(wire_head, sum));
    if (fd >= 0) {
        m.msg_control = c.room;
        m.msg_controllen = sizeof c.room;
        c.head = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET,
            .cmsg_type = SCM_RIGHTS,
            .cmsg_len = CMSG_LEN(sizeof fd),
        };
        memcpy(CMSG_DATA(&c.head), &fd, sizeof fd);
    }
    do
        n = sendmsg(socket, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    sent = (size_t)n;
    head = sent < sizeof own ? sent : sizeof own;
    sent -= head;
    return send_all(socket, (const char *)&own + head, sizeof own - head) &&
           (sent == h->size ||
            send_all(socket, (const char *)payload + sent, h->size - sent));
}

static bool
receive_head(int socket, wire_head *h, int *fd)
{
    struct iovec part = {h, sizeof *h};
    control c = {0};
    struct msghdr m = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = c.room,
        .msg_controllen = sizeof c.room,
    };
    struct cmsghdr *found;
    ssize_t n;

    *fd = -1;
    do
        n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    found = CMSG_FIRSTHDR(&m);
    if (found && found->cmsg_level == SOL_SOCKET &&
        found->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(found), sizeof *fd);
    return receive_all(socket, (char *)h + n, sizeof *h - (size_t)n);
}

static bool
is_head(const wire_head *h)
{
    return h->magic == MAGIC && h->size <= WIRE_MOST &&
           h->sum == sum_of(h, offsetof(wire_head, sum));
}

static wire_end
receive_payload(int socket, const wire_head *h, void **payload)
{
    void *p = h->size ? glow_heap_new(h->size) : NULL;
    wire_end end = !receive_all(socket, p, h->size)   ? WIRE_GONE
                   : sum_of(p, h->size) != h->payload ? WIRE_GARBLED
                                                      : WIRE_OK;

    if (end == WIRE_OK)
        *payload = p;
    else
        free(p);
    return end;
}

wire_end
glow_wire_receive(int socket, wire_head *h, void **payload, int *fd)
{
    int own;
    wire_end end = !receive_head(socket, h, &own) ? WIRE_GONE
                   : !is_head(h)                  ? WIRE_GARBLED
                                                  : WIRE_OK;

    *payload = NULL;
    if (end == WIRE_OK)
        end = receive_payload(socket, h, payload);
    if (fd && end == WIRE_OK)
        *fd = own;
    else if (own >= 0)
        close(own);
    return end;
}

/*
 * Four lanes, each a hash of every fourth word: xor, and a product with an odd number, which
 * both are one to one.  A product takes three to four cycles, so that four lanes do a word
 * in each.
 */
uint64_t
glow_wire_sum(const void *data, size_t size)
{
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    const char *p = data, *end = p + size / 32 * 32;
    uint64_t a = glow_mix(1), b = glow_mix(2), c = glow_mix(3), d = glow_mix(4);
    uint64_t words[4] = {0};

    for (; p < end; p += sizeof words) {
        memcpy(words, p, sizeof words);
        a = (a ^ words[0]) * factor;
        b = (b ^ words[1]) * factor;
        c = (c ^ words[2]) * factor;
        d = (d ^ words[3]) * factor;
    }
    memset(words, 0, sizeof words);
    memcpy(words, p, size % sizeof words);
    a = glow_mix((a ^ words[0]) * factor + size);
    b = glow_mix((b ^ words[1]) * factor + a);
    c = glow_mix((c ^ words[2]) * factor + b);
    return glow_mix((d ^ words[3]) * factor + c);
}
