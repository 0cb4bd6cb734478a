/*
 * split-alloc: split the live range of a buffer where it is overwritten.
 *
 *     relu @out %a, @in %x           relu @out %a, @in %x
 *     exp @out %y, @in %a            exp @out %y, @in %a
 *     ...                            %a.free = dealloc @out %a
 *     tanh @out %a, @in %z      =>   ...
 *     neg @out %w, @in %a            %a.1 = alloc float<4>
 *     %a.free = dealloc @out %a      tanh @out %a.1, @in %z
 *                                    neg @out %w, @in %a.1
 *                                    %a.1.free = dealloc @out %a.1
 *
 * Live range splitting.  If an instruction writes all of a buffer and reads
 * nothing of it, the earlier content is dead since its last use.  Two buffers
 * with short live ranges leave the bytes between them to other buffers; one
 * buffer with a long live range keeps them.  Programs of irgen write each
 * buffer once; programs of other frontends may reuse a few buffers for all
 * intermediate results.
 *
 * A buffer is not split at a predicated write, which may keep earlier content;
 * at a write of a part; while an earlier view of it has later uses; or if its
 * place is fixed.
 *
 * Two walks; time linear in the instructions and their operands.
 */

#include "glow/number.h"
#include "glow/ops.h"
#include "glow/pass.h"

typedef struct splitter {
    glow_pass_run *pass;
    glow_numbering numbers; /* an alloc of a split has that of the first */
    glow_node **allocs;     /* by number: the alloc before any split */
    glow_value **now;  /* by number of an alloc: its replacement from here on */
    glow_node **frees; /* by number of an alloc: the dealloc of that buffer */
    bool *touched;     /* by number of an alloc: true after its first write */
    uint32_t *last; /* by number of an alloc, weight or view: its last access */
    uint32_t *last_view; /* by number of an alloc: of its views so far */
} splitter;

static uint32_t
number_of(const splitter *s, const glow_node *n)
{
    return glow_number_of(&s->numbers, n);
}

/* The number of the alloc or weight under `v`. */
static uint32_t
base_of(const splitter *s, glow_value *v)
{
    return glow_number_of(&s->numbers, glow_base_buffer(v)->def);
}

static void
note_access(splitter *s, const glow_value *v, uint32_t number)
{
    if (v && s->last[number_of(s, v->def)] < number)
        s->last[number_of(s, v->def)] = number;
}

/* Backward, so that the accesses of a view are known before its base. */
static void
find_last(splitter *s, const glow_func *f)
{
    for (const glow_node *n = f->last; n; n = n->prev) {
        if (n->op == &glow_op_tensorview)
            note_access(s, n->in[0], s->last[number_of(s, n)]);
        if (n->op == &glow_op_dealloc)
            s->frees[number_of(s, n->out[0]->def)] = (glow_node *)n;
        if (n->op->traits & GLOW_STRUCTURAL)
            continue;
        for (int i = 0; i < n->n_in; i++)
            note_access(s, n->in[i], number_of(s, n));
        for (int i = 0; i < n->n_out; i++)
            note_access(s, n->out[i], number_of(s, n));
        note_access(s, n->pred, number_of(s, n));
        note_access(s, n->scratch, number_of(s, n));
    }
}

/* True if `n` accesses `buffer` in any other way than as result `out`. */
static bool
needs(const splitter *s, const glow_node *n, int out, uint32_t buffer)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && base_of(s, n->in[i]) == buffer)
            return true;
    for (int i = 0; i < n->n_out; i++)
        if (i != out && base_of(s, n->out[i]) == buffer)
            return true;
    return n->scratch && base_of(s, n->scratch) == buffer;
}

/* True for an alloc in the default space whose place is not fixed. */
static bool
is_loose(const glow_value *v)
{
    return v->def->op == &glow_op_alloc && !glow_is_fixed(v->def) &&
           !glow_space_of(v->def);
}

/*
 * True if result `out` of `n` overwrites a whole alloc that was written before,
 * and its earlier content is dead.
 */
static bool
begins_anew(const splitter *s, const glow_node *n, int out)
{
    glow_value *v = n->out[out];
    uint32_t buffer = base_of(s, v);

    return is_loose(v) && !n->pred && !(n->op->traits & GLOW_UNKNOWN) &&
           s->touched[buffer] && s->frees[buffer] &&
           s->last_view[buffer] < number_of(s, n) && !needs(s, n, out, buffer);
}

/* Replaces `buffer` by a new alloc from `n` on. */
static void
split(splitter *s, glow_node *n, uint32_t buffer)
{
    glow_func *f = n->func;
    glow_node *was = s->now[buffer]->def, *end = s->frees[buffer];
    const glow_type *type = was->out[0]->type;
    glow_node *alloc = glow_node_new(
        f, &glow_op_alloc, glow_derived_name(f, s->allocs[buffer]->name, NULL),
        NULL, 0, &type, 1, NULL);
    glow_node *free = glow_instr_new(f, &glow_op_dealloc,
                                     glow_derived_name(f, alloc->name, "free"),
                                     &alloc->out[0], 1, NULL, 0, NULL);

    glow_node_move_after(free, end);
    glow_node_move_before(end, n);
    glow_node_move_before(alloc, n);
    glow_number_set(&s->numbers, alloc, buffer);
    s->now[buffer] = alloc->out[0];
    s->frees[buffer] = free;
    glow_run_count(s->pass, "split", 1);
}

/* The buffer that replaces `v` at this instruction. */
static glow_value *
now(const splitter *s, glow_value *v)
{
    return v && v->def->op == &glow_op_alloc ? s->now[number_of(s, v->def)] : v;
}

static void
use_now(splitter *s, glow_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (now(s, n->in[i]) != n->in[i])
            glow_set_operand(n, i, now(s, n->in[i]));
    for (int i = 0; i < n->n_out && !glow_defines(n); i++)
        if (now(s, n->out[i]) != n->out[i])
            glow_set_result(n, i, now(s, n->out[i]));
    if (now(s, n->pred) != n->pred)
        glow_set_pred(n, now(s, n->pred));
    if (now(s, n->scratch) != n->scratch)
        glow_set_scratch(n, now(s, n->scratch));
}

/* Renames the operands and results of `n`, and records its writes. */
static void
step_over(splitter *s, glow_node *n)
{
    use_now(s, n);
    if (n->op == &glow_op_tensorview) {
        uint32_t buffer = base_of(s, n->out[0]);

        if (s->last_view[buffer] < s->last[number_of(s, n)])
            s->last_view[buffer] = s->last[number_of(s, n)];
    }
    for (int i = 0; i < n->n_out && !(n->op->traits & GLOW_STRUCTURAL); i++)
        s->touched[base_of(s, n->out[i])] = true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    glow_arena *a = glow_run_scratch(pass);
    splitter s = {.pass = pass,
                  .numbers = glow_number_nodes(a, f),
                  .allocs = GLOW_NEW_ARRAY(a, glow_node *, f->count),
                  .now = GLOW_NEW_ARRAY(a, glow_value *, f->count),
                  .frees = GLOW_NEW_ARRAY(a, glow_node *, f->count),
                  .touched = GLOW_NEW_ARRAY(a, bool, f->count),
                  .last = GLOW_NEW_ARRAY(a, uint32_t, f->count),
                  .last_view = GLOW_NEW_ARRAY(a, uint32_t, f->count)};
    glow_result result = GLOW_UNCHANGED;
    uint32_t count = 0;

    GLOW_FOR_EACH_NODE(n, f) {
        s.allocs[count] = n;
        if (n->op == &glow_op_alloc)
            s.now[count] = n->out[0];
        count++;
    }
    find_last(&s, f);
    GLOW_FOR_EACH_NODE(n, f) {
        for (int i = 0; i < n->n_out && !(n->op->traits & GLOW_STRUCTURAL); i++)
            if (begins_anew(&s, n, i) && glow_run_may_rewrite(pass)) {
                split(&s, n, base_of(&s, n->out[i]));
                result = GLOW_CHANGED;
            }
        step_over(&s, n);
    }
    return result;
}

const glow_pass glow_pass_split_alloc = {
    .name = "split-alloc",
    .summary = "split the live range of a buffer where it is overwritten",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "live range splitting: Chow and Hennessy, The priority-based "
              "coloring approach to register allocation, TOPLAS 12, 1990",
};
