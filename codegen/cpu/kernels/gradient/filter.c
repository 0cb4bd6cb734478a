/*
 * ConvolutionFilterGrad by register tiles.
 *
 *     for each block of windows, and group
 *       (by window: copy what its windows see to scratch)
 *       for each tap                       (by window: all taps at once)
 *         for each vectors * lanes elements of x
 *           for each rows outputs          units
 *             for each window of the block with this tap in the input
 *               rows x vectors sums += d[rows], broadcast, * x[vectors]
 *             result += sums
 *
 * With groups of one channel and output the lanes are groups, and a tap at a time is
 * summed up.
 *
 * Operands of 16 bits are converted to float in scratch, whole, because each is read once
 * for each tap and tile; so is the result, which is rounded once, at the end.
 */

#include "codegen/cpu/kernels/gradient/filter.h"
#include "codegen/cpu/emit/narrow.h"

#include "codegen/cpu/emit/narrow.h"

typedef struct maker {
    cpu_job *j;
    cpu_filter_grad f;
    cpu_filter_block b;
    cg_value starts[2], ends[2]; /* tables by tap: lines, windows with it */
    cg_value group;
    cg_value tap[2], lines[2], windows[2]; /* of the current tap */
    cg_value from; /* the first element of the tile, of the width */
    cg_value output;
    int rows, vectors, last; /* of the tile; live lanes of its last vector */
    bool one_block;
} maker;

static bool
takes(const cpu_target *t, const glow_node *n)
{
    cpu_filter_grad f;

    return glow_cpu_filter_grad_of(t, n, &f);
}

static bool
is_narrow(const glow_node *n)
{
    return glow_cg_is_narrow(n->in[0]->type->elem);
}

/* Bytes of copied windows. */
static int64_t
copied_bytes(const cpu_filter_grad *f)
{
    return f->form == CPU_BY_WINDOW
               ? f->images * f->lines * f->windows * f->copied * 4
               : 0;
}

static int64_t
room(const cpu_target *t, const glow_node *n)
{
    int64_t bytes;
    cpu_filter_grad f;

    glow_cpu_filter_grad_of(t, n, &f);
    bytes = glow_cpu_aligned(copied_bytes(&f));
    if (!is_narrow(n))
        return bytes;
    if (glow_add_overflow(bytes, glow_cpu_widened_bytes(n, 0), &bytes) ||
        glow_add_overflow(bytes, glow_cpu_widened_bytes(n, 1), &bytes) ||
        glow_add_overflow(
            bytes, glow_cpu_room(glow_type_count(n->out[0]->type), 4), &bytes))
        return INT64_MAX;
    return bytes;
}

static int64_t
tiles_of(const cpu_filter_grad *f)
{
    return f->form == CPU_BY_GROUP ? cg_ceil_div(f->groups, f->lanes)
                                   : cg_ceil_div(f->outputs, f->rows);
}

static int64_t
units(const cpu_target *t, const glow_node *n)
{
    cpu_filter_grad f;

    glow_cpu_filter_grad_of(t, n, &f);
    return is_narrow(n) ? 1 : tiles_of(&f);
}

/* Tables. */

/* Windows of an axis whose tap `k` is in the input. */
static void
range_of(const cpu_window_axis *a, int64_t k, int64_t *first, int64_t *end)
{
    int64_t at = k * a->dilation - a->start, room = a->in - 1 - at;

    *first = at < 0 ? cg_ceil_div(-at, a->stride) : 0;
    *end = room >= 0 ? room / a->stride + 1 : 0;
    *first = *first < a->out ? *first : a->out;
    *end = *end < a->out ? *end : a->out;
    *end = *end > *first ? *end : *first;
}

static void
make_tables(maker *m)
{
    cg *g = m->j->g;

    for (int i = 0; i < 2; i++) {
        const cpu_window_axis *a = &m->f.w.axis[1 + i];
        int64_t *first = GLOW_NEW_ARRAY(g->arena, int64_t, a->kernel);
        int64_t *end = GLOW_NEW_ARRAY(g->arena, int64_t, a->kernel);

        for (int64_t k = 0; k < a->kernel; k++)
            range_of(a, k, &first[k], &end[k]);
        m->starts[i] = glow_cpu_table(g, first, a->kernel);
        m->ends[i] = glow_cpu_table(g, end, a->kernel);
    }
}

/* Sets what windows of the block have the tap. */
static void
take_tap(maker *m, cg_value tap)
{
    cg *g = m->j->g;
    cg_value *to[2] = {m->lines, m->windows};
    cg_value *block[2] = {m->b.line, m->b.window};

    m->tap[0] = cg_over(g, tap, m->f.w.axis[2].kernel);
    m->tap[1] = cg_modulo(g, tap, m->f.w.axis[2].kernel);
    for (int i = 0; i < 2; i++) {
        cg_value first = glow_cpu_table_at(g, g->i64, m->starts[i], m->tap[i]);
        cg_value end = glow_cpu_table_at(g, g->i64, m->ends[i], m->tap[i]);

        to[i][0] = glow_cg_imax(g, first, block[i][0]);
        to[i][1] = glow_cg_imin(g, end, block[i][1]);
    }
}

/* Sums. */

static cg_value
load(maker *m, cg_value at, int v)
{
    cg *g = m->j->g;
    cg_value x;

    g->live = v == m->vectors - 1 && m->last < m->f.lanes ? m->last : 0;
    x = glow_cg_load_raw(g, glow_cg_vector(g->f32, m->f.lanes),
                         glow_cg_atc(g, at, v * m->f.lanes * 4));
    g->live = 0;
    return x;
}

/* Adds the products of the window with elements at `x` and gradients at `d`. */
static void
add_window(maker *m, cg_value x, cg_value d, cg_value const *old,
           cg_value *sums)
{
    cg *g = m->j->g;
    cg_value v[CG_MAX_CARRIED];

    for (int i = 0; i < m->vectors; i++)
        v[i] = load(m, x, i);
    if (m->f.form == CPU_BY_GROUP) {
        sums[0] = glow_cg_fma(g, v[0], load(m, d, 0), old[0]);
        return;
    }
    for (int r = 0; r < m->rows; r++) {
        cg_value one = glow_cg_load_raw(g, g->f32, glow_cg_atc(g, d, r * 4));

        one = glow_cg_splat(g, one, m->f.lanes);
        for (int i = 0; i < m->vectors; i++)
            sums[r * m->vectors + i] =
                glow_cg_fma(g, one, v[i], old[r * m->vectors + i]);
    }
}

/* The address of the gradients of this tile's outputs at window `number`. */
static cg_value
gradients(const maker *m, cg_value number)
{
    cg *g = m->j->g;
    cg_value at = cg_mulc(g, number, m->f.groups * m->f.outputs);

    at = cg_add(g, at, m->output);
    return glow_cg_at(g, m->j->in[1].at, cg_mulc(g, at, 4));
}

/* The element under the tap of the window at (image, line, window). */
static cg_value
element(const maker *m, cg_value image, cg_value line, cg_value window)
{
    cg *g = m->j->g;
    const cpu_window_axis *v = &m->f.w.axis[1], *h = &m->f.w.axis[2];
    cg_value y = cg_affine(g, line, v->stride, m->tap[0], v->dilation);
    cg_value x = cg_affine(g, window, h->stride, m->tap[1], h->dilation), at;

    y = cg_affine(g, image, v->in, cg_addc(g, y, -v->start), 1);
    at = cg_affine(g, y, h->in, cg_addc(g, x, -h->start), 1);
    at = cg_affine(g, at, m->f.w.channels, m->group, m->f.channels);
    at = cg_add(g, at, m->from);
    return glow_cg_at(g, m->j->in[0].at, cg_mulc(g, at, 4));
}

/* Sums over the windows of the block that have the tap. */
static void
sum_by_tap(maker *m, cg_value *sums)
{
    cg *g = m->j->g;
    const cpu_window_axis *v = &m->f.w.axis[1], *h = &m->f.w.axis[2];
    int n = m->rows * m->vectors;
    cg_loop image, line, window;
    cg_value number, x, d, next[CG_MAX_CARRIED];

    glow_cg_loop(g, &image, m->b.image[0], m->b.image[1], 1, sums, n);
    glow_cg_loop_guarded(g, &line, m->lines[0], m->lines[1], 1, image.value, n);
    number = cg_add(g, cg_mulc(g, image.i, v->out), line.i);
    number = cg_mulc(g, number, h->out);
    glow_cg_loop_guarded(g, &window, m->windows[0], m->windows[1], 1,
                         line.value, n);
    x = element(m, image.i, line.i, window.i);
    d = gradients(m, cg_add(g, number, window.i));
    add_window(m, x, d, window.value, next);
    glow_cg_loop_end(g, &window, next);
    glow_cg_loop_end(g, &line, window.value);
    glow_cg_loop_end(g, &image, line.value);
    for (int i = 0; i < n; i++)
        sums[i] = image.value[i];
}

/* Sums over the copied windows of the block. */
static void
sum_by_window(maker *m, cg_value *sums)
{
    cg *g = m->j->g;
    int n = m->rows * m->vectors;
    cg_value next[CG_MAX_CARRIED], at, d;
    cg_loop l;

    glow_cg_loop(g, &l, cg_i64(g, 0), m->b.count, 1, sums, n);
    at = cg_add(g, cg_mulc(g, l.i, m->f.copied), m->from);
    at = glow_cg_at(g, m->j->scratch, cg_mulc(g, at, 4));
    d = gradients(m, cg_add(g, m->b.first, l.i));
    add_window(m, at, d, l.value, next);
    glow_cg_loop_end(g, &l, next);
    for (int i = 0; i < n; i++)
        sums[i] = l.value[i];
}

/* Adds `v` to the result at element `at`, or stores it if no block came before. */
static void
add_to(maker *m, cg_value at, cg_value v)
{
    cg *g = m->j->g;
    cg_value p = glow_cg_at(g, m->j->out[0].at, cg_mulc(g, at, 4));

    if (!m->one_block) {
        cg_value old = glow_cg_load_raw(g, LLVMTypeOf(v), p);

        v = cg_select(g, m->b.begins, v, cg_fadd(g, old, v));
    }
    glow_cg_store_raw(g, v, p);
}

static void
store(maker *m, cg_value tap, cg_value const *sums)
{
    cg *g = m->j->g;
    const cpu_filter_grad *f = &m->f;

    if (f->form == CPU_BY_GROUP) {
        for (int i = 0; i < m->last; i++) {
            cg_value v = LLVMBuildExtractElement(
                g->builder, sums[0], LLVMConstInt(g->i32, (unsigned)i, false),
                "");

            add_to(m, cg_affine(g, cg_addc(g, m->from, i), f->taps, tap, 1), v);
        }
        return;
    }
    for (int r = 0; r < m->rows; r++) {
        cg_value at = cg_addc(g, m->output, r);

        at = cg_affine(g, at, f->taps * f->channels, tap, f->channels);
        at = cg_add(g, at, m->from);
        for (int v = 0; v < m->vectors; v++) {
            g->live = v == m->vectors - 1 && m->last < f->lanes ? m->last : 0;
            add_to(m, cg_addc(g, at, v * f->lanes), sums[r * m->vectors + v]);
            g->live = 0;
        }
    }
}

static void
make_tile(maker *m, cg_value tap)
{
    cg *g = m->j->g;
    cg_value sums[CG_MAX_CARRIED];

    for (int i = 0; i < m->rows * m->vectors; i++)
        sums[i] = LLVMConstNull(glow_cg_vector(g->f32, m->f.lanes));
    if (m->f.form == CPU_BY_WINDOW)
        sum_by_window(m, sums);
    else
        sum_by_tap(m, sums);
    store(m, tap, sums);
}

/* Outputs: all whole tiles of them, then the rest. */

static void
make_outputs(maker *m, cg_value tap)
{
    cg *g = m->j->g;
    const cpu_filter_grad *f = &m->f;
    int64_t tiles = tiles_of(f), rest = f->outputs % f->rows;
    int64_t whole = rest ? tiles - 1 : tiles;
    cg_value first = cg_mulc(g, m->group, f->outputs);
    cg_loop l;
    cg_if s;

    m->rows = f->rows;
    glow_cg_loop_guarded(g, &l, m->j->begin,
                         glow_cg_imin(g, m->j->end, cg_i64(g, whole)), 1, NULL,
                         0);
    m->output = cg_add(g, first, cg_mulc(g, l.i, f->rows));
    make_tile(m, tap);
    glow_cg_loop_end(g, &l, NULL);
    if (!rest)
        return;
    glow_cg_if(g, &s, cg_icmp(g, LLVMIntEQ, m->j->end, cg_i64(g, tiles)));
    m->rows = (int)rest;
    m->output = cg_addc(g, first, whole * f->rows);
    make_tile(m, tap);
    glow_cg_end_if(g, &s);
}

/* Tiles of `vectors` from element `first` on, `count` of them. */
static void
make_elements(maker *m, cg_value tap, int64_t first, int64_t count, int vectors,
              int last)
{
    cg *g = m->j->g;
    const cpu_filter_grad *f = &m->f;
    cg_loop l;

    if (!count)
        return;
    m->vectors = vectors;
    m->last = last;
    glow_cg_for(g, &l, count);
    m->from = cg_addc(g, cg_mulc(g, l.i, vectors * f->lanes), first);
    make_outputs(m, tap);
    glow_cg_loop_end(g, &l, NULL);
}

static void
make_width(maker *m, cg_value tap)
{
    const cpu_filter_grad *f = &m->f;
    int64_t wide = f->vectors * f->lanes, rest = f->width % wide;
    int64_t whole = f->width / wide;

    make_elements(m, tap, 0, whole, f->vectors, f->lanes);
    if (rest) {
        int vectors = (int)cg_ceil_div(rest, f->lanes);

        make_elements(m, tap, whole * wide, 1, vectors,
                      (int)(rest - (vectors - 1) * f->lanes));
    }
}

/* Groups as lanes. */
static void
make_lanes(maker *m, cg_value tap)
{
    cg *g = m->j->g;
    const cpu_filter_grad *f = &m->f;
    int64_t whole = f->groups / f->lanes, rest = f->groups % f->lanes;
    cg_loop l;
    cg_if s;

    m->rows = m->vectors = 1;
    m->last = f->lanes;
    glow_cg_loop_guarded(g, &l, m->j->begin,
                         glow_cg_imin(g, m->j->end, cg_i64(g, whole)), 1, NULL,
                         0);
    m->from = m->output = cg_mulc(g, l.i, f->lanes);
    make_tile(m, tap);
    glow_cg_loop_end(g, &l, NULL);
    if (!rest)
        return;
    glow_cg_if(g, &s, cg_icmp(g, LLVMIntEQ, m->j->end, cg_i64(g, whole + 1)));
    m->last = (int)rest;
    m->from = m->output = cg_i64(g, whole * f->lanes);
    make_tile(m, tap);
    glow_cg_end_if(g, &s);
}

static void
make_block(maker *m)
{
    cg *g = m->j->g;
    const cpu_filter_grad *f = &m->f;
    cg_loop group, tap;

    if (f->form == CPU_BY_GROUP) {
        m->group = cg_i64(g, 0);
        take_tap(m, glow_cg_for(g, &tap, f->taps));
        make_lanes(m, tap.i);
        glow_cg_loop_end(g, &tap, NULL);
        return;
    }
    m->group = glow_cg_for(g, &group, f->groups);
    if (f->form == CPU_BY_WINDOW) {
        glow_cpu_copy_windows(m->j, f, &m->b, m->group);
        make_width(m, cg_i64(g, 0));
    } else {
        take_tap(m, glow_cg_for(g, &tap, f->taps));
        make_width(m, tap.i);
        glow_cg_loop_end(g, &tap, NULL);
    }
    glow_cg_loop_end(g, &group, NULL);
}

/* Begins a loop over parts of `count`, `step` each; sets the bounds of the part. */
static void
begin_part(cg *g, cg_loop *l, int64_t count, int64_t step, cg_value *bound)
{
    glow_cg_loop(g, l, cg_i64(g, 0), cg_i64(g, count), step, NULL, 0);
    bound[0] = l->i;
    bound[1] = glow_cg_imin(g, cg_addc(g, l->i, step), cg_i64(g, count));
}

static void
emit_floats(cpu_job *j)
{
    cg *g = j->g;
    maker m = {.j = j};
    cpu_filter_block *b = &m.b;
    const cpu_window_axis *v = &m.f.w.axis[1], *h = &m.f.w.axis[2];
    cg_loop image, line, window;

    glow_cpu_filter_grad_of(g->target, j->n, &m.f);
    m.one_block = m.f.images == m.f.w.batch && m.f.lines == v->out &&
                  m.f.windows == h->out;
    make_tables(&m);
    begin_part(g, &image, m.f.w.batch, m.f.images, b->image);
    begin_part(g, &line, v->out, m.f.lines, b->line);
    begin_part(g, &window, h->out, m.f.windows, b->window);
    b->first = cg_add(g, cg_mulc(g, image.i, v->out), line.i);
    b->first = cg_add(g, cg_mulc(g, b->first, h->out), window.i);
    b->begins = cg_icmp(g, LLVMIntEQ, b->first, cg_i64(g, 0));
    b->count = cg_sub(g, b->image[1], b->image[0]);
    b->count = cg_mul(g, b->count, cg_sub(g, b->line[1], b->line[0]));
    b->count = cg_mul(g, b->count, cg_sub(g, b->window[1], b->window[0]));
    make_block(&m);
    glow_cg_loop_end(g, &window, NULL);
    glow_cg_loop_end(g, &line, NULL);
    glow_cg_loop_end(g, &image, NULL);
}

static void
emit(cpu_job *j)
{
    cg *g = j->g;
    const glow_node *n = j->n;
    cpu_job wide = *j;
    cpu_filter_grad f;
    cg_tensor in[2], out;
    cg_value at;

    if (!is_narrow(n)) {
        emit_floats(j);
        return;
    }
    glow_cpu_filter_grad_of(g->target, n, &f);
    at = glow_cg_atc(g, j->scratch, glow_cpu_aligned(copied_bytes(&f)));
    for (int i = 0; i < 2; i++) {
        in[i] = glow_cpu_widen_operand(j, i, at);
        at = glow_cg_atc(g, at, glow_cpu_widened_bytes(n, i));
    }
    out = (cg_tensor){at, &glow_cpu_float};
    wide.in = in;
    wide.out = &out;
    wide.begin = cg_i64(g, 0);
    wide.end = cg_i64(g, tiles_of(&f));
    emit_floats(&wide);
    glow_cpu_convert(j, out, j->out[0], glow_type_count(n->out[0]->type));
}

const cpu_kernel glow_cpu_conv_filter_grad = {
    .name = "conv_filter_grad",
    .op = &glow_op_convolutionfiltergrad,
    .takes = takes,
    .emit = emit,
    .scratch_size = room,
    .units = units,
};
