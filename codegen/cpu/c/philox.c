/* Random numbers by a counter: four words of each call of Philox. */

#include "glow/philox.h"

#include "codegen/cpu/c/element.h"

int64_t
glow_c_philox(void *out, int64_t kind, const void *step, int64_t step_kind,
              int64_t seed, int64_t count)
{
    uint64_t high = (uint64_t)get_int(step, step_kind, 0);

    for (int64_t i = 0; i < count; i += 4) {
        glow_philox x = glow_philox_bits((uint64_t)seed, (uint64_t)i / 4, high);
        int64_t left = count - i < 4 ? count - i : 4;

        for (int64_t k = 0; k < left; k++)
            set_real(out, kind, i + k, (double)glow_philox_unit(x.at[k]));
    }
    return 0;
}
