/* Printing the elements of constants. */

#include <inttypes.h>
#include <string.h>

#include "ir/base/sha256.h"
#include "ir/text/print.h"

enum { MOST_IN_LINE = 16, HASH_DIGITS = 16 };

/*
 * True if each element of low precision has the bits that its number is
 * converted to.
 */
static bool
is_canonical(const glow_tensor *t)
{
    const uint8_t *bits = t->data;
    uint8_t back;
    const glow_tensor one = {.type = t->type, .data = &back};

    for (int64_t i = 0; i < glow_type_count(t->type); i++) {
        if (glow_is_real(t->type->elem))
            glow_set_double(&one, 0, glow_get_double(t, i));
        else
            glow_set_int(&one, 0, glow_get_int(t, i));
        if (back != bits[i])
            return false;
    }
    return true;
}

/* True if the decimal of each element is read back to the same bits. */
static bool
is_readable(const glow_tensor *t)
{
    int64_t count = glow_type_count(t->type);

    if (glow_is_low(t->type->elem))
        return is_canonical(t);
    if (t->type->elem != GLOW_FLOAT16 && t->type->elem != GLOW_BFLOAT16)
        return true;
    for (int64_t i = 0; i < count; i++) {
        uint16_t bits, back;

        memcpy(&bits, (const char *)t->data + 2 * i, sizeof bits);
        back = t->type->elem == GLOW_FLOAT16
                   ? glow_float_to_half(glow_half_to_float(bits))
                   : glow_float_to_bfloat(glow_bfloat_to_float(bits));
        if (back != bits)
            return false;
    }
    return true;
}

static bool
is_elided(const glow_storage *s, const glow_print_options *o)
{
    return o->elide_constants && s->payload == GLOW_DATA &&
           glow_type_count(s->value.type) > MOST_IN_LINE;
}

bool
glow_text_is_blob(const glow_storage *s, const glow_print_options *o)
{
    const glow_type *t = s->value.type;

    if (s->payload != GLOW_DATA || is_elided(s, o))
        return false;
    return glow_type_count(t) > MOST_IN_LINE || t->strides.rank > 0 ||
           !is_readable(&s->tensor);
}

static void
put_element(glow_buf *b, const glow_tensor *t, int64_t i)
{
    const glow_kind_info *k = glow_kind_get(t->type->elem);
    float f;

    if (t->type->elem == GLOW_BOOL) {
        glow_buf_puts(b, glow_get_int(t, i) ? "true" : "false");
    } else if (t->type->elem == GLOW_FLOAT64) {
        glow_buf_double(b, glow_get_double(t, i));
    } else if (t->type->elem == GLOW_FLOAT) {
        memcpy(&f, (const char *)t->data + 4 * i, sizeof f);
        glow_buf_float(b, f);
    } else if (glow_is_real(t->type->elem)) {
        glow_buf_float(b, (float)glow_get_double(t, i));
    } else if (k->bytes == 8 && !k->is_signed) {
        glow_buf_printf(b, "%" PRIu64, (uint64_t)glow_get_int(t, i));
    } else {
        glow_buf_printf(b, "%" PRId64, glow_get_int(t, i));
    }
}

static void
put_splat(glow_buf *b, const glow_storage *s)
{
    glow_type one = glow_type_of(s->value.type->elem, (glow_dims){.rank = 0});
    int64_t bytes = 0;
    glow_tensor t = {.type = &one, .data = &bytes};

    if (glow_is_real(one.elem))
        glow_set_double(&t, 0, s->splat);
    else
        glow_set_int(&t, 0, s->splat_int);
    glow_buf_puts(b, "splat(");
    put_element(b, &t, 0);
    glow_buf_putc(b, ')');
}

static void
put_elided(glow_buf *b, const glow_storage *s)
{
    char hex[65];

    glow_sha256_hex(s->tensor.data, (size_t)glow_type_bytes(s->value.type),
                    hex);
    glow_buf_printf(b, "elided(\"sha256:%.*s\")", HASH_DIGITS, hex);
}

static void
put_list(glow_buf *b, const glow_tensor *t)
{
    glow_buf_putc(b, '[');
    for (int64_t i = 0; i < glow_type_count(t->type); i++) {
        if (i > 0)
            glow_buf_puts(b, ", ");
        put_element(b, t, i);
    }
    glow_buf_putc(b, ']');
}

void
glow_text_put_payload(glow_buf *b, const glow_storage *s,
                      const glow_print_options *o)
{
    switch (s->payload) {
    case GLOW_SPLAT:
        put_splat(b, s);
        break;
    case GLOW_EXTERNAL:
        glow_buf_puts(b, "external(");
        glow_buf_quoted(b, s->file->alias, strlen(s->file->alias));
        glow_buf_puts(b, ", ");
        glow_buf_quoted(b, s->key, strlen(s->key));
        glow_buf_putc(b, ')');
        break;
    case GLOW_ELIDED:
        glow_buf_puts(b, "elided(");
        glow_buf_quoted(b, s->key, strlen(s->key));
        glow_buf_putc(b, ')');
        break;
    default:
        if (is_elided(s, o)) {
            put_elided(b, s);
        } else if (glow_text_is_blob(s, o)) {
            glow_buf_puts(b, "blob(");
            glow_text_put_name(b, '\0', s->name);
            glow_buf_putc(b, ')');
        } else {
            put_list(b, &s->tensor);
        }
    }
}

/* Base64, RFC 4648 section 4. */
static void
put_base64(glow_buf *b, const unsigned char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < size; i += 3) {
        size_t n = size - i < 3 ? size - i : 3;
        uint32_t word = (uint32_t)data[i] << 16;
        char four[4] = {'=', '=', '=', '='};

        if (n > 1)
            word |= (uint32_t)data[i + 1] << 8;
        if (n > 2)
            word |= data[i + 2];
        for (size_t j = 0; j <= n; j++)
            four[j] = digits[word >> (18 - 6 * j) & 63];
        glow_buf_add(b, four, sizeof four);
    }
}

void
glow_text_put_blob(glow_buf *b, const glow_storage *s)
{
    int64_t size = glow_type_bytes(s->value.type);

    glow_buf_puts(b, "  ");
    glow_text_put_name(b, '\0', s->name);
    glow_buf_printf(b, ": base64<%" PRId64 "> \"", size);
    put_base64(b, s->tensor.data, (size_t)size);
    glow_buf_puts(b, "\"\n");
}
