/* Calls that may end the process, made in a child process. */

#ifndef CODEGEN_CPU_RUN_CHILD_H
#define CODEGEN_CPU_RUN_CHILD_H

#include <stdio.h>

#include "glow/base.h"

/*
 * Calls `work` in a copy of this process and returns NULL after it has returned
 * true.  Bytes that it writes to `out` are returned in `*answer`, allocated in
 * `a`.  Otherwise returns the reason: the first line on standard error, or the
 * signal.  Changes of memory stay in the copy, which has one thread: locks that
 * another thread holds at the call stay locked there.
 */
const char *glow_cpu_in_child(glow_arena *a,
                              bool (*work)(void *user, FILE *out), void *user,
                              glow_buf *answer);

#endif
