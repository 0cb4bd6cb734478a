/*
 * Memory of a graph in a given order: the passes of optimize-program that share
 * memory, on the access table of the program that irgen will make.
 */

#ifndef IRGEN_SHARING_REPLAY_H
#define IRGEN_SHARING_REPLAY_H

#include "irgen/sharing/model.h"

/* Sets buffers and tasks of the model; false if a size overflows. */
bool glow_memory_replay(glow_memory_model *m, const glow_memory_options *o);

#endif
