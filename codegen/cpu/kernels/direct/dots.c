/* Convolutions and products of few outputs as dot products: see dots.h. */

#include "codegen/cpu/kernels/direct/dots.h"

#include "codegen/cpu/kernels/direct/shape.h"
#include "codegen/cpu/kernels/move/shuffle.h"

#define MOST_DOTS 4 /* outputs, as many as are added up at a time */
#define ADDING 4 /* multiplications that adding up the lanes of a sum takes */
#define MARGIN 4 /* a fourth of them is to be saved at least */

/* Multiplications of vectors for a pixel of the result. */
static int64_t
work_of(const cpu_direct *d)
{
    return (d->kernel_h * d->kernel_w * d->channels + ADDING) * d->outputs;
}

double
glow_cpu_dot_cycles(const cpu_target *t, const cpu_direct *d)
{
    return (double)(d->batch * glow_cpu_pixels_out(d) * work_of(d)) /
           t->multiplies;
}

cpu_direct
glow_cpu_with_dots(const cpu_target *t, cpu_direct d)
{
    int lanes = t->vector_bytes / 4;
    int64_t steps = d.kernel_h * d.kernel_w * d.channels, work;
    cpu_direct whole = d;

    if (!d.may_dot || d.type->elem != GLOW_FLOAT || d.groups != 1 ||
        d.outputs < 1 || d.outputs > MOST_DOTS || lanes < MOST_DOTS ||
        glow_cpu_knob(t, CPU_KNOB_VECTORS, 0))
        return d;
    d.form.numbers = CPU_DOTS;
    d.form.dots = lanes;
    d.form.tail = (int)(d.channels % lanes);
    d.form.odd = d.form.tail > 0;
    d.channels = cg_ceil_div(d.channels, lanes);
    work = work_of(&d);
    return work + work / MARGIN <= steps ? d : whole;
}

void *
glow_cpu_pack_dots(const cpu_direct *d, const cpu_filter *src, int64_t at,
                   int64_t live, int64_t first, int64_t end, void *start)
{
    float *to = start;

    (void)first;
    (void)end;
    for (int64_t o = 0; o < d->outputs; o++)
        for (int64_t i = 0; i < d->form.dots; i++)
            *to++ = i < live
                        ? (float)glow_get_double(
                              src->from, at + o * src->output + i * src->depth)
                        : 0.0f;
    return to;
}

void
glow_cpu_finish_dots(cpu_job *j, const cpu_direct *d, cpu_place at, int rows,
                     cg_value const *sum)
{
    cg *g = j->g;
    int outputs = (int)d->outputs, together = MOST_DOTS / outputs;
    int64_t apart = d->apart_w ? d->apart_w : 1;
    cg_value bias =
        d->bias < 0 ? NULL : glow_cg_load(g, j->in[d->bias], at.col, outputs);

    for (int row = 0; row < rows; row += together) {
        int now = rows - row < together ? rows - row : together;
        cg_value v[MOST_DOTS], all;

        for (int i = 0; i < MOST_DOTS; i++)
            v[i] = i < now * outputs ? sum[row * outputs + i]
                                     : LLVMGetPoison(LLVMTypeOf(sum[0]));
        all = glow_cpu_add_lanes(g, v);
        for (int i = 0; i < now; i++) {
            cg_value some = glow_cpu_some_lanes(g, all, i * outputs, outputs);

            at.row_plus = (row + i) * apart;
            glow_cpu_finish(j, at, bias ? cg_fadd(g, some, bias) : some);
        }
    }
}
