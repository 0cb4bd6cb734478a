/*
 * Packs weights that are not constant at run time, into scratch, in the layout
 * of pack.c: the weights of a vector of output channels, which are strided, are
 * transposed in blocks of as many depths as it has lanes.
 *
 * The time is proportional to the size of the weights, once for each thread;
 * the sums take as much for each pixel.
 */

#include "codegen/cpu/kernels/direct/narrow.h"
#include "codegen/cpu/kernels/direct/shape.h"
#include "codegen/cpu/kernels/move/shuffle.h"

typedef struct turner {
    cg *g;
    const cpu_direct *d;
    const cpu_shape *s;
    const cpu_filter *filter;
    cg_tensor from, to;
    cg_value group, row, tap;
    cg_value vector; /* of output channels, in the group */
    int some;        /* of its lanes; there are zeros in the others */
} turner;

/*
 * Index at which the weights of the vector t->vector at `depth` are packed, in
 * elements.
 */
static cg_value
place(const turner *t, cg_value depth)
{
    cg *g = t->g;
    const cpu_direct *d = t->d;
    const cpu_shape *s = t->s;
    int64_t taps = d->kernel_w, line = d->channels * taps;
    int64_t panel = glow_cpu_group_bytes(d, s, s->blocks) / 4;
    int64_t group = glow_cpu_packed_bytes(d, s) / d->groups / 4;
    cg_value whole = cg_i64(g, s->full), number, unit, in_unit, width, at;

    number = cg_over(g, t->vector, s->blocks);
    width = cg_select(g, cg_icmp(g, LLVMIntSLT, number, whole),
                      cg_i64(g, s->blocks), cg_i64(g, s->rest));
    unit = cg_mulc(g, cg_over(g, depth, s->unit), s->unit);
    in_unit = glow_cg_imin(g, cg_i64(g, s->unit),
                           cg_sub(g, cg_i64(g, d->channels), unit));
    at = cg_affine(g, t->row, line, unit, taps);
    at = cg_add(g, at, cg_mul(g, t->tap, in_unit));
    at = cg_add(g, at, cg_sub(g, depth, unit));
    at = cg_mul(g, at, width);
    at = cg_add(g, at, cg_modulo(g, t->vector, s->blocks));
    at = cg_affine(g, at, s->lanes, number, panel);
    return cg_add(g, at, cg_mulc(g, t->group, group));
}

/* Transposes the weights of the vector at `depths` depths from `depth` on. */
static void
turn(const turner *t, cg_value depth, int depths)
{
    cg *g = t->g;
    const cpu_filter *f = t->filter;
    int lanes = t->s->lanes;
    cg_value v[256], at;

    at = cg_addc(g, cg_mulc(g, t->group, f->group), f->first);
    at = cg_add(g, at, cg_mulc(g, t->vector, lanes * f->output));
    at = cg_add(g, at, cg_mulc(g, t->row, f->row));
    at = cg_add(g, at, cg_add(g, cg_mulc(g, t->tap, f->tap), depth));
    g->live = depths;
    for (int i = 0; i < lanes; i++)
        v[i] = i < t->some ? glow_cg_load(g, t->from,
                                          cg_addc(g, at, i * f->output), lanes)
                           : LLVMConstNull(glow_cg_vector(g->f32, lanes));
    g->live = 0;
    glow_cpu_interleave(g, v, lanes);
    for (int i = 0; i < depths; i++)
        glow_cg_store(g, t->to, place(t, cg_addc(g, depth, i)), v[i]);
}

static void
turn_vector(turner *t, cg_value vector, int some)
{
    cg *g = t->g;
    int64_t depth = t->d->channels, whole = depth - depth % t->s->lanes;
    cg_loop row, tap, l;

    t->vector = vector;
    t->some = some;
    t->row = glow_cg_for(g, &row, t->d->kernel_h);
    t->tap = glow_cg_for(g, &tap, t->d->kernel_w);
    if (whole > 0) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), t->s->lanes, NULL,
                     0);
        turn(t, l.i, t->s->lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (depth > whole)
        turn(t, cg_i64(g, whole), (int)(depth - whole));
    glow_cg_loop_end(g, &tap, NULL);
    glow_cg_loop_end(g, &row, NULL);
}

/*
 * Offset of the packed weights in the scratch, after the scratch of the sums.
 */
static int64_t
first_byte(const cpu_target *t, const cpu_direct *d)
{
    int64_t room = glow_cpu_direct_room(t, d);

    return room > INT64_MAX - CPU_LINE ? INT64_MAX
                                       : (room + CPU_LINE - 1) & -CPU_LINE;
}

int64_t
glow_cpu_turned_room(const cpu_target *t, const cpu_direct *d)
{
    int64_t sum;

    return glow_add_overflow(first_byte(t, d), glow_cpu_direct_size(t, d), &sum)
               ? INT64_MAX
               : sum;
}

cg_value
glow_cpu_turn_weights(cpu_job *j, const cpu_direct *d, const cpu_shape *s)
{
    cg *g = j->g;
    int64_t whole = d->outputs / s->lanes, rest = d->outputs % s->lanes;
    turner t = {.g = g, .d = d, .s = s, .filter = d->turned, .from = j->in[1]};
    cg_loop group, l;

    t.to = (cg_tensor){
        glow_cg_atc(g, j->scratch, first_byte(g->target, d)),
        &glow_cpu_float,
    };
    t.group = glow_cg_for(g, &group, d->groups);
    if (whole > 0) {
        glow_cg_for(g, &l, whole);
        turn_vector(&t, l.i, s->lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        turn_vector(&t, cg_i64(g, whole), (int)rest);
    glow_cg_loop_end(g, &group, NULL);
    return t.to.at;
}
