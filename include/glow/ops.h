/*
 * The operators, as passes see them: for each, the struct of its attributes and
 * the definition that a node's `op` points to.  A definition has the meaning of its
 * operator: see ir/ops, or the page that `glow-opt -list-ops` prints.
 *
 * This header includes all families; each has a header of its own.  Shapes are
 * written as [N, H, W, C].
 */

#ifndef GLOW_OPS_H
#define GLOW_OPS_H

#include "glow/ops/bounded.h"
#include "glow/ops/control.h"
#include "glow/ops/elementwise.h"
#include "glow/ops/image.h"
#include "glow/ops/layout.h"
#include "glow/ops/norm.h"
#include "glow/ops/product.h"
#include "glow/ops/quantize.h"
#include "glow/ops/random.h"
#include "glow/ops/recurrent.h"
#include "glow/ops/reduce.h"
#include "glow/ops/signal.h"
#include "glow/ops/sparse.h"
#include "glow/ops/train.h"
#include "glow/ops/window.h"

#endif
