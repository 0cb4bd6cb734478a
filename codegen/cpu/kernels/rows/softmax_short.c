/*
 * Softmax of short rows, several at once: no row is reduced to a scalar.
 *
 * Rows whose length is a power of two, of at most half a vector, are packed
 * into one vector side by side, and each is reduced by shuffles within it.
 *
 * Rows of other lengths are transposed in blocks of as many rows as a vector
 * has lanes, so that each lane holds one row, and all but the transpose is done
 * lane by lane: no lane is idle.  A block is transposed four elements at a
 * time, 4 x 4 within each 128 bits of a vector, which takes two shuffles for
 * each vector; a transpose across all lanes takes four.
 */

#include "codegen/cpu/kernels/move/shuffle.h"
#include "codegen/cpu/kernels/rows/softmax.h"

#define MOST_TURNED 31 /* elements of a row that is transposed */

static int
lanes_of(const cpu_target *t)
{
    return t->vector_bytes / 4;
}

static bool
is_side_by_side(const cpu_target *t, int64_t size)
{
    return size >= 2 && size <= lanes_of(t) / 2 && !(size & (size - 1));
}

static bool
is_turned(const cpu_target *t, const glow_type *type, int64_t size)
{
    int lanes = lanes_of(t);

    return size >= 2 && size <= MOST_TURNED && lanes >= CPU_CHUNK &&
           glow_type_count(type) / size >= lanes;
}

int
glow_cpu_soft_rows(const cpu_target *t, const glow_type *type, int64_t size)
{
    if (type->elem == GLOW_FLOAT64)
        return 1;
    if (is_side_by_side(t, size))
        return lanes_of(t) / (int)size;
    return is_turned(t, type, size) ? lanes_of(t) : 1;
}

/* Side by side. */

/* All lanes of each row: combined in one order, so that they are equal. */
static cg_value
combine_rows(cg *g, const glow_type *t, cg_value v, int size, cg_combine_fn fn)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(v)), from[CPU_MOST_LANES];

    for (int step = 1; step < size; step *= 2) {
        for (int i = 0; i < lanes; i++)
            from[i] = i ^ step;
        v = fn(g, t, v, glow_cpu_shuffle(g, v, NULL, from, lanes));
    }
    return v;
}

/* `rows` rows from element s->at on. */
static void
side_by_side(cpu_job *j, const cpu_soft *s, int rows)
{
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    int size = (int)s->size, lanes = lanes_of(g->target), live = rows * size;
    cg_value x, e, sum, y;

    g->live = live < lanes ? live : 0;
    x = glow_cg_load(g, j->in[0], s->at, lanes);
    g->live = 0;
    x = cg_fsub(g, x, combine_rows(g, t, x, size, glow_cpu_soft_greater));
    e = glow_cg_exp(g, x);
    sum = glow_cpu_soft_sum(g, s, combine_rows(g, t, e, size, glow_cpu_sum));
    y = s->logarithm ? cg_fsub(g, x, sum) : glow_cpu_soft_weigh(g, e, sum);
    g->live = live < lanes ? live : 0;
    glow_cg_store(g, j->out[0], s->at, y);
    g->live = 0;
}

/* Transposed. */

/* Transposes the 4 x 4 elements of each chunk of four vectors. */
static void
turn_chunks(cg *g, cg_value *v)
{
    cg_value a[CPU_CHUNK];

    for (int i = 0; i < CPU_CHUNK; i++)
        a[i] = glow_cpu_zip_chunks(g, v[i / 2], v[i / 2 + 2], i % 2);
    for (int i = 0; i < CPU_CHUNK; i++)
        v[i] = glow_cpu_zip_chunks(g, a[i / 2], a[i / 2 + 2], i % 2);
}

/* One vector of `n` chunks; `chunk` is lost. */
static cg_value
join_chunks(cg *g, cg_value *chunk, int n)
{
    int from[CPU_MOST_LANES];

    for (int i = 0; i < CPU_MOST_LANES; i++)
        from[i] = i;
    for (int lanes = CPU_CHUNK; n > 1; n /= 2, lanes *= 2)
        for (int i = 0; i < n / 2; i++)
            chunk[i] = glow_cpu_shuffle(g, chunk[2 * i], chunk[2 * i + 1], from,
                                        2 * lanes);
    return chunk[0];
}

/*
 * Returns the index of the chunk of row `row` that begins at element `first`,
 * and sets g->live to its elements within the block (0: all).  A chunk may
 * reach into the next row, which is stored later, but not behind the last row
 * of the block.
 */
static cg_value
chunk_at(cg *g, const cpu_soft *s, int row, int first)
{
    int64_t in_block = row * s->size + first;
    int64_t rest = lanes_of(g->target) * s->size - in_block;

    g->live = rest < CPU_CHUNK ? (int)rest : 0;
    return cg_addc(g, s->at, in_block);
}

/* x[i] is element i of all rows. */
static void
load_turned(cpu_job *j, const cpu_soft *s, cg_value *x)
{
    cg *g = j->g;
    int lanes = lanes_of(g->target);
    cg_value chunk[CPU_MOST_LANES / CPU_CHUNK];

    for (int first = 0; first < s->size; first += CPU_CHUNK) {
        for (int i = 0; i < CPU_CHUNK; i++) {
            for (int row = i; row < lanes; row += CPU_CHUNK)
                chunk[row / CPU_CHUNK] = glow_cg_load(
                    g, j->in[0], chunk_at(g, s, row, first), CPU_CHUNK);
            x[first + i] = join_chunks(g, chunk, lanes / CPU_CHUNK);
        }
        turn_chunks(g, x + first);
    }
    g->live = 0;
}

static void
store_turned(cpu_job *j, const cpu_soft *s, cg_value *x)
{
    cg *g = j->g;
    int lanes = lanes_of(g->target);

    for (int first = 0; first < s->size; first += CPU_CHUNK) {
        for (int i = (int)s->size; i < first + CPU_CHUNK; i++)
            x[i] = LLVMGetPoison(LLVMTypeOf(x[0]));
        turn_chunks(g, x + first);
    }
    for (int row = 0; row < lanes; row++)
        for (int first = 0; first < s->size; first += CPU_CHUNK) {
            cg_value at = chunk_at(g, s, row, first);

            glow_cg_store(g, j->out[0], at,
                          glow_cpu_some_lanes(g, x[first + row % CPU_CHUNK],
                                              row - row % CPU_CHUNK,
                                              CPU_CHUNK));
        }
    g->live = 0;
}

/* A block of as many rows as a vector has lanes, from element s->at on. */
static void
turned(cpu_job *j, const cpu_soft *s)
{
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    int size = (int)s->size;
    cg_value x[MOST_TURNED + CPU_CHUNK], e[MOST_TURNED], all[MOST_TURNED];
    cg_value max, sum;

    load_turned(j, s, x);
    for (int i = 0; i < size; i++)
        all[i] = x[i];
    max = glow_cpu_soft_lanes(g, t, all, size, glow_cpu_soft_greater);
    for (int i = 0; i < size; i++) {
        x[i] = cg_fsub(g, x[i], max);
        all[i] = e[i] = glow_cg_exp(g, x[i]);
    }
    sum = glow_cpu_soft_sum(g, s,
                            glow_cpu_soft_lanes(g, t, all, size, glow_cpu_sum));
    for (int i = 0; i < size; i++)
        x[i] = s->logarithm ? cg_fsub(g, x[i], sum)
                            : glow_cpu_soft_weigh(g, e[i], sum);
    store_turned(j, s, x);
}

/* Rows that make no whole unit, of which there are `rest`. */
static void
last_rows(cpu_job *j, cpu_soft s, int rest)
{
    cg *g = j->g;
    cg_value first = s.at;
    cg_loop row;

    if (is_side_by_side(g->target, s.size)) {
        side_by_side(j, &s, rest);
        return;
    }
    glow_cg_for(g, &row, rest);
    s.at = cg_add(g, first, cg_mulc(g, row.i, s.size));
    glow_cpu_soft_row(j, s);
    glow_cg_loop_end(g, &row, NULL);
}

void
glow_cpu_soft_short(cpu_job *j, cpu_soft s)
{
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    int rows = glow_cpu_soft_rows(g->target, t, s.size);
    int64_t all = glow_type_count(t) / s.size, whole = all / rows;
    cg_loop l;
    cg_value unit = glow_cpu_unit_for(j, &l);
    cg_if full, last;

    s.at = cg_mulc(g, unit, rows * s.size);
    glow_cg_if(g, &full, cg_icmp(g, LLVMIntSLT, unit, cg_i64(g, whole)));
    if (is_side_by_side(g->target, s.size))
        side_by_side(j, &s, rows);
    else
        turned(j, &s);
    glow_cg_end_if(g, &full);
    if (all % rows) {
        glow_cg_if(g, &last, cg_icmp(g, LLVMIntEQ, unit, cg_i64(g, whole)));
        last_rows(j, s, (int)(all % rows));
        glow_cg_end_if(g, &last);
    }
    glow_cg_loop_end(g, &l, NULL);
}
