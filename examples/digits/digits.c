/*
 * digits: classify pictures of handwritten digits with a compiled network.
 *
 *     digits WEIGHTS IMAGES.npy LABELS.npy
 *
 * The network is digits.o, which glow-opt -emit-bundle wrote together with
 * digits.h and the weights.  It is compiled for one image at a time; nothing of
 * the toolkit is linked in.  Prints how many images it gets right.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"

enum { PIXELS = 8 * 8, CLASSES = 10 };

/* A file in memory; `data` is at `start` of it. */
typedef struct blob {
    uint8_t *start;
    const uint8_t *data;
    size_t size; /* of data, in bytes */
} blob;

static void
fail(const char *path, const char *why)
{
    fprintf(stderr, "digits: %s: %s\n", path, why);
    exit(1);
}

/* Returns memory of at least `size` bytes, aligned as the network wants it. */
static uint8_t *
allocate(size_t size)
{
    size_t rounded = (size + DIGITS_ALIGN) / DIGITS_ALIGN * DIGITS_ALIGN;
    uint8_t *memory = aligned_alloc(DIGITS_ALIGN, rounded);

    if (!memory)
        fail("memory", "there is not enough of it");
    return memory;
}

static blob
read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        fail(path, "cannot be read");
    long size = ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET))
        fail(path, "cannot be read");

    blob b = {.start = allocate((size_t)size), .size = (size_t)size};
    b.data = b.start;
    if (fread(b.start, 1, b.size, file) != b.size)
        fail(path, "ends too early");
    fclose(file);
    return b;
}

/* Reads the .npy file `path`, whose elements are of the type `descr`. */
static blob
read_npy(const char *path, const char *descr)
{
    static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    const size_t fixed = sizeof magic + 2;

    blob b = read_file(path);
    if (b.size < fixed || memcmp(b.data, magic, sizeof magic) != 0)
        fail(path, "is no .npy file of version 1");
    size_t header = b.data[8] + ((size_t)b.data[9] << 8);
    if (b.size - fixed < header || header == 0)
        fail(path, "ends too early");
    b.start[fixed + header - 1] = '\0';
    if (!strstr((const char *)b.data + fixed, descr))
        fail(path, "has elements of another type");
    b.data += fixed + header;
    b.size -= fixed + header;
    return b;
}

static int
most_probable(const float *probability)
{
    int best = 0;

    for (int i = 1; i < CLASSES; i++)
        if (probability[i] > probability[best])
            best = i;
    return best;
}

int
main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: digits WEIGHTS IMAGES.npy LABELS.npy\n");
        return 2;
    }
    blob weights = read_file(argv[1]);
    blob images = read_npy(argv[2], "'<f4'");
    blob labels = read_npy(argv[3], "'<i8'");
    const size_t image_bytes = PIXELS * sizeof(float);
    const size_t count = images.size / image_bytes;
    if (weights.size != DIGITS_CONSTANTS_SIZE)
        fail(argv[1], "does not belong to this network");
    if (labels.size != count * sizeof(int64_t))
        fail(argv[3], "has not one label for each image");

    uint8_t *io = allocate(DIGITS_PLACEHOLDERS_SIZE);
    uint8_t *scratch = allocate(DIGITS_ACTIVATIONS_SIZE);
    size_t right = 0;
    for (size_t i = 0; i < count; i++) {
        float probability[CLASSES];
        int64_t label;

        memcpy(io + DIGITS_IMAGE_OFFSET, images.data + i * image_bytes,
               image_bytes);
        if (digits(weights.data, io, scratch) != 0)
            fail("digits", "the network did not run");
        memcpy(probability, io + DIGITS_PROBABILITY_OFFSET, sizeof probability);
        memcpy(&label, labels.data + i * sizeof label, sizeof label);
        right += most_probable(probability) == label;
    }
    printf("%zu of %zu right: %.2f %%\n", right, count,
           100.0 * (double)right / (double)count);
    free(scratch);
    free(io);
    free(labels.start);
    free(images.start);
    free(weights.start);
    return 0;
}
