/*
 * Greedy fusion of element-wise instructions into steps, with a dependence test
 * on byte ranges.
 */

#include "codegen/cpu/plan/stack.h"

#include <string.h>

#include "codegen/cpu/emit/lane.h"
#include "codegen/cpu/kernels/kernel.h"
#include "codegen/cpu/move.h"
#include "codegen/cpu/plan/memory.h"
#include "glow/ops.h"

#define MAX_ITEMS 24
#define MAX_SLOTS 16

/*
 * The slot of the base buffer of `v` if the step keeps it in registers, or
 * NULL.
 */
static const cpu_slot *
holder(const cpu_step *s, const glow_value *v)
{
    const glow_value *b = glow_base_buffer((glow_value *)v);

    for (int i = 0; i < s->n_slots; i++)
        if (s->slots[i].held == b)
            return &s->slots[i];
    return NULL;
}

static bool
touches_alike(const cpu_slot *s, int64_t at, glow_dims step)
{
    return s->linear && s->at == at && glow_dims_equal(s->step, step);
}

int
glow_cpu_add_slot(cpu_plan *p, cpu_step *s, const glow_value *v, bool written,
                  int64_t at, const glow_dims *step)
{
    cpu_range r = glow_cpu_range(p, v);
    const cpu_slot *holds = holder(s, v);
    const glow_value *held = holds ? holds->held : NULL;
    int i = 0;

    while (i < s->n_slots &&
           !(glow_cpu_same_range(s->slots[i].range, r) &&
             s->slots[i].kind == v->type->elem && s->slots[i].held == held))
        i++;
    if (i == s->n_slots) {
        s->slots = glow_arena_grow(p->arena, s->slots, (size_t)s->n_slots,
                                   &s->cap_slots, sizeof(cpu_slot));
        s->slots[s->n_slots++] = (cpu_slot){
            .range = r, .kind = v->type->elem, .linear = step, .at = at};
        if (step)
            s->slots[i].step = *step;
    }
    s->slots[i].read |= !written;
    s->slots[i].written |= written;
    s->slots[i].linear &= step && touches_alike(&s->slots[i], at, *step);
    return i;
}

bool
glow_cpu_can_stack(const glow_node *n)
{
    cpu_move m;

    if (n->n_out != 1 || n->n_in > 3 ||
        !(glow_cg_lane(n) || glow_cpu_moves_bits(n->op) ||
          n->op == &glow_op_intlookuptable))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (!n->in[i] || !glow_cpu_move(n, i, &m))
            return false;
    /* Bytes of fused rows are moved as they are, and nothing else. */
    return glow_kind_get(n->out[0]->type->elem)->klass != GLOW_CLASS_FUSED ||
           glow_cpu_moves_bits(n->op);
}

/*
 * The access function of an instruction for `value`, over the shape of its
 * result.
 */
typedef struct touch {
    const glow_value *value;
    int64_t at;
    glow_dims step;
    bool linear;
} touch;

static bool
is_linear(int64_t at, glow_dims step, glow_dims shape)
{
    glow_dims dense = glow_dims_strides(shape);

    for (int d = 0; d < shape.rank; d++)
        if (shape.at[d] != 1 && step.at[d] != dense.at[d])
            return false;
    return at == 0;
}

static int
touches(const glow_node *n, touch out[4])
{
    const glow_type *y = n->out[0]->type;

    for (int i = 0; i < n->n_in; i++) {
        cpu_move m;

        glow_cpu_move(n, i, &m);
        out[i] =
            (touch){n->in[i], m.at, m.step, is_linear(m.at, m.step, y->shape)};
    }
    out[n->n_in] = (touch){n->out[0], 0, glow_cpu_strides(y), !y->strides.rank};
    return n->n_in + 1;
}

/* Sets the strides of axes of one element, which have no effect, to 0. */
static void
forget_ones(glow_dims shape, glow_dims *step)
{
    for (int d = 0; d < shape.rank; d++)
        if (shape.at[d] == 1)
            step->at[d] = 0;
}

static bool
stays(glow_dims step)
{
    for (int d = 0; d < step.rank; d++)
        if (step.at[d])
            return false;
    return true;
}

/* Converts strides over the result of `n` to the shape of the step. */
static bool
fit(const cpu_step *s, const glow_node *n, touch *t)
{
    glow_dims shape = n->out[0]->type->shape;

    if (t->linear)
        t->step = glow_dims_strides(s->shape);
    else if (stays(t->step))
        t->step = (glow_dims){.rank = s->shape.rank};
    else if (s->root && shape.rank > 0 &&
             shape.at[shape.rank - 1] == s->shape.at[1]) {
        if (!glow_cpu_as_rows(shape, &t->step, &t->step))
            return false;
    } else if (!glow_dims_equal(shape, s->shape))
        return false;
    forget_ones(s->shape, &t->step);
    return true;
}

/*
 * Dependence test: true if access `t` may share a loop with the accesses of the
 * step.  Overlapping ranges, of which one is written, must be the same range
 * with the same access function.
 */
static bool
agrees(const cpu_plan *p, const cpu_step *s, const touch *t, bool writes)
{
    cpu_range r = glow_cpu_range(p, t->value);
    const cpu_slot *holds = holder(s, t->value);

    for (int i = 0; i < s->n_slots; i++) {
        const cpu_slot *q = &s->slots[i];

        if (holds ? q != holds
                  : !glow_cpu_overlap(r, q->range) || !(writes || q->written))
            continue;
        if (!glow_cpu_same_range(r, q->range) ||
            !touches_alike(q, t->at, t->step) ||
            q->kind != t->value->type->elem || (q->held && !holds))
            return false;
    }
    return true;
}

/*
 * True if the result of `n` may stay in registers.  All its readers must then
 * be in the step too.
 */
static bool
can_hold(const cpu_plan *p, const cpu_step *s, const glow_node *n,
         const touch *t)
{
    const glow_value *b = glow_base_buffer(n->out[0]);
    cpu_range r = glow_cpu_range(p, b);

    for (int i = 0; i < s->n_slots; i++)
        if (s->slots[i].held && glow_cpu_overlap(r, s->slots[i].range))
            return false;
    return b->def && b->def->op == &glow_op_alloc && t->linear &&
           glow_cpu_same_range(r, glow_cpu_range(p, n->out[0]));
}

static void
hold(cpu_plan *p, cpu_step *s, const touch *t)
{
    s->slots = glow_arena_grow(p->arena, s->slots, (size_t)s->n_slots,
                               &s->cap_slots, sizeof(cpu_slot));
    s->slots[s->n_slots++] =
        (cpu_slot){.range = glow_cpu_range(p, t->value),
                   .kind = t->value->type->elem,
                   .linear = true,
                   .at = t->at,
                   .step = t->step,
                   .held = glow_base_buffer((glow_value *)t->value)};
}

static void
add_item(cpu_plan *p, cpu_step *s, const glow_node *n, const touch *t)
{
    s->items = glow_arena_grow(p->arena, s->items, (size_t)s->n_items,
                               &s->cap_items, sizeof(cpu_item));

    cpu_item *item = &s->items[s->n_items++];

    *item = (cpu_item){.n = n, .n_in = n->n_in};
    for (int i = 0; i <= n->n_in; i++) {
        bool writes = i == n->n_in;
        cpu_access *a = writes ? &item->out : &item->in[i];

        a->slot =
            glow_cpu_add_slot(p, s, t[i].value, writes, t[i].at, &t[i].step);
        a->at = t[i].at;
        a->step = t[i].step;
    }
    s->last = (int)glow_number_of(&p->numbers, n);
}

void
glow_cpu_stack_first(cpu_plan *p, cpu_step *s, const glow_node *n)
{
    touch t[4];

    int count = touches(n, t);

    s->shape = n->out[0]->type->shape;
    for (int i = 0; i < count; i++)
        fit(s, n, &t[i]);
    add_item(p, s, n, t);
}

/*
 * Adds `n` to the step if that is legal; `held`: with its result in registers
 * only.
 */
static bool
stack_one(cpu_plan *p, cpu_step *s, const glow_node *n, bool held)
{
    touch t[4];

    if ((s->root && !s->kernel->stacks) || !glow_cpu_can_stack(n) ||
        s->n_items == MAX_ITEMS || s->n_slots + n->n_in >= MAX_SLOTS ||
        glow_type_count(n->out[0]->type) != glow_dims_count(s->shape) ||
        n->op == &glow_op_transpose)
        return false;

    int count = touches(n, t);

    for (int i = 0; i < count; i++) {
        bool writes = i == n->n_in;

        if (!fit(s, n, &t[i]) ||
            !(held && writes ? can_hold(p, s, n, &t[i])
                             : agrees(p, s, &t[i], writes)))
            return false;
    }
    if (held)
        hold(p, s, &t[n->n_in]);
    add_item(p, s, n, t);
    return true;
}

/* True if instruction `n` computes nothing. */
static bool
is_still(const glow_node *n)
{
    return n->op == &glow_op_alloc || n->op == &glow_op_dealloc ||
           n->op == &glow_op_tensorview || !glow_cpu_has_elements(n);
}

/*
 * Adds `n` with its result in registers, and all instructions up to the last
 * reader of the result; on failure restores the step.
 */
static bool
stack_held(cpu_plan *p, cpu_step *s, const glow_node *n)
{
    cpu_step before = *s;
    cpu_slot slots[MAX_SLOTS];
    int end = (int)glow_number_of(&p->numbers, n);

    if (s->n_slots >= MAX_SLOTS)
        return false;
    memcpy(slots, s->slots, (size_t)s->n_slots * sizeof *slots);
    for (; n && (int)glow_number_of(&p->numbers, n) <= end; n = n->next) {
        if (is_still(n) || stack_one(p, s, n, false))
            continue;
        if (glow_cg_foreign_kind(n) || !stack_one(p, s, n, true)) {
            memcpy(before.slots, slots, (size_t)before.n_slots * sizeof *slots);
            *s = before;
            return false;
        }

        int last = glow_cpu_last_use(p, glow_base_buffer(n->out[0]));

        end = last > end ? last : end;
    }
    return true;
}

bool
glow_cpu_stack_on(cpu_plan *p, cpu_step *s, const glow_node *n)
{
    return stack_one(p, s, n, false) || stack_held(p, s, n);
}

/* Finishing. */

static void
find_shared(cpu_step *s)
{
    for (int i = 0; i < s->n_slots; i++)
        for (int k = 0; k < s->n_slots; k++)
            if (i != k && !s->slots[i].held && !s->slots[k].held &&
                glow_cpu_overlap(s->slots[i].range, s->slots[k].range))
                s->slots[i].shared = true;
}

/* Access `i`, counted over all items of the step, or NULL. */
static cpu_access *
access_at(cpu_step *s, int i)
{
    for (int k = 0; k < s->n_items; k++) {
        cpu_item *item = &s->items[k];

        if (i <= item->n_in)
            return i < item->n_in ? &item->in[i] : &item->out;
        i -= item->n_in + 1;
    }
    return NULL;
}

/* True if axes d - 1 and d collapse into one axis for all accesses. */
static bool
joins(cpu_step *s, int d)
{
    cpu_access *a;

    for (int i = 0; (a = access_at(s, i)); i++)
        if (a->step.at[d - 1] != a->step.at[d] * s->shape.at[d])
            return false;
    return true;
}

static void
drop_axis(glow_dims *d, int axis)
{
    for (int i = axis; i + 1 < d->rank; i++)
        d->at[i] = d->at[i + 1];
    d->rank--;
}

static void
drop(cpu_step *s, int axis)
{
    cpu_access *a;

    for (int i = 0; (a = access_at(s, i)); i++)
        drop_axis(&a->step, axis);
    drop_axis(&s->shape, axis);
}

void
glow_cpu_finish_stack(cpu_step *s)
{
    find_shared(s);
    if (s->root)
        return;
    for (int d = s->shape.rank - 1; d >= 0; d--)
        if (s->shape.at[d] == 1)
            drop(s, d);
    for (int d = s->shape.rank - 1; d > 0; d--)
        if (joins(s, d)) {
            int64_t both = s->shape.at[d - 1] * s->shape.at[d];

            drop(s, d - 1);
            s->shape.at[d - 1] = both;
        }
}
