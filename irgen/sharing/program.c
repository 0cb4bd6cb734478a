/*
 * The access table of a program, and the mechanical rewrite of its buffers; see
 * program.h.
 */

#include "irgen/sharing/program.h"

#include <string.h>

#include "glow/number.h"

struct glow_program_edit {
    glow_numbering numbers;
    uint32_t *value;    /* by number: value of an alloc, weight or view */
    uint32_t *position; /* by number; nodes of one position are neighbours */
    size_t n_numbers, cap_values, cap_positions;
};

typedef struct glow_program_edit edit;

/* Filling. */

/* Numbers `n`, which has no value yet. */
static void
number(glow_accesses *x, glow_node *n, uint32_t position)
{
    edit *e = x->edit;

    e->value = glow_arena_grow(x->arena, e->value, e->n_numbers, &e->cap_values,
                               sizeof *e->value);
    e->position = glow_arena_grow(x->arena, e->position, e->n_numbers,
                                  &e->cap_positions, sizeof *e->position);
    e->value[e->n_numbers] = GLOW_NONE;
    e->position[e->n_numbers] = position;
    glow_number_set(&e->numbers, n, (uint32_t)e->n_numbers++);
}

static uint32_t
number_of(const glow_accesses *x, const glow_node *n)
{
    return glow_number_of(&x->edit->numbers, n);
}

static uint32_t
value_of(const glow_accesses *x, const glow_value *v)
{
    return v ? x->edit->value[number_of(x, v->def)] : GLOW_NONE;
}

static void
add_buffer(glow_accesses *x, glow_node *n)
{
    const glow_value *v = n->out[0];
    uint32_t b = glow_add_buffer(x, v->type, v->storage);

    x->buffers[b].alloc = n;
    x->buffers[b].is_fixed = glow_is_fixed(n) || glow_space_of(n);
    x->edit->value[number_of(x, n)] = glow_add_value(x, b, 0, v->type);
}

static void
add_view(glow_accesses *x, const glow_node *n)
{
    glow_extent e = glow_extent_of(n->out[0]);
    uint32_t base = x->edit->value[number_of(x, e.base)];

    x->edit->value[number_of(x, n)] =
        glow_add_value(x, x->values[base].buffer, e.first, n->out[0]->type);
}

static void
add_step(glow_accesses *x, glow_node *n)
{
    uint32_t i = glow_add_step(x, n, n->op, n->n_in, n->n_out);
    glow_step *s = &x->steps[i];

    for (int k = 0; k < n->n_in; k++)
        s->in[k] = value_of(x, n->in[k]);
    for (int k = 0; k < n->n_out; k++)
        s->out[k] = value_of(x, n->out[k]);
    s->pred = value_of(x, n->pred);
    s->scratch = value_of(x, n->scratch);
    glow_add_accesses(x, i);
}

static glow_table_sizes
sizes_of(const glow_func *f)
{
    glow_table_sizes room = {0};

    GLOW_FOR_EACH_NODE(n, f) {
        bool is_buffer = n->op == &glow_op_alloc || n->op == &glow_op_weight;
        bool is_value = is_buffer || n->op == &glow_op_tensorview;

        room.buffers += is_buffer;
        room.values += is_value;
        room.steps += !is_value && n->op != &glow_op_dealloc;
        room.accesses += (size_t)n->n_in + (size_t)n->n_out + 2;
    }
    return room;
}

glow_accesses *
glow_accesses_of_program(glow_pass_run *run, glow_func *f)
{
    glow_table_sizes room = sizes_of(f);
    glow_accesses *x = glow_accesses_new(run, &room);
    uint32_t count = 0;

    x->edit = GLOW_NEW(x->arena, edit);
    x->edit->numbers = glow_numbering_new(x->arena, f);
    x->edit->cap_values = x->edit->cap_positions = (size_t)f->count;
    x->edit->value = GLOW_NEW_ARRAY(x->arena, uint32_t, f->count);
    x->edit->position = GLOW_NEW_ARRAY(x->arena, uint32_t, f->count);
    GLOW_FOR_EACH_NODE(n, f) {
        number(x, n, count++);
        if (n->op == &glow_op_alloc || n->op == &glow_op_weight)
            add_buffer(x, n);
        else if (n->op == &glow_op_tensorview)
            add_view(x, n);
        else if (n->op == &glow_op_dealloc)
            x->buffers[x->values[value_of(x, n->out[0])].buffer].dealloc = n;
        else
            add_step(x, n);
    }
    glow_accesses_measure(x);
    return x;
}

/* Positions. */

static uint32_t
position_of(const glow_accesses *x, const glow_node *n)
{
    return x->edit->position[number_of(x, n)];
}

static void
move_before(glow_accesses *x, glow_node *n, glow_node *where)
{
    glow_node_move_before(n, where);
    x->edit->position[number_of(x, n)] = position_of(x, where);
}

static void
move_after(glow_accesses *x, glow_node *n, glow_node *where)
{
    glow_node_move_after(n, where);
    x->edit->position[number_of(x, n)] = position_of(x, where);
}

bool
glow_views_follow(const glow_accesses *x, uint32_t buffer, const glow_step *s)
{
    if (!x->edit)
        return true;
    GLOW_FOR_EACH_USE(u, x->buffers[buffer].alloc->out[0])
        if (u->user->op == &glow_op_tensorview &&
            position_of(x, u->user) <= position_of(x, s->node))
            return false;
    return true;
}

/* Moves the dealloc of the buffer behind `last`, if it is before that. */
static void
keep_alive(glow_accesses *x, uint32_t buffer, glow_node *last)
{
    glow_node *end = x->buffers[buffer].dealloc;

    if (end && position_of(x, end) < position_of(x, last))
        move_after(x, end, last);
}

/* Views. */

/* The index of an element by its number; of no elements, that of the first. */
static glow_dims
index_of(glow_dims shape, int64_t number)
{
    glow_dims at = {.rank = shape.rank};

    for (int i = shape.rank - 1; i >= 0 && number > 0; i--) {
        at.at[i] = number % shape.at[i];
        number /= shape.at[i];
    }
    return at;
}

/* A view of `base`, right before `where`. */
static glow_value *
add_view_of(glow_accesses *x, glow_value *base, int64_t first,
            const glow_type *type, const char *name, glow_node *where)
{
    glow_func *f = where->func;
    glow_tensorview at = {index_of(base->type->shape, first)};
    glow_node *n = glow_node_new(f, &glow_op_tensorview,
                                 glow_derived_name(f, name, "view"), &base, 1,
                                 &type, 1, &at);

    number(x, n, position_of(x, where));
    glow_node_move_before(n, where);
    return n->out[0];
}

static glow_value *
view_part(glow_accesses *x, const glow_part *p, const char *name,
          glow_node *where)
{
    return add_view_of(x, x->buffers[p->buffer].alloc->out[0], p->first,
                       glow_type_get(glow_run_context(x->run), p->type), name,
                       where);
}

/* Sets *out to the views of `v`, and views of views, each behind its operand;
   returns their number. */
static size_t
find_views(glow_arena *a, const glow_value *v, glow_node ***out)
{
    glow_node **views = NULL;
    size_t count = 0, cap = 0, done = 0;

    for (;;) {
        GLOW_FOR_EACH_USE(u, v)
            if (u->user->op == &glow_op_tensorview) {
                views = glow_arena_grow(a, views, count, &cap, sizeof *views);
                views[count++] = u->user;
            }
        if (done == count)
            break;
        v = views[done++]->out[0];
    }
    *out = views;
    return count;
}

/* Views of the alloc `from` become views of the part's buffer. */
static void
move_views(glow_accesses *x, const glow_value *from, const glow_part *to)
{
    glow_node **views;

    for (size_t i = find_views(x->arena, from, &views); i-- > 0;) {
        glow_node *view = views[i], *as = NULL;
        const char *name = view->name;
        glow_extent e = glow_extent_of(view->out[0]);
        glow_shared_value v = {.first = e.first, .type = e.layout};
        glow_part p;

        if (!glow_is_unused(view->out[0]) && glow_value_moved(&v, to, &p)) {
            as = view_part(x, &p, name, view)->def;
            glow_replace_uses(view->out[0], as->out[0]);
        }
        glow_node_erase(view);
        if (as)
            glow_node_rename(as, name);
    }
}

/* Moving buffers. */

/* Makes the alloc and dealloc of `into` enclose those of `buffer`. */
static void
stretch(glow_accesses *x, uint32_t into, uint32_t buffer)
{
    glow_shared_buffer *b = &x->buffers[into], *from = &x->buffers[buffer];

    if (b->storage)
        return;
    if (position_of(x, b->alloc) > position_of(x, from->alloc))
        move_before(x, b->alloc, from->alloc);
    if (from->dealloc)
        keep_alive(x, into, from->dealloc);
}

static void
rewrite_to_part(glow_accesses *x, uint32_t buffer, const glow_part *to)
{
    glow_shared_buffer *b = &x->buffers[buffer];
    glow_value *from = b->alloc->out[0];
    glow_shared_value all = {.type = from->type};
    glow_part p;

    stretch(x, to->buffer, buffer);
    move_views(x, from, to);
    glow_value_moved(&all, to, &p);
    if (b->dealloc)
        glow_node_erase(b->dealloc);
    glow_replace_uses(from, view_part(x, &p, b->alloc->name, b->alloc));
    glow_node_erase(b->alloc);
}

void
glow_move_to_part(glow_accesses *x, uint32_t buffer, const glow_part *to)
{
    if (x->edit)
        rewrite_to_part(x, buffer, to);
    glow_move_values(x, buffer, to);
}

/* Moves the definition of `v`, with its chain of views and its alloc, before
   `where`, if they are behind it. */
static void
define_before(glow_accesses *x, glow_value *v, glow_node *where)
{
    while (position_of(x, v->def) > position_of(x, where)) {
        glow_node *n = v->def;

        move_before(x, n, where);
        if (n->op != &glow_op_tensorview)
            return;
        where = n;
        v = n->in[0];
    }
}

static void
rewrite_to_value(glow_accesses *x, uint32_t buffer, uint32_t into,
                 glow_value *to, const glow_step *last, bool early)
{
    glow_shared_buffer *b = &x->buffers[buffer];
    glow_value *from = b->alloc->out[0];

    if (early)
        define_before(x, to, b->alloc);
    if (last)
        keep_alive(x, into, last->node);
    else if (b->dealloc)
        keep_alive(x, into, b->dealloc);
    if (from->type != to->type)
        to = add_view_of(x, to, 0, from->type, to->def->name, b->alloc);
    if (b->dealloc)
        glow_node_erase(b->dealloc);
    if (!glow_is_unused(from))
        glow_replace_uses(from, to);
    glow_node_erase(b->alloc);
}

void
glow_move_to_value(glow_accesses *x, uint32_t buffer, uint32_t to,
                   glow_value *name, const glow_step *last, bool early)
{
    const glow_shared_value *v = &x->values[to];
    glow_part p = {v->buffer, v->first, *v->type};

    if (x->edit)
        rewrite_to_value(x, buffer, v->buffer, name, last, early);
    glow_move_values(x, buffer, &p);
}

void
glow_name_in_place(glow_accesses *x, const glow_step *s, uint32_t operand,
                   glow_value *name)
{
    for (int k = 0; x->edit && k < s->n_in; k++)
        if (s->in[k] != GLOW_NONE && s->node->in[k] != name &&
            s->node->in[k]->type == name->type &&
            glow_same_place(x, s->in[k], operand))
            glow_set_operand(s->node, k, name);
}

void
glow_begin_at(glow_accesses *x, uint32_t buffer, const glow_step *s)
{
    if (x->edit)
        move_before(x, x->buffers[buffer].alloc, s->node);
}

/* Steps. */

void
glow_drop_step(glow_accesses *x, uint32_t step)
{
    x->steps[step].gone = true;
    x->changed = true;
    if (x->edit)
        glow_node_erase(x->steps[step].node);
}

static glow_node *
add_copy(glow_accesses *x, glow_node *concat, int k, const glow_part *to)
{
    glow_func *f = concat->func;
    glow_value *out = view_part(x, to, concat->name, concat);
    glow_node *copy = glow_instr_new(f, &glow_op_copy,
                                     glow_derived_name(f, concat->name, "part"),
                                     &out, 1, &concat->in[k], 1, NULL);

    copy->loc = concat->loc;
    number(x, copy, position_of(x, concat));
    glow_node_move_before(copy, concat);
    return copy;
}

void
glow_copy_part(glow_accesses *x, uint32_t step, int k, const glow_part *to)
{
    glow_node *concat = x->steps[step].node;
    uint32_t out =
        glow_add_value(x, to->buffer, to->first,
                       glow_type_get(glow_run_context(x->run), to->type));
    uint32_t i = glow_add_step(x, concat, &glow_op_copy, 1, 1);
    glow_step *s = &x->steps[i];

    s->in[0] = x->steps[step].in[k];
    s->out[0] = out;
    s->rank = x->steps[step].rank;
    s->part = k;
    if (x->edit) {
        s->node = add_copy(x, concat, k, to);
        s->part = -1;
    }
    glow_add_accesses(x, i);
}
