/* The layer between lexer and grammar: see tokens.c. */

#ifndef GLOW_IR_TEXT_TOKENS_H
#define GLOW_IR_TEXT_TOKENS_H

#include "ir/text/parse.h"

#include "ir/text/parser.h" /* made by bison */

/* lexer.l */

/* False after a report. */
bool text_lex_begin(text_parser *p);
int text_raw_lex(TEXT_YYSTYPE *value, text_span *at, void *scanner);

/* tokens.c, for lexer.l */

/* The name in `text` after `skip` bytes of sign, quoted or not. */
text_name text_lex_name(text_parser *p, text_span at, const char *text,
                        size_t size, size_t skip);
text_number text_lex_number(text_parser *p, text_span at, const char *text,
                            size_t size, bool is_float);
text_string text_lex_string(text_parser *p, text_span at, const char *text,
                            size_t size);
void text_lex_error(text_parser *p, text_span at, const char *id,
                    const char *message);
void text_lex_stray(text_parser *p, text_span at, unsigned char c);

/* tokens.c, for parser.y */

int text_yylex(TEXT_YYSTYPE *value, text_span *at, text_parser *p);

#endif
