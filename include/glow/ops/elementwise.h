/* One, two or three operands of one shape, element by element. */

#ifndef GLOW_OPS_ELEMENTWISE_H
#define GLOW_OPS_ELEMENTWISE_H

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
/* sqrt(1/2), 1/sqrt(2 pi), sqrt(2/pi), and the factor of x^3 in the formula with tanh. */
#define GLOW_SQRT_HALF 0.70710678118654752440
#define GLOW_ONE_BY_SQRT_2_PI 0.39894228040143267794
#define GLOW_SQRT_2_BY_PI 0.79788456080286535588
#define GLOW_GELU_CUBE 0.044715
/*
 * Gelu of x < -1, where 1 + erf(x / sqrt(2)) cancels, is x exp(-x^2 / 2) p(u):
 * the Gaussian's tail by its density.  Fits of p, the lowest power first: with
 * u = 3 / (3 - x) to 1e-8 down to x = -14.5, where float ends; and with
 * u = SCALE * 3 / (3 - x) + SHIFT to 3e-15 down to -38, where float64 ends.
 */
#define GLOW_GELU_TAIL                                                      \
    {-1.18155867e-06, 0.133002877,  0.132855237,  0.118024878, 0.094176963, \
     0.0200325605,    0.0875093788, -0.127615869, 0.0420762226}
#define GLOW_GELU_TAIL64                                  \
    {                                                     \
        0.0884437980106193,      0.11307009769760885,     \
        0.04589529112136519,     0.012787968515464336,    \
        0.001729491673803926,    -0.00023877697235941782, \
        -0.00012383044797793736, 6.17844998924812e-06,    \
        9.326366975568376e-06,   -6.124061490151225e-07,  \
        -8.121212272275969e-07,  1.266240346062264e-07,   \
        7.040311159611789e-08,   -2.410071542890968e-08,  \
        -4.157629523993122e-09,  3.770453371743087e-09,   \
        -2.5805886316732086e-10, -4.4256696085653855e-10, \
        1.236436730778223e-10,   2.9552893465734086e-11,  \
        -1.481481604059809e-11}
#define GLOW_GELU_TAIL64_SCALE 2.950354609929078
#define GLOW_GELU_TAIL64_SHIFT -1.2127659574468086

typedef glow_gelu glow_gelugrad;

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
extern GLOW_API const glow_op glow_op_relugrad; /* Output, ResultGrad */
extern GLOW_API const glow_op glow_op_prelu;    /* Slope has Input's shape */

/* Gradients of activations, of Input or Output, and ResultGrad: ir/ops/activation_grad.c. */
extern GLOW_API const glow_op glow_op_gelugrad;
extern GLOW_API const glow_op glow_op_sigmoidgrad;
extern GLOW_API const glow_op glow_op_swishgrad;
extern GLOW_API const glow_op glow_op_tanhgrad;

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

GLOW_END

#endif
