/* Interval sets of bytes: sorted runs that neither overlap nor touch. */

#ifndef GLOW_IR_VERIFY_BYTES_H
#define GLOW_IR_VERIFY_BYTES_H

#include "glow/base.h"

typedef struct bytes_run {
    int64_t begin, end;
} bytes_run;

typedef struct bytes_set {
    bytes_run *at;
    size_t count, cap;
} bytes_set;

/* Linear in the number of runs behind `r`. */
void glow_bytes_add(glow_arena *a, bytes_set *s, bytes_run r);
void glow_bytes_remove(glow_arena *a, bytes_set *s, bytes_run r);
/* Adds all of `more`; linear in the sizes of both sets. */
void glow_bytes_add_all(glow_arena *a, bytes_set *s, const bytes_set *more);

/* The first byte of `r` that is not in the set, or -1. */
int64_t glow_bytes_first_missing(const bytes_set *s, bytes_run r);
/* True if a byte of `r` is in the set. */
bool glow_bytes_meet(const bytes_set *s, bytes_run r);

#endif
