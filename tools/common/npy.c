/*
 * The npy format: six bytes of magic, two of version, the length of the header
 * (two bytes, four from version 2 on), a header that is a Python dictionary,
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *
 * and the elements.  See numpy.lib.format.
 */

#include "tools/common/npy.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "glow/file.h"

static const char magic[] = "\x93NUMPY";

enum {
    MAGIC_SIZE = 6,
    LEAST_HEADER = 10,
    MOST_HEADER = 1 << 20,
    ALIGNMENT = 64,
};

typedef struct npy {
    char order;   /* '<', '>', '|' */
    char code[8]; /* "f4" */
    int bytes;    /* of an element */
    bool fortran;
    glow_dims shape;
    const uint8_t *elements;
    size_t size; /* of what follows the header */
} npy;

typedef struct reader {
    glow_context *ctx;
    const char *path;
    const char *at, *end; /* of the header */
} reader;

static bool
malformed(const reader *r, const char *what)
{
    return glow_error(r->ctx, "E0620", "%s: %s", r->path, what);
}

/* The header. */

static void
skip_blanks(reader *r)
{
    while (r->at < r->end && isspace((unsigned char)*r->at))
        r->at++;
}

static bool
accept(reader *r, const char *word)
{
    size_t n = strlen(word);

    skip_blanks(r);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* 'text' or "text", of less than `size` bytes. */
static bool
read_string(reader *r, char *out, size_t size)
{
    char quote;
    size_t n = 0;

    skip_blanks(r);
    if (r->at == r->end || (*r->at != '\'' && *r->at != '"'))
        return false;
    quote = *r->at++;
    while (r->at < r->end && *r->at != quote) {
        if (n + 1 >= size)
            return false;
        out[n++] = *r->at++;
    }
    out[n] = 0;
    return r->at++ < r->end;
}

static bool
read_size(reader *r, int64_t *out)
{
    int64_t v = 0;

    skip_blanks(r);
    if (r->at == r->end || !isdigit((unsigned char)*r->at))
        return false;
    for (; r->at < r->end && isdigit((unsigned char)*r->at); r->at++)
        if (glow_mul_overflow(v, 10, &v) ||
            glow_add_overflow(v, *r->at - '0', &v))
            return false;
    *out = v;
    return true;
}

static bool
read_shape(reader *r, npy *out)
{
    if (!accept(r, "("))
        return malformed(r, "the shape is no tuple");
    while (!accept(r, ")")) {
        int64_t d;

        if (out->shape.rank == GLOW_MAX_RANK)
            return malformed(r, "the shape has more than 8 axes");
        if (!read_size(r, &d))
            return malformed(r, "the shape holds what is no size of 63 bits");
        out->shape.at[out->shape.rank++] = d;
        if (!accept(r, ",") && !(r->at < r->end && *r->at == ')'))
            return malformed(r, "the shape is no tuple");
    }
    return true;
}

static bool
read_descr(reader *r, npy *out)
{
    char descr[16];

    if (!read_string(r, descr, sizeof descr))
        return malformed(r, "the elements are no plain numbers (descr is no "
                            "short string)");
    if (strlen(descr) < 3 || strlen(descr) >= 1 + sizeof out->code ||
        !strchr("<>|=", descr[0]) || strchr("USOMm", descr[1]) ||
        !isdigit((unsigned char)descr[2]) || descr[3] != 0)
        return glow_error(r->ctx, "E0620",
                          "%s: the elements are '%s', which is no number of "
                          "1 to 8 bytes",
                          r->path, descr);
    out->order = descr[0];
    memcpy(out->code, descr + 1, strlen(descr));
    out->bytes = descr[2] - '0';
    return true;
}

static bool
read_entry(reader *r, npy *out, unsigned *seen)
{
    char key[16];

    if (!read_string(r, key, sizeof key) || !accept(r, ":"))
        return malformed(r, "the header is no dictionary");
    if (strcmp(key, "descr") == 0) {
        *seen |= 1;
        return read_descr(r, out);
    }
    if (strcmp(key, "shape") == 0 && !(*seen & 2)) {
        *seen |= 2;
        return read_shape(r, out);
    }
    if (strcmp(key, "fortran_order") == 0) {
        *seen |= 4;
        out->fortran = accept(r, "True");
        return out->fortran || accept(r, "False") ||
               malformed(r, "fortran_order is neither True nor False");
    }
    return glow_error(r->ctx, "E0620", "%s: the header has a key '%s'%s",
                      r->path, key, strcmp(key, "shape") == 0 ? " twice" : "");
}

static bool
read_header(reader *r, npy *out)
{
    unsigned seen = 0;

    if (!accept(r, "{"))
        return malformed(r, "the header is no dictionary");
    while (!accept(r, "}")) {
        if (!read_entry(r, out, &seen))
            return false;
        accept(r, ",");
    }
    if (seen != 7)
        return malformed(r, "the header lacks descr, fortran_order or shape");
    return true;
}

/* The file. */

static size_t
little_endian(const uint8_t *p, int n)
{
    size_t v = 0;

    for (int i = n; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static bool
check_size(const reader *r, const npy *a)
{
    int64_t need;

    if (!glow_dims_checked_count(a->shape, &need) ||
        glow_mul_overflow(need, a->bytes, &need))
        return malformed(r, "the shape has more bytes than 64 bits count");
    if ((uint64_t)need != a->size)
        return glow_error(r->ctx, "E0620",
                          "%s: the header announces %" PRId64
                          " bytes of elements, but %zu follow it",
                          r->path, need, a->size);
    return true;
}

static bool
open_npy(reader *r, const uint8_t *bytes, size_t size, npy *out)
{
    size_t begin = LEAST_HEADER, length;

    if (size < LEAST_HEADER || memcmp(bytes, magic, MAGIC_SIZE) != 0)
        return malformed(r, "it is no .npy file: it does not begin with "
                            "\\x93NUMPY");
    if (bytes[MAGIC_SIZE] < 1 || bytes[MAGIC_SIZE] > 3)
        return glow_error(r->ctx, "E0620",
                          "%s: it has version %d, but 1 to 3 are known",
                          r->path, bytes[MAGIC_SIZE]);
    length = little_endian(bytes + 8, 2);
    if (bytes[MAGIC_SIZE] > 1) {
        begin = 12;
        length = size < begin ? 0 : little_endian(bytes + 8, 4);
    }
    if (length > MOST_HEADER || size < begin || length > size - begin)
        return glow_error(r->ctx, "E0620",
                          "%s: the header announces %zu bytes, but %zu follow",
                          r->path, length, size < begin ? 0 : size - begin);
    r->at = (const char *)bytes + begin;
    r->end = r->at + length;
    out->elements = bytes + begin + length;
    out->size = size - begin - length;
    return read_header(r, out) && check_size(r, out);
}

/* Element kinds. */

/* Numpy's type code of a kind, without the byte order. */
static void
kind_code(glow_kind k, char out[3])
{
    const glow_kind_info *info = glow_kind_get(k);
    char letter = info->is_signed ? 'i' : 'u';

    if (glow_is_float(k) && k != GLOW_BFLOAT16)
        letter = 'f';
    else if (k == GLOW_BFLOAT16 || info->klass == GLOW_CLASS_FUSED ||
             info->format)
        letter = 'u';
    else if (k == GLOW_BOOL)
        letter = 'b';
    out[0] = letter;
    out[1] = (char)('0' + info->bytes);
    out[2] = 0;
}

static bool
check_type(const reader *r, const npy *a, const glow_type *want)
{
    char code[3];
    glow_buf b = {0};

    kind_code(want->elem, code);
    if (glow_dims_equal(a->shape, want->shape) &&
        (strcmp(a->code, code) == 0 ||
         (want->elem == GLOW_BFLOAT16 && strcmp(a->code, "V2") == 0) ||
         (glow_is_low(want->elem) && strcmp(a->code, "V1") == 0)))
        return true;

    glow_buf_printf(&b, "%s: it holds %s<", r->path, a->code);
    glow_buf_dims(&b, a->shape);
    glow_buf_puts(&b, ">, but ");
    glow_buf_type(&b, want);
    glow_buf_printf(&b, " (%s) is needed", code);
    glow_error_hint(r->ctx, (glow_span){0}, "E0621",
                    strcmp(a->code, code) != 0
                        ? "convert it with numpy's astype"
                        : "see numpy's reshape",
                    "%s", b.text);
    glow_buf_free(&b);
    return false;
}

/* Elements. */

static void
copy_element(uint8_t *to, const uint8_t *from, int bytes, bool swap)
{
    for (int i = 0; i < bytes; i++)
        to[i] = from[swap ? bytes - 1 - i : i];
}

static bool
is_little_endian(void)
{
    const uint16_t one = 1;

    return *(const uint8_t *)&one == 1;
}

static void
copy_elements(const npy *a, const glow_tensor *t)
{
    bool swap = a->order == (is_little_endian() ? '>' : '<');
    glow_dims step = {.rank = a->shape.rank};
    int64_t to = 0, all = 1;

    if (!swap && !a->fortran) {
        if (a->size)
            memcpy(t->data, a->elements, a->size);
        return;
    }
    for (int i = 0; i < step.rank; i++) {
        step.at[i] = all;
        all *= a->shape.at[i];
    }
    if (!a->fortran)
        step = glow_dims_strides(a->shape);
    GLOW_FOR_EACH_INDEX(at, a->shape) {
        int64_t from = 0;

        for (int i = 0; i < at.rank; i++)
            from += at.at[i] * step.at[i];
        copy_element((uint8_t *)t->data + to++ * a->bytes,
                     a->elements + from * a->bytes, a->bytes, swap);
    }
}

/* Normalizes bytes of bool to 0 and 1. */
static void
settle_bool(const glow_tensor *t)
{
    uint8_t *v = t->data;

    for (int64_t i = 0; i < glow_type_count(t->type); i++)
        v[i] = v[i] != 0;
}

/* Normalizes integers of fewer bits than a byte: their low bits, extended. */
static void
settle_low(const glow_tensor *t)
{
    for (int64_t i = 0; i < glow_type_count(t->type); i++)
        glow_set_int(t, i, glow_get_int(t, i));
}

/* The type of as many `want` as `a` holds, which *runs is set to; else `want`. */
static const glow_type *
several(const npy *a, glow_context *ctx, const glow_type *want, int64_t *runs)
{
    glow_type t = *want;
    int64_t first = want->shape.rank > 0 ? want->shape.at[0] : 0;

    *runs = 1;
    if (first < 1 || a->shape.rank != want->shape.rank ||
        a->shape.at[0] < first || a->shape.at[0] % first != 0)
        return want;
    t.shape.at[0] = a->shape.at[0];
    if (!glow_dims_equal(t.shape, a->shape))
        return want;
    *runs = a->shape.at[0] / first;
    return glow_type_get(ctx, t);
}

/* `runs`: NULL for the shape of `want` alone. */
static bool
read_file(glow_context *ctx, const char *path, const glow_type *want,
          int64_t *runs, glow_tensor *out)
{
    reader r = {.ctx = ctx, .path = path};
    npy a = {0};
    glow_data *file = glow_file_map(ctx, path);
    bool ok;

    if (!file)
        return false;
    ok = open_npy(&r, glow_data_bytes(file), glow_data_size(file), &a);
    if (ok && runs)
        want = several(&a, ctx, want, runs);
    ok = ok && check_type(&r, &a, want);
    if (ok) {
        *out = glow_tensor_new(want);
        copy_elements(&a, out);
        if (want->elem == GLOW_BOOL)
            settle_bool(out);
        if (glow_is_low(want->elem) && !glow_is_real(want->elem))
            settle_low(out);
    }
    glow_data_unref(file);
    return ok;
}

bool
npy_read(glow_context *ctx, const char *path, const glow_type *want,
         glow_tensor *out)
{
    return read_file(ctx, path, want, NULL, out);
}

bool
npy_read_runs(glow_context *ctx, const char *path, const glow_type *want,
              int64_t *runs, glow_tensor *out)
{
    return read_file(ctx, path, want, runs, out);
}

/* The kind of a type code; GLOW_NO_KIND: none. */
static glow_kind
kind_of(const char *code)
{
    static const glow_kind kinds[] = {
        GLOW_FLOAT,  GLOW_FLOAT64, GLOW_FLOAT16, GLOW_UINDEX8,
        GLOW_INT8,   GLOW_INT16,   GLOW_UINT16,  GLOW_INDEX32,
        GLOW_UINT32, GLOW_INDEX64, GLOW_UINT64,  GLOW_BOOL,
    };
    char own[3];

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        kind_code(kinds[i], own);
        if (strcmp(own, code) == 0)
            return kinds[i];
    }
    return GLOW_NO_KIND;
}

bool
npy_map(glow_context *ctx, const char *path, npy_array *out)
{
    reader r = {.ctx = ctx, .path = path};
    npy a = {0};
    glow_data *file = glow_file_map(ctx, path);
    glow_kind kind;
    bool ok;

    if (!file)
        return false;
    ok = open_npy(&r, glow_data_bytes(file), glow_data_size(file), &a);
    kind = ok ? kind_of(a.code) : GLOW_NO_KIND;
    if (ok && (kind == GLOW_NO_KIND || a.fortran))
        ok = glow_error_hint(ctx, (glow_span){0}, "E0621",
                             a.fortran ? "see numpy's ascontiguousarray"
                                       : "convert it with numpy's astype",
                             "%s: it holds %s%s, but numbers in row-major "
                             "order are needed",
                             path, a.code, a.fortran ? " by columns" : "");
    if (!ok) {
        glow_data_unref(file);
        return false;
    }
    *out = (npy_array){
        .file = file,
        .elements = {.type = glow_type_get(ctx, glow_type_of(kind, a.shape)),
                     .data = (void *)(uintptr_t)a.elements},
        .swap = a.order == (is_little_endian() ? '>' : '<'),
    };
    return true;
}

bool
npy_write(glow_context *ctx, const char *path, const glow_tensor *t)
{
    glow_buf b = {0};
    char code[3];
    size_t length, size = (size_t)glow_type_bytes(t->type);
    bool ok;

    kind_code(t->type->elem, code);
    glow_buf_add(&b, magic, MAGIC_SIZE);
    glow_buf_add(&b, "\x01\0\0\0", 4);
    glow_buf_printf(&b, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                    code[1] == '1'       ? '|'
                    : is_little_endian() ? '<'
                                         : '>',
                    code);
    for (int i = 0; i < t->type->shape.rank; i++)
        glow_buf_printf(&b, "%" PRId64 ",%s", t->type->shape.at[i],
                        i + 1 < t->type->shape.rank ? " " : "");
    glow_buf_puts(&b, "), }");
    while ((b.len + 1) % ALIGNMENT)
        glow_buf_putc(&b, ' ');
    glow_buf_putc(&b, '\n');
    length = b.len - LEAST_HEADER;
    b.text[8] = (char)(length & 0xff);
    b.text[9] = (char)(length >> 8);
    glow_buf_add(&b, size ? t->data : "", size);
    ok = glow_file_write(ctx, path, b.text, b.len);
    glow_buf_free(&b);
    return ok;
}
