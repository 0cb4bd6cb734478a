/*
 * The state of the search: steps, their propagation, and a trail to undo them.
 *
 * A step raises levels, which are lower bounds of the offsets of blocks.  The
 * floor of a section is the least level of its unplaced blocks; the slack is the
 * remainder of the height above it.  A state fails if a slack is negative, or if
 * the blocks with the highest levels do not fit above the least of these levels
 * (the bound of single-machine scheduling with release times).
 *
 * Changes are recorded on a trail.  Only sections in which a level changed are
 * visited again.
 */

#include "irgen/place/state.h"

static void
set(glow_place_state *s, int64_t *where, int64_t value)
{
    if (s->n_trail == s->cap_trail)
        s->trail = glow_arena_grow(s->arena, s->trail, s->n_trail,
                                   &s->cap_trail, sizeof(glow_change));
    s->trail[s->n_trail++] = (glow_change){where, *where};
    *where = value;
}

/* Removes a placed block from the list of a section; removals are undone in reverse
   order. */
static void
leave(glow_place_state *s, int b, int t)
{
    glow_block *x = &s->blocks[b];
    glow_section *sec = &s->sections[t];
    int at = x->position[t - x->begin], last = --sec->n_alive;
    glow_block *y = &s->blocks[sec->alive[last]];

    sec->alive[at] = sec->alive[last];
    y->position[t - y->begin] = at;
    sec->alive[last] = b;
    x->position[t - x->begin] = last;
    sec->left -= x->size;
    if (t + 1 < x->end)
        sec->bridges--;
}

static void
enter(glow_place_state *s, int b, int t)
{
    const glow_block *x = &s->blocks[b];
    glow_section *sec = &s->sections[t];

    sec->n_alive++;
    sec->left += x->size;
    if (t + 1 < x->end)
        sec->bridges++;
}

void
glow_state_undo(glow_place_state *s, int stack, size_t trail)
{
    while (s->n_trail > trail) {
        s->n_trail--;
        *s->trail[s->n_trail].where = s->trail[s->n_trail].was;
    }
    while (s->n_stack > stack) {
        int b = s->stack[--s->n_stack];

        s->blocks[b].is_placed = false;
        for (int t = s->blocks[b].begin; t < s->blocks[b].end; t++)
            enter(s, b, t);
    }
}

int64_t
glow_state_fit(const glow_place_state *s, const glow_block *b, int64_t offset)
{
    if (s->is_unconstrained)
        return offset;
    offset = glow_place_aligned(s->problem, b->item, offset);
    for (int i = 0; i < b->n_blocked; i++)
        if (b->blocked[i].end > offset &&
            b->blocked[i].begin - offset < b->size)
            offset = glow_place_aligned(s->problem, b->item, b->blocked[i].end);
    return offset;
}

/* Free bytes of a section between the floor and the height, less blocked ranges. */
static int64_t
room_of(const glow_place_state *s, const glow_section *sec)
{
    int64_t room = s->height - sec->floor;

    for (int i = 0; i < sec->n_blocked; i++) {
        int64_t from = sec->blocked[i].begin, to = sec->blocked[i].end;

        from = from < sec->floor ? sec->floor : from;
        to = to > s->height ? s->height : to;
        if (from < to)
            room -= to - from;
    }
    return room;
}

/* Collects the blocks with a level above `least`, by descending level; returns
   their number. */
static int
sort_above(glow_place_state *s, const glow_section *sec, int64_t least)
{
    int count = 0;

    for (int k = 0; k < sec->n_alive; k++) {
        int64_t level = s->level[sec->alive[k]];
        int x = count;

        if (level <= least)
            continue;
        for (count++; x > 0 && s->levels[x - 1] < level; x--) {
            s->levels[x] = s->levels[x - 1];
            s->sizes[x] = s->sizes[x - 1];
        }
        s->levels[x] = level;
        s->sizes[x] = s->size[sec->alive[k]];
    }
    return count;
}

/* True if the blocks with a level beyond `slack` of the floor fit in the order of
   their levels, of which `most` is the highest. */
static bool
fits_above(glow_place_state *s, const glow_section *sec, int64_t slack,
           int64_t most)
{
    int64_t least = sec->floor + slack, sum = 0;
    int count;

    for (int k = 0; k < sec->n_alive; k++) {
        int b = sec->alive[k];

        sum += s->level[b] > least ? s->size[b] : 0;
    }
    if (most + sum <= s->height)
        return true;
    count = sort_above(s, sec, least);
    sum = 0;
    for (int k = 0; k < count; k++) {
        sum += s->sizes[k];
        if (s->levels[k] + sum > s->height)
            return false;
    }
    return true;
}

/* Raises the floor of a section to the least level; false if that fails. */
static bool
refresh(glow_place_state *s, glow_section *sec)
{
    int64_t least = INT64_MAX, most = 0, slack;

    if (sec->n_alive == 0)
        return true;
    for (int k = 0; k < sec->n_alive; k++) {
        int64_t level = s->level[sec->alive[k]];

        least = level < least ? level : least;
        most = level > most ? level : most;
    }
    if (sec->floor < least)
        set(s, &sec->floor, least);
    slack = room_of(s, sec) - sec->left;
    if (slack != sec->slack)
        set(s, &sec->slack, slack);
    return slack >= 0 &&
           (most <= sec->floor + slack || fits_above(s, sec, slack, most));
}

static void
touch(glow_place_state *s, const glow_block *b)
{
    for (int t = b->begin; t < b->end; t++)
        if (!s->sections[t].is_touched) {
            s->sections[t].is_touched = true;
            s->touched[s->n_touched++] = t;
        }
}

static bool
settle(glow_place_state *s, bool ok)
{
    for (int i = 0; i < s->n_touched; i++) {
        glow_section *sec = &s->sections[s->touched[i]];

        sec->is_touched = false;
        if (ok && !refresh(s, sec)) {
            ok = false;
            sec->weight += 1;
        }
    }
    s->n_touched = 0;
    return ok;
}

/* Raises the level of a block. */
static bool
lift(glow_place_state *s, int b, int64_t level)
{
    if (s->level[b] >= level)
        return true;
    level = glow_state_fit(s, &s->blocks[b], level);
    set(s, &s->level[b], level);
    touch(s, &s->blocks[b]);
    return level + s->size[b] <= s->height;
}

bool
glow_state_put(glow_place_state *s, int b)
{
    glow_block *x = &s->blocks[b];
    int64_t top = s->level[b] + x->size;
    bool ok = true;

    s->stack[s->n_stack++] = b;
    x->is_placed = true;
    x->offset = s->level[b];
    for (int t = x->begin; t < x->end; t++) {
        set(s, &s->sections[t].floor, top);
        set(s, &s->sections[t].top, top);
        leave(s, b, t);
    }
    for (int k = 0; k < x->n_crowd && ok; k++) {
        glow_block *c = &s->blocks[x->crowd[k]];

        if (c->is_placed)
            continue;
        if (c->under < top)
            set(s, &c->under, top);
        ok = lift(s, x->crowd[k], top);
    }
    touch(s, x);
    return settle(s, ok);
}

bool
glow_state_raise(glow_place_state *s, int section, int64_t floor)
{
    glow_section *sec = &s->sections[section];
    bool ok = true;

    set(s, &sec->floor, floor);
    for (int k = 0; k < sec->n_alive && ok; k++)
        ok = lift(s, sec->alive[k], floor);
    return settle(s, ok);
}

bool
glow_state_set_height(glow_place_state *s, int64_t height)
{
    s->height = height;
    for (int b = 0; b < s->n_blocks; b++)
        if (s->level[b] + s->size[b] > height)
            return false;
    for (int t = 0; t < s->n_sections; t++)
        if (!refresh(s, &s->sections[t]))
            return false;
    return true;
}
