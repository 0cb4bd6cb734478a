/* Import of control flow. */

#ifndef GLOW_TRANSLATE_IMPORT_CONTROL_H
#define GLOW_TRANSLATE_IMPORT_CONTROL_H

#include "tools/glow-translate/import/state.h"

/* Builds the node that calls, whose results are those of `n`. */
bool import_call_node(import_node *n, const glow_op *op, glow_value *const *in,
                      int n_in, const void *attrs);

bool import_loop(import_node *n);
bool import_scan_batches(import_node *n);
bool import_scan(import_node *n);

#endif
