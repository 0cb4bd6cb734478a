/*
 * Lexer of the text of pipelines.  All functions report errors, and then return
 * false or NULL.
 */

#ifndef GLOW_PASSES_PIPELINE_PARSER_H
#define GLOW_PASSES_PIPELINE_PARSER_H

#include "passes/pipeline.h"

#define PIPELINE_DEPTH 32 /* of nested lists and items */

typedef struct pipeline_parser {
    glow_context *ctx;
    glow_arena *arena;
    const glow_source *source;
    uint32_t at;
    int depth;
    bool in_func;                       /* within @name(...) */
    bool resumes;                       /* within a pipeline that resumes */
    const struct glow_backend *backend; /* target of the pipeline, or NULL */
    const glow_named_pipeline *named; /* named pipeline of this text, or NULL */
    const glow_origin *origin;        /* `named` and the pipelines around it */
    glow_span use;                    /* of its name, in the text of the user */
} pipeline_parser;

glow_span glow_pipeline_span(const pipeline_parser *p, uint32_t begin);

/*
 * The next character other than space, '\0' at the end; glow_pipeline_take consumes
 * it if it is `c`.
 */
char glow_pipeline_peek(pipeline_parser *p);
bool glow_pipeline_take(pipeline_parser *p, char c);

/* Reports the next token, in place of `wanted`. */
bool glow_pipeline_expected(pipeline_parser *p, const char *wanted);

/* A letter, a digit, `-`, `_` or `.` */
bool glow_pipeline_is_name_char(char c);
/* A word of such characters; NULL if there is none. */
const char *glow_pipeline_word(pipeline_parser *p);
/* "text" with \" and \\; the next character is the opening quote. */
const char *glow_pipeline_string(pipeline_parser *p, size_t *size);

/* Options `<rows=32,fast>`, after the bracket. */
bool glow_pipeline_read_options(pipeline_parser *p, const char *who,
                                glow_schema schema, glow_attr_list *list);

#endif
