/*
 * Resolution of graph functions.  A node may use nodes that are defined below
 * it, so all nodes are built first, without operands, then the operands are
 * set.
 */

#include <inttypes.h>
#include <string.h>

#include "ir/text/resolve.h"

/* Results. */

static int
count_results(const text_node *n)
{
    int count = 0;

    for (const text_result *r = n->results; r && count < INT16_MAX; r = r->next)
        count++;
    return count;
}

static const char *
result_form(text_scope *s, const glow_op *op)
{
    int count = glow_op_results(op);
    glow_buf b = {.arena = s->r->p->arena};

    if (glow_op_any_results(op))
        return glow_arena_printf(b.arena,
                                 "write `: type`, or `: (%s0: type, "
                                 "%s1: type)`",
                                 op->out[0].name, op->out[0].name);
    if (count == 0)
        return "it has none: leave out the `:` and what follows";
    if (count == 1)
        return "write `: type`";
    glow_buf_puts(&b, "write `: (");
    for (int i = 0; i < count; i++)
        glow_buf_printf(&b, "%s%s: type", i ? ", " : "", op->out[i].name);
    glow_buf_puts(&b, ")`");
    return b.text;
}

static bool
check_results(text_scope *s, const text_node *n, const glow_op *op)
{
    int want = glow_op_results(op), got = count_results(n), i = 0;
    char name[80];

    if (glow_op_any_results(op) && got < INT16_MAX)
        want = got;
    if (want != got) {
        glow_text_error_hint(s->r->p, n->op.span, "E0115", result_form(s, op),
                             "%s has %d result%s, but %d type%s stated",
                             op->name, want, want == 1 ? "" : "s", got,
                             got == 1 ? " is" : "s are");
        return false;
    }
    for (const text_result *r = n->results; r; r = r->next, i++) {
        if (!r->type)
            return false;
        glow_op_result_name(op, i, name, sizeof name);
        if (r->name.text && strcmp(r->name.text, name) != 0) {
            glow_text_error_hint(s->r->p, r->name.span, "E0115",
                                 result_form(s, op),
                                 "result %d of %s is called %s, not %s", i,
                                 op->name, name, r->name.text);
            return false;
        }
    }
    return true;
}

/* Operands. */

static const char *
operand_form(text_scope *s, const glow_op *op)
{
    glow_buf b = {.arena = s->r->p->arena};

    glow_buf_printf(&b, "write %s(", op->name);
    for (int i = 0; i < glow_op_operands(op); i++) {
        const glow_operand *o = &op->in[i];

        glow_buf_printf(&b, o->kind == GLOW_VARIADIC ? "%s[%s...]" : "%s%s",
                        i ? ", " : "", o->name);
        if (o->kind == GLOW_OPTIONAL)
            glow_buf_puts(&b, " or _");
    }
    glow_buf_putc(&b, ')');
    return b.text;
}

static bool
check_operand(text_scope *s, const glow_op *op, const glow_operand *want,
              const text_operand *o)
{
    const char *wrong = NULL;

    if (o->label && strcmp(o->label->text, want->name) != 0)
        wrong = "another name";
    else if (want->kind == GLOW_VARIADIC && o->kind != TEXT_GROUP)
        wrong = "a group of values in brackets";
    else if (want->kind != GLOW_VARIADIC && o->kind == TEXT_GROUP)
        wrong = "one value, not a group";
    else if (want->kind != GLOW_OPTIONAL && o->kind == TEXT_OMITTED)
        wrong = "not optional";
    if (wrong)
        glow_text_error_hint(s->r->p, o->label ? o->label->span : o->span,
                             "E0114", operand_form(s, op),
                             "operand %s of %s is %s", want->name, op->name,
                             wrong);
    return !wrong;
}

/*
 * Checks the operands and counts them, groups expanded; false after a report.
 */
static bool
check_operands(text_scope *s, const text_node *n, const glow_op *op, int *count)
{
    int want = glow_op_operands(op), i = 0;

    *count = 0;
    for (const text_operand *o = n->operands; o; o = o->next, i++) {
        if (i == want) {
            glow_text_error_hint(s->r->p, o->span, "E0114", operand_form(s, op),
                                 "%s takes %d operand%s, but more are given",
                                 op->name, want, want == 1 ? "" : "s");
            return false;
        }
        if (!check_operand(s, op, &op->in[i], o))
            return false;
        if (o->kind == TEXT_GROUP) {
            for (const text_operand *g = o->group; g; g = g->next, ++*count)
                if (g->kind == TEXT_GROUP || g->kind == TEXT_OMITTED) {
                    glow_text_error(s->r->p, g->span, "E0114",
                                    "a group holds values alone");
                    return false;
                }
        } else {
            ++*count;
        }
    }
    for (; i < want; i++, ++*count)
        if (op->in[i].kind != GLOW_OPTIONAL) {
            glow_text_error_hint(
                s->r->p, n->op.span, "E0114", operand_form(s, op),
                "%s misses its operand %s", op->name, op->in[i].name);
            return false;
        }
    return true;
}

/* The signature of an operator that is not registered. */
static const glow_op *
keep_unknown(text_scope *s, const text_node *n)
{
    glow_operand in[GLOW_MAX_OPERANDS] = {{0}}, out[GLOW_MAX_RESULTS] = {{0}};
    glow_arena *a = s->r->p->arena;
    int n_in = 0, n_out = 0, groups = 0;

    for (const text_operand *o = n->operands; o; o = o->next) {
        if (n_in < GLOW_MAX_OPERANDS)
            in[n_in] = (glow_operand){
                .name = o->label ? o->label->text
                                 : glow_arena_printf(a, "In%d", n_in),
                .kind = o->kind == TEXT_GROUP     ? GLOW_VARIADIC
                        : o->kind == TEXT_OMITTED ? GLOW_OPTIONAL
                                                  : GLOW_TENSOR};
        groups += o->kind == TEXT_GROUP;
        n_in++;
    }
    for (const text_result *r = n->results; r; r = r->next) {
        if (n_out < GLOW_MAX_RESULTS)
            out[n_out] =
                (glow_operand){.name = r->name.text ? r->name.text : "Result",
                               .kind = GLOW_TENSOR};
        n_out++;
    }
    if (n_in > GLOW_MAX_OPERANDS || n_out > GLOW_MAX_RESULTS || groups > 1) {
        glow_text_error(
            s->r->p, n->op.span, "E0114",
            "%s has %d operands, %d groups and %d results, but at most "
            "%d, 1 and %d can be kept",
            n->op.text, n_in, groups, n_out, GLOW_MAX_OPERANDS,
            GLOW_MAX_RESULTS);
        return NULL;
    }
    return glow_unknown_op(s->r->m, n->op.text, in, n_in, out, n_out);
}

/* First pass: builds the node and its results. */
static void
make_node(text_scope *s, text_node *n)
{
    const glow_op *op;
    text_attributes attrs;
    const glow_type **types;
    glow_value **none;
    int count, n_out = 0;

    if (!glow_text_define_node(s, n))
        return;
    op = glow_text_known_op(s, n);
    if (!op && s->r->p->options->allow_unknown_ops)
        op = keep_unknown(s, n);
    if (!op)
        return;
    /* All three report errors, so all are called. */
    bool ok = check_operands(s, n, op, &count);
    ok &= check_results(s, n, op);
    ok &= glow_text_node_attrs(s, n, op, &attrs);
    if (!ok)
        return;
    types =
        GLOW_NEW_ARRAY(s->r->p->arena, const glow_type *, count_results(n) + 1);
    for (const text_result *r = n->results; r; r = r->next)
        types[n_out++] = r->type;
    none = GLOW_NEW_ARRAY(s->r->p->arena, glow_value *, count + 1);
    glow_text_dress_node(s, n,
                         glow_node_new(s->f, op, n->name.text, none, count,
                                       types, n_out, attrs.known),
                         attrs);
}

/* Second pass: sets operand `i`.  False if the node is not worth checking. */
static bool
set_operand(text_scope *s, glow_node *n, int i, const text_operand *o)
{
    glow_value *v;

    if (o->kind == TEXT_OMITTED)
        return true;
    if (!glow_text_resolve_ref(s, o, &v) || !v)
        return false;
    glow_set_operand(n, i, v);
    return true;
}

static bool
set_operands(text_scope *s, text_node *n)
{
    bool ok = true;
    int i = 0;

    for (const text_operand *o = n->operands; o; o = o->next) {
        if (o->kind != TEXT_GROUP)
            ok &= set_operand(s, n->node, i++, o);
        else
            for (const text_operand *g = o->group; g; g = g->next)
                ok &= set_operand(s, n->node, i++, g);
    }
    return glow_text_set_pred(s, n) && ok;
}

void
glow_text_resolve_graph(text_scope *s)
{
    s->f->scheduled = s->item->scheduled;
    for (text_node *n = s->item->nodes.first; n; n = n->next)
        make_node(s, n);
    for (text_node *n = s->item->nodes.first; n; n = n->next)
        n->complete = n->node && set_operands(s, n);
}
