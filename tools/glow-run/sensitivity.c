/*
 * -sensitivity and -least-sqnr: mixed precision by measuring.
 *
 * A trial quantizes a copy of the function with a list `keep` of nodes in float, runs it
 * on all inputs, and gives the signal over noise of each output against float, in dB.
 * -sensitivity tries each node alone: all others are in `keep`.  If the budget has fewer
 * trials than there are nodes, neighbours are tried together.
 *
 * -least-sqnr is a knapsack of noise.  Noise of the nodes adds up, so a row of noise n
 * and of f operations is worth n / f in float: rows are sorted by that, the greatest
 * first, behind them rows whose noise together is below 1 % of the bound.  Bisection
 * finds the least number of rows from the front that have to be in `keep`; then, while
 * the budget lasts, nodes are quantized again, those of the most operations first, if
 * the outputs still have DB.
 */

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "glow/cost.h"
#include "glow/file.h"
#include "tools/glow-run/run.h"

/* Trials that -least-sqnr has beside those of single rows: the first, and bisection. */
enum { RESERVED = 12 };

typedef struct node_choice {
    const char *name; /* as `keep` has it: "%conv", of a body "@body%conv" */
    const char *op;
    int64_t flops;
    bool kept;
} node_choice;

/* Neighbours that are tried together: of -sensitivity mostly one node. */
typedef struct row {
    size_t first, count; /* of the nodes */
    int64_t flops;       /* of them together */
    double least;        /* dB of the worst output */
    double *each;        /* dB by port; of outputs that are judged */
} row;

typedef struct search {
    run *r;
    const char *options; /* of quantize, without `keep` */
    const char *kept;    /* by the `keep` of -quantize, or "" */
    node_choice *nodes;
    size_t n_nodes;
    row *rows;
    size_t n_rows;
    int64_t trials;
} search;

/* Options of quantize. */

/* Splits the options of -quantize into `keep` and the rest. */
static void
split_options(search *s)
{
    glow_arena *a = s->r->tool.arena;
    glow_buf rest = {.arena = a};
    const char *at = s->r->values.quantize;

    s->kept = "";
    while (*at) {
        size_t n = 0;
        bool quoted = false;

        for (; at[n] && (quoted || !strchr(" ,", at[n])); n++)
            quoted ^= at[n] == '"';
        if (strncmp(at, "keep=", 5) == 0) {
            size_t quote = at[5] == '"';
            size_t length = n - 5 - quote;

            length -= quote && length > 0 && at[n - 1] == '"';
            s->kept = glow_arena_strndup(a, at + 5 + quote, length);
        } else if (n > 0) {
            glow_buf_printf(&rest, "%s%.*s", rest.len ? "," : "", (int)n, at);
        }
        at += n + (at[n] != 0);
    }
    s->options = rest.len ? rest.text : "";
}

/* The names of nodes that are kept now, after those of -quantize. */
static const char *
keep_list(const search *s)
{
    glow_buf b = {.arena = s->r->tool.arena};

    glow_buf_puts(&b, s->kept);
    for (size_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].kept)
            glow_buf_printf(&b, "%s%s", b.len ? "," : "", s->nodes[i].name);
    return b.text ? b.text : "";
}

/* A trial. */

static bool
run_passes(run *r, glow_module *m, const char *text)
{
    const glow_pipeline_options how = {.verify_each = true,
                                       .backend = r->backend};
    glow_pipeline *p = glow_pipeline_parse_for(
        r->tool.ctx, r->tool.arena,
        glow_source_from(r->tool.ctx, "<passes>", text, strlen(text)),
        r->backend);

    return p && glow_pipeline_run(p, m, &how);
}

/* A copy of the module, quantized with the list `keep`; NULL after a report. */
static glow_module *
quantized(const search *s)
{
    run *r = s->r;
    glow_module *m = glow_module_clone(r->module);
    glow_buf b = {.arena = r->tool.arena};
    const char *keep = keep_list(s);

    glow_buf_printf(&b, "@%s(quantize<keep=", r->func->name);
    glow_buf_quoted(&b, keep, strlen(keep));
    glow_buf_printf(&b, "%s%s>)", *s->options ? "," : "", s->options);
    if (run_passes(r, m, b.text))
        return m;
    glow_module_free(m);
    return NULL;
}

/* Runs `m`, which is quantized, into the ports. */
static int
run_module(run *r, glow_module *m)
{
    run other = *r;
    int code;

    other.module = m;
    other.func = glow_find_func(m, r->func->name);
    other.values.quantize = NULL;
    other.values.load_profile.count = 0;
    other.values.cache.on = false;
    other.network = (glow_network){0};
    code = compile(&other);
    if (code == TOOL_GO_ON)
        code = run_judged(&other, &other.network, m);
    glow_network_unload(&other.network);
    return code;
}

/* Tries the nodes as `kept` has them; sets dB of the result. */
static int
try_now(search *s, row *result)
{
    run *r = s->r;
    glow_quiet quiet;
    glow_module *m;
    int code;

    /* The first trial has said how many values have no range. */
    if (s->trials++ > 0)
        glow_quiet_begin(r->tool.ctx, &quiet);
    m = quantized(s);
    if (s->trials > 1)
        glow_quiet_end(r->tool.ctx, &quiet);
    if (!m)
        return TOOL_FAILED;
    code = run_module(r, m);
    glow_module_free(m);
    result->least = INFINITY;
    result->each = GLOW_NEW_ARRAY(r->tool.arena, double, r->n_ports);
    for (size_t i = 0; i < r->n_ports && code == TOOL_GO_ON; i++)
        if (is_judged(&r->ports[i])) {
            run_loss l = loss_of(&r->ports[i]);

            result->each[i] = decibels(&l);
            result->least = fmin(result->least, result->each[i]);
        }
    return code;
}

/* Nodes. */

static const glow_node *
find_node(const glow_func *f, const char *name)
{
    for (const glow_node *n = f->first; n; n = n->next)
        if (strcmp(n->name, name) == 0)
            return n;
    return NULL;
}

/* True if quantize has converted `n`, or absorbed it: `now` is its function afterwards. */
static bool
is_converted(const glow_node *n, const glow_func *now)
{
    const glow_node *after = now ? find_node(now, n->name) : NULL;

    return (n->op->traits & GLOW_PURE) && n->op != &glow_op_splat &&
           !glow_op_calls(n->op) && !glow_computes_quantized(n) &&
           (!after || glow_computes_quantized(after));
}

static void
add_node(search *s, const glow_node *n, size_t *cap)
{
    glow_arena *a = s->r->tool.arena;
    const char *func = n->func == s->r->func ? NULL : n->func->name;

    s->nodes = glow_arena_grow(a, s->nodes, s->n_nodes, cap, sizeof *s->nodes);
    s->nodes[s->n_nodes++] = (node_choice){
        .name = glow_arena_printf(a, "%s%s%%%s", func ? "@" : "",
                                  func ? func : "", n->name),
        .op = n->op->name,
        .flops = glow_node_cost(n).flops,
    };
}

/* The nodes that quantize converts, or absorbs into others, with these options. */
static int
list_nodes(search *s)
{
    run *r = s->r;
    glow_module *m = quantized(s);
    glow_func **funcs;
    size_t cap = 0;
    int count;

    if (!m)
        return TOOL_FAILED;
    funcs = glow_callees(r->tool.arena, r->func, &count);
    for (int i = 0; i < count; i++) {
        const glow_func *now = glow_find_func(m, funcs[i]->name);

        GLOW_FOR_EACH_NODE(n, funcs[i])
            if (is_converted(n, now))
                add_node(s, n, &cap);
    }
    glow_module_free(m);
    if (s->n_nodes == 0)
        glow_error(r->tool.ctx, "E0504", "-quantize quantizes no node of @%s",
                   r->func->name);
    return s->n_nodes ? TOOL_GO_ON : TOOL_FAILED;
}

static int
worst_first(const void *a, const void *b)
{
    const row *x = a, *y = b;

    if (x->least != y->least)
        return x->least < y->least ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Noise over signal of the worst output; all of it where the output is not finite. */
static double
noise_of(const row *w)
{
    return isfinite(w->least) ? pow(10, -w->least / 10) : w->least < 0;
}

/* Noise that goes for each operation that is left in float. */
static double
gain_of(const row *w)
{
    return noise_of(w) / (double)(w->flops > 1 ? w->flops : 1);
}

static int
most_gain_first(const void *a, const void *b)
{
    const row *x = a, *y = b;

    if (gain_of(x) != gain_of(y))
        return gain_of(x) > gain_of(y) ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static void
set_kept(search *s, size_t first, size_t count, bool kept)
{
    for (size_t i = first; i < first + count; i++)
        s->nodes[i].kept = kept;
}

/* Tries each row alone, with at most `most` rows. */
static int
measure_rows(search *s, size_t most)
{
    size_t step = (s->n_nodes + most - 1) / most;
    int code = TOOL_GO_ON;

    s->rows = GLOW_NEW_ARRAY(s->r->tool.arena, row, s->n_nodes);
    for (size_t i = 0; i < s->n_nodes && code == TOOL_GO_ON; i += step) {
        row *w = &s->rows[s->n_rows++];

        w->first = i;
        w->count = s->n_nodes - i < step ? s->n_nodes - i : step;
        for (size_t k = i; k < i + w->count; k++)
            w->flops += s->nodes[k].flops;
        set_kept(s, 0, s->n_nodes, true);
        set_kept(s, w->first, w->count, false);
        code = try_now(s, w);
    }
    glow_sort(s->rows, s->n_rows, sizeof *s->rows, worst_first);
    return code;
}

/* -sensitivity */

static void
put_db(double db)
{
    if (isfinite(db))
        printf("%8.1f", db);
    else
        printf("%8s", db > 0 ? "exact" : "not finite");
}

static void
print_rows(const search *s)
{
    const run *r = s->r;

    printf("dB of the outputs with one node quantized:");
    for (size_t i = 0; i < r->n_ports; i++)
        if (is_judged(&r->ports[i]))
            tool_print(stdout, " @%s", r->ports[i].storage->name);
    putchar('\n');
    for (size_t k = 0; k < s->n_rows; k++) {
        const row *w = &s->rows[k];

        for (size_t i = 0; i < r->n_ports; i++)
            if (is_judged(&r->ports[i]))
                put_db(w->each[i]);
        for (size_t i = w->first; i < w->first + w->count; i++)
            tool_print(stdout, "  %s (%s)", s->nodes[i].name, s->nodes[i].op);
        putchar('\n');
    }
}

static json_t *
db_json(double db)
{
    return isfinite(db) ? json_real(db) : json_null();
}

static const char *
json_name(const node_choice *n)
{
    return n->name + (*n->name == '%');
}

static void
print_json(const search *s)
{
    const run *r = s->r;
    json_t *list = json_array();

    for (size_t k = 0; k < s->n_rows; k++) {
        const row *w = &s->rows[k];
        json_t *nodes = json_array(), *each = json_object();

        for (size_t i = w->first; i < w->first + w->count; i++)
            json_array_append_new(nodes, json_string(json_name(&s->nodes[i])));
        for (size_t i = 0; i < r->n_ports; i++)
            if (is_judged(&r->ports[i]))
                json_object_set_new(each, r->ports[i].storage->name,
                                    db_json(w->each[i]));
        json_array_append_new(
            list, json_pack("{s:o, s:o}", "nodes", nodes, "sqnr_db", each));
    }
    json_dumpf(list, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(list);
}

/* -least-sqnr */

static int
not_reached(const search *s, const row *best, const char *why)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n_nodes; i++)
        kept += s->nodes[i].kept;
    glow_error_hint(s->r->tool.ctx, (glow_span){0}, "E0435",
                    "calibrate or equalize first, or ask for less",
                    "-least-sqnr asks for %.1f dB, but %.1f dB are reached "
                    "with %zu of %zu nodes in float, %s",
                    s->r->values.least_sqnr, best->least, kept, s->n_nodes,
                    why);
    return TOOL_FAILED;
}

/* Sorts rows by the gain in float; those of next to no noise come last. */
static void
sort_by_gain(search *s)
{
    const double part = 0.01; /* of the noise that is asked for */
    double bound = part * pow(10, -s->r->values.least_sqnr / 10), sum = 0;
    size_t n = s->n_rows;

    /* The worst come first. */
    while (n > 0 && sum + noise_of(&s->rows[n - 1]) <= bound)
        sum += noise_of(&s->rows[--n]);
    glow_sort(s->rows, n, sizeof *s->rows, most_gain_first);
}

/* Tries with the first `n` rows in float. */
static int
try_prefix(search *s, size_t n, row *result)
{
    set_kept(s, 0, s->n_nodes, false);
    for (size_t i = 0; i < n; i++)
        set_kept(s, s->rows[i].first, s->rows[i].count, true);
    return try_now(s, result);
}

/* Bisection for the least number of rows; *best is its result. */
static int
bisect(search *s, row *best)
{
    size_t low = 0, high = s->n_rows; /* fails, reaches */
    double least = s->r->values.least_sqnr;
    row last = *best;
    int code;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        row now;

        code = try_prefix(s, middle, &now);
        if (code != TOOL_GO_ON)
            return code;
        if (now.least >= least) {
            high = middle;
            *best = now;
        } else {
            low = middle;
            last = now;
        }
    }
    if (high < s->n_rows) {
        set_kept(s, 0, s->n_nodes, false);
        for (size_t i = 0; i < high; i++)
            set_kept(s, s->rows[i].first, s->rows[i].count, true);
        return TOOL_GO_ON;
    }
    return not_reached(s, &last, "and with more none is quantized");
}

/* Quantizes nodes again that need not be kept, those of the most operations first. */
static int
refine(search *s, row *best)
{
    bool *tried = GLOW_NEW_ARRAY(s->r->tool.arena, bool, s->n_nodes);

    while (s->trials < s->r->values.sensitivity_budget) {
        node_choice *next = NULL;
        row now;
        int code;

        for (size_t i = 0; i < s->n_nodes; i++)
            if (s->nodes[i].kept && !tried[i] &&
                (!next || s->nodes[i].flops > next->flops))
                next = &s->nodes[i];
        if (!next)
            break;
        tried[next - s->nodes] = true;
        next->kept = false;
        code = try_now(s, &now);
        if (code != TOOL_GO_ON)
            return code;
        if (now.least >= s->r->values.least_sqnr)
            *best = now;
        else
            next->kept = true;
    }
    return TOOL_GO_ON;
}

/* Operators that multiply and add. */
static bool
is_product(const glow_node *n)
{
    static const glow_op *const products[] = {
        &glow_op_batchmatmul,
        &glow_op_channelwisequantizedconvolution,
        &glow_op_convolution,
        &glow_op_convtranspose,
        &glow_op_fullyconnected,
        &glow_op_fusedattention,
        &glow_op_gru,
        &glow_op_lstm,
        &glow_op_matmul,
        &glow_op_rnn,
        &glow_op_rowwisequantizedfullyconnected,
    };

    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (glow_is(n, products[i]))
            return true;
    return false;
}

static double
percent(int64_t part, int64_t of)
{
    return of ? 100 * (double)part / (double)of : 0;
}

static void
print_shares(const search *s, glow_func *f, const row *best)
{
    glow_cost all = {0}, products = {0};
    int count;
    glow_func **funcs = glow_callees(s->r->tool.arena, f, &count);

    for (int i = 0; i < count; i++)
        GLOW_FOR_EACH_NODE(n, funcs[i]) {
            glow_cost cost = glow_node_cost(n);

            if (!glow_op_calls(n->op)) /* its body is counted */
                all = glow_cost_add(all, cost);
            if (is_product(n))
                products = glow_cost_add(products, cost);
        }
    printf("%.1f dB, %.1f %% of the operations on quantized elements, %.1f %% "
           "of the multiply-adds; %" PRId64 " networks tried\n",
           best->least, percent(all.quantized, all.flops),
           percent(products.quantized, products.flops), s->trials);
}

/* The passes of -convert, for the nodes that stay in float. */
static bool
convert_rest(run *r, glow_module *m)
{
    run other = *r;
    const char *passes;

    other.values.quantize = NULL;
    passes = conversion(&other);
    return !passes || run_passes(r, m, passes);
}

static int
finish(search *s, const row *best)
{
    run *r = s->r;
    glow_module *m = quantized(s);
    glow_buf b = {0};
    bool ok;

    if (!m)
        return TOOL_FAILED;
    tool_print(stdout, "keep=\"%s\"\n", keep_list(s));
    print_shares(s, glow_find_func(m, r->func->name), best);
    ok = convert_rest(r, m);
    if (ok && r->values.save_quantized) {
        glow_print(&b, m, NULL);
        ok = glow_file_write(r->tool.ctx, r->values.save_quantized, b.text,
                             b.len);
        glow_buf_free(&b);
    }
    glow_module_free(m);
    return ok ? TOOL_DONE : TOOL_FAILED;
}

static int
reach(search *s)
{
    size_t most = (size_t)s->r->values.sensitivity_budget - RESERVED;
    row best;
    int code = try_now(s, &best);

    if (code == TOOL_GO_ON &&
        (s->r->values.sensitivity || best.least < s->r->values.least_sqnr)) {
        code = measure_rows(s, most);
        set_kept(s, 0, s->n_nodes, false);
    }
    if (code == TOOL_GO_ON && best.least < s->r->values.least_sqnr) {
        sort_by_gain(s);
        code = bisect(s, &best);
        if (code == TOOL_GO_ON)
            code = refine(s, &best);
    }
    return code == TOOL_GO_ON ? finish(s, &best) : code;
}

int
find_sensitivity(run *r)
{
    search s = {.r = r};
    const char *calibrate =
        tool_calibrated(&r->tool, &r->values.load_profile, NULL);
    int code = run_reference(r);

    if (calibrate)
        calibrate =
            glow_arena_printf(r->tool.arena, "%s,%s", calibrate, TOOL_EQUALIZE);
    split_options(&s);
    if (code == TOOL_GO_ON && calibrate && !run_passes(r, r->module, calibrate))
        code = TOOL_FAILED;
    if (code == TOOL_GO_ON)
        code = list_nodes(&s);
    if (code != TOOL_GO_ON)
        return code;
    if (r->values.least_sqnr > 0)
        code = reach(&s);
    else
        code = measure_rows(&s, (size_t)r->values.sensitivity_budget);
    if (r->values.sensitivity && (code == TOOL_GO_ON || code == TOOL_DONE)) {
        glow_sort(s.rows, s.n_rows, sizeof *s.rows, worst_first);
        if (*r->values.sensitivity)
            print_json(&s);
        else
            print_rows(&s);
        code = TOOL_DONE;
    }
    return code == TOOL_GO_ON ? TOOL_DONE : code;
}
