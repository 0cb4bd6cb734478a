/*
 * Interfaces of the stages of reading: the lexer (lexer.l), the layer above it
 * that knows brackets and keywords (tokens.c), the grammar (parser.y), and the
 * construction of the tree (make.c).  Names are resolved afterwards: resolve.h.
 */

#ifndef GLOW_IR_TEXT_PARSE_H
#define GLOW_IR_TEXT_PARSE_H

#include "glow/text.h"
#include "ir/text/ast.h"

enum {
    TEXT_MAX_NESTING = 256, /* brackets within brackets */
    TEXT_MAX_ERRORS = 200,  /* then reading stops */
};

typedef struct text_parser {
    glow_context *ctx;
    const glow_source *source;
    const glow_parse_options *options;
    glow_arena *arena; /* of the syntax tree */
    text_file file;
    int errors;

    /* The lexer. */
    void *scanner;
    uint32_t at; /* offset of the next byte */

    /* The layer above it. */
    char
        open[TEXT_MAX_NESTING]; /* the open brackets: ( [ { and sections S, P */
    text_span open_at[TEXT_MAX_NESTING];
    int depth;
    int previous; /* the token before */
    int item;     /* the keyword of the current item */
    bool holding; /* a token waits while open sections are closed */
    int held;
    text_span held_at;
    bool ended;          /* nothing more is read */
    uint32_t statements; /* begun so far, and 1 */
    uint32_t reported;   /* number of the statement that was last reported as
                          * wrong */
    uint32_t last_stray; /* behind the last byte of no word */

    /* Names whose definition is broken: their uses are not reported. */
    text_name defining[2]; /* names of the last statements; NULL text:
                            * complete */
    glow_map *broken;      /* values */
    glow_map *symbols;     /* all symbols that items define */
} text_parser;

/* The span in the source, for reports. */
glow_span glow_text_at(const text_parser *p, text_span s);

/* Reports, and counts; nothing once TEXT_MAX_ERRORS were reported. */
void glow_text_error(text_parser *p, text_span at, const char *id,
                     const char *fmt, ...) GLOW_PRINTF(4, 5);
void glow_text_error_hint(text_parser *p, text_span at, const char *id,
                          const char *hint, const char *fmt, ...)
    GLOW_PRINTF(5, 6);
/* With a note at `before`: "first defined here". */
void glow_text_error_note(text_parser *p, text_span at, const char *id,
                          text_span before, const char *note, const char *fmt,
                          ...) GLOW_PRINTF(6, 7);

/* "did you mean `x`?" in the arena, or NULL. */
const char *glow_text_suggest(text_parser *p, const char *wrong,
                              const char *const *names, size_t count);

/* make.c: parts of the tree. */

typedef struct text_string {
    const char *text; /* unescaped, NUL after its end */
    size_t size;
    text_span span; /* quotes included */
} text_string;

/* A shape while its words are read: `8 x 28`, `8x28`. */
typedef struct text_shape {
    glow_dims dims;
    bool after_x;      /* a number must follow */
    bool bad;          /* reported */
    text_name element; /* the kind at the end of MLIR's `2x3xf32` */
} text_shape;

/* `[S:0.5 O:3]`; scale.text is NULL where there is none. */
typedef struct text_quant {
    text_number scale, offset;
} text_quant;

text_name glow_text_name_of(text_parser *p, text_string s);
void glow_text_shape_int(text_parser *p, text_shape *s, text_number n);
/* True if a type can begin with `word`, here or in other text forms. */
bool glow_text_is_type_word(const char *word);
void glow_text_shape_word(text_parser *p, text_shape *s, text_name word);
/* NULL after a report. */
const glow_type *glow_text_type_of(text_parser *p, text_span at, text_name kind,
                                   text_quant q, text_shape shape,
                                   const text_values *strides);
text_value *glow_text_value_new(text_parser *p, glow_value_kind kind,
                                text_span at);
text_arg *glow_text_arg_new(text_parser *p, text_value *v);
void glow_text_expect_word(text_parser *p, text_name got, const char *want);

/* The value of a number; false after a report. */
bool glow_text_int(text_parser *p, text_number n, int64_t *out);
bool glow_text_size(text_parser *p, text_number n, int64_t *out); /* >= 0 */
bool glow_text_float(text_parser *p, text_number n, float *out);
bool glow_text_double(text_parser *p, text_number n, double *out);

/* tokens.c: the statement that defines `name` is complete. */
void glow_text_defined(text_parser *p, text_name name);

/* parser.y: fills p->file. */
void glow_text_parse(text_parser *p);

#endif
