/*
 * Partition of a task graph over devices.
 *
 * A task reads and defines values, reads constants, and takes a time on each device.
 * A part is a set of tasks of one device that runs without interruption, so that the
 * graph of parts is acyclic.  A value that is read on another device than it is defined
 * on, or by the host, is transferred: once out of its device, and once into each device
 * that reads it.  The load of a device is the time of its tasks and transfers, its
 * memory the constants of its parts, and for each part the inputs, the outputs and the
 * peak of other values that are live at once in the given order of the tasks.
 *
 * The interface is independent of graphs: the caller defines tasks and values.
 */

#ifndef GLOW_PARTITION_H
#define GLOW_PARTITION_H

#include "glow/base.h"

GLOW_BEGIN

#define GLOW_PARTITION_HOST UINT32_MAX /* no task: the host */

typedef struct glow_partition_value {
    int64_t bytes;
    uint32_t definer; /* a task, or GLOW_PARTITION_HOST */
    bool leaves;      /* the host reads it */
} glow_partition_value;

typedef struct glow_partition_task {
    const uint32_t
        *reads; /* values, each once; their definers are lower tasks */
    uint32_t n_reads;
    const uint32_t *constants; /* each once */
    uint32_t n_constants;
    const double *seconds; /* by device; INFINITY: it does not take the task */
} glow_partition_task;

typedef struct glow_partition_device {
    int64_t memory;          /* bytes, at most */
    double bytes_per_second; /* of transfers; INFINITY: none is needed */
    double seconds_per_transfer;
    uint32_t kind; /* devices of one kind are alike in all, and for all tasks */
} glow_partition_device;

typedef struct glow_partition_problem {
    const glow_partition_task *tasks; /* in a topological order */
    uint32_t n_tasks;
    const glow_partition_value *values;
    uint32_t n_values;
    const int64_t *constants; /* bytes */
    uint32_t n_constants;
    const glow_partition_device *devices;
    uint32_t n_devices;
    uint32_t most_parts; /* 0: any number */
} glow_partition_problem;

typedef enum glow_partition_mode {
    /*
     * Each task on the first device that takes it and has memory for it; then whole
     * parts move while that lessens the time of one run, and while there are more
     * parts than may be.
     */
    GLOW_PARTITION_HETEROGENEOUS,
    /* The least bottleneck, which is the largest load of a device. */
    GLOW_PARTITION_BALANCE,
    /* The same with one part at most for each device: the stages of a pipeline. */
    GLOW_PARTITION_PIPELINE,
} glow_partition_mode;

typedef struct glow_partition {
    uint32_t *device; /* by task */
    uint32_t
        *part; /* by task: numbers in an order in which the parts can run */
    uint32_t n_parts;
    double *load;      /* by device: seconds */
    int64_t *memory;   /* by device: bytes */
    double bottleneck; /* the largest load */
    double total;      /* the sum of the loads: the time of one run */
    bool proved;       /* no partition has a lower bottleneck */
} glow_partition;

/*
 * Finds a partition; all arrays of `out` live in `a`.  The result depends on the problem
 * alone.  False where none was found that keeps the limits of memory and of parts.
 *
 * The least bottleneck of a pipeline is found by dynamic programming over the down-sets
 * of the tasks, which is exact where these are few, as in chains; otherwise cuts of the
 * given order are followed by moves and swaps of tasks.  Balance is proved by branch and
 * bound where the tasks are few.
 * Source: Tarnawski et al., Efficient Algorithms for Device Placement of DNN Graph
 * Operators, NeurIPS 2020.
 */
GLOW_API bool glow_partition_find(glow_arena *a,
                                  const glow_partition_problem *p,
                                  glow_partition_mode mode,
                                  glow_partition *out);

/*
 * Computes all of `out` from out->device, with part numbers that are in the arena;
 * false if a device does not take its task or a limit is exceeded, with the numbers all
 * the same.
 */
GLOW_API bool glow_partition_measure(glow_arena *a,
                                     const glow_partition_problem *p,
                                     glow_partition *out);

GLOW_END

#endif
