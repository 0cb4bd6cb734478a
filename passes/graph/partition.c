/*
 * partition: group the nodes of a graph by device.
 *
 *     %c = Convolution(@x, @w)
 *     %s = SoftMax(%c)
 *     %save = Save(%s, @y)
 *         =>
 *     %part0 = Run(@x) {Body: @part0, Device: "npu"}
 *     %part1 = Run(%part0) {Body: @part1, Device: "host"}
 *     %save = Save(%part1, @y)
 *
 * `devices` is a file of them (glow/devices.h, docs/partition.md).  The groups are found
 * by glow/partition.h: a node takes the time that the profile or the target of the device
 * gives, or is not taken by its backend; a Splat is copied into each part that reads it.
 * With `load` the parts are compiled for their devices, and what exceeds the memory of one
 * is taken from it for another search.
 * `pins` has devices of nodes (`%conv1@npu`) and of operators (`SoftMax@host`).
 *
 * Afterwards the graph has Runs, nodes without results, and Splats that these read.
 * Functions that have Runs, and bodies, are left alone.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "glow/devices.h"
#include "glow/number.h"
#include "glow/ops.h"
#include "glow/partition.h"
#include "glow/pipeline.h"
#include "passes/graph/common/outline.h"
#include "passes/graph/common/part_bytes.h"
#include "passes/graph/common/topology.h"

enum { USER = GLOW_PARTITION_PIPELINE + 1 };

static const char *const mode_words[] = {"heterogeneous", "balance", "pipeline",
                                         "user", NULL};

typedef struct partition_options {
    const char *devices;
    int mode;
    const char *pins;
    int max_parts;
    bool fallback;
    bool load;
} partition_options;

typedef struct work {
    glow_pass_run *run;
    const partition_options *o;
    glow_context *ctx;
    glow_arena *arena;
    glow_func *f;
    glow_module *copy; /* in which nodes are tried */
    const glow_devices *devices;
    glow_node **nodes; /* by task */
    glow_numbering tasks;
    glow_map *inputs, *constants; /* by name: number + 1 */
    glow_partition_task *task;
    glow_partition_value *values;
    int64_t *bytes; /* of constants */
    size_t cap_values, cap_bytes;
    uint32_t *first;          /* by task: its first result, as a value */
    const glow_device **pins; /* by task, or NULL */
    glow_partition_problem p;
    glow_partition result;
    int64_t *reserve; /* by device: bytes of memory that are not counted on */
} work;

static bool
wrong(const work *w, const glow_node *n, const char *id, const char *hint,
      const char *text)
{
    return glow_error_hint(w->ctx, n ? n->span : w->f->span, id, hint, "%s",
                           text);
}

/* Tasks: nodes with results, except Splats. */

static bool
is_task(const glow_node *n)
{
    return n->n_out > 0 && n->op != &glow_op_splat;
}

static void
list_tasks(work *w)
{
    glow_node **all = glow_nodes_in_order(w->arena, w->f);
    int count = w->f->count;

    w->nodes = GLOW_NEW_ARRAY(w->arena, glow_node *, count + 1);
    w->tasks = glow_numbering_new(w->arena, w->f);
    for (int i = 0; i < count; i++)
        if (is_task(all[i])) {
            glow_number_set(&w->tasks, all[i], w->p.n_tasks);
            w->nodes[w->p.n_tasks++] = all[i];
        }
}

static uint32_t
add_value(work *w, glow_partition_value v)
{
    w->values = glow_arena_grow(w->arena, w->values, w->p.n_values,
                                &w->cap_values, sizeof *w->values);
    w->values[w->p.n_values] = v;
    return w->p.n_values++;
}

static bool
leaves(const work *w, const glow_value *v)
{
    GLOW_FOR_EACH_USE(u, v)
        if (glow_number_of(&w->tasks, u->user) == GLOW_UNNUMBERED)
            return true;
    return false;
}

/* The number of storage `s` in `map`, or 0. */
static uint32_t
number_in(const glow_map *map, const glow_storage *s)
{
    return (uint32_t)(uintptr_t)glow_map_get(map, s->name);
}

static uint32_t
constant_of(work *w, const glow_storage *s)
{
    uint32_t k = number_in(w->constants, s);

    if (k)
        return k - 1;
    w->bytes = glow_arena_grow(w->arena, w->bytes, w->p.n_constants,
                               &w->cap_bytes, sizeof *w->bytes);
    w->bytes[w->p.n_constants++] = glow_type_bytes(s->value.type);
    glow_map_set(w->constants, s->name, (void *)(uintptr_t)w->p.n_constants);
    return w->p.n_constants - 1;
}

static uint32_t
value_of(work *w, const glow_value *v)
{
    uint32_t k;

    if (v->def)
        return w->first[glow_number_of(&w->tasks, v->def)] + (uint32_t)v->index;
    k = number_in(w->inputs, v->storage);
    if (!k) {
        k = add_value(w, (glow_partition_value){glow_type_bytes(v->type),
                                                GLOW_PARTITION_HOST, false}) +
            1;
        glow_map_set(w->inputs, v->storage->name, (void *)(uintptr_t)k);
    }
    return k - 1;
}

static void
add_once(uint32_t *list, uint32_t *count, uint32_t item)
{
    for (uint32_t i = 0; i < *count; i++)
        if (list[i] == item)
            return;
    list[(*count)++] = item;
}

static void
add_reads(work *w, uint32_t t)
{
    const glow_node *n = w->nodes[t];
    uint32_t *reads = GLOW_NEW_ARRAY(w->arena, uint32_t, n->n_in + 2);
    uint32_t *constants = GLOW_NEW_ARRAY(w->arena, uint32_t, n->n_in + 2);
    glow_partition_task *k = &w->task[t];

    for (int i = -1; i < n->n_in; i++) {
        const glow_value *v = i < 0 ? n->pred : n->in[i];

        if (!v || glow_is(v->def, &glow_op_splat))
            continue;
        if (glow_is_constant(v))
            add_once(constants, &k->n_constants, constant_of(w, v->storage));
        else
            add_once(reads, &k->n_reads, value_of(w, v));
    }
    k->reads = reads;
    k->constants = constants;
}

static void
find_values(work *w)
{
    w->inputs = glow_map_new(w->arena);
    w->constants = glow_map_new(w->arena);
    w->task = GLOW_NEW_ARRAY(w->arena, glow_partition_task, w->p.n_tasks + 1);
    w->first = GLOW_NEW_ARRAY(w->arena, uint32_t, w->p.n_tasks + 1);
    for (uint32_t t = 0; t < w->p.n_tasks; t++) {
        const glow_node *n = w->nodes[t];

        w->first[t] = w->p.n_values;
        for (int i = 0; i < n->n_out; i++)
            add_value(w,
                      (glow_partition_value){glow_type_bytes(n->out[i]->type),
                                             t, leaves(w, n->out[i])});
    }
    for (uint32_t t = 0; t < w->p.n_tasks; t++)
        add_reads(w, t);
}

/* Pins. */

/* True if the word names `n`: `%conv1`, or an operator. */
static bool
names(const char *word, const glow_node *n)
{
    return strcmp(word[0] == '%' ? word + 1 : word,
                  word[0] == '%' ? n->name : n->op->name) == 0;
}

/* Applies `name@device`; a node goes before its operator. */
static bool
pin(work *w, char *word)
{
    char *at = strrchr(word, '@');
    const glow_device *d;
    bool found = false;

    if (at)
        *at = '\0';
    d = at ? glow_find_device(w->devices, at + 1) : NULL;
    if (!d)
        return wrong(
            w, NULL, "E0473", "a pin is %NODE@DEVICE or OPERATOR@DEVICE",
            at ? glow_arena_printf(w->arena, "there is no device '%s'", at + 1)
               : glow_arena_printf(w->arena, "the pin '%s' has no device",
                                   word));
    for (uint32_t t = 0; t < w->p.n_tasks; t++)
        if (names(word, w->nodes[t])) {
            found = true;
            if (word[0] == '%' || !w->pins[t])
                w->pins[t] = d;
        }
    return found ||
           wrong(w, NULL, "E0473", "a pin is %NODE@DEVICE or OPERATOR@DEVICE",
                 glow_arena_printf(w->arena,
                                   "the pin of '%s' names no node or operator "
                                   "of @%s",
                                   word, w->f->name));
}

static bool
read_pins(work *w)
{
    char *text = glow_arena_strdup(w->arena, w->o->pins), *next;
    bool ok = true;

    w->pins = GLOW_NEW_ARRAY(w->arena, const glow_device *, w->p.n_tasks + 1);
    for (char *at = text; *at; at = next) {
        size_t n = strcspn(at, ", ");

        next = at + n + (at[n] != '\0');
        at[n] = '\0';
        ok = (n == 0 || pin(w, at)) && ok;
    }
    return ok;
}

/* Times. */

static glow_pipeline_options
options_of(const glow_device *d, const glow_target_options *code)
{
    return (glow_pipeline_options){
        .backend = d->backend, .code = code, .target = d->target};
}

/* Sets the time of task `t` on each device; false after a report if none takes it. */
static bool
set_times(work *w, uint32_t t)
{
    const glow_node *n = w->nodes[t];
    double *seconds = GLOW_NEW_ARRAY(w->arena, double, w->devices->count);
    const char *first_why = NULL;
    bool taken = false;

    for (int i = 0; i < w->devices->count; i++) {
        const glow_device *d = &w->devices->at[i];
        const glow_target_options code = {.options = d->options};
        const glow_pipeline_options how = options_of(d, &code);
        const char *why = NULL;
        bool ok = glow_is_supported(w->arena, w->copy, n, &how, &why);

        seconds[i] = INFINITY;
        if (!ok && w->pins[t] == d)
            return wrong(w, n, "E0473", NULL,
                         glow_arena_printf(w->arena,
                                           "%%%s is pinned to '%s', which does "
                                           "not take it: %s",
                                           n->name, d->name, why));
        if (!ok) {
            first_why = first_why ? first_why : why;
            glow_run_remark(w->run, n, false, "'%s' does not take it: %s",
                            d->name, why);
            if (!w->o->fallback)
                break;
            continue;
        }
        taken = true;
        if (!w->pins[t] || w->pins[t] == d)
            seconds[i] = glow_device_time(d, n);
    }
    w->task[t].seconds = seconds;
    return taken ||
           wrong(w, n, "E0471",
                 w->o->fallback ? "add a device that takes it"
                                : "without `fallback` the first device takes "
                                  "all nodes",
                 glow_arena_printf(w->arena, "%s %%%s: no device takes it: %s",
                                   n->op->name, n->name, first_why));
}

static bool
find_times(work *w)
{
    bool ok = true;

    w->copy = glow_module_clone(w->f->module);
    for (uint32_t t = 0; t < w->p.n_tasks; t++)
        ok = set_times(w, t) && ok;
    glow_module_free(w->copy);
    return ok;
}

/* Devices. */

/* The memory of device `i`, less what it turned out to need beyond the count. */
static int64_t
memory_of(const work *w, int i)
{
    int64_t memory = w->devices->at[i].memory;

    return memory == INT64_MAX      ? memory
           : memory > w->reserve[i] ? memory - w->reserve[i]
                                    : 0;
}

static bool
are_alike(const work *w, int i, int k)
{
    const glow_device *a = &w->devices->at[i], *b = &w->devices->at[k];

    if (memory_of(w, i) != memory_of(w, k) ||
        a->bytes_per_second != b->bytes_per_second ||
        a->seconds_per_transfer != b->seconds_per_transfer)
        return false;
    for (uint32_t t = 0; t < w->p.n_tasks; t++)
        if (w->task[t].seconds[i] != w->task[t].seconds[k])
            return false;
    return true;
}

static void
set_devices(work *w)
{
    glow_partition_device *at =
        GLOW_NEW_ARRAY(w->arena, glow_partition_device, w->devices->count);

    for (int i = 0; i < w->devices->count; i++) {
        const glow_device *d = &w->devices->at[i];
        int k = 0;

        while (k < i && !are_alike(w, i, k))
            k++;
        at[i] = (glow_partition_device){memory_of(w, i), d->bytes_per_second,
                                        d->seconds_per_transfer, (uint32_t)k};
    }
    w->p.devices = at;
    w->p.n_devices = (uint32_t)w->devices->count;
}

/* The partition. */

/* A node without a pin goes where its first operand is defined. */
static void
follow_pins(work *w)
{
    for (uint32_t t = 0; t < w->p.n_tasks; t++) {
        const glow_partition_task *k = &w->task[t];
        uint32_t d = 0;

        for (uint32_t i = k->n_reads; i-- > 0;) {
            uint32_t definer = w->values[k->reads[i]].definer;

            if (definer != GLOW_PARTITION_HOST)
                d = w->result.device[definer];
        }
        for (uint32_t i = 0; i < w->p.n_devices; i++)
            if (!(k->seconds[d] < INFINITY))
                d = i;
        w->result.device[t] = d;
    }
}

static int64_t
sum_of_constants(const work *w)
{
    int64_t sum = 0;

    for (uint32_t c = 0; c < w->p.n_constants; c++)
        if (glow_add_overflow(sum, w->bytes[c], &sum))
            return INT64_MAX;
    return sum;
}

static bool
refuse(const work *w)
{
    glow_buf b = {.arena = w->arena};

    glow_buf_printf(&b,
                    "no partition of @%s was found: its constants take %" PRId64
                    " bytes; the devices have",
                    w->f->name, sum_of_constants(w));
    for (int i = 0; i < w->devices->count; i++) {
        const glow_device *d = &w->devices->at[i];

        glow_buf_puts(&b, i ? ", " : " ");
        if (d->memory == INT64_MAX)
            glow_buf_printf(&b, "'%s' no limit", d->name);
        else
            glow_buf_printf(&b, "'%s' %" PRId64, d->name, d->memory);
        if (w->result.device && w->result.memory)
            glow_buf_printf(&b, " (needs %" PRId64 ")", w->result.memory[i]);
    }
    if (w->p.most_parts)
        glow_buf_printf(&b, "; there may be %" PRIu32 " parts",
                        w->p.most_parts);
    return wrong(w, NULL, "E0472", NULL, b.text);
}

static bool
solve(work *w)
{
    w->p.tasks = w->task;
    w->p.values = w->values;
    w->p.constants = w->bytes;
    w->p.most_parts = (uint32_t)w->o->max_parts;
    if (w->o->mode != USER) {
        if (glow_partition_find(w->arena, &w->p,
                                (glow_partition_mode)w->o->mode, &w->result))
            return true;
        w->result = (glow_partition){0};
        return refuse(w);
    }
    w->result.device = GLOW_NEW_ARRAY(w->arena, uint32_t, w->p.n_tasks + 1);
    follow_pins(w);
    return glow_partition_measure(w->arena, &w->p, &w->result) || refuse(w);
}

static void
tell(const work *w)
{
    const glow_partition *r = &w->result;

    for (uint32_t t = 0; t < w->p.n_tasks; t++)
        glow_run_remark(w->run, w->nodes[t], true, "part %" PRIu32 " on '%s'",
                        r->part[t], w->devices->at[r->device[t]].name);
    for (uint32_t d = 0; d < w->p.n_devices; d++)
        glow_run_note(w->run, "%s: %.4g s, %" PRId64 " bytes",
                      w->devices->at[d].name, r->load[d], r->memory[d]);
    glow_run_note(
        w->run, "%" PRIu32 " parts, bottleneck %.4g s%s, total %.4g s",
        r->n_parts, r->bottleneck, r->proved ? ", least" : "", r->total);
    glow_run_count(w->run, "parts", r->n_parts);
}

/* Outlining. */

/*
 * Outlines the parts of `f`, which is the function of the work or one of a clone; calls
 * `each` for the Runs.  False if that returns false.
 */
static bool
outline(const work *w, glow_func *f,
        bool (*each)(const glow_node *run, const glow_device *d,
                     int64_t *bytes),
        int64_t *bytes)
{
    glow_node **group = GLOW_NEW_ARRAY(w->arena, glow_node *, w->p.n_tasks);
    const char **names = GLOW_NEW_ARRAY(w->arena, const char *, w->p.n_tasks);
    bool ok = true;

    for (uint32_t t = 0; t < w->p.n_tasks; t++)
        names[t] = glow_arena_strdup(w->arena, w->nodes[t]->name);
    for (uint32_t k = 0; k < w->result.n_parts && ok; k++) {
        int count = 0;
        uint32_t device = 0;
        glow_node *run;

        for (uint32_t t = 0; t < w->p.n_tasks; t++)
            if (w->result.part[t] == k) {
                group[count++] = glow_find_node(f, names[t]);
                device = w->result.device[t];
            }
        run = glow_outline(w->arena, group, count,
                           glow_arena_printf(w->arena, "part%" PRIu32, k),
                           w->devices->at[device].name);
        if (run && each)
            ok = each(run, &w->devices->at[device], &bytes[device]);
    }
    return ok;
}

static bool
add_bytes(const glow_node *run, const glow_device *d, int64_t *bytes)
{
    return d->memory == INT64_MAX ||
           glow_add_part_bytes(glow_called(run, 0), d, bytes);
}

enum { MOST_TRIES = 16 };

/*
 * Adds to `reserve` the bytes by which the parts, compiled for their devices, exceed the
 * memory of these; *fits: there is none.  False after a report.
 */
static bool
load_parts(work *w, bool *fits)
{
    int64_t *bytes = GLOW_NEW_ARRAY(w->arena, int64_t, w->devices->count);
    glow_module *m = glow_module_clone(w->f->module);
    bool ok = outline(w, glow_find_func(m, w->f->name), add_bytes, bytes);

    *fits = true;
    for (int i = 0; i < w->devices->count; i++) {
        int64_t beyond = bytes[i] - w->devices->at[i].memory;

        if (!ok || beyond <= 0)
            continue;
        *fits = false;
        if (glow_add_overflow(w->reserve[i], beyond, &w->reserve[i]))
            w->reserve[i] = INT64_MAX;
    }
    glow_module_free(m);
    return ok;
}

/* Solves again, with less memory, until the compiled parts fit. */
static bool
solve_loaded(work *w)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        bool fits = true;

        set_devices(w);
        if (!solve(w) || (w->o->load && !load_parts(w, &fits)))
            return false;
        if (fits)
            return true;
    }
    return refuse(w);
}

/* Moves the nodes without results behind the Runs that they read. */
static void
move_rest(work *w)
{
    glow_node **rest = GLOW_NEW_ARRAY(w->arena, glow_node *, w->f->count + 1);
    int count = 0;

    GLOW_FOR_EACH_NODE(n, w->f)
        if (n->n_out == 0)
            rest[count++] = n;
    for (int i = 0; i < count; i++)
        if (rest[i] != w->f->last)
            glow_node_move_after(rest[i], w->f->last);
    glow_erase_unused(w->f);
}

static bool
check_options(const work *w)
{
    if (!*w->o->devices)
        return wrong(w, NULL, "E0470", "write partition<devices=FILE>",
                     "partition needs a devices file");
    return w->o->max_parts >= 0 ||
           wrong(w, NULL, "E0420", NULL, "max_parts takes 0 or more");
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    work w = {.run = pass,
              .o = glow_run_options(pass),
              .ctx = glow_run_context(pass),
              .arena = glow_run_scratch(pass),
              .f = f};
    bool erased;

    if (glow_is_body(f) || glow_has_runs(f))
        return GLOW_UNCHANGED;
    if (!*w.o->devices && !glow_run_may_rewrite(pass))
        return GLOW_UNCHANGED;
    if (!check_options(&w))
        return GLOW_FAILED;
    w.devices = glow_devices_read(w.ctx, w.arena, w.o->devices);
    if (!w.devices)
        return GLOW_FAILED;
    erased = glow_erase_unused(f) > 0;
    list_tasks(&w);
    if (w.p.n_tasks == 0)
        return erased ? GLOW_CHANGED : GLOW_UNCHANGED;
    find_values(&w);
    if (!read_pins(&w) || !find_times(&w))
        return GLOW_FAILED;
    w.reserve = GLOW_NEW_ARRAY(w.arena, int64_t, w.devices->count);
    if (!solve_loaded(&w))
        return GLOW_FAILED;
    if (!glow_run_may_rewrite(pass))
        return erased ? GLOW_CHANGED : GLOW_UNCHANGED;
    tell(&w);
    outline(&w, f, NULL, NULL);
    move_rest(&w);
    return GLOW_CHANGED;
}

const glow_pass glow_pass_partition = {
    .name = "partition",
    .summary = "group the nodes of a graph by device",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(partition_options, devices, GLOW_STRING,
                                   "file of the devices, the best first"),
                GLOW_FIELD_ENUM(partition_options, mode, mode_words,
                                "heterogeneous: the first device that takes a "
                                "node; balance: least load of the busiest "
                                "device; pipeline: with one part for each "
                                "device; user: by pins"),
                GLOW_FIELD_DEFAULT(partition_options, pins, GLOW_STRING,
                                   "%NODE@DEVICE and OPERATOR@DEVICE"),
                GLOW_FIELD_DEFAULT(partition_options, max_parts, GLOW_INT,
                                   "parts at most; 0: any number"),
                GLOW_FIELD_DEFAULT(partition_options, load, GLOW_FLAG,
                                   "compile the parts, and count the bytes "
                                   "that they take"),
                GLOW_FIELD_DEFAULT(partition_options, fallback, GLOW_FLAG,
                                   "what a device does not take goes to the "
                                   "next")},
    .defaults =
        &(const partition_options){.devices = "", .pins = "", .fallback = true},
    .run = run,
    .takes_quantized = true,
    .source = "Tarnawski et al., Efficient Algorithms for Device Placement of "
              "DNN Graph Operators, NeurIPS 2020; Glow's partitioner",
};
