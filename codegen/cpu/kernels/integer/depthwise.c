/*
 * Depthwise convolution of quantized elements: each channel by itself, with vectors
 * over channels.
 *
 *     for each image and plane of the result
 *       for each block of lines
 *         for each nr channels                       one vector of input
 *           copy their input to scratch              with pads, pixel behind pixel
 *           for each line, mr pixels of it           depthwise_tile.c
 *
 * Columns of constants are packed; others are kept in scratch.
 */

#include "codegen/cpu/kernels/integer/depthwise.h"

typedef cpu_integer integer;

/* Columns: start values, offsets, ratios of all channels. */

static int64_t
ratio_bytes(const integer *s)
{
    return glow_cpu_integer_is_wide(s) ? 8 : 4;
}

int64_t
glow_cpu_depthwise_scratch(const integer *s)
{
    int64_t copy = glow_cpu_integer_copy_bytes(s);
    int64_t columns =
        s->columns ? 0 : glow_cpu_depthwise_columns(s) * (8 + ratio_bytes(s));

    return copy > INT64_MAX - columns ? INT64_MAX : copy + columns;
}

/* Address of the ratios from `channel` on. */
static cg_value
ratios_at(const cpu_depthwise_maker *m, cg_value channel)
{
    cg *g = m->j->g;
    cg_value at = cg_mulc(g, channel, ratio_bytes(m->s));

    return glow_cg_at(g, m->columns,
                      cg_addc(g, at, 8 * glow_cpu_depthwise_columns(m->s)));
}

/* The columns of `live` channels from `channel` on; sets `any`. */
static void
keep_column(cpu_depthwise_maker *m, cg_value channel, int live, cg_value any)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t count = glow_cpu_depthwise_columns(s);
    cg_value term =
        glow_cg_load_raw(g, glow_cg_vector(g->i32, s->lanes),
                         glow_cg_at(g, m->j->packed,
                                    cg_addc(g, cg_mulc(g, channel, 4),
                                            glow_cpu_depthwise_weights(s))));
    cpu_integer_column c =
        glow_cpu_integer_column(m->j, s, channel, live, term);
    cg_value at = glow_cg_at(g, m->columns, cg_mulc(g, channel, 4));
    cg_value ratios = ratios_at(m, channel);

    glow_cg_store_raw(g, c.start, at);
    if (c.offset) {
        glow_cg_store_raw(g, c.offset, glow_cg_atc(g, at, 4 * count));
        cg_set(g, any, cg_or(g, cg_get(g, any), c.offset));
    }
    glow_cg_store_raw(g, c.ratio, ratios);
}

static void
keep_columns(cpu_depthwise_maker *m)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t whole = s->groups / s->lanes * s->lanes;
    LLVMTypeRef t = glow_cg_vector(g->i32, s->lanes);
    cg_value any = glow_cg_local(g, LLVMConstNull(t));
    cg_loop l;

    m->columns = glow_cg_atc(g, m->j->scratch, glow_cpu_integer_copy_bytes(s));
    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), s->lanes, NULL, 0);
        keep_column(m, l.i, s->lanes, any);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (whole < s->groups)
        keep_column(m, cg_i64(g, whole), (int)(s->groups - whole), any);
    m->any = glow_cpu_integer_any(g, cg_get(g, any));
}

/*
 * Sum `q` of a block of numbers of type `scalar`, channel by channel from `at` on.
 */
static cg_value
load_natural(const cpu_depthwise_maker *m, LLVMTypeRef scalar, int bytes,
             cg_value at, int q)
{
    cg *g = m->j->g;
    const cpu_depthwise_block *b = &m->b;
    LLVMTypeRef t = glow_cg_vector(scalar, b->lanes);
    cg_value v = LLVMGetPoison(t);

    for (int l = 0; l < b->lanes; l++)
        v = LLVMBuildInsertElement(
            g->builder, v,
            glow_cg_load_raw(
                g, scalar,
                glow_cg_atc(g, at,
                            glow_cpu_depthwise_natural(m->s, q, l) * bytes)),
            LLVMConstInt(g->i32, (unsigned)l, false), "");
    return v;
}

static void
load_packed_columns(cpu_depthwise_maker *m)
{
    cg *g = m->j->g;
    cg_value from =
        glow_cg_atc(g, m->j->packed, glow_cpu_depthwise_weights(m->s));

    for (int q = 0; q < m->b.sums; q++)
        m->column[q] = glow_cpu_integer_load_column(
            g, m->s, m->b.lanes, from, glow_cpu_depthwise_columns(m->s),
            cg_addc(g, m->channel, q * m->b.lanes));
}

static void
load_columns(cpu_depthwise_maker *m)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t count = glow_cpu_depthwise_columns(s);
    int wide = (int)ratio_bytes(s);
    cg_value at = glow_cg_at(g, m->columns, cg_mulc(g, m->channel, 4));
    cg_value ratios = ratios_at(m, m->channel);

    for (int q = 0; q < m->b.sums; q++) {
        cpu_integer_column *c = &m->column[q];

        c->start = load_natural(m, g->i32, 4, at, q);
        c->offset =
            m->sums_input
                ? load_natural(m, g->i32, 4, glow_cg_atc(g, at, 4 * count), q)
                : NULL;
        c->ratio =
            load_natural(m, wide == 8 ? g->f64 : g->f32, wide, ratios, q);
    }
}

static void
make_lines(const cpu_depthwise_maker *m, cg_value end)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t tiles = s->axis[2].out / s->rows;
    int rest = (int)(s->axis[2].out % s->rows);
    cg_loop lines, l;

    glow_cg_loop(g, &lines, m->first, end, 1, NULL, 0);
    glow_cg_for(g, &l, tiles);
    glow_cpu_depthwise_tile(m, s->rows, lines.i, cg_mulc(g, l.i, s->rows));
    glow_cg_loop_end(g, &l, NULL);
    if (rest)
        glow_cpu_depthwise_tile(m, rest, lines.i, cg_i64(g, tiles * s->rows));
    glow_cg_loop_end(g, &lines, NULL);
}

/* Copies the input of the channels at hand. */
static cg_value
copy_block(const cpu_depthwise_maker *m, cg_value end)
{
    integer some = *m->s;

    some.groups = m->b.live;
    return glow_cpu_integer_copy(m->j, &some,
                                 glow_cg_at(m->j->g, m->from, m->channel),
                                 m->plane, m->first, end);
}

/* Block `number` of channels, or the one `at` behind it that is as it is. */
static void
make_block(cpu_depthwise_maker *m, int64_t number, cg_value at, cg_value end)
{
    cg *g = m->j->g;
    cpu_depthwise_block first = glow_cpu_depthwise_block(m->s, 0);
    int64_t apart = m->s->groups > first.channels
                        ? glow_cpu_depthwise_block(m->s, 1).weights
                        : 0;
    cg_if some, none;

    m->b = glow_cpu_depthwise_block(m->s, number);
    m->channel = cg_mulc(g, at, first.channels);
    m->weights = glow_cg_at(g, m->j->packed, cg_mulc(g, at, apart));
    m->in = copy_block(m, end);
    if (m->s->columns) {
        load_packed_columns(m);
        make_lines(m, end);
        return;
    }
    glow_cg_if(g, &none, LLVMBuildNot(g->builder, m->any, ""));
    m->sums_input = false;
    load_columns(m);
    make_lines(m, end);
    glow_cg_end_if(g, &none);
    glow_cg_if(g, &some, m->any);
    m->sums_input = true;
    load_columns(m);
    make_lines(m, end);
    glow_cg_end_if(g, &some);
}

static void
make_blocks(cpu_depthwise_maker *m, cg_value end)
{
    cg *g = m->j->g;
    int64_t count = glow_cpu_depthwise_blocks(m->s);
    cpu_depthwise_block last = glow_cpu_depthwise_block(m->s, count - 1);
    bool ends = last.live < glow_cpu_depthwise_most_channels(m->s);
    cg_loop l;

    if (count - ends > 0) {
        glow_cg_for(g, &l, count - ends);
        make_block(m, 0, l.i, end);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (ends)
        make_block(m, count - 1, cg_i64(g, count - 1), end);
}

void
glow_cpu_emit_depthwise(cpu_job *j, const integer *s)
{
    cg *g = j->g;
    cpu_depthwise_maker m = {.j = j, .s = s};
    cpu_within units;
    const cpu_window_axis *a = s->axis;
    cg_value outer, n, end;
    cg_loop l;

    if (!s->columns)
        keep_columns(&m);
    outer = glow_cpu_units_within(j, &units, s->batch * a[0].out, s->lines);
    n = cg_over(g, outer, a[0].out);
    m.plane = cg_addc(g, cg_mulc(g, cg_modulo(g, outer, a[0].out), a[0].stride),
                      -a[0].start);
    m.from =
        glow_cg_at(g, j->in[0].at,
                   cg_mulc(g, n, a[0].in * a[1].in * a[2].in * s->in_pixel));
    m.image = cg_mulc(g, outer, a[1].out * a[2].out);
    glow_cg_loop(g, &l, units.begin, units.end, s->block, NULL, 0);
    m.first = l.i;
    end = glow_cg_imin(g, cg_addc(g, l.i, s->block), units.end);
    make_blocks(&m, end);
    glow_cg_loop_end(g, &l, NULL);
    glow_cg_loop_end(g, &units.loop, NULL);
}
