/*
 * Entry points of the search for an order of tasks with a low peak.
 *
 * One declaration block for each algorithm, in the order in which they build on
 * each other.  All of them work on a `glow_order_net` and a `glow_order_walk`
 * (order.h).  Memory comes from the arena `a`.  Work is counted in steps: calls
 * take a pointer to the steps that remain and subtract those taken.
 */

#ifndef IRGEN_SCHEDULE_SEARCHES_H
#define IRGEN_SCHEDULE_SEARCHES_H

#include "irgen/schedule/order.h"

/* min_cut.c: the down-set with the fewest live bytes. */

/* Side of a task: outside the down-set, inside it, or free to be on either. */
enum { GLOW_ORDER_OUT, GLOW_ORDER_IN, GLOW_ORDER_FREE };

#define GLOW_ORDER_NO_TASK UINT32_MAX

/* A precedence edge that the problem does not have: `task` runs before the task
 * whose list holds this, or after it. */
typedef struct glow_order_extra_edge {
    uint32_t task;
    const struct glow_order_extra_edge *next;
} glow_order_extra_edge;

typedef struct glow_order_cut {
    uint8_t *side; /* by task; all are out at first */
    const glow_order_extra_edge *const *before; /* by task: predecessors beyond
                                                   those of the net, or NULL */
    int64_t work;                               /* arcs visited so far */
} glow_order_cut;

glow_order_cut *glow_order_cut_new(glow_arena *a, const glow_order_net *net);

/*
 * Finds a down-set with the least M among those that hold all tasks on side IN,
 * none on side OUT, and any of the `n` tasks `free`, which must be all tasks on
 * side FREE.  The tasks that are IN must form a down-set, with and without the
 * free ones.  Moves each free task to IN or OUT; of several least sets the
 * largest is chosen.  Buffers of the task `running`, unless it is
 * GLOW_ORDER_NO_TASK, are live in any case and do not count.  Returns M of the
 * set less M of the tasks that were IN before.
 */
int64_t glow_order_cut_least(glow_order_cut *cut, const uint32_t *free,
                             uint32_t n, uint32_t running);

/* True if some set with `task`, which was free, on `side` has at most `more`
 * bytes more than the least set found last.  The sides stay as they are. */
bool glow_order_cut_allows(glow_order_cut *cut, uint32_t task, uint8_t side,
                           int64_t more);

/* True if `task`, which was free, would change its side along with the task of
 * the last question, which was allowed. */
bool glow_order_cut_moves(const glow_order_cut *cut, uint32_t task);

/* Fixes `task` on `side` for later questions.  Returns the increase of the least
 * M, or INT64_MAX if no set has the task there. */
int64_t glow_order_cut_put(glow_order_cut *cut, uint32_t task, uint8_t side);

/* bound.c: lower bounds of the peak. */

/* The largest need of any single task: a lower bound for every order. */
int64_t glow_order_bound_by_task(glow_arena *a, const glow_order_net *net);

/* State shared by the questions for the live bytes while one task runs. */
typedef struct glow_order_bounder {
    const glow_order_net *net;
    glow_order_walk *walk; /* at the begin of the segment */
    glow_order_cut *cut;
    const glow_order_extra_edge *const *before, *const *after; /* by task:
                               extra predecessors and successors, or NULL */
    uint32_t *free, n_free; /* of the last question: tasks that may run on
                               either side; cut->side has the least set */
    int64_t *largest;
    uint32_t *stack;
} glow_order_bounder;

glow_order_bounder *glow_order_bounder_new(glow_arena *a,
                                           glow_order_walk *walk);

/* A lower bound for the live bytes while `task` runs, over all orders of the `n`
 * tasks `segment`, which is itself an order and begins at the walk's state. */
int64_t glow_order_bound_of(glow_order_bounder *b, const uint32_t *segment,
                            uint32_t n, uint32_t task);

/*
 * Raises `bound` to the largest lower bound of one of the `n` tasks `segment`,
 * an order that begins at the walk's state.  Tasks that need no more than the
 * bound in that order are skipped, and so is the rest once the steps are spent.
 */
int64_t glow_order_bound_by_cut(glow_arena *a, glow_order_walk *walk,
                                const uint32_t *segment, uint32_t n,
                                int64_t bound, int64_t *steps);

/* refute.c: proofs by shaving that no order keeps to a peak. */

typedef struct glow_order_refuter glow_order_refuter;

/* For the `n` tasks `segment`, an order that begins at the walk's state. */
glow_order_refuter *glow_order_refuter_new(glow_arena *a, glow_order_walk *walk,
                                           const uint32_t *segment, uint32_t n);

/*
 * True if a proof was found that no order of the segment has a peak of `most`
 * bytes or less.  Extra edges inferred for a higher peak are reused.
 */
bool glow_order_refute(glow_order_refuter *r, int64_t most, int64_t *steps);

/* best_first.c: best-first search over down-sets under a rising budget. */

typedef enum glow_order_end {
    GLOW_ORDER_FOUND,   /* an order of least peak */
    GLOW_ORDER_NONE,    /* no order has a peak below the incumbent's */
    GLOW_ORDER_STOPPED, /* the steps are spent; run again with more */
} glow_order_end;

/* The public part of a search; its memory serves one segment after another. */
typedef struct glow_order_best_first {
    glow_order_walk *walk; /* at the begin of the segment, after a start */
    double tie_weight;     /* bytes that one more task is worth when states are
                              compared; 0 compares by live bytes alone */
    int64_t budget;    /* proved lower bound of the peak; raised by the search,
                          and between runs by the caller */
    int64_t incumbent; /* a known peak; may be lowered between runs */
    uint32_t *tasks;   /* the order, if one was found */
} glow_order_best_first;

/* `order` is an order of all tasks, in which each segment is contiguous. */
glow_order_best_first *glow_order_best_first_new(glow_arena *a,
                                                 const glow_order_net *net,
                                                 const uint32_t *order);

/* Begins with the `n` tasks from position `first`; budget and incumbent are set
 * by the caller. */
void glow_order_best_first_start(glow_order_best_first *f, uint32_t first,
                                 uint32_t n);

/* Continues for about `*steps` steps, and subtracts those taken. */
glow_order_end glow_order_best_first_run(glow_order_best_first *f,
                                         int64_t *steps);

/* beam.c: beam search over down-sets. */

typedef struct glow_order_beam {
    glow_order_walk *walk; /* at the begin of the segment; left unchanged */
    uint32_t n_tasks;      /* of the segment: no other task can run before all
                              of them have */
    uint32_t width;        /* states kept of each size */
    int64_t floor;         /* peaks below this are as good as this */
    int64_t incumbent;     /* a known peak */
    int64_t steps;         /* that remain */
    uint32_t *tasks;       /* receives the order, if one is found */
} glow_order_beam;

/* False if no order with a peak below the incumbent's was found. */
bool glow_order_beam_run(glow_arena *a, glow_order_beam *beam);

/* local_search.c: large neighbourhood search over windows. */

/*
 * Improves the order of the `n` tasks `segment`, which begins at the walk's
 * state, until the steps are spent, no window can be improved, or its peak is at
 * most `bound`.  The result is never worse.
 */
void glow_order_improve(glow_arena *a, glow_order_walk *walk, uint32_t *segment,
                        uint32_t n, int64_t bound, int64_t *steps);

/* solve_region.c: an order of a region that is optimal in any context. */

/*
 * The first task of the net runs before all others and the last one after them;
 * `tasks` receives an order of those between.  False if `*steps` do not suffice.
 */
bool glow_order_solve_region(glow_arena *a, const glow_order_net *net,
                             uint32_t *tasks, int64_t *steps);

/* contract.c: regions contracted to chains of few tasks. */

typedef struct glow_order_contraction {
    const glow_order_net *net; /* fewer tasks, and the same least peak */
    glow_order_lists tasks;    /* by task of `net`: the tasks it stands for, in
                               order */
} glow_order_contraction;

/* NULL if no region can be contracted. */
glow_order_contraction *
glow_order_contract(glow_arena *a, const glow_order_net *net, int64_t *steps);

/* segments.c: series decomposition. */

/* A run of positions that holds the same set of tasks in every order. */
typedef struct glow_order_segment {
    uint32_t first, n; /* positions */
    glow_order_cost cost;
    const char *by; /* name of the rule or search that found its order */
} glow_order_segment;

typedef struct glow_order_segments {
    const glow_order_net *net;
    glow_order_walk *walk; /* of offers */
    uint32_t *tasks;       /* the incumbent order */
    glow_order_segment *items;
    uint32_t n;
} glow_order_segments;

glow_order_segments *glow_order_segments_new(glow_arena *a,
                                             const glow_order_net *net);

/*
 * release.c: the order `tasks`, in which tasks without successors, with their ancestors,
 * run as soon as that leaves no more bytes than before and needs at most `peak`.
 */
uint32_t *glow_order_release(glow_arena *a, const glow_order_net *net,
                             const uint32_t *tasks, int64_t peak,
                             int64_t *steps);

/*
 * Replaces the order of each segment by that of `tasks` where it is better: a
 * lower peak, or, if both peaks are at most `enough` or equal, a smaller area.
 */
void glow_order_segments_offer(glow_order_segments *segments,
                               const uint32_t *tasks, int64_t enough,
                               const char *by);

/* The segment with the highest peak. */
glow_order_segment *glow_order_segments_worst(glow_order_segments *segments);

/* search.c: all of the above on each segment. */

/*
 * Improves the incumbent order of `segments` within the steps; if `exact`, all
 * of them go to the search that proves.  Returns a lower bound of the peak of
 * every order, at least `bound`.  In fewer steps than the worst segment has tasks
 * nothing is searched, since no order of it would be complete.
 */
int64_t glow_order_search(glow_arena *a, glow_order_segments *segments,
                          bool exact, int64_t bound, int64_t *steps);

/* area.c: fewer live bytes over time at the same peak. */

/* Exchanges neighbours in the order `tasks`, no task of which needs more than
 * `peak` bytes before and after. */
void glow_order_reduce_area(glow_arena *a, const glow_order_net *net,
                            uint32_t *tasks, int64_t peak);

#endif
