/*
 * Cost model and blocking of Winograd's convolution in integers.
 *
 * Costs are cycles: dot products, the transforms, and weights from memory, as in
 * rule.c.  The products at all points of a panel of outputs are transformed at once,
 * so a block of tiles keeps its transformed input and the sums of one panel in the
 * cache.
 */

#include "codegen/cpu/kernels/winograd/integer.h"

#define MANY_TILES 32  /* at which reading weights from memory pays */
#define LEAST_BYTES 16 /* of a vector */
#define CACHE 40.0     /* bytes in a cycle from the core's cache */
#define DEEPEST 65536  /* channels, so that bounds of sums fit in 64 bits */

typedef cpu_winograd_integer integer;

static int64_t
lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * The products at a point: rows of tiles in scratch, as the dot products of 16 bits
 * take them.
 */
static void
set_products(const cpu_target *t, integer *x)
{
    const cpu_window_axis one = {1, 1, 1, 1, 1, 0, 0};
    cpu_integer *s = &x->s;
    int64_t vectors;
    int most = t->registers >= 32 ? CPU_INTEGER_VECTORS : 2;

    s->form = t->dot == CPU_DOT_WIDE ? CPU_DOT_WIDE : CPU_DOT_PAIRS;
    s->group = glow_cg_dot_group(s->form);
    s->lanes = t->dot_bytes / 4;
    s->narrow = false; /* transformed weights have more bits */
    s->x_zero = (int)s->x->offset;
    s->centered = true;
    s->shrinks = true;
    s->columns = true;
    s->copies = true;
    s->axis[0] = s->axis[1] = s->axis[2] = one;
    s->taps = 1;
    s->run = s->channels;
    s->steps = cg_ceil_div(s->run, s->group);
    s->pixel = x->w.in_pitch;
    vectors = cg_ceil_div(s->outputs, s->lanes);
    s->panels = cg_ceil_div(vectors, most);
    s->vectors = (int)cg_ceil_div(vectors, s->panels);
    s->panels = cg_ceil_div(vectors, s->vectors);
}

/* Rows of sums that registers hold beside weights, an element and a product. */
static int
most_rows(const cpu_target *t, const cpu_integer *s)
{
    int rows = (t->registers - s->vectors - 2) / s->vectors;

    return rows < 1 ? 1 : rows;
}

/*
 * Chooses the rows of a register tile and the tiles of a block, about `even` of `all`:
 * the fewest rows in all, with those beyond the tiles, where the start of a register
 * tile costs 2 / 5 of a row.
 */
static void
set_rows(const cpu_target *t, integer *x, int64_t all, int64_t even)
{
    cpu_integer *s = &x->s;
    int most = most_rows(t, s);
    int64_t least = INT64_MAX;

    for (int rows = most; rows >= (2 * most + 2) / 3; rows--) {
        int64_t block = even < all ? cg_ceil_div(even, rows) * rows : all;
        int64_t tiles = all / block * cg_ceil_div(block, rows) +
                        cg_ceil_div(all % block, rows);
        int64_t cost = tiles * (5 * rows + 2);

        if (cost >= least)
            continue;
        least = cost;
        s->rows = rows;
        x->w.block = block;
    }
    s->rows = (int)glow_cpu_knob(t, CPU_KNOB_ROWS, s->rows);
    s->unit = glow_cpu_integer_unit(t, s);
}

static int64_t
weight_bytes(const integer *x)
{
    return glow_cpu_winograd_integer_weights(x) / x->w.groups;
}

/*
 * Each register tile of a block prefetches its share of the weights of the next
 * point, unless the cache holds all of them.
 */
static void
set_ahead(const cpu_target *t, integer *x)
{
    cpu_integer *s = &x->s;
    int64_t tiles = cg_ceil_div(x->w.block, s->rows);
    int64_t bytes = s->unit * s->vectors * glow_cpu_integer_vector(s);

    s->ahead = 0;
    if (weight_bytes(x) > t->cache_bytes)
        s->ahead = (int)cg_ceil_div(bytes, tiles * CPU_LINE);
    s->ahead = (int)glow_cpu_knob(t, CPU_KNOB_AHEAD, s->ahead);
}

/*
 * Chooses the tiles of a block, in whole register tiles: as many as use a sixth of the
 * cache, 2 to 4 % faster than a half on Zen 5 at 64 channels; a half of it, and at least
 * MANY_TILES, if the weights are larger than the cache, because each block reads them.
 */
static void
set_block(const cpu_target *t, integer *x)
{
    cpu_winograd *w = &x->w;
    int64_t points = glow_cpu_winograd_points(w), rows;
    bool many = weight_bytes(x) > t->cache_bytes;
    int64_t share = t->cache_bytes / (many ? 2 : 6);
    int64_t tiles = share / (points * (w->in_pitch + w->out_pitch));
    int64_t all = glow_cpu_winograd_tiles(w);

    if (many && tiles < MANY_TILES)
        tiles = all <= 2 * MANY_TILES ? all : MANY_TILES;
    tiles = glow_cpu_knob(t, CPU_KNOB_TILES, tiles);
    if (tiles < 1)
        tiles = 1;
    set_rows(t, x, all, cg_ceil_div(all, cg_ceil_div(all, tiles)));
    set_ahead(t, x);
    rows = glow_cpu_winograd_integer_rows(x);
    w->in_plane = glow_cpu_winograd_plane(rows, w->in_pitch);
    w->out_plane = glow_cpu_winograd_plane(rows, w->out_pitch);
}

bool
glow_cpu_winograd_integer_of(const cpu_target *t, const glow_node *n, int m,
                             integer *out)
{
    cpu_integer *s = &out->s;
    cpu_window win;

    if (!t || t->dot == CPU_DOT_SIGNED || t->dot_bytes < LEAST_BYTES ||
        !glow_cpu_integer_convolution(t, n, s) || !s->packed ||
        s->channels > DEEPEST)
        return false;
    win = (cpu_window){s->batch,
                       s->groups * s->channels,
                       {s->axis[0], s->axis[1], s->axis[2]}};
    if (!glow_cpu_winograd_window(&win, s->groups, s->groups * s->outputs, m,
                                  &out->w) ||
        out->w.taps_h != 3 || out->w.taps_w != 3)
        return false;
    out->w.pixel = s->in_pixel;
    out->w.in_pitch = glow_cpu_winograd_pitch(2 * s->channels);
    set_products(t, out);
    out->w.out_pitch = s->vectors * s->lanes * 4;
    set_block(t, out);
    return true;
}

int64_t
glow_cpu_winograd_integer_rows(const integer *x)
{
    return cg_ceil_div(x->w.block, x->s.rows) * x->s.rows;
}

int64_t
glow_cpu_winograd_integer_columns(const integer *x)
{
    return x->w.groups * cg_ceil_div(x->s.outputs, x->s.lanes) * x->s.lanes;
}

int64_t
glow_cpu_winograd_integer_pads(const integer *x)
{
    return cg_ceil_div(x->w.in_w * x->w.pixel, 4) * 4;
}

/* The transformed input, the sums, and a line of pads. */
int64_t
glow_cpu_winograd_integer_scratch(const integer *x)
{
    const cpu_winograd *w = &x->w;

    return glow_cpu_winograd_points(w) * (w->in_plane + w->out_plane) +
           glow_cpu_winograd_integer_pads(x);
}

/* Cost model. */

/* Cycles of work that reads `weights` bytes of them `times` times. */
static double
with_weights(const cpu_target *t, double work, double weights, double times)
{
    double reading = weights * times / t->memory_bytes;

    return reading > work ? reading : work;
}

static double
direct_cycles(const cpu_target *t, const cpu_integer *s)
{
    const cpu_window_axis *a = s->axis;
    double vectors = (double)cg_ceil_div(s->outputs, s->lanes);
    double pixels = (double)(s->batch * a[1].out * a[2].out);
    double steps = (double)(s->groups * 3 * s->taps * s->steps);
    double work = pixels * steps * vectors / t->multiplies / 0.9;

    return with_weights(t, work, steps * vectors * s->lanes * 4, 1);
}

/*
 * Cycles of the transforms of a tile, of `inputs` and `outputs` vectors: 4 for each point of
 * the input, about five instructions, and 5 of the output, about seven.  On an Intel Xeon
 * 5 of each point were measured.
 */
static double
transform_cycles(const integer *x, int64_t inputs, int64_t outputs)
{
    double points = (double)glow_cpu_winograd_points(&x->w);

    return points * (4 * (double)inputs + 5 * (double)outputs);
}

/*
 * `tiles` of all groups, and of each `outputs` vectors of results.  Each register tile
 * reads the weights of its point from the core's cache.
 */
static double
part_cycles(const cpu_target *t, const integer *x, int64_t tiles,
            int64_t outputs)
{
    const cpu_winograd *w = &x->w;
    const cpu_integer *s = &x->s;
    int64_t points = glow_cpu_winograd_points(w), groups = w->groups;
    int64_t inputs = cg_ceil_div(w->channels, t->dot_bytes / 2);
    int64_t rows = cg_ceil_div(tiles, s->rows) * s->rows;
    double dots = (double)points * (double)rows * (double)(groups * s->steps) *
                  (double)outputs;
    double weights =
        (double)(points * groups * s->steps) * (double)outputs * s->lanes * 4;
    double near = weights * (double)(rows / s->rows) / CACHE;
    bool many = weights > (double)t->cache_bytes;

    return with_weights(t, dots / t->multiplies + near, weights,
                        many ? (double)cg_ceil_div(tiles, w->block) : 1) +
           (double)(tiles * groups) * transform_cycles(x, inputs, outputs);
}

static double
cycles_of(const cpu_target *t, const integer *x)
{
    return part_cycles(t, x, glow_cpu_winograd_tiles(&x->w),
                       cg_ceil_div(x->s.outputs, x->s.lanes));
}

bool
glow_cpu_winograd_integer_by_panels(const cpu_target *t, const integer *x)
{
    int64_t tiles = glow_cpu_winograd_tiles(&x->w);
    int64_t vectors = cg_ceil_div(x->s.outputs, x->s.lanes);
    int64_t share = cg_ceil_div(x->s.panels, t->threads) * x->s.vectors;

    return part_cycles(t, x, tiles, lesser(share, vectors)) <
           part_cycles(t, x, cg_ceil_div(tiles, t->threads), vectors);
}

int64_t
glow_cpu_winograd_integer_units(const cpu_target *t, const integer *x)
{
    return glow_cpu_winograd_integer_by_panels(t, x)
               ? x->s.panels
               : glow_cpu_winograd_tiles(&x->w);
}

/* Choice of the form. */

/* glow_cpu_winograd_integer_reach of the weights of `n`, or of any of their kind. */
static int64_t
weights_reach(const glow_node *n, const integer *x)
{
    glow_storage *c = glow_cpu_whole_constant(n->in[1]);
    int64_t most = glow_cpu_winograd_integer_reach(x, NULL);
    const glow_tensor *t;

    if (most < glow_cpu_winograd_integer_bound(x) || c->payload == GLOW_ELIDED)
        return most;
    t = glow_constant_tensor(c);
    return t ? glow_cpu_winograd_integer_reach(x, t->data) : most;
}

/* The same of the sums with the bias of `n`, if that is constant. */
static int64_t
reach_of(const glow_node *n, const integer *x)
{
    int64_t reach = weights_reach(n, x);

    return glow_cpu_integer_has_columns(n, &x->s)
               ? reach + glow_cpu_integer_bias_reach(n, &x->s)
               : reach;
}

/* True if the sums of `n` are within the bound. */
static bool
is_exact(const glow_node *n, const integer *x)
{
    return reach_of(n, x) < glow_cpu_winograd_integer_bound(x);
}

/*
 * True if F(m) takes fewer cycles than direct convolution and, for F(4), no more than F(2)
 * where that is exact.
 */
static bool
pays(const cpu_target *t, const glow_node *n, const integer *x)
{
    cpu_integer direct;
    integer other;
    double cycles = cycles_of(t, x);

    glow_cpu_integer_convolution(t, n, &direct);
    if (cycles >= direct_cycles(t, &direct))
        return false;
    /* F(4) is asked first. */
    return x->w.m_w == 2 || !glow_cpu_winograd_integer_of(t, n, 2, &other) ||
           cycles <= cycles_of(t, &other) || !is_exact(n, &other);
}

/* The form that an option asks for, or 0. */
static int
form_of(const cpu_target *t)
{
    return t->winograd == GLOW_WINOGRAD_2   ? 2
           : t->winograd == GLOW_WINOGRAD_4 ? 4
                                            : 0;
}

bool
glow_cpu_winograd_integer_takes(const cpu_target *t, const glow_node *n, int m)
{
    int only = t ? form_of(t) : 0;
    integer x;

    if (!t || t->winograd == GLOW_WINOGRAD_OFF ||
        (only && only != m && !t->choice) ||
        !glow_cpu_winograd_integer_of(t, n, m, &x))
        return false;
    return (only || t->choice || pays(t, n, &x)) &&
           glow_cpu_integer_has_columns(n, &x.s) &&
           glow_cpu_integer_shrinks(n, &x.s) && is_exact(n, &x);
}

/* Remarks. */

static void
put_cycles(const cpu_target *t, const glow_node *n, int m, glow_buf *b)
{
    cpu_integer direct;
    integer x;

    for (; m >= 2; m -= 2) {
        glow_cpu_winograd_integer_of(t, n, m, &x);
        glow_buf_printf(b, "F(%d x %d, 3 x 3) takes %.3g cycles, ", m, m,
                        cycles_of(t, &x));
    }
    glow_cpu_integer_convolution(t, n, &direct);
    glow_buf_printf(b, "direct convolution %.3g", direct_cycles(t, &direct));
}

/* Appends the reason why F(m) is not taken by option `auto`, or where it is asked for. */
static void
put_reason(const cpu_target *t, const glow_node *n, const integer *x,
           glow_buf *b)
{
    int m = x->w.m_w;

    if (!form_of(t) && !pays(t, n, x))
        put_cycles(t, n, m, b);
    else if (!glow_cpu_integer_is_centered(n, &x->s))
        glow_buf_printf(b, "an offset of the weights is not the middle of %s",
                        glow_kind_get(x->s.w->elem)->name);
    else if (!glow_cpu_integer_has_columns(n, &x->s))
        glow_buf_puts(b, "the bias or a scale is no constant");
    else if (!glow_cpu_integer_shrinks(n, &x->s))
        glow_buf_puts(b, "a scale of the sums is not below that of the result");
    else if (!is_exact(n, x))
        glow_buf_printf(b,
                        "sums may reach %" PRId64
                        ", and F(%d x %d, 3 x 3) is exact below %" PRId64,
                        reach_of(n, x), m, m,
                        glow_cpu_winograd_integer_bound(x));
}

/* True if the cost model and the weights are for F(m), which is asked before F(2). */
static bool
is_best(const cpu_target *t, const glow_node *n, int m)
{
    cpu_target u = *t;

    u.winograd = GLOW_WINOGRAD_AUTO;
    return glow_cpu_winograd_integer_takes(&u, n, m) &&
           (m == 4 || !glow_cpu_winograd_integer_takes(&u, n, 4));
}

void
glow_cpu_winograd_integer_remark(const cpu_target *t, const glow_node *n, int m,
                                 bool taken, glow_buf *b)
{
    integer x;

    if (taken)
        glow_buf_printf(b, "F(%d x %d, 3 x 3) of integers, which is exact", m,
                        m);
    if (taken || t->choice || (form_of(t) && form_of(t) != m) ||
        !glow_cpu_winograd_integer_of(t, n, m, &x))
        return;
    if (t->winograd != GLOW_WINOGRAD_OFF)
        put_reason(t, n, &x, b);
    else if (is_best(t, n, m))
        glow_buf_printf(b,
                        "winograd=off, which -Os implies, does without F(%d x "
                        "%d, 3 x 3)",
                        m, m);
}

/* Blocks of a quarter of the tiles to four times as many. */
void
glow_cpu_winograd_integer_choices(const cpu_target *t, const cpu_kernel *kernel,
                                  const glow_node *n, int m, cpu_choices *to)
{
    cpu_target u = *t;
    cpu_choice c = glow_cpu_free_choice(kernel);
    integer x;
    int64_t tiles;

    u.choice = &c;
    if (!glow_cpu_takes(kernel, &u, n))
        return;
    glow_cpu_winograd_integer_of(&u, n, m, &x);
    tiles = x.w.block;
    c.cycles = cycles_of(&u, &x);
    glow_cpu_add_choice(to, c);
    for (int64_t k = tiles / 4; k <= 4 * tiles; k = k < 1 ? 1 : 2 * k) {
        if (k < 1)
            continue;
        c.value[CPU_KNOB_TILES] = k;
        glow_cpu_winograd_integer_of(&u, n, m, &x);
        c.cycles = cycles_of(&u, &x);
        glow_cpu_add_choice(to, c);
    }
}
