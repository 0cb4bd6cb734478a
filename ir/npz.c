/*
 * npz: a zip file of arrays in NumPy's npy format, as numpy.savez writes it.
 * Entries must be stored, not compressed, so that they can be mapped; zip64,
 * encryption and several disks are refused.
 *
 * PKWARE APPNOTE 6.3.3; NumPy enhancement proposal 1.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/weights.h"

static uint32_t
little(const unsigned char *p, int bytes)
{
    uint32_t v = 0;

    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

/* npy. */

static const struct {
    const char *descr, *dtype;
} descrs[] = {
    {"<f8", "F64"}, {"<f4", "F32"}, {"<f2", "F16"}, {"<i8", "I64"},
    {"<i4", "I32"}, {"<i2", "I16"}, {"|i1", "I8"},  {"<u8", "U64"},
    {"<u4", "U32"}, {"<u2", "U16"}, {"|u1", "U8"},  {"|b1", "BOOL"},
};

/* The text after `'name':` in the header, or NULL. */
static const char *
after(const char *header, const char *name)
{
    const char *at = strstr(header, name);

    if (!at)
        return NULL;
    at += strlen(name);
    at += strspn(at, " ");
    if (*at != ':')
        return NULL;
    at++;
    return at + strspn(at, " ");
}

static bool
read_shape(const char *at, glow_dims *shape)
{
    if (!at || *at++ != '(')
        return false;
    for (;;) {
        char *end;
        long long size;

        at += strspn(at, " ,");
        if (*at == ')')
            return true;
        size = strtoll(at, &end, 10);
        if (end == at || size < 0 || shape->rank == GLOW_MAX_RANK)
            return false;
        shape->at[shape->rank++] = size;
        at = end;
    }
}

static bool
read_npy(glow_weights_reader *r, glow_weights_entry *e)
{
    const unsigned char *p =
        (const unsigned char *)glow_data_bytes(r->file) + e->begin;
    size_t size = e->end - e->begin;
    size_t fixed = size > 6 && p[6] > 1 ? 12 : 10, length;
    const char *header, *descr, *order;
    int64_t count, bytes;

    if (size < fixed || memcmp(p, "\x93NUMPY", 6) != 0)
        return glow_weights_refuse(r, "`%s` is no npy array", e->key);
    length = little(p + 8, fixed == 12 ? 4 : 2);
    if (length > size - fixed)
        return glow_weights_refuse(r, "the header of `%s` is cut short",
                                   e->key);
    header = glow_arena_strndup(r->arena, (const char *)p + fixed, length);
    descr = after(header, "'descr'");
    order = after(header, "'fortran_order'");
    e->begin += fixed + length;
    for (size_t i = 0; descr && i < sizeof descrs / sizeof *descrs; i++)
        if (*descr == '\'' && strncmp(descr + 1, descrs[i].descr, 3) == 0 &&
            descr[4] == '\'')
            e->dtype = descrs[i].dtype;
    if (!e->dtype || !order || strncmp(order, "False", 5) != 0 ||
        !read_shape(after(header, "'shape'"), &e->shape))
        return glow_weights_refuse(
            r, "`%s` is not an array of numbers in C order and at most rank %d",
            e->key, GLOW_MAX_RANK);
    if (!glow_dims_checked_count(e->shape, &count) ||
        glow_mul_overflow(count, glow_safetensors_bytes(e->dtype), &bytes) ||
        (uint64_t)bytes != e->end - e->begin)
        return glow_weights_refuse(r,
                                   "`%s` has %zu bytes, which is not what "
                                   "its shape takes",
                                   e->key, e->end - e->begin);
    return true;
}

/* zip. */

enum {
    END_SIZE = 22,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    MOST_COMMENT = 65535,
};

/* The offset of the end record, searched from the back; 0: not found. */
static size_t
find_end(const unsigned char *p, size_t size)
{
    for (size_t i = 0; size >= END_SIZE + i && i <= MOST_COMMENT; i++)
        if (memcmp(p + size - END_SIZE - i, "PK\5\6", 4) == 0)
            return size - END_SIZE - i;
    return 0;
}

static const char *
key_of(glow_arena *a, const unsigned char *name, size_t length)
{
    if (length > 4 && memcmp(name + length - 4, ".npy", 4) == 0)
        length -= 4;
    return glow_arena_strndup(a, (const char *)name, length);
}

/* Reads one entry of the central directory and advances *at. */
static bool
read_entry(glow_weights_reader *r, size_t *at, size_t end)
{
    const unsigned char *file = glow_data_bytes(r->file);
    const unsigned char *p = file + *at;
    size_t room = end - *at, name, skip, local, size;
    glow_weights_entry e = {0};

    if (room < ENTRY_SIZE || memcmp(p, "PK\1\2", 4) != 0)
        return glow_weights_refuse(r, "its directory is cut short");
    name = little(p + 28, 2);
    skip = ENTRY_SIZE + name + little(p + 30, 2) + little(p + 32, 2);
    if (skip > room)
        return glow_weights_refuse(r, "its directory is cut short");
    e.key = key_of(r->arena, p + ENTRY_SIZE, name);
    if (little(p + 8, 2) & 1 || little(p + 10, 2) != 0)
        return glow_weights_refuse(
            r, "`%s` is compressed or encrypted: write it with numpy.savez",
            e.key);
    size = little(p + 20, 4);
    local = little(p + 42, 4);
    if (size == UINT32_MAX || local == UINT32_MAX)
        return glow_weights_refuse(r, "it is a zip64 file");
    if (local + LOCAL_SIZE > end || memcmp(file + local, "PK\3\4", 4) != 0)
        return glow_weights_refuse(r, "`%s` is not where the directory says",
                                   e.key);
    e.begin = local + LOCAL_SIZE + little(file + local + 26, 2) +
              little(file + local + 28, 2);
    e.end = e.begin + size;
    if (e.end > end)
        return glow_weights_refuse(r, "`%s` is cut short", e.key);
    *at += skip;
    return read_npy(r, &e) && glow_weights_add(r, e);
}

bool
glow_npz_index(glow_weights_reader *r)
{
    const unsigned char *p = glow_data_bytes(r->file);
    size_t size = glow_data_size(r->file), end = find_end(p, size), at;
    uint32_t count;

    if (end == 0)
        return glow_weights_refuse(r, "it has no directory");
    count = little(p + end + 10, 2);
    at = little(p + end + 16, 4);
    if (at > end)
        return glow_weights_refuse(r, "its directory is not where it says");
    for (uint32_t i = 0; i < count; i++)
        if (!read_entry(r, &at, end))
            return false;
    return true;
}
