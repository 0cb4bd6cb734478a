/*
 * Library of the importers' rows: operands and results of the imported node, and
 * refusals; and the table of all rows.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/number.h"
#include "tools/glow-translate/import/state.h"

glow_context *
import_context(const import_node *n)
{
    return n->im->ctx;
}

glow_arena *
import_arena(const import_node *n)
{
    return n->im->arena;
}

static bool
refuse(import_node *n, const char *id, const char *hint, const char *fmt,
       va_list ap)
{
    if (n->failed)
        return false;
    n->failed = true;
    return glow_error_hint(n->im->ctx, (glow_span){0}, id, hint, "%s: %s: %s",
                           n->im->path, n->text,
                           glow_arena_vprintf(n->im->arena, fmt, ap));
}

bool
import_refuse(import_node *n, const char *id, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    refuse(n, id, NULL, fmt, ap);
    va_end(ap);
    return false;
}

bool
import_refuse_hint(import_node *n, const char *id, const char *hint,
                   const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    refuse(n, id, hint, fmt, ap);
    va_end(ap);
    return false;
}

/*
 * The first input of the model that `v` is computed from, if that can be said;
 * each node is looked at once.
 */
static const glow_storage *
find_input(importer *im, const glow_value *v)
{
    if (im->body)
        return NULL;

    size_t count = (size_t)im->func->count, depth = 0;
    const glow_value **stack =
        GLOW_NEW_ARRAY(im->arena, const glow_value *, count + 1);

    glow_numbering visited = glow_numbering_new(im->arena, im->func);

    stack[depth++] = v;
    while (depth) {
        const glow_value *top = stack[--depth];

        if (top->storage && !top->storage->is_constant)
            return top->storage;
        for (int i = 0; top->def && i < top->def->n_in; i++) {
            const glow_value *in = top->def->in[i];

            if (!in || (in->def &&
                        glow_number_of(&visited, in->def) != GLOW_UNNUMBERED))
                continue;
            if (in->storage && !in->storage->is_constant)
                return in->storage;
            if (in->def) {
                glow_number_set(&visited, in->def, 0);
                stack[depth++] = in;
            }
        }
    }
    return NULL;
}

static const char *
bind_hint(importer *im, const glow_storage *s)
{
    return s ? glow_arena_printf(
                   im->arena, "-bind %s=FILE.npy makes it a constant", s->name)
             : NULL;
}

const char *
import_bind_hint(importer *im, const glow_value *v)
{
    return bind_hint(im, find_input(im, v));
}

void
import_refuse_unknown(import_node *n, int i, const glow_value *v)
{
    const glow_storage *s = find_input(n->im, v);

    n->failed = true;
    glow_error_hint(n->im->ctx, (glow_span){0}, "E0712", bind_hint(n->im, s),
                    "%s: %s: operand %d decides about shapes, so it must be "
                    "known, but it depends on %s%s",
                    n->im->path, n->text, i, s ? "input " : "other values",
                    s ? s->name : "");
}

glow_value *
import_in(const import_node *n, int i)
{
    return i < n->n_in ? n->in[i] : NULL;
}

bool
import_operands(import_node *n, int least, int most)
{
    if (n->n_in < least || n->n_in > most)
        return import_refuse(n, "E0711", "%d operands, but %d to %d are due",
                             n->n_in, least, most);
    for (int i = 0; i < n->n_in; i++)
        if (n->in_list[i])
            return import_refuse(n, "E0711",
                                 "operand %d must be a tensor, and is %s", i,
                                 import_list_noun(n->in_list[i]));
    for (int i = 0; i < least; i++)
        if (!n->in[i])
            return import_refuse(n, "E0711", "operand %d is missing", i);
    return !n->failed;
}

bool
import_wants(const import_node *n, int i)
{
    return i < n->n_out && *n->proto->output[i];
}

bool
import_done(import_node *n, glow_value *v)
{
    if (n->n_out > 0)
        n->out[0] = v;
    return v && !n->failed;
}

glow_dims
import_shape(const glow_value *v)
{
    return v ? v->type->shape : (glow_dims){0};
}

/* True if `name` is an output's, or an element's of one: y.0 of y. */
static bool
is_output_name(const importer *im, const char *name)
{
    size_t n = strlen(name), end = n;

    while (end > 0 && (name[end - 1] == '.' ||
                       (name[end - 1] >= '0' && name[end - 1] <= '9')))
        end--;
    for (; end <= n; end++)
        if (end == n || name[end] == '.')
            if (glow_map_get(im->outputs,
                             glow_arena_strndup(im->arena, name, end)))
                return true;
    return false;
}

const char *
import_storage_name(importer *im, const char *name)
{
    if (!is_output_name(im, name))
        return name;
    return glow_arena_printf(im->arena, "%s.value", name);
}

/* The table of operators. */

/* clang-format off */
static const import_row *const tables[] = {
    import_activation_rows,
    import_attention_rows,
    import_audio_rows,
    import_control_rows,
    import_convolution_rows,
    import_dropout_rows,
    import_dynamic_rows,
    import_elementwise_rows,
    import_experimental_rows,
    import_gather_rows,
    import_index_rows,
    import_integer_rows,
    import_layout_rows,
    import_list_rows,
    import_loss_rows,
    import_lp_rows,
    import_matmul_rows,
    import_ml_feature_rows,
    import_ml_linear_rows,
    import_ml_svm_rows,
    import_ml_tree_rows,
    import_norm_rows,
    import_ort_activation_rows,
    import_ort_attention_rows,
    import_ort_norm_rows,
    import_ort_product_rows,
    import_ort_quantized_rows,
    import_pool_rows,
    import_random_rows,
    import_recurrent_rows,
    import_reduce_rows,
    import_resize_rows,
    import_sample_rows,
    import_shape_rows,
    import_signal_rows,
    import_fused_rows,
    import_sparse_rows,
    import_tfidf_rows,
    import_gradient_rows,
    import_train_rows,
};
/* clang-format on */

const import_row *const *
import_all_rows(size_t *count)
{
    *count = sizeof tables / sizeof *tables;
    return tables;
}

const import_row *
import_find_row(const char *name, int opset, const import_row **any)
{
    *any = NULL;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const import_row *r = tables[t]; r->name; r++) {
            if (strcmp(r->name, name) != 0)
                continue;
            *any = r;
            if (opset >= r->since && (!r->until || opset <= r->until))
                return r;
        }
    return NULL;
}

glow_value *
import_as(import_node *n, const char *name, int opset, glow_value *const *in,
          int n_in)
{
    import_node as = *n;
    glow_value *y = NULL;

    if (n->failed)
        return NULL;
    as.opset = opset;
    as.row = import_find_row(name, opset, &(const import_row *){NULL});
    as.in = GLOW_NEW_ARRAY(n->im->arena, glow_value *, n_in);
    as.in_list = GLOW_NEW_ARRAY(n->im->arena, const import_list *, n_in);
    for (int i = 0; i < n_in; i++)
        as.in[i] = in[i];
    as.n_in = n_in;
    as.out = &y;
    as.n_out = 1;
    as.row->run(&as);
    n->read = as.read;
    n->failed = as.failed;
    return y;
}
