/*
 * Orders networks, and prints what each strategy needs.
 *
 *     order [--budget STEPS] [NAME...]
 *     order [--budget STEPS] --file GRAPH.txt...
 *
 * Prints CSV with a header, a row for each network whose name begins with a
 * NAME: bytes at the peak as given, by greedy lists, by Glow's rule, depth
 * first, and the best found; what no order can go below; whether that is
 * proved least; by what it was found; steps and milliseconds (of the processor)
 * for finding it, and how far the best is above the bound.
 *
 * It needs nothing but the library:
 *
 *     cc -std=c11 -O2 -Iinclude bench/order.c -o order -Lbuild -lglow \
 *         -Wl,-rpath,build
 *
 * The networks, with fixed seeds:
 *
 *   darts-v2-N, nasnet-a-N   N cells of Liu et al. (2019), Zoph et al. (2018)
 *   ws32-S, ws64-S           RandWire (Xie et al. 2019): Watts and Strogatz's
 *                            graph of 32 or 64 nodes, one task for each
 *   ws32-fine-S              the same, each node as add, relu, two convolutions
 *   ws32-stack-S             three such cells, with half the bytes each
 *   random-N-W               N tasks that read up to three of the last W
 *   dropped-N-W              the same, where nobody keeps what is never read
 *   layers-N-W               layers of W tasks, which read from the last two
 *   series-N-S               series-parallel: N tasks in series, in branches
 *                            between two of them, or both, as seed S draws
 *   long-N                   a chain of blocks with branches, N tasks
 *
 * A file has the number of its tasks, then for each the bytes of its result,
 * whether that may lie over an operand, and the number of what it reads, and
 * that: ../shared/data/sched has one.
 */

#define _POSIX_C_SOURCE 199309L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "glow/order.h"

/* Each task makes one buffer of its number, and reads others. */
typedef struct net {
    glow_arena *a;
    glow_order_problem p;
    glow_order_task *tasks;
    glow_order_buffer *buffers;
    size_t cap_tasks, cap_buffers;
    bool drops; /* what nobody reads is not kept */
    bool *is_read;
    size_t cap_read;
    uint64_t random;
} net;

static uint32_t
draw(net *g, uint32_t below)
{
    g->random += 0x9e3779b97f4a7c15u;
    return (uint32_t)(glow_mix(g->random) % below);
}

/* A task that reads `n` results and makes one of `bytes`. */
static uint32_t
add(net *g, int64_t bytes, bool in_place, uint32_t n, const uint32_t *reads)
{
    uint32_t i = g->p.n_tasks, count = 0;
    uint32_t *touches = GLOW_NEW_ARRAY(g->a, uint32_t, n + 1);
    glow_order_alias *aliases = GLOW_NEW_ARRAY(g->a, glow_order_alias, n + 1);

    g->tasks = glow_arena_grow(g->a, g->tasks, i, &g->cap_tasks,
                               sizeof(glow_order_task));
    g->buffers = glow_arena_grow(g->a, g->buffers, i, &g->cap_buffers,
                                 sizeof(glow_order_buffer));
    g->is_read =
        glow_arena_grow(g->a, g->is_read, i, &g->cap_read, sizeof(bool));
    for (uint32_t k = 0; k < n; k++) {
        bool again = false;

        for (uint32_t j = 0; j < count; j++)
            again |= touches[j] == reads[k];
        if (again)
            continue;
        g->is_read[reads[k]] = true;
        aliases[count] = (glow_order_alias){i, reads[k]};
        touches[count++] = reads[k];
    }
    touches[count] = i;
    g->tasks[i] = (glow_order_task){.before = touches,
                                    .n_before = count,
                                    .touches = touches,
                                    .n_touches = count + 1,
                                    .aliases = aliases,
                                    .n_aliases = in_place ? count : 0};
    g->buffers[i] = (glow_order_buffer){.bytes = bytes};
    g->is_read[i] = false;
    g->p.n_tasks = g->p.n_buffers = i + 1;
    return i;
}

static uint32_t
add1(net *g, int64_t bytes, bool in_place, uint32_t a)
{
    return add(g, bytes, in_place, 1, &a);
}

static int64_t
bytes_of(const net *g, uint32_t i)
{
    return g->buffers[i].bytes;
}

/* RandWire. */

enum { MOST_WIRED = 64 };

typedef bool wires[MOST_WIRED][MOST_WIRED];

/* A ring in which each node is wired to two on each side; three of four wires
 * then go elsewhere. */
static void
wire(net *g, uint32_t n, wires w)
{
    memset(w, 0, sizeof(wires));
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 1; j <= 2; j++)
            w[i][(i + j) % n] = w[(i + j) % n][i] = true;
    for (uint32_t j = 1; j <= 2; j++)
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = (i + j) % n, free[MOST_WIRED], count = 0;

            if (!w[i][to] || draw(g, 100) >= 75)
                continue;
            for (uint32_t x = 0; x < n; x++)
                if (x != i && !w[i][x])
                    free[count++] = x;
            if (count == 0)
                continue;
            w[i][to] = w[to][i] = false;
            to = free[draw(g, count)];
            w[i][to] = w[to][i] = true;
        }
}

/* The tasks of one node that reads `n` results. */
static uint32_t
wired_node(net *g, int64_t bytes, bool fine, uint32_t n, const uint32_t *reads)
{
    uint32_t x = reads[0];

    if (!fine)
        return add(g, bytes, false, n, reads);
    if (n > 1)
        x = add(g, bytes, true, n, reads);
    x = add1(g, bytes_of(g, x), true, x);
    return add1(g, bytes, false, add1(g, bytes, false, x));
}

static void
randwire(net *g, uint32_t n, int64_t bytes, bool fine)
{
    wires w;
    uint32_t made[MOST_WIRED], last[MOST_WIRED], n_last = 0;
    uint32_t in =
        g->p.n_tasks ? g->p.n_tasks - 1 : add(g, 2 * bytes, false, 0, NULL);

    wire(g, n, w);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t reads[MOST_WIRED], count = 0;
        bool is_read = false;

        for (uint32_t k = 0; k < i; k++)
            if (w[k][i])
                reads[count++] = made[k];
        if (count == 0)
            reads[count++] = in;
        made[i] = wired_node(g, bytes, fine, count, reads);
        for (uint32_t k = i + 1; k < n; k++)
            is_read |= w[i][k];
        if (!is_read)
            last[n_last++] = made[i];
    }
    add(g, bytes, true, n_last, last);
}

static void
make_ws(net *g, uint32_t n, uint32_t seed)
{
    g->random = seed * UINT64_C(1000003);
    randwire(g, n, 1, false);
}

static void
make_ws32(net *g, uint32_t seed, uint32_t unused)
{
    (void)unused;
    make_ws(g, 32, seed);
}

static void
make_ws64(net *g, uint32_t seed, uint32_t unused)
{
    (void)unused;
    make_ws(g, 64, seed);
}

static void
make_fine(net *g, uint32_t seed, uint32_t unused)
{
    (void)unused;
    g->random = seed * UINT64_C(1000003);
    randwire(g, 32, 1, true);
}

static void
make_stack(net *g, uint32_t seed, uint32_t unused)
{
    (void)unused;
    for (uint32_t c = 0; c < 3; c++) {
        g->random = (10 * seed + c) * UINT64_C(1000003);
        randwire(g, 32, 4 >> c, true);
    }
}

/* Networks of cells, which read the two before them. */

typedef enum kind { SKIP, SEPARABLE, DILATED, POOL } kind;

typedef struct branch { /* an operation on what block `from` made */
    kind kind;
    uint32_t from;
} branch;

typedef struct cell {
    uint32_t n_blocks, n_out;
    branch branches[10]; /* two for each block, which adds them */
    uint32_t out[6];     /* what is concatenated: 0 and 1 are the inputs */
} cell;

static const cell darts_normal = {4,
                                  4,
                                  {{SEPARABLE, 0},
                                   {SEPARABLE, 1},
                                   {SEPARABLE, 0},
                                   {SEPARABLE, 1},
                                   {SEPARABLE, 1},
                                   {SKIP, 0},
                                   {SKIP, 0},
                                   {DILATED, 2}},
                                  {2, 3, 4, 5}};
static const cell darts_reduction = {4,
                                     4,
                                     {{POOL, 0},
                                      {POOL, 1},
                                      {SKIP, 2},
                                      {POOL, 1},
                                      {POOL, 0},
                                      {SKIP, 2},
                                      {SKIP, 2},
                                      {POOL, 1}},
                                     {2, 3, 4, 5}};
static const cell nasnet_normal = {5,
                                   6,
                                   {{SEPARABLE, 1},
                                    {SKIP, 1},
                                    {SEPARABLE, 0},
                                    {SEPARABLE, 1},
                                    {POOL, 1},
                                    {SKIP, 0},
                                    {POOL, 0},
                                    {POOL, 0},
                                    {SEPARABLE, 0},
                                    {SEPARABLE, 0}},
                                   {0, 2, 3, 4, 5, 6}};
static const cell nasnet_reduction = {5,
                                      4,
                                      {{SEPARABLE, 1},
                                       {SEPARABLE, 0},
                                       {POOL, 1},
                                       {SEPARABLE, 0},
                                       {POOL, 1},
                                       {SEPARABLE, 0},
                                       {POOL, 1},
                                       {SEPARABLE, 2},
                                       {POOL, 2},
                                       {SKIP, 3}},
                                      {3, 4, 5, 6}};

static uint32_t
add_branch(net *g, branch b, uint32_t x, int64_t bytes, bool reduces)
{
    if (b.kind == SKIP)
        return reduces && bytes_of(g, x) > bytes ? add1(g, bytes, false, x) : x;
    if (b.kind == POOL)
        return add1(g, bytes, false, x);
    x = add1(g, bytes_of(g, x), true, x);
    x = add1(g, bytes, false, add1(g, bytes, false, x));
    if (b.kind == DILATED)
        return x;
    x = add1(g, bytes, true, x);
    return add1(g, bytes, false, add1(g, bytes, false, x));
}

static uint32_t
add_cell(net *g, const cell *c, uint32_t before, uint32_t last, int64_t bytes,
         bool reduces)
{
    uint32_t blocks[8] = {before, last}, out[6];

    for (uint32_t i = 0; i < c->n_blocks; i++) {
        uint32_t both[2];

        for (uint32_t k = 0; k < 2; k++) {
            branch b = c->branches[2 * i + k];

            both[k] =
                add_branch(g, b, blocks[b.from], bytes, reduces && b.from < 2);
        }
        blocks[i + 2] = add(g, bytes, true, 2, both);
    }
    for (uint32_t k = 0; k < c->n_out; k++)
        out[k] = blocks[c->out[k]];
    return add(g, c->n_out * bytes, false, c->n_out, out);
}

/* Relu and a convolution that makes it narrow. */
static uint32_t
squeeze(net *g, uint32_t x, int64_t bytes)
{
    return add1(g, bytes, false, add1(g, bytes_of(g, x), true, x));
}

static void
make_cells(net *g, uint32_t cells, const cell *normal, const cell *reduction)
{
    int64_t bytes = 3584;
    uint32_t stack = (cells - 2) / 3;
    uint32_t image = add(g, 3 * bytes, false, 0, NULL);
    uint32_t last = add1(g, 4 * bytes, false, image), before = last;

    for (uint32_t i = 0; i < cells; i++) {
        bool reduces = i == stack || i == 2 * stack + 1;
        int64_t width = reduces ? bytes / 2 : bytes; /* twice the channels */
        uint32_t x = squeeze(g, last, bytes), y = squeeze(g, before, bytes);

        before = last;
        last = add_cell(g, reduces ? reduction : normal, y, x, width, reduces);
        bytes = width;
    }
    add1(g, 1, false, add1(g, 16, false, last));
}

static void
make_darts(net *g, uint32_t cells, uint32_t unused)
{
    (void)unused;
    make_cells(g, cells, &darts_normal, &darts_reduction);
}

static void
make_nasnet(net *g, uint32_t cells, uint32_t unused)
{
    (void)unused;
    make_cells(g, cells, &nasnet_normal, &nasnet_reduction);
}

/* Random ones. */

static void
make_random(net *g, uint32_t n, uint32_t window)
{
    g->random = n * UINT64_C(7919) + window;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t near = i < window ? i : window, reads[3], count = 0;

        for (uint32_t k = 0; near > 0 && k < 1 + draw(g, 3); k++)
            reads[count++] = i - 1 - draw(g, near);
        add(g, 1 + draw(g, 100), draw(g, 3) == 0, count, reads);
    }
}

static void
make_dropped(net *g, uint32_t n, uint32_t window)
{
    g->drops = true;
    make_random(g, n, window);
}

static void
make_layers(net *g, uint32_t n, uint32_t width)
{
    g->random = n * UINT64_C(104729) + width;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = i / width * width, reads[3], count = 0;
        uint32_t near = first < 2 * width ? first : 2 * width;

        for (uint32_t k = 0; near > 0 && k < 1 + draw(g, 3); k++)
            reads[count++] = first - 1 - draw(g, near);
        add(g, 1 + draw(g, 100), draw(g, 3) == 0, count, reads);
    }
}

/* Makes `n` tasks that stand between `from` and whoever reads what is put in
 * `ends`: two to five branches, each of a task, then more, and one that joins
 * them.  Returns how many ends there are. */
static uint32_t
add_between(net *g, uint32_t n, uint32_t from, uint32_t *ends)
{
    uint32_t branches = 2 + draw(g, 4), count = 0, left = n;

    if (branches > n)
        branches = n;
    for (uint32_t k = branches; k-- > 0;) {
        uint32_t most = 2 * (left - k) / (k + 1), x;
        uint32_t some = k ? 1 + draw(g, most ? most : 1) : left;

        some = some < left - k ? some : left - k;
        left -= some;
        x = add1(g, 1 + draw(g, 100), draw(g, 3) == 0, from);
        while (--some > 0) {
            uint32_t part = some > 3 ? 3 + draw(g, some - 2) : some;

            some -= part - 1;
            if (part > 1) {
                uint32_t n_inner = add_between(g, part - 1, x, ends + count);

                x = add(g, 1 + draw(g, 100), draw(g, 3) == 0, n_inner,
                        ends + count);
            } else
                x = add1(g, 1 + draw(g, 100), draw(g, 3) == 0, x);
        }
        ends[count++] = x;
    }
    return count;
}

static void
make_series(net *g, uint32_t n, uint32_t seed)
{
    uint32_t *ends = GLOW_NEW_ARRAY(g->a, uint32_t, n), count;

    g->random = n * UINT64_C(15485863) + seed;
    count =
        add_between(g, n - 2, add(g, 1 + draw(g, 100), false, 0, NULL), ends);
    add(g, 1, false, count, ends);
}

static void
make_long(net *g, uint32_t n, uint32_t unused)
{
    uint32_t x = add(g, 64, false, 0, NULL);

    (void)unused;
    g->random = n;
    while (g->p.n_tasks + 12 < n) {
        uint32_t ends[4], count = 2 + draw(g, 3);

        for (uint32_t k = 0; k < count; k++) {
            ends[k] = add1(g, 16 + draw(g, 64), false, x);
            if (draw(g, 2))
                ends[k] = add1(g, 16 + draw(g, 64), false, ends[k]);
        }
        x = add(g, 64, false, count, ends);
    }
}

static bool
read_net(net *g, const char *path)
{
    FILE *f = fopen(path, "r");
    uint32_t n = 0;
    bool ok = f && fscanf(f, "%" SCNu32, &n) == 1;

    for (uint32_t i = 0; ok && i < n; i++) {
        int64_t bytes;
        int in_place;
        uint32_t count, reads[256];

        ok = fscanf(f, "%" SCNd64 " %d %" SCNu32, &bytes, &in_place, &count) ==
                 3 &&
             count <= 256;
        for (uint32_t k = 0; ok && k < count; k++)
            ok = fscanf(f, "%" SCNu32, &reads[k]) == 1 && reads[k] < i;
        if (ok)
            add(g, bytes, in_place, count, reads);
    }
    if (f)
        fclose(f);
    return ok;
}

/* The table. */

static int64_t budget = GLOW_ORDER_BUDGET;

static double
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static glow_order
find(net *g, glow_order_strategy strategy)
{
    glow_order o;

    if (!glow_order_find(g->a, &g->p, strategy, budget, &o)) {
        fprintf(stderr, "order: that is no problem\n");
        exit(1);
    }
    return o;
}

static net
new_net(void)
{
    return (net){.a = glow_arena_new()};
}

static void
put_row(const char *name, net *g)
{
    static const glow_order_strategy rules[] = {
        GLOW_ORDER_GIVEN, GLOW_ORDER_GREEDY, GLOW_ORDER_CHILD_MEMORY,
        GLOW_ORDER_DEPTH_FIRST};
    double start;
    glow_order best;

    g->p.tasks = g->tasks;
    g->p.buffers = g->buffers;
    for (uint32_t i = 0; i < g->p.n_buffers; i++)
        g->buffers[i].stays = !g->is_read[i] && !g->drops;
    printf("%s,%" PRIu32, name, g->p.n_tasks);
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        printf(",%" PRId64, find(g, rules[k]).peak);
    start = now_ms();
    best = find(g, GLOW_ORDER_AUTO);
    printf(",%" PRId64 ",%" PRId64 ",%s,%s,%" PRId64 ",%.1f,%.1f\n", best.peak,
           best.bound, best.proved ? "yes" : "no", best.by, best.steps,
           now_ms() - start,
           100 * (double)(best.peak - best.bound) / (double)best.peak);
    fflush(stdout);
    glow_arena_free(g->a);
}

typedef struct shape {
    const char *name;
    void (*make)(net *g, uint32_t size, uint32_t width);
    uint32_t size, width;
} shape;

static const shape shapes[] = {
    {"darts-v2-5", make_darts, 5, 0},
    {"darts-v2-8", make_darts, 8, 0},
    {"darts-v2-14", make_darts, 14, 0},
    {"darts-v2-20", make_darts, 20, 0},
    {"nasnet-a-5", make_nasnet, 5, 0},
    {"nasnet-a-8", make_nasnet, 8, 0},
    {"nasnet-a-14", make_nasnet, 14, 0},
    {"nasnet-a-20", make_nasnet, 20, 0},
    {"ws32-1", make_ws32, 1, 0},
    {"ws32-2", make_ws32, 2, 0},
    {"ws32-3", make_ws32, 3, 0},
    {"ws32-4", make_ws32, 4, 0},
    {"ws32-5", make_ws32, 5, 0},
    {"ws32-fine-1", make_fine, 1, 0},
    {"ws32-fine-2", make_fine, 2, 0},
    {"ws32-fine-3", make_fine, 3, 0},
    {"ws32-stack-1", make_stack, 1, 0},
    {"ws32-stack-2", make_stack, 2, 0},
    {"ws64-1", make_ws64, 1, 0},
    {"ws64-2", make_ws64, 2, 0},
    {"ws64-3", make_ws64, 3, 0},
    {"ws64-7", make_ws64, 7, 0},
    {"random-100-6", make_random, 100, 6},
    {"random-300-6", make_random, 300, 6},
    {"random-1000-6", make_random, 1000, 6},
    {"random-100-20", make_random, 100, 20},
    {"random-300-20", make_random, 300, 20},
    {"random-1000-20", make_random, 1000, 20},
    {"random-100-100", make_random, 100, 100},
    {"random-300-100", make_random, 300, 100},
    {"random-1000-100", make_random, 1000, 100},
    {"random-420-21", make_random, 420, 21},
    {"random-500-25", make_random, 500, 25},
    {"random-600-50", make_random, 600, 50},
    {"dropped-300-6", make_dropped, 300, 6},
    {"dropped-1000-6", make_dropped, 1000, 6},
    {"dropped-300-20", make_dropped, 300, 20},
    {"dropped-500-25", make_dropped, 500, 25},
    {"dropped-1000-20", make_dropped, 1000, 20},
    {"dropped-300-50", make_dropped, 300, 50},
    {"dropped-1000-100", make_dropped, 1000, 100},
    {"layers-100-8", make_layers, 100, 8},
    {"layers-300-8", make_layers, 300, 8},
    {"layers-1000-8", make_layers, 1000, 8},
    {"series-300-1", make_series, 300, 1},
    {"series-300-2", make_series, 300, 2},
    {"series-300-3", make_series, 300, 3},
    {"series-300-4", make_series, 300, 4},
    {"series-1000-1", make_series, 1000, 1},
    {"series-1000-2", make_series, 1000, 2},
    {"series-1000-3", make_series, 1000, 3},
    {"series-1000-4", make_series, 1000, 4},
    {"series-3000-1", make_series, 3000, 1},
    {"series-3000-2", make_series, 3000, 2},
    {"series-3000-3", make_series, 3000, 3},
    {"series-3000-4", make_series, 3000, 4},
    {"long-10000", make_long, 10000, 0},
    {"long-100000", make_long, 100000, 0},
    {"random-100000-20", make_random, 100000, 20},
    {"darts-v2-2000", make_darts, 2000, 0},
};

static bool
is_wanted(const char *name, char **prefixes, int n)
{
    for (int i = 0; i < n; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return n == 0;
}

int
main(int argc, char **argv)
{
    int i = 1;

    if (i + 1 < argc && strcmp(argv[i], "--budget") == 0) {
        budget = strtoll(argv[i + 1], NULL, 10);
        i += 2;
    }
    puts("network,tasks,given,greedy,child-memory,depth-first,best,bound,"
         "proved,by,steps,ms,gap%");
    if (i < argc && strcmp(argv[i], "--file") == 0) {
        for (i++; i < argc; i++) {
            net g = new_net();

            if (!read_net(&g, argv[i])) {
                fprintf(stderr, "order: cannot read %s\n", argv[i]);
                return 1;
            }
            put_row(argv[i], &g);
        }
        return 0;
    }
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        net g = new_net();

        if (!is_wanted(shapes[k].name, argv + i, argc - i)) {
            glow_arena_free(g.a);
            continue;
        }
        shapes[k].make(&g, shapes[k].size, shapes[k].width);
        put_row(shapes[k].name, &g);
    }
    return 0;
}
