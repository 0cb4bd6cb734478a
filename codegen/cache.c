/*
 * Entries on disk.
 *
 * An entry is KEY.obj: the bytes, then a line with their digest.  It is written
 * under a name of its own and renamed, so that nobody sees half of it; whatever a
 * crash or a full disk leaves instead does not have its digest, and is removed
 * when it is met.  So nothing has to be flushed.
 *
 * What is found gets the present time, and what has the oldest goes first.
 */

#include "codegen/cache.h"

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
#include "ir/base/digest.h"
#include "ir/base/file.h"

#define HEX 64
#define TRAILER (HEX + 1) /* the digest and a newline */
#define SUFFIX ".obj"
#define UNFINISHED ".new"
#define ABANDONED 3600 /* seconds after which an unfinished file is nobody's */

static const char *
path_of(const glow_cache *c, glow_arena *a, const char *name,
        const char *suffix)
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
    const char *trailer = file + size - TRAILER;
    glow_digest d;
    char hex[HEX + 1];

    glow_digest_begin(&d);
    glow_digest_add(&d, file, size - TRAILER);
    glow_digest_hex(&d, hex);
    return memcmp(trailer, hex, HEX) == 0 && trailer[HEX] == '\n';
}

/* Opens an entry of `*size` bytes with its trailer, or returns -1. */
static int
open_entry(const glow_cache *c, const char *path, size_t *size)
{
    struct stat st;
    int fd = c->folder ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < TRAILER) {
        close(fd);
        unlink(path);
        return -1;
    }
    *size = (size_t)st.st_size;
    return fd;
}

/* Closes an entry: `is_good` has the present time, others go. */
static bool
close_entry(glow_cache *c, const char *path, int fd, bool is_good)
{
    if (is_good)
        futimens(fd, NULL);
    else
        unlink(path);
    close(fd);
    if (is_good)
        atomic_fetch_add(&c->hits, 1);
    return is_good;
}

void *
glow_cache_find(glow_cache *c, glow_arena *a, const char *key, size_t *size)
{
    const char *path = path_of(c, a, key, SUFFIX);
    int fd = open_entry(c, path, size);
    char *file;

    if (fd < 0)
        return NULL;
    file = glow_arena_alloc(a, *size);
    if (!close_entry(c, path, fd,
                     read_all(fd, file, *size) && is_whole(file, *size)))
        return NULL;
    *size -= TRAILER;
    return file;
}

static void
release(void *file)
{
    glow_data_unref(file);
}

glow_data *
glow_cache_map(glow_cache *c, glow_arena *a, const char *key)
{
    const char *path = path_of(c, a, key, SUFFIX);
    size_t size;
    int fd = open_entry(c, path, &size);
    glow_data *file = fd < 0 ? NULL : glow_file_map_open(fd, size);

    if (fd < 0)
        return NULL;
    if (!file) {
        close(fd);
        return NULL;
    }
    if (close_entry(c, path, fd, is_whole(glow_data_bytes(file), size)))
        return glow_data_wrap(glow_data_bytes(file), size - TRAILER, release,
                              file);
    glow_data_unref(file);
    return NULL;
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

/* A file that nobody else writes, or -1. */
static int
create(const glow_cache *c, glow_arena *a, const char *path)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int fd = open(path, flags, 0666);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    make_folder(a, c->folder);
    return open(path, flags, 0666);
}

static bool
write_parts(int fd, const glow_cache_part *parts, int count)
{
    char trailer[TRAILER + 1];
    glow_digest d;

    glow_digest_begin(&d);
    for (int i = 0; i < count; i++) {
        glow_digest_add(&d, parts[i].bytes, parts[i].size);
        if (!write_all(fd, parts[i].bytes, parts[i].size))
            return false;
    }
    glow_digest_hex(&d, trailer);
    trailer[HEX] = '\n';
    return write_all(fd, trailer, TRAILER);
}

static int64_t
bound(const glow_cache *c)
{
    return c->most ? c->most : GLOW_CACHE_BYTES;
}

/* May an entry of these parts be kept at all? */
static bool
has_room(const glow_cache *c, const glow_cache_part *parts, int count)
{
    int64_t left = bound(c) - TRAILER;

    for (int i = 0; i < count; i++) {
        if (left < 0 || parts[i].size > (size_t)left)
            return false;
        left -= (int64_t)parts[i].size;
    }
    return left >= 0;
}

void
glow_cache_keep(glow_cache *c, glow_arena *a, const char *key,
                const glow_cache_part *parts, int count)
{
    static atomic_uint number;
    const char *name, *path;
    bool ok;
    int fd;

    if (!c->folder || !has_room(c, parts, count))
        return;
    name = glow_arena_printf(a, "%s.%ld.%u", key, (long)getpid(),
                             atomic_fetch_add(&number, 1));
    path = path_of(c, a, name, UNFINISHED);
    fd = create(c, a, path);
    if (fd < 0)
        return;
    ok = write_parts(fd, parts, count);
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
add_entry(const glow_cache *c, entries *e, const char *name)
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
glow_cache_trim(glow_cache *c)
{
    int64_t most = bound(c);
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
