/* The handlers of LLVM for exhausted memory. */

#ifndef CODEGEN_CPU_RUN_MEMORY_H
#define CODEGEN_CPU_RUN_MEMORY_H

/*
 * From now on LLVM calls the handler of glow_on_out_of_memory, if one was set,
 * where it would print and abort.  May be called again, by any thread.
 */
void glow_cpu_memory_begin(void);

#endif
