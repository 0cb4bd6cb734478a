/* The rate of each step. */

#include <math.h>
#include <string.h>

#include "tools/glow-train/train.h"

static bool
is_schedule(const train *t, const char *name)
{
    return strcmp(t->values.schedule, name) == 0;
}

int
check_schedule(train *t)
{
    const train_values *v = &t->values;

    if (is_schedule(t, "step") != (v->every > 0) || v->every < 0)
        return tool_usage(&t->tool, "add -schedule=step -every=N",
                          "-every says after how many steps -schedule=step "
                          "changes the rate");
    return TOOL_GO_ON;
}

float
rate_at(const train *t, int64_t step)
{
    const train_values *v = &t->values;
    double rate = v->rate, pi = acos(-1.0);

    if (step < v->warmup)
        return (float)(rate * (double)(step + 1) / (double)v->warmup);
    if (is_schedule(t, "step"))
        for (int64_t n = step / v->every; n > 0 && rate > 0; n--)
            rate *= v->factor;
    else if (is_schedule(t, "cosine"))
        rate *= 0.5 + 0.5 * cos(pi * (double)(step - v->warmup) /
                                (double)(t->total - v->warmup));
    return (float)rate;
}
