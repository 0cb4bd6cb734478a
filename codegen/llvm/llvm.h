/*
 * LLVM's C interface, loaded by dlopen on first use, because relocating and
 * constructing libLLVM takes 10 ms, which only code generation should pay.
 *
 * Each LLVM function that the backend names is a member of `glow_llvm`, which
 * calls.py writes, and a macro of its name that calls it.  With
 * GLOW_LLVM_LINKED (option -Dllvm=link) the names are the functions themselves.
 */

#ifndef CODEGEN_LLVM_LLVM_H
#define CODEGEN_LLVM_LLVM_H

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/LLJITUtils.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Object.h>
#include <llvm-c/Orc.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm-c/blake3.h>

#ifndef GLOW_LLVM_LINKED
#include "codegen/llvm/llvm_calls.h" /* written by calls.py */
#endif

/*
 * Loads LLVM, once in a process; afterwards the functions declared above may be
 * called.  Returns NULL, or the reason why LLVM cannot be loaded.
 */
const char *glow_llvm_load(void);

/*
 * The function `name` of LLVM or of a library that it needs, or NULL.  LLVM
 * must be loaded.
 */
void *glow_llvm_find(const char *name);

/* Registers the names of all of LLVM's targets, by which one is found. */
void glow_llvm_register_targets(void);
/*
 * Initializes the code generators of the family of `target`: X86 for `x86-64`; NULL: of
 * all families.
 */
void glow_llvm_initialize(const char *target);

#endif
