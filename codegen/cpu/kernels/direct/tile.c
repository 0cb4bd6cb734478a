/*
 * The register tile: the micro-kernel of convolutions and matrix products.
 *
 * All sums of the tile stay in registers over the whole depth.  Each vector of
 * weights is used for all rows, each element of input, broadcast, for all
 * blocks.  Taps outside of the input are not emitted.
 *
 * The same element of input is read by several taps.  Merging these loads would
 * keep their results alive and spill the sums (measured: 64 % of the speed), so
 * the address is made opaque at each tap.  It is made opaque at the head of the
 * tile too: inside of loops whose bounds are known only to a thread, LLVM kept
 * a pointer for each element read, on the stack (a stem of three channels took
 * 1.2 times as long on two threads as on one).
 *
 * Data read once, from memory, arrives at the rate of cache misses in flight,
 * and a core has more of them when several address streams are read, because
 * the hardware prefetches in each by itself.  Hence `streams` (measured on a
 * Xeon of the Sapphire Rapids family: of one 9.2 GB/s, two 11.5, four 14, eight
 * 15.5).
 */

#include "codegen/cpu/kernels/direct/tile.h"
#include "codegen/cpu/kernels/direct/narrow.h"

/* The state of the loops: sums, then two to eight pointers. */
typedef struct state {
    cg_value value[CG_MAX_CARRIED];
    int sums, count;
} state;

static cg_value *
in_of(state *s)
{
    return &s->value[s->sums];
}

static cg_value *
w_of(state *s)
{
    return &s->value[s->sums + 1];
}

/* The pointer to weights to prefetch, if any, then that to input. */
static cg_value *
ahead_of(state *s)
{
    return &s->value[s->sums + 2];
}

static cg_value *
input_ahead_of(const cpu_tile *t, state *s)
{
    return &s->value[s->sums + (t->ahead ? 3 : 2)];
}

/* The pointers to what is subtracted from the weights, each before that to the differences. */
static cg_value *
less_of(const cpu_tile *t, state *s)
{
    return input_ahead_of(t, s) + (t->input_ahead > 0);
}

bool
glow_cpu_fits_tile(int64_t rows, int64_t blocks)
{
    return rows * blocks <= CG_MAX_CARRIED - 4 - 2 * CPU_MOST_LESS;
}

int
glow_cpu_tile_lanes(const cpu_tile *t, int block)
{
    return block == t->blocks - 1 && t->last_lanes ? t->last_lanes : t->lanes;
}

int64_t
glow_cpu_tile_chunks(const cpu_tile *t)
{
    return (t->depth + t->unit - 1) / t->unit;
}

int64_t
glow_cpu_tile_weights(const cpu_tile *t)
{
    return t->taps * t->depth * t->w_depth;
}

int
glow_cpu_tile_ahead(const cpu_tile *t, int64_t weights, int64_t times)
{
    int64_t chunks = times * glow_cpu_tile_chunks(t);
    int64_t lines = cg_ceil_div(weights, CPU_LINE * chunks);

    return lines < CPU_MOST_AHEAD ? (int)lines : CPU_MOST_AHEAD;
}

/* Bytes from one element of the depth to the next. */
static int64_t
step_of(const cpu_tile *t)
{
    int count = t->numbers == CPU_DOTS    ? t->lanes
                : t->numbers == CPU_PAIRS ? 2
                                          : 1;

    return glow_cg_bytes(t->type) * count;
}

/* An element of the depth at `from`, in `lanes` lanes; of dot products a vector of them. */
static cg_value
load_input(cg *g, const cpu_tile *t, cg_tensor from, bool half, int lanes)
{
    cg_value x, zero = cg_i64(g, 0);

    if (t->numbers == CPU_DOTS) {
        g->live = half ? t->tail : 0;
        x = glow_cg_load(g, from, zero, t->lanes);
        g->live = 0;
        return x;
    }
    x = t->numbers == CPU_PAIRS ? glow_cpu_load_pair(g, from.at, half)
                                : glow_cg_load(g, from, zero, 1);
    return glow_cg_splat(g, x, lanes);
}

/* The input of row `r` from `in` on, in `lanes` lanes. */
static cg_value
load_row(cg *g, const cpu_tile *t, int r, cg_value in, bool half, int lanes)
{
    cg_tensor from = {glow_cg_atc(g, in, r * t->row_step), t->type};

    return load_input(g, t, from, half, lanes);
}

/*
 * Multiplies an element of the depth at one tap.  Half a vector has a load of its own, from
 * an opaque address: LLVM makes no operand in memory of an element that is broadcast to
 * vectors of two sizes, but shuffles it in registers, and spills sums.
 */
static void
multiply(cg *g, const cpu_tile *t, int rows, const bool *valid, int tap,
         bool half, cg_value in, cg_value const *w, state *s)
{
    cg_value apart =
        t->last_lanes && t->blocks > 1 ? glow_cg_opaque(g, in) : in;

    for (int r = 0; r < rows; r++) {
        cg_value x = NULL;

        if (!valid[r * t->taps + tap])
            continue;
        for (int b = 0; b < t->blocks; b++) {
            cg_value *sum = &s->value[r * t->blocks + b];
            int lanes = glow_cpu_tile_lanes(t, b);

            if (!x || lanes != t->lanes)
                x = load_row(g, t, r, lanes == t->lanes ? in : apart, half,
                             lanes);
            *sum = t->numbers == CPU_PAIRS ? glow_cg_add_pairs(g, x, w[b], *sum)
                                           : glow_cg_fma(g, x, w[b], *sum);
        }
    }
}

/*
 * Loads a vector of weights; of the last block, if weights are not packed, only
 * `last` lanes, and zeros in the others.
 */
static cg_value
load_weights(cg *g, const cpu_tile *t, cg_value at, int block, bool half)
{
    bool packed = t->w_depth == t->blocks * t->w_block;
    int lanes = block == t->blocks - 1 && !packed
                    ? t->last
                    : glow_cpu_tile_lanes(t, block);
    LLVMTypeRef type = glow_cg_vector(g->f32, lanes);
    cg_value order[256], v;

    at = glow_cg_atc(g, at, block * t->w_block);
    if (t->numbers == CPU_NARROW)
        v = glow_cg_load(g, (cg_tensor){at, t->weights}, cg_i64(g, 0), lanes);
    else if (t->pair_step)
        v = glow_cg_load_pairs(g, at, half ? 0 : t->pair_step, lanes);
    else
        v = glow_cg_load_raw(g, type, at);
    if (lanes == glow_cpu_tile_lanes(t, block))
        return v;
    if (lanes == 1)
        return LLVMBuildInsertElement(
            g->builder, LLVMConstNull(glow_cg_vector(g->f32, t->lanes)), v,
            LLVMConstNull(g->i32), "");
    for (int i = 0; i < t->lanes; i++)
        order[i] =
            LLVMConstInt(g->i32, (unsigned)(i < lanes ? i : lanes), false);
    return LLVMBuildShuffleVector(g->builder, v, LLVMConstNull(type),
                                  LLVMConstVector(order, (unsigned)t->lanes),
                                  "");
}

/* Loads a vector of weights, and subtracts and stores as `t` says; `at`: from the first. */
static cg_value
difference(cg *g, const cpu_tile *t, cg_value weights, int64_t at, state *s)
{
    cg_value *to = less_of(t, s), v = weights;

    for (int i = 0; i < t->n_less; i++, to += 2) {
        cg_value minus =
            glow_cg_load_raw(g, LLVMTypeOf(v), glow_cg_atc(g, to[0], at));

        v = cg_fsub(g, v, minus);
        glow_cg_store_raw(g, v, glow_cg_atc(g, to[1], at));
    }
    return v;
}

/*
 * Among the multiplications a prefetch counts as a write of memory and breaks
 * their order; at the head of the chunk it does not.
 */
static void
prefetch(cg *g, int lines, cg_value *at)
{
    for (int i = 0; i < lines; i++)
        glow_cg_prefetch(g, glow_cg_atc(g, *at, (int64_t)i * CPU_LINE), false,
                         2);
    if (lines)
        *at = glow_cg_atc(g, *at, (int64_t)lines * CPU_LINE);
}

/*
 * `count` elements of the depth at all taps of one i; moves the pointers on.  `odd`:
 * the last is half a pair.
 */
static void
chunk(cg *g, const cpu_tile *t, int rows, const bool *valid, int count,
      bool odd, state *s)
{
    cg_value in = glow_cg_base(g, *in_of(s)), w = glow_cg_base(g, *w_of(s));
    int64_t size = step_of(t);

    prefetch(g, t->ahead, ahead_of(s));
    prefetch(g, t->input_ahead, input_ahead_of(t, s));
    for (int tap = 0; tap < t->taps; tap++) {
        bool any = false;

        for (int r = 0; r < rows; r++)
            any = any || valid[r * t->taps + tap];
        if (!any)
            continue;
        if (t->taps > 1)
            in = glow_cg_opaque(g, in);
        for (int d = 0; d < count; d++) {
            cg_value v[CPU_MOST_BLOCKS];
            cg_value at =
                glow_cg_atc(g, w, (int64_t)(tap * count + d) * t->w_depth);
            bool half = odd && d == count - 1;

            for (int b = 0; b < t->blocks; b++) {
                v[b] = load_weights(g, t, at, b, half);
                v[b] = difference(
                    g, t, v[b], (tap * count + d) * t->w_depth + b * t->w_block,
                    s);
            }
            multiply(g, t, rows, valid, tap, half,
                     glow_cg_atc(g, in, tap * t->tap_step + d * size), v, s);
        }
    }
    *in_of(s) = glow_cg_atc(g, in, count * size);
    *w_of(s) = glow_cg_atc(g, w, (int64_t)t->taps * count * t->w_depth);
    for (int i = 0; i < 2 * t->n_less; i++)
        less_of(t, s)[i] = glow_cg_atc(g, less_of(t, s)[i],
                                       (int64_t)t->taps * count * t->w_depth);
}

/* A chunk `apart` elements of the depth beyond the current one. */
static void
chunk_at(cg *g, const cpu_tile *t, int rows, const bool *valid, int64_t apart,
         state *s)
{
    cg_value in = *in_of(s), w = *w_of(s);

    *in_of(s) = glow_cg_atc(g, in, apart * step_of(t));
    *w_of(s) = glow_cg_atc(g, w, apart * t->taps * t->w_depth);
    chunk(g, t, rows, valid, t->unit, false, s);
    *in_of(s) = in;
    *w_of(s) = w;
}

static void
move_on(cg *g, const cpu_tile *t, int64_t count, state *s)
{
    *in_of(s) = glow_cg_atc(g, *in_of(s), count * step_of(t));
    *w_of(s) = glow_cg_atc(g, *w_of(s), count * t->taps * t->w_depth);
}

/* `chunks` chunks of each of `streams` parts of the depth, interleaved. */
static void
sweep_parts(cg *g, const cpu_tile *t, int rows, const bool *valid, int streams,
            int64_t chunks, state *s)
{
    int64_t part = chunks * t->unit;
    cg_loop l;

    if (!chunks)
        return;
    if (chunks > 1) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, chunks), 1, s->value,
                     s->count);
        for (int i = 0; i < s->count; i++)
            s->value[i] = l.value[i];
    }
    for (int k = 0; k < streams; k++)
        chunk_at(g, t, rows, valid, k * part, s);
    move_on(g, t, t->unit, s);
    if (chunks > 1)
        glow_cg_loop_end(g, &l, s->value);
    move_on(g, t, (streams - 1) * part, s);
}

/* The whole depth at one i. */
static void
sweep(cg *g, const cpu_tile *t, int rows, const bool *valid, state *s)
{
    int64_t whole = t->depth / t->unit;
    int rest = (int)(t->depth % t->unit);
    int64_t parts;

    if (t->odd && !rest) {
        whole--;
        rest = t->unit;
    }
    parts = t->streams ? whole / t->streams : 0;
    if (parts)
        sweep_parts(g, t, rows, valid, t->streams, parts, s);
    sweep_parts(g, t, rows, valid, 1, whole - parts * t->streams, s);
    if (rest)
        chunk(g, t, rows, valid, rest, t->odd, s);
}

void
glow_cpu_emit_tile(cg *g, const cpu_tile *t, int rows, const bool *valid,
                   cg_value in, cg_value w, cpu_ahead ahead, cg_value first,
                   cg_value last, bool guarded, cg_value *acc)
{
    int64_t weights = glow_cpu_tile_weights(t);
    bool once =
        LLVMIsConstant(first) && LLVMIsConstant(last) &&
        LLVMConstIntGetSExtValue(last) - LLVMConstIntGetSExtValue(first) == 1;
    state s = {.sums = rows * t->blocks};
    cg_loop l;

    s.count =
        s.sums + 2 + (t->ahead > 0) + (t->input_ahead > 0) + 2 * t->n_less;
    for (int i = 0; i < s.sums; i++)
        s.value[i] = acc[i];
    if (t->ahead)
        *ahead_of(&s) = ahead.weights;
    if (t->input_ahead)
        *input_ahead_of(t, &s) = ahead.input;
    for (int i = 0; i < t->n_less; i++) {
        less_of(t, &s)[2 * i] = t->less[i].minus;
        less_of(t, &s)[2 * i + 1] = t->less[i].to;
    }
    in = glow_cg_opaque(g, in);
    *in_of(&s) = glow_cg_at(g, in, cg_mulc(g, first, t->tap_row));
    *w_of(&s) = glow_cg_at(g, w, cg_mulc(g, first, weights));
    if (once) {
        sweep(g, t, rows, valid, &s);
    } else {
        (guarded ? glow_cg_loop_guarded : glow_cg_loop)(g, &l, first, last, 1,
                                                        s.value, s.count);
        for (int i = 0; i < s.count; i++)
            s.value[i] = l.value[i];

        cg_value start = *in_of(&s);

        sweep(g, t, rows, valid, &s);
        *in_of(&s) = glow_cg_atc(g, start, t->tap_row);
        glow_cg_loop_end(g, &l, s.value);
        for (int i = 0; i < s.sums; i++)
            s.value[i] = l.value[i];
    }
    for (int i = 0; i < s.sums; i++)
        acc[i] = s.value[i];
}
