/*
 * Resolution of programs: regions, weights, instructions in order.
 *
 * An instruction marks its operands as read or written.  Results that share no
 * buffer with an operand come first, as @out; then come the operands.  An
 * operand that shares the buffer of result i, where (i, j) is an in-place pair
 * of the operator, is @inout and is both operand and result.  See print_node.c,
 * which prints this form.
 */

#include <inttypes.h>
#include <string.h>

#include "ir/text/resolve.h"

/* Memory. */

typedef struct region_attrs {
    const char *space;
    int64_t align;
    int64_t size;
    int64_t capacity;
    int64_t bank;
    glow_ints forbidden;
} region_attrs;

static const glow_field region_fields[] = {
    GLOW_FIELD(region_attrs, space, GLOW_STRING, "a space of the target"),
    GLOW_FIELD(region_attrs, align, GLOW_INT64, "of its first byte"),
    GLOW_FIELD(region_attrs, size, GLOW_INT64, "bytes used"),
    GLOW_FIELD_DEFAULT(region_attrs, capacity, GLOW_INT64, "bytes at most"),
    GLOW_FIELD_DEFAULT(region_attrs, bank, GLOW_INT64,
                       "bytes of which no buffer that fits lies across a "
                       "multiple"),
    GLOW_FIELD_DEFAULT(region_attrs, forbidden, GLOW_INTS,
                       "where nothing lies: first byte, end, and so on"),
    {NULL, GLOW_NO_FIELD, 0, NULL, false, NULL},
};

static const char *
wrong_forbidden(const region_attrs *a)
{
    int64_t at = 0;

    if (a->forbidden.count % 2 != 0)
        return "Forbidden has a range without an end";
    for (int64_t i = 0; i < a->forbidden.count; i++) {
        int64_t next = a->forbidden.at[i];

        if (next < 0)
            return "Forbidden has a range that begins below 0";
        if (next < at || (i % 2 && next == at))
            return "the ranges of Forbidden are not one after the other";
        at = next;
    }
    return NULL;
}

static const char *
wrong_region(const region_attrs *a)
{
    if (a->align < 1 || (a->align & (a->align - 1)) != 0)
        return "Align is not a power of two";
    if (a->size < 0)
        return "Size is negative";
    if (a->capacity < 1)
        return a->capacity ? "Capacity is negative"
                           : "Capacity is 0: leave it out where there is no "
                             "limit";
    if (a->bank < 0)
        return "Bank is negative";
    if (a->bank % a->align != 0 && a->align % a->bank != 0)
        return "neither of Bank and Align divides the other";
    return wrong_forbidden(a);
}

static void
set_forbidden(glow_arena *a, glow_region *g, glow_ints list)
{
    glow_place_range *r = GLOW_NEW_ARRAY(a, glow_place_range, list.count / 2);

    for (int64_t i = 0; i < list.count / 2; i++)
        r[i] = (glow_place_range){list.at[2 * i], list.at[2 * i + 1]};
    g->forbidden = r;
    g->n_forbidden = (size_t)list.count / 2;
}

static void
make_region(text_scope *s, const text_region *t, glow_region ***end)
{
    static const region_attrs defaults = {.capacity = INT64_MAX};
    glow_arena *a = s->r->m->arena;
    const region_attrs *attrs;
    glow_region *g;

    if (glow_map_get(s->regions, t->name.text)) {
        glow_text_error(s->r->p, t->name.span, "E0109",
                        "the region $%s is defined twice", t->name.text);
        return;
    }
    g = GLOW_NEW(a, glow_region);
    g->name = glow_arena_strdup(a, t->name.text);
    glow_map_set(s->regions, g->name, g);
    attrs = glow_text_attr_struct(s->r, (glow_schema){region_fields, &defaults},
                                  t->attrs, "the region", t->name.span);
    if (!attrs)
        return;
    if (wrong_region(attrs)) {
        glow_text_error(s->r->p, t->name.span, "E0140", "the region $%s: %s",
                        t->name.text, wrong_region(attrs));
        return;
    }
    g->space = glow_arena_strdup(a, attrs->space);
    g->align = attrs->align;
    g->size = attrs->size;
    g->capacity = attrs->capacity == INT64_MAX ? 0 : attrs->capacity;
    g->bank = attrs->bank;
    set_forbidden(a, g, attrs->forbidden);
    **end = g;
    *end = &g->next;
}

static const char *
suggest_region(text_scope *s, const char *wrong)
{
    const char *names[64];
    size_t n = 0;

    for (const glow_region *g = s->f->regions; g && n < 64; g = g->next)
        names[n++] = g->name;
    return glow_text_suggest(s->r->p, wrong, names, n);
}

/* ` at $region + 64 size 32` */
static bool
set_place(text_scope *s, text_node *n)
{
    const text_place *t = n->place;
    glow_place place = {0};

    if (!t)
        return true;
    place.region = glow_map_get(s->regions, t->region.text);
    if (!place.region) {
        glow_text_error_hint(s->r->p, t->region.span, "E0110",
                             suggest_region(s, t->region.text),
                             "no region is called $%s", t->region.text);
        return false;
    }
    place.size = glow_type_bytes(n->node->out[0]->type);
    if (!glow_text_size(s->r->p, t->offset, &place.offset) ||
        (t->has_size && !glow_text_size(s->r->p, t->size, &place.size)))
        return false;
    place.is_fixed = t->is_fixed;
    glow_node_set_place(n->node, place);
    return true;
}

/* Builds the definition of a buffer. */

static void
make_buffer(text_scope *s, text_node *n, const glow_op *op)
{
    const glow_type *type = n->results->type;
    const void *attrs;

    if (!type)
        return;
    attrs = glow_text_attr_struct(s->r, glow_op_schema(op), n->attrs, op->name,
                                  n->op.span);
    if (!attrs)
        return;
    glow_text_dress_node(
        s, n, glow_node_new(s->f, op, n->name.text, NULL, 0, &type, 1, attrs),
        (text_attributes){0});
    n->complete = set_place(s, n);
}

/* `weight TYPE @symbol mutable` */
static void
make_weight(text_scope *s, text_node *n)
{
    const text_operand *o = n->operands;
    const char *access = n->access->text;
    text_item *i;

    if (!glow_text_define_node(s, n))
        return;
    i = glow_map_get(s->r->storage, o->name.text);
    if (!i && glow_map_get(s->r->p->symbols, o->name.text))
        return;
    if (!i) {
        glow_text_error_hint(s->r->p, o->span, "E0110",
                             glow_text_suggest_storage(s->r, o->name.text),
                             "no placeholder or constant is called @%s",
                             o->name.text);
        return;
    }
    if (!i->made)
        return;
    if (strcmp(access, i->made->is_constant ? "constant" : "mutable") != 0) {
        glow_text_error_note(s->r->p, n->access->span, "E0136", i->name.span,
                             "defined here", "@%s is a %s, so it is `%s`",
                             o->name.text,
                             i->made->is_constant ? "constant" : "placeholder",
                             i->made->is_constant ? "constant" : "mutable");
        return;
    }
    make_buffer(s, n, &glow_op_weight);
    if (n->node)
        n->node->out[0]->storage = i->made;
}

/* Instructions. */

typedef struct marks {
    const text_operand **out; /* by result */
    const text_operand **in;  /* by operand; NULL: omitted */
    int n_out, n_in;
    int given_out, given_in;
} marks;

static const char *
instr_form(text_scope *s, const glow_op *op)
{
    glow_buf b = {.arena = s->r->p->arena};
    char name[64];
    const char *comma = "";

    glow_op_instr_name(op, name, sizeof name);
    glow_buf_printf(&b, "write %s", name);
    for (int i = 0; op != &glow_op_tensorview && i < glow_op_results(op);
         i++, comma = ",")
        glow_buf_printf(&b, "%s @out %s%s", comma, op->out[i].name,
                        op->out[i].kind == GLOW_VARIADIC ? "..." : "");
    for (int i = 0; i < glow_op_operands(op); i++, comma = ",")
        glow_buf_printf(&b, "%s @in %s%s", comma, op->in[i].name,
                        op->in[i].kind == GLOW_VARIADIC ? "..." : "");
    return b.text;
}

static bool
wrong_marks(text_scope *s, const text_operand *o, const glow_op *op,
            const char *why)
{
    glow_text_error_hint(s->r->p, o->span, "E0136", instr_form(s, op), "%s",
                         why);
    return false;
}

/* Separates written and read operands; @out comes before all others. */
static bool
sort_marks(text_scope *s, const text_node *n, const glow_op *op, marks *m)
{
    int count = 0;

    for (const text_operand *o = n->operands; o; o = o->next)
        count++;
    m->in = GLOW_NEW_ARRAY(s->r->p->arena, const text_operand *,
                           count + GLOW_MAX_OPERANDS);
    m->out = GLOW_NEW_ARRAY(s->r->p->arena, const text_operand *,
                            count + GLOW_MAX_RESULTS);
    for (const text_operand *o = n->operands; o; o = o->next) {
        if (o->qualifier != TEXT_OUT) {
            m->in[m->given_in++] = o;
            continue;
        }
        if (m->given_in > 0)
            return wrong_marks(s, o, op, "@out stands before @in and @inout");
        if (o->kind == TEXT_OMITTED)
            return wrong_marks(s, o, op, "a result is never omitted");
        if (m->given_out == GLOW_MAX_RESULTS && !glow_op_any_results(op))
            return wrong_marks(s, o, op, "the operator has fewer results");
        m->out[m->given_out++] = o;
    }
    return true;
}

/* The schema operand of in[i]; as glow_operand_of, before the node exists. */
static int
schema_operand(const glow_op *op, int i, int n_in)
{
    int variadic = glow_op_variadic(op);
    int group = n_in - (glow_op_operands(op) - 1);

    if (variadic < 0 || i < variadic)
        return i;
    return i < variadic + group ? variadic : i - group + 1;
}

/* The result of the in-place pair of operand `i`, marked @inout; -1: none. */
static int
paired_result(const glow_op *op, int i, int n_in, const bool taken[])
{
    int k = schema_operand(op, i, n_in);

    if (op->traits & GLOW_UNKNOWN) {
        for (int r = 0; r < glow_op_results(op); r++)
            if (!taken[r])
                return r;
        return -1;
    }
    for (int p = 0; p < op->inplace_count; p++)
        if (op->inplace[p].in == k && !taken[op->inplace[p].out])
            return op->inplace[p].out;
    return -1;
}

/*
 * Assigns an operand to each result: @inout to their pairs, @out to the rest.
 */
static bool
pair_marks(text_scope *s, const text_node *n, const glow_op *op, marks *m)
{
    const text_operand *plain[GLOW_MAX_RESULTS];
    bool taken[GLOW_MAX_RESULTS] = {false};
    int next = 0;

    if (glow_op_any_results(op)) {
        for (int i = 0; i < m->given_in; i++)
            if (m->in[i]->qualifier == TEXT_INOUT)
                return wrong_marks(s, m->in[i], op,
                                   "the operator cannot work in place");
        m->n_out = m->given_out;
        return true;
    }
    memcpy(plain, m->out, sizeof plain);
    if (op->traits & GLOW_UNKNOWN) /* @out first, then @inout, as they come */
        for (int i = 0; i < m->given_out; i++)
            taken[i] = true;
    for (int i = 0; i < m->given_in; i++) {
        int r;

        if (m->in[i]->qualifier != TEXT_INOUT)
            continue;
        r = paired_result(op, i, m->n_in, taken);
        if (r < 0 || m->in[i]->kind == TEXT_OMITTED)
            return wrong_marks(s, m->in[i], op,
                               "the operator cannot work in place on this "
                               "operand");
        taken[r] = true;
        m->out[r] = m->in[i];
        m->n_out++;
    }
    m->n_out += m->given_out;
    if (m->n_out != glow_op_results(op)) {
        glow_text_error_hint(s->r->p, n->op.span, "E0114", instr_form(s, op),
                             "%s writes %d buffer%s, but %d %s given", op->name,
                             glow_op_results(op),
                             glow_op_results(op) == 1 ? "" : "s", m->n_out,
                             m->n_out == 1 ? "is" : "are");
        return false;
    }
    if (op->traits & GLOW_UNKNOWN)
        return true;
    for (int r = 0; r < m->n_out; r++)
        if (!taken[r])
            m->out[r] = plain[next++];
    return true;
}

/* Counts the operands; missing ones at the end are omitted. */
static bool
count_marks(text_scope *s, const text_node *n, const glow_op *op, marks *m)
{
    int want = glow_op_operands(op);
    bool variadic = glow_op_variadic(op) >= 0;

    m->n_in = m->given_in;
    if (!variadic)
        while (m->n_in < want && op->in[m->n_in].kind == GLOW_OPTIONAL)
            m->n_in++;
    if (variadic ? m->n_in >= want - 1 : m->n_in == want)
        return true;
    glow_text_error_hint(s->r->p, n->op.span, "E0114", instr_form(s, op),
                         "%s reads %d operand%s%s, but %d %s given", op->name,
                         variadic ? want - 1 : want,
                         (variadic ? want - 1 : want) == 1 ? "" : "s",
                         variadic ? " or more" : "", m->given_in,
                         m->given_in == 1 ? "is" : "are");
    return false;
}

static const glow_op *
keep_unknown(text_scope *s, const text_node *n)
{
    glow_operand in[GLOW_MAX_OPERANDS] = {{0}}, out[GLOW_MAX_RESULTS] = {{0}};
    glow_arena *a = s->r->p->arena;
    int n_in = 0, n_out = 0;
    bool fits = true;

    for (const text_operand *o = n->operands; o && fits; o = o->next) {
        glow_operand_kind kind =
            o->kind == TEXT_OMITTED ? GLOW_OPTIONAL : GLOW_TENSOR;

        if (o->qualifier != TEXT_IN) {
            fits = n_out < GLOW_MAX_RESULTS;
            if (fits)
                out[n_out] =
                    (glow_operand){.name = glow_arena_printf(a, "Out%d", n_out),
                                   .kind = GLOW_TENSOR};
            n_out++;
        }
        if (o->qualifier != TEXT_OUT && fits) {
            fits = n_in < GLOW_MAX_OPERANDS;
            if (fits)
                in[n_in] = (glow_operand){
                    .name = glow_arena_printf(a, "In%d", n_in), .kind = kind};
            n_in++;
        }
    }
    if (fits)
        return glow_unknown_op(s->r->m, n->op.text, in, n_in, out, n_out);
    glow_text_error(
        s->r->p, n->op.span, "E0114",
        "%s has more operands than can be kept: at most %d read and %d "
        "written",
        n->op.text, GLOW_MAX_OPERANDS, GLOW_MAX_RESULTS);
    return NULL;
}

static bool
resolve_marks(text_scope *s, const text_operand *const *marked, int count,
              glow_value **out)
{
    bool ok = true;

    for (int i = 0; i < count; i++)
        if (marked[i] && marked[i]->kind != TEXT_OMITTED)
            ok &= glow_text_resolve_ref(s, marked[i], &out[i]) && out[i];
    return ok;
}

static void
make_view(text_scope *s, text_node *n, const glow_op *op, const marks *m,
          glow_value **in, text_attributes attrs)
{
    const glow_type *type = n->results ? n->results->type : NULL;

    if (!n->results || n->results->next) {
        glow_text_error(s->r->p, n->op.span, "E0115",
                        "%s has one result: write `: type`", op->name);
        return;
    }
    for (const text_operand *o = n->operands; o; o = o->next)
        if (o->qualifier != TEXT_IN) {
            wrong_marks(s, o, op, "a view is neither read nor written: @in");
            return;
        }
    if (n->scratch) {
        wrong_marks(s, n->scratch, op, "a view works in no scratch");
        return;
    }
    if (n->queue.text) {
        glow_text_error(s->r->p, n->queue.span, "E0136",
                        "a view is no work of a queue");
        return;
    }
    if (type)
        glow_text_dress_node(s, n,
                             glow_node_new(s->f, op, n->name.text, in, m->n_in,
                                           &type, 1, attrs.known),
                             attrs);
    n->complete = n->node && glow_text_set_pred(s, n);
}

static void
make_instr(text_scope *s, text_node *n)
{
    glow_value **in, **out;
    text_attributes attrs;
    marks m = {.n_in = 0};
    const glow_op *op = glow_text_known_op(s, n);
    bool is_view = op == &glow_op_tensorview;

    if (!op && s->r->p->options->allow_unknown_ops)
        op = keep_unknown(s, n);
    if (!op)
        return;
    if (op == &glow_op_weight || op == &glow_op_alloc) {
        glow_text_error(
            s->r->p, n->op.span, "E0136",
            "write `%%name = weight type @symbol mutable` in `declare`, "
            "`%%name = alloc type` in `code`");
        return;
    }
    bool ok = sort_marks(s, n, op, &m) && count_marks(s, n, op, &m) &&
              (is_view || pair_marks(s, n, op, &m));
    ok &= glow_text_node_attrs(s, n, op, &attrs);
    in = GLOW_NEW_ARRAY(s->r->p->arena, glow_value *, m.n_in + 1);
    out = GLOW_NEW_ARRAY(s->r->p->arena, glow_value *, m.n_out + 1);
    if (ok) {
        ok = resolve_marks(s, m.in, m.n_in, in);
        ok &= resolve_marks(s, m.out, m.n_out, out);
    }
    if (n->results && !is_view) {
        glow_text_error(s->r->p, n->op.span, "E0115",
                        "an instruction writes its @out operands: it states no "
                        "type");
        return;
    }
    if (!ok)
        return;
    if (is_view) {
        make_view(s, n, op, &m, in, attrs);
        return;
    }
    glow_text_dress_node(s, n,
                         glow_instr_new(s->f, op, n->name.text, out, m.n_out,
                                        in, m.n_in, attrs.known),
                         attrs);
    if (n->queue.text)
        glow_set_queue(n->node, n->queue.text);
    n->complete = glow_text_set_pred(s, n) && glow_text_set_scratch(s, n);
}

/*
 * True if the program has regions, unless some buffers have no place and all
 * places are fixed.
 */
static bool
is_placed(const text_scope *s)
{
    bool loose = false, lacks = false;

    GLOW_FOR_EACH_NODE(n, s->f) {
        loose |= n->place && !n->place->is_fixed;
        lacks |=
            !n->place && (n->op == &glow_op_alloc || n->op == &glow_op_weight);
    }
    return s->item->has_memory && (loose || !lacks);
}

void
glow_text_resolve_program(text_scope *s)
{
    glow_region **end = &s->f->regions;

    for (const text_region *g = s->item->regions.first; g; g = g->next)
        make_region(s, g, &end);
    for (text_node *n = s->item->weights.first; n; n = n->next)
        make_weight(s, n);
    for (text_node *n = s->item->nodes.first; n; n = n->next) {
        if (!glow_text_define_node(s, n))
            continue;
        if (n->kind == TEXT_ALLOC)
            make_buffer(s, n, &glow_op_alloc);
        else
            make_instr(s, n);
    }
    s->f->placed = is_placed(s);
}
