/*
 * Preparation of the search: time cut into sections with maximal live sets.
 *
 * Time is cut where live ranges begin and end.  An interval at whose begin no
 * buffer begins, or at whose end none ends, has a live set that is contained in
 * its neighbour's, and is dropped.  Fixed buffers and forbidden ranges become
 * ranges of addresses that are blocked for a block or a section.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/place/state.h"

typedef struct instant {
    int64_t time;
    int section; /* the section that begins here or next */
    bool begins, ends;
} instant;

static int
by_time(const void *x, const void *y)
{
    const instant *a = x, *b = y;

    return (a->time > b->time) - (a->time < b->time);
}

static int
section_at(const instant *at, int count, int64_t time)
{
    instant key = {.time = time};
    const instant *found =
        bsearch(&key, at, (size_t)count, sizeof(*at), by_time);

    return found->section;
}

/* Cuts time; returns its `*count` instants with their sections. */
static instant *
cut_time(glow_place_state *s, const glow_place_item *items, uint32_t n_items,
         int *count)
{
    instant *at = GLOW_NEW_ARRAY(s->arena, instant, 2 * (size_t)n_items + 1);
    int n = 0;

    for (uint32_t i = 0; i < n_items; i++) {
        at[2 * i] = (instant){.time = items[i].begin, .begins = true};
        at[2 * i + 1] = (instant){.time = items[i].end, .ends = true};
    }
    glow_sort(at, 2 * (size_t)n_items, sizeof(*at), by_time);
    for (uint32_t i = 0; i < 2 * n_items; i++) {
        if (n == 0 || at[n - 1].time != at[i].time)
            at[n++] = at[i];
        at[n - 1].begins |= at[i].begins;
        at[n - 1].ends |= at[i].ends;
    }
    for (int i = 0; i < n; i++) {
        at[i].section = s->n_sections;
        if (i + 1 < n && at[i].begins && at[i + 1].ends)
            s->n_sections++;
    }
    *count = n;
    return at;
}

static void
make_blocks(glow_place_state *s, const glow_place_item *items, uint32_t count,
            const instant *at, int n_at)
{
    s->blocks = GLOW_NEW_ARRAY(s->arena, glow_block, count);
    s->level = GLOW_NEW_ARRAY(s->arena, int64_t, count);
    s->size = GLOW_NEW_ARRAY(s->arena, int64_t, count);
    for (uint32_t i = 0; i < count; i++) {
        glow_block *b = &s->blocks[s->n_blocks];

        if (items[i].is_fixed)
            continue;
        *b = (glow_block){
            .begin = section_at(at, n_at, items[i].begin),
            .end = section_at(at, n_at, items[i].end),
            .size = items[i].size,
            .item = &items[i],
            .hash = glow_mix((uint64_t)s->n_blocks + 0x9e3779b97f4a7c15u),
        };
        s->size[s->n_blocks++] = items[i].size;
    }
}

/* Ranges blocked during [begin, end): forbidden ones, and live fixed items. */
static const glow_place_range *
ranges_within(glow_place_state *s, int64_t begin, int64_t end, int *n_ranges)
{
    const glow_place_problem *p = s->problem;
    glow_place_range *r = s->ranges;
    size_t n = p->n_forbidden;

    if (n > 0)
        memcpy(r, p->forbidden, n * sizeof(*r));
    for (uint32_t i = 0; i < p->n_fixed; i++) {
        const glow_place_item *x = &p->items[p->fixed[i]];

        if (x->begin < end && begin < x->end)
            r[n++] = (glow_place_range){x->offset, x->offset + x->size};
    }
    n = glow_place_merge(r, n);
    *n_ranges = (int)n;
    return glow_arena_copy(s->arena, r, n * sizeof(*r));
}

static void
find_blocked(glow_place_state *s, const glow_place_item *items, uint32_t count,
             const instant *at, int n_at)
{
    s->is_unconstrained = s->problem->n_forbidden == 0 && s->problem->bank == 0;
    for (uint32_t i = 0; i < count && s->is_unconstrained; i++)
        s->is_unconstrained = !items[i].is_fixed && items[i].align == 1;
    if (s->is_unconstrained)
        return;
    s->ranges = GLOW_NEW_ARRAY(s->arena, glow_place_range,
                               s->problem->n_forbidden + s->problem->n_fixed);
    for (int b = 0; b < s->n_blocks; b++) {
        glow_block *x = &s->blocks[b];

        x->blocked =
            ranges_within(s, x->item->begin, x->item->end, &x->n_blocked);
        s->level[b] = glow_state_fit(s, x, 0);
    }
    for (int i = 0; i + 1 < n_at; i++)
        if (at[i].section < at[i + 1].section) {
            glow_section *sec = &s->sections[at[i].section];

            sec->blocked =
                ranges_within(s, at[i].time, at[i + 1].time, &sec->n_blocked);
        }
}

static void
list_alive(glow_place_state *s)
{
    for (int i = 0; i < s->n_blocks; i++)
        for (int t = s->blocks[i].begin; t < s->blocks[i].end; t++)
            s->sections[t].n_alive++;
    for (int t = 0; t < s->n_sections; t++) {
        s->sections[t].alive =
            GLOW_NEW_ARRAY(s->arena, int, s->sections[t].n_alive);
        s->sections[t].n_alive = 0;
    }
    for (int i = 0; i < s->n_blocks; i++) {
        glow_block *b = &s->blocks[i];

        b->position = GLOW_NEW_ARRAY(s->arena, int, b->end - b->begin);
        for (int t = b->begin; t < b->end; t++) {
            glow_section *sec = &s->sections[t];

            b->position[t - b->begin] = sec->n_alive;
            sec->alive[sec->n_alive++] = i;
            sec->left += b->size;
            sec->bridges += t + 1 < b->end;
        }
    }
}

/* Sorts the blocks by a section, `of(block)`; `first` is, for each section, the
   index of the first block with that section or a later one. */
static int *
list_by(glow_place_state *s, bool by_end, int **first)
{
    int *list = GLOW_NEW_ARRAY(s->arena, int, s->n_blocks);
    int *at = GLOW_NEW_ARRAY(s->arena, int, s->n_sections + 2);

    for (int b = 0; b < s->n_blocks; b++)
        at[(by_end ? s->blocks[b].end : s->blocks[b].begin) + 1]++;
    for (int t = 0; t <= s->n_sections; t++)
        at[t + 1] += at[t];
    *first = glow_arena_copy(s->arena, at,
                             ((size_t)s->n_sections + 2) * sizeof(int));
    for (int b = 0; b < s->n_blocks; b++)
        list[at[by_end ? s->blocks[b].end : s->blocks[b].begin]++] = b;
    return list;
}

/* Blocks that overlap a block in time: those live at its begin, and those that
   begin before its end. */
static void
list_crowds(glow_place_state *s)
{
    int *near = GLOW_NEW_ARRAY(s->arena, int, s->n_blocks);

    for (int i = 0; i < s->n_blocks; i++) {
        glow_block *b = &s->blocks[i];
        const glow_section *sec = &s->sections[b->begin];
        int n = 0;

        for (int k = 0; k < sec->n_alive; k++)
            if (sec->alive[k] != i)
                near[n++] = sec->alive[k];
        for (int k = s->first_begin[b->begin + 1]; k < s->first_begin[b->end];
             k++)
            near[n++] = s->by_begin[k];
        b->crowd = glow_arena_copy(s->arena, near, (size_t)n * sizeof(int));
        b->n_crowd = n;
    }
}

void
glow_state_begin(glow_place_state *s, glow_arena *a,
                 const glow_place_problem *p, const glow_place_item *items,
                 uint32_t count)
{
    int n_at;

    *s = (glow_place_state){.arena = a, .problem = p};

    instant *at = cut_time(s, items, count, &n_at);

    make_blocks(s, items, count, at, n_at);
    s->sections = GLOW_NEW_ARRAY(a, glow_section, s->n_sections);
    s->touched = GLOW_NEW_ARRAY(a, int, s->n_sections);
    s->stack = GLOW_NEW_ARRAY(a, int, s->n_blocks);
    s->levels = GLOW_NEW_ARRAY(a, int64_t, s->n_blocks);
    s->sizes = GLOW_NEW_ARRAY(a, int64_t, s->n_blocks);
    find_blocked(s, items, count, at, n_at);
    list_alive(s);
    s->by_begin = list_by(s, false, &s->first_begin);
    s->by_end = list_by(s, true, &s->first_end);
    list_crowds(s);
}
