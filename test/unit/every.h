/* Operators with every kind of attribute, operand and result. */

#ifndef GLOW_TEST_EVERY_H
#define GLOW_TEST_EVERY_H

#include "unit.h"

#include "glow/eval.h"

static inline bool
like_first(const glow_node *n, glow_type out[])
{
    for (int i = 0; i < n->n_out; i++)
        out[i] = *n->in[0]->type;
    return true;
}

static inline bool
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

#endif
