/*
 * Instructions of a convolution: for each tile load weights and inputs, move the bias
 * into the accumulators, multiply, round, store.
 */

#include "vta.h"

/* Slots of a scratchpad with the keys of their tiles; the least recently used is replaced. */
typedef struct slot_set {
    int64_t first, size, count;
    int64_t *key, *used;
} slot_set;

typedef struct emitter {
    vta_stream *stream;
    vta_window w;
    vta_tile tile;
    const vta_places *places;
    slot_set inp, wgt, acc, bias;
    int64_t clock;
    int shift, least, most;
} emitter;

/* One tile: first indices and sizes, edges taken into account. */
typedef struct part {
    int64_t batch, row, column, result, group;
    int64_t rows, columns, results;
    int64_t channel, channels; /* of the slice at hand, within the group */
} part;

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static slot_set
new_slots(glow_arena *a, int64_t first, int64_t size, int64_t count)
{
    slot_set s = {first, size, count, GLOW_NEW_ARRAY(a, int64_t, count),
                  GLOW_NEW_ARRAY(a, int64_t, count)};

    for (int64_t i = 0; i < count; i++)
        s.key[i] = -1;
    return s;
}

/* The first element of the slot for `key`; *present: it holds it already. */
static int64_t
take(emitter *e, slot_set *s, int64_t key, bool *present)
{
    int64_t at = 0;

    for (int64_t i = 0; i < s->count; i++) {
        if (s->key[i] == key) {
            at = i;
            break;
        }
        if (s->used[i] < s->used[at])
            at = i;
    }
    *present = s->key[at] == key;
    s->key[at] = key;
    s->used[at] = ++e->clock;
    return s->first + at * s->size;
}

/* Elements of the input from one to the next that is loaded, along axis `i`. */
static int64_t
load_step(const emitter *e, int i)
{
    return e->w.kernel[i] == 1 ? e->w.stride[i] : 1;
}

/* Loaded elements along axis `i` from one result to the next. */
static int64_t
result_step(const emitter *e, int i)
{
    return e->w.kernel[i] == 1 ? 1 : e->w.stride[i];
}

/* Zeros in `count` elements. */
static void
clear(emitter *e, int64_t at, int64_t count)
{
    if (count)
        vta_stream_add(e->stream, (vta_instruction){.opcode = VTA_LOAD,
                                                    .memory = VTA_INP,
                                                    .scratchpad = at,
                                                    .columns = count,
                                                    .above = 1});
}

/* `count` pixels of `p->channels` blocks, `step` pixels apart in DRAM. */
static void
load_pixels(emitter *e, const part *p, int64_t to, int64_t pixel, int64_t count,
            int64_t step, int64_t left, int64_t right)
{
    int64_t depth = e->w.blocks / e->w.groups;
    bool pads = left <= VTA_MAX_PAD && right <= VTA_MAX_PAD;
    bool dense = step == 1 && p->channels == e->w.blocks && !left && !right;
    vta_instruction x = {
        .opcode = VTA_LOAD,
        .memory = VTA_INP,
        .scratchpad = to + (pads ? 0 : left * p->channels),
        .dram = e->places->in[0] / VTA_LANES + pixel * e->w.blocks +
                p->group * depth + p->channel,
        .rows = dense ? 1 : count,
        .columns = dense ? count * p->channels : p->channels,
        .stride = dense ? count * p->channels : step * e->w.blocks,
        .above = pads ? (int)left : 0,
        .below = pads ? (int)right : 0,
    };

    if (count && !pads) {
        clear(e, to, left * p->channels);
        clear(e, to + (left + count) * p->channels, right * p->channels);
    }
    if (count)
        vta_stream_add(e->stream, x);
    else
        clear(e, to, (left + right) * p->channels);
}

static void
load_input(emitter *e, const part *p, int64_t to, int64_t pitch)
{
    const vta_window *w = &e->w;
    int64_t rows = vta_span(&e->w, 0, p->rows),
            columns = vta_span(&e->w, 1, p->columns);
    int64_t up = load_step(e, 0), across = load_step(e, 1);
    int64_t top = p->row * w->stride[0] - w->before[0];
    int64_t first = p->column * w->stride[1] - w->before[1];
    int64_t left = 0, right = 0;

    while (left < columns && first + left * across < 0)
        left++;
    while (right < columns - left &&
           first + (columns - 1 - right) * across >= w->width)
        right++;
    for (int64_t r = 0; r < rows;) {
        int64_t n = 1, y = top + r * up;
        bool inside = y >= 0 && y < w->height;
        int64_t at = to + r * pitch * p->channels;
        int64_t pixel =
            (p->batch * w->height + y) * w->width + first + left * across;

        /* Rows that are one range of DRAM, or all padding, go together. */
        while (r + n < rows && pitch == columns &&
               (inside ? !left && !right && up == 1 && across == 1 &&
                             columns == w->width && y + n < w->height
                       : (y + n * up >= 0 && y + n * up < w->height) == inside))
            n++;
        if (!inside)
            clear(e, at, ((n - 1) * pitch + columns) * p->channels);
        else
            load_pixels(e, p, at, pixel, n * (columns - left - right), across,
                        left, right);
        r += n;
    }
}

static void
load_weights(emitter *e, const part *p, int64_t to)
{
    int64_t taps = e->w.kernel[0] * e->w.kernel[1];
    int64_t depth = e->w.blocks / e->w.groups;

    vta_stream_add(
        e->stream,
        (vta_instruction){.opcode = VTA_LOAD,
                          .memory = VTA_WGT,
                          .scratchpad = to,
                          .dram = e->places->in[1] / VTA_MACS +
                                  (p->result * depth + p->channel) * taps,
                          .rows = p->results,
                          .columns = p->channels * taps,
                          .stride = depth * taps});
}

static void
multiply(emitter *e, const part *p, int64_t inp, int64_t wgt, int64_t acc,
         int64_t pitch)
{
    const vta_window *w = &e->w;
    int64_t taps = w->kernel[0] * w->kernel[1], n = 0;
    vta_uop uops[VTA_MAX_UOPS];
    vta_instruction x = {
        .opcode = VTA_GEMM,
        .outer = p->rows,
        .inner = p->columns,
        .dst_outer = p->columns * p->results,
        .dst_inner = p->results,
        .src_outer = result_step(e, 0) * pitch * p->channels,
        .src_inner = result_step(e, 1) * p->channels,
    };

    for (int64_t o = 0; o < p->results; o++)
        for (int64_t c = 0; c < p->channels; c++)
            for (int64_t t = 0; t < taps; t++)
                uops[n++] =
                    (vta_uop){acc + o,
                              inp +
                                  (t / w->kernel[1] * w->dilation[0] * pitch +
                                   t % w->kernel[1] * w->dilation[1]) *
                                      p->channels +
                                  c,
                              wgt + (o * p->channels + c) * taps + t};
    x.first = vta_stream_uops(e->stream, uops, n);
    x.end = x.first + n;
    vta_stream_add(e->stream, x);
}

/* One operation on all accumulators of a tile. */
static void
alu(emitter *e, const part *p, int64_t acc, int64_t bias, vta_function f,
    bool has_immediate, int immediate)
{
    vta_uop uops[VTA_MAX_UOPS];
    vta_instruction x = {
        .opcode = VTA_ALU,
        .outer = p->rows,
        .inner = p->columns,
        .dst_outer = p->columns * p->results,
        .dst_inner = p->results,
        .function = f,
        .has_immediate = has_immediate,
        .immediate = immediate,
    };

    for (int64_t o = 0; o < p->results; o++)
        uops[o] = (vta_uop){acc + o, bias + o, 0};
    x.first = vta_stream_uops(e->stream, uops, p->results);
    x.end = x.first + p->results;
    vta_stream_add(e->stream, x);
}

static void
store(emitter *e, const part *p, int64_t acc)
{
    const vta_window *w = &e->w;
    bool whole = p->columns == w->out_width;
    int64_t rows = whole ? 1 : p->rows;
    int64_t pixels = whole ? p->rows * p->columns : p->columns;
    bool dense = p->results == w->out_blocks;

    for (int64_t r = 0; r < rows; r++)
        vta_stream_add(
            e->stream,
            (vta_instruction){
                .opcode = VTA_STORE,
                .memory = VTA_OUT,
                .scratchpad = acc + r * pixels * p->results,
                .dram =
                    e->places->out / VTA_LANES +
                    ((p->batch * w->out_height + p->row + r) * w->out_width +
                     p->column) *
                        w->out_blocks +
                    p->result,
                .rows = dense ? 1 : pixels,
                .columns = dense ? pixels * p->results : p->results,
                .stride = dense ? pixels * p->results : w->out_blocks});
}

static int64_t
bias_of(emitter *e, const part *p)
{
    bool present;
    int64_t at = take(e, &e->bias, p->result, &present);

    for (int64_t k = 0; !present && k < e->w.vectors; k++)
        vta_stream_add(
            e->stream,
            (vta_instruction){.opcode = VTA_LOAD,
                              .memory = VTA_ACC,
                              .scratchpad = at + k * e->tile.results,
                              .dram = e->places->in[2 + k] / 64 + p->result,
                              .rows = 1,
                              .columns = p->results,
                              .stride = p->results});
    return at;
}

/* All slices of channels of one tile of results. */
static void
tile(emitter *e, part p)
{
    int64_t depth = e->w.blocks / e->w.groups,
            pitch = vta_span(&e->w, 1, e->tile.columns);
    int64_t width = e->w.out_width, bias = 0, acc = 0;
    bool present;

    p.rows = least(e->tile.rows, e->w.out_height - p.row);
    p.columns = least(e->tile.columns, width - p.column);
    for (p.channel = 0; p.channel < depth; p.channel += e->tile.channels) {
        int64_t slice = p.group * depth + p.channel;
        int64_t pixel = (p.batch * e->w.out_height + p.row) * width + p.column;
        int64_t inp, wgt;

        p.channels = least(e->tile.channels, depth - p.channel);
        wgt = take(e, &e->wgt, p.result * e->w.blocks + slice, &present);
        if (!present)
            load_weights(e, &p, wgt);
        inp = take(e, &e->inp, pixel * e->w.blocks + slice, &present);
        if (!present)
            load_input(e, &p, inp, pitch);
        if (p.channel == 0) {
            bias = bias_of(e, &p);
            acc =
                take(e, &e->acc, pixel * e->w.out_blocks + p.result, &present);
            alu(e, &p, acc, bias, VTA_MOVE, false, 0);
        }
        multiply(e, &p, inp, wgt, acc, pitch);
    }
    if (e->w.vectors > 1) {
        alu(e, &p, acc, bias + e->tile.results, VTA_ROUND, false, 0);
        if (e->least > -128)
            alu(e, &p, acc, bias, VTA_MAX, true, e->least);
    } else {
        if (e->shift < 0)
            alu(e, &p, acc, bias, VTA_SHIFT, true, e->shift);
        alu(e, &p, acc, bias, VTA_ROUND, true,
            vta_round_immediate(e->shift > 0 ? e->shift : 0, e->least));
    }
    if (e->most < 127)
        alu(e, &p, acc, bias, VTA_MIN, true, e->most);
    store(e, &p, acc);
}

static void
all_pixels(emitter *e, part p, void (*inner)(emitter *e, part p))
{
    for (p.batch = 0; p.batch < e->w.batch; p.batch++)
        for (p.row = 0; p.row < e->w.out_height; p.row += e->tile.rows)
            for (p.column = 0; p.column < e->w.out_width;
                 p.column += e->tile.columns)
                inner(e, p);
}

static void
all_results(emitter *e, part p, void (*inner)(emitter *e, part p))
{
    int64_t outputs = e->w.out_blocks / e->w.groups;

    for (int64_t o = 0; o < outputs; o += e->tile.results) {
        p.result = p.group * outputs + o;
        p.results = least(e->tile.results, outputs - o);
        inner(e, p);
    }
}

static void
pixels_inside(emitter *e, part p)
{
    all_pixels(e, p, tile);
}

static void
results_inside(emitter *e, part p)
{
    all_results(e, p, tile);
}

bool
vta_emit_conv(vta_stream *s, const glow_node *n, const vta_places *places,
              const vta_config *c, bool doubled)
{
    const vta_conv *v = n->attrs;
    glow_arena *a = glow_arena_new();
    emitter e = {.stream = s,
                 .w = vta_window_of(n),
                 .places = places,
                 .least = v->least,
                 .most = v->most};
    bool ok = (n->in[3] || vta_conv_shift(n->in[0]->type, n->in[1]->type,
                                          n->out[0]->type, &e.shift)) &&
              vta_tile_conv(&e.w, c, doubled, &e.tile);
    vta_tile *t = &e.tile;

    if (ok) {
        int64_t bias = t->bias_slots * t->results * e.w.vectors;

        e.inp = new_slots(a, 0, t->inp_size, t->inp_slots);
        e.wgt = new_slots(a, 0, t->wgt_size, t->wgt_slots);
        e.bias = new_slots(a, 0, t->results * e.w.vectors, t->bias_slots);
        e.acc = new_slots(a, bias, t->acc_size, t->acc_slots);
    }
    for (part p = {0}; ok && p.group < e.w.groups; p.group++)
        if (t->weights_outer)
            all_results(&e, p, pixels_inside);
        else
            all_pixels(&e, p, results_inside);
    glow_arena_free(a);
    return ok;
}
