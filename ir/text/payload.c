/* The elements of constants: lists, splats and blobs of base64. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text/resolve.h"

/* Elements. */

static bool
wrong_element(text_resolver *r, const text_value *v, const char *wanted)
{
    glow_text_error(r->p, v->span, "E0132", "an element is %s", wanted);
    return false;
}

static bool
fill_bool(text_resolver *r, const text_value *v, const glow_tensor *to,
          int64_t at)
{
    bool is_true = v->is_true;

    if (v->kind == GLOW_V_INT)
        is_true = strcmp(v->number.text, "1") == 0;
    if (v->kind != GLOW_V_BOOL &&
        (v->kind != GLOW_V_INT || (!is_true && strcmp(v->number.text, "0"))))
        return wrong_element(r, v, "true or false");
    glow_set_int(to, at, is_true);
    return true;
}

static bool
fill_float(text_resolver *r, const text_value *v, const glow_tensor *to,
           int64_t at)
{
    float f;
    double d;

    if (v->kind != GLOW_V_INT && v->kind != GLOW_V_FLOAT)
        return wrong_element(r, v, "a number");
    switch (to->type->elem) {
    case GLOW_FLOAT64:
        if (!glow_text_double(r->p, v->number, &d))
            return false;
        memcpy((char *)to->data + at * 8, &d, sizeof d);
        return true;
    case GLOW_FLOAT: /* as bits: a double would quiet a signalling NaN */
        if (!glow_text_float(r->p, v->number, &f))
            return false;
        memcpy((char *)to->data + at * 4, &f, sizeof f);
        return true;
    default:
        if (!glow_text_float(r->p, v->number, &f))
            return false;
        glow_set_double(to, at, (double)f);
        return true;
    }
}

static bool
fill_uint64(text_resolver *r, const text_value *v, const glow_tensor *to,
            int64_t at)
{
    unsigned long long u;

    errno = 0;
    u = strtoull(v->number.text, NULL, 10);
    if (errno == ERANGE || v->number.text[0] == '-') {
        glow_text_error(r->p, v->span, "E0103", "%s does not fit uint64",
                        v->number.text);
        return false;
    }
    glow_set_int(to, at, (int64_t)u);
    return true;
}

static bool
fill_int(text_resolver *r, const text_value *v, const glow_tensor *to,
         int64_t at)
{
    const glow_kind_info *k = glow_kind_get(to->type->elem);
    int bits = k->klass == GLOW_CLASS_LOW ? k->bits : k->bytes * 8;
    int64_t i, least, most;

    if (v->kind != GLOW_V_INT)
        return wrong_element(r, v, "an integer");
    if (bits == 64 && !k->is_signed)
        return fill_uint64(r, v, to, at);
    if (!glow_text_int(r->p, v->number, &i))
        return false;
    most = INT64_MAX >> (64 - bits);
    least = -most - 1;
    if (!k->is_signed) {
        least = 0;
        most = most * 2 + 1;
    }
    if (i < least || i > most) {
        glow_text_error(r->p, v->span, "E0103",
                        "%" PRId64 " does not fit %s: [%" PRId64 ", %" PRId64
                        "]",
                        i, k->name, least, most);
        return false;
    }
    glow_set_int(to, at, i);
    return true;
}

bool
glow_text_fill_element(text_resolver *r, const text_value *v,
                       const glow_tensor *to, int64_t at)
{
    if (to->type->elem == GLOW_BOOL)
        return fill_bool(r, v, to, at);
    if (glow_is_real(to->type->elem))
        return fill_float(r, v, to, at);
    return fill_int(r, v, to, at);
}

/*
 * Limit for lists: the padding of strided types makes large storage of a short
 * list.
 */
#define MOST_BYTES_OF_LIST ((int64_t)1 << 28)

bool
glow_text_list_fits(text_resolver *r, const text_values *list, text_span at,
                    const glow_type *type)
{
    int64_t count = glow_type_count(type), bytes = glow_type_bytes(type);

    if ((int64_t)list->count != count)
        glow_text_error(r->p, at, "E0132",
                        "the list has %zu elements, but the type has %" PRId64,
                        list->count, count);
    else if (bytes > MOST_BYTES_OF_LIST)
        glow_text_error(r->p, at, "E0132",
                        "with its strides the list takes %" PRId64
                        " bytes, but at most %" PRId64 " are given to one",
                        bytes, MOST_BYTES_OF_LIST);
    else
        return true;
    return false;
}

bool
glow_text_fill_list(text_resolver *r, const text_values *list,
                    const glow_tensor *to)
{
    const text_value *v = list->first;
    bool ok = true;

    GLOW_FOR_EACH_INDEX(i, to->type->shape) {
        ok &= glow_text_fill_element(r, v, to, glow_type_index(to->type, i));
        v = v->next;
    }
    return ok;
}

/* Base64, RFC 4648 section 4, with padding. */

static int
sextet(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/*
 * Decodes base64 text to `size` bytes; false if it is malformed or has another
 * length.
 */
static bool
decode(const char *text, size_t length, unsigned char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < length; i += 4) {
        size_t bytes = size - n < 3 ? size - n : 3;
        uint32_t word = 0;

        for (size_t j = 0; j < 4; j++) {
            int s = j <= bytes ? sextet(text[i + j]) : 0;

            if (s < 0 || (j > bytes && text[i + j] != '='))
                return false;
            word = word << 6 | (uint32_t)s;
        }
        for (size_t j = 0; j < bytes; j++)
            out[n++] = (unsigned char)(word >> (16 - 8 * j));
        if (bytes < 3 && (word & ((1u << (24 - 8 * bytes)) - 1)) != 0)
            return false; /* bits that are not kept */
    }
    return n == size;
}

bool
glow_text_blob_fits(text_resolver *r, const text_blob *b, const glow_type *type)
{
    int64_t want = glow_type_bytes(type), stated;

    if (strcmp(b->encoding.text, "base64") != 0)
        glow_text_error(r->p, b->encoding.span, "E0133",
                        "blobs are written in base64, not `%s`",
                        b->encoding.text);
    else if (!glow_text_size(r->p, b->size, &stated))
        return false;
    else if (stated != want)
        glow_text_error(r->p, b->size.span, "E0133",
                        "the blob has %" PRId64
                        " bytes, but its constant has %" PRId64,
                        stated, want);
    else if (b->length % 4 != 0 || (want + 2) / 3 != (int64_t)b->length / 4)
        glow_text_error(r->p, b->span, "E0133",
                        "the base64 of %" PRId64 " bytes has %" PRId64
                        " characters, but this has %zu",
                        want, (want + 2) / 3 * 4, b->length);
    else
        return true;
    return false;
}

bool
glow_text_fill_blob(text_resolver *r, const text_blob *b, const glow_tensor *to)
{
    int64_t size = glow_type_bytes(to->type);
    const unsigned char *bytes = to->data;

    if (!decode(b->text, b->length, to->data, (size_t)size)) {
        glow_text_error(r->p, b->span, "E0133", "the text is not base64");
        return false;
    }
    for (int64_t i = 0; to->type->elem == GLOW_BOOL && i < size; i++)
        if (bytes[i] > 1) {
            glow_text_error(r->p, b->span, "E0133",
                            "byte %" PRId64
                            " of a bool constant is %d, neither 0 "
                            "nor 1",
                            i, bytes[i]);
            return false;
        }
    return true;
}
