/* Random numbers. */

#ifndef GLOW_OPS_RANDOM_H
#define GLOW_OPS_RANDOM_H

#include "glow/graph.h"

GLOW_BEGIN

/* Random numbers, all decided by Seed, 0 to 2^32 - 1: ir/ops/random.c. */

typedef struct glow_randomuniform { /* Result is stated */
    float low;                      /* default 0 */
    float high;                     /* default 1 */
    int64_t seed;
} glow_randomuniform;

typedef struct glow_randomnormal { /* Result is stated */
    float mean;                    /* default 0 */
    float scale;                   /* default 1 */
    int64_t seed;
} glow_randomnormal;
typedef glow_randomnormal glow_gaussianfill; /* of Input's type */

typedef struct glow_bernoulli { /* Result is stated, of any kind */
    int64_t seed;
} glow_bernoulli;

typedef struct glow_multinomial { /* Result is stated: index32 or index64 */
    int64_t sample_size;
    int64_t seed;
} glow_multinomial;

/* By a counter: ir/ops/philox.c. */

typedef struct glow_philoxuniform { /* Step; Result is stated */
    int64_t seed;                   /* 0 to 2^32 - 1 */
} glow_philoxuniform;

typedef struct glow_dropout { /* Input, Step */
    float ratio;              /* below 1 */
    int64_t seed;
} glow_dropout;

extern GLOW_API const glow_op glow_op_bernoulli;
extern GLOW_API const glow_op glow_op_dropout;
extern GLOW_API const glow_op glow_op_gaussianfill;
extern GLOW_API const glow_op glow_op_multinomial;
extern GLOW_API const glow_op glow_op_philoxuniform;
extern GLOW_API const glow_op glow_op_randomnormal;
extern GLOW_API const glow_op glow_op_randomuniform;

GLOW_END

#endif
