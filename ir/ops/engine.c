/*
 * Events by which the queues of a program wait for one another.  An interpreter
 * that runs instructions in the order of the text needs nothing else: a signal
 * stands before its waits.
 */

#include "glow/graph.h"
#include "ir/ops/common.h"

static bool
signal_infer(const glow_node *n, glow_type out[])
{
    return glow_give(n, glow_type_of(GLOW_TOKEN, (glow_dims){0}), &out[0]);
}

static bool
signal_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    (void)n, (void)in, (void)scratch;
    *(uint8_t *)out[0]->data = 1;
    return true;
}

const glow_op glow_op_signal = {
    .name = "Signal",
    .summary = "say that the instructions before it in its queue are done",
    .out = {{"Token", GLOW_TENSOR, "the event"}},
    .traits = GLOW_PROGRAM_ONLY,
    .infer = signal_infer,
    .eval = signal_eval,
    .doc = "Each token is signalled once.",
    .source = "token queues of VTA (arXiv 1807.04188)",
};

static bool
wait_infer(const glow_node *n, glow_type out[])
{
    (void)out;
    return glow_admit(n, 0, GLOW_CLASS_TOKEN) && glow_check_rank(n, 0, 0);
}

static bool
wait_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    (void)n, (void)in, (void)out, (void)scratch;
    return true;
}

const glow_op glow_op_wait = {
    .name = "Wait",
    .summary = "run what follows in its queue after an event",
    .in = {{"Token", GLOW_TENSOR, "what a Signal signals"}},
    .traits = GLOW_PROGRAM_ONLY,
    .infer = wait_infer,
    .eval = wait_eval,
    .doc = "Without a queue the host waits, and issues nothing before.",
    .source = "token queues of VTA (arXiv 1807.04188)",
};
