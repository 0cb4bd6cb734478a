/*
 * When the classes of a graph live, in the order that it will run in, and how
 * many bytes then: what passes over programs decide by.
 */

#ifndef IRGEN_SHARING_LIVE_RANGES_H
#define IRGEN_SHARING_LIVE_RANGES_H

#include "glow/heights.h"
#include "irgen/sharing/model.h"

/* From the first access to the last, by rank; NONE: there is none. */
#define GLOW_NO_RANK UINT32_MAX
typedef struct glow_ranked_life {
    uint32_t first, last, last_write;
} glow_ranked_life;

typedef struct glow_memory_lives {
    const glow_memory_model *m;
    glow_ranked_life *of; /* by class, as it was when they were measured */
    uint32_t *was;        /* by value: its class then */
    bool *was_all;        /* by value: then it was all of that */
    glow_map *stored;     /* by name of storage: its life */
    glow_heights *bytes;  /* by rank */
    int64_t peak;         /* as measured */
} glow_memory_lives;

glow_memory_lives *glow_memory_lives_new(const glow_memory_model *m);

/* Of the class, or of the storage that it lies in. */
glow_ranked_life *glow_life_of(const glow_memory_lives *l, const glow_lying *s);

/* The class, or its storage, lives so (sign 1), or not (-1). */
void glow_lives_add(glow_memory_lives *l, const glow_lying *s, uint32_t first,
                    uint32_t last, int sign);
/* Do no more bytes live between two ranks than at the peak? */
bool glow_lives_fit(const glow_memory_lives *l, uint32_t first, uint32_t last);
/*
 * Lets the life of `to` cover that of `from`, which is gone then; false, and
 * nothing changed, if that costs memory.
 */
bool glow_lives_join(glow_memory_lives *l, const glow_lying *from,
                     const glow_lying *to);

#endif
