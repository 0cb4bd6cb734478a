/* Lists of sparse features. */

#ifndef GLOW_OPS_SPARSE_H
#define GLOW_OPS_SPARSE_H

#include "glow/graph.h"

GLOW_BEGIN

/* Lists of sparse features: ir/ops/sparse.c, ranges.c, sparse_dense.c,
   pooled.c. */

enum { /* a hint */
       GLOW_LENGTHS_VARIABLE,
       GLOW_LENGTHS_ALL_ONE,
};

typedef struct glow_sparselengthssum {
    int lengths_mode;
    float avg_length; /* default 0: not known */
} glow_sparselengthssum;
typedef glow_sparselengthssum glow_sparselengthsweightedsum;

typedef struct glow_embeddingbag {
    bool has_end_offset;
    int lengths_mode;
    float avg_length; /* default 0: not known */
} glow_embeddingbag;

typedef struct glow_lengthsrangefill {
    int64_t max_output_size;
} glow_lengthsrangefill;

typedef struct glow_batchsparsetodense {
    float default_value; /* default 0 */
    int64_t dense_last_dim;
} glow_batchsparsetodense;

typedef struct glow_sparsetodensemask {
    glow_ints mask;
} glow_sparsetodensemask;

typedef struct glow_sparselabelsplit {
    int64_t num_labels;
} glow_sparselabelsplit;

extern GLOW_API const glow_op glow_op_batchedunaryembeddingsbags;
extern GLOW_API const glow_op glow_op_batchsparsetodense;
extern GLOW_API const glow_op glow_op_embeddingbag;
extern GLOW_API const glow_op glow_op_fillexampleswithindicator;
extern GLOW_API const glow_op glow_op_lengthsrangefill;
extern GLOW_API const glow_op glow_op_lengthssum;
extern GLOW_API const glow_op glow_op_lengthstoranges;
extern GLOW_API const glow_op glow_op_permutepooledembeddings;
extern GLOW_API const glow_op glow_op_sparselabelsplit;
extern GLOW_API const glow_op glow_op_sparselengthssum;
/* Data, Weights, Indices, Lengths */
extern GLOW_API const glow_op glow_op_sparselengthsweightedsum;
extern GLOW_API const glow_op glow_op_sparsetodensemask; /* .., Lengths? */

GLOW_END

#endif
