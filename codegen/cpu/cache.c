/*
 * Objects on disk.
 *
 * An entry is KEY.obj: a line with the hash of the bytes, then the bytes.  It is
 * written under a name of its own and renamed, so that nobody sees half of it;
 * whatever a crash or a full disk leaves instead does not have its hash, and is
 * removed when it is met.  So nothing has to be flushed.
 *
 * What is found gets the present time, and what has the oldest goes first.
 */

#include "codegen/cpu/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "glow/text.h"
#include "ir/base/sha256.h"

#define HEX 64
#define HEADER (HEX + 1) /* the hash and a newline */
#define SUFFIX ".obj"
#define UNFINISHED ".new"
#define ABANDONED 3600 /* seconds after which an unfinished file is nobody's */

static const char *
path_of(const cpu_cache *c, glow_arena *a, const char *name, const char *suffix)
{
    return glow_arena_printf(a, "%s/%s%s", c->folder, name, suffix);
}

/* Finding. */

static bool
read_all(int fd, char *to, size_t size)
{
    while (size > 0) {
        ssize_t n = read(fd, to, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        size -= (size_t)n;
    }
    return true;
}

static bool
is_whole(const char *file, size_t size)
{
    char hex[HEX + 1];

    glow_sha256_hex(file + HEADER, size - HEADER, hex);
    return memcmp(file, hex, HEX) == 0 && file[HEX] == '\n';
}

/* The contents of an entry, or NULL if it is none. */
static char *
read_entry(int fd, glow_arena *a, size_t *size)
{
    struct stat st;
    char *file;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < HEADER)
        return NULL;
    *size = (size_t)st.st_size;
    file = glow_arena_alloc(a, *size);
    return read_all(fd, file, *size) && is_whole(file, *size) ? file : NULL;
}

void *
glow_cpu_cache_find(cpu_cache *c, glow_arena *a, const char *key, size_t *size)
{
    const char *path;
    char *file;
    int fd;

    if (!c->folder)
        return NULL;
    path = path_of(c, a, key, SUFFIX);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    file = read_entry(fd, a, size);
    if (file)
        futimens(fd, NULL);
    else
        unlink(path);
    close(fd);
    if (!file)
        return NULL;
    atomic_fetch_add(&c->hits, 1);
    *size -= HEADER;
    return file + HEADER;
}

/* Keeping. */

static bool
write_all(int fd, const char *from, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, from, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        size -= (size_t)n;
    }
    return true;
}

/* Makes the folder and those that it lies in. */
static void
make_folder(glow_arena *a, const char *folder)
{
    char *path = glow_arena_strdup(a, folder);

    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(path, 0777);
            *p = '/';
        }
    mkdir(path, 0700);
}

void
glow_cpu_cache_keep(cpu_cache *c, glow_arena *a, const char *key,
                    const void *bytes, size_t size)
{
    static atomic_uint number;
    char header[HEADER + 1];
    const char *name, *path;
    bool ok;
    int fd;

    if (!c->folder)
        return;
    name = glow_arena_printf(a, "%s.%ld.%u", key, (long)getpid(),
                             atomic_fetch_add(&number, 1));
    path = path_of(c, a, name, UNFINISHED);
    glow_sha256_hex(bytes, size, header);
    header[HEX] = '\n';
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == ENOENT) {
        make_folder(a, c->folder);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (fd < 0)
        return;
    ok = write_all(fd, header, HEADER) && write_all(fd, bytes, size);
    ok = close(fd) == 0 && ok;
    if (ok && rename(path, path_of(c, a, key, SUFFIX)) == 0)
        atomic_fetch_add(&c->kept, 1);
    else
        unlink(path);
}

/* Trimming. */

typedef struct entry {
    const char *path;
    int64_t size;
    struct timespec used;
} entry;

typedef struct entries {
    glow_arena *arena;
    entry *at;
    size_t count, cap;
    int64_t bytes;
} entries;

static int
oldest_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->path, y->path);
}

static bool
ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

static bool
is_abandoned(const struct stat *st)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - st->st_mtim.tv_sec > ABANDONED;
}

static void
add_entry(const cpu_cache *c, entries *e, const char *name)
{
    const char *path = path_of(c, e->arena, name, "");
    struct stat st;

    if (lstat(path, &st) || !S_ISREG(st.st_mode))
        return;
    if (ends_with(name, UNFINISHED)) {
        if (is_abandoned(&st))
            unlink(path);
        return;
    }
    e->at = glow_arena_grow(e->arena, e->at, e->count, &e->cap, sizeof *e->at);
    e->at[e->count++] = (entry){path, st.st_size, st.st_mtim};
    e->bytes += st.st_size;
}

void
glow_cpu_cache_trim(cpu_cache *c)
{
    int64_t most = c->most ? c->most : CPU_CACHE_BYTES;
    entries e = {0};
    DIR *folder = c->folder ? opendir(c->folder) : NULL;

    if (!folder)
        return;
    e.arena = glow_arena_new();
    for (struct dirent *d; (d = readdir(folder));)
        if (ends_with(d->d_name, SUFFIX) || ends_with(d->d_name, UNFINISHED))
            add_entry(c, &e, d->d_name);
    closedir(folder);
    if (e.bytes > most) {
        qsort(e.at, e.count, sizeof *e.at, oldest_first);
        for (size_t i = 0; i < e.count && e.bytes > most; i++) {
            unlink(e.at[i].path);
            e.bytes -= e.at[i].size;
        }
    }
    glow_arena_free(e.arena);
}
