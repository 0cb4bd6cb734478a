/* Which pass is at work, on a terminal, once it takes a while. */

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tools/glow-opt/opt.h"

#define PATIENCE 1 /* seconds */

static bool shown;

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    const time_t *start = user;

    (void)m;
    if (time(NULL) - *start > PATIENCE) {
        fprintf(stderr, "\r\x1b[K%d: %s%s%s", number, p->name, f ? " @" : "",
                f ? f->name : "");
        shown = true;
    }
    return true;
}

void
end_progress(void)
{
    if (shown)
        fprintf(stderr, "\r\x1b[K");
    shown = false;
}

void
add_progress(opt *o, instruments *list)
{
    time_t *start = GLOW_NEW(o->tool.arena, time_t);

    *start = time(NULL);
    if (isatty(STDERR_FILENO) && !o->tool.common.verbose)
        list->at[list->count++] =
            (glow_instrument){.user = start, .before = before};
}
