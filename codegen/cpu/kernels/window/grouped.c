/*
 * Grouped convolution for many small groups, down to depthwise, of kinds that
 * are computed as float, with constant filters.
 *
 * A vector of results holds several groups.  Channel c of each group is
 * broadcast to the lanes of its group by one permutation of a vector of input,
 * which all taps of a line share; groups of one channel and one result need
 * none.  Then a tap is one multiplication by a vector of weights.
 *
 * Register tiles are pixels of a line; taps outside of the input are skipped,
 * as in direct.c.  Vectors are processed in chunks whose lines of input stay in
 * the L1 cache while the kernel goes down the image.
 *
 * The filter is packed as [vector, line of the kernel, tap, channel, lane].
 *
 * Depthwise convolutions of bfloat16 multiply pairs of taps, one below the other, where
 * the target can: two lines of input are interleaved once for all taps of a line, where
 * each number would have to be converted to float.  Packed weights are pairs then, of a
 * tap and the one below it, so that pairs may begin at any line of the kernel, as those
 * of the first and the last line of the image do.
 *
 *     for each chunk of vectors                    its lines stay in the L1 cache
 *       for each image, slice and line             units; or vectors, if these are more
 *         for each mr = rows of the line           runs of equal taps; tails shorter
 *           for each vector of the chunk           several groups side by side
 *             for slices, lines and taps of the kernel, channels of a group
 *               mr sums += input[mr], spread by a permutation, * weights
 */

#include "codegen/cpu/kernels/window/grouped.h"

#include <math.h>
#include <string.h>

#include "codegen/cpu/emit/narrow.h"
#include "codegen/cpu/kernels/runs.h"

#define LINES_BYTES 24576 /* of a chunk's input: half of an L1 cache */
#define LATENCY 4.0       /* of a multiplication, in cycles */
#define MOST_TAPS 64      /* of a line, each with all channels of a group */
#define LINES_OF_THREAD 4 /* at least, or threads share the channels */

typedef struct grouped {
    cpu_window w;
    const glow_type *type; /* of the input */
    int64_t in, out;       /* channels of a group, results of one */
    int together;          /* groups in a vector */
    int64_t full;          /* vectors of as many */
    int rest;              /* groups in one more, or 0 */
    int rows;              /* pixels of a tile, at most */
    bool pairs;            /* of taps, in the `full` vectors */
} grouped;

/* At work. */
typedef struct maker {
    cpu_job *j;
    grouped k;
    cpu_run runs[CPU_MOST_RUNS];
    int n_runs;
    cg_value batch, z, y; /* of the line of results at hand */
    int groups;           /* in the vector at hand */
} maker;

/* Lines of taps to add up: one, or two in pairs. */
typedef enum line_kind {
    ONE_LINE,
    ONE_OF_PAIRS, /* with zeros below it */
    TWO_LINES,
} line_kind;

/* False if groups are too large to share vectors. */
static bool
grouped_of(const cpu_target *t, const glow_node *n, grouped *out)
{
    const glow_convolution *a = n->attrs;
    glow_dims y = n->out[0]->type->shape;
    int lanes = t->vector_bytes / 4;
    grouped k = {
        .w = glow_cpu_window(n->in[0]->type->shape, y, a->kernels, a->strides,
                             a->pads, a->dilation),
        .type = n->in[0]->type,
    };

    if (a->group < 2)
        return false;
    k.in = k.w.channels / a->group;
    k.out = y.at[y.rank - 1] / a->group;
    k.together = k.out < lanes ? (int)(lanes / k.out) : 1;
    if ((k.together == 1 && k.in * k.out > 1) || k.together * k.in > 2 * lanes)
        return false;
    k.pairs = k.type->elem == GLOW_BFLOAT16 && t->pairs && k.in * k.out == 1 &&
              k.together == lanes && k.w.axis[1].kernel > 1;
    if (k.together > a->group)
        k.together = (int)a->group;
    k.full = a->group / k.together;
    k.rest = (int)(a->group % k.together);
    k.rows = glow_cpu_best_rows(k.w.axis[2].out, 1, t->registers < 32 ? 8 : 14);
    k.rows = (int)glow_cpu_knob(t, CPU_KNOB_ROWS, k.rows);
    *out = k;
    return k.in * k.w.axis[2].kernel <= MOST_TAPS;
}

static bool
takes_grouped(const cpu_target *t, const glow_node *n)
{
    cpu_run runs[CPU_MOST_RUNS];
    grouped k;

    if (!t || !glow_cpu_all_float(n) || !glow_cpu_is_whole_constant(n->in[1]) ||
        !grouped_of(t, n, &k))
        return false;

    glow_arena *scratch = glow_arena_new();
    int count = glow_cpu_cut(scratch, &k.w.axis[2], k.rows, runs);

    glow_arena_free(scratch);
    return count > 0;
}

/* Lanes of weights of one line of the kernel. */
static int64_t
line_weights(const grouped *k)
{
    return k->w.axis[2].kernel * k->in * k->together * k->out;
}

static int64_t
vector_weights(const grouped *k)
{
    return k->w.axis[0].kernel * k->w.axis[1].kernel * line_weights(k);
}

/* Code. */

/* Channel `c` of each group, in all lanes of the results of its group. */
static cg_value
spread(const maker *m, cg_value x, int64_t c)
{
    const grouped *k = &m->k;
    cg *g = m->j->g;
    int lanes = m->groups * (int)k->out;
    cg_value order[256];

    if (k->in == 1 && k->out == 1)
        return x;
    if (lanes == 1)
        return LLVMBuildExtractElement(
            g->builder, x, LLVMConstInt(g->i32, (unsigned)c, false), "");
    if (m->groups * k->in == 1)
        return glow_cg_splat(g, x, lanes);
    for (int i = 0; i < lanes; i++)
        order[i] =
            LLVMConstInt(g->i32, (unsigned)(i / k->out * k->in + c), false);
    return LLVMBuildShuffleVector(g->builder, x, LLVMGetPoison(LLVMTypeOf(x)),
                                  LLVMConstVector(order, (unsigned)lanes), "");
}

/* Bytes from a line of taps of the input to the next. */
static int64_t
below(const grouped *k)
{
    return k->w.axis[1].dilation * k->w.axis[2].in * k->w.channels *
           glow_cg_bytes(k->type);
}

/* Channel `c` of the pixel at `at`, or pairs of it and the one below it. */
static cg_value
load_pixel(const maker *m, line_kind what, cg_value at, int64_t c)
{
    const grouped *k = &m->k;
    cg *g = m->j->g;
    cg_tensor from = {at, k->type};

    if (what != ONE_LINE)
        return glow_cg_load_pairs(g, at, what == TWO_LINES ? below(k) : 0,
                                  m->groups);
    return spread(
        m, glow_cg_load(g, from, cg_i64(g, 0), m->groups * (int)k->in), c);
}

/* Adds channel `c` of pixel `p`, from the first tap of row 0 on. */
static void
add_pixel(const maker *m, const cpu_run *run, line_kind what, int64_t p,
          int64_t c, cg_value in, cg_value const *w, cg_value *acc)
{
    const grouped *k = &m->k;
    const cpu_window_axis *x = &k->w.axis[2];
    cg *g = m->j->g;
    int64_t pixel = k->w.channels * glow_cg_bytes(k->type);
    cg_value v = NULL;

    for (int64_t t = 0; t < x->kernel; t++) {
        int64_t r = (p - t * x->dilation) / x->stride;

        if (p < t * x->dilation || r >= run->rows ||
            r * x->stride + t * x->dilation != p ||
            !run->valid[r * x->kernel + t])
            continue;
        if (!v)
            v = load_pixel(m, what, glow_cg_atc(g, in, p * pixel), c);
        acc[r] = what == ONE_LINE ? glow_cg_fma(g, v, w[t], acc[r])
                                  : glow_cg_add_pairs(g, v, w[t], acc[r]);
    }
}

/* The weights at `at`; of one line of pairs without those below it. */
static cg_value
load_weights(const maker *m, line_kind what, cg_value at)
{
    cg *g = m->j->g;
    LLVMTypeRef scalar = what == ONE_LINE ? g->f32 : g->i32;
    LLVMTypeRef type = glow_cg_vector(scalar, m->groups * (int)m->k.out);
    cg_value w = glow_cg_load_raw(g, type, at);

    return what == ONE_OF_PAIRS ? cg_and(g, w, glow_cg_int(type, 0xffff)) : w;
}

/*
 * Adds the taps of one line of the kernel, or two, channel by channel: so there are few
 * weights and one order of lanes at a time to keep.  Loads of the same pixel for
 * the next channel must not be merged, see tile.c.
 */
static void
add_line(const maker *m, const cpu_run *run, line_kind what, cg_value in,
         cg_value weights, cg_value *acc)
{
    const grouped *k = &m->k;
    const cpu_window_axis *x = &k->w.axis[2];
    cg *g = m->j->g;
    int64_t step = k->together * k->out * 4;
    int64_t pixels =
        (run->rows - 1) * x->stride + (x->kernel - 1) * x->dilation + 1;
    cg_value w[MOST_TAPS];

    for (int64_t c = 0; c < k->in; c++) {
        if (c)
            in = glow_cg_opaque(g, in);
        for (int64_t t = 0; t < x->kernel; t++)
            w[t] = load_weights(
                m, what, glow_cg_atc(g, weights, (t * k->in + c) * step));
        for (int64_t p = 0; p < pixels; p++)
            add_pixel(m, run, what, p, c, in, w, acc);
    }
}

/* A tile: the first pixel of input, the vector, and slices of input and of the kernel. */
typedef struct place {
    cg_value ix, v, iz, tap_z;
    cg_value base; /* line of input of tap 0 */
} place;

/* Adds the lines of the kernel from `first` to `last` to acc. */
static void
add_lines(const maker *m, const cpu_run *run, const place *p, line_kind what,
          cg_value first, cg_value last, cg_value *acc)
{
    const grouped *k = &m->k;
    const cpu_window_axis *az = &k->w.axis[0], *ay = &k->w.axis[1];
    const cpu_window_axis *ax = &k->w.axis[2];
    cg *g = m->j->g;
    int64_t size = glow_cg_bytes(k->type), pixel = k->w.channels * size;
    cg_loop over_y;

    glow_cg_loop_guarded(g, &over_y, first, last, what == TWO_LINES ? 2 : 1,
                         acc, run->rows);

    cg_value iy = cg_add(g, p->base, cg_mulc(g, over_y.i, ay->dilation));
    cg_value at = cg_add(g, cg_mulc(g, m->batch, az->in), p->iz);
    cg_value tap = cg_add(g, cg_mulc(g, p->tap_z, ay->kernel), over_y.i);

    at = cg_add(g, cg_mulc(g, at, ay->in), iy);
    at = cg_add(g, cg_mulc(g, at, ax->in), p->ix);
    at = cg_affine(g, at, pixel, p->v, k->together * k->in * size);
    tap = cg_affine(g, tap, line_weights(k) * 4, p->v, vector_weights(k) * 4);
    for (int r = 0; r < run->rows; r++)
        acc[r] = over_y.value[r];
    /* Opaque, or LLVM keeps a pointer for each pixel, see tile.c. */
    at = glow_cg_opaque(g, glow_cg_at(g, m->j->in[0].at, at));
    add_line(m, run, what, at, glow_cg_at(g, m->j->packed, tap), acc);
    glow_cg_loop_end(g, &over_y, acc);
    for (int r = 0; r < run->rows; r++)
        acc[r] = over_y.value[r];
}

/* The same of all lines: in pairs, and the last one of an odd number of them alone. */
static void
add_pairs(const maker *m, const cpu_run *run, const place *p,
          const cpu_taps *lines, cg_value *acc)
{
    cg *g = m->j->g;
    cg_value one = cg_i64(g, 1);
    cg_value odd = cg_and(g, cg_sub(g, lines->last, lines->first), one);
    cg_value rest = cg_sub(g, lines->last, odd);

    add_lines(m, run, p, TWO_LINES, lines->first, cg_sub(g, lines->last, one),
              acc);
    add_lines(m, run, p, ONE_OF_PAIRS, glow_cg_imax(g, lines->first, rest),
              lines->last, acc);
}

/* The pixels of a run from `x` on, for the groups of vector `v`. */
static void
make_tile(maker *m, const cpu_run *run, cg_value x, cg_value v)
{
    const grouped *k = &m->k;
    const cpu_window_axis *az = &k->w.axis[0], *ay = &k->w.axis[1];
    const cpu_window_axis *ax = &k->w.axis[2];
    cpu_job *j = m->j;
    cg *g = j->g;
    int lanes = m->groups * (int)k->out;
    cpu_taps depth = glow_cpu_taps(g, az, m->z, 0, az->in);
    cpu_taps lines = glow_cpu_taps(g, ay, m->y, 0, ay->in);
    place p = {.ix = cg_addc(g, cg_mulc(g, x, ax->stride), -ax->start),
               .v = v,
               .base = lines.base};
    cg_value channel = cg_mulc(g, v, k->together * k->out);
    cg_value acc[CG_MAX_CARRIED], init;
    cg_loop over_z;

    init = j->in[2].at ? glow_cg_load(g, j->in[2], channel, lanes)
                       : LLVMConstNull(glow_cg_vector(g->f32, lanes));
    for (int r = 0; r < run->rows; r++)
        acc[r] = init;
    glow_cg_loop_guarded(g, &over_z, depth.first, depth.last, 1, acc,
                         run->rows);
    for (int r = 0; r < run->rows; r++)
        acc[r] = over_z.value[r];
    p.tap_z = over_z.i;
    p.iz = cg_add(g, depth.base, cg_mulc(g, over_z.i, az->dilation));
    if (k->pairs && m->groups == k->together)
        add_pairs(m, run, &p, &lines, acc);
    else
        add_lines(m, run, &p, ONE_LINE, lines.first, lines.last, acc);
    glow_cg_loop_end(g, &over_z, acc);

    cg_value to = cg_add(g, cg_mulc(g, m->batch, az->out), m->z);

    to = cg_add(g, cg_mulc(g, to, ay->out), m->y);
    to = cg_add(g, cg_mulc(g, to, ax->out), x);
    for (int r = 0; r < run->rows; r++)
        glow_cpu_finish(j, (cpu_place){to, channel, r, 0}, over_z.value[r]);
}

/* Vectors `first` to `end` of the line at hand. */
static void
make_line(maker *m, cg_value first, cg_value end)
{
    cg *g = m->j->g;

    for (int i = 0; i < m->n_runs; i++) {
        const cpu_run *run = &m->runs[i];
        cg_loop tiles, vectors;

        glow_cg_for(g, &tiles, run->count);
        glow_cg_loop(g, &vectors, first, end, 1, NULL, 0);
        make_tile(m, run,
                  cg_addc(g, cg_mulc(g, tiles.i, run->rows), run->first),
                  vectors.i);
        glow_cg_loop_end(g, &vectors, NULL);
        glow_cg_loop_end(g, &tiles, NULL);
    }
}

/*
 * Vectors of a chunk.  Whole pixels make the best use of memory bandwidth, so
 * only an image that fits the cache is cut into chunks that fit the L1 cache;
 * else a chunk takes half of the cache.
 */
static int64_t
chunk_of(const maker *m, int64_t count)
{
    const grouped *k = &m->k;
    int64_t cache = m->j->g->target->cache_bytes;
    int64_t line = k->w.axis[2].in * glow_cg_bytes(k->type);
    int64_t image = line * k->w.axis[1].in * k->w.channels;
    int64_t vector = line * k->w.axis[1].kernel * k->together * k->in;
    int64_t chunk = (image <= cache ? LINES_BYTES : cache / 2) / vector;

    return chunk < 1 ? 1 : chunk > count ? count : chunk;
}

/*
 * Units: lines of the results, as in the convolution before, so that a thread
 * reads its own results; or vectors of channels if there are fewer than
 * LINES_OF_THREAD lines for each thread, and more vectors than lines.
 */

static int64_t
lines_of(const grouped *k)
{
    return k->w.batch * k->w.axis[0].out * k->w.axis[1].out;
}

static bool
is_by_vectors(const cpu_target *t, const grouped *k)
{
    return lines_of(k) < LINES_OF_THREAD * t->threads &&
           k->full + (k->rest > 0) > lines_of(k);
}

static int64_t
grouped_units(const cpu_target *t, const glow_node *n)
{
    grouped k;

    grouped_of(t, n, &k);
    return is_by_vectors(t, &k) ? k.full + (k.rest > 0) : lines_of(&k);
}

/* All lines, for `count` vectors of `groups` groups from vector `from` on. */
static void
make_vectors(maker *m, int64_t from, int64_t count, int groups)
{
    const grouped *k = &m->k;
    cg *g = m->j->g;
    bool by_vectors = is_by_vectors(g->target, k);
    int64_t chunk = chunk_of(m, count);
    cg_value first = cg_i64(g, from), end = cg_i64(g, from + count);
    cg_loop chunks;
    cg_nest lines;

    if (!count)
        return;
    m->groups = groups;
    if (by_vectors) {
        first = glow_cg_imax(g, m->j->begin, first);
        end = glow_cg_imin(g, m->j->end, end);
    }
    glow_cg_loop_guarded(g, &chunks, first, end, chunk, NULL, 0);
    glow_cpu_unit_nest(
        m->j, &lines,
        GLOW_DIMS_OF(k->w.batch, k->w.axis[0].out, k->w.axis[1].out),
        by_vectors ? 0 : 3);
    m->batch = lines.at[0];
    m->z = lines.at[1];
    m->y = lines.at[2];
    make_line(m, chunks.i, glow_cg_imin(g, cg_addc(g, chunks.i, chunk), end));
    glow_cg_nest_end(g, &lines);
    glow_cg_loop_end(g, &chunks, NULL);
}

static void
emit_grouped(cpu_job *j)
{
    maker m = {.j = j};

    grouped_of(j->g->target, j->n, &m.k);
    m.n_runs = glow_cpu_cut(j->g->arena, &m.k.w.axis[2], m.k.rows, m.runs);
    make_vectors(&m, 0, m.k.full, m.k.together);
    make_vectors(&m, m.k.full, m.k.rest > 0, m.k.rest);
}

static int64_t
grouped_size(const cpu_target *t, const glow_node *n)
{
    grouped k;

    grouped_of(t, n, &k);
    return (k.full + (k.rest > 0)) * vector_weights(&k) * 4;
}

/* A pair of the weight `w` and the one of the next line of taps, for tap `i`. */
static uint32_t
pair_of(const grouped *k, const uint16_t *w, int64_t i)
{
    int64_t kernel = k->w.axis[1].kernel, line = k->w.axis[2].kernel;
    bool last = i / line % kernel == kernel - 1;

    return w[i] | (last ? 0 : (uint32_t)w[i + line] << 16);
}

/* Filter [O, taps, channels of a group]. */
static void
pack_grouped(const cpu_target *t, const glow_node *n, const glow_tensor *from,
             void *to)
{
    grouped k;
    char *packed = to;

    grouped_of(t, n, &k);

    int64_t results = glow_dims_count(from->type->shape), row;
    int64_t lanes = k.together * k.out;

    row = vector_weights(&k) / lanes; /* weights of one result */
    results /= row;
    for (int64_t v = 0; v < k.full + (k.rest > 0); v++)
        for (int64_t i = 0; i < row; i++)
            for (int64_t o = v * lanes; o < (v + 1) * lanes; o++) {
                float w = o < results
                              ? (float)glow_get_double(from, o * row + i)
                              : 0.0f;
                uint32_t pair;

                memcpy(packed, &w, 4);
                if (k.pairs && v < k.full) {
                    pair = pair_of(&k, (uint16_t *)from->data + o * row, i);
                    memcpy(packed, &pair, 4);
                }
                packed += 4;
            }
}

extern const cpu_kernel glow_cpu_conv_grouped;

/*
 * Each line of the kernel loads its weights for each tile, and its taps have to
 * wait for each other where the tile is small.
 */
static double
grouped_cycles(const cpu_target *t, const grouped *k)
{
    const cpu_window_axis *x = &k->w.axis[2], *y = &k->w.axis[1];
    double taps = (double)(x->kernel * k->in), whole, rest, step;
    int64_t count = k->pairs ? cg_ceil_div(y->kernel, 2) : y->kernel;
    double lines = (double)(count * k->w.axis[0].kernel);

    step = k->rows / t->multiplies;
    whole = lines * taps * (step < LATENCY ? LATENCY : step + 1) + 8 + k->rows;
    step = (double)(x->out % k->rows) / t->multiplies;
    rest = lines * taps * (step < LATENCY ? LATENCY : step + 1) + 8 + step;
    if (x->out % k->rows == 0)
        rest = 0;
    return ((double)(x->out / k->rows) * whole + rest) *
           (double)(lines_of(k) * (k->full + (k->rest > 0)));
}

double
glow_cpu_grouped_cycles(const cpu_target *t, const glow_node *n)
{
    grouped k;

    return takes_grouped(t, n) && grouped_of(t, n, &k) ? grouped_cycles(t, &k)
                                                       : INFINITY;
}

static void
grouped_choices(const cpu_target *t, const glow_node *n, cpu_choices *to)
{
    for (int rows = 1; rows < t->registers - 3; rows++) {
        cpu_choice c = glow_cpu_free_choice(&glow_cpu_conv_grouped);
        cpu_target u = *t;
        grouped k;

        c.value[CPU_KNOB_ROWS] = rows;
        u.choice = &c;
        if (!takes_grouped(&u, n) || !grouped_of(&u, n, &k) ||
            rows > k.w.axis[2].out)
            return;
        c.cycles = grouped_cycles(t, &k);
        glow_cpu_add_choice(to, c);
    }
}

const cpu_kernel glow_cpu_conv_grouped = {
    .name = "conv_grouped",
    .op = &glow_op_convolution,
    .takes = takes_grouped,
    .emit = emit_grouped,
    .stacks = true,
    .packs = 1,
    .packed_size = grouped_size,
    .pack = pack_grouped,
    .units = grouped_units,
    .choices = grouped_choices,
};
