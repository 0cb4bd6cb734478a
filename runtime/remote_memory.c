/*
 * Memory that a host shares with the process of a device: the free spans of it, and the
 * pages that the system has given.
 */

#define _GNU_SOURCE /* memfd_create */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/heap.h"
#include "runtime/remote.h"
#include "runtime/wire.h"

#define BACKED ((size_t)1 << 21) /* bytes of pages that are asked for at once */
#define MOST_SHARED ((size_t)1 << 36)
#define LEAST_SHARED ((size_t)1 << 26)

struct remote_span {
    size_t at, bytes;
    remote_span *next;
};

/* Neither process may make it shorter, which would end the other by SIGBUS. */
static bool
seal(int memory)
{
    return fcntl(memory, F_ADD_SEALS,
                 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

/*
 * Has pages for the first `end` bytes: without them a write ends the process by SIGBUS if
 * there is no memory.  False: there is none.
 */
static bool
back(glow_run_device *d, size_t end)
{
    size_t more;
    int rc;

    if (end <= d->backed)
        return true;
    more = (end - d->backed + BACKED - 1) / BACKED * BACKED;
    if (more > d->size - d->backed)
        more = d->size - d->backed;
    do
        rc = posix_fallocate(d->memory, (off_t)d->backed, (off_t)more);
    while (rc == EINTR);
    if (rc == 0)
        d->backed += more;
    return rc == 0;
}

bool
glow_remote_share(glow_run_device *d)
{
    d->memory = memfd_create("glow-device", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    for (d->size = MOST_SHARED; d->memory >= 0 && d->size >= LEAST_SHARED;
         d->size /= 2) {
        void *p;

        if (ftruncate(d->memory, (off_t)d->size) != 0)
            continue;
        p = mmap(NULL, d->size, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_NORESERVE, d->memory, 0);
        if (p == MAP_FAILED)
            continue;
        if (!seal(d->memory)) {
            munmap(p, d->size);
            return false;
        }
        d->shared = p;
        d->free = glow_heap_new(sizeof *d->free);
        *d->free = (remote_span){0, d->size, NULL};
        return true;
    }
    return false;
}

/* The bytes of a span for a buffer: its lines, and one before it, which has its checksum. */
static size_t
span_bytes(int64_t bytes)
{
    return ((size_t)bytes + 2 * WIRE_LINE) / WIRE_LINE * WIRE_LINE;
}

bool
glow_remote_allocate(glow_run_device *d, int64_t bytes, glow_buffer *out)
{
    size_t size;
    bool ok = false;

    if (bytes < 0 || (uint64_t)bytes > d->size)
        return false;
    if (!glow_run_base_reserve(&d->base, bytes))
        return false;
    size = span_bytes(bytes);
    pthread_mutex_lock(&d->base.lock);
    for (remote_span **at = &d->free; *at && !ok; at = &(*at)->next) {
        remote_span *s = *at;

        if (s->bytes < size)
            continue;
        if (!back(d, s->at + size))
            break; /* nor are there pages farther on */
        *out = (glow_buffer){.at = s->at + WIRE_LINE, .bytes = bytes};
        s->at += size;
        s->bytes -= size;
        ok = true;
        if (s->bytes == 0) {
            *at = s->next;
            free(s);
            break;
        }
    }
    pthread_mutex_unlock(&d->base.lock);
    if (!ok)
        glow_run_base_give_back(&d->base, bytes);
    return ok;
}

/* Joins `s` with the span behind it if they touch. */
static void
join(remote_span *s)
{
    remote_span *next = s ? s->next : NULL;

    if (!next || s->at + s->bytes != next->at)
        return;
    s->bytes += next->bytes;
    s->next = next->next;
    free(next);
}

void
glow_remote_free(glow_run_device *d, glow_buffer *b)
{
    remote_span *s = glow_heap_new(sizeof *s), *before = NULL, **at;

    *s = (remote_span){.at = (size_t)b->at - WIRE_LINE,
                       .bytes = span_bytes(b->bytes)};
    pthread_mutex_lock(&d->base.lock);
    for (at = &d->free; *at && (*at)->at < s->at; at = &(*at)->next)
        before = *at;
    s->next = *at;
    *at = s;
    join(s);
    join(before);
    pthread_mutex_unlock(&d->base.lock);
    glow_run_base_give_back(&d->base, b->bytes);
    *b = (glow_buffer){0};
}

void
glow_remote_end_sharing(glow_run_device *d)
{
    if (d->shared)
        munmap(d->shared, d->size);
    if (d->memory >= 0)
        close(d->memory);
    while (d->free) {
        remote_span *s = d->free;

        d->free = s->next;
        free(s);
    }
}
