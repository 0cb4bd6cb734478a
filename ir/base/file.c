/*
 * Files: mapped inputs and atomic outputs.
 *
 * Inputs are mapped where they are regular files; only sources, which are text
 * and need a NUL after their end, are copied.
 *
 * An output is written beside its final place as `.glow-XXXXXX` and renamed
 * when all of it is on the disk, so that a reader sees the old file or the new
 * one, whole.  The names of unfinished files are kept in a table that a signal
 * handler can walk.
 */

#define _GNU_SOURCE /* O_PATH, syscall, strerror_r */

#include "ir/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

static bool
cannot_at(glow_context *ctx, glow_span at, const char *id, const char *doing,
          const char *path)
{
    char room[128];
    const char *why = strerror_r(errno, room, sizeof room);

    return glow_error_at(ctx, at, id, "cannot %s `%s`: %s", doing, path, why);
}

static bool
cannot(glow_context *ctx, const char *id, const char *doing, const char *path)
{
    return cannot_at(ctx, (glow_span){0}, id, doing, path);
}

/* Sources. */

const glow_source *
glow_source_from(glow_context *ctx, const char *name, const char *text,
                 size_t size)
{
    glow_source *s = GLOW_NEW(glow_context_arena(ctx), glow_source);

    *s = (glow_source){glow_arena_strdup(glow_context_arena(ctx), name), text,
                       size, 1};
    return s;
}

/* Reads until the end of any kind of file. */
static bool
read_all(int fd, glow_buf *b)
{
    char *chunk = NULL;
    enum { CHUNK = 1 << 16 };
    ssize_t n;

    chunk = glow_arena_alloc(b->arena, CHUNK);
    for (;;) {
        n = read(fd, chunk, CHUNK);
        if (n > 0)
            glow_buf_add(b, chunk, (size_t)n);
        else if (n == 0 || errno != EINTR)
            return n == 0;
    }
}

const glow_source *
glow_source_read(glow_context *ctx, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    glow_buf b = {.arena = glow_context_arena(ctx)};
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && read_all(fd, &b);

    if (!ok)
        cannot(ctx, "E0601", "read", path);
    if (fd >= 0 && !is_stdin)
        close(fd);
    if (!ok)
        return NULL;
    return glow_source_from(ctx, is_stdin ? "<stdin>" : path,
                            b.text ? b.text : "", b.len);
}

/* Mapping. */

typedef struct mapping {
    void *bytes;
    size_t size;
    int slot; /* in `mapped`, or -1 */
    char path[];
} mapping;

/* The table that glow_file_mapped_at searches. */
enum { MOST_MAPPED = 256 };
static _Atomic(mapping *) mapped[MOST_MAPPED];

static int
remember_mapping(mapping *m)
{
    for (int i = 0; i < MOST_MAPPED; i++) {
        mapping *none = NULL;

        if (atomic_compare_exchange_strong(&mapped[i], &none, m))
            return i;
    }
    return -1;
}

static const mapping *
mapping_at(uintptr_t at)
{
    for (int i = 0; i < MOST_MAPPED; i++) {
        const mapping *m = atomic_load(&mapped[i]);

        if (m && at >= (uintptr_t)m->bytes &&
            at - (uintptr_t)m->bytes < m->size)
            return m;
    }
    return NULL;
}

const char *
glow_file_mapped_at(const void *address)
{
    const mapping *m = mapping_at((uintptr_t)address);

    return m ? m->path : NULL;
}

void
glow_file_forget(const void *address, size_t size)
{
    const mapping *m = mapping_at((uintptr_t)address);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), at, end;

    if (!m)
        return;
    at = (size_t)((uintptr_t)address - (uintptr_t)m->bytes);
    end = m->size - at < size ? m->size : at + size;
    at = (at + page - 1) / page * page;
    end = end / page * page;
    if (at < end)
        madvise((char *)m->bytes + at, end - at, MADV_DONTNEED);
}

static void
unmap(void *user)
{
    mapping *m = user;

    if (m->slot >= 0)
        atomic_store(&mapped[m->slot], NULL);
    munmap(m->bytes, m->size);
    free(m);
}

/*
 * Wraps the result of mmap; unmaps it and returns NULL if there is no memory.
 */
static glow_data *
wrap_mapping(void *bytes, size_t size, const char *path)
{
    size_t length = strlen(path) + 1;
    mapping *m = bytes == MAP_FAILED ? NULL : malloc(sizeof *m + length);

    if (!m) {
        if (bytes != MAP_FAILED)
            munmap(bytes, size);
        return NULL;
    }
    *m = (mapping){.bytes = bytes, .size = size};
    memcpy(m->path, path, length);
    m->slot = remember_mapping(m);
    return glow_data_wrap(bytes, size, unmap, m);
}

/* A private mapping: later changes of the file by us stay in memory. */
static glow_data *
map(glow_context *ctx, glow_span at, int fd, const struct stat *st,
    const char *path)
{
    void *bytes;
    glow_data *d;

    if (st->st_size == 0)
        return glow_data_new(0);
    if ((uintmax_t)st->st_size > SIZE_MAX) {
        errno = EFBIG;
        cannot_at(ctx, at, "E0601", "map", path);
        return NULL;
    }
    bytes = mmap(NULL, (size_t)st->st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                 fd, 0);
    d = wrap_mapping(bytes, (size_t)st->st_size, path);
    if (!d)
        cannot_at(ctx, at, "E0601", "map", path);
    return d;
}

#ifdef MAP_POPULATE
#define MAP_SOON (MAP_PRIVATE | MAP_POPULATE)
#else
#define MAP_SOON MAP_PRIVATE
#endif

glow_data *
glow_file_map_open(int fd, size_t size, const char *path)
{
    return wrap_mapping(mmap(NULL, size, PROT_READ, MAP_SOON, fd, 0), size,
                        path);
}

/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
enum { READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK };

glow_data *
glow_file_map_at(glow_context *ctx, glow_span at, const char *path)
{
    struct stat st;
    glow_data *d = NULL;
    int fd = open(path, READ_FLAGS);

    if (fd < 0 || fstat(fd, &st) != 0)
        cannot_at(ctx, at, "E0601", "open", path);
    else if (!S_ISREG(st.st_mode))
        glow_error_at(ctx, at, "E0601", "`%s` is no regular file", path);
    else
        d = map(ctx, at, fd, &st, path);
    if (fd >= 0)
        close(fd);
    return d;
}

glow_data *
glow_file_map(glow_context *ctx, const char *path)
{
    return glow_file_map_at(ctx, (glow_span){0}, path);
}

/* Names that come from a model. */

/*
 * The reason why `name` cannot be the name of a file below a folder; NULL if it
 * can.
 */
static const char *
wrong_name(const char *name)
{
    if (name[0] == '\0')
        return "it is empty";
    if (name[0] == '/')
        return "it is absolute";
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += part[0] == '/';
        if (part[0] == '.' && part[1] == '.' &&
            (part[2] == '/' || part[2] == '\0'))
            return "it has a `..`";
    }
    return NULL;
}

/*
 * Opens `name` below `folder`, component by component, without following links:
 * a substitute for openat2.
 */
static int
open_by_parts(int folder, const char *name)
{
    int at = dup(folder);

    while (at >= 0) {
        const char *slash = strchr(name, '/');
        size_t length = slash ? (size_t)(slash - name) : strlen(name);
        char part[NAME_MAX + 1];
        int next;

        if (length > NAME_MAX) {
            close(at);
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, name, length);
        part[length] = '\0';
        next = length == 0 ? dup(at)
               : slash     ? openat(at, part,
                                    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                           : openat(at, part, READ_FLAGS | O_NOFOLLOW);
        close(at);
        if (!slash)
            return next;
        at = next;
        name = slash + 1;
    }
    return -1;
}

static int
open_beneath(int folder, const char *name)
{
#if defined(SYS_openat2)
    struct open_how how = {
        .flags = READ_FLAGS,
        .resolve =
            RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, folder, name, &how, sizeof how);

    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return (int)fd;
#endif
    return open_by_parts(folder, name);
}

static glow_data *
map_checked(glow_context *ctx, glow_span at, int fd, const char *folder,
            const char *name)
{
    struct stat st;

    if (fd < 0 && (errno == ELOOP || errno == EXDEV))
        glow_error_at(ctx, at, "E0603",
                      "`%s` is not opened: it is reached by a link, or leaves "
                      "`%s`",
                      name, folder);
    else if (fd < 0 || fstat(fd, &st) != 0)
        cannot_at(ctx, at, "E0601", "open", name);
    else if (!S_ISREG(st.st_mode))
        glow_error_at(ctx, at, "E0603",
                      "`%s` is not read: it is no regular file", name);
    else if (st.st_nlink > 1)
        glow_error_at(ctx, at, "E0603",
                      "`%s` is not read: it has %ju links, not 1", name,
                      (uintmax_t)st.st_nlink);
    else
        return map(ctx, at, fd, &st, name);
    return NULL;
}

glow_data *
glow_file_map_beneath_at(glow_context *ctx, glow_span at, const char *folder,
                         const char *name)
{
    const char *wrong = wrong_name(name);
    glow_data *d;
    int base, fd;

    if (wrong) {
        glow_error_at(ctx, at, "E0603", "`%s` is not opened: %s", name, wrong);
        return NULL;
    }
    base = open(folder[0] ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (base < 0) {
        cannot_at(ctx, at, "E0601", "open the folder", folder);
        return NULL;
    }
    fd = open_beneath(base, name);
    d = map_checked(ctx, at, fd, folder, name);
    if (fd >= 0)
        close(fd);
    close(base);
    return d;
}

glow_data *
glow_file_map_beneath(glow_context *ctx, const char *folder, const char *name)
{
    return glow_file_map_beneath_at(ctx, (glow_span){0}, folder, name);
}

/* Outputs. */

struct glow_output {
    glow_context *ctx;
    glow_arena *arena;
    const char *path; /* final path */
    const char *temporary;
    int fd;
    int error; /* the first errno */
    int slot;  /* in `unfinished`, or -1 */
};

/*
 * Temporary files that glow_output_cleanup removes.  A slot is a single
 * pointer, so a signal handler sees it set or unset.
 */
enum { MOST_UNFINISHED = 64 };
static const char *volatile unfinished[MOST_UNFINISHED];

static int
remember(const char *temporary)
{
    for (int i = 0; i < MOST_UNFINISHED; i++)
        if (!unfinished[i]) {
            unfinished[i] = temporary;
            return i;
        }
    return -1;
}

void
glow_output_cleanup(void)
{
    for (int i = 0; i < MOST_UNFINISHED; i++)
        if (unfinished[i])
            unlink(unfinished[i]);
}

/* Resolves links, so that the file behind them is replaced. */
static const char *
final_path(glow_arena *a, const char *path)
{
    char *real = realpath(path, NULL);
    const char *kept = glow_arena_strdup(a, real ? real : path);

    free(real);
    return kept;
}

/*
 * The permissions of the existing file, or those that open would give a new
 * one.
 */
static mode_t
final_mode(const char *path)
{
    struct stat st;
    mode_t mask;

    if (stat(path, &st) == 0)
        return st.st_mode & 0777;
    mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static void
output_end(glow_output *o)
{
    glow_arena_free(o->arena);
}

glow_output *
glow_output_begin(glow_context *ctx, const char *path)
{
    glow_arena *a = glow_arena_new();
    glow_output *o = GLOW_NEW(a, glow_output);
    const char *slash;
    struct stat st;
    char *name;

    o->ctx = ctx;
    o->arena = a;
    o->path = final_path(a, path);
    if (stat(o->path, &st) == 0 && !S_ISREG(st.st_mode)) {
        /* /dev/null or a pipe: written directly. */
        o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
        o->slot = -1;
    } else {
        slash = strrchr(o->path, '/');
        name =
            glow_arena_printf(a, "%.*s.glow-XXXXXX",
                              slash ? (int)(slash - o->path) + 1 : 0, o->path);
        o->fd = mkstemp(name);
        o->temporary = name;
        o->slot = o->fd < 0 ? -1 : remember(name);
    }
    if (o->fd >= 0)
        return o;
    cannot(ctx, "E0602", "write", path);
    output_end(o);
    return NULL;
}

static int
write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

void
glow_output_write(glow_output *o, const void *data, size_t size)
{
    if (o->error == 0)
        o->error = write_all(o->fd, data, size);
}

static void
forget(glow_output *o)
{
    if (o->slot >= 0)
        unfinished[o->slot] = NULL;
}

void
glow_output_discard(glow_output *o)
{
    close(o->fd);
    if (o->temporary)
        unlink(o->temporary);
    forget(o);
    output_end(o);
}

/* Sets the first error of a file that is written, once it is closed. */
static void
finish(glow_output *o)
{
    if (o->error == 0 && o->temporary &&
        (fchmod(o->fd, final_mode(o->path)) != 0 || fsync(o->fd) != 0))
        o->error = errno;
    if (close(o->fd) != 0 && o->error == 0)
        o->error = errno;
}

static void
put_in_place(glow_output *o)
{
    if (o->error == 0 && o->temporary && rename(o->temporary, o->path) != 0)
        o->error = errno;
}

/* Removes the file, under its temporary name or in its place. */
static void
take_back(const glow_output *o, bool in_place)
{
    if (o->temporary)
        unlink(in_place ? o->path : o->temporary);
}

bool
glow_output_commit_all(glow_output *const *outputs, int count)
{
    bool ok = true;
    int placed = 0;

    for (int i = 0; i < count; i++) {
        finish(outputs[i]);
        ok = ok && outputs[i]->error == 0;
    }
    for (; ok && placed < count; placed += ok) {
        put_in_place(outputs[placed]);
        ok = outputs[placed]->error == 0;
    }
    for (int i = 0; i < count; i++) {
        glow_output *o = outputs[i];

        if (!ok)
            take_back(o, i < placed);
        errno = o->error;
        if (o->error)
            cannot(o->ctx, "E0602", "write", o->path);
        forget(o);
        output_end(o);
    }
    return ok;
}

bool
glow_output_commit(glow_output *o)
{
    return glow_output_commit_all(&o, 1);
}

bool
glow_file_write(glow_context *ctx, const char *path, const void *data,
                size_t size)
{
    glow_output *o;

    if (strcmp(path, "-") == 0) {
        errno = write_all(STDOUT_FILENO, data, size);
        return errno == 0 || cannot(ctx, "E0602", "write", "standard output");
    }
    o = glow_output_begin(ctx, path);
    if (!o)
        return false;
    glow_output_write(o, data, size);
    return glow_output_commit(o);
}
