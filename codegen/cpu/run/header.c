/*
 * The header of a bundle in C: the function, sizes of regions, and the place, shape and
 * element kind of each placeholder.
 */

#include "codegen/cpu/run/header.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cpu/run/module.h"
#include "codegen/cpu/run/spaces.h"
#include "glow/state.h"

/*
 * Keywords of C23 and C++23 in the order of strcmp; identifiers such as `_Bool`
 * are reserved.
 */
static const char *const keywords[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
};

static int
compare_keyword(const void *name, const void *keyword)
{
    return strcmp(name, *(const char *const *)keyword);
}

const char *
glow_cpu_c_name(glow_arena *a, const char *name)
{
    bool is_keyword =
        bsearch(name, keywords, sizeof keywords / sizeof *keywords,
                sizeof *keywords, compare_keyword) != NULL;
    char *c = glow_arena_printf(a, "%s%s%s",
                                isdigit((unsigned char)name[0]) ? "_" : "",
                                name, is_keyword ? "_" : "");

    for (char *p = c; *p; p++)
        if (!isalnum((unsigned char)*p))
            *p = '_';
    return c[0] ? c : "_";
}

const char *
glow_cpu_macro_prefix(glow_arena *a, const char *name)
{
    char *u = glow_arena_strdup(a, name);

    for (char *p = u; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return u;
}

/* The macro name of a placeholder; a number makes it unique. */
static const char *
macro_name(glow_arena *a, glow_map *used, const char *name)
{
    const char *base = glow_cpu_macro_prefix(a, glow_cpu_c_name(a, name)),
               *macro = base;

    for (int n = 2; glow_map_get(used, macro); n++)
        macro = glow_arena_printf(a, "%s_%d", base, n);
    glow_map_set(used, macro, used);
    return macro;
}

/* The C type of an element, or of the bytes that hold it. */
static const char *
c_type(glow_kind kind)
{
    switch (kind) {
    case GLOW_FLOAT:
        return "float";
    case GLOW_FLOAT64:
        return "double";
    case GLOW_INT8Q:
    case GLOW_INT8:
        return "int8_t";
    case GLOW_INT16Q:
    case GLOW_INT16:
        return "int16_t";
    case GLOW_INT32Q:
    case GLOW_INDEX32:
        return "int32_t";
    case GLOW_INT64Q:
    case GLOW_INDEX64:
        return "int64_t";
    case GLOW_FLOAT16:
    case GLOW_BFLOAT16:
    case GLOW_UINT16:
        return "uint16_t";
    case GLOW_UINT32:
        return "uint32_t";
    case GLOW_UINT64:
        return "uint64_t";
    default:
        return "uint8_t";
    }
}

static void
add_shape(glow_buf *b, const char *prefix, const char *name, const glow_type *t)
{
    glow_buf_printf(b,
                    "#define %s_%s_TYPE %s\n#define %s_%s_KIND \"%s\"\n"
                    "#define %s_%s_COUNT %" PRId64 "\n#define %s_%s_RANK %d\n",
                    prefix, name, c_type(t->elem), prefix, name,
                    glow_kind_get(t->elem)->name, prefix, name,
                    glow_type_count(t), prefix, name, t->shape.rank);
    if (t->shape.rank == 0)
        return;
    glow_buf_printf(b, "#define %s_%s_SHAPE {", prefix, name);
    for (int i = 0; i < t->shape.rank; i++)
        glow_buf_printf(b, "%s%" PRId64, i ? ", " : "", t->shape.at[i]);
    glow_buf_puts(b, "}\n");
}

/* Scale and offset of quantized elements: real = scale * (element - offset). */
static void
add_parameters(glow_buf *b, const char *prefix, const char *name,
               const glow_type *t)
{
    if (!glow_is_quantized(t->elem))
        return;
    glow_buf_printf(b, "#define %s_%s_SCALE ", prefix, name);
    glow_buf_float(b, t->scale);
    glow_buf_printf(b, "f\n#define %s_%s_ZERO_POINT %" PRId32 "\n", prefix,
                    name, t->offset);
}

bool
glow_cpu_is_state(const cpu_binding *b)
{
    return glow_is_state(b->storage) || glow_is_trained(b->storage);
}

/* The parameter of the function that points to the memory of `at`. */
static const char *
memory_name(const cpu_plan *p, cpu_base base, cpu_location at)
{
    return at.space >= 0             ? p->spaces[at.space].name
           : base == CPU_ACTIVATIONS ? "activations"
                                     : "placeholders";
}

/* The places of state, as a list that a macro goes through. */
static void
add_state(glow_buf *b, const cpu_plan *p, const char *prefix)
{
    int64_t size = 0;

    for (int i = 0; i < p->n_bindings; i++)
        if (glow_cpu_is_state(&p->bindings[i]))
            size += p->bindings[i].size;
    if (size == 0)
        return;
    glow_buf_printf(
        b,
        "\n/*\n"
        " * State: what a caller keeps from call to call, X(memory, offset, "
        "size) for each,\n"
        " * with the memory by the name of the parameter.  NAME.state has the "
        "first contents\n"
        " * in a row, if they were given; others are 0 at first.\n"
        " */\n"
        "#define %s_STATE_SIZE %" PRId64 "\n"
        "#define %s_STATE(X)",
        prefix, size, prefix);
    for (int i = 0; i < p->n_bindings; i++) {
        const cpu_binding *x = &p->bindings[i];
        cpu_location at = glow_cpu_locate(p, x->base, x->offset);

        if (glow_cpu_is_state(x))
            glow_buf_printf(b, " \\\n    X(%s, %" PRId64 ", %" PRId64 ")",
                            memory_name(p, x->base, at), at.offset, x->size);
    }
    glow_buf_putc(b, '\n');
}

static void
add_bindings(glow_buf *b, const cpu_plan *p, const char *prefix)
{
    static const char *const regions[] = {"CONSTANTS", "PLACEHOLDERS",
                                          "ACTIVATIONS"};
    glow_map *used = glow_map_new(p->arena);

    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        glow_map_set(used, regions[i], used);
    for (int i = 0; i < p->n_bindings; i++) {
        const cpu_binding *x = &p->bindings[i];
        cpu_location at = glow_cpu_locate(p, x->base, x->offset);
        const char *c_name = glow_cpu_c_name(p->arena, x->storage->name);
        const char *name = macro_name(p->arena, used, x->storage->name);

        glow_buf_printf(b, "\n/* ");
        if (strcmp(name, glow_cpu_macro_prefix(p->arena, c_name)) != 0)
            glow_buf_printf(b, "%s: ", c_name); /* the macro is numbered */
        glow_buf_type(b, x->storage->value.type);
        glow_buf_printf(b, "%s%s%s */\n#define %s_%s_OFFSET %" PRId64 "\n",
                        at.space >= 0 || x->base == CPU_ACTIVATIONS ? ", in "
                                                                    : "",
                        at.space >= 0                ? p->spaces[at.space].name
                        : x->base == CPU_ACTIVATIONS ? "the activations"
                                                     : "",
                        glow_cpu_is_state(x) ? ", state" : "", prefix, name,
                        at.offset);
        glow_buf_printf(b, "#define %s_%s_SIZE %" PRId64 "\n", prefix, name,
                        x->size);
        add_shape(b, prefix, name, x->storage->value.type);
        add_parameters(b, prefix, name, x->storage->value.type);
    }
}

/* Declares the caller's function that runs the parts of a step on threads. */
static void
add_parallel(glow_buf *b, const cpu_target *t, const char *name)
{
    glow_buf_printf(
        b,
        "\n/*\n"
        " * Calls part(work, i) once for each i less than `parts`, in any "
        "order\n"
        " * and on any threads, and returns when all have returned.  The work "
        "is\n"
        " * cut up for %d threads; the results are the same bits on any "
        "number.\n"
        " */\n"
        "typedef void (*%s_part)(void *work, uintptr_t part);\n"
        "typedef void (*%s_parallel)(void *pool, %s_part part, void *work,\n"
        "                            uintptr_t parts);\n",
        t->threads, name, name, name);
}

static void
add_function(glow_buf *b, const cpu_plan *p, const char *name)
{
    const cpu_target *t = p->target;
    bool threads = t->threads > 1;

    if (threads)
        add_parallel(b, t, name);
    glow_buf_puts(b, "\n/* Returns 0, or the number of the instruction that "
                     "failed.");
    if (glow_cpu_uses_matrix(p) && !t->emulates_amx)
        glow_buf_puts(b, "  -1: Linux\n * refuses this process the registers "
                         "of AMX, which the code asks it for.");
    if (t->sve_bytes)
        glow_buf_printf(
            b,
            "  -1: registers\n * of SVE are not of the %d bits that "
            "the code is made for.",
            8 * t->sve_bytes);
    if (t->rvv_bytes)
        glow_buf_printf(b,
                        "  -1: vector\n * registers are shorter than the %d "
                        "bits that the code is made for.",
                        8 * t->rvv_bytes);
    if (threads)
        glow_buf_puts(b, "  `parallel` gets\n * `pool`; NULL: all is done on "
                         "this thread.");
    glow_buf_printf(b,
                    " */\n"
                    "int %s(const uint8_t *constants, uint8_t *placeholders,\n"
                    "    uint8_t *activations",
                    name);
    if (threads)
        glow_buf_printf(b, ", %s_parallel parallel, void *pool", name);
    for (int i = 0; i < p->n_spaces; i++)
        glow_buf_printf(b, ",\n    uint8_t *%s", p->spaces[i].name);
    glow_buf_puts(b, ");\n");
}

/* Sizes of the memories with pointers of their own. */
static void
add_spaces(glow_buf *b, const cpu_plan *p, const char *prefix)
{
    for (int i = 0; i < p->n_spaces; i++)
        glow_buf_printf(
            b, "/* Bytes of %s */\n#define %s_%s_SIZE %" PRId64 "\n",
            p->spaces[i].base == CPU_ACTIVATIONS ? "more activations"
                                                 : "more placeholders",
            prefix, glow_cpu_macro_prefix(p->arena, p->spaces[i].name),
            p->spaces[i].size);
}

static const char *
place_of_constants(glow_arena *a, const char *name, glow_bundle_weights weights,
                   const char *file)
{
    return weights == GLOW_BUNDLE_FILE
               ? glow_arena_printf(a, "the contents of %s", file)
               : glow_arena_printf(a, "%s_weights", name);
}

void
glow_cpu_put_header(glow_buf *b, const cpu_plan *p, const char *name,
                    int64_t stack, glow_bundle_weights weights,
                    const char *file)
{
    const char *prefix = glow_cpu_macro_prefix(p->arena, name);

    glow_buf_printf(
        b,
        "/*\n"
        " * A network as one function, and the memory that it works in: "
        "regions,\n"
        " * each aligned to %s_ALIGN bytes.  The constants are\n"
        " * %s.  Inputs and results are in the placeholders.\n"
        " */\n\n"
        "#ifndef %s_H\n#define %s_H\n\n"
        "#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "#define %s_ALIGN 64\n"
        "#define %s_CONSTANTS_SIZE %" PRId64 "\n"
        "#define %s_PLACEHOLDERS_SIZE %" PRId64 "\n"
        "#define %s_ACTIVATIONS_SIZE %" PRId64 "\n"
        "/* Bytes of stack, without those of functions such as memcpy. */\n"
        "#define %s_STACK_SIZE %" PRId64 "\n",
        prefix, place_of_constants(p->arena, name, weights, file), prefix,
        prefix, prefix, prefix, p->size[CPU_CONSTANTS], prefix,
        glow_cpu_base_size(p, CPU_PLACEHOLDERS), prefix,
        glow_cpu_base_size(p, CPU_ACTIVATIONS), prefix, stack);
    add_spaces(b, p, prefix);
    if (weights != GLOW_BUNDLE_FILE)
        glow_buf_printf(b, "\nextern const uint8_t %s_weights[];\n", name);
    add_bindings(b, p, prefix);
    add_state(b, p, prefix);
    add_function(b, p, name);
    glow_buf_puts(b, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
