/*
 * Ordered set of small integers; see ordered_set.h.  A bit of level 0 is a member, and a
 * bit of the level above says whether a word of this one has any.
 */

#include "ir/base/ordered_set.h"

enum { BITS = 64, MOST_LEVELS = 11 }; /* 64 to the power of 11 is above 2^64 */

struct glow_ordered_set {
    int levels;
    size_t words[MOST_LEVELS];
    uint64_t *at[MOST_LEVELS];
};

glow_ordered_set *
glow_ordered_set_new(glow_arena *a, size_t count)
{
    glow_ordered_set *s = GLOW_NEW(a, glow_ordered_set);

    do {
        count = count / BITS + 1; /* a place for i = count, too */
        s->words[s->levels] = count;
        s->at[s->levels++] = GLOW_NEW_ARRAY(a, uint64_t, count);
    } while (count > 1);
    return s;
}

void
glow_ordered_set_insert(glow_ordered_set *s, size_t i)
{
    for (int l = 0; l < s->levels; l++, i /= BITS)
        s->at[l][i / BITS] |= (uint64_t)1 << i % BITS;
}

void
glow_ordered_set_erase(glow_ordered_set *s, size_t i)
{
    for (int l = 0; l < s->levels; l++, i /= BITS) {
        s->at[l][i / BITS] &= ~((uint64_t)1 << i % BITS);
        if (s->at[l][i / BITS])
            return;
    }
}

bool
glow_ordered_set_has(const glow_ordered_set *s, size_t i)
{
    return s->at[0][i / BITS] >> i % BITS & 1;
}

/* From the bit `i` of level `l`, which is set, down to the greatest or the least
   member below it. */
static size_t
descend(const glow_ordered_set *s, int l, size_t i, bool greatest)
{
    for (; l > 0; l--) {
        uint64_t word = s->at[l - 1][i];

        i = i * BITS + (size_t)(greatest ? BITS - 1 - __builtin_clzll(word)
                                         : __builtin_ctzll(word));
    }
    return i;
}

size_t
glow_ordered_set_below(const glow_ordered_set *s, size_t i)
{
    for (int l = 0; l < s->levels; l++, i /= BITS) {
        uint64_t less = s->at[l][i / BITS] & (((uint64_t)1 << i % BITS) - 1);

        if (less)
            return descend(s, l,
                           i / BITS * BITS +
                               (size_t)(BITS - 1 - __builtin_clzll(less)),
                           true);
    }
    return SIZE_MAX;
}

size_t
glow_ordered_set_from(const glow_ordered_set *s, size_t i)
{
    for (int l = 0; l < s->levels; l++, i = i / BITS + 1) {
        uint64_t more;

        if (i / BITS >= s->words[l])
            break;
        more = s->at[l][i / BITS] & ~(uint64_t)0 << i % BITS;
        if (more)
            return descend(
                s, l, i / BITS * BITS + (size_t)__builtin_ctzll(more), false);
    }
    return SIZE_MAX;
}
