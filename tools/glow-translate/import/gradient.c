/*
 * ai.onnx.preview.training.Gradient: of the tensor that attribute `y` names by those that
 * `xs` names, where these and those of `zs` have the values of the operands.
 *
 * The nodes between are copied to a module of their own, in which xs and zs are
 * placeholders and `y`, summed, is the loss.  The pass `differentiate` appends the
 * gradients, and all is copied back with the operands in place of the placeholders.
 */

#include <string.h>

#include "glow/pipeline.h"
#include "tools/glow-translate/import/state.h"

typedef struct excerpt {
    import_node *n;
    importer *im;
    glow_module *module;
    glow_func *func;
    glow_node **copies; /* by id of the node */
    glow_value **held;  /* values of the model that are placeholders here, */
    glow_storage **as;  /* and these */
    glow_value **given; /* what they are when it is copied back */
    size_t n_held, cap_held, cap_as, cap_given;
} excerpt;

/* Copying of nodes between functions. */

static glow_node *
copy_node(glow_arena *a, glow_func *f, const glow_node *n, const glow_loc *loc)
{
    const glow_type **types =
        GLOW_NEW_ARRAY(a, const glow_type *, n->n_out + 1);
    glow_value **none = GLOW_NEW_ARRAY(a, glow_value *, n->n_in + 1);
    glow_node *copy;

    for (int i = 0; i < n->n_out; i++)
        types[i] = n->out[i]->type;
    copy = glow_node_new(f, n->op, glow_derived_name(f, n->name, NULL), none,
                         n->n_in, types, n->n_out, n->attrs);
    copy->unknown_attrs = n->unknown_attrs;
    copy->loc = loc;
    return copy;
}

/* To the module of its own. */

static void
hold(excerpt *x, glow_value *v, const char *name, glow_value *given)
{
    glow_storage *s = glow_placeholder_new(x->module, name, v->type);

    x->held = glow_arena_grow(x->im->arena, x->held, x->n_held, &x->cap_held,
                              sizeof *x->held);
    x->as = glow_arena_grow(x->im->arena, x->as, x->n_held, &x->cap_as,
                            sizeof *x->as);
    x->given = glow_arena_grow(x->im->arena, x->given, x->n_held, &x->cap_given,
                               sizeof *x->given);
    x->held[x->n_held] = v;
    x->as[x->n_held] = s;
    x->given[x->n_held++] = given;
}

static glow_value *copied(excerpt *x, glow_value *v);

static glow_value *
copied_storage(excerpt *x, glow_value *v)
{
    const glow_tensor *t =
        v->storage->is_constant ? glow_constant_tensor(v->storage) : NULL;

    if (!t) {
        hold(x, v, "held", v);
        return &x->as[x->n_held - 1]->value;
    }
    hold(x, v, v->storage->name, v);
    x->as[x->n_held - 1] = glow_constant_wrap(x->module, v->storage->name,
                                              v->type, t->data, t->owner);
    return &x->as[x->n_held - 1]->value;
}

/* The value in the module of its own; NULL after a report. */
static glow_value *
copied(excerpt *x, glow_value *v)
{
    glow_node *copy;

    for (size_t i = 0; i < x->n_held; i++)
        if (x->held[i] == v)
            return &x->as[i]->value;
    if (!v->def)
        return copied_storage(x, v);
    if (glow_op_calls(v->def->op)) {
        import_refuse(x->n, "E0711", "y depends on xs through %s",
                      v->def->op->name);
        return NULL;
    }
    copy = x->copies[v->def->id];
    if (!copy) {
        copy = copy_node(x->im->arena, x->func, v->def, NULL);
        x->copies[v->def->id] = copy;
        for (int i = 0; i < v->def->n_in; i++) {
            glow_value *in = v->def->in[i] ? copied(x, v->def->in[i]) : NULL;

            if (v->def->in[i] && !in)
                return NULL;
            glow_set_operand(copy, i, in);
        }
    }
    return copy->out[v->index];
}

/* The sum of `v`, saved to @loss. */
static bool
save_loss(excerpt *x, glow_value *v)
{
    glow_builder *b = glow_builder_new(x->im->arena, x->func, NULL);
    glow_dims axes = {.rank = v->type->shape.rank};
    glow_storage *loss;

    for (int i = 0; i < axes.rank; i++)
        axes.at[i] = i;
    if (axes.rank > 0)
        v = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v), .axes = axes);
    if (!v)
        return false;
    loss = glow_placeholder_new(x->module, "loss", v->type);
    return glow_build_node(b, &glow_op_save, NULL, 0, GLOW_IN(v, &loss->value),
                           NULL) != NULL;
}

/* And back. */

/* A constant that a rule made. */
static glow_value *
constant_for(const excerpt *x, glow_storage *s)
{
    const glow_tensor *t;

    if (s->payload == GLOW_SPLAT)
        return import_constant_splat(x->n, s->value.type->elem,
                                     s->value.type->shape, s->splat,
                                     s->splat_int);
    t = glow_constant_tensor(s);
    return &glow_constant_wrap(x->im->module, s->name, t->type, t->data,
                               t->owner)
                ->value;
}

static glow_value *
given_for(const excerpt *x, glow_value *v)
{
    if (v->def)
        return x->copies[v->def->id]->out[v->index];
    for (size_t i = 0; i < x->n_held; i++)
        if (&x->as[i]->value == v)
            return x->given[i];
    return constant_for(x, v->storage);
}

static void
copy_back(excerpt *x)
{
    const glow_loc *loc = glow_loc_model(x->im->module, x->im->dialect->loc,
                                         x->im->file, x->n->name);

    x->copies = GLOW_NEW_ARRAY(x->im->arena, glow_node *, x->func->next_id);
    GLOW_FOR_EACH_NODE(n, x->func)
        if (n->op != &glow_op_save)
            x->copies[n->id] = copy_node(x->im->arena, x->im->func, n, loc);
    GLOW_FOR_EACH_NODE(n, x->func)
        for (int i = 0; n->op != &glow_op_save && i < n->n_in; i++)
            if (n->in[i])
                glow_set_operand(x->copies[n->id], i, given_for(x, n->in[i]));
}

/* The value that is saved to the gradient of `s`, in the model; NULL: none. */
static glow_value *
gradient_of(const excerpt *x, const glow_storage *s)
{
    GLOW_FOR_EACH_NODE(n, x->func) {
        const glow_attr_value *of =
            n->op == &glow_op_save
                ? glow_attr_find(n->in[1]->storage->attrs, "GradientOf")
                : NULL;

        if (of && strcmp(of->text, s->name) == 0)
            return given_for(x, n->in[0]);
    }
    return NULL;
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
differentiate(excerpt *x, int wanted)
{
    static const char text[] = "differentiate<loss=loss>";
    glow_pipeline *p = glow_pipeline_parse(
        x->im->ctx, x->im->arena,
        glow_source_from(x->im->ctx, "<gradient>", text, sizeof text - 1));
    const glow_pipeline_options how = {.verify_each = true};

    if (!p || (reads_one(x, wanted) && !glow_pipeline_run(p, x->module, &how)))
        return false;
    copy_back(x);
    for (int i = 0; i < wanted && i < x->n->n_out; i++) {
        glow_value *g = gradient_of(x, x->as[i]);

        x->n->out[i] = g ? g
                         : import_splat(x->n, x->as[i]->value.type->elem,
                                        x->as[i]->value.type->shape, 0);
    }
    return !x->n->failed;
}

static bool
gradient(import_node *n)
{
    excerpt x = {.n = n, .im = n->im};
    const char *of = import_string(n, "y", "");
    glow_value *y = import_lookup(n->im, of).value, *loss;
    int wanted, all;
    bool ok = false;

    if (!import_operands(n, 1, n->n_in))
        return false;
    if (!y || !glow_is_float(y->type->elem))
        return import_refuse(n, "E0711",
                             "y names '%s', which is no tensor of "
                             "floats",
                             of);
    x.module = glow_module_new(n->im->ctx);
    x.func = glow_func_new(x.module, "main");
    x.copies = GLOW_NEW_ARRAY(n->im->arena, glow_node *, n->im->func->next_id);
    wanted = hold_named(&x, "xs", 0);
    all = hold_named(&x, "zs", wanted);
    if (!n->failed && all != n->n_in)
        import_refuse(n, "E0711",
                      "xs and zs name %d tensors, but there are %d "
                      "operands",
                      all, n->n_in);
    loss = n->failed ? NULL : copied(&x, y);
    ok = loss && save_loss(&x, loss) && differentiate(&x, wanted);
    glow_module_free(x.module);
    return ok && !n->failed;
}

const import_row import_gradient_rows[] = {
    {"ai.onnx.preview.training.Gradient", 1, 0, gradient, NULL,
     "floats; y may be of any shape: its elements are added up; none of If, "
     "Loop "
     "and Scan between xs and y"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
