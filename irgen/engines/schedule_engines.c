/*
 * schedule-engines: give each instruction to the queue that does it, and make queues
 * wait for one another where they touch the same bytes.
 *
 *     copy @out %a, @in %x          copy @out %a, @in %x queue("load")
 *     acme.mac @out %s, @in %a  =>  signal @out %t queue("load")
 *                                   wait @in %t queue("mac")
 *                                   acme.mac @out %s, @in %a queue("mac")
 *
 * A copy or Pad between two spaces is work of the queue of their link, the operator of a
 * unit that of the unit's queue, all else of the host.  The order of the text stays, and
 * is one of those that the tokens allow.  A token is made for a read after a write, a
 * write after a read and a write after a write of bytes of a region by two queues,
 * unless an earlier token orders the two already (vector clocks): so that none is
 * redundant.  Where the target lets two queues not wait for one another, a third stands
 * between.
 *
 * Deadlock: none, because each signal stands before its wait in the text.  Between two
 * queues, the n-th signal belongs to the n-th wait, as counting tokens need.
 */

#include "glow/ops.h"
#include "irgen/engines/cycles.h"
#include "irgen/engines/hazards.h"
#include "irgen/engines/loads.h"

typedef struct scheduler {
    glow_pass_run *run;
    const glow_target *target;
    glow_arena *arena;
    glow_func *f;
    glow_numbering numbers;
    int count;   /* of engines: the host, then the queues of the target */
    int *engine; /* by number */
    int64_t
        *clock; /* by number, then by engine: 1 + the last one done before */
    int64_t *known;   /* by engine, then by engine: the last one waited for */
    glow_node **last; /* by engine: the last instruction so far */
    glow_node *now;
    bool ok;
} scheduler;

static int64_t *
row(const scheduler *s, int64_t *table, int64_t i)
{
    return table + i * s->count;
}

static int64_t
number(const scheduler *s, const glow_node *n)
{
    return glow_number_of(&s->numbers, n);
}

static void
join(const scheduler *s, int64_t *clock, const int64_t *with)
{
    for (int i = 0; i < s->count; i++)
        clock[i] = clock[i] > with[i] ? clock[i] : with[i];
}

/* Tokens. */

static const char *
name_of(const scheduler *s, int engine)
{
    return engine ? s->target->queues[engine - 1].name : NULL;
}

static bool
may_wait(const scheduler *s, int from, int to)
{
    const glow_target *t = s->target;

    for (size_t i = 0; i < t->n_tokens; i++)
        if ((int)t->tokens[i].from + 1 == from &&
            (int)t->tokens[i].to + 1 == to)
            return true;
    return from == 0 || to == 0 || t->n_tokens == 0;
}

/* A signal behind `from` and a wait before the instruction at hand. */
static void
add_token(scheduler *s, glow_node *from, int engine, int to)
{
    const glow_type *type = glow_type_get(
        s->f->module->ctx, glow_type_of(GLOW_TOKEN, (glow_dims){0}));
    glow_node *token, *signal, *wait, *free;
    glow_value *v;

    token = glow_node_new(s->f, &glow_op_alloc,
                          glow_derived_name(s->f, from->name, "done"), NULL, 0,
                          &type, 1, &(const glow_in_space){.space = ""});
    v = token->out[0];
    signal = glow_instr_new(s->f, &glow_op_signal,
                            glow_derived_name(s->f, token->name, "signal"), &v,
                            1, NULL, 0, NULL);
    wait = glow_instr_new(s->f, &glow_op_wait,
                          glow_derived_name(s->f, token->name, "wait"), NULL, 0,
                          &v, 1, NULL);
    free = glow_instr_new(s->f, &glow_op_dealloc,
                          glow_derived_name(s->f, token->name, "free"), &v, 1,
                          NULL, 0, NULL);
    glow_set_queue(signal, name_of(s, engine));
    glow_set_queue(wait, name_of(s, to));
    glow_node_move_after(signal, from);
    glow_node_move_before(token, signal);
    glow_node_move_before(wait, s->now);
    glow_node_move_before(free, s->now);
    glow_run_count(s->run, "tokens", 1);
}

/* Lets engine `to` wait for instruction `n` of another engine, by one token. */
static void
wait_for(scheduler *s, glow_node *n, int to)
{
    int from = s->engine[number(s, n)];
    int64_t *known = row(s, s->known, to);

    add_token(s, n, from, to);
    join(s, known, row(s, s->clock, number(s, n)));
    if (known[from] < number(s, n) + 1)
        known[from] = number(s, n) + 1;
}

/* A queue that may wait for `from`, and that `to` may wait for; 0: there is none. */
static int
find_between(const scheduler *s, int from, int to)
{
    for (int k = 1; k < s->count; k++)
        if (k != from && k != to && may_wait(s, from, k) && may_wait(s, k, to))
            return k;
    return 0;
}

static void
order(scheduler *s, glow_node *n, int to)
{
    int from = s->engine[number(s, n)], between;

    if (from == to || from == 0 ||
        row(s, s->known, to)[from] >= number(s, n) + 1)
        return;
    if (may_wait(s, from, to)) {
        wait_for(s, n, to);
        return;
    }
    between = find_between(s, from, to);
    if (!between || !s->last[between]) {
        s->ok =
            glow_error_at(s->f->module->ctx, s->now->span, "E0337",
                          "%s %%%s on '%s' needs what %%%s does on '%s', but "
                          "no token leads from there",
                          s->now->op->name, s->now->name, name_of(s, to),
                          n->name, name_of(s, from));
        return;
    }
    if (row(s, s->known, between)[from] < number(s, n) + 1)
        wait_for(s, n, between);
    else if (row(s, s->clock, number(s, s->last[between]))[from] >=
             number(s, n) + 1) {
        wait_for(s, s->last[between], to);
        return;
    }
    /* a signal behind that wait */
    add_token(s, s->now->prev, between, to);
    join(s, row(s, s->known, to), row(s, s->known, between));
    row(s, s->known, to)[between] = number(s, s->last[between]) + 1;
}

/* The hazards of all instructions, kept until tokens are made. */
typedef struct need {
    glow_node *last, *n;
    struct need *next;
} need;

typedef struct collector {
    glow_arena *arena;
    const glow_numbering *numbers;
    need **needs; /* by number */
} collector;

static void
collect(void *user, glow_node *last, glow_node *n)
{
    collector *c = user;
    need *d = GLOW_NEW(c->arena, need);
    need **at = &c->needs[glow_number_of(c->numbers, n)];

    *d = (need){last, n, NULL};
    /* the latest first, which often orders the others */
    while (*at && glow_number_of(c->numbers, (*at)->last) >
                      glow_number_of(c->numbers, last))
        at = &(*at)->next;
    d->next = *at;
    *at = d;
}

static void
schedule(scheduler *s, glow_node **nodes, int64_t count, need **needs)
{
    for (int64_t i = 0; i < count && s->ok; i++) {
        int k = s->engine[i];

        if (k < 0)
            continue;
        s->now = nodes[i];
        join(s, row(s, s->known, k), row(s, s->known, 0)); /* issued */
        for (const need *d = needs[i]; d && s->ok; d = d->next)
            order(s, d->last, k);
        glow_set_queue(nodes[i], name_of(s, k));
        join(s, row(s, s->clock, i), row(s, s->known, k));
        row(s, s->clock, i)[k] = i;
        row(s, s->known, k)[k] = i + 1;
        s->last[k] = nodes[i];
    }
}

static int
engine_of(const scheduler *s, const glow_node *n)
{
    engine_work w;

    if (!glow_is_work(n))
        return -1;
    w = glow_engine_work(s->target, n);
    return w.queue ? (int)(w.queue - s->target->queues) + 1 : 0;
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    scheduler s = {.run = run,
                   .target = glow_run_target(run),
                   .arena = glow_run_scratch(run),
                   .f = f,
                   .ok = true};
    collector c = {.arena = s.arena, .numbers = &s.numbers};
    int64_t count = f->count, i = 0;
    glow_node **nodes;
    bool any = false;

    if (glow_is_body(f) || s.target->n_queues == 0 || glow_has_queues(f))
        return GLOW_UNCHANGED;
    s.count = (int)s.target->n_queues + 1;
    s.numbers = glow_number_nodes(s.arena, f);
    s.engine = GLOW_NEW_ARRAY(s.arena, int, count);
    s.clock = GLOW_NEW_ARRAY(s.arena, int64_t, count *s.count);
    s.known = GLOW_NEW_ARRAY(s.arena, int64_t, s.count *s.count);
    s.last = GLOW_NEW_ARRAY(s.arena, glow_node *, s.count);
    nodes = GLOW_NEW_ARRAY(s.arena, glow_node *, count);
    c.needs = GLOW_NEW_ARRAY(s.arena, need *, count);
    GLOW_FOR_EACH_NODE(n, f) {
        nodes[i] = n;
        s.engine[i] = engine_of(&s, n);
        any |= s.engine[i++] > 0;
    }
    if (!any)
        return GLOW_UNCHANGED;
    glow_each_hazard(s.arena, f, &s.numbers, s.engine, s.count, collect, &c);
    schedule(&s, nodes, count, c.needs);
    return s.ok ? GLOW_CHANGED : GLOW_FAILED;
}

const glow_pass glow_pass_schedule_engines = {
    .name = "schedule-engines",
    .summary = "give instructions to the queues of the target, with tokens",
    .level = GLOW_PLACED,
    .preserves = GLOW_EXACT,
    .run = run,
    .source =
        "vector clocks (Fidge 1988, Mattern 1989); VTA (arXiv 1807.04188)",
};
