/*
 * Packs weights that are not constant at run time, into scratch, in the layout
 * of pack.c.  The weights of a vector of output channels are copied if they are
 * contiguous; else they are transposed in blocks of as many depths as it has lanes.
 * Weights of dot products are packed in vectors along the depth (dots.h).
 *
 * The time is proportional to the size of the weights, once for each thread;
 * the sums take as much for each pixel.
 */

#include "codegen/cpu/kernels/direct/narrow.h"
#include "codegen/cpu/kernels/direct/shape.h"
#include "codegen/cpu/kernels/move/shuffle.h"

typedef struct turner {
    cg *g;
    bool alone; /* a group of channels is packed by itself */
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
    if (t->alone)
        return cg_mulc(g, at, s->lanes);
    at = cg_affine(g, at, s->lanes, number, panel);
    return cg_add(g, at, cg_mulc(g, t->group, group));
}

/* Index of the first of the weights of the vector at `depth`. */
static cg_value
source(const turner *t, cg_value depth)
{
    cg *g = t->g;
    const cpu_filter *f = t->filter;
    cg_value at = cg_addc(g, cg_mulc(g, t->group, f->group), f->first);

    at = cg_add(g, at, cg_mulc(g, t->vector, t->s->lanes * f->output));
    at = cg_add(g, at, cg_mulc(g, t->row, f->row));
    at = cg_add(g, at, cg_mulc(g, t->tap, f->tap));
    return cg_add(g, at, cg_mulc(g, depth, f->depth));
}

/* Copies the weights of the vector at `depth`, which are contiguous. */
static void
copy(const turner *t, cg_value depth)
{
    cg *g = t->g;
    cg_value v;

    g->live = t->some;
    v = glow_cg_load(g, t->from, source(t, depth), t->s->lanes);
    g->live = 0;
    glow_cg_store(g, t->to, place(t, depth), v);
}

/* Transposes the weights of the vector at `depths` depths from `depth` on. */
static void
turn(const turner *t, cg_value depth, int depths)
{
    cg *g = t->g;
    const cpu_filter *f = t->filter;
    int lanes = t->s->lanes;
    cg_value v[256], at = source(t, depth);

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
turn_depths(const turner *t)
{
    cg *g = t->g;
    int64_t depth = t->d->channels, whole = depth - depth % t->s->lanes;
    cg_loop l;

    if (t->filter->output == 1) {
        copy(t, glow_cg_for(g, &l, depth));
        glow_cg_loop_end(g, &l, NULL);
        return;
    }
    if (whole > 0) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), t->s->lanes, NULL,
                     0);
        turn(t, l.i, t->s->lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (depth > whole)
        turn(t, cg_i64(g, whole), (int)(depth - whole));
}

static void
turn_vector(turner *t, cg_value vector, int some)
{
    cg *g = t->g;
    cg_loop row, tap;

    t->vector = vector;
    t->some = some;
    t->row = glow_cg_for(g, &row, t->d->kernel_h);
    t->tap = glow_cg_for(g, &tap, t->d->kernel_w);
    turn_depths(t);
    glow_cg_loop_end(g, &tap, NULL);
    glow_cg_loop_end(g, &row, NULL);
}

bool
glow_cpu_may_turn(const glow_node *n)
{
    return glow_cpu_all_float(n) && glow_type_count(n->in[1]->type) > 0;
}

bool
glow_cpu_turns_narrow(const glow_node *n)
{
    return glow_cg_is_narrow(n->in[0]->type->elem) &&
           !glow_cpu_is_whole_constant(n->in[1]);
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

/* Bytes of the weights that are packed at once. */
static int64_t
packed_at_once(const cpu_target *t, const cpu_direct *from)
{
    cpu_direct d = glow_cpu_flattened(t, *from);
    cpu_shape s = glow_cpu_direct_shape(t, &d);

    return d.by_panels || glow_cpu_is_by_groups(t, &d)
               ? glow_cpu_group_bytes(&d, &s, s.blocks)
               : glow_cpu_packed_bytes(&d, &s);
}

int64_t
glow_cpu_turned_room(const cpu_target *t, const cpu_direct *d)
{
    int64_t sum;

    return glow_add_overflow(first_byte(t, d), packed_at_once(t, d), &sum)
               ? INT64_MAX
               : sum;
}

/* `live` lanes of the depth from vector `step` of it on, of one output. */
static cg_value
along_depth(const turner *t, cg_value step, int live, int64_t output)
{
    cg *g = t->g;
    const cpu_filter *f = t->filter;
    int lanes = t->s->lanes;
    cg_value at = cg_mulc(g, step, lanes * f->depth), v;

    at = cg_addc(g, at, f->first + output * f->output);
    if (f->depth == 1) {
        g->live = live;
        v = glow_cg_load(g, t->from, at, lanes);
        g->live = 0;
        return v;
    }
    v = LLVMConstNull(glow_cg_vector(g->f32, lanes));
    for (int i = 0; i < live; i++) {
        cg_value x = glow_cg_load(g, t->from, cg_addc(g, at, i * f->depth), 1);

        v = LLVMBuildInsertElement(
            g->builder, v, x, LLVMConstInt(g->i32, (unsigned)i, false), "");
    }
    return v;
}

/* Packs `live` lanes of vector `step` of the depth, for all outputs. */
static void
turn_dots(const turner *t, cg_value step, int live)
{
    cg *g = t->g;
    int64_t outputs = t->d->outputs;

    for (int64_t o = 0; o < outputs; o++) {
        cg_value v = along_depth(t, step, live, o);
        cg_value to = cg_addc(g, cg_mulc(g, step, outputs), o);

        glow_cg_store(g, t->to, cg_mulc(g, to, t->s->lanes), v);
    }
}

/* Packs a product's right operand for dot products. */
static void
turn_all_dots(const turner *t)
{
    cg *g = t->g;
    const cpu_direct *d = t->d;
    int64_t whole = d->channels - d->form.odd;
    cg_loop l;

    if (whole > 0) {
        glow_cg_for(g, &l, whole);
        turn_dots(t, l.i, t->s->lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (d->form.odd)
        turn_dots(t, cg_i64(g, whole), d->form.tail);
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
    if (d->kernel_h * d->kernel_w == 0)
        return t.to.at;
    if (d->form.dots) {
        turn_all_dots(&t);
        return t.to.at;
    }
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

cg_value
glow_cpu_turn_group(cpu_job *j, const cpu_direct *d, const cpu_shape *s,
                    cg_value group, cg_value channel, int count, int last)
{
    cg *g = j->g;
    cg_value first = cg_over(g, channel, s->lanes);
    turner t = {.g = g,
                .alone = true,
                .d = d,
                .s = s,
                .filter = d->turned,
                .from = j->in[1],
                .group = group};
    int whole;
    cg_loop l;

    t.to = (cg_tensor){
        glow_cg_atc(g, j->scratch, first_byte(g->target, d)),
        &glow_cpu_float,
    };
    if (d->kernel_h * d->kernel_w == 0)
        return t.to.at;
    whole = last < s->lanes ? count - 1 : count;
    if (whole > 0) {
        glow_cg_for(g, &l, whole);
        turn_vector(&t, cg_add(g, first, l.i), s->lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (whole < count)
        turn_vector(&t, cg_addc(g, first, whole), last);
    return t.to.at;
}
