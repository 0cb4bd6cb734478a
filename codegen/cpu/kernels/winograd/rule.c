/*
 * Cost model and blocking of Winograd's convolution.
 *
 * Costs are cycles: multiplications of vectors, loads and stores of the
 * transforms, and weights.  Weights come from memory, because a network reads
 * many others before it uses them again.  F(4) has four times the weights and
 * F(2) 16/9, so with few tiles direct convolution or F(2) wins.
 */

#include "codegen/cpu/emit/narrow.h"
#include "codegen/cpu/kernels/direct/dots.h"
#include "codegen/cpu/kernels/matrix/matrix.h"
#include "codegen/cpu/kernels/runs.h"
#include "codegen/cpu/kernels/winograd/winograd.h"

#define DIRECT_ROWS 14  /* of the tiles of direct convolution */
#define CACHED_BYTES 16 /* of weights in a cycle, from the core's cache */
#define FAR_BYTES 10    /* and from beyond it */
#define MANY_TILES 56   /* at which reading weights from memory pays */
#define LEAST_ROWS 2    /* of a register tile; fewer take as long */

static int64_t
lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t
glow_cpu_winograd_pitch(int64_t row)
{
    int64_t bytes = cg_ceil_div(row, CPU_LINE) * CPU_LINE;

    return bytes % 2048 == 0 ? bytes + CPU_LINE : bytes;
}

int64_t
glow_cpu_winograd_plane(int64_t tiles, int64_t pitch)
{
    int64_t lines = cg_ceil_div(tiles * pitch, CPU_LINE);

    return (lines | 1) * CPU_LINE;
}

static bool
has_many_weights(const cpu_target *t, const cpu_winograd *w)
{
    return glow_cpu_winograd_points(w) * w->channels * w->outputs * 4 >
           t->cache_bytes;
}

/*
 * Chooses the tiles of a block: as many as use half of the cache; at least
 * MANY_TILES if the weights are larger than the cache, because each block reads
 * them anew.
 */
static void
set_block(const cpu_target *t, cpu_winograd *w)
{
    int64_t points = glow_cpu_winograd_points(w);
    int64_t tiles =
        t->cache_bytes / 2 / (points * (w->in_pitch + w->out_pitch));
    int64_t all = glow_cpu_winograd_tiles(w);

    if (has_many_weights(t, w) && tiles < MANY_TILES)
        tiles = MANY_TILES;
    tiles = glow_cpu_knob(t, CPU_KNOB_TILES, tiles);
    if (tiles < 1)
        tiles = 1;
    w->block = all ? cg_ceil_div(all, cg_ceil_div(all, tiles)) : 1;
    w->in_plane = glow_cpu_winograd_plane(w->block, w->in_pitch);
    w->out_plane = glow_cpu_winograd_plane(w->block, w->out_pitch);
}

/*
 * True for an axis of stride 1 with one tap, or with 3, 5 or 7 of which more than one
 * counts.
 */
static bool
has_form(const cpu_window_axis *a)
{
    return a->kernel % 2 && a->kernel <= CPU_MOST_TAPS && a->stride == 1 &&
           a->out > 0 && (a->kernel == 1 || a->dilation <= a->in);
}

/* Results of a tile of F(m) along an axis, and pixels from one to the next. */
static int
results_of(const cpu_window_axis *a, int m)
{
    return a->kernel == 1 ? 1 : m;
}

static int64_t
apart_of(const cpu_window_axis *a)
{
    return a->kernel == 1 ? 1 : a->dilation;
}

/*
 * True if all operands and the result are float, or of one kind of 16 bits that the
 * target multiplies as float.
 */
static bool
takes_kind(const cpu_target *t, const glow_node *n)
{
    glow_kind kind = n->in[0]->type->elem;
    bool is_faster = kind == GLOW_BFLOAT16 && (t->pairs || t->matrix);

    return glow_cpu_all(n, kind) &&
           (kind == GLOW_FLOAT || (glow_cg_is_narrow(kind) && !is_faster));
}

bool
glow_cpu_winograd_window(const cpu_window *win, int64_t groups, int64_t outputs,
                         int m, cpu_winograd *out)
{
    const cpu_window_axis *z = &win->axis[0], *v = &win->axis[1],
                          *h = &win->axis[2];

    if (z->kernel != 1 || z->stride != 1 || z->start || z->end ||
        !has_form(v) || !has_form(h))
        return false;
    *out = (cpu_winograd){
        .m_h = results_of(v, m),
        .m_w = results_of(h, m),
        .taps_h = (int)v->kernel,
        .taps_w = (int)h->kernel,
        .batch = win->batch * z->in,
        .groups = groups,
        .in_h = v->in,
        .in_w = h->in,
        .out_h = v->out,
        .out_w = h->out,
        .pad_h = v->start,
        .pad_w = h->start,
        .channels = win->channels / groups,
        .outputs = outputs / groups,
        .apart_h = apart_of(v),
        .apart_w = apart_of(h),
    };
    out->n_h = out->m_h + out->taps_h - 1;
    out->n_w = out->m_w + out->taps_w - 1;
    if (out->n_h * out->n_w == 1 || out->n_h * out->n_w > CPU_MOST_SQUARE)
        return false;
    out->phases_h = lesser(out->apart_h, v->out);
    out->phases_w = lesser(out->apart_w, h->out);
    out->tiles_h = cg_ceil_div(v->out, out->apart_h * out->m_h);
    out->tiles_w = cg_ceil_div(h->out, out->apart_w * out->m_w);
    return out->batch > 0 && out->channels > 0 && out->outputs > 0;
}

bool
glow_cpu_winograd_of(const cpu_target *t, const glow_node *n, int m,
                     cpu_winograd *out)
{
    const glow_convolution *a = n->attrs;
    glow_dims y = n->out[0]->type->shape;
    cpu_window win = glow_cpu_window(n->in[0]->type->shape, y, a->kernels,
                                     a->strides, a->pads, a->dilation);

    if (!takes_kind(t, n) || !glow_cpu_is_whole_constant(n->in[1]) ||
        !glow_cpu_winograd_window(&win, a->group, y.at[y.rank - 1], m, out))
        return false;
    out->pixel = win.channels * glow_cg_bytes(n->in[0]->type);
    out->in_pitch = glow_cpu_winograd_pitch(out->channels * 4);
    out->out_pitch = glow_cpu_winograd_pitch(out->outputs * 4);
    set_block(t, out);
    return true;
}

int64_t
glow_cpu_winograd_zeros(const cpu_winograd *w)
{
    int64_t bytes = ((w->n_w - 1) * w->apart_w + 1) * w->pixel;

    return cg_ceil_div(bytes, 4) * 4;
}

/* The transformed input, the products, and a line of zeros. */
int64_t
glow_cpu_winograd_room(const cpu_winograd *w)
{
    return glow_cpu_winograd_points(w) * (w->in_plane + w->out_plane) +
           glow_cpu_winograd_zeros(w);
}

cpu_product
glow_cpu_winograd_product(const cpu_target *t, const cpu_winograd *w)
{
    cpu_product p = {.lanes = t->vector_bytes / 4, .blocks = 2};
    int64_t vectors = cg_ceil_div(w->outputs, p.lanes);
    int room = t->registers - 1;

    if (vectors < 2 || room < 4)
        p.blocks = 1;
    p.blocks = (int)glow_cpu_knob(t, CPU_KNOB_VECTORS, p.blocks);
    if (p.blocks > vectors)
        p.blocks = (int)vectors;
    p.rows =
        glow_cpu_best_rows(w->block, p.blocks, (room - p.blocks) / p.blocks);
    p.rows = (int)glow_cpu_knob(t, CPU_KNOB_ROWS, p.rows);
    p.full = vectors / p.blocks;
    p.rest = (int)(vectors % p.blocks);
    return p;
}

int64_t
glow_cpu_winograd_weights(const cpu_product *p, const cpu_winograd *w)
{
    return glow_cpu_winograd_points(w) * w->groups * w->channels *
           (p->full * p->blocks + p->rest) * p->lanes * 4;
}

/* Cost model. */

/* The taps within the input, over all windows of an axis. */
static int64_t
valid_taps(int64_t in, int64_t out, int64_t pad, int64_t apart, int kernel)
{
    int64_t taps = 0;

    for (int64_t j = 0; j < kernel * apart; j += apart) {
        int64_t first = pad > j ? pad - j : 0;
        int64_t end = lesser(out, in + pad - j);

        taps += end > first ? end - first : 0;
    }
    return taps;
}

/* Cycles of work that reads `weights` bytes of them `times` times. */
static double
with_weights(const cpu_target *t, double work, double weights, double times)
{
    double reading = weights * times / t->memory_bytes;

    return reading > work ? reading : work;
}

/*
 * The taps whose weights direct convolution reads, over all tiles of `rows` windows of an
 * axis: those within the input for any of the windows.
 */
static int64_t
read_taps(int64_t in, int64_t out, int64_t pad, int64_t apart, int kernel,
          int64_t rows)
{
    int64_t taps = 0;

    for (int64_t first = 0; first < out; first += rows)
        for (int64_t j = 0; j < kernel * apart; j += apart) {
            int64_t last = lesser(first + rows, out) - 1;

            taps += first + j < in + pad && last + j >= pad;
        }
    return taps;
}

/*
 * Direct convolution cuts the depth of panels of weights that outgrow the cache, unless
 * there are groups of channels.
 */
static double
direct_cycles(const cpu_target *t, const cpu_winograd *w)
{
    double lanes = t->vector_bytes / 4;
    double vectors = (double)cg_ceil_div(w->outputs, t->vector_bytes / 4);
    double taps =
        (double)valid_taps(w->in_h, w->out_h, w->pad_h, w->apart_h, w->taps_h) *
        (double)valid_taps(w->in_w, w->out_w, w->pad_w, w->apart_w, w->taps_w);
    double depth = (double)(w->groups * w->channels);
    double kernel = (double)w->taps_h * w->taps_w;
    double weights = kernel * depth * vectors * lanes * 4;
    double reads = (double)read_taps(w->in_h, w->out_h, w->pad_h, w->apart_h,
                                     w->taps_h, 1) *
                   (double)read_taps(w->in_w, w->out_w, w->pad_w, w->apart_w,
                                     w->taps_w, DIRECT_ROWS);
    double work = taps * depth * vectors / t->multiplies;
    double group = kernel * depth * 2 * lanes * 4; /* read for each tile */
    bool is_cached = w->groups == 1 || group <= 2 * (double)t->cache_bytes;
    double cached =
        weights / kernel * reads / (is_cached ? CACHED_BYTES : FAR_BYTES);

    if (group <= CPU_NEAR_BYTES)
        cached = 0;
    return with_weights(t, (double)w->batch * (work > cached ? work : cached),
                        weights, 1);
}

/*
 * A transform of one vector of channels of a tile: its points are loaded and stored, and
 * nearly as many spilled between the two directions.  In each direction it takes as
 * many multiplications for a point as there are pairs of points.
 */
static double
transform_cycles(const cpu_target *t, const cpu_winograd *w)
{
    double points = glow_cpu_winograd_points(w);
    int pairs =
        (w->n_h > 1 ? w->n_h / 2 - 1 : 0) + (w->n_w > 1 ? w->n_w / 2 - 1 : 0);

    return points * pairs / t->multiplies + 2 * points;
}

/* Rows that register tiles compute for `tiles` tiles, whole and tail. */
static double
rows_made(const cpu_target *t, const cpu_winograd *w, int64_t tiles)
{
    int64_t rows = glow_cpu_winograd_product(t, w).rows;
    int64_t rest = tiles % rows;

    if (rest > 0 && rest < LEAST_ROWS)
        rest = LEAST_ROWS;
    return (double)(tiles - tiles % rows + rest);
}

/* `tiles` of all groups, and of each `outputs` vectors of results. */
static double
part_cycles(const cpu_target *t, const cpu_winograd *w, int64_t tiles,
            int64_t outputs)
{
    double lanes = t->vector_bytes / 4, points = glow_cpu_winograd_points(w);
    double depth = (double)(w->groups * w->channels);
    double count = (double)tiles, vectors = (double)outputs;
    double inputs = (double)cg_ceil_div(w->channels, t->vector_bytes / 4);
    double blocks = (double)cg_ceil_div(tiles, w->block);
    double weights = points * depth * vectors * lanes * 4;
    double work =
        points * rows_made(t, w, tiles) * depth * vectors / t->multiplies / 0.9;

    return with_weights(t, work, weights,
                        weights > (double)t->cache_bytes ? blocks : 1) +
           count * (double)w->groups * (inputs + vectors) *
               transform_cycles(t, w);
}

static double
winograd_cycles(const cpu_target *t, const cpu_winograd *w)
{
    return part_cycles(t, w, glow_cpu_winograd_tiles(w),
                       cg_ceil_div(w->outputs, t->vector_bytes / 4));
}

/*
 * Compares the cycles of a thread: with a share of the outputs it transforms
 * all of the input, with a share of the tiles it reads all weights.
 */
bool
glow_cpu_winograd_by_outputs(const cpu_target *t, const cpu_winograd *w)
{
    cpu_product p = glow_cpu_winograd_product(t, w);
    int64_t tiles = glow_cpu_winograd_tiles(w);
    int64_t vectors = p.full * p.blocks + p.rest;
    int64_t share = cg_ceil_div(p.full + (p.rest > 0), t->threads) * p.blocks;

    return part_cycles(t, w, tiles, lesser(share, vectors)) <
           part_cycles(t, w, cg_ceil_div(tiles, t->threads), vectors);
}

int64_t
glow_cpu_winograd_units(const cpu_target *t, const cpu_product *p,
                        const cpu_winograd *w)
{
    return glow_cpu_winograd_by_outputs(t, w) ? p->full + (p->rest > 0)
                                              : glow_cpu_winograd_tiles(w);
}

/*
 * Cycles of the kernel that takes `n` otherwise: dot products, direct convolution,
 * or products of parts by registers of matrices.
 */
static double
other_cycles(const cpu_target *t, const glow_node *n, const cpu_winograd *w)
{
    cpu_direct d;
    bool has_parts;

    cpu_matrix m;
    double cycles;

    glow_cpu_conv_of(n, &d);
    has_parts = t->matrix && glow_cpu_matrix_of(t, &d, &m);
    d = glow_cpu_with_dots(t, d);
    cycles = d.form.dots ? glow_cpu_dot_cycles(t, &d) : direct_cycles(t, w);
    if (has_parts && glow_cpu_matrix_cycles(t, &m) < cycles)
        cycles = glow_cpu_matrix_cycles(t, &m);
    return cycles;
}

/* Chooses the faster of F(2) and F(4), if it is faster than other kernels. */
static bool
choose(const cpu_target *t, const glow_node *n, cpu_winograd *out)
{
    cpu_winograd w;
    double best;
    bool any = false;

    if (!glow_cpu_winograd_of(t, n, 2, &w))
        return false;
    best = other_cycles(t, n, &w);
    for (int m = 2; m <= 4; m += 2) {
        double cycles;

        if (!glow_cpu_winograd_of(t, n, m, &w))
            continue;
        cycles = winograd_cycles(t, &w);
        if (cycles >= best)
            continue;
        best = cycles;
        *out = w;
        any = true;
    }
    return any;
}

bool
glow_cpu_winograd_choice(const cpu_target *t, const glow_node *n,
                         cpu_winograd *out)
{
    int form;

    if (!t || t->exact || t->winograd == GLOW_WINOGRAD_OFF)
        return false;
    form = (int)glow_cpu_knob(t, CPU_KNOB_FORM, 0);
    if (form)
        return form != 3 && glow_cpu_winograd_of(t, n, form, out);
    if (t->winograd == GLOW_WINOGRAD_AUTO)
        return choose(t, n, out);
    return glow_cpu_winograd_of(t, n, t->winograd == GLOW_WINOGRAD_2 ? 2 : 4,
                                out);
}

/* Remarks. */

static void
put_form(const cpu_winograd *w, glow_buf *b)
{
    glow_buf_printf(b, "F(%d x %d, %d x %d)", w->m_h, w->m_w, w->taps_h,
                    w->taps_w);
}

static void
put_cycles(const cpu_target *t, const glow_node *n, glow_buf *b)
{
    cpu_winograd w;

    for (int m = 4; m >= 2; m -= 2) {
        if (!glow_cpu_winograd_of(t, n, m, &w))
            continue;
        put_form(&w, b);
        glow_buf_printf(b, " takes %.3g cycles, ", winograd_cycles(t, &w));
    }
    glow_buf_printf(b, "another kernel %.3g", other_cycles(t, n, &w));
}

void
glow_cpu_winograd_remark(const cpu_target *t, const glow_node *n, bool taken,
                         glow_buf *b)
{
    bool is_off = t->winograd == GLOW_WINOGRAD_OFF, pays;
    cpu_target u = *t;
    cpu_winograd w;

    if (taken) {
        glow_cpu_winograd_choice(t, n, &w);
        put_form(&w, b);
        glow_buf_printf(b, ", with errors of at most 1e-5 of the largest "
                           "result nearby");
        return;
    }
    if (t->choice || !glow_cpu_winograd_of(t, n, 2, &w))
        return;
    u.exact = false;
    u.winograd = GLOW_WINOGRAD_AUTO;
    pays = choose(&u, n, &w);
    if (pays && t->exact) {
        glow_buf_printf(b, "-exact does without ");
        put_form(&w, b);
    } else if (pays && is_off) {
        glow_buf_printf(b, "winograd=off, which -Os implies, does without ");
        put_form(&w, b);
    } else if (!pays && !t->exact && !is_off) {
        put_cycles(&u, n, b);
    }
}

/* Choices. */

/* Adds the choice, with its cycles, if its form fits `n`. */
static void
add_choice(const cpu_target *t, const glow_node *n, cpu_choice c,
           cpu_choices *to)
{
    cpu_target u = *t;
    cpu_winograd w;

    u.choice = &c;
    if (!glow_cpu_takes(c.kernel, &u, n) ||
        !glow_cpu_winograd_choice(&u, n, &w))
        return;
    c.cycles = winograd_cycles(&u, &w);
    glow_cpu_add_choice(to, c);
}

/* Blocks of half to four times as many tiles; other register tiles. */
void
glow_cpu_winograd_choices(const cpu_target *t, const cpu_kernel *kernel,
                          const glow_node *n, cpu_choices *to)
{
    static const int rows[] = {6, 7, 8, 10, 12, 13, 14};
    cpu_winograd w;

    for (int m = 2; m <= 4; m += 2) {
        cpu_choice c = glow_cpu_free_choice(kernel), tile;
        int64_t tiles;

        if (t->exact || t->winograd == GLOW_WINOGRAD_OFF ||
            !glow_cpu_winograd_of(t, n, m, &w))
            continue;
        c.value[CPU_KNOB_FORM] = m;
        add_choice(t, n, c, to);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            tile = c;
            tile.value[CPU_KNOB_ROWS] = rows[i];
            add_choice(t, n, tile, to);
        }
        tiles = w.block;
        for (int64_t k = tiles / 4; k <= 4 * tiles; k = k < 1 ? 1 : 2 * k) {
            c.value[CPU_KNOB_TILES] = k;
            if (k > 0)
                add_choice(t, n, c, to);
        }
    }
}
