/*
 * view-slice: replace a slice by a view of its source.
 *
 *     %s = alloc float<2 x 4>
 *     slice @out %s, @in %x {Start: [1, 0]}      %s.view = tensorview @in %x
 *     relu @out %y, @in %s                   =>      {Offsets: [1, 0]} : ...
 *     %s.free = dealloc @out %s                  relu @out %y, @in %s.view
 *
 * Right if only the slice writes its result, and no instruction writes the
 * source after the slice.  A slice that is not contiguous gives a view with
 * strides: the backend must take every reader of it (glow_backend.takes).  The
 * live range of the source may become longer if the peak of the program does not
 * rise.  The peak is known once buffers are shared; before that (`early`) no
 * live range of a source may become longer.
 *
 * Split is lowered to slices, so each half of a tensor is read in place.  Slices
 * of constants are left to fold-constants; slices with negative steps stay.
 *
 * Glow's OptimizeExtracts requires a contiguous slice, and users that accept
 * views.
 */

#include "irgen/sharing/program.h"

typedef struct view_options {
    bool early;
} view_options;

static const view_options defaults = {0};

/* Sets *out to the elements of slice `s` as a part of the source; false if that
   is not expressible or empty. */
static bool
find_part(const glow_accesses *x, const glow_step *s, glow_part *out)
{
    const glow_slice *slice = s->node->attrs;
    glow_part whole;

    if (!glow_part_of(x, s->in[0], &whole))
        return GLOW_REFUSE(x, s, "it is copied: the source is not dense");
    if (!glow_steps_forward(slice->steps))
        return GLOW_REFUSE(x, s, "it is copied: it goes backwards");
    *out = glow_part_box(&whole, slice->start, slice->steps,
                         s->node->out[0]->type->shape);
    return glow_type_count(&out->type) > 0;
}

static bool
is_quiet(const glow_accesses *x, const glow_step *s,
         const glow_shared_buffer *from)
{
    const glow_shared_buffer *to = &x->buffers[x->values[s->out[0]].buffer];

    if (!glow_is_whole(x, s->out[0]) ||
        !glow_is_loose(x, x->values[s->out[0]].buffer))
        return GLOW_REFUSE(x, s,
                           "it is copied: its result is part of another "
                           "buffer, or is kept");
    if (to->life.first != s->rank || to->life.last_write != s->rank)
        return GLOW_REFUSE(x, s,
                           "it is copied: its result is written elsewhere");
    if (from->life.last_write != GLOW_NONE && from->life.last_write > s->rank)
        return GLOW_REFUSE(x, s, "it is copied: the source changes later");
    return true;
}

/* Joins the live ranges if the peak does not rise; if `early`, true if that of the
   source `from` does not become longer. */
static bool
is_affordable(glow_accesses *x, const glow_step *s, uint32_t to, uint32_t from,
              bool early)
{
    if (early)
        return x->buffers[to].life.last <= x->buffers[from].life.last ||
               GLOW_REFUSE(x, s, "it is copied: the source would live longer");
    return glow_join_lives(x, to, from) ||
           GLOW_REFUSE(x, s, "it is copied: the source would live too long");
}

static void
view(glow_accesses *x, uint32_t step, bool early)
{
    const glow_step *s = &x->steps[step];
    uint32_t from = x->values[s->in[0]].buffer;
    uint32_t to = x->values[s->out[0]].buffer;
    const glow_storage *storage = x->buffers[from].storage;
    const char *why;
    glow_part at;

    if ((storage && storage->is_constant) || !find_part(x, s, &at) ||
        !is_quiet(x, s, &x->buffers[from]))
        return;
    if (!glow_can_use(x, to, &at, s, &why)) {
        (void)GLOW_REFUSE(x, s, "it is copied: %s", why);
        return;
    }
    if (!is_affordable(x, s, to, from, early) || !glow_may_change(x))
        return;
    glow_begin_at(x, to, s); /* so that the view is behind its operand */
    glow_drop_step(x, step);
    glow_move_to_part(x, to, &at);
    glow_count_change(x, "viewed", 1);
}

void
glow_view_slices(glow_accesses *x, bool early)
{
    for (size_t i = 0; i < x->n_order; i++) {
        const glow_step *s = &x->steps[x->order[i]];

        if (s->op == &glow_op_slice && s->pred == GLOW_NONE && !s->gone)
            view(x, x->order[i], early);
    }
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const view_options *options = glow_run_options(pass);

    if (!glow_func_may_have(f, &glow_op_slice))
        return GLOW_UNCHANGED;
    glow_accesses *x = glow_accesses_of_program(pass, f);

    glow_view_slices(x, options->early);
    return x->changed ? GLOW_CHANGED : GLOW_UNCHANGED;
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
