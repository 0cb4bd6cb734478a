/*
 * The register tile of integer sums: the micro-kernel.
 *
 *     for planes and lines of taps, taps of a line
 *       for steps of the run of a tap, `unit` of them unrolled
 *         mr x vectors sums += a group of elements of mr pixels, broadcast,
 *                              . a group of weights of each channel
 *
 * A group is four elements of 8 bits, or two or one of 16.  If the elements of a run
 * are no multiple of it, the last group has weights of 0.
 *
 * Instructions that multiply two rows by two columns take groups of eight.  A pair of
 * rows has two sums where each row has a vector of four lanes otherwise:
 *
 *     a0 a1 a2 a3      a0 a1 b0 b1    of columns 0 and 1
 *     b0 b1 b2 b3  =>  a2 a3 b2 b3    of columns 2 and 3
 */

#include "codegen/cpu/kernels/integer/integer.h"

typedef cpu_integer integer;

typedef struct state {
    cg_value value[CG_MAX_CARRIED]; /* sums, then the pointers */
    int sums, pointers;             /* to the input, weights, the next ones */
} state;

typedef struct tile {
    cg *g;
    const integer *s;
    int rows, vectors;
    bool ones; /* weights are 1, and not read */
} tile;

static bool
is_square(const tile *t)
{
    return glow_cg_dot_rows(t->s->form);
}

/* Elements in all lanes, as the instruction takes them. */
static cg_value
convert(const tile *t, cg_value x)
{
    cg *g = t->g;
    const integer *s = t->s;
    LLVMTypeRef bytes = glow_cg_vector(g->i8, 4 * s->lanes);

    if (s->copies)
        return x;
    x = glow_cpu_integer_convert(g, s, cg_bitcast(g, x, bytes));
    return cg_bitcast(g, x, glow_cg_vector(g->i32, s->lanes));
}

/* A group of elements of a pixel, in all lanes. */
static cg_value
load_input(const tile *t, cg_value at)
{
    cg *g = t->g;
    const integer *s = t->s;
    LLVMTypeRef one = s->group == 1 ? g->i16 : g->i32;
    cg_value x = glow_cg_load_raw(g, one, at);

    return convert(t, glow_cg_splat(g, x, s->lanes));
}

cg_value
glow_cpu_integer_load_weights(cg *g, const integer *s, int lanes, cg_value at)
{
    int count = lanes * s->group;
    LLVMTypeRef t = glow_cg_vector(s->group == 1 ? g->i16 : g->i32, lanes);
    cg_value w;

    if (!s->narrow)
        return glow_cg_load_raw(g, t, at);
    w = glow_cg_load_raw(g, glow_cg_vector(g->i8, count), at);
    w = LLVMBuildSExt(g->builder, w, glow_cg_vector(g->i16, count), "");
    return cg_bitcast(g, w, t);
}

/* Groups of eight elements of pixels `row` and the next; `step` from `in`. */
static cg_value
load_rows(const tile *t, cg_value in, int row, int64_t step)
{
    cg *g = t->g;
    const integer *s = t->s;
    int64_t apart = s->axis[2].stride * s->pixel;
    cg_value v = LLVMConstNull(glow_cg_vector(g->i64, 2));

    for (int r = row; r < row + 2 && r < t->rows; r++)
        v = LLVMBuildInsertElement(
            g->builder, v,
            glow_cg_load_raw(g, g->i64, glow_cg_atc(g, in, r * apart + step)),
            LLVMConstInt(g->i32, (unsigned)(r - row), false), "");
    return convert(t, cg_bitcast(g, v, glow_cg_vector(g->i32, s->lanes)));
}

/* Weights of 1 for the elements of a step, of which some may be behind a run. */
static cg_value
ones(const tile *t, bool last)
{
    const integer *s = t->s;
    int64_t there = last ? s->run - (s->steps - 1) * s->group : s->group;
    int bits = 8 * glow_cg_dot_bytes(s->form);
    int64_t one = 0;

    if (s->group == 1)
        return glow_cg_int(glow_cg_vector(t->g->i16, s->lanes), 1);
    if (is_square(t)) {
        for (int64_t i = 0; i < there; i++)
            one |= (int64_t)(UINT64_C(1) << (i * bits));
        return cg_bitcast(t->g, glow_cg_int(glow_cg_vector(t->g->i64, 2), one),
                          glow_cg_vector(t->g->i32, s->lanes));
    }
    for (int64_t i = 0; i < there; i++)
        one |= INT64_C(1) << (i * bits);
    return glow_cg_int(glow_cg_vector(t->g->i32, s->lanes), one);
}

/* Prefetches `ahead` lines of the next weights, and moves their pointer. */
static void
prefetch(const tile *t, cg_value *next)
{
    for (int i = 0; i < t->s->ahead; i++)
        glow_cg_prefetch(t->g, glow_cg_atc(t->g, *next, i * CPU_LINE), false,
                         2);
    *next = glow_cg_atc(t->g, *next, t->s->ahead * CPU_LINE);
}

/*
 * True if a step of one row reads what another step of the row before it reads.  LLVM
 * would keep such elements in registers, of which there are none left: 117 GOP/s with
 * what it moves to the stack, instead of 165 (AVX2, 3 x 3 taps of 3 channels).
 */
static bool
rows_overlap(const tile *t)
{
    const integer *s = t->s;
    int64_t step = s->group * glow_cg_dot_bytes(s->form);

    return t->rows > 1 && s->axis[2].stride * s->pixel < s->unit * step;
}

/* Step `k` from the pointers on; `last`: of the run. */
static void
add_step(const tile *t, int64_t k, bool last, state *st)
{
    cg *g = t->g;
    const integer *s = t->s;
    int parts = is_square(t) ? 2 : 1, rows = parts, sums = t->vectors * parts;
    int64_t vector = glow_cpu_integer_vector(s) / parts;
    int64_t step = k * s->group * glow_cg_dot_bytes(s->form);
    cg_value in = st->value[st->sums], w = st->value[st->sums + 1], x;
    cg_value weights[2 * CPU_INTEGER_VECTORS];

    for (int v = 0; v < sums; v++)
        weights[v] = t->ones ? ones(t, last)
                             : glow_cpu_integer_load_weights(
                                   g, s, s->lanes,
                                   glow_cg_atc(g, w, (k * sums + v) * vector));
    for (int r = 0; r < t->rows; r += rows) {
        int64_t at = r * s->axis[2].stride * s->pixel + step;

        x = parts == 2 ? load_rows(t, in, r, step)
                       : load_input(t, glow_cg_atc(g, in, at));
        for (int v = 0; v < sums; v++) {
            cg_value *sum = &st->value[r / rows * sums + v];

            *sum = glow_cg_dot(g, s->form, x, weights[v], *sum);
        }
    }
}

/* `count` steps, the last of which may be that of the run; moves the pointers. */
static void
run_steps(const tile *t, int64_t count, bool ends, state *st)
{
    cg *g = t->g;
    const integer *s = t->s;
    int64_t step = s->group * glow_cg_dot_bytes(s->form);
    cg_value *in = &st->value[st->sums], *w = in + 1;
    bool overlap = rows_overlap(t);

    *in = glow_cg_base(g, *in);
    *w = glow_cg_base(g, *w);
    for (int64_t k = 0; k < count; k++) {
        if (overlap)
            *in = glow_cg_opaque(g, *in);
        add_step(t, k, ends && k == count - 1, st);
    }
    *in = glow_cg_atc(g, *in, count * step);
    *w = glow_cg_atc(
        g, *w, t->ones ? 0 : count * t->vectors * glow_cpu_integer_vector(s));
    if (st->pointers > 2)
        prefetch(t, w + 1);
}

/* Begins a loop that carries the state, unless it runs once. */
static void
begin_loop(const tile *t, cg_loop *l, int64_t count, state *st)
{
    if (count == 1)
        return;
    glow_cg_loop(t->g, l, cg_i64(t->g, 0), cg_i64(t->g, count), 1, st->value,
                 st->sums + st->pointers);
    for (int i = 0; i < st->sums + st->pointers; i++)
        st->value[i] = l->value[i];
}

static void
end_loop(const tile *t, cg_loop *l, int64_t count, state *st)
{
    if (count == 1)
        return;
    glow_cg_loop_end(t->g, l, st->value);
    for (int i = 0; i < st->sums + st->pointers; i++)
        st->value[i] = l->value[i];
}

/* The run of one tap. */
static void
sum_run(const tile *t, state *st)
{
    const integer *s = t->s;
    bool odd = s->run % s->group != 0;
    int64_t whole = (s->steps - odd) / s->unit;
    int64_t rest = s->steps - whole * s->unit;
    cg_loop l;

    if (whole) {
        begin_loop(t, &l, whole, st);
        run_steps(t, s->unit, !odd, st);
        end_loop(t, &l, whole, st);
    }
    if (rest)
        run_steps(t, rest, true, st);
}

int64_t
glow_cpu_integer_apart(const integer *s, int axis)
{
    int64_t dilation = s->axis[axis].dilation;

    if (axis > 0)
        return dilation * (axis == 2 ? s->pixel : s->line);
    return s->copies ? glow_cpu_integer_copied(s) * s->line
                     : dilation * s->plane;
}

/*
 * The loop over axis `axis` of taps, or over the taps of a line that are not
 * contiguous, and the loops within it.
 */
static void
sum_axis(const tile *t, int axis, state *st)
{
    cg *g = t->g;
    const integer *s = t->s;
    int64_t count;
    cg_value start;
    cg_loop l;

    if (axis > 2) {
        sum_run(t, st);
        return;
    }
    count = axis == 2 ? s->taps : s->axis[axis].kernel;
    begin_loop(t, &l, count, st);
    start = st->value[st->sums];
    sum_axis(t, axis + 1, st);
    st->value[st->sums] =
        glow_cg_atc(g, start, glow_cpu_integer_apart(s, axis));
    end_loop(t, &l, count, st);
}

/* The first or the second halves of `a` and `b`. */
static cg_value
halves(const tile *t, cg_value a, cg_value b, int half)
{
    cg *g = t->g;
    int lanes = t->s->lanes, most = lanes / 2;
    cg_value order[4];

    for (int i = 0; i < lanes; i++)
        order[i] = LLVMConstInt(
            g->i32, (unsigned)(i / most * lanes + half * most + i % most),
            false);
    return LLVMBuildShuffleVector(g->builder, a, b,
                                  LLVMConstVector(order, (unsigned)lanes), "");
}

/* Sums of rows as those of pairs of rows, or back. */
static void
exchange(const tile *t, bool back, cg_value *acc, cg_value *square)
{
    cg_value none = LLVMConstNull(glow_cg_vector(t->g->i32, t->s->lanes));

    for (int r = 0; r < t->rows; r += 2)
        for (int v = 0; v < t->vectors; v++) {
            cg_value *a = &acc[r * t->vectors + v];
            cg_value *b = r + 1 < t->rows ? a + t->vectors : &none;
            cg_value *sum = &square[r * t->vectors + 2 * v];
            cg_value *from[2] = {back ? sum : a, back ? sum + 1 : b};
            cg_value low = halves(t, *from[0], *from[1], 0);
            cg_value high = halves(t, *from[0], *from[1], 1);

            *(back ? a : sum) = low;
            *(back ? b : sum + 1) = high;
        }
}

void
glow_cpu_integer_sum(cg *g, const integer *s, int rows, int vectors,
                     cg_value in, cg_value w, cg_value next, cg_value *acc)
{
    tile t = {g, s, rows, vectors, w == NULL};
    bool square = is_square(&t);
    state st = {.sums = (square ? rows + rows % 2 : rows) * vectors,
                .pointers = next ? 3 : 2};

    if (square)
        exchange(&t, false, acc, st.value);
    for (int i = 0; i < st.sums && !square; i++)
        st.value[i] = acc[i];
    st.value[st.sums] = glow_cg_opaque(g, in);
    st.value[st.sums + 1] = w ? w : in;
    if (next)
        st.value[st.sums + 2] = next;
    sum_axis(&t, 0, &st);
    if (square)
        exchange(&t, true, acc, st.value);
    for (int i = 0; i < st.sums && !square; i++)
        acc[i] = st.value[i];
}
