/*
 * The grammar of the text form.
 *
 * It only builds the tree of ast.h.  After an error it resumes at the next
 * statement, section or item, whose beginnings tokens.c recognizes: a `%name`
 * before `=` is DEFINE, and the braces of sections are not those of attributes.
 * One error is reported for each statement.
 */

%define api.pure full
%define api.prefix {glow_text_yy}
%define api.location.type {text_span}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {text_parser *p}

%code requires {
#include "ir/text/parse.h"
}

%code {
#include <string.h>

#include "ir/text/tokens.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#endif

#define YYLLOC_DEFAULT(current, rhs, n)                                        \
    do {                                                                       \
        if (n) {                                                               \
            (current).begin = YYRHSLOC(rhs, 1).begin;                          \
            (current).end = YYRHSLOC(rhs, n).end;                              \
        } else {                                                               \
            (current).begin = (current).end = YYRHSLOC(rhs, 0).end;            \
        }                                                                      \
    } while (0)

#define NEW(type) GLOW_NEW(p->arena, type)

static void
glow_text_yyerror(const text_span *at, text_parser *p, const char *message)
{
    glow_text_error(p, *at, "E0104", "%s", message);
}

static text_item *
item_new(text_parser *p, text_item_kind kind, text_name name)
{
    text_item *i = NEW(text_item);

    i->kind = kind;
    i->name = name;
    return i;
}

static text_node *
node_new(text_parser *p, text_node_kind kind, text_name name, text_name op)
{
    text_node *n = NEW(text_node);

    n->kind = kind;
    n->name = name;
    n->op = op;
    glow_text_defined(p, name);
    return n;
}

static text_operand *
operand_new(text_parser *p, text_operand_kind kind, text_name name,
            text_span at)
{
    text_operand *o = NEW(text_operand);

    o->kind = kind;
    o->name = name;
    o->span = at;
    return o;
}

static text_name *
name_keep(text_parser *p, text_name name)
{
    return glow_arena_copy(p->arena, &name, sizeof name);
}

/* Checks that section `name` of a program is new and in order. */
static void
check_section(text_parser *p, bool *seen, bool is_late, text_span at,
              const char *name)
{
    if (*seen)
        glow_text_error(p, at, "E0109", "the program has two `%s` sections", name);
    else if (is_late)
        glow_text_error(p, at, "E0104",
                   "the sections of a program are, in this order, `memory`, "
                   "`declare` and `code`");
    *seen = true;
}
}

%union {
    text_name name;
    text_string string;
    text_number number;
    text_qualifier qualifier;
    text_shape shape;
    text_quant quant;
    const glow_type *type;
    text_value *value;
    text_values values;
    text_attr *attr;
    text_attrs attrs;
    text_arg *arg;
    text_args args;
    text_call *call;
    text_operand *operand;
    text_operands operands;
    text_result *result;
    text_results results;
    text_place *place;
    text_number *size;
    text_node *node;
    text_nodes nodes;
    text_region *region;
    text_regions regions;
    text_blob *blob;
    text_blobs blobs;
    text_location *location;
    text_locations locations;
    text_range *range;
    text_ranges ranges;
    text_item *item;
    bool flag;
}

%token END 0 "the end of the text"
%token <name> WORD "a word"
%token <name> SYMBOL "a symbol (@name)"
%token <name> VALUE "a value (%name)"
%token <name> DEFINE "a definition (%name =)"
%token <name> REGION "a region ($name)"
%token <name> REGION_DEFINE "a region's definition ($name =)"
%token <name> SELECT "a selector (#Name)"
%token <string> STRING "a string"
%token <number> INTEGER "an integer"
%token <number> FLOAT "a float"
%token <qualifier> QUALIFIER "@in, @out or @inout"
%token SECTION "`{`"
%token SECTION_END "`}`"
%token GIR "`gir`"
%token WEIGHTS "`weights`"
%token PLACEHOLDER "`placeholder`"
%token CONSTANT "`constant`"
%token FUNCTION "`function`"
%token PROGRAM "`program`"
%token DATA "`data`"
%token LOCATIONS "`locations`"
%token RANGES "`ranges`"
%token SCHEDULED "`scheduled`"
%token ATTRIBUTES "`attributes`"
%token MEMORY "`memory`"
%token DECLARE "`declare`"
%token CODE "`code`"
%token <name> PRED "`pred`"
%token <name> SCRATCH "`scratch`"
%token <name> QUEUE "`queue`"
%token <name> AT "`at`"
%token <name> SIZE "`size`"
%token <name> FIXED "`fixed`"
%token <name> ALLOC "`alloc`"
%token <name> WEIGHT "`weight`"

%type <flag> opt_scheduled opt_fixed
%type <size> opt_size
%type <name> key op define region_define
%type <number> number
%type <type> type
%type <shape> shape
%type <quant> opt_quant
%type <values> opt_strides list values
%type <value> value atom
%type <attr> attr
%type <attrs> attrs opt_attrs opt_function_attrs attr_list
%type <call> call
%type <arg> arg
%type <args> args
%type <operand> ref operand bare_operand instr_operand opt_pred opt_scratch
%type <name> opt_queue
%type <operands> operands operand_list instr_operands
%type <result> result
%type <results> opt_results results
%type <place> opt_place
%type <node> node weight instr
%type <nodes> nodes weights instrs
%type <region> region
%type <regions> regions
%type <blob> blob
%type <blobs> blobs
%type <location> location
%type <locations> locations
%type <range> range range_of
%type <ranges> ranges
%type <item> item sections

%%

file
    : items
    ;

plugins
    : %empty
    | plugins STRING INTEGER
        {
            text_plugin *g = NEW(text_plugin);

            g->name = glow_text_name_of(p, $2);
            g->version = $3;
            TEXT_APPEND(p->file.plugins, g);
        }
    ;

items
    : %empty
    | items header
    | items item { TEXT_APPEND(p->file.items, $2); }
    | items error
    ;

header
    : GIR INTEGER plugins
        {
            if (strcmp($2.text, "1") != 0)
                glow_text_error(p, $2.span, "E0106",
                           "the file has version %s of the text form, but "
                           "this tool reads version 1",
                           $2.text);
            if (p->file.items.first || p->file.has_header)
                glow_text_error(p, @1, "E0104",
                           "`gir` stands at the beginning of the text, once");
            p->file.has_header = true;
        }
    ;

item
    : begin_weights STRING '=' call
        {
            $$ = item_new(p, TEXT_WEIGHTS, glow_text_name_of(p, $2));
            $$->call = $4;
        }
    | begin_placeholder SYMBOL ':' type opt_attrs
        {
            $$ = item_new(p, TEXT_PLACEHOLDER, $2);
            $$->type = $4;
            $$->attrs = $5.first;
        }
    | begin_constant SYMBOL ':' type opt_attrs '=' call
        {
            $$ = item_new(p, TEXT_CONSTANT, $2);
            $$->type = $4;
            $$->attrs = $5.first;
            $$->call = $7;
        }
    | begin_constant SYMBOL ':' type opt_attrs '=' list
        {
            $$ = item_new(p, TEXT_CONSTANT, $2);
            $$->type = $4;
            $$->attrs = $5.first;
            $$->list = glow_text_value_new(p, GLOW_V_LIST, @7);
            $$->list->items = $7;
        }
    | begin_function SYMBOL opt_scheduled opt_function_attrs
      SECTION nodes SECTION_END
        {
            $$ = item_new(p, TEXT_FUNCTION, $2);
            $$->scheduled = $3;
            $$->attrs = $4.first;
            $$->nodes = $6;
        }
    | begin_program SYMBOL opt_function_attrs SECTION sections SECTION_END
        {
            $$ = $5;
            $$->name = $2;
            $$->attrs = $3.first;
        }
    | begin_data SECTION blobs SECTION_END
        {
            $$ = item_new(p, TEXT_DATA, (text_name){0});
            $$->blobs = $3;
        }
    | begin_locations SECTION locations SECTION_END
        {
            $$ = item_new(p, TEXT_LOCATIONS, (text_name){0});
            $$->locations = $3;
        }
    | begin_ranges SECTION ranges SECTION_END
        {
            $$ = item_new(p, TEXT_RANGES, (text_name){0});
            $$->ranges = $3;
        }
    ;

opt_scheduled
    : %empty { $$ = false; }
    | SCHEDULED { $$ = true; }
    ;

opt_function_attrs
    : %empty { $$ = (text_attrs){0}; }
    | ATTRIBUTES attrs { $$ = $2; }
    ;

/* The beginning of an item or statement ends error recovery. */

begin_weights : WEIGHTS { yyerrok; } ;
begin_placeholder : PLACEHOLDER { yyerrok; } ;
begin_constant : CONSTANT { yyerrok; } ;
begin_function : FUNCTION { yyerrok; } ;
begin_program : PROGRAM { yyerrok; } ;
begin_data : DATA { yyerrok; } ;
begin_locations : LOCATIONS { yyerrok; } ;
begin_ranges : RANGES { yyerrok; } ;
define : DEFINE { $$ = $1; yyerrok; } ;
region_define : REGION_DEFINE { $$ = $1; yyerrok; } ;

/* Types. */

type
    : WORD opt_quant '<' shape opt_strides '>'
        { $$ = glow_text_type_of(p, @$, $1, $2, $4, &$5); }
    ;

opt_quant
    : %empty { $$ = (text_quant){{0}, {0}}; }
    | '[' WORD ':' number WORD ':' INTEGER ']'
        {
            glow_text_expect_word(p, $2, "S");
            glow_text_expect_word(p, $5, "O");
            $$ = (text_quant){$4, $7};
        }
    ;

number
    : INTEGER { $$ = $1; }
    | FLOAT { $$ = $1; }
    ;

shape
    : %empty { $$ = (text_shape){.bad = false}; }
    | shape INTEGER { $$ = $1; glow_text_shape_int(p, &$$, $2); }
    | shape WORD { $$ = $1; glow_text_shape_word(p, &$$, $2); }
    | shape '?'
        {
            $$ = $1;
            if (!$$.bad)
                glow_text_error(p, @2, "E0131",
                           "`?` is reserved: sizes are known numbers");
            $$.bad = true;
        }
    ;

opt_strides
    : %empty { $$ = (text_values){0}; }
    | ',' WORD ':' list { glow_text_expect_word(p, $2, "strides"); $$ = $4; }
    ;

/* Attributes and their values. */

opt_attrs
    : %empty { $$ = (text_attrs){0}; }
    | attrs
    ;

attrs
    : '{' '}' { $$ = (text_attrs){0}; }
    | '{' attr_list '}' { $$ = $2; }
    ;

attr_list
    : attr { $$ = (text_attrs){0}; TEXT_APPEND($$, $1); }
    | attr_list ',' attr { $$ = $1; TEXT_APPEND($$, $3); }
    ;

attr
    : key ':' value
        {
            $$ = NEW(text_attr);
            $$->name = $1;
            $$->value = $3;
        }
    ;

key
    : WORD
    | STRING { $$ = glow_text_name_of(p, $1); }
    | INTEGER { $$ = (text_name){$1.text, $1.span}; }
    ;

value
    : atom
    | WORD
        {
            bool is_true = strcmp($1.text, "true") == 0;
            bool is_bool = is_true || strcmp($1.text, "false") == 0;

            $$ = glow_text_value_new(p, is_bool ? GLOW_V_BOOL : GLOW_V_WORD, @$);
            $$->name = $1;
            $$->is_true = is_true;
        }
    ;

/* Values that cannot be mistaken for the beginning of a call. */
atom
    : INTEGER
        {
            $$ = glow_text_value_new(p, GLOW_V_INT, @$);
            $$->number = $1;
        }
    | FLOAT
        {
            $$ = glow_text_value_new(p, GLOW_V_FLOAT, @$);
            $$->number = $1;
        }
    | number ':' type
        {
            $$ = glow_text_value_new(p, GLOW_V_TYPED, @$);
            $$->number = $1;
            $$->type = $3;
        }
    | STRING
        {
            $$ = glow_text_value_new(p, GLOW_V_STRING, @$);
            $$->name = (text_name){$1.text, $1.span};
            $$->size = $1.size;
        }
    | SYMBOL
        {
            $$ = glow_text_value_new(p, GLOW_V_SYMBOL, @$);
            $$->name = $1;
        }
    | type
        {
            $$ = glow_text_value_new(p, GLOW_V_TYPE, @$);
            $$->type = $1;
        }
    | list
        {
            $$ = glow_text_value_new(p, GLOW_V_LIST, @$);
            $$->items = $1;
        }
    ;

list
    : '[' ']' { $$ = (text_values){0}; }
    | '[' values ']' { $$ = $2; }
    ;

values
    : value { $$ = (text_values){0}; TEXT_APPEND($$, $1); }
    | values ',' value { $$ = $1; TEXT_APPEND($$, $3); }
    ;

/* `word(args)` */

call
    : WORD '(' ')'
        {
            $$ = NEW(text_call);
            $$->word = $1;
            $$->span = @$;
        }
    | WORD '(' args ')'
        {
            $$ = NEW(text_call);
            $$->word = $1;
            $$->args = $3;
            $$->span = @$;
        }
    ;

args
    : arg { $$ = (text_args){0}; TEXT_APPEND($$, $1); }
    | args ',' arg { $$ = $1; TEXT_APPEND($$, $3); }
    ;

arg
    : value { $$ = glow_text_arg_new(p, $1); }
    | WORD ':' value
        {
            $$ = glow_text_arg_new(p, $3);
            $$->kind = TEXT_ARG_KEYED;
            $$->key = $1;
        }
    | call
        {
            $$ = NEW(text_arg);
            $$->kind = TEXT_ARG_CALL;
            $$->call = $1;
        }
    ;

/* Nodes. */

nodes
    : %empty { $$ = (text_nodes){0}; }
    | nodes node { $$ = $1; TEXT_APPEND($$, $2); }
    | nodes error { $$ = $1; }
    ;

node
    : define '=' op operands opt_attrs opt_pred opt_results
        {
            $$ = node_new(p, TEXT_NODE, $1, $3);
            $$->operands = $4.first;
            $$->attrs = $5.first;
            $$->pred = $6;
            $$->results = $7.first;
        }
    ;

op
    : WORD
    | SIZE
    | FIXED
    | AT
    | WEIGHT
    ;

operands
    : '(' ')' { $$ = (text_operands){0}; }
    | '(' operand_list ')' { $$ = $2; }
    ;

operand_list
    : operand { $$ = (text_operands){0}; TEXT_APPEND($$, $1); }
    | operand_list ',' operand { $$ = $1; TEXT_APPEND($$, $3); }
    ;

operand
    : bare_operand
    | WORD ':' bare_operand { $$ = $3; $$->label = name_keep(p, $1); }
    ;

bare_operand
    : ref
    | '_' { $$ = operand_new(p, TEXT_OMITTED, (text_name){0}, @$); }
    | '[' ']' { $$ = operand_new(p, TEXT_GROUP, (text_name){0}, @$); }
    | '[' operand_list ']'
        {
            $$ = operand_new(p, TEXT_GROUP, (text_name){0}, @$);
            $$->group = $2.first;
        }
    ;

ref
    : SYMBOL { $$ = operand_new(p, TEXT_SYMBOL, $1, @$); }
    | WORD { $$ = operand_new(p, TEXT_BARE, $1, @$); }
    | VALUE { $$ = operand_new(p, TEXT_VALUE, $1, @$); }
    | VALUE SELECT
        {
            $$ = operand_new(p, TEXT_VALUE, $1, @$);
            $$->select = name_keep(p, $2);
        }
    ;

opt_pred
    : %empty { $$ = NULL; }
    | PRED '(' ref ')' { $$ = $3; }
    ;

opt_results
    : %empty { $$ = (text_results){0}; }
    | ':' type
        {
            text_result *r = NEW(text_result);

            r->type = $2;
            r->span = @2;
            $$ = (text_results){0};
            TEXT_APPEND($$, r);
        }
    | ':' '(' results ')' { $$ = $3; }
    ;

results
    : result { $$ = (text_results){0}; TEXT_APPEND($$, $1); }
    | results ',' result { $$ = $1; TEXT_APPEND($$, $3); }
    ;

result
    : key ':' type
        {
            $$ = NEW(text_result);
            $$->name = $1;
            $$->type = $3;
            $$->span = @3;
        }
    ;

/* Programs. */

sections
    : %empty { $$ = item_new(p, TEXT_PROGRAM, (text_name){0}); }
    | sections MEMORY SECTION regions SECTION_END
        {
            $$ = $1;
            check_section(p, &$$->has_memory, $$->has_declare || $$->has_code,
                          @2, "memory");
            $$->regions = $4;
        }
    | sections DECLARE SECTION weights SECTION_END
        {
            $$ = $1;
            check_section(p, &$$->has_declare, $$->has_code, @2, "declare");
            $$->weights = $4;
        }
    | sections CODE SECTION instrs SECTION_END
        {
            $$ = $1;
            check_section(p, &$$->has_code, false, @2, "code");
            $$->nodes = $4;
        }
    | sections error { $$ = $1; }
    ;

regions
    : %empty { $$ = (text_regions){0}; }
    | regions region { $$ = $1; TEXT_APPEND($$, $2); }
    | regions error { $$ = $1; }
    ;

region
    : region_define '=' WORD attrs
        {
            glow_text_expect_word(p, $3, "region");
            $$ = NEW(text_region);
            $$->name = $1;
            $$->attrs = $4.first;
        }
    ;

weights
    : %empty { $$ = (text_nodes){0}; }
    | weights weight { $$ = $1; TEXT_APPEND($$, $2); }
    | weights error { $$ = $1; }
    ;

weight
    : define '=' WEIGHT type SYMBOL WORD opt_attrs opt_place
        {
            text_result *r = NEW(text_result);

            r->type = $4;
            $$ = node_new(p, TEXT_WEIGHT, $1, $3);
            $$->results = r;
            $$->operands = operand_new(p, TEXT_SYMBOL, $5, @5);
            $$->access = name_keep(p, $6);
            $$->attrs = $7.first;
            $$->place = $8;
        }
    ;

instrs
    : %empty { $$ = (text_nodes){0}; }
    | instrs instr { $$ = $1; TEXT_APPEND($$, $2); }
    | instrs error { $$ = $1; }
    ;

instr
    : define '=' ALLOC type opt_attrs opt_place
        {
            text_result *r = NEW(text_result);

            r->type = $4;
            $$ = node_new(p, TEXT_ALLOC, $1, $3);
            $$->results = r;
            $$->attrs = $5.first;
            $$->place = $6;
        }
    | define '=' op instr_operands opt_attrs opt_pred opt_scratch opt_queue
      opt_results
        {
            $$ = node_new(p, TEXT_INSTR, $1, $3);
            $$->operands = $4.first;
            $$->attrs = $5.first;
            $$->pred = $6;
            $$->scratch = $7;
            $$->queue = $8;
            $$->results = $9.first;
        }
    ;

opt_scratch
    : %empty { $$ = NULL; }
    | SCRATCH '(' ref ')' { $$ = $3; }
    ;

opt_queue
    : %empty { $$ = (text_name){0}; }
    | QUEUE '(' STRING ')' { $$ = glow_text_name_of(p, $3); }
    ;

instr_operands
    : %empty { $$ = (text_operands){0}; }
    | instr_operand { $$ = (text_operands){0}; TEXT_APPEND($$, $1); }
    | instr_operands ',' instr_operand { $$ = $1; TEXT_APPEND($$, $3); }
    ;

instr_operand
    : QUALIFIER ref { $$ = $2; $$->qualifier = $1; }
    | QUALIFIER '_'
        {
            $$ = operand_new(p, TEXT_OMITTED, (text_name){0}, @$);
            $$->qualifier = $1;
        }
    ;

opt_place
    : %empty { $$ = NULL; }
    | AT REGION '+' INTEGER opt_size opt_fixed
        {
            $$ = NEW(text_place);
            $$->region = $2;
            $$->offset = $4;
            $$->has_size = $5 != NULL;
            if ($5)
                $$->size = *$5;
            $$->is_fixed = $6;
            $$->span = @$;
        }
    ;

opt_size
    : %empty { $$ = NULL; }
    | SIZE INTEGER
        {
            $$ = NEW(text_number);
            *$$ = $2;
        }
    ;

opt_fixed
    : %empty { $$ = false; }
    | FIXED { $$ = true; }
    ;

/* The sections at the end of a file. */

blobs
    : %empty { $$ = (text_blobs){0}; }
    | blobs blob { $$ = $1; TEXT_APPEND($$, $2); }
    | blobs error { $$ = $1; }
    ;

blob
    : key ':' WORD '<' INTEGER '>' STRING
        {
            $$ = NEW(text_blob);
            $$->key = $1;
            $$->encoding = $3;
            $$->size = $5;
            $$->text = $7.text;
            $$->length = $7.size;
            $$->span = @$;
        }
    ;

locations
    : %empty { $$ = (text_locations){0}; }
    | locations location { $$ = $1; TEXT_APPEND($$, $2); }
    | locations error { $$ = $1; }
    ;

location
    : SYMBOL ':' call
        {
            $$ = NEW(text_location);
            $$->symbol = $1;
            $$->call = $3;
        }
    | SYMBOL VALUE ':' call
        {
            $$ = NEW(text_location);
            $$->symbol = $1;
            $$->value = $2;
            $$->call = $4;
        }
    ;

ranges
    : %empty { $$ = (text_ranges){0}; }
    | ranges range { $$ = $1; TEXT_APPEND($$, $2); }
    | ranges error { $$ = $1; }
    ;

range
    : range_of ':' list
        {
            $$ = $1;
            $$->ends = $3;
            $$->span = @3;
        }
    | range_of ':' list call attrs
        {
            $$ = $1;
            $$->ends = $3;
            $$->span = @3;
            $$->per = $4;
            $$->lists = $5.first;
        }
    ;

range_of
    : SYMBOL
        {
            $$ = NEW(text_range);
            $$->symbol = $1;
        }
    | SYMBOL VALUE
        {
            $$ = NEW(text_range);
            $$->symbol = $1;
            $$->value = operand_new(p, TEXT_VALUE, $2, @2);
        }
    | SYMBOL VALUE SELECT
        {
            $$ = NEW(text_range);
            $$->symbol = $1;
            $$->value = operand_new(p, TEXT_VALUE, $2, @2);
            $$->value->select = name_keep(p, $3);
        }
    ;

%%

/* True if a type begins here, and only `:` is missing before it. */
static bool
misses_colon(text_parser *p, const yysymbol_kind_t *expected, int count,
             yysymbol_kind_t found, const text_span *at)
{
    bool colon = false;

    for (int i = 0; i < count; i++)
        colon |= strcmp(yysymbol_name(expected[i]), "':'") == 0;
    return colon && found == YYSYMBOL_WORD &&
           glow_text_is_type_word(
               glow_arena_strndup(p->arena, p->source->text + at->begin,
                                  at->end - at->begin));
}

/* "expected `,` or `)`, found a word" */
static int
yyreport_syntax_error(const yypcontext_t *ctx, text_parser *p)
{
    enum { MOST = 5 };
    yysymbol_kind_t expected[MOST];
    yysymbol_kind_t found = yypcontext_token(ctx);
    const text_span *at = yypcontext_location(ctx);
    int count = yypcontext_expected_tokens(ctx, expected, MOST);
    glow_buf b = {.arena = p->arena};

    if (p->reported == p->statements)
        return 0;
    p->reported = p->statements;
    if (misses_colon(p, expected, count, found, at)) {
        glow_text_error_hint(p, *at, "E0104", "write `:` before it",
                        "a type stands after a `:`, which is missing here");
        return 0;
    }
    /* count is 0 if more than MOST tokens are expected. */
    if (count > 0)
        glow_buf_puts(&b, "expected ");
    for (int i = 0; i < count; i++) {
        const char *name = yysymbol_name(expected[i]);

        if (i > 0)
            glow_buf_puts(&b, i + 1 < count ? ", " : " or ");
        glow_buf_printf(&b, name[0] == '\'' ? "`%.1s`" : "%s",
                        name[0] == '\'' ? name + 1 : name);
    }
    if (count > 0)
        glow_buf_puts(&b, ", ");
    glow_buf_puts(&b, "found ");
    if (found == YYSYMBOL_YYEMPTY || found == YYSYMBOL_YYEOF)
        glow_buf_puts(&b, "the end of the text");
    else
        glow_buf_printf(&b, "`%.*s`",
                        (int)(at->end - at->begin < 40 ? at->end - at->begin
                                                       : 40),
                        p->source->text + at->begin);
    glow_text_error(p, *at, "E0104", "%s", b.text);
    return 0;
}

void
glow_text_parse(text_parser *p)
{
    if (glow_text_lex_begin(p))
        glow_text_yyparse(p);
}
