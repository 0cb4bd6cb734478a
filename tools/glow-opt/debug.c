/*
 * -debug=PASS: the remarks and rewrites of some passes, on standard error as
 * they happen.
 *
 *     debug 12 fold-transpose @main
 *     - %b = Transpose(%a) {Shuffle: [1, 0]} : float<2 x 3>
 *     + %b.1 = ...
 *     = %x
 *
 * `-` is the rewritten node, `+` are the new nodes, `=` is the replacement.  A
 * pass that does not use the rewrite driver shows the diff of its whole run.
 */

#include <stdio.h>

#include "tools/glow-opt/opt.h"
#include "tools/glow-opt/shot.h"

struct debug_state {
    glow_arena *arena; /* of the current pass */
    shot *shot;        /* its input */
    int64_t shown;     /* rewrites of it */
};

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    opt *o = user;
    struct debug_state *d = o->debug;

    if (!list_has(&o->values.debug, p->name))
        return true;
    fprintf(stderr, "debug %d %s%s%s\n", number, p->name, f ? " @" : "",
            f ? f->name : "");
    glow_arena_reset(d->arena);
    d->shot = shot_take(d->arena, m, f);
    d->shown = 0;
    return true;
}

static void
put_line(glow_buf *b, const char *mark, const glow_node *n)
{
    glow_buf_puts(b, mark);
    glow_print_node(b, n, NULL);
    glow_buf_putc(b, '\n');
}

static void
rewrite(void *user, const glow_rewritten *r)
{
    opt *o = user;
    glow_buf b = {0};

    if (!list_has(&o->values.debug, r->pass->name))
        return;
    o->debug->shown++;
    put_line(&b, r->with ? "- " : "~ ", r->node);
    for (size_t i = r->n_built; i-- > 0;)
        put_line(&b, "+ ", r->built[i]);
    if (r->with) {
        glow_buf_puts(&b, "= ");
        glow_print_value(&b, r->with);
        glow_buf_putc(&b, '\n');
    }
    fwrite(b.text, 1, b.len, stderr);
    glow_buf_free(&b);
}

static void
remark(void *user, const glow_remark *r)
{
    opt *o = user;
    const glow_node *n = r->node;

    if (list_has(&o->values.debug, r->pass->name))
        fprintf(stderr, "%s: %s%s%s%s\n", r->done ? "done" : "missed",
                n ? "%" : "", n ? n->name : "", n ? ": " : "", r->text);
}

static bool
after(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number,
      glow_result result, double seconds)
{
    opt *o = user;
    struct debug_state *d = o->debug;
    glow_arena *a = d->arena;
    glow_buf b = {.arena = a};
    changes c;

    (void)number, (void)seconds;
    if (!list_has(&o->values.debug, p->name))
        return true;
    if (result == GLOW_CHANGED && d->shown == 0) {
        c = shot_diff(a, d->shot, shot_take(a, m, f));
        put_changes(&b, &c);
    }
    glow_buf_puts(&b, result == GLOW_CHANGED     ? "changed\n"
                      : result == GLOW_UNCHANGED ? "unchanged\n"
                                                 : "failed\n");
    fwrite(b.text, 1, b.len, stderr);
    return true;
}

void
add_debug(opt *o, instruments *list)
{
    if (o->values.debug.count == 0)
        return;
    o->debug = GLOW_NEW(o->tool.arena, struct debug_state);
    o->debug->arena = glow_arena_new();
    list->at[list->count++] = (glow_instrument){.user = o,
                                                .before = before,
                                                .after = after,
                                                .remark = remark,
                                                .rewrite = rewrite};
}

void
end_debug(opt *o)
{
    if (o->debug)
        glow_arena_free(o->debug->arena);
    o->debug = NULL;
}
