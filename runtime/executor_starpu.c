/*
 * The executor on StarPU: each command that can run is a task, if a slot of its lane is
 * free, and takes the worker that StarPU gives it.  StarPU's workers poll, so they are
 * paused while there is no task.
 *
 * A device is a lane and no worker of its own: Debian's StarPU has four at most, and a run
 * that hangs must not stop other devices.
 */

#define _GNU_SOURCE /* nftw, setenv */

#include "glow/diag.h"
#include "runtime/executor.h"
#include "runtime/heap.h"
#include "runtime/queue.h"

#ifdef GLOW_STARPU_LIBRARY

#include <dlfcn.h>
#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The library. */

#define CALLS(X)          \
    X(starpu_conf_init)   \
    X(starpu_init)        \
    X(starpu_pause)       \
    X(starpu_resume)      \
    X(starpu_task_create) \
    X(starpu_task_submit)

static struct {
#define MEMBER(name) __typeof__(name) *name;
    CALLS(MEMBER)
#undef MEMBER
} calls;

static char failure[256];

/* Variables that StarPU and hwloc read while they start, unless the user has set them. */
static const char *const settings[][2] = {
    {"STARPU_SILENT", "1"},
    {"STARPU_WORKERS_NOBIND",
     "1"},                       /* processes of devices share the processors */
    {"HWLOC_COMPONENTS", "-gl"}, /* which asks displays for their cards */
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static int
remove_entry(const char *path, const struct stat *s, int type, struct FTW *f)
{
    (void)s, (void)type, (void)f;
    return remove(path);
}

/* Starts StarPU, which writes rates of buses into a folder that is not kept. */
static int
start(void)
{
    char folder[] = "/tmp/glow-starpu-XXXXXX";
    bool own[SETTINGS], own_home = !getenv("STARPU_HOME");
    struct starpu_conf conf;
    int rc;

    if (own_home && !mkdtemp(folder))
        return -errno;
    if (own_home)
        setenv("STARPU_HOME", folder, 0);
    for (int i = 0; i < SETTINGS; i++) {
        own[i] = !getenv(settings[i][0]);
        setenv(settings[i][0], settings[i][1], 0);
    }
    calls.starpu_conf_init(&conf);
    conf.ncuda = 0;
    conf.nopencl = 0;
    if (!conf.sched_policy_name)
        conf.sched_policy_name = "eager";
    rc = calls.starpu_init(&conf);
    for (int i = 0; i < SETTINGS; i++)
        if (own[i])
            unsetenv(settings[i][0]);
    if (own_home) {
        unsetenv("STARPU_HOME");
        nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    }
    return rc;
}

/* Loads and starts StarPU for the life of the process; sets `failure` if it cannot. */
static void
begin(void)
{
    void *found[sizeof calls / sizeof(void *)];
    static const char *const names[] = {
#define NAME(name) #name,
        CALLS(NAME)
#undef NAME
    };
    void *library = dlopen(GLOW_STARPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int rc;

    if (!library) {
        snprintf(failure, sizeof failure, "%s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        found[i] = dlsym(library, names[i]);
        if (!found[i]) {
            snprintf(failure, sizeof failure, "%s has no %s",
                     GLOW_STARPU_LIBRARY, names[i]);
            return;
        }
    }
    memcpy(&calls, found, sizeof calls);
    rc = start();
    if (rc == 0)
        calls.starpu_pause();
    else
        snprintf(failure, sizeof failure, "it does not start: %s",
                 strerror(-rc));
}

/* The executor. */

typedef struct slot {
    run_lane *lane;
    int number;
} slot;

struct run_lane {
    run_queue *queue;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t changed;
    int waiting; /* wakes that have no slot yet */
    int n_free, count;
    slot **free, *slots;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int tasks; /* that were submitted and have not ended */

static void run_slot(void *buffers[], void *user);

static struct starpu_codelet codelet = {
    .where = STARPU_CPU,
    .cpu_funcs = {run_slot},
    .name = "command",
};

/* Adds `more` to the tasks; the workers are awake while there are any. */
static void
count_tasks(int more)
{
    pthread_mutex_lock(&lock);
    if (tasks == 0)
        calls.starpu_resume();
    tasks += more;
    if (tasks == 0)
        calls.starpu_pause();
    pthread_mutex_unlock(&lock);
}

static void
submit(slot *s)
{
    struct starpu_task *t = calls.starpu_task_create();

    if (!t)
        glow_no_memory(sizeof *t);
    t->cl = &codelet;
    t->cl_arg = s;
    count_tasks(1);
    if (calls.starpu_task_submit(t) != 0)
        glow_no_memory(sizeof *t);
}

static void
run_slot(void *buffers[], void *user)
{
    slot *s = user;
    run_lane *l = s->lane;
    bool again;

    (void)buffers;
    glow_run_queue_step(l->queue, s->number, NULL);
    pthread_mutex_lock(&l->lock);
    again = l->waiting > 0;
    if (again)
        l->waiting--;
    else
        l->free[l->n_free++] = s;
    if (l->n_free == l->count)
        pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    if (again)
        submit(s);
    count_tasks(-1);
}

static glow_executor *
open_executor(glow_context *ctx)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, begin);
    if (!failure[0])
        return glow_heap_new(sizeof(glow_executor));
    glow_error_hint(ctx, (glow_span){0}, "E1014",
                    "apt-get install libstarpu-1.3-9, or -executor=threads",
                    "StarPU cannot be used: %s", failure);
    return NULL;
}

static void
close_executor(glow_executor *x)
{
    free(x);
}

static run_lane *
add_lane(glow_executor *x, run_queue *q, int slots)
{
    run_lane *l = glow_heap_new(sizeof *l);

    (void)x;
    l->queue = q;
    l->count = slots;
    l->slots = glow_heap_new((size_t)slots * sizeof *l->slots);
    l->free = glow_heap_new((size_t)slots * sizeof(slot *));
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    for (; l->n_free < slots; l->n_free++) {
        l->slots[l->n_free] = (slot){l, l->n_free};
        l->free[l->n_free] = &l->slots[l->n_free];
    }
    return l;
}

static void
wake(run_lane *l)
{
    slot *s = NULL;

    pthread_mutex_lock(&l->lock);
    if (l->n_free > 0)
        s = l->free[--l->n_free];
    else
        l->waiting++;
    pthread_mutex_unlock(&l->lock);
    if (s)
        submit(s);
}

static void
end_lane(run_lane *l)
{
    pthread_mutex_lock(&l->lock);
    l->waiting = 0;
    while (l->n_free < l->count)
        pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l->free);
    free(l->slots);
    free(l);
}

const run_executor_kind glow_run_executor_starpu = {
    .name = "starpu",
    .open = open_executor,
    .close = close_executor,
    .add = add_lane,
    .wake = wake,
    .end = end_lane,
};

#else

static glow_executor *
open_executor(glow_context *ctx)
{
    glow_error_hint(ctx, (glow_span){0}, "E1014",
                    "configure it with -Dstarpu=enabled",
                    "StarPU cannot be used: this build has none");
    return NULL;
}

const run_executor_kind glow_run_executor_starpu = {
    .name = "starpu",
    .open = open_executor,
};

#endif
