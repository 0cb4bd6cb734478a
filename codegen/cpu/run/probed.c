/*
 * Cache of probed targets: a ring of the last few.
 *
 * Probing generates code for the target, in a child process if options state it: 11 to 20
 * ms of a processor (Zen 4), more than the rest of loading a small network.  The result
 * depends on nothing but the target as it was before, which is the key: all bytes without
 * pointers, and the texts.
 */

#include "codegen/cpu/run/probed.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define KEPT 8          /* targets: four processors, each exact or not */
#define WORDS (1 << 12) /* bytes of triple, processor and features */

typedef struct entry {
    char words[WORDS]; /* "": there is no target */
    cpu_target before, after;
} entry;

static entry kept[KEPT];
static int next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Copies the pointers of `from`, which belong to one target. */
static void
copy_pointers(cpu_target *to, const cpu_target *from)
{
    to->machine = from->machine;
    to->layout = from->layout;
    to->triple = from->triple;
    to->cpu = from->cpu;
    to->features = from->features;
    to->name = from->name;
    to->width_text = from->width_text;
    to->tuned = from->tuned;
    to->choice = from->choice;
    to->remark = from->remark;
    to->remark_user = from->remark_user;
}

/* The key of `t`: `t` without pointers, and its texts; false if they are too long. */
static bool
make_key(const cpu_target *t, cpu_target *bytes, char *words)
{
    static const cpu_target none;
    int n =
        snprintf(words, WORDS, "%s\n%s\n%s", t->triple, t->cpu, t->features);

    memcpy(bytes, t, sizeof *t);
    copy_pointers(bytes, &none);
    return n > 0 && n < WORDS;
}

static const entry *
find(const cpu_target *bytes, const char *words)
{
    for (int i = 0; i < KEPT; i++)
        if (strcmp(kept[i].words, words) == 0 &&
            memcmp(&kept[i].before, bytes, sizeof *bytes) == 0)
            return &kept[i];
    return NULL;
}

bool
glow_cpu_find_probed(cpu_target *t)
{
    cpu_target bytes, own = *t;
    char words[WORDS];
    const entry *e;

    if (!make_key(t, &bytes, words))
        return false;
    pthread_mutex_lock(&lock);
    e = find(&bytes, words);
    if (e) {
        *t = e->after;
        copy_pointers(t, &own);
    }
    pthread_mutex_unlock(&lock);
    return e != NULL;
}

void
glow_cpu_keep_probed(const cpu_target *before, const cpu_target *after)
{
    static const cpu_target none;
    cpu_target bytes;
    char words[WORDS];
    entry *e = NULL;

    if (!make_key(before, &bytes, words))
        return;
    pthread_mutex_lock(&lock);
    if (!find(&bytes, words)) {
        e = &kept[next];
        next = (next + 1) % KEPT;
        memcpy(e->words, words, sizeof words);
        memcpy(&e->before, &bytes, sizeof bytes);
        e->after = *after;
        copy_pointers(&e->after, &none);
    }
    pthread_mutex_unlock(&lock);
}
