/* Choice of kernel and tuning parameters of an instruction. */

#include "codegen/cpu/kernels/choice.h"

#include <string.h>

#include "codegen/cpu/kernels/kernel.h"
#include "glow/ops.h"

#define MOST_COUNT (INT64_C(1) << 30)

const cpu_knob_def glow_cpu_knob_defs[CPU_KNOBS] = {
    [CPU_KNOB_FORM] = {"form", 2, 4},
    [CPU_KNOB_ROWS] = {"rows", 1, 64},
    [CPU_KNOB_VECTORS] = {"vectors", 1, 8},
    [CPU_KNOB_UNIT] = {"unit", 1, 64},
    [CPU_KNOB_LINES] = {"lines", 1, MOST_COUNT},
    [CPU_KNOB_TILES] = {"tiles", 1, MOST_COUNT},
    [CPU_KNOB_AHEAD] = {"ahead", 0, 64},
};

cpu_choice
glow_cpu_free_choice(const cpu_kernel *kernel)
{
    cpu_choice c = {.kernel = kernel};

    for (int i = 0; i < CPU_KNOBS; i++)
        c.value[i] = CPU_KNOB_FREE;
    return c;
}

int64_t
glow_cpu_knob(const cpu_target *t, cpu_knob k, int64_t otherwise)
{
    return t->choice && t->choice->value[k] != CPU_KNOB_FREE
               ? t->choice->value[k]
               : otherwise;
}

const char *
glow_cpu_choice_text(glow_arena *a, const cpu_choice *c)
{
    glow_buf b = {.arena = a};

    glow_buf_puts(&b, c->kernel->name);
    for (int i = 0; i < CPU_KNOBS; i++)
        if (c->value[i] != CPU_KNOB_FREE)
            glow_buf_printf(&b, " %s=%lld", glow_cpu_knob_defs[i].name,
                            (long long)c->value[i]);
    return b.text;
}

bool
glow_cpu_same_choice(const cpu_choice *a, const cpu_choice *b)
{
    return a->kernel == b->kernel &&
           memcmp(a->value, b->value, sizeof a->value) == 0;
}

void
glow_cpu_add_choice(cpu_choices *to, cpu_choice c)
{
    int at;

    for (int i = 0; i < to->count; i++)
        if (glow_cpu_same_choice(&to->at[i], &c))
            return;
    if (to->count == to->most && to->at[to->most - 1].cycles <= c.cycles)
        return;
    at = to->count < to->most ? to->count++ : to->most - 1;
    for (; at > 0 && to->at[at - 1].cycles > c.cycles; at--)
        to->at[at] = to->at[at - 1];
    to->at[at] = c;
}
