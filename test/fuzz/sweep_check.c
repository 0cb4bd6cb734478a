/* What must hold of one node. */

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "glow/cpu.h"
#include "glow/ops.h"
#include "passes/compare.h"
#include "test/fuzz/sweep.h"

#define MOST_BYTES ((int64_t)1 << 18) /* of one tensor */
#define MOST_FLOPS ((int64_t)4 << 20)
#define SEED 7

/* One mutant. */
typedef struct trial {
    const specimen *s;
    sweep_form form;
    glow_context *ctx;
    glow_arena *a;
    glow_module *m;
    glow_storage *bound[SWEEP_STORAGES];
    glow_tensor in[SWEEP_STORAGES]; /* what is read; results after a run */
    glow_tensor wide[SWEEP_STORAGES];
    bool written[SWEEP_STORAGES];
    /* In quotients: placeholders that are divided, and results of Floor, each behind
       the one that it is of. */
    bool divided[SWEEP_STORAGES], floored[SWEEP_STORAGES];
    int count;
    enum { REPORT, LOOK, LEARN } mode; /* of comparing quotients */
    bool jumped;
    uint64_t random;
    sweep_widths widths; /* of this mutant: all are run */
    const glow_backend *backend;
    char said[1024]; /* the last error */
    sweep_tally *tally;
} trial;

void
sweep_quiet(const glow_diag *d, void *user)
{
    (void)d;
    (void)user;
}

static void
keep_message(const glow_diag *d, void *user)
{
    trial *t = user;

    if (d->severity == GLOW_ERROR)
        snprintf(t->said, sizeof t->said, "%s: %s", d->id, d->message);
}

static void
fail(trial *t, const char *what)
{
    t->tally->failed++;
    printf("FAIL: %s: %s: %s\n%s\n", t->s->op->name, what, t->said,
           t->tally->text);
}

/* Building. */

static const glow_type *
type_in(trial *t, const glow_type *type)
{
    glow_type fresh = *type;

    if (glow_type_check(&fresh, t->a) || glow_type_bytes(&fresh) > MOST_BYTES)
        return NULL;
    return glow_type_get(t->ctx, fresh);
}

static glow_storage *
placeholder(trial *t, const glow_type *type, bool written)
{
    glow_storage *s = glow_placeholder_new(t->m, written ? "y" : "x", type);

    t->written[t->count] = written;
    t->bound[t->count++] = s;
    return s;
}

/* A constant of the test, or a random one. */
static glow_storage *
constant(trial *t, glow_storage *from, const glow_type *type)
{
    glow_storage *s = glow_constant_new(t->m, "c", type);
    const glow_tensor *old = glow_constant_tensor(from);

    if (old && old->type->elem == type->elem &&
        glow_type_bytes(old->type) == glow_type_bytes(type))
        memcpy(s->tensor.data, old->data, (size_t)glow_type_bytes(type));
    else
        glow_tensor_fill(&s->tensor, GLOW_FILL_RANDOM, t->random++);
    return s;
}

/*
 * Numbers `d` of which many k have k * d * (1 / d) < k, rounded: so Floor finds a
 * reciprocal that has taken the place of a division.  0: kinds without.
 */
static double
divisor_of(const glow_type *type)
{
    return type->elem == GLOW_FLOAT ? 41 : type->elem == GLOW_FLOAT64 ? 49 : 0;
}

static glow_value *
quotient(trial *t, glow_builder *b, const glow_type *type)
{
    glow_value *x = &placeholder(t, type, false)->value;
    glow_value *d = glow_build_splat(b, "divisor", type, divisor_of(type));

    t->divided[t->count - 1] = true;
    return GLOW_BUILD_PLAIN(b, div, GLOW_IN(x, d));
}

static glow_value *
operand(trial *t, glow_builder *b, int i, const glow_type *type)
{
    glow_storage *from = t->s->constant[i];

    if (from && sweep_draw(&t->random, 4))
        return &constant(t, from, type)->value;
    if (t->form == SWEEP_QUOTIENTS && divisor_of(type) != 0)
        return quotient(t, b, type);
    return &placeholder(t, type, false)->value;
}

static void
save(trial *t, glow_builder *b, glow_value *v)
{
    glow_value *y = &placeholder(t, v->type, true)->value;

    glow_build_node(b, &glow_op_save, NULL, 0, (glow_value *[]){v, y}, 2, NULL);
}

/* False if a result is too large. */
static bool
save_results(trial *t, glow_builder *b, const glow_node *n)
{
    bool floors = t->form == SWEEP_QUOTIENTS && sweep_draw(&t->random, 2);

    for (int i = 0; i < n->n_out; i++) {
        if (glow_type_bytes(n->out[i]->type) > MOST_BYTES)
            return false;
        save(t, b, n->out[i]);
        if (floors && glow_is_float(n->out[i]->type->elem)) {
            save(t, b, GLOW_BUILD_PLAIN(b, floor, GLOW_IN(n->out[i])));
            t->floored[t->count - 1] = true;
        }
    }
    return true;
}

/* True if a result whose type infer would take from elsewhere is to be quantized. */
static bool
may_state(const specimen *s)
{
    bool has = false;

    for (int i = 0; i < s->n_out; i++)
        has |= glow_is_quantized(s->out[i].elem);
    return has && !(s->op->traits & GLOW_LAYOUT);
}

/* False if infer refuses it. */
static bool
build(trial *t)
{
    const specimen *s = t->s;
    glow_func *f = glow_func_new(t->m, "main");
    glow_builder *b = glow_builder_new(t->a, f, NULL);
    glow_value *in[SWEEP_OPERANDS] = {0};
    const glow_type *out[SWEEP_OPERANDS];
    bool stated = s->op->traits & GLOW_STATED || may_state(s);

    for (int i = 0; i < s->n_in; i++) {
        const glow_type *type = s->is_given[i] ? type_in(t, &s->in[i]) : NULL;

        if (s->is_given[i] && !type)
            return false;
        if (type)
            in[i] = operand(t, b, i, type);
    }
    for (int i = 0; i < s->n_out; i++)
        if (!(out[i] = type_in(t, &s->out[i])))
            return false;

    glow_node *n =
        glow_build_node(b, s->op, stated ? out : NULL, stated ? s->n_out : 0,
                        in, s->n_in, s->attrs);

    if (!n && !(s->op->traits & GLOW_STATED) && stated)
        n = glow_build_node(b, s->op, NULL, 0, in, s->n_in, s->attrs);
    return n && save_results(t, b, n) &&
           (!s->op->flops || s->op->flops(n) < MOST_FLOPS);
}

/* Running. */

static void
bind(trial *t, const glow_module *m, glow_tensor *tensors, glow_binding *out)
{
    for (int i = 0; i < t->count; i++)
        out[i] = (glow_binding){glow_find_storage(m, t->bound[i]->name),
                                &tensors[i]};
}

/* What is zero; the less of it, the better. */
typedef enum zeros { NONE, INTEGERS, ALL_BUT_THE_FIRST, TRIES } zeros;

/* Multiples of the divisor, most of them positive. */
static void
fill_multiples(const glow_tensor *x, uint64_t seed)
{
    static const int factors[] = {1, 2, 4, 7, 8, 13, 0, -1, -2, -3};
    int64_t count = (int64_t)(sizeof factors / sizeof *factors);

    for (int64_t k = 0; k < glow_type_count(x->type); k++)
        glow_set_double(
            x, k, divisor_of(x->type) * factors[sweep_draw(&seed, count)]);
}

static void
fill(trial *t, zeros how)
{
    for (int i = 0; i < t->count; i++) {
        const glow_type *type = t->bound[i]->value.type;

        glow_tensor_end(&t->in[i]);
        t->in[i] = glow_tensor_new(type);
        if (t->written[i] || (how == ALL_BUT_THE_FIRST && i > 0))
            continue;
        if (t->divided[i])
            fill_multiples(&t->in[i], t->random + (uint64_t)i);
        else if (how == NONE || glow_is_float(type->elem))
            glow_tensor_fill(&t->in[i], GLOW_FILL_RANDOM, SEED + (uint64_t)i);
    }
}

/* In float64: what is right, as far as that can be known. */
static bool
run_wide(trial *t)
{
    glow_binding b[SWEEP_STORAGES];

    for (int i = 0; i < t->count; i++) {
        glow_type type = *t->bound[i]->value.type;

        if (glow_is_float(type.elem))
            type.elem = GLOW_FLOAT64;
        t->wide[i] = glow_tensor_new(glow_type_get(t->ctx, type));
        for (int64_t k = 0; !t->written[i] && k < glow_type_count(&type); k++)
            if (glow_is_float(type.elem))
                glow_set_double(&t->wide[i], k, glow_get_double(&t->in[i], k));
            else
                glow_set_int(&t->wide[i], k, glow_get_int(&t->in[i], k));
    }
    bind(t, t->m, t->wide, b);
    return glow_eval(glow_find_func(t->m, "main"), b, t->count,
                     &(glow_eval_options){.shadow = true});
}

static bool
run_right(trial *t)
{
    glow_func *f = glow_find_func(t->m, "main");
    glow_binding b[SWEEP_STORAGES];

    for (int how = NONE; how < TRIES; how++) {
        fill(t, (zeros)how);
        bind(t, t->m, t->in, b);
        if (glow_eval(f, b, t->count, &(glow_eval_options){0}))
            return run_wide(t);
    }
    return false; /* values that have no meaning for this operator */
}

/* Quantized elements are the same everywhere. */
static bool
is_same(const glow_tensor *x, const glow_tensor *y, glow_difference *d)
{
    for (int64_t k = 0; k < glow_type_count(x->type); k++)
        if (glow_get_int(x, k) != glow_get_int(y, k)) {
            *d = (glow_difference){.index = k,
                                   .before = (double)glow_get_int(x, k),
                                   .after = (double)glow_get_int(y, k)};
            return false;
        }
    return true;
}

/*
 * True if result `i` is zeros, because all cancels whatever the operands are, and `got` has
 * no more than what rounding them would leave: the gradient of a normalization of one number.
 */
static bool
is_cancelled(const trial *t, int i, const glow_tensor *got, double eps)
{
    double most = 0;

    for (int k = 0; k < t->count; k++)
        for (int64_t j = 0;
             !t->written[k] && glow_is_float(t->in[k].type->elem) &&
             j < glow_type_count(t->in[k].type);
             j++)
            most = fmax(most, fabs(glow_get_double(&t->in[k], j)));
    for (int64_t j = 0; j < glow_type_count(got->type); j++)
        if (fabs(glow_get_double(&t->wide[i], j)) > 64 * DBL_EPSILON * most ||
            !(fabs(glow_get_double(got, j)) <= 16 * eps * most))
            return false;
    return true;
}

static void
compare(trial *t, const glow_tensor *got, const char *what)
{
    for (int i = 0; i < t->count; i++) {
        const glow_kind_info *k = glow_kind_get(got[i].type->elem);
        glow_difference d;

        bool exact = glow_is_quantized(got[i].type->elem);

        if (!t->written[i] || (exact && is_same(&t->in[i], &got[i], &d)))
            continue;
        if (!exact && (glow_compare_near(&t->in[i], &got[i], &t->wide[i],
                                         k->epsilon, false, &d) ||
                       glow_compare_roundings(&got[i], &t->wide[i], &t->wide[i],
                                              k->epsilon) ||
                       is_cancelled(t, i, &got[i], k->epsilon)))
            continue;
        snprintf(t->said, sizeof t->said,
                 "%s: element %lld is %.9g, but must be %.9g",
                 t->bound[i]->name, (long long)d.index, d.after, d.before);
        fail(t, what);
        return;
    }
}

/* Element `k` of a result, of any kind. */
static double
number_at(const glow_tensor *x, int64_t k)
{
    return glow_is_float(x->type->elem) ? glow_get_double(x, k)
                                        : (double)glow_get_int(x, k);
}

/* True if float64 gives the same number: nothing was rounded, or not so far. */
static bool
is_exact(const trial *t, int i, int64_t k)
{
    double x = number_at(&t->in[i], k);

    return isfinite(x) && x == number_at(&t->wide[i], k);
}

static void
leave_out(trial *t, int i, int64_t k)
{
    if (glow_is_float(t->wide[i].type->elem))
        glow_set_double(&t->wide[i], k, (double)NAN);
    else
        glow_set_int(&t->wide[i], k, glow_get_int(&t->in[i], k) + 1);
}

/* True if element `k` of result `i` of quotients is another by more than a rounding. */
static bool
jumps(const trial *t, const glow_tensor *got, int i, int64_t k)
{
    bool is_float = glow_is_float(got[i].type->elem);
    double near = t->floored[i] || !is_float ? 0 : 1e-2;
    double y = number_at(&got[i], k), right = number_at(&t->in[i], k);

    if (!is_exact(t, i, k) || (t->floored[i] && !is_exact(t, i - 1, k)))
        return false;
    if (!t->floored[i] && is_float && !isfinite(y))
        return false; /* at the end of a domain, such as that of Log */
    return !(fabs(y - right) <= near * (1 + fabs(right)));
}

/*
 * Elements that are exact have no jump within a rounding, unless a quotient has
 * been rounded.  A result of Floor is then the same, as any other integer is; a float
 * is near.  LEARN takes elements where it is not so out of the comparison.
 */
static void
compare_exact(trial *t, const glow_tensor *got, const char *what)
{
    for (int i = 0; i < t->count; i++)
        for (int64_t k = 0; t->written[i] && k < glow_type_count(got[i].type);
             k++) {
            if (!jumps(t, got, i, k))
                continue;
            if (t->mode == LEARN) {
                leave_out(t, i, k);
                continue;
            }
            t->jumped = true;
            if (t->mode == LOOK)
                return;
            snprintf(t->said, sizeof t->said,
                     "%s: element %lld is %.9g, but must be %.9g",
                     t->bound[i]->name, (long long)k, number_at(&got[i], k),
                     number_at(&t->in[i], k));
            fail(t, what);
            return;
        }
}

static bool
run_passes(trial *t, glow_module *m, const char *text,
           glow_pipeline_options options)
{
    const glow_source source = {"passes", text, strlen(text), 1};
    glow_pipeline *p = glow_pipeline_parse(t->ctx, t->a, &source);

    options.verify_each = true;
    return p && glow_pipeline_run(p, m, &options);
}

static void
run_loaded(trial *t, const glow_module *m, glow_executable *x, const char *what)
{
    glow_tensor got[SWEEP_STORAGES];
    glow_binding b[SWEEP_STORAGES];

    for (int i = 0; i < t->count; i++) {
        got[i] = glow_tensor_new(t->in[i].type);
        if (!t->written[i])
            memcpy(got[i].data, t->in[i].data,
                   (size_t)glow_type_bytes(got[i].type));
    }
    bind(t, m, got, b);
    if (!t->backend->run(x, b, t->count))
        fail(t, what);
    else if (t->form == SWEEP_QUOTIENTS)
        compare_exact(t, got, what);
    else
        compare(t, got, what);
    for (int i = 0; i < t->count; i++)
        glow_tensor_end(&got[i]);
}

/* The steps up to the level of the backend. */
static bool
reach_level(trial *t, glow_module *m)
{
    bool placed = t->backend->level == GLOW_PLACED;

    /* Without optimizing programs a Save is a copy, which is stacked on the node;
       with it, as at -O2, nothing is behind the node. */
    const char *steps = t->form == SWEEP_ALL
                            ? "schedule,irgen,alloc"
                            : "schedule,irgen,optimize-program,alloc";

    return run_passes(
        t, m, placed ? steps : "",
        (glow_pipeline_options){.backend = t->backend,
                                .reach = (glow_level)t->backend->level});
}

/* `cpu` and `features` of NAME+FEATURE, or of NULL. */
static glow_target_options
target_of(glow_arena *a, const char *name)
{
    const char *plus = name ? strchr(name, '+') : NULL;

    if (!plus)
        return (glow_target_options){.cpu = name};
    return (glow_target_options){
        .cpu = glow_arena_strndup(a, name, (size_t)(plus - name)),
        .features = plus};
}

static void
run_target(trial *t, glow_module *m, const glow_target_options *target,
           const char *what)
{
    glow_executable *x = t->backend->load(glow_find_func(m, "main"), target);

    if (!x) {
        fail(t, what);
        return;
    }
    run_loaded(t, m, x, what);
    t->backend->unload(x);
}

/*
 * Runs a convolution of integers by each form of Winograd's transforms as well, which
 * keep all bits, and which the cost model leaves out of small shapes.
 */
static void
run_forms(trial *t, glow_module *m, const glow_target_options *target,
          const char *what)
{
    static const int forms[] = {GLOW_WINOGRAD_2, GLOW_WINOGRAD_4};

    if (t->s->op != &glow_op_channelwisequantizedconvolution ||
        strcmp(t->backend->name, "cpu") != 0)
        return;
    for (int i = 0; i < 2; i++) {
        const glow_cpu_options own = {.winograd = forms[i]};
        glow_target_options with = *target;

        with.options = &own;
        run_target(t, m, &with,
                   glow_arena_printf(t->a, "%s -winograd=%d", what,
                                     forms[i] == GLOW_WINOGRAD_2 ? 2 : 4));
    }
}

/* Runs what the backend takes. */
static void
run_taken(trial *t, glow_module *m, const char *what)
{
    if (!reach_level(t, m)) {
        fail(t, what);
        return;
    }
    for (int i = 0; i < t->widths.count; i++) {
        const char *name = t->widths.at[i];
        const char *where =
            name ? glow_arena_printf(t->a, "%s -cpu=%s", what, name) : what;
        const glow_target_options target = target_of(t->a, name);

        run_target(t, m, &target, where);
        run_forms(t, m, &target, where);
    }
}

/* True if the backend takes every node of `m`. */
static bool
takes_all(trial *t, const glow_module *m)
{
    const char *why = NULL;

    GLOW_FOR_EACH_FUNC(f, m)
        GLOW_FOR_EACH_NODE(n, f)
            if (t->backend->takes(n, t->a, &why) != GLOW_TAKES)
                return false;
    return true;
}

/* A backend that does not take a node does not load it, and says so. */
static void
check_refused(trial *t, glow_module *m)
{
    glow_executable *x;

    t->tally->left++;
    if (!t->widths.may_refuse) {
        fail(t, "not taken");
        return;
    }
    if (!reach_level(t, m))
        return;
    t->said[0] = '\0';
    x = t->backend->load(glow_find_func(m, "main"),
                         &(const glow_target_options){0});
    if (x)
        t->backend->unload(x);
    if (x || !t->said[0])
        fail(t, x ? "loads a node that it does not take"
                  : "does not load, and does not say why");
}

/* Leaves in t->said why the cpu backend cannot run code for `cpu` here, or "". */
static void
ask(const char *cpu, trial *t)
{
    static const char text[] = "placeholder @x : float<1>\n"
                               "placeholder @y : float<1>\n"
                               "function @main { %s = Save(@x, @y) }\n";
    const glow_source source = {"probe", text, sizeof text - 1, 1};
    const glow_backend *backend;
    glow_target_options target;
    glow_executable *x = NULL;

    *t = (trial){.ctx = glow_context_new(), .a = glow_arena_new()};
    target = target_of(t->a, cpu);
    glow_context_set_sink(t->ctx, keep_message, t);
    backend = glow_find_backend(t->ctx, "cpu");
    t->m = glow_parse(t->ctx, &source, &(glow_parse_options){0});
    if (t->m && run_passes(t, t->m, "schedule,irgen,alloc",
                           (glow_pipeline_options){.backend = backend}))
        x = backend->load(glow_find_func(t->m, "main"), &target);
    if (x)
        backend->unload(x);
    if (t->m)
        glow_module_free(t->m);
    glow_context_free(t->ctx);
    glow_arena_free(t->a);
}

void
sweep_leave_out(sweep_widths *w)
{
    int kept = 0;

    for (int i = 0; i < w->count; i++) {
        trial t;

        ask(w->at[i], &t);
        if (t.said[0])
            printf("left out -cpu=%s: %s\n", w->at[i], t.said);
        else
            w->at[kept++] = w->at[i];
    }
    w->count = kept;
}

void
sweep_prepare(void)
{
    trial t;

    ask(NULL, &t);
}

/* What must hold. */

/* Keeps the text for messages; of SWEEP_ALL it must read back. */
static void
check_text(trial *t)
{
    glow_buf one = {.arena = t->a}, two = {.arena = t->a};

    glow_print(&one, t->m, &(glow_print_options){0});
    snprintf(t->tally->text, sizeof t->tally->text, "%s", one.text);

    if (t->form != SWEEP_ALL)
        return;

    const glow_source *source =
        glow_source_from(t->ctx, "printed", one.text, one.len);
    glow_module *m = glow_parse(t->ctx, source, &(glow_parse_options){0});

    if (m)
        glow_print(&two, m, &(glow_print_options){0});
    if (!m || one.len != two.len || memcmp(one.text, two.text, one.len) != 0)
        fail(t, "the text does not read back as it was printed");
    if (m)
        glow_module_free(m);
}

/* Lowered to primitives, then these on the backend, if it has them. */
static void
check_lowering(trial *t)
{
    glow_module *m = glow_module_clone(t->m);
    glow_semantics *s = glow_semantics_new(t->ctx, SEED, 0);
    glow_instrument watch = glow_semantics_instrument(s);
    bool ok = run_passes(
        t, m, "lower",
        (glow_pipeline_options){.instruments = &watch, .n_instruments = 1});

    if (!ok || (glow_semantics_failed(s) && !strstr(t->said, "E0413")))
        fail(t, "lower");
    else if (takes_all(t, m))
        run_taken(t, m, "after lower");
    else
        check_refused(t, m);
    glow_semantics_free(s);
    glow_module_free(m);
}

static void
check_native(trial *t, const char *passes, const char *what)
{
    glow_module *m = glow_module_clone(t->m);
    const glow_pipeline_options how = {.backend = t->backend};

    if (!run_passes(t, m, passes, how))
        fail(t, passes);
    else if (takes_all(t, m))
        run_taken(t, m, what);
    else
        check_refused(t, m);
    glow_module_free(m);
}

/* True if a result overflows: sums in another order may then be NaN. */
static bool
is_infinite(const trial *t)
{
    for (int i = 0; i < t->count; i++)
        for (int64_t k = 0; t->written[i] && k < glow_type_count(t->in[i].type);
             k++)
            if (isinf(number_at(&t->in[i], k)))
                return true;
    return false;
}

/*
 * A difference counts where the CPU without `optimize` has none: it is then a pass
 * that rounds quotients in another way, and no kernel that rounds its sums.
 */
static void
check_quotients(trial *t)
{
    t->mode = LOOK;
    check_native(t, "optimize,lower<partial>", "after optimize");
    if (!t->jumped)
        return;
    t->mode = LEARN;
    check_native(t, "lower<partial>", t->backend->name);
    t->mode = REPORT;
    check_native(t, "optimize,lower<partial>", "after optimize");
}

void
sweep_check(const specimen *s, sweep_form form, uint64_t seed,
            const sweep_widths *widths, glow_arena *a, sweep_tally *tally)
{
    trial t = {.s = s,
               .form = form,
               .ctx = glow_context_new(),
               .a = a,
               .random = seed,
               .widths = *widths,
               .tally = tally};
    uint64_t r = seed ^ widths->seed;
    int before = tally->failed;

    if (widths->draws) {
        t.widths.at[0] = widths->at[sweep_draw(&r, widths->count)];
        t.widths.count = 1;
    }

    glow_context_set_sink(t.ctx, keep_message, &t);
    if (widths->plugin)
        glow_plugin_load(t.ctx, widths->plugin);
    t.backend = glow_find_backend(t.ctx, widths->backend);
    t.m = glow_module_new(t.ctx);
    if (build(&t) && glow_verify(t.m) && run_right(&t) &&
        (form == SWEEP_ALL || !is_infinite(&t))) {
        tally->ran++;
        check_text(&t);
        if (form == SWEEP_ALL)
            check_lowering(&t);
        if (form == SWEEP_QUOTIENTS)
            check_quotients(&t);
        else if (tally->failed == before)
            check_native(&t, "lower<partial>", t.backend->name);
    } else {
        tally->refused++;
    }
    for (int i = 0; i < t.count; i++) {
        glow_tensor_end(&t.in[i]);
        glow_tensor_end(&t.wide[i]);
    }
    glow_module_free(t.m);
    glow_context_free(t.ctx);
}
