/*
 * -verify-diagnostics: compares reports with expectations in comments of the
 * input.
 *
 *     // expected-error@+1 [E0203] {{names axis 7}}
 *     %y = Transpose(@x) {Shuffle: [0, 7]} : float<2 x 3>
 *
 * `error` may be `warning`, `remark` or `note`.  Without `@` the report is
 * expected on the line of the comment; `@+N` and `@-N` count from it, `@N` is a
 * line of the file, `@none` means no line of the input at all.  The id may be
 * left out of notes, which have none.  The text is a part of the message.
 *
 * Every error, warning and remark must be expected, and every expectation must
 * be met; notes may come without.
 */

#ifndef GLOW_TOOLS_GLOW_OPT_VERIFY_DIAGNOSTICS_H
#define GLOW_TOOLS_GLOW_OPT_VERIFY_DIAGNOSTICS_H

#include "glow/diag.h"

typedef struct expectations expectations;

/* Reads the expectations of `source`; allocated in `a`. */
expectations *expectations_read(glow_arena *a, const glow_source *source);

/* A sink for glow_context_set_sink; `user` is the expectations. */
void expectations_sink(const glow_diag *d, void *user);

/*
 * Appends a line to `out` for each expectation that was not met or is
 * malformed, and for each unexpected report; true if there are none.
 */
bool expectations_check(const expectations *x, glow_buf *out);

#endif
