/*
 * -bisect: finds the failing pass and rewrite, then reduces the input.
 *
 * The first failing pass is found by running the pipeline with checks; then its
 * first failing rewrite, by bisection; then its input is reduced by delta
 * debugging.  Each run is a child process (trial.c), so that crashing passes
 * are found as well.
 */

#include <stdio.h>
#include <string.h>

#include "tools/glow-opt/bisect.h"

typedef struct bisection {
    opt *o;
    glow_module *m;
    trial *fault; /* how the pipeline failed */
    trial *last;
    trial_run run; /* of the failing pass alone */
} bisection;

static bool
has_failed(const bisection *b)
{
    return trial_same(b->last, b->fault);
}

/* Passes. */

/*
 * The number of passes that the pipeline runs; 0: unknown, it does not
 * terminate.
 */
static int
count_passes(bisection *b)
{
    trial_run all = b->run;

    all.semantics = false;
    trial_do(b->last, &all, NULL, NULL);
    return b->last->failed ? 0 : b->last->number;
}

static void
put_pass(const bisection *b, int count)
{
    const trial *t = b->fault;

    tool_progress_wipe();
    fprintf(stderr, "pass %d", t->number);
    if (count > 0)
        fprintf(stderr, " of %d", count);
    fprintf(stderr, " (%s%s%s)", t->pass, t->func[0] ? " on @" : "", t->func);
}

/* Rewrites. */

static bool
fails_with(bisection *b, int64_t limit)
{
    b->run.limit_pass = b->fault->pass;
    b->run.limit = limit;
    trial_do(b->last, &b->run, NULL, NULL);
    return has_failed(b);
}

/*
 * The least number of rewrites with which the pass fails; 0: it fails without
 * any.
 */
static int64_t
find_rewrite(bisection *b, int64_t count)
{
    int64_t good = 0, bad = 1;

    if (fails_with(b, 0))
        return 0;
    while (bad < count && !fails_with(b, bad)) {
        good = bad;
        bad *= 2;
    }
    if (bad > count)
        bad = count;
    while (bad - good > 1) {
        int64_t middle = good + (bad - good) / 2;

        if (fails_with(b, middle))
            bad = middle;
        else
            good = middle;
    }
    return bad;
}

/* Reports the failing rewrite; leaves the nodes that it touched in b->last. */
static void
blame_rewrite(bisection *b)
{
    int64_t count, which;

    b->run.limit_pass = NULL;
    trial_do(b->last, &b->run, NULL, NULL);
    count = b->last->signal ? INT32_MAX : b->last->rewrites;
    which = count > 0 ? find_rewrite(b, count) : 0;
    if (which == 0) {
        fprintf(stderr, ": it fails whatever its rewrites\n");
        b->last->names[0] = '\0';
        return;
    }
    fprintf(stderr, ": rewrite %lld", (long long)which);
    if (count < INT32_MAX)
        fprintf(stderr, " of %lld", (long long)count);
    fprintf(stderr, " of it\n");
    b->run.limit_pass = b->fault->pass;
    b->run.limit = which;
    trial_diff(b->last, &b->run);
    tool_print(stderr, "%s", b->last->diff);
}

/* The reduced test. */

static int
count_nodes(const glow_module *m)
{
    int count = 0;

    GLOW_FOR_EACH_FUNC(f, m)
        count += f->count;
    return count;
}

/*
 * The text of a single pass; without @NAME(...) if the module has one function.
 */
static const char *
plain_step(const bisection *b)
{
    const char *step = b->fault->step;
    const char *open = strchr(step, '(');

    return *step == '@' && open && !b->m->funcs->next
               ? glow_arena_strndup(b->o->tool.arena, open + 1,
                                    strlen(open) - 2)
               : step;
}

static void
put_test(bisection *b, glow_buf *out)
{
    opt as = *b->o;
    const char *text = plain_step(b);

    as.values.disable_pass = (tool_list){0};
    as.values.stop_after = 0;
    as.values.verify_semantics = b->run.semantics;
    as.values.verify_each = true;
    as.pipeline = glow_source_from(as.tool.ctx, "<passes>", text, strlen(text));
    glow_buf_printf(out, "// Reduced by glow-opt -bisect=%s:\n// ",
                    b->run.semantics ? "semantics" : "verify");
    put_failure(out, b->fault);
    glow_buf_putc(out, '\n');
    glow_buf_puts(out, opt_run_line(&as, b->m));
    glow_print(out, b->m, NULL);
}

static bool
make_test(bisection *b, glow_buf *out)
{
    const char *names = glow_arena_strdup(b->o->tool.arena, b->last->names);
    int before = count_nodes(b->m);
    reducer r = {.run = b->run,
                 .func = b->fault->func[0] ? b->fault->func : NULL,
                 .wanted = b->fault,
                 .last = b->last};

    r.run.limit_pass = NULL;
    trial_do(b->last, &r.run, NULL, NULL);
    if (!has_failed(b)) {
        fprintf(stderr, "the pass alone does not fail: no test is made\n");
        return true;
    }
    reduce(&r, names);
    trial_do(b->last, &r.run, NULL, NULL);
    *b->fault = *b->last;
    tool_progress_wipe();
    fprintf(stderr, "reduced from %d nodes to %d in %d runs\n", before,
            count_nodes(b->m), r.trials);
    put_test(b, out);
    return true;
}

/* The bisection. */

static bool
begin(bisection *b, opt *o, glow_module *m)
{
    b->o = o;
    b->m = m;
    b->fault = trial_new(o);
    b->last = b->fault ? trial_new(o) : NULL;
    b->run = (trial_run){
        .o = o,
        .m = m,
        .passes = o->pipeline->text,
        .semantics = strcmp(o->values.bisect, "semantics") == 0,
    };
    return b->last != NULL;
}

/* Reports the failure; the module is then the input of the failing pass. */
static void
blame_pass(bisection *b)
{
    trial_run first = b->run;
    glow_buf text = {.arena = b->o->tool.arena};

    put_pass(b, count_passes(b));
    first.until = b->fault->number;
    trial_advance(&first);
    b->run.passes = b->fault->step;
    b->run.only = b->fault->func[0] ? b->fault->func : NULL;
    blame_rewrite(b);
    put_failure(&text, b->fault);
    fprintf(stderr, "%s\n", text.text);
}

bool
put_bisection(opt *o, glow_module *m, glow_buf *out)
{
    bisection b;
    bool ok = begin(&b, o, m);

    tool_progress_begin(&o->tool);
    if (ok) {
        trial_do(b.fault, &b.run, NULL, NULL);
        if (!b.fault->failed && !*o->values.bisect) {
            b.run.semantics = true; /* -bisect alone: verifier first, then
                                     * semantics */
            trial_do(b.fault, &b.run, NULL, NULL);
        }
        b.fault->valid = true;
        if (!b.fault->failed) {
            fprintf(stderr, "nothing fails: %d passes were run\n",
                    b.fault->number);
        } else if (b.fault->number == 0) {
            ok = glow_error(o->tool.ctx, b.fault->id, "%s", b.fault->text);
        } else {
            o->bisect_code =
                b.run.semantics && strncmp(b.fault->id, "E041", 4) == 0
                    ? TOOL_DIFFERS
                    : TOOL_FAILED;
            blame_pass(&b);
            ok = make_test(&b, out);
        }
    }
    tool_progress_end();
    trial_free(b.last);
    trial_free(b.fault);
    return ok;
}
