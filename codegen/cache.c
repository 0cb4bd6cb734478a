/*
 * Cache on disk with least-recently-used eviction, keyed by hashes of inputs.
 *
 * An entry is KEY.obj: the bytes, then a line with their digest.  It is written
 * under a temporary name and renamed, so that no reader sees an incomplete
 * entry.  An entry that a crash or a full disk cut short does not have its
 * digest, and the first lookup that finds it removes it.  So no write has to be
 * flushed.
 *
 * Entries are code that is run, so folder and entries must belong to the user
 * or to root, and others must not have write permission.  Each call opens the
 * folder, checks the open descriptor, and names entries relative to it.  A
 * folder in use carries CACHEDIR.TAG; in a folder without it, no file is
 * removed.
 *
 * A hit sets the modification time of its entry to the present; eviction
 * removes the entry with the oldest time first.
 */

#include "codegen/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#define ABANDONED 3600 /* seconds until an unfinished file is abandoned */

/* As specified at bford.info/cachedir: backups leave out such a folder. */
#define TAG "CACHEDIR.TAG"
static const char tag_text[] =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Compiled networks of glow; all of it may be removed.\n";

/* The folder. */

/* The reason why a file with status `st` must not be used, or NULL. */
static const char *
mistrust(glow_arena *a, const struct stat *st)
{
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return glow_arena_printf(a, "it belongs to user %ju, not %ju",
                                 (uintmax_t)st->st_uid, (uintmax_t)geteuid());
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return glow_arena_printf(a, "others may write it, its mode is %04o",
                                 (unsigned)st->st_mode & 07777);
    return NULL;
}

/* Opens the folder, or returns -1 and in *why the reason, NULL if it is absent. */
static int
open_folder(const glow_cache *c, glow_arena *a, const char **why)
{
    int fd =
        c->folder ? open(c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct stat st;

    *why = NULL;
    if (fd < 0) {
        if (c->folder && errno != ENOENT)
            *why = glow_arena_strdup(a, strerror(errno));
        return -1;
    }
    *why =
        fstat(fd, &st) ? "it cannot be asked for its owner" : mistrust(a, &st);
    if (!*why)
        return fd;
    close(fd);
    return -1;
}

static bool
is_marked(int folder)
{
    char text[sizeof tag_text];
    int fd =
        openat(folder, TAG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

    if (fd >= 0)
        close(fd);
    /* Another process may be writing it: a prefix will do. */
    return n >= 0 && (size_t)n < sizeof text &&
           memcmp(text, tag_text, (size_t)n) == 0;
}

static bool
ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

/* True for KEY.obj and for KEY.PROCESS.NUMBER.new. */
static bool
is_ours(const char *name)
{
    size_t key = strspn(name, "0123456789abcdef");
    const char *end = name + key, *suffix;

    if (key != HEX)
        return false;
    if (strcmp(end, SUFFIX) == 0)
        return true;
    suffix = end + strspn(end, ".0123456789");
    return suffix > end && suffix[-1] == '.' &&
           strcmp(suffix - 1, UNFINISHED) == 0;
}

/* Calls `visit` for each name in the folder until it returns false. */
static bool
each_name(int folder, bool (*visit)(int folder, const char *name, void *user),
          void *user)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    bool ok = true;

    if (!d) {
        if (again >= 0)
            close(again);
        return false;
    }
    for (struct dirent *e; ok && (e = readdir(d));)
        ok = visit(folder, e->d_name, user);
    closedir(d);
    return ok;
}

static bool
may_lie_there(int folder, const char *name, void *user)
{
    (void)folder;
    (void)user;
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_ours(name);
}

void
glow_cache_open(glow_cache *c, glow_context *ctx, const char *folder,
                int64_t most)
{
    glow_arena *a = glow_arena_new();
    const char *why = NULL;
    const char *hint =
        "`chmod go-w` mends a mode, -cache-dir=DIR names another folder";
    int fd;

    *c = (glow_cache){.folder = folder, .most = most};
    fd = open_folder(c, a, &why);
    if (fd >= 0 && !is_marked(fd) && !each_name(fd, may_lie_there, NULL)) {
        why = "it holds other files, and no " TAG " of glow";
        hint = "an empty folder, or one that does not exist yet, will do";
    }
    if (fd >= 0)
        close(fd);
    if (why) {
        c->folder = NULL;
        glow_warning_hint(ctx, (glow_span){0}, "W0602", hint,
                          "the cache `%s` is not used: %s", folder, why);
    }
    glow_arena_free(a);
}

static const char *
name_of(glow_arena *a, const char *key)
{
    return glow_arena_printf(a, "%s%s", key, SUFFIX);
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

/* An open entry of `size` bytes with its trailer. */
typedef struct opened {
    int folder, fd;
    const char *name;
    size_t size;
} opened;

/* Closes `e`: sets its time to the present if it `is_good`, else removes it. */
static bool
close_entry(glow_cache *c, const opened *e, bool is_good)
{
    if (is_good)
        futimens(e->fd, NULL);
    else
        unlinkat(e->folder, e->name, 0);
    if (e->fd >= 0)
        close(e->fd);
    close(e->folder);
    if (is_good)
        atomic_fetch_add(&c->hits, 1);
    return is_good;
}

/* O_NONBLOCK: the opening of a FIFO must not wait for a writer. */
static bool
open_entry(glow_cache *c, glow_arena *a, const char *key, opened *e)
{
    const char *why;
    struct stat st;

    *e = (opened){.folder = open_folder(c, a, &why), .name = name_of(a, key)};
    if (e->folder < 0)
        return false;
    e->fd = openat(e->folder, e->name,
                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (e->fd < 0 && errno == ENOENT) {
        close(e->folder);
        return false;
    }
    if (e->fd < 0 || fstat(e->fd, &st) || !S_ISREG(st.st_mode) ||
        mistrust(a, &st) || st.st_size < TRAILER)
        return close_entry(c, e, false);
    e->size = (size_t)st.st_size;
    return true;
}

void *
glow_cache_find(glow_cache *c, glow_arena *a, const char *key, size_t *size)
{
    opened e;
    char *file;

    if (!open_entry(c, a, key, &e))
        return NULL;
    file = glow_arena_alloc(a, e.size);
    if (!close_entry(c, &e,
                     read_all(e.fd, file, e.size) && is_whole(file, e.size)))
        return NULL;
    *size = e.size - TRAILER;
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
    glow_data *file;
    opened e;

    if (!open_entry(c, a, key, &e))
        return NULL;
    file = glow_file_map_open(e.fd, e.size, c->folder);
    if (close_entry(c, &e, file && is_whole(glow_data_bytes(file), e.size)))
        return glow_data_wrap(glow_data_bytes(file), e.size - TRAILER, release,
                              file);
    if (file)
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

/* Creates the folder and its parents. */
static void
make_folder(glow_arena *a, const char *folder)
{
    char *path = glow_arena_strdup(a, folder);

    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(path, 0700);
            *p = '/';
        }
    mkdir(path, 0700);
}

enum { CREATE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };

/*
 * Opens the folder, after creating and tagging it where needed; -1: it cannot.
 */
static int
ready_folder(const glow_cache *c, glow_arena *a)
{
    const char *why;
    int folder = open_folder(c, a, &why), tag;

    if (folder < 0 && !why && c->folder) {
        make_folder(a, c->folder);
        folder = open_folder(c, a, &why);
    }
    if (folder < 0)
        return -1;
    tag = openat(folder, TAG, CREATE, 0600);
    if (tag >= 0) {
        write_all(tag, tag_text, sizeof tag_text - 1);
        close(tag);
    }
    return folder;
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

/* True if an entry of these parts fits into the size limit of the cache. */
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
    const char *name;
    bool ok;
    int folder, fd;

    if (!c->folder || !has_room(c, parts, count))
        return;
    folder = ready_folder(c, a);
    if (folder < 0)
        return;
    name = glow_arena_printf(a, "%s.%ld.%u%s", key, (long)getpid(),
                             atomic_fetch_add(&number, 1), UNFINISHED);
    fd = openat(folder, name, CREATE, 0600);
    if (fd >= 0) {
        ok = write_parts(fd, parts, count);
        ok = close(fd) == 0 && ok;
        if (ok && renameat(folder, name, folder, name_of(a, key)) == 0)
            atomic_fetch_add(&c->kept, 1);
        else
            unlinkat(folder, name, 0);
    }
    close(folder);
}

/* Trimming. */

typedef struct entry {
    const char *name;
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
    return strcmp(x->name, y->name);
}

static bool
is_abandoned(const struct stat *st)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - st->st_mtim.tv_sec > ABANDONED;
}

static bool
add_entry(int folder, const char *name, void *user)
{
    entries *e = user;
    struct stat st;

    if (!is_ours(name) || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) ||
        !S_ISREG(st.st_mode))
        return true;
    if (ends_with(name, UNFINISHED)) {
        if (is_abandoned(&st))
            unlinkat(folder, name, 0);
        return true;
    }
    e->at = glow_arena_grow(e->arena, e->at, e->count, &e->cap, sizeof *e->at);
    e->at[e->count++] =
        (entry){glow_arena_strdup(e->arena, name), st.st_size, st.st_mtim};
    e->bytes += st.st_size;
    return true;
}

void
glow_cache_trim(glow_cache *c)
{
    int64_t most = bound(c);
    entries e = {.arena = glow_arena_new()};
    const char *why;
    int folder = open_folder(c, e.arena, &why);

    if (folder >= 0 && is_marked(folder))
        each_name(folder, add_entry, &e);
    if (e.bytes > most) {
        glow_sort(e.at, e.count, sizeof *e.at, oldest_first);
        for (size_t i = 0; i < e.count && e.bytes > most; i++) {
            unlinkat(folder, e.at[i].name, 0);
            e.bytes -= e.at[i].size;
        }
    }
    if (folder >= 0)
        close(folder);
    glow_arena_free(e.arena);
}
