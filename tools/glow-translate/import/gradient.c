/*
 * ai.onnx.preview.training.Gradient: of the tensor that attribute `y` names by those that
 * `xs` names, where these and those of `zs` have the values of the operands.
 *
 * The nodes between are copied to a function of their own, in which xs and zs are
 * placeholders and `y`, summed, is the loss.  The pass `differentiate` appends the
 * gradients there.  Then the function is a body, whose Inputs are the placeholders and
 * whose Outputs are the gradients, and is inlined with the operands.
 */

#include <string.h>

#include "glow/pipeline.h"
#include "tools/glow-translate/import/state.h"

typedef struct excerpt {
    import_node *n;
    importer *im;
    glow_func *func;
    glow_node **copies; /* by id of the node */
    glow_value **held;  /* values of the model that are placeholders here, */
    glow_storage **as;  /* these, */
    glow_value **given; /* and the values that take their place at last */
    int n_held;
    size_t cap_held, cap_as, cap_given;
    glow_storage *loss;
} excerpt;

/* To the function of its own. */

static void
hold(excerpt *x, glow_value *v, const char *name, glow_value *given)
{
    glow_arena *a = x->im->arena;
    size_t count = (size_t)x->n_held;

    x->held = glow_arena_grow(a, x->held, count, &x->cap_held, sizeof *x->held);
    x->as = glow_arena_grow(a, x->as, count, &x->cap_as, sizeof *x->as);
    x->given =
        glow_arena_grow(a, x->given, count, &x->cap_given, sizeof *x->given);
    x->held[count] = v;
    x->as[count] = glow_placeholder_new(
        x->im->module, glow_arena_printf(a, "%s.%s", x->func->name, name),
        v->type);
    x->given[count] = given;
    x->n_held++;
}

static glow_node *
copy_node(excerpt *x, const glow_node *n)
{
    glow_arena *a = x->im->arena;
    const glow_type **types =
        GLOW_NEW_ARRAY(a, const glow_type *, n->n_out + 1);
    glow_value **none = GLOW_NEW_ARRAY(a, glow_value *, n->n_in + 1);
    glow_node *copy;

    for (int i = 0; i < n->n_out; i++)
        types[i] = n->out[i]->type;
    copy = glow_node_new(x->func, n->op, n->name, none, n->n_in, types,
                         n->n_out, n->attrs);
    copy->unknown_attrs = n->unknown_attrs;
    copy->loc = glow_loc_model(x->im->module, x->im->dialect->loc, x->im->file,
                               x->n->name);
    return copy;
}

/* The value in the function of its own for `v` of the model. */
static glow_value *
copied(excerpt *x, glow_value *v)
{
    glow_node *copy;

    for (int i = 0; i < x->n_held; i++)
        if (x->held[i] == v)
            return &x->as[i]->value;
    if (!v || glow_is_constant(v))
        return v;
    if (!v->def) {
        hold(x, v, v->storage->name, v);
        return &x->as[x->n_held - 1]->value;
    }
    copy = x->copies[v->def->id];
    if (!copy) {
        copy = copy_node(x, v->def);
        x->copies[v->def->id] = copy;
        for (int i = 0; i < v->def->n_in; i++)
            glow_set_operand(copy, i, copied(x, v->def->in[i]));
    }
    return copy->out[v->index];
}

/* Saves the sum of `v` to the loss. */
static bool
save_loss(excerpt *x, glow_value *v)
{
    glow_builder *b = glow_builder_new(x->im->arena, x->func, NULL);
    glow_dims axes = {.rank = v->type->shape.rank};

    for (int i = 0; i < axes.rank; i++)
        axes.at[i] = i;
    if (axes.rank > 0)
        v = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v), .axes = axes);
    if (!v)
        return false;
    x->loss = glow_placeholder_new(
        x->im->module, glow_arena_printf(x->im->arena, "%s.y", x->func->name),
        v->type);
    return glow_build_node(b, &glow_op_save, NULL, 0,
                           GLOW_IN(v, &x->loss->value), NULL) != NULL;
}

static bool
differentiate(excerpt *x)
{
    importer *im = x->im;
    const char *text =
        glow_arena_printf(im->arena, "@%s(differentiate<loss=\"%s\">)",
                          x->func->name, x->loss->name);
    glow_pipeline *p = glow_pipeline_parse(
        im->ctx, im->arena,
        glow_source_from(im->ctx, "<gradient>", text, strlen(text)));
    const glow_pipeline_options how = {.verify_each = false};

    return p && glow_pipeline_run(p, im->module, &how);
}

/* Bodies that `differentiate` made are forgotten with the function that calls them. */
static void
list_formals(const excerpt *x)
{
    for (const glow_func *f = x->func->next; f; f = f->next)
        for (int which = 0; which < 2; which++)
            for (int i = 0; i < glow_formal_count(f, (glow_formals)which); i++)
                import_add_formal(x->im, f,
                                  glow_formal(f, (glow_formals)which, i));
}

/* And back. */

/* The placeholder of the gradient by `s`, or NULL. */
static glow_storage *
gradient_of(const excerpt *x, const glow_storage *s)
{
    GLOW_FOR_EACH_NODE(n, x->func) {
        const glow_attr_value *of =
            n->op == &glow_op_save
                ? glow_attr_find(n->in[1]->storage->attrs, "GradientOf")
                : NULL;

        if (of && strcmp(of->text, s->name) == 0)
            return n->in[1]->storage;
    }
    return NULL;
}

/* Sets the results to the gradients by the first `wanted` placeholders. */
static void
inline_gradients(excerpt *x, int wanted)
{
    importer *im = x->im;
    glow_storage **to = GLOW_NEW_ARRAY(im->arena, glow_storage *, wanted + 1);
    glow_value **out = GLOW_NEW_ARRAY(im->arena, glow_value *, wanted + 1);
    int *result = GLOW_NEW_ARRAY(im->arena, int, wanted + 1);
    int n_to = 0;
    glow_node *at;

    for (int i = 0; i < wanted && i < x->n->n_out; i++) {
        result[n_to] = i;
        to[n_to] = gradient_of(x, x->as[i]);
        n_to += to[n_to] != NULL;
    }
    glow_func_set_formals(x->func, x->as, x->n_held, to, n_to);
    at = glow_node_new(im->func, &glow_op_run, x->n->name, NULL, 0, NULL, 0,
                       &(const glow_run){x->func->name, ""});
    glow_inline(at, x->func, x->given, out);
    glow_node_erase(at);
    for (int i = 0; i < n_to; i++)
        x->n->out[result[i]] = out[i];
}

/* Erases the function and its placeholders. */
static void
forget(excerpt *x)
{
    glow_arena *a = x->im->arena;
    glow_storage **saved = GLOW_NEW_ARRAY(a, glow_storage *, x->func->count);
    int n_saved = 0;

    GLOW_FOR_EACH_NODE(n, x->func)
        if (n->op == &glow_op_save)
            saved[n_saved++] = n->in[1]->storage;
    glow_func_erase(x->func);
    for (int i = 0; i < n_saved; i++)
        glow_storage_erase(saved[i]);
    for (int i = 0; i < x->n_held; i++)
        glow_storage_erase(x->as[i]);
}

/* The operator. */

/* Holds the tensors that attribute `list` names, from operand `first` on. */
static int
hold_named(excerpt *x, const char *list, int first)
{
    static const glow_attr trained[] = {
        {.name = "Trained", .value = {.kind = GLOW_V_BOOL, .i = true}}};

    int count;
    const char *const *names = import_strings(x->n, list, &count);

    for (int i = 0; i < count && !x->n->failed; i++) {
        glow_value *v = import_lookup(x->im, names[i]).value;
        glow_value *given = import_in(x->n, first + i);

        if (!v)
            import_refuse(x->n, "E0711", "%s names '%s', which is no tensor",
                          list, names[i]);
        else if (!given || given->type != v->type)
            import_refuse(x->n, "E0711",
                          "operand %d has not the type of '%s', for which it "
                          "stands",
                          first + i, names[i]);
        else if (first == 0 && !glow_map_get(x->im->values, names[i]))
            import_refuse(x->n, "E0711",
                          "xs names '%s', which is no tensor of this subgraph: "
                          "y may depend on it by nodes around it",
                          names[i]);
        else
            hold(x, v, list, given);
    }
    for (int i = 0; i < count && first == 0 && !x->n->failed; i++)
        x->as[i]->attrs = (glow_attr_list){trained, 1};
    return first + count;
}

/* True if y depends on one of xs. */
static bool
reads_one(const excerpt *x, int wanted)
{
    for (int i = 0; i < wanted; i++)
        if (x->as[i]->value.uses)
            return true;
    return false;
}

static bool
gradient(import_node *n)
{
    excerpt x = {.n = n, .im = n->im};
    const char *of = import_string(n, "y", "");
    glow_value *y = import_lookup(n->im, of).value;
    int wanted, all;
    bool ok;

    if (!import_operands(n, 1, n->n_in))
        return false;
    if (!y || !glow_is_float(y->type->elem))
        return import_refuse(n, "E0711",
                             "y names '%s', which is no tensor of "
                             "floats",
                             of);
    x.func = glow_func_new(n->im->module, "gradient");
    x.copies = GLOW_NEW_ARRAY(n->im->arena, glow_node *, n->im->func->next_id);
    wanted = hold_named(&x, "xs", 0);
    all = hold_named(&x, "zs", wanted);
    if (!n->failed && all != n->n_in)
        import_refuse(n, "E0711",
                      "xs and zs name %d tensors, but there are %d "
                      "operands",
                      all, n->n_in);
    ok = !n->failed && save_loss(&x, copied(&x, y)) &&
         (!reads_one(&x, wanted) || differentiate(&x));
    if (ok) {
        list_formals(&x);
        inline_gradients(&x, wanted);
    }
    forget(&x);
    for (int i = 0; ok && i < wanted && i < n->n_out; i++)
        if (!n->out[i])
            n->out[i] = import_splat(n, x.held[i]->type->elem,
                                     x.held[i]->type->shape, 0);
    return ok && !n->failed;
}

const import_row import_gradient_rows[] = {
    {"ai.onnx.preview.training.Gradient", 1, 0, gradient, NULL,
     "floats; y may be of any shape: its elements are added up"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
