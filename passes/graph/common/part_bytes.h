/* Bytes that a device allocates for a part. */

#ifndef PASSES_GRAPH_COMMON_PART_BYTES_H
#define PASSES_GRAPH_COMMON_PART_BYTES_H

#include "glow/devices.h"

/*
 * Compiles `body` for `d` by the default pipeline, and adds the bytes of its constants,
 * placeholders and activations to *bytes.  False after a report.
 */
bool glow_add_part_bytes(const glow_func *body, const glow_device *d,
                         int64_t *bytes);

#endif
