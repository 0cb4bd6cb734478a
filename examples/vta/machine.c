/* The simulator: state of the scratchpads, effects of instructions, and two orders. */

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

/* State of an element of a scratchpad. */
enum { UNSET, VALID, IN_FLIGHT };

/* Tokens between neighbours: the cycles at which they were pushed. */
typedef struct tokens {
    int64_t *at;
    int64_t popped, pushed;
} tokens;

/* Queues of tokens, by their ends. */
enum {
    LOAD_TO_COMPUTE,
    COMPUTE_TO_LOAD,
    COMPUTE_TO_STORE,
    STORE_TO_COMPUTE,
    QUEUES
};

typedef struct unit {
    int64_t *queue; /* instructions passed to it, in order */
    int64_t *fetched_at;
    int64_t passed, started;
    int64_t free_at;
    int64_t *ends; /* of each instruction started */
    bool is_running;
    bool late; /* random order: the effect comes at the end, not at the start */
} unit;

struct vta_machine {
    vta_config config;
    uint32_t *uop;
    int8_t (*wgt)[VTA_LANES * VTA_LANES];
    int8_t (*inp)[VTA_LANES];
    int32_t (*acc)[VTA_LANES];
    uint8_t *state[VTA_MEMORIES];
    /* Of the run at hand. */
    uint8_t *dram;
    int64_t bytes;
    vta_instruction *program;
    int64_t count, fetched, fetch_clock, port_free;
    unit units[VTA_UNITS];
    tokens tokens[QUEUES];
    vta_report *report;
};

static bool
fault(vta_machine *m, int64_t i, const char *fmt, ...)
{
    char text[120];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(m->report->fault, sizeof m->report->fault,
             "instruction %" PRId64 ": %s", i, text);
    return false;
}

/* Memories. */

bool
vta_config_is_possible(const vta_config *c)
{
    static const int64_t most[] = {VTA_MAX_UOPS, 1 << 10, 1 << 11, 1 << 11};

    for (int k = VTA_UOP; k <= VTA_ACC; k++)
        if (c->elements[k] < 1 || c->elements[k] > most[k])
            return false;
    return c->depth >= 1 && c->outstanding >= 1 && c->setup >= 0 &&
           c->bytes_per_cycle > 0;
}

vta_machine *
vta_machine_new(const vta_config *c)
{
    vta_machine *m;

    if (!vta_config_is_possible(c))
        return NULL;
    m = calloc(1, sizeof *m);
    m->config = *c;
    m->uop = malloc((size_t)c->elements[VTA_UOP] * sizeof *m->uop);
    m->wgt = malloc((size_t)c->elements[VTA_WGT] * sizeof *m->wgt);
    m->inp = malloc((size_t)c->elements[VTA_INP] * sizeof *m->inp);
    m->acc = malloc((size_t)c->elements[VTA_ACC] * sizeof *m->acc);
    for (int k = VTA_UOP; k <= VTA_ACC; k++)
        m->state[k] = malloc((size_t)c->elements[k]);
    vta_machine_poison(m);
    return m;
}

void
vta_machine_free(vta_machine *m)
{
    if (!m)
        return;
    free(m->uop);
    free(m->wgt);
    free(m->inp);
    free(m->acc);
    for (int k = VTA_UOP; k <= VTA_ACC; k++)
        free(m->state[k]);
    free(m);
}

void
vta_machine_poison(vta_machine *m)
{
    const int64_t *n = m->config.elements;

    memset(m->uop, VTA_POISON, (size_t)n[VTA_UOP] * sizeof *m->uop);
    memset(m->wgt, VTA_POISON, (size_t)n[VTA_WGT] * sizeof *m->wgt);
    memset(m->inp, VTA_POISON, (size_t)n[VTA_INP] * sizeof *m->inp);
    memset(m->acc, VTA_POISON, (size_t)n[VTA_ACC] * sizeof *m->acc);
    for (int k = VTA_UOP; k <= VTA_ACC; k++)
        memset(m->state[k], UNSET, (size_t)n[k]);
}

/* The scratchpad that backs a memory of an instruction. */
static vta_memory
storage_of(vta_memory k)
{
    return k == VTA_OUT || k == VTA_ACC8 ? VTA_ACC : k;
}

static uint8_t *
element(vta_machine *m, vta_memory k, int64_t at)
{
    switch (k) {
    case VTA_UOP:
        return (uint8_t *)&m->uop[at];
    case VTA_WGT:
        return (uint8_t *)m->wgt[at];
    case VTA_INP:
        return (uint8_t *)m->inp[at];
    default:
        return (uint8_t *)m->acc[at];
    }
}

static bool
may_read(vta_machine *m, int64_t i, vta_memory k, int64_t at)
{
    static const char *const names[] = {"micro-operation", "weights", "input",
                                        "accumulator"};

    if (at >= m->config.elements[k])
        return fault(m, i, "%s %" PRId64 " of %" PRId64, names[k], at,
                     m->config.elements[k]);
    if (m->state[k][at] != VALID)
        return fault(m, i, "%s %" PRId64 " is read, but %s", names[k], at,
                     m->state[k][at] == UNSET ? "nothing wrote it in this run"
                                              : "it is being loaded");
    return true;
}

/* Loads and stores. */

static bool
in_range(vta_machine *m, int64_t i, const vta_instruction *x)
{
    vta_memory k = storage_of(x->memory);
    int64_t bytes = vta_element_bytes(x->memory);
    int64_t width = x->left + x->columns + x->right;
    int64_t height = x->above + x->rows + x->below;
    int64_t last = x->rows && x->columns
                       ? x->dram + (x->rows - 1) * x->stride + x->columns
                       : 0;

    if (x->scratchpad + width * height > m->config.elements[k])
        return fault(m, i, "a transfer ends at element %" PRId64 " of %" PRId64,
                     x->scratchpad + width * height, m->config.elements[k]);
    if (last * bytes > m->bytes)
        return fault(m, i, "a transfer ends at byte %" PRId64 " of %" PRId64,
                     last * bytes, m->bytes);
    return true;
}

static bool
begin_load(vta_machine *m, int64_t i, const vta_instruction *x)
{
    int64_t n =
        (x->left + x->columns + x->right) * (x->above + x->rows + x->below);

    if (!in_range(m, i, x))
        return false;
    memset(m->state[storage_of(x->memory)] + x->scratchpad, IN_FLIGHT,
           (size_t)n);
    return true;
}

static void
load_element(vta_machine *m, const vta_instruction *x, int64_t to,
             const uint8_t *from)
{
    uint8_t *at = element(m, x->memory, to);
    int fill = x->pad_least ? -128 : 0;

    if (x->memory == VTA_ACC || x->memory == VTA_ACC8)
        for (int k = 0; k < VTA_LANES; k++) {
            int32_t v = fill;

            if (from && x->memory == VTA_ACC)
                memcpy(&v, from + 4 * k, 4);
            else if (from)
                v = (int8_t)from[k];
            memcpy(at + 4 * k, &v, 4);
        }
    else if (from)
        memcpy(at, from, (size_t)vta_element_bytes(x->memory));
    else
        memset(at, fill, (size_t)vta_element_bytes(x->memory));
}

static void
end_load(vta_machine *m, const vta_instruction *x)
{
    int64_t width = x->left + x->columns + x->right;
    int64_t height = x->above + x->rows + x->below;
    int64_t to = x->scratchpad, bytes = vta_element_bytes(x->memory);
    vta_memory k = storage_of(x->memory);

    for (int64_t r = 0; r < height; r++)
        for (int64_t c = 0; c < width; c++, to++) {
            int64_t row = r - x->above, column = c - x->left;
            bool is_pad =
                row < 0 || row >= x->rows || column < 0 || column >= x->columns;

            load_element(m, x, to,
                         is_pad
                             ? NULL
                             : m->dram + (x->dram + row * x->stride + column) *
                                             bytes);
            m->state[k][to] = VALID;
        }
}

static bool
store(vta_machine *m, int64_t i, const vta_instruction *x)
{
    int64_t from = x->scratchpad;

    if (x->above + x->below + x->left + x->right)
        return fault(m, i, "a store with padding");
    if (!in_range(m, i, x))
        return false;
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->columns; c++, from++) {
            uint8_t *to = m->dram + (x->dram + r * x->stride + c) * VTA_LANES;

            if (!may_read(m, i, VTA_ACC, from))
                return false;
            for (int k = 0; k < VTA_LANES; k++)
                to[k] = (uint8_t)m->acc[from][k];
        }
    return true;
}

/* Gemm and alu. */

static void
multiply(int32_t *acc, const int8_t *inp, const int8_t *wgt)
{
    for (int j = 0; j < VTA_LANES; j++) {
        int32_t sum = 0;

        for (int k = 0; k < VTA_LANES; k++)
            sum += inp[k] * wgt[j * VTA_LANES + k];
        acc[j] = (int32_t)((uint32_t)acc[j] + (uint32_t)sum);
    }
}

static int32_t
apply(vta_function f, int32_t a, int32_t b)
{
    switch (f) {
    case VTA_MIN:
        return a < b ? a : b;
    case VTA_MAX:
        return a > b ? a : b;
    case VTA_ADD:
        return (int32_t)((uint32_t)a + (uint32_t)b);
    case VTA_SHIFT:
        return b >= 0 ? a >> (b & 31) : (int32_t)((uint32_t)a << (-b & 31));
    case VTA_MUL:
        return (int32_t)((uint32_t)a * (uint32_t)b);
    case VTA_ROUND:
        return vta_round(a, b);
    default:
        return b;
    }
}

static bool
gemm_step(vta_machine *m, int64_t i, const vta_instruction *x, int64_t d,
          int64_t s, int64_t w)
{
    if (x->reset) {
        if (d >= m->config.elements[VTA_ACC])
            return may_read(m, i, VTA_ACC, d);
        memset(m->acc[d], 0, sizeof m->acc[d]);
        m->state[VTA_ACC][d] = VALID;
        return true;
    }
    if (!may_read(m, i, VTA_ACC, d) || !may_read(m, i, VTA_INP, s) ||
        !may_read(m, i, VTA_WGT, w))
        return false;
    multiply(m->acc[d], m->inp[s], m->wgt[w]);
    return true;
}

static bool
alu_step(vta_machine *m, int64_t i, const vta_instruction *x, int64_t d,
         int64_t s)
{
    bool reads = x->function != VTA_MOVE;

    if ((reads || d >= m->config.elements[VTA_ACC]) &&
        !may_read(m, i, VTA_ACC, d))
        return false;
    if (!x->has_immediate && !may_read(m, i, VTA_ACC, s))
        return false;
    for (int k = 0; k < VTA_LANES; k++)
        m->acc[d][k] = apply(x->function, m->acc[d][k],
                             x->has_immediate ? x->immediate : m->acc[s][k]);
    m->state[VTA_ACC][d] = VALID;
    return true;
}

static bool
compute(vta_machine *m, int64_t i, const vta_instruction *x)
{
    for (int64_t y = 0; y < x->outer; y++)
        for (int64_t z = 0; z < x->inner; z++)
            for (int64_t u = x->first; u < x->end; u++) {
                vta_uop o;
                int64_t d, s;

                if (!may_read(m, i, VTA_UOP, u))
                    return false;
                o = vta_decode_uop(m->uop[u]);
                d = o.dst + y * x->dst_outer + z * x->dst_inner;
                s = o.src + y * x->src_outer + z * x->src_inner;
                if (x->opcode == VTA_GEMM
                        ? !gemm_step(m, i, x, d, s,
                                     o.wgt + y * x->wgt_outer +
                                         z * x->wgt_inner)
                        : !alu_step(m, i, x, d, s))
                    return false;
            }
    return true;
}

/* Effects of an instruction at its start and at its end. */

static bool
effect(vta_machine *m, int64_t i)
{
    const vta_instruction *x = &m->program[i];

    switch (x->opcode) {
    case VTA_LOAD:
        end_load(m, x);
        return true;
    case VTA_STORE:
        return store(m, i, x);
    case VTA_FINISH:
        return true;
    default:
        return compute(m, i, x);
    }
}

static void
count(vta_machine *m, const vta_instruction *x)
{
    vta_report *r = m->report;

    r->instructions++;
    r->bytes[vta_unit_of(x)] += vta_moved_bytes(x);
    if (x->opcode == VTA_GEMM && !x->reset)
        r->gemm_steps += vta_steps(x);
    else
        r->alu_steps += vta_steps(x);
}

/* Tokens. */

/* read_program refused tokens of neighbours that are not there. */
static int
queue_of(vta_unit u, bool next, bool pop)
{
    static const int pops[VTA_UNITS][2] = {
        {0, COMPUTE_TO_LOAD},
        {LOAD_TO_COMPUTE, STORE_TO_COMPUTE},
        {COMPUTE_TO_STORE, 0},
    };
    static const int pushes[VTA_UNITS][2] = {
        {0, LOAD_TO_COMPUTE},
        {COMPUTE_TO_LOAD, COMPUTE_TO_STORE},
        {STORE_TO_COMPUTE, 0},
    };

    return (pop ? pops : pushes)[u][next];
}

/* The cycle at which all tokens that `x` pops are there; -1: one is not pushed. */
static int64_t
tokens_at(const vta_machine *m, vta_unit u, const vta_instruction *x)
{
    int64_t at = 0;

    for (int next = 0; next < 2; next++) {
        const tokens *t;

        if (!(next ? x->pop_next : x->pop_previous))
            continue;
        t = &m->tokens[queue_of(u, next, true)];
        if (t->popped == t->pushed)
            return -1;
        at = t->at[t->popped] > at ? t->at[t->popped] : at;
    }
    return at;
}

static void
pop_tokens(vta_machine *m, vta_unit u, const vta_instruction *x)
{
    for (int next = 0; next < 2; next++)
        if (next ? x->pop_next : x->pop_previous)
            m->tokens[queue_of(u, next, true)].popped++;
}

static void
push_tokens(vta_machine *m, vta_unit u, const vta_instruction *x, int64_t at)
{
    for (int next = 0; next < 2; next++)
        if (next ? x->push_next : x->push_previous) {
            tokens *t = &m->tokens[queue_of(u, next, false)];

            t->at[t->pushed++] = at;
        }
}

/* Fetch: one instruction a cycle, in order, while the queue of its unit has room. */
static void
fetch(vta_machine *m, int64_t now)
{
    for (; m->fetched < m->count; m->fetched++) {
        unit *u = &m->units[vta_unit_of(&m->program[m->fetched])];

        if (u->passed - u->started >= m->config.depth)
            return;
        m->fetch_clock = (m->fetch_clock > now ? m->fetch_clock : now) + 1;
        u->fetched_at[u->passed] = m->fetch_clock;
        u->queue[u->passed++] = m->fetched;
    }
}

/* The earliest cycle at which `u` can start its next instruction; -1: none. */
static int64_t
ready_at(const vta_machine *m, vta_unit k)
{
    const unit *u = &m->units[k];
    int64_t at, behind = u->started - m->config.outstanding;

    if (u->started == u->passed)
        return -1;
    at = tokens_at(m, k, &m->program[u->queue[u->started]]);
    if (at < 0)
        return -1;
    if (at < u->fetched_at[u->started])
        at = u->fetched_at[u->started];
    if (at < u->free_at)
        at = u->free_at;
    return behind >= 0 && at < u->ends[behind] ? u->ends[behind] : at;
}

/* The cycle at which an instruction that starts at `now` ends. */
static int64_t
end_of(vta_machine *m, const vta_instruction *x, int64_t now)
{
    int64_t bytes = vta_moved_bytes(x), steps = vta_steps(x);
    int64_t first;

    if (x->opcode != VTA_LOAD && x->opcode != VTA_STORE)
        return now + (steps > 1 ? steps : 1);
    if (!bytes) { /* padding alone */
        int64_t n =
            (x->left + x->columns + x->right) * (x->above + x->rows + x->below);

        return now + (n > 1 ? n : 1);
    }
    first = now + m->config.setup;
    if (first < m->port_free)
        first = m->port_free;
    m->port_free =
        first + (int64_t)ceil((double)bytes / m->config.bytes_per_cycle);
    return m->port_free;
}

static bool
start_timed(vta_machine *m, vta_unit k, int64_t now)
{
    unit *u = &m->units[k];
    int64_t i = u->queue[u->started], end, last;
    const vta_instruction *x = &m->program[i];

    if (m->dram &&
        ((x->opcode == VTA_LOAD && !begin_load(m, i, x)) || !effect(m, i)))
        return false;
    last = u->started ? u->ends[u->started - 1] : 0;
    end = end_of(m, x, now);
    if (end < last)
        end = last;
    m->report->busy[k] += end - (now > last ? now : last);
    u->ends[u->started++] = end;
    u->free_at = k == VTA_COMPUTER ? end : now + 1;
    pop_tokens(m, k, x);
    push_tokens(m, k, x, end);
    count(m, x);
    fetch(m, now);
    return true;
}

static bool
run_timed(vta_machine *m)
{
    int64_t last = 0;

    for (;;) {
        int64_t best = -1;
        int who = -1;

        for (int k = 0; k < VTA_UNITS; k++) {
            int64_t at = ready_at(m, (vta_unit)k);

            if (at >= 0 && (who < 0 || at < best)) {
                best = at;
                who = k;
            }
        }
        if (who < 0)
            break;
        if (!start_timed(m, (vta_unit)who, best))
            return false;
    }
    for (int k = 0; k < VTA_UNITS; k++) {
        const unit *u = &m->units[k];

        if (u->started && u->ends[u->started - 1] > last)
            last = u->ends[u->started - 1];
    }
    m->report->cycles += last;
    return true;
}

/* A random order. */

static uint64_t
draw(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

static bool
step_random(vta_machine *m, vta_unit k, uint64_t *state)
{
    unit *u = &m->units[k];
    int64_t i = u->queue[u->started];
    const vta_instruction *x = &m->program[i];

    if (!u->is_running) {
        u->is_running = true;
        u->late = x->opcode == VTA_LOAD || draw(state, 2);
        pop_tokens(m, k, x);
        if (x->opcode == VTA_LOAD && !begin_load(m, i, x))
            return false;
        return u->late || effect(m, i);
    }
    u->is_running = false;
    u->started++;
    if (u->late && !effect(m, i))
        return false;
    push_tokens(m, k, x, 0);
    count(m, x);
    fetch(m, 0);
    return true;
}

static bool
run_random(vta_machine *m, uint64_t seed)
{
    uint64_t state = seed;

    for (;;) {
        vta_unit can[VTA_UNITS];
        uint64_t n = 0;

        for (int k = 0; k < VTA_UNITS; k++) {
            unit *u = &m->units[k];

            if (u->started < u->passed &&
                (u->is_running ||
                 tokens_at(m, (vta_unit)k, &m->program[u->queue[u->started]]) >=
                     0))
                can[n++] = (vta_unit)k;
        }
        if (!n)
            return true;
        if (!step_random(m, can[draw(&state, n)], &state))
            return false;
    }
}

/* A run. */

static bool
read_program(vta_machine *m, const vta_word *program, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const vta_instruction *x = &m->program[i];
        vta_unit u;

        if (!vta_decode(program[i], &m->program[i]))
            return fault(m, i, "no instruction");
        u = vta_unit_of(x);
        if ((u == VTA_LOADER && (x->pop_previous || x->push_previous)) ||
            (u == VTA_STORER && (x->pop_next || x->push_next)))
            return fault(m, i, "a token of no neighbour");
    }
    if (!n || m->program[n - 1].opcode != VTA_FINISH)
        return fault(m, n, "the program does not finish");
    return true;
}

/* All instructions ran, and no token is left. */
static bool
check_end(vta_machine *m)
{
    static const char *const names[] = {"load to compute", "compute to load",
                                        "compute to store", "store to compute"};

    for (int k = 0; k < VTA_UNITS; k++) {
        const unit *u = &m->units[k];

        if (u->started < u->passed)
            return fault(m, u->queue[u->started],
                         "waits for a token that never comes");
    }
    for (int k = 0; k < QUEUES; k++)
        if (m->tokens[k].popped < m->tokens[k].pushed)
            return fault(m, m->count - 1, "%" PRId64 " tokens from %s are left",
                         m->tokens[k].pushed - m->tokens[k].popped, names[k]);
    return true;
}

bool
vta_machine_run(vta_machine *m, uint8_t *dram, int64_t bytes,
                const vta_word *program, int64_t n, uint64_t seed,
                vta_report *r)
{
    size_t room = (size_t)n + 1;
    bool ok;

    m->dram = dram;
    m->bytes = bytes;
    m->count = n;
    m->fetched = m->fetch_clock = m->port_free = 0;
    m->report = r;
    m->program = malloc(room * sizeof *m->program);
    for (int k = 0; k < VTA_UNITS; k++)
        m->units[k] = (unit){.queue = malloc(room * sizeof(int64_t)),
                             .fetched_at = malloc(room * sizeof(int64_t)),
                             .ends = malloc(room * sizeof(int64_t))};
    for (int k = 0; k < QUEUES; k++)
        m->tokens[k] = (tokens){.at = malloc(room * sizeof(int64_t))};
    r->fault[0] = 0;
    ok = read_program(m, program, n);
    if (ok) {
        fetch(m, 0);
        ok = seed ? run_random(m, seed) : run_timed(m);
    }
    ok = ok && check_end(m);
    free(m->program);
    for (int k = 0; k < VTA_UNITS; k++) {
        free(m->units[k].queue);
        free(m->units[k].fetched_at);
        free(m->units[k].ends);
    }
    for (int k = 0; k < QUEUES; k++)
        free(m->tokens[k].at);
    return ok;
}
