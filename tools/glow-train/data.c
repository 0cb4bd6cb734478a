/* Samples: files of arrays and folders of pictures, and the batches made of them. */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/npy.h"
#include "tools/glow-train/train.h"

/* The text of -data: NAME=FILE[,scale=S][,shift=N]. */

static bool
read_option(train_source *s, const char *text)
{
    char *end = NULL;

    errno = 0;
    if (strncmp(text, "scale=", 6) == 0) {
        s->scale = strtod(text + 6, &end);
        if (!isfinite(s->scale))
            return false;
    } else if (strncmp(text, "shift=", 6) == 0) {
        s->shift = strtol(text + 6, &end, 10);
        if (s->shift < 0 || s->shift > 1 << 16)
            return false;
    }
    return end && *end == 0 && end > text + 6 && errno == 0;
}

static int
read_text(train *t, const char *option, const char *text, train_source *s)
{
    char *path = glow_arena_strdup(t->tool.arena, text), *comma;

    s->scale = 1;
    while ((comma = strrchr(path, ',')) != NULL) {
        if (!read_option(s, comma + 1))
            return tool_usage(&t->tool, "write NAME=FILE,scale=0.5,shift=1",
                              "-%s: '%s' is none of the options of samples",
                              option, comma + 1);
        *comma = 0;
    }
    s->path = path;
    return TOOL_GO_ON;
}

/* The placeholder before the first = that gives one. */
static const glow_storage *
find_placeholder(train *t, const glow_module *m, const char *option,
                 const char *text, const char **rest)
{
    tool_list names = {0};
    const char *first = strchr(text, '=');

    for (const char *at = first; at; at = strchr(at + 1, '=')) {
        const glow_storage *s = glow_find_storage(
            m, glow_arena_strndup(t->tool.arena, text, (size_t)(at - text)));

        *rest = at + 1;
        if (s && !s->is_constant)
            return s;
    }
    if (!first) {
        tool_usage(&t->tool, NULL, "-%s wants NAME=FILE, not '%s'", option,
                   text);
        return NULL;
    }
    GLOW_FOR_EACH_STORAGE(s, m)
        if (!s->is_constant)
            tool_list_add(&t->tool, &names, s->name);
    tool_unknown(
        &t->tool, "placeholder",
        glow_arena_strndup(t->tool.arena, text, (size_t)(first - text)),
        &names);
    return NULL;
}

/* Files. */

static bool
read_array(train *t, train_source *s)
{
    npy_array a;

    if (!npy_map(t->tool.ctx, s->path, &a))
        return false;
    s->owner = a.file;
    s->swap = a.swap;
    s->elements = a.elements;
    return true;
}

/* The tensor of the placeholder's name, or the only one. */
static bool
read_safetensors(train *t, train_source *s)
{
    return glow_state_map(t->tool.ctx, s->path, s->storage->name, &s->elements,
                          &s->owner);
}

static bool
read_samples(train *t, train_source *s)
{
    return is_folder(s->path)                        ? read_folder(t, s)
           : tool_ends_with(s->path, ".safetensors") ? read_safetensors(t, s)
                                                     : read_array(t, s);
}

/*
 * Samples lie along the first axis of the file.  A batch of the placeholder is the
 * elements of as many of them as its first axis has, or of `batch` for another source
 * of the set.
 */
static bool
fit(train *t, train_set *set, train_source *s)
{
    glow_dims file = s->elements.type->shape, want = s->type->shape;
    int64_t count = glow_type_count(s->type), batch = set->batch;
    glow_buf b = {.arena = t->tool.arena};

    glow_buf_type(&b, s->type);
    if (file.rank == 0 || file.at[0] == 0)
        return glow_error(t->tool.ctx, "E0640", "%s has no samples", s->path);
    if (glow_is_int(s->type->elem) && glow_is_float(s->elements.type->elem))
        return glow_error_hint(t->tool.ctx, (glow_span){0}, "E0640",
                               "see numpy's astype",
                               "%s has floats, but @%s : %s takes integers",
                               s->path, s->storage->name, b.text);
    s->samples = file.at[0];
    s->size = glow_dims_count(file) / s->samples;
    if (batch == 0)
        batch = set->batch = want.rank > 0 ? want.at[0] : 1;
    s->shape = file;
    s->shape.rank--;
    memmove(s->shape.at, file.at + 1,
            (size_t)s->shape.rank * sizeof *s->shape.at);
    if (batch == 0 || count % batch != 0 || count / batch != s->size)
        return glow_error(t->tool.ctx, "E0640",
                          "%s: a sample has %" PRId64 " elements, but @%s : %s "
                          "has room for %" PRId64 " of each of %" PRId64
                          " samples",
                          s->path, s->size, s->storage->name, b.text,
                          batch ? count / batch : 0, batch);
    if (set->samples != 0 && set->samples != s->samples)
        return glow_error(t->tool.ctx, "E0640",
                          "%s has %" PRId64 " samples, but %s has %" PRId64,
                          s->path, s->samples, set->at[0].path, set->samples);
    set->samples = s->samples;
    if (s->samples > UINT32_MAX)
        return glow_error(t->tool.ctx, "E0640", "%s has more than 2^32 samples",
                          s->path);
    if (s->shift > 0 && s->shape.rank != 3)
        return glow_error(t->tool.ctx, "E0640",
                          "%s: shift moves pictures, which have 3 axes, but "
                          "samples have %d",
                          s->path, s->shape.rank);
    return true;
}

/* Elements. */

static void
swap_bytes(uint8_t *to, const uint8_t *from, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = from[bytes - 1 - i];
}

/* Element `i` of the samples, of the file's kind; its bytes are put into `room`. */
static glow_tensor
element(const train_source *s, int64_t i, uint64_t *room)
{
    int bytes = glow_kind_get(s->elements.type->elem)->bytes;
    const uint8_t *at = (const uint8_t *)s->elements.data + i * bytes;

    if (s->swap)
        swap_bytes((uint8_t *)room, at, bytes);
    else
        memcpy(room, at, (size_t)bytes);
    return (glow_tensor){.type = s->elements.type, .data = room};
}

/* Element `from` of the samples as element `to` of the batch. */
static void
copy_element(const train_source *s, int64_t to, int64_t from)
{
    uint64_t room;
    glow_tensor one = element(s, from, &room);

    if (glow_is_int(s->type->elem) && glow_is_int(one.type->elem))
        glow_set_int(&s->batch, to, glow_get_int(&one, 0));
    else
        glow_set_double(&s->batch, to, s->scale * glow_get_double(&one, 0));
}

int64_t
sample_int(const train_source *s, int64_t i)
{
    copy_element(s, 0, i);
    return glow_get_int(&s->batch, 0);
}

/* Integers of another kind: reports one that is none of the placeholder's. */
static bool
check_integers(train *t, const train_source *s)
{
    if (!glow_is_int(s->type->elem) || !glow_is_int(s->elements.type->elem) ||
        s->type->elem == s->elements.type->elem)
        return true;
    for (int64_t i = 0; i < s->samples * s->size; i++) {
        uint64_t room;
        glow_tensor one = element(s, i, &room);
        glow_buf b = {.arena = t->tool.arena};

        if (sample_int(s, i) == glow_get_int(&one, 0))
            continue;
        glow_buf_type(&b, s->type);
        return glow_error(t->tool.ctx, "E0640",
                          "%s: sample %" PRId64 " has %" PRId64
                          ", which is no element of @%s : %s",
                          s->path, i / s->size, glow_get_int(&one, 0),
                          s->storage->name, b.text);
    }
    return true;
}

static int
open_source(train *t, const glow_module *m, const char *option,
            const char *text, train_set *set)
{
    train_source *s = &set->at[set->count];
    const char *what;
    glow_type type;
    int code;

    s->storage = find_placeholder(t, m, option, text, &what);
    if (!s->storage)
        return TOOL_USAGE;
    if (find_source(set, s->storage->name))
        return tool_usage(&t->tool, NULL, "-%s names '%s' twice", option,
                          s->storage->name);
    code = read_text(t, option, what, s);
    if (code != TOOL_GO_ON)
        return code;
    type = *s->storage->value.type;
    type.strides.rank = 0;
    s->type = glow_type_get(t->tool.ctx, type);
    set->count++;
    if (!read_samples(t, s) || !fit(t, set, s))
        return TOOL_FAILED;
    s->batch = glow_tensor_new(s->type);
    return check_integers(t, s) ? TOOL_GO_ON : TOOL_FAILED;
}

int
open_data(train *t, const glow_module *m, const char *option,
          const tool_list *l, train_set *out)
{
    int code = TOOL_GO_ON;

    out->at = GLOW_NEW_ARRAY(t->tool.arena, train_source, l->count);
    for (size_t i = 0; i < l->count && code == TOOL_GO_ON; i++)
        code = open_source(t, m, option, l->items[i], out);
    return code;
}

void
close_data(train_set *s)
{
    for (size_t i = 0; i < s->count; i++) {
        glow_tensor_end(&s->at[i].batch);
        glow_data_unref(s->at[i].owner);
    }
}

train_source *
find_source(const train_set *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->at[i].storage->name, name) == 0)
            return &s->at[i];
    return NULL;
}

/* Batches. */

static bool
is_plain(const train_source *s)
{
    return s->elements.type->elem == s->type->elem && !s->swap && s->scale == 1;
}

static void
copy_sample(const train_source *s, int64_t row, int64_t i)
{
    int bytes = glow_kind_get(s->type->elem)->bytes;
    int64_t to = row * s->size, from = i * s->size;

    if (is_plain(s))
        memcpy((uint8_t *)s->batch.data + to * bytes,
               (const uint8_t *)s->elements.data + from * bytes,
               (size_t)(s->size * bytes));
    else
        for (int64_t k = 0; k < s->size; k++)
            copy_element(s, to + k, from + k);
}

/* A picture moved by dy, dx pixels; what comes in is 0. */
static void
copy_shifted(const train *t, const train_source *s, int64_t row, int64_t i,
             int64_t dy, int64_t dx)
{
    bool last = t->values.image_layout && t->values.image_layout[1] == 'H';
    glow_dims d = s->shape;
    int64_t h = d.at[last ? 0 : 1], w = d.at[last ? 1 : 2];
    int64_t c = d.at[last ? 2 : 0];
    int64_t at = row * s->size;

    for (int64_t k = 0; k < s->size; k++, at++) {
        int64_t x = last ? k / c % w : k % w, y = last ? k / c / w : k / w % h;
        int64_t step = last ? (dy * w + dx) * c : dy * w + dx;

        if (y + dy < 0 || y + dy >= h || x + dx < 0 || x + dx >= w)
            glow_set_double(&s->batch, at, 0);
        else
            copy_element(s, at, i * s->size + k + step);
    }
}

void
fill_row(const train *t, const train_set *s, int64_t row, int64_t i,
         int64_t draw)
{
    for (size_t k = 0; k < s->count; k++) {
        const train_source *x = &s->at[k];
        glow_philox bits;
        uint32_t n = (uint32_t)(2 * x->shift + 1);

        if (draw < 0 || x->shift == 0) {
            copy_sample(x, row, i);
            continue;
        }
        bits = glow_philox_bits((uint64_t)t->values.seed, (uint64_t)i,
                                (uint64_t)draw << 8 | 1);
        copy_shifted(t, x, row, i,
                     (int64_t)(((uint64_t)bits.at[0] * n) >> 32) - x->shift,
                     (int64_t)(((uint64_t)bits.at[1] * n) >> 32) - x->shift);
    }
}
