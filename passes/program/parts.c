/*
 * Parts of buffers; see parts.h.
 */

#include "passes/program/parts.h"

#include "glow/layout.h"

#define MOST_OPERANDS 256 /* of an instruction that the backend is asked for */

bool
part_of(glow_value *v, part *out)
{
    glow_extent e = glow_extent_of(v);

    *out = (part){glow_base_buffer(v), e.first, *v->type};
    return out->base->type->strides.rank == 0;
}

part
part_box(const part *p, glow_dims start, glow_dims steps, glow_dims shape)
{
    part box = *p;

    box.type = glow_type_box(&p->type, start, steps, shape, &box.first);
    return box;
}

/* What `v`, which is `from` or a view of it, is as a part of `to`. */
static bool
moved(const glow_value *v, const part *to, part *out)
{
    *out = (part){to->base, glow_extent_of(v).first, *v->type};
    if (!glow_type_move(&to->type, &out->type, &out->first))
        return false;
    out->first += to->first;
    return true;
}

/* Asking. */

typedef struct question {
    glow_pass_run *run;
    const glow_node *from; /* the alloc */
    const part *to;
    const glow_node *but;
    const char *why;
} question;

/* The values as they will be; *strided if one of them gets strides. */
static bool
values_moved(const question *q, glow_value *const *v, int count,
             glow_value **out, bool *strided)
{
    glow_arena *a = glow_run_scratch(q->run);
    part p;

    for (int i = 0; i < count; i++) {
        out[i] = v[i];
        if (!v[i] || glow_extent_of(v[i]).base != q->from)
            continue;
        if (!moved(v[i], q->to, &p))
            return false;
        out[i] = glow_arena_copy(a, v[i], sizeof *v[i]);
        out[i]->type = glow_type_get(glow_run_context(q->run), p.type);
        *strided |= p.type.strides.rank > 0;
    }
    return true;
}

static bool
is_taken(question *q, const glow_node *n)
{
    const glow_backend *b = glow_run_backend(q->run);
    const char *why = "no backend was asked";

    if (b && !(n->op->traits & GLOW_UNKNOWN) &&
        b->takes(n, glow_run_scratch(q->run), &why) == GLOW_TAKES)
        return true;
    q->why = glow_arena_printf(glow_run_scratch(q->run),
                               "%%%s cannot work on every so many elements: %s",
                               n->name, why);
    return false;
}

static bool
can_use(void *user, glow_node *n, const glow_value *v, bool writes)
{
    question *q = user;
    glow_arena *a = glow_run_scratch(q->run);
    glow_node as = *n;
    bool strided = false;
    part p;

    (void)writes;
    if (n == q->but)
        return true;
    if (moved(v, q->to, &p) && !p.type.strides.rank)
        return true;
    as.in = GLOW_NEW_ARRAY(a, glow_value *, n->n_in);
    as.out = GLOW_NEW_ARRAY(a, glow_value *, n->n_out);
    if (n->n_in <= MOST_OPERANDS &&
        values_moved(q, n->in, n->n_in, as.in, &strided) &&
        values_moved(q, n->out, n->n_out, as.out, &strided))
        return !strided || is_taken(q, &as);
    q->why = glow_arena_printf(
        a, "%%%s names elements that do not lie at regular steps there",
        n->name);
    return false;
}

bool
can_use_part(glow_pass_run *run, const glow_value *from, const part *to,
             const glow_node *but, const char **why)
{
    question q = {run, from->def, to, but, "it is used in too many places"};

    if (from->type->strides.rank ||
        glow_type_count(from->type) != glow_type_count(&to->type)) {
        *why = "its layout is another";
        return false;
    }
    if (each_access(glow_run_scratch(run), from, can_use, &q))
        return true;
    *why = q.why;
    return false;
}

/* Doing. */

/* The index of an element by its number. */
static glow_dims
index_of(glow_dims shape, int64_t number)
{
    glow_dims at = {.rank = shape.rank};

    for (int i = shape.rank - 1; i >= 0; i--) {
        at.at[i] = number % shape.at[i];
        number /= shape.at[i];
    }
    return at;
}

void
set_view(glow_node *n, const part *p)
{
    glow_tensorview at = {index_of(p->base->type->shape, p->first)};

    glow_set_operand(n, 0, p->base);
    glow_node_set_attrs(n, &at);
}

glow_value *
view_part(const part *p, const char *name, glow_node *where)
{
    glow_func *f = where->func;
    const glow_type *type = glow_type_get(f->module->ctx, p->type);
    glow_tensorview at = {index_of(p->base->type->shape, p->first)};
    glow_value *base = p->base;
    glow_node *n = glow_node_new(f, &glow_op_tensorview,
                                 glow_derived_name(f, name, "view"), &base, 1,
                                 &type, 1, &at);

    glow_node_move_before(n, where);
    n->mark = where->mark;
    return n->out[0];
}

/* Collects views of `v`, and of those, each behind what it views. */
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

/* Views of `from` become views of the base. */
static void
move_views(glow_arena *a, const glow_value *from, const part *to)
{
    glow_node **views;
    part p;

    for (size_t i = find_views(a, from, &views); i-- > 0;) {
        glow_node *view = views[i], *as = NULL;
        const char *name = view->name;

        if (!glow_is_unused(view->out[0]) && moved(view->out[0], to, &p)) {
            as = view_part(&p, name, view)->def;
            glow_replace_uses(view->out[0], as->out[0]);
        }
        glow_node_erase(view);
        if (as)
            glow_node_rename(as, name);
    }
}

glow_value *
use_part(glow_pass_run *run, glow_value *from, const part *to)
{
    glow_node *alloc = from->def, *dealloc = dealloc_of(from);
    part p = *to;

    move_views(glow_run_scratch(run), from, to);
    moved(from, to, &p);
    if (dealloc)
        glow_node_erase(dealloc);

    glow_value *view = view_part(&p, alloc->name, alloc);

    glow_replace_uses(from, view);
    glow_node_erase(alloc);
    return view;
}
