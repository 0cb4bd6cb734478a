/*
 * Questions about buffers; see buffers.h.
 */

#include "passes/program/buffers.h"

bool
computes(const glow_node *n)
{
    return n->op != &glow_op_alloc && n->op != &glow_op_weight &&
           n->op != &glow_op_tensorview && n->op != &glow_op_dealloc;
}

int
find_instrs(glow_arena *a, const glow_func *f, const glow_op *op,
            glow_node ***out)
{
    int count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        count += n->op == op && !n->pred;
    *out = GLOW_NEW_ARRAY(a, glow_node *, count);
    count = 0;
    GLOW_FOR_EACH_NODE(n, f)
        if (n->op == op && !n->pred)
            (*out)[count++] = n;
    return count;
}

bool
is_alloc(const glow_value *v)
{
    return v->def->op == &glow_op_alloc;
}

bool
is_loose(const glow_value *v)
{
    return is_alloc(v) && !glow_is_fixed(v->def) && !glow_space_of(v->def);
}

bool
is_weight(const glow_value *v)
{
    return v->def->op == &glow_op_weight;
}

glow_node *
dealloc_of(const glow_value *alloc)
{
    GLOW_FOR_EACH_USE(u, alloc)
        if (u->user->op == &glow_op_dealloc)
            return u->user;
    return NULL;
}

/* Also by what is no access. */
static void
count_uses(buffer_info *infos, const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            infos[glow_base_buffer(n->in[i])->def->mark].uses++;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->def != n) /* else it is what is used */
            infos[glow_base_buffer(n->out[i])->def->mark].uses++;
    if (n->pred)
        infos[glow_base_buffer(n->pred)->def->mark].uses++;
    if (n->scratch)
        infos[glow_base_buffer(n->scratch)->def->mark].uses++;
}

static void
note_access(buffer_info *infos, const glow_node *n, glow_value *v, bool writes)
{
    buffer_info *info;

    if (!v)
        return;
    info = &infos[glow_base_buffer(v)->def->mark];
    if (info->first == NO_ACCESS)
        info->first = n->mark;
    info->last = n->mark;
    if (writes)
        info->last_write = n->mark;
}

buffer_info *
buffers_measure(glow_arena *a, glow_func *f)
{
    buffer_info *infos = GLOW_NEW_ARRAY(a, buffer_info, f->count);
    uint32_t count = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        infos[count] = (buffer_info){NO_ACCESS, NO_ACCESS, NO_ACCESS, 0, NULL};
        n->mark = count++;
        count_uses(infos, n);
        if (n->op == &glow_op_dealloc)
            infos[n->out[0]->def->mark].dealloc = n;
        if (!computes(n))
            continue;
        for (int i = 0; i < n->n_in; i++)
            note_access(infos, n, n->in[i], false);
        for (int i = 0; i < n->n_out; i++)
            note_access(infos, n, n->out[i], true);
        note_access(infos, n, n->pred, false);
        note_access(infos, n, n->scratch, true);
    }
    return infos;
}

/* Where a value begins in its base, in bytes. */
static int64_t
begin_of(const glow_value *v)
{
    int64_t begin = 0;

    for (; v->def->op == &glow_op_tensorview; v = v->def->in[0]) {
        const glow_tensorview *view = v->def->attrs;
        const glow_type *base = v->def->in[0]->type;

        begin += glow_type_index(base, view->offsets) *
                 glow_kind_get(base->elem)->bytes;
    }
    return begin;
}

static const glow_value *
base_of(const glow_value *v)
{
    while (v->def->op == &glow_op_tensorview)
        v = v->def->in[0];
    return v;
}

static bool
is_dense(const glow_value *v)
{
    return v->type->strides.rank == 0;
}

bool
covers(const glow_value *v)
{
    const glow_value *base = base_of(v);

    return v == base || (is_dense(v) && glow_type_bytes(v->type) ==
                                            glow_type_bytes(base->type));
}

bool
may_overlap(const glow_value *a, const glow_value *b)
{
    return glow_extents_meet(glow_extent_of(a), glow_extent_of(b));
}

bool
same_bytes(const glow_value *a, const glow_value *b)
{
    if (a == b)
        return true;
    return base_of(a) == base_of(b) && begin_of(a) == begin_of(b) &&
           (a->type == b->type ||
            (is_dense(a) && is_dense(b) &&
             glow_type_bytes(a->type) == glow_type_bytes(b->type)));
}

/* Views still to be looked into. */
typedef struct pending {
    const glow_value **at;
    size_t count, cap;
} pending;

static void
push(glow_arena *a, pending *p, const glow_value *v)
{
    p->at = glow_arena_grow(a, p->at, p->count, &p->cap, sizeof *p->at);
    p->at[p->count++] = v;
}

bool
each_access(glow_arena *scratch, const glow_value *buffer, access_fn fn,
            void *user)
{
    pending views = {0};
    int looked_at = 0;

    push(scratch, &views, buffer);
    while (views.count > 0) {
        const glow_value *v = views.at[--views.count];

        GLOW_FOR_EACH_USE(u, v) {
            if (++looked_at > MOST_ACCESSES)
                return false;
            if (u->user->op == &glow_op_tensorview)
                push(scratch, &views, u->user->out[0]);
            else if (computes(u->user) && !fn(user, u->user, v, u->writes))
                return false;
        }
    }
    return true;
}

bool
is_crowded(const buffer_info *infos, const glow_value *buffer)
{
    return infos[buffer->def->mark].uses > MOST_ACCESSES;
}

bool
views_after(const glow_value *buffer, uint32_t mark)
{
    GLOW_FOR_EACH_USE(u, buffer)
        if (u->user->op == &glow_op_tensorview && u->user->mark <= mark)
            return false;
    return true;
}

/* Living in another's buffer. */

typedef struct stay { /* of `from` in `to` */
    const glow_value *to;
    uint32_t at; /* mark of the instruction that hands over */
    bool reads_on;
    uint32_t first; /* mark of from's first access */
    glow_node *last;
} stay;

static bool
measure_from(void *user, glow_node *n, const glow_value *v, bool writes)
{
    stay *s = user;

    (void)v;
    if (n->mark < s->first)
        s->first = n->mark;
    if (!s->last || n->mark > s->last->mark)
        s->last = n;
    return n->mark <= s->at ? !(writes && n->mark == s->at)
                            : s->reads_on && !writes;
}

/* Between from's first access and its last, only `at` may touch these bytes,
   and afterwards others may read them. */
static bool
leaves_alone(void *user, glow_node *n, const glow_value *v, bool writes)
{
    const stay *s = user;

    if (n->mark < s->first || !may_overlap(v, s->to))
        return true;
    if (n->mark < s->at)
        return false;
    if (n->mark == s->at)
        return writes;
    return !writes || n->mark > s->last->mark;
}

bool
can_live_in(glow_arena *scratch, const buffer_info *infos,
            const glow_value *from, const glow_value *to, const glow_node *at,
            bool reads_on, glow_node **last)
{
    const glow_value *base = base_of(to);
    stay s = {to, at->mark, reads_on, NO_ACCESS, NULL};

    if (!is_loose(from) || base == from || glow_is_constant(base) ||
        is_crowded(infos, from) || is_crowded(infos, base))
        return false;
    if (from->type != to->type &&
        !(is_dense(from) && is_dense(to) &&
          glow_type_bytes(from->type) == glow_type_bytes(to->type)))
        return false;
    if (!each_access(scratch, from, measure_from, &s) || !s.last ||
        !each_access(scratch, base, leaves_alone, &s))
        return false;
    *last = s.last;
    return true;
}

/* Moves what defines `v`, down from its alloc, to before `where`. */
static void
define_before(glow_value *v, glow_node *where)
{
    while (v->def->mark > where->mark) {
        glow_node *n = v->def;

        glow_node_move_before(n, where);
        n->mark = where->mark;
        if (n->op != &glow_op_tensorview)
            return;
        where = n;
        v = n->in[0];
    }
}

void
keep_alive(glow_value *buffer, glow_node *last)
{
    glow_node *n = is_alloc(buffer) ? dealloc_of(buffer) : NULL;

    if (!n || n->mark >= last->mark)
        return;
    glow_node_move_after(n, last);
    n->mark = last->mark;
}

glow_value *
view_as(glow_value *v, const glow_type *type, glow_node *where)
{
    glow_tensorview all = {.offsets.rank = v->type->shape.rank};
    glow_node *n =
        glow_node_new(where->func, &glow_op_tensorview,
                      glow_derived_name(where->func, v->def->name, "view"), &v,
                      1, &type, 1, &all);

    glow_node_move_before(n, where);
    n->mark = where->mark;
    return n->out[0];
}

void
erase_buffer(glow_value *alloc)
{
    glow_node_erase(dealloc_of(alloc));
    glow_node_erase(alloc->def);
}

void
live_in(glow_value *from, glow_value *to, glow_node *last)
{
    glow_node *alloc = from->def;

    define_before(to, alloc);
    keep_alive(glow_base_buffer(to), last);
    if (from->type != to->type)
        to = view_as(to, from->type, alloc);
    glow_node_erase(dealloc_of(from));
    glow_replace_uses(from, to);
    glow_node_erase(alloc);
}
