/*
 * Executors: the threads on which the devices of a host run their commands.
 *
 *     serial   one thread for all devices, which runs one command at a time in the
 *              order in which they could begin: for debugging
 *     threads  a pool of threads, one for each queue of each device, and one for its
 *              copies; a thread goes on with what its command made ready: the default
 *     starpu   tasks of StarPU 1.3, whose workers all devices share; as many as there are
 *              processors, or $STARPU_NCPU
 *
 * Outputs are the same bit for bit, and so are priorities, deadlines, failures and
 * resets: an executor says when and where a command runs, and no more.
 */

#ifndef GLOW_EXECUTOR_H
#define GLOW_EXECUTOR_H

#include "glow/base.h"

GLOW_BEGIN

typedef struct glow_executor glow_executor;

/*
 * The executor of that name.  A host closes its own; any other is closed by its owner
 * after its devices.  NULL after a report: E1013 there is none of that name; E1014 StarPU
 * is not there, or does not start.
 *
 * StarPU starts once in a process, and stays.  Its variables are set in the environment
 * meanwhile, so no other thread may read the environment during the first call.
 */
GLOW_API glow_executor *glow_executor_open(glow_context *ctx, const char *name);
GLOW_API void glow_executor_close(glow_executor *x);

GLOW_END

#endif
