/*
 * -profile and -trace: time of each kernel call, and roofline.
 *
 * A step is a kernel call: a node and the nodes fused with it; its time is the
 * minimum of several runs.  Its bytes are the operands from outside of the step
 * and the results that none of its later nodes reads: the others stay in
 * registers.  Its efficiency on the machine of -target-file is the time of the
 * roofline over the measured one (Williams, Waterman, Patterson, Roofline, CACM
 * 52(4), 2009).
 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glow/cost.h"
#include "tools/glow-run/run.h"

typedef struct step {
    const glow_node **nodes;
    size_t count, cap;
    size_t number;            /* in the order of running */
    double begin_ms, last_ms; /* of the last run */
    double ms;                /* of the fastest */
    /* Reported values. */
    const char *op, *name, *type;
    double flops, bytes, roofline; /* roofline: seconds */
} step;

typedef struct steps {
    glow_arena *arena;
    step *items;
    size_t count, cap;
    size_t next;   /* of this run: all runs have the same steps */
    bool is_first; /* run */
    double begin;  /* of this run */
    double all_ms;
    bool has_roof; /* there is a target file */
} steps;

/* Records a node of a run, as the backend reports it. */

static void
note(void *user, const glow_node *n, glow_tensor *const out[], double seconds)
{
    steps *s = user;
    double ms = seconds * 1e3;
    bool joins = seconds < 0;
    step *to;

    (void)out;
    if (s->is_first && !joins) {
        s->items = glow_arena_grow(s->arena, s->items, s->count, &s->cap,
                                   sizeof *s->items);
        s->items[s->count] = (step){.number = s->count, .ms = ms};
        s->count++;
    }
    s->next += !joins;
    to = &s->items[s->next - 1];
    if (s->is_first) {
        to->nodes = glow_arena_grow(s->arena, to->nodes, to->count, &to->cap,
                                    sizeof *to->nodes);
        to->nodes[to->count++] = n;
    }
    if (joins)
        return;
    to->begin_ms = now_ms() - ms - s->begin;
    to->last_ms = ms;
    if (ms < to->ms)
        to->ms = ms;
}

/* The cost of a step. */

static bool
touches(glow_value *const *values, int count, const glow_value *v)
{
    for (int i = 0; i < count; i++)
        if (values[i] && glow_base_buffer(values[i]) == v)
            return true;
    return false;
}

/* True if `v` is written by a node of the step before node `end`. */
static bool
is_made(const step *s, size_t end, const glow_value *v)
{
    for (size_t i = 0; i < end; i++)
        if (touches(s->nodes[i]->out, s->nodes[i]->n_out, v))
            return true;
    return false;
}

/* True if `v` is read or written by a node of the step after node `from`. */
static bool
is_used_on(const step *s, size_t from, const glow_value *v)
{
    for (size_t i = from + 1; i < s->count; i++)
        if (touches(s->nodes[i]->in, s->nodes[i]->n_in, v) ||
            touches(s->nodes[i]->out, s->nodes[i]->n_out, v))
            return true;
    return false;
}

static glow_cost
step_cost(const step *s)
{
    glow_cost sum = {0};

    for (size_t k = 0; k < s->count; k++) {
        const glow_node *n = s->nodes[k];
        glow_cost c = glow_node_cost(n);

        for (int i = 0; i < n->n_in && c.read; i++)
            if (n->in[i] && is_made(s, k, glow_base_buffer(n->in[i])))
                c.read -= glow_type_bytes(n->in[i]->type);
        for (int i = 0; i < n->n_out && c.written; i++)
            if (is_used_on(s, k, glow_base_buffer(n->out[i])))
                c.written -= glow_type_bytes(n->out[i]->type);
        sum = glow_cost_add(sum, c);
    }
    return sum;
}

/* The operators of a step: "Convolution+Add+Relu". */
static const char *
ops_of(glow_arena *a, const step *s)
{
    glow_buf b = {.arena = a};

    for (size_t k = 0; k < s->count; k++)
        glow_buf_printf(&b, "%s%s", k ? "+" : "", s->nodes[k]->op->name);
    return b.text;
}

static void
describe(steps *all, step *s, const glow_target *machine)
{
    const glow_node *last = s->nodes[s->count - 1];
    glow_cost c = step_cost(s);

    s->op = ops_of(all->arena, s);
    s->name = s->nodes[0]->name;
    s->type = last->n_out ? glow_type_text(all->arena, last->out[0]->type) : "";
    s->flops = (double)c.flops;
    s->bytes = (double)c.read + (double)c.written;
    s->roofline = machine ? glow_cost_time(machine, c, 0) : 0;
}

/* Reports. */

static double
per_ms(double amount, double ms)
{
    return ms > 0 ? amount / ms : 0;
}

static double
percent(const steps *s, double ms)
{
    return 100 * per_ms(ms, s->all_ms);
}

static void
print_row(const steps *all, double ms, double flops, double bytes,
          double roofline)
{
    printf("%10.4f %6.2f %8.2f %8.2f", ms, percent(all, ms),
           per_ms(flops, ms) * 1e-6, per_ms(bytes, ms) * 1e-6);
    if (all->has_roof)
        printf(" %6.1f", 100 * per_ms(roofline * 1e3, ms));
}

static void
print_head(const steps *all, const char *rest)
{
    printf("%10s %6s %8s %8s%s  %s\n", "ms", "%", "GFLOP/s", "GB/s",
           all->has_roof ? "  roof%" : "", rest);
}

static int
slowest_first(const void *a, const void *b)
{
    const step *x = a, *y = b;

    if (x->ms != y->ms)
        return x->ms < y->ms ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Sums over all steps with the same operators. */
static size_t
sum_by_op(const steps *all, step *sums)
{
    size_t count = 0;

    for (size_t i = 0; i < all->count; i++) {
        const step *s = &all->items[i];
        size_t k = 0;

        while (k < count && strcmp(sums[k].op, s->op) != 0)
            k++;
        if (k == count)
            sums[count++] = (step){.op = s->op, .number = k};
        sums[k].count++;
        sums[k].ms += s->ms;
        sums[k].flops += s->flops;
        sums[k].bytes += s->bytes;
        sums[k].roofline += s->roofline;
    }
    glow_sort(sums, count, sizeof *sums, slowest_first);
    return count;
}

static void
print_text(const steps *all)
{
    step *sums = GLOW_NEW_ARRAY(all->arena, step, all->count);
    size_t count = sum_by_op(all, sums);
    step total = {0};

    print_head(all, "operator node");
    for (size_t i = 0; i < all->count; i++) {
        const step *s = &all->items[i];

        print_row(all, s->ms, s->flops, s->bytes, s->roofline);
        tool_print(stdout, "  %s %%%s : %s\n", s->op, s->name, s->type);
        total.flops += s->flops;
        total.bytes += s->bytes;
        total.roofline += s->roofline;
    }
    print_head(all, "operator steps");
    for (size_t i = 0; i < count; i++) {
        print_row(all, sums[i].ms, sums[i].flops, sums[i].bytes,
                  sums[i].roofline);
        printf("  %s %zu\n", sums[i].op, sums[i].count);
    }
    print_row(all, all->all_ms, total.flops, total.bytes, total.roofline);
    printf("  total %zu\n", all->count);
}

static json_t *
step_object(const steps *all, const step *s)
{
    json_t *nodes = json_array(), *ops = json_array();

    for (size_t k = 0; k < s->count; k++) {
        json_array_append_new(nodes, json_string(s->nodes[k]->name));
        json_array_append_new(ops, json_string(s->nodes[k]->op->name));
    }
    return json_pack("{s:I, s:o, s:o, s:s, s:f, s:f, s:f, s:f, s:o*}", "step",
                     (json_int_t)s->number, "ops", ops, "nodes", nodes, "type",
                     s->type, "ms", s->ms, "percent", percent(all, s->ms),
                     "flops", s->flops, "bytes", s->bytes, "roofline_ms",
                     all->has_roof ? json_real(s->roofline * 1e3) : NULL);
}

static void
print_json(const steps *all)
{
    json_t *list = json_array();

    for (size_t i = 0; i < all->count; i++)
        json_array_append_new(list, step_object(all, &all->items[i]));

    json_t *o = json_pack("{s:f, s:o}", "ms", all->all_ms, "steps", list);

    json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(o);
}

/* Each step of the last run, as an event of Chrome's trace viewer. */
static bool
write_trace(run *r, const steps *all)
{
    json_t *list = json_array();
    char *text;
    bool ok;

    for (size_t i = 0; i < all->count; i++) {
        const step *s = &all->items[i];

        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:{s:s, s:f}}",
                      "name", s->name, "cat", s->op, "ph", "X", "ts",
                      s->begin_ms * 1e3, "dur", s->last_ms * 1e3, "pid", 1,
                      "tid", 1, "args", "type", s->type, "flops", s->flops));
    }

    json_t *o =
        json_pack("{s:o, s:s}", "traceEvents", list, "displayTimeUnit", "ms");

    text = json_dumps(o, JSON_INDENT(1));
    ok = text &&
         glow_file_write(r->tool.ctx, r->values.trace, text, strlen(text));
    free(text);
    json_decref(o);
    return ok;
}

/* The profile. */

static bool
run_steps(run *r, steps *all, int64_t times)
{
    const glow_eval_options how = {.trace = note, .user = all};

    for (int64_t i = 0; i < times; i++) {
        all->is_first = i == 0;
        all->next = 0;
        all->begin = now_ms();
        if (!r->backend->profile(r->network.executable, r->bindings,
                                 (int)r->n_ports, &how))
            return false;
    }
    return true;
}

int
profile(run *r)
{
    steps all = {.arena = r->tool.arena};
    int64_t times =
        r->values.profile ? r->values.warmup + r->values.iterations : 1;

    if (!r->backend->profile)
        return tool_usage(&r->tool, "-backend=interp can",
                          "backend %s cannot tell the time of each node",
                          r->backend->name);
    if (!run_steps(r, &all, times))
        return TOOL_FAILED;
    all.has_roof = r->machine != NULL;
    for (size_t i = 0; i < all.count; i++) {
        describe(&all, &all.items[i], r->machine);
        all.all_ms += all.items[i].ms;
    }
    if (r->values.trace && !write_trace(r, &all))
        return TOOL_FAILED;
    if (!r->values.profile || all.count == 0)
        return TOOL_GO_ON;
    if (r->values.json) {
        print_json(&all);
    } else {
        glow_sort(all.items, all.count, sizeof *all.items, slowest_first);
        print_text(&all);
    }
    return TOOL_GO_ON;
}
