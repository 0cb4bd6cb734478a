/* Objects on disk: kept, found, refused when damaged, bounded, shared. */

#include "cpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "codegen/cache.h"
#include "codegen/hash.h"
#include "ir/base/digest.h"

typedef struct folder {
    char path[64];
    glow_arena *arena;
    glow_cache cache;
} folder;

static void
open_folder(folder *f)
{
    *f = (folder){.path = "/tmp/glow-cache-XXXXXX", .arena = glow_arena_new()};
    assert_non_null(mkdtemp(f->path));
    f->cache.folder = f->path;
}

/* A whole key that begins with `text`. */
static const char *
key(const char *text)
{
    static char room[65];

    memset(room, '0', 64);
    memcpy(room, text, strlen(text));
    return room;
}

/* Calls `visit` for each file but the tag; returns how many there are. */
static int
each_file(const folder *f, void (*visit)(const char *path))
{
    DIR *d = opendir(f->path);
    int count = 0;

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];

        if (e->d_name[0] == '.' || strcmp(e->d_name, "CACHEDIR.TAG") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", f->path, e->d_name);
        if (visit)
            visit(path);
        count++;
    }
    closedir(d);
    return count;
}

static void
remove_file(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static void
close_folder(folder *f)
{
    char tag[128];

    chmod(f->path, 0700);
    each_file(f, remove_file);
    snprintf(tag, sizeof tag, "%s/CACHEDIR.TAG", f->path);
    unlink(tag);
    assert_int_equal(rmdir(f->path), 0);
    glow_arena_free(f->arena);
}

static bool
finds(folder *f, const char *begin, const char *text)
{
    size_t size = 0;
    const char *bytes = glow_cache_find(&f->cache, f->arena, key(begin), &size);

    return bytes && size == strlen(text) && memcmp(bytes, text, size) == 0;
}

static void
keep(folder *f, const char *begin, const char *text)
{
    glow_cache_part part = {text, strlen(text)};

    glow_cache_keep(&f->cache, f->arena, key(begin), &part, 1);
}

static void
what_is_kept_is_found(void **state)
{
    folder f;

    (void)state;
    open_folder(&f);
    assert_false(finds(&f, "aa", "one"));
    keep(&f, "aa", "one");
    keep(&f, "bb", "");
    assert_true(finds(&f, "aa", "one"));
    assert_true(finds(&f, "bb", ""));
    assert_false(finds(&f, "cc", "one"));
    assert_int_equal(f.cache.hits, 2);
    assert_int_equal(f.cache.kept, 2);
    keep(&f, "aa", "another");
    assert_true(finds(&f, "aa", "another"));
    assert_int_equal(each_file(&f, NULL), 2);
    close_folder(&f);
}

static void
parts_are_kept_in_a_row(void **state)
{
    const glow_cache_part parts[] = {{"one", 3}, {"", 0}, {"two", 3}};
    glow_data *d;
    folder f;

    (void)state;
    open_folder(&f);
    assert_null(glow_cache_map(&f.cache, f.arena, key("aa")));
    glow_cache_keep(&f.cache, f.arena, key("aa"), parts, 3);
    assert_true(finds(&f, "aa", "onetwo"));
    d = glow_cache_map(&f.cache, f.arena, key("aa"));
    assert_non_null(d);
    assert_int_equal(glow_data_size(d), 6);
    assert_memory_equal(glow_data_bytes(d), "onetwo", 6);
    keep(&f, "aa", "another"); /* whoever has it goes on with it */
    assert_memory_equal(glow_data_bytes(d), "onetwo", 6);
    glow_data_unref(d);
    close_folder(&f);
}

static void
the_folder_is_made(void **state)
{
    folder f;
    char deep[256], *end;
    struct stat st;

    (void)state;
    open_folder(&f);
    snprintf(deep, sizeof deep, "%s/a/b", f.path);
    f.cache.folder = deep;
    keep(&f, "aa", "one");
    assert_true(finds(&f, "aa", "one"));
    assert_int_equal(stat(deep, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    end = deep + strlen(deep);
    sprintf(end, "/%s.obj", key("aa"));
    assert_int_equal(stat(deep, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    unlink(deep);
    strcpy(end, "/CACHEDIR.TAG");
    assert_int_equal(unlink(deep), 0);
    for (int i = 0; i < 3 && (end = strrchr(deep, '/')); i++) {
        *end = '\0';
        rmdir(deep);
    }
    assert_int_equal(mkdir(f.path, 0700), 0);
    close_folder(&f);
}

/* Damage. */

static void
cut_file(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size / 2), 0);
}

static void
flip_last(const char *path)
{
    FILE *file = fopen(path, "r+b");
    int c;

    assert_non_null(file);
    fseek(file, -1, SEEK_END);
    c = fgetc(file);
    fseek(file, -1, SEEK_END);
    fputc(c ^ 1, file);
    fclose(file);
}

static void
empty_file(const char *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void
damaged_entries_are_not_found(void **state)
{
    void (*const damage[])(const char *) = {cut_file, flip_last, empty_file};

    (void)state;
    for (size_t i = 0; i < COUNT(damage); i++) {
        folder f;

        open_folder(&f);
        keep(&f, "aa", "some bytes that mean something");
        each_file(&f, damage[i]);
        assert_false(finds(&f, "aa", "some bytes that mean something"));
        assert_int_equal(each_file(&f, NULL), 0);
        keep(&f, "aa", "some bytes that mean something");
        each_file(&f, damage[i]);
        assert_null(glow_cache_map(&f.cache, f.arena, key("aa")));
        assert_int_equal(each_file(&f, NULL), 0); /* and are removed */
        keep(&f, "aa", "again");
        assert_true(finds(&f, "aa", "again"));
        close_folder(&f);
    }
}

static void
a_folder_that_cannot_be_written_is_none(void **state)
{
    folder f;

    (void)state;
    open_folder(&f);
    keep(&f, "aa", "one");
    f.cache.folder = "/proc/no/such";
    keep(&f, "aa", "one");
    assert_false(finds(&f, "aa", "one"));
    f.cache.folder = f.path;
    if (geteuid() != 0) { /* root writes anywhere */
        assert_int_equal(chmod(f.path, 0500), 0);
        keep(&f, "bb", "two");
        assert_true(finds(&f, "aa", "one"));
        assert_false(finds(&f, "bb", "two"));
    }
    f.cache.folder = NULL;
    keep(&f, "aa", "one");
    glow_cache_trim(&f.cache);
    assert_false(finds(&f, "aa", "one"));
    close_folder(&f);
}

/* The bound. */

static void
set_age(const folder *f, const char *name, int seconds)
{
    struct timespec t[2] = {{.tv_sec = time(NULL) - seconds}};
    char path[256];

    t[1] = t[0];
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void
what_was_used_longest_ago_goes(void **state)
{
    static const char *const keys[] = {"a0", "a1", "a2", "a3"};
    folder f;

    (void)state;
    open_folder(&f);
    for (int i = 0; i < 4; i++) {
        char name[80];

        keep(&f, keys[i], "0123456789");
        snprintf(name, sizeof name, "%s.obj", key(keys[i]));
        set_age(&f, name, 1000 - i);
    }
    glow_cache_trim(&f.cache); /* there is room */
    assert_int_equal(each_file(&f, NULL), 4);
    assert_true(finds(&f, "a0", "0123456789")); /* and is new again */
    f.cache.most = 2 * 75;                      /* a hash, a newline, and ten */
    glow_cache_trim(&f.cache);
    assert_int_equal(each_file(&f, NULL), 2);
    assert_true(finds(&f, "a0", "0123456789"));
    assert_true(finds(&f, "a3", "0123456789"));
    close_folder(&f);
}

static void
more_than_all_is_not_kept(void **state)
{
    folder f;

    (void)state;
    open_folder(&f);
    f.cache.most = 75;
    keep(&f, "a0", "0123456789");
    keep(&f, "a1", "0123456789 ");
    glow_cache_trim(&f.cache);
    assert_int_equal(each_file(&f, NULL), 1);
    assert_true(finds(&f, "a0", "0123456789"));
    close_folder(&f);
}

static void
touch(const folder *f, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", f->path, name);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    set_age(f, name, 100000);
}

static void
what_was_not_finished_goes_in_time(void **state)
{
    char name[2][80];
    folder f;

    (void)state;
    open_folder(&f);
    keep(&f, "aa", "one");
    for (int i = 0; i < 2; i++) {
        snprintf(name[i], sizeof name[i], "%s.17.%d.new", key("aa"), i);
        touch(&f, name[i]);
    }
    set_age(&f, name[0], 10);
    glow_cache_trim(&f.cache);
    assert_int_equal(each_file(&f, NULL), 2);
    close_folder(&f);
}

/* Other names, and folders without the tag, are no business of trimming. */
static void
only_entries_are_removed(void **state)
{
    static const char *const others[] = {"a.obj", "b.new", "c.1.2.new"};
    char name[80], tag[128];
    folder f;

    (void)state;
    open_folder(&f);
    keep(&f, "aa", "one");
    for (size_t i = 0; i < COUNT(others); i++)
        touch(&f, others[i]);
    snprintf(name, sizeof name, "%s.17.0.new", key("bb"));
    touch(&f, name);
    snprintf(tag, sizeof tag, "%s/CACHEDIR.TAG", f.path);
    assert_int_equal(unlink(tag), 0);
    f.cache.most = 1;
    glow_cache_trim(&f.cache);
    assert_int_equal(each_file(&f, NULL), 5);
    f.cache.most = 100;
    keep(&f, "cc", "one"); /* which marks the folder */
    f.cache.most = 1;
    glow_cache_trim(&f.cache);
    assert_int_equal(each_file(&f, NULL), 3);
    close_folder(&f);
}

/* Who may write entries. */

static const char *last_warning;
static char last_text[512];

static void
remember(const glow_diag *d, void *user)
{
    (void)user;
    last_warning = d->id;
    snprintf(last_text, sizeof last_text, "%s", d->message);
}

/* Does a cache in the folder come with a warning that has this text? */
static bool
is_refused(glow_context *ctx, const folder *f, const char *why)
{
    glow_cache c;

    last_warning = NULL;
    glow_cache_open(&c, ctx, f->path, 0);
    if (!c.folder)
        assert_string_equal(last_warning, "W0602");
    return !c.folder && strstr(last_text, why);
}

static void
a_folder_that_others_may_write_is_refused(void **state)
{
    glow_context *ctx = glow_context_new();
    folder f;

    (void)state;
    open_folder(&f);
    glow_context_set_sink(ctx, remember, NULL);
    assert_false(is_refused(ctx, &f, ""));
    keep(&f, "aa", "one");
    assert_false(is_refused(ctx, &f, ""));
    for (int mode = 0702; mode <= 0720; mode += 016) {
        chmod(f.path, (mode_t)mode);
        assert_true(is_refused(ctx, &f, "others may write it, its mode is 07"));
        assert_false(finds(&f, "aa", "one"));
        keep(&f, "bb", "two");
        assert_int_equal(each_file(&f, NULL), 1);
    }
    chmod(f.path, 0755);
    assert_true(finds(&f, "aa", "one"));
    if (geteuid() == 0) {
        assert_int_equal(chown(f.path, 12345, (gid_t)-1), 0);
        assert_true(is_refused(ctx, &f, "it belongs to user 12345, not 0"));
        assert_false(finds(&f, "aa", "one"));
        assert_int_equal(chown(f.path, 0, (gid_t)-1), 0);
    }
    touch(&f, "other");
    assert_false(is_refused(ctx, &f, "")); /* it is marked */
    close_folder(&f);
    glow_context_free(ctx);
}

static void
a_folder_of_other_files_is_refused(void **state)
{
    glow_context *ctx = glow_context_new();
    folder f;

    (void)state;
    open_folder(&f);
    glow_context_set_sink(ctx, remember, NULL);
    touch(&f, "notes.obj");
    assert_true(is_refused(ctx, &f, "it holds other files"));
    each_file(&f, remove_file);
    touch(&f, "CACHEDIR.TAG"); /* being written */
    assert_false(is_refused(ctx, &f, ""));
    close_folder(&f);
    glow_context_free(ctx);
}

static void
open_mode(const char *path)
{
    assert_int_equal(chmod(path, 0620), 0);
}

static void
give_away(const char *path)
{
    assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
}

static void
replace_by_link(const char *path)
{
    char other[512];

    snprintf(other, sizeof other, "%s.real", path);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
}

/* Opening it would wait for a writer. */
static void
replace_by_fifo(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void
entries_of_others_are_not_found(void **state)
{
    void (*const harm[])(const char *) = {open_mode, replace_by_link,
                                          replace_by_fifo, give_away};

    (void)state;
    for (size_t i = 0; i < COUNT(harm) - (geteuid() != 0); i++) {
        folder f;

        open_folder(&f);
        keep(&f, "aa", "one");
        each_file(&f, harm[i]);
        assert_false(finds(&f, "aa", "one"));
        keep(&f, "aa", "one");
        assert_true(finds(&f, "aa", "one"));
        close_folder(&f);
    }
}

/* Several processes keep, find and trim in one folder. */
static void
processes_share(void **state)
{
    enum { PROCESSES = 4, ROUNDS = 200 };
    pid_t child[PROCESSES];
    folder f;

    (void)state;
    open_folder(&f);
    f.cache.most = 900;
    for (int p = 0; p < PROCESSES; p++) {
        child[p] = fork();
        if (child[p])
            continue;
        for (int i = 0; i < ROUNDS; i++) {
            char begin[16], text[64];
            size_t size;
            const char *bytes;

            snprintf(begin, sizeof begin, "%02d", i % 13);
            snprintf(text, sizeof text, "the bytes of key %s", begin);
            bytes = glow_cache_find(&f.cache, f.arena, key(begin), &size);
            if (bytes && (size != strlen(text) || memcmp(bytes, text, size)))
                _exit(1);
            keep(&f, begin, text);
            if (i % 7 == 0)
                glow_cache_trim(&f.cache);
        }
        _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 0;

        waitpid(child[p], &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    glow_cache_trim(&f.cache);
    assert_true(each_file(&f, NULL) <= 10);
    close_folder(&f);
}

/* Networks. */

/* Whole to the cache, but no code. */
static void
forge(const char *path)
{
    static const char text[] = "no object";
    char hex[65];
    FILE *file = fopen(path, "wb");
    glow_digest d;

    assert_non_null(file);
    glow_digest_begin(&d);
    glow_digest_add(&d, text, sizeof text);
    glow_digest_hex(&d, hex);
    fwrite(text, 1, sizeof text, file);
    fprintf(file, "%s\n", hex);
    fclose(file);
}

static void
networks_are_loaded_from_it(void **state)
{
    glow_target_options o = {0};
    const glow_backend *cpu;
    glow_executable *x;
    int64_t code;
    fixture t = {0};
    folder f;
    int files;

    (void)state;
    open_folder(&f);
    begin(&t);
    save(&t, GLOW_BUILD_PLAIN(t.b, relu,
                              GLOW_IN(input(&t, GLOW_FLOAT, GLOW_DIMS_OF(9)))));
    run_pipeline(&t, "schedule,irgen,alloc");
    cpu = glow_find_backend(t.ctx, "cpu");
    o.cache = f.path;
    x = cpu->load(glow_find_func(t.m, "main"), &o);
    assert_non_null(x);
    code = cpu->sizes(x).code;
    cpu->unload(x);
    files = each_file(&f, NULL);
    assert_true(files >= 2); /* the step and the rest */

    o.threads = 2; /* the step is the same, and not split */
    x = cpu->load(glow_find_func(t.m, "main"), &o);
    assert_non_null(x);
    cpu->unload(x);
    assert_int_equal(each_file(&f, NULL), files + 1);

    o.threads = 1;
    each_file(&f, flip_last);
    x = cpu->load(glow_find_func(t.m, "main"), &o);
    assert_non_null(x);
    assert_int_equal(cpu->sizes(x).code, code);
    cpu->unload(x);

    each_file(&f, forge);
    assert_null(cpu->load(glow_find_func(t.m, "main"), &o));
    end(&t);
    close_folder(&f);
}

/* Constants that an earlier load left, and others in their place. */
static void
constants_are_taken_in_their_layout(void **state)
{
    const glow_backend *cpu;
    glow_target_options o = {0};
    glow_executable *x, *y;
    fixture t = {.constants = true};
    const char *layout, *again;
    char *other;
    int64_t size;

    (void)state;
    begin(&t);
    save(&t,
         GLOW_BUILD_PLAIN(t.b, add,
                          GLOW_IN(input(&t, GLOW_FLOAT, GLOW_DIMS_OF(9)),
                                  weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(9)))));
    run_pipeline(&t, "schedule,irgen,alloc");
    cpu = glow_find_backend(t.ctx, "cpu");
    x = cpu->load(glow_find_func(t.m, "main"), &o);
    assert_non_null(x);
    size = cpu->sizes(x).constants;
    assert_true(size >= 36);
    o.constants = glow_data_new((size_t)size);
    memcpy(glow_data_bytes(o.constants), cpu->constants(x, &layout),
           (size_t)size);
    o.layout = layout;
    y = cpu->load(glow_find_func(t.m, "main"), &o);
    assert_non_null(y);
    assert_ptr_equal(cpu->constants(y, &again), glow_data_bytes(o.constants));
    assert_string_equal(layout, again);
    cpu->unload(y);
    other = strdup(layout);
    other[0] = other[0] == '0' ? '1' : '0';
    o.layout = other;
    assert_null(cpu->load(glow_find_func(t.m, "main"), &o));
    glow_data_unref(o.constants);
    free(other);
    cpu->unload(x);
    end(&t);
}

/* Digests. */

static void
digest_of(const unsigned char *bytes, size_t size, size_t step, char hex[65])
{
    glow_digest d;

    glow_digest_begin(&d);
    for (size_t at = 0; at < size; at += step)
        glow_digest_add(&d, bytes + at, step < size - at ? step : size - at);
    glow_digest_hex(&d, hex);
}

/* All sizes up to some blocks, in pieces of all sizes; and each bit matters. */
static void
digests_tell_contents_apart(void **state)
{
    enum { MOST = 200 };
    unsigned char bytes[MOST];
    char hex[MOST][65], again[65];

    (void)state;
    for (int i = 0; i < MOST; i++)
        bytes[i] = (unsigned char)(i * 37 % 64 < 20 ? 0 : i * 101);
    for (size_t n = 0; n < MOST; n++) {
        digest_of(bytes, n, MOST, hex[n]);
        for (size_t k = 0; k < n; k++)
            assert_string_not_equal(hex[k], hex[n]);
        for (size_t step = 1; step < n; step += 7) {
            digest_of(bytes, n, step, again);
            assert_string_equal(again, hex[n]);
        }
        for (size_t bit = 0; bit < 8 * n; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            digest_of(bytes, n, MOST, again);
            assert_string_not_equal(again, hex[n]);
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
}

static void
hashes_are_of_lists_and_not_of_threads(void **state)
{
    enum { SIZE = 9 << 20 };
    unsigned char *bytes = test_calloc(SIZE, 1);
    const glow_hash_part lists[][2] = {{{"ab", 2}, {"c", 1}},
                                       {{"a", 1}, {"bc", 2}},
                                       {{"abc", 3}, {NULL, 0}},
                                       {{bytes, SIZE}, {bytes, 1}},
                                       {{bytes, SIZE - 1}, {bytes, 2}}};
    char hex[COUNT(lists)][GLOW_HASH_HEX], again[GLOW_HASH_HEX];

    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        assert_true(glow_hash_hex(lists[i], 2, 0, hex[i]));
        assert_true(glow_hash_hex(lists[i], 2, 3, again));
        assert_string_equal(hex[i], again);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(hex[k], hex[i]);
    }
    bytes[SIZE - 1] = 1;
    assert_true(glow_hash_hex(lists[3], 2, 2, again));
    assert_string_not_equal(hex[3], again);
    test_free(bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_of_other_files_is_refused),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_none),
        cmocka_unit_test(a_folder_that_others_may_write_is_refused),
        cmocka_unit_test(constants_are_taken_in_their_layout),
        cmocka_unit_test(damaged_entries_are_not_found),
        cmocka_unit_test(digests_tell_contents_apart),
        cmocka_unit_test(entries_of_others_are_not_found),
        cmocka_unit_test(hashes_are_of_lists_and_not_of_threads),
        cmocka_unit_test(more_than_all_is_not_kept),
        cmocka_unit_test(networks_are_loaded_from_it),
        cmocka_unit_test(only_entries_are_removed),
        cmocka_unit_test(parts_are_kept_in_a_row),
        cmocka_unit_test(processes_share),
        cmocka_unit_test(the_folder_is_made),
        cmocka_unit_test(what_is_kept_is_found),
        cmocka_unit_test(what_was_not_finished_goes_in_time),
        cmocka_unit_test(what_was_used_longest_ago_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
