/*
 * The syntax tree of the text form, before names are resolved.
 *
 * The grammar builds it, and nothing else is done while parsing: in a file any
 * item may refer to any other, so names are resolved afterwards (see
 * resolve.h).  Lists are singly linked, in source order, in one arena.
 */

#ifndef GLOW_IR_TEXT_AST_H
#define GLOW_IR_TEXT_AST_H

#include "glow/graph.h"

/* A range of bytes of the current source. */
typedef struct text_span {
    uint32_t begin, end;
} text_span;

typedef struct text_name {
    const char *text; /* unescaped; holds no NUL */
    text_span span;
} text_name;

/* A number as written; its use determines the element kind. */
typedef struct text_number {
    const char *text; /* "-12", "1.5e3", "nan(0x7fc00001)" */
    bool is_float;    /* has a point, an exponent, or is inf or nan */
    text_span span;
} text_number;

typedef struct text_value text_value;
typedef struct text_attr text_attr;

/* A list with a pointer to its end, for appending in constant time. */
#define TEXT_LIST(type)                \
    struct {                           \
        type *first;                   \
        type **last; /* NULL: empty */ \
        size_t count;                  \
    }

typedef TEXT_LIST(text_value) text_values;
typedef TEXT_LIST(text_attr) text_attrs;

struct text_value {
    glow_value_kind kind;
    text_number number;    /* INT, FLOAT, TYPED */
    text_name name;        /* WORD, SYMBOL, STRING */
    size_t size;           /* of a STRING, which may hold NULs */
    bool is_true;          /* BOOL */
    const glow_type *type; /* TYPE, TYPED; NULL: reported as wrong */
    text_values items;     /* LIST */
    text_span span;
    text_value *next;
};

struct text_attr {
    text_name name;
    text_value *value;
    text_attr *next;
};

/* `word(args)`: payloads, locations and weights formats. */
typedef struct text_call text_call;
typedef struct text_arg {
    enum { TEXT_ARG_VALUE, TEXT_ARG_CALL, TEXT_ARG_KEYED } kind;
    text_name key; /* KEYED: `sha256: "..."` */
    text_value *value;
    text_call *call;
    struct text_arg *next;
} text_arg;
typedef TEXT_LIST(text_arg) text_args;

struct text_call {
    text_name word;
    text_args args;
    text_span span;
};

/* `%n`, `@s`, `%n#Name`, `_`, `[a, b]`. */
typedef enum text_operand_kind {
    TEXT_VALUE,
    TEXT_SYMBOL,
    TEXT_BARE, /* a name without `@` or `%`: an error */
    TEXT_OMITTED,
    TEXT_GROUP,
} text_operand_kind;

typedef enum text_qualifier {
    TEXT_NO_QUALIFIER,
    TEXT_IN,
    TEXT_OUT,
    TEXT_INOUT,
} text_qualifier;

typedef struct text_operand text_operand;
typedef TEXT_LIST(text_operand) text_operands;
struct text_operand {
    text_operand_kind kind;
    text_qualifier qualifier; /* of instructions */
    text_name name;
    text_name *select;   /* after `#`, or NULL */
    text_name *label;    /* `Input: %x`, or NULL */
    text_operand *group; /* a list by `next` */
    text_span span;
    text_operand *next;
};

typedef struct text_result {
    text_name name;        /* NULL text: `: type` alone */
    const glow_type *type; /* NULL: reported as wrong */
    text_span span;        /* of the type */
    struct text_result *next;
} text_result;
typedef TEXT_LIST(text_result) text_results;

typedef struct text_place {
    text_name region;
    text_number offset;
    bool has_size;
    text_number size;
    bool is_fixed;
    text_span span;
} text_place;

typedef enum text_node_kind {
    TEXT_NODE, /* %y = Relu(%x) : float<4> */
    TEXT_INSTR,
    TEXT_ALLOC,
    TEXT_WEIGHT,
} text_node_kind;

typedef struct text_node {
    text_node_kind kind;
    text_name name;
    text_name op;
    text_operand *operands; /* a list by `next`; WEIGHT: the symbol */
    text_attr *attrs;       /* the same */
    text_operand *pred;
    text_operand *scratch;
    text_name queue; /* no text: none */
    text_result *results;
    text_name *access; /* WEIGHT: "mutable" or "constant" */
    text_place *place;
    struct text_node *next;

    /* Set while names are resolved: */
    glow_node *node; /* NULL: reported as wrong; its users are not reported */
    bool complete;   /* and all operands were found */
    bool wrong_type; /* a stated type is not the type of its result */
} text_node;
typedef TEXT_LIST(text_node) text_nodes;

typedef struct text_region {
    text_name name;
    text_attr *attrs;
    struct text_region *next;
} text_region;
typedef TEXT_LIST(text_region) text_regions;

typedef struct text_blob {
    text_name key;
    text_name encoding;
    text_number size;
    const char *text; /* in the source, without the quotes */
    size_t length;
    text_span span;
    bool used;
    struct text_blob *next;
} text_blob;
typedef TEXT_LIST(text_blob) text_blobs;

typedef struct text_location {
    text_name symbol;
    text_name value; /* NULL text: of the symbol itself */
    text_call *call;
    struct text_location *next;
} text_location;
typedef TEXT_LIST(text_location) text_locations;

/* `@image: [0.0, 1.0]`, `@main %y: [0.0, 1.0] per(3) {min: [...], ...}` */
typedef struct text_range {
    text_name symbol;
    text_operand *value; /* NULL: of the symbol itself */
    text_values ends;
    text_span span;   /* of the ends */
    text_call *per;   /* NULL: no lists */
    text_attr *lists; /* a list by `next` */
    struct text_range *next;
} text_range;
typedef TEXT_LIST(text_range) text_ranges;

typedef enum text_item_kind {
    TEXT_WEIGHTS,
    TEXT_PLACEHOLDER,
    TEXT_CONSTANT,
    TEXT_FUNCTION,
    TEXT_PROGRAM,
    TEXT_DATA,
    TEXT_LOCATIONS,
    TEXT_RANGES,
} text_item_kind;

typedef struct text_item {
    text_item_kind kind;
    text_name name; /* symbol or alias */
    const glow_type *type;
    text_attr *attrs;
    text_call *call;      /* WEIGHTS; payload, or ... */
    text_value *list;     /* ... the list of a CONSTANT */
    bool scheduled;       /* FUNCTION */
    text_nodes nodes;     /* FUNCTION; PROGRAM: `code` */
    text_nodes weights;   /* PROGRAM: `declare` */
    text_regions regions; /* PROGRAM: `memory` */
    bool has_memory, has_declare, has_code;
    text_blobs blobs;
    text_locations locations;
    text_ranges ranges;
    struct text_item *next;

    /* Set while names are resolved; NULL: reported as wrong. */
    glow_weights *file;
    glow_storage *made;
    glow_func *func;
    glow_map *nodes_by_name; /* text_node */
} text_item;
typedef TEXT_LIST(text_item) text_items;

typedef struct text_plugin {
    text_name name;
    text_number version;
    struct text_plugin *next;
} text_plugin;
typedef TEXT_LIST(text_plugin) text_plugins;

typedef struct text_file {
    bool has_header;
    text_plugins plugins;
    text_items items;
} text_file;

/*
 * Appends `item` to `list`.  A list may be copied as long as it is empty or
 * the copy alone is used afterwards.
 */
#define TEXT_APPEND(list, item)      \
    do {                             \
        if ((list).first)            \
            *(list).last = (item);   \
        else                         \
            (list).first = (item);   \
        (list).last = &(item)->next; \
        (list).count++;              \
    } while (0)

#endif
