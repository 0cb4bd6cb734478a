/* Lookup of operators, and a report of all unsupported ones. */

#include <limits.h>
#include <string.h>

#include "tools/glow-translate/import/state.h"

typedef struct missing {
    const char *name; /* with the domain */
    const char *why;
    size_t first;
    int count;
    struct missing *next;
} missing;

/* The row of ONNX for an operator, or NULL and why there is none. */
static const import_row *
find_onnx(glow_arena *a, const char *name, int opset, const char **why)
{
    const import_row *any;
    const import_row *row = import_find_row(name, opset, &any);

    if (row)
        return row;
    if (!any)
        *why = glow_arena_printf(a, "opset %d", opset);
    else if (opset < any->since)
        *why = glow_arena_printf(a, "opset %d; supported from %d on", opset,
                                 any->since);
    else
        *why = glow_arena_printf(a, "opset %d; supported up to %d", opset,
                                 any->until);
    return NULL;
}

const import_dialect import_onnx = {GLOW_LOC_ONNX, true, find_onnx};

bool
import_is_standard(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

/* The reason for operators of ONNX that are not supported, or NULL. */
static const char *
why_never(const char *name)
{
    static const struct {
        const char *name, *why;
    } never[] = {
        {"ImageDecoder", "files of pictures are no tensors of known shape"},
        {"RegexFullMatch", "tensors of strings have no element kind"},
        {"StringConcat", "tensors of strings have no element kind"},
        {"StringNormalizer", "tensors of strings have no element kind"},
        {"StringSplit", "tensors of strings have no element kind"},
    };

    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strcmp(never[i].name, name) == 0)
            return never[i].why;
    return NULL;
}

int
import_version(const importer *im, const char *domain)
{
    const Onnx__FunctionProto *f = im->call ? im->call->function : NULL;
    Onnx__OperatorSetIdProto **list =
        f ? f->opset_import : im->model->opset_import;
    size_t count = f ? f->n_opset_import : im->model->n_opset_import;

    for (size_t i = 0; i < count; i++)
        if (list[i]->domain && strcmp(list[i]->domain, domain) == 0)
            return list[i]->version > 0 && list[i]->version < INT_MAX
                       ? (int)list[i]->version
                       : 0;
    return 0;
}

/* The operator with its domain, unless that is ONNX's own. */
static const char *
full_name(const importer *im, const Onnx__NodeProto *p)
{
    if (import_is_standard(p->domain))
        return import_op_name(p);
    return glow_arena_printf(im->arena, "%s.%s", p->domain, import_op_name(p));
}

const import_row *
import_resolve(importer *im, const Onnx__NodeProto *p, const char **why)
{
    static const import_row call = {"", 1, 0, import_call_function, NULL, NULL};

    *why = NULL;
    if (import_find_function(im, p))
        return &call;
    if (!import_is_standard(p->domain)) {
        int version = import_version(im, p->domain);
        const import_row *any,
            *ours = import_find_row(full_name(im, p), version, &any);
        const import_row *row = ours ? ours : import_find_foreign(im, p, why);

        if (!row && any)
            *why = version ? glow_arena_printf(
                                 im->arena, "version %d of its domain", version)
                           : "the model does not say which version of its "
                             "domain it is of";
        return row;
    }

    const char *name = import_op_name(p);
    const import_row *row = im->dialect->find(im->arena, name, im->opset, why);

    if (!row && im->dialect == &import_onnx)
        row = import_find_private(im, name);
    if (!row && why_never(name))
        *why = why_never(name);
    return row;
}

static missing *
find_missing(importer *im)
{
    glow_map *seen = glow_map_new(im->arena);
    missing *first = NULL, **end = &first;

    for (size_t i = 0; i < im->graph->n_node; i++) {
        const Onnx__NodeProto *p = im->graph->node[i];
        const char *why, *name = full_name(im, p);
        missing *m;

        if (import_resolve(im, p, &why))
            continue;
        m = glow_map_get(seen, name);
        if (!m) {
            m = GLOW_NEW(im->arena, missing);
            *m = (missing){.name = name, .why = why, .first = i};
            glow_map_set(seen, name, m);
            *end = m;
            end = &m->next;
        }
        m->count++;
    }
    return first;
}

/* Reports all operators that are not supported, in one message. */
bool
import_check_operators(importer *im)
{
    missing *all = find_missing(im);
    glow_diag error = {.severity = GLOW_ERROR, .id = "E0705"};
    glow_diag *note = NULL;
    int kinds = 0, nodes = 0;

    if (!all)
        return true;
    for (const missing *m = all; m; m = m->next) {
        glow_diag *d = GLOW_NEW(im->arena, glow_diag);

        d->severity = GLOW_NOTE;
        d->message = glow_arena_printf(
            im->arena, "%s (%s): %d node%s, the first is node %zu, '%s'",
            m->name, m->why, m->count, m->count > 1 ? "s" : "", m->first,
            import_node_name(im, m->first));
        if (note)
            note->next = d;
        else
            error.notes = d;
        note = d;
        kinds++;
        nodes += m->count;
    }
    error.message = glow_arena_printf(
        im->arena, "%s: %s%d operator%s in %d of %zu nodes %s not supported",
        im->path, im->where, kinds, kinds > 1 ? "s" : "", nodes,
        im->graph->n_node, kinds > 1 ? "are" : "is");
    glow_report(im->ctx, &error);
    return false;
}
