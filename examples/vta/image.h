/*
 * The artifact `image`: numbers of 8 bytes, the least significant first, then DRAM.
 *
 *     elements of micro-operations, weights, inputs, accumulators; depth of queues;
 *     transfers at once; setup cycles; bytes a cycle; bytes of DRAM
 *     segments; for each: instructions, and two numbers for each of them
 *     placeholders; for each: first byte in DRAM, bytes
 *     DRAM
 */

#ifndef VTA_IMAGE_H
#define VTA_IMAGE_H

#include "machine.h"

typedef struct vta_image {
    vta_config config;
    int64_t bytes, segments, inputs;
    int64_t *count;
    vta_word **words;
    int64_t *input_at, *input_bytes;
    uint8_t *dram;
} vta_image;

/* Reads a file; NULL if it is no image. */
vta_image *vta_image_read(const char *path);
void vta_image_free(vta_image *x);

#endif
