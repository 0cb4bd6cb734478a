/*
 * Winograd's convolution in integers: the kernels, and their stages.  integer.h has
 * the algorithm, integer_form.c the transforms, integer_rule.c the cost model.
 *
 * Loops, from the outermost in:
 *
 *     for each group of channels                   units: tiles, or panels
 *       for each block of tiles                    the cache holds all its points
 *         input     for each tile and vector of channels:  B' x B, of 16 bits
 *         for each nr = vectors * lanes of output channels
 *           products  for each of the (m + 2)^2 points:
 *                       for each mr tiles          the register tile of integer/
 *           output    for each tile and vector:    A' T A, divided, rounded, stored
 *
 * Taps outside of the input are its offset.  The last mr tiles of a block may be tiles
 * of no meaning, whose sums are not read.
 */

#include "codegen/cpu/kernels/winograd/integer.h"

typedef struct maker {
    cpu_winograd_maker m; /* first: the loops over tiles hand it on */
    const cpu_winograd_integer *x;
    cg_value panel0, panel1; /* to make */
    /* At hand. */
    cg_value weights; /* of the panel */
    cg_value channel; /* the first of the panel, in the group */
    int vectors;      /* of the panel */
    int whole;        /* of these, all of whose lanes are channels */
} maker;

/* Products. */

/* A register tile of a point: the first of its rows. */
typedef struct tile {
    cg_value in, weights, out;
    cg_value next; /* weights to prefetch, or NULL */
} tile;

static void
sum_tile(const maker *k, const tile *t)
{
    cg *g = k->m.j->g;
    const cpu_integer *s = &k->x->s;
    LLVMTypeRef type = glow_cg_vector(g->i32, s->lanes);
    cg_value acc[CG_MAX_CARRIED];
    int vectors = k->vectors;

    for (int i = 0; i < s->rows * vectors; i++)
        acc[i] = LLVMConstNull(type);
    glow_cpu_integer_sum(g, s, s->rows, vectors, t->in, t->weights, t->next,
                         acc);
    for (int r = 0; r < s->rows; r++)
        for (int v = 0; v < vectors; v++)
            glow_cg_store_raw(
                g, acc[r * vectors + v],
                glow_cg_atc(g, t->out,
                            r * k->x->w.out_pitch + v * s->lanes * 4));
}

/* Row tile `rows` prefetches its share of the weights after those at hand. */
static cg_value
next_of(const maker *k, cg_value weights, cg_value rows)
{
    cg *g = k->m.j->g;
    const cpu_integer *s = &k->x->s;
    int64_t bodies = cg_ceil_div(s->steps, s->unit);
    cg_value share;

    if (!s->ahead)
        return NULL;
    share = cg_mulc(g, cg_over(g, rows, s->rows), bodies * s->ahead * CPU_LINE);
    share = cg_addc(g, share, glow_cpu_integer_panel(s, k->vectors));
    return glow_cg_at(g, weights, share);
}

static void
make_products(const maker *k)
{
    cg *g = k->m.j->g;
    const cpu_winograd *w = &k->m.w;
    const cpu_integer *s = &k->x->s;
    cg_value tiles = cg_sub(g, k->m.tile1, k->m.tile0);
    cg_loop points, rows;
    tile first, t;

    glow_cg_for(g, &points, glow_cpu_winograd_points(w));
    first.in = glow_cg_at(g, k->m.v, cg_mulc(g, points.i, w->in_plane));
    first.out =
        glow_cg_at(g, k->m.products, cg_mulc(g, points.i, w->out_plane));
    first.weights =
        glow_cg_at(g, k->weights,
                   cg_mulc(g, points.i, glow_cpu_integer_panel(s, k->vectors)));
    glow_cg_loop(g, &rows, cg_i64(g, 0), tiles, s->rows, NULL, 0);
    t.in = glow_cg_at(g, first.in, cg_mulc(g, rows.i, w->in_pitch));
    t.out = glow_cg_at(g, first.out, cg_mulc(g, rows.i, w->out_pitch));
    t.weights = first.weights;
    t.next = next_of(k, first.weights, rows.i);
    sum_tile(k, &t);
    glow_cg_loop_end(g, &rows, NULL);
    glow_cg_loop_end(g, &points, NULL);
}

/* Output. */

/* A vector of channels of a tile, `live` of them. */
typedef struct output {
    cg_value at; /* of the first result */
    cpu_integer_column column;
    int live;
} output;

/* True if all lines of all tiles are results. */
static bool
has_whole_tiles(const cpu_winograd *w)
{
    int64_t last = w->phases_h - 1 + (w->tiles_h - 1) * w->m_w * w->apart_h;

    return last + (w->m_w - 1) * w->apart_h < w->out_h;
}

/* Lines of the tile that are results, or more than it has. */
static cg_value
live_lines(const cpu_winograd_maker *m)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    cg_value below = cg_sub(g, cg_i64(g, w->out_h + w->apart_h - 1), m->y);

    return cg_over(g, below, w->apart_h);
}

/* Stores line `line` of a tile, whose sums `x` are those after the transform of columns. */
static void
finish_line(const maker *k, const output *o, int line, const bool *exists,
            cg_value const *x)
{
    cg *g = k->m.j->g;
    const cpu_winograd *w = &k->m.w;
    const cpu_integer *s = &k->x->s;
    int64_t pixel = s->out_pixel * glow_cg_bytes(s->y);
    cg_value at = glow_cg_atc(g, o->at, line * w->apart_h * w->out_w * pixel);
    cg_value y[CPU_INTEGER_POINTS];
    cpu_integer_result result[CPU_INTEGER_POINTS];
    int count = 0;

    glow_cpu_integer_form_output(g, w->m_w, x, y);
    for (int c = 0; c < w->m_w; c++) {
        cg_value sum = glow_cpu_integer_form_divide(g, w->m_w, line, c, y[c]);

        if (!exists[c])
            continue;
        result[count++] = (cpu_integer_result){
            .ratio = o->column.ratio,
            .at = glow_cg_atc(g, at, c * w->apart_w * pixel),
            .sum = sum,
            .row = c,
            .live = o->live};
    }
    glow_cpu_integer_store(g, s, result, count);
}

/* to[line][column] = A' of the columns of vector `v` of the panel, with its `start`. */
static void
transform_sums(const maker *k, cg_value v, cg_value start,
               cg_value (*to)[CPU_INTEGER_POINTS])
{
    cg *g = k->m.j->g;
    const cpu_winograd *w = &k->m.w;
    const cpu_integer *s = &k->x->s;
    LLVMTypeRef t = glow_cg_vector(g->i32, s->lanes);
    cg_value x[CPU_INTEGER_POINTS], y[CPU_INTEGER_POINTS];
    cg_value from = cg_affine(g, k->m.tile, w->out_pitch, v, s->lanes * 4);

    from = glow_cg_at(g, k->m.products, from);
    for (int c = 0; c < w->n_w; c++) {
        for (int i = 0; i < w->n_w; i++)
            x[i] = glow_cg_load_raw(
                g, t, glow_cg_atc(g, from, (i * w->n_w + c) * w->out_plane));
        if (c == 1)
            x[1] = cg_iadd(g, x[1], start);
        glow_cpu_integer_form_output(g, w->m_w, x, y);
        for (int i = 0; i < w->m_w; i++)
            to[i][c] = y[i];
    }
}

/* The lines of a tile, from `half`, that are results. */
static void
finish_lines(const maker *k, const output *o, const bool *exists,
             cg_value (*half)[CPU_INTEGER_POINTS])
{
    cg *g = k->m.j->g;
    bool whole = has_whole_tiles(&k->m.w);
    cg_value live = whole ? NULL : live_lines(&k->m);
    cg_if is_live;

    for (int line = 0; line < k->m.w.m_w; line++) {
        if (!whole)
            glow_cg_if(g, &is_live,
                       cg_icmp(g, LLVMIntSLT, cg_i64(g, line), live));
        finish_line(k, o, line, exists, half[line]);
        if (!whole)
            glow_cg_end_if(g, &is_live);
    }
}

/* Vector `v` of the panel, of which `live` lanes are channels. */
static void
transform_output(const maker *k, const cpu_span *span, cg_value v, int live)
{
    const cpu_winograd_maker *m = &k->m;
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    const cpu_integer *s = &k->x->s;
    int64_t columns = glow_cpu_winograd_integer_columns(k->x);
    cg_value half[CPU_INTEGER_POINTS][CPU_INTEGER_POINTS];
    cg_value channel = cg_add(g, k->channel, cg_mulc(g, v, s->lanes));
    cg_value at = cg_add(g, cg_mulc(g, m->image, w->out_h), m->y);
    cg_value column, packed;
    output o = {.live = live};

    at = cg_add(g, cg_mulc(g, at, w->out_w), m->x);
    at = cg_affine(g, at, s->out_pixel, m->group, s->outputs);
    at = cg_mulc(g, cg_add(g, at, channel), glow_cg_bytes(s->y));
    o.at = glow_cg_at(g, m->j->out[0].at, at);
    column = cg_affine(g, m->group, columns / w->groups, channel, 1);
    packed =
        glow_cg_atc(g, m->j->packed, glow_cpu_winograd_integer_weights(k->x));
    o.column =
        glow_cpu_integer_load_column(g, s, s->lanes, packed, columns, column);
    transform_sums(k, v, o.column.start, half);
    finish_lines(k, &o, span->run.valid, half);
}

static void
finish_tile(cpu_winograd_maker *m, const cpu_span *span)
{
    cg *g = m->j->g;
    const maker *k = (const maker *)m;
    const cpu_integer *s = &k->x->s;
    cg_loop l;

    if (!span->run.valid[0])
        return; /* a smaller phase has no such tile */
    if (k->whole) {
        glow_cg_for(g, &l, k->whole);
        transform_output(k, span, l.i, s->lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (k->whole < k->vectors)
        transform_output(k, span, cg_i64(g, k->whole),
                         (int)(s->outputs % s->lanes));
}

/* Loops. */

/* Panel `panel`, which is as panel `number` is. */
static void
make_panel(maker *k, cg_value panel, int64_t number, const cpu_spans *written)
{
    cg *g = k->m.j->g;
    const cpu_integer *s = &k->x->s;
    int64_t points = glow_cpu_winograd_points(&k->x->w);
    int64_t bytes = points * glow_cpu_integer_panel(s, s->vectors);

    k->vectors = glow_cpu_integer_vectors(s, number);
    k->whole =
        k->vectors - (glow_cpu_integer_last(s, number) < s->lanes ? 1 : 0);
    k->channel = cg_mulc(g, panel, s->vectors * s->lanes);
    k->weights = glow_cg_at(g, k->m.weights, cg_mulc(g, panel, bytes));
    make_products(k);
    glow_cpu_winograd_each(&k->m, written, finish_tile);
}

static void
make_panels(maker *k, const cpu_spans *written)
{
    cg *g = k->m.j->g;
    const cpu_integer *s = &k->x->s;
    int64_t last = s->panels - 1;
    bool ends = glow_cpu_integer_vectors(s, last) < s->vectors ||
                glow_cpu_integer_last(s, last) < s->lanes;
    int64_t whole = s->panels - ends;
    cg_if is_last;
    cg_loop l;

    if (whole) {
        glow_cg_loop_guarded(g, &l, k->panel0,
                             glow_cg_imin(g, k->panel1, cg_i64(g, whole)), 1,
                             NULL, 0);
        make_panel(k, l.i, 0, written);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (!ends)
        return;
    glow_cg_if(g, &is_last, cg_icmp(g, LLVMIntSGT, k->panel1, cg_i64(g, last)));
    make_panel(k, cg_i64(g, last), last, written);
    glow_cg_end_if(g, &is_last);
}

static void
make_blocks(maker *k, const cpu_spans *written)
{
    cg *g = k->m.j->g;
    int64_t block = k->m.w.block;
    cg_loop l;

    glow_cg_loop(g, &l, k->m.first, k->m.end, block, NULL, 0);
    k->m.tile0 = l.i;
    k->m.tile1 = glow_cg_imin(g, cg_addc(g, l.i, block), k->m.end);
    glow_cpu_winograd_integer_input(&k->m, k->x);
    make_panels(k, written);
    glow_cg_loop_end(g, &l, NULL);
}

/* Cuts the scratch, and fills the line of pads. */
static void
cut_scratch(maker *k)
{
    cpu_job *j = k->m.j;
    cg *g = j->g;
    const cpu_winograd *w = &k->x->w;
    const cpu_integer *s = &k->x->s;
    int64_t points = glow_cpu_winograd_points(w);
    glow_type t = {.elem = GLOW_INT8Q};

    k->m.v = j->scratch;
    k->m.products = glow_cg_atc(g, k->m.v, points * w->in_plane);
    k->m.zeros = glow_cg_atc(g, k->m.products, points * w->out_plane);
    glow_cpu_fill(g, (cg_tensor){k->m.zeros, &t},
                  glow_cpu_winograd_integer_pads(k->x),
                  glow_cg_int(g->i8, s->x->offset));
}

static void
emit(cpu_job *j, int form)
{
    cg *g = j->g;
    const cpu_target *t = g->target;
    cpu_winograd_integer x;
    maker k = {.m = {.j = j}, .x = &x};
    cpu_within units;
    cpu_spans written;
    bool by_panels;

    glow_cpu_winograd_integer_of(t, j->n, form, &x);
    k.m.w = x.w;
    glow_cpu_winograd_written(g->arena, &x.w, &written);
    by_panels = glow_cpu_winograd_integer_by_panels(t, &x);
    cut_scratch(&k);
    k.m.group = glow_cpu_units_within(j, &units, x.w.groups,
                                      glow_cpu_winograd_integer_units(t, &x));
    k.m.first = by_panels ? cg_i64(g, 0) : units.begin;
    k.m.end = by_panels ? cg_i64(g, glow_cpu_winograd_tiles(&x.w)) : units.end;
    k.panel0 = by_panels ? units.begin : cg_i64(g, 0);
    k.panel1 = by_panels ? units.end : cg_i64(g, x.s.panels);
    k.m.in = glow_cg_at(g, j->in[0].at, cg_mulc(g, k.m.group, x.w.channels));
    k.m.weights =
        glow_cg_at(g, j->packed,
                   cg_mulc(g, k.m.group,
                           glow_cpu_winograd_integer_weights(&x) / x.w.groups));
    make_blocks(&k, &written);
    glow_cg_loop_end(g, &units.loop, NULL);
}

/* Kernels. */

static bool
takes(const cpu_target *t, const glow_node *n, int form)
{
    cpu_winograd_integer x;
    cpu_spans spans;
    glow_arena *a;
    bool ok;

    if (!glow_cpu_winograd_integer_takes(t, n, form))
        return false;
    glow_cpu_winograd_integer_of(t, n, form, &x);
    if (x.s.rows * x.s.vectors + 3 > CG_MAX_CARRIED)
        return false;
    a = glow_arena_new();
    ok = glow_cpu_winograd_written(a, &x.w, &spans);
    glow_arena_free(a);
    return ok;
}

#define KERNEL(m)                                                          \
    static bool takes##m(const cpu_target *t, const glow_node *n)          \
    {                                                                      \
        return takes(t, n, m);                                             \
    }                                                                      \
    static void emit##m(cpu_job *j)                                        \
    {                                                                      \
        emit(j, m);                                                        \
    }                                                                      \
    static int64_t packed_size##m(const cpu_target *t, const glow_node *n) \
    {                                                                      \
        cpu_winograd_integer x;                                            \
        glow_cpu_winograd_integer_of(t, n, m, &x);                         \
        return glow_cpu_winograd_integer_packed_size(&x);                  \
    }                                                                      \
    static void pack##m(const cpu_target *t, const glow_node *n,           \
                        const glow_tensor *from, void *to)                 \
    {                                                                      \
        cpu_winograd_integer x;                                            \
        glow_cpu_winograd_integer_of(t, n, m, &x);                         \
        glow_cpu_winograd_integer_pack(&x, n, from, to);                   \
    }                                                                      \
    static int64_t scratch##m(const cpu_target *t, const glow_node *n)     \
    {                                                                      \
        cpu_winograd_integer x;                                            \
        glow_cpu_winograd_integer_of(t, n, m, &x);                         \
        return glow_cpu_winograd_integer_scratch(&x);                      \
    }                                                                      \
    static int64_t units##m(const cpu_target *t, const glow_node *n)       \
    {                                                                      \
        cpu_winograd_integer x;                                            \
        glow_cpu_winograd_integer_of(t, n, m, &x);                         \
        return x.w.groups * glow_cpu_winograd_integer_units(t, &x);        \
    }                                                                      \
    extern const cpu_kernel glow_cpu_conv_winograd##m##_integer;           \
    static void choices##m(const cpu_target *t, const glow_node *n,        \
                           cpu_choices *to)                                \
    {                                                                      \
        glow_cpu_winograd_integer_choices(                                 \
            t, &glow_cpu_conv_winograd##m##_integer, n, m, to);            \
    }                                                                      \
    static void remark##m(const cpu_target *t, const glow_node *n,         \
                          bool is_taken, glow_buf *b)                      \
    {                                                                      \
        glow_cpu_winograd_integer_remark(t, n, m, is_taken, b);            \
    }                                                                      \
    const cpu_kernel glow_cpu_conv_winograd##m##_integer = {               \
        .name = "conv_winograd" #m "_integer",                             \
        .op = &glow_op_channelwisequantizedconvolution,                    \
        .takes = takes##m,                                                 \
        .emit = emit##m,                                                   \
        .strides = CPU_STRIDES_IN | CPU_STRIDES_OUT,                       \
        .by_elements = true,                                               \
        .without_scales = true,                                            \
        .packs = 1,                                                        \
        .packs_too = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6,           \
        .packed_size = packed_size##m,                                     \
        .pack = pack##m,                                                   \
        .scratch_size = scratch##m,                                        \
        .units = units##m,                                                 \
        .choices = choices##m,                                             \
        .remark = remark##m,                                               \
    }

KERNEL(4);
KERNEL(2);
