/*
 * Dumps: -print-before, -print-after, -print-changed.
 *
 * They are written to standard error.  Each is a module that parses (the
 * function, the functions that it calls, their storage), with large constants
 * elided.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-opt/opt.h"
#include "tools/glow-opt/shot.h"

struct print_state {
    /* the state before the current pass, for -print-changed */
    glow_buf before;
    glow_arena *arena;
    shot *shot;
};

bool
list_has(const tool_list *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i], name) == 0)
            return true;
    return false;
}

static void
put_dump(opt *o, glow_buf *b, glow_module *m, const glow_func *f)
{
    glow_print_options p = opt_print_options(o);

    p.elide_constants = true;
    p.only_func = f ? f->name : NULL;
    glow_print(b, m, &p);
}

static void
dump(opt *o, const char *when, const glow_pass *p, glow_module *m, glow_func *f,
     int number)
{
    glow_buf b = {0};

    glow_buf_printf(&b, "// %s %d: %s%s%s\n", when, number, p->name,
                    f ? " @" : "", f ? f->name : "");
    put_dump(o, &b, m, f);
    tool_put(stderr, b.text, b.len);
    glow_buf_free(&b);
}

static bool
wants_diff(const opt_values *v)
{
    return v->print_changed && strcmp(v->print_changed, "diff") == 0;
}

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    opt *o = user;
    const opt_values *v = &o->values;

    if (v->print_before_all || list_has(&v->print_before, p->name))
        dump(o, "before", p, m, f, number);
    if (wants_diff(v)) {
        glow_arena_reset(o->print->arena);
        o->print->shot = shot_take(o->print->arena, m, f);
    } else if (v->print_changed) {
        o->print->before.len = 0;
        put_dump(o, &o->print->before, m, f);
    }
    return true;
}

static void
dump_changed(opt *o, const glow_pass *p, glow_module *m, glow_func *f,
             int number)
{
    glow_buf now = {0};

    put_dump(o, &now, m, f);
    if (strcmp(now.text, o->print->before.text) != 0)
        dump(o, "changed by", p, m, f, number);
    glow_buf_free(&now);
}

static void
dump_diff(opt *o, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    glow_arena *a = o->print->arena;
    changes c = shot_diff(a, o->print->shot, shot_take(a, m, f));
    glow_buf b = {.arena = a};

    if (c.count == 0)
        return;
    glow_buf_printf(&b, "// changed by %d: %s%s%s: ", number, p->name,
                    f ? " @" : "", f ? f->name : "");
    put_change_counts(&b, &c);
    glow_buf_putc(&b, '\n');
    put_changes(&b, &c);
    tool_put(stderr, b.text, b.len);
}

static bool
after(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number,
      glow_result result, double seconds)
{
    opt *o = user;
    const opt_values *v = &o->values;

    (void)seconds;
    if (result == GLOW_FAILED)
        return true;
    if (v->print_after_all || list_has(&v->print_after, p->name))
        dump(o, "after", p, m, f, number);
    if (wants_diff(v))
        dump_diff(o, p, m, f, number);
    else if (v->print_changed)
        dump_changed(o, p, m, f, number);
    return true;
}

void
end_print(opt *o)
{
    if (o->print && o->print->arena)
        glow_arena_free(o->print->arena);
}

void
add_print(opt *o, instruments *list)
{
    const opt_values *v = &o->values;

    if (!v->print_before.count && !v->print_after.count &&
        !v->print_before_all && !v->print_after_all && !v->print_changed)
        return;
    o->print = GLOW_NEW(o->tool.arena, struct print_state);
    o->print->before.arena = o->tool.arena;
    if (wants_diff(v))
        o->print->arena = glow_arena_new();
    list->at[list->count++] =
        (glow_instrument){.user = o, .before = before, .after = after};
}
