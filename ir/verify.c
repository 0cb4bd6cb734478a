/*
 * The verifier of nodes, graphs and modules.  Programs have further rules, in
 * verify_program.c.  Rules of one operator are its `infer`; this file has the
 * rules common to all.
 */

#include "ir/verify.h"
#include "glow/graph.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_NOTES = 4, NAME_SIZE = 80 };

/* Notes on the types of the node's operands: "Input is float<2 x 3>". */
static const glow_diag *
operand_notes(glow_arena *a, const glow_node *n)
{
    const glow_diag *first = NULL;
    const glow_diag **link = &first;

    for (int i = 0; i < n->n_in && i < MOST_NOTES; i++) {
        const glow_value *v = n->in[i];
        glow_diag *d;

        if (!v || !v->type)
            continue;
        d = GLOW_NEW(a, glow_diag);
        d->severity = GLOW_NOTE;
        d->message = glow_arena_printf(a, "%s is %s",
                                       n->op->in[glow_operand_of(n, i)].name,
                                       glow_type_text(a, v->type));
        d->span = v->def ? v->def->span : v->storage->span;
        *link = d;
        link = &d->next;
    }
    return first;
}

/* True for errors about the types of operands. */
static bool
is_of_types(const char *id)
{
    return strcmp(id, "E0203") == 0 || strcmp(id, "E0214") == 0;
}

/* Reports an error of a node, at `span`, with its provenance. */
static bool
report(const glow_node *n, glow_span span, const char *id, const char *hint,
       const glow_diag *notes, const char *text)
{
    glow_arena *scratch = glow_arena_new();
    glow_diag d = {.severity = GLOW_ERROR, .id = id, .span = span};

    d.message = glow_arena_printf(scratch, "%s: %s", n->op->name, text);
    d.hint = hint;
    d.notes = is_of_types(id) ? operand_notes(scratch, n) : notes;

    const glow_loc *l = n->loc;

    while (l && l->n_parts)
        l = l->parts[0];
    if (l && l->node)
        d.origin = glow_arena_printf(scratch, "%s in %s", l->node, l->text);
    if (!n->span.source) /* no position: the name identifies the node */
        d.message = glow_arena_printf(scratch, "%%%s of @%s: %s", n->name,
                                      n->func->name, d.message);
    glow_report(n->func->module->ctx, &d);
    glow_arena_free(scratch);
    return false;
}

bool
glow_node_error(const glow_node *n, const char *id, const char *hint,
                const char *fmt, ...)
{
    glow_arena *scratch = glow_arena_new();
    va_list ap;

    va_start(ap, fmt);
    report(n, n->span, id, hint, NULL, glow_arena_vprintf(scratch, fmt, ap));
    va_end(ap);
    glow_arena_free(scratch);
    return false;
}

bool
glow_reject(const glow_node *n, const char *fmt, ...)
{
    glow_arena *scratch = glow_arena_new();
    va_list ap;

    va_start(ap, fmt);
    glow_node_error(n, "E0203", NULL, "%s",
                    glow_arena_vprintf(scratch, fmt, ap));
    va_end(ap);
    glow_arena_free(scratch);
    return false;
}

static const char *
result_name(const glow_node *n, int i, char name[NAME_SIZE])
{
    glow_op_result_name(n->op, i, name, NAME_SIZE);
    return name;
}

bool
glow_infer(const glow_node *n, glow_type out[])
{
    char name[NAME_SIZE];

    for (int i = 0; i < n->n_out; i++)
        out[i] = n->out[i] && n->out[i]->type
                     ? *n->out[i]->type
                     : (glow_type){.elem = GLOW_NO_KIND};
    if (n->op->traits & GLOW_UNKNOWN)
        return true;
    if (!n->op->infer(n, out))
        return false;
    for (int i = 0; i < n->n_out; i++) {
        const char *wrong =
            out[i].elem == GLOW_NO_KIND
                ? "it is not stated"
                : glow_type_check(&out[i], n->func->module->arena);

        if (wrong)
            return glow_reject(n, "the type of result %s: %s",
                               result_name(n, i, name), wrong);
    }
    return true;
}

/* Counts, omitted operands and kinds of operands. */

static bool
check_counts(const glow_node *n)
{
    int want = glow_op_operands(n->op), results = glow_op_results(n->op);
    bool variadic = glow_op_variadic(n->op) >= 0;

    if (variadic ? n->n_in < want - 1 : n->n_in != want)
        return glow_node_error(
            n, "E0202", NULL, "it has %d operands, but takes %d%s", n->n_in,
            variadic ? want - 1 : want, variadic ? " or more" : "");
    if (n->n_out != results && !glow_op_any_results(n->op))
        return glow_node_error(n, "E0202", NULL,
                               "it has %d results, but gives %d", n->n_out,
                               results);
    return true;
}

static bool
check_operand(const glow_node *n, int i)
{
    const glow_operand *o = &n->op->in[glow_operand_of(n, i)];
    const glow_value *v = n->in[i];

    if (!v) {
        if (o->kind == GLOW_OPTIONAL)
            return true;
        return glow_node_error(n, "E0202", NULL,
                               "operand %s is omitted, but is not optional",
                               o->name);
    }
    if (o->kind == GLOW_WRITTEN && (!v->storage || v->storage->is_constant))
        return glow_node_error(n, "E0206", NULL,
                               "operand %s is written, so it must be a "
                               "placeholder",
                               o->name);
    return true;
}

static bool
check_level(const glow_node *n)
{
    int traits = n->op->traits;

    if (n->func->is_program && (traits & GLOW_GRAPH_ONLY))
        return glow_node_error(n, "E0207", NULL,
                               "it has no place in a program, only in a graph");
    if (!n->func->is_program && (traits & GLOW_PROGRAM_ONLY))
        return glow_node_error(n, "E0207", NULL,
                               "it has no place in a graph, only in a program");
    return true;
}

static bool
check_pred(const glow_node *n)
{
    if (!n->pred || n->pred->type->elem == GLOW_BOOL)
        return true;
    return glow_node_error(
        n, "E0208", NULL, "the predicate is %s, but must be bool",
        glow_type_text(n->func->module->arena, n->pred->type));
}

/* True if one of the values has strides. */
static bool
any_strided(glow_value *const *v, int count)
{
    for (int i = 0; i < count; i++)
        if (v[i] && v[i]->type->strides.rank)
            return true;
    return false;
}

static glow_value **
dense_values(glow_arena *a, glow_context *ctx, glow_value *const *v, int count)
{
    glow_value **dense = GLOW_NEW_ARRAY(a, glow_value *, count);

    for (int i = 0; i < count; i++) {
        if (!v[i])
            continue;
        glow_type t = *v[i]->type;

        t.strides = (glow_dims){0};
        dense[i] = glow_arena_copy(a, v[i], sizeof *v[i]);
        dense[i]->type = glow_type_get(ctx, t);
    }
    return dense;
}

/* Is `n` an instruction that reads or writes a buffer with strides? */
static bool
uses_strides(const glow_node *n)
{
    return n->func->is_program && !(n->op->traits & GLOW_STRUCTURAL) &&
           (any_strided(n->in, n->n_in) || any_strided(n->out, n->n_out));
}

/*
 * A copy of `n` with dense types.  The result of an instruction does not depend
 * on the strides of its buffers, so `infer` is called on dense types.
 */
static const glow_node *
laid_out_densely(glow_arena *a, const glow_node *n)
{
    glow_context *ctx = n->func->module->ctx;
    glow_node *dense = glow_arena_copy(a, n, sizeof *n);

    dense->in = dense_values(a, ctx, n->in, n->n_in);
    dense->out = dense_values(a, ctx, n->out, n->n_out);
    return dense;
}

/* Reports that result `i` of `n` is stated as another type than `type`. */
static bool
report_stated(const glow_node *n, int i, const glow_type *type, glow_span span)
{
    glow_arena *a = glow_arena_new();
    const char *is = glow_type_text(a, n->out[i]->type);
    const char *must = glow_type_text(a, type);
    char name[NAME_SIZE];

    report(n, span, "E0214", glow_arena_printf(a, "state %s", must), NULL,
           glow_arena_printf(a, "result %s is stated as %s, but is %s",
                             result_name(n, i, name), is, must));
    glow_arena_free(a);
    return false;
}

/* Most nodes take no memory for this. */
static bool
check_types(const glow_node *stated, const glow_span *types, bool *wrong)
{
    enum { FEW = 4 };
    glow_type few[FEW], *out = few;
    const glow_node *n = stated;
    glow_arena *a = NULL;
    bool ok;

    if (n->n_out > FEW || uses_strides(n)) {
        a = glow_arena_new();
        out = GLOW_NEW_ARRAY(a, glow_type, n->n_out);
        n = uses_strides(n) ? laid_out_densely(a, n) : n;
    }
    ok = glow_infer(n, out);
    for (int i = 0; i < n->n_out && ok; i++)
        if (n->out[i] && !glow_type_equal(&out[i], n->out[i]->type)) {
            *wrong = true;
            ok = report_stated(n, i, &out[i], types ? types[i] : n->span);
        }
    glow_arena_free(a);
    return ok;
}

bool
glow_verify_stated(const glow_node *n, const glow_span *types, bool *wrong)
{
    if (!check_level(n))
        return false;
    if (!(n->op->traits & GLOW_UNKNOWN) && !check_counts(n))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (!check_operand(n, i))
            return false;
    return check_pred(n) && check_types(n, types, wrong);
}

bool
glow_verify_node(const glow_node *n)
{
    bool wrong = false;

    return glow_verify_stated(n, NULL, &wrong);
}

/* Graphs: order and cycles. */

/* Reports `v` if `n` reads it and its definition comes later, or is `n`. */
static bool
check_defined(const glow_numbering *passed, const glow_node *n,
              const glow_value *v)
{
    if (!v || !v->def || glow_number_of(passed, v->def) != GLOW_UNNUMBERED)
        return true;
    return glow_node_error(n, "E0205", NULL,
                           "%%%s is used before it is defined, in a scheduled "
                           "function",
                           v->def->name);
}

static bool
check_schedule(const glow_func *f)
{
    glow_arena *scratch = glow_arena_new();
    glow_numbering passed = glow_numbering_new(scratch, f);
    uint32_t count = 0;
    bool ok = true;

    GLOW_FOR_EACH_NODE(n, f) {
        for (int i = 0; i < n->n_in; i++)
            ok = check_defined(&passed, n, n->in[i]) && ok;
        ok = check_defined(&passed, n, n->pred) && ok;
        glow_number_set(&passed, n, count++);
    }
    glow_arena_free(scratch);
    return ok;
}

/* True if Kahn's algorithm has not ordered `n`; `left` counts its unordered operands. */
static bool
is_unready(const glow_numbering *left, const glow_node *n)
{
    return glow_number_of(left, n) > 0;
}

/*
 * A definition that Kahn's algorithm has not ordered, among the operands of
 * `n`: it is on a cycle or depends on one.
 */
static const glow_node *
unready_operand(const glow_numbering *left, const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->def && is_unready(left, n->in[i]->def))
            return n->in[i]->def;
    return n->pred->def;
}

/*
 * Reports the cycle from `n` through its operands back to it: its path, and the
 * positions of its next nodes.
 */
static bool
report_cycle(const glow_numbering *left, const glow_node *n)
{
    enum { MOST = 8 };
    glow_arena *a = glow_arena_new();
    const glow_diag *notes = NULL, **link = &notes;
    const glow_node *at = n;
    glow_buf b = {.arena = a};
    int count = 0;

    glow_buf_printf(&b, "it depends on its own result: %%%s", n->name);
    do {
        const glow_node *next = unready_operand(left, at);

        if (++count <= MOST)
            glow_buf_printf(&b, " reads %%%s", next->name);
        if (next != n && count <= MOST_NOTES) {
            glow_diag *d = GLOW_NEW(a, glow_diag);

            *d = (glow_diag){.severity = GLOW_NOTE,
                             .message = glow_arena_printf(
                                 a, "%%%s is defined here", next->name),
                             .span = next->span};
            *link = d;
            link = &d->next;
        }
        at = next;
    } while (at != n);
    if (count > MOST)
        glow_buf_printf(&b, " and so on, over %d nodes", count);
    report(n, n->span, "E0201", NULL, notes, b.text);
    glow_arena_free(a);
    return false;
}

/*
 * A node on a cycle: walking from any unordered node to unordered operands ends
 * in one.
 */
static const glow_node *
first_on_cycle(const glow_numbering *left, const glow_func *f,
               const glow_node *n)
{
    const glow_node *first;

    for (int i = 0; i < f->count; i++)
        n = unready_operand(left, n);
    first = n;
    for (const glow_node *i = unready_operand(left, n); i != n;
         i = unready_operand(left, i))
        if (i->id < first->id)
            first = i;
    return first;
}

/*
 * Kahn's algorithm ("Topological sorting of large networks", 1962): nodes that
 * are never ready are on a cycle or depend on one.
 */
static bool
check_cycles(const glow_func *f)
{
    glow_arena *scratch = glow_arena_new();
    glow_node **ready = GLOW_NEW_ARRAY(scratch, glow_node *, f->count + 1);
    glow_numbering left = glow_numbering_new(scratch, f);
    int head = 0, tail = 0;
    bool ok = true;

    GLOW_FOR_EACH_NODE(n, f) {
        uint32_t count = n->pred && n->pred->def;

        for (int i = 0; i < n->n_in; i++)
            count += n->in[i] && n->in[i]->def;
        glow_number_set(&left, n, count);
        if (count == 0)
            ready[tail++] = n;
    }
    while (head < tail) {
        glow_node *n = ready[head++];

        for (int i = 0; i < n->n_out; i++)
            GLOW_FOR_EACH_USE(u, n->out[i]) {
                uint32_t count = glow_number_of(&left, u->user) - 1;

                glow_number_set(&left, u->user, count);
                if (count == 0)
                    ready[tail++] = u->user;
            }
    }
    if (tail < f->count)
        GLOW_FOR_EACH_NODE(n, f)
            if (is_unready(&left, n) && ok)
                ok = report_cycle(&left, first_on_cycle(&left, f, n));
    glow_arena_free(scratch);
    return ok;
}

static bool
verify_nodes(glow_func *f)
{
    bool ok = true;

    GLOW_FOR_EACH_NODE(n, f)
        if (!glow_verify_node(n))
            ok = false;
    return ok;
}

bool
glow_verify_func(glow_func *f)
{
    return glow_verify_order(f, verify_nodes(f));
}

bool
glow_verify_order(glow_func *f, bool ok)
{
    if (!glow_verify_calls(f))
        return false;
    if (f->is_program)
        return ok && glow_verify_program(f) && glow_verify_body(f);
    ok = (f->scheduled ? check_schedule(f) : check_cycles(f)) && ok;
    return glow_verify_body(f) && ok;
}

bool
glow_verify(glow_module *m)
{
    bool ok = true;

    GLOW_FOR_EACH_FUNC(f, m)
        if (!glow_verify_func(f))
            ok = false;
    ok = glow_verify_state(m) && ok;
    return ok && glow_verify_memory(m);
}
