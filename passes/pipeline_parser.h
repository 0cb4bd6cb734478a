/*
 * Reading the text of pipelines: what its parts are made of.  All report what
 * is wrong, and then return false or NULL.
 */

#ifndef GLOW_PASSES_PIPELINE_PARSER_H
#define GLOW_PASSES_PIPELINE_PARSER_H

#include "passes/pipeline.h"

#define PIPELINE_DEPTH 32 /* of lists and of items, each in another */

typedef struct pipeline_parser {
    glow_context *ctx;
    glow_arena *arena;
    const glow_source *source;
    uint32_t at;
    int depth;
    bool in_func;                       /* within @name(...) */
    bool resumes;                       /* within a pipeline that does */
    const struct glow_backend *backend; /* that it is for, or NULL */
    const glow_named_pipeline *named;   /* whose text this is, or NULL */
    const glow_origin *origin;          /* the same with those around it */
    glow_span use; /* of its name, in what the user wrote */
} pipeline_parser;

glow_span pipeline_span(const pipeline_parser *p, uint32_t begin);

/* The next character but space, '\0' at the end; and past it if it is `c`. */
char pipeline_peek(pipeline_parser *p);
bool pipeline_take(pipeline_parser *p, char c);

/* Reports what stands at hand, where `wanted` should. */
bool pipeline_expected(pipeline_parser *p, const char *wanted);

/* A letter, a digit, `-`, `_` or `.` */
bool pipeline_is_name_char(char c);
/* A word of these; NULL if there is none. */
const char *pipeline_word(pipeline_parser *p);
/* "text" with \" and \\; the opening quote stands at hand. */
const char *pipeline_string(pipeline_parser *p, size_t *size);

/* `<rows=32,fast>`; the bracket is taken already. */
bool pipeline_options(pipeline_parser *p, const char *who, glow_schema schema,
                      glow_attr_list *list);

#endif
