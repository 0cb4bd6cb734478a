/* Products and convolutions of numbers of 16 bits: see narrow.h. */

#include "codegen/cpu/kernels/direct/narrow.h"

#include <string.h>

#include "codegen/cpu/kernels/direct/dots.h"
#include "codegen/cpu/kernels/direct/shape.h"

/* Form of the sums. */

static cpu_direct
in_pairs(cpu_direct d)
{
    d.form.numbers = CPU_PAIRS;
    d.form.odd = d.channels % 2 == 1;
    d.channels = (d.channels + 1) / 2;
    d.widens = false;
    return d;
}

/*
 * Sums of 16-bit weights as they are; input is converted to float in scratch
 * only if it is dense and has one group.
 */
static cpu_direct
as_it_is(cpu_direct d)
{
    int64_t size = glow_cg_bytes(d.type);

    d.form.numbers = CPU_NARROW;
    d.widens = d.widens && d.groups == 1 && d.pixel == d.channels * size;
    if (d.widens)
        d.pixel = d.channels * (int64_t)sizeof(float);
    return d;
}

cpu_direct
glow_cpu_with_numbers(const cpu_target *t, cpu_direct d)
{
    if (d.form.numbers != CPU_FLOATS)
        return d;
    if (!glow_cg_is_narrow(d.type->elem)) {
        d.widens = false;
        return glow_cpu_with_dots(t, d);
    }
    if (d.type->elem == GLOW_BFLOAT16 && t->pairs &&
        (d.groups == 1 || d.channels % 2 == 0))
        return in_pairs(d);
    return as_it_is(d);
}

int64_t
glow_cpu_depth_size(const cpu_direct *d)
{
    int64_t count = d->form.dots                   ? d->form.dots
                    : d->form.numbers == CPU_PAIRS ? 2
                                                   : 1;

    return glow_cg_bytes(d->type) * count;
}

int64_t
glow_cpu_weight_size(const cpu_direct *d)
{
    return d->form.numbers == CPU_NARROW ? 2 : 4;
}

/* Weights. */

void *
glow_cpu_pack_narrow(const cpu_direct *d, const cpu_filter *src, int64_t at,
                     int64_t second, int64_t first, int64_t end, void *start)
{
    const uint16_t *from = (const uint16_t *)src->from->data + at;
    uint16_t *to = start;

    for (int64_t o = first; o < end; o++) {
        bool is_there = o < d->outputs;

        *to++ = is_there ? from[o * src->output] : 0;
        if (d->form.numbers == CPU_PAIRS)
            *to++ = is_there && second ? from[o * src->output + second] : 0;
    }
    return to;
}

/* Code. */

cg_value
glow_cpu_load_pair(cg *g, cg_value at, bool half)
{
    cg_value v = LLVMBuildLoad2(g->builder, half ? g->i16 : g->i32, at, "");

    LLVMSetAlignment(v, 2);
    if (half)
        v = LLVMBuildZExt(g->builder, v, g->i32, "");
    return cg_bitcast(g, v, g->f32);
}

/* Input as float. */

/* Lines of input that a block of `lines` lines reads, at most. */
static int64_t
lines_read(const cpu_direct *d, int64_t lines)
{
    int64_t read =
        (lines - 1) * d->stride_h + (d->kernel_h - 1) * d->dilation_h + 1;

    return read < d->in_h ? read : d->in_h;
}

int64_t
glow_cpu_direct_room(const cpu_target *t, const cpu_direct *from)
{
    cpu_direct d = glow_cpu_flattened(t, *from);
    cpu_shape s = glow_cpu_direct_shape(t, &d);

    if (!d.widens)
        return glow_cpu_parts_bytes(&d, &s);
    return glow_cpu_room(lines_read(&d, glow_cpu_lines_of(t, &d, &s)),
                         d.in_w * d.pixel);
}

/* An image that is converted to float, line by line. */
typedef struct widening {
    cpu_job *j;
    const cpu_direct *d;
    cg_value image, zero; /* line 0 of the input, and of the result */
} widening;

/* Converts lines `low` to `high`, `pixels` pixels of each. */
static void
widen(const widening *m, cg_value low, cg_value high, int64_t pixels)
{
    const cpu_direct *d = m->d;
    cg *g = m->j->g;
    int64_t line = d->in_w * d->channels * glow_cg_bytes(d->type);
    cg_loop lines;

    glow_cg_loop_guarded(g, &lines, low, high, 1, NULL, 0);

    cg_value from = glow_cg_at(g, m->image, cg_mulc(g, lines.i, line));
    cg_value to =
        glow_cg_at(g, m->zero, cg_mulc(g, lines.i, d->in_w * d->pixel));

    glow_cpu_convert(m->j, (cg_tensor){from, d->type},
                     (cg_tensor){to, &glow_cpu_float}, pixels * d->channels);
    glow_cg_loop_end(g, &lines, NULL);
}

cg_value
glow_cpu_widen_lines(cpu_job *j, const cpu_direct *d, cg_value batch,
                     cg_value first, cg_value end)
{
    cg *g = j->g;
    int64_t image =
        glow_cpu_pixels_in(d) * d->channels * glow_cg_bytes(d->type);
    int64_t reach = (d->kernel_h - 1) * d->dilation_h + 1 - d->pad_h;
    int64_t whole = d->flat.last_in ? d->in_h - 1 : d->in_h;
    cg_value low = cg_addc(g, cg_mulc(g, first, d->stride_h), -d->pad_h);
    cg_value high =
        cg_addc(g, cg_mulc(g, cg_addc(g, end, -1), d->stride_h), reach);
    widening m = {.j = j, .d = d};

    low = glow_cg_imax(g, low, cg_i64(g, 0));
    high = glow_cg_imin(g, high, cg_i64(g, d->in_h));
    m.image = glow_cg_at(g, j->in[0].at, cg_mulc(g, batch, image));
    m.zero = glow_cg_at(g, j->scratch, cg_mulc(g, low, -d->in_w * d->pixel));
    widen(&m, low, glow_cg_imin(g, high, cg_i64(g, whole)), d->in_w);
    if (d->flat.last_in)
        widen(&m, glow_cg_imax(g, low, cg_i64(g, whole)), high,
              d->flat.last_in);
    return m.zero;
}

int64_t
glow_cpu_wide_room(const glow_node *n, int64_t room)
{
    int64_t sum;

    if (!glow_cpu_turns_narrow(n))
        return room;
    return glow_add_overflow(glow_cpu_widened_bytes(n, 0), room, &sum)
               ? INT64_MAX
               : sum;
}

cpu_job
glow_cpu_with_wide_input(const cpu_job *j)
{
    cpu_job to = *j;
    cg *g = j->g;

    if (!glow_cpu_turns_narrow(j->n))
        return to;
    to.in = GLOW_NEW_ARRAY(g->arena, cg_tensor, j->n->n_in);
    memcpy(to.in, j->in, (size_t)j->n->n_in * sizeof *to.in);
    to.in[0] = glow_cpu_widen_operand(&to, 0, j->scratch);
    to.scratch = glow_cg_atc(g, j->scratch, glow_cpu_widened_bytes(j->n, 0));
    return to;
}
