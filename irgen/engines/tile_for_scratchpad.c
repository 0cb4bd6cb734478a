/*
 * tile-for-scratchpad: do an instruction of a unit in pieces that fit its scratchpads.
 *
 *     acme.conv @out %s, @in %x, @in %w       =>  for each piece of %y:
 *     acme.clip @out %y, @in %s                     %s.0 = alloc ... {Space: "acc"}
 *                                                   acme.conv @out %s.0, @in %x.0,
 *                                                             @in %w.0
 *                                                   acme.clip @out %y.0, @in %s.0
 *
 * where %x.0, %w.0 and %y.0 are views.  The iteration space of the operator
 * (glow/tiling.h) says which elements a piece reads; at a border, where some of these
 * are padding, Pad makes them.  Sums of a long axis are cut too, if the operator adds
 * to an operand: the pieces of one result follow one another.
 *
 * Consumers that read the result alone, element for element, and are instructions of
 * units too, are done piece by piece behind it, so that the values between them are never
 * whole.  Sizes and the order of the loops: tile_cost.c.
 *
 * Program size: an instruction for each piece, because accelerators of this class
 * take a list of instructions.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/layout.h"
#include "glow/number.h"
#include "glow/ops.h"
#include "irgen/engines/loads.h"
#include "irgen/engines/tile.h"
#include "irgen/spaces.h"

typedef struct tile_options {
    int slots;
} tile_options;

typedef struct tiler {
    glow_pass_run *run;
    const glow_target *target;
    glow_arena *arena;
    glow_func *f;
    glow_numbering numbers;
    glow_node **heads; /* by number: a unit's instruction, until it is cut */
    const tile_options *options;
} tiler;

/* Chains. */

static bool
is_work(const glow_node *n)
{
    return !(n->op->traits & (GLOW_STRUCTURAL | GLOW_UNKNOWN)) && !n->pred &&
           !n->scratch && !n->queue;
}

/* The space that the unit has a result in; NULL: that of the host. */
static const glow_space *
scratchpad(const tiler *t, const glow_node *n, int i, bool writes)
{
    const glow_space *s =
        glow_target_space(t->target, glow_unit_needs(t->target, n, i, writes));

    return s && !s->is_host ? s : NULL;
}

static bool
begin_stage(const tiler *t, glow_node *n, tile_stage *g)
{
    *g = (tile_stage){.node = n, .chained = -1};
    g->unit = is_work(n) ? glow_target_unit(t->target, n->op) : NULL;
    if (!g->unit || !glow_tiling_of(n, &g->tiling))
        return false;
    g->space = scratchpad(t, n, 0, true);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] &&
            glow_base_buffer(n->in[i])->def == glow_base_buffer(n->out[0])->def)
            return false;
    return true;
}

/* The only reader of buffer `v`, which only `writer` writes; NULL: there is none. */
static glow_node *
only_reader(const glow_value *v, const glow_node *writer, int *operand)
{
    glow_node *reader = NULL;

    if (v->def->op != &glow_op_alloc)
        return NULL;
    GLOW_FOR_EACH_USE(u, v) {
        if (u->user->op == &glow_op_dealloc)
            continue;
        if (u->writes && u->user == writer && u->index >= 0)
            continue;
        if (u->writes || u->index < 0 || reader)
            return NULL;
        reader = u->user;
        *operand = u->index;
    }
    return reader;
}

/* True for a dimension whose iterations each have `step` elements of their own. */
static bool
is_same_dim(const glow_tile_dim *a, const glow_tile_dim *b)
{
    return a->axis == b->axis &&
           (a->axis < 0 || (a->step == b->step && a->window == b->window &&
                            a->step == a->window && !a->before && !b->before));
}

/* True if each piece of the consumer needs the same piece of `v`, and no sums. */
static bool
is_aligned(const tile_stage *from, const tile_stage *to)
{
    const glow_tiling *a = &from->tiling, *b = &to->tiling;
    const glow_type *v = from->node->out[0]->type;

    if (b->n_axes != b->n_result || b->n_result != a->n_result)
        return false;
    for (int k = 0; k < a->n_result; k++)
        if (a->extent[k] != b->extent[k])
            return false;
    for (int d = 0; d < v->shape.rank; d++)
        if (!is_same_dim(&a->out[d], &b->in[to->chained][d]))
            return false;
    return true;
}

/*
 * Gives an element-wise stage the axes of the stage before: each iteration has as many
 * elements as there.
 */
static void
follow_axes(const tile_stage *from, tile_stage *to)
{
    const glow_tiling *a = &from->tiling;
    glow_tiling *b = &to->tiling;
    double elements = (double)glow_type_count(to->node->out[0]->type);

    if (to->node->op->tile || !glow_dims_equal(from->node->out[0]->type->shape,
                                               to->node->out[0]->type->shape))
        return;
    *b = (glow_tiling){.n_axes = a->n_result,
                       .n_result = a->n_result,
                       .accumulator = -1,
                       .initial = -1};
    for (int k = 0; k < a->n_result; k++) {
        b->extent[k] = a->extent[k];
        elements /= (double)a->extent[k];
    }
    b->work = elements;
    memcpy(b->out, a->out, sizeof b->out);
    for (int i = 0; i < to->node->n_in; i++)
        memcpy(b->in[i], a->out, sizeof b->in[i]);
}

static bool
may_share(const glow_node *n, int operand)
{
    return n->in[operand]->type == n->out[0]->type &&
           glow_may_be_inplace(n, 0, operand);
}

static bool
writes_to(const glow_node *n, const glow_node *base)
{
    for (int i = 0; i < n->n_out; i++)
        if (glow_base_buffer(n->out[i])->def == base)
            return true;
    return false;
}

/*
 * True if the stages before may run where `last` does, piece by piece: neither `last` nor
 * an instruction between writes their operands, which a later piece may read again.
 */
static bool
may_delay(const tile_problem *p, const glow_node *last)
{
    for (int i = 0; i < p->n_stages; i++) {
        const glow_node *g = p->stages[i].node;

        for (const glow_node *n = g->next; n != last->next; n = n->next)
            for (int k = 0; k < g->n_in && glow_is_work(n); k++)
                if (g->in[k] && writes_to(n, glow_base_buffer(g->in[k])->def))
                    return false;
    }
    return true;
}

/* True if the result of the stage goes from a scratchpad to the memory of the host. */
static bool
stores_by_itself(const tiler *t, const tile_stage *g)
{
    for (int i = 0; i < g->node->n_in && !g->space; i++)
        if (g->node->in[i] && scratchpad(t, g->node, i, false))
            return true;
    return false;
}

static void
find_chain(const tiler *t, tile_problem *p)
{
    while (p->n_stages < TILE_MOST_STAGES) {
        tile_stage *last = &p->stages[p->n_stages - 1], next;
        int operand = -1;
        glow_node *n = only_reader(last->node->out[0], last->node, &operand);

        if (!n || glow_number_of(&t->numbers, n) == GLOW_UNNUMBERED ||
            stores_by_itself(t, last) || !begin_stage(t, n, &next))
            return; /* without a number, it is a piece */
        next.chained = operand;
        next.in_place = may_share(n, operand);
        for (int i = 0; i < n->n_in; i++) /* it is read as one operand */
            if (i != operand && n->in[i] &&
                glow_base_buffer(n->in[i]) == last->node->out[0])
                return;
        follow_axes(last, &next);
        if (!is_aligned(last, &next) || !may_delay(p, n))
            return;
        p->stages[p->n_stages++] = next;
    }
}

/* The problem. */

static void
add_operand(const tiler *t, tile_problem *p, const glow_value *v,
            const glow_tile_dim *dims, int stage, int index)
{
    const glow_node *n = p->stages[stage].node;
    const glow_space *home = glow_buffer_space(t->target, v);
    const glow_space *space =
        scratchpad(t, n, index < 0 ? 0 : index, index < 0);
    tile_operand *o = &p->operands[p->n_operands++];

    *o = (tile_operand){.type = v->type,
                        .dims = dims,
                        .space = space,
                        .stage = stage,
                        .index = index};
    if (index >= 0) {
        o->link = space ? glow_target_link(t->target, home, space) : NULL;
        return;
    }
    if (!space) /* a unit that stores by itself */
        space = scratchpad(
            t, n, p->stages[stage].chained < 0 ? 0 : p->stages[stage].chained,
            false);
    o->link = space ? glow_target_link(t->target, space, home) : NULL;
}

static void
set_problem(const tiler *t, tile_problem *p)
{
    const glow_tiling *head = &p->stages[0].tiling;
    int most = 1;

    p->n_axes = head->n_axes;
    p->n_result = head->n_result;
    p->slots = t->options->slots > 1 ? t->options->slots : 1;
    p->sums_are_cut = head->accumulator >= 0;
    for (int a = 0; a < p->n_axes; a++) {
        const glow_unit *u = p->stages[0].unit;

        p->extent[a] = head->extent[a];
        p->granule[a] = (size_t)a < u->n_tile ? u->tile[a] : 1;
    }
    for (int i = 0; i < p->n_stages; i++)
        most += p->stages[i].node->n_in;
    p->operands = GLOW_NEW_ARRAY(t->arena, tile_operand, most);
    for (int i = 0; i < p->n_stages; i++) {
        const tile_stage *g = &p->stages[i];

        for (int k = 0; k < g->node->n_in; k++)
            if (g->node->in[k] && k != g->chained)
                add_operand(t, p, g->node->in[k], g->tiling.in[k], i, k);
    }
    add_operand(t, p, p->stages[p->n_stages - 1].node->out[0],
                p->stages[p->n_stages - 1].tiling.out, p->n_stages - 1, -1);
}

/* Pieces. */

typedef struct piece {
    const tiler *t;
    const tile_problem *p;
    glow_node *at; /* pieces stand before it */
    int64_t begin[GLOW_MAX_RANK], end[GLOW_MAX_RANK];
    glow_node *made[2 * GLOW_MAX_OPERANDS + 4]; /* buffers to be freed behind */
    int n_made;
} piece;

static const glow_type *
dense(const tiler *t, const glow_type *like, glow_dims shape)
{
    glow_type type = *like;

    type.shape = shape;
    type.strides = (glow_dims){0};
    return glow_type_get(t->f->module->ctx, type);
}

static glow_value *
add_buffer(piece *x, const char *base, const glow_type *type,
           const glow_space *space)
{
    glow_in_space in = {.space = space ? space->name : ""};
    glow_node *n = glow_node_new(x->t->f, &glow_op_alloc,
                                 glow_derived_name(x->t->f, base, "piece"),
                                 NULL, 0, &type, 1, &in);

    glow_node_move_before(n, x->at);
    x->made[x->n_made++] = n;
    return n->out[0];
}

static bool
is_contiguous(const glow_type *t, glow_dims shape)
{
    bool more = false;

    if (t->strides.rank > 0)
        return false;
    for (int d = 0; d < shape.rank; d++) {
        if (more && shape.at[d] != t->shape.at[d])
            return false;
        more |= shape.at[d] > 1;
    }
    return true;
}

/* The elements of `v` from `at` on, as a view. */
static glow_value *
add_view(const piece *x, glow_value *v, glow_dims at, glow_dims shape)
{
    const glow_tensorview view = {.offsets = at};
    glow_type type = *v->type;
    const glow_type *t;
    glow_node *n;

    if (glow_dims_equal(shape, v->type->shape))
        return v;
    type.strides = is_contiguous(v->type, shape) ? (glow_dims){0}
                                                 : glow_type_steps(v->type);
    type.shape = shape;
    t = glow_type_get(x->t->f->module->ctx, type);
    n = glow_node_new(x->t->f, &glow_op_tensorview,
                      glow_derived_name(x->t->f, v->def->name, "view"), &v, 1,
                      &t, 1, &view);
    glow_node_move_before(n, x->at);
    return n->out[0];
}

/* The piece of operand `v`: a view, or a buffer of it with padding around. */
static glow_value *
operand_piece(piece *x, glow_value *v, const glow_tile_dim *dims,
              const glow_space *space)
{
    glow_dims at = v->type->shape, count = at, padded = at;
    int64_t *pads = GLOW_NEW_ARRAY(x->t->arena, int64_t, 2 * at.rank);
    bool pad = false;
    glow_value *view, *to;
    glow_node *n;

    for (int d = 0; d < at.rank; d++) {
        tile_span s =
            glow_tile_span(&dims[d], v->type->shape.at[d], x->begin, x->end);

        at.at[d] = s.count > 0 ? s.at : 0;
        count.at[d] = s.count;
        padded.at[d] = s.before + s.count + s.after;
        pads[d] = s.before;
        pads[d + at.rank] = s.after;
        pad |= s.before > 0 || s.after > 0;
    }
    view = add_view(x, v, at, count);
    if (!pad)
        return view;
    to = add_buffer(x, v->def->name, dense(x->t, v->type, padded), space);
    n = glow_instr_new(x->t->f, &glow_op_pad,
                       glow_derived_name(x->t->f, to->def->name, "pad"), &to, 1,
                       &view, 1,
                       &(const glow_pad){.mode = GLOW_PAD_CONSTANT,
                                         .pads = {2 * at.rank, pads}});
    glow_node_move_before(n, x->at);
    return to;
}

static void
add_instr(const piece *x, const tile_stage *g, glow_value *out,
          glow_value *const *in)
{
    glow_node *n = glow_instr_new(
        x->t->f, g->node->op,
        glow_derived_name(x->t->f, g->node->name, "piece"), &out, 1, in,
        g->node->n_in, g->tiling.attrs ? g->tiling.attrs : g->node->attrs);

    n->loc = g->node->loc;
    n->span = g->node->span;
    glow_node_move_before(n, x->at);
}

static glow_dims
result_shape(const piece *x, const tile_stage *g, glow_dims *at)
{
    glow_dims shape = *at = g->node->out[0]->type->shape;

    for (int d = 0; d < shape.rank; d++) {
        tile_span s =
            glow_tile_span(&g->tiling.out[d], shape.at[d], x->begin, x->end);

        at->at[d] = s.at;
        shape.at[d] = s.count;
    }
    return shape;
}

/* The buffer of the result of stage `i`, whose chained operand is `before`. */
static glow_value *
result_piece(piece *x, int i, glow_value *before, bool is_summed)
{
    const tile_stage *g = &x->p->stages[i];
    glow_dims at, shape = result_shape(x, g, &at);

    if (i + 1 == x->p->n_stages && !(g->space && (is_summed || g->in_place)))
        return add_view(x, g->node->out[0], at, shape);
    if (g->in_place)
        return before;
    return add_buffer(x, g->node->name,
                      dense(x->t, g->node->out[0]->type, shape), g->space);
}

/* The pieces of the first stage, one for each part of its sums. */
static glow_value *
add_sums(piece *x)
{
    const tile_stage *g = &x->p->stages[0];
    const tile_problem *p = x->p;
    glow_value *in[GLOW_MAX_OPERANDS] = {NULL}, *out;
    int64_t count = 1;

    for (int a = p->n_result; a < p->n_axes; a++)
        count *= (p->extent[a] + x->end[a] - 1) / x->end[a];
    out = result_piece(x, 0, NULL, count > 1);
    for (int64_t k = 0; k < count; k++) {
        piece part = *x;
        int64_t rest = k;

        for (int a = p->n_axes - 1; a >= p->n_result; a--) {
            int64_t step = x->end[a];
            int64_t n = (p->extent[a] + step - 1) / step;

            part.begin[a] = rest % n * step;
            part.end[a] = part.begin[a] + step < p->extent[a]
                              ? part.begin[a] + step
                              : p->extent[a];
            rest /= n;
        }
        for (int i = 0; i < g->node->n_in; i++) {
            const glow_space *s = scratchpad(x->t, g->node, i, false);

            in[i] =
                g->node->in[i] && !(k > 0 && i == g->tiling.initial)
                    ? operand_piece(&part, g->node->in[i], g->tiling.in[i], s)
                    : NULL;
        }
        if (k > 0)
            in[g->tiling.accumulator] = out;
        add_instr(&part, g, out, in);
        for (int i = x->n_made; i < part.n_made; i++) {
            glow_node *free = glow_instr_new(
                x->t->f, &glow_op_dealloc,
                glow_derived_name(x->t->f, part.made[i]->name, "free"),
                &part.made[i]->out[0], 1, NULL, 0, NULL);

            glow_node_move_before(free, x->at);
        }
    }
    return out;
}

/* The result of the last stage, in a buffer of its scratchpad, is copied out. */
static void
copy_out(piece *x, glow_value *sum)
{
    const tile_stage *g = &x->p->stages[x->p->n_stages - 1];
    glow_dims at, shape = result_shape(x, g, &at);
    glow_value *to = add_view(x, g->node->out[0], at, shape);
    glow_node *n =
        glow_instr_new(x->t->f, &glow_op_copy,
                       glow_derived_name(x->t->f, g->node->name, "store"), &to,
                       1, &sum, 1, NULL);

    glow_node_move_before(n, x->at);
}

static void
add_piece(piece *x)
{
    const tile_problem *p = x->p;
    glow_value *out = add_sums(x);

    for (int i = 1; i < p->n_stages; i++) {
        const tile_stage *g = &p->stages[i];
        glow_value *in[GLOW_MAX_OPERANDS] = {NULL}, *before = out;

        for (int k = 0; k < g->node->n_in; k++)
            if (g->node->in[k])
                in[k] =
                    k == g->chained
                        ? before
                        : operand_piece(x, g->node->in[k], g->tiling.in[k],
                                        scratchpad(x->t, g->node, k, false));
        out = result_piece(x, i, before, false);
        add_instr(x, g, out, in);
    }
    if (out->def->op == &glow_op_alloc &&
        out != p->stages[p->n_stages - 1].node->out[0])
        copy_out(x, out);
    for (int i = 0; i < x->n_made; i++) {
        glow_node *free =
            glow_instr_new(x->t->f, &glow_op_dealloc,
                           glow_derived_name(x->t->f, x->made[i]->name, "free"),
                           &x->made[i]->out[0], 1, NULL, 0, NULL);

        glow_node_move_before(free, x->at);
    }
}

static int64_t
add_pieces(const tiler *t, const tile_problem *p, const tile_choice *c,
           glow_node *at)
{
    int64_t count = 1;

    for (int a = 0; a < p->n_result; a++)
        count *= (p->extent[a] + c->size[a] - 1) / c->size[a];
    for (int64_t k = 0; k < count; k++) {
        piece x = {.t = t, .p = p, .at = at};
        int64_t rest = k;

        for (int i = p->n_result - 1; i >= 0; i--) {
            int a = c->order[i];
            int64_t n = (p->extent[a] + c->size[a] - 1) / c->size[a];

            x.begin[a] = rest % n * c->size[a];
            x.end[a] = x.begin[a] + c->size[a] < p->extent[a]
                           ? x.begin[a] + c->size[a]
                           : p->extent[a];
            rest /= n;
        }
        for (int a = p->n_result; a < p->n_axes; a++)
            x.end[a] = c->size[a];
        add_piece(&x);
    }
    return count;
}

/* Rewriting. */

/* Moves ends of operands that stand before `last` behind it. */
static void
keep_operands(const tile_problem *p, glow_node *last)
{
    for (int i = 0; i < p->n_stages; i++)
        for (int k = 0; k < p->stages[i].node->n_in; k++) {
            glow_value *v = p->stages[i].node->in[k];

            if (!v || glow_base_buffer(v)->def->op != &glow_op_alloc)
                continue;
            for (glow_node *n = p->stages[i].node->next; n && n != last;
                 n = n->next)
                if (n->op == &glow_op_dealloc &&
                    n->out[0] == glow_base_buffer(v)) {
                    glow_node_move_after(n, last);
                    break;
                }
        }
}

static void
erase_chain(const tiler *t, const tile_problem *p)
{
    for (int i = p->n_stages - 1; i >= 0; i--) {
        glow_node *n = p->stages[i].node;
        glow_value *v = n->out[0];

        t->heads[glow_number_of(&t->numbers, n)] = NULL;
        glow_node_erase(n);
        if (i + 1 == p->n_stages)
            continue;
        while (v->uses) /* its dealloc */
            glow_node_erase(v->uses->user);
        glow_node_erase(v->def);
    }
}

static bool
refuse(const tiler *t, const glow_node *n, const tile_choice *c)
{
    return glow_error_at(t->f->module->ctx, n->span, "E0336",
                         "%s %%%s: its smallest piece takes %" PRId64
                         " bytes of '%s', which has %" PRId64,
                         n->op->name, n->name, c->needs, c->full->name,
                         c->full->place.capacity);
}

/* Tiles the chain that begins with `n`; false after a report. */
static bool
tile(const tiler *t, glow_node *n, bool *changed)
{
    tile_problem p = {.target = t->target, .arena = t->arena, .n_stages = 1};
    tile_choice c;
    glow_node *last;
    int64_t count;

    if (!begin_stage(t, n, &p.stages[0]))
        return true;
    find_chain(t, &p);
    set_problem(t, &p);
    if (glow_tiling_count(&p.stages[0].tiling) == 0 ||
        !glow_run_may_rewrite(t->run))
        return true;
    if (!glow_tile_choose(&p, &c)) {
        p.slots = 1;
        if (!glow_tile_choose(&p, &c))
            return refuse(t, n, &c);
    }
    last = p.stages[p.n_stages - 1].node;
    keep_operands(&p, last);
    count = add_pieces(t, &p, &c, last);
    glow_run_remark(t->run, n, true,
                    "%" PRId64 " pieces, %.0f cycles, %.0f bytes", count,
                    c.cycles, c.bytes);
    glow_run_count(t->run, "pieces", count);
    erase_chain(t, &p);
    *changed = true;
    return true;
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    tiler t = {.run = run,
               .target = glow_run_target(run),
               .arena = glow_run_scratch(run),
               .f = f,
               .options = glow_run_options(run)};
    bool changed = false, ok = true;
    int count = f->count;

    if (glow_is_body(f) || t.target->n_units == 0)
        return GLOW_UNCHANGED;
    t.numbers = glow_number_nodes(t.arena, f);
    t.heads = GLOW_NEW_ARRAY(t.arena, glow_node *, count);
    GLOW_FOR_EACH_NODE(n, f)
        if (glow_target_unit(t.target, n->op))
            t.heads[glow_number_of(&t.numbers, n)] = n;
    for (int i = 0; i < count && ok; i++)
        if (t.heads[i])
            ok = tile(&t, t.heads[i], &changed);
    return !ok ? GLOW_FAILED : changed ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_tile_for_scratchpad = {
    .name = "tile-for-scratchpad",
    .summary = "do instructions of units in pieces that fit their scratchpads",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_ORDER,
    .options = {GLOW_FIELD_DEFAULT(tile_options, slots, GLOW_INT,
                                   "pieces of an operand that a scratchpad has "
                                   "room for at once; 1 or more")},
    .defaults = &(const tile_options){.slots = 2},
    .run = run,
    .source = "Timeloop (ISPASS 2019); VTA (arXiv 1807.04188)",
};
