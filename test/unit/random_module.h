/*
 * Random modules for tests of the text form: a generator of graphs and programs of the
 * operators of every.h.
 */

#ifndef GLOW_TEST_RANDOM_MODULE_H
#define GLOW_TEST_RANDOM_MODULE_H

#include "every.h"

#include "glow/text.h"

#include <stdlib.h>
#include <string.h>

/* Random numbers: the same on every machine (Steele et al., SplitMix). */

static uint64_t seed;

static inline uint64_t
draw64(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In [0, n). */
static inline int
draw(int n)
{
    return (int)(draw64() % (uint64_t)n);
}

static inline bool
chance(int percent)
{
    return draw(100) < percent;
}

typedef struct fixture {
    glow_context *ctx;
    glow_module *m;
    glow_arena *arena;
    glow_value *values[256]; /* to be used as operands, all of one type */
    int n_values;
    char said[512]; /* the last report */
    char id[8];     /* and its id */
} fixture;

static inline void
keep_message(const glow_diag *d, void *user)
{
    fixture *t = user;

    strncpy(t->said, d->message, sizeof t->said - 1);
    strncpy(t->id, d->id ? d->id : "", sizeof t->id - 1);
}

static inline int
setup(void **state)
{
    fixture *t = calloc(1, sizeof *t);

    t->ctx = glow_context_new();
    t->arena = glow_arena_new();
    glow_context_set_sink(t->ctx, keep_message, t);
    assert_true(glow_register_op(t->ctx, &op_every));
    assert_true(glow_register_op(t->ctx, &op_some));
    assert_true(glow_register_op(t->ctx, &op_none));
    *state = t;
    return 0;
}

static inline int
teardown(void **state)
{
    fixture *t = *state;

    glow_context_free(t->ctx);
    glow_arena_free(t->arena);
    free(t);
    return 0;
}

/* Mostly plain; else any bytes but 0. */
static const char *
draw_name(fixture *t)
{
    static const char *const odd[] = {"in",   "_",   "inf", "[[x]]", "{{", "1",
                                      "data", "a b", "",    "%",     "\""};
    char *name = glow_arena_alloc(t->arena, 8);

    if (chance(70))
        return glow_arena_printf(t->arena, "n.%d", draw(100));
    if (chance(50))
        return odd[draw(sizeof odd / sizeof *odd)];
    for (int i = 0; i < draw(7); i++)
        name[i] = (char)(1 + draw(255));
    return name;
}

static inline float
draw_float(void)
{
    uint32_t bits = (uint32_t)draw64();
    float f;

    if (chance(30))
        return (float)draw(10) / 4;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline glow_dims
draw_dims(void)
{
    glow_dims d = {.rank = draw(GLOW_MAX_RANK + 1)};

    for (int i = 0; i < d.rank; i++)
        d.at[i] = draw(4);
    return d;
}

static inline every
draw_every(fixture *t)
{
    every e = every_default;
    int64_t *ints = GLOW_NEW_ARRAY(t->arena, int64_t, 20);
    float *floats = GLOW_NEW_ARRAY(t->arena, float, 20);

    for (int i = 0; i < 20; i++) {
        ints[i] = (int64_t)draw64();
        floats[i] = draw_float();
    }
    if (chance(50)) {
        e.an_int = (int)draw64();
        e.a_string = draw_name(t);
        e.a_word = draw(3);
        e.ints = (glow_ints){draw(20), ints};
        e.kind = (glow_kind)(1 + draw(GLOW_KIND_COUNT - 1));
    }
    e.an_int64 = (int64_t)draw64();
    e.a_float = draw_float();
    e.a_flag = chance(50);
    e.dims = draw_dims();
    e.floats = (glow_floats){draw(20), floats};
    return e;
}

static inline glow_attr_value
draw_value(fixture *t, int depth)
{
    glow_attr_value v = {.kind = (glow_value_kind)draw(GLOW_V_LIST + 1)};

    v.i = v.kind == GLOW_V_BOOL ? draw(2) : (int64_t)draw64();
    v.f = (double)draw(100) / 8;
    v.text = v.kind == GLOW_V_WORD ? words[draw(3)] : draw_name(t);
    v.size = strlen(v.text);
    v.type = glow_type_get(t->ctx, glow_type_of(GLOW_INT8Q, draw_dims()));
    if (v.kind == GLOW_V_LIST && depth < 4) {
        glow_attr_value *items = GLOW_NEW_ARRAY(t->arena, glow_attr_value, 4);

        v.count = (size_t)draw(5);
        for (size_t i = 0; i < v.count; i++)
            items[i] = draw_value(t, depth + 1);
        v.items = items;
    }
    return v;
}

static inline glow_attr_list
draw_attrs(fixture *t)
{
    size_t count = (size_t)draw(4);
    glow_attr *items = GLOW_NEW_ARRAY(t->arena, glow_attr, 4);

    for (size_t i = 0; i < count; i++)
        items[i] = (glow_attr){.name = glow_arena_printf(t->arena, "%c%s",
                                                         (int)('A' + (int)i),
                                                         draw_name(t)),
                               .value = draw_value(t, 0)};
    return (glow_attr_list){items, count};
}

static const glow_loc *
draw_loc(fixture *t, int depth)
{
    glow_loc *l = GLOW_NEW(t->m->arena, glow_loc);
    const glow_loc **parts = GLOW_NEW_ARRAY(t->m->arena, const glow_loc *, 3);

    l->kind = (glow_loc_kind)draw(depth < 3 ? 6 : 4);
    l->text = draw_name(t);
    if (l->kind == GLOW_LOC_FILE)
        l->line = draw(100);
    if (l->kind == GLOW_LOC_ONNX || l->kind == GLOW_LOC_CAFFE2)
        l->node = draw_name(t);
    l->n_parts = l->kind == GLOW_LOC_FUSED     ? 1 + draw(3)
                 : l->kind == GLOW_LOC_DERIVED ? 1
                                               : 0;
    for (int i = 0; i < l->n_parts; i++)
        parts[i] = draw_loc(t, depth + 1);
    l->parts = parts;
    return l;
}

static const glow_type *
draw_type(fixture *t)
{
    glow_type y = glow_type_of((glow_kind)(1 + draw(GLOW_BOOL)), draw_dims());

    if (glow_is_quantized(y.elem)) {
        y.scale = (float)(1 + draw(1000)) / 1000;
        y.offset =
            draw(256) + (int32_t)(glow_kind_get(y.elem)->is_signed ? -128 : 0);
    }
    return glow_type_get(t->ctx, y);
}

static inline void
add_constant(fixture *t)
{
    const glow_type *y = draw_type(t);
    glow_storage *s;

    if (chance(30)) {
        s = glow_constant_splat(t->m, draw_name(t), y, chance(50) ? 1 : -0.0);
    } else {
        s = glow_constant_new(t->m, draw_name(t), y);
        if (y->elem == GLOW_BOOL)
            glow_tensor_fill(&s->tensor, GLOW_FILL_RAMP, draw64());
        else
            for (int64_t i = 0; i < glow_type_bytes(y); i++)
                ((unsigned char *)s->tensor.data)[i] = (unsigned char)draw64();
    }
    s->attrs = draw_attrs(t);
}

static inline glow_value *
pick(fixture *t)
{
    return t->values[draw(t->n_values)];
}

static inline void
add_storage(fixture *t)
{
    const glow_type *y =
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(4)));

    t->n_values = 0;
    for (int i = 0; i < 4; i++) {
        glow_storage *s = glow_placeholder_new(t->m, draw_name(t), y);

        s->attrs = draw_attrs(t);
        s->loc = chance(30) ? draw_loc(t, 0) : NULL;
        t->values[t->n_values++] = &s->value;
    }
    for (int i = draw(6); i > 0; i--)
        add_constant(t);
}

static const glow_op *
draw_unknown(fixture *t)
{
    static const glow_operand in[] = {{"In0", GLOW_TENSOR, ""},
                                      {"In1", GLOW_OPTIONAL, ""}};
    static const glow_operand out[] = {{"a b", GLOW_TENSOR, ""},
                                       {"1", GLOW_TENSOR, ""}};

    return glow_unknown_op(t->m, "other.Op", in, 2, out, 2);
}

/* One node of a graph. */
static inline void
add_node(fixture *t, glow_func *f)
{
    every e = draw_every(t);
    glow_value *in[8] = {pick(t)};
    const glow_type *types[2] = {in[0]->type, in[0]->type};
    const glow_op *op = &op_some;
    int n_in = 3, n_out = 1;
    const void *attrs = NULL;

    switch (draw(5)) {
    case 0:
        op = &op_every;
        n_in = 2 + draw(5);
        n_out = 2;
        attrs = &e;
        break;
    case 1:
        op = draw_unknown(t);
        n_in = n_out = 2;
        break;
    case 2:
        op = &op_none;
        n_in = 1;
        n_out = 0;
        break;
    case 3:
        op = &glow_op_save;
        n_in = 2;
        n_out = 0;
        break;
    default:
        break;
    }
    for (int i = 1; i < n_in; i++)
        in[i] = pick(t);
    if (op == &glow_op_save)
        in[1] = t->values[draw(4)];
    else if (n_in > 1 && op != &op_none && chance(50))
        in[n_in - 1] = NULL;

    glow_node *n =
        glow_node_new(f, op, draw_name(t), in, n_in, types, n_out, attrs);

    if (op->traits & GLOW_UNKNOWN)
        n->unknown_attrs = draw_attrs(t);
    n->loc = chance(30) ? draw_loc(t, 0) : NULL;
    for (int i = 0; i < n_out; i++)
        t->values[t->n_values++] = n->out[i];
}

/* A graph may use what comes below: some nodes change their places. */
static inline void
add_graph(fixture *t)
{
    glow_func *f = glow_func_new(t->m, draw_name(t));
    int before = t->n_values;

    f->scheduled = chance(50);
    f->attrs = draw_attrs(t);
    for (int i = draw(20); i > 0; i--)
        add_node(t, f);
    if (!f->scheduled)
        GLOW_FOR_EACH_NODE(n, f)
            if (chance(30))
                glow_node_move_before(n, f->first);
    t->n_values = before;
}

static inline glow_value *
add_buffer(fixture *t, glow_func *f, const glow_op *op, glow_storage *s)
{
    const glow_type *y = t->values[0]->type;
    glow_node *n = glow_node_new(f, op, draw_name(t), NULL, 0, &y, 1, NULL);

    n->out[0]->storage = s;
    n->loc = chance(30) ? draw_loc(t, 0) : NULL;
    return n->out[0];
}

/*
 * Buffers 0 to 3 are weights, 4 to 7 allocs.  Operands come from the first
 * half of what is written, results from the rest, but for pairs in place.
 */
static inline void
add_instr(fixture *t, glow_func *f, glow_value **buffers)
{
    every e = draw_every(t);
    bool is_every = chance(50);
    int n_in = is_every ? 2 + draw(4) : 3, a = draw(4), b = (a + 1) % 4;
    glow_value *in[8], *out[2] = {buffers[4 + a], buffers[4 + b]};

    for (int i = 0; i < n_in; i++)
        in[i] = buffers[draw(4)];
    if (chance(50))
        in[0] = out[0];
    if (is_every && n_in > 2 && chance(50))
        in[1] = out[1];
    if (chance(50))
        in[n_in - 1] = NULL;
    if (!is_every && chance(30))
        in[1] = in[0];
    glow_instr_new(f, is_every ? &op_every : &op_some, draw_name(t), out,
                   is_every ? 2 : 1, in, n_in, is_every ? &e : NULL);
}

static inline void
place_buffers(fixture *t, glow_func *f)
{
    glow_region *r = GLOW_NEW(t->m->arena, glow_region);
    int64_t at = 0;

    *r = (glow_region){.name = draw_name(t),
                       .space = draw_name(t),
                       .align = 16,
                       .size = 1024,
                       .capacity = chance(50) ? 1024 : 0};
    f->regions = r;
    f->placed = true;
    GLOW_FOR_EACH_NODE(n, f)
        if (n->op == &glow_op_weight || n->op == &glow_op_alloc) {
            glow_node_set_place(
                n, (glow_place){r, at, chance(50) ? 16 : 32, chance(10)});
            at += 32;
        }
}

static inline void
add_program(fixture *t)
{
    glow_func *f = glow_program_new(t->m, draw_name(t));
    glow_value *buffers[8];

    for (int i = 0; i < 4; i++)
        buffers[i] = add_buffer(t, f, &glow_op_weight, t->values[i]->storage);
    for (int i = 4; i < 8; i++) {
        glow_value *in[] = {buffers[0], NULL, NULL};

        buffers[i] = add_buffer(t, f, &glow_op_alloc, NULL);
        glow_instr_new(f, &op_some, draw_name(t), &buffers[i], 1, in, 3, NULL);
    }
    for (int i = draw(10); i > 0; i--)
        add_instr(t, f, buffers);
    for (int i = 4; i < 8; i++)
        glow_instr_new(f, &glow_op_dealloc, draw_name(t), &buffers[i], 1, NULL,
                       0, NULL);
    if (chance(50))
        place_buffers(t, f);
}

static inline void
draw_module(fixture *t)
{
    t->m = glow_module_new(t->ctx);
    add_storage(t);
    for (int i = draw(4); i > 0; i--) {
        if (chance(50))
            add_graph(t);
        else
            add_program(t);
    }
}

#endif
