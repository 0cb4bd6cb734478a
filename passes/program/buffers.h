/*
 * Who touches which bytes: what the passes over programs ask about buffers.
 *
 * An access is an operand, a result, the predicate or the scratch of an
 * instruction that computes; scratch counts as written.  What only names bytes
 * (tensorview) or bounds their life (alloc, weight, dealloc) is none.
 */

#ifndef PASSES_PROGRAM_BUFFERS_H
#define PASSES_PROGRAM_BUFFERS_H

#include "glow/ops.h"

/* Of an alloc or weight, by the mark of its instruction. */
typedef struct buffer_info {
    uint32_t first, last; /* marks of the accesses; NO_ACCESS: there is none */
    uint32_t last_write;
    uint32_t uses; /* of it and of its views, as each_access counts them */
    glow_node *dealloc;
} buffer_info;

#define NO_ACCESS UINT32_MAX

/* Numbers the instructions in order by their marks, and finds the accesses. */
buffer_info *buffers_measure(glow_arena *a, glow_func *f);

/* True unless the instruction only names bytes or bounds their life. */
bool computes(const glow_node *n);

/* The instructions of one operator that always run, in order; how many. */
int find_instrs(glow_arena *a, const glow_func *f, const glow_op *op,
                glow_node ***out);

/* True if `v` is an alloc's or a weight's own result. */
bool is_alloc(const glow_value *v);
/* An alloc's, which may lie in another buffer: its place is not fixed. */
bool is_loose(const glow_value *v);
bool is_weight(const glow_value *v);

/* The instruction that frees the buffer of an alloc. */
glow_node *dealloc_of(const glow_value *alloc);

/* True if writing `v` writes every byte of its base that can be read. */
bool covers(const glow_value *v);

/* Can an access of `a` touch a byte of `b`?  True if in doubt. */
bool may_overlap(const glow_value *a, const glow_value *b);

/* Do `a` and `b` name the same bytes in the same layout? */
bool same_bytes(const glow_value *a, const glow_value *b);

/*
 * Calls `fn` for each access of `buffer` (an alloc or weight) and of all views
 * of it until `fn` returns false; returns whether none did.  `v` is what the
 * instruction names.  Gives up, and returns false, where there are more than
 * MOST_ACCESSES: who asks for each user of a buffer must not take a time that
 * grows with the square of their number.
 */
#define MOST_ACCESSES 1000
typedef bool (*access_fn)(void *user, glow_node *n, const glow_value *v,
                          bool writes);
bool each_access(glow_arena *scratch, const glow_value *buffer, access_fn fn,
                 void *user);

/*
 * True if `buffer` had more uses than each_access looks at when it was
 * measured: who asks for each of them need not count anew.
 */
bool is_crowded(const buffer_info *infos, const glow_value *buffer);

/* Are all direct views of `buffer` defined after the mark? */
bool views_after(const glow_value *buffer, uint32_t mark);

/*
 * Could the alloc `from` live in `to`, given that instruction `at` hands its
 * content over: reads it whole and leaves it, or what it becomes, in `to`?
 * `reads_on`: the content stays what it was, so that `from` may be read later
 * as long as `to` is not written.  Sets *last to from's last access.
 */
bool can_live_in(glow_arena *scratch, const buffer_info *infos,
                 const glow_value *from, const glow_value *to,
                 const glow_node *at, bool reads_on, glow_node **last);

/*
 * Lets all users of the alloc `from` use `to` instead, where the types are
 * equal, else a view of it, and erases `from`.  What is moved or made takes the
 * mark of its neighbour.
 */
void live_in(glow_value *from, glow_value *to, glow_node *last);

/* Lets a buffer live until behind `last`; nothing if it is a weight. */
void keep_alive(glow_value *buffer, glow_node *last);

/* A view of all of `v` as `type`, right before `where`. */
glow_value *view_as(glow_value *v, const glow_type *type, glow_node *where);

/* Erases an alloc that only its dealloc uses, and that. */
void erase_buffer(glow_value *alloc);

#endif
