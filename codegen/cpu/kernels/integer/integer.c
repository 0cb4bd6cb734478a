/*
 * Convolution and matrix product of quantized elements by register tiles of integer
 * sums.
 *
 * Loops, from the outermost in (../README.md has the words of blocking):
 *
 *     for each image and plane of the result
 *       for each block of lines                   mc: input that stays in the cache
 *         copy their input to scratch             only if it is not read in place
 *         for each group
 *           for each nr = vectors * lanes         a panel of weights, kc x nr
 *             widen it to 16 bits, in scratch     once for several tiles
 *             start values, ratios of scales      of its channels
 *             for each line of the block
 *               for each mr = rows of the line    the last tile shorter
 *                 for planes, lines and taps, steps of kc
 *                   mr x vectors sums += ...      sums.c
 *                   prefetch of the next panel    if weights come from memory
 *                 results: float, ratio, round, offset, saturate, store
 *
 * The depth is never cut: kc is all of it.  Pixels of 1 x 1 kernels and rows of
 * products are flat: a line of them is one tile.
 */

#include "codegen/cpu/kernels/integer/integer.h"

typedef cpu_integer integer;

typedef struct maker {
    cpu_job *j;
    integer s;
    cpu_within units;
    cg_value weights; /* of the image */
    cg_value packed;  /* the panel at hand, which `p` may have widened */
    cpu_integer_panel_at p;
} maker;

/* Tiles. */

/* Subtracts v sum x from the start values of a tile. */
static void
subtract_inputs(const maker *m, int rows, cg_value in, cg_value *acc)
{
    cg *g = m->j->g;
    LLVMTypeRef t = glow_cg_vector(g->i32, m->s.lanes);
    cg_value sum[CG_MAX_CARRIED];

    for (int r = 0; r < rows; r++)
        sum[r] = LLVMConstNull(t);
    glow_cpu_integer_sum(g, &m->s, rows, 1, in, NULL, NULL, sum);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < m->p.vectors; v++)
            acc[r * m->p.vectors + v] =
                cg_isub(g, acc[r * m->p.vectors + v],
                        cg_imul(g, sum[r], m->p.column[v].offset));
}

static void
start_tile(const maker *m, int rows, cg_value in, cg_value *acc)
{
    cg *g = m->j->g;
    cg_value local[CG_MAX_CARRIED];
    int count = rows * m->p.vectors;
    cg_if has;

    for (int i = 0; i < count; i++)
        acc[i] = m->p.column[i % m->p.vectors].start;
    if (!m->p.column[0].offset)
        return;
    if (!m->p.has_offsets) {
        subtract_inputs(m, rows, in, acc);
        return;
    }
    for (int i = 0; i < count; i++)
        local[i] = glow_cg_local(g, acc[i]);
    glow_cg_if(g, &has, m->p.has_offsets);
    subtract_inputs(m, rows, in, acc);
    for (int i = 0; i < count; i++)
        cg_set(g, local[i], acc[i]);
    glow_cg_end_if(g, &has);
    for (int i = 0; i < count; i++)
        acc[i] = cg_get(g, local[i]);
}

/* Stores the results of a tile; `pixel` is the number of the first. */
static void
finish_tile(const maker *m, int rows, cg_value pixel, cg_value const *acc)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    int bytes = glow_cg_bytes(s->y);
    cpu_integer_result result[CG_MAX_CARRIED];
    cg_value at = cg_mulc(g, pixel, s->out_pixel);

    at = glow_cg_at(g, m->j->out[0].at,
                    cg_mulc(g, cg_add(g, at, m->p.channel), bytes));
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < m->p.vectors; v++)
            result[r * m->p.vectors + v] = (cpu_integer_result){
                .sum = acc[r * m->p.vectors + v],
                .ratio = m->p.column[v].ratio,
                .at = glow_cg_atc(g, at,
                                  (r * s->out_pixel + v * s->lanes) * bytes),
                .row = r,
                .live = v == m->p.vectors - 1 ? m->p.last : s->lanes};
    glow_cpu_integer_store(g, s, result, rows * m->p.vectors);
}

/* The share of the next panel of weights that the tile from `x` of `line` on prefetches. */
static cg_value
next_of(const maker *m, cg_value line, cg_value x)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    int64_t share = s->ahead * CPU_LINE * glow_cpu_integer_bodies(s);
    int64_t tiles = s->flat ? 1 : cg_ceil_div(s->axis[2].out, s->rows);
    cg_value at;

    if (!s->ahead)
        return NULL;
    line = cg_sub(g, line, m->p.first);
    x = cg_over(g, x, s->rows);
    at = cg_affine(g, line, tiles * share, x, share);
    at = cg_addc(g, at, glow_cpu_integer_panel(s, m->p.vectors));
    return glow_cg_at(g, m->packed, at);
}

/* Pixels from `x` of `line` on. */
static void
make_tile(const maker *m, int rows, cg_value line, cg_value x)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    integer sums = *s;
    int64_t down = s->flat ? 1 : s->axis[1].stride;
    cg_value below = cg_sub(g, line, m->p.first);
    cg_value in =
        cg_affine(g, below, down * s->line, x, s->axis[2].stride * s->pixel);
    cg_value pixel = cg_mulc(g, line, s->flat ? s->rows : s->axis[2].out);
    cg_value acc[CG_MAX_CARRIED];

    in = glow_cg_at(g, m->p.in, in);
    start_tile(m, rows, in, acc);
    sums.narrow = s->narrow && !s->widens;
    glow_cpu_integer_sum(g, &sums, rows, m->p.vectors, in, m->p.weights,
                         next_of(m, line, x), acc);
    pixel = cg_add(g, cg_add(g, pixel, x), m->p.image);
    finish_tile(m, rows, pixel, acc);
}

static void
make_line(const maker *m, cg_value line)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    int64_t tiles = s->axis[2].out / s->rows;
    int rest = (int)(s->axis[2].out % s->rows);
    cg_loop l;

    glow_cg_for(g, &l, tiles);
    make_tile(m, s->rows, line, cg_mulc(g, l.i, s->rows));
    glow_cg_loop_end(g, &l, NULL);
    if (rest)
        make_tile(m, rest, line, cg_i64(g, tiles * s->rows));
}

/* Lines of the block, up to `end`; the last tile of flat lines may be shorter. */
static void
make_lines(const maker *m, cg_value end)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    cg_value zero = cg_i64(g, 0), last = cg_i64(g, s->lines - 1);
    bool ends = s->flat && s->last_rows != s->rows;
    cg_loop l;
    cg_if is_last;

    glow_cg_loop_guarded(g, &l, m->p.first,
                         ends ? glow_cg_imin(g, end, last) : end, 1, NULL, 0);
    if (s->flat)
        make_tile(m, s->rows, l.i, zero);
    else
        make_line(m, l.i);
    glow_cg_loop_end(g, &l, NULL);
    if (!ends)
        return;
    glow_cg_if(g, &is_last, cg_icmp(g, LLVMIntSGT, end, last));
    make_tile(m, (int)s->last_rows, last, zero);
    glow_cg_end_if(g, &is_last);
}

/* Panels. */

/* The columns of the panel, whose terms -z sum w are `terms`. */
static void
set_columns(maker *m, cg_value const *terms)
{
    cg *g = m->j->g;
    int lanes = m->s.lanes;
    cg_value all = NULL;

    for (int v = 0; v < m->p.vectors; v++) {
        cpu_integer_column *c = &m->p.column[v];

        *c = glow_cpu_integer_column(
            m->j, &m->s, cg_addc(g, m->p.channel, v * lanes),
            v == m->p.vectors - 1 ? m->p.last : lanes, terms[v]);
        if (c->offset)
            all = all ? cg_or(g, all, c->offset) : c->offset;
    }
    m->p.has_offsets =
        all && m->s.by.offsets >= 0 ? glow_cpu_integer_any(g, all) : NULL;
}

/* The columns of packed panel `panel`. */
static void
load_columns(maker *m, cg_value panel)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    int64_t all = glow_cpu_integer_columns(s);
    cg_value from = glow_cg_atc(g, m->j->packed, glow_cpu_integer_weights(s));
    cg_value first =
        cg_affine(g, m->p.group, all / s->groups, panel, s->vectors * s->lanes);

    for (int v = 0; v < m->p.vectors; v++)
        m->p.column[v] = glow_cpu_integer_load_column(
            g, s, s->lanes, from, all, cg_addc(g, first, v * s->lanes));
    m->p.has_offsets = NULL;
}

/* The terms -z sum w of a packed panel. */
static void
load_terms(const maker *m, cg_value panel, cg_value *terms)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    LLVMTypeRef t = glow_cg_vector(g->i32, s->lanes);
    int64_t columns = glow_cpu_integer_columns(s) / s->groups;
    cg_value at =
        cg_affine(g, m->p.group, columns, panel, s->vectors * s->lanes);

    at = cg_addc(g, cg_mulc(g, at, 4), glow_cpu_integer_weights(s));
    at = glow_cg_at(g, m->j->packed, at);
    for (int v = 0; v < m->p.vectors; v++)
        terms[v] = glow_cg_load_raw(g, t, glow_cg_atc(g, at, v * s->lanes * 4));
}

/* Widens the packed panel to `to`. */
static void
widen(const maker *m, cg_value to)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    int64_t vector = glow_cpu_integer_vector(s);
    int64_t wide = glow_cpu_integer_wide_panel(s, 1) * vector /
                   glow_cpu_integer_panel(s, 1);
    int64_t count = glow_cpu_integer_panel(s, m->p.vectors) / vector, unit = 8;
    cg_value from;
    cg_loop l;

    while (count % unit)
        unit /= 2;
    glow_cg_for(g, &l, count / unit);
    from = glow_cg_at(g, m->packed, cg_mulc(g, l.i, unit * vector));
    to = glow_cg_at(g, to, cg_mulc(g, l.i, unit * wide));
    for (int64_t i = 0; i < unit; i++) {
        cg_value w = glow_cpu_integer_load_weights(
            g, s, s->lanes, glow_cg_atc(g, from, i * vector));

        glow_cg_store_raw(g, w, glow_cg_atc(g, to, i * wide));
    }
    glow_cg_loop_end(g, &l, NULL);
}

/* Panel `panel` of the group, which is as panel `number` is. */
static void
make_panel(maker *m, cg_value panel, int64_t number, cg_value end)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    cg_value terms[CPU_INTEGER_VECTORS], at;
    cg_value first = cg_mulc(g, panel, s->vectors * s->lanes);

    m->p.vectors = glow_cpu_integer_vectors(s, number);
    m->p.last = glow_cpu_integer_last(s, number);
    m->p.channel = cg_add(g, cg_mulc(g, m->p.group, s->outputs), first);
    if (s->packed) {
        at = cg_affine(g, m->p.group, glow_cpu_integer_group_weights(s), panel,
                       glow_cpu_integer_panel(s, s->vectors));
        m->packed = m->p.weights = glow_cg_at(g, m->weights, at);
        if (s->widens) {
            m->p.weights =
                glow_cg_atc(g, m->j->scratch, glow_cpu_integer_copy_bytes(s));
            widen(m, m->p.weights);
        }
        if (s->columns)
            load_columns(m, panel);
        else
            load_terms(m, panel, terms);
    } else {
        m->p.weights =
            glow_cg_atc(g, m->j->scratch, glow_cpu_integer_copy_bytes(s));
        at = cg_affine(g, m->p.group, s->step.group, first, s->step.output);
        glow_cpu_integer_pack_panel(m->j, s, glow_cg_at(g, m->weights, at),
                                    number, m->p.weights, terms);
    }
    if (!s->columns)
        set_columns(m, terms);
    if (s->form == CPU_DOT_TILES)
        glow_cpu_integer_matrix_panel(m->j, s, &m->p, end);
    else
        make_lines(m, end);
}

/* Panels `low` to `high`, each as panel `number` is; there is at least one. */
static void
make_alike(maker *m, cg_value low, cg_value high, int64_t number, cg_value end)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    cg_value at;
    cg_loop l;

    if (s->form == CPU_DOT_TILES && s->columns) {
        m->p.vectors = glow_cpu_integer_vectors(s, number);
        m->p.last = glow_cpu_integer_last(s, number);
        m->p.channel = cg_mulc(g, m->p.group, s->outputs);
        at = cg_mulc(g, m->p.group, glow_cpu_integer_group_weights(s));
        m->p.weights = glow_cg_at(g, m->weights, at);
        glow_cpu_integer_matrix_panels(m->j, s, &m->p, low, high, end);
        return;
    }
    glow_cg_loop(g, &l, low, high, 1, NULL, 0);
    make_panel(m, l.i, number, end);
    glow_cg_loop_end(g, &l, NULL);
}

/* Panels of the group, those of the unit if threads share them. */
static void
make_panels(maker *m, cg_value end)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    int64_t last = s->panels - 1;
    bool ends = glow_cpu_integer_vectors(s, last) < s->vectors ||
                glow_cpu_integer_last(s, last) < s->lanes;
    int64_t whole = s->panels - ends;
    cg_value low = cg_i64(g, 0), high = cg_i64(g, s->panels);
    cg_value before;
    cg_if is_whole, is_last;

    if (s->by_panels) {
        low = m->units.begin;
        high = m->units.end;
    }
    if (whole) {
        before = glow_cg_imin(g, high, cg_i64(g, whole));
        glow_cg_if(g, &is_whole, cg_icmp(g, LLVMIntSLT, low, before));
        make_alike(m, low, before, 0, end);
        glow_cg_end_if(g, &is_whole);
    }
    if (!ends)
        return;
    glow_cg_if(g, &is_last, cg_icmp(g, LLVMIntSGT, high, cg_i64(g, last)));
    make_alike(m, cg_i64(g, last), cg_i64(g, last + 1), last, end);
    glow_cg_end_if(g, &is_last);
}

static void
make_groups(maker *m, cg_value end)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    int64_t bytes = s->copies ? glow_cg_dot_bytes(s->form) : 1;
    cg_value in = m->p.in;
    cg_loop l;

    if (s->groups == 1) {
        m->p.group = cg_i64(g, 0);
        make_panels(m, end);
        return;
    }
    m->p.group = glow_cg_for(g, &l, s->groups);
    m->p.in = glow_cg_at(g, in, cg_mulc(g, l.i, s->channels * bytes));
    make_panels(m, end);
    glow_cg_loop_end(g, &l, NULL);
}

/* The first pixel of line `first` of the block, read in place or copied. */
static cg_value
input_of(const maker *m, cg_value image, cg_value z, cg_value first,
         cg_value end)
{
    cg *g = m->j->g;
    const integer *s = &m->s;
    const cpu_window_axis *a = s->axis;
    cg_value plane = cg_addc(g, cg_mulc(g, z, a[0].stride), -a[0].start);

    if (s->copies)
        return glow_cpu_integer_copy(m->j, s, image, plane, first, end);
    return glow_cg_at(g, image,
                      cg_affine(g, plane, s->plane, first,
                                s->line * (s->flat ? 1 : a[1].stride)));
}

void
glow_cpu_emit_integer(cpu_job *j, const integer *s)
{
    cg *g = j->g;
    maker m = {.j = j, .s = *s};
    const cpu_window_axis *a = s->axis;
    int64_t planes = a[0].out, pixels = a[1].out * a[2].out;
    cg_value outer, n, z, image, first = cg_i64(g, 0), end;
    cg_loop block;

    if (s->form == CPU_DOT_TILES)
        glow_cg_matrix_begin(g, s->rows, 2 * s->unit);
    outer = glow_cpu_units_within(j, &m.units, s->batch * planes,
                                  s->by_panels ? s->panels : s->lines);
    n = cg_over(g, outer, planes);
    z = cg_modulo(g, outer, planes);
    image =
        glow_cg_at(g, j->in[0].at,
                   cg_mulc(g, n, a[0].in * a[1].in * a[2].in * s->in_pixel));
    m.p.image = cg_mulc(g, outer, pixels);
    m.weights = s->packed
                    ? j->packed
                    : glow_cg_at(g, j->in[1].at, cg_mulc(g, n, s->w_batch));
    end = cg_i64(g, s->lines);
    if (!s->by_panels) {
        first = m.units.begin;
        end = m.units.end;
    }
    glow_cg_loop(g, &block, first, end, s->block, NULL, 0);
    m.p.first = block.i;
    end = glow_cg_imin(g, cg_addc(g, block.i, s->block), end);
    m.p.in = input_of(&m, image, z, block.i, end);
    make_groups(&m, end);
    glow_cg_loop_end(g, &block, NULL);
    glow_cg_loop_end(g, &m.units.loop, NULL);
    if (s->form == CPU_DOT_TILES)
        glow_cg_matrix_end(g);
}
