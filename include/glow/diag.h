/*
 * Diagnostics: an error or warning with its location and a stable id.
 *
 * Libraries never print.  They report to the sink of the context; the tools
 * render the reports (text as rustc has it, or JSON).  Each id stands
 * once, in ir/base/errors.c, with its summary and the explanation that
 * `-explain=E0214` prints.
 */

#ifndef GLOW_DIAG_H
#define GLOW_DIAG_H

#include "glow/base.h"

GLOW_BEGIN

typedef enum glow_severity {
    GLOW_ERROR,
    GLOW_WARNING,
    GLOW_REMARK,
    GLOW_NOTE,
} glow_severity;

/* A text that positions point into: a file, stdin, the `-passes` string. */
typedef struct glow_source {
    const char *name; /* as the user named it */
    const char *text; /* whole, NUL after its end; NULL: not at hand */
    size_t size;
    int first_line; /* of the text within the file, 1 unless it was split */
} glow_source;

/* A stretch of a source.  A span without a source is no position at all. */
typedef struct glow_span {
    const glow_source *source;
    uint32_t begin; /* bytes from the start of the text */
    uint32_t end;   /* past the last; equal to begin: a place */
} glow_span;

/* The line (from source->first_line) and column (from 1, in bytes). */
GLOW_API void glow_span_line(glow_span s, int *line, int *column);

typedef struct glow_diag glow_diag;
struct glow_diag {
    glow_severity severity;
    const char *id;      /* "E0214"; notes have none */
    const char *message; /* one sentence, lower case, no full stop */
    glow_span span;
    const char *label;      /* at the caret, or NULL */
    const char *hint;       /* a suggestion, or NULL */
    const char *origin;     /* "Conv_0 in lenet.onnx", or NULL */
    const glow_diag *notes; /* a list by `next`: further places and facts */
    const glow_diag *next;
};

/* Receives each diagnostic; all of it lives until the call returns. */
typedef void (*glow_sink_fn)(const glow_diag *d, void *user);
GLOW_API void glow_context_set_sink(glow_context *ctx, glow_sink_fn fn,
                                    void *user);

/*
 * Speculation: between begin and end, reports are discarded.
 */
typedef struct glow_quiet {
    glow_sink_fn sink;
    void *user;
    int errors;
} glow_quiet;
GLOW_API void glow_quiet_begin(glow_context *ctx, glow_quiet *q);
GLOW_API void glow_quiet_end(glow_context *ctx, const glow_quiet *q);

/* Number of errors reported since the context was made. */
GLOW_API int glow_error_count(const glow_context *ctx);

/*
 * Reports; a `d` on the stack will do.  The short forms build one with a
 * message alone and return false, so that `return glow_error(...)` reads well.
 */
GLOW_API void glow_report(glow_context *ctx, const glow_diag *d);
GLOW_API bool glow_error(glow_context *ctx, const char *id, const char *fmt,
                         ...) GLOW_PRINTF(3, 4);
GLOW_API bool glow_error_at(glow_context *ctx, glow_span at, const char *id,
                            const char *fmt, ...) GLOW_PRINTF(4, 5);
GLOW_API bool glow_error_hint(glow_context *ctx, glow_span at, const char *id,
                              const char *hint, const char *fmt, ...)
    GLOW_PRINTF(5, 6);
GLOW_API void glow_warning_hint(glow_context *ctx, glow_span at, const char *id,
                                const char *hint, const char *fmt, ...)
    GLOW_PRINTF(5, 6);

/* The table of ids. */
typedef struct glow_diag_info {
    const char *id;      /* "E0214" (error) or "W0101" (warning) */
    const char *summary; /* a line */
    const char *explain; /* cause, a small wrong input, the mending */
} glow_diag_info;

GLOW_API const glow_diag_info *glow_diag_find(const char *id);
/* All of them by id; the entry past the last has a NULL id. */
GLOW_API const glow_diag_info *glow_diag_all(void);

/*
 * Adds lines for people to see.  Names may hold anything, so control characters
 * but newlines, and marks that turn the direction of writing, show as `\x1b`: a
 * report that prints a name goes through here.
 */
GLOW_API void glow_buf_show(glow_buf *b, const char *text, size_t n);

/*
 * Renders to text: position, message, the line with carets, notes, hint.
 * Control characters of the input show as escapes.
 */
GLOW_API void glow_diag_text(glow_buf *b, const glow_diag *d, bool color);
GLOW_API void glow_diag_json(glow_buf *b, const glow_diag *d); /* one line */

GLOW_END

#endif
