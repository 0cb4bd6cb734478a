/*
 * view-slice: read what is cut out where it lies.
 *
 *     %s = alloc float<2 x 4>
 *     slice @out %s, @in %x {Start: [1, 0]}      %s.view = tensorview @in %x
 *     relu @out %y, @in %s                   =>      {Offsets: [1, 0]} : ...
 *     %s.free = dealloc @out %s                  relu @out %y, @in %s.view
 *
 * Right if the slice alone writes its result, and nothing writes the source as
 * long as that is read.  A cut that is not one stretch of memory gives a view
 * with strides: the backend must take all that reads it (glow_backend.takes).
 * The source may live longer, but not if the program then needs more memory at
 * its worst moment.  That is known once buffers are shared; before (`early`) no
 * source may live longer at all.
 *
 * Splits are slices, so each half of a tensor is read in place.  Slices of
 * constants are left to fold-constants, those with steps below 0 are no views.
 *
 * Glow's OptimizeExtracts asks for one stretch of memory and users that do not
 * mind views.
 */

#include "glow/layout.h"
#include "passes/program/lives.h"
#include "passes/program/parts.h"

typedef struct view_options {
    bool early;
} view_options;

static const view_options defaults = {0};

typedef struct viewer {
    glow_pass_run *run;
    glow_func *func;
    buffer_info *infos;
    lives *lives; /* NULL until it is asked */
    bool early;
    glow_result result;
} viewer;

static bool
refuse(viewer *v, const glow_node *n, const char *why)
{
    glow_run_remark(v->run, n, false, "it is copied: %s", why);
    return false;
}

/* Where what `n` cuts out lies; false if it is no such part. */
static bool
find_part(viewer *v, const glow_node *n, part *out)
{
    const glow_slice *s = n->attrs;
    part whole;

    if (!part_of(n->in[0], &whole))
        return refuse(v, n, "the source is not dense");
    if (!glow_steps_forward(s->steps))
        return refuse(v, n, "it goes backwards");
    *out = part_box(&whole, s->start, s->steps, n->out[0]->type->shape);
    return glow_type_count(&out->type) > 0;
}

static bool
is_quiet(viewer *v, const glow_node *n, const glow_value *base)
{
    const buffer_info *to = &v->infos[n->out[0]->def->mark];
    const buffer_info *from = &v->infos[base->def->mark];

    if (!is_loose(n->out[0]))
        return refuse(v, n, "its result is part of another buffer, or is kept");
    if (to->first != n->mark || to->last_write != n->mark)
        return refuse(v, n, "its result is written elsewhere");
    if (from->last_write != NO_ACCESS && from->last_write > n->mark)
        return refuse(v, n, "the source changes later");
    return true;
}

/* Exchanges the lives, if that costs no memory; early, if none gets longer. */
static bool
is_affordable(viewer *v, const glow_node *n, const glow_value *base)
{
    const buffer_info *to = &v->infos[n->out[0]->def->mark];
    const buffer_info *from = &v->infos[base->def->mark];

    if (v->early)
        return to->last <= from->last ||
               refuse(v, n, "the source would live longer");
    if (!v->lives)
        v->lives = lives_measure(glow_run_scratch(v->run), v->func, v->infos);
    return lives_join(v->lives, v->infos, n->out[0], base) ||
           refuse(v, n, "the source would live too long");
}

/* Frees the base not before what was cut out of it is. */
static void
keep_until(viewer *v, const glow_value *base, glow_node *end)
{
    glow_node *own = v->infos[base->def->mark].dealloc;

    if (!is_alloc(base) || own->mark >= end->mark)
        return;
    glow_node_move_after(own, end);
    own->mark = end->mark;
}

static void
view(viewer *v, glow_node *n)
{
    glow_value *base = glow_base_buffer(n->in[0]), *s = n->out[0];
    const char *why;
    part at;

    if (glow_is_constant(base) || !find_part(v, n, &at) ||
        !is_quiet(v, n, base))
        return;
    if (!can_use_part(v->run, s, &at, n, &why)) {
        refuse(v, n, why);
        return;
    }
    if (!is_affordable(v, n, base) || !glow_run_may_rewrite(v->run))
        return;

    keep_until(v, base, v->infos[s->def->mark].dealloc);
    glow_node_move_before(s->def, n); /* so that the view is behind the base */
    glow_node_erase(n);
    use_part(v->run, s, &at);
    glow_run_count(v->run, "viewed", 1);
    v->result = GLOW_CHANGED;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const view_options *options = glow_run_options(pass);
    viewer v = {.run = pass,
                .func = f,
                .early = options->early,
                .result = GLOW_UNCHANGED};
    glow_node **slices;
    int count = find_instrs(glow_run_scratch(pass), f, &glow_op_slice, &slices);

    if (count > 0)
        v.infos = buffers_measure(glow_run_scratch(pass), f);
    for (int i = 0; i < count; i++)
        view(&v, slices[i]);
    return v.result;
}

const glow_pass glow_pass_view_slice = {
    .name = "view-slice",
    .summary = "read what is cut out where it lies",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(view_options, early, GLOW_FLAG,
                                   "only where no source lives longer")},
    .defaults = &defaults,
    .run = run,
    .source = "Glow OptimizeExtracts",
};
