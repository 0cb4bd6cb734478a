/* Changes of a specimen. */

#include <string.h>

#include "test/fuzz/sweep.h"
#include "thresholds.inc"

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
int64_t
sweep_draw(uint64_t *state, int64_t n)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int64_t)((z ^ z >> 31) % (uint64_t)n);
}

static const glow_kind floats[] = {GLOW_FLOAT, GLOW_FLOAT16, GLOW_BFLOAT16,
                                   GLOW_FLOAT64};
static const glow_kind ints[] = {GLOW_UINDEX8, GLOW_INDEX32, GLOW_INDEX64,
                                 GLOW_INT8,    GLOW_INT16,   GLOW_UINT16,
                                 GLOW_UINT32,  GLOW_UINT64,  GLOW_BOOL};
static const glow_kind low[] = {GLOW_FLOAT8E4M3FN, GLOW_FLOAT8E4M3FNUZ,
                                GLOW_FLOAT8E5M2,   GLOW_FLOAT8E5M2FNUZ,
                                GLOW_FLOAT8E8M0,   GLOW_FLOAT4E2M1,
                                GLOW_INT4,         GLOW_UINT4,
                                GLOW_INT2,         GLOW_UINT2};
static const int64_t sizes[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 17};

/* Next to a threshold of some kernel. */
static int64_t
draw_threshold(uint64_t *r)
{
    return threshold_sizes[sweep_draw(
        r, (int64_t)(sizeof threshold_sizes / sizeof *threshold_sizes))];
}

static int64_t
draw_size(uint64_t *r)
{
    if (sweep_draw(r, 5) == 0)
        return draw_threshold(r);
    return sizes[sweep_draw(r, (int64_t)(sizeof sizes / sizeof *sizes))];
}

/* One kind becomes another wherever it stands; or the one of one operand. */
static void
change_kind(specimen *s, uint64_t *r)
{
    int i = (int)sweep_draw(r, s->n_in + s->n_out);
    glow_kind from = i < s->n_in ? s->in[i].elem : s->out[i - s->n_in].elem;
    glow_kind to = glow_is_float(from) || sweep_draw(r, 8) == 0
                       ? floats[sweep_draw(r, 4)]
                       : ints[sweep_draw(r, 9)];
    bool one = sweep_draw(r, 6) == 0;

    if (sweep_draw(r, 8) == 0)
        to = low[sweep_draw(r, (int64_t)(sizeof low / sizeof *low))];
    for (int k = 0; k < s->n_in + s->n_out; k++) {
        glow_type *t = k < s->n_in ? &s->in[k] : &s->out[k - s->n_in];

        if (t->elem == from && (!one || k == i)) {
            t->elem = to;
            t->scale = 0;
            t->offset = 0;
        }
    }
}

static const glow_kind quantized[] = {GLOW_INT8Q, GLOW_UINT8Q, GLOW_INT16Q,
                                      GLOW_INT32Q};

/* A quantized kind, mostly of 8 bits, with a scale and an offset. */
static glow_type
draw_grid(uint64_t *r)
{
    static const float scales[] = {1, 0.5f, 0.037f, 0.0117f};
    static const int32_t offsets[] = {0, 0, 3, -7, 100, 127, -128};
    glow_kind kind = quantized[sweep_draw(r, sweep_draw(r, 3) ? 2 : 4)];
    float unit = 1.0f / (float)(INT64_C(1) << (glow_kind_get(kind)->bits - 8));
    int32_t offset = offsets[sweep_draw(r, 7)];

    return (glow_type){.elem = kind,
                       .scale = scales[sweep_draw(r, 4)] * unit,
                       .offset =
                           kind == GLOW_UINT8Q ? (uint8_t)offset : offset};
}

/*
 * Operands and results of one kind become quantized: each by its own scale and
 * offset, or all alike.  Half the time only results, or only operands, do.
 */
static void
change_to_quantized(specimen *s, uint64_t *r)
{
    int i = (int)sweep_draw(r, s->n_in + s->n_out), part;
    glow_kind from = i < s->n_in ? s->in[i].elem : s->out[i - s->n_in].elem;
    glow_type all = draw_grid(r), grid;
    bool alike = sweep_draw(r, 3) == 0;

    part = (int)sweep_draw(r, 4); /* 0: operands, 1: results, else both */
    for (int k = 0; k < s->n_in + s->n_out; k++) {
        glow_type *t = k < s->n_in ? &s->in[k] : &s->out[k - s->n_in];

        grid = alike ? all : draw_grid(r);
        if (t->elem != from || (part < 2 && (k >= s->n_in) != part))
            continue;
        t->elem = grid.elem;
        t->scale = grid.scale;
        t->offset = grid.offset;
    }
}

static void
replace(glow_dims *d, int64_t from, int64_t to)
{
    for (int i = 0; i < d->rank; i++)
        if (d->at[i] == from)
            d->at[i] = to;
}

/* The same in a list that the specimens share: in a copy. */
static glow_ints
copy_ints(glow_ints l, glow_arena *a)
{
    int64_t *at = GLOW_NEW_ARRAY(a, int64_t, l.count + 1);

    if (l.count)
        memcpy(at, l.at, (size_t)l.count * sizeof *at);
    return (glow_ints){l.count, at};
}

/* Numbers of attributes that are `from` become `to`. */
static void
follow(specimen *s, glow_arena *a, int64_t from, int64_t to)
{
    glow_schema schema = glow_op_schema(s->op);
    char *attrs = glow_attrs_copy(a, schema, s->attrs);

    for (int i = 0; i < glow_schema_count(schema); i++) {
        void *at = attrs + schema.fields[i].at;

        if (schema.fields[i].kind == GLOW_DIMS)
            replace(at, from, to);
        if (schema.fields[i].kind == GLOW_INT64 && *(int64_t *)at == from)
            *(int64_t *)at = to;
        if (schema.fields[i].kind == GLOW_INT && *(int *)at == (int)from)
            *(int *)at = (int)to;
    }
    s->attrs = attrs;
}

/* A size becomes `to` wherever it stands. */
static void
change_size(specimen *s, uint64_t *r, glow_arena *a, int64_t to)
{
    int i = (int)sweep_draw(r, s->n_in + s->n_out);
    glow_dims d = i < s->n_in ? s->in[i].shape : s->out[i - s->n_in].shape;
    int64_t from;

    if (!d.rank)
        return;
    from = d.at[sweep_draw(r, d.rank)];
    for (int k = 0; k < s->n_in; k++)
        replace(&s->in[k].shape, from, to);
    for (int k = 0; k < s->n_out; k++)
        replace(&s->out[k].shape, from, to);
    if (s->attrs && sweep_draw(r, 2))
        follow(s, a, from, to);
}

/* One axis of one operand, or all first or last ones. */
static void
change_axis(specimen *s, uint64_t *r)
{
    int64_t to = draw_size(r);
    int how = (int)sweep_draw(r, 3);
    int one = (int)sweep_draw(r, s->n_in + s->n_out);

    for (int k = 0; k < s->n_in + s->n_out; k++) {
        glow_dims *d =
            k < s->n_in ? &s->in[k].shape : &s->out[k - s->n_in].shape;

        if (!d->rank || (how == 2 && k != one))
            continue;
        d->at[how == 0   ? 0
              : how == 1 ? d->rank - 1
                         : sweep_draw(r, d->rank)] = to;
    }
}

/*
 * The first operand and all of its rank become lines: one axis, the last or the one
 * before it, is long, and what lies behind has one element.
 */
static void
change_line(specimen *s, uint64_t *r)
{
    int64_t to = draw_threshold(r);
    int behind = (int)sweep_draw(r, 2),
        rank = s->n_in ? s->in[0].shape.rank : 0;

    for (int k = 0; k < s->n_in + s->n_out && rank > behind; k++) {
        glow_dims *d =
            k < s->n_in ? &s->in[k].shape : &s->out[k - s->n_in].shape;

        if (d->rank != rank)
            continue;
        d->at[rank - 1] = 1;
        d->at[rank - 1 - behind] = to;
    }
}

/* A further axis in front of all. */
static void
change_rank(specimen *s, uint64_t *r)
{
    int64_t size = draw_size(r);

    for (int k = 0; k < s->n_in + s->n_out; k++) {
        glow_dims *d =
            k < s->n_in ? &s->in[k].shape : &s->out[k - s->n_in].shape;

        if (d->rank == GLOW_MAX_RANK)
            continue;
        memmove(d->at + 1, d->at, (size_t)d->rank * sizeof *d->at);
        d->at[0] = size;
        d->rank++;
    }
}

/* An axis of the first operand alone, before the last one; this with one element. */
static void
change_width(specimen *s, uint64_t *r)
{
    int rank = s->n_in ? s->in[0].shape.rank : 0;
    int64_t to = draw_threshold(r);
    bool one = sweep_draw(r, 2);

    for (int k = 0; k < s->n_in + s->n_out && rank > 1; k++) {
        glow_dims *d =
            k < s->n_in ? &s->in[k].shape : &s->out[k - s->n_in].shape;

        if ((k > 0 && k < s->n_in) || d->rank != rank)
            continue;
        d->at[rank - 2] = to;
        if (one)
            d->at[rank - 1] = 1;
    }
}

static int64_t
change_number(int64_t v, uint64_t *r)
{
    static const int64_t others[] = {0, 1, 2, 3, -1, -2};

    switch (sweep_draw(r, 3)) {
    case 0:
        return v + 1;
    case 1:
        return v - 1;
    default:
        return others[sweep_draw(r, 6)];
    }
}

static void
change_field(const glow_field *f, void *at, uint64_t *r, glow_arena *a)
{
    static const float numbers[] = {0, 0.5f, 1, 2, 3, -1, 0.1f, 1e-3f};
    int words = 0;

    switch (f->kind) {
    case GLOW_INT:
        *(int *)at = (int)change_number(*(int *)at, r);
        break;
    case GLOW_INT64:
        *(int64_t *)at = change_number(*(int64_t *)at, r);
        break;
    case GLOW_FLOAT32:
        *(float *)at = numbers[sweep_draw(r, 8)];
        break;
    case GLOW_FLAG:
        *(bool *)at = !*(bool *)at;
        break;
    case GLOW_ENUM:
        while (f->words[words])
            words++;
        *(int *)at = (int)sweep_draw(r, words);
        break;
    case GLOW_DIMS: {
        glow_dims *d = at;

        if (sweep_draw(r, 3) == 0) {
            int64_t all = sweep_draw(r, 3);

            for (int i = 0; i < d->rank; i++)
                d->at[i] = all;
        } else if (d->rank) {
            int64_t *v = &d->at[sweep_draw(r, d->rank)];

            *v = change_number(*v, r);
        }
        break;
    }
    case GLOW_INTS: {
        glow_ints l = copy_ints(*(glow_ints *)at, a);

        if (l.count) {
            int64_t k = sweep_draw(r, l.count);

            ((int64_t *)l.at)[k] = change_number(l.at[k], r);
        }
        *(glow_ints *)at = l;
        break;
    }
    case GLOW_KIND:
        *(glow_kind *)at = sweep_draw(r, 2) ? floats[sweep_draw(r, 4)]
                                            : ints[sweep_draw(r, 9)];
        break;
    default:
        break;
    }
}

static void
change_attribute(specimen *s, uint64_t *r, glow_arena *a)
{
    glow_schema schema = glow_op_schema(s->op);
    int count = glow_schema_count(schema);

    if (!count || !s->attrs)
        return;

    char *attrs = glow_attrs_copy(a, schema, s->attrs);
    const glow_field *f = &schema.fields[sweep_draw(r, count)];

    change_field(f, attrs + f->at, r, a);
    s->attrs = attrs;
}

void
sweep_mutate(specimen *s, uint64_t *state, glow_arena *a)
{
    for (int64_t i = 1 + sweep_draw(state, 3); i > 0; i--) {
        switch (sweep_draw(state, 14)) {
        case 11:
        case 12:
        case 13:
            change_to_quantized(s, state);
            break;
        case 0:
        case 1:
        case 2:
            change_kind(s, state);
            break;
        case 3:
        case 4:
        case 5:
            change_size(s, state, a, draw_size(state));
            break;
        case 6:
            change_axis(s, state);
            break;
        case 7:
            change_rank(s, state);
            break;
        case 8:
            change_line(s, state);
            break;
        default:
            change_attribute(s, state, a);
        }
    }
}

void
sweep_mutate_near(specimen *s, uint64_t *state, glow_arena *a)
{
    switch (sweep_draw(state, 4)) {
    case 0:
        change_line(s, state);
        break;
    case 1:
        change_size(s, state, a, draw_threshold(state));
        break;
    default:
        change_width(s, state);
    }
    if (sweep_draw(state, 4) == 0)
        change_kind(s, state);
    else if (sweep_draw(state, 3) == 0)
        change_to_quantized(s, state);
    if (sweep_draw(state, 3) == 0)
        change_attribute(s, state, a);
}
