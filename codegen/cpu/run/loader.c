/*
 * The loader of a bundle for WebAssembly, in JavaScript.
 *
 * Memories are behind the data of the module: constants, placeholders of each function,
 * and the activations and further memories that all functions share.  The loader grows the
 * memory of the module once, and offers each placeholder as a typed array.
 */

#include "codegen/cpu/run/web.h"

#include <inttypes.h>
#include <string.h>

#include "codegen/cpu/layout.h"
#include "codegen/cpu/run/header.h"
#include "codegen/cpu/run/spaces.h"

/* Memories, by name in the order in which functions first mention them. */
typedef struct memories {
    glow_arena *arena;
    struct {
        const char *name;
        int64_t size;
    } *at;
    int count;
    size_t cap;
} memories;

/* The number of memory `name`, which gets at least `size` bytes. */
static int
memory_of(memories *m, const char *name, int64_t size)
{
    int i = 0;

    while (i < m->count && strcmp(m->at[i].name, name) != 0)
        i++;
    if (i == m->count) {
        m->at = glow_arena_grow(m->arena, m->at, (size_t)m->count++, &m->cap,
                                sizeof *m->at);
        m->at[i].name = name;
        m->at[i].size = 0;
    }
    m->at[i].size = size > m->at[i].size ? size : m->at[i].size;
    return i;
}

/* One function, and the number of each memory that it takes a pointer to. */
typedef struct entry {
    const cpu_plan *plan;
    int base[CPU_BASES];
    int *space;
} entry;

typedef struct loader {
    const cpu_loader *options;
    const cpu_plan *root;
    cpu_state state;
    memories memories;
    entry *entries;
} loader;

/*
 * Placeholders of a function have a memory of their own, unless they hold state, which is
 * at one place for all.
 */
static void
set_memories(loader *l, entry *e)
{
    memories *m = &l->memories;
    const cpu_plan *p = e->plan;
    bool own = l->state.count == 0 || l->state.is_one;

    e->base[CPU_CONSTANTS] =
        memory_of(m, "constants", l->root->size[CPU_CONSTANTS]);
    e->base[CPU_PLACEHOLDERS] = memory_of(
        m,
        own ? glow_arena_printf(m->arena, "placeholders of %s", p->func->name)
            : "placeholders",
        glow_cpu_base_size(p, CPU_PLACEHOLDERS));
    e->base[CPU_ACTIVATIONS] =
        memory_of(m, "activations", glow_cpu_base_size(p, CPU_ACTIVATIONS));
    e->space = glow_arena_alloc_array(m->arena, (size_t)p->n_spaces + 1,
                                      sizeof *e->space);
    for (int i = 0; i < p->n_spaces; i++)
        e->space[i] = memory_of(m, p->spaces[i].name,
                                i == p->state_space && l->state.is_one
                                    ? l->state.size
                                    : p->spaces[i].size);
}

static int
number_of(const entry *e, cpu_base base, cpu_location at)
{
    return at.space >= 0 ? e->space[at.space] : e->base[base];
}

/* The array class of JavaScript for an element kind. */
static const char *
array_of(const glow_type *t)
{
    const glow_kind_info *k = glow_kind_get(t->elem);

    if (t->elem == GLOW_FLOAT)
        return "Float32Array";
    if (t->elem == GLOW_FLOAT64)
        return "Float64Array";
    switch (k->bytes) {
    case 2:
        return k->klass != GLOW_CLASS_FLOAT && k->is_signed ? "Int16Array"
                                                            : "Uint16Array";
    case 4:
        return k->is_signed ? "Int32Array" : "Uint32Array";
    case 8:
        return k->is_signed ? "BigInt64Array" : "BigUint64Array";
    default:
        return k->klass & (GLOW_CLASS_INT | GLOW_CLASS_QUANTIZED) &&
                       k->is_signed
                   ? "Int8Array"
                   : "Uint8Array";
    }
}

/* A string of JavaScript. */
static void
put_string(glow_buf *b, const char *text)
{
    glow_buf_putc(b, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            glow_buf_printf(b, "\\%c", *c);
        else if ((unsigned char)*c < ' ')
            glow_buf_printf(b, "\\x%02x", (unsigned char)*c);
        else
            glow_buf_putc(b, *c);
    }
    glow_buf_putc(b, '"');
}

static void
put_placeholder(glow_buf *b, const entry *e, const cpu_binding *x,
                const char *indent)
{
    const glow_type *t = x->storage->value.type;
    cpu_location at = glow_cpu_locate(e->plan, x->base, x->offset);

    glow_buf_puts(b, indent);
    put_string(b, x->storage->name);
    glow_buf_printf(b,
                    ": {memory: %d, offset: %" PRId64 ", count: %" PRId64
                    ", array: %s, kind: \"%s\", shape: [",
                    number_of(e, x->base, at), at.offset, glow_type_count(t),
                    array_of(t), glow_kind_get(t->elem)->name);
    for (int i = 0; i < t->shape.rank; i++)
        glow_buf_printf(b, "%s%" PRId64, i ? ", " : "", t->shape.at[i]);
    glow_buf_printf(b, "], input: %s, output: %s", x->read ? "true" : "false",
                    x->written ? "true" : "false");
    if (glow_is_quantized(t->elem)) {
        glow_buf_puts(b, ", scale: ");
        glow_buf_float(b, t->scale);
        glow_buf_printf(b, ", zeroPoint: %" PRId32, t->offset);
    }
    glow_buf_puts(b, "},\n");
}

/* The placeholders of the function; of several, by the names of functions. */
static void
put_placeholders(glow_buf *b, const loader *l)
{
    int last = l->root->n_entries;

    glow_buf_puts(b, "export const placeholders = {\n");
    for (int i = 0; i <= last; i++) {
        const entry *e = &l->entries[i];

        if (last) {
            glow_buf_puts(b, "  ");
            put_string(b, e->plan->func->name);
            glow_buf_puts(b, ": {\n");
        }
        for (int k = 0; k < e->plan->n_bindings; k++)
            put_placeholder(b, e, &e->plan->bindings[k], last ? "    " : "  ");
        if (last)
            glow_buf_puts(b, "  },\n");
    }
    glow_buf_puts(b, "};\n\n");
}

/* Symbols, and memories in the order of parameters. */
static void
put_functions(glow_buf *b, const loader *l)
{
    glow_buf_puts(b, "const functions = {\n");
    for (int i = 0; i <= l->root->n_entries; i++) {
        const entry *e = &l->entries[i];

        glow_buf_puts(b, "  ");
        put_string(b, e->plan->func->name);
        glow_buf_puts(b, ": {symbol: ");
        put_string(b, e->plan->symbol);
        glow_buf_puts(b, ", memories: [");
        for (int k = 0; k < CPU_BASES; k++)
            glow_buf_printf(b, "%s%d", k ? ", " : "", e->base[k]);
        for (int k = 0; k < e->plan->n_spaces; k++)
            glow_buf_printf(b, ", %d", e->space[k]);
        glow_buf_puts(b, "]},\n");
    }
    glow_buf_puts(b, "};\n");
}

/* Locations of the first contents of the state: memory, offset, size. */
static void
put_state(glow_buf *b, const loader *l)
{
    const cpu_state *s = &l->state;

    glow_buf_puts(b, "const state = [");
    for (int i = 0; l->options->has_state && i < (s->is_one ? 1 : s->count);
         i++) {
        const entry *e = l->entries;

        while (e->plan != s->at[i].plan)
            e++;
        glow_buf_printf(b, "%s[%d, %" PRId64 ", %" PRId64 "]", i ? ", " : "",
                        number_of(e, s->at[i].binding->base, s->at[i].location),
                        s->is_one ? 0 : s->at[i].location.offset,
                        s->is_one ? s->size : s->at[i].binding->size);
    }
    glow_buf_puts(b, "];\n");
}

static const char code[] =
    "async function read(file) {\n"
    "  const url = new URL(file, import.meta.url);\n"
    "  if (url.protocol === \"file:\" && typeof process === \"object\")\n"
    "    return (await import(\"node:fs/promises\")).readFile(url);\n"
    "  const answer = await fetch(url);\n"
    "  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);\n"
    "  return answer.arrayBuffer();\n"
    "}\n"
    "\n"
    "async function readBytes(file, given, size) {\n"
    "  const bytes = new Uint8Array(given ?? await read(file));\n"
    "  if (bytes.length !== size)\n"
    "    throw new Error(`${file} has ${bytes.length} bytes, not ${size}`);\n"
    "  return bytes;\n"
    "}\n"
    "\n"
    "// Bytes of the module, the weights and the first state, where they are at "
    "hand already.\n"
    "export async function load(module, weights, first) {\n"
    "  const { instance } =\n"
    "    await WebAssembly.instantiate(module ?? await read(files.module), "
    "{});\n"
    "  const wasm = instance.exports;\n"
    "  const up = (n) => Math.ceil(n / align) * align;\n"
    "  let end = up(wasm.__heap_base.value);\n"
    "  const pointers = sizes.map((size, i) => {\n"
    "    if (i === 0 && !files.weights) return wasm[name + "
    "\"_weights\"].value;\n"
    "    const begin = end;\n"
    "    end = up(end + size);\n"
    "    return begin;\n"
    "  });\n"
    "  const more = end - wasm.memory.buffer.byteLength;\n"
    "  if (more > 0) wasm.memory.grow(Math.ceil(more / 65536));\n"
    "  const memory = new Uint8Array(wasm.memory.buffer);\n"
    "  if (files.weights)\n"
    "    memory.set(await readBytes(files.weights, weights, sizes[0]), "
    "pointers[0]);\n"
    "  const total = state.reduce((sum, [, , size]) => sum + size, 0);\n"
    "  const symbol = wasm[name + \"_state\"];\n"
    "  const begin = symbol ? memory.subarray(symbol.value, symbol.value + total)\n"
    "    : total ? await readBytes(files.state, first, total) : null;\n"
    "  let at = 0;\n"
    "  for (const [i, offset, size] of state) {\n"
    "    memory.set(begin.subarray(at, at + size), pointers[i] + offset);\n"
    "    at += size;\n"
    "  }\n"
    "  const bind = ({ symbol, memories }, placeholders) => {\n"
    "    const inputs = {}, outputs = {};\n"
    "    for (const [key, p] of Object.entries(placeholders)) {\n"
    "      const at = new p.array(wasm.memory.buffer, pointers[p.memory] + "
    "p.offset, p.count);\n"
    "      if (p.input) inputs[key] = at;\n"
    "      if (p.output) outputs[key] = at;\n"
    "    }\n"
    "    const [constants, own, activations, ...others] = memories.map((i) => "
    "pointers[i]);\n"
    "    const run = () => {\n"
    "      const code = wasm[symbol](constants, own, activations, ...crew, "
    "...others);\n"
    "      if (code > 0) throw new Error(`${symbol}: instruction ${code} "
    "failed`);\n"
    "      if (code < 0)\n"
    "        throw new Error(`${symbol}: a call that changed the state failed; "
    "load it again`);\n"
    "    };\n"
    "    return { inputs, outputs, run };\n"
    "  };\n";

static const char one[] =
    "  return bind(Object.values(functions)[0], placeholders);\n"
    "}\n";

static const char several[] =
    "  return Object.fromEntries(Object.entries(functions).map(\n"
    "    ([key, f]) => [key, bind(f, placeholders[key])]));\n"
    "}\n";

static void
put_file(glow_buf *b, const char *key, const char *file)
{
    glow_buf_printf(b, "%s: ", key);
    if (file)
        put_string(b, file);
    else
        glow_buf_puts(b, "null");
}

static void
put_head(glow_buf *b, const loader *l)
{
    glow_buf_puts(b, "// A network in WebAssembly:\n//\n");
    glow_buf_printf(b, "//   import { load } from \"./%s\";\n",
                    l->options->file);
    if (l->root->n_entries)
        glow_buf_puts(b, "//   const functions = await load();\n//\n"
                         "// Each function, by its name, is { inputs, outputs, "
                         "run }.  The arrays of a state are in\n"
                         "// one memory for all functions.\n//\n");
    else
        glow_buf_puts(
            b, "//   const { inputs, outputs, run } = await load();\n//\n");
    glow_buf_puts(b, "// Inputs and outputs are typed arrays by the names of "
                     "placeholders, in the memory\n"
                     "// of the module; run() computes the latter.\n\n");
}

void
glow_cpu_put_loader(glow_buf *b, const cpu_plan *root, const cpu_loader *o)
{
    int count = 1 + root->n_entries;
    loader l = {.options = o,
                .root = root,
                .state = glow_cpu_list_state(root),
                .memories = {.arena = root->arena},
                .entries = GLOW_NEW_ARRAY(root->arena, entry, (size_t)count)};

    for (int i = 0; i < count; i++) {
        l.entries[i].plan = glow_cpu_entry_at(root, i);
        set_memories(&l, &l.entries[i]);
    }
    put_head(b, &l);
    glow_buf_puts(b, "const name = ");
    put_string(b, o->name);
    glow_buf_puts(b, ", files = {");
    put_file(b, "module", o->module);
    put_file(b, ", weights", o->weights);
    put_file(b, ", state", o->state);
    glow_buf_printf(b, "};\nconst align = %d;\nconst sizes = [", CPU_ALIGN);
    for (int i = 0; i < l.memories.count; i++)
        glow_buf_printf(b, "%s%" PRId64, i ? ", " : "", l.memories.at[i].size);
    glow_buf_puts(b, "]; //");
    for (int i = 0; i < l.memories.count; i++)
        glow_buf_printf(b, "%s%s", i ? ", " : " ", l.memories.at[i].name);
    glow_buf_printf(b, "\nconst crew = [%s]; // one thread does all\n",
                    root->target->threads > 1 ? "0, 0" : "");
    put_state(b, &l);
    put_functions(b, &l);
    glow_buf_putc(b, '\n');
    put_placeholders(b, &l);
    glow_buf_printf(b, "%s%s", code, root->n_entries ? several : one);
}
