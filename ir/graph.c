/*
 * Functions and nodes: construction, search, mutation.  Maintains use lists,
 * names and the order of nodes.
 */

#include "glow/graph.h"
#include "ir/profile.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Use lists. */

static void
link_use(glow_use *u, glow_value *v)
{
    u->value = v;
    if (!v) {
        u->next = NULL;
        u->link = NULL;
        return;
    }
    u->next = v->uses;
    u->link = &v->uses;
    if (v->uses)
        v->uses->link = &u->next;
    v->uses = u;
}

static void
unlink_use(glow_use *u)
{
    if (!u->value)
        return;
    *u->link = u->next;
    if (u->next)
        u->next->link = u->link;
    u->value = NULL;
}

/* A node's records: operands, written buffers, predicate, scratch. */

static glow_use *
operand_use(glow_node *n, int i)
{
    return &n->uses[i];
}

static glow_use *
result_use(glow_node *n, int i)
{
    return &n->uses[n->n_in + i];
}

static glow_use *
pred_use(glow_node *n)
{
    return &n->uses[n->n_in + (glow_defines(n) ? 0 : n->n_out)];
}

static glow_use *
scratch_use(glow_node *n)
{
    return pred_use(n) + 1;
}

void
glow_set_operand(glow_node *n, int i, glow_value *v)
{
    unlink_use(operand_use(n, i));
    n->in[i] = v;
    link_use(operand_use(n, i), v);
}

void
glow_set_result(glow_node *n, int i, glow_value *v)
{
    assert(!glow_defines(n));
    unlink_use(result_use(n, i));
    n->out[i] = v;
    link_use(result_use(n, i), v);
}

void
glow_set_pred(glow_node *n, glow_value *v)
{
    unlink_use(pred_use(n));
    n->pred = v;
    link_use(pred_use(n), v);
}

void
glow_set_scratch(glow_node *n, glow_value *v)
{
    assert(n->func->is_program && n->op != &glow_op_alloc &&
           n->op != &glow_op_weight && n->op != &glow_op_tensorview);
    unlink_use(scratch_use(n));
    n->scratch = v;
    link_use(scratch_use(n), v);
}

void
glow_set_queue(glow_node *n, const char *queue)
{
    assert(n->func->is_program && !(n->op->traits & GLOW_STRUCTURAL));
    n->queue = queue ? glow_arena_strdup(n->func->module->arena, queue) : NULL;
}

bool
glow_is_token(const glow_node *n)
{
    return n->op == &glow_op_alloc && n->out[0]->type->elem == GLOW_TOKEN;
}

bool
glow_has_queues(const glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (n->queue)
            return true;
    return false;
}

void
glow_replace_uses(glow_value *v, glow_value *with)
{
    assert(v != with);
    while (v->uses) {
        glow_use *u = v->uses;

        if (u->index < 0 && u->writes)
            glow_set_scratch(u->user, with);
        else if (u->index < 0)
            glow_set_pred(u->user, with);
        else if (u->writes)
            glow_set_result(u->user, u->index, with);
        else
            glow_set_operand(u->user, u->index, with);
    }
}

/* Order. */

static void
link_node(glow_node *n, glow_node *before)
{
    glow_func *f = n->func;

    n->next = before;
    n->prev = before ? before->prev : f->last;
    *(n->prev ? &n->prev->next : &f->first) = n;
    *(before ? &before->prev : &f->last) = n;
}

static void
unlink_node(glow_node *n)
{
    glow_func *f = n->func;

    *(n->prev ? &n->prev->next : &f->first) = n->next;
    *(n->next ? &n->next->prev : &f->last) = n->prev;
    n->prev = n->next = NULL;
}

void
glow_node_move_before(glow_node *n, glow_node *where)
{
    if (n == where)
        return;
    unlink_node(n);
    link_node(n, where);
}

void
glow_node_move_after(glow_node *n, glow_node *where)
{
    if (n == where)
        return;
    unlink_node(n);
    link_node(n, where->next);
}

/* Names. */

/*
 * `base`.`suffix`, without parsing a format, since it is called for every new
 * name.
 */
static const char *
dotted(glow_arena *a, const char *base, const char *suffix)
{
    size_t first = strlen(base), second = strlen(suffix);
    char *name = glow_arena_alloc(a, first + second + 2);

    memcpy(name, base, first);
    name[first] = '.';
    memcpy(name + first + 1, suffix, second);
    return name;
}

const char *
glow_derived_name(glow_func *f, const char *base, const char *suffix)
{
    glow_arena *a = f->module->arena;
    const char *name = suffix ? dotted(a, base, suffix) : base;

    if (!glow_map_get(f->names, name))
        return suffix ? name : glow_arena_strdup(a, name);

    uintptr_t i = (uintptr_t)glow_map_get(f->counters, name);
    const char *numbered;

    do
        numbered = glow_arena_printf(a, "%s.%zu", name, (size_t)++i);
    while (glow_map_get(f->names, numbered));
    glow_map_set(f->counters, glow_arena_strdup(a, name), (void *)i);
    return numbered;
}

void
glow_node_rename(glow_node *n, const char *name)
{
    const char *before = n->name;

    if (strcmp(n->name, name) == 0)
        return;
    glow_map_set(n->func->names, n->name, NULL);
    n->name = glow_derived_name(n->func, name, NULL);
    glow_map_set(n->func->names, n->name, n);
    glow_ranges_rename(n, before);
}

glow_node *
glow_find_node(const glow_func *f, const char *name)
{
    return glow_map_get(f->names, name);
}

/* Construction and erasure. */

/* Capacities of a block of nodes. */
enum { LEAST_ROOM = 4, MOST_ROOM = 512 };

/*
 * Nodes are allocated contiguously in the order of their creation, apart from
 * their arrays: a walk over a function then reads memory in order, and one
 * cache line of each node.
 */
static glow_node *
room_for_node(glow_func *f)
{
    if (f->n_room == 0) {
        int like_now = f->count < MOST_ROOM ? f->count : MOST_ROOM;

        f->n_room = like_now > LEAST_ROOM ? like_now : LEAST_ROOM;
        f->room = glow_arena_alloc_array(f->module->arena, (size_t)f->n_room,
                                         GLOW_NODE_ROOM);
    }

    unsigned char *at = f->room;

    f->room += GLOW_NODE_ROOM;
    f->n_room--;
    return (glow_node *)(void *)at;
}

/*
 * A bit of func->ops, by a hash of the operator: a Bloom filter, which only
 * saves time.
 */
static unsigned
op_bit(const glow_op *op)
{
    return (unsigned)(((uintptr_t)op >> 4) * UINT64_C(0x9e3779b97f4a7c15) >>
                      56);
}

bool
glow_func_may_have(const glow_func *f, const glow_op *op)
{
    unsigned bit = op_bit(op);

    return f->ops[bit / 64] >> bit % 64 & 1;
}

/* Allocates a node and its arrays, and appends it to `f`. */
static glow_node *
node_new(glow_func *f, const glow_op *op, const char *name, int n_in, int n_out,
         const void *attrs)
{
    glow_arena *a = f->module->arena;
    glow_node *n = room_for_node(f);
    char own[64];

    if (!name) {
        glow_op_instr_name(op, own, sizeof own);
        name = strrchr(own, '.') ? strrchr(own, '.') + 1 : own;
    }
    n->op = op;
    f->ops[op_bit(op) / 64] |= UINT64_C(1) << op_bit(op) % 64;
    n->func = f;
    n->n_in = n_in;
    n->n_out = n_out;
    n->in = GLOW_NEW_ARRAY(a, glow_value *, n_in + n_out);
    n->out = n->in + n_in;
    n->attrs =
        glow_attrs_copy(a, glow_op_schema(op), attrs ? attrs : op->defaults);
    n->id = f->next_id++;
    n->name = glow_derived_name(f, name, NULL);
    glow_map_set(f->names, n->name, n);
    f->count++;
    link_node(n, NULL);
    return n;
}

/*
 * `written`: number of results that are buffers of others; -1 if `n` defines
 * its own.
 */
static void
init_uses(glow_node *n, int written)
{
    int pred = n->n_in + (written < 0 ? 0 : written);
    int count = pred + (written < 0 ? 1 : 2);

    n->uses = GLOW_NEW_ARRAY(n->func->module->arena, glow_use, count);
    for (int i = 0; i < count; i++) {
        n->uses[i].user = n;
        n->uses[i].index = i < n->n_in ? i : i - n->n_in;
        n->uses[i].writes = i >= n->n_in;
    }
    n->uses[pred].writes = false;
    for (int i = pred; i < count; i++)
        n->uses[i].index = -1;
}

glow_node *
glow_node_new(glow_func *f, const glow_op *op, const char *name,
              glow_value *const *in, int n_in, const glow_type *const *types,
              int n_out, const void *attrs)
{
    glow_node *n = node_new(f, op, name, n_in, n_out, attrs);
    glow_value *values = GLOW_NEW_ARRAY(f->module->arena, glow_value, n_out);

    for (int i = 0; i < n_out; i++) {
        values[i] = (glow_value){.type = types[i], .def = n, .index = i};
        n->out[i] = &values[i];
    }
    init_uses(n, -1);
    for (int i = 0; i < n_in; i++) {
        n->in[i] = in[i];
        link_use(operand_use(n, i), in[i]);
    }
    return n;
}

glow_node *
glow_instr_new(glow_func *f, const glow_op *op, const char *name,
               glow_value *const *out, int n_out, glow_value *const *in,
               int n_in, const void *attrs)
{
    glow_node *n = node_new(f, op, name, n_in, n_out, attrs);

    init_uses(n, n_out);
    for (int i = 0; i < n_in; i++) {
        n->in[i] = in[i];
        link_use(operand_use(n, i), in[i]);
    }
    for (int i = 0; i < n_out; i++) {
        n->out[i] = out[i];
        link_use(result_use(n, i), out[i]);
    }
    return n;
}

void
glow_node_erase(glow_node *n)
{
    if (glow_defines(n))
        for (int i = 0; i < n->n_out; i++)
            assert(!n->out[i]->uses);
    else
        for (int i = 0; i < n->n_out; i++)
            unlink_use(result_use(n, i));
    for (int i = 0; i < n->n_in; i++)
        unlink_use(operand_use(n, i));
    unlink_use(pred_use(n));
    if (n->scratch)
        unlink_use(scratch_use(n));
    glow_map_set(n->func->names, n->name, NULL);
    n->func->count--;
    unlink_node(n);
}

void
glow_node_set_attrs(glow_node *n, const void *attrs)
{
    n->attrs =
        glow_attrs_copy(n->func->module->arena, glow_op_schema(n->op), attrs);
}

void
glow_node_set_place(glow_node *n, glow_place place)
{
    n->place = glow_arena_copy(n->func->module->arena, &place, sizeof place);
}

void
glow_func_unplace(glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (!glow_is_fixed(n))
            n->place = NULL;
    for (glow_region *r = f->regions; r; r = r->next)
        r->size = 0;
    f->placed = false;
}

/* Queries. */

bool
glow_is_fixed(const glow_node *n)
{
    return n->place && n->place->is_fixed;
}

const char *
glow_space_of(const glow_node *n)
{
    const glow_in_space *in = n->attrs;
    bool is_buffer = n->op == &glow_op_alloc || n->op == &glow_op_weight;

    return is_buffer && in && *in->space ? in->space : NULL;
}

glow_region *
glow_find_region(const glow_func *f, const char *name)
{
    glow_region *r = f->regions;

    while (r && strcmp(r->name, name) != 0)
        r = r->next;
    return r;
}

glow_region *
glow_region_new(glow_func *f, const char *name, const char *space,
                int64_t align, int64_t capacity)
{
    glow_arena *a = f->module->arena;
    glow_region **end = &f->regions, *r;

    assert(f->is_program && align > 0 && (align & (align - 1)) == 0 &&
           capacity >= 0);
    if (glow_find_region(f, name))
        return NULL;
    r = GLOW_NEW(a, glow_region);
    *r = (glow_region){.name = glow_arena_strdup(a, name),
                       .space = glow_arena_strdup(a, space),
                       .align = align,
                       .capacity = capacity};
    while (*end)
        end = &(*end)->next;
    *end = r;
    return r;
}

glow_place_space
glow_region_space(const glow_region *r)
{
    return (glow_place_space){
        .capacity = r->capacity ? r->capacity : INT64_MAX,
        .bank = r->bank,
        .forbidden = r->forbidden,
        .n_forbidden = r->n_forbidden,
    };
}

bool
glow_defines(const glow_node *n)
{
    if (!n->func->is_program || n->n_out == 0)
        return true;
    return n->op == &glow_op_alloc || n->op == &glow_op_weight ||
           n->op == &glow_op_tensorview;
}

void
glow_operand_range(const glow_node *n, int k, int *first, int *count)
{
    int variadic = glow_op_variadic(n->op);
    int group = n->n_in - (glow_op_operands(n->op) - 1);

    *count = k == variadic ? group : 1;
    *first = variadic >= 0 && k > variadic ? k + group - 1 : k;
}

int
glow_operand_of(const glow_node *n, int i)
{
    int variadic = glow_op_variadic(n->op);
    int group = n->n_in - (glow_op_operands(n->op) - 1);

    if (variadic < 0 || i < variadic)
        return i;
    return i < variadic + group ? variadic : i - group + 1;
}

bool
glow_may_be_inplace(const glow_node *n, int out, int i)
{
    int k = glow_operand_of(n, i);

    for (int p = 0; p < n->op->inplace_count; p++)
        if (n->op->inplace[p].out == out && n->op->inplace[p].in == k)
            return true;
    return false;
}

bool
glow_next_inplace(const glow_node *n, glow_inplace_at *at)
{
    for (; at->pair < n->op->inplace_count; at->pair++, at->value = 0) {
        const glow_inplace *p = &n->op->inplace[at->pair];
        int first, count;

        glow_operand_range(n, p->in, &first, &count);
        if (at->value == count)
            continue;
        at->out = p->out;
        at->in = first + at->value++;
        return true;
    }
    return false;
}

bool
glow_is_inplace(const glow_node *n, int out, int i)
{
    const glow_value *a = n->in[i], *r = n->out[out];

    if (!a || !glow_may_be_inplace(n, out, i))
        return false;
    if (a == r)
        return true;

    glow_extent over = glow_extent_of(a), made = glow_extent_of(r);

    return over.base == made.base && over.first == made.first &&
           glow_type_fits_inplace(a->type, r->type);
}

bool
glow_has_one_use(const glow_value *v)
{
    return v->uses && !v->uses->next;
}

bool
glow_is_unused(const glow_value *v)
{
    return !v->uses;
}

bool
glow_is_constant(const glow_value *v)
{
    return v->storage && v->storage->is_constant;
}

glow_value *
glow_base_buffer(glow_value *v)
{
    while (v->def && v->def->op == &glow_op_tensorview)
        v = v->def->in[0];
    return v;
}

bool
glow_is(const glow_node *n, const glow_op *op)
{
    return n && n->op == op;
}

static bool
has_quantized(glow_value *const *v, int count)
{
    for (int i = 0; i < count; i++)
        if (v[i] && glow_is_quantized(v[i]->type->elem))
            return true;
    return false;
}

bool
glow_computes_quantized(const glow_node *n)
{
    return !(n->op->traits & (GLOW_LAYOUT | GLOW_STRUCTURAL)) &&
           (has_quantized(n->in, n->n_in) || has_quantized(n->out, n->n_out));
}

bool
glow_states_type(const glow_node *n)
{
    return n->op->traits & GLOW_STATED ||
           (!(n->op->traits & GLOW_LAYOUT) && has_quantized(n->out, n->n_out));
}

const void *
glow_attrs_if(const glow_node *n, const glow_op *op)
{
    return glow_is(n, op) ? n->attrs : NULL;
}
