/*
 * Transposed convolution, as a convolution for each phase of the stride.  A filter
 * that is not constant is packed anew each time.
 *
 * A result at h takes the taps k for which h + start - k * dilation is a
 * multiple of the stride.  So the results at h = first + q * stride, a phase,
 * share their taps, which read the input at q + (first + start - k * dilation)
 * / stride: a convolution over q with stride 1.  Each axis has as many phases
 * as its stride, and each pair of phases is computed by register tiles, without
 * any product with the zeros between elements of the input.
 */

#include "codegen/cpu/kernels/direct/transposed.h"

#include "codegen/cpu/kernels/direct/narrow.h"

/* A phase of one axis. */
typedef struct phase {
    int64_t first, out; /* the first result, and how many */
    int64_t kernel, dilation, start;
    int64_t tap, tap_step; /* the tap furthest to the left, and to the next */
} phase;

static int64_t
common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

static phase
phase_of(const cpu_window_axis *a, int64_t first)
{
    int64_t common = common_divisor(a->stride, a->dilation);
    phase p = {
        .first = first,
        .out = (a->out - first + a->stride - 1) / a->stride,
        .dilation = a->dilation / common,
        .tap_step = -a->stride / common,
    };

    for (int64_t k = 0; k < a->kernel; k++) {
        int64_t at = first + a->start - k * a->dilation;

        if (at % a->stride != 0)
            continue;
        p.kernel++;
        p.tap = k;
        p.start = -(at / a->stride);
    }
    return p;
}

typedef struct transposed {
    cpu_window w;
    cpu_direct d; /* common fields of all pairs of phases */
} transposed;

/* False if there are three spatial axes that matter. */
static bool
transposed_of(const glow_node *n, transposed *out)
{
    const glow_convtranspose *a = n->attrs;
    glow_dims y = n->out[0]->type->shape;
    cpu_window w = glow_cpu_window(n->in[0]->type->shape, y, a->kernels,
                                   a->strides, a->pads, a->dilation);
    const cpu_window_axis *z = &w.axis[0], *v = &w.axis[1], *h = &w.axis[2];
    const glow_type *type = n->in[0]->type;
    bool constant = glow_cpu_is_whole_constant(n->in[1]);

    *out = (transposed){
        .w = w,
        .d =
            {
                .batch = w.batch * z->in,
                .groups = a->group,
                .in_h = v->in,
                .in_w = h->in,
                .stride_h = 1,
                .stride_w = 1,
                .channels = w.channels / a->group,
                .outputs = y.at[y.rank - 1] / a->group,
                .pixel = w.channels * glow_cg_bytes(type),
                .type = type,
                .packed = true,
                .may_dot = constant,
                .turns = constant ? CPU_CONSTANT : CPU_TURNS_OUTPUTS,
                .bias = n->n_in > 2 && n->in[2] ? 2 : -1,
                .image = v->out * h->out,
                .apart_h = v->stride * h->out,
                .apart_w = h->stride,
            },
    };
    return z->kernel == 1 && z->stride == 1 && z->in == z->out;
}

static cpu_direct
pair_of(const transposed *t, const phase *v, const phase *h)
{
    cpu_direct d = t->d;

    d.out_h = v->out;
    d.out_w = h->out;
    d.kernel_h = v->kernel;
    d.kernel_w = h->kernel;
    d.dilation_h = v->dilation;
    d.dilation_w = h->dilation;
    d.pad_h = v->start;
    d.pad_w = h->start;
    d.first = v->first * t->w.axis[2].out + h->first;
    return d;
}

/* Filter [channels, kernel_h, kernel_w, results of a group]. */
static cpu_filter
filter_of(const cpu_window *w, const cpu_direct *d, const phase *v,
          const phase *h, const glow_tensor *from)
{
    int64_t tap = d->outputs, row = w->axis[2].kernel * tap;
    int64_t depth = w->axis[1].kernel * row;

    return (cpu_filter){
        .from = from,
        .first = v->tap * row + h->tap * tap,
        .group = d->channels * depth,
        .output = 1,
        .row = v->tap_step * row,
        .depth = depth,
        .tap = h->tap_step * tap,
    };
}

/* Calls `visit` for each pair of phases that has results; its filter has no tensor. */
typedef bool (*visit_fn)(const cpu_direct *d, cpu_filter *filter, void *user);

static bool
for_each_pair(const transposed *t, visit_fn visit, void *user)
{
    const cpu_window_axis *y = &t->w.axis[1], *x = &t->w.axis[2];

    for (int64_t i = 0; i < y->stride && i < y->out; i++)
        for (int64_t j = 0; j < x->stride && j < x->out; j++) {
            phase v = phase_of(y, i), h = phase_of(x, j);
            cpu_direct d = pair_of(t, &v, &h);
            cpu_filter filter = filter_of(&t->w, &d, &v, &h, NULL);

            if (!visit(&d, &filter, user))
                return false;
        }
    return true;
}

typedef struct totals {
    const cpu_target *target;
    cpu_phase_fn *of;
    int64_t sum, most;
} totals;

static bool
add(const cpu_direct *d, cpu_filter *filter, void *user)
{
    totals *s = user;
    int64_t one = s->of(s->target, d);

    (void)filter;
    s->most = one > s->most ? one : s->most;
    s->sum = one > INT64_MAX - s->sum ? INT64_MAX : s->sum + one;
    return true;
}

int64_t
glow_cpu_phases_sum(const cpu_target *t, const glow_node *n, cpu_phase_fn *of)
{
    totals s = {.target = t, .of = of};
    transposed x;

    return transposed_of(n, &x) && for_each_pair(&x, add, &s) ? s.sum
                                                              : INT64_MAX;
}

int64_t
glow_cpu_phases_most(const cpu_target *t, const glow_node *n, cpu_phase_fn *of)
{
    totals s = {.target = t, .of = of};
    transposed x;

    return transposed_of(n, &x) && for_each_pair(&x, add, &s) ? s.most
                                                              : INT64_MAX;
}

typedef struct packing {
    const cpu_target *target;
    const cpu_phases *by;
    const glow_tensor *from;
    char *to;
} packing;

static bool
pack_pair(const cpu_direct *d, cpu_filter *filter, void *user)
{
    packing *p = user;

    filter->from = p->from;
    p->by->pack(p->target, d, filter, p->to);
    p->to += p->by->size(p->target, d);
    return true;
}

void
glow_cpu_pack_phases(const cpu_target *t, const glow_node *n,
                     const cpu_phases *by, const glow_tensor *from, void *to)
{
    transposed x;
    packing p = {.target = t, .by = by, .from = from, .to = to};

    transposed_of(n, &x);
    for_each_pair(&x, pack_pair, &p);
}

typedef struct maker {
    cpu_job *j;
    const cpu_phases *by;
    int64_t packed; /* bytes of weights of the pairs before */
    int64_t units;  /* and their units */
} maker;

/* Emits the assigned units of a pair of phases that has `units` units. */
static void
make_units(maker *m, const cpu_direct *pair, int64_t units)
{
    cpu_job j = *m->j;
    cg *g = j.g;
    cg_if any;

    if (!j.split) {
        m->by->emit(&j, pair);
        return;
    }
    j.begin = glow_cg_imax(g, cg_addc(g, j.begin, -m->units), cg_i64(g, 0));
    j.end = glow_cg_imin(g, cg_addc(g, j.end, -m->units), cg_i64(g, units));
    glow_cg_if(g, &any, cg_icmp(g, LLVMIntSLT, j.begin, j.end));
    m->by->emit(&j, pair);
    glow_cg_end_if(g, &any);
}

static bool
make_pair(const cpu_direct *d, cpu_filter *filter, void *user)
{
    maker *m = user;
    const cpu_target *t = m->j->g->target;
    cpu_direct pair = *d;
    int64_t units = m->by->units(t, d);

    pair.w_first = m->packed;
    pair.turned = d->turns ? filter : NULL;
    if (!d->turns)
        m->packed += m->by->size(t, d);
    make_units(m, &pair, units);
    m->units += units;
    return true;
}

void
glow_cpu_emit_phases(cpu_job *j, const cpu_phases *by)
{
    transposed x;
    maker m = {.j = j, .by = by};

    transposed_of(j->n, &x);
    for_each_pair(&x, make_pair, &m);
}

/*
 * By register tiles of vectors; in float by filters that are no constants, which is
 * what glow_cpu_with_wide_input makes of the input.
 */

static cpu_direct
widened(const cpu_direct *d)
{
    cpu_direct wide = *d;

    if (!d->turns)
        return wide;
    wide.pixel *= (int64_t)sizeof(float) / glow_cg_bytes(d->type);
    wide.type = &glow_cpu_float;
    return wide;
}

static int64_t
units_of(const cpu_target *t, const cpu_direct *d)
{
    cpu_direct wide = widened(d);

    return glow_cpu_direct_units(t, &wide);
}

static int64_t
code_of(const cpu_target *t, const cpu_direct *d)
{
    cpu_direct wide = widened(d);

    return glow_cpu_direct_code(t, &wide);
}

static int64_t
turned_room_of(const cpu_target *t, const cpu_direct *d)
{
    cpu_direct wide = widened(d);

    return glow_cpu_turned_room(t, &wide);
}

static void
emit_direct(cpu_job *j, const cpu_direct *d)
{
    cpu_direct wide = widened(d);

    glow_cpu_emit_direct(j, &wide);
}

static void
pack_direct(const cpu_target *t, const cpu_direct *d, const cpu_filter *filter,
            void *to)
{
    glow_cpu_pack_direct(t, d, filter, to);
}

static const cpu_phases by_vectors = {
    .size = glow_cpu_direct_size,
    .units = units_of,
    .pack = pack_direct,
    .emit = emit_direct,
};

static bool
takes_transposed(const cpu_target *t, const glow_node *n)
{
    return t && glow_cpu_all_float(n) &&
           (glow_cpu_is_whole_constant(n->in[1]) || glow_cpu_may_turn(n)) &&
           glow_cpu_phases_sum(t, n, code_of) <= CPU_MOST_CODE;
}

static int64_t
transposed_size(const cpu_target *t, const glow_node *n)
{
    return glow_cpu_phases_sum(t, n, glow_cpu_direct_size);
}

static int64_t
transposed_room(const cpu_target *t, const glow_node *n)
{
    return glow_cpu_is_whole_constant(n->in[1])
               ? 0
               : glow_cpu_wide_room(n,
                                    glow_cpu_phases_most(t, n, turned_room_of));
}

static int64_t
transposed_units(const cpu_target *t, const glow_node *n)
{
    return glow_cpu_phases_sum(t, n, units_of);
}

static void
pack_transposed(const cpu_target *t, const glow_node *n,
                const glow_tensor *from, void *to)
{
    glow_cpu_pack_phases(t, n, &by_vectors, from, to);
}

static void
emit_transposed(cpu_job *j)
{
    cpu_job wide = glow_cpu_with_wide_input(j);

    glow_cpu_emit_phases(&wide, &by_vectors);
}

const cpu_kernel glow_cpu_convtranspose_direct = {
    .name = "convtranspose_direct",
    .op = &glow_op_convtranspose,
    .takes = takes_transposed,
    .emit = emit_transposed,
    .stacks = true,
    .packs = 1,
    .packed_size = transposed_size,
    .pack = pack_transposed,
    .scratch_size = transposed_room,
    .units = transposed_units,
};
