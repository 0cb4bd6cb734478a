/* Profiles as JSON, the names of values in them, and the hash of their graph. */

#include <inttypes.h>
#include <string.h>

#include "glow/profile.h"
#include "glow/text.h"

const char *
glow_profile_name(glow_arena *a, const glow_value *v)
{
    glow_buf b = {.arena = a};

    if (v->def && glow_is_body(v->def->func))
        glow_buf_printf(&b, "@%s ", v->def->func->name);
    glow_print_value(&b, v);
    return b.text;
}

const char *
glow_profile_model(const glow_value *v)
{
    const glow_loc *l = v->def ? v->def->loc : v->storage->loc;

    while (l && l->n_parts > 0)
        l = l->parts[0];
    if (!l || l->kind == GLOW_LOC_FILE)
        return NULL;
    return l->node ? l->node : l->text;
}

/* The hash. */

static uint64_t
hash_text(const char *text, uint64_t seed)
{
    return glow_hash(text, strlen(text) + 1, seed);
}

static uint64_t
hash_type(const glow_type *t, uint64_t seed)
{
    seed = hash_text(glow_kind_get(t->elem)->name, seed);
    for (int i = 1; i < t->shape.rank; i++)
        seed = glow_mix(seed ^ (uint64_t)t->shape.at[i]);
    return glow_mix(seed ^ (uint64_t)t->shape.rank);
}

static uint64_t
hash_func(const glow_func *f, uint64_t h)
{
    for (const glow_node *n = f->first; n; n = n->next) {
        if (n->op == &glow_op_save)
            continue;
        h = hash_text(n->name, hash_text(n->op->name, h));
        for (int i = 0; i < n->n_out; i++)
            h = hash_type(n->out[i]->type, h);
    }
    return h;
}

const char *
glow_profile_hash(glow_arena *a, glow_func *f)
{
    int count;
    glow_func **funcs = glow_callees(a, f, &count);
    uint64_t h = 0;

    for (int i = 0; i < count; i++)
        h = hash_func(funcs[i], h);
    return glow_arena_printf(a, "%016" PRIx64, h);
}

/* JSON. */

/* A string: control characters and bytes that are no UTF-8 do not occur in names
   of the text, which keeps both as escapes; here they become `?`. */
static void
put_string(glow_buf *b, const char *text)
{
    glow_buf_putc(b, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            glow_buf_printf(b, "\\%c", c);
        else if (c < 0x20)
            glow_buf_printf(b, "\\u%04x", c);
        else
            glow_buf_putc(b, (char)c);
    }
    glow_buf_putc(b, '"');
}

static void
put_floats(glow_buf *b, const char *key, const float *at, int64_t count)
{
    glow_buf_printf(b, ", \"%s\": [", key);
    for (int64_t i = 0; i < count; i++) {
        glow_buf_puts(b, i ? "," : "");
        glow_buf_float(b, at[i]);
    }
    glow_buf_putc(b, ']');
}

static void
put_histogram(glow_buf *b, const glow_profile_value *v)
{
    glow_buf_printf(
        b, ",\n     \"histogram\": {\"bins\": %" PRId64 ", \"low\": ", v->bins);
    glow_buf_double(b, v->low);
    glow_buf_puts(b, ", \"width\": ");
    glow_buf_double(b, v->width);
    glow_buf_puts(b, ", \"counts\": [");
    for (int64_t i = 0; i < v->n_counts; i++) {
        double n = v->counts[i];

        glow_buf_puts(b, i ? "," : "");
        if (n < 0x1p53 && n == (double)(int64_t)n)
            glow_buf_printf(b, "%" PRId64, (int64_t)n);
        else
            glow_buf_double(b, n);
    }
    glow_buf_puts(b, "]}");
}

static void
put_number(glow_buf *b, const char *key, double v)
{
    glow_buf_printf(b, ", \"%s\": ", key);
    glow_buf_double(b, v);
}

static void
put_value(glow_buf *b, const glow_profile_value *v)
{
    glow_buf_puts(b, "    {\"name\": ");
    put_string(b, v->name);
    if (v->model) {
        glow_buf_puts(b, ", \"model\": ");
        put_string(b, v->model);
    }
    if (v->type) {
        glow_buf_puts(b, ", \"type\": ");
        put_string(b, v->type);
    }
    glow_buf_printf(b, ", \"elements\": %" PRId64 ", \"runs\": %" PRId64,
                    v->elements, v->runs);
    put_floats(b, "range", (const float[]){v->min, v->max}, 2);
    put_number(b, "run_min", v->run_min);
    put_number(b, "run_max", v->run_max);
    if (v->n_counts > 0)
        put_histogram(b, v);
    if (v->channels > 0) {
        glow_buf_printf(b, ",\n     \"channels\": {\"axis\": %d", v->axis);
        put_floats(b, "min", v->channel_min, v->channels);
        put_floats(b, "max", v->channel_max, v->channels);
        put_floats(b, "mean", v->channel_mean, v->channels);
        glow_buf_putc(b, '}');
    }
    glow_buf_putc(b, '}');
}

void
glow_profile_write(glow_buf *b, const glow_profile *p)
{
    glow_buf_puts(b, "{\n  \"version\": 1");
    if (p->function) {
        glow_buf_puts(b, ",\n  \"function\": ");
        put_string(b, p->function);
    }
    if (p->hash) {
        glow_buf_puts(b, ",\n  \"hash\": ");
        put_string(b, p->hash);
    }
    glow_buf_printf(b, ",\n  \"runs\": %" PRId64 ",\n  \"values\": [", p->runs);
    for (size_t i = 0; i < p->count; i++) {
        glow_buf_puts(b, i ? ",\n" : "\n");
        put_value(b, &p->values[i]);
    }
    glow_buf_puts(b, "\n  ]\n}\n");
}
