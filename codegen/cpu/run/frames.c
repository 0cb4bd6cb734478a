/*
 * Stack bound: the heaviest path of the call graph, by frame sizes.
 *
 * LLVM reports the frame of each function with the attribute "warn-stack-size" that is
 * larger than the attribute's value.  A function whose address is an argument of a call
 * counts as called there.  Each call adds two pointers, for a return address and its
 * alignment, since frames do not have these on all processors.
 *
 * LLVM's number leaves out the bytes below the stack pointer that a function which calls
 * none may use without a frame, 128 on x86-64: functions do without these.  It leaves out
 * as well the gaps that align a frame with wider vectors than the stack is aligned for: one
 * below the saved registers, and one that rounds the size.
 */

#include "codegen/cpu/run/frames.h"

#include <stdio.h>
#include <string.h>

#include "codegen/cpu/run/spaces.h"
#include "codegen/llvm/llvm.h"

#define ALIGNED 16 /* bytes of the stack, at calls */

static void
note_frame(LLVMDiagnosticInfoRef d, void *user)
{
    static const char before[] = "stack frame size (";
    static const char between[] = "in function '";
    cpu_frames *f = user;
    char *text = LLVMGetDiagInfoDescription(d);
    const char *size = strstr(text, before), *name = strstr(text, between);
    long long bytes;

    if (size && name && sscanf(size + sizeof before - 1, "%lld", &bytes) == 1) {
        name += sizeof between - 1;
        glow_map_set(f->bytes,
                     glow_arena_strndup(f->g->arena, name, strcspn(name, "'")),
                     (void *)(intptr_t)(bytes + 1));
    }
    LLVMDisposeMessage(text);
}

void
glow_cpu_frames_begin(cpu_frames *f, cg *g)
{
    LLVMAttributeRef whole = glow_cg_enum(g, "noredzone");

    *f = (cpu_frames){g, glow_map_new(g->arena)};
    for (LLVMValueRef fn = LLVMGetFirstFunction(g->module); fn;
         fn = LLVMGetNextFunction(fn))
        if (LLVMGetFirstBasicBlock(fn)) {
            glow_cg_attribute(g, fn, "warn-stack-size", "0");
            LLVMAddAttributeAtIndex(
                fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, whole);
        }
    LLVMContextSetDiagnosticHandler(g->context, note_frame, f);
}

static int64_t bound_of(const cpu_frames *f, LLVMValueRef fn, glow_map *known);

/* The largest bound of the functions that an instruction refers to. */
static int64_t
bound_below(const cpu_frames *f, LLVMValueRef instruction, glow_map *known)
{
    int64_t most = 0;

    if (!LLVMIsACallInst(instruction))
        return 0;
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMValueRef v = LLVMGetOperand(instruction, (unsigned)i);
        int64_t one = LLVMIsAFunction(v) ? bound_of(f, v, known) : 0;

        most = one > most ? one : most;
    }
    return most;
}

/* The largest alignment of a local variable of `fn`, or of a vector of the target. */
static int64_t
alignment_of(const cpu_frames *f, LLVMValueRef fn)
{
    int64_t most = f->g->target->vector_bytes;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMIsAAllocaInst(i) && LLVMGetAlignment(i) > most)
                most = LLVMGetAlignment(i);
    return most;
}

/*
 * Bytes of the frame of `fn`, with those that align it: to no more than it has, since it
 * holds a vector of that size.
 */
static int64_t
frame_of(const cpu_frames *f, LLVMValueRef fn, const char *name)
{
    int64_t own = (intptr_t)glow_map_get(f->bytes, name) - 1;
    int64_t alignment = alignment_of(f, fn);

    if (own <= 0)
        return 0;
    while (alignment > own)
        alignment /= 2;
    return alignment > ALIGNED ? own + 2 * alignment : own;
}

static int64_t
bound_of(const cpu_frames *f, LLVMValueRef fn, glow_map *known)
{
    size_t length;
    const char *name = LLVMGetValueName2(fn, &length);
    int64_t most = 0;
    intptr_t before = (intptr_t)glow_map_get(known, name);

    if (before)
        return before - 1;
    if (!LLVMGetFirstBasicBlock(fn))
        return 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            int64_t one = bound_below(f, i, known);

            most = one > most ? one : most;
        }
    most += frame_of(f, fn, name) + 2 * (int64_t)sizeof(void *);
    glow_map_set(known, name, (void *)(intptr_t)(most + 1));
    return most;
}

int64_t
glow_cpu_frames_end(cpu_frames *f, const cpu_plan *p)
{
    glow_map *known = glow_map_new(f->g->arena);
    int64_t most = 0;

    LLVMContextSetDiagnosticHandler(f->g->context, NULL, NULL);
    for (int i = 0; i <= p->n_entries; i++) {
        const char *symbol = glow_cpu_entry_at(p, i)->symbol;
        LLVMValueRef fn = LLVMGetNamedFunction(f->g->module, symbol);
        int64_t one = fn ? bound_of(f, fn, known) : 0;

        most = one > most ? one : most;
    }
    return most;
}
