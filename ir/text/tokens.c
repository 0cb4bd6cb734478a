/*
 * The layer between lexer and grammar, which knows the context of a word.
 *
 * Three decisions are made here, so that the grammar needs no context and can
 * resynchronize after an error:
 *
 * - which words are keywords: those of items outside of all brackets, those of
 *   statements between statements. Everywhere else they are plain words.
 * - which braces enclose a section, and which enclose attributes. - where a
 * statement begins: `%name` before `=`, which stands nowhere else.
 *   Brackets that are open there were left open by mistake.
 *
 * A section that is still open where an item begins is reported and closed.
 */

#include <inttypes.h>
#include <string.h>

#include "ir/text/tokens.h"

/* Reports. */

glow_span
glow_text_at(const text_parser *p, text_span s)
{
    return (glow_span){p->source, s.begin, s.end};
}

static void
report(text_parser *p, const glow_diag *d)
{
    if (p->errors >= TEXT_MAX_ERRORS)
        return;
    glow_report(p->ctx, d);
    if (++p->errors == TEXT_MAX_ERRORS) {
        glow_report(p->ctx, &(glow_diag){.severity = GLOW_NOTE,
                                         .message = "too many errors: the "
                                                    "rest is not looked at"});
        p->ended = true;
    }
}

void
glow_text_error(text_parser *p, text_span at, const char *id, const char *fmt,
                ...)
{
    va_list ap;

    va_start(ap, fmt);
    report(p, &(glow_diag){.id = id,
                           .message = glow_arena_vprintf(p->arena, fmt, ap),
                           .span = glow_text_at(p, at)});
    va_end(ap);
}

void
glow_text_error_hint(text_parser *p, text_span at, const char *id,
                     const char *hint, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    report(p, &(glow_diag){.id = id,
                           .message = glow_arena_vprintf(p->arena, fmt, ap),
                           .span = glow_text_at(p, at),
                           .hint = hint});
    va_end(ap);
}

void
glow_text_error_note(text_parser *p, text_span at, const char *id,
                     text_span before, const char *note, const char *fmt, ...)
{
    glow_diag n = {.severity = GLOW_NOTE,
                   .message = note,
                   .span = glow_text_at(p, before)};
    va_list ap;

    va_start(ap, fmt);
    report(p, &(glow_diag){.id = id,
                           .message = glow_arena_vprintf(p->arena, fmt, ap),
                           .span = glow_text_at(p, at),
                           .notes = &n});
    va_end(ap);
}

const char *
glow_text_suggest(text_parser *p, const char *wrong, const char *const *names,
                  size_t count)
{
    const char *near = glow_did_you_mean(wrong, names, count);

    return near ? glow_arena_printf(p->arena, "did you mean `%s`?", near)
                : NULL;
}

/* Actions of lexer.l. */

void
glow_text_lex_error(text_parser *p, text_span at, const char *id,
                    const char *message)
{
    glow_text_error(p, at, id, "%s", message);
    p->reported = p->statements;
}

/* Consecutive stray bytes are one error. */
void
glow_text_lex_stray(text_parser *p, text_span at, unsigned char c)
{
    bool goes_on = p->last_stray == at.begin && at.begin > 0;

    p->last_stray = at.end;
    p->reported = p->statements;
    if (goes_on)
        return;
    if (c > 0x20 && c < 0x7f)
        glow_text_error(p, at, "E0101", "`%c` begins no word of the language",
                        c);
    else
        glow_text_error(p, at, "E0101",
                        "the byte 0x%02x begins no word of the language", c);
}

static int
hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Unescapes `text`, in quotes; the escapes are \" \\ \n \xHH. */
text_string
glow_text_lex_string(text_parser *p, text_span at, const char *text,
                     size_t size)
{
    char *out = glow_arena_alloc(p->arena, size);
    size_t n = 0;

    for (size_t i = 1; i + 1 < size; i++) {
        char c = text[i];

        if (c != '\\') {
            out[n++] = c;
            continue;
        }
        c = text[++i];
        if (c == '"' || c == '\\') {
            out[n++] = c;
        } else if (c == 'n') {
            out[n++] = '\n';
        } else if (c == 'x' && i + 3 < size && hex_digit(text[i + 1]) >= 0 &&
                   hex_digit(text[i + 2]) >= 0) {
            out[n++] =
                (char)(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
            i += 2;
        } else {
            uint32_t begin = at.begin + (uint32_t)i - 1;

            glow_text_lex_error(p, (text_span){begin, begin + 2}, "E0102",
                                "strings know the escapes \\\" \\\\ \\n \\xHH "
                                "alone");
        }
    }
    out[n] = '\0';
    return (text_string){out, n, at};
}

text_name
glow_text_lex_name(text_parser *p, text_span at, const char *text, size_t size,
                   size_t skip)
{
    if (size > skip && text[skip] == '"') {
        text_string s = glow_text_lex_string(p, at, text + skip, size - skip);

        s.span = at;
        return glow_text_name_of(p, s);
    }
    return (text_name){glow_arena_strndup(p->arena, text + skip, size - skip),
                       at};
}

text_number
glow_text_lex_number(text_parser *p, text_span at, const char *text,
                     size_t size, bool is_float)
{
    return (text_number){glow_arena_strndup(p->arena, text, size), is_float,
                         at};
}

/* Context. */

static const struct {
    const char *text;
    char within; /* 0: outside of all brackets; P, S: see push */
    int token;
} keywords[] = {
    {"gir", 0, GIR},
    {"weights", 0, WEIGHTS},
    {"placeholder", 0, PLACEHOLDER},
    {"constant", 0, CONSTANT},
    {"function", 0, FUNCTION},
    {"program", 0, PROGRAM},
    {"data", 0, DATA},
    {"locations", 0, LOCATIONS},
    {"ranges", 0, RANGES},
    {"scheduled", 0, SCHEDULED},
    {"attributes", 0, ATTRIBUTES},
    {"memory", 'P', MEMORY},
    {"declare", 'P', DECLARE},
    {"code", 'P', CODE},
    {"pred", 'S', PRED},
    {"scratch", 'S', SCRATCH},
    {"queue", 'S', QUEUE},
    {"at", 'S', AT},
    {"size", 'S', SIZE},
    {"fixed", 'S', FIXED},
    {"alloc", 'S', ALLOC},
    {"weight", 'S', WEIGHT},
};

static bool
begins_item(int token)
{
    return token == WEIGHTS || token == PLACEHOLDER || token == CONSTANT ||
           token == FUNCTION || token == PROGRAM || token == DATA ||
           token == LOCATIONS || token == RANGES;
}

static char
top(const text_parser *p)
{
    return p->depth > 0 ? p->open[p->depth - 1] : 0;
}

static bool
is_section(char open)
{
    return open == 'S' || open == 'P';
}

/* The next byte behind blanks and comments; '\0' at the end. */
static char
peek(const text_parser *p)
{
    const char *s = p->source->text + p->at;
    const char *end = p->source->text + p->source->size;

    for (; s < end; s++) {
        if (s + 1 < end && s[0] == '/' && s[1] == '/') {
            while (s + 1 < end && s[1] != '\n')
                s++;
        } else if (*s != ' ' && *s != '\t' && *s != '\r' && *s != '\n') {
            return *s;
        }
    }
    return '\0';
}

/* Opens a bracket: ( [ {, a section S, or the body of a program P. */
static bool
push(text_parser *p, char open, text_span at)
{
    if (p->depth == TEXT_MAX_NESTING) {
        glow_text_lex_error(p, at, "E0105", "brackets nest more than 256 deep");
        p->ended = true;
        return false;
    }
    p->open_at[p->depth] = at;
    p->open[p->depth++] = open;
    return true;
}

/* Pops brackets that were left open within the current section. */
static void
pop_to_section(text_parser *p)
{
    int depth = p->depth;

    while (depth > 0 && !is_section(p->open[depth - 1]))
        depth--;
    if (depth > 0 || !is_section(top(p)))
        p->depth = depth;
}

static int
open_brace(text_parser *p, text_span at)
{
    int before = p->previous;
    bool is_body = before == MEMORY || before == DECLARE || before == CODE;

    if (p->depth == 0)
        is_body = ((p->item == FUNCTION || p->item == PROGRAM) &&
                   before != ATTRIBUTES) ||
                  p->item == DATA || p->item == LOCATIONS || p->item == RANGES;
    if (!is_body)
        return push(p, '{', at) ? '{' : END;
    bool is_program = p->depth == 0 && p->item == PROGRAM;
    return push(p, is_program ? 'P' : 'S', at) ? SECTION : END;
}

static int
close_brace(text_parser *p)
{
    for (int d = p->depth; d > 0; d--) {
        char open = p->open[d - 1];

        if (open != '{' && !is_section(open))
            continue;
        p->depth = d - 1;
        if (open == '{')
            return '}';
        p->statements++;
        return SECTION_END;
    }
    return '}';
}

static int
close_other(text_parser *p, char open, int token)
{
    if (top(p) == open)
        p->depth--;
    return token;
}

static int
keyword(text_parser *p, text_name name)
{
    char within = top(p);
    char next;
    int token = WORD;
    bool is_item;

    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(name.text, keywords[i].text) == 0) {
            if (keywords[i].within == within)
                token = keywords[i].token;
            else if (keywords[i].within == 0 && begins_item(keywords[i].token))
                token = -keywords[i].token;
        }
    if (token == WORD)
        return WORD;
    is_item = begins_item(token);
    if (token < 0) {
        /* Within brackets these are plain words, except before a symbol. */
        token = -token;
        next = peek(p);
        is_item = next == '@' && token != WEIGHTS;
        if (!is_item)
            return WORD;
    }
    if (is_item)
        p->statements++;
    return token;
}

/* Closes the innermost open section; false if there is none. */
static bool
close_section(text_parser *p)
{
    while (p->depth > 0)
        if (is_section(p->open[--p->depth]))
            return true;
    return false;
}

/* Reports a section that is open at the beginning of an item or at the end. */
static void
report_open(text_parser *p, text_span at, int token)
{
    int d = p->depth;

    while (d > 0 && !is_section(p->open[d - 1]))
        d--;
    if (d == 0)
        return; /* for instance a list: the grammar will report it */
    glow_text_error_note(p, at, "E0107", p->open_at[d - 1], "opened here",
                         "`{` is not closed before the %s",
                         token == END ? "end of the text" : "next item");
    p->reported = p->statements;
}

/* Definitions. */

/*
 * A statement is known to be complete one definition later, when the grammar
 * has seen its end; if it is not complete by the second, it never is.
 */
static void
begin_definition(text_parser *p, text_name name)
{
    if (p->defining[1].text)
        glow_map_set(p->broken, p->defining[1].text, p);
    p->defining[1] = p->defining[0];
    p->defining[0] = name;
}

void
glow_text_defined(text_parser *p, text_name name)
{
    for (int i = 0; i < 2; i++)
        if (p->defining[i].text == name.text)
            p->defining[i].text = NULL;
}

static void
note_symbol(text_parser *p, text_name name)
{
    int before = p->previous;

    if (before == PLACEHOLDER || before == CONSTANT || before == FUNCTION ||
        before == PROGRAM)
        glow_map_set(p->symbols, name.text, p);
}

static int
classify(text_parser *p, int token, GLOW_TEXT_YYSTYPE *value, text_span at)
{
    switch (token) {
    case WORD:
        p->statements += p->item == DATA && top(p) == 'S' && peek(p) == ':';
        return keyword(p, value->name);
    case SYMBOL:
        note_symbol(p, value->name);
        p->statements +=
            (p->item == LOCATIONS || p->item == RANGES) && top(p) == 'S';
        return token;
    case VALUE:
    case REGION:
        if (peek(p) != '=' || p->depth == 0)
            return token;
        pop_to_section(p);
        p->statements++;
        if (token == REGION)
            return REGION_DEFINE;
        begin_definition(p, value->name);
        return DEFINE;
    case '(':
    case '[':
        return push(p, (char)token, at) ? token : END;
    case '{':
        return open_brace(p, at);
    case ')':
        return close_other(p, '(', token);
    case ']':
        return close_other(p, '[', token);
    case '}':
        return close_brace(p);
    default:
        return token;
    }
}

int
glow_text_yylex(GLOW_TEXT_YYSTYPE *value, text_span *at, text_parser *p)
{
    int token;

    if (p->ended)
        return END;
    if (!p->holding) {
        token = glow_text_raw_lex(value, at, p->scanner);
        if (token == END)
            at->begin = at->end = (uint32_t)p->source->size;
        else
            token = classify(p, token, value, *at);
        if (p->ended)
            return END;
        p->holding = (token == END || begins_item(token)) && p->depth > 0;
        if (p->holding) {
            report_open(p, *at, token);
            p->held = token;
            p->held_at = *at;
        }
    }
    if (p->holding) {
        *at = p->held_at;
        token = p->held;
        if (close_section(p))
            return p->previous = SECTION_END;
        p->holding = false;
    }
    if (token == END) {
        p->ended = true;
        begin_definition(p, (text_name){0});
        begin_definition(p, (text_name){0});
    }
    if (begins_item(token))
        p->item = token;
    return p->previous = token;
}
