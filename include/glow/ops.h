/*
 * The operators, as passes see them: for each, the struct of its attributes and
 * the definition that a node's `op` points to.  The
 * definition has the meaning of an operator: see ir/ops, or the page that
 * `glow-opt -list-ops` prints.
 *
 * Shapes are written as [N, H, W, C].  Convolution and pooling take one to
 * three spatial axes between batch and channels: [N, W, C] to [N, T, H, W, C].
 */

#ifndef GLOW_OPS_H
#define GLOW_OPS_H

#include "glow/graph.h"

GLOW_BEGIN

/* One operand, element by element: ir/ops/unary.c. */

extern GLOW_API const glow_op glow_op_abs;
extern GLOW_API const glow_op glow_op_acos;
extern GLOW_API const glow_op glow_op_acosh;
extern GLOW_API const glow_op glow_op_asin;
extern GLOW_API const glow_op glow_op_asinh;
extern GLOW_API const glow_op glow_op_atan;
extern GLOW_API const glow_op glow_op_atanh;
extern GLOW_API const glow_op glow_op_bitwisenot;
extern GLOW_API const glow_op glow_op_ceil;
extern GLOW_API const glow_op glow_op_cos;
extern GLOW_API const glow_op glow_op_cosh;
extern GLOW_API const glow_op glow_op_erf;
extern GLOW_API const glow_op glow_op_exp;
extern GLOW_API const glow_op glow_op_floor;
extern GLOW_API const glow_op glow_op_log;
extern GLOW_API const glow_op glow_op_neg;
extern GLOW_API const glow_op glow_op_not;
extern GLOW_API const glow_op glow_op_reciprocal;
extern GLOW_API const glow_op glow_op_relu;
extern GLOW_API const glow_op glow_op_round;
extern GLOW_API const glow_op glow_op_rsqrt;
extern GLOW_API const glow_op glow_op_sigmoid;
extern GLOW_API const glow_op glow_op_sign;
extern GLOW_API const glow_op glow_op_sin;
extern GLOW_API const glow_op glow_op_sinh;
extern GLOW_API const glow_op glow_op_sqrt;
extern GLOW_API const glow_op glow_op_tan;
extern GLOW_API const glow_op glow_op_tanh;
extern GLOW_API const glow_op glow_op_truncate;

/* Copies: a Save becomes one in a program. */
extern GLOW_API const glow_op glow_op_copy;

/* The element kind of the stated result; ir/ops/convert.c. */
extern GLOW_API const glow_op glow_op_convertto;

typedef struct glow_converttofloat8 {
    bool saturate; /* default true */
    int round;     /* GLOW_ROUND_..., default up */
} glow_converttofloat8;
extern GLOW_API const glow_op glow_op_bitcast;
extern GLOW_API const glow_op glow_op_converttofloat8;

/* Activations that can be said in simpler ones: ir/ops/activation.c. */

typedef struct glow_clip {
    float min;
    float max;
} glow_clip;

typedef struct glow_gelu {
    int approximate; /* GLOW_GELU_ERF, GLOW_GELU_TANH */
} glow_gelu;
enum { GLOW_GELU_ERF, GLOW_GELU_TANH };
/*
 * Gelu of x < -1, where 1 + erf(x / sqrt(2)) cancels, is x exp(-x^2 / 2) p(u):
 * the Gaussian's tail by its density.  Fits of p, the lowest power first: with
 * u = 3 / (3 - x) to 1e-8 down to x = -14.5, where float ends; and with
 * u = SCALE * 3 / (3 - x) + SHIFT to 3e-15 down to -38, where float64 ends.
 */
#define GLOW_GELU_TAIL                                                       \
    {                                                                        \
        -1.18155867e-06, 0.133002877, 0.132855237, 0.118024878, 0.094176963, \
            0.0200325605, 0.0875093788, -0.127615869, 0.0420762226           \
    }
#define GLOW_GELU_TAIL64                                              \
    {                                                                 \
        0.0884437980106193, 0.11307009769760885, 0.04589529112136519, \
            0.012787968515464336, 0.001729491673803926,               \
            -0.00023877697235941782, -0.00012383044797793736,         \
            6.17844998924812e-06, 9.326366975568376e-06,              \
            -6.124061490151225e-07, -8.121212272275969e-07,           \
            1.266240346062264e-07, 7.040311159611789e-08,             \
            -2.410071542890968e-08, -4.157629523993122e-09,           \
            3.770453371743087e-09, -2.5805886316732086e-10,           \
            -4.4256696085653855e-10, 1.236436730778223e-10,           \
            2.9552893465734086e-11, -1.481481604059809e-11            \
    }
#define GLOW_GELU_TAIL64_SCALE 2.950354609929078
#define GLOW_GELU_TAIL64_SHIFT -1.2127659574468086

typedef struct glow_hardsigmoid {
    float alpha;
    float beta;
} glow_hardsigmoid;

typedef struct glow_leakyrelu {
    float alpha;
} glow_leakyrelu;

extern GLOW_API const glow_op glow_op_clip;
extern GLOW_API const glow_op glow_op_gelu;
extern GLOW_API const glow_op glow_op_hardsigmoid;
extern GLOW_API const glow_op glow_op_hardswish;
extern GLOW_API const glow_op glow_op_leakyrelu;
extern GLOW_API const glow_op glow_op_prelu; /* Slope has Input's shape */

/* Two or three operands of one shape, element by element: ir/ops/binary.c. */

extern GLOW_API const glow_op glow_op_add;
extern GLOW_API const glow_op glow_op_and;
extern GLOW_API const glow_op glow_op_cmpeq;
extern GLOW_API const glow_op glow_op_cmplt;
extern GLOW_API const glow_op glow_op_cmplte;
extern GLOW_API const glow_op glow_op_cmpneq;
extern GLOW_API const glow_op glow_op_div;
extern GLOW_API const glow_op glow_op_max;
extern GLOW_API const glow_op glow_op_min;
extern GLOW_API const glow_op glow_op_mul;
extern GLOW_API const glow_op glow_op_or;
extern GLOW_API const glow_op glow_op_pow;
extern GLOW_API const glow_op glow_op_select; /* Cond, LHS, RHS */
extern GLOW_API const glow_op glow_op_sub;
extern GLOW_API const glow_op glow_op_xor;

/* Exponentials, of one operand: ir/ops/smooth.c. */

typedef glow_leakyrelu glow_celu;
typedef glow_leakyrelu glow_elu;

typedef struct glow_logit {
    float epsilon;
} glow_logit;

typedef struct glow_selu {
    float alpha;
    float gamma;
} glow_selu;

extern GLOW_API const glow_op glow_op_celu;
extern GLOW_API const glow_op glow_op_elu;
extern GLOW_API const glow_op glow_op_logit;
extern GLOW_API const glow_op glow_op_mish;
extern GLOW_API const glow_op glow_op_selu;
extern GLOW_API const glow_op glow_op_softplus;
extern GLOW_API const glow_op glow_op_softsign;
extern GLOW_API const glow_op glow_op_swish;

/* A tensor and numbers: ir/ops/scalar.c, special.c. */

typedef struct glow_mulconst {
    float lhs;
} glow_mulconst;
typedef glow_mulconst glow_rsubconst;

typedef struct glow_shrink {
    float lambd;
    float bias;
} glow_shrink;

typedef glow_leakyrelu glow_thresholdedrelu;

typedef struct glow_isinf { /* default: both */
    bool detect_negative;
    bool detect_positive;
} glow_isinf;

typedef struct glow_replacenan {
    float value;
} glow_replacenan;

extern GLOW_API const glow_op glow_op_isinf; /* Result: bool */
extern GLOW_API const glow_op glow_op_isnan; /* Result: bool */
extern GLOW_API const glow_op glow_op_mulconst;
extern GLOW_API const glow_op glow_op_replacenan;
extern GLOW_API const glow_op glow_op_rsubconst;
extern GLOW_API const glow_op glow_op_shrink;
extern GLOW_API const glow_op glow_op_thresholdedrelu;

/* A function by its points: ir/ops/lookup.c. */

typedef struct glow_lookuptable {
    int operator_; /* GLOW_LOOKUP_...; `operator` is a word of C++ */
    glow_floats operator_args; /* default: none */
} glow_lookuptable;
enum {
    GLOW_LOOKUP_NONE,
    GLOW_LOOKUP_RELU,
    GLOW_LOOKUP_CLIP,
    GLOW_LOOKUP_TANH,
    GLOW_LOOKUP_SIGMOID,
    GLOW_LOOKUP_LEAKY_RELU,
    GLOW_LOOKUP_EXP,
};

extern GLOW_API const glow_op glow_op_lookuptable; /* Input, Table, TableIdx */

/* Quotients and rests: ir/ops/division.c. */

typedef struct glow_floordiv {
    bool truncate;
} glow_floordiv;

typedef struct glow_modulo {
    int64_t divisor;
    bool sign_follow_divisor;
} glow_modulo;

extern GLOW_API const glow_op glow_op_floordiv;
extern GLOW_API const glow_op glow_op_fmod;
extern GLOW_API const glow_op glow_op_mod;
extern GLOW_API const glow_op glow_op_modulo;

/* The bits of integers: ir/ops/bits.c. */

typedef struct glow_bitshift {
    int direction; /* GLOW_SHIFT_LEFT, GLOW_SHIFT_RIGHT */
} glow_bitshift;
enum { GLOW_SHIFT_LEFT, GLOW_SHIFT_RIGHT };

extern GLOW_API const glow_op glow_op_bitshift;
extern GLOW_API const glow_op glow_op_bitwiseand;
extern GLOW_API const glow_op glow_op_bitwiseor;
extern GLOW_API const glow_op glow_op_bitwisexor;

/* Layout: ir/ops/layout.c, slice.c, gather.c. */

typedef struct glow_transpose {
    glow_dims shuffle;
} glow_transpose;

typedef struct glow_reshape {
    glow_dims dims;
} glow_reshape;

typedef struct glow_concat {
    int dim;
} glow_concat;

typedef struct glow_slice { /* Result is stated: its shape is the size */
    glow_dims start;
    glow_dims steps; /* default rank 0: all 1; may be negative, never 0 */
} glow_slice;

typedef struct glow_inserttensor { /* Small into Big, Count times on Axis */
    glow_dims start;
    int64_t count;
    int axis;
} glow_inserttensor;

typedef struct glow_pad {
    int mode;
    glow_ints pads; /* all starts, then all ends; negative ones crop */
    float value;
} glow_pad;
enum {
    GLOW_PAD_CONSTANT,
    GLOW_PAD_REFLECT,
    GLOW_PAD_EDGE,
    GLOW_PAD_WRAP,
};

typedef struct glow_tile {
    int64_t count;
    int axis;
} glow_tile;

typedef struct glow_broadcast { /* Input's axis i is TargetDim's Axis + i */
    int axis;
    glow_dims target_dim;
} glow_broadcast;

typedef struct glow_gather {
    int axis;
    int batch_dims; /* default 0 */
} glow_gather;

typedef struct glow_splat { /* Result is stated */
    float value;
} glow_splat;

extern GLOW_API const glow_op glow_op_broadcast;
extern GLOW_API const glow_op glow_op_concat;
extern GLOW_API const glow_op glow_op_gather;
extern GLOW_API const glow_op glow_op_inserttensor;
extern GLOW_API const glow_op glow_op_pad;
extern GLOW_API const glow_op glow_op_reshape;
extern GLOW_API const glow_op glow_op_slice;
extern GLOW_API const glow_op glow_op_splat;
extern GLOW_API const glow_op glow_op_tile;
extern GLOW_API const glow_op glow_op_transpose;

/* Elements by number: ir/ops/gather.c, scatter.c, embedding.c. */

typedef struct glow_gatherelements {
    int dim;
} glow_gatherelements;

typedef struct glow_gathernd {
    int batch_dims; /* default 0 */
} glow_gathernd;

enum {                    /* combination with the element that is overwritten */
       GLOW_SCATTER_NONE, /* the default: it is replaced */
       GLOW_SCATTER_ADD,
       GLOW_SCATTER_MUL,
       GLOW_SCATTER_MAX,
       GLOW_SCATTER_MIN,
};

typedef struct glow_scatterdata {
    int reduction;
} glow_scatterdata;

typedef struct glow_scatterelements {
    int dim;
    int reduction;
} glow_scatterelements;

typedef struct glow_indexadd {
    int dim;
    float alpha; /* default 1 */
} glow_indexadd;

typedef struct glow_embedding {
    int64_t pad_idx; /* default -1: none */
} glow_embedding;

typedef struct glow_gatherranges {
    int64_t max_output_size;
} glow_gatherranges;

extern GLOW_API const glow_op glow_op_embedding; /* Weights, Indices */
extern GLOW_API const glow_op glow_op_gatherelements;
extern GLOW_API const glow_op glow_op_gathernd;
extern GLOW_API const glow_op glow_op_gatherranges; /* Output, Lengths */
extern GLOW_API const glow_op glow_op_indexadd;     /* Input, Index, Source */
extern GLOW_API const glow_op glow_op_scatterdata;  /* Data, Indices, Slices */
extern GLOW_API const glow_op glow_op_scatterelements;

/* Elements by position and compared with numbers: ir/ops/onehot.c, flip.c,
   trilu.c, cumsum.c. */

typedef struct glow_bucketize {
    glow_floats boundaries; /* ascending */
} glow_bucketize;

typedef struct glow_channelshuffle {
    int64_t group;
    int kernel; /* the axis of the channels */
} glow_channelshuffle;

typedef struct glow_cumsum {
    int dim;
    bool exclusive; /* default false */
    bool reverse;   /* default false */
} glow_cumsum;
typedef glow_cumsum glow_cumprod;

typedef struct glow_flip {
    int axis;
} glow_flip;

typedef struct glow_onehot {
    int64_t depth;
    int axis; /* of Result */
} glow_onehot;

typedef struct glow_reversesequence {
    int batch_axis;
    int time_axis;
} glow_reversesequence;

typedef struct glow_spacetodepth {
    int64_t block_size;
} glow_spacetodepth;

typedef struct glow_trilu {
    bool upper;
} glow_trilu;

extern GLOW_API const glow_op glow_op_batchonehot; /* Data, Lengths, Values */
extern GLOW_API const glow_op glow_op_bucketize;
extern GLOW_API const glow_op glow_op_channelshuffle;
extern GLOW_API const glow_op glow_op_cumprod;
extern GLOW_API const glow_op glow_op_cumsum;
extern GLOW_API const glow_op glow_op_flip;
extern GLOW_API const glow_op glow_op_onehot;          /* Indices, Values */
extern GLOW_API const glow_op glow_op_reversesequence; /* Input, Lengths */
extern GLOW_API const glow_op glow_op_spacetodepth;
extern GLOW_API const glow_op glow_op_trilu; /* Input, K? */

/* Results whose size depends on the elements: ir/ops/bounded.c, unique.c, nms.c.
   Results have the largest possible size; the rest is zero, and the last result is
   the number of valid elements. */

typedef struct glow_bound { /* zeros from Count on along Axis */
    int axis;
} glow_bound;

typedef struct glow_unique { /* of slices along the first axis */
    bool sorted;
} glow_unique;

typedef struct glow_nonmaxsuppression {
    bool center_point_box;
    int64_t max_output_boxes_per_class;
    float iou_threshold;
    float score_threshold; /* default -inf: none */
} glow_nonmaxsuppression;

extern GLOW_API const glow_op glow_op_bound;   /* Input, Count */
extern GLOW_API const glow_op glow_op_nonzero; /* Result, Count: index64 */
/* Boxes, Scores; Indices, NumberOfSelectedIndices: index64 */
extern GLOW_API const glow_op glow_op_nonmaxsuppression;
/* Indices, InverseIndices, Counts, Count: index64 */
extern GLOW_API const glow_op glow_op_unique;

/* Reductions: ir/ops/reduce.c, vectornorm.c.  The reduced axes are gone from
   the result. */

typedef struct glow_reduce {
    glow_dims axes; /* ascending */
} glow_reduce;
typedef glow_reduce glow_batchedreduceadd;
typedef glow_reduce glow_batchedreducemax;
typedef glow_reduce glow_batchedreducemean;
typedef glow_reduce glow_batchedreducemin;
typedef glow_reduce glow_batchedreduceprod;
typedef glow_reduce glow_batchedreducesumsquare;
typedef glow_reduce glow_reducel1;
typedef glow_reduce glow_reducel2;
typedef glow_reduce glow_reducelogsum;
typedef glow_reduce glow_reducelogsumexp;

typedef struct glow_vectornorm {
    int axis;
    int p;
} glow_vectornorm;

extern GLOW_API const glow_op glow_op_batchedreduceadd;
extern GLOW_API const glow_op glow_op_batchedreducemax;
extern GLOW_API const glow_op glow_op_batchedreducemean;
extern GLOW_API const glow_op glow_op_batchedreducemin;
extern GLOW_API const glow_op glow_op_batchedreduceprod;
extern GLOW_API const glow_op glow_op_batchedreducesumsquare;
extern GLOW_API const glow_op glow_op_reducel1;
extern GLOW_API const glow_op glow_op_reducel2;
extern GLOW_API const glow_op glow_op_reducelogsum;
extern GLOW_API const glow_op glow_op_reducelogsumexp;
extern GLOW_API const glow_op glow_op_vectornorm;

/* Sorting and searching: ir/ops/order.c. */

typedef struct glow_argmax { /* Result: index64 */
    int axis;
    bool keep_dims;
    bool select_last; /* default false: the first of equal ones */
} glow_argmax;
typedef glow_argmax glow_argmin;

typedef struct glow_topk { /* along the last axis, sorted; ties: least index */
    int64_t k;
    bool smallest; /* default false */
} glow_topk;

extern GLOW_API const glow_op glow_op_argmax;
extern GLOW_API const glow_op glow_op_argmin;
extern GLOW_API const glow_op glow_op_topk; /* Values, Indices: index64 */

/* Control flow: ir/ops/control.c. */

typedef struct glow_if {
    const char *then_; /* Then: the name of a body */
    const char *else_;
} glow_if;

typedef struct glow_loop {
    const char *body;
    int carried;       /* so many Inputs go on to the next iteration */
    int64_t max_trips; /* default 2^20 */
} glow_loop;

/*
 * True if Loop `n` of a graph runs *trips iterations whatever its operands are:
 * TripCount is a constant, and the condition always holds.
 */
GLOW_API bool glow_loop_trips(const glow_node *n, int64_t *trips);

extern GLOW_API const glow_op glow_op_if;
extern GLOW_API const glow_op glow_op_loop;

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

/* Matrix products: ir/ops/matmul.c. */

typedef struct glow_fullyconnected { /* axes from Axis on are flattened */
    int axis;
} glow_fullyconnected;

typedef struct glow_gemm {
    float alpha;
    float beta;
    bool transpose_a;
    bool transpose_b;
} glow_gemm;

extern GLOW_API const glow_op glow_op_batchedadd;  /* Batch, Slice */
extern GLOW_API const glow_op glow_op_batchmatmul; /* [B,M,K] [B,K,N] */
extern GLOW_API const glow_op glow_op_fullyconnected;
extern GLOW_API const glow_op glow_op_gemm;   /* A, B, C (optional, [M,N]) */
extern GLOW_API const glow_op glow_op_matmul; /* [M,K] [K,N] */

/*
 * Recurrent networks over whole sequences: ir/ops/recurrent.c.  X [T, B, I],
 * W? [D, G H, I], R [D, G H, H], Bias? [D, 2 G H], SequenceLens? [B],
 * InitialH? [D, B, H]; LSTM also InitialC?, P? [D, 3 H].  Results Y [T, D, B,
 * H], Yh [D, B, H]; LSTM also Yc.  Without W, X is [T, B, D G H].
 */

typedef struct glow_recurrent {
    int direction;                /* GLOW_FORWARD, ... */
    const char *activations;      /* "Sigmoid Tanh Tanh": for each, or all */
    glow_floats activation_alpha; /* one for each; none: their defaults */
    glow_floats activation_beta;
    float clip;               /* bound of the inputs of gates; 0: none */
    bool input_forget;        /* LSTM: the forget gate is 1 - input gate */
    bool linear_before_reset; /* GRU */
} glow_recurrent;
typedef glow_recurrent glow_gru;
typedef glow_recurrent glow_lstm;
typedef glow_recurrent glow_rnn;
enum { GLOW_FORWARD, GLOW_REVERSE, GLOW_BIDIRECTIONAL };

extern GLOW_API const glow_op glow_op_gru;
extern GLOW_API const glow_op glow_op_lstm;
extern GLOW_API const glow_op glow_op_lstmunit; /* Input, C; H and C */
extern GLOW_API const glow_op glow_op_rnn;

/* A function that such a network may apply, and its parameters. */
typedef struct glow_activation {
    const char *name;
    bool has_alpha, has_beta; /* the parameters that mean something to it */
    float alpha, beta;
} glow_activation;
#define GLOW_MOST_ACTIVATIONS 3 /* of one direction */

/* By name, with the default parameters; NULL if there is none. */
GLOW_API const glow_activation *glow_find_activation(const char *name,
                                                     size_t length);
/*
 * The activations of direction 0 or 1 of a valid node; each direction has `each` of
 * them: 3 for LSTM, 2 for GRU, 1 for RNN.
 */
GLOW_API void
glow_recurrent_activations(const glow_recurrent *a, int each, int direction,
                           glow_activation out[GLOW_MOST_ACTIVATIONS]);

/* Sums of products, as an equation says: ir/ops/einsum.c. */

typedef struct glow_einsum {
    const char *equation; /* "bij,bjk->bik" */
} glow_einsum;

extern GLOW_API const glow_op glow_op_einsum;

/*
 * The equation of an Einsum, read: a label for each axis.  size[label] is that
 * of all axes with this label, but for those of one element, which are repeated;
 * -1: there are none.
 */
#define GLOW_EINSUM_OPERANDS 16
#define GLOW_EINSUM_LABELS 60 /* 52 letters, and the axes of `...` */
typedef struct glow_einsum_plan {
    int n_in, rank[GLOW_EINSUM_OPERANDS];
    int label[GLOW_EINSUM_OPERANDS][GLOW_MAX_RANK];
    int out_rank, out[GLOW_MAX_RANK];
    int64_t size[GLOW_EINSUM_LABELS];
} glow_einsum_plan;
/* False after glow_reject. */
GLOW_API bool glow_einsum_read(const glow_node *n, glow_einsum_plan *p);

/* Attention: ir/ops/attention.c. */

typedef struct glow_attention { /* Q, K, V, Mask?; Y, Scores */
    float scale;
    float soft_cap; /* default 0: none */
    bool causal;    /* default false */
    int64_t past;   /* default 0 */
    int scores;     /* GLOW_SCORES_...: which of them are given */
    bool nan_rows;  /* default false: a row that sees nothing gives 0 */
} glow_attention;
enum {
    GLOW_SCORES_RAW, /* the default */
    GLOW_SCORES_CAPPED,
    GLOW_SCORES_MASKED,
    GLOW_SCORES_WEIGHTS,
};

/*
 * The same without Scores.  Each of the last four flags says that rows of all
 * heads lie side by side: [B, S, H, D], not [B, H, S, D].
 */
typedef struct glow_fusedattention { /* Q, K, V, Mask?; Y */
    float scale;
    float soft_cap;
    bool causal;
    int64_t past;
    bool nan_rows;
    bool q_rows, k_rows, v_rows, y_rows; /* default false */
} glow_fusedattention;

typedef struct glow_rotaryembedding { /* Input, Cos, Sin */
    bool interleaved;                 /* default false */
} glow_rotaryembedding;

extern GLOW_API const glow_op glow_op_attention;
extern GLOW_API const glow_op glow_op_fusedattention;
extern GLOW_API const glow_op glow_op_rotaryembedding;

/* Determinants: ir/ops/det.c.  Glow's products within a batch: pairs.c. */

extern GLOW_API const glow_op glow_op_batchedmul; /* Batch, Slice */
extern GLOW_API const glow_op glow_op_batchedpairwisedotproduct;
extern GLOW_API const glow_op glow_op_det;

/* Counts of n-grams: ir/ops/tfidf.c. */

typedef struct glow_tfidfvectorizer {
    int64_t min_gram_length;
    int64_t max_gram_length;
    int64_t max_skip_count;
    int mode;                /* GLOW_TFIDF_... */
    glow_ints ngram_counts;  /* where in pool each length begins */
    glow_ints ngram_indexes; /* columns of the result */
    glow_ints pool;
    glow_floats weights; /* default: none, all 1 */
} glow_tfidfvectorizer;
enum { GLOW_TFIDF_TF, GLOW_TFIDF_IDF, GLOW_TFIDF_TFIDF };

extern GLOW_API const glow_op glow_op_tfidfvectorizer;

/* The n-grams of n in a pool: `count`, the first being number `first` of all. */
typedef struct glow_tfidf_grams {
    int64_t n, first, count;
    const int64_t *pool;
} glow_tfidf_grams;
GLOW_API glow_tfidf_grams glow_tfidf_read(const glow_tfidfvectorizer *a,
                                          int64_t n);

/* Signals, whose last axis holds real and imaginary part: ir/ops/signal.c. */

typedef struct glow_dft {
    int axis;
    int64_t length; /* the axis is cut or filled with zeros to this */
    bool inverse;   /* default false */
    bool onesided;  /* default false */
} glow_dft;

typedef struct glow_stft { /* Signal [B, S, 1 or 2], Window? [FrameLength] */
    int64_t frame_step;
    int64_t frame_length;
    bool onesided; /* default false */
} glow_stft;

extern GLOW_API const glow_op glow_op_dft;
extern GLOW_API const glow_op glow_op_stft;

/*
 * Coefficient of part `p` of element `m` in part `q` of result `k`: a DFT is the
 * sum of elements times their coefficients.
 */
GLOW_API double glow_dft_factor(const glow_dft *a, int64_t m, int p, int64_t k,
                                int q);

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

extern GLOW_API const glow_op glow_op_bernoulli;
extern GLOW_API const glow_op glow_op_gaussianfill;
extern GLOW_API const glow_op glow_op_multinomial;
extern GLOW_API const glow_op glow_op_randomnormal;
extern GLOW_API const glow_op glow_op_randomuniform;

/* Convolution: ir/ops/conv.c. */

typedef struct glow_convolution { /* Filter [O, kernel..., C / Group] */
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads; /* all starts, then all ends */
    int64_t group;
    glow_dims dilation; /* default rank 0: all 1 */
} glow_convolution;

typedef struct glow_convtranspose { /* Filter [C, kernel..., O / Group] */
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads;
    int64_t group;
    glow_dims dilation;       /* default rank 0: all 1 */
    glow_dims output_padding; /* default rank 0: all 0 */
} glow_convtranspose;

extern GLOW_API const glow_op glow_op_convolution;   /* Input, Filter, Bias? */
extern GLOW_API const glow_op glow_op_convtranspose; /* the same */

/*
 * Sums with an epilogue, Activation(sum + bias + addend): ir/ops/fused.c.
 * Activation is one of GLOW_FUSED_..., and its arguments are the attributes of
 * that operator in their order, as numbers.
 */

typedef struct glow_fusedconvolution {
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads;
    int64_t group;
    glow_dims dilation; /* default rank 0: all 1 */
    int activation;
    glow_floats activation_args;
} glow_fusedconvolution;

typedef struct glow_fusedfullyconnected {
    int axis;
    int activation;
    glow_floats activation_args;
} glow_fusedfullyconnected;

enum { GLOW_FUSED_NONE };

/* Input, Filter, Bias?, Addend? */
extern GLOW_API const glow_op glow_op_fusedconvolution;
/* Input, Weights, Bias?, Addend? */
extern GLOW_API const glow_op glow_op_fusedfullyconnected;

/* The attributes that both share with the operators that they fuse. */
GLOW_API glow_convolution
glow_fused_convolution_of(const glow_fusedconvolution *f);
/* The operator that an Activation names; NULL for GLOW_FUSED_NONE. */
GLOW_API const glow_op *glow_fused_activation(int activation);
/* The Activation that node `n` is, or GLOW_FUSED_NONE; its arguments. */
GLOW_API int glow_fused_activation_of(const glow_node *n);
GLOW_API glow_floats glow_fused_args_of(glow_arena *a, const glow_node *n);
/* The attributes of that operator, in `a`; NULL if it has none. */
GLOW_API const void *glow_fused_attrs(glow_arena *a, int activation,
                                      glow_floats args);

/* Pooling: ir/ops/pool.c. */

typedef struct glow_maxpool {
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads;
    glow_dims dilation; /* default rank 0: all 1 */
    bool ceil_mode;     /* default false */
} glow_maxpool;
typedef glow_maxpool glow_maxpoolwithargmax;

typedef struct glow_avgpool {
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads;
    glow_dims dilation; /* default rank 0: all 1 */
    bool ceil_mode;     /* default false */
    bool count_include_pads;
} glow_avgpool;

/* The result is stated: its shape is the size; ir/ops/adaptivepool.c. */
extern GLOW_API const glow_op glow_op_adaptiveavgpool;
extern GLOW_API const glow_op glow_op_avgpool;
extern GLOW_API const glow_op glow_op_maxpool;
extern GLOW_API const glow_op glow_op_maxpoolwithargmax; /* Result, Argmax */

/* Normalization: ir/ops/norm.c, norm_group.c, statistics.c, softmax.c. */

typedef struct glow_batchnormalization { /* Input, Scale, Bias, Mean, Var */
    int channel_idx;
    float epsilon;
} glow_batchnormalization;

typedef struct glow_layernormalization { /* axes from Axis on; Scale?, Bias? */
    int axis;
    float epsilon;
} glow_layernormalization;

typedef struct glow_layernormalization glow_rmsnormalization; /* Scale? */

typedef struct glow_instancenormalization { /* Input, Scale, Bias */
    int channel_idx;
    float epsilon;
} glow_instancenormalization;

typedef struct glow_groupnormalization { /* Input, Scale, Bias */
    int channel_idx;
    int64_t group;
    float epsilon;
} glow_groupnormalization;

typedef struct glow_meanvarnormalization { /* Input, Mean, Var */
    int channel_idx;
    float momentum; /* weight of the current batch */
} glow_meanvarnormalization;

typedef struct glow_batchboxcox { /* Input, Lambda1, Lambda2 */
    float epsilon;
} glow_batchboxcox;

typedef struct glow_localresponsenormalization { /* over the last axis */
    int64_t half_window_size;
    float alpha;
    float beta;
    float k;
} glow_localresponsenormalization;

typedef struct glow_softmax {
    int axis;
} glow_softmax;
typedef glow_softmax glow_hardmax;
typedef glow_softmax glow_logsoftmax;

extern GLOW_API const glow_op glow_op_batchboxcox;
extern GLOW_API const glow_op glow_op_batchnormalization;
extern GLOW_API const glow_op glow_op_groupnormalization;
extern GLOW_API const glow_op glow_op_hardmax; /* ir/ops/hardmax.c */
extern GLOW_API const glow_op glow_op_instancenormalization;
extern GLOW_API const glow_op glow_op_layernormalization;
extern GLOW_API const glow_op glow_op_localresponsenormalization;
extern GLOW_API const glow_op glow_op_logsoftmax;
extern GLOW_API const glow_op
    glow_op_meanvarnormalization; /* NewMean, NewVar */
extern GLOW_API const glow_op glow_op_rmsnormalization;
extern GLOW_API const glow_op glow_op_softmax;

/* Losses: ir/ops/loss.c, logits.c. */

enum { GLOW_LOSS_NONE, GLOW_LOSS_MEAN, GLOW_LOSS_SUM };

typedef struct glow_negativeloglikelihoodloss { /* Input, Target, Weight? */
    int reduction;                              /* GLOW_LOSS_... */
    int64_t ignore_index;                       /* default GLOW_IGNORE_NONE */
} glow_negativeloglikelihoodloss;
#define GLOW_IGNORE_NONE INT64_MIN

typedef struct glow_binarycrossentropywithlogits { /* Weight?, PosWeight? */
    int reduction;
} glow_binarycrossentropywithlogits;

extern GLOW_API const glow_op glow_op_binarycrossentropywithlogits;
extern GLOW_API const glow_op glow_op_crossentropyloss; /* P, Labels */
extern GLOW_API const glow_op glow_op_negativeloglikelihoodloss;
extern GLOW_API const glow_op glow_op_regression; /* Input, Expected */
extern GLOW_API const glow_op glow_op_sigmoidcrossentropywithlogits;

/* Steps of training: ir/ops/train.c.  R, T, X, G, and state. */

typedef struct glow_adagrad { /* H -> NewX, NewH */
    float decay_factor;       /* default 0 */
    float epsilon;            /* default 1e-6 */
    float norm_coefficient;   /* default 0 */
} glow_adagrad;

typedef struct glow_adam { /* V, H -> NewX, NewV, NewH */
    float alpha;           /* default 0.9 */
    float beta;            /* default 0.999 */
    float epsilon;         /* default 1e-6 */
    float norm_coefficient;
    float norm_coefficient_post; /* default 0, both */
} glow_adam;

typedef struct glow_momentum { /* V -> NewX, NewV */
    float alpha;
    float beta;
    float norm_coefficient; /* default 0 */
    int mode;               /* GLOW_MOMENTUM_STANDARD, ..NESTEROV */
} glow_momentum;
enum { GLOW_MOMENTUM_STANDARD, GLOW_MOMENTUM_NESTEROV };

extern GLOW_API const glow_op glow_op_adagrad;
extern GLOW_API const glow_op glow_op_adam;
extern GLOW_API const glow_op glow_op_momentum;

/* Resizing: ir/ops/resize.c.  The result is stated: its shape is the size. */

typedef struct glow_grid {
    glow_floats scale; /* per axis: out / in, as the model gives it */
    int coordinates;   /* GLOW_COORD_... : from result to input */
    int rounding;      /* GLOW_ROUND_... : nearest only */
} glow_grid;
typedef glow_grid glow_resizenearest;
typedef glow_grid glow_resizebilinear; /* two axes of any rank change */
enum {
    GLOW_COORD_ASYMMETRIC, /* the default, and Glow's */
    GLOW_COORD_HALF_PIXEL,
    GLOW_COORD_PYTORCH_HALF_PIXEL,
    GLOW_COORD_ALIGN_CORNERS,
    GLOW_COORD_TF_HALF_PIXEL_FOR_NN,
    GLOW_COORD_HALF_PIXEL_SYMMETRIC,
    GLOW_COORD_TF_CROP_AND_RESIZE, /* of Resize alone */
};
enum {
    GLOW_ROUND_FLOOR, /* the default, and Glow's */
    GLOW_ROUND_CEIL,
    GLOW_ROUND_PREFER_FLOOR,
    GLOW_ROUND_PREFER_CEIL,
};

/* All there is in ONNX, over any axes: ir/ops/resample.c. */
typedef struct glow_resize {
    glow_floats scale;
    int mode; /* GLOW_RESIZE_... */
    int coordinates;
    int rounding;
    float cubic_coeff;
    bool exclude_outside;
    bool antialias;
    float extrapolation; /* with tf_crop_and_resize: value outside of Input */
    glow_floats roi; /* with the same: all starts, then all ends; or empty */
} glow_resize;
enum { GLOW_RESIZE_NEAREST, GLOW_RESIZE_LINEAR, GLOW_RESIZE_CUBIC };

/*
 * Sampling of one axis of a Resize from shape x to shape y: element `i` of
 * the result is the sum over k of weight[k * count + i] * x[from[k * count +
 * i]], or the extrapolation value where outside[i].
 */
typedef struct glow_samples {
    int64_t taps;  /* 0: the axis stays as it is */
    int64_t count; /* elements of the result */
    const int64_t *from;
    const double *weight;
    const bool *outside; /* NULL: none is */
} glow_samples;

GLOW_API glow_samples glow_resize_samples(const glow_resize *r, glow_dims x,
                                          glow_dims y, int axis, glow_arena *a);

extern GLOW_API const glow_op glow_op_resize;
extern GLOW_API const glow_op glow_op_resizebilinear;
extern GLOW_API const glow_op glow_op_resizenearest;

/*
 * Sampling at positions that are values: ir/ops/sample.c, deformconv.c.  Shapes
 * are [N, spatial.., C]; positions name the last spatial axis first.
 */

typedef struct glow_gridsample { /* Input, Grid [N, out.., D] */
    int mode;                    /* GLOW_RESIZE_..., default linear */
    int padding;                 /* GLOW_SAMPLE_..., default zeros */
    bool align_corners;          /* default false: -1 and 1 are outer edges */
} glow_gridsample;
enum { GLOW_SAMPLE_ZEROS, GLOW_SAMPLE_BORDER, GLOW_SAMPLE_REFLECTION };

typedef struct glow_affinegrid { /* Theta [N, D, D + 1]: [N, Size.., D] */
    glow_dims size;
    bool align_corners; /* default false */
} glow_affinegrid;

typedef struct glow_deformconv { /* Input, Filter, Offset, Bias?, Mask? */
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads;
    int64_t group;
    int64_t offset_group;
    glow_dims dilation; /* default rank 0: all 1 */
} glow_deformconv;

/* Position of element `i` of `size`, from -1 to 1. */
GLOW_API double glow_affine_position(int64_t i, int64_t size,
                                     bool align_corners);

extern GLOW_API const glow_op glow_op_affinegrid;
extern GLOW_API const glow_op glow_op_deformconv;
extern GLOW_API const glow_op glow_op_gridsample;

/* Regions of interest: ir/ops/roi.c. */

typedef struct glow_roialign { /* FeatureMap, Boxes, BatchIndices */
    int mode;                  /* GLOW_ROI_... */
    int64_t output_height;
    int64_t output_width;
    int64_t sampling_ratio; /* default 0: adaptive */
    float spatial_scale;    /* default 1 */
    bool aligned;           /* default false */
    bool rotated;           /* default false: Boxes [K, 4], else [K, 5] */
} glow_roialign;
enum { GLOW_ROI_AVG, GLOW_ROI_MAX, GLOW_ROI_MAX_CORNERS };

typedef struct glow_maxroipool { /* Input, Boxes [K, 5] */
    glow_dims pooled_shape;
    float spatial_scale; /* default 1 */
} glow_maxroipool;

extern GLOW_API const glow_op glow_op_maxroipool;
extern GLOW_API const glow_op glow_op_roialign;

/* Boxes of detectors: ir/ops/boxes.c. */

typedef struct glow_bboxtransform { /* Rois, Deltas, ImInfo */
    glow_floats weights;            /* of x, y, width and height */
    bool apply_scale;               /* default true */
    bool rotated;                   /* default false */
    bool angle_bound_on;            /* default true */
    int64_t angle_bound_lo;         /* default -90 */
    int64_t angle_bound_hi;         /* default 90 */
    float clip_angle_thresh;        /* default 1 */
    bool legacy_plus_one;           /* default false */
} glow_bboxtransform;
/* log(1000 / 16): no size grows by more than its exponential. */
#define GLOW_BBOX_MOST_GROWTH 4.1351665567423557

typedef struct glow_collectrpnproposals { /* boxes of levels, then scores */
    int64_t rpn_max_level;
    int64_t rpn_min_level;
    int64_t rpn_post_nms_top_n;
} glow_collectrpnproposals;

extern GLOW_API const glow_op
    glow_op_bboxtransform; /* BoxOut, RoiBatchSplits */
extern GLOW_API const glow_op glow_op_collectrpnproposals;

typedef struct glow_tflitedetectionpostprocess { /* Boxes, Scores, Anchors */
    int64_t num_classes;
    int64_t max_detections;
    int64_t max_classes_per_detection;
    int64_t max_detections_per_class; /* with regular_nms */
    float iou_threshold;
    float score_threshold;
    float x_scale;
    float y_scale;
    float h_scale;
    float w_scale;
    bool regular_nms; /* default false */
} glow_tflitedetectionpostprocess;

/* DetectionBoxes, -Classes, -Scores, NumDetections: ir/ops/detection.c. */
extern GLOW_API const glow_op glow_op_tflitedetectionpostprocess;

/* Audio: ir/ops/audio.c. */

typedef struct glow_audiospectrogram {
    int64_t window_size;
    int64_t window_stride;
    bool magnitude_squared; /* default true */
} glow_audiospectrogram;

typedef struct glow_mfcc {
    float sample_rate;
    float lower_frequency;
    float upper_frequency;
    int64_t filter_bank_count;
    int64_t num_coefficients;
} glow_mfcc;

/* The length of the transform, and Hann's window. */
GLOW_API int64_t glow_spectrogram_length(int64_t window);
GLOW_API double glow_spectrogram_window(int64_t i, int64_t window);
/* Weights [frequencies, FilterBankCount], and one of the cosine transform. */
GLOW_API const double *glow_mfcc_filters(const glow_mfcc *m,
                                         int64_t frequencies, glow_arena *a);
GLOW_API double glow_mfcc_cosine(const glow_mfcc *m, int64_t filter,
                                 int64_t coefficient);
/* Lower bound of the output of a filter, before its logarithm. */
#define GLOW_MFCC_LEAST 1e-12

extern GLOW_API const glow_op glow_op_audiospectrogram;
extern GLOW_API const glow_op glow_op_mfcc;

GLOW_END

#endif
