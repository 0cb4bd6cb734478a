/* -list-onnx: the rows of the import, sorted by name and opset. */

#include "tools/glow-translate/list_onnx.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"
#include "tools/glow-translate/import/import.h"

static const char page[] =
    "# Operators of ONNX\n"
    "\n"
    "Printed by `glow-translate -list-onnx=md`.\n"
    "\n"
    "What `glow-translate -import-onnx` takes, of models of opset %d to %d.\n"
    "\n"
    "Of element kinds, floats are float16, bfloat16, float and float64 "
    "(ONNX's\n"
    "double), integers are int8 to int64 and uint8 to uint64, numbers are "
    "both,\n"
    "and any are numbers and bool.  Low are kinds of low precision: the\n"
    "floats of 8 and 4 bits, int4, uint4, int2 and uint2; operators that move\n"
    "elements of any kind move these too.  There are no strings and complex\n"
    "numbers.\n"
    "\n"
    "A value is known if it is a constant of the model, follows from "
    "constants\n"
    "and shapes, or is given by `-bind`.  All shapes are known: what a model\n"
    "leaves open, `-dim` and `-shape` say.  A tensor has up to %d axes.\n"
    "\n"
    "What an operator becomes is listed where that is one operator of Glow,\n"
    "but for the broadcasts, transposes, reshapes and conversions around it.\n"
    "\n"
    "| operator | opsets | element kinds | becomes | notes |\n"
    "| --- | --- | --- | --- | --- |\n";

static const char own[] =
    "\n"
    "## Names of Glow\n"
    "\n"
    "Models that were made for Glow name some operators of Glow and Caffe2 as\n"
    "if they were ONNX's.  These too are taken, in all opsets:\n";

typedef struct row_list {
    const import_row **at;
    size_t count;
} row_list;

static int
compare(const void *a, const void *b)
{
    const import_row *x = *(const import_row *const *)a;
    const import_row *y = *(const import_row *const *)b;
    int order = strcmp(x->name, y->name);

    return order ? order : x->since - y->since;
}

static row_list
sorted_rows(glow_arena *a)
{
    size_t n_tables, most = 0;
    const import_row *const *tables = import_all_rows(&n_tables);
    row_list l = {0};

    for (size_t t = 0; t < n_tables; t++)
        for (const import_row *r = tables[t]; r->name; r++)
            most++;
    l.at = GLOW_NEW_ARRAY(a, const import_row *, most);
    for (size_t t = 0; t < n_tables; t++)
        for (const import_row *r = tables[t]; r->name; r++)
            l.at[l.count++] = r;
    glow_sort(l.at, l.count, sizeof *l.at, compare);
    return l;
}

/* "from 7", "1 to 6" or "8". */
static const char *
opsets(glow_arena *a, const import_row *r)
{
    if (!r->until)
        return glow_arena_printf(a, "from %d", r->since);
    if (r->until == r->since)
        return glow_arena_printf(a, "%d", r->since);
    return glow_arena_printf(a, "%d to %d", r->since, r->until);
}

/* Headings are named in lower case. */
static void
put_link(glow_buf *b, const char *name)
{
    glow_buf_printf(b, " [%s](ops.md#", name);
    for (const char *c = name; *c; c++)
        glow_buf_putc(b, (char)tolower((unsigned char)*c));
    glow_buf_putc(b, ')');
}

/* Notes up to the first semicolon are the kinds. */
static void
put_row(glow_buf *b, glow_arena *a, const import_row *r)
{
    const char *rest = strchr(r->notes, ';');
    int kinds = rest ? (int)(rest - r->notes) : (int)strlen(r->notes);

    glow_buf_printf(b, "| %s | %s | %.*s |", r->name, opsets(a, r), kinds,
                    r->notes);
    if (r->op)
        put_link(b, r->op->name);
    glow_buf_printf(b, " |%s |\n", rest ? rest + 1 : "");
}

static void
put_page(glow_buf *b, glow_arena *a, row_list l)
{
    const char *comma = "\n";

    glow_buf_printf(b, page, IMPORT_MIN_OPSET, IMPORT_MAX_OPSET, GLOW_MAX_RANK);
    for (size_t i = 0; i < l.count; i++)
        if (l.at[i]->notes)
            put_row(b, a, l.at[i]);
    glow_buf_puts(b, own);
    for (size_t i = 0; i < l.count; i++)
        if (!l.at[i]->notes) {
            glow_buf_printf(b, "%s`%s`", comma, l.at[i]->name);
            comma = ",\n";
        }
    glow_buf_puts(b, ".\n");
}

int
list_onnx(const char *format)
{
    glow_arena *a = glow_arena_new();
    row_list l = sorted_rows(a);
    glow_buf b = {.arena = a};

    if (strcmp(format, "md") == 0)
        put_page(&b, a, l);
    else
        for (size_t i = 0; i < l.count; i++)
            glow_buf_printf(&b, "%-28s %-8s %s\n", l.at[i]->name,
                            opsets(a, l.at[i]),
                            l.at[i]->notes ? l.at[i]->notes : "Glow's own");
    fwrite(b.text, 1, b.len, stdout);
    glow_arena_free(a);
    return TOOL_DONE;
}
