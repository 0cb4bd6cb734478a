/*
 * The text form: random modules are printed, read back and compared, broken
 * text is reported and no more, and the time grows as the text does.
 */

#include "unit.h"

#include "glow/eval.h"
#include "glow/file.h"
#include "glow/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Random numbers: the same on every machine (Steele et al., SplitMix). */

static uint64_t seed;

static uint64_t
draw64(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In [0, n). */
static int
draw(int n)
{
    return (int)(draw64() % (uint64_t)n);
}

static bool
chance(int percent)
{
    return draw(100) < percent;
}

/* Operators with every kind of attribute, operand and result. */

static bool
like_first(const glow_node *n, glow_type out[])
{
    for (int i = 0; i < n->n_out; i++)
        out[i] = *n->in[0]->type;
    return true;
}

static bool
no_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
        glow_arena *scratch)
{
    (void)n;
    (void)in;
    (void)out;
    (void)scratch;
    return true;
}

typedef struct every {
    int an_int;
    int64_t an_int64;
    float a_float;
    bool a_flag;
    const char *a_string;
    int a_word;
    glow_dims dims;
    glow_ints ints;
    glow_floats floats;
    glow_kind kind;
} every;

static const char *const words[] = {"first", "second", "third", NULL};
static const int64_t two[] = {1, -2};
static const every every_default = {.an_int = 3,
                                    .a_string = "text",
                                    .ints = {2, two},
                                    .kind = GLOW_FLOAT};

static const glow_op op_every = {
    .name = "test.Every",
    .summary = "has every kind of attribute",
    .in = {{"First", GLOW_TENSOR, ""},
           {"Rest", GLOW_VARIADIC, ""},
           {"Last", GLOW_OPTIONAL, ""}},
    .out = {{"One", GLOW_TENSOR, ""}, {"Two", GLOW_TENSOR, ""}},
    .attrs = {GLOW_FIELD_DEFAULT(every, an_int, GLOW_INT, "-"),
              GLOW_FIELD(every, an_int64, GLOW_INT64, "-"),
              GLOW_FIELD(every, a_float, GLOW_FLOAT32, "-"),
              GLOW_FIELD(every, a_flag, GLOW_FLAG, "-"),
              GLOW_FIELD_DEFAULT(every, a_string, GLOW_STRING, "-"),
              GLOW_FIELD_ENUM(every, a_word, words, "-"),
              GLOW_FIELD(every, dims, GLOW_DIMS, "-"),
              GLOW_FIELD_DEFAULT(every, ints, GLOW_INTS, "-"),
              GLOW_FIELD(every, floats, GLOW_FLOATS, "-"),
              GLOW_FIELD_DEFAULT(every, kind, GLOW_KIND, "-")},
    .defaults = &every_default,
    .inplace = {{0, 0}, {1, 1}, {1, 0}},
    .inplace_count = 3,
    .infer = like_first,
    .eval = no_eval,
    .source = "this test",
};

static const glow_op op_some = {
    .name = "test.Some",
    .summary = "leaves operands out",
    .in = {{"First", GLOW_TENSOR, ""},
           {"Second", GLOW_OPTIONAL, ""},
           {"Third", GLOW_OPTIONAL, ""}},
    .out = {{"Result", GLOW_TENSOR, ""}},
    .inplace = {{0, 0}, {0, 1}},
    .inplace_count = 2,
    .infer = like_first,
    .eval = no_eval,
    .source = "this test",
};

static const glow_op op_none = {
    .name = "test.None",
    .summary = "has no result",
    .in = {{"First", GLOW_TENSOR, ""}},
    .infer = like_first,
    .eval = no_eval,
    .source = "this test",
};

/* The generator. */

typedef struct fixture {
    glow_context *ctx;
    glow_module *m;
    glow_arena *arena;
    glow_value *values[256]; /* to be used as operands, all of one type */
    int n_values;
    char said[512]; /* the last report */
    char id[8];     /* and its id */
} fixture;

static void
keep_message(const glow_diag *d, void *user)
{
    fixture *t = user;

    strncpy(t->said, d->message, sizeof t->said - 1);
    strncpy(t->id, d->id ? d->id : "", sizeof t->id - 1);
}

static int
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

static int
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

static float
draw_float(void)
{
    uint32_t bits = (uint32_t)draw64();
    float f;

    if (chance(30))
        return (float)draw(10) / 4;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static glow_dims
draw_dims(void)
{
    glow_dims d = {.rank = draw(GLOW_MAX_RANK + 1)};

    for (int i = 0; i < d.rank; i++)
        d.at[i] = draw(4);
    return d;
}

static every
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

static glow_attr_value
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

static glow_attr_list
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

static void
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

static glow_value *
pick(fixture *t)
{
    return t->values[draw(t->n_values)];
}

static void
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
static void
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
static void
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

static glow_value *
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
static void
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

static void
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

static void
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

static void
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

/* Equality of what was read with what was printed (R2). */

static void
assert_same_storage(const glow_storage *a, const glow_storage *b)
{
    assert_string_equal(a->name, b->name);
    assert_ptr_equal(a->value.type, b->value.type);
    assert_int_equal(a->payload, b->payload);
    assert_int_equal(a->splat_int, b->splat_int);
    if (glow_is_float(a->value.type->elem))
        assert_memory_equal(&a->splat, &b->splat, sizeof a->splat);
    if (a->payload == GLOW_DATA && glow_type_bytes(a->value.type) > 0)
        assert_memory_equal(a->tensor.data, b->tensor.data,
                            (size_t)glow_type_bytes(a->value.type));
}

static void
assert_same_value(const glow_value *a, const glow_value *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (!a)
        return;
    assert_ptr_equal(a->type, b->type);
    assert_int_equal(a->index, b->index);
    assert_string_equal(a->def ? a->def->name : a->storage->name,
                        b->def ? b->def->name : b->storage->name);
}

static void
assert_same_node(const glow_node *a, const glow_node *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->op->name, b->op->name);
    assert_int_equal(a->n_in, b->n_in);
    assert_int_equal(a->n_out, b->n_out);
    for (int i = 0; i < a->n_in; i++)
        assert_same_value(a->in[i], b->in[i]);
    for (int i = 0; i < a->n_out; i++)
        assert_same_value(a->out[i], b->out[i]);
    assert_true(!a->attrs ||
                glow_attrs_equal(glow_op_schema(a->op), a->attrs, b->attrs));
    assert_int_equal(a->place == NULL, b->place == NULL);
    assert_true(!a->place || (a->place->offset == b->place->offset &&
                              a->place->size == b->place->size));
}

static void
assert_same_func(const glow_func *a, const glow_func *b)
{
    const glow_node *n = b->first;

    assert_int_equal(a->is_program, b->is_program);
    assert_int_equal(a->placed, b->placed);
    assert_int_equal(a->scheduled, b->scheduled);
    assert_int_equal(a->count, b->count);
    for (const glow_node *i = a->first; i; i = i->next, n = n->next)
        assert_same_node(i, n);
}

static void
assert_same_module(const glow_module *a, const glow_module *b)
{
    for (const glow_storage *s = a->storage; s; s = s->next) {
        assert_non_null(glow_find_storage(b, s->name));
        assert_same_storage(s, glow_find_storage(b, s->name));
    }
    for (const glow_func *f = a->funcs; f; f = f->next) {
        assert_non_null(glow_find_func(b, f->name));
        assert_same_func(f, glow_find_func(b, f->name));
    }
}

static glow_module *
read_text(fixture *t, const char *text, size_t size)
{
    const glow_source *s = glow_source_from(t->ctx, "test.gir", text, size);

    return glow_parse(t->ctx, s,
                      &(glow_parse_options){.allow_unknown_ops = true});
}

static void
random_modules_survive(void **state)
{
    fixture *t = *state;

    for (int i = 0; i < 500; i++) {
        glow_buf first = {0}, second = {0};
        glow_module *back;

        seed = (uint64_t)i;
        draw_module(t);
        glow_print(&first, t->m, NULL);
        assert_null(strstr(first.text, "[["));
        assert_null(strstr(first.text, "{{"));
        back = read_text(t, first.text, first.len);
        if (!back)
            fail_msg("seed %d: %s\n%s", i, t->said, first.text);
        glow_print(&second, back, NULL);
        assert_string_equal(first.text, second.text);
        assert_same_module(t->m, back);
        glow_module_free(back);
        glow_module_free(t->m);
        glow_buf_free(&first);
        glow_buf_free(&second);
        glow_arena_reset(t->arena);
    }
}

/* Constants that go to a weights file come back from it. */

static void
assert_same_elements(glow_module *a, glow_module *b)
{
    GLOW_FOR_EACH_STORAGE(s, a) {
        glow_storage *other = glow_find_storage(b, s->name);
        int64_t size = glow_type_bytes(s->value.type);
        const glow_tensor *t;

        if (!s->is_constant)
            continue;
        t = glow_constant_tensor(other);
        assert_non_null(t);
        assert_int_equal((uintptr_t)t->data %
                             (size_t)glow_kind_get(t->type->elem)->bytes,
                         0);
        if (size > 0)
            assert_memory_equal(t->data, glow_constant_tensor(s)->data,
                                (size_t)size);
    }
}

static void
weights_files_hold_constants(void **state)
{
    fixture *t = *state;
    char folder[] = "/tmp/glow-test-XXXXXX";
    char path[sizeof folder + 16];
    bool any = false;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    for (int i = 0; i < 50; i++) {
        glow_parse_options o = {.allow_unknown_ops = true, .folder = folder};
        glow_buf b = {0};
        glow_module *back;

        seed = (uint64_t)i;
        draw_module(t);
        assert_true(glow_externalize(t->m, "w", path, 4));
        any |= t->m->weights != NULL;
        glow_print(&b, t->m, NULL);
        back = glow_parse(
            t->ctx, glow_source_from(t->ctx, "test.gir", b.text, b.len), &o);
        assert_non_null(back);
        assert_same_elements(t->m, back);
        glow_module_free(back);
        glow_module_free(t->m);
        glow_buf_free(&b);
        glow_arena_reset(t->arena);
        remove(path);
    }
    assert_true(any);
    assert_int_equal(rmdir(folder), 0);
}

/* Bytes change, go, come and are repeated. */
static void
damage(char *text, size_t *size, size_t room)
{
    static const char signs[] = "(){}[]<>,:=@%$#\"\\+?-_x0 \n/";

    for (int i = 1 + draw(4); i > 0 && *size > 0; i--) {
        size_t at = (size_t)draw((int)*size), n = (size_t)draw(20);

        if (n > *size - at)
            n = *size - at;
        switch (draw(4)) {
        case 0:
            text[at] = (char)draw(256);
            break;
        case 1:
            text[at] = signs[draw((int)sizeof signs - 1)];
            break;
        case 2:
            memmove(text + at, text + at + n, *size - at - n);
            *size -= n;
            break;
        default:
            if (*size + n > room)
                break;
            memmove(text + at + n, text + at, *size - at);
            *size += n;
        }
    }
}

/* Under sanitizers this says more. */
static void
broken_text_is_reported(void **state)
{
    fixture *t = *state;
    int wrong = 0;

    for (int i = 0; i < 3000; i++) {
        glow_buf b = {0};
        glow_module *back;
        size_t size;
        char *text;

        seed = (uint64_t)i % 50;
        draw_module(t);
        glow_print(&b, t->m, NULL);
        seed = (uint64_t)i + 1000000;
        size = b.len;
        text = calloc(size + 101, 1);
        memcpy(text, b.text, size);
        damage(text, &size, size + 100);
        text[size] = '\0';
        t->said[0] = '\0';
        back = read_text(t, text, size);
        assert_true(back || t->said[0]);
        wrong += !back;
        glow_module_free(back);
        glow_module_free(t->m);
        glow_buf_free(&b);
        free(text);
        glow_arena_reset(t->arena);
    }
    assert_true(wrong > 1000);
}

static void
any_bytes_are_reported(void **state)
{
    fixture *t = *state;
    char text[256];

    seed = 1;
    for (int i = 0; i < 2000; i++) {
        size_t size = (size_t)draw(sizeof text);
        glow_module *m;

        for (size_t j = 0; j < size; j++)
            text[j] = (char)draw(256);
        text[size < sizeof text ? size : sizeof text - 1] = '\0';
        m = read_text(t, text, size);
        glow_module_free(m);
    }
}

/* Processor time that a graph of `n` nodes, in reverse order, takes. */
static double
time_of(fixture *t, int n)
{
    glow_buf b = {0}, again = {0};
    clock_t begin;
    glow_module *m;
    double seconds;

    glow_buf_puts(&b, "placeholder @x : float<4>\nfunction @main {\n");
    for (int i = n; i > 0; i--)
        glow_buf_printf(&b, "  %%n%d = Add(%%n%d, @x) : float<4>\n", i, i - 1);
    glow_buf_puts(&b, "  %n0 = Relu(@x) : float<4>\n}\n");
    begin = clock();
    m = read_text(t, b.text, b.len);
    assert_non_null(m);
    glow_print(&again, m, NULL);
    seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    glow_module_free(m);
    glow_buf_free(&b);
    glow_buf_free(&again);
    return seconds;
}

/* Eight times the text: about 8 times the time, where squares take 64. */
static void
time_grows_with_the_text(void **state)
{
    double small = time_of(*state, 10000), large;

    if (small < 0.01)
        small = 0.01;
    large = time_of(*state, 80000);
    assert_true(large < 24 * small);
}

/* Errors that no file that is handy for a test leads to. */

static void
a_text_has_less_than_two_gib(void **state)
{
    fixture *t = *state;

    assert_null(read_text(t, "gir 1", (size_t)1 << 31));
    assert_string_equal(t->id, "E0138");
}

static void
an_elided_constant_has_no_tensor(void **state)
{
    fixture *t = *state;
    static const char text[] = "constant @c : float<2> = elided(\"sha256:00\")";
    const glow_source *s =
        glow_source_from(t->ctx, "test.gir", text, sizeof text - 1);
    glow_module *m =
        glow_parse(t->ctx, s, &(glow_parse_options){.allow_elided = true});

    assert_non_null(m);
    assert_null(glow_constant_tensor(glow_find_storage(m, "c")));
    assert_string_equal(t->id, "E0608");
    glow_module_free(m);
}

static void
a_node_has_all_its_operands(void **state)
{
    fixture *t = *state;
    glow_module *m = glow_module_new(t->ctx);
    glow_func *f = glow_func_new(m, "main");
    const glow_type *y =
        glow_type_get(t->ctx, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(4)));
    glow_value *none[1] = {NULL};

    glow_node_new(f, &op_some, "few", none, 0, &y, 1, NULL);
    assert_false(glow_verify(m));
    assert_string_equal(t->id, "E0202");
    glow_module_free(m);
}

static void
a_span_knows_its_line(void **state)
{
    fixture *t = *state;
    static const char text[] = "a\nbc\n\nd";
    const glow_source *s = glow_source_from(t->ctx, "f", text, 7);
    int line, column;

    glow_span_line((glow_span){s, 3, 4}, &line, &column);
    assert_int_equal(line, 2);
    assert_int_equal(column, 2);
    glow_span_line((glow_span){s, 7, 7}, &line, &column);
    assert_int_equal(line, 4);
    assert_int_equal(column, 2);
}

/* What a file holds cannot drive the terminal that shows it. */
static void
diagnostics_escape(void **state)
{
    fixture *t = *state;
    static const char text[] = "x \x1b[31m\xff\xc2\x9b y\n";
    const glow_source *s =
        glow_source_from(t->ctx, "a\tb", text, sizeof text - 1);
    glow_diag d = {.id = "E0101",
                   .message = "bad \x1b",
                   .span = {s, 2, 4},
                   .label = "here",
                   .hint = "remove it"};
    glow_buf b = {0};

    glow_diag_text(&b, &d, false);
    assert_string_equal(b.text, "a b:1:3: error[E0101]: bad \\x1b\n"
                                "   1 | x \\x1b[31m\\xff\\xc2\\x9b y\n"
                                "     |   ^~~~~ here\n"
                                "help: remove it\n");
    glow_buf_free(&b);
    b = (glow_buf){0};
    glow_diag_json(&b, &d);
    assert_string_equal(
        b.text, "{\"severity\": \"error\", \"id\": \"E0101\", \"message\": "
                "\"bad \\u001b\", \"file\": \"a\\u0009b\", \"line\": 1, "
                "\"column\": 3, \"end_line\": 1, \"end_column\": 5, \"label\": "
                "\"here\", \"hint\": \"remove it\"}\n");
    glow_buf_free(&b);
}

static void
ids_are_in_order(void **state)
{
    const glow_diag_info *d = glow_diag_all();

    (void)state;
    for (; d->id; d++) {
        assert_true(d->summary[0] && d->explain[0]);
        assert_ptr_equal(glow_diag_find(d->id), d);
        if (d[1].id && d[0].id[0] == d[1].id[0])
            assert_true(strcmp(d[0].id, d[1].id) < 0);
    }
    assert_null(glow_diag_find("E9999"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_modules_survive, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(weights_files_hold_constants, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(broken_text_is_reported, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(any_bytes_are_reported, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(time_grows_with_the_text, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_text_has_less_than_two_gib, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_elided_constant_has_no_tensor, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_node_has_all_its_operands, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_span_knows_its_line, setup, teardown),
        cmocka_unit_test_setup_teardown(diagnostics_escape, setup, teardown),
        cmocka_unit_test(ids_are_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
