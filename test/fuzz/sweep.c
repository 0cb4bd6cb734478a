/*
 * Every operator over many shapes, kinds and attributes, found by changing
 * those that the lit tests have:
 *
 *     sweep [-seed N] [-rounds N] [-sample N] [-near N] [-quotients N]
 *         [-op NAME | -share K/N] [-cpu NAME | -widths | -draw N] [-plugin FILE]
 *         [-backend NAME] [-may-refuse] [-kernels FOLDER] FOLDER-OF-LIT-TESTS...
 *
 * A specimen is a node of such a test: operand types, constants, attributes.
 * Every other round changes one in a few places, and all do once each has been run
 * as it is; what infer refuses is left.  Of what it takes, the evaluator's result is
 * the measure for
 *
 *   - the text form, which must read back as what was printed,
 *   - `lower`, under the promise that it declares (glow/semantics.h),
 *   - the backend (cpu) on the primitives that remain,
 *   - the backend on the node as it is, where it takes it,
 *   - load, which is to refuse a node that `takes` refuses.
 *
 * With -may-refuse a backend need not take every node, nor every primitive one: how
 * often it did not is counted.
 *
 * With -sample N one round of N is run for each operator, drawn by the seed of -draw.
 * With -share K/N one operator of N is run; shares 0 to N - 1 are all.
 *
 * The CPU is this machine's, that of -cpu, one of each vector width that this
 * machine has (-widths), or one of those drawn for each mutant by seed N (-draw).
 *
 * Further mutants are drawn by that seed, for errors that few of the above can show:
 *
 *   -near N, of operators in the tests of -kernels FOLDER, of the others a quarter:
 *     sizes next to thresholds of kernels, in lines and of one channel, on the
 *     CPU alone, whose kernel writes to the output as at -O2;
 *   -quotients N, of operators that take floats: the node between x / 41 and Floor, or
 *     none, through `optimize`.  Each x is 41 times an integer, so a quotient that
 *     a pass has made a product by 1 / 41 is seen as a result that jumps.
 *
 * A child does the work of each operator: a crash is a failure of that one.
 * Ends in `N passed, N failed`, counting operators; one without a specimen, or
 * none of whose mutants runs, has failed.
 */

#define _DEFAULT_SOURCE

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/fuzz/sweep.h"

#define MAX_SPECIMENS 20000
#define SECONDS 300 /* for one operator */
#define SHOWN 3     /* failures of an operator that are printed */
#define TRIES 6     /* for each further mutant, as infer refuses most */

static specimen all[MAX_SPECIMENS];
static int n_all;
static sweep_widths widths = {.backend = "cpu", .count = 1};
static uint64_t seed = 1, drawn = 1; /* drawn: of the further mutants */
static int rounds = 12, near = 5, quotients = 1;
static int sample = 1;             /* of so many rounds one is run */
static const char *only;           /* name of an operator, or NULL */
static unsigned share, shares = 1; /* K and N of -share */
static bool is_backend; /* tests that are being read are of kernels */

/* As test/widths.py has them. */
static void
take_all_widths(void)
{
#if defined(__x86_64__)
    widths.at[0] = "x86-64";
    widths.at[1] = "haswell";
    widths.at[2] = "skylake-avx512";
    widths.at[3] = "skylake-avx512+amx-emulated";
    widths.count = 4;
    sweep_leave_out(&widths);
#endif
}

/* Specimens. */

static void
add(const glow_node *n)
{
    specimen *s = &all[n_all];

    if ((n->op->traits &
         (GLOW_STRUCTURAL | GLOW_UNKNOWN | GLOW_PROGRAM_ONLY)) ||
        n->n_in > SWEEP_OPERANDS || n->n_out > SWEEP_OPERANDS ||
        n_all == MAX_SPECIMENS)
        return;
    *s = (specimen){.op = n->op,
                    .attrs = n->attrs,
                    .n_in = n->n_in,
                    .n_out = n->n_out,
                    .is_of_backend = is_backend};
    for (int i = 0; i < n->n_in; i++) {
        const glow_value *v = n->in[i];

        s->is_given[i] = v != NULL;
        if (!v)
            continue;
        s->in[i] = *v->type;
        if (v->storage && v->storage->is_constant)
            s->constant[i] = v->storage;
    }
    for (int i = 0; i < n->n_out; i++)
        s->out[i] = *n->out[i]->type;
    n_all++;
}

/* The nodes of the graphs of one module; parts that do not parse have none. */
static void
read_part(glow_context *ctx, const char *text, size_t size)
{
    const glow_source *source = glow_source_from(ctx, "part", text, size);
    glow_module *m = glow_parse(ctx, source, &(glow_parse_options){0});

    if (!m)
        return;
    GLOW_FOR_EACH_FUNC(f, m)
        GLOW_FOR_EACH_NODE(n, f)
            if (!f->is_program)
                add(n);
}

/* Where -split-input-file or split-file part the text, or NULL. */
static char *
next_part(char *text)
{
    char *one = strstr(text, "// -----"), *other = strstr(text, "//--- ");

    return one && (!other || one < other) ? one : other;
}

static void
read_file(glow_context *ctx, const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);

    if (!f || !text || !fread(text, 1, (1 << 20) - 1, f))
        exit(2);
    fclose(f);
    while (text) {
        char *next = next_part(text);
        size_t size = next ? (size_t)(next - text) : strlen(text);

        read_part(ctx, text, size);
        text = next ? strchr(next, '\n') : NULL;
    }
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void
read_folder(glow_context *ctx, const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, by_name);

    if (n < 0)
        exit(2);
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name, *dot = strrchr(name, '.');
        char path[4096];

        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (dot && (strcmp(dot, ".gir") == 0 || strcmp(dot, ".test") == 0))
            read_file(ctx, path);
    }
}

/* The rounds of one operator, in a child. */

/* Indices of those of `op`, in `which`; those of the backend's tests or not. */
static int
find_specimens(const glow_op *op, bool with_backend, int *which)
{
    int count = 0;

    for (int i = 0; i < n_all; i++)
        if (all[i].op == op && (with_backend || !all[i].is_of_backend))
            which[count++] = i;
    return count;
}

/* Differs from operator to operator (FNV-1a; Fowler, Noll, Vo). */
static uint64_t
hash_name(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *name; name++)
        h = (h ^ (uint64_t)(unsigned char)*name) * 0x100000001b3u;
    return h;
}

/* Mutants of drawn specimens until `goal` of them have run, or TRIES times as many. */
static void
draw_more(const glow_op *op, sweep_form form, int goal, sweep_tally *tally)
{
    int which[MAX_SPECIMENS], count = find_specimens(op, true, which);

    goal += tally->ran;
    for (int k = TRIES * (goal - tally->ran);
         count && k > 0 && tally->ran < goal && tally->failed < SHOWN; k--) {
        uint64_t r = hash_name(op->name) + drawn * 1000003 + (uint64_t)k * 8 +
                     (uint64_t)form;
        glow_arena *a = glow_arena_new();
        specimen s = all[which[sweep_draw(&r, count)]];

        if (form == SWEEP_CPU)
            sweep_mutate_near(&s, &r, a);
        else if (sweep_draw(&r, 2))
            sweep_mutate(&s, &r, a);
        sweep_check(&s, form, r, &widths, a, tally);
        glow_arena_free(a);
    }
}

static bool
has_backend_tests(const glow_op *op)
{
    for (int i = 0; i < n_all; i++)
        if (all[i].op == op && all[i].is_of_backend)
            return true;
    return false;
}

static bool
takes_floats(const glow_op *op)
{
    for (int i = 0; i < n_all; i++)
        for (int k = 0; all[i].op == op && k < all[i].n_in; k++)
            if (all[i].is_given[k] && glow_is_float(all[i].in[k].elem))
                return true;
    return false;
}

static void
work(const glow_op *op, sweep_tally *tally)
{
    int which[MAX_SPECIMENS], count = find_specimens(op, false, which);
    int turn = (int)((hash_name(op->name) + drawn) % (uint64_t)sample);

    for (int k = 0; count && (k < rounds || (!tally->ran && k < 50 * rounds));
         k++) {
        if (k < rounds && k % sample != turn)
            continue;

        uint64_t r = seed * 1000003 + (uint64_t)k;
        glow_arena *a = glow_arena_new();
        specimen s = all[which[k % count]];

        if (k >= count || k % 2)
            sweep_mutate(&s, &r, a);
        sweep_check(&s, SWEEP_ALL, r, &widths, a, tally);
        glow_arena_free(a);
        if (tally->failed == SHOWN)
            return;
    }
    draw_more(op, SWEEP_CPU, has_backend_tests(op) ? near : near / 4, tally);
    if (takes_floats(op))
        draw_more(op, SWEEP_QUOTIENTS, quotients, tally);
}

static bool
run(const glow_op *op, sweep_tally *tally)
{
    int status = 0;

    memset(tally, 0, sizeof *tally);
    fflush(stdout);

    pid_t child = fork();

    if (child == 0) {
        alarm(SECONDS);
        work(op, tally);
        fflush(stdout);
        exit(0);
    }
    waitpid(child, &status, 0);

    bool died = !WIFEXITED(status) || WEXITSTATUS(status) != 0;

    if (died)
        printf("FAIL: %s: the process ends by %s %d at\n%s\n", op->name,
               WIFSIGNALED(status) ? "signal" : "exit code",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
               tally->text);
    bool is_idle = tally->ran == 0 && rounds > 0;

    if (!died && is_idle)
        printf("FAIL: %s: nothing of it runs: no specimen?\n", op->name);
    return !died && tally->failed == 0 && !is_idle;
}

/* What runs functions of the module cannot stand alone: see control.gir. */
static bool
stands_alone(const glow_op *op)
{
    glow_schema s = glow_op_schema(op);

    for (int i = 0; i < glow_schema_count(s); i++)
        if (s.fields[i].kind == GLOW_FUNC)
            return false;
    return !(op->traits & (GLOW_STRUCTURAL | GLOW_PROGRAM_ONLY));
}

static bool
is_asked_for(const glow_op *op)
{
    return only ? strcmp(only, op->name) == 0
                : hash_name(op->name) % shares == share;
}

static void
load_plugin(glow_context *ctx, const char *path)
{
    widths.plugin = path;
    if (!glow_plugin_load(ctx, path)) {
        printf("FAIL: %s does not load\n0 passed, 1 failed\n", path);
        exit(1);
    }
}

static void
read_arguments(int argc, char **argv, glow_context *ctx)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(name, "-widths") == 0) {
            take_all_widths();
            continue;
        }
        if (strcmp(name, "-may-refuse") == 0) {
            widths.may_refuse = true;
            continue;
        }
        if (name[0] != '-' || !value) {
            read_folder(ctx, name);
            continue;
        }
        i++;
        if (strcmp(name, "-seed") == 0) {
            seed = strtoull(value, NULL, 10);
        } else if (strcmp(name, "-rounds") == 0) {
            rounds = atoi(value);
        } else if (strcmp(name, "-sample") == 0) {
            sample = atoi(value) > 1 ? atoi(value) : 1;
        } else if (strcmp(name, "-near") == 0) {
            near = atoi(value);
        } else if (strcmp(name, "-quotients") == 0) {
            quotients = atoi(value);
        } else if (strcmp(name, "-op") == 0) {
            only = value;
        } else if (strcmp(name, "-share") == 0) {
            if (sscanf(value, "%u/%u", &share, &shares) != 2 || share >= shares)
                exit(2);
        } else if (strcmp(name, "-cpu") == 0) {
            widths.at[0] = value;
        } else if (strcmp(name, "-draw") == 0) {
            widths.draws = true;
            drawn = widths.seed = strtoull(value, NULL, 10);
            take_all_widths();
        } else if (strcmp(name, "-plugin") == 0) {
            load_plugin(ctx, value); /* before the folders are read */
        } else if (strcmp(name, "-backend") == 0) {
            widths.backend = value;
        } else if (strcmp(name, "-kernels") == 0) {
            is_backend = true;
            read_folder(ctx, value);
            is_backend = false;
        }
    }
}

int
main(int argc, char **argv)
{
    glow_context *ctx = glow_context_new();
    sweep_tally *tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int passed = 0, failed = 0, ran = 0, refused = 0, left = 0;
    size_t count;

    glow_context_set_sink(ctx, sweep_quiet, NULL);
    read_arguments(argc, argv, ctx);
    if (widths.draws)
        printf("processors and further mutants are drawn: -draw %" PRIu64 "\n",
               widths.seed);

    if (!widths.at[0] && strcmp(widths.backend, "cpu") == 0)
        sweep_prepare();
    if (!glow_find_backend(ctx, widths.backend)) {
        printf("FAIL: there is no backend %s\n0 passed, 1 failed\n",
               widths.backend);
        return 1;
    }

    const glow_op *const *ops = glow_all_ops(ctx, &count);

    for (size_t i = 0; i < count; i++) {
        if (!stands_alone(ops[i]) || !is_asked_for(ops[i]))
            continue;
        if (run(ops[i], tally))
            passed++;
        else
            failed++;
        ran += tally->ran;
        refused += tally->refused;
        left += tally->left;
    }
    printf(
        "%d specimens, %d mutants ran, %d were refused; %s did not take %d\n",
        n_all, ran, refused, widths.backend, left);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
