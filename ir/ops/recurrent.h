/* Activation functions of recurrent cells. */

#ifndef IR_OPS_RECURRENT_H
#define IR_OPS_RECURRENT_H

#include "ir/ops/common.h"

/* The value f(x) of an activation, with its alpha and beta. */
double glow_activate(const glow_activation *f, double x);

/*
 * Checks the attribute Activations: known names, `each` for a direction, for
 * one direction or for all `directions`; as many parameters, or none.
 */
bool glow_check_activations(const glow_node *n, int each, int directions);

#endif
