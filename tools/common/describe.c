/* Descriptions of one pass, operator, pipeline or error. */

#include "tools/common/describe.h"

#include "glow/derivative.h"
#include "glow/rules.h"

#include <string.h>

/* Words. */

static const char *const levels[] = {
    [GLOW_ANY] = "anything",
    [GLOW_GRAPH] = "graphs",
    [GLOW_SCHEDULED] = "scheduled graphs",
    [GLOW_PROGRAM] = "programs",
    [GLOW_PLACED] = "placed programs",
};

static const char *const preserves[] = {
    [GLOW_EXACT] = "exact",         [GLOW_ORDER] = "order",
    [GLOW_LOWERS] = "lowers",       [GLOW_REASSOC] = "reassoc",
    [GLOW_PRECISION] = "precision", [GLOW_QUANTIZED] = "quantized",
    [GLOW_CHANGES] = "changes",
};

static const char *const preserves_text[] = {
    [GLOW_EXACT] = "every output, bit for bit",
    [GLOW_ORDER] = "every output, up to the order of additions in a sum",
    [GLOW_LOWERS] =
        "every output, up to the roundings of the steps of one operator",
    [GLOW_REASSOC] = "every output, up to the order of roundings",
    [GLOW_PRECISION] = "every output, up to the precision of a narrower kind",
    [GLOW_QUANTIZED] = "every output, up to the noise of quantized elements",
    [GLOW_CHANGES] = "not the meaning",
};

static const char *const field_kinds[] = {
    [GLOW_NO_FIELD] = "",         [GLOW_INT] = "int",
    [GLOW_INT64] = "int",         [GLOW_FLOAT32] = "float",
    [GLOW_FLAG] = "bool",         [GLOW_STRING] = "string",
    [GLOW_ENUM] = "word",         [GLOW_DIMS] = "ints",
    [GLOW_INTS] = "ints",         [GLOW_FLOATS] = "floats",
    [GLOW_KIND] = "element kind", [GLOW_FUNC] = "function",
    [GLOW_BYTES] = "bytes",
};

static const char *const operand_kinds[] = {
    [GLOW_NO_OPERAND] = "",       [GLOW_TENSOR] = "",
    [GLOW_OPTIONAL] = "optional", [GLOW_VARIADIC] = "any number",
    [GLOW_WRITTEN] = "written",
};

typedef struct trait_text {
    glow_trait trait;
    const char *text;
} trait_text;

static const trait_text traits[] = {
    {GLOW_PURE, "pure"},
    {GLOW_LAYOUT, "layout"},
    {GLOW_PRIMITIVE, "primitive"},
    {GLOW_ELEMENTWISE, "element-wise"},
    {GLOW_COMMUTATIVE, "commutative"},
    {GLOW_STATED, "result type stated"},
    {GLOW_REDUCTION, "reduction"},
    {GLOW_STRUCTURAL, "structural"},
    {GLOW_PROGRAM_ONLY, "programs only"},
    {GLOW_GRAPH_ONLY, "graphs only"},
    {GLOW_DISCONTINUOUS, "discontinuous"},
    {GLOW_ROUNDS_ONCE, "rounds once"},
    {GLOW_PRODUCT, "product"},
    {GLOW_SENSITIVE, "sensitive"},
};

/* The default of a field in the text form; "" if there is none. */
static void
put_default(glow_buf *b, glow_schema s, const glow_field *f)
{
    const glow_field one[] = {*f, {0}};
    glow_buf text = {0};

    if (!f->has_default || !s.defaults)
        return;
    glow_buf_attrs(&text, (glow_schema){one, NULL}, s.defaults, true);

    const char *colon = strchr(text.text, ':');

    glow_buf_add(b, colon + 2, text.len - (size_t)(colon + 2 - text.text) - 1);
    glow_buf_free(&text);
}

static void
put_kind(glow_buf *b, const glow_field *f)
{
    if (f->kind != GLOW_ENUM) {
        glow_buf_puts(b, field_kinds[f->kind]);
        return;
    }
    for (size_t i = 0; f->words[i]; i++)
        glow_buf_printf(b, "%s%s", i > 0 ? ", " : "", f->words[i]);
}

/* A table of options (member names) or attributes (names of the text form). */
static void
put_fields(glow_buf *b, glow_schema s, const char *what, bool text_names)
{
    int count = glow_schema_count(s);

    if (count == 0)
        return;
    glow_buf_printf(
        b, "\n| %s | kind | default | |\n| --- | --- | --- | --- |\n", what);
    for (int i = 0; i < count; i++) {
        const glow_field *f = &s.fields[i];
        char name[64];

        glow_field_text_name(f, name, sizeof name);
        glow_buf_printf(b, "| `%s` | ", text_names ? name : f->name);
        put_kind(b, f);
        glow_buf_puts(b, " | ");
        put_default(b, s, f);
        glow_buf_printf(b, " | %s |\n", f->doc);
    }
}

/* Passes and pipelines. */

/* The card and the doc, a paragraph apart, each after an empty line. */
static void
put_doc(glow_buf *b, const glow_pass *p)
{
    if (glow_pass_card(p))
        glow_buf_printf(b, "\n%s", glow_pass_card(p));
    if (p->doc)
        glow_buf_printf(b, "\n%s\n", p->doc);
}

void
describe_pass(glow_buf *b, const glow_pass *p)
{
    glow_buf_printf(b, "## %s\n\n%s\n\n- takes: %s\n", p->name, p->summary,
                    levels[p->level]);
    if (p->makes != GLOW_ANY)
        glow_buf_printf(b, "- makes: %s\n", levels[p->makes]);
    if (p->unplaces)
        glow_buf_puts(b, "- drops the places of buffers\n");
    glow_buf_printf(b, "- keeps: %s", preserves_text[p->preserves]);
    if (p->preserves == GLOW_CHANGES)
        glow_buf_printf(b, ": %s", p->why);
    glow_buf_puts(b, "\n");
    if (p->lowers)
        glow_buf_printf(b, "- lowers: `%s`\n", p->lowers->name);
    put_fields(b, glow_pass_schema(p), "option", false);
    put_doc(b, p);
    if (p->rules) {
        glow_buf_puts(b, "\nRules:\n\n");
        glow_buf_rules(b, p->rules);
    }
    if (p->source)
        glow_buf_printf(b, "\nSource: %s\n", p->source);
}

void
describe_pipeline(glow_buf *b, const glow_named_pipeline *p)
{
    glow_buf_printf(b, "## %s\n\n%s\n", p->name, p->summary);
    if (p->entries->text)
        glow_buf_puts(b, "\n| | because |\n| --- | --- |\n");
    for (const glow_pipeline_entry *e = p->entries; e->text; e++)
        glow_buf_printf(b, "| `%s` | %s |\n", e->text, e->reason);
}

static json_t *
fields_json(glow_schema s, bool text_names)
{
    json_t *list = json_array();
    int count = glow_schema_count(s);

    for (int i = 0; i < count; i++) {
        const glow_field *f = &s.fields[i];
        glow_buf value = {0};
        char name[64];

        glow_field_text_name(f, name, sizeof name);
        put_default(&value, s, f);

        json_t *j =
            json_pack("{s:s, s:s, s:s}", "name", text_names ? name : f->name,
                      "kind", field_kinds[f->kind], "doc", f->doc);

        if (value.text)
            json_object_set_new(j, "default", json_string(value.text));
        for (size_t w = 0; f->kind == GLOW_ENUM && f->words[w]; w++) {
            if (w == 0)
                json_object_set_new(j, "words", json_array());
            json_array_append_new(json_object_get(j, "words"),
                                  json_string(f->words[w]));
        }
        json_array_append_new(list, j);
        glow_buf_free(&value);
    }
    return list;
}

json_t *
pass_json(const glow_pass *p)
{
    json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", p->name,
                          "summary", p->summary, "takes", levels[p->level],
                          "preserves", preserves[p->preserves], "options",
                          fields_json(glow_pass_schema(p), false));

    glow_buf doc = {0};

    put_doc(&doc, p);
    if (doc.text)
        json_object_set_new(j, "doc", json_string(doc.text + 1));
    glow_buf_free(&doc);
    if (p->makes != GLOW_ANY)
        json_object_set_new(j, "makes", json_string(levels[p->makes]));
    if (p->lowers)
        json_object_set_new(j, "lowers", json_string(p->lowers->name));
    if (p->why)
        json_object_set_new(j, "why", json_string(p->why));
    if (p->source)
        json_object_set_new(j, "source", json_string(p->source));
    return j;
}

/* Operators. */

static void
put_operands(glow_buf *b, const char *what, const glow_operand *list, int count)
{
    if (count == 0)
        return;
    glow_buf_printf(b, "\n| %s | | |\n| --- | --- | --- |\n", what);
    for (int i = 0; i < count; i++)
        glow_buf_printf(b, "| `%s` | %s | %s |\n", list[i].name,
                        operand_kinds[list[i].kind], list[i].doc);
}

static void
put_traits(glow_buf *b, int set)
{
    const char *before = "\nTraits: ";

    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++)
        if (set & (int)traits[i].trait) {
            glow_buf_printf(b, "%s%s", before, traits[i].text);
            before = ", ";
        }
    if (before[0] == ',')
        glow_buf_putc(b, '\n');
}

/* The passes that lower the operator. */
static void
put_lowering(glow_buf *b, glow_context *ctx, const glow_op *op)
{
    size_t n;
    const glow_pass *const *passes = glow_all_passes(ctx, &n);

    for (size_t i = 0; i < n; i++)
        if (passes[i]->lowers == op)
            glow_buf_printf(b, "\nLowered by `%s`.\n", passes[i]->name);
}

/* The form of the operator's derivative, if it has one. */
static void
put_derivative(glow_buf *b, const glow_derivative *d)
{
    if (!d)
        return;
    glow_buf_printf(b, "\nGradient: %s.\n",
                    d->is_zero    ? "0"
                    : d->is_call  ? "by those of the functions that it calls"
                    : d->partial  ? "by partial derivatives"
                    : d->gradient ? "by a rule of its own"
                                  : "by the transpose");
}

void
describe_op(glow_buf *b, glow_context *ctx, const glow_op *op)
{
    glow_buf_printf(b, "## %s\n\n%s\n", op->name, op->summary);
    put_operands(b, "operand", op->in, glow_op_operands(op));
    put_operands(b, "result", op->out, glow_op_results(op));
    put_fields(b, glow_op_schema(op), "attribute", true);
    put_traits(b, op->traits);
    for (int i = 0; i < op->inplace_count; i++)
        glow_buf_printf(b, "\n`%s` may take the buffer of `%s`.\n",
                        op->out[op->inplace[i].out].name,
                        op->in[op->inplace[i].in].name);
    put_lowering(b, ctx, op);
    put_derivative(b, op->derivative);
    if (op->doc)
        glow_buf_printf(b, "\n%s\n", op->doc);
    if (op->source)
        glow_buf_printf(b, "\nSource: %s\n", op->source);
}

static json_t *
operands_json(const glow_operand *list, int count)
{
    json_t *out = json_array();

    for (int i = 0; i < count; i++)
        json_array_append_new(
            out, json_pack("{s:s, s:s, s:s}", "name", list[i].name, "kind",
                           operand_kinds[list[i].kind], "doc", list[i].doc));
    return out;
}

json_t *
op_json(const glow_op *op)
{
    json_t *set = json_array();

    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++)
        if (op->traits & (int)traits[i].trait)
            json_array_append_new(set, json_string(traits[i].text));

    json_t *j =
        json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o}", "name", op->name,
                  "summary", op->summary, "version", op->version, "operands",
                  operands_json(op->in, glow_op_operands(op)), "results",
                  operands_json(op->out, glow_op_results(op)), "attributes",
                  fields_json(glow_op_schema(op), true), "traits", set);

    if (op->source)
        json_object_set_new(j, "source", json_string(op->source));
    return j;
}

/* Backends. */

void
describe_backend(glow_buf *b, const glow_backend *p)
{
    glow_buf_printf(b, "## %s\n\n%s\n\n- takes: %s\n", p->name, p->summary,
                    levels[p->level]);
    if (p->before_lower)
        glow_buf_printf(b, "- before lowering: `%s`\n", p->before_lower);
    if (p->after_lower)
        glow_buf_printf(b, "- after lowering: `%s`\n", p->after_lower);
    put_fields(b, glow_backend_schema(p), "option", false);
    if (p->artifacts)
        glow_buf_puts(b, "\n| -emit | |\n| --- | --- |\n");
    for (const glow_artifact *a = p->artifacts; a && a->name; a++)
        glow_buf_printf(b, "| `%s` | %s |\n", a->name, a->summary);
}

json_t *
backend_json(const glow_backend *p)
{
    json_t *artifacts = json_array();

    for (const glow_artifact *a = p->artifacts; a && a->name; a++)
        json_array_append_new(
            artifacts,
            json_pack("{s:s, s:s}", "name", a->name, "summary", a->summary));
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:o, s:o}", "name", p->name,
                     "summary", p->summary, "takes", levels[p->level], "runs",
                     p->run != NULL, "emits", p->emit != NULL, "artifacts",
                     artifacts, "options",
                     fields_json(glow_backend_schema(p), false));
}

/* Errors. */

void
describe_error(glow_buf *b, const glow_diag_info *d)
{
    glow_buf_printf(b, "## %s: %s\n\n%s", d->id, d->summary, d->explain);
}
