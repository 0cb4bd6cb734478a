/*
 * Instructions of a max-pool: load a tile of the input into accumulators, its padding
 * as -128, take the maximum of all taps, store.
 */

#include "vta.h"

typedef struct emitter {
    vta_stream *stream;
    vta_window w;
    const vta_places *places;
    int64_t rows, columns, blocks, slots; /* of a tile of results */
} emitter;

typedef struct part {
    int64_t batch, row, column, block;
    int64_t rows, columns, blocks;
} part;

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t
span(const vta_window *w, int i, int64_t out)
{
    return (out - 1) * w->stride[i] + w->kernel[i];
}

static int64_t
input_size(const emitter *e)
{
    return span(&e->w, 0, e->rows) * span(&e->w, 1, e->columns) * e->blocks;
}

static bool
fits(const emitter *e, const vta_config *c)
{
    const vta_window *w = &e->w;
    int64_t pitch = span(w, 1, e->columns) * e->blocks;

    return input_size(e) + e->slots * e->rows * e->columns * e->blocks <=
               c->elements[VTA_ACC] &&
           e->blocks * w->kernel[0] * w->kernel[1] <=
               c->elements[VTA_UOP] / 2 &&
           e->columns * e->blocks <= VTA_MAX_STRIDE &&
           w->stride[0] * pitch <= VTA_MAX_STRIDE &&
           w->stride[1] * e->blocks <= VTA_MAX_STRIDE;
}

/* Loads the rows of a tile one by one; rows of padding have -128 in all elements. */
static void
load_input(const emitter *e, const part *p, int64_t to)
{
    const vta_window *w = &e->w;
    int64_t columns = span(w, 1, p->columns);
    int64_t top = p->row * w->stride[0] - w->before[0];
    int64_t first = p->column * w->stride[1] - w->before[1];
    int64_t left = first < 0 ? least(-first, columns) : 0;
    int64_t right = first + columns > w->width
                        ? least(first + columns - w->width, columns)
                        : 0;

    for (int64_t r = 0; r < span(w, 0, p->rows); r++) {
        int64_t y = top + r, at = to + r * columns * p->blocks;
        bool inside = y >= 0 && y < w->height && left + right < columns;
        vta_instruction pad = {.opcode = VTA_LOAD,
                               .memory = VTA_ACC8,
                               .scratchpad = at,
                               .columns = columns * p->blocks,
                               .above = 1,
                               .pad_least = true};
        vta_instruction x = {
            .opcode = VTA_LOAD,
            .memory = VTA_ACC8,
            .scratchpad = at + left * p->blocks,
            .dram = e->places->in[0] / VTA_LANES +
                    ((p->batch * w->height + y) * w->width + first + left) *
                        w->blocks +
                    p->block,
            .rows = columns - left - right,
            .columns = p->blocks,
            .stride = w->blocks,
        };

        if (!inside || left || right)
            vta_stream_add(e->stream, pad);
        if (inside)
            vta_stream_add(e->stream, x);
    }
}

/* The first tap is moved, the maximum of all others taken. */
static void
reduce(const emitter *e, const part *p, int64_t from, int64_t to)
{
    const vta_window *w = &e->w;
    int64_t columns = span(w, 1, p->columns);
    int64_t taps = w->kernel[0] * w->kernel[1], n = 0;
    vta_uop uops[VTA_MAX_UOPS];
    vta_instruction x = {
        .opcode = VTA_ALU,
        .outer = p->rows,
        .inner = p->columns,
        .dst_outer = p->columns * p->blocks,
        .dst_inner = p->blocks,
        .src_outer = w->stride[0] * columns * p->blocks,
        .src_inner = w->stride[1] * p->blocks,
        .function = VTA_MOVE,
    };

    for (int64_t t = 0; t < taps; t++)
        for (int64_t k = 0; k < p->blocks; k++)
            uops[n++] =
                (vta_uop){to + k,
                          from +
                              (t / w->kernel[1] * columns + t % w->kernel[1]) *
                                  p->blocks +
                              k,
                          0};
    x.first = vta_stream_uops(e->stream, uops, n);
    x.end = x.first + p->blocks;
    vta_stream_add(e->stream, x);
    if (taps == 1)
        return;
    x.function = VTA_MAX;
    x.first += p->blocks;
    x.end = x.first + n - p->blocks;
    vta_stream_add(e->stream, x);
}

static void
store(const emitter *e, const part *p, int64_t from)
{
    const vta_window *w = &e->w;

    for (int64_t r = 0; r < p->rows; r++)
        vta_stream_add(
            e->stream,
            (vta_instruction){.opcode = VTA_STORE,
                              .memory = VTA_OUT,
                              .scratchpad = from + r * p->columns * p->blocks,
                              .dram = e->places->out / VTA_LANES +
                                      ((p->batch * w->out_height + p->row + r) *
                                           w->out_width +
                                       p->column) *
                                          w->blocks +
                                      p->block,
                              .rows = p->columns,
                              .columns = p->blocks,
                              .stride = w->blocks});
}

static void
tiles(emitter *e)
{
    const vta_window *w = &e->w;
    int64_t slot = 0, size = e->rows * e->columns * e->blocks;
    int64_t out = input_size(e);
    part p;

    for (p.batch = 0; p.batch < w->batch; p.batch++)
        for (p.row = 0; p.row < w->out_height; p.row += e->rows)
            for (p.column = 0; p.column < w->out_width; p.column += e->columns)
                for (p.block = 0; p.block < w->blocks; p.block += e->blocks) {
                    int64_t to = out + slot * size;

                    p.rows = least(e->rows, w->out_height - p.row);
                    p.columns = least(e->columns, w->out_width - p.column);
                    p.blocks = least(e->blocks, w->blocks - p.block);
                    load_input(e, &p, 0);
                    reduce(e, &p, 0, to);
                    store(e, &p, to);
                    slot = (slot + 1) % e->slots;
                }
}

/* The largest tile that fits: fewer blocks first, then fewer rows, then columns. */
bool
vta_emit_pool(vta_stream *s, const glow_node *n, const vta_places *p,
              const vta_config *c, bool doubled)
{
    emitter e = {.stream = s, .w = vta_window_of(n), .places = p};

    e.slots = doubled ? 2 : 1;
    for (e.columns = e.w.out_width; e.columns; e.columns = e.columns / 2)
        for (e.rows = e.w.out_height; e.rows; e.rows = e.rows / 2)
            for (e.blocks = e.w.blocks; e.blocks; e.blocks = e.blocks / 2)
                if (fits(&e, c)) {
                    tiles(&e);
                    return true;
                }
    return false;
}
