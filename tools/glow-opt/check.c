/* -disable-pass, -verify-roundtrip-each, and the lines of -v. */

#include <stdio.h>
#include <string.h>

#include "tools/glow-opt/opt.h"

/* -disable-pass */

static bool
is_enabled(void *user, const glow_pass *p, glow_module *m, glow_func *f,
           int number)
{
    const opt *o = user;

    (void)m, (void)f, (void)number;
    return !list_has(&o->values.disable_pass, p->name);
}

void
add_disable(opt *o, instruments *list)
{
    if (o->values.disable_pass.count > 0)
        list->at[list->count++] =
            (glow_instrument){.user = o, .before = is_enabled};
}

/* -verify-roundtrip-each: print(parse(print(m))) is print(m). */

static bool
report_difference(opt *o, const glow_pass *p, const glow_buf *one,
                  const glow_buf *two)
{
    size_t at = 0;
    int line = 1;

    while (at < one->len && at < two->len && one->text[at] == two->text[at])
        line += one->text[at++] == '\n';
    return glow_error(o->tool.ctx, "E0415",
                      "after pass '%s' the module prints and reads back as "
                      "another: they differ in line %d",
                      p->name, line);
}

static bool
check_roundtrip(void *user, const glow_pass *p, glow_module *m, glow_func *f,
                int number, glow_result result, double seconds)
{
    opt *o = user;
    glow_buf one = {0};
    glow_buf two = {0};
    bool ok = false;

    (void)f, (void)number, (void)seconds;
    if (result == GLOW_FAILED)
        return true;
    glow_print(&one, m, NULL);

    const glow_source *s =
        glow_source_from(o->tool.ctx, "<roundtrip>", one.text, one.len);
    glow_parse_options options = opt_parse_options(o, s);

    options.folder = m->weights ? m->weights->base : options.folder;
    options.allow_unknown_ops = true;

    glow_module *again = glow_parse(o->tool.ctx, s, &options);

    if (!again) {
        glow_error(o->tool.ctx, "E0415",
                   "after pass '%s' the module prints as text that cannot be "
                   "read back",
                   p->name);
    } else {
        glow_print(&two, again, NULL);
        ok = one.len == two.len && memcmp(one.text, two.text, one.len) == 0;
        if (!ok)
            report_difference(o, p, &one, &two);
        glow_module_free(again);
    }
    glow_buf_free(&two);
    glow_buf_free(&one);
    return ok;
}

void
add_roundtrip(opt *o, instruments *list)
{
    if (o->values.verify_roundtrip_each)
        list->at[list->count++] =
            (glow_instrument){.user = o, .after = check_roundtrip};
}

/* -v */

static void
note(void *user, const glow_pass *p, const char *text)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", p->name, text);
}

static void
step(void *user, const glow_pass *p, const glow_pass *needed_by)
{
    (void)user;
    if (needed_by == p)
        fprintf(stderr, "step: %s, for the backend\n", p->name);
    else
        fprintf(stderr, "step: %s, for %s\n", p->name, needed_by->name);
}

void
add_notes(opt *o, instruments *list)
{
    if (o->tool.common.verbose)
        list->at[list->count++] =
            (glow_instrument){.user = o, .note = note, .step = step};
}
