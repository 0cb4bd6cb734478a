/*
 * DWARF line tables.
 *
 * The function of each step has the line of the step's first instruction; the
 * instructions of its stack have their own lines.  Nodes without a source
 * location have line 0, which debuggers treat as code without a source.
 */

#include "codegen/cpu/emit/debug.h"
#include "codegen/llvm/llvm.h"

#include <string.h>

static unsigned
line_of(const glow_node *n, unsigned *column)
{
    int line = 0, col = 0;

    if (n->span.source)
        glow_span_line(n->span, &line, &col);
    *column = (unsigned)col;
    return (unsigned)line;
}

/*
 * The source file of `f`, or of its first node with a source; else the name of
 * `f`.
 */
static const char *
file_of(const glow_func *f)
{
    if (f->span.source)
        return f->span.source->name;
    for (const glow_node *n = f->first; n; n = n->next)
        if (n->span.source)
            return n->span.source->name;
    return f->name;
}

void
glow_cg_debug_begin(cg *g, const glow_func *f)
{
    const char *name = file_of(f), *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    const char *folder =
        slash ? glow_arena_strndup(g->arena, name, (size_t)(slash - name))
              : ".";
    LLVMMetadataRef version =
        LLVMValueAsMetadata(LLVMConstInt(g->i32, 3, false));
    LLVMMetadataRef dwarf = LLVMValueAsMetadata(LLVMConstInt(g->i32, 4, false));

    g->debug = LLVMCreateDIBuilder(g->module);
    g->debug_file = LLVMDIBuilderCreateFile(g->debug, base, strlen(base),
                                            folder, strlen(folder));
    LLVMDIBuilderCreateCompileUnit(g->debug, LLVMDWARFSourceLanguageC,
                                   g->debug_file, "glow", 4, true, "", 0, 0, "",
                                   0, LLVMDWARFEmissionLineTablesOnly, 0, false,
                                   false, "", 0, "", 0);
    LLVMAddModuleFlag(g->module, LLVMModuleFlagBehaviorWarning,
                      "Debug Info Version", 18, version);
    LLVMAddModuleFlag(g->module, LLVMModuleFlagBehaviorWarning, "Dwarf Version",
                      13, dwarf);
}

static void
set_line(cg *g, LLVMMetadataRef scope, unsigned line, unsigned column)
{
    LLVMSetCurrentDebugLocation2(
        g->builder, LLVMDIBuilderCreateDebugLocation(g->context, line, column,
                                                     scope, NULL));
}

static void
add_function(cg *g, cg_value fn, unsigned line, unsigned column)
{
    size_t size;
    const char *name = LLVMGetValueName2(fn, &size);
    LLVMMetadataRef type =
        LLVMDIBuilderCreateSubroutineType(g->debug, g->debug_file, NULL, 0, 0);
    LLVMMetadataRef scope = LLVMDIBuilderCreateFunction(
        g->debug, g->debug_file, name, size, name, size, g->debug_file, line,
        type, true, true, line, LLVMDIFlagZero, false);

    LLVMSetSubprogram(fn, scope);
    set_line(g, scope, line, column);
}

void
glow_cg_debug_step(cg *g, cg_value fn, const cpu_step *s)
{
    unsigned column, line = line_of(s->root ? s->root : s->items[0].n, &column);

    add_function(g, fn, line, column);
}

void
glow_cg_debug_entry(cg *g, cg_value fn, const glow_func *f)
{
    int line = 0, column = 0;

    if (f->span.source)
        glow_span_line(f->span, &line, &column);
    add_function(g, fn, (unsigned)line, (unsigned)column);
}

void
glow_cg_debug_line(cg *g, cg_value fn, const glow_node *n)
{
    unsigned column, line;

    if (!g->debug)
        return;
    line = line_of(n, &column);
    set_line(g, LLVMGetSubprogram(fn), line, column);
}

void
glow_cg_debug_end(cg *g)
{
    LLVMDIBuilderFinalize(g->debug);
    LLVMDisposeDIBuilder(g->debug);
    LLVMSetCurrentDebugLocation2(g->builder, NULL);
}
