/* Weights of integer sums, packed at compile time or at run time. */

#include <string.h>

#include "codegen/cpu/kernels/integer/integer.h"

typedef cpu_integer integer;

int
glow_cpu_integer_weight(const integer *s, const glow_tensor *from, int64_t at)
{
    return s->w->elem == GLOW_INT8Q ? ((const int8_t *)from->data)[at]
                                    : ((const uint8_t *)from->data)[at] - 128;
}

/* Step `k` of a run, `count` channels from `first` on; returns the end. */
static uint8_t *
pack_step(const integer *s, const glow_tensor *from, int64_t at, int64_t k,
          int64_t first, int64_t count, uint8_t *to)
{
    bool is_byte = glow_cpu_integer_weight_bytes(s) == 1;

    for (int64_t c = first; c < first + count; c++)
        for (int64_t e = k * s->group; e < (k + 1) * s->group; e++) {
            bool is = c < s->outputs && e < s->run;
            int64_t element = at + c * s->step.output +
                              e / s->channels * s->step.tap +
                              e % s->channels * s->step.depth;
            int16_t w =
                is ? (int16_t)glow_cpu_integer_weight(s, from, element) : 0;

            if (is_byte)
                *to = (uint8_t)w;
            else
                memcpy(to, &w, 2);
            to += is_byte ? 1 : 2;
        }
    return to;
}

/*
 * One tap's run of panel `panel` of a group; returns the end.  The rows of a tile are
 * contiguous: those of the vectors of a multiplication follow each other.
 */
static uint8_t *
pack_run(const integer *s, const glow_tensor *from, int64_t at, int64_t panel,
         uint8_t *to)
{
    bool is_tiled = s->form == CPU_DOT_TILES;
    int vectors = glow_cpu_integer_vectors(s, panel);
    int64_t first = panel * s->vectors * s->lanes;
    int64_t together = is_tiled ? s->lanes : vectors * s->lanes;
    int64_t unit = is_tiled ? s->unit : 1;

    for (int64_t k = 0; k < s->steps; k += unit)
        for (int64_t c = 0; c < vectors * s->lanes; c += together)
            for (int64_t i = k; i < k + unit; i++)
                to = pack_step(s, from, at, i, first + c, together, to);
    return to;
}

/* The sum of the weights of output `c` of the group at element `at`. */
static int64_t
sum_of(const integer *s, const glow_tensor *from, int64_t at, int64_t c)
{
    int64_t taps = s->axis[2].kernel, sum = 0;
    int64_t lines = s->axis[0].kernel * s->axis[1].kernel;

    at += c * s->step.output;
    for (int64_t i = 0; i < lines; i++)
        for (int64_t j = 0; j < taps; j++)
            for (int64_t k = 0; k < s->channels; k++)
                sum += glow_cpu_integer_weight(
                    s, from,
                    at + i * s->step.row + j * s->step.tap + k * s->step.depth);
    return sum;
}

int64_t
glow_cpu_integer_packed_size(const integer *s)
{
    int64_t weights = glow_cpu_integer_weights(s);
    int64_t columns = glow_cpu_integer_columns(s);

    return s->columns ? weights + glow_cpu_integer_column_bytes(s, columns)
                      : weights + columns * 4 + glow_cpu_integer_ones(s);
}

/* The start values and ratios of all columns. */
static void
pack_columns(const integer *s, const glow_node *n, const glow_tensor *from,
             uint8_t *to)
{
    int64_t all = glow_cpu_integer_columns(s), columns = all / s->groups;
    cpu_integer_packer p = glow_cpu_integer_packer(s, n, all, to);

    for (int64_t g = 0; g < s->groups; g++)
        for (int64_t c = 0; c < columns; c++)
            if (c < s->outputs)
                glow_cpu_integer_pack_column(
                    &p, g * s->outputs + c,
                    sum_of(s, from, g * s->step.group, c));
            else
                glow_cpu_integer_pack_column(&p, -1, 0);
}

/* The terms -z sum w of all columns; returns the end. */
static uint8_t *
pack_terms(const integer *s, const glow_tensor *from, uint8_t *to)
{
    int64_t columns = glow_cpu_integer_columns(s) / s->groups;

    for (int64_t g = 0; g < s->groups; g++)
        for (int64_t c = 0; c < columns; c++, to += 4) {
            int64_t sum =
                c < s->outputs ? sum_of(s, from, g * s->step.group, c) : 0;
            uint32_t term = 0u - (uint32_t)s->x_zero * (uint32_t)sum;

            memcpy(to, &term, 4);
        }
    return to;
}

void
glow_cpu_integer_pack(const integer *s, const glow_node *n,
                      const glow_tensor *from, void *start)
{
    uint8_t *to = start;
    int64_t lines = s->axis[0].kernel * s->axis[1].kernel;

    for (int64_t g = 0; g < s->groups; g++)
        for (int64_t p = 0; p < s->panels; p++)
            for (int64_t i = 0; i < lines; i++)
                for (int64_t j = 0; j < s->taps; j++)
                    to = pack_run(s, from,
                                  g * s->step.group + i * s->step.row +
                                      j * s->step.tap,
                                  p, to);
    to = (uint8_t *)start + glow_cpu_integer_weights(s);
    if (s->columns) {
        pack_columns(s, n, from, to);
        return;
    }
    to = pack_terms(s, from, to);
    if (s->form == CPU_DOT_TILES)
        glow_cpu_integer_pack_ones(s, to);
}

/* At run time. */

typedef struct panel {
    cg *g;
    const integer *s;
    cg_value from, to;
    int vectors, last;
} panel;

/* A weight, or several, as the instruction takes them. */
static cg_value
convert(const panel *p, cg_value x)
{
    cg *g = p->g;

    if (p->s->w->elem != GLOW_INT8Q)
        x = cg_xor(g, x, glow_cg_int(LLVMTypeOf(x), 0x80));
    return p->s->group == 4
               ? x
               : LLVMBuildSExt(g->builder, x, glow_cg_like(x, g->i16), "");
}

/* Row `k` of a row-major matrix, the channels of vector `v`. */
static cg_value
load_row(const panel *p, cg_value k, int v)
{
    cg *g = p->g;
    const integer *s = p->s;
    LLVMTypeRef t = glow_cg_vector(g->i8, s->lanes);
    cg_value at = cg_addc(g, cg_mulc(g, k, s->step.depth), v * s->lanes), x;

    g->live = v == p->vectors - 1 && p->last < s->lanes ? p->last : 0;
    x = convert(p, glow_cg_load_raw(g, t, glow_cg_at(g, p->from, at)));
    x = glow_cg_live(g, x, LLVMConstNull(LLVMTypeOf(x)));
    g->live = 0;
    return x;
}

/* a[0] b[0] a[1] b[1] ... */
static cg_value
in_turn(cg *g, cg_value a, cg_value b)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(a));
    cg_value order[128];

    for (int i = 0; i < 2 * lanes; i++)
        order[i] = LLVMConstInt(g->i32, (unsigned)(i / 2 + (i % 2 ? lanes : 0)),
                                false);
    return LLVMBuildShuffleVector(
        g->builder, a, b, LLVMConstVector(order, 2 * (unsigned)lanes), "");
}

/* A vector of weights from row `k` on, of which the first `there` rows are. */
static cg_value
gather_rows(const panel *p, cg_value k, int there, int v)
{
    cg *g = p->g;
    const integer *s = p->s;
    LLVMTypeRef t = glow_cg_vector(s->group == 4 ? g->i8 : g->i16, s->lanes);
    cg_value x[4];

    for (int e = 0; e < s->group; e++)
        x[e] = e < there ? load_row(p, cg_addc(g, k, e), v) : LLVMConstNull(t);
    if (s->group == 1)
        return x[0];
    if (s->group == 2)
        return in_turn(g, x[0], x[1]);
    x[0] = in_turn(g, x[0], x[2]);
    x[1] = in_turn(g, x[1], x[3]);
    return in_turn(g, x[0], x[1]);
}

/* Packs a step of a row-major matrix, of which the first `there` rows are. */
static void
pack_rows(const panel *p, cg_value step, int there)
{
    cg *g = p->g;
    const integer *s = p->s;
    int64_t vector = glow_cpu_integer_vector(s);
    cg_value to = glow_cg_at(g, p->to, cg_mulc(g, step, p->vectors * vector));

    for (int v = 0; v < p->vectors; v++) {
        cg_value w = gather_rows(p, cg_mulc(g, step, s->group), there, v);

        glow_cg_store_raw(g, w, glow_cg_atc(g, to, v * vector));
    }
}

static void
pack_matrix(const panel *p)
{
    cg *g = p->g;
    const integer *s = p->s;
    int64_t whole = s->run / s->group;
    int rest = (int)(s->run % s->group);
    cg_loop l;

    if (whole) {
        pack_rows(p, glow_cg_for(g, &l, whole), s->group);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        pack_rows(p, cg_i64(g, whole), rest);
}

/*
 * Weights of any strides, one by one: element (channel, line of taps, tap, depth)
 * after those of all others are set to 0.
 */
static void
pack_scattered(const panel *p)
{
    cg *g = p->g;
    const integer *s = p->s;
    int64_t vector = glow_cpu_integer_vector(s), step = p->vectors * vector;
    int64_t wide = vector / s->lanes, bytes = wide / s->group;
    int64_t channels = (p->vectors - 1) * s->lanes + p->last;
    int64_t lines = s->axis[0].kernel * s->axis[1].kernel;
    int64_t taps = s->axis[2].kernel;
    const glow_type byte = {.elem = GLOW_UINT8Q};
    cg_value from, to, e, x;
    cg_nest n;

    glow_cpu_fill(g, (cg_tensor){p->to, &byte},
                  glow_cpu_integer_panel(s, p->vectors), LLVMConstNull(g->i8));
    glow_cg_nest(g, &n, GLOW_DIMS_OF(channels, lines, taps, s->channels));
    from = glow_cg_offset(
        g, n.at,
        GLOW_DIMS_OF(s->step.output, s->step.row, s->step.tap, s->step.depth));
    x = convert(p, glow_cg_load_raw(g, g->i8, glow_cg_at(g, p->from, from)));
    e = s->taps == 1 ? cg_affine(g, n.at[2], s->channels, n.at[3], 1) : n.at[3];
    to = cg_affine(g, n.at[0], wide, n.at[1], s->taps * s->steps * step);
    if (s->taps > 1)
        to = cg_add(g, to, cg_mulc(g, n.at[2], s->steps * step));
    to = cg_add(g, to, cg_mulc(g, cg_over(g, e, s->group), step));
    to = cg_add(g, to, cg_mulc(g, cg_modulo(g, e, s->group), bytes));
    glow_cg_store_raw(g, x, glow_cg_at(g, p->to, to));
    glow_cg_nest_end(g, &n);
}

/* terms[v] += the sums of the packed weights of each channel. */
static void
add_weights(const panel *p, cg_value *terms)
{
    cg *g = p->g;
    const integer *s = p->s;
    LLVMTypeRef t = glow_cg_vector(g->i32, s->lanes);
    int64_t step = glow_cpu_integer_vector(s) * p->vectors;
    int64_t steps = glow_cpu_integer_panel(s, p->vectors) / step;
    cg_value at;
    cg_loop l;

    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, steps), 1, terms, p->vectors);
    at = glow_cg_at(g, p->to, cg_mulc(g, l.i, step));
    for (int v = 0; v < p->vectors; v++)
        terms[v] = glow_cg_dot(
            g, s->form, glow_cg_int(t, 0x01010101),
            glow_cg_load_raw(g, t, glow_cg_atc(g, at, v * s->lanes * 4)),
            l.value[v]);
    glow_cg_loop_end(g, &l, terms);
    for (int v = 0; v < p->vectors; v++)
        terms[v] = l.value[v];
}

void
glow_cpu_integer_pack_panel(cpu_job *j, const integer *s, cg_value from,
                            int64_t number, cg_value to, cg_value *terms)
{
    cg *g = j->g;
    panel p = {g,
               s,
               from,
               to,
               glow_cpu_integer_vectors(s, number),
               glow_cpu_integer_last(s, number)};
    LLVMTypeRef t = glow_cg_vector(g->i32, s->lanes);

    if (s->step.output == 1)
        pack_matrix(&p);
    else
        pack_scattered(&p);
    for (int v = 0; v < p.vectors; v++)
        terms[v] = LLVMConstNull(t);
    if (s->x_zero)
        add_weights(&p, terms);
    for (int v = 0; v < p.vectors; v++)
        terms[v] = cg_imul(g, terms[v], glow_cg_int(t, -(int64_t)s->x_zero));
}
