/*
 * fold-constants: evaluate nodes that depend on constants alone.
 *
 *     %y = Transpose(@w) {...}              =>  @z, with the elements of %z
 *     %z = Mul(%y, %s), %s = Splat()
 *
 * A node is known if it is pure and all of its operands are constants, splats
 * or known, and not all of them splats: a Splat node is smaller than the
 * tensor.  Known nodes form subgraphs, of which only the results with users
 * outside become constants; intermediate results are computed in topological
 * order and freed after their last use, so that a large intermediate does no
 * harm.  A layout operator on a constant of one repeated value gives such a
 * constant, of any size.  Afterwards no known node is left, except where
 * results would make the file grow:
 *
 *     a result may be as large as the constants that it comes from, or 64 KiB
 *     (2 KiB where its node only repeats elements: a Broadcast says which
 *     elements are repeated along which axis, which other passes match).
 *     A node counts as no more bytes than its results: a sum that was
 *     broadcast again is small;
 *     all results of one run may have 10 times the bytes that the constants had
 *     before, and 64 MiB more;
 *     a node may have operands and results of 512 MiB and take 1e9 operations,
 *     and all nodes together 4e9.
 *
 * A node that is left because of its size has its operands folded as far as
 * possible.  A BlockwiseDequantize stays, because bytes in blocks are there to keep the
 * file small; its lowering makes floats of them.
 *
 * Importers leave computations on shapes and weights; lowering leaves
 * transposed and reshaped weights.
 *
 * Glow compiles such subgraphs for its interpreter and can keep them, so that a
 * loader may do the same once more (ConstantFoldingRecordMap).  Here the text
 * before the pass is that record, and the location of a constant names the
 * node.  Importers evaluate only nodes that shapes depend on; this pass
 * evaluates the others.
 */

#include "glow/eval.h"
#include "glow/file.h"
#include "glow/number.h"
#include "glow/ops.h"
#include "glow/pass.h"

static const int64_t small_result = 64 << 10;
static const int64_t small_copy = 2 << 10;
static const int64_t largest_tensors = INT64_C(512) << 20;
static const int64_t most_operations = 1000000000;
static const int64_t all_operations = INT64_C(4000000000);
static const int64_t growth = 10;
static const int64_t growth_base = 64 << 20;

enum { FEW = 8 };

typedef enum state {
    INSIDE, /* used only by roots and their operands, or not at all */
    ROOT,   /* becomes a constant */
    LEFT,   /* would make the file grow */
} state;

/* A known node. */
typedef struct item {
    glow_node *node;
    int64_t bytes; /* of information: at most those of its results */
    state state;
    const glow_storage *splat; /* whose one value it repeats, or NULL */
    size_t readers;            /* uses that are not computed yet */
    glow_storage *made[GLOW_MAX_RESULTS]; /* of a root: NULL without uses */
    glow_tensor step[GLOW_MAX_RESULTS];   /* other results, while needed */
} item;

typedef struct folder {
    glow_pass_run *run;
    glow_numbering numbers; /* of known nodes: those of items */
    item *items;            /* operands first */
    size_t count, cap;
    int64_t budget;      /* remaining bytes of results */
    int64_t operations;  /* remaining */
    glow_arena *scratch; /* for the node that is computed */
} folder;

/* Sizes. */

static int64_t
result_bytes(const glow_node *n)
{
    int64_t sum = 0;

    for (int i = 0; i < n->n_out; i++)
        if (glow_add_overflow(sum, glow_type_bytes(n->out[i]->type), &sum))
            return INT64_MAX;
    return sum;
}

/* The item of `n`, or NULL if it is not known. */
static item *
item_at(const folder *f, const glow_node *n)
{
    uint32_t i = glow_number_of(&f->numbers, n);

    return i == GLOW_UNNUMBERED ? NULL : &f->items[i];
}

/* The item of the definition of `v`, or NULL. */
static item *
item_of(const folder *f, const glow_value *v)
{
    return v && v->def ? item_at(f, v->def) : NULL;
}

static int64_t
told_bytes(const folder *f, const glow_value *v)
{
    const item *it = item_of(f, v);

    return it ? it->bytes : glow_is_constant(v) ? glow_type_bytes(v->type) : 0;
}

/*
 * True if n->in[i] is also an operand before i; `seen` is used if there are
 * many.
 */
static bool
is_repeated(const glow_node *n, int i, glow_map *seen)
{
    glow_value *v = n->in[i];

    if (!seen) {
        for (int j = 0; j < i; j++)
            if (n->in[j] == v)
                return true;
        return false;
    }

    const char *name = v->def ? v->def->name : v->storage->name;
    const void *last = glow_map_get(seen, name);

    glow_map_set(seen, name, v);
    return last == v;
}

/* The bytes of information in the operands of `n`, each counted once. */
static int64_t
operand_bytes(const folder *f, const glow_node *n)
{
    glow_arena *a = n->n_in > FEW ? glow_arena_new() : NULL;
    glow_map *seen = a ? glow_map_new(a) : NULL;
    int64_t sum = 0;

    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && !is_repeated(n, i, seen) &&
            glow_add_overflow(sum, told_bytes(f, n->in[i]), &sum))
            sum = INT64_MAX;
    if (a)
        glow_arena_free(a);
    return sum;
}

/* Known nodes, by the number of operands that are not known yet. */

static bool
is_at_hand(const glow_value *v)
{
    return glow_is_constant(v) && v->storage->payload != GLOW_ELIDED &&
           v->type->strides.rank == 0;
}

static bool
can_be_computed(const glow_node *n)
{
    if (glow_is(n, &glow_op_blockwisedequantize))
        return false;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->type->strides.rank)
            return false;
    return (n->op->traits & GLOW_PURE) && n->op->eval && !n->pred &&
           n->n_in > 0 && n->n_out <= GLOW_MAX_RESULTS && !glow_op_calls(n->op);
}

static const uint32_t NEVER = UINT32_MAX;

static uint32_t
count_unknown(const glow_node *n)
{
    uint32_t unknown = 0, splats = 0;

    if (!can_be_computed(n))
        return NEVER;
    for (int i = 0; i < n->n_in; i++) {
        const glow_value *v = n->in[i];

        if (!v || glow_is(v->def, &glow_op_splat))
            splats++;
        else if (v->def)
            unknown++;
        else if (!is_at_hand(v))
            return NEVER;
    }
    return splats == (uint32_t)n->n_in ? NEVER : unknown;
}

/*
 * The constant of one repeated value that the layout operator `n` moves, or
 * NULL.
 */
static const glow_storage *
moved_splat(const folder *f, const glow_node *n)
{
    const glow_value *v = n->n_in == 1 && n->n_out == 1 ? n->in[0] : NULL;

    if (!v || !(n->op->traits & GLOW_LAYOUT) ||
        v->type->elem != n->out[0]->type->elem)
        return NULL;

    const item *it = item_of(f, v);

    if (it)
        return it->splat;
    return v->storage && v->storage->payload == GLOW_SPLAT ? v->storage : NULL;
}

/* True if operands and results of `n` are too large to evaluate. */
static bool
is_too_large(const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && glow_type_bytes(n->in[i]->type) > largest_tensors)
            return true;
    return result_bytes(n) > largest_tensors;
}

/* Adds `n`, all of whose operands are known; false if it is too expensive. */
static bool
add(folder *f, glow_node *n)
{
    item it = {.node = n, .splat = moved_splat(f, n)};
    int64_t operations = n->op->flops ? n->op->flops(n) : 0;
    int64_t bytes = result_bytes(n), told = operand_bytes(f, n);

    if (!it.splat && (is_too_large(n) || operations > most_operations ||
                      operations > f->operations))
        return false;
    if (!it.splat)
        f->operations -= operations;
    it.bytes = told < bytes ? told : bytes;
    f->items = glow_arena_grow(glow_run_scratch(f->run), f->items, f->count,
                               &f->cap, sizeof it);
    glow_number_set(&f->numbers, n, (uint32_t)f->count);
    f->items[f->count++] = it;
    return true;
}

static void
push(folder *f, glow_node ***list, size_t *count, size_t *cap, glow_node *n)
{
    *list = glow_arena_grow(glow_run_scratch(f->run), *list, *count, cap,
                            sizeof **list);
    (*list)[(*count)++] = n;
}

/* Finds the known nodes, in topological order. */
static void
find_known(folder *f, glow_func *func)
{
    glow_node **ready = NULL;
    size_t count = 0, cap = 0;
    uint32_t *unknown = GLOW_NEW_ARRAY(glow_run_scratch(f->run), uint32_t,
                                       (size_t)func->next_id + 1);

    f->numbers = glow_numbering_new(glow_run_scratch(f->run), func);
    GLOW_FOR_EACH_NODE(n, func) {
        unknown[n->id] = count_unknown(n);
        if (unknown[n->id] == 0)
            push(f, &ready, &count, &cap, n);
    }
    for (size_t next = 0; next < count; next++) {
        glow_node *n = ready[next];

        if (!add(f, n))
            continue;
        for (int i = 0; i < n->n_out; i++)
            GLOW_FOR_EACH_USE(u, n->out[i])
                if (unknown[u->user->id] != NEVER &&
                    --unknown[u->user->id] == 0)
                    push(f, &ready, &count, &cap, u->user);
    }
}

/* Choice of roots. */

static bool
is_read_outside(const folder *f, const glow_value *v)
{
    GLOW_FOR_EACH_USE(u, v) {
        const item *it = item_at(f, u->user);

        if (!it || it->state == LEFT)
            return true;
    }
    return false;
}

/* True if `n` only repeats elements of its operands. */
static bool
repeats(const glow_node *n)
{
    int64_t bytes = 0;

    for (int i = 0; i < n->n_in; i++)
        bytes += n->in[i] ? glow_type_bytes(n->in[i]->type) : 0;
    return (n->op->traits & GLOW_LAYOUT) && result_bytes(n) > bytes;
}

static bool
is_affordable(const folder *f, const item *it)
{
    int64_t bytes = result_bytes(it->node);
    int64_t told = operand_bytes(f, it->node);
    int64_t small = repeats(it->node) ? small_copy : small_result;

    return it->splat ||
           (bytes <= (told > small ? told : small) && bytes <= f->budget);
}

/*
 * Chooses roots, users first, because their states determine those of operands.
 */
static void
choose_roots(folder *f)
{
    for (size_t i = f->count; i-- > 0;) {
        item *it = &f->items[i];
        bool is_asked = false;

        for (int k = 0; k < it->node->n_out; k++)
            is_asked |= is_read_outside(f, it->node->out[k]);
        if (!is_asked)
            continue;
        it->state = LEFT;
        if (!is_affordable(f, it) || !glow_run_may_rewrite(f->run))
            continue;
        it->state = ROOT;
        if (!it->splat)
            f->budget -= result_bytes(it->node);
    }
}

/*
 * True if the node is evaluated; nodes that are LEFT may be intermediates of
 * roots, too.
 */
static bool
is_computed(const item *it)
{
    return it->state == ROOT ? !it->splat : it->readers > 0;
}

/* Counts the uses of each item by evaluated nodes. */
static void
count_readers(folder *f)
{
    for (size_t i = f->count; i-- > 0;) {
        const glow_node *n = f->items[i].node;

        for (int k = 0; is_computed(&f->items[i]) && k < n->n_in; k++) {
            item *operand = item_of(f, n->in[k]);

            if (operand)
                operand->readers++;
        }
    }
}

/* Evaluation. */

/* Creates the constants of a root, in the order of the function's nodes. */
static void
make(item *it, const char *pass)
{
    glow_node *n = it->node;
    glow_module *m = n->func->module;

    for (int i = 0; i < n->n_out; i++) {
        const glow_type *type = n->out[i]->type;

        if (glow_is_unused(n->out[i]))
            continue;
        it->made[i] =
            it->splat ? glow_constant_splat(m, n->name, type, it->splat->splat)
                      : glow_constant_new(m, n->name, type);
        if (it->splat)
            it->made[i]->splat_int = it->splat->splat_int;
        it->made[i]->loc = glow_loc_derived(m, pass, n->loc);
    }
}

/* The elements of result `k` of an item that was computed. */
static glow_tensor *
result(item *it, int k)
{
    return it->made[k] ? &it->made[k]->tensor : &it->step[k];
}

/* The elements of an operand; a Splat node is evaluated into `own`. */
static const glow_tensor *
open_operand(const folder *f, const glow_value *v, glow_tensor *own,
             glow_arena *scratch)
{
    item *it = item_of(f, v);

    if (!v->def)
        return glow_constant_tensor(v->storage);
    if (it && it->splat && it->state == ROOT)
        return glow_constant_tensor(it->made[v->index]);
    if (it)
        return result(it, v->index);
    *own = glow_tensor_new(v->type);
    return glow_eval_node(v->def, NULL, &own, scratch) ? own : NULL;
}

/* Releases one use; frees the results after the last. */
static void
close_operand(item *it)
{
    if (--it->readers > 0)
        return;
    for (int i = 0; i < it->node->n_out; i++)
        glow_tensor_end(&it->step[i]);
}

/* A Reshape has the elements of its operand, which are not copied. */
static void
refer(item *it, const glow_tensor *t)
{
    glow_tensor *out = result(it, 0);
    glow_data *owner = glow_data_ref(t->owner);

    glow_tensor_end(out);
    *out = (glow_tensor){
        .type = it->node->out[0]->type, .data = t->data, .owner = owner};
}

static bool
evaluate(item *it, glow_tensor **in, glow_arena *a)
{
    const glow_node *n = it->node;
    glow_tensor *out[GLOW_MAX_RESULTS];

    for (int i = 0; i < n->n_out; i++) {
        if (!it->made[i])
            it->step[i] = glow_tensor_new(n->out[i]->type);
        out[i] = result(it, i);
    }
    return glow_eval_node(n, in, out, a);
}

/* Weights that are mapped give their memory back once they were read. */
static bool
compute(folder *f, item *it)
{
    const glow_node *n = it->node;
    glow_arena *a = f->scratch;
    glow_tensor *in = GLOW_NEW_ARRAY(a, glow_tensor, n->n_in);
    glow_tensor *own = GLOW_NEW_ARRAY(a, glow_tensor, n->n_in);
    glow_tensor **at = GLOW_NEW_ARRAY(a, glow_tensor *, n->n_in);
    const glow_tensor *t = NULL;
    bool ok = true;

    for (int i = 0; i < n->n_in && ok; i++) {
        t = n->in[i] ? open_operand(f, n->in[i], &own[i], a) : NULL;

        ok = t || !n->in[i];
        if (!t)
            continue;
        in[i] = (glow_tensor){.type = t->type, .data = t->data};
        at[i] = &in[i];
    }
    if (ok && glow_is(n, &glow_op_reshape) && t->owner)
        refer(it, t);
    else
        ok = ok && evaluate(it, at, a);
    for (int i = 0; i < n->n_in; i++) {
        item *operand = item_of(f, n->in[i]);

        if (at[i] && !operand)
            glow_file_forget(at[i]->data, (size_t)glow_type_bytes(at[i]->type));
        glow_tensor_end(&own[i]);
        if (operand)
            close_operand(operand);
    }
    glow_arena_reset(a);
    return ok;
}

static bool
compute_all(folder *f)
{
    bool ok = true;

    f->scratch = glow_arena_new();
    for (size_t i = 0; i < f->count && ok; i++)
        if (is_computed(&f->items[i]))
            ok = compute(f, &f->items[i]);
    for (size_t i = 0; i < f->count; i++)
        for (int k = 0; k < f->items[i].node->n_out; k++)
            glow_tensor_end(&f->items[i].step[k]);
    glow_arena_free(f->scratch);
    return ok;
}

static int64_t
constant_bytes(const glow_module *m)
{
    int64_t sum = 0;

    GLOW_FOR_EACH_STORAGE(s, m)
        if (s->is_constant &&
            glow_add_overflow(sum, glow_type_bytes(s->value.type), &sum))
            return INT64_MAX;
    return sum;
}

static int64_t
budget_for(const glow_module *m)
{
    int64_t bytes = constant_bytes(m), budget;

    if (glow_mul_overflow(bytes, growth, &budget) ||
        glow_add_overflow(budget, growth_base, &budget))
        return INT64_MAX;
    return budget;
}

static glow_result
run(glow_pass_run *pass, glow_func *func)
{
    folder f = {.run = pass,
                .budget = budget_for(func->module),
                .operations = all_operations};
    bool changed = false;

    find_known(&f, func);
    choose_roots(&f);
    count_readers(&f);
    GLOW_FOR_EACH_NODE(n, func) {
        item *it = item_at(&f, n);

        if (it && it->state == ROOT) {
            make(it, glow_run_pass(pass)->name);
            changed = true;
        }
    }
    if (!changed)
        return GLOW_UNCHANGED;
    if (!compute_all(&f))
        return GLOW_FAILED;
    for (size_t i = 0; i < f.count; i++)
        for (int k = 0; k < f.items[i].node->n_out; k++)
            if (f.items[i].made[k])
                glow_replace_uses(f.items[i].node->out[k],
                                  &f.items[i].made[k]->value);
    glow_erase_unused(func);
    return GLOW_CHANGED;
}

const glow_pass glow_pass_fold_constants = {
    .name = "fold-constants",
    .summary = "evaluate nodes that depend on constants alone",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .takes_quantized = true,
    .run = run,
};
