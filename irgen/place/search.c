/*
 * Branch and bound over valleys of the skyline, with restarts and a memo table.
 *
 * Time is cut into sections with the same live buffers.  Each section has a
 * floor, below which nothing more is placed; the floors form a skyline.  A valley
 * is a run of equal floors between higher ones.  At an end of a valley there are
 * few branches: a buffer that rests on the floor there begins (or ends) at that
 * end and lies within the valley; or none does, and then the floor of that
 * section rises to the next level on which a buffer can rest.  Every packing in
 * which each buffer rests on another one or on the ground is reached once,
 * independent of the choice of valleys, so the search takes the valley with the
 * fewest branches.
 *
 * A state fails independent of the path to it; a hash table keeps failed states,
 * over restarts too.  state.c prunes states at once.  Components that no buffer
 * connects are searched separately.
 *
 * Alignment, banks, forbidden ranges and fixed buffers change nothing of this: a
 * buffer rests if it is as low as the buffers below it allow.
 *
 * The branching order decides the time until a placement is found: some orders
 * take few more states than there are buffers, others never end (heavy tails:
 * Gomes, Selman and Kautz, AAAI 1998).  So the search restarts after few states,
 * each time with another heuristic (heuristics.c), every other time with the one
 * that placed most; runs of growing length at growing intervals leave room for
 * proofs.  States are counted instead of time, so that results are reproducible.
 */

#include <string.h>

#include "irgen/place/heuristics.h"
#include "irgen/place/search.h"

#define SHORT_RUN 2    /* states for each block */
#define LONGER_RUN 16  /* one of so many runs is longer */
#define LONGER_LIMIT 4 /* by this factor */
#define FEW_SWAPS 16   /* one of so many pairs of blocks */
#define MOST_DEPTH 20000
#define MEMO_BITS 18 /* at most, of the table of failed states */

typedef glow_place_answer answer;

typedef struct search {
    glow_place_state s;
    int *pool; /* candidates of all states on the path */
    size_t n_pool, cap_pool;
    uint64_t *failed;
    int memo_bits;
    int64_t steps, limit;
    int heuristic, depth,
        reached; /* `reached`: the most blocks placed at once */
    bool shuffles;
    uint64_t random;
} search;

static uint64_t
draw(search *s)
{
    s->random += 0x9e3779b97f4a7c15u;
    return glow_mix(s->random);
}

/* Choice of the branch. */

typedef struct choice {
    double score;
    glow_place_end at;
    int64_t next_floor; /* 0: it cannot rise */
    size_t first;       /* first candidate in the pool */
    int count;
} choice;

static void
offer(search *s, int b)
{
    if (s->n_pool == s->cap_pool)
        s->pool = glow_arena_grow(s->s.arena, s->pool, s->n_pool, &s->cap_pool,
                                  sizeof(int));
    s->pool[s->n_pool++] = b;
}

/* The least top of a block that could lie below one of the blocks at the floor of
   `t`, among blocks live between `from` and `to`, but not in `t` itself. */
static int64_t
least_top(const search *s, int t, int from, int to)
{
    const glow_place_state *st = &s->s;
    int64_t least = INT64_MAX;

    for (int k = st->first_begin[t + 1]; k < st->first_begin[to]; k++) {
        int d = st->by_begin[k];

        if (!st->blocks[d].is_placed && st->level[d] + st->size[d] < least)
            least = st->level[d] + st->size[d];
    }
    for (int k = st->first_end[from + 1]; k < st->first_end[t + 1]; k++) {
        int d = st->by_end[k];

        if (!st->blocks[d].is_placed && st->level[d] + st->size[d] < least)
            least = st->level[d] + st->size[d];
    }
    return least;
}

/* The next level of section `t` on which a block can rest, if none can now;
   the present candidates go to the pool. */
static int64_t
look(search *s, int t)
{
    const glow_section *sec = &s->s.sections[t];
    int64_t next = INT64_MAX;
    int from = t, to = t + 1;

    for (int k = 0; k < sec->n_alive; k++) {
        const glow_block *b = &s->s.blocks[sec->alive[k]];
        int64_t level = s->s.level[sec->alive[k]];

        if (level > sec->floor) {
            next = level < next ? level : next;
            continue;
        }
        from = b->begin < from ? b->begin : from;
        to = b->end > to ? b->end : to;
        if (glow_state_fit(&s->s, b, b->under) == sec->floor)
            offer(s, sec->alive[k]);
    }
    if (sec->slack > 0) {
        int64_t top = least_top(s, t, from, to);

        next = top < next ? top : next;
    }
    return next;
}

/* Rates one end of a valley; false if it has no branch. */
static bool
judge(search *s, const glow_place_end *at, choice *best)
{
    const glow_section *sec = &s->s.sections[at->section];
    choice c = {.at = *at, .first = s->n_pool};
    int64_t next = look(s, at->section);

    c.count = (int)(s->n_pool - c.first);
    if (sec->slack > 0 && next != INT64_MAX && next - sec->floor <= sec->slack)
        c.next_floor = next;
    c.at.ways = c.count + (c.next_floor > 0);
    c.score = c.at.ways <= 1 ? c.at.ways - 2
                             : glow_heuristic_end(&s->s, s->heuristic, &c.at);
    if (c.at.ways > 0 && c.score < best->score) {
        /* its candidates replace those of the best end so far */
        memmove(&s->pool[best->first], &s->pool[c.first],
                (size_t)c.count * sizeof(int));
        c.first = best->first;
        *best = c;
    }
    s->n_pool = best->first + (size_t)best->count;
    return c.at.ways > 0;
}

static bool
choose(search *s, int from, int to, choice *best)
{
    const glow_section *sec = s->s.sections;

    *best = (choice){.score = 1e300, .first = s->n_pool};
    for (int l = from, r; l < to && best->score >= 0; l = r) {
        int64_t floor = sec[l].floor;
        glow_place_end at = {.section = l, .begin = l};

        for (r = l + 1; r < to && sec[r].floor == floor; r++)
            ;
        at.end = r;
        at.before = l > from ? sec[l - 1].floor : -1;
        at.behind = r < to ? sec[r].floor : -1;
        if ((l > from && at.before < floor) || (r < to && at.behind < floor))
            continue;
        if (!judge(s, &at, best))
            return false;
        at.section = r - 1;
        if (r - 1 > l && !judge(s, &at, best))
            return false;
    }
    return true;
}

/* Sorts the candidates by the heuristic, and sometimes exchanges two. */
static void
arrange(search *s, const choice *c)
{
    int *at = &s->pool[c->first];

    glow_heuristic_sort(&s->s, s->heuristic, &c->at, at, c->count);
    for (int i = 0; s->shuffles && i + 1 < c->count; i++)
        if (draw(s) % FEW_SWAPS == 0) {
            int b = at[i];

            at[i] = at[i + 1];
            at[i + 1] = b;
        }
}

static bool
are_alike(const search *s, const glow_block *a, const glow_block *b)
{
    return a->begin == b->begin && a->end == b->end && a->size == b->size &&
           (s->s.is_unconstrained ||
            (a->item->align == b->item->align &&
             a->item->begin == b->item->begin && a->item->end == b->item->end));
}

/* True if an equal candidate precedes candidate `i`. */
static bool
is_twin(const search *s, const choice *c, int i)
{
    const int *at = &s->pool[c->first];

    for (int k = 0; k < i; k++)
        if (are_alike(s, &s->s.blocks[at[k]], &s->s.blocks[at[i]]))
            return true;
    return false;
}

/* The search. */

static uint64_t
hash_state(const search *s, int from, int to)
{
    const glow_place_state *st = &s->s;
    uint64_t x = glow_mix((uint64_t)from << 32 | (uint64_t)to), y = 0;

    for (int t = from; t < to; t++) {
        const glow_section *sec = &st->sections[t];

        x ^= (uint64_t)sec->floor * 2 + (sec->top == sec->floor);
        if (!st->is_unconstrained)
            x ^= (uint64_t)sec->top << 32;
        x *= 0x9fb21c651e98df25u;
        x ^= x >> 28;
    }
    for (int k = st->first_begin[from]; k < st->first_begin[to]; k++)
        if (!st->blocks[st->by_begin[k]].is_placed)
            y ^= st->blocks[st->by_begin[k]].hash;
    x = glow_mix(x) ^ y;
    return x ? x : 1;
}

static answer solve(search *s, int from, int to);

/* Solves the components that no unplaced block connects. */
static answer
solve_parts(search *s, int from, int to)
{
    const glow_section *sec = s->s.sections;
    bool any = false;

    for (int t = from, first = from; t < to; t++) {
        any |= sec[t].n_alive > 0;
        if (t + 1 < to && sec[t].bridges > 0)
            continue;
        if (any) {
            answer o = solve(s, first, t + 1);

            if (o != GLOW_PLACE_FOUND)
                return o;
        }
        first = t + 1;
        any = false;
    }
    return GLOW_PLACE_FOUND;
}

static answer
branch(search *s, int from, int to, const choice *c)
{
    size_t trail = s->s.n_trail;
    int stack = s->s.n_stack;
    answer o = GLOW_PLACE_NONE;

    for (int i = 0; i < c->count && o == GLOW_PLACE_NONE; i++) {
        if (is_twin(s, c, i))
            continue;
        if (glow_state_put(&s->s, s->pool[c->first + (size_t)i]))
            o = solve_parts(s, from, to);
        if (o != GLOW_PLACE_FOUND)
            glow_state_undo(&s->s, stack, trail);
    }
    if (o == GLOW_PLACE_NONE && c->next_floor > 0) {
        if (glow_state_raise(&s->s, c->at.section, c->next_floor))
            o = solve(s, from, to);
        if (o != GLOW_PLACE_FOUND)
            glow_state_undo(&s->s, stack, trail);
    }
    return o;
}

static answer
solve(search *s, int from, int to)
{
    uint64_t key = hash_state(s, from, to);
    uint64_t *known = &s->failed[key >> (64 - s->memo_bits)];
    size_t pool = s->n_pool;
    answer o = GLOW_PLACE_NONE;
    choice c;

    if (++s->steps > s->limit || s->depth == MOST_DEPTH)
        return GLOW_PLACE_STOPPED;
    if (*known == key)
        return GLOW_PLACE_NONE;
    s->depth++;
    if (s->s.n_stack > s->reached)
        s->reached = s->s.n_stack;
    if (choose(s, from, to, &c)) {
        arrange(s, &c);
        o = branch(s, from, to, &c);
    }
    s->depth--;
    s->n_pool = pool;
    if (o == GLOW_PLACE_NONE)
        *known = key;
    return o;
}

/* Runs. */

/* Progress of the runs of one heuristic. */
typedef struct record {
    int64_t runs, reached;
} record;

/* A heuristic with the most blocks placed by a run. */
static int
best_taste(const record *r)
{
    int best = 0;

    for (int i = 1; i < GLOW_PLACE_HEURISTICS; i++)
        if (r[i].reached * r[best].runs > r[best].reached * r[i].runs)
            best = i;
    return best;
}

/* Number of states of run `k`: most are short, some grow. */
static int64_t
limit_of(const search *s, int64_t k)
{
    int64_t limit = SHORT_RUN * (int64_t)s->s.n_blocks + 50;

    for (k -= GLOW_PLACE_HEURISTICS - 1; k > 0 && k % LONGER_RUN == 0;
         k /= LONGER_RUN)
        limit *= LONGER_LIMIT;
    return limit;
}

/* One run; restores the state if it finds nothing. */
static answer
run_once(search *s, int64_t limit)
{
    size_t trail = s->s.n_trail;
    answer o;

    s->limit = s->steps + limit;
    s->reached = 0;
    for (int t = 0; t < s->s.n_sections; t++)
        s->s.sections[t].weight = 1;
    s->n_pool = 0;
    glow_heuristic_rank(&s->s, s->heuristic);
    o = solve_parts(s, 0, s->s.n_sections);
    if (o != GLOW_PLACE_FOUND)
        glow_state_undo(&s->s, 0, trail);
    return o;
}

/* Runs the heuristics in turns, every other time the one with the most progress,
   until one run completes. */
static answer
run(search *s, int64_t budget)
{
    record records[GLOW_PLACE_HEURISTICS] = {{0}};
    answer o = GLOW_PLACE_STOPPED;

    for (int64_t k = 0; o == GLOW_PLACE_STOPPED && s->steps < budget; k++) {
        int64_t limit = limit_of(s, k), left = budget - s->steps;

        s->shuffles = k >= GLOW_PLACE_HEURISTICS;
        s->heuristic =
            s->shuffles && k % 2 == 0
                ? best_taste(records)
                : (int)(k / (1 + s->shuffles) % GLOW_PLACE_HEURISTICS);
        o = run_once(s, limit < left ? limit : left);
        records[s->heuristic].runs++;
        records[s->heuristic].reached += s->reached;
    }
    return o;
}

/* Allocates from `a`. */
static answer
search_in(glow_arena *a, const glow_place_problem *p, glow_place_item *items,
          uint32_t count, int64_t height, int64_t *steps)
{
    search s = {0};
    int64_t budget = *steps;
    answer o;

    s.random =
        (uint64_t)budget; /* a repeated call with another budget differs */
    *steps = 0;
    glow_state_begin(&s.s, a, p, items, count);
    if (!glow_state_set_height(&s.s, height))
        return GLOW_PLACE_NONE;
    for (s.memo_bits = 4;
         s.memo_bits < MEMO_BITS && s.s.n_blocks >> (s.memo_bits / 2 - 1) > 0;)
        s.memo_bits++;
    s.failed = GLOW_NEW_ARRAY(a, uint64_t, 1 << s.memo_bits);
    o = run(&s, budget);
    *steps = s.steps;
    for (int b = 0; o == GLOW_PLACE_FOUND && b < s.s.n_blocks; b++)
        items[s.s.blocks[b].item - items].offset = s.s.blocks[b].offset;
    return o;
}

glow_place_answer
glow_place_search(const glow_place_problem *p, glow_place_item *items,
                  uint32_t count, int64_t height, int64_t *steps)
{
    glow_arena *a;
    answer o;

    for (uint32_t i = 0; i < count; i++)
        if (items[i].is_fixed && items[i].offset + items[i].size > height) {
            *steps = 0;
            return GLOW_PLACE_NONE;
        }
    a = glow_arena_new();
    o = search_in(a, p, items, count, height, steps);
    glow_arena_free(a);
    return o;
}
