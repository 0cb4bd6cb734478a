/* The current pass, for the line of tool_progress. */

#include "tools/glow-opt/opt.h"

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    (void)user, (void)m;
    tool_progress("%d: %s%s%s", number, p->name, f ? " @" : "",
                  f ? f->name : "");
    return true;
}

static bool
after(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number,
      glow_result result, double seconds)
{
    const opt *o = user;

    (void)m, (void)result, (void)seconds;
    if (o->semantics)
        tool_progress("%d: running @%s, as %s has left it", number,
                      f ? f->name : "", p->name);
    return true;
}

void
add_progress(opt *o, instruments *list)
{
    tool_progress_begin(&o->tool);
    list->at[list->count++] =
        (glow_instrument){.user = o, .before = before, .after = after};
}
