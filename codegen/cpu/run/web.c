/*
 * WebAssembly: links an object by wasm-ld, and writes the loader.
 *
 * The module imports nothing.  The loader puts constants, placeholders and activations
 * behind the data of the module, grows the memory once, and offers each placeholder as a
 * typed array.
 */

#include "codegen/cpu/run/web.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/cpu/layout.h"
#include "codegen/cpu/run/child.h"
#include "codegen/cpu/run/spaces.h"

/* Linking. */

/* The path of program `name` in a folder of PATH, or NULL. */
static const char *
find_program(glow_arena *a, const char *name)
{
    const char *at = getenv("PATH");

    while (at && *at) {
        size_t n = strcspn(at, ":");
        const char *path = glow_arena_printf(a, "%.*s/%s", (int)n, at, name);

        if (n > 0 && access(path, X_OK) == 0)
            return path;
        at += n + (at[n] == ':');
    }
    return NULL;
}

const char *
glow_cpu_find_wasm_ld(glow_context *ctx, glow_arena *a)
{
    static const char *const names[] = {"wasm-ld-19", "wasm-ld"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = find_program(a, names[i]);

        if (path)
            return path;
    }
    glow_error_hint(ctx, (glow_span){0}, "E0852",
                    "Debian's package lld-19 has it; -emit-object does without",
                    "a bundle for WebAssembly needs the linker wasm-ld, and "
                    "PATH has neither wasm-ld-19 nor wasm-ld");
    return NULL;
}

typedef struct linking {
    const char *linker, *name;
    int64_t stack;
    FILE *object;
    glow_arena *arena;
} linking;

/* Becomes the linker, whose output goes to `out`. */
static bool
become_linker(void *user, FILE *out)
{
    const linking *l = user;
    glow_arena *a = l->arena;
    const char *const args[] = {
        l->linker,
        "--no-entry",
        "--strip-all",
        "--gc-sections",
        "-z",
        glow_arena_printf(a, "stack-size=%" PRId64, l->stack),
        glow_arena_printf(a, "--export=%s", l->name),
        glow_arena_printf(a, "--export-if-defined=%s_weights", l->name),
        "--export=__heap_base",
        glow_arena_printf(a, "/dev/fd/%d", dup(fileno(l->object))),
        "-o",
        "-",
        NULL,
    };

    if (dup2(fileno(out), STDOUT_FILENO) < 0)
        return false;
    execv(l->linker, (char *const *)(uintptr_t)args);
    return false;
}

bool
glow_cpu_link_wasm(glow_context *ctx, glow_arena *a, const char *linker,
                   const char *name, int64_t stack, const void *object,
                   size_t size, glow_buf *module)
{
    linking l = {.linker = linker, .name = name, .arena = a};
    const char *why = "no temporary file could be made";

    /* Compiled functions use it too, which do not count themselves. */
    l.stack = (stack + 4096) / 1024 * 1024;
    l.object = tmpfile();
    if (l.object && fwrite(object, 1, size, l.object) == size &&
        fflush(l.object) == 0)
        why = glow_cpu_in_child(a, become_linker, &l, module);
    if (l.object)
        fclose(l.object);
    return !why || glow_error(ctx, "E0853", "'%s' does not link the code: %s",
                              linker, why);
}

/* The loader. */

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
put_placeholder(glow_buf *b, const cpu_plan *p, const cpu_binding *x)
{
    const glow_type *t = x->storage->value.type;
    cpu_location at = glow_cpu_locate(p, x->base, x->offset);
    int memory = at.space >= 0 ? CPU_BASES + at.space : (int)x->base;

    glow_buf_puts(b, "  ");
    put_string(b, x->storage->name);
    glow_buf_printf(b,
                    ": {memory: %d, offset: %" PRId64 ", count: %" PRId64
                    ", array: %s, kind: \"%s\", shape: [",
                    memory, at.offset, glow_type_count(t), array_of(t),
                    glow_kind_get(t->elem)->name);
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
    "// Bytes of the module and of the weights, where they are at hand "
    "already.\n"
    "export async function load(module, weights) {\n"
    "  const { instance } =\n"
    "    await WebAssembly.instantiate(module ?? await read(files.module), "
    "{});\n"
    "  const wasm = instance.exports;\n"
    "  const up = (n) => Math.ceil(n / align) * align;\n"
    "  let end = up(wasm.__heap_base.value);\n"
    "  // Constants, placeholders, activations, and further memories of "
    "these.\n"
    "  const pointers = sizes.map((size, i) => {\n"
    "    if (i === 0 && !files.weights) return wasm[name + "
    "\"_weights\"].value;\n"
    "    const begin = end;\n"
    "    end = up(end + size);\n"
    "    return begin;\n"
    "  });\n"
    "  const more = end - wasm.memory.buffer.byteLength;\n"
    "  if (more > 0) wasm.memory.grow(Math.ceil(more / 65536));\n"
    "  if (files.weights) {\n"
    "    const bytes = new Uint8Array(weights ?? await read(files.weights));\n"
    "    if (bytes.length !== sizes[0])\n"
    "      throw new Error(`${files.weights} has ${bytes.length} bytes, not "
    "${sizes[0]}`);\n"
    "    new Uint8Array(wasm.memory.buffer).set(bytes, pointers[0]);\n"
    "  }\n"
    "  const inputs = {}, outputs = {};\n"
    "  for (const [key, p] of Object.entries(placeholders)) {\n"
    "    const at = new p.array(wasm.memory.buffer, pointers[p.memory] + "
    "p.offset, p.count);\n"
    "    if (p.input) inputs[key] = at;\n"
    "    if (p.output) outputs[key] = at;\n"
    "  }\n"
    "  const run = () => {\n"
    "    const code = wasm[name](...pointers.slice(0, 3), ...crew, "
    "...pointers.slice(3));\n"
    "    if (code !== 0) throw new Error(`${name}: instruction ${code} "
    "failed`);\n"
    "  };\n"
    "  return { inputs, outputs, run };\n"
    "}\n";

void
glow_cpu_put_loader(glow_buf *b, const cpu_plan *p, const char *name,
                    const char *file, const char *module, const char *weights)
{
    glow_buf_puts(b, "// A network in WebAssembly:\n//\n");
    glow_buf_printf(b,
                    "//   import { load } from \"./%s\";\n"
                    "//   const { inputs, outputs, run } = await load();\n"
                    "//\n"
                    "// Inputs and outputs are typed arrays by the names of "
                    "placeholders, in the memory\n"
                    "// of the module; run() computes the latter.\n\n",
                    file);
    glow_buf_puts(b, "const name = ");
    put_string(b, name);
    glow_buf_puts(b, ", files = {module: ");
    put_string(b, module);
    glow_buf_puts(b, ", weights: ");
    if (weights)
        put_string(b, weights);
    else
        glow_buf_puts(b, "null");
    glow_buf_printf(
        b, "};\nconst align = %d, sizes = [%" PRId64 ", %" PRId64 ", %" PRId64,
        CPU_ALIGN, p->size[CPU_CONSTANTS],
        glow_cpu_base_size(p, CPU_PLACEHOLDERS),
        glow_cpu_base_size(p, CPU_ACTIVATIONS));
    for (int i = 0; i < p->n_spaces; i++)
        glow_buf_printf(b, ", %" PRId64, p->spaces[i].size);
    glow_buf_printf(b,
                    "];\nconst crew = [%s]; // one thread does all\n"
                    "\nexport const placeholders = {\n",
                    p->target->threads > 1 ? "0, 0" : "");
    for (int i = 0; i < p->n_bindings; i++)
        put_placeholder(b, p, &p->bindings[i]);
    glow_buf_printf(b, "};\n\n%s", code);
}
