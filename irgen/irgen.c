/*
 * irgen: turn a scheduled graph into a program of instructions over buffers.
 *
 *     function @f scheduled {            program @f {
 *       %c = Convolution(@x, @w)           declare {
 *       %r = Reshape(%c)                     %x = weight ... @x mutable
 *       %s = Save(%r, @y)                    %y = weight ... @y mutable
 *     }                             =>       %w = weight ... @w constant
 *                                          }
 *                                          code {
 *                                            %c.res = alloc ...
 *                                            %c = convolution @out %c.res,
 *                                                   @in %x, @in %w
 *                                            %r = tensorview @in %c.res
 *                                            %s = copy @out %y, @in %r
 *                                            %c.free = dealloc @out %c.res
 *                                          }
 *                                        }
 *
 * One instruction for a node, in the order of the nodes, with the node's name,
 * attributes, predicate, location and position.  Each result is written to a
 * buffer of its own, which lives from right before the node to right after the
 * last user: `.res` if it is the only result, else after the result's name.
 * Storage that is used becomes a weight, in the order of the module.
 *
 * All operators go this way, by their definition; a plugin's too.  Two are
 * known by name, since the structure of a program already has them: Save
 * is a copy into the placeholder's buffer, and Reshape of a dense value is a
 * view, which costs nothing.  Concat stays one instruction rather than an
 * InsertTensor for each operand: a later pass can still let the operands write
 * into views of the result, and sees all of them in one instruction.
 *
 * Readers of a placeholder get its content from before the run.  If a
 * Save to it precedes such a reader, the readers use a copy made at the start.
 *
 * The program is correct and unoptimized: propagate-copy, share-buffers and other
 * passes over programs remove copies and share buffers.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/pass.h"
#include "irgen/values.h"

typedef struct generator {
    glow_func *graph;
    glow_func *program;
    glow_arena *scratch;
    glow_values *values;
    glow_value **buffers; /* by value: its buffer */
    glow_map *weights;    /* by name of the storage: its buffer */
    glow_map *olds;       /* by name: the copy that readers use */
    uint32_t *ends; /* by node: 1 + the first value whose last use is there */
    uint32_t *more; /* by value: 1 + the next one of that list */
    glow_value **operands; /* of the current node */
    size_t cap_operands;
} generator;

/* Analysis of the graph. */

/* A buffer ends at the last node that uses its value or a view of it. */
static void
find_ends(generator *g)
{
    const glow_values *v = g->values;
    uint32_t *last = GLOW_NEW_ARRAY(g->scratch, uint32_t, v->n_values);

    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const glow_node *n = v->nodes[i];

        for (int k = 0; k < n->n_out; k++) {
            uint32_t base = v->base[v->first[i] + (uint32_t)k];

            if (base !=
                GLOW_NO_VALUE) /* a view of storage has no buffer of its own */
                last[base] = i;
        }
        for (int k = -1; k < n->n_in; k++) {
            const glow_value *in = k < 0 ? n->pred : n->in[k];
            uint32_t base = in ? glow_value_base(v, in) : GLOW_NO_VALUE;

            if (base != GLOW_NO_VALUE)
                last[base] = i;
        }
    }
    for (uint32_t k = v->n_values; k-- > 0;)
        if (v->base[k] == k) {
            g->more[k] = g->ends[last[k]];
            g->ends[last[k]] = k + 1;
        }
}

/* Names, values and instructions. */

/* `base`.`suffix`, or with a number: no name of either function. */
static const char *
fresh(generator *g, const char *base, const char *suffix)
{
    const char *name = glow_derived_name(g->program, base, suffix);

    for (int i = 1; glow_find_node(g->graph, name); i++)
        name = glow_derived_name(
            g->program, base,
            glow_arena_printf(g->scratch, "%s.%d", suffix, i));
    return name;
}

static glow_value *
add_alloc(generator *g, const char *name, const glow_type *type)
{
    const glow_node *n = glow_node_new(g->program, &glow_op_alloc, name, NULL,
                                       0, &type, 1, NULL);

    return n->out[0];
}

/* Frees a buffer: %conv.res by %conv.free, %old by %old.free. */
static void
add_dealloc(generator *g, glow_value *buffer)
{
    const char *base = buffer->def->name;
    const char *dot = strrchr(base, '.');

    if (dot && strcmp(dot, ".res") == 0)
        base = glow_arena_strndup(g->scratch, base, (size_t)(dot - base));
    glow_instr_new(g->program, &glow_op_dealloc, fresh(g, base, "free"),
                   &buffer, 1, NULL, 0, NULL);
}

static void
add_weight(generator *g, glow_storage *s)
{
    const char *name = s->name;

    if (glow_find_node(g->graph, name))
        name = fresh(g, name, "buf");
    glow_node *n = glow_node_new(g->program, &glow_op_weight, name, NULL, 0,
                                 &s->value.type, 1, NULL);

    n->out[0]->storage = s;
    glow_map_set(g->weights, s->name, n->out[0]);
}

/* Declares the storage that the graph uses, in the order of the module. */
static void
declare(generator *g)
{
    glow_map *used = glow_map_new(g->scratch);

    GLOW_FOR_EACH_NODE(n, g->graph)
        for (int k = -1; k < n->n_in; k++) {
            const glow_value *in = k < 0 ? n->pred : n->in[k];

            if (in && in->storage)
                glow_map_set(used, in->storage->name, in->storage);
        }
    GLOW_FOR_EACH_STORAGE(s, g->graph->module)
        if (glow_map_get(used, s->name))
            add_weight(g, s);
}

/* Copies placeholders that are read after they are overwritten. */
static void
keep_old(generator *g, glow_storage *s)
{
    glow_value *from = glow_map_get(g->weights, s->name);
    glow_value *to = add_alloc(g, fresh(g, s->name, "old"), s->value.type);

    glow_instr_new(g->program, &glow_op_copy, fresh(g, s->name, "keep"), &to, 1,
                   &from, 1, NULL);
    glow_map_set(g->olds, s->name, to);
}

static void
keep_olds(generator *g)
{
    for (uint32_t i = 0; i < g->values->n_nodes; i++) {
        const glow_node *n = g->values->nodes[i];

        for (int k = -1; k < n->n_in; k++) {
            const glow_value *in = k < 0 ? n->pred : n->in[k];
            glow_storage *s = in ? glow_storage_under(in) : NULL;

            if (!s || (k >= 0 && glow_is_written(n, k)) ||
                glow_map_get(g->olds, s->name))
                continue;
            const glow_node *writer = glow_values_writer(g->values, &s->value);

            if (writer && glow_node_number(g->values, writer) < i)
                keep_old(g, s);
        }
    }
}

/* The buffer of the graph value `v`. */
static glow_value *
buffer_of(generator *g, const glow_value *v)
{
    glow_value *old;

    if (!v)
        return NULL;
    if (v->def)
        return g->buffers[glow_value_number(g->values, v)];
    old = glow_map_get(g->olds, v->storage->name);
    return old ? old : glow_map_get(g->weights, v->storage->name);
}

/* Nodes. */

static void
add_view(generator *g, const glow_node *n)
{
    glow_value *base = buffer_of(g, n->in[0]);
    glow_tensorview at = {.offsets.rank = base->type->shape.rank};
    glow_node *view = glow_node_new(g->program, &glow_op_tensorview, n->name,
                                    &base, 1, &n->out[0]->type, 1, &at);

    view->loc = n->loc;
    view->span = n->span;
    g->buffers[glow_value_number(g->values, n->out[0])] = view->out[0];
}

/* The instruction of node `n`. */
static void
add_instr(generator *g, const glow_op *op, const glow_node *n,
          glow_value *const *out, int n_out, int n_in, const void *attrs)
{
    glow_node *instr = glow_instr_new(g->program, op, n->name, out, n_out,
                                      g->operands, n_in, attrs);

    instr->unknown_attrs = n->unknown_attrs;
    instr->loc = n->loc;
    instr->span = n->span;
    if (n->pred)
        glow_set_pred(instr, buffer_of(g, n->pred));
}

static void
add_save(generator *g, const glow_node *n)
{
    glow_value *from = buffer_of(g, n->in[0]);
    glow_value *to = glow_map_get(g->weights, n->in[1]->storage->name);

    /* a Save to the same storage: a copy in place */
    g->operands[0] = glow_base_buffer(from) == to ? to : from;
    add_instr(g, &glow_op_copy, n, &to, 1, 1, NULL);
}

static void
add_results(generator *g, const glow_node *n)
{
    glow_value **out = GLOW_NEW_ARRAY(g->scratch, glow_value *, n->n_out);

    for (int k = 0; k < n->n_out; k++) {
        char suffix[80] = "res";

        if (n->n_out > 1)
            glow_op_result_name(n->op, k, suffix, sizeof suffix);
        out[k] = add_alloc(g, fresh(g, n->name, suffix), n->out[k]->type);
        g->buffers[glow_value_number(g->values, n->out[k])] = out[k];
    }
    for (int k = 0; k < n->n_in; k++)
        g->operands[k] = buffer_of(g, n->in[k]);
    add_instr(g, n->op, n, out, n->n_out, n->n_in, n->attrs);
}

static void
add_node(generator *g, const glow_node *n)
{
    while ((size_t)n->n_in > g->cap_operands || !g->operands)
        g->operands = glow_arena_grow(g->scratch, g->operands, g->cap_operands,
                                      &g->cap_operands, sizeof(glow_value *));
    if (n->op == &glow_op_save)
        add_save(g, n);
    else if (glow_is_view(n))
        add_view(g, n);
    else
        add_results(g, n);
}

/* Rejects nodes that only a graph can have. */
static bool
has_instr(const glow_node *n)
{
    bool written = false;

    if (n->op == &glow_op_save)
        return true;
    for (int k = 0; k < n->n_in; k++)
        written |= glow_is_written(n, k);
    if (!written && !(n->op->traits & GLOW_GRAPH_ONLY))
        return true;
    return glow_error_hint(n->func->module->ctx, n->span, "E0301",
                           "lower it, or run the graph as it is",
                           "%s: %%%s has no form in a program", n->op->name,
                           n->name);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *a = glow_run_scratch(pass);
    generator g = {.graph = f, .scratch = a};
    bool ok = true;

    GLOW_FOR_EACH_NODE(n, f)
        ok &= has_instr(n);
    if (!ok)
        return GLOW_FAILED;

    g.values = glow_values_new(a, f);
    g.program = glow_program_new(f->module, f->name);
    g.program->attrs = f->attrs;
    g.program->span = f->span;
    g.buffers = GLOW_NEW_ARRAY(a, glow_value *, g.values->n_values);
    g.ends = GLOW_NEW_ARRAY(a, uint32_t, g.values->n_nodes);
    g.more = GLOW_NEW_ARRAY(a, uint32_t, g.values->n_values);
    g.weights = glow_map_new(a);
    g.olds = glow_map_new(a);

    find_ends(&g);
    declare(&g);
    keep_olds(&g);
    for (uint32_t i = 0; i < g.values->n_nodes; i++) {
        add_node(&g, g.values->nodes[i]);
        for (uint32_t k = g.ends[i]; k > 0; k = g.more[k - 1])
            add_dealloc(&g, g.buffers[k - 1]);
    }
    GLOW_FOR_EACH_STORAGE(s, f->module)
        if (glow_map_get(g.olds, s->name))
            add_dealloc(&g, glow_map_get(g.olds, s->name));
    glow_func_replace(f, g.program);
    return GLOW_CHANGED;
}

const glow_pass glow_pass_irgen = {
    .name = "irgen",
    .summary = "turn a scheduled graph into a program over buffers",
    .level = GLOW_SCHEDULED,
    .makes = GLOW_PROGRAM,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow (arXiv 1805.00907), section 3.3",
};
