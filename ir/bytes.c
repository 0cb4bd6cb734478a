/* Sizes in bytes, with units. */

#include <string.h>

#include "glow/attr.h"

bool
glow_read_bytes(const char *text, int64_t *out)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } units[] = {
        {"", 1},
        {"KiB", 1 << 10},
        {"MiB", 1 << 20},
        {"GiB", 1 << 30},
    };
    int64_t count = 0;
    size_t digits = strspn(text, "0123456789");

    for (size_t i = 0; i < digits; i++)
        if (glow_mul_overflow(count, 10, &count) ||
            glow_add_overflow(count, text[i] - '0', &count))
            return false;
    for (size_t i = 0; digits > 0 && i < sizeof units / sizeof *units; i++)
        if (strcmp(text + digits, units[i].name) == 0)
            return !glow_mul_overflow(count, units[i].bytes, out);
    return false;
}
