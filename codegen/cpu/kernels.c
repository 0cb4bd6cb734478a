/* The table of kernels. */

#include "codegen/cpu/kernel.h"
#include "codegen/cpu/kernels/list.h"

#define DECLARE(name) extern const cpu_kernel glow_cpu_##name;
CPU_KERNELS(DECLARE)

#define ENTRY(name) &glow_cpu_##name,
const cpu_kernel *const glow_cpu_kernels[] = {CPU_KERNELS(ENTRY) NULL};

const cpu_kernel *
glow_cpu_find_kernel(const cpu_target *t, const glow_node *n)
{
    for (int i = 0; glow_cpu_kernels[i]; i++) {
        const cpu_kernel *k = glow_cpu_kernels[i];

        if (k->op == n->op && (!k->takes || k->takes(t, n)))
            return k;
    }
    return NULL;
}
