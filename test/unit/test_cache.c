/* Objects on disk: kept, found, refused when damaged, bounded, shared. */

#include "cpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "codegen/cpu/cache.h"
#include "ir/base/sha256.h"

typedef struct folder {
    char path[64];
    glow_arena *arena;
    cpu_cache cache;
} folder;

static void
open_folder(folder *f)
{
    *f = (folder){.path = "/tmp/glow-cache-XXXXXX", .arena = glow_arena_new()};
    assert_non_null(mkdtemp(f->path));
    f->cache.folder = f->path;
}

/* Calls `visit` for each file; returns how many there are. */
static int
each_file(const folder *f, void (*visit)(const char *path))
{
    DIR *d = opendir(f->path);
    int count = 0;

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];

        if (e->d_name[0] == '.')
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
    chmod(f->path, 0700);
    each_file(f, remove_file);
    assert_int_equal(rmdir(f->path), 0);
    glow_arena_free(f->arena);
}

static bool
finds(folder *f, const char *key, const char *text)
{
    size_t size = 0;
    const char *bytes = glow_cpu_cache_find(&f->cache, f->arena, key, &size);

    return bytes && size == strlen(text) && memcmp(bytes, text, size) == 0;
}

static void
keep(folder *f, const char *key, const char *text)
{
    glow_cpu_cache_keep(&f->cache, f->arena, key, text, strlen(text));
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
the_folder_is_made(void **state)
{
    folder f;
    char deep[128], *end;

    (void)state;
    open_folder(&f);
    snprintf(deep, sizeof deep, "%s/a/b", f.path);
    f.cache.folder = deep;
    keep(&f, "aa", "one");
    assert_true(finds(&f, "aa", "one"));
    strcat(deep, "/aa.obj");
    unlink(deep);
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
    glow_cpu_cache_trim(&f.cache);
    assert_false(finds(&f, "aa", "one"));
    close_folder(&f);
}

/* The bound. */

static void
set_age(const folder *f, const char *key, int seconds)
{
    struct timespec t[2] = {{.tv_sec = time(NULL) - seconds}};
    char path[128];

    t[1] = t[0];
    snprintf(path, sizeof path, "%s/%s", f->path, key);
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
        char name[16];

        keep(&f, keys[i], "0123456789");
        snprintf(name, sizeof name, "%s.obj", keys[i]);
        set_age(&f, name, 1000 - i);
    }
    glow_cpu_cache_trim(&f.cache); /* there is room */
    assert_int_equal(each_file(&f, NULL), 4);
    assert_true(finds(&f, "a0", "0123456789")); /* and is new again */
    f.cache.most = 2 * 75;                      /* a hash, a newline, and ten */
    glow_cpu_cache_trim(&f.cache);
    assert_int_equal(each_file(&f, NULL), 2);
    assert_true(finds(&f, "a0", "0123456789"));
    assert_true(finds(&f, "a3", "0123456789"));
    close_folder(&f);
}

static void
what_was_not_finished_goes_in_time(void **state)
{
    folder f;
    char path[128];

    (void)state;
    open_folder(&f);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%d.new", f.path, i);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    set_age(&f, "1.new", 100000);
    glow_cpu_cache_trim(&f.cache);
    assert_int_equal(each_file(&f, NULL), 1);
    close_folder(&f);
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
            char key[16], text[64];
            size_t size;
            const char *bytes;

            snprintf(key, sizeof key, "%d", i % 13);
            snprintf(text, sizeof text, "the bytes of key %s", key);
            bytes = glow_cpu_cache_find(&f.cache, f.arena, key, &size);
            if (bytes && (size != strlen(text) || memcmp(bytes, text, size)))
                _exit(1);
            keep(&f, key, text);
            if (i % 7 == 0)
                glow_cpu_cache_trim(&f.cache);
        }
        _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 0;

        waitpid(child[p], &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    glow_cpu_cache_trim(&f.cache);
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

    assert_non_null(file);
    glow_sha256_hex(text, sizeof text, hex);
    fprintf(file, "%s\n", hex);
    fwrite(text, 1, sizeof text, file);
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_that_cannot_be_written_is_none),
        cmocka_unit_test(damaged_entries_are_not_found),
        cmocka_unit_test(networks_are_loaded_from_it),
        cmocka_unit_test(processes_share),
        cmocka_unit_test(the_folder_is_made),
        cmocka_unit_test(what_is_kept_is_found),
        cmocka_unit_test(what_was_not_finished_goes_in_time),
        cmocka_unit_test(what_was_used_longest_ago_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
