/* The table of kernels, in the order of preference for each operator. */

#include "codegen/cpu/plan/kernels.h"

#include "codegen/cpu/plan/list.h"

#define DECLARE(name) extern const cpu_kernel glow_cpu_##name;
CPU_KERNELS(DECLARE)

#define ENTRY(name) &glow_cpu_##name,
const cpu_kernel *const glow_cpu_kernels[] = {CPU_KERNELS(ENTRY) NULL};

const cpu_kernel *
glow_cpu_find_kernel(const cpu_target *t, const glow_node *n)
{
    for (int i = 0; glow_cpu_kernels[i]; i++)
        if (glow_cpu_takes(glow_cpu_kernels[i], t, n))
            return glow_cpu_kernels[i];
    return NULL;
}
