/* The internals of glow-alloc: options and tables of buffers. */

#ifndef GLOW_TOOLS_GLOW_ALLOC_ALLOC_H
#define GLOW_TOOLS_GLOW_ALLOC_ALLOC_H

#include "glow/place.h"
#include "tools/common/tool.h"

typedef struct alloc_values {
    const char *output;
    int64_t capacity, align, bank;
    tool_list forbidden;
    const char *strategy;
    int64_t budget;
    bool check, json;
} alloc_values;

/* The rows of a table of buffers. */
typedef struct rows {
    glow_lifetime *buffers;
    const char **ids;
    glow_span *spans; /* the row of each, for messages */
    size_t count;
} rows;

/* Reads buffers from a table with the columns id, lower, upper and size, in any
   order, and optional alignment and offset; false after reports (E0630). */
bool read_rows(tool *t, const glow_source *source, int64_t align, rows *out);

/* Writes the rows with their offsets; false after a report. */
bool write_rows(tool *t, const rows *r, const char *path);

#endif
