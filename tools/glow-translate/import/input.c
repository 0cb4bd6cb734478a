/*
 * Inputs of the graph, with the options -dim, -shape, -bind and -length.
 *
 * An input becomes a placeholder of its name.  A sequence becomes one for each
 * element: NAME.0, NAME.1 and so on; an optional one of its name, or none.
 */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/import/state.h"

/* The lists of options, in the order of im->bound. */
typedef enum option_list { DIMS, SHAPES, BINDS, LENGTHS, N_LISTS } option_list;

typedef struct option_pairs {
    const char *flag;
    const char *const (*at)[2];
    size_t n;
} option_pairs;

static option_pairs
pairs_of(const import_options *o, option_list k)
{
    const option_pairs all[] = {
        [DIMS] = {"-dim", o->dims, o->n_dims},
        [SHAPES] = {"-shape", o->shapes, o->n_shapes},
        [BINDS] = {"-bind", o->bind, o->n_bind},
        [LENGTHS] = {"-length", o->lengths, o->n_lengths}};

    return all[k];
}

/* The value of an option for `name`, which is marked as used, or NULL. */
static const char *
option(importer *im, option_list k, const char *name)
{
    bool *used = im->bound;

    for (option_list i = 0; i < k; i++)
        used += pairs_of(im->options, i).n;

    option_pairs p = pairs_of(im->options, k);

    for (size_t i = 0; i < p.n; i++)
        if (strcmp(p.at[i][0], name) == 0) {
            used[i] = true;
            return p.at[i][1];
        }
    return NULL;
}

/* A size from the command line: digits, up to `end`. */
static const char *
read_size(const char *text, int64_t *out)
{
    int64_t v = 0;
    int digits = 0;

    for (; *text >= '0' && *text <= '9' && digits < 15; text++, digits++)
        v = v * 10 + (*text - '0');
    *out = v;
    return digits ? text : NULL;
}

/* `1x3x224x224`, or nothing for a scalar. */
static bool
read_shape(importer *im, const char *name, const char *text, glow_dims *out)
{
    const char *at = text;

    *out = (glow_dims){0};
    while (at && *at && out->rank < GLOW_MAX_RANK) {
        at = read_size(at, &out->at[out->rank++]);
        if (at && *at == 'x' && at[1])
            at++;
        else if (at && *at)
            at = NULL;
    }
    if (at && !*at)
        return true;
    return glow_error(im->ctx, "E0713",
                      "-shape %s=%s: a shape is written as 1x3x224x224", name,
                      text);
}

bool
import_has_size(const Onnx__TensorShapeProto__Dimension *d)
{
    return d->has_dim_value && d->dim_value != -1;
}

/* The size of an open dimension, which may have a name. */
static bool
read_symbol(importer *im, const char *input, int axis,
            const Onnx__TensorShapeProto__Dimension *d, int64_t *out)
{
    const char *symbol = d->dim_param && *d->dim_param ? d->dim_param : NULL;
    const char *text = symbol ? option(im, DIMS, symbol) : NULL;
    const char *hint, *end;

    if (!text) {
        hint =
            symbol
                ? glow_arena_printf(im->arena, "-dim %s=1 gives it one", symbol)
                : glow_arena_printf(im->arena,
                                    "-shape %s=... gives all of them", input);
        return glow_error_hint(im->ctx, (glow_span){0}, "E0709", hint,
                               "%s: input '%s': dimension %d%s%s%s has no size",
                               im->path, input, axis, symbol ? " ('" : "",
                               symbol ? symbol : "", symbol ? "')" : "");
    }
    end = read_size(text, out);
    if (!end || *end)
        return glow_error(im->ctx, "E0713",
                          "-dim %s=%s: the size must be a number", symbol,
                          text);
    return true;
}

static bool
read_input_shape(importer *im, const char *name,
                 const Onnx__TensorShapeProto *s, glow_dims *shape)
{
    const char *given = option(im, SHAPES, name);
    bool ok = true;

    if (given && !read_shape(im, name, given, shape))
        return false;
    if (given && s && s->n_dim != (size_t)shape->rank)
        return glow_error(im->ctx, "E0713",
                          "-shape %s=%s: the model says that its rank is %zu",
                          name, given, s->n_dim);
    if (given)
        return true;
    if (!s)
        return glow_error(im->ctx, "E0709",
                          "%s: input '%s' has no shape; -shape %s=... gives it "
                          "one",
                          im->path, name, name);
    if (s->n_dim > GLOW_MAX_RANK)
        return glow_error(im->ctx, "E0709",
                          "%s: input '%s' is of rank %zu, and %d is the limit",
                          im->path, name, s->n_dim, GLOW_MAX_RANK);
    shape->rank = (int)s->n_dim;
    for (int i = 0; i < shape->rank; i++)
        if (import_has_size(s->dim[i]))
            shape->at[i] = s->dim[i]->dim_value;
        else
            ok &= read_symbol(im, name, i, s->dim[i], &shape->at[i]);
    return ok;
}

/* The element kind of `type`; E0705 if it is unsupported. */
static const tensor_elem *
read_elem(importer *im, const char *name, int type)
{
    const tensor_elem *e = tensor_elem_of(type);

    if (e && e->kind)
        return e;
    glow_error(im->ctx, "E0705",
               "%s: input '%s' is of element type %d%s%s, which is not "
               "supported",
               im->path, name, type, e ? ", " : "", e ? e->name : "");
    return NULL;
}

static const glow_type *
read_input_type(importer *im, const char *name,
                const Onnx__TypeProto__Tensor *x, const char *doc)
{
    const tensor_elem *e = read_elem(im, name, x->elem_type);
    glow_dims shape = {0};
    const char *wrong;

    if (!e || !read_input_shape(im, name, x->shape, &shape))
        return NULL;

    glow_type t = glow_type_of(e->kind, shape);

    wrong = glow_type_check(&t, im->arena);
    if (wrong) {
        glow_error(im->ctx, "E0709", "%s: input '%s': %s", im->path, name,
                   wrong);
        return NULL;
    }
    if (!import_noted_type(im, glow_arena_printf(im->arena, "input '%s'", name),
                           doc, &t))
        return NULL;
    return glow_type_get(im->ctx, t);
}

/* -bind: a constant with the elements of a file. */
static glow_storage *
bound_constant(importer *im, const char *name, const char *path,
               const glow_type *type)
{
    glow_tensor t;
    glow_storage *s;

    if (!im->options->read_array(im->ctx, path, type, &t))
        return NULL;
    s = glow_constant_wrap(im->module, name, t.type, t.data, t.owner);
    glow_tensor_end(&t);
    return s;
}

static bool
read_tensor_input(importer *im, const char *name,
                  const Onnx__TypeProto__Tensor *x, const char *doc,
                  import_item *out)
{
    const char *file = option(im, BINDS, name);
    const glow_type *type = read_input_type(im, name, x, doc);
    glow_storage *s;

    if (!type)
        return false;
    s = file ? bound_constant(im, name, file, type)
             : glow_placeholder_new(im->module, name, type);
    if (!s)
        return false;
    s->loc = glow_loc_model(im->module, im->dialect->loc, im->file, name);
    out->value = &s->value;
    return true;
}

static bool read_input(importer *im, const char *name,
                       const Onnx__TypeProto *type, const char *doc, int depth,
                       import_item *out);

/* The declared element kind of a sequence's tensors. */
static glow_kind
declared_kind(const Onnx__TypeProto *t)
{
    const tensor_elem *e =
        t->tensor_type ? tensor_elem_of(t->tensor_type->elem_type) : NULL;

    return e ? e->kind : GLOW_NO_KIND;
}

static import_list *
new_list(importer *im, bool is_optional, int64_t count)
{
    import_list *l = GLOW_NEW(im->arena, import_list);

    *l = (import_list){.is_optional = is_optional, .count = (int)count};
    l->items = GLOW_NEW_ARRAY(im->arena, import_item, count);
    return l;
}

#define MAX_LENGTH 4096

static bool
read_sequence_input(importer *im, const char *name,
                    const Onnx__TypeProto *element, int depth, import_item *out)
{
    const char *text = option(im, LENGTHS, name), *end;
    int64_t length = 0;
    import_list *l;

    if (!text)
        return glow_error_hint(
            im->ctx, (glow_span){0}, "E0709",
            glow_arena_printf(im->arena,
                              "-length %s=3 says how many elements "
                              "it has",
                              name),
            "%s: input '%s' is a sequence of unknown length", im->path, name);
    end = read_size(text, &length);
    if (!end || *end || length > MAX_LENGTH)
        return glow_error(im->ctx, "E0713",
                          "-length %s=%s: the length must be a number up to %d",
                          name, text, MAX_LENGTH);
    l = new_list(im, false, length);
    l->kind = declared_kind(element);
    for (int i = 0; i < l->count; i++)
        if (!read_input(im, glow_arena_printf(im->arena, "%s.%d", name, i),
                        element, NULL, depth + 1, &l->items[i]))
            return false;
    out->list = l;
    return true;
}

/* An optional has a value unless `-length NAME=none`. */
static bool
read_optional_input(importer *im, const char *name,
                    const Onnx__TypeProto *element, int depth, import_item *out)
{
    const char *text = option(im, LENGTHS, name);
    import_list *l = new_list(im, true, !text || strcmp(text, "none") != 0);

    out->list = l;
    return l->count == 0 ||
           read_input(im, name, element, NULL, depth + 1, &l->items[0]);
}

static bool
read_input(importer *im, const char *name, const Onnx__TypeProto *t,
           const char *doc, int depth, import_item *out)
{
    if (t && t->tensor_type)
        return read_tensor_input(im, name, t->tensor_type, doc, out);
    if (t && depth < 4 && t->sequence_type && t->sequence_type->elem_type)
        return read_sequence_input(im, name, t->sequence_type->elem_type, depth,
                                   out);
    if (t && depth < 4 && t->optional_type && t->optional_type->elem_type)
        return read_optional_input(im, name, t->optional_type->elem_type, depth,
                                   out);
    return glow_error(im->ctx, "E0705",
                      "%s: input '%s' is no tensor, sequence or optional, and "
                      "nothing else is supported",
                      im->path, name);
}

static bool
import_input(importer *im, const Onnx__ValueInfoProto *v)
{
    const char *name = v->name ? v->name : "";
    import_item item = import_lookup(im, name);

    /* An initializer of the same name is the default, and is used. */
    if (item.value && glow_is_constant(item.value) && !option(im, BINDS, name))
        return true;
    if (!*name)
        return glow_error(im->ctx, "E0706", "%s: an input has no name",
                          im->path);
    item = (import_item){0};
    return read_input(im, name, v->type, v->doc_string, 0, &item) &&
           import_define(im, name, item, "input");
}

/* Reports options that were not used. */
static bool
check_options(importer *im)
{
    const bool *used = im->bound;
    bool ok = true;

    for (option_list k = 0; k < N_LISTS; k++) {
        option_pairs p = pairs_of(im->options, k);

        for (size_t i = 0; i < p.n; i++)
            if (!*used++)
                ok = glow_error(
                    im->ctx, "E0713", "%s %s=%s: %s has no %s of this name",
                    p.flag, p.at[i][0], p.at[i][1], im->path,
                    k == DIMS ? "dimension without a size" : "input");
    }
    return ok;
}

bool
import_inputs(importer *im)
{
    bool ok = true;

    for (size_t i = 0; i < im->graph->n_input; i++)
        ok &= import_input(im, im->graph->input[i]);
    return ok && check_options(im);
}
