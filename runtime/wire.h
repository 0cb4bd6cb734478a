/*
 * Messages between a host and a device in another process, over a socket of one
 * machine.  A message is a head, its payload, and for WIRE_MAP a descriptor.  Checksums
 * of head and payload tell a message from other bytes; after one that is garbled nothing
 * on the socket can be trusted.
 *
 * After WIRE_CHECK the line before each buffer ends with a checksum of its tensor, of 8 bytes,
 * written by the process that writes the tensor, and checked by the one that reads it.
 */

#ifndef RUNTIME_WIRE_H
#define RUNTIME_WIRE_H

#include "glow/runtime.h"

typedef enum wire_kind {
    WIRE_MAP,    /* bytes: of the shared memory whose descriptor comes along */
    WIRE_LOAD,   /* three texts: path, function, passes; "" for NULL */
    WIRE_UNLOAD, /* network */
    WIRE_CHECK,  /* buffers have checksums from now on */
    WIRE_RUN,  /* network; payload: an offset in shared memory for each port */
    WIRE_DONE, /* an answer; of WIRE_LOAD, with its ports and bytes */
    WIRE_FAILED, /* an answer; outcome; payload: a text */
} wire_kind;

typedef struct wire_head {
    uint32_t kind;
    uint32_t size; /* of the payload */
    uint32_t network;
    uint32_t outcome;
    int64_t bytes;
    uint32_t number; /* of a message; an answer has that of its question */
    /* Set by glow_wire_send. */
    uint32_t magic;
    uint32_t payload; /* checksum */
    uint32_t sum;     /* of all above */
} wire_head;

/* The end of receiving. */
typedef enum wire_end {
    WIRE_OK,
    WIRE_GONE,    /* the other end is, or it took too long */
    WIRE_GARBLED, /* the bytes are no message */
} wire_end;

enum {
    WIRE_MOST = 1 << 20, /* bytes of a payload */
    WIRE_LINE = 64,      /* offsets of buffers are multiples of it */
};

/* A port, in the payload of an answer to WIRE_LOAD; its name follows, with a NUL. */
typedef struct wire_port {
    glow_type type;
    int64_t bytes;
    uint32_t name; /* bytes, the NUL included */
    uint8_t read, written;
} wire_port;

/* False: the other end is gone.  `fd` below 0: none. */
bool glow_wire_send(int socket, const wire_head *h, const void *payload,
                    int fd);
/*
 * The payload, for free(), or NULL if it is empty or after another end than WIRE_OK; `fd`
 * may be NULL.
 */
wire_end glow_wire_receive(int socket, wire_head *h, void **payload, int *fd);

/*
 * The checksum of `size` bytes.  No change within one word of 8 bytes leaves it the same, and
 * any other with a chance of 2^-64.
 */
uint64_t glow_wire_sum(const void *data, size_t size);
/* The place of the checksum of the tensor at `buffer`. */
static inline void *
glow_wire_sum_of(void *buffer)
{
    return (char *)buffer - sizeof(uint64_t);
}

#endif
