/* The table of kernels. */

#include "codegen/cpu/kernels/kernel.h"
#include "codegen/cpu/plan/list.h"
#include "codegen/cpu/plan/stack.h"

#define DECLARE(name) extern const cpu_kernel glow_cpu_##name;
CPU_KERNELS(DECLARE)

#define ENTRY(name) &glow_cpu_##name,
const cpu_kernel *const glow_cpu_kernels[] = {CPU_KERNELS(ENTRY) NULL};

int64_t
glow_cpu_room(int64_t count, int64_t bytes)
{
    int64_t n;

    return glow_mul_overflow(count, bytes, &n) ? INT64_MAX : n;
}

static bool
all_dense(glow_value *const *v, int count)
{
    for (int i = 0; i < count; i++)
        if (v[i] && v[i]->type->strides.rank)
            return false;
    return true;
}

/* Does all of `n` lie in a way that the kernel can work on? */
static bool
lies_well(const cpu_kernel *k, const glow_node *n)
{
    glow_dims step;

    if (!(k->strides & CPU_STRIDES_IN) && !all_dense(n->in, n->n_in))
        return false;
    return (k->strides & CPU_STRIDES_OUT) || all_dense(n->out, n->n_out) ||
           (k->stacks && glow_cpu_rows(n->out[0]->type, &step) &&
            all_dense(n->out + 1, n->n_out - 1));
}

bool
glow_cpu_takes(const cpu_kernel *k, const cpu_target *t, const glow_node *n)
{
    return k->op == n->op && lies_well(k, n) && (!k->takes || k->takes(t, n));
}

const cpu_kernel *
glow_cpu_find_kernel(const cpu_target *t, const glow_node *n)
{
    for (int i = 0; glow_cpu_kernels[i]; i++)
        if (glow_cpu_takes(glow_cpu_kernels[i], t, n))
            return glow_cpu_kernels[i];
    return NULL;
}
