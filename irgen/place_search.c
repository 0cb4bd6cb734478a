/*
 * Placement by search: valley branching.
 *
 * Time is cut into sections in which the same buffers live.  Each section has a
 * floor, below which nothing more is placed; together the floors are a skyline.
 * A valley is a run of equal floors between higher ones.  At an end of a valley
 * there are few ways to go on: a buffer that rests on the floor there begins
 * (or ends) at that end and lies within the valley; or none does, and then the
 * floor of that section rises to the next level that any buffer can rest on.
 * Every packing in which each buffer rests on something is met once, whatever
 * valley is taken first, so the search takes the one with the fewest ways.
 *
 * A state that fails does so however it was reached; a table of hashes keeps
 * such states, over restarts too.  place_state.c says when a state is given up
 * at once.  Parts that no buffer connects are searched by themselves.
 *
 * Alignment, banks, forbidden ranges and fixed buffers change nothing of this:
 * what rests is then as low as it may be above what is under it.
 *
 * The search restarts with other preferences and a growing limit of states; it
 * counts states and never looks at a clock, so that it gives the same result
 * everywhere.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/place_search.h"
#include "irgen/place_state.h"

#define FIRST_LIMIT 1000 /* states of the first run */
#define MOST_DEPTH 20000
#define MEMO_BITS 18 /* most, of a table of failed states */

typedef glow_place_answer answer;

typedef struct search {
    glow_place_state s;
    int *pool; /* candidates of all states on the way */
    size_t n_pool, cap_pool;
    uint64_t *failed;
    int memo_bits;
    int64_t steps, limit;
    int rule, depth;
    bool shuffles;
    uint64_t random;
} search;

static uint64_t
draw(search *s)
{
    s->random += 0x9e3779b97f4a7c15u;
    return glow_mix(s->random);
}

/* Choosing where to go on. */

typedef struct choice {
    double score;
    int section;
    int64_t next_floor; /* 0: it cannot be raised */
    size_t first;       /* candidates in the pool */
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

/* The least top of what could lie under one of the blocks at the floor of `t`,
   of which none lives before `from` or after `to`, but not in `t` itself. */
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

/* The next level of section `t` that a block can rest on, if none does now;
   candidates for now go to the pool. */
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

/* Judges one end of a valley; false if there is no way on from it. */
static bool
judge(search *s, int t, choice *best)
{
    const glow_section *sec = &s->s.sections[t];
    choice c = {.section = t, .first = s->n_pool};
    int64_t next = look(s, t);
    int ways;

    c.count = (int)(s->n_pool - c.first);
    if (sec->slack > 0 && next != INT64_MAX && next - sec->floor <= sec->slack)
        c.next_floor = next;
    ways = c.count + (c.next_floor > 0);
    c.score = s->rule == 0   ? (double)(1 + sec->slack) / sec->weight
              : s->rule == 1 ? (double)ways / sec->weight
                             : (double)sec->floor;
    if (ways <= 1)
        c.score = ways - 2;
    if (ways > 0 && c.score < best->score) {
        /* its candidates take the place of those of the best before */
        memmove(&s->pool[best->first], &s->pool[c.first],
                (size_t)c.count * sizeof(int));
        c.first = best->first;
        *best = c;
    }
    s->n_pool = best->first + (size_t)best->count;
    return ways > 0;
}

static bool
choose(search *s, int from, int to, choice *best)
{
    const glow_section *sec = s->s.sections;

    *best = (choice){.score = 1e300, .first = s->n_pool};
    for (int l = from, r; l < to && best->score >= 0; l = r) {
        int64_t floor = sec[l].floor;

        for (r = l + 1; r < to && sec[r].floor == floor; r++)
            ;
        if ((l > from && sec[l - 1].floor < floor) ||
            (r < to && sec[r].floor < floor))
            continue;
        if (!judge(s, l, best) || (r - 1 > l && !judge(s, r - 1, best)))
            return false;
    }
    return true;
}

/* Sorts the candidates by rank, and now and then against it. */
static void
arrange(search *s, const choice *c)
{
    const glow_block *x = s->s.blocks;
    int *at = &s->pool[c->first];

    for (int i = 1; i < c->count; i++)
        for (int k = i; k > 0 && x[at[k]].rank < x[at[k - 1]].rank; k--) {
            int b = at[k];

            at[k] = at[k - 1];
            at[k - 1] = b;
        }
    for (int i = 0; s->shuffles && i + 1 < c->count; i++)
        if (draw(s) % 5 == 0) {
            int b = at[i];

            at[i] = at[i + 1];
            at[i + 1] = b;
        }
}

static bool
are_alike(const search *s, const glow_block *a, const glow_block *b)
{
    return a->begin == b->begin && a->end == b->end && a->size == b->size &&
           (s->s.is_plain ||
            (a->item->align == b->item->align &&
             a->item->begin == b->item->begin && a->item->end == b->item->end));
}

/* Is there one like candidate `i` before it? */
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
        if (!st->is_plain)
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

/* Solves the parts that no unplaced block connects. */
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
        if (glow_state_raise(&s->s, c->section, c->next_floor))
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

/* Ranks: by time, area and load, in three orders of importance. */

typedef struct rank_key {
    double key[3];
    int block;
} rank_key;

static int
by_key(const void *x, const void *y)
{
    const rank_key *a = x, *b = y;

    for (int k = 0; k < 3; k++)
        if (a->key[k] != b->key[k])
            return a->key[k] > b->key[k] ? -1 : 1;
    return a->block - b->block;
}

static void
set_ranks(search *s, rank_key *keys, int order)
{
    static const int position[3][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
    glow_place_state *st = &s->s;

    for (int i = 0; i < st->n_blocks; i++) {
        const glow_block *b = &st->blocks[i];
        double time = (double)b->item->end - (double)b->item->begin, load = 0;
        double key[3] = {time, time * (double)b->size, 0};

        for (int t = b->begin; t < b->end; t++) {
            double left = (double)st->sections[t].left;

            load = left > load ? left : load;
        }
        key[2] = load;
        keys[i].block = i;
        for (int k = 0; k < 3; k++)
            keys[i].key[position[order][k]] = key[k];
    }
    qsort(keys, (size_t)st->n_blocks, sizeof(*keys), by_key);
    for (int i = 0; i < st->n_blocks; i++)
        st->blocks[keys[i].block].rank = i;
}

/* Runs with ever other preferences until one comes to an end. */
static answer
run(search *s, rank_key *keys, int64_t budget)
{
    size_t trail = s->s.n_trail;
    int64_t limit = FIRST_LIMIT;
    answer o = GLOW_PLACE_STOPPED;

    for (int k = 0; o == GLOW_PLACE_STOPPED && s->steps < budget; k++) {
        s->rule = k % 3;
        s->shuffles = k >= 9;
        set_ranks(s, keys, k / 3 % 3);
        s->limit = s->steps + limit < budget ? s->steps + limit : budget;
        s->n_pool = 0;
        o = solve_parts(s, 0, s->s.n_sections);
        if (o != GLOW_PLACE_FOUND)
            glow_state_undo(&s->s, 0, trail);
        if (k % 9 == 8)
            limit += limit / 5;
    }
    return o;
}

/* In memory of `a`. */
static answer
search_in(glow_arena *a, const glow_place_problem *p, glow_place_item *items,
          uint32_t count, int64_t height, int64_t *steps)
{
    search s = {0};
    int64_t budget = *steps;
    answer o;

    *steps = 0;
    glow_state_begin(&s.s, a, p, items, count);
    if (!glow_state_set_height(&s.s, height))
        return GLOW_PLACE_NONE;
    for (s.memo_bits = 4;
         s.memo_bits < MEMO_BITS && s.s.n_blocks >> (s.memo_bits / 2 - 1) > 0;)
        s.memo_bits++;
    s.failed = GLOW_NEW_ARRAY(a, uint64_t, 1 << s.memo_bits);
    o = run(&s, GLOW_NEW_ARRAY(a, rank_key, count), budget);
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
