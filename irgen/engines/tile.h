/* Parts of tile-for-scratchpad: see tile_for_scratchpad.c. */

#ifndef IRGEN_ENGINES_TILE_H
#define IRGEN_ENGINES_TILE_H

#include "glow/pass.h"
#include "glow/target.h"
#include "glow/tiling.h"

enum { TILE_MOST_STAGES = 6 };

/* An instruction of a chain; each after the first reads the result of the one before,
   along the same axes. */
typedef struct tile_stage {
    glow_node *node;
    const glow_unit *unit;
    glow_tiling tiling;
    int chained;   /* the operand that the stage before writes; -1: the first */
    bool in_place; /* writes the buffer of that operand */
    const glow_space *space; /* of its result; NULL: the host's */
} tile_stage;

/* A tensor that pieces load or store. */
typedef struct tile_operand {
    const glow_type *type;
    const glow_tile_dim *dims;
    const glow_space *space; /* NULL: it stays in the memory of the host */
    const glow_link *link;   /* NULL: there is none */
    int stage, index;        /* n->in[index]; -1: the result */
} tile_operand;

typedef struct tile_problem {
    const glow_target *target;
    glow_arena *arena;
    tile_stage stages[TILE_MOST_STAGES];
    int n_stages;
    tile_operand *operands;
    int n_operands;
    int n_axes, n_result;
    int64_t extent[GLOW_MAX_RANK];
    int64_t granule[GLOW_MAX_RANK];
    bool sums_are_cut;
    int slots;
} tile_problem;

typedef struct tile_choice {
    int64_t size[GLOW_MAX_RANK]; /* iterations of a piece along each axis */
    int order[GLOW_MAX_RANK]; /* loops from the outermost in; sums innermost */
    double cycles, bytes;
    const glow_space
        *full;     /* where nothing fits: the space that is too small */
    int64_t needs; /* bytes of the smallest piece there */
} tile_choice;

/* The elements along a dimension that iterations [begin, end) read, and padding. */
typedef struct tile_span {
    int64_t at, count;
    int64_t before, after; /* elements of padding */
} tile_span;

tile_span glow_tile_span(const glow_tile_dim *d, int64_t size,
                         const int64_t begin[], const int64_t end[]);

/* Pieces along an axis. */
int64_t glow_tile_trips(const tile_problem *p, const tile_choice *c, int axis);
/* Pieces of the operand. */
double glow_tile_count(const tile_problem *p, const tile_choice *c,
                       const tile_operand *o);
/* True if other iterations of the axis read other elements. */
bool glow_tile_follows(const tile_operand *o, int axis);
/* Commands to move one piece: boxes of as many axes as the link takes. */
double glow_tile_commands(const tile_choice *c, const tile_operand *o);
/* Pieces of the operand that its scratchpad holds beside the slots of the others. */
int64_t glow_tile_room(const tile_problem *p, const tile_choice *c,
                       const tile_operand *o);
/* The last cycle of all pieces of a choice that fits; takes memory from the arena. */
double glow_tile_replay(const tile_problem *p, const tile_choice *c,
                        glow_arena *arena);

/* The choice of least cycles, where 64 bytes count as a cycle; false: no piece fits. */
bool glow_tile_choose(const tile_problem *p, tile_choice *out);

#endif
