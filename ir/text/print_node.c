/* Printing nodes and instructions, one line each. */

#include <inttypes.h>
#include <string.h>

#include "ir/text/print.h"

/* Values. */

static void
put_result_name(glow_buf *b, char sign, const glow_op *op, int i)
{
    char name[80];

    glow_op_result_name(op, i, name, sizeof name);
    glow_text_put_name(b, sign, name);
}

void
glow_print_value(glow_buf *b, const glow_value *v)
{
    if (!v) {
        glow_buf_putc(b, '_');
    } else if (!v->def) {
        glow_text_put_name(b, '@', v->storage->name);
    } else {
        glow_text_put_name(b, '%', v->def->name);
        if (v->def->n_out > 1)
            put_result_name(b, '#', v->def->op, v->index);
    }
}

static void
put_attrs(glow_buf *b, const glow_node *n, const glow_print_options *o)
{
    if (n->op->traits & GLOW_UNKNOWN)
        glow_buf_attr_list(b, n->unknown_attrs);
    else
        glow_buf_attrs(b, glow_op_schema(n->op), n->attrs, o->all_attrs);
}

static void
put_pred(glow_buf *b, const glow_node *n)
{
    if (!n->pred)
        return;
    glow_buf_puts(b, " pred(");
    glow_print_value(b, n->pred);
    glow_buf_putc(b, ')');
}

static void
put_scratch(glow_buf *b, const glow_node *n)
{
    if (!n->scratch)
        return;
    glow_buf_puts(b, " scratch(");
    glow_print_value(b, n->scratch);
    glow_buf_putc(b, ')');
}

static void
put_queue(glow_buf *b, const glow_node *n)
{
    if (!n->queue)
        return;
    glow_buf_puts(b, " queue(");
    glow_buf_quoted(b, n->queue, strlen(n->queue));
    glow_buf_putc(b, ')');
}

static void
put_optypes(glow_buf *b, const glow_node *n, const glow_print_options *o)
{
    const char *before = "  // ";

    for (int i = 0; o->annotate_optypes && i < n->n_in; i++) {
        glow_buf_puts(b, before);
        if (n->in[i])
            glow_buf_type(b, n->in[i]->type);
        else
            glow_buf_putc(b, '_');
        before = ", ";
    }
}

/* Nodes of graphs. */

static void
put_operands(glow_buf *b, const glow_node *n, const glow_print_options *o)
{
    int variadic = glow_op_variadic(n->op);

    glow_buf_putc(b, '(');
    for (int k = 0; k < glow_op_operands(n->op); k++) {
        int first, count;

        if (k > 0)
            glow_buf_puts(b, ", ");
        if (o->annotate_opnames)
            glow_buf_printf(b, "%s: ", n->op->in[k].name);
        glow_operand_range(n, k, &first, &count);
        if (k == variadic)
            glow_buf_putc(b, '[');
        for (int i = first; i < first + count; i++) {
            if (i > first)
                glow_buf_puts(b, ", ");
            glow_print_value(b, n->in[i]);
        }
        if (k == variadic)
            glow_buf_putc(b, ']');
    }
    glow_buf_putc(b, ')');
}

static void
put_results(glow_buf *b, const glow_node *n)
{
    if (n->n_out == 0)
        return;
    glow_buf_puts(b, " : ");
    if (n->n_out == 1) {
        glow_buf_type(b, n->out[0]->type);
        return;
    }
    for (int i = 0; i < n->n_out; i++) {
        glow_buf_puts(b, i ? ", " : "(");
        put_result_name(b, '\0', n->op, i);
        glow_buf_puts(b, ": ");
        glow_buf_type(b, n->out[i]->type);
    }
    glow_buf_putc(b, ')');
}

static void
put_graph_node(glow_buf *b, const glow_node *n, const glow_print_options *o)
{
    glow_buf_puts(b, n->op->name);
    put_operands(b, n, o);
    put_attrs(b, n, o);
    put_pred(b, n);
    put_results(b, n);
}

/* Instructions. */

/* The operand whose buffer result `r` updates in place, or -1. */
static int
shared_operand(const glow_node *n, int r, const int result_of[])
{
    bool any = (n->op->traits & GLOW_UNKNOWN) != 0;

    for (int p = 0; p < (any ? n->n_in : n->op->inplace_count); p++) {
        int k = any ? p : n->op->inplace[p].in;
        int first, count;

        if (!any && n->op->inplace[p].out != r)
            continue;
        glow_operand_range(n, k, &first, &count);
        for (int i = first; i < first + count; i++)
            if (n->in[i] == n->out[r] && result_of[i] < 0)
                return i;
    }
    return -1;
}

/*
 * The result that the parser pairs with an @inout at operand `i`; see
 * program.c.
 */
static int
read_back(const glow_node *n, int i, const bool taken[])
{
    int k = glow_operand_of(n, i);

    for (int p = 0; p < n->op->inplace_count; p++)
        if (n->op->inplace[p].in == k && !taken[n->op->inplace[p].out])
            return n->op->inplace[p].out;
    return -1;
}

/*
 * Finds the operands that are printed as @inout, for a result too.  If the
 * parser would pair them otherwise (two results, both in place, crossed), there
 * are none.
 */
static void
pair_operands(const glow_node *n, int result_of[], bool shared[])
{
    bool taken[GLOW_MAX_RESULTS] = {false};

    for (int i = 0; i < n->n_in; i++)
        result_of[i] = -1;
    if (glow_op_any_results(n->op)) /* never in place */
        return;
    for (int r = 0; r < n->n_out; r++) {
        int i = shared_operand(n, r, result_of);

        shared[r] = i >= 0;
        if (i >= 0)
            result_of[i] = r;
    }
    if (n->op->traits & GLOW_UNKNOWN)
        return;
    for (int i = 0; i < n->n_in; i++) {
        if (result_of[i] < 0)
            continue;
        if (read_back(n, i, taken) != result_of[i]) {
            for (int j = 0; j < n->n_in; j++)
                result_of[j] = -1;
            memset(shared, 0, (size_t)n->n_out * sizeof *shared);
            return;
        }
        taken[result_of[i]] = true;
    }
}

/* Omitted operands at the end are left out, but not next to a group. */
static int
count_shown(const glow_node *n)
{
    int count = n->n_in;

    if (glow_op_variadic(n->op) < 0 && !(n->op->traits & GLOW_UNKNOWN))
        while (count > 0 && !n->in[count - 1])
            count--;
    return count;
}

static void
put_marked(glow_buf *b, const glow_node *n)
{
    glow_arena *scratch = glow_arena_new();
    int *result_of = GLOW_NEW_ARRAY(scratch, int, n->n_in + 1);
    bool *shared = GLOW_NEW_ARRAY(scratch, bool, n->n_out + 1);
    const char *before = " ";

    pair_operands(n, result_of, shared);
    for (int r = 0; r < n->n_out; r++) {
        if (shared[r])
            continue;
        glow_buf_printf(b, "%s@out ", before);
        glow_print_value(b, n->out[r]);
        before = ", ";
    }
    for (int i = 0; i < count_shown(n); i++) {
        glow_buf_printf(b, "%s%s ", before,
                        result_of[i] < 0 ? "@in" : "@inout");
        glow_print_value(b, n->in[i]);
        before = ", ";
    }
    glow_arena_free(scratch);
}

static void
put_place(glow_buf *b, const glow_node *n)
{
    const glow_place *p = n->place;

    if (!p)
        return;
    glow_buf_puts(b, " at ");
    glow_text_put_name(b, '$', p->region->name);
    glow_buf_printf(b, " + %" PRId64, p->offset);
    if (p->size != glow_type_bytes(n->out[0]->type))
        glow_buf_printf(b, " size %" PRId64, p->size);
    if (p->is_fixed)
        glow_buf_puts(b, " fixed");
}

/* As glow_op_instr_name, for names of any length, as unknown operators have. */
static void
put_instr_name(glow_buf *b, const glow_op *op)
{
    for (const char *c = op->name; *c; c++)
        glow_buf_putc(b, *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c);
}

static void
put_instr(glow_buf *b, const glow_node *n, const glow_print_options *o)
{
    put_instr_name(b, n->op);
    if (n->op == &glow_op_weight || n->op == &glow_op_alloc) {
        const glow_storage *s = n->out[0]->storage;

        glow_buf_putc(b, ' ');
        glow_buf_type(b, n->out[0]->type);
        if (s) {
            glow_buf_putc(b, ' ');
            glow_text_put_name(b, '@', s->name);
            glow_buf_puts(b, s->is_constant ? " constant" : " mutable");
        }
        put_attrs(b, n, o);
        put_place(b, n);
        return;
    }
    if (n->op != &glow_op_tensorview) {
        put_marked(b, n);
    } else {
        glow_buf_puts(b, " @in ");
        glow_print_value(b, n->in[0]);
    }
    put_attrs(b, n, o);
    put_pred(b, n);
    put_scratch(b, n);
    put_queue(b, n);
    if (n->op == &glow_op_tensorview)
        put_results(b, n);
}

void
glow_print_node(glow_buf *b, const glow_node *n, const glow_print_options *o)
{
    static const glow_print_options plain = {0};

    o = o ? o : &plain;
    glow_text_put_name(b, '%', n->name);
    glow_buf_puts(b, " = ");
    if (n->func->is_program)
        put_instr(b, n, o);
    else
        put_graph_node(b, n, o);
    put_optypes(b, n, o);
}
