/*
 * Builds the plan of a placed program: greedy fusion of its instructions into
 * steps.
 */

#include <string.h>

#include "codegen/cpu/kernels/kernel.h"
#include "codegen/cpu/move.h"
#include "codegen/cpu/plan/choose.h"
#include "codegen/cpu/plan/kernels.h"
#include "codegen/cpu/plan/known.h"
#include "codegen/cpu/plan/memory.h"
#include "codegen/cpu/plan/plan.h"
#include "codegen/cpu/plan/split.h"
#include "codegen/cpu/plan/stack.h"
#include "codegen/cpu/pool.h"
#include "glow/ops.h"
#include "glow/pipeline.h"

/* Weights. */

static void
add_weight(cpu_plan *p, const glow_node *n)
{
    const glow_value *v = n->out[0];
    cpu_range r = glow_cpu_range(p, v);

    if (v->storage->is_constant) {
        p->constants =
            glow_arena_grow(p->arena, p->constants, (size_t)p->n_constants,
                            &p->cap_constants, sizeof(cpu_constant));
        p->constants[p->n_constants++] = (cpu_constant){
            .storage = v->storage, .offset = r.offset, .size = r.size};
    } else {
        p->bindings =
            glow_arena_grow(p->arena, p->bindings, (size_t)p->n_bindings,
                            &p->cap_bindings, sizeof(cpu_binding));
        p->bindings[p->n_bindings++] =
            (cpu_binding){v->storage,
                          r.base,
                          r.offset,
                          r.size,
                          p->lives[glow_number_of(&p->numbers, n)].begin == 0,
                          glow_func_writes(p->func, v->storage)};
    }
}

/* Steps. */

static cpu_step *
new_step(cpu_plan *p, const glow_node *n)
{
    p->steps = glow_arena_grow(p->arena, p->steps, (size_t)p->n_steps,
                               &p->cap_steps, sizeof(cpu_step));

    cpu_step *s = &p->steps[p->n_steps++];

    *s = (cpu_step){.target = p->target, .packed = -1, .own_scratch = -1};
    s->first = s->last = (int)glow_number_of(&p->numbers, n);
    return s;
}

/* True if kernel `k` packs operand `i`, where it packs any. */
static bool
packs(const cpu_kernel *k, int i)
{
    return i == k->packs || k->packs_too >> i & 1;
}

/* Bytes of the packed operands of `n`, or 0 if kernel `k` packs none. */
static int64_t
packed_size(const cpu_target *t, const cpu_kernel *k, const glow_node *n)
{
    if (!k->pack)
        return 0;
    for (int i = 0; i < n->n_in; i++)
        if (packs(k, i) && n->in[i] && !glow_cpu_is_whole_constant(n->in[i]))
            return 0;
    return k->packed_size(t, n);
}

static void
add_packed(cpu_plan *p, cpu_step *s, int64_t size)
{
    const glow_node *n = s->root;

    p->constants =
        glow_arena_grow(p->arena, p->constants, (size_t)p->n_constants,
                        &p->cap_constants, sizeof(cpu_constant));
    p->constants[p->n_constants++] = (cpu_constant){
        .storage = glow_cpu_whole_constant(n->in[s->kernel->packs]),
        .offset = -1,
        .size = size,
        .kernel = s->kernel,
        .target = s->target,
        .user = n};
    s->packed = p->n_constants - 1; /* until glow_cpu_lay_constants */
}

static void
add_root(cpu_plan *p, const glow_node *n, const cpu_kernel *k,
         const cpu_target *t)
{
    cpu_step *s = new_step(p, n);
    int64_t packed = packed_size(t, k, n);
    glow_dims shape = n->out[0]->type->shape, rows;
    int64_t columns = shape.rank ? shape.at[shape.rank - 1] : 1;
    bool by_rows = k->stacks && glow_cpu_rows(n->out[0]->type, &rows);

    s->root = n;
    s->kernel = k;
    s->target = t;
    s->in = GLOW_NEW_ARRAY(p->arena, int, n->n_in + 1);
    if (packed)
        add_packed(p, s, packed);
    if (k->scratch_size)
        s->scratch = k->scratch_size(t, n);
    if (k->calls)
        s->scratch = CPU_ALIGN; /* until plan_calls */
    if (s->scratch && n->scratch &&
        glow_type_bytes(n->scratch->type) >= s->scratch)
        s->own_scratch = glow_cpu_add_slot(p, s, n->scratch, true, 0, NULL);
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i] || (packed && packs(k, i)))
            s->in[i] = -1;
        else
            s->in[i] = glow_cpu_add_slot(p, s, n->in[i], false, 0, NULL);
    }
    s->out = GLOW_NEW_ARRAY(p->arena, int, n->n_out);
    for (int i = 0; i < n->n_out; i++)
        s->out[i] = glow_cpu_add_slot(p, s, n->out[i], true, 0,
                                      by_rows && i == 0 ? &rows : NULL);
    s->shape = columns ? GLOW_DIMS_OF(glow_dims_count(shape) / columns, columns)
                       : GLOW_DIMS_OF(0, 0);
}

/*
 * Finds the kernel for `n`, or NULL, and the target with its choice. -winograd
 * and `parts` override the tuning file, and so do the elements of constants, where the
 * kernel asks for them; otherwise a choice of the file that its kernel does not accept is
 * an error.
 */
static bool
choose(const cpu_plan *p, const glow_node *n, const cpu_kernel **kernel,
       const cpu_target **own)
{
    const cpu_kernel *known = glow_cpu_known_kernel(p->root, n);
    const cpu_choice *c = glow_cpu_tuned_choice(p->arena, p->target, n);
    cpu_target *t;

    *own = p->target;
    *kernel = NULL;
    if (c && known) {
        c = c->kernel == known ? c : NULL;
    } else if (c && !glow_cpu_can_choose(p->target, n, c)) {
        if (p->target->winograd == GLOW_WINOGRAD_AUTO &&
            p->target->parts == GLOW_PARTS_AUTO && !p->target->exact &&
            !c->kernel->by_elements)
            return glow_error_hint(
                p->func->module->ctx, c->span, "E0828",
                "take the line out, or have it made anew by -tune",
                "cpu: %s %%%s cannot be done by %s", n->op->name, n->name,
                glow_cpu_choice_text(p->arena, c));
        c = NULL;
    }
    *kernel = c       ? c->kernel
              : known ? known
                      : glow_cpu_find_kernel(p->target, n);
    glow_cpu_note_kernel(p->root, n, *kernel);
    if (c) {
        t = glow_arena_copy(p->arena, p->target, sizeof *t);
        t->choice = c;
        *own = t;
    }
    return true;
}

/* Appends the bytes of weights that kernel `k` packs for `n`, if they grow. */
static void
put_growth(glow_buf *b, const cpu_target *t, const cpu_kernel *k,
           const glow_node *n)
{
    int64_t packed = packed_size(t, k, n);
    int64_t plain = 0;

    for (int i = 0; packed && i < n->n_in; i++)
        if (packs(k, i) && n->in[i])
            plain += glow_type_bytes(n->in[i]->type);
    if (packed > plain)
        glow_buf_printf(b, "; %" PRId64 " bytes of weights instead of %" PRId64,
                        packed, plain);
}

/*
 * Reports the remarks on `n` of the kernel that was taken, with target `t`, and of those
 * that are preferred to it.
 */
static void
put_remarks(const cpu_plan *p, const glow_node *n, const cpu_kernel *taken,
            const cpu_target *t)
{
    const cpu_kernel *k;

    for (int i = 0; t->remark && (k = glow_cpu_kernels[i]); i++) {
        glow_remark r = {.node = n, .done = k == taken};
        glow_buf why = {.arena = p->arena};

        if (k->op == n->op && k->remark && glow_cpu_takes_layouts(k, n))
            k->remark(t, n, r.done, &why);
        if (why.len > 0) {
            if (r.done)
                put_growth(&why, t, k, n);
            r.text = glow_arena_printf(p->arena, "%s: %s", k->name, why.text);
            t->remark(t->remark_user, &r);
        }
        if (r.done)
            return;
    }
}

static bool
add_instruction(cpu_plan *p, const glow_node *n)
{
    cpu_step *last = p->n_steps ? &p->steps[p->n_steps - 1] : NULL;
    const char *kind = glow_cg_foreign_kind(n);

    if (!glow_cpu_has_elements(n) ||
        (last && (int)glow_number_of(&p->numbers, n) <= last->last))
        return true;
    if (kind)
        return glow_error_at(p->func->module->ctx, n->span, "E0823",
                             "cpu: no code for %s with elements of kind %s",
                             n->op->name, kind);
    if (last && glow_cpu_stack_on(p, last, n))
        return true;

    const cpu_target *t;
    const cpu_kernel *k;

    if (!choose(p, n, &k, &t))
        return false;
    if (k) {
        put_remarks(p, n, k, t);
        add_root(p, n, k, t);
    } else if (glow_cpu_can_stack(n))
        glow_cpu_stack_first(p, new_step(p, n), n);
    else
        return glow_error_at(p->func->module->ctx, n->span, "E0823",
                             "cpu: no kernel for %s of these types",
                             n->op->name);
    return true;
}

/* Dead stores: to a buffer that only this step accesses from here on. */

/*
 * Clears `dead` of the slots of `v` if an instruction after the step reads it.
 * Another buffer at the same place may be dead, so liveness is by buffer.
 */
static void
mark_live(const cpu_plan *p, cpu_step *s, glow_value *v)
{
    const glow_value *b = glow_base_buffer(v);
    cpu_range r = glow_cpu_range(p, v);

    if (b->def->op == &glow_op_alloc && glow_cpu_last_use(p, b) <= s->last)
        return;
    for (int i = 0; i < s->n_slots; i++)
        if (!s->slots[i].held && glow_cpu_same_range(s->slots[i].range, r))
            s->slots[i].dead = false;
}

static void
find_dead(const cpu_plan *p, cpu_step *s)
{
    if (s->n_items == 0 || (s->root && !s->kernel->stacks))
        return;
    for (int i = 0; i < s->n_slots; i++)
        s->slots[i].dead = s->slots[i].written;
    for (int i = 0; s->root && i < s->root->n_out; i++)
        mark_live(p, s, s->root->out[i]);
    for (int k = 0; k < s->n_items; k++)
        mark_live(p, s, s->items[k].n->out[0]);
}

static void
finish_steps(cpu_plan *p)
{
    for (int i = 0; i < p->n_steps; i++) {
        find_dead(p, &p->steps[i]);
        glow_cpu_finish_stack(&p->steps[i]);
        glow_cpu_split(&p->steps[i]);
    }
}

/*
 * Places the scratch of steps without a scratch buffer behind the activations.
 */
static bool
lay_scratch(cpu_plan *p)
{
    int64_t *size = &p->size[CPU_ACTIVATIONS], most = 0;

    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].own_scratch < 0 && p->steps[i].scratch > most)
            most = p->steps[i].scratch;
    if (!most)
        return true;
    p->scratch = glow_cpu_aligned(*size);
    if (most < INT64_MAX - p->scratch) {
        *size = p->scratch + most;
        return true;
    }
    return glow_error_at(p->func->module->ctx, p->func->span, "E0823",
                         "cpu: %" PRId64 " bytes of activations and %" PRId64
                         " to work in are more than memory can have",
                         *size, most);
}

/* Calls. */

static cpu_plan *make_plan(cpu_plan *root, glow_arena *a, const cpu_target *t,
                           glow_func *f, const char *known);

/* The plan of body `f`, shared by all its callers. */
static cpu_plan *
plan_body(cpu_plan *root, glow_func *f)
{
    cpu_plan *body;

    for (int i = 0; i < root->n_bodies; i++)
        if (root->bodies[i]->func == f)
            return root->bodies[i];
    body = make_plan(root, root->arena, root->target, f, NULL);
    if (!body)
        return NULL;
    root->bodies =
        glow_arena_grow(root->arena, root->bodies, (size_t)root->n_bodies,
                        &root->cap_bodies, sizeof *root->bodies);
    root->bodies[root->n_bodies++] = body;
    return body;
}

/*
 * Plans the callees of step `s`.  Its scratch is the largest memory of a
 * callee, because only one of them runs at a time.
 */
static bool
plan_calls(cpu_plan *p, cpu_step *s)
{
    int count = glow_call_count(s->root);

    s->bodies = GLOW_NEW_ARRAY(p->arena, cpu_plan *, count);
    s->scratch = CPU_ALIGN;
    for (int k = 0; k < count; k++) {
        cpu_plan *body = plan_body(p->root, glow_called(s->root, k));
        int64_t size;

        if (!body)
            return false;
        if (glow_add_overflow(glow_cpu_body_activations(body),
                              glow_cpu_aligned(body->size[CPU_ACTIVATIONS]),
                              &size))
            size = INT64_MAX;
        if (size > s->scratch)
            s->scratch = size;
        s->bodies[k] = body;
    }
    if (s->own_scratch >= 0 &&
        glow_type_bytes(s->root->scratch->type) < s->scratch)
        s->own_scratch = -1;
    return true;
}

int64_t
glow_cpu_call_scratch(const glow_node *n)
{
    int64_t most = CPU_ALIGN;

    for (int k = 0; k < glow_call_count(n); k++) {
        const glow_func *body = glow_called(n, k);
        int64_t bytes;

        if (!body || !body->placed)
            return 0;
        bytes = glow_cpu_region_bytes(body);
        if (bytes > most)
            most = bytes;
    }
    return most;
}

const cpu_plan *
glow_cpu_failed(const cpu_plan *p, int code)
{
    for (int i = 0; i < p->n_bodies; i++)
        if (code > p->bodies[i]->first_code &&
            code <= p->bodies[i]->first_code + p->bodies[i]->func->count)
            return p->bodies[i];
    return p;
}

/* Entry points. */

/* A new plan, whose constants come behind those of the plans before it. */
static cpu_plan *
new_plan(cpu_plan *root, glow_arena *a, const cpu_target *t, glow_func *f)
{
    cpu_plan *p = GLOW_NEW(a, cpu_plan);

    p->func = f;
    p->target = t;
    p->arena = a;
    p->root = root ? root : p;
    p->is_entry = !root;
    p->state_space = -1;
    p->busy = -1;
    p->first_code = p->root->n_codes;
    p->root->n_codes += f->count;
    p->size[CPU_CONSTANTS] = p->root->size[CPU_CONSTANTS];
    return p;
}

static cpu_plan *
make_plan(cpu_plan *root, glow_arena *a, const cpu_target *t, glow_func *f,
          const char *known)
{
    cpu_plan *p = new_plan(root, a, t, f);
    bool ok = true;

    p->known_kernels = known;
    if (!f->placed) {
        glow_error_at(f->module->ctx, f->span, "E0822",
                      "cpu: @%s is no placed program", f->name);
        return NULL;
    }
    if (!glow_cpu_lay_regions(p))
        return NULL;
    p->numbers = glow_number_nodes(p->arena, f);
    p->lives = glow_program_lives(p->arena, f, &p->numbers);
    GLOW_FOR_EACH_NODE(n, f) {
        if (n->op == &glow_op_weight)
            add_weight(p, n);
        else if (n->op != &glow_op_alloc && n->op != &glow_op_dealloc &&
                 n->op != &glow_op_tensorview)
            ok = add_instruction(p, n) && ok;
    }
    if (!ok)
        return NULL;
    finish_steps(p);
    p->root->size[CPU_CONSTANTS] = p->size[CPU_CONSTANTS];
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].root && p->steps[i].kernel->calls &&
            !plan_calls(p, &p->steps[i]))
            return NULL;
    return lay_scratch(p) ? p : NULL;
}

/* glow_cpu_plan_all, with the names of known kernels or NULL. */
static cpu_plan *
make_plans(glow_arena *a, const cpu_target *t, glow_func *const *f, int count,
           const char *known)
{
    cpu_plan *p = make_plan(NULL, a, t, f[0], known);

    if (!p)
        return NULL;
    p->entries = GLOW_NEW_ARRAY(a, cpu_plan *, count);
    for (int i = 1; i < count; i++) {
        cpu_plan *entry = make_plan(p, a, t, f[i], NULL);

        if (!entry)
            return NULL;
        entry->is_entry = true;
        p->entries[p->n_entries++] = entry;
    }
    glow_cpu_lay_constants(p);
    return p;
}

cpu_plan *
glow_cpu_plan(glow_arena *a, const cpu_target *t, glow_func *f,
              const char *layout)
{
    return make_plans(a, t, &f, 1,
                      layout ? glow_cpu_known_names(layout) : NULL);
}

cpu_plan *
glow_cpu_plan_all(glow_arena *a, const cpu_target *t, glow_func *const *f,
                  int count)
{
    return make_plans(a, t, f, count, NULL);
}
