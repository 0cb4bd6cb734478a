/*
 * Tile sizes of a convolution, by enumeration.
 *
 * All sizes of tiles that fit the scratchpads are tried, with both orders of the outer
 * loops, and inputs or weights of the inner loops resident or not.  A lower bound on the
 * cycles of each, the larger of compute and transfers, discards most; for others the
 * queues are followed tile by tile.
 */

#include <string.h>

#include "vta.h"

enum { MOST_STEPS = 1 << 14, BLOCK_BYTES = VTA_MACS };

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static double
most(double a, double b)
{
    return a > b ? a : b;
}

static int64_t
ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The next smaller size with another number of tiles; 0: none. */
static int64_t
next_size(int64_t all, int64_t size)
{
    return size == 1 ? 0
                     : least(size - 1, ceil_div(all, ceil_div(all, size) + 1));
}

int64_t
vta_span(const vta_window *w, int i, int64_t results)
{
    return w->kernel[i] == 1 ? results
                             : (results - 1) * w->stride[i] +
                                   (w->kernel[i] - 1) * w->dilation[i] + 1;
}

int64_t
vta_read_elements(const vta_window *w, int i, int64_t at, int64_t n)
{
    int64_t in = i ? w->width : w->height;
    int64_t first = at * w->stride[i] - w->before[i];
    int64_t end = first + vta_span(w, i, n);

    if (w->kernel[i] == 1)
        return n;
    first = first > 0 ? first : 0;
    end = least(end, in);
    return end > first ? end - first : 0;
}

/* The same for all tiles of `size` results. */
static int64_t
all_elements(const vta_window *w, int i, int64_t size)
{
    int64_t all = i ? w->out_width : w->out_height, sum = 0;

    for (int64_t at = 0; at < all; at += size)
        sum += vta_read_elements(w, i, at, least(size, all - at));
    return sum;
}

/* Numbers of tiles: of pixels, results and channels, the last two of a group. */
typedef struct counts {
    int64_t pixels, results, channels;
    int64_t depth, outputs, taps;
    int64_t elements; /* of all inputs of a group, halos counted twice */
} counts;

/* Sizes of slots; false: the fields of instructions do not reach. */
static bool
measure(const vta_window *w, const vta_config *c, vta_tile *t, counts *n)
{
    int64_t width = vta_span(w, 1, t->columns);
    int64_t height = vta_span(w, 0, t->rows);
    int64_t step = w->kernel[1] == 1 ? 1 : w->stride[1];
    int64_t row_step = w->kernel[0] == 1 ? 1 : w->stride[0];

    t->inp_size = height * width * t->channels;
    t->wgt_size = t->results * t->channels * n->taps;
    t->acc_size = t->rows * t->columns * t->results;
    n->pixels = ceil_div(w->out_height, t->rows) *
                ceil_div(w->out_width, t->columns) * w->batch;
    n->results = ceil_div(n->outputs, t->results);
    n->channels = ceil_div(n->depth, t->channels);
    return t->columns * t->results <= VTA_MAX_STRIDE &&
           row_step * width * t->channels <= VTA_MAX_STRIDE &&
           step * t->channels <= VTA_MAX_STRIDE &&
           t->wgt_size <= c->elements[VTA_UOP] / 2 &&
           t->inp_size <= c->elements[VTA_INP] &&
           t->wgt_size <= c->elements[VTA_WGT] &&
           t->acc_size <= c->elements[VTA_ACC];
}

/* Slots for `distinct` tiles, `resident`, two, or one where two do not fit; 0: none. */
static int64_t
slots(int64_t capacity, int64_t size, int64_t distinct, int64_t reused,
      bool doubled, bool resident)
{
    int64_t wanted = resident ? reused : least(doubled ? 2 : 1, distinct);

    if (!resident && wanted * size > capacity)
        wanted = 1;
    return wanted * size <= capacity ? wanted : 0;
}

/*
 * Slots of each scratchpad.  Resident inputs are all tiles of the loops inside of
 * the loop over results, resident weights all tiles inside of the loop over pixels.
 */
static bool
place(const vta_window *w, const vta_config *c, const counts *n, bool doubled,
      bool inp_resident, bool wgt_resident, vta_tile *t)
{
    int64_t p = n->pixels, q = n->results, k = n->channels;
    int64_t inp_reused = t->weights_outer ? p * k : k;
    int64_t wgt_reused = t->weights_outer ? k : q * k;
    int64_t results = q * w->groups;

    if ((inp_resident && (inp_reused <= 2 || q == 1)) ||
        (wgt_resident && (wgt_reused <= 2 || p == 1)))
        return false;
    t->bias_slots =
        results * t->results * w->vectors <= c->elements[VTA_ACC] / 4 ? results
                                                                      : 1;
    t->inp_slots = slots(c->elements[VTA_INP], t->inp_size, p * k * w->groups,
                         inp_reused, doubled, inp_resident);
    t->wgt_slots = slots(c->elements[VTA_WGT], t->wgt_size, results * k,
                         wgt_reused, doubled, wgt_resident);
    t->acc_slots =
        slots(c->elements[VTA_ACC] - t->bias_slots * t->results * w->vectors,
              t->acc_size, p * results, 0, doubled, false);
    return t->inp_slots && t->wgt_slots && t->acc_slots;
}

/* Cycles to load the micro-operations of all combinations of slots. */
static double
uop_cycles(const vta_config *c, const counts *n, const vta_tile *t)
{
    int64_t steps = n->pixels * n->results * n->channels;
    int64_t sets = least(steps, t->inp_slots * t->wgt_slots * t->acc_slots);
    int64_t words = sets * t->wgt_size;

    if (words > c->elements[VTA_UOP] / 2) { /* they push one another out */
        words = steps * t->wgt_size;
        return (double)words * 4 / c->bytes_per_cycle +
               (double)(c->setup * steps);
    }
    return (double)words * 4 / c->bytes_per_cycle + (double)c->setup;
}

static bool
has(int64_t slots, int64_t tiles)
{
    return tiles <= slots;
}

/*
 * The objective: cycles, and a little of the time of the DRAM port, so that of two tiles
 * that take equally long the one with fewer bytes is taken.
 */
static double
price(double cycles, double port)
{
    return cycles + port / 16;
}

/* No order of instructions costs less. */
static double
bound(const vta_window *w, const vta_config *c, const counts *n,
      const vta_tile *t)
{
    int64_t p = n->pixels, q = n->results, k = n->channels;
    int64_t inp_passes =
        has(t->inp_slots, t->weights_outer ? p * k : k) ? 1 : q;
    int64_t wgt_passes =
        has(t->wgt_slots, t->weights_outer ? k : q * k) ? 1 : p;
    double pixels = (double)(w->batch * w->out_height * w->out_width);
    double compute = pixels * (double)(n->outputs * (n->depth * n->taps + 2));
    double inp =
        (double)(inp_passes * w->batch * n->elements * n->depth * VTA_LANES);
    double wgt =
        (double)(wgt_passes * n->outputs * n->depth * n->taps) * BLOCK_BYTES;
    double out = pixels * (double)(n->outputs * VTA_LANES);
    double port = (inp + wgt + out) / c->bytes_per_cycle;

    return price(most(compute + uop_cycles(c, n, t), port), port) *
           (double)w->groups;
}

/* Slots by the tiles that they hold, and when the tile before was last used. */
typedef struct held {
    int64_t key[2];
    double free_at[2];
    int last;
} held;

/* Queues of load, compute and store, tile by tile. */
typedef struct follower {
    const vta_window *w;
    const vta_config *c;
    const counts *n;
    const vta_tile *t;
    bool doubled;
    double loader, computer, storer, port;
    held inp, wgt, acc;
    int64_t inp_seen, wgt_seen; /* of resident tiles */
} follower;

static double
transfer(const follower *f, double bytes, double requests)
{
    return most(bytes / f->c->bytes_per_cycle,
                requests * (double)f->c->setup / (double)f->c->outstanding);
}

/* Loads a tile unless a slot has it; returns the slot. */
static int
fetch(follower *f, held *h, int64_t slots, int64_t key, int64_t *seen,
      double bytes, double requests)
{
    int k;

    if (slots > 2) { /* resident: each once */
        if (key >= *seen) {
            *seen = key + 1;
            f->loader += transfer(f, bytes, requests);
            f->port += bytes;
        }
        return 0;
    }
    for (k = 0; k < slots; k++)
        if (h->key[k] == key)
            return k;
    k = slots == 2 ? 1 - h->last : 0;
    h->last = k;
    h->key[k] = key;
    f->loader = most(f->loader, h->free_at[k]) + transfer(f, bytes, requests);
    f->port += bytes;
    return k;
}

static void
follow(follower *f, int64_t row, int64_t column, int64_t result,
       int64_t pixel_tile, int64_t result_tile)
{
    const vta_window *w = f->w;
    const vta_tile *t = f->t;
    int64_t rows = least(t->rows, w->out_height - row);
    int64_t columns = least(t->columns, w->out_width - column);
    int64_t results = least(t->results, f->n->outputs - result), k = 0;
    double size = (double)(rows * columns * results);
    double pixels = (double)(vta_read_elements(w, 0, row, rows) *
                             vta_read_elements(w, 1, column, columns));
    int slot = t->acc_slots == 2 ? 1 - f->acc.last : 0;

    f->acc.last = slot;
    if (!f->doubled) /* one unit at a time */
        f->loader = f->computer = most(f->computer, f->storer);
    f->computer = most(f->computer, f->acc.free_at[slot]) + size;
    for (int64_t at = 0; at < f->n->depth; at += t->channels, k++) {
        double depth = (double)least(t->channels, f->n->depth - at);
        int a, b;

        if (!f->doubled)
            f->loader = f->computer;
        b = fetch(f, &f->wgt, t->wgt_slots, result_tile * f->n->channels + k,
                  &f->wgt_seen,
                  (double)results * depth * (double)f->n->taps * BLOCK_BYTES,
                  1);
        a = fetch(f, &f->inp, t->inp_slots, pixel_tile * f->n->channels + k,
                  &f->inp_seen, pixels * depth * VTA_LANES,
                  (double)vta_span(w, 0, rows));

        f->computer = most(f->computer, f->loader + (double)f->c->setup) +
                      size * depth * (double)f->n->taps;
        f->inp.free_at[a] = f->wgt.free_at[b] = f->computer;
    }
    f->computer += size;
    f->storer = most(f->storer, f->computer) +
                transfer(f, size * VTA_LANES,
                         columns < w->out_width ? (double)rows : 1);
    f->port += size * VTA_LANES;
    f->acc.free_at[slot] = f->storer + (double)f->c->setup;
}

static double
follow_all(const vta_window *w, const vta_config *c, const counts *n,
           bool doubled, const vta_tile *t)
{
    follower f = {.w = w,
                  .c = c,
                  .n = n,
                  .t = t,
                  .doubled = doubled,
                  .inp.key = {-1, -1},
                  .wgt.key = {-1, -1}};
    int64_t outer = t->weights_outer ? n->results : n->pixels;
    int64_t inner = t->weights_outer ? n->pixels : n->results;
    int64_t across = ceil_div(w->out_width, t->columns);
    int64_t down = ceil_div(w->out_height, t->rows);

    f.computer = uop_cycles(c, n, t);
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++) {
            int64_t p = t->weights_outer ? j : i, q = t->weights_outer ? i : j;

            follow(&f, p / across % down * t->rows, p % across * t->columns,
                   q * t->results, p, q);
        }
    f.port /= c->bytes_per_cycle;
    return price(most(f.storer + (double)c->setup, f.port), f.port) *
           (double)w->groups;
}

static void
consider(const vta_window *w, const vta_config *c, const counts *n,
         bool doubled, vta_tile t, vta_tile *best)
{
    for (int way = 0; way < 8; way++) {
        t.weights_outer = way & 1;
        if (!place(w, c, n, doubled, way & 2, way & 4, &t))
            continue;
        t.price = bound(w, c, n, &t);
        if (best->rows && t.price >= best->price)
            continue;
        t.price = n->pixels * n->results * n->channels > MOST_STEPS
                      ? 2 * t.price
                      : follow_all(w, c, n, doubled, &t);
        if (best->rows == 0 || t.price < best->price)
            *best = t;
    }
}

bool
vta_tile_conv(const vta_window *w, const vta_config *c, bool doubled,
              vta_tile *out)
{
    counts n = {.depth = w->blocks / w->groups,
                .outputs = w->out_blocks / w->groups,
                .taps = w->kernel[0] * w->kernel[1]};

    memset(out, 0, sizeof *out);
    for (int64_t r = w->out_height; r; r = next_size(w->out_height, r)) {
        int64_t rows = all_elements(w, 0, r);

        for (int64_t v = w->out_width; v; v = next_size(w->out_width, v)) {
            n.elements = rows * all_elements(w, 1, v);
            for (int64_t o = n.outputs; o; o = next_size(n.outputs, o))
                for (int64_t k = n.depth; k; k = next_size(n.depth, k)) {
                    vta_tile t = {
                        .rows = r, .columns = v, .results = o, .channels = k};

                    if (measure(w, c, &t, &n))
                        consider(w, c, &n, doubled, t, out);
                }
        }
    }
    return out->rows > 0;
}
