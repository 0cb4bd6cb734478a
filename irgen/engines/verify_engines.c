/*
 * verify-engines: check that the tokens of a placed program order all that must be
 * ordered.
 *
 *     copy @out %a, @in %x queue("load")
 *     relu @out %y, @in %a queue("mac")     E0338: it does not wait for the copy
 *
 * A replay with vector clocks (glow/engines.h): each read of a byte comes after its last
 * write of the text, and each write after all earlier reads and writes of that byte, in
 * every order that the queues may take.  Buffers that share bytes of a region are
 * compared by their bytes.  Tokens balance, as counters in hardware need, and the target
 * has the queues, the links and the pairs of tokens that the program uses.
 */

#include <string.h>

#include "glow/engines.h"
#include "glow/ops.h"
#include "irgen/engines/cycles.h"
#include "irgen/engines/hazards.h"
#include "irgen/engines/loads.h"
#include "irgen/spaces.h"

typedef struct verifier {
    glow_context *ctx;
    glow_arena *arena;
    const glow_target *target;
    glow_func *f;
    const glow_engines *e;
    bool ok;
} verifier;

static const char *
queue_text(const glow_node *n)
{
    return n->queue ? n->queue : "the host";
}

static void
check_hazard(void *user, glow_node *last, glow_node *n)
{
    verifier *v = user;

    if (glow_runs_before(v->e, last, n))
        return;
    v->ok =
        glow_error_at(v->ctx, n->span, "E0338",
                      "%%%s, %s on %s, touches bytes of %%%s, %s on %s, and "
                      "does not wait for it",
                      n->name, n->op->name, queue_text(n), last->name,
                      last->op->name, queue_text(last));
}

/* Tokens. */

static glow_node *
only_user(const verifier *v, const glow_node *token, const glow_op *op,
          bool *more)
{
    glow_node *found = NULL;

    (void)v;
    *more = false;
    GLOW_FOR_EACH_USE(u, token->out[0])
        if (u->user->op == op) {
            *more |= found != NULL;
            found = u->user;
        }
    return found;
}

/* Checks that each token has one signal and one wait. */
static void
check_balance(verifier *v, const glow_node *token)
{
    bool signals, waits;
    const glow_node *s = only_user(v, token, &glow_op_signal, &signals);
    const glow_node *w = only_user(v, token, &glow_op_wait, &waits);

    if (s && w && !signals && !waits)
        return;
    v->ok =
        glow_error_at(v->ctx, token->span, "E0339", "%%%s has %s", token->name,
                      signals ? "two signals"
                      : waits ? "two waits"
                      : !s    ? "no signal"
                              : "no wait");
}

/* By pair of queues: the turn of the last signal that was waited for. */
static void
check_order(verifier *v)
{
    int count = v->e->count;
    int64_t *last = GLOW_NEW_ARRAY(v->arena, int64_t, count *count);

    GLOW_FOR_EACH_NODE(n, v->f) {
        const glow_node *s;
        bool more;
        int from, to;
        int64_t turn;

        if (n->op != &glow_op_wait)
            continue;
        s = only_user(v, n->in[0]->def, &glow_op_signal, &more);
        if (!s)
            continue;
        from = v->e->engine[glow_number_of(&v->e->numbers, s)];
        to = v->e->engine[glow_number_of(&v->e->numbers, n)];
        turn = v->e->turn[glow_number_of(&v->e->numbers, s)];
        if (turn < last[from * count + to])
            v->ok = glow_error_at(
                v->ctx, n->span, "E0339",
                "%%%s waits for %%%s, after a wait for a later signal of %s",
                n->name, s->name, queue_text(s));
        last[from * count + to] = turn;
    }
}

/* The target. */

static void
check_pair(verifier *v, const glow_node *wait)
{
    const glow_target *t = v->target;
    bool more;
    const glow_node *s = only_user(v, wait->in[0]->def, &glow_op_signal, &more);

    if (!s || !s->queue || !wait->queue || t->n_tokens == 0 ||
        strcmp(s->queue, wait->queue) == 0)
        return;
    for (size_t i = 0; i < t->n_tokens; i++)
        if (strcmp(t->queues[t->tokens[i].from].name, s->queue) == 0 &&
            strcmp(t->queues[t->tokens[i].to].name, wait->queue) == 0)
            return;
    v->ok = glow_error_at(v->ctx, wait->span, "E0340",
                          "%%%s: '%s' may not wait for '%s'", wait->name,
                          wait->queue, s->queue);
}

static void
check_operands(verifier *v, const glow_node *n)
{
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        bool writes = i >= n->n_in;
        int k = writes ? i - n->n_in : i;
        const glow_value *x = writes ? n->out[k] : n->in[k];
        const char *space = x ? glow_unit_needs(v->target, n, k, writes) : NULL;
        const glow_space *has = space ? glow_buffer_space(v->target, x) : NULL;

        if (space && (!has || strcmp(has->name, space) != 0))
            v->ok = glow_error_at(
                v->ctx, n->span, "E0340",
                "%s %%%s has %%%s in '%s', but its unit has it in '%s'",
                n->op->name, n->name, x->def->name,
                has ? has->name : "no space", space);
    }
}

static void
check_queue(verifier *v, const glow_node *n)
{
    engine_work w = glow_engine_work(v->target, n);

    if (!n->queue)
        return;
    if (!glow_target_queue(v->target, n->queue)) {
        v->ok =
            glow_error_at(v->ctx, n->span, "E0340",
                          "%%%s is on '%s', which is no queue of the target",
                          n->name, n->queue);
        return;
    }
    if (n->op == &glow_op_wait)
        check_pair(v, n);
    else if (n->op == &glow_op_signal)
        return;
    else if (!w.queue || strcmp(w.queue->name, n->queue) != 0)
        v->ok = glow_error_at(v->ctx, n->span, "E0340",
                              "%s %%%s is on '%s', but is work of %s",
                              n->op->name, n->name, n->queue,
                              w.queue ? w.queue->name : "the host");
    else
        check_operands(v, n);
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    verifier v = {.ctx = glow_run_context(run),
                  .arena = glow_run_scratch(run),
                  .target = glow_run_target(run),
                  .f = f,
                  .ok = true};

    if (!glow_has_queues(f))
        return GLOW_UNCHANGED;
    v.e = glow_engines_of(v.arena, f);
    GLOW_FOR_EACH_NODE(n, f) {
        if (glow_is_token(n))
            check_balance(&v, n);
        if (v.target->n_queues > 0)
            check_queue(&v, n);
    }
    check_order(&v);
    glow_each_hazard(v.arena, f, &v.e->numbers, v.e->engine, v.e->count,
                     check_hazard, &v);
    return v.ok ? GLOW_UNCHANGED : GLOW_FAILED;
}

const glow_pass glow_pass_verify_engines = {
    .name = "verify-engines",
    .summary = "check that tokens order all that queues do to the same bytes",
    .level = GLOW_PROGRAM,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "vector clocks (Fidge 1988, Mattern 1989)",
};
