/* The handlers of LLVM for exhausted memory. */

#ifndef CODEGEN_CPU_RUN_MEMORY_H
#define CODEGEN_CPU_RUN_MEMORY_H

/*
 * Makes LLVM call the handler of glow_on_out_of_memory, if one was set, instead
 * of printing and aborting.  May be called again, by any thread.
 */
void glow_cpu_memory_begin(void);

#endif
