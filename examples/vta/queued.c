/*
 * Words of a program whose instructions have queues: of units, copies and tokens that
 * glow's passes made.
 *
 * A signal is a push by the word before it in its queue, a wait a pop by the next one;
 * where that word has such a token already, a word without work takes it.  Copies are
 * boxes, of which one word moves two dimensions.
 */

#include <string.h>

#include "program.h"

enum { RANK = GLOW_MAX_RANK };

typedef struct encoder {
    vta_stream *stream;
    bool pops[VTA_UNITS][2]; /* of the next word; [1]: from the next unit */
    int64_t last[VTA_UNITS]; /* the last word, or -1 */
    const glow_node *end;    /* past the segment */
} encoder;

bool
vta_is_queued(const glow_node *n)
{
    return n->queue != NULL;
}

/* The unit of a queue of the target file; -1: there is none of that name. */
static int
unit_named(const char *queue)
{
    static const char *const names[] = {"load", "compute", "store"};

    for (int k = 0; queue && k < VTA_UNITS; k++)
        if (strcmp(queue, names[k]) == 0)
            return k;
    return -1;
}

static bool
is_in(const glow_value *v, const char *space)
{
    return strcmp(glow_extent_of(v).base->place->region->space, space) == 0;
}

/* Words without work. */
static vta_instruction
nothing(int unit)
{
    return unit == VTA_LOADER
               ? (vta_instruction){.opcode = VTA_LOAD, .memory = VTA_INP}
           : unit == VTA_STORER
               ? (vta_instruction){.opcode = VTA_STORE, .memory = VTA_OUT}
               : (vta_instruction){.opcode = VTA_ALU};
}

/* Word `first` pops the tokens that its unit waits for. */
static void
pop(encoder *e, int unit, int64_t first)
{
    for (int next = 0; next < 2; next++) {
        if (e->pops[unit][next])
            vta_stream_token(e->stream, first, true, next);
        e->pops[unit][next] = false;
    }
    e->last[unit] = vta_stream_count(e->stream) - 1;
}

static void
idle(encoder *e, int unit)
{
    int64_t first = vta_stream_count(e->stream);

    vta_stream_add(e->stream, nothing(unit));
    pop(e, unit, first);
}

static bool
waits(const encoder *e, int unit)
{
    return e->pops[unit][0] || e->pops[unit][1];
}

/* Boxes. */

typedef struct side {
    int64_t count, stride, before, after; /* in elements of the scratchpad */
} side;

typedef struct box {
    side d[RANK]; /* the innermost first */
    int rank;
    int64_t scratchpad, dram;
    vta_memory memory;
    vta_opcode opcode;
} box;

/* Elements of the tensor in one of the scratchpad. */
static int64_t
elements_in(vta_memory m)
{
    return m == VTA_WGT ? VTA_MACS : VTA_LANES;
}

static vta_memory
memory_of(const glow_value *scratchpad, const glow_value *dram)
{
    return is_in(scratchpad, "inp")         ? VTA_INP
           : is_in(scratchpad, "wgt")       ? VTA_WGT
           : dram->type->elem == GLOW_INT8Q ? VTA_ACC8
                                            : VTA_ACC;
}

static glow_dims
strides_of(const glow_type *t)
{
    return t->strides.rank ? t->strides : glow_dims_strides(t->shape);
}

/* The element of its scratchpad at which a value begins. */
static int64_t
element_of(const glow_value *v, vta_memory m)
{
    int64_t bytes = m == VTA_ACC8 || m == VTA_OUT ? vta_element_bytes(VTA_ACC)
                                                  : vta_element_bytes(m);

    return vta_offset(v) / bytes;
}

/*
 * The sides of a box in DRAM: the last axes that make one element go, and neighbours
 * that are one run are merged.  False: an element is not in one piece.
 */
static bool
measure(box *b, const glow_type *dram, const glow_ints *pads)
{
    int64_t unit = elements_in(b->memory), run = 1;
    glow_dims strides = strides_of(dram), shape = dram->shape;
    int rank = shape.rank;

    for (int i = rank - 1; i >= 0; i--) {
        side s = {shape.at[i], strides.at[i], pads ? pads->at[i] : 0,
                  pads ? pads->at[rank + i] : 0};

        if (run < unit) {
            int64_t whole = s.count * run <= unit ? s.count : unit / run;

            if (s.stride != run || s.count % whole ||
                (s.count == whole && (s.before || s.after)) ||
                s.before % whole || s.after % whole)
                return false;
            run *= whole;
            if (run < unit || s.count == whole)
                continue;
            s = (side){s.count / whole, 1, s.before / whole, s.after / whole};
        } else if (s.stride % unit) {
            return false;
        } else {
            s.stride /= unit;
        }
        if (s.count == 1 && !s.before && !s.after)
            continue;
        if (b->rank &&
            s.stride == b->d[b->rank - 1].count * b->d[b->rank - 1].stride &&
            !s.before && !s.after && !b->d[b->rank - 1].before &&
            !b->d[b->rank - 1].after)
            b->d[b->rank - 1].count *= s.count;
        else
            b->d[b->rank++] = s;
    }
    if (run != unit)
        return false;
    if (!b->rank || b->d[0].stride != 1) { /* columns of one element */
        memmove(b->d + 1, b->d, (size_t)b->rank * sizeof *b->d);
        b->d[0] = (side){1, 1, 0, 0};
        b->rank++;
    }
    while (b->rank < 2)
        b->d[b->rank++] = (side){1, b->d[0].count, 0, 0};
    return true;
}

/* Elements of the scratchpad that the sides below `rank` take. */
static int64_t
size_below(const box *b, int rank)
{
    int64_t n = 1;

    for (int i = 0; i < rank; i++)
        n *= b->d[i].before + b->d[i].count + b->d[i].after;
    return n;
}

static void
clear(encoder *e, const box *b, int64_t at, int64_t count)
{
    if (count)
        vta_stream_add(e->stream, (vta_instruction){.opcode = VTA_LOAD,
                                                    .memory = b->memory,
                                                    .scratchpad = at,
                                                    .columns = count,
                                                    .above = 1});
}

static void
move(encoder *e, const box *b, int rank, int64_t at, int64_t dram)
{
    const side *s = &b->d[rank - 1];
    int64_t below = size_below(b, rank - 1);

    if (rank == 2 && b->d[0].before <= VTA_MAX_PAD &&
        b->d[0].after <= VTA_MAX_PAD && s->before <= VTA_MAX_PAD &&
        s->after <= VTA_MAX_PAD) {
        vta_stream_add(e->stream,
                       (vta_instruction){.opcode = b->opcode,
                                         .memory = b->memory,
                                         .scratchpad = at,
                                         .dram = dram,
                                         .rows = s->count,
                                         .columns = b->d[0].count,
                                         .stride = s->count > 1 ? s->stride : 0,
                                         .above = (int)s->before,
                                         .below = (int)s->after,
                                         .left = (int)b->d[0].before,
                                         .right = (int)b->d[0].after});
        return;
    }
    if (rank == 1) {
        clear(e, b, at, s->before);
        vta_stream_add(e->stream,
                       (vta_instruction){.opcode = b->opcode,
                                         .memory = b->memory,
                                         .scratchpad = at + s->before,
                                         .dram = dram,
                                         .rows = 1,
                                         .columns = s->count});
        clear(e, b, at + s->before + s->count, s->after);
        return;
    }
    clear(e, b, at, s->before * below);
    for (int64_t i = 0; i < s->count; i++)
        move(e, b, rank - 1, at + (s->before + i) * below,
             dram + i * s->stride);
    clear(e, b, at + (s->before + s->count) * below, s->after * below);
}

static bool
encode_move(encoder *e, const glow_node *n)
{
    bool stores = glow_is(n, &vta_op_store);
    const glow_value *dram = stores ? n->out[0] : n->in[0];
    const glow_value *scratchpad = stores ? n->in[0] : n->out[0];
    const glow_pad *p = glow_attrs_if(n, &glow_op_pad);
    box b = {.opcode = stores ? VTA_STORE : VTA_LOAD};

    if ((!stores && !p && !glow_is(n, &glow_op_copy)) ||
        (p && (p->mode != GLOW_PAD_CONSTANT || p->value != 0)))
        return false;
    b.memory = stores ? VTA_OUT : memory_of(scratchpad, dram);
    if (!is_in(dram, "dram") || is_in(scratchpad, "dram") ||
        scratchpad->type->strides.rank ||
        !measure(&b, dram->type, p ? &p->pads : NULL))
        return false;
    b.scratchpad = element_of(scratchpad, b.memory);
    b.dram = vta_offset(dram) / vta_element_bytes(b.memory);
    move(e, &b, b.rank, b.scratchpad, b.dram);
    return true;
}

/* Units. */

/* A tensor [N, H, W, C] in a scratchpad, in its elements. */
typedef struct pixels {
    int64_t first, batch, row, pixel;
    int64_t n, height, width, blocks;
} pixels;

static pixels
pixels_of(const glow_value *v, vta_memory m)
{
    glow_dims s = v->type->shape, t = strides_of(v->type);

    return (pixels){element_of(v, m),
                    t.at[0] / VTA_LANES,
                    t.at[1] / VTA_LANES,
                    t.at[2] / VTA_LANES,
                    s.at[0],
                    s.at[1],
                    s.at[2],
                    s.at[3] / VTA_LANES};
}

static void
loop(encoder *e, vta_instruction x, const vta_uop *uops, int64_t n)
{
    x.first = vta_stream_uops(e->stream, uops, n);
    x.end = x.first + n;
    vta_stream_add(e->stream, x);
}

static void
alu(encoder *e, const pixels *y, int64_t batch, int64_t src, vta_function f,
    bool has_immediate, int immediate)
{
    vta_uop uops[VTA_MAX_UOPS];

    for (int64_t o = 0; o < y->blocks; o++)
        uops[o] = (vta_uop){y->first + batch * y->batch + o, src + o, 0};
    loop(e,
         (vta_instruction){.opcode = VTA_ALU,
                           .outer = y->height,
                           .inner = y->width,
                           .dst_outer = y->height > 1 ? y->row : 0,
                           .dst_inner = y->width > 1 ? y->pixel : 0,
                           .function = f,
                           .has_immediate = has_immediate,
                           .immediate = immediate},
         uops, y->blocks);
}

static bool
encode_sum(encoder *e, const glow_node *n)
{
    const vta_sum *s = n->attrs;
    pixels x = pixels_of(n->in[0], VTA_INP), y = pixels_of(n->out[0], VTA_ACC);
    glow_dims w = strides_of(n->in[1]->type);
    int64_t taps = s->kernels.at[0] * s->kernels.at[1], count = 0;
    int64_t first = element_of(n->in[1], VTA_WGT);
    const glow_value *bias = n->in[2], *sum = n->in[3];
    vta_uop uops[VTA_MAX_UOPS];

    if (y.blocks > VTA_MAX_UOPS || y.blocks * x.blocks * taps > VTA_MAX_UOPS ||
        !glow_dims_are(s->pads, 0) || (sum && sum != n->out[0]))
        return false;
    for (int64_t b = 0; b < y.n; b++) {
        count = 0;
        for (int64_t o = 0; o < y.blocks; o++)
            for (int64_t c = 0; c < x.blocks; c++)
                for (int64_t t = 0; t < taps; t++) {
                    int64_t row = t / s->kernels.at[1] * s->dilation.at[0];
                    int64_t pixel = t % s->kernels.at[1] * s->dilation.at[1];

                    uops[count++] = (vta_uop){
                        y.first + b * y.batch + o,
                        x.first + b * x.batch + row * x.row + pixel * x.pixel +
                            c,
                        first + (o * w.at[0] + c * w.at[1]) / VTA_MACS + t};
                }
        if (!sum)
            alu(e, &y, b, bias ? element_of(bias, VTA_ACC) : 0, VTA_MOVE, !bias,
                0);
        loop(e,
             (vta_instruction){
                 .opcode = VTA_GEMM,
                 .outer = y.height,
                 .inner = y.width,
                 .dst_outer = y.height > 1 ? y.row : 0,
                 .dst_inner = y.width > 1 ? y.pixel : 0,
                 .src_outer = y.height > 1 ? s->strides.at[0] * x.row : 0,
                 .src_inner = y.width > 1 ? s->strides.at[1] * x.pixel : 0},
             uops, count);
    }
    return true;
}

/* Adds the blocks of `x`, at the strides, times one block of weights. */
static void
add_blocks(encoder *e, const pixels *y, int64_t batch, const pixels *x,
           glow_dims strides, int64_t weights)
{
    vta_uop uops[VTA_MAX_UOPS];

    for (int64_t o = 0; o < y->blocks; o++)
        uops[o] =
            (vta_uop){y->first + batch * y->batch + o, x->first + o, weights};
    loop(e,
         (vta_instruction){
             .opcode = VTA_GEMM,
             .outer = y->height,
             .inner = y->width,
             .dst_outer = y->height > 1 ? y->row : 0,
             .dst_inner = y->width > 1 ? y->pixel : 0,
             .src_outer = y->height > 1 ? strides.at[0] * x->row : 0,
             .src_inner = y->width > 1 ? strides.at[1] * x->pixel : 0},
         uops, y->blocks);
}

static bool
encode_scale(encoder *e, const glow_node *n)
{
    pixels x = pixels_of(n->in[0], VTA_INP), y = pixels_of(n->out[0], VTA_ACC);

    if (y.blocks > VTA_MAX_UOPS || (n->in[2] && n->in[2] != n->out[0]))
        return false;
    for (int64_t b = 0; b < y.n; b++, x.first += x.batch) {
        if (!n->in[2])
            alu(e, &y, b, 0, VTA_MOVE, true, 0);
        add_blocks(e, &y, b, &x, GLOW_DIMS_OF(1, 1),
                   element_of(n->in[1], VTA_WGT));
    }
    return true;
}

/* The first element of each window, then max(y - x, 0) + x of each other one. */
static bool
encode_max(encoder *e, const glow_node *n)
{
    const vta_pool *p = n->attrs;
    pixels x = pixels_of(n->in[0], VTA_INP), y = pixels_of(n->out[0], VTA_ACC);
    int64_t weights = element_of(n->in[1], VTA_WGT);

    if (y.blocks > VTA_MAX_UOPS || !glow_dims_are(p->pads, 0))
        return false;
    for (int64_t b = 0; b < y.n; b++)
        for (int64_t t = 0; t < p->kernels.at[0] * p->kernels.at[1]; t++) {
            pixels tap = x;

            tap.first += b * x.batch + t / p->kernels.at[1] * x.row +
                         t % p->kernels.at[1] * x.pixel;
            if (t > 0)
                add_blocks(e, &y, b, &tap, p->strides, weights + 1);
            alu(e, &y, b, 0, t > 0 ? VTA_MAX : VTA_MOVE, true, 0);
            add_blocks(e, &y, b, &tap, p->strides, weights);
        }
    return true;
}

static bool
encode_requantize(encoder *e, const glow_node *n)
{
    const vta_requantize *r = n->attrs;
    pixels y = pixels_of(n->out[0], VTA_ACC);
    int64_t rounds = n->in[1] ? element_of(n->in[1], VTA_ACC) : 0;

    if (n->in[0] != n->out[0] || y.blocks > VTA_MAX_UOPS)
        return false;
    for (int64_t b = 0; b < y.n; b++) {
        alu(e, &y, b, rounds, VTA_ROUND, !n->in[1],
            n->in[1] ? 0 : vta_round_immediate(r->shift, r->least));
        if (r->most < 127)
            alu(e, &y, b, 0, VTA_MIN, true, r->most);
    }
    return true;
}

/* Tokens. */

/* The instruction on the other side of a token, in this segment; or NULL. */
static const glow_node *
partner(const encoder *e, const glow_node *n)
{
    const glow_value *token =
        glow_is(n, &glow_op_signal) ? n->out[0] : n->in[0];
    bool before = false, found = false;
    const glow_node *other = NULL;

    GLOW_FOR_EACH_USE(u, token)
        if (u->user != n && vta_is_queued(u->user))
            other = u->user;
    for (const glow_node *k = n; k && k != e->end && !found; k = k->next)
        found = k == other;
    for (const glow_node *k = n->prev; k && !found && !before; k = k->prev) {
        found = k == other;
        before = !vta_is_queued(k) && !(k->op->traits & GLOW_STRUCTURAL);
    }
    return found ? other : NULL;
}

static void
encode_signal(encoder *e, const glow_node *n)
{
    const glow_node *wait = partner(e, n);
    int unit = unit_named(n->queue);

    if (!wait)
        return;
    if (e->last[unit] < 0 || waits(e, unit) ||
        vta_stream_pushes(e->stream, e->last[unit],
                          unit_named(wait->queue) > unit))
        idle(e, unit);
    vta_stream_token(e->stream, e->last[unit], false,
                     unit_named(wait->queue) > unit);
}

static void
encode_wait(encoder *e, const glow_node *n)
{
    const glow_node *signal = partner(e, n);
    int unit = unit_named(n->queue);
    bool next;

    if (!signal)
        return;
    next = unit_named(signal->queue) > unit;
    if (e->pops[unit][next])
        idle(e, unit);
    e->pops[unit][next] = true;
}

static bool
has_no_words(const glow_node *n)
{
    return glow_error_at(n->func->module->ctx, n->span, "E0823",
                         "%s %%%s: the accelerator has no words for it",
                         n->op->name, n->name);
}

static bool
encode(encoder *e, const glow_node *n)
{
    int64_t first = vta_stream_count(e->stream);
    int unit = unit_named(n->queue);
    bool ok = glow_is(n, &vta_op_sum)          ? encode_sum(e, n)
              : glow_is(n, &vta_op_scale)      ? encode_scale(e, n)
              : glow_is(n, &vta_op_max)        ? encode_max(e, n)
              : glow_is(n, &vta_op_requantize) ? encode_requantize(e, n)
                                               : encode_move(e, n);

    if (!ok)
        return has_no_words(n);
    if (vta_stream_count(e->stream) == first)
        return true;
    pop(e, unit, first);
    return true;
}

/* True if its queue is a unit, and its token is between neighbours. */
static bool
may_run(const encoder *e, const glow_node *n)
{
    int unit = unit_named(n->queue), other;
    const glow_node *p;

    if (unit < 0)
        return false;
    if (!glow_is(n, &glow_op_signal) && !glow_is(n, &glow_op_wait))
        return true;
    p = partner(e, n);
    other = p ? unit_named(p->queue) : VTA_COMPUTER;
    return other >= 0 && other - unit <= 1 && unit - other <= 1;
}

bool
vta_encode_queues(vta_stream *s, const glow_node *first, const glow_node *end)
{
    encoder e = {.stream = s, .last = {-1, -1, -1}, .end = end};

    for (const glow_node *n = first; n && n != end; n = n->next) {
        if (n->queue && !may_run(&e, n))
            return has_no_words(n);
        if (glow_is(n, &glow_op_signal))
            encode_signal(&e, n);
        else if (glow_is(n, &glow_op_wait))
            encode_wait(&e, n);
        else if (n->queue && !encode(&e, n))
            return false;
    }
    for (int k = 0; k < VTA_UNITS; k++)
        if (waits(&e, k))
            idle(&e, k);
    return true;
}
