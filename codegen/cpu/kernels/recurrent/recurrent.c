/*
 * RNN, GRU and LSTM: a loop over the steps, whose code does not grow with their
 * number.  The product of X and W is an operand.
 *
 *     for each direction and mr rows of the batch     units of work
 *       for each step
 *         for each phase of the cell
 *           for each nr = vector of hidden units      a panel of R: its gates
 *             for each element of the state           kc: all of it
 *               mr x gates sums += state[mr], broadcast, * R[gates]
 *             the cell computes the next state from the sums, in registers
 *
 * R is packed in the order in which it is read.  A state has two buffers,
 * because all of the old one is read until the last hidden units are done.
 * Units of work are tiles of the batch in each direction.
 *
 * At batch 1 the time of a step is that of reading R.  Steps go through R
 * forward and backward in turn, so that as much of it as fits the cache is
 * reused from the step before.  With one unit of work, threads share the
 * vectors of each phase instead, in the same chunks in each step: see team.c.
 */

#include "codegen/cpu/kernels/recurrent/recurrent.h"
#include "codegen/cpu/kernels/recurrent/product.h"

/* Operands and states at the current row and hidden units. */

static cg_value
load(cpu_recurrence *r, int operand, cg_value index)
{
    cg *g = r->j->g;

    return glow_cg_load(g, r->j->in[operand], cg_add(g, index, r->unit),
                        r->s.lanes);
}

/*
 * Bias `i` of the direction: first the biases of W, then of R; NULL if there is
 * none.
 */
static cg_value
bias(cpu_recurrence *r, int i)
{
    cg *g = r->j->g;
    const cpu_recurrent_shape *s = &r->s;
    cg_value at = cg_mulc(g, r->direction, 2 * s->cell->gates * s->hidden);

    if (!r->j->in[CPU_BIAS].at)
        return NULL;
    return load(r, CPU_BIAS, cg_addc(g, at, i * s->hidden));
}

cg_value
glow_cpu_gate_input(cpu_recurrence *r, int i)
{
    cg *g = r->j->g;
    const cpu_recurrent_shape *s = &r->s;
    cg_value at = cg_add(g, cg_mulc(g, r->time, s->batch), r->row);
    cg_value b = bias(r, i), x;

    at = cg_add(g, cg_mulc(g, at, s->directions), r->direction);
    at = cg_mulc(g, at, s->cell->gates * s->hidden);
    x = load(r, CPU_X, cg_addc(g, at, i * s->hidden));
    return b ? cg_fadd(g, x, b) : x;
}

cg_value
glow_cpu_gate_bias(cpu_recurrence *r, int i)
{
    return bias(r, r->s.cell->gates + i);
}

cg_value
glow_cpu_peephole(cpu_recurrence *r, int i)
{
    cg *g = r->j->g;
    cg_value at = cg_mulc(g, r->direction, 3 * r->s.hidden);

    if (r->j->n->n_in <= CPU_PEEPHOLES || !r->j->in[CPU_PEEPHOLES].at)
        return NULL;
    return load(r, CPU_PEEPHOLES, cg_addc(g, at, i * r->s.hidden));
}

/* Bytes from one row of a state to the next. */
static int64_t
row_step(const cpu_recurrent_shape *s)
{
    return s->vectors * s->lanes * 4;
}

static cg_value
place_of(cpu_recurrence *r, cpu_state s, cg_value unit)
{
    cg *g = r->j->g;
    cg_value at =
        glow_cg_at(g, r->state[s], cg_mulc(g, r->row, row_step(&r->s)));

    return glow_cg_at(g, at, cg_mulc(g, unit, 4));
}

cg_value
glow_cpu_state(cpu_recurrence *r, cpu_state s)
{
    cg *g = r->j->g;

    return glow_cg_load_raw(g, glow_cg_vector(g->f32, r->s.lanes),
                            place_of(r, s, r->unit));
}

void
glow_cpu_set_state(cpu_recurrence *r, cpu_state s, cg_value v)
{
    glow_cg_store_raw(r->j->g, v, place_of(r, s, r->unit));
}

/* r->time < length of the current row; NULL without lengths. */
static cg_value
is_running(cpu_recurrence *r)
{
    cg *g = r->j->g;
    cg_tensor lengths = r->j->in[CPU_LENGTHS];
    cg_value length;

    if (!lengths.at)
        return NULL;
    length = glow_cg_load(g, lengths, r->row, 1);
    length = LLVMBuildSExt(g->builder, length, g->i64, "");
    return cg_icmp(g, LLVMIntSLT, r->time, length);
}

void
glow_cpu_end_cell(cpu_recurrence *r, cg_value h, cg_value c)
{
    cg *g = r->j->g;
    const cpu_recurrent_shape *s = &r->s;
    cg_value running = is_running(r), y = h, at;

    if (running) {
        y = cg_select(g, running, h, LLVMConstNull(LLVMTypeOf(h)));
        h = cg_select(g, running, h, glow_cpu_state(r, CPU_H));
        c = c ? cg_select(g, running, c, glow_cpu_state(r, CPU_C)) : NULL;
    }
    glow_cpu_set_state(r, CPU_NEXT, h);
    if (c)
        glow_cpu_set_state(r, CPU_C, c);
    at = cg_add(g, cg_mulc(g, r->time, s->directions), r->direction);
    at = cg_add(g, cg_mulc(g, at, s->batch), r->row);
    at = cg_add(g, cg_mulc(g, at, s->hidden), r->unit);
    glow_cg_store(g, r->j->out[0], at, y);
}

/* A step. */

/*
 * `rows` rows of the batch from `row` on, for the current vector of hidden
 * units, of which `live` lanes are live (0: all).
 */
static void
make_tile(cpu_recurrence *r, const cpu_phase *p, cg_value weights, cg_value row,
          int rows, int live)
{
    cg *g = r->j->g;
    cg_value product[CPU_MOST_PRODUCTS];
    cpu_recurrent_tile t = {
        .rows = rows,
        .gates = p->count,
        .lanes = r->s.lanes,
        .depth = r->s.hidden,
        .row_step = row_step(&r->s),
        .weights = weights,
    };

    r->row = row;
    t.state = place_of(r, p->from, cg_i64(g, 0));
    glow_cpu_recurrent_tile(g, &t, product);
    g->live = live;
    for (int i = 0; i < rows; i++) {
        r->row = cg_addc(g, row, i);
        p->finish(r, product + i * p->count);
    }
    g->live = 0;
}

/*
 * Vector `vector` of hidden units, with `live` live lanes (0: all), for all
 * assigned tiles of the batch.
 */
static void
make_vector(cpu_recurrence *r, const cpu_phase *p, cg_value weights,
            cg_value vector, int live)
{
    cg *g = r->j->g;
    const cpu_recurrent_shape *s = &r->s;
    int64_t bytes = p->count * s->hidden * s->lanes * 4;
    int64_t whole = s->batch / s->rows;
    cg_value end = glow_cg_imin(g, r->tiles.end, cg_i64(g, whole));
    cg_if last;
    cg_loop l;

    r->unit = cg_mulc(g, vector, s->lanes);
    weights = glow_cg_at(g, weights, cg_mulc(g, vector, bytes));
    glow_cg_loop_guarded(g, &l, r->tiles.begin, end, 1, NULL, 0);
    make_tile(r, p, weights, cg_mulc(g, l.i, s->rows), s->rows, live);
    glow_cg_loop_end(g, &l, NULL);
    if (whole == s->tiles)
        return;
    glow_cg_if(g, &last,
               cg_icmp(g, LLVMIntEQ, r->tiles.end, cg_i64(g, s->tiles)));
    make_tile(r, p, weights, cg_i64(g, whole * s->rows),
              (int)(s->batch - whole * s->rows), live);
    glow_cg_end_if(g, &last);
}

void
glow_cpu_recurrent_phase(cpu_recurrence *r, int phase, cg_value back,
                         cg_value first, cg_value end)
{
    cg *g = r->j->g;
    const cpu_recurrent_shape *s = &r->s;
    const cpu_phase *p = &s->cell->phase[phase];
    int64_t whole = s->hidden / s->lanes;
    cg_value full = glow_cg_imin(g, end, cg_i64(g, whole));
    cg_value weights = r->weights, i;
    cg_if last;
    cg_loop l;

    for (int k = 0; k < phase; k++)
        weights = glow_cg_atc(g, weights, glow_cpu_phase_bytes(s, k));
    glow_cg_loop_guarded(g, &l, first, full, 1, NULL, 0);
    i = cg_addc(g, full, -1);
    i = cg_sub(g, i, cg_sub(g, l.i, first));
    make_vector(r, p, weights, cg_select(g, back, i, l.i), 0);
    glow_cg_loop_end(g, &l, NULL);
    if (whole == s->vectors)
        return;
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntEQ, end, cg_i64(g, s->vectors)));
    make_vector(r, p, weights, cg_i64(g, whole),
                (int)(s->hidden - whole * s->lanes));
    glow_cg_end_if(g, &last);
}

cg_value
glow_cpu_recurrent_time(cpu_recurrence *r, cg_value step)
{
    cg *g = r->j->g;
    cg_value last = cg_sub(g, cg_i64(g, r->s.steps - 1), step);
    cg_value forward = cg_icmp(g, LLVMIntEQ, r->direction, cg_i64(g, 0));
    int direction = r->attrs->direction;

    r->time = direction == GLOW_FORWARD   ? step
              : direction == GLOW_REVERSE ? last
                                          : cg_select(g, forward, step, last);
    return LLVMBuildTrunc(g->builder, step, g->i1, "");
}

static void
make_step(cpu_recurrence *r, cg_value step)
{
    cg *g = r->j->g;
    cg_value back = glow_cpu_recurrent_time(r, step);

    for (int i = 0; i < r->s.cell->phases; i++)
        if (r->team)
            glow_cpu_team_runs(r, i, step);
        else
            glow_cpu_recurrent_phase(r, i, back, cg_i64(g, 0),
                                     cg_i64(g, r->s.vectors));
}

/* States before the first step, and after the last. */

typedef struct transfer {
    cpu_recurrence *r;
    cpu_state state;
    cg_tensor from, to; /* one of both */
    cg_value row;       /* of its first unit */
} transfer;

static void
transfer_lanes(cpu_job *j, cg_value unit, int lanes, void *user)
{
    const transfer *t = user;
    cg *g = j->g;
    cg_value place = place_of(t->r, t->state, unit);
    cg_value at = cg_add(g, t->row, unit);
    LLVMTypeRef type = glow_cg_vector(g->f32, lanes);

    if (t->to.at)
        glow_cg_store(g, t->to, at, glow_cg_load_raw(g, type, place));
    else
        glow_cg_store_raw(g,
                          t->from.at ? glow_cg_load(g, t->from, at, lanes)
                                     : LLVMConstNull(type),
                          place);
}

/*
 * Copies a state of the assigned rows from `from` or to `to`, tensors [D, B,
 * H].
 */
static void
transfer_state(cpu_recurrence *r, cpu_state state, cg_tensor from, cg_tensor to)
{
    cg *g = r->j->g;
    const cpu_recurrent_shape *s = &r->s;
    transfer t = {r, state, from, to, NULL};
    cg_loop l;

    cg_value first = cg_mulc(g, r->tiles.begin, s->rows);
    cg_value end = cg_mulc(g, r->tiles.end, s->rows);

    end = glow_cg_imin(g, end, cg_i64(g, s->batch));
    glow_cg_loop(g, &l, first, end, 1, NULL, 0);
    r->row = l.i;
    t.row = cg_add(g, cg_mulc(g, r->direction, s->batch), l.i);
    t.row = cg_mulc(g, t.row, s->hidden);
    glow_cpu_lanes_for(r->j, 0, s->hidden, transfer_lanes, &t);
    glow_cg_loop_end(g, &l, NULL);
}

/* The kernel. */

static bool
has_cells(const glow_node *n)
{
    return n->op == &glow_op_lstm;
}

/* Lays out the scratch: the states, then R unless it is constant. */
static void
lay(cpu_recurrence *r)
{
    cg *g = r->j->g;
    const cpu_recurrent_shape *s = &r->s;
    int64_t size = glow_cpu_state_bytes(s);
    cg_value room;

    for (int i = 0; i < s->cell->states; i++)
        r->state[i] = glow_cg_atc(g, r->j->scratch, i * size);
    if (r->j->packed) {
        r->weights =
            glow_cg_at(g, r->j->packed,
                       cg_mulc(g, r->direction, glow_cpu_recurrent_bytes(s)));
        return;
    }
    room = glow_cg_atc(g, r->j->scratch, s->cell->states * size);
    glow_cpu_emit_pack_recurrent(g, s, r->j->in[CPU_R], r->direction, room);
    r->weights = room;
}

static void
walk(cpu_recurrence *r)
{
    cg *g = r->j->g;
    cg_value ends[2];
    cg_loop l;

    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, r->s.steps), 1, r->state, 2);
    r->state[CPU_H] = l.value[0];
    r->state[CPU_NEXT] = l.value[1];
    make_step(r, l.i);
    ends[0] = r->state[CPU_NEXT];
    ends[1] = r->state[CPU_H];
    glow_cg_loop_end(g, &l, ends);
    r->state[CPU_H] = l.value[0];
}

static void
emit(cpu_job *j)
{
    const cg_tensor none = {NULL, NULL};
    bool cells = has_cells(j->n);
    cpu_recurrence r = {
        .j = j,
        .s = glow_cpu_recurrent_shape(j->g->target, j->n),
        .attrs = j->n->attrs,
    };

    for (int d = 0; d < (int)r.s.directions; d++)
        glow_recurrent_activations(r.attrs, r.s.cell->activations, d, r.f[d]);
    r.direction = glow_cpu_units_within(j, &r.tiles, r.s.directions, r.s.tiles);
    lay(&r);
    transfer_state(&r, CPU_H, j->in[CPU_INITIAL_H], none);
    if (cells)
        transfer_state(&r, CPU_C, j->in[CPU_INITIAL_C], none);
    if (j->step->team)
        r.team = glow_cpu_recurrent_team(&r);
    walk(&r);
    transfer_state(&r, CPU_H, none, j->out[1]);
    if (cells)
        transfer_state(&r, CPU_C, none, j->out[2]);
    glow_cg_loop_end(j->g, &r.tiles.loop, NULL);
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    glow_kind k = n->in[CPU_X]->type->elem;

    (void)t;
    return !n->in[CPU_W] &&
           (k == GLOW_FLOAT || k == GLOW_FLOAT16 || k == GLOW_BFLOAT16);
}

static int64_t
packed_size(const cpu_target *t, const glow_node *n)
{
    cpu_recurrent_shape s = glow_cpu_recurrent_shape(t, n);

    return glow_cpu_room(s.directions, glow_cpu_recurrent_bytes(&s));
}

static int64_t
scratch_size(const cpu_target *t, const glow_node *n)
{
    cpu_recurrent_shape s = glow_cpu_recurrent_shape(t, n);
    int64_t states = glow_cpu_room(s.cell->states, glow_cpu_state_bytes(&s)),
            r = 0, sum;

    if (!glow_cpu_is_whole_constant(n->in[CPU_R]))
        r = glow_cpu_recurrent_bytes(&s);
    return glow_add_overflow(states, r, &sum) ? INT64_MAX : sum;
}

static int64_t
units(const cpu_target *t, const glow_node *n)
{
    cpu_recurrent_shape s = glow_cpu_recurrent_shape(t, n);

    return s.directions * s.tiles;
}

/*
 * Parallel regions, one for each phase of each step: threads share its vectors
 * of hidden units.
 */
static int64_t
forks(const cpu_target *t, const glow_node *n)
{
    cpu_recurrent_shape s = glow_cpu_recurrent_shape(t, n);

    return s.vectors > 1 ? s.steps * s.cell->phases : 0;
}

#define RECURRENT(id)                    \
    const cpu_kernel glow_cpu_##id = {   \
        .name = #id,                     \
        .op = &glow_op_##id,             \
        .takes = takes,                  \
        .emit = emit,                    \
        .packs = CPU_R,                  \
        .packed_size = packed_size,      \
        .pack = glow_cpu_pack_recurrent, \
        .scratch_size = scratch_size,    \
        .units = units,                  \
        .forks = forks,                  \
    }

RECURRENT(gru);
RECURRENT(lstm);
RECURRENT(rnn);
