/* Searches for partitions: assignments of tasks to devices, and their scores. */

#ifndef PASSES_PARTITION_SEARCH_H
#define PASSES_PARTITION_SEARCH_H

#include "glow/partition.h"

/* Lists by number: those of `i` are item[at[i]] to item[at[i + 1] - 1]. */
typedef struct part_lists {
    uint32_t *at;
    uint32_t *item;
} part_lists;

typedef struct part_search {
    const glow_partition_problem *p;
    glow_arena *arena;
    part_lists readers; /* tasks by value, ascending */
    part_lists defines; /* values by task */
    part_lists users;   /* tasks by constant, ascending */
    uint32_t *
        last_read; /* by value: its last reader; its definer if there is none */
    bool is_pipeline; /* one part at most for each device */
    /* Scratch of glow_part_judge. */
    uint32_t *left;  /* by device: tasks without a part */
    uint32_t *marks; /* by part or device */
    uint32_t stamp;
    int64_t *live, *peak; /* by part */
    int64_t steps;        /* task visits so far */
} part_search;

/* Limits of the effort, in task visits or states. */
enum {
    PART_MOST_STEPS = 40000000, /* of moves and swaps */
    PART_MOST_VISITS = 2000000, /* nodes of branch and bound */
};

/* False if the bytes of all values and constants overflow in sum. */
bool glow_part_search_open(part_search *s, glow_arena *a,
                           const glow_partition_problem *p);
/* Arrays for a partition, with `device` unset. */
void glow_part_new(const part_search *s, glow_partition *out);
void glow_part_copy(const part_search *s, glow_partition *to,
                    const glow_partition *from);
/* Numbers the parts of out->device, and measures.  False if a limit is exceeded. */
bool glow_part_judge(part_search *s, glow_partition *out);
/* True if `a` has a lower bottleneck than `b`, or the same and less in total. */
bool glow_part_is_better(const glow_partition *a, const glow_partition *b);

/* Seconds of a transfer between the host and device `d`. */
double glow_part_transfer(const part_search *s, uint32_t d, int64_t bytes);

/*
 * The heterogeneous partition: each task on the first device that takes it and has
 * memory for it, then moves of whole parts.  False if some task fits nowhere.
 */
bool glow_part_first_fit(part_search *s, glow_partition *out);
/*
 * The pipeline of least bottleneck over the cuts that are looked at; out->proved if
 * these are all.  False if there is none within the limits.
 */
bool glow_part_cut(part_search *s, glow_partition *out);
/* Moves and swaps of tasks between devices while `best` becomes better. */
void glow_part_improve(part_search *s, glow_partition *best);
/*
 * Branch and bound over all assignments, from `best`; `has` says if that is a
 * partition yet.  Sets best->proved if it came to an end.  True if there is one.
 */
bool glow_part_prove(part_search *s, glow_partition *best, bool has);

#endif
