/* Parts of the syntax tree: names, numbers and types. */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text/parse.h"

/* Names end at a NUL, so none may be within. */
text_name
text_name_of(text_parser *p, text_string s)
{
    if (memchr(s.text, '\0', s.size))
        text_error(p, s.span, "E0102", "a name cannot hold the byte 0");
    return (text_name){s.text, s.span};
}

text_value *
text_value_new(text_parser *p, glow_value_kind kind, text_span at)
{
    text_value *v = GLOW_NEW(p->arena, text_value);

    v->kind = kind;
    v->span = at;
    return v;
}

text_arg *
text_arg_new(text_parser *p, text_value *v)
{
    text_arg *a = GLOW_NEW(p->arena, text_arg);

    a->kind = TEXT_ARG_VALUE;
    a->value = v;
    return a;
}

void
text_expect_word(text_parser *p, text_name got, const char *want)
{
    if (strcmp(got.text, want) != 0)
        text_error(p, got.span, "E0104", "expected `%s`, found `%s`", want,
                   got.text);
}

/* Numbers. */

bool
text_int(text_parser *p, text_number n, int64_t *out)
{
    long long v;

    if (n.is_float) {
        text_error(p, n.span, "E0103", "%s is not an integer", n.text);
        return false;
    }
    errno = 0;
    v = strtoll(n.text, NULL, 10);
    if (errno == ERANGE) {
        text_error(p, n.span, "E0103", "%s does not fit a 64-bit integer",
                   n.text);
        return false;
    }
    *out = v;
    return true;
}

bool
text_size(text_parser *p, text_number n, int64_t *out)
{
    int64_t v;

    if (!text_int(p, n, &v))
        return false;
    if (v < 0) {
        text_error(p, n.span, "E0103", "the size %" PRId64 " is negative", v);
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
    text_error(p, n.span, "E0103", "%s is no %s", n.text, kind);
    return false;
}

static bool
is_infinite(const char *text)
{
    return strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0;
}

bool
text_float(text_parser *p, text_number n, float *out)
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
text_double(text_parser *p, text_number n, double *out)
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
        text_error(p, at, "E0104",
                   "a shape is written `2 x 3`, but `%s` stands in it", text);
    s->bad = true;
}

void
text_shape_int(text_parser *p, text_shape *s, text_number n)
{
    int64_t size = 0;

    if (s->dims.rank > 0 && !s->after_x) {
        bad_shape(p, s, n.span, n.text);
    } else if (s->dims.rank == GLOW_MAX_RANK) {
        if (!s->bad)
            text_error(p, n.span, "E0131", "a shape has at most %d dimensions",
                       GLOW_MAX_RANK);
        s->bad = true;
    } else if (!text_size(p, n, &size)) {
        s->bad = true;
    }
    s->after_x = false;
    if (!s->bad)
        s->dims.at[s->dims.rank++] = size;
}

/* `x`, or what stands without blanks: `x28x3`. */
void
text_shape_word(text_parser *p, text_shape *s, text_name word)
{
    const char *c = word.text;

    while (*c && !s->bad) {
        size_t n = strspn(c + 1, "0123456789");

        if (*c != 'x' || s->after_x || s->dims.rank == 0) {
            bad_shape(p, s, word.span, word.text);
            return;
        }
        s->after_x = true;
        if (n > 0)
            text_shape_int(p, s,
                           (text_number){glow_arena_strndup(p->arena, c + 1, n),
                                         false, word.span});
        c += 1 + n;
    }
}

static bool
quantize(text_parser *p, text_name kind, text_quant q, glow_type *t)
{
    int64_t offset;

    if (!glow_is_quantized(t->elem)) {
        if (q.scale.text)
            text_error(p, q.scale.span, "E0131",
                       "`%s` is not quantized: it has no scale and offset",
                       kind.text);
        return q.scale.text == NULL;
    }
    if (!q.scale.text) {
        text_error_hint(p, kind.span, "E0131", "write `[S:1.0 O:0]` after it",
                        "`%s` is quantized, but has no scale and offset",
                        kind.text);
        return false;
    }
    if (!text_float(p, q.scale, &t->scale) || !text_int(p, q.offset, &offset))
        return false;
    if (offset < INT32_MIN || offset > INT32_MAX) {
        text_error(p, q.offset.span, "E0103", "%s does not fit a 32-bit offset",
                   q.offset.text);
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
            text_error(p, v->span, "E0131",
                       "strides are %d integers, one for each dimension",
                       t->shape.rank);
            return false;
        }
        if (!text_size(p, v->number, &t->strides.at[t->strides.rank++]))
            return false;
    }
    if (strides->count > 0 && t->strides.rank != t->shape.rank) {
        text_error(p, at, "E0131", "the type has %d strides, but rank %d",
                   t->strides.rank, t->shape.rank);
        return false;
    }
    return true;
}

static void
unknown_kind(text_parser *p, text_name kind)
{
    const char *names[GLOW_MOST_KINDS];
    size_t count = 0;

    for (int k = GLOW_NO_KIND + 1; k < (int)glow_kind_end(); k++)
        names[count++] = glow_kind_get((glow_kind)k)->name;
    text_error_hint(p, kind.span, "E0130",
                    text_suggest(p, kind.text, names, count),
                    "no element kind is called `%s`", kind.text);
}

const glow_type *
text_type_of(text_parser *p, text_span at, text_name kind, text_quant q,
             text_shape shape, const text_values *strides)
{
    glow_type t = glow_type_of(glow_kind_named(kind.text), shape.dims);
    const char *wrong;

    if (t.elem == GLOW_NO_KIND) {
        unknown_kind(p, kind);
        return NULL;
    }
    if (shape.after_x)
        bad_shape(p, &shape, at, "x>");
    if (shape.bad || !quantize(p, kind, q, &t) ||
        !set_strides(p, at, strides, &t))
        return NULL;
    wrong = glow_type_check(&t, p->arena);
    if (wrong) {
        text_error(p, at, "E0131", "%s", wrong);
        return NULL;
    }
    return glow_type_get(p->ctx, t);
}
