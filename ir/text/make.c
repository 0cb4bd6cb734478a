/* Construction of parts of the syntax tree: names, numbers and types. */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text/parse.h"

/* Names are NUL-terminated, so they may not contain a NUL. */
text_name
glow_text_name_of(text_parser *p, text_string s)
{
    if (memchr(s.text, '\0', s.size))
        glow_text_error(p, s.span, "E0102", "a name cannot hold the byte 0");
    return (text_name){s.text, s.span};
}

text_value *
glow_text_value_new(text_parser *p, glow_value_kind kind, text_span at)
{
    text_value *v = GLOW_NEW(p->arena, text_value);

    v->kind = kind;
    v->span = at;
    return v;
}

text_arg *
glow_text_arg_new(text_parser *p, text_value *v)
{
    text_arg *a = GLOW_NEW(p->arena, text_arg);

    a->kind = TEXT_ARG_VALUE;
    a->value = v;
    return a;
}

void
glow_text_expect_word(text_parser *p, text_name got, const char *want)
{
    if (strcmp(got.text, want) != 0)
        glow_text_error(p, got.span, "E0104", "expected `%s`, found `%s`", want,
                        got.text);
}

/* Numbers. */

bool
glow_text_int(text_parser *p, text_number n, int64_t *out)
{
    long long v;

    if (n.is_float) {
        glow_text_error(p, n.span, "E0103", "%s is not an integer", n.text);
        return false;
    }
    errno = 0;
    v = strtoll(n.text, NULL, 10);
    if (errno == ERANGE) {
        glow_text_error(p, n.span, "E0103", "%s does not fit a 64-bit integer",
                        n.text);
        return false;
    }
    *out = v;
    return true;
}

bool
glow_text_size(text_parser *p, text_number n, int64_t *out)
{
    int64_t v;

    if (!glow_text_int(p, n, &v))
        return false;
    if (v < 0) {
        glow_text_error(p, n.span, "E0103", "the size %" PRId64 " is negative",
                        v);
        return false;
    }
    *out = v;
    return true;
}

/* The bits of `nan` and `nan(0x7fc00001)`, if the number is one of them. */
static bool
nan_bits(const char *text, uint64_t plain, uint64_t *out)
{
    if (strncmp(text, "nan", 3) != 0)
        return false;
    *out = text[3] == '(' ? strtoull(text + 4, NULL, 16) : plain;
    return true;
}

static bool
bad_float(text_parser *p, text_number n, const char *kind)
{
    glow_text_error(p, n.span, "E0103", "%s is no %s", n.text, kind);
    return false;
}

static bool
is_infinite(const char *text)
{
    return strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0;
}

bool
glow_text_float(text_parser *p, text_number n, float *out)
{
    uint64_t bits;

    if (nan_bits(n.text, 0x7fc00000, &bits)) {
        uint32_t low = (uint32_t)bits;

        if (bits > UINT32_MAX || (low & 0x7f800000) != 0x7f800000 ||
            (low & 0x7fffff) == 0)
            return bad_float(p, n, "NaN of binary32");
        memcpy(out, &low, sizeof low);
        return true;
    }
    *out = strtof(n.text, NULL);
    if (isinf(*out) && !is_infinite(n.text))
        return bad_float(p, n, "number in the range of binary32");
    return true;
}

bool
glow_text_double(text_parser *p, text_number n, double *out)
{
    uint64_t bits;

    if (nan_bits(n.text, 0x7ff8000000000000, &bits)) {
        if ((bits & 0x7ff0000000000000) != 0x7ff0000000000000 ||
            (bits & 0xfffffffffffff) == 0)
            return bad_float(p, n, "NaN of binary64");
        memcpy(out, &bits, sizeof bits);
        return true;
    }
    *out = strtod(n.text, NULL);
    if (isinf(*out) && !is_infinite(n.text))
        return bad_float(p, n, "number in the range of binary64");
    return true;
}

/* Shapes: numbers with an `x` between each two. */

static void
bad_shape(text_parser *p, text_shape *s, text_span at, const char *text)
{
    if (!s->bad)
        glow_text_error(p, at, "E0104",
                        "a shape is written `2 x 3`, but `%s` stands in it",
                        text);
    s->bad = true;
}

void
glow_text_shape_int(text_parser *p, text_shape *s, text_number n)
{
    int64_t size = 0;

    if (s->dims.rank > 0 && !s->after_x) {
        bad_shape(p, s, n.span, n.text);
    } else if (s->dims.rank == GLOW_MAX_RANK) {
        if (!s->bad)
            glow_text_error(p, n.span, "E0131",
                            "a shape has at most %d dimensions", GLOW_MAX_RANK);
        s->bad = true;
    } else if (!glow_text_size(p, n, &size)) {
        s->bad = true;
    }
    s->after_x = false;
    if (!s->bad)
        s->dims.at[s->dims.rank++] = size;
}

/* Names of element kinds in other text forms. */
static const struct {
    const char *theirs, *ours;
} foreign_kinds[] = {
    {"f16", "float16"},   {"f32", "float"},       {"f64", "float64"},
    {"float32", "float"}, {"half", "float16"},    {"double", "float64"},
    {"bf16", "bfloat16"}, {"i1", "bool"},         {"pred", "bool"},
    {"si8", "int8"},      {"si16", "int16"},      {"si32", "index32"},
    {"si64", "index64"},  {"s8", "int8"},         {"s16", "int16"},
    {"s32", "index32"},   {"s64", "index64"},     {"int32", "index32"},
    {"int64", "index64"}, {"index", "index64"},   {"u8", "uindex8"},
    {"uint8", "uindex8"}, {"ui16", "uint16"},     {"ui32", "uint32"},
    {"ui64", "uint64"},   {"u16", "uint16"},      {"u32", "uint32"},
    {"u64", "uint64"},    {"FLOAT", "float"},     {"INT64", "index64"},
    {"INT32", "index32"}, {"FLOAT16", "float16"},
};

/*
 * Names of element kinds in other text forms whose namesakes are quantized
 * here; see `quantize`.
 */
static const struct {
    const char *quantized, *plain;
} plain_kinds[] = {
    {"i8", "int8"},     {"ui8", "uindex8"}, {"i16", "int16"},
    {"i32", "index32"}, {"i64", "index64"},
};

/* Types of other text forms, in which the element kind follows the shape. */
static const char *const foreign_types[] = {"tensor", "memref", "vector"};

static const char *
ours(const char *kind)
{
    for (size_t i = 0; i < sizeof foreign_kinds / sizeof *foreign_kinds; i++)
        if (strcmp(foreign_kinds[i].theirs, kind) == 0)
            return foreign_kinds[i].ours;
    return NULL;
}

static const char *
plain_kind(const char *kind)
{
    for (size_t i = 0; i < sizeof plain_kinds / sizeof *plain_kinds; i++)
        if (strcmp(plain_kinds[i].quantized, kind) == 0)
            return plain_kinds[i].plain;
    return NULL;
}

static bool
is_foreign_type(const char *word)
{
    for (size_t i = 0; i < sizeof foreign_types / sizeof *foreign_types; i++)
        if (strcmp(foreign_types[i], word) == 0)
            return true;
    return false;
}

bool
glow_text_is_type_word(const char *word)
{
    return glow_kind_named(word) != GLOW_NO_KIND || ours(word) ||
           is_foreign_type(word);
}

/* `xf32`, or `f32` alone: the end of a shape in MLIR. */
static bool
take_element(text_shape *s, text_name word, const char *c)
{
    const char *kind = *c == 'x' && s->dims.rank > 0 ? c + 1 : c;

    if (s->element.text || (*c != 'x' && s->dims.rank > 0 && !s->after_x) ||
        (!ours(kind) && glow_kind_named(kind) == GLOW_NO_KIND))
        return false;
    s->element = (text_name){kind, word.span};
    s->after_x = false;
    return true;
}

/* Reads `x`, or a word of a shape without blanks: `x28x3`. */
void
glow_text_shape_word(text_parser *p, text_shape *s, text_name word)
{
    const char *c = word.text;

    while (*c && !s->bad) {
        size_t n = strspn(c + 1, "0123456789");

        if ((n == 0 || *c != 'x') && take_element(s, word, c))
            return;
        if (*c != 'x' || s->after_x || s->dims.rank == 0) {
            bad_shape(p, s, word.span, word.text);
            return;
        }
        s->after_x = true;
        if (n > 0)
            glow_text_shape_int(
                p, s,
                (text_number){glow_arena_strndup(p->arena, c + 1, n), false,
                              word.span});
        c += 1 + n;
    }
}

static bool
quantize(text_parser *p, text_name kind, text_quant q, glow_type *t)
{
    int64_t offset;

    if (!glow_is_quantized(t->elem)) {
        if (q.scale.text)
            glow_text_error(p, q.scale.span, "E0131",
                            "`%s` is not quantized: it has no scale and offset",
                            kind.text);
        return q.scale.text == NULL;
    }
    if (!q.scale.text) {
        const char *plain = plain_kind(kind.text);

        glow_text_error_hint(
            p, kind.span, "E0131",
            plain
                ? glow_arena_printf(p->arena,
                                    "write `[S:1.0 O:0]` after it, or `%s` for "
                                    "numbers that are not quantized",
                                    plain)
                : "write `[S:1.0 O:0]` after it",
            "`%s` is quantized, but has no scale and offset", kind.text);
        return false;
    }
    if (!glow_text_float(p, q.scale, &t->scale) ||
        !glow_text_int(p, q.offset, &offset))
        return false;
    if (offset < INT32_MIN || offset > INT32_MAX) {
        glow_text_error(p, q.offset.span, "E0103",
                        "%s does not fit a 32-bit offset", q.offset.text);
        return false;
    }
    t->offset = (int32_t)offset;
    return true;
}

static bool
set_strides(text_parser *p, text_span at, const text_values *strides,
            glow_type *t)
{
    t->strides.rank = 0;
    for (const text_value *v = strides->first; v; v = v->next) {
        if (v->kind != GLOW_V_INT || t->strides.rank == t->shape.rank) {
            glow_text_error(p, v->span, "E0131",
                            "strides are %d integers, one for each dimension",
                            t->shape.rank);
            return false;
        }
        if (!glow_text_size(p, v->number, &t->strides.at[t->strides.rank++]))
            return false;
    }
    if (strides->count > 0 && t->strides.rank != t->shape.rank) {
        glow_text_error(p, at, "E0131", "the type has %d strides, but rank %d",
                        t->strides.rank, t->shape.rank);
        return false;
    }
    return true;
}

/* Reports a type like `tensor<2x3xf32>`, with its form here as hint. */
static void
foreign_type(text_parser *p, text_span at, text_name name,
             const text_shape *shape)
{
    const char *element = shape->element.text;
    const char *kind = !element              ? "float"
                       : ours(element)       ? ours(element)
                       : plain_kind(element) ? plain_kind(element)
                                             : element;
    glow_buf b = {.arena = p->arena};

    glow_buf_printf(&b, "write `%s<", kind);
    for (int i = 0; i < shape->dims.rank; i++)
        glow_buf_printf(&b, "%s%" PRId64, i ? " x " : "", shape->dims.at[i]);
    glow_buf_puts(&b, ">`");
    glow_text_error_hint(p, at, "E0130", b.text,
                         "a type begins with its element kind, not with `%s`",
                         name.text);
}

static void
unknown_kind(text_parser *p, text_name kind)
{
    const char *names[GLOW_MOST_KINDS];
    const char *known = ours(kind.text);
    size_t count = 0;

    if (known) {
        glow_text_error_hint(
            p, kind.span, "E0130",
            glow_arena_printf(p->arena, "here it is `%s`", known),
            "no element kind is called `%s`", kind.text);
        return;
    }
    for (int k = GLOW_NO_KIND + 1; k < (int)glow_kind_end(); k++)
        names[count++] = glow_kind_get((glow_kind)k)->name;
    glow_text_error_hint(p, kind.span, "E0130",
                         glow_text_suggest(p, kind.text, names, count),
                         "no element kind is called `%s`", kind.text);
}

const glow_type *
glow_text_type_of(text_parser *p, text_span at, text_name kind, text_quant q,
                  text_shape shape, const text_values *strides)
{
    glow_type t = glow_type_of(glow_kind_named(kind.text), shape.dims);
    const char *wrong;

    if (t.elem == GLOW_NO_KIND) {
        if (is_foreign_type(kind.text))
            foreign_type(p, at, kind, &shape);
        else
            unknown_kind(p, kind);
        return NULL;
    }
    if (shape.element.text)
        bad_shape(p, &shape, shape.element.span, shape.element.text);
    if (shape.after_x)
        bad_shape(p, &shape, at, "x>");
    if (shape.bad || !quantize(p, kind, q, &t) ||
        !set_strides(p, at, strides, &t))
        return NULL;
    wrong = glow_type_check(&t, p->arena);
    if (wrong) {
        glow_text_error(p, at, "E0131", "%s", wrong);
        return NULL;
    }
    return glow_type_get(p->ctx, t);
}
