/*
 * DRAM of the simulated device: buffers that the host reaches by copies alone.
 *
 * The words of a program have addresses in the DRAM of its executable, so that a run
 * copies its buffers there and back, within the device.
 */

#include <stdlib.h>
#include <string.h>

#include "program.h"

/* No bookkeeping of its own: the runtime counts bytes against the limit. */
static void *
open_memory(glow_context *ctx, const glow_target_options *t, int64_t bytes)
{
    void *m = malloc(1);

    (void)t, (void)bytes;
    if (!m)
        glow_error(ctx, "E0823", "there is no memory for the accelerator");
    return m;
}

static void
close_memory(void *m)
{
    free(m);
}

static uint64_t
allocate(void *m, int64_t bytes)
{
    void *p = malloc((size_t)bytes + 1);

    (void)m;
    return (uint64_t)(uintptr_t)(p ? memset(p, VTA_POISON, (size_t)bytes + 1)
                                   : NULL);
}

static void
free_buffer(void *m, uint64_t at)
{
    (void)m;
    free((void *)(uintptr_t)at);
}

static void
write_buffer(void *m, uint64_t to, const void *from, int64_t bytes)
{
    (void)m;
    memcpy((void *)(uintptr_t)to, from, (size_t)bytes);
}

static void
read_buffer(void *m, void *to, uint64_t from, int64_t bytes)
{
    (void)m;
    memcpy(to, (const void *)(uintptr_t)from, (size_t)bytes);
}

static bool
run(void *m, glow_executable *x, const glow_binding *bindings,
    const uint64_t *at, int count)
{
    (void)m;
    for (int i = 0; i < count; i++)
        bindings[i].tensor->data = (void *)(uintptr_t)at[i];
    return vta_run(x, bindings, count);
}

const glow_backend_memory vta_dram = {
    .open = open_memory,
    .close = close_memory,
    .allocate = allocate,
    .free = free_buffer,
    .write = write_buffer,
    .read = read_buffer,
    .run = run,
};
