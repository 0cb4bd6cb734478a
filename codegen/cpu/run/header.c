/*
 * The header of a bundle in C: the function, sizes of regions, and the place, shape and
 * element kind of each placeholder.
 */

#include "codegen/cpu/run/header.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cpu/emit/matrix.h"
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

/* PREFIX_NAME of a placeholder; a number makes it unique. */
static const char *
macro_name(glow_arena *a, glow_map *used, const char *prefix, const char *name)
{
    const char *base = glow_arena_printf(
        a, "%s_%s", prefix, glow_cpu_macro_prefix(a, glow_cpu_c_name(a, name)));
    const char *macro = base;

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
add_shape(glow_buf *b, const char *name, const glow_type *t)
{
    glow_buf_printf(b,
                    "#define %s_TYPE %s\n#define %s_KIND \"%s\"\n"
                    "#define %s_COUNT %" PRId64 "\n#define %s_RANK %d\n",
                    name, c_type(t->elem), name, glow_kind_get(t->elem)->name,
                    name, glow_type_count(t), name, t->shape.rank);
    if (t->shape.rank == 0)
        return;
    glow_buf_printf(b, "#define %s_SHAPE {", name);
    for (int i = 0; i < t->shape.rank; i++)
        glow_buf_printf(b, "%s%" PRId64, i ? ", " : "", t->shape.at[i]);
    glow_buf_puts(b, "}\n");
}

/* Scale and offset of quantized elements: real = scale * (element - offset). */
static void
add_parameters(glow_buf *b, const char *name, const glow_type *t)
{
    if (!glow_is_quantized(t->elem))
        return;
    glow_buf_printf(b, "#define %s_SCALE ", name);
    glow_buf_float(b, t->scale);
    glow_buf_printf(b, "f\n#define %s_ZERO_POINT %" PRId32 "\n", name,
                    t->offset);
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

cpu_state
glow_cpu_list_state(const cpu_plan *root)
{
    glow_map *seen = glow_map_new(root->arena);
    cpu_state s = {.is_one = true};
    size_t cap = 0;

    for (int i = 0; i <= root->n_entries; i++) {
        const cpu_plan *p = glow_cpu_entry_at(root, i);

        for (int k = 0; k < p->n_bindings; k++) {
            const cpu_binding *x = &p->bindings[k];

            if (!glow_cpu_is_state(x) || glow_map_get(seen, x->storage->name))
                continue;
            glow_map_set(seen, x->storage->name, seen);
            s.at = glow_arena_grow(root->arena, s.at, (size_t)s.count, &cap,
                                   sizeof *s.at);
            s.at[s.count].binding = x;
            s.at[s.count].plan = p;
            s.at[s.count].location = glow_cpu_locate(p, x->base, x->offset);
            s.is_one &= s.at[s.count++].location.space == p->state_space;
            s.size += x->size;
        }
    }
    s.is_one &= s.count > 0 && s.at[0].plan->busy >= 0;
    if (s.is_one)
        s.size = s.at[0].plan->busy + CPU_ALIGN;
    return s;
}

static const char *
place_of_bytes(const cpu_header *h, const char *what, const char *file)
{
    return h->weights == GLOW_BUNDLE_FILE
               ? file
               : glow_arena_printf(h->plan->arena, "%s_%s", h->name, what);
}

/* Where the state is, as a list that a macro goes through. */
static void
add_state(glow_buf *b, const cpu_header *h, const char *prefix)
{
    cpu_state s = glow_cpu_list_state(h->plan);

    if (s.count == 0)
        return;
    glow_buf_printf(
        b, "\n/*\n"
           " * State: what a caller keeps from call to call, X(memory, offset, "
           "size) for each\n"
           " * piece, with the memory by the name of the parameter.  ");
    if (h->has_state)
        glow_buf_printf(b, "%s has the first\n * contents%s.\n",
                        place_of_bytes(h, "state", "NAME.state"),
                        s.is_one ? "" : " in a row");
    else
        glow_buf_puts(b, "It is 0 at first, but for\n * weights.\n");
    if (s.is_one)
        glow_buf_printf(
            b,
            " * The uint32_t at %s_STATE_BUSY_OFFSET is not 0 while a call "
            "changes the state.\n * A call refuses such state, which is half "
            "old and half new.\n",
            prefix);
    glow_buf_printf(b, " */\n#define %s_STATE_SIZE %" PRId64 "\n", prefix,
                    s.size);
    if (s.is_one)
        glow_buf_printf(b, "#define %s_STATE_BUSY_OFFSET %" PRId64 "\n", prefix,
                        s.at[0].plan->busy);
    glow_buf_printf(b, "#define %s_STATE(X)", prefix);
    if (s.is_one)
        glow_buf_printf(b, " X(state, 0, %" PRId64 ")", s.size);
    for (int i = 0; !s.is_one && i < s.count; i++)
        glow_buf_printf(
            b, " \\\n    X(%s, %" PRId64 ", %" PRId64 ")",
            memory_name(s.at[i].plan, s.at[i].binding->base, s.at[i].location),
            s.at[i].location.offset, s.at[i].binding->size);
    glow_buf_putc(b, '\n');
    if (h->has_state && h->weights != GLOW_BUNDLE_FILE)
        glow_buf_printf(b, "extern const uint8_t %s_state[];\n", h->name);
}

/* Macros of the placeholders that are state, or of the others of one function. */
static void
add_binding(glow_buf *b, const cpu_plan *p, const cpu_binding *x,
            const char *prefix, glow_map *used)
{
    cpu_location at = glow_cpu_locate(p, x->base, x->offset);
    const char *c_name = glow_cpu_c_name(p->arena, x->storage->name);
    const char *name = macro_name(p->arena, used, prefix, x->storage->name);
    const glow_type *t = x->storage->value.type;

    glow_buf_puts(b, "\n/* ");
    if (strcmp(name + strlen(prefix) + 1,
               glow_cpu_macro_prefix(p->arena, c_name)) != 0)
        glow_buf_printf(b, "%s: ", c_name); /* the macro is numbered */
    glow_buf_type(b, t);
    if (at.space >= 0 && at.space == p->state_space)
        glow_buf_puts(b, ", state");
    else
        glow_buf_printf(b, "%s%s%s",
                        at.space >= 0 || x->base == CPU_ACTIVATIONS ? ", in "
                                                                    : "",
                        at.space >= 0                ? p->spaces[at.space].name
                        : x->base == CPU_ACTIVATIONS ? "the activations"
                                                     : "",
                        glow_cpu_is_state(x) ? ", state" : "");
    glow_buf_printf(
        b, " */\n#define %s_OFFSET %" PRId64 "\n#define %s_SIZE %" PRId64 "\n",
        name, at.offset, name, x->size);
    add_shape(b, name, t);
    add_parameters(b, name, t);
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
add_returns(glow_buf *b, const cpu_plan *p)
{
    const cpu_target *t = p->target;

    glow_buf_puts(b, "\n/* Returns 0, or the number of the instruction that "
                     "failed.");
    if (glow_cpu_uses_matrix(p) && glow_cg_matrix_asks(t))
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
    if (p->busy >= 0)
        glow_buf_printf(b,
                        "  %d: a call\n * that changed the state failed or "
                        "was interrupted; fill it again.",
                        CPU_INTERRUPTED);
    if (t->threads > 1)
        glow_buf_puts(b, "  `parallel` gets\n * `pool`; NULL: all is done on "
                         "this thread.");
    glow_buf_puts(b, " */\n");
}

/* Declares the function of `p`; the types of threads are those of the bundle `name`. */
static void
add_function(glow_buf *b, const cpu_plan *p, const char *name)
{
    add_returns(b, p);
    glow_buf_printf(b,
                    "int %s(const uint8_t *constants, uint8_t *placeholders,\n"
                    "    uint8_t *activations",
                    p->symbol);
    if (p->target->threads > 1)
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
        if (i != p->state_space)
            glow_buf_printf(
                b, "/* Bytes of %s */\n#define %s_%s_SIZE %" PRId64 "\n",
                p->spaces[i].base == CPU_ACTIVATIONS ? "more activations"
                                                     : "more placeholders",
                prefix, glow_cpu_macro_prefix(p->arena, p->spaces[i].name),
                p->spaces[i].size);
}

static void
add_sizes(glow_buf *b, const char *prefix, int64_t placeholders,
          int64_t activations)
{
    glow_buf_printf(b,
                    "#define %s_PLACEHOLDERS_SIZE %" PRId64 "\n"
                    "#define %s_ACTIVATIONS_SIZE %" PRId64 "\n",
                    prefix, placeholders, prefix, activations);
}

/* The sizes that suffice for each function. */
static void
add_greatest_sizes(glow_buf *b, const cpu_plan *root, const char *prefix)
{
    int64_t most[CPU_BASES] = {0};

    for (int i = 0; i <= root->n_entries; i++)
        for (int k = 0; k < CPU_BASES; k++) {
            int64_t one =
                glow_cpu_base_size(glow_cpu_entry_at(root, i), (cpu_base)k);

            most[k] = one > most[k] ? one : most[k];
        }
    add_sizes(b, prefix, most[CPU_PLACEHOLDERS], most[CPU_ACTIVATIONS]);
}

/* The placeholders of `p` by themselves, and its function. */
static void
add_entry(glow_buf *b, const cpu_header *h, const cpu_plan *p, glow_map *used)
{
    const char *prefix = glow_cpu_macro_prefix(p->arena, p->symbol);

    if (h->plan->n_entries > 0) {
        glow_buf_printf(b, "\n/* %s */\n", p->symbol);
        add_sizes(b, prefix, glow_cpu_base_size(p, CPU_PLACEHOLDERS),
                  glow_cpu_base_size(p, CPU_ACTIVATIONS));
        add_spaces(b, p, prefix);
    }
    for (int i = 0; i < p->n_bindings; i++)
        if (h->plan->n_entries == 0 || !glow_cpu_is_state(&p->bindings[i]))
            add_binding(b, p, &p->bindings[i], prefix, used);
    if (h->plan->n_entries > 0)
        add_function(b, p, h->name);
}

/* Names of macros that no placeholder may have. */
static glow_map *
reserve_names(const cpu_plan *root, const char *prefix)
{
    static const char *const regions[] = {"CONSTANTS", "PLACEHOLDERS",
                                          "ACTIVATIONS", "STATE"};
    glow_map *used = glow_map_new(root->arena);

    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++) {
        glow_map_set(
            used, glow_arena_printf(root->arena, "%s_%s", prefix, regions[i]),
            used);
        for (int k = 0; k <= root->n_entries; k++)
            glow_map_set(
                used,
                glow_arena_printf(
                    root->arena, "%s_%s",
                    glow_cpu_macro_prefix(root->arena,
                                          glow_cpu_entry_at(root, k)->symbol),
                    regions[i]),
                used);
    }
    return used;
}

static void
add_head(glow_buf *b, const cpu_header *h, const char *prefix)
{
    const cpu_plan *p = h->plan;

    glow_buf_printf(
        b,
        "/*\n"
        " * A network as %s, and the memory that %s: "
        "regions,\n"
        " * each aligned to %s_ALIGN bytes.  The constants are\n"
        " * %s.  Inputs and results are in the placeholders.\n"
        " */\n\n"
        "#ifndef %s_H\n#define %s_H\n\n"
        "#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "#define %s_ALIGN 64\n"
        "#define %s_CONSTANTS_SIZE %" PRId64 "\n",
        p->n_entries ? "functions" : "one function",
        p->n_entries ? "they work in" : "it works in", prefix,
        place_of_bytes(
            h, "weights",
            glow_arena_printf(p->arena, "the contents of %s", h->file)),
        prefix, prefix, prefix, prefix, p->size[CPU_CONSTANTS]);
    add_greatest_sizes(b, p, prefix);
    glow_buf_printf(
        b,
        "/* Bytes of stack, without those of functions such as memcpy. */\n"
        "#define %s_STACK_SIZE %" PRId64 "\n",
        prefix, h->stack);
}

void
glow_cpu_put_header(glow_buf *b, const cpu_header *h)
{
    const cpu_plan *p = h->plan;
    const char *prefix = glow_cpu_macro_prefix(p->arena, h->name);
    glow_map *used = reserve_names(p, prefix);
    cpu_state s = glow_cpu_list_state(p);

    add_head(b, h, prefix);
    if (p->n_entries == 0)
        add_spaces(b, p, prefix);
    if (h->weights != GLOW_BUNDLE_FILE)
        glow_buf_printf(b, "\nextern const uint8_t %s_weights[];\n", h->name);
    if (p->n_entries == 0)
        add_entry(b, h, p, used);
    for (int i = 0; p->n_entries > 0 && i < s.count; i++)
        add_binding(b, s.at[i].plan, s.at[i].binding, prefix, used);
    add_state(b, h, prefix);
    if (p->target->threads > 1)
        add_parallel(b, p->target, h->name);
    for (int i = 0; p->n_entries > 0 && i <= p->n_entries; i++)
        add_entry(b, h, glow_cpu_entry_at(p, i), used);
    if (p->n_entries == 0)
        add_function(b, p, h->name);
    glow_buf_puts(b, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
