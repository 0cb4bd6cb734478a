/*
 * Runs a bundle three times on inputs of 0, and prints the most memory that the
 * process has had, in bytes.  Weights are mapped from their file.
 *
 *     cc -include NAME.h -DNET=NAME -DPREFIX(x)=UPPER_NAME_##x bundle.c NAME.o
 *     ./a.out NAME.weights
 */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint8_t *
allocate(size_t bytes)
{
    size_t whole = (bytes + PREFIX(ALIGN)) / PREFIX(ALIGN) * PREFIX(ALIGN);
    uint8_t *memory = aligned_alloc(PREFIX(ALIGN), whole);

    if (!memory)
        abort();
    memset(memory, 0, whole);
    return memory;
}

static const uint8_t *
map(const char *path)
{
    size_t bytes = PREFIX(CONSTANTS_SIZE);
    int file = open(path, O_RDONLY);
    void *memory;

    if (bytes == 0)
        return allocate(1);
    memory = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (file < 0 || memory == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    return memory;
}

static long long
most_bytes(void)
{
    FILE *in = fopen("/proc/self/status", "r");
    char line[256];
    long long kib = 0;

    while (in && fgets(line, sizeof line, in))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoll(line + 6, NULL, 10);
    if (in)
        fclose(in);
    return 1024 * kib;
}

int
main(int argc, char **argv)
{
    const uint8_t *constants;
    uint8_t *placeholders, *activations;

    if (argc != 2)
        return 2;
    constants = map(argv[1]);
    placeholders = allocate(PREFIX(PLACEHOLDERS_SIZE));
    activations = allocate(PREFIX(ACTIVATIONS_SIZE));
    for (int i = 0; i < 3; i++)
        if (NET(constants, placeholders, activations))
            return 1;
    printf("%lld\n", most_bytes());
    return 0;
}
