/*
 * Trials: a pipeline run in a child process.
 *
 * A forked child has a copy of its parent's memory: changes by passes to the
 * module and the context end with it, and a crash is an ordinary result.  It
 * returns its outcome in shared memory.
 */

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/glow-opt/bisect.h"
#include "tools/glow-opt/shot.h"

#define SEED 1
#define MEMO_BYTES ((size_t)256 << 20)

trial *
trial_new(opt *o)
{
    void *at = mmap(NULL, sizeof(trial), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) {
        glow_error(o->tool.ctx, "E0601", "-bisect: no shared memory");
        return NULL;
    }
    return at;
}

void
trial_free(trial *t)
{
    if (t)
        munmap(t, sizeof *t);
}

/* Functions of the child. */

typedef struct watcher {
    trial *t;
    const trial_run *run;
    glow_pipeline *pipeline;
} watcher;

static void
copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

static void
catch_error(const glow_diag *d, void *user)
{
    trial *t = user;

    if (!t || d->severity != GLOW_ERROR || t->id[0])
        return;
    copy_text(t->id, sizeof t->id, d->id);
    copy_text(t->text, sizeof t->text, d->message);
}

static bool
is_left_out(const trial_run *r, const glow_func *f, int number)
{
    if (r->until > 0 && number >= r->until)
        return true;
    return r->only && f && strcmp(r->only, f->name) != 0;
}

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    const watcher *w = user;
    glow_buf step = {0};

    (void)m;
    if (is_left_out(w->run, f, number))
        return false;
    if (!w->t)
        return true;
    w->t->number = number;
    glow_pipeline_print_step(&step, w->pipeline, f ? f->name : NULL);
    copy_text(w->t->pass, sizeof w->t->pass, p->name);
    copy_text(w->t->func, sizeof w->t->func, f ? f->name : NULL);
    copy_text(w->t->step, sizeof w->t->step, step.text);
    glow_buf_free(&step);
    return true;
}

/* Runs the passes on r->m; `t` NULL: unwatched. */
static bool
run_here(const trial_run *r, trial *t)
{
    opt *o = r->o;
    const glow_source *text =
        glow_source_from(o->tool.ctx, "<passes>", r->passes, strlen(r->passes));
    glow_pipeline *p =
        glow_pipeline_parse_for(o->tool.ctx, o->tool.arena, text, o->backend);
    watcher w = {t, r, p};
    instruments list = {0};

    if (!p)
        return false;
    add_disable(o, &list);
    list.at[list.count++] = (glow_instrument){.user = &w, .before = before};
    if (r->semantics && t)
        list.at[list.count++] = glow_semantics_instrument(
            glow_semantics_new(o->tool.ctx, SEED, MEMO_BYTES));
    return glow_pipeline_run(p, r->m,
                             &(glow_pipeline_options){
                                 .verify_each = t != NULL,
                                 .backend = o->backend,
                                 .code = &o->code,
                                 .target = o->machine,
                                 .instruments = list.at,
                                 .n_instruments = list.count,
                                 .limit_pass = r->limit_pass,
                                 .limit = r->limit,
                                 .stop_after = (int)o->values.stop_after,
                             });
}

/* Signals end a child as they would have ended it without handlers. */
static void
begin_child(const trial_run *r, trial *t)
{
    static const int fatal[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};

    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    glow_context_set_sink(r->o->tool.ctx, catch_error, t);
}

/* Waits for the child `pid`. */
static void
end_child(trial *t, pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        continue;
    if (WIFSIGNALED(status))
        t->signal = WTERMSIG(status);
    else if (!t->ended)
        t->signal = SIGABRT;
    t->failed |= t->signal != 0;
}

/* Clears `t` and forks; 0 in the child. */
static pid_t
begin(trial *t, const trial_run *r)
{
    memset(t, 0, sizeof *t);
    fflush(NULL);

    pid_t pid = fork();

    if (pid < 0) {
        copy_text(t->text, sizeof t->text, "no process could be made");
        t->failed = t->ended = true;
    } else if (pid == 0) {
        begin_child(r, t);
    }
    return pid;
}

static int runs; /* for the line of progress */

void
trial_do(trial *t, const trial_run *r, trial_edit edit, void *user)
{
    pid_t pid = begin(t, r);

    if (pid > 0) {
        tool_progress("bisect: run %d, of %s", ++runs, r->passes);
        end_child(t, pid);
    }
    if (pid != 0)
        return;
    if (!edit || (edit(r->m, user) && glow_verify(r->m))) {
        int64_t rewrites = count_rewrites(r->o->tool.ctx);

        t->valid = true;
        t->id[0] = '\0';
        t->failed = !run_here(r, t);
        t->rewrites = count_rewrites(r->o->tool.ctx) - rewrites;
    }
    t->ended = true;
    _exit(0);
}

void
trial_advance(const trial_run *r)
{
    glow_quiet q;

    glow_quiet_begin(r->o->tool.ctx, &q);
    run_here(r, NULL);
    glow_quiet_end(r->o->tool.ctx, &q);
}

void
trial_diff(trial *t, const trial_run *r)
{
    pid_t pid = begin(t, r);
    trial_run less = *r;
    glow_arena *a = r->o->tool.arena;
    glow_buf text = {.arena = a}, names = {.arena = a};

    if (pid > 0)
        end_child(t, pid);
    if (pid != 0)
        return;
    less.m = glow_module_clone(r->m);
    less.limit--;
    run_here(&less, NULL);
    run_here(r, NULL);

    changes c =
        shot_diff(a, shot_take(a, less.m, NULL), shot_take(a, r->m, NULL));

    put_changes(&text, &c);
    for (size_t i = 0; i < c.count; i++)
        if (c.items[i].name)
            glow_buf_printf(&names, "%s\n", c.items[i].name);
    copy_text(t->diff, sizeof t->diff, text.text);
    copy_text(t->names, sizeof t->names, names.text);
    t->ended = true;
    _exit(0);
}

bool
trial_same(const trial *x, const trial *y)
{
    return x->valid && x->failed && x->signal == y->signal &&
           (x->signal || strcmp(x->id, y->id) == 0) &&
           strcmp(x->pass, y->pass) == 0;
}

void
put_failure(glow_buf *b, const trial *t)
{
    if (t->signal)
        glow_buf_printf(b, "crashed by signal %d", t->signal);
    else
        glow_buf_printf(b, "error[%s]: %s", t->id, t->text);
}
