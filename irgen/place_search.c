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
 * such states, over restarts too.  A state is given up when in some section the
 * floor and what must still be placed there exceed the height, or when the
 * lowest offsets that are left (levels) leave too little room one behind the
 * other.  Parts that no buffer connects are searched by themselves.
 *
 * The search restarts with other preferences and a growing limit of states; it
 * counts states and never looks at a clock, so that it gives the same result
 * everywhere.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/place_search.h"

#define MOST_BUFFERS 1500
#define FIRST_LIMIT 1000 /* states of the first run */
#define MEMO_BITS 18

typedef enum outcome { NONE, FOUND, STOPPED } outcome;

typedef struct ints {
    int *at;
    int count;
} ints;

typedef struct change { /* to undo */
    int64_t *where, was;
} change;

typedef struct search {
    glow_arena *arena;
    int count, sections;
    int64_t height;
    int *begin, *end; /* by buffer: its sections */
    int64_t *size, *level, *offset;
    bool *placed;
    int *rank;   /* by buffer: the lower, the earlier it is tried */
    ints *crowd; /* by buffer: those alive together with it */
    uint64_t *zobrist;
    ints *alive;                 /* by section: its buffers */
    int64_t *floor, *top, *left; /* by section: skyline, what lies under it,
                                    bytes still to be placed */
    int *bridges;   /* by section: unplaced buffers that go on in the next */
    double *weight; /* by section: how often it was what failed */
    bool *touched;
    int *touched_list, n_touched;
    int64_t *levels, *sizes; /* scratch of refresh */
    int *stack, n_stack;     /* placed buffers */
    change *trail;
    size_t n_trail, cap_trail;
    int *pool; /* candidates of all states on the way */
    size_t n_pool, cap_pool;
    uint64_t *failed;
    int64_t states, limit;
    int rule;
    bool shuffles;
    uint64_t random;
} search;

static uint64_t
mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

static uint64_t
draw(search *s)
{
    s->random += 0x9e3779b97f4a7c15u;
    return mix(s->random);
}

/* Doing and undoing. */

static void
set(search *s, int64_t *where, int64_t value)
{
    s->trail = glow_arena_grow(s->arena, s->trail, s->n_trail, &s->cap_trail,
                               sizeof(change));
    s->trail[s->n_trail++] = (change){where, *where};
    *where = value;
}

static void
undo(search *s, int stack, size_t trail)
{
    while (s->n_trail > trail) {
        s->n_trail--;
        *s->trail[s->n_trail].where = s->trail[s->n_trail].was;
    }
    while (s->n_stack > stack) {
        int b = s->stack[--s->n_stack];

        s->placed[b] = false;
        for (int t = s->begin[b]; t + 1 < s->end[b]; t++)
            s->bridges[t]++;
    }
}

/* Raises the floor of a section to its lowest level; false if that fails. */
static bool
refresh(search *s, int t)
{
    int64_t lowest = INT64_MAX, slack, sum = 0;
    int count = 0;

    for (int k = 0; k < s->alive[t].count; k++) {
        int b = s->alive[t].at[k];

        if (!s->placed[b] && s->level[b] < lowest)
            lowest = s->level[b];
    }
    if (lowest == INT64_MAX)
        return true;
    if (s->floor[t] < lowest)
        set(s, &s->floor[t], lowest);
    slack = s->height - s->floor[t] - s->left[t];
    if (slack < 0)
        return false;
    for (int k = 0; k < s->alive[t].count; k++) {
        int b = s->alive[t].at[k], x = count;

        if (s->placed[b] || s->level[b] <= s->floor[t] + slack)
            continue;
        for (count++; x > 0 && s->levels[x - 1] < s->level[b]; x--) {
            s->levels[x] = s->levels[x - 1];
            s->sizes[x] = s->sizes[x - 1];
        }
        s->levels[x] = s->level[b];
        s->sizes[x] = s->size[b];
    }
    for (int k = 0; k < count; k++) {
        sum += s->sizes[k];
        if (s->levels[k] + sum > s->height)
            return false;
    }
    return true;
}

static void
touch(search *s, int b)
{
    for (int t = s->begin[b]; t < s->end[b]; t++)
        if (!s->touched[t]) {
            s->touched[t] = true;
            s->touched_list[s->n_touched++] = t;
        }
}

static bool
settle(search *s, bool ok)
{
    for (int i = 0; i < s->n_touched; i++) {
        int t = s->touched_list[i];

        s->touched[t] = false;
        if (ok && !refresh(s, t)) {
            ok = false;
            s->weight[t] += 1;
        }
    }
    s->n_touched = 0;
    return ok;
}

/* The buffer cannot begin below `level` any more. */
static bool
lift(search *s, int b, int64_t level)
{
    if (s->placed[b] || s->level[b] >= level)
        return true;
    set(s, &s->level[b], level);
    touch(s, b);
    return level + s->size[b] <= s->height;
}

static bool
put(search *s, int b, int64_t offset)
{
    int64_t top = offset + s->size[b];
    bool ok = true;

    s->stack[s->n_stack++] = b;
    s->placed[b] = true;
    s->offset[b] = offset;
    for (int t = s->begin[b]; t < s->end[b]; t++) {
        set(s, &s->floor[t], top);
        set(s, &s->top[t], top);
        set(s, &s->left[t], s->left[t] - s->size[b]);
        if (t + 1 < s->end[b])
            s->bridges[t]--;
    }
    for (int k = 0; k < s->crowd[b].count && ok; k++)
        ok = lift(s, s->crowd[b].at[k], top);
    touch(s, b);
    return settle(s, ok);
}

static bool
raise(search *s, int t, int64_t floor)
{
    bool ok = true;

    set(s, &s->floor[t], floor);
    for (int k = 0; k < s->alive[t].count && ok; k++)
        ok = lift(s, s->alive[t].at[k], floor);
    return settle(s, ok);
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
    s->pool = glow_arena_grow(s->arena, s->pool, s->n_pool, &s->cap_pool,
                              sizeof(int));
    s->pool[s->n_pool++] = b;
}

static bool
rests(const search *s, int b, int64_t floor)
{
    for (int t = s->begin[b]; t < s->end[b]; t++)
        if (s->top[t] == floor)
            return true;
    return floor == 0;
}

/* The next level of section `t` that a buffer can rest on, if none does now;
   candidates for now go to the pool. */
static int64_t
look(search *s, int t, int64_t slack)
{
    int64_t next = INT64_MAX, floor = s->floor[t];

    for (int k = 0; k < s->alive[t].count; k++) {
        int b = s->alive[t].at[k];

        if (s->placed[b])
            continue;
        if (s->level[b] > floor) {
            if (s->level[b] < next)
                next = s->level[b];
            continue;
        }
        if (rests(s, b, floor))
            offer(s, b);
        for (int j = 0; slack > 0 && j < s->crowd[b].count; j++) {
            int d = s->crowd[b].at[j];

            if (!s->placed[d] && (t < s->begin[d] || s->end[d] <= t) &&
                s->level[d] + s->size[d] < next)
                next = s->level[d] + s->size[d];
        }
    }
    return next;
}

/* Judges one end of a valley; false if there is no way on from it. */
static bool
judge(search *s, int t, choice *best)
{
    int64_t slack = s->height - s->floor[t] - s->left[t];
    choice c = {.section = t, .first = s->n_pool};
    int64_t next = look(s, t, slack);
    int ways;

    c.count = (int)(s->n_pool - c.first);
    if (slack > 0 && next != INT64_MAX && next - s->floor[t] <= slack)
        c.next_floor = next;
    ways = c.count + (c.next_floor > 0);
    c.score = s->rule == 0   ? (double)(1 + slack) / s->weight[t]
              : s->rule == 1 ? (double)ways / s->weight[t]
                             : (double)s->floor[t];
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
    *best = (choice){.score = 1e300, .first = s->n_pool};
    for (int l = from, r; l < to && best->score >= 0; l = r) {
        int64_t floor = s->floor[l];

        for (r = l + 1; r < to && s->floor[r] == floor; r++)
            ;
        if ((l > from && s->floor[l - 1] < floor) ||
            (r < to && s->floor[r] < floor))
            continue;
        if (!judge(s, l, best) || !judge(s, r - 1, best))
            return false;
    }
    return true;
}

/* Sorts the candidates by rank, and now and then against it. */
static void
arrange(search *s, const choice *c)
{
    int *at = &s->pool[c->first];

    for (int i = 1; i < c->count; i++)
        for (int k = i; k > 0 && s->rank[at[k]] < s->rank[at[k - 1]]; k--) {
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

/* Is there one like candidate `i` before it? */
static bool
is_twin(const search *s, const choice *c, int i)
{
    const int *at = &s->pool[c->first];

    for (int k = 0; k < i; k++)
        if (s->begin[at[k]] == s->begin[at[i]] &&
            s->end[at[k]] == s->end[at[i]] && s->size[at[k]] == s->size[at[i]])
            return true;
    return false;
}

/* The search. */

static uint64_t
hash_state(const search *s, int from, int to)
{
    uint64_t x = mix((uint64_t)from << 32 | (uint64_t)to), y = 0;

    for (int t = from; t < to; t++) {
        x ^= (uint64_t)s->floor[t] * 2 + (s->top[t] == s->floor[t]);
        x *= 0x9fb21c651e98df25u;
        x ^= x >> 28;
        for (int k = 0; k < s->alive[t].count; k++) {
            int b = s->alive[t].at[k];

            if (!s->placed[b] && (s->begin[b] == t || t == from))
                y ^= s->zobrist[b];
        }
    }
    x = mix(x) ^ y;
    return x ? x : 1;
}

static outcome solve(search *s, int from, int to);

/* Solves the parts that no unplaced buffer connects. */
static outcome
solve_parts(search *s, int from, int to)
{
    bool any = false;

    for (int t = from, first = from; t < to; t++) {
        any |= s->left[t] > 0;
        if (t + 1 < to && s->bridges[t] > 0)
            continue;
        if (any) {
            outcome o = solve(s, first, t + 1);

            if (o != FOUND)
                return o;
        }
        first = t + 1;
        any = false;
    }
    return FOUND;
}

static outcome
branch(search *s, int from, int to, const choice *c)
{
    int64_t floor = s->floor[c->section];
    size_t trail = s->n_trail;
    int stack = s->n_stack;
    outcome o = NONE;

    for (int i = 0; i < c->count && o == NONE; i++) {
        if (is_twin(s, c, i))
            continue;
        if (put(s, s->pool[c->first + (size_t)i], floor))
            o = solve_parts(s, from, to);
        if (o != FOUND)
            undo(s, stack, trail);
    }
    if (o == NONE && c->next_floor > 0) {
        if (raise(s, c->section, c->next_floor))
            o = solve(s, from, to);
        if (o != FOUND)
            undo(s, stack, trail);
    }
    return o;
}

static outcome
solve(search *s, int from, int to)
{
    uint64_t key = hash_state(s, from, to);
    uint64_t *known = &s->failed[key >> (64 - MEMO_BITS)];
    size_t pool = s->n_pool;
    outcome o = NONE;
    choice c;

    if (++s->states > s->limit)
        return STOPPED;
    if (*known == key)
        return NONE;
    if (choose(s, from, to, &c)) {
        arrange(s, &c);
        o = branch(s, from, to, &c);
    }
    s->n_pool = pool;
    if (o == NONE)
        *known = key;
    return o;
}

/* Preparing. */

static int
by_time(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return (a > b) - (a < b);
}

static int
find_time(const int64_t *times, int count, int64_t time)
{
    const int64_t *at =
        bsearch(&time, times, (size_t)count, sizeof(*times), by_time);

    return (int)(at - times);
}

/* Cuts time where buffers begin and end. */
static void
cut_time(search *s, const glow_lifetime *b)
{
    int64_t *times = GLOW_NEW_ARRAY(s->arena, int64_t, 2 * s->count);
    int n = 0;

    for (int i = 0; i < s->count; i++) {
        times[2 * i] = b[i].begin;
        times[2 * i + 1] = b[i].end;
    }
    qsort(times, (size_t)s->count * 2, sizeof(*times), by_time);
    for (int i = 0; i < 2 * s->count; i++)
        if (n == 0 || times[n - 1] != times[i])
            times[n++] = times[i];
    s->sections = n - 1;
    for (int i = 0; i < s->count; i++) {
        s->begin[i] = find_time(times, n, b[i].begin);
        s->end[i] = find_time(times, n, b[i].end);
    }
}

static void
list_alive(search *s)
{
    int *counts = GLOW_NEW_ARRAY(s->arena, int, s->sections);

    for (int i = 0; i < s->count; i++)
        for (int t = s->begin[i]; t < s->end[i]; t++)
            counts[t]++;
    s->alive = GLOW_NEW_ARRAY(s->arena, ints, s->sections);
    for (int t = 0; t < s->sections; t++)
        s->alive[t].at = GLOW_NEW_ARRAY(s->arena, int, counts[t]);
    for (int i = 0; i < s->count; i++)
        for (int t = s->begin[i]; t < s->end[i]; t++)
            s->alive[t].at[s->alive[t].count++] = i;
}

/* Do all that live in section `t` live in `u`? */
static bool
is_within(const search *s, int t, int u)
{
    for (int k = 0; k < s->alive[t].count; k++) {
        int b = s->alive[t].at[k];

        if (u < s->begin[b] || s->end[b] <= u)
            return false;
    }
    return true;
}

/* Drops sections that ask for no more than the one before or after them. */
static void
merge_sections(search *s)
{
    int *map = GLOW_NEW_ARRAY(s->arena, int, s->sections + 1);
    int *kept = GLOW_NEW_ARRAY(s->arena, int, s->sections);
    bool *keep = GLOW_NEW_ARRAY(s->arena, bool, s->sections);
    int n = 0, m = 0;

    for (int t = 0; t < s->sections; t++) {
        while (n > 0 && is_within(s, kept[n - 1], t))
            n--;
        if (n == 0 || !is_within(s, t, kept[n - 1]))
            kept[n++] = t;
    }
    for (int i = 0; i < n; i++)
        keep[kept[i]] = true;
    for (int t = 0; t < s->sections; t++) {
        map[t] = m;
        m += keep[t];
    }
    map[s->sections] = m;
    for (int i = 0; i < s->count; i++) {
        s->begin[i] = map[s->begin[i]];
        s->end[i] = map[s->end[i]];
    }
    s->sections = m;
    list_alive(s);
}

static void
list_crowds(search *s)
{
    int *near = GLOW_NEW_ARRAY(s->arena, int, s->count);

    for (int i = 0; i < s->count; i++) {
        int n = 0;

        for (int k = 0; k < s->count; k++)
            if (i != k && s->begin[i] < s->end[k] && s->begin[k] < s->end[i])
                near[n++] = k;
        s->crowd[i] =
            (ints){glow_arena_copy(s->arena, near, (size_t)n * sizeof(int)), n};
    }
}

static void
prepare(search *s, const glow_lifetime *b)
{
    glow_arena *a = s->arena;

    s->begin = GLOW_NEW_ARRAY(a, int, s->count);
    s->end = GLOW_NEW_ARRAY(a, int, s->count);
    s->size = GLOW_NEW_ARRAY(a, int64_t, s->count);
    s->level = GLOW_NEW_ARRAY(a, int64_t, s->count);
    s->offset = GLOW_NEW_ARRAY(a, int64_t, s->count);
    s->placed = GLOW_NEW_ARRAY(a, bool, s->count);
    s->rank = GLOW_NEW_ARRAY(a, int, s->count);
    s->crowd = GLOW_NEW_ARRAY(a, ints, s->count);
    s->zobrist = GLOW_NEW_ARRAY(a, uint64_t, s->count);
    s->stack = GLOW_NEW_ARRAY(a, int, s->count);
    s->levels = GLOW_NEW_ARRAY(a, int64_t, s->count);
    s->sizes = GLOW_NEW_ARRAY(a, int64_t, s->count);
    s->failed = GLOW_NEW_ARRAY(a, uint64_t, 1 << MEMO_BITS);
    cut_time(s, b);
    list_alive(s);
    merge_sections(s);
    list_crowds(s);
    s->floor = GLOW_NEW_ARRAY(a, int64_t, s->sections);
    s->top = GLOW_NEW_ARRAY(a, int64_t, s->sections);
    s->left = GLOW_NEW_ARRAY(a, int64_t, s->sections);
    s->bridges = GLOW_NEW_ARRAY(a, int, s->sections);
    s->weight = GLOW_NEW_ARRAY(a, double, s->sections);
    s->touched = GLOW_NEW_ARRAY(a, bool, s->sections);
    s->touched_list = GLOW_NEW_ARRAY(a, int, s->sections);
    for (int i = 0; i < s->count; i++) {
        s->size[i] = b[i].size;
        s->zobrist[i] = draw(s);
        for (int t = s->begin[i]; t < s->end[i]; t++) {
            s->left[t] += b[i].size;
            s->bridges[t] += t + 1 < s->end[i];
        }
    }
    for (int t = 0; t < s->sections; t++)
        s->weight[t] = 1;
}

/* Ranks: by time, area and load, in three orders of importance. */

typedef struct rank_key {
    double key[3];
    int buffer;
} rank_key;

static int
by_key(const void *x, const void *y)
{
    const rank_key *a = x, *b = y;

    for (int k = 0; k < 3; k++)
        if (a->key[k] != b->key[k])
            return a->key[k] > b->key[k] ? -1 : 1;
    return a->buffer - b->buffer;
}

static void
set_ranks(search *s, const glow_lifetime *b, rank_key *keys, int order)
{
    static const int position[3][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};

    for (int i = 0; i < s->count; i++) {
        double time = (double)(b[i].end - b[i].begin), load = 0;
        double key[3] = {time, time * (double)b[i].size, 0};

        for (int t = s->begin[i]; t < s->end[i]; t++) {
            double left = (double)s->left[t];

            load = left > load ? left : load;
        }
        key[2] = load;
        keys[i].buffer = i;
        for (int k = 0; k < 3; k++)
            keys[i].key[position[order][k]] = key[k];
    }
    qsort(keys, (size_t)s->count, sizeof(*keys), by_key);
    for (int i = 0; i < s->count; i++)
        s->rank[keys[i].buffer] = i;
}

bool
glow_place_search(glow_arena *a, glow_lifetime *buffers, size_t count,
                  int64_t height, int64_t work)
{
    search s = {.arena = a, .count = (int)count, .height = height};
    int64_t limit = FIRST_LIMIT;
    outcome o = STOPPED;

    if (count == 0 || count > MOST_BUFFERS)
        return false;
    prepare(&s, buffers);

    rank_key *keys = GLOW_NEW_ARRAY(a, rank_key, count);

    for (int run = 0; o == STOPPED && s.states * s.count < work; run++) {
        s.rule = run % 3;
        s.shuffles = run >= 9;
        set_ranks(&s, buffers, keys, run / 3 % 3);
        s.limit = s.states + limit;
        s.n_pool = 0;
        o = solve_parts(&s, 0, s.sections);
        if (o != FOUND)
            undo(&s, 0, 0);
        if (run % 9 == 8)
            limit += limit / 5;
    }
    if (o != FOUND)
        return false;
    for (int i = 0; i < s.count; i++)
        buffers[i].offset = s.offset[i];
    return true;
}
